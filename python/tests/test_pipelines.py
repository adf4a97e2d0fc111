# SPDX-License-Identifier: Apache-2.0
"""Pipelines: results in order, lines apart, failures and ends of any kind without a hang."""

import gc
import itertools
import threading
import traceback
import weakref
from typing import Any, Iterator, List

import numpy as np
import pytest

import weir
from conftest import SECONDS, run_program

LATE = 20.0  # seconds after which a thread that should have met another one gives up


def summing(context: weir.Context, lines: int = 4) -> weir.Pipeline:
    """Fills a buffer with the item, doubles one half, and adds up."""
    pipe = context.pipeline(lines)
    numbers = pipe.buffer((2, 100), np.float64, label="numbers")

    @pipe.stage(weir.write(numbers))
    def fill(item: float, numbers: Any) -> float:
        numbers[:] = item
        return item

    @pipe.stage(weir.update(numbers[1]), parallel=True)
    def double(item: float, half: Any) -> float:
        half *= 2
        return item

    @pipe.stage(weir.read(numbers))
    def total(item: float, numbers: Any) -> float:
        return float(numbers.sum())

    return pipe


@pytest.mark.parametrize("lines", [1, 2, 7, 62])
def test_results_come_in_order(context: weir.Context, lines: int) -> None:
    pipe = summing(context, lines)
    for _ in range(2):
        assert list(pipe(range(200))) == [300.0 * i for i in range(200)]
    assert list(pipe([])) == []


def test_serial_stages_have_one_item_at_a_time_and_parallel_ones_several(context: weir.Context) -> None:
    pipe = context.pipeline(4)
    meeting, order, inside = threading.Barrier(2), [], []

    @pipe.stage(parallel=True)
    def meets(item: int) -> int:
        if item < 2:
            meeting.wait(LATE)  # never met by one item alone
        return item

    @pipe.stage
    def alone(item: int) -> int:
        inside.append(item)
        assert len(inside) == 1
        order.append(inside.pop())
        return -item

    assert list(pipe(range(40))) == [-i for i in range(40)] and order == list(range(40))
    assert alone(5) == -5  # it is the function that it was


def test_lines_have_buffers_of_their_own_and_others_are_shared(context: weir.Context) -> None:
    pipe = context.pipeline(lines=3)
    own, shared, scale = pipe.buffer(1, np.int64), context.array(np.zeros(1, np.int64)), context.array(np.full(1, 3))
    meeting, seen = threading.Barrier(2), set()

    @pipe.stage(weir.write(own), parallel=True)
    def put(item: int, own: Any) -> int:
        own[0] = item
        if item < 2:
            meeting.wait(LATE)  # two lines hold their items
        return item

    @pipe.stage(weir.read(own), weir.read(scale), weir.update(shared), "a word")
    def add(item: int, own: Any, scale: Any, shared: Any, word: str) -> int:
        assert word == "a word"
        shared += own * scale
        seen.add(own.ctypes.data)
        return int(own[0])

    assert list(pipe(range(50))) == list(range(50))
    assert shared.numpy()[0] == 3 * sum(range(50)) and 2 <= len(seen) <= 3


