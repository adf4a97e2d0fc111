# SPDX-License-Identifier: Apache-2.0
"""``torch.compile(model, backend="weir")``: the pieces between decisions of the host are graphs.

Dynamo cuts a model where the host decides by values, and calls a piece with its tensors. A piece runs as it is at its
first call for a signature, which shows what it changes; from the second call on it is a graph.
"""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

import torch

from . import _driver
from ._build import Built, Options, Report
from ._graph import building
from ._inductor import compiled
from ._signature import Signature, flatten

_MOST_GRAPHS = 8  # of one piece: dynamo compiles for shapes that change, so that more are a sign of a mistake


@dataclass(frozen=True)
class PieceReport:
    """What became of a piece of a compiled model.

    ``code`` is Python of what it does. ``graphs`` are the reports of its graphs, one for each signature. ``unchanged``
    says why it runs as it is, operator by operator; empty: it does not. ``calls`` counts all calls, ``launches`` those
    that launched a graph.
    """

    code: str
    calls: int
    launches: int
    graphs: Tuple[Report, ...]
    unchanged: str


_pieces: "weakref.WeakSet[Piece]" = weakref.WeakSet()
_made = 0


def pieces() -> List[PieceReport]:
    """The pieces of all models that ``torch.compile(model, backend="weir")`` compiled, in the order of compilation.

    Pieces that dynamo has dropped are not in the list. Any thread may call it.
    """
    return [piece.report() for piece in sorted(_pieces, key=lambda piece: piece.number)]


class Piece:
    """A piece of a model, in place of which dynamo calls this."""

    def __init__(self, module: torch.fx.GraphModule, run: Callable[..., Any], options: Options) -> None:
        global _made
        _made += 1
        self.number = _made
        self._code, self._module, self._options = module.code, run, options
        holders = [node for node in module.graph.nodes if node.op == "placeholder"]
        self._static = [index for index, node in enumerate(holders) if _has_its_address(node)]
        self._dynamic = [index for index in range(len(holders)) if index not in self._static]
        self._seen: List[Signature] = []
        self._graphs: List[Tuple[Built, Tuple[int, ...]]] = []
        self._changed: List[torch.Tensor] = []
        self._calls = self._launches = 0
        self._unchanged = ""
        _pieces.add(self)

    def report(self) -> PieceReport:
        graphs = tuple(built.report for built, _ in self._graphs)
        return PieceReport(self._code, self._calls, self._launches, graphs, self._unchanged)

    def __call__(self, *args: Any) -> Any:
        self._calls += 1
        if self._unchanged or torch.is_grad_enabled() and any(_has_gradient(arg) for arg in args):
            return self._run(args)
        given = tuple([args[index] for index in self._dynamic])
        leaves, structure = flatten(given, {})
        for built, addresses in self._graphs:
            if built.signature.fits(leaves, structure):
                return self._launch(built, addresses, args, leaves)
        if any(seen.fits(leaves, structure) for seen in self._seen) and self._may_build(args):
            built = self._build(args, given)
            self._graphs.insert(0, (built, self._addresses(args)))
            return self._launch(built, self._addresses(args), args, leaves)
        return self._first(args, leaves, structure)

    def _run(self, args: Sequence[Any]) -> Any:
        return self._module(*args)

    def _addresses(self, args: Sequence[Any]) -> Tuple[int, ...]:
        return tuple([args[index].data_ptr() for index in self._static])

    def _launch(self, built: Built, addresses: Tuple[int, ...], args: Sequence[Any], leaves: Sequence[Any]) -> Any:
        built.launch(leaves)
        if self._addresses(args) != addresses:  # a parameter or buffer has moved: what was launched is not looked at
            self._graphs = [pair for pair in self._graphs if pair[0] is not built]
            return self._run(args)
        self._launches += 1
        return [one.clone() if isinstance(one, torch.Tensor) else one for one in built.result]

    def _first(self, args: Sequence[Any], leaves: Sequence[Any], structure: Any) -> Any:
        """Runs the piece as it is, and looks at what it changes and returns."""
        tensors = [arg for arg in args if isinstance(arg, torch.Tensor)]
        versions = [tensor._version for tensor in tensors]
        results = self._run(args)
        changed = [tensor for tensor, version in zip(tensors, versions) if tensor._version != version]
        static = {id(args[index]) for index in self._static}
        reasons = []
        if any(id(tensor) not in static for tensor in changed):
            reasons.append("it changes a tensor that it gets")
        storages = {tensor.untyped_storage()._cdata for tensor in tensors}
        made = [result for result in results if isinstance(result, torch.Tensor)]
        if any(result.untyped_storage()._cdata in storages for result in made):
            reasons.append("it returns a tensor that it gets, or a view of one")
        if not any(result.is_cuda for result in [*made, *changed]):
            reasons.append("it makes nothing on a card")
        self._unchanged = "; ".join(reasons)
        self._changed = changed
        self._seen.append(Signature(leaves, structure))
        return results

    def _may_build(self, args: Sequence[Any]) -> bool:
        current = torch.cuda.current_device()
        tensors = [arg for arg in args if isinstance(arg, torch.Tensor)]
        if len(self._graphs) == _MOST_GRAPHS:
            self._unchanged = f"it was called with more than {_MOST_GRAPHS} signatures"
        elif not all(tensor.is_cuda and tensor.get_device() == current for tensor in tensors):
            self._unchanged = "it gets tensors of the host, or of another card"
        elif torch.cuda.is_current_stream_capturing():
            return False
        return not self._unchanged

    def _build(self, args: Sequence[Any], given: Tuple[Any, ...]) -> Built:
        whole = list(args)
        dynamic, module = self._dynamic, self._module

        def call(*values: Any) -> Any:
            for index, value in zip(dynamic, values):
                whole[index] = value
            return module(*whole)

        # Calls that warm up and are captured count for nothing: state and random numbers are as before.
        random = torch.cuda.get_rng_state()
        with torch.no_grad():
            copies = [tensor.clone() for tensor in self._changed]
            with building:
                built = Built(call, given, {}, self._options)
            for tensor, copy in zip(self._changed, copies):
                tensor.copy_(copy)
        torch.cuda.set_rng_state(random)
        for index in dynamic:
            whole[index] = None
        return built


