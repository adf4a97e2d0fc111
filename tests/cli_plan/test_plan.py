# SPDX-License-Identifier: Apache-2.0
"""Tests of `weir plan`: test_plan.py WEIR, run in the root of the project."""
import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

WEIR = sys.argv.pop(1)
STREAMS = sorted(glob.glob("examples/streams/*.jsonl"))

# Two passes over a buffer that the allocator reuses, a part that is updated, and one wait of the host.
SMALL = [
    '{"weir_stream":1,"name":"small","sms":132,"tasks":6,"kernels":6}',
    '{"buffer":10,"bytes":64,"address":1000}',
    '{"buffer":11,"bytes":64,"address":2000}',
    '{"op":"fill \\"a\\"","reads":[],"writes":[[10,0,64]],"kernels":[{"name":"k","grid":[1,1,1],"block":[32,1,1],"regs":8,"smem":0,"us":1.0}]}',
    '{"op":"use","reads":[[10,0,64]],"writes":[[11,0,64]],"kernels":[{"name":"k","grid":[1,1,1],"block":[32,1,1],"regs":8,"smem":0,"us":2.0}]}',
    '{"free":[10]}',
    '{"buffer":12,"bytes":32,"address":1032}',
    '{"op":"fill b","reads":[],"writes":[[12,0,32]],"kernels":[{"name":"k","grid":[1,1,1],"block":[32,1,1],"regs":8,"smem":0,"us":3.0}]}',
    '{"op":"update","reads":[[11,16,16]],"writes":[[11,16,16]],"kernels":[{"name":"k","grid":[1,1,1],"block":[32,1,1],"regs":8,"smem":0,"us":4.0}]}',
    '{"op":"fill c","reads":[],"writes":[[11,0,64]],"kernels":[{"name":"k","grid":[1,1,1],"block":[32,1,1],"regs":8,"smem":0,"us":5.0}],"host_wait":true}',
    '{"op":"last","reads":[[12,0,8]],"writes":[],"kernels":[{"name":"k","grid":[1,1,1],"block":[32,1,1],"regs":8,"smem":0,"us":6.0}]}',
]


def run(*arguments):
    return subprocess.run([WEIR, "plan", *arguments], capture_output=True, text=True, timeout=300)


def run_json(*arguments):
    done = run("--json", *arguments)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


