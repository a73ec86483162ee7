"""The charts of a report, as inline SVG."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from unifilter.reports.svg import WIDTH, Frame, element, framed, picture, widened
from unifilter.reports.wording import Scale, count, number, percent, shortened

# Height of a score: a line of text above a line of dots.
_ROW = 50
# Minimum length of the axis, in points or relative to the largest score: a shorter axis exaggerates small differences.
_SHORTEST = 0.1


def scores_chart(scores: Sequence[Mapping[str, Any]], scale: Scale) -> Markup:
    """Mean and standard deviation of the model and its baselines, with every split as a small dot."""
    shown = [scale.shown(value) for score in scores for value in _drawn_values(score)]
    bottom = 8.0 + _ROW * len(scores)
    frame = Frame(_score_range(shown, scale), (0, 1), 8, WIDTH - 8, 8, bottom)
    direction = ", lower is better" if scale.reversed else ""
    unit = " in %" if scale.percent else ""
    rows = [_score_row(score, scale, frame, 8 + _ROW * at) for at, score in enumerate(scores)]
    title = "; ".join(f"{score['name']}: {_mean(score, scale)}" for score in scores)
    axis = frame.x_axis(f"{scale.name}{unit} on test nodes{direction}")
    return picture(f"Test scores. {title}", bottom + 40, axis, *rows)


def _score_range(shown: list[float], scale: Scale) -> tuple[float, float]:
    low, high = widened(shown)
    missing = (100 * _SHORTEST if scale.percent else _SHORTEST * max(map(abs, shown), default=1.0)) - (high - low)
    if missing > 0:
        low, high = low - missing / 2, high + missing / 2
    if scale.percent and high > 101:  # at most 100 %, plus room for its dot
        low, high = low - (high - 101), 101
    return low, high


def _mean(score: Mapping[str, Any], scale: Scale) -> str:
    """Mean and standard deviation of a score; the mean alone for a single split."""
    return scale.mean(score["mean"], score["std"] if len(score["values"]) > 1 else None)


def _drawn_values(score: Mapping[str, Any]) -> list[float]:
    """All values that a row of the chart must have room for."""
    values = [value for value in score["values"] if value is not None]
    if score["mean"] is not None:
        values += [score["mean"] - (score["std"] or 0), score["mean"] + (score["std"] or 0)]
    return values


def _score_row(score: Mapping[str, Any], scale: Scale, frame: Frame, top: float) -> Markup:
    color, middle = "model" if score["role"] == "model" else "baseline", top + 26
    parts = [
        element("text", shortened(score["name"], 26), x=8, y=top + 14, class_="name"),
        element("text", _mean(score, scale), x=WIDTH - 8, y=top + 14, text_anchor="end", class_="value"),
    ]
    for index, value in enumerate(score["values"]):
        if value is not None and len(score["values"]) > 1:
            hover = element("title", f"split {index}: {scale.text(value)}")
            parts.append(
                element("circle", hover, cx=frame.x(scale.shown(value)), cy=middle + 10, r=2.5, class_=f"split {color}")
            )
    if score["mean"] is not None:
        at, spread = frame.x(scale.shown(score["mean"])), score["std"] or 0.0
        ends = [frame.x(scale.shown(score["mean"] + sign * spread)) for sign in (-1, 1)]
        parts.append(element("line", x1=ends[0], x2=ends[1], y1=middle, y2=middle, class_=f"bar {color}"))
        parts.append(element("circle", cx=at, cy=middle, r=4, class_=f"mean {color}"))
    return Markup("").join(parts)


def reliability_chart(bins: Sequence[Mapping[str, Any]]) -> Markup:
    """Accuracy against confidence, with the number of nodes in each bin below."""
    low = math.floor(10 * min([one["confidence"] for one in bins] + [one["accuracy"] for one in bins])) * 10.0
    span = (min(low, 50.0), 100.0)  # a shorter axis would exaggerate small gaps
    frame = framed(span, span, 290)
    most = max(one["count"] for one in bins)
    diagonal = element("path", d=frame.path([(span[0], span[0]), (100, 100)]), class_="ideal")
    dots = []
    for one in bins:
        x, y = frame.x(100 * one["confidence"]), frame.y(100 * one["accuracy"])
        words = f"{percent(one['confidence'])} sure, {percent(one['accuracy'])} right, {count(one['count'], 'node')}"
        # The area of a dot is proportional to its number of nodes, down to a visible minimum.
        radius = max(2.5, 8 * math.sqrt(one["count"] / most))
        dots.append(element("line", x1=x, x2=x, y1=y, y2=frame.y(100 * one["confidence"]), class_="gap"))
        dots.append(element("circle", element("title", words), cx=x, cy=y, r=radius, class_="dot"))
    axes = frame.x_axis("confidence in %") + frame.y_axis("accuracy in %")
    return picture("Reliability diagram: accuracy against confidence", 372, axes, diagonal, *dots, _counts(frame, bins))


def _counts(above: Frame, bins: Sequence[Mapping[str, Any]]) -> Markup:
    """A bar for each bin, below its dot."""
    most = max(one["count"] for one in bins)
    frame = Frame(above.x_range, (0, most), above.left, above.right, 318, 364)
    bars = [
        element(
            "rect",
            element("title", count(one["count"], "node")),
            x=frame.x(100 * one["confidence"]) - 5,
            y=frame.y(one["count"]),
            width=10,
            height=frame.bottom - frame.y(one["count"]),
            class_="count",
        )
        for one in bins
    ]
    base = element("line", x1=frame.left, x2=frame.right, y1=frame.bottom, y2=frame.bottom, class_="axis")
    return element("text", f"nodes in a bin (up to {most:,})", x=2, y=312) + Markup("").join(bars) + base


def weights_chart(spectrum: Mapping[str, Any]) -> Markup:
    """The learned weight of each basis vector at its graph frequency, with its standard deviation over splits."""
    weights, spread = spectrum["weight"], spectrum["weight_spread"] or [0.0] * len(spectrum["weight"])
    ends = [weight + sign * one for weight, one in zip(weights, spread, strict=True) for sign in (-1, 1)]
    frame = framed(widened(spectrum["frequency"]), widened([*ends, 0.0]), 250)
    marks = []
    for hop, (at, weight, one) in enumerate(zip(spectrum["frequency"], weights, spread, strict=True)):
        x, words = frame.x(at), f"hop {hop}: frequency {number(at)}, weight {number(weight)} ± {number(one)}"
        marks.append(
            element("line", x1=x, x2=x, y1=frame.y(weight - one), y2=frame.y(weight + one), class_="bar model")
        )
        marks.append(element("circle", element("title", words), cx=x, cy=frame.y(weight), r=4, class_="mean model"))
    axes = frame.x_axis("graph frequency of the basis vector") + frame.y_axis("weight")
    return picture("Learned weights at the frequencies of the basis", 250, axes, _zero(frame), *marks)


def response_chart(spectrum: Mapping[str, Any]) -> Markup:
    """The frequency response, scaled to the range where the features have energy. The rest is shaded."""
    lam, (first, last) = spectrum["lam"], spectrum["span"]
    curves = [spectrum[name] for name in ("response", "response_low", "response_high")]
    inside = [value for curve in curves for at, value in zip(lam, curve, strict=True) if first <= at <= last]
    frame = framed((0.0, 2.0), widened([*inside, 0.0]), 250)
    shades = [
        element(
            "rect",
            x=frame.x(a),
            y=frame.top,
            width=frame.x(b) - frame.x(a),
            height=frame.bottom - frame.top,
            class_="shade",
        )
        for a, b in ((0.0, first), (last, 2.0))
        if b > a
    ]
    middle, low, high = (list(zip(lam, curve, strict=True)) for curve in curves)
    band = element("path", d=f"{frame.path([*low, *reversed(high)])}Z", class_="band")
    line = element("path", d=frame.path(middle), class_="line")
    axes = frame.x_axis("eigenvalue of the Laplacian", 4) + frame.y_axis("response")
    title = f"Frequency response, with energy of the features from {number(first)} to {number(last)}"
    return picture(title, 250, *shades, axes, _zero(frame), frame.clipped(band, line))


def predictions_chart(points: Iterable[Sequence[float]]) -> Markup:
    """Predicted against true values, with the line of perfect predictions."""
    drawn = list(points)
    span = widened([value for point in drawn for value in point])
    frame = framed(span, span, 320)
    dots = [element("circle", cx=frame.x(true), cy=frame.y(guess), r=2.5, class_="point") for true, guess in drawn]
    ideal = element("path", d=frame.path([(span[0], span[0]), (span[1], span[1])]), class_="ideal")
    axes = frame.x_axis("true value", 4) + frame.y_axis("predicted value")
    return picture("Predicted against true values of test nodes", 320, axes, *dots, ideal)


def bar(value: float, largest: float, signed: bool) -> Markup:
    """A bar for a table cell, as wide as the cell. If there are negative values, zero is in the middle."""
    size = abs(value) / largest * (50 if signed else 100) if largest else 0.0
    start = 0.0 if not signed else 50 - size if value < 0 else 50.0
    box = element("rect", x=start, y=0, width=size, height=10, class_="negative" if value < 0 else "positive")
    return element("svg", box, viewBox="0 0 100 10", preserveAspectRatio="none", aria_hidden="true", class_="bar-cell")


def _zero(frame: Frame) -> Markup:
    return element("line", x1=frame.left, x2=frame.right, y1=frame.y(0), y2=frame.y(0), class_="axis")
