# SPDX-License-Identifier: Apache-2.0
"""The bar of long operations: where it is drawn, when, and what it says."""

import io
import os
import pty
import subprocess
import sys
import types
from typing import Iterator, List

import pytest

import weir
from weir import _progress
from weir._progress import Progress


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True

    def lines(self) -> List[str]:
        return [one.rstrip() for one in self.getvalue().split("\r")[1:]]


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def show_on(stderr: object, monkeypatch: pytest.MonkeyPatch, **modules: object) -> None:
    """Replaces stderr for the module alone: pytest replaces the process's own after fixtures."""
    monkeypatch.setattr(_progress, "sys", types.SimpleNamespace(stderr=stderr, modules=modules))


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> Iterator[Screen]:
    one = Screen()
    show_on(one, monkeypatch)
    yield one
    weir.progress(True)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    one = Clock()
    monkeypatch.setattr(_progress, "_now", one)
    return one


def test_it_says_how_far_an_operation_is(screen: Screen, clock: Clock) -> None:
    with Progress("capture", 4) as bar:
        clock.now += 2
        bar.step(what="graph")
        clock.now += 62
        bar.step(count=2, what="times")
        clock.now += 0.01
        bar.step()
    assert screen.lines() == [
        "capture: [#####...............] 1/4, 2 s, about 6 s left, graph",
        "capture: [###############.....] 3/4, 1:04, about 21 s left, times",
        "capture: [####################] 4/4, 1:04",
    ]
    assert screen.getvalue().endswith("\n")


def test_without_a_total_it_counts(screen: Screen, clock: Clock) -> None:
    with Progress("reading") as bar:
        clock.now += 3700
        bar.step(7, "file 8")
    assert screen.lines() == ["reading: 7, 1:01:40, file 8", "reading: 7, 1:01:40"]


def test_it_shows_itself_after_half_a_second_and_then_ten_times_a_second(screen: Screen, clock: Clock) -> None:
    with Progress("quick", 3) as bar:
        clock.now += 0.49
        bar.step()
    assert screen.getvalue() == ""
    with Progress("slow", 1000) as bar:
        for _ in range(1000):
            clock.now += 0.002
            bar.step()
    assert 15 <= len(screen.lines()) <= 17


def test_a_line_covers_the_one_before(screen: Screen, clock: Clock) -> None:
    with Progress("reading") as bar:
        clock.now += 1
        bar.step(what="a long name")
        clock.now += 1
        bar.step(what="b")
    written = screen.getvalue().split("\r")[1:]
    assert len(written[1]) == len(written[0])


def test_a_failure_leaves_what_it_was_at(screen: Screen, clock: Clock) -> None:
    with pytest.raises(KeyError), Progress("capture", 2) as bar:
        clock.now += 1
        bar.step(what="graph")
        raise KeyError("x")
    assert screen.lines()[-1].endswith("graph") and screen.getvalue().endswith("\n")


def test_an_inner_bar_shows_nothing(screen: Screen, clock: Clock) -> None:
    with Progress("outer") as outer:
        clock.now += 1
        outer.step()
        with Progress("inner") as inner:
            clock.now += 1
            inner.step()
        clock.now += 1
        outer.step()
    assert len(screen.lines()) == 3 and "inner" not in screen.getvalue()
    with Progress("next") as later:
        clock.now += 1
        later.step()
    assert "next: 1" in screen.getvalue()


def test_it_can_be_switched_off(screen: Screen, clock: Clock) -> None:
    weir.progress(False)
    with Progress("capture") as bar:
        clock.now += 1
        bar.step()
        assert screen.getvalue() == ""
        weir.progress(True)
        bar.step()
        assert screen.getvalue() != ""


@pytest.mark.parametrize("stderr", [io.StringIO(), None, object()])
def test_nobody_looks(stderr: object, monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    show_on(stderr, monkeypatch)
    with Progress("capture") as bar:
        clock.now += 1
        bar.step()
    assert not isinstance(stderr, io.StringIO) or stderr.getvalue() == ""


def test_a_screen_that_breaks_does_not_break_the_operation(screen: Screen, clock: Clock) -> None:
    with Progress("capture") as bar:
        clock.now += 1
        bar.step()
        screen.close()
        clock.now += 1
        bar.step()


def test_in_a_notebook(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    class Shell:
        kernel = object()

    class IPython:
        @staticmethod
        def get_ipython() -> Shell:
            return Shell()

    out = io.StringIO()
    show_on(out, monkeypatch, IPython=IPython)
    with Progress("capture") as bar:
        clock.now += 1
        bar.step()
    assert "capture: 1" in out.getvalue()


PROGRAM = """
import time
from weir._progress import Progress
with Progress("waiting", 8) as bar:
    for _ in range(8):
        time.sleep(0.1)
        bar.step()
"""


def test_on_a_terminal_and_on_none() -> None:
    ours, theirs = pty.openpty()
    try:
        subprocess.run([sys.executable, "-c", PROGRAM], stderr=theirs, check=True, timeout=60)
        shown = os.read(ours, 10000).decode()
    finally:
        os.close(ours)
        os.close(theirs)
    assert "8/8" in shown and shown.endswith("\n")
    quiet = subprocess.run([sys.executable, "-c", PROGRAM], stderr=subprocess.PIPE, check=True, timeout=60)
    assert quiet.stderr == b""
