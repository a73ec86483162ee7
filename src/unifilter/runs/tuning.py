"""Hyper-parameters chosen on the validation nodes: Optuna proposes, one workspace serves every trial."""

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
from unifilter.methods import Method, Problem, Workspace
from unifilter.runs.left_out import check_splits
from unifilter.training import DivergedWarning, History

require("tune", what="tuning")

import optuna  # noqa: E402
from optuna.trial import TrialState  # noqa: E402

from unifilter.runs.study_file import STORAGE_ERRORS, opened_study  # noqa: E402

# A report is a write to the study's file, which takes longer than an epoch on a small graph.
_EPOCHS_PER_REPORT = 20
# Until then a low learning rate looks like a bad one.
_EPOCHS_BEFORE_PRUNING = 60
# Where a trial keeps settings that were not proposed but given.
_GIVEN = "settings"
# Below any score of numbers that a search is about.
_FAR_BELOW = -1e9


@dataclass(frozen=True)
class Trial:
    """One set of hyper-parameters and what it reached.

    Attributes:
        settings: The values that were tried.
        val_score: Mean validation score over the splits; ``None`` where the trial was given up early.
    """

    settings: dict[str, Any]
    val_score: float | None


@dataclass(frozen=True)
class Tuning:
    """All trials of a study, the earliest first.

    Attributes:
        trials: What was tried.
        fixed: The settings that were the same in every trial.
    """

    trials: tuple[Trial, ...]
    fixed: dict[str, Any]

    @property
    def best(self) -> Trial:
        """The trial with the highest validation score; of equal ones the first."""
        return max((t for t in self.trials if t.val_score is not None), key=lambda t: t.val_score or 0.0)

    @property
    def pruned(self) -> int:
        """How many trials were given up early."""
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
    on_trial: Callable[[int, Trial], None] | None = None,
) -> Tuning:
    """Search a method's hyper-parameters; test nodes are never looked at.

    Args:
        method: The method, which says what there is to choose from.
        dataset: The data set, with raw features.
        splits: Whose training nodes to learn from; the mean score on their validation nodes decides.
        trials: How many trials there shall be in all, those that the study already holds included.
        fixed: Settings that are not searched.
        first: Settings that are tried before the search proposes any, such as ``[{}]``, the defaults: the search
            cannot end below them.
        space: The values to choose among; by default those that the method says.
        study: A file that keeps the trials: interrupted, the search goes on from there as if nothing had happened.
            One process at a time can search in it.
        seed: Random seed of the proposals.
        device: Where to compute.
        allow_missing_classes: Search although a split has no training, validation or test node of some class.
        on_trial: Called with the number of trials made and the last of them.
    """
    method.check_installed()
    check_count("trials", trials, "pass how many sets of hyper-parameters to try")
    check_splits(dataset, splits, allow_missing_classes)
    fixed = dict(fixed or {})
    if dataset.task == "regression" and dataset.table is None:
        # Rows that are scaled lose the size of the numbers.
        fixed = {"features": "standard", **fixed}
    # The columns of a table are scaled by their kind, whatever this says.
    unused = {"features"} if dataset.table is not None else set()
    given = _space(method) if space is None else space
    space = {name: tuple(values) for name, values in given.items() if name not in {*fixed, *unused}}
    if not space:
        raise ValueError(f"every setting that could be searched is fixed ({', '.join(fixed)}): leave one of them out")
    first = [{name: value for name, value in settings.items() if name not in {*fixed, *unused}} for settings in first]
    subject = {
        "data": dataset.checksum,
        "method": f"{method.name} {method.version}",
        "fixed settings": repr(sorted(fixed.items())),
        "search space": repr(sorted(space.items())),
        "first settings": repr([sorted(settings.items()) for settings in first]),
        "splits": repr([(split.name, split.index) for split in splits]),
    }
    workspace = Workspace(dataset, device)
    workspace.expect_hops(0, *(value or 0 for value in space.get("hops", ())))
    problems = [Problem(workspace, split.train, split.val) for split in splits]
    pruner = optuna.pruners.MedianPruner(n_warmup_steps=_EPOCHS_BEFORE_PRUNING)
    with _quiet(), opened_study(study, pruner) as opened:
        _check_subject(opened, subject, study)
        for done in range(len(_finished(opened)), trials):
            # Seeded trial by trial, so that a search that was interrupted proposes what it would have proposed.
            number = int(np.random.SeedSequence([seed, done]).generate_state(1)[0])
            opened.sampler = optuna.samplers.TPESampler(seed=number, constant_liar=False)
            trial = opened.ask()
            if done < len(first):
                settings = dict(first[done])
                # Not as parameters, which have to be in the search space.
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
    """The mean validation score; ``None`` where the trial was given up early."""
    scores: list[float] = []
    try:
        for number, problem in enumerate(problems):
            report = _Reports(trial, scores, number * method.epochs)
            with warnings.catch_warnings():
                # Some learning rates of a search space are too high: that is what a search is for.
                warnings.simplefilter("ignore", DivergedWarning)
                history = fit(method, problem, on_epoch=report if may_be_given_up else None).history
            # Weights that diverged in the first epoch have no score, and are the worst there are.
            scores.append(history.best_score if history.best_epoch >= 0 else _worst(method.metric))
    except optuna.TrialPruned:
        study.tell(trial, state=TrialState.PRUNED)
        return None
    except BaseException:
        with suppress(*STORAGE_ERRORS):  # which must not hide what happened; the next search marks the trial then
            study.tell(trial, state=TrialState.FAIL)
        raise
    study.tell(trial, statistics.fmean(scores))
    return statistics.fmean(scores)


