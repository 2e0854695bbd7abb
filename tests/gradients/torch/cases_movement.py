"""Operators that move data: cases.py says how a case is written."""
import torch
import torch.nn.functional as F

from cases import Cases, constant, fixed

cases = Cases()


def ints(*values):
    return constant(torch.tensor(values, dtype=torch.int64))


x = cases.floats(3, 4, 5)
cases.add("Slice", {"x": x, "starts": ints(1, 0), "ends": ints(4, 5), "axes": ints(1, 2), "steps": ints(1, 2)},
          lambda x, *_: x[:, 1:4, 0:5:2])
cases.add("Slice", {"x": x, "starts": ints(-1), "ends": ints(-100), "axes": ints(2), "steps": ints(-2)},
          lambda x, *_: x.flip(2)[:, :, ::2])
cases.add("Split", {"x": x, "split": ints(1, 3)}, lambda x, _: torch.split(x, [1, 3], 1), {"axis": 1})
cases.add("Split", {"x": x}, lambda x: torch.split(x, 1, 0), {"axis": 0}, opset=11)
cases.add("Concat", {"a": x, "b": cases.floats(3, 2, 5), "c": cases.floats(3, 1, 5)},
          lambda *a: torch.cat(a, 1), {"axis": 1})
cases.add("Concat", {f"x{i}": cases.floats(2, 3) for i in range(11)}, lambda *a: torch.cat(a, 0), {"axis": 0},
          name="Concat_many")
image = cases.floats(2, 3, 5, 6)
for mode in "constant", "reflect":
    cases.add("Pad", {"x": image, "pads": ints(0, 0, 1, 2, 0, 0, 3, 1)},
              lambda x, _, mode=mode: F.pad(x, (2, 1, 1, 3), mode), {"mode": mode}, name="Pad_" + mode)
cases.add("Pad", {"x": image, "pads": ints(0, 0, 1, 2, 0, 0, 3, 1)},
          lambda x, _: F.pad(x, (2, 1, 1, 3), "replicate"), {"mode": "edge"}, name="Pad_edge")
cases.add("Pad", {"x": image, "pads": ints(0, 0, -1, 2, 0, 0, 3, -1), "value": constant(1.5)},
          lambda x, *_: F.pad(x, (2, -1, -1, 3), value=1.5), name="Pad_negative")
cases.add("Gather", {"x": x, "i": fixed(torch.tensor([[1, -1], [3, 1]]))},
          lambda x, i: x[:, i % 4], {"axis": 1})
cases.add("Gather", {"x": x, "i": constant(torch.tensor(2))}, lambda x, i: x[:, 2], {"axis": 1}, name="Gather_one")
cases.add("GatherElements", {"x": x, "i": fixed(cases.integers(3, 6, 5, high=4))},
          lambda x, i: torch.gather(x, 1, i), {"axis": 1})
cases.add("GatherND", {"x": x, "i": fixed(torch.tensor([[0, 1], [2, 3], [0, 1]]))}, lambda x, i: x[i[:, 0], i[:, 1]])
cases.add("ScatterElements", {"x": x, "i": fixed(cases.integers(3, 6, 5, high=4)), "u": cases.floats(3, 6, 5)},
          lambda x, i, u: x.scatter_add(1, i, u), {"axis": 1, "reduction": "add"}, opset=16)
rows = torch.stack([torch.randperm(4, generator=cases.random)[:3] for _ in range(15)]).reshape(3, 5, 3).transpose(1, 2)
cases.add("ScatterElements", {"x": x, "i": fixed(rows.contiguous()), "u": cases.floats(3, 3, 5)},
          lambda x, i, u: x.scatter(1, i, u), {"axis": 1})
cases.add("ScatterND", {"x": x, "i": fixed(torch.tensor([[2], [0]])), "u": cases.floats(2, 4, 5)},
          lambda x, i, u: x.index_copy(0, i[:, 0], u))
cases.add("Expand", {"x": cases.floats(3, 1, 5), "shape": ints(2, 3, 4, 5)}, lambda x, _: x.expand(2, 3, 4, 5))
cases.add("Tile", {"x": x, "repeats": ints(2, 1, 3)}, lambda x, _: x.repeat(2, 1, 3))
cases.add("Transpose", {"x": x}, lambda x: x.permute(2, 0, 1), {"perm": [2, 0, 1]})
cases.add("Reshape", {"x": x, "shape": ints(0, -1)}, lambda x, _: x.reshape(3, 20))
cases.add("Squeeze", {"x": cases.floats(3, 1, 5), "axes": ints(1)}, lambda x, _: x.squeeze(1))
cases.add("Unsqueeze", {"x": x, "axes": ints(0, -1)}, lambda x, _: x[None, ..., None])
cases.add("Flatten", {"x": x}, lambda x: x.flatten(1), {"axis": 1})
cases.add("DepthToSpace", {"x": cases.floats(2, 12, 3, 2)}, lambda x: F.pixel_shuffle(x, 2),
          {"blocksize": 2, "mode": "CRD"})
