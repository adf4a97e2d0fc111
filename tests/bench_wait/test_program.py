# SPDX-License-Identifier: Apache-2.0
"""test_program.py PROGRAM LIBRARY: weir-bench-wait on the CPU, on a CUDA driver without a card (LIBRARY), and bad usage."""
import json
import os
import subprocess
import sys
import tempfile

LIBRARY = os.path.abspath(sys.argv[2])
WEIR = ("serial", "queues", "auto", "resident")
PEERS = {"CUDA, waits": ("event", "copy"), "CUDA, asks": ("event", "copy"), "CUDA, looks": ("word",)}
TASKS = ("one task", "the last of a chain of 10", "the last of 100 tasks, 16 wide")
SIGHTS = ("event", "copy", "word")


def run(*options, **environment):
    return subprocess.run([sys.argv[1], *options], capture_output=True, text=True, check=False, timeout=500, env={**os.environ, **environment})


def measure(device, **environment):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "wait.json")
        done = run("--quick", "--device", device, "--us", "20", "--json", path, **environment)
        assert done.returncode == 0, done
        with open(path, encoding="utf-8") as file:
            return done.stdout, json.load(file)


def check(text, rows, ways, contradicted=0):
    """Every way has times of each kind; a time from the last write only where the host waited by then."""
    samples = {(row["way"], row["tasks"], row["sight"], row["what"]): row for row in rows if "sight" in row}
    for way, sights in ways.items():
        assert text.count(f"| {way} |") == len(TASKS), text
        for tasks in TASKS:
            for sight in sights:
                whole = samples.pop((way, tasks, sight, "from_submit_us"))
                part = samples.pop((way, tasks, sight, "from_write_us"), None)
                assert whole["samples"] == 3 and (part is None) == (whole["late"] == 3), whole
                assert 0 < whole["low"] <= whole["value"] <= whole["high"], whole
                assert part is None or part["samples"] + part["late"] == 3, part
                assert whole["contradicted"] == contradicted, whole
    assert not samples, samples
    numbers = {row["what"]: row["value"] for row in rows if "way" not in row}
    assert numbers["clock_step_ns"] > 0, numbers
    return numbers


def main():
    text, rows = measure("cpu:2")
    assert check(text, rows, {way: SIGHTS for way in WEIR})["clock_error_us"] == 0, rows
    assert "no lines of CUDA's own calls: 'cpu:2' is no CUDA device" in text, text

    cuda = {"WEIR_CUDA_DRIVER": LIBRARY, "WEIR_NVRTC": LIBRARY, "WEIR_STUB_ABORT": "1", "WEIR_CACHE": ""}
    all_ways = {**{way: SIGHTS for way in WEIR}, **PEERS}
    text, rows = measure("cuda:0", **cuda)
    numbers = check(text, rows, all_ways)
    assert 0 < numbers["clock_least_round_us"] <= numbers["clock_most_round_us"] <= 2 * numbers["clock_error_us"], numbers
    shares = {row["way"]: row["value"] for row in rows if row["what"] == "resident_share"}
    assert shares["serial"] == shares["queues"] == 0 and shares["resident"] == 1, shares

    # What is wrong is found: a time that cannot be, and a value.
    check(*measure("cuda:0", WAIT_WRONG="time", **cuda), all_ways, contradicted=3)
    done = run("--quick", WAIT_WRONG="value", **cuda)
    assert done.returncode == 1 and "was to be written" in done.stderr and not done.stdout, done

    assert all(word in run("--help").stdout for word in ("--device NAME", *WEIR, *PEERS, *SIGHTS))
    for options, word in ((("--rounds", "0"), "'0'"), (("--us",), "--us"), (("--wide", "3"), "--wide"), (("--json", "/nowhere/x.json"), "cannot be written")):
        done = run(*options)
        assert done.returncode == 2 and word in done.stderr, (options, done)
    for device, word in (("vulkan", "'vulkan' is no CUDA device"), ("cuda:0", "no CUDA driver")):
        done = run("--quick", "--device", device, WEIR_CUDA_DRIVER="/nowhere/libcuda.so")
        assert done.returncode == 3 and word in done.stderr and not done.stdout, (device, done)


if __name__ == "__main__":
    main()
