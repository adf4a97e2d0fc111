#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs what a CUDA card shows of resident issue, in under nine minutes: new layered graphs by every way of issuing them, the
# recorded streams, what a wait takes, the examples, kernels with known results, random programs, devices that are given up.
# Writes into FOLDER: resident.md, the tables; resident.json, results by step; resident.log, what the programs said besides.
#
# Usage: bench/gpu/resident.sh --output FOLDER [--binaries DIR] [--commit ID] [--device NAME] [--quick] [STREAM...]
#   --output FOLDER  made if it is not there
#   --binaries DIR   programs that are built already: a build folder, or one folder with all of them and lib/ for the
#                    libraries that they need (tests need libcmocka); default: a Release build in a folder of its own
#   --commit ID      of the programs; default: that of the working tree
#   --device NAME    default cuda:0
#   --quick          small numbers, to see that all works
#   STREAM...        default: all of examples/streams
# Exit codes: 0 all steps went well or were missing, 1 one failed (the others ran, and resident.md names it), 2 bad usage.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)

. "$root/bench/common/arguments.sh"
parse_arguments "$@"
[ -n "$output" ] || { echo "resident.sh: --output is missing; see --help" >&2; exit 2; }
mkdir -p "$output" && output=$(cd "$output" && pwd) || exit 2
[ -n "$device" ] || device=cuda:0
choose_streams

MOST_SECONDS=530 # of all steps together
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
: >"$scratch/steps"

. "$here/steps.sh"

rounds=7 passes=31 programs=2000 worlds=256 steps=20 widths=4,16,64 tasks=2000 network=()
[ -z "$quick" ] || {
  rounds=1 passes=1 programs=10 worlds=2 steps=3 widths=4 tasks=64
  network=(--passes 1 --inputs 1 --cells 2 --size 8)
}

layers() { # NAME LIMIT OPTION...
  local name=$1 limit=$2
  shift 2
  step "$name" "$limit" weir-bench-layers --device "$device" --rounds "$rounds" --tasks "$tasks" --json "$scratch/$name.json" "$@"
}

replay() { # NAME OPTION...: first passes, on a device that is awake
  local name=$1
  shift
  step "$name" 40 weir replay --device "$device" --no-host-waits --repeat "$passes" --apart "$@" "${streams[@]}"
}

# ---------------------------------------------------------------------------------------------------------------
# The run

[ -n "$binaries" ] || build
[ ! -d "$binaries/lib" ] || export LD_LIBRARY_PATH="$binaries/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
weir=$(program weir)
[ -n "$weir" ] || { echo "resident.sh: there is no program weir in $binaries" >&2; exit 2; }
measure_start=$SECONDS
WEIR_CACHE=$scratch/cache
export WEIR_CACHE

layers layers 150 --widths "$widths"
# What a dependence costs.
layers hops 60 --widths 1 --times 1
# Fewer workers than fit.
WEIR_RESIDENT_WORKERS=4 layers layers-4-workers 40 --modes resident --widths "$widths" --times 5
WEIR_RESIDENT_WORKERS=2 layers layers-2-workers 40 --modes resident --widths "$widths" --times 5
# From the last write of a task until the host sees it.
step wait 20 weir-bench-wait --device "$device" --json "$scratch/wait.json" ${quick:+--quick}
# Eight workers on each multiprocessor, as recorded kernels are made for.
export WEIR_RESIDENT_WORKERS=8
replay streams-resident --issue resident
unset WEIR_RESIDENT_WORKERS
for issue in serial queues auto; do replay "streams-$issue" --issue "$issue"; done
replay streams-graph --issue graph --storage kept
step bodies 90 weir-bodies --device "$device" --worlds "$worlds" --steps "$steps" --threads 4 --check --compare
for issue in auto queues resident; do step "dynroute-$issue" 30 dynroute --device "$device" --issue "$issue" --check "${network[@]}"; done
step write-once 60 test_write_once_run "$device" resident
step random 200 test_random --device "$device" --resident --programs "$programs"
# Last, since it makes kernels fault.
step abort 90 test_cuda_resident_abort_card "$device"

# ---------------------------------------------------------------------------------------------------------------
# What came

[ -n "$commit" ] || commit=$(git -C "$root" describe --always --dirty 2>/dev/null || echo unknown)
{
  echo "# Resident issue on $device"
  echo
  echo "Commit $commit, $(date -u +%Y-%m-%d). $("$weir" info 2>/dev/null | grep -m 1 cuda || echo "$device")"
  while IFS=$'\t' read -r name status seconds text; do
    printf '\n## %s\n' "$name"
    [ "$status" = ok ] || echo "$status after $seconds s: $text"
    [ ! -s "$scratch/$name.out" ] || { echo '```'; cat "$scratch/$name.out"; echo '```'; }
  done <"$scratch/steps"
} >"$output/resident.md"
python3 - "$scratch" >"$output/resident.json" <<'PYTHON'
import glob, json, os, sys
steps = [dict(zip(("name", "status", "seconds", "text"), line.rstrip("\n").split("\t")))
         for line in open(os.path.join(sys.argv[1], "steps"), encoding="utf-8")]
results = {os.path.basename(path)[:-5]: json.load(open(path, encoding="utf-8"))
           for path in sorted(glob.glob(os.path.join(sys.argv[1], "*.json"))) if os.path.getsize(path)}
json.dump({"steps": steps, "results": results}, sys.stdout, indent=1)
PYTHON
for file in "$scratch"/*.err; do [ ! -s "$file" ] || { echo "== $file"; cat "$file"; }; done >"$output/resident.log"
cut -f 1,2,4 "$scratch/steps"
! grep -q $'\tfailed\t' "$scratch/steps"
