"""Optional packages: what each extra brings, and one way to say that it is missing."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec

# As in pyproject.toml; the extras for development are not here.
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
    """A package that only an extra installs is missing."""


def require(extra: str, what: str, packages: Sequence[str] | None = None) -> None:
    """Refuses to go on without the packages of an extra. Call it before any work: it imports nothing.

    Args:
        extra: The name of the extra.
        what: What needs it, to begin the message with.
        packages: Those of its packages that are needed; by default all.
    """
    needed = EXTRAS[extra] if packages is None else packages
    if any(find_spec(package) is None for package in needed):
        raise MissingExtraError(f"{what} needs {' and '.join(needed)}: pip install 'unifilter[{extra}]'")
