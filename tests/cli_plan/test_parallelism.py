# SPDX-License-Identifier: Apache-2.0
"""Tests of `weir bench parallelism` and of its page: test_parallelism.py WEIR, run in the root of the project."""
import json
import subprocess
import sys
import unittest

WEIR = sys.argv.pop(1)
WINDOWS = [8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096]


def output_of(*command, text=None):
    return subprocess.run(command, input=text, capture_output=True, text=True, timeout=300, check=True).stdout


class Parallelism(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.text = output_of(WEIR, "bench", "parallelism", "--json")
        cls.rows = {(row["case"], row["runtime"]): row for row in json.loads(cls.text)}

    def test_rows_are_complete(self):
        rows = dict(self.rows)
        names = {case.rpartition(" window ")[0] for case, _ in rows}
        self.assertGreaterEqual(len(names), 9)
        for name in names:
            for runtime in ("by address", "by buffer"):
                values = []
                for window in WINDOWS:
                    row = rows.pop((f"{name} window {window}", runtime))
                    self.assertEqual((row["bench"], row["unit"], row["runs"]), ("parallelism", "x", 1))
                    self.assertTrue(row["min"] == row["median"] == row["max"] >= 1)
                    values.append(row["median"])
                self.assertEqual(values, sorted(values), "a larger window never hurts")
        self.assertEqual(rows, {})

    def test_rows_are_those_of_plan(self):
        for window in (8, 32, 4096):
            for hazards in ("address", "buffer"):
                path = "examples/streams/nasnetalarge.jsonl"
                plan, = json.loads(output_of(WEIR, "plan", "--json", "--hazards", hazards, "--window", str(window), path))
                row = self.rows[f"nasnetalarge window {window}", f"by {hazards}"]
                self.assertAlmostEqual(row["median"], plan["parallelism"], delta=0.001)

    def test_page_has_these_numbers(self):
        table = output_of(sys.executable, "docs/plots/parallelism.py", "--table", text=self.text)
        with open("docs/guide/parallelism.md", encoding="utf-8") as file:
            self.assertIn(table, file.read(), "docs/guide/parallelism.md says how to make its table anew")


if __name__ == "__main__":
    unittest.main()
