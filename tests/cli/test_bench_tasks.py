#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_bench_tasks.py WEIR STREAMS: `weir bench tasks` and what it and `weir bench copies` say without a device."""
import json
import unittest

from command import CommandTest

PATTERNS = ["trivial", "stencil", "fft", "sweep", "tree", "random"]


class BenchTasks(CommandTest):
    def test_patterns(self):
        for options, device in (([], "cpu"), (["--device", "cpu:3"], "cpu:3"), (["--device", "sim:ideal"], "sim:ideal")):
            with self.subTest(device=device):
                rows = json.loads(self.weir("bench", "tasks", "--quick", "--runs", "3", "--json", *options).stdout)
                self.assertEqual([row["case"] for row in rows], PATTERNS)
                for row in rows:
                    self.assertEqual((row["bench"], row["unit"], row["runs"]), ("tasks", "ns/task", 3))
                    self.assertTrue(row["runtime"].startswith("weir, " + device), row)
                    self.assertLessEqual(0, row["min"])
                    self.assertLessEqual(row["min"], row["median"])
                    self.assertLessEqual(row["median"], row["max"])

    def test_devices(self):
        self.weir("bench", "tasks", "--quick", "--device", "frob", code=2)
        for name in ("submit", "ranges", "overhead", "metg", "parallelism", "barriers", "wait"):
            self.refused(f"--device: {name} takes no device", "bench", "tasks", name, "--quick", "--device", "cpu")
        result = self.weir("bench", "copies", "--quick", "--device", "cpu", "--json")
        self.assertEqual(json.loads(result.stdout), [])
        self.assertIn("copies: skipped, --device cpu is not a CUDA device", result.stderr)


if __name__ == "__main__":
    unittest.main()
