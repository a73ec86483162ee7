from __future__ import annotations

import pytest
import torch
from strategies import connected_graph, signals
from torch import Tensor
from torch_geometric.nn import GATConv

from unifilter import Graph
from unifilter.nn import GAT
from unifilter.nn.gat import AttentionLayer, hear_neighbors

NODES = 20


def directed_graph() -> tuple[Graph, Tensor]:
    """Every node hears from itself and two others; also as PyG lists it, from whom to whom."""
    rows = [sorted({node, (node + 1) % NODES, (3 * node + 5) % NODES}) for node in range(NODES)]
    starts = torch.tensor([0, *(len(row) for row in rows)]).cumsum(0)
    senders = torch.tensor([sender for row in rows for sender in row])
    receivers = torch.repeat_interleave(torch.arange(NODES), starts.diff())
    graph = Graph(starts, senders.int(), None, self_loops="add", duplicates="sum")
    return graph, torch.stack([senders, receivers])


def listed(graph: Graph) -> Tensor:
    adjacency = graph.adjacency()
    receivers = torch.repeat_interleave(torch.arange(NODES), adjacency.crow_indices().diff())
    return torch.stack([adjacency.col_indices(), receivers])


@pytest.mark.parametrize("direction", ["both", "one"])
@pytest.mark.parametrize(("heads", "concat"), [(3, True), (3, False), (1, False)])
def test_a_layer_and_its_gradients_are_those_of_pyg(direction: str, heads: int, concat: bool) -> None:
    undirected = connected_graph(NODES).with_self_loops("add")
    graph, edges = directed_graph() if direction == "one" else (undirected, listed(undirected))
    torch.manual_seed(0)
    layer = AttentionLayer(6, 4, heads, concat).double()
    reference = GATConv(6, 4, heads, concat, add_self_loops=False).double()
    state = {
        "lin.weight": layer.linear.weight,
        "att_src": layer.sending[None],
        "att_dst": layer.receiving[None],
        "bias": layer.bias,
    }
    reference.load_state_dict(state)
    x = signals(undirected, 6, 0).requires_grad_()
    ours, theirs = layer(x, graph, 0.0, 0.0), reference(x, edges)
    torch.testing.assert_close(ours, theirs)
    directions = torch.randn(ours.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    parameters = dict(reference.named_parameters())
    expected = torch.autograd.grad(theirs, [x, *(parameters[name] for name in state)], directions)
    found = torch.autograd.grad(ours, [x, layer.linear.weight, layer.sending, layer.receiving, layer.bias], directions)
    for mine, other in zip(found, expected, strict=True):
        torch.testing.assert_close(mine, other.reshape(mine.shape))


@pytest.mark.parametrize("p", [0.0, 0.6])
def test_gradients_see_the_masks_of_the_forward_pass(p: float) -> None:
    graph = Graph.from_edges(
        torch.tensor([[0, 1, 2, 0, 4], [1, 2, 3, 5, 5]]), 7, torch.tensor([1.0, 2.0, 0.5, 3.0, 1.0]), self_loops="add"
    )
    generator = torch.Generator().manual_seed(0)
    shapes = [(7, 6), (7, 2), (7, 2)]
    inputs = [torch.randn(shape, dtype=torch.float64, generator=generator, requires_grad=True) for shape in shapes]

    def attention(*arguments: Tensor) -> Tensor:
        torch.manual_seed(3)
        return hear_neighbors(graph, *arguments, p)

    assert torch.autograd.gradcheck(attention, inputs)


def test_an_edge_of_weight_two_counts_as_two_edges() -> None:
    # Node 0 hears from itself and from 1, twice as much, if all scores are equal.
    graph = Graph.from_edges(torch.tensor([[0], [1]]), 2, torch.tensor([2.0]), self_loops="add")
    heard = hear_neighbors(graph, torch.tensor([[0.0], [3.0]]), torch.zeros(2, 1), torch.zeros(2, 1))
    torch.testing.assert_close(heard, torch.tensor([[2.0], [1.0]]))


def test_large_scores_neither_overflow_nor_vanish() -> None:
    graph = connected_graph(NODES).with_self_loops("add")
    values, zeros = torch.ones(NODES, 1), torch.zeros(NODES, 1)
    for score in (1e4, -1e4):
        torch.testing.assert_close(hear_neighbors(graph, values, zeros + score, zeros), values)


def test_dropout_of_attention_has_the_right_mean_and_differs_by_head() -> None:
    graph = connected_graph(NODES).with_self_loops("add")
    torch.manual_seed(0)
    values, zeros = torch.ones(NODES, 2), torch.zeros(NODES, 2)
    draws = torch.stack([hear_neighbors(graph, values, zeros, zeros, 0.6) for _ in range(400)])
    assert float(draws.mean()) == pytest.approx(1, abs=0.02)
    assert not torch.equal(draws[..., 0], draws[..., 1])
    assert float(torch.corrcoef(draws.flatten(0, 1).T)[0, 1]) == pytest.approx(0, abs=0.05)


def test_weights_start_as_those_of_pyg() -> None:
    torch.manual_seed(0)
    ours, theirs = AttentionLayer(50, 30, 4), GATConv(50, 30, 4)
    for mine, other in [(ours.linear.weight, theirs.lin.weight), (ours.sending, theirs.att_src)]:
        assert float(mine.detach().abs().max()) == pytest.approx(float(other.detach().abs().max()), rel=0.05)
    assert not ours.bias.any()


def test_the_output_has_an_elu_where_asked_for() -> None:
    graph = connected_graph(NODES)
    x = signals(graph, 6, 0, torch.float32)
    torch.manual_seed(0)
    model = GAT(6, 4, 3).eval()
    plain = model(x, graph)
    model.output_elu = True
    torch.testing.assert_close(model(x, graph), torch.nn.functional.elu(plain))
    assert plain.min() < 0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"num_layers": 0}, "num_layers must be a whole number of at least 1, not 0: the paper uses 2"),
        ({"heads": 0}, "heads must be a whole number of at least 1, not 0: the paper uses 8"),
        ({"output_heads": 0}, "output_heads must be a whole number of at least 1, not 0: the paper uses 1 or 8"),
        ({"attention_dropout": 1.0}, "attention_dropout must be below 1, not 1.0"),
    ],
)
def test_settings_that_mean_nothing_are_refused(settings: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        GAT(6, 4, 3, **settings)
