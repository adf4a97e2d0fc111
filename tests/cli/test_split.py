#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_split.py WEIR STREAMS: `weir split` in virtual time, where numbers are known, and on the CPU."""
import json
import os
import unittest
import xml.etree.ElementTree as xml

from command import CommandTest, place

POLICIES = ("static", "history", "queue", "guided", "frames", "auto")
THREE = "sim:plain,sim:plain+speed=4,sim:plain+speed=2+drift=0.5"
SVG = "{http://www.w3.org/2000/svg}"


class Split(CommandTest):
    def split(self, *arguments):
        return json.loads(self.weir("split", "--json", *arguments).stdout)

    def policies(self, *arguments):
        return {policy["policy"]: policy for policy in self.split(*arguments)["policies"]}

    def test_constant_speeds(self):
        found = self.split("--devices", "sim:plain,sim:plain+speed=3", "--policy", "history", "--groups", "4096", "--work", "16", "--rounds", "12")
        self.assertEqual((found["kernel"], found["groups"], found["work"], found["virtual"]), ("compute", 4096, 16, True))
        self.assertEqual([device["name"] for device in found["devices"]], ["sim:plain", "sim:plain+speed=3"])
        slow, fast = (device["alone_ms"] for device in found["devices"])
        # 256 numbers of 16 steps of 0.25 ns in each of 4096 work-groups, and what a launch costs.
        self.assertAlmostEqual(slow, 4.2, delta=0.02)
        self.assertAlmostEqual(fast, 1.4, delta=0.02)
        self.assertAlmostEqual(found["together_ms"], 1 / (1 / slow + 1 / fast), places=6)
        policy = found["policies"][0]
        self.assertEqual(len(policy["rounds"]), 12)
        self.assertGreater(policy["efficiency"]["median"], 0.98)
        self.assertAlmostEqual(policy["devices"][0]["share"]["median"], 0.25, delta=0.01)
        self.assertAlmostEqual(policy["devices"][1]["share"]["median"], 0.75, delta=0.01)
        # Equal parts at first.
        self.assertAlmostEqual(policy["rounds"][0]["devices"][0]["share"], 0.5, delta=0.01)
        self.assertLess(policy["rounds"][0]["efficiency"], policy["rounds"][11]["efficiency"])

    def test_every_policy(self):
        policies = self.policies("--devices", THREE, "--policy", "all", "--rounds", "6")
        self.assertEqual(tuple(policies), POLICIES)
        for policy in policies.values():
            for found in policy["rounds"]:
                self.assertEqual(sum(device["groups"] for device in found["devices"]), 4096)
                self.assertAlmostEqual(sum(device["share"] for device in found["devices"]), 1)
                self.assertTrue(0 < found["efficiency"] <= 1)
                self.assertNotEqual(found["why"], "")
                self.assertEqual(found["redone"], 0)
            self.assertLessEqual(policy["efficiency"]["least"], policy["efficiency"]["median"])
            self.assertLessEqual(policy["efficiency"]["median"], policy["efficiency"]["most"])
        self.assertEqual([device["parts"] for device in policies["static"]["rounds"][5]["devices"]], [1, 1, 1])
        self.assertEqual(sum(device["parts"] for device in policies["frames"]["rounds"][5]["devices"]), 1)
        self.assertGreater(policies["queue"]["rounds"][5]["devices"][1]["parts"], 5)

    def test_virtual_time_is_the_same_in_every_run(self):
        arguments = ("split", "--devices", THREE, "--policy", "all", "--rounds", "5", "--groups", "1000")
        self.assertEqual(self.weir(*arguments).stdout, self.weir(*arguments).stdout)

    def test_memory_kernel(self):
        found = self.split("--devices", "sim:plain,sim:plain", "--kernel", "memory", "--groups", "300", "--rounds", "2")
        # 300 work-groups of 16 * 256 numbers, read and written, at 10 bytes a nanosecond.
        self.assertAlmostEqual(found["devices"][0]["alone_ms"], 0.983, delta=0.02)

    def test_shares(self):
        found = self.split("--devices", "sim:plain,sim:plain,sim:plain", "--policy", "static", "--shares", "3:1:0", "--groups", "400", "--rounds", "2")
        for each in found["policies"][0]["rounds"]:
            self.assertEqual([device["groups"] for device in each["devices"]], [300, 100, 0])
        self.refused("--shares: 2 shares for 3 devices", "split", "--devices", THREE, "--policy", "static", "--shares", "1:1")
        self.refused("--shares is for --policy static or all, not auto", "split", "--devices", THREE, "--shares", "1:1:1")

    def test_history(self):
        path = place("history.txt")
        arguments = ("--devices", "sim:plain,sim:plain+speed=3", "--policy", "history", "--rounds", "4", "--history", path)
        first = self.split(*arguments)["policies"][0]["rounds"]
        self.assertTrue(os.path.exists(path))
        again = self.split(*arguments)["policies"][0]["rounds"]
        self.assertAlmostEqual(first[0]["devices"][0]["share"], 0.5, delta=0.01)
        self.assertAlmostEqual(again[0]["devices"][0]["share"], 0.25, delta=0.01)
        with open(path, "w") as file:
            file.write("weir split history 1\nno more")
        result = self.weir("split", *arguments)
        self.assertIn("history.txt", result.stderr)

    def test_no_history_is_not_replaced(self):
        path = place("text.txt")
        with open(path, "w") as file:
            file.write("no history")
        self.refused("text.txt: it cannot be written: it is there, and is no history", "split", "--devices", "sim:plain",
                     "--policy", "history", "--history", path)
        with open(path) as file:
            self.assertEqual(file.read(), "no history")

    def test_files_that_cannot_be_written(self):
        """That is said before the run, which has no such device."""
        for option, policy, name in (("--history", "history", "/nowhere/h"), ("--plot", "auto", "/nowhere/p.svg")):
            self.refused(f"{option}: {name}: ", "split", "--devices", "sim:nowhere", "--policy", policy, option, name)
        self.refused("--plot: /nowhere/p-static.svg: ", "split", "--devices", "sim:nowhere", "--policy", "all", "--plot", "/nowhere/p.svg")
        self.assertFalse(os.path.exists("/nowhere"))
        path = place("kept.svg")
        with open(path, "w") as file:
            file.write("kept")
        self.refused("sim: nowhere", "split", "--devices", "sim:nowhere", "--plot", path)
        with open(path) as file:
            self.assertEqual(file.read(), "kept")

    def test_table(self):
        text = self.weir("split", "--devices", THREE, "--policy", "all", "--rounds", "3", "--groups", "1000").stdout
        for policy in POLICIES:
            self.assertIn(f"\npolicy {policy}\n", text)
        lines = text.split("\n")
        self.assertIn("virtual time", lines[0])
        self.assertIn("1. sim:plain: ", lines[1])
        heads = [line for line in lines if line.startswith("round")]
        self.assertEqual(len(heads), len(POLICIES))
        self.assertEqual(heads[0].split()[-1], "why")
        self.assertEqual(sum(line.startswith("median ") for line in lines), len(POLICIES))
        self.assertIn("medians of rounds 2 to 3", text)

    def test_plots(self):
        path = place("plot.svg")
        self.weir("split", "--devices", THREE, "--rounds", "5", "--groups", "1000", "--plot", path)
        root = xml.parse(path).getroot()
        rounds = root.findall(f"{SVG}g")
        self.assertEqual(len(rounds), 5)
        for each in rounds:  # the whole, and two bars of each device
            self.assertEqual(len(each.findall(f"{SVG}rect")), 1 + 2 * 3)
        texts = [text.text for text in root.findall(f"{SVG}text")]
        self.assertIn("1. sim:plain", texts)
        self.assertTrue(any("policy auto" in text for text in texts))
        self.weir("split", "--devices", THREE, "--rounds", "2", "--groups", "1000", "--policy", "all", "--plot", place("all.svg"))
        for policy in POLICIES:
            xml.parse(place(f"all-{policy}.svg"))

    def test_real_time(self):
        for kernel in ("compute", "memory"):
            found = self.split("--devices", "cpu:1,cpu:1", "--kernel", kernel, "--rounds", "3", "--groups", "200", "--policy", "all")
            self.assertIs(found["virtual"], False)
            for policy in found["policies"]:
                for each in policy["rounds"]:
                    self.assertEqual(sum(device["groups"] for device in each["devices"]), 200)
                    self.assertGreater(each["ms"], 0)

    def test_refused(self):
        for text, *arguments in (
                ("there is no device 'frob'", "--devices", "frob"),
                ("is no list of devices", "--devices", "cpu,"),
                ("null runs nothing", "--devices", "null"),
                ("take either", "--devices", "cpu:1,sim:plain"),
                ("unknown key 'sped'", "--devices", "sim:plain+sped=2"),
                ("speed must be from 0.001 to 1000, not 0", "--devices", "sim:plain+speed=0"),
                ('--policy: "best" is none of static|', "--policy", "best"),
                ('--kernel: "fast" is none of compute|memory', "--kernel", "fast"),
                ("--rounds: 0 is not between 1 and 1000", "--rounds", "0"),
                ("--rounds: 1001 is not between", "--rounds", "1001"),
                ("--groups: 0 is not between", "--groups", "0"),
                ("more than 2^31 numbers", "--kernel", "memory", "--groups", "1000000", "--work", "10000"),
                ('--shares: "" is no list', "--shares", ""),
                ('--shares: "1:" is no list', "--shares", "1:"),
                ('--shares: "1:-1" is no list', "--shares", "1:-1"),
                ('--shares: "1,1" is no list', "--shares", "1,1"),
                ("--shares: all are 0", "--shares", "0:0"),
                ("--history: a file has the history of one policy", "--history", "h", "--policy", "all"),
                ("plot.png does not end in .svg", "--plot", "plot.png"),
                ('"x" is one argument too many', "x")):
            with self.subTest(arguments=arguments):
                self.refused(text, "split", *arguments)
        result = self.weir("split", "--devices", "sim:plain", "--rounds", "1", "--groups", "10", "--plot", "/nowhere/x.svg", code=2)
        self.assertIn("/nowhere/x.svg: No such file", result.stderr)

    def test_missing_device(self):
        info = json.loads(self.weir("info", "--json").stdout)
        for device in info["devices"]:
            if not device["available"]:
                result = self.refused(f"device {device['kind']}: ", "split", "--devices", f"cpu:1,{device['kind']}", code=3)
                self.assertGreater(len(result.stderr), len(f"weir split: device {device['kind']}: \n"))


if __name__ == "__main__":
    unittest.main()
