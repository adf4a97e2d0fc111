# SPDX-License-Identifier: Apache-2.0
import threading
from typing import Any, Callable

import numpy as np
import pytest

import weir
from weir import _core


def test_bad_options_of_contexts() -> None:
    with pytest.raises(weir.InvalidArgumentError, match="issue is 'auto'"):
        weir.Context(issue="fast")
    with pytest.raises(weir.InvalidArgumentError, match="abacus"):
        weir.Context("abacus")
    with pytest.raises(weir.InvalidArgumentError, match="window"):
        weir.Context("cpu:1", window=3)
    for option, most in (("window", 32), ("queues", 32), ("memory_limit", 64), ("seed", 64), ("rename_limit", 64)):
        for value in (-1, 1 << most, 1 << 100):  # those of C would be cut to other numbers
            options: Any = {option: value}
            with pytest.raises(weir.InvalidArgumentError, match=f"{option} is a number from 0 to 2..{most} - 1"):
                weir.Context("cpu:1", **options)
    truthy: Any = 2
    with weir.Context("cpu:1", in_order=truthy, trace=truthy) as context:  # neither check=True nor other flags
        assert context.submit(lambda: 5).result() == 5
    with pytest.raises(TypeError):
        weir.Context("cpu:1", 5)  # type: ignore[misc]
    if not any(one.kind == "cuda" and one.available for one in weir.info().kinds):
        with pytest.raises(weir.UnavailableError, match="cuda|CUDA"):
            weir.Context("cuda")


def test_bad_tasks(context: weir.Context) -> None:
    a = context.buffer(8, label="a")
    submit: Any = context.submit
    with pytest.raises(TypeError, match="kernel or a function"):
        submit()
    with pytest.raises(TypeError, match="not <class 'int'>"):
        submit(5)
    with pytest.raises(TypeError, match="no keyword argument 'colour'"):
        submit(print, colour=1)
    with pytest.raises(TypeError, match="not of <class 'numpy.ndarray'>"):
        weir.read(np.zeros(3))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="sequence of Events|iterable"):
        submit(print, after=3)
    with pytest.raises(TypeError, match="sequence of Events"):
        submit(print, after=[3])
    for groups in ((), (1, 2, 3, 4), 0, (1, 0), -1):
        with pytest.raises((ValueError, OverflowError)):
            submit(print, groups=groups)
    for priority in (1 << 31, 1 << 32, -1 - (1 << 31)):  # that C would cut to one of another sign, or to 0
        with pytest.raises(OverflowError):
            submit(print, priority=priority)
    with pytest.raises(TypeError, match="label is a str or None"):
        submit(print, label=5)
    with pytest.raises(weir.InvalidArgumentError, match="overlap.*'a'|'a'.*overlap"):
        submit(print, weir.write(a[0:5]), weir.read(a[4:8]))
    with weir.Context("cpu:1") as other:
        with pytest.raises(weir.InvalidArgumentError, match="argument 0: the buffer belongs to another context"):
            other.submit(print, weir.read(a))
        with pytest.raises(weir.InvalidArgumentError, match="another context"):
            a.copy_from(other.buffer(8))
    a.release()
    with pytest.raises(weir.ReleasedError, match="argument 1: the buffer was released"):
        submit(print, 1, weir.read(a[0:1]))
    with pytest.raises(weir.ReleasedError):
        a.numpy()
    with pytest.raises(ValueError, match="not a number"):
        context.finish(timeout=float("nan"))


def test_numbers_that_c_cannot_take(context: weir.Context) -> None:
    a, graph, split = context.array(np.zeros(4)), context.graph(), context.split()
    kernel = context.kernel("k", cpu=weir.Cpu(1))
    node = graph.submit(print, weir.read(a))
    attempts: Any = (
        lambda: context.graph(queue=1 << 32),
        lambda: graph.set_arg(1 << 32, 0, weir.read(a)),
        lambda: graph.set_arg(node, -1, weir.read(a)),
        lambda: split.submit(kernel, weir.block(weir.read(a), 1, halo=1 << 32), groups=4),
        lambda: context.split(rounds=(1 << 32) + 3),
        lambda: context.split(least=-1),
        lambda: context.split(granularities=[1 << 32] * len(context.devices)),
    )
    for attempt in attempts:
        with pytest.raises(weir.InvalidArgumentError, match="is a number from 0 to"):
            attempt()
    lines: Any = 2.5
    with pytest.raises(TypeError):
        context.pipeline(lines=lines)


def test_objects_of_a_closed_context() -> None:
    context = weir.Context("cpu:1")
    a, event, graph = context.buffer(4), context.submit(lambda: 5), context.graph()
    kernel = context.kernel("k", cpu=weir.Cpu(1))
    context.close()
    context.close()
    assert context.closed and "closed" in repr(context)
    attempts: Any = (
        context.finish,
        context.cancel,
        context.statistics,
        lambda: context.submit(print),
        lambda: context.buffer(4),
        a.numpy,
        event.result,
        event.done,
        graph.launch,
        kernel.release,
        lambda: context.__enter__(),
    )
    for attempt in attempts:
        with pytest.raises(weir.ReleasedError, match="closed"):
            attempt()
    assert "closed" in repr(event)


class Number:
    """A number whose conversion calls a function first, as another thread may at that time."""

    def __init__(self, function: Callable[[], None]) -> None:
        self.function = function

    def __index__(self) -> int:
        self.function()
        return 0


