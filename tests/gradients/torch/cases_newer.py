"""Forms of operator sets 18 to 21, which ONNX's own test data here does not reach: cases.py says how a case is written."""
import torch
import torch.nn.functional as F

from cases import Cases, constant, fixed

cases = Cases()


def ints(*values):
    return constant(torch.tensor(values, dtype=torch.int64))


x = cases.floats(3, 4, 5, low=0.2, high=2)
reductions = {"ReduceMean": torch.mean, "ReduceMax": torch.amax, "ReduceMin": torch.amin, "ReduceSum": torch.sum,
              "ReduceL1": lambda x, a, **k: x.abs().sum(a, **k), "ReduceSumSquare": lambda x, a, **k: x.square().sum(a, **k),
              "ReduceL2": lambda x, a, **k: x.square().sum(a, **k).sqrt(), "ReduceLogSum": lambda x, a, **k: x.sum(a, **k).log(),
              "ReduceLogSumExp": torch.logsumexp}
for opset in 18, 20, 21:
    for op, function in reductions.items():
        cases.add(op, {"x": x, "axes": ints(0, -1)}, lambda x, _, f=function: f(x, (0, 2), keepdim=False),
                  {"keepdims": 0}, opset=opset)
cases.add("ReduceProd", {"x": x, "axes": ints(1)}, lambda x, _: x.prod(1, keepdim=True), opset=18)
cases.add("ReduceSum", {"x": x}, lambda x: x * 1, {"noop_with_empty_axes": 1}, opset=18)

# Split into parts of which the last may be smaller.
cases.add("Split", {"x": cases.floats(3, 7)}, lambda x: torch.split(x, 3, 1), {"axis": 1, "num_outputs": 3}, opset=18,
          outputs=["a", "b", "c"])
image = cases.floats(2, 3, 5, 6)
cases.add("Pad", {"x": image, "pads": ints(0, 0, 1, 2, 0, 0, 3, 1)}, lambda x, _: F.pad(x, (2, 1, 1, 3), "circular"),
          {"mode": "wrap"}, opset=19, name="Pad_wrap")
cases.add("Pad", {"x": image, "pads": ints(1, 2, 3, 1), "value": constant(0.5), "axes": ints(-2, 3)},
          lambda x, *_: F.pad(x, (2, 1, 1, 3), value=0.5), opset=18, name="Pad_axes")
for opset in 20, 21:
    for form in "none", "tanh":
        cases.add("Gelu", {"x": cases.floats(4, 5, low=-4, high=4)}, opset=opset, attributes={"approximate": form},
                  function=lambda x, f=form: F.gelu(x, approximate=f))
cases.add("Mish", {"x": cases.floats(4, 5, low=-4, high=4)}, F.mish, opset=18)
cases.add("HardSwish", {"x": cases.floats(4, 5, low=-4, high=4)}, F.hardswish, opset=21)
cases.add("Cast", {"x": x}, lambda x: x * 1, {"to": 1, "saturate": 0}, opset=19)
cases.add("Cast", {"x": fixed(cases.floats(9, low=-3, high=3))}, lambda x: x.float().int(), {"to": 6}, opset=21)
scale = {"scale": cases.floats(3), "bias": cases.floats(3)}
cases.add("GroupNormalization", {"x": image, **scale}, lambda x, s, b: F.group_norm(x, 1, s, b, 1e-5),
          {"num_groups": 1, "stash_type": 1}, opset=21)
cases.add("LayerNormalization", {"x": image, "s": cases.floats(6)}, lambda x, s: F.layer_norm(x, (6,), s), opset=21)

# Windows of averages and norms with dilations, by gathering what they see.
def windows(x, kernel, dilation):
    h = x.shape[2] - (kernel - 1) * dilation
    w = x.shape[3] - (kernel - 1) * dilation
    return torch.stack([x[:, :, i * dilation:i * dilation + h, j * dilation:j * dilation + w]
                        for i in range(kernel) for j in range(kernel)])


cases.add("AveragePool", {"x": image}, lambda x: windows(x, 2, 3).mean(0), opset=19,
          attributes={"kernel_shape": [2, 2], "dilations": [3, 3]})
