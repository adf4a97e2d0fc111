#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_replay.py WEIR STREAMS: what `weir replay` runs, prints and writes."""
import itertools
import json
import os
import unittest

from command import SMALL, SMALL_TESTS, CommandTest, all_streams, place, stream, streams_in_turn, write

FIELDS = {"stream": str, "device": str, "hazards": str, "issue": str, "met": str, "window": int, "repeat": int, "apart": bool,
          "tasks": int, "kernels": int, "edges": int, "serial_us": float, "makespan_us": float, "speedup": float,
          "first_us": (float, type(None)), "pass_us": float, "pass_least_us": (float, type(None)),
          "pass_most_us": (float, type(None)), "critical_us": float, "bound_us": float, "submit_ns_per_task": float,
          "first_submit_ns_per_task": float, "later_submit_ns_per_task": (float, type(None)), "window_waits": int, "renamed": int, "repeated": int,
          "peak_bytes": int, "build_us": float, "checked": (bool, type(None))}


class Replay(CommandTest):
    def test_json(self):
        runs = self.replay(stream("squeezenet"), stream("randwire"), "--device", "sim:ideal")
        self.assertEqual([run["stream"] for run in runs], ["squeezenet", "randwire"])
        for run in runs:
            self.assertEqual(list(run), list(FIELDS))
            for field, kind in FIELDS.items():
                self.assertIsInstance(run[field], kind, field)
            self.assertIsNone(run["checked"])
            self.assertEqual((run["device"], run["hazards"], run["issue"], run["repeat"]), ("sim:ideal", "buffer", "auto", 1))
            self.assertEqual((run["met"], run["apart"], run["first_us"], run["pass_us"]), ("nothing", False, None, run["makespan_us"]))
            self.assertAlmostEqual(run["speedup"], run["serial_us"] / run["makespan_us"], places=2)
        self.assertEqual((runs[1]["tasks"], runs[1]["kernels"]), (520, 525))

    def test_all_are_proved(self):
        turns = itertools.count()
        for device in ("cpu", "cpu:3", "sim:ideal", "sim:h200"):
            for hazards in ("serial", "address", "buffer"):
                for issue in ("queues", "graph", "auto")[hazards == "serial" and "cpu" in device:]:
                    with self.subTest(device=device, hazards=hazards, issue=issue):
                        streams = streams_in_turn(next(turns))
                        runs = self.replay(*streams, "--device", device, "--hazards", hazards, "--issue", issue, "--check",
                                           "--time-scale", "0.1" if "cpu" in device else "1")
                        self.assertEqual(len(runs), len(streams))
                        for run in runs:
                            self.assertIs(run["checked"], True, run["stream"])
                            self.assertEqual((run["hazards"], run["issue"]), (hazards, issue))
                            self.assertEqual(run["build_us"] > 0, issue == "graph" and device != "sim:ideal")

    def test_passes_are_proved(self):
        name, tasks = ("squeezenet", 64) if SMALL_TESTS else ("randwire", 520)
        for device in ("cpu", "sim:ideal"):
            for options in (["--storage", "kept"], ["--storage", "fresh"], ["--rename", "off"], ["--memory", "48M"], ["--window", "8"],
                            ["--storage", "kept", "--rename", "off"], ["--storage", "kept", "--issue", "graph"],
                            ["--hazards", "address"], ["--window", "32", "--queues", "3"]):
                with self.subTest(device=device, options=options):
                    run, routed = self.replay(stream(name), stream("dynroute_a.0"), "--repeat", "3", "--device", device, "--check",
                                              "--time-scale", "0.1", *options)
                    self.assertIs(run["checked"], True)
                    self.assertIs(routed["checked"], True)
                    self.assertEqual(run["tasks"], 3 * tasks)
                    if "--memory" in options:
                        self.assertLessEqual(run["peak_bytes"], 48 << 20)
                    if "off" in options:
                        self.assertEqual(run["renamed"], 0)
                    if options[:1] == ["--window"]:
                        self.assertEqual(run["window"], int(options[1]))

    def test_serial_ways(self):
        """One after another, task by task or as a graph, whatever the hazards."""
        for device in ("cpu:2", "sim:ideal", "sim:h200"):
            for issue in ("serial", "serial-graph"):
                with self.subTest(device=device, issue=issue):
                    run, = self.replay(stream("randwire"), "--device", device, "--issue", issue, "--hazards", "address", "--check",
                                       "--repeat", "2", "--time-scale", "0.1")
                    self.assertEqual((run["hazards"], run["issue"], run["checked"]), ("serial", issue, True))
                    self.assertEqual(run["build_us"] > 0, issue == "serial-graph" and device != "sim:ideal")
                    self.assertGreaterEqual(run["makespan_us"], 0.999 * 2 * 0.1 * 1276.1)
                    if issue == "serial":
                        self.assertEqual(run["serial_us"], run["makespan_us"])

    def test_auto_is_queues_without_a_choice(self):
        def run(issue):
            row, = self.replay(stream("nasnetalarge"), "--device", "sim:h200", "--issue", issue, "--repeat", "2")
            return {key: value for key, value in row.items() if key != "issue" and not key.endswith("submit_ns_per_task")}
        self.assertEqual(run("auto"), run("queues"))

    def test_passes_apart(self):
        """On an ideal device passes that wait for each other take as long as one, and overlap otherwise."""
        name = "squeezenet" if SMALL_TESTS else "randwire"
        for issue in ("serial", "serial-graph", "queues", "graph", "auto"):
            options = ["--device", "sim:ideal", "--issue", issue]
            one, = self.replay(stream(name), *options)
            for more in ([], ["--storage", "kept"], ["--met", "stream"], ["--hazards", "address"][:2 * ("serial" not in issue)]):
                with self.subTest(issue=issue, more=more):
                    run, = self.replay(stream(name), *options, "--repeat", "4", "--apart", "--check", *more)
                    self.assertIs(run["checked"], True)
                    for field in ("first_us", "pass_least_us", "pass_most_us"):
                        self.assertAlmostEqual(run[field], run["pass_us"], delta=0.01, msg=field)
                    if "address" not in more:
                        self.assertAlmostEqual(run["pass_us"], one["makespan_us"], delta=0.01)
                        self.assertAlmostEqual(run["critical_us"], 4 * one["critical_us"], delta=0.01)
                    self.assertAlmostEqual(run["makespan_us"], 4 * run["pass_us"], delta=0.01)
        once, = self.replay(stream("randwire"), "--device", "sim:ideal", "--apart")
        self.assertEqual((once["pass_us"], once["pass_least_us"], once["pass_most_us"], once["later_submit_ns_per_task"]), (None,) * 4)
        self.assertEqual(once["first_us"], once["makespan_us"])
        together, = self.replay(stream("randwire"), "--device", "sim:ideal", "--repeat", "4")
        self.assertAlmostEqual(together["pass_us"], together["makespan_us"] / 4, delta=0.001)
        self.assertLess(together["pass_us"], 0.7 * once["makespan_us"])
        text = self.weir("replay", stream("squeezenet"), "--device", "sim", "--repeat", "3", "--apart").stdout.splitlines()
        self.assertEqual(text[0], "device sim:ideal, hazards buffer, issue auto, window 1024, 3 passes, one at a time")
        self.assertEqual(text[2].split()[7:11], ["first", "pass", "least", "most"])

    def test_what_was_met_is_not_counted(self):
        for device in ("cpu:2", "sim:ideal"):
            for issue in ("queues", "graph"):
                plain, = self.replay(stream("dynroute_a.0"), "--device", device, "--issue", issue, "--repeat", "2", "--time-scale", "0.1")
                for met in ("device", "topology", "stream"):
                    with self.subTest(device=device, issue=issue, met=met):
                        path = place("met.json")
                        run, = self.replay(stream("dynroute_a.0"), "--device", device, "--issue", issue, "--repeat", "2", "--met", met,
                                           "--check", "--time-scale", "0.1", "--timeline", path)
                        self.assertEqual((run["met"], run["checked"], run["tasks"]), (met, True, 2 * 252))
                        if device == "sim:ideal":
                            self.assertAlmostEqual(run["makespan_us"], plain["makespan_us"], delta=0.01)
                            self.assertEqual((run["edges"], run["renamed"]), (plain["edges"], plain["renamed"]))
                        with open(path) as file:
                            tasks = [event for event in json.load(file)["traceEvents"] if event.get("cat") == "task"]
                        self.assertEqual(len([task for task in tasks if "tag" in task["args"]]), 2 * 252)

    def test_no_card(self):
        """Without a CUDA device a replay on one says why it cannot run."""
        info = json.loads(self.weir("info", "--json").stdout)
        cuda = [device for device in info["devices"] if device["kind"] == "cuda"]
        if not cuda or cuda[0]["available"]:
            self.skipTest("this machine has a CUDA device" if cuda else "this build has no CUDA device")
        for issue in ("serial", "auto"):
            result = self.refused("cuda", "replay", stream("squeezenet"), "--device", "cuda:0", "--issue", issue, code=3)
            self.assertIn("weir replay: squeezenet: ", result.stderr)
        self.refused("cuda", "bench", "tasks", "--quick", "--device", "cuda", code=3)
        self.refused("cuda", "bench", "copies", "--quick", code=3)

    def test_ideal_device_meets_the_limits(self):
        """Without host costs, a serial run takes the sum of all kernels, and no run beats its limits."""
        for run in self.replay(*all_streams(), "--device", "sim:ideal", "--hazards", "serial"):
            self.assertEqual(run["serial_us"], run["makespan_us"])
            self.assertAlmostEqual(run["serial_us"] / run["critical_us"], 1, delta=0.001)
        for run in self.replay(*all_streams(), "--device", "sim:ideal", "--window", "4096"):
            self.assertGreaterEqual(run["makespan_us"], 0.999 * run["bound_us"])
            self.assertGreaterEqual(run["makespan_us"], 0.999 * run["critical_us"])
            self.assertLessEqual(run["makespan_us"], run["serial_us"])

    def test_limits_of_several_passes(self):
        one, = self.replay(stream("randwire"), "--device", "sim:ideal")
        for options, critical in ((["--storage", "fresh"], 1), (["--storage", "kept"], 1), (["--hazards", "serial"], 3)):
            three, = self.replay(stream("randwire"), "--device", "sim:ideal", "--repeat", "3", *options)
            alone = one["critical_us"] if critical == 1 else one["serial_us"]
            self.assertAlmostEqual(three["critical_us"], critical * alone, delta=0.1)
            self.assertGreater(three["bound_us"], 1.4 * one["bound_us"])  # three times the work is more than one path

    def test_virtual_time_repeats(self):
        def run():
            row, = self.replay(stream("nasnetalarge"), "--device", "sim:h200")
            return {key: value for key, value in row.items() if not key.endswith("submit_ns_per_task")}
        self.assertEqual(run(), run())

    def test_time_scale(self):
        one, = self.replay(stream("squeezenet"), "--device", "sim:ideal")
        ten, = self.replay(stream("squeezenet"), "--device", "sim:ideal", "--time-scale", "10")
        for field in ("serial_us", "makespan_us", "critical_us", "bound_us"):
            self.assertAlmostEqual(ten[field] / one[field], 10, delta=0.02, msg=field)

    def test_the_cpu_takes_its_time(self):
        run, = self.replay(stream("squeezenet"), "--time-scale", "20")
        self.assertGreaterEqual(run["serial_us"], 20 * 266.7)
        self.assertGreaterEqual(run["makespan_us"], 20 * 216.0)

    def test_table(self):
        text = self.weir("replay", stream("squeezenet"), stream("randwire"), "--device", "sim", "--check").stdout
        lines = text.splitlines()
        self.assertEqual(lines[0], "device sim:ideal, hazards buffer, issue auto, window 1024, 1 pass")
        self.assertEqual(lines[2].split()[:4], ["stream", "tasks", "kernels", "edges"])
        self.assertEqual(lines[4].split()[:3], ["squeezenet", "64", "100"])
        self.assertTrue(lines[4].rstrip().endswith("yes"))
        self.assertTrue(lines[6].startswith("geometric mean"))
        self.assertNotIn("geometric", self.weir("replay", stream("squeezenet"), "--device", "sim").stdout)

    def test_timelines(self):
        for device in ("cpu", "sim:h200"):
            path = place("run.json")
            self.replay(stream("dynroute_a.0"), "--device", device, "--timeline", path, "--time-scale", "0.1")
            with open(path) as file:
                timeline = json.load(file)
            tasks = [event for event in timeline["traceEvents"] if event.get("cat") == "task"]
            self.assertEqual(sorted(task["args"]["tag"] for task in tasks), list(range(1, 253)))
            self.assertIn("all honoured", self.weir("check", path, stream("dynroute_a.0")).stdout)
            # A task that starts before its predecessors have ended is found.
            late = max(tasks, key=lambda task: task["args"]["start_ns"])
            late["args"]["start_ns"] = late["args"]["submit_ns"] = late["args"]["ready_ns"] = 0
            with open(path, "w") as file:
                json.dump(timeline, file)
            self.weir("check", path, stream("dynroute_a.0"), code=1)
            self.weir("check", path, stream("squeezenet"), code=1)

    def test_timeline_names(self):
        for ending in ("html", "json"):
            self.replay(stream("squeezenet"), stream("randwire"), "--device", "sim", "--check", "--timeline", place(f"c.{ending}"))
            for name in ("squeezenet", "randwire"):
                with open(place(f"c-{name}.{ending}")) as file:
                    self.assertIn(f"{name} on sim:ideal, hazards by buffer", file.read())

    def test_timelines_that_cannot_be_written(self):
        """That is said before the run, which has no such device."""
        small = write("small.jsonl", SMALL)
        for name in ("/nowhere/t.json", "/nowhere/t.html", os.path.join(small, "t.json")):
            self.refused(f"--timeline: {name}: ", "replay", small, "--device", "sim:nowhere", "--timeline", name)
        self.refused("--timeline: /nowhere/t-small.json: ", "replay", small, stream("squeezenet"), "--device", "sim:nowhere",
                     "--timeline", "/nowhere/t.json")
        os.makedirs(place("folder.json"), exist_ok=True)
        self.refused("folder.json: Is a directory", "replay", small, "--device", "sim:nowhere", "--timeline", place("folder.json"))
        path = place("kept.json")
        with open(path, "w") as file:
            file.write("kept")
        self.refused("sim: nowhere", "replay", small, "--device", "sim:nowhere", "--timeline", path)
        with open(path) as file:
            self.assertEqual(file.read(), "kept")

    def test_hostile_names(self):
        lines = [SMALL[0].replace("small", "../../x/<b>"), *SMALL[1:]]
        path = write("hostile.jsonl", lines)
        self.replay(path, stream("squeezenet"), "--device", "sim", "--timeline", place("h.html"))
        self.assertTrue(os.path.exists(place("h-.._.._x_<b>.html")))

    def test_names_do_not_reach_the_terminal(self):
        """Control characters of names, in UTF-8 too, are not printed: neither in tables nor in what is said on stderr."""
        evil = r"\u001b[31m\u009b1m\u007f\u0007 \n\t"
        lines = [SMALL[0].replace("small", "name " + evil), *SMALL[1:]]
        lines = [line.replace('"first"', f'"op {evil}"').replace('"k"', f'"kernel {evil}"') for line in lines]
        path, timeline = write("evil.jsonl", lines), place("evil.json")
        broken = write("broken.jsonl", [line.replace('"regs":8', '"regs":-8') for line in lines])
        other = write("other.jsonl", [line.replace("[[1,0,1024]]", "[[1,0,256]]") for line in lines])
        for code, arguments in ((0, ("replay", path, "--device", "sim", "--timeline", timeline)), (1, ("replay", path, "--memory", "1K")),
                                (2, ("replay", broken)), (1, ("check", timeline, other)), (0, ("plan", path)),
                                (0, ("plan", path, "--why", "1")), (0, ("plan", path, "--barriers"))):
            with self.subTest(arguments=arguments):
                done = self.weir(*arguments, code=code)
                said = done.stdout + done.stderr
                self.assertTrue("op " in said or "name " in said, said)
                self.assertEqual([c for c in said if (ord(c) < 32 and c not in "\n\t") or 127 <= ord(c) < 160], [])
                if arguments[0] == "plan":
                    self.assertNotIn("\t", said)

    def test_without_storage(self):
        result = self.refused("squeezenet, line ", "replay", stream("squeezenet"), "--memory", "1K", code=1)
        self.assertIn("convolution.default", result.stderr)

    def test_host_waits(self):
        """A pass whose end the host waits for keeps the next one from overlapping."""
        path = write("small.jsonl", SMALL)
        run, = self.replay(path, "--device", "sim:ideal", "--repeat", "4", "--check")
        self.assertEqual((run["makespan_us"], run["critical_us"], run["checked"]), (60.0, 60.0, True))

    def test_no_host_waits(self):
        path = write("small.jsonl", SMALL)
        for issue in ("queues", "graph"):
            run, = self.replay(path, "--device", "sim:ideal", "--repeat", "4", "--no-host-waits", "--check", "--issue", issue)
            self.assertEqual((run["makespan_us"], run["critical_us"], run["checked"]), (60.0, 60.0, True))
        waits, = self.replay(stream("dynroute_a.0"), "--device", "sim:ideal", "--check")
        goes_on, = self.replay(stream("dynroute_a.0"), "--device", "sim:ideal", "--check", "--no-host-waits")
        self.assertLess(goes_on["makespan_us"], 0.9 * waits["makespan_us"])
        self.assertLess(goes_on["critical_us"], 0.9 * waits["critical_us"])

    def test_no_tasks(self):
        path = write("empty.jsonl", ['{"weir_stream":1,"name":"empty","device":"d","sms":132,"tasks":0,"kernels":0}'])
        for issue in ("queues", "graph"):
            run, = self.replay(path, "--device", "sim", "--check", "--issue", issue)
            self.assertEqual((run["tasks"], run["critical_us"], run["speedup"]), (0, 0, 0))
            run, = self.replay(path, "--device", "sim", "--apart", "--repeat", "2", "--met", "topology", "--issue", issue)
            self.assertEqual((run["first_us"], run["pass_us"]), (0, 0))


if __name__ == "__main__":
    unittest.main()
