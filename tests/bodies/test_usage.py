#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_usage.py WEIR_BODIES: the command line of the bodies example, and the files that it writes."""
import json
import os
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

BODIES = sys.argv.pop()
SMALL = ("--device", "cpu:1", "--worlds", "2", "--bodies", "8", "--steps", "10")
SVG = "{http://www.w3.org/2000/svg}"


def run(*arguments):
    return subprocess.run([BODIES, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


class Usage(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def refused(self, text, *arguments, code=2):
        result = run(*arguments)
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertIn(text, result.stderr)

    def done(self, *arguments):
        result = run(*arguments)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return result.stdout

    def test_output_that_cannot_be_written(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            result = subprocess.run([BODIES, *SMALL], stdout=full, stderr=subprocess.PIPE, text=True)
        self.assertEqual((result.returncode, result.stderr), (1, "weir-bodies: cannot write to standard output\n"))

    def test_help(self):
        text = self.done("--help")
        for option in ("--device", "--worlds", "--bodies", "--steps", "--seed", "--threads", "--in-order", "--check",
                       "--compare", "--rounds", "--timeline", "--picture"):
            self.assertIn(f"  {option} ", text)

    def test_refused(self):
        self.refused("unknown argument '--speed'", "--speed", "3")
        self.refused("unknown argument 'fast'", "fast")
        self.refused("--worlds needs a value", "--worlds")
        for option, greatest in (("--worlds", 4096), ("--bodies", 128), ("--steps", 100000), ("--threads", 64),
                                 ("--rounds", 1000)):
            for value in ("0", str(greatest + 1), "x", "3x", "", "99999999999999999999"):
                self.refused(f"{option} must be a number from 1 to {greatest}, not '{value}'", option, value)
        self.refused("--seed must be a number from 0", "--seed", "-1")
        self.refused("ends in .svg", "--picture", "world.png")
        for name in ("timeline.txt", "timeline.html"):
            self.refused(f"ends in .json, not '{name}'", "--timeline", name)
        self.refused("quantum", "--device", "quantum")
        self.refused("No such file", "--device", "sim:/no/such/profile", code=1)

    def test_cannot_write(self):
        self.refused("cannot write", *SMALL, "--picture", self.path("no/folder.svg"), code=1)
        self.refused("no/folder.json", *SMALL, "--timeline", self.path("no/folder.json"), code=1)

    def test_numbers(self):
        lines = self.done(*SMALL, "--check", "--compare", "--rounds", "1").splitlines()
        self.assertEqual(lines[0], "cpu:1: 2 worlds of 8 bodies, 10 steps")
        self.assertRegex(lines[1], r"^\d+ steps of a world per second")
        self.assertRegex(lines[2], r"^per step, least / median / greatest: tasks \d+ / \d+ / \d+, islands \d+ / \d+ / \d+; "
                                   r"at most \d+ bodies in one$")
        self.assertRegex(lines[3], r"^tasks per task of the longest chain: \d+\.\d$")
        self.assertIn("out of order and in order: the same bits", lines)
        self.assertEqual([line.split("  ")[0] for line in lines[-2:]], ["in order", "out of order"])

    def test_seed(self):
        first, again = (self.done(*SMALL, "--seed", "4").splitlines()[2:] for _ in range(2))
        self.assertEqual(first, again)
        self.assertNotEqual(first, self.done(*SMALL, "--seed", "5").splitlines()[2:])

    def test_files(self):
        picture, timeline = self.path("world.svg"), self.path("run.json")
        self.done(*SMALL, "--picture", picture, "--timeline", timeline)
        root = xml.etree.ElementTree.parse(picture).getroot()
        self.assertEqual(len(list(root.iter(SVG + "circle"))), 6 * 8)
        texts = [element.text.split(":")[0] for element in root.iter(SVG + "text")]
        self.assertEqual(texts, [f"step {step}" for step in (0, 2, 4, 6, 8, 10)])
        with open(timeline, encoding="utf-8") as file:
            names = json.dumps(json.load(file))
        for name in ("drive", "island of ", "observe"):
            self.assertIn(name, names)


if __name__ == "__main__":
    unittest.main()
