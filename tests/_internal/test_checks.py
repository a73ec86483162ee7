from __future__ import annotations

import hypothesis
import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import strategies as st

from unifilter._internal.checks import (
    as_feature_matrix,
    as_labels,
    as_node_mask,
    check_choice,
    check_edge_weight,
    check_edges,
    check_fraction,
    check_hops,
    consecutive_labels,
)

SOURCE, TARGET = np.array([0, 1, 2]), np.array([1, 2, 3])


def test_choice() -> None:
    check_choice("kind", "a", ("a", "b"))
    with pytest.raises(ValueError, match="kind must be one of 'a', 'b', not 'c'"):
        check_choice("kind", "c", ("a", "b"))


@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan"), float("inf")])
def test_fraction_outside_zero_to_one(value: float) -> None:
    with pytest.raises(ValueError, match=r"tau must lie in \[0, 1\], not .*: pass a value between 0 and 1"):
        check_fraction("tau", value)


def test_fraction() -> None:
    assert [check_fraction("tau", value) for value in (0, 0.3, 1)] == [0.0, 0.3, 1.0]


@pytest.mark.parametrize("hops", [0, -1, 2.5, True])
def test_hops_that_are_none(hops: int) -> None:
    with pytest.raises(ValueError, match=f"hops must be a whole number of at least 1, not {hops}: pass hops=10"):
        check_hops(hops)


def test_hops() -> None:
    assert check_hops(3) == 3
    assert type(check_hops(np.int64(3))) is int  # type: ignore[arg-type]


def test_edges() -> None:
    source, target, num_nodes = check_edges(torch.tensor([[0, 4], [1, 2]], dtype=torch.int32), None)
    assert source.dtype == target.dtype == np.int64
    assert (source.tolist(), target.tolist(), num_nodes) == ([0, 4], [1, 2], 5)
    assert check_edges(np.zeros((2, 0)), 3)[2] == 3


@pytest.mark.parametrize("shape", [(3, 2), (4,), (2, 3, 1)])
def test_edges_of_the_wrong_shape(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"edge_index must have shape \[2, num_edges\], not .*sources in row 0"):
        check_edges(np.zeros(shape, dtype=np.int64), 4)


def test_edges_that_are_not_whole_numbers() -> None:
    with pytest.raises(ValueError, match=r"edge_index must hold whole numbers, not float64: convert it with \.long"):
        check_edges(np.array([[0.0], [1.0]]), 2)


@pytest.mark.parametrize("missing", [9, -1])
def test_edge_to_a_node_that_does_not_exist(missing: int) -> None:
    edges = np.array([[0, 1, missing], [1, missing, 0]])
    with pytest.raises(
        ValueError,
        match=rf"edge 1 \(1 -> {missing}\) points to a node that does not exist: nodes are 0 to 3; "
        r"pass a larger num_nodes or drop the edge \(2 such edges in all\)",
    ):
        check_edges(edges, 4)


@pytest.mark.parametrize("num_nodes", [None, 0])
def test_empty_graph(num_nodes: int | None) -> None:
    with pytest.raises(ValueError, match="the graph is empty: .*pass num_nodes or at least one edge"):
        check_edges(np.zeros((2, 0), dtype=np.int64), num_nodes)


def test_edge_weight() -> None:
    assert check_edge_weight(None, SOURCE, TARGET) is None
    for given, kept in [(torch.int64, np.float32), (torch.float32, np.float32), (torch.float64, np.float64)]:
        weight = check_edge_weight(torch.tensor([1, 2, 3], dtype=given), SOURCE, TARGET)
        assert weight is not None
        assert weight.dtype == kept


def test_edge_weight_of_the_wrong_length() -> None:
    with pytest.raises(ValueError, match=r"edge_weight must have one number per listed edge, shape \[3\], not \[2\]"):
        check_edge_weight(np.ones(2), SOURCE, TARGET)
    with pytest.raises(ValueError, match=r"shape \[3\], not \[3, 1\]"):
        check_edge_weight(np.ones((3, 1)), SOURCE, TARGET)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_edge_weight_that_is_not_finite(value: float) -> None:
    with pytest.raises(
        ValueError,
        match=rf"the weight of edge 1 \(1 -> 2\) is not finite \({value}\): replace it or drop the edge \(1 such",
    ):
        check_edge_weight(np.array([1.0, value, 1.0]), SOURCE, TARGET)


def test_edge_weight_that_is_negative() -> None:
    with pytest.raises(
        ValueError,
        match=r"the weight of edge 1 \(1 -> 2\) is negative \(-1\.0\): P needs non-negative weights; shift, take "
        r"absolute values or drop the edge \(2 such edges in all\)",
    ):
        check_edge_weight(np.array([1.0, -1.0, -2.0]), SOURCE, TARGET)


