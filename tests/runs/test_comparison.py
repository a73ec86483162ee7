from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from matplotlib.figure import Figure
from runs.drawn import drawn_figures

from unifilter import Graph
from unifilter.data import NodeDataset
from unifilter.datasets import load_dataset
from unifilter.methods import find_method, problem
from unifilter.runs.comparison import EIGENVALUES, Compared, compare, plot_responses


def test_methods_share_a_factorization_and_show_their_filters(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    factorize = problem.factorize
    monkeypatch.setattr(problem, "factorize", lambda *given: (calls.append(given), factorize(*given))[1])
    karate = load_dataset("karate")
    methods = [find_method(name)(epochs=3) for name in ("unifilter", "homfilter", "mlp")]
    results = compare(methods, karate, [karate.split("stratified", index) for index in range(2)])
    assert len(calls) == 1
    assert [len(result.records) for result in results] == [2, 2, 2]
    unifilter, homfilter, mlp = results
    assert mlp.response is mlp.responses is mlp.scaled_responses is None
    assert unifilter.response is not None
    assert unifilter.response.shape == (201,)
    assert unifilter.responses is not None
    np.testing.assert_allclose(unifilter.responses.mean(axis=0), unifilter.response)
    assert homfilter.response is not None
    # At three epochs the weights are still near 1/11 each: at eigenvalue 0, where every power is 1, they sum to 1.
    assert homfilter.response[0] == pytest.approx(1, abs=0.3)


def low_pass(span: tuple[float, float] = (0.0, 1.0)) -> Compared:
    """Falls to 1 where there is energy, and grows a thousandfold where there is none."""
    response = np.where(EIGENVALUES > 1, 4000 * (EIGENVALUES - 1), 4 - 3 * EIGENVALUES)
    return Compared("low-pass", [], np.stack([response, -2 * response]), span)


def test_a_response_is_scaled_by_what_lies_inside_the_span() -> None:
    scaled = low_pass().scaled_responses
    assert scaled is not None
    # Each split by its own, whatever its sign.
    np.testing.assert_allclose(scaled[:, 0], [1, -1])
    np.testing.assert_allclose(scaled[:, 100], [0.25, -0.25])
    np.testing.assert_array_equal(Compared("zero", [], np.zeros((1, 201))).scaled_responses, np.zeros((1, 201)))


def test_the_picture_shows_where_the_energy_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    figures = drawn_figures(monkeypatch)
    flat = Compared("flat", [], np.ones((2, 201)), (0.1, 0.9))
    assert plot_responses([low_pass(), flat], "a graph", tmp_path / "p.png")
    (axes,) = figures[0].axes
    assert axes.get_ylim() == pytest.approx((-1.12, 1.12))
    assert "largest\nabsolute value in the white part" in axes.get_ylabel()
    # White is what any of the methods has energy at.
    (shaded,) = axes.patches
    assert shaded.get_extents().transformed(axes.transData.inverted()).bounds[::2] == pytest.approx((1, 1))
    # A curve and a band for each method.
    assert [line.get_label() for line in axes.lines[1:]] == ["low-pass", "flat"]
    assert len(axes.collections) == 2
    assert figures[0].legends[0].get_title().get_text() == "mean, lowest and\nhighest of 2 splits"
    assert_legend_is_outside(figures[0])


def test_one_split_has_no_band(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    figures = drawn_figures(monkeypatch)
    assert plot_responses([Compared("zero", [], np.zeros((1, 201)))], "zero", tmp_path / "p.png")
    assert not figures[0].axes[0].collections
    # With energy everywhere nothing is shaded.
    assert not figures[0].axes[0].patches
    assert [text.get_text() for text in figures[0].legends[0].get_texts()] == ["zero"]
    assert (tmp_path / "p.png").exists()
    assert not plot_responses([Compared("none", [], None)], "none", tmp_path / "q.png")
    assert not (tmp_path / "q.png").exists()


def assert_legend_is_outside(figure: Figure) -> None:
    (legend,) = figure.legends
    assert not legend.get_window_extent().overlaps(figure.axes[0].get_window_extent())


@pytest.mark.parametrize("name", ["homfilter", "gprgnn"])
def test_the_span_is_that_of_the_features(name: str) -> None:
    """On an edge, equal values are at eigenvalue 0 and opposite ones at 2: all energy here is at 0."""
    edges = torch.arange(20).reshape(2, 10)
    features = torch.rand(10, 300, generator=torch.Generator().manual_seed(0))
    dataset = NodeDataset("pairs", Graph.from_edges(edges), features.repeat(2, 1), torch.arange(20) % 2)
    (found,) = compare([find_method(name)(epochs=2)], dataset, [dataset.split("stratified", 0)])
    assert found.span[0] == 0
    assert found.span[1] < 0.1


def test_without_a_signal_the_span_is_everything() -> None:
    dataset = NodeDataset(
        "zeros", Graph.from_edges(torch.arange(20).reshape(2, 10)), torch.zeros(20, 2), torch.arange(20) % 2
    )
    (found,) = compare([find_method("gprgnn")(epochs=2)], dataset, [dataset.split("stratified", 0)])
    assert found.span == (0.0, 2.0)


def test_on_digits_a_low_pass_filter_looks_like_one() -> None:
    digits = load_dataset("digits")
    settings = {"epochs": 5, "batch_norm": True, "dropout": 0.0, "basis_dropout": 0.0, "lr": 0.01, "weight_decay": 0.0}
    (found,) = compare([find_method("unifilter")(**settings)], digits, [digits.split("stratified", 0)])
    assert found.scaled_responses is not None
    (response,) = found.scaled_responses
    assert found.span == (0.0, pytest.approx(4 / 3))
    assert response[0] == pytest.approx(1)
    assert (np.abs(response[(EIGENVALUES > 0.5) & (EIGENVALUES < 1.3)]) < 0.3).all()
