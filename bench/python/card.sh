#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What of the Python package needs a CUDA card, in under ten minutes: all tests of weir.torch and weir.warp, the cells of
# the notebooks for a card, and a step of MuJoCo Warp in one world.
#
# Usage: bench/python/card.sh RESULTS
#   RESULTS  a folder for the logs and warp_models.json; it is made
#
# python3 must find weir, PyTorch, NumPy and pytest; without warp or mujoco_warp their parts are skipped, and it says so.
# Each part has a limit of its own. Prints a line for each, and ends with 1 if one failed or was skipped.
set -u
[ $# = 1 ] || { sed -n '3,10s/^# \{0,1\}//p' "$0"; exit 2; }
root=$(cd "$(dirname "$0")/../.." && pwd)
mkdir -p "$1" && results=$(cd "$1" && pwd) || exit 1
tests=$root/python/tests
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1 # where no folder is named like a package
export PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
failed=0

# part NAME SECONDS COMMAND...: runs it, keeps what it prints, and says how it ended.
part() {
  local name=$1 limit=$2 began=$SECONDS code
  shift 2
  timeout -k 5 "$limit" "$@" >"$results/$name.log" 2>&1
  code=$?
  [ $code = 0 ] || failed=1
  echo "== $name: exit code $code after $((SECONDS - began)) s: $(tail -n 1 "$results/$name.log")"
  [ $code = 0 ] || tail -n 40 "$results/$name.log"
}

has() { python3 -c "import importlib.util, sys; sys.exit(importlib.util.find_spec('$1') is None)"; }
missing() { echo "== $1: skipped: python3 finds no $2"; failed=1; }

suite() {
  local name=$1 limit=$2
  shift 2
  part "$name" "$limit" python3 -m pytest -rs -p no:cacheprovider -c "$root/python/pyproject.toml" "$@"
}

nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null
compiling=
if has mujoco_warp; then # the kernels are compiled while tests run, and kept where Warp keeps them
  (timeout 300 python3 "$root/bench/python/warp_models.py" humanoid/humanoid:1 --steps 1 --passes 1 >"$results/compile.log" 2>&1) &
  compiling=$!
fi
if has torch; then suite torch 170 "$tests"/test_torch*.py; else missing torch torch; fi
if has warp; then suite warp 110 "$tests"/test_warp*.py; else missing warp warp; fi
suite notebooks 100 "$tests/test_notebooks.py"
if [ -n "$compiling" ]; then
  wait "$compiling"
  part warp_models 120 python3 "$root/bench/python/warp_models.py" --priorities --json humanoid/humanoid:1
  mv "$results/warp_models.log" "$results/warp_models.json"
  python3 - "$results/warp_models.json" <<'TABLE' || failed=1
import json
import sys

text = open(sys.argv[1]).read()  # Warp says first what it loads
for row in json.loads(text[text.index("{\n"):])["rows"]:
    ways = ("warp", "weir", "with_priorities", "without_priorities")
    times = ", ".join(f"{way} {row[way]['median']:.1f}" for way in ways)
    print(f"{row['model']}, {row['worlds']} worlds, us a step: {times}; ratio {row['ratio']:.2f}; positions differ by"
          f" {row['difference']:.2g}, Warp's own by {row['difference_of_warp']:.2g}; {row['report']}")
TABLE
else
  missing warp_models mujoco_warp
fi
exit $failed
