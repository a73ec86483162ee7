"""AdaptKry: powers of a propagation matrix with chosen self-loops, one weight per power, then an MLP."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import torch
from torch import Tensor

from unifilter._internal.checks import check_choice, check_hops
from unifilter._internal.memory import check_memory
from unifilter.factorization import BasisRows
from unifilter.graph import Graph, SelfLoops
from unifilter.nn.graph_module import EdgeIndex, Features, GraphModule
from unifilter.nn.input_linear import as_dense
from unifilter.nn.mlp import MLP
from unifilter.nn.operators import neighbor_sum
from unifilter.nn.uni_filter import UniFilter

Combination = Literal["weights", "concatenate"]


class AdaptKry(GraphModule):
    r"""AdaptKry of "Optimizing Polynomial Graph Filters: A Novel Adaptive Krylov Subspace Approach" (2024):

    .. math::
        y = \mathrm{MLP}\Big(\sum_{k=0}^{K} w_k \mathbf{P}_\tau^k x\Big), \qquad
        \mathbf{P}_\tau = \mathbf{D}_\tau^{-1/2}\big(\tau\mathbf{A} + (1-\tau)\mathbf{I}\big)\mathbf{D}_\tau^{-1/2},

    where :math:`\mathbf{D}_\tau` holds the row sums of the matrix between. With several :math:`\tau` the powers are
    averaged, hop by hop. The MLP is that of :class:`unifilter.nn.UniFilter`, and :math:`w_k` starts at
    :math:`1/(K+1)`.

    Above :math:`\tau = 1` the self-loops have negative weights, and powers can grow. The filter is a function of the
    eigenvalues of :math:`\mathbf{P}_\tau`, which the graph's own eigenvalues do not tell: it has no response.

    Args:
        in_channels: Number of features.
        out_channels: Number of classes.
        hops: The highest power K.
        hidden_channels, num_layers, dropout, batch_norm: The MLP.
        basis_dropout: Dropout on the elements of the powers.
        tau: One number of at least 0, or several.
        combine: ``"weights"`` sums the powers; ``"concatenate"`` gives them to the MLP side by side, without weights
            and without ``basis_dropout``, as the authors do on Genius and ogbn-arxiv.
        self_loops: ``"remove"`` them from A, or ``"add"`` one to every node.

    Shapes:
        - input: features ``[num_nodes, in_channels]`` and ``edge_index`` ``[2, num_edges]``
        - output: logits ``[num_nodes, out_channels]``

    Example:
        >>> import torch
        >>> from unifilter.nn import AdaptKry
        >>> AdaptKry(16, 2, tau=(0.5, 1.1))(torch.randn(3, 16), torch.tensor([[0, 1], [1, 2]])).shape
        torch.Size([3, 2])
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        hops: int = 10,
        hidden_channels: int = 64,
        num_layers: int = 2,
        dropout: float = 0.5,
        basis_dropout: float = 0.0,
        batch_norm: bool = False,
        tau: float | Sequence[float] = 0.5,
        combine: Combination = "weights",
        self_loops: SelfLoops = "remove",
    ) -> None:
        super().__init__()
        check_choice("combine", combine, ("weights", "concatenate"))
        check_choice("self_loops", self_loops, ("remove", "add"))
        self.hops, self.combine, self.self_loops = check_hops(hops), combine, self_loops
        self.taus = _checked_taus(tau)
        self.head: UniFilter | MLP
        if combine == "weights":
            self.head = UniFilter(
                in_channels, out_channels, hops, hidden_channels, num_layers, dropout, basis_dropout, batch_norm
            )
        else:
            width = (hops + 1) * in_channels
            self.head = MLP(width, hidden_channels, out_channels, num_layers, dropout, batch_norm)

    def reset_parameters(self) -> None:
        self.head.reset_parameters()

    def forward(self, x: Features, edge_index: EdgeIndex, edge_weight: Tensor | None = None) -> Tensor:
        return self.forward_rows(self.rows_of(x, self.graph_of(x, edge_index, edge_weight)))

    def node_inputs(self, x: Features, edge_index: EdgeIndex, edge_weight: Tensor | None = None) -> Tensor:
        """The weighted sum of the powers, or all of them side by side."""
        rows = self.rows_of(x, self.graph_of(x, edge_index, edge_weight))
        if isinstance(self.head, UniFilter):
            return rows.combine(self.head.vector_weights().detach())
        return rows.dense().flatten(1)

    def on_node_inputs(self, rows: Tensor) -> Tensor:
        return self.head.on_node_inputs(rows)

    def rows_of(self, x: Features, graph: Graph) -> BasisRows:
        """The rows that the model reads, of every node: they are computed once."""
        powers = averaged_powers(graph, as_dense(x), self.taus, self.hops)
        return BasisRows(powers, None, torch.arange(graph.num_nodes, device=powers.device))

    def forward_rows(self, rows: BasisRows) -> Tensor:
        """Logits from precomputed rows of some or all nodes."""
        logits: Tensor = self.head(rows if self.combine == "weights" else rows.dense().flatten(1))
        return logits

    @property
    def hop_weights(self) -> Tensor | None:
        return self.head.hop_weights

    def parameter_groups(
        self, lr: float, weight_decay: float, filter_lr: float, filter_weight_decay: float
    ) -> list[dict[str, Any]]:
        """Parameter groups for a torch optimizer: the MLP, and the weights of the hops, if any."""
        if isinstance(self.head, UniFilter):
            return self.head.parameter_groups(lr, weight_decay, filter_lr, filter_weight_decay)
        return [{"params": list(self.head.parameters()), "lr": lr, "weight_decay": weight_decay}]


