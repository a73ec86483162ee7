"""The graph and its measures: propagation, homophily, frequencies of signals."""

from unifilter.graph.adjacency import Direction, Duplicates, SelfLoops
from unifilter.graph.convert_edges import EdgeBlock, convert_edges
from unifilter.graph.edge_facts import EdgeFacts
from unifilter.graph.graph import Graph
from unifilter.graph.graph_like import as_graph
from unifilter.graph.homophily import (
    HomophilyEstimate,
    adjusted_homophily,
    class_homophily,
    edge_homophily,
    estimate_homophily,
    node_homophily,
)
from unifilter.graph.node_order import NodeOrder
from unifilter.graph.signals import dirichlet_energy, signal_frequency
from unifilter.graph.target_homophily import label_set_homophily, value_homophily
from unifilter.graph.two_hop import two_hop_graph

__all__ = [
    "Direction",
    "Duplicates",
    "EdgeBlock",
    "EdgeFacts",
    "Graph",
    "HomophilyEstimate",
    "NodeOrder",
    "SelfLoops",
    "adjusted_homophily",
    "as_graph",
    "class_homophily",
    "convert_edges",
    "dirichlet_energy",
    "edge_homophily",
    "estimate_homophily",
    "label_set_homophily",
    "node_homophily",
    "signal_frequency",
    "two_hop_graph",
    "value_homophily",
]
