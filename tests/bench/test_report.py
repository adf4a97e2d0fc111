# SPDX-License-Identifier: Apache-2.0
"""`weir bench` with stand-ins for the runtimes' programs: medians, interleaving, what is missing, what fails."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

SERIES = [5, 1, 9, 3, 7]

# Prints the next number of the series each time it is called for the same case, and leaves its name in the log.
STAND_IN = """#!/bin/sh
count=0
[ -f "$0.$2.count" ] && count=$(cat "$0.$2.count")
echo $((count + 1)) >"$0.$2.count"
echo "$(basename "$0") $2" >>"$(dirname "$0")/log"
set -- "$2" $(echo "{series}" | cut -d ' ' -f $((count + 1)))
echo '{{"case": "'$1'", "runtime": "{runtime}", "unit": "ns/task", "value": '$2'}}'
"""


def write_program(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, 0o755)


def run(folder, *arguments):
    return subprocess.run([os.path.join(folder, "weir"), "bench", *arguments], capture_output=True, text=True,
                          check=False, timeout=300)


def stand_in(folder, name, runtime, factor):
    series = " ".join(str(factor * value) for value in SERIES)
    write_program(folder, name, STAND_IN.format(series=series, runtime=runtime))


def check_medians(folder):
    stand_in(folder, "weir-bench-weir", "weir", 1)
    stand_in(folder, "weir-bench-tbb", "oneTBB 1", 10)
    write_program(folder, "weir-bench-libomp", "#!/bin/sh\necho no library here >&2\nexit 3\n")
    done = run(folder, "metg", "--json")
    assert done.returncode == 0, done
    rows = {(row["case"], row["runtime"]): row for row in json.loads(done.stdout)}
    row = rows["stencil_1d", "weir"]
    expected = {"bench": "metg", "case": "stencil_1d", "runtime": "weir", "unit": "ns/task", "median": 5.0, "min": 1.0,
                "max": 9.0, "runs": 5}
    assert row == expected, row
    assert rows["sweep", "oneTBB 1"]["median"] == 50, rows
    assert {case for case, _ in rows} == {"trivial", "stencil_1d", "fft", "nearest", "random_nearest", "tree", "sweep"}
    assert "libomp is missing: no library here" in done.stderr, done.stderr
    for name in ("libgomp", "StarPU"):
        assert f"{name} is missing" in done.stderr, done.stderr
    with open(os.path.join(folder, "log"), encoding="utf-8") as file:
        order = file.read().split("\n")[:4]
    assert order == ["weir-bench-weir trivial", "weir-bench-tbb trivial"] * 2, order


def check_table(folder):
    for name in os.listdir(folder):
        if name.endswith(".count"):
            os.remove(os.path.join(folder, name))
    done = run(folder, "metg", "--runs", "2")
    assert done.returncode == 0, done
    lines = [line.split() for line in done.stdout.splitlines()]
    assert ["metg", "fft", "weir", "ns/task", "3.00", "1.00", "5.00", "2"] in lines, done.stdout
    assert ["metg", "fft", "oneTBB", "1", "ns/task", "30.0", "10.0", "50.0", "2", "0.10"] in lines, done.stdout
    assert "StarPU is missing" in done.stdout, done.stdout


def check_failures(folder):
    write_program(folder, "weir-bench-tbb", "#!/bin/sh\necho cell 3 is wrong >&2\nexit 1\n")
    done = run(folder, "metg", "--json", "--quick")
    assert done.returncode == 1, done
    assert "oneTBB failed at metg trivial: cell 3 is wrong" in done.stderr, done.stderr
    json.loads(done.stdout)
    write_program(folder, "weir-bench-tbb", "#!/bin/sh\nkill -SEGV $$\n")
    done = run(folder, "metg", "--quick")
    assert done.returncode == 1 and "oneTBB failed at metg trivial: Segmentation fault" in done.stderr, done
    os.remove(os.path.join(folder, "weir-bench-tbb"))
    os.remove(os.path.join(folder, "weir-bench-weir"))
    done = run(folder, "submit")
    assert done.returncode == 3 and "weir is missing" in done.stdout, done


def check_usage(folder):
    for arguments in (["spiral"], ["--runs", "0"], ["--runs", "x"], ["--no-such-option"]):
        done = run(folder, *arguments)
        assert done.returncode == 2 and done.stderr.startswith("weir bench: ") and not done.stdout, done
    done = run(folder, "--help")
    assert done.returncode == 0 and "parallelism" in done.stdout, done


def main():
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(sys.argv[1], os.path.join(folder, "weir"))
        check_medians(folder)
        check_table(folder)
        check_failures(folder)
        check_usage(folder)


if __name__ == "__main__":
    main()
