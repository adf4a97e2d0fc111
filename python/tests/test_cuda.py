# SPDX-License-Identifier: Apache-2.0
"""CUDA devices, on the driver without a card that tests of the library use (tests/cuda/stub)."""

import os

import pytest

from conftest import run_program

STUB = os.environ.get("WEIR_TEST_CUDA_STUB", "")
pytestmark = pytest.mark.skipif(not STUB, reason="WEIR_TEST_CUDA_STUB does not name the driver without a card")

HEAD = f"""
import ctypes, gc, os, threading
os.environ.update(WEIR_CUDA_DRIVER={STUB!r}, WEIR_CACHE="", WEIR_STUB_ABORT="1")
import numpy as np, weir
cu = ctypes.CDLL({STUB!r})

def check(result):
    assert result == 0, result

def memset(address, value, size, task):
    check(cu.cuCtxPushCurrent_v2(ctypes.c_void_p(task.cuda_context)))
    check(cu.cuMemsetD8Async(ctypes.c_uint64(address), value, ctypes.c_size_t(size), ctypes.c_void_p(task.stream)))
    check(cu.cuCtxPopCurrent_v2(ctypes.byref(ctypes.c_void_p())))

class Memory:
    "Memory of the card, as a library shows it."
    def __init__(self, context, size, stream=None):
        check(cu.cuCtxPushCurrent_v2(ctypes.c_void_p(context)))
        pointer = ctypes.c_uint64()
        check(cu.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(size)))
        check(cu.cuCtxPopCurrent_v2(ctypes.byref(ctypes.c_void_p())))
        self.context, self.pointer = context, pointer
        self.__cuda_array_interface__ = dict(
            shape=(size,), typestr="|u1", data=(pointer.value, False), version=3, stream=stream)

    def __del__(self): # the driver reports memory that is freed while work uses it
        check(cu.cuCtxPushCurrent_v2(ctypes.c_void_p(self.context)))
        check(cu.cuMemFree_v2(self.pointer))
        check(cu.cuCtxPopCurrent_v2(ctypes.byref(ctypes.c_void_p())))
"""


def test_open_tasks() -> None:
    run_program(
        HEAD
        + """
with weir.Context("cuda,cpu:1") as context:
    a, b = context.buffer((4, 8), np.uint8, label="a"), context.array(np.zeros(16, np.uint8))
    with context.open_task(weir.write(a), weir.update(b[4:8]), label="by hand", device="cuda", tag=5) as task:
        assert task.arrays[0].shape == (4, 8) and task.arrays[1].dtype == np.uint8 and task.lane < task.lane_count
        shown = task.arrays[0].__cuda_array_interface__
        assert shown["data"] == (task.arrays[0].address, False) and shown["stream"] == task.stream
        memset(task.arrays[0].address, 7, 32, task)
        memset(task.arrays[1].address, 9, 4, task)
        try: context.finish()
        except weir.InvalidArgumentError as failure: assert "by hand" in str(failure) or "task" in str(failure)
        else: raise SystemExit("a wait in an open task")
    assert task.event.result() is None
    assert (a.numpy() == 7).all() and b.numpy().tolist() == [0] * 4 + [9] * 4 + [0] * 8
    total = context.submit(lambda x: int(x.sum()), weir.read(a))
    assert total.result() == 7 * 32
"""
    )


def test_a_failure_in_an_open_task() -> None:
    run_program(
        HEAD
        + """
with weir.Context("cuda,cpu:1") as context:
    a = context.array(np.zeros(8, np.uint8))
    try:
        with context.open_task(weir.update(a), device="cuda") as task:
            raise KeyError("in the block")
    except KeyError: pass
    reader = context.submit(lambda x: None, weir.read(a))
    failure = reader.exception()
    assert isinstance(failure, weir.UpstreamFailedError) and isinstance(failure.__cause__, KeyError), failure
    try: task.event
    except weir.ReleasedError: pass
    a.fill(1).result()
    context.finish()
    for bad, kind in ((lambda: context.open_task(weir.read(a), groups=0).__enter__(), ValueError),
                      (lambda: context.open_task(weir.read(a), device="cpu").__enter__(), weir.UnavailableError),
                      (lambda: context.open_task(a).__enter__(), TypeError),
                      (lambda: context.open_task(np.float32(1)).__enter__(), TypeError),
                      (lambda: weir.Context("cpu:1").open_task().__enter__(), weir.UnavailableError)):
        try: bad()
        except kind: pass
        else: raise SystemExit(f"no {kind}")
    context.finish() # none of them is open
"""
    )


