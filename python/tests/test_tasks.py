# SPDX-License-Identifier: Apache-2.0
import gc
import threading
import traceback
from typing import Any

import numpy as np
import pytest

import weir


def test_results_are_those_of_numpy(context: weir.Context) -> None:
    a = context.array(np.arange(1000.0))
    b = context.buffer(1000, np.float64)
    c = context.buffer((1000,), "f8")

    def double(source: Any, out: Any) -> None:
        out[:] = 2 * source

    def add(x: Any, y: Any, out: Any, factor: float) -> str:
        out[:] = factor * (x + y)
        return "added"

    context.submit(double, weir.read(a), weir.write(b))
    event = context.submit(add, weir.read(a), weir.read(b), weir.write(c), 0.5)
    assert event.result() == "added"
    assert np.array_equal(c.numpy(), np.arange(1000.0) * 1.5)


def test_views_have_shape_type_and_rights(context: weir.Context) -> None:
    a = context.array(np.arange(12, dtype=np.int16).reshape(3, 4))

    def look(view: Any, part: Any, box: Any) -> Any:
        assert view.shape == (3, 4) and view.dtype == np.int16 and not view.flags.writeable
        assert part.shape == (4,) and box.shape == (2, 2) and box.strides == (8, 2)
        return view.tolist(), part.tolist(), box.tolist()

    event = context.submit(look, weir.read(a), weir.read(a[1]), weir.read(a[1:, 1:3]))
    assert event.result() == ([[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]], [4, 5, 6, 7], [[5, 6], [9, 10]])

    def write(view: Any) -> None:
        view[0, 0] = 7

    with pytest.raises(ValueError, match="read-only"):
        context.submit(write, weir.read(a)).result()
    context.finish()


def test_an_exception_is_raised_again_with_its_traceback(context: weir.Context) -> None:
    def inner_function() -> None:
        raise KeyError("what")

    def outer(view: Any) -> None:
        inner_function()

    a = context.buffer(4)
    event = context.submit(outer, weir.write(a), label="the task")
    with pytest.raises(KeyError) as info:
        event.result()
    names = [one.name for one in traceback.extract_tb(info.value.__traceback__)]
    assert names[-2:] == ["outer", "inner_function"]
    assert event.exception() is info.value
    context.finish()  # the event told it


def test_failures_that_no_event_tells(context: weir.Context) -> None:
    def fail(number: int) -> None:
        raise KeyError(number)

    def fail_in_order() -> Any:
        events: Any = []
        for i in range(3):
            events.append(context.submit(fail, i, after=events))
        return events

    events = fail_in_order()
    with pytest.raises(KeyError, match="^0$"):
        context.finish()
    context.finish()  # once, and the first alone
    assert repr(events[2].exception()) == "KeyError(2)"
    events = fail_in_order()
    assert events[0].exception() is not None and events[2].exception() is not None
    with pytest.raises(KeyError, match="^1$"):
        context.finish()
    with pytest.raises(KeyError, match="^5$"):
        with weir.Context("cpu:1") as other:
            other.submit(fail, 5)
    with weir.Context("cpu:1") as other:
        with pytest.raises(KeyError):
            other.submit(fail, 5).result()


def test_data_of_a_failed_task_is_missing(context: weir.Context) -> None:
    a, b = context.buffer(4, label="a"), context.buffer(4)

    def fail(view: Any) -> None:
        raise ZeroDivisionError("never")

    def use(source: Any, out: Any) -> None:
        out[:] = source

    context.submit(fail, weir.write(a))
    event = context.submit(use, weir.read(a), weir.write(b))
    with pytest.raises(weir.UpstreamFailedError, match="'a'.*never") as info:
        event.result()
    assert isinstance(info.value.__cause__, ZeroDivisionError)
    context.finish()
    a.fill(1).result()  # a full overwrite heals
    context.submit(use, weir.read(a), weir.write(b))
    assert b.numpy().tolist() == [1, 1, 1, 1]


