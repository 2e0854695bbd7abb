#!/usr/bin/python3
"""The whole matrix: networks x ways of tiling x chips x sizes of L1, held against the bits of the host's untiled run.

    bench/matrix.py build/release/tessera                       all of it (an hour)
    bench/matrix.py build/release/tessera --networks dscnn --l1 64k,own --targets siracusa
    bench/matrix.py build/release/tessera --only home           one of the parts: train, home, infer
    bench/matrix.py build/release/tessera --sanitize off        cycles as they are

Prints the table as Markdown, row by row of networks, and what holds and what does not at the end. Exit code 1 where bits
differ, a run breaks off or what is tiled does not fit; without the sanitizer, whose work would count too, also where
`auto` is more than 1 % slower than another choice, or an estimate more than 15 % off."""
import argparse
import json
import subprocess
import sys

NETWORKS = ["simplemlp", "autoencoder", "dscnn", "resnet8", "mobilenetv1", "cct", "cct_lora"]
PARTS = {
    "train": (NETWORKS, []),
    "home": (["resnet8", "mobilenetv1", "cct", "cct_lora"], ["--home", "L3"]),
    "infer": (["dscnn", "resnet8", "autoencoder", "attention", "transformer"], ["--home", "L3", "--mode", "infer"]),
}
COLUMNS = ["model", "target", "l1", "home", "mode", "status", "train_cycles", "optimizer_cycles", "macs_per_cycle",
           "speedup_over_untiled", "speedup_over_single", "dma_hidden", "estimate_cycles", "same_bits"]


def step_cycles(row):
    return (row.get("train_cycles") or 0) + (row.get("optimizer_cycles") or 0)


def compare(arguments, part, network, more):
    command = [arguments.tessera, "compare", network, "--targets", arguments.targets, "--l1", arguments.l1,
               "--modes", arguments.modes, "--json"] + more
    if part != "infer":
        command += ["--steps", "2"]
    if arguments.sanitize == "on":
        command += ["--sanitize"]
    ran = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    rows = json.loads(ran.stdout).get("rows") if ran.stdout else None
    if rows is None:
        return [], [f"{network}: {ran.stdout or 'no table'}"]
    return rows, []


def cell(value):
    if value is None:
        return "-"
    return f"{value:.3f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def claims(rows, judge_cycles):
    """What does not hold."""
    wrong = []
    for row in rows:
        name = " ".join(str(row[key]) for key in ("model", "target", "l1", "home", "mode"))
        if row["status"] == "does not fit" and row["mode"] == "untiled":
            continue
        if row["status"] != "ok":
            wrong.append(f"{name}: {row['status']}: {row.get('reason', 'bits ' + row.get('bits', ''))}")
            continue
        if judge_cycles and row["mode"] == "auto":
            same = [r for r in rows if r["status"] == "ok" and all(r[k] == row[k] for k in ("model", "target", "l1", "home"))]
            best = min(same, key=step_cycles)
            if step_cycles(row) > 1.01 * step_cycles(best):
                wrong.append(f"{name}: {step_cycles(row) / step_cycles(best) - 1:.1%} slower than {best['mode']}")
            off = row["estimate_cycles"] / row["train_cycles"] - 1
            if abs(off) > 0.15:
                wrong.append(f"{name}: the estimate is {off:+.1%} off")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tessera")
    parser.add_argument("--networks")
    parser.add_argument("--targets", default="siracusa,gap9")
    parser.add_argument("--l1", default="32k,64k,128k,own")
    parser.add_argument("--modes", default="untiled,single,double,auto")
    parser.add_argument("--only", choices=PARTS)
    parser.add_argument("--sanitize", choices=["on", "off"], default="on")
    arguments = parser.parse_args()
    wrong, count = [], 0
    print("| " + " | ".join(COLUMNS) + " |\n" + "|---" * len(COLUMNS) + "|")
    for part, (networks, more) in PARTS.items():
        if arguments.only and part != arguments.only:
            continue
        for network in networks:
            if arguments.networks and network not in arguments.networks.split(","):
                continue
            rows, broken = compare(arguments, part, network, more)
            for row in rows:
                print("| " + " | ".join(cell(row.get(column)) for column in COLUMNS) + " |", flush=True)
            wrong += broken + claims(rows, arguments.sanitize == "off")
            count += len(rows)
    print(f"\n{count} cells, {len(wrong)} things that do not hold")
    for line in wrong:
        print(f"- {line}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
