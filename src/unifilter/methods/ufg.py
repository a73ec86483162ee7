"""UFG: a learned weight for each framelet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from unifilter.bases.framelet import FilterBank
from unifilter.methods.decoupled import DecoupledMethod
from unifilter.methods.method import ModelShape
from unifilter.methods.search import DECAYS, DECOUPLED, RATES
from unifilter.nn import UFG
from unifilter.training import LossWindow


@dataclass(frozen=True, kw_only=True)
class UFGMethod(DecoupledMethod):
    r"""A learned weight for each framelet of the graph; starts as the identity.

    It has the framelets of the paper in a model of the polynomial line: see :class:`unifilter.nn.UFG` for what differs
    from the authors' network, whose settings for the public splits are not of use here.

    Attributes:
        filters: The filter bank: ``"haar"``, ``"linear"`` or ``"quadratic"``.
        levels: Number of levels.
        filter_lr, filter_weight_decay: Learning rate and weight decay of the weights.
        window: Epochs before training may stop.
    """

    name: ClassVar[str] = "ufg"
    paper: ClassVar[str] = "Zheng et al., How Framelets Enhance Graph Neural Networks, 2021"
    cost: ClassVar[str] = "an epoch multiplies the features once and filters the logits: 3K products of class width"
    search_space: ClassVar[Mapping[str, Sequence[Any]]] = {
        **DECOUPLED,
        "filters": ("haar", "linear"),
        "levels": (1, 2, 3),
        "filter_lr": RATES,
        "filter_weight_decay": DECAYS,
    }

    # By the validation score of one split of Chameleon: fewer framelets, or a slower filter, hardly leave the identity.
    filters: FilterBank = "linear"
    levels: int = 3
    filter_lr: float = 0.1
    filter_weight_decay: float = 0.0
    window: int = 200

    def network(self, shape: ModelShape) -> UFG:
        return UFG(**self.sizes(shape), filters=self.filters, levels=self.levels)

    def stop_rule(self) -> LossWindow:
        return LossWindow(self.window)
