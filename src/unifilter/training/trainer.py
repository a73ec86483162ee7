"""The training loop: early stopping, best weights restored, safe to interrupt."""

from __future__ import annotations

import copy
import math
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn

from unifilter._internal.checks import check_choice, check_count
from unifilter.data import METRICS, Metric
from unifilter.training.checkpoint import Checkpoint
from unifilter.training.interrupt import HeldInterrupt
from unifilter.training.progress import Progress
from unifilter.training.stopping import StopRule
from unifilter.training.task import Task

Optimizer = Literal["adam", "adamw", "sgd"]

# A checkpoint costs a write of all weights: once in a while is enough, what is lost is at most this.
_SECONDS_PER_CHECKPOINT = 20.0


class DivergedWarning(UserWarning):
    """The loss stopped being a number; the best weights until then were kept."""


class TrainingInterrupted(KeyboardInterrupt):
    """Ctrl-C during training, at the end of the epoch; the state was saved where a checkpoint was given."""


@dataclass
class History:
    """What happened, epoch by epoch.

    Attributes:
        loss: Training loss.
        val_loss, val_score: Loss and metric on the validation nodes.
        best_epoch: The epoch whose weights were kept, from 0; -1 if there was none.
        seconds: Time spent in the loop, over all its parts if the run was interrupted.
        ended: ``"patience"``, ``"epochs"``, ``"diverged"``, or ``"stopped"`` by whoever watched.
    """

    loss: list[float] = field(default_factory=list)
    val_loss: list[float] = field(default_factory=list)
    val_score: list[float] = field(default_factory=list)
    best_epoch: int = -1
    seconds: float = 0.0
    ended: str = ""

    @property
    def epochs(self) -> int:
        return len(self.loss)

    @property
    def best_score(self) -> float:
        """Validation score of the weights that were kept; not a number where no epoch's were."""
        return self.val_score[self.best_epoch] if self.best_epoch >= 0 else math.nan


@dataclass(frozen=True)
class Optimization:
    """How the weights are found.

    Attributes:
        epochs: Maximum number of epochs.
        optimizer: ``"adam"``, ``"adamw"``, or plain gradient descent, ``"sgd"``.
        batch_size: Rows per step; ``None`` takes all training rows at once.
        metric: What is measured on the validation nodes.
        seed: Random seed of dropout and batches.
        lr_decay: Share of the initial learning rates that is taken off after every epoch.
    """

    epochs: int = 1000
    optimizer: Optimizer = "adam"
    batch_size: int | None = None
    metric: Metric = "accuracy"
    seed: int = 0
    lr_decay: float = 0.0

    def __post_init__(self) -> None:
        check_count("epochs", self.epochs, "the paper trains for at most 1000")
        check_choice("optimizer", self.optimizer, get_args(Optimizer))
        check_choice("metric", self.metric, METRICS)
        if self.batch_size is not None:
            check_count("batch_size", self.batch_size, "leave it out to train on all rows at once")
        if not 0 <= self.lr_decay * (self.epochs - 1) < 1:
            raise ValueError(
                f"lr_decay is {self.lr_decay!r}, and {self.epochs} epochs need a rate from 0 to below "
                f"{1 / max(self.epochs - 1, 1):g}, or nothing is left of the learning rate: lower it, or the epochs"
            )