def averaged_powers(graph: Graph, x: Tensor, taus: Sequence[float], hops: int) -> Tensor:
    r"""The mean over ``taus`` of :math:`\mathbf{P}_\tau^k x`, ``[hops + 1, num_nodes, channels]``.

    A node without neighbors keeps its features where :math:`\tau < 1`, and has 0 elsewhere.
    """
    # The powers, and at work the current one, its rescaled form and two sums.
    check_memory("adaptkry's powers of the features", (hops + 5) * x.numel() * x.element_size(), "take fewer hops")
    roots = [_root(graph, tau).to(x.dtype)[:, None] for tau in taus]
    adjacency = neighbor_sum(graph, x.dtype)
    powers = x.new_zeros(hops + 1, *x.shape)
    powers[0] = x
    for tau, root in zip(taus, roots, strict=True):
        current = x
        for k in range(1, hops + 1):
            scaled = root * current
            current = root * (tau * (adjacency @ scaled) + (1 - tau) * scaled)
            powers[k] += current / len(taus)
    return powers


def _root(graph: Graph, tau: float) -> Tensor:
    r""":math:`\mathbf{D}_\tau^{-1/2}`, 0 for a node without neighbors whose row sum has no root."""
    sums = tau * graph.degree.double() + (1 - tau)
    without = (sums <= 0) & (graph.degree > 0)
    if without.any():
        node = int(without.nonzero()[0])
        raise ValueError(
            f"node {node} has the degree {float(graph.degree[node]):g}, which is too small for tau = {tau:g}: "
            "take a tau of at most 1, or larger edge weights"
        )
    return torch.where(sums > 0, sums, torch.inf).rsqrt()


def _checked_taus(tau: float | Sequence[float]) -> tuple[float, ...]:
    taus = (tau,) if isinstance(tau, (int, float, str)) else tuple(tau)
    wrong = [one for one in taus if not (isinstance(one, (int, float)) and 0 <= one < math.inf)]
    if wrong or not taus:
        raise ValueError(
            f"tau must be a number of at least 0, or several, not {wrong[0] if wrong else tau!r}: the paper uses 0.1 "
            "to 1.8"
        )
    return taus
