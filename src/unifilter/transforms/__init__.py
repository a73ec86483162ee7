"""Transforms for PyG pipelines; needs ``torch_geometric``."""

from unifilter.transforms.uni_basis import UniBasis

__all__ = ["UniBasis"]
