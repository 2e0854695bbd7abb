"""The networks of the zoo in PyTorch, built here from their description, from the weights and samples of the zoo.

usage: reference.py losses NETWORK MODEL.onnx DATA.npz
         a JSON object: for each optimizer and number of micro-batches a step ("adamw.4") a loss for each micro-batch
       reference.py gradients NETWORK MODEL.onnx DATA.npz TRAINED.npz LR ACCUMULATE
         TRAINED: the weights after one step of plain descent; how far the gradients in it are from those in double precision
       reference.py outputs NETWORK MODEL.onnx DATA.npz INPUT.npz EXPECT.npz
         writes the first micro-batch and what the network says of it in inference
       reference.py trained NETWORK MODEL.onnx DATA.npz REFERENCE.npz OPTIMIZER STEPS ACCUMULATE PATTERNS train|frozen
         writes losses and final parameters of a training where only parameters with such names train
       reference.py accepted FILE.onnx...
         whether ONNX's own checker takes these files
       reference.py write TESSERA LOSSES.json
         writes the losses of all networks: what the test compares with
       reference.py table TESSERA
         the table of docs/training.md: how far Tessera and PyTorch are apart, and PyTorch from itself in double precision

MODEL and DATA are what `tessera zoo export NETWORK --data DATA.npz -o MODEL.onnx` writes: the initial weights are taken
from the one by name, the samples from the other; nothing else of them is used. Linear layers that have adapters there
have them here.
"""
import fnmatch
import json
import subprocess
import sys
import tempfile

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
RUNS = [(optimizer, accumulate) for optimizer in OPTIMIZERS for accumulate in (1, 4)]
STEPS = 10


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
    def __init__(self, widths, norms, linear):
        super().__init__()
        self.depth = len(widths) - 1
        self.norms = norms
        for i in range(1, self.depth + 1):
            setattr(self, f"fc{i}", linear(widths[i - 1], widths[i]))
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


class Alone(nn.Module):
    """A part of a transformer, under its name in the zoo."""

    def __init__(self, name, part):
        super().__init__()
        self.name = name
        self.add_module(name, part)

    def forward(self, x):
        return getattr(self, self.name)(x)


MOBILENET = [(16, 1), (32, 2), (32, 1), (64, 2), (64, 1), (128, 2)] + [(128, 1)] * 5 + [(256, 2), (256, 1)]
NETWORKS = {
    "simplemlp": lambda linear=nn.Linear: Perceptron([784, 128, 10], False, linear),
    "autoencoder": lambda linear=nn.Linear: Perceptron([640] + [128] * 4 + [8] + [128] * 4 + [640], True, linear),
    "dscnn": lambda: SeparableNet(1, 64, (10, 4), [(64, 1)] * 4, 12),
    "resnet8": ResNet8,
    "mobilenetv1": lambda: SeparableNet(3, 8, (3, 3), MOBILENET, 2),
    "cct": lambda: Cct(32, 128),
    "cct_lora": lambda: Cct(32, 128, Adapted),
    "cct:tiny": lambda: Cct(8, 32),
    "cct_lora:tiny": lambda: Cct(8, 32, Adapted),
    "attention": lambda: Alone("attention", Attention(128, nn.Linear)),
    "transformer": lambda: Alone("block", Encoder(128, nn.Linear)),
}


class Experiment:
    """A network with the weights and samples of the zoo, in single or double precision."""

    def __init__(self, name, model, data):
        self.name = name
        graph = onnx.load(model).graph
        self.batch = graph.input[0].type.tensor_type.shape.dim[0].dim_value
        # Integers are shapes, and a scalar is the scale of attention: both are in the description.
        values = {t.name: onnx.numpy_helper.to_array(t) for t in graph.initializer}
        self.weights = {name: torch.tensor(v) for name, v in values.items() if v.dtype == np.float32 and v.ndim}
        self.trains = ["*.lora_?"] if "lora" in name else ["*"]
        self.frozen = False  # batch norms
        arrays = np.load(data)
        self.x = torch.tensor(arrays["input"])
        self.truth = torch.tensor(arrays["label" if "label" in arrays else "target"])

    def double(self):
        self.weights = {name: value.double() for name, value in self.weights.items()}
        self.x = self.x.double()
        if self.truth.is_floating_point():
            self.truth = self.truth.double()
        return self

    def network(self):
        adapted = "lora" not in self.name and any(".lora_" in name for name in self.weights)
        model = (NETWORKS[self.name](Adapted) if adapted else NETWORKS[self.name]()).to(self.x.dtype)
        state = {k: v for k, v in model.state_dict().items() if not k.endswith("num_batches_tracked")}
        if set(state) != set(self.weights):
            sys.exit(f"{self.name}: the weights differ from PyTorch's: {sorted(set(state) ^ set(self.weights))}")
        model.load_state_dict({k: self.weights[k] for k in state}, strict=False)
        for key, value in model.named_parameters():
            value.requires_grad = any(fnmatch.fnmatchcase(key, pattern) for pattern in self.trains)
        model.train()
        for module in model.modules():
            if self.frozen and isinstance(module, (nn.BatchNorm1d, nn.BatchNorm2d)):
                module.eval()
        return model

    def backward(self, model, micro):
        """The loss of a micro-batch; gradients add up."""
        loss_of = F.mse_loss if self.truth.is_floating_point() else F.cross_entropy
        index = [(micro * self.batch + j) % len(self.x) for j in range(self.batch)]
        loss = loss_of(model(self.x[index]), self.truth[index])
        loss.backward()
        return loss.item()

    def train(self, optimizer, steps, accumulate):
        """The losses, and the network as it is then."""
        model = self.network()
        update = OPTIMIZERS[optimizer]([p for p in model.parameters() if p.requires_grad])
        found = []
        for _ in range(steps):
            update.zero_grad()
            found += [self.backward(model, len(found) + i) for i in range(accumulate)]
            update.step()
        return found, model

    def losses(self, optimizer, accumulate):
        return self.train(optimizer, STEPS, accumulate)[0]


