#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What cards.sh measures. See there."""
import argparse
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys

MIB = 1 << 20
TIMEOUT = 240
PROGRAMS = ("cholesky", "weir-bodies")
SYSTEM_LIBRARIES = ("libc.", "libm.", "libdl.", "libpthread.", "librt.", "libgcc_s.", "ld-linux")


class Missing(Exception):
    pass


def parse():
    parser = argparse.ArgumentParser(prog="cards.sh")
    parser.add_argument("--binaries", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[2] / "build")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--devices", default="cuda:0,cuda:1")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--dry", action="store_true")
    parser.add_argument("--pack", type=pathlib.Path)
    parser.add_argument("parts", nargs="*", metavar="PART")
    options = parser.parse_args()
    options.parts = options.parts or ["cholesky", "memory", "bodies"]
    unknown = set(options.parts) - {"cholesky", "memory", "bodies"}
    if unknown or options.devices.count(",") != 1 or options.rounds < 1:
        parser.error(f"unknown part {', '.join(sorted(unknown))}" if unknown else "two devices and at least one round")
    if options.quick:
        options.rounds = 1
    return options


def find(options, name):
    folders = [options.binaries, options.binaries / "bin", options.binaries / "tests"]
    return next((folder / name for folder in folders if (folder / name).is_file() and os.access(folder / name, os.X_OK)), None)


def pack(options, programs=PROGRAMS):
    """Puts the programs and the libraries that a machine may lack into one folder."""
    (options.pack / "lib").mkdir(parents=True, exist_ok=True)
    for name in programs:
        path = find(options, name)
        if path is None:
            raise Missing(f"there is no program {name} in {options.binaries}")
        shutil.copy(path, options.pack)
        needed = subprocess.run(["ldd", path], capture_output=True, text=True, check=True).stdout
        for library in re.findall(r"=> (/\S+)", needed):
            if not pathlib.Path(library).name.startswith(SYSTEM_LIBRARIES):
                shutil.copy(library, options.pack / "lib")


def run(options, name, *arguments):
    """Runs a program; its output, or None after saying what went wrong."""
    path = find(options, name)
    command = [str(path or name), *map(str, arguments)]
    print("+", " ".join(command), file=sys.stderr)
    if options.dry:
        return None
    if path is None:
        raise Missing(f"there is no program {name} in {options.binaries}")
    libraries = [options.binaries / "lib", options.binaries / "src"]
    search = ":".join([str(folder) for folder in libraries if folder.is_dir()] + [os.environ.get("LD_LIBRARY_PATH", "")])
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False,
                              env={**os.environ, "LD_LIBRARY_PATH": search.strip(":")})
    except subprocess.TimeoutExpired:
        print(f"longer than {TIMEOUT} s", file=sys.stderr)
        return None
    if done.returncode == 3:
        raise Missing(done.stderr.strip())
    if done.returncode != 0:
        print(f"exit code {done.returncode}: {done.stdout}{done.stderr}", file=sys.stderr)
        return None
    return done.stdout


class Way:
    """One way to do some work, with the rates that it reached."""

    def __init__(self, label, measure):
        self.label, self.measure, self.rates, self.more, self.failed = label, measure, [], [], False

    def go(self):
        found = self.measure()
        if found is None:
            self.failed = True
            return
        rates, more = found
        self.rates += rates
        self.more.append(more)

    def text(self):
        if not self.rates:
            return "failed"
        middle, least, most = statistics.median(self.rates), min(self.rates), max(self.rates)
        return f"{middle:.4g} ({least:.4g} to {most:.4g})" + (", some runs failed" if self.failed else "")

    def rate(self):
        return statistics.median(self.rates) if self.rates else None


def cholesky(options, size, tile, devices, place="auto", memory=0):
    """TFLOP/s of each pass but the first, which sets the libraries up."""
    arguments = ["--size", size, "--tile", tile, "--device", devices, "--kernels", "cublas", "--passes", 4, "--check", "residual",
                 "--json", "--place", place]
    if memory:
        arguments += ["--memory", memory]
    output = run(options, "cholesky", *arguments)
    if output is None:
        return None
    found = json.loads(output)
    return [size**3 / 3 / seconds / 1e12 for seconds in found["seconds"][1:]], found


def tiles_mib(size, tile):
    count = -(-size // tile)
    return count * (count + 1) // 2 * tile * tile * 8 / MIB


def bodies(options, worlds, threads, steps, devices):
    output = run(options, "weir-bodies", "--device", devices, "--worlds", worlds, "--threads", threads, "--steps", steps)
    if output is None:
        return None
    found = re.search(r"(\d+) steps of a world per second", output)
    return ([float(found.group(1)) / 1e3], {"output": output}) if found else None


def rows_of(options):
    """Each row: what, its unit, the ways with one card, those with two or less memory, what is asked of the ratio."""
    both = options.devices
    one = both.split(",")[0]
    size, tiles = (4096, [512]) if options.quick else (32768, [1024, 2048])
    rows = []
    if "cholesky" in options.parts:
        for tile in tiles:
            first = [Way("one card", lambda tile=tile: cholesky(options, size, tile, one))]
            second = [Way(f"two cards, {place}", lambda tile=tile, place=place: cholesky(options, size, tile, both, place))
                      for place in ("auto", "owner")]
            rows.append((f"Cholesky, {size} rows, tiles of {tile}", "TFLOP/s", first, second, 1.8))
    if "memory" in options.parts:
        for tile in tiles:
            memory = int(tiles_mib(size, tile) / 1.5)
            first = [Way("one card", lambda tile=tile: cholesky(options, size, tile, one))]
            second = [Way(f"{memory} MiB of it", lambda tile=tile, memory=memory:
                          cholesky(options, size, tile, one, memory=memory))]
            rows.append((f"Cholesky, {size} rows, tiles of {tile}, 1.5 times the memory", "TFLOP/s", first, second, 0.5))
    if "bodies" in options.parts:
        worlds, steps = (16, 10) if options.quick else (512, 120)
        threads = (2,) if options.quick else (4, 8, 16)
        first = [Way(f"one card, {count} threads", lambda count=count: bodies(options, worlds, count, steps, one))
                 for count in threads]
        second = [Way(f"two cards, {count} threads", lambda count=count: bodies(options, worlds, count, steps, both))
                  for count in threads]
        rows.append((f"bodies, {worlds} worlds", "thousand steps/s", first, second, 1.9))
    return rows


def best(ways):
    return max(ways, key=lambda way: way.rate() or 0)


def main():
    options = parse()
    rows = rows_of(options)
    try:
        if options.pack:
            pack(options)
            return 0
        for _ in range(options.rounds):
            for row in rows:
                for way in row[2] + row[3]:
                    way.go()
    except Missing as error:
        print(f"cards.sh: {error}", file=sys.stderr)
        return 3
    if options.dry:
        return 0
    print("| work | unit | one card | against it | ratio | asked |\n|---|---|--:|--:|--:|--:|")
    good = True
    for what, unit, first, second, asked in rows:
        base = best(first)
        for way in second:
            ratio = way.rate() / base.rate() if way.rate() and base.rate() else None
            print(f"| {what} | {unit} | {base.text()} {base.label} | {way.text()} {way.label} | "
                  f"{'' if ratio is None else f'{ratio:.2f}'} | {asked} |")
        good = good and not any(way.failed for way in first + second)
    if options.json:
        report = [{"work": what, "unit": unit, "asked": asked,
                   "ways": [{"label": way.label, "rates": way.rates, "more": way.more, "failed": way.failed}
                            for way in first + second]} for what, unit, first, second, asked in rows]
        options.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
