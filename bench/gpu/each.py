#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs `weir replay` for each stream in a process of its own, and prints the results as one JSON array.

each.py WEIR OPTION... -- STREAM...
What the processes say on stderr goes through. Exit code: that of the first that fails, which ends it.
"""
import json
import subprocess
import sys


def main():
    if "--" not in sys.argv[2:]:
        print(__doc__, file=sys.stderr)
        return 2
    cut = sys.argv.index("--", 2)
    command, streams, rows = sys.argv[1:cut], sys.argv[cut + 1:], []
    for stream in streams:
        run = subprocess.run([command[0], "replay", "--json", *command[1:], stream], stdout=subprocess.PIPE, check=False)
        if run.returncode != 0:
            return run.returncode
        rows += json.loads(run.stdout)
    json.dump(rows, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
