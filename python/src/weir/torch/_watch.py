# SPDX-License-Identifier: Apache-2.0
"""Parameters and buffers of a module, whose addresses are part of a graph."""

from __future__ import annotations

from typing import Any, Dict, Iterable, List, Tuple

import torch


def _module_of(model: Any) -> Any:
    """The module that a model is, or a method of which it is; None: there is none."""
    for one in (model, getattr(model, "__self__", None)):
        if isinstance(one, torch.nn.Module):
            return one
    return None


class Watch:
    """Finds out that another tensor is in the place of one that a graph uses."""

    def __init__(self, model: Any, used: Iterable[int]) -> None:
        """``used``: addresses of the storages that the graph uses."""
        self._slots: List[Tuple[Dict[str, Any], str, int, str]] = []
        module, addresses = _module_of(model), set(used)
        for prefix, part in module.named_modules() if module is not None else ():
            for slots in (part._parameters, part._buffers):
                for name, tensor in slots.items():
                    if isinstance(tensor, torch.Tensor) and tensor.is_cuda:
                        if tensor.untyped_storage().data_ptr() in addresses:
                            full = f"{prefix}.{name}" if prefix else name
                            self._slots.append((slots, name, tensor.data_ptr(), full))

    def check(self) -> None:
        """Raises RuntimeError if a tensor is not where it was."""
        for slots, name, address, full in self._slots:
            tensor = slots.get(name)
            if tensor is None or tensor.data_ptr() != address:
                raise RuntimeError(
                    f"weir.torch: the graph was made with another tensor as {full}, and does not see the one that is"
                    " there now: change contents in place, or make the graph again"
                )
