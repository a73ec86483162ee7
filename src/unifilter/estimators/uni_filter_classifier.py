"""UniFilter as an estimator with its parameters spelled out."""

from __future__ import annotations

import inspect
import os
from typing import Any

from typing_extensions import Self

from unifilter.estimators.node_classifier import NodeClassifier
from unifilter.estimators.settings_signature import settings_doc, settings_signature
from unifilter.estimators.trained_model import TrainedModel
from unifilter.methods import Method
from unifilter.methods.uni_filter import UniFilterMethod


class UniFilterClassifier(NodeClassifier):
    """Node classification with UniFilter.

    It is ``NodeClassifier("unifilter")`` with the parameters of UniFilter spelled out. A refit with another tau,
    homophily, basis or a smaller number of hops on the same graph and features reuses their factorization.

    How much regularization an MLP needs differs from graph to graph. Where ``batch_norm``, ``dropout``,
    ``basis_dropout``, ``lr`` and ``weight_decay`` are ``None``, five kinds of training are tried one after the other,
    four without batch normalization and one with, and the best on the validation nodes is kept: see ``chosen_``.
    What is given is used by all of them; give all five to train once.

    Example:
        >>> from unifilter import UniFilterClassifier
        >>> from unifilter.datasets import load_dataset
        >>> karate = load_dataset("karate")
        >>> clf = UniFilterClassifier(hops=4, epochs=50, monitor="loss")  # steadier where few nodes validate
        >>> clf.fit(karate.graph, karate.features, karate.labels, train=range(0, 34, 2)).predict([1, 33])
        array([0, 1])
    """

    def __init__(self, **parameters: Any) -> None:
        _refuse_method(parameters)
        super().__init__(UniFilterMethod, **parameters)

    @property
    def _family(self) -> type[Method]:
        return UniFilterMethod

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Every parameter by its name."""
        return {name: value for name, value in super().get_params(deep).items() if name != "method"}

    def set_params(self, **params: Any) -> Self:
        """Change parameters; where a name is refused, nothing is changed."""
        _refuse_method(params)
        return super().set_params(**params)

    @classmethod
    def _for(cls, model: TrainedModel, path: str | os.PathLike[str]) -> Self:
        if not isinstance(model.method, UniFilterMethod):
            raise ValueError(
                f"{path} holds a model of the method {model.method.name!r}: load it with NodeClassifier.load"
            )
        return cls(dtype=model.precision, **model.requested.settings())


def _refuse_method(parameters: dict[str, Any]) -> None:
    if "method" in parameters:
        raise ValueError(
            "UniFilterClassifier has no parameter 'method': use NodeClassifier(method=\"...\") for another"
        )


# The signature and the documentation of the parameters come from where they are defined.
UniFilterClassifier.__init__.__signature__ = settings_signature(  # type: ignore[attr-defined]
    UniFilterMethod,
    [
        parameter
        for parameter in inspect.signature(NodeClassifier.__init__).parameters.values()
        if parameter.name in NodeClassifier._options
    ],
)
UniFilterClassifier.__doc__ = (inspect.cleandoc(UniFilterClassifier.__doc__ or "")).replace(
    "Example:", f"Args:\n{settings_doc(UniFilterMethod)}\n\nExample:", 1
)
