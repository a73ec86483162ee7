"""What single precision cannot decide about a factorization: how many dimensions a signal spans.

Where little of a vector is left after orthogonalization, single precision cannot tell a weak link of the graph from
rounding. Such channels are factored again in double precision, and go on or end where that finds that they do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import torch
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from torch import Tensor

from unifilter._internal.columns import dense_columns
from unifilter.kernels.compressed_rows import CompressedRows
from unifilter.kernels.propagate import propagate

if TYPE_CHECKING:
    from unifilter.kernels.lanczos import Parts

# Channels that are factored again together, at most: bounds the work space.
_CHANNELS = 32
_PASSES = 4
# Of a vector that is left with less after orthogonalization, so much is rounding that it is cleaned of all others.
SMALL_REST = 2.0**-7
# Single precision took rests up to 0.015, and 0.08 of what was there, for more than rounding where nothing is left. On
# dense graphs all rests are small, but a large share of what was there.
_DOUBTFUL_REST, _DOUBTFUL_SHARE = 2.0**-5, 2.0**-3


def settle_dimensions(rows: CompressedRows, x: Tensor, parts: Parts, factor: Callable[[Tensor], Parts]) -> None:
    """Make the dimension of every channel right, in place.

    Args:
        rows: The graph.
        x: The signals ``[n, d]``, dense or CSC.
        parts: Their factorization.
        factor: The factorization of other signals, with as many hops.
    """
    dimension = parts[-1]
    largest = _largest_dimensions(rows, x, len(parts[2]))
    if x.dtype == torch.float32:
        _decide_in_double_precision(rows, x, parts, factor, largest)
    above = (dimension > largest).nonzero().flatten()
    _cut(parts, above, largest[above])


def _decide_in_double_precision(
    rows: CompressedRows, x: Tensor, parts: Parts, factor: Callable[[Tensor], Parts], largest: Tensor
) -> None:
    _, alpha, beta, _, dimension = parts
    hops = len(beta)
    first = _first_doubtful_rest(alpha, beta)
    stopped = (dimension > 0) & (dimension <= hops) & (dimension < largest)
    undecided = (stopped | (first < dimension)).nonzero().flatten()
    # A small part of all: twice the precision must not take more work space than the factorization itself.
    together = max(1, min(_CHANNELS, x.shape[1] // 8))
    for begin in range(0, len(undecided), together):
        some = undecided[begin : begin + together]
        columns = torch.cat([dense_columns(x, one, one + 1) for one in some.tolist()], dim=1).double()
        true_dimension = torch.minimum(factor(columns)[-1], largest[some])
        # Vectors before the first doubtful rest are right; which they are does not depend on the number of hops.
        _cut(parts, some, torch.maximum(true_dimension, first[some]))
        further = true_dimension > dimension[some]
        if further.any():
            _continue(rows, parts, some[further], true_dimension[further])


def _first_doubtful_rest(alpha: Tensor, beta: Tensor) -> Tensor:
    """Dimension of each channel before the first doubtful rest; ``hops + 1`` if there is none."""
    hops = len(beta)
    earlier = torch.cat([torch.zeros_like(beta[:1]), beta[:-1]])
    share = beta / (alpha[:hops] ** 2 + beta**2 + earlier**2).sqrt()
    small = (beta > 0) & (beta < _DOUBTFUL_REST) & (share < _DOUBTFUL_SHARE)
    after = torch.arange(1, hops + 1, device=beta.device)[:, None]
    return torch.where(small, after, hops + 1).amin(dim=0)


def _cut(parts: Parts, channels: Tensor, dimension: Tensor) -> None:
    """End channels at a dimension, those that go beyond it."""
    vectors, alpha, beta, _, reached = parts
    for channel, end in zip(channels.tolist(), dimension.tolist(), strict=True):
        if end < reached[channel]:
            vectors[end:, :, channel], alpha[end:, channel], beta[end - 1 :, channel] = 0, 0, 0
            reached[channel] = end


def _largest_dimensions(rows: CompressedRows, x: Tensor, hops: int) -> Tensor:
    """How many nodes the components have on which each signal is not zero; ``hops + 1`` stands for that and more."""
    channels = x.shape[1]
    bound = torch.full((channels,), hops + 1)
    filled = _non_zeros(x)
    # A signal on more nodes than there are hops lives on components with more nodes.
    few = (filled > 0) & (filled <= hops)
    if few.any():
        entries, nodes = rows.neighbors.numel(), rows.root_degree.numel()
        arrays = (np.ones(entries, np.int8), rows.neighbors.cpu().numpy(), rows.row_start.cpu().numpy())
        count, labels = connected_components(csr_array(arrays, shape=(nodes, nodes)), directed=False)
        sizes = np.bincount(labels, minlength=count)
        node, channel = _places(x, few)
        # Each component that a signal touches counts once.
        touched = np.unique(channel * np.int64(count) + labels[node])
        reached = np.bincount(touched // count, weights=sizes[touched % count], minlength=channels)
        bound = torch.where(few.cpu(), torch.from_numpy(np.minimum(reached, hops + 1)).long(), bound)
    return bound.to(x.device)


def _non_zeros(x: Tensor) -> Tensor:
    if x.layout == torch.strided:
        return (x != 0).sum(dim=0, dtype=torch.int32)  # several times faster than in torch's own choice, int64
    return torch.bincount(_columns(x)[x.values() != 0], minlength=x.shape[1])


def _columns(x: Tensor) -> Tensor:
    """The column of each stored value of a CSC tensor."""
    return torch.repeat_interleave(torch.arange(x.shape[1], device=x.device), x.ccol_indices().diff())


def _places(x: Tensor, channels: Tensor) -> tuple[np.ndarray, np.ndarray]:
    """Node and channel of every value that is not zero, of some channels."""
    if x.layout == torch.strided:
        chosen = channels.nonzero().flatten()
        node, place = (x[:, chosen] != 0).nonzero(as_tuple=True)
        return node.cpu().numpy(), chosen[place].cpu().numpy()
    column = _columns(x)
    kept = channels[column] & (x.values() != 0)
    return x.row_indices()[kept].cpu().numpy(), column[kept].cpu().numpy()


def _continue(rows: CompressedRows, parts: Parts, channels: Tensor, dimension: Tensor) -> None:
    """Lanczos steps in double precision from the last vector of each channel.

    Args:
        rows: The graph.
        parts: The factorization, which is completed.
        channels: Which channels.
        dimension: How many dimensions each spans.
    """
    vectors, alpha, beta, _, reached = parts
    start, now = reached[channels], reached[channels]
    least = 4 * torch.finfo(torch.float64).eps ** 0.5
    # Nodes last: a sum over them does then not depend on which channels are together.
    known = vectors[:, :, channels].double().transpose(1, 2).contiguous()
    for hop in range(int(start.min()) - 1, len(beta) + 1):
        product = propagate(rows, known[hop].T.contiguous()).T.contiguous()
        fresh = (start <= hop) & (hop < now)
        alpha[hop, channels] = torch.where(fresh, (known[hop] * product).sum(dim=1).to(alpha), alpha[hop, channels])
        vectors[hop, :, channels] = torch.where(fresh, known[hop].T.to(vectors), vectors[hop, :, channels])
        if hop == len(beta) or not (now > hop).any():
            break
        rest = product
        # Vectors of single precision are orthogonal to half of its digits: each pass takes out so much.
        for _ in range(_PASSES):
            for vector in known[: hop + 1]:
                rest = rest - (vector * rest).sum(dim=1, keepdim=True) * vector
        length, size = rest.norm(dim=1), product.norm(dim=1)
        goes_on = (now == hop + 1) & (hop + 1 < dimension) & (length > least * size)
        known[hop + 1] = torch.where(goes_on[:, None], rest / length[:, None], known[hop + 1])
        beta[hop, channels] = torch.where(goes_on, length.to(beta), beta[hop, channels])
        now = now + goes_on
    reached[channels] = now
