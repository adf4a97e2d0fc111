# SPDX-License-Identifier: Apache-2.0
"""Kernels of Inductor, compiled by Triton, as operators of a graph. What they compute is not computed here."""

import pytest
import torch
from test_recorder import times

import weir.torch
from weir.torch._inductor import accesses_of


@pytest.fixture(autouse=True)
def fresh(tmp_path, monkeypatch):
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "inductor"))
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "triton"))
    torch._dynamo.reset()
    weir.torch._backend._pieces.clear()
    yield
    torch._dynamo.reset()


def branches(x, y):
    """Two chains that Inductor cannot fuse, because of the sorts between them."""
    one = torch.sin(x.sort().values) * 2
    two = torch.cos(y.sort().values) + 1
    return one.sort().values + 1, two.sort().values * 3


def built(function, *args):
    fast = torch.compile(function, backend="weir", options={"inductor": True})
    with torch.no_grad():
        for _ in range(4):
            fast(*args)
    (piece,) = weir.torch._backend._pieces
    assert piece.report().launches == 3 and not piece.report().unchanged
    return piece._graphs[0][0]


def test_kernels_are_operators(monkeypatch):
    monkeypatch.setattr(weir.torch._build, "_median_us", times(100, 50))
    graph = built(branches, torch.zeros(16, 5000).cuda(), torch.zeros(16, 5000).cuda())
    names = graph.names()
    kernels = [number for number, name in enumerate(names) if name.startswith("triton_")]
    assert len(kernels) >= 4 and graph.report.kernels_between_all == 0 and graph.report.parallel
    for number in kernels:
        accesses = graph._operators[number].accesses
        assert any(access.writes for access in accesses) and any(not access.writes for access in accesses)
        assert graph._operators[number].end_node > graph._operators[number].first_node
    assert "needs nothing of" in graph.why(*two_chains(graph))


def two_chains(graph):
    """A pair of kernels of which neither waits for the other."""
    for last in range(1, len(graph.names())):
        for first in range(last):
            if "needs nothing of" in graph.why(first, last):
                return first, last
    raise AssertionError("all are in one chain")


def test_buffers_are_planned(monkeypatch):
    monkeypatch.setattr(weir.torch._build, "_median_us", times(100, 50))

    def chain(x):
        for _ in range(6):
            x = torch.sin(x.sort().values)
        return x

    report = built(chain, torch.zeros(16, 5000).cuda()).report
    assert report.serial_bytes <= report.bytes < report.unplanned_bytes / 2


class Extern(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(8, 8).cuda())

    def forward(self, x):
        y = torch.sin(x) + 1
        self.seen.add_(y)
        return y.sort().values


def test_a_buffer_that_a_kernel_updates(monkeypatch):
    monkeypatch.setattr(weir.torch._build, "_median_us", times(100, 50))
    model = Extern()
    graph = built(model, torch.zeros(8, 8).cuda())
    start = model.seen.data_ptr()
    touched = [access for operator in graph._operators for access in operator.accesses if access.start == start]
    assert any(access.writes for access in touched)


def test_accesses_by_names():
    x, y, z = (torch.empty(size) for size in (4, 8, 16))

    def whole(tensor, writes):
        start = tensor.untyped_storage().data_ptr()
        return start, start + tensor.untyped_storage().nbytes(), writes

    names = ["in_ptr0", "in_out_ptr0", "out_ptr1", "xnumel"]
    assert accesses_of(names, (), [x, y, z, 5]) == [whole(x, False), whole(y, True), whole(z, True)]
    assert accesses_of(names, ("in_ptr0",), [x, x, z, 5]) == [whole(x, True), whole(z, True)]
    assert accesses_of(["in_ptr0", "out_ptr0"], (), [z[3:5], z]) == [whole(z, True)]
    assert accesses_of(["weights"], (), [x]) == [whole(x, True)]  # of a kernel of the user's
    assert accesses_of(["in_ptr0"], (), [object()]) is None and accesses_of([], (), [x]) is None
