#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_replay_cluster.py WEIR STREAMS: `weir replay --ranks N --cluster`. What real ranks send is compared by
tests/mpi/run_replay.py."""

import json
import unittest

from command import CommandTest, all_streams, stream

# Calls and copies take no time; a message of 1,000 bytes with its header takes 1 us.
FREE = (
    "submit_us=0,pass_us=0,buffer_us=0,task_us=0,send_us=0,receive_us=0,copy_gbs=0,latency_us=2,gbs=1,"
    "local_latency_us=1,local_gbs=0"
)


class Cluster(CommandTest):
    def cluster(self, ranks, settings, *arguments):
        (result,) = self.replay("--ranks", str(ranks), "--cluster", settings, *arguments)
        return result

    def test_stencil(self):
        """One point a rank: each step but the first waits for a message of each neighbour."""
        for ranks in (2, 20, 300):
            result = self.cluster(ranks, FREE, f"pattern:stencil_1d,width={ranks},steps=11,us=10,bytes=936")
            self.assertEqual(result["makespan_us"], 11 * 10 + 10 * (2 + (1 if ranks == 2 else 2)))
            self.assertEqual(result["messages"], 10 * 2 * (ranks - 1))
            self.assertEqual(result["bytes_sent"], 936 * result["messages"])
            self.assertEqual((result["tasks"], result["work_us"], result["nodes"]), (11 * ranks, 110 * ranks, ranks))
            self.assertAlmostEqual(result["efficiency"], 110 / result["makespan_us"])
            self.assertEqual(result["limit"], "chain")
            self.assertEqual(result["bounds_us"]["chain"], 110 + 10 * 3)

    def test_nodes(self):
        """Two ranks a node: only the messages of the two in the middle cross a link."""
        result = self.cluster(4, FREE + ",ranks_per_node=2", "pattern:stencil_1d,width=4,steps=11,us=10,bytes=936")
        self.assertEqual((result["nodes"], result["messages"], result["local_messages"]), (2, 60, 40))
        self.assertEqual(result["makespan_us"], 110 + 10 * 3)
        # With a third node, the one in the middle sends two messages in the first step, one behind the other.
        result = self.cluster(6, FREE + ",ranks_per_node=2", "pattern:stencil_1d,width=6,steps=11,us=10,bytes=936")
        self.assertEqual((result["nodes"], result["makespan_us"]), (3, 110 + 10 * 3 + 1))
        # Two ranks share a core.
        result = self.cluster(6, FREE + ",ranks_per_node=6,oversubscribe=2", "pattern:trivial,width=6,steps=5,us=10")
        self.assertEqual((result["makespan_us"], result["limit"], result["messages"]), (100, "cores", 0))

    def test_options(self):
        pattern = "pattern:stencil_1d,width=4,steps=10,us=10,bytes=936"
        once = self.cluster(2, FREE, pattern)
        self.assertEqual(self.cluster(2, FREE, "--time-scale", "2", pattern)["work_us"], 800)
        self.assertEqual(self.cluster(2, FREE, "--deal", "2", pattern)["messages"], 9 * 4)
        for storage in ("fresh", "kept"):
            result = self.cluster(2, FREE, "--repeat", "3", "--storage", storage, pattern)
            self.assertEqual((result["messages"], result["tasks"]), (3 * once["messages"], 120))
        self.assertEqual(self.cluster(2, FREE, "--window", "8", pattern)["window"], 8)
        self.assertEqual(once["cluster"]["latency_us"], 2)
        self.assertEqual(self.cluster(2, "default", pattern)["cluster"]["workers"], 1)

    def test_skip(self):
        """Who passes all tasks is held up by them; who leaves out does not notice other ranks."""
        settings = FREE.replace("pass_us=0", "pass_us=1")
        every = self.cluster(50, settings, "pattern:stencil_1d,width=800,steps=5,us=10")
        own = self.cluster(50, settings + ",skip=1", "pattern:stencil_1d,width=800,steps=5,us=10")
        self.assertEqual(every["bounds_us"]["submission"], 49 * 16 * 5)
        self.assertEqual(own["bounds_us"]["submission"], 2 * 5)
        self.assertGreater(every["makespan_us"], 3 * own["makespan_us"])

    def test_streams(self):
        """All recorded streams, alike in each run."""
        arguments = ("replay", "--ranks", "3", "--cluster", "ranks_per_node=2,workers=2", "--json", *all_streams())
        first = self.weir(*arguments).stdout
        self.assertEqual(first, self.weir(*arguments).stdout)
        for result in json.loads(first):
            self.assertGreaterEqual(result["makespan_us"] + 0.001, max(result["bounds_us"].values()), result["stream"])

    def test_table(self):
        done = self.weir(
            "replay", "--ranks", "3", "--cluster", "ranks_per_node=2", "pattern:fft,steps=5", stream("squeezenet")
        )
        self.assertRegex(done.stdout, r"^3 ranks on 2 simulated nodes, window 1024, 1 pass\n")
        self.assertRegex(done.stdout, r"efficiency +workers +submission +cores +links +chain +limit")
        self.assertRegex(done.stdout, r"\nsqueezenet +\d+ ")

    def test_refused(self):
        for arguments, message in (
            (("--cluster", "default"), "--cluster: it needs --ranks"),
            (("--ranks", "0", "--cluster", "default"), "is not between 1 and 16384"),
            (("--ranks", "16385", "--cluster", "default"), "is not between 1 and 16384"),
            (("--ranks", "-1", "--cluster", "default"), "--ranks"),
            (("--ranks", "2", "--cluster", ""), '--cluster: "" is none of ranks_per_node='),
            (("--ranks", "2", "--cluster", "nodes=2"), '"nodes=2" is none of'),
            (("--ranks", "2", "--cluster", "workers=0"), "workers=0 is not a whole number from 1"),
            (("--ranks", "2", "--cluster", "latency_us=-1"), "latency_us=-1 is not a number from 0"),
            (("--ranks", "2", "--cluster", "default", "--device", "cpu:2"), "workers="),
            (("--ranks", "2", "--cluster", "default", "--memory", "1M"), "--memory"),
            (("--ranks", "2", "--cluster", "default", "--rename", "off"), "--rename"),
            (("--ranks", "2", "--cluster", "default", "--check"), "--check"),
            (("--ranks", "2", "--cluster", "default", "--timeline", "a.json"), "--timeline"),
            (("--ranks", "2", "--cluster", "default", "--issue", "graph"), "--issue"),
        ):
            self.refused(message, "replay", stream("squeezenet"), *arguments)


if __name__ == "__main__":
    unittest.main()
