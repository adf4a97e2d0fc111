# SPDX-License-Identifier: Apache-2.0
"""What an example prints: test_sequences.py PROGRAM PATTERN... Each pattern is to match a line, in this order.

Ends like the program where that fails or was skipped (77)."""
import re
import subprocess
import sys


def main():
    program, patterns = sys.argv[1], sys.argv[2:]
    run = subprocess.run([program], capture_output=True, text=True)
    print(run.stdout, run.stderr, sep="", end="")
    if run.returncode != 0:
        return run.returncode
    lines = iter(run.stdout.splitlines())
    for pattern in patterns:
        if not any(re.fullmatch(pattern, line) for line in lines):
            print(f"no line, or none behind the one before, is like: {pattern}")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
