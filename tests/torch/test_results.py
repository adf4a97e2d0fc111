# SPDX-License-Identifier: Apache-2.0
"""Random programs of copies, which the card that is none does for real: results equal those of the CPU, bit for bit."""

import random

import pytest
import torch
from test_recorder import times

import weir.torch


def make_program(seed):
    """A function of a tensor that copies parts of tensors to others; it is the same for every tensor of 64 elements."""
    dice = random.Random(seed)
    steps = [
        (dice.choice("nnccu"), dice.randrange(1 << 16), dice.randrange(1 << 16), dice.randrange(1 << 16))
        for _ in range(40)
    ]

    def program(x):
        living = [x.clone(), x.clone()]
        for kind, a, b, c in steps:
            source = living[a % len(living)]
            if kind == "n":  # a new tensor, and perhaps another one dies
                living.append(source.clone())
                if len(living) > 6:
                    del living[b % len(living)]
                continue
            start, size = c % 40, 1 + c % 23
            target = living[b % len(living)] if kind == "u" else source.clone()
            if target is not source:
                target[start : start + size].copy_(source[64 - start - size : 64 - start])
            living[a % len(living)] = target
        return living

    return program


def inputs(dice):
    return torch.tensor([dice.random() for _ in range(64)])


@pytest.mark.parametrize("seed", range(24))
def test_results_equal_those_of_one_operator_at_a_time(seed, monkeypatch):
    dice, program = random.Random(seed), make_program(seed)
    monkeypatch.setattr(weir.torch._build, "_median_us", times(100, dice.choice([50, 50, 200])))
    monkeypatch.setattr(weir.torch._launch, "call_us", times(100, dice.choice([50, 200])))
    first = inputs(dice)
    fast = weir.torch.graph(program, first.cuda(), memory=dice.choice([1.0, 1.1, 1.25, 3.0]))
    for _ in range(6):
        x = inputs(dice)
        for got, expected in zip(fast(x.cuda()), program(x), strict=True):
            assert torch.equal(got.cpu(), expected)


def test_results_are_the_same_tensors_each_time():
    fast = weir.torch.graph(lambda x: (x.clone(), {"twice": x.clone()}))
    one, two = (torch.arange(start, start + 8.0) for start in (0, 100))
    first, named = fast(one.cuda())
    kept = first.clone()
    second, _ = fast(two.cuda())
    assert second is first and torch.equal(second.cpu(), two) and torch.equal(named["twice"].cpu(), two)
    assert torch.equal(kept.cpu(), one)


def test_what_launches_that_measure_change_is_put_back():
    total = torch.arange(16.0).cuda()

    def model(x):
        total[:8].copy_(x)
        total[8:].copy_(total[:8])
        return total.clone()

    x = torch.full((8,), 5.0).cuda()
    fast = weir.torch.graph(model, warm_ups=1)
    total.copy_(torch.arange(16.0))
    fast.report(x)  # the warm-up changes it, and launches that measure do not
    total.copy_(torch.arange(16.0))
    assert torch.equal(fast(x).cpu(), torch.full((16,), 5.0))


def test_parameters_may_change():
    weight = torch.arange(4.0).cuda()
    fast = weir.torch.graph(lambda x: (x.clone(), weight.clone()), torch.zeros(4).cuda())
    weight.copy_(torch.arange(10.0, 14.0))
    assert torch.equal(fast(torch.zeros(4).cuda())[1].cpu(), torch.arange(10.0, 14.0))


@pytest.mark.parametrize("in_graph", [False, True])
def test_a_result_may_be_the_next_input(in_graph, monkeypatch):
    monkeypatch.setattr(weir.torch._build, "_median_us", times(100, 50))
    monkeypatch.setattr(weir.torch._launch, "call_us", times(100, 50 if in_graph else 200))

    def model(x, y):  # turns its inputs round, and moves each by one
        a, b = y.clone(), x.clone()
        a[1:].copy_(y[:-1])
        b[:-1].copy_(x[1:])
        return a, b

    state = expected = torch.arange(32.0), torch.arange(100.0, 132.0)
    state = tuple(one.cuda() for one in state)
    fast = weir.torch.graph(model, *state)
    assert fast._graphs[0].launch.in_graph is in_graph
    for _ in range(8):
        state, expected = fast(*state), model(*expected)
    for got, wanted in zip(state, expected, strict=True):
        assert torch.equal(got.cpu(), wanted)


def test_inputs_with_gaps_and_many_inputs():
    def model(*all):
        return [one.clone() for one in all]

    given = [torch.arange(20.0)[start : start + 10] + start for start in range(11)]
    many = weir.torch.graph(model)
    for got, wanted in zip(many(*[one.cuda() for one in given]), given, strict=True):
        assert got.shape == wanted.shape
    wide = torch.arange(24.0).cuda().view(4, 6)
    fast = weir.torch.graph(lambda x, y: (x.clone(), y.clone()), wide[:, :3], wide)
    assert len(fast._graphs[0].launch._slow) == 1 and len(fast._graphs[0].launch._statics) == 1
    other = torch.arange(50.0, 74.0).cuda().view(4, 6)
    assert torch.equal(fast(other[:, :3], other)[1].cpu(), other.cpu())


def test_a_model_without_operators():
    fast = weir.torch.graph(lambda x: (x, x[2:]))
    for start in (0.0, 10.0):
        whole, part = fast(torch.arange(start, start + 8).cuda())
        assert torch.equal(whole.cpu(), torch.arange(start, start + 8))
        assert torch.equal(part.cpu(), torch.arange(start + 2, start + 8))


def test_random_numbers_go_on():
    fast = weir.torch.graph(lambda x: torch.nn.functional.dropout(x, 0.5, training=True))
    x = torch.zeros(64).cuda()
    fast(x)
    generator = torch.cuda.default_generators[0]
    before = generator.get_offset()
    fast(x)
    fast(x)
    assert generator.get_offset() > before and fast._graphs[0].launch._draws


def test_keywords_and_structures():
    def model(x, pair, *, scale=1, more=None):
        return {"x": x.clone(), "pair": [one.clone() for one in pair], "scale": scale}

    fast = weir.torch.graph(model)
    x, y = torch.arange(4.0), torch.arange(10.0, 14.0)
    for scale in (1, 2, 2, True):
        got = fast(x.cuda(), (y.cuda(), x.cuda()), scale=scale)
        assert got["scale"] is scale and torch.equal(got["pair"][0].cpu(), y)
    assert len(fast._graphs) == 3
    assert fast(y.cuda(), [y.cuda()], more=None)["scale"] == 1 and len(fast._graphs) == 4
