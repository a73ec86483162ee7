"""The portfolio: methods of different kinds, trained one after the other, and the weighted mean of their outputs."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, get_args

import torch

from unifilter._internal.checks import check_choice, check_count
from unifilter._internal.time_limits import seconds_of
from unifilter.data import ArrayPreparation, TaskName, preparation_from_dict, scale_spread
from unifilter.methods.method import Learner, Method, ModelShape
from unifilter.methods.problem import Problem
from unifilter.nn.mixture import Member, Mixture
from unifilter.training import EitherPatience, Patience

Quality = Literal["fast", "good", "best"]
Rule = Literal["greedy", "mean", "best"]

# An upper bound on the members of a portfolio: at the end of a fit, the checkpoints of this many members are deleted.
_MOST_MEMBERS = 64
MOST_FOLDS = 20
# If the standard deviations of columns differ by more than this factor, the columns are standardized for all members.
WIDE_SPREAD = 1000.0
# If the vectors of a factorization have more bytes than this, members of UniFilter's kind share one recurrence for all
# columns: as accurate within a point, and an epoch takes a fraction of the time.
_MOST_VECTORS = 1 << 30
# With fewer validation nodes their scores say little about members and epochs, so that folds are used.
_FEW_NODES = 100
_FOLDS = 4


@dataclass(frozen=True)
class Entry:
    """A candidate member of the portfolio.

    Attributes:
        method: Name of the method.
        settings: Settings that differ from the method's defaults.
        level: Lowest quality at which the member is trained.
    """

    method: str
    settings: Mapping[str, Any]
    level: Quality


# The candidates of UniFilter, one member each: a high learning rate, less dropout and more dropout in the MLP, little
# dropout anywhere, and batch normalization.
_FAST_RATE = {"batch_norm": False, "dropout": 0.4, "basis_dropout": 0.3, "lr": 0.15, "weight_decay": 5e-4}
_MIDDLE = {"batch_norm": False, "dropout": 0.6, "basis_dropout": 0.2, "lr": 0.05, "weight_decay": 5e-4}
_MORE_DROPOUT = {"batch_norm": False, "dropout": 0.7, "basis_dropout": 0.5, "lr": 0.05, "weight_decay": 5e-4}
_LITTLE_DROPOUT = {"batch_norm": False, "dropout": 0.0, "basis_dropout": 0.4, "lr": 0.05, "weight_decay": 5e-4}
# Batch normalization with a low learning rate starts slowly, and often ends ahead of the others.
_NORMALIZED = {
    "batch_norm": True, "dropout": 0.6, "basis_dropout": 0.0, "lr": 0.01, "weight_decay": 5e-6, "patience": 200,
}  # fmt: skip
# With the labels as signals a lower learning rate is a good second setting.
_SLOW = {"batch_norm": False, "dropout": 0.4, "basis_dropout": 0.2, "lr": 0.01, "weight_decay": 5e-4}

# Sorted from cheap to expensive, because a time limit skips the last ones. docs/auto.md says which members pay off.
PORTFOLIO: tuple[Entry, ...] = (
    Entry("mlp", {}, "good"),
    Entry("acm-gcn", {}, "fast"),
    Entry("unifilter", _MIDDLE, "fast"),
    Entry("unifilter-labels", _MIDDLE, "fast"),
    Entry("gcn-res", {"hidden_channels": 128, "lr": 0.01}, "fast"),
    Entry("gprgnn", {}, "good"),
    Entry("linkx", {}, "good"),
    Entry("unifilter", _FAST_RATE, "good"),
    Entry("unifilter-labels", _SLOW, "good"),
    Entry("chebnet", {"hops": 2, "hidden_channels": 64}, "good"),
    Entry("unifilter", _NORMALIZED, "good"),
    Entry("unifilter", _MORE_DROPOUT, "good"),
    Entry("unifilter", _LITTLE_DROPOUT, "good"),
    Entry("gcn-res", {"hidden_channels": 64, "num_layers": 8, "dropout": 0.2, "lr": 0.01, "weight_decay": 0.0}, "good"),
    Entry("chebnetii", {}, "best"),
    Entry("sign", {"hops": 4}, "best"),
    Entry("unifilter", {**_MIDDLE, "tau": "learn", "theta": "learn"}, "best"),
)
# Epochs without a better validation score.
_PATIENCE: dict[Quality, int] = {"fast": 50, "good": 100, "best": 200}


@dataclass(frozen=True, kw_only=True)
class AutoMethod(Method):
    """A portfolio of methods and the weighted mean of their probabilities; see :class:`unifilter.nn.mixture.Mixture`.

    Members are trained one after the other, the cheapest first, and share the factorizations. The validation nodes give
    each member a temperature, and then a weight. With ``combine="greedy"``, selection with replacement finds the
    weights: it starts with the best member and repeatedly adds the member that improves the mean most. The selection
    runs twice, by the score and by the loss, and the two sets of weights are averaged. Members with weight 0 are
    dropped.

    The same seed gives the same model, except with a time limit, because the speed of runs varies. ``members`` and
    ``weights`` of the trained model's method list the trained members, and a method with these settings repeats the
    training without a limit.

    Attributes:
        features: ``"raw"`` lets every member scale features in its own way; any other scaling applies to all members.
            Columns with very different units are standardized for all members.
        optimizer: Optimizer of all members; ``"adam"`` lets every member use its own.
        epochs: Maximum number of epochs of each member; members with a smaller maximum of their own keep it.
        quality: ``"fast"`` trains few members and waits a short time for each to improve, ``"good"`` more, and
            ``"best"`` all of them.
        time_limit: Seconds, or a text such as ``"90s"``, ``"2min"`` or ``"1h"``. At the time limit, the members trained
            so far are combined. The first member is always trained for at least one epoch.
        inductive: Leave out members that cannot predict for new nodes.
        members: Members that replace the default portfolio: names of methods, or pairs of a name and settings.
        weights: Weights of the members; ``None`` finds the weights on the validation nodes.
        folds: Number of folds of the training and validation nodes. With 1, members learn from the training nodes, and
            the validation nodes decide. With more, each member is trained once per fold on all other folds, all of
            these networks are averaged, and the weights are found on the predictions for the held-out folds. ``None``
            takes 4 folds for fewer than 100 validation nodes and for ``quality="best"``, otherwise 1.
        combine: ``"greedy"``, ``"mean"`` for equal weights, or ``"best"`` for the best member alone.
    """

    name: ClassVar[str] = "auto"
    version: ClassVar[int] = 2
    paper: ClassVar[str] = "ours; the weights follow Caruana et al., Ensemble Selection from Libraries of Models, 2004"
    cost: ClassVar[str] = "that of its members, which share one factorization; a time limit bounds it"
    # Members set their own defaults for regression.
    for_numbers: ClassVar[Mapping[str, Any]] = {}

    quality: Quality = "good"
    time_limit: float | str | None = None
    inductive: bool = False
    members: tuple[Any, ...] | None = None
    weights: tuple[float, ...] | None = None
    folds: int | None = None
    combine: Rule = "greedy"

    def __post_init__(self) -> None:
        check_choice("quality", self.quality, get_args(Quality))
        check_choice("combine", self.combine, get_args(Rule))
        seconds_of(self.time_limit)
        if self.folds is not None:
            check_count("folds", self.folds, "1 keeps the training and validation nodes as they are")
            if self.folds > MOST_FOLDS:
                raise ValueError(f"folds is {self.folds}: at most {MOST_FOLDS} are possible")
        if self.members is not None:
            object.__setattr__(self, "members", tuple(map(_as_pair, self.members)))
            if not self.members:
                raise ValueError("members is empty: name at least one, or leave it out for the portfolio")
        if self.weights is not None:
            weights = tuple(map(float, self.weights))
            object.__setattr__(self, "weights", weights)
            if self.members is None or len(weights) != len(self.members):
                raise ValueError(
                    f"there are {len(weights)} weights for {len(self.members or ())} members: pass one for each"
                )
            if min(weights) < 0 or not math.isclose(sum(weights), 1, abs_tol=1e-6):
                raise ValueError(f"weights must not be negative and have a sum of 1, not {list(weights)}: rescale them")

    @property
    def seconds(self) -> float:
        """The time limit."""
        return seconds_of(self.time_limit)

    @property
    def transductive(self) -> bool:
        return any(self._family(name).with_settings(given).transductive for name, given in self.members or ())

    @property
    def input_scaling(self) -> Literal["raw"]:
        """Members scale features themselves."""
        return "raw"

    @property
    def most_trainings(self) -> int:
        return _MOST_MEMBERS * MOST_FOLDS

    def portfolio(self, problem: Problem) -> Sequence[Method]:
        given = self.members is not None
        entries = [(name, dict(settings)) for name, settings in self.members or self._entries()]
        directed = problem.dataset.graph.direction != "undirected"
        found: list[Method] = []
        for name, settings in entries:
            family = self._family(name)
            if problem.task.name not in family.tasks:
                _refuse_if(given, f"{name} is for {' and '.join(family.tasks)}, not for {problem.task.name}")
                continue
            for method in self._member(family, settings, problem).candidates():
                if self.inductive and method.transductive:
                    _refuse_if(given, f"{name} cannot predict for new nodes, and inductive=True asks for that")
                elif directed and not _takes_directed(method, problem):
                    _refuse_if(given, f"{name} is for undirected graphs")
                elif method not in found:
                    found.append(method)
        if not found:
            raise ValueError("the portfolio has no member for this problem: name some that can learn it")
        return found

    def _entries(self) -> list[tuple[str, Mapping[str, Any]]]:
        """Members of the portfolio at the chosen quality."""
        levels = get_args(Quality)
        wanted = levels[: levels.index(self.quality) + 1]
        return [(entry.method, entry.settings) for entry in PORTFOLIO if entry.level in wanted]

    def _member(self, family: type[Method], settings: dict[str, Any], problem: Problem) -> Method:
        """A member with the settings that the portfolio sets for all members."""
        task = problem.task.name
        known = {field.name for field in dataclasses.fields(family)}
        if self.members is None:
            patience = _PATIENCE[self.quality]
            settings = {**{name: patience for name in ("patience", "window") if name in known}, **settings}
            if task == "regression":  # dropout distorts the scale of regression outputs
                settings = {name: value for name, value in settings.items() if not name.endswith("dropout")}
            if "homophily" in known and not _has_homophily(problem):
                settings["homophily"] = 0.5  # has no effect without edges
            if "channels" in known and _vector_bytes(family, problem) > _MOST_VECTORS:
                settings["channels"] = "shared"
            scaling = "standard" if _in_different_units(problem) else self.features
            if scaling != "raw":
                settings["features"] = scaling
        start = family.preset(None, "none", task=task, metric=self.metric)
        method = family.with_settings({**start.settings(), **settings, "metric": self.metric, "seed": self.seed})
        changes: dict[str, Any] = {"epochs": min(method.epochs, self.epochs)}
        if self.batch_size is not None:
            changes["batch_size"] = self.batch_size
        if self.optimizer != "adam":
            changes["optimizer"] = self.optimizer
        return replace(method, **changes)

    def stop_for(self, problem: Problem) -> EitherPatience | None:
        """One stop rule for all members if there are few validation nodes; ``None`` keeps the rule of each member.

        Many epochs have the same score on few nodes, and the loss decides among them. The lowest loss alone is no good:
        deep networks soon become too certain, so that their loss rises while their score does too.
        """
        return EitherPatience(_PATIENCE[self.quality]) if len(problem.val) < _FEW_NODES else None

    def folds_for(self, problem: Problem) -> int:
        """Number of folds."""
        if self.folds is not None:
            return self.folds
        wanted = len(problem.val) < _FEW_NODES or self.quality == "best"
        return _FOLDS if wanted and len(problem.train) >= _FOLDS else 1

    def with_members(self, members: Sequence[Method], weights: Sequence[float], folds: int) -> AutoMethod:
        """The method with its members, their weights and the number of folds filled in."""
        pairs = tuple((member.name, member.plain_settings()) for member in members)
        return replace(self, members=pairs, weights=tuple(float(weight) for weight in weights), folds=folds)

    def filled(self) -> list[Method]:
        """The networks' methods of a trained model: each member, once per fold."""
        return [
            self._family(name).from_plain(settings)
            for name, settings in self.members or ()
            for _ in range(self.folds or 1)
        ]

    def build(self, problem: Problem) -> Learner:
        """Untrained members to be trained together; only the first member of an open portfolio."""
        members = self.filled() if self.members is not None else list(self.portfolio(problem)[:1])
        members = [member.candidates()[0] for member in members]
        return self.mixture([(problem, member, member.build(problem)) for member in members])

    def mixture(self, trained: Sequence[tuple[Problem, Method, Learner]]) -> Learner:
        """One learner from the problem, the method and the learner of every network, in the order of :meth:`filled`."""
        problem, members, learners = trained[0][0], [one[1] for one in trained], [one[2] for one in trained]
        facts: list[dict[str, Any]] = [
            {"preparation": _scaling_of(member, own), "facts": dict(learner.shape.facts)}
            for own, member, learner in trained
        ]
        homophily = [one["facts"]["homophily"] for one in facts if one["facts"].get("homophily") is not None]
        known = {
            "task": problem.task.name,
            "members": facts,
            **({"homophily": homophily[0]} if homophily else {}),
            **({"num_nodes": problem.dataset.num_nodes} if any(member.transductive for member in members) else {}),
        }
        shape = ModelShape(problem.num_features("raw"), problem.task.num_outputs, known)
        parts = [Member(learner.model, _preparation(one)) for learner, one in zip(learners, facts, strict=True)]
        model = Mixture(parts, problem.task.name)
        first = next(learners[0].model.parameters())
        model.weights, model.temperatures = (one.to(first) for one in (model.weights, model.temperatures))
        folds = self.folds or 1
        if self.weights is not None and len(self.weights) * folds == len(parts):
            model.weights = torch.tensor(self.weights).repeat_interleave(folds).to(first) / folds
        return Learner(
            model,
            shape,
            lambda nodes: model.combined([learner.forward(nodes) for learner in learners]),
            [group for learner in learners for group in learner.parameter_groups],
            Patience(_PATIENCE[self.quality]),
            row_wise=all(learner.row_wise for learner in learners),
        )

    def network(self, shape: ModelShape) -> Mixture:
        facts = shape.facts["members"]
        members = self.filled()
        if len(facts) != len(members):
            raise ValueError(f"there are {len(members)} members and facts of {len(facts)}")
        parts = []
        for method, one in zip(members, facts, strict=True):
            own = ModelShape(shape.in_channels, shape.num_outputs, one["facts"])
            parts.append(Member(method.network(own), _preparation(one)))
        check_choice("task", shape.facts["task"], get_args(TaskName))
        return Mixture(parts, shape.facts["task"])

    @staticmethod
    def _family(name: str) -> type[Method]:
        from unifilter.methods import find_method  # the table names this method too

        family = find_method(name)
        if issubclass(family, AutoMethod):
            raise ValueError("a portfolio cannot be a member of itself: name other methods")
        return family


