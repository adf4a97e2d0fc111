#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a compiled program relies on, compared with what is recorded in abi.txt beside this file.

    abi.py [--update | --break] CC SOURCE

Recorded are the functions that the headers export with what they take, the size of each public struct with the offset and size of its members, and
the values of enumerators, as the compiler's debug information has them. --update records what is new. What is recorded
already must stay: --break records a change of it, with which programs have to be compiled anew.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HANDED_OUT = {"weir_work", "weir_token", "weir_device_info", "weir_split_view"}
RECORD = pathlib.Path(__file__).parent / "abi.txt"
HEAD = """# SPDX-License-Identifier: Apache-2.0
# What compiled programs rely on, by abi.py --update: exported functions; structs with their sizes, and members with offsets and
# sizes; enumerators. 64-bit Linux.
"""
CHANGED = """
This breaks programs that are compiled already (include/weir/weir.h, "Growth"):
- A struct that calls take or fill with its size gains members at its end only, and loses none.
- A struct with members `reserved` keeps its size: a new member takes the place of a reserved one.
- Functions keep their parameters, and enumerators their values.
If it has to be, raise the soname and record it with abi.py --break CC SOURCE."""
ADDED = "\nNew, and not recorded: run tests/install/abi.py --update CC SOURCE, and commit abi.txt."


def headers(source):
    return sorted(path.name for path in (pathlib.Path(source) / "include" / "weir").glob("*.h") if path.name != "kernel.h")


def debug_information(cc, source):
    """Entries of the debug information: (depth, tag, attributes), of a program that includes all headers."""
    with tempfile.TemporaryDirectory() as folder:
        program, made = os.path.join(folder, "all.c"), os.path.join(folder, "all.o")
        with open(program, "w", encoding="utf-8") as file:
            file.writelines(f"#include <weir/{name}>\n" for name in headers(source))
        keep = ["-fno-eliminate-unused-debug-types"] if "clang" not in subprocess.run(
            [cc, "--version"], capture_output=True, text=True, check=True).stdout else ["-fstandalone-debug",
                                                                                       "-fno-eliminate-unused-debug-types"]
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
            name = re.match(r"\((?:indirect string|alt indirect string|indexed string|indirect line string|strp|strx\w*)[^)]*\):\s*(.*)", value)
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
    """The structs that may become longer: those that are passed with their size, and those that Weir hands out by pointer."""
    sized = " ".join(value for name, value in lines.items() if name.endswith("_sized"))
    return HANDED_OUT | set(re.findall(r"\b(weir_\w+) \*, size_t", sized))


def grows(name, before, now, lines):
    """Whether a change is one that programs do not see: a struct that is longer, or a reserved member that is shorter."""
    kind, what = name.split()
    if kind == "struct":
        return what in growing(lines) and int(now) > int(before)
    if kind == "member" and what.endswith(".reserved"):
        (at, size), (new_at, new_size) = map(int, before.split()), map(int, now.split())
        return at <= new_at and new_at + new_size <= at + size
    return False


def compare(before, now):
    changed, added = [], []
    for name, value in before.items():
        if name not in now:
            if not name.endswith(".reserved"):
                changed.append(f"gone: {name} {value}")
        elif now[name] != value:
            (added if grows(name, value, now[name], now) else changed).append(f"was {name} {value}, is {now[name]}")
    added += [f"new: {name} {value}" for name, value in now.items() if name not in before]
    return changed, added


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--update", action="store_true", help="record what is new")
    parser.add_argument("--break", action="store_true", dest="broken", help="record changes of what is recorded, too")
    parser.add_argument("cc")
    parser.add_argument("source")
    options = parser.parse_args()
    now = found(options.cc, options.source)
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
