#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_results.py SUITE: the suite's runner sees every way in which a test can pass, fail and be skipped. The tests are
a ctest file of its own, which the real ctest runs."""
import contextlib
import io
import os
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

sys.path.insert(0, sys.argv.pop(1))
import ctest_results  # noqa: E402
import run_suite  # noqa: E402
import turns  # noqa: E402

TESTS = r"""
add_test(passes "sh" "-c" "echo fine")
add_test(fails "sh" "-c" "exit 3")
add_test(crashes "sh" "-c" "kill -SEGV $$")
add_test(skips "sh" "-c" "echo 'there is no card'; exit 77")
set_tests_properties(skips PROPERTIES SKIP_RETURN_CODE 77)
add_test(hangs "sleep" "60")
set_tests_properties(hangs PROPERTIES TIMEOUT 1)
add_test(missing "no-such-program")
add_test(disabled "sh" "-c" "exit 0")
set_tests_properties(disabled PROPERTIES DISABLED TRUE)
add_test(skips_inside "sh" "-c" "echo '[  SKIPPED ] test_card'; echo '[  PASSED  ] 1 test(s).'")
add_test(example "sh" "-c" "exit 0")
set_tests_properties(example PROPERTIES LABELS example)
"""


class Results(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        with open(os.path.join(cls.folder.name, "CTestTestfile.cmake"), "w", encoding="utf-8") as tests:
            tests.write(TESTS)
        report = os.path.join(cls.folder.name, "report.xml")
        subprocess.run(["ctest", "--test-dir", cls.folder.name, "--output-junit", report, "-j4"], check=False,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        cls.results = ctest_results.read(report)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def names(self, status):
        return sorted(result.name for result in self.results if result.status == status)

    def test_statuses(self):
        self.assertEqual(self.names("passed"), ["example", "passes", "skips_inside"])
        self.assertEqual(self.names("failed"), ["crashes", "disabled", "fails", "hangs", "missing"])
        self.assertEqual(self.names("skipped"), ["skips", "skips_inside:test_card"])

    def test_reason_of_a_skip(self):
        self.assertEqual([result.reason for result in self.results if result.name == "skips"], ["there is no card"])

    def test_turns(self):
        """One column of each line is run, and each column has its turn with some seed."""
        lines = turns.read("# comment\nasan tsan: a b | c | d\nrelease: e++ | f\n")
        self.assertEqual(lines, [(["asan", "tsan"], [["a", "b"], ["c"], ["d"]]), (["release"], [["e++"], ["f"]])])
        for stage, choices in (("asan", {("c", "d"), ("a", "b", "d"), ("a", "b", "c")}), ("release", {("e++",), ("f",)}), ("full", {()})):
            found = {tuple(turns.left_out(stage, minute * run_suite.SEED_STEP, lines)) for minute in range(40)}
            self.assertEqual(found, choices)
        for minute in range(40):  # stages of a line do not do the same
            asan, tsan = (turns.left_out(stage, minute * run_suite.SEED_STEP, lines) for stage in ("asan", "tsan"))
            self.assertNotEqual(asan, tsan)

    def test_left_out(self):
        """ctest leaves out just the tests that wait for their turn."""
        pattern = "^(" + "|".join(map(turns.re.escape, ["passes", "skips", "example"])) + ")$"
        listed = subprocess.run(["ctest", "--test-dir", self.folder.name, "-N", "-E", pattern], check=True, stdout=subprocess.PIPE,
                                text=True).stdout
        self.assertNotRegex(listed, r": (passes|skips|example)\n")
        self.assertRegex(listed, r": skips_inside\n")
        with open(turns.PATH, encoding="utf-8") as text:
            lines = turns.read(text.read())
        for stage in run_suite.STAGES:  # a test has one turn
            names = [name for stages, columns in lines if stage in stages for column in columns for name in column]
            self.assertEqual(len(names), len(set(names)), stage)
        self.assertLessEqual({stage for stages, _ in lines for stage in stages}, set(run_suite.SHORT))

    def test_builds(self):
        """One after the other, a failed one says so, and the next ones are built all the same."""
        done = []

        def run(command, stdout, **_):
            self.assertEqual(command[0], "nice")
            done.append((command[-1], "--build" in command))
            stdout.write(f"output of {command[-1]}\n")
            return subprocess.CompletedProcess(command, 1 if command[-1] == "wrong" else 0)

        shown = io.StringIO()
        with mock.patch.object(run_suite.subprocess, "run", run), mock.patch.object(run_suite, "ROOT", self.folder.name):
            builder = run_suite.Builder(["release", "wrong", "asan"])
            self.assertEqual(builder.folder("asan"), os.path.join(self.folder.name, "build-asan"))
            self.assertEqual(builder.folder("release"), os.path.join(self.folder.name, "build"))
            with self.assertRaisesRegex(run_suite.Failure, "the build 'wrong' failed"), contextlib.redirect_stdout(shown):
                builder.folder("wrong")
            builder.stop()
        self.assertEqual(shown.getvalue(), "output of wrong\n")
        self.assertEqual(done, [("release", False), ("release", True), ("wrong", False), ("asan", False), ("asan", True)])

    def test_label(self):
        self.assertEqual(ctest_results.commands(self.folder.name, "example"), [("example", self.command_of_example())])

    @staticmethod
    def command_of_example():
        return [subprocess.run(["sh", "-c", "command -v sh"], stdout=subprocess.PIPE, text=True).stdout.strip(), "-c",
                "exit 0"]

    def test_skips_fail_when_strict(self):
        for strict, allowed, failed in ((False, set(), 5), (True, set(), 7), (True, {"skips"}, 6)):
            tally = run_suite.Tally()
            tally.add("stage", self.results, allowed, strict)
            self.assertEqual((tally.passed, len(tally.failed), len(tally.skipped)), (3, failed, 7 - failed))

    def test_list_of_allowed_skips(self):
        path = os.path.join(self.folder.name, "allowed.txt")
        with open(path, "w", encoding="utf-8") as text:
            text.write("# nothing\n\ngpu_test: CI has no card\nprogram:case: why\n")
        self.assertEqual(ctest_results.read_allowed_skips(path), {"gpu_test", "program:case"})
        with open(path, "w", encoding="utf-8") as text:
            text.write("gpu_test\n")
        with self.assertRaisesRegex(ValueError, "allowed.txt:1"):
            ctest_results.read_allowed_skips(path)


if __name__ == "__main__":
    unittest.main()
