# SPDX-License-Identifier: Apache-2.0
"""The program weir-check: output and exit codes. Usage: test_command.py WEIR_CHECK STREAM."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

PROGRAM, STREAM = sys.argv.pop(1), sys.argv.pop(1)


def serial_timeline(path, passes):
    """Tasks one after another, each buffer in a storage of its own. The stream must have no overlapping ranges."""
    events, now = [], 0
    with open(path, encoding="utf-8") as file:
        tasks = [line for line in map(json.loads, file) if "op" in line]
    for number in range(passes * len(tasks)):
        task = tasks[number % len(tasks)]
        reads, writes = [tuple(r) for r in task["reads"]], [tuple(w) for w in task["writes"]]
        accesses = []
        for buffer, offset, length in sorted(set(reads + writes)):
            in_both = (buffer, offset, length) in reads and (buffer, offset, length) in writes
            mode = "read_write" if in_both else "read" if (buffer, offset, length) in reads else "write"
            accesses.append({"mode": mode, "buffer": buffer, "label": "", "storage": buffer, "offset": offset,
                             "bytes": length})
        args = {"id": number + 1, "tag": (number // len(tasks) << 32) + number % len(tasks) + 1, "status": "WEIR_OK",
                "kernel": "k", "submit_ns": now, "ready_ns": now, "start_ns": now, "end_ns": now + 5,
                "accesses": accesses, "waits": []}
        events.append({"name": task["op"], "cat": "task", "ph": "X", "pid": 0, "tid": 0, "ts": now / 1000,
                       "dur": 0.005, "args": args})
        now += 5
    return {"displayTimeUnit": "ns", "weir": {"version": 1, "title": "serial", "dropped": 0}, "traceEvents": events}


class Command(unittest.TestCase):
    def test_output_that_cannot_be_written(self):
        path = os.path.join(self.folder.name, "timeline.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(serial_timeline(STREAM, 1), file)
        for arguments in (["--help"], [path, STREAM]):
            with self.subTest(arguments), open("/dev/full", "w", encoding="utf-8") as full:
                done = subprocess.run([PROGRAM, *arguments], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
                self.assertEqual((done.returncode, done.stderr), (1, "weir-check: cannot write to standard output\n"))

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name, content):
        path = os.path.join(self.folder.name, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(content)
        return path

    def run_program(self, *arguments):
        done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=300, check=False)
        return done.returncode, done.stdout, done.stderr

    def test_a_file_without_an_end_that_is_no_timeline(self):
        self.assertEqual(self.run_program("/dev/zero", STREAM), (2, "", "/dev/zero:1: not an object\n"))

    def test_proved(self):
        for passes in (1, 3):
            timeline = self.path("t.json", json.dumps(serial_timeline(STREAM, passes)))
            code, out, err = self.run_program(timeline, STREAM)
            self.assertEqual((code, err), (0, ""))
            self.assertRegex(out, r"^checked %d tasks, \d+ accesses, \d+ hazards: all honoured\n$" % (64 * passes))
            code, out, err = self.run_program("--passes", str(passes), "--storage", "kept", timeline, STREAM)
            self.assertEqual((code, err), (0, ""))

    def box_program(self, starts, boxes):
        """Tasks of 10 ns on rows of 4 bytes at a pitch of 8, as boxes in the timeline and as rows in the stream."""
        modes = ("write", "write", "read")
        lines = ['{"weir_stream":1,"name":"boxes","sms":1,"tasks":3}', '{"buffer":1,"bytes":16,"address":0}']
        events = []
        for index, (mode, start, offset) in enumerate(zip(modes, starts, (0, 4, 0))):
            rows = [[1, offset, 4], [1, offset + 8, 4]]
            lines.append(json.dumps({"op": "t%d" % index, "reads": rows if mode == "read" else [],
                                     "writes": rows if mode == "write" else [], "kernels": []}))
            access = {"mode": mode, "buffer": 1, "label": "", "storage": 1, "offset": offset, "bytes": 12}
            args = {"id": index + 1, "tag": index + 1, "status": "WEIR_OK", "kernel": "k", "submit_ns": 0, "ready_ns": 0,
                    "start_ns": start, "end_ns": start + 10, "waits": [], "accesses": [dict(access, box=boxes[index])]}
            events.append({"name": "t%d" % index, "cat": "task", "ph": "X", "pid": 0, "tid": index, "ts": 0, "dur": 0,
                           "args": args})
        timeline = {"weir": {"version": 1, "title": "boxes", "dropped": 0}, "traceEvents": events}
        return self.path("t.json", json.dumps(timeline)), self.path("s.jsonl", "\n".join(lines) + "\n")

    def test_boxes(self):
        box = [4, 8, 2, 0, 1]
        code, out, err = self.run_program(*self.box_program((0, 5, 10), [box] * 3))
        self.assertEqual((code, err), (0, ""), out)  # interleaved boxes at one time, and a read of the first
        code, _, err = self.run_program(*self.box_program((0, 5, 9), [box] * 3))
        self.assertEqual(code, 1)
        self.assertIn("RAW", err)
        code, _, err = self.run_program(*self.box_program((0, 5, 10), [box, box, [4, 8, 3, 0, 1]]))
        self.assertEqual(code, 2)
        self.assertIn("box", err)
        for wrong in ([4, 8, 2, 0], [4, 8, 2, 0, -1], [4, 2**62, 4, 0, 1], [0, 0, 0, 0, 0], "no"):
            code, _, err = self.run_program(*self.box_program((0, 5, 10), [box, box, wrong]))
            self.assertEqual(code, 2, wrong)
            self.assertIn("box", err)

    def test_broken(self):
        made = serial_timeline(STREAM, 1)
        made["traceEvents"][1]["args"].update(submit_ns=0, start_ns=0, end_ns=1)
        code, out, err = self.run_program(self.path("t.json", json.dumps(made)), STREAM)
        self.assertEqual(code, 1)
        self.assertIn("RAW broken: task 'convolution.default' (id 1, pass 0, number 1) writes buffer 3 [0, 3154176)", err)
        self.assertRegex(out, r"^checked 64 tasks, \d+ accesses, \d+ hazards: \d+ findings\n$")

    def test_passes_missing(self):
        timeline = self.path("t.json", json.dumps(serial_timeline(STREAM, 1)))
        code, _, err = self.run_program("--passes", "2", timeline, STREAM)
        self.assertEqual(code, 1)
        self.assertIn("MISSING: task 'convolution.default' (pass 1, number 1)", err)

    def test_bad_input(self):
        good = self.path("t.json", json.dumps(serial_timeline(STREAM, 1)))
        bad = self.path("bad.json", '{"weir":\n{"version":3}}')
        self.assertEqual(self.run_program(bad, STREAM), (2, "", bad + ":2: timeline version 3 is not known, only 1\n"))
        code, out, err = self.run_program(good, bad)
        self.assertEqual((code, out), (2, ""))
        self.assertTrue(err.startswith(bad + ":1: "), err)
        self.assertEqual(self.run_program("/no/such", STREAM), (2, "", "/no/such: No such file or directory\n"))

    def test_lines(self):
        stages = [{"name": "in", "serial": True}, {"name": "out", "serial": False}]

        def timeline(pipelines, buffer):
            events = []
            for token in (0, 1):
                where = {"pipeline": 3, "line": token, "stage": 0, "token": token}
                access = {"mode": "write", "buffer": token if token else buffer, "storage": 1, "offset": 0, "bytes": 8}
                events.append({"name": "t", "cat": "task", "ph": "X",
                               "args": {"id": token + 1, "tag": token, "status": "WEIR_OK", "submit_ns": 0, "ready_ns": 0,
                                        "start_ns": 0, "end_ns": 0, **where, "accesses": [access], "waits": []}})
                events.append({"name": "in", "cat": "line", "ph": "X",
                               "args": {**where, "state": "busy", "start_ns": token * 10, "end_ns": token * 10 + 10}})
            head = {"version": 1, "dropped": 0, "pipelines": pipelines}
            return self.path("lines.json", json.dumps({"weir": head, "traceEvents": events}))

        pipelines = [{"id": 3, "lines": 2, "stages": stages}]
        shared = timeline(pipelines, 1)
        summary = "checked 2 tasks, 1 pipelines, 2 tokens, 2 spans of lines, %d accesses, 0 hazards: %s\n"
        self.assertEqual(self.run_program("--lines", shared), (0, summary % (0, "all honoured"), ""))
        self.assertEqual(self.run_program("--lines-apart", shared), (
            1, summary % (2, "1 findings"), "LINES not apart in pipeline 3: buffer 1: task 't' (id 1, token 0 on line 0) "
            "writes bytes [0, 8); task 't' (id 2, token 1 on line 1) writes bytes [0, 8)\n"))
        self.assertEqual(self.run_program("--lines-apart", timeline(pipelines, 0)), (0, summary % (2, "all honoured"), ""))
        made = serial_timeline(STREAM, 1)
        none = self.path("none.json", json.dumps(made))
        self.assertEqual(self.run_program("--lines", none), (2, "", "the timeline has no pipelines\n"))
        # With a stream both are proved.
        made["weir"]["pipelines"] = pipelines
        made["traceEvents"].append({"name": "in", "cat": "line", "ph": "X",
                                    "args": {"pipeline": 3, "line": 0, "stage": 0, "token": 0, "state": "busy",
                                             "start_ns": 0, "end_ns": 9}})
        code, out, err = self.run_program(self.path("both.json", json.dumps(made)), STREAM)
        self.assertEqual((code, err), (0, ""))
        self.assertRegex(out, r"^checked 64 tasks, 1 pipelines, 1 tokens, 1 spans of lines, \d+ accesses, \d+ hazards: all")
        made["traceEvents"].append(made["traceEvents"][-1])
        code, out, err = self.run_program(self.path("both.json", json.dumps(made)), STREAM)
        self.assertEqual(code, 1)
        self.assertIn("LINE broken in pipeline 3: token 0 is in stage 0 'in' on line 0 from 0 to 9 ns; ", err)

    def test_usage(self):
        code, out, _ = self.run_program("--help")
        self.assertEqual(code, 0)
        self.assertIn("Usage: weir-check ", out)
        alone = '--ranks proves the timeline of a program that replayed no stream; missing "STREAM"'
        for arguments, text in (((), 'missing "TIMELINE.json"'), (("a",), alone),
                                (("a", "b", "c"), 'one argument too many: "c"'),
                                (("--lines",), 'missing "TIMELINE.json"'),
                                (("--wrong",), 'unknown option, or its value is missing: "--wrong"'),
                                (("--passes=0",), '--passes takes a number, not "0"'),
                                (("--passes=-1",), '--passes takes a number, not "-1"'),
                                (("--passes",), 'unknown option, or its value is missing: "--passes"'),
                                (("--storage", "x"), '--storage takes fresh or kept, not "x"')):
            code, out, err = self.run_program(*arguments)
            self.assertEqual((code, out), (2, ""))
            self.assertEqual(err, f"weir-check: {text}; try --help\n")


if __name__ == "__main__":
    unittest.main(verbosity=2)
