#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Messages between the cards of two ranks on one host: what one takes through the host and directly, 64 KiB to 256 MiB, by
# Weir and, with --plain, by MPI alone. Contents are checked. Prints a table.
#
# Usage: bench/gpu/messages.sh [--binaries DIR] [--mpirun "COMMAND..."] [OPTION...]
#   --binaries DIR  the folder of the program weir-gpu-messages, or a build folder (default build)
#   --mpirun "..."  starts two ranks (default "mpirun -n 2")
#   OPTION          of the program: --plain, --host or --direct (one way alone), --rounds N, --smallest BYTES, --largest BYTES,
#                   --devices cuda:0,cuda:1, --json FILE, --trace PREFIX (timelines)
# MPI is asked whether it takes memory of cards. Where it does not know, WEIR_MPI_DIRECT=always says so.
# Exit codes: 0 all was right, 1 something was wrong, 2 bad usage, 3 a program or card is missing.
set -u
here=$(cd "$(dirname "$0")" && pwd)
binaries=$here/../../build mpirun="mpirun -n 2"
[ -x "$here/weir-gpu-messages" ] && binaries=$here
while [ $# -gt 0 ]; do
  case $1 in
    --help) sed -n '3,${/^#/!q;s/^# \{0,1\}//p}' "$0"; exit 0 ;;
    --binaries | --mpirun) [ $# -gt 1 ] || { echo "messages.sh: $1 takes a value" >&2; exit 2; } ;;&
    --binaries) binaries=$2; shift 2 ;;
    --mpirun) mpirun=$2; shift 2 ;;
    *) break ;;
  esac
done
program=
for folder in "$binaries" "$binaries/bin"; do
  [ ! -x "$folder/weir-gpu-messages" ] || program=$folder/weir-gpu-messages
done
[ -n "$program" ] || { echo "messages.sh: there is no program weir-gpu-messages in $binaries" >&2; exit 3; }
nvidia-smi --query-gpu=index,name,driver_version --format=csv,noheader 2>/dev/null
# shellcheck disable=SC2086
exec $mpirun "$program" "$@"
