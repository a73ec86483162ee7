"""Base class of all models on graphs, with the signature of PyG's models and access to the learned filter."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from unifilter.bases import Basis, Tridiagonal
from unifilter.graph import Graph, SelfLoops, as_graph
from unifilter.nn.sparse_rows import SparseRows

# Features for a model: a dense tensor, a torch CSR tensor, or the faster SparseRows.
Features = Tensor | SparseRows
# A graph for a model: PyG's edge_index, or a prepared Graph.
EdgeIndex = Tensor | Graph


class GraphModule(nn.Module):
    r"""A model with ``forward(x, edge_index, edge_weight=None)``, which returns the logits of every node.

    ``edge_index`` is PyG's ``[2, num_edges]`` tensor with optional weights, or a :class:`unifilter.Graph`. The model
    normalizes inside, with :math:`\mathbf{P} = \mathbf{D}^{-1/2}\mathbf{A}\mathbf{D}^{-1/2}`; self-loops are removed or
    added as in its paper (``self_loops``). An ``edge_index`` is treated as undirected. Models with ``takes_directed``
    accept a directed :class:`unifilter.Graph`, and other models refuse it. The graph of the last ``edge_index`` is
    cached, so full-batch training prepares it once.

    Parameters and buffers contain the whole trained model, for ``state_dict()`` and ``load_state_dict()``.
    """

    # Buffers with a shape that depends on the data.
    lazy_buffers: ClassVar[tuple[str, ...]] = ()
    self_loops: SelfLoops = "remove"
    # Whether the model accepts directed graphs. Models that need a symmetric matrix do not.
    takes_directed: ClassVar[bool] = False
    # Number of nodes for a model with one weight per node; None for a model of any graph.
    num_nodes: int | None = None

    def __init__(self) -> None:
        super().__init__()
        self._prepared: _Prepared | None = None
        for name in self.lazy_buffers:
            self.register_buffer(name, None)

    def reset_parameters(self) -> None:
        """Draw new initial weights."""
        raise NotImplementedError

    def response(self, lam: Tensor) -> Tensor | None:
        """The learned filter at Laplacian eigenvalues ``lam``, ``[*lam.shape, channels]``; ``None`` if it has none."""
        return None

    @property
    def hop_weights(self) -> Tensor | None:
        """One learned weight per basis vector ``[m]``, or per vector and channel ``[m, channels]``, if any."""
        return None

    @property
    def basis(self) -> Basis | None:
        """The basis of :attr:`hop_weights`, if it adapts to the features."""
        return None

    @property
    def tridiagonal(self) -> Tridiagonal | None:
        """The factorization of the training features, if the filter was learned on one."""
        return None

    def node_inputs(self, x: Features, edge_index: EdgeIndex, edge_weight: Tensor | None = None) -> Tensor:
        """The input of the row-wise part of the model in evaluation: one row per node, from graph and features.

        ``model.on_node_inputs(model.node_inputs(x, edge_index))`` is ``model(x, edge_index)``. Models that
        use neighbors after their first layer have no such rows.
        """
        raise ValueError(
            f"{type(self).__name__} looks at the neighbors of a node behind its layers, so there are no rows that hold "
            "all it knows of a node: use a method that filters the features first, such as unifilter, sgc, sign or mlp"
        )

    def on_node_inputs(self, rows: Tensor) -> Tensor:
        """Logits from rows of :meth:`node_inputs`, computed row by row."""
        raise NotImplementedError

    def graph_of(self, x: Features, edge_index: EdgeIndex, edge_weight: Tensor | None = None) -> Graph:
        """The graph with this model's self-loops, on the device of the features."""
        if edge_weight is not None and edge_weight.requires_grad:
            raise ValueError("edge_weight requires a gradient, and these models learn no edge weights: detach it")
        if self._prepared is None or not self._prepared.is_of(edge_index, edge_weight):
            graph = as_graph(edge_index, x.shape[0], edge_weight, self.self_loops)
            if not self.takes_directed:
                graph.require_undirected(type(self).__name__)
            self.check_nodes(graph.num_nodes, type(self).__name__)
            self._prepared = _Prepared(edge_index, edge_weight, graph)
        if self._prepared.graph.device != x.device:
            self._prepared.graph, self._prepared.derived = self._prepared.graph.to(x.device), {}
        return self._prepared.graph

    def check_nodes(self, num_nodes: int, name: str) -> None:
        """Raise an error for a graph whose number of nodes does not match the node weights of this model.

        Args:
            num_nodes: Number of nodes of the graph.
            name: Name of the model.
        """
        if self.num_nodes is not None and num_nodes != self.num_nodes:
            raise ValueError(
                f"{name} has a weight for each of the {self.num_nodes} nodes it was trained on, and this graph has "
                f"{num_nodes}: train it on this graph, or use a method that predicts for new nodes, such as unifilter"
            )

    def derived(self, name: str, make: Callable[[Graph], Any]) -> Any:
        """The result of ``make`` for the graph of the last :meth:`graph_of`, computed once per graph."""
        prepared = self._prepared
        if prepared is None:
            raise ValueError("there is no graph yet: call graph_of first")
        if name not in prepared.derived:
            prepared.derived[name] = make(prepared.graph)
        return prepared.derived[name]

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *rest: Any) -> None:
        for name in self.lazy_buffers:
            value = state_dict.get(prefix + name)
            if value is None:
                setattr(self, name, None)
            elif getattr(self, name) is None or getattr(self, name).shape != value.shape:
                setattr(self, name, torch.empty_like(value))
        super()._load_from_state_dict(state_dict, prefix, *rest)

    def __getstate__(self) -> dict[str, Any]:
        # The prepared graph is not stored: it can be prepared again, and a weak reference cannot be pickled.
        return {**self.__dict__, "_prepared": None}


class _Prepared:
    """A graph, and the versions of the tensors it was made from."""

    def __init__(self, edge_index: EdgeIndex, edge_weight: Tensor | None, graph: Graph) -> None:
        self._sources = [(weakref.ref(one), _version(one)) for one in (edge_index, edge_weight) if one is not None]
        self.graph = graph
        # Results that a model computes once per graph, such as eigenvectors.
        self.derived: dict[str, Any] = {}

    def is_of(self, edge_index: EdgeIndex, edge_weight: Tensor | None) -> bool:
        given = [one for one in (edge_index, edge_weight) if one is not None]
        return len(given) == len(self._sources) and all(
            known() is one and version == _version(one)
            for one, (known, version) in zip(given, self._sources, strict=True)
        )


def _version(source: EdgeIndex) -> int:
    """Number of in-place changes of a tensor; a graph never changes."""
    return source._version if isinstance(source, Tensor) else 0
