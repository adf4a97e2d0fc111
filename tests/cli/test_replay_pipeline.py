#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_replay_pipeline.py WEIR STREAMS: `weir replay --pipeline`."""
import itertools
import json
import unittest

from command import SMALL, SMALL_TESTS, CommandTest, place, stream, write

NUMBER = (int, float)
FIELDS = {"stream": str, "device": str, "pipeline": int, "issue": str, "window": int, "jobs": int, "rounds": int, "tasks": int,
          "kernels": int, "host_waits": int, "jobs_per_second": NUMBER, "job_us": NUMBER, "job_least_us": NUMBER,
          "job_most_us": NUMBER, "latency_median_us": NUMBER, "latency_90_us": NUMBER, "latency_99_us": NUMBER,
          "latency_most_us": NUMBER, "alone_us": NUMBER, "alone_least_us": NUMBER, "alone_most_us": NUMBER,
          "faster_than_alone": NUMBER, "back_to_back_us": NUMBER, "back_to_back_least_us": NUMBER, "back_to_back_most_us": NUMBER,
          "faster_than_back_to_back": NUMBER, "critical_us": NUMBER, "work_us": NUMBER, "submit_ns_per_task": NUMBER,
          "graph_jobs": int, "task_jobs": int, "peak_bytes": int, "checked": (bool, type(None))}
TASK = '{"op":"%s","reads":[[%d,0,64]],"writes":[[%d,0,64]],"kernels":[{"name":"k","grid":[1,1,1],"block":[32,1,1],"regs":8,"smem":0,"us":10}]%s}'


def chain(name, tasks, host_wait=True, parameter=False):
    """A stream of tasks that read and write buffer 1, each awaited by the host. A parameter is read first and never freed."""
    wait = ',"host_wait":true' if host_wait else ""
    lines = ['{"weir_stream":1,"name":"%s","device":"d","sms":132,"tasks":%d,"kernels":%d}' % (name, tasks, tasks),
             '{"buffer":1,"bytes":64,"address":4096}', '{"buffer":2,"bytes":64,"address":8192}']
    lines += [TASK % ("step", 1, 1 if parameter else 2, wait)] * tasks
    return write(name + ".jsonl", lines)


