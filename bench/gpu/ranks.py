#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What ranks.sh measures. See there."""
import argparse
import glob
import os
import pathlib
import re
import shutil
import signal
import site
import subprocess
import sys

from cards import Missing, Way, find, pack

PARTS = ("programs", "results", "sizes", "overlap", "bodies", "cholesky", "messages")
PROGRAMS = ("test_mpi_ranks", "weir-gpu-ranks", "mpi_bodies", "mpi_cholesky", "weir")
HERE = pathlib.Path(__file__).resolve().parent


def parse():
    parser = argparse.ArgumentParser(prog="ranks.sh")
    packed = (HERE / "weir-gpu-ranks").exists()
    parser.add_argument("--binaries", type=pathlib.Path, default=HERE if packed else HERE.parents[1] / "build")
    parser.add_argument("--launcher", default="mpirun")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--dry", action="store_true")
    parser.add_argument("--pack", type=pathlib.Path)
    parser.add_argument("parts", nargs="*", metavar="PART")
    options = parser.parse_args()
    options.parts = options.parts or list(PARTS)
    unknown = set(options.parts) - set(PARTS)
    if unknown or options.rounds < 1 or options.ranks < 1:
        parser.error(f"unknown part {', '.join(sorted(unknown))}" if unknown else "at least one round and one rank")
    if options.quick:
        options.rounds = 1
    return options


def environment(options):
    """With the programs' libraries, and behind all others those of Python packages."""
    own = [options.binaries / "lib", options.binaries / "src", options.binaries / "src/mpi"]
    packages = [path for folder in site.getsitepackages() for path in sorted(glob.glob(f"{folder}/nvidia/*/lib"))]
    search = [str(folder.resolve()) for folder in own if folder.is_dir()] + [os.environ.get("LD_LIBRARY_PATH", "")] + packages
    return {**os.environ, "LD_LIBRARY_PATH": ":".join(folder for folder in search if folder)}


def binary(options, name):
    path = find(options, name)
    if path is None and not options.dry:
        raise Missing(f"there is no program {name} in {options.binaries}")
    return str(path.resolve()) if path else name


def end(process):
    """Ends a launcher and with it the ranks; returns what it still prints."""
    os.killpg(process.pid, signal.SIGTERM)
    try:
        return process.communicate(timeout=3)[0]
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return process.communicate()[0]


def start(command, env, seconds):
    """(Exit code, output); what is not done after so long is ended."""
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          start_new_session=True) as process:
        try:
            output = process.communicate(timeout=seconds)[0]
        except subprocess.TimeoutExpired:
            return 124, f"{end(process)}longer than {seconds} s\n"
        except SystemExit:
            end(process)
            raise
        return process.returncode, output


def launch(options, ranks):
    """`weir run`, which gives each rank its share of the cores, or, where the launcher cannot do that, without."""
    if not hasattr(options, "shares"):
        command = [binary(options, "weir"), "run", "--launcher", options.launcher, "-n", str(options.ranks), "true"]
        options.shares = options.dry or start(command, environment(options), 60)[0] == 0
    if options.shares:
        return [binary(options, "weir"), "run", "--launcher", options.launcher, "-n", str(ranks)]
    return [options.launcher, "--bind-to", "none", "-n", str(ranks)]


def run(options, ranks, seconds, name, *arguments, **variables):
    """Runs a program on ranks; its output, or None after saying what went wrong. Variables that are set stay as they are."""
    command = [*launch(options, ranks), binary(options, name), *map(str, arguments)]
    print("+", *command, file=sys.stderr, flush=True)
    if options.dry:
        return ""
    code, output = start(command, {**variables, **environment(options)}, seconds)
    if code == 0:
        return output
    print(f"{name} {' '.join(map(str, arguments))} on {ranks} ranks: exit code {code}: {output[-3000:]}", flush=True)
    return None


def programs(options):
    count = 20 if options.quick else 300
    output = run(options, options.ranks, 90, "test_mpi_ranks", "cards", count)
    if output is not None and not options.dry:
        print(f"{count} random programs over {options.ranks} ranks, a card each: right", flush=True)
    return output is not None


