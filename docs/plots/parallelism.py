# SPDX-License-Identifier: Apache-2.0
"""Draws docs/plots/parallelism.svg: weir bench parallelism --json | python3 docs/plots/parallelism.py

One panel per stream, all on one scale: parallelism against window size, by address and by buffer. `--table` prints
the numbers as a Markdown table instead.
"""
import json
import math
import re
import sys

SERIES = (("by buffer", "#1f6fb4"), ("by address", "#c8541b"))
STROKES = {"by buffer": 2.2, "by address": 4.4}  # the one below shows where both are the same
COLUMNS, PANEL_WIDTH, PANEL_HEIGHT = 3, 300, 190
LEFT, TOP, GAP_X, GAP_Y = 62, 96, 26, 62
TEXT, GRID, FRAME = "#222222", "#e3e3e3", "#8a8a8a"


def read_rows(text):
    """The rows as {stream: {runtime: {window: parallelism}}}."""
    streams = {}
    for row in json.loads(text):
        match = re.fullmatch(r"(.+) window (\d+)", row["case"])
        if row["bench"] == "parallelism" and match:
            series = streams.setdefault(match[1], {}).setdefault(row["runtime"], {})
            series[int(match[2])] = row["median"]
    if not streams:
        sys.exit("parallelism.py: no rows of `weir bench parallelism --json` on standard input")
    return streams


def last_value(streams, name):
    series = streams[name]["by buffer"]
    return series[max(series)]


def escape(text):
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


class Panel:
    def __init__(self, left, top, windows, top_value):
        self.left, self.top = left, top
        self.windows, self.top_value = windows, top_value

    def x(self, window):
        first, last = math.log2(self.windows[0]), math.log2(self.windows[-1])
        return self.left + PANEL_WIDTH * (math.log2(window) - first) / (last - first)

    def y(self, value):
        return self.top + PANEL_HEIGHT * (self.top_value - value) / (self.top_value - 1)

    def frame(self, name):
        yield (f'<text x="{self.left}" y="{self.top - 10}" font-size="15" font-weight="600" fill="{TEXT}">'
               f"{escape(name)}</text>")
        for value in range(1, int(self.top_value) + 1):
            y = self.y(value)
            yield f'<line x1="{self.left}" y1="{y:.1f}" x2="{self.left + PANEL_WIDTH}" y2="{y:.1f}" stroke="{GRID}"/>'
            yield (f'<text x="{self.left - 8}" y="{y + 4:.1f}" font-size="12" text-anchor="end" fill="{TEXT}">'
                   f"{value}x</text>")
        for index, window in enumerate(self.windows):
            x, bottom = self.x(window), self.top + PANEL_HEIGHT
            yield f'<line x1="{x:.1f}" y1="{bottom}" x2="{x:.1f}" y2="{bottom + 4}" stroke="{FRAME}"/>'
            if index % 3 == 0:
                yield (f'<text x="{x:.1f}" y="{bottom + 18}" font-size="12" text-anchor="middle" fill="{TEXT}">'
                       f"{window}</text>")
        yield (f'<rect x="{self.left}" y="{self.top}" width="{PANEL_WIDTH}" height="{PANEL_HEIGHT}" fill="none" '
               f'stroke="{FRAME}"/>')

    def series(self, values, colour, stroke, label_shift):
        points = [(self.x(window), self.y(value)) for window, value in sorted(values.items())]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        yield f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="{stroke}"/>'
        for x, y in points:
            yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.8" fill="{colour}"/>'
        x, y = points[-1]
        yield (f'<text x="{x - 4 - label_shift:.1f}" y="{y - 8:.1f}" font-size="12" font-weight="600" '
               f'text-anchor="end" fill="{colour}">{values[max(values)]:.2f}x</text>')

    def draw(self, name, rows):
        yield from self.frame(name)
        buffer, address = (rows[runtime][max(rows[runtime])] for runtime, _ in SERIES)
        near = abs(self.y(buffer) - self.y(address)) < 18  # then the labels stand side by side
        for runtime, colour in reversed(SERIES):
            yield from self.series(rows[runtime], colour, STROKES[runtime],
                                   48 if near and runtime == "by address" else 0)


def draw(streams):
    names = sorted(streams, key=lambda name: (-last_value(streams, name), name))
    windows = sorted(next(iter(streams.values()))["by buffer"])
    top_value = math.ceil(max(last_value(streams, name) for name in names) + 0.1)
    width = LEFT + COLUMNS * PANEL_WIDTH + (COLUMNS - 1) * (GAP_X + 16) + 24
    rows = -(-len(names) // COLUMNS)
    height = TOP + rows * PANEL_HEIGHT + (rows - 1) * GAP_Y + 56
    yield (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
           'font-family="Helvetica, Arial, DejaVu Sans, sans-serif">')
    yield '<rect width="100%" height="100%" fill="#ffffff"/>'
    yield (f'<text x="{LEFT}" y="30" font-size="19" font-weight="600" fill="{TEXT}">'
           "How much may overlap, against the size of the window</text>")
    x = LEFT
    for runtime, colour in SERIES:
        meaning = "renamed" if runtime == "by buffer" else "memory reused as recorded"
        yield f'<line x1="{x}" y1="51" x2="{x + 26}" y2="51" stroke="{colour}" stroke-width="2.6"/>'
        yield f'<text x="{x + 34}" y="56" font-size="14" fill="{TEXT}">{runtime} ({meaning})</text>'
        x += 190
    yield (f'<text x="{width - 24}" y="56" font-size="13" text-anchor="end" fill="{TEXT}">'
           "time one after another / makespan, hardware without limits</text>")
    for index, name in enumerate(names):
        left = LEFT + index % COLUMNS * (PANEL_WIDTH + GAP_X + 16)
        top = TOP + index // COLUMNS * (PANEL_HEIGHT + GAP_Y)
        yield from Panel(left, top, windows, top_value).draw(name, streams[name])
    yield (f'<text x="{width / 2}" y="{height - 12}" font-size="13" text-anchor="middle" fill="{TEXT}">'
           "window: tasks in flight at most (logarithmic)</text>")
    yield "</svg>"


def table(streams):
    windows = sorted(next(iter(streams.values()))["by buffer"])
    yield "| stream | hazards | " + " | ".join(map(str, windows)) + " |"
    yield "|---|---|" + "---:|" * len(windows)
    for name in sorted(streams):
        for runtime, _ in reversed(SERIES):
            cells = (f"{streams[name][runtime][window]:.2f}" for window in windows)
            yield f"| {name} | {runtime} | " + " | ".join(cells) + " |"


if __name__ == "__main__":
    found = read_rows(sys.stdin.read())
    if sys.argv[1:] == ["--table"]:
        print("\n".join(table(found)))
    else:
        with open(__file__.removesuffix(".py") + ".svg", "w", encoding="utf-8") as file:
            file.write("\n".join(draw(found)) + "\n")
