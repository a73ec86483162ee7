"""The README's code runs as written."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from unifilter.cli import app
from unifilter.experiments import EXPERIMENTS
from unifilter.experiments.engine.row_files import packaged_rows
from unifilter.methods import METHODS
from unifilter.methods.auto import Entry

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


def test_the_commands_on_a_graph_of_your_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As written, also the name of the folder that `train` chooses; with a quick portfolio."""
    rng = np.random.default_rng(0)
    classes = np.arange(60) % 3
    nodes = [f"{node},{'abc'[classes[node]]},{classes[node] + rng.normal():.3f}" for node in range(60)]
    edges = [f"{one},{other}" for one, other in rng.integers(60, size=(150, 2))]
    folder = tmp_path / "my_folder"
    folder.mkdir()
    (folder / "nodes.csv").write_text("\n".join(["id,label,height", *nodes]), encoding="utf-8")
    (folder / "edges.csv").write_text("\n".join(["source,target", *edges]), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("unifilter.methods.auto.PORTFOLIO", (Entry("sgc", {"epochs": 20}, "fast"),))
    commands = [
        shlex.split(line, comments=True)[1:]
        for line in README.read_text(encoding="utf-8").splitlines()
        if line.startswith("unifilter ") and "my_folder" in line
    ]
    assert [command[0] for command in commands] == ["train", "predict"]
    for command in commands:
        done = CliRunner().invoke(app, command)
        assert done.exit_code == 0, done.output
    assert len((tmp_path / "runs" / "my_folder-auto-stratified" / "splits.csv").read_text().splitlines()) == 1 + 5
    assert len((tmp_path / "predictions.csv").read_text(encoding="utf-8").splitlines()) == 1 + 60


def test_the_table_of_accuracies_is_that_of_the_stored_rows() -> None:
    table = README.read_text(encoding="utf-8").split("## How it compares", 1)[1].split("\n## ", 1)[0]
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines() if line.startswith("| ")]
    (_, *columns), _, *rows = lines
    shown = EXPERIMENTS["table-polynomial"].present(
        [row for row in packaged_rows() if row["experiment"] == "table-polynomial"]
    )
    measured = shown.tables[0]
    assert len(rows) >= 5
    assert columns == ["Cora", "Citeseer", "Chameleon"]
    for method, *cells in rows:
        entries = [measured.entry(method, column.lower()) for column in columns]
        assert [len(entry.values) for entry in entries] == [10, 10, 10], method
        assert cells == [f"{entry.mean:.1f}" for entry in entries], method


def page_blocks(page: str) -> str:
    """The examples of a page, one after another, as a reader would type them."""
    return "\n".join(blocks(README.parent / "docs" / f"{page}.md"))


# Pages whose examples need no further check than that they run.
EXAMPLES_OF_THEIR_OWN = ["answers", "auto", "data", "explanation", "index", "scale", "shared", "sharing"]


@pytest.mark.parametrize("page", EXAMPLES_OF_THEIR_OWN)
def test_the_examples_of_the_documentation(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run(page_blocks(page), {})


@pytest.mark.filterwarnings("ignore::unifilter.data.DataWarning")
def test_the_quick_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    run(page_blocks("quickstart"), names)
    shown = capsys.readouterr().out
    accuracy = re.search(r"test accuracy (\S+),", shown)
    assert accuracy is not None
    assert float(accuracy[1]) > 0.9
    assert "(2, 2)\n(5, 1)" in shown  # every method
    assert "[11, 34, 34]" in shown  # the factorization alone
    assert "accuracy of always fine" in shown  # tables
    y, test = names["accounts"]["label"], names["split"].test
    assert names["clf"].evaluate(y, test).balanced_accuracy > 0.8
    assert names["reg"].score(np.log(names["accounts"]["volume"]), test) > 0.2


def test_the_page_for_users_of_scikit_learn() -> None:
    names: dict[str, Any] = {}
    run(page_blocks("sklearn"), names)
    assert set(names["search"].best_params_) == {"hops", "alpha"}
    assert names["search"].best_score_ > 0.8


def test_the_page_for_users_of_pyg(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {}
    run(page_blocks("pyg"), names)
    losses = re.findall(r"(?:BernNet|UniFilter) (\S+)", capsys.readouterr().out)
    assert len(losses) == 2
    assert max(map(float, losses)) < 0.69  # better than a coin
    assert names["data"].basis.shape == (34, 6, 34)
    assert names["clf"].predict().shape == (34,)


def test_every_page_with_examples_is_run() -> None:
    with_examples = {page.stem for page in (README.parent / "docs").glob("*.md") if blocks(page)}
    tested = {*EXAMPLES_OF_THEIR_OWN, "quickstart", "sklearn", "pyg"}
    assert with_examples - tested == set()


def test_the_readme_fits_two_screens() -> None:
    """A hundred lines, less the BibTeX entry that nobody reads."""
    text = re.sub(r"```bibtex\n.*?```", "", README.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert len(text.splitlines()) <= 100


@pytest.mark.parametrize("page", [README, *sorted((README.parent / "docs").glob("*.md"))], ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text(encoding="utf-8"))
    generated = ("generated/", "examples/", "../contributing")  # written when the site is built
    wanted = [link for link in links if not (page != README and link.startswith(generated))]
    assert [link for link in wanted if not (page.parent / link).exists()] == []


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
