"""Models: torch modules on rows of a basis."""

from unifilter.nn.learned_basis import LearnedUniBasis
from unifilter.nn.mlp import MLP
from unifilter.nn.uni_filter import HetFilter, HomFilter, OrtFilter, UniFilter

__all__ = ["MLP", "HetFilter", "HomFilter", "LearnedUniBasis", "OrtFilter", "UniFilter"]
