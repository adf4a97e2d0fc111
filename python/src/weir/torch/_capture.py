# SPDX-License-Identifier: Apache-2.0
"""Captures a call of a model, and notes for each operator what it accesses and which nodes of the graph are its own."""

from __future__ import annotations

import ctypes
import gc
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Callable, Dict, Iterator, List, NoReturn, Optional, Sequence, Set, Tuple

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map

from .._hazards import Access
from ._accesses import of_call, order_of_collectives, tensors
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
    """A captured call. ``outside`` are storages from before it, which the graph needs."""

    graph: torch.cuda.CUDAGraph
    operators: List[Operator]
    segments: List[Segment]
    entries: List[Dict[str, Any]]
    result: Any
    pools: Pools
    outside: List[torch.UntypedStorage]
    done: Callable[[], None]

    def close(self) -> None:
        """Lets go of the result and of the operators' memory; the graph stays.

        Raises RuntimeError if something else than the result is still in use: tensors that a call keeps would be on
        memory that is used again.
        """
        self.result = None
        gc.collect()
        owner = self.pools.living()
        if owner is not None:
            _left.append((self.pools, self.done))
            raise RuntimeError(
                f"weir.torch: memory of operator {owner} ({self.operators[owner].name}) is in use after the call, and"
                " is not its result. What outlives a call, such as gradients, must exist before it"
            )
        self.pools.close()
        self.done()


# Pools with memory that was in use when they were given up, and what is to be called when they are gone: PyTorch ends
# the process if such a pool ends.
_left: List[Tuple[Pools, Callable[[], None]]] = []


def sweep() -> None:
    """Gives up what earlier captures left behind, as far as it is no longer in use."""
    if not _left:
        return
    gc.collect()
    for pair in list(_left):
        pools, done = pair
        if pools.living() is None:
            _left.remove(pair)
            pools.close()
            done()


# PyTorch also ends the process if any pool ends while something is captured. All is guarded by the gate.
_gate = threading.RLock()
_underway = 0
_graves: List[Dict[str, Any]] = []


@contextmanager
def _capturing() -> Iterator[None]:
    """No graph or pool of ours ends in the block."""
    global _underway
    with _gate:
        _underway += 1
    try:
        yield
    finally:
        with _gate:
            _underway -= 1
            if _underway == 0:
                _graves.clear()


