# SPDX-License-Identifier: Apache-2.0
"""weir.warp: captured programs give what Warp's own graphs give. Needs Warp; all but a few tests need a card."""

import itertools
import os
import random
import subprocess
import sys

import numpy as np
import pytest

wp = pytest.importorskip("warp")
wp.config.quiet = True

import weir.warp  # noqa: E402

N = 64


@wp.kernel
def scale(x: wp.array(dtype=float), factor: float, y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * factor + 1.0


@wp.kernel
def add(x: wp.array(dtype=float), y: wp.array(dtype=float), z: wp.array(dtype=float)):
    i = wp.tid()
    z[i] = x[i] + y[i]


@wp.kernel
def total(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    wp.atomic_add(out, 0, x[wp.tid()])


@wp.func
def mixed(x: wp.array(dtype=float), out: wp.array(dtype=float), i: int):
    out[i] = out[i] * 0.5 + x[i]


@wp.kernel
def mix(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    mixed(x, out, wp.tid())


@wp.struct
class Pair:
    source: wp.array(dtype=float)
    target: wp.array(dtype=float)


@wp.kernel
def of_struct(pair: Pair):
    i = wp.tid()
    pair.target[i] = pair.target[i] + pair.source[i]


@wp.kernel
def count_down(count: wp.array(dtype=int)):
    count[0] = count[0] - 1


@wp.kernel
def nearest(mesh: wp.uint64, out: wp.array(dtype=float)):
    i = wp.tid()
    found = wp.mesh_query_point(mesh, wp.vec3(float(i), 0.0, 1.0), 100.0)
    out[i] = found.u


card = pytest.mark.skipif(not wp.is_cuda_available(), reason="Warp finds no CUDA card")


def launch(kernel, *inputs):
    wp.launch(kernel, dim=N, inputs=list(inputs), device="cuda")


def arrays(count, seed=0):
    numbers = np.random.default_rng(seed)
    return [wp.array(numbers.random(N, dtype=np.float32), dtype=float, device="cuda") for _ in range(count)]


def both(step, make, launches=60):
    """Launches a step as Warp's graph and as ours, from the same state. Returns our capture."""
    states = [make(), make()]
    captured = []
    for scoped, state in zip((wp.ScopedCapture, weir.warp.ScopedCapture), states):
        with scoped(device="cuda") as capture:
            step(state)
        captured.append(capture)
    for _ in range(launches):
        for capture in captured:
            wp.capture_launch(capture.graph)
    for own, ours in zip(*states):
        np.testing.assert_array_equal(own.numpy(), ours.numpy())
    return captured[1]


def in_turn(names):
    """Without repeated ones: an operation may be several nodes."""
    return [name for name, _ in itertools.groupby(names)]


def branches(state):
    x, a, b, c, out = state[:5]
    for result, factor in ((a, 0.5), (b, 0.25), (c, 0.125)):
        launch(scale, x, factor, result)
        launch(mix, x, result)
    launch(add, a, b, out)
    launch(add, out, c, x)


@card
def test_branches_overlap():
    capture = both(branches, lambda: arrays(5))
    report = capture.report
    assert report.reason is None and report.operations == 8 and report.operations_between_all == 0
    assert report.dependences == 7
    assert report.serial_us > 0 and report.parallel_us > 0 and report.longest_first_us > 0
    assert report.parallel is not None and report.longest_first is not None
    assert capture.operations == ["scale", "mix", "scale", "mix", "scale", "mix", "add", "add"]
    assert "needs nothing of" in capture.why(0, 2)
    assert capture.why(0, 6).splitlines() == [
        "1 mix writes what it wrote, 0 scale: 256 bytes",
        "6 add reads what it wrote, 1 mix: 256 bytes",
    ]
    with pytest.raises(ValueError, match="0 <= first < last < 8"):
        capture.why(3, 8)


@card
def test_timeline():
    own, ours = arrays(5), arrays(5)
    with weir.warp.ScopedCapture(device="cuda") as capture:
        branches(ours)
    wp.capture_launch(capture.graph)
    events = [event for event in capture.timeline(2).json()["traceEvents"] if event.get("cat") == "task"]
    assert [event["name"] for event in events].count("mix") == 6
    for _ in range(3):
        branches(own)
    for one, other in zip(own, ours):
        np.testing.assert_array_equal(one.numpy(), other.numpy())


@card
def test_arrays_that_the_block_makes():
    def step(state):
        x, out = state
        for factor in (0.5, 0.25, 0.125):
            made = wp.zeros(N, dtype=float, device="cuda")
            launch(scale, x, factor, made)
            launch(mix, made, out)
        wp.copy(x, out)

    capture = both(step, lambda: arrays(2))
    assert capture.report.bytes == 3 * 256 + 512
    assert capture.report.operations_between_all == 0


@card
def test_arrays_outlive_the_capture():
    x = arrays(1)[0]
    with weir.warp.ScopedCapture(device="cuda") as capture:
        made = wp.zeros(N, dtype=float, device="cuda")
        launch(scale, x, 2.0, made)
    wp.capture_launch(capture.graph)
    expected = x.numpy() * np.float32(2.0) + np.float32(1.0)
    del capture
    np.testing.assert_array_equal(made.numpy(), expected)


@card
def test_structs_views_fills_and_sums():
    def step(state):
        a, b, c, out = state
        pair = Pair()
        pair.source, pair.target = a, b
        launch(of_struct, pair)
        c[: N // 2].fill_(3.0)
        c[::2].fill_(2.0)
        wp.launch(add, dim=N // 2, inputs=[a[: N // 2], c[N // 2 :], out[: N // 2]], device="cuda")
        out[N // 2 :].zero_()
        launch(total, a, out[N - 1 :])

    # The sum of floats in any order is another one: of equal numbers it is the same.
    capture = both(step, lambda: [wp.full(N, value, dtype=float, device="cuda") for value in (1.0, 2.0, 4.0, 8.0)])
    assert capture.report.operations_between_all == 0


@card
def test_loops_are_parallel_inside():
    def body(state):
        branches(state)
        wp.launch(count_down, dim=1, inputs=[state[5]], device="cuda")

    def step(state):
        state[5].fill_(5)
        launch(scale, state[4], 0.5, state[1])
        wp.capture_while(state[5], body, state=state)
        launch(add, state[1], state[2], state[3])

    def make():
        return [*arrays(5), wp.zeros(1, dtype=int, device="cuda")]

    capture = both(step, make)
    report = capture.report
    assert report.reason is None and report.bodies == 1 and report.parallel is not None
    assert report.operations_between_all == 0
    assert "while" in capture.operations
    state = make()
    with weir.warp.ScopedCapture(device="cuda") as capture:
        step(state)
    for _ in range(60):
        wp.capture_launch(capture.graph)
    report = capture.report
    ran = [event for event in capture.timeline(launches=2).json()["traceEvents"] if event["ph"] == "X"]
    assert in_turn(event["name"] for event in ran) == in_turn(2 * capture.operations)
    loops = [event["dur"] for event in ran if event["name"] == "while"]
    assert max(loops) > max(event["dur"] for event in ran if event["name"] != "while")
    wp.capture_launch(capture.graph)  # the graph is as it was
    assert capture.report == report and report.parallel is not None


@card
def test_a_timeline_of_branches_before_the_trial_ends():
    a, b, flag = arrays(1)[0], wp.zeros(N, dtype=float, device="cuda"), wp.full(1, 1, dtype=int, device="cuda")
    with weir.warp.ScopedCapture(device="cuda") as capture:
        launch(scale, a, 2.0, b)
        wp.capture_if(flag, on_true=lambda: launch(mix, a, b))
    for _ in range(3):
        timeline = capture.timeline()
        ran = [event["name"] for event in timeline.json()["traceEvents"] if event["ph"] == "X"]
        assert in_turn(ran) == in_turn(capture.operations)
        assert "<svg" in timeline._repr_html_()
        with pytest.raises(ValueError, match="as .json alone"):
            timeline.save("timeline.jsonl")
        wp.capture_launch(capture.graph)
    for _ in range(60):
        wp.capture_launch(capture.graph)
    assert capture.report.parallel is not None


@card
def test_branches_of_conditions():
    def step(state):
        a, b, c, flag = state
        launch(scale, a, 0.5, b)
        wp.capture_if(flag, on_true=lambda: launch(mix, a, b), on_false=lambda: launch(mix, b, a))
        wp.launch(count_down, dim=1, inputs=[flag], device="cuda")
        launch(add, a, b, c)

    def make():
        return [*arrays(3), wp.full(1, 20, dtype=int, device="cuda")]

    capture = both(step, make)
    assert capture.report.reason is None and capture.report.bodies == 2


@card
def test_kernels_with_hidden_memory_keep_their_place():
    points = wp.array(np.random.default_rng(1).random((9, 3), dtype=np.float32), dtype=wp.vec3, device="cuda")
    mesh = wp.Mesh(points=points, indices=wp.array(np.arange(9, dtype=np.int32), dtype=int, device="cuda"))

    def step(state):
        a, b = state
        launch(scale, a, 0.5, b)
        launch(nearest, mesh.id, a)
        launch(mix, a, b)

    capture = both(step, lambda: arrays(2))
    assert capture.report.operations_between_all == 1
    assert "keeps its place between all others: " in capture.why(0, 1) and "mesh_query_point" in capture.why(0, 1)


@card
def test_recorded_commands():
    def step(state):
        a, b, c, out = state
        commands = [wp.launch(scale, dim=N, inputs=[a, 0.5, each], device="cuda", record_cmd=True) for each in (b, c)]
        for command in commands:
            command.launch()
        launch(add, b, c, out)

    report = both(step, lambda: arrays(4)).report
    assert report.operations == 3 and report.operations_between_all == 0 and report.dependences == 2


@card
def test_several_streams_stay():
    a, b = arrays(2)
    side = wp.Stream("cuda")
    with pytest.warns(RuntimeWarning, match="several streams"), weir.warp.ScopedCapture(device="cuda") as capture:
        launch(scale, a, 0.5, b)
        side.wait_stream(wp.get_stream("cuda"))
        with wp.ScopedStream(side):
            launch(scale, b, 0.5, a)
        wp.get_stream("cuda").wait_stream(side)
    wp.capture_launch(capture.graph)
    assert capture.report.reason.startswith("it was captured in several streams")


@card
@pytest.mark.parametrize("seed", range(12))
def test_random_programs(seed):
    choose = random.Random(seed)
    program = []
    for _ in range(40):
        first, second, third = (choose.randrange(6) for _ in range(3))
        start, other = choose.randrange(N // 2), choose.randrange(N // 2)
        program.append((choose.randrange(6), first, second, third, start, other, choose.randrange(1, N // 2)))

    def step(state):
        for kind, first, second, third, start, other, count in program:
            a, b, c = state[first], state[second], state[third]
            if kind == 0:
                launch(mix, a, b)
            elif kind == 1 and first != second:
                wp.copy(a, b, dest_offset=start, src_offset=other, count=count)
            elif kind == 2:
                a[start : start + count].fill_(float(other))
            elif kind == 3:
                made = wp.empty(N, dtype=float, device="cuda")
                launch(scale, a, 0.5, made)
                launch(mix, made, b)
            elif kind == 4:
                wp.launch(add, dim=count, inputs=[a[start:], b[other:], c[start:]], device="cuda")
            else:
                launch(add, a, b, c)

    both(step, lambda: arrays(6, seed), launches=50)


@card
def test_an_exception_in_the_block():
    a, b = arrays(2)
    with pytest.raises(ZeroDivisionError), weir.warp.ScopedCapture(device="cuda"):
        launch(scale, a, 0.5, b)
        raise ZeroDivisionError
    with pytest.raises(RuntimeError, match="another capture"), weir.warp.ScopedCapture(device="cuda"):
        with weir.warp.ScopedCapture(device="cuda"):
            pass
    with weir.warp.ScopedCapture(device="cuda") as capture:
        launch(scale, a, 0.5, b)
    wp.capture_launch(capture.graph)
    np.testing.assert_array_equal(b.numpy(), a.numpy() * np.float32(0.5) + np.float32(1.0))
    with pytest.raises(RuntimeError, match="captures once"), capture:
        pass


STUB = """
import ctypes, gc, os, types
os.environ.update(WEIR_CUDA_DRIVER=STUB, WEIR_CACHE="", WEIR_STUB_ABORT="1")
import contextlib
from warp._src import context as warp_context
cu = ctypes.CDLL(STUB)
def check(result): assert result == 0, result
check(cu.cuInit(0))
context, stream, raw = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
check(cu.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
check(cu.cuCtxPushCurrent_v2(context))
check(cu.cuStreamCreateWithPriority(ctypes.byref(stream), 0, 0))
check(cu.cuGraphCreate(ctypes.byref(raw), 0))
def plain(executable, stream):
    check(cu.cuGraphLaunch(executable, stream))
    return True
core = types.SimpleNamespace(
    wp_cuda_graph_launch=plain,
    wp_cuda_graph_exec_destroy=lambda context, executable: check(cu.cuGraphExecDestroy(executable)))
warp_context.runtime = types.SimpleNamespace(core=core)
from weir.warp import ScopedCapture, _trial
from weir.warp._trial import Order, Trial
class Graph: pass
def make_graph(raw):
    graph = Graph()
    graph.device = types.SimpleNamespace(
        ordinal=0, context=context, context_guard=contextlib.nullcontext(),
        stream=types.SimpleNamespace(cuda_stream=stream.value))
    graph.graph, graph.graph_exec = raw, None
    return graph
def use_times(trial, found):
    def microseconds(interval, wait):
        check(cu.cuEventSynchronize(interval.end))
        return found.get(next(order for order, each in trial._intervals if each is interval), 1000.0)
    _trial._Interval.microseconds = microseconds
def launch(graph, times=1):
    for _ in range(times):
        assert core.wp_cuda_graph_launch(graph.graph_exec, stream)
    check(cu.cuStreamSynchronize(stream))
"""

TRIAL = """
def make(found):
    graph, arranged = make_graph(raw), []
    trial = Trial(graph, arranged.append)
    use_times(trial, found)
    return graph, trial, arranged
for best in Order:
    graph, trial, arranged = make({order: 5.0 if order == best else 7.0 for order in Order})
    for launch in range(_trial.LAUNCHES):
        assert trial.decision is None and core.wp_cuda_graph_launch(graph.graph_exec, stream)
    trial.decide(wait=True)
    assert trial.decision == best == trial._order and trial.times[best] == 5.0 == min(trial.times.values())
    phases = [Order.PARALLEL, Order.SERIAL, Order.LONGEST_FIRST, Order.PARALLEL]
    assert arranged == phases + [best] * (best != Order.PARALLEL), arranged
    assert not _trial._pending and core.wp_cuda_graph_launch(graph.graph_exec, stream)
    check(cu.cuStreamSynchronize(stream))
    check(cu.cuGraphExecDestroy(graph.graph_exec))
    kept, trial, arranged = make({})
    trial.keep(best)
    assert trial.decision == best and arranged == [best] * (best != _trial.FIRST) and not _trial._pending
    check(cu.cuGraphExecDestroy(kept.graph_exec))
"""


# Two fills of other bytes, then one of both; the memory is gone before the order changes.
MEMORY = """
from weir import _cuda
from weir._cuda import listed_edges
from weir._hazards import Access
class Driver: # fills have no priority
    refused = set()
    def __getattr__(self, name):
        if name in self.refused: return lambda *arguments: 2
        return (lambda least, greatest: 0) if name == "cuCtxGetStreamPriorityRange" else getattr(cu, name)
_cuda._library = Driver()
def captured():
    pointer, raw = ctypes.c_uint64(), ctypes.c_void_p()
    check(cu.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(512)))
    check(cu.cuStreamBeginCapture_v2(stream, 2))
    at = pointer.value
    parts = [(at, at + 256), (at + 256, at + 512), (at, at + 512)]
    for first, end in parts:
        check(cu.cuMemsetD8Async(ctypes.c_uint64(first), 1, ctypes.c_size_t(end - first), stream))
    check(cu.cuStreamEndCapture(stream, ctypes.byref(raw)))
    capture = ScopedCapture.__new__(ScopedCapture)
    capture.graph = make_graph(raw)
    capture._device, capture._arena, capture._trial, capture._reason = capture.graph.device, None, None, None
    capture._counts = {}
    chain = listed_edges(raw.value)
    first, = {head for head, _ in chain} - {tail for _, tail in chain}
    second = dict(chain)[first]
    third = dict(chain)[second] # the driver lists nodes in any order
    needed = [(first, third), (second, third)]
    capture._try([(raw.value, [(node, [Access(*part, True)]) for node, part in enumerate(parts)])])
    return capture, pointer, {order: sorted(chain if order == Order.SERIAL else needed) for order in Order}
def edges(capture):
    return sorted(listed_edges(capture.graph.graph.value))
def end(capture):
    if capture.graph.graph_exec is not None:
        check(cu.cuGraphExecDestroy(capture.graph.graph_exec))
    check(cu.cuGraphDestroy(capture.graph.graph))
"""

GONE = """
for best in Order:
    capture, pointer, expected = captured()
    use_times(capture._trial, {best: 5.0})
    launch(capture.graph, _trial.LAUNCHES)
    check(cu.cuMemFree_v2(pointer))
    report = capture.report
    assert report.reason is None and report.dependences == 2, report
    assert (report.parallel, report.longest_first) == (best != Order.SERIAL, best == Order.LONGEST_FIRST)
    assert edges(capture) == expected[best]
    end(capture)
"""

PHASES = """
capture, pointer, expected = captured()
for phase in _trial._PHASES:
    launch(capture.graph, _trial.LAUNCHES // len(_trial._PHASES))
    assert edges(capture) == expected[phase], phase
end(capture)
check(cu.cuMemFree_v2(pointer))
"""

# Each call of the driver that changes the order fails in turn, at a launch and in a report.
FAILURES = """
CHANGES = ("cuGraphAddDependencies", "cuGraphRemoveDependencies", "cuGraphInstantiateWithFlags", "cuGraphUpload")
def run(name, launches):
    capture, pointer, expected = captured()
    use_times(capture._trial, {Order.SERIAL: 5.0, Order.LONGEST_FIRST: 6.0})
    launch(capture.graph, launches)
    cu.stub_fail_nth(name.encode(), ctypes.c_uint64(1), 2)
    if launches < _trial.LAUNCHES:
        launch(capture.graph)
    report = capture.report
    assert cu.stub_failed() and name in ctypes.string_at(cu.stub_failed()).decode(), name
    assert report.reason.startswith("the order 'as captured' could not be had: ") and name in report.reason, report
    assert report.parallel and not report.longest_first, report
    assert (report.serial_us is None) == (launches < _trial.LAUNCHES)
    assert edges(capture) == expected[Order.PARALLEL] and not _trial._pending
    launch(capture.graph, 3)
    end(capture)
    check(cu.cuMemFree_v2(pointer))
cu.stub_failed.restype = ctypes.c_void_p
for name in CHANGES:
    run(name, 2 * _trial.LAUNCHES // len(_trial._PHASES))
    run(name, _trial.LAUNCHES)
capture, pointer, expected = captured()
use_times(capture._trial, {Order.SERIAL: 5.0})
launch(capture.graph, _trial.LAUNCHES)
Driver.refused.add("cuGraphInstantiateWithFlags") # now and ever
report = capture.report
assert "cuGraphInstantiateWithFlags returned 2" in report.reason and report.parallel, report
assert capture.graph.graph_exec is None and edges(capture) == expected[Order.PARALLEL] and not _trial._pending
end(capture)
check(cu.cuMemFree_v2(pointer))
"""

# A trial keeps no graph.
DROPPED = """
capture, pointer, expected = captured()
raw, executable = capture.graph.graph, capture.graph.graph_exec
launch(capture.graph)
del capture
gc.collect()
assert not _trial._pending
check(cu.cuGraphExecDestroy(executable))
check(cu.cuGraphDestroy(raw))
check(cu.cuMemFree_v2(pointer))
"""

# A timeline by events beside the nodes, of a graph whose second fill stands for a loop: before, in and after the trial.
LOOPS = """
from weir.warp._record import Operation
import warp
warp.synchronize_device = lambda device: None
def with_loop():
    capture, pointer, expected = captured()
    names = ("fill", "while", "both")
    capture._operations = [
        Operation(name, at, at + 1, [], conditional=name == "while") for at, name in enumerate(names)
    ]
    capture._counts["bodies"] = 1
    ordered = expected[Order.SERIAL]
    first, = {head for head, _ in ordered} - {tail for _, tail in ordered}
    capture._handles = [first, dict(ordered)[first], dict(ordered)[dict(ordered)[first]]]
    return capture, pointer, expected
def look(capture):
    before, operations = edges(capture), [operation.name for operation in capture._operations]
    ran = [event for event in capture.timeline(2).json()["traceEvents"] if event["ph"] == "X"]
    assert [event["name"] for event in ran] == 2 * operations, ran
    assert ran[2]["ts"] >= max(event["ts"] + event["dur"] for event in ran[:2]), ran
    assert edges(capture) == before and len(listed_nodes(capture.graph.graph.value)) == 3
from weir._cuda import listed_nodes
capture, pointer, expected = with_loop()
use_times(capture._trial, {Order.SERIAL: 5.0})
for launches in (0, 1, 12, 14, _trial.LAUNCHES - 27):
    launch(capture.graph, launches)
    look(capture)
assert capture.report.parallel is False and edges(capture) == expected[Order.SERIAL] and not _trial._pending
look(capture)
assert not _trial._pending
launch(capture.graph, 2)
for name in ("cuGraphAddEventRecordNode", "cuEventCreate", "cuGraphInstantiateWithFlags", "cuGraphLaunch"):
    cu.stub_fail_nth(name.encode(), ctypes.c_uint64(1), 2)
    try: capture.timeline()
    except RuntimeError as failure: assert "graph with conditions (1 while): weir: cu" in str(failure), failure
    else: raise SystemExit("no error of " + name)
    assert edges(capture) == expected[Order.SERIAL] and len(listed_nodes(capture.graph.graph.value)) == 3
    launch(capture.graph)
end(capture)
check(cu.cuMemFree_v2(pointer))
capture, pointer, expected = with_loop() # without a trial Warp makes an executable graph at the next launch
capture._trial.keep(Order.PARALLEL)
capture._trial = None
look(capture)
assert capture.graph.graph_exec is None
end(capture)
check(cu.cuMemFree_v2(pointer))
"""


def on_stub(program):
    if "WEIR_TEST_CUDA_STUB" not in os.environ:
        pytest.skip("WEIR_TEST_CUDA_STUB names no driver without a card")
    head = f"STUB = {os.environ['WEIR_TEST_CUDA_STUB']!r}{STUB}"
    run = subprocess.run([sys.executable, "-c", head + program], capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stdout + run.stderr


def test_the_fastest_order_is_kept():
    on_stub(TRIAL)


def test_the_order_changes_after_memory_is_gone():
    on_stub(MEMORY + GONE)


def test_each_phase_has_its_order():
    on_stub(MEMORY + PHASES)


def test_an_order_that_cannot_be_had_ends_the_trial():
    on_stub(MEMORY + FAILURES)


def test_a_capture_that_is_dropped_in_its_trial_is_gone():
    on_stub(MEMORY + DROPPED)


def test_timelines_with_loops():
    on_stub(MEMORY + LOOPS)


def test_no_card():
    with pytest.raises(ValueError, match="captures work of CUDA devices, and cpu is none"):
        weir.warp.ScopedCapture(device="cpu")


@card
def test_accelerated_functions():
    calls = []

    def step(state, factor):
        calls.append(factor)
        a, b, c = state
        made = wp.zeros(N, dtype=float, device="cuda")
        launch(scale, a, factor, made)
        launch(mix, made, b)
        launch(mix, b, c)
        launch(mix, c, a)
        return c

    own, ours = arrays(3), arrays(3)
    fast = weir.warp.accelerate(step, device="cuda")
    for factor in (0.5, 0.5, 0.5, 0.25, 0.5, 0.25, 0.25):
        assert step(own, factor) is own[2]
        assert fast(ours, factor) is ours[2]
        for one, other in zip(own, ours):
            np.testing.assert_array_equal(one.numpy(), other.numpy())
    assert len(calls) == 7 + 2 * 3
    assert fast.report(ours, 0.5).operations == 5
    assert fast.report(own, 0.5) is None


@card
def test_functions_that_change_are_refused():
    class Simulation:
        def __init__(self):
            self.a, self.b = arrays(2)
            self.time = 0.0

        def swap(self):
            launch(scale, self.a, 0.5, self.b)
            self.a, self.b = self.b, self.a

        def tick(self):
            self.time += 1.0
            launch(scale, self.a, self.time, self.b)

    for method in ("swap", "tick"):
        simulation = Simulation()
        fast = weir.warp.accelerate(getattr(simulation, method), device="cuda")
        fast()
        with pytest.raises(RuntimeError, match="does other work in each call.*operation 0 is scale"):
            fast()
    with pytest.raises(TypeError, match="accelerate takes a function, and not int"):
        weir.warp.accelerate(5)


@card
def test_functions_that_read_on_the_host_are_refused():
    a, b = arrays(2)

    def step():
        launch(scale, a, float(b.numpy()[0]), b)

    fast = weir.warp.accelerate(step, device="cuda")
    fast()
    with pytest.raises(RuntimeError):
        fast()
    launch(scale, a, 0.5, b)
    np.testing.assert_array_equal(b.numpy(), a.numpy() * np.float32(0.5) + np.float32(1.0))
