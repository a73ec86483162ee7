"""All measurements in one run: ``python -m benchmarks --help``."""

from __future__ import annotations

import argparse
import json
import os
import warnings
from dataclasses import asdict
from pathlib import Path

from benchmarks.all_methods import run_all_methods
from benchmarks.eigenvectors import run_eigenvectors
from benchmarks.factorization import run_factorization, warm_up
from benchmarks.graphs import ALL, cases
from benchmarks.growth import run_growth
from benchmarks.machine import measure_machine
from benchmarks.memory import run_memory
from benchmarks.message_passing import run_message_passing
from benchmarks.polynomial_models import run_polynomial_models
from benchmarks.portfolio import run_portfolio
from benchmarks.report import Report
from benchmarks.reproduce import run_reproduce
from benchmarks.shared import run_shared
from benchmarks.specformer import run_specformer
from benchmarks.splits import run_splits
from benchmarks.training import TRAINING_GRAPHS, run_training

_SECTIONS = (
    "factorization",
    "splits",
    "growth",
    "memory",
    "training",
    "shared",
    "polynomial_models",
    "message_passing",
    "all_methods",
    "eigenvectors",
    "specformer",
    "portfolio",
    "reproduce",
)
# Graphs whose basis is large beside everything else a process holds.
_MEMORY_GRAPHS = ("squirrel", "arxiv-size")


def main() -> None:
    options = _options()
    warnings.filterwarnings("ignore", message="Sparse (CSR tensor support|invariant checks)", category=UserWarning)
    sections = (options.only,) if options.only else _SECTIONS
    report = Report()
    warm_up()
    machine = measure_machine(options.repeats)
    print(machine)
    report.figures["machine"] = machine.figures()
    if set(sections) & {"factorization", "splits", "memory", "training"}:
        for case in cases(options.graphs):
            if "factorization" in sections:
                run_factorization(case, machine, options.repeats, report)
            if "splits" in sections:
                run_splits(case, options.repeats, report)
            if "memory" in sections and case.name in _MEMORY_GRAPHS:
                run_memory(case, report)
            if "training" in sections and case.name in TRAINING_GRAPHS:
                run_training(case, machine, options.repeats, report)
    if "growth" in sections:
        run_growth(options.repeats, report)
    if "shared" in sections:
        run_shared(options.repeats, report)
    if "polynomial_models" in sections:
        run_polynomial_models(options.repeats, report)
    if "message_passing" in sections:
        run_message_passing(options.repeats, report)
    if "all_methods" in sections:
        run_all_methods(report)
    if "eigenvectors" in sections:
        run_eigenvectors(options.repeats, report)
    if "specformer" in sections:
        run_specformer(options.repeats, report)
    if "portfolio" in sections:
        run_portfolio(report, real=bool(os.environ.get("UNIFILTER_DATA")))
    if "reproduce" in sections:
        run_reproduce(report)
    report.summary()
    if options.out:
        targets = [{**asdict(target), "met": target.met} for target in report.targets]
        options.out.write_text(json.dumps({**report.figures, "targets": targets}, indent=1) + "\n")
        print(f"figures written to {options.out}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--graphs", type=_graph_names, default=list(ALL), help=f"any of {','.join(ALL)}")
    parser.add_argument("--repeats", type=_positive, default=5, help="runs of each contender, the best counts (5)")
    parser.add_argument("--out", type=Path, help="write all figures to this JSON file")
    parser.add_argument("--only", choices=_SECTIONS, help="one section instead of all")
    return parser.parse_args()


def _graph_names(text: str) -> list[str]:
    names = [name for name in text.split(",") if name]
    if unknown := [name for name in names if name not in ALL]:
        raise argparse.ArgumentTypeError(f"no graph named {unknown[0]!r}, there are {', '.join(ALL)}")
    return names


def _positive(text: str) -> int:
    if (number := int(text)) < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, not {number}")
    return number


if __name__ == "__main__":
    main()
