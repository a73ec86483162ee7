"""Ten splits with ten estimates of the homophily, and a sweep over tau: what recomputing costs and what it need not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np

from benchmarks.factorization import HOPS, PUBLISHED, PUBLISHED_REPEATS, TAU
from benchmarks.graphs import Case
from benchmarks.published import coo_propagation, published_basis
from benchmarks.report import Report, print_table, seconds
from benchmarks.timing import interleaved
from unifilter import Factorization, Graph, factorize
from unifilter.factorization import factorization as stage
from unifilter.kernels.lanczos import lanczos

_SPLITS = 10
_TAUS = np.linspace(0, 1, 11)


def run_splits(case: Case, repeats: int, report: Report) -> None:
    """The published side is one basis times ten: it computes everything again for each split."""
    # Estimates from different training sets scatter around the homophily of the whole graph.
    estimates = np.clip(case.homophily + np.linspace(-0.05, 0.05, _SPLITS), 0.01, 1)
    coefficients, bases = f"factorize + {_SPLITS} x coefficients", f"factorize + {_SPLITS} x basis"
    contenders: dict[str, Callable[[], Any]] = {
        coefficients: lambda: _all_coefficients(factorize(case.graph, case.x, HOPS), estimates),
        bases: lambda: _all_bases(factorize(case.graph, case.x, HOPS), estimates),
    }
    known = report.figures.get("factorization", {}).get(case.name)
    if known is None:
        coo = coo_propagation(case.graph)
        contenders[PUBLISHED] = lambda: published_basis(coo, case.x, HOPS, TAU, case.homophily)
    times = interleaved(contenders, repeats, at_most={PUBLISHED: PUBLISHED_REPEATS, bases: 2})
    one_basis = times[PUBLISHED].best if known is None else known["seconds"][PUBLISHED]["best"]
    published = _SPLITS * one_basis

    check = report.at_least(
        f"{case.name}: published / ours, {_SPLITS} splits", published / times[coefficients].best, 120
    )
    print_table(
        f"{_SPLITS} splits on {case}",
        ["contender", "time", "published / it"],
        [
            [f"{PUBLISHED}, one basis x {_SPLITS}", seconds(published), ""],
            [coefficients, seconds(times[coefficients].best), check],
            [bases, seconds(times[bases].best), f"{published / times[bases].best:.2f}x"],
        ],
    )
    _sweep_tau(case, report)
    report.figures.setdefault("splits", {})[case.name] = {
        "published": published,
        **{name: times[name].best for name in (coefficients, bases)},
    }


def _all_coefficients(fact: Factorization, estimates: np.ndarray) -> None:
    for homophily in estimates:
        fact.coefficients("uni", tau=TAU, homophily=float(homophily))


def _all_bases(fact: Factorization, estimates: np.ndarray) -> None:
    for homophily in estimates:
        fact.basis("uni", tau=TAU, homophily=float(homophily))


def _sweep_tau(case: Case, report: Report) -> None:
    with _counted_products() as products:
        fact = factorize(case.graph, case.x, HOPS)
        before = products[0]
        for tau in _TAUS:
            fact.basis("uni", tau=float(tau), homophily=case.homophily)
    swept = report.at_most(f"{case.name}: sparse products of a tau sweep", products[0] - before, 0, unit="")
    print(f"sweep over {len(_TAUS)} values of tau: {swept} sparse products, after {before} of the factorization")


@contextmanager
def _counted_products() -> Iterator[list[int]]:
    """Counts the two places that multiply by the propagation matrix: the kernel (once a hop and once for the last
    diagonal entry) and the graph itself."""
    count = [0]
    kernel, multiply = lanczos, Graph.propagate

    def counted_kernel(rows, x, hops, *options):  # type: ignore[no-untyped-def]
        count[0] += hops + 1
        return kernel(rows, x, hops, *options)

    def counted_multiply(self, x, **options):  # type: ignore[no-untyped-def]
        count[0] += 1
        return multiply(self, x, **options)

    with patch.object(stage, "lanczos", counted_kernel), patch.object(Graph, "propagate", counted_multiply):
        yield count
