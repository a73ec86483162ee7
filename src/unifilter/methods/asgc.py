"""ASGC: a least-squares filter for every feature, then logistic regression."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn
from typing_extensions import Self

from unifilter.bases import Monomial, Tridiagonal
from unifilter.data import TaskName
from unifilter.kernels.combine import combine
from unifilter.methods.method import Learner, Method, ModelShape
from unifilter.methods.problem import Problem
from unifilter.methods.search import NETWORK
from unifilter.nn import ASGC
from unifilter.training import Patience

_HOPS = (1, 2, 4, 8)
_RIDGES = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)

# The authors' settings for every graph. Their splits (80 % or 5 % of the labels) are not used by other papers.
_PUBLISHED: dict[str, dict[str, Any]] = {
    name: {"refit": True} for name in ("cora", "citeseer", "pubmed", "actor", "chameleon", "squirrel")
}

# The logit of a class without training nodes: finite, and far below any other.
_NEVER = -1e4


@dataclass(frozen=True, kw_only=True)
class ASGCMethod(Method):
    r"""Every feature :math:`x` is replaced by the polynomial of the graph that comes closest to it,

    .. math:: \min_\beta \Big\|\sum_{k=0}^{K} \beta_k \mathbf{P}^k x - x\Big\|^2 + n \rho\, \beta_0^2,

    where only the weight of the feature itself is penalized; a logistic regression follows. P has no self-loops except
    one on each isolated node. Nothing is trained by gradient, so ``epochs``, ``optimizer``, ``batch_size`` and ``seed``
    change nothing.

    Attributes:
        hops: The degree K; ``None`` tries 1, 2, 4 and 8 on the validation nodes, as the authors do.
        ridge: The penalty :math:`\rho`; ``None`` tries powers of ten from 1e-4 to 1, as the authors do.
        inverse_regularization: Inverse regularization strength of the logistic regression, scikit-learn's ``C``.
        refit: Fit the logistic regression again on training and validation nodes once the validation score is taken, as
            the authors do. Methods that only look at validation labels to stop are at a disadvantage then.
    """

    name: ClassVar[str] = "asgc"
    paper: ClassVar[str] = "Chanpuriya and Musco, Simplified Graph Convolution with Heterophily, 2022"
    cost: ClassVar[str] = "K + 1 products and (K + 1)-sized least squares once; one logistic regression"
    needs: ClassVar[str] = "scikit-learn"
    presets = _PUBLISHED
    search_space: ClassVar[Mapping[str, Sequence[Any]]] = {
        "features": NETWORK["features"],
        "hops": _HOPS,
        "ridge": _RIDGES,
        "inverse_regularization": (0.1, 1.0, 10.0, 100.0),
    }

    tasks: ClassVar[tuple[TaskName, ...]] = ("classification",)

    epochs: int = 1
    hops: int | None = None
    ridge: float | None = None
    inverse_regularization: float = 1.0
    refit: bool = False

    def candidates(self) -> Sequence[Self]:
        hops = _HOPS if self.hops is None else (self.hops,)
        ridges = _RIDGES if self.ridge is None else (self.ridge,)
        return [replace(self, hops=k, ridge=rho) for k, rho in product(hops, ridges)]

    def network(self, shape: ModelShape) -> ASGC:
        if self.hops is None:
            return self.candidates()[0].network(shape)
        return ASGC(shape.in_channels, shape.num_outputs, self.hops)

    def build(self, problem: Problem) -> Learner:
        if self.hops is None or self.ridge is None:
            return self.candidates()[0].build(problem)
        if not self.ridge >= 0:
            raise ValueError(f"ridge must not be negative, not {self.ridge!r}: the authors use 1e-4 to 1")
        if not self.inverse_regularization > 0:
            raise ValueError(f"inverse_regularization must be positive, not {self.inverse_regularization!r}: pass 1")
        fact = problem.workspace.factorization(self.features, self.hops)
        isolated = problem.workspace.graph().isolated
        alone = fact.vectors[0, isolated] * fact.norm
        beta = least_squares_filter(fact.tridiagonal, self.ridge * fact.num_nodes, alone.double().square().sum(dim=0))
        filtered = combine(fact.vectors, _coordinates(fact.tridiagonal, beta).to(fact.vectors)[None])[0]
        # A loop of weight 1 keeps what an isolated node has, so that every power of P is the same there.
        filtered[isolated] = alone * beta.sum(dim=0).to(alone)
        shape = self.shape(problem)
        model = self.network(shape).to(filtered.device)
        model.linear.to(filtered)  # alone: the filter stays in double precision
        model.filter_weights.copy_(beta)

        def solve(nodes: Tensor) -> None:
            weights = None if problem.weights is None else problem.weights[nodes.cpu().numpy()]
            labels = problem.workspace.labels[nodes]
            _fit_logistic(model.linear, filtered[nodes], labels, weights, self.inverse_regularization)

        return Learner(
            model,
            shape,
            lambda nodes: model.forward_filtered(filtered[nodes]),
            self.parameter_groups(model),
            Patience(),
            solve=solve,
            refit=self.refit,
            row_wise=True,
        )


def least_squares_filter(tridiagonal: Tridiagonal, penalty: float, isolated_energy: Tensor) -> Tensor:
    r"""The weights :math:`\beta` of each channel, float64 ``[hops + 1, channels]``, from (K + 1)-sized matrices alone.

    In the orthonormal coordinates of the factorization :math:`\mathbf{P}^k x` is :math:`\|x\| \mathbf{T}^k e_0`, which
    gives the normal equations without any vector. The loops at isolated nodes add the energy there to every inner
    product of two powers, except to that of x with itself, which has it already.

    Args:
        tridiagonal: ``fact.tridiagonal`` of the graph without self-loops.
        penalty: :math:`n\rho`.
        isolated_energy: Squared length of the part of each signal that lies on isolated nodes, ``[channels]``.
    """
    powers = _powers(tridiagonal)
    gram = torch.einsum("kic,lic->ckl", powers, powers)
    everywhere = isolated_energy.double()[:, None, None].expand_as(gram).clone()
    everywhere[:, 0, 0] = 0
    gram += everywhere
    target = gram[:, :, 0].clone()
    gram[:, 0, 0] += penalty
    # Directions that the tridiagonal does not know to its own precision take no part; squared, as the matrix is.
    tolerance = max((10 * torch.finfo(tridiagonal.alpha.dtype).eps) ** 2, 1e-14)
    inverse = torch.linalg.pinv(gram, rtol=tolerance, hermitian=True)
    return torch.einsum("ckl,cl->kc", inverse, target)


def _powers(tridiagonal: Tridiagonal) -> Tensor:
    return Monomial().coefficients(tridiagonal.to(torch.float64))


def _coordinates(tridiagonal: Tridiagonal, beta: Tensor) -> Tensor:
    """The filtered signals on the Lanczos vectors, ``[hops + 1, channels]``."""
    return torch.einsum("kc,kic->ic", beta, _powers(tridiagonal))


def _fit_logistic(
    model: nn.Linear, x: Tensor, labels: Tensor, weights: np.ndarray | None, inverse_regularization: float
) -> None:
    """Fit the linear layer by scikit-learn's logistic regression."""
    from sklearn.linear_model import LogisticRegression

    regression = LogisticRegression(C=inverse_regularization, max_iter=1000)
    regression.fit(x.double().cpu().numpy(), labels.cpu().numpy(), sample_weight=weights)
    classes, weight, bias = torch.from_numpy(regression.classes_), regression.coef_, regression.intercept_
    if len(classes) == 2:  # one row, the log-odds: half of them for each class has the same softmax
        weight, bias = np.concatenate([-weight, weight]) / 2, np.concatenate([-bias, bias]) / 2
    with torch.no_grad():
        model.weight.zero_()
        model.bias.fill_(_NEVER)
        model.weight[classes] = torch.from_numpy(weight).to(model.weight)
        model.bias[classes] = torch.from_numpy(bias).to(model.bias)
