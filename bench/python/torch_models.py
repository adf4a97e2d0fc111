#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""PyTorch models with random weights as graphs: weir.torch beside torch.cuda.graph and torch.compile.

    bench/python/torch_models.py [OPTION ...] [MODEL ...]

Models are timm's, batch 1, and gpt2_step: one token of a decoder in plain PyTorch (12 layers, 768 wide, a cache of 1024
tokens). Each is measured in fp32 and in fp16 (channels last), in a process of its own: one that fails, or takes more
than --limit seconds, does not stop the others. It needs a CUDA card, PyTorch, timm, and the package weir
(`pip install ./python`).

A time is that of a call until the card is done, in us: median, least and most of --passes. weir.torch's call copies the
inputs, torch.cuda.graph's replay does not. "alone" is weir.torch's graph without that, timed on the card. Memory is of
intermediate results, in MiB: the most that PyTorch allocates for torch.cuda.graph, and what weir.torch's graph keeps.
Outputs must be equal to those of the model, bit for bit, for two inputs, and with --replays for so many others.
The exit code is 1 if a model failed, or if an output differed.
"""

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import time
import warnings

MODELS = [
    "inception_v3",
    "nasnetalarge",
    "hrnet_w18",
    "resnet50",
    "densenet121",
    "vit_base_patch16_224",
    "gpt2_step",
]
MARK = "row of torch_models: "


def microseconds(call, passes):
    import torch

    for _ in range(5):
        call()
    torch.cuda.synchronize()
    times = []
    for _ in range(passes):
        start = time.perf_counter()
        call()
        torch.cuda.synchronize()
        times.append((time.perf_counter() - start) * 1e6)
    return {"median": statistics.median(times), "least": min(times), "most": max(times)}


def make_decoder(layers=12, width=768, heads=12, cache=1024, words=50257):
    """A decoder of GPT-2's size: logits of the token after one at a position, of which it caches keys and values."""
    import torch
    from torch.nn import functional

    class Layer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.norms = torch.nn.ModuleList(torch.nn.LayerNorm(width) for _ in range(2))
            self.qkv, self.out = torch.nn.Linear(width, 3 * width), torch.nn.Linear(width, width)
            self.up, self.down = torch.nn.Linear(width, 4 * width), torch.nn.Linear(4 * width, width)
            self.register_buffer("keys", torch.zeros(1, heads, cache, width // heads))
            self.register_buffer("values", torch.zeros(1, heads, cache, width // heads))

        def forward(self, x, position, mask):
            parts = self.qkv(self.norms[0](x)).view(1, 1, 3, heads, width // heads)
            query, key, value = (part.transpose(1, 2) for part in parts.unbind(2))
            self.keys.index_copy_(2, position, key)
            self.values.index_copy_(2, position, value)
            weights = (query @ self.keys.transpose(-2, -1)) / math.sqrt(width // heads) + mask
            mixed = (weights.softmax(-1) @ self.values).transpose(1, 2).reshape(1, 1, width)
            x = x + self.out(mixed)
            return x + self.down(functional.gelu(self.up(self.norms[1](x))))

    class Decoder(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.positions = torch.nn.Embedding(words, width), torch.nn.Embedding(cache, width)
            self.layers = torch.nn.ModuleList(Layer() for _ in range(layers))
            self.norm = torch.nn.LayerNorm(width)
            self.register_buffer("places", torch.arange(cache))

        def forward(self, word, position):
            x = self.words(word) + self.positions(position)
            mask = torch.where(self.places <= position, 0.0, -1e4).to(x.dtype)
            for layer in self.layers:
                x = layer(x, position, mask)
            return functional.linear(self.norm(x), self.words.weight)

    return Decoder()


def decoder_inputs(seed):
    import torch

    dice = torch.Generator().manual_seed(seed)
    word = torch.randint(50257, (1, 1), generator=dice).cuda()
    return word, torch.randint(1024, (1,), generator=dice).cuda()


def make(name, half):
    """A model, and a function that makes its arguments from a seed."""
    import torch

    torch.manual_seed(0)
    if name == "gpt2_step":
        model = make_decoder().cuda()
        return (model.half() if half else model), decoder_inputs
    import timm

    model = timm.create_model(name, pretrained=False).cuda()
    for module in model.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.running_var.fill_(100)  # random weights: numbers stay finite
    size = model.pretrained_cfg.get("input_size", (3, 224, 224))
    if half:
        model = model.half().to(memory_format=torch.channels_last)

    def inputs(seed):
        x = torch.randn(1, *size, device="cuda", generator=torch.Generator("cuda").manual_seed(seed))
        return (x.half().contiguous(memory_format=torch.channels_last) if half else x,)

    return model, inputs


def capture(call):
    """A torch.cuda.graph of a call, and the most that was allocated for it."""
    import torch

    graph = torch.cuda.CUDAGraph()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    with torch.cuda.graph(graph):
        call()
    return graph, (torch.cuda.max_memory_allocated() - before) / 2**20


def differing(fast, model, inputs, count):
    """Of so many other inputs, how many have another result than the model's."""
    import torch

    wrong = 0
    for seed in range(2, 2 + count):
        args = inputs(seed)
        got = fast(*args).clone()
        wrong += not torch.equal(got, model(*args))
    return wrong


def by_backend(row, model, inputs, options):
    import torch

    import weir.torch

    compiled = torch.compile(model, backend="weir")
    first, second = inputs
    times = microseconds(lambda: compiled(*first), options.passes)
    row["backend_equal"] = torch.equal(compiled(*second), model(*second))
    pieces = weir.torch.pieces()
    row["pieces"], row["unchanged"] = len(pieces), [piece.unchanged for piece in pieces if piece.unchanged]
    row["backend"] = times


def by_compiler(row, model, first, options):
    import torch

    compiled = torch.compile(model, mode="reduce-overhead")
    row["compile"] = microseconds(lambda: compiled(*first), options.passes)


def attempt(row, name, call):
    """A column that may fail without the row."""
    import torch

    try:
        call()
    except Exception as failure:  # of any kind: a compiler's, the model's
        row[f"{name}_failed"] = f"{type(failure).__name__}: {str(failure)[:300]}"
    torch._dynamo.reset()


def inference(name, half, options):
    import torch

    import weir.torch

    model, inputs = make(name, half)
    model.eval()
    first, second = inputs(0), inputs(1)
    with torch.no_grad():
        row = {"model": name, "type": "fp16" if half else "fp32"}
        row["eager"] = microseconds(lambda: model(*first), max(5, options.passes // 5))
        for _ in range(3):
            model(*first)
        graph, row["graph_mib"] = capture(lambda: model(*first))
        start = time.perf_counter()
        fast = weir.torch.graph(model, *first)
        row["seconds_to_build"] = time.perf_counter() - start
        report = fast.report(*first)
        for args in (first, second):
            model(*args)  # a model with a cache has all entries then
        expected = [model(*args) for args in (first, second)]
        row["equal"] = all(torch.equal(fast(*args), y) for args, y in zip((first, second), expected))
        # In turns, so that both see the same clocks.
        turns = [(microseconds(graph.replay, options.passes), microseconds(lambda: fast(*first), options.passes))]
        turns.append((microseconds(graph.replay, options.passes), microseconds(lambda: fast(*first), options.passes)))
        row["graph"], row["weir"] = (min(pair, key=lambda one: one["median"]) for pair in zip(*turns))
        row["weir_alone"] = {"median": report.parallel_us if report.parallel else report.serial_us}
        row["weir_mib"] = report.bytes / 2**20
        row["operators"], row["dependences"] = report.operators, report.dependences
        row["between_all"], row["parallel"] = report.kernels_between_all, report.parallel
        row["copies_in_graph"] = fast.copies_in_graph(*first)
        if options.replays:
            row["replays"], row["differing"] = options.replays, differing(fast, model, inputs, options.replays)
        if options.backend:
            attempt(row, "backend", lambda: by_backend(row, model, (first, second), options))
        if options.compile or options.backend:
            attempt(row, "compile", lambda: by_compiler(row, model, first, options))
    return row


def training(name, options):
    """A step of SGD in fp32, by torch.cuda.graph and by weir.torch."""
    import torch

    import weir.torch

    def steps():
        model, inputs = make(name, False)
        model.train()
        for module in model.modules():
            if isinstance(module, torch.nn.BatchNorm2d):
                module.eval()  # batch 1
        for parameter in model.parameters():
            parameter.grad = torch.zeros_like(parameter)
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)
        target = torch.tensor([3], device="cuda")

        def step(x):
            optimizer.zero_grad(set_to_none=False)
            loss = torch.nn.functional.cross_entropy(model(x), target)
            loss.backward()
            optimizer.step()
            return loss

        return step, inputs(0)[0]

    step, x = steps()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            step(x)
    torch.cuda.synchronize()
    graph, peak = capture(lambda: step(x))
    row = {"model": name, "type": "training", "graph": microseconds(graph.replay, options.passes), "graph_mib": peak}
    del graph, step
    step, x = steps()
    fast = weir.torch.graph(step, x, grad=True)
    report = fast.report(x)
    row["weir"] = microseconds(lambda: fast(x), options.passes)
    row["weir_alone"] = {"median": report.parallel_us if report.parallel else report.serial_us}
    row["weir_mib"], row["operators"] = report.bytes / 2**20, report.operators
    row["between_all"], row["parallel"] = report.kernels_between_all, report.parallel
    row["dependences"], row["equal"] = report.dependences, True
    return row


def is_good(row):
    good = "failed" not in row and row["equal"] and not row.get("differing") and row.get("backend_equal", True)
    return good and not any(name.endswith("_failed") for name in row)


def ratio(row, over, under):
    return f"{row[over]['median'] / row[under]['median']:.2f}" if over in row and under in row else ""


def line(row):
    head = f"{row['model']:22}{row['type']:>9}"
    if "failed" in row:
        return f"{head}  {row['failed']}"
    times = "".join(f"{row[name]['median']:11.0f}" if name in row else " " * 11 for name in COLUMNS)
    ratios = "".join(f"{ratio(row, *pair):>9}" for pair in RATIOS)
    notes = [] if row["parallel"] else ["one after the other"]
    notes += [] if row["equal"] else ["another result"]
    notes += [f"{row['differing']} of {row['replays']} replays differ"] if "replays" in row else []
    notes += [f"{name} failed" for name in ("backend", "compile") if f"{name}_failed" in row]
    notes += [] if row.get("backend_equal", True) else ["another result by the backend"]
    return f"{head}{times}{ratios}{row['graph_mib']:9.1f}{row['weir_mib']:9.1f}  {', '.join(notes)}"


COLUMNS = ["eager", "graph", "weir", "weir_alone", "compile", "backend"]
RATIOS = [("graph", "weir"), ("graph", "weir_alone"), ("compile", "weir"), ("compile", "backend")]


def heading():
    columns = "".join(f"{name.replace('weir_', ''):>11}" for name in COLUMNS)
    ratios = "".join(f"{name:>9}" for name in ("g/weir", "g/alone", "c/weir", "c/back"))
    return f"{'model':22}{'type':>9}{columns}{ratios}{'MiB':>9}{'weir MiB':>9}"


def summary(rows):
    ratios = [row["graph"]["median"] / row["weir"]["median"] for row in rows if "weir" in row and "eager" in row]
    if not ratios:
        return "no model was measured"
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    return f"geometric mean of graph/weir over {len(ratios)} rows: {mean:.2f}"


def measure(name, kind, options):
    """A row, measured in this process."""
    import torch

    warnings.filterwarnings("ignore")
    torch.backends.cudnn.benchmark = True
    return training(name, options) if kind == "training" else inference(name, kind == "fp16", options)


def measure_apart(name, kind, options):
    """A row, measured in a process of its own."""
    command = [sys.executable, os.path.abspath(__file__), name, "--row", kind, "--passes", str(options.passes)]
    command += ["--replays", str(options.replays)]
    command += [f"--{flag}" for flag in ("compile", "backend") if getattr(options, flag)]
    failed = {"model": name, "type": kind}
    try:
        run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=options.limit)
    except subprocess.TimeoutExpired:
        return {**failed, "failed": f"took more than {options.limit} s"}
    found = [text for text in run.stdout.splitlines() if text.startswith(MARK)]
    if found:
        return json.loads(found[-1][len(MARK) :])
    last = (run.stderr.strip().splitlines() or ["no text"])[-1]
    return {**failed, "failed": f"exit code {run.returncode}: {last[:300]}"}


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="MODEL", default=MODELS, help=f"default: {' '.join(MODELS)}")
    parser.add_argument("--types", nargs="+", choices=["fp32", "fp16"], default=["fp32", "fp16"])
    parser.add_argument("--passes", type=int, default=50, help="calls that are timed (50)")
    parser.add_argument("--replays", type=int, default=0, help="so many other inputs, results compared bit for bit")
    parser.add_argument("--compile", action="store_true", help='also torch.compile(mode="reduce-overhead"): minutes')
    parser.add_argument("--backend", action="store_true", help='also torch.compile(backend="weir") beside that')
    parser.add_argument("--train", action="store_true", help="also a step of SGD in fp32, of models of timm")
    parser.add_argument("--limit", type=float, default=600, help="seconds for one model in one type (600)")
    parser.add_argument("--json", metavar="FILE", help="where all numbers are written")
    parser.add_argument("--row", choices=["fp32", "fp16", "training"], help=argparse.SUPPRESS)
    return parser.parse_args()


def card():
    """What measures, in words; ends the program where something is missing."""
    try:
        import timm
        import torch

        import weir.torch
    except ImportError as missing:
        sys.exit(f"torch_models: {missing}")
    if not torch.cuda.is_available():
        sys.exit("torch_models: PyTorch finds no CUDA device")
    versions = {"torch": torch.__version__, "timm": timm.__version__, "weir": weir.__version__}
    return {"card": torch.cuda.get_device_name(), **versions}


def main():
    options = parse()
    if options.row:
        print(MARK + json.dumps(measure(options.models[0], options.row, options)))
        return 0
    told = card()
    print(", ".join(f"{name} {value}" for name, value in told.items()))
    print(heading(), flush=True)
    rows = []
    for name in options.models:
        kinds = options.types + (["training"] if options.train and name != "gpt2_step" else [])
        for kind in kinds:
            rows.append(measure_apart(name, kind, options))
            print(line(rows[-1]), flush=True)
            if options.json:  # after each: a run that is cut off leaves what it measured
                with open(options.json, "w", encoding="ascii") as out:
                    json.dump({**told, "rows": rows}, out, indent=1)
    print(summary(rows))
    return 0 if all(is_good(row) for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
