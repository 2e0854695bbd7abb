"""Matrix products and Softmax: cases.py says how a case is written."""
import torch

from cases import Cases, constant

cases = Cases()
ms = "com.microsoft"

for m, n, k in ((4, 5, 6), (1, 9, 3), (13, 7, 33)):
    for ta, tb in ((0, 0), (1, 0), (0, 1), (1, 1)):
        a, b = cases.floats(*((k, m) if ta else (m, k))), cases.floats(*((n, k) if tb else (k, n)))
        for c in (None, (n,), (m, 1), (m, n), ()):
            cases.add("Gemm", {"a": a, "b": b} if c is None else {"a": a, "b": b, "c": cases.floats(*c)},
                      lambda a, b, c=0.0, ta=ta, tb=tb: 0.5 * (a.T if ta else a) @ (b.T if tb else b) - 1.5 * c,
                      {"transA": ta, "transB": tb, "alpha": 0.5, "beta": -1.5})
            if (m, n, k) != (4, 5, 6):
                break

for a, b in (((3, 4), (4, 5)), ((4,), (4,)), ((4,), (4, 5)), ((3, 4), (4,)), ((2, 3, 4), (4, 5)),
             ((2, 1, 3, 4), (5, 4, 2)), ((3, 4), (2, 5, 4, 6)), ((4,), (2, 4, 3)), ((2, 3, 4), (4,)), ((17, 65), (65, 9))):
    cases.add("MatMul", {"a": cases.floats(*a), "b": cases.floats(*b)}, torch.matmul)
for ta, tb in ((0, 1), (1, 0), (1, 1)):
    a, b = cases.floats(*((2, 6, 4) if ta else (2, 4, 6))), cases.floats(*((2, 5, 6) if tb else (2, 6, 5)))
    cases.add("FusedMatMul", {"a": a, "b": b}, domain=ms, attributes={"alpha": 1.25, "transA": ta, "transB": tb},
              function=lambda a, b, ta=ta, tb=tb: 1.25 * (a.mT if ta else a) @ (b.mT if tb else b))
cases.add("ReduceSumTraining", {"x": cases.floats(3, 4, 5), "axes": constant(torch.tensor([0, 2]))}, domain=ms,
          attributes={"keepdims": 0}, function=lambda x, _: x.sum((0, 2)))

for shape in ((5, 7), (3, 4, 2), (2, 130), (2, 3, 4, 5)):
    x = {"x": cases.floats(*shape, low=-5, high=5)}
    for axis in range(-1, len(shape)):
        for op, function in (("Softmax", torch.softmax), ("LogSoftmax", torch.log_softmax)):
            cases.add(op, x, lambda x, f=function, a=axis: f(x, a), {"axis": axis})
            cases.add(op, x, opset=11, attributes={"axis": axis}, name=op + "_old",
                      function=lambda x, f=function, a=axis % len(shape): f(x.flatten(a), -1).reshape(x.shape))

cases.write()
