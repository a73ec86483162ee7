"""Stop rules that depend on a setting."""

from __future__ import annotations

from unifilter.training import LossWindow, Patience, StopRule


def stop_by_loss(patience: int | None, window: int) -> StopRule:
    """Keep the lowest validation loss, and stop by ``patience`` if it is given, otherwise by a window.

    Args:
        patience: Number of epochs without a lower loss.
        window: Number of epochs of :class:`unifilter.training.LossWindow`.
    """
    return LossWindow(window) if patience is None else Patience(patience, monitor="loss")
