"""Specformer: filters written by a transformer that reads the spectrum."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from unifilter.data import FeatureScaling
from unifilter.factorization import eigenpairs
from unifilter.methods.method import Learner, Method, ModelShape
from unifilter.methods.problem import Problem
from unifilter.methods.search import DROPOUTS, NETWORK
from unifilter.nn import Specformer
from unifilter.nn.norms import Norm
from unifilter.training import Patience
from unifilter.training.stopping import Monitor

_PUBLISHED: dict[str, dict[str, Any]] = {
    "cora": {
        "heads": 2, "lr": 2e-4, "weight_decay": 1e-4, "attention_dropout": 0.2, "dropout": 0.6, "filter_dropout": 0.2,
    },
    "citeseer": {
        "heads": 2, "lr": 2e-4, "weight_decay": 1e-3, "attention_dropout": 0.0, "dropout": 0.7, "filter_dropout": 0.5,
    },
    "chameleon": {
        "heads": 4, "lr": 1e-3, "weight_decay": 5e-4, "attention_dropout": 0.2, "dropout": 0.4, "filter_dropout": 0.5,
    },
    "squirrel": {
        "heads": 2, "lr": 1e-3, "weight_decay": 1e-3, "attention_dropout": 0.1, "dropout": 0.4, "filter_dropout": 0.4,
    },
    "actor": {
        "heads": 1, "lr": 2e-4, "weight_decay": 1e-4, "attention_dropout": 0.5, "dropout": 0.8, "filter_dropout": 0.5,
    },
    "penn94": {
        "features": "raw", "num_layers": 1, "heads": 1, "hidden_channels": 64, "lr": 1e-3, "weight_decay": 1e-3,
        "attention_dropout": 0.0, "dropout": 0.4, "filter_dropout": 0.4, "norm": "batch", "ends": (3_000, 3_000),
    },
    "ogbn-arxiv": {
        "features": "raw", "num_layers": 1, "heads": 1, "hidden_channels": 512, "lr": 1e-3, "weight_decay": 0.0,
        "attention_dropout": 0.1, "dropout": 0.1, "filter_dropout": 0.1, "norm": "layer", "ends": (5_000, 0),
    },
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class SpecformerMethod(Method):
    """Filters whose eigenvalues a transformer writes; see :class:`unifilter.nn.specformer.Specformer`.

    The response is known at the eigenvalues of the graph and interpolated between them. If only the ends of the
    spectrum were computed, the response between them is unknown.

    Attributes:
        hidden_channels, num_layers, heads, norm: Arguments of the network.
        attention_dropout, dropout, filter_dropout: Dropout in the transformer, on the features, and on the terms of a
            filter.
        ends: How many of the smallest and largest eigenvalues; ``None`` takes all, or on graphs of more than 8,000
            nodes as many as :func:`unifilter.factorization.eigendecomposition.eigenpairs` does.
        patience: Number of epochs without a lower validation loss.
        keep: Criterion of the best epoch: validation ``"score"`` or ``"loss"``. The authors'
            code prints the test score of both, and does not say which one is reported.
    """

    name: ClassVar[str] = "specformer"
    paper: ClassVar[str] = "Bo et al., Specformer: Spectral Graph Neural Networks Meet Transformers, 2023"
    cost: ClassVar[str] = "an eigendecomposition, n^3, once per graph; an epoch is dense products and attention, n^2"
    version: ClassVar[int] = 2  # other masks in the attention
    presets = _PUBLISHED
    search_space: ClassVar[Mapping[str, Sequence[Any]]] = {
        **NETWORK,
        "hidden_channels": (16, 32, 64),
        "lr": (2e-4, 5e-4, 1e-3, 5e-3),
        "heads": (1, 2, 4),  # what every width is a multiple of
        "attention_dropout": DROPOUTS,
        "filter_dropout": DROPOUTS,
    }

    features: FeatureScaling = "row"
    epochs: int = 2000
    hidden_channels: int = 32
    num_layers: int = 2
    heads: int = 2
    attention_dropout: float = 0.2
    dropout: float = 0.5
    filter_dropout: float = 0.5
    norm: Norm = "none"
    ends: tuple[int, int] | None = None
    lr: float = 1e-3
    weight_decay: float = 5e-4
    patience: int = 200
    keep: Monitor = "score"

    def network(self, shape: ModelShape) -> Specformer:
        return Specformer(
            shape.in_channels,
            self.hidden_channels,
            shape.num_outputs,
            self.num_layers,
            self.heads,
            self.attention_dropout,
            self.dropout,
            self.filter_dropout,
            self.norm,
            self.ends,
        )

    def stop_rule(self) -> Patience:
        return Patience(self.patience, monitor="loss", keep=self.keep)

    def build(self, problem: Problem) -> Learner:
        x = problem.workspace.inputs(self.features)
        pairs = eigenpairs(problem.workspace.graph(), self.ends)
        values, vectors = pairs.values.to(x.device, x.dtype), pairs.vectors.to(x.device, x.dtype)
        shape = ModelShape(x.shape[1], problem.task.num_outputs, {"eigenvalues": len(values)})
        model = self.network(shape).to(x.device, x.dtype)
        model.eigenvalues = values
        return Learner(
            model,
            shape,
            lambda nodes: model.forward_spectrum(x, values, vectors)[nodes],
            self.parameter_groups(model),
            self.stop_rule(),
        )
