# SPDX-License-Identifier: Apache-2.0
"""Calls of the CUDA driver."""

from __future__ import annotations

import ctypes
import os
from contextlib import contextmanager
from typing import Any, Iterable, Iterator, List, Sequence, Tuple

from .. import _nodes, _urgent

NEEDS = 12030  # of which cuGraphGetEdges_v2 and others are

_library: Any = None


def _function(name: str) -> Any:
    global _library
    if _library is None:
        file = os.environ.get("WEIR_CUDA_DRIVER") or "libcuda.so.1"
        try:
            _library = ctypes.CDLL(file)
        except OSError as missing:
            raise RuntimeError(f"weir.torch: there is no CUDA driver: {missing}") from None
    try:
        return getattr(_library, name)
    except AttributeError:
        raise RuntimeError(f"weir.torch: the CUDA driver lacks {name}; CUDA 12.3 or later has it") from None


def call(name: str, *args: Any) -> None:
    """Calls a function of the driver with arguments of ctypes. Raises RuntimeError unless it succeeds."""
    result = _function(name)(*args)
    if result != 0:
        raise RuntimeError(f"weir.torch: {name} returned {result}")


def check_version() -> None:
    """Raises RuntimeError if the driver is too old."""
    version = ctypes.c_int()
    call("cuDriverGetVersion", ctypes.byref(version))
    if version.value < NEEDS:
        found = f"{version.value // 1000}.{version.value % 1000 // 10}"
        raise RuntimeError(f"weir.torch: a driver of CUDA 12.3 or later is needed, and this one is of CUDA {found}")


def current_context() -> int:
    """The CUcontext that is current in this thread."""
    context = ctypes.c_void_p()
    call("cuCtxGetCurrent", ctypes.byref(context))
    return context.value or 0


def launch_functions() -> Tuple[int, int, int, int, int, int]:
    """Addresses of the functions that ``_core.cuda_launch`` wants."""
    names = (
        "cuCtxPushCurrent_v2",
        "cuCtxPopCurrent_v2",
        "cuStreamIsCapturing",
        "cuMemcpyAsync",
        "cuGraphExecMemcpyNodeSetParams",
        "cuGraphLaunch",
    )
    one, two, three, four, five, six = (ctypes.cast(_function(name), ctypes.c_void_p).value or 0 for name in names)
    return one, two, three, four, five, six


def refuse_launch(result: int) -> None:
    """Raises RuntimeError for what ``_core.cuda_launch_run`` returned."""
    if result == -1:
        raise RuntimeError(
            "weir.torch: the current stream is being captured, and a graph of weir.torch cannot be part of another"
            " graph: call the model itself there"
        )
    raise RuntimeError(f"weir.torch: the launch of a graph failed: the driver returned {result}")


# ---------------------------------------------------------------------------------------------------------------------
# Graphs


@contextmanager
def executable(graph: int) -> Iterator[int]:
    """A CUgraphExec of a CUgraph as it is now. It ends with the block."""
    made = ctypes.c_void_p()
    flags = ctypes.c_ulonglong(_urgent.USE_PRIORITIES)  # as PyTorch instantiates
    call("cuGraphInstantiateWithFlags", ctypes.byref(made), ctypes.c_void_p(graph), flags)
    try:
        yield made.value or 0
    finally:
        call("cuGraphExecDestroy", made)


def launch(executable: int, stream: int) -> None:
    """Launches a CUgraphExec in a stream."""
    call("cuGraphLaunch", ctypes.c_void_p(executable), ctypes.c_void_p(stream))


@contextmanager
def clone(graph: int) -> Iterator[int]:
    """A copy of a CUgraph. It ends with the block."""
    made = ctypes.c_void_p()
    call("cuGraphClone", ctypes.byref(made), ctypes.c_void_p(graph))
    try:
        yield made.value or 0
    finally:
        call("cuGraphDestroy", made)


def nodes(graph: int) -> List[int]:
    """The nodes of a CUgraph."""
    return _nodes.nodes(call, graph)


def edges(graph: int) -> List[Tuple[int, int]]:
    """The edges of a CUgraph, as pairs of nodes."""
    return _nodes.edges(call, graph)


def in_order(graph: int) -> List[int]:
    """The nodes of a CUgraph: of a chain in its order, else as the driver lists them."""
    found, following = nodes(graph), dict(edges(graph))
    firsts = set(found) - set(following.values())
    if len(firsts) != 1 or len(following) != len(found) - 1:
        return found
    ordered = list(firsts)
    while ordered[-1] in following:
        ordered.append(following[ordered[-1]])
    return ordered if len(ordered) == len(found) else found


def change_edges(graph: int, pairs: Iterable[Tuple[int, int]], function: str = "cuGraphAddDependencies_v2") -> None:
    """Adds edges to a CUgraph, or removes them."""
    _nodes.change_edges(call, graph, pairs, function)


def replace_edges(graph: int, pairs: Sequence[Tuple[int, int]]) -> None:
    """Gives a CUgraph these edges alone."""
    change_edges(graph, edges(graph), "cuGraphRemoveDependencies_v2")
    change_edges(graph, pairs)


def highest_priority() -> int:
    """The priority of work that goes before all other on the current card."""
    return _urgent.highest_priority(call)


def set_priority(nodes: Iterable[int], priority: int) -> None:
    """Gives the kernels among these nodes a priority."""
    _urgent.set_priority(call, nodes, priority)


def add_copy(graph: int, before: Sequence[int], parameters: ctypes.Structure, context: int) -> int:
    """Adds a copy (CUDA_MEMCPY3D) that comes after the nodes ``before``. Returns its node."""
    made, count = ctypes.c_void_p(), len(before)
    call(
        "cuGraphAddMemcpyNode",
        ctypes.byref(made),
        ctypes.c_void_p(graph),
        (ctypes.c_void_p * count)(*before) if before else None,
        ctypes.c_size_t(count),
        ctypes.byref(parameters),
        ctypes.c_void_p(context),
    )
    return made.value or 0
