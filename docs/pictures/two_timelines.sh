#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# two_timelines.sh ABOVE.html BELOW.html NANOSECONDS OUT.png: a picture of two timelines, one above the other, on the same
# scale of time from 0 to NANOSECONDS. Needs chromium. For docs/guide/cuda.md:
#
#   weir replay examples/streams/hrnet_w18.jsonl --device cuda --issue serial --timeline serial.html
#   weir replay examples/streams/hrnet_w18.jsonl --device cuda --met stream --timeline auto.html
set -e
if [ $# -ne 4 ]; then
  echo "usage: $0 ABOVE.html BELOW.html NANOSECONDS OUT.png" >&2
  exit 2
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# A page shows no time past its own end, and all lanes; in the copies it does, and only lanes that were used.
copy() {
  sed -e "s|whole = this\.model\.end|whole = $3|" -e "s|this\.model\.end + this\.margin - span|$3 + this.margin - span|" \
    -e "s|perBin = this\.model\.end|perBin = $3|" -e "s|time / this\.model\.end|time / $3|" \
    -e "s|this\.lanes = lanes\.flat()|this.lanes = lanes.flat().filter((lane) => lane.items.length > 0)|" "$1" > "$2"
  if [ "$(grep -c -e "whole = $3" -e "$3 + this.margin" -e "perBin = $3" -e "time / $3" -e "lane.items.length > 0)" "$2")" -lt 5 ]; then
    echo "$0: $1 is not a timeline that this script knows" >&2
    exit 1
  fi
}
copy "$1" "$folder/above.html" "$3"
copy "$2" "$folder/below.html" "$3"
cat > "$folder/page.html" <<PAGE
<!doctype html><meta charset="utf-8"><style>
body { margin: 0 } iframe { border: 0; display: block; width: 1400px } hr { margin: 0; border: 1px solid #888 }
</style>
<iframe style="height: 260px" src="above.html#from=0&to=$3"></iframe><hr>
<iframe style="height: 500px" src="below.html#from=0&to=$3"></iframe>
PAGE
chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --allow-file-access-from-files --window-size=1400,762 \
  --virtual-time-budget=5000 --screenshot="$4" "file://$folder/page.html" 2>/dev/null
test -s "$4"
