#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Steps of MuJoCo Warp as graphs: weir.warp beside Warp's own ScopedCapture, in one run.

    bench/python/warp_models.py [--steps N] [--passes N] [--priorities] [--json] [MODEL[:WORLDS[,WORLDS]] ...]

A MODEL is a file of MJCF, or a name in mujoco_warp/test_data without ".xml"; default: humanoid/humanoid:1,1024,8192. It needs
a CUDA card, warp-lang, mujoco_warp, and the package weir (`pip install ./python`).

Both graphs start from the same state, with controls that differ from world to world. After N (1,000) steps of each the
positions are compared: equal bit for bit, or the largest difference, beside the difference between two runs of Warp's own
graph. Then the graphs take turns, 50 steps at a time, until each had N (20) turns. A time is that of a step, in us:
median, least and most of the turns. With --priorities there are two more graphs of Weir's: in the order of dependences,
with priorities for kernels of the longest chain, and without.
"""

import argparse
import json
import os
import statistics
import sys
import time
import warnings

STEPS_A_TURN = 50


def find(name):
    import mujoco_warp

    if os.path.exists(name):
        return name
    return os.path.join(os.path.dirname(mujoco_warp.__file__), "test_data", name + ".xml")


def make(name, worlds):
    """The model, and a function that makes data of it, each time in the same state."""
    import mujoco
    import mujoco_warp
    import numpy
    import warp

    host = mujoco.MjModel.from_xml_path(find(name))
    state = mujoco.MjData(host)
    if host.nkey > 0:
        mujoco.mj_resetDataKeyframe(host, state, 0)
    mujoco.mj_forward(host, state)
    model = mujoco_warp.put_model(host)
    model.opt.warn_overflow = 0  # kernels print no warnings

    def data():
        made = mujoco_warp.put_data(host, state, nworld=worlds)
        if host.nu > 0:
            control = numpy.random.default_rng(0).uniform(-0.2, 0.2, (worlds, host.nu)).astype(numpy.float32)
            made.ctrl = warp.array(control, dtype=float)
        return made

    return model, data


def capture(scoped, model, data):
    import mujoco_warp

    with scoped() as captured:
        mujoco_warp.step(model, data)
    return captured


def run(graph, steps):
    import warp

    for _ in range(steps):
        warp.capture_launch(graph)
    warp.synchronize()


def turn(graph):
    start = time.perf_counter()
    run(graph, STEPS_A_TURN)
    return (time.perf_counter() - start) / STEPS_A_TURN * 1e6


def figures(times):
    return {"median": statistics.median(times), "least": min(times), "most": max(times)}


def capture_in_order(model, data, order):
    """A graph of Weir's in one order, without a trial."""
    import weir.warp

    made = capture(weir.warp.ScopedCapture, model, data)
    if made._trial is None:
        raise RuntimeError(f"the graph has no orders: {made.report.reason}")
    made._trial.keep(order)
    return made


def measure(name, worlds, steps, passes, priorities):
    import mujoco_warp
    import numpy
    import warp

    import weir.warp

    model, data = make(name, worlds)
    mujoco_warp.step(model, data())  # loads the kernels
    states = [data() for _ in range(3)]
    scopes = [warp.ScopedCapture, weir.warp.ScopedCapture, warp.ScopedCapture]
    captured = [capture(scoped, model, state) for scoped, state in zip(scopes, states)]
    for each in captured:
        run(each.graph, steps)
    positions = [state.qpos.numpy() for state in states]
    difference = [float(numpy.abs(positions[0] - positions[which]).max()) for which in (1, 2)]
    graphs = {"warp": captured[0], "weir": captured[1]}
    if priorities:
        from weir.warp._trial import Order

        for way, order in (("with_priorities", Order.LONGEST_FIRST), ("without_priorities", Order.PARALLEL)):
            graphs[way] = capture_in_order(model, data(), order)
            run(graphs[way].graph, steps)
    times = {way: [] for way in graphs}
    for _ in range(passes):
        for way, each in graphs.items():
            times[way].append(turn(each.graph))
    report = captured[1].report
    found = {way: figures(each) for way, each in times.items()}
    return {
        "model": name,
        "worlds": worlds,
        **found,
        "ratio": found["warp"]["median"] / found["weir"]["median"],
        "equal": numpy.array_equal(positions[0], positions[1]),
        "difference": difference[0],
        "difference_of_warp": difference[1],
        "finite": bool(numpy.isfinite(positions[0]).all()),
        "report": report.__dict__,
    }


def show(row):
    report = row["report"]
    equal = "bitwise" if row["equal"] else f"{row['difference']:.2g} ({row['difference_of_warp']:.2g})"
    kept = "parallel" if report["parallel"] else "serial"
    print(
        f"{row['model']:28} {row['worlds']:6} {row['warp']['median']:9.1f} {row['weir']['median']:9.1f} {row['ratio']:6.2f}"
        f"  {report['operations']:5} {report['operations_between_all']:5} {report['dependences']:6} {kept:8} {equal}",
        flush=True,
    )
    for way in ("with_priorities", "without_priorities"):
        if way in row:
            print(f"    by dependences, {way.replace('_', ' ')}: {row[way]['median']:.1f}", flush=True)
    if report["reason"] is not None:
        print(f"    {report['reason']}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("models", nargs="*", default=["humanoid/humanoid:1,1024,8192"])
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--passes", type=int, default=20)
    parser.add_argument("--priorities", action="store_true")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    import warp

    warp.config.quiet = True
    rows = []
    if not options.json:
        print(
            f"{'model':28} {'worlds':>6} {'Warp us':>9} {'weir us':>9} {'ratio':>6}"
            f"  {'ops':>5} {'walls':>5} {'edges':>6} {'kept':8} positions (Warp's own difference)"
        )
    for spec in options.models:
        name, _, counts = spec.partition(":")
        for worlds in [int(count) for count in (counts or "1").split(",")]:
            try:
                row = measure(name, worlds, options.steps, options.passes, options.priorities)
            except Exception as failure:  # one model must not end the run
                print(f"{name}:{worlds}: {type(failure).__name__}: {failure}", file=sys.stderr)
                continue
            rows.append(row)
            if not options.json:
                show(row)
    if options.json:
        json.dump({"device": warp.get_device("cuda").name, "rows": rows}, sys.stdout, indent=2)
        print()
    return 0 if rows else 1


if __name__ == "__main__":
    sys.exit(main())
