from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable

import pytest
import torch
from strategies import connected_graph, signals
from torch import Tensor

from unifilter import factorize
from unifilter._internal.checks import without_torch_notices
from unifilter.kernels import backend
from unifilter.kernels.combine_rows import combine_rows
from unifilter.kernels.dropout import drop_rows, dropout
from unifilter.nn.attention import attention
from unifilter.nn.polynomial_filter import filter_signal
from unifilter.nn.sparse_rows import SparseRows

FLOATS = [torch.float32, torch.float64]

# Factorization, training of the classifier, and BernNet's filter forward and backward.
WORK = """
import sys
{prepare}
import torch
from unifilter import Graph, UniFilterClassifier, factorize
from unifilter.bases import Bernstein
from unifilter.nn.decoupled import DecoupledFilter
torch.manual_seed(0)
x = torch.randn(60, 40) + torch.eye(3).repeat(20, 14)[:, :40]
graph = Graph.from_edges(torch.randint(60, (2, 240)))
vectors = factorize(graph, x, 4).vectors
labels = torch.arange(60) % 3
model = UniFilterClassifier(hops=4, tau=0.5, homophily=0.5, dropout=0.4, basis_dropout=0.3, epochs=4)
model.fit(graph, x, labels, train=range(45), val=range(45, 60))
decoupled = DecoupledFilter(40, 3, Bernstein(), torch.ones(5), hops=4, hidden_channels=16)
decoupled(x, graph).square().sum().backward()
gradients = [parameter.grad.abs().sum().item() for parameter in decoupled.parameters()]
found = [name for name in sys.modules if name.startswith("unifilter.kernels.compiled") or name.startswith("numba")]
print(any(sys.modules[name] is not None for name in found))
print(vectors.abs().sum().item(), *model.predict_proba()[:, 0].tolist(), *gradients)
"""


def run(prepare: str, environment: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", WORK.format(prepare=prepare)],
        env={**os.environ, **(environment or {})},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
def test_the_package_works_without_numba_and_gives_the_same_numbers() -> None:
    compiled = run("")
    without = run('sys.modules["numba"] = None')
    unwanted = run("", {backend.ENVIRONMENT_VARIABLE: "torch"})
    assert [one.returncode for one in (compiled, without, unwanted)] == [0, 0, 0], without.stderr
    used, numbers = compiled.stdout.split("\n", 1)
    expected = [float(number) for number in numbers.split()]
    assert used == "True"
    for other in (without, unwanted):
        used, numbers = other.stdout.split("\n", 1)
        assert used == "False"  # neither numba nor a module that needs it was imported
        assert [float(number) for number in numbers.split()] == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize(
    ("prepare", "value", "message"),
    [
        ("", "cuda", "ValueError: UNIFILTER_KERNELS is 'cuda': set it to one of auto, numba, torch, or unset it"),
        ('sys.modules["numba"] = None', "numba", "numba is not installed: pip install numba, or set it to 'torch'"),
    ],
)
def test_a_choice_that_cannot_be_is_refused(prepare: str, value: str, message: str) -> None:
    result = run(prepare, {backend.ENVIRONMENT_VARIABLE: value})
    assert result.returncode != 0
    assert message in result.stderr


def both(monkeypatch: pytest.MonkeyPatch, compute: Callable[[], Tensor | tuple[Tensor, ...]]) -> tuple[object, object]:
    """The same with compiled kernels and in plain torch, from the same state of the generator."""
    results = []
    for compiled in (True, False):
        monkeypatch.setattr(backend, "_numba_chosen", lambda compiled=compiled: compiled)
        torch.manual_seed(5)
        results.append(compute())
    return results[0], results[1]


def check_both(
    monkeypatch: pytest.MonkeyPatch, dtype: torch.dtype, compute: Callable[[], Tensor | tuple[Tensor, ...]]
) -> None:
    tolerance = 200 * torch.finfo(dtype).eps
    torch.testing.assert_close(*both(monkeypatch, compute), atol=tolerance, rtol=tolerance)


@pytest.mark.parametrize("dtype", FLOATS)
def test_factorization_and_basis_are_the_same(dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = connected_graph(80)
    x = signals(graph, 40, 0, dtype)

    def compute() -> tuple[Tensor, ...]:
        fact = factorize(graph, x, 4)
        return fact.vectors, fact.alpha, fact.beta, fact.basis("uni", tau=0.4, homophily=0.3)

    check_both(monkeypatch, dtype, compute)


@pytest.mark.parametrize("dtype", FLOATS)
def test_filters_and_their_gradients_are_the_same(dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = connected_graph(80)
    x = signals(graph, 7, 0, dtype).requires_grad_()
    weights = torch.linspace(0.5, -0.5, 5, dtype=dtype).requires_grad_()

    def compute() -> tuple[Tensor, ...]:
        filtered = filter_signal(graph, x, weights)
        product = graph.propagate(x)
        return filtered, product, *torch.autograd.grad((filtered * product).sum(), (x, weights))

    check_both(monkeypatch, dtype, compute)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("channels", [7, 16, 50])
@pytest.mark.parametrize("with_coefficients", [False, True])
def test_sums_of_basis_vectors_have_the_same_masks_and_gradients(
    dtype: torch.dtype, channels: int, with_coefficients: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    vectors, weights = torch.randn(4, 30, channels, dtype=dtype), torch.randn(4, channels, dtype=dtype).requires_grad_()
    coefficients = torch.randn(4, 4, channels, dtype=dtype) if with_coefficients else None
    linear, nodes = torch.randn(5, channels, dtype=dtype).requires_grad_(), torch.tensor([3, 29, 3, 0, 11])

    def compute() -> tuple[Tensor, ...]:
        plain = combine_rows(vectors, coefficients, weights, nodes, 0.4, 2**62 - 1, 0.3, 12345)
        layer = combine_rows(vectors, coefficients, weights, nodes, 0.4, 7, linear=linear)
        return plain, layer, *torch.autograd.grad((plain.sum(dim=1) + layer.sum(dim=1)).sum(), (weights, linear))

    check_both(monkeypatch, dtype, compute)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_dropout_drops_the_same_to_the_last_bit(dtype: torch.dtype, p: float, monkeypatch: pytest.MonkeyPatch) -> None:
    x = torch.randn(300, 70, dtype=dtype)
    for compute in (lambda: dropout(x, p), lambda: drop_rows(x, p, 2**61 + 3, first_row=1000)):
        compiled, plain = both(monkeypatch, compute)
        assert isinstance(compiled, Tensor)
        assert isinstance(plain, Tensor)
        assert torch.equal(compiled, plain)
        assert float((plain == 0).double().mean()) == pytest.approx(p, abs=0.02)


@pytest.mark.parametrize("dtype", FLOATS)
def test_sparse_rows_and_attention_are_the_same(dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch) -> None:
    dense = torch.randn(40, 60, dtype=dtype) * (torch.rand(40, 60) < 0.2)
    with without_torch_notices():
        rows = SparseRows(dense.to_sparse_csr())
    factor = torch.randn(60, 9, dtype=dtype).requires_grad_()
    queries, keys, values = torch.randn(3, 2, 50, 4, dtype=dtype).requires_grad_()

    def compute() -> tuple[Tensor, ...]:
        product = rows.dropped(0.4, 99) @ factor
        attended = attention(queries, keys, values, 0.3)
        return product, attended, *torch.autograd.grad(product.sum() + attended.sum(), (factor, queries, keys, values))

    check_both(monkeypatch, dtype, compute)
