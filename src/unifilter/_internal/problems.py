"""Report all mistakes in an input at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

# Longer lists are not read, and the first mistakes show the kinds there are.
MOST_SHOWN = 20


class ProblemsError(ValueError):
    """Several mistakes in one error. The message has one line per mistake, at most twenty.

    Attributes:
        problems: One sentence per mistake.
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
    """Collects mistakes, so that a user sees all of them in one run.

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
        """Collect a ValueError raised in the block instead of raising it."""
        try:
            yield
        except ProblemsError as error:
            self._found.extend(error.problems)
        except ValueError as error:
            self._found.append(str(error))

    def check_too(self, check: Callable[[], None]) -> None:
        """Register a check of a later step, to run if that step is never reached, so that the list is complete."""
        self._further.append(check)

    def raise_if_any(self) -> None:
        if self._found:
            for check in self._further:
                with self.collect():
                    check()
            raise ProblemsError(self._found)
