"""The members of a portfolio with their scores and weights."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from unifilter._internal.plain import plain
from unifilter.evaluation.text_table import text_table


@dataclass(frozen=True)
class LeaderboardRow:
    """One member.

    Attributes:
        name: Name of the member: its method, with a number if several members share the method.
        method: Name of the method.
        settings: Settings that differ from the defaults of the method.
        val_score: Validation score; ``None`` for an untrained member.
        standard_error: Standard error of this score over draws of the same number of validation nodes.
        weight: Weight in the mixture; the weights of all members sum to 1.
        seconds: Training time in seconds.
        epochs: Number of trained epochs.
        note: Remark, such as the reason for a weight of 0.
    """

    name: str
    method: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    val_score: float | None = None
    standard_error: float | None = None
    weight: float = 0.0
    seconds: float = 0.0
    epochs: int = 0
    note: str = ""


@dataclass(frozen=True)
class Leaderboard:
    """The members of a portfolio, the best on the validation nodes first.

    Attributes:
        rows: One row per planned member.
        metric: Metric of the scores.
        val_score, standard_error: Score of the mixture and its standard error. The weights were found on the same
            nodes, so the score is slightly optimistic.
    """

    rows: tuple[LeaderboardRow, ...]
    metric: str
    val_score: float
    standard_error: float | None = None

    def __iter__(self) -> Iterator[LeaderboardRow]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __str__(self) -> str:
        """A table, with the mixture in the first row."""
        header = ("member", self.metric, "± s.e.", "weight", "seconds", "epochs", "")
        whole = ("all together", self.val_score, self.standard_error, 1.0, sum(row.seconds for row in self), None, "")
        rows = [
            (row.name, row.val_score, row.standard_error, row.weight, round(row.seconds, 1), row.epochs, row.note)
            for row in self
        ]
        return text_table([header, whole, *rows], ".3f")

    def to_dict(self) -> dict[str, Any]:
        """The leaderboard as JSON values."""
        found: dict[str, Any] = plain({**asdict(self), "rows": [asdict(row) for row in self.rows]})
        return found

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Leaderboard:
        """Restore a leaderboard from :meth:`to_dict`."""
        rows = tuple(LeaderboardRow(**row) for row in values["rows"])
        return cls(**{**values, "rows": rows})


def ranked(rows: Sequence[LeaderboardRow]) -> tuple[LeaderboardRow, ...]:
    """Rows sorted by score, the best first and untrained members last."""
    return tuple(sorted(rows, key=lambda row: -float("inf") if row.val_score is None else row.val_score, reverse=True))
