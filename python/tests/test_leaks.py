# SPDX-License-Identifier: Apache-2.0
"""A hundred thousand tasks of every kind leave neither objects nor memory behind."""

import ctypes
import gc
import os
import sys
from typing import Any, Callable, Dict, List

import numpy as np

import weir

SMALL = os.environ.get("WEIR_SMALL_TESTS") == "1"
TASKS = 10_000 if SMALL else 100_000
KEPT_FAILURES = 1024  # of which a context keeps the exceptions
# What may be there that was not there before. An object, or 32 bytes, for each task of one kind are more.
MOST = {"objects": 100, "blocks": 400, "heap": 30_000}

KERNEL = """
#include <weir/kernel.h>
WEIR_KERNEL(twice, 64, 1, 1, (WEIR_BUFFER(float, x), WEIR_SCALAR(int32_t, count))) {
  WEIR_FOR_EACH_ITEM { if (weir_global_id(0) < count) x[weir_global_id(0)] *= 2; }
}
"""


class HeapInfo(ctypes.Structure):
    """struct mallinfo2 of glibc."""

    _fields_ = [(name, ctypes.c_size_t) for name in "arena ordblks smblks hblks hblkhd usmblks fsmblks".split()] + [
        (name, ctypes.c_size_t) for name in "uordblks fordblks keepcost".split()
    ]


def heap_bytes() -> int:
    """Bytes that malloc gave out, in all its arenas; 0 where glibc is older than 2.33."""
    try:
        function = ctypes.CDLL(None).mallinfo2
    except AttributeError:
        return 0
    function.restype = HeapInfo
    info = function()
    return int(info.uordblks + info.hblkhd)


def count(context: weir.Context) -> Dict[str, int]:
    context.finish()
    for _ in range(3):
        gc.collect()
    return {
        "objects": len(gc.get_objects()),
        "blocks": sys.getallocatedblocks(),
        "heap": heap_bytes(),
    }


class Program:
    """Rounds of tasks of every kind."""

    def __init__(self, context: weir.Context) -> None:
        self.context = context
        self.numbers = context.array(np.zeros((4, 64), np.float32))
        self.memory = np.zeros(64)
        self.wrapped = context.wrap(self.memory)
        self.twice = context.kernel("twice", code=weir.CCode(KERNEL))
        self.called = 0
        with context.graph() as self.graph:
            self.graph.submit(self.touch, weir.update(self.numbers[0]))
            self.graph.submit(self.twice, weir.update(self.numbers[1]), np.int32(64), groups=1)
        self.pipe = context.pipeline(2)
        own = self.pipe.buffer(16)
        self.pipe.stage(weir.write(own))(lambda item, own: own.fill(item))

    @staticmethod
    def touch(view: Any) -> None:
        view[0] = 1

    def call_back(self, _: weir.Event) -> None:
        self.called += 1

    def function(self) -> None:
        assert self.context.submit(lambda x, y: [float(x[0, 0]), y], weir.read(self.numbers), {"a": 1}).result()[1]

    def forgotten(self) -> None:
        self.context.submit(self.touch, weir.update(self.wrapped), label="forgotten")

    def kernel(self) -> None:
        self.context.submit(self.twice, weir.update(self.numbers[2]), np.int32(64), groups=1)

    def box(self) -> None:
        self.context.submit(self.touch, weir.update(self.numbers[1:3, 5:9]))

    def temporary(self) -> None:
        buffer = self.context.buffer(64)
        self.context.submit(lambda x: x.fill(3), weir.write(buffer)).add_done_callback(self.call_back)

    def copies(self) -> None:
        self.numbers[3].copy_from(np.ones(64, np.float32))
        assert self.numbers[3].numpy()[0] == 1

    def wrapping(self) -> None:
        self.context.submit(self.touch, weir.update(self.context.wrap(bytearray(16))))

    def failure(self) -> None:
        buffer = self.context.buffer(8)
        first = self.context.submit(lambda x: 1 / 0, weir.write(buffer))
        skipped = self.context.submit(self.touch, weir.update(buffer), after=[first])
        assert isinstance(skipped.exception(), weir.UpstreamFailedError)

    def launch(self) -> None:
        self.graph.launch()

    def pipeline(self) -> None:
        assert list(self.pipe(range(2))) == [None, None]

    def rounds(self, tasks: int) -> None:
        kinds: List[Callable[[], None]] = [self.function, self.forgotten, self.kernel, self.box, self.temporary]
        kinds += [self.copies, self.wrapping, self.failure, self.launch, self.pipeline]
        for number in range(tasks // len(kinds)):
            for kind in kinds:
                kind()
            if number % 100 == 0:
                self.context.finish()


def test_nothing_is_left_of_many_tasks() -> None:
    with weir.Context("cpu:2") as context:
        program = Program(context)
        for number in range(KEPT_FAILURES):
            program.failure()
            if number % 100 == 0:
                context.finish()
        program.rounds(12000)
        now, grown = count(context), {}
        for _ in range(3):  # a table that grows once is no leak
            before = now
            program.rounds(TASKS)
            now = count(context)
            grown = {what: now[what] - before[what] for what in now}
            if all(grown[what] <= MOST[what] for what in grown):
                break
        else:
            raise AssertionError(f"left of {TASKS} tasks: {grown}")
        assert program.called >= 1200 + TASKS // 10
        assert context.statistics()["tasks"] > TASKS
