"""The README's code runs as written."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

README = Path(__file__).parent.parent / "README.md"
CONTRIBUTING = README.parent / "CONTRIBUTING.md"


def blocks(page: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)


def test_the_example_learns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    exec(blocks(README)[0], {})
    accuracy = re.search(r"test accuracy (\S+),", capsys.readouterr().out)
    assert accuracy is not None
    assert float(accuracy[1]) > 0.9
    assert (tmp_path / "digits.unifilter").exists()


def test_the_example_of_the_factorisation(capsys: pytest.CaptureFixture[str]) -> None:
    exec(blocks(README)[1], {})
    assert "[11, 34, 34]" in capsys.readouterr().out


def test_the_basis_of_the_contributors_page() -> None:
    names: dict[str, object] = {}
    (code,) = blocks(CONTRIBUTING)
    exec(code, names)
    import torch

    values = names["SecondKind"]().evaluate(torch.tensor([0.0, 1.0, 2.0]), hops=2)  # type: ignore[operator]
    assert values.tolist() == [[1.0, 1.0, 1.0], [2.0, 0.0, -2.0], [3.0, -1.0, 3.0]]
