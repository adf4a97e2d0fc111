#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What docs/tutorials/record-plan-ask-why.md shows, by examples/record.c.

test_tutorial.py WEIR RECORD"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

WEIR, RECORD = sys.argv[1:3]


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(done)
    return done.stdout


class Tutorial(unittest.TestCase):
    def test_a_wait_is_found_and_removed(self):
        with tempfile.TemporaryDirectory() as folder:
            levels = {}
            for mode in ("updates", "writes"):
                path = os.path.join(folder, mode + ".jsonl")
                self.assertRegex(run(RECORD, mode, path),
                                 "task 8 'spread 1' (waited|did not wait) for task 6 'spread 0': ")
                plan, = json.loads(run(WEIR, "plan", "--json", "--why", "8", path))
                levels[mode] = plan["levels"]
                self.assertEqual(plan["why"]["op"], "spread 1")
                of_scratch = [(each["task"], each["edge"]) for each in plan["why"]["predecessors"]
                              if each["task"] in (6, 7)]
                self.assertEqual(of_scratch, [(6, "implied"), (7, "needed")] if mode == "updates"
                                 else [(6, "renamed away"), (7, "renamed away")])
                for device in ("cpu:2", "sim:h200"):
                    self.assertIn("yes", run(WEIR, "replay", "--check", "--device", device, path))
            self.assertEqual(levels, {"updates": 11, "writes": 5})


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
