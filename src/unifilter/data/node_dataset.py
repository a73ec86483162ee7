"""A graph with features, labels and splits: what every loader returns."""

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

from unifilter._internal.checks import (
    as_labels,
    as_node_mask,
    check_choice,
    consecutive_labels,
    without_torch_notices,
)
from unifilter._internal.extras import require
from unifilter.data.features import SCALINGS, FeatureScaling, checked_features, features_digest, pack_features
from unifilter.data.metric import TASK_METRICS, Metric, TaskName
from unifilter.data.preparation import ArrayPreparation
from unifilter.data.splits import (
    Split,
    check_split,
    linkx_split,
    masks_to_splits,
    missing_classes,
    named_random_splits,
    stratified_split,
)
from unifilter.data.table import Table
from unifilter.data.table_encoder import TableEncoder
from unifilter.graph import Direction, Graph, label_set_homophily, value_homophily

if TYPE_CHECKING:
    from torch_geometric.data import Data

# Splits are named after the shares of the nodes that they train on, and can be asked for by that number.
_SHORT_NAMES = {"60": "random-60-20-20", "48": "geom-gcn-48-32-20"}
# Rules that can draw a split from any seed.
_DRAWN = ("stratified", "linkx-50-25-25")
# How many splits a rule is asked for where the data comes without any.
_NUM_DRAWN = 10


class _Features:
    """The features of a data set: as they were given, or encoded from its table when they are first asked for.

    Only then: a table of new nodes need not have anything to learn from, and a trained model encodes it itself.
    """

    def __get__(self, dataset: NodeDataset | None, owner: type[NodeDataset]) -> Tensor:
        if dataset is None:
            raise AttributeError("features")  # of the class: the field has no default
        features: Tensor | None = dataset.__dict__["features"]
        if features is None:
            table: Table = dataset.__dict__["table"]
            features = dataset.__dict__["features"] = pack_features(TableEncoder.fit(table).encode(table).matrix)
        return features

    def __set__(self, dataset: NodeDataset, features: Tensor | None) -> None:
        dataset.__dict__["features"] = features


