"""Containers for a graph with features, labels and splits. Loaders and file formats: :mod:`unifilter.datasets`."""

from unifilter.data.classes import Classes, balanced_weights, check_learnable
from unifilter.data.column_summary import ColumnSummary
from unifilter.data.features import SCALINGS, FeatureScaling, features_digest, pack_features, scale_rows, scale_spread
from unifilter.data.frames import is_frame
from unifilter.data.metric import METRICS, TASK_METRICS, Metric, TaskName
from unifilter.data.named_splits import short_split_name
from unifilter.data.node_choice import check_labeled, choose_nodes
from unifilter.data.node_dataset import NodeDataset
from unifilter.data.preparation import (
    ArrayPreparation,
    DataWarning,
    Preparation,
    TablePreparation,
    preparation_from_dict,
)
from unifilter.data.splits import (
    Split,
    check_classes,
    linkx_split,
    masks_to_splits,
    missing_classes,
    random_split,
    stratified_split,
)
from unifilter.data.summary import ClassSize, DatasetSummary, describe
from unifilter.data.table import Table
from unifilter.data.table_encoder import Encoded, TableEncoder

__all__ = [
    "METRICS",
    "SCALINGS",
    "TASK_METRICS",
    "ArrayPreparation",
    "ClassSize",
    "Classes",
    "ColumnSummary",
    "DataWarning",
    "DatasetSummary",
    "Encoded",
    "FeatureScaling",
    "Metric",
    "NodeDataset",
    "Preparation",
    "Split",
    "Table",
    "TableEncoder",
    "TablePreparation",
    "TaskName",
    "balanced_weights",
    "check_classes",
    "check_labeled",
    "check_learnable",
    "choose_nodes",
    "describe",
    "features_digest",
    "is_frame",
    "linkx_split",
    "masks_to_splits",
    "missing_classes",
    "pack_features",
    "preparation_from_dict",
    "random_split",
    "scale_rows",
    "scale_spread",
    "short_split_name",
    "stratified_split",
]
