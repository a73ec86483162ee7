from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from unifilter.training import (
    Checkpoint,
    Classification,
    DivergedWarning,
    History,
    LossWindow,
    Optimization,
    Patience,
    StopRule,
    TrainingInterrupted,
    progress,
    train,
    trainer,
)

ROWS = 90
X = torch.randn(ROWS, 8, generator=torch.Generator().manual_seed(0))
# Learnable, but not without mistakes: a tenth of the labels is another class.
LABELS = torch.where(torch.arange(ROWS) % 10 == 0, 2, (X[:, 0] > 0).long())
TRAIN, VAL = torch.arange(0, 60), torch.arange(60, 90)

Forward = Callable[[Tensor], Tensor]


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Tensors this small gain nothing from a second thread, and lose much where the cores are busy."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


class Run:
    """A small model with dropout and batch normalization, so that every kind of state matters."""

    def __init__(self, wrap: Callable[[Forward], Forward] = lambda forward: forward) -> None:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            self.model = nn.Sequential(
                nn.Linear(8, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.5), nn.Linear(16, 3)
            )
        self.forward = wrap(lambda nodes: self.model(X[nodes]))

    def train(
        self,
        epochs: int = 12,
        batch_size: int | None = 25,
        lr: float = 0.05,
        stop: StopRule | None = None,
        **options: Any,
    ) -> History:
        how = Optimization(epochs, "adam", batch_size, options.pop("metric", "accuracy"), options.pop("seed", 0))
        groups = [{"params": list(self.model.parameters()), "lr": lr}]
        nodes = (options.pop("train_nodes", TRAIN), options.pop("val_nodes", VAL))
        labels = options.pop("labels", LABELS)
        return train(
            self.model, self.forward, Classification(labels), *nodes, groups, stop or Patience(200), how, **options
        )


def state(run: Run) -> list[Tensor]:
    return [value.clone() for value in run.model.state_dict().values()]


def same(left: tuple[Run, History], right: tuple[Run, History]) -> bool:
    """Bit for bit: the weights that were kept, and every figure of every epoch."""
    weights = all(torch.equal(a, b) for a, b in zip(state(left[0]), state(right[0]), strict=True))
    a, b = left[1], right[1]
    return weights and (a.loss, a.val_loss, a.val_score, a.best_epoch, a.ended) == (
        b.loss,
        b.val_loss,
        b.val_score,
        b.best_epoch,
        b.ended,
    )


def undisturbed(**options: Any) -> tuple[Run, History]:
    run = Run()
    return run, run.train(**options)


def test_it_learns() -> None:
    _, history = undisturbed(epochs=40)
    assert history.best_score >= 0.8
    assert history.loss[-1] < history.loss[0]
    assert (history.epochs, history.ended) == (40, "epochs")
    assert history.seconds > 0


def test_the_best_weights_are_left_in_the_model() -> None:
    run, seen = Run(), []
    history = run.train(epochs=15, lr=0.3, on_epoch=lambda _: seen.append(state(run)))
    assert 0 <= history.best_epoch < 14
    assert history.best_score == max(history.val_score)
    assert all(torch.equal(a, b) for a, b in zip(state(run), seen[history.best_epoch], strict=True))
    assert not all(torch.equal(a, b) for a, b in zip(state(run), seen[-1], strict=True))
    assert not run.model.training


def test_the_stop_rule_ends_it() -> None:
    _, history = undisturbed(epochs=500, stop=Patience(5))
    assert history.ended == "patience"
    assert history.epochs == history.best_epoch + 6
    _, by_loss = undisturbed(epochs=500, stop=LossWindow(4))
    assert by_loss.ended == "patience"
    assert by_loss.best_epoch == by_loss.val_loss.index(min(by_loss.val_loss))


@pytest.mark.parametrize("batch_size", [None, 25])
def test_the_same_seed_gives_the_same_run_and_another_seed_another(batch_size: int | None) -> None:
    first = undisturbed(batch_size=batch_size)
    assert same(first, undisturbed(batch_size=batch_size))
    assert not same(first, undisturbed(batch_size=batch_size, seed=1))


def test_the_callers_generator_is_left_as_it_was() -> None:
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    undisturbed(epochs=2)
    assert torch.equal(torch.rand(3), expected)


