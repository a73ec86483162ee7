"""What needs an extra says so before any data is loaded."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from unifilter import cli
from unifilter.cli import compare, explore, train, tune
from unifilter.experiments.engine import sources
from unifilter.methods import METHODS


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(cli.app, list(map(str, arguments)))


@pytest.fixture(autouse=True)
def no_data_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise AssertionError("data was loaded")

    for module in (compare, explore, train, tune, sources):
        monkeypatch.setattr(module, "load_dataset", refused)


@pytest.mark.parametrize(
    "arguments",
    [
        ("train", "karate", "--method", "gcn"),
        ("compare", "karate", "--methods", "mlp, gcn"),
        ("tune", "karate", "--method", "gcn"),
        ("reproduce", "table-models"),
        ("reproduce", "figure-squashing"),
        ("reproduce", "table-beyond", "--methods", "mlp,gcn"),
        ("reproduce", "all"),
    ],
)
def test_a_method_that_needs_pyg(arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(METHODS["gcn"], "extra", "pyg")  # none of ours does
    monkeypatch.setitem(sys.modules, "torch_geometric", None)
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    assert "the method gcn" in result.stderr
    assert "needs torch_geometric: pip install 'unifilter[pyg]'" in result.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (("tune", "karate"), "tuning"),
        (("reproduce", "table-beyond", "--methods", "mlp", "--trials", "3"), "tuning every method"),
    ],
)
def test_tuning_needs_optuna(
    arguments: tuple[str, ...], what: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "optuna", None)
    monkeypatch.delitem(sys.modules, "unifilter.runs.tuning", raising=False)
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    assert f"unifilter: {what} needs optuna: pip install 'unifilter[tune]'\n" in result.stderr
    assert list(tmp_path.iterdir()) == []
