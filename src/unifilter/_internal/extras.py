"""Optional packages: what each extra installs, and the error if it is missing."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec

# As in pyproject.toml, without the extras for development.
EXTRAS = {
    "pyg": ("torch_geometric",),
    "tables": ("pandas", "pyarrow"),
    "tune": ("optuna",),
    "explore": ("starlette", "uvicorn"),
    "onnx": ("onnx",),
    "tensorboard": ("tensorboard",),
    "mlflow": ("mlflow", "sqlalchemy", "alembic"),
    "scale": ("dask", "distributed"),
}


class MissingExtraError(ImportError):
    """An optional package is not installed."""


def require(extra: str, what: str, packages: Sequence[str] | None = None) -> None:
    """Raise an error if a package of an extra is missing. Call this before any work; it imports nothing.

    Args:
        extra: Name of the extra.
        what: What needs it; the message starts with this.
        packages: The packages of the extra that are needed. Default: all.
    """
    needed = EXTRAS[extra] if packages is None else packages
    if any(find_spec(package) is None for package in needed):
        raise MissingExtraError(f"{what} needs {' and '.join(needed)}: pip install 'unifilter[{extra}]'")
