#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# test_packages.sh FOLDER SOURCE: unpacks the Debian packages in FOLDER into one root and uses them there: a program is built
# against the development files through pkg-config, with either library, and runs; the command replays a stream; dependences
# are those that are linked. `make deb` runs it.
set -eu
folder=$1 source=$2
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT

fail() {
  echo "test_packages: $*" >&2
  exit 1
}

# A field of a package.
field() {
  dpkg-deb --field "$folder/$1"_[0-9]*.deb "$2"
}

# Files of a package that are not documentation, one a line.
files() {
  dpkg-deb --fsys-tarfile "$folder/$1"_[0-9]*.deb | tar -t | grep -v -e '/$' -e '^./usr/share/doc/'
}

for package in libweir0 libweir-dev libweir-mpi0 libweir-mpi-dev weir-tools; do
  [ "$(ls "$folder/$package"_[0-9]*.deb | wc -l)" = 1 ] || fail "there must be one $package"
  dpkg-deb --extract "$folder/$package"_[0-9]*.deb "$root"
  [ -s "$root/usr/share/doc/$package/copyright" ] || fail "$package has no copyright file"
done
library=$(dirname "$(ls "$root"/usr/lib/*/libweir.so.0)")

# Each file is in the package that it belongs in.
[ -z "$(files libweir0 | grep -v '^./usr/lib/[^/]*/libweir\.so\.0')" ] || fail "libweir0 has more than the shared library"
[ -z "$(files libweir-mpi0 | grep -v '^./usr/lib/[^/]*/libweir-mpi\.so\.0')" ] ||
  fail "libweir-mpi0 has more than the shared library"
files libweir-mpi-dev | grep -q "^./usr/lib/[^/]*/weir/weir-replay-ranks" || fail "libweir-mpi-dev has no weir-replay-ranks"
[ -z "$(files libweir-dev | grep -e '/mpi\.h$' -e 'weir-mpi')" ] || fail "libweir-dev has parts of libweir-mpi"
[ -z "$(files weir-tools | grep -v -e '^./usr/bin/weir\(-check\)\?$' -e '^./usr/share/man/man1/')" ] ||
  fail "weir-tools has more than the tools and their manuals"
for part in include/weir/weir.h share/doc/libweir-dev/README.md share/doc/libweir-dev/examples/quickstart.c; do
  [ -s "$root/usr/$part" ] || fail "libweir-dev has no $part"
done

# What is linked, and nothing that is loaded at run time.
case "$(field libweir0 Depends)" in
  "libc6 (>="*")") ;;
  *) fail "libweir0 depends on $(field libweir0 Depends)" ;;
esac
case "$(field weir-tools Depends)" in
  *hwloc* | *OpenCL* | *vulkan*) fail "weir-tools depends on $(field weir-tools Depends)" ;;
esac
[ "$(field libweir-dev Depends)" = "libweir0 (= $(field libweir0 Version))" ] || fail "libweir-dev fits another libweir0"

case "$(field libweir-mpi-dev Depends)" in
  "libweir-mpi0 (= $(field libweir-mpi0 Version)), libweir-dev (= $(field libweir-dev Version)), mpi-default-dev, "*) ;; # and libraries
  *) fail "libweir-mpi-dev depends on $(field libweir-mpi-dev Depends)" ;;
esac

# A program, with either library.
export PKG_CONFIG_PATH=$library/pkgconfig
program=$source/examples/quickstart.c
shared=$(pkg-config --cflags --libs weir)
static=$(pkg-config --cflags --libs --static weir | sed 's/-lweir/-l:libweir.a/')
# shellcheck disable=SC2086 # flags are words
cc -std=c11 -Wall -Wextra -Werror "$program" -o "$root/shared" $shared
# shellcheck disable=SC2086
cc -std=c11 -Wall -Wextra -Werror "$program" -o "$root/static" $static
LD_LIBRARY_PATH=$library ldd "$root/shared" | grep -q "$library/libweir.so.0" || fail "the program does not use libweir0"
LD_LIBRARY_PATH=$library "$root/shared" | grep -q "^WEIR_OK" || fail "the program with the shared library failed"
"$root/static" | grep -q "^WEIR_OK" || fail "the program with the static library failed"

# A program over ranks; one rank needs no mpirun.
mpi=$(pkg-config --cflags --libs weir-mpi)
# shellcheck disable=SC2086
mpicc -std=c11 -Wall -Wextra "$source/examples/mpi/heat.c" -o "$root/heat" $mpi -lm
OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 LD_LIBRARY_PATH=$library "$root/heat" >/dev/null ||
  fail "the program over ranks failed"

# The command, on a stream that libweir-dev has.
stream=$root/usr/share/doc/libweir-dev/examples/streams/squeezenet.jsonl
"$root/usr/bin/weir" replay "$stream" --device sim:ideal --check --timeline "$root/timeline.json" >/dev/null ||
  fail "weir replay failed"
"$root/usr/bin/weir-check" "$root/timeline.json" "$stream" >/dev/null || fail "weir-check failed"
echo "test_packages: the packages install, and programs build against them"