def member_names(members: Sequence[Method]) -> list[str]:
    """Names of members: the name of the method, with a number if several members share the method."""
    found: list[str] = []
    for number, member in enumerate(members):
        before = sum(other.name == member.name for other in members[:number])
        found.append(f"{member.name} {before + 1}" if before else member.name)
    return found


def _as_pair(member: Any) -> tuple[str, dict[str, Any]]:
    """A member as its name and settings."""
    if isinstance(member, Method):
        return member.name, member.plain_settings()
    if isinstance(member, str):
        return member, {}
    if isinstance(member, (tuple, list)) and len(member) == 2:
        name, settings = member
        if isinstance(name, str) and isinstance(settings, Mapping):
            return name, dict(settings)
    raise ValueError(f"a member is {member!r}: pass the name of a method, or a pair of a name and a dict of settings")


def _refuse_if(given: bool, reason: str) -> None:
    """Raise an error for an unsuitable member that the user named; other unsuitable members are skipped."""
    if given:
        raise ValueError(f"{reason}: leave it out of the members")


def _has_homophily(problem: Problem) -> bool:
    """Whether some edge joins two training nodes, as the estimate of the homophily requires."""
    try:
        problem.estimate_homophily()
    except ValueError:
        return False
    return True


def _in_different_units(problem: Problem) -> bool:
    dataset = problem.dataset
    if dataset.table is not None or dataset.feature_scaling != "raw" or dataset.features.layout != torch.strided:
        return False
    return scale_spread(dataset.features) > WIDE_SPREAD


def _vector_bytes(family: type[Method], problem: Problem) -> int:
    """Size of the vectors of a factorization with the default number of hops."""
    hops: int = family().settings()["hops"]
    return 4 * problem.dataset.num_nodes * problem.num_features("raw") * (hops + 1)


def _takes_directed(method: Method, problem: Problem) -> bool:
    facts = {"num_nodes": problem.dataset.num_nodes, "homophily": 0.5, "tau": 0.5}
    with torch.device("meta"):
        network = method.network(ModelShape(problem.num_features("raw"), problem.task.num_outputs, facts))
    return network.takes_directed


def _scaling_of(method: Method, problem: Problem) -> dict[str, Any] | None:
    """The scaling of arrays for a member. Tables are already encoded."""
    preparation = problem.workspace.preparation(method.features)
    if not isinstance(preparation, ArrayPreparation) or preparation.scaling == "raw":
        return None
    return preparation.to_dict()


def _preparation(facts: Mapping[str, Any]) -> ArrayPreparation | None:
    if facts["preparation"] is None:
        return None
    found = preparation_from_dict(facts["preparation"])
    if not isinstance(found, ArrayPreparation):
        raise ValueError("a member has a table of its own")
    return found