def test_memory_of_the_card() -> None:
    run_program(
        HEAD
        + """
def run(context):
    a = context.buffer(4, np.uint8)
    with context.open_task(weir.write(a), device="cuda") as task:
        memset(task.arrays[0].address, 1, 4, task)
    memory = Memory(task.cuda_context, 64)
    address = memory.__cuda_array_interface__["data"][0]
    b = context.wrap(memory)
    assert b.wrapped and context.wrap(memory)._storage is b._storage
    part = b[16:32]
    assert part.__cuda_array_interface__["data"][0] == address + 16 and part.__cuda_array_interface__["shape"] == (16,)
    with context.open_task(weir.write(b), device="cuda") as task:
        assert task.arrays[0].address == address
        memset(address, 3, 64, task)
    context.submit(lambda x: x.__iadd__(2) is None, weir.update(part)).result()  # on the CPU, and copied back
    assert b.numpy().tolist() == [3] * 16 + [5] * 16 + [3] * 32
    try: np.from_dlpack(b)
    except weir.InvalidArgumentError as failure: assert "CUDA" in str(failure)
    else: raise SystemExit("NumPy took memory of the card")
    made = []
    with context.open_task(weir.read(b), device="cuda") as task:
        result = Memory(task.cuda_context, 16, stream=None)
        made.append(context.wrap(result))
        memset(made[0].__cuda_array_interface__["data"][0], 8, 16, task)
        task.add(weir.write(made[0]))
    assert (made[0].numpy() == 8).all()
    ordered = Memory(task.cuda_context, 16, stream=1)  # after the work of the legacy default stream
    assert context.wrap(ordered).shape == (16,)
    wrong = weir.Context("cpu:1")
    try: wrong.wrap(memory)
    except weir.InvalidArgumentError as failure: assert "no such device" in str(failure)
    else: raise SystemExit("a CPU took memory of the card")
    wrong.close()
    del memory, result, made, ordered, b, part, task
    gc.collect()
    context.finish()

with weir.Context("cuda,cpu:1") as context:
    run(context)
"""
    )


def test_a_context_with_an_open_task_is_not_closed() -> None:
    run_program(
        HEAD
        + """
context = weir.Context("cuda,cpu:1")
a = context.array(np.zeros(4, np.uint8))
begun, end = threading.Event(), threading.Event()

def work():
    with context.open_task(weir.update(a), device="cuda") as task:
        memset(task.arrays[0].address, 6, 4, task)
        begun.set()
        end.wait()

thread = threading.Thread(target=work)
thread.start()
begun.wait()
try: context.finish(timeout=0.05)
except weir.TimeoutError: pass
end.set()
thread.join()
assert a.numpy().tolist() == [6] * 4
context.close()
"""
    )


def test_a_captured_graph_gets_other_edges() -> None:
    run_program(
        HEAD
        + """
import struct
from weir import _core

class Set(ctypes.Structure): # CUDA_MEMSET_NODE_PARAMS
    _fields_ = [("dst", ctypes.c_uint64), ("pitch", ctypes.c_size_t), ("value", ctypes.c_uint), ("size", ctypes.c_uint),
                ("width", ctypes.c_size_t), ("height", ctypes.c_size_t)]

def edges(graph):
    count = ctypes.c_size_t()
    check(cu.cuGraphGetEdges_v2(graph, None, None, None, ctypes.byref(count)))
    return count.value

def chain(memory, primary):
    "Three sets, each behind the one before; the last one overwrites what the first one set."
    graph, before = ctypes.c_void_p(), None
    check(cu.cuGraphCreate(ctypes.byref(graph), 0))
    for i, offset in enumerate((0, 32, 0)):
        node, one = ctypes.c_void_p(), Set(memory.pointer.value + offset, 0, i, 1, 16, 1)
        behind = before and ctypes.byref(before)
        check(cu.cuGraphAddMemsetNode(
            ctypes.byref(node), graph, behind, ctypes.c_size_t(i > 0), ctypes.byref(one), primary))
        before = node
    return graph

with weir.Context("cuda,cpu:1") as context:
    primary = ctypes.c_void_p()
    check(cu.cuDevicePrimaryCtxRetain(ctypes.byref(primary), 0))
    memory = Memory(primary.value, 64)
    check(cu.cuCtxPushCurrent_v2(primary))
    every = struct.pack("=QQIi16x", memory.pointer.value, 64, 1, 3) # node 1 updates all
    for accesses, managed, wanted in ((b"", None, 1), (every, b"", 2)):
        graph = chain(memory, primary)
        assert edges(graph) == 2
        assert _core.relax(context, 0, graph.value, accesses, managed) == (wanted, bytes(3))
        assert edges(graph) == wanted
        check(cu.cuGraphDestroy(graph))
    graph = chain(memory, primary)
    for accesses, managed in ((every[:-1], None), (every, b"x")):
        try: _core.relax(context, 0, graph.value, accesses, managed)
        except ValueError as failure: assert "whole number of elements" in str(failure)
        else: raise SystemExit("half an element was taken")
    try: _core.relax(context, 1, graph.value, b"", None)
    except weir.InvalidArgumentError: pass
    else: raise SystemExit("a CPU took a graph of the card")
    check(cu.cuGraphDestroy(graph))
    check(cu.cuCtxPopCurrent_v2(ctypes.byref(ctypes.c_void_p())))
    del memory
    gc.collect()
    check(cu.cuDevicePrimaryCtxRelease_v2(0))
"""
    )


