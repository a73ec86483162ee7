from __future__ import annotations

import numpy as np
import pytest

from unifilter.datasets.formats.target_columns import is_target, read_targets

IDS = ["ann", "bob", "cy"]


def test_a_number_to_predict() -> None:
    found = read_targets({"age": [1, 2, 3], "target": ["1,200.50", None, "3"]}, IDS, "nodes.csv")
    assert found is not None
    assert (found.task, found.names) == ("regression", ("target",))
    np.testing.assert_array_equal(found.targets, [[1200.5], [np.nan], [3.0]])


def test_several_numbers_and_several_labels_have_names() -> None:
    numbers = read_targets({"target:height": [1.5, 2, 3], "target:weight": [4, 5, 6]}, IDS, "n")
    assert numbers is not None
    assert (numbers.task, numbers.names, numbers.targets.shape) == ("regression", ("height", "weight"), (3, 2))
    labels = read_targets({"label:sports": [True, False, None], "label:music": ["1", "0", "1"]}, IDS, "n")
    assert labels is not None
    assert (labels.task, labels.names) == ("multilabel", ("sports", "music"))
    np.testing.assert_array_equal(labels.targets, [[1, 1], [0, 0], [np.nan, 1]])


def test_columns_of_other_names_are_no_targets() -> None:
    assert read_targets({"label": ["a", "b", "a"], "targets": [1, 2, 3]}, IDS, "n") is None
    assert [is_target(name) for name in ("target", "target:a", "label:b", "label", "targets")] == [True] * 3 + [
        False
    ] * 2


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"target": [1, 2, 3], "label": ["a", "b", "a"]}, "n has 'target', 'label', which belong to diff"),
        (
            {"target": [1, 2, 3], "label:a": [1, 0, 1]},
            "'target', 'label:a', which belong to",
        ),
        (
            {"target": ["low", "high", "low"]},
            "'target' is a target, but contains text or dates.*a class belongs in a column named label",
        ),
        (
            {"label:a": ["yes", "no", "yes"]},
            "'label:a' is a target, but contains text or dates: write 1 or 0",
        ),
        ({"label:a": [0, 1, 2]}, r"'label:a' contains 2 at node 'cy': a label must be 1 \(present\), 0 \(absent\) or"),
        ({"target": [1, float("inf"), 2]}, "column 'target' .*'bob'"),
    ],
)
def test_mistakes_are_named(columns: dict[str, list[object]], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_targets(columns, IDS, "n")


def test_all_wrong_columns_are_named_at_once() -> None:
    with pytest.raises(ValueError, match=r"(?s)'target:a' is a target.*'target:b' is a target"):
        read_targets({"target:a": ["x", "y", "z"], "target:b": ["x", "y", "z"]}, IDS, "n")
