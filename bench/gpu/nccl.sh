#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Collectives by NCCL on two cards of one host: whether their results are right, also in random programs; what an
# all-reduce of 1 KiB to 256 MiB takes by Weir and by plain NCCL in one program; and what overlaps it. Prints tables.
#
# Usage: bench/gpu/nccl.sh [--binaries DIR] [--pack DIR] [OPTION...] [PART...]
#   --binaries DIR  the folder of the program weir-gpu-nccl, or a build folder (default build)
#   --pack DIR      run nothing, but copy this script and the program, which needs no library but those of the system, to
#                   a folder for another machine
#   OPTION, PART    of the program: --devices cuda:0,cuda:1, --rounds N, --programs N, --quick, --limit SECONDS;
#                   results, programs, sizes, overlap
# NCCL is the file that WEIR_NCCL names, else libnccl.so.2 where the loader looks, else that of a Python package.
# Exit codes: 0 all was right, 1 something was wrong or hung, 2 bad usage, 3 a program, card or library is missing.
set -u
here=$(cd "$(dirname "$0")" && pwd)
binaries=$here/../../build pack=
[ -x "$here/weir-gpu-nccl" ] && binaries=$here
while [ $# -gt 0 ]; do
  case $1 in
    --help) sed -n '3,${/^#/!q;s/^# \{0,1\}//p}' "$0"; exit 0 ;;
    --binaries | --pack) [ $# -gt 1 ] || { echo "nccl.sh: $1 takes a folder" >&2; exit 2; } ;;&
    --binaries) binaries=$2; shift 2 ;;
    --pack) pack=$2; shift 2 ;;
    *) break ;;
  esac
done
program=
for folder in "$binaries" "$binaries/bin"; do
  [ ! -x "$folder/weir-gpu-nccl" ] || program=$folder/weir-gpu-nccl
done
[ -n "$program" ] || { echo "nccl.sh: there is no program weir-gpu-nccl in $binaries" >&2; exit 3; }
if [ -n "$pack" ]; then
  mkdir -p "$pack" && cp "$program" "$0" "$pack"
  exit
fi

# Of a Python package, such as those that PyTorch brings.
package() {
  python3 -c 'import importlib.util, pathlib
spec = importlib.util.find_spec("nvidia.nccl")
paths = [path for place in spec.submodule_search_locations for path in pathlib.Path(place).rglob("libnccl.so.2")]
print(paths[0])' 2>/dev/null
}
if [ -z "${WEIR_NCCL-}" ] && ! ldconfig -p 2>/dev/null | grep -q 'libnccl\.so\.2 '; then
  WEIR_NCCL=$(package) && export WEIR_NCCL
fi
nvidia-smi --query-gpu=index,name,driver_version --format=csv,noheader 2>/dev/null
echo "NCCL: ${WEIR_NCCL:-libnccl.so.2}"
exec "$program" "$@"
