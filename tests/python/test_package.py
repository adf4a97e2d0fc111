#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds the Python package's wheel, installs it in a fresh environment, and tests it there.

test_package.py SOURCE FOLDER LIBRARY: the repository, a folder for environments and builds, which are used again, and
the libweir.so that goes into the wheel. The environment with pip's packages is in the folder WEIR_TEST_PYTHON_TOOLS of
the environment, if there is one, so that builds can share it.
- The wheel needs the stable ABI alone (abi3audit), and its types are complete (mypy --strict).
- pytest runs python/tests with the installed wheel, in Python's development mode, where each warning is an error. In a
  run of the suite that does a part, it runs a third of the files, and test_asan.py another third.
- Other interpreters of this machine import the same wheel and run a program, if pip can get NumPy for them: the oldest
  and the newest, and of these one in turn where the tests are small.
- At full size (without WEIR_SMALL_TESTS), a source distribution is made, and a wheel is built from it; and the tests of
  weir.warp run with Warp from PyPI, those of actors with Ray.

Exits 77 if pip cannot get what the tests need, and says why. A test of the small size takes less than a minute on two
cores once the packages are there.
"""

import fcntl
import glob
import hashlib
import os
import shutil
import subprocess
import sys
import time
import venv

MINIMUM = (3, 9)
# Packages that weir is used with, and the tests that need them; each in an environment of its own.
WARP = ("warp-lang==1.19.0", "test_warp.py", "test_warp_source.py", "test_notebooks.py")
RAY = ("ray==2.60.0", "test_ray.py")
# Tests that run little of the extension, or nothing of it: they do not run under the sanitizers.
PLAIN_ALONE = ("test_progress.py", "test_notebooks.py", "test_torch.py", "test_torch_memory.py")
SMOKE = """
import sys, threading, numpy as np, weir
with weir.Context("cpu:2") as context:
    a, b = context.array(np.arange(1000.0)), context.buffer(1000, np.float64)
    def double(source, out):
        out[:] = 2 * source
    assert context.submit(lambda: 5).result() == 5
    for _ in range(100):
        context.submit(double, weir.read(a), weir.write(b))
    assert b.numpy()[999] == 1998
    try:
        context.submit(lambda view: 1 / 0, weir.update(a[2:5]))
        context.finish()
    except ZeroDivisionError:
        pass
    else:
        raise SystemExit("no exception")
