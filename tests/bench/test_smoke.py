# SPDX-License-Identifier: Apache-2.0
"""`weir bench --quick --json submit forms ranges overhead`: all cases are there, and no result differs from serial
execution."""
import json
import os
import subprocess
import sys

PEERS = {"oneTBB": "weir-bench-tbb", "libomp": "weir-bench-libomp", "libgomp": "weir-bench-libgomp",
         "StarPU": "weir-bench-starpu"}
WEIR_CASES = {
    ("submit", "64 buffers", "weir"), ("submit", "64 buffers", "weir, no renaming"),
    ("submit", "64 buffers", "weir, many"), ("submit", "64 buffers", "weir, prepared"),
    ("submit", "64 buffers", "weir, prepared many"), ("ranges", "stencil, first pass", "weir"),
    ("ranges", "stencil, pass", "weir"), ("ranges", "wavefront, pass", "weir"),
    ("submit", "64 buffers", "bare lists"), ("ranges", "1024 live", "weir"), ("ranges", "2048 live", "weir"),
    ("ranges", "1024 ahead", "weir"), ("ranges", "4096 ahead", "weir"), ("ranges", "16384 ahead", "weir, no renaming"),
    ("overhead", "independent", "weir"), ("overhead", "chain", "weir"), ("overhead", "random", "weir"),
    ("overhead", "random", "weir, no renaming"), ("overhead", "replay", "weir"),
} | {("forms", case, runtime) for case in ("submit", "in all") for runtime in (
    "weir", "weir, many", "weir, prepared", "weir, prepared many", "weir, trace cache", "weir, recorded graph")}


def main():
    weir = sys.argv[1]
    folder = os.path.dirname(weir)
    done = subprocess.run([weir, "bench", "--quick", "--json", "submit", "forms", "ranges", "overhead"],
                          capture_output=True, text=True, check=False, timeout=280)
    assert done.returncode == 0, (done.returncode, done.stderr)
    rows = json.loads(done.stdout)
    for row in rows:
        assert set(row) == {"bench", "case", "runtime", "unit", "median", "min", "max", "runs"}, row
        assert row["runs"] >= 1 and 0 < row["min"] <= row["median"] <= row["max"], row
    found = {(row["bench"], row["case"], row["runtime"]) for row in rows}
    assert WEIR_CASES <= found, WEIR_CASES - found
    for name, program in PEERS.items():
        cases = {case for bench, case, runtime in found if bench == "overhead" and runtime.startswith(name)}
        if os.path.exists(os.path.join(folder, program)):
            assert cases >= {"independent", "chain", "random"} or f"{name} is missing" in done.stderr, (name, cases)
        else:
            assert not cases and f"{name} is missing" in done.stderr, done.stderr
    segments = {row["case"]: row["median"] for row in rows if row["unit"] == "segments"}
    for label in (1024, 2048):
        assert 0.6 * label < segments[f"{label} live"] < 1.2 * label, segments


if __name__ == "__main__":
    main()
