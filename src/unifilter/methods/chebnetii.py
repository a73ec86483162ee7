"""ChebNetII: the filter's values at the Chebyshev points are learned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from unifilter._internal.checks import check_choice
from unifilter.methods.decoupled import DecoupledMethod
from unifilter.methods.method import ModelShape
from unifilter.methods.search import DECAYS, DECOUPLED, RATES
from unifilter.nn import ChebNetII
from unifilter.training import LossWindow, Patience, StopRule

# The authors' settings, for 60/20/20 splits; of Penn94 and Genius for the splits of LINKX. Where there is no filter_lr,
# theirs is the default.
_PUBLISHED: dict[str, dict[str, Any]] = {
    "cora": {"lr": 0.01, "weight_decay": 5e-4, "filter_weight_decay": 5e-4, "filter_dropout": 0.0},
    "citeseer": {"lr": 0.01, "weight_decay": 5e-4, "filter_weight_decay": 0.0, "filter_dropout": 0.5},
    "pubmed": {"lr": 0.01, "weight_decay": 0.0, "filter_weight_decay": 0.0, "filter_dropout": 0.0},
    "chameleon": {"lr": 0.05, "weight_decay": 0.0, "filter_weight_decay": 0.0, "filter_dropout": 0.6},
    "squirrel": {"lr": 0.05, "weight_decay": 0.0, "filter_weight_decay": 5e-4, "filter_dropout": 0.5},
    "actor": {"lr": 0.05, "weight_decay": 0.0, "filter_weight_decay": 0.0, "filter_dropout": 0.9},
    "penn94": {
        "features": "raw", "hidden_channels": 256, "dropout": 0.5, "filter_dropout": 0.3, "lr": 0.001,
        "weight_decay": 5e-3, "filter_lr": 0.01, "filter_weight_decay": 5e-4, "operator": "adjacency",
        "non_negative": False, "optimizer": "adamw", "stop": "best",
    },
    "genius": {
        "features": "raw", "hops": 3, "hidden_channels": 128, "num_layers": 3, "batch_norm": True, "dropout": 0.3,
        "filter_dropout": 0.5, "lr": 0.005, "weight_decay": 0.0, "filter_lr": 5e-4, "filter_weight_decay": 1e-4,
        "non_negative": False, "optimizer": "adamw", "stop": "best", "metric": "roc_auc",
    },
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class ChebNetIIMethod(DecoupledMethod):
    r"""ChebNetII: :math:`\sum_j \mathrm{ReLU}(g_j)\, \ell_j(\mathbf{L}) \mathrm{MLP}(x)`, where :math:`\ell_j` is 1 at
    the j-th Chebyshev point and 0 at the others; starts as the identity.

    Attributes:
        filter_lr, filter_weight_decay: Learning rate and weight decay of the values :math:`g_j`.
        num_layers: Number of layers of the MLP.
        batch_norm: Whether the MLP has batch normalization.
        operator: Matrix of the Chebyshev polynomials: ``"laplacian"``, :math:`\mathbf{L} - \mathbf{I}`; or
            ``"adjacency"``, :math:`\tilde{\mathbf{P}}` with self-loops, as the authors do on Penn94.
        non_negative: Whether values below zero count as zero.
        stop: ``"window"`` stops as GPR-GNN does; ``"best"`` trains to the end and keeps the best validation score.
        window: Epochs before training may stop.
    """

    name: ClassVar[str] = "chebnetii"
    paper: ClassVar[str] = "He et al., Convolutional Neural Networks on Graphs with Chebyshev Approx., Revisited, 2022"
    cost: ClassVar[str] = "an epoch multiplies the features once and filters the logits: 3K products of class width"
    presets = _PUBLISHED
    search_space: ClassVar[Mapping[str, Sequence[Any]]] = {
        **DECOUPLED,
        "filter_lr": RATES,
        "filter_weight_decay": DECAYS,
    }

    filter_lr: float = 0.01
    filter_weight_decay: float = 0.0
    num_layers: int = 2
    batch_norm: bool = False
    operator: Literal["laplacian", "adjacency"] = "laplacian"
    non_negative: bool = True
    stop: Literal["window", "best"] = "window"
    window: int = 200

    def network(self, shape: ModelShape) -> ChebNetII:
        return ChebNetII(
            **self.sizes(shape),
            num_layers=self.num_layers,
            batch_norm=self.batch_norm,
            operator=self.operator,
            non_negative=self.non_negative,
        )

    def stop_rule(self) -> StopRule:
        check_choice("stop", self.stop, ("window", "best"))
        return LossWindow(self.window) if self.stop == "window" else Patience(self.epochs, "score")
