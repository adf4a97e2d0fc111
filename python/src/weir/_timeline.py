# SPDX-License-Identifier: Apache-2.0
"""Timelines: when each task ran, and where."""

import os
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Tuple, Union

from weir import _core

if TYPE_CHECKING:
    from weir._context import Context

_COLOURS = (
    "#4e79a7",
    "#f28e2b",
    "#59a14f",
    "#b07aa1",
    "#76b7b2",
    "#edc948",
    "#9c755f",
    "#ff9da7",
    "#86bcb6",
    "#bab0ac",
)
_FAILED = "#e15759"
_WIDTH, _ROW, _LEFT, _TOP = 960, 22, 130, 26


class Timeline:
    """The record of a context with trace=True, made by Context.timeline. Notebooks show it as a picture.

    Every method waits for all tasks first.
    """

    def __init__(self, context: "Context") -> None:
        self._context = context

    def save(self, path: Union[str, "os.PathLike[str]"], title: Optional[str] = None) -> None:
        """Writes a file: ".json" (for `weir timeline`, Perfetto and `weir check`) or ".jsonl" (for `weir plan`)."""
        _core.trace_save(self._context, os.fsencode(path), title)

    def clear(self) -> None:
        """Discards what was recorded so far."""
        _core.trace_clear(self._context)

    def json(self) -> Dict[str, Any]:
        """The timeline in the format of docs/inside/timeline-json.md."""
        import json
        import tempfile

        with tempfile.TemporaryDirectory(prefix="weir-") as folder:
            path = os.path.join(folder, "timeline.json")
            self.save(path)
            with open(path, encoding="utf-8") as text:
                loaded: Dict[str, Any] = json.load(text)
        return loaded

    def _lanes(self) -> Tuple[List[str], List[Tuple[int, Dict[str, Any]]]]:
        record = self.json()
        used: Dict[Tuple[int, int], List[Dict[str, Any]]] = {}
        devices = record["weir"]["devices"]
        for event in record["traceEvents"]:
            if event.get("cat") == "task" and event.get("ph") == "X":
                used.setdefault((event["pid"], event["tid"]), []).append(event)
        names, spans = [], []
        for row, (pid, tid) in enumerate(sorted(used)):
            names.append(f"{devices[pid]['name']} {devices[pid]['lane']} {tid}")
            spans += [(row, event) for event in used[pid, tid]]
        return names, spans

    def _repr_svg_(self) -> str:
        import html

        names, spans = self._lanes()
        start = min((one["ts"] for _, one in spans), default=0.0)
        end = max((one["ts"] + one["dur"] for _, one in spans), default=1.0)
        scale = (_WIDTH - _LEFT - 10) / max(end - start, 1e-3)
        colours: Dict[str, str] = {}
        height = _TOP + _ROW * max(len(names), 1) + 6
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" '
            f'viewBox="0 0 {_WIDTH} {height}" font-family="sans-serif" font-size="11">',
            f'<text x="4" y="15">{len(spans)} tasks in {end - start:.1f} us</text>',
        ]
        for row, name in enumerate(names):
            y = _TOP + row * _ROW
            parts.append(f'<text x="4" y="{y + 14}">{html.escape(name)}</text>')
            parts.append(
                f'<line x1="{_LEFT}" x2="{_WIDTH - 10}" y1="{y + _ROW - 2}" y2="{y + _ROW - 2}" stroke="#ddd"/>'
            )
        for row, one in spans:
            kernel = one["args"].get("kernel", "")
            group = one["name"] if kernel == "host" else kernel
            colour = colours.setdefault(group, _COLOURS[len(colours) % len(_COLOURS)])
            if one["args"].get("status") != "WEIR_OK":
                colour = _FAILED
            tip = f"#{one['args'].get('id')} {one['name']}: {one['dur']:.1f} us, {one['args'].get('status')}"
            parts.append(
                f'<rect x="{_LEFT + (one["ts"] - start) * scale:.2f}" y="{_TOP + row * _ROW}" '
                f'width="{max(one["dur"] * scale, 0.5):.2f}" height="{_ROW - 4}" fill="{colour}">'
                f"<title>{html.escape(tip)}</title></rect>"
            )
        parts.append("</svg>")
        return "\n".join(parts)

    def _repr_html_(self) -> str:
        return f'<div style="overflow-x:auto">{self._repr_svg_()}</div>'
