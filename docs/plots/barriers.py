# SPDX-License-Identifier: Apache-2.0
"""Prints the tables of docs/guide/barriers.md: weir bench barriers --json | python3 docs/plots/barriers.py

The first has numbers of barriers, the second estimated times."""
import json
import sys

HAZARDS = ("by address", "by buffer")


def read_rows(text):
    """The rows as {unit: {stream: {runtime: value}}}."""
    units = {}
    for row in json.loads(text):
        if row["bench"] == "barriers":
            units.setdefault(row["unit"], {}).setdefault(row["case"], {})[row["runtime"]] = row["median"]
    if not units:
        sys.exit("barriers.py: no rows of `weir bench barriers --json` on standard input")
    return units


def print_table(streams, names, columns, precision):
    """`columns`: the runtimes, in the order of the headings in `names`."""
    print("| stream | " + " | ".join(names) + " |")
    print("|---|" + "---:|" * len(names))
    for stream, values in streams.items():
        print(f"| {stream} | " + " | ".join(f"{values[column]:.{precision}f}" for column in columns) + " |")
    sums = [sum(values[column] for values in streams.values()) for column in columns]
    print("| all | " + " | ".join(f"{value:.{precision}f}" for value in sums) + " |")


def main():
    units = read_rows(sys.stdin.read())
    names, columns = ["after each"], ["after each, by buffer"]
    for what, heading in (("look-ahead", "look-ahead"), ("fixed", "Weir, fixed order"), ("reordered", "Weir, reordered")):
        names += [f"{heading}, {hazards}" for hazards in HAZARDS]
        columns += [f"{what}, {hazards}" for hazards in HAZARDS]
    print_table(units["barriers"], names, columns, 0)
    print()
    names, columns = ["after each"], ["after each, by buffer"]
    for what, heading in (("look-ahead", "look-ahead"), ("fixed", "fixed order"), ("earliest levels", "earliest levels"),
                          ("reordered", "levels by time"), ("any count", "any number of levels")):
        names.append(heading)
        columns.append(f"{what}, by buffer")
    print_table(units["us estimated"], names, columns, 0)


if __name__ == "__main__":
    main()
