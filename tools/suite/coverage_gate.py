# SPDX-License-Identifier: Apache-2.0
"""Line coverage of the parts of the library and the tools that must be covered."""
import glob
import os
import subprocess

from ctest_results import Result

PARTS = ("src/window", "src/plan", "tools/plan")
LEAST_PERCENT = 95
# What only runs in programs that are built with ThreadSanitizer: tests/tsan_user has them.
ELSEWHERE = "src/window/trail.c"


def forget(folder):
    """Removes counts of earlier runs."""
    for path in glob.glob(os.path.join(folder, "**", "*.gcda"), recursive=True):
        os.remove(path)


def measure(root, folder):
    """One result a part: failed when too few of its lines ran."""
    results = []
    for part in PARTS:
        name = f"line coverage of {part}"
        print(f"-- {name}, at least {LEAST_PERCENT} %", flush=True)
        run = subprocess.run(["gcovr", "--root", root, "--filter", f"{root}/{part}/", "--exclude", f"{root}/{ELSEWHERE}",
                              "--fail-under-line", str(LEAST_PERCENT), folder], cwd=root, check=False)
        passed = run.returncode == 0
        results.append(Result(name, "passed" if passed else "failed", f"below {LEAST_PERCENT} %, or not measured"))
    return results