def nccl(options, part):
    arguments = ["--quick"] if options.quick else ["--rounds", options.rounds, "--programs", 50]
    parts = ["results", "programs"] if part == "results" else [part]
    output = run(options, options.ranks, 120, "weir-gpu-ranks", "--limit", 100, *arguments, *parts)
    print(output or "", end="", flush=True)
    return output is not None


def table(title, unit, rows):
    """Rows: what, the way of one rank, that of all ranks, what is asked of the ratio."""
    if not any(way.rates or way.failed for row in rows for way in row[1:3]):
        return
    print(f"\n{title}, {unit}; medians (least to greatest).\n\n| | one rank | all ranks | ratio | asked |\n|---|--:|--:|--:|--:|")
    for what, first, second, asked in rows:
        ratio = f"{second.rate() / first.rate():.2f}" if first.rate() and second.rate() else ""
        print(f"| {what} | {first.text()} | {second.text()} | {ratio} | {asked} |", flush=True)


def bodies(options):
    """Each run takes turns by itself, and compares every bit."""
    worlds, steps, rows = (16, 10, []) if options.quick else (512, 120, [])
    good = True
    for threads in (2,) if options.quick else (1, 2, 4):
        output = run(options, options.ranks, 120, "mpi_bodies", "--device", "cuda", "--worlds", worlds, "--bodies", 24,
                     "--steps", steps, "--threads", threads, "--rounds", options.rounds)
        found = re.findall(r"(\d+) by one rank, (\d+) by", output or "")
        right = len(re.findall(r"^0 worlds differ", output or "", re.MULTILINE)) == options.rounds == len(found)
        first, second = Way("one rank", None), Way("all ranks", None)
        for way, rates in ((first, [pair[0] for pair in found]), (second, [pair[1] for pair in found])):
            way.rates, way.failed = [float(rate) / 1e3 for rate in rates], not right and not options.dry
        rows.append((f"{worlds} worlds of 24 bodies, threads of a rank: {threads}", first, second, 1.9))
        good = good and right
    table("Bodies", "thousand steps of a world a second", rows)
    return good


def factor(options, ranks, tile, *more):
    """TFLOP/s of each pass but the first, which sets the libraries up."""
    size, passes = (4096, 3) if options.quick else (32768, 6)
    output = run(options, ranks, 120, "mpi_cholesky", size, tile, "--cublas", "--residual", "--passes", passes, *more,
                 CUDA_DEVICE_MAX_CONNECTIONS="32")
    if options.dry:
        return [], output
    if output is None or ": right" not in output:
        return None
    return [float(rate) / 1e3 for rate in re.findall(r" s, ([\d.]+) GFLOP/s", output)[1:]], output


def cholesky(options, messages):
    size, tiles, rows = (4096, [512], []) if options.quick else (32768, [2048] if messages else [2048, 1024], [])
    how = [] if messages else ["--nccl"]
    for tile in tiles:
        first = Way("one rank", lambda tile=tile: factor(options, 1, tile))
        second = Way("all ranks", lambda tile=tile: factor(options, options.ranks, tile, *how))
        for _ in range(1 if messages else (options.rounds + 1) // 2):
            first.go()
            second.go()
        name = "messages" if messages else "broadcasts by NCCL"
        rows.append((f"{size} rows, tiles of {tile}, {name}", first, second, 1.8))
    table("Cholesky by cuBLAS", "TFLOP/s", rows)
    return not any(way.failed for row in rows for way in row[1:3])


def pack_all(options):
    pack(options, PROGRAMS)
    for path in (options.pack / "lib").glob("*"):
        if re.match(r"lib(mpi|open-rte|open-pal|event|hwloc|pmix|udev)", path.name):
            path.unlink()  # MPI's
    for name in ("ranks.sh", "ranks.py", "cards.py"):
        shutil.copy(HERE / name, options.pack)


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(124))
    options = parse()
    steps = {"programs": programs, "bodies": bodies, "cholesky": lambda o: cholesky(o, False), "messages": lambda o: cholesky(o, True)}
    try:
        if options.pack:
            pack_all(options)
            return 0
        done = [steps[part](options) if part in steps else nccl(options, part) for part in options.parts]
    except Missing as error:
        print(f"ranks.sh: {error}", file=sys.stderr)
        return 3
    return 0 if all(done) else 1


if __name__ == "__main__":
    sys.exit(main())
