#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Instructions that a task costs, counted by callgrind, against the limits in limits.txt.

count.py BENCH LIMITS BUILD: BENCH is weir-bench-weir, BUILD says for what build this is ("GNU 12, Release, x86_64").
Each count is the difference of two runs of different length, for a task with its retirement, the program that submits
included:

- "2 reads and 1 write": `submit renaming` and `submit "prepared many"`, on the device that runs nothing;
- "5 small ranges": a pass of `tiles stencil`, on that device, too;
- "random accesses, run by 2 workers": `overhead random`, empty tasks end to end.

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


def count_run(command):
    """Instructions of a whole run."""
    with tempfile.TemporaryDirectory() as folder:
        output = os.path.join(folder, "callgrind.out")
        valgrind = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={output}"]
        run = subprocess.run(valgrind + command, capture_output=True, text=True, check=False)
    found = re.search(r"Collected : (\d+)", run.stderr)
    if run.returncode != 0 or found is None:
        sys.exit(f"{' '.join(command)} under callgrind failed with {run.returncode}:\n{run.stdout}{run.stderr}")
    return int(found.group(1))


def count_task(bench, arguments, option, lengths, tasks):
    """Instructions of one task."""
    few, many = (count_run([bench] + arguments + [option, str(length)]) for length in lengths)
    return (many - few) / tasks


def judge(name, count, limit, tolerance, slack):
    """What is wrong with a count; None: nothing."""
    if count > limit * (1 + tolerance):
        return f"{name}: {count:.0f} instructions a task are more than {limit}"
    if count < limit * (1 - slack):
        return f"{name}: {count:.0f} instructions a task are so much less than {limit} that the limit is to be lowered"
    return None


def main():
    """Counts, prints, and fails where a limit does not hold."""
    bench, path, build = sys.argv[1:4]
    recorded, limits = read_limits(path)
    if shutil.which("valgrind") is None:
        skip("valgrind is missing")
    if build != recorded:
        skip(f"the limits are for {recorded}, and this is {build}")
    wrong = []
    for name, arguments, option, lengths, tasks in SUBMISSIONS:
        count = count_task(bench, arguments, option, lengths, tasks)
        print(f"{name}: {count:.0f} instructions a task, limit {limits[name]}")
        runs = "workers" in name
        tolerance, slack = (TOLERANCE_OF_WORKERS, SLACK_OF_WORKERS) if runs else (TOLERANCE, SLACK)
        wrong.append(judge(name, count, limits[name], tolerance, slack))
    sys.exit("\n".join(text for text in wrong if text) or 0)


if __name__ == "__main__":
    main()
