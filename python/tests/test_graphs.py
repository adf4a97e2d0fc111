# SPDX-License-Identifier: Apache-2.0
import gc
import threading
import time
from typing import Any

import numpy as np
import pytest

import weir
from conftest import run_program


def test_a_graph_runs_many_times(context: weir.Context) -> None:
    a, b = context.array(np.zeros(4)), context.array(np.zeros(4))

    def step(view: Any) -> None:
        view += 1

    def add(source: Any, out: Any) -> None:
        out += source

    with context.graph() as graph:
        assert graph.submit(step, weir.update(a), label="step") == 0
        assert graph.submit(add, weir.read(a), weir.update(b)) == 1
    assert graph.info.tasks == 2 and graph.info.edges == 1
    for _ in range(10):
        event = graph.launch()
    event.result()
    assert a.numpy()[0] == 10 and b.numpy()[0] == 55


def test_copies_and_fills(context: weir.Context) -> None:
    a, b = context.buffer(4, np.float64), context.buffer(4, np.float64)
    source, out = np.arange(4.0), np.zeros(4)
    graph = context.graph()
    graph.copy_in(a, source)
    graph.copy(b, a)
    graph.fill(b[1:3], 0)
    graph.copy_out(b, out)
    graph.launch().result()
    assert out.tolist() == [0, 0, 0, 3]
    source += 10
    graph.launch().result()
    assert out.tolist() == [10, 0, 0, 13]
    with pytest.raises(weir.InvalidArgumentError, match="shape"):
        graph.copy_in(a, np.zeros(3))
    with pytest.raises(weir.InvalidArgumentError, match="without gaps"):
        graph.copy_in(a, np.zeros(8)[::2])


def test_a_failure_in_a_graph(context: weir.Context) -> None:
    a = context.array(np.zeros(1))

    def fail(view: Any) -> None:
        raise LookupError("in a graph")

    with context.graph() as graph:
        graph.submit(fail, weir.update(a))
    for _ in range(2):
        a.fill(0)
        event = graph.launch()
        with pytest.raises(LookupError, match="in a graph"):
            event.result()
        context.finish()


def test_a_graph_dies_before_its_launch_is_done(context: weir.Context) -> None:
    a, gate = context.array(np.zeros(1)), threading.Event()

    class Function:
        def __call__(self, view: Any) -> None:
            gate.wait()
            view += 1

    with context.graph() as graph:
        graph.submit(Function(), weir.update(a))
    graph.launch()
    graph.release()
    del graph
    gc.collect()
    gate.set()
    assert a.numpy()[0] == 1


def test_graphs_die_while_other_threads_finish() -> None:
    # What a released graph's functions need was dropped by a wait that had begun before the launch.
    program = """
import threading, time, weir

context = weir.Context("cpu:1")
buffer, over = context.buffer(4), threading.Event()

def finish():
    while not over.is_set():
        context.finish()

threads = [threading.Thread(target=finish) for _ in range(2)]
for one in threads:
    one.start()
for i in range(1000):
    graph = context.graph()
    graph.submit(lambda view, number: time.sleep(0.0003), weir.update(buffer), i)
    graph.launch()
    graph.release()
    del graph
over.set()
for one in threads:
    one.join()
context.close()
print("done")
"""
    assert run_program(program) == "done\n"


def test_a_graph_is_released_while_its_launch_waits_for_room() -> None:
    with weir.Context("cpu:1", window=8) as context:
        gate, buffer, raised = threading.Event(), context.buffer(4), []
        with context.graph() as graph:
            graph.submit(lambda view: None, weir.update(buffer))

        def fill() -> None:
            for _ in range(12):
                context.submit(gate.wait)

        def launch() -> None:
            try:
                graph.launch()
            except weir.Error as failure:
                raised.append(failure)

        threads = [threading.Thread(target=one) for one in (fill, launch)]
        for one in threads:
            one.start()
            time.sleep(0.1)
        graph.release()
        gate.set()
        for one in threads:
            one.join()
        # The launch may have been late, and then found the handle released.
        assert [type(one) for one in raised] == [weir.ReleasedError] and "released" in str(raised[0])


def test_replaced_arguments(context: weir.Context) -> None:
    code = weir.CCode(
        "#include <weir/kernel.h>\n"
        "WEIR_KERNEL(add, 4, 1, 1, (WEIR_BUFFER(float, a), WEIR_SCALAR(float, by))) {\n"
        "  WEIR_FOR_EACH_ITEM { a[weir_global_id(0)] += by; }\n}\n"
    )
    kernel = context.kernel("add", code=code)
    a, b = context.array(np.zeros(4, np.float32)), context.array(np.zeros(4, np.float32))
    with context.graph(timing=True) as graph:
        node = graph.submit(kernel, weir.update(a), np.float32(2))
    graph.launch()
    graph.set_arg(node, 0, weir.update(b))
    graph.set_arg(node, 1, np.float32(3))
    graph.launch().result()
    assert a.numpy()[0] == 2 and b.numpy()[0] == 3
    starts, ends = graph.times()
    assert ends[0] >= starts[0]
    with pytest.raises(weir.OutOfRangeError):
        graph.set_arg(5, 0, weir.update(b))
    with pytest.raises(TypeError, match="access of a buffer"):
        graph.set_arg(node, 1, 3.0)


def test_bad_graphs(context: weir.Context) -> None:
    graph = context.graph()
    with pytest.raises(weir.InvalidArgumentError, match="no tasks"):
        graph.launch()
    event = context.submit(lambda: None)
    with pytest.raises(weir.InvalidArgumentError):
        graph.submit(lambda: None, after=event)
    graph.release()
    with pytest.raises(weir.ReleasedError, match="graph"):
        graph.submit(lambda: None)
