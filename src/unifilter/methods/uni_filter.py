"""UniFilter and its three variants as methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from typing_extensions import Self

from unifilter._internal.checks import check_choice, check_fraction
from unifilter.bases import Basis, make_basis
from unifilter.data import FeatureScaling
from unifilter.factorization import Factorization, SharedFactorization, StoredFactorization, StoredRows
from unifilter.factorization.factorization import Channels
from unifilter.graph import SelfLoops
from unifilter.methods.method import Learner, Method, ModelShape
from unifilter.methods.problem import Problem
from unifilter.methods.stored_learner import stored_learner
from unifilter.methods.way_of_training import rows_are_faster
from unifilter.nn import LearnedUniBasis, SharedUniFilter, UniFilter
from unifilter.nn.uni_filter import Weights
from unifilter.training import Patience
from unifilter.training.stopping import Monitor

# The authors' published settings. "features" is our choice, since the paper does not state it: on one or two splits the
# validation score preferred "row" on Citeseer and Chameleon, on three splits "raw" on Pubmed; on Cora, Actor and
# Squirrel scalings were not compared. On Penn94 and Genius the authors train for all epochs. Their loss on Genius is
# the binary cross entropy of two outputs, each against its class; here it is the cross entropy of the softmax, as
# everywhere. They train on all nodes of ogbn-arxiv at once, which takes some gigabytes: batch_size=10_000 needs far
# less.
_PUBLISHED: dict[str, dict[str, Any]] = {
    "cora": {
        "features": "row", "tau": 1.0, "hidden_channels": 256, "num_layers": 3, "lr": 0.15, "filter_lr": 0.005,
        "weight_decay": 5e-4, "filter_weight_decay": 0.0, "basis_dropout": 0.3, "dropout": 0.4, "batch_norm": False,
    },
    "citeseer": {
        "features": "row", "tau": 0.9, "hidden_channels": 128, "num_layers": 4, "lr": 0.01, "filter_lr": 0.05,
        "weight_decay": 5e-5, "filter_weight_decay": 1e-4, "basis_dropout": 0.9, "dropout": 0.8, "batch_norm": False,
    },
    "pubmed": {
        "features": "raw", "tau": 0.8, "hidden_channels": 128, "num_layers": 4, "lr": 0.1, "filter_lr": 0.05,
        "weight_decay": 5e-4, "filter_weight_decay": 1e-4, "basis_dropout": 0.4, "dropout": 0.0, "batch_norm": False,
    },
    "actor": {
        "features": "row", "tau": 0.1, "hidden_channels": 256, "num_layers": 4, "lr": 0.05, "filter_lr": 0.005,
        "weight_decay": 5e-4, "filter_weight_decay": 5e-4, "basis_dropout": 0.2, "dropout": 0.0, "batch_norm": False,
    },
    "chameleon": {
        "features": "row", "tau": 0.7, "hidden_channels": 256, "num_layers": 4, "lr": 0.01, "filter_lr": 0.005,
        "weight_decay": 0.0, "filter_weight_decay": 5e-4, "basis_dropout": 0.0, "dropout": 0.7, "batch_norm": False,
    },
    "squirrel": {
        "features": "raw", "tau": 0.7, "hidden_channels": 256, "num_layers": 3, "lr": 0.01, "filter_lr": 0.05,
        "weight_decay": 5e-6, "filter_weight_decay": 5e-4, "basis_dropout": 0.0, "dropout": 0.6, "batch_norm": True,
    },
    "penn94": {
        "features": "raw", "tau": 0.9, "hidden_channels": 256, "num_layers": 3, "lr": 0.001, "filter_lr": 0.05,
        "weight_decay": 0.0, "filter_weight_decay": 5e-5, "basis_dropout": 0.0, "dropout": 0.7, "batch_norm": False,
        "optimizer": "adamw", "self_loops": "add", "patience": 1000,
    },
    "genius": {
        "features": "raw", "tau": 0.0, "hidden_channels": 128, "num_layers": 6, "lr": 5e-4, "filter_lr": 0.001,
        "weight_decay": 0.0, "filter_weight_decay": 0.0, "basis_dropout": 0.0, "dropout": 0.0, "batch_norm": True,
        "optimizer": "adamw", "metric": "roc_auc", "patience": 1000,
    },
    "ogbn-arxiv": {
        "features": "raw", "tau": 0.5, "hidden_channels": 2048, "num_layers": 2, "lr": 0.01, "filter_lr": 0.005,
        "weight_decay": 5e-4, "filter_weight_decay": 5e-4, "basis_dropout": 0.0, "dropout": 0.1, "batch_norm": False,
        "patience": 300,
    },
}  # fmt: skip

# Squirrel's published settings were found with the published code's basis, and with the paper's stop five points short.
# By the validation score of split 0 shorter rows, a shallower MLP and a smaller tau make up for it.
_TUNED: dict[str, dict[str, Any]] = {"squirrel": {"features": "l2", "tau": 0.5, "num_layers": 2}}

# On the 48/32/20 masks 16 settings were tried on the validation nodes of the first one: the published settings, which
# are for other splits, the defaults, and 14 that `unifilter tune` proposed. The defaults won, except on Cora.
_DEFAULTS: dict[str, Any] = {
    "features": "row", "tau": None, "hidden_channels": 128, "num_layers": 3, "lr": None, "filter_lr": 0.01,
    "weight_decay": None, "filter_weight_decay": 5e-4, "basis_dropout": None, "dropout": None, "batch_norm": None,
}  # fmt: skip
_TUNED |= {f"{name}/48": _DEFAULTS for name in ("citeseer", "actor", "chameleon", "texas")}
_TUNED |= {"cora/48": {"tau": 1.0}}

# Candidates for the open settings. No single candidate suits all graphs: Cora needs a high learning rate, Citeseer
# more dropout than Actor, Pubmed none, and Squirrel batch normalization and a small weight decay, with which Actor
# overfits. Found on the validation nodes of one to three splits of the six graphs.
_OPEN: tuple[dict[str, Any], ...] = (
    {"batch_norm": False, "dropout": 0.4, "basis_dropout": 0.3, "lr": 0.15, "weight_decay": 5e-4},
    {"batch_norm": False, "dropout": 0.6, "basis_dropout": 0.2, "lr": 0.05, "weight_decay": 5e-4},
    {"batch_norm": False, "dropout": 0.7, "basis_dropout": 0.5, "lr": 0.05, "weight_decay": 5e-4},
    {"batch_norm": False, "dropout": 0.0, "basis_dropout": 0.4, "lr": 0.05, "weight_decay": 5e-4},
    {"batch_norm": True, "dropout": 0.6, "basis_dropout": 0.0, "lr": 0.01, "weight_decay": 5e-6},
)

# The search space of the paper, with "features" and "batch_norm" added.
_DROPOUTS = tuple(k / 10 for k in range(10))
_RATES = (0.001, 0.005, 0.01, 0.05, 0.1, 0.15, 0.2)
_DECAYS = (0.0, 1e-4, 5e-4, 1e-3)
_SEARCHED: dict[str, tuple[Any, ...]] = {
    "features": ("raw", "row", "l2"),
    "hidden_channels": (64, 128, 256),
    "num_layers": (2, 3, 4, 5, 6),
    "batch_norm": (False, True),
    "dropout": _DROPOUTS,
    "basis_dropout": _DROPOUTS,
    "lr": _RATES,
    "weight_decay": _DECAYS,
    "filter_lr": _RATES,
    "filter_weight_decay": _DECAYS,
}


@dataclass(frozen=True, kw_only=True)
class UniFilterMethod(Method):
    """One learned weight per hop on UniBasis, then an MLP; see :class:`unifilter.nn.UniFilter`.

    Attributes:
        hops: Number of hops K.
        basis: ``"uni"``, the name of another basis, or a :class:`unifilter.bases.Basis`.
        tau: Share of the homophily basis in [0, 1]; ``None`` takes the homophily, and ``"learn"`` starts there.
        homophily: The graph's homophily; ``None`` estimates it from the training labels.
        theta: ``"learn"`` learns the angle, starting at the angle that the homophily sets; ``None`` keeps this angle.
        formulation: ``"paper"``, or ``"released"`` for the filter of the authors' published code.
        weights: ``"hop"`` learns one weight per hop, ``"channel"`` one per hop and channel.
        channels: ``"each"`` gives every feature column its own polynomials, as in the paper; ``"shared"`` uses one
            recurrence for all columns, which takes little memory even for wide features.
        precompute: For ``channels="shared"``, whether the rows of the basis are computed before training. Otherwise the
            filter is applied in every epoch, after the first product with the weights. ``None`` takes the option with
            the shorter estimated time. Without precomputing, dropout falls on the features, so the two options train
            slightly differently.
        self_loops: ``"remove"`` or ``"add"``.
        hidden_channels, num_layers: Size of the MLP.
        batch_norm, dropout, basis_dropout, lr, weight_decay: Settings of the MLP, its training, and dropout on the
            basis elements. Settings that are ``None`` are selected: five candidates are trained, four without
            batch normalization and one with it, and the best on the validation nodes is kept.
        filter_lr, filter_weight_decay: Learning rate and weight decay of the filter's weights, tau and theta.
        patience: Early-stopping patience in epochs.
        monitor: Whether early stopping looks at the validation ``"score"`` or ``"loss"``.
    """

    name: ClassVar[str] = "unifilter"
    paper: ClassVar[str] = "Huang et al., How Universal Polynomial Bases Enhance Spectral Graph Neural Networks, 2024"
    cost: ClassVar[str] = "K + 1 products once; an epoch reads the basis rows twice"
    presets = _PUBLISHED
    tuned = _TUNED
    for_numbers: ClassVar[Mapping[str, Any]] = {"batch_norm": False, "lr": 0.01, "weight_decay": 5e-4}
    search_space: ClassVar[Mapping[str, Sequence[Any]]] = {"tau": tuple(k / 10 for k in range(11)), **_SEARCHED}
    further_search: ClassVar[Mapping[str, Sequence[Any]]] = {"tau": ("learn",), "theta": (None, "learn")}

    later_settings: ClassVar[Mapping[str, Any]] = {"channels": "each", "precompute": None}

    features: FeatureScaling = "row"
    hops: int = 10
    basis: str | Basis | type[Basis] = "uni"
    tau: float | Literal["learn"] | None = None
    homophily: float | None = None
    theta: Literal["learn"] | None = None
    formulation: str = "paper"
    weights: Weights = "hop"
    channels: Channels = "each"
    precompute: bool | None = None
    self_loops: SelfLoops = "remove"
    hidden_channels: int = 128
    num_layers: int = 3
    dropout: float | None = None
    basis_dropout: float | None = None
    batch_norm: bool | None = None
    lr: float | None = None
    weight_decay: float | None = None
    filter_lr: float = 0.01
    filter_weight_decay: float = 5e-4
    patience: int = 200
    monitor: Monitor = "score"

    def candidates(self) -> Sequence[Self]:
        if self.batch_norm not in (None, False, True):
            raise ValueError(f"batch_norm must be True, False or None, which tries both, not {self.batch_norm!r}")
        filled = []
        for kind in _OPEN:
            if self.batch_norm in (None, kind["batch_norm"]):
                method = replace(self, **{name: value for name, value in kind.items() if getattr(self, name) is None})
                if method not in filled:
                    filled.append(method)
        return filled

    def facts(self, problem: Problem) -> dict[str, Any]:
        homophily: float | None = None
        if self.homophily is not None:
            homophily = check_fraction("homophily", self.homophily)
        elif self.basis in ("uni", "heterophily"):
            homophily = problem.estimate_homophily()
        tau = homophily if self.tau is None else self.tau
        return {"homophily": homophily, "tau": tau if self.basis == "uni" else None}

    def network(self, shape: ModelShape) -> UniFilter:
        if self.batch_norm is None or self.dropout is None or self.basis_dropout is None:
            return self.candidates()[0].network(shape)
        check_choice("channels", self.channels, get_args(Channels))
        if self.channels == "each" and self.precompute is not None:
            raise ValueError(
                'precompute is for channels="shared": leave it out, the rows of channels="each" always are'
            )
        homophily, tau = shape.facts.get("homophily"), shape.facts.get("tau")
        learned = self._learned_basis(homophily)
        network = UniFilter if self.channels == "each" else SharedUniFilter
        return network(
            in_channels=shape.in_channels,
            out_channels=shape.num_outputs,
            hops=self.hops,
            hidden_channels=self.hidden_channels,
            num_layers=self.num_layers,
            dropout=self.dropout,
            basis_dropout=self.basis_dropout,
            batch_norm=self.batch_norm,
            weights=self.weights,
            basis=self._basis(tau, homophily) if learned is None else None,
            learned_basis=learned,
            self_loops=self.self_loops,
        )

    def parameter_groups(self, model: UniFilter) -> list[dict[str, Any]]:
        if self.lr is None or self.weight_decay is None:
            return self.candidates()[0].parameter_groups(model)
        return model.parameter_groups(self.lr, self.weight_decay, self.filter_lr, self.filter_weight_decay)

    def stop_rule(self) -> Patience:
        return Patience(self.patience, self.monitor)

    def build(self, problem: Problem) -> Learner:
        shape, workspace = self.shape(problem), problem.workspace
        model = self.network(shape)
        fact: Factorization | SharedFactorization | StoredFactorization
        if isinstance(model, SharedUniFilter):
            fact = workspace.shared_factorization(self.features, self.hops, self.self_loops)
            if not self._precomputes(model, problem):
                return self._on_graph(model, fact, problem, shape)
        else:
            labeled = np.union1d(problem.train, problem.val)
            fact = workspace.any_factorization(self.features, self.hops, self.self_loops, labeled)
        # The shared tridiagonal is in double precision.
        model = model.to(fact.alpha if isinstance(fact, StoredFactorization) else fact.vectors)
        model.attach(fact.tridiagonal)
        rows = model.rows_of(fact)
        if isinstance(rows, StoredRows):
            return stored_learner(self, problem, model, rows)
        return Learner(
            model,
            shape,
            lambda nodes: model(rows[nodes]),
            self.parameter_groups(model),
            self.stop_rule(),
            row_wise=True,
        )

    def _on_graph(
        self, model: SharedUniFilter, fact: SharedFactorization, problem: Problem, shape: ModelShape
    ) -> Learner:
        """The learner that applies the filter in every epoch."""
        x, graph = problem.workspace.inputs(self.features), problem.workspace.graph(self.self_loops)
        model = model.to(x.device, x.dtype)
        model.attach(fact.tridiagonal)
        return Learner(
            model, shape, lambda nodes: model.on_graph(graph, x)[nodes], self.parameter_groups(model), self.stop_rule()
        )

    def _precomputes(self, model: SharedUniFilter, problem: Problem) -> bool:
        """Whether rows are computed before training."""
        if self.precompute is not None:
            return self.precompute
        return problem.workspace.vectors_fit(self.features, self.hops) and rows_are_faster(
            model,
            problem.workspace.inputs(self.features),
            problem.workspace.graph(self.self_loops),
            (len(problem.train), len(problem.val)),
            self.batch_size,
        )

    def _basis(self, tau: float | str | None, homophily: float | None) -> Basis:
        if self.basis == "uni":
            return make_basis("uni", tau=tau, homophily=homophily, formulation=self.formulation)
        if self.basis == "heterophily":
            return make_basis("heterophily", homophily=homophily, formulation=self.formulation)
        return make_basis(self.basis)

    def _learned_basis(self, homophily: float | None) -> LearnedUniBasis | None:
        if self.theta is not None:
            check_choice("theta", self.theta, ("learn",))
        learn_tau = self.tau == "learn"
        if not learn_tau and self.theta is None:
            return None
        if self.basis != "uni" or self.formulation != "paper":
            raise ValueError(
                'tau="learn" and theta="learn" are for basis="uni" in the paper\'s formulation: '
                f"not for basis={self.basis!r}, formulation={self.formulation!r}"
            )
        start = homophily or 0.0
        tau = start if self.tau is None or self.tau == "learn" else self.tau
        return LearnedUniBasis(tau, start, learn_tau, self.theta == "learn")


@dataclass(frozen=True, kw_only=True)
class _OneBasis(UniFilterMethod):
    """UniFilter on one basis, without a tau to mix two and without a basis to learn."""

    search_space = _SEARCHED
    further_search: ClassVar[Mapping[str, Sequence[Any]]] = {}


@dataclass(frozen=True, kw_only=True)
class HomFilterMethod(_OneBasis):
    """UniFilter on the homophily basis."""

    name: ClassVar[str] = "homfilter"
    basis: str | Basis | type[Basis] = "homophily"


@dataclass(frozen=True, kw_only=True)
class HetFilterMethod(_OneBasis):
    """UniFilter on the heterophily basis."""

    name: ClassVar[str] = "hetfilter"
    basis: str | Basis | type[Basis] = "heterophily"


@dataclass(frozen=True, kw_only=True)
class OrtFilterMethod(_OneBasis):
    """UniFilter on the orthonormal basis."""

    name: ClassVar[str] = "ortfilter"
    basis: str | Basis | type[Basis] = "orthonormal"
