from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from strategies import connected_graph, signals

from unifilter import BasisRows, factorize

PARAMETERS: list[tuple[str, dict[str, Any]]] = [
    ("orthonormal", {}),
    ("homophily", {}),
    ("heterophily", {"homophily": 0.3}),
    ("uni", {"tau": 0.6, "homophily": 0.3}),
    ("even", {}),
]


@pytest.mark.parametrize(("basis", "parameters"), PARAMETERS)
@pytest.mark.parametrize("channels", [3, 40])
def test_rows_are_those_of_the_basis(basis: str, parameters: dict[str, Any], channels: int) -> None:
    graph = connected_graph()
    fact = factorize(graph, signals(graph, channels, 0), hops=5)
    whole = fact.basis(basis, **parameters).transpose(0, 1)
    rows = BasisRows.from_factorization(fact, basis, **parameters)
    assert (len(rows), rows.num_vectors, rows.channels) == whole.shape
    torch.testing.assert_close(rows.dense(), whole)

    nodes = torch.tensor([3, 0, 3, 59])
    per_vector, per_channel = torch.randn(rows.num_vectors), torch.randn(rows.num_vectors, channels)
    torch.testing.assert_close(rows[nodes].dense(), whole[nodes])
    torch.testing.assert_close(
        rows[nodes].combine(per_vector.double()), torch.einsum("nkd,k->nd", whole[nodes], per_vector.double())
    )
    torch.testing.assert_close(
        rows[nodes].combine(per_channel.double()), torch.einsum("nkd,kd->nd", whole[nodes], per_channel.double())
    )


@pytest.mark.parametrize(
    "index",
    [
        torch.tensor([4, 1]),
        np.array([4, 1]),
        [4, 1],
        (torch.arange(6) % 2).bool(),
        [True, False, False, True, False, False],
        slice(1, 5, 2),
        3,
        torch.arange(0),
    ],
)
def test_indexing_picks_rows_as_a_tensor_does_and_copies_nothing(index: Any) -> None:
    tensor = torch.randn(6, 3, 40)
    rows = BasisRows.from_tensor(tensor)
    picked = rows[index]
    expected = tensor[index].reshape(-1, 3, 40)
    assert len(picked) == len(expected)
    assert torch.equal(picked.dense(), expected)
    assert picked.vectors is rows.vectors
    assert rows.vectors.data_ptr() == tensor.data_ptr()


def test_picked_rows_can_be_picked_from() -> None:
    tensor = torch.randn(10, 3, 4)
    rows = BasisRows.from_tensor(tensor)[[9, 5, 1]]
    assert torch.equal(rows[[2, 0]].dense(), tensor[[1, 9]])
    with pytest.raises(IndexError):
        rows[[3]]


def test_dropout_needs_a_seed_to_change() -> None:
    rows, weights = BasisRows.from_tensor(torch.randn(50, 3, 40)), torch.ones(3)
    assert torch.equal(rows.combine(weights, 0.5, seed=1), rows.combine(weights, 0.5, seed=1))
    assert not torch.equal(rows.combine(weights, 0.5, seed=1), rows.combine(weights, 0.5, seed=2))


def test_representation() -> None:
    assert repr(BasisRows.from_tensor(torch.ones(5, 3, 2))) == "BasisRows(rows=5, vectors=3, channels=2)"


def test_rows_that_are_no_basis_are_refused() -> None:
    with pytest.raises(ValueError, match=r"basis rows have shape \[rows, hops \+ 1, channels\], not \[5, 3\]"):
        BasisRows.from_tensor(torch.ones(5, 3))
    with pytest.raises(ValueError, match=r"floating-point numbers, not torch.int64: convert them with .float\(\)"):
        BasisRows.from_tensor(torch.ones(5, 3, 40, dtype=torch.int64))


@pytest.mark.parametrize("shape", [(4,), (2,), (3, 1), (3, 41), (4, 40), (3, 40, 1), ()])
def test_weights_that_do_not_fit_are_refused(shape: tuple[int, ...]) -> None:
    rows = BasisRows.from_tensor(torch.ones(5, 3, 40))
    with pytest.raises(ValueError, match=r"weights must have shape \[3\] or \[3, 40\], not .*: pass one per basis vec"):
        rows.combine(torch.ones(shape))


@pytest.mark.parametrize("shape", [(40,), (2, 41), (40, 2), (1, 2, 40)])
def test_a_layer_that_reads_other_channels_is_refused(shape: tuple[int, ...]) -> None:
    rows = BasisRows.from_tensor(torch.ones(5, 3, 40))
    with pytest.raises(
        ValueError, match=r"linear must have shape \[out, 40\], not .*: pass the weight of a layer that"
    ):
        rows.combine(torch.ones(3), linear=torch.ones(shape))


@pytest.mark.parametrize("which", ["dropout", "result_dropout"])
def test_dropping_everything_is_refused(which: str) -> None:
    rows = BasisRows.from_tensor(torch.ones(5, 3, 40))
    with pytest.raises(ValueError, match=f"^{which} must be below 1, not 1.0: nothing would be left"):
        rows.combine(torch.ones(3), **{which: 1.0})