def test_a_view_must_not_outlive_its_task(context: weir.Context) -> None:
    kept = []
    a = context.array(np.zeros(4))

    def keep(view: Any) -> None:
        kept.append(view[1:])

    for function in (keep, lambda view: view, lambda view: memoryview(view)):
        event = context.submit(function, weir.update(a))
        with pytest.raises(RuntimeError, match="keeps argument 0"):
            event.result()
        a.fill(0)

    def fail(view: Any) -> None:
        raise ValueError("as it is")

    with pytest.raises(ValueError, match="as it is") as info:
        context.submit(fail, weir.update(a)).result()
    frames = [one for one, _ in traceback.walk_tb(info.value.__traceback__)]
    assert "view" not in frames[-1].f_locals

    def fail_with_it(view: Any) -> None:
        raise ValueError(view)

    a.fill(0)
    with pytest.raises(RuntimeError, match="keeps argument 0"):
        context.submit(fail_with_it, weir.update(a)).result()
    kept.clear()
    wrapped = np.zeros(4)
    assert context.submit(lambda view: view, weir.read(context.wrap(wrapped))).result().shape == (4,)
    context.finish()


def test_what_a_function_holds_is_dropped_with_its_task(context: weir.Context) -> None:
    class Thing:
        pass

    things = [Thing() for _ in range(3)]
    alive = [__import__("weakref").ref(one) for one in things]
    ran = context.submit(lambda one: None, things[0])
    returned = context.submit(lambda one: one, things[1])

    def fail(one: Any) -> None:
        raise ValueError("no")

    a = context.buffer(1)
    context.submit(lambda out: 1 / 0, weir.write(a))
    skipped = context.submit(lambda view, one: None, weir.read(a), things[2])
    things.clear()
    ran.wait()
    skipped.wait()
    gc.collect()
    assert alive[0]() is None and alive[2]() is None
    assert alive[1]() is returned.result()
    del returned
    gc.collect()
    assert alive[1]() is None
    with pytest.raises(ZeroDivisionError):
        context.finish()


def test_tasks_submit_tasks(context: weir.Context) -> None:
    total = context.array(np.zeros(1))

    def leaf(view: Any, number: int) -> None:
        view[0] += number

    def split(first: int, count: int) -> None:
        if count == 1:
            context.submit(leaf, weir.commute(total), first)
            return
        half = count // 2
        context.submit(split, first, half)
        context.submit(split, first + half, count - half)

    context.submit(split, 1, 100)
    context.finish()
    assert total.numpy()[0] == 5050


def test_a_task_must_not_wait(context: weir.Context) -> None:
    first = context.submit(lambda: None)
    first.result()

    def wait() -> Any:
        first.result()  # it is done, so this is no wait
        context.finish()

    with pytest.raises(weir.InvalidArgumentError, match="wait|task"):
        context.submit(wait).result()
    context.finish()


def test_functions_that_were_short_and_then_wait() -> None:
    with weir.Context("cpu:2") as context:
        everybody = threading.Barrier(2)

        def work(wait: Any = None) -> bool:
            if wait is not None:
                wait()
            return True

        for _ in range(2000):
            context.submit(work)
        context.finish()
        for _ in range(10):  # what came before and after the one that waits is done, and known to be
            go_on = threading.Event()
            events = [context.submit(work, go_on.wait if i == 7 else None) for i in range(20)]
            assert all(event.result(60) for i, event in enumerate(events) if i != 7)
            go_on.set()
            assert events[7].result(60)
        both = [context.submit(work, lambda: everybody.wait(60)) for _ in range(2)]
        assert all(event.result(60) for event in both)


