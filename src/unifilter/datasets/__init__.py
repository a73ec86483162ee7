"""Load data sets by name or from files, as :class:`unifilter.data.NodeDataset`."""

from unifilter.datasets.formats.converted import convert_dataset
from unifilter.datasets.formats.edge_lists import read_edge_blocks
from unifilter.datasets.lookup import DatasetNotFoundError, fetch, list_datasets, load_dataset

__all__ = [
    "DatasetNotFoundError",
    "convert_dataset",
    "fetch",
    "list_datasets",
    "load_dataset",
    "read_edge_blocks",
]
