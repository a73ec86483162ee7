"""MixHop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from typing_extensions import Self

from unifilter.data import FeatureScaling
from unifilter.methods.masks import Presets, for_masks
from unifilter.methods.method import Method, ModelShape
from unifilter.nn import MixHop
from unifilter.training import Optimizer

_WIDTHS = (64, 192)

# On the masks: Zhu et al., Beyond Homophily in Graph Neural Networks, 2020, whose figures are quoted widely. They try
# two widths and do not say which one won, so both are trained here, and the better on the validation nodes is kept.
_ON_MASKS = for_masks(
    {name: {} for name in ("cora", "citeseer", "pubmed", "chameleon", "squirrel", "actor")}, {"hidden_channels": None}
)


@dataclass(frozen=True, kw_only=True)
class MixHopMethod(Method):
    """Powers of the propagation matrix side by side; see :class:`unifilter.nn.mixhop.MixHop`.

    The defaults are those of the authors' code: plain gradient descent whose rate falls by 1 % of its initial value in
    40 epochs, here a little in every epoch. Their code breaks ties of the validation score by the test score; here the
    first of the best epochs is kept.

    Attributes:
        hidden_channels: Width of the hidden layer, all powers together; ``None`` trains 64 and 192, and keeps the
            better.
        hops: Highest power of the propagation matrix.
        input_dropout, dropout: Dropout on the input, and on the hidden layer.
        lr_decay: Share of the initial learning rate that is taken off after every epoch.
        weight_decay: Weight decay of the weights that multiply features; twice the factor of a penalty on their
            squares.
        score_decay: Weight decay of the scores that weight the powers of the output.
        patience: Number of epochs without a better validation score.
    """

    name: ClassVar[str] = "mixhop"
    paper: ClassVar[str] = "Abu-El-Haija et al., MixHop: Higher-Order Graph Convolutional Architectures, 2019"
    cost: ClassVar[str] = "an epoch is two products of hidden width, two of the classes' width, and their gradients"
    presets: ClassVar[Presets] = _ON_MASKS
    # What the two papers have tried.
    search_space: ClassVar[Mapping[str, Sequence[Any]]] = {
        "features": ("raw", "row", "l2"),
        "hidden_channels": _WIDTHS,
        "input_dropout": (0.5, 0.7),
        "dropout": (0.5, 0.7, 0.9),
        "lr": (0.25, 0.5, 1.0),
        "weight_decay": (1e-3, 1e-2, 1e-1),
    }

    features: FeatureScaling = "row"
    epochs: int = 400
    optimizer: Optimizer = "sgd"
    hidden_channels: int | None = 64
    hops: int = 2
    input_dropout: float = 0.7
    dropout: float = 0.9
    lr: float = 0.5
    lr_decay: float = 0.01 / 40
    weight_decay: float = 1e-3
    score_decay: float = 2e-3 / 3
    patience: int = 50

    def candidates(self) -> Sequence[Self]:
        if self.hidden_channels is not None:
            return (self,)
        return [replace(self, hidden_channels=width) for width in _WIDTHS]

    def network(self, shape: ModelShape) -> MixHop:
        return MixHop(
            shape.in_channels,
            _WIDTHS[0] if self.hidden_channels is None else self.hidden_channels,
            shape.num_outputs,
            self.hops,
            self.input_dropout,
            self.dropout,
        )

    def parameter_groups(self, model: MixHop) -> list[dict[str, Any]]:
        return [
            {"params": [model.input.weight, model.output.weight], "lr": self.lr, "weight_decay": self.weight_decay},
            {"params": [model.power_scores], "lr": self.lr, "weight_decay": self.score_decay},
            {"params": [model.bias], "lr": self.lr, "weight_decay": 0.0},
        ]
