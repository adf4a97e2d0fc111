# SPDX-License-Identifier: Apache-2.0
import array
import gc
import threading
import weakref
from typing import Any, Dict

import numpy as np
import pytest

import weir
from weir import _core


def add_one(view: Any) -> None:
    view += 1


class Interface:
    """Memory of a NumPy array, by a protocol alone."""

    def __init__(self, source: Any, name: str, **changes: Any) -> None:
        self.source = source
        setattr(self, name, {**source.__array_interface__, "version": 3, **changes})


class OnlyDlpack:
    def __init__(self, source: Any, device: Any = None) -> None:
        self.source, self.device = source, device

    def __dlpack__(self, stream: Any = None) -> Any:
        return self.source.__dlpack__()

    def __dlpack_device__(self) -> Any:
        return self.device or self.source.__dlpack_device__()


@pytest.mark.parametrize("how", ["numpy", "interface", "dlpack", "bytearray", "array"])
def test_memory_is_shared(context: weir.Context, how: str) -> None:
    memory: Any = np.arange(12, dtype=np.int32).reshape(3, 4)
    source: Any = memory
    if how == "interface":
        source = Interface(memory, "__array_interface__")
    elif how == "dlpack":
        source = OnlyDlpack(memory)
    elif how == "bytearray":
        source = bytearray(range(12))
        memory = np.frombuffer(source, np.uint8)
    elif how == "array":
        source = array.array("B", range(12))
        memory = np.frombuffer(source, np.uint8)
    expected = memory + 1
    buffer = context.wrap(source)
    assert buffer.wrapped and buffer.shape == memory.shape and buffer.dtype == memory.dtype
    context.submit(add_one, weir.update(buffer)).result()
    assert np.array_equal(memory, expected)
    assert np.array_equal(buffer.numpy(), expected)


def test_dlpack_round_trip(context: weir.Context) -> None:
    memory = np.arange(12, dtype=np.float32).reshape(3, 4)
    buffer = context.wrap(memory)
    assert buffer.__dlpack_device__() == (1, 0)
    back = np.from_dlpack(buffer)
    assert back.ctypes.data == memory.ctypes.data and back.shape == (3, 4)
    part = np.from_dlpack(buffer[1:, 1:3])
    assert np.array_equal(part, memory[1:, 1:3]) and part.ctypes.data == memory[1:, 1:3].ctypes.data
    again = context.wrap(OnlyDlpack(memory))
    assert again._storage is buffer._storage  # the same memory is the same buffer
    del buffer, again
    gc.collect()
    assert back[2, 3] == 11


def test_memory_of_weir_cannot_be_shown(context: weir.Context) -> None:
    buffer = context.buffer(4)
    with pytest.raises(weir.InvalidArgumentError, match="which moves it"):
        np.from_dlpack(buffer)
    assert not hasattr(buffer, "__cuda_array_interface__")
    with pytest.raises(ValueError, match="copy"):
        buffer.__array__(copy=False)


def test_the_same_memory_is_one_buffer(context: weir.Context) -> None:
    memory = np.zeros(100)
    whole = context.wrap(memory)
    part = context.wrap(memory[10:20])
    assert part._storage is whole._storage and part.shape == (10,)
    gate = threading.Event()
    context.submit(lambda view: gate.wait(), weir.update(whole))
    event = context.submit(add_one, weir.update(part))
    assert not event.wait(0.02)  # it uses the same bytes
    gate.set()
    event.result()
    assert memory.sum() == 10
    other = np.zeros(100)
    first = context.wrap(other[10:20])
    with pytest.raises(weir.InvalidArgumentError, match="wrapped already"):
        context.wrap(other)
    first.release()
    context.wrap(other)


def test_memory_lives_until_its_last_task(context: weir.Context) -> None:
    class Memory(np.ndarray):  # type: ignore[type-arg]
        pass

    memory = np.zeros(1000).view(Memory)
    alive = weakref.ref(memory)
    gate = threading.Event()
    buffer = context.wrap(memory)
    event = context.submit(lambda view: gate.wait() and float(view.sum()), weir.read(buffer))
    del memory, buffer
    gc.collect()
    assert alive() is not None
    gate.set()
    assert event.result() == 0
    context.finish()
    gc.collect()
    assert alive() is None
    idle = np.zeros(10).view(Memory)
    alive = weakref.ref(idle)
    wrapped = context.wrap(idle)
    del idle
    assert alive() is not None
    del wrapped
    context.finish()
    gc.collect()
    assert alive() is None


def test_a_buffer_dropped_in_a_task(context: weir.Context) -> None:
    memory = np.zeros(10)
    boxes = [[context.wrap(memory)]]
    context.submit(lambda: boxes[0].clear()).result()
    context.finish()
    assert not boxes[0]


BAD: Any = [
    (lambda: np.zeros((4, 4))[:, 1:], "gaps"),
    (lambda: np.zeros((4, 4)).T, "another order"),
    (lambda: np.zeros(0), "no elements"),
    (lambda: np.array([None]), "object"),
    (lambda: np.frombuffer(b"abc", np.uint8), "read-only"),
    (lambda: b"abc", "read-only"),
    (lambda: 5, "cannot be wrapped"),
    (lambda: [1, 2], "cannot be wrapped"),
    (lambda: Interface(np.zeros(3), "__cuda_array_interface__"), "CUDA memory cannot be wrapped"),
    (lambda: Interface(np.zeros(3), "__array_interface__", data=(64, True)), "read-only"),
    (lambda: Interface(np.zeros(3), "__array_interface__", data=None), "no address"),
    (lambda: Interface(np.zeros(3), "__array_interface__", data=(-64, False)), "the address of the array"),
    (lambda: Interface(np.zeros(3), "__array_interface__", data=(1 << 64, False)), "the address of the array"),
    (lambda: Interface(np.zeros(3), "__array_interface__", shape=(-3,)), "no elements"),
    (lambda: Interface(np.zeros(3), "__array_interface__", shape=(1 << 40, 1 << 40)), "too many bytes"),
    (lambda: OnlyDlpack(np.zeros(3), (2, 0)), "memory of cuda:0 cannot be wrapped"),
    (lambda: OnlyDlpack(np.zeros(3), (7, 0)), "device type 7"),
]


@pytest.mark.parametrize("make,text", BAD)
def test_what_cannot_be_wrapped(context: weir.Context, make: Any, text: str) -> None:
    with pytest.raises(weir.InvalidArgumentError, match=text):
        context.wrap(make())


def test_a_capsule_is_used_once() -> None:
    capsule = np.arange(6, dtype=np.int64).reshape(2, 3).__dlpack__()
    owner, address, device, kind, shape, strides = _core.dlpack_take(capsule)
    assert (device, kind, shape) == ((1, 0), (0, 64, 1), (2, 3)) and address
    with pytest.raises(ValueError):
        _core.dlpack_take(capsule)


def test_interfaces_of_cuda_memory() -> None:
    """What would be said of a card's memory; tests of the stub driver are in tests/cuda."""
    source: Dict[str, Any] = {"shape": (2, 3), "typestr": "<f4", "data": (4096, False), "strides": None, "stream": 7}

    class Card:
        __cuda_array_interface__ = source

    from weir._wrap import memory_of

    memory = memory_of(Card())
    assert memory.cuda and memory.address == 4096 and memory.stream == 7 and memory.dtype == np.float32
