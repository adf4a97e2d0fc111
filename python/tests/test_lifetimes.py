# SPDX-License-Identifier: Apache-2.0
"""Objects die in any order; processes end and fork at any time."""

import gc
import os
import random
import signal
import sys
import threading
import time
from typing import Any, List

import numpy as np
import pytest

import weir
from conftest import run_program

SEED = int(os.environ.get("WEIR_TEST_SEED", "1"))


def test_objects_die_in_any_order() -> None:
    numbers = random.Random(SEED)
    for _ in range(30):
        things: List[Any] = []
        context = weir.Context(f"cpu:{numbers.randint(1, 2)}", window=numbers.choice([8, 64]))
        gate = threading.Event()
        opener = threading.Timer(0.005, gate.set)  # a submission to a full window waits for it
        opener.start()
        memory = np.zeros(64)
        buffers = [context.array(np.zeros(64)), context.wrap(memory), context.buffer(64, np.float64)]
        buffers[2].fill(0)
        things += buffers + [buffers[0][3:9], context.submit(gate.wait)]
        with context.graph() as graph:
            graph.submit(lambda view: None, weir.update(buffers[1]))
        things += [graph, graph.launch()]
        for _ in range(20):
            things.append(context.submit(lambda view: None, weir.update(numbers.choice(buffers))))
        things[-1].add_done_callback(lambda one: None)
        things += [weir.read(buffers[0]), gate, memory]
        cycle: List[Any] = [context]
        cycle.append(cycle)
        things.append(cycle)
        del buffers, graph, context, memory, cycle
        numbers.shuffle(things)
        while things:
            things.pop()
            if numbers.random() < 0.1:
                gc.collect()
        opener.join()
        gc.collect()


def test_a_context_that_a_task_drops() -> None:
    holder = [weir.Context("cpu:1")]
    context = holder[0]
    done = threading.Event()

    def drop() -> None:
        holder.clear()
        done.set()

    context.submit(drop)
    del context
    assert done.wait(60)
    gc.collect()


def test_a_cycle_through_a_function() -> None:
    class Thing:
        pass

    import weakref

    with weir.Context("cpu:1") as context:
        thing = Thing()
        alive = weakref.ref(thing)

        def fail(one: Any) -> None:
            raise ValueError("with a traceback")

        thing.event = context.submit(fail, thing)  # type: ignore[attr-defined]
        thing.event.wait()  # type: ignore[attr-defined]
        with pytest.raises(ValueError):
            context.finish()
    del thing, context
    gc.collect()
    assert alive() is None


def test_close_while_a_thread_waits() -> None:
    context = weir.Context("cpu:1")
    gate = threading.Event()
    event = context.submit(gate.wait)
    outcome: List[Any] = []

    def wait() -> None:
        try:
            outcome.append(event.result())
        except weir.ReleasedError as failure:
            outcome.append(failure)

    waiter = threading.Thread(target=wait)
    waiter.start()
    threading.Timer(0.05, gate.set).start()
    context.close()
    waiter.join()
    assert len(outcome) == 1


ENDS = {
    "tasks in flight": "context.submit(time.sleep, 0.1); print('end')",
    "a chain of tasks": "[context.submit(lambda v: time.sleep(0.002), weir.update(a)) for _ in range(50)]",
    "callbacks": "context.submit(time.sleep, 0.05).add_done_callback(lambda e: print('called', flush=True))",
    "an exception": "context.submit(time.sleep, 0.05); raise SystemExit(0)",
    "a failure that nobody asks for": "context.submit(lambda: 1/0); print('end')",
    "a task that submits": "f = lambda n: n and context.submit(f, n - 1); context.submit(f, 100); print('end')",
    "an open graph": "g = context.graph(); g.submit(time.sleep, 0.01); g.launch(); print('end')",
    "a daemon thread": (
        "t = threading.Thread(target=lambda: [context.submit(time.sleep, 0.0001) for _ in range(10**6)], daemon=True)\n"
        "t.start(); time.sleep(0.05); print('end')"
    ),
    "a module's global": "sys.modules['kept'] = (context, a); context.submit(lambda v: time.sleep(0.05), weir.read(a))",
}


