#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_usage.py CHOLESKY: the command line of the Cholesky example."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

CHOLESKY = sys.argv.pop(1)


def run(*arguments):
    return subprocess.run([CHOLESKY, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


class Usage(unittest.TestCase):
    def refused(self, text, *arguments):
        result = run(*arguments)
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertIn(text, result.stderr)
        self.assertEqual(result.stdout, "")

    def test_output_that_cannot_be_written(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            result = subprocess.run([CHOLESKY, "--size", "10", "--tile", "5"], stdout=full, stderr=subprocess.PIPE, text=True)
        self.assertEqual((result.returncode, result.stderr), (1, "cholesky: cannot write to standard output\n"))

    def test_help(self):
        result = run("--help")
        self.assertEqual(result.returncode, 0)
        for option in ("--size", "--tile", "--workers", "--place", "--memory", "--check", "--json", "--timeline"):
            self.assertIn(option, result.stdout)

    def test_bad_numbers(self):
        for value in ("0", "-5", "x", "", "12x", "100001", "99999999999999999999"):
            self.refused(f"--size must be a number from 1 to 100000, not '{value}'", "--size", value)
        self.refused("--tile must be", "--tile", "0")
        self.refused("--workers must be", "--workers", "1025")

    def test_unknown_argument(self):
        self.refused("unknown argument '--frob'", "--frob", "1")

    def test_missing_value(self):
        self.refused("--tile needs a value", "--tile")

    def test_choices(self):
        self.refused("--place must be auto or owner, not 'x'", "--place", "x")
        self.refused("--check must be lapack or residual, not ''", "--check")

    def test_json(self):
        result = run("--size", "100", "--tile", "40", "--workers", "2", "--check", "residual", "--passes", "2", "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        found = json.loads(result.stdout)
        self.assertEqual((found["size"], found["right"], len(found["seconds"])), (100, True, 2))

    def test_timeline(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "timeline.json")
            result = run("--size", "100", "--tile", "40", "--workers", "2", "--timeline", path)
            self.assertEqual(result.returncode, 0, result.stderr)
            with open(path, encoding="utf-8") as timeline:
                text = timeline.read()
            self.assertIn("potrf 0,0", text)
            self.assertIn("gemm 2,1", text)
            path = os.path.join(folder, "timeline.html")
            result = run("--size", "10", "--tile", "10", "--timeline", path)
            self.assertEqual(result.returncode, 1)
            self.assertIn("the name of a timeline ends in .json, of which `weir timeline FILE.json` makes a page", result.stderr)
            self.assertFalse(os.path.exists(path))

    def test_timeline_elsewhere(self):
        result = run("--size", "10", "--tile", "10", "--timeline", "/no/such/folder/timeline.json")
        self.assertEqual(result.returncode, 1)
        self.assertIn("/no/such/folder/timeline.json", result.stderr)


if __name__ == "__main__":
    unittest.main()
