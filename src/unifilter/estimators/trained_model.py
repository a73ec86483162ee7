"""A trained model with everything needed to use it."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, cast

import numpy as np
import torch
from torch import Tensor

from unifilter._internal.type_aliases import FeatureLike
from unifilter.bases import Basis, Tridiagonal
from unifilter.data import ArrayPreparation, DataWarning, Preparation, TaskName
from unifilter.estimators.calibration import Calibration
from unifilter.estimators.leaderboard import Leaderboard
from unifilter.graph import Direction, Graph, as_graph
from unifilter.methods import Method, ModelShape
from unifilter.methods.auto import member_names
from unifilter.nn import GraphModule, Member, Mixture

# Name of the outputs of each task.
_OUTPUTS: dict[TaskName, str] = {"classification": "classes", "multilabel": "labels", "regression": "targets"}


def check_outputs(outputs: Tensor) -> None:
    """Check that the outputs ``[num_nodes, outputs]`` are finite."""
    wrong = ~torch.isfinite(outputs).all(dim=1)
    if wrong.any():
        node = int(wrong.nonzero()[0])
        raise ValueError(
            f"the model's output for node {node} is not finite ({outputs[node].tolist()}): its features or weights are "
            "too large for the precision; scale the features, train with a lower learning rate, or with "
            f'dtype="float64" ({int(wrong.sum())} such nodes in all)'
        )


@dataclass(frozen=True, eq=False, repr=False)
class TrainedModel:
    """A method, its settings and its trained network.

    It does not contain the training graph, and can be applied to any graph with the same feature columns. Only models
    with a weight for every node, such as LINKX, need the same nodes in the same order. Estimators contain a trained
    model, runs and model files store it, and explanations read it.

    Attributes:
        method: The method with its settings, including those that were left open.
        shape: Number of features and outputs, and quantities estimated before training.
        network: The network, on the CPU and in evaluation mode.
        classes: Names of the network's outputs, in order: classes (numbers or strings), or names of labels or targets.
        requested: The method as requested, with open settings.
        preparation: The preprocessing of features: scaling, or the encoding of a table.
        task: ``"classification"``, ``"multilabel"`` or ``"regression"``.
        calibration: Calibration on the validation nodes.
        target_center, target_scale: For regression, convert outputs to the units of the targets.
        nothing_learned: A sentence if the model has learned nothing, otherwise empty.
        filter_unmoved: Whether the filter weights did not change in training.
        direction: Direction of the training graph, which other graphs must have as well.
        leaderboard: Of a portfolio, what every member did; ``None`` for other methods.

    Example:
        >>> from unifilter import NodeClassifier, TrainedModel
        >>> from unifilter.datasets import load_dataset
        >>> karate = load_dataset("karate")
        >>> clf = NodeClassifier("sgc").fit(karate.graph, karate.features, karate.labels)
        >>> clf.model_
        TrainedModel(method='sgc', features=34, classes=2)
        >>> clf.model_.logits(karate.graph, karate.features).shape
        torch.Size([34, 2])
    """

    method: Method
    shape: ModelShape
    network: GraphModule
    classes: np.ndarray
    requested: Method
    preparation: Preparation = field(default_factory=lambda: ArrayPreparation(0))
    task: TaskName = "classification"
    calibration: Calibration = field(default_factory=Calibration)
    target_center: np.ndarray | None = None
    target_scale: np.ndarray | None = None
    nothing_learned: str = ""
    filter_unmoved: bool = False
    direction: Direction = "undirected"
    leaderboard: Leaderboard | None = None

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(method={self.method.name!r}, features={self.shape.in_channels}, "
            f"{_OUTPUTS[self.task]}={len(self.classes)})"
        )

    @torch.no_grad()
    def logits(self, graph: Any, x: FeatureLike, *, memory_limit: str | int | None = None) -> Tensor:
        """Outputs of the network for every node, ``[num_nodes, outputs]``.

        Args:
            graph: Any graph accepted by :func:`unifilter.graph.as_graph`.
            x: Its features, an array or a table as in training. They are scaled or encoded as in training.
            memory_limit: Memory that this process may use, such as ``"4GB"``, for UniFilter and its variants. Features
                are then filtered some columns at a time, and kept on disk if they do not fit.
        """
        if memory_limit is not None:
            from unifilter.estimators.streamed_outputs import streamed_outputs

            return streamed_outputs(self, graph, x, memory_limit)
        features = self.prepare(x)
        known = self.graph_of(graph, len(features))
        self.network.check_nodes(known.num_nodes, self.method.name)
        self.network.eval()
        logits: Tensor = self.network(features, known)
        check_outputs(logits)
        return logits

    def graph_of(self, graph: Any, num_nodes: int | None = None) -> Graph:
        """Convert a graph for the network, with the direction of the training graph.

        Args:
            graph: Any graph accepted by :func:`unifilter.graph.as_graph`.
            num_nodes: Required number of nodes.
        """
        return as_graph(graph, num_nodes, self_loops=self.network.self_loops, direction=self.direction)

    def prepare(self, x: FeatureLike, *, seen: bool = False) -> Tensor:
        """Convert features for the network: to its precision, and scaled or encoded as in training.

        Args:
            x: An array or a table, as in training.
            seen: Whether these nodes include the training nodes. This suppresses warnings about unseen values.
        """
        with warnings.catch_warnings():
            if seen:
                warnings.simplefilter("ignore", DataWarning)
            return self.preparation.prepare(x, self.dtype)

    def answers(self, logits: Tensor) -> np.ndarray:
        """Convert outputs to predictions: the class of each row, its labels (``bool [rows, labels]``), or numbers.

        Numbers have shape ``[rows]`` for one target, otherwise ``[rows, targets]``.
        """
        if self.task == "classification":
            return np.asarray(self.classes[logits.argmax(dim=1).numpy()])
        if self.task == "multilabel":
            return np.asarray((logits > 0).numpy())
        values = logits.double().numpy() * self.target_scale + self.target_center
        return np.asarray(values[:, 0] if values.shape[1] == 1 else values)

    def probabilities(self, logits: Tensor) -> np.ndarray:
        """Calibrated probabilities ``[rows, classes]``."""
        if self.task == "regression":
            raise ValueError("a regressor predicts numbers and has no probabilities: use predict or predict_interval")
        return self.calibration.probabilities(logits, self.task)

    @property
    def dtype(self) -> torch.dtype:
        """The precision of the network."""
        return next(self.network.parameters()).dtype

    @property
    def precision(self) -> Literal["float32", "float64"]:
        """The precision of the network by name."""
        return "float64" if self.dtype == torch.float64 else "float32"

    @torch.no_grad()
    def response(self, lam: Any) -> Tensor | None:
        """The learned filter at Laplacian eigenvalues, ``[*lam.shape, channels]``; ``None`` if the method has none."""
        values = torch.as_tensor(lam, dtype=self.dtype)
        self.network.eval()
        return self.network.response(values)

    @property
    def weights(self) -> Tensor | None:
        """Learned weights, one per basis vector ``[m]`` or per vector and channel ``[m, channels]``, or ``None``."""
        weights = self.network.hop_weights
        return None if weights is None else weights.detach()

    @property
    def tridiagonal(self) -> Tridiagonal | None:
        """The tridiagonal of the training features, for methods with a factorization."""
        return self.network.tridiagonal

    @cached_property
    def basis(self) -> Basis | None:
        """The basis of :attr:`weights` with its learned parameters, for methods with a factorization."""
        return self.network.basis

    @property
    def tau(self) -> float | None:
        """The share of the homophily basis that was used or learned, if the basis has one."""
        return getattr(self.basis, "tau", None)

    @property
    def homophily(self) -> float | None:
        """The homophily that was used, estimated or learned, if the method has one."""
        found = getattr(self.basis, "homophily", None)
        return self.shape.facts.get("homophily") if found is None else found

    @property
    def members(self) -> list[tuple[str, float, TrainedModel]]:
        """Of a portfolio, the name, the weight and the model of every network; of other methods there are none.

        The networks of a member that was trained on several folds share its name.
        """
        if not isinstance(self.network, Mixture):
            return []
        found: list[tuple[str, float, TrainedModel]] = []
        filled, folds = self.method.filled(), self.method.folds or 1  # type: ignore[attr-defined]
        names = np.repeat(member_names(filled[::folds]), folds).tolist()
        for name, method, part, facts, weight in zip(
            names,
            filled,
            cast(Iterable[Member], self.network.members),
            self.shape.facts["members"],
            self.network.weights.tolist(),
            strict=True,
        ):
            model = replace(
                self,
                method=method,
                requested=method,
                shape=ModelShape(self.shape.in_channels, self.shape.num_outputs, facts["facts"]),
                network=part.network,
                preparation=self.preparation if part.preparation is None else part.preparation,
                calibration=Calibration(),
                leaderboard=None,
            )
            found.append((name, weight, model))
        return found

    @property
    def chosen(self) -> dict[str, Any]:
        """The value of every open setting that was chosen on the validation nodes."""
        # tau and homophily are estimated rather than chosen, and have their own attributes.
        asked = self.requested.settings()
        return {
            name: value
            for name, value in self.method.settings().items()
            if asked.get(name) is None and value is not None
        }

    @torch.no_grad()
    def node_inputs(self, graph: Any, x: FeatureLike) -> Tensor:
        """What the network's layers read, one row for each node: all that graph and features come to.

        For ``unifilter`` and its variants these are the features, filtered by what was learned,
        ``[num_nodes, features]``. The layers compute each row on its own; :meth:`export_onnx` writes them to a file.

        Args:
            graph: As in :meth:`logits`.
            x: Likewise.
        """
        features = self.prepare(x)
        known = self.graph_of(graph, len(features))
        self.network.eval()
        return self.network.node_inputs(features, known)

    def export_onnx(self, path: str | os.PathLike[str]) -> None:
        """Write the layers as an ONNX file, for programs that have neither Python nor this package.

        What needs the graph stays here: the file reads rows of :meth:`node_inputs`, any number of them, as its input
        ``rows``, and gives ``outputs``, the same numbers as :meth:`logits` up to rounding. For classes and labels it
        gives ``probabilities`` too, calibrated, and for numbers ``values`` in the unit of the target. What was trained
        and the names of what is predicted are in its metadata. Needs the extra ``onnx``.

        Methods that look at neighbors behind their layers are refused.

        Args:
            path: The file; it is whole or not there.
        """
        from unifilter.estimators.onnx_file import write_onnx

        write_onnx(self, path)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file: parameters and settings, but no code and nothing of the training graph.

        Models that read training labels, such as ``unifilter-labels``, contain these labels.
        """
        from unifilter.estimators.model_file import save_model

        save_model(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> TrainedModel:
        """Load a model written by :meth:`save`. A file that has changed is rejected."""
        from unifilter.estimators.model_file import load_model

        return load_model(path)
