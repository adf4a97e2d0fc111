# SPDX-License-Identifier: Apache-2.0
"""Actors of Ray with a context each: the example, and failures that cross actors. Two local actors."""

import os
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("ray")

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "ray" / "images.py"

FAILURES = """
import ray, weir
class Worker:
    def __init__(self):
        self.context = weir.Context("cpu:1")
    async def divide(self, number):
        return await self.context.submit(lambda: 1 / number)
    def wrong(self, _):
        self.context.buffer(0)
def kind(reference):
    try:
        return ray.get(reference)
    except (ZeroDivisionError, weir.InvalidArgumentError) as failure:
        return type(failure).__mro__[1].__name__, str(failure).strip().splitlines()[-1]
ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="error")
one, two = (ray.remote(Worker).options(num_cpus=1).remote() for _ in range(2))
print(kind(two.divide.remote(one.divide.remote(4))))
print(kind(two.divide.remote(one.divide.remote(0))))
print(kind(two.wrong.remote(None)))
"""


def run(*arguments: str) -> str:
    environment = dict(os.environ, RAY_USAGE_STATS_ENABLED="0")
    process = subprocess.run(
        [sys.executable, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment,
        timeout=70,
    )
    assert process.returncode == 0, process.stdout
    return process.stdout


def test_the_example() -> None:
    printed = run(str(EXAMPLE), "5")
    assert "5 frames of 240 x 320: 0 pixels differ from a plain loop\n" in printed
    assert "tasks: 100 in the first actor, 35 in the second\n" in printed


def test_bands_are_those_of_the_frame() -> None:
    names = runpy.run_path(str(EXAMPLE))
    frame = np.random.default_rng(1).random((names["HEIGHT"], names["WIDTH"]), np.float32)
    whole, parts = np.empty_like(frame), np.empty_like(frame)
    names["smooth"](whole, frame, 0)
    for rows in names["bands"]():
        near = names["with_neighbours"](rows)
        names["smooth"](parts[rows], frame[near], rows.start - near.start)
    assert (whole == parts).all()
    assert abs(whole[5, 7] - frame[4:7, 6:9].mean()) < 1e-6
    assert abs(whole[0, 0] - (4 * frame[0, 0] + 2 * frame[0, 1] + 2 * frame[1, 0] + frame[1, 1]) / 9) < 1e-6


def test_failures_cross_actors() -> None:
    first, second, third = run("-c", FAILURES).splitlines()[-3:]
    assert first == "4.0"
    assert "ZeroDivisionError: division by zero" in second
    assert "InvalidArgumentError: a buffer of shape (0,) has no elements" in third
