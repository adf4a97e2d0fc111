# SPDX-License-Identifier: Apache-2.0
"""test_program.py PROGRAM [WEIR] [--way NAME]...: weir-bench-pipeline with tiny numbers, its bad usage, and `weir bench pipeline`.
Never a time."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

PROGRAM = sys.argv[1]
WEIR = sys.argv[2] if len(sys.argv) > 2 and not sys.argv[2].startswith("--") else None
WAYS = sys.argv[3 if WEIR else 2:]
del sys.argv[1:]
WORKLOADS = ("sobel", "sssp", "knn")


def run(*arguments, program=PROGRAM):
    return subprocess.run([program, *arguments], capture_output=True, text=True, check=False, timeout=250)


class Program(unittest.TestCase):
    def run_well(self, *arguments):
        done = run(*arguments, *WAYS)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def test_jobs(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "jobs.json")
            text = self.run_well("--part", "jobs", "--tokens", "5", "--rounds", "2", "--size", "10us", "--lines", "3", "--json", path)
            with open(path, encoding="utf-8") as file:
                written = json.load(file)
        self.assertEqual((written["device"], written["lines"], written["workers"]), ("cpu:2", 3, 2))
        rows = [row for row in written["results"] if row["unit"] == "us/job"]
        for way in ("weir", "weir, tasks"):
            self.assertEqual({row["case"] for row in rows if row["way"] == way}, {f"{name} 10us" for name in WORKLOADS})
        for row in rows:
            self.assertEqual((row["part"], row["runs"]), ("jobs", 2))
            self.assertTrue(0 < row["min"] <= row["median"] <= row["max"], row)
        for name in WORKLOADS:
            self.assertIn(f"\n{name} 10us: a job alone: kernels", text)
        for missing in written["missing"]:
            self.assertTrue(missing["why"], missing)
            self.assertIn(f"not run: {missing['way']}: {missing['why']}\n", text)

    def test_latency(self):
        lines = self.run_well("--part", "latency", "--workload", "sobel", "--size", "10us", "--tokens", "20", "--rounds", "1",
                              "--rate", "2000", "--samples").splitlines()
        rows = [json.loads(line) for line in lines]
        units = {row["unit"] for row in rows if row.get("runtime") == "weir"}
        self.assertEqual(units, {"us median", "us 99 %"})
        text = self.run_well("--part", "latency", "--workload", "knn", "--size", "10us", "--tokens", "20", "--rounds", "1",
                             "--load", "0.5")
        self.assertRegex(text, r"knn 10us: \d+ jobs/s, 0.5 of what .* reached; 20 jobs a round\n")

    def test_one_line(self):
        text = self.run_well("--part", "jobs", "--workload", "sssp", "--size", "10us", "--tokens", "3", "--rounds", "1", "--lines",
                             "1", "--workers", "1", "--device", "cpu:1")
        self.assertIn("Jobs on cpu:1: 1 lines, 1 workers", text)

    def test_bad_usage(self):
        for text, code, *arguments in (
                ("--lines: '0' is not a number from 1 to 62", 2, "--lines", "0"),
                ("--lines: '-1' is not a number from 1 to 62", 2, "--lines", "-1"),
                ("--tokens: 'many' is not a number from 1", 2, "--tokens", "many"),
                ("--rounds: '102' is not a number from 1 to 101", 2, "--rounds", "102"),
                ("--workload: 'sort' is not one of 'sobel', 'sssp'", 2, "--workload", "sort"),
                ("--size: '10' is not one of '10us', '100us', '1ms'", 2, "--size", "10"),
                ("--part: 'job' is not one of 'stages', 'jobs', 'latency'", 2, "--part", "job"),
                ("--way: 'luck' is not one of 'weir', 'weir, tasks'", 2, "--way", "luck"),
                ("--load: '0' is not a number above 0, up to 2", 2, "--load", "0"),
                ("--rate: '' is not a number above 0", 2, "--rate", ""),
                ("--json needs a value", 2, "--json"),
                ("there is no option '--frob'", 2, "--frob"),
                ("toaster", 2, "--part", "jobs", "--device", "toaster")):
            with self.subTest(arguments=arguments):
                done = run(*arguments)
                self.assertEqual(done.returncode, code, done)
                self.assertIn(text, done.stderr)
        done = run("--part", "stages", "--quick", "--rounds", "1", "--row", "1", "--json", "/nowhere/at/all.json")
        self.assertEqual(done.returncode, 1)
        self.assertIn("/nowhere/at/all.json: No such file", done.stderr)

    def test_help(self):
        done = run("--help")
        self.assertEqual(done.returncode, 0)
        for name in (*WORKLOADS, "weir, tasks", "--part", "--json"):
            self.assertIn(name, done.stdout)

    @unittest.skipUnless(WEIR, "no weir command")
    def test_weir_bench(self):
        done = run("bench", "pipeline", "--quick", "--json", program=WEIR)
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = json.loads(done.stdout)
        found = {(row["case"], row["unit"]) for row in rows if row["runtime"] == "weir"}
        for name in WORKLOADS:
            self.assertLessEqual({(f"{name} 10us", unit) for unit in ("us/job", "us median", "us 99 %")}, found)
        self.assertIn(("empty, all serial", "ns/stage"), found)
        for row in rows:
            self.assertEqual((row["bench"], row["runs"]), ("pipeline", 1))


if __name__ == "__main__":
    unittest.main()
