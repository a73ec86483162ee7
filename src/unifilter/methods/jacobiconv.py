"""JacobiConv: a linear model with Jacobi polynomials, one filter for each class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from unifilter.bases import Jacobi
from unifilter.data import FeatureScaling
from unifilter.methods.method import Method, ModelShape
from unifilter.methods.search import DECAYS, DROPOUTS, NETWORK, RATES
from unifilter.nn import JacobiConv
from unifilter.training import Patience

# The authors' settings, for 60/20/20 splits. They were found with the polynomials of their code, whose sign is not that
# of the Jacobi recurrence where a is not b.
_PUBLISHED: dict[str, dict[str, Any]] = {
    "cora": {
        "a": 2.0, "b": -0.25, "published_sign": True, "alpha": 0.5, "dropout": 0.5, "filter_dropout": 0.7,
        "lr": 0.05, "alpha_lr": 0.01, "filter_lr": 0.01,
        "weight_decay": 1e-3, "alpha_weight_decay": 1e-4, "filter_weight_decay": 5e-5,
    },
    "citeseer": {
        "a": -0.5, "b": -0.5, "alpha": 0.5, "dropout": 0.9, "filter_dropout": 0.8,
        "lr": 0.05, "alpha_lr": 0.001, "filter_lr": 0.01,
        "weight_decay": 5e-5, "alpha_weight_decay": 0.0, "filter_weight_decay": 1e-3,
    },
    "pubmed": {
        "a": 1.5, "b": 0.25, "published_sign": True, "alpha": 0.5, "dropout": 0.0, "filter_dropout": 0.5,
        "lr": 0.05, "alpha_lr": 0.05, "filter_lr": 0.05,
        "weight_decay": 5e-4, "alpha_weight_decay": 5e-4, "filter_weight_decay": 0.0,
    },
    "chameleon": {
        "a": 0.0, "b": 0.0, "alpha": 2.0, "dropout": 0.6, "filter_dropout": 0.5,
        "lr": 0.05, "alpha_lr": 0.01, "filter_lr": 0.05,
        "weight_decay": 0.0, "alpha_weight_decay": 1e-4, "filter_weight_decay": 5e-4,
    },
    "squirrel": {
        "a": 0.5, "b": 0.25, "published_sign": True, "alpha": 2.0, "dropout": 0.4, "filter_dropout": 0.1,
        "lr": 0.01, "alpha_lr": 0.01, "filter_lr": 0.05,
        "weight_decay": 5e-5, "alpha_weight_decay": 0.0, "filter_weight_decay": 0.0,
    },
    "actor": {
        "a": -1.0, "b": 0.5, "published_sign": True, "alpha": 1.0, "dropout": 0.9, "filter_dropout": 0.7,
        "lr": 0.05, "alpha_lr": 0.05, "filter_lr": 0.01,
        "weight_decay": 1e-3, "alpha_weight_decay": 5e-4, "filter_weight_decay": 1e-3,
    },
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class JacobiConvMethod(Method):
    r"""JacobiConv; see :class:`unifilter.nn.jacobi_conv.JacobiConv`.

    Attributes:
        hops: Degree K of the filters.
        a, b: Exponents of the Jacobi polynomials.
        published_sign: Use the polynomials of the authors' code, which differ where ``a`` is not ``b``; see
            :class:`unifilter.bases.Jacobi`. The published settings do; the default is the true recurrence.
        alpha: Bound of the factors between one polynomial and the next.
        dropout: Dropout on the features.
        filter_dropout: Dropout between the linear map and the filter.
        lr, weight_decay: Learning rate and weight decay of the linear map.
        alpha_lr, alpha_weight_decay: Learning rate and weight decay of the factors.
        filter_lr, filter_weight_decay: Learning rate and weight decay of the filters' weights.
        patience: Number of epochs without a validation score as good as the best.
    """

    name: ClassVar[str] = "jacobiconv"
    paper: ClassVar[str] = "Wang and Zhang, How Powerful are Spectral Graph Neural Networks, 2022"
    cost: ClassVar[str] = "an epoch multiplies the features once and filters the logits: 3K products of class width"
    presets = _PUBLISHED
    search_space: ClassVar[Mapping[str, Sequence[Any]]] = {
        "features": NETWORK["features"],
        "a": (-0.5, 0.0, 0.5, 1.0, 1.5, 2.0),
        "b": (-0.5, -0.25, 0.0, 0.25, 0.5, 1.0),
        "alpha": (0.5, 1.0, 1.5, 2.0),
        "dropout": DROPOUTS,
        "filter_dropout": DROPOUTS,
        "lr": RATES,
        "weight_decay": DECAYS,
        "alpha_lr": RATES,
        "alpha_weight_decay": DECAYS,
        "filter_lr": RATES,
        "filter_weight_decay": DECAYS,
    }

    features: FeatureScaling = "row"
    hops: int = 10
    a: float = 1.0
    b: float = 1.0
    published_sign: bool = False
    alpha: float = 1.0
    dropout: float = 0.5
    filter_dropout: float = 0.5
    lr: float = 0.05
    weight_decay: float = 5e-4
    alpha_lr: float = 0.01
    alpha_weight_decay: float = 0.0
    filter_lr: float = 0.01
    filter_weight_decay: float = 0.0
    patience: int = 200

    def network(self, shape: ModelShape) -> JacobiConv:
        return JacobiConv(
            shape.in_channels,
            shape.num_outputs,
            Jacobi(self.a, self.b, self.published_sign),
            hops=self.hops,
            alpha=self.alpha,
            dropout=self.dropout,
            filter_dropout=self.filter_dropout,
        )

    def parameter_groups(self, model: JacobiConv) -> list[dict[str, Any]]:
        return model.parameter_groups(
            (self.lr, self.alpha_lr, self.filter_lr),
            (self.weight_decay, self.alpha_weight_decay, self.filter_weight_decay),
        )

    def stop_rule(self) -> Patience:
        return Patience(self.patience, "score", ties=True)
