#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""table.py SCRATCH OUTPUT COMMIT STREAM...: what the steps of run.sh left in SCRATCH, as a table, JSON and a log.

OUTPUT may be "": bench/results/DATE-CARD. Exit code 1 if a step failed or is missing, else 0; whether a target was met is
said in the table only."""
import datetime
import glob
import json
import math
import os
import re
import statistics
import sys

MEAN = "geometric mean"


def load(path):
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError):
        return None


class Steps:
    """What run.sh noted of its steps, and what they printed."""

    def __init__(self, folder):
        self.folder = folder
        with open(os.path.join(folder, "steps"), encoding="utf-8") as file:
            rows = [line.rstrip("\n").split("\t") for line in file]
        self.rows = [{"step": name, "status": status, "seconds": int(seconds), "text": text}
                     for name, status, seconds, text in rows]

    def output(self, name):
        """JSON that a step printed, or None: also when it failed."""
        good = any(row["step"] == name and row["status"] == "ok" for row in self.rows)
        return load(os.path.join(self.folder, name + ".out")) if good else None

    def notes(self, name):
        """What a step said beside its results."""
        try:
            with open(os.path.join(self.folder, name + ".err"), encoding="utf-8", errors="replace") as file:
                return [line.strip() for line in file if line.strip()]
        except OSError:
            return []

    def by_stream(self, name):
        return {row["stream"]: row for row in self.output(name) or []}

    def several(self, name):
        """By stream, the rows of steps name-1, name-2, ..."""
        names = sorted(row["step"] for row in self.rows if re.fullmatch(name + r"-\d+", row["step"]))
        rows = {}
        for step in names:
            for stream, row in self.by_stream(step).items():
                rows.setdefault(stream, []).append(row)
        return rows


def mean(values):
    values = [value for value in values if value]
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def median_of(rows, field):
    values = [row[field] for row in rows or [] if row.get(field) is not None]
    return statistics.median(values) if values else None


def ratio(a, b):
    return a / b if a is not None and b else None


def get(row, field):
    return row.get(field) if row else None


def parallelism(path):
    """Recorded kernel time by the longest chain of hazards between buffers, from the header of a stream."""
    with open(path, encoding="utf-8") as file:
        header = json.loads(file.readline())
    return header["name"], ratio(header.get("kernel_us"), header.get("critical_us_by_buffer"))


def measure(steps, paths):
    """One row per stream with all its numbers: times in microseconds, host times in nanoseconds per task."""
    peers = steps.output("peers") or {}
    peer_rows = {row["stream"]: row for row in peers.get("streams", [])}
    single = {name: steps.by_stream(name)
              for name in ("serial", "serial-graph", "queues", "graph", "auto", "together", "waits", "sim-queues", "sim-graph")}
    cold, topology, asleep = steps.several("cold"), steps.several("topology"), steps.several("asleep")
    rows = []
    for path in paths:
        name, parallel = parallelism(path)
        row = {"stream": name, "parallelism": parallel}
        for field in ("tasks", "kernel_us", "limit_us"):
            row[field] = get(peer_rows.get(name), field)
        for field in ("one_stream", "serial_graph", "streams16_address", "streams16_buffer", "graph_address", "graph_buffer",
                      "build_graph_buffer"):
            row["peer_" + field] = get(get(peer_rows.get(name), field + "_us"), "median")
        for mode, runs in single.items():
            row[mode.replace("-", "_")] = get(runs.get(name), "pass_us")
        row["auto_least"], row["auto_most"] = (get(single["auto"].get(name), f"pass_{end}_us") for end in ("least", "most"))
        row["cold"], row["topology"], row["asleep"] = (median_of(runs.get(name), "first_us") for runs in (cold, topology, asleep))
        row["host_repeated"] = get(single["auto"].get(name), "later_submit_ns_per_task")
        row["host_together"] = get(single["together"].get(name), "later_submit_ns_per_task")
        row["host_topology"] = median_of(topology.get(name), "first_submit_ns_per_task")
        row["host_cold"] = median_of(cold.get(name), "first_submit_ns_per_task")
        dag, one = row["peer_graph_buffer"], row["peer_one_stream"]
        row["auto_by_dag"] = ratio(row["auto"], dag)
        row["graph_by_dag"] = ratio(row["graph"], dag)
        row["together_by_dag"] = ratio(row["together"], dag)
        row["serial_graph_by_auto"] = ratio(row["peer_serial_graph"], row["auto"])
        row["one_by_auto"] = ratio(one, row["auto"])
        row["one_by_cold"] = ratio(one, row["cold"])
        row["one_by_topology"] = ratio(one, row["topology"])
        row["sim_by_queues"] = ratio(row["sim_queues"], row["queues"])
        row["sim_by_graph"] = ratio(row["sim_graph"], row["graph"])
        rows.append(row)
    return rows


def copies_ratio(rows):
    """Weir's rate by that of plain copies, by case."""
    rates = {(row["case"], row["runtime"]): row["median"] for row in rows}
    return {case: rates[case, "weir"] / rates[case, "cuMemcpyAsync"]
            for case, runtime in rates if runtime == "weir" and rates.get((case, "cuMemcpyAsync"))}


