#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_command.py WEIR STREAMS: `weir info` and `weir replay` on OpenCL devices. Exit code 77: there is none."""
import json
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from command import WEIR, CommandTest, stream  # noqa: E402


class Command(CommandTest):
    def opencl(self):
        devices = json.loads(self.weir("info", "--json").stdout)["devices"]
        return next(device for device in devices if device["kind"] == "opencl")

    def test_info(self):
        found = self.opencl()
        self.assertIs(found["available"], True)
        self.assertRegex(found["text"], r"^opencl:0 .+ compute unit")
        self.assertIn(found["text"], self.weir("info").stdout)

    def test_no_loader(self):
        os.environ["WEIR_OPENCL_LOADER"] = "/nonexistent/loader.so"
        try:
            found = self.opencl()
        finally:
            del os.environ["WEIR_OPENCL_LOADER"]
        self.assertIs(found["available"], False)
        self.assertIn("no OpenCL loader: /nonexistent/loader.so", found["text"])

    def test_replay(self):
        for device in ("opencl", "opencl:0/1.0"):
            for issue in ("auto", "graph", "serial"):
                result = self.replay("--device", device, "--issue", issue, "--repeat", "2", "--time-scale", "0.1",
                                     "--check", stream("squeezenet"))[0]
                self.assertEqual(result["device"], "opencl:0" if device == "opencl" else device)
                self.assertIs(result["checked"], True)

    def test_pipeline(self):
        for issue in ("queues", "auto"):
            result = self.replay("--device", "opencl", "--pipeline", "3", "--repeat", "6", "--rounds", "1", "--issue", issue,
                                 "--time-scale", "0.1", "--check", stream("squeezenet"))[0]
            self.assertIs(result["checked"], True)


def skip_without_device():
    """Exits 77 where there is no OpenCL device."""
    devices = json.loads(subprocess.run([WEIR, "info", "--json"], stdout=subprocess.PIPE, text=True).stdout)["devices"]
    found = next(device for device in devices if device["kind"] == "opencl")
    if not found["available"]:
        print(found["text"])
        sys.exit(77)


if __name__ == "__main__":
    skip_without_device()
    unittest.main()
