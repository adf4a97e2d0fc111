#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares what compiled programs rely on with what abi.txt, beside this file, records.

    abi.py [--update | --break] CC SOURCE [LIBRARY]

The record has the exported functions and the types of callbacks with their parameters, the sizes of public structs,
the offsets and sizes of members, and the values of enumerators. Layouts come from the debug information that CC writes.
With LIBRARY, a libweir.so, its exported symbols must be the functions of the headers, no more and no less. Each public
struct must follow one of the rules at the top of include/weir/weir.h ("Growth").

--update records what is new. Recorded entries must stay: --break records a change of them, too, after which programs
have to be compiled anew.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

# Structs that grow because the library makes them and programs see pointers to them only.
HANDED_OUT = {"weir_work", "weir_profile_event", "weir_token", "weir_device_info", "weir_split_view",
              "weir_enqueue", "weir_cuda_nodes"}
# Structs that never change; weir.h names them.
FIXED = {"weir_box", "weir_vulkan_constant", "weir_vulkan_queue", "weir_split_part", "weir_split_measure", "weir_split_way",
         "weir_cuda_range"}
RECORD = pathlib.Path(__file__).parent / "abi.txt"
# A string in readelf's output.
STRING = re.compile(r"\((?:(?:alt )?indirect (?:line )?string|indexed string|strp|strx\w*)[^)]*\):\s*(.*)")
HEAD = """# SPDX-License-Identifier: Apache-2.0
# What compiled programs rely on, by abi.py --update: exported functions, types of callbacks, structs with their sizes,
# members with their offsets and sizes, and enumerators. 64-bit Linux.
"""
CHANGED = """
This breaks programs that are compiled already (include/weir/weir.h, "Growth"):
- A struct that calls take or fill with its size gains members at its end only, and loses none.
- A struct with members `reserved` keeps its size: a new member takes the place of a reserved one.
- No member lies where a compiled program's struct has padding, whose bytes are not 0.
- Functions keep their parameters, and enumerators their values. A function that gave nothing may give a status.
If it has to be, raise the soname and record it with abi.py --break CC SOURCE."""
ADDED = "\nNew, and not recorded: run tests/install/abi.py --update CC SOURCE, and commit abi.txt."
UNRULED = """
A public struct must be able to grow (include/weir/weir.h, "Growth"). A struct that a call takes or fills is passed with
its size by an inline function. An element of an array, or a member of another struct, has members `reserved`."""


def headers(source):
    """The headers of the library. kernel.h has macros and inline functions for programs, which export nothing."""
    paths = (pathlib.Path(source) / "include" / "weir").glob("*.h")
    return sorted(path.name for path in paths if path.name != "kernel.h")


def debug_information(cc, source):
    """Entries of the debug information: (depth, tag, attributes), of a program that includes all headers."""
    with tempfile.TemporaryDirectory() as folder:
        program, made = os.path.join(folder, "all.c"), os.path.join(folder, "all.o")
        with open(program, "w", encoding="utf-8") as file:
            file.writelines(f"#include <weir/{name}>\n" for name in headers(source))
        keep = ["-fno-eliminate-unused-debug-types"]
        if "clang" in subprocess.run([cc, "--version"], capture_output=True, text=True, check=True).stdout:
            keep.append("-fstandalone-debug")
        subprocess.run([cc, "-std=c11", "-g", "-c", *keep, "-I", os.path.join(source, "include"), program, "-o", made],
                       check=True)
        text = subprocess.run(["readelf", "--debug-dump=info", made], capture_output=True, text=True, check=True).stdout
    entries = []
    for line in text.splitlines():
        entry = re.match(r"\s*<(\w+)><(\w+)>: Abbrev Number: \d+ \(DW_TAG_(\w+)\)", line)
        attribute = re.match(r"\s*<\w+>\s+DW_AT_(\w+)\s*:\s*(.*?)\s*$", line)
        if entry:
            entries.append((int(entry.group(1), 16), entry.group(2), entry.group(3), {}))
        elif attribute and entries:
            value = attribute.group(2)
            name = re.match(STRING, value)
            entries[-1][3][attribute.group(1)] = name.group(1) if name else value
    return entries


def number(text):
    return int(re.match(r"(?:\(\w+\)\s*)?(-?\w+)", text).group(1), 0)


class Types:
    """Sizes of types, by where they are in the debug information."""

    def __init__(self, entries):
        self.of = {place: (tag, attributes) for _, place, tag, attributes in entries}
        self.bounds = {}
        above = []
        for depth, place, tag, attributes in entries:
            above = above[:depth] + [place]
            if tag == "subrange_type" and depth > 0:
                count = number(attributes["count"]) if "count" in attributes else number(attributes["upper_bound"]) + 1
                self.bounds.setdefault(above[depth - 1], []).append(count)

    def size(self, reference):
        place = re.match(r"<0x(\w+)", reference).group(1)
        tag, attributes = self.of[place]
        if tag == "pointer_type":
            return 8
        if tag == "array_type":
            total = self.size(attributes["type"])
            for count in self.bounds[place]:
                total *= count
            return total
        return number(attributes["byte_size"]) if "byte_size" in attributes else self.size(attributes["type"])


def prototype(gives, takes):
    """What a function gives and takes, without names of parameters."""
    types = [re.sub(r"\b\w+$", "", " ".join(parameter.split())) if " " in parameter.strip() else parameter.strip()
             for parameter in takes.split(",")]
    return f"{gives.strip()} ({', '.join(one.strip() for one in types)})"


