# SPDX-License-Identifier: Apache-2.0
"""Running the weir command in tests: test_*.py WEIR STREAMS."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

WEIR = os.path.abspath(sys.argv.pop(1))
STREAMS = os.path.abspath(sys.argv.pop(1))
FOLDER = tempfile.TemporaryDirectory(prefix="weir-cli-")
SMALL_TESTS = bool(os.environ.get("WEIR_SMALL_TESTS"))  # tests/CMakeLists.txt says when

# One task that reads buffer 1 and writes buffer 2.
SMALL = ['{"weir_stream":1,"name":"small","device":"d","sms":132,"tasks":2,"kernels":2}',
         '{"buffer":1,"bytes":1024,"address":4096}', '{"buffer":2,"bytes":1024,"address":8192}',
         '{"op":"first","reads":[[1,0,1024]],"writes":[[2,0,1024]],"kernels":[{"name":"k","grid":[1,1,1],"block":[32,1,1],"regs":8,"smem":0,"us":10}]}',
         '{"op":"second","reads":[[2,0,512]],"writes":[[1,512,512]],"kernels":[{"name":"copy","bytes":512,"us":5}],"host_wait":true}',
         '{"free":[2]}']


def stream(name):
    return os.path.join(STREAMS, name + ".jsonl")


def all_streams():
    return sorted(os.path.join(STREAMS, name) for name in os.listdir(STREAMS) if name.endswith(".jsonl"))


def streams_in_turn(turn):
    """All streams; in small tests two, others at each turn."""
    streams = all_streams()
    return [streams[(2 * turn + i) % len(streams)] for i in range(2)] if SMALL_TESTS else streams


def write(name, lines):
    path = os.path.join(FOLDER.name, name)
    with open(path, "w") as file:
        file.write("\n".join(lines) + "\n")
    return path


def place(name):
    return os.path.join(FOLDER.name, name)


class CommandTest(unittest.TestCase):
    def weir(self, *arguments, code=0):
        result = subprocess.run([WEIR, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertEqual(result.returncode, code, f"weir {' '.join(arguments)}\n{result.stdout}{result.stderr}")
        return result

    def refused(self, text, *arguments, code=2):
        result = self.weir(*arguments, code=code)
        self.assertIn(text, result.stderr)
        self.assertEqual(result.stdout, "")
        return result

    def replay(self, *arguments, code=0):
        return json.loads(self.weir("replay", "--json", *arguments, code=code).stdout)


class ScriptTest(CommandTest):
    """Running a script of bench/gpu, SCRIPT of the class, with programs of the test's in a folder."""

    def folder(self, name, programs):
        path = place(name)
        os.makedirs(path)
        for program, text in programs.items():
            with open(os.path.join(path, program), "w") as file:
                file.write(text)
            os.chmod(os.path.join(path, program), 0o755)
        return path

    def run_it(self, *arguments, code):
        result = subprocess.run([self.SCRIPT, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                env={**os.environ, "WEIR_PATIENCE": "20"})
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        return result
