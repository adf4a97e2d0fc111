#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# One card and two cards of one host: Cholesky by cuBLAS, worlds of bodies, and a matrix that has 1.5 times the bytes that tiles
# may take on a card. Prints a table of medians with the least and the greatest. Each result is checked.
#
# Usage: bench/gpu/cards.sh [--binaries DIR] [--json FILE] [--devices A,B] [--rounds N] [--quick] [PART...]
#   --binaries DIR  programs cholesky (built with cuBLAS) and weir-bodies: a build folder, or one folder with both and lib/ for the
#                   libraries that they need (default build)
#   --json FILE     write all numbers there, too
#   --devices A,B   two CUDA devices (default cuda:0,cuda:1)
#   --rounds N      turns of one card and two cards (default 3)
#   --quick         small sizes and one turn, to see that all works
#   --dry           print the commands only
#   --pack DIR      run nothing, but copy the programs and the libraries that they need to a folder for another machine, which
#                   is given to --binaries there
#   PART            cholesky, memory, bodies (default all)
# Exit codes: 0 all ran and was right, 1 something did not, 2 bad usage, 3 a program or card is missing.
set -u
here=$(cd "$(dirname "$0")" && pwd)
[ "${1-}" != --help ] || { sed -n '3,${/^#/!q;s/^# \{0,1\}//p}' "$0"; exit 0; }
exec python3 "$here/cards.py" "$@"
