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
        (np.array([0.5, 2.0, 0.5]), [0.5, 2.0], [0, 1, 0]),
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


def test_a_class_beyond_whole_floats_stays_a_float() -> None:
    values = Classes.encode([1e300, 2.0], 2)[0].values
    assert values.tolist() == [2.0, 1e300]
    assert values.dtype == float


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([1, 2], r"one class per node, shape \[3\], not \[2\]: use -1 or None"),
        (np.eye(3), r"one class per node, shape \[3\], not \[3, 3\]"),
        ([-1, None, float("nan")], "no node has a class: -1, None and NaN mean unknown"),
        (["a", 1, "b"], "some classes are strings and others numbers \\('a' and 1\\): make them all strings"),
        ([0, 1, {2}], r"the class of node 2 is a set \(\{2\}\): classes are strings or numbers"),
    ],
)
def test_labels_that_are_none(y: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Classes.encode(y, 3)


def test_a_class_that_was_not_learned() -> None:
    classes, _ = Classes.encode(["a", "b"], 2)
    with pytest.raises(ValueError, match="node 1 is of class 'c', which was not learned: the classes are 'a', 'b'"):
        classes.indices_of(["a", "c"], 2)