def test_features_of_every_kind() -> None:
    x = np.array([[1.0, 0.0], [0.0, 2.0], [0.0, 3.0]])
    expected = torch.from_numpy(x)
    for given in (x, expected, np.asfortranarray(x), x[::-1][::-1], x.tolist()):
        matrix = as_feature_matrix(given, 3)
        assert matrix.layout == torch.strided
        assert torch.equal(matrix, expected)
    uncoalesced = torch.sparse_coo_tensor(
        torch.tensor([[0, 1, 2, 2], [0, 1, 1, 1]]), torch.tensor([1.0, 2.0, 1.0, 2.0], dtype=torch.float64), (3, 2)
    )
    duplicated = sp.coo_array(([1.0, 2.0, 1.0, 2.0], ([0, 1, 2, 2], [0, 1, 1, 1])), shape=(3, 2))
    for given in (expected.to_sparse(), expected.to_sparse_csr(), expected.to_sparse_csc(), sp.csr_array(x)):
        matrix = as_feature_matrix(given, 3)
        assert matrix.layout == torch.sparse_csc
        assert torch.equal(matrix.to_dense(), expected)
    for given in (uncoalesced, duplicated):
        assert torch.equal(as_feature_matrix(given, 3).to_dense(), expected)


def test_features_keep_their_precision_and_whole_numbers_become_floats() -> None:
    assert as_feature_matrix(np.ones((2, 1)), 2).dtype == torch.float64
    assert as_feature_matrix(np.ones((2, 1), dtype=np.float32), 2).dtype == torch.float32
    assert as_feature_matrix(torch.ones(2, 1, dtype=torch.int64), 2).dtype == torch.float32
    assert as_feature_matrix(np.ones((2, 1), dtype=bool), 2).dtype == torch.float32
    assert as_feature_matrix(sp.csr_array(np.ones((2, 1), dtype=np.int8)), 2).dtype == torch.float32


def test_one_signal_is_one_column_and_gradients_stay_outside() -> None:
    matrix = as_feature_matrix(torch.ones(3, requires_grad=True), 3)
    assert matrix.shape == (3, 1)
    assert not matrix.requires_grad


def test_features_of_the_wrong_shape() -> None:
    with pytest.raises(ValueError, match=r"features must have shape \[num_nodes, channels\], not \[1, 2, 3\]"):
        as_feature_matrix(torch.ones(1, 2, 3), 2)
    with pytest.raises(
        ValueError, match="features have 3 rows but the graph has 4 nodes: pass one row per node, in the order"
    ):
        as_feature_matrix(torch.ones(3, 2), 4)
    with pytest.raises(ValueError, match="features have no columns: pass at least one feature column"):
        as_feature_matrix(torch.ones(3, 0), 3)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.complex64])
def test_features_of_another_precision(dtype: torch.dtype) -> None:
    with pytest.raises(
        ValueError, match=rf"features must be float32 or float64, not {dtype}: convert them with \.float\(\)"
    ):
        as_feature_matrix(torch.ones(2, 1, dtype=dtype), 2)


@pytest.mark.parametrize("kind", ["dense", "numpy", "coo", "csr", "csc", "scipy"])
@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_features_that_are_not_finite(kind: str, value: float) -> None:
    x = torch.tensor([[1.0, 0.0, 0.0, 2.0], [0.0, 0.0, 3.0, 0.0], [0.0, 4.0, value, 5.0]])
    given = {
        "dense": x,
        "numpy": x.numpy(),
        "coo": x.to_sparse(),
        "csr": x.to_sparse_csr(),
        "csc": x.to_sparse_csc(),
        "scipy": sp.csr_array(x.numpy()),
    }[kind]
    with pytest.raises(
        ValueError, match=rf"feature column 2 of node 2 is not finite \({value}\): impute or drop it .*\(1 such entries"
    ):
        as_feature_matrix(given, 3)


def test_opposite_infinities_and_sums_that_overflow() -> None:
    with pytest.raises(ValueError, match=r"feature column 0 of node 0 is not finite.*\(2 such entries in all\)"):
        as_feature_matrix(torch.tensor([float("inf"), -float("inf")]), 2)
    as_feature_matrix(torch.full((4,), 3e38), 4)  # finite, though their sum is not


def test_labels() -> None:
    for given in (torch.tensor([0, -1, 2]), np.array([0, -1, 2], dtype=np.int8), [0.0, -1.0, 2.0]):
        labels = as_labels(given, 3)
        assert labels.dtype == np.int64
        assert labels.tolist() == [0, -1, 2]


