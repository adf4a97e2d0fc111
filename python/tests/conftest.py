# SPDX-License-Identifier: Apache-2.0
"""What tests share. A test that hangs ends the run with the stacks of all threads (faulthandler_timeout)."""

import os
import subprocess
import sys
from typing import Iterator

import pytest

import weir

SECONDS = 60  # less than faulthandler_timeout


@pytest.fixture
def context() -> Iterator[weir.Context]:
    one = weir.Context("cpu:2", trace=True)
    yield one
    one.close()


def run_program(text: str, code: int = 0) -> str:
    """Runs a program of Python's, and returns what it printed; it must end with this exit code, and not be killed."""
    environment = dict(os.environ, PYTHONFAULTHANDLER="1", PYTHONDEVMODE="1")
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", text],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment,
        timeout=SECONDS,
    )
    assert run.returncode == code, f"exit code {run.returncode}\n{run.stdout}"
    return run.stdout
