#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares two commits of Weir: submission, overhead and METG, in one run.

    bench/compare.py BASE [COMMIT]     COMMIT is HEAD unless said

Each commit is checked out and built under build/compare, optimised, with the compiler of the environment (CC). Then the
benchmark programs of both run in turn, the first one changing from round to round, so that what else the machine does
falls on both. The table gives medians and spread, and the ratio of the medians: below 1, COMMIT is faster.
"""

import argparse
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = "weir-bench-weir"
CASES = [
    ("submit", "renaming", ["--tasks", "1000000"]),
    ("submit", "no renaming", ["--tasks", "1000000"]),
    ("overhead", "independent", ["--tasks", "200000"]),
    ("overhead", "chain", ["--tasks", "200000"]),
    ("overhead", "random", ["--tasks", "200000"]),
    ("overhead", "replay", ["--tasks", "200000"]),
    ("metg", "trivial", ["--steps", "500"]),
    ("metg", "stencil_1d", ["--steps", "500"]),
    ("metg", "fft", ["--steps", "500"]),
    ("metg", "random_nearest", ["--steps", "500"]),
]


def git(*words):
    return subprocess.run(["git", "-C", str(ROOT), *words], check=True, capture_output=True, text=True).stdout.strip()


def build(commit):
    """Builds the benchmark program of a commit; its path."""
    folder = ROOT / "build" / "compare" / commit
    tree, objects = folder / "tree", folder / "build"
    if not tree.exists():
        folder.mkdir(parents=True, exist_ok=True)
        archive = subprocess.Popen(["git", "-C", str(ROOT), "archive", commit], stdout=subprocess.PIPE)
        tree.mkdir()
        subprocess.run(["tar", "-x", "-C", str(tree)], stdin=archive.stdout, check=True)
        if archive.wait() != 0:
            sys.exit(f"compare: git archive {commit} failed")
    log = folder / "log.txt"
    with log.open("w") as out:
        for command in (
            ["cmake", "-G", "Ninja", "-S", str(tree), "-B", str(objects), "-DCMAKE_BUILD_TYPE=Release",
             "-DWEIR_BUILD_BENCH=ON"],
            ["ninja", "-C", str(objects), PROGRAM],
        ):
            if subprocess.run(command, stdout=out, stderr=out).returncode != 0:
                sys.exit(f"compare: {commit} does not build; see {log}")
    return objects / "bin" / PROGRAM


def measure(program, case):
    bench, name, options = case
    done = subprocess.run([str(program), bench, name, *options], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"compare: {program} {bench} {name} failed: {done.stderr.strip()}")
    line = json.loads(done.stdout)
    return line["value"], line["unit"]


def compare(programs, case, runs):
    values = [[], []]
    for run in range(runs):
        for which in ((0, 1) if run % 2 == 0 else (1, 0)):
            value, unit = measure(programs[which], case)
            values[which].append(value)
    medians = [statistics.median(some) for some in values]
    return {
        "bench": case[0], "case": case[1], "unit": unit, "runs": runs,
        "base": {"median": medians[0], "min": min(values[0]), "max": max(values[0])},
        "commit": {"median": medians[1], "min": min(values[1]), "max": max(values[1])},
        "ratio": medians[1] / medians[0],
    }


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("base", metavar="BASE", help="a commit")
    parser.add_argument("commit", metavar="COMMIT", nargs="?", default="HEAD", help="another one")
    parser.add_argument("--runs", type=int, default=9, help="measurements of each case and commit (default 9)")
    parser.add_argument("--only", metavar="BENCH", choices=["submit", "overhead", "metg"], help="one benchmark")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    commits = [git("rev-parse", "--short=10", name + "^{commit}") for name in (options.base, options.commit)]
    programs = [build(commit) for commit in commits]
    cases = [case for case in CASES if options.only in (None, case[0])]
    rows = []
    if not options.json:
        print(f"{processor()}, {os.cpu_count()} cores; medians of {options.runs} (from least to most)")
        print(f"{'bench':9} {'case':15} {'unit':8} {commits[0]:>28} {commits[1]:>28}  ratio")
    for case in cases:
        row = compare(programs, case, options.runs)
        rows.append(row)
        if not options.json:
            texts = ["{median:.4g} ({min:.4g} to {max:.4g})".format(**row[side]) for side in ("base", "commit")]
            print(f"{row['bench']:9} {row['case']:15} {row['unit']:8} {texts[0]:>28} {texts[1]:>28}  "
                  f"{row['ratio']:.3f}", flush=True)
    if options.json:
        print(json.dumps({"base": commits[0], "commit": commits[1], "machine": processor(), "cores": os.cpu_count(),
                          "cases": rows}, indent=1))


if __name__ == "__main__":
    main()
