"""What a method is: a dataclass of its hyper-parameters that builds something trainable."""

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

# What a setting of a plain kind may be; the others are checked by whoever uses them.
_KINDS: dict[Any, tuple[type, str]] = {
    float: (Real, "a number"),
    int: (Integral, "a whole number"),
    bool: (bool, "true or false"),
}

Preset = Literal["published", "tuned", "none"]


@dataclass(frozen=True)
class ModelShape:
    """All that a method has to know of the data to build its network.

    Attributes:
        in_channels: Number of features.
        num_outputs: Number of outputs: of classes, labels or targets.
        facts: Quantities estimated before training, such as the homophily; for a transductive method ``num_nodes``.
    """

    in_channels: int
    num_outputs: int
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass
class Learner:
    """A model on a problem, ready to be trained.

    Attributes:
        model: The network; its parameters and buffers are what is saved.
        shape: What it was built for.
        forward: Logits of some nodes of the problem, by the shortest way.
        parameter_groups: For the optimizer.
        stop: The stop rule.
        finish: Called once after training, for a model that looks at its data a last time.
        solve: Sets the model's weights from some nodes, for methods that are not trained by gradient; the groups and
            the stop rule are then not used.
        refit: Whether to solve once more on training and validation nodes, after the validation score was taken.
        row_wise: Whether ``forward`` computes the rows of the given nodes alone, so that a few nodes cost little.
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
    """A method with its hyper-parameters: one small file each, with its published settings as presets.

    A subclass adds its hyper-parameters as fields and says in :meth:`network` what they build. That is all for a model
    that is trained on whole graphs; one that can precompute something overrides :meth:`build` too.

    Attributes:
        features: How arrays are scaled: not at all (``"raw"``), rows divided by the sum of their absolute values
            (``"row"``) or by their length (``"l2"``), or columns with mean 0 and deviation 1 over the training nodes
            (``"standard"``). Tables are encoded and scaled by the kinds of their columns instead.
        epochs: Maximum number of epochs.
        optimizer: ``"adam"``, ``"adamw"``, or plain gradient descent, ``"sgd"``.
        batch_size: Training nodes per step; ``None`` takes all at once.
        metric: What is measured on the validation nodes. For classes ``"accuracy"``, ``"balanced_accuracy"``,
            ``"macro_f1"`` or ``"roc_auc"``; for several labels per node also ``"micro_f1"``; for numbers ``"r2"``,
            ``"neg_rmse"`` or ``"neg_mae"``.
        seed: Random seed of initial weights, dropout and batches: the same seed gives the same model.
    """

    name: ClassVar[str]
    paper: ClassVar[str] = ""
    cost: ClassVar[str] = ""
    needs: ClassVar[str] = "nothing"
    # The extra of this package that brings it, such as "pyg".
    extra: ClassVar[str] = ""
    # What it can learn.
    tasks: ClassVar[tuple[TaskName, ...]] = ("classification", "multilabel", "regression")
    # Settings whose default differs where numbers are learned.
    for_numbers: ClassVar[Mapping[str, Any]] = {}
    # Raise it when the same settings give other results than before: stored results of older versions no longer count.
    version: ClassVar[int] = 1
    # Settings that came later, each with the value at which the method does what it did without: stored results do not
    # mention them there.
    later_settings: ClassVar[Mapping[str, Any]] = {}
    # Settings per data set, as published. Under "cora/48" are those for the 48/32/20 masks of Cora, and under "cora"
    # those for its other splits, and for the masks where nothing else is published.
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    # What replaces them where they fall short here: chosen on validation nodes, from the published search space. The
    # keys are those of the presets.
    tuned: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    # Values that `unifilter tune` chooses among; a setting that is not here keeps its default.
    search_space: ClassVar[Mapping[str, Sequence[Any]]] = {}
    # Further values that it chooses among, which no paper searched.
    further_search: ClassVar[Mapping[str, Sequence[Any]]] = {}

    features: FeatureScaling = "raw"
    epochs: int = 1000
    optimizer: Optimizer = "adam"
    batch_size: int | None = None
    metric: Metric = "accuracy"
    seed: int = 51290

    @abstractmethod
    def network(self, shape: ModelShape) -> GraphModule:
        """An untrained model. Its initial weights come from torch's generator, which is seeded."""

    @property
    def transductive(self) -> bool:
        """Whether it learns weights for the very nodes of its graph, and so cannot predict for any others."""
        return False

    def facts(self, problem: Problem) -> dict[str, Any]:
        """Quantities that are estimated before training and stored with the model."""
        return {"num_nodes": problem.dataset.num_nodes} if self.transductive else {}

    def parameter_groups(self, model: Any) -> list[dict[str, Any]]:
        """Groups for the optimizer; by default one, with the settings ``lr`` and ``weight_decay``."""
        rates = {name: value for name in ("lr", "weight_decay") if (value := getattr(self, name, None)) is not None}
        return [{"params": list(model.parameters()), **rates}]

    def stop_rule(self) -> StopRule:
        """When training ends; by default after ``patience`` epochs (200) without a better validation score."""
        return Patience(getattr(self, "patience", 200))

    def build(self, problem: Problem) -> Learner:
        """A fresh model for the problem, with a forward pass over the whole graph.

        Where settings are left open it is that of the first candidate.
        """
        x, shape = problem.workspace.inputs(self.features), self.shape(problem)
        model = self.network(shape).to(x.device, x.dtype)
        graph = problem.workspace.graph(model.self_loops)
        return Learner(
            model, shape, lambda nodes: model(x, graph)[nodes], self.parameter_groups(model), self.stop_rule()
        )

    def shape(self, problem: Problem) -> ModelShape:
        return ModelShape(problem.num_features(self.features), problem.task.num_outputs, self.facts(problem))

    def candidates(self) -> Sequence[Self]:
        """What is trained, the best on the validation nodes to be kept: itself, unless some setting is left open."""
        return (self,)

    @classmethod
    def check_installed(cls) -> None:
        """Refuses a method whose extra is not installed. Call it where a method is chosen, before any work."""
        if cls.extra:
            require(cls.extra, what=f"the method {cls.name}")

    def optimization(self) -> Optimization:
        """How the weights are found, by the settings above, and by ``lr_decay`` where a method has it."""
        lr_decay = getattr(self, "lr_decay", 0.0)
        return Optimization(self.epochs, self.optimizer, self.batch_size, self.metric, self.seed, lr_decay)

    @classmethod
    def task_defaults(cls, task: TaskName) -> dict[str, Any]:
        """Settings whose default differs for a task.

        For numbers there is no dropout, which spoils their size, and columns are standardized instead of rows scaled,
        which loses it.
        """
        if task != "regression":
            return {}
        rates = [field for field in dataclasses.fields(cls) if field.name.endswith("dropout")]
        # A setting that is true or false says where there is dropout, not how much.
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
        """The settings for a data set.

        Args:
            dataset: Its name; ``None`` or a name without settings gives the defaults.
            kind: ``"published"`` settings, those ``"tuned"`` here on top of them, or ``"none"``, the defaults.
            split: The rule of its splits, such as ``"48"``: some settings were published for certain splits.
            task: What is learned.
            metric: What to measure, unless the settings say; by default the first of the task.
            changes: Settings of your own, which come before all others.
        """
        check_choice("kind", kind, get_args(Preset))
        published = settings_for(cls.presets, dataset, split) if kind != "none" else {}
        tuned = settings_for(cls.tuned, dataset, split) if kind == "tuned" else {}
        start = {**cls.task_defaults(task), "metric": TASK_METRICS[task][0] if metric is None else metric}
        return cls.with_settings({**start, **published, **tuned, **changes})

    @classmethod
    def with_settings(cls, settings: Mapping[str, Any]) -> Self:
        """A method with some settings changed from the defaults; they may come from a file or a command line."""
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
        """Every hyper-parameter by its name."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}

    def plain_settings(self) -> dict[str, Any]:
        """The same as JSON holds it; :meth:`from_plain` makes the method from it again."""
        return {name: plain(_built(value)) for name, value in self.settings().items()}

    @classmethod
    def from_plain(cls, settings: Mapping[str, Any]) -> Self:
        """The method that :meth:`plain_settings` described."""
        return cls.with_settings({name: _unplain(value) for name, value in settings.items()})


def settings_for(known: Mapping[str, Mapping[str, Any]], dataset: str | None, split: str | None) -> Mapping[str, Any]:
    """Those for the data set and the split, or else those for the data set, or else none."""
    if dataset is None:
        return {}
    if split is not None and (key := f"{dataset}/{short_split_name(split)}") in known:
        return known[key]
    return known.get(dataset, {})


def _built(value: Any) -> Any:
    """A basis that is given as a class is stored as one of its kind."""
    return make_basis(value) if isinstance(value, type) and issubclass(value, Basis) else value


def _unplain(value: Any) -> Any:
    if isinstance(value, dict) and value.keys() == {"name", "parameters"}:
        return basis_from_dict(value)
    return tuple(value) if isinstance(value, list) else value
