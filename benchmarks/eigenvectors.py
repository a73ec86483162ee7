"""Hundreds of eigenvectors at one end of a spectrum, against ARPACK and against LAPACK's whole decomposition."""

from __future__ import annotations

import numpy as np
import scipy.linalg
import scipy.sparse as sp
import torch
from scipy.sparse.linalg import eigsh

from benchmarks.graphs import generated
from benchmarks.report import Report, print_table, seconds
from benchmarks.timing import interleaved
from unifilter.factorization.block_eigensolver import largest_pairs

# As many nodes and edges as Cora, and the share of the spectrum that Specformer takes from each end of Pubmed's.
_NODES, _EDGES, _COUNT = 2_708, 5_278, 400
_TARGET = 2.0


def run_eigenvectors(repeats: int, report: Report) -> None:
    case = generated(_NODES, _EDGES, 1)
    root = sp.diags_array(1 / case.graph.root_degree(torch.float64).numpy())
    ones = np.ones(len(case.graph.neighbors))
    adjacency = sp.csr_array((ones, case.graph.neighbors.numpy(), case.graph.row_start.numpy()))
    matrix = sp.csr_array(root @ adjacency @ root)
    start = np.random.default_rng(0).standard_normal(_NODES)
    times = interleaved(
        {
            "ours": lambda: largest_pairs(matrix, _COUNT),
            "ARPACK": lambda: eigsh(matrix, k=_COUNT, which="LA", v0=start),
            "LAPACK": lambda: scipy.linalg.eigh(matrix.toarray(), driver="evd"),
        },
        repeats,
    )
    check = report.at_least(
        f"{_COUNT} of {_NODES:,} eigenvectors: ARPACK / ours", times["ARPACK"].best / times["ours"].best, _TARGET
    )
    report.figures["eigenvectors"] = {name: timing.best for name, timing in times.items()}
    print_table(
        f"The {_COUNT} largest eigenvalues of {case} and their vectors",
        ["ours", "ARPACK", "LAPACK, all", "ARPACK / ours"],
        [[*(seconds(timing.best) for timing in times.values()), check]],
    )
