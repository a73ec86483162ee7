"""Graph attention networks."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import elu, leaky_relu

from unifilter._internal.checks import check_count, check_rate
from unifilter.graph import Graph
from unifilter.nn.edge_attention import edge_rows
from unifilter.nn.graph_module import EdgeIndex, Features, GraphModule
from unifilter.nn.initialization import initialize
from unifilter.nn.input_linear import InputLinear

# Negative slope of the LeakyReLU, as in the paper.
SLOPE = 0.2


class GAT(GraphModule):
    r"""Layers in which every node weighs itself and its neighbors, of "Graph Attention Networks" (2018):

    .. math::
        h_i = \mathrm{ELU}\Big(\sum_j \alpha_{ij} \mathbf{W} x_j + b\Big), \qquad
        \alpha_{ij} \propto a_{ij} \exp(\mathrm{LeakyReLU}(u^\top \mathbf{W} x_i + v^\top \mathbf{W} x_j))

    A hidden layer concatenates the outputs of its heads; the last layer averages them and has no ELU. The paper
    has no edge weights; here an edge of weight 2 counts as two edges.

    Args:
        in_channels: Number of features.
        hidden_channels: Width of each head.
        out_channels: Number of classes.
        num_layers: Number of layers.
        heads: Heads of each hidden layer.
        output_heads: Heads of the last layer.
        dropout: Dropout on the input of every layer.
        attention_dropout: Dropout on :math:`\alpha`.
        output_elu: Whether the last layer has an ELU too, as in some scripts.

    Shapes:
        - input: features ``[num_nodes, in_channels]``, dense or sparse, and ``edge_index`` ``[2, num_edges]``
        - output: logits ``[num_nodes, out_channels]``
    """

    self_loops = "add"
    takes_directed = True

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        num_layers: int = 2,
        heads: int = 8,
        output_heads: int = 1,
        dropout: float = 0.6,
        attention_dropout: float = 0.6,
        output_elu: bool = False,
    ) -> None:
        super().__init__()
        check_count("num_layers", num_layers, "the paper uses 2")
        check_count("heads", heads, "the paper uses 8")
        check_count("output_heads", output_heads, "the paper uses 1 or 8")
        self.dropout = check_rate("dropout", dropout)
        self.attention_dropout = check_rate("attention_dropout", attention_dropout)
        self.output_elu = output_elu
        widths = [in_channels, *[heads * hidden_channels] * (num_layers - 1)]
        self.layers = nn.ModuleList(AttentionLayer(width, hidden_channels, heads) for width in widths[:-1])
        self.output = AttentionLayer(widths[-1], out_channels, output_heads, concat=False)

    def reset_parameters(self) -> None:
        for layer in [*self.layers, self.output]:
            layer.reset_parameters()

    def forward(self, x: Features, edge_index: EdgeIndex, edge_weight: Tensor | None = None) -> Tensor:
        graph = self.graph_of(x, edge_index, edge_weight)
        rates = (self.dropout, self.attention_dropout) if self.training else (0.0, 0.0)
        for layer in self.layers:
            x = elu(layer(x, graph, *rates))
        logits: Tensor = self.output(x, graph, *rates)
        return elu(logits) if self.output_elu else logits


class AttentionLayer(nn.Module):
    """One layer without its activation.

    Args:
        in_channels: Width of the input.
        out_channels: Width of each head.
        heads: Number of heads.
        concat: Whether the heads are concatenated; otherwise they are averaged.
    """

    def __init__(self, in_channels: int, out_channels: int, heads: int, concat: bool = True) -> None:
        super().__init__()
        self.heads, self.concat = heads, concat
        self.linear = InputLinear(in_channels, heads * out_channels, bias=False)
        self.receiving, self.sending = (nn.Parameter(torch.empty(heads, out_channels)) for _ in range(2))
        self.bias = nn.Parameter(torch.empty(heads * out_channels if concat else out_channels))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        initialize(self.linear.weight, self.bias)
        for vectors in (self.receiving, self.sending):
            nn.init.xavier_uniform_(vectors)

    def forward(self, x: Features, graph: Graph, rate: float, attention_rate: float) -> Tensor:
        values: Tensor = self.linear(x, rate)
        by_head = values.view(len(values), self.heads, -1)
        receiving, sending = ((by_head * vectors).sum(dim=2) for vectors in (self.receiving, self.sending))
        heard = hear_neighbors(graph, values, receiving, sending, attention_rate)
        return (heard if self.concat else heard.view_as(by_head).mean(dim=1)) + self.bias


def hear_neighbors(graph: Graph, values: Tensor, receiving: Tensor, sending: Tensor, p: float = 0.0) -> Tensor:
    r"""Messages that each node receives from its neighbors, weighted by a softmax over them.

    Args:
        graph: The graph; an edge of weight 2 counts as two edges.
        values: Messages ``[num_nodes, heads * channels]``, one head after the other.
        receiving: Score of every node as a receiver, ``[num_nodes, heads]``.
        sending: Score of every node as a sender, ``[num_nodes, heads]``.
        p: Dropout rate of the weights.
    """
    edges, heard = edge_rows(graph), []
    # One head at a time: memory grows with the edges, not with edges times width.
    for head, of_head in enumerate(values.chunk(receiving.shape[1], dim=1)):
        scores = leaky_relu(edges.pairs(receiving[:, head], sending[:, head]), SLOPE)
        if graph.weights is not None:
            scores = scores + graph.weights.to(scores).log()
        weights = edges.dropout(edges.softmax(scores), p)
        heard.append(edges.weighted_sum(weights, of_head.contiguous()))
    return torch.cat(heard, dim=1)
