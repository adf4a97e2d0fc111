# SPDX-License-Identifier: Apache-2.0
from typing import Any

import numpy as np
import pytest

import weir


def test_what_a_buffer_says_of_itself(context: weir.Context) -> None:
    a = context.buffer((3, 4, 5), np.int32, label="a")
    assert (a.shape, a.dtype, a.ndim, a.size, a.nbytes, len(a)) == ((3, 4, 5), np.int32, 3, 60, 240, 3)
    assert a.strides == (80, 20, 4) and not a.wrapped and a.context is context
    assert repr(a) == "<weir.Buffer shape=(3, 4, 5) dtype=int32>"
    scalar = context.buffer((), np.float64)
    scalar.fill(0.0)
    assert scalar.numpy().shape == () and scalar.nbytes == 8
    with pytest.raises(TypeError, match="iterate over"):
        list(a)
    a.release()
    assert "released" in repr(a)


SLICES: Any = [
    (slice(None),),
    (2,),
    (-1,),
    (slice(1, 3),),
    (slice(None), slice(2, 5)),
    (slice(1, 4), slice(0, 3)),
    (slice(None), slice(None), slice(1, 3)),
    (slice(None), 3, slice(1, 3)),
    (slice(None), slice(1, 3), 2),
    (1, slice(None), 2),
    (Ellipsis, 0),
    (Ellipsis, slice(1, 3)),
    (0, Ellipsis),
    (slice(-3, -1), Ellipsis, slice(0, 1)),
    (3, 4, 2),
]


@pytest.mark.parametrize("key", SLICES)
def test_slices_are_those_of_numpy(context: weir.Context, key: Any) -> None:
    expected = np.arange(5 * 6 * 4, dtype=np.float32).reshape(5, 6, 4)
    a = context.array(expected)
    part = a[key]
    assert (part.shape == expected[key].shape and part.strides == expected[key].strides) or part.size == 1
    assert np.array_equal(part.numpy(), expected[key])
    value = -np.arange(part.size, dtype=np.float32).reshape(part.shape)
    a[key] = value
    expected[key] = value
    assert np.array_equal(a.numpy(), expected)
    part.fill(3).result()
    expected[key] = 3
    assert np.array_equal(a.numpy(), expected)
    assert np.array_equal(part[...].numpy(), expected[key])


def test_slices_of_slices(context: weir.Context) -> None:
    expected = np.arange(100.0).reshape(10, 10)
    a = context.array(expected)
    part, same = a[2:8, 3:9][1:4, 2:][:, 1], expected[2:8, 3:9][1:4, 2:][:, 1]
    assert np.array_equal(part.numpy(), same)


def test_disjoint_slices_do_not_wait(context: weir.Context) -> None:
    import threading

    a, gate = context.array(np.zeros((8, 8))), threading.Event()
    context.submit(lambda view: gate.wait(), weir.update(a[:, :4]))
    context.submit(lambda view: view.fill(1), weir.update(a[:, 4:])).result(timeout=60)
    gate.set()
    assert a.numpy()[0].tolist() == [0, 0, 0, 0, 1, 1, 1, 1]


def test_shapes_and_types_of_the_same_memory(context: weir.Context) -> None:
    expected = np.arange(24, dtype=np.int32)
    a = context.array(expected)
    assert np.array_equal(a.reshape(4, 6).numpy(), expected.reshape(4, 6))
    assert np.array_equal(a.reshape((2, -1)).numpy(), expected.reshape(2, -1))
    assert np.array_equal(a.view(np.uint8).numpy(), expected.view(np.uint8))
    assert np.array_equal(a.reshape(4, 6).view(np.float32).numpy(), expected.view(np.float32).reshape(4, 6))
    for shape in ((5, 5), (0,), (-1, 5), (-1, -1)):
        with pytest.raises(weir.InvalidArgumentError, match="cannot have the shape"):
            a.reshape(shape)
    with pytest.raises(weir.InvalidArgumentError, match="gaps"):
        a.reshape(4, 6)[:, 1:].reshape(-1)
    with pytest.raises(weir.InvalidArgumentError, match="elements of type"):
        a.reshape(4, 6).view(np.float64)


