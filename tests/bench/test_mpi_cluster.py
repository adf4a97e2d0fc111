# SPDX-License-Identifier: Apache-2.0
"""test_mpi_cluster.py WEIR BENCH: the scripts about the simulated cluster. What was simulated takes the place of what
was measured: its settings show no error, others do, and the fit finds what was changed. One node has its own speed.
"""

import contextlib
import io
import json
import math
import os
import re
import sys
import tempfile
import types

WEIR, BENCH = sys.argv[1:3]
sys.path.insert(0, BENCH)
import cluster  # noqa: E402
import scaling  # noqa: E402

TRUE = {
    "submit_us": 1.1,
    "pass_us": 0.2,
    "buffer_us": 0.9,
    "task_us": 0.3,
    "send_us": 2.0,
    "local_latency_us": 5.0,
    "copy_gbs": 3.0,
    "local_gbs": 2.0,
}
OPTIONS = types.SimpleNamespace(weir=WEIR, cores=2, prefix="")


def run(script, *arguments):
    output = io.StringIO()
    sys.argv = [script.__name__, *arguments]
    with contextlib.redirect_stdout(output):
        script.main()
    return output.getvalue()


def text_of(settings):
    return ",".join(f"{key}={value}" for key, value in settings.items())


assert cluster.shape_of(4, 2) == {"ranks_per_node": 4, "workers": 1, "oversubscribe": 2}
assert cluster.shape_of(1, 2) == {"ranks_per_node": 1, "workers": 2, "oversubscribe": 1}
cluster.PREDICTED = [(2, (), ("fft,us=5,steps=10", "squeezenet")), (4, cluster.KEPT, ("stencil_1d,us=5,steps=10",))]
cluster.FITTED = [(1, (), ("trivial,us=0",)), (2, (), ("stencil_1d,us=0",))]
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "measured.json")
    simulated = cluster.simulate(OPTIONS, TRUE, cluster.FITTED + cluster.PREDICTED)
    measured = {key: [2 * us, us, 3 * us] for key, us in simulated.items()}
    with open(path, "w", encoding="utf-8") as file:
        json.dump(measured, file)
    right = run(cluster, path, "--weir", WEIR, "--cores", "2", "--settings", text_of(TRUE))
    assert right.count("error: median 0.0 %, worst 0.0 %") == 4, right
    wrong = run(cluster, path, "--weir", WEIR, "--cores", "2", "--settings", text_of({**TRUE, "submit_us": 9}))
    assert "worst 0.0 %" not in wrong, wrong
    cluster.BEGIN.update(TRUE, submit_us=0.4)
    with contextlib.redirect_stdout(io.StringIO()):
        fitted = cluster.fit(OPTIONS, measured, ["submit_us"])
    assert math.isclose(fitted["submit_us"], TRUE["submit_us"], rel_tol=0.1), fitted

scaled = run(
    scaling,
    "--weir",
    WEIR,
    "--nodes",
    "1,3",
    "--points",
    "4",
    "--us",
    "10",
    "--strong-nodes",
    "1,4",
    "--strong-us",
    "50",
    "--width",
    "8",
    "--steps",
    "4",
    "--skip",
    "0",
)
assert len(re.findall(r" 1\.000 (?:workers|submission)", scaled)) == 1, scaled
assert len(re.findall(r"3 nodes reach 0.9 with kernels of \d", scaled)) == 1, scaled
assert len(re.findall(r"50 +1\.0 (?:workers|submission)", scaled)) == 1, scaled
