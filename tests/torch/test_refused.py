# SPDX-License-Identifier: Apache-2.0
"""Wrong use is refused with an exception that says why; the model, PyTorch and the card are as before."""

import ctypes
import gc
import threading

import pytest
import torch
from conftest import card, living, run_program

import weir.torch


def tensor(*values):
    return torch.tensor(values).cuda()


def works(fast):
    """The model still gives what it should."""
    assert torch.equal(fast(tensor(1.0, 2.0)).cpu(), torch.tensor([1.0, 2.0]))


def copy(x):
    return x.clone()


def test_tensors_of_the_host_and_of_another_card():
    fast = weir.torch.graph(copy, tensor(0.0, 0.0))
    with pytest.raises(ValueError, match="argument 0 is a tensor on cpu"):
        fast(torch.zeros(2))
    with pytest.raises(ValueError, match="argument 1 is a tensor on cuda:1, and .* current device, cuda:0"):
        fast(tensor(0.0), tensor(0.0).to("cuda:1"))
    assert len(fast._graphs) == 1
    works(fast)


def test_a_graph_of_the_other_card():
    with torch.cuda.device(1):
        x = torch.arange(4.0).to("cuda:1")
        fast = weir.torch.graph(copy, x)
    x.copy_(torch.arange(5.0, 9.0))
    y = fast(x)  # whichever card is current
    torch.cuda.synchronize(1)
    assert y.device == x.device and torch.equal(y.cpu(), torch.arange(5.0, 9.0))


def test_other_shapes_and_strides_get_graphs_of_their_own():
    fast = weir.torch.graph(copy)
    for x in (torch.zeros(2, 3), torch.zeros(3, 2), torch.zeros(3, 2).t(), torch.zeros(2, 3, dtype=torch.float16)):
        assert fast(x.cuda()).shape == x.shape
    assert len(fast._graphs) == 4
    fast(torch.zeros(2, 3).cuda())
    assert len(fast._graphs) == 4


def test_waiting_names_the_operator():
    before = living()

    def model(x):
        y = x.clone()
        return y if y.sum().item() == 0 else x.clone()

    with pytest.raises(RuntimeError, match="_local_scalar_dense.* that a graph cannot have: .*capturing"):
        weir.torch.graph(model, tensor(1.0, 2.0))
    works(weir.torch.graph(copy))
    gc.collect()
    weir.torch._capture.sweep()
    assert not weir.torch._capture._left and living() == before


class Once:
    """A model that fails in its nth call, after some operators."""

    def __init__(self, nth, failure):
        self.left, self.failure = nth, failure

    def __call__(self, x):
        y = x.clone() * 2
        self.left -= 1
        if self.left == 0:
            raise self.failure
        return (y, x.clone())[1]


@pytest.mark.parametrize("nth", [1, 3, 4, 5])  # in warm-ups, and in both captures
@pytest.mark.parametrize("failure", [ValueError("of the model"), KeyboardInterrupt()])
def test_exceptions_of_the_model_pass(nth, failure):
    before = living()
    model = Once(nth, failure)
    fast = weir.torch.graph(model)
    with pytest.raises(type(failure)):
        fast(tensor(1.0, 2.0))
    failure.__traceback__ = None  # it has the model's tensors
    torch.nn.functional.dropout(tensor(1.0), 0.5)  # random numbers go on
    works(fast)
    del fast
    gc.collect()
    weir.torch._capture.sweep()
    assert not weir.torch._capture._left and living() == before


def test_random_numbers_after_a_capture_that_failed():
    def model(x):
        y = torch.nn.functional.dropout(x, 0.5)
        return y if y.sum().item() == 0 else x

    torch.cuda.manual_seed(5)
    with pytest.raises(RuntimeError, match="cannot have"):
        weir.torch.graph(model, tensor(1.0, 2.0), warm_ups=1)
    generator = torch.cuda.default_generators[0]
    offset = generator.get_offset()
    torch.nn.functional.dropout(tensor(1.0, 2.0), 0.5)
    assert generator.initial_seed() == 5 and generator.get_offset() > offset


def test_a_capture_in_a_capture():
    fast = weir.torch.graph(copy, tensor(0.0, 0.0))
    x = tensor(1.0, 2.0)
    with pytest.raises(RuntimeError, match="cannot be part of another graph"):
        weir.torch.graph(lambda x: fast(x) if torch.cuda.is_current_stream_capturing() else x.clone(), x)
    with pytest.raises(RuntimeError, match="model cannot be captured there"):
        weir.torch.graph(lambda x: weir.torch.graph(copy)(x), x).report(x)
    with pytest.raises(RuntimeError, match="being captured"):
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            fast(x)
    torch.cuda.synchronize()
    works(fast)


def test_own_captures_of_a_model():
    def model(x):
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            x.clone()
        return x.clone()

    with pytest.raises(RuntimeError):
        weir.torch.graph(model, tensor(1.0, 2.0))
    works(weir.torch.graph(copy))


def test_two_threads_in_one_model():
    entered, leave = threading.Event(), threading.Event()

    def model(x):
        entered.set()
        leave.wait(30)
        return x.clone()

    fast = weir.torch.graph(model)
    results = []
    thread = threading.Thread(target=lambda: results.append(fast(tensor(1.0, 2.0))))
    thread.start()
    assert entered.wait(30)
    with pytest.raises(RuntimeError, match="one thread at a time"):
        fast(tensor(1.0, 2.0))
    leave.set()
    thread.join()
    assert torch.equal(results[0].cpu(), torch.tensor([1.0, 2.0]))
    works(fast)


