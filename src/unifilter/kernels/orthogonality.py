"""How the Lanczos vectors are kept orthogonal, in plain torch.

In exact arithmetic the recurrence makes every vector orthogonal to all before it. With rounding it does not, and the
loss grows from hop to hop. Simon's recurrence estimates it from the tridiagonal alone. Where it is too large, all
earlier vectors are taken out of the new one. They are also taken out of the copy of the vector before that the
recurrence goes on with, because it would bring back what that one keeps; the vector before itself stays as it is, so
that vectors do not depend on how many hops follow.

The loss grows along eigenvectors that the vectors contain already, and first along the one of eigenvalue 1, which is in
nearly every signal. So when all vectors are taken out, that eigenvector is computed from them. While the estimated loss
is along it, only this known direction is taken out: one vector instead of all (selective orthogonalization, Parlett and
Scott 1979). It is a combination of the earlier vectors, so taking it out is right even where it is not an eigenvector.

``compiled/orthogonality.py`` does the same for a vector of columns at once.
"""

from __future__ import annotations

import torch
from torch import Tensor

# While a vector keeps less of every earlier one than half of the digits, the tridiagonal is as accurate as if nothing
# were kept. A tenth of that, because the estimate can be too low by a small factor.
LARGEST_LOSS = 0.1
# How an estimate is corrected by the loss that is found: to be safe, by so much less.
SAFETY = 2
# The correction at most. Little loss in one channel may be luck, so here it only raises the estimate; the compiled path
# also lowers it, by the largest loss of many columns.
LARGEST_CORRECTION = 4


class Orthogonality:
    """What the vectors of a block keep of those before them, and how that is taken out.

    Args:
        vectors: The vectors ``[hops + 1, n, channels]``. The last one is computed last: until then its place holds the
            known direction.
        alpha: Diagonal of the tridiagonal.
        beta: The diagonal beside it.
    """

    def __init__(self, vectors: Tensor, alpha: Tensor, beta: Tensor) -> None:
        self.vectors, self.alpha, self.beta = vectors, alpha, beta
        self.epsilon = torch.finfo(vectors.dtype).eps
        self.limit = LARGEST_LOSS * self.epsilon**0.5
        channels = alpha.shape[1]
        self.before, self.here = (alpha.new_zeros((len(alpha) + 1, channels), dtype=torch.float64) for _ in range(2))
        self.here[0] = 1
        self.direction = torch.zeros_like(self.here[1:])
        # A product with a matrix of norm 1 rounds by about so much, however short the result is.
        self.noise = torch.full_like(self.here[0], self.epsilon)

    def restore(self, hop: int, rest: Tensor, length: Tensor, alive: Tensor) -> Tensor:
        """Make ``rest``, which becomes vector ``hop + 1``, orthogonal where the estimate requires it.

        Returns vector ``hop`` as the recurrence goes on with it.
        """
        current = self.vectors[hop]
        loss = self._estimate(hop, length.double())
        elsewhere = self._without_direction(self.here, hop + 1).abs().amax(dim=0)
        needed = alive & (loss > self.limit)
        known, all_others = (needed & (elsewhere <= self.limit)), (needed & ~(elsewhere <= self.limit))
        if needed.any():
            current = current.clone()
        if known.any():
            chosen = known.nonzero().flatten()
            take_out(self.vectors[-1:], rest, chosen)
            take_out(self.vectors[-1:], current, chosen)
            for kept, count in ((self.before, hop), (self.here, hop + 1)):
                # Taking it out rounds too.
                left = self._without_direction(kept, count) + self.epsilon * self.direction[:count]
                kept[:count, chosen] = left[:, chosen]
        if all_others.any():
            chosen = all_others.nonzero().flatten()
            found = take_out(self.vectors[: hop + 1], rest, chosen).abs().amax(dim=0) / length[chosen].clamp(
                min=self.epsilon
            )
            take_out(self.vectors[:hop], current, chosen)
            if hop + 1 < len(self.beta):
                self._find_direction(hop, chosen)
            corrected = self.noise[chosen] * SAFETY * found / loss[chosen]
            self.noise[chosen] = corrected.clamp(self.epsilon, self.epsilon * LARGEST_CORRECTION)
            self._forget(self.before, hop, chosen)
            self.forget(hop, chosen)
        return current

    def forget(self, hop: int, channels: Tensor) -> None:
        """Vector ``hop + 1`` has been made orthogonal to all others."""
        self._forget(self.here, hop + 1, channels)

    def _forget(self, kept: Tensor, count: int, channels: Tensor) -> None:
        # Rounding has any direction, and grows fastest along the eigenvectors of the largest and the smallest
        # eigenvalue. The coefficients of the first are all positive, those of the second alternate in sign: every other
        # coefficient is as much of both. With all of them alike, a loss along the second would be overlooked.
        kept[:count, channels] = 0
        kept[:count:2, channels] = 2 * self.epsilon

    def _estimate(self, hop: int, length: Tensor) -> Tensor:
        """Simon's recurrence: the largest share that vector ``hop + 1`` keeps of one before it."""
        alpha, beta = self.alpha.double(), self.beta.double()
        length = torch.maximum(length, self.noise)
        after = torch.zeros_like(self.here)
        kept = beta[:hop] * self.here[1 : hop + 1] + (alpha[:hop] - alpha[hop]) * self.here[:hop]
        if hop > 0:
            kept[1:] += beta[: hop - 1] * self.here[: hop - 1]
            kept -= beta[hop - 1] * self.before[:hop]
        kept += torch.where(kept >= 0, self.noise, -self.noise)
        after[:hop] = kept / length
        after[hop] = self.noise / length
        after[hop + 1] = 1
        self.before, self.here = self.here, after
        return after[: hop + 1].abs().amax(dim=0)

    def _without_direction(self, kept: Tensor, count: int) -> Tensor:
        direction = self.direction[:count]
        return kept[:count] - (kept[:count] * direction).sum(dim=0) * direction

    def _find_direction(self, hop: int, channels: Tensor) -> None:
        """The eigenvector of eigenvalue 1 on the vectors so far: an inverse iteration with (1 + limit - T)^-1."""
        alpha, beta = (part[:, channels].T.double() for part in (self.alpha[: hop + 1], self.beta[:hop]))
        shifted = torch.diag_embed(1 + self.limit - alpha)
        shifted -= torch.diag_embed(beta, 1) + torch.diag_embed(beta, -1)
        found = torch.linalg.solve_ex(shifted, torch.ones_like(alpha))[0].T
        self.direction[: hop + 1, channels] = found / torch.linalg.vector_norm(found, dim=0)
        share = self.direction[: hop + 1, channels].to(self.vectors)
        self.vectors[-1, :, channels] = torch.einsum("knc,kc->nc", self.vectors[: hop + 1, :, channels], share)


def take_out(earlier: Tensor, block: Tensor, channels: Tensor) -> Tensor:
    """Make some channels of a block orthogonal to earlier vectors; returns what was kept of them."""
    vectors = earlier[:, :, channels]
    kept = torch.einsum("knc,nc->kc", vectors, block[:, channels])
    block[:, channels] -= torch.einsum("knc,kc->nc", vectors, kept)
    return kept