context = weir.Context("cpu:1")
context.submit(threading.Event().wait, 0.05)
print("python", sys.version.split()[0], "numpy", np.__version__)
"""


class Skip(Exception):
    """Something that this machine lacks."""


def call(*command, **options):
    """Runs a command, and shows what it printed if it fails."""
    run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    if run.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: exit code {run.returncode}\n{run.stdout[-12000:]}")
    return run.stdout


def clean_environment():
    """Without what would let the tests find another package or interpreter."""
    names = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "WEIR_TRACE", "WEIR_CHECK")
    return {name: value for name, value in os.environ.items() if name not in names}


def python_of(folder):
    return os.path.join(folder, "bin", "python")


def tools(source, folder):
    """(An environment with the packages that the tests need, and pip; a folder with wheels of NumPy and pytest.) They
    are made again when the list of packages changes."""
    folder = os.environ.get("WEIR_TEST_PYTHON_TOOLS") or folder
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "tools.lock"), "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return make_tools(os.path.join(source, "python", "tests", "requirements.txt"), folder)


def make_tools(requirements, folder):
    with open(requirements, "rb") as text:
        stamp = hashlib.sha256(text.read() + sys.version.encode()).hexdigest()
    home, mark, wheels = (os.path.join(folder, name) for name in ("tools", "tools.stamp", "wheels"))
    if os.path.exists(mark):
        with open(mark, encoding="ascii") as text:
            if text.read() == stamp:
                return home, wheels
    shutil.rmtree(home, ignore_errors=True)
    try:
        call(sys.executable, "-m", "venv", home)
    except RuntimeError as failure:
        raise Skip(f"no environment can be made (Debian: python3-venv): {str(failure)[-300:]}") from None
    pip = [python_of(home), "-m", "pip", "--disable-pip-version-check", "-q"]
    try:
        call(*pip, "download", "-d", wheels, "numpy", "pytest", "mpi4py")
        call(*pip, "install", "--no-compile", "--find-links", wheels, "-r", requirements)
    except RuntimeError as failure:
        raise Skip(f"pip cannot get the packages of python/tests/requirements.txt: {str(failure)[-300:]}") from None
    with open(mark, "w", encoding="ascii") as out:
        out.write(stamp)
    return home, wheels


def build_wheel(source, folder, home, library):
    out = os.path.join(folder, "dist")
    shutil.rmtree(out, ignore_errors=True)
    call(
        python_of(home),
        "-m",
        "build",
        "--wheel",
        "--no-isolation",
        "-o",
        out,
        os.path.join(source, "python"),
        f"-Ccmake.define.WEIR_PYTHON_LIBRARY={library}",
        "-Ccmake.define.CMAKE_C_FLAGS=-Werror",
        f"-Cbuild-dir={os.path.join(folder, 'build')}",
    )
    wheels = glob.glob(os.path.join(out, "*.whl"))
    if len(wheels) != 1 or "-cp39-abi3-" not in wheels[0]:
        raise RuntimeError(f"one wheel for the stable ABI of Python 3.9 is expected, and not {wheels}")
    return wheels[0]


def fresh(folder, home, wheels, wheel):
    """A new environment with the wheel, NumPy, pytest and mpi4py, and nothing else."""
    target = os.path.join(folder, "fresh")
    shutil.rmtree(target, ignore_errors=True)
    venv.create(target, with_pip=False, symlinks=True)
    call(
        python_of(home),
        "-m",
        "pip",
        "--disable-pip-version-check",
        "-q",
        "--python",
        python_of(target),
        "install",
        "--no-index",
        "--no-compile",
        "--find-links",
        wheels,
        wheel,
        "numpy",
        "pytest",
        "mpi4py",
    )
    return target


def start(name, command, **options):
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    return name, process, time.monotonic()


def strict_pytest(python, package):
    """pytest in Python's development mode, where each warning is an error."""
    strict = [python, "-X", "dev", "-W", "error", "-m", "pytest", "-W", "error", "-rs", "-p", "no:cacheprovider"]
    return [*strict, "--rootdir", package, "-c", os.path.join(package, "pyproject.toml")]


def share(source, stage):
    """The test files that a run of the suite does, of those that run the extension: one third with the package, another
    one under the sanitizers, and others with another WEIR_TEST_SEED. All, where the tests are not small or the suite
    does not run them."""
    names = sorted(glob.glob(os.path.join(source, "python", "tests", "test_*.py")))
    names = [name for name in names if os.path.basename(name) not in PLAIN_ALONE]
    if "WEIR_SMALL_TESTS" not in os.environ or "WEIR_TEST_WHOLE" in os.environ or "WEIR_TEST_SEED" not in os.environ:
        return names
    return names[(turn(source, 3) + (stage == "package")) % 3 :: 3]


def turn(source, choices):
    """Whose turn it is, of so many."""
    sys.path.insert(0, os.path.join(source, "tools", "suite"))
    import turns

    return turns.turn(int(os.environ.get("WEIR_TEST_SEED", "0")), 0, choices)


