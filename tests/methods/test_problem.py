"""What methods share of a data set: one factorization for all that can be read from it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from planted import planted_problem

from unifilter import Factorization, Graph, factorize
from unifilter.data import NodeDataset
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
