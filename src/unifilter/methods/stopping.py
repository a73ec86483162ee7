"""Stop rules that a setting chooses between."""

from __future__ import annotations

from unifilter.training import LossWindow, Patience, StopRule


def stop_by_loss(patience: int | None, window: int) -> StopRule:
    """Keeps the lowest validation loss, and ends by ``patience`` where it is given, else by a window.

    Args:
        patience: Number of epochs without a lower loss.
        window: Number of epochs of :class:`unifilter.training.LossWindow`.
    """
    return LossWindow(window) if patience is None else Patience(patience, monitor="loss")
