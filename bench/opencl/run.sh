#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs everything that a machine's OpenCL devices can show, in under six minutes: on each device small tasks and recorded streams,
# by its own queues and by Weir; timelines that are proved; random programs; and, over several devices, what splitting a launch
# costs, and the tone mapper. Prints a table, and writes it to OUTPUT.md, all numbers to OUTPUT.json, what the programs said to
# OUTPUT.log, and plots to OUTPUT-*.svg.
#
# Usage: bench/opencl/run.sh [--binaries DIR] [--output OUTPUT] [--commit ID] [--quick] [STREAM...]
#   --binaries DIR   programs that are built already: a build folder, or one folder with all of them and lib/ for the
#                    libraries that they need; default: a Release build in a folder of its own
#   --output OUTPUT  default bench/results/DATE-DEVICE-opencl
#   --commit ID      of the programs; default: that of the working tree
#   --quick          few runs and programs, to see that all works
#   STREAM...        default: all of examples/streams
# On CPUs the recorded times are multiplied by ten: there a task has one of few cores, and a core does not wake in a microsecond.
# Exit codes: 0 all steps went well, 1 one did not (the others ran, and the table names it), 2 bad usage, 3 no OpenCL device.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)

. "$root/bench/common/arguments.sh"
parse_arguments "$@"
choose_streams

task_runs=5 stream_runs=11 programs=100 frames=40 rounds=20 groups=8192
[ -z "$quick" ] || { task_runs=2 stream_runs=2 programs=20 frames=6 rounds=4; }

MOST_SECONDS=345 # of all steps together
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
: >"$scratch/steps"

. "$root/bench/gpu/steps.sh"

each_device() { # NUMBER TYPE
  local number=$1 type=$2 scale=1 issue
  [ "$type" != cpu ] || scale=10
  step "tasks-$number" 60 weir-bench-opencl tasks --json --device "$number" --runs "$task_runs"
  step "streams-$number" 60 weir-bench-opencl streams --json --device "$number" --scale "$scale" --runs "$stream_runs" \
    "${streams[@]}"
  for issue in queues graph auto; do
    step "check-$number-$issue" 20 weir replay --json --check --no-host-waits --device "opencl:$number" --repeat 3 \
      --time-scale "$scale" --issue "$issue" "${streams[@]}"
  done
  # Each program makes a context of its own, which takes a GPU's driver some 0.3 s.
  step "random-$number" 60 test_random --device "opencl:$number" --programs "$programs"
  step "random-mixed-$number" 40 test_random --device "cpu:2,opencl:$number" --programs $((programs / 2))
  # In memory of its own, where the device could do without; in memory objects.
  [ "$type" != cpu ] || WEIR_OPENCL_MEMORY=device step "random-own-memory-$number" 40 test_random --device "opencl:$number" \
    --programs $((programs / 2))
  WEIR_OPENCL_MEMORY=objects step "random-objects-$number" 40 test_random --device "opencl:$number" \
    --programs $((programs / 2))
}

# Every test of the OpenCL device that is there, but for that with a loader that fails, which needs libraries beside it.
test_programs() {
  local path
  for path in $(for folder in "$binaries" "$binaries/bin" "$binaries/tests"; do ls -d "$folder"/test_opencl_* 2>/dev/null; done); do
    case $path in
    *_faults) ;;
    *) [ ! -x "$path" ] || [ -d "$path" ] || step "$(basename "$path")" 20 "$(basename "$path")" ;;
    esac
  done
}

# split_kernels NAME DEVICES: one launch of a kernel, long enough for the fastest device, over them, by each policy.
split_kernels() {
  step "split-$1-compute" 30 weir split --json --devices "$2" --policy all --rounds "$rounds" --groups "$groups"
  step "split-$1-memory" 30 weir split --json --devices "$2" --policy all --rounds "$rounds" --groups "$((groups / 2))" \
    --kernel memory
}

# tone NAME DEVICES: the tone mapper's rows over them. Its frames are compared with the serial reference in a run of their own.
tone() {
  local name=$1 devices=$2 policy
  local picture=("$root/examples/images/forest.exr")
  [ "$(nproc)" -le 4 ] || picture=(--crop 1000x500 --radius 24 "${picture[@]}") # with more cores, more work
  split_kernels "$name" "$devices"
  step "tone-$name-check" 20 tonemap --devices "$devices" --frames 3 --check "${picture[@]}"
  for policy in history guided auto; do
    step "tone-$name-$policy" 20 tonemap --devices "$devices" --frames "$frames" --policy "$policy" --efficiency \
      --plot "$scratch/tone-$name-$policy.svg" "${picture[@]}"
  done
}

# Over the devices that this machine has: all OpenCL devices, or the halves of one; a GPU with the CPU; a CUDA card with the CPU. The
# CPU by OpenCL and by Weir's workers are the same cores, and no pair.
split() {
  local list gpu=
  step split-overhead 30 weir-bench-split overhead --json
  list=$(cut -f1 <<<"$devices" | sed 's/^/opencl:/' | paste -sd,)
  gpu=$(awk -F'\t' '$2 == "gpu" { print $1; exit }' <<<"$devices")
  if [ "$(wc -l <<<"$devices")" -ge 2 ]; then
    step random-all 40 test_random --device "$list" --programs $((programs / 2))
    tone all-opencl "$list"
  else
    local number units
    number=$(cut -f1 <<<"$devices") units=$(cut -f3 <<<"$devices")
    [ "$units" -lt 2 ] || tone two-halves "opencl:$number/2.0,opencl:$number/2.1"
  fi
  [ -z "$gpu" ] || tone gpu-and-cpu "opencl:$gpu,cpu"
  [ -z "$cuda" ] || tone cuda-and-cpu cuda,cpu
}

# ---------------------------------------------------------------------------------------------------------------
# The run

[ -n "$binaries" ] || build
binaries=$(cd "$binaries" && pwd) || exit 2
export LD_LIBRARY_PATH="$binaries/lib:$binaries:${LD_LIBRARY_PATH:-}"
weir=$(program weir) bench=$(program weir-bench-opencl)
[ -n "$weir" ] || { echo "run.sh: there is no program weir in $binaries" >&2; exit 2; }
[ -n "$bench" ] || { echo "run.sh: there is no program weir-bench-opencl in $binaries" >&2; exit 2; }
"$weir" info --json >"$scratch/info.out" || exit 1
"$bench" devices >"$scratch/devices.out" || exit 3
# Number, type and compute units of those that Weir can use; and whether there is a CUDA card.
devices=$(python3 -c 'import json, sys
for d in json.load(sys.stdin):
    if not d["reason"]: print(d["number"], d["type"], d["units"], sep="\t")' <"$scratch/devices.out")
cuda=$(python3 -c 'import json, sys
print("yes" if any(d["kind"] == "cuda" and d["available"] for d in json.load(sys.stdin)["devices"]) else "")' <"$scratch/info.out")
[ -n "$devices" ] || { echo "run.sh: no OpenCL device that Weir can use; see weir info" >&2; exit 3; }

[ "$(nproc)" -le 4 ] || groups=65536

measure_start=$SECONDS
[ -n "$commit" ] || commit=$(git -C "$root" rev-parse --short=12 HEAD 2>/dev/null || echo unknown)
while IFS=$'\t' read -r number type _; do
  each_device "$number" "$type" </dev/null
done <<<"$devices"
split
test_programs
python3 "$here/table_opencl.py" "$scratch" "$output" "$commit"