def test_threads_with_models_of_their_own():
    results = [None] * 4

    def run(number):
        for turn in range(3):  # graphs end while others are captured
            fast = weir.torch.graph(lambda x: x.clone().clone())
            for _ in range(5):
                results[number] = fast(tensor(float(number), float(turn))).cpu()

    threads = [threading.Thread(target=run, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [one.tolist() for one in results] == [[float(number), 2.0] for number in range(4)]


def test_a_graph_that_ends_in_a_capture():
    others = [weir.torch.graph(copy, tensor(1.0, 2.0))]

    def model(x):
        if torch.cuda.is_current_stream_capturing():
            others.clear()
        return x.clone()

    before = living()
    works(weir.torch.graph(model))
    gc.collect()
    assert living()[0] < before[0] and not weir.torch._capture._graves


class Scale(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.arange(4.0).cuda())
        self.register_buffer("mean", torch.arange(10.0, 14.0).cuda())
        self.unused = torch.nn.Parameter(torch.zeros(1).cuda())

    def forward(self, x):
        return x.clone(), self.weight.clone(), self.mean.clone()


def replace_parameter(model):
    model.weight = torch.nn.Parameter(torch.zeros(4).cuda())


def change_type(model):
    model.half()


def remove_buffer(model):
    del model.mean


@pytest.mark.parametrize(
    "change, name", [(replace_parameter, "weight"), (change_type, "weight"), (remove_buffer, "mean")]
)
def test_a_parameter_that_was_replaced(change, name):
    model = Scale()
    fast = weir.torch.graph(model, torch.zeros(4).cuda())
    model.unused = torch.nn.Parameter(torch.ones(1).cuda())  # it is not the graph's
    fast(torch.zeros(4).cuda())
    change(model)
    with pytest.raises(RuntimeError, match=f"another tensor as {name}"):
        fast(torch.zeros(4).cuda())


def test_contents_of_parameters_may_be_loaded():
    model = Scale()
    fast = weir.torch.graph(model, torch.zeros(4).cuda())
    model.load_state_dict({name: value + 0 for name, value in model.state_dict().items()})
    fast(torch.zeros(4).cuda())
    with pytest.raises(RuntimeError, match="another tensor as"):
        model.load_state_dict({name: value.clone() for name, value in model.state_dict().items()}, assign=True)
        fast(torch.zeros(4).cuda())


def test_tensors_that_nobody_else_has_live_on():
    weights = [torch.arange(1000.0).cuda()]
    fast = weir.torch.graph(lambda x: (x.clone(), weights[0].clone()), torch.zeros(2).cuda())
    weights.clear()
    torch.cuda.empty_cache()
    others = [torch.full((1000,), 7.0).cuda() for _ in range(8)]
    assert torch.equal(fast(torch.zeros(2).cuda())[1].cpu(), torch.arange(1000.0))
    assert len(others) == 8


def test_what_a_call_keeps_is_refused_and_given_up_later():
    before, kept = living(), []

    def model(x):
        kept.append(x.clone() * 2)
        return x.clone()

    with pytest.raises(RuntimeError, match="operator 1 .aten.mul.Tensor. is in use after the call"):
        weir.torch.graph(model, tensor(1.0, 2.0))
    kept.clear()
    works(weir.torch.graph(copy))
    gc.collect()
    weir.torch._capture.sweep()
    assert not weir.torch._capture._left and living() == before


def test_kernels_without_an_operator_keep_their_place():
    name = b"weir_test_raw"
    nothing = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda launch: None)
    card.stub_register(name, nothing)
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    torch.zeros(1, device="cuda")
    assert card.cuModuleLoadDataEx(ctypes.byref(module), b"STUB\n" + name + b" 64\n", 0, None, None) == 0
    assert card.cuModuleGetFunction(ctypes.byref(function), module, name) == 0

    def model(x):
        one = torch.relu(x)
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        assert card.cuLaunchKernel(function, *[1] * 6, 0, stream, None, None) == 0
        return one, torch.tanh(x)

    fast = weir.torch.graph(model, tensor(1.0, 2.0))
    assert fast.report(tensor(1.0, 2.0)).kernels_between_all == 1
    assert "1 kernels between them are no operator's" in fast.why(0, 1, tensor(1.0, 2.0))
    del fast
    gc.collect()
    torch.cuda.synchronize()


def test_nothing_is_left_of_a_model():
    before = living()
    fast = weir.torch.graph(copy)
    for size in (2, 3, 4):
        fast(torch.zeros(size).cuda())
    assert living() != before
    del fast
    gc.collect()
    assert living() == before


def test_arguments():
    for options in ({"memory": 0.5}, {"warm_ups": 0}):
        with pytest.raises(ValueError, match="at least 1"):
            weir.torch.graph(copy, **options)


PROGRAM = """
import torch, weir.torch
try:
    weir.torch.graph(lambda x: x.clone())
except RuntimeError as refused:
    print(refused)
"""


def test_no_card():
    assert "PyTorch finds no CUDA device" in run_program(PROGRAM, WEIR_TEST_NO_CARD="1")


def test_an_old_driver():
    text = run_program(PROGRAM, WEIR_TEST_DRIVER_VERSION="12010")
    assert "a driver of CUDA 12.3 or later is needed, and this one is of CUDA 12.1" in text


def test_no_driver():
    text = run_program("os.environ['WEIR_CUDA_DRIVER'] = '/nowhere/libcuda.so.1'" + PROGRAM)
    assert "there is no CUDA driver: /nowhere/libcuda.so.1" in text