def test_copies(context: weir.Context) -> None:
    a = context.array([[1, 2], [3, 4]], np.float32)
    b = context.buffer((2, 2))
    b.copy_from(a)
    out = np.zeros((2, 2), np.float32)
    assert b.copy_to(out).result() is out
    assert out.tolist() == [[1, 2], [3, 4]]
    assert np.asarray(b).tolist() == out.tolist()
    assert np.asarray(b, dtype=np.int64).dtype == np.int64
    b[...] = out.T  # with gaps: copied first
    assert b.numpy().tolist() == [[1, 3], [2, 4]]
    b[0] = 7
    assert b.numpy().tolist() == [[7, 7], [2, 4]]
    b[:, 1] = a[:, 0]
    assert b.numpy().tolist() == [[7, 1], [2, 3]]
    for wrong in (np.zeros(4, np.float32), np.zeros((2, 2)), np.zeros((2, 2), np.float32).T[:, ::-1], [[0, 0], [0, 0]]):
        with pytest.raises(weir.InvalidArgumentError):
            b.copy_to(wrong)  # type: ignore[arg-type]
    with pytest.raises(weir.InvalidArgumentError, match="shape"):
        b.copy_from(np.zeros((2, 3), np.float32))
    with pytest.raises(weir.InvalidArgumentError, match="type"):
        b.copy_from(np.zeros((2, 2)))


@pytest.mark.parametrize("kind", [np.int8, np.uint16, np.float16, np.float32, np.int64, np.complex64, np.bool_])
def test_fill(context: weir.Context, kind: Any) -> None:
    a = context.buffer(16, kind)
    a.fill(0)
    a[4:8].fill(-1 if kind in (np.int8, np.int64) else 1 if kind not in (np.int64, np.complex64) else 0).result()
    expected = np.zeros(16, kind)
    expected[4:8] = -1 if kind in (np.int8, np.int64) else 1 if kind not in (np.int64, np.complex64) else 0
    assert np.array_equal(a.numpy(), expected)


def test_fill_refuses(context: weir.Context) -> None:
    with pytest.raises(weir.InvalidArgumentError, match="repeat after 4"):
        context.buffer(4, np.float64).fill(1.5)
    with pytest.raises(weir.InvalidArgumentError, match="one value"):
        context.buffer(4).fill([1, 2])
    for kind, value in ((np.int32, 1.5), (np.uint8, 256), (np.uint16, -1), (np.bool_, 2)):
        with pytest.raises((weir.InvalidArgumentError, OverflowError), match="cannot be"):
            context.buffer(4, kind).fill(value)
    with pytest.raises(weir.InvalidArgumentError, match="multiple"):
        context.buffer(6, np.int8)[1:3].fill(0)


def test_bad_shapes_types_and_keys(context: weir.Context) -> None:
    for shape in (0, (3, 0), (-1,)):
        with pytest.raises(weir.InvalidArgumentError, match="no elements"):
            context.buffer(shape)
    with pytest.raises(weir.InvalidArgumentError, match="too many bytes"):
        context.buffer((1 << 40, 1 << 40))
    for numbers in ((2.5,), "12", (np.float64(3.7),)):
        odd: Any = numbers
        with pytest.raises(TypeError, match="integer"):
            context.buffer(odd)
    with pytest.raises(weir.InvalidArgumentError, match="object"):
        context.buffer(3, object)
    with pytest.raises(weir.InvalidArgumentError, match="axes belong to the shape"):
        context.buffer(3, ("i4", (2,)))
    a = context.buffer((3, 4))
    with pytest.raises(IndexError, match="axis 1: index 4"):
        a[0, 4]
    with pytest.raises(IndexError, match="3 indices"):
        a[0, 0, 0]
    with pytest.raises(IndexError, match="ellipsis"):
        a[..., ...]
    with pytest.raises(TypeError, match="axis 0"):
        a["x"]
    with pytest.raises(ValueError, match="step 1"):
        a[::2]
    with pytest.raises(ValueError, match="empty"):
        a[2:2]
    with pytest.raises(weir.InvalidArgumentError, match="gaps in 3 dimensions"):
        context.buffer((4, 4, 4, 4))[1:3, 1:3, 1:3, 1:3]


def test_structures(context: weir.Context) -> None:
    kind = np.dtype([("x", np.float32), ("n", np.int32)])
    expected = np.zeros(5, kind)
    expected["n"] = range(5)
    a = context.array(expected)
    context.submit(lambda view: view["x"].fill(2), weir.update(a))
    expected["x"] = 2
    assert np.array_equal(a.numpy(), expected)