def found(cc, source):
    """What there is now: lines by name."""
    lines = {}
    for name in headers(source):
        text = (pathlib.Path(source) / "include" / "weir" / name).read_text(encoding="utf-8")
        for gives, function, takes in re.findall(r"^WEIR_API ([^;()]*?)\b(weir_\w+)\(([^;]*)\);", text, re.MULTILINE):
            lines[f"function {function}"] = prototype(gives, takes)
        for gives, callback, takes in re.findall(r"^typedef ([^;()]*?)\(\*(weir_\w+)\)\(([^;]*)\);", text, re.M):
            lines[f"callback {callback}"] = prototype(gives, takes)
    entries = debug_information(cc, source)
    types, inside = Types(entries), None
    for depth, place, tag, attributes in entries:
        if tag == "enumerator" and attributes["name"].startswith("WEIR_"):
            lines[f"enumerator {attributes['name']}"] = str(number(attributes["const_value"]))
        if depth == 1:
            inside = attributes.get("name") if tag == "structure_type" and "byte_size" in attributes else None
            if inside and inside.startswith("weir_"):
                lines[f"struct {inside}"] = str(number(attributes["byte_size"]))
        elif depth == 2 and tag == "member" and inside and inside.startswith("weir_"):
            at = number(attributes["data_member_location"])
            lines[f"member {inside}.{attributes.get('name', '(unnamed)')}"] = f"{at} {types.size(attributes['type'])}"
    return lines


def recorded():
    lines = {}
    for line in RECORD.read_text(encoding="utf-8").splitlines() if RECORD.exists() else []:
        if not line.startswith("#"):
            kind, name, *rest = line.split()
            lines[f"{kind} {name}"] = " ".join(rest)
    return lines


def growing(lines):
    """The structs that may become longer: those passed with their size, and those that Weir hands out by pointer."""
    sized = " ".join(value for name, value in lines.items() if name.endswith("_sized"))
    return HANDED_OUT | set(re.findall(r"\b(weir_\w+) \*, size_t", sized))


def unruled(lines, growth):
    """Public structs that no rule lets grow, and rules that have lost their struct. `growth` is the text of weir.h."""
    structs = {name.split()[1] for name in lines if name.startswith("struct ")}
    reserving = {name.split()[1].split(".")[0] for name in lines if name.endswith(".reserved")}
    ruled = growing(lines) | reserving | FIXED
    unnamed = {one for one in FIXED if not re.search(rf"\b{one}\b", growth)}
    return ([f"struct {one} has no rule for its growth" for one in sorted(structs - ruled)] +
            [f"abi.py names {one}, which is no public struct" for one in sorted((HANDED_OUT | FIXED) - structs)] +
            [f"weir.h does not say that {one} stays as it is" for one in sorted(unnamed)])


def not_exported(library, lines):
    """Differences between the symbols that a library exports and the functions of the headers."""
    text = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    exported = {line.split()[-1] for line in text.splitlines()}
    declared = {name.split()[1] for name in lines if name.startswith("function ")}
    declared = {name for name in declared if not name.startswith("weir_mpi_")}  # of libweir-mpi, which test_install.py checks
    return ([f"exported by {library}, but in no header: {name}" for name in sorted(exported - declared)] +
            [f"in a header, but not exported by {library}: {name}" for name in sorted(declared - exported)])


def grows(name, before, now, lines):
    """Whether programs do not see a change: a struct that is longer, a reserved member that is shorter, or a status from a
    function that gave nothing."""
    kind, what = name.split()
    if kind == "function":
        return before.startswith("void (") and now == before.replace("void", "weir_status", 1)
    if kind == "struct":
        return what in growing(lines) and int(now) > int(before)
    if kind == "member" and what.endswith(".reserved"):
        (at, size), (new_at, new_size) = map(int, before.split()), map(int, now.split())
        return at <= new_at and new_at + new_size <= at + size
    return False


def in_padding(name, before, now):
    """Whether a new member lies in what was padding of a struct that programs make."""
    kind, what = name.split()
    struct = what.split(".")[0]
    if kind != "member" or struct in HANDED_OUT or f"struct {struct}" not in before:
        return False
    at, size = map(int, now[name].split())
    reserved = before.get(f"member {struct}.reserved")
    if reserved:
        start, length = map(int, reserved.split())
        return not start <= at <= at + size <= start + length
    return at < int(before[f"struct {struct}"])


def compare(before, now):
    changed, added = [], []
    for name, value in before.items():
        if name not in now:
            if not name.endswith(".reserved"):
                changed.append(f"gone: {name} {value}")
        elif now[name] != value:
            (added if grows(name, value, now[name], now) else changed).append(f"was {name} {value}, is {now[name]}")
    for name, value in now.items():
        if name not in before:
            (changed if in_padding(name, before, now) else added).append(f"new: {name} {value}")
    return changed, added


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--update", action="store_true", help="record what is new")
    parser.add_argument("--break", action="store_true", dest="broken", help="record changes of what is recorded, too")
    parser.add_argument("cc")
    parser.add_argument("source")
    parser.add_argument("library", nargs="?")
    options = parser.parse_args()
    now = found(options.cc, options.source)
    growth = (pathlib.Path(options.source) / "include" / "weir" / "weir.h").read_text(encoding="utf-8")
    symbols, without = not_exported(options.library, now) if options.library else [], unruled(now, growth)
    if symbols or without:
        print("\n".join(symbols + without) + (UNRULED if without else ""))
        return 1
    changed, added = compare(recorded(), now)
    if options.broken or (options.update and not changed):
        RECORD.write_text(HEAD + "".join(f"{name} {value}".rstrip() + "\n" for name, value in sorted(now.items())),
                          encoding="utf-8")
        return 0
    print("\n".join(changed + added + [f"{len(now)} entries"]))
    if changed:
        print(CHANGED)
    elif added:
        print(ADDED)
    return 1 if changed or added else 0


if __name__ == "__main__":
    sys.exit(main())
