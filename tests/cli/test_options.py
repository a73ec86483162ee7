"""What commands make of their options."""

from __future__ import annotations

from dataclasses import replace

import pytest

from unifilter.cli.options import default_method
from unifilter.datasets import load_dataset
from unifilter.datasets.synthetic import contextual_sbm


@pytest.mark.parametrize(
    ("changes", "rows_only", "expected"),
    [({}, False, "auto"), ({"tau": 0.5}, False, "unifilter"), ({}, True, "unifilter")],
)
def test_what_trains_a_graph_if_no_method_is_named(changes: dict[str, object], rows_only: bool, expected: str) -> None:
    """A portfolio has members that need the whole graph in memory: not where rows come from a store or are shared."""
    own = replace(contextual_sbm(num_nodes=40, num_classes=2), citation="")
    assert default_method(own, changes, rows_only) == expected
    assert default_method(load_dataset("karate"), changes, rows_only) == "unifilter"
