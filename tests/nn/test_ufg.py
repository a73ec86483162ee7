"""UFG: decompose, weigh, put together again."""

from __future__ import annotations

import torch
from strategies import connected_graph, signals

from unifilter import factorize
from unifilter.bases import Framelet
from unifilter.nn import UFG

GRAPH = connected_graph(30)
X = signals(GRAPH, 6, 0)


def test_it_starts_as_the_identity() -> None:
    model = UFG(6, 3, filters="linear", levels=3).double().eval()
    assert model.filter_weights.shape == (7,)
    torch.testing.assert_close(model(X, GRAPH), model.transform(X), atol=1e-6, rtol=1e-5)


def test_it_analyzes_weighs_and_synthesizes() -> None:
    torch.manual_seed(0)
    model = UFG(6, 3, hops=20, levels=2).double().eval()
    with torch.no_grad():
        model.filter_weights.normal_()
        hidden = model.transform(X)
        framelets = Framelet("haar", levels=2)
        parts = factorize(GRAPH, hidden, 20).basis(framelets)
        again = [factorize(GRAPH, part, 20).basis(framelets)[k] for k, part in enumerate(parts)]
        expected = torch.einsum("k,knc->nc", model.filter_weights, torch.stack(again))
        torch.testing.assert_close(model(X, GRAPH), expected, atol=1e-5, rtol=1e-5)
