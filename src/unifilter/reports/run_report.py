"""Collects the numbers of a finished run for its report, and writes the report files."""

from __future__ import annotations

import datetime
import json
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from unifilter._internal.files import whole_text_file
from unifilter._internal.version import __version__
from unifilter.data import DataWarning, describe
from unifilter.explanation import explain, feature_importance, permutation_importance
from unifilter.explanation.mixtures import member_filters, whole_response
from unifilter.explanation.universal import universal_parameters
from unifilter.reports.page import render_report
from unifilter.runs import Run, RunFolder
from unifilter.runs.constant import CONSTANT_NAMES

# Name of the baseline without the graph.
_WITHOUT_GRAPH = "MLP without the graph"
# Permutation importance takes several predictions per column, so it is limited to this many columns.
_MOST_COLUMNS = 64
_TOP_FEATURES = 12


def write_report(run: Run, command: str | None = None) -> dict[str, Any]:
    """Write ``report.json`` and ``report.html`` into the folder of a run.

    Args:
        run: A run with at least one finished split.
        command: The command that trained it, for the suggestions.

    Returns:
        The report.
    """
    with warnings.catch_warnings():
        # Nodes outside the training set may have values that it lacks; training has already reported them.
        warnings.simplefilter("ignore", DataWarning)
        report = report_run(run, command)
    with whole_text_file(run.folder / "report.json") as file:
        json.dump(report, file, indent=1, allow_nan=False, ensure_ascii=False)
    with whole_text_file(run.folder / "report.html") as file:
        file.write(render_report(report))
    return report


def report_run(run: Run, command: str | None = None) -> dict[str, Any]:
    """The numbers of a run's report, as described in :mod:`unifilter.reports`.

    Args:
        run: A run with at least one finished split.
        command: The command that trained it.
    """
    if not run.records:
        raise ValueError(f"the run in {run.folder} has no finished split yet: let it finish one")
    details = [record["details"] for record in run.records]
    reports = [one["report"] for one in details]
    task, metric = run.dataset.task, run.method.metric
    split, summary = run.splits[0], run.summary()
    return {
        "title": f"{run.dataset.name}, {run.method.name}",
        "unifilter": __version__,
        "created": datetime.date.today().isoformat(),
        "command": command,
        "dataset": _dataset(run),
        "task": task,
        "method": run.method.name,
        "metric": metric,
        "split": {
            "name": split.name,
            "count": len(run.records),
            "train": len(split.train),
            "val": len(split.val),
            "test": len(split.test),
        },
        "warnings": _warnings(run, summary),
        "nothing_learned": len(summary["nothing_learned"]) == len(run.records),
        "scores": _scores(run, details),
        "metrics": {
            name.removeprefix("test_"): found for name, found in summary["scores"].items() if name.startswith("test_")
        },
        "classes": _classes(task, reports),
        "confusion": _confusion(run, task, reports),
        "calibration": _calibration(task, details),
        "sets": _sets(details),
        "residuals": _residuals(task, details),
        "members": _members(details),
        "spectrum": _spectrum(run),
        "importance": _importance(run),
        "history": {
            "best_epochs": [record["best_epoch"] for record in run.records],
            "epochs": [record["epochs"] for record in run.records],
            "seconds": [record["seconds"] for record in run.records],
        },
        "settings": {**run.config["settings"], "class_weight": run.class_weight},
    }


def _dataset(run: Run) -> dict[str, Any]:
    summary = describe(run.dataset)
    return {
        "name": summary.name,
        "nodes": summary.nodes,
        "edges": summary.edges,
        "columns": [{"name": one.name, "kind": one.kind} for one in summary.columns],
        "features": summary.features,
        "classes": summary.classes,
        "labeled": summary.labeled,
        "isolated": summary.isolated,
        "edge_homophily": summary.edge_homophily,
        "adjusted_homophily": summary.adjusted_homophily,
    }


def _warnings(run: Run, summary: dict[str, Any]) -> list[str]:
    said = []
    for record in run.records:
        if record["details"]["nothing_learned"]:
            said.append(f"Split {record['index']}: {record['details']['nothing_learned']}")
    unmoved = [str(record["index"]) for record in run.records if record["details"]["filter_unmoved"]]
    if unmoved:
        said.append(
            f"The weights of the filter did not change (split {', '.join(unmoved)}): the spectrum below shows "
            "the initial filter, not a learned one."
        )
    for part, key in (("test", "untested_classes"), ("validation", "unvalidated_classes")):
        if summary.get(key):
            names = ", ".join(map(repr, summary[key]))
            said.append(f"No {part} node of class {names}: the scores say nothing about it.")
    if any(record["ended"] == "diverged" for record in run.records):
        said.append("Training diverged on some splits: the learning rate is too high.")
    return said


