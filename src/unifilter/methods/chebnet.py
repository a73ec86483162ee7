"""ChebNet: two layers of Chebyshev polynomials."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from unifilter.data import FeatureScaling
from unifilter.methods.method import Method, ModelShape
from unifilter.methods.search import NETWORK
from unifilter.nn import ChebNet
from unifilter.training import LossWindow


@dataclass(frozen=True, kw_only=True)
class ChebNetMethod(Method):
    """Two layers of Chebyshev polynomials; see :class:`unifilter.nn.chebnet.ChebNet`.

    The defaults are what papers on polynomial filters compare with, the same for every graph: degree 1 (PyG's
    ``ChebConv`` counts terms, so ``K=2`` there) and 32 hidden channels. ChebNetII's authors also try ``hops=2`` with 32
    and ``hops=10`` with 16 channels.

    Attributes:
        hops: The degree of each layer.
        hidden_channels: Width of the hidden layer.
        dropout: Dropout on it; the input is not dropped.
        window: Number of epochs of :class:`unifilter.training.LossWindow`.
    """

    name: ClassVar[str] = "chebnet"
    paper: ClassVar[str] = "Defferrard et al., Convolutional Neural Networks on Graphs, 2016"
    cost: ClassVar[str] = "an epoch is K products of hidden width, K of output width, and their gradients"
    search_space: ClassVar[Mapping[str, Sequence[Any]]] = {**NETWORK, "hops": (1, 2, 3)}

    features: FeatureScaling = "row"
    hops: int = 1
    hidden_channels: int = 32
    dropout: float = 0.5
    lr: float = 0.01
    weight_decay: float = 5e-4
    window: int = 200

    def network(self, shape: ModelShape) -> ChebNet:
        return ChebNet(shape.in_channels, self.hidden_channels, shape.num_outputs, self.hops, self.dropout)

    def stop_rule(self) -> LossWindow:
        return LossWindow(self.window)
