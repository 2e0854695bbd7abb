"""Training graphs in the dialects that users bring, written node by node.

usage: make.py MODEL.onnx BATCH LR OUT

MODEL is a perceptron of two linear layers, fc1 and fc2, with a ReLU between; its weights are the initial ones. Writes
  OUT/ort.onnx, OUT/ort_optimizer.onnx, OUT/weights.npz   ONNX Runtime: weights are inputs, accumulators report "updated"
  OUT/acc.onnx, OUT/acc_optimizer.onnx                    the same with accumulators whose only output is the buffer
  OUT/sgd_sequences.onnx, OUT/adamw_sequences.onnx        optimizer graphs as generate_artifacts writes them
  OUT/adamw_gradients.onnx                                the same with the gradients by name, as it wrote them once
  OUT/whole.onnx                                          Deeploy: forward, backward and SGD in one graph
  OUT/adam_whole.onnx                                     the same with one Adam of ai.onnx.preview.training for all
"""
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

source, batch, lr, out = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), sys.argv[4]
MS = "com.microsoft"
weights = {t.name: numpy_helper.to_array(t) for t in onnx.load(source).graph.initializer}
names = ["fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"]
hidden, inputs = weights["fc1.weight"].shape
classes = weights["fc2.weight"].shape[0]


def info(name, shape, kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def node(op, inputs_, outputs, name, domain="", **attributes):
    return helper.make_node(op, inputs_, outputs, name=name, domain=domain, **attributes)


def forward():
    return [
        node("Gemm", ["input", "fc1.weight", "fc1.bias"], ["h"], "fc1", transB=1),
        node("Relu", ["h"], ["a"], "relu"),
        node("Gemm", ["a", "fc2.weight", "fc2.bias"], ["scores"], "fc2", transB=1),
    ]


def backward(bias_axes_as_input, relu_domain):
    """From dscores to a gradient for each parameter. Weight gradients as transposed products, as exporters write them."""
    def bias(gradient, output, name):
        if bias_axes_as_input:
            return node("ReduceSum", [gradient, "axes"], [output], name, keepdims=0)
        return node("ReduceSum", [gradient], [output], name, axes=[0], keepdims=0)

    return [
        node("Gemm", ["dscores", "a"], ["fc2.weight_grad"], "fc2_dw", transA=1),
        bias("dscores", "fc2.bias_grad", "fc2_db"),
        node("MatMul", ["dscores", "fc2.weight"], ["da"], "fc2_dx"),
        node("ReluGrad", ["da", "h"], ["dh"], "relu_dx", relu_domain),
        node("Gemm", ["dh", "input"], ["fc1.weight_grad"], "fc1_dw", transA=1),
        bias("dh", "fc1.bias_grad", "fc1_db"),
    ]


def save(graph, opsets, path):
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid(d, v) for d, v in opsets])
    model.ir_version = 8
    onnx.save(model, path)


def ort(reports_updated, path, optimizer_path):
    nodes = forward() + [
        node("SoftmaxCrossEntropyLossInternal", ["scores", "label"], ["loss", "log_prob"], "loss", MS, reduction="mean"),
        node("SoftmaxCrossEntropyLossInternalGrad", ["one", "log_prob", "label"], ["dscores"], "loss_grad", MS,
             reduction="mean"),
    ] + backward(True, MS)
    outputs = [info("loss", [])]
    for name in names:
        buffer = f"{name}_grad.accumulation.buffer"
        if reports_updated:
            made = [f"{name}_updated"]
            outputs.append(info(made[0], [1], TensorProto.BOOL))
        else:
            made = [f"{name}_grad.accumulation.out"]
            outputs.append(info(made[0], weights[name].shape))
        nodes.append(node("InPlaceAccumulatorV2", [buffer, f"{name}_grad", "lazy_reset_grad"], made, f"acc {name}", MS))
    graph_inputs = [info("input", [batch, inputs]), info("label", [batch], TensorProto.INT64)]
    graph_inputs += [info(name, weights[name].shape) for name in names]
    graph_inputs += [info(f"{name}_grad.accumulation.buffer", weights[name].shape) for name in names]
    graph_inputs += [info("lazy_reset_grad", [1], TensorProto.BOOL)]
    constants = [numpy_helper.from_array(np.array(1, np.float32), "one"),
                 numpy_helper.from_array(np.array([0], np.int64), "axes")]
    save(helper.make_graph(nodes, "training", graph_inputs, outputs, constants), [("", 17), (MS, 1)], path)

    updates, ins, outs = [], [], []
    for name in names:
        buffer = f"{name}_grad.accumulation.buffer"
        updates.append(node("SGDOptimizer", ["learning_rate", name, buffer], [f"{name}_new"], f"sgd {name}", MS))
        ins += [info(name, weights[name].shape), info(buffer, weights[name].shape)]
        outs.append(info(f"{name}_new", weights[name].shape))
    rate = [numpy_helper.from_array(np.array([lr], np.float32), "learning_rate")]
    save(helper.make_graph(updates, "optimizer", ins, outs, rate), [("", 17), (MS, 1)], optimizer_path)


