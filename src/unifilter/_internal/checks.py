"""Checks of user input. Every message names the first offender and the remedy."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor


@contextmanager
def without_torch_notices() -> Iterator[None]:
    """Hide two torch warnings that our users cannot act on: CSR is in beta, and read-only arrays are shared."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse CS[RC] tensor support is in beta", category=UserWarning)
        warnings.filterwarnings("ignore", message="The given NumPy array is not writable", category=UserWarning)
        yield


def check_choice(name: str, value: object, choices: Sequence[str]) -> None:
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, not {value!r}")


def check_fraction(name: str, value: float) -> float:
    """Check that a value is a number in [0, 1]."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = float("nan")
    if not 0.0 <= number <= 1.0:
        raise ValueError(f"{name} must lie in [0, 1], not {value!r}: pass a value between 0 and 1")
    return number


def check_rate(name: str, value: float) -> float:
    """Check a dropout rate, a number in [0, 1)."""
    rate = check_fraction(name, value)
    if rate == 1:
        raise ValueError(f"{name} must be below 1, not {value!r}: nothing would be left")
    return rate


def check_hops(hops: int) -> int:
    return check_count("hops", hops, "pass hops=10 for the paper's setting")


def check_count(name: str, value: int, remedy: str) -> int:
    """Check that a value is an integer of at least 1."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise ValueError(f"{name} must be a whole number of at least 1, not {value!r}: {remedy}")
    return int(value)


def check_device(device: torch.device | str) -> torch.device:
    """Check that torch can compute on a device."""
    try:
        found = torch.device(device)
        torch.empty(0, device=found)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = str(error).splitlines()[0]
        raise ValueError(f"the device {str(device)!r} cannot be used here ({reason}): pass device='cpu'") from None
    return found


def check_edges(edge_index: Tensor | np.ndarray, num_nodes: int | None) -> tuple[np.ndarray, np.ndarray, int]:
    """Sources and targets of the listed edges as int64, and the number of nodes."""
    edges = edge_index.detach().cpu().numpy() if isinstance(edge_index, Tensor) else np.asarray(edge_index)
    if edges.ndim != 2 or edges.shape[0] != 2:
        raise ValueError(
            f"edge_index must have shape [2, num_edges], not {list(edges.shape)}: "
            "put the sources in row 0 and the targets in row 1 (transpose a list of pairs)"
        )
    if edges.size and not np.issubdtype(edges.dtype, np.integer):
        raise ValueError(f"edge_index must hold whole numbers, not {edges.dtype}: convert it with .long()")
    edges = edges.astype(np.int64, copy=False)
    if num_nodes is None:
        num_nodes = int(edges.max()) + 1 if edges.size else 0
    if num_nodes == 0:
        raise ValueError("the graph is empty: it needs at least one node, pass num_nodes or at least one edge")
    num_nodes = check_count("num_nodes", num_nodes, "pass the number of nodes, or leave it out")
    wrong = ((edges < 0) | (edges >= num_nodes)).any(axis=0)
    if wrong.any():
        first = int(wrong.argmax())
        raise ValueError(
            f"edge {first} ({edges[0, first]} -> {edges[1, first]}) points to a node that does not exist: nodes are "
            f"0 to {num_nodes - 1}; pass a larger num_nodes or drop the edge ({int(wrong.sum())} such edges in all)"
        )
    return edges[0], edges[1], num_nodes


def check_edge_weight(
    edge_weight: Tensor | np.ndarray | None, source: np.ndarray, target: np.ndarray
) -> np.ndarray | None:
    """Check edge weights: one finite, non-negative float32 or float64 number per edge."""
    if edge_weight is None:
        return None
    weight = edge_weight.detach().cpu().numpy() if isinstance(edge_weight, Tensor) else np.asarray(edge_weight)
    if weight.shape != source.shape:
        raise ValueError(
            f"edge_weight must have one number per listed edge, shape [{len(source)}], not {list(weight.shape)}: "
            "drop extra dimensions with .flatten(), or pass edge_weight=None"
        )
    if not np.issubdtype(weight.dtype, np.number) or np.iscomplexobj(weight):
        raise ValueError(f"edge_weight must hold real numbers, not {weight.dtype}: convert it with .float()")
    if weight.dtype != np.float64:
        weight = weight.astype(np.float32)
    for wrong, what, remedy in (
        (~np.isfinite(weight), "not finite", "replace it or drop the edge"),
        (weight < 0, "negative", "P needs non-negative weights; shift, take absolute values or drop the edge"),
    ):
        if wrong.any():
            first = int(wrong.argmax())
            raise ValueError(
                f"the weight of edge {first} ({source[first]} -> {target[first]}) is {what} "
                f"({weight[first]}): {remedy} ({int(wrong.sum())} such edges in all)"
            )
    return weight


