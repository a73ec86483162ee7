"""What every method promises, whatever it computes."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from planted import CLASSES, awkward_problem, held_out, planted_problem, problem_of
from torch.nn.functional import cross_entropy

from unifilter import Graph, TrainedModel
from unifilter._internal.checks import without_torch_notices
from unifilter.data import TASK_METRICS, NodeDataset, TaskName
from unifilter.estimators import fit
from unifilter.methods import METHODS, Learner, Method, Problem, Workspace
from unifilter.nn.sparse_rows import SparseRows

# Small and quick, where a method has the setting.
SMALL: dict[str, Any] = {"epochs": 3, "hops": 3, "hidden_channels": 8}

# Layers with a ReLU between them, or none that is a function of the graph's frequencies.
WITHOUT_RESPONSE = (
    "sign", "chebnet", "mlp", "gcn", "gcn-res", "gcnii", "gat", "graphsage", "fagcn", "ordered-gnn", "wrgat", "acm-gcn",
    "acmii-gcn", "acm-gcn+", "acm-gcn++", "linkx", "glognn++", "glognn", "h2gcn", "adaptkry", "mixhop", "auto",
)  # fmt: skip

every_method = pytest.mark.parametrize("name", METHODS)
PRESETS = [(name, dataset) for name, method in METHODS.items() for dataset in method.presets]


def has(name: str, setting: str) -> bool:
    return setting in [field.name for field in dataclasses.fields(METHODS[name])]


def small(name: str, **changes: Any) -> Method:
    wanted = {**SMALL, **changes}
    return METHODS[name].with_settings({setting: value for setting, value in wanted.items() if has(name, setting)})


def build(name: str, problem: Problem, seed: int = 0, **changes: Any) -> Learner:
    torch.manual_seed(seed)
    learner = small(name, **changes).build(problem)
    learner.model.eval()
    return learner


def every_node(problem: Problem) -> torch.Tensor:
    return torch.arange(problem.dataset.num_nodes)


@pytest.mark.parametrize("name", [name for name, method in METHODS.items() if "tuned" in vars(method)])
def test_tuned_settings_are_among_those_that_are_searched(name: str) -> None:
    method = METHODS[name]
    for dataset, settings in method.tuned.items():
        for setting, value in settings.items():
            choices = (*method.search_space.get(setting, ()), getattr(method(), setting))
            assert value in choices, f"{dataset}: {setting}"


@every_method
def test_it_says_what_it_is(name: str) -> None:
    method = METHODS[name]
    assert method.name == name
    for text in (method.paper, method.cost, method.needs, method.__doc__):
        assert text
        assert text.strip()


@pytest.mark.parametrize(("name", "dataset"), PRESETS)
def test_published_settings_build_a_model(name: str, dataset: str) -> None:
    method = METHODS[name].preset(dataset)
    assert method.settings().items() >= dict(METHODS[name].presets[dataset]).items()
    method.optimization()
    problem = planted_problem(24)
    logits = method.build(problem).forward(every_node(problem))
    assert logits.shape == (24, CLASSES)
    assert torch.isfinite(logits).all()


@every_method
@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_sparse_features_and_dense_ones_train_the_same(name: str, dropout: float) -> None:
    dense = planted_problem()
    # So wide that a mask on the dense features is the kernel's too; and in double precision, since Adam makes steps of
    # gradients that are nothing but rounding errors, such as that of a bias before a batch norm.
    words = torch.cat([dense.dataset.features, torch.eye(48)], dim=1).double()
    with without_torch_notices():
        kinds = words, words.to_sparse_csr()
    histories = []
    for features in kinds:
        workspace = Workspace(dataclasses.replace(dense.dataset, features=features))
        histories.append(
            fit(small(name, dropout=dropout, epochs=5), Problem(workspace, dense.train, dense.val)).history
        )
    assert histories[0].best_score == pytest.approx(histories[1].best_score)
    assert histories[0].loss == pytest.approx(histories[1].loss, rel=1e-4)
    assert len(histories[0].loss) == (5 if has(name, "lr") else 1)


def test_sparse_features_are_prepared_once_and_left_to_torch_elsewhere() -> None:
    words = torch.eye(48)
    with without_torch_notices():
        sparse = words.to_sparse_csr()
    dataset = planted_problem().dataset
    workspace = Workspace(dataclasses.replace(dataset, features=sparse))
    rows = workspace.inputs("raw")
    assert isinstance(rows, SparseRows)
    assert workspace.inputs("raw") is rows
    assert workspace.with_labels(dataset).inputs("raw") is rows
    assert isinstance(Workspace(dataset).inputs("raw"), torch.Tensor)
    assert isinstance(Workspace(workspace.dataset, "meta").inputs("raw"), torch.Tensor)


@every_method
def test_logits_have_a_row_per_node_and_a_column_per_class(name: str) -> None:
    problem = planted_problem()
    learner = build(name, problem)
    everything = learner.forward(every_node(problem))
    assert everything.shape == (48, CLASSES)
    assert everything.dtype == torch.float32
    picked = torch.tensor([30, 2, 7])
    assert torch.allclose(learner.forward(picked), everything[picked], atol=1e-6)


@every_method
def test_the_same_seed_gives_the_same_weights(name: str) -> None:
    method = small(name)
    first, second = (fit(method, planted_problem()).model.network.state_dict() for _ in range(2))
    assert first.keys() == second.keys()
    for key, value in first.items():
        assert torch.equal(value, second[key]), key


@every_method
def test_gradients_reach_every_parameter_and_the_optimiser_has_each_once(name: str) -> None:
    problem = planted_problem()
    learner = build(name, problem)
    nodes = torch.from_numpy(problem.train)
    with torch.no_grad():
        # A little off where it starts: what is multiplied by a weight that starts at zero has no gradient there.
        for parameter in learner.model.parameters():
            parameter.add_(0.01 * torch.randn_like(parameter))
    cross_entropy(learner.forward(nodes), problem.workspace.labels[nodes]).backward()
    grouped = [id(parameter) for group in learner.parameter_groups for parameter in group["params"]]
    assert sorted(grouped) == sorted(id(parameter) for parameter in learner.model.parameters())
    for key, parameter in learner.model.named_parameters():
        assert parameter.grad is not None, key
        assert torch.isfinite(parameter.grad).all(), key
        assert parameter.grad.any(), key


@every_method
def test_components_isolated_nodes_and_empty_rows_and_columns(name: str) -> None:
    problem = awkward_problem()
    fitted = fit(small(name), problem)
    assert fitted.history.ended == "epochs"
    assert torch.isfinite(fitted.logits[every_node(problem)]).all()


@every_method
def test_a_graph_without_an_edge(name: str) -> None:
    nodes = 12
    graph = Graph.from_edges(np.zeros((2, 0), dtype=np.int64), num_nodes=nodes)
    words = np.random.default_rng(0).random((nodes, 8)) < 0.5
    problem = problem_of(graph, words, np.arange(nodes) % CLASSES)
    # The homophily of no edges cannot be estimated, so methods that use it are told.
    fitted = fit(small(name, homophily=0.5), problem)
    assert torch.isfinite(fitted.logits[every_node(problem)]).all()


@pytest.mark.parametrize("name", [name for name in METHODS if has(name, "hops")])
def test_one_hop_is_enough(name: str) -> None:
    problem = planted_problem()
    fitted = fit(small(name, hops=1), problem)
    assert torch.isfinite(fitted.logits[every_node(problem)]).all()


@every_method
def test_stored_weights_give_the_same_logits(name: str) -> None:
    problem, method = planted_problem(), small(name)
    if has(name, "folds"):  # networks of folds know other training nodes than those of the problem
        method = dataclasses.replace(method, folds=1)
    fitted = fit(method, problem)
    torch.manual_seed(99)
    fresh = fitted.method.build(problem)  # of what was chosen, where something was left open
    fresh.model.eval()
    nodes = every_node(problem)
    assert not torch.equal(fresh.forward(nodes), fitted.logits[nodes])
    fresh.model.load_state_dict(fitted.model.network.state_dict())
    assert torch.equal(fresh.forward(nodes), fitted.logits[nodes])


@every_method
def test_a_validation_set_of_one_class(name: str) -> None:
    problem = planted_problem()
    labels = problem.dataset.labels.numpy()
    one_class = dataclasses.replace(problem, val=problem.val[labels[problem.val] == 1])
    fitted = fit(small(name), one_class)
    assert np.isfinite(fitted.history.val_loss).all()
    assert 0 <= fitted.history.best_score <= 1


@every_method
def test_it_learns_what_is_easy(name: str) -> None:
    problem = planted_problem(60)
    # A guess gets a third right; words alone or neighbors alone, most.
    fitted = fit(small(name, epochs=100, hops=2, hidden_channels=16, lr=0.05, dropout=0.1), problem)
    assert fitted.scores(held_out(problem))["accuracy"] > 0.6


@every_method
def test_a_response_has_a_value_per_eigenvalue_and_channel(name: str) -> None:
    learner = build(name, planted_problem())
    if learner.finish is not None:
        learner.finish()
    lam = torch.linspace(0, 2, 6).reshape(2, 3)
    response = learner.model.response(lam)
    assert (response is None) == (name in WITHOUT_RESPONSE)
    if response is None:
        return
    assert response.shape[:2] == (2, 3)
    assert response.ndim == 3
    assert not response.requires_grad
    assert torch.isfinite(response).all()


@every_method
def test_it_predicts_for_new_nodes_or_says_that_it_cannot(name: str, tmp_path: Path) -> None:
    problem = planted_problem()
    fitted = fit(small(name), problem)
    fitted.model.save(tmp_path / "model")
    edges, _ = problem.dataset.graph.edges()
    more = torch.stack([torch.arange(48, 52), torch.arange(4)])
    graph, x = (
        Graph.from_edges(torch.cat([edges, more], dim=1), 52),
        torch.cat([problem.dataset.features, torch.eye(12)[:4]]),
    )
    for model in (fitted.model, TrainedModel.load(tmp_path / "model")):
        assert (model.network.num_nodes is None) == (not model.method.transductive)
        if not model.method.transductive:
            assert torch.isfinite(model.logits(graph, x)).all()
            continue
        with pytest.raises(
            ValueError,
            match=f"^{re.escape(name)} has (members with )?a weight for each of the 48 nodes it was trained on, and "
            "this graph has 52: train it on this graph, or ",
        ):
            model.logits(graph, x)


OTHER_TASKS: tuple[TaskName, ...] = ("multilabel", "regression")


def problem_with_targets(task: TaskName) -> Problem:
    """Two targets, or labels, per node, some of them unknown."""
    given = planted_problem()
    random = np.random.default_rng(3)
    targets = random.standard_normal((48, 2)) * [1.0, 100.0] + [5.0, 0.0]
    targets = (targets > [5.0, 0.0]).astype(float) if task == "multilabel" else targets
    targets[::7, 1] = np.nan
    dataset = given.dataset
    features = dataset.features + torch.from_numpy(random.standard_normal(dataset.features.shape)).float()
    other = NodeDataset("targets", dataset.graph, features, torch.full((48,), -1), task=task, targets=targets)
    return Problem(Workspace(other), given.train, given.val)


def small_for(name: str, task: TaskName) -> Method:
    wanted = {"epochs": 2, "hops": 3, "hidden_channels": 8}
    return METHODS[name].preset(
        None, task=task, **{setting: value for setting, value in wanted.items() if has(name, setting)}
    )


@every_method
@pytest.mark.parametrize("task", OTHER_TASKS)
def test_it_learns_other_tasks_or_says_that_it_does_not(name: str, task: TaskName, tmp_path: Path) -> None:
    method, problem = small_for(name, task), problem_with_targets(task)
    if task not in METHODS[name].tasks:
        kinds = " and ".join(METHODS[name].tasks)
        with pytest.raises(ValueError, match=f"^{name} is for {kinds}, not for {task}: choose another method"):
            fit(method, problem)
        return
    fitted = fit(method, problem)
    assert fitted.logits.shape == (48, 2)
    assert torch.isfinite(fitted.logits).all()
    assert fitted.scores(held_out(problem)).keys() <= set(TASK_METRICS[task])
    assert fitted.model.task == task
    answers = fitted.model.answers(fitted.logits)
    assert answers.shape == (48, 2)
    assert answers.dtype == (bool if task == "multilabel" else np.float64)
    fitted.model.save(tmp_path / "model")
    loaded, dataset = TrainedModel.load(tmp_path / "model"), problem.dataset
    assert (loaded.task, loaded.method, loaded.requested) == (task, fitted.method, method)
    assert loaded.classes.tolist() == ["target 0", "target 1"]
    logits = loaded.logits(dataset.graph, dataset.features)
    assert torch.equal(logits, fitted.model.logits(dataset.graph, dataset.features))
    torch.testing.assert_close(logits, fitted.logits, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(loaded.answers(fitted.logits), answers)


@every_method
def test_classes_are_what_every_method_learns(name: str) -> None:
    assert "classification" in METHODS[name].tasks
    assert set(METHODS[name].tasks) <= set(TASK_METRICS)


@every_method
def test_numbers_have_defaults_of_their_own(name: str) -> None:
    method = METHODS[name].preset(None, task="regression")
    assert (method.metric, method.features) == ("r2", "standard")
    rates = [value for setting, value in method.settings().items() if setting.endswith("dropout")]
    assert [rate for rate in rates if not isinstance(rate, bool) and rate != 0] == []
    assert METHODS[name].task_defaults("multilabel") == METHODS[name].task_defaults("classification") == {}
    assert METHODS[name].preset(None, task="multilabel").metric == "macro_f1"
    assert METHODS[name].preset(None, task="regression", metric="neg_mae", features="raw").features == "raw"
