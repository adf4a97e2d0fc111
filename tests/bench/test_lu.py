# SPDX-License-Identifier: Apache-2.0
"""weir-bench-lu compares all results, and prints a line for each tile size and way."""
import json
import subprocess
import sys


def run(*arguments):
    return subprocess.run([sys.argv[1], "--size", "128", "--rounds", "2", *arguments], capture_output=True, text=True)


done = run("--json")
assert done.returncode == 0, done.stderr
lines = json.loads(done.stdout)
ways = {line["way"] for line in lines}
assert {"boxes", "ranges", "buffers", "serial", "serial tiles"} <= ways, ways
assert {(line["tile"], line["way"]) for line in lines} == {(tile, way) for tile in (16, 32, 64) for way in ways}, lines
table = run("--workers", "1", "--pad", "0")
assert table.returncode == 0 and len(table.stdout.splitlines()) == 5, table.stdout
assert run("--size", "100").returncode == 2 and run("--rounds", "0").returncode == 2
