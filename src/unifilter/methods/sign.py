"""SIGN: a network on the powers of the propagation matrix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from unifilter.data import FeatureScaling
from unifilter.methods.method import Learner, Method, ModelShape
from unifilter.methods.problem import Problem
from unifilter.methods.search import NETWORK
from unifilter.nn import SIGN
from unifilter.nn.sign import Head


@dataclass(frozen=True, kw_only=True)
class SIGNMethod(Method):
    """Powers of P (no self-loops) and the network that its authors released on them; see
    :class:`unifilter.nn.sign.SIGN`.

    They publish settings for a graph of 111 million nodes alone: there are no presets, and the defaults are the usual
    ones of polynomial filters.

    Attributes:
        hops: The highest power K.
        hidden_channels: Width of the hidden layers, or of the layer of each hop.
        head: ``"released"``, three layers on all powers, or ``"paper"``, a layer for each power and one output layer.
    """

    name: ClassVar[str] = "sign"
    version: ClassVar[int] = 2  # 1 had the head of the paper alone
    paper: ClassVar[str] = "Frasca et al., SIGN: Scalable Inception Graph Neural Networks, 2020"
    cost: ClassVar[str] = "K + 1 products once; K + 1 copies of the features in memory, which an epoch multiplies"
    search_space: ClassVar[Mapping[str, Sequence[Any]]] = {
        **NETWORK,
        "hops": (1, 2, 3, 4, 5),
        "head": ("released", "paper"),
    }

    features: FeatureScaling = "raw"
    hops: int = 3
    head: Head = "released"
    hidden_channels: int = 64
    dropout: float = 0.5
    lr: float = 0.01
    weight_decay: float = 5e-4
    patience: int = 200

    def network(self, shape: ModelShape) -> SIGN:
        return SIGN(shape.in_channels, self.hidden_channels, shape.num_outputs, self.hops, self.dropout, self.head)

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
