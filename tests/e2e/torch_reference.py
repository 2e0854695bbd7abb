"""Trains a perceptron in PyTorch and leaves what Tessera must reproduce.

usage: torch_reference.py OUT WIDTHS BATCH STEPS ACCUMULATE LR LOSS [WEIGHTS_AND_DATA] [--optimizer NAME KEY=VALUE...]

Writes OUT/model.onnx (exported by PyTorch), OUT/data.npz (samples) and OUT/reference.npz (a loss for each micro-batch,
and the final parameters). With WEIGHTS_AND_DATA, an ONNX file and an .npz, it starts from those instead of its own.
The optimizer is a class of torch.optim (default SGD) with these arguments.
"""
import ast
import sys

import numpy as np
import onnx
import onnx.numpy_helper
import torch
from torch.nn import functional

optimizer_name, optimizer_arguments = "SGD", {}
if "--optimizer" in sys.argv:
    at = sys.argv.index("--optimizer")
    optimizer_name = sys.argv[at + 1]
    optimizer_arguments = {key: ast.literal_eval(value) for key, value in (a.split("=") for a in sys.argv[at + 2:])}
    del sys.argv[at:]
out, widths, batch, steps, accumulate, lr, loss_name = sys.argv[1:8]
widths = [int(w) for w in widths.split("-")]
batch, steps, accumulate, lr = int(batch), int(steps), int(accumulate), float(lr)
loss_of = {"cross_entropy": functional.cross_entropy, "nll": functional.nll_loss, "mse": functional.mse_loss,
           "l1": functional.l1_loss, "huber": functional.huber_loss, "bce": functional.binary_cross_entropy,
           "bce_logits": functional.binary_cross_entropy_with_logits}[loss_name]
truth_name = "label" if loss_name in ("cross_entropy", "nll") else "target"
torch.manual_seed(11)
torch.set_num_threads(1)


class Perceptron(torch.nn.Module):
    def __init__(self):
        super().__init__()
        for i, (a, b) in enumerate(zip(widths, widths[1:]), 1):
            setattr(self, f"fc{i}", torch.nn.Linear(a, b))

    def forward(self, x):
        for i in range(1, len(widths)):
            x = getattr(self, f"fc{i}")(x)
            if i + 1 < len(widths):
                x = torch.relu(x)
        return torch.sigmoid(x) if loss_name == "bce" else x  # of probabilities


model = Perceptron()
if len(sys.argv) > 8:
    weights = {t.name: torch.tensor(onnx.numpy_helper.to_array(t)) for t in onnx.load(sys.argv[8]).graph.initializer}
    model.load_state_dict({name: weights[name] for name in model.state_dict()})
    arrays = np.load(sys.argv[9])
    x = torch.tensor(arrays["input"])
    truth = torch.tensor(arrays[truth_name])
else:
    samples = 3 * batch + 1  # a last, partial micro-batch that wraps
    x = torch.randn(samples, widths[0])
    if truth_name == "label":
        truth = torch.randint(0, widths[-1], (samples,))
    else:
        truth = (torch.rand if loss_name.startswith("bce") else torch.randn)(samples, widths[-1])
    np.savez(f"{out}/data.npz", input=x.numpy(), **{truth_name: truth.numpy()})
torch.onnx.export(model, torch.zeros(batch, widths[0]), f"{out}/model.onnx", input_names=["input"],
                  output_names=["scores"], opset_version=13)

optimizer = getattr(torch.optim, optimizer_name)(model.parameters(), lr=lr, **optimizer_arguments)
losses = []
for step in range(steps):
    optimizer.zero_grad()
    for micro in range(accumulate):
        index = [(len(losses) * batch + j) % len(x) for j in range(batch)]
        loss = loss_of(model(x[index]), truth[index])
        loss.backward()  # gradients add up
        losses.append(loss.item())
    optimizer.step()
np.savez(f"{out}/reference.npz", losses=np.array(losses, np.float32),
         **{name: value.detach().numpy() for name, value in model.named_parameters()})
