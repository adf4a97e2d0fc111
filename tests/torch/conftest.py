# SPDX-License-Identifier: Apache-2.0
"""PyTorch with the card that is none (card.h), and what tests look at in it."""

import ctypes
import glob
import os
import subprocess
import sys

import pytest

CARD = os.environ.get("WEIR_TEST_TORCH_CARD", "")
ENVIRONMENT = {
    "WEIR_CUDA_DRIVER": os.path.join(CARD, "libcuda.so.1"),
    "TRITON_LIBCUDA_PATH": CARD,
    "TORCHINDUCTOR_COMPILE_THREADS": "1",
    "WEIR_CACHE": "",
    "WEIR_STUB_DEVICES": "2",
    "WEIR_STUB_MEMORY": str(64 << 30),
    "WEIR_STUB_EXECUTORS": "3",
}
SECONDS = 70

if not CARD:
    pytest.skip("WEIR_TEST_TORCH_CARD does not name the folder of the card that is none", allow_module_level=True)

RUNTIME = glob.glob(os.path.join(CARD, "libcudart.so.1[23]"))[0]

# Before PyTorch: a program that tests start begins with these lines, too.
LOAD = f"""
import ctypes, os
os.environ.update({ENVIRONMENT!r})
card = ctypes.CDLL({RUNTIME!r}, ctypes.RTLD_GLOBAL)
"""
exec(LOAD)  # noqa: S102
card = globals()["card"]
card.stub_violation_text.restype = ctypes.c_char_p
card.stub_violations.restype = ctypes.c_uint64

import torch  # noqa: E402


def copy_each(targets, sources):
    """In the place of a kernel, which does nothing on this card."""
    for target, source in zip(targets, sources):
        target.copy_(source)


if not hasattr(torch.cuda.CUDAGraph, "raw_cuda_graph_exec"):  # PyTorch before 2.11: all inputs are copied by it
    torch._foreach_copy_ = copy_each


class Live(ctypes.Structure):
    """The stub's stub_live_objects."""

    _fields_ = [
        (name, ctypes.c_uint64)
        for name in "contexts device_bytes device_allocations pinned streams events modules graphs execs queued".split()
    ]


card.stub_live.restype = Live


def living():
    """What the driver has: graphs and their executables, and addresses that were reserved."""
    torch.cuda.synchronize()
    live, virtual = card.stub_live(), (ctypes.c_uint64 * 3)()
    card.card_virtual_memory(virtual)
    return live.graphs, live.execs, *virtual


def edges(graph):
    """The nodes of a CUgraph, and its edges as pairs of these."""
    raw, count = ctypes.c_void_p(graph), ctypes.c_size_t()
    assert card.cuGraphGetNodes(raw, None, ctypes.byref(count)) == 0
    nodes = (ctypes.c_void_p * count.value)()
    assert card.cuGraphGetNodes(raw, nodes, ctypes.byref(count)) == 0
    assert card.cuGraphGetEdges_v2(raw, None, None, None, ctypes.byref(count)) == 0
    heads, tails = (ctypes.c_void_p * count.value)(), (ctypes.c_void_p * count.value)()
    assert card.cuGraphGetEdges_v2(raw, heads, tails, None, ctypes.byref(count)) == 0
    return set(nodes), list(zip(heads, tails))


def run_program(text, code=0, **environment):
    """Runs a program that has loaded the card, and returns what it printed."""
    run = subprocess.run(
        [sys.executable, "-c", LOAD + text],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=dict(os.environ, PYTHONFAULTHANDLER="1", **environment),
        timeout=SECONDS,
    )
    assert run.returncode == code, f"exit code {run.returncode}\n{run.stdout}"
    return run.stdout


@pytest.fixture(autouse=True)
def no_violation():
    """The driver is used as it may be."""
    before = card.stub_violations()
    yield
    torch.cuda.synchronize()
    assert card.stub_violations() == before, card.stub_violation_text().decode()
