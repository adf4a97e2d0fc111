#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_readme.py SOURCE: the README shows quickstart.c as it is, its other code compiles, and pages name only files that are
there."""
import glob
import os
import re
import subprocess
import sys
import unittest

SOURCE = sys.argv.pop(1)


def read(*path):
    with open(os.path.join(SOURCE, *path), encoding="utf-8") as text:
        return text.read()


class Readme(unittest.TestCase):
    def test_quickstart(self):
        code = re.search(r"```c\n(.*?)```", read("README.md"), re.DOTALL).group(1)
        self.assertIn(code.strip(), read("examples", "quickstart.c"))

    def test_cuda(self):
        code = re.findall(r"```c\n(.*?)```", read("README.md"), re.DOTALL)[1]
        program = ("#include <weir/cuda.h>\n"
                   "void program(weir_context *context, weir_kernel *kernel, weir_buffer *x, float by, uint32_t count);\n"
                   "void program(weir_context *context, weir_kernel *kernel, weir_buffer *x, float by, uint32_t count) {\n"
                   f"{code}}}\n")
        command = [os.environ.get("CC", "cc"), "-std=c11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-x", "c",
                   "-I", os.path.join(SOURCE, "include"), "-"]
        result = subprocess.run(command, input=program, text=True, stderr=subprocess.PIPE)
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_links(self):
        pages = glob.glob("*.md", root_dir=SOURCE) + glob.glob("docs/**/*.md", root_dir=SOURCE, recursive=True)
        self.assertIn("docs/inside/architecture.md", pages)
        for page in pages:
            for target in re.findall(r"\]\(([^)#]+)\)", read(page)):
                if "://" not in target:
                    path = os.path.join(SOURCE, os.path.dirname(page), target)
                    self.assertTrue(os.path.exists(path), f"{page}: {target} is not there")


if __name__ == "__main__":
    unittest.main()
