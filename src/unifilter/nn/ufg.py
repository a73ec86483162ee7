"""A filter with a weight for each framelet of the graph."""

from __future__ import annotations

from typing import Any

from unifilter.bases.framelet import FilterBank, Framelet
from unifilter.nn.decoupled import DecoupledFilter


class UFG(DecoupledFilter):
    r"""An MLP, then the undecimated framelets of "How Framelets Enhance Graph Neural Networks" (2021):

    .. math:: y = \sum_k \theta_k \, g_k(\mathbf{L})^2 \, \mathrm{MLP}(x),

    where :math:`g_k` are the framelets of :class:`unifilter.bases.Framelet`. The logits are decomposed, each part is
    multiplied by a weight, and the parts are summed. All weights start at 1, which is the identity for a tight frame.

    The authors learn a weight for every framelet *and node*, which cannot predict for new nodes, in two layers with a
    ReLU or shrinkage between them. Here each framelet has one weight, so the model is a filter and works on any graph.

    Args:
        in_channels: Number of features.
        out_channels: Number of classes.
        hops: Degree K of the framelets' polynomials.
        filters: ``"haar"``, ``"linear"`` or ``"quadratic"``.
        levels: Number of levels.
        options: ``hidden_channels``, ``dropout`` and ``filter_dropout``, as in
            :class:`unifilter.nn.DecoupledFilter`.

    Example:
        >>> import torch
        >>> from unifilter.nn import UFG
        >>> UFG(16, 2)(torch.randn(3, 16), torch.tensor([[0, 1], [1, 2]])).shape
        torch.Size([3, 2])
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        hops: int = 10,
        filters: FilterBank = "haar",
        levels: int = 2,
        **options: Any,
    ) -> None:
        basis = Framelet(filters, levels, squared=True)
        super().__init__(in_channels, out_channels, basis, basis.identity_weights(hops), hops=hops, **options)
