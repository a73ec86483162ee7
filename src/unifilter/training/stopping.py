"""When to stop, and which epoch was the best: each published method has its own rule."""

from __future__ import annotations

from collections import deque
from typing import Any, Literal, Protocol

from unifilter._internal.checks import check_choice, check_count

Monitor = Literal["score", "loss"]


class StopRule(Protocol):
    """Told the validation score and loss of each epoch; says whether it is the best so far, and whether to stop."""

    def step(self, score: float, loss: float) -> tuple[bool, bool]:
        """``(best so far, stop now)``."""

    def state_dict(self) -> dict[str, Any]: ...

    def load_state_dict(self, state: dict[str, Any]) -> None: ...


class Patience:
    """Stop when nothing improved for ``patience`` epochs.

    Args:
        patience: Epochs without improvement.
        monitor: ``"score"`` on the validation nodes, or ``"loss"``.
        ties: Whether an epoch as good as the best counts as an improvement.
        keep: Which epoch is the best, by ``"score"`` or by ``"loss"``; ``None`` for the one that is waited for.
    """

    def __init__(
        self, patience: int = 200, monitor: Monitor = "score", ties: bool = False, keep: Monitor | None = None
    ) -> None:
        self.patience = check_count("patience", patience, "the paper waits 200 epochs")
        self.monitor, self.ties, self.keep = monitor, ties, monitor if keep is None else keep
        check_choice("monitor", self.monitor, ("score", "loss"))
        check_choice("keep", self.keep, ("score", "loss"))
        self.best = {"score": float("-inf"), "loss": float("-inf")}
        self.waited = 0

    def step(self, score: float, loss: float) -> tuple[bool, bool]:
        values = {"score": score, "loss": -loss}
        improved = {
            name: value > self.best[name] or (self.ties and value == self.best[name]) for name, value in values.items()
        }
        self.best = {name: values[name] if improved[name] else best for name, best in self.best.items()}
        self.waited = 0 if improved[self.monitor] else self.waited + 1
        return improved[self.keep], self.waited >= self.patience

    def state_dict(self) -> dict[str, Any]:
        return {"best": self.best, "waited": self.waited}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.best, self.waited = dict(state["best"]), state["waited"]


class LossWindow:
    """The rule of GPR-GNN and its successors: the best epoch has the lowest validation loss, and training stops after
    ``window`` epochs as soon as a loss exceeds the mean of the ``window`` before it.

    As in their code, the first loss that is compared is the one after ``window + 1`` others.
    """

    def __init__(self, window: int = 200) -> None:
        self.window = check_count("window", window, "the papers use 200")
        self.losses: deque[float] = deque(maxlen=self.window + 1)
        self.best = float("inf")

    def step(self, score: float, loss: float) -> tuple[bool, bool]:
        improved = loss < self.best
        self.best = min(self.best, loss)
        stop = len(self.losses) > self.window and loss > sum(list(self.losses)[1:]) / self.window
        self.losses.append(loss)
        return improved, stop

    def state_dict(self) -> dict[str, Any]:
        return {"best": self.best, "losses": list(self.losses)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.best = state["best"]
        self.losses = deque(state["losses"], maxlen=self.window + 1)
