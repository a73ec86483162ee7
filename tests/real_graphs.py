"""The real graphs of the tests, read from the folder that the environment variable UNIFILTER_DATA names."""

from __future__ import annotations

import os
from functools import cache

import numpy as np
import pytest

from unifilter.datasets import load_dataset
from unifilter.graph import Graph

RealGraph = tuple[Graph, np.ndarray, np.ndarray]

needs_data = pytest.mark.skipif(
    not os.environ.get("UNIFILTER_DATA"),
    reason="set UNIFILTER_DATA to a folder with npz/ and planetoid/ to test on real graphs",
)


@cache
def real_graph(name: str) -> RealGraph:
    """The graph, its float32 features and its labels."""
    dataset = load_dataset(name)
    return dataset.graph, dataset.features.to_dense().numpy(), dataset.labels.numpy()
