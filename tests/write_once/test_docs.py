#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_docs.py CC SOURCE: the kernel in docs/kernels.md compiles as it is, without a warning."""
import os
import re
import subprocess
import sys
import unittest

CC, SOURCE = sys.argv[1:3]
del sys.argv[1:3]


class Docs(unittest.TestCase):
    def test_example(self):
        with open(os.path.join(SOURCE, "docs", "kernels.md"), encoding="utf-8") as page:
            code = re.search(r"```c\n(.*?)```", page.read(), re.DOTALL).group(1)
        self.assertIn("WEIR_KERNEL(", code)
        result = subprocess.run([CC, "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror",
                                 "-fsyntax-only", "-I", os.path.join(SOURCE, "include"), "-x", "c", "-"],
                                input=code, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.assertEqual(result.returncode, 0, result.stdout)


if __name__ == "__main__":
    unittest.main()
