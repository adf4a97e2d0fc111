# SPDX-License-Identifier: Apache-2.0
"""What an operator of PyTorch reads and writes, by its schema."""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple

import torch
from torch.utils._pytree import tree_leaves

from .._hazards import Access


def extent(tensor: torch.Tensor) -> Tuple[int, int]:
    """The addresses of a tensor's first byte, and behind its last one; equal if it has no bytes."""
    start = tensor.data_ptr()
    if tensor.numel() == 0 or start == 0:
        return start, start
    steps = zip(tensor.size(), tensor.stride())
    return start, start + (1 + sum((size - 1) * stride for size, stride in steps)) * tensor.element_size()


def tensors(values: Any) -> List[torch.Tensor]:
    """All tensors on the card in a structure of arguments or results."""
    return [leaf for leaf in tree_leaves(values) if isinstance(leaf, torch.Tensor) and leaf.is_cuda]


def _written(schema: torch.FunctionSchema, args: Sequence[Any], kwargs: Dict[str, Any]) -> Iterator[Any]:
    for position, argument in enumerate(schema.arguments):
        if argument.alias_info is not None and argument.alias_info.is_write:
            yield args[position] if position < len(args) else kwargs.get(argument.name)


# Collectives of torch.distributed, of all process groups, count as writers of a tensor that nothing else uses: all
# ranks must start them in one order. Other operators may overlap them.
_COLLECTIVES = {"c10d", "c10d_functional", "_c10d_functional", "_c10d_functional_autograd"}
_orders: Dict[int, torch.Tensor] = {}  # one for each card


def order_of_collectives() -> Optional[Access]:
    """What collectives on the current card write besides their results; None: there are none."""
    if not (torch.distributed.is_available() and torch.distributed.is_initialized()):
        return None
    device = torch.cuda.current_device()
    if device not in _orders:
        _orders[device] = torch.empty(1, dtype=torch.uint8, device=device)
    return Access(*extent(_orders[device]), True)


def _is_collective(operator: Any) -> bool:
    return operator.namespace in _COLLECTIVES and "wait_tensor" not in str(operator)


def of_call(
    operator: Any, args: Sequence[Any], kwargs: Dict[str, Any], result: Any, order: Optional[Access] = None
) -> List[Access]:
    """The accesses of a call: what the schema marks as mutated, or what is returned anew is written; the rest is read.

    A write counts as an update: that adds no dependence, because nothing is renamed here. ``order`` is what collectives
    write besides.
    """
    written = {extent(tensor) for value in _written(operator._schema, args, kwargs) for tensor in tensors(value)}
    read = {extent(tensor) for tensor in tensors((args, kwargs))} - written
    fresh = {extent(tensor) for tensor in tensors(result)} - read
    found = [Access(start, end, True) for start, end in written | fresh if end > start]
    if order is not None and _is_collective(operator):
        found.append(order)
    return found + [Access(start, end, False) for start, end in read if end > start]
