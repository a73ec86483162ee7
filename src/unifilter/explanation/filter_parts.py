"""A filter followed by an MLP, split into parts to explain predictions."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn

from unifilter._internal.columns import dense_columns
from unifilter.bases import Tridiagonal
from unifilter.estimators import TrainedModel
from unifilter.graph import Graph

# Maximum number of entries of a tensor, which limits the work space to a few times 16 MiB.
_ENTRIES = 2**21


@dataclass(frozen=True, eq=False)
class FilterAndMLP:
    """The filter and the MLP of a trained model, in double precision on the CPU.

    Attributes:
        tridiagonal: The tridiagonal of the features.
        weighted: Learned weights times the coefficients of the basis vectors, ``[m, hops + 1, channels]``.
        mlp: The MLP after the filter.
    """

    tridiagonal: Tridiagonal
    weighted: Tensor
    mlp: nn.Module

    @classmethod
    def of(cls, model: TrainedModel, remedy: str) -> FilterAndMLP:
        """The parts of a model.

        Args:
            model: The model.
            remedy: The advice in the message if the model does not have these parts.
        """
        if model.tridiagonal is None or model.basis is None or model.weights is None:
            raise ValueError(
                f"{model.method.name} is not a filter followed by an MLP, so a prediction cannot be split by hop: "
                f"{remedy}"
            )
        tridiagonal = model.tridiagonal.to("cpu", torch.float64)
        weights = model.weights.to("cpu", torch.float64)
        each = weights[:, None, None] if weights.ndim == 1 else weights[:, None]
        mlp = copy.deepcopy(model.network.get_submodule("mlp"))
        return cls(tridiagonal, model.basis.coefficients(tridiagonal) * each, mlp.double().eval())

    def by_hop(self, graph: Graph, features: Tensor, nodes: Tensor) -> Iterator[tuple[slice, Tensor]]:
        """Contribution of each hop to the filtered features of some nodes, in blocks of columns.

        Args:
            graph: The graph as the model uses it.
            features: Prepared features, dense or CSC.
            nodes: Node indices.

        Yields:
            The columns, and contributions ``[m, nodes, columns]``. Their sum over the hops is the filtered features.
        """
        width = max(_ENTRIES // max(graph.num_nodes, len(self.weighted) * len(nodes)), 1)
        multiply = partial(graph.propagate, check_finite=False)
        for start in range(0, self.tridiagonal.channels, width):
            columns = slice(start, min(start + width, self.tridiagonal.channels))
            some = self.tridiagonal.select(columns)
            signals = dense_columns(features, columns.start, columns.stop).double()
            unit = torch.where(some.norm > 0, signals / some.norm, 0.0)
            at_nodes = torch.stack([vector[nodes] for vector in some.sequence(multiply, unit)])
            yield columns, torch.einsum("kic,inc->knc", self.weighted[:, :, columns], at_nodes)


def integrated_gradients(
    mlp: nn.Module, z: Tensor, targets: Tensor, steps: int, classes: bool = True, start: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """Mean gradient of an output score on the path from a baseline to each row of ``z``, and the scores at both ends.

    The score of a class is its logit minus the mean of all logits, because classes exclude each other. The score of a
    label or a number is the output itself.

    Args:
        mlp: Maps ``[rows, channels]`` to logits.
        z: ``[rows, channels]``.
        targets: The class, or other output, of each row.
        steps: Number of points on the path, the midpoints of equal intervals.
        classes: Whether the outputs are classes.
        start: The baseline, ``[channels]``. Default: zero.

    Returns:
        The gradients ``[rows, channels]``, and the scores at ``z`` and at the baseline, both ``[rows]``.
    """
    begin = torch.zeros_like(z[0]) if start is None else start
    share = (torch.arange(steps, dtype=z.dtype) + 0.5) / steps
    gradients, ends, starts = [], [], []
    at_once = max(_ENTRIES // (steps * z.shape[1]), 1)
    for some, target in zip(torch.split(z, at_once), torch.split(targets, at_once), strict=True):
        points = (begin + share[:, None, None] * (some - begin)).flatten(0, 1).requires_grad_()
        (gradient,) = torch.autograd.grad(_scores(mlp(points), target.repeat(steps), classes).sum(), points)
        gradients.append(gradient.reshape(steps, *some.shape).mean(dim=0))
        with torch.no_grad():
            ends.append(_scores(mlp(some), target, classes))
            starts.append(_scores(mlp(begin.expand_as(some)), target, classes))
    return torch.cat(gradients), torch.cat(ends), torch.cat(starts)


def _scores(logits: Tensor, targets: Tensor, classes: bool) -> Tensor:
    chosen = logits.gather(1, targets[:, None])[:, 0]
    return chosen - logits.mean(dim=1) if classes else chosen