@pytest.mark.parametrize(
    ("batch_size", "sizes"), [(25, [25, 25, 10]), (59, [60]), (60, [60]), (500, [60]), (None, [60])]
)
def test_batches_cover_every_row_once(batch_size: int | None, sizes: list[int]) -> None:
    batches: list[Tensor] = []

    def recorded(forward: Forward) -> Forward:
        def call(nodes: Tensor) -> Tensor:
            if run.model.training:
                batches.append(nodes)
            return forward(nodes)

        return call

    run = Run(recorded)
    run.train(epochs=2, batch_size=batch_size)
    assert [len(batch) for batch in batches] == sizes * 2
    epochs = [torch.cat(batches[: len(sizes)]), torch.cat(batches[len(sizes) :])]
    for nodes in epochs:
        assert torch.equal(nodes.sort().values, TRAIN)
    if len(sizes) > 1:
        assert not torch.equal(*epochs)


def test_the_loss_of_an_epoch_is_the_mean_over_its_rows() -> None:
    # With a learning rate of 0 and no dropout the weights stay, and batches of any size give the loss of all rows.
    losses = []
    for batch_size in (None, 25):
        run = Run()
        run.model[1], run.model[3] = nn.Identity(), nn.Identity()
        losses.append(run.train(epochs=1, batch_size=batch_size, lr=0.0).loss[0])
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)


def interrupted_at(epoch: int, error: BaseException) -> Callable[[History], None]:
    def raise_there(now: History) -> None:
        if now.epochs == epoch + 1:
            raise error

    return raise_there


@pytest.mark.parametrize("epoch", [0, 4, 11])
def test_interrupted_between_epochs_and_resumed_is_undisturbed(tmp_path: Path, epoch: int) -> None:
    checkpoint = Checkpoint(tmp_path / "run.pt", "small")
    with pytest.raises(TrainingInterrupted, match=rf"stopped after {epoch + 1} epochs; its state is in .*run.pt"):
        Run().train(checkpoint=checkpoint, on_epoch=interrupted_at(epoch, KeyboardInterrupt()))
    resumed = Run()
    assert same((resumed, resumed.train(checkpoint=checkpoint)), undisturbed())


@pytest.mark.parametrize("stop", [lambda: Patience(5), lambda: LossWindow(4)])
def test_the_stop_rule_is_resumed_too(tmp_path: Path, stop: Callable[[], StopRule]) -> None:
    checkpoint = Checkpoint(tmp_path / "run.pt", "small")
    whole = undisturbed(epochs=500, stop=stop())
    for epoch in (3, whole[1].epochs - 2):
        with pytest.raises(TrainingInterrupted):
            Run().train(
                epochs=500, stop=stop(), checkpoint=checkpoint, on_epoch=interrupted_at(epoch, KeyboardInterrupt())
            )
    resumed = Run()
    assert same((resumed, resumed.train(epochs=500, stop=stop(), checkpoint=checkpoint)), whole)


def presses_ctrl_c(at_call: int, times: int = 1) -> Callable[[Forward], Forward]:
    """Ctrl-C in the middle of an epoch, after the mask was drawn."""
    calls = 0

    def wrap(forward: Forward) -> Forward:
        def call(nodes: Tensor) -> Tensor:
            nonlocal calls
            calls += 1
            logits = forward(nodes)
            for _ in range(times if calls == at_call else 0):
                os.kill(os.getpid(), signal.SIGINT)
            return logits

        return call

    return wrap


# An epoch is three batches and the validation: the second batch of epoch 3, and the validation of epoch 2.
@pytest.mark.parametrize(("at_call", "epochs"), [(10, 3), (8, 2)])
@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_waits_for_the_end_of_the_epoch(tmp_path: Path, at_call: int, epochs: int) -> None:
    checkpoint = Checkpoint(tmp_path / "run.pt", "small")
    with pytest.raises(TrainingInterrupted, match=f"stopped after {epochs} epochs; its state is in"):
        Run(presses_ctrl_c(at_call)).train(checkpoint=checkpoint)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    resumed = Run()
    assert same((resumed, resumed.train(checkpoint=checkpoint)), undisturbed())


