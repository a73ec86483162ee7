from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from unifilter import cli
from unifilter.experiments import EXPERIMENTS
from unifilter.experiments.engine.row_files import PACKAGED_ROWS, packaged_rows, read_rows

REPOSITORY = Path(__file__).parents[2]


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(cli.app, ["results", *map(str, arguments)])


@pytest.fixture(autouse=True)
def nothing_is_trained(monkeypatch: pytest.MonkeyPatch) -> None:
    from unifilter.experiments.engine import sources, worker

    def refused(*_: object) -> None:
        raise AssertionError("results must neither load data nor measure")

    monkeypatch.setattr(worker.Worker, "outcome", refused)
    monkeypatch.setattr(sources.Sources, "load", refused)


def test_the_summary_is_that_of_the_page_of_results() -> None:
    result = run()
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    header = next(line for line in lines if line.startswith("name "))
    assert header.split() == ["name", "in", "the", "paper", "reported", "measured", "within", "above", "below"]
    page = (REPOSITORY / "docs" / "results.md").read_text(encoding="utf-8")
    page = page[page.index("## At a glance") : page.index("## Accuracy beside other polynomial filters")]
    glance = [[cell.strip() for cell in line.split("|")[1:-1]] for line in page.splitlines() if line.startswith("| ")]
    titles = {experiment.title: name for name, experiment in EXPERIMENTS.items()}
    expected = [[titles[title], *place.split(), *counts] for title, place, *counts in glance if title in titles]
    assert len(expected) >= 10
    assert [line.split() for line in lines if line.split() and line.split()[0] in EXPERIMENTS] == expected
    assert "The paper reports no numbers for: figure-basis, figure-smoothing, theorems, " in result.stdout


def test_an_experiment_is_shown_beside_the_paper() -> None:
    result = run("table-estimate")
    assert result.exit_code == 0, result.output
    title, *lines = result.stdout.splitlines()
    rows = [row for row in packaged_rows() if row["experiment"] == "table-estimate"]
    assert title == f"Estimated homophily (table-estimate, Table 3; {len(rows)} rows)"
    marks = [line.split()[-1] for line in lines if line.split() and line.split()[-1] in ("within", "above", "below")]
    counts = json.loads(run("--json").stdout)
    tally = next(one for one in counts if one["name"] == "table-estimate")
    assert {mark: marks.count(mark) for mark in ("within", "above", "below")} == {
        mark: tally[mark] for mark in ("within", "above", "below")
    }
    assert sum(tally[mark] for mark in ("within", "above", "below")) == tally["measured"] == 24


def test_a_claim_is_shown_with_its_verdict() -> None:
    lines = run("theorems").stdout.splitlines()
    claims = [line for line in lines if line.startswith("Theorem ")]
    assert claims
    assert all(line.endswith((": holds", ": holds in part", ": does not hold", ": not measured")) for line in claims)


def test_every_experiment_as_json() -> None:
    shown = json.loads(run("all", "--json").stdout)
    with_rows = {row["experiment"] for row in packaged_rows()}
    assert [one["name"] for one in shown] == [name for name in EXPERIMENTS if name in with_rows]
    for one in shown:
        verdicts = [entry["verdict"] for table in one["tables"] for entry in table["entries"]]
        assert verdicts.count("within") == one["within"]
        assert one["tables"] or one["findings"]
    spectrum = next(one for one in shown if one["name"] == "table-polynomial")
    entry = spectrum["tables"][0]["entries"][0]
    assert entry.keys() == {
        "row", "column", "mean", "std", "count", "reported_mean", "reported_std", "verdict",
    }  # fmt: skip


def test_rows_pictures_and_reports_are_written(tmp_path: Path) -> None:
    result = run("figure-tau", "--out", tmp_path)
    report = tmp_path / "figure-tau" / "report.html"
    assert (result.exit_code, result.stdout) == (0, f"{report}\n")
    assert {path.name for path in report.parent.iterdir()} == {
        "results.csv", "report.html", "figure-tau.svg", "figure-tau.png",
    }  # fmt: skip
    rows = [row for row in packaged_rows() if row["experiment"] == "figure-tau"]
    assert read_rows(report.parent / "results.csv") == rows
    page = report.read_text(encoding="utf-8")
    assert "Stored results, not measured here" in page
    assert f"{len(rows)} results." in page
    assert rows[0]["checksum"] in page
    assert "<dt>cores</dt>" not in page  # the machine of the reader did not measure them


