from __future__ import annotations

import json
from typing import Any

import pytest
from reports.samples import SAMPLES, class_rows, collapsed, good, regression, score

from unifilter.reports import next_steps


def said(report: dict[str, Any]) -> str:
    return "\n".join(next_steps(report))


def rare(recall: float = 0.2, **changes: Any) -> dict[str, Any]:
    """A good run but for a class with a tenth of the nodes."""
    right = round(10 * recall * 40)
    counts = [[3600, 0], [400 - right, right]]
    return {**good(), "classes": class_rows(["common", "seldom"], counts), **changes}


@pytest.mark.parametrize("name", SAMPLES)
def test_at_most_four_steps_each_with_something_to_type(name: str) -> None:
    steps = next_steps(SAMPLES[name]())
    assert 2 <= len(steps) <= 4
    for step in steps:
        assert step.count("`") == 2
        assert step.endswith("`")
    assert json.loads(json.dumps(steps)) == steps


def test_a_good_run_is_tuned_and_explained() -> None:
    assert next_steps(good()) == [
        "Tune the hyperparameters on the validation nodes: `unifilter tune citations --method unifilter --trials 50`",
        "Look at what the filter does to the graph, with RUN the folder of this report: `unifilter explain RUN`",
    ]


def test_a_collapsed_run_is_balanced_first() -> None:
    steps = next_steps(collapsed())
    assert steps[0] == (
        "Give rare classes more weight in the loss, because the model finds 0.0 % of the nodes of "
        "'fraud <script>alert('x')</script>': "
        "`unifilter train payments --splits 1 --class-weight balanced --out runs/balanced`"
    )
    assert "--set metric=macro_f1" in steps[1]
    assert steps[2].endswith("`unifilter train payments --splits 10 --resume`")
    assert "unifilter tune payments" in steps[3]


def test_without_a_command_the_steps_are_python() -> None:
    report = {**collapsed(), "command": None}
    assert "unifilter train" not in said(report)
    for python in ('`class_weight="balanced"`', '`metric="macro_f1"`', "count=10", "`tune(type(method), "):
        assert python in said(report)
    assert '`explain("RUN")`' in said({**good(), "command": None})


def test_weights_are_for_rare_classes_that_are_missed() -> None:
    assert "class-weight" in said(rare(recall=0.2))
    assert "class-weight" not in said(rare(recall=0.9))
    assert "class-weight" not in said(rare(settings={"class_weight": "balanced"}))
    assert "class-weight" not in said(rare(task="multilabel"))


def test_another_metric_is_for_accuracy_on_imbalanced_classes() -> None:
    assert "macro_f1" in said(rare(recall=0.9))
    assert "macro_f1" not in said(rare(metric="balanced_accuracy"))
    assert "macro_f1" not in said(good())


@pytest.mark.parametrize(("splits", "words"), [(1, "because one split cannot"), (3, "because 3 splits cannot")])
def test_more_splits(splits: int, words: str) -> None:
    assert words in said({**good(), "split": {**good()["split"], "count": splits}})


def test_longer_training() -> None:
    assert "`epochs=2000`" in said(regression())
    report = {**regression(), "command": "unifilter train houses"}
    assert "--epochs 2000" in said(report)
    assert "epochs" not in said({**report, "history": {**report["history"], "best_epochs": [10, 20, 1000, 12, 9]}})
    assert "epochs" not in said({**report, "history": {**report["history"], "best_epochs": []}})
    assert "epochs" not in said({**report, "settings": {}})


@pytest.mark.parametrize(
    ("mlp", "words"), [(0.9, "because an MLP without it is better"), (0.855, "is as good and simpler")]
)
def test_the_graph_is_dropped_where_it_does_not_help(mlp: float, words: str) -> None:
    report = good()
    model = report["scores"][0]
    report["scores"][1] = score(
        "MLP", "mlp", [one + mlp - 0.855 + 0.001 * (-1) ** at for at, one in enumerate(model["values"])]
    )
    assert words in said(report)
    assert "unifilter train citations --method mlp --out runs/without-graph" in said(report)
    assert '`method="mlp"`' in said({**report, "command": None})
    for one in report["scores"]:
        one["values"] = one["values"][:2]
    assert "mlp" not in said(report)


def test_more_labels_for_the_rarest_class() -> None:
    few = {**good()["split"], "train": 100, "test": 1000}
    report = rare(recall=0.9, split=few)
    assert "Label more nodes of 'seldom': about 4 are trained on." in said(report)
    assert "`unifilter data info citations`" in said(report)
    assert "Label more" not in said(rare(recall=0.9))


@pytest.mark.parametrize(
    ("command", "data"),
    [
        ("unifilter train 'my data'", "'my data'"),
        ("unifilter train --method gcn cora", "DATA"),
        ("unifilter train", "DATA"),
        ("unifilter train 'open", "DATA"),
        ("python -m unifilter train cora", "DATA"),
    ],
)
def test_the_data_set_is_named_as_the_command_does(command: str, data: str) -> None:
    assert f"unifilter tune {data} " in said({**good(), "command": command})


def test_backticks_of_the_user_do_not_end_the_code() -> None:
    report = {**rare(), "command": "unifilter train `x`"}
    report["classes"][1]["name"] = "a`b"
    assert all(step.count("`") == 2 for step in next_steps(report))
