#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts the public functions of each header of include/weir, and who calls them.

    public_functions.py [--list]

Exits with 1 if weir.h and graph.h have more than MOST functions together, or if tests alone call a function: no tool,
example, benchmark, library on top of Weir or inline function of a header does. tests_alone.txt, beside this file, names functions of other
headers that may still be so. A name that is there without need is an error, too, so that the list can only shrink.
"""
import argparse
import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADERS = ROOT / "include" / "weir"
CORE, MOST = ("weir.h", "graph.h"), 65
# Where functions are used in earnest: also by a library that is built on Weir's public functions alone.
EARNEST = ("tools", "examples", "bench", "src/mpi")
SOURCE = {".c", ".h", ".cpp", ".cu", ".inc"}


def code_of(path):
    """A file's text without its comments."""
    text = path.read_text(encoding="utf-8")
    return re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.DOTALL)


def declared(text):
    """The exported and the inline functions of a header. NAME_sized is the exported half of NAME, and not counted."""
    exported = re.findall(r"^WEIR_API\b[^;(]*?\b(weir_\w+)\(", text, re.MULTILINE)
    inline = re.findall(r"^static inline\b[^;({]*?\b(weir_\w+)\(", text, re.MULTILINE)
    names = dict.fromkeys(exported + inline)
    return [name for name in names if not name.startswith("weir__") and not (
        name.endswith("_sized") and name[:-len("_sized")] in names)]


def called(text):
    return set(re.findall(r"\bweir_\w+(?=\()", text))


def callers():
    """By name of a function the folders, and headers, that call it."""
    found = collections.defaultdict(set)
    for folder in (*EARNEST, "tests"):
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in SOURCE:
                for function in called(code_of(path)):
                    if not (folder == "src/mpi" and function.startswith("weir_mpi_")):  # which it defines
                        found[function].add(folder)
    for path in HEADERS.rglob("*.hpp"):
        for function in set(re.findall(r"\bweir_\w+\b", code_of(path))):
            found[function].add(path.name)
    for path in HEADERS.glob("*.h"):
        for body in re.findall(r"^static inline\b[^;]*?\)\s*\{(.*?)^\}", code_of(path), re.DOTALL | re.MULTILINE):
            for function in called(body):
                found[function].add(path.name)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="print every function with its callers")
    options = parser.parse_args()
    allowed = set((pathlib.Path(__file__).parent / "tests_alone.txt").read_text(encoding="utf-8").split())
    users, errors, core = callers(), [], 0
    for path in sorted(HEADERS.glob("*.h")):
        if path.name == "kernel.h":
            continue  # a language for kernels, not functions of the library
        names = declared(code_of(path))
        core += len(names) if path.name in CORE else 0
        print(f"{path.name:12} {len(names):3} functions")
        for name in names:
            earnest = users[name] - {"tests"}
            if options.list:
                print(f"    {name:40} {' '.join(sorted(users[name]))}")
            if earnest and name in allowed:
                errors.append(f"{name} has callers: take it off tools/api/tests_alone.txt")
            elif not earnest and (path.name in CORE or name not in allowed):
                users_now = "tests alone" if users[name] else "nobody"
                errors.append(f"{name} of {path.name} is called by {users_now}: an example or a tool should call it, "
                              "or it should go")
            allowed.discard(name)
    errors += [f"{name} of tools/api/tests_alone.txt is in no header" for name in sorted(allowed)]
    print(f"{' and '.join(CORE)}: {core} of at most {MOST}")
    if core > MOST:
        errors.append(f"{' and '.join(CORE)} have {core} functions, more than {MOST}")
    for error in errors:
        print(f"error: {error}")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
