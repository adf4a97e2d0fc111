#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""run_timeline.py MPIRUN WEIR HEAT: `weir run --timeline` of a program on ranks of MPI."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

MPIRUN, WEIR, HEAT = sys.argv[1:4]
del sys.argv[1:4]
os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_btl_vader_single_copy_mechanism="none")


class Timeline(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="weir-ranks-")
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def weir(self, *arguments, code=0):
        done = subprocess.run([WEIR, *arguments], capture_output=True, text=True, timeout=300, check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def run_heat(self, ranks, name, program=(HEAT,), code=0):
        return self.weir("run", "-n", str(ranks), "--launcher", MPIRUN, "--timeline", self.path(name), *program, code=code)

    def test_joined(self):
        self.run_heat(3, "run.json")
        self.assertEqual(sorted(os.listdir(self.folder.name)), ["run.json", *(f"run.rank{rank}.json" for rank in range(3))])
        with open(self.path("run.json"), encoding="utf-8") as file:
            whole = json.load(file)
        tasks = [event["args"] for event in whole["traceEvents"] if event.get("cat") == "task"]
        sends = {(task["id"] // 10 ** 13, task["send"]["to"], task["send"]["number"]): task for task in tasks if "send" in task}
        receives = [task for task in tasks if "receive" in task]
        # A cell each way over two borders in 100 steps, and the sums
        self.assertGreaterEqual(len(receives), 400)
        self.assertEqual(len(sends), len(receives))
        for task in receives:
            send = sends[task["receive"]["from"], task["id"] // 10 ** 13, task["receive"]["number"]]
            self.assertEqual(send["call"], task["call"])
            self.assertLessEqual(send["end_ns"], task["start_ns"])
            self.assertIn(send["id"], [wait["task"] for wait in task["waits"] if wait["hazard"] == "MESSAGE"])

    def test_checked(self):
        """The timeline is proved; not without its last message."""
        self.run_heat(3, "run.json")
        done = self.weir("check", "--ranks", self.path("run.json"))
        self.assertRegex(done.stdout, r"^checked \d+ tasks, 3 ranks, 4\d\d messages, \d+ accesses, \d+ hazards: all honoured\n$")
        with open(self.path("run.json"), encoding="utf-8") as file:
            whole = json.load(file)
        events = whole["traceEvents"]
        receive = next(event["args"] for event in reversed(events) if "receive" in event.get("args", ()) and "diffuse" in event["name"])
        send = next(wait["task"] for wait in receive["waits"] if wait["hazard"] == "MESSAGE")
        whole["traceEvents"] = [event for event in events if event.get("args", {}).get("id") not in (receive["id"], send)]
        with open(self.path("less.json"), "w", encoding="utf-8") as file:
            json.dump(whole, file)
        done = self.weir("check", "--ranks", self.path("less.json"), code=1)
        self.assertRegex(done.stderr, r"VERSION broken: task 'diffuse' \(id \d+ of rank 2, call \d+\) reads shared buffer")
        self.assertIn("that of one of several ranks", self.weir("check", "--ranks", self.path("run.rank0.json"), code=2).stderr)

    def test_checked_alone(self):
        self.run_heat(1, "run.json")
        self.assertEqual(os.listdir(self.folder.name), ["run.json"])
        self.assertIn("1 ranks, 0 messages", self.weir("check", "--ranks", self.path("run.json")).stdout)

    def test_page(self):
        for ranks in (1, 2):
            self.run_heat(ranks, f"page{ranks}.html")
            with open(self.path(f"page{ranks}.html"), encoding="utf-8") as file:
                self.assertIn("</html>", file.read())

    def test_programs_without_timelines(self):
        with open(self.path("run.rank1.json"), "w", encoding="utf-8") as file:
            file.write("of an earlier run")
        for ranks in (1, 2):
            done = self.run_heat(ranks, "run.json", ("true",), code=1)
            self.assertIn(("run.json" if ranks == 1 else "run.rank0.json") + " was not written", done.stderr)
        self.assertEqual(os.listdir(self.folder.name), [])
        self.run_heat(2, "run.json", ("false",), code=1)
        self.assertIn("does not end in .html or .json", self.run_heat(2, "run.svg", code=2).stderr)


if __name__ == "__main__":
    unittest.main()
