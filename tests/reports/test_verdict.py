from __future__ import annotations

import json
from typing import Any

import pytest
from reports.samples import SAMPLES, collapsed, good, regression, score

from unifilter.reports import next_steps, verdict

WOBBLE = [0.01, -0.01, 0.02, -0.02, 0.0, 0.01, -0.01, 0.02, -0.02, 0.0]


def with_scores(model: float, mlp: float | None, constant: float, splits: int = 10, **changes: Any) -> dict[str, Any]:
    """A report with these mean scores: the model's and the MLP's move together from split to split."""
    rows = [score("unifilter", "model", [model + one for one in WOBBLE[:splits]])]
    if mlp is not None:
        # A little movement of its own, so that differences have a spread.
        rows.append(score("MLP without the graph", "mlp", [mlp + 0.9 * one for one in WOBBLE[:splits]]))
    rows.append(score("most frequent class", "majority", [constant] * splits))
    report = good()
    return {**report, "scores": rows, "split": {**report["split"], "count": splits}, **changes}


def first(report: dict[str, Any]) -> str:
    return verdict(report)[0]


def second(report: dict[str, Any]) -> str:
    return verdict(report)[1]


@pytest.mark.parametrize("name", SAMPLES)
def test_two_sentences(name: str) -> None:
    sentences = verdict(SAMPLES[name]())
    assert len(sentences) == 2
    assert all(one[0].isupper() and one.endswith(".") for one in sentences)
    assert json.loads(json.dumps(sentences)) == sentences


@pytest.mark.parametrize(
    ("model", "mlp", "constant", "words"),
    [
        (0.8, 0.75, 0.4, "40.0 points above always predicting the most frequent class on 10 of 10 splits; "),
        (0.8, 0.75, 0.4, "; the graph helps: 5.0 points above an MLP without it on 10 of 10 splits."),
        (
            0.8,
            0.7999,
            0.4,
            "; the graph makes no measurable difference, level with an MLP without it on average and better on 6 of "
            "10 splits.",
        ),
        (0.8, 0.85, 0.4, "; worse than an MLP without the graph, 5.0 points below it on 10 of 10 splits."),
        (0.8, None, 0.4, "Accuracy 80.0 % ± 1.4 over 10 splits: 40.0 points above always predicting the"),
        (
            0.8,
            None,
            0.795,
            ": no measurable difference from always predicting the most frequent class, 0.5 points above it on "
            "average and better on 6 of 10 splits.",
        ),
        (0.8, None, 0.9, ": worse than always predicting the most frequent class, 10.0 points below it on 10 of 10"),
    ],
)
def test_how_good_it_is(model: float, mlp: float | None, constant: float, words: str) -> None:
    assert words in first(with_scores(model, mlp, constant))


def test_the_graph_gets_no_credit_in_a_model_that_is_no_better_than_a_constant() -> None:
    said = first(with_scores(0.8, 0.7, 0.8))
    assert "; 10.0 points above an MLP without the graph on 10 of 10 splits." in said
    assert "helps" not in said


def test_one_split_says_little() -> None:
    report = with_scores(0.8, 0.75, 0.4, splits=1)
    assert verdict(report) == [
        "Accuracy 81.0 % on one split, which says little: 41.0 points above always predicting the most frequent class; "
        "5.1 points above an MLP without the graph.",
        "One split does not show how much these numbers depend on the choice of training nodes.",
    ]


def test_nothing_learned_comes_first() -> None:
    assert verdict(collapsed()) == [
        "The model learned nothing: its accuracy is 95.0 %, and the most frequent class alone gives 95.0 %.",
        "It never finds class 'fraud <script>alert('x')</script>': 0 of 100 test nodes.",
    ]
    report = {**regression(), "nothing_learned": True}
    assert verdict(report) == [
        "The model learned nothing: its RMSE is 42,340, and the mean of the training nodes alone gives 133,000.",
        "Do not use its predictions.",
    ]


def test_nothing_learned_without_a_constant_to_compare_with() -> None:
    report = {**collapsed(), "scores": collapsed()["scores"][:1]}
    assert first(report) == "The model learned nothing: its accuracy is 95.0 %."


def test_a_score_that_no_split_defines() -> None:
    report = {**good(), "metric": "roc_auc"}
    report["scores"] = [{"name": "m", "role": "model", "mean": None, "std": None, "values": [None]}]
    assert first(report) == "There is no test score: ROC AUC is not defined on any split."
    report["nothing_learned"] = True
    assert first(report).startswith("The model learned nothing, and there is no test score: ")


def test_a_score_with_nothing_to_compare() -> None:
    report = {**good(), "scores": good()["scores"][:1]}
    assert first(report) == "Accuracy 85.5 % ± 0.8 over 10 splits."


