"""Elementwise operators: cases.py says how a case is written."""
import torch

from cases import Cases

cases = Cases()
x = cases.floats(5, 7, low=-3, high=3)

for op, f in {"Relu": torch.relu, "Sigmoid": torch.sigmoid, "Tanh": torch.tanh, "Neg": torch.neg, "Exp": torch.exp,
              "Abs": torch.abs, "Sign": torch.sign}.items():
    cases.add(op, {"x": x}, f)
for op, f in {"Log": torch.log, "Sqrt": torch.sqrt, "Reciprocal": torch.reciprocal}.items():
    cases.add(op, {"x": cases.floats(5, 7, low=0.1, high=3)}, f)
for op, f in {"Add": torch.add, "Sub": torch.sub, "Mul": torch.mul, "Div": torch.div}.items():
    cases.add(op, {"a": cases.floats(4, 1, 5), "b": cases.floats(3, 1, low=0.5, high=1.5)}, f)

cases.write()
