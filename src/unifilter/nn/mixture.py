"""Several networks with averaged predictions."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn.functional import logsigmoid

from unifilter.data import ArrayPreparation, TaskName
from unifilter.graph import Graph, as_graph
from unifilter.nn.graph_module import EdgeIndex, Features, GraphModule


class Member(GraphModule):
    """A network in a :class:`Mixture`, with the feature scaling of its training.

    Args:
        network: The network.
        preparation: Feature scaling; ``None`` leaves features unchanged.
    """

    def __init__(self, network: GraphModule, preparation: ArrayPreparation | None = None) -> None:
        super().__init__()
        self.network, self.preparation = network, preparation

    def reset_parameters(self) -> None:
        self.network.reset_parameters()

    def forward(self, x: Features, edge_index: EdgeIndex, edge_weight: Tensor | None = None) -> Tensor:
        if self.preparation is not None:
            if not isinstance(x, Tensor):
                raise ValueError("these features are prepared for one network: pass them as a tensor")
            x = self.preparation.apply(x.cpu()).to(x.device)
        outputs: Tensor = self.network(x, edge_index, edge_weight)
        return outputs


class Mixture(GraphModule):
    r"""The weighted mean of the predictions of several networks:

    .. math:: p(c \mid v) = \sum_m \omega_m \, \mathrm{softmax}\big(z_m(v) / T_m\big)_c, \qquad \omega_m \ge 0, \;
        \sum_m \omega_m = 1.

    For classification the output is :math:`\log p`. For multilabel classification the sigmoid replaces the softmax, and
    the output is the logit of :math:`p`. For regression the output is :math:`\sum_m \omega_m z_m`.

    Args:
        members: The networks.
        task: Learning task of the networks.

    Shapes:
        - input: features ``[num_nodes, in_channels]`` and ``edge_index`` ``[2, num_edges]``
        - output: ``[num_nodes, out_channels]``
    """

    # One value per member, in buffers because no optimizer changes them.
    weights: Tensor
    temperatures: Tensor

    def __init__(self, members: Sequence[Member], task: TaskName = "classification") -> None:
        super().__init__()
        if not members:
            raise ValueError("a mixture has no members: pass at least one")
        self.members, self.task = nn.ModuleList(members), task
        self.register_buffer("weights", torch.full((len(members),), 1 / len(members)))
        self.register_buffer("temperatures", torch.ones(len(members)))

    @property
    def num_nodes(self) -> int | None:  # type: ignore[override]
        """Number of nodes of a member with one weight per node; ``None`` without such a member."""
        known = [member.network.num_nodes for member in self._each() if member.network.num_nodes is not None]
        return known[0] if known else None

    @property
    def takes_directed(self) -> bool:  # type: ignore[override]
        return all(member.network.takes_directed for member in self._each())

    def check_nodes(self, num_nodes: int, name: str) -> None:
        if self.num_nodes is not None and num_nodes != self.num_nodes:
            raise ValueError(
                f"{name} has members with a weight for each of the {self.num_nodes} nodes it was trained on, and this "
                f"graph has {num_nodes}: train it on this graph, or with inductive=True, which leaves such members out"
            )

    def reset_parameters(self) -> None:
        for member in self._each():
            member.reset_parameters()

    def _each(self) -> list[Member]:
        return [one for one in self.members if isinstance(one, Member)]

    def forward(self, x: Features, edge_index: EdgeIndex, edge_weight: Tensor | None = None) -> Tensor:
        # Each member adds or removes self-loops itself.
        graph = edge_index if isinstance(edge_index, Graph) else as_graph(edge_index, x.shape[0], edge_weight)
        return self.combined([member(x, graph) for member in self._each()])

    def combined(self, outputs: Sequence[Tensor]) -> Tensor:
        """The mixture of the members' outputs, each ``[rows, out_channels]``."""
        return mixed(outputs, self.weights, self.temperatures, self.task)


def mixed(outputs: Sequence[Tensor], weights: Tensor, temperatures: Tensor, task: TaskName) -> Tensor:
    """The weighted mean of outputs, see :class:`Mixture`.

    Args:
        outputs: Outputs of each member, ``[rows, out_channels]``.
        weights: One non-negative weight per member, with a sum of 1.
        temperatures: One temperature per member; ignored for regression.
        task: Learning task of the members.
    """
    stacked = torch.stack(list(outputs))
    shares = weights.to(stacked)[:, None, None]
    if task == "regression":
        return (shares * stacked).sum(dim=0)
    stacked = stacked / temperatures.to(stacked)[:, None, None]
    if task == "classification":
        return torch.logsumexp(shares.log() + torch.log_softmax(stacked, dim=2), dim=0)
    there, absent = (torch.logsumexp(shares.log() + logsigmoid(sign * stacked), dim=0) for sign in (1, -1))
    return there - absent
