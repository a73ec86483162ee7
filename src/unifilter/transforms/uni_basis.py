"""UniBasis as a PyG transform."""

from __future__ import annotations

from torch_geometric.data import Data
from torch_geometric.data.datapipes import functional_transform
from torch_geometric.transforms import BaseTransform

from unifilter._internal.checks import check_fraction, check_hops
from unifilter.factorization import factorize
from unifilter.graph import Graph, estimate_homophily


@functional_transform("uni_basis")
class UniBasis(BaseTransform):
    r"""Add UniBasis :math:`\tau \mathbf{P}^k x + (1-\tau) u_k` to a data object
    (functional name: :obj:`uni_basis`).

    The result is one tensor, ``data.basis`` of shape ``[num_nodes, hops + 1, num_features]``: nodes come first, as
    PyG's loaders and subgraphs expect of node attributes.

    Args:
        hops: Number of hops K.
        tau: Share of the homophily basis, in [0, 1].
        homophily: The graph's homophily. Default: estimated from the labels of ``data.train_mask``.
        formulation: ``"paper"`` or ``"released"``, see :class:`unifilter.bases.Uni`.
    """

    def __init__(self, hops: int, tau: float, homophily: float | None = None, formulation: str = "paper") -> None:
        self.hops = check_hops(hops)
        self.tau = check_fraction("tau", tau)
        self.homophily = None if homophily is None else check_fraction("homophily", homophily)
        self.formulation = formulation

    def forward(self, data: Data) -> Data:
        if data.x is None:
            raise ValueError("this Data object has no features: set data.x first")
        graph = Graph.from_data(data)
        homophily = self._fit(graph, data) if self.homophily is None else self.homophily
        fact = factorize(graph, data.x, self.hops)
        basis = fact.basis("uni", tau=self.tau, homophily=homophily, formulation=self.formulation)
        data.basis = basis.transpose(0, 1)
        return data

    def _fit(self, graph: Graph, data: Data) -> float:
        mask = data.get("train_mask")
        if mask is None or data.y is None:
            raise ValueError(
                "homophily is estimated from data.y on data.train_mask, but one of them is missing: "
                "set both, or pass UniBasis(..., homophily=0.5)"
            )
        if mask.dim() != 1:
            raise ValueError(
                f"data.train_mask has {mask.shape[1]} splits: select one, data.train_mask = data.train_mask[:, 0]"
            )
        return estimate_homophily(graph, data.y, mask)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(hops={self.hops}, tau={self.tau}, homophily={self.homophily}, "
            f"formulation={self.formulation!r})"
        )
