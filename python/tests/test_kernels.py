# SPDX-License-Identifier: Apache-2.0
import ctypes
from typing import Any

import numpy as np
import pytest

import weir

SAXPY = """
#include <weir/kernel.h>
WEIR_KERNEL(saxpy, 64, 1, 1, (WEIR_BUFFER(const float, x), WEIR_BUFFER(float, y), WEIR_SCALAR(float, a),
                              WEIR_SCALAR(int32_t, count))) {
  WEIR_FOR_EACH_ITEM {
    int i = weir_global_id(0);
    if (i < count) y[i] += a * x[i];
  }
}
"""
OPENCL = """
__kernel void scale(__global const float *x, __global float *y, float a) {
  y[get_global_id(0)] = a * x[get_global_id(0)];
}
"""


def available(kind: str) -> bool:
    return any(one.kind == kind and one.available for one in weir.info().kinds)


needs_opencl = pytest.mark.skipif(not available("opencl"), reason="no OpenCL device is here")


@pytest.mark.parametrize("devices", ["cpu:2", pytest.param("cpu:1,opencl", marks=needs_opencl)])
def test_kernels_that_are_written_once(devices: str) -> None:
    x, y = np.arange(1000, dtype=np.float32), np.ones(1000, np.float32)
    with weir.Context(devices) as context:
        kernel = context.kernel("saxpy", code=weir.CCode(SAXPY))
        assert repr(kernel) == "<weir.Kernel saxpy>"
        for device in context.devices:
            a, b = context.array(x), context.array(y)
            arguments = (weir.read(a), weir.update(b), np.float32(2), np.int32(1000))
            context.submit(kernel, *arguments, groups=16, device=device)
            assert np.array_equal(b.numpy(), y + 2 * x)


def test_tasks_that_are_placed() -> None:
    with weir.Context("cpu:1,cpu:1", place=True) as context:
        kernel = context.kernel("saxpy", code=weir.CCode(SAXPY))
        one, sums = context.array(np.ones(64, np.float32)), [context.array(np.zeros(64, np.float32)) for _ in range(4)]
        for _ in range(10):
            for total in sums:
                context.submit(kernel, weir.read(one), weir.update(total), np.float32(2), np.int32(64))
        for total in sums:
            assert (total.numpy() == 20).all()


@needs_opencl
def test_opencl_c() -> None:
    with weir.Context("opencl") as context:
        kernel = context.kernel("scale", opencl=weir.OpenCL(OPENCL, local=8))
        a, b = context.array(np.arange(64, dtype=np.float32)), context.buffer(64)
        event = context.submit(kernel, weir.read(a), weir.write(b), np.float32(3), groups=(8,))
        assert event.result() is None
        assert np.array_equal(b.numpy(), 3 * np.arange(64, dtype=np.float32))
        with pytest.raises(weir.InvalidArgumentError, match="scale"):
            context.submit(kernel, weir.read(a), weir.read(b), groups=8).result()
        with pytest.raises(weir.InvalidArgumentError, match="nothing_of_this"):
            context.kernel("bad", opencl=weir.OpenCL("__kernel void bad() { nothing_of_this(); }"))
        with pytest.raises(weir.NoCodeError, match="CPU"):
            context.submit(lambda: None)


def test_a_function_pointer() -> None:
    """A function of C, here one that ctypes makes, is code for the CPU."""

    class Work(ctypes.Structure):
        _fields_ = [("args", ctypes.POINTER(ctypes.c_void_p)), ("arg_count", ctypes.c_uint32)]

    @ctypes.CFUNCTYPE(None, ctypes.POINTER(Work))
    def function(work: Any) -> None:
        ctypes.cast(work.contents.args[0], ctypes.POINTER(ctypes.c_int32))[0] = work.contents.arg_count

    with weir.Context("cpu:1") as context:
        kernel = context.kernel("pointer", cpu=weir.Cpu(function))
        a = context.array(np.zeros(1, np.int32))
        context.submit(kernel, weir.update(a), b"1234")
        del kernel
        assert a.numpy()[0] == 2
        with pytest.raises(weir.InvalidArgumentError, match="NULL"):
            context.kernel("null", cpu=weir.Cpu(0))


@pytest.mark.skipif(not available("vulkan"), reason="no Vulkan device is here")
def test_vulkan_refuses_what_is_no_spirv() -> None:
    with weir.Context("vulkan") as context:
        with pytest.raises(weir.InvalidArgumentError, match="SPIR-V"):
            context.kernel("bad", vulkan=weir.Vulkan(b"not spirv at all", constants={0: np.float32(1), 1: True}))
        with pytest.raises(weir.InvalidArgumentError, match="NumPy scalar"):
            context.kernel("bad", vulkan=weir.Vulkan(b"1234", constants={0: 1.5}))


def test_values_say_their_type(context: weir.Context) -> None:
    kernel = context.kernel("saxpy", code=weir.CCode(SAXPY))
    a, b = context.buffer(64), context.buffer(64)
    with pytest.raises(TypeError, match="argument 2 is <class 'float'>.*numpy.float32"):
        context.submit(kernel, weir.read(a), weir.update(b), 2.0, np.int32(64))
    with pytest.raises(TypeError, match="argument 1 is a buffer: say"):
        context.submit(kernel, weir.read(a), b)
    with pytest.raises(TypeError, match="argument 0 is a buffer: say"):
        context.submit(lambda x: None, a)


def test_bad_kernels(context: weir.Context) -> None:
    odd: Any = len
    for name in ("cpu", "cuda", "opencl", "vulkan", "code"):
        with pytest.raises(TypeError, match=f"{name} of a kernel is a weir"):
            context.kernel("odd", **{name: odd})
    with pytest.raises(weir.InvalidArgumentError, match="no WEIR_KERNEL"):
        weir.CCode("int x;")
    with pytest.raises(weir.InvalidArgumentError, match="has no kernel 'other'"):
        context.kernel("other", code=weir.CCode(SAXPY))
    with pytest.raises(weir.InvalidArgumentError, match="does_not_exist"):
        context.kernel("saxpy", code=weir.CCode(SAXPY.replace("a * x[i]", "does_not_exist")))
    with pytest.raises(weir.NoCodeError, match="none of the context's devices"):
        context.kernel("nothing", cuda=weir.Cuda("source"))
    with pytest.raises(weir.InvalidArgumentError, match="size of a work-group"):
        with weir.Context("cpu:1") as other:
            from weir._kernel import _three

            assert other and _three(5) == (5, 1, 1)
            _three((1, 2, 3, 4))


def test_no_compiler(context: weir.Context, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "/nothing/cc")
    with pytest.raises(weir.UnavailableError, match="C compiler.*CC"):
        context.kernel("saxpy", code=weir.CCode(SAXPY + "// another text\n"))


def test_a_kernel_of_another_context(context: weir.Context) -> None:
    kernel = context.kernel("saxpy", code=weir.CCode(SAXPY))
    with weir.Context("cpu:1") as other:
        with pytest.raises(weir.InvalidArgumentError, match="context"):
            other.submit(kernel)
    kernel.release()
    with pytest.raises(weir.ReleasedError, match="kernel"):
        context.submit(kernel)
