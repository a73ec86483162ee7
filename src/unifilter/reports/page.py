"""Rendering of a report as a self-contained HTML page without scripts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

from markupsafe import Markup

from unifilter.reports import charts, wording
from unifilter.reports.confusion import confusion_table
from unifilter.reports.next_steps import next_steps
from unifilter.reports.verdict import verdict

# Longer lists, such as thousands of words, are cut, with a count of the rest.
_MOST_FEATURES = 20
_MOST_COLUMNS = 50


def render_report(report: Mapping[str, Any]) -> str:
    """Render the page.

    Args:
        report: The report, as described in :mod:`unifilter.reports`.
    """
    from jinja2 import Environment, StrictUndefined  # imported here because most of the package renders nothing

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters |= {
        "capitalized": wording.capitalized,
        "code": _code,
        "name": wording.shortened,
        "number": wording.number,
        "percent": wording.percent,
        "setting": wording.setting,
    }
    html = environment.from_string(_file("template.html")).render(
        **{"members": [], **report},
        style=Markup(_file("style.css")),
        verdict=verdict(report),
        next_steps=next_steps(report),
        facts=_facts(report),
        metric_rows=_metric_rows(report),
        training=_training(report),
        pictures=_pictures(report),
        table=confusion_table(report["confusion"]) if report["confusion"] else None,
        bars=_bars,
        hop_rows=_hop_rows(report["importance"]),
        most_columns=_MOST_COLUMNS,
    )
    # Unpaired surrogates in a name cannot be encoded.
    return html.encode("utf-8", "replace").decode("utf-8")


def _file(name: str) -> str:
    return (files("unifilter.reports") / name).read_text(encoding="utf-8")


def _facts(report: Mapping[str, Any]) -> list[str]:
    """Lines under the title: the data, the split, and where the numbers come from."""
    data, split = report["dataset"], report["split"]
    sizes = [wording.count(data["nodes"], "node"), wording.count(data["edges"], "edge")]
    sizes.append(wording.count(data["features"], "feature"))
    if report["task"] != "regression":
        kind = ("label", "labels") if report["task"] == "multilabel" else ("class", "classes")
        sizes.append(wording.count(data["classes"], *kind))
    if data["labeled"] < data["nodes"]:
        sizes.append(f"{data['labeled']:,} of the nodes labeled")
    if data["isolated"]:
        sizes.append(f"{data['isolated']:,} without an edge")
    homophily = [
        f"{name} homophily {data[f'{name}_homophily']:.2f}"
        for name in ("edge", "adjusted")
        if data[f"{name}_homophily"] is not None
    ]
    parts = f"{split['train']:,} training, {split['val']:,} validation and {split['test']:,} test nodes"
    each = ", each" if split["count"] > 1 else ""
    splits = f"{wording.count(split['count'], 'split')} ({wording.shortened(split['name'], 60)}){each} of {parts}"
    return [", ".join([*sizes, *homophily]), splits]


def _metric_rows(report: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Names and values of the metrics. A single split has no standard deviation."""
    several = report["split"]["count"] > 1
    scales = {name: wording.scale_of(name) for name in report["metrics"]}
    return [
        (scales[name].name, scales[name].mean(found["mean"], found["std"] if several else None))
        for name, found in report["metrics"].items()
    ]


def _training(report: Mapping[str, Any]) -> str | None:
    """How long training took."""
    history = report["history"]
    if not history["seconds"]:
        return None
    seconds = f"{wording.number(sum(history['seconds']))} seconds of training in all"
    best = history["best_epochs"]
    if not best:
        return f"{seconds}."
    first, last = min(best), max(best)
    return f"{seconds}; best epoch {first if first == last else f'{first} to {last}'}."


def _pictures(report: Mapping[str, Any]) -> dict[str, Markup]:
    """The charts for which the report has numbers."""
    pictures = {"scores": charts.scores_chart(report["scores"], wording.scale_of(report["metric"]))}
    calibration, residuals = report["calibration"], report["residuals"]
    if calibration and calibration["bins"]:
        pictures["reliability"] = charts.reliability_chart(calibration["bins"])
    if residuals and residuals["points"]:
        pictures["predictions"] = charts.predictions_chart(residuals["points"])
    if report["spectrum"]:
        if report["spectrum"]["frequency"]:
            pictures["weights"] = charts.weights_chart(report["spectrum"])
        pictures["response"] = charts.response_chart(report["spectrum"])
    return pictures


def _bars(features: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Table rows with bars, the largest first, and the number of rows left out."""
    ranked = sorted(features, key=lambda one: -abs(one["value"]))
    largest = abs(ranked[0]["value"]) if ranked else 0.0
    signed = any(one["value"] < 0 for one in features)
    rows = [{**one, "bar": charts.bar(one["value"], largest, signed)} for one in ranked[:_MOST_FEATURES]]
    return {"rows": rows, "more": len(ranked) - len(rows)}


def _hop_rows(importance: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """Rows for all hops, in order."""
    values = (importance["hops"] or []) if importance else []
    largest, signed = max(map(abs, values), default=0.0), any(value < 0 for value in values)
    return [{"value": value, "bar": charts.bar(value, largest, signed)} for value in values]


def _code(text: str) -> Markup:
    """Convert text between backticks to code elements."""
    parts = re.split("`([^`]*)`", text)
    return Markup("").join(Markup("<code>{}</code>").format(part) if at % 2 else part for at, part in enumerate(parts))
