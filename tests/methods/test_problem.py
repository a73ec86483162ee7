"""What methods share of a data set: one factorization for all that can be read from it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from planted import planted_problem

from unifilter import Factorization, Graph, factorize
from unifilter.data import NodeDataset, Table, TableEncoder
from unifilter.graph import label_set_homophily, value_homophily
from unifilter.methods import Problem, Workspace, problem


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The hops of every factorization that is computed."""
    hops: list[int] = []

    def counted(graph: Graph, features: Any, number: int) -> Factorization:
        hops.append(number)
        return factorize(graph, features, number)

    monkeypatch.setattr(problem, "factorize", counted)
    return hops


def check_same(left: Factorization, right: Factorization) -> None:
    assert left.hops == right.hops
    assert torch.equal(left.vectors, right.vectors)
    for part in ("alpha", "beta", "norm", "dimension"):
        assert torch.equal(getattr(left, part), getattr(right, part)), part


def test_fewer_hops_need_no_new_factorization(made: list[int]) -> None:
    workspace = planted_problem().workspace
    found = {hops: workspace.factorization("raw", hops) for hops in (6, 1, 3, 6)}
    assert made == [6]
    for hops, fact in found.items():
        check_same(fact, factorize(workspace.graph(), workspace.features("raw"), hops))
    workspace.factorization("raw", 7)
    workspace.factorization("raw", 6)
    assert made == [6, 7]


def test_hops_that_are_expected_are_factored_at_once(made: list[int]) -> None:
    workspace = planted_problem().workspace
    workspace.expect_hops(2, 5)
    workspace.expect_hops()
    workspace.expect_hops(3)
    assert workspace.factorization("raw", 2).hops == 2
    assert [workspace.factorization("raw", hops).hops for hops in (5, 3)] == [5, 3]
    assert made == [5]


def test_each_scaling_and_kind_of_loops_has_its_own(made: list[int]) -> None:
    workspace = planted_problem().workspace
    for _ in range(2):
        for scaling in ("raw", "row", "l2"):
            for loops in ("remove", "add"):
                fact = workspace.factorization(scaling, 3, loops)
                check_same(fact, factorize(workspace.graph(loops), workspace.features(scaling), 3))
    assert made == [3] * 6


def test_other_labels_share_what_is_there_and_what_is_to_come(made: list[int]) -> None:
    first = planted_problem().workspace
    dataset = first.dataset
    other = first.with_labels(NodeDataset("other", dataset.graph, dataset.features, dataset.labels.flip(0)))
    other.factorization("raw", 4)
    first.factorization("raw", 3)
    assert made == [4]
    assert torch.equal(other.labels, first.labels.flip(0))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_features_keep_their_precision(dtype: torch.dtype) -> None:
    dataset = planted_problem().dataset
    workspace = Workspace(NodeDataset("own", dataset.graph, dataset.features.to(dtype), dataset.labels))
    for scaling in ("raw", "row", "l2"):
        assert workspace.features(scaling).dtype == dtype
        assert workspace.inputs(scaling).dtype == dtype
        assert workspace.factorization(scaling, 2).vectors.dtype == dtype


def test_nodes_of_one_class_are_no_problem_to_learn_from() -> None:
    given = planted_problem()
    labels = given.dataset.labels.numpy()
    with pytest.raises(ValueError, match="all 16 training nodes are of class 1: a classifier needs nodes of at least"):
        Problem(given.workspace, np.flatnonzero(labels == 1), given.val)


EVEN, ODD = np.arange(0, 48, 2), np.arange(1, 48, 2)


def measured(seed: int = 0, **changes: Any) -> NodeDataset:
    """Columns of different scales on the planted graph."""
    given = planted_problem().dataset
    x = np.random.default_rng(seed).standard_normal((48, 4)) * [1.0, 10.0, 100.0, 0.0] + 3
    return NodeDataset("measured", given.graph, torch.from_numpy(x), **{"labels": given.labels, **changes})


def with_table(column: str = "size") -> NodeDataset:
    dataset = measured()
    values = dataset.features.numpy()
    frame = pd.DataFrame({column: values[:, 0], "kind": np.where(values[:, 1] > 3, "large", "small")})
    table = Table.from_frame(frame)
    matrix = torch.from_numpy(np.asarray(TableEncoder.fit(table).encode(table).matrix))
    return NodeDataset("table", dataset.graph, matrix, dataset.labels, table=table)


def with_targets(values: Any, task: str = "regression", **names: Any) -> NodeDataset:
    return measured(labels=torch.full((48,), -1), task=task, targets=torch.as_tensor(values).double(), **names)


@pytest.mark.parametrize("scaling", ["raw", "row", "l2"])
def test_scalings_of_rows_have_one_factorization_for_all_splits(made: list[int], scaling: Any) -> None:
    workspace = Workspace(measured())
    for train in (EVEN, ODD, EVEN[:9]):
        Problem(workspace, train, np.array([1])).workspace.factorization(scaling, 3)
    workspace.factorization(scaling, 2)
    assert made == [3]


@pytest.mark.parametrize("make", [measured, with_table])
def test_statistics_of_columns_have_one_factorization_for_each_set_of_training_nodes(
    made: list[int], make: Any
) -> None:
    workspace = Workspace(make())
    first, other, again = (Problem(workspace, train, np.array([1])) for train in (EVEN, ODD, ODD))
    for one in (first, other, again):
        one.workspace.factorization("standard", 3)
        one.workspace.factorization("standard", 2)
    assert made == [3, 3]
    assert again.workspace.features("standard") is other.workspace.features("standard")
    assert not torch.equal(first.workspace.features("standard"), other.workspace.features("standard"))
    # Another problem of a problem's own workspace and nodes is the same again, with other labels too.
    Problem(other.workspace, ODD, EVEN).workspace.factorization("standard", 3)
    other.workspace.with_labels(make()).fitted_on(ODD).factorization("standard", 3)
    assert made == [3, 3]


