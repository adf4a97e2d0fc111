#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs of a user's kind under ThreadSanitizer, with the library as users have it: built without.

test_tsan_user.py COMPILER CXX SOURCE LIBRARY DRIVER: compiles the programs of this folder, some examples and the
program of the README with COMPILER and CXX and -fsanitize=thread. The right ones must run without a report, and
each of the wrong ones must have one. DRIVER is a CUDA driver without a card. Exits 77, with the reason, where the
compiler or its ThreadSanitizer is missing.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SEED = int(os.environ.get("WEIR_TEST_SEED", "1"))
SMALL = os.environ.get("WEIR_SMALL_TESTS") == "1"
DEVICES = ["cpu:1", "cpu:2", "sim:ideal,cpu:1"]
RIGHT = ["right_tasks", "right_calls", "right_pipelines"]
EXAMPLES = [("quickstart.c", []), ("transpose.c", []), ("record.c", []), ("quicksort/quicksort.c", ["200000"]),
            ("external/decode.c", [])]
ALL_REPORTS = "suppress_equal_stacks=0:suppress_equal_addresses=0"
ONE_WORKER_ORDERS = {"groups_share"}  # one call of its function runs all work-groups there
TRIES = 4  # a report may be missed where many programs were run before


class Bench:
    """A compiler, and the folder of what it makes."""

    def __init__(self, compiler, cxx, source, library, folder):
        self.compiler, self.cxx, self.source, self.library, self.folder = compiler, cxx, source, library, folder

    def compile(self, name, path):
        program = os.path.join(self.folder, name)
        is_cxx = path.endswith(".cpp")
        command = [self.cxx if is_cxx else self.compiler, "-std=c++17" if is_cxx else "-std=gnu11", "-g", "-O1",
                   "-fsanitize=thread", "-I", os.path.join(self.source, "include"), path, "-o", program, self.library,
                   "-Wl,-rpath," + os.path.dirname(self.library), "-lm", "-pthread"]
        made = subprocess.run(command, capture_output=True, text=True, check=False)
        return program if made.returncode == 0 else "", made.stderr

    @staticmethod
    def run(program, arguments, options="halt_on_error=1", **environment):
        """(exit status, all that it printed). Some kernels place memory where ThreadSanitizer's is: setarch helps."""
        prefix = ["setarch", "-R"] if shutil.which("setarch") else []
        options = "exitcode=66:atexit_sleep_ms=0:" + options
        done = subprocess.run(prefix + [program] + arguments, capture_output=True, text=True, check=False, timeout=200,
                              env={**os.environ, "TSAN_OPTIONS": options, **environment}, cwd=os.path.dirname(program))
        return done.returncode, done.stdout + done.stderr


def skip(reason):
    print(reason)
    sys.exit(77)


def program_of(bench, name, page):
    """The file NAME.c with the first program of a page."""
    with open(os.path.join(bench.source, page), encoding="utf-8") as text:
        program = re.search(r"```c\n(.*?)```", text.read(), re.DOTALL).group(1)
    path = os.path.join(bench.folder, name + ".c")
    with open(path, "w", encoding="utf-8") as out:
        out.write(program)
    return path


def check_compiler(bench):
    if shutil.which(bench.compiler) is None:
        skip(f"{bench.compiler} was not found")
    path = os.path.join(bench.folder, "probe.c")
    with open(path, "w", encoding="utf-8") as out:
        out.write("int main(void) { return 0; }\n")
    program, errors = bench.compile("probe", path)
    if not program:
        skip(f"{bench.compiler} has no ThreadSanitizer: {errors.strip().splitlines()[-1:]}")
    status, output = bench.run(program, [])
    if status != 0:
        skip(f"programs with the ThreadSanitizer of {bench.compiler} do not run here: {output.strip()[:200]}")


def sections(output):
    """{program: what was printed while it ran}"""
    parts = re.split(r"^program (\w+)$", output, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2]))


def check_right(bench, program, arguments):
    status, output = bench.run(program, arguments)
    if status == 0:
        return []
    name = os.path.basename(program)
    return [f"{bench.compiler}: {name} {' '.join(arguments)} ended with {status}:\n{output[:6000]}"]


