from __future__ import annotations

import sys

import numpy as np
import pytest
import torch
from planted import awkward_problem, planted_problem
from torch_geometric.nn import GCNConv
from torch_geometric.nn.models import GCN as PyGModel

from unifilter import Graph
from unifilter.methods.gcn import GCNMethod, ResidualGCNMethod


def test_the_plain_network_is_the_one_of_pyg() -> None:
    problem = awkward_problem()
    learner = GCNMethod(hidden_channels=8, num_layers=3).build(problem)
    learner.model.eval()
    data = problem.dataset.scaled("row").to_data()
    reference = PyGModel(9, 8, num_layers=3, out_channels=3).eval()
    state = {key.replace("layers", "convs"): value for key, value in learner.model.state_dict().items()}
    reference.load_state_dict(state)
    expected = reference(data.x, data.edge_index)
    assert torch.allclose(learner.forward(torch.arange(40)), expected, atol=1e-6)


def test_weighted_edges_are_normalised_as_by_pyg() -> None:
    edges, weights = torch.tensor([[0, 1, 2], [1, 2, 3]]), torch.tensor([0.5, 2.0, 3.0])
    graph = Graph.from_edges(edges, num_nodes=5, edge_weight=weights, self_loops="add")
    x = torch.randn(5, 4, generator=torch.Generator().manual_seed(0))
    layer, reference = GCNConv(4, 2, normalize=False), GCNConv(4, 2)
    reference.load_state_dict(layer.state_dict())
    both = torch.cat([edges, edges.flip(0)], dim=1)
    expected = reference(x, both, weights.repeat(2))
    assert torch.allclose(layer(x, graph.propagation_matrix()), expected, atol=1e-6)


@pytest.mark.parametrize("norm", ["none", "batch", "layer"])
@pytest.mark.parametrize("residual", [True, False])
def test_a_residual_layer_adds_the_input_before_the_norm(norm: str, residual: bool) -> None:
    problem = awkward_problem()
    settings = {"hidden_channels": 6, "num_layers": 2, "norm": norm, "residual": residual, "dropout": 0.0}
    learner = ResidualGCNMethod.with_settings(settings).build(problem)
    model = learner.model.train()
    data = problem.dataset.to_data()
    hidden = data.x
    for index, width in enumerate((9, 6)):
        reference = GCNConv(width, 6)
        reference.load_state_dict(model.layers[index].state_dict())  # type: ignore[index, union-attr]
        mixed = reference(hidden, data.edge_index)
        if residual:
            mixed = mixed + model.residuals[index](hidden)  # type: ignore[index, operator]
        if norm == "batch":
            mixed = (mixed - mixed.mean(dim=0)) / (mixed.var(dim=0, correction=0) + 1e-5).sqrt()
        if norm == "layer":
            mixed = (mixed - mixed.mean(dim=1, keepdim=True)) / (mixed.var(dim=1, correction=0) + 1e-5).sqrt()[:, None]
        hidden = torch.relu(mixed)
    expected = model.output(hidden)  # type: ignore[operator]
    assert torch.allclose(learner.forward(torch.arange(40)), expected, atol=1e-4)


def test_weight_decay_on_the_first_layer_alone() -> None:
    problem = planted_problem()
    decays = [
        [
            group["weight_decay"]
            for group in GCNMethod(weight_decay=0.1, decay_first_layer_only=first).build(problem).parameter_groups
        ]
        for first in (False, True)
    ]
    assert decays == [[0.1, 0.1], [0.1, 0.0]]


def test_dropout_falls_on_the_input_where_asked_for() -> None:
    problem = planted_problem()
    zeros = []
    for input_dropout in (False, True):
        learner = GCNMethod(dropout=0.5, input_dropout=input_dropout, features="raw").build(problem)
        seen: list[torch.Tensor] = []
        learner.model.layers[0].register_forward_pre_hook(  # type: ignore[index, union-attr]
            lambda _, inputs, seen=seen: seen.append(inputs[0])
        )
        learner.model.train()
        learner.forward(torch.arange(48))
        zeros.append(int((seen[0] == 0).sum()))
    assert zeros[0] == int((problem.dataset.features == 0).sum())
    assert zeros[1] > zeros[0]


@pytest.mark.parametrize("method", [GCNMethod, ResidualGCNMethod])
def test_without_pyg_the_message_says_what_to_install(
    method: type[GCNMethod | ResidualGCNMethod], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch_geometric", None)
    with pytest.raises(ImportError, match=r"pip install 'unifilter\[pyg\]'"):
        method().build(planted_problem())


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"norm": "group"}, "norm must be one of 'none', 'batch', 'layer', not 'group'"),
        ({"num_layers": 0}, "num_layers must be a whole number of at least 1, not 0: its authors use 2 to 12"),
    ],
)
def test_settings_that_mean_nothing_are_refused(settings: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ResidualGCNMethod.with_settings(settings).build(planted_problem())


def test_a_plain_network_needs_a_layer() -> None:
    with pytest.raises(ValueError, match="num_layers must be a whole number of at least 1, not 0: the paper uses 2"):
        GCNMethod(num_layers=0).build(planted_problem())


def test_propagation_matrix_is_symmetric_with_eigenvalues_up_to_one() -> None:
    graph = planted_problem().workspace.graph("add")
    matrix = graph.propagation_matrix(torch.float64).to_dense().numpy()
    assert np.allclose(matrix, matrix.T)
    assert np.isclose(np.linalg.eigvalsh(matrix).max(), 1)
