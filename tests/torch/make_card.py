#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles the card that is none (card.h) for the PyTorch of an environment.

make_card.py PACKAGES STUB FOLDER: the folder site-packages with the packages torch and nvidia, the library
libweir-cuda-stub.so, and where libcuda.so.1 and libcudart.so of the version that PyTorch wants are made. CUDA's headers
are those that PyTorch installs. Functions that PyTorch knows of and these libraries lack fail, and say so.
"""

import glob
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
OPTIONS = ["-std=gnu11", "-D_GNU_SOURCE", "-O1", "-g", "-fPIC", "-Wall", "-Wextra", "-Werror"]


def call(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def symbols(library, kind):
    """The functions that a library has ("defined"), or wants ("undefined")."""
    lines = [line.split() for line in call("nm", "-D", f"--{kind}-only", library).splitlines()]
    return {line[-1].split("@")[0] for line in lines if line[-2] in "TtWiU"}


def compiled(folder, include, *sources):
    objects = []
    for source in sources:
        objects.append(os.path.join(folder, source.replace(".c", ".o")))
        paths = [f"-I{HERE}/include", f"-I{HERE}/../cuda/stub", "-isystem", include]
        call("cc", *OPTIONS, *paths, "-c", os.path.join(HERE, source), "-o", objects[-1])
    return objects


def link(out, objects, missing, libraries):
    """Links a library. The functions `missing` are made, and fail."""
    name = os.path.basename(out)
    with open(f"{out}.c", "w", encoding="ascii") as text:
        text.write("int card_missing(const char *name);\n")
        text.writelines(f'int {one}(void) {{ return card_missing("{one}"); }}\n' for one in sorted(missing))
    with open(f"{out}.map", "w", encoding="ascii") as text:
        text.write(f"{name} {{ global: *; }};\n" if name.startswith("libcudart") else "{ global: *; };\n")
    paths = [f"-Wl,-rpath,{os.path.dirname(library)}" for library in libraries]
    flags = ["-shared", "-fPIC", f"-Wl,-soname,{name}", f"-Wl,--version-script={out}.map", *paths]
    call("cc", *flags, "-o", out, *objects, f"{out}.c", *libraries, "-lpthread", "-ldl")


def make(packages, stub, folder):
    stub, folder = os.path.abspath(stub), os.path.abspath(folder)
    runtime = glob.glob(os.path.join(packages, "nvidia", "*", "lib", "libcudart.so.1[23]"))
    if not runtime:
        raise RuntimeError(f"{packages} has neither libcudart.so.12 nor libcudart.so.13")
    os.makedirs(folder, exist_ok=True)
    include = os.path.join(os.path.dirname(os.path.dirname(runtime[0])), "include")
    objects = compiled(folder, include, "driver.c", "triton.c", "card.c", "kernels.c")
    wanted = symbols(os.path.join(packages, "torch", "lib", "libcaffe2_nvrtc.so"), "undefined")
    own = {line.split()[-1] for line in call("nm", "--defined-only", *objects).splitlines() if " T " in line}
    driver = os.path.join(folder, "libcuda.so.1")
    with open(os.path.join(packages, "triton", "backends", "nvidia", "driver.c"), encoding="utf-8") as text:
        wanted |= set(re.findall(r"\bcu[A-Z]\w*", text.read()))
    missing = {name for name in wanted if name.startswith("cu")} - own - symbols(stub, "defined")
    link(driver, objects[:2], missing, [stub])
    missing = symbols(runtime[0], "defined") - own
    link(os.path.join(folder, os.path.basename(runtime[0])), objects[2:], missing, [driver, stub])


if __name__ == "__main__":
    make(*sys.argv[1:4])
