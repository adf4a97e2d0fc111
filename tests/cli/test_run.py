#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_run.py WEIR STREAMS: the launcher's command line, what is said of one that is missing, and real ranks."""
import os
import shutil
import stat
import unittest

from command import FOLDER, CommandTest

CORES = len(os.sched_getaffinity(0))
CONNECTIONS = "CUDA_DEVICE_MAX_CONNECTIONS"
os.environ.pop(CONNECTIONS, None)


def launcher(name, version, does='printf "%s|" "$@"\nexit 7'):
    """A program that says it is a launcher, and prints what it is started with, or does something else."""
    path = os.path.join(FOLDER.name, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(f'#!/bin/sh\nif [ "$1" = --version ]; then echo "{version}"; exit; fi\n{does}\n')
    os.chmod(path, stat.S_IRWXU)
    return path


class Run(CommandTest):
    def line(self, *arguments, code=7):
        return self.weir("run", *arguments, code=code).stdout.split("|")[:-1]

    def test_shares_of_open_mpi(self):
        path = launcher("ompi", "mpirun (Open MPI) 4.1.4")
        words = self.line("-n", "1", "--launcher", path, "program", "-n", "9", "--print")
        self.assertEqual(words[-4:], ["program", "-n", "9", "--print"])  # what is behind the program is its own
        self.assertEqual(words[-6:-4], ["-n", "1"])
        self.assertIn(f"slot:PE={CORES}", words)
        words = self.line("-n", str(CORES + 1), "--launcher", path, "--", "program")
        self.assertIn("--oversubscribe", words)
        self.assertIn("hwthread:overload-allowed", words)
        self.assertEqual(self.line("--ranks=3", "--cores=0", "--launcher", path, "program"),
                         ["-x", f"{CONNECTIONS}=32", "-n", "3", "program"])
        self.assertIn("slot:PE=5", self.line("-n", "3", "--cores", "5", "--launcher", path, "program"))

    def test_shares_of_mpich(self):
        path = launcher("hydra", "HYDRA build details:")
        self.assertEqual(self.line("-n", "1", "--launcher", path, "program"),
                         ["-bind-to", f"hwthread:{CORES}", "-n", "1", "program"])
        words = self.line("-n", str(CORES + 1), "--launcher", path, "program")
        self.assertIn("hwthread:1", words)
        self.assertEqual(words[2:5], ["-genv", CONNECTIONS, "32"])

    def test_connections_of_cards(self):
        """Several ranks get many, unless the caller has said how many."""
        path = launcher("connections", "mpirun (Open MPI) 4.1.4")
        self.assertNotIn("-x", self.line("-n", "1", "--launcher", path, "program"))
        self.assertIn(f"{CONNECTIONS}=32", self.line("-n", "2", "--launcher", path, "program"))
        os.environ[CONNECTIONS] = "8"
        self.addCleanup(os.environ.pop, CONNECTIONS)
        self.assertNotIn("-x", self.line("-n", "2", "--launcher", path, "program"))

    def test_other_launcher(self):
        path = launcher("other", "another one 1.0")
        done = self.weir("run", "-n", "2", "--launcher", path, "program", code=7)
        self.assertIn("neither of Open MPI nor of MPICH", done.stderr)
        self.assertEqual(done.stdout, "-n|2|program|")

    def test_print(self):
        path = launcher("printed", "mpirun (Open MPI) 4.1.4")
        done = self.weir("run", "-n", "2", "--print", "--cores", "0", "--launcher", path, "program", "a")
        self.assertEqual(done.stdout, f"{path} -x {CONNECTIONS}=32 -n 2 program a\n")

    def test_missing(self):
        self.refused("no/mpirun cannot be run: Debian's packages openmpi-bin and mpich have an mpirun", "run", "-n", "2",
                     "--launcher", "no/mpirun", "program", code=3)
        self.refused("-n says how many ranks", "run", "program", code=2)
        self.refused("no program is named", "run", "-n", "2", code=2)
        self.refused("--ranks", "run", "-n", "0", "program", code=2)
        self.refused("--timeline: timelines of 900 ranks at most can be joined, and there are 901", "run", "-n", "901",
                     "--timeline", "run.json", "program", code=2)

    def test_no_timeline(self):
        """A program that does not use Weir: one rank and several, and both kinds of files, are told alike."""
        path = launcher("idle", "mpirun (Open MPI) 4.1.4", does="exit 0")
        for ranks, name in ((1, "run"), (2, "run.rank0")):
            for ending in (".json", ".html"):
                self.refused(f"{name}.json was not written: does the program use Weir?", "run", "-n", str(ranks),
                             "--timeline", os.path.join(FOLDER.name, "run" + ending), "--launcher", path, "program",
                             code=1)

    def test_timeline_that_cannot_be_written(self):
        ran = os.path.join(FOLDER.name, "ran")
        path = launcher("touches", "mpirun (Open MPI) 4.1.4", does=f"touch {ran}")
        self.refused("--timeline: /nowhere/t.json: ", "run", "-n", "2", "--timeline", "/nowhere/t.json", "--launcher", path, "program")
        self.assertFalse(os.path.exists(ran))

    def test_ranks(self):
        """Each launcher that is here starts as many as were asked for, each on its share of the cores."""
        os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        found = [path for path in map(shutil.which, ("mpirun.openmpi", "mpirun.mpich")) if path]
        if not found:
            self.skipTest("there is no mpirun")
        for path in found:
            for ranks in (1, CORES + 1):
                script = "import os; os.write(1, b'cores %d\\n' % len(os.sched_getaffinity(0)))"
                done = self.weir("run", "-n", str(ranks), "--launcher", path, "python3", "-c", script)
                share = CORES if ranks == 1 else 1
                self.assertEqual(done.stdout.split("\n").count(f"cores {share}"), ranks, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