def _has_its_address(node: torch.fx.Node) -> bool:
    """Whether a piece gets the same tensor each time: a parameter or buffer."""
    return (node.meta.get("tensor_dict") or {}).get("_dynamo_static_input_type") is not None


def _has_gradient(arg: Any) -> bool:
    return isinstance(arg, torch.Tensor) and arg.requires_grad


def backend(
    module: torch.fx.GraphModule, example_inputs: Sequence[Any], options: Optional[Dict[str, Any]] = None
) -> Callable[..., Any]:
    """The backend "weir" of ``torch.compile``: each piece of the model between decisions of the host is a graph.

    ``torch.compile(model, backend="weir", options={"memory": 1.25, "warm_ups": 3, "check_parameters": False})``;
    options are those of :func:`graph`. A piece is run as it is at its first call for a signature, and captured at the
    second; from then on a call copies its tensors, launches the graph, and returns copies of the results. It runs as it
    is where gradients are needed, where it changes or returns a tensor that it gets, and where there is no card;
    :func:`pieces` says so. With the option ``inductor`` a piece is what Inductor makes of it, whose results equal the
    model's but for rounding.

    Raises TypeError for another option, and ValueError for one out of range.
    """
    chosen = {"memory": 1.25, "warm_ups": 3, "check_parameters": False, "inductor": False, **(options or {})}
    unknown = sorted(set(chosen) - {"memory", "warm_ups", "check_parameters", "inductor"})
    if unknown:
        raise TypeError(f"weir.torch: the backend has no option {', '.join(unknown)}")
    if chosen["memory"] < 1 or chosen["warm_ups"] < 1:
        raise ValueError("weir.torch: memory and warm_ups are at least 1")
    if not torch.cuda.is_available():
        return module
    _driver.check_version()
    run = compiled(module, example_inputs) if chosen["inductor"] else module
    return Piece(module, run, Options(chosen["memory"], chosen["warm_ups"], False, chosen["check_parameters"]))
