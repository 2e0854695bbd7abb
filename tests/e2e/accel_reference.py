"""An independent fp32 decoder, in PyTorch, and what it says of a run of the accelerator.

  make DIR SEED                a small model: config.json and model.safetensors, weights of gain 1
  layers DIR DUMP MUTATION...  every layer of every step, from the run's own inputs, weights and KV; prints the errors
  greedy DIR DUMP TOKENS...    the whole decoder, teacher-forced; compares the greedy tokens
"""
import json
import math
import os
import struct
import sys

import numpy as np
import torch


def read_tensors(path):
    with open(path, "rb") as f:
        (length,) = struct.unpack("<Q", f.read(8))
        header = json.loads(f.read(length))
        data = f.read()
    out = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        array = np.frombuffer(data[begin:end], dtype=np.float32).reshape(entry["shape"])
        out[name] = torch.from_numpy(array.copy())
    return out


def write_tensors(path, tensors):
    header, offset, parts = {}, 0, []
    for name, t in tensors.items():
        raw = t.to(torch.float32).numpy().tobytes()
        header[name] = {"dtype": "F32", "shape": list(t.shape), "data_offsets": [offset, offset + len(raw)]}
        offset += len(raw)
        parts.append(raw)
    text = json.dumps(header).encode()
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + b"".join(parts))


def make(folder, seed):
    os.makedirs(folder, exist_ok=True)
    config = {"hidden_size": 192, "intermediate_size": 320, "num_attention_heads": 6, "num_key_value_heads": 2,
              "head_dim": 64, "num_hidden_layers": 3, "rope_theta": 10000.0, "rms_norm_eps": 1e-5, "vocab_size": 500,
              "hidden_act": "silu"}
    with open(os.path.join(folder, "config.json"), "w") as f:
        json.dump(config, f)
    g = torch.Generator().manual_seed(seed)
    h, i, d = config["hidden_size"], config["intermediate_size"], config["head_dim"]
    q, kv, v = config["num_attention_heads"] * d, config["num_key_value_heads"] * d, config["vocab_size"]

    def matrix(rows, columns):
        return torch.randn(rows, columns, generator=g) / math.sqrt(columns)

    def gain():
        return 1 + 0.3 * (2 * torch.rand(h, generator=g) - 1)

    tensors = {"model.embed_tokens.weight": torch.randn(v, h, generator=g), "model.norm.weight": gain(),
               "lm_head.weight": matrix(v, h)}
    for n in range(config["num_hidden_layers"]):
        p = f"model.layers.{n}."
        tensors[p + "input_layernorm.weight"] = gain()
        tensors[p + "post_attention_layernorm.weight"] = gain()
        for name, rows, columns in [("self_attn.q_proj", q, h), ("self_attn.k_proj", kv, h), ("self_attn.v_proj", kv, h),
                                    ("self_attn.o_proj", h, q), ("mlp.gate_proj", i, h), ("mlp.up_proj", i, h),
                                    ("mlp.down_proj", h, i)]:
            tensors[p + name + ".weight"] = matrix(rows, columns)
    write_tensors(os.path.join(folder, "model.safetensors"), tensors)


def rms_norm(x, gain, eps):
    return x / torch.sqrt((x * x).mean(-1, keepdim=True) + eps) * gain


