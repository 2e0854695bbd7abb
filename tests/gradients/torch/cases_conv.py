"""Convolutions, their transposes and pools: cases.py says how a case is written."""
import torch
import torch.nn.functional as F

from cases import Cases

cases = Cases(5)
CONV = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
BACK = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}
MAX = {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}
AVERAGE = {1: F.avg_pool1d, 2: F.avg_pool2d, 3: F.avg_pool3d}


def number(high, low=1):
    return int(cases.integers(1, low=low, high=high + 1))


def conv(rank, groups, m, c, kernel, stride, dilation, pad, size, n=2, bias=True):
    """Pads may differ at both ends: PyTorch pads first."""
    x, w = cases.floats(n, groups * c, *size), cases.floats(groups * m, c, *kernel)
    before, after = pad
    flat = [p for i in reversed(range(rank)) for p in (before[i], after[i])]
    inputs = {"x": x, "w": w, **({"b": cases.floats(groups * m)} if bias else {})}
    cases.add("Conv", inputs,
              lambda x, w, b=None: CONV[rank](F.pad(x, flat), w, b, stride=stride, dilation=dilation, groups=groups),
              {"strides": stride, "dilations": dilation, "pads": before + after, "group": groups},
              name=f"Conv{rank}d")


for rank in (1, 2, 3):
    for i in range(8):
        kernel = [number(3) for _ in range(rank)]
        dilation = [number(2) for _ in range(rank)]
        stride = [number(3) for _ in range(rank)]
        span = [(k - 1) * d for k, d in zip(kernel, dilation)]
        pads = [[number(s, 0) for s in span] for _ in range(2)]
        size = [s + 1 + number(5 if rank == 3 else 9, 0) for s in span]
        groups = (1, 1, 3, 2)[i % 4]
        conv(rank, groups, number(5), number(5), kernel, stride, dilation, pads, size, bias=i % 2 == 0)
same = [[1, 1], [1, 1]]
conv(2, 1, 16, 16, [3, 3], [1, 1], [1, 1], same, [8, 8])
conv(2, 1, 16, 3, [3, 3], [1, 1], [1, 1], same, [12, 12], bias=False)
conv(2, 1, 24, 16, [3, 3], [2, 2], [1, 1], [[0, 0], [1, 1]], [8, 8])
conv(2, 1, 13, 17, [1, 1], [1, 1], [1, 1], [[0, 0], [0, 0]], [5, 5])
conv(2, 1, 16, 8, [1, 1], [2, 2], [1, 1], [[0, 0], [0, 0]], [8, 8], bias=False)
conv(2, 24, 1, 1, [3, 3], [1, 1], [1, 1], same, [9, 5], n=1)
conv(2, 16, 1, 1, [3, 3], [2, 2], [1, 1], [[0, 0], [1, 1]], [8, 8], n=1)
conv(2, 1, 8, 1, [10, 4], [2, 2], [1, 1], [[4, 1], [5, 1]], [49, 10], n=1)

for rank in (1, 2, 3):
    for i in range(6):
        kernel = [number(3) for _ in range(rank)]
        dilation = [number(2) for _ in range(rank)]
        stride = [number(3) for _ in range(rank)]
        pad = [number((k - 1) * d // 2, 0) for k, d in zip(kernel, dilation)]
        extra = [number(max(s, d) - 1, 0) for s, d in zip(stride, dilation)]
        groups, m, c = (1, 2)[i % 2], number(4), number(4)
        x, w = cases.floats(2, groups * m, *[number(4, 2) for _ in range(rank)]), cases.floats(groups * m, c, *kernel)
        cases.add("ConvTranspose", {"x": x, "w": w, "b": cases.floats(groups * c)},
                  lambda x, w, b: BACK[rank](x, w, b, stride=stride, padding=pad, output_padding=extra, groups=groups,
                                             dilation=dilation),
                  {"strides": stride, "dilations": dilation, "pads": pad + pad, "output_padding": extra,
                   "group": groups}, name=f"ConvTranspose{rank}d")

for rank in (1, 2, 3):
    for i in range(6):
        kernel = [number(3) for _ in range(rank)]
        dilation = [number(2) for _ in range(rank)]
        stride = [number(3) for _ in range(rank)]
        pad = [number(k // 2, 0) for k in kernel]
        x = cases.floats(2, 3, *[(k - 1) * d + 1 + number(6) for k, d in zip(kernel, dilation)])
        up = i % 2
        cases.add("MaxPool", {"x": x},
                  lambda x: MAX[rank](x, kernel, stride, pad, dilation, ceil_mode=bool(up)),
                  {"kernel_shape": kernel, "strides": stride, "pads": pad + pad, "dilations": dilation,
                   "ceil_mode": up}, name=f"MaxPool{rank}d")
        counted = i // 2 % 2
        cases.add("AveragePool", {"x": x},
                  lambda x: AVERAGE[rank](x, kernel, stride, pad, bool(up), bool(counted)),
                  {"kernel_shape": kernel, "strides": stride, "pads": pad + pad, "ceil_mode": up,
                   "count_include_pad": counted}, name=f"AveragePool{rank}d")
x = cases.floats(2, 5, 6, 7, low=0.1)
cases.add("LpPool", {"x": x}, lambda x: F.lp_pool2d(x, 2.0, (2, 3), 2),
          {"kernel_shape": [2, 3], "strides": [2, 2], "p": 2})
cases.add("LpPool", {"x": x}, lambda x: F.lp_pool2d(x, 3.0, (3, 2), 1), {"kernel_shape": [3, 2], "p": 3})
cases.add("GlobalAveragePool", {"x": x}, lambda x: x.mean((2, 3), keepdim=True))
cases.add("GlobalMaxPool", {"x": x}, lambda x: F.adaptive_max_pool2d(x, 1))
cases.add("GlobalLpPool", {"x": x}, lambda x: (x**2).sum((2, 3), keepdim=True).sqrt(), {"p": 2})

cases.write()
