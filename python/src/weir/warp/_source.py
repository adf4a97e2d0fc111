# SPDX-License-Identifier: Apache-2.0
"""What Warp's kernels read and write, found in the CUDA source that Warp generates for a module.

Warp writes one statement a line, and gives each intermediate value a variable of its own. That makes the analysis
short: a variable that is an array, a pointer or a struct with arrays stands for the parameters that it can come from,
whatever the order of the statements; a call does to these parameters what is known of the function, or reads and writes
them.
Functions of the program are analysed in turn. A kernel of which that cannot be right is *opaque*, with a reason: its
launches keep their place.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Dict, FrozenSet, List, Optional, Set, Tuple

READ, WRITE = 1, 2

_HEADER = re.compile(
    r'^(?:static CUDA_CALLABLE ([^\n]*?)|extern "C" __global__ void(?:[^\n]*)) (\w+)\(\n?((?:[^{}])*?)\)\s*\n\{\n',
    re.MULTILINE,
)
_NEXT = re.compile(r'^(?:static CUDA_CALLABLE|extern "C"|struct) ', re.MULTILINE)
_STRUCT = re.compile(r"^struct (\w+)\n\{\n(.*?)\n\n", re.MULTILINE | re.DOTALL)
_PARAMETER = re.compile(r"^(.*?)\s*(&?)\s*(\w+)$", re.DOTALL)
_DECLARATION = re.compile(r"^(?:const )?([\w:]+(?:<.*>)?\s*\*?) ((?:var|ret)_\w+)(?: = (.*))?;$")
_ASSIGNMENT = re.compile(r"^(\*?)((?:var|ret)_\w+)((?:\.|->)[\w.]+)? [-+*/|&^%]?= (.*);$")
_OTHER_ASSIGNMENT = re.compile(r"[^=!<>]=[^=]")
_CALL = re.compile(r"([\w:@.]*(?:<[^()]*>)?)\s*\(([^()]*)\)")
_NAME = re.compile(r"(?:var|ret)_\w+|@\d+")
_ARRAY = re.compile(r"\b\w*array_t\b")
_EXTENT = re.compile(r"(var_\w+|@\d+)\.(?:shape|strides|ndim)\b")
_ADDRESS = re.compile(r"(var_\w+)\)?(?:\.|->)(?:data|grad)\b")

# Functions of Warp's that do with arrays no more than what is said. What they return may be part of their arguments.
_KNOWN = {
    "address": READ,
    "load": READ,
    "tile_load": READ,
    "tile_load_indexed": READ,
    "lower_bound": READ,
    "array_store": WRITE,
    "tile_store": WRITE,
    "tile_store_indexed": WRITE,
    "view": 0,
    "copy": 0,
    "where": 0,
    "select": 0,
    "len": 0,
    "print": READ,
    "printf": READ,
}
# Functions whose arguments are handles of memory that is not among the kernel's arguments.
_OPAQUE = re.compile(r"(?:mesh|bvh|hash_grid|volume|texture|marching|grid)_\w+")


class Opaque(Exception):
    """Why it is not known what a function accesses."""


@dataclass
class _Function:
    """A function of the source: its parameters' types and names, and its statements."""

    name: str
    returns: str
    parameters: List[Tuple[str, bool, str]]  # type, whether by reference, name
    body: str


@dataclass
class _Summary:
    """What a function does with each parameter, by position: bits of READ and WRITE."""

    modes: List[int]
    opaque: Optional[str] = None


@dataclass
class _State:
    """What is known of a function while it is analysed: of each variable its type, and the parameters behind it."""

    types: Dict[str, str] = field(default_factory=dict)
    roots: Dict[str, Set[int]] = field(default_factory=dict)
    modes: Dict[int, int] = field(default_factory=dict)
    inside: Set[str] = field(default_factory=set)  # pointers to elements of arrays
    changed: bool = False


_NONE: FrozenSet[int] = frozenset()


def _split(text: str) -> List[str]:
    """Arguments or parameters, at the commas that are in no brackets."""
    parts, depth, start = [], 0, 0
    for at, letter in enumerate(text):
        if letter in "<([{":
            depth += 1
        elif letter in ">)]}":
            depth -= 1
        elif letter == "," and depth <= 0:
            parts.append(text[start:at].strip())
            start = at + 1
    last = text[start:].strip()
    return parts + [last] if last else parts