def test_options(context: weir.Context) -> None:
    order = []
    gate = threading.Event()
    first = context.submit(gate.wait)
    late = context.submit(order.append, 2, after=first)
    last = context.submit(order.append, 3, after=[first, late], device="cpu", priority=3, label="x" * 100 + "é", tag=7)
    with pytest.raises(weir.OutOfRangeError, match="no device 'cuda'"):
        context.submit(order.append, 4, device="cuda")
    gate.set()
    last.result()
    assert order == [2, 3]
    assert context.statistics()["tasks"] >= 3 and context.statistics()["repeated"] == 0


def test_numbers_of_numpy_and_numbers_that_do_not_fit(context: weir.Context) -> None:
    for groups in (np.int64(4), (np.int32(2), 3), np.array([2, 2])):
        context.submit(lambda: None, groups=groups, tag=np.uint64(7), priority=np.int8(1)).result()
    for bad in (0, 1 << 32, (1, 1, 1, 1), ()):
        with pytest.raises(weir.InvalidArgumentError, match="groups"):
            context.submit(lambda: None, groups=bad)
    for name, number in (("groups", -1), ("groups", 1 << 64), ("tag", -1), ("priority", 1 << 40)):
        with pytest.raises(OverflowError):
            context.submit(lambda: None, **{name: number})
    for odd in (1.5, "12"):
        with pytest.raises(TypeError):
            context.submit(lambda: None, groups=odd)


def test_a_function_is_called_once_whatever_its_groups_are(context: weir.Context) -> None:
    called: list[int] = []
    for number in range(100):
        context.submit(called.append, number, groups=(5, 7)).result()
    assert called == list(range(100))


def test_many_arguments(context: weir.Context) -> None:
    buffers = [context.array(np.full(2, float(i))) for i in range(100)]
    out = context.buffer(2, np.float64)

    def add(*views: Any) -> None:
        views[-1][:] = sum(views[:-1])

    context.submit(add, *(weir.read(one) for one in buffers), weir.write(out))
    assert out.numpy().tolist() == [4950.0, 4950.0]


def test_an_overwritten_buffer_is_renamed() -> None:
    with weir.Context("cpu:4") as context:
        a, gate = context.array(np.zeros(1000)), threading.Event()

        def slow(view: Any) -> float:
            gate.wait()
            return float(view[0])

        reader = context.submit(slow, weir.read(a))
        context.submit(lambda view: view.fill(3), weir.write(a))
        assert a.numpy()[0] == 3  # without waiting for the reader
        assert not reader.done()
        gate.set()
        assert reader.result() == 0


def test_cancel(context: weir.Context) -> None:
    gate = threading.Event()
    a = context.array(np.zeros(1))
    running = context.submit(lambda view: gate.wait(), weir.update(a))
    waiting = context.submit(lambda view: None, weir.update(a))
    while context.statistics()["tasks"] < 3:
        pass
    import time

    time.sleep(0.05)
    context.cancel()
    gate.set()
    assert running.exception() is None
    assert isinstance(waiting.exception(), weir.CancelledError) and waiting.cancelled()


def test_finish_names_what_it_waits_for(context: weir.Context) -> None:
    gate = threading.Event()
    context.submit(gate.wait, label="slow one")
    with pytest.raises(weir.TimeoutError, match="slow one"):
        context.finish(timeout=0.02)
    with pytest.raises(TimeoutError):
        context.finish(timeout=0)
    gate.set()
    context.finish(timeout=60)


def test_many_threads_submit_to_a_small_window() -> None:
    """A submission that keeps the GIL finds room, whatever other threads did since that was known."""
    for _ in range(15):
        with weir.Context("cpu:2", window=64) as context:

            def submit(several: int, context: weir.Context = context) -> None:
                for _ in range(20):
                    for _ in range(several):
                        event = context.submit(lambda: None)
                    event.result()

            threads = [threading.Thread(target=submit, args=(number % 3 * 15 + 1,)) for number in range(14)]
            for one in threads:
                one.start()
            for one in threads:
                one.join()