class Pipeline(CommandTest):
    def pipeline(self, *arguments, code=0):
        return self.replay("--pipeline", "3", "--repeat", "6", "--rounds", "1", *arguments, code=code)

    def test_json(self):
        run, = self.replay(stream("squeezenet"), "--device", "sim:ideal", "--pipeline", "3", "--repeat", "12")
        self.assertEqual(list(run), list(FIELDS))
        for field, kind in FIELDS.items():
            self.assertIsInstance(run[field], kind, field)
        self.assertEqual((run["pipeline"], run["jobs"], run["rounds"], run["tasks"], run["issue"]), (3, 12, 5, 64, "auto"))
        self.assertAlmostEqual(run["jobs_per_second"], 1e6 / run["job_us"], delta=1)
        self.assertAlmostEqual(run["faster_than_alone"], run["alone_us"] / run["job_us"], places=2)
        self.assertAlmostEqual(run["faster_than_back_to_back"], run["back_to_back_us"] / run["job_us"], places=2)
        self.assertLessEqual(run["job_least_us"], run["job_us"])
        self.assertLessEqual(run["job_us"], run["job_most_us"])
        latencies = [run[f"latency_{name}_us"] for name in ("median", "90", "99", "most")]
        self.assertEqual(latencies, sorted(latencies))
        self.assertIsNone(run["checked"])

    def test_proved(self):
        """Every hazard in each job is honoured, and no two jobs are on one line at once: storage says so."""
        turns = itertools.count()
        for device in ("cpu:2", "sim:ideal", "sim:h200"):
            for options in ([], ["--issue", "queues"], ["--issue", "graph"], ["--no-host-waits"], ["--window", "16"],
                            ["--rename", "off"], ["--pipeline", "1"])[:2 if device == "sim:ideal" else 7]:
                names = ("squeezenet", "dynroute_a.0")
                if SMALL_TESTS:
                    names = names[next(turns) % 2:][:1]
                with self.subTest(device=device, options=options):
                    runs = self.pipeline(*map(stream, names), "--device", device, "--check", "--time-scale", "0.1", *options)
                    for name, run in zip(names, runs, strict=True):
                        self.assertIs(run["checked"], True)
                        self.assertEqual(run["host_waits"], 12 if name == "dynroute_a.0" and "--no-host-waits" not in options else 0)
                        if "queues" in options:
                            self.assertEqual(run["graph_jobs"], 0)

    def test_ideal_device(self):
        """Without host costs: jobs alone take their longest chain, and together no less than their work."""
        for issue in ("queues", "auto"):
            run, = self.replay(stream("squeezenet"), "--device", "sim:ideal", "--pipeline", "4", "--repeat", "20", "--issue", issue)
            self.assertAlmostEqual(run["alone_us"], run["critical_us"], delta=0.1)
            self.assertAlmostEqual(run["back_to_back_us"], run["critical_us"], delta=0.1)
            self.assertGreaterEqual(run["job_us"], 0.999 * run["work_us"])
            self.assertLess(run["job_us"], 0.5 * run["alone_us"])
            self.assertGreaterEqual(run["latency_median_us"], 0.999 * run["critical_us"])
            one, = self.replay(stream("squeezenet"), "--device", "sim:ideal", "--pipeline", "1", "--repeat", "20", "--issue", issue)
            self.assertAlmostEqual(one["job_us"], one["critical_us"], delta=0.1)

    def test_virtual_time_repeats(self):
        def run():
            row, = self.pipeline(stream("dynroute_a.0"), "--device", "sim:h200")
            return {key: value for key, value in row.items() if key != "submit_ns_per_task"}
        self.assertEqual(run(), run())

    def test_a_job_that_waits_holds_up_no_other(self):
        path = chain("waits", 3)
        run, = self.pipeline(path, "--device", "sim:ideal", "--check")
        self.assertEqual((run["checked"], run["host_waits"], run["alone_us"], run["back_to_back_us"]), (True, 2, 30, None))
        self.assertAlmostEqual(run["job_us"], 10, delta=0.1)
        self.assertAlmostEqual(run["latency_most_us"], 30, delta=0.1)

    def test_what_cannot_be_a_job(self):
        self.pipeline(chain("31", 31), "--device", "sim")
        self.refused("31 host waits in a job", "replay", chain("32", 32), "--device", "sim", "--pipeline", "2")
        path = chain("state", 2, parameter=True)
        self.refused("write parameters", "replay", path, "--device", "sim", "--pipeline", "2")
        run, = self.pipeline(path, "--device", "sim", "--no-host-waits", "--check")
        self.assertEqual((run["checked"], run["job_us"]), (True, 20))

    def test_jobs_that_change_parameters(self):
        """They are in order, whatever the number of threads."""
        for device in ("cpu:2", "sim:h200"):
            runs = self.pipeline(chain("update", 5, host_wait=False, parameter=True), write("small.jsonl", SMALL), "--device", device,
                                 "--check")
            self.assertEqual([run["checked"] for run in runs], [True, True])

    def test_table(self):
        text = self.weir("replay", stream("squeezenet"), "--device", "sim", "--pipeline", "2", "--rounds", "1", "--check").stdout
        lines = text.splitlines()
        self.assertEqual(lines[0], "device sim:ideal, pipeline of 2 lines, issue auto, window 1024, 1 job, median of 1 round")
        self.assertEqual(lines[2].split()[:6], ["stream", "tasks", "job", "least", "most", "jobs"])
        self.assertEqual(lines[4].split()[:2], ["squeezenet", "64"])
        self.assertTrue(lines[4].rstrip().endswith("yes"))

    def test_timeline(self):
        path = place("jobs.json")
        self.pipeline(stream("dynroute_a.0"), "--device", "cpu:2", "--timeline", path, "--time-scale", "0.1")
        with open(path) as file:
            tasks = [event for event in json.load(file)["traceEvents"] if event.get("cat") == "task" and "tag" in event["args"]]
        self.assertEqual(sorted(task["args"]["tag"] for task in tasks),
                         [job << 32 | number for job in range(6) for number in range(1, 253)])
        self.assertIn("all honoured", self.weir("check", "--pipeline", "--storage", "fresh", path, stream("dynroute_a.0")).stdout)
        # A task that is submitted before the one that its job waits for has ended is found.
        with open(path) as file:
            timeline = json.load(file)
        for event in timeline["traceEvents"]:
            if event.get("cat") == "task" and event["args"]["tag"] == (4 << 32 | 252):
                event["args"]["submit_ns"] = 0
        with open(path, "w") as file:
            json.dump(timeline, file)
        result = self.weir("check", "--pipeline", "--storage", "fresh", path, stream("dynroute_a.0"), code=1)
        self.assertIn("HOST_WAIT", result.stderr)
        self.pipeline(stream("squeezenet"), "--device", "sim", "--timeline", place("jobs.html"), "--check")

    def test_planted(self):
        """A job that uses another one's line is found."""
        path = place("planted.json")
        self.pipeline(stream("squeezenet"), "--device", "sim:ideal", "--timeline", path, "--issue", "queues")
        with open(path) as file:
            timeline = json.load(file)
        tasks = {event["args"]["tag"]: event["args"] for event in timeline["traceEvents"] if event.get("cat") == "task"}
        for number in range(1, 65):
            for mine, other in zip(tasks[1 << 32 | number]["accesses"], tasks[number]["accesses"]):
                mine["buffer"], mine["storage"] = other["buffer"], other["storage"]
        with open(path, "w") as file:
            json.dump(timeline, file)
        result = self.weir("check", "--pipeline", "--storage", "fresh", path, stream("squeezenet"), code=1)
        self.assertIn("STORAGE", result.stderr)

    def test_no_tasks(self):
        path = write("empty.jsonl", ['{"weir_stream":1,"name":"empty","device":"d","sms":132,"tasks":0,"kernels":0}'])
        run, = self.pipeline(path, "--device", "sim", "--check")
        self.assertEqual((run["tasks"], run["critical_us"], run["checked"]), (0, 0, True))

    def test_without_storage(self):
        result = self.weir("replay", stream("squeezenet"), "--pipeline", "2", "--memory", "1K", code=1)
        self.assertIn("squeezenet", result.stderr)
        self.assertEqual(result.stdout, "")

    def test_refusals(self):
        for text, *options in (("--pipeline: 0 is not between 1 and 62", "--pipeline", "0"),
                               ("--pipeline: 63 is not between 1 and 62", "--pipeline", "63"),
                               ('--pipeline: "many" is not a whole number', "--pipeline", "many"),
                               ("--pipeline needs a value", "--pipeline"),
                               ("--rounds: 0 is not between", "--pipeline", "2", "--rounds", "0"),
                               ("--rounds needs --pipeline", "--rounds", "3"),
                               ("--issue serial does not go with", "--pipeline", "2", "--issue", "serial"),
                               ("--issue serial-graph does not go with", "--pipeline", "2", "--issue", "serial-graph"),
                               ("--hazards serial or address does not go with", "--pipeline", "2", "--hazards", "address"),
                               ("--apart", "--pipeline", "2", "--apart"),
                               ("--storage fresh", "--pipeline", "2", "--storage", "fresh"),
                               ("--met", "--pipeline", "2", "--met", "stream")):
            with self.subTest(options=options):
                self.refused(text, "replay", stream("squeezenet"), "--device", "sim", *options)
        self.pipeline(stream("squeezenet"), "--device", "sim", "--storage", "kept")


if __name__ == "__main__":
    unittest.main()