cases.add("AveragePool", {"x": image}, lambda x: F.avg_pool2d(x, 3, 2, 1, True, False), opset=21,
          attributes={"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1], "ceil_mode": 1})
cases.add("LpPool", {"x": image}, lambda x: windows(x, 2, 2).square().sum(0).sqrt(), opset=18,
          attributes={"kernel_shape": [2, 2], "dilations": [2, 2], "p": 2})
cases.add("MaxPool", {"x": image}, lambda x: F.max_pool2d(x, 2, 2, 0, 2), opset=21,
          attributes={"kernel_shape": [2, 2], "strides": [2, 2], "dilations": [2, 2]})

empty = constant(torch.zeros(0))
for opset in 18, 19:
    # Smaller by a filter as wide as the step (antialias), along some axes only (axes).
    cases.add("Resize", {"x": image, "roi": empty, "scales": empty, "sizes": ints(3, 4)}, opset=opset,
              attributes={"mode": "linear", "antialias": 1, "exclude_outside": 1, "axes": [2, 3]}, name="Resize_antialias",
              function=lambda x, *_: F.interpolate(x, (3, 4), mode="bilinear", antialias=True))
    cases.add("Resize", {"x": image, "roi": empty, "scales": empty, "sizes": ints(3, 4)}, opset=opset,
              attributes={"mode": "cubic", "antialias": 1, "cubic_coeff_a": -0.5, "exclude_outside": 1,
                          "axes": [2, 3]}, name="Resize_cubic",
              function=lambda x, *_: F.interpolate(x, (3, 4), mode="bicubic", antialias=True))
    # Within 10 x 9: 5 x 6 becomes 8 x 9 by the smaller scale, 9 x 11 by the larger one of 9 x 9.
    nearest = {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor", "axes": [2, 3]}
    for policy, sizes, scale in (("not_larger", (10, 9), 1.5), ("not_smaller", (10, 9), 2.0)):
        h, w = round(5 * scale + 1e-9), round(6 * scale)
        rows, columns = torch.arange(h).div(scale).long(), torch.arange(w).div(scale).long()
        cases.add("Resize", {"x": image, "roi": empty, "scales": empty, "sizes": ints(*sizes)}, opset=opset,
                  attributes={**nearest, "keep_aspect_ratio_policy": policy}, name="Resize_" + policy,
                  function=lambda x, *_, r=rows, c=columns: x[:, :, r][:, :, :, c])
cases.add("Resize", {"x": image, "roi": empty, "scales": empty, "sizes": ints(8, 9)}, opset=19, name="Resize_symmetric",
          attributes={"mode": "linear", "coordinate_transformation_mode": "half_pixel_symmetric", "axes": [2, 3]},
          function=lambda x, *_: F.interpolate(x, (8, 9), mode="bilinear", align_corners=False))

rows = torch.stack([torch.randperm(4, generator=cases.random)[:3] for _ in range(15)]).reshape(3, 5, 3).transpose(1, 2)
for reduction, name in (("mul", "prod"), ("max", "amax"), ("min", "amin"), ("add", "sum")):
    cases.add("ScatterElements", {"x": x, "i": fixed(rows.contiguous()), "u": cases.floats(3, 3, 5, low=0.2, high=2)},
              lambda x, i, u, r=name: x.scatter_reduce(1, i, u, r), {"axis": 1, "reduction": reduction}, opset=18)
for opset in 19, 21:
    cases.add("Reshape", {"x": x, "shape": ints(12, -1)}, lambda x, _: x.reshape(12, 5), opset=opset)
    cases.add("Transpose", {"x": x}, lambda x: x.permute(1, 2, 0), {"perm": [1, 2, 0]}, opset=opset)
    cases.add("Unsqueeze", {"x": x, "axes": ints(1)}, lambda x, _: x[:, None], opset=opset)
    cases.add("Flatten", {"x": x}, lambda x: x.flatten(1), opset=opset)
    cases.add("Identity", {"x": x}, lambda x: x * 1, opset=opset)

cases.write()
