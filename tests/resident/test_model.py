#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Verifies tests/resident/model.pml with spin, in several small sizes, and that mistakes which are planted in it are found.

Usage: test_model.py C_COMPILER SOURCE_DIR. Exits with 77 where spin is missing."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

# What is verified: name, what the model is built with. No assertion is violated and no end is invalid (a deadlock), in any
# order of steps.
SAFE = [
    ("a chain of three tasks", "TASKS=3 ALONE=0"),
    ("three independent tasks, two lanes", "TASKS=3 ALONE=0 DAG=1 LANES=2 ONE_UNIT"),
    ("four tasks that part and meet", "TASKS=4 ALONE=0 DAG=2 ONE_UNIT"),
    ("an entry stands for two units", "TASKS=2 ALONE=0 PER_ENTRY=2"),
    ("segments are found to be free ahead", "TASKS=3 WORKERS=1 ALONE=0 DAG=1 VERIFIES=1 SLOTS=3"),
    ("segments are overwritten in a look-up", "TASKS=4 WORKERS=1 ALONE=0 DAG=3 SLOTS=3 SEGMENTS=3"),
    ("four tasks, one worker", "TASKS=4 WORKERS=1 DAG=2 SLOTS=4 HELD=4"),
    ("one slot, one segment", "TASKS=3 SLOTS=1 SEGMENTS=1 BATCH=1 HELD=1 ALONE=0"),
    ("a launch that nobody works for may leave", "TASKS=2 ONE_UNIT"),
    ("room for two blocks of three", "TASKS=2 PLACES=2"),
    ("two contexts, room for two blocks", "TASKS=1 WORKERS=1 CONTEXTS=2 PLACES=2 SLOTS=1 SEGMENTS=1 BATCH=1 HELD=1"),
]
# And besides, with every process getting on: all that is published is reported, all that is asked answered, and a launch that
# is told to stop leaves.
LIVE = [
    ("two tasks get done", "TASKS=2 ALONE=0 ONE_UNIT"),
    ("three tasks get done by one worker", "TASKS=3 WORKERS=1 ALONE=1"),
    ("units of two entries get done", "TASKS=1 ALONE=0"),
    ("an answer is given", "TASKS=1 WORKERS=1 ALONE=1 ASKS=1"),
]
# Mistakes: what the model is built with, and what must be found.
ASSERTION, DEADLOCK, NO_END = "assertion violated", "invalid end state", "acceptance cycle"
MISTAKES = [
    ("DONE_EARLY", "TASKS=3", ASSERTION),
    ("REPORT_FIRST", "TASKS=2 DAG=1 SLOTS=1 BATCH=1 HELD=1 ALONE=0 ONE_UNIT", ASSERTION),
    ("HANDS_OUT_ANY", "TASKS=2 WORKERS=1 ALONE=0", DEADLOCK),
    ("OLDEST_ARE_CALLED_READY", "TASKS=2", ASSERTION),
    ("READY_ARE_NOT_LOOKED_FOR", "TASKS=2", DEADLOCK),
    ("HANDED_FIRST", "TASKS=2", ASSERTION),
    ("HANDED_IN_TWO_STORES", "TASKS=2", ASSERTION),
    ("SEGMENTS_ARE_READ_LATER", "TASKS=2", ASSERTION),
    ("POSITIONS_ARE_READ_LATER", "TASKS=4 ALONE=0 DAG=3 SLOTS=3 ONE_UNIT", ASSERTION),
    ("OVERWRITTEN_ARE_BEHIND", "TASKS=4 ALONE=0 DAG=3 SLOTS=3 ONE_UNIT", ASSERTION),
    ("WRITES_WITHOUT_LOOKING", "TASKS=3 WORKERS=1 DAG=1 ALONE=0 SLOTS=3", ASSERTION),
    ("VERIFIES_TOO_FAR", "TASKS=2 DAG=1 VERIFIES=1 ALONE=0 SEGMENTS=1 BATCH=1", ASSERTION),
    ("FETCHES_WITHOUT_ROOM", "TASKS=4 WORKERS=1 SLOTS=4", ASSERTION),
    ("LEAVES_WITH_TASKS_HELD", "TASKS=3", ASSERTION),
    ("LEAVES_WITH_TASKS_IN_FLIGHT", "TASKS=3", ASSERTION),
    ("CLAIMS_ARE_KEPT", "TASKS=3", DEADLOCK),
    ("PUBLISHES_WITHOUT_LOOKING", "TASKS=3", ASSERTION),
    ("COUNTS_TASKS_IN_FLIGHT", "TASKS=3 DAG=1", ASSERTION),
    ("GONE_IS_NOT_LOOKED_AT", "TASKS=3", DEADLOCK),
    ("BLOCK_0_SCHEDULES", "TASKS=2 PLACES=2", DEADLOCK),
    ("FETCH_ALONE", "TASKS=1 WORKERS=1 CONTEXTS=2 PLACES=2", DEADLOCK),
    ("NO_FIRST_FETCH", "TASKS=2 WORKERS=1 ALONE=0 LIVENESS", NO_END),
    ("LEAVES_BEFORE_THE_FETCHER", "TASKS=2 WORKERS=1 ALONE=0", ASSERTION),
    ("ANSWER_AFTER_LEAVING", "TASKS=1 WORKERS=1 ALONE=0 ASKS=1 LIVENESS", NO_END),
]


def verify(compiler, model, definitions):
    """What pan says, and how long it took."""
    begin = time.monotonic()
    live = "LIVENESS" in definitions
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(model, folder)

        def run(*command):
            return subprocess.run(command, cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

        made = run("spin", "-a", *["-D" + definition for definition in definitions], "model.pml")
        if made.returncode != 0 or not os.path.exists(os.path.join(folder, "pan.c")):
            sys.exit("spin failed:\n" + made.stdout)
        mode = ["-DNFAIR=4"] if live else ["-DSAFETY"]
        effort = "-O0" if any(word.startswith("MISTAKE") for word in definitions) else "-O1"  # those are found soon
        made = run(compiler, effort, "-w", "-DCOLLAPSE", "-DMEMLIM=1500", *mode, "-o", "pan", "pan.c")
        if made.returncode != 0:
            sys.exit("pan.c does not compile:\n" + made.stdout)
        text = run("./pan", "-m1000000", "-w22", *(["-a", "-f"] if live else [])).stdout
    return text, time.monotonic() - begin


def states(text):
    found = re.search(r"(\d+) states, stored", text)
    return found.group(1) if found else "?"


def main():
    compiler, source = sys.argv[1:3]
    model = os.path.join(source, "tests", "resident", "model.pml")
    if shutil.which("spin") is None:
        print("skipped: spin is not installed")
        return 77
    wrong = 0
    cases = [(name, definitions.split(), None) for name, definitions in SAFE]
    cases += [(name, definitions.split() + ["LIVENESS"], None) for name, definitions in LIVE]
    cases += [(name, definitions.split() + ["MISTAKE_" + name], found) for name, definitions, found in MISTAKES]
    for name, definitions, expected in cases:
        text, seconds = verify(compiler, model, definitions)
        complete = "errors: 0" in text and not re.search(r"Search not completed|too small|out of memory", text)
        found = re.search(r"pan:1: (.*) \(at depth", text)
        right = complete if expected is None else bool(found) and expected in found.group(1)
        what = found.group(1) if found else "no error" if complete else "not completed"
        print("%s %-42s %8s states %5.1f s  %s" % ("ok " if right else "BAD", name, states(text), seconds, what), flush=True)
        if not right:
            print(" ".join(definitions), text, sep="\n")
            wrong += 1
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
