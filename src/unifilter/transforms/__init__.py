"""The basis as a transform for PyG's data objects (extra ``pyg``) and for scikit-learn's pipelines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from unifilter._internal.extras import require
from unifilter.transforms.uni_basis_transformer import UniBasisTransformer

if TYPE_CHECKING:
    from unifilter.transforms.uni_basis import UniBasis


def __getattr__(name: str) -> Any:
    # Imported on first use, because it needs PyG.
    if name != "UniBasis":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    require("pyg", what="unifilter.transforms.UniBasis")
    from unifilter.transforms.uni_basis import UniBasis

    return UniBasis


__all__ = ["UniBasis", "UniBasisTransformer"]
