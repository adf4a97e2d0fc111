# SPDX-License-Identifier: Apache-2.0
"""Collectives of torch.distributed in graphs: one order on all ranks, beside other operators."""

import os
import subprocess
import sys

import pytest
import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional
from conftest import LOAD, SECONDS, edges

import weir.torch


@pytest.fixture
def group():
    """Two ranks, of which this process is one and the other one says nothing: collectives only copy."""
    from torch.testing._internal.distributed.fake_pg import FakeStore

    dist.init_process_group("fake", rank=0, world_size=2, store=FakeStore())
    yield
    dist.destroy_process_group()


def sums(x, y):
    """Two all-reductions that have nothing in common, and a branch that has nothing to do with them."""
    first = functional.wait_tensor(functional.all_reduce(torch.relu(x), "sum", dist.group.WORLD))
    second = functional.wait_tensor(functional.all_reduce(torch.relu(y), "sum", dist.group.WORLD))
    return torch.tanh(first), torch.tanh(second), torch.sigmoid(x)


def comes_after(pairs, first, later):
    """Whether a node comes after another one, by way of edges."""
    reached, left = {first}, [first]
    while left:
        head = left.pop()
        found = {tail for one, tail in pairs if one == head} - reached
        reached |= found
        left += found
    return later in reached


def test_collectives_keep_one_order(group, monkeypatch):
    monkeypatch.setattr(weir.torch._build, "_median_us", lambda launch: next(times))
    monkeypatch.setattr(weir.torch._launch, "call_us", lambda launch: next(calls))
    times, calls = iter((100, 50)), iter((1, 2))
    chain = []
    relax = weir.torch._build.relax

    def relax_in_order(device, graph, *rest):
        nodes, pairs = edges(graph)
        following = dict(pairs)
        (node,) = nodes - set(following.values())
        chain.append(node)
        while chain[-1] in following:
            chain.append(following[chain[-1]])
        return relax(device, graph, *rest)

    monkeypatch.setattr(weir.torch._build, "relax", relax_in_order)
    graph = weir.torch.graph(sums, torch.empty(64, device="cuda"), torch.empty(64, device="cuda"))._graphs[0]
    assert graph.report.parallel
    _, pairs = edges(graph.graph.raw_cuda_graph())
    reduces = [one for one in graph._operators if one.name.startswith("_c10d_functional.all_reduce")]
    (other,) = [one for one in graph._operators if one.name.startswith("aten.sigmoid")]
    assert len(reduces) == 2 and all(one.end_node > one.first_node for one in reduces)
    first, second = (chain[one.first_node] for one in reduces)
    assert comes_after(pairs, first, second)
    alone = chain[other.first_node]
    assert not comes_after(pairs, first, alone) and not comes_after(pairs, alone, second)


PROGRAM = """
import sys
import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional
import weir.torch

rank, store = int(sys.argv[1]), sys.argv[2]
dist.init_process_group("gloo", init_method="file://" + store, rank=rank, world_size=2)
world = dist.group.WORLD


def step(x):
    total = functional.all_reduce(x * 2, "sum", world)
    gathered = functional.all_gather_tensor(x + 1, 0, world)
    part = functional.reduce_scatter_tensor(torch.cat([x, x - 3]), "sum", 0, world)
    sent = functional.broadcast(x * 5, 1, world)
    return torch.tanh(total) + part, gathered * 2, sent - total


fast = torch.compile(step, backend="weir")
for turn in range(5):
    x = torch.arange(4.0) + rank * 10 + turn
    for got, wanted in zip(fast(x), step(x)):
        assert torch.equal(got, wanted), (turn, got, wanted)
    other = torch.arange(4.0) + (1 - rank) * 10 + turn
    assert torch.equal(fast(x)[1], torch.cat([x, other] if rank == 0 else [other, x]) * 2 + 2)
print("rank", rank, [piece.unchanged for piece in weir.torch.pieces()])
dist.destroy_process_group()
"""


def test_two_processes(tmp_path):
    programs = [
        subprocess.Popen(
            [sys.executable, "-c", LOAD + PROGRAM, str(rank), str(tmp_path / "store")],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=dict(os.environ, GLOO_SOCKET_IFNAME="lo"),
        )
        for rank in range(2)
    ]
    try:
        for rank, program in enumerate(programs):
            said, _ = program.communicate(timeout=SECONDS)
            assert program.returncode == 0, said
            assert f"rank {rank} ['it makes nothing on a card']" in said, said
    finally:
        for program in programs:
            program.kill()
