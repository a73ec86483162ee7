"""Two sentences on a report: how good the model is, and what to watch out for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from unifilter.reports.comparison import ENOUGH_SPLITS, Comparison, compare_with
from unifilter.reports.findings import low_frequency_share, never_found, overconfidence
from unifilter.reports.wording import (
    Scale,
    capitalized,
    count,
    listed,
    number,
    percent,
    quoted,
    scale_of,
    score_of,
    shortened,
)

# With fewer test nodes, a single node changes the accuracy by more than two points.
_FEW_NODES = 50
# A filter is called low-pass or high-pass if this share of its weight is on one half of the frequencies.
_ONE_SIDED = 2 / 3


def verdict(report: Mapping[str, Any]) -> list[str]:
    """Two sentences on a report.

    The first compares the model with a constant prediction and, if available, with an MLP that does not use the graph.
    The second is the most important warning or, if there is none, a description of the filter.

    Args:
        report: The report, as described in :mod:`unifilter.reports`.
    """
    return [_how_good(report), _caution(report) or _what_it_does(report)]


def _how_good(report: Mapping[str, Any]) -> str:
    scale, model, constant = scale_of(report["metric"]), score_of(report, "model"), score_of(report, "majority")
    name = f"the {shortened(constant['name'], 60)}" if constant else ""
    if model is None or model["mean"] is None:
        opening = "The model learned nothing, and there" if report["nothing_learned"] else "There"
        return f"{opening} is no test score: {scale.name} is not defined on any split."
    if report["nothing_learned"]:
        alone = f", and {name} alone gives {scale.text(constant['mean'])}" if constant else ""
        return f"The model learned nothing: its {scale.name} is {scale.text(model['mean'])}{alone}."
    splits = sum(value is not None for value in model["values"])
    if splits < 2:
        opening = f"{capitalized(scale.name)} {scale.text(model['mean'])} on one split, which says little"
    else:
        opening = f"{capitalized(scale.name)} {scale.mean(model['mean'], model['std'])} over {splits} splits"
    parts = []
    against_constant, against_mlp = compare_with(report, "majority"), compare_with(report, "mlp")
    if against_constant is not None:
        parts.append(_against_constant(scale, against_constant, f"always predicting {name}"))
    if against_mlp is not None:
        useful = against_constant is None or against_constant.outcome == "better"
        parts.append(_against_mlp(scale, against_mlp, useful))
    return f"{opening}: {'; '.join(parts)}." if parts else f"{opening}."


def _against_constant(scale: Scale, found: Comparison, name: str) -> str:
    distance = scale.difference(found.difference)
    if found.outcome == "better":
        return f"{distance} {name} on {_of(found.better, found)}"
    if found.outcome == "worse":
        return f"worse than {name}, {distance} it on {_of(found.worse, found)}"
    if found.outcome == "same":
        average = f"{distance} it on average and better on {_of(found.better, found)}"
        if found.splits < ENOUGH_SPLITS:
            return f"too few splits to tell it from {name}, {average}"
        if found.better == found.splits:
            return f"probably better than {name}, {average}, which chance could still do"
        return f"no measurable difference from {name}, {average}"
    return f"{distance} {name}"


def _against_mlp(scale: Scale, found: Comparison, model_is_useful: bool) -> str:
    """The benefit of the graph is stated only if the model is better than the constant prediction."""
    distance = scale.difference(found.difference)
    if found.outcome == "better":
        credit = "the graph helps: " if model_is_useful else ""
        return f"{credit}{distance} an MLP without {'it' if credit else 'the graph'} on {_of(found.better, found)}"
    if found.outcome == "worse":
        return f"worse than an MLP without the graph, {distance} it on {_of(found.worse, found)}"
    if found.outcome == "same":
        average = f"{distance} an MLP without it on average and better on {_of(found.better, found)}"
        if found.splits < ENOUGH_SPLITS:
            return f"too few splits to tell whether the graph helps, {average}"
        if found.better == found.splits:
            return f"the graph probably helps, {average}, which chance could still do"
        return f"the graph makes no measurable difference, {average}"
    return f"{distance} an MLP without the graph"


def _of(splits: int, found: Comparison) -> str:
    return f"{splits} of {found.splits} splits"


def _caution(report: Mapping[str, Any]) -> str | None:
    """The most serious problem of the model, if there is one."""
    lost, kind = never_found(report), "label" if report["task"] == "multilabel" else "class"
    if len(lost) == 1:
        together = ", all splits together" if report["split"]["count"] > 1 else ""
        return (
            f"It never finds {kind} {quoted(lost[0]['name'])}: 0 of {count(lost[0]['support'], 'test node')}{together}."
        )
    if lost:
        many = count(len(report["classes"]), kind, "labels" if kind == "label" else "classes")
        return f"It never finds {len(lost)} of {many}: {listed([one['name'] for one in lost])}."
    if report["nothing_learned"]:
        return "Do not use its predictions."
    sure = overconfidence(report)
    if sure is not None:
        return f"It is overconfident: {percent(sure[0])} sure on average, and right on {percent(sure[1])} of the nodes."
    test = report["split"]["test"]
    if test < _FEW_NODES:
        return f"There are only {count(test, 'test node')} in a split, so a few nodes decide the score."
    if report["split"]["count"] < 2:
        return "One split does not show how much these numbers depend on the choice of training nodes."
    return None


def _what_it_does(report: Mapping[str, Any]) -> str:
    found = low_frequency_share(report)
    if found is not None:
        return _filter(*found)
    recalls = [one for one in report["classes"] if one["recall"] is not None]
    if recalls:
        weakest = min(recalls, key=lambda one: float(one["recall"]))
        return f"It is weakest on {quoted(weakest['name'])}: it finds {percent(weakest['recall'])} of its test nodes."
    if report["residuals"]:
        quantiles = report["residuals"]["quantiles"]
        return f"Nine of ten residuals lie between {number(quantiles['5'])} and {number(quantiles['95'])}."
    return "There is nothing unusual in the numbers."


def _filter(low: float, splits_agree: bool) -> str:
    share = f"{100 * low:.0f} % of its weight is on the lower half of the frequencies its basis reaches"
    if not splits_agree:
        return f"The filter keeps low and high frequencies: {share}, and splits differ by more than that."
    if low >= _ONE_SIDED:
        return f"The filter is low-pass: {share}."
    if low <= 1 - _ONE_SIDED:
        return f"The filter is high-pass: {share}."
    return f"The filter keeps low and high frequencies: {share}."