class Target:
    """A target: met if `value` is at most (or, `least`, at least) `bound`."""

    def __init__(self, text, bound, value, unit="", least=False):
        self.text, self.bound, self.value, self.unit, self.least = text, bound, value, unit, least

    def met(self):
        if self.value is None:
            return None
        return self.value >= self.bound if self.least else self.value <= self.bound

    def cells(self):
        met = {None: "not measured", True: "yes", False: "NO"}[self.met()]
        bound = f"at {'least' if self.least else 'most'} {self.bound}{self.unit}"
        return [self.text, bound, "-" if self.value is None else f"{self.value:.2f}{self.unit}", met]


def greatest(values):
    values = [value for value in values if value is not None]
    return max(values) if values else None


def column(rows, field):
    return [row[field] for row in rows]


def targets(rows, tasks, copies):
    parallel = [row for row in rows if row["parallelism"] and row["parallelism"] > 1.2]
    slowest_cold = [row["one_by_cold"] for row in parallel if row["one_by_cold"]]
    sim = [value for field in ("sim_by_queues", "sim_by_graph") for value in column(rows, field) if value]
    sim_queues, sim_graph = mean(column(rows, "sim_by_queues")), mean(column(rows, "sim_by_graph"))
    return [
        Target("repeated, one at a time: auto by DAG graph, worst stream", 1.05, greatest(column(rows, "auto_by_dag")), "x"),
        Target(f"serial graph by auto, {MEAN}", 1.8, mean(column(rows, "serial_graph_by_auto")), "x", True),
        Target(f"one stream by auto, {MEAN}", 2.7, mean(column(rows, "one_by_auto")), "x", True),
        Target(f"repeated, back to back: auto per pass by DAG graph, {MEAN}", 0.8, mean(column(rows, "together_by_dag")), "x"),
        Target("first pass, cold: one stream by it, worst stream with parallelism above 1.2", 1.0,
               min(slowest_cold) if slowest_cold else None, "x", True),
        Target(f"first pass, cold: one stream by it, {MEAN}", 1.4, mean(column(rows, "one_by_cold")), "x", True),
        Target(f"first pass, topology met: one stream by it, {MEAN}", 2.0, mean(column(rows, "one_by_topology")), "x", True),
        Target("host time per task, repeated, worst stream", 600, greatest(column(rows, "host_repeated")), " ns"),
        Target("host time per task, topology met, worst stream", 1500, greatest(column(rows, "host_topology")), " ns"),
        Target("host time per task, cold, worst stream", 3200, greatest(column(rows, "host_cold")), " ns"),
        Target("empty tasks, worst pattern", 300, greatest([row["median"] for row in tasks]), " ns"),
        Target("copies by plain asynchronous copies, worst case", 0.9, min(copies.values()) if copies else None, "x", True),
        Target(f"sim:h200 by measured, queues, {MEAN}: off by", 0.15, None if sim_queues is None else abs(sim_queues - 1)),
        Target(f"sim:h200 by measured, graphs, {MEAN}: off by", 0.15, None if sim_graph is None else abs(sim_graph - 1)),
        Target(f"sim:h200 by measured, both, {MEAN}: off by", 0.15, abs(mean(sim) - 1) if sim else None),
    ]


