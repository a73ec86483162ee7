"""Data sets: by name, from files, and what they are like."""

from unifilter.data import NodeDataset, Split
from unifilter.datasets.lookup import DatasetNotFoundError, fetch, list_datasets, load_dataset

__all__ = ["DatasetNotFoundError", "NodeDataset", "Split", "fetch", "list_datasets", "load_dataset"]
