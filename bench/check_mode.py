#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures what check mode costs: examples with and without WEIR_CHECK=1, in turns.

    bench/check_mode.py [--binaries DIR] [--device NAME] [--rounds N] [--json FILE]

DIR is a build folder, or one folder with all programs and lib/ beside them (default build). The times are those that the
examples print: of their tasks, without the start of the process. Prints a table of medians with the least and the most, and
fails if an example does, with check mode or without.
"""
import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Name, the command, and where it prints its time in which unit.
EXAMPLES = [
    ("cholesky, 1024, tiles of 128", ["cholesky", "--size", "1024", "--tile", "128", "--kernels", "own", "--device"],
     r"Weir +([\d.]+) ms", 1),
    ("cholesky, 512, tiles of 64", ["cholesky", "--size", "512", "--tile", "64", "--kernels", "own", "--device"],
     r"Weir +([\d.]+) ms", 1),
    ("dynroute, 16 x 16, 4 cells", ["dynroute", "--size", "16", "--cells", "4", "--passes", "3", "--inputs", "1", "--device"],
     r"^ +0 +\d+ +[\d.]+ us +([\d.]+) us", 0.001),
    ("dynroute, 56 x 56, 12 cells", ["dynroute", "--passes", "3", "--inputs", "1", "--device"],
     r"^ +0 +\d+ +[\d.]+ us +([\d.]+) us", 0.001),
    ("bodies, 8 worlds, 60 steps", ["weir-bodies", "--worlds", "8", "--steps", "60", "--device"],
     r"per second \(([\d.]+) s\)", 1000),
    ("tone mapping, 512 x 512", ["tonemap", "examples/images/studio.exr", "--crop", "512x512", "--frames", "4", "--devices"],
     r"^ +4 +\d+ +\d+ +([\d.]+)", 1),
]


def program(folder, name):
    places = [os.path.join(folder, place, name) for place in ("", "bin")]
    return next((path for path in places if os.path.isfile(path) and os.access(path, os.X_OK)), None)


def measure(folder, command, device, pattern, scale, check):
    """The time of one run, in ms."""
    environment = dict(os.environ)
    environment.pop("WEIR_CHECK", None)
    if os.path.isdir(os.path.join(folder, "lib")):
        environment["LD_LIBRARY_PATH"] = os.path.join(folder, "lib")
    if check:
        environment["WEIR_CHECK"] = "1"
    path = program(folder, command[0])
    if path is None:
        sys.exit(f"check_mode: there is no program {command[0]} in {folder}")
    done = subprocess.run([os.path.abspath(path), *command[1:], device], cwd=ROOT, env=environment, capture_output=True,
                          text=True, timeout=300, check=False)
    found = re.search(pattern, done.stdout, re.MULTILINE)
    if done.returncode != 0 or found is None:
        sys.exit(f"check_mode: {' '.join(command)} {device}{' with WEIR_CHECK=1' if check else ''} failed:\n"
                 f"{done.stdout[-1000:]}{done.stderr[-2000:]}")
    return float(found.group(1)) * scale


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binaries", default=str(ROOT / "build"))
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json")
    options = parser.parse_args()
    rows = []
    print(f"| example on {options.device} | plain, ms | check mode, ms | ratio |\n|---|--:|--:|--:|")
    for name, command, pattern, scale in EXAMPLES:
        times = {False: [], True: []}
        for i in range(options.rounds):
            for check in (False, True) if i % 2 == 0 else (True, False):
                times[check].append(measure(options.binaries, command, options.device, pattern, scale, check))
        row = {"example": name, "plain_ms": times[False], "check_ms": times[True],
               "ratio": statistics.median(times[True]) / statistics.median(times[False])}
        rows.append(row)
        texts = [f"{statistics.median(t):.1f} ({min(t):.1f} to {max(t):.1f})" for t in (times[False], times[True])]
        print(f"| {name} | {texts[0]} | {texts[1]} | {row['ratio']:.1f} |", flush=True)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"device": options.device, "rows": rows}, file, indent=1)


if __name__ == "__main__":
    main()
