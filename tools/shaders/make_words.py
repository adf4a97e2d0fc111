#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes NAME.inc of NAME.comp for the shaders of the library and of the tool, or checks that they are up to date.

Both must build where no shader compiler is, so the compiled words are kept beside the source.

    make_words.py [--check] [--compiler glslangValidator]

--check compares and changes nothing: exit 1 if they differ, 77 if there is no compiler of the version that made the words.
"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHADERS = [ROOT / name for name in ("tools/weir/multiply.comp", "src/device/vulkan/delay.comp",
                                    "tools/weir/spin_device.comp", "tools/weir/spin_subgroup.comp",
                                    "tools/weir/split_compute.comp", "tools/weir/split_memory.comp")]


def compiler_version(compiler):
    try:
        text = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return None
    match = re.search(r"Glslang Version: (\S+)", text)
    return match.group(1) if match else None


def compile_words(shader, compiler, version):
    with tempfile.TemporaryDirectory() as folder:
        output = pathlib.Path(folder) / "words.spv"
        subprocess.run([compiler, "--quiet", "-V", "--target-env", "vulkan1.2", "-o", str(output), str(shader)],
                       check=True)
        data = output.read_bytes()
    words = [f"0x{int.from_bytes(data[i:i + 4], 'little'):08x}" for i in range(0, len(data), 4)]
    lines = [", ".join(words[i:i + 10]) + "," for i in range(0, len(words), 10)]
    head = ["// SPDX-License-Identifier: Apache-2.0",
            f"// SPIR-V of {shader.name}, by tools/shaders/make_words.py with glslang {version}."]
    return "\n".join(head + lines) + "\n"


def make(shader, compiler, version):
    shader.with_suffix(".inc").write_text(compile_words(shader, compiler, version))
    return 0


def check(shader, compiler, version):
    words = shader.with_suffix(".inc")
    made_by = re.search(r"with glslang (\S+)\.$", words.read_text(), re.MULTILINE)
    if made_by is None:
        print(f"{words}: it does not say which compiler made it")
        return 1
    if made_by.group(1) != version:
        print(f"{words} was made with glslang {made_by.group(1)}, this is {version}: its text may differ")
        return 77
    if compile_words(shader, compiler, version) != words.read_text():
        print(f"{words} is out of date: run tools/shaders/make_words.py")
        return 1
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--compiler", default="glslangValidator")
    arguments = parser.parse_args()
    version = compiler_version(arguments.compiler)
    if version is None:
        print(f"{arguments.compiler} is missing (Debian: glslang-tools)")
        return 77 if arguments.check else 1
    return max(check(shader, arguments.compiler, version) if arguments.check else make(shader, arguments.compiler, version)
               for shader in SHADERS)


if __name__ == "__main__":
    sys.exit(main())
