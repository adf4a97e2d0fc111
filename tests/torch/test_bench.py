# SPDX-License-Identifier: Apache-2.0
"""bench/python/torch_models.py: rows of models, and models that fail, without a card's numbers."""

import importlib.util
import json
import os
import subprocess
import sys
from types import SimpleNamespace

import torch

PATH = os.path.join(os.path.dirname(__file__), "..", "..", "bench", "python", "torch_models.py")
_spec = importlib.util.spec_from_file_location("torch_models", PATH)
bench = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(bench)


def test_the_decoder_is_causal_and_uses_its_cache():
    torch.manual_seed(0)
    decoder = bench.make_decoder(layers=2, width=16, heads=2, cache=8, words=11)
    words = [torch.tensor([[word]]) for word in (3, 7, 3, 1)]
    with torch.no_grad():
        first = [decoder(word, torch.tensor([place])) for place, word in enumerate(words)]
        again = [decoder(word, torch.tensor([place])) for place, word in enumerate(words)]
        other = decoder(words[3], torch.tensor([1]))
    assert all(torch.equal(one, two) for one, two in zip(first, again))  # what is cached behind a token is not seen
    assert first[0].shape == (1, 1, 11) and not torch.equal(first[0], first[2]) and not torch.equal(first[3], other)


class Copies(torch.nn.Module):
    def forward(self, x):
        y = x.clone()
        y[1:].copy_(x[:-1])
        return y.clone()


def test_a_row(monkeypatch):
    monkeypatch.setattr(
        bench, "make", lambda name, half: (Copies(), lambda seed: (torch.full((8,), 1.0 + seed).cuda(),))
    )
    # Equality is computed by kernels, which do nothing here.
    monkeypatch.setattr(torch, "equal", lambda one, two: bool((one.cpu() == two.cpu()).all()))
    options = SimpleNamespace(passes=3, replays=5, backend=True, compile=False)
    monkeypatch.setattr(torch, "compile", lambda model, backend=None, mode=None: model)
    row = bench.inference("copies", True, options)
    assert row["equal"] and (row["replays"], row["differing"]) == (5, 0) and bench.is_good(row)
    assert row["type"] == "fp16" and all(row[name]["median"] > 0 for name in bench.COLUMNS)
    text = bench.line(json.loads(json.dumps(row)))
    assert text.startswith("copies") and "0 of 5 replays differ" in text
    assert not bench.is_good({**row, "differing": 1}) and "over 1 rows" in bench.summary([row, {"failed": ""}])


def test_a_compiler_that_fails_leaves_the_row(monkeypatch):
    monkeypatch.setattr(
        bench, "make", lambda name, half: (Copies(), lambda seed: (torch.full((8,), 1.0 + seed).cuda(),))
    )
    monkeypatch.setattr(torch, "equal", lambda one, two: bool((one.cpu() == two.cpu()).all()))

    def fail(model, backend=None, mode=None):
        raise NotImplementedError("of the compiler")

    monkeypatch.setattr(torch, "compile", fail)
    row = bench.inference("copies", False, SimpleNamespace(passes=2, replays=0, backend=True, compile=False))
    assert row["equal"] and not bench.is_good(row) and "backend failed, compile failed" in bench.line(row)
    assert row["compile_failed"] == "NotImplementedError: of the compiler"


def test_a_model_that_fails_does_not_stop_others(monkeypatch, tmp_path):
    failing = tmp_path / "row.py"
    failing.write_text("import sys, time\nif 'slow' in sys.argv: time.sleep(60)\nsys.exit('no such model')\n")
    monkeypatch.setattr(bench, "__file__", str(failing))
    monkeypatch.setattr(bench, "card", lambda: {"card": "none"})
    monkeypatch.setattr(
        sys, "argv", ["torch_models", "unknown", "slow", "--types", "fp32", "--limit", "2", "--json", f"{tmp_path}/out"]
    )
    assert bench.main() == 1
    with open(tmp_path / "out", encoding="ascii") as text:
        rows = json.load(text)["rows"]
    assert [row["failed"] for row in rows] == ["exit code 1: no such model", "took more than 2.0 s"]


def test_help():
    run = subprocess.run([sys.executable, PATH, "--help"], stdout=subprocess.PIPE, text=True, check=True)
    assert "gpt2_step" in run.stdout and "--replays" in run.stdout
