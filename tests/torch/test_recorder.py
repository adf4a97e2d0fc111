# SPDX-License-Identifier: Apache-2.0
"""What weir.torch notes of a model, where it puts memory, and which nodes wait for which."""

import pytest
import torch
from conftest import edges

import weir.torch


def tensor(*shape):
    return torch.empty(*shape, device="cuda")


def captured(model, *args, **options):
    fast = weir.torch.graph(model, *args, **options)
    return fast._graphs[0]


def branches(x):
    long = torch.relu(x)
    for _ in range(4):
        long = torch.tanh(long)
    short = torch.sigmoid(x) * 2
    return torch.cat([long, short.view(-1).view(short.shape)])


def test_operators_in_order_and_no_views():
    names = weir.torch.graph(branches).operators(tensor(8, 16))
    plain = [name.split(".")[1] for name in names]
    assert plain == ["relu", "tanh", "tanh", "tanh", "tanh", "sigmoid", "mul", "cat"]


def ranges(graph, operator, writes):
    return {(one.start, one.end) for one in graph._operators[operator].accesses if one.writes == writes}


def whole(value):
    return value.data_ptr(), value.data_ptr() + value.numel() * value.element_size()


def test_accesses_by_schema():
    kept, column = tensor(64), tensor(8, 8)

    def model(x):
        y = torch.relu(x)  # 0
        y.add_(kept)  # 1: an update
        torch.mul(y, 3, out=kept)  # 2: an argument that is written
        z = column[:, 2].clone()  # 3: reads part of a tensor, up to its last element
        return y, z

    graph = captured(model, tensor(64))
    y = whole(graph.result[0])
    static = whole(graph.launch._statics[0])
    assert ranges(graph, 0, False) == {static} and y in ranges(graph, 0, True)
    assert ranges(graph, 1, False) == {whole(kept)} and ranges(graph, 1, True) == {y}
    assert y in ranges(graph, 2, False) and whole(kept) in ranges(graph, 2, True)
    start = column.data_ptr() + 8
    assert ranges(graph, 3, False) == {(start, start + 7 * 32 + 4)}


def test_a_custom_operator_says_what_it_mutates():
    @torch.library.custom_op("weir_test::shift", mutates_args=("to",))
    def shift(source: torch.Tensor, to: torch.Tensor) -> torch.Tensor:
        to.copy_(source)
        return source.clone()

    to = tensor(32)
    graph = captured(lambda x: torch.ops.weir_test.shift(x, to), tensor(32))
    assert graph.names() == ["weir_test.shift.default"]
    assert whole(to) in ranges(graph, 0, True) and whole(graph.launch._statics[0]) in ranges(graph, 0, False)
    assert graph._operators[0].end_node - graph._operators[0].first_node == 2


def test_lists_and_tensors_without_elements():
    def model(x, nothing):
        many = torch._foreach_add([x, x], 1.0)
        torch._foreach_mul_(many, 2.0)
        return torch.cat([*many, nothing])

    graph = captured(model, tensor(16), tensor(0))
    names = graph.names()
    update = names.index("aten._foreach_mul_.Scalar")
    assert len(ranges(graph, update, True)) == 2 and not ranges(graph, update, False)
    assert all(start < end for number in range(len(names)) for start, end in ranges(graph, number, True))


def before(count, pairs):
    """For each node the set of nodes that are done before it starts, one bit each. Edges go forward."""
    masks = [0] * count
    for later in range(count):
        for head, tail in pairs:
            if tail == later:
                assert head < tail
                masks[later] |= masks[head] | 1 << head
    return masks


def in_order(nodes, pairs):
    """The nodes of a chain. The driver without a card lists them in any order."""
    following = dict(pairs)
    (first,) = nodes - set(following.values())
    found = [first]
    while found[-1] in following:
        found.append(following[found[-1]])
    assert len(found) == len(nodes)
    return found


def conflict(one, other):
    return any(
        a.start < b.end and b.start < a.end and (a.writes or b.writes) for a in one.accesses for b in other.accesses
    )


