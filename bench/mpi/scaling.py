#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Weak and strong scaling of a stencil on a simulated cluster (`weir replay --cluster`).

    bench/mpi/scaling.py [--weir WEIR] [--nodes N,...] [--points N,...] [--us X,...] [--latency X,...] [--width N]
                         [--strong-nodes N,...] [--strong-us X,...] [--steps N] [--skip 1|0,...]
                         [--settings KEY=VALUE,...]

One rank and one worker a node. Weak: the time of one node by that of N, each with so many points. Then the shortest
kernel, in us, with which the most nodes reach 0.9. Strong: the time of one node by that of N, for --width points in
all. --points 0 or --width 0 leaves one out. Both with ranks that leave out what does not concern them (--skip 1), and
with ranks that submit all (0). Beside each figure is the part that is busy longest: workers (tasks and messages),
submission, links, or the chain.
"""

import argparse
import json
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
ASKED = 0.9


def replay(options, nodes, width, us, latency, skip):
    settings = f"latency_us={latency},skip={skip}" + (f",{options.settings}" if options.settings else "")
    command = [
        options.weir,
        "replay",
        "--json",
        "--ranks",
        str(nodes),
        "--cluster",
        settings,
        f"pattern:stencil_1d,width={width},steps={options.steps},us={us:.3f}",
    ]
    (result,) = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    bounds = {name: bound for name, bound in result["bounds_us"].items() if name != "cores"}
    return result["makespan_us"], max(bounds, key=bounds.get)


def weak_efficiency(options, nodes, points, us, latency, skip):
    alone, _ = replay(options, 1, points, us, latency, skip)
    makespan, busiest = replay(options, nodes, nodes * points, us, latency, skip)
    return alone / makespan, busiest


def shortest_kernel(options, nodes, points, latency, skip):
    """To a tenth, between 0.1 us and 1 s; None: there is none."""
    low, high = 0.1, 1e6
    if weak_efficiency(options, nodes, points, high, latency, skip)[0] < ASKED:
        return None
    while high > 1.1 * low:
        middle = (low * high) ** 0.5
        if weak_efficiency(options, nodes, points, middle, latency, skip)[0] >= ASKED:
            high = middle
        else:
            low = middle
    return high


def weak(options):
    print(f"weak, {options.steps} steps: efficiency, and what is busy longest")
    print(f"{'skip':>4} {'points':>6} {'latency':>7} {'us':>6}", end="")
    print("".join(f" {nodes:>17}" for nodes in options.nodes), flush=True)
    for skip in options.skip:
        for points in options.points:
            for latency in options.latency:
                for us in options.us:
                    print(f"{skip:4} {points:6} {latency:7g} {us:6g}", end="", flush=True)
                    for nodes in options.nodes:
                        efficiency, busiest = weak_efficiency(options, nodes, points, us, latency, skip)
                        print(f" {efficiency:6.3f} {busiest:10}", end="", flush=True)
                    print()
                most = max(options.nodes)
                shortest = shortest_kernel(options, most, points, latency, skip)
                print(
                    f"    {most} nodes reach {ASKED} with kernels of "
                    + (f"{shortest:.3g} us" if shortest else "no length"),
                    flush=True,
                )


def strong(options):
    print(f"\nstrong, {options.width} points, {options.steps} steps: speed-up, and what is busy longest")
    print(
        f"{'skip':>4} {'latency':>7} {'us':>6}" + "".join(f" {nodes:>18}" for nodes in options.strong_nodes), flush=True
    )
    for skip in options.skip:
        for latency in options.latency:
            for us in options.strong_us:
                print(f"{skip:4} {latency:7g} {us:6g}", end="", flush=True)
                alone, _ = replay(options, 1, options.width, us, latency, skip)
                for nodes in options.strong_nodes:
                    makespan, busiest = replay(options, nodes, options.width, us, latency, skip)
                    print(f" {alone / makespan:7.1f} {busiest:10}", end="", flush=True)
                print()


def numbers(kind):
    return lambda text: [kind(word) for word in text.split(",")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weir", default=str(ROOT / "build" / "bin" / "weir"))
    parser.add_argument("--nodes", type=numbers(int), default=[1, 10, 100, 1000])
    parser.add_argument("--strong-nodes", type=numbers(int), default=[1, 4, 16, 64, 250, 1000, 4000])
    parser.add_argument("--points", type=numbers(int), default=[16, 64])
    parser.add_argument("--us", type=numbers(float), default=[10, 30, 100, 300])
    parser.add_argument("--strong-us", type=numbers(float), default=[100, 1000])
    parser.add_argument("--latency", type=numbers(float), default=[10])
    parser.add_argument("--width", type=int, default=4000)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--skip", type=numbers(int), default=[1, 0])
    parser.add_argument("--settings", default="")
    options = parser.parse_args()
    if options.points != [0]:
        weak(options)
    if options.width > 0:
        strong(options)


if __name__ == "__main__":
    main()
