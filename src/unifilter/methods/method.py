"""What a method is: a dataclass of its hyper-parameters that builds something trainable."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, get_args, get_type_hints

from torch import Tensor, nn
from typing_extensions import Self

from unifilter._internal.extras import require
from unifilter.data import FeatureScaling
from unifilter.methods.problem import Problem
from unifilter.training import Optimisation, StopRule
from unifilter.training.metrics import Metric

# What a setting of a plain kind may be; the others are checked by whoever uses them.
_KINDS: dict[Any, tuple[type, str]] = {
    float: (Real, "a number"),
    int: (Integral, "a whole number"),
    bool: (bool, "true or false"),
}


@dataclass
class Learner:
    """A model on a problem, ready to be trained.

    Attributes:
        model: The module; its parameters are what is saved.
        forward: Logits of some nodes.
        parameter_groups: For the optimiser.
        stop: The stop rule.
        response: The learned filter as a function of the Laplacian eigenvalue, ``[..., channels]``, for methods that
            have one.
        lanczos_weights: The learned filter on the Lanczos vectors, ``[hops + 1, channels]``, for methods on a
            factorisation: with the tridiagonal it is all that prediction on another graph needs.
        facts: What the method found out before training, such as the estimated homophily.
        solve: Sets the model's weights from some nodes, for methods that are not trained by gradient; the groups and
            the stop rule are then not used.
        refit: Whether to solve once more on training and validation nodes, after the validation score was taken.
    """

    model: nn.Module
    forward: Callable[[Tensor], Tensor]
    parameter_groups: list[dict[str, Any]]
    stop: StopRule
    response: Callable[[Tensor], Tensor] | None = None
    lanczos_weights: Callable[[], Tensor] | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    solve: Callable[[Tensor], None] | None = None
    refit: bool = False


@dataclass(frozen=True, kw_only=True)
class Method(ABC):
    """A method with its hyper-parameters: one small file each, with its published settings as presets.

    A subclass adds its hyper-parameters as fields and says in :meth:`build` what they build; nothing else changes.
    """

    name: ClassVar[str]
    paper: ClassVar[str]
    cost: ClassVar[str]
    needs: ClassVar[str] = "nothing"
    # The extra of this package that brings it, such as "pyg".
    extra: ClassVar[str] = ""
    # Raise it when the same settings give other results than before: stored results of older versions no longer count.
    version: ClassVar[int] = 1
    # Settings per data set, as published.
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    # What replaces them where they fall short here: chosen on validation nodes, from the published search space.
    tuned: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    # Values that `unifilter tune` chooses among; a setting that is not here keeps its default.
    search_space: ClassVar[Mapping[str, Sequence[Any]]] = {}

    features: FeatureScaling = "raw"
    epochs: int = 1000
    optimizer: Literal["adam", "adamw"] = "adam"
    batch_size: int | None = None
    metric: Metric = "accuracy"
    seed: int = 51290

    @abstractmethod
    def build(self, problem: Problem) -> Learner:
        """A fresh model for the problem. Its initial weights come from torch's generator, which is seeded.

        Where settings are left open it is that of the first candidate.
        """

    def candidates(self) -> Sequence[Self]:
        """What is trained, the best on the validation nodes to be kept: itself, unless some setting is left open."""
        return (self,)

    @classmethod
    def check_installed(cls) -> None:
        """Refuses a method whose extra is not installed. Call it where a method is chosen, before any work."""
        if cls.extra:
            require(cls.extra, what=f"the method {cls.name}")

    def optimisation(self) -> Optimisation:
        return Optimisation(self.epochs, self.optimizer, self.batch_size, self.metric, self.seed)

    @classmethod
    def preset(cls, dataset: str, **changes: Any) -> Self:
        """The published settings for a data set, where there are any, else the defaults; with changes of your own."""
        return cls.with_settings({**cls.presets.get(dataset, {}), **changes})

    @classmethod
    def with_settings(cls, settings: Mapping[str, Any]) -> Self:
        """A method with some settings changed from the defaults; they may come from a file or a command line."""
        known = [field.name for field in dataclasses.fields(cls)]
        kinds = get_type_hints(cls)
        for name, value in settings.items():
            if name not in known:
                raise ValueError(f"{cls.name} has no setting {name!r}: it has {', '.join(known)}")
            plain = [kind for kind in (get_args(kinds[name]) or (kinds[name],)) if kind is not type(None)]
            kind, what = _KINDS.get(plain[0], (object, "")) if len(plain) == 1 else (object, "")
            if value is None and type(None) in get_args(kinds[name]):
                continue
            if not isinstance(value, kind) or (isinstance(value, bool) and plain[0] in (int, float)):
                raise ValueError(f"the setting {name} of {cls.name} must be {what}, not {value!r}")
        return cls(**settings)

    def settings(self) -> dict[str, Any]:
        """Every hyper-parameter by its name."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
