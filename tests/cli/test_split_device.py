#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_split_device.py WEIR STREAMS KIND: `weir split` over the CPU and a device of this kind, which have to agree with plain
loops. Exit code 77: there is no such device."""
import json
import subprocess
import sys
import unittest

KIND = sys.argv.pop(3)

from command import WEIR, CommandTest  # noqa: E402

SPLIT = ("split", "--json", "--devices", f"cpu:1,{KIND}", "--groups", "300")


class SplitDevice(CommandTest):
    def rounds(self, *arguments):
        return json.loads(self.weir(*SPLIT, *arguments).stdout)["policies"][0]["rounds"]

    def test_shares(self):
        for kernel in ("compute", "memory"):
            with self.subTest(kernel=kernel):
                for each in self.rounds("--kernel", kernel, "--rounds", "2", "--policy", "static", "--shares", "1:2"):
                    self.assertEqual([device["groups"] for device in each["devices"]], [100, 200])

    def test_pieces(self):
        for each in self.rounds("--rounds", "3", "--policy", "queue"):
            self.assertEqual(sum(device["groups"] for device in each["devices"]), 300)


if __name__ == "__main__":
    first = subprocess.run([WEIR, *SPLIT, "--rounds", "1"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if first.returncode == 3:
        print(first.stderr.strip())
        sys.exit(77)
    unittest.main()
