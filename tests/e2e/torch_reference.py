"""Trains a perceptron in PyTorch and leaves what Tessera must reproduce.

usage: torch_reference.py OUT WIDTHS BATCH STEPS ACCUMULATE LR LOSS [WEIGHTS_AND_DATA]

Writes OUT/model.onnx (exported by PyTorch), OUT/data.npz (samples) and OUT/reference.npz (a loss for each micro-batch,
and the final parameters). With WEIGHTS_AND_DATA, an ONNX file and an .npz, it starts from those instead of its own.
"""
import sys

import numpy as np
import onnx
import onnx.numpy_helper
import torch

out, widths, batch, steps, accumulate, lr, loss_name = sys.argv[1:8]
widths = [int(w) for w in widths.split("-")]
batch, steps, accumulate, lr = int(batch), int(steps), int(accumulate), float(lr)
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
        return x


model = Perceptron()
if len(sys.argv) > 8:
    weights = {t.name: torch.tensor(onnx.numpy_helper.to_array(t)) for t in onnx.load(sys.argv[8]).graph.initializer}
    model.load_state_dict({name: weights[name] for name in model.state_dict()})
    arrays = np.load(sys.argv[9])
    x = torch.tensor(arrays["input"])
    truth = torch.tensor(arrays["label" if loss_name == "cross_entropy" else "target"])
else:
    samples = 3 * batch + 1  # a last, partial micro-batch that wraps
    x = torch.randn(samples, widths[0])
    truth = (torch.randint(0, widths[-1], (samples,)) if loss_name == "cross_entropy"
             else torch.randn(samples, widths[-1]))
    np.savez(f"{out}/data.npz", input=x.numpy(),
             **{"label" if loss_name == "cross_entropy" else "target": truth.numpy()})
torch.onnx.export(model, torch.zeros(batch, widths[0]), f"{out}/model.onnx", input_names=["input"],
                  output_names=["scores"], opset_version=13)

loss_of = torch.nn.functional.cross_entropy if loss_name == "cross_entropy" else torch.nn.functional.mse_loss
optimizer = torch.optim.SGD(model.parameters(), lr=lr)
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
