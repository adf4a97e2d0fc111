#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# install_packages.sh GROUP...: installs the Debian packages of these groups of tools/packages.txt that are missing, and
# says first which these are. Does nothing, without the network, when all are there. Exits 3 when packages cannot be
# installed.
set -eu
list="$(dirname "$0")/../packages.txt"

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  echo "set-up: this is no Debian system; what is needed must be there already (tools/packages.txt lists it)"
  exit 0
fi

# Packages of the groups that the arguments name, one a line.
wanted="$(awk -v names="$*" '
  BEGIN { count = split(names, list); for (i = 1; i <= count; i++) is_wanted[list[i]] = 1 }
  !/^#/ { count = split($1, list, ","); for (i = 1; i <= count; i++) if (list[i] in is_wanted) { print $2; next } }' "$list")"

missing=""
for package in $wanted; do
  case "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)" in
    installed) ;;
    *) missing="$missing $package" ;;
  esac
done
if [ -z "$missing" ]; then
  echo "set-up: all packages are there"
  exit 0
fi

as_root=""
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "set-up: packages are missing, and neither root nor sudo is at hand. As root, run:" >&2
    echo "  apt-get install$missing" >&2
    exit 3
  fi
  as_root="sudo"
fi

echo "set-up: installing these Debian packages${as_root:+ with sudo}, and what they depend on:"
for package in $missing; do
  awk -v package="$package" '!/^#/ && $2 == package {
    printf "  %-24s", $2; for (i = 3; i <= NF; i++) printf " %s", $i; print ""; exit }' "$list"
done
log="$(mktemp)"
trap 'rm -f "$log"' EXIT
apt() { $as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y "$@" >>"$log" 2>&1; }
apt update || echo "set-up: the list of packages could not be renewed; going on with the one that is there"
# shellcheck disable=SC2086 # one word per package
if ! apt install --no-install-recommends $missing; then
  tail -n 20 "$log" >&2
  for package in $missing; do
    apt install --no-install-recommends "$package" || echo "set-up: cannot install $package" >&2
  done
  exit 3
fi
echo "set-up: packages are installed"