def test_errors_are_lower_when_better() -> None:
    assert first(regression()) == (
        "RMSE 42,340 ± 1,519 over 5 splits: 90,660 lower than always predicting the mean of the training nodes on 5 of "
        "5 splits; the graph makes no measurable difference, 280 lower than an MLP without it on average and better on "
        "3 of 5 splits."
    )


def test_a_class_that_is_never_found() -> None:
    report = good()
    report["classes"][1]["recall"] = 0.0
    assert second(report) == "It never finds class 'Neural_Networks': 0 of 1,680 test nodes, all splits together."
    report["task"] = "multilabel"
    assert "never finds label" in second(report)
    report["classes"][2]["recall"] = 0.0
    assert second(report) == "It never finds 2 of 3 labels: 'Neural_Networks' and 'Theory'."
    report["task"] = "classification"
    assert second(report).startswith("It never finds 2 of 3 classes: ")


def test_a_class_without_test_nodes_cannot_be_found() -> None:
    report = good()
    report["classes"][1] |= {"recall": None, "support": 0}
    assert "never" not in second(report)


def overconfident(gap: float, **changes: Any) -> dict[str, Any]:
    bins = [
        {"confidence": 0.7 + gap, "accuracy": 0.7, "count": 500},
        {"confidence": 0.95, "accuracy": 0.95, "count": 0},
    ]
    return {**good(), "calibration": {"error": gap, "error_before": gap, "temperature": 1.0, "bins": bins}, **changes}


def test_overconfidence() -> None:
    assert (
        second(overconfident(0.12)) == "It is overconfident: 82.0 % sure on average, and right on 70.0 % of the nodes."
    )
    assert "overconfident" not in second(overconfident(-0.12))
    assert "overconfident" not in second(overconfident(0.04))
    assert "overconfident" not in second(overconfident(0.12, split={**good()["split"], "test": 40}))
    assert "overconfident" not in second({**good(), "calibration": {"bins": []}})


def test_few_test_nodes() -> None:
    report = {**good(), "split": {**good()["split"], "test": 7}}
    assert second(report) == "There are only 7 test nodes in a split, so a few nodes decide the score."


@pytest.mark.parametrize(
    ("weight", "spread", "words"),
    [
        ([0.1, 0.9], [0.0, 0.0], "The filter is low-pass: 90 % of its weight is on the lower half of the frequencies"),
        ([0.1, -0.9], None, "The filter is low-pass: 90 %"),
        ([0.9, 0.1], [0.0, 0.0], "The filter is high-pass: 10 %"),
        ([0.6, 0.4], [0.0, 0.0], "The filter keeps low and high frequencies: 40 % of its weight"),
        ([0.9, 0.1], [0.8, 0.8], "and splits differ by more than that."),
    ],
)
def test_what_the_filter_does(weight: list[float], spread: list[float] | None, words: str) -> None:
    spectrum = {**good()["spectrum"], "frequency": [0.5, 0.1], "weight": weight, "weight_spread": spread}
    assert words in second({**good(), "spectrum": spectrum})


@pytest.mark.parametrize(("frequency", "weight"), [([0.5, 0.5], [0.1, 0.9]), ([0.5, 0.1], [0.0, 0.0])])
def test_a_filter_that_chooses_nothing_is_not_spoken_of(frequency: list[float], weight: list[float]) -> None:
    spectrum = {**good()["spectrum"], "frequency": frequency, "weight": weight, "weight_spread": [0.0, 0.0]}
    assert "filter" not in second({**good(), "spectrum": spectrum})


def test_without_a_filter() -> None:
    report = {**good(), "spectrum": None}
    assert second(report) == "It is weakest on 'Theory': it finds 77.5 % of its test nodes."
    report = {**regression(), "spectrum": None}
    assert second(report).startswith("Nine of ten residuals lie between -")
    assert second({**report, "residuals": None}) == "There is nothing unusual in the numbers."


def test_long_names_are_cut() -> None:
    report = good()
    report["classes"][0] |= {"name": "x" * 500, "recall": 0.0}
    assert len(second(report)) < 150


def uneven(splits: int) -> dict[str, Any]:
    """Better than the MLP on every split, by so little on some and so much on others that chance could do it."""
    gains = [0.01, 0.2, 0.02, 0.25, 0.01][:splits]
    report = with_scores(0.8, None, 0.4, splits)
    model = [0.8] * splits
    mlp = score("MLP without the graph", "mlp", [0.8 - gain for gain in gains])
    return {**report, "scores": [score("unifilter", "model", model), mlp, report["scores"][-1]]}


def test_what_is_better_on_every_split_is_not_called_the_same() -> None:
    assert "; the graph probably helps, 9.8 points above an MLP without it on average and better on 5 of 5" in first(
        uneven(5)
    )
    assert "; too few splits to tell whether the graph helps, " in first(uneven(3))
    assert not any("Leave the graph out" in step for step in next_steps(uneven(5)))
