"""The README's code runs as written."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from unifilter.methods import METHODS

README = Path(__file__).parent.parent / "README.md"
CONTRIBUTING = README.parent / "CONTRIBUTING.md"


def blocks(page: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)


def run(code: str, names: dict[str, Any]) -> None:
    # Without the future imports of this file.
    exec(compile(code, "example", "exec", dont_inherit=True), names)


def test_the_example_learns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    run(blocks(README)[0], {})
    accuracy = re.search(r"test accuracy (\S+),", capsys.readouterr().out)
    assert accuracy is not None
    assert float(accuracy[1]) > 0.9
    assert (tmp_path / "digits.unifilter").exists()


def test_the_example_of_the_factorization(capsys: pytest.CaptureFixture[str]) -> None:
    run(blocks(README)[4], {})
    assert "[11, 34, 34]" in capsys.readouterr().out


@pytest.mark.filterwarnings("ignore::unifilter.data.DataWarning")
def test_the_example_of_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    run(blocks(README)[5], names)
    assert "accuracy of always fine" in capsys.readouterr().out
    y, test = names["accounts"]["label"], names["split"].test
    assert names["clf"].evaluate(y, test).balanced_accuracy > 0.8
    assert names["reg"].score(np.log(names["accounts"]["volume"]), test) > 0.2


@pytest.mark.parametrize("page", ["answers", "data", "explanation"])
def test_the_examples_of_the_documentation(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a page, one after another, as a reader would type them."""
    monkeypatch.chdir(tmp_path)
    run("\n".join(blocks(README.parent / "docs" / f"{page}.md")), {})


def test_the_example_of_every_method(capsys: pytest.CaptureFixture[str]) -> None:
    run(blocks(README)[1], {})
    assert "(2, 2)\n(5, 1)" in capsys.readouterr().out


def test_the_example_of_scikit_learn() -> None:
    names: dict[str, Any] = {}
    run(blocks(README)[2], names)
    assert set(names["search"].best_params_) == {"hops", "alpha"}
    assert names["search"].best_score_ > 0.8


def test_the_example_of_pyg(capsys: pytest.CaptureFixture[str]) -> None:
    run(blocks(README)[3], {})
    losses = re.findall(r"(?:BernNet|UniFilter) (\S+)", capsys.readouterr().out)
    assert len(losses) == 2
    assert max(map(float, losses)) < 0.69  # better than a coin


def test_the_basis_of_the_contributors_page() -> None:
    names: dict[str, object] = {}
    run(blocks(CONTRIBUTING)[1], names)
    import torch

    values = names["SecondKind"]().evaluate(torch.tensor([0.0, 1.0, 2.0]), hops=2)  # type: ignore[operator]
    assert values.tolist() == [[1.0, 1.0, 1.0], [2.0, 0.0, -2.0], [3.0, -1.0, 3.0]]


def test_the_method_of_the_contributors_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(METHODS, "_entries", dict(METHODS._entries))
    names: dict[str, Any] = {"__name__": "contributed"}
    run(blocks(CONTRIBUTING)[0], names)
    assert METHODS["one-hop"] is names["OneHopMethod"]
    assert names["clf"].predict().shape == (34,)


def test_the_contributors_page_lists_every_package() -> None:
    layout = CONTRIBUTING.read_text(encoding="utf-8").split("## Layout", 1)[1].split("\n## ", 1)[0]
    listed = re.findall(r"^\| `(\w+)` \|", layout, flags=re.MULTILINE)
    package = README.parent / "src" / "unifilter"
    assert sorted(listed) == sorted(path.parent.name for path in package.glob("*/__init__.py"))
