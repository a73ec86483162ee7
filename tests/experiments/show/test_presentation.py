from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from unifilter.experiments import EXPERIMENTS
from unifilter.experiments.engine.cells import Cell
from unifilter.experiments.engine.experiment import Options, method_of
from unifilter.experiments.engine.progress import duration
from unifilter.experiments.engine.row_files import Row
from unifilter.experiments.show.presentation import Entry, Presentation, comparison, paired_interval
from unifilter.experiments.show.report import measured_text
from unifilter.experiments.show.reported import reported, reported_figures
from unifilter.methods import METHODS, Method


@pytest.mark.parametrize(
    ("values", "reported_pair", "verdict"),
    [
        ((80.0, 82.0), (80.0, 1.0), "within"),
        ((80.0, 82.5), (80.0, 1.0), "above"),
        ((78.0, 79.5), (80.0, 1.0), "below"),
        ((0.8, 0.84), (0.83, None), "within"),  # nothing reported to be within: ours is 0.02
        ((0.8,), (0.81, None), "below"),
        ((80.0,), None, "measured"),
        ((), (80.0, 1.0), "reported"),
        ((), None, "missing"),
    ],
)
def test_a_verdict_looks_at_one_reported_deviation(
    values: tuple[float, ...], reported_pair: tuple[float, float | None] | None, verdict: str
) -> None:
    assert Entry(values, reported_pair).verdict == verdict


@pytest.mark.parametrize(("value", "verdict"), [(0.8149, "within"), (0.8051, "within"), (0.8151, "above")])
def test_what_the_papers_rounding_hides_is_no_difference(value: float, verdict: str) -> None:
    assert Entry((value,), (0.81, None), printed=2).verdict == verdict
    assert Entry((value,), (0.81, None)).verdict != "within"


def test_the_deviation_is_that_of_the_splits_themselves() -> None:
    entry = Entry((1.0, 3.0))
    assert (entry.mean, entry.deviation) == (2.0, 1.0)


def test_a_comparison_keeps_the_papers_order_and_appends_what_else_was_measured() -> None:
    table = comparison("t", {("b", "y"): [1.0], ("new", "z"): [2.0]}, {("a", "x"): [1, 0.5], ("b", "y"): 3}, "ab", "xy")
    assert (table.rows, table.columns) == (("a", "b", "new"), ("x", "y", "z"))
    assert table.entry("a", "x") == Entry((), (1.0, 0.5), 2)
    assert table.entry("b", "y") == Entry((1.0,), (3.0, None), 2)
    assert table.entry("a", "z") == Entry()


def test_a_paired_interval_covers_the_truth_when_splits_share_nodes() -> None:
    # Differences whose correlation is that of Nadeau and Bengio's model, test / (train + test).
    rng, share, hits = np.random.default_rng(0), 0.25, 0
    correlation = share / (1 + share)
    for _ in range(600):
        common, own = rng.standard_normal(), rng.standard_normal(10)
        interval = paired_interval(math.sqrt(correlation) * common + math.sqrt(1 - correlation) * own, share)
        assert interval is not None
        hits += interval.low <= 0 <= interval.high
    assert 0.92 < hits / 600 < 0.98


def test_ahead_behind_or_tied() -> None:
    interval = paired_interval([1.0, 1.1, 0.9, 1.0], 0.3)
    assert interval is not None
    assert (interval.verdict, round(interval.mean, 6)) == ("ahead", 1.0)
    behind, tie = paired_interval([-1.0, -1.1, -0.9, -1.0], 0.3), paired_interval([-1.0, 1.0, 0.5], 0.3)
    assert behind is not None
    assert tie is not None
    assert (behind.verdict, tie.verdict) == ("behind", "tie")
    assert paired_interval([1.0], 0.3) is None


def test_labels_of_the_paper_find_their_methods() -> None:
    assert {label: method_of(label) for label in ("UniFilter", "OptBasisGNN", "GCN", "SGC")} == {
        "UniFilter": "unifilter", "OptBasisGNN": "optbasis", "GCN": "gcn", "SGC": "sgc",
    }  # fmt: skip
    assert all(method_of(label) in METHODS for label in reported("table-polynomial"))


def test_plus_signs_tell_methods_apart() -> None:
    labels = ("ACM-GCN", "ACM-GCN+", "ACM-GCN++", "GloGNN++", "GloGNN", "LINKX")
    assert [method_of(label) for label in labels] == [label.lower() for label in labels]


def test_a_method_that_comes_later_is_found_without_a_change(monkeypatch: pytest.MonkeyPatch) -> None:
    others = {name: method for name, method in METHODS.items() if not name.startswith("glognn")}
    monkeypatch.setattr(METHODS, "_entries", others)
    assert method_of("GloGNN++") is None
    METHODS.register("glognn", Method)
    assert method_of("GloGNN++") == "glognn"


