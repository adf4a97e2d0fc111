#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""run_replay.py MPIRUN WEIR STREAMS: `weir replay --ranks`: proved, with the fewest bytes."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

MPIRUN, WEIR, STREAMS = sys.argv[1:4]
del sys.argv[1:4]
SMALL = bool(os.environ.get("WEIR_SMALL_TESTS"))
os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_btl_vader_single_copy_mechanism="none")

# Ranges that overlap partly, a task without accesses, one that only reads, and one that the program waits for.
PARTLY = ['{"weir_stream":1,"name":"partly","sms":1,"tasks":7}', '{"buffer":1,"bytes":100,"address":0}', '{"buffer":2,"bytes":100,"address":100}',
          '{"op":"a","reads":[],"writes":[[1,0,60]],"kernels":[]}', '{"op":"b","reads":[[1,20,80]],"writes":[[2,0,50]],"kernels":[]}',
          '{"op":"none","reads":[],"writes":[],"kernels":[]}', '{"op":"c","reads":[[2,0,30]],"writes":[[1,40,30]],"kernels":[],"host_wait":true}',
          '{"op":"b","reads":[[1,0,100]],"writes":[[2,10,10]],"kernels":[]}', '{"op":"reads","reads":[[1,0,100],[2,0,100]],"writes":[],"kernels":[]}',
          '{"op":"both","reads":[[1,0,100]],"writes":[[1,0,100],[2,0,100]],"kernels":[]}']


class Replay(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="weir-ranks-")
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def weir(self, *arguments, code=0):
        done = subprocess.run([WEIR, *arguments], capture_output=True, text=True, timeout=300, check=False)
        self.assertEqual(done.returncode, code, " ".join(arguments) + "\n" + done.stdout + done.stderr)
        return done

    def replay(self, ranks, *arguments):
        return json.loads(self.weir("replay", "--ranks", str(ranks), "--launcher", MPIRUN, "--check", "--json", *arguments).stdout)

    def check(self, results, ranks):
        for result in results:
            self.assertEqual((result["checked"], result["ranks"]), (True, ranks), result)
            self.assertEqual(result["bytes_sent"], result["bytes_fewest"], result)

    def test_streams(self):
        names = ["squeezenet"] if SMALL else ["squeezenet", "randwire", "hrnet_w18", "dynroute_a.0"]
        for ranks in (2, 3):
            results = self.replay(ranks, "--time-scale", "0.01", *(os.path.join(STREAMS, name + ".jsonl") for name in names))
            self.check(results, ranks)
            self.assertTrue(all(result["messages"] > 0 for result in results))

    def test_passes(self):
        for storage in ("fresh", "kept"):
            results = self.replay(2, "--repeat", "3", "--storage", storage, "--rename", "off", "pattern:stencil_1d,steps=10,us=1", "pattern:tree,steps=10,us=1")
            self.check(results, 2)
            # Two cells of 64 bytes go over the border in each step but the first
            self.assertEqual(results[0]["bytes_sent"], 3 * 9 * 2 * 64)
            self.assertEqual(results[0]["tasks"], 480)

    def test_deal(self):
        """Each point at another rank than its neighbours: all neighbours' cells travel."""
        result, = self.replay(2, "--deal", "2", "pattern:stencil_1d,steps=10,us=1,bytes=8")
        self.check([result], 2)
        self.assertEqual(result["bytes_sent"], 9 * 16 * 8)
        result, = self.replay(1, "pattern:fft,steps=10,us=1")
        self.assertEqual((result["checked"], result["messages"], result["bytes_sent"], result["bytes_fewest"]), (True, 0, 0, 0))

    def test_ranges(self):
        with open(self.path("partly.jsonl"), "w", encoding="utf-8") as file:
            file.write("\n".join(PARTLY) + "\n")
        # The first buffer is rank 0's, the second rank 1's. Passes: b lacks [20, 60); c lacks [0, 30) of the second; the second
        # b [40, 70); `reads` [0, 50) less [0, 30), which c brought, and [10, 20), which was new again; `both` nothing.
        result, = self.replay(2, "--deal", "2", self.path("partly.jsonl"))
        self.check([result], 2)
        self.assertEqual(result["bytes_sent"], 40 + 30 + (20 + 30) + (20 + 10))

    def test_cluster(self):
        """A simulated cluster has the messages and bytes of real ranks."""
        with open(self.path("partly.jsonl"), "w", encoding="utf-8") as file:
            file.write("\n".join(PARTLY) + "\n")
        streams = [self.path("partly.jsonl"), os.path.join(STREAMS, "squeezenet.jsonl"), "pattern:spread,steps=6,us=1", "pattern:fft,width=37,steps=7,us=1"]
        if not SMALL:
            streams += [os.path.join(STREAMS, name + ".jsonl") for name in ("randwire", "dynroute_a.0", "hrnet_w18")]
        for ranks, arguments in ((2, ()), (4, ()), (2, ("--deal", "2", "--repeat", "2")), (3, ("--storage", "kept", "--repeat", "2"))):
            arguments = (*arguments, "--time-scale", "0.01", *streams)
            real = self.replay(ranks, *arguments)
            simulated = json.loads(self.weir("replay", "--ranks", str(ranks), "--cluster", "default", "--json", *arguments).stdout)
            for one, other in zip(real, simulated):
                for key in ("stream", "tasks", "messages", "bytes_sent"):
                    self.assertEqual(one[key], other[key], (key, ranks, arguments))

    def test_timeline(self):
        squeezenet = os.path.join(STREAMS, "squeezenet.jsonl")
        self.replay(2, "--timeline", self.path("run.json"), squeezenet)
        self.assertEqual(os.listdir(self.folder.name), ["run.json"])
        self.assertRegex(self.weir("check", self.path("run.json"), squeezenet).stdout, "2 ranks, 14 messages, .*: all honoured")
        self.assertIn("MISSING", self.weir("check", self.path("run.json"), squeezenet, "--passes", "2", code=1).stderr)
        self.replay(2, "--timeline", self.path("run.html"), squeezenet)
        self.assertEqual(sorted(os.listdir(self.folder.name)), ["run.html", "run.json"])

    def test_table(self):
        done = self.weir("replay", "--ranks", "2", "--launcher", MPIRUN, "pattern:fft,steps=10,us=1")
        self.assertRegex(done.stdout, r"^2 ranks of device cpu:\d+, hazards buffer")
        self.assertRegex(done.stdout, r"messages +sent +fewest +checked")

    def test_launcher_that_fails(self):
        for launcher, message in (("/no/mpirun", "/no/mpirun cannot be run"), ("true", "true cannot be run")):
            self.assertIn(message, self.weir("replay", "--ranks", "2", "--launcher", launcher, "pattern:fft", code=3).stderr)
        silent = self.path("silent")
        with open(silent, "w", encoding="utf-8") as file:
            file.write('#!/bin/sh\nif [ "$1" = --version ]; then echo "mpirun (Open MPI) 4"; exit; fi\nexit $SILENT_EXIT\n')
        os.chmod(silent, 0o700)
        for code, message in ((0, "the ranks did not say what it took"), (9, "the ranks ended with exit code 9")):
            os.environ["SILENT_EXIT"] = str(code)
            self.assertIn(message, self.weir("replay", "--ranks", "2", "--launcher", silent, "pattern:fft", code=1).stderr)


if __name__ == "__main__":
    unittest.main()
