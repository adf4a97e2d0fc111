#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_gpu_ranks.py SCRIPT: bench/gpu/ranks.sh with programs that stand in for those that need cards, and a launcher."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

SCRIPT = ""
NAMES = ("test_mpi_ranks", "weir-gpu-ranks", "mpi_bodies", "mpi_cholesky", "weir")

# As fast as there are ranks.
PROGRAMS = {
    "weir": """#!/bin/sh
[ "$1 $2 $3 $4" = "run --launcher mpirun -n" ] || exit 2
RANKS=$5; export RANKS; shift 5
exec "$@"
""",
    "test_mpi_ranks": "#!/bin/sh\n[ $1 = cards ]\n",
    "weir-gpu-ranks": "#!/bin/sh\necho measured $*\n",
    "mpi_bodies": """#!/usr/bin/env python3
import os, sys
options = dict(zip(sys.argv[1::2], sys.argv[2::2]))
for _ in range(int(options["--rounds"])):
    print("0 worlds differ from those of one rank; greatest overlap of bodies 0.0 mm")
    print(f"steps of a world a second: 1000 by one rank, {1000 * int(os.environ['RANKS'])} by 2 ranks, 2.00x")
""",
    "mpi_cholesky": """#!/usr/bin/env python3
import os, sys
assert "--residual" in sys.argv and "--cublas" in sys.argv and os.environ["CUDA_DEVICE_MAX_CONNECTIONS"] == "WANTED"
ranks = int(os.environ["RANKS"])
for i in range(int(sys.argv[sys.argv.index("--passes") + 1])):
    print(f"1.0 s, {1 if i == 0 else 40000 * ranks:.2f} GFLOP/s")
print("residual: " + ("WRONG" if "--nccl" in sys.argv and FAILS else "right"))
""",
}


class Ranks(unittest.TestCase):
    def run_script(self, *arguments, fails=False, names=NAMES, connections=None):
        with tempfile.TemporaryDirectory() as folder:
            for name in names:
                path = pathlib.Path(folder, name)
                path.write_text(PROGRAMS[name].replace("FAILS", str(fails)).replace("WANTED", connections or "32"),
                                encoding="utf-8")
                path.chmod(0o755)
            environment = {name: value for name, value in os.environ.items() if name != "CUDA_DEVICE_MAX_CONNECTIONS"}
            if connections:
                environment["CUDA_DEVICE_MAX_CONNECTIONS"] = connections
            return subprocess.run([SCRIPT, "--binaries", folder, *arguments], capture_output=True, text=True, check=False,
                                  env={**environment, "LD_LIBRARY_PATH": ""})

    def rows(self, done):
        return [[cell.strip() for cell in line.split("|")[1:-1]] for line in done.stdout.splitlines() if line.startswith("| ")]

    def test_tables(self):
        done = self.run_script("--rounds", "2")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("300 random programs over 2 ranks, a card each: right", done.stdout)
        for part in ("results programs", "sizes", "overlap"):
            self.assertIn(f"measured --limit 100 --rounds 2 --programs 50 {part}\n", done.stdout)
        rows = [row for row in self.rows(done) if row[-1] in ("1.8", "1.9")]
        self.assertEqual([(row[3], row[4]) for row in rows], [("2.00", "1.9")] * 3 + [("2.00", "1.8")] * 3)
        self.assertIn("40 (40 to 40)", rows[3])  # the first pass is not counted

    def test_ranks(self):
        done = self.run_script("--ranks", "4", "--quick", "cholesky")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("4.00", self.rows(done)[-1])
        self.assertIn("-n 4", done.stderr)

    def test_connections(self):
        done = self.run_script("--quick", "cholesky", connections="8")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_launcher_without_shares(self):
        with tempfile.TemporaryDirectory() as folder:
            launcher = pathlib.Path(folder, "launcher")
            launcher.write_text('#!/bin/sh\n[ "$1 $2 $3" = "--bind-to none -n" ] || exit 1\nRANKS=$4; export RANKS\nshift 4\n'
                                'exec "$@"\n', encoding="utf-8")
            launcher.chmod(0o755)
            done = self.run_script("--launcher", str(launcher), "--quick", "bodies")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("2.00", self.rows(done)[-1])

    def test_pack(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in NAMES:
                shutil.copy("/bin/sh", pathlib.Path(folder, name))
            packed = pathlib.Path(folder, "packed")
            done = subprocess.run([SCRIPT, "--binaries", folder, "--pack", packed], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            found = sorted(path.name for path in packed.iterdir())
            self.assertEqual(found, sorted([*NAMES, "cards.py", "lib", "ranks.py", "ranks.sh"]))

    def test_failures(self):
        done = self.run_script("--quick", "cholesky", fails=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("failed", done.stdout)
        names = [name for name in NAMES if name != "mpi_bodies"]
        self.assertEqual(self.run_script("--quick", "bodies", names=names).returncode, 3)
        self.assertEqual(self.run_script("--quick", "nothing").returncode, 2)
        self.assertEqual(self.run_script("--ranks", "0").returncode, 2)


if __name__ == "__main__":
    SCRIPT = sys.argv.pop(1)
    unittest.main()
