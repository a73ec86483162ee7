"""The container returned by every loader: a graph with features, labels and splits."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from unifilter._internal.checks import check_choice, without_torch_notices
from unifilter.data.features import SCALINGS, FeatureScaling, checked_features, features_digest, pack_features
from unifilter.data.label_checks import checked_labels, checked_targets
from unifilter.data.metric import TASK_METRICS, Metric, TaskName
from unifilter.data.named_splits import count_splits, full_split_name, one_split, split_names
from unifilter.data.preparation import ArrayPreparation
from unifilter.data.pyg_data import fields_of_data, to_data
from unifilter.data.splits import Split, check_split, missing_classes
from unifilter.data.table import Table
from unifilter.data.table_encoder import TableEncoder
from unifilter.graph import Direction, Graph, label_set_homophily, value_homophily

if TYPE_CHECKING:
    from torch_geometric.data import Data


class _Features:
    """Descriptor for the features of a data set: as given, or encoded from its table on first access.

    Lazy, because a table of new nodes may have nothing to fit an encoder on; a trained model encodes it itself.
    """

    def __get__(self, dataset: NodeDataset | None, owner: type[NodeDataset]) -> Tensor:
        if dataset is None:
            raise AttributeError("features")  # on the class: the field has no default
        features: Tensor | None = dataset.__dict__["features"]
        if features is None:
            table: Table = dataset.__dict__["table"]
            features = dataset.__dict__["features"] = pack_features(TableEncoder.fit(table).encode(table).matrix)
        return features

    def __set__(self, dataset: NodeDataset, features: Tensor | None) -> None:
        dataset.__dict__["features"] = features


@dataclass(frozen=True, eq=False, repr=False)
class NodeDataset:
    """A graph whose nodes have features and some or all of which have labels.

    Attributes:
        name: Name of the data set, or the stem of its file name.
        graph: The graph.
        features: ``[num_nodes, num_features]``, float32 or float64, dense or sparse CSR. If ``None`` is passed with a
            ``table``, the features are the table encoded with the statistics of all its rows.
        labels: Class indices, int64 ``[num_nodes]``; -1 means unknown. For tasks other than classification all labels
            are -1, and ``targets`` has the values to predict.
        class_names: Class names, in the order of the class indices. Without names, labels may be any integers: those
            that occur become the classes 0, 1, 2, ..., named after the original integers if these differ.
        splits: The splits that come with the data set, by the name of their rule.
        metric: Default metric.
        feature_scaling: ``"raw"``, ``"row"`` (each row divided by the sum of its absolute values), ``"l2"`` (each row
            divided by its norm) or ``"standard"`` (columns with mean 0 and standard deviation 1).
        citation, license: How to cite the data set, and its license.
        source: Where the data came from, such as a folder, a file name or a package.
        task: ``"classification"``, ``"multilabel"`` or ``"regression"``.
        targets: For multilabel classification and regression, float64 ``[num_nodes, targets]``; NaN means unknown.
            Labels are 1 or 0.
        target_names: Names of the targets or labels.
        literature_split: For a benchmark, the split used in papers, by a name that :meth:`split` accepts; otherwise
            empty.
        table: Named columns that describe the nodes (:class:`~unifilter.data.Table`), instead of features. A model
            learns their encoding from its training rows.

    Example:
        >>> import torch
        >>> from unifilter import Graph
        >>> from unifilter.data import NodeDataset
        >>> path = Graph.from_edges(torch.tensor([[0, 1], [1, 2]]))
        >>> NodeDataset("path", path, torch.eye(3), torch.tensor([0, 1, -1]))
        NodeDataset('path', nodes=3, edges=2, features=3, classes=2, splits=[])
    """

    name: str
    graph: Graph
    features: _Features = _Features()
    labels: Tensor  # type: ignore[misc]  # mypy takes the line above for a default, dataclasses do not
    class_names: tuple[str, ...] = ()
    splits: Mapping[str, tuple[Split, ...]] = field(default_factory=dict)
    metric: Metric = "accuracy"
    feature_scaling: FeatureScaling = "raw"
    citation: str = ""
    license: str = ""
    source: str = ""
    task: TaskName = "classification"
    targets: Tensor | None = None
    target_names: tuple[str, ...] = ()
    literature_split: str = ""
    table: Table | None = None

    def __post_init__(self) -> None:
        check_choice("task", self.task, tuple(TASK_METRICS))
        if self.task != "classification" and self.metric == "accuracy":
            object.__setattr__(self, "metric", TASK_METRICS[self.task][0])
        check_choice("metric", self.metric, TASK_METRICS[self.task])
        check_choice("feature_scaling", self.feature_scaling, SCALINGS)
        nodes = self.graph.num_nodes
        object.__setattr__(self, "targets", checked_targets(self.task, self.targets, nodes))
        labels, class_names = checked_labels(self.labels, tuple(self.class_names), nodes)
        for name, split_set in self.splits.items():
            if not split_set:
                raise ValueError(f"there is no split in {name!r}: add some, or leave the name out")
            for split in split_set:
                check_split(split, labels if self.targets is None else self.strata)
        features = self.__dict__["features"]
        if self.table is not None and self.table.num_rows != nodes:
            raise ValueError(
                f"the table has {self.table.num_rows} rows but the graph has {nodes} nodes: pass one row per node, in "
                "the order of the node indices"
            )
        if features is None and self.table is None:
            raise ValueError("a data set needs features or a table: pass one of them")
        # The fields are frozen for users; here they are converted to the form that other code relies on.
        for name, value in (
            ("features", None if features is None else checked_features(features, nodes)),
            ("labels", torch.from_numpy(labels)),
            ("class_names", class_names),
            ("splits", {name: tuple(split_set) for name, split_set in self.splits.items()}),
        ):
            object.__setattr__(self, name, value)

    def __getstate__(self) -> dict[str, Any]:
        # torch cannot pickle sparse tensors, so they are stored as their component tensors.
        state = {**self.__dict__}
        x = state["features"]
        if x is not None and x.layout == torch.sparse_csr:
            state["features"] = x.crow_indices(), x.col_indices(), x.values(), tuple(x.shape)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        if isinstance(state["features"], tuple):
            starts, columns, values, shape = state["features"]
            with without_torch_notices():
                rows = torch.sparse_csr_tensor(starts, columns, values, shape, check_invariants=False)
            state = {**state, "features": rows}
        self.__dict__.update(state)

    def __repr__(self) -> str:
        scaling = "" if self.feature_scaling == "raw" else f", feature_scaling={self.feature_scaling!r}"
        inputs = f"features={self.num_features}" if self.table is None else f"columns={len(self.table.names)}"
        return (
            f"{type(self).__name__}({self.name!r}, nodes={self.num_nodes}, edges={self.graph.num_edges}, "
            f"{inputs}, classes={self.num_classes}, splits={list(self.splits)}{scaling})"
        )

    @property
    def num_nodes(self) -> int:
        return self.graph.num_nodes

    @property
    def num_features(self) -> int:
        return self.features.shape[1]

    @property
    def inputs(self) -> Table | Tensor:
        """The input of a trained model: the table if there is one, otherwise the features."""
        return self.features if self.table is None else self.table

    @property
    def node_ids(self) -> np.ndarray | None:
        """Node ids from the table, or ``None``."""
        return None if self.table is None else self.table.ids

    @property
    def num_classes(self) -> int:
        """Number of classes: at least those that have a name and those that occur."""
        return max(len(self.class_names), int(self.labels.max()) + 1)

    @property
    def inputs_digest(self) -> bytes:
        """A digest of the features, or of the table if there is one."""
        if self.table is None:
            return features_digest(self.features)
        digest = hashlib.sha256()
        self.table.update_digest(digest)
        return digest.digest()

    @property
    def is_named(self) -> bool:
        """Whether this is a data set of the catalog, to which published settings apply."""
        # User data has no citation. The name alone is not enough: a user's folder may be called cora.
        return bool(self.citation)

    @property
    def num_outputs(self) -> int:
        """Number of network outputs: one per class, label or target."""
        return self.num_classes if self.targets is None else self.targets.shape[1]

    @property
    def answered(self) -> np.ndarray:
        """Whether the class or some target of each node is known, bool ``[num_nodes]``."""
        if self.targets is None:
            return (self.labels >= 0).cpu().numpy()
        return (~torch.isnan(self.targets).all(dim=1)).cpu().numpy()

    @property
    def strata(self) -> np.ndarray:
        """Groups that splits are stratified by: the classes, or one group of all nodes with a known target."""
        return self.labels.cpu().numpy() if self.targets is None else np.where(self.answered, 0, -1)

    @property
    def target_homophily(self) -> float | None:
        """Homophily of the targets, see :mod:`unifilter.graph.target_homophily`.

        ``None`` for classification, and if no edge joins two nodes with known targets.
        """
        if self.targets is None:
            return None
        measure = label_set_homophily if self.task == "multilabel" else value_homophily
        try:
            return measure(self.graph, self.targets)
        except ValueError:
            return None

    @property
    def class_values(self) -> np.ndarray:
        """Names of the classes, labels or targets; without names, their numbers."""
        if self.targets is not None:
            return np.array(self.target_names or [f"target {index}" for index in range(self.num_outputs)])
        return np.array(self.class_names or [str(index) for index in range(self.num_classes)])

    @cached_property
    def checksum(self) -> str:
        """SHA-256 of the content: edges and weights, features as scaled now (or the table), and labels.

        It does not depend on the machine, the source of the data, whether features are sparse or dense, or the order of
        the columns of a table.
        """
        digest = hashlib.sha256(b"unifilter data set, form 1\n")
        self.graph.update_digest(digest)
        if self.table is None:
            digest.update(features_digest(self.features))
        else:
            self.table.update_digest(digest)
        digest.update(self.labels.numpy().astype("<i8").tobytes())
        if self.targets is not None:
            digest.update(f"{self.task}\n".encode() + self.targets.numpy().astype("<f8").tobytes())
        return digest.hexdigest()

    def scaled(self, scaling: FeatureScaling) -> NodeDataset:
        """The same data with scaled features.

        ``"row"`` divides each row by the sum of its absolute values, ``"l2"`` by its Euclidean norm. ``"standard"``
        gives columns mean 0 and standard deviation 1. Rows of zeros stay zero. Sparse features stay sparse: their
        columns are divided, but not centered.
        """
        check_choice("features", scaling, SCALINGS)
        if scaling == self.feature_scaling:
            return self
        if self.table is not None:
            raise ValueError(
                f"the features of {self.name!r} are columns of a table, which are scaled when they are encoded: "
                f'leave out features="{scaling}"'
            )
        if scaling == "raw" or self.feature_scaling != "raw":
            raise ValueError(
                f"the features of {self.name!r} are already scaled ({self.feature_scaling!r}) and cannot become "
                f'{scaling!r}: load the data set again with features="{scaling}"'
            )
        scaled = ArrayPreparation.fit(self.features, scaling).apply(self.features)
        return self.with_checked(features=scaled, feature_scaling=scaling)

    def with_checked(self, **changes: Any) -> NodeDataset:
        """Copy with some attributes replaced, without validation. The values must be valid."""
        other = copy.copy(self)
        other.__dict__.pop("checksum", None)
        for name, value in changes.items():
            object.__setattr__(other, name, value)
        return other

    def split(self, name: str | None = None, index: int = 0) -> Split:
        """Return one split by the name of its rule.

        Args:
            name: One of ``splits``, or a rule that is drawn on demand: ``"stratified"``, 60/20/20 in every class;
                ``"60"``, the random 60/20/20 splits of the polynomial papers; other shares, such as
                ``"random-48-32-20"``; or LINKX's ``"linkx-50-25-25"``. ``"48"`` is short for the 48/32/20 masks of
                Geom-GCN, which come with the files. Default: ``default_split``.
            index: Index of the split, from 0.
        """
        return one_split(self, self.default_split if name is None else name, index)

    @property
    def default_split(self) -> str:
        """The split that is used by default.

        For a benchmark it is the split of the literature. For other data it is ``"given"``, or the first of the splits
        that come with it, or else ``"stratified"``, which leaves no class out.
        """
        given = "given" if "given" in self.splits else next(iter(self.splits), "stratified")
        return self.literature_split or given

    @property
    def split_names(self) -> tuple[str, ...]:
        """Names to choose from: the default split, the others that come with the data, and two drawn on demand."""
        return split_names(self)

    def num_splits(self, name: str | None = None) -> int:
        """Number of splits of a rule: all that come with the data, or ten.

        Args:
            name: As in :meth:`split`.
        """
        return count_splits(self, self.default_split if name is None else name)

    def missing_classes(self, split: Split) -> dict[str, list[str]]:
        """Names of the classes without a node in ``"train"``, ``"val"`` and ``"test"``."""
        names = self.class_values.tolist()
        if self.targets is not None:
            return {"train": [], "val": [], "test": []}
        missing = missing_classes(split, self.labels, len(names))
        return {part: [names[label] for label in labels] for part, labels in missing.items()}

    def is_literature_split(self, split: Split) -> bool:
        """Whether papers report results on this split: the split of the benchmark, or one that comes with its files."""
        return bool(self.literature_split) and split.name in (*self.splits, full_split_name(self.literature_split))

    def to_data(self, split: str | None = None, *, sparse: bool = False) -> Data:
        """Convert the data set to a PyG ``Data`` with ``x``, ``edge_index``, ``y`` and, if there are splits, masks.

        Undirected edges are listed in both directions, directed edges in one.

        Args:
            split: The splits to convert to masks, by a name that :meth:`split` accepts. Default: the first of
                ``splits``. The masks have shape ``[num_nodes, number of splits]``.
            sparse: Keep sparse features sparse, as a torch CSR tensor.
        """
        return to_data(self, split, sparse)

    @classmethod
    def from_data(
        cls,
        data: Data,
        name: str | None = None,
        *,
        metric: Metric = "accuracy",
        direction: Direction = "undirected",
    ) -> NodeDataset:
        """A data set from a PyG ``Data`` with ``x``, ``edge_index``, ``y`` and, optionally, weights and masks.

        Args:
            data: The graph. Without ``y``, every label is unknown. Masks, ``[num_nodes]`` or ``[num_nodes, splits]``,
                become the splits ``"given"``.
            name: Name of the data set. Default: ``data.name``, or ``"data"``.
            metric: Default metric.
            direction: Whether edges are directed, as in :meth:`unifilter.Graph.from_edges`.
        """
        return cls(**fields_of_data(data, name, direction), metric=metric)
