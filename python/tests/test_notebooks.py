# SPDX-License-Identifier: Apache-2.0
"""The notebooks among the tutorials: their cells run, and they are committed without outputs."""

import functools
import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict, List, Tuple

import pytest

import weir
from conftest import SECONDS
from run_notebook import code_cells, is_for_a_card

TUTORIALS = Path(__file__).resolve().parents[2] / "docs" / "tutorials"
NOTEBOOKS = sorted(path.name for path in TUTORIALS.glob("*.ipynb"))
CARD_CELLS: List[Tuple[str, str]] = [
    (name, cell["id"]) for name in NOTEBOOKS for cell in code_cells(str(TUTORIALS / name)) if is_for_a_card(cell)
]


def load(name: str) -> Dict[str, Any]:
    book: Dict[str, Any] = json.loads((TUTORIALS / name).read_text(encoding="utf-8"))
    return book


def skip_without_packages(name: str) -> None:
    for package in load(name)["metadata"]["weir"]["packages"]:
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{name} needs {package}, which is not installed")


@functools.cache
def run(name: str) -> str:
    """What the notebook printed."""
    here = Path(__file__).resolve().parent
    others = set(load(name)["metadata"]["weir"]["packages"]) - {"weir", "numpy"}  # which may warn
    strict = ["-W", "error::RuntimeWarning"] if others else ["-X", "dev", "-W", "error"]
    one = subprocess.run(
        [sys.executable, *strict, str(here / "run_notebook.py"), str(TUTORIALS / name)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=dict(os.environ, PYTHONFAULTHANDLER="1"),
        timeout=SECONDS,
    )
    assert one.returncode == 0, one.stdout
    return one.stdout


def test_there_are_notebooks() -> None:
    assert "images-with-numpy.ipynb" in NOTEBOOKS


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook(name: str) -> None:
    skip_without_packages(name)
    printed = run(name)
    for cell in code_cells(str(TUTORIALS / name)):
        if not is_for_a_card(cell):
            assert f"ran: {cell['id']}\n" in printed


@pytest.mark.parametrize("name,cell", CARD_CELLS)
def test_a_cell_for_a_card(name: str, cell: str) -> None:
    skip_without_packages(name)
    if not any(one.kind == "cuda" and one.available for one in weir.info().kinds):
        pytest.skip(f"{name}, cell {cell}: needs a CUDA device")
    assert f"ran: {cell}\n" in run(name)


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_has_no_outputs(name: str) -> None:
    book = load(name)
    assert (book["nbformat"], book["nbformat_minor"]) == (4, 5)
    names = [cell["id"] for cell in book["cells"]]
    assert len(set(names)) == len(names)
    for cell in book["cells"]:
        assert cell["cell_type"] in ("code", "markdown") and cell["source"]
        if cell["cell_type"] == "code":
            assert cell["outputs"] == [] and cell["execution_count"] is None, cell["id"]
        for target in re.findall(r"\]\(([^)#]+)", "".join(cell["source"]) if cell["cell_type"] == "markdown" else ""):
            assert "://" in target or (TUTORIALS / target).exists(), target
    assert "weir" in book["metadata"]["weir"]["packages"]


def test_a_cell_that_fails_is_found(tmp_path: Path) -> None:
    cells = [
        {"cell_type": "code", "id": "first", "metadata": {}, "source": ["x = 1\n", "x"]},
        {"cell_type": "code", "id": "on-a-card", "metadata": {"tags": ["card"]}, "source": ["x = 2"]},
        {
            "cell_type": "code",
            "id": "second",
            "metadata": {},
            "source": ["def f():\n", "    assert x == 3\n", "\n", "f()"],
        },
    ]
    path = tmp_path / "bad.ipynb"
    path.write_text(json.dumps({"cells": cells, "metadata": {"weir": {"packages": ["weir"]}}}), encoding="utf-8")
    with pytest.raises(AssertionError) as failure:
        run(str(path))
    text = str(failure.value)
    assert "ran: first" in text and "cell second" in text and "assert x == 3" in text and "ran: second" not in text
