"""What is learned: the loss of each task, weights, unknown answers and scores."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import (
    accuracy_score,
    f1_score,
    mean_absolute_error,
    r2_score,
    roc_auc_score,
    root_mean_squared_error,
)
from torch import Tensor
from torch.nn import functional

from unifilter.data import TASK_METRICS
from unifilter.training import Classification, MultiLabel, Regression, Task

NODES, OUTPUTS = 12, 3
CENTER, SCALE = torch.tensor([3.0, -1.0, 0.5]).double(), torch.tensor([2.0, 0.1, 7.0]).double()


def random(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def classification(seed: int, weights: Tensor | None = None) -> Classification:
    return Classification(torch.from_numpy(random(seed).integers(0, OUTPUTS, NODES)), OUTPUTS, weights)


def multilabel(seed: int, weights: Tensor | None = None) -> MultiLabel:
    return MultiLabel(torch.from_numpy(random(seed).integers(0, 2, (NODES, OUTPUTS)).astype(float)), weights)


def regression(seed: int, weights: Tensor | None = None) -> Regression:
    targets = torch.from_numpy(random(seed).standard_normal((NODES, OUTPUTS))) * SCALE + CENTER
    return Regression(targets, CENTER, SCALE, weights)


MAKERS: list[Callable[..., Task]] = [classification, multilabel, regression]
every_task = pytest.mark.parametrize("make", MAKERS)
with_unknown = pytest.mark.parametrize("make", [multilabel, regression])


def outputs_of(seed: int, rows: int = NODES) -> Tensor:
    return torch.from_numpy(random(seed + 1).standard_normal((rows, OUTPUTS)))


def plain_loss(task: Task, outputs: Tensor, nodes: Tensor) -> Tensor:
    """As torch has it."""
    targets = task.targets[nodes]
    if isinstance(task, Classification):
        return functional.cross_entropy(outputs, targets)
    if isinstance(task, MultiLabel):
        return functional.binary_cross_entropy_with_logits(outputs, targets)
    return functional.mse_loss(outputs, (targets - CENTER) / SCALE)


@every_task
@given(st.integers(0, 999))
def test_the_loss_is_that_of_torch(make: Callable[..., Task], seed: int) -> None:
    task, nodes = make(seed), torch.from_numpy(random(seed).permutation(NODES)[:7])
    outputs = outputs_of(seed, 7)
    torch.testing.assert_close(task.loss(outputs, nodes), plain_loss(task, outputs, nodes))
    torch.testing.assert_close(task.losses(outputs, nodes).mean(), task.loss(outputs, nodes))
    assert task.num_outputs == OUTPUTS
    assert task.known.all()


@every_task
@given(st.integers(0, 999))
def test_a_weight_counts_a_node_so_often(make: Callable[..., Task], seed: int) -> None:
    counts = torch.from_numpy(random(seed).integers(0, 4, NODES))
    counts[3] = 2  # not all are 0
    weighted, repeated = make(seed, counts.double()), torch.repeat_interleave(torch.arange(NODES), counts)
    outputs = outputs_of(seed)
    expected = make(seed).loss(outputs[repeated], repeated)
    torch.testing.assert_close(weighted.loss(outputs, torch.arange(NODES)), expected)
    assert weighted.total_weight(torch.arange(NODES)) == len(repeated)
    assert make(seed).total_weight(repeated) == len(repeated)


@every_task
def test_weights_keep_the_precision_of_the_outputs(make: Callable[..., Task]) -> None:
    task = make(0, torch.ones(NODES, dtype=torch.float64))
    assert task.loss(outputs_of(0).float(), torch.arange(NODES)).dtype == torch.float32


@with_unknown
@given(st.integers(0, 999))
def test_unknown_entries_do_not_count(make: Callable[..., Task], seed: int) -> None:
    task = make(seed)
    unknown = random(seed).random((NODES, OUTPUTS)) < 0.4
    unknown[:, 0] = False
    task.targets[unknown] = math.nan
    nodes, outputs = torch.arange(NODES), outputs_of(seed).requires_grad_()
    loss = task.loss(outputs, nodes)
    loss.backward()
    # By hand: the mean over the known entries of a node, then over nodes.
    one_by_one = []
    for node in range(NODES):
        known = [column for column in range(OUTPUTS) if not unknown[node, column]]
        wanted = task.targets[node, known]
        found = outputs[node, known].detach()
        if isinstance(task, Regression):
            one_by_one.append(functional.mse_loss(found, (wanted - CENTER[known]) / SCALE[known]))
        else:
            one_by_one.append(functional.binary_cross_entropy_with_logits(found, wanted))
    torch.testing.assert_close(loss.detach(), torch.stack(one_by_one).mean())
    assert outputs.grad is not None
    assert torch.isfinite(outputs.grad).all()
    assert ((outputs.grad == 0).numpy() == unknown).all()


def test_nodes_of_which_nothing_is_known() -> None:
    nan = math.nan
    assert Classification(torch.tensor([0, -1, 1])).known.tolist() == [True, False, True]
    assert Classification(torch.tensor([0, -1, 1])).num_outputs == 2
    rows = torch.tensor([[1.0, nan], [nan, nan], [0.0, 1.0]]).double()
    assert MultiLabel(rows).known.tolist() == [True, False, True]
    assert Regression(rows, torch.zeros(2), torch.ones(2)).known.tolist() == [True, False, True]


@given(st.integers(0, 999))
def test_class_scores_are_those_of_sklearn(seed: int) -> None:
    task, nodes = classification(seed), torch.arange(2, NODES)
    task.targets[2:5] = torch.arange(3)
    outputs = outputs_of(seed, len(nodes))
    truth, guess = task.targets[nodes].numpy(), outputs.argmax(dim=1).numpy()
    found = task.scores(outputs, nodes)
    assert found["accuracy"] == pytest.approx(accuracy_score(truth, guess))
    assert found["macro_f1"] == pytest.approx(f1_score(truth, guess, average="macro", labels=range(3), zero_division=0))
    assert found["accuracy"] == task.score("accuracy", outputs, nodes)


@given(st.integers(0, 999))
def test_label_scores_are_those_of_sklearn_on_what_is_known(seed: int) -> None:
    task, nodes = multilabel(seed), torch.arange(1, NODES)
    task.targets[1:3] = torch.tensor([[0.0] * 3, [1.0] * 3])  # every label is there, and is not
    unknown = random(seed).random((NODES, OUTPUTS)) < 0.3
    unknown[:4] = False
    task.targets[torch.from_numpy(unknown)] = math.nan
    outputs = outputs_of(seed, len(nodes))
    truth, guess, known = task.targets[nodes].numpy(), outputs.numpy() > 0, ~unknown[1:]
    found = task.scores(outputs, nodes)
    assert set(found) == set(TASK_METRICS["multilabel"])
    whole = known.all(axis=1)
    assert found["accuracy"] == pytest.approx(accuracy_score(truth[whole], guess[whole]))
    assert found["micro_f1"] == pytest.approx(f1_score(truth[known], guess[known], zero_division=0))
    columns = [(truth[known[:, j], j], guess[known[:, j], j], outputs[known[:, j], j]) for j in range(OUTPUTS)]
    assert found["macro_f1"] == pytest.approx(np.mean([f1_score(t, g, zero_division=0) for t, g, _ in columns]))
    assert found["roc_auc"] == pytest.approx(np.mean([roc_auc_score(t, o) for t, _, o in columns]))


@given(st.integers(0, 999))
def test_scores_of_numbers_are_those_of_sklearn_in_the_unit_of_the_targets(seed: int) -> None:
    task, nodes = regression(seed), torch.arange(1, NODES)
    unknown = random(seed).random((NODES, OUTPUTS)) < 0.3
    unknown[:4] = False
    task.targets[torch.from_numpy(unknown)] = math.nan
    outputs = outputs_of(seed, len(nodes)).float()
    predicted = outputs.double() * SCALE + CENTER
    torch.testing.assert_close(task.predicted(outputs), predicted)
    found = task.scores(outputs, nodes)
    columns = [
        (task.targets[nodes, j].numpy()[known], predicted[:, j].numpy()[known])
        for j, known in enumerate((~unknown[1:]).T)
    ]
    assert found["r2"] == pytest.approx(np.mean([r2_score(*pair) for pair in columns]))
    assert found["neg_rmse"] == pytest.approx(-np.mean([root_mean_squared_error(*pair) for pair in columns]))
    assert found["neg_mae"] == pytest.approx(-np.mean([mean_absolute_error(*pair) for pair in columns]))


def test_scores_that_are_not_defined_are_left_out() -> None:
    labels = MultiLabel(torch.tensor([[1.0, math.nan], [1.0, 0.0]]).double())
    assert set(labels.scores(torch.ones(1, 2), torch.tensor([0]))) == {"macro_f1", "micro_f1"}
    numbers = Regression(torch.tensor([[2.0], [2.0]]).double(), torch.zeros(1), torch.ones(1))
    assert numbers.scores(torch.ones(2, 1), torch.arange(2)) == {"neg_rmse": -1.0, "neg_mae": -1.0}


def test_scores_that_are_not_defined_say_why() -> None:
    nan, nodes = math.nan, torch.arange(3)
    labels = MultiLabel(torch.tensor([[1.0, nan], [nan, 0.0], [1.0, nan]]).double())
    with pytest.raises(
        ValueError, match="accuracy needs nodes whose labels are all known, but there are none: use macro"
    ):
        labels.score("accuracy", torch.zeros(3, 2), nodes)
    with pytest.raises(
        ValueError, match="roc_auc needs a label that some nodes have and others lack, but there is none"
    ):
        labels.score("roc_auc", torch.zeros(3, 2), nodes)
    # The mean of three times 0.1 is not 0.1, but they are the same number all the same.
    constant = Regression(torch.full((3, 1), 0.1).double(), torch.zeros(1), torch.ones(1))
    with pytest.raises(ValueError, match="r2 needs .* these 3 nodes all have the same value: use neg_rmse, or another"):
        constant.score("r2", torch.zeros(3, 1), nodes)
    unknown = Regression(torch.tensor([[1.0, nan], [2.0, nan], [3.0, 1.0]]).double(), torch.zeros(2), torch.ones(2))
    with pytest.raises(ValueError, match="target 1 is unknown at all 2 nodes: choose nodes that have it"):
        unknown.score("neg_rmse", torch.zeros(2, 2), nodes[:2])


@every_task
def test_metrics_of_other_tasks_are_refused(make: Callable[..., Task]) -> None:
    task = make(0)
    others = {metric for some in TASK_METRICS.values() for metric in some} - set(TASK_METRICS[task.name])
    for metric in TASK_METRICS[task.name]:
        task.check_metric(metric)
    for metric in others:
        for refuse in (task.check_metric, lambda one: task.score(one, outputs_of(0), torch.arange(NODES))):
            with pytest.raises(ValueError, match=f"metric must be one of '{TASK_METRICS[task.name][0]}', .* not"):
                refuse(metric)


@every_task
def test_a_task_on_another_device_is_a_copy(make: Callable[..., Task]) -> None:
    task = make(0, torch.ones(NODES))
    other = task.to("meta")
    assert type(other) is type(task)
    assert {value.device.type for value in vars(other).values() if isinstance(value, Tensor)} == {"meta"}
    assert {value.device.type for value in vars(task).values() if isinstance(value, Tensor)} == {"cpu"}
    assert other.num_outputs == task.num_outputs


def test_the_constant_answer_is_that_of_the_training_nodes() -> None:
    train = torch.arange(9)
    classes, labels, numbers = classification(4), multilabel(4), regression(4)
    counts = classes.targets[train].bincount()
    assert classes.score("accuracy", classes.constant(train).expand(9, -1), train) == float(counts.max()) / 9
    assert ((labels.constant(train)[0] > 0) == (labels.targets[train].mean(dim=0) > 0.5)).all()
    rows = numbers.targets[train]
    numbers = Regression(numbers.targets, rows.mean(dim=0), rows.std(dim=0, correction=0))
    assert numbers.score("r2", numbers.constant(train).expand(9, -1), train) == pytest.approx(0)
