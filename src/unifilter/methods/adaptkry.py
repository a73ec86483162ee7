"""AdaptKry: powers of a propagation matrix with chosen self-loops, computed once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from unifilter.data import FeatureScaling
from unifilter.graph import SelfLoops
from unifilter.methods.method import Learner, Method, ModelShape
from unifilter.methods.problem import Problem
from unifilter.methods.search import DECAYS, DROPOUTS, NETWORK, RATES
from unifilter.nn import AdaptKry
from unifilter.nn.adaptkry import Combination

# The authors' settings, for 60/20/20 splits; of Penn94 and Genius for the splits of LINKX, where they train for all
# epochs. "features" is not said: it is that of UniFilter, which has the same authors and files.
_PUBLISHED: dict[str, dict[str, Any]] = {
    "cora": {
        "features": "row", "tau": (0.5, 1.1, 0.8), "hidden_channels": 256, "num_layers": 3, "lr": 0.1,
        "filter_lr": 5e-4, "weight_decay": 1e-3, "filter_weight_decay": 0.0, "basis_dropout": 0.2, "dropout": 0.3,
    },
    "citeseer": {
        "features": "row", "tau": 0.1, "hidden_channels": 128, "num_layers": 4, "lr": 0.01,
        "filter_lr": 0.05, "weight_decay": 5e-5, "filter_weight_decay": 1e-4, "basis_dropout": 0.9, "dropout": 0.8,
    },
    "pubmed": {
        "features": "raw", "tau": 0.5, "hidden_channels": 128, "num_layers": 4, "lr": 0.1,
        "filter_lr": 0.05, "weight_decay": 5e-4, "filter_weight_decay": 1e-4, "basis_dropout": 0.4, "dropout": 0.0,
    },
    "chameleon": {
        "features": "row", "tau": (0.5, 0.8), "hidden_channels": 256, "num_layers": 4, "lr": 0.015,
        "filter_lr": 0.05, "weight_decay": 1e-4, "filter_weight_decay": 1e-4, "basis_dropout": 0.0, "dropout": 0.7,
        "patience": 400,
    },
    "squirrel": {
        "features": "raw", "tau": 0.8, "hidden_channels": 256, "num_layers": 2, "lr": 0.01,
        "filter_lr": 0.1, "weight_decay": 1e-4, "filter_weight_decay": 5e-4, "basis_dropout": 0.0, "dropout": 0.6,
        "batch_norm": True,
    },
    "actor": {
        "features": "row", "tau": (0.6, 1.7, 1.8), "hidden_channels": 256, "num_layers": 4, "lr": 0.1,
        "filter_lr": 0.01, "weight_decay": 5e-4, "filter_weight_decay": 0.0, "basis_dropout": 0.0, "dropout": 0.4,
    },
    "penn94": {
        "features": "raw", "hops": 4, "tau": (0.1, 1.1, 0.6), "hidden_channels": 256, "num_layers": 3, "lr": 0.001,
        "filter_lr": 0.05, "weight_decay": 0.0, "filter_weight_decay": 5e-5, "basis_dropout": 0.0, "dropout": 0.7,
        "self_loops": "add", "optimizer": "adamw", "patience": 1000,
    },
    "genius": {
        "features": "raw", "combine": "concatenate", "hops": 8, "tau": 0.9, "hidden_channels": 128, "num_layers": 4,
        "lr": 0.001, "weight_decay": 5e-5, "dropout": 0.0, "batch_norm": True, "patience": 1000, "metric": "roc_auc",
    },
    "ogbn-arxiv": {
        "features": "raw", "combine": "concatenate", "tau": (0.6, 1.2), "hidden_channels": 256, "num_layers": 2,
        "lr": 0.05, "weight_decay": 0.0, "dropout": 0.7, "patience": 250, "seed": 25190,
    },
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class AdaptKryMethod(Method):
    r"""One learned weight per power of :math:`\mathbf{P}_\tau`, then an MLP; see :class:`unifilter.nn.AdaptKry`.

    Attributes:
        hops: The highest power K.
        tau: Weight of the edges beside the self-loops, one number or several whose powers are averaged.
        combine: ``"weights"``, or ``"concatenate"`` for an MLP on all powers side by side.
        self_loops: ``"remove"`` or ``"add"``, before those of tau.
        hidden_channels, num_layers, dropout, batch_norm: Arguments of the MLP.
        basis_dropout: Dropout on the elements of the powers.
        lr, weight_decay: Learning rate and weight decay of the MLP.
        filter_lr, filter_weight_decay: Learning rate and weight decay of the weights of the powers.
        patience: Number of epochs without a better validation score.
    """

    name: ClassVar[str] = "adaptkry"
    paper: ClassVar[str] = "Huang et al., Optimizing Polynomial Graph Filters: Adaptive Krylov Subspace Approach, 2024"
    cost: ClassVar[str] = "K products per tau once; K + 1 copies of the features in memory, an epoch reads them twice"
    presets = _PUBLISHED
    search_space: ClassVar[Mapping[str, Sequence[Any]]] = {
        **NETWORK,
        "tau": tuple(k / 10 for k in range(1, 19)),
        "num_layers": (2, 3, 4),
        "batch_norm": (False, True),
        "basis_dropout": DROPOUTS,
        "filter_lr": RATES,
        "filter_weight_decay": DECAYS,
    }

    features: FeatureScaling = "row"
    hops: int = 10
    tau: float | tuple[float, ...] = 0.5
    combine: Combination = "weights"
    self_loops: SelfLoops = "remove"
    hidden_channels: int = 128
    num_layers: int = 3
    dropout: float = 0.5
    basis_dropout: float = 0.2
    batch_norm: bool = False
    lr: float = 0.05
    weight_decay: float = 5e-4
    filter_lr: float = 0.05
    filter_weight_decay: float = 1e-4
    patience: int = 200

    def __post_init__(self) -> None:
        if not isinstance(self.tau, (int, float, str)):  # a command line has several as a list
            object.__setattr__(self, "tau", tuple(self.tau))

    def network(self, shape: ModelShape) -> AdaptKry:
        return AdaptKry(
            shape.in_channels,
            shape.num_outputs,
            self.hops,
            self.hidden_channels,
            self.num_layers,
            self.dropout,
            self.basis_dropout,
            self.batch_norm,
            self.tau,
            self.combine,
            self.self_loops,
        )

    def parameter_groups(self, model: AdaptKry) -> list[dict[str, Any]]:
        return model.parameter_groups(self.lr, self.weight_decay, self.filter_lr, self.filter_weight_decay)

    def build(self, problem: Problem) -> Learner:
        workspace, shape = problem.workspace, self.shape(problem)
        x = workspace.features(self.features)
        model = self.network(shape).to(x)
        rows = model.rows_of(x, workspace.graph(self.self_loops))
        return Learner(
            model,
            shape,
            lambda nodes: model.forward_rows(rows[nodes]),
            self.parameter_groups(model),
            self.stop_rule(),
            row_wise=True,
        )
