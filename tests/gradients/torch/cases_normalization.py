"""Normalisation: cases.py says how a case is written."""
import torch
import torch.nn.functional as F

from cases import Cases, fixed

cases = Cases()
ms = "com.microsoft"


def batch_norm(training, momentum=0.1, eps=1e-5):
    def function(x, scale, bias, mean, var):
        mean, var = mean.clone(), var.clone()
        y = F.batch_norm(x, mean, var, scale, bias, training, momentum, eps)
        return (y, mean, var) if training else y
    return function


for shape in ((4, 3, 5, 6), (16, 7), (3, 2, 80), (2, 4, 3, 2, 5)):
    c = shape[1]
    inputs = {"x": cases.floats(*shape, low=-1, high=3), "scale": cases.floats(c), "bias": cases.floats(c),
              "mean": fixed(cases.floats(c)), "var": fixed(cases.floats(c, low=0.5, high=2))}
    cases.add("BatchNormalization", inputs, batch_norm(True), opset=15,
              attributes={"training_mode": 1, "unbiased": 1, "momentum": 0.9})
    cases.add("BatchNormalization", inputs, batch_norm(False, eps=1e-3), opset=9, attributes={"epsilon": 1e-3})
    cases.add("BatchNormalization", inputs, batch_norm(False), opset=15, name="BatchNormalization_frozen")
    cases.add("BatchNormInternal", inputs, lambda *a: batch_norm(True)(*a)[0], domain=ms,
              outputs=["y", "running_mean", "running_var", "saved_mean", "saved_inv_std"],
              attributes={"training_mode": 1})

for shape, axes in (((4, 10, 64), 1), ((6, 5, 4), 2), ((3, 100), 1)):
    normal = shape[len(shape) - axes:]
    inputs = {"x": cases.floats(*shape, low=-1, high=3), "scale": cases.floats(*normal), "bias": cases.floats(*normal)}
    cases.add("LayerNormalization", inputs, lambda x, s, b: F.layer_norm(x, s.shape, s, b, 1e-5), opset=17,
              attributes={"axis": -axes})
    del inputs["bias"]
    cases.add("SimplifiedLayerNormalization", inputs, attributes={"axis": -axes, "epsilon": 1e-6},
              function=lambda x, s: x * (x.square().mean(list(range(-s.dim(), 0)), keepdim=True) + 1e-6).rsqrt() * s)
    cases.add("RMSNormalization", inputs, opset=23, attributes={"axis": -axes, "epsilon": 1e-6},
              function=lambda x, s: x * (x.square().mean(list(range(-s.dim(), 0)), keepdim=True) + 1e-6).rsqrt() * s)

for shape in ((3, 6, 5, 4), (2, 4, 70)):
    inputs = {"x": cases.floats(*shape, low=-1, high=3), "scale": cases.floats(shape[1]), "bias": cases.floats(shape[1])}
    cases.add("InstanceNormalization", inputs, lambda x, s, b: F.instance_norm(x, weight=s, bias=b, eps=1e-5))
    for groups in (1, 2, shape[1]):
        cases.add("GroupNormalization", inputs, lambda x, s, b: F.group_norm(x, groups, s, b, 1e-5), opset=21,
                  attributes={"num_groups": groups})
        by_group = {"x": inputs["x"], "scale": cases.floats(groups), "bias": cases.floats(groups)}
        cases.add("GroupNormalization", by_group, opset=18, attributes={"num_groups": groups}, name="GroupNormalization_18",
                  function=lambda x, s, b, each=shape[1] // groups: F.group_norm(
                      x, groups, s.repeat_interleave(each), b.repeat_interleave(each), 1e-5))
    x = {"x": inputs["x"]}
    for axis, p in ((1, 1), (-1, 2), (0, 2)):
        cases.add("LpNormalization", x, lambda x: F.normalize(x, p, axis), attributes={"axis": axis, "p": p})
    cases.add("LRN", x, lambda x: F.local_response_norm(x, 3, 0.5, 0.75, 1.0),
              attributes={"size": 3, "alpha": 0.5, "beta": 0.75, "bias": 1.0})
    cases.add("MeanVarianceNormalization", x, attributes={"axes": [0, 2]} if len(shape) == 3 else {},
              function=lambda x: (x - x.mean([0, *range(2, x.dim())], keepdim=True))
              / x.std([0, *range(2, x.dim())], keepdim=True, unbiased=False))

cases.write()
