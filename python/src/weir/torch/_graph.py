# SPDX-License-Identifier: Apache-2.0
"""Models as graphs of their operators' true dependences."""

from __future__ import annotations

import threading
from typing import Any, Callable, Dict, List, Tuple

import torch

from .._timeline import Timeline
from . import _driver
from ._build import Built, Options, Report
from ._signature import flatten

# PyTorch's allocator has one log, and one source of segments.
building = threading.RLock()


class Graphed:
    """A model that runs as a CUDA graph of its operators' true dependences: what :func:`graph` returns.

    A call copies the tensors among its arguments, launches the graph of their shapes, strides, types and devices on the
    current stream, and returns the graph's results. Arguments that are no tensors are compared by ``==``. The first
    call with others captures the model again, which runs it a few times. Results are the same tensors each time, and a
    later call overwrites them; ``clone()`` keeps one.

    A ``Graphed`` is for one thread at a time: a call while another thread is in one raises RuntimeError. So does a call
    while the current stream is being captured, and one after a parameter or buffer of the module was replaced by
    another tensor. A tensor that is not on the current card raises ValueError. After any of these it is as before.
    """

    def __init__(self, model: Callable[..., Any], options: Options) -> None:
        self._model, self._options = model, options
        self._graphs: List[Built] = []
        self._busy = threading.Lock()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not self._busy.acquire(False):
            raise RuntimeError("weir.torch: the model is in another call; a Graphed is for one thread at a time")
        try:
            leaves, structure = flatten(args, kwargs)
            for graph in self._graphs:
                if graph.signature.fits(leaves, structure):
                    break
            else:
                graph = self._build(args, kwargs)
            graph.launch(leaves)
            graph.watch.check()  # while the card works
            return graph.result
        finally:
            self._busy.release()

    def report(self, *args: Any, **kwargs: Any) -> Report:
        """What became of the model for such arguments; captures it first if need be."""
        return self._find(args, kwargs).report

    def copies_in_graph(self, *args: Any, **kwargs: Any) -> bool:
        """Whether nodes of the graph for such arguments copy its inputs, since that was faster than before a launch."""
        return self._find(args, kwargs).launch.in_graph

    def operators(self, *args: Any, **kwargs: Any) -> List[str]:
        """The names of the operators in the graph for such arguments; captures it first if need be."""
        return self._find(args, kwargs).names()

    def timeline(self, *args: Any, launches: int = 3, **kwargs: Any) -> Timeline:
        """The timeline of such launches for such arguments: when each operator ran, and beside which others.

        Notebooks show it as a picture; :meth:`weir.Timeline.save` writes it for `weir timeline`. The launches are
        Weir's own, and have the tensors of the last call; what they change is put back. Their times are longer than
        those of a call by what it takes to note them. ``launches`` and ``args`` are as in the call; the model has no
        argument of its own called ``launches``.
        """
        if launches < 1:
            raise ValueError("weir.torch: launches is at least 1")
        return self._find(args, kwargs).timeline(launches)

    def why(self, first: int, last: int, *args: Any, **kwargs: Any) -> str:
        """Why operator ``last`` waits for operator ``first`` (indices of :meth:`operators`) for such arguments.

        A line for each step of the shortest chain of operators that wait for each other, with the bytes.
        """
        return self._find(args, kwargs).why(first, last)

    def _find(self, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Built:
        leaves, structure = flatten(args, kwargs)
        for graph in self._graphs:
            if graph.signature.fits(leaves, structure):
                return graph
        return self._build(args, kwargs)

    def _build(self, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Built:
        if torch.cuda.is_current_stream_capturing():
            raise RuntimeError("weir.torch: the current stream is being captured, and a model cannot be captured there")
        with building:
            graph = Built(self._model, args, kwargs, self._options)
        self._graphs.insert(0, graph)
        return graph


def graph(
    model: Callable[..., Any],
    *example_args: Any,
    memory: float = 1.25,
    warm_ups: int = 3,
    grad: bool = False,
    check_parameters: bool = False,
) -> Graphed:
    """Makes a model faster that runs many small operators on a CUDA device, of which some could run at the same time.

    ``model`` is a module or a function of tensors. It is called ``warm_ups`` times, and then captured twice as
    ``torch.cuda.graph`` captures it, so that what holds there holds here: the same operators each time, no waiting for
    the device, no dependence on values. Nodes of the graph then wait only for nodes whose bytes they need, by the
    schema of each operator; where that is not faster than one after the other, they stay in their order. Kernels that
    are not an operator's (those of ``torch.compile``) keep their place between all others.

    ``example_args`` say for which shapes a graph is made at once. Intermediate results take up to ``memory`` times what
    operators need that run one at a time. Without ``grad`` the model runs under ``torch.no_grad()``; with it, the call
    may have a backward pass and an optimiser's step, all tensors of which that outlive the call exist before it.

    Operators may overlap as they may in several streams of PyTorch's. A custom operator must say in its schema what it
    mutates, memory of its own included. With ``check_parameters`` a kernel that has an address of memory that is not
    PyTorch's among its parameters keeps its place, too; some of cuDNN's do.

    Raises RuntimeError if the model cannot be captured, and ValueError if an argument is out of range.
    """
    if not hasattr(torch.cuda.CUDAGraph, "raw_cuda_graph"):
        raise RuntimeError(f"weir.torch: PyTorch 2.8 or later is needed, and this is {torch.__version__}")
    if not torch.cuda.is_available():
        raise RuntimeError("weir.torch: PyTorch finds no CUDA device")
    if memory < 1 or warm_ups < 1:
        raise ValueError("weir.torch: memory and warm_ups are at least 1")
    _driver.check_version()
    made = Graphed(model, Options(memory, warm_ups, grad, check_parameters))
    if example_args:
        made.report(*example_args)
    return made
