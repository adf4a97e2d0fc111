#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""run_traced.py TEST_RANDOM WEIR_CHECK DEVICES PROGRAMS [--boxes]: random programs on devices with memory of their own,
whose timelines are proved without a stream. What failed, as some tasks are told to, proves nothing."""
import glob
import os
import subprocess
import sys
import tempfile

RANDOM, CHECK, DEVICES, PROGRAMS = sys.argv[1:5]


def main():
    with tempfile.TemporaryDirectory(prefix="weir-traced-") as folder:
        environment = {**os.environ, "WEIR_TRACE": os.path.join(folder, "run.json")}
        command = [RANDOM, "--device", DEVICES, "--programs", PROGRAMS, *sys.argv[5:]]
        run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if run.returncode != 0:
            print(run.stdout + run.stderr)
            return run.returncode
        proved, wrong = 0, 0
        timelines = sorted(glob.glob(os.path.join(folder, "*.json")))
        for timeline in timelines:
            done = subprocess.run([CHECK, "--ranks", timeline], capture_output=True, text=True, check=False)
            proved += done.returncode == 0
            if done.returncode == 2 or (done.returncode == 1 and "STATUS: " not in done.stderr):
                wrong += 1
                print(f"{os.path.basename(timeline)}: {done.stderr}")
        print(f"{proved} of {len(timelines)} timelines are proved, {wrong} are wrong")
        return 0 if wrong == 0 and proved > 0 and 2 * proved >= len(timelines) else 1


if __name__ == "__main__":
    sys.exit(main())
