#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""table_opencl.py SCRATCH OUTPUT COMMIT: what the steps of run.sh left in SCRATCH, as a table, JSON, a log and plots.

OUTPUT may be "": bench/results/DATE-DEVICE-opencl. Exit code 1 if a step failed or is missing, else 0; whether a target was met
is said in the table only."""
import datetime
import glob
import json
import os
import re
import shutil
import statistics
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "gpu"))
from table import MEAN, Steps, Target, cpu_name, load, mean, number, ratio, stream_table, table, write_log  # noqa: E402

TIMES = ("submit_us", "total_us", "thread_cpu_us", "process_cpu_us")


def tone_results(steps):
    """By step: the devices' best rates and the efficiency, as the tone mapper printed them."""
    rows = []
    for row in steps.rows:
        match = re.fullmatch(r"tone-(.+)-(history|guided|auto)", row["step"])
        if not match or row["status"] != "ok":
            continue
        with open(os.path.join(steps.folder, row["step"] + ".out"), encoding="utf-8") as file:
            text = file.read()
        alone = re.search(r"^alone: (.*); at the best rates together ([0-9.]+) ms, taken ([0-9.]+) ms: efficiency ([0-9.]+)", text, re.M)
        if alone is None:
            continue
        ms = [float(word) for word in re.findall(r"([0-9.]+) ms", alone[1])]
        best = min(float(word) for word in re.findall(r"median ([0-9.]+)", alone[1]))
        together, taken = float(alone[2]), float(alone[3])
        rows.append({"devices": match[1], "names": re.findall(r"\S+", text.split("\n", 1)[0])[4:], "policy": match[2],
                     "alone_ms": ms, "together_ms": together, "taken_ms": taken, "efficiency": float(alone[4]),
                     "slowest_share": together / max(ms), "by_best": taken / best,
                     "why": (re.search(r"^policy \w+: (.*)$", text, re.M) or [None, ""])[1]})
    return rows