cases.add("SpaceToDepth", {"x": cases.floats(2, 1, 6, 4)}, lambda x: F.pixel_unshuffle(x, 2), {"blocksize": 2})
cases.add("Identity", {"x": x}, lambda x: x * 1)
cases.add("Scatter", {"x": x, "i": fixed(rows.contiguous()), "u": cases.floats(3, 3, 5)},
          lambda x, i, u: x.scatter(1, i, u), {"axis": 1}, opset=9)
cases.add("Compress", {"x": x, "c": constant(torch.tensor([True, False, True, True]))},
          lambda x, _: x[:, [0, 2, 3]], {"axis": 1})
cases.add("ReverseSequence", {"x": x, "lengths": fixed(torch.tensor([4, 2, 1]))}, attributes={"batch_axis": 0, "time_axis": 1},
          function=lambda x, _: torch.stack([torch.cat([s[:n].flip(0), s[n:]]) for s, n in zip(x, (4, 2, 1))]))
cases.add("Cast", {"x": x}, lambda x: x * 1, {"to": 1})
cases.add("CastLike", {"x": x, "like": fixed(cases.floats(1))}, lambda x, _: x * 1)
cases.add("Dropout", {"x": x}, lambda x: F.dropout(x, 0.5, False))
cases.add("Dropout", {"x": x}, lambda x: F.dropout(x, 0.3, False), {"ratio": 0.3}, opset=10, name="Dropout_old")
ms = "com.microsoft"
shape = ints(3, 4, 5)
cases.add("SliceGrad", {"dy": cases.floats(3, 2, 5), "shape": shape, "starts": ints(1), "ends": ints(4), "axes": ints(1),
                        "steps": ints(2)}, domain=ms,
          function=lambda dy, *_: torch.zeros(3, 4, 5).double().index_add(1, torch.tensor([1, 3]), dy))
cases.add("GatherGrad", {"shape": shape, "i": fixed(torch.tensor([1, 3, 1])), "dy": cases.floats(3, 3, 5)}, domain=ms,
          attributes={"axis": 1}, function=lambda _, i, dy: torch.zeros(3, 4, 5).double().index_add(1, i, dy))
cases.add("Trilu", {"x": x, "k": constant(torch.tensor(1))}, lambda x, _: torch.triu(x, 1))
cases.add("Trilu", {"x": x, "k": constant(torch.tensor(-1))}, lambda x, _: torch.tril(x, -1), {"upper": 0})
cases.add("TopK", {"x": x, "k": ints(3)}, lambda x, _: torch.topk(x, 3, 1), {"axis": 1})
cases.add("TopK", {"x": x, "k": ints(2)}, lambda x, _: torch.topk(x, 2, 2, largest=False), {"axis": 2, "largest": 0})


def resized(name, attributes, **torch_options):
    for size in (8, 9), (3, 4), (5, 12):
        cases.add("Resize", {"x": image, "roi": constant(torch.zeros(0)), "scales": constant(torch.zeros(0)),
                             "sizes": ints(2, 3, *size)},
                  lambda x, *_, size=size: F.interpolate(x, size, **torch_options), attributes, name=name)


resized("Resize_nearest", {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"},
        mode="nearest")
resized("Resize_linear", {"mode": "linear", "coordinate_transformation_mode": "pytorch_half_pixel"}, mode="bilinear",
        align_corners=False)
resized("Resize_corners", {"mode": "linear", "coordinate_transformation_mode": "align_corners"}, mode="bilinear",
        align_corners=True)
resized("Resize_cubic", {"mode": "cubic", "coordinate_transformation_mode": "pytorch_half_pixel",
                         "cubic_coeff_a": -0.75}, mode="bicubic", align_corners=False)
cases.add("Upsample", {"x": image, "scales": constant(torch.tensor([1.0, 1.0, 2.0, 3.0]))},
          lambda x, _: F.interpolate(x, scale_factor=(2, 3), mode="nearest"), {"mode": "nearest"}, opset=9)

for equation, shapes in {"ij,jk->ik": [(3, 4), (4, 5)], "bij,bjk->bik": [(2, 3, 4), (2, 4, 5)], "ii->i": [(4, 4)],
                         "iji->j": [(3, 4, 3)], "ij->": [(3, 4)], "i,j->ij": [(3,), (4,)],
                         "...ij,...jk->...ik": [(2, 1, 3, 4), (5, 4, 2)], "ij,kj,kl->il": [(3, 4), (5, 4), (5, 2)],
                         "bhid,bhjd->bhij": [(2, 3, 4, 5), (2, 3, 6, 5)], "ij,ij->ij": [(3, 4), (3, 4)]}.items():
    cases.add("Einsum", {f"x{i}": cases.floats(*s) for i, s in enumerate(shapes)},
              lambda *a, e=equation: torch.einsum(e, *a), {"equation": equation})

cases.write()
