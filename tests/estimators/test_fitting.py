from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from planted import held_out, planted_problem
from real_graphs import needs_data

from unifilter.datasets import load_dataset
from unifilter.estimators import Fitted, fit, fitting
from unifilter.methods import METHODS, Learner, Problem, Workspace, find_method
from unifilter.methods.uni_filter import UniFilterMethod
from unifilter.training import History, TrainingInterrupted, all_scores


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Tensors this small gain nothing from a second thread, and lose much where the cores are busy."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def small(**settings: Any) -> UniFilterMethod:
    return UniFilterMethod(**{"hops": 3, "hidden_channels": 16, "epochs": 10, "lr": 0.02} | settings).candidates()[0]


def logits(fitted: Fitted) -> torch.Tensor:
    return fitted.logits


def test_it_learns_what_was_planted() -> None:
    given = planted_problem()
    fitted = fit(small(epochs=60), given)
    scores = fitted.scores(held_out(given))
    # Three equal classes: a guess is right once in three.
    assert scores["accuracy"] >= 0.8
    assert scores == all_scores(fitted.logits[held_out(given)], given.workspace.labels[held_out(given)])
    assert fitted.history.best_score == fitted.scores(torch.from_numpy(given.val))["accuracy"]


@pytest.mark.parametrize("batch_size", [None, 7])
def test_the_same_seed_gives_the_same_model_whatever_was_drawn_before(batch_size: int | None) -> None:
    given = planted_problem()
    torch.manual_seed(1)
    first = fit(small(batch_size=batch_size), given)
    state = torch.get_rng_state()
    torch.manual_seed(2)
    second = fit(small(batch_size=batch_size), planted_problem())
    other = fit(small(batch_size=batch_size, seed=1), given)
    assert torch.equal(logits(first), logits(second))
    assert first.history.loss == second.history.loss
    assert not torch.equal(logits(first), logits(other))
    torch.manual_seed(1)
    assert torch.equal(torch.get_rng_state(), state)


def test_logits_of_many_nodes_come_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = logits(fit(small(epochs=2), planted_problem()))
    asked: list[int] = []
    build = UniFilterMethod.build

    def recorded(self: UniFilterMethod, problem: Problem) -> Learner:
        learner = build(self, problem)
        forward = learner.forward

        def counted(nodes: torch.Tensor) -> torch.Tensor:
            asked.append(len(nodes))
            return forward(nodes)

        learner.forward = counted
        learner.finish = lambda: (asked.clear(), learner.model.train())
        return learner

    monkeypatch.setattr(UniFilterMethod, "build", recorded)
    monkeypatch.setattr(fitting, "_ROWS_AT_ONCE", 1)
    parts = logits(fit(small(epochs=2), planted_problem()))
    assert asked == [24, 24]  # never more than the training nodes
    assert not parts.requires_grad
    torch.testing.assert_close(parts, whole)


def test_an_interrupted_run_goes_on_where_it_was(tmp_path: Path) -> None:
    given, file = planted_problem(), tmp_path / "run.pt"

    def interrupt(history: History) -> None:
        if history.epochs == 4:
            raise KeyboardInterrupt

    whole = fit(small(), given)
    with pytest.raises(TrainingInterrupted, match="stopped after 4 epochs; its state is in .*run.pt"):
        fit(small(), given, checkpoint=file, fingerprint="a", on_epoch=interrupt)
    with pytest.raises(ValueError, match="belongs to a run with other settings"):
        fit(small(), given, checkpoint=file, fingerprint="b")
    epochs: list[int] = []
    resumed = fit(small(), given, checkpoint=file, fingerprint="a", on_epoch=lambda now: epochs.append(now.epochs))
    assert epochs == [5, 6, 7, 8, 9, 10]
    assert torch.equal(logits(resumed), logits(whole))
    assert resumed.history.val_loss == whole.history.val_loss


def test_every_epoch_is_reported_with_its_loss_and_score() -> None:
    calls: list[tuple[int, float, float]] = []

    def note(now: History) -> None:
        calls.append((now.epochs, now.loss[-1], now.val_score[-1]))

    history = fit(small(epochs=3), planted_problem(), on_epoch=note).history
    assert calls == list(zip((1, 2, 3), history.loss, history.val_score, strict=True))


def test_methods_are_found_by_name() -> None:
    assert all(find_method(name) is method for name, method in METHODS.items())
    with pytest.raises(ValueError, match="there is no method 'unifilters': choose one of unifilter, homfilter, "):
        find_method("unifilters")


@needs_data
def test_a_few_epochs_on_cora() -> None:
    dataset = load_dataset("cora")
    split = dataset.split("60", 0)
    workspace = Workspace(dataset)
    fitted = fit(
        UniFilterMethod(features="row", tau=0.9, epochs=30, lr=0.05), Problem(workspace, split.train, split.val)
    )
    # The paper reports 89 %, and 30 % of the nodes are of the largest class.
    assert fitted.scores(torch.from_numpy(split.test))["accuracy"] > 0.8
    assert fitted.model.shape.facts["homophily"] == pytest.approx(0.81, abs=0.03)
