#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""PyTorch models with random weights as graphs: weir.torch beside torch.cuda.graph and torch.compile, in one run.

    bench/python/torch_models.py [--passes N] [--compile] [--train] [--json] [MODEL ...]

Models are timm's, batch 1, in fp32 and in fp16 with channels last; default: inception_v3 nasnetalarge hrnet_w18. It needs
a CUDA card, PyTorch, timm, and the package weir (`pip install ./python`). A time is that of a call until the card is done,
in us: median, least and most of N (50). weir.torch's call copies the input, torch.cuda.graph's replay does not. "graph alone" is
weir.torch without that. Memory is of intermediate results, in MiB: the most that PyTorch allocates for torch.cuda.graph,
and what weir.torch's graph keeps. Outputs must be equal to those of the model, bit for bit. --compile: also
torch.compile(mode="reduce-overhead"), which takes minutes. --train: one more table, a step of SGD.
"""

import argparse
import json
import math
import statistics
import sys
import time
import warnings


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


def make(name, half):
    import timm
    import torch

    torch.manual_seed(0)
    model = timm.create_model(name, pretrained=False).cuda()
    for module in model.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.running_var.fill_(100)  # random weights: numbers stay finite
    size = model.pretrained_cfg.get("input_size", (3, 224, 224))
    inputs = [torch.randn(1, *size, device="cuda") for _ in range(2)]
    if half:
        model = model.half().to(memory_format=torch.channels_last)
        inputs = [x.half().contiguous(memory_format=torch.channels_last) for x in inputs]
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


def inference(name, half, options):
    import torch

    import weir.torch

    model, inputs = make(name, half)
    model.eval()
    with torch.no_grad():
        expected = [model(x) for x in inputs]
        row = {"model": name, "type": "fp16" if half else "fp32"}
        row["eager"] = microseconds(lambda: model(inputs[0]), max(5, options.passes // 5))
        for _ in range(3):
            model(inputs[0])
        graph, row["graph_mib"] = capture(lambda: model(inputs[0]))
        row["graph"] = microseconds(graph.replay, options.passes)
        start = time.perf_counter()
        fast = weir.torch.graph(model, inputs[0])
        row["seconds_to_build"] = time.perf_counter() - start
        report = fast.report(inputs[0])
        row["equal"] = all(torch.equal(fast(x), y) for x, y in zip(inputs, expected))
        row["weir"] = microseconds(lambda: fast(inputs[0]), options.passes)
        row["weir_alone"] = {"median": report.parallel_us if report.parallel else report.serial_us}
        row["weir_mib"] = report.bytes / 2**20
        row["operators"], row["dependences"] = report.operators, report.dependences
        row["between_all"], row["parallel"] = report.kernels_between_all, report.parallel
        if options.compile:
            compiled = torch.compile(model, mode="reduce-overhead")
            row["compile"] = microseconds(lambda: compiled(inputs[0]), options.passes)
            torch._dynamo.reset()
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

        return step, inputs[0]

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


def show(rows):
    head = ["model", "type", "graph", "weir", "graph/weir", "alone", "graph/alone", "compile/weir", "MiB", "weir MiB"]
    print(("{:26}" + "{:>9}" + "{:>12}" * 8).format(*head))
    for row in rows:
        weir, alone = row["weir"]["median"], row["weir_alone"]["median"]
        compiled = f"{row['compile']['median'] / weir:.2f}" if "compile" in row else ""
        print(
            f"{row['model']:26}{row['type']:>9}{row['graph']['median']:12.0f}{weir:12.0f}"
            f"{row['graph']['median'] / weir:12.2f}{alone:12.0f}{row['graph']['median'] / alone:12.2f}{compiled:>12}"
            f"{row['graph_mib']:12.1f}{row['weir_mib']:12.1f}  {'' if row['parallel'] else 'one after the other'}"
        )
    ratios = [row["graph"]["median"] / row["weir"]["median"] for row in rows if row["type"] != "training"]
    print(f"geometric mean of graph/weir: {math.exp(sum(map(math.log, ratios)) / len(ratios)):.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", default=["inception_v3", "nasnetalarge", "hrnet_w18"])
    parser.add_argument("--passes", type=int, default=50)
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--train", action="store_true")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    try:
        import timm
        import torch

        import weir.torch
    except ImportError as missing:
        sys.exit(f"torch_models: {missing}")
    if not torch.cuda.is_available():
        sys.exit("torch_models: PyTorch finds no CUDA device")
    torch.backends.cudnn.benchmark = True
    rows = []
    for name in options.models:
        for half in (False, True):
            rows.append(inference(name, half, options))
            if not rows[-1]["equal"]:
                sys.exit(f"torch_models: {name}: another result than the model's")
            torch.cuda.empty_cache()
        if options.train:
            rows.append(training(name, options))
    if options.json:
        versions = {"torch": torch.__version__, "timm": timm.__version__, "weir": weir.__version__}
        print(json.dumps({"card": torch.cuda.get_device_name(), **versions, "rows": rows}))
    else:
        print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, timm {timm.__version__}")
        show(rows)


if __name__ == "__main__":
    main()
