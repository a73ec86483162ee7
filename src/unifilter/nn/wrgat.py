"""WRGAT: attention over neighbors and over nodes whose surroundings are alike."""

from __future__ import annotations

from typing import Literal, get_args

import torch
from torch import Tensor, nn
from torch.nn.functional import leaky_relu

from unifilter._internal.checks import check_choice, check_count, check_rate
from unifilter.graph import Graph
from unifilter.graph.structural_relations import structural_relations
from unifilter.kernels.dropout import dropout
from unifilter.nn.edge_attention import EdgeRows, edge_rows
from unifilter.nn.graph_module import EdgeIndex, Features, GraphModule
from unifilter.nn.input_linear import as_input

Aggregation = Literal["sum", "mean"]
# Slope of LeakyReLU below zero.
_SLOPE = 0.2


class WRGAT(GraphModule):
    r"""WRGAT of "Breaking the Limit of Graph Neural Networks by Improving the Assortativity of Graphs with Local Mixing
    Patterns" (2021): two layers

    .. math::
        y_i = x_i \mathbf{W} + b
        + \sum_r \sum_{j \in N_r(i)} w^r_{ij} \, \alpha^r_{ij} \, x_j \mathbf{W}_r, \qquad
        \alpha^r_{ij} = \operatorname{softmax}_{j \in N_r(i)} \mathrm{LeakyReLU}_{0.2}\left(
        a_r^\top [x_i \mathbf{W}_r \,\|\, x_j \mathbf{W}_r]\right),

    with ReLU and dropout between them. The relations are those of
    :func:`unifilter.graph.structural_relations.structural_relations`, with their weights :math:`w^r`, and, where asked
    for, the edges of the graph; only these have its weights.

    The authors' published code takes the mean over :math:`N_r(i)` instead of the sum, although the softmax has made a
    mean of it already: ``aggregation="mean"``. With that, accuracy falls far short of what is
    reported.

    Args:
        in_channels, hidden_channels, out_channels: Widths.
        num_relations: How many structural relations have weights. Of a graph that has more, the first are used.
        original_edges: Whether the edges of the graph are a relation too.
        dropout: Dropout between the layers.
        structural_layers: How many structural relations are computed at most; ``None`` computes all.
        aggregation: ``"sum"``, or ``"mean"``, which divides each sum by its number of terms once more.

    Shapes:
        - input: features ``[num_nodes, in_channels]``, dense or sparse, and ``edge_index`` ``[2, num_edges]``
        - output: logits ``[num_nodes, out_channels]``
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        num_relations: int,
        original_edges: bool = False,
        dropout: float = 0.5,
        structural_layers: int | None = None,
        aggregation: Aggregation = "sum",
    ) -> None:
        super().__init__()
        check_count("num_relations", num_relations, "a graph has one more than the distance of its farthest nodes")
        self.num_relations, self.original_edges = num_relations, original_edges
        self.dropout, self.structural_layers = check_rate("dropout", dropout), structural_layers
        check_choice("aggregation", aggregation, get_args(Aggregation))
        self.aggregation = aggregation
        count = num_relations + original_edges
        self.first = RelationalAttention(in_channels, hidden_channels, count)
        self.second = RelationalAttention(hidden_channels, out_channels, count)

    def reset_parameters(self) -> None:
        self.first.reset_parameters()
        self.second.reset_parameters()

    def forward(self, x: Features, edge_index: EdgeIndex, edge_weight: Tensor | None = None) -> Tensor:
        graph = self.graph_of(x, edge_index, edge_weight)
        relations = _structural(graph, self.structural_layers, x.dtype)[: self.num_relations]
        if self.original_edges:
            relations = [(edge_rows(graph), graph.adjacency(x.dtype).values()), *relations]
        if self.aggregation == "mean":
            relations = [(edges, weights / edges.starts.diff()[edges.rows]) for edges, weights in relations]
        hidden = torch.relu(self.first(as_input(x), relations))
        logits: Tensor = self.second(dropout(hidden, self.dropout if self.training else 0.0), relations)
        return logits


# Entries, and their weights.
Relation = tuple[EdgeRows, Tensor]


class RelationalAttention(nn.Module):
    """One layer of :class:`WRGAT`, with weights for ``num_relations`` relations."""

    def __init__(self, in_channels: int, out_channels: int, num_relations: int) -> None:
        super().__init__()
        self.root = nn.Parameter(torch.empty(in_channels, out_channels))
        self.bias = nn.Parameter(torch.empty(out_channels))
        self.weight = nn.Parameter(torch.empty(num_relations, in_channels, out_channels))
        self.attention = nn.Parameter(torch.empty(num_relations, 2 * out_channels))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        for parameter in (self.root, self.weight, self.attention):
            bound = (6 / (parameter.shape[-2] + parameter.shape[-1])) ** 0.5
            nn.init.uniform_(parameter, -bound, bound)
        nn.init.zeros_(self.bias)

    def forward(self, x: Features, relations: list[Relation]) -> Tensor:
        """Relations without weights, or weights without a relation, play no part."""
        total = x @ self.root + self.bias
        for (edges, weights), matrix, attention in zip(relations, self.weight, self.attention, strict=False):
            values = x @ matrix
            of_row, of_column = (values @ attention.view(2, -1).T).unbind(dim=1)
            shares = edges.softmax(leaky_relu(edges.pairs(of_row, of_column), _SLOPE))
            total = total + edges.weighted_sum(shares * weights, values)
        return total


def count_relations(graph: Graph, structural_layers: int | None = None) -> int:
    """How many structural relations a graph has."""
    return len(_structural(graph, structural_layers, torch.float32))


def _structural(graph: Graph, layers: int | None, dtype: torch.dtype) -> list[Relation]:
    """Computed once for a graph: models with other settings share them."""
    key = f"structural relations {layers} {dtype}"
    if key not in graph.cache:
        graph.cache[key] = [
            (EdgeRows(starts.to(graph.device), columns.to(graph.device)), weights.to(graph.device, dtype))
            for starts, columns, weights in structural_relations(graph, layers)
        ]
    relations: list[Relation] = graph.cache[key]
    return relations
