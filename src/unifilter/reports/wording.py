"""Formatting of names, numbers and scores."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

# Shown for an undefined number, such as the precision of a class that is never predicted.
UNDEFINED = "–"

_NAMES = {
    "macro_f1": "macro F1",
    "micro_f1": "micro F1",
    "roc_auc": "ROC AUC",
    "r2": "R²",
    "rmse": "RMSE",
    "mae": "MAE",
}
_TURNING = ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")
_PERCENT = ("accuracy", "f1", "auc", "precision", "recall")


@dataclass(frozen=True)
class Scale:
    """How to show a metric.

    Attributes:
        name: Name of the metric in a sentence.
        percent: Whether it is a share, shown in percent.
        reversed: Whether it is stored with a minus sign, so that larger is better, and shown without it.
    """

    name: str
    percent: bool
    reversed: bool

    def shown(self, value: float) -> float:
        """The value in the units in which it is shown."""
        return (-value if self.reversed else value) * (100 if self.percent else 1)

    def text(self, value: float | None) -> str:
        if value is None:
            return UNDEFINED
        return f"{self.shown(value):.1f} %" if self.percent else number(self.shown(value))

    def mean(self, mean: float | None, std: float | None) -> str:
        """Mean and standard deviation over splits."""
        if mean is None or std is None:
            return self.text(mean)
        return f"{self.text(mean)} ± {100 * std:.1f}" if self.percent else f"{self.text(mean)} ± {number(std)}"

    def difference(self, value: float) -> str:
        """The distance between two scores. If the value is positive, the first score is better.

        >>> scale_of("accuracy").difference(0.041), scale_of("neg_rmse").difference(0.25)
        ('4.1 points above', '0.25 lower than')
        """
        size = f"{100 * abs(value):.1f} points" if self.percent else number(abs(value))
        if size in ("0.0 points", "0"):
            return "level with"
        if self.reversed:
            return f"{size} {'lower' if value > 0 else 'higher'} than"
        return f"{size} {'above' if value > 0 else 'below'}"


def scale_of(metric: str) -> Scale:
    """The scale of a metric, by its name in scikit-learn's style."""
    name = metric.removeprefix("neg_")
    return Scale(_NAMES.get(name, name.replace("_", " ")), name.endswith(_PERCENT), metric.startswith("neg_"))


def capitalized(text: str) -> str:
    """Capitalize the first letter only."""
    return text[:1].upper() + text[1:]


def number(value: float | None) -> str:
    """Format a number with three significant digits.

    >>> [number(value) for value in (-0.0, 0.12345, -2, 999.9, 1.5e9, 2e-7, None)]
    ['0', '0.123', '-2', '1,000', '1.5e+09', '2e-07', '–']
    """
    if value is None:
        return UNDEFINED
    return f"{value:,.0f}" if 999.5 <= abs(value) < 1e7 else f"{value + 0.0:.3g}"  # + 0.0: no -0


def percent(value: float | None) -> str:
    """Format a share in percent."""
    return UNDEFINED if value is None else f"{100 * value:.1f} %"


def count(value: int, one: str, many: str | None = None) -> str:
    """A count with its noun.

    >>> count(1, "class", "classes"), count(1200, "node")
    ('1 class', '1,200 nodes')
    """
    return f"{value:,} {one if value == 1 else many or one + 's'}"


def shortened(name: str, length: int) -> str:
    r"""Put a name on one line and cut it to a maximum length.

    >>> shortened("a name that goes\n on and on", 20), shortened(" ", 20)
    ('a name that goes on…', '(empty)')
    """
    line = " ".join("".join(one for one in name if one.isspace() or not _disturbs(one)).split()) or "(empty)"
    return line if len(line) <= length else line[: length - 1].rstrip() + "…"


def _disturbs(character: str) -> bool:
    """Whether this is a control character, or one that changes the direction of the following text."""
    return unicodedata.category(character) == "Cc" or unicodedata.bidirectional(character) in _TURNING


def quoted(name: str) -> str:
    """Quote a user's name in a sentence. Backticks are removed because they mark code."""
    return f"'{shortened(name.replace('`', ''), 40)}'"


def listed(names: Sequence[str], most: int = 3) -> str:
    """List some names in a sentence.

    >>> listed(["a"]), listed(["a", "b"]), listed(list("abcdef"))
    ("'a'", "'a' and 'b'", "'a', 'b', 'c' and 3 more")
    """
    shown = [quoted(name) for name in names[:most]]
    if len(names) > most:
        shown.append(f"{len(names) - most} more")
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def setting(value: Any) -> str:
    """Format the value of a setting as JSON; text is unchanged."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def score_of(report: Mapping[str, Any], role: str) -> Mapping[str, Any] | None:
    """The score of the model or of a baseline, if the report has it."""
    return next((score for score in report["scores"] if score["role"] == role), None)
