#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_gpu_vulkan.py WEIR STREAMS WEIR_GPU_VULKAN: weir-gpu-vulkan on a Vulkan device that the CPU plays, under the validation
layer; bench/gpu/run_vulkan.sh and table_vulkan.py, with stand-ins for what needs a card. Exit code 77: no Vulkan device, or no
layer."""
import json
import os
import subprocess
import sys
import unittest

RAW = os.path.abspath(sys.argv.pop(3))

from command import STREAMS, WEIR, CommandTest, ScriptTest, place, stream, write  # noqa: E402

RUN = os.path.join(STREAMS, "..", "..", "bench", "gpu", "run_vulkan.sh")
NAMES = ("squeezenet", "dynroute_a.0")
VALIDATION = {"VK_INSTANCE_LAYERS": "VK_LAYER_KHRONOS_validation",
              "VK_LAYER_ENABLES": "VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT"}

# Weir, with a simulated device in place of the Vulkan device.
WEIR_STAND_IN = f"""#!/bin/sh
for argument; do
  shift
  case $argument in vulkan:0) argument=sim:h200 ;; esac
  set -- "$@" "$argument"
done
exec '{WEIR}' "$@"
"""

# CUDA peers: times that are multiples of the number of tasks.
PEERS_STAND_IN = """#!/usr/bin/env python3
import json, sys
rows = []
for path in [argument for argument in sys.argv[1:] if argument.endswith(".jsonl")]:
    header = json.loads(open(path).readline())
    rows.append({"stream": header["name"], "one_stream_us": {"median": 8 * header["tasks"]},
                 "graph_buffer_us": {"median": 2 * header["tasks"]}})
