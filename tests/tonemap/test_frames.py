#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_frames.py TONEMAP FRAMES IMAGES [DEVICES]: tone mapping of sequences as a pipeline. With DEVICES, such as opencl: on these only;
exit code 77: they are not there."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

DEVICES = sys.argv.pop() if len(sys.argv) == 5 else None
IMAGES = sys.argv.pop()
FRAMES = sys.argv.pop()
TONEMAP = sys.argv.pop()
PICTURES = [os.path.join(IMAGES, name) for name in ("city.exr", "forest.exr", "studio.exr")]
SIZE = ("--crop", "140x20", "--radius", "3")
SMALL = (*SIZE, "--rounds", "1")


def run(*arguments, program=FRAMES):
    return subprocess.run([program, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=200)


def read(path):
    with open(path, "rb") as file:
        return file.read()


class Frames(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def done(self, *arguments, program=FRAMES):
        result = run(*arguments, program=program)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stderr, "")
        return result.stdout

    def refused(self, text, *arguments, code=2):
        result = run(*arguments)
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertIn(text, result.stderr)
        self.assertEqual(result.stdout, "")
        return result

    def test_bytes(self):
        """Every frame is the file that the serial program writes, whatever the devices and lines."""
        expected = {}
        for operator in ("durand", "reinhard"):
            for picture in PICTURES[:2]:
                self.done(*SIZE, "--operator", operator, "--frames", "5", "--serial", picture, self.path("serial.png"), program=TONEMAP)
                for frame in range(1, 6):
                    expected[operator, picture, frame] = read(self.path(f"serial-{frame:04}.png"))
        for devices, lines in [(DEVICES, 3)] if DEVICES else (("cpu:1", 1), ("cpu:2", 62), ("cpu:1,cpu:2,cpu:1", 4)):
            for operator in ("durand", "reinhard")[:2 if lines < 5 else 1]:
                with self.subTest(devices=devices, operator=operator):
                    out = self.path("out.png")
                    text = self.done(*SMALL, "--operator", operator, "--frames", "5", "--devices", devices, "--lines", str(lines), "--check",
                                     "--out", out, *PICTURES[:2])
                    self.assertIn("all frames are those of the serial reference", text)
                    for frame in range(1, 6):
                        png = read(self.path(f"out-{frame:04}.png"))
                        self.assertEqual(png, expected[operator, PICTURES[(frame - 1) % 2], frame], frame)

    def test_output(self):
        text = self.done(*SMALL, "--rounds", "2", "--frames", "6", "--devices", DEVICES or "cpu:1,cpu:1", "--lines", "2", *PICTURES)
        lines = text.splitlines()
        self.assertEqual(lines[0], "6 frames of 140x20, durand, median of 2 rounds")
        self.assertEqual(lines[2].split(), ["frames/s", "least", "most", "latency", "ms"])
        self.assertRegex(lines[3], r"^one at a time( +\d+\.\d+){4}$")
        self.assertRegex(lines[4], r"^2 lines( +\d+\.\d+){4}$")
        self.assertRegex(lines[6], r"^\d+\.\d\d times as many$")
        devices = lines[8].removeprefix("devices: ").split(", ")
        self.assertEqual(sum(int(device.split()[0]) for device in devices), 6)

    @unittest.skipIf(DEVICES, "of all devices")
    def test_one_frame(self):
        self.done(*SMALL, "--frames", "1", "--lines", "9", "--check", "--out", self.path("one.png"), PICTURES[0])
        self.assertEqual(os.listdir(self.folder.name), ["one.png"])

    def test_timeline(self):
        path = self.path("frames.json")
        self.done(*SMALL, "--frames", "6", "--devices", DEVICES or "cpu:2", "--lines", "3", "--timeline", path, *PICTURES)
        with open(path) as file:
            tasks = [event for event in json.load(file)["traceEvents"] if event.get("cat") == "task"]
        for frame in range(6):
            names = [task["name"] for task in tasks if task["args"].get("tag", 0) == frame]
            for step in ("logarithms", "filter", "common", "result"):
                self.assertEqual(names.count(step), 1, (frame, names))
        self.done(*SMALL, "--frames", "2", "--devices", DEVICES or "cpu:2", "--timeline", path, PICTURES[0])
        self.assertTrue(b"Frames through a pipeline" in read(path))

    @unittest.skipIf(DEVICES, "of all devices")
    def test_a_frame_that_fails(self):
        """It does not stop the others, and its number is said."""
        broken = self.path("broken.exr")
        with open(broken, "wb") as file:
            file.write(read(PICTURES[0])[:100000])
        for bad in (broken, self.path("missing.exr")):
            result = self.refused(bad, *SMALL, "--frames", "5", "--out", self.path("out.png"), PICTURES[0], PICTURES[1], bad, code=1)
            self.assertIn("tonemap: frame 3: stage 1 'decode': " + bad, result.stderr)
            self.assertNotIn("frame 4", result.stderr)
            self.assertEqual(sorted(name for name in os.listdir(self.folder.name) if name.startswith("out")),
                             [f"out-{frame:04}.png" for frame in (1, 2, 4, 5)])
        self.refused(broken, *SMALL, broken, code=1)
        self.refused("/no/such/folder", *SMALL, "--frames", "2", "--out", "/no/such/folder/out.png", PICTURES[0], code=1)
        result = run(*SMALL, "--frames", "2", "--timeline", "/no/such/folder/t.json", PICTURES[0])
        self.assertEqual(result.returncode, 1)
        self.assertIn("/no/such/folder/t.json", result.stderr)

    @unittest.skipIf(DEVICES, "of all devices")
    def test_refusals(self):
        for text, *options in (("--frames must be a number from 1 to 1000, not '0'", "--frames", "0"),
                               ("--lines must be a number from 1 to 62, not '63'", "--lines", "63"),
                               ("--lines must be a number from 1 to 62, not '0'", "--lines", "0"),
                               ("--rounds must be a number from 1 to 1000, not 'x'", "--rounds", "x"),
                               ("--crop must be a size such as 320x200, not '12'", "--crop", "12"),
                               ("--crop is larger than the first picture, 1024x512", "--crop", "1025x10"),
                               ("--radius must be a number from 1 to 32, not '33'", "--radius", "33"),
                               ("--operator must be durand or reinhard, not 'drago'", "--operator", "drago"),
                               ("must end in .png, not 'a.jpg'", "--out", "a.jpg"),
                               ("must end in .json, not 'a.svg'", "--timeline", "a.svg"), ("must end in .json, not 'a.html'", "--timeline", "a.html"),
                               ("unknown argument '--frob'", "--frob"), ("--lines needs a value", "--lines"),
                               ("quantum", "--devices", "quantum"), ("more than 16 devices", "--devices", "cpu:1," * 16 + "cpu:1")):
            with self.subTest(options=options):
                self.refused(text, PICTURES[0], *options)
        self.refused("no picture was named")
        self.refused("no code for device sim", *SMALL, "--frames", "1", "--devices", "sim", PICTURES[0], code=1)
        help_text = self.done("--help")
        for option in ("--frames", "--crop", "--lines", "--devices", "--out", "--check", "--rounds", "--timeline", "--operator", "--radius",
                       "--contrast", "--key", "--white"):
            self.assertIn(option, help_text)


if __name__ == "__main__":
    if DEVICES:
        probe = run(*SMALL, "--frames", "1", "--devices", DEVICES, PICTURES[0])
        if probe.returncode == 3:
            print(probe.stderr)
            sys.exit(77)
    unittest.main()
