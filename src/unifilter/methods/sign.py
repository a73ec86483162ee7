"""SIGN: every hop has a layer of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from unifilter.data import FeatureScaling
from unifilter.methods.method import Learner, Method, ModelShape
from unifilter.methods.problem import Problem
from unifilter.methods.search import NETWORK
from unifilter.nn import SIGN


@dataclass(frozen=True, kw_only=True)
class SIGNMethod(Method):
    """Powers of P (no self-loops), a hidden layer for each and one output layer; see :class:`unifilter.nn.sign.SIGN`.

    Its authors publish settings for a graph of 111 million nodes alone: there are no presets, and the defaults are the
    usual ones of polynomial filters.

    Attributes:
        hops: The highest power K.
        hidden_channels: Width of the layer of each hop.
    """

    name: ClassVar[str] = "sign"
    paper: ClassVar[str] = "Frasca et al., SIGN: Scalable Inception Graph Neural Networks, 2020"
    cost: ClassVar[str] = "K + 1 products once; K + 1 copies of the features in memory, each with a layer of its own"
    search_space: ClassVar[Mapping[str, Sequence[Any]]] = {**NETWORK, "hops": (1, 2, 3, 4, 5)}

    features: FeatureScaling = "raw"
    hops: int = 3
    hidden_channels: int = 64
    dropout: float = 0.5
    lr: float = 0.01
    weight_decay: float = 5e-4
    patience: int = 200

    def network(self, shape: ModelShape) -> SIGN:
        return SIGN(shape.in_channels, self.hidden_channels, shape.num_outputs, self.hops, self.dropout)

    def build(self, problem: Problem) -> Learner:
        powers = problem.workspace.factorization(self.features, self.hops).basis("homophily")
        shape = self.shape(problem)
        model = self.network(shape).to(powers)
        return Learner(
            model,
            shape,
            lambda nodes: model.forward_powers(powers[:, nodes]),
            self.parameter_groups(model),
            self.stop_rule(),
            row_wise=True,
        )
