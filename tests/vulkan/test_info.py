#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_info.py WEIR STREAMS: what `weir info` says of Vulkan devices and their families of queues."""
import json
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from command import CommandTest  # noqa: E402


class Info(CommandTest):
    def vulkan(self):
        devices = json.loads(self.weir("info", "--json").stdout)["devices"]
        return next(device for device in devices if device["kind"] == "vulkan")

    def test_devices_and_families(self):
        found = self.vulkan()
        if not found["available"]:
            self.skipTest(found["text"])
        text = self.weir("info").stdout
        self.assertTrue(found["devices"])
        for index, device in enumerate(found["devices"]):
            for key in ("name", "driver", "type"):
                self.assertIn(device[key], text)
            self.assertRegex(device["api"], r"^1\.\d+\.\d+$")
            self.assertIn(device["api"], text)
            self.assertIn(device["type"], ("discrete", "integrated", "virtual", "cpu", "other"))
            self.assertGreater(device["device_bytes"] + device["host_bytes"], 0)
            self.assertEqual([family["index"] for family in device["families"]], list(range(len(device["families"]))))
            for family in device["families"]:
                self.assertGreater(family["queues"], 0)
                self.assertLessEqual(family["timestamp_bits"], 64)
                self.assertLessEqual(set(family["flags"]), {"graphics", "compute", "transfer", "sparse"})
                self.assertRegex(text, rf'vulkan:{index} +{family["index"]} +{family["queues"]} ')
            if device["usable"]:
                self.assertTrue(any("compute" in family["flags"] for family in device["families"]))
                self.assertNotIn("reason", device)
            else:
                self.assertTrue(device["reason"])

    def test_no_loader(self):
        os.environ["WEIR_VULKAN_LOADER"] = "/nonexistent/loader.so"
        try:
            found, text = self.vulkan(), self.weir("info").stdout
        finally:
            del os.environ["WEIR_VULKAN_LOADER"]
        self.assertIs(found["available"], False)
        self.assertIn("no Vulkan loader: /nonexistent/loader.so", found["text"])
        self.assertEqual(found["devices"], [])
        self.assertIn(found["text"], text)
        self.assertNotIn("timestamps", text)


if __name__ == "__main__":
    unittest.main()
