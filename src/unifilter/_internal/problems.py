"""Everything that is wrong with an input, told at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

# A longer list is not read: whoever has more to correct sees the kinds of mistakes in these.
MOST_SHOWN = 20


class ProblemsError(ValueError):
    """Several mistakes in one error: its message has one line for each, at most twenty.

    Attributes:
        problems: One sentence for each mistake.
    """

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__(problems)
        self.problems = tuple(problems)

    def __str__(self) -> str:
        lines = list(self.problems[:MOST_SHOWN])
        if len(self.problems) > MOST_SHOWN:
            lines.append(f"and {len(self.problems) - MOST_SHOWN} more")
        return "\n".join(lines)


class Problems:
    """Collects mistakes, so that a user learns of all of them in one run.

    Example:
        >>> problems = Problems()
        >>> problems.add("the first is wrong")
        >>> with problems.collect():
        ...     raise ValueError("and so is the second")
        >>> problems.raise_if_any()
        Traceback (most recent call last):
        unifilter._internal.problems.ProblemsError: the first is wrong
        and so is the second
    """

    def __init__(self) -> None:
        self._found: list[str] = []
        self._further: list[Callable[[], None]] = []

    def __bool__(self) -> bool:
        return bool(self._found)

    def add(self, problem: str) -> None:
        self._found.append(problem)

    @contextmanager
    def collect(self) -> Iterator[None]:
        """Turns a ValueError of the block into a collected problem; what the block would have assigned stays unset."""
        try:
            yield
        except ProblemsError as error:
            self._found.extend(error.problems)
        except ValueError as error:
            self._found.append(str(error))

    def check_too(self, check: Callable[[], None]) -> None:
        """A check that belongs to a later step: it is done now where that step is not reached, for a complete list."""
        self._further.append(check)

    def raise_if_any(self) -> None:
        if self._found:
            for check in self._further:
                with self.collect():
                    check()
            raise ProblemsError(self._found)
