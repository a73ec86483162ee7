from __future__ import annotations

import sys

import numpy as np
import pytest
import torch
from planted import awkward_problem, planted_problem
from torch_geometric.nn import GCNConv
from torch_geometric.nn.models import GCN as PyGModel

from unifilter import Graph
from unifilter.methods import Method
from unifilter.methods.gcn import GCNMethod, ResidualGCNMethod
from unifilter.nn.convolution import Convolution
from unifilter.nn.initialization import Initialization
from unifilter.nn.operators import propagation
from unifilter.training import LossWindow, Patience


def test_the_plain_network_is_the_one_of_pyg() -> None:
    problem = awkward_problem()
    learner = GCNMethod(hidden_channels=8, num_layers=3).build(problem)
    learner.model.eval()
    data = problem.dataset.scaled("row").to_data()
    reference = PyGModel(9, 8, num_layers=3, out_channels=3).eval()
    state = learner.model.state_dict().items()
    reference.load_state_dict({key.replace("layers", "convs").replace("linear", "lin"): value for key, value in state})
    expected = reference(data.x, data.edge_index)
    assert torch.allclose(learner.forward(torch.arange(40)), expected, atol=1e-6)


def test_weighted_edges_are_normalised_as_by_pyg() -> None:
    edges, weights = torch.tensor([[0, 1, 2], [1, 2, 3]]), torch.tensor([0.5, 2.0, 3.0])
    graph = Graph.from_edges(edges, num_nodes=5, edge_weight=weights, self_loops="add")
    x = torch.randn(5, 4, generator=torch.Generator().manual_seed(0))
    layer, reference = Convolution(4, 2), GCNConv(4, 2)
    load(reference, layer)
    both = torch.cat([edges, edges.flip(0)], dim=1)
    expected = reference(x, both, weights.repeat(2))
    assert torch.allclose(layer(x, propagation(graph, torch.float32)), expected, atol=1e-6)


def test_the_same_seed_draws_the_weights_that_pyg_draws() -> None:
    layers = []
    for kind in (Convolution, GCNConv):
        torch.manual_seed(3)
        layers.append([kind(7, 5), kind(5, 2)])
    for ours, theirs in zip(*layers, strict=True):
        assert torch.equal(ours.linear.weight, theirs.lin.weight)
        assert torch.equal(ours.bias, theirs.bias)


@pytest.mark.parametrize(("initialization", "bound"), [("glorot", (6 / 140) ** 0.5), ("uniform", 40**-0.5)])
def test_initial_weights_fill_their_range(initialization: Initialization, bound: float) -> None:
    layer = Convolution(100, 40, initialization)
    largest = float(layer.linear.weight.detach().abs().max())
    assert 0.98 * bound < largest <= bound
    assert 0 <= float(layer.bias.detach().abs().max()) <= bound
    assert bool(layer.bias.any()) == (initialization == "uniform")


def load(reference: GCNConv, layer: Convolution) -> None:
    reference.load_state_dict({"lin.weight": layer.linear.weight, "bias": layer.bias})


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
        load(reference, model.layers[index])  # type: ignore[index]
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
def test_pyg_is_not_needed(method: type[Method], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch_geometric", None)
    assert method().build(planted_problem()).forward(torch.arange(48)).shape == (48, 3)
    assert (method.needs, method.extra) == ("nothing", "")


def test_patience_takes_the_place_of_the_window() -> None:
    window, patience = GCNMethod(window=50).stop_rule(), GCNMethod(window=50, patience=20).stop_rule()
    assert isinstance(window, LossWindow)
    assert window.window == 50
    assert isinstance(patience, Patience)
    assert (patience.patience, patience.monitor, patience.keep) == (20, "loss", "loss")


@pytest.mark.parametrize("dataset", ["cora", "pubmed", "chameleon", "chameleon-directed", "squirrel-directed"])
def test_the_masks_have_settings_of_their_own(dataset: str) -> None:
    method = GCNMethod.preset(dataset, split="48")
    assert (method.hidden_channels, method.input_dropout, method.initialization) == (16, False, "uniform")
    assert (method.epochs, method.patience) == (1500, 100)
    assert method.weight_decay == (5e-4 if dataset == "cora" else 5e-5)
    assert GCNMethod.preset(dataset, split="60").patience is None


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


def test_a_plain_network_needs_a_layer_and_a_known_start() -> None:
    with pytest.raises(ValueError, match="num_layers must be a whole number of at least 1, not 0: the paper uses 2"):
        GCNMethod(num_layers=0).build(planted_problem())
    with pytest.raises(ValueError, match="initialization must be one of 'glorot', 'uniform', not 'normal'"):
        GCNMethod.with_settings({"initialization": "normal"}).build(planted_problem())


def test_propagation_matrix_is_symmetric_with_eigenvalues_up_to_one() -> None:
    graph = planted_problem().workspace.graph("add")
    matrix = graph.propagation_matrix(torch.float64).to_dense().numpy()
    assert np.allclose(matrix, matrix.T)
    assert np.isclose(np.linalg.eigvalsh(matrix).max(), 1)
