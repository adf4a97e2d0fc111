#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Task Bench over ranks of MPI: weir-mpi, StarPU-MPI and hand-written MPI, in turns.

    bench/mpi/run.py [--binaries DIR] [--ranks N,...] [--rounds N] [--steps N] [--own] [--json]

Prints, for each pattern and number of ranks, the smallest task granularity at 50 % efficiency (two cores: time x 2 / tasks),
as the median of the rounds with the least and the most, and the bytes of contents that were sent in one run beside the fewest
that owner-computes needs. Wrong inputs of a task fail the run. A runtime that was not built is said to be missing.
--own: ranks leave out tasks in which they have no part.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PATTERNS = ["stencil_1d", "fft", "random_nearest", "spread"]
RUNTIMES = ["weir", "starpu", "plain"]
# Its threads wait for work by looking for it, so that on one core a rank they keep each other from it.
UNPINNED = ["starpu"]
# Ranks that wait give up their core: there are more threads than cores.
MPIRUN = ["mpirun", "--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1"]
LIMIT_S = 60


def measure(folder, runtime, pattern, ranks, options):
    """METG in us and bytes of one run; None for the METG: none up to tasks of 1 ms, or within LIMIT_S."""
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    command = [*MPIRUN, "-n", str(ranks), str(folder / f"weir-bench-mpi-{runtime}"), pattern, "--steps", str(options.steps)]
    command += ["--variant", "own"] if options.own else []
    command += ["--pin", "0"] if options.unpinned or runtime in UNPINNED else []
    with subprocess.Popen(command, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            output, errors = process.communicate(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            process.terminate()  # mpirun ends its ranks
            process.communicate()
            return None, None
    lines = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    if process.returncode != 0 and "less than half of the peak" in errors:
        return None, None
    if process.returncode != 0 or len(lines) != 3:
        sys.exit(f"run: {' '.join(command)} failed:\n{errors[-2000:]}")
    return lines[0]["value"], (lines[1]["value"], lines[2]["value"])


def row_of(runtime, pattern, ranks, samples):
    values = [us if us is not None else float("inf") for us, _ in samples]
    counts = next((bytes_ for _, bytes_ in samples if bytes_ is not None), (None, None))
    return {"runtime": runtime, "pattern": pattern, "ranks": ranks, "unit": "us", "median": statistics.median(values),
            "min": min(values), "max": max(values), "bytes": counts[0], "fewest_bytes": counts[1]}


def compare(folder, runtimes, pattern, ranks, options):
    samples = {runtime: [] for runtime in runtimes}
    for number in range(options.rounds):
        for runtime in runtimes if number % 2 == 0 else reversed(runtimes):
            samples[runtime].append(measure(folder, runtime, pattern, ranks, options))
    return [row_of(runtime, pattern, ranks, samples[runtime]) for runtime in runtimes]


def text_of(us):
    return "> 2000" if us == float("inf") else f"{us:.1f}"


def show(rows):
    starpu = next((row["median"] for row in rows if row["runtime"] == "starpu"), None)
    for row in rows:
        spread = f"{text_of(row['median'])} ({text_of(row['min'])} to {text_of(row['max'])})"
        ratio = "" if starpu is None or starpu == float("inf") else f"{row['median'] / starpu:.3f}"
        sent = "" if row["bytes"] is None else f"{row['bytes']:.0f} of {row['fewest_bytes']:.0f}"
        print(f"{row['pattern']:15} {row['ranks']:5} {row['runtime']:8} {spread:>32} {ratio:>10}  {sent}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binaries", default=str(ROOT / "build" / "bin"))
    parser.add_argument("--ranks", default="2,4")
    parser.add_argument("--patterns", default=",".join(PATTERNS))
    parser.add_argument("--runtimes", default=",".join(RUNTIMES))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--own", action="store_true")
    parser.add_argument("--unpinned", action="store_true", help="no rank is kept to one core, as StarPU's never are")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    folder = pathlib.Path(options.binaries)
    wanted = options.runtimes.split(",")
    runtimes = [runtime for runtime in wanted if (folder / f"weir-bench-mpi-{runtime}").exists()]
    for runtime in wanted:
        if runtime not in runtimes:
            print(f"run: {runtime} was not built", file=sys.stderr)
    if not options.json:
        print(f"{'pattern':15} {'ranks':>5} {'runtime':8} {'us at 50 %':>32} {'/ StarPU':>10}  bytes sent of the fewest")
    rows = []
    for ranks in options.ranks.split(","):
        for pattern in options.patterns.split(","):
            rows += compare(folder, runtimes, pattern, int(ranks), options)
            if not options.json:
                show(rows[-len(runtimes):])
    if options.json:
        for row in rows:
            row.update((key, None) for key in ("median", "min", "max") if row[key] == float("inf"))
        print(json.dumps({"steps": options.steps, "rounds": options.rounds, "own": options.own, "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