def train(
    model: nn.Module,
    forward: Callable[[Tensor], Tensor],
    task: Task,
    train_nodes: Tensor,
    val_nodes: Tensor,
    parameter_groups: list[dict[str, Any]],
    stop: StopRule,
    how: Optimization,
    *,
    label: str = "training",
    verbose: bool = False,
    checkpoint: Checkpoint | None = None,
    on_epoch: Callable[[History], object] | None = None,
    announce: Callable[[Sequence[Tensor]], None] | None = None,
) -> History:
    """Train until the stop rule ends it, and leave the best weights in the model.

    Args:
        model: The module; its mode is switched between training and evaluation.
        forward: Outputs for some nodes, ``[nodes] -> [nodes, outputs]``.
        task: The known answers, the loss and the scores.
        train_nodes: Which nodes to learn from.
        val_nodes: Which nodes to stop by.
        parameter_groups: For the optimizer.
        stop: The stop rule.
        how: Epochs, optimizer, batches, metric, seed.
        label: What the progress bar is called.
        verbose: Whether to show progress.
        checkpoint: Where the state is saved from time to time and on Ctrl-C, and taken up from if it is there.
        on_epoch: Called with the history after every epoch. Where it returns ``True``, training stops there and the
            best weights are kept; whatever it raises ends the training.
        announce: Told the batches of each epoch before the first of them, so that their rows can be read ahead.
    """
    task.check_metric(how.metric)
    _check_nodes(task, train_nodes=train_nodes, val_nodes=val_nodes)
    optimizer_class = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW, "sgd": torch.optim.SGD}[how.optimizer]
    # One pass over the weights instead of a dozen.
    optimizer = optimizer_class(parameter_groups, fused=True)
    initial_rates = [group["lr"] for group in optimizer.param_groups]
    history, best = History(), copy.deepcopy(model.state_dict())
    # Masks and batches come from a generator state of their own: the caller's is left as it was.
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(how.seed)
        saved = checkpoint.load() if checkpoint is not None else None
        if saved is not None:
            model.load_state_dict(saved["model"])
            optimizer.load_state_dict(saved["optimizer"])
            stop.load_state_dict(saved["stop"])
            torch.set_rng_state(saved["generator"])
            history, best = History(**saved["history"]), saved["best"]

        def save() -> None:
            if checkpoint is not None:
                checkpoint.save(
                    {
                        "model": model.state_dict(),
                        "optimizer": optimizer.state_dict(),
                        "stop": stop.state_dict(),
                        "generator": torch.get_rng_state(),
                        "history": asdict(history),
                        "best": best,
                    }
                )

        started = last_saved = time.monotonic()
        before = history.seconds
        between_epochs = True
        with Progress(verbose, label, how.epochs) as progress, HeldInterrupt() as interrupt:
            try:
                while not history.ended:
                    between_epochs = False
                    for group, rate in zip(optimizer.param_groups, initial_rates, strict=True):
                        group["lr"] = rate * (1 - how.lr_decay * history.epochs)
                    loss = _one_epoch(model, forward, task, train_nodes, optimizer, how.batch_size, announce)
                    val_loss, val_score = _validate(model, forward, task, val_nodes, how.metric)
                    improved, ended = stop.step(val_score, val_loss)
                    history.loss.append(loss)
                    history.val_loss.append(val_loss)
                    history.val_score.append(val_score)
                    finite = math.isfinite(loss) and math.isfinite(val_loss)
                    if improved and finite:
                        history.best_epoch = history.epochs - 1
                        # Into the same memory: a second copy would be there until the first is gone.
                        for name, value in model.state_dict().items():
                            best[name].copy_(value)
                    history.seconds = before + time.monotonic() - started
                    progress.update(history.epochs, loss, val_score, how.metric)
                    if not finite:
                        history.ended = "diverged"
                    elif ended:
                        history.ended = "patience"
                    elif history.epochs >= how.epochs:
                        history.ended = "epochs"
                    between_epochs = True
                    if on_epoch is not None and on_epoch(history) is True and not history.ended:
                        history.ended = "stopped"
                    if checkpoint is not None and time.monotonic() - last_saved > _SECONDS_PER_CHECKPOINT:
                        save()
                        last_saved = time.monotonic()
                    if interrupt.requested:
                        raise KeyboardInterrupt
            except KeyboardInterrupt:
                # In the middle of an epoch there is nothing to go on from: the last file stays.
                if between_epochs:
                    save()
                message = f"stopped after {history.epochs} epochs"
                if checkpoint is not None and checkpoint.path.exists():
                    message += f"; its state is in {checkpoint.path}"
                raise TrainingInterrupted(message) from None
    model.load_state_dict(best)
    model.eval()
    if history.ended == "diverged":
        rates = ", ".join(map(str, initial_rates))
        kept = f"the weights of epoch {history.best_epoch + 1}" if history.best_epoch >= 0 else "the initial weights"
        warnings.warn(
            f"the loss was no longer a finite number in epoch {history.epochs}: a learning rate ({rates}) is too high, "
            f"try a tenth of it; {kept} were kept",
            DivergedWarning,
            stacklevel=2,
        )
    return history


def _one_epoch(
    model: nn.Module,
    forward: Callable[[Tensor], Tensor],
    task: Task,
    nodes: Tensor,
    optimizer: torch.optim.Optimizer,
    batch_size: int | None,
    announce: Callable[[Sequence[Tensor]], None] | None = None,
) -> float:
    model.train()
    if batch_size is None or batch_size >= len(nodes):
        batches = [nodes]
    else:
        batches = list(torch.split(nodes[torch.randperm(len(nodes))], batch_size))
        if len(batches[-1]) == 1:  # one row has no variance to normalize by
            batches[-2:] = [torch.cat(batches[-2:])]
    total, weight = 0.0, task.total_weight(nodes)
    # The mean loss of a batch without weight would be zero divided by zero.
    shares = [(batch, task.total_weight(batch) / weight) for batch in batches]
    shares = [(batch, share) for batch, share in shares if share > 0]
    if announce is not None:
        announce([batch for batch, _ in shares])
    for batch, share in shares:
        optimizer.zero_grad()
        loss = task.loss(forward(batch), batch)
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        total += float(loss.detach()) * share
    return total


@torch.no_grad()
def _validate(
    model: nn.Module, forward: Callable[[Tensor], Tensor], task: Task, nodes: Tensor, metric: Metric
) -> tuple[float, float]:
    model.eval()
    outputs = forward(nodes)
    loss = float(task.loss(outputs, nodes))
    # NaN has no ranking, so no ROC AUC.
    return loss, task.score(metric, outputs, nodes) if math.isfinite(loss) else math.nan


def _check_nodes(task: Task, **sets: Tensor) -> None:
    for name, nodes in sets.items():
        if len(nodes) == 0:
            raise ValueError(f"{name} is empty: pass at least one node, or choose a split that has some")
        unknown = ~task.known[nodes]
        if unknown.any():
            first = int(nodes[unknown][0])
            raise ValueError(f"{name} has node {first}, whose label is unknown: leave such nodes out")