class Plan(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.small = os.path.join(self.folder, "small.jsonl")
        with open(self.small, "w", encoding="utf-8") as file:
            file.write("\n".join(SMALL) + "\n")

    def test_samples_match_their_headers(self):
        self.assertGreaterEqual(len(STREAMS), 9)
        headers = []
        for path in STREAMS:
            with open(path, encoding="utf-8") as file:
                headers.append(json.loads(file.readline()))
        for hazards in ("serial", "address", "buffer"):
            for header, row in zip(headers, run_json("--hazards", hazards, *STREAMS), strict=True):
                self.assertEqual((row["stream"], row["hazards"]), (header["name"], hazards))
                self.assertEqual((row["tasks"], row["kernels"]), (header["tasks"], header["kernels"]))
                should = header["kernel_us"] if hazards == "serial" else header[f"critical_us_by_{hazards}"]
                self.assertAlmostEqual(row["critical_us"], should, delta=0.1)
                self.assertAlmostEqual(row["serial_us"], header["kernel_us"], delta=0.1)
                self.assertEqual(row["bound_us"], max(row["work_us"], row["bound_us"]))
                self.assertGreaterEqual(row["bound_us"], header["critical_us_by_buffer"] - 0.1)
                self.assertAlmostEqual(row["parallelism"], row["serial_us"] / row["critical_us"], delta=0.001)
                self.assertIsNone(row["window"])
                if hazards == "serial":
                    self.assertEqual(row["levels"], row["tasks"])
                    self.assertEqual(row["edges_reduced"], row["tasks"] - 1)

    def test_numbers_of_a_small_stream(self):
        address, = run_json("--hazards", "address", self.small)
        # RAW 0-1, WAR 1-2 and WAW 0-2, RAW 1-3 (update), WAW 3-4 and 1-4, RAW 2-5, wait 4-5.
        self.assertEqual(address["edges"], 8)
        self.assertEqual(address["edges_reduced"], 6)
        self.assertEqual(address["edges_renamed"], 4)
        self.assertEqual(address["host_waits"], 1)
        self.assertEqual(address["levels"], 5)
        self.assertEqual(address["serial_us"], 21)
        self.assertEqual(address["critical_us"], 18)
        self.assertEqual(address["critical_path"], [1, 2, 4, 5, 6])
        buffer, = run_json("--hazards", "buffer", self.small)
        self.assertEqual((buffer["edges"], buffer["edges_reduced"], buffer["edges_renamed"]), (4, 4, 2))
        self.assertEqual((buffer["levels"], buffer["critical_us"], buffer["bound_us"]), (3, 11, 11))
        self.assertEqual(address["bound_us"], buffer["bound_us"])

    def test_window(self):
        one, = run_json("--window", "1", self.small)
        self.assertEqual((one["window"], one["makespan_us"], one["parallelism"]), (1, 21, 1))
        self.assertEqual(one["critical_us"], 11)
        # By buffer: 0 at 0-1, 1 at 1-3, 2 at 1-4, 3 at 3-7, 4 at 4-9, 5 at 9-15.
        two, = run_json("--window", "2", self.small)
        self.assertEqual(two["makespan_us"], 15)
        self.assertIn("window", run("--window", "2", self.small).stdout)

    def test_why_by_address(self):
        why = run_json("--hazards", "address", "--why", "3", self.small)[0]["why"]
        self.assertEqual((why["task"], why["op"], why["line"], why["us"]), (3, "fill b", 8, 3))
        self.assertEqual((why["level"], why["start_us"], why["slack_us"], why["critical"]), (2, 3, 6, False))
        self.assertEqual(why["descendants"], 1)
        first, second = why["predecessors"]
        self.assertEqual((first["task"], first["edge"], first["vanishes"]), (1, "implied", True))
        self.assertEqual(first["hazards"], [{"hazard": "WAW", "vanishes": True, "buffer": 12, "predecessor_buffer": 10,
                                             "lo": 0, "hi": 32}])
        self.assertEqual((second["task"], second["edge"], second["hazards"][0]["hazard"]), (2, "needed", "WAR"))
        text = run("--hazards", "address", "--why", "3", self.small)
        self.assertEqual(text.returncode, 0)
        self.assertRegex(text.stdout, r"2 +use +WAR +12 +\[0, 32\) +needed +vanishes: was buffer 10\n")

    def test_why_by_buffer(self):
        why = run_json("--why", "5", self.small)[0]["why"]
        for predecessor in why["predecessors"]:
            self.assertEqual((predecessor["edge"], predecessor["vanishes"]), ("renamed away", True))
            self.assertEqual({hazard["hazard"] for hazard in predecessor["hazards"]}, {"WAW"})
        self.assertEqual([predecessor["task"] for predecessor in why["predecessors"]], [2, 4])
        self.assertEqual([(hazard["lo"], hazard["hi"]) for hazard in why["predecessors"][0]["hazards"]],
                         [(0, 16), (32, 64)])
        update = run_json("--why", "4", self.small)[0]["why"]["predecessors"]
        self.assertEqual([(row["task"], row["hazards"][0]["hazard"], row["edge"]) for row in update],
                         [(2, "RAW", "needed")])
        self.assertIn("vanishes: overwritten as a whole", run("--why", "5", self.small).stdout)

    def test_why_of_order_and_waits(self):
        last = run_json("--why", "6", self.small)[0]["why"]["predecessors"]
        self.assertEqual([(row["task"], row["hazards"][0]["hazard"]) for row in last], [(3, "RAW"), (5, "host wait")])
        self.assertNotIn("buffer", last[1]["hazards"][0])
        serial = run_json("--hazards", "serial", "--why", "6", self.small)[0]["why"]["predecessors"]
        self.assertEqual([hazard["hazard"] for hazard in serial[0]["hazards"]], ["order", "host wait"])
        self.assertIn("It waits for no task.", run("--why", "1", self.small).stdout)

    def test_tasks_have_the_numbers_of_the_program_that_saved_the_stream(self):
        path = os.path.join(self.folder, "numbered.jsonl")
        with open(path, "w", encoding="utf-8") as file:
            file.write('{"weir_stream":1,"name":"numbered","sms":1,"tasks":2,"kernels":0}\n'
                       '{"buffer":3,"bytes":8,"address":64}\n'
                       '{"task":5,"op":"first","reads":[],"writes":[[3,0,8]],"kernels":[]}\n'
                       '{"task":9,"op":"second","reads":[[3,4,4]],"writes":[],"kernels":[]}\n')
        row, = run_json("--why", "9", path)
        self.assertEqual(row["why"]["task"], 9)
        self.assertEqual([each["task"] for each in row["why"]["predecessors"]], [5])
        self.assertRegex(run("--why", "9", path).stdout, r"task 9: second.*(?s:.*)5 +first +RAW +3 +\[4, 8\)")
        self.refused("has 2 tasks, and there is no task 2", "--why", "2", path)

    def test_dot(self):
        for hazards in ("serial", "address", "buffer"):
            path = os.path.join(self.folder, hazards + ".dot")
            row, = run_json("--hazards", hazards, "--dot", path, self.small)
            with open(path, encoding="utf-8") as file:
                text = file.read()
            self.assertTrue(text.startswith('digraph "small" {\n') and text.endswith("}\n"))
            self.assertEqual(len(re.findall(r"^  t\d+ -> t\d+ \[label=\"", text, re.M)), row["edges_reduced"])
            self.assertEqual(len(re.findall(r"^  t\d+ \[label=\"", text, re.M)), row["tasks"])
            filled = {int(task) for task in re.findall(r"^  t(\d+) \[.*style=filled", text, re.M)}
            self.assertLessEqual(set(row["critical_path"]), filled)
            self.assertIn('"1 fill \\"a\\"\\n1.0 us"', text)
            if hazards == "address":
                self.assertRegex(text, r't2 -> t3 \[label="WAR buffer 12", style=dashed\];')
                self.assertRegex(text, r't1 -> t2 \[label="RAW buffer 10"\];')

    def test_table_has_a_row_per_stream(self):
        done = run(*STREAMS)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertTrue(done.stdout.startswith("Hazards: buffer. Window: no limit."))
        for path in STREAMS:
            name = os.path.basename(path).removesuffix(".jsonl")
            self.assertRegex(done.stdout, rf"(?m)^{re.escape(name)} +\d+ +\d+ +\d+ +\d+ +\d+ +[\d.]+ +[\d.]+ +[\d.]+ +[\d.]+$")

    def test_stream_without_tasks(self):
        path = os.path.join(self.folder, "empty.jsonl")
        with open(path, "w", encoding="utf-8") as file:
            file.write('{"weir_stream":1,"name":"empty","sms":1,"tasks":0,"kernels":0}\n')
        row, = run_json(path)
        self.assertEqual((row["tasks"], row["edges"], row["levels"], row["critical_us"]), (0, 0, 0, 0))
        self.assertIsNone(row["parallelism"])
        self.assertRegex(run(path).stdout, r"empty .* -\n")
        self.assertEqual(run("--why", "1", path).returncode, 2)

    def refused(self, text, *arguments):
        done = run(*arguments)
        self.assertEqual(done.returncode, 2, done)
        self.assertEqual(done.stdout, "")
        self.assertTrue(done.stderr.startswith("weir plan: "), done.stderr)
        self.assertIn(text, done.stderr)

    def test_bad_usage(self):
        self.refused("STREAM... is missing")
        self.refused("missing.jsonl", "missing.jsonl")
        self.refused("missing.jsonl", "--json", self.small, "missing.jsonl")
        self.refused("there is no task 7", "--why", "7", self.small)
        self.refused("--why", "--why", "-1", self.small)
        self.refused("--why", "--why", "18446744073709551615", self.small)
        self.refused("--window", "--window", "0", self.small)
        self.refused("--window", "--window", "many", self.small)
        self.refused("--hazards", "--hazards", "none", self.small)
        self.refused("--dot writes the graph of one stream", "--dot", "x.dot", self.small, self.small)
        self.refused("No such file", "--dot", os.path.join(self.folder, "no", "x.dot"), self.small)
        self.refused("No space", "--dot", "/dev/full", self.small)
        self.refused("--nonsense", "--nonsense", self.small)

    def test_bad_stream_names_file_and_line(self):
        path = os.path.join(self.folder, "bad.jsonl")
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(SMALL[:3] + ['{"op":"x","reads":[[99,0,1]],"writes":[],"kernels":[]}']) + "\n")
        self.refused(f"{path}:4: ", path)

    def test_help(self):
        done = run("--help")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for option in ("--hazards", "--window", "--why", "--dot", "--json", "Exit codes"):
            self.assertIn(option, done.stdout)


if __name__ == "__main__":
    unittest.main()