class Module:
    """The kernels of a module, by its CUDA source."""

    def __init__(self, source: str) -> None:
        self._functions: Dict[str, List[_Function]] = {}
        self._summaries: Dict[str, _Summary] = {}
        self._structs = {name: body for name, body in _STRUCT.findall(source)}
        for header in _HEADER.finditer(source):
            returns, name, parameters = header.groups()
            if name.startswith("adj_"):
                continue
            following = _NEXT.search(source, header.end())
            body = source[header.end() : following.start() if following is not None else len(source)]
            found = [_PARAMETER.match(part) for part in _split(parameters)]
            known = [(m.group(1).strip(), m.group(2) == "&", m.group(3)) for m in found if m is not None]
            self._functions.setdefault(name, []).append(_Function(name, returns, known, body))

    def accesses(self, kernel: str) -> Dict[str, int]:
        """For each parameter of a kernel whose arrays it accesses, bits of READ and WRITE. ``kernel`` is its symbol.

        Raises Opaque if they are not known.
        """
        if kernel not in self._functions:
            raise Opaque(f"{kernel} is not in the source of its module")
        summary = self._summary(kernel)
        if summary.opaque is not None:
            raise Opaque(summary.opaque)
        parameters = self._functions[kernel][0].parameters
        return {name[len("var_") :]: mode for (_, _, name), mode in zip(parameters, summary.modes) if mode}

    def _holds(self, kind: str) -> bool:
        """Whether values of a type lead to memory of arrays."""
        kind = kind.replace("fixedarray_t", "")
        if "*" in kind or _ARRAY.search(kind):
            return True
        return any(self._holds(self._structs[name]) for name in re.findall(r"\w+", kind) if name in self._structs)

    def _summary(self, name: str) -> _Summary:
        if name not in self._summaries:
            found = [self._analyse(function) for function in self._functions[name]]
            modes = [0] * max(len(each.modes) for each in found)
            for each in found:
                for position, mode in enumerate(each.modes):
                    modes[position] |= mode
            opaque = next((each.opaque for each in found if each.opaque is not None), None)
            self._summaries[name] = _Summary(modes, opaque)
        return self._summaries[name]

    def _analyse(self, function: _Function) -> _Summary:
        state = _State()
        for position, (kind, _, name) in enumerate(function.parameters):
            state.types[name] = kind
            if self._holds(kind) and not name.startswith("ret_"):
                state.roots[name] = {position}
        if "//---------" not in function.body:  # of the program's own C++
            if any("int64" in kind for kind, _, _ in function.parameters):
                return _Summary([0] * len(function.parameters), f"{function.name} is C++ with addresses")
            return _Summary([READ | WRITE if self._holds(kind) else 0 for kind, _, _ in function.parameters])
        lines = [re.sub(r'"[^"]*"', "", line.split("//")[0]).strip() for line in function.body.split("\n")]
        opaque = None
        try:
            state.changed = True
            while state.changed:
                state.changed = False
                for line in lines:
                    self._statement(state, line)
            self._check_roots(state)
        except Opaque as reason:
            opaque = f"{function.name}: {reason}"
        return _Summary([state.modes.get(position, 0) for position in range(len(function.parameters))], opaque)

    def _check_roots(self, state: _State) -> None:
        for variable, kind in state.types.items():
            if _ARRAY.search(kind.replace("fixedarray_t", "")) and "*" not in kind and variable not in state.roots:
                raise Opaque(f"an array of memory that is no argument's ({kind})")

    def _statement(self, state: _State, line: str) -> None:
        declared = _DECLARATION.match(line)
        if declared is not None:
            kind, variable, value = declared.groups()
            state.types.setdefault(variable, kind)
            if value is not None:
                self._assign(state, variable, self._value(state, value))
            return
        assigned = _ASSIGNMENT.match(line)
        if assigned is None:
            if "var_" in line and _OTHER_ASSIGNMENT.search(line):
                raise Opaque(f"a statement that is not understood: {line}")
            self._value(state, line)
            return
        through, variable, member, value = assigned.groups()
        found = self._value(state, value)
        if through or (member and "*" in state.types.get(variable, "")):
            self._access(state, state.roots.get(variable, set()), WRITE)
        if not through:
            self._assign(state, variable, found)
            if not member and variable not in state.inside and self._is_inside(state, variable, value):
                state.inside.add(variable)
                state.changed = True

    @staticmethod
    def _is_inside(state: _State, variable: str, value: str) -> bool:
        """Whether a variable is a pointer into memory of an array, and not into a parameter."""
        if "*" not in state.types.get(variable, ""):
            return False
        return "wp::address(" in value or "wp::index(" in value or not state.inside.isdisjoint(_NAME.findall(value))

    def _assign(self, state: _State, variable: str, found: Set[int]) -> None:
        kind = state.types.get(variable, "")
        if found and (not kind or self._holds(kind) or kind.startswith("auto")):
            known = state.roots.setdefault(variable, set())
            state.changed |= not found <= known
            known |= found

    def _access(self, state: _State, roots: Set[int], mode: int) -> None:
        for root in roots:
            before = state.modes.get(root, 0)
            state.modes[root] = before | mode
            state.changed |= state.modes[root] != before

    def _roots(self, state: _State, text: str, temporaries: List[Set[int]]) -> Set[int]:
        found: Set[int] = set()
        for name in _NAME.findall(text):
            found |= temporaries[int(name[1:])] if name[0] == "@" else state.roots.get(name, _NONE)
        return found

    def _value(self, state: _State, text: str) -> Set[int]:
        """Does what an expression does, calls from the inside outwards, and returns the parameters behind its value."""
        for variable in _ADDRESS.findall(text):
            if _ARRAY.search(state.types.get(variable, "").replace("fixedarray_t", "")):
                raise Opaque("the address of an array's memory is taken")
        text = _EXTENT.sub("0", text)
        temporaries: List[Set[int]] = []
        while True:
            found = _CALL.search(text)
            if found is None:
                return self._roots(state, text, temporaries)
            temporaries.append(self._call(state, found.group(1), found.group(2), temporaries))
            text = f"{text[: found.start()]}@{len(temporaries) - 1}{text[found.end() :]}"

    def _call(self, state: _State, name: str, text: str, temporaries: List[Set[int]]) -> Set[int]:
        arguments = [self._roots(state, part, temporaries) for part in _split(text)]
        everything = self._roots(state, name, temporaries).union(*arguments)
        plain = re.sub(r"<.*>", "", name).rsplit("::", 1)[-1]
        if plain in self._functions and "::" not in name:
            self._call_own(state, plain, arguments, _split(text))
            return everything
        if name.startswith("wp::") and _OPAQUE.fullmatch(plain):
            raise Opaque(f"it calls wp.{plain}()")
        if not everything or plain in ("", "if", "while") or plain in self._structs:
            return everything
        if plain == "load" and any(name in state.inside for name in _NAME.findall(text)):
            self._check_element(state, text)
        if plain == "assign":
            for variable in _NAME.findall(_split(text)[0]):
                self._assign(state, variable, everything)
            return everything
        self._access(state, everything, _KNOWN.get(plain, READ | WRITE) if name.startswith("wp::") else READ | WRITE)
        return everything

    def _check_element(self, state: _State, text: str) -> None:
        """Elements of arrays lead to no other arrays: what these are is in memory alone."""
        for variable in _NAME.findall(text):
            if self._holds(state.types.get(variable, "").replace("*", "", 1)):
                raise Opaque("an array's elements have arrays of their own")

    def _call_own(self, state: _State, name: str, arguments: List[Set[int]], texts: List[str]) -> None:
        summary = self._summary(name)
        if summary.opaque is not None:
            raise Opaque(summary.opaque)
        everything: Set[int] = set().union(*arguments)
        for position, roots in enumerate(arguments):
            mode = summary.modes[position] if position < len(summary.modes) else READ | WRITE
            self._access(state, roots, mode)
        for function in self._functions[name]:
            for (_, by_reference, _), text in zip(function.parameters, texts):
                if by_reference:
                    for variable in _NAME.findall(text):
                        if variable[0] != "@":
                            self._assign(state, variable, everything)
