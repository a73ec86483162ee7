"""Measurement: train one method on one split."""

from __future__ import annotations

import time
from typing import Any

from unifilter.data import Split
from unifilter.estimators import Fitted, fit
from unifilter.experiments.engine.cells import CANDIDATES, Cell
from unifilter.experiments.engine.sources import choose_split
from unifilter.methods import Method, Problem, Workspace, find_method
from unifilter.runs.left_out import UNTESTED, UNVALIDATED
from unifilter.runs.record import record_of

# Entries of a record that are part of the cell's identity or follow from its split.
_SAID = ("dataset", "checksum", "method", "method_version", "split", "index", "settings", UNTESTED, UNVALIDATED)


def measure_training(workspace: Workspace, cell: Cell) -> dict[str, Any]:
    """Scores, time and memory; for filters on a factorization also learned weights and frequencies."""
    split = choose_split(workspace.dataset, cell.split, cell.index)
    settings = {name: value for name, value in cell.settings.items() if name != CANDIDATES}
    return _train(find_method(cell.method).with_settings(settings), workspace, split)


def measure_tuned_training(workspace: Workspace, cell: Cell) -> dict[str, Any]:
    """Like :func:`measure_training`, with settings tuned on the validation nodes of this split in ``trials`` trials."""
    from unifilter.runs.tuning import tune  # needs optuna, which is optional

    split = choose_split(workspace.dataset, cell.split, cell.index)
    family = find_method(cell.method)
    fixed = {name: value for name, value in cell.settings.items() if name not in ("trials", "space")}
    started = time.monotonic()
    # Classes may be missing, because the experiment prescribes the splits.
    tuning = tune(
        family,
        workspace.dataset,
        [split],
        cell.settings["trials"],
        fixed=fixed,
        space=cell.settings["space"],
        allow_missing_classes=True,
    )
    chosen, searched = tuning.best.settings, time.monotonic() - started
    outcome = _train(family.with_settings({**fixed, **chosen}), workspace, split)
    return {**outcome, "chosen": chosen, "search_seconds": round(searched, 2)}


def _train(method: Method, workspace: Workspace, split: Split) -> dict[str, Any]:
    fitted = fit(method, Problem(workspace, split.train, split.val))
    record = record_of(fitted, workspace.dataset, split)
    chosen = {name: value for name, value in record["settings"].items() if value != method.settings()[name]}
    return {
        **{name: value for name, value in record.items() if name not in _SAID and value is not None},
        **({"chosen": chosen} if len(method.candidates()) > 1 else {}),
        "train_nodes": len(split.train),
        "test_nodes": len(split.test),
        **_weights_of_members(fitted),
        **_spectrum(fitted),
    }


def _weights_of_members(fitted: Fitted) -> dict[str, Any]:
    """Of a portfolio, the weight, the validation score and the seconds of each member."""
    board = fitted.model.leaderboard
    if board is None:
        return {}
    return {"members": {row.name: [round(row.weight, 4), row.val_score, round(row.seconds, 2)] for row in board}}


def _spectrum(fitted: Fitted) -> dict[str, Any]:
    """Learned weight and mean frequency of each basis vector, and mean frequency of the filtered signal.

    Frequencies (Definition 2.2) are averaged over the nonzero channels.
    """
    model, settings = fitted.model, fitted.method.settings()
    tridiagonal, basis, weights = model.tridiagonal, model.basis, model.weights
    if tridiagonal is None or basis is None or weights is None or settings.get("basis") != "uni" or weights.ndim != 1:
        return {}
    signal = tridiagonal.norm > 0
    coefficients = basis.coefficients(tridiagonal)
    on_vectors = (coefficients * weights[:, None, None]).sum(dim=0)
    filtered = tridiagonal.frequencies(on_vectors[None])[0, signal]
    outcome: dict[str, Any] = {"filtered_frequency": float(filtered.mean())}
    if isinstance(settings["tau"], str) or settings["theta"] is not None:
        return outcome  # a learned basis has no fixed frequencies
    outcome["weights"] = [round(value, 6) for value in weights.tolist()]
    frequencies = tridiagonal.frequencies(coefficients)[:, signal].mean(dim=1)
    outcome["frequencies"] = [round(value, 6) for value in frequencies.tolist()]
    return outcome
