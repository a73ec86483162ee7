"""One contract for every basis in the table."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
import torch
from dense import propagation_matrix
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import connected_graph, graphs, signals

from unifilter import Graph, factorize, signal_frequency
from unifilter.bases import BASES, Basis, Chebyshev, Even, Framelet, Jacobi, PolynomialBasis, make_basis, to_chebyshev

PARAMETERS = {"tau": 0.3, "homophily": 0.4, "a": 1.5, "b": -0.25}


def example_of(family: type[Basis]) -> Basis:
    """An instance with values for whatever parameters the family has."""
    names = inspect.signature(family).parameters
    return family(**{name: value for name, value in PARAMETERS.items() if name in names})


EXAMPLES = [
    *(example_of(family) for family in sorted(set(BASES.values()), key=lambda f: f.__name__)),
    Jacobi(a=-1.0, b=0.5),
    Jacobi(a=2.0, b=-0.25, published_sign=True),
    Framelet("linear", levels=3, squared=True),
]
every_basis = pytest.mark.parametrize("basis", EXAMPLES, ids=repr)
every_polynomial_basis = pytest.mark.parametrize(
    "basis", [basis for basis in EXAMPLES if isinstance(basis, PolynomialBasis)], ids=repr
)


def count(basis: Basis, hops: int) -> int:
    if isinstance(basis, Framelet):
        return {"haar": 1, "linear": 2, "quadratic": 3}[basis.filters] * basis.levels + 1
    return hops // 2 + 1 if isinstance(basis, Even) else hops + 1


def dense_filter(basis: Basis, graph: Graph, x: torch.Tensor, hops: int) -> torch.Tensor:
    """Every vector of the basis through all eigenvectors of the graph."""
    values, directions = np.linalg.eigh(np.eye(graph.num_nodes) - propagation_matrix(graph))
    responses = basis.evaluate(torch.from_numpy(values), factorize(graph, x, hops).tridiagonal)
    if responses.ndim == 2:
        responses = responses[:, :, None]
    modes = torch.from_numpy(directions)
    return modes @ (responses * (modes.T @ x))


@every_basis
@pytest.mark.parametrize("hops", [1, 6])
def test_equals_the_dense_eigendecomposition_filter(basis: Basis, hops: int) -> None:
    graph = connected_graph(30)
    x = signals(graph, 3, 0)
    assert torch.allclose(factorize(graph, x, hops).basis(basis), dense_filter(basis, graph, x, hops), atol=1e-9)


@every_polynomial_basis
@settings(max_examples=30)
@given(graph=graphs(), hops=st.integers(1, 8), seed=st.integers(0, 99))
def test_fixed_families_equal_the_dense_filter_on_any_graph(
    basis: PolynomialBasis, graph: Graph, hops: int, seed: int
) -> None:
    x = signals(graph, 3, seed)
    # What is left of an exhausted vector is dropped at four times the square root of the machine precision.
    assert torch.allclose(factorize(graph, x, hops).basis(basis), dense_filter(basis, graph, x, hops), atol=1e-5)


@every_polynomial_basis
def test_fixed_families_equal_their_direct_evaluation(basis: PolynomialBasis) -> None:
    graph = connected_graph(30)
    for dtype, tolerance in ((torch.float32, 1e-4), (torch.float64, 1e-11)):
        x = signals(graph, 3, 0, dtype)
        direct = torch.stack(list(basis.sequence(graph.propagate, x, 7)))
        assert torch.allclose(factorize(graph, x, 7).basis(basis), direct, atol=tolerance)


@every_basis
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("hops", [1, 4, 5])
def test_shapes_and_dtypes(basis: Basis, dtype: torch.dtype, hops: int) -> None:
    graph = connected_graph(20)
    fact = factorize(graph, signals(graph, 2, 0, dtype), hops)
    vectors = count(basis, hops)
    assert fact.coefficients(basis).shape == (vectors, hops + 1, 2)
    assert fact.basis(basis).shape == (vectors, 20, 2)
    assert fact.frequencies(basis).shape == (vectors, 2)
    assert fact.coefficients(basis).dtype == fact.basis(basis).dtype == fact.frequencies(basis).dtype == dtype
    fixed = isinstance(basis, PolynomialBasis)
    values = fact.evaluate(basis, torch.zeros(3, 4, dtype=dtype))
    assert values.shape == ((vectors, 3, 4) if fixed else (vectors, 3, 4, 2))
    assert values.dtype == dtype


@every_basis
def test_single_precision_is_close_to_double(basis: Basis) -> None:
    graph = connected_graph(40)
    x = signals(graph, 3, 0)
    double = factorize(graph, x, 10).basis(basis)
    single = factorize(graph, x.float(), 10).basis(basis).double()
    assert (single - double).abs().max() < 1e-4 * double.abs().max()


@every_basis
def test_the_same_twice(basis: Basis) -> None:
    graph = connected_graph(40)
    x = signals(graph, 3, 0, torch.float32)
    first, second = factorize(graph, x, 8), factorize(graph, x, 8)
    again = eval(repr(basis), {f.__name__: f for f in BASES.values()})
    assert repr(again) == repr(basis)
    assert torch.equal(first.basis(basis), second.basis(again))
    lam = torch.linspace(0, 2, 9)
    assert torch.equal(first.evaluate(basis, lam), second.evaluate(again, lam))


@every_basis
def test_frequencies_are_those_of_the_vectors(basis: Basis) -> None:
    graph = connected_graph(30)
    fact = factorize(graph, signals(graph, 3, 0), 6)
    for level, vectors in zip(fact.frequencies(basis), fact.basis(basis), strict=True):
        assert torch.allclose(level, signal_frequency(graph, vectors), atol=1e-9)


@every_basis
def test_disconnected_graph_with_an_isolated_node_and_a_zero_column(basis: Basis) -> None:
    graph = Graph.from_edges(np.array([[0, 1, 3], [1, 2, 4]]), num_nodes=6)
    x = torch.eye(6, dtype=torch.float64)[:, [0, 3, 5]]
    x[:, 1] = 0
    fact = factorize(graph, x, 5)
    vectors = fact.basis(basis)
    assert torch.isfinite(vectors).all()
    assert (vectors[:, :, 1] == 0).all()
    # Nothing leaves a component.
    assert (vectors[:, 3:, 0] == 0).all()
    assert (vectors[:, :5, 2] == 0).all()
    assert torch.isfinite(fact.evaluate(basis, torch.linspace(0, 2, 7))).all()
    if isinstance(basis, PolynomialBasis):
        # P is zero on an isolated node, which is the frequency 1.
        at_1 = basis.evaluate(torch.ones((), dtype=torch.float64), hops=5)
        assert torch.allclose(vectors[:, 5, 2], at_1, atol=1e-12)


@every_polynomial_basis
def test_evaluate_agrees_with_the_coefficients(basis: PolynomialBasis) -> None:
    graph = connected_graph(30)
    tridiagonal = factorize(graph, signals(graph, 3, 0), 6).tridiagonal
    lam = torch.linspace(0, 2, 11, dtype=torch.float64)
    # The base class goes through the coefficients, the polynomial family does not.
    through_coefficients = Basis.evaluate(basis, lam, tridiagonal)
    assert torch.allclose(through_coefficients, basis.evaluate(lam, hops=6)[:, :, None], atol=1e-8)


@every_polynomial_basis
@pytest.mark.parametrize("hops", [1, 2, 7, 10])
def test_identity_weights_give_the_signal_back(basis: PolynomialBasis, hops: int) -> None:
    if isinstance(basis, Framelet) and not basis.squared:
        with pytest.raises(ValueError, match="reproduces a signal by filtering twice, not as a weighted sum: use sq"):
            basis.identity_weights(hops)
        return
    weights = basis.identity_weights(hops).double()
    assert weights.shape == (count(basis, hops),)
    lam = torch.linspace(0, 2, 23, dtype=torch.float64)
    assert torch.allclose(weights @ basis.evaluate(lam, hops=hops), torch.ones_like(lam), atol=1e-13)
    graph = Graph.from_edges(np.array([[0, 1, 2, 3], [1, 2, 0, 4]]), num_nodes=7)
    x = signals(graph, 3, 1)
    filtered = torch.tensordot(weights, factorize(graph, x, hops).basis(basis), dims=1)
    assert torch.allclose(filtered, x, atol=1e-12)


@every_polynomial_basis
@pytest.mark.parametrize("hops", [1, 2, 5, 10, 30])
def test_change_of_basis_equals_evaluate(basis: PolynomialBasis, hops: int) -> None:
    matrix = to_chebyshev(basis, hops)
    assert matrix.shape == (count(basis, hops), hops + 1)
    assert matrix.dtype == torch.float64
    lam = torch.linspace(0, 2, 41, dtype=torch.float64)
    values = basis.evaluate(lam, hops=hops)
    assert torch.allclose(matrix @ Chebyshev().evaluate(lam, hops=hops), values, atol=1e-13 * float(values.abs().max()))


@every_polynomial_basis
def test_change_of_basis_makes_a_filter_of_as_many_products_as_hops(basis: PolynomialBasis) -> None:
    graph = connected_graph(30)
    x = signals(graph, 2, 0)
    weights = torch.randn(count(basis, 10), dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    products = []

    def multiply(y: torch.Tensor) -> torch.Tensor:
        products.append(y)
        return graph.propagate(y)

    terms = torch.stack(list(Chebyshev().sequence(multiply, x, 10)))
    filtered = torch.tensordot(weights @ to_chebyshev(basis, 10), terms, dims=1)
    assert len(products) == 10
    expected = torch.tensordot(weights, factorize(graph, x, 10).basis(basis), dims=1)
    assert torch.allclose(filtered, expected, atol=1e-10)


def test_every_name_makes_its_basis() -> None:
    for name, family in BASES.items():
        names = inspect.signature(family).parameters
        basis = make_basis(name, **{key: value for key, value in PARAMETERS.items() if key in names})
        assert type(basis) is family
