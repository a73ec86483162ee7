"""Data sets by name and from files; what is loaded is a :class:`unifilter.data.NodeDataset`."""

from unifilter.datasets.lookup import DatasetNotFoundError, fetch, list_datasets, load_dataset

__all__ = ["DatasetNotFoundError", "fetch", "list_datasets", "load_dataset"]
