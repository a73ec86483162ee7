"""Suggested next steps, chosen by rules on the numbers of a report."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from unifilter.reports.comparison import ENOUGH_SPLITS, compare_with
from unifilter.reports.findings import rare_classes
from unifilter.reports.wording import percent, quoted

# A longer list would not be read.
_AT_MOST = 4
# A class with a lower recall is worth a suggestion.
_LOW_RECALL = 0.5
# Fewer training nodes per class than in the smallest splits of papers.
_FEW_LABELS = 20
# A best epoch this close to the maximum means that training stopped too early.
_NEAR_THE_END = 0.95


def next_steps(report: Mapping[str, Any]) -> list[str]:
    """At most four suggestions, the most promising first, each with a command or code between backticks.

    If the report has a ``command``, suggestions are commands, otherwise Python.

    Args:
        report: The report, as described in :mod:`unifilter.reports`.
    """
    rules = (_weigh_classes, _other_metric, _more_splits, _more_epochs, _drop_the_graph, _more_labels, _tune, _explain)
    found = (rule(report) for rule in rules)
    return [step for step in found if step is not None][:_AT_MOST]


def _weigh_classes(report: Mapping[str, Any]) -> str | None:
    if report["task"] != "classification" or report["settings"].get("class_weight") is not None:
        return None
    missed = [one for one in rare_classes(report) if one["recall"] < _LOW_RECALL]
    if not missed:
        return None
    typed = _typed(report, ("--class-weight", "balanced", "--out", "runs/balanced"), 'class_weight="balanced"')
    found = f"{percent(missed[0]['recall'])} of the nodes of {quoted(missed[0]['name'])}"
    return f"Give rare classes more weight in the loss, because the model finds {found}: {typed}"


def _other_metric(report: Mapping[str, Any]) -> str | None:
    if report["task"] != "classification" or report["metric"] != "accuracy" or not rare_classes(report):
        return None
    typed = _typed(report, ("--set", "metric=macro_f1", "--out", "runs/macro-f1"), 'metric="macro_f1"')
    return f"Choose the model by a metric that counts every class the same, because the classes are imbalanced: {typed}"


def _more_splits(report: Mapping[str, Any]) -> str | None:
    splits = report["split"]["count"]
    if splits >= ENOUGH_SPLITS:
        return None
    typed = _typed(report, ("--splits", "10", "--resume"), "Run(folder, method, dataset, split, count=10, resume=True)")
    trained = "one split" if splits == 1 else f"{splits} splits"
    return f"Train on more splits, because {trained} cannot tell a difference from chance: {typed}"


def _more_epochs(report: Mapping[str, Any]) -> str | None:
    limit, best = report["settings"].get("epochs"), report["history"]["best_epochs"]
    if not isinstance(limit, int) or not best or sorted(best)[len(best) // 2] < _NEAR_THE_END * limit:
        return None
    typed = _typed(report, ("--epochs", str(2 * limit), "--out", "runs/longer"), f"epochs={2 * limit}")
    return f"Train longer, because the best epoch is near the maximum: {typed}"


def _drop_the_graph(report: Mapping[str, Any]) -> str | None:
    found = compare_with(report, "mlp")
    if found is None or found.outcome not in ("same", "worse") or found.splits < ENOUGH_SPLITS:
        return None
    # No significant difference does not prove that there is none, so the model must not look better either.
    if found.difference > 0 and found.better > found.splits / 2:
        return None
    better = "is better" if found.outcome == "worse" else "is as good and simpler"
    command = f"unifilter train {_data(report)} --method mlp --out runs/without-graph"
    typed = _code(report, command, 'method="mlp"')
    return f"Leave the graph out, because an MLP without it {better}: {typed}"


def _more_labels(report: Mapping[str, Any]) -> str | None:
    rare, split = rare_classes(report), report["split"]
    if not rare or not split["test"]:
        return None
    # The report counts test nodes. The class has about the same share of the training nodes.
    labels = rare[0]["support"] / split["count"] * split["train"] / split["test"]
    if labels >= _FEW_LABELS:
        return None
    command = f"unifilter data info {_data(report)}"
    typed = _code(report, command, "describe(dataset)")
    return f"Label more nodes of {quoted(rare[0]['name'])}: about {labels:.0f} are trained on. Count them with {typed}"


def _tune(report: Mapping[str, Any]) -> str:
    command = f"unifilter tune {_data(report)} --method {shlex.quote(report['method'])} --trials 50"
    typed = _code(report, command, "tune(type(method), dataset, splits, trials=50)")
    return f"Tune the hyperparameters on the validation nodes: {typed}"


def _explain(report: Mapping[str, Any]) -> str | None:
    if report["spectrum"] is None:
        return None
    typed = _code(report, "unifilter explain RUN", 'explain("RUN")')
    return f"Look at what the filter does to the graph, with RUN the folder of this report: {typed}"


def _typed(report: Mapping[str, Any], options: Sequence[str], python: str) -> str:
    """The command of the report with changed options, or an argument in Python."""
    words = _words(report)
    for option in options:
        # ``--set`` can be repeated. The values of other options are replaced.
        if option in words and option != "--set":
            at = words.index(option)
            has_value = at + 1 < len(words) and not words[at + 1].startswith("-")
            del words[at : at + 1 + has_value]
    return _code(report, shlex.join([*words, *options]), python)


def _words(report: Mapping[str, Any]) -> list[str]:
    """The words of the command, or of its general form if a shell could not parse it."""
    general = ["unifilter", "train", "DATA"]
    try:
        return shlex.split(report["command"] or "") or general
    except ValueError:
        return general


def _code(report: Mapping[str, Any], command: str, python: str) -> str:
    """Code between backticks. Backticks in a user's command are removed, because they would end the code early."""
    return f"`{(python if report['command'] is None else command).replace('`', '')}`"


def _data(report: Mapping[str, Any]) -> str:
    """The data set as written in the command."""
    words = _words(report)
    named = words[:2] == ["unifilter", "train"] and len(words) > 2 and not words[2].startswith("-")
    return shlex.quote(words[2]) if named else "DATA"
