# SPDX-License-Identifier: Apache-2.0
"""weir.mpi: programs on two ranks that mpirun starts, and what is said where something is missing.

WEIR_MPI_LIBRARY names libweir-mpi, and WEIR_TEST_MPIRUN the launcher of its MPI (mpirun). WEIR_TEST_MPICH names the
launcher, libweir-mpi and libmpich.so of MPICH, if the former are not of that.
"""

import ctypes.util
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import weir
import weir.mpi
from conftest import SECONDS, run_program
from mpi_programs import (
    BUFFERS,
    DIFFERENT,
    DROPPED,
    EXCEPTION,
    FAILURES,
    HEAT,
    IN_TASKS,
    KERNELS,
    LEFT,
    LEFT_OUT,
    LOST,
    MEMORY,
    NO_CPU,
    OTHER,
    PARTS,
    START,
)

MPIRUN = os.environ.get("WEIR_TEST_MPIRUN") or shutil.which("mpirun")
MISSING = [
    name
    for name, there in [
        ("mpi4py", importlib.util.find_spec("mpi4py")),
        ("mpirun", MPIRUN),
        ("libweir-mpi", os.environ.get("WEIR_MPI_LIBRARY") or ctypes.util.find_library("weir-mpi")),
    ]
    if not there
]
ranks = pytest.mark.skipif(bool(MISSING), reason=f"missing: {', '.join(MISSING)}")


def environment(**more):
    return dict(
        os.environ,
        OMPI_ALLOW_RUN_AS_ROOT="1",
        OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
        OMPI_MCA_btl_vader_single_copy_mechanism="none",
        OMPI_MCA_btl="self,vader",
        OMPI_MCA_mpi_yield_when_idle="1",
        OMPI_MCA_rmaps_base_oversubscribe="1",
        PYTHONFAULTHANDLER="1",
        **more,
    )