def number(value, digits=0):
    return "-" if value is None else f"{value:.{digits}f}"


def table(titles, lines, text_columns=1):
    """Lines of a Markdown table whose columns are aligned, so that it reads well as plain text."""
    widths = [max(len(line[c]) for line in [titles, *lines]) for c in range(len(titles))]

    def row(line):
        cells = [cell.ljust(width) if c < text_columns else cell.rjust(width) for c, (cell, width) in enumerate(zip(line, widths))]
        return "| " + " | ".join(cells) + " |"
    ruler = ["-" * (width + 2) if c < text_columns else "-" * (width + 1) + ":" for c, width in enumerate(widths)]
    return [row(titles), "|" + "|".join(ruler) + "|", *map(row, lines)]


def stream_table(rows, columns, mean_fields):
    """`columns`: title, field, digits."""
    lines = [[row["stream"]] + [number(row[field], digits) for _, field, digits in columns] for row in rows]
    lines.append([MEAN] + [number(mean(column(rows, field)), digits) if field in mean_fields else ""
                           for _, field, digits in columns])
    return table(["stream"] + [title for title, _, _ in columns], lines)


def report(record):
    rows = record["streams"]
    lines = [f"# On a card: {record['card']}, {record['date']}", "",
             f"Driver {record['driver']}, {record['sms']} multiprocessors; host: {record['cpu']}, {record['cpus']} CPUs; commit "
             f"{record['commit']}; `bench/gpu/run.sh`. Times in microseconds, medians; host waits of the streams are left out "
             "unless said otherwise.", "", "## Targets", ""]
    lines += table(["what", "target", "measured", "met"], record["targets"], 4)
    lines += ["", "## Repeated streams, one pass at a time", ""]
    times = [("tasks", "tasks", 0), ("one stream", "peer_one_stream", 0), ("serial graph", "peer_serial_graph", 0),
             ("16 streams by buffer", "peer_streams16_buffer", 0), ("DAG graph by buffer", "peer_graph_buffer", 0),
             ("to build it", "peer_build_graph_buffer", 0), ("limit", "limit_us", 0)]
    lines += stream_table(rows, times, [field for _, field, _ in times[1:]])
    lines += ["", "The same on Weir; auto / DAG is the ratio to the DAG graph above.", ""]
    times = [("serial", "serial", 0), ("serial-graph", "serial_graph", 0), ("queues", "queues", 0), ("graph", "graph", 0),
             ("auto", "auto", 0), ("least", "auto_least", 0), ("most", "auto_most", 0), ("auto / DAG", "auto_by_dag", 2),
             ("graph / DAG", "graph_by_dag", 2), ("auto, with host waits", "waits", 0)]
    lines += stream_table(rows, times, [field for _, field, _ in times])
    lines += ["", "## Passes back to back, first passes", "",
              "Cold: the first pass of the stream in its process, on a device that is awake and has memory; asleep: without "
              "that; met: its topology was run before with other kernels and buffers.", ""]
    times = [("auto per pass", "together", 0), ("/ DAG", "together_by_dag", 2), ("parallelism", "parallelism", 2),
             ("one stream", "peer_one_stream", 0), ("cold", "cold", 0), ("one / cold", "one_by_cold", 2), ("met", "topology", 0),
             ("one / met", "one_by_topology", 2), ("asleep", "asleep", 0)]
    lines += stream_table(rows, times, [field for _, field, _ in times])
    lines += ["", "## Host time per task (ns)", ""]
    times = [("repeated", "host_repeated", 0), ("back to back", "host_together", 0), ("topology met", "host_topology", 0),
             ("cold", "host_cold", 0)]
    lines += stream_table(rows, times, [field for _, field, _ in times])
    lines += ["", "Back to back, the time includes waits for a free slot of the window.", "", "## What sim:h200 predicts", ""]
    times = [("queues", "sim_queues", 0), ("/ measured", "sim_by_queues", 2), ("graph", "sim_graph", 0),
             ("/ measured", "sim_by_graph", 2)]
    lines += stream_table(rows, times, ["sim_by_queues", "sim_by_graph"])
    lines += ["", "## Empty tasks (ns per task) and copies (GB/s)", ""]
    lines += table(["case", "runtime", "median", "min", "max"],
                   [[row["case"], row["runtime"]] + [number(row[field], 1) for field in ("median", "min", "max")]
                    for row in record["tasks"] + record["copies"]], 2)
    lines += ["", "## Steps", ""]
    lines += table(["step", "status", "why", "s"], [[row["step"], row["status"], row["text"], str(row["seconds"])]
                                                    for row in record["steps"]], 3)
    if record["notes"]:
        lines += ["", "Notes:"] + [f"- {note}" for note in record["notes"]]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def cpu_name():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return os.uname().machine


