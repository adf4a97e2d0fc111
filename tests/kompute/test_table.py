#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_table.py SOURCE: every row of the tables in docs/guide/kompute.md names a test, and every test that the page names is there
and is run."""
import glob
import os
import re
import sys
import unittest

SOURCE = sys.argv.pop(1)
TEST = re.compile(r"`(test_\w+\.(?:c|py)):(\w+)`")


def read(*path):
    with open(os.path.join(SOURCE, *path), encoding="utf-8") as text:
        return text.read()


def tables():
    """The rows of tables whose last column is called test, as lists of cells."""
    rows, inside = [], False
    for line in read("docs", "guide", "kompute.md").splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split(" | ")] if line.startswith("|") else []
        if not cells:
            inside = False
        elif cells[-1] == "test":
            inside = True
        elif inside and not line.startswith("|---"):
            rows.append(cells)
    return rows


class Table(unittest.TestCase):
    def test_rows(self):
        rows = tables()
        self.assertGreater(len(rows), 80)
        for cells in rows:
            self.assertEqual(len(cells), 3, cells)
            self.assertTrue(all(cells[:2]), cells)
            self.assertRegex(cells[2], f"^{TEST.pattern}$", cells)

    def test_sections(self):
        section = read("docs", "guide", "kompute.md").split("## What Kompute gets wrong or lacks")[1]
        parts = re.findall(r"^\*\*.*?(?=^\*\*|\Z)", section, re.DOTALL | re.MULTILINE)
        self.assertGreater(len(parts), 5)
        for part in parts:
            self.assertRegex(part, TEST, part)

    def test_tests_exist(self):
        for file, name in set(TEST.findall(read("docs", "guide", "kompute.md"))):
            paths = glob.glob(os.path.join(SOURCE, "tests", "**", file), recursive=True)
            self.assertEqual(len(paths), 1, file)
            code = read(paths[0])
            if file.endswith(".py"):
                self.assertRegex(code, rf"def {name}\(self", f"{file} has no {name}")
                continue
            self.assertRegex(code, rf"static void {name}\(void \*\*state\)", f"{file} has no {name}")
            self.assertRegex(code, rf"(?:TEST|cmocka_unit_test\w*)\({name}\b", f"{file} does not run {name}")

    def test_nothing_is_left_out(self):
        named = set(TEST.findall(read("docs", "guide", "kompute.md")))
        for path in glob.glob(os.path.join(SOURCE, "tests", "kompute", "test_kompute_*.c")):
            for name in re.findall(r"KOMPUTE_TEST\((\w+)\)", read(path)):
                self.assertIn((os.path.basename(path), name), named)


if __name__ == "__main__":
    unittest.main()
