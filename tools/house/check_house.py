#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the source code against the plan of its folders.

check_house.py BUILD: reads the table "Folders" of docs/inside/architecture.md, which says for each folder of src which
others it may use, and the limits of tools/house/limits.txt. It checks
- that no file includes a header of a folder that its own may not use;
- that no object file of BUILD refers to a symbol of such a folder;
- that devices take no more names from the layers above them than the limit says;
- that no circle of files that call each other is larger than the limit;
- that src has no more thread-locals than the limit.
Prints what is wrong, one finding a line, and the figures. Exits 1 when something is wrong, and also when a figure is below its
limit: then the limit is to be lowered.
"""
import collections
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGE = os.path.join(ROOT, "docs", "inside", "architecture.md")
LIMITS = os.path.join(ROOT, "tools", "house", "limits.txt")
ABOVE_DEVICES = ("engine", "graph", "api", "split", "pipeline", "nccl")


def read_plan(page):
    """{folder: set of folders that it may use}, from the rows "| `folder` | ... | `a` `b` |" under the heading Folders."""
    plan = {}
    with open(page, encoding="utf-8") as text:
        lines = text.read().split("## Folders", 1)[1].split("\n## ", 1)[0].splitlines()
    for line in lines:
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        name = re.fullmatch(r"`src/([a-z_/]+)`", cells[0])
        if name:
            plan[name.group(1)] = set(re.findall(r"`([a-z_/]+)`", cells[-1]))
    return plan


def folder_of(path, plan):
    """The folder of the plan that a path below src is in; "" if there is none."""
    folder = os.path.dirname(path)
    while folder and folder not in plan:
        folder = os.path.dirname(folder)
    return folder


def sources():
    for folder, _, names in os.walk(os.path.join(ROOT, "src")):
        for name in sorted(names):
            if name.endswith((".c", ".h")):
                yield os.path.relpath(os.path.join(folder, name), os.path.join(ROOT, "src"))


def check_includes(plan):
    for path in sources():
        own = folder_of(path, plan)
        if not own:
            yield f"src/{path}: its folder is not in the table"
            continue
        with open(os.path.join(ROOT, "src", path), encoding="utf-8") as text:
            for number, line in enumerate(text, 1):
                found = re.match(r'#include "([^"]+)"', line)
                if not found or not os.path.exists(os.path.join(ROOT, "src", found.group(1))):
                    continue  # a public header, or one that is generated
                other = folder_of(found.group(1), plan)
                if other != own and other not in plan[own]:
                    yield f"src/{path}:{number}: src/{own} may not use src/{other}"


def read_objects(build):
    """({file: symbols that it defines}, {file: symbols that it needs}), files by their path below src, without ending."""
    top = os.path.join(build, "src", "CMakeFiles", "weir_objects.dir")
    paths = [path for folder, _, names in os.walk(top) for name in names if name.endswith(".c.o")
             for path in [os.path.relpath(os.path.join(folder, name), top)] if os.path.exists(os.path.join(ROOT, "src", path[:-2]))]
    defined, needed = ({path[:-2]: set() for path in paths} for _ in range(2))
    if paths:
        listing = subprocess.run(["nm", "-g", "-A", *paths], cwd=top, capture_output=True, text=True, check=True)
        for line in listing.stdout.splitlines():
            path, _, symbol = line.partition(".o:")
            kind, symbol = symbol.split()[-2:]
            (needed if kind in "Uw" else defined)[path].add(symbol)
    return defined, needed


def link(defined, needed):
    """{file: {file that defines it: symbols}}"""
    owner = {symbol: path for path, symbols in defined.items() for symbol in symbols}
    calls = {path: collections.defaultdict(set) for path in defined}
    for path, symbols in needed.items():
        for symbol in symbols:
            if owner.get(symbol, path) != path:
                calls[path][owner[symbol]].add(symbol)
    return calls


def is_allowed(own, symbol):
    """The two exceptions: devices report to their host; public functions are called like a program calls them."""
    if own.split("/")[0] in ("device", "issue"):
        return symbol.startswith("weir__host_")
    return own in ("split", "pipeline", "graph", "nccl") and not symbol.startswith("weir__")


def check_calls(plan, calls):
    for path, others in sorted(calls.items()):
        own = folder_of(path, plan)
        for other, symbols in sorted(others.items()):
            target = folder_of(other, plan)
            wrong = sorted(symbol for symbol in symbols if not is_allowed(own, symbol))
            if wrong and target != own and target not in plan.get(own, ()):
                yield f"src/{path}: calls {', '.join(wrong)} of src/{target}"


def circles(calls):
    """Files that call each other in a circle, the largest circle first (Tarjan, 1972)."""
    index, low, stack, on_stack, found = {}, {}, [], set(), []

    def visit(path):
        index[path] = low[path] = len(index)
        stack.append(path)
        on_stack.add(path)
        for other in calls[path]:
            if other not in index:
                visit(other)
                low[path] = min(low[path], low[other])
            elif other in on_stack:
                low[path] = min(low[path], index[other])
        if low[path] == index[path]:
            circle = []
            while not circle or circle[-1] != path:
                circle.append(stack.pop())
                on_stack.discard(circle[-1])
            found.append(sorted(circle))

    sys.setrecursionlimit(10000)
    for path in calls:
        if path not in index:
            visit(path)
    return sorted((circle for circle in found if len(circle) > 1), key=len, reverse=True)


def names_from_above(calls):
    return sorted({symbol for path, others in calls.items() if path.startswith(("device/", "issue/"))
                   for other, symbols in others.items() if other.split("/")[0] in ABOVE_DEVICES for symbol in symbols})


def thread_locals():
    count = 0
    for path in sources():
        with open(os.path.join(ROOT, "src", path), encoding="utf-8") as text:
            count += sum("_Thread_local" in line and "extern" not in line for line in text)
    return count


def read_limits():
    limits = {}
    with open(LIMITS, encoding="utf-8") as text:
        for line in text:
            if line.strip() and not line.startswith("#"):
                name, value = line.split(":")
                limits[name.strip()] = int(value)
    return limits


def main():
    if len(sys.argv) != 2:
        print("usage: check_house.py BUILD", file=sys.stderr)
        return 2
    plan = read_plan(PAGE)
    calls = link(*read_objects(sys.argv[1]))
    if not plan or not calls:
        print(f"no folders in {PAGE}" if not plan else f"no object files in {sys.argv[1]}")
        return 1
    findings = list(check_includes(plan)) + list(check_calls(plan, calls))
    found, names = circles(calls), names_from_above(calls)
    figures = {"names that devices take from above": len(names), "files in the largest circle": len(found[0]) if found else 1,
               "thread-locals": thread_locals()}
    for name, limit in read_limits().items():
        print(f"{name}: {figures[name]} (limit {limit})")
        if figures[name] > limit:
            findings.append(f"{name}: {figures[name]}, more than {limit}")
        elif figures[name] < limit:
            findings.append(f"{name}: {figures[name]}; lower the limit in tools/house/limits.txt, which is {limit}")
    print("names: " + ", ".join(names))
    for circle in found[:3]:
        print(f"circle of {len(circle)}: " + ", ".join(circle))
    for finding in findings:
        print(finding)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
