# SPDX-License-Identifier: Apache-2.0
"""Timelines of a model's operators."""

import gc

import pytest
import torch
from conftest import living
from test_recorder import times

import weir.torch


def branches(x):
    one, two = x.clone(), x.clone()
    for _ in range(3):
        one, two = one.clone(), torch.relu(two)
    return one, two


@pytest.mark.parametrize("parallel", [False, True])
@pytest.mark.parametrize("in_graph", [False, True])
def test_each_operator_of_each_launch(parallel, in_graph, monkeypatch):
    monkeypatch.setattr(weir.torch._build, "_median_us", times(100, 50 if parallel else 200))
    monkeypatch.setattr(weir.torch._launch, "call_us", times(100, 50 if in_graph else 200))
    x = torch.arange(64.0).cuda()
    fast = weir.torch.graph(branches, x)
    fast(x)
    timeline = fast.timeline(x, launches=2)
    shown = [event for event in timeline.json()["traceEvents"] if event.get("cat") == "task" and event["ph"] == "X"]
    names = [event["name"] for event in shown]
    assert names.count("aten.clone.default") == 2 * 5 and names.count("aten.relu.default") == 2 * 3
    assert names.count("copy of an input") == (2 if in_graph else 0)
    assert "<svg" in timeline._repr_html_() and "aten.relu.default" in timeline._repr_html_()
    if not parallel:
        spans = sorted((event["ts"], event["ts"] + event["dur"]) for event in shown)
        assert all(one[1] <= two[0] for one, two in zip(spans, spans[1:]))
    other = torch.arange(100.0, 164.0).cuda()
    assert torch.equal(fast(other)[0].cpu(), other.cpu())


def test_launches_of_timelines_change_nothing():
    state = torch.arange(8.0).cuda()

    def model(x):
        state[1:].copy_(state[:-1].clone())
        state[:1].copy_(x)
        return state.clone()

    x = torch.full((1,), 9.0).cuda()
    fast = weir.torch.graph(model, x)
    state.copy_(torch.arange(8.0))
    fast(x)
    wanted = torch.tensor([9.0, 0, 1, 2, 3, 4, 5, 6])
    assert torch.equal(state.cpu(), wanted)
    fast.timeline(x)
    assert torch.equal(state.cpu(), wanted)


def test_a_timeline_outlives_the_model():
    before = living()
    x = torch.arange(8.0).cuda()
    fast = weir.torch.graph(branches, x)
    timeline = fast.timeline(x)
    del fast
    gc.collect()
    assert "aten.clone.default" in timeline._repr_html_()
    del timeline
    gc.collect()
    assert living()[:2] == before[:2]


def test_arguments():
    with pytest.raises(ValueError, match="launches is at least 1"):
        weir.torch.graph(branches).timeline(torch.zeros(4).cuda(), launches=0)
