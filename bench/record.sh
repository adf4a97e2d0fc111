#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs all benchmarks and records what they gave: bench/results/DATE-MACHINE.json and a table next to it, .md.
#
# Usage: bench/record.sh [BUILD-FOLDER [MACHINE]]
# BUILD-FOLDER (default build) holds bin/weir, built with CMAKE_BUILD_TYPE=Release. MACHINE (default: the CPU's name
# and number) names the machine. Let nothing else run meanwhile; it takes about three minutes.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "${1:-$here/../build}" && pwd)
machine=${2:-$(python3 "$here/record.py" machine)}
kind=$(sed -n 's/^CMAKE_BUILD_TYPE:[A-Z]*=//p' "$build/CMakeCache.txt")
if [ "$kind" != Release ] && [ "$kind" != RelWithDebInfo ]; then
  echo "record.sh: $build is a ${kind:-plain} build; numbers are recorded from a Release build only" >&2
  exit 2
fi
output=$here/results/$(date -u +%Y-%m-%d)-$machine
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
status=0
cd "$here/.." # for the sample streams
"$build/bin/weir" bench --json >"$scratch/results" 2>"$scratch/notes" || status=$?
cat "$scratch/notes" >&2
python3 "$here/record.py" write "$output" "$machine" "$scratch/results" "$scratch/notes"
exit $status
