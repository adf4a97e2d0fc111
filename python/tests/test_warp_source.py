# SPDX-License-Identifier: Apache-2.0
"""What Warp's kernels access, by the source that Warp generates: a recorded one, and that of the Warp that is there."""

import importlib.util
import os
import re
import sys

import pytest

import weir

FOLDER = os.path.dirname(os.path.abspath(__file__))
MODES = {1: "r", 2: "w", 3: "rw"}


def load(name, path):
    """A file as a module: weir.warp itself needs Warp."""
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


source = load("weir_warp_source", os.path.join(os.path.dirname(weir.__file__), "warp", "_source.py"))


def expected():
    """EXPECTED of warp_kernels.py, without running the rest, which needs Warp."""
    with open(os.path.join(FOLDER, "warp_kernels.py"), encoding="utf-8") as text:
        found = re.search(r"^EXPECTED = (\{.*?^\})", text.read(), re.MULTILINE | re.DOTALL)
    return eval(found.group(1))


def check(text):
    module = source.Module(text)
    symbols = {re.sub(r"_\w{8}_cuda.*", "", name): name for name in re.findall(r"(\w+_cuda_kernel_forward)\(", text)}
    assert symbols.keys() == expected().keys()
    for kernel, modes in expected().items():
        if modes is None:
            with pytest.raises(source.Opaque, match=kernel):
                module.accesses(symbols[kernel])
        else:
            found = {name: MODES[mode] for name, mode in module.accesses(symbols[kernel]).items()}
            assert found == modes, kernel


def recorded():
    with open(os.path.join(FOLDER, "data", "warp_kernels.cu"), encoding="utf-8") as text:
        return text.read()


def test_recorded_source():
    check(recorded())


def test_source_of_this_warp():
    pytest.importorskip("warp")
    check(load("warp_kernels", os.path.join(FOLDER, "warp_kernels.py")).source())


def test_unknown_kernels():
    with pytest.raises(source.Opaque, match="other_kernel is not in the source of its module"):
        source.Module(recorded()).accesses("other_kernel")


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("var_y.data[0] = 1.0;", "the address of an array's memory is taken|not understood"),
        ("var_7 = wp::bvh_query_next(var_3, var_4);", "it calls wp.bvh_query_next"),
        ("auto& [var_7, var_8] = wp::pair(var_y);", "a statement that is not understood"),
    ],
)
def test_what_is_not_understood_is_opaque(statement, reason):
    text = recorded()
    symbol = re.search(r"(plain_\w{8}_cuda_kernel_forward)\(", text).group(1)
    start = text.index(symbol)
    at = text.index("wp::array_store(", start)
    with pytest.raises(source.Opaque, match=reason):
        source.Module(text[:at] + statement + "\n" + text[at:]).accesses(symbol)


def test_unknown_functions_read_and_write():
    text = recorded()
    symbol = re.search(r"(plain_\w{8}_cuda_kernel_forward)\(", text).group(1)
    at = text.index("wp::array_store(", text.index(symbol))
    found = source.Module(text[:at] + "wp::new_function(var_x);\n" + text[at:]).accesses(symbol)
    assert found == {"x": 3, "y": 2}
