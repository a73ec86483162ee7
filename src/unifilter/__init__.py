"""UniFilter: factor the graph once, and every polynomial filter is a small matrix."""

from unifilter._internal.version import __version__
from unifilter.bases import Tridiagonal, register_basis
from unifilter.estimators import NodeClassifier, TrainedModel, UniFilterClassifier
from unifilter.explanation import SpectralExplanation, explain, explain_node
from unifilter.factorization import (
    BasisRows,
    Diagnostics,
    Factorization,
    SpectralDensity,
    density_of,
    factorize,
    spectral_density,
)
from unifilter.graph import (
    Graph,
    HomophilyEstimate,
    adjusted_homophily,
    class_homophily,
    dirichlet_energy,
    edge_homophily,
    estimate_homophily,
    node_homophily,
    signal_frequency,
)
from unifilter.methods import register_method
from unifilter.transforms import UniBasisTransformer

__all__ = [
    "BasisRows",
    "Diagnostics",
    "Factorization",
    "Graph",
    "HomophilyEstimate",
    "NodeClassifier",
    "SpectralDensity",
    "SpectralExplanation",
    "TrainedModel",
    "Tridiagonal",
    "UniBasisTransformer",
    "UniFilterClassifier",
    "__version__",
    "adjusted_homophily",
    "class_homophily",
    "density_of",
    "dirichlet_energy",
    "edge_homophily",
    "estimate_homophily",
    "explain",
    "explain_node",
    "factorize",
    "node_homophily",
    "register_basis",
    "register_method",
    "signal_frequency",
    "spectral_density",
]
