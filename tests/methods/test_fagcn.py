from __future__ import annotations

import pytest
import torch
from dense import propagation_matrix
from planted import awkward_problem, planted_problem

from unifilter.methods.fagcn import FAGCNMethod
from unifilter.nn import FAGCN
from unifilter.training import LossWindow


def test_gates_weigh_the_propagation_matrix() -> None:
    problem = awkward_problem()
    learner = FAGCNMethod(hidden_channels=6, num_layers=3, epsilon=0.4, features="raw").build(problem)
    model = learner.model.eval()
    assert isinstance(model, FAGCN)
    propagation = torch.from_numpy(propagation_matrix(problem.dataset.graph)).float()
    start = hidden = torch.relu(model.input(problem.dataset.features))
    for gate in model.gates:
        ends = torch.cat([hidden[:, None].expand(-1, 40, -1), hidden[None].expand(40, -1, -1)], dim=2)
        hidden = 0.4 * start + (torch.tanh(gate(ends)[..., 0]) * propagation) @ hidden
    assert torch.allclose(learner.forward(torch.arange(40)), model.output(hidden), atol=1e-5)


def test_dropout_falls_on_features_hidden_layer_and_edges(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = planted_problem()
    model = FAGCNMethod(dropout=0.6).build(problem).model.train()
    rates: list[float] = []
    monkeypatch.setattr(
        "unifilter.nn.edge_attention.EdgeRows.dropout", lambda _, weights, p: rates.append(p) or weights
    )
    x, graph = problem.workspace.inputs("row"), problem.workspace.graph()
    first, second = model(x, graph), model(x, graph)
    assert not torch.equal(first, second)
    assert rates == [0.6] * 4
    model.eval()(x, graph)
    assert rates[4:] == [0.0] * 2


def test_weights_start_as_the_authors_do() -> None:
    torch.manual_seed(0)
    model = FAGCN(300, 200, 50)
    for layer in (model.input, model.output):
        expected = 1.414 * (2 / (layer.in_features + layer.out_features)) ** 0.5
        assert float(layer.weight.detach().std()) == pytest.approx(expected, rel=0.05)
        assert 0 < float(layer.bias.detach().abs().max()) <= layer.in_features**-0.5


def test_published_settings_and_stop_rule() -> None:
    method = FAGCNMethod.preset("squirrel", split="48")
    assert (method.hidden_channels, method.lr, method.weight_decay, method.dropout) == (64, 0.002, 5e-3, 0.0)
    assert (method.epochs, method.epsilon, method.features) == (5000, 0.3, "row")
    assert FAGCNMethod.preset("squirrel").hidden_channels == 32
    stop = method.stop_rule()
    assert isinstance(stop, LossWindow)
    assert stop.window == 200


def test_a_network_needs_a_layer() -> None:
    with pytest.raises(ValueError, match="num_layers must be a whole number of at least 1, not 0: the authors' code"):
        FAGCNMethod(num_layers=0).build(planted_problem())
