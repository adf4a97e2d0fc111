# SPDX-License-Identifier: Apache-2.0
"""bench/record.sh: the record and its table say what was measured, where and when; a Debug build is refused."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

ROWS = [
    {"bench": "overhead", "case": "chain", "runtime": "weir", "unit": "ns/task", "median": 150.0, "min": 140.0,
     "max": 1500.0, "runs": 5},
    {"bench": "overhead", "case": "chain", "runtime": "libomp 14", "unit": "ns/task", "median": 1200.0, "min": 1100.0,
     "max": 1300.0, "runs": 5},
]


def prepare(folder, script, build_type):
    """A copy of the scripts, and a build folder whose weir prints ROWS."""
    bench = os.path.join(folder, "bench")
    os.makedirs(os.path.join(bench, "results"), exist_ok=True)
    for name in ("record.sh", "record.py"):
        shutil.copy(os.path.join(os.path.dirname(script), name), bench)
    os.makedirs(os.path.join(folder, "build", "bin"), exist_ok=True)
    with open(os.path.join(folder, "build", "CMakeCache.txt"), "w", encoding="utf-8") as file:
        file.write(f"CMAKE_BUILD_TYPE:STRING={build_type}\n")
    with open(os.path.join(folder, "rows"), "w", encoding="utf-8") as file:
        json.dump(ROWS, file)
    weir = os.path.join(folder, "build", "bin", "weir")
    with open(weir, "w", encoding="utf-8") as file:
        file.write(f"#!/bin/sh\necho weir bench: StarPU is missing >&2\ncat '{folder}/rows'\n")
    os.chmod(weir, 0o755)
    command = [os.path.join(bench, "record.sh"), os.path.join(folder, "build"), "test-machine"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def main():
    with tempfile.TemporaryDirectory() as folder:
        refused = prepare(folder, sys.argv[1], "Debug")
        assert refused.returncode == 2 and "Debug build" in refused.stderr, refused
        done = prepare(folder, sys.argv[1], "Release")
        assert done.returncode == 0, done
        results = os.path.join(folder, "bench", "results")
        names = sorted(os.listdir(results))
        assert len(names) == 2 and names[0].endswith("-test-machine.json") and names[1].endswith(".md"), names
        with open(os.path.join(results, names[0]), encoding="utf-8") as file:
            record = json.load(file)
        assert record["results"] == ROWS and record["machine"] == "test-machine", record
        assert record["notes"] == ["weir bench: StarPU is missing"] and record["date"] and record["cpu"], record
        with open(os.path.join(results, names[1]), encoding="utf-8") as file:
            text = file.read()
        assert "| chain | libomp 14 | ns/task | 1200 | 1100 | 1300 | 5 | 0.12 |" in text, text
        assert "StarPU is missing" in text, text


if __name__ == "__main__":
    main()
