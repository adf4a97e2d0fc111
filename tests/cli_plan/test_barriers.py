# SPDX-License-Identifier: Apache-2.0
"""Tests of `weir plan --barriers`, `weir bench barriers` and their page: test_barriers.py WEIR, run in the root of the
project."""
import bisect
import functools
import glob
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

WEIR = sys.argv.pop(1)
STREAMS = sorted(glob.glob("examples/streams/*.jsonl"))
SMALL_TESTS = bool(os.environ.get("WEIR_SMALL_TESTS"))  # tests/CMakeLists.txt says when
READS, WRITES = {"COPY_SOURCE", "SHADER_READ"}, {"COPY_DESTINATION", "SHADER_WRITE"}


def run(*arguments):
    return subprocess.run([WEIR, *arguments], capture_output=True, text=True, timeout=300)


def plans(*arguments):
    done = run("plan", "--json", "--barriers", *arguments)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


class Stream:
    """A stream and what waits for what in it, worked out here: pairs of tasks that touch the same bytes."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            lines = [json.loads(line) for line in file if line.strip()]
        self.buffers = {line["buffer"]: line for line in lines if "buffer" in line}
        self.tasks = [line for line in lines if "op" in line]
        self.first, count = [], 0
        for task in self.tasks:
            self.first.append(count)
            count += max(1, len(task["kernels"]))
        self.count = count

    def accesses(self, by_address):
        """(task, writes, space, first byte, end): by buffer a space is a buffer that was not overwritten as a whole."""
        versions = {}
        for number, task in enumerate(self.tasks):
            reads = {tuple(item) for item in task["reads"]}
            for item in {tuple(item) for item in task["writes"]} - reads:
                if item[2] == self.buffers[item[0]]["bytes"]:
                    versions[item[0]] = versions.get(item[0], 0) + 1
            for kind in ("reads", "writes"):
                for buffer, offset, size in task[kind]:
                    base = self.buffers[buffer]["address"] if by_address else 0
                    space = None if by_address else (buffer, versions.get(buffer, 0))
                    if size:
                        yield number, kind == "writes", space, base + offset, base + offset + size

    @functools.lru_cache(maxsize=None)
    def predecessors(self, by_address):
        """Sets of dispatches as bits, for each dispatch: all conflicts, not only those that others do not imply."""
        spaces = {}
        for access in self.accesses(by_address):
            spaces.setdefault(access[2], []).append(access)
        waits = [0] * self.count
        for accesses in spaces.values():
            cuts = sorted({end for access in accesses for end in access[3:]})
            seen, wrote = [0] * len(cuts), [0] * len(cuts)
            for number, group in itertools.groupby(accesses, key=lambda access: access[0]):
                group = list(group)
                own = [range(bisect.bisect_left(cuts, access[3]), bisect.bisect_left(cuts, access[4])) for access in group]
                for access, pieces in zip(group, own):
                    for piece in pieces:
                        waits[self.first[number]] |= seen[piece] if access[1] else wrote[piece]
                for access, pieces in zip(group, own):
                    for piece in pieces:
                        seen[piece] |= 1 << self.last(number)
                        if access[1]:
                            wrote[piece] |= 1 << self.last(number)
        waited = 0
        for number, task in enumerate(self.tasks):
            waits[self.first[number]] |= waited
            for dispatch in range(self.first[number] + 1, self.last(number) + 1):
                waits[dispatch] |= 1 << dispatch - 1
            waited |= (1 << self.last(number)) if task.get("host_wait") else 0
        return waits

    def last(self, number):
        return self.first[number] + max(1, len(self.tasks[number]["kernels"])) - 1


def follow_order(test, steps, waits):
    """Runs the steps with sets of dispatches that are done, as bits."""
    issued, known, ended, signals, ran = {}, {}, {}, {}, 0
    for step in steps:
        queue, kind = step["queue"], step["step"]
        before = known.setdefault(queue, 0)
        if kind == "dispatch":
            dispatch = step["dispatch"]
            test.assertFalse(ran >> dispatch & 1)
            test.assertEqual(waits[dispatch] & ~before, 0, f"dispatch {dispatch} runs too early")
            ran |= 1 << dispatch
            issued[queue] = issued.get(queue, 0) | 1 << dispatch
            ended[queue] = before | issued[queue]
        elif kind == "barrier":
            known[queue] |= issued[queue]
        elif kind == "signal":
            test.assertNotIn((step["semaphore"], step["value"]), signals)
            signals[step["semaphore"], step["value"]] = ended[queue]
        else:
            known[queue] |= signals[step["semaphore"], step["value"]]
    test.assertEqual(ran, (1 << len(waits)) - 1)


def follow_states(test, stream, row):
    """Keeps the states of resources as a caller would, and looks at each use."""
    states = {}
    for step in row["steps"]:
        queue = step["queue"]
        if step["step"] in ("signal", "wait"):
            states = {key: state for key, state in states.items() if key[0] != queue}
            continue
        for change in step["resources"]:
            key = queue, change["buffer"], change["storage"]
            test.assertEqual(change["before"], states.get(key, "UNDEFINED"))
            test.assertEqual(step["step"], "dispatch" if change["before"] == "UNDEFINED" else "barrier")
            states[key] = change["after"]
        if step["step"] != "dispatch":
            continue
        task = stream.tasks[step["task"] - 1]
        kernel = task["kernels"][step["kernel"]] if task["kernels"] else {}
        for kind in ("reads", "writes"):
            for buffer, _, size in task[kind]:
                storages = [set(state.split("|")) for key, state in states.items() if key[:2] == (queue, buffer)]
                allowed = {("reads", True): "COPY_SOURCE", ("reads", False): "SHADER_READ",
                           ("writes", True): "COPY_DESTINATION", ("writes", False): "SHADER_WRITE"}[kind, "bytes" in kernel]
                written = {"COPY_DESTINATION" if "bytes" in kernel else "SHADER_WRITE"}
                test.assertTrue(not size or any(allowed in state or written & state for state in storages), (step, buffer))


class Barriers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.streams = [Stream(path) for path in STREAMS]

    def check(self, stream, row, waits):
        follow_order(self, row["steps"], waits)
        follow_states(self, stream, row)
        kinds = [step["step"] for step in row["steps"]]
        self.assertEqual(kinds.count("barrier"), row["barriers"])
        self.assertEqual((kinds.count("signal"), kinds.count("wait")), (row["signals"], row["waits"]))
        self.assertEqual((kinds.count("dispatch"), row["dispatches"]), (stream.count, stream.count))
        self.assertEqual(row["barriers_each"], stream.count - 1)
        self.assertLessEqual(row["barriers"], row["barriers_each"])
        self.assertEqual(row["mixed_states"], 0)
        self.assertGreater(row["plan_ns_per_task"], 0)

    def test_every_sample_keeps_its_order(self):
        self.assertGreaterEqual(len(STREAMS), 9)
        turns = itertools.count()
        for hazards in ("address", "buffer"):
            waits = [stream.predecessors(hazards == "address") for stream in self.streams]
            for options in ((), ("--reorder",), ("--reorder", "--barrier-us", "1.5"), ("--queues", "3"),
                            ("--queues", "8", "--reorder", "--barrier-us", "2", "--semaphore-us", "4")):
                some = slice(next(turns) % 4, None, 4) if SMALL_TESTS else slice(None)
                rows = plans("--hazards", hazards, *options, *STREAMS[some])
                for stream, row, waiting in zip(self.streams[some], rows, waits[some], strict=True):
                    with self.subTest(stream=row["stream"], hazards=hazards, options=options):
                        self.check(stream, row, waiting)

    def test_fixed_order_is_the_fewest(self):
        for hazards in ("address", "buffer"):
            rows = plans("--hazards", hazards, *STREAMS)
            for stream, row in zip(self.streams, rows, strict=True):
                waits, epoch, barriers = stream.predecessors(hazards == "address"), 0, 0
                for dispatch in range(stream.count):
                    if waits[dispatch] & epoch:
                        epoch, barriers = 0, barriers + 1
                    epoch |= 1 << dispatch
                self.assertEqual((row["barriers"], row["barriers_fewest"]), (barriers, barriers))
                order = [step["dispatch"] for step in row["steps"] if step["step"] == "dispatch"]
                self.assertEqual(order, list(range(stream.count)))

    def test_reordered_is_the_longest_chain(self):
        for hazards in ("address", "buffer"):
            for stream, row in zip(self.streams, plans("--hazards", hazards, "--reorder", *STREAMS), strict=True):
                levels = []
                for waits in stream.predecessors(hazards == "address"):
                    levels.append(1 + max((level for p, level in enumerate(levels) if waits >> p & 1), default=-1))
                self.assertEqual((row["barriers"], row["barriers_fewest"]), (max(levels), max(levels)))

    def test_more_barriers_only_when_quicker(self):
        few, more = plans("--reorder", *STREAMS), plans("--reorder", "--barrier-us", "1.5", *STREAMS)
        for one, other in zip(few, more, strict=True):
            self.assertGreaterEqual(other["barriers"], one["barriers"])
            self.assertLessEqual(other["estimated_us"], one["estimated_us"] + 1.5 * one["barriers"] + 0.001)

    def test_estimates_are_between_the_limits(self):
        for options in ((), ("--reorder",), ("--queues", "4"), ("--reorder", "--queues", "16")):
            for row in plans(*options, *STREAMS):
                self.assertGreaterEqual(row["estimated_us"], row["bound_us"] - 0.001)
                self.assertLessEqual(row["estimated_us"], row["estimated_each_us"] + 0.001)
                self.assertAlmostEqual(row["estimated_each_us"], row["serial_us"], delta=0.01)

    def test_serial_has_a_barrier_everywhere(self):
        for row in plans("--hazards", "serial", *STREAMS):
            self.assertEqual(row["barriers"], row["barriers_each"])


# A copy into a buffer, a task of two kernels, two readers, an overwrite of what they read, a task that runs nothing.
SMALL = [
    '{"weir_stream":1,"name":"small","sms":132,"tasks":6,"kernels":6}',
    '{"buffer":10,"bytes":64,"address":1000}',
    '{"buffer":11,"bytes":64,"address":2000}',
    '{"buffer":12,"bytes":64,"address":3000}',
    '{"op":"copy","reads":[],"writes":[[10,0,64]],"kernels":[{"name":"c","bytes":64,"us":1.0}]}',
    '{"op":"two","reads":[[10,0,64]],"writes":[[11,0,32]],"kernels":[%s,%s]}',
    '{"op":"left","reads":[[10,0,64]],"writes":[[11,32,16]],"kernels":[%s]}',
    '{"op":"overwrite","reads":[],"writes":[[10,0,64]],"kernels":[%s]}',
    '{"op":"nothing","reads":[],"writes":[],"kernels":[]}',
    '{"op":"join","reads":[[10,0,64],[11,0,64]],"writes":[[12,0,64]],"kernels":[%s]}',
]
KERNEL = '{"name":"k","grid":[1,1,1],"block":[32,1,1],"regs":8,"smem":0,"us":2.0}'


class Small(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "small.jsonl")
        with open(self.path, "w", encoding="utf-8") as file:
            file.write("\n".join(SMALL).replace("%s", KERNEL) + "\n")

    def test_list_by_address(self):
        done = run("plan", "--barriers", "--hazards", "address", self.path)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        heading, text = done.stdout.split("\n\n")
        self.assertEqual(heading, "small, hazards: address, program order, 1 queue: 6 tasks, 7 dispatches.\n"
                         "4 barriers; 6 with one after every dispatch; fewer cannot keep the order.\n"
                         "Estimated 9.0 us; 11.0 us with one after every dispatch.")
        self.assertEqual(text, """\
