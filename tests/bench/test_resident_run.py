# SPDX-License-Identifier: Apache-2.0
"""test_resident_run.py SCRIPT BUILD: bench/gpu/resident.sh on the CPU: every step runs or is named as missing, and bad usage is refused."""
import json
import os
import subprocess
import sys
import tempfile

STEPS = ["layers", "hops", "layers-4-workers", "layers-2-workers", "wait", "streams-resident", "streams-serial", "streams-queues", "streams-auto",
         "streams-graph", "bodies", "dynroute-auto", "dynroute-queues", "dynroute-resident", "write-once", "random", "abort"]


def run(script, *arguments):
    return subprocess.run(["bash", script, *arguments], capture_output=True, text=True, check=False, timeout=280)


def main():
    script, build = sys.argv[1:]
    for arguments, text in (((), "--output is missing"), (("--frob",), "unknown option --frob"), (("--output",), "needs a value")):
        done = run(script, *arguments)
        assert done.returncode == 2 and text in done.stderr, done
    stream = os.path.join(os.path.dirname(script), "..", "..", "examples", "streams", "squeezenet.jsonl")
    with tempfile.TemporaryDirectory() as folder:
        done = run(script, "--output", folder, "--binaries", build, "--device", "cpu:2", "--quick", "--commit", "x1", stream)
        assert done.returncode == 0, done
        with open(os.path.join(folder, "resident.json"), encoding="utf-8") as file:
            found = json.load(file)
        with open(os.path.join(folder, "resident.md"), encoding="utf-8") as file:
            text = file.read()
    assert [step["name"] for step in found["steps"]] == STEPS, found["steps"]
    for step in found["steps"]:
        assert step["status"] in ("ok", "missing"), step
        assert f"## {step['name']}\n" in text, step
    assert {"layers", "hops", "wait"} <= set(found["results"]), found["results"].keys()
    assert "Commit x1" in text and "squeezenet" in text and "the same bits" in text, text


if __name__ == "__main__":
    main()