def _scores(run: Run, details: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    metric = run.method.metric
    rows = [(run.method.name, "model", [record.get(f"test_{metric}") for record in run.records])]
    if any("without_graph" in one for one in details):
        rows.append((_WITHOUT_GRAPH, "mlp", [one.get("without_graph") for one in details]))
    rows.append((CONSTANT_NAMES[run.dataset.task], "majority", [one["constant"] for one in details]))
    found = []
    for name, role, values in rows:
        known = [value for value in values if value is not None]
        mean, std = (float(np.mean(known)), float(np.std(known))) if known else (None, None)
        found.append({"name": name, "role": role, "mean": mean, "std": std, "values": values})
    return found


def _classes(task: str, reports: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Precision and recall of each class or label, over the nodes of all splits."""
    if task == "regression":
        return []
    key = "per_class" if task == "classification" else "per_label"
    found = []
    for same in zip(*(report[key] for report in reports), strict=True):
        support, predicted = (sum(one[name] for one in same) for name in ("support", "predicted"))
        hits = sum((one["recall"] or 0.0) * one["support"] for one in same)
        found.append(
            {
                "name": same[0]["name"],
                "precision": hits / predicted if predicted else None,
                "recall": hits / support if support else None,
                "f1": 2 * hits / (support + predicted) if support + predicted else None,
                "support": support,
                "predicted": predicted,
            }
        )
    return found


def _confusion(run: Run, task: str, reports: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    if task != "classification":
        return None
    counts = np.sum([report["confusion"] for report in reports], axis=0)
    return {"names": run.dataset.class_values.tolist(), "counts": counts.tolist()}


def _calibration(task: str, details: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """Mean errors over the splits, and bins merged over all splits."""
    if task != "classification":
        return None
    found = [one["report"]["calibration"] for one in details]
    confidence, accuracy, count = (
        np.concatenate([one[name] for one in found]) for name in ("confidence", "accuracy", "count")
    )
    width = 15
    place = np.minimum((confidence * width).astype(int), width - 1)
    bins = []
    for index in np.unique(place):
        here, weight = place == index, count[place == index]
        bins.append(
            {
                "confidence": float(np.average(confidence[here], weights=weight)),
                "accuracy": float(np.average(accuracy[here], weights=weight)),
                "count": int(weight.sum()),
            }
        )
    return {
        "error": float(np.mean([one["error"] for one in found])),
        "error_before": float(np.mean([one["error_before"] for one in details])),
        "temperature": float(np.mean([one["temperature"] for one in details])),
        "bins": bins,
    }


def _sets(details: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    found = [one["sets"] for one in details if "sets" in one]
    if not found:
        return None
    return {name: float(np.mean([one[name] for one in found])) for name in ("alpha", "coverage", "mean_size")}


def _residuals(task: str, details: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """Residuals of the first target: quantiles averaged over the splits, and the nodes of the first split."""
    if task != "regression":
        return None
    quantiles = np.mean([one["report"]["per_target"][0]["residual_quantiles"] for one in details], axis=0)
    names = ("5", "25", "50", "75", "95")
    return {"quantiles": dict(zip(names, quantiles.tolist(), strict=True)), "points": details[0]["points"]}


def _members(details: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The members of a portfolio by what they count on the mean of the splits; empty for other methods."""
    boards = [one["leaderboard"]["rows"] for one in details if one.get("leaderboard")]
    found = []
    for name in dict.fromkeys(row["name"] for board in boards for row in board):
        rows = [row for board in boards for row in board if row["name"] == name]
        scores = [row["val_score"] for row in rows if row["val_score"] is not None]
        errors = [row["standard_error"] for row in rows if row["standard_error"] is not None]
        notes = dict.fromkeys(row["note"] for row in rows if row["note"])
        found.append(
            {
                "name": name,
                "val_score": float(np.mean(scores)) if scores else None,
                "standard_error": float(np.mean(errors)) if errors else None,
                "weight": float(np.sum([row["weight"] for row in rows])) / len(boards),
                "seconds": float(np.mean([row["seconds"] for row in rows])),
                "note": ", ".join(notes),
            }
        )
    return sorted(found, key=lambda one: (-one["weight"], -(one["val_score"] or 0.0)))


def _spectrum(run: Run) -> dict[str, Any] | None:
    """The learned filter, averaged over the splits; ``None`` for a method without a filter."""
    model = RunFolder(run.folder).model()
    learned = whole_response(member_filters(model)) if model.members else model.response([0.0, 1.0])
    if learned is None:
        return None
    # Weights on a basis other than the universal ones do not belong to the frequencies of those.
    universal = universal_parameters(model) is not None
    weights = [record["weights"] for record in run.records if universal and record["weights"]]
    explanation = explain(model, dataset=run.dataset, weights=weights or None)
    found = explanation.to_dict()
    names = ("frequency", "weight", "weight_spread", "lam", "response", "response_low", "response_high")
    if found["weight"] is None:
        # Weights on another basis have no frequencies to show them at.
        found = {**found, "frequency": [], "weight": [], "weight_spread": []}
    return {**{name: found[name] for name in names}, "span": found["feature_energy"]["span"]}


def _importance(run: Run) -> dict[str, Any] | None:
    """Importance of columns and hops for the stored model, on the test nodes of its split."""
    model, dataset = RunFolder(run.folder).model(), run.dataset
    metric = f"val_{run.method.metric}"
    best = max(run.records, key=lambda record: record[metric])
    nodes = run.splits[best["index"]].test
    if model.tridiagonal is not None and model.basis is not None and model.weights is not None:
        found = feature_importance(model, dataset.graph, dataset.inputs, nodes=nodes).to_dict(_TOP_FEATURES)
        # Regression has no classes.
        return {**found, "classes": []} if dataset.task == "regression" else found
    columns = dataset.num_features if dataset.table is None else len(dataset.table.names)
    if dataset.task != "classification" or columns > _MOST_COLUMNS:
        return None
    labels = dataset.labels
    return permutation_importance(model, dataset.graph, dataset.inputs, labels, nodes).to_dict(_TOP_FEATURES)
