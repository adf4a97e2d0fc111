#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_manual.py WEIR MANUAL: the manual has a section for each subcommand, and names each option that its --help
names and no other, with the same words to choose from."""
import re
import subprocess
import sys
import unittest

WEIR, MANUAL = sys.argv[1:3]
del sys.argv[1:3]
COMMANDS = ("info", "replay", "plan", "check", "timeline", "split", "bench", "run")


def help_of(*arguments):
    result = subprocess.run([WEIR, *arguments, "--help"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if result.returncode != 0:
        raise AssertionError(f"weir {' '.join(arguments)} --help: {result.stderr}")
    return result.stdout


def words_of(text, option):
    """What stands behind an option that takes one of several words: --issue serial|queues."""
    return re.findall(rf"^ *{option} ([\w-]+(?:\|[\w-]+)+)(?:  |$)", text, re.MULTILINE)


def plain(section):
    """The heads of options as a reader sees them: .BR --issue " serial" | queues is --issue serial|queues."""
    return re.sub(r"^\.BR (--\S+) (.*)$", lambda head: head[1] + " " + re.sub(r'[" ]', "", head[2]), section, flags=re.MULTILINE)


def options(text):
    return set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", text)) - {"--help"}


class Manual(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with open(MANUAL, encoding="utf-8") as manual:
            text = manual.read().replace("\\-", "-")
        commands = text.split(".SH COMMANDS")[1].split(".SH EXIT STATUS")[0]
        parts = re.split(r"^\.SS weir (\w+)\n", commands, flags=re.MULTILINE)
        cls.sections = dict(zip(parts[1::2], parts[2::2]))

    def test_commands(self):
        listed = re.findall(r"^  (\w+) ", help_of(), re.MULTILINE)
        self.assertEqual(sorted(listed), sorted(COMMANDS))
        self.assertEqual(sorted(self.sections), sorted(COMMANDS))

    def test_options(self):
        for command in COMMANDS:
            with self.subTest(command=command):
                self.assertEqual(options(help_of(command)), options(self.sections[command]))

    def test_words(self):
        for command in COMMANDS:
            text = help_of(command)
            for option in options(text):
                words = words_of(text, option)
                if words:
                    with self.subTest(command=command, option=option):
                        self.assertEqual(words_of(plain(self.sections[command]), option), words)


if __name__ == "__main__":
    unittest.main()
