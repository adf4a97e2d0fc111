# SPDX-License-Identifier: Apache-2.0
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weir
from test_kernels import needs_opencl

BLUR = """
#include <weir/kernel.h>
typedef struct part { uint32_t first, count, total, halo_before, halo_after, dimension, device, index; } part;
WEIR_KERNEL(blur, 8, 1, 1, (WEIR_BUFFER(const float, in), WEIR_BUFFER(float, out), WEIR_SCALAR(part, p))) {
  WEIR_FOR_EACH_ITEM {
    int i = weir_global_id(0), mine = i + (int)p.halo_before * 8;
    int have = ((int)p.halo_before + (int)p.count + (int)p.halo_after) * 8;
    float left = mine > 0 ? in[mine - 1] : 0, right = mine + 1 < have ? in[mine + 1] : 0;
    out[i] = left + in[mine] + right;
  }
}
"""
COUNT = 800


def expected(source: Any) -> Any:
    padded = np.concatenate([[0], source, [0]]).astype(np.float32)
    return padded[:-2] + padded[1:-1] + padded[2:]


@pytest.mark.parametrize(
    "devices,policy,resident",
    [
        ("cpu:2", "auto", False),
        pytest.param("cpu:1,opencl", "static", False, marks=needs_opencl),
        pytest.param("cpu:1,opencl", "history", True, marks=needs_opencl),
        pytest.param("cpu:1,opencl", "queue", False, marks=needs_opencl),
    ],
)
def test_a_launch_over_devices(devices: str, policy: str, resident: bool) -> None:
    source = np.arange(COUNT, dtype=np.float32)
    with weir.Context(devices) as context:
        kernel = context.kernel("blur", code=weir.CCode(BLUR))
        split = context.split(policy=policy, resident=resident)
        a, b = context.array(source), context.array(np.zeros(COUNT, np.float32))
        for _ in range(3):
            event = split.submit(
                kernel,
                weir.block(weir.read(a), 8, halo=1),
                weir.block(weir.write(b), 8),
                weir.part(),
                groups=COUNT // 8,
                label="blur",
            )
            assert event.result() is None
            a, b = b, a
        assert np.array_equal(a.numpy(), expected(expected(expected(source))))
        last = split.last_round()
        assert last.ok and last.launch == 2 and last.kernel == "blur" and last.groups == COUNT // 8
        assert sum(one.groups for one in last.devices) == COUNT // 8 and last.policy.startswith(policy)
        split.release()
        with pytest.raises(weir.ReleasedError):
            split.last_round()


def test_bad_launches(context: weir.Context, tmp_path: Path) -> None:
    kernel = context.kernel("blur", code=weir.CCode(BLUR))
    a, b = context.array(np.zeros(64, np.float32)), context.buffer(64)
    split = context.split(history=str(tmp_path / "times"))
    with pytest.raises(weir.UnavailableError):
        split.last_round()
    with pytest.raises(TypeError, match="argument 1 is <class 'float'>"):
        split.submit(kernel, weir.read(a), 1.0, weir.part(), groups=8)
    with pytest.raises(TypeError, match="access of a buffer"):
        weir.block(a)  # type: ignore[arg-type]
    with pytest.raises(weir.InvalidArgumentError, match="rows"):
        weir.block(weir.read(a), 0)
    with pytest.raises(weir.InvalidArgumentError, match="gaps"):
        split.submit(kernel, weir.block(weir.read(a.reshape(8, 8)[:, 1:])), groups=8)
    with pytest.raises(weir.InvalidArgumentError):  # the parts leave gaps
        split.submit(kernel, weir.block(weir.read(a), 8), weir.block(weir.write(b), 1), weir.part(), groups=8)
    with pytest.raises(weir.InvalidArgumentError, match="policy"):
        context.split(policy="best")
    with pytest.raises(weir.InvalidArgumentError, match="shares has 2 numbers for 1"):
        context.split(shares=[1, 2])
    with pytest.raises(weir.InvalidArgumentError, match="1 to 16"):
        context.split(devices=[])
    split.submit(kernel, weir.block(weir.read(a), 8), weir.block(weir.write(b), 8), weir.part(), groups=8).result()
    split.release()
    assert (tmp_path / "times").exists()
