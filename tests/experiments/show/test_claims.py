from __future__ import annotations

import re
from pathlib import Path

import pytest

from unifilter.experiments import EXPERIMENTS
from unifilter.experiments.engine.results import stored_results
from unifilter.experiments.engine.row_files import PACKAGED_ROWS, packaged_rows
from unifilter.experiments.show.claims import Claim, claims_of
from unifilter.experiments.show.figures import Figures, MissingFigureError
from unifilter.experiments.show.prose import fill, typed_figures
from unifilter.experiments.show.shown import Shown

REPOSITORY = Path(__file__).parents[3]
VERDICTS = ("holds", "holds in part", "does not hold", "not tested")


@pytest.fixture(scope="module")
def shown() -> list[Shown]:
    return stored_results(list(EXPERIMENTS.values()))


@pytest.fixture(scope="module")
def figures(shown: list[Shown]) -> Figures:
    return Figures(shown)


@pytest.fixture(scope="module")
def claims(shown: list[Shown]) -> list[Claim]:
    return claims_of(shown)


def without(shown: list[Shown], experiment: str) -> list[Shown]:
    return [one for one in shown if one.experiment.name != experiment]


def test_every_claim_has_a_verdict_and_a_command_that_exists(claims: list[Claim]) -> None:
    assert len(claims) >= 20
    for one in claims:
        assert one.verdict in VERDICTS
        assert one.command.removeprefix("unifilter reproduce ") in EXPERIMENTS
        assert (one.measured == "–") == (one.verdict == "not tested"), one.claim


def test_every_theorem_table_and_figure_is_claimed(claims: list[Claim]) -> None:
    places = {one.place for one in claims}
    assert {f"Theorem {name}" for name in ("3.1", "4.1", "4.2", "4.3", "5.2", "5.3")} <= places
    assert {f"Table {number}" for number in (1, 2, 3)} <= places
    assert {f"Figure {number}" for number in (2, 3, 4, 5)} <= places


@pytest.mark.parametrize("experiment", ["theorems", "figure-tau", "table-polynomial", "figure-squashing"])
def test_what_has_no_rows_is_not_tested(shown: list[Shown], experiment: str) -> None:
    command = f"unifilter reproduce {experiment}"
    found = [one for one in claims_of(without(shown, experiment)) if one.command == command]
    assert found
    assert {one.verdict for one in found} == {"not tested"}


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_some_of_the_rows_are_no_mistake(experiment: str) -> None:
    """Of a run that was stopped, or of a part of an experiment."""
    rows = [row for row in packaged_rows() if row["experiment"] == experiment]
    for some in (rows[:1], rows[-1:], rows[: len(rows) // 2] or rows):
        partly = Shown(EXPERIMENTS[experiment], EXPERIMENTS[experiment].present(some), some)
        assert {one.verdict for one in claims_of([partly])} <= set(VERDICTS)


def test_the_accuracies_are_those_of_the_table(shown: list[Shown], claims: list[Claim]) -> None:
    """Computed once more, from the rows themselves."""
    one = next(one for one in claims if one.place == "Table 1" and "printed accuracy" in one.claim)
    scores: dict[str, list[float]] = {}
    for row in packaged_rows():
        if row["experiment"] == "table-polynomial" and row["at"]["row"] == "UniFilter":
            scores.setdefault(row["at"]["column"], []).append(100 * row["outcome"]["test_accuracy"])
    told = EXPERIMENTS["table-polynomial"].reported["UniFilter"]
    means = {graph: sum(values) / len(values) for graph, values in scores.items()}
    missed = [graph for graph, mean in means.items() if mean < told[graph][0] - told[graph][1] - 0.005]
    assert one.measured.startswith(f"reached on {6 - len(missed)} of 6")
    for graph in missed:
        assert f"{graph} {means[graph] - told[graph][0]:+.2f}" in one.measured


def test_a_verdict_follows_the_rows(shown: list[Shown]) -> None:
    """UniFilter with eight points less on every graph reaches nothing."""
    (one,) = [one for one in shown if one.experiment.name == "table-polynomial"]
    worse = [
        {**row, "outcome": {**row["outcome"], "test_accuracy": row["outcome"]["test_accuracy"] - 0.08}}
        if row["at"]["row"] == "UniFilter"
        else row
        for row in one.rows
    ]
    changed = Shown(one.experiment, one.experiment.present(worse), worse)
    found = [one for one in claims_of([changed]) if one.place == "Table 1"]
    assert [one.verdict for one in found] == ["does not hold", "does not hold"]


def test_figures_by_name(figures: Figures) -> None:
    assert figures.reported("table-polynomial", "UniFilter", "cora") == 89.49
    assert figures.splits("table-polynomial", "UniFilter", "cora") == 10
    assert figures.difference("table-polynomial", "UniFilter", "cora") == pytest.approx(
        figures.mean("table-polynomial", "UniFilter", "cora") - 89.49
    )
    with pytest.raises(KeyError, match="table 0 of table-polynomial has no entry 'UniFilter', 'mars'"):
        figures.mean("table-polynomial", "UniFilter", "mars")
    with pytest.raises(MissingFigureError, match="table-large has not measured UniFilter, penn94"):
        figures.mean("table-large", "UniFilter", "penn94")
    with pytest.raises(MissingFigureError, match="nothing is reported for HetFilter, cora of table-variants"):
        figures.reported("table-variants", "HetFilter", "cora")
    with pytest.raises(MissingFigureError, match="there are no rows of mars"):
        figures.rows("mars")
    with pytest.raises(MissingFigureError, match="has 0 rows with start at .* not one"):
        figures.outcome("figure-smoothing", "start", dataset="mars")


def test_no_number_of_the_discussion_is_typed_by_hand() -> None:
    for path in PACKAGED_ROWS.glob("*.md"):
        assert typed_figures(path.read_text(encoding="utf-8")) == []


def test_typed_numbers_are_found() -> None:
    text = "On Cora {{ f(mean('a', 'b', 'c')) }} (Table 1, tau = 0.5, 60/20/20, `--tau 0.2`), 89.5 were reported."
    assert typed_figures(text) == ["89.5"]


def test_the_discussion_is_filled_from_the_rows(figures: Figures) -> None:
    at = "'table-polynomial', 'UniFilter', 'cora'"
    text = fill(f"{{{{ f(mean({at}), 1) }}}} of {{{{ splits({at}) }}}}", figures)
    assert text == f"{figures.mean('table-polynomial', 'UniFilter', 'cora'):.1f} of 10"
    page = (REPOSITORY / "docs" / "discussion.md").read_text(encoding="utf-8")
    assert not re.search(r"\{\{|\{%", page)


def test_a_sentence_that_no_longer_holds_stops_the_page(figures: Figures) -> None:
    with pytest.raises(ValueError, match="stored rows no longer bear a sentence of the discussion out"):
        fill("{{ check(mean('table-polynomial', 'UniFilter', 'cora') < 50) }}UniFilter fails on Cora.", figures)