dispatch 0: task 1, copy
    buffer 10, bytes [0, 64): first use, COPY_DESTINATION
barrier
    buffer 10, bytes [0, 64): COPY_DESTINATION -> SHADER_READ
dispatch 1: task 2, two, kernel 1 of 2
    buffer 11, bytes [0, 32): first use, SHADER_WRITE
barrier
    buffer 11, bytes [0, 48): SHADER_WRITE as before, after writes
dispatch 2: task 2, two, kernel 2 of 2
dispatch 3: task 3, left
barrier
    buffer 10, bytes [0, 64): SHADER_READ -> SHADER_WRITE
dispatch 4: task 4, overwrite
dispatch 5: task 5, nothing
barrier
    buffer 10, bytes [0, 64): SHADER_WRITE -> SHADER_READ
    buffer 11, bytes [0, 64): SHADER_WRITE -> SHADER_READ
dispatch 6: task 6, join
    buffer 12, bytes [0, 64): first use, SHADER_WRITE
""")

    def test_list_by_buffer(self):
        row, = plans(self.path)
        self.assertEqual((row["barriers"], row["barriers_each"], row["barriers_fewest"]), (3, 6, 3))
        overwrite = next(step for step in row["steps"] if step.get("task") == 4)
        self.assertEqual(overwrite["resources"], [{"buffer": 10, "storage": 1, "before": "UNDEFINED",
                                                   "after": "SHADER_WRITE", "lo": 0, "hi": 64}])
        self.assertIn("buffer 10.1, bytes [0, 64): first use, SHADER_WRITE", run("plan", "--barriers", self.path).stdout)

    def test_reordered(self):
        row, = plans("--reorder", self.path)
        self.assertEqual((row["reorder"], row["barriers"]), (True, 3))
        self.assertIn("reordered, 1 queue", run("plan", "--barriers", "--reorder", self.path).stdout)

    def test_queues(self):
        row, = plans("--queues", "2", "--hazards", "address", self.path)
        self.assertEqual((row["queues"], row["barriers_fewest"]), (2, None))
        text = run("plan", "--barriers", "--queues", "2", "--hazards", "address", self.path).stdout
        self.assertEqual(len(re.findall(r"(?m)^queue \d: dispatch ", text)), 7)
        self.assertEqual(len(re.findall(r"(?m)^queue \d: barrier$", text)), row["barriers"])
        self.assertEqual(len(re.findall(r"(?m)^queue \d: signal semaphore \d, value \d$", text)), row["signals"])
        self.assertEqual(len(re.findall(r"(?m)^queue \d: wait for semaphore \d, value \d$", text)), row["waits"])
        self.assertGreater(row["waits"], 0)

    def test_table(self):
        done = run("plan", "--barriers", "--hazards", "address", self.path, self.path)
        self.assertTrue(done.stdout.startswith("Hazards: address. Barriers: program order, 1 queue.\n"))
        self.assertEqual(len(re.findall(r"(?m)^small +6 +7 +6 +4 +4 +0 +0 +11\.0 +9\.0$", done.stdout)), 2)

    def test_without_tasks(self):
        with open(self.path, "w", encoding="utf-8") as file:
            file.write('{"weir_stream":1,"name":"empty","sms":1,"tasks":0,"kernels":0}\n')
        for options in ((), ("--reorder",), ("--queues", "2")):
            row, = plans(*options, self.path)
            self.assertEqual((row["barriers"], row["barriers_each"], row["steps"]), (0, 0, []))
            self.assertEqual(run("plan", "--barriers", *options, self.path).returncode, 0)

    def test_bad_usage(self):
        for text, *options in (("goes with --barriers", "--reorder"), ("goes with --barriers", "--queues", "2"),
                               ("goes with --barriers", "--barrier-us", "0"),
                               ("goes with --barriers", "--semaphore-us", "1"),
                               ("another plan", "--barriers", "--window", "2"),
                               ("another plan", "--barriers", "--why", "1"),
                               ("another plan", "--barriers", "--dot", "x.dot"),
                               ("--queues", "--barriers", "--queues", "0"), ("--queues", "--barriers", "--queues", "65"),
                               ("--barrier-us", "--barriers", "--barrier-us", "-1")):
            done = run("plan", *options, self.path)
            self.assertEqual((done.returncode, done.stdout), (2, ""), done)
            self.assertIn(text, done.stderr)


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        done = run("bench", "barriers", "--json")
        assert done.returncode == 0, done.stderr
        cls.text = done.stdout
        cls.rows = {(row["case"], row["runtime"], row["unit"]): row["median"] for row in json.loads(cls.text)}

    def test_rows_are_those_of_plan(self):
        for hazards in ("address", "buffer"):
            for name, options in (("fixed", ()), ("reordered", ("--reorder",))):
                for row in plans("--hazards", hazards, *options, *STREAMS):
                    found = self.rows[row["stream"], f"{name}, by {hazards}", "barriers"]
                    self.assertEqual(found, row["barriers"])
                    self.assertEqual(self.rows[row["stream"], f"after each, by {hazards}", "barriers"], row["barriers_each"])

    def test_look_ahead(self):
        for path in STREAMS:
            stream = Stream(path)
            name = os.path.basename(path).removesuffix(".jsonl")
            for hazards in ("address", "buffer"):
                waits, left, order = stream.predecessors(hazards == "address"), list(range(stream.count)), []
                done = 0
                while left:
                    taken = [d for d in left if d < left[0] + 20 and not waits[d] & ~done]
                    order += taken
                    done |= sum(1 << d for d in taken)
                    left = [d for d in left if d not in taken]
                epoch, barriers = 0, 0
                for dispatch in order:
                    if waits[dispatch] & epoch:
                        epoch, barriers = 0, barriers + 1
                    epoch |= 1 << dispatch
                self.assertEqual(self.rows[name, f"look-ahead, by {hazards}", "barriers"], barriers)

    def test_fewer_than_others(self):
        for (stream, runtime, unit), value in self.rows.items():
            what, _, hazards = runtime.partition(", ")
            if what in ("fixed", "look-ahead") and unit == "barriers":
                self.assertLessEqual(self.rows[stream, f"reordered, {hazards}", unit], value)
            if what in ("earliest levels", "reordered") and unit == "us estimated":
                self.assertLessEqual(self.rows[stream, f"any count, {hazards}", unit], value + 1e-6)

    def test_page_has_these_numbers(self):
        made = subprocess.run([sys.executable, "docs/plots/barriers.py"], input=self.text, capture_output=True, text=True,
                              timeout=300, check=True).stdout
        with open("docs/guide/barriers.md", encoding="utf-8") as file:
            page = file.read()
        self.assertEqual(made.count("\n\n"), 1, "two tables")
        for table in made.split("\n\n"):
            self.assertIn(table.strip(), page, "docs/guide/barriers.md says how to make its tables anew")


if __name__ == "__main__":
    unittest.main()
