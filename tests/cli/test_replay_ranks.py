#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_replay_ranks.py WEIR STREAMS: streams of Task Bench's patterns, and what `weir replay --ranks` refuses. Ranks are started
by tests/mpi/run_replay.py."""
import unittest

from command import CommandTest, stream


class Patterns(CommandTest):
    def test_patterns(self):
        """On the ideal device a pattern takes its critical path; each is proved."""
        tasks = {"trivial": 320, "stencil_1d": 320, "fft": 320, "nearest": 320, "random_nearest": 320, "spread": 320,
                 "tree": 1 + 2 + 4 + 8 + 16 * 16, "sweep": sum(range(1, 16)) + 16 * 5 - 10 * 11 // 2 + 10 * 11 // 2}
        for name, count in tasks.items():
            result, = self.replay(f"pattern:{name},steps=20,us=7,bytes=40", "--device", "sim:ideal", "--check")
            self.assertEqual((result["stream"], result["checked"]), (name, True))
            if name != "sweep":
                self.assertEqual(result["tasks"], count)
            self.assertAlmostEqual(result["critical_us"], 7 if name == "trivial" else 140, delta=0.01)

    def test_widths(self):
        """A wide stencil has as many tasks and its critical path; a pattern that is too large is refused."""
        result, = self.replay("pattern:stencil_1d,width=2500,steps=3,us=7", "--device", "sim:ideal", "--check")
        self.assertEqual((result["tasks"], result["checked"]), (7500, True))
        self.assertAlmostEqual(result["critical_us"], 21, delta=0.01)
        result, = self.replay("pattern:fft,width=1,steps=4,us=7", "--device", "sim:ideal")
        self.assertAlmostEqual(result["critical_us"], 28, delta=0.01)
        self.refused("has more than 8388608 tasks", "replay", "pattern:fft,width=100000,steps=100")

    def test_bad_patterns(self):
        self.refused('there is no pattern "dom", but trivial, stencil_1d, fft', "replay", "pattern:dom")
        for form in ("pattern:fft,", "pattern:fft,steps=0", "pattern:fft,steps=1.5", "pattern:fft,us=-1", "pattern:fft,width=0",
                     "pattern:" + 40 * "x", "pattern:fft,steps", "pattern:fft,bytes=1e20"):
            self.refused("not of the form pattern:NAME", "replay", form)

    def test_refused(self):
        for arguments, message in ((("--ranks", "2", "--device", "sim:ideal"), "CPU devices"), (("--ranks", "2", "--issue", "graph"), "--issue"),
                                   (("--ranks", "2", "--pipeline", "2"), "--pipeline"), (("--ranks", "2", "--apart"), "--apart"),
                                   (("--ranks", "2", "--met", "stream"), "--met"), (("--ranks", "2", "--hazards", "address"), "--hazards"),
                                   (("--ranks", "2", "--queues", "2"), "--queues"), (("--deal", "3"), "--deal is for --ranks"),
                                   (("--ranks", "65"), "more than 64 --ranks are for --cluster")):
            self.refused(message, "replay", stream("squeezenet"), *arguments)


if __name__ == "__main__":
    unittest.main()