@dataclass(frozen=True, eq=False, repr=False)
class NodeDataset:
    """A graph whose nodes have features and, some or all of them, labels.

    Attributes:
        name: Name of the data set, or the stem of the file it came from.
        graph: The graph.
        features: ``[num_nodes, num_features]``, float32 or float64; a sparse CSR tensor where they came sparse. Pass
            ``None`` with a ``table``: then they are the table, encoded with the statistics of all its rows.
        labels: Class indices, int64 ``[num_nodes]``; -1 is unknown. Where other things than classes are to be learned,
            all are unknown and ``targets`` has the answers.
        class_names: What the classes are called, in the order of their indices. Without names, labels may be any
            whole numbers: those that occur become the classes 0, 1, 2, ..., and where they were others their names.
        splits: The splits the data set comes with, by the name of their rule.
        metric: How it is scored.
        feature_scaling: ``"raw"``, ``"row"`` (each row divided by its absolute sum), ``"l2"`` (by its length) or
            ``"standard"`` (columns with mean 0 and deviation 1).
        citation, license: Whom to cite, and what is allowed.
        source: Where it was found, such as a folder, a file name or a package.
        task: What is learned: ``"classification"``, ``"multilabel"`` or ``"regression"``.
        targets: For the latter two, float64 ``[num_nodes, targets]``, NaN where unknown; labels are 1 or 0.
        target_names: What the targets or labels are called.
        literature_split: For a benchmark, the split that papers report, by a name that :meth:`split` takes; empty for
            other data.
        table: Named columns that describe the nodes (:class:`~unifilter.data.Table`), in place of features. A model
            learns from its training rows how to encode them.

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
        object.__setattr__(self, "targets", _checked_targets(self.task, self.targets, nodes))
        labels, class_names = _checked_labels(self.labels, tuple(self.class_names), nodes)
        for name, split_set in self.splits.items():
            if not split_set:
                raise ValueError(f"there is no split in {name!r}: put some in, or leave the name out")
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
        # The fields are frozen for users; here they are put into the one form that the rest can rely on.
        for name, value in (
            ("features", None if features is None else checked_features(features, nodes)),
            ("labels", torch.from_numpy(labels)),
            ("class_names", class_names),
            ("splits", {name: tuple(split_set) for name, split_set in self.splits.items()}),
        ):
            object.__setattr__(self, name, value)

    def __getstate__(self) -> dict[str, Any]:
        # torch cannot pickle sparse tensors, so these are stored as what they are made of.
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
        """What a trained model takes: the table where there is one, else the features."""
        return self.features if self.table is None else self.table

    @property
    def node_ids(self) -> np.ndarray | None:
        """What the nodes are called, where the table names them."""
        return None if self.table is None else self.table.ids

    @property
    def num_classes(self) -> int:
        """The classes that have a name, and at least those that occur."""
        return max(len(self.class_names), int(self.labels.max()) + 1)

    @property
    def inputs_digest(self) -> bytes:
        """A digest of the features, or of the table in place of them."""
        if self.table is None:
            return features_digest(self.features)
        digest = hashlib.sha256()
        self.table.update_digest(digest)
        return digest.digest()

    @property
    def is_named(self) -> bool:
        """Whether it is a data set of the catalog, which published settings are meant for."""
        # Data of one's own has nobody to cite. Its name alone says nothing: a folder may be called cora.
        return bool(self.citation)

    @property
    def num_outputs(self) -> int:
        """How many outputs a network needs: one for each class, label or target."""
        return self.num_classes if self.targets is None else self.targets.shape[1]

    @property
    def answered(self) -> np.ndarray:
        """Whether the class, or some target, of each node is known, bool ``[num_nodes]``."""
        if self.targets is None:
            return (self.labels >= 0).cpu().numpy()
        return (~torch.isnan(self.targets).all(dim=1)).cpu().numpy()

    @property
    def strata(self) -> np.ndarray:
        """What splits are drawn from in proportion: the classes; without classes, all nodes whose answer is known."""
        return self.labels.cpu().numpy() if self.targets is None else np.where(self.answered, 0, -1)

    @property
    def target_homophily(self) -> float | None:
        """How alike neighbors are where there are targets, see :mod:`unifilter.graph.target_homophily`; else ``None``.

        It is ``None`` too where no edge joins two nodes whose targets are known.
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
        """What is predicted: the names of the classes, labels or targets, or their numbers where they have none."""
        if self.targets is not None:
            return np.array(self.target_names or [f"target {index}" for index in range(self.num_outputs)])
        return np.array(self.class_names or [str(index) for index in range(self.num_classes)])

    @cached_property
    def checksum(self) -> str:
        """SHA-256 of the content: edges and weights, features as they are now, or the table in their place, and labels.

        It is the same on every machine, wherever the data was found, whether the features are sparse or dense, and
        whatever the order of the columns of a table.
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
        """The same data with each row of the features divided by its absolute sum (``"row"``) or its length (``"l2"``),
        or with columns of mean 0 and deviation 1 (``"standard"``).

        Rows of zeros stay zero. Sparse features stay sparse: their columns are divided, but not centered.
        """
        check_choice("features", scaling, SCALINGS)
        if scaling == self.feature_scaling:
            return self
        if self.table is not None:
            raise ValueError(
                f"the features of {self.name!r} are columns of a table, each of which has its own scale: leave out "
                f'features="{scaling}"'
            )
        if scaling == "raw" or self.feature_scaling != "raw":
            raise ValueError(
                f"the features of {self.name!r} are already scaled ({self.feature_scaling!r}) and cannot become "
                f'{scaling!r}: load the data set again with features="{scaling}"'
            )
        scaled = ArrayPreparation.fit(self.features, scaling).apply(self.features)
        return self.with_checked(features=scaled, feature_scaling=scaling)

    def with_checked(self, **changes: Any) -> NodeDataset:
        """The same data with some attributes changed to what is known to be right: nothing is checked again."""
        other = copy.copy(self)
        other.__dict__.pop("checksum", None)
        for name, value in changes.items():
            object.__setattr__(other, name, value)
        return other

    def split(self, name: str | None = None, index: int = 0) -> Split:
        """One split by the name of its rule.

        Args:
            name: One of ``splits``, or a rule that is drawn on demand: ``"stratified"``, 60/20/20 in every class;
                ``"60"``, the random 60/20/20 splits of the polynomial papers; the same with other shares, such as
                ``"random-48-32-20"``; or LINKX's ``"linkx-50-25-25"``. ``"48"`` is short for the 48/32/20 masks of
                Geom-GCN, which come with the files. By default ``default_split``.
            index: Which of its splits, from 0.
        """
        name = self.default_split if name is None else name
        if isinstance(index, bool) or not isinstance(index, (int, np.integer)) or index < 0:
            raise ValueError(f"the index of a split must be a whole number of at least 0, not {index!r}: pass 0")
        if not self.answered.any():
            raise ValueError(
                f"{self.name!r} has no labels, so there is nothing to learn from and no split: add them; in a table "
                "they are a column label, target or label:NAME"
            )
        if name in _DRAWN and name not in self.splits:
            return self._draw(name, int(index))
        found = self._split_set(name)
        if index >= len(found):
            raise ValueError(
                f"{self.name!r} has {len(found)} {name!r} splits, there is no number {index}: "
                f"pass an index from 0 to {len(found) - 1}"
            )
        return found[index]

    @property
    def default_split(self) -> str:
        """The split that is used unless another is asked for.

        On a benchmark it is the literature's. On other data it is ``"given"``, or the first of the splits that come
        with it; where none do, ``"stratified"``, which leaves no class out.
        """
        given = "given" if "given" in self.splits else next(iter(self.splits), "stratified")
        return self.literature_split or given

    @property
    def split_names(self) -> tuple[str, ...]:
        """What to choose from: the default split, the others that come with the data, and two drawn on demand."""
        named: dict[str, str] = {}
        for name in (self.default_split, *self.splits, "stratified", "60"):
            named.setdefault(_full_name(name), name)  # a split that has a short name is there once
        return tuple(named.values())

    def num_splits(self, name: str | None = None) -> int:
        """How many splits a rule is meant to have: all that come with the data, or ten.

        Args:
            name: As in :meth:`split`.
        """
        full = _full_name(self.default_split if name is None else name)
        return len(self.splits.get(full, range(_NUM_DRAWN)))

    def missing_classes(self, split: Split) -> dict[str, list[str]]:
        """The names of the classes that a split leaves out of ``"train"``, ``"val"`` and ``"test"``."""
        names = self.class_values.tolist()
        if self.targets is not None:
            return {"train": [], "val": [], "test": []}
        missing = missing_classes(split, self.labels, len(names))
        return {part: [names[label] for label in labels] for part, labels in missing.items()}

    def is_literature_split(self, split: Split) -> bool:
        """Whether papers report results on this split: it is the benchmark's, or comes with its files."""
        return bool(self.literature_split) and split.name in (*self.splits, _full_name(self.literature_split))

    def _split_set(self, name: str) -> tuple[Split, ...]:
        full = _full_name(name)
        if full in self.splits:
            return self.splits[full]
        if full in _DRAWN:
            return tuple(self._draw(full, seed) for seed in range(_NUM_DRAWN))
        drawn = named_random_splits(self.strata, full)
        if drawn is not None:
            return drawn
        known = [*self.splits, "60", "stratified"]
        if _SHORT_NAMES["48"] in self.splits:
            known.append("48")
        raise ValueError(
            f"{self.name!r} has no split {name!r}: it has {', '.join(map(repr, known))}, "
            "and random ones of any shares, such as 'random-48-32-20'"
        )

    def _draw(self, rule: str, seed: int) -> Split:
        if rule == "stratified":
            return stratified_split(self.strata, 0.6, 0.2, seed, self.class_names)
        return linkx_split(self.strata, seed)

    def to_data(self, split: str | None = None, *, sparse: bool = False) -> Data:
        """A PyG ``Data`` with ``x``, ``edge_index``, ``y`` and, where there are splits, masks.

        Undirected edges are there in both directions, directed ones in theirs.

        Args:
            split: Whose masks: a name that :meth:`split` takes; by default the first of ``splits``. The masks have
                shape ``[num_nodes, number of splits]``.
            sparse: Keep sparse features sparse, as a torch CSR tensor.
        """
        require("pyg", what="to_data")
        from torch_geometric.data import Data

        sources = torch.repeat_interleave(torch.arange(self.num_nodes), self.graph.row_start.cpu().diff())
        ends = torch.stack([sources.to(self.graph.device), self.graph.neighbors.long()])
        keep_sparse = sparse or self.features.layout == torch.strided
        data = Data(
            x=self.features if keep_sparse else self.features.to_dense(),
            edge_index=ends.flip(0) if self.graph.direction == "in" else ends,
            y=self.labels,
        )
        data.num_nodes = self.num_nodes
        data.name = self.name
        if self.graph.weights is not None:
            data.edge_weight = self.graph.weights
        if split is None and self.splits:
            split = next(iter(self.splits))
        if split is not None:
            chosen = self._split_set(split)
            for part in ("train", "val", "test"):
                columns = [as_node_mask(getattr(one, part), self.num_nodes, part) for one in chosen]
                data[f"{part}_mask"] = torch.from_numpy(np.stack(columns, axis=1))
        return data

    @classmethod
    def from_data(
        cls,
        data: Data,
        name: str | None = None,
        *,
        metric: Metric = "accuracy",
        direction: Direction = "undirected",
    ) -> NodeDataset:
        """A data set from a PyG ``Data``: ``x``, ``edge_index``, ``y`` and, where it has them, weights and masks.

        Args:
            data: The graph. Without ``y``, every label is unknown. Masks, ``[num_nodes]`` or ``[num_nodes, splits]``,
                become the splits ``"given"``.
            name: Name of the data set; by default ``data.name``, else ``"data"``.
            metric: How it is scored.
            direction: Whether the direction of edges counts, as in :meth:`unifilter.Graph.from_edges`.
        """
        if getattr(data, "x", None) is None:
            raise ValueError("this Data object has no features: set data.x (a [num_nodes, num_features] tensor) first")
        features = pack_features(data.x)  # first: a matrix without columns may say any number of nodes
        graph = Graph.from_data(data, direction=direction)
        y = getattr(data, "y", None)
        labels = torch.full((graph.num_nodes,), -1) if y is None else y
        if labels.ndim == 2 and labels.shape[1] == 1:
            labels = labels[:, 0]  # OGB's form
        return cls(
            name=str(getattr(data, "name", "data")) if name is None else name,
            graph=graph,
            features=features,
            labels=labels,
            splits=_splits_of_masks(data, graph.num_nodes),
            metric=metric,
            source="a PyG Data object",
        )


