# SPDX-License-Identifier: Apache-2.0
"""Runs a notebook without Jupyter: run_notebook.py NOTEBOOK, in a fresh interpreter.

Its cells of code run in their order, in one namespace. The value of a last line that is an expression is shown as a
notebook would show it: by its picture if it has one, or else by repr. A cell with the tag "card" runs where there is a
CUDA device. Writes a line "ran: NAME" or "skipped: NAME" for each cell; an exception ends it.
"""

import ast
import json
import sys
import traceback
import types
from typing import Any, Dict, List


def is_for_a_card(cell: Dict[str, Any]) -> bool:
    """Whether a cell needs a CUDA device."""
    return "card" in cell["metadata"].get("tags", [])


def code_cells(path: str) -> List[Dict[str, Any]]:
    """The cells of code in a notebook."""
    with open(path, encoding="utf-8") as text:
        return [cell for cell in json.load(text)["cells"] if cell["cell_type"] == "code"]


def show(value: Any) -> None:
    """As a notebook shows the value of a cell."""
    for method in ("_repr_html_", "_repr_svg_"):
        if hasattr(value, method):
            print(f"{type(value).__name__}: {len(getattr(value, method)())} characters")
            return
    if value is not None:
        print(repr(value))


def run_cell(source: str, name: str, names: Dict[str, Any]) -> None:
    """Runs the code of a cell; tracebacks have its lines."""
    import linecache

    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    tree = ast.parse(source, name)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, name, "exec"), names)
    if last is not None:
        show(eval(compile(ast.Expression(last.value), name, "eval"), names))  # type: ignore[attr-defined]


def main(path: str, card: bool) -> None:
    """Runs the notebook."""
    module = types.ModuleType("__main__")
    sys.modules["__main__"] = module  # that functions of the notebook can be found
    for cell in code_cells(path):
        if is_for_a_card(cell) and not card:
            print(f"skipped: {cell['id']}")
            continue
        try:
            run_cell("".join(cell["source"]), f"{path}, cell {cell['id']}", module.__dict__)
        except BaseException:
            traceback.print_exc()  # with the lines of the cell, which the interpreter itself does not find
            sys.exit(1)
        print(f"ran: {cell['id']}", flush=True)


if __name__ == "__main__":
    import weir

    main(sys.argv[1], any(one.kind == "cuda" and one.available for one in weir.info().kinds))
