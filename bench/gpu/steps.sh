# SPDX-License-Identifier: Apache-2.0
# What run.sh and run_vulkan.sh share: where programs are, and steps with a time limit. To be sourced by bash, with these set:
# root, here, binaries (or empty), scratch (a folder), device, streams (an array), MOST_SECONDS (of all steps together), and, before
# the first step, measure_start and weir (the program).

# ---------------------------------------------------------------------------------------------------------------
# Programs

build() {
  binaries=$scratch/build
  echo "building in $binaries" >&2
  { cmake -S "$root" -B "$binaries" -DCMAKE_BUILD_TYPE=Release -DWEIR_BUILD_TESTS=ON -DWEIR_BUILD_BENCH=ON \
      -DWEIR_BUILD_EXAMPLES=ON &&
    cmake --build "$binaries" --parallel "$(nproc)"; } >"$scratch/build.log" 2>&1 && return
  tail -20 "$scratch/build.log" >&2
  echo "$(basename "$0"): the build failed" >&2
  exit 1
}

# Path of a program; nothing if it is not there.
program() {
  local folder
  for folder in "$binaries" "$binaries/bin" "$binaries/tests"; do
    if [ -f "$folder/$1" ] && [ -x "$folder/$1" ]; then
      echo "$folder/$1"
      return
    fi
  done
}

# ---------------------------------------------------------------------------------------------------------------
# Steps: each has a name and a time limit in seconds; what it prints goes to NAME.out and NAME.err. Where WEIR_PATIENCE is set, all
# limits are so many times as long: in tests on machines that are busy.
MOST_SECONDS=$((MOST_SECONDS * ${WEIR_PATIENCE:-1}))

# note NAME STATUS SECONDS TEXT: a line for the table. STATUS: ok, failed, missing.
note() { printf '%s\t%s\t%s\t%s\n' "$1" "$2" "$3" "$4" >>"$scratch/steps"; }

# The last line of a file that says something.
last_line() { grep -v '^[[:space:]]*$' "$1" | tail -n 1 | tr '\t' ' ' | cut -c 1-200; }

# step NAME LIMIT PROGRAM ARGUMENT...
step() {
  local name=$1 limit=$(($2 * ${WEIR_PATIENCE:-1})) command=$3 path status=0 start=$SECONDS left=$((measure_start + MOST_SECONDS - SECONDS)) text
  shift 3
  path=$(program "$command")
  [ -n "$path" ] || path=$(command -v "$command" || true)
  if [ -z "$path" ]; then
    note "$name" missing 0 "there is no program $command"
    return
  fi
  [ "$left" -ge "$limit" ] || limit=$left
  if [ "$limit" -le 0 ]; then
    note "$name" failed 0 "no time was left"
    return
  fi
  echo "$name" >&2
  (cd "$root" && timeout --kill-after=5 "$limit" "$path" "$@") >"$scratch/$name.out" 2>"$scratch/$name.err" || status=$?
  text=$(last_line "$scratch/$name.err")
  [ -n "$text" ] || text=$(last_line "$scratch/$name.out")
  case $status in
  0) note "$name" ok $((SECONDS - start)) "" ;;
  3) note "$name" missing $((SECONDS - start)) "$text" ;;
  77) note "$name" missing $((SECONDS - start)) "$text" ;;
  124 | 137) note "$name" failed $((SECONDS - start)) "longer than $limit s" ;;
  *) note "$name" failed $((SECONDS - start)) "exit code $status: $text" ;;
  esac
}

each() { # NAME LIMIT OPTION...: first passes, every stream in a process of its own
  local name=$1 limit=$2
  shift 2
  step "$name" "$limit" python3 "$here/each.py" "$weir" --no-host-waits --device "$device" --apart --issue auto "$@" -- \
    "${streams[@]}"
}