def test_rows_of_your_own(tmp_path: Path) -> None:
    mine = tmp_path / "mine" / "table-estimate"
    mine.mkdir(parents=True)
    shutil.copy(PACKAGED_ROWS / "table-estimate.csv.gz", mine)
    shown = json.loads(run("--rows", mine.parent, "--json").stdout)
    assert [one["name"] for one in shown] == ["table-estimate"]
    missing = run("figure-tau", "--rows", mine.parent)
    assert missing.exit_code == 2
    assert f"no rows of figure-tau in {mine.parent}: run it first, or pass files with its rows" in missing.stderr


def test_the_page_of_the_documentation(tmp_path: Path) -> None:
    rows = tmp_path / "rows"
    rows.mkdir()
    shutil.copy(PACKAGED_ROWS / "table-estimate.csv.gz", rows)
    count = len(read_rows(rows / "table-estimate.csv.gz"))
    page = tmp_path / "results.md"
    result = run("--docs", page, "--rows", rows)
    assert (result.exit_code, result.stdout) == (0, f"{count} rows shown in {page}\n")
    text = page.read_text(encoding="utf-8")
    assert "written by `unifilter results --docs` from stored rows" in text
    assert "| **not tested** |" in text
    assert not (tmp_path / "discussion.md").exists()  # there are no findings among these rows
    assert "## Estimated homophily" in text
    assert json.loads(run("--docs", page, "--rows", rows, "--json").stdout) == {"page": str(page), "rows": count}


def test_the_page_in_the_repository_is_that_of_the_packaged_rows(tmp_path: Path) -> None:
    assert run("--docs", tmp_path / "results.md").exit_code == 0
    for name in ("results.md", "discussion.md"):
        written = (tmp_path / name).read_text(encoding="utf-8")
        assert written == (REPOSITORY / "docs" / name).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["figure-9"], "there is no experiment 'figure-9': choose all, or one of table-polynomial"),
        (["--rows", "nowhere"], "there is no file or folder nowhere"),
        (["figure-tau", "--docs", "x.md"], "--docs writes one page of all experiments: leave out NAME and --out"),
    ],
)
def test_mistakes_are_named(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run(*arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("form", ["markdown", "latex"])
def test_tables_to_be_pasted_hold_what_was_measured_and_is_reported(form: str) -> None:
    shown = json.loads(run("table-estimate", "--json").stdout)[0]
    entry = next(one for one in shown["tables"][0]["entries"] if one["verdict"] == "above")
    text = run("table-estimate", "--format", form).stdout
    pair = (f"{entry['mean']:.3f} ± {entry['std']:.3f}", f"{entry['reported_mean']:.3f} ± {entry['reported_std']:.3f}")
    expected = f"{pair[0]} ({pair[1]}) ▲"
    line = next(line for line in text.splitlines() if entry["row"] in line)
    assert (
        expected if form == "markdown" else expected.replace("±", r"$\pm$").replace("▲", r"$\bigtriangleup$")
    ) in line
    assert line.startswith("| " if form == "markdown" else "    estimate")


def test_claims_and_the_summary_can_be_pasted_too() -> None:
    assert r"\begin{tabular}{p{0.225\linewidth}" in run("theorems", "--format", "latex").stdout
    assert "| table-estimate | Table 3 | 24 | 24 |" in run("--format", "markdown").stdout


@pytest.mark.parametrize("form", ["markdown", "latex"])
def test_a_format_goes_with_nothing_else(form: str, tmp_path: Path) -> None:
    for other, message in (
        (["--json"], f"--json prints no tables, so --format {form} has nothing to change: pass only one of them"),
        (["--out", tmp_path / "x"], f"--format {form} is for tables that are printed: use it without --docs and --out"),
    ):
        result = run("--format", form, *other)
        assert result.exit_code == 2
        assert message in result.stderr
    assert list(tmp_path.iterdir()) == []
