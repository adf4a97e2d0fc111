#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests weir.torch with PyTorch from PyPI, on a machine without a card (card.h).

run.py SOURCE FOLDER LIBRARY STUB [ARGUMENT...]: the repository, a folder for the environment (5 GB), which is used
again, the libweir.so that goes into the package, the library libweir-cuda-stub.so, and arguments for pytest. The
variable WEIR_TEST_TORCH names an environment to use in place of one in FOLDER. Exits 77 if pip cannot get PyTorch, and
says why.
"""

import os
import subprocess
import sys
import venv

import make_card

PACKAGES = ["torch==2.11.0", "numpy>=2", "pytest", "scikit-build-core>=0.10"]
NEEDS = (3, 10)


class Skip(Exception):
    """Something that this machine lacks."""


def call(*command, **options):
    run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    if run.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: exit code {run.returncode}\n{run.stdout[-8000:]}")
    return run.stdout


def environment(folder):
    """Python of an environment with PyTorch. It is made again when the list of packages changes."""
    home = os.environ.get("WEIR_TEST_TORCH") or os.path.join(folder, "environment")
    python, mark = os.path.join(home, "bin", "python"), os.path.join(home, "weir-packages")
    if os.path.exists(mark):
        with open(mark, encoding="ascii") as text:
            if text.read() == " ".join(PACKAGES):
                return python
    if sys.version_info < NEEDS:
        raise Skip(f"PyTorch 2.11 needs Python 3.10, and this is {sys.version.split()[0]}")
    try:
        venv.create(home, with_pip=True)
        call(python, "-m", "pip", "--disable-pip-version-check", "-q", "install", *PACKAGES)
    except (RuntimeError, subprocess.CalledProcessError) as failure:
        raise Skip(f"pip cannot get {', '.join(PACKAGES)}: {str(failure)[-300:]}") from None
    with open(mark, "w", encoding="ascii") as out:
        out.write(" ".join(PACKAGES))
    return python


def install(python, source, folder, library):
    """The package of this build, in place of an earlier one."""
    call(
        *(python, "-m", "pip", "--disable-pip-version-check", "-q", "install", "--force-reinstall", "--no-deps"),
        os.path.join(source, "python"),
        f"-Ccmake.define.WEIR_PYTHON_LIBRARY={library}",
        f"-Cbuild-dir={os.path.join(folder, 'build')}",
    )


def main():
    source, folder, library, stub = (os.path.abspath(one) for one in sys.argv[1:5])
    os.makedirs(folder, exist_ok=True)
    python = environment(folder)
    install(python, source, folder, library)
    packages = call(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip()
    card = os.path.join(folder, "card")
    make_card.make(packages, stub, card)
    names = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "WEIR_TRACE", "WEIR_CHECK")
    clean = {name: value for name, value in os.environ.items() if name not in names}
    tests = os.path.join(source, "tests", "torch")
    options = [
        "-rs",
        "-p",
        "no:cacheprovider",
        "-c",
        os.path.join(source, "python", "pyproject.toml"),
        "--rootdir",
        tests,
    ]
    run = subprocess.run(
        [python, "-m", "pytest", *options, tests, *sys.argv[5:]],
        cwd=folder,
        env=dict(clean, WEIR_TEST_TORCH_CARD=card, PYTHONDONTWRITEBYTECODE="1"),
        check=False,
    )
    return run.returncode


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Skip as reason:
        print(f"skipped: {' '.join(str(reason).split())}")
        sys.exit(77)
    except RuntimeError as failure:
        print(failure)
        sys.exit(1)
