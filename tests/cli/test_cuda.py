#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_cuda.py WEIR STREAMS LIBRARY: the weir command on a CUDA device, with a driver that runs on the host."""
import json
import os
import random
import sys
import unittest

LIBRARY = os.path.abspath(sys.argv.pop(3))

from command import SMALL_TESTS, CommandTest, place, stream, streams_in_turn, write

os.environ.update(WEIR_CUDA_DRIVER=LIBRARY, WEIR_NVRTC=LIBRARY, WEIR_STUB_ABORT="1", WEIR_STUB_MEMORY=str(8 << 30),
                  XDG_CACHE_HOME=place("cache"))
ISSUES = ("serial", "serial-graph", "queues", "graph", "auto", "resident")


def random_stream(seed):
    """A file with tasks that read and write ranges of a few buffers at random, some of which are freed and made anew."""
    choose = random.Random(seed)
    lines, names, count = [], {}, choose.randint(40, 160)

    def make():
        number = sum('"buffer"' in line for line in lines)
        names[number] = 256 * choose.randint(1, 64)
        lines.append('{"buffer":%d,"bytes":%d,"address":%d}' % (number, names[number], (1 << 20) + (number << 16)))

    def part(number):
        whole = names[number]
        offset = 0 if choose.random() < 0.6 else 64 * choose.randrange(whole // 64)
        return [number, offset, whole - offset if choose.random() < 0.6 else choose.randint(1, whole - offset)]

    for _ in range(choose.randint(3, 12)):
        make()
    for _ in range(count):
        if choose.random() < 0.1:
            freed = choose.choice(sorted(names))
            del names[freed]
            lines.append('{"free":[%d]}' % freed)
            make()
        chosen = choose.sample(sorted(names), min(len(names), choose.randint(1, 4)))
        writes = [part(number) for number in chosen[:1 if choose.random() < 0.8 else 2]]
        reads = [part(number) for number in chosen[len(writes):]] + [w for w in writes if choose.random() < 0.3]
        kernel = {"name": "k", "grid": [choose.choice((1, 1, 2, 40)), 1, 1], "block": [32, 1, 1], "regs": 16, "smem": 0, "us": 1.5}
        lines.append(json.dumps({"op": "t", "reads": reads, "writes": writes, "kernels": [kernel] * choose.choice((0, 1, 1, 1, 2))}))
    kernels = sum(line.count('"name"') for line in lines)
    lines.insert(0, '{"weir_stream":1,"name":"random%d","device":"d","sms":132,"tasks":%d,"kernels":%d}' % (seed, count, kernels))
    return write("random%d.jsonl" % seed, lines)


class Cuda(CommandTest):
    def test_info(self):
        devices = {device["kind"]: device for device in json.loads(self.weir("info", "--json").stdout)["devices"]}
        self.assertIs(devices["cuda"]["available"], True)

    def test_kernels_of_weir(self):
        """As if they were written with weir/kernel.h: in each way of issue, and by default in the resident kernel, too."""
        for issue in ISSUES:
            run, = self.replay(stream("squeezenet"), "--device", "cuda:0", "--kernels", "weir", "--issue", issue, "--repeat", "3")
            self.assertEqual((run["tasks"], run["issue"]), (3 * 64, issue))
        self.refused("--kernels", "replay", stream("squeezenet"), "--kernels", "theirs")

    def test_streams_that_come_again_are_recognised(self):
        """By default, once a pass that is waited for came often; never where the way of issue was chosen."""
        def repeated(passes, issue, name="squeezenet"):
            run, = self.replay(stream(name), "--device", "cuda:0", "--apart", "--no-host-waits", "--repeat", str(passes),
                               "--issue", issue)
            return run["repeated"]
        self.assertEqual(repeated(40, "auto"), 0)
        self.assertGreater(repeated(150, "auto"), 0)
        self.assertGreater(repeated(40, "repeats"), 0)
        self.assertEqual(repeated(150, "queues"), 0)
        self.assertEqual(repeated(45, "auto", "nasnetalarge"), 0)

    def test_all_are_proved(self):
        for turn, issue in enumerate(ISSUES):
            with self.subTest(issue=issue):
                for run in self.replay(*streams_in_turn(turn), "--device", "cuda:0", "--issue", issue, "--check", "--no-host-waits"):
                    self.assertEqual((run["device"], run["issue"], run["checked"]), ("cuda:0", issue, True))

    def test_random_streams_are_proved(self):
        streams = [random_stream(seed) for seed in range(1, 3 if SMALL_TESTS else 13)]
        for issue in ISSUES:
            for options in ([], ["--window", "16", "--hazards", "address"]):
                with self.subTest(issue=issue, options=options):
                    runs = self.replay(*streams, "--repeat", "2", "--device", "cuda", "--check", "--issue", issue, *options)
                    self.assertEqual([run["checked"] for run in runs], [True] * len(streams))

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
