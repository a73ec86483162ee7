from __future__ import annotations

import pytest
import torch
from strategies import connected_graph
from torch_geometric.nn.models import LINKX as PyGModel

from unifilter import Graph
from unifilter.nn import LINKX

NODES, CHANNELS, HIDDEN, CLASSES = 40, 9, 6, 3


def of_pyg(model: LINKX, depth: tuple[int, int, int]) -> PyGModel:
    """PyG's model with the same weights; it has W in two halves, each with a bias."""
    theirs = PyGModel(NODES, CHANNELS, HIDDEN, CLASSES, *depth)
    state = {"edge_lin.weight": model.edge_mlp.first.weight, "edge_lin.bias": model.edge_mlp.first.bias}
    left, right = model.mix.weight.chunk(2, dim=1)
    state |= {"cat_lin1.weight": left, "cat_lin2.weight": right}
    state |= {"cat_lin1.bias": model.mix.bias, "cat_lin2.bias": torch.zeros(HIDDEN)}

    def take(name: str, start: int, mlp: torch.nn.Module) -> None:
        for index, layer in enumerate([mlp.first, *mlp.layers][start:]):  # type: ignore[misc, list-item]
            state.update({f"{name}.lins.{index}.{key}": value for key, value in layer.state_dict().items()})
        for index, norm in enumerate([*mlp.norms][start:]):  # type: ignore[misc, list-item]
            state.update({f"{name}.norms.{index}.module.{key}": value for key, value in norm.state_dict().items()})

    take("node_mlp", 0, model.node_mlp)
    take("final_mlp", 0, model.final_mlp)
    if depth[1] > 1:
        take("edge_mlp", 1, model.edge_mlp)
        state |= {f"edge_norm.{key}": value for key, value in model.edge_mlp.norms[0].state_dict().items()}  # type: ignore[union-attr]
    theirs.load_state_dict(state)
    return theirs


@pytest.mark.parametrize("depth", [(1, 1, 1), (2, 1, 1), (3, 2, 1), (4, 1, 2), (2, 3, 3)])
@pytest.mark.parametrize("training", [False, True])
def test_it_is_the_model_of_pyg(depth: tuple[int, int, int], training: bool) -> None:
    graph = connected_graph(NODES)
    torch.manual_seed(0)
    model = LINKX(NODES, CHANNELS, HIDDEN, CLASSES, *depth, dropout=0.0)
    theirs, x = of_pyg(model, depth).train(training), torch.randn(NODES, CHANNELS)
    edges, _ = graph.edges()
    expected = theirs(x, torch.cat([edges, edges.flip(0)], dim=1))
    torch.testing.assert_close(model.train(training)(x, graph), expected, rtol=1e-4, atol=1e-5)


def test_only_the_last_mlp_has_dropout() -> None:
    graph, x = connected_graph(NODES), torch.randn(NODES, CHANNELS)
    torch.manual_seed(0)
    without = LINKX(NODES, CHANNELS, 64, CLASSES, 1, 2, 2, dropout=0.5).train()
    torch.testing.assert_close(without(x, graph), without(x, graph))
    dropped = LINKX(NODES, CHANNELS, 64, CLASSES, 2, 2, 2, dropout=0.5).train()
    assert (dropped(x, graph) - dropped(x, graph)).abs().max() > 0.01


def test_the_adjacency_has_no_loops_and_is_not_normalized() -> None:
    star = Graph.from_edges(torch.tensor([[0, 0, 0], [1, 2, 3]]), self_loops="add")
    model = LINKX(4, CHANNELS, HIDDEN, CLASSES).eval()
    seen: list[torch.Tensor] = []
    model.edge_mlp.first.register_forward_hook(lambda _, inputs, output: seen.append(inputs[0].to_dense()))
    model(torch.randn(4, CHANNELS), star)
    assert seen[0].tolist() == [[0, 1, 1, 1], [1, 0, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0]]


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("num_layers", "the paper searches 1 to 4"),
        ("num_edge_layers", "the paper searches 1 and 2"),
        ("num_node_layers", "the paper searches 1 and 2"),
    ],
)
def test_every_mlp_has_a_layer(name: str, advice: str) -> None:
    with pytest.raises(ValueError, match=f"{name} must be a whole number of at least 1, not 0: {advice}"):
        LINKX(NODES, CHANNELS, HIDDEN, CLASSES, **{name: 0})  # type: ignore[arg-type]
