"""UniBasis with a mixture and an angle that are learned by gradient descent."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from unifilter._internal.checks import check_fraction
from unifilter.bases import Monomial, Tridiagonal, Uni
from unifilter.bases.heterophily import heterophily_coefficients

# A sigmoid is nearly flat near 0 and 1: initial values keep this distance.
_MARGIN = 0.02
# Learned values keep this distance from 0 and 1: at h = 1 rounding would give sqrt(0), which has no gradient.
_CLOSEST = 1e-3


class LearnedUniBasis(nn.Module):
    r"""The coefficients of :math:`\tau \mathbf{P}^k x + (1-\tau) u_k` as functions of parameters.

    Both bases are small matrices on the tridiagonal, so a gradient step on :math:`\tau` or :math:`\theta` costs no work
    of the size of the graph.

    Args:
        tau: Initial :math:`\tau`.
        homophily: Homophily of the initial angle, :math:`\theta = (1-h)\pi/2`.
        learn_tau: Whether :math:`\tau` is learned or fixed.
        learn_theta: Whether the angle is learned or fixed.
    """

    def __init__(
        self, tau: float = 0.5, homophily: float = 0.5, learn_tau: bool = True, learn_theta: bool = True
    ) -> None:
        super().__init__()
        self._start = {"tau": check_fraction("tau", tau), "homophily": check_fraction("homophily", homophily)}
        self.raw = nn.ParameterDict()
        self._known_powers: tuple[Tensor | None, Tensor | None] = (None, None)
        for name, learned in (("tau", learn_tau), ("homophily", learn_theta)):
            value = torch.tensor(self._start[name], dtype=torch.get_default_dtype())
            if learned:
                self.raw[name] = nn.Parameter(_raw(value))
            else:
                self.register_buffer(f"fixed_{name}", value)

    def reset_parameters(self) -> None:
        """Reset the learned parameters to their initial values."""
        with torch.no_grad():
            for name, parameter in self.raw.items():
                parameter.copy_(_raw(parameter.new_tensor(self._start[name])))

    @property
    def tau(self) -> Tensor:
        return self._value("tau")

    @property
    def homophily(self) -> Tensor:
        r"""The homophily of the angle, :math:`h = 1 - 2\theta/\pi`."""
        return self._value("homophily")

    def _value(self, name: str) -> Tensor:
        if name not in self.raw:
            return self.get_buffer(f"fixed_{name}")
        return _CLOSEST + (1 - 2 * _CLOSEST) * torch.sigmoid(self.raw[name])

    def forward(self, tridiagonal: Tridiagonal) -> Tensor:
        """Coefficients ``[hops + 1, hops + 1, channels]`` on a tridiagonal, ``fact.tridiagonal``."""
        cosine = torch.sin(self.homophily * torch.pi / 2)
        exists = tridiagonal.reached[0].to(tridiagonal.alpha.dtype)
        rotated = heterophily_coefficients(cosine, tridiagonal.hops)[:, :, None] * exists
        return self.tau * self._powers(tridiagonal) + (1 - self.tau) * rotated

    def value(self) -> Uni:
        """The basis with the current parameters."""
        return Uni(float(self.tau.detach()), float(self.homophily.detach()))

    def _powers(self, tridiagonal: Tridiagonal) -> Tensor:
        """The homophily basis, which has no learned parameters: computed once per tridiagonal."""
        known, powers = self._known_powers
        if known is not tridiagonal.alpha or powers is None:
            powers = Monomial().coefficients(tridiagonal)
            self._known_powers = tridiagonal.alpha, powers
        return powers


def _raw(value: Tensor) -> Tensor:
    """The parameter of a value, or of the closest allowed initial value."""
    return torch.logit((value.clamp(_MARGIN, 1 - _MARGIN) - _CLOSEST) / (1 - 2 * _CLOSEST))