def on_ranks(folder: Path, text: str, count: int = 2, code: "int | None" = 0, launcher: str = "", **more: str) -> str:
    """Runs a program on ranks, and returns what they printed."""
    program = folder / "program.py"
    program.write_text(START + text, encoding="utf-8")
    run = subprocess.run(
        [launcher or MPIRUN, "-n", str(count), sys.executable, "-X", "dev", "-W", "error", str(program)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment(**more),
        timeout=SECONDS,
    )
    assert code is None or run.returncode == code, f"exit code {run.returncode}\n{run.stdout}"
    return run.stdout


@ranks
def test_two_ranks(tmp_path):
    """All programs in one job, since to start one takes seconds."""
    printed = on_ranks(
        tmp_path,
        HEAT + BUFFERS + DROPPED + KERNELS + MEMORY + LEFT_OUT + IN_TASKS + FAILURES + DIFFERENT + EXCEPTION + LEFT,
    )
    # 20 borders, and the sum; its parts 3 and 4 came from rank 1.
    assert "rank 0: 70 tasks, 168 bytes\n" in printed and "rank 1: 67 tasks, 176 bytes\n" in printed
    header = Path(__file__).resolve().parents[2] / "include" / "weir" / "mpi.h"
    members = re.search(r"struct weir_mpi_statistics \{(.*?)\n\}", header.read_text(encoding="utf-8"), re.DOTALL)
    counts = " ".join(re.findall(r"uint64_t (\w+);", members.group(1)))
    assert f"rank 0 counts: {counts}\n" in printed and f"rank 1 counts: {counts}\n" in printed
    assert "rank 0: ZeroDivisionError\n" in printed
    assert re.search(r"rank 1: TaskFailedError: .*from rank 0: reader.*ZeroDivisionError: division by zero", printed), (
        printed
    )
    for rank in (0, 1):
        assert re.search(f"rank {rank}: .*different programs: call 2 .*'one'.*'other'", printed), printed
    assert "rank 1: 'of this rank alone'\n" in printed
    assert re.search(r"rank 0: ranks submit different programs: .*weir_mpi_release", printed), printed


@ranks
@pytest.mark.skipif("WEIR_TEST_MPICH" not in os.environ, reason="missing: WEIR_TEST_MPICH")
def test_mpich(tmp_path):
    """mpi4py takes the MPI that is there. The library of another one is refused before it is used."""
    launcher, library, mpich = os.environ["WEIR_TEST_MPICH"].split(":")
    (tmp_path / "libmpi.so.12").symlink_to(os.path.realpath(mpich))  # the name of MPICH's ABI
    more = dict(MPI4PY_MPIABI="mpich", LD_LIBRARY_PATH=str(tmp_path))
    printed = on_ranks(tmp_path, HEAT, launcher=launcher, WEIR_MPI_LIBRARY=library, **more)
    assert "rank 0: 70 tasks, 168 bytes\n" in printed and "rank 1: 67 tasks, 176 bytes\n" in printed
    version = subprocess.run([MPIRUN, "--version"], stdout=subprocess.PIPE, text=True).stdout
    if "Open MPI" in version or "OpenRTE" in version:
        on_ranks(tmp_path, OTHER, 1, launcher=launcher, **more)


@ranks
def test_an_exception_that_ends_the_program(tmp_path):
    printed = on_ranks(
        tmp_path,
        """
job = weir.mpi.Job(weir.Context("cpu:1"))
a = job.buffer(4, "f8", owner=0)
if job.rank == 1:
    raise KeyError("of this rank alone")
job.fetch(a, 1)
job.finish()
""",
        code=1,
    )
    assert "KeyError: 'of this rank alone'" in printed or "different programs" in printed, printed


@ranks
def test_four_ranks(tmp_path):
    printed = on_ranks(tmp_path, HEAT + PARTS, 4)
    assert len(re.findall(r"^rank \d: \d+ tasks", printed, re.MULTILINE)) == 4


@ranks
def test_one_rank(tmp_path):
    assert on_ranks(tmp_path, NO_CPU + HEAT, 1) == "rank 0: 137 tasks, 0 bytes\n"


@ranks
def test_a_lost_rank(tmp_path):
    printed = on_ranks(tmp_path, LOST, code=None)
    assert re.search(r"rank 0: rank 1 is lost: nothing was heard of it for 2 s", printed), printed


@ranks
def test_the_guide(tmp_path):
    guide = Path(__file__).resolve().parents[2] / "docs" / "guide" / "python.md"
    section = guide.read_text(encoding="utf-8").split("\n## Ranks of MPI\n")[1].split("\n## ")[0]
    code = re.findall(r"^    ((?:from|import) .*?\n)\n(?=\S)", section, re.MULTILINE | re.DOTALL)[0]
    code = re.sub("^    ", "", code, flags=re.MULTILINE)
    said = re.search(r"prints `(.*?)` on each", section).group(1)
    assert on_ranks(tmp_path, code).splitlines() == [said, said]


@pytest.mark.skipif("mpi4py" in MISSING, reason="missing: mpi4py")
def test_without_the_library():
    run_program(
        "import os, weir, weir.mpi\n"
        "os.environ.update(OMPI_ALLOW_RUN_AS_ROOT='1', OMPI_ALLOW_RUN_AS_ROOT_CONFIRM='1')\n"
        "os.environ['WEIR_MPI_LIBRARY'] = '/no/such/libweir-mpi.so.0'\n"
        "with weir.Context('cpu:1') as context:\n"
        "    try:\n"
        "        weir.mpi.Job(context)\n"
        "    except weir.UnavailableError as failure:\n"
        "        assert '/no/such/libweir-mpi.so.0: cannot open' in str(failure), failure\n"
        "        assert 'WEIR_MPI_LIBRARY' in str(failure)\n"
        "    else:\n"
        "        raise SystemExit('no error')\n"
        "    assert context.submit(lambda: 5).result() == 5\n"
    )


def test_without_mpi4py():
    run_program(
        "import sys, weir, weir.mpi\n"
        "assert 'mpi4py' not in sys.modules\n"
        "sys.modules['mpi4py'] = None\n"
        "with weir.Context('cpu:1') as context:\n"
        "    try:\n"
        "        weir.mpi.Job(context)\n"
        "    except weir.UnavailableError as failure:\n"
        "        assert 'pip install mpi4py' in str(failure) and failure.__cause__ is not None, failure\n"
        "    else:\n"
        "        raise SystemExit('no error')\n"
        "    assert context.submit(lambda: 5).result() == 5\n"
    )


def test_another_mpi(tmp_path):
    """A library of another MPI than mpi4py's is refused before it is used."""
    run_program(
        "import sys, types, weir, weir.mpi\n"
        "from weir import _core\n"
        "package, module = types.ModuleType('mpi4py'), types.ModuleType('mpi4py.MPI')\n"
        "module.Get_library_version = lambda: 'MPI one'\n"
        "package.MPI = module\n"
        "sys.modules.update({'mpi4py': package, 'mpi4py.MPI': module})\n"
        "_core.ranks_load, _core.ranks_mpi_version = lambda path: None, lambda: 'MPI two'\n"
        "with weir.Context('cpu:1') as context:\n"
        "    try:\n"
        "        weir.mpi.Job(context)\n"
        "    except weir.UnavailableError as failure:\n"
        "        assert \"different MPIs: 'MPI two' and 'MPI one'\" in str(failure), failure\n"
        "    else:\n"
        "        raise SystemExit('no error')\n"
    )


def test_timeouts():
    """From a billion seconds on a time-out is none, as in other calls."""
    run_program(
        "import sys, types, weir, weir.mpi\n"
        "from weir import _core\n"
        "package, module = types.ModuleType('mpi4py'), types.ModuleType('mpi4py.MPI')\n"
        "module.Get_library_version, module._addressof, module.COMM_WORLD = lambda: 'MPI', lambda one: 0, 0\n"
        "package.MPI = module\n"
        "sys.modules.update({'mpi4py': package, 'mpi4py.MPI': module})\n"
        "_core.ranks_load, _core.ranks_mpi_version = lambda path: None, lambda: 'MPI'\n"
        "asked = []\n"
        "def create(context, address, nanoseconds, *rest):\n"
        "    asked.append(nanoseconds)\n"
        "    raise KeyError\n"
        "_core.ranks_create = create\n"
        "with weir.Context('cpu:1') as context:\n"
        "    for timeout in (2, 1e-12, 1e11, float('inf'), None):\n"
        "        try:\n"
        "            weir.mpi.Job(context, timeout=timeout)\n"
        "        except KeyError:\n"
        "            pass\n"
        "assert asked == [2 * 10**9, 1, *[2**64 - 1] * 3], asked\n"
    )


def test_names():
    assert weir.mpi.__all__ == ["Job"]
    assert repr(weir.mpi.Job) == "<class 'weir.mpi.Job'>"
