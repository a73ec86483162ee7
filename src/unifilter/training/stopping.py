"""Early stopping rules, and the choice of the best epoch. Each published method has its own rule."""

from __future__ import annotations

from collections import deque
from typing import Any, Literal, Protocol

from unifilter._internal.checks import check_choice, check_count

Monitor = Literal["score", "loss"]


class StopRule(Protocol):
    """Takes the validation score and loss of each epoch, and decides whether it is the best and whether to stop."""

    def step(self, score: float, loss: float) -> tuple[bool, bool]:
        """``(best epoch so far, stop now)``."""

    def state_dict(self) -> dict[str, Any]: ...

    def load_state_dict(self, state: dict[str, Any]) -> None: ...


class Patience:
    """Stop after ``patience`` epochs without improvement.

    Args:
        patience: Number of epochs without improvement.
        monitor: The quantity that must improve on the validation nodes, ``"score"`` or ``"loss"``.
        ties: Whether an epoch equal to the best one counts as an improvement.
        keep: Which epoch is the best, by ``"score"`` or by ``"loss"``; ``None`` uses ``monitor``.
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


class EitherPatience:
    """The rule of APPNP: stop after ``patience`` epochs that were worse than both the best score and the best loss.

    An epoch that equals the best score or loss restarts the count. The best epoch is the one with the highest score,
    and among these the one with the lowest loss.

    Args:
        patience: Number of epochs without improvement.
    """

    def __init__(self, patience: int = 100) -> None:
        self.patience = check_count("patience", patience, "the authors of APPNP wait 100 epochs")
        self.best = {"score": float("-inf"), "loss": float("inf")}
        self.kept = float("-inf"), float("inf")
        self.waited = 0

    def step(self, score: float, loss: float) -> tuple[bool, bool]:
        improved = score >= self.best["score"] or loss <= self.best["loss"]
        self.best = {"score": max(self.best["score"], score), "loss": min(self.best["loss"], loss)}
        self.waited = 0 if improved else self.waited + 1
        ranked = score > self.kept[0] or (score == self.kept[0] and loss < self.kept[1])
        self.kept = (score, loss) if ranked else self.kept
        return ranked, self.waited >= self.patience

    def state_dict(self) -> dict[str, Any]:
        return {"best": self.best, "kept": list(self.kept), "waited": self.waited}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.best, self.waited = dict(state["best"]), state["waited"]
        self.kept = state["kept"][0], state["kept"][1]


class LossWindow:
    """The rule of GPR-GNN and its successors, based on a window of validation losses.

    The best epoch has the lowest validation loss. Training stops after ``window`` epochs as soon as a loss exceeds the
    mean of the previous ``window`` losses. As in the published code, the first loss compared is the one after
    ``window + 1`` others.

    Args:
        window: Number of epochs.
        keep: Which epoch is the best: that of the lowest ``"loss"``, or of the highest ``"score"``.
    """

    def __init__(self, window: int = 200, keep: Monitor = "loss") -> None:
        self.window = check_count("window", window, "the papers use 200")
        self.keep = keep
        check_choice("keep", keep, ("score", "loss"))
        self.losses: deque[float] = deque(maxlen=self.window + 1)
        self.best = float("inf")

    def step(self, score: float, loss: float) -> tuple[bool, bool]:
        kept = loss if self.keep == "loss" else -score
        improved = kept < self.best
        self.best = min(self.best, kept)
        stop = len(self.losses) > self.window and loss > sum(list(self.losses)[1:]) / self.window
        self.losses.append(loss)
        return improved, stop

    def state_dict(self) -> dict[str, Any]:
        return {"best": self.best, "losses": list(self.losses)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.best = state["best"]
        self.losses = deque(state["losses"], maxlen=self.window + 1)
