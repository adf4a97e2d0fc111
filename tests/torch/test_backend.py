# SPDX-License-Identifier: Apache-2.0
"""torch.compile(model, backend="weir"): pieces between decisions of the host are graphs."""

import gc

import pytest
import torch
from conftest import living

import weir.torch


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()
    weir.torch._backend._pieces.clear()  # dynamo keeps some of another test
    yield
    torch._dynamo.reset()


def compiled(model, **options):
    return torch.compile(model, backend="weir", **({"options": options} if options else {}))


def same(got, wanted):
    assert torch.equal(got.cpu(), wanted)


class Decides(torch.nn.Module):
    """Copies one way or the other, as a value says that only the host knows then."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.arange(4.0).cuda())
        self.register_buffer("last", torch.zeros(4).cuda())

    def forward(self, x, choose):
        y = x.clone()
        y[2:].copy_(self.weight[2:])
        if choose.item() > 0:
            z = y.clone()
            z[:2].copy_(self.weight[:2])
        else:
            z = x.clone()
        self.last.copy_(z)
        return z.clone()

    def expected(self, x, choose):
        weight = self.weight.detach().cpu()
        return weight.clone() if choose > 0 else x


def test_pieces_between_decisions():
    model = Decides()
    fast = compiled(model)
    with torch.no_grad():
        for turn in range(8):
            x, choose = torch.arange(turn, turn + 4.0), float(turn % 2)
            wanted = model.expected(x, choose)
            same(fast(x.cuda(), torch.tensor(choose)), wanted)
            same(model.last, wanted)
    launched = [piece for piece in weir.torch.pieces() if piece.launches > 0]
    assert len(launched) >= 2 and all(len(piece.graphs) == 1 for piece in launched)
    assert all(piece.launches == piece.calls - 1 for piece in launched)


def test_results_are_new_tensors_each_time():
    fast = compiled(lambda x: x.clone())
    with torch.no_grad():
        values = [torch.full((4,), float(turn)) for turn in range(5)]
        got = [fast(value.cuda()) for value in values]
    for one, value in zip(got, values, strict=True):
        same(one, value)
    assert weir.torch.pieces()[0].launches == 4


def test_other_shapes():
    fast = torch.compile(lambda x: x.clone(), backend="weir", dynamic=True)
    with torch.no_grad():
        for size in (3, 4, 3, 4, 3):
            x = torch.arange(float(size))
            same(fast(x.cuda()), x)
    (piece,) = [piece for piece in weir.torch.pieces() if piece.calls > 1]
    assert len(piece.graphs) == 2 and piece.launches == 3


def test_gradients_are_those_of_the_piece_as_it_is():
    weight = torch.ones(4, device="cuda", requires_grad=True)
    fast = compiled(lambda x: x * weight)
    for _ in range(3):
        y = fast(torch.arange(4.0).cuda())
        assert y.requires_grad
        y.sum().backward()
    assert weight.grad is not None
    assert all(piece.launches == 0 for piece in weir.torch.pieces())


@pytest.mark.parametrize(
    "function, reason",
    [
        (lambda x: x[1:].copy_(x[:-1].clone()), "changes a tensor"),
        (lambda x: (x.clone(), x[2:]), "returns a tensor"),
    ],
)
def test_pieces_that_run_as_they_are(function, reason):
    fast = compiled(function)
    x, wanted = torch.arange(6.0).cuda(), torch.arange(6.0)
    with torch.no_grad():
        for _ in range(3):
            function(wanted)
            fast(x)
    same(x, wanted)
    (piece,) = weir.torch.pieces()
    assert reason in piece.unchanged and piece.launches == 0 and piece.calls == 3


def test_on_the_host():
    fast = compiled(lambda x: x * 2)
    for _ in range(3):
        assert torch.equal(fast(torch.ones(3)), torch.full((3,), 2.0))
    assert "nothing on a card" in weir.torch.pieces()[0].unchanged


def test_a_parameter_that_moved():
    model = Decides()
    fast = compiled(model)
    x, choose = torch.zeros(4).cuda(), torch.tensor(1.0)
    with torch.no_grad():
        for _ in range(4):
            fast(x, choose)
        model.weight.data = torch.arange(50.0, 54.0).cuda()
        for _ in range(3):
            same(fast(x, choose), torch.arange(50.0, 54.0))


def test_state_is_changed_once_a_call():
    class Shifts(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("state", torch.arange(6.0).cuda())

        def forward(self, x):
            self.state[1:].copy_(self.state[:-1].clone())
            self.state[:1].copy_(x)
            return self.state.clone()

    model, wanted = Shifts(), torch.arange(6.0)
    fast = compiled(model)
    with torch.no_grad():
        for turn in range(6):
            wanted = torch.cat([torch.full((1,), float(turn)), wanted[:-1]])
            same(fast(torch.full((1,), float(turn)).cuda()), wanted)
    assert weir.torch.pieces()[0].launches == 5


def test_random_numbers_are_drawn_once_a_call():
    fast = compiled(lambda x: torch.nn.functional.dropout(x, 0.5, training=True))
    generator = torch.cuda.default_generators[0]
    offsets = []
    with torch.no_grad():
        for _ in range(5):
            before = generator.get_offset()
            fast(torch.ones(64).cuda())
            offsets.append(generator.get_offset() - before)
    assert len(set(offsets)) == 1 and offsets[0] > 0


def test_options():
    with pytest.raises(TypeError, match="no option colour"):
        weir.torch.backend(None, [], options={"colour": 1})
    with pytest.raises(ValueError, match="at least 1"):
        weir.torch.backend(None, [], options={"memory": 0})
    fast = compiled(lambda x: x.clone(), memory=1.0, warm_ups=1)
    with torch.no_grad():
        for _ in range(3):
            fast(torch.ones(2).cuda())
    assert weir.torch.pieces()[0].launches == 2


def test_nothing_is_left():
    before = living()
    fast = compiled(lambda x: x.clone())
    with torch.no_grad():
        for _ in range(3):
            fast(torch.ones(2).cuda())
    assert living() != before
    del fast
    torch._dynamo.reset()
    gc.collect()
    assert living() == before
