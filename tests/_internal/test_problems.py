from __future__ import annotations

import pickle

import pytest

from unifilter._internal.problems import Problems, ProblemsError


def test_nothing_wrong_raises_nothing() -> None:
    problems = Problems()
    with problems.collect():
        pass
    assert not problems
    problems.raise_if_any()


def test_one_line_each_in_the_order_found_and_nested_lists_are_joined() -> None:
    inner, outer = Problems(), Problems()
    inner.add("second")
    inner.add("third")
    outer.add("first")
    with outer.collect():
        inner.raise_if_any()
    with outer.collect():
        raise ValueError("fourth")
    assert outer
    with pytest.raises(ValueError, match="^first\nsecond\nthird\nfourth$"):
        outer.raise_if_any()


def test_at_most_twenty_are_shown() -> None:
    error = ProblemsError([f"problem {number}" for number in range(23)])
    assert str(error).splitlines()[19:] == ["problem 19", "and 3 more"]
    assert len(error.problems) == 23
    assert str(ProblemsError(error.problems[:20])).splitlines()[-1] == "problem 19"


def test_further_checks_are_done_where_something_is_wrong_already() -> None:
    def check() -> None:
        raise ValueError("second")

    problems = Problems()
    problems.check_too(check)
    problems.raise_if_any()
    problems.add("first")
    with pytest.raises(ValueError, match="^first\nsecond$"):
        problems.raise_if_any()


def test_errors_of_other_kinds_pass() -> None:
    with pytest.raises(TypeError), Problems().collect():
        raise TypeError("not the user's")


def test_it_pickles() -> None:
    error = pickle.loads(pickle.dumps(ProblemsError(["a", "b"])))
    assert (str(error), error.problems) == ("a\nb", ("a", "b"))
