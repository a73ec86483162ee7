from __future__ import annotations

import numpy as np
from explanation.small_models import fitted, small_graph

from unifilter import factorize
from unifilter.explanation import explain


def test_bars_stand_at_the_frequencies_as_in_the_paper() -> None:
    found = explain(fitted())
    figure = found.plot()
    weights, spectrum, response, energy = figure.axes
    bars = weights.containers[-1] if len(weights.containers) == 1 else weights.containers[1]
    centers = [bar.get_x() + bar.get_width() / 2 for bar in bars]
    np.testing.assert_allclose(centers, found.curves.frequency)
    np.testing.assert_allclose([bar.get_height() for bar in bars], found.weight)
    np.testing.assert_array_equal(spectrum.lines[0].get_ydata(), found.curves.frequency)
    np.testing.assert_array_equal(response.lines[-1].get_ydata(), found.curves.response)
    assert response.get_ylim() == found.response_axis
    assert [line.get_label() for line in energy.lines] == ["features", "labels"]
    for axes in (weights, spectrum, response, energy):
        assert axes.get_xlabel()
        assert axes.get_ylabel()


def test_without_weights_and_labels_there_is_still_a_picture() -> None:
    graph, x, _ = small_graph()
    figure = explain(factorize(graph, x, 3), homophily=0.5).plot()
    assert figure.axes[0].get_title() == "Nothing was trained: frequencies alone"
    assert figure.axes[2].get_title() == "Filter response of equal weights"
    assert [line.get_label() for line in figure.axes[3].lines] == ["features"]
