"""Transforms for PyG pipelines; needs ``torch_geometric``."""

from unifilter._internal.extras import require

require("pyg", what="unifilter.transforms")

from unifilter.transforms.uni_basis import UniBasis  # noqa: E402

__all__ = ["UniBasis"]
