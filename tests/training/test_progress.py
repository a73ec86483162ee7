from __future__ import annotations

import sys

import pytest

from unifilter.training import progress
from unifilter.training.progress import Progress


def run(epochs: int = 3, enabled: bool = True) -> None:
    with Progress(enabled, "cora", 10) as shown:
        for epoch in range(1, epochs + 1):
            shown.update(epoch, 0.5, 0.8125, "accuracy")


def test_plain_lines_in_a_pipe(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(progress, "_SECONDS_PER_LINE", 0.0)
    run()
    out, err = capsys.readouterr()
    lines = err.splitlines()
    assert out == ""
    assert [line.partition("  at most")[0] for line in lines] == [
        f"cora: epoch {epoch}/10  loss 0.5000  validation accuracy 0.8125" for epoch in (1, 2, 3)
    ]
    assert all(line.endswith(" s left") for line in lines)
    assert "\x1b" not in err
    assert "\r" not in err


def test_a_line_is_printed_now_and_then(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    # A clock that goes 4 seconds for each look at it: one in __init__, one for each epoch.
    seconds = iter(range(0, 400, 4))
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(seconds))
    run(epochs=7)
    lines = capsys.readouterr().err.splitlines()
    assert [line.split()[2] for line in lines] == ["3/10", "6/10"]
    # Twelve seconds for three epochs, seven epochs to go.
    assert lines[0].endswith("at most 28 s left")


def test_nothing_where_it_is_switched_off(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(progress, "_SECONDS_PER_LINE", 0.0)
    run(enabled=False)
    assert capsys.readouterr() == ("", "")


def test_a_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    run()
    out, err = capsys.readouterr()
    assert out == ""
    assert "epoch 3/10  loss 0.5000  validation accuracy 0.8125" in err
