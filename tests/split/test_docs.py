#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_docs.py CC SOURCE LIBRARY: the code in docs/splitting.md compiles without a warning, and its first program prints what
the page says."""
import os
import re
import subprocess
import sys
import tempfile
import unittest

CC, SOURCE, LIBRARY = sys.argv[1:4]
del sys.argv[1:4]
FLAGS = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror", "-I",
         os.path.join(SOURCE, "include"), "-x", "c", "-"]


def page():
    with open(os.path.join(SOURCE, "docs", "splitting.md"), encoding="utf-8") as text:
        return text.read()


class Docs(unittest.TestCase):
    def compile(self, code, *more):
        result = subprocess.run([CC, *FLAGS, *more], input=code, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                text=True)
        self.assertEqual(result.returncode, 0, result.stdout)

    def test_code(self):
        codes = re.findall(r"```c\n(.*?)```", page(), re.DOTALL)
        self.assertEqual(len(codes), 2)
        for code in codes:
            self.compile(code, "-fsyntax-only")

    def test_program(self):
        code = re.search(r"```c\n(.*?)```", page(), re.DOTALL).group(1)
        with tempfile.TemporaryDirectory() as folder:
            program = os.path.join(folder, "page")
            self.compile(code, "-o", program, "-L", os.path.dirname(LIBRARY), "-lweir",
                         "-Wl,-rpath," + os.path.dirname(LIBRARY))
            printed = subprocess.run([program], stdout=subprocess.PIPE, text=True, check=True).stdout
        self.assertEqual(printed, re.search(r"It prints\n\n```\n(.*?)```", page(), re.DOTALL).group(1))


if __name__ == "__main__":
    unittest.main()
