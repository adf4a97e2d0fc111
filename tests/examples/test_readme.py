#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_readme.py SOURCE [CC]: the README shows quickstart.c as it is, its programs compile
in C and in C++, and pages name only files, and places in pages, that are there."""
import glob
import os
import re
import shutil
import subprocess
import sys
import unittest

SOURCE = sys.argv.pop(1)
CC = sys.argv.pop(1) if len(sys.argv) > 1 else "cc"
FLAGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wno-missing-field-initializers", "-Werror", "-fsyntax-only", "-I",
         os.path.join(SOURCE, "include")]


def read(*path):
    with open(os.path.join(SOURCE, *path), encoding="utf-8") as text:
        return text.read()


def prose(page):
    return re.sub(r"```.*?```", "", read(page), flags=re.DOTALL)


def places(page):
    """What links may name in a page: its headings, as GitHub makes names of them, and <a id="...">."""
    names = [re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in re.findall(r"^#+ (.*)$", prose(page), re.MULTILINE)]
    return set(names + re.findall(r'<a id="([^"]+)">', prose(page)))


class Readme(unittest.TestCase):
    def test_quickstart(self):
        code = re.search(r"```c\n(.*?)```", read("README.md"), re.DOTALL).group(1)
        self.assertIn(code.strip(), read("examples", "quickstart.c"))

    def compile(self, compiler, language, standard, code):
        result = subprocess.run([compiler, f"-std={standard}", *FLAGS, "-x", language, "-"], input=code, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(result.returncode, 0, f"{compiler} {standard}:\n{result.stdout}")

    def test_programs_are_c_and_cplusplus(self):
        programs = [code for code in re.findall(r"```c\n(.*?)```", read("README.md"), re.DOTALL) if "int main(" in code]
        self.assertGreater(len(programs), 0)
        for code in programs:
            self.compile(CC, "c", "c11", code)
            for compiler in filter(shutil.which, ("g++", "clang++")):
                for standard in ("c++17", "c++20"):
                    self.compile(compiler, "c++", standard, code)

    def test_links(self):
        pages = glob.glob("*.md", root_dir=SOURCE)
        for folder in ("bench", "docs", "examples", "python"):
            pages += glob.glob(f"{folder}/**/*.md", root_dir=SOURCE, recursive=True)
        self.assertIn("docs/inside/architecture.md", pages)
        for page in pages:
            for target, place in re.findall(r"\]\(([^)#\s]*)#?([^)\s]*)\)", prose(page)):
                if "://" in target:
                    continue
                path = os.path.normpath(os.path.join(os.path.dirname(page), target)) if target else page
                self.assertTrue(os.path.exists(os.path.join(SOURCE, path)), f"{page}: {target} is not there")
                if place and path.endswith(".md"):
                    self.assertIn(place, places(path), f"{page}: {path} has no such place")


if __name__ == "__main__":
    unittest.main()