def test_reported_figures_are_those_of_the_paper() -> None:
    figures = reported_figures()
    assert figures["table-polynomial"]["UniFilter"]["squirrel"] == [67.4, 1.25]
    assert figures["table-models"]["LINKX"]["citeseer"] == [73.19, 0.99]
    assert figures["table-large"]["UniFilter"]["ogbn-arxiv"] == [73.7, 0.7]
    assert figures["figure-tau"]["squirrel"][-1] == [58.65, 1.15]
    assert {name: len(figures[name]) for name in ("table-polynomial", "table-models", "table-large")} == {
        "table-polynomial": 12, "table-models": 10, "table-large": 9,
    }  # fmt: skip
    for name in ("table-polynomial", "table-models"):
        assert all(len(row) == 6 for row in figures[name].values())
    # The two rows whose names the paper swaps.
    assert figures["table-sensitivity"]["pubmed"]["accuracy"][0] == [91.03, 0.61]


def test_an_unknown_method_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match="there is no method 'gnc': choose from unifilter, "):
        Options(methods=("gcn", "gnc"))


def test_a_cell_says_what_it_is() -> None:
    assert str(Cell("train", "cora", {"dataset": "cora", "tau": 0.1}, "60", 3, "unifilter")) == (
        "cora unifilter split 3 (tau=0.1)"
    )
    assert str(Cell("energy", "cora", {"dataset": "cora"})) == "cora energy"


@pytest.mark.parametrize(("seconds", "text"), [(7.2, "7 s"), (600, "10 min"), (9000, "2.5 h")])
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_a_table_says_of_how_many_splits_its_entries_are_and_so_does_an_entry_with_fewer() -> None:
    measured = {("a", "x"): [1.0, 2.0, 3.0], ("b", "x"): [1.0, 2.0], ("c", "x"): [4.0]}
    table = comparison("score", measured, {}, [], [])
    assert table.caption == "score, mean ± standard deviation over 3 splits"
    texts = [measured_text(table.entry(row, "x"), table) for row in "abc"]
    assert texts == ["2.00 ± 0.82", "1.50 ± 0.50, 2 splits", "4.00, 1 split"]
    assert measured_text(table.entry("c", "x"), replace(table, over=None)) == "4.00"  # no matter of splits


def test_a_stand_in_has_the_settings_that_are_published_for_what_it_stands_for() -> None:
    def row(label: str) -> Row:
        settings, outcome = {"metric": "accuracy"}, {"test_accuracy": 0.5}
        return {"at": {"row": label, "column": "cornell5"}, "method": label.lower(), "dataset": "cornell5", "index": 0,
                "settings": settings, "outcome": outcome}  # fmt: skip

    notes = EXPERIMENTS["table-large"].present([row("UniFilter"), row("SGC")]).notes
    assert notes[-1] == "Without published settings on some of these graphs, so with defaults there: sgc."


def test_a_tally_counts_what_is_reported_and_what_became_of_it() -> None:
    reported_figures = {("a", "x"): (1.0, 0.5), ("a", "y"): (2.0, 0.5), ("b", "x"): 3.0, ("b", "y"): (4.0, 0.5)}
    measured = {("a", "x"): [1.4], ("a", "y"): [3.0], ("b", "x"): [2.0], ("new", "x"): [1.0]}
    table = comparison("score", measured, reported_figures, [], [])
    tally = Presentation([table, table]).tally
    assert (tally.reported, tally.measured) == (8, 6)
    assert (tally.within, tally.above, tally.below) == (2, 2, 2)


@pytest.mark.parametrize(
    ("values", "over", "caption"),
    [
        ([4.0], "split", "score, 1 split"),
        ([4.0, 5.0], "training set", "score, mean ± standard deviation over 2 training sets"),
        ([4.0], None, "score"),
        ([], "split", "score"),
    ],
)
def test_a_caption_names_what_the_mean_is_over(values: list[float], over: str | None, caption: str) -> None:
    assert comparison("score", {("a", "x"): values}, {("a", "x"): 1.0}, [], [], over=over).caption == caption


def test_the_homophily_of_the_whole_graph_is_no_matter_of_splits() -> None:
    def row(rule: str, index: int, estimate: float) -> Row:
        outcome = {"estimate": estimate, "homophily": 0.5}
        return {"at": {"row": rule, "column": "cora"}, "index": index, "settings": {}, "outcome": outcome}

    rows = [row(rule, index, 0.4) for rule in ("estimate, 60/20/20", "estimate, 48/32/20") for index in (0, 1)]
    [table] = EXPERIMENTS["table-estimate"].present(rows).tables
    assert measured_text(table.entry("whole graph", "cora"), table) == "0.500 ± 0.000"
    assert measured_text(table.entry("estimate, 48/32/20", "cora"), table) == "0.400 ± 0.000"


