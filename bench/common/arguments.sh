# SPDX-License-Identifier: Apache-2.0
# Sourced by the scripts that measure a machine. parse_arguments "$@" sets binaries, output, commit and device to the values of
# options of these names, '' for those not given; quick to 1 or ''; and the array arguments to the rest. --help prints the script's
# head, up to the first line that is no comment. Ends the script with 2 on bad usage.
binaries='' output='' commit='' device='' quick='' arguments=()

parse_arguments() {
  local name
  name=$(basename "$0")
  while [ $# -gt 0 ]; do
    case $1 in
    --binaries | --output | --commit | --device)
      grep -q "^#   $1 " "$0" || { echo "$name: unknown option $1; see --help" >&2; exit 2; }
      [ $# -ge 2 ] || { echo "$name: $1 needs a value" >&2; exit 2; }
      printf -v "${1#--}" %s "$2"
      shift 2
      ;;
    --quick) quick=1; shift ;;
    --help) sed -n '3,${/^#/!q;s/^# \{0,1\}//p}' "$0"; exit 0 ;;
    -*) echo "$name: unknown option $1; see --help" >&2; exit 2 ;;
    *) arguments+=("$1"); shift ;;
    esac
  done
}

# The arguments as recorded streams, all of examples/streams by default, in the array streams. Ends the script with 2 if one cannot be
# read. Needs root.
choose_streams() {
  streams=("${arguments[@]}")
  [ ${#streams[@]} -gt 0 ] || streams=("$root"/examples/streams/*.jsonl)
  local stream
  for stream in "${streams[@]}"; do
    [ -r "$stream" ] || { echo "$(basename "$0"): $stream cannot be read" >&2; exit 2; }
  done
}
