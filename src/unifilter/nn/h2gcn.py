"""H2GCN: separate channels for neighbors, nodes two hops away and the node itself, in every round."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from unifilter._internal.checks import check_count, check_rate
from unifilter.graph import Graph, two_hop_graph
from unifilter.kernels.dropout import dropout
from unifilter.nn.graph_module import EdgeIndex, Features, GraphModule
from unifilter.nn.input_linear import InputLinear


class H2GCN(GraphModule):
    r"""H2GCN of "Beyond Homophily in Graph Neural Networks" (2020):

    .. math::
        r_0 = \mathrm{ReLU}(x \mathbf{W}), \quad
        r_k = [\mathbf{P}_1 r_{k-1} \,\Vert\, \mathbf{P}_2 r_{k-1}], \quad
        y = \mathrm{dropout}([r_0 \,\Vert\, r_1 \,\Vert\, \dots \,\Vert\, r_K])\, \mathbf{W}_\mathrm{out},

    where :math:`\mathbf{P}_1` is the propagation matrix of the graph, without self-loops, and :math:`\mathbf{P}_2` that
    of :func:`unifilter.graph.two_hop_graph`, which joins nodes that have a common neighbor and are not neighbors
    themselves, without weights. The rounds have no weights, and nothing has a bias.

    Without dropout, as in evaluation, the last layer is applied before the rounds instead of after them, which gives
    the same numbers by narrower products.

    Args:
        in_channels, hidden_channels, out_channels: Widths.
        rounds: Number of rounds K; the last layer reads :math:`2^{K+1} - 1` times the hidden width.
        relu: Whether to apply the ReLU.
        dropout: Dropout before the last layer.

    Shapes:
        - input: features ``[num_nodes, in_channels]``, dense or sparse, and ``edge_index`` ``[2, num_edges]``
        - output: logits ``[num_nodes, out_channels]``

    Example:
        >>> import torch
        >>> from unifilter.nn import H2GCN
        >>> H2GCN(16, 8, 2)(torch.randn(3, 16), torch.tensor([[0, 1], [1, 2]])).shape
        torch.Size([3, 2])
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        rounds: int = 2,
        relu: bool = True,
        dropout: float = 0.5,
    ) -> None:
        super().__init__()
        self.rounds = check_count("rounds", rounds, "the paper uses 1 or 2")
        self.relu, self.dropout = relu, check_rate("dropout", dropout)
        self.embedding = InputLinear(in_channels, hidden_channels, bias=False)
        self.output = nn.Linear((2 ** (rounds + 1) - 1) * hidden_channels, out_channels, bias=False)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        # As in Keras, which the authors use.
        for layer in (self.embedding, self.output):
            nn.init.xavier_uniform_(layer.weight)

    def forward(self, x: Features, edge_index: EdgeIndex, edge_weight: Tensor | None = None) -> Tensor:
        near = self.graph_of(x, edge_index, edge_weight)
        far = two_hop_graph(near)
        first: Tensor = self.embedding(x)
        if self.relu:
            first = torch.relu(first)
        if not self.training or self.dropout == 0:
            return self._output_first(first, near, far)
        parts = [first]
        for _ in range(self.rounds):
            parts.append(torch.cat([_propagated(near, parts[-1]), _propagated(far, parts[-1])], dim=1))
        logits: Tensor = self.output(dropout(torch.cat(parts, dim=1), self.dropout))
        return logits

    def _output_first(self, first: Tensor, near: Graph, far: Graph) -> Tensor:
        """The same by Horner's rule, with a column for each class instead of each hidden channel.

        Each of the ``2^k`` parts of round k is a product of k of the two matrices with ``first``. Two parts in a row
        differ by the one that is applied first alone: the even one begins with that of ``near``, the odd one with that
        of ``far``, and what follows is the same part of the round before.
        """
        hidden, classes = first.shape[1], self.output.out_features
        widths = [2**k * hidden for k in range(self.rounds + 1)]
        # Of each round [num_nodes, parts * classes]: what its parts give before any product with a graph.
        terms = [
            first @ weight.reshape(classes, -1, hidden).permute(2, 1, 0).reshape(hidden, -1)
            for weight in torch.split(self.output.weight, widths, dim=1)
        ]
        total = terms[-1]
        for term in reversed(terms[:-1]):
            even, odd = total.view(len(total), -1, 2, classes).unbind(dim=2)
            total = term + _propagated(near, even.flatten(1)) + _propagated(far, odd.flatten(1))
        return total


def _propagated(graph: Graph, x: Tensor) -> Tensor:
    return graph.propagate(x, check_finite=False)
