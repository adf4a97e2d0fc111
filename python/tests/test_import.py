# SPDX-License-Identifier: Apache-2.0
"""What `import weir` loads, and what comes later."""

import pytest

import weir
from conftest import run_program


def test_numpy_comes_with_the_first_array():
    run_program(
        "import sys, weir\n"
        "assert 'numpy' not in sys.modules and 'dataclasses' not in sys.modules\n"
        "with weir.Context('cpu:1') as context:\n"
        "    assert context.submit(lambda: 5).result() == 5\n"
        "    assert 'numpy' not in sys.modules\n"
        "    a = context.buffer(3)\n"
        "    assert 'numpy' in sys.modules and a.dtype.name == 'float32'\n"
        "    context.submit(lambda view: view.fill(2), weir.write(a))\n"
        "    assert a.numpy().sum() == 6\n"
    )


def test_first_arrays_in_many_threads():
    run_program(
        "import threading, weir\n"
        "sums = []\n"
        "with weir.Context('cpu:2') as context:\n"
        "    def one(start=threading.Barrier(8)):\n"
        "        start.wait()\n"
        "        sums.append(context.array([1.0, 2.0]).numpy().sum())\n"
        "    threads = [threading.Thread(target=one) for _ in range(8)]\n"
        "    for thread in threads:\n"
        "        thread.start()\n"
        "    for thread in threads:\n"
        "        thread.join()\n"
        "assert sums == [3.0] * 8, sums\n"
    )


def test_without_numpy():
    """An interpreter that cannot import NumPy says so at the first array, and the context goes on."""
    run_program(
        "import sys\n"
        "sys.modules['numpy'] = None\n"
        "import weir\n"
        "with weir.Context('cpu:1') as context:\n"
        "    try:\n"
        "        context.buffer(3)\n"
        "    except ImportError as failure:\n"
        "        assert 'numpy' in str(failure)\n"
        "    else:\n"
        "        raise SystemExit('no error')\n"
        "    assert context.submit(lambda: 5).result() == 5\n"
    )


def test_subinterpreters_are_refused():
    pytest.importorskip("_xxsubinterpreters")
    for first in ("import weir\n", ""):
        text = run_program(
            first + "import _xxsubinterpreters as interpreters\n"
            "other = interpreters.create()\n"
            "try:\n"
            "    interpreters.run_string(other, 'import weir')\n"
            "except interpreters.RunFailedError as failure:\n"
            "    assert 'ImportError' in str(failure), failure\n"
            "    print('refused')\n"
            "interpreters.destroy(other)\n"
            "import weir\n"
            "with weir.Context('cpu:1') as context:\n"
            "    print(context.submit(lambda: 5).result())\n"
        )
        assert text == "refused\n5\n"


def test_names_of_the_package():
    for name in weir.__all__:
        assert getattr(weir, name) is not None
        assert name in dir(weir)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        weir.nothing  # noqa: B018
    names = {}
    exec("from weir import *", names)
    assert set(weir.__all__) <= set(names)
