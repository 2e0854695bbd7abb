"""Exports a module as its users do, trains it in PyTorch, and leaves what Tessera must reproduce.

usage: torch_modules.py NAME      writes model.onnx, data.npz and reference.npz (a loss a step) to this folder
"""
import sys
import warnings

import numpy as np
import torch
from torch import nn
from torch.nn import functional

BATCH, STEPS, LR = 3, 3, 0.05


class Residual(nn.Sequential):
    def forward(self, x):
        return x + super().forward(x)


class SqueezeExcite(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.down, self.up = nn.Linear(channels, channels // 2), nn.Linear(channels // 2, channels)

    def forward(self, x):
        gate = torch.sigmoid(self.up(functional.relu(self.down(x.mean((2, 3))))))
        return x * gate[:, :, None, None]


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down, self.deep = nn.Conv2d(1, 8, 3, padding=1), nn.Conv2d(8, 16, 3, padding=1)
        self.up, self.out = nn.ConvTranspose2d(16, 8, 2, 2), nn.Conv2d(16, 1, 3, padding=1)

    def forward(self, x):
        left = functional.relu(self.down(x))
        right = self.up(functional.relu(self.deep(functional.max_pool2d(left, 2))))
        return self.out(torch.cat([right, left], 1))


class Upsampling(nn.Module):
    def __init__(self):
        super().__init__()
        self.down, self.out = nn.Conv2d(1, 8, 3, stride=2, padding=1), nn.Conv2d(8, 4, 3, padding=1)

    def forward(self, x):
        y = functional.interpolate(functional.relu(self.down(x)), scale_factor=2, mode="nearest")
        return functional.pixel_shuffle(self.out(y), 2)


class Block(nn.Module):
    def __init__(self, width=32, heads=4):
        super().__init__()
        self.heads, self.norm1, self.norm2 = heads, nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 64), nn.GELU(), nn.Linear(64, width))

    def forward(self, x):
        batch, length, width = x.shape
        parts = self.qkv(self.norm1(x)).reshape(batch, length, 3, self.heads, width // self.heads)
        q, k, v = parts.permute(2, 0, 3, 1, 4)
        seen = torch.softmax(q @ k.transpose(-1, -2) * (width // self.heads) ** -0.5, -1) @ v
        x = x + self.out(seen.transpose(1, 2).reshape(batch, length, width))
        return x + self.mlp(self.norm2(x))


class Tokens(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.block, self.head = nn.Embedding(50, 32), Block(), nn.Linear(32, 5)
        self.place = nn.Parameter(torch.randn(1, 12, 32) * 0.1)

    def forward(self, x):
        return self.head(self.block(self.embed(x) + self.place).mean(1))


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True)
        self.head = nn.Linear(32, 5)

    def forward(self, x):
        return self.head(self.layer(x)[:, 0])


class Temperature(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.outer, self.scale = nn.Linear(12, 8), nn.Linear(8, 5), nn.Parameter(torch.tensor(2.0))

    def forward(self, x):
        return self.outer(torch.tanh(self.inner(x))) * self.scale


def pooled(width, classes):
    return nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, classes)


def residual_with_norms():
    conv = lambda a: nn.Conv2d(a, 8, 3, padding=1, bias=False)
    return nn.Sequential(conv(3), nn.BatchNorm2d(8), nn.ReLU(),
                         Residual(conv(8), nn.BatchNorm2d(8), nn.ReLU(), conv(8), nn.BatchNorm2d(8)), nn.ReLU(),
                         *pooled(8, 10))


def inverted_residual():
    return nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.ReLU6(),
                         Residual(nn.Conv2d(8, 24, 1), nn.ReLU6(), nn.Conv2d(24, 24, 3, 1, 1, groups=24), nn.ReLU6(),
                                  nn.Conv2d(24, 8, 1)), nn.Hardswish(), SqueezeExcite(8), *pooled(8, 10))


def many_activations():
    point = lambda: nn.Conv2d(4, 4, 1)
    return nn.Sequential(nn.Conv2d(1, 4, 3, dilation=2), nn.LeakyReLU(0.1), nn.GroupNorm(2, 4),
                         nn.Conv2d(4, 4, 3, groups=2), nn.ELU(), point(), nn.SiLU(), point(), nn.Softplus(), point(),
                         nn.PReLU(), point(), nn.Mish(), nn.InstanceNorm2d(4, affine=True), nn.AdaptiveAvgPool2d(2),
                         nn.Flatten(), nn.Linear(16, 6))


def lenet():
    return nn.Sequential(nn.Conv2d(1, 6, 5, padding=2), nn.Tanh(), nn.AvgPool2d(2), nn.Conv2d(6, 16, 5), nn.Tanh(),
                         nn.AvgPool2d(2), nn.Flatten(), nn.Linear(400, 120), nn.Tanh(), nn.Linear(120, 10))


def signal():
    return nn.Sequential(nn.Conv1d(2, 8, 7, stride=2, padding=3), nn.BatchNorm1d(8), nn.ReLU(), nn.MaxPool1d(3, 2, 1),
                         nn.Conv1d(8, 16, 3), nn.ReLU(), nn.AdaptiveMaxPool1d(1), nn.Flatten(), nn.Linear(16, 4))


def large_windows():
    return nn.Sequential(nn.Conv2d(1, 4, 7, stride=2, padding=3), nn.ReLU(), nn.MaxPool2d(3, 2, 1),
                         nn.Conv2d(4, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2, 2, ceil_mode=True), *pooled(8, 3))


def volume():
    return nn.Sequential(nn.Conv3d(1, 4, 3, padding=1), nn.ReLU(), nn.MaxPool3d(2), nn.Conv3d(4, 4, 3), nn.ReLU(),
                         nn.AdaptiveAvgPool3d(1), nn.Flatten(), nn.Linear(4, 3))


# What makes it, the shape of a sample, and how many classes it tells apart; none: it makes numbers.
MODULES = {
    "lenet": (lenet, (1, 28, 28), 10),
    "residual_with_norms": (residual_with_norms, (3, 16, 16), 10),
    "inverted_residual": (inverted_residual, (3, 24, 24), 10),
    "many_activations": (many_activations, (1, 18, 18), 6),
    "unet": (UNet, (1, 32, 32), None),
    "upsampling": (Upsampling, (1, 16, 16), None),
    "tokens": (Tokens, (12,), 5),
    "encoder": (Encoder, (10, 32), 5),
    "signal": (signal, (2, 64), 4),
    "large_windows": (large_windows, (1, 90, 70), 3),
    "temperature": (Temperature, (12,), 5),
    "volume": (volume, (1, 8, 10, 12), 3),
}


def main(name):
    torch.manual_seed(5)
    torch.set_num_threads(1)
    make, shape, classes = MODULES[name]
    module = make()
    shape = (BATCH * STEPS, *shape)
    samples = torch.randint(0, 50, shape) if name == "tokens" else torch.randn(shape)
    # A batch norm would be folded away; whoever trains one exports it as it trains.
    trains = any(isinstance(m, nn.modules.batchnorm._BatchNorm) for m in module.modules())
    mode = torch.onnx.TrainingMode.TRAINING if trains else torch.onnx.TrainingMode.EVAL
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(module.eval(), samples[:BATCH], "model.onnx", input_names=["x"], output_names=["y"],
                          opset_version=15, training=mode, do_constant_folding=not trains,
                          dynamic_axes={"x": {0: "N"}, "y": {0: "N"}})
    with torch.no_grad():
        made = module.eval()(samples).shape
    module.train(trains)
    truth = torch.randn(made) if classes is None else torch.randint(0, classes, (len(samples),))
    loss_of = functional.mse_loss if classes is None else functional.cross_entropy
    optimizer = torch.optim.SGD(module.parameters(), lr=LR)
    losses = []
    for x, t in zip(samples.split(BATCH), truth.split(BATCH)):
        optimizer.zero_grad()
        loss = loss_of(module(x), t)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    np.savez("data.npz", x=samples.numpy(), **{"target" if classes is None else "label": truth.numpy()})
    np.savez("reference.npz", losses=np.array(losses, np.float32))
    print("mse" if classes is None else "cross_entropy")


main(sys.argv[1])
