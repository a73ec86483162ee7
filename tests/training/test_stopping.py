from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unifilter.training import EitherPatience, LossWindow, Patience, StopRule


def steps(rule: StopRule, scores: Sequence[float], losses: Sequence[float] | None = None) -> list[str]:
    """What the rule says after each epoch: + for the best so far, ! for stop."""
    losses = [0.0] * len(scores) if losses is None else losses
    answers = [rule.step(score, loss) for score, loss in zip(scores, losses, strict=True)]
    return [("+" if best else "") + ("!" if stop else "") for best, stop in answers]


def test_patience_counts_epochs_without_improvement() -> None:
    scores = [0.5, 0.6, 0.6, 0.4, 0.7, 0.7, 0.1, 0.69]
    assert steps(Patience(3), scores) == ["+", "+", "", "", "+", "", "", "!"]


def test_ties_count_as_improvements_where_that_is_asked_for() -> None:
    scores = [0.5, 0.5, 0.4, 0.5, 0.4, 0.4]
    assert steps(Patience(2, ties=True), scores) == ["+", "+", "", "+", "", "!"]
    assert steps(Patience(2), scores)[:3] == ["+", "", "!"]


def test_patience_on_the_loss() -> None:
    losses = [1.0, 0.5, 0.5, 0.6, 0.4, 0.9, 0.9]
    assert steps(Patience(2, monitor="loss"), [0.0] * 7, losses) == ["+", "+", "", "!", "+", "", "!"]


def test_what_is_kept_can_be_another_than_what_is_waited_for() -> None:
    losses, scores = [1.0, 0.5, 0.6, 0.7, 0.4, 0.5, 0.5], [0.1, 0.2, 0.3, 0.2, 0.2, 0.3, 0.4]
    assert steps(Patience(2, monitor="loss", keep="score"), scores, losses) == ["+", "+", "+", "!", "", "", "+!"]
    assert steps(Patience(2, monitor="score", keep="loss"), scores, losses) == ["+", "+", "", "", "+!", "!", ""]


def test_what_is_no_number_is_no_improvement() -> None:
    assert steps(Patience(2), [math.nan, 0.1, math.nan, math.nan]) == ["", "+", "", "!"]
    nothing = [math.nan] * 2
    assert steps(EitherPatience(2), [*nothing[1:], 0.1, *nothing], [*nothing[1:], 1.0, *nothing]) == ["", "+", "", "!"]


def test_either_patience_waits_for_the_score_and_the_loss() -> None:
    scores = [0.5, 0.6, 0.6, 0.5, 0.4, 0.6, 0.5, 0.5, 0.7]
    losses = [1.0, 0.9, 0.8, 0.7, 0.9, 0.9, 0.8, 0.8, 0.9]
    # The fourth epoch has the lowest loss, but the third the highest score; the sixth is as good as the best score.
    assert steps(EitherPatience(2), scores, losses) == ["+", "+", "+", "", "", "", "", "!", "+"]


@given(st.lists(st.tuples(st.sampled_from([0.1, 0.2, 0.3]), st.sampled_from([1.0, 2.0, 3.0])), max_size=30))
def test_either_patience_keeps_the_first_of_the_best_epochs(epochs: list[tuple[float, float]]) -> None:
    answers = steps(EitherPatience(3), [score for score, _ in epochs], [loss for _, loss in epochs])
    waited = 0
    for epoch, (score, loss) in enumerate(epochs):
        before = epochs[:epoch]
        best = all((score, -loss) > (other, -worse) for other, worse in before)
        no_worse = all(score >= other for other, _ in before) or all(loss <= other for _, other in before)
        waited = 0 if no_worse else waited + 1
        assert answers[epoch] == "+" * best + "!" * (waited >= 3)


def test_loss_window_by_hand() -> None:
    # The fifth epoch is the first that is compared, 0.8 with a mean of 1.0; the last, 0.76, is above the mean 0.753.
    losses = [1.0, 1.2, 1.0, 0.8, 0.8, 0.8, 0.7, 0.76, 0.76]
    assert steps(LossWindow(3), [0.0] * 9, losses) == ["+", "", "", "+", "", "", "+", "", "!"]


@given(st.lists(st.tuples(st.floats(0, 10), st.floats(0, 1)), max_size=30), st.integers(1, 8))
def test_loss_window_is_the_published_rule(values: list[tuple[float, float]], window: int) -> None:
    losses, scores = [loss for loss, _ in values], [score for _, score in values]
    by_loss, by_score = (steps(LossWindow(window, keep), scores, losses) for keep in ("loss", "score"))
    for epoch, (loss, score) in enumerate(values):
        before = losses[epoch - window : epoch]
        stop = epoch > window and loss > sum(before) / window
        lowest, highest = min(losses[:epoch], default=math.inf), max(scores[:epoch], default=-math.inf)
        assert by_loss[epoch] == "+" * (loss < lowest) + "!" * stop
        assert by_score[epoch] == "+" * (score > highest) + "!" * stop


@pytest.mark.parametrize(
    "make",
    [
        lambda: Patience(4),
        lambda: Patience(3, "loss", ties=True),
        lambda: Patience(3, "loss", keep="score"),
        lambda: LossWindow(3),
        lambda: LossWindow(3, keep="score"),
        lambda: EitherPatience(2),
    ],
)
@given(values=st.lists(st.sampled_from([0.1, 0.2, 0.3, 0.4]), min_size=2, max_size=20), cut=st.integers(0, 20))
def test_a_rule_goes_on_from_its_state(make: type[Patience], values: list[float], cut: int) -> None:
    whole, first, second = make(), make(), make()
    answers = steps(whole, values, values)
    head = steps(first, values[:cut], values[:cut])
    second.load_state_dict(first.state_dict())
    assert head + steps(second, values[cut:], values[cut:]) == answers


def test_settings_that_make_no_sense_are_refused() -> None:
    with pytest.raises(ValueError, match="patience must be a whole number of at least 1, not 0: the paper waits 200"):
        Patience(0)
    with pytest.raises(ValueError, match="monitor must be one of 'score', 'loss', not 'accuracy'"):
        Patience(monitor="accuracy")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="keep must be one of 'score', 'loss', not 'last'"):
        Patience(keep="last")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="window must be a whole number of at least 1, not -1: the papers use 200"):
        LossWindow(-1)
    with pytest.raises(ValueError, match="keep must be one of 'score', 'loss', not 'last'"):
        LossWindow(keep="last")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="patience must be a whole number of at least 1, not 0: the authors of APPNP"):
        EitherPatience(0)
