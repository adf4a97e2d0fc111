#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""table_vulkan.py SCRATCH OUTPUT COMMIT STREAM...: what the steps of run_vulkan.sh left in SCRATCH, as a table, JSON and a log.

OUTPUT may be "": bench/results/DATE-CARD-vulkan. Exit code 1 if a step failed or is missing, else 0; whether a target was met
is said in the table only."""
import datetime
import json
import os
import sys

from table import (MEAN, Steps, Target, column, cpu_name, get, greatest, mean, median_of, number, parallelism, ratio, stream_table,
                   table, write_results)

# Raw Vulkan: the columns of weir-gpu-vulkan.
ONE_QUEUE = [("no barrier (wrong)", "unordered"), ("after each", "each"), ("order, by address", "order_address"),
             ("order, by buffer", "order_buffer"), ("levels, by address", "levels_address"), ("levels, by buffer", "levels_buffer"),
             ("balanced, by address", "balanced_address"), ("balanced, by buffer", "balanced_buffer")]
QUEUES = [("2 queues", "queues2_buffer"), ("4 queues", "queues4_buffer"), ("all queues", "queues_buffer"),
          ("a call a batch", "queues_calls_buffer"), ("all, chains", "chains_buffer"), ("all, levels", "queues_levels_buffer"), ("all, by address", "queues_address")]
FIRST = [("after each", "first_each"), ("order", "first_order_buffer"), ("levels", "first_levels_buffer"),
         ("recorded whole", "first_whole_buffer"), ("all queues", "first_queues_buffer")]
RAW = [name for _, name in ONE_QUEUE + QUEUES + FIRST]
WEIR = ("serial", "queues", "graph", "auto", "together")


def measure(steps, paths):
    """One row per stream with all its numbers: times in microseconds, host times in nanoseconds per task."""
    raw = {row["stream"]: row for row in (steps.output("raw") or {}).get("streams", [])}
    peers = {row["stream"]: row for row in (steps.output("peers") or {}).get("streams", [])}
    single = {name: steps.by_stream(name) for name in WEIR}
    cold, topology = steps.several("cold"), steps.several("topology")
    rows = []
    for path in paths:
        name, parallel = parallelism(path)
        row = {"stream": name, "parallelism": parallel}
        for field in ("tasks", "kernels", "kernel_us", "limit_us"):
            row[field] = get(raw.get(name), field)
        columns = get(raw.get(name), "columns") or {}
        for field in RAW:
            cell = columns.get(field)
            row["raw_" + field] = get(get(cell, "us"), "median")
            row["barriers_" + field], row["submissions_" + field] = get(cell, "barriers"), get(cell, "submissions")
            row["record_" + field] = get(get(cell, "record_us"), "median")
        correct = [row["raw_" + field] for _, field in ONE_QUEUE[1:] + QUEUES if row["raw_" + field]]
        row["raw_best"] = min(correct) if correct else None
        first = [row["raw_" + field] for _, field in FIRST if row["raw_" + field]]
        row["raw_first_best"] = min(first) if first else None
        row["cuda_one"] = get(get(peers.get(name), "one_stream_us"), "median")
        row["cuda_dag"] = get(get(peers.get(name), "graph_buffer_us"), "median")
        for mode, runs in single.items():
            row[mode] = get(runs.get(name), "pass_us")
        row["cold"], row["topology"] = (median_of(runs.get(name), "first_us") for runs in (cold, topology))
        row["host_repeated"] = get(single["auto"].get(name), "later_submit_ns_per_task")
        row["host_cold"] = median_of(cold.get(name), "first_submit_ns_per_task")
        repeated = [row[mode] for mode in ("graph", "auto") if row[mode]]
        row["weir"] = min(repeated) if repeated else None
        row["each_by_weir"] = ratio(row["raw_each"], row["weir"])
        row["each_by_raw"] = ratio(row["raw_each"], row["raw_best"])
        row["weir_by_dag"] = ratio(row["weir"], row["cuda_dag"])
        row["raw_by_dag"] = ratio(row["raw_best"], row["cuda_dag"])
        row["one_by_cold"] = ratio(row["cuda_one"], row["cold"])
        row["one_by_topology"] = ratio(row["cuda_one"], row["topology"])
        row["one_by_raw_first"] = ratio(row["cuda_one"], row["raw_first_best"])
        rows.append(row)
    return rows


def rerecorded(steps):
    """Nanoseconds per dispatch by which a sequence takes longer when something in it was replaced."""
    return {row["case"]: row["median"] for row in steps.output("sequences") or [] if row["runtime"].endswith("than as it is")}


def targets(rows, again):
    return [
        Target(f"repeated: a barrier after each by Weir (graph or auto), {MEAN}", 2.0, mean(column(rows, "each_by_weir")), "x", True),
        Target(f"the same, raw Vulkan's best, {MEAN}", 2.0, mean(column(rows, "each_by_raw")), "x", True),
        Target(f"repeated: Weir by CUDA DAG graph, {MEAN}", 1.25, mean(column(rows, "weir_by_dag")), "x"),
        Target("the same, worst stream", 1.25, greatest(column(rows, "weir_by_dag")), "x"),
        Target(f"the same, raw Vulkan's best, {MEAN}", 1.25, mean(column(rows, "raw_by_dag")), "x"),
        Target(f"first pass: one CUDA stream by Weir, cold, {MEAN}", 2.0, mean(column(rows, "one_by_cold")), "x", True),
        Target(f"the same, topology met, {MEAN}", 2.0, mean(column(rows, "one_by_topology")), "x", True),
        Target(f"the same, raw Vulkan's best, recording counted, {MEAN}", 2.0, mean(column(rows, "one_by_raw_first")), "x", True),
        Target("raw Vulkan: host time to record a dispatch, worst stream", 0.5, greatest(column(rows, "record_order_buffer")), " us"),
        Target("Weir: host time per dispatch to record a sequence anew, a constant replaced", 500, again.get("a constant replaced"), " ns"),
        Target("the same, a buffer of all dispatches replaced", 500, again.get("a buffer replaced"), " ns"),
    ]


def raw_table(rows, columns, prefix="raw_", digits=0):
    fields = [(title, prefix + field, digits) for title, field in columns]
    return stream_table(rows, fields, [field for _, field, _ in fields] if prefix == "raw_" else [])


def report(record):
    rows = record["streams"]
    lines = [f"# Vulkan on a card: {record['card']}, {record['date']}", "",
             f"Driver {record['driver']}; host: {record['cpu']}, {record['cpus']} CPUs; commit {record['commit']}; "
             "`bench/gpu/run_vulkan.sh`. Times in microseconds, medians, from the first call until the host has seen that all is "
             "done; host waits of the streams are left out.", "", "## Targets", ""]
    lines += table(["what", "target", "measured", "met"], record["targets"], 4)
    lines += ["", "## Raw Vulkan, one queue, recorded beforehand", ""]
    lines += raw_table(rows, ONE_QUEUE)
    lines += ["", "Barriers in them:", ""]
    lines += raw_table(rows, ONE_QUEUE, "barriers_")
    lines += ["", "## Raw Vulkan, queues of the compute family, by buffer, recorded beforehand", ""]
    lines += raw_table(rows, QUEUES)
    lines += ["", "Submissions (`VkSubmitInfo`) in them:", ""]
    lines += raw_table(rows, QUEUES, "submissions_")
    lines += ["", "## Raw Vulkan, first passes: recording is counted, planning is not", ""]
    lines += raw_table(rows, FIRST)
    lines += ["", "## Weir", "", "one and DAG: one CUDA stream, and the CUDA graph of the dependences by buffer, built beforehand, "
              "in the same run. Weir: the better of graph and auto.", ""]
    times = [("limit", "limit_us", 0), ("one", "cuda_one", 0), ("DAG", "cuda_dag", 0), ("after each", "raw_each", 0),
             ("serial", "serial", 0), ("queues", "queues", 0), ("graph", "graph", 0), ("auto", "auto", 0),
             ("each / Weir", "each_by_weir", 2), ("Weir / DAG", "weir_by_dag", 2), ("back to back", "together", 0)]
    lines += stream_table(rows, times, [field for _, field, _ in times])
    lines += ["", "First passes: cold on a device that is awake and has memory; met: its topology was run before.", ""]
    times = [("one", "cuda_one", 0), ("cold", "cold", 0), ("one / cold", "one_by_cold", 2), ("met", "topology", 0),
             ("one / met", "one_by_topology", 2), ("host ns per task, cold", "host_cold", 0), ("repeated", "host_repeated", 0)]
    lines += stream_table(rows, times, [field for _, field, _ in times])
    lines += ["", "A sequence of 1000 small products (`weir bench sequences`):", ""]
    lines += table(["case", "what", "median", "least", "most", "unit"],
                   [[row["case"], row["runtime"], number(row["median"], 1), number(row["min"], 1), number(row["max"], 1), row["unit"]]
                    for row in record["sequences"]], 2)
    lines += ["", "## Steps", ""]
    lines += table(["step", "status", "why", "s"], [[row["step"], row["status"], row["text"], str(row["seconds"])]
                                                    for row in record["steps"]], 3)
    return "\n".join(line.rstrip() for line in lines) + "\n"


def make_record(steps, commit, paths):
    raw = steps.output("raw") or {}
    with open(os.path.join(steps.folder, "card"), encoding="utf-8") as file:
        smi = [word.strip() for word in file.readline().split(",")]
    rows = measure(steps, paths)
    return {
        "card": raw.get("device") or smi[0] or "unknown card",
        "driver": raw.get("driver") or "unknown",
        "families": raw.get("families"), "cpu": cpu_name(), "cpus": os.cpu_count(), "commit": commit,
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"), "command": "bench/gpu/run_vulkan.sh",
        "streams": rows, "targets": [target.cells() for target in targets(rows, rerecorded(steps))],
        "sequences": steps.output("sequences") or [],
        "steps": steps.rows,
    }


def main():
    folder, output, commit, *paths = sys.argv[1:]
    steps = Steps(folder)
    record = make_record(steps, commit, paths)
    write_results(steps, record, report(record), output, "-vulkan")


if __name__ == "__main__":
    main()
