#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""doxygen_filter.py HEADER: prints a public header with its plain comments as Doxygen's, line by line.

- The comment on top is the file's. In it a line that an indented one follows becomes an item of a list. Before weir.h's
  comes the main page.
- A comment before declarations is that of each of them, up to the next blank line, but of those that the comment on top
  names.
- A comment behind a member or an enumerator is its own, or that of all that the line declares. It goes on in the lines
  below that have a comment in the same column.
- Indented lines after an empty line of a comment are code.
- A ruler, a line of dashes, begins a group; the comment that follows is its title, and after the first line its text.
- Comments inside functions, and empty ones, are left out.

doxygen_filter.py --check HEADER...: exit code 1, and their names, if functions, types or macros have no comment and the
comment on top does not name them.
"""
import os
import re
import sys

RULER = re.compile(r"// -{20,}$")
COMMENT = re.compile(r"\s*//")
BEHIND = re.compile(r'^((?:[^"/]|"(?:[^"\\]|\\.)*"|/(?!/))*\S)\s*//\s?(.*)$')
MEMBERS = re.compile(r"^(\s+)((?:const )?\w+) (\**\w+(?:\[\w+\])?(?:, \**\w+(?:\[\w+\])?)+);$")
MAIN_PAGE = """This is the reference of Weir's interface, made from its headers. Begin with weir.h, which says what holds
for all of them. [Files](files.html) lists the headers, [Modules](modules.html) their parts. The pages in docs/ tell how to
use it all.""".replace("\n", " ")
DECLARATION = re.compile(r"(?:WEIR_API .*?\b(weir_\w+)\(|typedef .*\(\*(weir_\w+)\)|typedef struct \w+ (weir_\w+);|"
                         r"typedef (?:struct|enum) (weir_\w+) \{|#define (WEIR_(?!_)\w+|weir_(?!_)\w+))")


class Filter:
    def __init__(self, name, lines):
        self.name = name
        self.lines = lines
        self.groups = 0
        self.in_group_text = False   # the lines that follow are a group's title or text
        self.on_top = True           # in the comment on top
        self.code_text = False       # in lines of a comment that are code
        self.shared = None           # the declaration whose comment those that follow share; "": not known yet
        self.column = None           # of the comment behind the line before
        self.depth = 0               # of braces
        self.in_function = False
        self.bare = []               # declarations without a comment

    def is_comment(self, index):
        return index < len(self.lines) and COMMENT.match(self.lines[index]) is not None

    def text(self, index):
        """What a line's comment says, with its indentation; None if the line is no comment."""
        match = re.match(r"\s*// ?(.*)$", self.lines[index]) if index < len(self.lines) else None
        return match.group(1) if match else None

    def comment(self, index):
        """A line that is nothing but a comment."""
        line = self.lines[index]
        if self.in_function:
            return ""
        if index == 0:
            return "/** @mainpage" if self.name == "weir_h" else "///"
        if index == 1:
            return (MAIN_PAGE + " */ " if self.name == "weir_h" else "") + "/// @file"
        if self.column is not None and line.index("//") == self.column:
            return line.replace("//", "///<", 1)
        self.shared = "" if self.depth == 0 else None
        margin, text, below = line[:line.index("//")] + "/// ", self.text(index), self.text(index + 1)
        self.code_text = text.startswith("  ") and (self.code_text or not self.text(index - 1))
        if self.code_text:
            return margin + "    " + text
        if self.on_top and below is not None and below.startswith("    ") and text and text[0] not in " -":
            return f"{margin}- `{text}`:"
        return margin + (text[2:] if self.on_top and text.startswith("    ") else text)

    def code(self, line):
        """A line with code, and perhaps a comment behind it."""
        before = self.share(line) if self.depth == 0 else ""
        self.follow_braces(line)
        match = BEHIND.match(line)
        if match is None:
            return before + line
        code, text = match.groups()
        if self.in_function or not text or re.match(r"#(?!define)", code):
            return before + code
        members = MEMBERS.match(code)
        if members is None:
            return f"{before}{code} ///< {text}"
        margin, kind, names = members.groups()
        *first, last = names.split(", ")
        return margin + "".join(f"{kind} {name}; /**< {text} */ " for name in first) + f"{kind} {last}; ///< {text}"

    def share(self, line):
        """What goes before a declaration that has no comment of its own, but one that it shares."""
        match = DECLARATION.match(line)
        if match is None:
            return ""
        name = next(name for name in match.groups() if name)
        if self.shared is None:
            self.bare.append(name)
            return ""
        if self.shared == "":
            self.shared = name
            return ""
        if name == self.shared or self.on_top_names(name):
            return ""
        return f"/** @copydoc {self.shared} */ "

    def follow_braces(self, line):
        bare = re.sub(r'"(?:[^"\\]|\\.)*"|//.*', "", line)
        if self.depth == 0 and bare.rstrip().endswith("{") and ")" in bare:
            self.in_function = True
        if 'extern "C"' not in line:
            self.depth += bare.count("{") - bare.count("}")
        if self.depth <= 0:
            self.depth = 0
            self.in_function = self.in_function and "}" not in bare

    def blank(self):
        self.shared = None
        if self.in_group_text:
            self.in_group_text = False
            return "/** @{ */"
        return ""

    def group(self):
        """The ruler of a group."""
        self.in_group_text = True
        self.groups += 1
        return "/** @} */" if self.groups > 1 else ""

    def title(self, line):
        return f"/// @defgroup {self.name}_{self.groups} {COMMENT.sub('', line).strip()}"

    def run(self):
        after_ruler = False
        for index, line in enumerate(self.lines):
            column = None
            self.on_top = self.on_top and self.is_comment(index)
            if RULER.match(line) and self.is_comment(index + 1):
                yield self.group()
                after_ruler = True
                continue
            if after_ruler:
                yield self.title(line)
                after_ruler = False
            elif self.is_comment(index):
                yield self.comment(index)
                column = self.column if self.column is not None and line.index("//") == self.column else None
            elif line.strip():
                yield self.code(line)
                column = line.index("//") if BEHIND.match(line) else None
            else:
                yield self.blank()
            self.column = column
        if self.groups > 0:
            yield "/** @} */"

    def on_top_names(self, name):
        top = [line for line in self.lines[:self.lines.index("")] if COMMENT.match(line)]
        return re.search(rf"\b{name}\b", "\n".join(top)) is not None


def read(path):
    with open(path, encoding="utf-8") as header:
        return Filter(re.sub(r"\W", "_", os.path.basename(path)), header.read().splitlines())


def check(paths):
    bare = []
    for path in paths:
        header = read(path)
        list(header.run())
        bare += [f"{path}: {name} has no comment" for name in header.bare if not header.on_top_names(name)]
    print("\n".join(bare), end="\n" if bare else "")
    return 1 if bare else 0


def main():
    if sys.argv[1] == "--check":
        return check(sys.argv[2:])
    print("\n".join(read(sys.argv[1]).run()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