json.dump({"card": "Stand-In 1000", "streams": rows}, sys.stdout)
"""


def raw(*arguments):
    return subprocess.run([RAW, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          env={**os.environ, **VALIDATION})


class Raw(CommandTest):
    def raw_json(self, *arguments):
        result = raw("--json", "--quick", *arguments)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        for message in ("VUID", "SYNC-HAZARD", "Validation"):
            self.assertNotIn(message, result.stdout + result.stderr)
        return json.loads(result.stdout)

    def test_usage(self):
        for arguments in ((), ("--runs", "0", stream(NAMES[0])), ("--device",), ("--frob",)):
            result = raw(*arguments)
            self.assertEqual(result.returncode, 2, arguments)
            self.assertIn("usage: weir-gpu-vulkan", result.stderr)
        result = raw("--quick", "/nowhere.jsonl")
        self.assertEqual(result.returncode, 1)
        self.assertIn("/nowhere.jsonl", result.stderr)
        result = raw("--device", "15", stream(NAMES[0]))
        self.assertEqual(result.returncode, 3)
        self.assertIn("fewer devices", result.stderr)

    def test_streams(self):
        record = self.raw_json(*map(stream, NAMES))
        self.assertEqual([row["stream"] for row in record["streams"]], list(NAMES))
        for row in record["streams"]:
            columns = row["columns"]
            barriers = {name: column["barriers"] for name, column in columns.items()}
            self.assertEqual((barriers["unordered"], barriers["each"]), (0, row["kernels"] - 1))
            self.assertLess(barriers["levels_buffer"], barriers["order_buffer"])
            self.assertLessEqual(barriers["order_buffer"], barriers["order_address"])
            self.assertLessEqual(barriers["levels_buffer"], barriers["balanced_buffer"])
            self.assertLess(barriers["order_address"], barriers["each"])
            self.assertEqual(barriers["first_order_buffer"], barriers["order_buffer"])
            self.assertEqual(columns["first_order_buffer"]["submissions"], (row["kernels"] + 31) // 32)
            self.assertEqual(columns["order_buffer"]["submissions"], 1)
            for column in columns.values():
                self.assertGreater(column["us"]["median"], 0)
                self.assertGreater(column["record_us"]["median"], 0)

    # Three writes of one buffer: a chain. By buffer and by address that is two barriers in any order.
    def test_chain(self):
        task = ('{"op":"o","reads":[[1,0,64]],"writes":[[1,0,64]],'
                '"kernels":[{"name":"k","grid":[1,1,1],"block":[32,1,1],"regs":8,"smem":0,"us":3}]}')
        path = write("chain.jsonl", ['{"weir_stream":1,"name":"chain","device":"d","sms":132,"tasks":3,"kernels":3}',
                                     '{"buffer":1,"bytes":64,"address":4096}', task, task, task])
        columns = self.raw_json(path)["streams"][0]["columns"]
        for name in ("each", "order_address", "order_buffer", "levels_address", "levels_buffer"):
            self.assertEqual(columns[name]["barriers"], 2, name)


class Run(ScriptTest):
    SCRIPT = RUN

    def test_syntax(self):
        subprocess.run(["bash", "-n", RUN], check=True)
        self.assertIn("Usage: bench/gpu/run_vulkan.sh", self.run_it("--help", code=0).stdout)
        self.assertIn("unknown option --frob", self.run_it("--frob", code=2).stderr)
        self.assertIn("--device needs a value", self.run_it("--device", code=2).stderr)
        self.assertIn("nowhere.jsonl cannot be read", self.run_it("/nowhere.jsonl", code=2).stderr)
        empty = self.folder("empty", {"weir": "#!/bin/sh\n"})
        self.assertIn("no program weir-gpu-vulkan", self.run_it("--binaries", empty, code=2).stderr)

    def test_no_device(self):
        lacking = "#!/bin/sh\necho weir-gpu-vulkan: no Vulkan device to measure: none at all >&2\nexit 3\n"
        folder = self.folder("no-device", {"weir": "#!/bin/sh\necho {}\n", "weir-gpu-vulkan": lacking})
        self.assertIn("no device to measure: weir-gpu-vulkan: no Vulkan device to measure: none at all",
                      self.run_it("--binaries", folder, code=3).stderr)

    def test_table(self):
        folder = self.folder("binaries", {
            "weir": WEIR_STAND_IN, "weir-gpu-peers": PEERS_STAND_IN, "weir-gpu-vulkan": f"#!/bin/sh\nexec '{RAW}' \"$@\"\n",
            "test_random": "#!/bin/sh\necho 50 programs\n", "test_vulkan_one": "#!/bin/sh\nexit 0\n",
            "test_vulkan_two": "#!/bin/sh\necho no layer\nexit 77\n",
            "sequence_readme": "#!/bin/sh\necho different results >&2\nexit 1\n"})
        result = self.run_it("--binaries", folder, "--quick", "--output", place("table"), "--commit", "abc", *map(stream, NAMES), code=1)
        with open(place("table.json")) as file:
            record = json.load(file)
        with open(place("table.md")) as file:
            self.assertEqual(file.read(), result.stdout[:-1])
        self.assertEqual(record["commit"], "abc")
        self.assertEqual([row["stream"] for row in record["streams"]], list(NAMES))
        for row in record["streams"]:
            self.assertEqual((row["cuda_one"], row["cuda_dag"]), (8 * row["tasks"], 2 * row["tasks"]))
            for mode in ("serial", "queues", "graph", "auto", "together", "cold", "topology", "raw_each", "raw_order_buffer",
                         "raw_first_order_buffer", "record_order_buffer"):
                self.assertGreater(row[mode], 0, mode)
            weir = min(row["graph"], row["auto"])
            self.assertAlmostEqual(row["each_by_weir"], row["raw_each"] / weir, places=6)
            self.assertAlmostEqual(row["weir_by_dag"], weir / (2 * row["tasks"]), places=6)
            self.assertAlmostEqual(row["one_by_cold"], 8 * row["tasks"] / row["cold"], places=6)
            self.assertLessEqual(row["raw_best"], row["raw_each"])
        steps = {row["step"]: row for row in record["steps"]}
        for name in ("raw", "peers", "serial", "queues", "graph", "auto", "together", "cold-1", "topology-1", "check-auto",
                     "random", "test_vulkan_one"):
            self.assertEqual(steps[name]["status"], "ok", steps[name])
        self.assertEqual((steps["sequence_readme"]["status"], steps["sequence_readme"]["text"]), ("failed", "exit code 1: different results"))
        self.assertEqual((steps["test_vulkan_two"]["status"], steps["test_vulkan_two"]["text"]), ("missing", "no layer"))
        self.assertEqual((steps["sequence_parallel"]["status"], steps["sequence_parallel"]["text"]), ("missing", "there is no program sequence_parallel"))
        targets = {line[0]: line for line in record["targets"]}
        worst = max(row["weir_by_dag"] for row in record["streams"])
        self.assertEqual(targets["the same, worst stream"][2:], [f"{worst:.2f}x", "yes" if worst <= 1.25 else "NO"])
        with open(place("table.log")) as file:
            self.assertIn("== sequence_readme\ndifferent results", file.read())


if __name__ == "__main__":
    first = raw("--quick", stream(NAMES[0]))
    if first.returncode == 3:
        print(first.stderr.strip())
        sys.exit(77)
    said = subprocess.run([RAW, "--quick", stream(NAMES[0])], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          env={**os.environ, **VALIDATION, "VK_LOADER_DEBUG": "all"})
    if 'Insert instance layer "VK_LAYER_KHRONOS_validation"' not in said.stdout:
        print("no validation layer")
        sys.exit(77)
    unittest.main()
