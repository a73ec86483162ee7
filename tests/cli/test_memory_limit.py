"""Commands that train several models do so under a memory limit as ``unifilter train`` does."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from unifilter.cli import app
from unifilter.methods import storage

COMPARE = ("compare", "karate", "--split", "stratified", "--epochs", "3", "--json")
TUNE = ("tune", "karate", "--split", "stratified", "--trials", "2", "--epochs", "3", "--json")


@pytest.fixture(autouse=True)
def nothing_fits(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A limit is too small for any factorization, and memory without one is not."""
    needs = storage._needed_and_room

    def told(features: object, hops: int, limit: object) -> tuple[float, float]:
        return (10.0**15, 1.0) if limit is not None else needs(features, hops, None)  # type: ignore[arg-type]

    monkeypatch.setattr(storage, "_needed_and_room", told)
    monkeypatch.setenv("UNIFILTER_STORE", str(tmp_path / "stores"))


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_compare_stores_what_does_not_fit(tmp_path: Path) -> None:
    found = []
    for name, limit in (("a", ()), ("b", ("--memory-limit", "4GB", "--store", tmp_path / "kept"))):
        done = run(*COMPARE, "--methods", "unifilter,ortfilter", "--out", tmp_path / name, *limit)
        assert done.exit_code == 0, done.output
        found.append([one["records"][0]["val_accuracy"] for one in json.loads(done.stdout)["methods"]])
    np.testing.assert_allclose(*found, atol=0.2)
    assert len(list((tmp_path / "kept").glob("*/store.json"))) == 1, "methods share a store"


def test_tune_stores_what_does_not_fit_and_says_how_to_train(tmp_path: Path) -> None:
    done = run(*TUNE, "--method", "ortfilter", "--memory-limit", "4GB", "--store", tmp_path / "kept")
    assert done.exit_code == 0, done.output
    assert f"--memory-limit 4GB --store {tmp_path / 'kept'}" in json.loads(done.stdout)["command"]
    assert list((tmp_path / "kept").glob("*/store.json"))


@pytest.mark.parametrize("command", [COMPARE, TUNE])
def test_what_train_refuses_is_refused(tmp_path: Path, command: tuple[str, ...]) -> None:
    out = ("--out", tmp_path / "out") if command is COMPARE else ()
    alone = run(*command, *out, "--store", tmp_path / "s")
    assert alone.exit_code == 2
    assert "a store needs a --memory-limit" in " ".join(alone.stderr.split())
    name = ("--methods" if command is COMPARE else "--method", "sign")
    done = run(*command, *out, *name, "--memory-limit", "4GB")
    assert done.exit_code == 2
    assert "lower hops, or use unifilter, which can keep it on the disk" in " ".join(done.stderr.split())