@pytest.mark.parametrize("memory", [1.0, 1.25, 4.0])
def test_edges_are_those_of_conflicts(memory, monkeypatch):
    monkeypatch.setattr(weir.torch._build, "_median_us", times(100, 50))
    monkeypatch.setattr(weir.torch._launch, "call_us", times(1, 2))  # inputs are copied before launches
    order = []
    relax = weir.torch._build.relax

    def relax_in_order(device, graph, *rest):
        order.extend(in_order(*edges(graph)))
        return relax(device, graph, *rest)

    monkeypatch.setattr(weir.torch._build, "relax", relax_in_order)
    graph = captured(branches, tensor(8, 16), memory=memory)
    assert graph.report.parallel
    nodes, pairs = edges(graph.graph.raw_cuda_graph())
    pairs = [(order.index(head), order.index(tail)) for head, tail in pairs]
    count = len(nodes)
    owner = {node: operator for operator in graph._operators for node in range(operator.first_node, operator.end_node)}
    assert set(owner) == set(range(count))
    expected = [
        (head, tail)
        for tail in range(count)
        for head in range(tail)
        if owner[head] is owner[tail] or conflict(owner[head], owner[tail])
    ]
    assert before(count, pairs) == before(count, expected)
    assert len(pairs) == graph.report.dependences


def times(*microseconds):
    """In place of the times of a card: what launches take, in the order in which they are asked for."""
    left = list(microseconds)
    return lambda launch: left.pop(0)


def test_the_slower_order_is_not_kept(monkeypatch):
    monkeypatch.setattr(weir.torch._build, "_median_us", times(50, 60))
    fast = weir.torch.graph(branches, tensor(8, 16))
    report = fast.report(tensor(8, 16))
    assert not report.parallel and (report.serial_us, report.parallel_us) == (50, 60)
    nodes, pairs = edges(fast._graphs[0].graph.raw_cuda_graph())
    in_order(nodes, pairs)
    assert len(pairs) == len(nodes) - 1
    assert "one after the other" in fast.why(0, 5, tensor(8, 16))


@pytest.mark.parametrize("parallel", [True, False])
def test_the_longest_chain_has_priority(parallel, monkeypatch):
    monkeypatch.setattr(weir.torch._build, "_median_us", times(100, 50 if parallel else 200))
    monkeypatch.setattr(weir.torch._launch, "call_us", times(1, 2))  # inputs are copied before launches
    priorities, set_priority = {}, weir.torch._driver.set_priority

    def note(nodes, priority):
        nodes = list(nodes)
        priorities.update(dict.fromkeys(nodes, priority))
        set_priority(nodes, priority)

    monkeypatch.setattr(weir.torch._driver, "set_priority", note)
    graph = captured(branches, tensor(8, 16))
    owners = [operator.name.split(".")[1] for operator in graph._operators for _ in range(*nodes_of(operator))]
    urgent = {name for name, node in zip(owners, graph._order) if priorities.get(node, 0) < 0}
    assert urgent == ({"relu", "tanh", "cat"} if parallel else set())


def nodes_of(operator):
    return operator.first_node, operator.end_node


def test_memory_is_used_again():
    def chain(x):
        for _ in range(20):
            x = torch.relu(x)
        return x

    graph = captured(chain, tensor(1 << 20))
    report = graph.report
    assert report.serial_bytes == report.bytes == 2 << 22
    assert report.unplanned_bytes == 20 << 22


def test_a_limit_on_memory_adds_dependences():
    def wide(x):
        return sum(torch.relu(torch.tanh(x)) for _ in range(12))

    roomy, tight = (captured(wide, tensor(1 << 20), memory=memory).report for memory in (9, 1))
    assert roomy.dependences_for_memory == 0 and roomy.bytes > tight.bytes
    assert tight.dependences_for_memory > 0 and tight.bytes == tight.serial_bytes


def test_planned_memory_does_not_overlap_while_in_use():
    graph = captured(branches, tensor(1 << 12))
    low = graph._arena.data_ptr()
    high = low + graph._arena.numel()
    for operator in graph._operators:
        for access in operator.accesses:
            inside = low <= access.start and access.end <= high
            assert inside or not access.writes
    for one in graph._operators:
        made = [access for access in one.accesses if access.writes]
        read = [access for access in one.accesses if not access.writes]
        assert not any(a.start < b.end and b.start < a.end for a in made for b in read)