def rotate(x, positions, theta):
    d = x.shape[-1]
    frequency = theta ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)
    angle = (positions[:, None].double() * frequency[None, :]).float()
    cos, sin = torch.cos(angle)[:, None, :], torch.sin(angle)[:, None, :]
    low, high = x[..., : d // 2], x[..., d // 2:]
    return torch.cat([low * cos - high * sin, high * cos + low * sin], -1)


def layer(x, w, k, v, past, c, mutation=None):
    """One decoder layer on x [tokens, hidden]; k and v [kv heads, past + tokens, d] are what the machine kept."""
    tokens, heads, d = x.shape[0], c["num_attention_heads"], c["head_dim"]
    ones = torch.ones_like(w["norm1"])
    eps = c["rms_norm_eps"]
    normed = rms_norm(x, ones if mutation == "gamma" else w["norm1"], eps)
    positions = torch.arange(past, past + tokens)
    q = rotate((normed @ w["q_proj"]).reshape(tokens, heads, d), positions, c["rope_theta"])
    group = heads // c["num_key_value_heads"]
    keys, values = k.repeat_interleave(group, 0), v.repeat_interleave(group, 0)
    scores = torch.einsum("thd,hsd->hts", q, keys) / math.sqrt(d) * (0.25 if mutation == "scale" else 1)
    if mutation != "mask":
        seen = torch.arange(past + tokens)[None, :] <= positions[:, None]
        scores = scores.masked_fill(~seen[None], float("-inf"))
    attended = torch.einsum("hts,hsd->thd", torch.softmax(scores, -1), values).reshape(tokens, heads * d)
    x = x + attended @ w["o_proj"]
    normed = rms_norm(x, ones if mutation == "gamma" else w["norm2"], eps)
    gate, up = normed @ w["gate_proj"], normed @ w["up_proj"]
    if mutation == "silu":
        gate, up = up, gate
    x = x + (torch.nn.functional.silu(gate) * up) @ w["down_proj"]
    return x


def weights_of(dump, n):
    names = ["norm1", "q_proj", "k_proj", "v_proj", "o_proj", "norm2", "gate_proj", "up_proj", "down_proj"]
    return {name: dump[f"layer{n}.{name}"] for name in names}


def steps_of(dump):
    n = 0
    while f"step{n}.layer0.input" in dump:
        yield n
        n += 1


def read_config(folder):
    with open(os.path.join(folder, "config.json")) as f:
        return json.load(f)


def relative(a, b):
    return float((a - b).norm() / b.norm())


def layers(folder, path, *mutations):
    c, dump = read_config(folder), read_tensors(path)
    errors, cache, mutated = [], [], {m: 0.0 for m in mutations}
    for step in steps_of(dump):
        for n in range(c["num_hidden_layers"]):
            at = f"step{step}.layer{n}."
            x, k, v = dump[at + "input"], dump[at + "k"], dump[at + "v"]
            past, w = k.shape[1] - x.shape[0], weights_of(dump, n)
            errors.append(relative(dump[at + "output"], layer(x, w, k, v, past, c)))
            for m in mutations:
                mutated[m] = max(mutated[m], relative(dump[at + "output"], layer(x, w, k, v, past, c, m)))
            # K and V themselves: what the layer computes, but for their quantisation.
            normed = rms_norm(x, w["norm1"], c["rms_norm_eps"])
            shape = (x.shape[0], c["num_key_value_heads"], c["head_dim"])
            positions = torch.arange(past, past + x.shape[0])
            exact_k = rotate((normed @ w["k_proj"]).reshape(shape), positions, c["rope_theta"]).transpose(0, 1)
            exact_v = (normed @ w["v_proj"]).reshape(shape).transpose(0, 1)
            cache += [relative(k[:, past:], exact_k), relative(v[:, past:], exact_v)]
    print(json.dumps({"layers": max(errors), "cache": max(cache), "count": len(errors), "mutated": mutated}))


def greedy(folder, path, tokens):
    """Embeddings to logits, on the machine's weights and KV; the first step is the prompt, the others one token each."""
    c, dump = read_config(folder), read_tensors(path)
    table = read_tensors(os.path.join(folder, "model.safetensors"))["model.embed_tokens.weight"].bfloat16().float()
    same, worst, decided, logit_error = 0, 0, 0, 0.0
    steps = list(steps_of(dump))
    first = dump["step0.layer0.input"].shape[0]
    for step in steps:
        ids = tokens[:first] if step == 0 else tokens[first + step - 1:first + step]
        x = table[torch.tensor(ids)]
        for n in range(c["num_hidden_layers"]):
            k, v = dump[f"step{step}.layer{n}.k"], dump[f"step{step}.layer{n}.v"]
            x = layer(x, weights_of(dump, n), k, v, k.shape[1] - x.shape[0], c)
        expected = rms_norm(x[-1:], dump["final_norm"], c["rms_norm_eps"]) @ dump["lm_head"]
        expected, got = expected[0], dump[f"step{step}.logits"]
        error = float((got - expected).abs().max())
        logit_error = max(logit_error, relative(got, expected))
        top = torch.topk(expected, 2).values
        equal = int(got.argmax()) == int(expected.argmax())
        same += equal
        if float(top[0] - top[1]) > 2 * error:
            decided += 1
            worst += not equal
    print(json.dumps({"steps": len(steps), "same": same, "decided": decided, "wrong": worst, "error": logit_error}))


if __name__ == "__main__":
    torch.set_num_threads(1)
    command, rest = sys.argv[1], sys.argv[2:]
    if command == "make":
        make(rest[0], int(rest[1]))
    elif command == "layers":
        layers(*rest)
    else:
        greedy(rest[0], rest[1], [int(t) for t in rest[2:]])
