#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Instructions that a task costs, counted by callgrind, against the limits in limits.txt.

count.py BENCH LIMITS BUILD WEIR STREAM LIBRARY: BENCH is weir-bench-weir, BUILD says for what build this is ("GNU 12,
Release, x86_64"), WEIR is the tool, and LIBRARY stands in for a CUDA driver and compiler. Each count is the difference of two runs of different length, for a task with its retirement, the program that submits
included:

- "2 reads and 1 write": `submit renaming` and `submit "prepared many"`, on the device that runs nothing;
- "5 small ranges": a pass of `tiles stencil`, on that device, too;
- "random accesses, run by 2 workers": `overhead random`, empty tasks end to end;
- "task on a card": the short way of the tasks of STREAM, which takes 3.1 buffers and their labels, from the check to the
  device's inbox; "buffer, made and released": the calls for the one that comes with each. Only the instructions in these
  functions count, so that no other thread matters.

Fails if one is above its limit by more than its tolerance, or so far below it that the limit is to be lowered.
Exit code 77: skipped, without valgrind or where the limits are for another build.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

# By what part a count may be above its limit: where workers run, they spin now and then.
TOLERANCE = 0.02
TOLERANCE_OF_WORKERS = 0.08
# Where they share cores with others they spin more: the least of so many counts is judged.
TRIES_OF_WORKERS = 8
# A limit is to be lowered when the count has fallen by this part.
SLACK = 0.06
SLACK_OF_WORKERS = 0.1

# name, arguments, the option with a length and its two values, tasks by which the two runs differ
SUBMISSIONS = [
    ("2 reads and 1 write", ["submit", "renaming"], "--tasks", (10000, 20000), 20000),
    ("2 reads and 1 write, prepared, 100 at a time", ["submit", "prepared many"], "--tasks", (10000, 20000), 20000),
    ("5 small ranges", ["tiles", "stencil"], "--passes", (1, 2), 12100),
    ("random accesses, run by 2 workers", ["overhead", "random", "--warm-up", "1000"], "--tasks", (5000, 15000), 10000),
]


# name, the functions in which instructions count, how many of what is counted there are in a pass of dynroute_a.0
ON_A_CARD = [
    ("task on a card", ["weir__submit_plain_ahead"], 252),
    ("buffer, made and released", ["weir_buffer_create", "weir_buffer_release"], 2 * 240),  # `replay` runs it twice
]
PASSES = (4, 12)


def skip(reason):
    """Ends as a test that was skipped."""
    print(f"skipped: {reason}")
    sys.exit(77)


def read_limits(path):
    """Returns the build that the limits are for, and the limits by name."""
    build, limits = None, {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            name, _, value = line.partition(":")
            if line.startswith("#") or not line.strip():
                continue
            if name == "recorded for":
                build = value.strip()
            else:
                limits[name] = int(value)
    return build, limits


def count_run(command, functions=(), variables=None):
    """Instructions of a whole run, or of these functions and all that they call."""
    with tempfile.TemporaryDirectory() as folder:
        output = os.path.join(folder, "callgrind.out")
        valgrind = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={output}"]
        valgrind += [f"--toggle-collect={function}" for function in functions]
        environment = {**os.environ, **(variables or {})}
        run = subprocess.run(valgrind + command, env=environment, capture_output=True, text=True, check=False)
    found = re.search(r"Collected : (\d+)", run.stderr)
    if run.returncode != 0 or found is None:
        sys.exit(f"{' '.join(command)} under callgrind failed with {run.returncode}:\n{run.stdout}{run.stderr}")
    return int(found.group(1))


def count_task(bench, arguments, option, lengths, tasks):
    """Instructions of one task."""
    few, many = (count_run([bench] + arguments + [option, str(length)]) for length in lengths)
    return (many - few) / tasks


def count_on_a_card(weir, stream, library, functions, each):
    """Instructions of one task, or of one buffer."""
    variables = {"WEIR_CUDA_DRIVER": library, "WEIR_NVRTC": library, "WEIR_STUB_MEMORY": str(8 << 30), "WEIR_CACHE": ""}
    command = [weir, "replay", stream, "--json", "--device", "cuda:0", "--issue", "queues", "--no-host-waits", "--apart"]
    few, many = (count_run(command + ["--repeat", str(passes)], functions, variables) for passes in PASSES)
    return (many - few) / ((PASSES[1] - PASSES[0]) * each)


def judge(name, count, limit, threads):
    """Prints a count, and returns what is wrong with it; None: nothing. `threads`: others run beside it."""
    print(f"{name}: {count:.0f} instructions, limit {limit}")
    tolerance, slack = (TOLERANCE_OF_WORKERS, SLACK_OF_WORKERS) if threads else (TOLERANCE, SLACK)
    if count > limit * (1 + tolerance):
        return f"{name}: {count:.0f} instructions are more than {limit}"
    if count < limit * (1 - slack):
        return f"{name}: {count:.0f} instructions are so much less than {limit} that the limit is to be lowered"
    return None


def main():
    """Counts, prints, and fails where a limit does not hold."""
    bench, path, build, weir, stream, library = sys.argv[1:7]
    recorded, limits = read_limits(path)
    if shutil.which("valgrind") is None:
        skip("valgrind is missing")
    if build != recorded:
        skip(f"the limits are for {recorded}, and this is {build}")
    wrong = []
    for name, arguments, option, lengths, tasks in SUBMISSIONS:
        threads, count = "workers" in name, float("inf")
        for _ in range(TRIES_OF_WORKERS if threads else 1):
            count = min(count, count_task(bench, arguments, option, lengths, tasks))
            if count <= limits[name] * (1 + TOLERANCE_OF_WORKERS):
                break
        wrong.append(judge(name, count, limits[name], threads))
    for name, functions, each in ON_A_CARD:
        wrong.append(judge(name, count_on_a_card(weir, stream, library, functions, each), limits[name], True))
    sys.exit("\n".join(text for text in wrong if text) or 0)


if __name__ == "__main__":
    main()
