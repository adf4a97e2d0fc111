#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_cuda.py WEIR STREAMS LIBRARY: the weir command on a CUDA device, with a driver that runs on the host."""
import json
import os
import sys
import unittest

LIBRARY = os.path.abspath(sys.argv.pop(3))

from command import SMALL_TESTS, CommandTest, place, stream, streams_in_turn

os.environ.update(WEIR_CUDA_DRIVER=LIBRARY, WEIR_NVRTC=LIBRARY, WEIR_STUB_ABORT="1", WEIR_STUB_MEMORY=str(8 << 30),
                  XDG_CACHE_HOME=place("cache"))
ISSUES = ("serial", "serial-graph", "queues", "graph", "auto", "resident")


class Cuda(CommandTest):
    def test_info(self):
        devices = {device["kind"]: device for device in json.loads(self.weir("info", "--json").stdout)["devices"]}
        self.assertIs(devices["cuda"]["available"], True)

    def test_all_are_proved(self):
        for turn, issue in enumerate(ISSUES):
            with self.subTest(issue=issue):
                for run in self.replay(*streams_in_turn(turn), "--device", "cuda:0", "--issue", issue, "--check", "--no-host-waits"):
                    self.assertEqual((run["device"], run["issue"], run["checked"]), ("cuda:0", issue, True))

    def test_host_waits(self):
        for issue in ISSUES:
            run, = self.replay(stream("dynroute_a.0"), "--device", "cuda:0", "--issue", issue, "--repeat", "2")
            self.assertEqual(run["tasks"], 2 * 252)

    def test_passes_are_proved(self):
        for issue in ISSUES:
            for options in ([], ["--apart"], ["--storage", "kept"], ["--apart", "--storage", "kept", "--met", "stream"],
                            ["--met", "topology"], ["--met", "device", "--apart"], ["--window", "16"],
                            ["--rename", "off"]):
                names = ("randwire", "dynroute_a.0")
                if SMALL_TESTS:
                    names = ("squeezenet",) if options else ("dynroute_a.0",)
                with self.subTest(issue=issue, options=options):
                    runs = self.replay(*map(stream, names), "--repeat", "4", "--device", "cuda", "--check",
                                       "--no-host-waits", "--issue", issue, *options)
                    for run in runs:
                        self.assertIs(run["checked"], True)
                        if "--apart" in options:
                            self.assertLessEqual(run["pass_least_us"], run["pass_us"])
                            self.assertLessEqual(run["pass_us"], run["pass_most_us"])

    def test_pipelines_are_proved(self):
        for issue in ("queues", "graph", "auto"):
            with self.subTest(issue=issue):
                runs = self.replay(stream("squeezenet"), stream("dynroute_a.0"), "--device", "cuda:0", "--pipeline", "3", "--repeat", "6",
                                   "--rounds", "2", "--issue", issue, "--check")
                self.assertEqual([(run["checked"], run["host_waits"]) for run in runs], [(True, 0), (True, 12)])

    def test_hazards(self):
        for hazards in ("serial", "address"):
            with self.subTest(hazards=hazards):
                run, = self.replay(stream("inception_v3"), "--device", "cuda", "--hazards", hazards, "--repeat", "2", "--check")
                self.assertEqual((run["hazards"], run["checked"], run["renamed"]), (hazards, True, 0))

    def test_no_such_device(self):
        self.refused("cuda:7", "replay", stream("squeezenet"), "--device", "cuda:7", code=3)

    def test_bench(self):
        rows = json.loads(self.weir("bench", "tasks", "copies", "--device", "cuda:0", "--quick", "--json").stdout)
        self.assertEqual(len([row for row in rows if row["bench"] == "tasks"]), 6)
        copies = {(row["case"], row["runtime"]) for row in rows if row["bench"] == "copies"}
        self.assertEqual(copies, {(case + beside, runtime) for case in ("in", "out") for beside in ("", ", kernels run")
                                  for runtime in ("weir", "cuMemcpyAsync")})


if __name__ == "__main__":
    unittest.main()