def as_feature_matrix(x: Any, num_nodes: int, sparse: Literal["csc", "csr"] = "csc") -> Tensor:
    """Features as a finite float32 or float64 tensor ``[num_nodes, channels]``; sparse features stay sparse.

    Args:
        x: Dense or sparse matrix of numpy, scipy or torch.
        num_nodes: Required number of rows.
        sparse: Layout of the result if the features are sparse.
    """
    if sp.issparse(x):
        matrix = _from_scipy(x, sparse)
    elif isinstance(x, Tensor):
        matrix = x.detach()
    else:
        array = np.ascontiguousarray(x)
        try:
            with without_torch_notices():
                matrix = torch.from_numpy(array)
        except TypeError:
            raise ValueError(f"features must be float32 or float64, not {array.dtype}: convert them first") from None
    if matrix.ndim == 1:
        matrix = matrix[:, None]
    if matrix.ndim != 2:
        raise ValueError(f"features must have shape [num_nodes, channels], not {list(matrix.shape)}")
    if matrix.shape[0] != num_nodes:
        raise ValueError(
            f"features have {matrix.shape[0]} rows but the graph has {num_nodes} nodes: pass one row per node, "
            "in the order of the node indices"
        )
    if matrix.shape[1] == 0:
        raise ValueError("features have no columns: pass at least one feature column")
    if matrix.layout != torch.strided:
        with without_torch_notices():
            layout = torch.sparse_csc if sparse == "csc" else torch.sparse_csr
            matrix = matrix if matrix.layout == layout else matrix.to_sparse(layout=layout)
    if not (matrix.is_floating_point() or matrix.is_complex()):
        matrix = matrix.to(torch.get_default_dtype())
    if matrix.dtype not in (torch.float32, torch.float64):
        raise ValueError(f"features must be float32 or float64, not {matrix.dtype}: convert them with .float()")
    _check_finite(matrix)
    return matrix


def _from_scipy(x: Any, sparse: Literal["csc", "csr"]) -> Tensor:
    matrix = sp.csc_array(x) if sparse == "csc" else sp.csr_array(x)
    if matrix.dtype.kind in "biu":
        matrix = matrix.astype(np.float32)
    elif matrix.dtype not in (np.float32, np.float64):
        raise ValueError(f"features must be float32 or float64, not {matrix.dtype}: convert them first")
    make = torch.sparse_csc_tensor if sparse == "csc" else torch.sparse_csr_tensor
    with without_torch_notices():
        return make(
            torch.from_numpy(matrix.indptr.astype(np.int64)),
            torch.from_numpy(matrix.indices.astype(np.int64)),
            torch.from_numpy(matrix.data),
            size=matrix.shape,
            check_invariants=False,
        )


def _check_finite(matrix: Tensor) -> None:
    values = matrix if matrix.layout == torch.strided else matrix.values()
    # One sum finds NaN and infinity without a mask as large as the features.
    if torch.isfinite(values.sum()):
        return
    wrong = ~torch.isfinite(values)
    if not wrong.any():
        return  # the sum overflowed, but every value is finite
    if matrix.layout == torch.strided:
        row, column = (int(i) for i in wrong.nonzero()[0])
        value = matrix[row, column]
    else:
        entry = int(wrong.nonzero()[0])
        by_column = matrix.layout == torch.sparse_csc
        starts = matrix.ccol_indices() if by_column else matrix.crow_indices()
        inner = matrix.row_indices() if by_column else matrix.col_indices()
        outer, other, value = int(torch.searchsorted(starts, entry, right=True)) - 1, int(inner[entry]), values[entry]
        row, column = (other, outer) if by_column else (outer, other)
    raise ValueError(
        f"feature column {column} of node {row} is not finite ({value.item()}): impute or drop it before "
        f"factorizing ({int(wrong.sum())} such entries in all)"
    )


