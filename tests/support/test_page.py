#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_page.py CC SOURCE PAGE COUNT [LIBRARY [FLAG...]]: the first COUNT pieces of C on a page of the docs compile without a warning.
With the library: the first is a program, linked with the flags, that prints what the page says it prints."""
import os
import re
import subprocess
import sys
import tempfile
import unittest

CC, SOURCE, PAGE, COUNT = sys.argv[1:5]
LIBRARY = sys.argv[5] if len(sys.argv) > 5 else None
LINKED = sys.argv[6:]
del sys.argv[1:]
FLAGS = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror",
         "-Wno-unused-function",  # a piece may show a function that the reader calls
         "-I", os.path.join(SOURCE, "include"), "-x", "c", "-"]


class Page(unittest.TestCase):
    def setUp(self):
        with open(os.path.join(SOURCE, "docs", PAGE), encoding="utf-8") as text:
            self.text = text.read()
        self.codes = re.findall(r"```c\n(.*?)```", self.text, re.DOTALL)[:int(COUNT)]

    def compile(self, code, *more):
        result = subprocess.run([CC, *FLAGS, *more], input=code, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                text=True)
        self.assertEqual(result.returncode, 0, result.stdout)

    def said(self):
        """The lines behind "It prints": a block, or up to the end of the sentence each in backquotes."""
        block = re.search(r"It prints\n\n```\n(.*?)```", self.text, re.DOTALL)
        if block:
            return block.group(1).splitlines()
        return re.findall(r"`(.*?)`", re.search(r"It prints (`.*?`(?: and `.*?`)*)", self.text).group(1))

    def test_code(self):
        self.assertEqual(len(self.codes), int(COUNT))
        for code in self.codes:
            self.compile(code, "-fsyntax-only")

    @unittest.skipIf(LIBRARY is None, "only the code is tested")
    def test_program(self):
        folder = os.path.dirname(LIBRARY)
        with tempfile.TemporaryDirectory() as place:
            program = os.path.join(place, "page")
            self.compile(self.codes[0], "-o", program, "-L", folder, "-lweir", "-Wl,-rpath," + folder, "-x", "none",
                         *LINKED)
            printed = subprocess.run([program], stdout=subprocess.PIPE, text=True, check=True).stdout
        self.assertEqual(printed.splitlines(), self.said())


if __name__ == "__main__":
    unittest.main()
