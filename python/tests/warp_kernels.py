# SPDX-License-Identifier: Apache-2.0
"""Kernels of Warp whose accesses are known, and the CUDA source that Warp makes of them.

Run with a file's name, it writes that source there: tests/data/warp_kernels.cu is such a file, of Warp 1.19.
"""

import re
import sys

import warp as wp

#: For each kernel the mode of each argument: r, w, or rw. None: it cannot be known.
EXPECTED = {
    "plain": {"x": "r", "y": "w"},
    "sums": {"x": "r", "out": "rw"},
    "calls": {"x": "r", "y": "rw", "z": "w"},
    "views": {"x": "r", "out": "w"},
    "chooses": {"a": "rw", "b": "rw"},
    "structs": {"pair": "rw"},
    "makes_struct": {"x": "rw", "y": "rw"},  # arrays of one struct are not told apart
    "loops": {"start": "r", "x": "r", "out": "rw"},
    "elements": {"x": "rw"},
    "tiles": {"x": "r", "y": "w"},
    "local": {"x": "r", "out": "w"},
    "native": {"x": "rw"},
    "prints": {"x": "r"},
    "unused": {"y": "w"},
    "mesh": None,
    "pointer": None,
    "nested": None,
}


@wp.kernel
def plain(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * 2.0


@wp.kernel
def sums(x: wp.array2d(dtype=float), out: wp.array(dtype=float)):
    i, j = wp.tid()
    wp.atomic_add(out, i, x[i, j])


@wp.func
def inner(x: wp.array(dtype=float), y: wp.array(dtype=float), i: int):
    y[i] += x[i]
    return x[i], y[i]


@wp.kernel
def calls(x: wp.array(dtype=float), y: wp.array(dtype=float), z: wp.array(dtype=float)):
    i = wp.tid()
    a, b = inner(x, y, i)
    z[i] = a + b


@wp.kernel
def views(x: wp.array2d(dtype=float), out: wp.array2d(dtype=float)):
    i = wp.tid()
    row = x[i]
    target = out[i]
    for j in range(row.shape[0]):
        target[j] = row[j]


@wp.kernel
def chooses(a: wp.array(dtype=float), b: wp.array(dtype=float), which: bool):
    i = wp.tid()
    source = a
    target = b
    if which:
        source = b
        target = a
    target[i] = source[i]


@wp.struct
class Pair:
    source: wp.array(dtype=float)
    target: wp.array(dtype=float)
    factor: float


@wp.kernel
def structs(pair: Pair):
    i = wp.tid()
    pair.target[i] = pair.source[i] * pair.factor


@wp.func
def through(pair: Pair, i: int):
    pair.target[i] = pair.source[i] * pair.factor


@wp.kernel
def makes_struct(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    pair = Pair()
    pair.source = x
    pair.target = y
    through(pair, wp.tid())


@wp.kernel
def loops(start: wp.array(dtype=int), x: wp.array(dtype=wp.vec3), out: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    sum = wp.vec3()
    for j in range(start[i], start[i + 1]):
        if x[j][0] > 0.0:
            continue
        sum += x[j]
    out[i] += sum


@wp.kernel
def elements(x: wp.array(dtype=wp.vec3)):
    x[wp.tid()][1] = 3.0


@wp.kernel
def tiles(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    wp.tile_store(y, wp.tile_load(x, shape=16, offset=i * 16) * 2.0, offset=i * 16)


@wp.kernel
def local(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    kept = wp.zeros(shape=4, dtype=float)
    for j in range(4):
        kept[j] = x[i] * float(j)
    out[i] = kept[3]


@wp.func_native("x.data[i] = 1.0f;")
def snippet(x: wp.array(dtype=float), i: int): ...


@wp.kernel
def native(x: wp.array(dtype=float)):
    snippet(x, wp.tid())


@wp.kernel
def prints(x: wp.array(dtype=float)):
    wp.printf("%f = %f\n", x[0], 1.0)


@wp.kernel
def unused(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    y[wp.tid()] = float(x.shape[0])


@wp.kernel
def mesh(mesh: wp.uint64, out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = wp.mesh_query_point(mesh, wp.vec3(), 1.0).u


@wp.kernel
def pointer(address: wp.uint64, out: wp.array(dtype=float)):
    i = wp.tid()
    found = wp.array(ptr=address, shape=(8,), dtype=float)
    out[i] = found[i]


@wp.kernel
def nested(pairs: wp.array(dtype=Pair), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = pairs[0].source[i]


def source():
    """The CUDA source of this module, without the places of functions in files."""
    module = plain.module
    options = module.resolve_options(wp.config, block_dim=256) | {"output_arch": 90, "enable_backward": False}
    return re.sub(r"^// /.*\n", "", module._run_codegen(options, False)[0], flags=re.MULTILINE)


if __name__ == "__main__":
    wp.config.quiet = True
    wp.init()
    with open(sys.argv[1], "w", encoding="utf-8") as out:
        out.write(source())
