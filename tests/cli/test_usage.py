#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_usage.py WEIR STREAMS: help, options, exit codes and messages of the weir command."""
import json
import os
import shutil
import subprocess
import unittest

from command import SMALL, STREAMS, WEIR, CommandTest, place, stream, write

COMMANDS = ("info", "replay", "plan", "check", "timeline", "split", "run", "bench")


class Usage(CommandTest):
    def test_help(self):
        text = self.weir("--help").stdout
        for command in COMMANDS:
            self.assertIn(f"\n  {command} ", text)
            own = self.weir(command, "--help").stdout
            self.assertIn(f"weir {command}", own)
            self.assertIn("--help", own)
            self.assertEqual(self.weir("help", command).stdout, own)
        self.assertEqual(self.weir("help").stdout, text)
        for option in ("device", "hazards", "issue", "queues", "window", "rename", "memory", "repeat", "apart", "met", "storage", "time-scale", "check",
                       "timeline", "json"):
            self.assertIn(f"--{option}", self.weir("replay", "--help").stdout)

    def test_version(self):
        self.assertRegex(self.weir("--version").stdout, r"^weir \d+\.\d+\.\d+\n$")

    def test_output_that_cannot_be_written(self):
        small = write("small.jsonl", SMALL)
        for arguments in (["--help"], ["--version"], ["help", "plan"], ["info"], ["info", "--json"], ["plan", small],
                          ["plan", "--json", small], ["plan", "--why", "1", small], ["replay", "--device", "sim", small],
                          ["replay", "--device", "sim", "--pipeline", "2", "--rounds", "1", small],
                          ["replay", "--ranks", "2", "--cluster", "default", small]):
            with self.subTest(arguments), open("/dev/full", "w", encoding="utf-8") as full:
                done = subprocess.run([WEIR, *arguments], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertRegex(done.stderr, f"^weir {arguments[0]}: cannot write .*to standard output$")

    def test_no_or_unknown_command(self):
        self.refused("Usage: weir COMMAND", code=2)
        self.refused('weir: unknown command "frob"', "frob")
        self.refused('weir: unknown command "frob"', "help", "frob")

    def test_info(self):
        info = json.loads(self.weir("info", "--json").stdout)
        self.assertRegex(info["version"], r"^\d+\.\d+\.\d+$")
        self.assertGreaterEqual(info["cpus_online"], info["cpus"])
        self.assertGreaterEqual(info["cpus"], 1)
        devices = {device["kind"]: device for device in info["devices"]}
        for kind in ("cpu", "sim"):
            self.assertIs(devices[kind]["available"], True)
            self.assertNotEqual(devices[kind]["text"], "")
        text = self.weir("info").stdout
        for device in info["devices"]:
            self.assertIn(device["text"], text)
        self.refused('"x" is one argument too many', "info", "x")

    def test_bad_options(self):
        small = write("small.jsonl", SMALL)
        for text, *options in (
                ("unknown option --frob; `weir replay --help` lists them", "--frob"),
                ("unknown option -x", "-x"),
                ("unknown option --repea", "--repea=3"),
                ("--repeat needs a value: N", "--repeat"),
                ("--json takes no value", "--json=yes"),
                ('--repeat: "x" is not a whole number', "--repeat", "x"),
                ('--repeat: "" is not a whole number', "--repeat="),
                ('--repeat: "-1" is not a whole number', "--repeat=-1"),
                ('--repeat: "2x" is not a whole number', "--repeat=2x"),
                ('--repeat: "99999999999999999999999" is not a whole number', "--repeat", "99999999999999999999999"),
                ("--repeat: 0 is not between 1 and", "--repeat", "0"),
                ("--window: 7 is not between 8 and", "--window", "7"),
                ('--memory: "1Z" is not a number of bytes', "--memory", "1Z"),
                ('--memory: "99999999999G" is not a number of bytes', "--memory", "99999999999G"),
                ('--time-scale: "fast" is not a number', "--time-scale", "fast"),
                ('--time-scale: "inf" is not a number', "--time-scale", "inf"),
                ('--time-scale: "nan" is not a number', "--time-scale", "nan"),
                ("--time-scale: -1 is not between", "--time-scale=-1"),
                ('--hazards: "buf" is none of serial|address|buffer', "--hazards", "buf"),
                ('--issue: "" is none of serial|serial-graph|queues|graph|auto', "--issue="),
                ('--met: "all" is none of nothing|device|topology|stream', "--met", "all"),
                ("--apart takes no value", "--apart=1"),
                ("--timeline: run.txt does not end in .html or .json", "--timeline", "run.txt"),
                ('--device: "cpu,sim" names several devices', "--device", "cpu,sim"),
                ("--launcher is for --ranks", "--launcher", "mpirun"),
                ("STREAM... is missing",)):
            with self.subTest(text=text):
                self.refused("weir replay: " + text, "replay", *(options if "missing" in text else (small, *options)))

    def test_devices(self):
        small = write("small.jsonl", SMALL)
        self.refused("there is no device 'frob'; known kinds: cpu, cuda, opencl, sim, vulkan", "replay", small, "--device", "frob")
        unknown = self.refused("device sim: frob: No such file or directory; known profiles: ", "replay", small, "--device", "sim:frob")
        self.assertRegex(unknown.stderr, "known profiles: .*h200.*ideal.*, or the name of a file")
        self.refused("'0' is no number of workers", "replay", small, "--device", "cpu:0")
        self.refused("/nowhere.profile: No such file or directory", "replay", small, "--device", "sim:/nowhere.profile")

    def test_options_end(self):
        path = write("-small.jsonl", SMALL)
        folder, name = os.path.split(path)
        old = os.getcwd()
        os.chdir(folder)
        self.addCleanup(os.chdir, old)
        self.weir("replay", "--device=sim", "--", name)

    def test_bad_streams(self):
        for command in ("replay", "plan"):
            missing = self.refused("No such file or directory", command, place("missing.jsonl"))
            self.assertIn(place("missing.jsonl"), missing.stderr)
            for number, line in enumerate(SMALL[:-1]):
                path = write("broken.jsonl", SMALL[:number] + [line[:-5]] + SMALL[number + 1:])
                with self.subTest(command=command, line=number + 1):
                    self.refused(f"{path}:{number + 1}: ", command, path)
            self.refused("broken.jsonl:4:", command, write("broken.jsonl", [*SMALL[:3], SMALL[3].replace("[[2,0,1024]]", "[[2,0,1025]]")]))
            # The bad one is found before the good one runs.
            self.refused("broken.jsonl:4:", command, stream("squeezenet"), place("broken.jsonl"))

    def test_bad_check_input(self):
        self.refused("missing", "check")
        self.weir("check", place("missing.json"), stream("squeezenet"), code=2)
        self.weir("check", write("garbage.json", ["{]"]), stream("squeezenet"), code=2)

    def test_texts_that_are_not_utf8(self):
        name = place("caf\udce9.profile")
        self.addCleanup(os.unlink, name)
        # The device has the name of the file.
        shutil.copyfile(os.path.join(STREAMS, "..", "..", "src", "device", "sim", "profiles", "plain.profile"), name)
        small = write("small.jsonl", SMALL)
        old = os.getcwd()
        os.chdir(place(""))
        self.addCleanup(os.chdir, old)
        device = "sim:" + os.path.basename(name)
        self.assertEqual(self.replay("--device", device, small)[0]["device"], "sim:caf\ufffd.profile")
        self.assertEqual(self.replay("--device", device, "--pipeline", "1", "--rounds", "1", small)[0]["device"], "sim:caf\ufffd.profile")
        split = json.loads(self.weir("split", "--devices", f"{device},sim:plain", "--rounds", "1", "--json").stdout)
        self.assertEqual([one["name"] for one in split["devices"]], ["sim:caf\ufffd.profile", "sim:plain"])
        kinds = [one["kind"] for one in json.loads(self.weir("info", "--json").stdout)["devices"]]
        odd = subprocess.run([WEIR, "info", "--json"], env={**os.environ, "WEIR_CUDA_DRIVER": "caf\udce9.so"}, stdout=subprocess.PIPE, check=True)
        found = json.loads(odd.stdout)["devices"]
        self.assertEqual([one["kind"] for one in found], kinds)
        self.assertIn("caf\ufffd.so", [one["text"] for one in found if one["kind"] == "cuda"][0])

    def test_output_that_would_replace_the_input(self):
        small = write("small.jsonl", SMALL)
        other, timeline = place("other.dot"), write("stream.json", SMALL)
        os.symlink(small, other)
        self.addCleanup(os.unlink, other)
        self.refused("would replace the stream", "plan", "--dot", other, small)
        self.refused("would replace the stream", "replay", "--device", "sim", "--timeline", place("./stream.json"), timeline)
        for path in (small, timeline):
            with open(path, encoding="utf-8") as file:
                self.assertEqual(file.read(), "\n".join(SMALL) + "\n")

    def test_timelines_of_streams_with_one_name(self):
        small, other = write("small.jsonl", SMALL), write("other.jsonl", SMALL)
        self.refused(f"the streams of {small} and {other} have the same name, small", "replay", "--device", "sim", "--timeline",
                     place("both.json"), small, other)
        self.assertFalse(os.path.exists(place("both-small.json")))

    def test_unwritable(self):
        self.refused("/nowhere/x.html: No such file or directory", "replay", write("small.jsonl", SMALL), "--device", "sim", "--timeline",
                     "/nowhere/x.html")


if __name__ == "__main__":
    unittest.main()
