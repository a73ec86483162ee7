"""Methods that leave settings open: every candidate is trained, the best on the validation nodes is kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import ClassVar

import pytest
import torch
from planted import planted_problem

from unifilter.estimators import Fitted, delete_checkpoints, fit
from unifilter.methods import Method
from unifilter.methods.asgc import ASGCMethod
from unifilter.methods.mlp import MLPMethod
from unifilter.training import History, TrainingInterrupted


@dataclass(frozen=True, kw_only=True)
class OpenRate(MLPMethod):
    """A perceptron that tries learning rates of no use before and after the one that learns."""

    name: ClassVar[str] = "open-rate"
    tried: tuple[float, ...] = (1e-9, 0.02, 1e-8)

    def candidates(self) -> Sequence[OpenRate]:
        return [replace(self, lr=rate, tried=()) for rate in self.tried] or [self]


def small(tried: tuple[float, ...] = OpenRate.tried) -> OpenRate:
    return OpenRate(hidden_channels=16, epochs=12, dropout=0.0, tried=tried)


def logits(fitted: Fitted) -> torch.Tensor:
    return fitted.logits


def test_the_best_on_the_validation_nodes_is_kept() -> None:
    given = planted_problem()
    alone = [fit(method, given) for method in small().candidates()]
    best = fit(small(), given)
    scores = [one.history.best_score for one in alone]
    assert max(scores) == scores[1] > max(scores[0], scores[2])
    assert best.method == alone[1].method == small((0.02,)).candidates()[0]
    assert torch.equal(logits(best), logits(alone[1]))
    assert best.history.seconds > 0


def test_the_time_is_that_of_all_candidates(monkeypatch: pytest.MonkeyPatch) -> None:
    module = import_module("unifilter.estimators.fitting")
    train, spent = module.train, []

    def timed(*args: object, **options: object) -> History:
        history: History = train(*args, **options)
        spent.append(history.seconds)
        return history

    monkeypatch.setattr(module, "train", timed)
    history = fit(small(), planted_problem()).history
    assert len(spent) == 3
    assert history.seconds == pytest.approx(sum(spent))


@pytest.mark.parametrize(
    ("scores", "losses", "kept"),
    [
        ([0.5, 0.7, 0.6], [1.0, 1.0, 1.0], 1),
        ([0.7, 0.7, 0.6], [1.0, 0.9, 0.1], 1),  # among equals the lower loss
        ([0.7, 0.7, 0.7], [1.0, 1.0, 1.0], 0),  # among the very same the first
        ([None, 0.1, 0.2], [1.0, 1.0, 1.0], 2),  # one that diverged at once has no score
    ],
)
def test_who_wins(monkeypatch: pytest.MonkeyPatch, scores: list[float | None], losses: list[float], kept: int) -> None:
    module = import_module("unifilter.estimators.fitting")
    outcomes = iter(
        History([loss], [loss], [score if score is not None else float("nan")], 0 if score is not None else -1)
        for score, loss in zip(scores, losses, strict=True)
    )
    monkeypatch.setattr(module, "train", lambda *args, **options: next(outcomes))
    assert fit(small(), planted_problem()).method == small().candidates()[kept]


def test_progress_says_which_candidate_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    module = import_module("unifilter.estimators.fitting")
    train, labels = module.train, []

    def labeled(*args: object, label: str, **options: object) -> History:
        labels.append(label)
        history: History = train(*args, label=label, **options)
        return history

    monkeypatch.setattr(module, "train", labeled)
    fit(small(), planted_problem(), label="fit")
    fit(small((0.02,)), planted_problem(), label="fit")
    assert labels == ["fit (1 of 3)", "fit (2 of 3)", "fit (3 of 3)", "fit"]


def test_who_watches_can_stop_the_rest() -> None:
    seen: list[int] = []

    def stop(history: History) -> bool:
        seen.append(history.epochs)
        return len(seen) == 15

    fitted = fit(small(), planted_problem(), on_epoch=stop)
    assert seen == [*range(1, 13), 1, 2, 3]
    assert fitted.method.candidates()[0] in small().candidates()[:2]


def test_an_interrupted_fit_goes_on_with_the_candidate_it_was_at(tmp_path: Path) -> None:
    given, file = planted_problem(), tmp_path / "run.pt"
    seen: list[int] = []

    def interrupt(history: History) -> None:
        seen.append(history.epochs)
        if len(seen) == 16:
            raise KeyboardInterrupt

    whole = fit(small(), given)
    with pytest.raises(TrainingInterrupted, match=r"stopped after 4 epochs; its state is in .*run\.1\.pt"):
        fit(small(), given, checkpoint=file, fingerprint="a", on_epoch=interrupt)
    seen.clear()
    resumed = fit(small(), given, checkpoint=file, fingerprint="a", on_epoch=lambda now: seen.append(now.epochs))
    assert seen == [*range(1, 13), *range(5, 13), *range(1, 13)]
    assert torch.equal(logits(resumed), logits(whole))


def test_only_its_own_checkpoints_are_deleted(tmp_path: Path) -> None:
    names = ["run.pt", "run.1.pt", "run.2.pt", "run.3.pt", "run.old.pt", "run1.pt"]
    for name in names:
        (tmp_path / name).touch()
    delete_checkpoints(small(), tmp_path / "run.pt")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run.3.pt", "run.old.pt", "run1.pt"]


def test_a_method_without_candidates_is_refused() -> None:
    class Nothing(OpenRate):
        def candidates(self) -> Sequence[OpenRate]:
            return []

    with pytest.raises(ValueError, match=r"open-rate has no candidates: let candidates\(\) return at least one"):
        fit(Nothing(), planted_problem())


def test_asgc_searches_as_its_authors_do() -> None:
    given = planted_problem()
    fitted = fit(ASGCMethod(), given)
    tried = ASGCMethod().candidates()
    assert {(method.hops, method.ridge) for method in tried} == {
        (hops, ridge) for hops in (1, 2, 4, 8) for ridge in (1e-4, 1e-3, 1e-2, 1e-1, 1.0)
    }
    assert fitted.history.best_score == max(fit(method, given).history.best_score for method in tried)
    closed: Method = ASGCMethod(hops=2, ridge=0.1)
    assert list(closed.candidates()) == [closed]
    assert {method.ridge for method in ASGCMethod(ridge=0.5).candidates()} == {0.5}
