"""Framelets: the filter banks of the paper, tight frames, and how close the polynomials are."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from strategies import connected_graph, signals

from unifilter import factorize
from unifilter.bases import Framelet
from unifilter.bases.framelet import FilterBank

LAM = torch.linspace(0, 2, 41, dtype=torch.float64)
BANKS: tuple[FilterBank, ...] = ("haar", "linear", "quadratic")


def test_the_filter_banks_are_those_of_the_paper() -> None:
    xi = math.pi / 2 * LAM
    half = xi / 2
    expected = {
        "haar": [half.cos(), half.sin()],
        "linear": [half.cos() ** 2, xi.sin() / math.sqrt(2), half.sin() ** 2],
        "quadratic": [
            half.cos() ** 3,
            math.sqrt(3) * half.sin() * half.cos() ** 2,
            math.sqrt(3) * half.sin() ** 2 * half.cos(),
            half.sin() ** 3,
        ],
    }
    for filters in BANKS:
        torch.testing.assert_close(Framelet(filters, levels=1).exact(LAM), torch.stack(expected[filters]))


def test_a_level_filters_what_the_one_before_let_through() -> None:
    xi = math.pi / 2 * LAM
    low, first, second, third = Framelet("haar", levels=3).exact(LAM)
    a, b, c = xi / 8, xi / 4, xi / 2  # half the argument on each level
    torch.testing.assert_close(first, a.sin())
    torch.testing.assert_close(second, a.cos() * b.sin())
    torch.testing.assert_close(third, a.cos() * b.cos() * c.sin())
    torch.testing.assert_close(low, a.cos() * b.cos() * c.cos())


@given(filters=st.sampled_from(BANKS), levels=st.integers(1, 5), scale=st.floats(1.01, 4), lam=st.floats(0, 2))
def test_the_frame_is_tight(filters: FilterBank, levels: int, scale: float, lam: float) -> None:
    values = Framelet(filters, levels, scale).exact(torch.tensor(lam, dtype=torch.float64))
    assert float(values.square().sum()) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("filters", BANKS)
def test_the_polynomials_tend_to_the_framelets(filters: FilterBank) -> None:
    basis = Framelet(filters, levels=2)
    errors = [float((basis.evaluate(LAM, hops=hops) - basis.exact(LAM)).abs().max()) for hops in (2, 5, 10, 20)]
    assert errors == sorted(errors, reverse=True)
    assert errors[-2] < 1e-4
    assert errors[-1] < 1e-12
    squares = basis.evaluate(LAM, hops=20).square().sum(dim=0)
    torch.testing.assert_close(squares, torch.ones_like(LAM))


@pytest.mark.parametrize("filters", BANKS)
def test_a_transform_keeps_the_energy_of_every_signal(filters: FilterBank) -> None:
    graph = connected_graph(40)
    x = signals(graph, 3, 0)
    parts = factorize(graph, x, 20).basis(Framelet(filters, levels=2))
    torch.testing.assert_close(parts.square().sum(dim=(0, 1)), x.square().sum(dim=0))


@pytest.mark.parametrize("hops", [1, 2, 7])
def test_squared_framelets_sum_to_one_whatever_the_degree(hops: int) -> None:
    basis = Framelet("haar", levels=3, squared=True)
    torch.testing.assert_close(basis.evaluate(LAM, hops=hops).sum(dim=0), torch.ones_like(LAM))
    torch.testing.assert_close(basis.exact(LAM), Framelet("haar", levels=3).exact(LAM).square())


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"filters": "meyer"}, "filters must be one of 'haar', 'linear', 'quadratic', not 'meyer'"),
        ({"levels": 0}, "levels must be a whole number of at least 1, not 0: the paper uses 1 to 3"),
        ({"scale": 1.0}, "scale must be a number above 1, not 1.0: the usual dilation is 2"),
    ],
)
def test_settings_that_make_no_sense_are_refused(setting: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Framelet(**setting)
