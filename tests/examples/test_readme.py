#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_readme.py SOURCE: the README shows quickstart.c as it is, and pages name only files that are there."""
import glob
import os
import re
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
