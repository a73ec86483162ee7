"""What a portfolio tried, and how much each member counts."""

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
        name: What it is called: its method, with a number where there are several of it.
        method: The name of its method.
        settings: What differs from the defaults of its method.
        val_score: On the validation nodes, ``None`` where it was not trained.
        standard_error: Of that score, for another draw of as many validation nodes.
        weight: In the mixture; the weights of all members have a sum of 1.
        seconds: Spent on it.
        epochs: Trained.
        note: Why it has no weight, where it has none.
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
        rows: One per member that was planned.
        metric: What their scores are.
        val_score, standard_error: Of the mixture. Its weights were found on the same nodes, which flatters it a little.
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
        """As a table, the mixture first."""
        header = ("member", self.metric, "± s.e.", "weight", "seconds", "epochs", "")
        whole = ("all together", self.val_score, self.standard_error, 1.0, sum(row.seconds for row in self), None, "")
        rows = [
            (row.name, row.val_score, row.standard_error, row.weight, round(row.seconds, 1), row.epochs, row.note)
            for row in self
        ]
        return text_table([header, whole, *rows], ".3f")

    def to_dict(self) -> dict[str, Any]:
        """As JSON holds it."""
        found: dict[str, Any] = plain({**asdict(self), "rows": [asdict(row) for row in self.rows]})
        return found

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Leaderboard:
        """What :meth:`to_dict` described."""
        rows = tuple(LeaderboardRow(**row) for row in values["rows"])
        return cls(**{**values, "rows": rows})


def ranked(rows: Sequence[LeaderboardRow]) -> tuple[LeaderboardRow, ...]:
    """The best first; those that were not trained last."""
    return tuple(sorted(rows, key=lambda row: -float("inf") if row.val_score is None else row.val_score, reverse=True))
