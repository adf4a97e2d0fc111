#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The simulated cluster against real ranks of this machine.

    bench/mpi/cluster.py MEASURED [--weir WEIR] [--rounds N] [--prefix "COMMAND..."] [--settings KEY=VALUE,...]

Plays patterns of Task Bench and recorded streams on 1, 2 and 4 ranks (`weir replay --ranks`), and keeps the shortest
of the rounds of each in the file MEASURED, as JSON; if the file is there, its times are taken. Then fits what calls,
workers and messages cost (--settings: takes these) to some of the runs, by the least squares of the logarithms of
simulated by measured times, and prints this ratio for all runs, and its median and worst error, apart for the runs
that were fitted and those that were predicted. The ranks share the cores of one machine: the latency and rate are
those of its memory (local_latency_us, local_gbs). --prefix: what real runs are started by, such as "chrt -r 1".
"""

import argparse
import json
import math
import os
import pathlib
import statistics
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
STREAMS = ROOT / "examples" / "streams"

# Ranks, other arguments, streams. Buffers that are kept tell the cost of a buffer from that of a call.
KEPT = ("--storage", "kept", "--repeat", "4")
FITTED = [
    (1, (), ("trivial,us=0", "stencil_1d,us=0", "stencil_1d,us=20")),
    (
        2,
        (),
        (
            "trivial,us=0",
            "stencil_1d,us=0",
            "spread,us=0",
            "stencil_1d,us=20",
            "stencil_1d,us=0,bytes=65536",
            "stencil_1d,us=0,steps=20,bytes=1048576",
        ),
    ),
    (2, KEPT, ("trivial,us=0",)),
    (4, (), ("trivial,us=0", "stencil_1d,us=0")),
    (4, KEPT, ("trivial,us=0",)),
]
PREDICTED = [
    (1, (), ("fft,us=5", "spread,us=50", "random_nearest,us=20")),
    (
        2,
        (),
        (
            "fft,us=0",
            "random_nearest,us=5",
            "stencil_1d,us=5",
            "stencil_1d,us=50",
            "stencil_1d,us=200",
            "fft,us=20",
            "spread,us=10",
            "spread,us=100",
            "fft,us=20,bytes=16384",
            "stencil_1d,us=200,steps=40,bytes=262144",
            "nearest,us=20,width=64",
            "squeezenet",
            "randwire",
            "hrnet_w18",
        ),
    ),
    (2, KEPT, ("stencil_1d,us=10", "fft,us=10")),
    (
        4,
        (),
        (
            "fft,us=0",
            "stencil_1d,us=20",
            "stencil_1d,us=200",
            "fft,us=20",
            "spread,us=50",
            "random_nearest,us=20",
            "nearest,us=20,width=64",
            "squeezenet",
            "randwire",
            "hrnet_w18",
        ),
    ),
]
# What is fitted, and where it begins. send_us is receive_us.
BEGIN = {
    "submit_us": 0.5,
    "pass_us": 0.3,
    "buffer_us": 0.3,
    "task_us": 0.5,
    "send_us": 1.0,
    "local_latency_us": 2.0,
    "copy_gbs": 5.0,
    "local_gbs": 5.0,
}


def path_of(stream):
    file = STREAMS / f"{stream}.jsonl"
    return str(file) if file.exists() else f"pattern:{stream}"


def key_of(ranks, arguments, stream):
    return " ".join([str(ranks), *arguments, stream])


def replay(options, arguments, streams, prefix=()):
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    command = [*prefix, options.weir, "replay", "--json", *arguments, *(path_of(stream) for stream in streams)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=600)
    return [result["makespan_us"] for result in json.loads(done.stdout)]


def measure(options):
    measured = {}
    for number in range(options.rounds):
        for ranks, arguments, streams in FITTED + PREDICTED:
            for stream in streams:  # one by one: each has ranks of its own
                (us,) = replay(options, ["--ranks", str(ranks), *arguments], [stream], options.prefix.split())
                measured.setdefault(key_of(ranks, arguments, stream), []).append(us)
        print(f"round {number + 1} of {options.rounds}", flush=True)
    return measured


def shape_of(ranks, cores):
    """As `weir run` shares the cores of the machine."""
    return {"ranks_per_node": ranks, "workers": max(1, cores // ranks), "oversubscribe": math.ceil(ranks / cores)}


def simulate(options, settings, runs):
    """The times of all runs, by key."""
    result = {}
    for ranks, arguments, streams in runs:
        all_settings = {**settings, "receive_us": settings["send_us"], **shape_of(ranks, options.cores)}
        text = ",".join(f"{key}={value:.6g}" for key, value in all_settings.items())
        times = replay(options, ["--ranks", str(ranks), "--cluster", text, *arguments], streams)
        result.update((key_of(ranks, arguments, stream), us) for stream, us in zip(streams, times))
    return result


def loss(options, settings, measured):
    simulated = simulate(options, settings, FITTED)
    return sum(math.log(us / min(measured[key])) ** 2 for key, us in simulated.items())


def fit(options, measured, keys=tuple(BEGIN)):
    """Changes one setting at a time by a factor that shrinks, as long as that helps."""
    settings, factor = dict(BEGIN), 2.0
    least = loss(options, settings, measured)
    while factor > 1.03:
        before = least
        for key in keys:
            for change in (factor, 1 / factor):
                tried = {**settings, key: settings[key] * change}
                found = loss(options, tried, measured)
                if found < least:
                    settings, least = tried, found
                    break
        if before - least < 0.01 * before:
            factor = math.sqrt(factor)
        print(
            f"factor {factor:.3f}: root of the mean square {math.sqrt(least / sum(len(run[2]) for run in FITTED)):.3f}",
            flush=True,
        )
    return settings


def show(title, measured, simulated):
    errors = []
    print(f"\n{title}\n{'ranks, options, stream':58} {'measured us':>12} {'median':>9} {'simulated':>10} {'error':>7}")
    for key, us in simulated.items():
        error = us / min(measured[key]) - 1
        errors.append(abs(error))
        least, middle = min(measured[key]), statistics.median(measured[key])
        print(f"{key:58} {least:12.0f} {middle:9.0f} {us:10.0f} {100 * error:+6.1f}%")
    print(
        f"error: median {100 * statistics.median(errors):.1f} %, worst {100 * max(errors):.1f} %, of {len(errors)} runs"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("measured")
    parser.add_argument("--weir", default=str(ROOT / "build" / "bin" / "weir"))
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--cores", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--prefix", default="")
    parser.add_argument("--settings", help="of those that are fitted, all")
    options = parser.parse_args()
    if not os.path.exists(options.measured):
        with open(options.measured, "w", encoding="utf-8") as file:
            json.dump(measure(options), file, indent=1)
    with open(options.measured, encoding="utf-8") as file:
        measured = json.load(file)
    if options.settings:
        settings = {key: float(value) for key, value in (pair.split("=") for pair in options.settings.split(","))}
    else:
        settings = fit(options, measured)
    print(",".join(f"{key}={value:.3g}" for key, value in settings.items()))
    show("fitted", measured, simulate(options, settings, FITTED))
    for ranks in sorted({run[0] for run in PREDICTED}):
        show(
            f"predicted, {ranks} ranks",
            measured,
            simulate(options, settings, [run for run in PREDICTED if run[0] == ranks]),
        )
    show("predicted, all", measured, simulate(options, settings, PREDICTED))


if __name__ == "__main__":
    main()