@pytest.mark.parametrize("name", sorted(ENDS))
def test_the_interpreter_ends_with(name: str) -> None:
    run_program(
        "import sys, threading, time, numpy as np, weir\n"
        "context = weir.Context('cpu:2')\n"
        "a = context.array(np.zeros(4))\n" + ENDS[name]
    )


def test_the_interpreter_waits_for_tasks() -> None:
    text = run_program(
        "import time, weir\n"
        "c = weir.Context('cpu:1')\n"
        "c.submit(lambda: (time.sleep(0.1), print('ran', flush=True)))\n"
        "c.submit(time.sleep, 0).add_done_callback(lambda e: print('called', flush=True))\n"
    )
    assert "ran" in text and "called" in text


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child() -> None:
    text = run_program(
        "import os, sys, time, warnings, numpy as np, weir\n"
        "warnings.simplefilter('ignore')\n"
        "with weir.Context('cpu:2') as c:\n"
        "    a = c.array(np.zeros(4)); g = c.graph(); g.submit(time.sleep, 0.01); w = c.wrap(np.zeros(4))\n"
        "    e = c.submit(time.sleep, 0.05)\n"
        "    child = os.fork()\n"
        "    if child == 0:\n"
        "        for attempt in (lambda: c.submit(print), c.finish, a.numpy, e.result, g.launch):\n"
        "            try: attempt()\n"
        "            except weir.InvalidArgumentError as f: assert 'parent process' in str(f)\n"
        "            else: raise SystemExit(5)\n"
        "        del a, w, g, e\n"
        "        with weir.Context('cpu:1') as own:\n"
        "            b = own.array(np.zeros(4)); own.submit(lambda v: v.fill(3), weir.write(b))\n"
        "            assert b.numpy()[0] == 3\n"
        "        print('child', c.closed, flush=True)\n"
        "        sys.exit(7)\n"
        "    assert os.waitpid(child, 0)[1] == 7 << 8\n"
        "    e.result()\n"
        "print('parent')\n"
    )
    assert "child True" in text and "parent" in text


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize("wait", ["c.finish()", "e.result()", "a.numpy()", "c.close()"])
def test_a_wait_can_be_interrupted(wait: str) -> None:
    text = run_program(
        "import os, signal, threading, time, numpy as np, weir\n"
        "c = weir.Context('cpu:1'); a = c.array(np.zeros(4)); gate = threading.Event()\n"
        "e = c.submit(lambda v: gate.wait(), weir.update(a))\n"
        "threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
        f"try: {wait}\n"
        "except KeyboardInterrupt: print('interrupted')\n"
        "gate.set(); c.finish(); c.close()\n"
    )
    assert "interrupted" in text


def test_the_end_of_the_interpreter_is_interrupted() -> None:
    text = run_program(
        "import os, signal, time, weir\n"
        "def slow(seconds):\n"
        "    time.sleep(seconds)\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    time.sleep(seconds)\n"
        "contexts = [weir.Context('cpu:1') for _ in range(2)]\n"
        "contexts[0].submit(slow, 0.2)\n"
        "contexts[1].submit(time.sleep, 0.4)\n"
        "for one in contexts: one.submit(print, 'ran')\n"
    )
    assert text == ""  # it skips what has not started in each context


def test_a_signal_handler_runs_during_a_wait() -> None:
    if threading.current_thread() is not threading.main_thread():
        pytest.skip("not in the main thread")
    seen = []
    before = signal.signal(signal.SIGUSR1, lambda *_: seen.append(1))
    try:
        with weir.Context("cpu:1") as context:
            threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGUSR1)).start()
            context.submit(time.sleep, 0.2).result()
            assert seen == [1]
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_nothing_leaks() -> None:
    """Tasks, events and views leave no objects behind."""
    with weir.Context("cpu:2") as context:
        a, b = context.array(np.zeros(4)), context.buffer(4, np.float64)

        def copy(source: Any, out: Any) -> None:
            out[:] = source

        def run(count: int) -> int:
            for i in range(count):
                event = context.submit(copy, weir.read(a), weir.write(b))
                if i % 64 == 0:
                    event.result()
            context.finish()
            event = None  # type: ignore[assignment]
            gc.collect()
            return len(gc.get_objects()) if not hasattr(sys, "getallocatedblocks") else sys.getallocatedblocks()

        run(500)
        before = run(500)
        after = run(5000)
        assert after - before < 200