# A stream of the program's own, and memory for what it captures into `graph`.
STREAM = (
    HEAD
    + """
own, pointer, stream, graph = ctypes.c_void_p(), ctypes.c_uint64(), ctypes.c_void_p(), ctypes.c_void_p()
check(cu.cuInit(0))
check(cu.cuDevicePrimaryCtxRetain(ctypes.byref(own), 0))
check(cu.cuCtxPushCurrent_v2(own))
check(cu.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(256)))
check(cu.cuStreamCreateWithPriority(ctypes.byref(stream), 1, 0))
"""
)


def test_graphs_that_others_capture():
    run_program(
        STREAM
        + """
from weir import _cuda
from weir._hazards import Access

assert _cuda.captured_graph(stream.value) is None
check(cu.cuStreamBeginCapture_v2(stream, 2))
captured = _cuda.captured_graph(stream.value)
for number in range(4):
    assert _cuda.node_count(captured) == number
    assert number > 1 or _cuda.is_listed_chain(captured)
    address = ctypes.c_uint64(pointer.value + 64 * (number % 2))
    check(cu.cuMemsetD8Async(address, number, ctypes.c_size_t(64), stream))
check(cu.cuStreamEndCapture(stream, ctypes.byref(graph)))
assert graph.value == captured
assert _cuda.relax(0, captured, []) == (2, 0)  # Weir knows what these nodes access
assert not _cuda.is_listed_chain(captured)
whole = Access(pointer.value, pointer.value + 128, True)
assert _cuda.relax(0, captured, [(number, [whole]) for number in range(4)]) == (3, 0)
check(cu.cuGraphDestroy(graph))
check(cu.cuStreamDestroy_v2(stream))
check(cu.cuMemFree_v2(pointer))
"""
    )


def test_times_of_the_nodes_of_a_graph():
    run_program(
        STREAM
        + """
import json, tempfile
from weir import _cuda, _measure

check(cu.cuStreamBeginCapture_v2(stream, 2))
for number in range(4):
    address = ctypes.c_uint64(pointer.value + 64 * (number % 2))
    check(cu.cuMemsetD8Async(address, number + 1, ctypes.c_size_t(64), stream))
check(cu.cuStreamEndCapture(stream, ctypes.byref(graph)))
_cuda.relax(0, graph.value, [])  # the third waits for the first, the fourth for the second
edges = sorted(_cuda.listed_edges(graph.value))
nodes = sorted(_cuda.listed_nodes(graph.value))
times = _measure.node_times(graph.value, 3, stream.value, 9)
assert sorted(_cuda.listed_edges(graph.value)) == edges and sorted(_cuda.listed_nodes(graph.value)) == nodes
assert len(times) == 3 and len(edges) == 2
before = 0.0
for launch in times:
    assert sorted(launch) == nodes
    assert all(before <= start <= end for start, end in launch.values())
    assert all(launch[head][1] <= launch[tail][0] for head, tail in edges)
    before = max(end for _, end in launch.values())
values = (ctypes.c_ubyte * 128)()
check(cu.cuMemcpyAsync(ctypes.c_uint64(ctypes.addressof(values)), pointer, ctypes.c_size_t(128), stream))
check(cu.cuStreamSynchronize(stream))
assert set(values[:64]) == {3} and set(values[64:]) == {4}

names = {node: f"set {place}" for place, node in enumerate(nodes)}
timeline = _measure.MeasuredTimeline("cuda:0", times, names, edges)
with tempfile.TemporaryDirectory() as folder:
    timeline.save(folder + "/a.json", "Sets")
    record = json.load(open(folder + "/a.json"))
    try: timeline.save(folder + "/a.jsonl")
    except ValueError as failure: assert "as .json alone" in str(failure)
    else: raise SystemExit("no error")
assert record["weir"]["title"] == "Sets" and timeline.json()["traceEvents"] == record["traceEvents"]
tasks = [event for event in record["traceEvents"] if event["ph"] == "X"]
assert [task["name"] for task in tasks] == 3 * list(names.values())
assert sum(len(task["args"]["waits"]) for task in tasks) == 6
for one in tasks:
    for other in tasks:
        apart = one["ts"] >= other["ts"] + other["dur"] or other["ts"] >= one["ts"] + one["dur"]
        assert one is other or one["tid"] != other["tid"] or apart
assert "12 tasks" in timeline._repr_html_()
timeline.clear()
assert "0 tasks" in timeline._repr_svg_()

real = _measure.call
def refuse(name, *args): # in the middle: what was added is taken out again
    if name == "cuGraphAddEventRecordNode":
        refuse.left -= 1
        if refuse.left < 0: raise _cuda.DriverError(name, 801)
    real(name, *args)
for refuse.left in range(8):
    _measure.call = refuse
    try: _measure.node_times(graph.value, 1, stream.value, 9)
    except _cuda.DriverError as failure: assert failure.result == 801
    else: raise SystemExit("no failure")
    assert sorted(_cuda.listed_edges(graph.value)) == edges and sorted(_cuda.listed_nodes(graph.value)) == nodes
check(cu.cuGraphDestroy(graph))
check(cu.cuStreamDestroy_v2(stream))
check(cu.cuMemFree_v2(pointer))
"""
    )
