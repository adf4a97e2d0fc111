# SPDX-License-Identifier: Apache-2.0
"""Programs on ranks of MPI, by Open MPI's launcher or MPICH's.

launcher.py MPIRUN RANKS PROGRAM [ARGUMENT...] runs one.
"""
import os
import signal
import subprocess
import sys


class Launcher:
    def __init__(self, mpirun):
        self.mpirun = mpirun
        version = subprocess.run([mpirun, "--version"], capture_output=True, text=True, check=False).stdout
        self.is_open_mpi = "Open MPI" in version or "OpenRTE" in version
        # Waiting ranks give up their core: there are more ranks than cores.
        self.options = (["--oversubscribe", "--mca", "mpi_yield_when_idle", "1", "--mca", "btl", "self,vader"]
                        if self.is_open_mpi else [])

    def run(self, ranks, *command, seconds=300, **environment):
        """(Exit code, what all ranks printed)."""
        environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                           OMPI_MCA_btl_vader_single_copy_mechanism="none", **environment)
        with subprocess.Popen([self.mpirun, *self.options, "-n", str(ranks), *command], env=environment, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True) as process:
            try:
                output = process.communicate(timeout=seconds)[0]
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                raise
        return process.returncode, output


if __name__ == "__main__":
    exit_code, printed = Launcher(sys.argv[1]).run(*sys.argv[2:])
    print(printed, end="")
    sys.exit(exit_code)
