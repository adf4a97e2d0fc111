#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a task costs from Python, with the installed package `weir`.

submit.py [--tasks N] [--rounds N] [--json FILE]: tasks with 2 reads and 1 write on 64 buffers, against a plain call of a
function and concurrent.futures. Each line has the time of the submitting thread, and the time until all are done, in ns a
task: the median of the rounds, which alternate between the lines.
"""

import argparse
import concurrent.futures
import json
import os
import platform
import statistics
import time

import numpy as np

import weir

EMPTY = """
#include <weir/kernel.h>
WEIR_KERNEL(empty, 1, 1, 1, (WEIR_BUFFER(const float, a), WEIR_BUFFER(const float, b), WEIR_BUFFER(float, c))) {}
"""


def nothing(*_):
    """The function of all tasks."""


def call_plain(tasks, _, buffers):
    for i in range(tasks):
        nothing(buffers[i & 63], buffers[(i + 7) & 63], buffers[(i + 13) & 63])
    return time.perf_counter()


def call_futures(tasks, pool, buffers):
    futures = [
        pool.submit(nothing, buffers[i & 63], buffers[(i + 7) & 63], buffers[(i + 13) & 63]) for i in range(tasks)
    ]
    submitted = time.perf_counter()
    concurrent.futures.wait(futures)
    return submitted


def submit(context, work, tasks, buffers, **options):
    read, write = weir.read, weir.write
    for i in range(tasks):
        context.submit(
            work, read(buffers[i & 63]), read(buffers[(i + 7) & 63]), write(buffers[(i + 13) & 63]), **options
        )
    submitted = time.perf_counter()
    context.finish()
    return submitted


def submit_bare(context, tasks):
    for _ in range(tasks):
        context.submit(nothing)
    submitted = time.perf_counter()
    context.finish()
    return submitted


def launch(graph, context, tasks, size):
    for _ in range(tasks // size):
        graph.launch()
    submitted = time.perf_counter()
    context.finish()
    return submitted


def make_graph(context, work, buffers, size):
    with context.graph() as graph:
        for i in range(size):
            graph.submit(
                work, weir.read(buffers[i & 63]), weir.read(buffers[(i + 7) & 63]), weir.write(buffers[(i + 13) & 63])
            )
    return graph


def make_pipeline(context):
    """Three stages that do nothing to a buffer."""
    pipe = context.pipeline(lines=4)
    own = pipe.buffer(16)
    for access in (weir.write, weir.update, weir.read):
        pipe.stage(access(own))(nothing)
    return pipe


def iterate(pipe, tasks):
    """Each stage of an item is a task."""
    for _ in pipe(range(tasks // 3)):
        pass
    return time.perf_counter()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--tasks", type=int, default=20000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", help="also write the table to this file")
    options = parser.parse_args()
    arrays = [np.zeros(16, np.float32) for _ in range(64)]
    with weir.Context("cpu:2") as context, concurrent.futures.ThreadPoolExecutor(2) as pool:
        buffers = [context.array(one) for one in arrays]
        kernel = context.kernel("empty", code=weir.CCode(EMPTY))
        graph, pipe = make_graph(context, kernel, buffers, 100), make_pipeline(context)
        ways = {
            "plain call of a function": lambda n: call_plain(n, None, arrays),
            "weir: kernel in C, 2 reads, 1 write": lambda n: submit(context, kernel, n, buffers),
            "weir: the same in a graph of 100": lambda n: launch(graph, context, n, 100),
            "weir: function, no arguments": lambda n: submit_bare(context, n),
            "weir: function, 2 reads, 1 write": lambda n: submit(context, nothing, n, buffers),
            "weir: stage of a pipeline, 1 access": lambda n: iterate(pipe, n),
            "concurrent.futures, 2 threads": lambda n: call_futures(n, pool, arrays),
        }
        times = {name: [] for name in ways}
        for _ in range(options.rounds):
            for name, way in ways.items():
                start = time.perf_counter()
                submitted = way(options.tasks)
                done = time.perf_counter()
                times[name].append(((submitted - start) / options.tasks * 1e9, (done - start) / options.tasks * 1e9))
    table = {
        name: {
            "submit_ns": round(statistics.median(one[0] for one in rounds)),
            "done_ns": round(statistics.median(one[1] for one in rounds)),
            "least_done_ns": round(min(one[1] for one in rounds)),
        }
        for name, rounds in times.items()
    }
    print(f"{'ns a task':38} {'submit':>8} {'done':>8} {'least':>8}")
    for name, row in table.items():
        print(f"{name:38} {row['submit_ns']:8} {row['done_ns']:8} {row['least_done_ns']:8}")
    if options.json:
        record = {
            "weir": weir.__version__,
            "python": platform.python_version(),
            "numpy": np.__version__,
            "cores": os.cpu_count(),
            "tasks": options.tasks,
            "rounds": options.rounds,
            "table": table,
        }
        with open(options.json, "w", encoding="utf-8") as out:
            json.dump(record, out, indent=2)


if __name__ == "__main__":
    main()
