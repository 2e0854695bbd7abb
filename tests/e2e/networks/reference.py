"""Trains a network of the zoo in PyTorch, built here from its description, and prints the losses.

usage: reference.py NETWORK MODEL.onnx DATA.npz [--steps N]

MODEL and DATA are what `tessera zoo export NETWORK --data DATA.npz -o MODEL.onnx` writes: the initial weights are taken
from the one by name, the samples from the other; nothing else of them is used. Prints a JSON object: for each optimizer
and number of micro-batches a step ("adamw.4") a loss for each micro-batch.
"""
import json
import sys

import numpy as np
import onnx
import onnx.numpy_helper
import torch
from torch import nn
from torch.nn import functional as F

torch.set_num_threads(1)

OPTIMIZERS = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.01),
    "momentum": lambda p: torch.optim.SGD(p, lr=0.01, momentum=0.9),
    "adamw": lambda p: torch.optim.AdamW(p),
}


def same(x, kernel, stride):
    """TensorFlow's "same" padding: as many outputs as strides begin, the odd one behind."""
    pads = []
    for size, k in zip(reversed(x.shape[2:]), reversed(kernel)):
        total = max(0, (-(-size // stride) - 1) * stride + k - size)
        pads += [total // 2, total - total // 2]
    return F.pad(x, pads)


class Conv(nn.Conv2d):
    def forward(self, x):
        return super().forward(same(x, self.kernel_size, self.stride[0]))


class ConvNorm(nn.Module):
    def __init__(self, into, out, kernel=(3, 3), stride=1, groups=1):
        super().__init__()
        self.conv = Conv(into, out, kernel, stride, groups=groups)
        self.bn = nn.BatchNorm2d(out)

    def forward(self, x):
        return self.bn(self.conv(x))


class Separable(nn.Module):
    def __init__(self, into, out, stride=1):
        super().__init__()
        self.dw = ConvNorm(into, into, stride=stride, groups=into)
        self.pw = ConvNorm(into, out, (1, 1))

    def forward(self, x):
        return F.relu(self.pw(F.relu(self.dw(x))))


class SeparableNet(nn.Module):
    def __init__(self, into, width, kernel, pairs, classes):
        super().__init__()
        self.stem = ConvNorm(into, width, kernel, 2)
        self.blocks = nn.ModuleList()
        for out, stride in pairs:
            self.blocks.append(Separable(width, out, stride))
            width = out
        self.fc = nn.Linear(width, classes)

    def forward(self, x):
        x = F.relu(self.stem(x))
        for block in self.blocks:
            x = block(x)
        return self.fc(x.mean((2, 3)))


class Residual(nn.ModuleDict):
    def __init__(self, into, out, stride):
        super().__init__({"1": ConvNorm(into, out, stride=stride), "2": ConvNorm(out, out)})
        if stride != 1:
            self["skip"] = Conv(into, out, (1, 1), stride)

    def forward(self, x):
        y = self["2"](F.relu(self["1"](x)))
        return F.relu(y + (self["skip"](x) if "skip" in self else x))


class ResNet8(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = ConvNorm(3, 16)
        self.stacks = nn.ModuleList([Residual(16, 16, 1), Residual(16, 32, 2), Residual(32, 64, 2)])
        self.fc = nn.Linear(64, 10)

    def forward(self, x):
        x = F.relu(self.stem(x))
        for stack in self.stacks:
            x = stack(x)
        return self.fc(x.mean((2, 3)))


class Perceptron(nn.Module):
    def __init__(self, widths, norms):
        super().__init__()
        self.depth = len(widths) - 1
        self.norms = norms
        for i in range(1, self.depth + 1):
            setattr(self, f"fc{i}", nn.Linear(widths[i - 1], widths[i]))
            if norms and i < self.depth:
                setattr(self, f"bn{i}", nn.BatchNorm1d(widths[i]))

    def forward(self, x):
        for i in range(1, self.depth + 1):
            x = getattr(self, f"fc{i}")(x)
            if i == self.depth:
                return x
            if self.norms:
                x = getattr(self, f"bn{i}")(x)
            x = F.relu(x)


class Adapted(nn.Linear):
    """A linear layer with a low-rank adapter of rank 4 and alpha 16."""

    def __init__(self, into, out, bias=True):
        super().__init__(into, out, bias)
        self.lora_A = nn.Parameter(torch.zeros(4, into))
        self.lora_B = nn.Parameter(torch.zeros(out, 4))

    def forward(self, x):
        return super().forward(x) + 16 / 4 * (x @ self.lora_A.T @ self.lora_B.T)


class Attention(nn.Module):
    def __init__(self, width, linear):
        super().__init__()
        self.q, self.k, self.v = (linear(width, width, bias=False) for _ in range(3))
        self.proj = linear(width, width)

    def forward(self, x):
        batch, tokens, width = x.shape
        q, k, v = (f(x).view(batch, tokens, 2, width // 2).transpose(1, 2) for f in (self.q, self.k, self.v))
        weights = torch.softmax(q @ k.transpose(-1, -2) * (width // 2) ** -0.5, -1)
        return self.proj((weights @ v).transpose(1, 2).reshape(batch, tokens, width))


class Encoder(nn.Module):
    def __init__(self, width, linear):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, linear)
        self.linear1, self.linear2 = linear(width, width), linear(width, width)

    def forward(self, x):
        x = self.norm2(x + self.attention(self.norm1(x)))
        return x + self.linear2(F.gelu(self.linear1(x)))


class Cct(nn.Module):
    def __init__(self, image, width, linear=nn.Linear):
        super().__init__()
        self.tokenizer = nn.ModuleList([nn.Conv2d(3, width // 2, 3, padding=1, bias=False),
                                        nn.Conv2d(width // 2, width, 3, padding=1, bias=False)])
        self.position = nn.Parameter(torch.zeros(1, (image // 4) ** 2, width))
        self.blocks = nn.ModuleList([Encoder(width, linear) for _ in range(2)])
        self.norm = nn.LayerNorm(width)
        self.pool = nn.Linear(width, 1)
        self.fc = nn.Linear(width, 10)

    def forward(self, x):
        for conv in self.tokenizer:
            x = F.max_pool2d(F.relu(conv(x)), 3, 2, 1)
        x = x.flatten(2).transpose(1, 2) + self.position
        for block in self.blocks:
            x = block(x)
        x = self.norm(x)
        return self.fc((torch.softmax(self.pool(x), 1).transpose(1, 2) @ x).squeeze(1))


MOBILENET = [(16, 1), (32, 2), (32, 1), (64, 2), (64, 1), (128, 2)] + [(128, 1)] * 5 + [(256, 2), (256, 1)]
NETWORKS = {
    "simplemlp": lambda: Perceptron([784, 128, 10], False),
    "autoencoder": lambda: Perceptron([640, 128, 128, 128, 128, 8, 128, 128, 128, 128, 640], True),
    "dscnn": lambda: SeparableNet(1, 64, (10, 4), [(64, 1)] * 4, 12),
    "resnet8": ResNet8,
    "mobilenetv1": lambda: SeparableNet(3, 8, (3, 3), MOBILENET, 2),
    "cct": lambda: Cct(32, 128),
    "cct_lora": lambda: Cct(32, 128, Adapted),
    "cct:tiny": lambda: Cct(8, 32),
    "cct_lora:tiny": lambda: Cct(8, 32, Adapted),
}


def load(name, weights):
    model = NETWORKS[name]()
    state = {k: v for k, v in model.state_dict().items() if not k.endswith("num_batches_tracked")}
    if set(state) != set(weights):
        sys.exit(f"{name}: the weights differ from PyTorch's: {sorted(set(state) ^ set(weights))}")
    model.load_state_dict({k: weights[k] for k in state}, strict=False)
    if "lora" in name:
        for key, value in model.named_parameters():
            value.requires_grad = ".lora_" in key
    return model.train()


def losses(name, weights, x, truth, batch, optimizer, steps, accumulate):
    model = load(name, weights)
    loss_of = F.cross_entropy if truth.dtype == torch.int64 else F.mse_loss
    update = OPTIMIZERS[optimizer]([p for p in model.parameters() if p.requires_grad])
    found = []
    for _ in range(steps):
        update.zero_grad()
        for _ in range(accumulate):
            index = [(len(found) * batch + j) % len(x) for j in range(batch)]
            loss = loss_of(model(x[index]), truth[index])
            loss.backward()  # gradients add up
            found.append(float(loss))
        update.step()
    return found


def main():
    name, model, data = sys.argv[1:4]
    steps = int(sys.argv[5]) if sys.argv[4:5] == ["--steps"] else 10
    graph = onnx.load(model).graph
    batch = graph.input[0].type.tensor_type.shape.dim[0].dim_value
    weights = {t.name: torch.tensor(onnx.numpy_helper.to_array(t)) for t in graph.initializer}
    arrays = np.load(data)
    x = torch.tensor(arrays["input"])
    truth = torch.tensor(arrays["label" if "label" in arrays else "target"])
    print(json.dumps({f"{optimizer}.{accumulate}": losses(name, weights, x, truth, batch, optimizer, steps, accumulate)
                      for optimizer in OPTIMIZERS for accumulate in (1, 4)}))


main()
