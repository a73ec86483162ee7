from __future__ import annotations

import numpy as np
import pytest
import torch
from planted import awkward_problem, planted_problem
from torch import Tensor
from torch.nn.functional import leaky_relu

from unifilter.estimators import fit
from unifilter.graph.structural_relations import structural_relations
from unifilter.methods.wrgat import WRGATMethod
from unifilter.nn import WRGAT
from unifilter.nn.wrgat import Aggregation, RelationalAttention, count_relations
from unifilter.training import Patience


def attended(layer: RelationalAttention, x: Tensor, relations: list[tuple[Tensor, Tensor]], mean: bool) -> Tensor:
    """The layer in dense matrices; a relation is which entries there are, and their weights."""
    total = x @ layer.root + layer.bias
    for (entries, weights), matrix, attention in zip(relations, layer.weight, layer.attention, strict=True):
        values = x @ matrix
        nodes = len(values)
        ends = torch.cat([values[:, None].expand(-1, nodes, -1), values[None].expand(nodes, -1, -1)], dim=2)
        scores = leaky_relu(ends @ attention, 0.2).masked_fill(~entries, -torch.inf)
        shares = torch.where(entries, torch.softmax(scores, dim=1), 0.0)
        terms = entries.sum(dim=1, keepdim=True).clamp(min=1) if mean else 1
        total = total + (weights * shares) @ values / terms
    return total


@pytest.mark.parametrize("aggregation", ["sum", "mean"])
@pytest.mark.parametrize("original_edges", [False, True])
def test_two_layers_of_attention_over_all_relations(original_edges: bool, aggregation: Aggregation) -> None:
    problem = awkward_problem()
    learner = WRGATMethod(hidden_channels=6, original_edges=original_edges, aggregation=aggregation).build(problem)
    model, graph = learner.model.eval(), problem.workspace.graph()
    assert isinstance(model, WRGAT)
    relations = []
    if original_edges:
        relations.append((graph.adjacency().to_dense() > 0, torch.ones(40, 40)))
    for starts, columns, weights in structural_relations(graph):
        entries, dense = torch.zeros(40, 40, dtype=torch.bool), torch.zeros(40, 40)
        places = torch.repeat_interleave(torch.arange(40), starts.diff()), columns.long()
        entries[places], dense[places] = True, weights
        relations.append((entries, dense))
    mean = aggregation == "mean"
    hidden = torch.relu(attended(model.first, problem.dataset.features, relations, mean))
    expected = attended(model.second, hidden, relations, mean)
    assert torch.allclose(learner.forward(torch.arange(40)), expected, atol=1e-5)


@pytest.mark.parametrize(("aggregation", "alike"), [("sum", True), ("mean", False)])
def test_the_size_of_a_neighborhood_of_like_nodes_plays_no_part(aggregation: Aggregation, alike: bool) -> None:
    """The softmax makes a mean of the neighbors; the mean of that, which the authors take, hears less the more."""
    star = torch.tensor([[0, 0, 0, 0], [1, 2, 3, 4]])
    model = WRGAT(3, 4, 2, num_relations=1, original_edges=True, aggregation=aggregation).eval()
    for layer in (model.first, model.second):
        torch.nn.init.zeros_(layer.weight[1])  # of the structural relation
        torch.nn.init.uniform_(layer.weight[0], 1, 2)
    hub, leaf = model(torch.ones(5, 3), star)[:2]
    assert torch.allclose(hub, leaf, atol=1e-5) == alike


def test_weights_of_edges_count_where_the_edges_do() -> None:
    graph = planted_problem().workspace.graph()
    edges, _ = graph.edges()
    weight = torch.linspace(0.5, 3, edges.shape[1])
    x = planted_problem().dataset.features
    for original_edges in (False, True):
        model = WRGAT(12, 8, 3, num_relations=2, original_edges=original_edges).eval()
        same = torch.equal(model(x, edges), model(x, edges, weight))
        assert same == (not original_edges)


def test_weights_start_as_the_authors_do() -> None:
    torch.manual_seed(0)
    layer = RelationalAttention(30, 20, 4)
    for name, bound in (("root", (6 / 50) ** 0.5), ("weight", (6 / 50) ** 0.5), ("attention", (6 / 44) ** 0.5)):
        largest = float(getattr(layer, name).detach().abs().max())
        assert 0.9 * bound < largest <= bound, name
    assert not layer.bias.any()


def test_relations_are_counted_on_the_graph_that_is_trained_on() -> None:
    problem = planted_problem()
    learner = WRGATMethod().build(problem)
    count = len(structural_relations(problem.workspace.graph()))
    assert learner.shape.facts == {"relations": count} == {"relations": count_relations(problem.workspace.graph())}
    assert isinstance(learner.model, WRGAT)
    assert len(learner.model.first.weight) == count > 2
    few = WRGATMethod(structural_layers=2).build(problem)
    assert few.shape.facts == {"relations": 2}


def test_a_graph_with_other_relations_than_the_one_it_was_trained_on() -> None:
    fitted = fit(WRGATMethod(epochs=2, hidden_channels=8), planted_problem())
    path = torch.stack([torch.arange(29), torch.arange(1, 30)])
    features = torch.rand(30, 12)
    model = fitted.model.network
    assert isinstance(model, WRGAT)
    for edges in (path, path[:, :1]):  # 30 relations, and 2
        assert torch.isfinite(model(features, edges)).all()


def test_dropout_falls_between_the_layers() -> None:
    problem = planted_problem()
    x, graph = problem.dataset.features, problem.workspace.graph()
    model = WRGATMethod(dropout=0.5).build(problem).model
    assert isinstance(model, WRGAT)
    seen: list[Tensor] = []
    for layer in (model.first, model.second):
        layer.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    for training in (False, True):
        model.train(training)(x, graph)
    assert torch.equal(seen[0], x)
    assert torch.equal(seen[2], x)
    active = seen[1] > 0
    assert float((seen[3][active] == 0).double().mean()) == pytest.approx(0.5, abs=0.05)


def test_settings_and_stop_rule() -> None:
    method = WRGATMethod()
    expected = {"features": "raw", "epochs": 300, "hidden_channels": 128, "lr": 0.01, "weight_decay": 5e-5}
    assert method.settings().items() >= expected.items()
    assert WRGATMethod.search_space["hidden_channels"] == (32, 64, 128)
    assert WRGATMethod.search_space["original_edges"] == (False, True)
    stop = method.stop_rule()
    assert isinstance(stop, Patience)
    assert (stop.patience, stop.monitor, stop.keep) == (200, "score", "score")


def test_the_best_weights_are_kept_and_not_the_last() -> None:
    fitted = fit(WRGATMethod(epochs=40, hidden_channels=8, lr=0.1), planted_problem())
    scores = fitted.history.val_score
    assert fitted.history.best_epoch == int(np.argmax(scores))


def test_a_network_sums_or_takes_means() -> None:
    with pytest.raises(ValueError, match="aggregation must be one of 'sum', 'mean', not 'max'"):
        WRGAT(4, 8, 2, num_relations=1, aggregation="max")  # type: ignore[arg-type]


def test_a_network_needs_a_relation() -> None:
    with pytest.raises(ValueError, match="num_relations must be a whole number of at least 1, not 0: a graph has one"):
        WRGAT(4, 8, 2, num_relations=0)
