# SPDX-License-Identifier: Apache-2.0
"""test_program.py PROGRAM: weir-bench-window where there is no card: the host's columns, why there are no others, and bad usage."""
import json
import os
import subprocess
import sys
import tempfile

STREAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "streams", "squeezenet.jsonl")


def run(*options):
    return subprocess.run([sys.argv[1], *options], capture_output=True, text=True, check=False, timeout=100)


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "window.json")
        done = run("--quick", "--rounds", "2", "--device", "cpu:2", "--json", path, STREAM)
        assert done.returncode == 0, done
        with open(path, encoding="utf-8") as file:
            rows = json.load(file)
    assert "no times of the card: 'cpu:2' is no CUDA device" in done.stdout, done.stdout
    kinds = {(row["case"], row["what"], row["window"]) for row in rows}
    for case in ("layers, 4 wide", "random, 8 ranges", "squeezenet, by buffer", "squeezenet, by address"):
        assert f"| {case} |" in done.stdout, done.stdout
        for window in (32, 128, 256, 512, 1024):
            for what in ("host_find_ns", "steps", "card_edges", "host_edges", "too_many"):
                assert (case, what, window) in kinds, (case, what, window)
        assert (case, "host_submit_ns", 1024) in kinds, case
    assert all(0 < row["low"] <= row["value"] <= row["high"] for row in rows if row["what"].endswith("_ns")), rows
    assert not [row for row in rows if row["what"].endswith("_us")], rows
    assert "--device NAME" in run("--help").stdout
    for options, text in ((("--rounds", "0"), "'0'"), (("--rounds",), "--rounds"), (("--wide",), "--wide"), ((STREAM, "--quick"), "--quick"),
                          (("--json", "/nowhere/x.json"), "cannot be written")):
        done = run(*options)
        assert done.returncode == 2 and text in done.stderr, (options, done)
    done = run("--quick", "--device", "cpu:2", "nothing.jsonl")
    assert done.returncode == 1 and "nothing.jsonl" in done.stderr, done


if __name__ == "__main__":
    main()
