# SPDX-License-Identifier: Apache-2.0
"""Random programs give what NumPy gives when the tasks run one after another."""

import os
import random
from typing import Any, List, Tuple

import numpy as np
import pytest

import weir

SEED = int(os.environ.get("WEIR_TEST_SEED", "1"))
ROWS, COLUMNS, BUFFERS, TASKS = 12, 10, 4, 120


def combine(out: Any, *sources: Any) -> None:
    for one in sources:
        out[...] += one.sum() % 17
    out[...] = (out * 3 + 1) % 1009


def overwrite(out: Any, *sources: Any) -> None:
    out[...] = 5
    combine(out, *sources)


def random_key(numbers: random.Random) -> Tuple[slice, slice]:
    first, left = numbers.randrange(ROWS), numbers.randrange(COLUMNS)
    rows = slice(first, numbers.randrange(first, ROWS) + 1)
    columns = slice(left, numbers.randrange(left, COLUMNS) + 1)
    return (rows, slice(None)) if numbers.random() < 0.5 else (rows, columns)


@pytest.mark.parametrize("number", range(6))
def test_random_programs(number: int) -> None:
    seed = SEED * 1000 + number
    numbers = random.Random(seed)
    expected = [np.arange(ROWS * COLUMNS, dtype=np.int64).reshape(ROWS, COLUMNS) + i for i in range(BUFFERS)]
    memory = [one.copy() for one in expected]
    options = {"seed": seed, "window": numbers.choice([8, 64, 1024]), "rename": number != 3}
    with weir.Context(f"cpu:{numbers.randint(1, 3)}", **options) as context:
        buffers: List[weir.Buffer] = [
            context.wrap(one) if i == 0 else context.array(one) for i, one in enumerate(memory)
        ]
        graph = None
        for _ in range(TASKS):
            places = numbers.sample(range(BUFFERS), numbers.randint(1, BUFFERS))
            keys = [random_key(numbers) for _ in places]
            function = numbers.choice([combine, overwrite])
            mode = weir.write if function is overwrite else weir.update
            arguments = [mode(buffers[places[0]][keys[0]])]
            arguments += [weir.read(buffers[place][key]) for place, key in zip(places[1:], keys[1:])]
            function(*(expected[place][key] for place, key in zip(places, keys)))
            if numbers.random() < 0.1:
                with context.graph() as graph:
                    graph.submit(function, *arguments)
                graph.launch()
            else:
                context.submit(function, *arguments)
            if numbers.random() < 0.05:
                place = numbers.randrange(BUFFERS)
                assert np.array_equal(buffers[place].numpy(), expected[place]), f"seed {seed}"
        for one, right in zip(buffers, expected):
            assert np.array_equal(one.numpy(), right), f"seed {seed}"
    assert np.array_equal(memory[0], expected[0]), f"seed {seed}"
