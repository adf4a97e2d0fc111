#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_output.py PICTURE PROGRAM...: examples whose standard output is full do not end as if all was well."""
import os
import subprocess
import sys
import tempfile
import unittest

PICTURE, *PROGRAMS = sys.argv[1:]
ARGUMENTS = {"quicksort": ["1000"], "tonemap-frames": ["--crop", "64x48", "--frames", "3", "--rounds", "1", PICTURE]}


class Output(unittest.TestCase):
    def run_in(self, folder, program, out):
        arguments = ARGUMENTS.get(os.path.basename(program), [])
        return subprocess.run([program, *arguments], cwd=folder, stdout=out, stderr=subprocess.PIPE, text=True)

    def test_output_that_cannot_be_written(self):
        for program in PROGRAMS:
            with self.subTest(program=program), tempfile.TemporaryDirectory() as folder:
                done = self.run_in(folder, program, subprocess.PIPE)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertNotEqual(done.stdout, "")
                with open("/dev/full", "w", encoding="utf-8") as full:
                    done = self.run_in(folder, program, full)
                self.assertEqual(done.returncode, 1, done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
