"""Estimators for UniFilter with explicit parameters."""

from __future__ import annotations

import inspect
import os
from typing import Any

from typing_extensions import Self

from unifilter.estimators.node_classifier import NodeClassifier
from unifilter.estimators.node_estimator import NodeEstimator
from unifilter.estimators.node_regressor import NodeRegressor
from unifilter.estimators.settings_signature import settings_doc, settings_signature
from unifilter.estimators.trained_model import TrainedModel
from unifilter.methods import Method
from unifilter.methods.uni_filter import UniFilterMethod


class _WithUniFilter(NodeEstimator):
    """An estimator with the fixed method UniFilter."""

    def __init__(self, **parameters: Any) -> None:
        self._refuse_method(parameters)
        super().__init__(UniFilterMethod, **parameters)

    @property
    def _family(self) -> type[Method]:
        return UniFilterMethod

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """All parameters by name."""
        return {name: value for name, value in super().get_params(deep).items() if name != "method"}

    def set_params(self, **params: Any) -> Self:
        """Change parameters. If a name is invalid, nothing is changed."""
        self._refuse_method(params)
        return super().set_params(**params)

    @classmethod
    def _for(cls, model: TrainedModel, path: str | os.PathLike[str]) -> Self:
        if not isinstance(model.method, UniFilterMethod):
            raise ValueError(
                f"{path} contains a model of the method {model.method.name!r}: load it with {_general(cls)}.load"
            )
        return cls(dtype=model.precision, **model.requested.settings())

    @classmethod
    def _refuse_method(cls, parameters: dict[str, Any]) -> None:
        if "method" in parameters:
            raise ValueError(
                f"{cls.__name__} has no parameter 'method': use {_general(cls)}(method=\"...\") for another method"
            )


class UniFilterClassifier(_WithUniFilter, NodeClassifier):
    """Node classification with UniFilter.

    This is ``NodeClassifier("unifilter")`` with explicit parameters. Refitting with another tau, homophily, basis or a
    smaller number of hops on the same graph and features reuses their factorization.

    The regularization that an MLP needs differs from graph to graph. If ``batch_norm``, ``dropout``, ``basis_dropout``,
    ``lr`` and ``weight_decay`` are ``None``, five configurations are trained one after the other, four without batch
    normalization and one with, and the best on the validation nodes is kept: see ``chosen_``. Values that are given
    apply to all configurations; give all five to train only once.

    Example:
        >>> from unifilter import UniFilterClassifier
        >>> from unifilter.datasets import load_dataset
        >>> karate = load_dataset("karate")
        >>> clf = UniFilterClassifier(hops=4, epochs=50, monitor="loss")  # more stable with few validation nodes
        >>> clf.fit(karate.graph, karate.features, karate.labels, train=range(0, 34, 2)).predict([1, 33])
        array([0, 1])
    """

    def __init__(self, **parameters: Any) -> None:
        super().__init__(**parameters)


class UniFilterRegressor(_WithUniFilter, NodeRegressor):
    """Node regression with UniFilter.

    This is ``NodeRegressor("unifilter")`` with explicit parameters.

    Example:
        >>> from unifilter import UniFilterRegressor
        >>> from unifilter.datasets import load_dataset
        >>> digits = load_dataset("digits")
        >>> ink = digits.features.sum(dim=1)  # amount of ink
        >>> reg = UniFilterRegressor(hops=4, epochs=200)
        >>> reg.fit(digits.graph, digits.features, ink, train=range(0, 1797, 2)).score(ink, range(1, 1797, 2)) > 0.9
        True
    """

    def __init__(self, **parameters: Any) -> None:
        super().__init__(**parameters)


def _general(cls: type) -> str:
    return "NodeRegressor" if issubclass(cls, NodeRegressor) else "NodeClassifier"


def _spell_out(estimator: type[NodeEstimator], base: type[NodeEstimator]) -> None:
    """Set the signature and the documentation of the parameters from where they are defined."""
    options = inspect.signature(base.__init__).parameters.values()
    estimator.__init__.__signature__ = settings_signature(  # type: ignore[attr-defined]
        UniFilterMethod,
        [parameter for parameter in options if parameter.name in base._options],
        UniFilterMethod.task_defaults(base._learns),
    )
    parameters = f"Args:\n{settings_doc(UniFilterMethod)}\n\nExample:"
    estimator.__doc__ = inspect.cleandoc(estimator.__doc__ or "").replace("Example:", parameters, 1)


_spell_out(UniFilterClassifier, NodeClassifier)
_spell_out(UniFilterRegressor, NodeRegressor)
