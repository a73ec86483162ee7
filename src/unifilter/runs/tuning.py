"""Hyperparameter search on the validation nodes with Optuna. All trials share a workspace."""

from __future__ import annotations

import math
import statistics
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from unifilter._internal.checks import check_count
from unifilter._internal.extras import require
from unifilter._internal.plain import plain
from unifilter.data import TASK_METRICS, Metric, NodeDataset, Split
from unifilter.estimators import fit
from unifilter.methods import Method, Problem, Storage, Workspace
from unifilter.runs.left_out import check_splits
from unifilter.training import DivergedWarning, History

require("tune", what="tuning")

import optuna  # noqa: E402
from optuna.trial import TrialState  # noqa: E402

from unifilter.runs.study_file import STORAGE_ERRORS, opened_study  # noqa: E402

# Reporting writes to the study file, which takes longer than an epoch on a small graph.
_EPOCHS_PER_REPORT = 20
# Until then a low learning rate looks like a bad one.
_EPOCHS_BEFORE_PRUNING = 60
# Key under which a trial stores settings that were given, not proposed.
_GIVEN = "settings"
# Below any relevant regression score.
_FAR_BELOW = -1e9


@dataclass(frozen=True)
class Trial:
    """One set of hyperparameters and its score.

    Attributes:
        settings: The values tried.
        val_score: Mean validation score over the splits; ``None`` if the trial was stopped early.
    """

    settings: dict[str, Any]
    val_score: float | None


@dataclass(frozen=True)
class Tuning:
    """All trials of a study, the oldest first.

    Attributes:
        trials: The trials.
        fixed: The settings shared by all trials.
    """

    trials: tuple[Trial, ...]
    fixed: dict[str, Any]

    @property
    def best(self) -> Trial:
        """The trial with the highest validation score, the first one in a tie."""
        return max((t for t in self.trials if t.val_score is not None), key=lambda t: t.val_score or 0.0)

    @property
    def pruned(self) -> int:
        """Number of trials stopped early."""
        return sum(trial.val_score is None for trial in self.trials)


def tune(
    method: type[Method],
    dataset: NodeDataset,
    splits: Sequence[Split],
    trials: int,
    *,
    fixed: Mapping[str, Any] | None = None,
    first: Sequence[Mapping[str, Any]] = (),
    space: Mapping[str, Sequence[Any]] | None = None,
    study: Path | None = None,
    seed: int = 0,
    device: str = "cpu",
    allow_missing_classes: bool = False,
    storage: Storage | None = None,
    on_trial: Callable[[int, Trial], None] | None = None,
) -> Tuning:
    """Search a method's hyperparameters. Test nodes are never used.

    Args:
        method: The method, which defines the search space.
        dataset: The data set, with raw features.
        splits: The splits to train on. The search maximizes the mean score on their validation nodes.
        trials: Total number of trials, including those already in the study.
        fixed: Settings that are not searched.
        first: Settings to try before the search proposes any, such as ``[{}]``, the defaults: the result of the search
            cannot be worse than these.
        space: Values to choose from. Default: the search space of the method.
        study: A file that stores the trials. An interrupted search continues from it as if it had not been interrupted.
            Only one process at a time can use it.
        seed: Random seed of the proposals.
        device: Device to compute on.
        allow_missing_classes: Search although some class has no training, validation or test node in a split.
        storage: Where to store a factorization that does not fit in memory.
        on_trial: Called with the number of trials so far and the last trial.
    """
    method.check_installed()
    check_count("trials", trials, "pass the number of sets of hyperparameters to try")
    check_splits(dataset, splits, allow_missing_classes)
    fixed = dict(fixed or {})
    if dataset.task == "regression" and dataset.table is None:
        # Scaling rows would lose the size of the numbers.
        fixed = {"features": "standard", **fixed}
    # Columns of a table are scaled by their type, independently of this setting.
    unused = {"features"} if dataset.table is not None else set()
    given = _space(method) if space is None else space
    space = {name: tuple(values) for name, values in given.items() if name not in {*fixed, *unused}}
    if not space:
        raise ValueError(f"all searchable settings are fixed ({', '.join(fixed)}): leave one of them out")
    first = [{name: value for name, value in settings.items() if name not in {*fixed, *unused}} for settings in first]
    subject = {
        "data": dataset.checksum,
        "method": f"{method.name} {method.version}",
        "fixed settings": repr(sorted(fixed.items())),
        "search space": repr(sorted(space.items())),
        "first settings": repr([sorted(settings.items()) for settings in first]),
        "splits": repr([(split.name, split.index) for split in splits]),
    }
    workspace = Workspace(dataset, device, storage)
    workspace.expect_hops(0, *(value or 0 for value in space.get("hops", ())))
    problems = [Problem(workspace, split.train, split.val) for split in splits]
    pruner = optuna.pruners.MedianPruner(n_warmup_steps=_EPOCHS_BEFORE_PRUNING)
    with _quiet(), opened_study(study, pruner) as opened:
        _check_subject(opened, subject, study)
        for done in range(len(_finished(opened)), trials):
            # Seeded per trial, so that an interrupted search continues with the proposals it would have made.
            number = int(np.random.SeedSequence([seed, done]).generate_state(1)[0])
            opened.sampler = optuna.samplers.TPESampler(seed=number, constant_liar=False)
            trial = opened.ask()
            if done < len(first):
                settings = dict(first[done])
                # Stored as an attribute, because parameters must be in the search space.
                trial.set_user_attr(_GIVEN, plain(settings))
            else:
                settings = {name: trial.suggest_categorical(name, values) for name, values in space.items()}
            built = method.with_settings({**fixed, **settings})
            score = _run(opened, trial, built, problems, may_be_given_up=done >= len(first))
            if on_trial is not None:
                on_trial(done + 1, Trial(settings, score))
        finished = tuple(Trial(dict(t.user_attrs.get(_GIVEN, t.params)), _score_of(t)) for t in _finished(opened))
    return Tuning(finished, fixed)


