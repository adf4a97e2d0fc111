# SPDX-License-Identifier: Apache-2.0
"""weir-bench-mpi-submit prints what submission costs, also with more ranks than a word has bits."""
import json
import subprocess
import sys

for ranks in ("3", "64", "70"):
    output = subprocess.run([sys.argv[1], "--ranks", ranks, "--repeat", "2"], check=True, capture_output=True, text=True).stdout
    lines = [json.loads(line) for line in output.splitlines()]
    assert [line["case"] for line in lines] == ["one rank", "leaves out", "all", "leaves out / one rank"], lines
    assert all(line["value"] > 0 for line in lines), lines
assert subprocess.run([sys.argv[1], "--ranks", "2"], capture_output=True).returncode == 2