@pytest.mark.usefixtures("ctrl_c")
def test_a_second_ctrl_c_does_not_wait_and_leaves_the_last_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoint = Checkpoint(tmp_path / "run.pt", "small")
    with pytest.raises(TrainingInterrupted, match="stopped after 2 epochs$"):
        Run(presses_ctrl_c(at_call=10, times=2)).train(checkpoint=checkpoint)
    assert checkpoint.load() is None
    monkeypatch.setattr(trainer, "_SECONDS_PER_CHECKPOINT", -1.0)
    with pytest.raises(TrainingInterrupted, match="stopped after 2 epochs; its state is in"):
        Run(presses_ctrl_c(at_call=10, times=2)).train(checkpoint=checkpoint)
    resumed = Run()
    assert same((resumed, resumed.train(checkpoint=checkpoint)), undisturbed())


@pytest.mark.usefixtures("ctrl_c")
def test_training_in_another_thread_or_with_another_handler_leaves_signals_alone() -> None:
    seen: list[Any] = []
    run = Run()
    thread = threading.Thread(target=lambda: seen.append(run.train(epochs=2).epochs))
    thread.start()
    thread.join()
    previous = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        Run().train(epochs=1, on_epoch=lambda *_: seen.append(signal.getsignal(signal.SIGINT)))
    finally:
        signal.signal(signal.SIGINT, previous)
    assert seen == [2, signal.SIG_IGN]


def test_an_error_ends_the_training_and_the_last_file_is_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trainer, "_SECONDS_PER_CHECKPOINT", -1.0)
    checkpoint = Checkpoint(tmp_path / "run.pt", "small")
    with pytest.raises(RuntimeError, match="no more"):
        Run().train(checkpoint=checkpoint, on_epoch=interrupted_at(6, RuntimeError("no more")))
    saved = checkpoint.load()
    assert saved is not None
    assert len(saved["history"]["loss"]) == 6
    resumed = Run()
    assert same((resumed, resumed.train(checkpoint=checkpoint)), undisturbed())


def test_a_killed_process_is_resumed(tmp_path: Path) -> None:
    script = f"""
        import os, signal, sys
        sys.path[:0] = {[str(Path(__file__).parent)]!r}
        import test_trainer, torch
        from unifilter.training import Checkpoint, trainer

        torch.set_num_threads(1)
        trainer._SECONDS_PER_CHECKPOINT = -1.0
        def kill(history):
            if history.epochs == 6:
                os.kill(os.getpid(), signal.SIGKILL)
        test_trainer.Run().train(checkpoint=Checkpoint({str(tmp_path / "run.pt")!r}, "small"), on_epoch=kill)
    """
    killed = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], check=False)
    assert killed.returncode == -signal.SIGKILL
    checkpoint = Checkpoint(tmp_path / "run.pt", "small")
    saved = checkpoint.load()
    assert saved is not None
    assert len(saved["history"]["loss"]) == 5
    resumed = Run()
    assert same((resumed, resumed.train(checkpoint=checkpoint)), undisturbed())


def test_a_checkpoint_of_other_settings_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TrainingInterrupted):
        Run().train(
            checkpoint=Checkpoint(tmp_path / "run.pt", "small"), on_epoch=interrupted_at(1, KeyboardInterrupt())
        )
    with pytest.raises(ValueError, match="belongs to a run with other settings"):
        Run().train(checkpoint=Checkpoint(tmp_path / "run.pt", "large"))


def test_without_a_checkpoint_ctrl_c_says_how_far_it_came() -> None:
    with pytest.raises(TrainingInterrupted, match="^stopped after 3 epochs$"):
        Run().train(on_epoch=interrupted_at(2, KeyboardInterrupt()))


def breaks_at(at_call: int, value: float = math.nan) -> Callable[[Forward], Forward]:
    calls = 0

    def wrap(forward: Forward) -> Forward:
        def call(nodes: Tensor) -> Tensor:
            nonlocal calls
            calls += 1
            logits = forward(nodes)
            return logits * value if calls >= at_call else logits

        return call

    return wrap


