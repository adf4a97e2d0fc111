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
    monkeypatch.setattr(weir.torch._graph, "_median_us", times(100, 50))
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
