#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Passes of recorded streams on a CUDA card, one at a time: as Weir chooses, with the trace cache, and as a graph that was recorded
# beforehand. Prints the median pass and what a task costs the host, by stream.
#
# Usage: bench/gpu/repeats.sh WEIR [PASSES]
#   WEIR    the tool
#   PASSES  default 201
set -u
weir=$1 passes=${2:-201}
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
streams=("$here"/../../examples/streams/*.jsonl)
for round in 1 2 3; do
  for issue in auto repeats graph; do
    storage=()
    [ "$issue" != graph ] || storage=(--storage kept)
    "$weir" replay --json --no-host-waits --device cuda:0 --repeat "$passes" --apart --issue "$issue" --met stream \
      "${storage[@]}" "${streams[@]}" >"$scratch/$round-$issue.json" || exit 1
  done
done
python3 - "$scratch" <<'TABLE'
import json
import statistics
import sys

ROUNDS, WAYS = (1, 2, 3), ("auto", "repeats", "graph")
read = {(r, w): {row["stream"]: row for row in json.load(open(f"{sys.argv[1]}/{r}-{w}.json"))} for r in ROUNDS for w in WAYS}
print("| stream | " + " | ".join(f"{w}, us a pass" for w in WAYS) + " | " +
      " | ".join(f"{w}, host ns a task" for w in WAYS) + " |")
for stream in read[1, "auto"]:
    def median(way, key):
        return statistics.median(read[r, way][stream][key] for r in ROUNDS)
    print("| " + stream + " | " + " | ".join(f"{median(w, 'pass_us'):.0f}" for w in WAYS) + " | " +
          " | ".join(f"{median(w, 'later_submit_ns_per_task'):.0f}" for w in WAYS) + " |")
TABLE
