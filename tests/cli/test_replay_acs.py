#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_replay_acs.py WEIR STREAMS: `weir replay --issue acs-sw` and `acs-hw`, the model of a peer on the simulated device."""
import itertools
import json
import unittest

from command import SMALL, CommandTest, all_streams, place, stream, streams_in_turn, write

WAYS = ("acs-sw", "acs-hw")


def accesses_of(path):
    """By task: what it reads and writes, as (first byte, end, writes) of memory."""
    buffers, tasks = {}, []
    with open(path) as file:
        for line in map(json.loads, file):
            if "buffer" in line:
                buffers[line["buffer"]] = line["address"]
            elif "op" in line:
                tasks.append([(buffers[buffer] + offset, buffers[buffer] + offset + count, writes)
                              for kind, writes in (("reads", False), ("writes", True))
                              for buffer, offset, count in line.get(kind, []) if count])
    return tasks


def in_conflict(before, after):
    return any((x[2] or y[2]) and x[0] < y[1] and y[0] < x[1] for x in before for y in after)


class Acs(CommandTest):
    def acs(self, *arguments, issue, device="sim:h200", code=0):
        return self.replay(*arguments, "--issue", issue, "--device", device, code=code)

    def test_fields(self):
        reference, = self.replay(stream("squeezenet"), "--device", "sim:h200")
        for issue in WAYS:
            run, = self.acs(stream("squeezenet"), issue=issue)
            self.assertEqual(list(run), list(reference))
            self.assertEqual((run["device"], run["hazards"], run["issue"], run["window"], run["tasks"]),
                             ("sim:h200", "address", issue, 32, 64))
            self.assertEqual((run["renamed"], run["build_us"], run["submit_ns_per_task"], run["checked"]), (0, 0, None, None))
            self.assertEqual(run["serial_us"], reference["serial_us"])
            self.assertGreater(run["edges"], 0)
            table = self.weir("replay", stream("squeezenet"), "--device", "sim:h200", "--issue", issue).stdout
            self.assertIn(f"device sim:h200, hazards address, issue {issue}, window 32, 1 pass", table)

    def test_all_are_proved(self):
        turns = itertools.count()
        for issue in WAYS:
            for device, options in (("sim:h200", []), ("sim:ideal", ["--window", "8", "--queues", "3", "--acs", "list=5"]),
                                    ("sim:plain", ["--repeat", "2", "--no-host-waits", "--time-scale", "0.2"]),
                                    ("sim:h200+launch_us=0+synchronize_us=0", ["--window", "300", "--acs", "list=1000,check_ns=0"])):
                with self.subTest(issue=issue, device=device, options=options):
                    streams = streams_in_turn(next(turns))
                    runs = self.acs(*streams, "--check", *options, issue=issue, device=device)
                    self.assertEqual(len(runs), len(streams))
                    for run in runs:
                        self.assertIs(run["checked"], True, run["stream"])
                        self.assertGreaterEqual(run["makespan_us"], 0.3 * run["critical_us"])

    def test_hazards_from_the_file(self):
        """The stream's text against the timeline's times, with nothing of Weir's between."""
        for name in ("squeezenet", "dynroute_a.0", "randwire"):
            tasks = accesses_of(stream(name))
            pairs = [(before, after) for after in range(len(tasks)) for before in range(after)
                     if in_conflict(tasks[before], tasks[after])]
            self.assertGreater(len(pairs), len(tasks) // 2)
            for issue in WAYS:
                with self.subTest(stream=name, issue=issue):
                    self.acs(stream(name), "--timeline", place("acs.json"), issue=issue)
                    with open(place("acs.json")) as file:
                        timeline = json.load(file)
                    times = {event["args"]["tag"]: (event["args"]["start_ns"], event["args"]["end_ns"])
                             for event in timeline["traceEvents"] if event.get("cat") == "task"}
                    self.assertEqual(sorted(times), list(range(1, len(tasks) + 1)))
                    for before, after in pairs:
                        self.assertLessEqual(times[before + 1][1], times[after + 1][0], (before, after))
                    self.assertIn("checked %d tasks" % len(tasks), self.weir("check", place("acs.json"), stream(name)).stdout)

    def test_passes(self):
        for issue in WAYS:
            with self.subTest(issue=issue):
                once, = self.acs(stream("dynroute_a.0"), issue=issue)
                apart, = self.acs(stream("dynroute_a.0"), "--repeat", "3", "--apart", "--check", "--storage", "kept", issue=issue)
                self.assertEqual((apart["first_us"], apart["tasks"], apart["checked"]), (once["makespan_us"], 3 * 252, True))
                self.assertTrue(apart["pass_least_us"] <= apart["pass_us"] <= apart["pass_most_us"])
                self.assertAlmostEqual(apart["makespan_us"], apart["first_us"] + apart["pass_least_us"] + apart["pass_most_us"], 2)
                behind, = self.acs(stream("dynroute_a.0"), "--repeat", "3", issue=issue)
                self.assertLess(behind["makespan_us"], apart["makespan_us"])

    def test_same_every_time(self):
        for turn, issue in enumerate(WAYS):
            first = self.acs(*streams_in_turn(turn), issue=issue)
            self.assertEqual(first, self.acs(*streams_in_turn(turn), issue=issue))

    def test_hardware_is_faster(self):
        """On each stream, as its authors say: no round trip to the host for each dependence."""
        for software, hardware in zip(*(self.acs(*all_streams(), issue=issue) for issue in WAYS)):
            self.assertLess(hardware["makespan_us"], software["makespan_us"], software["stream"])

    def test_costs(self):
        def makespan(issue, *options, device="sim:h200"):
            return self.acs(stream("inception_v3"), *options, issue=issue, device=device)[0]["makespan_us"]
        software, hardware = makespan("acs-sw"), makespan("acs-hw")
        quick = "sim:h200+launch_us=0.1"  # where the host is not what takes long
        unbound = makespan("acs-hw", device=quick)
        for costs in ("check_ns=1000", "poll_us=5", "driver_us=3"):
            self.assertGreater(makespan("acs-sw", "--acs", costs), software, costs)
        for costs in ("check_ns=1000", "list=4", "cycle_ns=50", "cycle_ns=50,list=4"):
            self.assertGreater(makespan("acs-hw", "--acs", costs, device=quick), unbound, costs)
        for issue, usual in (("acs-sw", "check_ns=4.3,poll_us=0.1,driver_us=1.4"), ("acs-hw", "check_ns=4.3,list=64,cycle_ns=0.71")):
            self.assertEqual(makespan(issue, "--acs", usual, "--window", "32"), makespan(issue))
        self.assertGreater(makespan("acs-sw", "--window", "8"), software)
        self.assertGreater(makespan("acs-sw", "--queues", "2"), software)
        self.assertEqual(makespan("acs-hw", "--queues", "2"), hardware)
        # A driver cannot keep others out for longer than a launch takes.
        self.assertEqual(makespan("acs-sw", "--acs", "driver_us=10"), makespan("acs-sw", "--acs", "driver_us=3.35"))
        waits = [self.acs(stream("inception_v3"), "--window", size, issue="acs-sw")[0]["window_waits"] for size in ("8", "2000")]
        self.assertGreater(waits[0], 0)
        self.assertEqual(waits[1], 0)

    def test_small(self):
        empty = write("empty.jsonl", ['{"weir_stream":1,"name":"empty","device":"d","sms":132,"tasks":0,"kernels":0}'])
        for issue in WAYS:
            run, = self.acs(empty, "--check", issue=issue)
            self.assertEqual((run["makespan_us"], run["edges"], run["checked"]), (0, 0, True))
            run, = self.acs(write("small.jsonl", SMALL), "--check", "--timeline", place("small.html"), issue=issue, device="sim")
            # The second overwrites what the first reads, and reads what it writes. No host costs on this device, but the poll's.
            self.assertEqual((run["edges"], run["device"]), (1, "sim:ideal"))
            self.assertTrue(15 <= run["makespan_us"] < 15.5, run["makespan_us"])
            with open(place("small.html")) as page:
                self.assertIn(f"small as {issue.upper()} on sim:ideal", page.read())

    def test_refused(self):
        small = write("small.jsonl", SMALL)
        for issue in WAYS:
            for device in ("cpu", "cpu:2", "cuda", "simple"):
                self.refused(f"--issue {issue} is a model of a peer in virtual time: it needs a simulated device, such as --device "
                             f"sim:h200, not {device}", "replay", small, "--issue", issue, "--device", device)
            for wrong in (["--pipeline", "2"], ["--met", "stream"], ["--memory", "1G"]):
                self.refused(f"weir replay: {wrong[0]} does not go with --issue {issue}", "replay", small, "--issue", issue, "--device",
                             "sim:h200", *wrong)
            self.refused("/nowhere.profile: No such file or directory", "replay", small, "--issue", issue, "--device",
                         "sim:/nowhere.profile")
            self.refused("/nowhere/x.json: No such file or directory", "replay", small, "--issue", issue, "--device", "sim",
                         "--timeline", "/nowhere/x.json")
            self.refused("nasnetalarge: more than 16777216 tasks", "replay", stream("nasnetalarge"), "--issue", issue, "--device",
                         "sim", "--repeat", "20000")
            self.refused("--window: with --issue", "replay", small, "--issue", issue, "--device", "sim", "--window", "65537")
            for costs, text in (("list=0", "list=0 is not a whole number from 1 to 1048576"),
                                ("list=2.5", "list=2.5 is not a whole number"), ("check_ns=-1", "check_ns=-1 is not a number from 0 to"),
                                ("check_ns=nan", "check_ns=nan is not a number"), ("poll_us=1x", "poll_us=1x is not a number"),
                                ("poll_us=", "poll_us= is not a number"), ("poll_us", '"poll_us" is none of list=, check_ns='),
                                ("poll=1", '"poll=1" is none of'), ("", '"" is none of'), ("list=4,", '"" is none of'),
                                ("list=4,cycle_ns=,poll_us=1", "cycle_ns= is not a number")):
                self.refused("weir replay: --acs: " + text, "replay", small, "--issue", issue, "--device", "sim", "--acs", costs)
        self.refused("--acs needs --issue acs-sw or acs-hw", "replay", small, "--device", "sim", "--acs", "list=4")


if __name__ == "__main__":
    unittest.main()