# With one batch an epoch has two calls: from the training of epoch 5 on, and in the validation of epoch 5 alone.
@pytest.mark.parametrize("at_call", [9, 10])
@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_loss_that_is_no_number_ends_it_and_the_best_weights_are_kept(at_call: int, value: float) -> None:
    run, seen = Run(breaks_at(at_call, value)), []
    message = "the loss became NaN or infinite in epoch 5: a learning rate .0.05. is too high, try a tenth of it"
    with pytest.warns(DivergedWarning, match=message):
        history = run.train(batch_size=None, on_epoch=lambda _: seen.append(state(run)))
    assert (history.ended, history.epochs) == ("diverged", 5)
    assert 0 <= history.best_epoch < 4
    assert all(torch.equal(a, b) for a, b in zip(state(run), seen[history.best_epoch], strict=True))
    assert all(torch.isfinite(value).all() for value in state(run))


def test_without_a_single_good_epoch_the_initial_weights_are_kept() -> None:
    run = Run(breaks_at(1))
    before = state(run)
    with pytest.warns(DivergedWarning, match="in epoch 1: .* the initial weights were kept"):
        history = run.train(batch_size=None)
    assert history.best_epoch == -1
    assert math.isnan(history.best_score)
    assert all(torch.equal(a, b) for a, b in zip(state(run), before, strict=True))


class EveryEpochIsTheBest(Patience):
    def step(self, score: float, loss: float) -> tuple[bool, bool]:
        return True, False


def test_weights_that_are_no_numbers_are_not_kept_whatever_the_stop_rule_says() -> None:
    run = Run(breaks_at(9))
    with pytest.warns(DivergedWarning, match="the weights of epoch 4 were kept"):
        history = run.train(batch_size=None, stop=EveryEpochIsTheBest())
    assert history.best_epoch == 3
    assert all(torch.isfinite(value).all() for value in state(run))


def test_without_a_best_epoch_there_is_no_best_score() -> None:
    assert math.isnan(History(val_score=[0.5, 0.9]).best_score)
    assert History(val_score=[0.5, 0.9], best_epoch=0).best_score == 0.5


def test_divergence_is_told_for_scores_that_need_numbers_too() -> None:
    run = Run(breaks_at(1))
    run.model[4] = nn.Linear(16, 2)
    with pytest.warns(DivergedWarning):
        history = run.train(metric="roc_auc", labels=(X[:, 0] > 0).long())
    assert math.isnan(history.val_score[0])


def test_a_learning_rate_that_is_far_too_high_diverges() -> None:
    run = Run()
    with pytest.warns(DivergedWarning, match=r"a learning rate \(1e\+30\) is too high"):
        run.train(lr=1e30)
    assert all(torch.isfinite(value).all() for value in state(run))


def test_every_epoch_is_reported() -> None:
    calls: list[tuple[int, float]] = []
    _, history = undisturbed(epochs=4, on_epoch=lambda now: calls.append((now.epochs, now.val_score[-1])))
    assert calls == list(enumerate(history.val_score, start=1))


