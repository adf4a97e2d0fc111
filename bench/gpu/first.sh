#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# First passes of recorded streams on a CUDA card, each in a process of its own, and passes with their host waits: one stream, and as
# Weir chooses, for kernels as they were recorded and for kernels that are written with weir/kernel.h. Prints medians of the rounds by
# stream, their geometric means, and one stream by auto.
#
# Usage: bench/gpu/first.sh WEIR [ROUNDS [PASSES]]
#   WEIR     the tool
#   ROUNDS   default 3
#   PASSES   with host waits, default 101
# The device is awake and has memory before a first pass ("met device"), or has met its topology too. The resident kernel's code was
# compiled before, as in all processes of a program but the first.
set -u
weir=$1 rounds=${2:-3} passes=${3:-101}
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
streams=("$here"/../../examples/streams/*.jsonl)
ways=("serial recorded" "auto recorded" "serial weir" "auto weir" "resident weir")

replay() { # OUTPUT ISSUE KERNELS OPTION...
  local output=$scratch/$1 issue=$2 kernels=$3
  shift 3
  "$weir" replay --json --device cuda:0 --apart --issue "$issue" --kernels "$kernels" "$@" >"$output" || exit 1
}

replay warm resident weir --repeat 1 "${streams[@]}"
for ((round = 1; round <= rounds; round++)); do
  for way in "${ways[@]}"; do
    read -r issue kernels <<<"$way"
    for stream in "${streams[@]}"; do
      for met in device topology; do
        replay "$met-$issue-$kernels-$round-$(basename "$stream" .jsonl)" "$issue" "$kernels" --no-host-waits --repeat 1 --met $met "$stream"
      done
    done
    replay "waits-$issue-$kernels-$round" "$issue" "$kernels" --repeat "$passes" "${streams[@]}"
  done
done
python3 - "$scratch" "$rounds" "${ways[@]}" <<'TABLE'
import json
import pathlib
import statistics
import sys

scratch, rounds = pathlib.Path(sys.argv[1]), range(1, int(sys.argv[2]) + 1)
WAYS = [way.replace(" ", "-") for way in sys.argv[3:]]
STREAMS = [row["stream"] for row in json.loads((scratch / "warm").read_text())]


def alone(met):
    return lambda way, stream, n: json.loads((scratch / f"{met}-{way}-{n}-{stream}").read_text())[0]["first_us"]


def together(key):
    def read(way, stream, n):
        return next(row[key] for row in json.loads((scratch / f"waits-{way}-{n}").read_text()) if row["stream"] == stream)
    return read


def table(title, read):
    medians = {way: [statistics.median(read(way, stream, n) for n in rounds) for stream in STREAMS] for way in WAYS}
    print(f"\n{title}, us\n\n| stream | " + " | ".join(way.replace("-", ", ") for way in WAYS) + " | one stream by auto: recorded | weir |")
    print("|---" + "|--:" * (len(WAYS) + 2) + "|")
    ratios = [[one / auto for one, auto in zip(medians[f"serial-{k}"], medians[f"auto-{k}"])] for k in ("recorded", "weir")]
    for i, stream in enumerate(STREAMS):
        print(f"| {stream} | " + " | ".join(f"{medians[way][i]:.0f}" for way in WAYS) + f" | {ratios[0][i]:.2f} | {ratios[1][i]:.2f} |")
    print("| geometric mean | " + " | ".join(f"{statistics.geometric_mean(medians[way]):.0f}" for way in WAYS) + " | " +
          " | ".join(f"{statistics.geometric_mean(r):.2f}, least {min(r):.2f}" for r in ratios) + " |")


table("First pass, cold", alone("device"))
table("First pass, topology met", alone("topology"))
table("With host waits, the first pass of a process that slept", together("first_us"))
table("With host waits, later", together("pass_us"))
TABLE
