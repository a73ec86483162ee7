"""Each polynomial family against another definition of the same name, and what is special about it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from numpy.polynomial import chebyshev, legendre, polynomial
from scipy.interpolate import BarycentricInterpolator
from scipy.special import binom, eval_jacobi
from scipy.stats import binom as binomial_distribution

from unifilter.bases import (
    Bernstein,
    Chebyshev,
    ChebyshevInterpolation,
    Even,
    Jacobi,
    Legendre,
    Monomial,
    Uni,
    to_chebyshev,
)

LAM = torch.linspace(0, 2, 33, dtype=torch.float64)
MU = 1 - LAM.numpy()
every_degree = pytest.mark.parametrize("hops", [1, 2, 5, 10, 30])


def jacobi_sum(k: int, a: float, b: float) -> np.ndarray:
    """The explicit sum of the Jacobi polynomial of degree k >= 1, which holds for a = -1 and b = -1 too."""
    terms = [
        binom(k + a, k - s) * binom(k + b, s) * ((MU - 1) / 2) ** s * ((MU + 1) / 2) ** (k - s) for s in range(k + 1)
    ]
    return np.sum(terms, axis=0)


@every_degree
def test_monomial_and_even_are_powers(hops: int) -> None:
    powers = polynomial.polyvander(MU, hops).T
    np.testing.assert_allclose(Monomial().evaluate(LAM, hops=hops), powers, atol=1e-13)
    np.testing.assert_allclose(Even().evaluate(LAM, hops=hops), powers[::2], atol=1e-13)


@every_degree
def test_even_does_not_tell_a_frequency_from_its_mirror_image(hops: int) -> None:
    np.testing.assert_allclose(Even().evaluate(LAM, hops=hops), Even().evaluate(2 - LAM, hops=hops), atol=1e-14)


@every_degree
def test_chebyshev_has_the_argument_of_the_paper(hops: int) -> None:
    values = Chebyshev().evaluate(LAM, hops=hops)
    np.testing.assert_allclose(values, chebyshev.chebvander(LAM.numpy() - 1, hops).T, atol=1e-12)
    signs = (-1.0) ** np.arange(hops + 1)[:, None]
    np.testing.assert_allclose(values, signs * chebyshev.chebvander(MU, hops).T, atol=1e-12)


@every_degree
def test_legendre(hops: int) -> None:
    values = Legendre().evaluate(LAM, hops=hops)
    np.testing.assert_allclose(values, legendre.legvander(MU, hops).T, atol=1e-13)
    np.testing.assert_allclose(values, Jacobi(0, 0).evaluate(LAM, hops=hops), atol=1e-13)


@every_degree
@pytest.mark.parametrize(("a", "b"), [(1, 1), (2.0, -0.25), (-0.5, -0.5), (1.5, 0.25), (0.5, 2.0), (-0.9, 0.0)])
def test_jacobi(a: float, b: float, hops: int) -> None:
    expected = np.stack([eval_jacobi(k, a, b, MU) for k in range(hops + 1)])
    np.testing.assert_allclose(Jacobi(a, b).evaluate(LAM, hops=hops), expected, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize(("a", "b"), [(-1.0, 0.5), (0.5, -1.0), (-1.0, 0.0), (0.0, -1.0), (2.0, -0.25)])
def test_jacobi_is_finite_where_one_exponent_is_minus_1(a: float, b: float) -> None:
    values = Jacobi(a, b).evaluate(LAM, hops=10)
    np.testing.assert_allclose(values[1:], np.stack([jacobi_sum(k, a, b) for k in range(1, 11)]), atol=1e-12)
    low, high = values[1:, 0], values[1:, -1]
    assert (low.abs().max() < 1e-13) == (a == -1)
    assert (high.abs().max() < 1e-13) == (b == -1)


def test_jacobi_with_the_sign_of_the_published_code() -> None:
    # By hand, for a = 1, b = 0: theta = 5/3, theta' = 1/9, theta'' = 5/9 at k = 2.
    mu = torch.tensor([1.0, 0.0, -1.0], dtype=torch.float64)
    first = 0.5 + 1.5 * mu
    true = Jacobi(1, 0).evaluate(1 - mu, hops=2)
    published = Jacobi(1, 0, published_sign=True).evaluate(1 - mu, hops=2)
    assert torch.allclose(true[1], first)
    assert torch.allclose(published[1], first)
    assert torch.allclose(true[2], torch.tensor([27, -4.5, 9], dtype=torch.float64) / 9)
    assert torch.allclose(published[2], torch.tensor([23, -5.5, 11], dtype=torch.float64) / 9)
    # The two agree where a = b.
    same = Jacobi(0.7, 0.7, published_sign=True).evaluate(LAM, hops=10)
    assert torch.equal(same, Jacobi(0.7, 0.7).evaluate(LAM, hops=10))


@pytest.mark.parametrize("value", [-1.01, float("nan"), float("inf"), None, "much"])
def test_jacobi_exponents_are_at_least_minus_1(value: Any) -> None:
    with pytest.raises(ValueError, match="a must be a number of at least -1, not .*: pass a=1, b=1"):
        Jacobi(a=value)
    with pytest.raises(ValueError, match="b must be a number of at least -1, not .*: pass a=1, b=1"):
        Jacobi(b=value)


def test_jacobi_exponents_are_not_both_minus_1() -> None:
    with pytest.raises(ValueError, match="a and b cannot both be -1.*raise one of them"):
        Jacobi(a=-1, b=-1)


@every_degree
def test_bernstein_is_the_binomial_distribution(hops: int) -> None:
    """K trials that succeed with probability lam / 2."""
    values = Bernstein().evaluate(LAM, hops=hops)
    expected = binomial_distribution.pmf(np.arange(hops + 1)[:, None], hops, LAM.numpy() / 2)
    np.testing.assert_allclose(values, expected, rtol=1e-10, atol=1e-16)
    assert (values >= 0).all()


def test_bernstein_stays_accurate_at_high_degree_in_single_precision() -> None:
    values = Bernstein().evaluate(LAM.float(), hops=60)
    expected = binomial_distribution.pmf(np.arange(61)[:, None], 60, LAM.numpy() / 2)
    np.testing.assert_allclose(values, expected, atol=1e-6)


@every_degree
def test_interpolation_is_lagranges_at_the_chebyshev_points(hops: int) -> None:
    basis = ChebyshevInterpolation()
    points = basis.points(hops)
    np.testing.assert_allclose(points, 1 + chebyshev.chebpts1(hops + 1), atol=1e-14)
    interpolator = BarycentricInterpolator(points.numpy(), np.eye(hops + 1))
    np.testing.assert_allclose(basis.evaluate(LAM, hops=hops), interpolator(LAM.numpy()).T, atol=1e-12)


@every_degree
def test_interpolation_passes_through_its_values(hops: int) -> None:
    basis = ChebyshevInterpolation()
    points = basis.points(hops)
    values = torch.randn(hops + 1, dtype=torch.float64, generator=torch.Generator().manual_seed(hops))
    assert torch.allclose(values @ basis.evaluate(points, hops=hops), values, atol=1e-12)


def test_whole_numbers_are_eigenvalues_too() -> None:
    for basis in (Monomial(), Chebyshev(), ChebyshevInterpolation(), Bernstein(), Jacobi(), Legendre()):
        whole = basis.evaluate(torch.tensor([0, 1, 2]), hops=3)
        assert torch.equal(whole, basis.evaluate(torch.tensor([0.0, 1.0, 2.0]), hops=3))


@every_degree
def test_change_of_basis_in_closed_form(hops: int) -> None:
    identity = torch.eye(hops + 1, dtype=torch.float64)
    assert torch.allclose(to_chebyshev(Chebyshev(), hops), identity, atol=1e-13)
    # Coefficients in T_j(-P) against numpy's in T_j(P): odd ones change their sign.
    signs = (-1.0) ** np.arange(hops + 1)
    expected = np.zeros((hops + 1, hops + 1))
    for k in range(hops + 1):
        expected[k, : k + 1] = chebyshev.poly2cheb(np.eye(hops + 1)[k])[: k + 1]
    np.testing.assert_allclose(to_chebyshev(Monomial(), hops), expected * signs, atol=1e-13)


def test_what_is_said_about_a_wrong_change_of_basis() -> None:
    for wrong in (Uni(0.3, 0.4), "bernstein", Bernstein):
        with pytest.raises(ValueError, match='only a fixed polynomial family .*make_basis."bernstein"'):
            to_chebyshev(wrong, 3)  # type: ignore[arg-type]
    for wrong_hops in (0, 1.5, None):
        with pytest.raises(ValueError, match="hops must be a whole number of at least 1"):
            to_chebyshev(Bernstein(), wrong_hops)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="hops must be a whole number of at least 1"):
            ChebyshevInterpolation().points(wrong_hops)  # type: ignore[arg-type]
