# SPDX-License-Identifier: Apache-2.0
"""weir.torch on a card: results equal those of PyTorch, bit for bit."""

import gc

import pytest

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("PyTorch finds no CUDA device", allow_module_level=True)

import weir.torch  # noqa: E402


class Branches(torch.nn.Module):
    """Branches of different length, joined by a sum and a concatenation."""

    def __init__(self, channels=32):
        super().__init__()
        self.stem = torch.nn.Conv2d(3, channels, 3, padding=1)
        self.short = torch.nn.Conv2d(channels, channels, 1)
        self.long = torch.nn.ModuleList(torch.nn.Conv2d(channels, channels, 3, padding=1) for _ in range(4))
        self.pool = torch.nn.AvgPool2d(3, stride=1, padding=1)
        self.drop = torch.nn.Dropout(0.5)
        self.head = torch.nn.Linear(2 * channels, 10)

    def forward(self, x, scale=1.0):
        x = torch.relu_(self.stem(x)) * scale
        y = x
        for layer in self.long:
            y = torch.relu(layer(y))
        x = torch.cat([self.short(x) + self.pool(x), y], 1)
        return self.head(self.drop(x.mean((2, 3))))


@pytest.fixture
def model():
    torch.manual_seed(1)
    return Branches().eval().cuda()


def images(*sizes):
    return [torch.randn(2, 3, size, size, device="cuda") for size in sizes]


def test_equal_for_other_inputs(model):
    first, second = images(64, 64)
    fast = weir.torch.graph(model, first)
    with torch.no_grad():
        for x in (first, second, first):
            assert torch.equal(fast(x), model(x))
    report = fast.report(first)
    assert report.operators > 15 and report.serial_bytes <= report.bytes <= report.unplanned_bytes
    assert report.bytes <= 1.3 * report.serial_bytes or report.dependences_for_memory > 0


def test_a_graph_for_each_signature(model):
    small, large = images(32, 64)
    fast = weir.torch.graph(model)
    with torch.no_grad():
        for x in (small, large, small):
            assert torch.equal(fast(x), model(x))
            assert torch.equal(fast(x, scale=2.0), model(x, scale=2.0))
    assert len(fast._graphs) == 4


def test_why(model):
    (x,) = images(32)
    fast = weir.torch.graph(model, x)
    names = fast.operators(x)
    pool = next(number for number, name in enumerate(names) if "avg_pool2d" in name)
    assert "needs nothing of" in fast.why(pool - 1, pool, x)
    assert "reads what it wrote" in fast.why(0, len(names) - 1, x)
    with pytest.raises(ValueError):
        fast.why(3, 3, x)


def test_least_memory(model):
    (x,) = images(64)
    fast = weir.torch.graph(model, x, memory=1.0)
    with torch.no_grad():
        assert torch.equal(fast(x), model(x))


def test_results_outlive_the_graph(model):
    (x,) = images(48)
    fast = weir.torch.graph(model, x)
    y = fast(x)
    with torch.no_grad():
        expected = model(x)
    del fast
    torch.cuda.empty_cache()
    assert torch.equal(y, expected)


def test_random_numbers_advance():
    torch.manual_seed(1)
    model = Branches().train().cuda()
    (x,) = images(32)
    fast = weir.torch.graph(model, x)
    torch.cuda.manual_seed(7)
    drawn = [fast(x).clone() for _ in range(3)]
    torch.cuda.manual_seed(7)
    with torch.no_grad():
        expected = [model(x) for _ in range(3)]
    for one, other in zip(drawn, expected):
        assert torch.equal(one, other)


def test_training_step(monkeypatch):
    monkeypatch.setattr(torch.backends.cudnn, "deterministic", True)

    def make():
        torch.manual_seed(3)
        model = Branches(16).cuda()
        model.drop.p = 0.0
        for parameter in model.parameters():
            parameter.grad = torch.zeros_like(parameter)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)

        def step(x, target):
            optimizer.zero_grad(set_to_none=False)
            loss = torch.nn.functional.cross_entropy(model(x), target)
            loss.backward()
            optimizer.step()
            return loss

        return model, step

    (x,) = images(32)
    target = torch.tensor([1, 7], device="cuda")
    plain, plain_step = make()
    for _ in range(3):
        plain_step(x, target)
    graphed, step = make()
    fast = weir.torch.graph(step, x, target, grad=True)  # warms up by three steps
    assert fast.report(x, target).operators > 50
    for _ in range(4):
        assert torch.equal(fast(x, target), plain_step(x, target))
    for one, other in zip(graphed.parameters(), plain.parameters()):
        assert torch.equal(one, other)


