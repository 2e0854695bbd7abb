"""Writes what PyTorch makes of seeded inputs, forward and backward, as one .npz: torch_reference.py OUT.npz

Arrays of case i are named "i.<role>": inputs, outputs, incoming and resulting gradients.
"""
import sys

import numpy
import torch
import torch.nn.functional as F

torch.manual_seed(5)
arrays = {}


def keep(case, **values):
    for role, value in values.items():
        arrays[f"{case}.{role}"] = value.detach().numpy()


def elementwise():
    functions = {
        "Relu": torch.relu, "Sigmoid": torch.sigmoid, "Tanh": torch.tanh, "Neg": torch.neg, "Exp": torch.exp,
        "Log": torch.log, "Sqrt": torch.sqrt, "Abs": torch.abs, "Sign": torch.sign, "Reciprocal": torch.reciprocal,
        "Softmax": lambda x: torch.softmax(x, -1), "LogSoftmax": lambda x: torch.log_softmax(x, -1),
    }
    for name, f in functions.items():
        x = torch.rand(5, 7) * 3 + 0.1 if name in ("Log", "Sqrt", "Reciprocal") else torch.randn(5, 7) * 3
        x.requires_grad_()
        y = f(x)
        dy = torch.randn_like(y)
        y.backward(dy)
        keep(name, x=x, y=y, dy=dy, dx=x.grad)


def arithmetic():
    functions = {"Add": torch.add, "Sub": torch.sub, "Mul": torch.mul, "Div": torch.div}
    for name, f in functions.items():
        a = torch.randn(4, 1, 5, requires_grad=True)
        b = (torch.rand(3, 1) + 0.5).requires_grad_()
        y = f(a, b)
        dy = torch.randn_like(y)
        y.backward(dy)
        keep(name, a=a, b=b, y=y, dy=dy, da=a.grad, db=b.grad)


def cross_entropy():
    for reduction in ("mean", "sum", "none"):
        for weighted in (0, 1):
            for ignore in (-100, 2):
                for inner in ((), (3, 2)):
                    x = (torch.randn(6, 4, *inner) * 3).requires_grad_()
                    labels = torch.randint(0, 4, (6, *inner))
                    labels.view(-1)[::5] = ignore
                    weights = torch.rand(4) + 0.2
                    w = weights if weighted else None
                    loss = F.cross_entropy(x, labels, w, ignore_index=ignore, reduction=reduction)
                    d = torch.randn_like(loss)
                    loss.backward(d)
                    case = f"ce_{reduction}_{weighted}_{ignore}_{len(inner)}"
                    log_prob = torch.log_softmax(x, 1)
                    keep(case, x=x, labels=labels, weights=weights, loss=loss, log_prob=log_prob, d=d, dx=x.grad)
                    p = log_prob.detach().clone().requires_grad_()
                    loss = F.nll_loss(p, labels, w, ignore_index=ignore, reduction=reduction)
                    loss.backward(d)
                    keep(case.replace("ce", "nll"), x=p, labels=labels, weights=weights, loss=loss, d=d, dx=p.grad)


def squared_error():
    for reduction in ("mean", "sum", "none"):
        x, t = torch.randn(7, 9, requires_grad=True), torch.randn(7, 9)
        loss = F.mse_loss(x, t, reduction=reduction)
        d = torch.randn_like(loss)
        loss.backward(d)
        keep(f"mse_{reduction}", x=x, t=t, loss=loss, d=d, dx=x.grad)


def descent():
    w = torch.randn(5, 3, requires_grad=True)
    before = w.detach().clone()
    w.grad = torch.randn(5, 3)
    torch.optim.SGD([w], lr=0.25).step()
    keep("SGD", w=before, g=w.grad, out=w)


elementwise()
arithmetic()
cross_entropy()
squared_error()
descent()
numpy.savez(sys.argv[1], **arrays)
