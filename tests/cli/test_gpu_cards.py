#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_gpu_cards.py SCRIPT: bench/gpu/cards.sh with programs that stand in for those that need cards."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

SCRIPT = ""

# As fast as there are cards, and half as fast with less memory.
CHOLESKY = """#!/usr/bin/env python3
import json, sys
arguments = [argument for argument in sys.argv[1:] if argument != "--json"]
options = dict(zip(arguments[::2], arguments[1::2]))
assert options["--check"] == "residual" and options["--kernels"] == "cublas"
if options["--place"] == "owner" and FAILS:
    sys.exit("the factor is wrong")
seconds = 0.4 / len(options["--device"].split(",")) * (2 if "--memory" in options else 1)
print(json.dumps({"seconds": [9] + [seconds] * (int(options["--passes"]) - 1), "right": True}))
"""

BODIES = """#!/usr/bin/env python3
import sys
options = dict(zip(sys.argv[1::2], sys.argv[2::2]))
print("cards: worlds")
print(f"{1000 * len(options['--device'].split(','))} steps of a world per second (1.0 s)")
"""


class Cards(unittest.TestCase):
    def run_script(self, *arguments, fails=False, programs=("cholesky", "weir-bodies")):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in (("cholesky", CHOLESKY.replace("FAILS", str(fails))), ("weir-bodies", BODIES)):
                if name in programs:
                    path = pathlib.Path(folder, name)
                    path.write_text(text, encoding="utf-8")
                    path.chmod(0o755)
            output = pathlib.Path(folder, "numbers.json")
            done = subprocess.run([SCRIPT, "--binaries", folder, "--json", output, *arguments], capture_output=True, text=True,
                                  check=False, env={**os.environ, "LD_LIBRARY_PATH": ""})
            return done, json.loads(output.read_text(encoding="utf-8")) if output.exists() else None

    def test_table(self):
        done, numbers = self.run_script("--rounds", "2")
        self.assertEqual(done.returncode, 0, done.stderr)
        ratios = [line.split("|")[5].strip() for line in done.stdout.splitlines()[2:]]
        self.assertEqual(ratios, ["2.00"] * 4 + ["0.50"] * 2 + ["2.00"] * 3)
        self.assertEqual([len(way["rates"]) for way in numbers[0]["ways"]], [6, 6, 6])  # passes but the first, of each round
        self.assertNotIn(32768**3 / 3 / 9 / 1e12, numbers[0]["ways"][0]["rates"])

    def test_parts(self):
        done, numbers = self.run_script("--quick", "memory")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(numbers), 1)
        self.assertIn("--memory", done.stderr)
        self.assertNotIn("weir-bodies", done.stderr)

    def test_pack(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("cholesky", "weir-bodies"):
                shutil.copy("/bin/sh", pathlib.Path(folder, name))
            packed = pathlib.Path(folder, "packed")
            done = subprocess.run([SCRIPT, "--binaries", folder, "--pack", packed], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(sorted(path.name for path in packed.iterdir()), ["cholesky", "lib", "weir-bodies"])
            self.assertEqual([path.name for path in (packed / "lib").iterdir() if path.name.startswith("libc.")], [])

    def test_failures(self):
        done, numbers = self.run_script("--quick", "cholesky", fails=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("the factor is wrong", done.stderr)
        self.assertIn("failed", done.stdout)
        self.assertEqual([way["failed"] for way in numbers[0]["ways"]], [False, False, True])
        self.assertEqual(self.run_script("--quick", programs=("cholesky",))[0].returncode, 3)
        self.assertEqual(self.run_script("--quick", "nothing")[0].returncode, 2)
        self.assertEqual(self.run_script("--devices", "cuda:0")[0].returncode, 2)


if __name__ == "__main__":
    SCRIPT = sys.argv.pop(1)
    unittest.main()