@pytest.mark.parametrize("verbose", [False, True])
def test_progress_is_shown_on_request(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], verbose: bool
) -> None:
    monkeypatch.setattr(progress, "_SECONDS_PER_LINE", 0.0)
    _, history = undisturbed(epochs=3, verbose=verbose, label="small")
    out, err = capsys.readouterr()
    assert out == ""
    expected = [
        f"small: epoch {epoch}/3  loss {loss:.4f}  validation accuracy {score:.4f}"
        for epoch, loss, score in zip((1, 2, 3), history.loss, history.val_score, strict=True)
        if verbose
    ]
    assert [line.partition("  at most")[0] for line in err.splitlines()] == expected


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"val_nodes": torch.arange(0)}, "val_nodes is empty: pass at least one node, or choose a split with some"),
        ({"train_nodes": torch.arange(0)}, "train_nodes is empty: pass at least one node"),
        (
            {"labels": torch.where(torch.arange(ROWS) == 71, -1, LABELS)},
            r"val_nodes contains node 71, whose label is unknown: leave such nodes out",
        ),
    ],
)
def test_nodes_that_cannot_be_learned_from_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Run().train(**options)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"epochs": 0}, "epochs must be a whole number of at least 1, not 0: the paper trains for at most 1000"),
        ({"optimizer": "lbfgs"}, "optimizer must be one of 'adam', 'adamw', 'sgd', not 'lbfgs'"),
        ({"metric": "f1"}, "metric must be one of 'accuracy', .*'neg_mae', not 'f1'"),
        ({"batch_size": 0}, "batch_size must be a whole number of at least 1, not 0: leave it out to train on all"),
        ({"lr_decay": 0.1, "epochs": 11}, "lr_decay is 0.1, but with 11 epochs it must be from 0 to below 0.1, or the"),
        ({"lr_decay": -0.1}, "lr_decay is -0.1, but with 1000 epochs it must be from 0 to below"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Optimization(**settings)


def test_adamw_decays_weights_where_adam_adds_to_the_slope() -> None:
    runs = []
    for optimizer in ("adam", "adamw"):
        run = Run()
        groups = [{"params": list(run.model.parameters()), "lr": 0.01, "weight_decay": 0.5}]
        how = Optimization(epochs=1, optimizer=optimizer)  # type: ignore[arg-type]
        train(run.model, run.forward, Classification(LABELS), TRAIN, VAL, groups, Patience(), how)
        runs.append(run.model[0].weight)
    fresh = Run().model[0].weight
    # The first step of Adam has length lr in every entry; AdamW's also shrinks the weights by lr * decay.
    assert (runs[0] - fresh).abs().max() <= 0.01 * (1 + 1e-4)
    assert ((runs[1] - fresh * (1 - 0.01 * 0.5)).abs() <= 0.01 * (1 + 1e-4)).all()
    assert not torch.equal(*runs)


def test_sgd_goes_down_the_slope_and_its_rate_falls_in_a_line(tmp_path: Path) -> None:
    def fresh() -> nn.Linear:
        torch.manual_seed(0)
        return nn.Linear(8, 3)

    def trained(model: nn.Linear, **options: Any) -> list[Tensor]:
        groups = [{"params": list(model.parameters()), "lr": 0.5, "weight_decay": 0.1}]
        how = Optimization(epochs=4, optimizer="sgd", lr_decay=0.2)
        last: list[Tensor] = []

        def watch(history: History) -> None:
            last[:] = [parameter.detach().clone() for parameter in model.parameters()]
            if history.epochs == options.get("interrupted_after"):
                raise KeyboardInterrupt

        checkpoint = options.get("checkpoint")
        forward: Forward = lambda nodes: model(X[nodes])  # noqa: E731
        train(
            model, forward, Classification(LABELS), TRAIN, VAL, groups, Patience(), how,
            checkpoint=checkpoint, on_epoch=watch,
        )  # fmt: skip
        return last

    expected = fresh()
    for epoch in range(4):
        loss = nn.functional.cross_entropy(expected(X[TRAIN]), LABELS[TRAIN])
        parameters = list(expected.parameters())
        for parameter, slope in zip(parameters, torch.autograd.grad(loss, parameters), strict=True):
            parameter.data -= 0.5 * (1 - 0.2 * epoch) * (slope + 0.1 * parameter.data)
    whole = trained(fresh())
    torch.testing.assert_close(whole, [parameter.detach() for parameter in expected.parameters()])
    checkpoint = Checkpoint(tmp_path / "run.pt", "small")
    with pytest.raises(TrainingInterrupted):
        trained(fresh(), checkpoint=checkpoint, interrupted_after=2)
    resumed = trained(fresh(), checkpoint=checkpoint)
    assert all(torch.equal(left, right) for left, right in zip(resumed, whole, strict=True))


def test_whoever_watches_can_stop_and_keeps_the_best_weights() -> None:
    run, kept = Run(), []

    def watch(history: History) -> bool:
        if history.best_epoch == history.epochs - 1:
            kept[:] = state(run)
        return history.epochs == 7

    history = run.train(on_epoch=watch)
    assert (history.epochs, history.ended) == (7, "stopped")
    assert all(torch.equal(left, right) for left, right in zip(state(run), kept, strict=True))
    # What is not True goes on, and an end of its own keeps its name.
    assert Run().train(epochs=3, on_epoch=lambda _: 1).ended == "epochs"
    assert Run().train(epochs=3, on_epoch=lambda now: now.epochs == 3).ended == "epochs"
