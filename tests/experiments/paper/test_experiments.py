"""Every experiment from end to end, on tiny data."""

from __future__ import annotations

import re
import xml.etree.ElementTree
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from real_graphs import needs_data

from unifilter._internal.plain import plain
from unifilter.experiments import EXPERIMENTS, Options, Sources, find_experiments
from unifilter.experiments.engine.machine import describe_machine
from unifilter.experiments.engine.plan import Planner
from unifilter.experiments.engine.reproduce import Reproduced, reproduce
from unifilter.experiments.engine.results import write_results_page
from unifilter.experiments.engine.row_files import Row, read_rows
from unifilter.experiments.show.presentation import score_of
from unifilter.experiments.show.reported import reported
from unifilter.methods import find_method
from unifilter.methods.uni_filter import UniFilterMethod

# The smallest part of each that still has everything in it, and how many cells that is.
PARTS: dict[str, tuple[dict[str, Any], int]] = {
    "table-polynomial": ({"datasets": ("actor",)}, 12),
    "table-models": ({"datasets": ("actor",), "methods": ("unifilter", "gcn")}, 4),
    "table-large": ({"datasets": ("cornell5", "genius"), "methods": ("unifilter", "sgc")}, 4),
    "figure-basis": ({}, 2),
    "figure-spectrum": ({"datasets": ("actor", "squirrel")}, 2),
    "figure-homophily": ({}, 72),
    "figure-tau": ({"datasets": ("squirrel",)}, 11),
    "table-estimate": ({}, 18),
    "table-estimate-share": ({}, 12),
    "table-sensitivity": ({}, 10),
    "figure-smoothing": ({"datasets": ("squirrel",)}, 1),
    "figure-squashing": ({}, 11),
    "theorems": ({"datasets": ("cora", "pubmed", "actor", "random-regular", "binary-tree")}, 11),
    "table-scaling": ({"datasets": ("actor",)}, 6),
    "table-formulations": ({"datasets": ("actor", "squirrel")}, 7),
    "table-formulations-48": ({"datasets": ("actor",)}, 3),
    "table-variants": ({"datasets": ("actor",)}, 4),
    "table-variants-48": ({"datasets": ("actor",), "methods": ("homfilter", "unifilter")}, 2),
    "table-shared": ({"datasets": ("actor", "minesweeper")}, 9),
    "table-auto": ({"datasets": ("actor", "uninformative@0.3"), "methods": ("auto", "mlp", "gprgnn")}, 9),
    "table-beyond": ({"datasets": ("minesweeper",), "methods": ("unifilter", "mlp", "gcn-res"), "splits": 2}, 6),
}


