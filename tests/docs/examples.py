"""Builds and runs the worked example of docs/architecture.md: an operator, its kernel and a target.

usage: examples.py ROOT BUILD

Takes the code blocks out of the page, compiles what they change and links it before the libraries of BUILD, so that
nothing else is built again; then trains and infers with the new operator on the new target.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

root, build = (os.path.abspath(p) for p in sys.argv[1:3])
os.environ["TESSERA_TARGETS"] = f"{root}/targets"  # the program is linked away from the tree


def run(command, **more):
    environment = dict(os.environ, TESSERA_TARGETS=f"{root}/targets")
    done = subprocess.run(command, capture_output=True, text=True, env=environment, **more)
    if done.returncode != 0:
        sys.exit(f"{command}\n{done.stdout}{done.stderr}")
    return done.stdout


def code_blocks():
    page = open(f"{root}/docs/architecture.md").read()
    found = re.findall(r"`([\w/.]+)`[^`]*:\n\n```\w+\n(.*?)```", page, re.S)
    blocks = dict(found)
    wanted = {"src/ops/square.cpp", "src/ops/table.hpp", "runtime/kernels/square.h", "runtime/kernels/square.c",
              "targets/small.yaml"}
    if set(blocks) != wanted:
        sys.exit(f"docs/architecture.md: code blocks for {sorted(blocks)}, expected {sorted(wanted)}")
    if not re.fullmatch(r" *X\(\w+\) *\\\n", blocks["src/ops/table.hpp"]):
        sys.exit("docs/architecture.md: an operator must stay one line of src/ops/table.hpp")
    return blocks


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text)


def overlay(folder, blocks):
    """The new files, and the changed ones as they are after the change."""
    for path, text in blocks.items():
        if path != "src/ops/table.hpp":
            write(f"{folder}/{path}", text)
    table = open(f"{root}/src/ops/table.hpp").read()
    changed = re.sub(r"(#define TESSERA_OPERATORS\(X\) *\\\n)", lambda m: m[1] + blocks["src/ops/table.hpp"], table)
    if changed == table:
        sys.exit("src/ops/table.hpp: no list to add the line to")
    write(f"{folder}/src/ops/table.hpp", changed)
    # The program carries the runtime's files in a generated table: two more entries.
    text = open(f"{build}/runtime_files.cpp").read()
    for i, name in enumerate(["kernels/square.c", "kernels/square.h"]):
        text = text.replace("\nnamespace tessera::emit", f'asm(".pushsection .rodata\\nexample_{i}:\\n.incbin \\"{folder}'
                            f'/runtime/{name}\\"\\nexample_{i}_end:\\n.popsection");\nextern "C" const char example_{i}[], '
                            f'example_{i}_end[];\n\nnamespace tessera::emit', 1)
        text = text.replace("files[] = {\n", f'files[] = {{\n{{"{name}", {{example_{i}, example_{i}_end}}}},\n', 1)
    write(f"{folder}/runtime_files.cpp", text)


def build_program(folder):
    commands = run(["ninja", "-C", build, "-t", "commands", "tessera"]).splitlines()
    like = next(c for c in commands if "src/ops/table.cpp.o -c" in c)
    objects = []
    for source in [f"{folder}/src/ops/square.cpp", f"{root}/src/ops/table.cpp", f"{folder}/runtime_files.cpp"]:
        made = f"{folder}/{os.path.basename(source)}.o"
        command = re.sub(r"-MF \S+", "", re.sub(r"-MT \S+", "", like.replace("-MD", "")))
        command = re.sub(r"-o \S+ -c \S+", f"-o {made} -c {source}", command)
        command = command.replace(f"-I{root}/src", f"-I{folder}/src -I{root}/src")
        run(command, shell=True, cwd=build)
        objects.append(made)
    link = next(c for c in commands if " -o tessera " in c)
    run(link.replace(" -o tessera ", f" -o {folder}/tessera {' '.join(objects)} "), shell=True, cwd=build)
    return f"{folder}/tessera"


def model(path):
    random = np.random.default_rng(1)
    w = (random.standard_normal((6, 5)) / 2).astype(np.float32)
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["h"], name="fc"),
         helper.make_node("Square", ["h"], ["y"], name="square", domain="org.example")],
        "example", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [3, 6])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [3, 5])], [numpy_helper.from_array(w, "w")])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("org.example", 1)])
    made.ir_version = 8
    onnx.save(made, path)
    x = random.standard_normal((3, 6)).astype(np.float32)
    target = random.standard_normal((3, 5)).astype(np.float32)
    return w, x, target


def train(w, x, target, steps, rate):
    losses, w = [], w.astype(np.float64)
    for _ in range(steps):
        h = x @ w
        difference = h * h - target
        losses.append((difference ** 2).mean())
        w = w - rate * (x.T @ (2 * difference / difference.size * 2 * h))
    return losses, w


with tempfile.TemporaryDirectory() as folder:
    blocks = code_blocks()
    overlay(folder, blocks)
    program = build_program(folder)
    w, x, target = model(f"{folder}/m.onnx")
    common = ["--target", f"{folder}/targets/small.yaml", "--json"]
    np.savez(f"{folder}/x.npz", x=x)
    np.savez(f"{folder}/y.npz", y=(x @ w) ** 2)
    run([program, "infer", f"{folder}/m.onnx", "--inputs", f"{folder}/x.npz", "--expect", f"{folder}/y.npz",
         "--tolerance", "1e-5"] + common)
    losses, final = train(w, x, target, 4, 0.05)
    np.savez(f"{folder}/data.npz", x=x, target=target)
    np.savez(f"{folder}/reference.npz", losses=np.array(losses, np.float32), w=final.astype(np.float32))
    report = json.loads(run([program, "train", f"{folder}/m.onnx", "--loss", "mse", "--data", f"{folder}/data.npz",
                             "--steps", "4", "--lr", "0.05", "--reference", f"{folder}/reference.npz", "--tolerance",
                             "1e-5"] + common))
    if report["target"] != "small" or not losses[-1] < losses[0]:
        sys.exit(f"unexpected: {report}")
    print(f"the example of docs/architecture.md trains; largest error {report['max_error']:.2g}")
