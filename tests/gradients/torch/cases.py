"""Cases for torch_test.cpp: a node as an ONNX file, and what PyTorch makes of it, forward and backward.

    cases = Cases()
    cases.add("Clip", {"x": cases.floats(4, 5), "min": constant(-0.5)}, lambda x, lo: x.clamp(min=lo), opset=13)
    cases.write()        # into the folder named on the command line

The function gets the inputs in double precision, so that PyTorch's own rounding is no part of the comparison, and
returns the output, or a tuple of outputs with None for those that are not compared. Every float input that is not a
constant gets a gradient. A family is a file cases_<family>.py; the test finds it by its name.
"""
import os
import sys

import numpy
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper

TYPES = {torch.float32: TensorProto.FLOAT, torch.float64: TensorProto.FLOAT, torch.int64: TensorProto.INT64,
         torch.int32: TensorProto.INT32, torch.uint8: TensorProto.UINT8, torch.bool: TensorProto.BOOL}


class constant:
    """An input whose value stands in the file: no gradient."""

    def __init__(self, value):
        self.value = value if isinstance(value, torch.Tensor) else torch.tensor(value)


class fixed:
    """An input of the graph for which no gradient is wanted."""

    def __init__(self, value):
        self.value = value


def array(tensor):
    tensor = tensor.detach()
    return (tensor.float() if tensor.is_floating_point() else tensor).numpy()


class Cases:
    def __init__(self, seed=1):
        self.random = torch.Generator().manual_seed(seed)
        self.folder = sys.argv[1]
        self.arrays, self.names = {}, []

    def floats(self, *shape, low=-1.0, high=1.0):
        return torch.rand(shape, generator=self.random) * (high - low) + low

    def integers(self, *shape, low=0, high=10):
        return torch.randint(low, high, shape, generator=self.random)

    def add(self, op, inputs, function, attributes=None, opset=17, domain="", name=None, outputs=None, tolerance=1e-5):
        """`outputs`: names, "" for one that is absent; as many as the function returns where not given."""
        name = f"{len(self.names):03}_{name or op}"
        self.names.append(name)
        kept, values = {}, []
        for key, given in inputs.items():
            value = given.value if isinstance(given, (constant, fixed)) else given
            kept[key] = value
            value = value.double() if value is not None and value.is_floating_point() else value
            if isinstance(given, torch.Tensor) and given.is_floating_point():
                value = value.detach().requires_grad_()
            values.append(value)
        made = function(*values)
        made = made if isinstance(made, (tuple, list)) else (made,)
        outputs = outputs or [f"out{i}" for i in range(len(made))]
        self.save(name, op, domain, opset, attributes or {}, inputs, kept, outputs)
        self.arrays[f"{name}/tolerance"] = numpy.float32(tolerance)
        objective = 0
        for key, y in zip(outputs, made):
            if not key or y is None:
                continue
            self.arrays[f"{name}/value/{key}"] = array(y)
            if not y.is_floating_point() or not y.requires_grad:
                continue
            d = torch.rand(y.shape, generator=self.random) * 2 - 1
            self.arrays[f"{name}/d/{key}"] = array(d)
            objective = objective + (y * d.double()).sum()
        if isinstance(objective, torch.Tensor):
            objective.backward()
        for key, value in zip(inputs, values):
            if value is not None and value.requires_grad and value.grad is not None:
                self.arrays[f"{name}/gradient/{key}"] = array(value.grad)

    def save(self, name, op, domain, opset, attributes, inputs, kept, outputs):
        graph_inputs, initializers = [], []
        for key, given in inputs.items():
            value = kept[key]
            if value is None:
                continue
            if isinstance(given, constant):
                initializers.append(numpy_helper.from_array(array(value), key))
                continue
            graph_inputs.append(helper.make_tensor_value_info(key, TYPES[value.dtype], list(value.shape)))
            self.arrays[f"{name}/input/{key}"] = array(value)
        node = helper.make_node(op, ["" if kept[k] is None else k for k in inputs], outputs, name=op, domain=domain,
                                **attributes)
        made = [helper.make_empty_tensor_value_info(o) for o in outputs if o]
        graph = helper.make_graph([node], name, graph_inputs, made, initializers)
        sets = [helper.make_opsetid("", opset)] + ([helper.make_opsetid(domain, 1)] if domain else [])
        onnx.save(helper.make_model(graph, opset_imports=sets), os.path.join(self.folder, name + ".onnx"))

    def write(self):
        numpy.savez(os.path.join(self.folder, "values.npz"), **self.arrays)
