# SPDX-License-Identifier: Apache-2.0
"""Kernels that Inductor makes, as operators: while a piece is captured, it is noted what each of them accesses.

Inductor's code calls ``CachingAutotuner.run`` for a kernel, with tensors whose names in the kernel say how it uses
them: it reads ``in_ptr0``, writes ``out_ptr0``, updates ``in_out_ptr0`` and what is listed as mutated. It takes memory
by ``empty_strided_cuda``, past the dispatcher. Both get a stand-in that does the same, and more only during a capture.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional, Sequence

import torch

from .._hazards import Access
from ._capture import active

# A buffer for each result: memory is planned here.
_CONFIG = {"allow_buffer_reuse": False, "inplace_buffers": False, "triton.cudagraphs": False}

_PLAIN = (int, float, bool, str, type(None), torch.dtype)
_installed = False


def accesses_of(names: Sequence[str], mutated: Sequence[str], args: Sequence[Any]) -> Optional[List[Access]]:
    """What a kernel accesses, by its parameters' names: of a tensor all of its storage. None: that is not known."""
    writes: Dict[Any, bool] = {}
    if len(args) > len(names):
        return None
    for name, arg in zip(names, args):
        if isinstance(arg, torch.Tensor):
            storage = arg.untyped_storage()
            place = storage.data_ptr(), storage.data_ptr() + storage.nbytes()
            only_read = name.startswith("in_ptr") and name not in mutated
            writes[place] = writes.get(place, False) or not only_read
        elif not isinstance(arg, _PLAIN):
            return None
    return [Access(start, end, wrote) for (start, end), wrote in writes.items() if end > start]


def _install() -> None:
    """Puts the stand-ins in place, once. Code of Inductor's that was loaded before takes its memory without them."""
    global _installed
    if _installed:
        return
    from torch._inductor.runtime.triton_heuristics import CachingAutotuner

    guards = torch._C._dynamo.guards
    allocate, run = guards._empty_strided_cuda, CachingAutotuner.run

    def noted_run(self: Any, *args: Any, **kwargs: Any) -> Any:
        mode = active()
        if mode is None:
            return run(self, *args, **kwargs)
        names = list(self.triton_meta.get("signature", {}))
        accesses = accesses_of(names, self.inductor_meta.get("mutated_arg_names") or (), args)
        name = getattr(self.fn, "__name__", "kernel of Inductor")
        return mode.run(name, accesses, args, lambda: run(self, *args, **kwargs))

    def noted_allocate(*args: Any) -> torch.Tensor:
        mode = active()
        return allocate(*args) if mode is None else mode.allocate(lambda: allocate(*args))

    CachingAutotuner.run = noted_run
    guards._empty_strided_cuda = noted_allocate
    _installed = True


def compiled(module: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> Callable[..., Any]:
    """A piece of a model, compiled by Inductor for captures of :mod:`weir.torch`."""
    from torch._inductor.compile_fx import compile_fx

    _install()
    return compile_fx(module, example_inputs, config_patches=dict(_CONFIG))
