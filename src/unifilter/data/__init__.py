"""Containers: a graph with features, labels and splits. Loaders and file formats are in :mod:`unifilter.datasets`."""

from unifilter.data.classes import Classes, check_learnable
from unifilter.data.features import FeatureScaling, features_digest, pack_features, scale_rows
from unifilter.data.metric import METRICS, Metric
from unifilter.data.node_choice import check_labelled, choose_nodes
from unifilter.data.node_dataset import NodeDataset
from unifilter.data.splits import Split, linkx_split, masks_to_splits, random_split, stratified_split
from unifilter.data.summary import DatasetSummary, describe

__all__ = [
    "METRICS",
    "Classes",
    "DatasetSummary",
    "FeatureScaling",
    "Metric",
    "NodeDataset",
    "Split",
    "check_labelled",
    "check_learnable",
    "choose_nodes",
    "describe",
    "features_digest",
    "linkx_split",
    "masks_to_splits",
    "pack_features",
    "random_split",
    "scale_rows",
    "stratified_split",
]
