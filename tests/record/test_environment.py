#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""WEIR_TRACE=FILE records any program, and what it writes is taken by `weir plan`, `weir replay` and `weir timeline`.

test_environment.py WEIR FORGETFUL [CLASS]"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

WEIR, FORGETFUL = sys.argv[1:3]


def run(*command, **variables):
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **variables}, check=False)


class Recording(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def record(self, name, *arguments):
        done = run(FORGETFUL, *arguments, WEIR_TRACE=self.path(name))
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        return done.stderr


class Environment(Recording):
    def test_streams_of_each_context_are_planned_and_replayed(self):
        for arguments in ((), ("release",)):
            self.assertEqual(self.record("run.jsonl", *arguments), "")
            self.assertEqual(sorted(os.listdir(self.folder.name)), ["run.2.jsonl", "run.jsonl"])
            for name in ("run.jsonl", "run.2.jsonl"):
                plan, = json.loads(run(WEIR, "plan", "--json", "--why", "7", self.path(name)).stdout)
                self.assertEqual((plan["stream"], plan["tasks"], plan["host_waits"], plan["levels"]),
                                 ("forgetful", 12, 2, 12))
                self.assertEqual((plan["why"]["op"], plan["why"]["predecessors"][0]["task"]), ("odd", 6))
                replay = run(WEIR, "replay", "--check", "--device", "cpu:2", self.path(name))
                self.assertEqual(replay.returncode, 0, replay.stderr)
                self.assertIn("yes", replay.stdout)
                os.unlink(self.path(name))

    def test_timelines(self):
        self.assertEqual(self.record("run.json"), "")
        for name in ("run.json", "run.2.json"):
            with open(self.path(name), encoding="utf-8") as file:
                timeline = json.load(file)
            tasks = [event for event in timeline["traceEvents"] if event.get("cat") == "task"]
            self.assertEqual([event["args"]["id"] for event in tasks], list(range(1, 13)))
            self.assertEqual(run(WEIR, "timeline", self.path(name)).returncode, 0)

    def test_ranks_have_names_of_their_own(self):
        """Where a launcher of MPI says which of several ranks a program is."""
        for names in (("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"), ("PMI_RANK", "PMI_SIZE")):
            for rank in ("0", "1"):
                done = run(FORGETFUL, WEIR_TRACE=self.path("run.json"), **dict(zip(names, (rank, "2"))))
                self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
            self.assertEqual(sorted(os.listdir(self.folder.name)), ["run.rank0.2.json", "run.rank0.json", "run.rank1.2.json", "run.rank1.json"])
            for name in os.listdir(self.folder.name):
                os.unlink(self.path(name))

    def test_names_of_no_use_are_told_once(self):
        told = self.record("run.html")
        self.assertEqual(told.count("\n"), 1)
        self.assertIn("run.html: nothing is recorded", told)
        told = self.record("no/folder/run.json")
        self.assertIn("no/folder/run.json: No such file or directory", told)
        self.assertEqual(os.listdir(self.folder.name), [])


class Forked(Recording):
    def test_a_forked_process_leaves_contexts_to_its_parent(self):
        done = run(FORGETFUL, "child", WEIR_TRACE=self.path("run.json"))
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        self.assertEqual(os.listdir(self.folder.name), ["run.3.json"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