@pytest.mark.parametrize("shape", [(2,), (3, 1), (4,)])
def test_labels_of_the_wrong_length(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"labels must have one class index per node, shape \[3\], not .*use -1"):
        as_labels(np.zeros(shape, dtype=np.int64), 3)


def test_labels_that_are_no_classes() -> None:
    with pytest.raises(ValueError, match="the label of node 1 is -2: classes count from 0, and -1 means unknown"):
        as_labels([0, -2, -3], 3)
    for given in ([0.0, 0.5, 1.0], [0.0, float("nan"), 1.0], ["a", "b", "c"]):
        with pytest.raises(ValueError, match="labels must be whole numbers, not .*: encode classes as 0, 1, 2"):
            as_labels(given, 3)


def test_node_mask() -> None:
    expected = [True, False, True]
    for given in (torch.tensor(expected), np.array(expected), expected, torch.tensor([2, 0]), [0, 2], np.array([2, 0])):
        assert as_node_mask(given, 3, "train").tolist() == expected
    assert as_node_mask([], 3, "train").tolist() == [False] * 3


def test_node_mask_of_the_wrong_kind() -> None:
    with pytest.raises(ValueError, match=r"train is a mask of shape \[2\], but the graph has 3 nodes"):
        as_node_mask(np.array([True, False]), 3, "train")
    with pytest.raises(ValueError, match=r"train is a mask of shape \[3, 10\], but the graph has 3 nodes"):
        as_node_mask(torch.ones(3, 10, dtype=torch.bool), 3, "train")
    with pytest.raises(ValueError, match="train names node 3, which does not exist: nodes are 0 to 2"):
        as_node_mask([0, 3, 4], 3, "train")
    with pytest.raises(ValueError, match="train names node -1, which does not exist"):
        as_node_mask([0, -1], 3, "train")
    for given in (np.array([0.0, 1.0]), np.array([[0, 1]])):
        with pytest.raises(ValueError, match="train must be a bool mask or a list of node indices, not"):
            as_node_mask(given, 3, "train")


def test_num_nodes_must_be_a_count() -> None:
    with pytest.raises(ValueError, match="num_nodes must be a whole number of at least 1, not 3.0: .* or leave it out"):
        check_edges(np.zeros((2, 0), dtype=int), 3.0)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="num_nodes must be a whole number of at least 1, not -1"):
        check_edges(np.zeros((2, 0), dtype=int), -1)


def test_edge_weight_that_is_no_real_number() -> None:
    ends = np.array([0, 1])
    for weight in (np.array([1j, 1]), np.array(["a", "b"])):
        with pytest.raises(ValueError, match=r"edge_weight must hold real numbers, not .*: convert it with .float\(\)"):
            check_edge_weight(weight, ends, ends)


@pytest.mark.parametrize(
    "features", [np.array([["a"], ["b"]]), np.ones((2, 1), dtype=np.longdouble), sp.csr_array(np.eye(2) * 1j)]
)
def test_features_that_are_no_real_numbers(features: object) -> None:
    with pytest.raises(ValueError, match="features must be float32 or float64, not .*: convert them first"):
        as_feature_matrix(features, 2)


def test_read_only_features_are_taken_without_a_warning() -> None:
    features = np.ones((2, 1), dtype=np.float32)
    features.flags.writeable = False
    assert as_feature_matrix(features, 2).tolist() == [[1.0], [1.0]]


def test_zeros_and_ones_are_not_taken_for_node_indices() -> None:
    with pytest.raises(ValueError, match=r"train names node 0 more than once: pass each node once, or mask.bool\(\)"):
        as_node_mask([1, 0, 1, 0], 4, "train")


def test_labels_that_could_not_be_counted() -> None:
    """numpy makes room for every index up to the largest, and writes outside of it where that is 2^63 - 1."""
    message = r"the label of node 1 is {}, but there cannot be more classes than nodes \(3\): number the classes 0, 1"
    for large in (3, 2**63 - 1):
        with pytest.raises(ValueError, match=message.format(large)):
            as_labels(np.array([0, large, -1]), 3)
    assert as_labels([0, 3, -1], 3, num_classes=4).tolist() == [0, 3, -1]
    with pytest.raises(ValueError, match="the label of node 0 is 18446744073709551615: classes count from 0"):
        as_labels(np.array([2**64 - 1, 0], dtype=np.uint64), 2)


@hypothesis.given(st.lists(st.one_of(st.just(-1), st.integers(0, 2**63 - 1)), min_size=1, max_size=20))
def test_labels_of_any_size_become_classes_without_gaps(labels: list[int]) -> None:
    indices, found = consecutive_labels(np.array(labels), len(labels))
    assert [found[index] if index >= 0 else -1 for index in indices] == labels
    assert found.tolist() == sorted({label for label in labels if label >= 0})
