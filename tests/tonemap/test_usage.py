#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_usage.py TONEMAP IMAGES: the command line of the tone mapping example, and the files that it writes."""
import os
import struct
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree
import zlib

IMAGES = sys.argv.pop()
TONEMAP = sys.argv.pop()
CITY = os.path.join(IMAGES, "city.exr")
SMALL = ("--crop", "140x20", "--radius", "3")


def run(*arguments):
    return subprocess.run([TONEMAP, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def read(path):
    with open(path, "rb") as file:
        return file.read()


def png_size(png):
    """Width and height of a PNG file; fails unless its pixels are all there."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n", png[:8]
    width, height, depth, color = struct.unpack(">IIBB", png[16:26])
    assert (depth, color) == (8, 2)
    at, pixels = 8, b""
    while at < len(png):
        length, kind = struct.unpack(">I4s", png[at:at + 8])
        if kind == b"IDAT":
            pixels += png[at + 8:at + 8 + length]
        at += length + 12
    assert len(zlib.decompress(pixels)) == height * (1 + 3 * width)
    return width, height


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
        self.assertEqual(result.stdout, "")

    def done(self, *arguments):
        result = run(*arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stderr, "")
        return result.stdout

    def test_output_that_cannot_be_written(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            result = subprocess.run([TONEMAP, "--devices", "cpu:1", *SMALL, CITY], stdout=full, stderr=subprocess.PIPE, text=True)
        self.assertEqual((result.returncode, result.stderr), (1, "tonemap: cannot write to standard output\n"))

    def test_help(self):
        text = self.done("--help")
        for option in ("--operator", "--devices", "--policy", "--shares", "--frames", "--crop", "--radius", "--contrast", "--key",
                       "--white", "--check", "--resident", "--efficiency", "--serial", "--plot"):
            self.assertIn(option, text)

    def test_bad_values(self):
        for value in ("0", "-5", "x", "", "12x", "1001", "99999999999999999999"):
            self.refused(f"--frames must be a number from 1 to 1000, not '{value}'", "--frames", value, CITY)
        self.refused("--radius must be a number from 1 to 32, not '33'", "--radius", "33", CITY)
        for value in ("0", "nan", "inf", "1e9", "2y", ""):
            self.refused("--key must be a number from 0.001 to 100", "--key", value, CITY)
        self.refused("--white must be", "--white", "-1", CITY)
        self.refused("--contrast must be", "--contrast", "0.5", CITY)
        for value in ("", "12", "12x", "x12", "0x5", "5x0", "-3x4", "9000x1", "10x10x10", "99999999999999999999x2"):
            self.refused(f"--crop must be a size such as 320x200, not '{value}'", "--crop", value, CITY)
        for value in ("", ":", "1:", ":1", "0:0", "-1:2", "a", "1:nan", "1,2", ":".join(["1"] * 17)):
            self.refused("--shares must be numbers such as 3:1", "--shares", value, CITY)
        self.refused("--operator must be durand or reinhard, not 'drago'", "--operator", "drago", CITY)
        self.refused("--policy must be static, history, queue, guided, frames or auto, not 'best'", "--policy", "best",
                     CITY)
        self.refused("must end in .svg, not 'plot.png'", "--plot", "plot.png", CITY)

    def test_bad_arguments(self):
        self.refused("no picture was named")
        self.refused("unknown argument '--frob'", "--frob", CITY)
        self.refused("there are two files already", CITY, "a.png", "b.png")
        self.refused("must end in .png, not 'a.jpg'", CITY, "a.jpg")
        self.refused("--radius needs a value", CITY, "--radius")
        self.refused("--serial goes without", "--serial", "--check", CITY)
        self.refused("larger than the picture, 1024x512", "--crop", "1025x10", CITY)
        self.refused("2 shares for 1 devices", "--shares", "1:1", "--devices", "cpu:1", CITY)
        self.refused("quantum", "--devices", "quantum", CITY)

    def test_bad_files(self):
        missing = self.path("missing.exr")
        self.refused(missing, missing, code=1)
        broken = self.path("broken.exr")
        with open(broken, "wb") as file:
            file.write(read(CITY)[:100000])
        self.refused(broken, broken, code=1)
        self.refused(self.folder.name, self.folder.name, code=1)
        result = run(*SMALL, CITY, "/no/such/folder/out.png")
        self.assertEqual(result.returncode, 1)
        self.assertIn("/no/such/folder/out.png", result.stderr)
        result = run(*SMALL, "--plot", "/no/such/folder/plot.svg", CITY)
        self.assertEqual(result.returncode, 1)
        self.assertIn("/no/such/folder/plot.svg", result.stderr)

    @unittest.skipUnless(os.path.exists("/dev/full"), "no /dev/full")
    def test_full_disk(self):
        link = self.path("full.png")
        os.symlink("/dev/full", link)
        result = run(*SMALL, CITY, link)
        self.assertEqual(result.returncode, 1)
        self.assertIn(link, result.stderr)

    def test_same_png(self):
        for operator in ("durand", "reinhard"):
            serial = self.path("serial.png")
            self.done(*SMALL, "--operator", operator, "--serial", CITY, serial)
            self.assertEqual(png_size(read(serial)), (140, 20))
            for devices in ("cpu:1", "cpu:2", "cpu:1,cpu:1", "cpu:1,cpu:2,cpu:1"):
                out = self.path("out.png")
                self.done(*SMALL, "--operator", operator, "--devices", devices, CITY, out)
                self.assertEqual(read(out), read(serial), devices)

    def test_policies(self):
        serial = self.path("serial.png")
        self.done(*SMALL, "--serial", CITY, serial)
        for policy in ("static", "history", "queue", "guided", "frames", "auto"):
            out = self.path("out.png")
            text = self.done(*SMALL, "--policy", policy, "--devices", "cpu:1,cpu:1", CITY, out)
            self.assertIn(f"policy {policy}:", text)
            self.assertEqual(read(out), read(serial), policy)
        text = self.done(*SMALL, "--shares", "1:0", "--devices", "cpu:1,cpu:1", CITY)
        self.assertRegex(text, " 100.0 % .* 0.0 % ")
        text = self.done(*SMALL, "--shares", "1:3", "--devices", "cpu:1,cpu:1", CITY)
        self.assertRegex(text, " 25.0 % .* 75.0 % ")
        self.assertIn("policy static:", text)

    def test_efficiency(self):
        text = self.done(*SMALL, "--frames", "3", "--efficiency", "--devices", "cpu:1,cpu:1", CITY)
        number = r"\d+\.\d+"
        alone = f"{number} ms \\(median {number}\\)"
        self.assertRegex(text.splitlines()[-1], f"^alone: {alone} {alone}; at the best rates together {number} ms, "
                         f"taken {number} ms: efficiency {number}, by the rates of the moment {number}$")

    def test_resident(self):
        serial, out = self.path("serial.png"), self.path("out.png")
        self.done(*SMALL, "--serial", CITY, serial)
        for policy in ("static", "history", "frames", "auto"):
            self.done(*SMALL, "--policy", policy, "--resident", "--check", "--devices", "cpu:1,cpu:1", CITY, out)
            self.assertEqual(read(out), read(serial), policy)

    def test_frames(self):
        plot = self.path("plot.svg")
        text = self.done(*SMALL, "--frames", "3", "--devices", "cpu:1,cpu:1", "--check", "--plot", plot, CITY,
                         self.path("walk.png"))
        self.done(*SMALL, "--frames", "3", "--serial", CITY, self.path("serial.png"))
        lines = text.splitlines()
        self.assertEqual(lines[0].split(), ["frame", "x", "y", "ms", "cpu:1", "cpu:1"])
        self.assertEqual([line.split()[:3] for line in lines[1:4]],
                         [["1", "0", "0"], ["2", "442", "246"], ["3", "884", "492"]])
        self.assertRegex(lines[4], "^policy auto: [a-z]+: .")
        self.assertEqual(lines[5], "0 of 3 frames differ from the serial reference")
        for frame in range(1, 4):
            self.assertEqual(read(self.path(f"walk-{frame:04}.png")), read(self.path(f"serial-{frame:04}.png")))
        self.assertNotEqual(read(self.path("walk-0001.png")), read(self.path("walk-0003.png")))
        svg = xml.etree.ElementTree.parse(plot).getroot()
        titles = [element.text for element in svg.iter("{http://www.w3.org/2000/svg}title")]
        self.assertEqual([title.split(":")[0] for title in titles], ["frame 1", "frame 2", "frame 3"])


if __name__ == "__main__":
    unittest.main()
