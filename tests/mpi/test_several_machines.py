#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_several_machines.py SOURCE WEIR LIBRARY MPI_LIBRARY MPICC MPIRUN: the tutorial of several machines, and the
program of the guide of ranks. Programs are saved as the pages say, the tutorial's pieces are those of the example,
commands run as they are, and print what is shown.

What is the test's own: files for pkg-config that name the build, and a stand-in for Slurm's srun.
"""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

SOURCE, WEIR, LIBRARY, MPI_LIBRARY, MPICC, MPIRUN = (os.path.abspath(one) for one in sys.argv[1:7])
del sys.argv[1:]
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SRUN = """#!/bin/sh
[ "$1 $2 $4 $5" = "--mpi=pmix --ntasks --cpus-per-task 2" ] || exit 2
exec weir run -n "$3" "$6"
"""


def read(*path):
    with open(os.path.join(SOURCE, *path), encoding="utf-8") as text:
        return text.read()


PAGE = read("docs", "tutorials", "several-machines.md")


GUIDE = read("docs", "guide", "mpi.md").split("\n## Rules\n")[0]


def commands(page):
    """Each command, and the output that the page shows before the next one, or None."""
    text = re.sub(r"^```c\n.*?^```$", "", page, flags=re.MULTILINE | re.DOTALL)
    parts = re.split(r"^    (\S.*)\n", text, flags=re.MULTILINE)
    for command, text in zip(parts[1::2], parts[2::2]):
        shown = FENCE.search(text)
        yield command, shown.group(2).splitlines() if shown else None


# What the rank says that had got all it needed before the other one stopped.
AT_THE_END = " rank 0 waits for it to come to call 106, which is the end"


class Page(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        programs = [code for kind, code in FENCE.findall(PAGE) if kind == "c" and "int main(" in code]
        for name, code in zip(("one.c", "ranks.c"), programs):
            self.write(name, code)
        self.write("sum.c", next(code for kind, code in FENCE.findall(GUIDE) if kind == "c"))
        self.write("stencil.c", read("examples", "mpi", "stencil.c"))
        for name, library in (("weir", LIBRARY), ("weir-mpi", MPI_LIBRARY)):
            more = "Requires: weir\n" if name == "weir-mpi" else f"Cflags: -I{SOURCE}/include\n"
            self.write(f"{name}.pc", f"Name: {name}\nDescription: of the build\nVersion: 0\n{more}"
                                     f"Libs: -L{os.path.dirname(library)} -l{name}\n")
        self.write("bin/srun", SRUN)
        for name, program in (("weir", WEIR), ("mpicc", MPICC), ("mpirun", MPIRUN)):
            os.symlink(program, os.path.join(self.folder, "bin", name))
        self.environment = dict(
            os.environ, PATH=os.pathsep.join([os.path.join(self.folder, "bin"), os.environ["PATH"]]),
            PKG_CONFIG_PATH=self.folder, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
            OMPI_MCA_btl_vader_single_copy_mechanism="none", OMPI_MCA_btl="self,vader",
            LD_LIBRARY_PATH=os.pathsep.join([os.path.dirname(LIBRARY), os.path.dirname(MPI_LIBRARY)]))

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)
        os.chmod(path, 0o755)

    def run_command(self, command):
        with subprocess.Popen(command, shell=True, cwd=self.folder, env=self.environment, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True) as process:
            try:
                output = process.communicate(timeout=100)[0]
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                raise
        return process.returncode, output

    def test_commands(self):
        done = []
        for command, shown in commands(PAGE):
            code, output = self.run_command(command)
            done.append(command)
            fails = command.endswith(("differ", "stop"))
            self.assertEqual(code != 0, fails, f"{command}\n{output}")
            for line in shown or []:
                pattern = re.escape(line)
                if command.endswith("stop"):  # which call waits, and for what, is another one in each run
                    pattern = re.sub(r"(?<!rank\\ )\d+(?!\\ s)", r"\\d+", pattern)
                    lost, waits = pattern.split(";", 1)
                    pattern = f"{lost};({waits}|{re.escape(AT_THE_END)})"
                if command.endswith("differ"):  # the first rank that ends the job may end the other before that says so
                    pattern = pattern.replace("rank\\ 0:", r"rank\ [01]:", 1)
                self.assertRegex(output, f"(?m)^{pattern}$", command)
        self.assertEqual([one.split()[0] for one in done],
                         ["cc", "mpicc", "weir", "weir", "mpicc", "weir", "weir", "weir", "printf", "mpirun", "srun"])
        with open(os.path.join(self.folder, "ranks.html"), encoding="utf-8") as page:
            self.assertIn("diffuse", page.read())

    def test_guide(self):
        (command, shown), = commands(GUIDE)
        code, output = self.run_command(command)
        self.assertEqual(code, 0, output)
        self.assertEqual(sorted(line for line in output.splitlines() if line.startswith("rank ")), shown)

    def test_guide_without_fetch(self):
        """What is said where a newcomer forgets it."""
        command = next(commands(GUIDE))[0]
        with open(os.path.join(self.folder, "sum.c"), encoding="utf-8") as program:
            lines = [line for line in program if "weir_mpi_fetch(" not in line]
        self.write("sum.c", "".join(lines))
        code, output = self.run_command(command)
        self.assertNotEqual(code, 0)
        self.assertRegex(output, "read: rank 1 lacks bytes 0 to 8 of buffer 2, which rank 0 has since call 39, task 'add'"
                                 ".*: all ranks must call weir_mpi_fetch before")

    def test_pieces(self):
        pieces = [code for kind, code in FENCE.findall(PAGE) if kind == "c" and "int main(" not in code]
        self.assertEqual(len(pieces), 2)
        for piece in pieces:
            self.assertIn(piece, read("examples", "mpi", "stencil.c"))

    def test_programs_have_no_warnings(self):
        for name in ("one.c", "ranks.c", "sum.c"):
            code, output = self.run_command(f"mpicc -std=c11 -D_GNU_SOURCE -Wall -Wextra -Wpedantic -Wshadow -Werror "
                                            f"-fsyntax-only {name} $(pkg-config --cflags weir)")
            self.assertEqual(code, 0, output)


if __name__ == "__main__":
    unittest.main()
