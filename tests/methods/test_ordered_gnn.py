from __future__ import annotations

import numpy as np
import pytest
import torch
from planted import awkward_problem, planted_problem

from unifilter.methods.ordered_gnn import OrderedGNNMethod
from unifilter.nn import OrderedGNN
from unifilter.training import Patience


def test_gates_grow_from_chunk_to_chunk_and_from_hop_to_hop() -> None:
    problem = awkward_problem()
    settings = {"hidden_channels": 12, "num_layers": 3, "num_input_layers": 2, "chunk_channels": 3, "features": "raw"}
    learner = OrderedGNNMethod.with_settings(settings).build(problem)
    model = learner.model.eval()
    assert isinstance(model, OrderedGNN)
    adjacency = problem.dataset.graph.adjacency().to_dense()
    mean = adjacency / adjacency.sum(dim=1, keepdim=True).clamp(min=1)
    x = problem.dataset.features
    for layer, norm in zip(model.inputs, model.input_norms, strict=True):
        x = norm(torch.relu(layer(x)))
    last = torch.zeros(40, 4)
    for gate, norm in zip(model.gates, model.norms, strict=True):
        m = mean @ x
        raw = torch.cumsum(torch.softmax(gate(torch.cat([x, m], dim=1)), dim=1), dim=1)
        last = last + (1 - last) * raw
        assert torch.allclose(last[:, -1], torch.ones(40))
        wide = last.repeat_interleave(3, dim=1)
        x = norm(x * wide + m * (1 - wide))
    assert torch.allclose(learner.forward(torch.arange(40)), model.output(x), atol=1e-5)


def test_one_gate_can_serve_all_hops() -> None:
    problem = planted_problem()
    own, shared = (OrderedGNNMethod(shared_gate=one).build(problem).model for one in (False, True))
    assert isinstance(own, OrderedGNN)
    assert isinstance(shared, OrderedGNN)
    assert (len(own.gates), len(shared.gates)) == (8, 1)
    assert (shared.gates[0].in_features, shared.gates[0].out_features) == (512, 64)


def test_hops_and_linear_layers_have_weight_decays_of_their_own() -> None:
    learner = OrderedGNNMethod.preset("actor", split="48").build(planted_problem())
    hops, others = learner.parameter_groups
    assert (hops["lr"], hops["weight_decay"]) == (0.01, 5e-4)
    assert (others["lr"], others["weight_decay"]) == (0.01, 0.05)
    # 8 gates and 8 norms; 2 linear layers, 2 norms and the last layer; each with weight and bias.
    assert (len(hops["params"]), len(others["params"])) == (32, 10)


def test_published_settings_and_stop_rule() -> None:
    method = OrderedGNNMethod.preset("pubmed", split="48")
    assert method.settings().items() >= {"num_input_layers": 3, "shared_gate": True, "hop_dropout": 0.0}.items()
    assert (method.hidden_channels // method.chunk_channels, method.num_layers, method.epochs) == (64, 8, 2000)
    for name in ("chameleon", "squirrel"):
        assert OrderedGNNMethod.presets[f"{name}/48"] == OrderedGNNMethod.presets[f"{name}-directed/48"]
    stop = method.stop_rule()
    assert isinstance(stop, Patience)
    assert (stop.patience, stop.monitor, stop.ties) == (200, "score", False)


def test_dropout_rates_fall_where_they_are_said_to() -> None:
    problem = planted_problem()
    x, graph = problem.workspace.inputs("row"), problem.workspace.graph()
    for rates in ({"dropout": 0.5, "hop_dropout": 0.0}, {"dropout": 0.0, "hop_dropout": 0.5}):
        model = OrderedGNNMethod.with_settings(rates).build(problem).model.train()
        assert not torch.equal(model(x, graph), model(x, graph))
    model = OrderedGNNMethod(dropout=0.0, hop_dropout=0.0).build(problem).model.train()
    assert torch.equal(model(x, graph), model(x, graph))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"hidden_channels": 10},
            "a multiple of chunk_channels, and 10 is none of 4: the paper uses 256 and 4",
        ),
        ({"num_layers": 0}, "num_layers must be a whole number of at least 1, not 0: the paper uses 8"),
        ({"num_input_layers": 0}, "num_input_layers must be a whole number of at least 1, not 0: the paper uses 1 to"),
        ({"chunk_channels": 0}, "chunk_channels must be a whole number of at least 1, not 0: the paper uses 4"),
    ],
)
def test_settings_that_mean_nothing_are_refused(settings: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        OrderedGNNMethod.with_settings(settings).build(planted_problem())


def test_a_node_without_neighbors_hears_nothing() -> None:
    problem = awkward_problem()
    learner = OrderedGNNMethod(hidden_channels=8, num_layers=2).build(problem)
    learner.model.eval()
    isolated = np.flatnonzero(problem.dataset.graph.isolated.numpy())
    assert len(isolated) == 4
    assert torch.isfinite(learner.forward(torch.from_numpy(isolated))).all()
