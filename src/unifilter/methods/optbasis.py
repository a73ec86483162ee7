"""OptBasisGNN: an orthonormal basis for every hidden channel."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, cast

from unifilter.methods.channel_filter import ChannelFilterMethod
from unifilter.methods.method import Learner, ModelShape
from unifilter.methods.problem import Problem
from unifilter.nn import OptBasisGNN

# The authors' settings, for 60/20/20 splits; of Penn94 and Genius for the splits of LINKX. Their code adds noise to the
# hidden channels, in training and in evaluation.
_NOISE: dict[str, Any] = {"noise": 1e-5, "noise_in_evaluation": True}
_PUBLISHED: dict[str, dict[str, Any]] = {
    "citeseer": {
        **_NOISE, "hops": 2, "lr": 0.04, "filter_lr": 0.005, "weight_decay": 1e-3, "filter_weight_decay": 1e-3,
        "dropout": 0.5, "hidden_dropout": 0.5,
    },
    "pubmed": {
        **_NOISE, "hops": 12, "lr": 0.04, "filter_lr": 0.005, "weight_decay": 1e-5, "filter_weight_decay": 1e-3,
        "dropout": 0.0, "hidden_dropout": 0.0,
    },
    "chameleon": {
        **_NOISE, "features": "row", "hops": 16, "lr": 0.01, "filter_lr": 0.01, "weight_decay": 1e-4,
        "filter_weight_decay": 1e-3, "dropout": 0.2, "hidden_dropout": 0.6,
    },
    "squirrel": {
        **_NOISE, "features": "row", "hops": 20, "lr": 0.001, "filter_lr": 0.03, "weight_decay": 1e-7,
        "filter_weight_decay": 1e-3, "dropout": 0.0, "hidden_dropout": 0.5,
    },
    "actor": {
        **_NOISE, "features": "row", "hops": 4, "lr": 0.005, "filter_lr": 0.03, "weight_decay": 1e-3,
        "filter_weight_decay": 1e-3, "dropout": 0.6, "hidden_dropout": 0.5,
    },
    "penn94": {
        **_NOISE, "hops": 20, "lr": 0.04, "filter_lr": 0.04, "weight_decay": 1e-4, "filter_weight_decay": 1e-4,
        "dropout": 0.1, "hidden_dropout": 0.6,
    },
    "genius": {
        **_NOISE, "hops": 20, "lr": 0.05, "filter_lr": 0.02, "weight_decay": 1e-8, "filter_weight_decay": 1e-7,
        "dropout": 0.0, "hidden_dropout": 0.3, "metric": "roc_auc",
    },
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class OptBasisMethod(ChannelFilterMethod):
    """A learned weight per hop and hidden channel; see :class:`unifilter.nn.optbasis.OptBasisGNN`.

    The response is that of each hidden channel, as the features and weights of the moment make it.

    Attributes:
        noise: Added to the hidden channels in training; the published settings have 1e-5, as in the authors' code, and
            the paper none.
        noise_in_evaluation: Add it in evaluation too, as the authors' code does.
    """

    name: ClassVar[str] = "optbasis"
    presets = _PUBLISHED

    noise: float = 0.0
    noise_in_evaluation: bool = False

    def network(self, shape: ModelShape) -> OptBasisGNN:
        if not self.noise >= 0:
            raise ValueError(f"noise must not be negative, not {self.noise!r}: the published code uses 1e-5")
        return OptBasisGNN(
            shape.in_channels,
            self.hidden_channels,
            shape.num_outputs,
            self.hops,
            self.dropout,
            self.hidden_dropout,
            self.noise,
            self.noise_in_evaluation,
        )

    def build(self, problem: Problem) -> Learner:
        learner = super().build(problem)
        x, graph = problem.workspace.inputs(self.features), problem.workspace.graph()
        # The basis is that of the hidden channels after training.
        learner.finish = partial(cast(OptBasisGNN, learner.model).remember_basis, x, graph)
        return learner
