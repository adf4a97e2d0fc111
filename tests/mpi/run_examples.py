#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""run_examples.py MPIRUN NAME=PROGRAM...: the examples over ranks on 1, 2 and 4 of them. Each compares its result with
that of one rank without MPI, or of LAPACK. What they send is exactly what the owners of tiles must get."""
import collections
import re
import sys
import unittest

from launcher import Launcher

LAUNCHER = Launcher(sys.argv[1])
PROGRAMS = dict(argument.split("=", 1) for argument in sys.argv[2:])
del sys.argv[1:]


def grid_of(ranks):
    rows = max(i for i in range(1, ranks + 1) if i * i <= ranks and ranks % i == 0)
    return rows, ranks // rows


def counts(output, pattern):
    return [tuple(int(number) for number in found) for found in sorted(re.findall(pattern, output))]


class Examples(unittest.TestCase):
    def run_on(self, name, ranks, *arguments):
        if name not in PROGRAMS:
            self.skipTest(f"{name} was not built: a library that it needs was not found")
        code, output = LAUNCHER.run(ranks, PROGRAMS[name], *arguments)
        self.assertEqual(code, 0, output)
        return output

    def on_all(self, name, *arguments):
        for ranks in (1, 2, 4):
            yield ranks, self.run_on(name, ranks, *arguments)

    def test_heat(self):
        for ranks, output in self.on_all("heat"):
            sent = counts(output, r"rank (\d+) of \d+: 1000\.000000 in all; \d+ tasks here, (\d+) bytes sent")
            self.assertEqual(len(sent), ranks, output)

    def test_stencil(self):
        tiles, edge, steps = 4, 64 * 8, 50
        for ranks, output in self.on_all("stencil"):
            rows, columns = grid_of(ranks)
            owner = {(i, j): i * rows // tiles * columns + j * columns // tiles
                     for i in range(tiles) for j in range(tiles)}
            sent = collections.Counter(rank for (i, j), rank in owner.items()
                                       for other in ((i + 1, j), (i - 1, j), (i, j + 1), (i, j - 1))
                                       if owner.get(other, rank) != rank)
            tasks = collections.Counter(owner.values())
            self.assertIn(f"0 of {tiles * tiles * 64 * 64} cells differ", output)
            self.assertEqual(counts(output, r"rank (\d+) of \d+: (\d+) tasks here, (\d+) bytes sent"),
                             [(rank, tasks[rank] * (steps + 1), sent[rank] * edge * steps) for rank in range(ranks)])

    def test_cholesky(self):
        size, tile = 300, 40
        for ranks, output in self.on_all("cholesky", str(size), str(tile)):
            (rows, columns), count = grid_of(ranks), -(-size // tile)
            length = [min(tile, size - i * tile) for i in range(count)]
            owner = {(i, j): i % rows * columns + j % columns for i in range(count) for j in range(i + 1)}
            tasks, sent = collections.Counter(owner.values()), collections.Counter()  # one fills each tile
            for k in range(count):
                readers = {owner[i, k] for i in range(k + 1, count)}
                sent[owner[k, k]] += len(readers - {owner[k, k]}) * length[k] * length[k] * 8
                tasks[owner[k, k]] += 1
                for i in range(k + 1, count):
                    readers = {owner[i, j] for j in range(k + 1, i + 1)} | {owner[j, i] for j in range(i, count)}
                    sent[owner[i, k]] += len(readers - {owner[i, k]}) * length[i] * length[k] * 8
                    tasks[owner[i, k]] += 1
                    for j in range(k + 1, i + 1):
                        tasks[owner[i, j]] += 1
            self.assertRegex(output, r"greatest difference to LAPACK's factor .*: right")
            self.assertEqual(counts(output, r"rank (\d+) of \d+: (\d+) tasks here, (\d+) bytes sent"),
                             [(rank, tasks[rank], sent[rank]) for rank in range(ranks)])

    def test_cholesky_of_one_tile(self):
        self.assertIn("right", self.run_on("cholesky", 2, "30", "64"))

    def test_cholesky_refuses_numbers(self):
        if "cholesky" in PROGRAMS:
            code, output = LAUNCHER.run(1, PROGRAMS["cholesky"], "0")
            self.assertNotEqual(code, 0)
            self.assertIn("of 1 to 20000 rows", output)

    def test_bodies(self):
        for ranks, output in self.on_all("bodies"):
            self.assertIn("0 worlds differ from those of one rank", output)
            found = counts(output, r"rank (\d+) of \d+: (\d+) of 6 worlds, (\d+) of (\d+) tasks, \d+ bytes sent")
            self.assertEqual([one[0] for one in found], list(range(ranks)), output)
            self.assertEqual(sum(one[1] for one in found), 6)
            self.assertEqual(sum(one[2] for one in found), found[0][3])


if __name__ == "__main__":
    unittest.main()
