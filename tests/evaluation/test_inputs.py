from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import torch

from unifilter.evaluation.inputs import (
    as_binary_targets,
    as_class_indices,
    as_distributions,
    as_finite,
    as_names,
    as_numbers,
    as_probabilities,
)


def fails(message: str) -> Any:
    return pytest.raises(ValueError, match=f"^{re.escape(message)}$")


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
def test_a_softmax_of_any_precision_is_accepted(dtype: torch.dtype) -> None:
    logits = 5 * torch.randn(200, 50, generator=torch.Generator().manual_seed(0))
    values = as_distributions(torch.softmax(logits, dim=1).to(dtype))
    assert values.dtype == np.float64
    assert values.shape == (200, 50)


def test_numbers() -> None:
    assert as_numbers([True, None], "targets")[0] == 1
    with fails("logits must be an array of real numbers: rows of equal length, without text"):
        as_numbers([["a"]], "logits")
    with fails("logits must be an array of real numbers: rows of equal length, without text"):
        as_numbers([[1.0], [1.0, 2.0]], "logits")


def test_shapes() -> None:
    with fails("logits must be a non-empty array of shape [rows, columns]: this one has shape [2]"):
        as_finite([1.0, 2.0], "logits", (2,))
    with fails("logits must be a non-empty array of shape [rows] or [rows, columns]: this one has shape []"):
        as_finite(1.0, "logits", (1, 2))
    with fails("logits must be a non-empty array of shape [rows, columns]: this one has shape [0, 3]"):
        as_finite(np.zeros((0, 3)), "logits", (2,))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_the_first_row_that_is_not_finite_is_named(value: float) -> None:
    logits = np.zeros((5, 2))
    logits[[3, 4], 1] = value
    message = f"row 3 of logits contains {value}: leave out rows that are not finite, or find the cause (2 rows in all)"
    with fails(message):
        as_finite(logits, "logits", (2,))


def test_logits_are_not_probabilities() -> None:
    with fails(
        "row 1 of probabilities contains -2, which is not in [0, 1]: pass probabilities, not logits (1 rows in all)"
    ):
        as_probabilities([[0.0, 1.0], [-2.0, 3.0]])
    with fails("row 1 of probabilities sums to 1.5, not to 1: pass one column per class (1 rows in all)"):
        as_distributions([[0.0, 1.0], [0.5, 1.0]])


def test_class_indices() -> None:
    assert as_class_indices(torch.tensor([1, 0]), 2, 2).tolist() == [1, 0]
    with fails("labels must have one class index per row, shape [3], not [2]"):
        as_class_indices([0, 1], 3, 2)
    with fails("labels must be whole numbers, not float64: encode classes as 0, 1, 2, ..."):
        as_class_indices([0.0, 1.0], 2, 2)
    for wrong in (-1, 2):
        with fails(
            f"the label of row 1 is {wrong}, but the classes are 0 to 1: leave out rows without a label and classes "
            "without a column (1 rows in all)"
        ):
            as_class_indices([0, wrong], 2, 2)


def test_binary_targets() -> None:
    assert as_binary_targets([True, False], (2,)).tolist() == [1, 0]
    with fails("targets must have shape [2, 1], one value for each output, not [2]"):
        as_binary_targets([0, 1], (2, 1))
    with fails("row 1 of targets contains -1: pass 0 or 1, or NaN for unknown values (1 rows in all)"):
        as_binary_targets([[1.0, np.nan], [0.0, -1.0]], (2, 2))
    with fails("all targets are NaN: pass at least one known target"):
        as_binary_targets([np.nan], (1,))


def test_names() -> None:
    assert as_names(["a", "b"], 2, "class_names", "classes") == ("a", "b")
    with fails("class_names has 1 names for 2 classes: pass one name for each column"):
        as_names(["a"], 2, "class_names", "classes")
