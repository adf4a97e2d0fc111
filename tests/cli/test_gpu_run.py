#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_gpu_run.py WEIR STREAMS: bench/gpu/run.sh and table.py, with stand-ins for the card (a simulated device) and for the
programs that need one."""
import json
import os
import subprocess
import unittest

from command import STREAMS, WEIR, ScriptTest, place, stream

RUN = os.path.join(STREAMS, "..", "..", "bench", "gpu", "run.sh")

# Weir, with a simulated device in place of the card.
WEIR_STAND_IN = f"""#!/bin/sh
for argument; do
  shift
  case $argument in cuda:0) argument=sim:h200 ;; esac
  set -- "$@" "$argument"
done
exec '{WEIR}' "$@"
"""

# Peers: times that are multiples of the number of tasks.
PEERS_STAND_IN = """#!/usr/bin/env python3
import json, sys
rows = []
for path in [argument for argument in sys.argv[1:] if argument.endswith(".jsonl")]:
    header = json.loads(open(path).readline())
    row = {"stream": header["name"], "tasks": header["tasks"], "kernels": header["kernels"], "kernel_us": header["kernel_us"],
           "limit_us": 100.0}
    for factor, name in enumerate(["graph_buffer", "graph_address", "serial_graph", "one_stream", "streams16_buffer",
                                   "streams16_address", "build_graph_buffer", "build_graph_address"], 1):
        row[name + "_us"] = {"median": factor * header["tasks"], "p10": 1, "p90": 2}
    rows.append(row)
json.dump({"card": "Stand-In 1000", "driver": 13000, "sms": 132, "runs": 3, "streams": rows}, sys.stdout)
"""


class GpuRun(ScriptTest):
    SCRIPT = RUN

    def test_syntax(self):
        subprocess.run(["bash", "-n", RUN], check=True)
        self.assertIn("Usage: bench/gpu/run.sh", self.run_it("--help", code=0).stdout)
        self.assertIn("unknown option --frob", self.run_it("--frob", code=2).stderr)
        self.assertIn("--output needs a value", self.run_it("--output", code=2).stderr)
        self.assertIn("nowhere.jsonl cannot be read", self.run_it("/nowhere.jsonl", code=2).stderr)

    def test_no_card(self):
        lacking = "#!/bin/sh\n[ $1 = info ] && echo {} && exit\necho weir bench: tasks: no card here >&2\nexit 3\n"
        folder = self.folder("no-card", {"weir": lacking})
        self.assertIn("no card to measure: weir bench: tasks: no card here", self.run_it("--binaries", folder, code=3).stderr)

    def test_table(self):
        folder = self.folder("binaries", {
            "weir": WEIR_STAND_IN, "weir-gpu-peers": PEERS_STAND_IN, "test_random": "#!/bin/sh\necho 50 programs\n",
            "dynroute": "#!/bin/sh\necho different results >&2\nexit 1\n", "interop": "#!/bin/sh\necho no runtime\nexit 77\n"})
        names = ("squeezenet", "randwire", "dynroute_a.0")
        result = self.run_it("--binaries", folder, "--quick", "--output", place("table"), "--commit", "abc", *map(stream, names), code=1)
        with open(place("table.json")) as file:
            record = json.load(file)
        with open(place("table.md")) as file:
            self.assertEqual(file.read(), result.stdout[:-1])
        self.assertEqual((record["card"], record["sms"], record["commit"]), ("Stand-In 1000", 132, "abc"))
        self.assertEqual([row["stream"] for row in record["streams"]], list(names))
        for row in record["streams"]:
            tasks = row["tasks"]
            self.assertEqual((row["peer_graph_buffer"], row["peer_one_stream"]), (tasks, 4 * tasks))
            for mode in ("serial", "serial_graph", "queues", "graph", "auto", "together", "cold", "topology", "asleep"):
                self.assertGreater(row[mode], 0, mode)
            # A pass that was timed on the stand-in is what the simulated device predicts.
            self.assertAlmostEqual(row["sim_by_queues"], 1, places=3)
            self.assertAlmostEqual(row["sim_by_graph"], 1, places=3)
            self.assertAlmostEqual(row["auto_by_dag"], row["auto"] / tasks, places=6)
            self.assertAlmostEqual(row["one_by_cold"], 4 * tasks / row["cold"], places=6)
            self.assertGreater(row["host_repeated"], 0)
        self.assertGreater(record["streams"][2]["waits"], record["streams"][2]["auto"])
        steps = {row["step"]: row for row in record["steps"]}
        for name in ("peers", "serial", "auto", "together", "cold-1", "tasks", "sim-graph", "check-graph", "check-auto", "random"):
            self.assertEqual(steps[name]["status"], "ok", steps[name])
        self.assertEqual((steps["dynroute"]["status"], steps["dynroute"]["text"]), ("failed", "exit code 1: different results"))
        self.assertEqual((steps["interop"]["status"], steps["interop"]["text"]), ("missing", "no runtime"))
        self.assertEqual((steps["cholesky"]["status"], steps["cholesky"]["text"]), ("missing", "there is no program cholesky"))
        self.assertIn("| geometric mean", result.stdout)
        targets = {line[0]: line for line in record["targets"]}
        worst = max(row["auto_by_dag"] for row in record["streams"])
        self.assertEqual(targets["repeated, one at a time: auto by DAG graph, worst stream"][2:],
                         [f"{worst:.2f}x", "yes" if worst <= 1.05 else "NO"])
        self.assertEqual(targets["copies by plain asynchronous copies, worst case"][2:], ["-", "not measured"])
        with open(place("table.log")) as file:
            self.assertIn("== dynroute\ndifferent results", file.read())


if __name__ == "__main__":
    unittest.main()
