#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes src/device/vulkan/api.h, the part of Khronos's vulkan_core.h that Weir uses, or checks that it is up to date.

The library must build where no Vulkan header is, so this part is kept among its sources. Whoever uses another name of
Vulkan in src/ installs the header (Debian: libvulkan-dev) and runs this program.

    make_declarations.py [--check] [--header /usr/include/vulkan/vulkan_core.h]

--check compares and changes nothing: exit 1 if they differ, 77 if there is no header of the version that was used.
"""
import argparse
import pathlib
import re
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parents[2]
OUTPUT = ROOT / "src/device/vulkan/api.h"
WIDTH = 120

HEAD = """\
// SPDX-License-Identifier: Apache-2.0
//
// The part of Vulkan's binary interface that Weir uses, so that it builds without Vulkan's headers. Made from Khronos's
// vulkan_core.h, version {version}, by tools/vulkan/make_declarations.py:
//   Copyright 2015-2023 The Khronos Group Inc.
// A source may include <vulkan/vulkan_core.h> before this header, and then gets nothing from here.
#ifndef WEIR_DEVICE_VULKAN_API_H
#define WEIR_DEVICE_VULKAN_API_H

#ifndef VULKAN_CORE_H_
#include <stddef.h>
#include <stdint.h>

// Objects of a device are pointers where pointers have 64 bits, and numbers elsewhere.
#if UINTPTR_MAX == UINT64_MAX
#define WEIR__VULKAN_OBJECT(name) typedef struct name##_T *name;
#define VK_NULL_HANDLE NULL
#else
#define WEIR__VULKAN_OBJECT(name) typedef uint64_t name;
#define VK_NULL_HANDLE 0
#endif

// clang-format off
"""
TAIL = """\
// clang-format on

#undef WEIR__VULKAN_OBJECT
#endif

#endif // WEIR_DEVICE_VULKAN_API_H
"""
GIVEN = {"VK_NULL_HANDLE"}  # by HEAD

NAME = re.compile(r"\b(?:Vk|VK_|PFN_vk)\w+")
ENUM = re.compile(r"typedef enum (\w+) \{(.*?)\} \w+;", re.DOTALL)
RECORD = re.compile(r"typedef (?:struct|union) (\w+) \{.*?\} \w+;", re.DOTALL)
POINTER = re.compile(r"typedef [\w ]+\*? *\(VKAPI_PTR \*(PFN_\w+)\)\(.*?\);", re.DOTALL)
ALIAS = re.compile(r"^typedef \w+ (Vk\w+);", re.MULTILINE)
HANDLE = re.compile(r"^VK_DEFINE_(NON_DISPATCHABLE_)?HANDLE\((\w+)\)", re.MULTILINE)
MACRO = re.compile(r"^#define (VK_\w+)(\([^)]*\))?[ \t]+(.+)$", re.MULTILINE)


def without_comments(text):
    return re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)


def names_in(text):
    """Names of Vulkan in C code without comments; of a function, the type of a pointer to it."""
    text = re.sub(r'"[^"\n]*"', "", text)
    return set(NAME.findall(text)) | {f"PFN_{name}" for name in re.findall(r"\bvk[A-Z]\w+", text)}


def used_names():
    """Names of Vulkan in the library's sources."""
    sources = sorted((ROOT / "src").glob("**/*.[ch]"))
    return set().union(*(names_in(without_comments(path.read_text())) for path in sources if path != OUTPUT))


class Header:
    """Declarations of vulkan_core.h by name, in the order of the file."""

    def __init__(self, text):
        self.version = re.search(r"#define VK_HEADER_VERSION (\d+)", text).group(1)
        text = without_comments(text.replace("\\\n", " "))
        self.texts = {}       # name: declaration, except enums
        self.enums = {}       # enum: {value: number as text}
        self.enum_of = {}     # value: its enum
        self.places = {}      # name: where it stands
        for match in MACRO.finditer(text):
            self.add(match, match.group(1), " ".join(match.group(0).split()))
        for match in ALIAS.finditer(text):
            self.add(match, match.group(1), match.group(0))
        for match in HANDLE.finditer(text):
            kind, name = match.groups()
            self.add(match, name, f"WEIR__VULKAN_OBJECT({name})" if kind else f"typedef struct {name}_T *{name};")
        for pattern in (RECORD, POINTER):
            for match in pattern.finditer(text):
                body = " ".join(match.group(0).replace("VKAPI_PTR ", "").split())
                self.add(match, match.group(1), re.sub(r"\( | \)", lambda space: space.group(0).strip(), body))
        for match in ENUM.finditer(text):
            self.add_enum(match)

    def add(self, match, name, text):
        self.texts.setdefault(name, text)
        self.places.setdefault(name, match.start())

    def add_enum(self, match):
        values = {}
        for value, number in re.findall(r"(\w+) = ([-\w]+)", match.group(2)):
            values[value] = values.get(number, number)
            self.enum_of[value] = match.group(1)
        self.enums[match.group(1)] = values
        self.places[match.group(1)] = match.start()

    def needed(self, names):
        """These names, and all that their declarations name, as far as they are the header's."""
        found, open_names = set(), set(names) - GIVEN
        while open_names:
            name = open_names.pop()
            owner = self.enum_of.get(name)
            if name in found or not (owner or name in self.texts or name in self.enums):
                continue
            found.add(name)
            open_names |= {owner} if owner else names_in(self.texts.get(name, ""))
        return found

    def declarations(self, names):
        needed = self.needed(names)
        for name in sorted(needed - self.enum_of.keys(), key=self.places.get):
            yield self.enum_text(name, needed) if name in self.enums else self.texts[name]

    def enum_text(self, name, needed):
        values = [f"{value} = {number}" for value, number in self.enums[name].items()
                  if value in needed or re.search(r"_MAX_ENUM(_[A-Z]+)?$", value)]
        return f"typedef enum {name} {{ {', '.join(values)} }} {name};"


def wrapped(text):
    """Its lines; a value and a member stay together."""
    if text.startswith("#"):
        lines = textwrap.wrap(text, WIDTH - 2, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
        return [line + " \\" for line in lines[:-1]] + lines[-1:]
    text = re.sub(r" (\w+(\[\w+\])*[;,)])", "\0\\1", text.replace(" = ", "\0=\0"))
    lines = textwrap.wrap(text, WIDTH, subsequent_indent="  ", break_long_words=False,
                          break_on_hyphens=False)
    return [line.replace("\0", " ") for line in lines]


def make(header):
    lines = [line for text in header.declarations(used_names()) for line in wrapped(text)]
    return HEAD.format(version=header.version) + "\n".join(lines) + "\n" + TAIL


def check(header):
    made_from = re.search(r"vulkan_core\.h, version (\d+)", OUTPUT.read_text())
    if made_from is not None and made_from.group(1) != header.version:
        print(f"{OUTPUT} was made from version {made_from.group(1)}, this is {header.version}: its text may differ")
        return 77
    if make(header) != OUTPUT.read_text():
        print(f"{OUTPUT} is out of date: run tools/vulkan/make_declarations.py")
        return 1
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--header", type=pathlib.Path, default=pathlib.Path("/usr/include/vulkan/vulkan_core.h"))
    arguments = parser.parse_args()
    if not arguments.header.exists():
        print(f"{arguments.header} is missing (Debian: libvulkan-dev)")
        return 77 if arguments.check else 1
    header = Header(arguments.header.read_text())
    if arguments.check:
        return check(header)
    OUTPUT.write_text(make(header))
    return 0


if __name__ == "__main__":
    sys.exit(main())
