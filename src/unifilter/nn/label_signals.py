"""Training labels as further signals on the graph, beside the features."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from unifilter._internal.checks import check_count
from unifilter.graph import Graph
from unifilter.nn.graph_module import EdgeIndex, GraphModule
from unifilter.nn.mlp import MLP

# A smaller share is mostly rounding, and so is a mean over it.
_SMALLEST_SHARE = 1e-5


class LabelSignals(GraphModule):
    r"""A network on the features, plus an MLP on the training labels around each node:

    .. math::
        y = \mathrm{network}(x) + \mathrm{MLP}\big(s_1 \Vert \dots \Vert s_K\big), \qquad
        s_k = \frac{(\mathbf{D}^{-1}\mathbf{A})^k \, y_{\text{train}}}{(\mathbf{D}^{-1}\mathbf{A})^k \, m}.

    :math:`m` is 1 for labeled nodes and 0 for others. So :math:`s_k` is the mean label at the end of a random walk of k
    steps, over the walks that end at a labeled node. The MLP also reads the share of these walks.

    A node must not read its own label, and a walk of two steps can return to it. So the training nodes are divided into
    folds, and the signals of the nodes in a fold come from the labels of the other folds. All other nodes read every
    training label.

    The model contains the labels of the training nodes, so it predicts only on the graph that it was trained on.

    Args:
        network: The network on the features.
        num_nodes: Number of nodes.
        out_channels: Number of outputs: classes, labels or targets.
        separate: Whether a node can have some labels or targets and lack others. Classes are known or unknown together.
        label_hops: Number of steps K.
        label_folds: Number of folds.
        hidden_channels, label_dropout: Width and dropout of the MLP, which has two layers.

    Shapes:
        - input: those of the network; only the way of PyG's models, on a graph
        - output: ``[num_nodes, out_channels]``
    """

    # Labels of the training nodes, 1 where they are known, and the fold of each training node. Other nodes have zeros,
    # and the fold -1.
    labels: Tensor
    known: Tensor
    fold: Tensor

    def __init__(
        self,
        network: GraphModule,
        num_nodes: int,
        out_channels: int,
        separate: bool = False,
        label_hops: int = 6,
        label_folds: int = 10,
        hidden_channels: int = 64,
        label_dropout: float = 0.2,
    ) -> None:
        super().__init__()
        self.network, self.num_nodes, self.self_loops = network, num_nodes, network.self_loops
        self.hops = check_count("label_hops", label_hops, "labels are collected over 6 steps by default")
        self.folds = check_count("label_folds", label_folds, "with 10, a tenth of the labels is hidden at a time")
        if label_folds < 2:
            raise ValueError("label_folds is 1, which would hide all labels from the training nodes: use at least 2")
        self.register_buffer("labels", torch.zeros(num_nodes, out_channels))
        self.register_buffer("known", torch.zeros(num_nodes, out_channels if separate else 1))
        self.register_buffer("fold", torch.full((num_nodes,), -1))
        signals = out_channels + self.known.shape[1]
        self._computed: tuple[tuple[Any, ...], Tensor] | None = None
        self.mlp = MLP(self.hops * signals, hidden_channels, out_channels, 2, label_dropout, plain=True)

    def reset_parameters(self) -> None:
        self.network.reset_parameters()
        self.mlp.reset_parameters()

    def attach_labels(self, labels: Tensor, train: Tensor) -> None:
        """Set the labels of the training nodes.

        Args:
            labels: Labels or targets of all nodes ``[num_nodes, out_channels]``, one-hot for classes; NaN if unknown.
                Only the rows of training nodes are read.
            train: Training nodes.
        """
        given = labels[train].to(self.labels)
        known = ~given.isnan()
        for buffer, values in (
            (self.labels, torch.where(known, given, 0.0)),
            (self.known, known[:, : self.known.shape[1]]),
        ):
            buffer.zero_()
            buffer[train] = values.to(buffer)
        order = torch.randperm(len(train), generator=torch.Generator().manual_seed(0)).to(train.device)
        self.fold.fill_(-1)
        self.fold[train[order]] = torch.arange(len(train), device=self.fold.device) % self.folds

    def rows(self, graph: Graph) -> Tensor:
        """The input of the MLP, one row per node. It is computed again only for another graph or other labels."""
        state = (graph, self.labels.dtype, *(part._version for part in (self.labels, self.known, self.fold)))
        if self._computed is None or self._computed[0] != state:
            self._computed = state, self._rows(graph)
        return self._computed[1]

    @torch.no_grad()
    def _rows(self, graph: Graph) -> Tensor:
        signals = torch.cat([self.labels, self.known], dim=1)
        found = self._walks(graph, signals)
        for fold in range(self.folds):
            hidden = self.fold == fold
            if hidden.any():
                found[hidden] = self._walks(graph, torch.where(hidden[:, None], 0.0, signals))[hidden]
        return found

    def _walks(self, graph: Graph, signals: Tensor) -> Tensor:
        """Mean label, and share of walks that end at a labeled node, for walks of every length."""
        root = graph.root_degree(signals.dtype)[:, None]
        walk, found = signals * root, []
        for _ in range(self.hops):
            walk = graph.propagate(walk, check_finite=False)
            labels, share = torch.split(walk / root, [self.labels.shape[1], self.known.shape[1]], dim=1)
            found += [torch.where(share > _SMALLEST_SHARE, labels / share.clamp_min(_SMALLEST_SHARE), 0.0), share]
        return torch.cat(found, dim=1)

    def forward(self, x: Tensor, edge_index: EdgeIndex, edge_weight: Tensor | None = None) -> Tensor:
        graph = self.graph_of(x, edge_index, edge_weight)
        return self.network(x, graph) + self.mlp(self.rows(graph))  # type: ignore[no-any-return]

    def response(self, lam: Tensor) -> Tensor | None:
        return self.network.response(lam)

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_computed": None}
