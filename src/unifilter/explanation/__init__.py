"""The last stage: explanations of graphs, signals and trained filters, as numbers, sentences, plots and a page."""

from unifilter.explanation.assembling import explain
from unifilter.explanation.importance import Importance, feature_importance
from unifilter.explanation.node_view import NodeView, explain_node
from unifilter.explanation.permutation import permutation_importance
from unifilter.explanation.spectral_explanation import SpectralExplanation

__all__ = [
    "Importance",
    "NodeView",
    "SpectralExplanation",
    "explain",
    "explain_node",
    "feature_importance",
    "permutation_importance",
]
