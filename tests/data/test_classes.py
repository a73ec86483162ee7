from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from unifilter.data import Classes


@pytest.mark.parametrize(
    ("y", "values", "indices"),
    [
        (["b", "a", "b"], ["a", "b"], [1, 0, 1]),
        ([7, 3, 7], [3, 7], [1, 0, 1]),
        (np.array([7, 3, -1]), [3, 7], [1, 0, -1]),
        (torch.tensor([[2], [0], [2]]), [0, 2], [1, 0, 1]),  # OGB's form
        (np.array([1.0, np.nan, 0.0]), [0, 1], [1, -1, 0]),
        ([None, "x", "y"], ["x", "y"], [-1, 0, 1]),
        (["x", float("nan"), "y"], ["x", "y"], [0, -1, 1]),  # numpy would make NaN the class "nan"
        (["x", -1, "y"], ["x", "y"], [0, -1, 1]),
        (np.array(["x", np.float32("nan"), "y"], dtype=object), ["x", "y"], [0, -1, 1]),
        (pd.array(["x", pd.NA, "y"], dtype="string"), ["x", "y"], [0, -1, 1]),
        (pd.Series(["x", None, "y"]), ["x", "y"], [0, -1, 1]),
        ([True, False, True], [False, True], [1, 0, 1]),
    ],
)
def test_classes_of_any_kind_become_indices(y: Any, values: list[Any], indices: list[int]) -> None:
    classes, encoded = Classes.encode(y, 3)
    assert classes.values.tolist() == values
    assert encoded.tolist() == indices
    assert encoded.dtype == np.int64
    assert classes.names == tuple(map(str, values))
    assert classes.indices_of(y, 3).tolist() == indices


def test_indices_of_other_labels_of_the_same_classes() -> None:
    classes, _ = Classes.encode([10, 20, 30], 3)
    assert classes.indices_of([30.0, None], 2).tolist() == [2, -1]


@pytest.mark.parametrize("value", [0.5, 1e300, float("inf"), np.float32(0.25)])
def test_measured_numbers_are_no_classes(value: Any) -> None:
    message = "the class of node 1 is .*, a decimal number: .* To predict numbers use a regressor, UniFilterRegressor"
    with pytest.raises(ValueError, match=message):
        Classes.encode([2.0, value], 2)


def test_nearly_as_many_numbers_as_nodes_are_no_classes_unless_they_are_strings() -> None:
    years = list(range(1900, 1960))
    message = "^y has 60 different numbers at 70 nodes, too many for classes. To predict numbers use a regressor, Uni"
    with pytest.raises(ValueError, match=message):
        Classes.encode([*years, *years[:10], None, -1], 72)
    assert len(Classes.encode(list(map(str, years)), 60)[0].values) == 60
    assert len(Classes.encode(years * 2, 120)[0].values) == 60  # two nodes a class
    assert len(Classes.encode(range(50), 50)[0].values) == 50  # few enough, however few nodes there are


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([1, 2], r"one class per node, shape \[3\], not \[2\]: use -1 or None"),
        (np.eye(3), r"one class per node, shape \[3\], not \[3, 3\]"),
        ([-1, None, float("nan")], "no node has a class: -1, None and NaN mean unknown"),
        (["a", 1, "b"], "some classes are strings and others numbers \\('a' and 1\\): make them all strings"),
        ([0, 0.5, 1], "the class of node 1 is 0.5, a decimal number: .* use a regressor, UniFilterRegressor or Node"),
        ([1, 1e300, 2], "the class of node 1 is 1e[+]300, a decimal number"),
        ([0, 1, {2}], r"the class of node 2 is a set \(\{2\}\): classes are strings or numbers"),
    ],
)
def test_labels_that_are_none(y: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Classes.encode(y, 3)


def test_a_class_that_was_not_learned() -> None:
    classes, _ = Classes.encode(["a", "b"], 2)
    with pytest.raises(
        ValueError, match="node 1 is of class 'c', which is not a class of the training .*: the classes are 'a', 'b'"
    ):
        classes.indices_of(["a", "c"], 2)
