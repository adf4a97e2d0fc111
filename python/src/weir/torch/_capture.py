# SPDX-License-Identifier: Apache-2.0
"""Captures a call of a model, and notes for each operator what it accesses and which nodes of the graph are its own."""

from __future__ import annotations

import ctypes
import gc
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Sequence

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from .._hazards import Access
from ._accesses import of_call
from ._driver import call as call_driver
from ._pools import Pools, Segment, Source, log


@dataclass
class Operator:
    """A call of an operator. Its nodes of the CUgraph are those from ``first_node`` to before ``end_node``."""

    name: str
    accesses: List[Access]
    first_node: int
    end_node: int


@dataclass
class Capture:
    """A captured call."""

    graph: torch.cuda.CUDAGraph
    operators: List[Operator]
    segments: List[Segment]
    entries: List[Dict[str, Any]]
    result: Any
    pools: Pools

    def close(self) -> None:
        """Lets go of the result and of the operators' memory; the graph stays.

        Raises RuntimeError if something else than the result is still in use: tensors that a call keeps would be on
        memory that is used again.
        """
        self.result = None
        gc.collect()
        owner = self.pools.living()
        if owner is not None:
            _kept.append(self)
            raise RuntimeError(
                f"weir.torch: memory of operator {owner} ({self.operators[owner].name}) is in use after the call, and"
                " is not its result. What outlives a call, such as gradients, must exist before it"
            )
        self.pools.close()


# What has pools with memory that is still in use: PyTorch ends the process if such a pool ends.
_kept: List[Any] = []


class _Counter:
    """Counts the nodes of the graph into which a stream is captured."""

    def __init__(self, stream: torch.cuda.Stream) -> None:
        self._stream = ctypes.c_void_p(stream.cuda_stream)

    def count(self) -> int:
        status, identity, graph, nodes = ctypes.c_int(), ctypes.c_ulonglong(), ctypes.c_void_p(), ctypes.c_size_t()
        found = (ctypes.byref(item) for item in (status, identity, graph))
        call_driver("cuStreamGetCaptureInfo_v2", self._stream, *found, None, None)
        if status.value != 1:
            raise RuntimeError(f"weir.torch: the capture has ended early: status {status.value}")
        call_driver("cuGraphGetNodes", graph, None, ctypes.byref(nodes))
        return nodes.value


class _Mode(TorchDispatchMode):
    def __init__(self, pools: Pools, stream: torch.cuda.Stream) -> None:
        super().__init__()
        self.operators: List[Operator] = []
        self._pools, self._nodes = pools, _Counter(stream)

    def __torch_dispatch__(self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func.is_view:
            return func(*args, **kwargs)
        first = self._nodes.count()
        with self._pools.operator(len(self.operators)):
            result = func(*args, **kwargs)
        accesses = of_call(func, args, kwargs, result)
        self.operators.append(Operator(str(func), accesses, first, self._nodes.count()))
        return result


def _end(graph: torch.cuda.CUDAGraph, device: int, pool: Any) -> None:
    try:
        graph.capture_end()
    except BaseException:
        # PyTorch goes on to allocate in the pool of a capture that was refused.
        try:
            torch._C._cuda_endAllocateToPool(device, pool)
        except RuntimeError:
            pass
        raise


def capture(call: Callable[[], Any], choose: Callable[[int, int, int], int]) -> Capture:
    """Captures ``call()``. Its operators get segments at the addresses that ``choose`` returns (``_pools.Source``)."""
    source = Source(choose)
    pools = Pools(source)
    graph = torch.cuda.CUDAGraph(keep_graph=True)
    stream = torch.cuda.Stream()
    torch.cuda.synchronize()
    gc.collect()
    enabled = gc.isenabled()
    gc.disable()  # memory is freed when its last reference goes, the same way each time
    try:
        with torch.cuda.stream(stream), log() as entries:
            mode = _Mode(pools, stream)
            device, own = torch.cuda.current_device(), torch.cuda.graph_pool_handle()
            graph.capture_begin(pool=own, capture_error_mode="relaxed")
            # Allocations go to our pools, and not to that of the graph.
            torch._C._cuda_endAllocateToPool(device, own)
            try:
                with pools.others(), mode:
                    result = call()
            finally:
                torch._C._cuda_beginAllocateCurrentThreadToPool(device, own)
                _end(graph, device, own)
    except BaseException:
        _kept.append(pools)
        if source.failure is not None:
            raise source.failure from None
        raise
    finally:
        if enabled:
            gc.enable()
    return Capture(graph, mode.operators, source.segments, entries, result, pools)
