"""A trained model: what was learned, and all that is needed to use it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from unifilter.bases import Basis, Tridiagonal
from unifilter.data import pack_features, scale_rows
from unifilter.graph import as_graph
from unifilter.methods import Method, ModelShape
from unifilter.nn import GraphModule


@dataclass(frozen=True, eq=False, repr=False)
class TrainedModel:
    """A method, its settings and its trained network.

    It knows nothing of the graph it was trained on, and works on any graph with the same feature columns. Estimators
    hold one, runs and model files store it, explanations read it.

    Attributes:
        method: The method with its settings, those that were left open filled in.
        shape: Number of features and classes, and what was estimated before training.
        network: The network, on the CPU and in evaluation mode.
        classes: What is predicted: numbers or strings, in the order of the network's outputs.
        requested: The method as it was asked for, with the settings that were left open.

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

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(method={self.method.name!r}, features={self.shape.in_channels}, "
            f"classes={len(self.classes)})"
        )

    @torch.no_grad()
    def logits(self, graph: Any, x: Any) -> Tensor:
        """Logits of every node, ``[num_nodes, classes]``.

        Args:
            graph: Any graph that :func:`unifilter.graph.as_graph` takes.
            x: Its raw features ``[num_nodes, features]``, dense or sparse; they are scaled as in training.
        """
        features = self.prepare(x)
        self.network.eval()
        logits: Tensor = self.network(features, as_graph(graph, len(features), self_loops=self.network.self_loops))
        return logits

    def prepare(self, x: Any) -> Tensor:
        """Features as the network takes them: in its precision, and scaled as in training."""
        features = pack_features(x, self.dtype)
        if features.shape[1] != self.shape.in_channels:
            raise ValueError(
                f"x has {features.shape[1]} feature columns, but the model was trained on {self.shape.in_channels}: "
                "pass the same columns in the same order"
            )
        if not torch.isfinite(features.values() if features.layout == torch.sparse_csr else features).all():
            raise ValueError("the features contain NaN or infinity: impute or drop these values first")
        return features if self.method.features == "raw" else scale_rows(features, self.method.features)

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

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file: numbers and settings only, no code and nothing of the training graph."""
        from unifilter.estimators.model_file import save_model

        save_model(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> TrainedModel:
        """Read what :meth:`save` wrote; a file that differs from it in a single byte is refused."""
        from unifilter.estimators.model_file import load_model

        return load_model(path)