def test_hops_expected_later_are_known_to_nodes_that_were_there_before(made: list[int]) -> None:
    workspace = Workspace(measured())
    Problem(workspace, EVEN, ODD)
    workspace.expect_hops(6)
    Problem(workspace, EVEN, ODD).workspace.factorization("standard", 2)
    assert made == [6]


@pytest.mark.parametrize("make", [measured, with_table])
def test_statistics_of_columns_never_see_other_rows(make: Any) -> None:
    dataset = make()
    changed = make()
    changed.features[torch.from_numpy(ODD)] = 1e4
    if changed.table is not None:
        changed.table.columns["size"][ODD] = 1e4
        changed.table.columns["kind"][ODD] = "new"
    found, expected = (
        Problem(Workspace(one), EVEN, ODD[:8]).workspace.preparation("standard").to_dict() for one in (changed, dataset)
    )
    assert found == expected
    # All rows count where there are no training nodes yet.
    assert Workspace(changed).preparation("standard").to_dict() != Workspace(dataset).preparation("standard").to_dict()


def test_tables_are_encoded_whatever_the_scaling() -> None:
    given = Problem(Workspace(with_table()), EVEN, ODD)
    assert given.workspace.features("row") is given.workspace.features("standard")
    assert given.num_features("raw") == len(given.workspace.preparation("raw").names)


def test_columns_that_were_scaled_before_are_left_alone() -> None:
    dataset = measured().scaled("standard")
    workspace = Workspace(dataset)
    assert torch.equal(workspace.features("standard"), dataset.features)
    prepared = workspace.preparation("standard").prepare(dataset.features, torch.float64)
    assert torch.equal(prepared, dataset.features)


def test_the_task_is_that_of_the_data() -> None:
    classes = Problem(Workspace(measured()), EVEN, ODD, np.arange(48.0))
    assert (classes.task.name, classes.task.num_outputs) == ("classification", 3)
    assert classes.task.weights.tolist() == list(range(48))
    labels = np.random.default_rng(0).integers(0, 2, (48, 5))
    assert Problem(Workspace(with_targets(labels, "multilabel")), EVEN, ODD).task.num_outputs == 5
    values = np.random.default_rng(0).standard_normal((48, 2)) * [1, 50]
    values[4, 0] = np.nan
    numbers = Problem(Workspace(with_targets(values)), EVEN, ODD).task
    # Center and scale are those of the training nodes.
    np.testing.assert_allclose(numbers.center, np.nanmean(values[EVEN], axis=0))
    np.testing.assert_allclose(numbers.scale, np.nanstd(values[EVEN], axis=0))
    # A weight counts a node so often.
    counts = np.random.default_rng(1).integers(0, 3, 48)
    weighted = Problem(Workspace(with_targets(values)), EVEN, ODD, counts.astype(float)).task
    repeated = np.repeat(EVEN, counts[EVEN])
    np.testing.assert_allclose(weighted.center, np.nanmean(values[repeated], axis=0))
    np.testing.assert_allclose(weighted.scale, np.nanstd(values[repeated], axis=0))


def test_homophily_is_estimated_from_training_nodes_alone() -> None:
    values = np.random.default_rng(0).standard_normal((48, 2))
    known = np.where(np.isin(np.arange(48), EVEN)[:, None], values, np.nan)
    numbers = Problem(Workspace(with_targets(values)), EVEN, ODD)
    assert numbers.estimate_homophily() == value_homophily(numbers.dataset.graph, known)
    labels = np.random.default_rng(0).integers(0, 2, (48, 3)).astype(float)
    known = np.where(np.isin(np.arange(48), EVEN)[:, None], labels, np.nan)
    sets = Problem(Workspace(with_targets(labels, "multilabel")), EVEN, ODD)
    assert sets.estimate_homophily() == label_set_homophily(sets.dataset.graph, known)


def test_targets_that_say_nothing_are_named() -> None:
    values = np.random.default_rng(0).standard_normal((48, 2))
    values[EVEN, 1] = np.nan
    message = "^'target 1' is unknown at every training node: leave it out, or train on nodes with it"
    with pytest.raises(ValueError, match=message):
        Problem(Workspace(with_targets(values)), EVEN, ODD)
    labels = np.where(np.isnan(values), np.nan, 1.0)
    with pytest.raises(ValueError, match="^'warm' is unknown at every training node"):
        Problem(Workspace(with_targets(labels, "multilabel", target_names=("red", "warm"))), EVEN, ODD)
    # Its deviation is a rounding error.
    values[EVEN, 1] = 0.1
    message = "^'price' is 0.1 at every training node that counts: a regressor needs values that differ"
    with pytest.raises(ValueError, match=message):
        _ = Problem(Workspace(with_targets(values, target_names=("size", "price"))), EVEN, ODD).task


@pytest.mark.parametrize(("nodes", "name"), [(EVEN, "training"), (ODD, "validation")])
def test_nodes_without_weight_are_nothing_to_learn_from(nodes: np.ndarray, name: str) -> None:
    weights = np.ones(48)
    weights[nodes] = 0
    with pytest.raises(ValueError, match=f"every {name} node has the weight 0: give some of them a positive one"):
        Problem(Workspace(measured()), EVEN, ODD, weights)
