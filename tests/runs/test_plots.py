from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.container import BarContainer
from runs.drawn import drawn_figures

from unifilter.runs.plots import plot_histories, plot_weights

PNG = b"\x89PNG\r\n\x1a\n"


def test_pictures_are_drawn_without_touching_pyplot(tmp_path: Path) -> None:
    import matplotlib
    import matplotlib.pyplot as plt

    settings, backend, figures = dict(matplotlib.rcParams), matplotlib.get_backend(), plt.get_fignums()
    plot_weights(np.random.default_rng(0).normal(size=(3, 6)), "a graph", tmp_path / "weights.png")
    history = np.array([[0, 1.0, 1.1, 0.5], [1, 0.1, 0.9, np.nan]])
    plot_histories([history, history[:1]], "macro_f1", "a graph", tmp_path / "history.png")
    for name in ("weights.png", "history.png"):
        content = (tmp_path / name).read_bytes()
        assert content.startswith(PNG)
        assert len(content) > 5000
    assert (dict(matplotlib.rcParams), matplotlib.get_backend(), plt.get_fignums()) == (settings, backend, figures)


def test_a_bar_a_hop_with_its_spread_and_a_dot_a_split(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    figures = drawn_figures(monkeypatch)
    weights = np.array([[1.0, -1.0, 0.0], [3.0, 0.0, 0.5]])
    plot_weights(weights, "two splits", tmp_path / "w.png")
    (axes,), (legend,) = figures[0].axes, figures[0].legends
    assert [bar.get_height() for bar in axes.patches] == [2.0, -0.5, 0.25]
    (bars,) = (found for found in axes.containers if isinstance(found, BarContainer))
    assert bars.errorbar is not None
    (segments,) = bars.errorbar.lines[2]
    spread = [segment[:, 1].tolist() for segment in segments.get_segments()]
    np.testing.assert_allclose(spread, [[1, 3], [-1, 0], [0, 0.5]])
    dots = [line.get_ydata() for line in axes.lines if line.get_marker() == "."]
    np.testing.assert_array_equal(dots, weights)
    assert (axes.get_xlabel(), axes.get_ylabel(), axes.get_title()) == ("hop k", "learned weight", "two splits")
    said = {text.get_text() for text in legend.get_texts()}
    assert said == {"mean ± standard deviation of 2 splits", "one split"}
    assert not legend.get_window_extent().overlaps(axes.get_window_extent())


def test_one_split_has_no_spread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    figures = drawn_figures(monkeypatch)
    plot_weights(np.array([[1.0, -1.0]]), "one", tmp_path / "w.png")
    (axes,), (legend,) = figures[0].axes, figures[0].legends
    assert len(axes.lines) == 1  # the line at zero
    assert [text.get_text() for text in legend.get_texts()] == ["1 split"]


def test_the_best_epoch_of_each_split_is_marked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    figures = drawn_figures(monkeypatch)
    one = np.array([[0, 1.0, 1.1, 0.5], [1, 0.5, 0.9, 0.8], [2, 0.1, 0.7, 0.8]])
    none = np.array([[0, 1.0, 1.1, np.nan]])
    plot_histories([one, none], "macro_f1", "a graph", tmp_path / "h.png")
    plot_histories([one], "accuracy", "a graph", tmp_path / "k.png", best_epochs=[2])
    by_score, kept = figures
    assert [marked(axes) for axes in by_score.axes] == [[(1, 0.5)], [(1, 0.8)]]
    assert [marked(axes) for axes in kept.axes] == [[(2, 0.1)], [(2, 0.8)]]
    assert [axes.get_title() for axes in by_score.axes] == ["Training loss", "Validation macro f1"]
    assert by_score.get_suptitle() == "a graph, 2 splits\n● the highest validation score"
    assert kept.get_suptitle() == "a graph, 1 split\n● the epoch whose weights were kept"


def marked(axes: Axes) -> list[tuple[float, float]]:
    return [tuple(point) for line in axes.lines if line.get_marker() == "o" for point in line.get_xydata()]
