"""A trained model: what was learned, and all that is needed to use it."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from unifilter._internal.type_aliases import FeatureLike
from unifilter.bases import Basis, Tridiagonal
from unifilter.data import ArrayPreparation, DataWarning, Preparation, TaskName
from unifilter.estimators.calibration import Calibration
from unifilter.graph import Direction, Graph, as_graph
from unifilter.methods import Method, ModelShape
from unifilter.nn import GraphModule

# What the outputs are of.
_OUTPUTS: dict[TaskName, str] = {"classification": "classes", "multilabel": "labels", "regression": "targets"}


def check_outputs(outputs: Tensor) -> None:
    """Refuse outputs that are no numbers, ``[num_nodes, outputs]``: nothing can be predicted from them."""
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

    It knows nothing of the graph it was trained on, and works on any graph with the same feature columns; only what
    has a weight for every node, such as LINKX, is for the same nodes in the same order. Estimators hold one, runs and
    model files store it, explanations read it.

    Attributes:
        method: The method with its settings, those that were left open filled in.
        shape: Number of features and outputs, and what was estimated before training.
        network: The network, on the CPU and in evaluation mode.
        classes: What is predicted, in the order of the network's outputs: classes (numbers or strings), or the names
            of labels or targets.
        requested: The method as it was asked for, with the settings that were left open.
        preparation: What is done to features before the network sees them: scaling, or the encoding of a table.
        task: ``"classification"``, ``"multilabel"`` or ``"regression"``.
        calibration: What the validation nodes say about how sure the model may be.
        target_center, target_scale: For regression, what turns outputs into numbers of the target's unit.
        nothing_learned: A sentence where training came to nothing, else empty.
        filter_unmoved: Whether the filter's weights are where they started.
        direction: That of the graph it was trained on, which other graphs must have too.

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

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(method={self.method.name!r}, features={self.shape.in_channels}, "
            f"{_OUTPUTS[self.task]}={len(self.classes)})"
        )

    @torch.no_grad()
    def logits(self, graph: Any, x: FeatureLike) -> Tensor:
        """Outputs of the network for every node, ``[num_nodes, outputs]``.

        Args:
            graph: Any graph that :func:`unifilter.graph.as_graph` takes.
            x: Its features as in training, an array or a table; they are scaled or encoded as in training.
        """
        features = self.prepare(x)
        known = self.graph_of(graph, len(features))
        self.network.check_nodes(known.num_nodes, self.method.name)
        self.network.eval()
        logits: Tensor = self.network(features, known)
        check_outputs(logits)
        return logits

    def graph_of(self, graph: Any, num_nodes: int | None = None) -> Graph:
        """A graph as the network takes it, with the direction of the one it was trained on.

        Args:
            graph: Any graph that :func:`unifilter.graph.as_graph` takes.
            num_nodes: Number of nodes that it must have.
        """
        return as_graph(graph, num_nodes, self_loops=self.network.self_loops, direction=self.direction)

    def prepare(self, x: FeatureLike, *, seen: bool = False) -> Tensor:
        """Features as the network takes them: in its precision, and scaled or encoded as in training.

        Args:
            x: An array or a table, as in training.
            seen: Whether the training nodes are among these nodes: values that they lack are then no surprise.
        """
        with warnings.catch_warnings():
            if seen:
                warnings.simplefilter("ignore", DataWarning)
            return self.preparation.prepare(x, self.dtype)

    def answers(self, logits: Tensor) -> np.ndarray:
        """What outputs mean: the class of each row, its labels (``bool [rows, labels]``), or numbers.

        Numbers have the shape ``[rows]`` for one target, else ``[rows, targets]``.
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
        """The same by its name."""
        return "float64" if self.dtype == torch.float64 else "float32"

    @torch.no_grad()
    def response(self, lam: Any) -> Tensor | None:
        """The learned filter at Laplacian eigenvalues, ``[*lam.shape, channels]``; ``None`` if the method has none."""
        values = torch.as_tensor(lam, dtype=self.dtype)
        self.network.eval()
        return self.network.response(values)

    @property
    def weights(self) -> Tensor | None:
        """One learned weight per basis vector ``[m]``, or per vector and channel ``[m, channels]``, if there are."""
        weights = self.network.hop_weights
        return None if weights is None else weights.detach()

    @property
    def tridiagonal(self) -> Tridiagonal | None:
        """The factorization of the training features, for methods that are trained on one."""
        return self.network.tridiagonal

    @cached_property
    def basis(self) -> Basis | None:
        """The basis that :attr:`weights` are on, with what was learned of it, for methods on a factorization."""
        return self.network.basis

    @property
    def tau(self) -> float | None:
        """Share of the homophily basis that was used or learned, where the basis has it."""
        return getattr(self.basis, "tau", None)

    @property
    def homophily(self) -> float | None:
        """The homophily that was used, estimated or learned, where the method has it."""
        found = getattr(self.basis, "homophily", None)
        return self.shape.facts.get("homophily") if found is None else found

    @property
    def chosen(self) -> dict[str, Any]:
        """The value of every setting that was left open and chosen on the validation nodes."""
        # tau and homophily are found out, not chosen: they have attributes of their own.
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
        """Write the model to a file: numbers and settings only, no code and nothing of the training graph."""
        from unifilter.estimators.model_file import save_model

        save_model(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> TrainedModel:
        """Read what :meth:`save` wrote; a file that differs from it in a single byte is refused."""
        from unifilter.estimators.model_file import load_model

        return load_model(path)
