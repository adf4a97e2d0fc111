#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""run_ranks.py MPIRUN PROGRAM: random programs on 1 to 4 ranks of MPI, and what becomes of ranks that fail."""
import os
import re
import sys
import unittest

from launcher import Launcher

MPIRUN, PROGRAM = sys.argv[1:3]
del sys.argv[1:3]
SMALL = bool(os.environ.get("WEIR_SMALL_TESTS"))
PROGRAMS = "50" if SMALL else "500"
MIXED_PROGRAMS = "20" if SMALL else "200"
# Of ranks in turn: a worker and devices on the host (PoCL, the stub driver of CUDA).
MIXED = "cpu:1,opencl:0,cuda:0;cpu:2,cuda:0;opencl:0,cpu:1"
CARDS = "cpu:1,cuda:0;cpu:2,cuda:1;cpu:1,cuda:0,cuda:1"
LARGE_GIB = 10  # that a message of 2 GiB takes: it and its buffer, on both ranks
LAUNCHER = Launcher(MPIRUN)


def run(ranks, *arguments, **environment):
    return LAUNCHER.run(ranks, PROGRAM, *arguments, **environment)


class Ranks(unittest.TestCase):
    def test_random(self):
        for ranks in (1, 2, 3, 4):
            code, output = run(ranks, "random", PROGRAMS)
            self.assertEqual(code, 0, output)

    def test_random_mixed(self):
        for ranks in (2, 3):
            code, output = run(ranks, "random", MIXED_PROGRAMS, MIXED)
            self.assertEqual(code, 0, output)

    def test_random_cards(self):
        """Each rank of a host takes a card of its own."""
        for ranks in (2, 3):
            code, output = LAUNCHER.run(ranks, PROGRAM, "cards", MIXED_PROGRAMS, WEIR_STUB_DEVICES=str(ranks))
            self.assertEqual(code, 0, output)

    def test_random_direct(self):
        """MPI takes memory of devices itself."""
        for ranks in (2, 3):
            code, output = run(ranks, "random", MIXED_PROGRAMS, CARDS, WEIR_MPI_DIRECT="always", WEIR_STUB_DEVICES="2")
            self.assertEqual(code, 0, output)
            self.assertRegex(output, r"rank 1: WEIR_MPI_DIRECT says always: [1-9]\d* messages sent from devices, [1-9]\d* ")

    def test_support(self):
        """What MPI says of itself decides, unless the environment does."""
        for answer, variable, expected in (
            ("1", "", "MPI says that it takes memory of CUDA devices (MPIX_Query_cuda_support): "),
            ("0", "", "MPI says that it takes no memory of CUDA devices (MPIX_Query_cuda_support): 0 "),
            ("1", "never", "WEIR_MPI_DIRECT says never: 0 "),
        ):
            code, output = run(2, "random", "2", "cpu:1,cuda:0", WEIR_MPI_DIRECT=variable, TEST_CUDA_SUPPORT=answer)
            self.assertEqual(code, 0, output)
            self.assertIn(f"rank 1: {expected}", output)
        code, output = run(1, "random", "2", "cpu:1", TEST_CUDA_SUPPORT="1")
        self.assertIn("rank 0: the context has no CUDA device: 0 ", output)
        code, output = run(1, "random", "2", "cpu:1,cuda:0", WEIR_MPI_DIRECT="sometimes")
        self.assertNotEqual(code, 0)
        self.assertIn("WEIR_MPI_DIRECT is 'sometimes'; never and always are possible", output)

    def test_random_serialized(self):
        """MPI takes no locks of its own: whoever calls it, one at a time does."""
        code, output = run(3, "serialized", PROGRAMS)
        self.assertEqual(code, 0, output)

    @unittest.skipIf(SMALL, "a message of 2 GiB is sent in tests that are not small")
    def test_large(self):
        pages = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        if pages < LARGE_GIB << 30:
            self.skipTest(f"less than {LARGE_GIB} GiB of memory are free")
        code, output = run(2, "large")
        self.assertEqual(code, 0, output)

    def test_without_threads(self):
        code, output = run(1, "threads")
        self.assertEqual(code, 0, output)

    def test_other_program(self):
        code, output = run(2, "differ")
        self.assertNotEqual(code, 0)
        self.assertIn("ranks submit different programs: call 5 of rank 0 is weir_mpi_fetch", output)
        self.assertIn("of rank 1 is task 'update'", output)

    def test_killed_rank(self):
        """mpirun itself ends the job, at whatever message the rank died, and says which one it was."""
        for message in ("0", "3", "7") if SMALL else map(str, range(8)):
            code, output = run(2, "kill", message)
            self.assertNotEqual(code, 0)
            self.assertRegex(output, r"rank 1 .*exited on signal 9|EXIT CODE: 9|KILLED BY SIGNAL: 9")

    @unittest.skipUnless(LAUNCHER.is_open_mpi, "a stopped rank is continued by other launchers")
    def test_stopped_rank(self):
        """Also one that is stopped while a large message is on its way, which is not cancelled any more."""
        for how in ("stop", "stuck"):
            code, output = run(2, how)
            self.assertNotEqual(code, 0)
            self.assertRegex(output, r"rank 0: WEIR_ERROR_DEVICE_LOST: rank 1 is lost: nothing was heard of it for 2 s; .*call")
            for pid in re.findall(r"^pid (\d+)$", output, re.MULTILINE):  # mpirun has ended it
                self.assertFalse(os.path.exists(f"/proc/{pid}/exe"), output)


if __name__ == "__main__":
    unittest.main()
