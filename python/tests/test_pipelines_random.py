# SPDX-License-Identifier: Apache-2.0
"""Random pipelines: threads iterate and leave, stages fail, and pipelines and contexts are closed meanwhile."""

import os
import random
import threading
import time
from typing import Any, List, Optional, Tuple

import pytest

import weir

SEED = int(os.environ.get("WEIR_TEST_SEED", "1"))
ROUNDS = 100 if os.environ.get("WEIR_SMALL_TESTS") == "1" else 1000
ITEMS = 60
SECONDS = 30  # after which a thread hangs


class Boom(Exception):
    pass


def make(context: weir.Context, numbers: random.Random) -> Tuple[weir.Pipeline, Optional[int]]:
    """A pipeline, and the item at which its first stage fails."""
    pipe = context.pipeline(numbers.randint(1, 6))
    own, shared = pipe.buffer(numbers.randint(1, 500)), context.buffer(4)
    shared.fill(0)
    bad = numbers.choice([None, None, numbers.randrange(ITEMS)])

    @pipe.stage(weir.write(own), parallel=numbers.random() < 0.5)
    def first(item: int, own: Any) -> int:
        if item == bad:
            raise Boom(item)
        own[:] = item
        return item

    for _ in range(numbers.randint(0, 3)):
        access = weir.update(own if numbers.random() < 0.5 else shared)
        pipe.stage(access, parallel=numbers.random() < 0.5)(lambda item, x: item)
    return pipe, bad


class User(threading.Thread):
    """Iterates to the end, or leaves after some results."""

    def __init__(self, pipe: weir.Pipeline, bad: Optional[int], leaves: Optional[int], ends: bool) -> None:
        super().__init__()
        self.pipe, self.bad, self.leaves, self.ends = pipe, bad, leaves, ends
        self.wrong: Optional[BaseException] = None

    def iterate(self) -> None:
        got: List[int] = []
        try:
            for one in self.pipe(range(ITEMS)):
                got.append(one)
                if len(got) == self.leaves:
                    break
            else:
                assert len(got) == ITEMS
        except Boom as failure:
            assert failure.args == (self.bad,) and len(got) == self.bad
        except weir.InvalidArgumentError as failure:
            assert "has an iteration" in str(failure)
        except (weir.ReleasedError, weir.CancelledError, weir.UpstreamFailedError):
            assert self.ends  # by a close or a cancel
        assert got == list(range(len(got)))

    def run(self) -> None:
        try:
            self.iterate()
        except BaseException as failure:
            self.wrong = failure


def play(numbers: random.Random) -> None:
    context = weir.Context(f"cpu:{numbers.randint(1, 3)}", window=numbers.choice([8, 64, 0]))
    pipes = [make(context, numbers) for _ in range(numbers.randint(1, 3))]
    how = numbers.choice(["", "", "", "close a pipeline", "close", "cancel"])
    users = [
        User(pipe, bad, numbers.choice([None, None, 7]), how != "")
        for pipe, bad in pipes
        for _ in range(numbers.randint(1, 2))
    ]
    for one in users:
        one.start()
    if how:
        time.sleep(numbers.random() * 0.01)
    if how == "close a pipeline":
        pipes[0][0].close()
    elif how == "close":
        context.close()
    elif how == "cancel":
        context.cancel()
    left = None
    if how == "":
        for one in users:
            one.join(SECONDS)
        left = pipes[0][0](range(ITEMS))
        if pipes[0][1] != 0:
            assert next(left) == 0
    context.close()
    for one in users:
        one.join(SECONDS)
        assert not one.is_alive(), how
        if one.wrong is not None:
            raise one.wrong


@pytest.mark.parametrize("part", range(4))
def test_random_pipelines(part: int) -> None:
    for number in range(ROUNDS // 4):
        seed = SEED * 10_000 + part * (ROUNDS // 4) + number
        try:
            play(random.Random(seed))
        except BaseException:
            print(f"seed {seed}")
            raise
