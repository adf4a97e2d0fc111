# SPDX-License-Identifier: Apache-2.0
"""The code on pages of the docs runs, and prints what they say."""

import contextlib
import io
import re
from pathlib import Path
from typing import Any, Dict

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", ["tutorials/python.md", "guide/python.md"])
def test_a_page(page: str) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")
    names: Dict[str, Any] = {"__name__": "page"}
    printed, blocks = "", 0
    for block in FENCE.finditer(text):
        line = text.count("\n", 0, block.start()) + 1
        if block.group(1) == "python":
            blocks += 1
            out = io.StringIO()
            code = compile("\n" * line + block.group(2), str(DOCS / page), "exec")
            with contextlib.redirect_stdout(out):
                exec(code, names)
            printed = out.getvalue()
        elif block.group(1) == "text":
            assert printed.rstrip() == block.group(2).rstrip(), f"{page}:{line}"
    assert blocks


def test_the_readme() -> None:
    text = (Path(__file__).resolve().parents[1] / "README.md").read_text(encoding="utf-8")
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        for block in FENCE.finditer(text):
            exec(block.group(2), {"__name__": "page"})
    assert out.getvalue() == "999000.0\n"
