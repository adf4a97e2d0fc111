# SPDX-License-Identifier: Apache-2.0
import asyncio
import concurrent.futures
import sys
import threading
import time
from typing import Any, List

import numpy as np
import pytest

import weir
from conftest import run_program


def test_events_are_futures(context: weir.Context) -> None:
    gate = threading.Event()
    event = context.submit(lambda: gate.wait() and 5)
    assert not event.done() and not event.wait(0.01) and "PENDING" in repr(event)
    with pytest.raises(weir.TimeoutError, match="not done"):
        event.result(timeout=0.01)
    with pytest.raises(concurrent.futures.TimeoutError if sys.version_info >= (3, 11) else TimeoutError):
        event.exception(timeout=0)
    gate.set()
    assert event.result(timeout=60) == 5 and event.done() and event.wait() and event.exception() is None
    assert not event.cancelled() and "OK" in repr(event)


def test_a_timeout_that_closes_the_context() -> None:
    class Closing:
        def __float__(self) -> float:
            context.close()
            return 1.0

    late: Any = Closing()
    for call in ("wait", "result", "exception"):
        context = weir.Context("cpu:1")
        event = context.submit(time.sleep, 0.01)
        with pytest.raises(weir.ReleasedError):
            getattr(event, call)(late)


def test_callbacks(context: weir.Context, monkeypatch: pytest.MonkeyPatch) -> None:
    gate, seen = threading.Event(), []
    event = context.submit(gate.wait)
    event.add_done_callback(lambda one: seen.append((1, one.done())))
    event.add_done_callback(lambda one: seen.append((2, one is event)))
    gate.set()
    context.finish()
    assert seen == [(1, True), (2, True)]
    event.add_done_callback(lambda one: seen.append(3))  # at once
    assert seen[-1] == 3
    failures: List[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda one: failures.append(one.exc_type))
    event.add_done_callback(lambda one: 1 / 0)
    assert failures == [ZeroDivisionError]
    follow = []
    context.submit(lambda: None).add_done_callback(lambda one: follow.append(context.submit(lambda: 8)))
    context.finish()
    assert follow[0].result() == 8


def test_the_gil_is_free_while_weir_waits(context: weir.Context) -> None:
    """The function that is waited for, and another thread, run while the main thread waits in Weir."""
    ticks, stop = [0], threading.Event()

    def tick() -> None:
        while not stop.is_set():
            ticks[0] += 1
            time.sleep(0.001)

    other = threading.Thread(target=tick)
    other.start()
    try:
        for wait in (lambda one: one.result(), lambda one: context.finish(), lambda one: np.asarray(a)):
            a = context.array(np.zeros(4))
            before = ticks[0]

            def slow(view: Any, until: int = before + 5) -> None:
                while ticks[0] < until:
                    time.sleep(0.001)

            wait(context.submit(slow, weir.update(a)))
            assert ticks[0] >= before + 5
    finally:
        stop.set()
        other.join()


def test_threads_submit_and_wait() -> None:
    with weir.Context("cpu:2", window=16) as context:
        total = context.array(np.zeros(1, np.int64))

        def add(view: Any) -> None:
            view[0] += 1

        def work() -> None:
            for _ in range(100):
                event = context.submit(add, weir.update(total))
            event.result()

        threads = [threading.Thread(target=work) for _ in range(4)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        assert total.numpy()[0] == 400


def test_a_full_window_does_not_hold_the_gil() -> None:
    with weir.Context("cpu:1", window=8) as context:
        a = context.array(np.zeros(1, np.int64))

        def add(view: Any) -> None:
            time.sleep(0.0005)
            view[0] += 1

        for _ in range(100):
            context.submit(add, weir.update(a))
        assert a.numpy()[0] == 100


@pytest.mark.parametrize("window", [8, 64, 1024])
def test_more_tasks_than_the_window_takes(window: int) -> None:
    """Tasks that wait for something that the submitting thread does later, and tasks whose oldest one is slow."""
    with weir.Context("cpu:2", window=window) as context:
        a, gate = context.array(np.zeros(1, np.int64)), threading.Event()

        def add(view: Any) -> None:
            view[0] += 1

        context.submit(lambda view: gate.wait(), weir.update(a))
        for _ in range(window - 4):
            context.submit(add, weir.update(a))
        gate.set()
        slow = context.submit(time.sleep, 0.05)
        others = [context.submit(lambda i=i: i) for i in range(3 * window)]
        assert [one.result() for one in others] == list(range(3 * window))
        slow.result()
        follow = context.submit(lambda: [context.submit(add, weir.update(a)) for _ in range(window)])
        for _ in range(window):
            context.submit(add, weir.update(a))
        follow.result()
        context.finish()
        assert a.numpy()[0] == 3 * window - 4


def test_memory_that_is_not_there(context: weir.Context) -> None:
    """A submission that waits for memory leaves the GIL to the tasks that hold some."""
    gate = threading.Event()
    a = context.buffer(100)
    running = context.submit(lambda view: gate.wait(), weir.write(a))
    threading.Timer(0.05, gate.set).start()
    with pytest.raises(weir.OutOfMemoryError):
        context.submit(lambda view: None, weir.write(context.buffer(1 << 62, np.uint8)))
    running.result()


def test_check_mode_by_the_environment() -> None:
    run_program(
        "import os; os.environ['WEIR_CHECK'] = '1'\n"
        "import numpy as np, weir\n"
        "with weir.Context('cpu:2') as c:\n"
        "    a = c.array(np.zeros(4))\n"
        "    for _ in range(50): c.submit(lambda v: v.__iadd__(1) is None, weir.update(a))\n"
        "    assert a.numpy()[0] == 50\n"
    )


def test_asyncio(context: weir.Context) -> None:
    async def main() -> Any:
        a = context.array(np.zeros(4))
        gate = threading.Event()
        event = context.submit(lambda view: gate.wait() and view.sum(), weir.read(a))
        loop = asyncio.get_running_loop()
        loop.call_later(0.02, gate.set)
        first = await event
        again = await event

        def fail() -> None:
            raise KeyError("async")

        with pytest.raises(KeyError):
            await context.submit(fail)
        many = await asyncio.gather(*(wait(context.submit(lambda i=i: i)) for i in range(50)))
        with pytest.raises(asyncio.TimeoutError):
            gate.clear()
            slow = context.submit(gate.wait)
            await asyncio.wait_for(wait(slow), 0.02)
        gate.set()
        await slow
        return first, again, many

    async def wait(event: weir.Event) -> Any:
        return await event

    first, again, many = asyncio.run(main())
    assert first == again == 0 and many == list(range(50))
    context.finish()


def test_a_loop_that_is_gone(context: weir.Context) -> None:
    gate = threading.Event()
    event = context.submit(gate.wait)

    async def give_up() -> None:
        async def wait() -> None:
            await event

        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(wait(), 0.01)

    asyncio.run(give_up())
    gate.set()
    event.result()
    context.finish()
