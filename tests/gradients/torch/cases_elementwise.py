"""Elementwise operators: cases.py says how a case is written."""
import functools

import torch
import torch.nn.functional as F

from cases import Cases, constant

cases = Cases()
MS = "com.microsoft"


def gelu(x, approximate="none"):
    return F.gelu(x, approximate=approximate)


def unary(op, f, low=-3.0, high=3.0, **more):
    cases.add(op, {"x": cases.floats(5, 7, low=low, high=high)}, f, **more)


for op, f in {"Relu": torch.relu, "Sigmoid": torch.sigmoid, "Tanh": torch.tanh, "Neg": torch.neg, "Exp": torch.exp,
              "Abs": torch.abs, "Sign": torch.sign, "Sin": torch.sin, "Cos": torch.cos, "Atan": torch.atan,
              "Sinh": torch.sinh, "Cosh": torch.cosh, "Asinh": torch.asinh, "Erf": torch.erf, "Floor": torch.floor,
              "Ceil": torch.ceil, "Round": torch.round, "Softplus": F.softplus, "Softsign": F.softsign,
              "HardSwish": F.hardswish, "Elu": F.elu, "Celu": F.celu, "Selu": F.selu}.items():
    unary(op, f)
for op, f in {"Log": torch.log, "Sqrt": torch.sqrt, "Reciprocal": torch.reciprocal}.items():
    unary(op, f, low=0.1)
for op, f in {"Asin": torch.asin, "Acos": torch.acos, "Atanh": torch.atanh, "Tan": torch.tan}.items():
    unary(op, f, low=-0.95, high=0.95)
unary("Acosh", torch.acosh, low=1.05)
unary("Mish", F.mish, opset=18)
unary("Swish", lambda x: F.silu(x), opset=24)
unary("Swish", lambda x: x * torch.sigmoid(0.7 * x), attributes={"alpha": 0.7}, opset=24)
unary("Gelu", gelu, opset=20)
unary("Gelu", lambda x: gelu(x, "tanh"), attributes={"approximate": "tanh"}, opset=20)
unary("Gelu", gelu, domain=MS)
unary("FastGelu", lambda x: gelu(x, "tanh"), domain=MS)
unary("QuickGelu", lambda x: x * torch.sigmoid(1.702 * x), domain=MS)
unary("LeakyRelu", lambda x: F.leaky_relu(x, 0.1), attributes={"alpha": 0.1})
unary("LeakyRelu", lambda x: F.leaky_relu(x, -0.1), attributes={"alpha": -0.1})
unary("Elu", lambda x: F.elu(x, 1.5), attributes={"alpha": 1.5})
unary("Celu", lambda x: F.celu(x, 0.7), attributes={"alpha": 0.7})
unary("HardSigmoid", F.hardsigmoid, attributes={"alpha": 1 / 6, "beta": 0.5}, low=-5, high=5)
unary("ThresholdedRelu", lambda x: F.threshold(x, 0.8, 0.0), attributes={"alpha": 0.8})
unary("Clip", lambda x: x.clamp(-1, 1.5), attributes={"min": -1.0, "max": 1.5}, opset=10)
cases.add("Clip", {"x": cases.floats(5, 7, low=-3), "min": constant(-0.5), "max": constant(0.75)},
          lambda x, a, b: x.clamp(a.item(), b.item()))
cases.add("Clip", {"x": cases.floats(5, 7, low=-3), "min": constant(-0.5)}, lambda x, a: x.clamp(min=a.item()))
cases.add("Clip", {"x": torch.tensor([-1.0, 0.5, 1.0, 2.0]), "min": constant(-1.0), "max": constant(1.0)},
          lambda x, a, b: x.clamp(-1, 1), name="Clip_at_its_bounds")

shapes = [((4, 1, 5), (3, 1)), ((2, 3, 4), (2, 3, 4)), ((6,), (4, 1)), ((2, 3, 1, 5), ())]
for op, f in {"Add": torch.add, "Sub": torch.sub, "Mul": torch.mul, "Div": torch.div, "Max": torch.maximum,
              "Min": torch.minimum, "Pow": torch.pow}.items():
    for a, b in shapes:
        cases.add(op, {"a": cases.floats(*a, low=0.2, high=2), "b": cases.floats(*b, low=0.5, high=1.5)}, f)