def split_results(steps):
    """Of `weir split`, by devices, kernel and policy: medians of the second half of the rounds."""
    rows = []
    for step in steps.rows:
        match = re.fullmatch(r"split-(.+)-(compute|memory)", step["step"])
        result = steps.output(step["step"]) if match else None
        if not result:
            continue
        alone = [device["alone_ms"] for device in result["devices"]]
        for policy in result["policies"]:
            late = policy["rounds"][len(policy["rounds"]) // 2:]
            ms = statistics.median(one["ms"] for one in late)
            rows.append({"devices": match[1], "names": [device["name"] for device in result["devices"]], "kernel": match[2],
                         "policy": policy["policy"], "alone_ms": alone, "together_ms": result["together_ms"], "taken_ms": ms,
                         "efficiency": statistics.median(one["efficiency"] for one in late), "by_best": ms / min(device["alone_median_ms"] for device in result["devices"]),
                         "slowest_share": result["together_ms"] / max(alone), "why": late[-1]["why"]})
    return rows


def way(case, name):
    return next((row for row in case["ways"] if row["way"] == name), None)


def median(row, field):
    return row[field]["median"] if row else None


def submission(tasks):
    """What Weir adds to the platform's own enqueueing of empty tasks, microseconds of the submitting thread's CPU and in all."""
    empty = tasks["cases"][0]
    raw, each = way(empty, "OpenCL, 1 in-order queue"), way(empty, "OpenCL, 1 in-order queue, an event each")
    weir = way(empty, "Weir, its own number of queues")
    difference = {}
    for field in TIMES:
        difference[field] = median(weir, field) - median(raw, field)
        difference[field + "_by_events"] = median(weir, field) - median(each, field)
    return difference


def stream_rows(streams):
    rows = []
    for row in streams["streams"]:
        flat = {"stream": row["stream"], "tasks": row["tasks"], "limit": row["limit_us"], "first": row["weir_first_us"],
                "in_order": row["in_order_us"]["median"], "any": row["out_of_order_us"]["median"],
                "repeated": row["weir_us"]["median"], "graph": row["weir_graph_us"]["median"],
                "submit": row["weir_submit_ns_per_task"], "raw_submit": row["in_order_submit_us"]["median"] * 1000 / row["tasks"],
                "any_submit": row["out_of_order_submit_us"]["median"] * 1000 / row["tasks"]}
        flat["in_order_by_weir"] = ratio(flat["in_order"], min(flat["repeated"], flat["graph"]))
        flat["any_by_weir"] = ratio(flat["any"], min(flat["repeated"], flat["graph"]))
        rows.append(flat)
    return rows


def targets(devices, overhead, tones, splits):
    result = []
    for device in devices:
        name = f"opencl:{device['number']}"
        added = device.get("submission")
        result.append(Target(f"{name}: submission by that of one in-order queue, wall clock, more by", 0.5,
                             added["submit_us"] if added else None, " us"))
        result.append(Target(f"{name}: the same, CPU time of the submitting thread", 0.5, added["thread_cpu_us"] if added else None, " us"))
        rows = device.get("streams") or []
        result.append(Target(f"{name}: streams: in-order queue by Weir, {MEAN}", 1.0, mean([r["in_order_by_weir"] for r in rows]), "x", True))
        result.append(Target(f"{name}: streams: out-of-order queue by Weir, {MEAN}", 1.0, mean([r["any_by_weir"] for r in rows]), "x", True))
    pairs = {row["case"]: row for row in overhead or []}
    empty, work = pairs.get("host, to submit, empty work"), pairs.get("to the end, two halves of 1 ms")
    result.append(Target("splitting over two: host time more by", 20, empty["split_us"] - empty["plain_us"] if empty else None, " us"))
    result.append(Target("splitting over two: launches of 1 ms longer by", 0.05, work["split_us"] / work["plain_us"] - 1 if work else None))
    for row in splits + tones:
        if row["policy"] != "auto":
            continue
        what = f"{'kernel ' + row['kernel'] if 'kernel' in row else 'tone mapper'}, {', '.join(row['names'])}, auto: "
        result.append(Target(what + "time by that of the better device alone", 1.02, row["by_best"], "x"))
        if row["slowest_share"] >= 0.05:
            result.append(Target(what + "efficiency", 0.9, row["efficiency"], "", True))
    return result


def device_lines(device):
    lines = ["", f"## opencl:{device['number']}: {device['name']}, {device['platform']}, {device['units']} compute units", ""]
    if device.get("tasks"):
        for case in device["tasks"]["cases"]:
            lines += [f"{case['tasks']} tasks of two reads and one update over 64 cells, which count to {case['rounds']}; us a task, medians "
                      f"of {device['tasks']['runs']} runs in turn; at most 1024 in flight.", ""]
            cells = [[row["way"], number(median(row, "submit_us"), 2), f"{row['submit_us']['p10']:.2f} to {row['submit_us']['p90']:.2f}",
                      *(number(median(row, field), 2) for field in TIMES[1:])] for row in case["ways"]]
            lines += table(["way", "to submit", "10 to 90 %", "in all", "CPU, submitter", "CPU, process"], cells) + [""]
    if device.get("streams"):
        lines += [f"Recorded streams, times x {device['scale']:g}, one compute unit a task; us, medians. The queues know the order "
                  "beforehand; Weir finds it. limit: the longer of the critical path and the work by compute units.", ""]
        fields = [("tasks", "tasks", 0), ("limit", "limit", 0), ("in-order", "in_order", 0), ("out-of-order", "any", 0),
                  ("Weir, first", "first", 0), ("repeated", "repeated", 0), ("graph", "graph", 0),
                  ("in-order / Weir", "in_order_by_weir", 2), ("out-of-order / Weir", "any_by_weir", 2),
                  ("in-order, ns to submit", "raw_submit", 0), ("out-of-order", "any_submit", 0), ("Weir", "submit", 0)]
        lines += stream_table(device["streams"], fields, [field for _, field, _ in fields[1:]])
    return lines


def report(record):
    lines = [f"# OpenCL: {record['card']}, {record['date']}", "",
             f"Host: {record['cpu']}, {record['cpus']} CPUs; commit {record['commit']}; `bench/opencl/run.sh`.", "", "## Targets", ""]
    lines += table(["what", "target", "measured", "met"], record["targets"], 4)
    for device in record["devices"]:
        lines += device_lines(device)
    lines += ["", "## One launch over several devices", "", "What splitting over two CPU workers costs, us:", ""]
    lines += table(["case", "two plain launches", "one split launch"],
                   [[row["case"], number(row["plain_us"], 1), number(row["split_us"], 1)] for row in record["overhead"]])
    lines += ["", "Kernels (`weir split`) and the tone mapper's longest launch: each device alone (the best of its launches), all at these rates, taken; by the better alone: medians.", ""]
    lines += table(["devices", "kernel", "policy", "alone, ms", "together, ms", "taken, ms", "efficiency", "by the better alone", "why"],
                   [[", ".join(row["names"]) or row["devices"], row.get("kernel", "tone mapper"), row["policy"],
                     ", ".join(f"{ms:.2f}" for ms in row["alone_ms"]), number(row["together_ms"], 2), number(row["taken_ms"], 2),
                     number(row["efficiency"], 3), number(row["by_best"], 2), row["why"]] for row in record["split"] + record["tone"]], 4)
    lines += ["", "## Steps", ""]
    lines += table(["step", "status", "why", "s"], [[row["step"], row["status"], row["text"], str(row["seconds"])]
                                                    for row in record["steps"]], 3)
    return "\n".join(line.rstrip() for line in lines) + "\n"


def make_record(steps, commit):
    devices = load(os.path.join(steps.folder, "devices.out")) or []
    for device in devices:
        tasks, streams = (steps.output(f"{what}-{device['number']}") for what in ("tasks", "streams"))
        device["tasks"], device["submission"] = tasks, submission(tasks) if tasks else None
        device["streams"], device["scale"] = (stream_rows(streams), streams["scale"]) if streams else (None, None)
    tones, splits, overhead = tone_results(steps), split_results(steps), steps.output("split-overhead") or []
    return {
        "card": ", ".join(device["name"] for device in devices), "cpu": cpu_name(), "cpus": os.cpu_count(), "commit": commit,
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"), "command": "bench/opencl/run.sh",
        "devices": devices, "overhead": overhead, "split": splits, "tone": tones,
        "targets": [target.cells() for target in targets(devices, overhead, tones, splits)], "steps": steps.rows,
    }


def write_results(steps, record, output):
    if not output:
        card = re.sub(r"[^a-z0-9]+", "-", record["card"].lower()).strip("-")
        output = os.path.join(os.path.normpath(os.path.join(HERE, "..", "results")), f"{record['date']}-{card}-opencl")
    text = report(record)
    with open(output + ".md", "w", encoding="utf-8") as file:
        file.write(text)
    with open(output + ".json", "w", encoding="utf-8") as file:
        json.dump(record, file, indent=1)
        file.write("\n")
    write_log(steps.folder, output + ".log")
    for plot in glob.glob(os.path.join(steps.folder, "*.svg")):
        shutil.copyfile(plot, f"{output}-{os.path.basename(plot)}")
    print(text)
    print(f"written: {output}.md, .json, .log, -*.svg", file=sys.stderr)
    sys.exit(0 if all(row["status"] == "ok" for row in steps.rows) else 1)


def main():
    folder, output, commit = sys.argv[1:]
    steps = Steps(folder)
    write_results(steps, make_record(steps, commit), output)


if __name__ == "__main__":
    main()
