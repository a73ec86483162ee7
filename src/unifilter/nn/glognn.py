"""GloGNN: every node aggregates all others, with closed-form coefficients that are never stored."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from unifilter._internal.checks import check_count, check_fraction, check_rate
from unifilter.kernels.dropout import dropout
from unifilter.nn.graph_module import EdgeIndex, Features, GraphModule
from unifilter.nn.input_linear import InputLinear
from unifilter.nn.node_linear import NodeLinear
from unifilter.nn.operators import neighbor_mean
from unifilter.nn.sparse_rows import SparseRows


class GloGNN(GraphModule):
    r"""GloGNN and GloGNN++ of "Finding Global Homophily in Graph Neural Networks When Meeting Heterophily" (2022).

    An MLP on the features and on the rows of :math:`\mathbf{R}`, the mean over a node and its neighbors, gives

    .. math:: h_0 = \mathrm{Linear}\big(\mathrm{ReLU}(\delta\,\mathrm{Linear}(x)
        + (1-\delta)\,\mathrm{Linear}(\mathbf{R}))\big).

    Each layer is :math:`h \leftarrow (1-\gamma)\mathbf{Z} h + \gamma h_0`, where :math:`\mathbf{Z}` is the best
    reconstruction of h that stays close to :math:`\sum_k \lambda_k \mathbf{R}^k` and small, by weights
    :math:`\beta` and :math:`\alpha`:

    .. math::
        \mathbf{Z} = \Big[(1-\gamma)hh^\top + \beta\sum_{k=1}^{K}\lambda_k\mathbf{R}^k
        - \gamma(1-\gamma)h_0h^\top\Big] \Big[(1-\gamma)^2hh^\top + (\alpha+\beta)\mathbf{I}\Big]^{-1}.

    It has an entry for every pair of nodes, and is never formed: with
    :math:`q = \frac{c}{1-\gamma} h \big(\frac{\mathbf{I}}{(1-\gamma)^2} + c\,h^\top h\big)^{-1}` and
    :math:`c = \frac{1}{\alpha+\beta}`, a layer is a product of small matrices and K sparse products,

    .. math:: h \leftarrow (1-\gamma)(h - \gamma h_0)(h^\top q) + \beta\sum_k\lambda_k\mathbf{R}^kq + \gamma h_0.

    The authors write q as a difference; this form loses no digits, so single precision is enough, where they use
    double. GloGNN++ (``scaled``) multiplies the columns of q and the rows of :math:`h^\top q` by learned weights.
    The authors' code computes a dropout on the features and does not use it: there is none here.

    Unless :math:`\delta = 1` the model has one weight per node, and works on one graph only.

    Args:
        in_channels, hidden_channels, out_channels: Widths.
        num_nodes: Number of nodes; not needed where ``delta`` is 1.
        num_layers: Number of applications of Z.
        orders: Highest power K.
        alpha, beta, gamma, delta: See above; ``gamma`` in [0, 1), ``delta`` in [0, 1], and ``alpha + beta > 0``.
        scaled: Whether there are the learned weights of GloGNN++.
        dropout: Dropout on the hidden layer.

    Shapes:
        - input: features ``[num_nodes, in_channels]``, dense or sparse, and ``edge_index`` ``[2, num_edges]``
        - output: logits ``[num_nodes, out_channels]``

    Example:
        >>> import torch
        >>> from unifilter.nn import GloGNN
        >>> GloGNN(16, 8, 2, num_nodes=3)(torch.randn(3, 16), torch.tensor([[0, 1], [1, 2]])).shape
        torch.Size([3, 2])
    """

    self_loops = "add"
    takes_directed = True

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        num_nodes: int | None = None,
        num_layers: int = 2,
        orders: int = 2,
        alpha: float = 0.0,
        beta: float = 1.0,
        gamma: float = 0.5,
        delta: float = 0.5,
        scaled: bool = True,
        dropout: float = 0.5,
    ) -> None:
        super().__init__()
        check_count("num_layers", num_layers, "the paper uses 1 to 3")
        check_count("orders", orders, "the paper uses 2 to 4")
        self.dropout = check_rate("dropout", dropout)
        self.delta = check_fraction("delta", delta)
        self.gamma = check_rate("gamma", gamma)
        if not (alpha >= 0 and beta >= 0 and alpha + beta > 0):
            raise ValueError(
                f"alpha and beta must not be negative, nor both be 0, not {alpha} and {beta}: "
                "the paper uses 0 or 1 for alpha and 0.1 to 20000 for beta"
            )
        self.alpha, self.beta, self.num_layers = alpha, beta, num_layers
        if delta < 1 and num_nodes is None:
            raise ValueError("delta below 1 needs a weight for every node: pass num_nodes, or delta=1")
        self.num_nodes = num_nodes if delta < 1 else None
        self.of_features = InputLinear(in_channels, hidden_channels) if delta > 0 else None
        self.of_nodes = NodeLinear(self.num_nodes, hidden_channels) if self.num_nodes is not None else None
        self.output = nn.Linear(hidden_channels, out_channels)
        self.order_weights = nn.Parameter(torch.empty(orders))
        self.scale = nn.Parameter(torch.empty(out_channels)) if scaled else None
        self._start_weights()

    def reset_parameters(self) -> None:
        for layer in (self.of_features, self.of_nodes, self.output):
            if layer is not None:
                layer.reset_parameters()
        self._start_weights()

    def _start_weights(self) -> None:
        for weights in (self.order_weights, self.scale):
            if weights is not None:
                nn.init.constant_(weights, 1 / len(weights))

    def forward(self, x: Features, edge_index: EdgeIndex, edge_weight: Tensor | None = None) -> Tensor:
        mean = neighbor_mean(self.graph_of(x, edge_index, edge_weight), x.dtype)
        first = hidden = self._mlp(x, mean)
        for _ in range(self.num_layers):
            hidden = self._layer(hidden, first, mean)
        return hidden

    def _mlp(self, x: Features, mean: SparseRows) -> Tensor:
        parts = []
        if self.of_features is not None:
            parts.append(self.delta * self.of_features(x))
        if self.of_nodes is not None:
            parts.append((1 - self.delta) * self.of_nodes(mean))
        hidden = torch.relu(torch.stack(parts).sum(dim=0))
        logits: Tensor = self.output(dropout(hidden, self.dropout if self.training else 0.0))
        return logits

    def _layer(self, hidden: Tensor, first: Tensor, mean: SparseRows) -> Tensor:
        kept, ridge = 1 - self.gamma, 1 / (self.alpha + self.beta)
        gram = torch.eye(hidden.shape[1]).to(hidden) / kept**2 + ridge * (hidden.T @ hidden)
        q = ridge / kept * torch.linalg.solve(gram, hidden.T).T
        if self.scale is not None:
            q = q * self.scale
        inner = hidden.T @ q
        if self.scale is not None:
            inner = self.scale[:, None] * inner
        power, orders = q, torch.zeros_like(q)
        for weight in self.order_weights:
            power = mean @ power
            orders = orders + weight * power
        mixed: Tensor = kept * (hidden - self.gamma * first) @ inner + self.beta * orders + self.gamma * first
        return mixed