def bury(owned: Dict[str, Any]) -> None:
    """Lets go of graphs and pools, now, or when nothing is captured any more. Any thread may call it."""
    with _gate:
        if _underway > 0:
            _graves.append(owned)
        else:
            owned.clear()


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
        self.running = ""
        self.outside: Dict[int, torch.UntypedStorage] = {}
        self._pools, self._nodes = pools, _Counter(stream)
        self._order = order_of_collectives()
        self._existing = _allocations()

    def __torch_dispatch__(self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if any(hasattr(kind, "__tensor_flatten__") for kind in types):
            return NotImplemented  # the class calls operators with the tensors that it wraps: it waits for a collective
        if getattr(func, "is_view", False):
            return func(*args, **kwargs)
        self.running = str(func)
        self._keep(args, kwargs)
        first = self._nodes.count()
        with self._pools.operator(len(self.operators)):
            result = func(*args, **kwargs)
        # What has no schema counts as kernels that are no operator's.
        accesses = of_call(func, args, kwargs, result, self._order) if hasattr(func, "_schema") else []
        self.operators.append(Operator(self.running, accesses, first, self._nodes.count()))
        self.running = ""
        return result

    def run(self, name: str, accesses: Optional[List[Access]], args: Sequence[Any], call: Callable[[], Any]) -> Any:
        """Notes a kernel that PyTorch does not dispatch as an operator. None: it is not known what it accesses."""
        self.running = name
        self._keep(args, {})
        first = self._nodes.count()
        with self._pools.operator(len(self.operators)):
            result = call()
        self.operators.append(Operator(name, accesses or [], first, self._nodes.count()))
        self.running = ""
        return result

    def allocate(self, call: Callable[[], torch.Tensor]) -> torch.Tensor:
        """Memory that PyTorch does not dispatch counts as that of the next operator."""
        with self._pools.operator(len(self.operators)):
            return call()

    def _keep(self, args: Sequence[Any], kwargs: Dict[str, Any]) -> None:
        for tensor in tensors((args, kwargs)):
            storage = tensor.untyped_storage()
            if storage.data_ptr() in self._existing:
                self.outside[storage.data_ptr()] = storage


_running = threading.local()


def active() -> Optional[_Mode]:
    """What notes the operators of this thread's capture; None: there is none."""
    return getattr(_running, "mode", None)


def _allocations() -> Set[int]:
    """The addresses of all that PyTorch's allocator has given out."""
    blocks = [block for segment in torch.cuda.memory_snapshot() for block in segment["blocks"]]
    return {block["address"] for block in blocks if block["state"] == "active_allocated"}


def _waited(value: Any) -> Any:
    """The result of a collective that the model did not wait for, once that is done."""
    wait = getattr(value, "trigger_wait", None)
    return value if wait is None else wait()


def _abandon(graph: torch.cuda.CUDAGraph, device: int, pool: Any) -> None:
    """Ends a capture that failed, so that PyTorch is as before."""
    generator = torch.cuda.default_generators[device]
    try:
        graph.capture_end()
    except RuntimeError:
        # PyTorch goes on to allocate in the pool of such a capture, and to take random numbers for it.
        try:
            torch._C._cuda_endAllocateToPool(device, pool)
        except RuntimeError:
            pass
        again = torch.Generator(device=generator.device)
        again.manual_seed(generator.initial_seed())
        again.set_offset(_offsets.get(device, 0))
        generator.graphsafe_set_state(again.graphsafe_get_state())


# The offsets of the default generators' random numbers before a capture.
_offsets: Dict[int, int] = {}


def _explain(failure: BaseException, running: str) -> NoReturn:
    """Raises what the user gets for an exception in a captured call."""
    if not isinstance(failure, RuntimeError) or "CUDA error" not in str(failure):
        raise failure
    text = str(failure).splitlines()[0]
    where = f"in operator {running}" if running else "outside its operators"
    raise RuntimeError(
        f"weir.torch: the model does something {where} that a graph cannot have: {text}. It must not wait for the card"
        " (.item(), .cpu(), tensors in conditions), nor capture a graph of its own"
    ) from failure


def capture(
    call: Callable[[], Any], choose: Callable[[int, int, int], int], done: Callable[[], None] = lambda: None
) -> Capture:
    """Captures ``call()``. Its operators get segments at the addresses that ``choose`` returns (``_pools.Source``).

    ``done`` is called when none of these addresses is in use any more.
    """
    source = Source(choose)
    pools = Pools(source)
    graph = torch.cuda.CUDAGraph(keep_graph=True)
    stream = torch.cuda.Stream()
    torch.cuda.synchronize()
    gc.collect()
    mode = _Mode(pools, stream)
    enabled = gc.isenabled()
    gc.disable()  # memory is freed when its last reference goes, the same way each time
    try:
        with _capturing(), torch.cuda.stream(stream), log() as entries:
            device, own = torch.cuda.current_device(), torch.cuda.graph_pool_handle()
            _offsets[device] = torch.cuda.default_generators[device].get_offset()
            graph.capture_begin(pool=own, capture_error_mode="relaxed")
            # Allocations go to our pools, and not to that of the graph.
            torch._C._cuda_endAllocateToPool(device, own)
            try:
                _running.mode = mode
                with pools.others(), mode:
                    result = tree_map(_waited, call())
            except BaseException:
                torch._C._cuda_beginAllocateCurrentThreadToPool(device, own)
                _abandon(graph, device, own)
                raise
            torch._C._cuda_beginAllocateCurrentThreadToPool(device, own)
            try:
                graph.capture_end()
            except BaseException:
                _abandon(graph, device, own)
                raise
    except BaseException as failure:
        _left.append((pools, done))
        if source.failure is not None:
            raise source.failure from None
        _explain(failure, mode.running)
    finally:
        _running.mode = None
        if enabled:
            gc.enable()
    outside = list(mode.outside.values())
    return Capture(graph, mode.operators, source.segments, entries, result, pools, outside, done)
