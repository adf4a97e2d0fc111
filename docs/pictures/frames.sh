#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# frames.sh TONEMAP_FRAMES IMAGES OUT.png [DEVICES [WIDTH,HEIGHT]]: a picture of the timeline of frames on their way
# through a pipeline. Needs chromium, and the weir command beside the program. For docs/tutorials/tonemap.md, from the top of
# the source tree:
#
#   docs/pictures/frames.sh build/bin/tonemap-frames examples/images docs/pictures/frames.png
set -e
if [ $# -lt 3 ] || [ $# -gt 5 ]; then
  echo "usage: $0 TONEMAP_FRAMES IMAGES OUT.png [DEVICES [WIDTH,HEIGHT]]" >&2
  exit 2
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$1" --devices "${4:-cpu:1,opencl}" --frames 12 --lines 4 --rounds 1 --crop 512x256 --timeline "$folder/page.json" "$2"/*.exr
"$(dirname "$1")/weir" timeline "$folder/page.json" >/dev/null
chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --allow-file-access-from-files \
  --window-size="${5:-1400,600}" --virtual-time-budget=5000 --screenshot="$3" "file://$folder/page.html" 2>/dev/null
test -s "$3"
