"""UniFilter: factor the graph once, and every polynomial filter is a small matrix."""

from unifilter.estimator import UniFilterClassifier
from unifilter.explanation import SpectralExplanation, explain, explain_node
from unifilter.factorization import Diagnostics, Factorization, factorize
from unifilter.graph import Graph
from unifilter.homophily import (
    HomophilyEstimate,
    adjusted_homophily,
    class_homophily,
    edge_homophily,
    estimate_homophily,
    node_homophily,
)
from unifilter.rows import BasisRows
from unifilter.signals import dirichlet_energy, signal_frequency
from unifilter.spectral import SpectralDensity, density_of, spectral_density
from unifilter.tridiagonal import Tridiagonal

__version__ = "0.1.0"

__all__ = [
    "BasisRows",
    "Diagnostics",
    "Factorization",
    "Graph",
    "HomophilyEstimate",
    "SpectralDensity",
    "SpectralExplanation",
    "Tridiagonal",
    "UniFilterClassifier",
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
    "signal_frequency",
    "spectral_density",
]