def _checked_labels(labels: Any, names: tuple[str, ...], nodes: int) -> tuple[np.ndarray, tuple[str, ...]]:
    """Class indices and the names of the classes; labels without names may have gaps and be of any size."""
    if not names:
        indices, found = consecutive_labels(labels, nodes)
        in_order = np.array_equal(found, np.arange(len(found)))
        return indices, () if in_order else tuple(map(str, found.tolist()))
    if len(names) > nodes:
        raise ValueError(
            f"there are {len(names)} class_names for {nodes} nodes, more classes than nodes: name those classes that "
            "occur, or leave class_names out"
        )
    indices = as_labels(labels, nodes)
    if len(names) <= indices.max():
        raise ValueError(
            f"node {int(indices.argmax())} is of class {indices.max()}, but there are {len(names)} class_names: name "
            "every class, or leave class_names out"
        )
    return indices, names


def _checked_targets(task: TaskName, targets: Any, nodes: int) -> Tensor | None:
    """Float64 ``[nodes, targets]``, finite or NaN; of labels 1, 0 or NaN."""
    if (targets is None) != (task == "classification"):
        raise ValueError(
            f"task={task!r} " + ("has no targets: pass them" if targets is None else "takes labels, not targets")
        )
    if targets is None:
        return None
    values = torch.as_tensor(targets).detach().to("cpu", torch.float64)
    values = values[:, None] if values.ndim == 1 else values
    if values.ndim != 2 or values.shape[0] != nodes or values.shape[1] == 0:
        raise ValueError(f"targets must have shape [{nodes}] or [{nodes}, targets], not {list(values.shape)}")
    if torch.isinf(values).any():
        node = int(torch.isinf(values).any(dim=1).nonzero()[0])
        raise ValueError(f"the target of node {node} is infinite: correct it, or make it NaN, which means unknown")
    if task == "multilabel":
        wrong = ~(torch.isnan(values) | (values == 0) | (values == 1)).all(dim=1)
        if wrong.any():
            node = int(wrong.nonzero()[0])
            raise ValueError(
                f"the labels of node {node} are {values[node].tolist()}: a label is 1 (there), 0 (not there) or NaN "
                "(unknown)"
            )
    return values


def short_split_name(name: str) -> str:
    """The short name of a rule of splits, such as ``"48"`` for ``"geom-gcn-48-32-20"``, if it has one."""
    return next((short for short, full in _SHORT_NAMES.items() if full == name), name)


def _full_name(name: str) -> str:
    return _SHORT_NAMES.get(name, name)


def _splits_of_masks(data: Data, num_nodes: int) -> dict[str, tuple[Split, ...]]:
    masks = {part: getattr(data, f"{part}_mask", None) for part in ("train", "val", "test")}
    there = [part for part, mask in masks.items() if mask is not None]
    if not there:
        return {}
    for part, mask in masks.items():
        if mask is None:
            raise ValueError(
                f"this Data object has {there[0]}_mask but no {part}_mask: set all three, or delete the others"
            )
        if mask.shape[0] != num_nodes:
            raise ValueError(
                f"{part}_mask has shape {list(mask.shape)}, but the graph has {num_nodes} nodes: pass one value, or "
                "one row of values, per node"
            )
    return {"given": masks_to_splits("given", **masks)}
