#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What abi.py takes for growth, and what for a change that breaks programs."""
import unittest

import abi

BEFORE = {
    "function weir_do": "void (int)",
    "function weir_submit_sized": "void (const weir_task *, size_t)",
    "enumerator WEIR_ONE": "1",
    "struct weir_task": "16",
    "member weir_task.a": "0 8",
    "member weir_task.b": "8 8",
    "struct weir_pair": "16",
    "struct weir_arg": "24",
    "member weir_arg.a": "0 8",
    "member weir_arg.reserved": "8 16",
}


class Compare(unittest.TestCase):
    def compare(self, gone=(), **changes):
        now = {name: value for name, value in BEFORE.items() if name not in gone}
        now.update({name.replace("__", " ").replace("_of_", "."): value for name, value in changes.items()})
        return abi.compare(BEFORE, now)

    def test_the_same(self):
        self.assertEqual(self.compare(), ([], []))

    def test_growth(self):
        for changes in ({"struct__weir_task": "24", "member__weir_task_of_c": "16 8"},
                        {"member__weir_arg_of_b": "8 8", "member__weir_arg_of_reserved": "16 8"},
                        {"function__weir_more": "void ()"}, {"enumerator__WEIR_TWO": "2"}):
            changed, added = self.compare(**changes)
            self.assertEqual(changed, [], changes)
            self.assertNotEqual(added, [], changes)

    def test_the_last_reserved_member(self):
        changed, added = self.compare(gone=["member weir_arg.reserved"], member__weir_arg_of_b="8 16")
        self.assertEqual(changed, [])
        self.assertEqual(len(added), 1)

    def test_breaks(self):
        for changes in ({"struct__weir_task": "8"}, {"member__weir_task_of_b": "16 8"}, {"member__weir_task_of_a": "0 4"},
                        {"struct__weir_arg": "32"}, {"struct__weir_pair": "32"}, {"member__weir_arg_of_reserved": "16 16"},
                        {"function__weir_do": "void (long)"}, {"enumerator__WEIR_ONE": "2"}):
            changed, _ = self.compare(**changes)
            self.assertEqual(len(changed), 1, changes)
        for gone in BEFORE:
            if not gone.endswith(".reserved"):
                self.assertEqual(self.compare(gone=[gone])[0], [f"gone: {gone} {BEFORE[gone]}"])


if __name__ == "__main__":
    unittest.main()