def make_record(steps, commit, paths):
    peers = steps.output("peers") or {}
    with open(os.path.join(steps.folder, "card"), encoding="utf-8") as file:
        smi = [word.strip() for word in file.readline().split(",")]
    rows, tasks, copies = measure(steps, paths), steps.output("tasks") or [], steps.output("copies") or []
    return {
        "card": peers.get("card") or smi[0] or "unknown card",
        "driver": smi[1] if len(smi) > 1 else str(peers.get("driver", "unknown")),
        "sms": peers.get("sms"), "cpu": cpu_name(), "cpus": os.cpu_count(), "commit": commit,
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"),
        "command": "bench/gpu/run.sh", "streams": rows, "tasks": tasks, "copies": copies,
        "targets": [target.cells() for target in targets(rows, tasks, copies_ratio(copies))],
        "steps": steps.rows, "notes": steps.notes("copies") + steps.notes("tasks"),
    }


def write_log(folder, path):
    with open(path, "w", encoding="utf-8") as log:
        for name in sorted(glob.glob(os.path.join(folder, "*.err"))):
            with open(name, encoding="utf-8", errors="replace") as file:
                text = file.read().strip()
            if text:
                log.write(f"== {os.path.basename(name)[:-4]}\n{text}\n")


def write_results(steps, record, text, output, suffix=""):
    """Writes OUTPUT.md, .json and .log, and ends: exit code 1 if a step failed or is missing, else 0. OUTPUT "": DATE-CARD + suffix."""
    if not output:
        results = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "results")
        card = re.sub(r"[^a-z0-9]+", "-", record["card"].lower()).strip("-")
        output = os.path.join(os.path.normpath(results), f"{record['date']}-{card}{suffix}")
    with open(output + ".md", "w", encoding="utf-8") as file:
        file.write(text)
    with open(output + ".json", "w", encoding="utf-8") as file:
        json.dump(record, file, indent=1)
        file.write("\n")
    write_log(steps.folder, output + ".log")
    print(text)
    print(f"written: {output}.md, .json, .log", file=sys.stderr)
    sys.exit(0 if all(row["status"] == "ok" for row in steps.rows) else 1)


def main():
    folder, output, commit, *paths = sys.argv[1:]
    steps = Steps(folder)
    record = make_record(steps, commit, paths)
    write_results(steps, record, report(record), output)


if __name__ == "__main__":
    main()
