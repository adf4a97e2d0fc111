#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs everything that a CUDA card can show, in under eight minutes: Weir and its peers on the recorded streams, in one
# run; empty tasks; copies; what the simulated card predicts; and the checks that need a card. Prints a table, and writes
# it to OUTPUT.md, all numbers to OUTPUT.json, and what the programs said to OUTPUT.log.
#
# Usage: bench/gpu/run.sh [--binaries DIR] [--output OUTPUT] [--commit ID] [--quick] [STREAM...]
#   --binaries DIR   programs that are built already: a build folder, or one folder with all of them and lib/ for the
#                    libraries that they need; default: a Release build in a folder of its own
#   --output OUTPUT  default bench/results/DATE-CARD
#   --commit ID      of the programs; default: that of the working tree
#   --quick          few passes and programs, to see that all works
#   STREAM...        default: all of examples/streams
# It uses the first CUDA device; CUDA_VISIBLE_DEVICES chooses another.
# Exit codes: 0 all steps went well, 1 one did not (the others ran, and the table names it), 2 bad usage, 3 no card.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)

. "$root/bench/common/arguments.sh"
parse_arguments "$@"
choose_streams
device=cuda:0

passes=31 auto_passes=201 back_to_back=500 peer_runs=31 first_runs=5 programs=2000 bench_runs=5
[ -z "$quick" ] || { passes=3 auto_passes=5 back_to_back=5 peer_runs=3 first_runs=1 programs=50 bench_runs=1; }

MOST_SECONDS=470 # of all steps together
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
: >"$scratch/steps"

. "$here/steps.sh"

replay() { # NAME LIMIT OPTION...
  local name=$1 limit=$2
  shift 2
  step "$name" "$limit" weir replay --json --no-host-waits "$@" "${streams[@]}"
}

peers() {
  step peers 60 weir-gpu-peers --json --runs "$peer_runs" "${streams[@]}"
}

# Passes of a repeated stream, one at a time.
repeated() {
  local apart=(--device "$device" --repeat "$passes" --apart)
  replay serial 40 "${apart[@]}" --issue serial
  replay serial-graph 40 "${apart[@]}" --issue serial-graph --storage kept
  replay queues 40 "${apart[@]}" --issue queues
  replay graph 40 "${apart[@]}" --issue graph --storage kept
  replay auto 40 --device "$device" --repeat "$auto_passes" --apart --issue auto --met stream
}

back_to_back() {
  replay together 60 --device "$device" --repeat "$back_to_back" --issue auto --met stream
}

# First passes, each in a process that never saw the stream: on a device that is awake and has memory, on one that is
# not, and where the topology was met.
first_passes() {
  local run
  for ((run = 1; run <= first_runs; run++)); do
    each "cold-$run" 30 --met device
    each "topology-$run" 30 --met topology
  done
  each asleep-1 30 --met nothing
}

# With the waits of the recorded program.
host_waits() {
  step waits 40 weir replay --json --device "$device" --repeat "$auto_passes" --apart --issue auto --met stream "${streams[@]}"
}

simulated() {
  replay sim-queues 20 --device sim:h200 --repeat 3 --apart --issue queues
  replay sim-graph 20 --device sim:h200 --repeat 3 --apart --issue graph --storage kept
}

benchmarks() {
  step tasks 60 weir bench tasks --device "$device" --json --runs "$bench_runs"
  step copies 60 weir bench copies --device "$device" --json --runs "$bench_runs"
}

timelines() {
  local issue
  for issue in queues graph auto; do
    step "check-$issue" 60 weir replay --json --check --device "$device" --repeat 3 --issue "$issue" "${streams[@]}"
  done
}

random_programs() {
  step random 120 test_random --device cuda --programs "$programs"
  step random-mixed 60 test_random --device cpu:2,cuda --programs $((programs / 4))
}

examples() {
  step dynroute 60 dynroute --device "$device" --check
  step cholesky 60 cholesky --device "$device"
  step interop 60 interop
}

# sanitize TOOL EXAMPLE OPTION...: compute-sanitizer on an example.
sanitize() {
  local tool=$1 example=$2 path report=
  shift 2
  # To the driver it is an error to be asked about memory that is not its own, or for a parameter past the last one.
  [ "$tool" != memcheck ] || report='--report-api-errors no'
  path=$(program "$example")
  if [ -n "$path" ]; then
    step "$tool-$example" 60 compute-sanitizer --tool "$tool" $report --error-exitcode 9 "$path" "$@"
  else
    note "$tool-$example" missing 0 "there is no program $example"
  fi
}

# On small inputs; races are looked for where blocks share memory.
sanitizers() {
  local tool
  for tool in memcheck racecheck; do
    sanitize $tool dynroute --device "$device" --check --size 8 --cells 2 --passes 1
    sanitize $tool cholesky --device "$device" --size 256 --tile 64
  done
  sanitize memcheck interop
  sanitize memcheck enqueue
  sanitize memcheck cholesky --device "$device" --size 512 --tile 128 --kernels cublas
}

# ---------------------------------------------------------------------------------------------------------------
# The run

[ -n "$binaries" ] || build
binaries=$(cd "$binaries" && pwd) || exit 2
PATH=$PATH:/usr/local/cuda/bin # compute-sanitizer
export LD_LIBRARY_PATH="$binaries/lib:$binaries:${LD_LIBRARY_PATH:-}"
weir=$(program weir)
[ -n "$weir" ] || { echo "run.sh: there is no program weir in $binaries" >&2; exit 2; }
"$weir" info --json >"$scratch/info.out" || exit 1
card=$("$weir" bench tasks --quick --runs 1 --device "$device" --json 2>&1 >/dev/null)
card_status=$?
if [ $card_status -eq 3 ]; then
  echo "run.sh: no card to measure: ${card:-no reason was given}" >&2
  exit 3
elif [ $card_status -ne 0 ]; then
  echo "run.sh: $device cannot be used: $card" >&2
fi

measure_start=$SECONDS
[ -n "$commit" ] || commit=$(git -C "$root" rev-parse --short=12 HEAD 2>/dev/null || echo unknown)
peers
repeated
back_to_back
first_passes
host_waits
benchmarks
simulated
timelines
random_programs
examples
sanitizers
nvidia-smi --query-gpu=name,driver_version,clocks.max.sm --format=csv,noheader >"$scratch/card" 2>/dev/null || : >"$scratch/card"
python3 "$here/table.py" "$scratch" "$output" "$commit" "${streams[@]}"