for exponent in (2.0, 3.0, 0.5, -1.0, 4.0):
    cases.add("Pow", {"a": cases.floats(5, 3, low=0.2, high=2), "b": constant(exponent)}, torch.pow)
cases.add("Pow", {"a": cases.floats(5, 3, low=-2, high=2), "b": constant(torch.tensor([2, 3, 4]))}, torch.pow)
cases.add("Mod", {"a": cases.floats(4, 5, low=-9, high=9), "b": cases.floats(5, low=1, high=2)}, torch.fmod,
          attributes={"fmod": 1})
for slope in ((5,), (1,), (3, 1, 1)):
    cases.add("PRelu", {"x": cases.floats(2, 3, 4, 5), "slope": cases.floats(*slope)},
              lambda x, s: torch.where(x < 0, x * s, x))
cases.add("BiasGelu", {"x": cases.floats(3, 4, 5, low=-3, high=3), "b": cases.floats(5)}, lambda x, b: gelu(x + b),
          domain=MS)
cases.add("FastGelu", {"x": cases.floats(3, 4, 5, low=-3, high=3), "b": cases.floats(5)},
          lambda x, b: gelu(x + b, "tanh"), domain=MS)
cases.add("Where", {"c": cases.integers(3, 1, 5, high=2).bool(), "a": cases.floats(4, 1), "b": cases.floats(5)},
          torch.where)
for n in (1, 2, 3, 4):
    inputs = {f"x{i}": cases.floats(*([3, 1, 5] if i % 2 else [4, 1])) for i in range(n)}
    cases.add("Sum", inputs, lambda *x: sum(x))
    cases.add("Mean", inputs, lambda *x: sum(x) / len(x))
    for op, f in {"Max": torch.maximum, "Min": torch.minimum}.items():
        cases.add(op, inputs, lambda *x, f=f: functools.reduce(f, x))

# The gradient nodes of ONNX Runtime's dialect, forward: what PyTorch's backward pass gives.


def backward(f):
    def gradient(dy, *inputs):
        inputs = [i.detach().requires_grad_() for i in inputs]
        made = torch.autograd.grad(f(*inputs), inputs, dy.detach())
        return made if len(made) > 1 else made[0]
    return gradient


dy, x = cases.floats(4, 6), cases.floats(4, 6, low=-3, high=3)
for op, f in {"ReluGrad": torch.relu, "GeluGrad": gelu, "FastGeluGrad": lambda x: gelu(x, "tanh"),
              "QuickGeluGrad": lambda x: x * torch.sigmoid(1.702 * x)}.items():
    cases.add(op, {"dY": dy, "X": x}, backward(f), domain=MS)
for op, f in {"SigmoidGrad": (torch.sigmoid), "TanhGrad": torch.tanh,
              "LeakyReluGrad": lambda x: F.leaky_relu(x, 0.01)}.items():
    cases.add(op, {"dY": dy, "Y": f(x)}, lambda dy, y, f=f: backward(f)(dy, x.double()), domain=MS)
cases.add("GeluGrad", {"dY": dy, "X": x}, backward(gelu), name="GeluGrad_of_Deeploy")
for op, f in {"BiasGeluGrad_dX": gelu, "BiasFastGeluGrad_dX": lambda x: gelu(x, "tanh")}.items():
    cases.add(op, {"dY": dy, "X": x, "B": cases.floats(6)}, lambda dy, x, b, f=f: backward(lambda v: f(v + b))(dy, x),
              domain=MS)
for a, b in shapes:
    a, b = cases.floats(*a), cases.floats(*b, low=0.5, high=2)
    cases.add("DivGrad", {"dY": torch.rand_like(a / b), "A": a, "B": b}, backward(torch.div), domain=MS)

cases.write()
