"""Ordered GNN: gates that select, chunk by chunk, the hops that a node receives."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from unifilter._internal.checks import check_count, check_rate
from unifilter.kernels.dropout import dropout
from unifilter.nn.graph_module import EdgeIndex, Features, GraphModule
from unifilter.nn.input_linear import InputLinear
from unifilter.nn.operators import neighbor_mean


class OrderedGNN(GraphModule):
    r"""Ordered GNN of "Ordered GNN: Ordering Message Passing to Deal with Heterophily and Over-smoothing" (2023).

    The channels of a node are in chunks, and layer l decides which chunks still receive messages from neighbors. With
    :math:`m = \mathbf{D}^{-1}\mathbf{A} x`, the mean of the neighbors,

    .. math::
        g = \mathrm{cumsum}(\mathrm{softmax}(\mathbf{W}_l [x \,\|\, m] + b_l)), \qquad
        \hat g_l = \hat g_{l-1} + (1 - \hat g_{l-1}) \circ g, \qquad
        x \leftarrow \mathrm{LayerNorm}(\hat g_l \circ x + (1 - \hat g_l) \circ m).

    A gate grows from chunk to chunk and from layer to layer, and a chunk with a gate of 1 no longer changes.

    Args:
        in_channels, hidden_channels, out_channels: Widths.
        num_layers: Number of hops.
        num_input_layers: Linear layers with ReLU and LayerNorm before the first hop.
        chunk_channels: Channels that share a gate. The authors' 64 chunks of 256 channels have 4 each.
        shared_gate: Whether all hops have the same :math:`\mathbf{W}_l` and :math:`b_l`.
        dropout: Dropout on the input of linear layers.
        hop_dropout: Dropout before every hop.

    Shapes:
        - input: features ``[num_nodes, in_channels]``, dense or sparse, and ``edge_index`` ``[2, num_edges]``
        - output: logits ``[num_nodes, out_channels]``

    Example:
        >>> import torch
        >>> from unifilter.nn import OrderedGNN
        >>> OrderedGNN(16, 32, 2)(torch.randn(3, 16), torch.tensor([[0, 1], [1, 2]])).shape
        torch.Size([3, 2])
    """

    takes_directed = True

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        num_layers: int = 8,
        num_input_layers: int = 1,
        chunk_channels: int = 4,
        shared_gate: bool = False,
        dropout: float = 0.1,
        hop_dropout: float = 0.1,
    ) -> None:
        super().__init__()
        check_count("num_layers", num_layers, "the paper uses 8")
        check_count("num_input_layers", num_input_layers, "the paper uses 1 to 3")
        check_count("chunk_channels", chunk_channels, "the paper uses 4")
        if hidden_channels % chunk_channels:
            raise ValueError(
                f"hidden_channels must be a multiple of chunk_channels, and {hidden_channels} is none of "
                f"{chunk_channels}: the paper uses 256 and 4"
            )
        self.dropout = check_rate("dropout", dropout)
        self.hop_dropout = check_rate("hop_dropout", hop_dropout)
        inner = (nn.Linear(hidden_channels, hidden_channels) for _ in range(num_input_layers - 1))
        self.inputs = nn.ModuleList([InputLinear(in_channels, hidden_channels), *inner])
        self.input_norms = nn.ModuleList(nn.LayerNorm(hidden_channels) for _ in range(num_input_layers))
        self.gates = nn.ModuleList(
            nn.Linear(2 * hidden_channels, hidden_channels // chunk_channels)
            for _ in range(1 if shared_gate else num_layers)
        )
        self.norms = nn.ModuleList(nn.LayerNorm(hidden_channels) for _ in range(num_layers))
        self.output = nn.Linear(hidden_channels, out_channels)

    def reset_parameters(self) -> None:
        for layer in [*self.inputs, *self.input_norms, *self.gates, *self.norms, self.output]:
            if isinstance(layer, (nn.Linear, nn.LayerNorm)):
                layer.reset_parameters()

    def forward(self, x: Features, edge_index: EdgeIndex, edge_weight: Tensor | None = None) -> Tensor:
        mean = neighbor_mean(self.graph_of(x, edge_index, edge_weight), x.dtype)
        hidden = self._hidden(x)
        gate = hidden.new_zeros(())
        for hop, norm in enumerate(self.norms):
            hidden = self._drop(hidden, self.hop_dropout)
            neighbors = mean @ hidden
            scores = self.gates[hop % len(self.gates)](torch.cat([hidden, neighbors], dim=1))
            gate = gate + (1 - gate) * torch.softmax(scores, dim=1).cumsum(dim=1)
            # Neighbors, and as much of the difference as the gate of the chunk says.
            chunks = (hidden - neighbors).view(*gate.shape, -1) * gate[:, :, None]
            hidden = norm(neighbors + chunks.flatten(start_dim=1))
        logits: Tensor = self.output(self._drop(hidden, self.dropout))
        return logits

    def _hidden(self, x: Features) -> Tensor:
        """Before the first hop."""
        first, *others = self.inputs
        hidden = self.input_norms[0](torch.relu(first(x, self.dropout if self.training else 0.0)))
        for layer, norm in zip(others, list(self.input_norms)[1:], strict=True):
            hidden = norm(torch.relu(layer(self._drop(hidden, self.dropout))))
        result: Tensor = hidden
        return result

    def parameter_groups(self, lr: float, weight_decay: float, linear_weight_decay: float) -> list[dict[str, Any]]:
        """Parameter groups for a torch optimizer: gates and norms of the hops, and the layers before and after them."""
        hops = [*self.gates.parameters(), *self.norms.parameters()]
        others = [*self.inputs.parameters(), *self.input_norms.parameters(), *self.output.parameters()]
        return [
            {"params": hops, "lr": lr, "weight_decay": weight_decay},
            {"params": others, "lr": lr, "weight_decay": linear_weight_decay},
        ]

    def _drop(self, x: Tensor, rate: float) -> Tensor:
        return dropout(x, rate if self.training else 0.0)
