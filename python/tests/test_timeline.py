# SPDX-License-Identifier: Apache-2.0
import json
import os
import xml.dom.minidom
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weir


def test_a_timeline(context: weir.Context, tmp_path: Path) -> None:
    a = context.array(np.zeros(4))

    def work(view: Any) -> None:
        view += 1

    first = context.submit(work, weir.update(a), label="<first & only>")
    second = context.submit(work, weir.update(a))
    timeline = context.timeline()
    timeline.save(tmp_path / "run.json", title="a run")
    record = json.loads((tmp_path / "run.json").read_text())
    assert record["weir"]["title"] == "a run"
    names = [one["name"] for one in record["traceEvents"] if one.get("cat") == "task"]
    assert "<first & only>" in names and "work" in names
    timeline.save(str(tmp_path / "run.jsonl"))
    odd = os.path.join(os.fsencode(tmp_path), b"caf\xe9.json")  # not UTF-8
    timeline.save(os.fsdecode(odd))
    with open(odd, "rb") as text:
        assert json.load(text)["weir"]
    picture = timeline._repr_svg_()
    xml.dom.minidom.parseString(picture)
    assert "&lt;first &amp; only&gt;" in picture and "cpu:2 worker" in picture
    assert picture in timeline._repr_html_()
    assert "buffer" in context.why(first, second)
    with pytest.raises(weir.InvalidArgumentError):
        timeline.save(tmp_path / "run.txt")
    with pytest.raises(OSError):
        timeline.save(tmp_path / "no" / "run.json")
    timeline.clear()
    assert ">0 tasks" in timeline._repr_svg_()


def test_a_context_without_one() -> None:
    with weir.Context("cpu:1") as context:
        with pytest.raises(weir.InvalidArgumentError, match="trace"):
            context.timeline().json()