def check_right_programs(bench):
    seeds = [SEED] if SMALL else range(SEED, SEED + 10)
    for name in RIGHT:
        program, errors = bench.compile(name, os.path.join(HERE, name + ".c"))
        if not program:
            yield errors
            continue
        for device in DEVICES:
            for seed in seeds:
                yield from check_right(bench, program, [device, str(seed)])
        # What is checked here is the library's doing: without it the same orders are not seen.
        if name == "right_tasks" and bench.run(program, ["cpu:2", str(SEED)], WEIR_TSAN="0")[0] != 66:
            yield f"{bench.compiler}: {name} has no report with WEIR_TSAN=0, so it shows nothing"


def check_device(bench, driver):
    program, errors = bench.compile("right_device", os.path.join(HERE, "right_device.c"))
    if not program:
        yield errors
        return
    for seed in range(SEED, SEED + 4):
        status, output = bench.run(program, ["cuda,cpu:1", str(seed)],
                                   "halt_on_error=1:ignore_noninstrumented_modules=1", WEIR_CUDA_DRIVER=driver)
        if status != 0:
            yield f"{bench.compiler}: right_device {seed} ended with {status}:\n{output[:6000]}"


def check_examples(bench):
    programs = [(name, os.path.join(bench.source, "examples", name), arguments) for name, arguments in EXAMPLES]
    programs.append(("readme", program_of(bench, "readme", "README.md"), []))
    if shutil.which(bench.cxx):
        programs.append(("quickstart_cpp", os.path.join(bench.source, "examples", "quickstart.cpp"), []))
    for name, path, arguments in programs:
        program, errors = bench.compile(os.path.basename(name).replace(".", "_"), path)
        yield from check_right(bench, program, arguments) if program else [errors]


def has_report(text):
    return "SUMMARY: ThreadSanitizer: " in text


def check_wrong_programs(bench):
    program, errors = bench.compile("wrong", os.path.join(HERE, "wrong.c"))
    if not program:
        yield errors
        return
    for device in DEVICES[:2]:
        _, output = bench.run(program, [device, str(SEED)], ALL_REPORTS)
        found = sections(output)
        if not found:
            yield f"{bench.compiler}: wrong {device}: {output[:2000]}"
        for name, text in found.items():
            if device == "cpu:1" and name in ONE_WORKER_ORDERS:
                continue
            tries = 0
            while not has_report(text) and tries < TRIES:
                tries += 1
                text = bench.run(program, [device, str(SEED + tries), name])[1]
            if not has_report(text):
                yield f"{bench.compiler}: the race of {name} on {device} is not reported"


def check_pairs(bench):
    """Random programs that print for each pair of tasks whether an order follows from what is declared."""
    program, errors = bench.compile("pairs", os.path.join(HERE, "pairs.c"))
    if not program:
        yield errors
        return
    for device in DEVICES[:2]:
        reported = set()
        for _ in range(TRIES):  # of two accesses at the very same time ThreadSanitizer may see neither
            output = bench.run(program, [device, str(SEED)], ALL_REPORTS)[1]
            found = sections(output)
            reported |= {name for name, text in found.items() if has_report(text)}
            missed = {name for name in found if name.startswith("unordered")} - reported
            if not missed:
                break
        for name in sorted(missed | {name for name in reported if name.startswith("ordered")}):
            yield f"{bench.compiler}: pair {name} of seed {SEED} on {device}: {found[name] or 'no report'}"
        if len(found) < 60:
            yield f"{bench.compiler}: pairs {device}: {output[:2000]}"


def check_tutorial(bench):
    program, errors = bench.compile("race", program_of(bench, "race", "docs/tutorials/find-a-race.md"))
    output = bench.run(program, [])[1] if program else errors
    if "in count" not in output:
        yield f"{bench.compiler}: the tutorial's race is not reported:\n{output}"


def main():
    compiler, cxx, source, library, driver = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(compiler, cxx, source, library, folder)
        check_compiler(bench)
        checks = [check_right_programs(bench), check_examples(bench), check_wrong_programs(bench), check_pairs(bench),
                  check_device(bench, driver), check_tutorial(bench)]
        wrong = [finding for check in checks for finding in check]
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
