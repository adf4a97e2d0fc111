# SPDX-License-Identifier: Apache-2.0
"""weir-bench-rename prints a line for each pattern and size; renaming doubles the memory of no pattern."""
import json
import subprocess
import sys

lines = json.loads(subprocess.run([sys.argv[1], "--device", "cpu:2", "--rounds", "1", "--json"], check=True,
                                  capture_output=True, text=True).stdout)
assert len({(line["pattern"], line["bytes"]) for line in lines}) == len(lines) == 20, lines
for line in lines:
    assert line["peak_mib"] <= 2 * line["no_rename_peak_mib"], line
    if line["pattern"] == "ping-pong":
        assert line["renamed"] == 0, line
assert subprocess.run([sys.argv[1], "--rounds", "0"], capture_output=True).returncode == 2