class Page(HTMLParser):
    """What a page shows, and what it asks for."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.asked: list[str] = []
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.asked += [value or "" for name, value in attributes if name in ("src", "href")]
        if tag not in ("meta", "img", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_every_experiment_is_tried() -> None:
    assert PARTS.keys() == EXPERIMENTS.keys()


@dataclass
class Runs:
    """The experiments, each run when it is first asked for, all in one folder."""

    folder: Path
    files: dict[str, Path]
    done: dict[str, Reproduced] = field(default_factory=dict)

    def of(self, name: str) -> Reproduced:
        if name not in self.done:
            part, _ = PARTS[name]
            self.done[name] = reproduce(
                find_experiments(name), self.folder, Options(**{"splits": 1, "epochs": 2, **part}),
                Sources(own=self.files), verbose=False, command=f"unifilter x {name}",
            )  # fmt: skip
        return self.done[name]

    def report(self, name: str) -> str:
        return self.of(name).pages[name].read_text(encoding="utf-8")

    def rows(self, name: str) -> list[Row]:
        self.of(name)
        return read_rows(self.folder / name / "results.csv")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory, tiny_files: dict[str, Path]) -> Runs:
    return Runs(tmp_path_factory.mktemp("output"), tiny_files)


@pytest.mark.parametrize("name", PARTS)
def test_from_end_to_end(name: str, runs: Runs) -> None:
    _, cells = PARTS[name]
    result = runs.of(name)
    assert (result.failures, result.left_out) == ([], [])
    assert result.ran + result.reused == cells
    folder = runs.folder / name
    assert {path.name for path in folder.iterdir()} == {"results.csv", "report.html", f"{name}.svg", f"{name}.png"}
    assert len(runs.rows(name)) == cells
    xml.etree.ElementTree.parse(folder / f"{name}.svg")
    assert (folder / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    text = runs.report(name)
    page = Page(text)
    assert page.open == []
    assert [asked[:26] for asked in page.asked] == ["data:image/svg+xml;base64,"]
    assert f"unifilter x {name}" in text
    assert "A trial run of at most 2 epochs" in text
    assert f"{cells} of {cells} results" in text


def test_the_report_has_measured_and_reported_cells_in_color(runs: Runs) -> None:
    text = runs.report("table-models")
    # Two epochs on a tiny graph reach nothing like the reported 27.32, give or take 1.1.
    [entry] = re.findall(r"<tr><th>GCN</th>.*?</tr>", text)
    assert re.search(
        r'<td class="(above|below|within)"><b>\d+\.\d\d</b> [▲▼≈]<br><small>27.32 ± 1.10</small></td>', entry
    )
    assert '<td class="reported">–<br><small>86.98 ± 1.27</small></td>' in entry
    # Every method of the table is there.
    assert "no method yet: " not in text


def test_the_stand_in_is_labeled(runs: Runs) -> None:
    text = runs.report("table-large")
    assert "<th>cornell5 (stand-in for penn94)</th>" in text
    assert "has no reported figures" in text


def test_ties_and_losses_are_said(runs: Runs) -> None:
    text = runs.report("table-beyond")
    assert re.search(r"minesweeper, points above the best plain baseline by validation score, (mlp|gcn-res): ", text)
    assert re.search(r"(ahead|tie|behind): unifilter \([+-]\d+\.\d\d, 95 % interval ", text)


def test_the_scaling_that_comes_closest_to_the_figure_is_named(runs: Runs) -> None:
    rows = runs.rows("table-scaling")
    theirs = np.array(reported("figure-spectrum")["actor"])[:, 0] / 2
    distances = {row["at"]["row"]: np.abs(np.array(row["outcome"]["frequencies"]) - theirs).mean() for row in rows}
    closest = min(distances, key=lambda name: distances[name])
    text = runs.report("table-scaling")
    assert f"Closest: actor {closest} ({distances[closest]:.3f})." in text
    assert len({round(distance, 6) for distance in distances.values()}) == 6


def mentioned(method: UniFilterMethod) -> dict[str, Any]:
    """The settings in a row: those that came later are left out where they have their default."""
    return {name: value for name, value in plain(method.settings()).items() if name not in method.later_settings}


def test_both_formulations_and_the_defaults_stand_beside_the_one_reported_figure(runs: Runs) -> None:
    rows = runs.rows("table-formulations")
    squirrel = {row["at"]["row"]: row["settings"] for row in rows if row["dataset"] == "squirrel"}
    assert [squirrel[label]["formulation"] for label in squirrel] == ["paper", "paper", "paper", "released"]
    published, tuned, defaults, _ = squirrel.values()
    assert published == mentioned(UniFilterMethod.preset("squirrel", epochs=2))
    assert tuned == {**published, **UniFilterMethod.tuned["squirrel"]} != published
    assert len(defaults.pop("candidates")) == len(UniFilterMethod().candidates())
    assert defaults == mentioned(UniFilterMethod(epochs=2))
    text = runs.report("table-formulations")
    assert text.count("<small>67.40 ± 1.25</small>") == 4
    [said] = re.findall(
        r"on the splits that both have: actor [+-]\d+\.\d\d, squirrel ([+-]\d+\.\d\d); within 2 on", text
    )
    score = {row["at"]["row"]: 100 * row["outcome"]["test_accuracy"] for row in rows if row["dataset"] == "squirrel"}
    assert float(said) == pytest.approx(
        score["as in the paper, tuned settings"] - score["as in the paper, default settings"], abs=0.006
    )


def test_the_formulations_on_the_masks_stand_beside_table_2(runs: Runs) -> None:
    assert runs.report("table-formulations-48").count("<small>37.79 ± 1.11</small>") == 3
    assert {row["split"] for row in runs.rows("table-formulations-48")} == {"given"}


def test_theorems_have_verdicts(runs: Runs) -> None:
    text = runs.report("theorems")
    for claim in ("Proposition 2.3", *(f"Theorem {number}" for number in ("3.1", "4.1", "4.2", "4.3", "5.2", "5.3"))):
        assert f"<td>{claim}" in text
    assert '<td class="does-not-hold">does not hold</td>' in text
    assert '<td class="holds">holds</td>' in text


def test_no_host_name_in_the_facts_of_the_machine() -> None:
    import platform

    facts = describe_machine()
    assert facts["cores"].isdigit()
    assert {"processor", "memory", "python", "torch", "unifilter"} <= facts.keys()
    assert platform.node() not in facts.values()


def test_the_table_of_models_has_unifilter_on_masks_and_on_drawn_splits(runs: Runs) -> None:
    rules = {row["at"]["row"]: row["split"] for row in runs.rows("table-models")}
    assert rules.pop("UniFilter, splits drawn at random") == "random-48-32-20"
    assert rules.keys() == {"GCN", "UniFilter", "UniFilter, published settings"}
    assert set(rules.values()) == {"given"}


@needs_data
@pytest.mark.parametrize("dataset", ["citeseer", "pubmed"])
def test_the_papers_second_estimate_is_that_of_drawn_splits(dataset: str, tmp_path: Path) -> None:
    reproduce(find_experiments("table-estimate"), tmp_path, Options(datasets=(dataset,)), Sources(), verbose=False)
    rows = read_rows(tmp_path / "table-estimate" / "results.csv")
    table = EXPERIMENTS["table-estimate"].present(rows).tables[0]
    assert table.entry("estimate, 48/32/20 drawn as 60/20/20 is", dataset).verdict == "within"
    assert table.entry("estimate, 48/32/20", dataset).verdict == "above"


def test_all_of_them_on_one_page(runs: Runs, tmp_path: Path) -> None:
    options = Options(splits=1, epochs=2, datasets=("actor",), methods=("unifilter", "gcn"))
    # What an experiment has done before is not done again.
    before = [*runs.rows("table-models"), *runs.rows("table-variants")]
    done = [row for row in before if row["method"] in ("unifilter", "gcn")]
    sources = Sources(own=runs.files)
    result = reproduce(find_experiments("all"), tmp_path, options, sources, known=[runs.folder], verbose=False)
    assert "all" in result.pages
    assert result.reused >= len(done) == 5
    text = result.pages["all"].read_text(encoding="utf-8")
    page = Page(text)
    inside = [asked for asked in page.asked if not asked.startswith("data:")]
    assert inside == [
        f"#{name}"
        for name in (
            "table-polynomial",
            "table-models",
            "figure-spectrum",
            "table-estimate",
            "theorems",
            "table-scaling",
            "table-formulations",
            "table-formulations-48",
            "table-variants",
            "table-variants-48",
            "table-shared",
            "table-auto",
        )
    ]
    assert all(f'<section id="{anchor[1:]}">' in text for anchor in inside)
    assert re.search(r'<a href="#table-estimate">Estimated homophily</a></th><td>24</td><td>4</td>', text)


def test_single_methods_beside_the_portfolio_can_be_tuned(tmp_path: Path) -> None:
    pytest.importorskip("optuna")
    options = Options(("uninformative@0.3",), ("auto", "mlp"), splits=1, epochs=2, trials=2)
    result = reproduce(find_experiments("table-auto"), tmp_path, options, Sources(), verbose=False)
    rows = read_rows(tmp_path / "table-auto" / "results.csv")
    assert [row["at"]["row"] for row in rows] == ["auto", "auto, fast", "mlp", "mlp, tuned"]
    tuned = rows[-1]
    assert tuned["settings"]["trials"] == 2
    assert tuned["outcome"]["search_seconds"] > 0
    text = result.pages["table-auto"].read_text(encoding="utf-8")
    members = len(rows[0]["outcome"]["members"])
    assert f"tried 2 settings on the validation nodes of each split, and auto {members} to {members}" in text


def test_the_portfolio_is_compared_with_published_settings_and_reported_figures(runs: Runs) -> None:
    rows, text = runs.rows("table-auto"), runs.report("table-auto")
    of = {row["at"]["row"]: row for row in rows if row["dataset"] == "actor"}
    published = find_method("gprgnn").preset("actor", split="60", epochs=2).plain_settings()
    assert of["gprgnn, published"]["settings"] == published != of["gprgnn"]["settings"]
    auto = score_of(of["auto"])
    assert f"UniFilter tuned on each graph: actor {auto:.2f} and 40.84 (splits: 1)" in text
    assert "points of auto above a method with published or tuned settings" in text
    assert f"{auto - score_of(of['gprgnn, published']):.2f}" in text


def test_the_page_of_results_is_written_from_rows_alone(runs: Runs, tmp_path: Path) -> None:
    page, output = tmp_path / "docs" / "results.md", runs.folder
    for name in PARTS:
        runs.of(name)
    (output / "findings.md").write_text("## Findings\n\nNothing is learned in two epochs.\n", encoding="utf-8")
    count = write_results_page(list(EXPERIMENTS.values()), [output], page, "unifilter x")
    text = page.read_text(encoding="utf-8")
    assert text.index("Reported figures: ") < text.index("## The claims of the paper") < text.index("## At a glance")
    assert "[discussion](discussion.md)" in text
    discussion = page.with_name("discussion.md").read_text(encoding="utf-8")
    assert discussion == "## Findings\n\nNothing is learned in two epochs.\n"
    glance = text[text.index("## At a glance") : text.index("## Accuracy")]
    # GCN, and UniFilter with tuned and published settings on masks and on drawn splits, on one of six graphs
    assert "| Accuracy beside model-optimized methods | Table 2 | 72 | 4 |" in glance
    assert "UniFilter and its variants" not in glance  # its reported figures are those of another table
    assert count == sum(len(read_rows(path)) for path in output.rglob("results.csv"))
    for name in PARTS:
        assert f"`{name}`, {EXPERIMENTS[name].place}; " in text
        assert f"](results/{name}.png)" in text
        assert (page.parent / "results" / f"{name}.png").exists()
    plain = text.replace("\N{NO-BREAK SPACE}", " ")
    assert re.search(r"\| GCN \| –<br>\(86.98 ± 1.27\) \|", plain)
    assert re.search(r"\| GCN \|.* \d+\.\d\d [▲▼≈]<br>\(27.32 ± 1.10\) \|", plain)
    # Bars would end a cell of a table.
    assert r"\|∂z_u/∂x_v\|" in text


def test_a_page_without_rows_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no rows of an experiment in .*: run it first"):
        write_results_page(list(EXPERIMENTS.values()), [tmp_path], tmp_path / "results.md", "x")
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_experiment_is_refused() -> None:
    with pytest.raises(ValueError, match="there is no experiment 'table-1': choose all, or one of table-polynomial, "):
        find_experiments("table-1")


@needs_data
def test_methods_whose_figures_are_of_directed_edges_are_trained_on_them() -> None:
    options = Options(splits=1, datasets=("chameleon", "cora"), methods=("gcn", "acm-gcn"))
    plan = Planner(Sources(), options).plan(EXPERIMENTS["table-models"], alone=True)
    found = {(planned.cell.at["row"], planned.cell.at["column"]): planned.cell.dataset for planned in plan.cells}
    assert found == {
        ("GCN", "chameleon"): "chameleon-directed",
        ("GCN, undirected", "chameleon"): "chameleon",
        ("ACM-GCN", "chameleon"): "chameleon",
        ("GCN", "cora"): "cora",
        ("ACM-GCN", "cora"): "cora",
    }
