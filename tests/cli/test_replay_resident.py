#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_replay_resident.py WEIR STREAMS: `weir replay --issue resident` on simulated devices."""
import json
import unittest

from command import SMALL, CommandTest, all_streams, place, write


class Resident(CommandTest):
    def times(self, device):
        """Start and end of the small stream's two tasks, of which the second one waits for the first, in ns."""
        self.replay(write("small.jsonl", SMALL), "--issue", "resident", "--device", device, "--timeline", place("small.json"))
        with open(place("small.json")) as file:
            events = [event["args"] for event in json.load(file)["traceEvents"] if event.get("cat") == "task"]
        return [(event["start_ns"], event["end_ns"]) for event in sorted(events, key=lambda event: event["tag"])]

    def test_schedule(self):
        first, second = self.times("sim:h200+block_start_us=0")
        self.assertEqual(first[0], 700 + 2500)
        self.assertEqual(second[0], first[1] + 1000)
        first, second = self.times("sim:h200+block_start_us=0+resident_launch_us=4+resident_latency_us=1+resident_gap_us=3")
        self.assertEqual((first[0], second[0]), (5000, first[1] + 3000))
        first, second = self.times("sim:h200+block_start_us=0+resident_launch_us=20")  # the second one arrives when the first has ended
        self.assertEqual((first[0], second[0]), (22500, 42500))

    def test_dispatch(self):
        """Many tasks that nothing waits for start one behind the other."""
        lines = ['{"weir_stream":1,"name":"wide","device":"d","sms":132,"tasks":50,"kernels":50}']
        lines += ['{"buffer":%d,"bytes":64,"address":%d}' % (i, 4096 * i) for i in range(1, 51)]
        lines += ['{"op":"t","reads":[],"writes":[[%d,0,64]],"kernels":[{"name":"k","grid":[1,1,1],"block":[32,1,1],"regs":8,'
                  '"smem":0,"us":100}]}' % i for i in range(1, 51)]
        self.replay(write("wide.jsonl", lines), "--issue", "resident", "--device", "sim:h200+block_start_us=0+resident_launch_us=0+resident_dispatch_us=2",
                    "--timeline", place("wide.json"))
        with open(place("wide.json")) as file:
            starts = sorted(event["args"]["start_ns"] for event in json.load(file)["traceEvents"] if event.get("cat") == "task")
        self.assertEqual([after - before for before, after in zip(starts, starts[1:])], [2000] * 49)

    def test_other_profiles(self):
        """Where the profile has no resident kernel it is as with queues."""
        for device in ("sim:ideal", "sim:plain", "sim:h200+resident_gap_us=0"):
            queues, resident = (self.replay(*all_streams()[:2], "--issue", issue, "--device", device) for issue in ("queues", "resident"))
            self.assertEqual([run["makespan_us"] for run in queues], [run["makespan_us"] for run in resident], device)

    def test_all_are_proved_and_ahead_of_acs(self):
        resident = self.replay(*all_streams(), "--issue", "resident", "--device", "sim:h200", "--check")
        hardware = self.replay(*all_streams(), "--issue", "acs-hw", "--device", "sim:h200")
        self.assertEqual(len(resident), len(all_streams()))
        for ours, theirs in zip(resident, hardware):
            self.assertIs(ours["checked"], True, ours["stream"])
            self.assertEqual(ours["issue"], "resident")
            self.assertLess(ours["makespan_us"], theirs["makespan_us"], ours["stream"])


if __name__ == "__main__":
    unittest.main()
