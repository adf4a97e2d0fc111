#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares two builds of Weir on a CUDA card, or on the CPU, in one run.

    bench/gpu/compare.py BASE OTHER [--device cuda:0|cpu:N] [--rounds N] [--json FILE] [STREAM...]

BASE and OTHER are build folders, or folders with the programs and lib/ beside them (as bench/gpu/run.sh --binaries). Each
round runs every column once with each build, the first one changing from round to round, so that what else the machine does
falls on both. The table gives, for each column, the geometric mean over the streams of each build's medians, and the
median, least and greatest ratio of the streams: below 1, OTHER is faster.
"""

import argparse
import glob
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
REPLAY = ["replay", "--json", "--no-host-waits"]
APART = REPLAY + ["--apart"]
# Name, whether each stream has a process of its own, the command, and what of its rows is compared.
COLUMNS = [
    ("first pass, cold", True, APART + ["--issue", "auto", "--met", "device", "--repeat", "1"], "first_us"),
    ("host time, cold", True, APART + ["--issue", "auto", "--met", "device", "--repeat", "1"], "first_submit_ns_per_task"),
    ("first pass, topology met", True, APART + ["--issue", "auto", "--met", "topology", "--repeat", "1"], "first_us"),
    ("host time, topology met", True, APART + ["--issue", "auto", "--met", "topology", "--repeat", "1"], "first_submit_ns_per_task"),
    ("serial", False, APART + ["--repeat", "31", "--issue", "serial"], "pass_us"),
    ("serial-graph", False, APART + ["--repeat", "31", "--issue", "serial-graph", "--storage", "kept"], "pass_us"),
    ("queues", False, APART + ["--repeat", "31", "--issue", "queues"], "pass_us"),
    ("graph", False, APART + ["--repeat", "31", "--issue", "graph", "--storage", "kept"], "pass_us"),
    ("auto", False, APART + ["--repeat", "201", "--issue", "auto", "--met", "stream"], "pass_us"),
    ("host time, repeated", False, APART + ["--repeat", "201", "--issue", "auto", "--met", "stream"],
     "later_submit_ns_per_task"),
    ("back to back", False, REPLAY + ["--repeat", "500", "--issue", "auto", "--met", "stream"], "pass_us"),
    ("host time, back to back", False, REPLAY + ["--repeat", "500", "--issue", "auto", "--met", "stream"],
     "later_submit_ns_per_task"),
    ("empty tasks", False, ["bench", "tasks", "--json", "--runs", "3"], "median"),
]
# Of the CPU, where a recorded task spins on one worker for its time.
CPU_COLUMNS = [
    ("serial", False, APART + ["--repeat", "15", "--issue", "serial"], "pass_us"),
    ("tasks", False, APART + ["--repeat", "15"], "pass_us"),
    ("tasks, no renaming", False, APART + ["--repeat", "15", "--rename", "off"], "pass_us"),
    ("storage kept", False, APART + ["--repeat", "15", "--storage", "kept"], "pass_us"),
    ("graph", False, APART + ["--repeat", "15", "--issue", "graph", "--storage", "kept"], "pass_us"),
    ("back to back", False, REPLAY + ["--repeat", "50"], "pass_us"),
    ("back to back, kept", False, REPLAY + ["--repeat", "50", "--storage", "kept"], "pass_us"),
    ("host time", False, APART + ["--repeat", "15"], "later_submit_ns_per_task"),
]


def program(folder):
    places = [folder, os.path.join(folder, "bin")]
    return next((path for path in (os.path.join(place, "weir") for place in places) if os.path.exists(path)), None)


def run(folder, command, streams):
    environment = dict(os.environ, LD_LIBRARY_PATH=os.path.join(folder, "lib"))
    done = subprocess.run([program(folder), *command, *streams], env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{folder}: {' '.join(command)}: {done.stderr.strip()[-500:]}")
    return json.loads(done.stdout)


def measure(folder, alone, command, streams):
    """Rows of one run by the name of what they are about."""
    if command[0] == "bench":
        rows = run(folder, command, [])
    elif alone:
        rows = [row for stream in streams for row in run(folder, command, [stream])]
    else:
        rows = run(folder, command, streams)
    return {row.get("stream", row.get("case")): row for row in rows}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("base")
    parser.add_argument("other")
    parser.add_argument("streams", nargs="*")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--json", metavar="FILE")
    given = parser.parse_args()
    folders = [given.base, given.other]
    columns = CPU_COLUMNS if given.device.startswith("cpu") else COLUMNS
    for folder in folders:
        if program(folder) is None:
            parser.error(f"{folder}: there is no program weir")
    streams = given.streams or sorted(glob.glob(str(ROOT / "examples" / "streams" / "*.jsonl")))
    found = {}  # by column, what it is about, and build: a list
    for turn in range(given.rounds):
        seen = {}
        for name, alone, command, member in columns:
            for build in (0, 1) if turn % 2 == 0 else (1, 0):
                key = (build, tuple(command))
                if key not in seen:
                    seen[key] = measure(folders[build], alone, command + ["--device", given.device], streams)
                for about, row in seen[key].items():
                    found.setdefault(name, {}).setdefault(about, ([], []))[build].append(row[member])
    rows = []
    print(f"{given.device}, medians of {given.rounds}: {given.base}, {given.other}")
    print(f"{'column':26}{'base':>10}{'other':>10}{'ratio':>8}   of streams: median (from least to greatest)")
    for name, by_stream in found.items():
        medians = {about: [statistics.median(values) for values in both] for about, both in by_stream.items()}
        means = [math.exp(statistics.fmean(math.log(pair[build]) for pair in medians.values())) for build in (0, 1)]
        ratios = sorted(pair[1] / pair[0] for pair in medians.values())
        print(f"{name:26}{means[0]:10.1f}{means[1]:10.1f}{means[1] / means[0]:8.3f}   "
              f"{statistics.median(ratios):.3f} ({ratios[0]:.3f} to {ratios[-1]:.3f})")
        rows.append({"column": name, "base": means[0], "other": means[1], "ratios": ratios, "medians": medians})
    if given.json:
        with open(given.json, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()