def losses(experiment):
    return {f"{optimizer}.{accumulate}": experiment.losses(optimizer, accumulate) for optimizer, accumulate in RUNS}


def gradients(experiment, trained, lr, accumulate):
    """How far each gradient and running statistic is from double precision: ours, and PyTorch's in single precision."""
    weights = {k: v.double() for k, v in experiment.weights.items()}

    def measured():
        model = experiment.network()
        for micro in range(accumulate):
            experiment.backward(model, micro)
        return ({k: p.grad.double() for k, p in model.named_parameters() if p.requires_grad},
                {k: b.double() for k, b in model.named_buffers() if "running" in k})

    single, exact = measured(), (experiment.double(), measured())[1]
    trained = {k: torch.tensor(trained[k]).double() for k in trained.files}
    ours = {k: (weights[k] - trained[k]) / lr for k in exact[0]}, {k: trained[k] for k in exact[1]}
    largest = max(float(g.abs().max()) for g in exact[0].values())
    found = {}
    for i in range(2):
        for k, wanted in exact[i].items():
            # The gradient of what a norm or a softmax takes away again is zero: it is measured by the others.
            scale = float(wanted.abs().max())
            scale = scale if scale > 1e-9 * largest else largest
            found[k] = [float((got[i][k] - wanted).abs().max()) / scale for got in (ours, single)]
    return found


def outputs(experiment, input_file, expect_file):
    x = experiment.x[:experiment.batch]
    np.savez(input_file, input=x.numpy())
    with torch.no_grad():
        np.savez(expect_file, output=experiment.network().eval()(x).numpy())


def trained(experiment, file, optimizer, steps, accumulate, patterns, norms):
    experiment.trains = patterns.split(",")
    experiment.frozen = norms == "frozen"
    found, model = experiment.train(optimizer, int(steps), int(accumulate))
    np.savez(file, losses=np.array(found, np.float32),
             **{k: v.numpy() for k, v in model.state_dict().items() if not k.endswith("num_batches_tracked")})


def accepted(*files):
    """ONNX Runtime's gradients of pools stand in the default domain, where the checker does not look for operators of
    others."""
    for file in files:
        model = onnx.load(file)
        for node in model.graph.node:
            if node.domain == "" and node.op_type in ("MaxPoolGrad", "AveragePoolGrad", "GlobalAveragePoolGrad"):
                node.domain = "com.microsoft"
        onnx.checker.check_model(model, full_check=True)


def exported(tessera, folder, name):
    subprocess.run([tessera, "zoo", "export", name, "--data", "d.npz", "-o", "m.onnx"], cwd=folder, check=True,
                   stdout=subprocess.DEVNULL)
    return Experiment(name, f"{folder}/m.onnx", f"{folder}/d.npz")


def write(tessera, file):
    with tempfile.TemporaryDirectory() as folder, open(file, "w") as out:
        texts = []
        for name in NETWORKS:
            rows = [f'  "{run}": [' + ", ".join(f"{v:.9g}" for v in values) + "]"
                    for run, values in losses(exported(tessera, folder, name)).items()]
            texts.append(f' "{name}": {{\n' + ",\n".join(rows) + "\n }")
        out.write("{\n" + ",\n".join(texts) + "\n}\n")


def apart(a, b):
    return max(abs(x - y) / abs(y) for x, y in zip(a, b))


def table(tessera):
    print("| network |" + "".join(f" {optimizer} {accumulate} |" for optimizer, accumulate in RUNS))
    print("|---|" + "---|" * len(RUNS))
    for name in NETWORKS:
        cells = []
        with tempfile.TemporaryDirectory() as folder:
            for optimizer, accumulate in RUNS:
                run = subprocess.run([tessera, "train", name, "--engine", "host", "--steps", str(STEPS), "--accumulate",
                                      str(accumulate), "--optimizer", optimizer, "--tiling", "off", "--cores", "1",
                                      "--json"], check=True, stdout=subprocess.PIPE)
                ours = json.loads(run.stdout)["losses"]
                experiment = exported(tessera, folder, name)
                single = experiment.losses(optimizer, accumulate)
                double = experiment.double().losses(optimizer, accumulate)
                cells.append(f" {apart(ours, single):.0e} ({apart(single, double):.0e}) |")
        print(f"| {name} |" + "".join(cells), flush=True)


def main():
    what, *rest = sys.argv[1:]
    if what == "losses":
        print(json.dumps(losses(Experiment(*rest))))
    elif what == "gradients":
        print(json.dumps(gradients(Experiment(*rest[:3]), np.load(rest[3]), float(rest[4]), int(rest[5]))))
    elif what == "outputs":
        outputs(Experiment(*rest[:3]), *rest[3:])
    elif what == "trained":
        trained(Experiment(*rest[:3]), *rest[3:])
    elif what == "accepted":
        accepted(*rest)
    elif what == "write":
        write(*rest)
    elif what == "table":
        table(*rest)
    else:
        sys.exit(__doc__)


main()
