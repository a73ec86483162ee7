"""APPNP, GNN-LF and GNN-HF: the logits of an MLP, propagated by a filter that is not learned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from unifilter.data import FeatureScaling
from unifilter.methods.method import Method, ModelShape
from unifilter.methods.search import NETWORK
from unifilter.nn import APPNP, GNNHF, GNNLF, RestartFilter
from unifilter.training import EitherPatience

_ALPHAS = (0.1, 0.2, 0.5, 0.9)


@dataclass(frozen=True, kw_only=True)
class APPNPMethod(Method):
    r"""APPNP: K steps of personalized PageRank on the logits of an MLP; see :class:`unifilter.nn.APPNP`.

    The defaults are the authors' settings, the same for all their graphs, which they split with few labels.

    Attributes:
        hops: Number of steps.
        alpha: Probability of a restart.
        hidden_channels, dropout: Width of the MLP, which has two layers and no bias, and dropout on their inputs.
        lr: Learning rate.
        weight_decay: Weight decay of the first layer; the second has none.
        patience: Number of epochs without an improvement of :class:`unifilter.training.EitherPatience`.
    """

    name: ClassVar[str] = "appnp"
    paper: ClassVar[str] = "Gasteiger et al., Predict then Propagate: GNNs meet Personalized PageRank, 2019"
    cost: ClassVar[str] = "an epoch multiplies the features once and filters the logits: 2K products of class width"
    # One setting for all citation graphs, and so the default.
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {name: {} for name in ("cora", "citeseer", "pubmed")}
    search_space: ClassVar[Mapping[str, Sequence[Any]]] = {**NETWORK, "alpha": _ALPHAS}

    features: FeatureScaling = "row"
    epochs: int = 10_000
    hops: int = 10
    alpha: float = 0.1
    hidden_channels: int = 64
    dropout: float = 0.5
    lr: float = 0.01
    weight_decay: float = 5e-3
    patience: int = 100

    def network(self, shape: ModelShape) -> RestartFilter:
        return APPNP(**self.sizes(shape))

    def sizes(self, shape: ModelShape) -> dict[str, Any]:
        """The common arguments of the three networks."""
        return {
            "in_channels": shape.in_channels,
            "out_channels": shape.num_outputs,
            "hops": self.hops,
            "alpha": self.alpha,
            "hidden_channels": self.hidden_channels,
            "dropout": self.dropout,
        }

    def parameter_groups(self, model: RestartFilter) -> list[dict[str, Any]]:
        first, *others = model.layers
        rest = [weight for layer in others for weight in layer.parameters()]
        return [
            {"params": list(first.parameters()), "lr": self.lr, "weight_decay": self.weight_decay},
            {"params": rest, "lr": self.lr, "weight_decay": 0.0},
        ]

    def stop_rule(self) -> EitherPatience:
        return EitherPatience(self.patience)


@dataclass(frozen=True, kw_only=True)
class GNNLFMethod(APPNPMethod):
    """APPNP with a low-pass restart; see :class:`unifilter.nn.GNNLF`. Its other settings are those of APPNP.

    Attributes:
        mu: Share of the node itself in the restart.
    """

    name: ClassVar[str] = "gnn-lf"
    paper: ClassVar[str] = "Zhu et al., Interpreting and Unifying GNNs with An Optimization Framework, 2021"
    search_space: ClassVar[Mapping[str, Sequence[Any]]] = {
        **APPNPMethod.search_space,
        "mu": (0.5, 0.6, 0.7, 0.8, 0.9),
    }

    mu: float = 0.9

    def network(self, shape: ModelShape) -> RestartFilter:
        return GNNLF(**self.sizes(shape), mu=self.mu)


@dataclass(frozen=True, kw_only=True)
class GNNHFMethod(APPNPMethod):
    """APPNP with a high-pass restart; see :class:`unifilter.nn.GNNHF`. Its other settings are those of APPNP.

    Attributes:
        beta: Strength of high frequencies in the restart.
    """

    name: ClassVar[str] = "gnn-hf"
    paper: ClassVar[str] = GNNLFMethod.paper
    search_space: ClassVar[Mapping[str, Sequence[Any]]] = {
        **APPNPMethod.search_space,
        "beta": (0.1, 0.5, 0.9, 1.5, 3.0),
    }

    beta: float = 0.9

    def network(self, shape: ModelShape) -> RestartFilter:
        return GNNHF(**self.sizes(shape), beta=self.beta)
