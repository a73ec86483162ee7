"""The training loop with early stopping, the best weights restored, and safe interruption."""

from __future__ import annotations

import copy
import math
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn

from unifilter._internal.checks import check_choice, check_count
from unifilter.data import METRICS, Metric
from unifilter.training.checkpoint import Checkpoint
from unifilter.training.distributed import Peers
from unifilter.training.interrupt import HeldInterrupt
from unifilter.training.progress import Progress
from unifilter.training.stopping import StopRule
from unifilter.training.task import Task

Optimizer = Literal["adam", "adamw", "sgd"]

# A checkpoint writes all weights, so it is saved only every so often. At most this much time is lost.
_SECONDS_PER_CHECKPOINT = 20.0


class DivergedWarning(UserWarning):
    """The loss became NaN or infinite. The best weights so far were kept."""


class TrainingInterrupted(KeyboardInterrupt):
    """Ctrl-C during training. Training stopped after the epoch and saved its state if a checkpoint was given."""


@dataclass
class History:
    """Losses and scores of each epoch.

    Attributes:
        loss: Training loss.
        val_loss, val_score: Loss and metric on the validation nodes.
        best_epoch: The epoch whose weights were kept, from 0; -1 if none.
        seconds: Time spent in the loop, including that before an interruption.
        ended: Why training ended: ``"patience"``, ``"epochs"``, ``"diverged"``, or ``"stopped"`` by ``on_epoch``.
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
        """Validation score of the weights that were kept; NaN if there are none."""
        return self.val_score[self.best_epoch] if self.best_epoch >= 0 else math.nan


@dataclass(frozen=True)
class Optimization:
    """How to optimize the weights.

    Attributes:
        epochs: Maximum number of epochs.
        optimizer: ``"adam"``, ``"adamw"``, or plain gradient descent, ``"sgd"``.
        batch_size: Rows per step; ``None`` uses all training rows at once.
        metric: Metric on the validation nodes.
        seed: Random seed of dropout and batches.
        lr_decay: Share of the initial learning rate to subtract after every epoch.
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
                f"lr_decay is {self.lr_decay!r}, but with {self.epochs} epochs it must be from 0 to below "
                f"{1 / max(self.epochs - 1, 1):g}, or the learning rate reaches 0: lower it, or the number of epochs"
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
    keep_finished: bool = False,
    on_epoch: Callable[[History], object] | None = None,
    announce: Callable[[Sequence[Tensor]], None] | None = None,
) -> History:
    """Train until the stop rule or the maximum number of epochs ends training, and restore the best weights.

    Where several processes of ``torch.distributed`` call it with the same arguments, each takes its share of the rows;
    the first one decides when to stop, shows progress, calls ``on_epoch`` and writes the checkpoint.

    Args:
        model: The module; its mode is switched between training and evaluation.
        forward: Outputs for some nodes, ``[nodes] -> [nodes, outputs]``.
        task: The targets, loss and metrics.
        train_nodes: Training nodes.
        val_nodes: Validation nodes, for early stopping.
        parameter_groups: Parameter groups of the optimizer.
        stop: The early stopping rule.
        how: Epochs, optimizer, batches, metric, seed.
        label: Label of the progress bar.
        verbose: Whether to show progress.
        checkpoint: Where to save the state periodically and on Ctrl-C. Training resumes from it if it exists.
        keep_finished: Whether the state is saved at the end too, so that the same call trains no further.
        on_epoch: Called with the history after every epoch. If it returns ``True``, training stops and the best weights
            are kept. An exception ends the training.
        announce: Called with the batches of each epoch before the first of them, so that their rows can be prefetched.
    """
    task.check_metric(how.metric)
    _check_nodes(task, train_nodes=train_nodes, val_nodes=val_nodes)
    optimizer_class = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW, "sgd": torch.optim.SGD}[how.optimizer]
    # fused: one pass over the weights instead of a dozen.
    optimizer = optimizer_class(parameter_groups, fused=True)
    initial_rates = [group["lr"] for group in optimizer.param_groups]
    peers = Peers.current()
    peers.check_same(how, train_nodes, val_nodes, task.targets, task.weights)
    peers.same_weights(model)
    history, best = History(), copy.deepcopy(model.state_dict())
    # Dropout masks and batches use a separate generator state; that of the caller is unchanged.
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(how.seed + peers.rank)  # processes drop different elements
        saved = peers.from_first(checkpoint.load() if checkpoint is not None and peers.first else None)
        if saved is not None:
            model.load_state_dict(saved["model"])
            optimizer.load_state_dict(saved["optimizer"])
            stop.load_state_dict(saved["stop"])
            if peers.rank < len(saved["generators"]):
                torch.set_rng_state(saved["generators"][peers.rank])
            history, best = History(**saved["history"]), saved["best"]

        def save() -> None:
            generators = peers.gathered(torch.get_rng_state())
            if checkpoint is not None and peers.first:
                checkpoint.save(
                    {
                        "model": model.state_dict(),
                        "optimizer": optimizer.state_dict(),
                        "stop": stop.state_dict(),
                        "generators": generators,
                        "history": asdict(history),
                        "best": best,
                    }
                )

        started = last_saved = time.monotonic()
        before = history.seconds
        between_epochs = True
        agreed = not peers.several  # several processes can only save where all of them do
        with Progress(verbose and peers.first, label, how.epochs) as progress, HeldInterrupt() as interrupt:
            try:
                while not history.ended:
                    between_epochs = False
                    for group, rate in zip(optimizer.param_groups, initial_rates, strict=True):
                        group["lr"] = rate * (1 - how.lr_decay * history.epochs)
                    step = (model, forward, task, train_nodes, optimizer, how.batch_size, announce)
                    loss = peers.one_epoch(*step, how.seed + history.epochs) if peers.several else _one_epoch(*step)
                    val_loss, val_score = peers.from_first(
                        _validate(model, partial(peers.outputs, forward), task, val_nodes, how.metric)
                    )
                    improved, ended = peers.from_first(stop.step(val_score, val_loss))
                    history.loss.append(loss)
                    history.val_loss.append(val_loss)
                    history.val_score.append(val_score)
                    finite = math.isfinite(loss) and math.isfinite(val_loss)
                    if improved and finite:
                        history.best_epoch = history.epochs - 1
                        # In place, to avoid a second copy.
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
                    stopped = on_epoch is not None and peers.first and on_epoch(history) is True
                    due = checkpoint is not None and time.monotonic() - last_saved > _SECONDS_PER_CHECKPOINT
                    stopped, due = peers.any(stopped, due)
                    if stopped and not history.ended:
                        history.ended = "stopped"
                    if due:
                        save()
                        last_saved = time.monotonic()
                    if peers.any(interrupt.requested)[0]:
                        agreed = True
                        raise KeyboardInterrupt
            except KeyboardInterrupt:
                # An interrupted epoch cannot be resumed: keep the last checkpoint.
                if between_epochs and agreed:
                    save()
                message = f"stopped after {history.epochs} epochs"
                if checkpoint is not None and checkpoint.path.exists():
                    message += f"; its state is in {checkpoint.path}"
                raise TrainingInterrupted(message) from None
        if keep_finished and (saved is None or not saved["history"]["ended"]):
            save()
    model.load_state_dict(best)
    model.eval()
    if history.ended == "diverged" and peers.first:
        rates = ", ".join(map(str, initial_rates))
        kept = f"the weights of epoch {history.best_epoch + 1}" if history.best_epoch >= 0 else "the initial weights"
        warnings.warn(
            f"the loss became NaN or infinite in epoch {history.epochs}: a learning rate ({rates}) is too high, "
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
        if len(batches[-1]) == 1:  # batch normalization needs more than one row
            batches[-2:] = [torch.cat(batches[-2:])]
    total, weight = 0.0, task.total_weight(nodes)
    # The mean loss of a batch without weight would be 0 / 0.
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
    # The ROC AUC of NaN is undefined.
    return loss, task.score(metric, outputs, nodes) if math.isfinite(loss) else math.nan


def _check_nodes(task: Task, **sets: Tensor) -> None:
    for name, nodes in sets.items():
        if len(nodes) == 0:
            raise ValueError(f"{name} is empty: pass at least one node, or choose a split with some")
        unknown = ~task.known[nodes]
        if unknown.any():
            first = int(nodes[unknown][0])
            raise ValueError(f"{name} contains node {first}, whose label is unknown: leave such nodes out")