class _Reports:
    """Tells the study now and then how a trial does, and gives the trial up when others did better by then.

    Args:
        trial: The trial.
        scores: What it reached on the splits before this one.
        first_step: How many epochs these splits have at most.
    """

    def __init__(self, trial: optuna.Trial, scores: Sequence[float], first_step: int) -> None:
        self.trial, self.scores, self.first_step = trial, tuple(scores), first_step
        self.best: float | None = None

    def __call__(self, history: History) -> None:
        score = history.val_score[-1]
        if self.best is None or score > self.best:  # which NaN never is
            self.best = None if math.isnan(score) else score
        if history.epochs % _EPOCHS_PER_REPORT == 0 and self.best is not None:
            self.trial.report(statistics.fmean([*self.scores, self.best]), self.first_step + history.epochs - 1)
            if self.trial.should_prune():
                raise optuna.TrialPruned


def _worst(metric: Metric) -> float:
    """A score that no weights are below: shares start at 0, scores of numbers have no end."""
    return _FAR_BELOW if metric in TASK_METRICS["regression"] else 0.0


def _space(method: type[Method]) -> dict[str, Sequence[Any]]:
    if not method.search_space:
        raise ValueError(
            f"{method.name} does not say what its settings can be: tune another method, or give it a search_space"
        )
    space: dict[str, Sequence[Any]] = {name: tuple(values) for name, values in method.search_space.items()}
    for name, values in method.further_search.items():
        space[name] = (*space.get(name, ()), *values)
    return space


@contextmanager
def _quiet() -> Iterator[None]:
    """Without a line of log for every trial."""
    level = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        yield
    finally:
        optuna.logging.set_verbosity(level)


def _check_subject(study: optuna.Study, subject: dict[str, str], file: Path | None) -> None:
    """Trials on other data or in another space cannot be compared."""
    for name, value in subject.items():
        before = study.user_attrs.get(name)
        if before is None:
            study.set_user_attr(name, value)
        elif before != value:
            raise ValueError(
                f"the study in {file} has other {name} ({before}, not {value}): use what it was started with, or "
                "pass another study file"
            )


def _finished(study: optuna.Study) -> list[optuna.trial.FrozenTrial]:
    """Trials that came to an end; interrupted ones do not count."""
    return study.get_trials(deepcopy=False, states=(TrialState.COMPLETE, TrialState.PRUNED))


def _score_of(trial: optuna.trial.FrozenTrial) -> float | None:
    return trial.value if trial.state == TrialState.COMPLETE else None
