#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What abi.py takes for growth, and what for a change that breaks programs."""
import unittest
from unittest import mock

import abi

BEFORE = {
    "function weir_do": "void (int)",
    "function weir_submit_sized": "void (const weir_task *, size_t)",
    "enumerator WEIR_ONE": "1",
    "struct weir_task": "16",
    "member weir_task.a": "0 8",
    "member weir_task.b": "8 4",
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

    def test_a_status_where_there_was_nothing(self):
        self.assertEqual(self.compare(function__weir_do="weir_status (int)")[0], [])
        self.assertEqual(len(self.compare(function__weir_do="int (int)")[0]), 1)

    def test_the_last_reserved_member(self):
        changed, added = self.compare(gone=["member weir_arg.reserved"], member__weir_arg_of_b="8 16")
        self.assertEqual(changed, [])
        self.assertEqual(len(added), 1)

    def test_breaks(self):
        for changes in ({"struct__weir_task": "8"}, {"member__weir_task_of_b": "16 4"},
                        {"member__weir_task_of_a": "0 4"}, {"struct__weir_arg": "32"}, {"struct__weir_pair": "32"},
                        {"member__weir_arg_of_reserved": "16 16"}, {"function__weir_do": "void (long)"},
                        {"enumerator__WEIR_ONE": "2"}):
            changed, _ = self.compare(**changes)
            self.assertEqual(len(changed), 1, changes)
        for gone in BEFORE:
            if not gone.endswith(".reserved"):
                self.assertEqual(self.compare(gone=[gone])[0], [f"gone: {gone} {BEFORE[gone]}"])

    def test_members_in_padding(self):
        changed, added = self.compare(member__weir_task_of_c="12 4")
        self.assertEqual((changed, added), (["new: member weir_task.c 12 4"], []))

    def test_a_struct_without_a_rule(self):
        with mock.patch.object(abi, "HANDED_OUT", set()), mock.patch.object(abi, "FIXED", {"weir_pair"}):
            self.assertEqual(abi.unruled(BEFORE, "weir_pair stays as it is"), [])
            self.assertEqual(abi.unruled(BEFORE, ""), ["weir.h does not say that weir_pair stays as it is"])
            self.assertEqual(abi.unruled(BEFORE | {"struct weir_new": "8"}, "weir_pair"),
                             ["struct weir_new has no rule for its growth"])
        with mock.patch.object(abi, "HANDED_OUT", {"weir_pair", "weir_gone"}), mock.patch.object(abi, "FIXED", set()):
            self.assertEqual(abi.unruled(BEFORE, ""), ["abi.py names weir_gone, which is no public struct"])

    def test_symbols_are_the_functions(self):
        lines = "0000000000001230 T weir_do\n0000000000001240 T weir__helper\n"
        with mock.patch.object(abi.subprocess, "run", return_value=mock.Mock(stdout=lines)):
            self.assertEqual(abi.not_exported("libweir.so", BEFORE),
                             ["exported by libweir.so, but in no header: weir__helper",
                              "in a header, but not exported by libweir.so: weir_submit_sized"])


if __name__ == "__main__":
    unittest.main()
