#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_validation.py PLANT: the validation layer is really on, sees mistakes, and fails the process that makes one."""
import os
import subprocess
import sys
import unittest

PLANT = os.path.abspath(sys.argv.pop(1))
FAILED, UNAVAILABLE = 86, 3


def plant(mistake, **environment):
    settings = {**os.environ, "WEIR_VULKAN_VALIDATION": "1", "WEIR_CACHE": "", **environment}
    return subprocess.run([PLANT, mistake], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=settings)


class Validation(unittest.TestCase):
    def caught(self, mistake, *texts):
        result = plant(mistake)
        self.assertEqual(result.returncode, FAILED, result.stdout + result.stderr)
        self.assertRegex(result.stderr, r"Vulkan validation: [1-9][0-9]* validation messages\n$")
        for text in texts:
            self.assertIn(text, result.stderr)

    def test_no_mistake(self):
        result = plant("none")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "0 messages\n", ""))

    def test_wrong_call(self):
        self.caught("call", "Vulkan validation: error:", "VUID-vkCmdFillBuffer-dstOffset-00025")

    def test_missing_barrier_between_fills(self):
        self.caught("fills", "SYNC-HAZARD-WRITE-AFTER-WRITE")

    def test_missing_barrier_between_dispatches(self):
        self.caught("dispatches", "SYNC-HAZARD-READ-AFTER-WRITE", "vkCmdDispatch")

    def test_missing_barrier_between_submissions(self):
        self.caught("submissions", "SYNC-HAZARD-WRITE-AFTER-WRITE", "vkQueueSubmit")

    def test_settings_of_the_caller_stay(self):
        result = plant("submissions", VK_LAYER_ENABLES="VK_VALIDATION_FEATURE_ENABLE_BEST_PRACTICES_EXT")
        self.assertEqual(result.returncode, FAILED)
        self.assertIn("SYNC-HAZARD-WRITE-AFTER-WRITE", result.stderr)

    def test_not_asked_for(self):
        for value in ("", "0"):
            result = plant("fills", WEIR_VULKAN_VALIDATION=value)
            self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "0 messages\n", ""))

    def test_layer_is_missing(self):
        result = plant("none", VK_LAYER_PATH="/nonexistent")
        self.assertEqual(result.returncode, UNAVAILABLE)
        self.assertIn("validation was asked for, but there is no layer VK_LAYER_KHRONOS_validation", result.stdout)


if __name__ == "__main__":
    first = plant("none", WEIR_VULKAN_VALIDATION="0")
    if first.returncode == UNAVAILABLE:
        print("skipped: " + first.stdout)
        sys.exit(77)
    unittest.main()
