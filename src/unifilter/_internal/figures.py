"""New matplotlib figures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def new_figure(**options: Any) -> Figure:
    """A figure that needs no display and does not change matplotlib's global state."""
    # Imported here because it takes a second, and most of the package draws nothing.
    from matplotlib.figure import Figure

    return Figure(layout="constrained", **options)
