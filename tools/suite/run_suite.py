#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the test suite in stages, each in a build of its own, and sums up what passed.

run_suite.py [--times FILE] [STAGE...]: the stages named; "short" (the default) and "long" stand for the stages of `make test`
and of `make test-long`. Exits 1 when anything failed. The last line is "N passed, N failed, N skipped", summed over the stages.
--times writes how long each test took, as a table in Markdown.

Random programs and schedules follow from WEIR_TEST_SEED. Where it is not set, it moves on from run to run, and is printed.

In CI (the variable CI is set) a test that was skipped counts as failed, unless tools/suite/allowed_skips.txt names it.
Elsewhere it is listed with its reason.
"""
import concurrent.futures
import glob
import os
import resource
import subprocess
import sys
import time

import coverage_gate
import ctest_results
import turns

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# Two more tests at a time than there are cores: tests also wait.
JOBS = (os.cpu_count() or 1) + 2

# The distance of two seeds whose tests share no random program; a run takes one, and the thread sanitizer's further runs take
# the next ones. The label of the tests in those runs: they draw programs or schedules at random.
SEED_STEP = 1 << 20
TSAN_AGAIN = 2
TSAN_LABEL = "again"


class Failure(Exception):
    """A stage could not go on; the text says why."""


class Tally:
    def __init__(self):
        self.passed = 0
        self.failed = []
        self.skipped = []
        self.stages = {}  # seconds
        self.tests = {}  # seconds by name, then by stage

    def add(self, stage, results, allowed, strict):
        for result in results:
            name = f"{stage}/{result.name}{result.note}"
            if result.seconds is not None:
                times = self.tests.setdefault(result.name, {})
                times[stage] = times.get(stage, 0) + result.seconds
            if result.status == "passed":
                self.passed += 1
            elif result.status == "failed":
                self.failed.append((name, result.reason))
            elif strict and result.name not in allowed:
                self.failed.append((name, f"skipped, but it must run here: {result.reason}"))
            else:
                self.skipped.append((name, result.reason))


class Builder:
    """Builds presets one after the other, in the order in which the stages need them, while tests run: these come first, and the
    builds take what they leave of the cores."""

    def __init__(self, presets):
        self.seconds = {}
        self.pool = concurrent.futures.ThreadPoolExecutor(1)
        self.builds = {preset: self.pool.submit(self.build, preset) for preset in presets}

    def build(self, preset):
        """Configures and builds a preset. Returns its folder."""
        start = time.monotonic()
        folder = os.path.join(ROOT, "build" if preset == "release" else f"build-{preset}")
        os.makedirs(folder, exist_ok=True)
        log = os.path.join(folder, "suite-build.log")
        with open(log, "w", encoding="utf-8") as out:
            for command in (["cmake", "--preset", preset], ["cmake", "--build", "--preset", preset]):
                if subprocess.run(["nice", "-n", "5", *command], cwd=ROOT, stdout=out, stderr=subprocess.STDOUT).returncode != 0:
                    raise Failure(f"the build '{preset}' failed")
        self.seconds[preset] = time.monotonic() - start
        return folder

    def folder(self, preset):
        """The folder of a preset, once it is built; the output is shown only when that fails."""
        try:
            return self.builds[preset].result()
        except Failure:
            log = os.path.join(ROOT, "build" if preset == "release" else f"build-{preset}", "suite-build.log")
            with open(log, encoding="utf-8", errors="replace") as text:
                sys.stdout.write(text.read()[-20000:])
            raise

    def stop(self):
        """Begins no further build."""
        self.pool.shutdown(cancel_futures=True)


def fixed_addresses():
    """How to start a program at addresses that are not random: the thread sanitizer refuses some of the random ones."""
    command = ["setarch", os.uname().machine, "--addr-no-randomize"]
    try:
        works = subprocess.run(command + ["true"], stderr=subprocess.DEVNULL).returncode == 0
    except FileNotFoundError:
        works = False
    return command if works else []


def run_ctest(preset, folder, seed=None, label=None, prefix=(), whole=False):
    """Runs the tests of a build, or those with this label, and returns their results. With `whole` tests do all that they repeat,
    and not a part (tests/support/part.h), and no test waits for its turn (turns.txt)."""
    report = os.path.join(folder, "suite-results.xml")
    if os.path.exists(report):
        os.remove(report)
    environment = dict(os.environ, CTEST_PARALLEL_LEVEL=str(JOBS))
    if seed is not None:
        environment["WEIR_TEST_SEED"] = str(seed)
    if whole:
        environment["WEIR_TEST_WHOLE"] = "1"
    others = "" if whole else turns.exclusion(preset, int(os.environ["WEIR_TEST_SEED"]))
    command = [*prefix, "ctest", "--preset", preset, "--output-junit", report, "--test-output-size-passed", "1000000"]
    if label is not None:
        command += ["-L", label]
    if others:
        command += ["-E", others]
    subprocess.run(command, cwd=ROOT, env=environment, check=False)
    if not os.path.exists(report):
        raise Failure(f"ctest of '{preset}' left no report")
    return ctest_results.read(report)


def stage_sources(_):
    """Every C source is formatted, and says in its first line under which licence it is."""
    names = [name for folder in ("include", "src", "tools", "tests", "examples", "bench", "python") for ending in ("c", "h", "cc", "cpp")
             for name in sorted(glob.glob(f"{folder}/**/*.{ending}", root_dir=ROOT, recursive=True))]
    formatted = subprocess.run(["clang-format", "--dry-run", "--Werror", *names], cwd=ROOT, check=False)
    licensed = "passed"
    for name in names:
        with open(os.path.join(ROOT, name), encoding="utf-8") as source:
            if source.readline().strip() != "// SPDX-License-Identifier: Apache-2.0":
                print(f"{name}:1: the first line must be the licence")
                licensed = "failed"
    return [ctest_results.Result("format", "passed" if formatted.returncode == 0 else "failed", "run make format"),
            ctest_results.Result("licence", licensed, "see above")]


def stage_release(folder):
    return run_ctest("release", folder)


def stage_clang(folder):
    return run_ctest("clang", folder)


def stage_asan(folder):
    return run_ctest("asan", folder)


def stage_tsan(folder):
    return run_ctest("tsan", folder, prefix=fixed_addresses())


def stage_release_whole(folder):
    """What `make test` does a part of, in full."""
    return run_ctest("release", folder, whole=True)


def stage_asan_whole(folder):
    return run_ctest("asan", folder, whole=True)


def stage_tsan_whole(folder):
    return run_ctest("tsan", folder, prefix=fixed_addresses(), whole=True)


def stage_tsan_again(folder):
    """The tests that draw programs or schedules at random, with seeds that the stages before do not take."""
    results = []
    for i in range(1, TSAN_AGAIN + 1):
        seed = int(os.environ["WEIR_TEST_SEED"]) + i * SEED_STEP
        print(f"-- thread sanitizer, WEIR_TEST_SEED={seed}", flush=True)
        again = run_ctest("tsan", folder, seed, TSAN_LABEL, fixed_addresses(), whole=True)
        results += [result.noted(f", seed {seed}") for result in again]
    return results


def stage_full(folder):
    return run_ctest("full", folder)


SKIPPED = 77  # what an example exits with where the machine lacks something (SKIP_RETURN_CODE)


def run_under_valgrind(test):
    name, command = test
    checked = ["valgrind", "-q", "--error-exitcode=99", "--fair-sched=yes", "--leak-check=full",
               "--errors-for-leak-kinds=definite,possible"]
    run = subprocess.run(checked + command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if run.returncode == SKIPPED:
        return ctest_results.Result(name, "skipped", (run.stdout.strip().splitlines() or ["no reason given"])[-1]), ""
    status = "passed" if run.returncode == 0 else "failed"
    return ctest_results.Result(name, status, f"exit code {run.returncode}"), run.stdout


def stage_valgrind(folder):
    """Every example, as its tests run it, under valgrind."""
    results = []
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        for result, output in pool.map(run_under_valgrind, ctest_results.commands(folder, "example")):
            if result.status != "passed":
                print(output)
            print(f"   {result.name}: {result.status}", flush=True)
            results.append(result)
    if not results:
        raise Failure("no example was found")
    return results


def stage_coverage(folder):
    coverage_gate.forget(folder)
    return run_ctest("coverage", folder) + coverage_gate.measure(ROOT, folder)


# What a stage does with the folder of its preset; no preset: it needs no build.
STAGES = {
    "sources": (None, stage_sources),
    "release": ("release", stage_release),
    "asan": ("asan", stage_asan),
    "tsan": ("tsan", stage_tsan),
    "coverage": ("coverage", stage_coverage),
    "full": ("full", stage_full),
    "clang": ("clang", stage_clang),
    "release_whole": ("release", stage_release_whole),
    "asan_whole": ("asan", stage_asan_whole),
    "tsan_whole": ("tsan", stage_tsan_whole),
    "tsan_again": ("tsan", stage_tsan_again),
    "valgrind": ("release", stage_valgrind),
}
SHORT = ("sources", "release", "asan", "tsan")
GROUPS = {"short": SHORT, "long": tuple(name for name in STAGES if name not in SHORT)}


def choose_seed():
    """A seed of this run's own, unless one is given: of the minute, so that runs share no random program."""
    if "WEIR_TEST_SEED" not in os.environ:
        os.environ["WEIR_TEST_SEED"] = str(int(time.time() // 60) * SEED_STEP)
    print(f"WEIR_TEST_SEED={os.environ['WEIR_TEST_SEED']}", flush=True)


def write_times(path, tally):
    stages = [stage for stage in tally.stages if any(stage in times for times in tally.tests.values())]
    with open(path, "w", encoding="utf-8") as out:
        out.write("| stage | seconds |\n|---|--:|\n")
        for stage, seconds in tally.stages.items():
            out.write(f"| {stage} | {seconds:.0f} |\n")
        out.write(f"| all | {sum(tally.stages.values()):.0f} |\n\n")
        out.write("| test | " + " | ".join(stages) + " |\n|---|" + "--:|" * len(stages) + "\n")
        for name, times in sorted(tally.tests.items(), key=lambda item: -sum(item[1].values())):
            cells = (f"{times[stage]:.2f}" if stage in times else "" for stage in stages)
            out.write(f"| {name} | " + " | ".join(cells) + " |\n")


def main():
    arguments = sys.argv[1:]
    times = None
    if arguments[:1] == ["--times"] and len(arguments) > 1:
        times, arguments = arguments[1], arguments[2:]
    names = [stage for name in arguments or ["short"] for stage in GROUPS.get(name, (name,))]
    unknown = [name for name in names if name not in STAGES]
    if unknown:
        print(f"unknown stage {unknown[0]}; there are: {', '.join([*GROUPS, *STAGES])}", file=sys.stderr)
        return 2
    allowed = ctest_results.read_allowed_skips(os.path.join(ROOT, "tools", "suite", "allowed_skips.txt"))
    strict = bool(os.environ.get("CI"))
    tally = Tally()
    choose_seed()
    begun = time.monotonic()
    builder = Builder(dict.fromkeys(preset for preset, _ in (STAGES[name] for name in names) if preset))
    try:
        for name in names:
            print(f"\n== {name}", flush=True)
            start = time.monotonic()
            preset, run = STAGES[name]
            try:
                tally.add(name, run(builder.folder(preset) if preset else None), allowed, strict)
            except Failure as failure:
                print(failure)
                tally.failed.append((name, str(failure)))
            tally.stages[name] = time.monotonic() - start
            built = f"; its build {builder.seconds[preset]:.0f} s, beside tests" if preset in builder.seconds else ""
            print(f"== {name}: {tally.stages[name]:.0f} s{built}", flush=True)
    finally:
        builder.stop()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"\n{time.monotonic() - begun:.0f} s in all; builds and tests took {used.ru_utime + used.ru_stime:.0f} s of CPU time")
    if times is not None:
        write_times(times, tally)

    print()
    for title, entries in (("Skipped", tally.skipped), ("Failed", tally.failed)):
        if entries:
            print(f"{title}:")
            for entry, reason in entries:
                print(f"  {entry}: {reason}")
    print(f"{tally.passed} passed, {len(tally.failed)} failed, {len(tally.skipped)} skipped")
    return 1 if tally.failed else 0


if __name__ == "__main__":
    sys.exit(main())