def test_variants_are_compared_on_the_splits_that_both_have() -> None:
    def row(label: str, index: int, test: float) -> Row:
        place = {"row": label, "column": "cora"}
        outcome = {"test_accuracy": test}
        settings = {"metric": "accuracy"}
        return {"at": place, "method": label.lower(), "dataset": "cora", "index": index, "settings": settings,
                "outcome": outcome}  # fmt: skip

    rows = [row("UniFilter", 0, 0.9), row("UniFilter", 1, 0.5), row("UniFilter", 2, 0.1)]
    rows += [row("HomFilter", 2, 0.3), row("HomFilter", 0, 0.8), row("OrtFilter", 3, 0.8)]
    _, points = EXPERIMENTS["table-variants"].present(rows).tables
    assert points.entry("HomFilter", "cora").values == pytest.approx((-10.0, 20.0))
    assert points.entry("OrtFilter", "cora") == Entry()  # no split that both have
    assert points.rows == ("HomFilter", "HetFilter", "OrtFilter")


@pytest.mark.parametrize(
    ("name", "along", "first", "second"),
    [("figure-tau", "tau", 0.1, 0.2), ("table-sensitivity", "homophily", 0.2, 0.21)],
)
def test_the_points_of_a_curve_are_of_the_same_splits(name: str, along: str, first: float, second: float) -> None:
    def row(dataset: str, point: float, index: int, test: float) -> Row:
        settings, outcome = {"metric": "accuracy"}, {"test_accuracy": test}
        return {"at": {"dataset": dataset, along: point}, "index": index, "settings": settings, "outcome": outcome}

    other = EXPERIMENTS[name].datasets[0]
    rows = [row("squirrel", first, 0, 0.4), row("squirrel", first, 1, 0.6), row("squirrel", second, 1, 0.7)]
    rows.append(row(other, first, 0, 0.9))  # another curve has its own splits
    tables = EXPERIMENTS[name].present(rows).tables
    assert tables[-1].entry("squirrel", str(first)).values == pytest.approx((60.0,))
    assert tables[-1].entry("squirrel", str(second)).values == pytest.approx((70.0,))
    shown = [table.entry(other, column) for table in tables for column in table.columns]
    assert [entry.values for entry in shown if entry.values] == [pytest.approx((90.0,))]


def test_unifilter_chooses_among_its_own_ends_by_validation_score() -> None:
    def row(index: int, name: str, val: float, test: float, **at: float) -> Row:
        outcome = {"val_accuracy": val, "test_accuracy": test}
        place = {"homophily": 0.3, "filter": name, **at}
        return {"at": place, "index": index, "settings": {"metric": "accuracy"}, "outcome": outcome}

    rows = [
        row(0, "UniFilter", 0.7, 0.6, tau=0.1),
        row(0, "UniFilter", 0.8, 0.5, tau=0.9),
        row(0, "HomFilter", 0.9, 0.7),
        row(0, "OrtFilter", 1.0, 0.4),  # no tau makes it, so UniFilter cannot choose it
        row(1, "UniFilter", 0.8, 0.5, tau=0.1),
        row(1, "HomFilter", 0.7, 0.7),
        row(2, "HomFilter", 0.7, 0.7),  # without UniFilter there is nothing to be below
    ]
    [table] = EXPERIMENTS["figure-homophily"].present(rows).tables
    assert table.entry("HomFilter", "0.3").values == pytest.approx((0.0, -20.0))
    assert table.entry("OrtFilter", "0.3").values == pytest.approx((30.0,))


def test_a_table_of_equal_budgets_shows_the_largest_and_says_who_had_more() -> None:
    def row(method: str, test: float, index: int = 0, **settings: Any) -> Row:
        outcome = {"val_accuracy": test, "test_accuracy": test, "train_nodes": 4, "test_nodes": 2}
        place = {"row": method, "column": "minesweeper"}
        all_settings = {"metric": "accuracy", **settings}
        return {"at": place, "method": method, "index": index, "settings": all_settings, "outcome": outcome}

    experiment = EXPERIMENTS["table-beyond"]
    untuned = [row("unifilter", 0.5, candidates=[{}, {}, {}]), row("mlp", 0.4)]
    shown = experiment.present(untuned)
    assert shown.tables[0].entry("mlp", "minesweeper").values == pytest.approx((40.0,))
    assert shown.notes[0].startswith("Every method has its defaults, none was tuned on these graphs. The defaults of ")
    assert "unifilter are 3 kinds of training, of which the validation nodes choose: that is a larger" in shown.notes[0]

    tuned = [row("unifilter", 0.7, trials=4), row("mlp", 0.6, trials=4), row("mlp", 0.9, trials=2)]
    shown = experiment.present([*untuned, *tuned])
    assert shown.tables[0].entry("mlp", "minesweeper").values == pytest.approx((60.0,))
    assert shown.tables[1].entry("unifilter", "minesweeper").values == pytest.approx((10.0,))
    assert shown.notes[0].startswith("One budget for all: 4 settings for each method")