def test_kernels_without_an_operator(model):
    compiled = torch.compile(lambda a: torch.sin(a) * torch.cos(a) + a)

    def function(x):
        a, b = x + 1, x * 2
        return compiled(a) + torch.relu(b) - model.pool(b)

    (x,) = images(32)
    with torch.no_grad():
        compiled(x)
        fast = weir.torch.graph(function, x)
        assert torch.equal(fast(x), function(x))


def test_what_stays_is_refused(model):
    kept = []

    def function(x):
        y = model(x)
        kept.append(y * 2)
        return y

    (x,) = images(32)
    with pytest.raises(RuntimeError, match="in use after the call"):
        weir.torch.graph(function, x)


def test_waiting_is_refused(model):
    (x,) = images(32)
    with pytest.raises(RuntimeError):
        weir.torch.graph(lambda x: model(x) if x.sum().item() > 0 else x, x)
    torch.cuda.synchronize()
    with torch.no_grad():
        assert torch.equal(weir.torch.graph(model, x)(x), model(x))


def test_arguments_are_checked(model):
    with pytest.raises(ValueError):
        weir.torch.graph(model, memory=0.5)
    with pytest.raises(ValueError):
        weir.torch.graph(model, warm_ups=0)


def test_timeline(model):
    (x,) = images(64)
    fast = weir.torch.graph(model, x)
    fast(x)
    timeline = fast.timeline(x)
    names = {event["name"] for event in timeline.json()["traceEvents"] if event.get("cat") == "task"}
    assert any("convolution" in name for name in names)
    with torch.no_grad():
        assert torch.equal(fast(x), model(x))


def test_backend(model):
    def decides(x):
        y = model(x)
        return model(x * 2) if y.sum().item() > 0 else y

    compiled = torch.compile(decides, backend=weir.torch.backend)
    with torch.no_grad():
        for x in images(32, 32, 32, 32):
            assert torch.equal(compiled(x), decides(x))
    assert any(piece.launches > 0 for piece in weir.torch.pieces())
    torch._dynamo.reset()


def test_many_inputs_with_either_way_of_copying(model, monkeypatch):
    (first,) = images(48)
    for in_graph in (False, True):
        times = iter((2, 1) if in_graph else (1, 2))
        monkeypatch.setattr(weir.torch._launch, "call_us", lambda call, left=times: (call(), next(left))[1])
        fast = weir.torch.graph(model, first)
        assert fast.copies_in_graph(first) is in_graph
        with torch.no_grad():
            for x in images(*[48] * 50):
                assert torch.equal(fast(x), model(x))


def test_wrong_use_leaves_the_model_usable(model):
    (x,) = images(48)
    fast = weir.torch.graph(model, x)
    with pytest.raises(ValueError, match="on cpu"):
        fast(x.cpu())
    with pytest.raises(RuntimeError, match="_local_scalar_dense"):
        weir.torch.graph(lambda x: model(x) if x.sum().item() > 0 else x, x)
    with pytest.raises(RuntimeError, match="being captured"):
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            fast(x)
    torch.nn.functional.dropout(x, 0.5)  # random numbers go on
    with torch.no_grad():
        assert torch.equal(fast(x), model(x))
    model.head.weight = torch.nn.Parameter(model.head.weight + 1)
    with pytest.raises(RuntimeError, match="another tensor as head.weight"):
        fast(x)


def test_inductor(model):
    def function(x):
        return model(x), torch.sin(x.sort().values).sort().values

    def launched():
        return [piece for piece in weir.torch.pieces() if piece.launches > 0]

    x, other = images(32, 32)
    torch._dynamo.reset()
    gc.collect()
    earlier = len(launched())  # of other tests
    compiled = torch.compile(function, backend=weir.torch.backend, options={"inductor": True})
    with torch.no_grad():
        for image in (x, other, x, other, x):
            for got, wanted in zip(compiled(image), function(image)):
                assert torch.allclose(got, wanted, rtol=1e-3, atol=1e-3)
    assert len(launched()) == earlier + 1
    assert launched()[-1].graphs[0].kernels_between_all == 0
    torch._dynamo.reset()
