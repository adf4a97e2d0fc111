#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_dynroute.py DYNROUTE: the command line of the example."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

DYNROUTE = sys.argv.pop(1)
SMALL = ("--size", "8", "--cells", "3", "--passes", "1")


def run(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


class Dynroute(unittest.TestCase):
    def refused(self, code, text, *arguments):
        result = run(DYNROUTE, *arguments)
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        self.assertIn(text, result.stderr)
        self.assertEqual(result.stdout, "")

    def test_help(self):
        result = run(DYNROUTE, "--help")
        self.assertEqual(result.returncode, 0)
        for option in ("--device", "--check", "--timeline", "--inputs", "--passes", "--channels", "--size", "--cells"):
            self.assertIn(option, result.stdout)

    def test_usage(self):
        self.refused(2, "--size must be a number from 2 to 512, a multiple of 2, not '9'", "--size", "9")
        self.refused(2, "--channels must be", "--channels", "32")
        self.refused(2, "--seed needs a value", "--seed")
        self.refused(2, "--issue must be auto, queues, graphs or resident, not 'fast'", "--issue", "fast")
        self.refused(2, "unknown argument '--frob'", "--frob", "1")
        self.refused(2, "there is no device 'frob'", "--device", "frob")

    def test_missing_device(self):
        self.refused(3, "cuda", "--device", "cuda:63")

    def test_inputs_differ(self):
        """What runs depends on the input."""
        result = run(DYNROUTE, *SMALL, "--check")
        self.assertEqual(result.returncode, 0, result.stderr)
        rows = [line.split("x ")[1] for line in result.stdout.splitlines() if line.lstrip()[:1].isdigit()]
        self.assertEqual(len(rows), 3)
        self.assertGreater(len(set(rows)), 1)

    def test_timelines(self):
        with tempfile.TemporaryDirectory() as folder:
            for device in ("cpu:2", "sim:h200"):
                path = os.path.join(folder, "timeline.json")
                result = run(DYNROUTE, *SMALL, "--device", device, "--timeline", path)
                self.assertEqual(result.returncode, 0, result.stderr)
                with open(path, encoding="utf-8") as timeline:
                    text = timeline.read()
                self.assertTrue(json.loads(text))
                for name in ("depthwise", "pointwise", "gate", "join"):
                    self.assertIn(f'"{name}', text)

    def test_timeline_elsewhere(self):
        result = run(DYNROUTE, *SMALL, "--timeline", "/no/such/folder/timeline.json")
        self.assertEqual(result.returncode, 1)
        self.assertIn("/no/such/folder/timeline.json", result.stderr)


if __name__ == "__main__":
    unittest.main()
