#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs everything that a card can show on Vulkan, in under six minutes: the recorded streams on raw Vulkan, on Weir, and, where
# the card has CUDA, as one CUDA stream and as CUDA graphs, all in one run; and the checks that need a card. Prints a table, and
# writes it to OUTPUT.md, all numbers to OUTPUT.json, and what the programs said to OUTPUT.log.
#
# Usage: bench/gpu/run_vulkan.sh [--binaries DIR] [--output OUTPUT] [--commit ID] [--device N] [--quick] [STREAM...]
#   --binaries DIR   programs that are built already: a build folder, or one folder with all of them and lib/ for the
#                    libraries that they need; default: a Release build in a folder of its own
#   --output OUTPUT  default bench/results/DATE-CARD-vulkan
#   --commit ID      of the programs; default: that of the working tree
#   --device N       Weir's device vulkan:N, default 0; raw Vulkan takes the first device that is not the CPU
#   --quick          few passes and programs, and kernels that do nothing on raw Vulkan, to see that all works
#   STREAM...        default: all of examples/streams
# Exit codes: 0 all steps went well, 1 one did not (the others ran, and the table names it), 2 bad usage, 3 no device.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)

. "$root/bench/common/arguments.sh"
parse_arguments "$@"
choose_streams
device=vulkan:${device:-0}

passes=31 auto_passes=101 back_to_back=300 raw_runs=31 first_runs=5 programs=160 evaluations=10000
[ -z "$quick" ] || { passes=3 auto_passes=5 back_to_back=5 raw_runs=2 first_runs=1 programs=20 evaluations=50; }

MOST_SECONDS=340 # of all steps together
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
: >"$scratch/steps"

. "$here/steps.sh"

replay() { # NAME LIMIT OPTION...
  local name=$1 limit=$2
  shift 2
  step "$name" "$limit" weir replay --json --no-host-waits --device "$device" "$@" "${streams[@]}"
}

raw_vulkan() {
  step raw 60 weir-gpu-vulkan --json --runs "$raw_runs" ${quick:+--quick} "${streams[@]}"
}

cuda_peers() {
  step peers 60 weir-gpu-peers --json --runs "$raw_runs" "${streams[@]}"
}

# Passes of a repeated stream, one at a time, and back to back.
repeated() {
  local apart=(--repeat "$passes" --apart)
  replay serial 30 "${apart[@]}" --issue serial
  replay queues 30 "${apart[@]}" --issue queues
  replay graph 30 "${apart[@]}" --issue graph --storage kept
  replay auto 30 --repeat "$auto_passes" --apart --issue auto --met stream
  replay together 30 --repeat "$back_to_back" --issue auto --met stream
}

# First passes, each in a process that never saw the stream: on a device that is awake and has memory, and where the topology
# was met.
first_passes() {
  local run
  for ((run = 1; run <= first_runs; run++)); do
    each "cold-$run" 20 --met device
    each "topology-$run" 20 --met topology
  done
}

sequences() {
  step sequences 30 weir bench sequences --device "$device" --json --runs "$raw_runs"
}

timelines() {
  local issue
  for issue in queues graph auto; do
    replay "check-$issue" 30 --check --repeat 3 --issue "$issue"
  done
}

# Each program makes a device of its own, which takes a driver some 0.3 s.
random_programs() {
  step random 90 test_random --device vulkan --programs "$programs"
  step random-mixed 40 test_random --device cpu:2,vulkan --programs $((programs / 4))
  # Under the validation layer; missing where it is not installed. On one queue, for what layer 1.3.239 says of several see
  # docs/inside/vulkan.md.
  WEIR_VULKAN_VALIDATION=1 step random-validated 60 test_random --device vulkan --queues 1 --programs $((programs / 2))
}

# Every test of the Vulkan device that is there, but for that of the loader, which needs libraries beside it; and sequences over
# all queues.
test_programs() {
  local path
  for path in $(for folder in "$binaries" "$binaries/bin" "$binaries/tests"; do ls -d "$folder"/test_vulkan_* 2>/dev/null; done); do
    case $path in
    *_stress | *_driver) ;;
    *) [ ! -x "$path" ] || [ -d "$path" ] || step "$(basename "$path")" 20 "$(basename "$path")" ;;
    esac
  done
  WEIR_STRESS_EVALUATIONS=$evaluations step stress 60 test_vulkan_stress
}

examples() {
  local example
  for example in sequence_readme sequence_asynchronous sequence_parallel; do
    step "$example" 30 "$example"
  done
}

# ---------------------------------------------------------------------------------------------------------------
# The run

[ -n "$binaries" ] || build
binaries=$(cd "$binaries" && pwd) || exit 2
export LD_LIBRARY_PATH="$binaries/lib:$binaries:${LD_LIBRARY_PATH:-}"
weir=$(program weir) raw=$(program weir-gpu-vulkan)
[ -n "$weir" ] || { echo "run_vulkan.sh: there is no program weir in $binaries" >&2; exit 2; }
[ -n "$raw" ] || { echo "run_vulkan.sh: there is no program weir-gpu-vulkan in $binaries" >&2; exit 2; }
"$weir" info --json >"$scratch/info.out" || exit 1
lacking=$("$raw" --quick --json "${streams[0]}" 2>&1 >/dev/null)
status=$?
if [ $status -eq 3 ]; then
  echo "run_vulkan.sh: no device to measure: ${lacking:-no reason was given}" >&2
  exit 3
elif [ $status -ne 0 ]; then
  echo "run_vulkan.sh: Vulkan cannot be used: $lacking" >&2
fi

measure_start=$SECONDS
[ -n "$commit" ] || commit=$(git -C "$root" rev-parse --short=12 HEAD 2>/dev/null || echo unknown)
raw_vulkan
cuda_peers
repeated
first_passes
sequences
timelines
random_programs
test_programs
examples
nvidia-smi --query-gpu=name,driver_version,clocks.max.sm --format=csv,noheader >"$scratch/card" 2>/dev/null || : >"$scratch/card"
python3 "$here/table_vulkan.py" "$scratch" "$output" "$commit" "${streams[@]}"
