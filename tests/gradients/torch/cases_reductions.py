"""Reductions: cases.py says how a case is written."""
import torch

from cases import Cases, constant

cases = Cases(seed=2)


def product(x, axes):
    for a in sorted((a % x.dim() for a in axes), reverse=True):
        x = x.prod(a, keepdim=True)
    return x


KINDS = {
    "ReduceSum": lambda x, a: x.sum(a, keepdim=True), "ReduceMean": lambda x, a: x.mean(a, keepdim=True),
    "ReduceMax": lambda x, a: x.amax(a, keepdim=True), "ReduceMin": lambda x, a: x.amin(a, keepdim=True),
    "ReduceProd": product, "ReduceL1": lambda x, a: x.abs().sum(a, keepdim=True),
    "ReduceL2": lambda x, a: (x * x).sum(a, keepdim=True).sqrt(),
    "ReduceLogSum": lambda x, a: x.sum(a, keepdim=True).log(),
    "ReduceLogSumExp": lambda x, a: x.logsumexp(a, keepdim=True),
    "ReduceSumSquare": lambda x, a: (x * x).sum(a, keepdim=True),
}
for op, f in KINDS.items():
    low = 0.2 if op == "ReduceLogSum" else -2.0
    for axes in ([0], [1, -1], [0, 1, 2]):
        if op == "ReduceSum":
            cases.add(op, {"x": cases.floats(4, 5, 6, low=low, high=2), "axes": constant(torch.tensor(axes))},
                      lambda x, a, f=f: f(x, a.tolist()), opset=17)
        else:
            cases.add(op, {"x": cases.floats(4, 5, 6, low=low, high=2)}, lambda x, f=f, a=axes: f(x, a),
                      attributes={"axes": axes}, opset=17)
cases.add("ReduceProd", {"x": torch.tensor([[1.0, 0.0, 3.0], [2.0, 3.0, 4.0], [0.0, 2.0, 0.0]])},
          lambda x: x.prod(1, keepdim=True), attributes={"axes": [1]}, name="ReduceProd_with_zeros")
for exclusive in (0, 1):
    for reverse in (0, 1):
        def run(x, axis, exclusive=exclusive, reverse=reverse):
            x = x.flip(1) if reverse else x
            y = x.cumsum(1) - (x if exclusive else 0)
            return y.flip(1) if reverse else y
        cases.add("CumSum", {"x": cases.floats(3, 6, 4), "axis": constant(torch.tensor(1))}, run,
                  attributes={"exclusive": exclusive, "reverse": reverse})
for op, f in {"ArgMax": torch.argmax, "ArgMin": torch.argmin}.items():
    cases.add(op, {"x": cases.floats(3, 6, 4)}, lambda x, f=f: f(x, 1), attributes={"axis": 1, "keepdims": 0})

cases.write()