def others():
    """Other interpreters of this machine that the wheel is for: the oldest and the newest."""
    found = {}
    names = [
        os.path.join(folder, f"python3.{minor}")
        for folder in os.environ.get("PATH", "").split(os.pathsep)
        for minor in range(MINIMUM[1], 20)
    ] + ["/usr/bin/python3"]
    names += glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin/python3"))
    for name in names:
        if not os.access(name, os.X_OK):
            continue
        run = subprocess.run(
            [name, "-c", "import sys; print(sys.version_info[1], sys.executable)"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        minor, _, executable = run.stdout.strip().partition(" ")
        if run.returncode == 0 and int(minor) >= MINIMUM[1] and int(minor) != sys.version_info[1]:
            found.setdefault(int(minor), executable)
    return [found[minor] for minor in sorted({min(found), max(found)})] if found else []


def others_now(source):
    """Of these, the ones that this run does."""
    found = others()
    is_part = "WEIR_SMALL_TESTS" in os.environ and "WEIR_TEST_WHOLE" not in os.environ
    return found[turn(source, 2) :: 2] if is_part and len(found) == 2 else found


def try_other(folder, home, wheel, executable):
    """Imports the wheel in another interpreter. Returns what was done, or why not."""
    version = call(executable, "-c", "import sys; print('%d.%d' % sys.version_info[:2])").strip()
    target = os.path.join(folder, f"packages-{version}")
    pip = [python_of(home), "-m", "pip", "--disable-pip-version-check", "-q"]
    if not os.path.isdir(os.path.join(target, "numpy")):
        try:
            call(
                *pip,
                "install",
                "--no-compile",
                "--only-binary=:all:",
                "--python-version",
                version,
                "--target",
                target,
                "numpy",
            )
        except RuntimeError:
            return f"python {version}: pip has no NumPy for it"
    call(
        *pip,
        "install",
        "--no-deps",
        "--upgrade",
        "--only-binary=:all:",
        "--python-version",
        version,
        "--target",
        target,
        wheel,
    )
    return call(executable, "-W", "error", "-c", SMOKE, env=dict(clean_environment(), PYTHONPATH=target)).strip()


def from_source_distribution(source, folder, home):
    """As a user builds it: a source distribution, and a wheel from that, with the library compiled."""
    out = os.path.join(folder, "source")
    shutil.rmtree(out, ignore_errors=True)
    call(python_of(home), "-m", "build", "--no-isolation", "-o", out, os.path.join(source, "python"))
    return sorted(os.path.basename(name) for name in glob.glob(os.path.join(out, "*")))


def with_package(source, folder, home, wheel, package, *names):
    """Tests that need a package of PyPI, which is installed beside the wheel. Returns what they printed."""
    # Not "warp": tests run in this folder, and would find that as a package.
    target = os.path.join(folder, f"{package.partition('=')[0]}-environment")
    venv.create(target, with_pip=False, symlinks=True, clear=True)
    pip = [python_of(home), "-m", "pip", "--disable-pip-version-check", "-q", "--python", python_of(target), "install"]
    try:
        call(*pip, wheel, "pytest", package)
    except RuntimeError as failure:
        raise Skip(f"pip cannot get {package}: {str(failure)[-300:]}") from None
    options = ["-rs", "-p", "no:cacheprovider", "-c", os.path.join(source, "python", "pyproject.toml")]
    tests = [os.path.join(source, "python", "tests", name) for name in names]
    return call(python_of(target), "-m", "pytest", *options, *tests, cwd=folder, env=clean_environment())


def main():
    source, folder, library = (os.path.abspath(one) for one in sys.argv[1:4])
    os.makedirs(folder, exist_ok=True)
    package, environment = os.path.join(source, "python"), clean_environment()
    home, wheels = tools(source, folder)
    wheel = build_wheel(source, folder, home, library)
    target = fresh(folder, home, wheels, wheel)
    tool = os.path.join(home, "bin")
    tests = share(source, "package") + [os.path.join(package, "tests", name) for name in PLAIN_ALONE]
    runs = [
        start(
            "pytest",
            [*strict_pytest(python_of(target), package), *tests],
            cwd=folder,
            env=environment,
        ),
        start(
            "mypy",
            [
                os.path.join(tool, "mypy"),
                "--strict",
                "--config-file",
                os.path.join(package, "pyproject.toml"),
                "--python-executable",
                python_of(target),
                "--cache-dir",
                os.path.join(folder, "mypy"),
                "-p",
                "weir",
            ],
            cwd=folder,
            env=environment,
        ),
        start(
            "abi3audit",
            [os.path.join(tool, "abi3audit"), "--strict", "--assume-minimum-abi3", "3.9", wheel],
            env=environment,
        ),
        start("ruff", [os.path.join(tool, "ruff"), "check", "--no-cache", package], env=environment),
        start(
            "format",
            [os.path.join(tool, "ruff"), "format", "--no-cache", "--check", "--diff", package],
            env=environment,
        ),
    ]
    failed = []
    for name, process, began in runs:
        text, _ = process.communicate()
        print(
            f"-- {name}: exit code {process.returncode} after {time.monotonic() - began:.0f} s\n{text.strip()[-12000:]}"
        )
        if process.returncode != 0:
            failed.append(name)
    for executable in others_now(source):
        print(f"-- {try_other(folder, home, wheel, executable)}")
    if os.environ.get("WEIR_SMALL_TESTS") != "1":
        print(f"-- {from_source_distribution(source, folder, home)}")
        for one in (WARP, RAY):
            print(f"-- {with_package(source, folder, home, wheel, *one)}")
    if failed:
        raise RuntimeError(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    try:
        main()
    except Skip as reason:
        print(f"skipped: {reason}")
        sys.exit(77)
    except RuntimeError as failure:
        print(failure)
        sys.exit(1)
