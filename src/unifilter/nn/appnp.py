"""APPNP, GNN-LF and GNN-HF: an MLP, then steps of a propagation that restarts. The filter is not learned."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from unifilter._internal.checks import check_fraction, check_hops
from unifilter.bases import Monomial
from unifilter.nn.decoupled import DecoupledFilter


class RestartFilter(DecoupledFilter):
    r"""An MLP without bias, then steps that start again and again from the same signal:

    .. math::
        z^{(0)} = s(\tilde{\mathbf{P}})\,\mathrm{MLP}(x), \qquad
        z^{(k+1)} = c\,\tilde{\mathbf{P}} z^{(k)} + \alpha z^{(0)},

    where :math:`\tilde{\mathbf{P}}` has self-loops. The filter is a fixed polynomial.

    Args:
        in_channels: Number of features.
        out_channels: Number of classes.
        start: Coefficients of the polynomial s, lowest power first.
        factor: The number c.
        alpha: The share of the restart, in [0, 1].
        hops: Number of steps.
        options: ``hidden_channels``, ``num_layers`` and ``dropout`` of the MLP, as in
            :class:`unifilter.nn.DecoupledFilter`.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        start: list[float],
        factor: float,
        alpha: float,
        hops: int = 10,
        **options: Any,
    ) -> None:
        weights = restart_weights(start, factor, check_fraction("alpha", alpha), hops)
        super().__init__(
            in_channels,
            out_channels,
            Monomial(),
            weights,
            hops=len(weights) - 1,
            filter_dropout=0.0,
            self_loops="add",
            bias=False,
            learned=False,
            **options,
        )


class APPNP(RestartFilter):
    r"""APPNP of "Predict then Propagate: Graph Neural Networks meet Personalized PageRank" (2019):

    .. math:: z^{(0)} = h = \mathrm{MLP}(x), \qquad z^{(k+1)} = (1-\alpha)\,\tilde{\mathbf{P}} z^{(k)} + \alpha h,

    where :math:`\tilde{\mathbf{P}}` has self-loops. With many steps it is
    :math:`\alpha\,(\mathbf{I} - (1-\alpha)\tilde{\mathbf{P}})^{-1} h`.

    Args:
        in_channels: Number of features.
        out_channels: Number of classes.
        hops: Number of steps.
        alpha: Probability of a restart, in [0, 1].
        options: As for :class:`RestartFilter`.

    Example:
        >>> import torch
        >>> from unifilter.nn import APPNP
        >>> APPNP(16, 2)(torch.randn(3, 16), torch.tensor([[0, 1], [1, 2]])).shape
        torch.Size([3, 2])
    """

    def __init__(self, in_channels: int, out_channels: int, hops: int = 10, alpha: float = 0.1, **options: Any) -> None:
        super().__init__(in_channels, out_channels, [1.0], 1 - alpha, alpha, hops, **options)


class GNNLF(RestartFilter):
    r"""GNN-LF of "Interpreting and Unifying Graph Neural Networks with An Optimization Framework" (2021), whose restart
    is low-pass:

    .. math::
        z^{(0)} = \frac{\mu h + (1-\mu)\tilde{\mathbf{P}} h}{1 + \alpha\mu - \alpha}, \qquad
        z^{(k+1)} = \frac{1 - 2\alpha + \alpha\mu}{1 + \alpha\mu - \alpha}\,\tilde{\mathbf{P}} z^{(k)} + \alpha z^{(0)}.

    With many steps it is :math:`\alpha\,((1+\alpha\mu-\alpha)\mathbf{I} + (2\alpha-\alpha\mu-1)
    \tilde{\mathbf{P}})^{-1} (\mu\mathbf{I} + (1-\mu)\tilde{\mathbf{P}})\, h`.

    Args:
        in_channels: Number of features.
        out_channels: Number of classes.
        hops: Number of steps; the filter's degree is one higher.
        alpha: Share of the restart, in [0, 1].
        mu: Share of the node itself in the restart, in [0.5, 1]; 1 is APPNP.
        options: As for :class:`RestartFilter`.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        hops: int = 10,
        alpha: float = 0.1,
        mu: float = 0.9,
        **options: Any,
    ) -> None:
        if not 0.5 <= mu <= 1:
            raise ValueError(f"mu must lie in [0.5, 1], not {mu!r}: below, the steps need not converge")
        scale = 1 + check_fraction("alpha", alpha) * (mu - 1)
        start = [mu / scale, (1 - mu) / scale]
        super().__init__(in_channels, out_channels, start, 1 - alpha / scale, alpha, hops, **options)


class GNNHF(RestartFilter):
    r"""GNN-HF of "Interpreting and Unifying Graph Neural Networks with An Optimization Framework" (2021), whose restart
    is high-pass:

    .. math::
        z^{(0)} = \frac{h + \beta\tilde{\mathbf{L}} h}{\alpha\beta + 1}, \qquad
        z^{(k+1)} = \frac{\alpha\beta + 1 - \alpha}{\alpha\beta + 1}\,\tilde{\mathbf{P}} z^{(k)} + \alpha z^{(0)},

    where :math:`\tilde{\mathbf{L}} = \mathbf{I} - \tilde{\mathbf{P}}`. With many steps it is
    :math:`\alpha\,(\alpha\mathbf{I} + (\alpha\beta+1-\alpha)\tilde{\mathbf{L}})^{-1}
    (\mathbf{I} + \beta\tilde{\mathbf{L}})\, h`.

    Args:
        in_channels: Number of features.
        out_channels: Number of classes.
        hops: Number of steps; the filter's degree is one higher.
        alpha: Share of the restart, in [0, 1].
        beta: How much the restart favors high frequencies, 0 or more; 0 is APPNP.
        options: As for :class:`RestartFilter`.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        hops: int = 10,
        alpha: float = 0.1,
        beta: float = 0.9,
        **options: Any,
    ) -> None:
        if not 0 <= beta < math.inf:
            raise ValueError(f"beta must be a number of at least 0, not {beta!r}: the authors use 0.9")
        scale = check_fraction("alpha", alpha) * beta + 1
        start = [(1 + beta) / scale, -beta / scale]
        super().__init__(in_channels, out_channels, start, 1 - alpha / scale, alpha, hops, **options)


def restart_weights(start: list[float], factor: float, alpha: float, steps: int) -> Tensor:
    r"""The polynomial that :math:`z \leftarrow c\,\mathbf{P}z + \alpha z^{(0)}` gives after some steps.

    Args:
        start: Coefficients of :math:`z^{(0)}` on the powers of :math:`\mathbf{P}`, lowest first.
        factor: The c of the step.
        alpha: The share of the restart.
        steps: How many steps.

    Returns:
        Coefficients on the powers of :math:`\mathbf{P}`, ``[len(start) + steps]``.
    """
    restart = torch.zeros(len(start) + check_hops(steps), dtype=torch.float64)
    restart[: len(start)] = torch.tensor(start, dtype=torch.float64)
    current = restart
    for _ in range(steps):
        current = factor * current.roll(1) + alpha * restart  # the last coefficient is still 0 and comes first
    return current.float()