def test_an_exception_of_a_stage_comes_after_earlier_results(context: weir.Context) -> None:
    pipe = context.pipeline(4)
    numbers = pipe.buffer(10)
    begun: List[int] = []

    @pipe.stage(weir.write(numbers), parallel=True)
    def divide(item: int, numbers: Any) -> int:
        begun.append(item)
        numbers[:] = 1
        return 60 // (item - 5)

    results = pipe(range(10**9))
    taken = []
    with pytest.raises(ZeroDivisionError) as failure:
        for one in results:
            taken.append(one)
    assert taken == [60 // (i - 5) for i in range(5)]
    assert "divide" in [frame.name for frame in traceback.extract_tb(failure.value.__traceback__)]
    assert max(begun) < 20 and list(results) == []
    context.finish()  # it was told
    assert list(pipe(range(6, 30))) == [60 // (i - 5) for i in range(6, 30)]


def test_an_exception_of_the_items(context: weir.Context) -> None:
    def items() -> Iterator[int]:
        yield from range(7)
        raise KeyError("no more")

    pipe, taken = summing(context), []
    with pytest.raises(KeyError, match="no more"):
        for one in pipe(items()):
            taken.append(one)
    assert taken == [300.0 * i for i in range(7)]
    with pytest.raises(TypeError):
        pipe(5)  # type: ignore[arg-type]


def test_an_iteration_that_is_left(context: weir.Context) -> None:
    pipe, items = summing(context), itertools.count()
    for one in pipe(items):
        if one >= 3000:
            break
    assert next(items) <= 11 + 2 * 4 + 1
    results = pipe(itertools.count())
    assert next(results) == 0
    with pytest.raises(weir.InvalidArgumentError, match="another one begins"):
        next(pipe([1]))
    results.close()
    assert list(pipe([2])) == [600.0]
    pipe(range(5))  # never begun
    assert list(pipe([2])) == [600.0]


def test_items_are_not_taken_far_ahead(context: weir.Context) -> None:
    pipe, items = summing(context, 3), iter(range(1000))
    results = pipe(items)
    next(results)
    context.finish()
    list(itertools.islice(results, 99))
    assert next(items) <= 100 + 2 * 3 + 1
    results.close()


def test_pipelines_behind_each_other(context: weir.Context) -> None:
    first, second = summing(context), summing(context, 2)
    assert list(second(first(range(50)))) == [90000.0 * i for i in range(50)]


TWICE = """
#include <weir/kernel.h>
WEIR_KERNEL(twice, 64, 1, 1, (WEIR_BUFFER(float, x), WEIR_SCALAR(int32_t, count))) {
  WEIR_FOR_EACH_ITEM { if (weir_global_id(0) < count) x[weir_global_id(0)] *= 2; }
}
"""


def test_a_kernel_as_a_stage(context: weir.Context) -> None:
    twice = context.kernel("twice", code=weir.CCode(TWICE))
    pipe = context.pipeline(3)
    x, out = pipe.buffer(100), np.zeros((20, 100), np.float32)

    @pipe.stage(weir.write(x))
    def fill(item: int, x: Any) -> int:
        x[:] = item
        return item

    pipe.launch(twice, weir.update(x), np.int32(100), groups=2)

    @pipe.stage(weir.read(x))
    def keep(item: int, x: Any) -> int:
        out[item] = x
        return item

    pipe.launch(twice, weir.update(x), np.int32(100), groups=2, parallel=True)
    assert list(pipe(range(20))) == list(range(20))
    assert (out == 2 * np.arange(20)[:, None]).all()


def test_a_kernel_that_is_refused_or_fails(context: weir.Context) -> None:
    twice = context.kernel("twice", code=weir.CCode(TWICE))
    pipe = context.pipeline(2)
    x = pipe.buffer(100)
    pipe.launch(twice, weir.update(x), groups=2)  # without its value
    with pytest.raises(weir.Error):
        list(pipe(range(5)))
    pipe = context.pipeline(2)
    pipe.launch(twice, weir.update(lost(context)), np.int32(100), groups=2)
    with pytest.raises(weir.UpstreamFailedError) as failure:
        list(pipe(range(5)))
    assert isinstance(failure.value.__cause__, ZeroDivisionError)


def lost(context: weir.Context) -> weir.Buffer:
    """A buffer whose contents are missing."""
    one = context.buffer(100)
    context.submit(lambda x: 1 / 0, weir.write(one)).wait()
    return one


def test_a_view_that_is_kept(context: weir.Context) -> None:
    pipe = context.pipeline(2)
    x = pipe.buffer(10)
    pipe.stage(weir.write(x))(lambda item, x: x)
    with pytest.raises(RuntimeError, match="Keep or return a copy"):
        list(pipe(range(3)))


def test_what_is_refused(context: weir.Context) -> None:
    for lines in (0, 63):
        with pytest.raises(weir.InvalidArgumentError, match="1 to 62"):
            context.pipeline(lines)
    pipe = context.pipeline(2)
    x = pipe.buffer(10)
    with pytest.raises(weir.InvalidArgumentError, match="no stages"):
        next(pipe([1]))
    with pytest.raises(TypeError, match="say what the stage does"):
        pipe.stage(x)(print)
    with pytest.raises(TypeError, match="a kernel is launched"):
        pipe.stage(5)(6)  # type: ignore[type-var]
    with pytest.raises(TypeError, match="is a stage"):
        pipe.launch(print)  # type: ignore[arg-type]
    for use in (lambda: context.submit(print, weir.read(x)), x.numpy, lambda: x[2:].fill(0)):
        with pytest.raises(weir.ReleasedError, match="one for each line of a pipeline"):
            use()
    for _ in range(31):
        pipe.stage(lambda item: item + 1)
    assert list(pipe([0, 1])) == [31, 32]
    with pytest.raises(weir.InvalidArgumentError, match="added before"):
        pipe.stage(lambda item: item)
    pipe = context.pipeline(2)
    for _ in range(32):
        pipe.stage(lambda item: item)
    with pytest.raises(weir.InvalidArgumentError, match="1 to 31 stages, and not 32"):
        next(pipe([1]))


def test_a_task_must_not_iterate_or_close(context: weir.Context) -> None:
    pipe = summing(context)
    with pytest.raises(weir.InvalidArgumentError):
        context.submit(lambda: list(pipe(range(3)))).result()
    closing = context.pipeline(2)
    closing.stage(lambda item: closing.close())
    with pytest.raises(weir.InvalidArgumentError):
        list(closing(range(3)))
    assert list(pipe([1])) == [300.0]


def test_a_refused_close_leaves_the_iteration_alone(context: weir.Context) -> None:
    pipe = context.pipeline(2)
    raised: List[BaseException] = []

    @pipe.stage
    def close(number: int) -> int:
        for one in (pipe, context):
            with pytest.raises(weir.InvalidArgumentError, match="task or callback") as failure:
                one.close()
            raised.append(failure.value)
        return number

    assert list(pipe(range(3))) == [0, 1, 2]
    assert len(raised) == 6


def test_it_is_closed_while_another_thread_iterates() -> None:
    for close_context in (False, True):
        context = weir.Context("cpu:2")
        pipe, begun, ended = summing(context), threading.Event(), []

        def iterate() -> None:
            try:
                for _ in pipe(itertools.count()):
                    begun.set()
            except weir.ReleasedError as failure:
                ended.append(failure)

        thread = threading.Thread(target=iterate)
        thread.start()
        assert begun.wait(LATE)
        (context if close_context else pipe).close()
        thread.join(LATE)
        assert len(ended) == 1
        with pytest.raises(weir.ReleasedError):
            next(pipe([1]))
        pipe.close()
        context.close()


def test_a_context_that_is_cancelled() -> None:
    with weir.Context("cpu:1") as context:
        pipe, go = context.pipeline(2), threading.Event()
        pipe.stage(lambda item: item)
        context.submit(go.wait, LATE)
        results = pipe(range(10**9))
        threading.Timer(0.05, lambda: (context.cancel(), go.set())).start()
        with pytest.raises(weir.CancelledError):
            for _ in results:
                context.submit(go.wait, LATE)


@pytest.mark.parametrize("window", [8, 64, 0])
def test_beside_other_tasks(window: int) -> None:
    """Stages submit, as other threads do, to a window that is full at times."""
    with weir.Context("cpu:2", window=window) as context:
        pipe, ended = summing(context, 20), threading.Event()
        busy = context.buffer(10)

        def submit() -> None:
            while not ended.is_set():
                context.submit(lambda x: x.fill(0), weir.update(busy))

        busy.fill(0)
        thread = threading.Thread(target=submit)
        thread.start()
        try:
            assert list(pipe(range(100))) == [300.0 * i for i in range(100)]
        finally:
            ended.set()
            thread.join(LATE)


class Item:
    pass


def test_nothing_is_kept(context: weir.Context) -> None:
    pipe = context.pipeline(3)
    pipe.buffer(10)
    pipe.stage(lambda item: item)
    items = [Item() for _ in range(20)]
    live = [weakref.ref(one) for one in items]
    assert len(list(pipe(items))) == 20
    assert isinstance(next(pipe(items)), Item)
    del items
    gc.collect()
    assert not any(one() for one in live)
    gone = weakref.ref(pipe)
    gc.disable()
    try:
        del pipe
        assert gone() is None
    finally:
        gc.enable()


def test_the_interpreter_ends_in_an_iteration() -> None:
    text = """
import itertools, weir
context = weir.Context("cpu:2")
pipe = context.pipeline(3)
x = pipe.buffer(1000)
@pipe.stage(weir.write(x), parallel=True)
def fill(item, x):
    x[:] = item
    return item
results = pipe(itertools.count())
print([next(results) for _ in range(20)])
"""
    assert run_program(text).startswith("[0, 1, 2")
    run_program(text + "raise SystemExit(3)\n", 3)


def test_ctrl_c() -> None:
    text = """
import itertools, os, signal, threading, time, weir
with weir.Context("cpu:2") as context:
    pipe = context.pipeline(3)
    pipe.stage(lambda item: item)
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        for _ in pipe(itertools.count()):
            pass
    except KeyboardInterrupt:
        print("interrupted", list(pipe(range(3))))
"""
    assert run_program(text) == "interrupted [0, 1, 2]\n"


def test_a_fork_has_no_pipelines() -> None:
    text = """
import os, warnings, weir
warnings.simplefilter("ignore")
context = weir.Context("cpu:2")
pipe = context.pipeline(3)
pipe.stage(lambda item: item)
assert list(pipe(range(3))) == [0, 1, 2]
child = os.fork()
if child == 0:
    try:
        next(pipe([1]))
    except weir.InvalidArgumentError:
        del pipe, context
        os._exit(7)
    os._exit(1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    assert run_program(text) == "7\n"
    assert SECONDS > LATE
