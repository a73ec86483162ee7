"""Base class of methods: a dataclass of hyperparameters that builds a trainable model."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, get_args, get_type_hints

from torch import Tensor
from typing_extensions import Self

from unifilter._internal.checks import check_choice
from unifilter._internal.extras import require
from unifilter._internal.plain import plain
from unifilter.bases import Basis, basis_from_dict, make_basis
from unifilter.data import TASK_METRICS, FeatureScaling, Metric, TaskName, short_split_name
from unifilter.methods.problem import Problem
from unifilter.nn import GraphModule
from unifilter.training import Optimization, Optimizer, Patience, StopRule

# Allowed values of settings with a plain type. Other settings are checked where they are used.
_KINDS: dict[Any, tuple[type, str]] = {
    float: (Real, "a number"),
    int: (Integral, "a whole number"),
    bool: (bool, "true or false"),
}

Preset = Literal["published", "tuned", "none"]


@dataclass(frozen=True)
class ModelShape:
    """Properties of the data that a method needs to build its network.

    Attributes:
        in_channels: Number of features.
        num_outputs: Number of classes, labels or targets.
        facts: Quantities estimated before training, such as the homophily; for a transductive method ``num_nodes``.
    """

    in_channels: int
    num_outputs: int
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass
class Learner:
    """A model for a problem, ready to be trained.

    Attributes:
        model: The network. Its parameters and buffers are saved.
        shape: The properties of the data it was built for.
        forward: Computes the logits of some nodes of the problem as fast as possible.
        parameter_groups: Parameter groups of the optimizer.
        stop: The early stopping rule.
        finish: Called once after training, for a model that needs its data once more.
        solve: Sets the model's weights from some nodes, for methods that are not trained by gradient. Parameter groups
            and stopping rule are then ignored.
        refit: Whether to solve again on training and validation nodes after computing the validation score.
        row_wise: Whether ``forward`` computes only the rows of the given nodes, so that few nodes are cheap.
        everywhere: Outputs of all nodes, for a ``forward`` that only knows the nodes it is trained on.
        announce: Told which nodes ``forward`` will be asked for next, batch by batch, to read their rows ahead.
    """

    model: GraphModule
    shape: ModelShape
    forward: Callable[[Tensor], Tensor]
    parameter_groups: list[dict[str, Any]]
    stop: StopRule
    finish: Callable[[], None] | None = None
    solve: Callable[[Tensor], None] | None = None
    refit: bool = False
    row_wise: bool = False
    everywhere: Callable[[], Tensor] | None = None
    announce: Callable[[Sequence[Tensor]], None] | None = None


@dataclass(frozen=True, kw_only=True)
class Method(ABC):
    """A method with its hyperparameters and published settings. Each method has a small file of its own.

    A subclass adds its hyperparameters as fields and builds its network in :meth:`network`. This is enough for a model
    that is trained on whole graphs. A model that can precompute something also overrides :meth:`build`.

    Attributes:
        features: Feature scaling: none (``"raw"``), rows divided by the sum of their absolute values (``"row"``) or by
            their norm (``"l2"``), or columns with mean 0 and standard deviation 1 over the training nodes
            (``"standard"``). Tables are encoded and scaled by the types of their columns instead.
        epochs: Maximum number of epochs.
        optimizer: ``"adam"``, ``"adamw"``, or plain gradient descent, ``"sgd"``.
        batch_size: Training nodes per step; ``None`` uses all at once.
        metric: Metric on the validation nodes. For classification ``"accuracy"``, ``"balanced_accuracy"``,
            ``"macro_f1"`` or ``"roc_auc"``; for multilabel classification also ``"micro_f1"``; for regression ``"r2"``,
            ``"neg_rmse"`` or ``"neg_mae"``.
        seed: Random seed for initial weights, dropout and batches.
    """

    name: ClassVar[str]
    paper: ClassVar[str] = ""
    cost: ClassVar[str] = ""
    needs: ClassVar[str] = "nothing"
    # The extra of this package that the method needs, such as "pyg".
    extra: ClassVar[str] = ""
    # Supported tasks.
    tasks: ClassVar[tuple[TaskName, ...]] = ("classification", "multilabel", "regression")
    # Settings with a different default for regression.
    for_numbers: ClassVar[Mapping[str, Any]] = {}
    # Raise this when the same settings give different results: stored results of older versions are then ignored.
    version: ClassVar[int] = 1
    # Settings that were added later, each with the value that keeps the old behavior. Stored results omit a setting
    # with this value.
    later_settings: ClassVar[Mapping[str, Any]] = {}
    # Published settings per data set. "cora/48" has the settings for the 48/32/20 masks of Cora. "cora" has the
    # settings for the other splits, and for the masks without settings of their own.
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    # Settings that replace presets with lower accuracy here than published: selected on validation nodes, from the
    # published search space. The keys are those of the presets.
    tuned: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    # Values that `unifilter tune` tries. Settings that are not listed keep their default.
    search_space: ClassVar[Mapping[str, Sequence[Any]]] = {}
    # Further values to try, outside the search spaces of the papers.
    further_search: ClassVar[Mapping[str, Sequence[Any]]] = {}

    features: FeatureScaling = "raw"
    epochs: int = 1000
    optimizer: Optimizer = "adam"
    batch_size: int | None = None
    metric: Metric = "accuracy"
    seed: int = 51290

    @abstractmethod
    def network(self, shape: ModelShape) -> GraphModule:
        """Build an untrained network. Initial weights come from torch's random generator, which is seeded."""

    @property
    def transductive(self) -> bool:
        """Whether the method learns a weight for every node, so that it cannot predict for other graphs."""
        return False

    def facts(self, problem: Problem) -> dict[str, Any]:
        """Quantities estimated before training and stored with the model."""
        return {"num_nodes": problem.dataset.num_nodes} if self.transductive else {}

    def parameter_groups(self, model: Any) -> list[dict[str, Any]]:
        """Parameter groups of the optimizer. Default: one group with the settings ``lr`` and ``weight_decay``."""
        rates = {name: value for name in ("lr", "weight_decay") if (value := getattr(self, name, None)) is not None}
        return [{"params": list(model.parameters()), **rates}]

    def stop_rule(self) -> StopRule:
        """The early stopping rule. Default: stop after ``patience`` (200) epochs without a better validation score."""
        return Patience(getattr(self, "patience", 200))

    def build(self, problem: Problem) -> Learner:
        """A fresh model for the problem, with a forward pass over the whole graph.

        If settings are open, the model is that of the first candidate.
        """
        x, shape = problem.workspace.inputs(self.features), self.shape(problem)
        model = self.network(shape).to(x.device, x.dtype)
        graph = problem.workspace.graph(model.self_loops)
        return Learner(
            model, shape, lambda nodes: model(x, graph)[nodes], self.parameter_groups(model), self.stop_rule()
        )

    def shape(self, problem: Problem) -> ModelShape:
        return ModelShape(problem.num_features(self.features), problem.task.num_outputs, self.facts(problem))

    @property
    def input_scaling(self) -> FeatureScaling:
        """The scaling of the network's input features."""
        return self.features

    def candidates(self) -> Sequence[Self]:
        """Candidates to train. The best one on the validation nodes is kept. Default: the method itself."""
        return (self,)

    def portfolio(self, problem: Problem) -> Sequence[Method] | None:
        """Methods to train and combine in place of this method; ``None`` trains the method itself."""
        return None

    @property
    def most_trainings(self) -> int:
        """Maximum number of models that are trained, one after the other."""
        return len(self.candidates())

    @classmethod
    def check_installed(cls) -> None:
        """Raise an error if the extra of the method is not installed. Call this before any work."""
        if cls.extra:
            require(cls.extra, what=f"the method {cls.name}")

    def optimization(self) -> Optimization:
        """Settings of the optimization, including ``lr_decay`` if the method has it."""
        lr_decay = getattr(self, "lr_decay", 0.0)
        return Optimization(self.epochs, self.optimizer, self.batch_size, self.metric, self.seed, lr_decay)

    @classmethod
    def task_defaults(cls, task: TaskName) -> dict[str, Any]:
        """Settings whose default differs for a task.

        Regression uses no dropout, because dropout distorts the scale of outputs, and standardizes columns instead of
        scaling rows, because scaling rows loses their size.
        """
        if task != "regression":
            return {}
        rates = [field for field in dataclasses.fields(cls) if field.name.endswith("dropout")]
        # A Boolean setting says where dropout is applied, not its rate.
        dropouts = {field.name: 0.0 for field in rates if not isinstance(field.default, bool)}
        return {"metric": TASK_METRICS[task][0], "features": "standard", **dropouts, **cls.for_numbers}

    @classmethod
    def preset(
        cls,
        dataset: str | None,
        kind: Preset = "published",
        *,
        split: str | None = None,
        task: TaskName = "classification",
        metric: Metric | None = None,
        **changes: Any,
    ) -> Self:
        """Return the method with the settings for a data set.

        Args:
            dataset: Name of the data set; ``None`` or a name without settings gives the defaults.
            kind: ``"published"`` settings, settings ``"tuned"`` here on top of them, or ``"none"`` for the defaults.
            split: Split rule, such as ``"48"``, because some settings were published for certain splits.
            task: The learning task.
            metric: The metric, if the settings do not define it. Default: the first one of the task.
            changes: Your own settings, which take precedence.
        """
        check_choice("kind", kind, get_args(Preset))
        published = settings_for(cls.presets, dataset, split) if kind != "none" else {}
        tuned = settings_for(cls.tuned, dataset, split) if kind == "tuned" else {}
        start = {**cls.task_defaults(task), "metric": TASK_METRICS[task][0] if metric is None else metric}
        return cls.with_settings({**start, **published, **tuned, **changes})

    @classmethod
    def with_settings(cls, settings: Mapping[str, Any]) -> Self:
        """A method with some settings changed from the defaults. Values from files and command lines are accepted."""
        known = [field.name for field in dataclasses.fields(cls)]
        kinds = get_type_hints(cls)
        for name, value in settings.items():
            if name not in known:
                raise ValueError(f"{cls.name} has no setting {name!r}: it has {', '.join(known)}")
            allowed = [kind for kind in (get_args(kinds[name]) or (kinds[name],)) if kind is not type(None)]
            kind, what = _KINDS.get(allowed[0], (object, "")) if len(allowed) == 1 else (object, "")
            if value is None and type(None) in get_args(kinds[name]):
                continue
            if not isinstance(value, kind) or (isinstance(value, bool) and allowed[0] in (int, float)):
                raise ValueError(f"the setting {name} of {cls.name} must be {what}, not {value!r}")
        return cls(**settings)

    def settings(self) -> dict[str, Any]:
        """All hyperparameters by name."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}

    def plain_settings(self) -> dict[str, Any]:
        """All hyperparameters as JSON values, for :meth:`from_plain`."""
        return {name: plain(_built(value)) for name, value in self.settings().items()}

    @classmethod
    def from_plain(cls, settings: Mapping[str, Any]) -> Self:
        """Restore a method from :meth:`plain_settings`."""
        return cls.with_settings({name: _unplain(value) for name, value in settings.items()})


def settings_for(known: Mapping[str, Mapping[str, Any]], dataset: str | None, split: str | None) -> Mapping[str, Any]:
    """The settings for the data set and the split, otherwise those for the data set, otherwise none."""
    if dataset is None:
        return {}
    if split is not None and (key := f"{dataset}/{short_split_name(split)}") in known:
        return known[key]
    return known.get(dataset, {})


def _built(value: Any) -> Any:
    """Convert a basis class to an instance of it; other values stay as they are."""
    return make_basis(value) if isinstance(value, type) and issubclass(value, Basis) else value


def _unplain(value: Any) -> Any:
    if isinstance(value, dict) and value.keys() == {"name", "parameters"}:
        return basis_from_dict(value)
    return tuple(value) if isinstance(value, list) else value
