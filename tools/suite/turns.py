# SPDX-License-Identifier: Apache-2.0
"""Tests of which a run of `make test` does some, in turn: reads tools/suite/turns.txt, which says what that means."""
import os
import re

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "turns.txt")


def read(text):
    """[(stages, columns)] of the lines "STAGE...: TEST... | TEST..."."""
    lines = [line.partition(":") for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [(stages.split(), [column.split() for column in tests.split("|")]) for stages, _, tests in lines]


def turn(seed, line, columns):
    """Whose turn it is in a line: seeds that follow each other in some pattern shall not leave out the same for long."""
    mixed = ((seed + 1) * 0x9E3779B97F4A7C15 + line * 0xC2B2AE3D27D4EB4F) % (1 << 64)
    mixed = (mixed ^ mixed >> 29) * 0xBF58476D1CE4E5B9 % (1 << 64)
    return (mixed >> 32) % columns


def left_out(stage, seed, lines):
    """Names of tests that this stage leaves out with this seed. Stages of a line take columns that follow each other, so that a
    run does more of them."""
    return [name for number, (stages, columns) in enumerate(lines) if stage in stages
            for index, names in enumerate(columns)
            if index != (turn(seed, number, len(columns)) + stages.index(stage)) % len(columns) for name in names]


def exclusion(stage, seed):
    """What ctest is told to leave out: a regular expression; "" if nothing."""
    with open(PATH, encoding="utf-8") as text:
        names = left_out(stage, seed, read(text.read()))
    return f"^({'|'.join(map(re.escape, names))})$" if names else ""