def sequences(kind, gradients_by_name, path):
    """One node for all weights: they, their gradients and moments are sequences that the graph takes as inputs."""
    def sequence(name):
        return helper.make_tensor_sequence_value_info(name, TensorProto.FLOAT, None)

    adamw = kind == "AdamWOptimizer"
    ins = [info("learning_rate", [1])] + ([info("step", [1], TensorProto.INT64)] if adamw else []) + [sequence("params")]
    nodes = []
    if gradients_by_name:
        ins += [info(f"{name}_grad", weights[name].shape) for name in names]
        nodes.append(node("SequenceConstruct", [f"{name}_grad" for name in names], ["gradients"], "gradients"))
    else:
        ins.append(sequence("gradients"))
    moments = ["first_order_moments", "second_order_moments"] if adamw else []
    ins += [sequence(name) for name in moments]
    attributes = dict(alpha=0.9, beta=0.999, epsilon=1e-8, weight_decay=0.01, correct_bias=1, adam_mode=0) if adamw else {}
    nodes.append(node(kind, ["learning_rate"] + (["step"] if adamw else []) + ["params", "gradients"] + moments,
                      ["update_completed"], kind, MS, **attributes))
    outs = [info("update_completed", [1], TensorProto.INT64 if adamw else TensorProto.BOOL)]
    save(helper.make_graph(nodes, "optimizer", ins, outs), [("", 14), (MS, 1)], path)


def whole(path, adam):
    nodes = forward() + [
        node("SoftmaxCrossEntropyLoss", ["scores", "label"], ["log_prob"], "loss"),
        node("SoftmaxCrossEntropyLossGrad", ["log_prob", "label"], ["dscores"], "loss_grad"),
    ] + backward(False, "")
    constants = [numpy_helper.from_array(weights[name], name) for name in names]
    ins = [info("input", [batch, inputs]), info("label", [batch], TensorProto.INT64)]
    if adam:
        operands = ["rate", "count"] + names + [f"{name}_grad" for name in names]
        operands += [f"{name}.{moment}" for moment in ("v", "h") for name in names]
        made = [f"{name}{suffix}" for suffix in ("_updated", ".v_new", ".h_new") for name in names]
        nodes.append(node("Adam", operands, made, "adam", "ai.onnx.preview.training", alpha=0.9, beta=0.999, epsilon=1e-12))
        constants.append(numpy_helper.from_array(np.array(lr, np.float32), "rate"))
        ins.append(info("count", [], TensorProto.INT64))
        ins += [info(f"{name}.{moment}", weights[name].shape) for name in names for moment in ("v", "h")]
    else:
        nodes += [node("SGD", [name, f"{name}_grad"], [f"{name}_updated"], f"sgd {name}", lr=lr) for name in names]
    outs = [info(f"{name}_updated", weights[name].shape) for name in names]
    save(helper.make_graph(nodes, "whole", ins, outs, constants),
         [("", 12), ("ai.onnx", 12), ("ai.onnx.preview.training", 1)], path)


ort(True, f"{out}/ort.onnx", f"{out}/ort_optimizer.onnx")
ort(False, f"{out}/acc.onnx", f"{out}/acc_optimizer.onnx")
sequences("SGDOptimizerV2", False, f"{out}/sgd_sequences.onnx")
sequences("AdamWOptimizer", False, f"{out}/adamw_sequences.onnx")
sequences("AdamWOptimizer", True, f"{out}/adamw_gradients.onnx")
whole(f"{out}/whole.onnx", False)
whole(f"{out}/adam_whole.onnx", True)
np.savez(f"{out}/weights.npz", **{name: weights[name] for name in names})
