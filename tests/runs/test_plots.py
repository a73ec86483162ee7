from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

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


def test_a_bar_a_hop_and_a_dot_a_split(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from matplotlib.figure import Figure

    drawn: list[Figure] = []
    monkeypatch.setattr(Figure, "savefig", lambda self, *_, **__: drawn.append(self))
    weights = np.array([[1.0, -1.0, 0.0], [3.0, 0.0, 0.5]])
    plot_weights(weights, "two splits", tmp_path / "unused.png")
    (axes,) = drawn[0].axes
    assert [bar.get_height() for bar in axes.patches] == [2.0, -0.5, 0.25]
    dots = [line.get_ydata() for line in axes.lines[1:]]  # after the line at zero
    np.testing.assert_array_equal(dots, weights)
    assert (axes.get_xlabel(), axes.get_ylabel(), axes.get_title()) == ("hop k", "learned weight", "two splits")
    assert {text.get_text() for text in axes.get_legend().get_texts()} == {"mean over the splits", "one split"}
