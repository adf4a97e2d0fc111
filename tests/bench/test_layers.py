# SPDX-License-Identifier: Apache-2.0
"""weir-bench-layers: every way runs small graphs, results are checked, and the options' mistakes are named."""
import json
import os
import subprocess
import sys
import tempfile


def run(program, *options):
    return subprocess.run([program, *options], capture_output=True, text=True, check=False, timeout=200)


def main():
    program = os.path.join(os.path.dirname(sys.argv[1]), "weir-bench-layers")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "layers.json")
        done = run(program, "--device", "cpu:2", "--tasks", "70", "--widths", "1,16", "--times", "1", "--rounds", "2",
                   "--json", path)
        assert done.returncode == 0, done.stderr
        with open(path, encoding="utf-8") as file:
            rows = json.load(file)
    kinds = {(row["mode"], row["width"], row["what"]) for row in rows}
    modes = {row["mode"] for row in rows}
    assert {"serial", "queues", "auto", "graph"} <= modes, modes
    for mode in modes:
        assert {(mode, 1, "total_us"), (mode, 16, "total_us"), (mode, 1, "wait_us")} <= kinds, kinds
    assert all(0 < row["low"] <= row["value"] <= row["high"] for row in rows), rows
    assert "Modes:" in run(program, "--help").stdout
    for options, word in ((("--widths", "0"), "'0'"), (("--times", "1,"), "'1,'"), (("--modes", "fast"), "'fast'"),
                          (("--tasks",), "--tasks needs a value"), (("--wide", "3"), "--wide")):
        done = run(program, *options)
        assert done.returncode == 2 and word in done.stderr, (options, done)
    done = run(program, "--device", "sim:nothing.json")
    assert done.returncode in (1, 3) and "nothing.json" in done.stderr, done


if __name__ == "__main__":
    main()