def _run(
    study: optuna.Study, trial: optuna.Trial, method: Method, problems: Sequence[Problem], may_be_given_up: bool
) -> float | None:
    """Run a trial. Returns the mean validation score, or ``None`` if the trial was stopped early."""
    scores: list[float] = []
    try:
        for number, problem in enumerate(problems):
            report = _Reports(trial, scores, number * method.epochs)
            with warnings.catch_warnings():
                # Some learning rates of a search space are too high, which is expected.
                warnings.simplefilter("ignore", DivergedWarning)
                history = fit(method, problem, on_epoch=report if may_be_given_up else None).history
            # Weights that diverged in the first epoch have no score, and count as the worst.
            scores.append(history.best_score if history.best_epoch >= 0 else _worst(method.metric))
    except optuna.TrialPruned:
        study.tell(trial, state=TrialState.PRUNED)
        return None
    except BaseException:
        with suppress(*STORAGE_ERRORS):  # must not hide the original error; the next search marks the trial instead
            study.tell(trial, state=TrialState.FAIL)
        raise
    study.tell(trial, statistics.fmean(scores))
    return statistics.fmean(scores)


class _Reports:
    """Reports the progress of a trial to the study, and stops the trial if others were better at the same epoch.

    Args:
        trial: The trial.
        scores: Its scores on the previous splits.
        first_step: Maximum number of epochs of the previous splits in total.
    """

    def __init__(self, trial: optuna.Trial, scores: Sequence[float], first_step: int) -> None:
        self.trial, self.scores, self.first_step = trial, tuple(scores), first_step
        self.best: float | None = None

    def __call__(self, history: History) -> None:
        score = history.val_score[-1]
        if self.best is None or score > self.best:  # false for NaN
            self.best = None if math.isnan(score) else score
        if history.epochs % _EPOCHS_PER_REPORT == 0 and self.best is not None:
            self.trial.report(statistics.fmean([*self.scores, self.best]), self.first_step + history.epochs - 1)
            if self.trial.should_prune():
                raise optuna.TrialPruned


def _worst(metric: Metric) -> float:
    """A score that no model is below: 0 for shares, a large negative number for regression."""
    return _FAR_BELOW if metric in TASK_METRICS["regression"] else 0.0


def _space(method: type[Method]) -> dict[str, Sequence[Any]]:
    if not method.search_space:
        raise ValueError(f"{method.name} has no search space: tune another method, or define its search_space")
    space: dict[str, Sequence[Any]] = {name: tuple(values) for name, values in method.search_space.items()}
    for name, values in method.further_search.items():
        space[name] = (*space.get(name, ()), *values)
    return space


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence Optuna's log line for every trial."""
    level = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        yield
    finally:
        optuna.logging.set_verbosity(level)


def _check_subject(study: optuna.Study, subject: dict[str, str], file: Path | None) -> None:
    """Check that the study is about the same data and search space, because other trials are not comparable."""
    for name, value in subject.items():
        before = study.user_attrs.get(name)
        if before is None:
            study.set_user_attr(name, value)
        elif before != value:
            raise ValueError(
                f"the study in {file} has different {name} ({before}, not {value}): use its original arguments, or "
                "pass another study file"
            )


def _finished(study: optuna.Study) -> list[optuna.trial.FrozenTrial]:
    """Trials that have finished; interrupted ones do not count."""
    return study.get_trials(deepcopy=False, states=(TrialState.COMPLETE, TrialState.PRUNED))


def _score_of(trial: optuna.trial.FrozenTrial) -> float | None:
    return trial.value if trial.state == TrialState.COMPLETE else None