def as_labels(labels: Any, num_nodes: int, num_classes: int = 0) -> np.ndarray:
    """Class indices as int64 ``[num_nodes]``, safe to pass to ``bincount``; -1 means unknown.

    Args:
        labels: Class indices.
        num_nodes: Number of nodes, and the maximum number of classes.
        num_classes: Number of classes if known from elsewhere; it may exceed the number of nodes.
    """
    values = _whole_labels(labels, num_nodes)
    most = max(num_nodes, num_classes)
    wrong = values >= most
    if wrong.any():
        # bincount allocates memory for every index up to the largest.
        first = int(wrong.argmax())
        raise ValueError(
            f"the label of node {first} is {values[first]}, but there cannot be more classes than nodes ({num_nodes}): "
            "number the classes 0, 1, 2, ..., as np.unique(labels, return_inverse=True)[1] does"
        )
    return values


def consecutive_labels(labels: Any, num_nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """Class indices without gaps as int64 ``[num_nodes]``, -1 where unknown; and the sorted original labels.

    Labels are integers from 0, of any size. Only their order matters.
    """
    values = _whole_labels(labels, num_nodes)
    known = values >= 0
    found, index = np.unique(values[known], return_inverse=True)
    indices = np.full(num_nodes, -1, dtype=np.int64)
    indices[known] = index
    return indices, found


def _whole_labels(labels: Any, num_nodes: int) -> np.ndarray:
    values = labels.detach().cpu().numpy() if isinstance(labels, Tensor) else np.asarray(labels)
    if values.shape != (num_nodes,):
        raise ValueError(
            f"labels must have one class index per node, shape [{num_nodes}], not {list(values.shape)}: "
            "use -1 for nodes without a label"
        )
    whole = np.issubdtype(values.dtype, np.integer) or (
        np.issubdtype(values.dtype, np.floating) and bool((np.abs(values) < 2**53).all() and (values % 1 == 0).all())
    )
    if not whole:
        raise ValueError(f"labels must be whole numbers, not {values.dtype}: encode classes as 0, 1, 2, ...")
    given, values = values, values.astype(np.int64)
    wrong = values < -1
    if given.dtype.kind == "u":  # values above the range of int64 became negative
        wrong = values < 0
    if wrong.any():
        first = int(wrong.argmax())
        raise ValueError(f"the label of node {first} is {given[first]}: classes count from 0, and -1 means unknown")
    return values


def as_node_mask(nodes: Any, num_nodes: int, name: str) -> np.ndarray:
    """A boolean mask ``[num_nodes]`` from a mask or from node indices."""
    values = nodes.detach().cpu().numpy() if isinstance(nodes, Tensor) else np.asarray(nodes)
    if values.dtype == bool:
        if values.shape != (num_nodes,):
            raise ValueError(
                f"{name} is a mask of shape {list(values.shape)}, but the graph has {num_nodes} nodes: "
                "pass one value per node (with several splits, select one column)"
            )
        return values
    if values.ndim != 1 or (values.size and not np.issubdtype(values.dtype, np.integer)):
        raise ValueError(
            f"{name} must be a bool mask or a list of node indices, not {values.dtype} of shape {list(values.shape)}"
        )
    wrong = (values < 0) | (values >= num_nodes)
    if wrong.any():
        raise ValueError(
            f"{name} names node {values[wrong.argmax()]}, which does not exist: nodes are 0 to {num_nodes - 1}"
        )
    counts = np.bincount(values.astype(np.int64), minlength=num_nodes)
    if (counts > 1).any():
        raise ValueError(
            f"{name} names node {int((counts > 1).argmax())} more than once: pass each node once, "
            "or mask.bool() if these zeros and ones are meant as a mask"
        )
    return counts > 0
