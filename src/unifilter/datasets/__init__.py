"""Data sets: by name, from files, and what they are like."""

from unifilter.datasets.dataset import NodeDataset
from unifilter.datasets.lookup import DatasetNotFoundError, fetch, list_datasets, load_dataset
from unifilter.datasets.splits import Split

__all__ = ["DatasetNotFoundError", "NodeDataset", "Split", "fetch", "list_datasets", "load_dataset"]
