#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Ranks of MPI that have a card each, on one host: random programs over them, collectives by NCCL beside plain NCCL, worlds of
# bodies and Cholesky by cuBLAS on one rank and on all. Each result is checked. Prints tables of medians with the least and the
# greatest.
#
# Usage: bench/gpu/ranks.sh [--binaries DIR] [--launcher MPIRUN] [--ranks N] [--rounds N] [--quick] [--dry] [PART...]
#   --binaries DIR     programs test_mpi_ranks, weir-gpu-ranks, mpi_bodies, mpi_cholesky (built with cuBLAS) and weir: a build
#                      folder, or one folder with all and lib/ for the libraries that they need (default build)
#   --launcher MPIRUN  of the MPI that they were built with (default mpirun)
#   --ranks N          ranks, and cards (default 2)
#   --rounds N         turns of one rank and all ranks (default 3)
#   --quick            small sizes and one turn, to see that all works
#   --dry              print the commands only
#   --pack DIR         run nothing, but copy this script, the programs and the libraries that they need but MPI's to a folder for
#                      another machine
#   PART               programs, results, sizes, overlap, bodies, cholesky, messages (Cholesky without NCCL); default all
# CUDA's libraries and NCCL are those that the loader finds, else those of Python packages, such as PyTorch brings.
# Cholesky runs with CUDA_DEVICE_MAX_CONNECTIONS=32, unless the environment has another number (docs/guide/mpi.md, Cards).
# Exit codes: 0 all ran and was right, 1 something did not, 2 bad usage, 3 a program is missing.
set -u
here=$(cd "$(dirname "$0")" && pwd)
[ "${1-}" != --help ] || { sed -n '3,${/^#/!q;s/^# \{0,1\}//p}' "$0"; exit 0; }
exec python3 "$here/ranks.py" "$@"
