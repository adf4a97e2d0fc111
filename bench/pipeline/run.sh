#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs everything that a machine shows of pipelines, in under ten minutes: what they cost per token and stage, streams of jobs and
# their latency on a CUDA card and on the CPU, each beside the baselines. Writes into FOLDER: pipeline.md, the tables;
# pipeline.json, all results by step; pipeline.log, what the programs said besides.
#
# Usage: bench/pipeline/run.sh --output FOLDER [--binaries DIR] [--commit ID] [--quick] [DEVICE...]
#   --output FOLDER  made if it is not there
#   --binaries DIR   programs that are built already: a build folder, or one folder with all of them and lib/ for the
#                    libraries that they need; default: a Release build in a folder of its own
#   --commit ID      of the programs; default: that of the working tree
#   --quick          small numbers, to see that all works
#   DEVICE...        default: cuda:0, and cpu:N with all cores, up to 16
# A device that is not there is named in pipeline.md as missing.
# Exit codes: 0 all steps went well or were missing, 1 one failed (the others ran, and pipeline.md names it), 2 bad usage.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)

. "$root/bench/common/arguments.sh"
parse_arguments "$@"
devices=("${arguments[@]}")
[ -n "$output" ] || { echo "run.sh: --output is missing; see --help" >&2; exit 2; }
mkdir -p "$output" && output=$(cd "$output" && pwd) || exit 2

cores=$(nproc)
[ "$cores" -le 16 ] || cores=16
[ ${#devices[@]} -gt 0 ] || devices=(cuda:0 "cpu:$cores")

MOST_SECONDS=540 # of all steps together
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
: >"$scratch/steps"

. "$root/bench/gpu/steps.sh"

# measure NAME LIMIT OPTION...
measure() {
  local name=$1 limit=$2
  shift 2
  step "$name" "$limit" weir-bench-pipeline --json "$scratch/$name.json" --rounds 5 ${quick:+--quick} "$@"
}

each_device() { # DEVICE
  local device=$1 name=${1//[:\/.]/-} options=(--lines 8 --workers $((cores < 8 ? cores : 8)))
  [ "${device%%:*}" != cpu ] || options=(--lines $((2 * cores)) --workers "$cores")
  measure "jobs-$name" 180 --part jobs --device "$device" "${options[@]}"
  measure "latency-$name" 90 --part latency --device "$device" "${options[@]}"
}

# ---------------------------------------------------------------------------------------------------------------
# The run

if [ -z "$binaries" ]; then
  binaries=$scratch/build
  echo "building in $binaries" >&2
  { cmake -S "$root" -B "$binaries" -DCMAKE_BUILD_TYPE=Release -DWEIR_BUILD_BENCH=ON &&
    cmake --build "$binaries" --parallel "$(nproc)" --target weir-bench-pipeline; } >"$scratch/build.log" 2>&1 || {
    tail -20 "$scratch/build.log" >&2
    echo "run.sh: the build failed" >&2
    exit 1
  }
fi
binaries=$(cd "$binaries" && pwd) || exit 2
export LD_LIBRARY_PATH="$binaries/lib:$binaries:${LD_LIBRARY_PATH:-}"
[ -n "$(program weir-bench-pipeline)" ] || { echo "run.sh: there is no program weir-bench-pipeline in $binaries" >&2; exit 2; }
[ -n "$commit" ] || commit=$(git -C "$root" rev-parse --short=12 HEAD 2>/dev/null || echo unknown)

measure_start=$SECONDS
measure stages 60 --part stages
for device in "${devices[@]}"; do each_device "$device"; done

card=$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null | head -n 1)
processor=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)
{
  echo "# Pipelines: ${card:-no CUDA card}; ${processor:-unknown processor}, $(nproc) cores"
  echo
  echo "Commit $commit, $(date -u +%Y-%m-%d). Made by \`bench/pipeline/run.sh\`${quick:+ with small numbers: times say little}."
  echo
  echo "| step | result | s | |"
  echo "|---|---|---:|---|"
  awk -F '\t' '{ print "| " $1 " | " $2 " | " $3 " | " $4 " |" }' "$scratch/steps"
  while IFS=$'\t' read -r name status _; do
    [ "$status" != missing ] || continue
    printf '\n## %s\n\n```\n' "$name"
    cat "$scratch/$name.out"
    echo '```'
  done <"$scratch/steps"
} >"$output/pipeline.md"

python3 - "$scratch" "$commit" "$card" "$processor" >"$output/pipeline.json" <<'END'
import json, os, sys
folder, commit, card, processor = sys.argv[1:]
steps = []
with open(os.path.join(folder, "steps")) as file:
    for line in file:
        name, status, seconds, text = line.rstrip("\n").split("\t")
        step = {"name": name, "status": status, "seconds": int(seconds), "text": text}
        try:
            with open(os.path.join(folder, name + ".json")) as results:
                step["results"] = json.load(results)
        except (OSError, ValueError):
            pass # the step's status says what became of it
        steps.append(step)
json.dump({"commit": commit, "card": card, "processor": processor, "steps": steps}, sys.stdout, indent=1)
print()
END

cut -f 1 "$scratch/steps" | while read -r name; do
  printf '==> %s\n' "$name"
  cat "$scratch/$name.err" 2>/dev/null
done >"$output/pipeline.log"
cat "$output/pipeline.md"
! grep -q "$(printf '\tfailed\t')" "$scratch/steps"
