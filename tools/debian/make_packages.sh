#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# make_packages.sh FOLDER: builds the Debian packages of this source tree, by debian/, into FOLDER; lets lintian check
# them, whose errors are failures and whose warnings are shown; and tries what is in them (tests/install/test_packages.sh).
set -eu
folder=$1
root=$(cd "$(dirname "$0")/../.." && pwd)

# In a copy: dpkg-buildpackage writes into the tree and beside it.
rm -rf "$folder"
mkdir -p "$folder/weir"
folder=$(cd "$folder" && pwd)
tar -C "$root" --exclude=./.git --exclude=./build --exclude='./build-*' -cf - . | tar -C "$folder/weir" -xf -

# The compiler of the packages is Debian's, without launchers that the environment names.
unset CMAKE_C_COMPILER_LAUNCHER CMAKE_CXX_COMPILER_LAUNCHER
echo "deb: building in $folder"
if ! (cd "$folder/weir" && dpkg-buildpackage --unsigned-changes --build=binary) >"$folder/build.log" 2>&1; then
  tail -n 40 "$folder/build.log" >&2
  exit 1
fi

echo "deb: lintian"
lintian --allow-root --fail-on error "$folder"/*.changes

"$root/tests/install/test_packages.sh" "$folder" "$root"
ls "$folder"/*.deb