def test_what_ends_while_a_task_is_submitted() -> None:
    for what in ("context", "graph", "buffer"):
        context = weir.Context("cpu:1")
        a, graph = context.array(np.zeros(4)), context.graph()
        ends: Any = {"context": context.close, "graph": graph.release, "buffer": a.release}
        submits: Any = (graph.submit,) if what == "graph" else (context.submit, graph.submit)
        for submit in submits:
            with pytest.raises(weir.ReleasedError):
                submit(print, weir.update(a), priority=Number(ends[what]))
            assert what != "context" or context.closed
        context.close()


def test_submissions_while_another_thread_closes_the_context() -> None:
    raised = []

    def submit(context: weir.Context) -> None:
        try:
            while True:
                context.submit(int)
        except weir.Error as failure:
            raised.append(type(failure))

    for _ in range(20):
        context = weir.Context("cpu:1")
        threads = [threading.Thread(target=submit, args=(context,)) for _ in range(3)]
        for one in threads:
            one.start()
        context.submit(int).result()
        context.close()
        for one in threads:
            one.join()
    assert len(raised) == 60 and set(raised) == {weir.ReleasedError}


def test_with_blocks() -> None:
    def fail() -> None:
        raise KeyError("at the end")

    with pytest.raises(KeyError, match="at the end"):
        with weir.Context("cpu:1") as context:
            context.submit(fail)
    assert context.closed
    with pytest.raises(ZeroDivisionError):
        with weir.Context("cpu:1") as context:
            context.submit(fail)
            raise ZeroDivisionError
    assert context.closed


MANY = 3000  # failures: more than a context keeps exceptions of
FIRST = 512  # those of which it keeps all


def fail(number: int) -> None:
    raise KeyError(number)


@pytest.mark.parametrize("workers", [1, 2])
def test_the_first_of_many_failures_comes_with_its_exception(workers: int) -> None:
    with weir.Context(f"cpu:{workers}") as context:
        for _ in range(2):
            for number in range(MANY):
                context.submit(fail, number)
            with pytest.raises(KeyError) as info:
                context.finish()
            # A worker that is held up ends its first task after many of the other's.
            most = 0 if workers == 1 else FIRST
            assert info.value.args[0] <= most and info.traceback[-1].name == "fail"
            context.finish()


def test_many_failures_that_were_told_are_no_news() -> None:
    with weir.Context("cpu:2") as context:
        for _ in range(2):
            events = [context.submit(fail, number) for number in range(MANY)]
            for number, event in reversed(list(enumerate(events))):
                failure = event.exception()
                assert isinstance(failure, KeyError) and failure.args == (number,)
            context.finish()
        events = [context.submit(fail, number) for number in range(MANY)]
        assert [isinstance(event.exception(), KeyError) for event in events[:-1]] == [True] * (MANY - 1)
        with pytest.raises(KeyError, match=str(MANY - 1)):
            context.finish()
        events = []


def test_classes_of_errors() -> None:
    assert issubclass(weir.InvalidArgumentError, (weir.Error, ValueError))
    assert issubclass(weir.TimeoutError, TimeoutError) and issubclass(weir.OutOfRangeError, IndexError)
    assert weir.OutOfRangeError("x").status_name == "WEIR_ERROR_OUT_OF_RANGE"
    for kind in (_core.Event, _core.Handle, _core.Storage, _core.Access, weir.Event, weir.Kernel):
        with pytest.raises(TypeError, match="made by"):
            kind()  # type: ignore[call-arg]


def test_memory_limit() -> None:
    with weir.Context("cpu:1", memory_limit=1 << 20) as context:
        with pytest.raises(weir.OutOfMemoryError) as info:
            context.buffer(1 << 22, np.uint8).fill(0).result()
        assert isinstance(info.value, MemoryError)


def test_full_device() -> None:
    with weir.Context("sim:plain+memory_mib=4,cpu:1", device_memory_limit=2 << 20) as context:
        buffers = [context.buffer(1 << 18, np.float32) for _ in range(5)]  # of which the device holds two
        for i, buffer in enumerate(buffers):
            buffer.fill(i)
        for i, buffer in enumerate(buffers):
            assert buffer.numpy()[-1] == i
        assert context.statistics()["evictions"] >= 3


def test_check_mode() -> None:
    def wrong(view: Any) -> None:
        pass  # overwrites nothing

    with weir.Context("cpu:1", check=True) as context:
        with pytest.raises(weir.TaskFailedError, match="argument 0"):
            context.submit(wrong, weir.write(context.buffer(4))).result()
        context.finish()
        context.submit(wrong, weir.write(context.buffer(4)))
        with pytest.raises(weir.TaskFailedError, match="argument 0"):
            context.finish()


def test_info() -> None:
    info = weir.info()
    assert info.version == weir.__version__ and {"cpu", "cuda", "sim"} <= {one.kind for one in info.kinds}
    assert "cpu" in str(info)


def test_devices(context: weir.Context) -> None:
    device = context.device("cpu")
    assert device == context.device(0) == context.device("cpu:2") == context.device(device)
    assert device.lanes == 2 and context.device_time() > 0
    with pytest.raises(weir.OutOfRangeError, match="it has cpu:2"):
        context.device("vulkan")
