# SPDX-License-Identifier: Apache-2.0
"""What two calls of a model have in common that one graph can serve."""

from __future__ import annotations

from typing import Any, Dict, List, Sequence, Tuple

import torch
from torch.utils._pytree import tree_flatten

#: Types that are no containers.
_LEAVES = frozenset((torch.Tensor, torch.nn.Parameter, int, float, bool, str, type(None), torch.dtype, torch.device))
_TENSORS = frozenset((torch.Tensor, torch.nn.Parameter))


def flatten(args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Tuple[Sequence[Any], Any]:
    """The leaves of a call's arguments, and how these are built of them."""
    for value in args:
        if value.__class__ not in _LEAVES:
            return tree_flatten((args, kwargs))
    if not kwargs:
        return args, len(args)
    for value in kwargs.values():
        if value.__class__ not in _LEAVES:
            return tree_flatten((args, kwargs))
    return (*args, *kwargs.values()), (len(args), tuple(kwargs))


class Signature:
    """Shapes, strides, types and devices of tensors, values of the rest, and how arguments are built of them."""

    def __init__(self, leaves: Sequence[Any], structure: Any) -> None:
        self._structure = structure
        self._wanted = [self._of(leaf) for leaf in leaves]
        self.tensors: List[int] = [index for index, wanted in enumerate(self._wanted) if wanted[0]]

    @staticmethod
    def _of(leaf: Any) -> Tuple[Any, ...]:
        if not isinstance(leaf, torch.Tensor):
            return False, type(leaf), leaf, None, None, None
        strides = None if leaf.is_contiguous() else leaf.stride()
        return True, leaf.shape, leaf.dtype, leaf.get_device(), strides, leaf.is_neg()

    def fits(self, leaves: Sequence[Any], structure: Any) -> bool:
        """Whether a call with such leaves has this signature."""
        if structure != self._structure or len(leaves) != len(self._wanted):
            return False
        for leaf, (tensor, shape, dtype, device, strides, negative) in zip(leaves, self._wanted):
            if not tensor:
                if type(leaf) is not shape or leaf != dtype:
                    return False
                continue
            if leaf.__class__ not in _TENSORS and not isinstance(leaf, torch.Tensor):
                return False
            if leaf.shape != shape or leaf.dtype is not dtype or leaf.get_device() != device:
                return False
            if leaf.is_neg() is not negative:
                return False
            if not leaf.is_contiguous() if strides is None else leaf.stride() != strides:
                return False
        return True
