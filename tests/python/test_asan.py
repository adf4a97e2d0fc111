#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests the Python package's extension under the sanitizers of addresses and of undefined behaviour.

test_asan.py SOURCE FOLDER LIBRARY COMPILER FLAGS: the repository, a folder for an environment (as test_package.py has
it) and a build, which are used again, the libweir.so of a build with these sanitizers, its compiler (clang), and its
flags. The extension is built with the same. The interpreter is a plain one, with the runtime of the sanitizers loaded
before it.

Exits 77 if the runtime is missing, or pip cannot get what the tests need, and says why.
"""

import glob
import os
import shutil
import subprocess
import sys

from test_package import Skip, call, clean_environment, python_of, share, strict_pytest, tools

# A report ends its process, whose output pytest may hold: so reports go to files.
ASAN_OPTIONS = "detect_leaks=0:verify_asan_link_order=0:abort_on_error=1:allocator_may_return_null=1"
UBSAN_OPTIONS = "print_stacktrace=1:halt_on_error=1"


def runtime(compiler):
    """The sanitizers' shared runtime."""
    path = call(compiler, f"-print-file-name=libclang_rt.asan-{os.uname().machine}.so").strip()
    if not os.path.isabs(path) or not os.path.exists(path):
        raise Skip(f"{compiler} has no shared runtime of the address sanitizer (Debian: libclang-rt-14-dev)")
    return path


def build(source, folder, library, compiler, flags, python):
    """The package, with an extension that has the sanitizers' checks. Returns the folder to import it from."""
    work, target = os.path.join(folder, "asan-build"), os.path.join(folder, "asan-package")
    shutil.rmtree(target, ignore_errors=True)
    call(
        "cmake",
        *("-S", os.path.join(source, "python"), "-B", work, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=None"),
        f"-DCMAKE_C_COMPILER={compiler}",
        f"-DCMAKE_C_FLAGS={flags} -Werror",
        f"-DWEIR_PYTHON_LIBRARY={library}",
        f"-DPython_EXECUTABLE={python}",
    )
    call("cmake", "--build", work)
    call("cmake", "--install", work, "--prefix", target, "--component", "python")
    shutil.copytree(os.path.join(source, "python", "src", "weir"), os.path.join(target, "weir"), dirs_exist_ok=True)
    return target


def read(path):
    with open(path, encoding="utf-8", errors="replace") as text:
        return text.read()


def main():
    source, folder, library = (os.path.abspath(one) for one in sys.argv[1:4])
    compiler, flags = sys.argv[4:6]
    os.makedirs(folder, exist_ok=True)
    preload = runtime(compiler)
    python = python_of(tools(source, folder)[0])
    package = build(source, folder, library, compiler, flags, python)
    reports = os.path.join(folder, "asan-report")
    for name in glob.glob(f"{reports}.*"):
        os.remove(name)
    run = subprocess.run(
        [
            *strict_pytest(python, os.path.join(source, "python")),
            "--durations=8",
            *(*sys.argv[6:], *share(source, "asan")),
        ],
        cwd=folder,
        env=dict(
            clean_environment(),
            ASAN_OPTIONS=f"{ASAN_OPTIONS}:log_path={reports}",
            UBSAN_OPTIONS=f"{UBSAN_OPTIONS}:log_path={reports}",
            LD_PRELOAD=preload,
            PYTHONMALLOC="malloc",
            PYTHONPATH=package,
            PYTHONDONTWRITEBYTECODE="1",
        ),
    )
    found = [
        text for text in map(read, sorted(glob.glob(f"{reports}.*"))) if "ERROR: " in text or "runtime error" in text
    ]
    for text in found:  # others warn of allocations that are refused, as tests want it
        print(text[:8000])
    sys.exit(1 if found or run.returncode != 0 else 0)


if __name__ == "__main__":
    try:
        main()
    except Skip as reason:
        print(f"skipped: {reason}")
        sys.exit(77)
    except RuntimeError as failure:
        print(failure)
        sys.exit(1)
