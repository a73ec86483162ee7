"""What is imported when: a program waits only for what it uses."""

from __future__ import annotations

import pickle
import subprocess
import sys

import pytest

import unifilter
from unifilter import Graph

HEAVY = {"torch", "numba", "torch_geometric", "sklearn", "scipy", "matplotlib", "pandas"}
OPTIONAL = {"torch_geometric", "optuna", "starlette", "uvicorn", "dask", "distributed"}
COMMAND_LINE = "import runpy; runpy.run_module('unifilter', run_name='__main__')"
# Lists at exit what was imported; on stderr, since a command writes to stdout.
REPORT = "import atexit, sys; atexit.register(lambda: print(*sys.modules, file=sys.stderr)); "


def modules_after(program: str, *arguments: str) -> set[str]:
    command = [sys.executable, "-c", REPORT + program, *arguments]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    return set(result.stderr.split())


@pytest.mark.parametrize(
    ("program", "arguments"),
    [("import unifilter", []), (COMMAND_LINE, ["--help"]), (COMMAND_LINE, ["--version"])],
    ids=["import", "help", "version"],
)
def test_a_start_imports_nothing_heavy(program: str, arguments: list[str]) -> None:
    found = modules_after(program, *arguments)
    assert "unifilter" in found
    assert found & HEAVY == set()


def test_the_first_estimator_imports_no_more_than_it_needs() -> None:
    found = modules_after("from unifilter import UniFilterClassifier; UniFilterClassifier()")
    assert {"torch", "sklearn"} <= found
    # Not pandas: scikit-learn imports it where it is installed.
    assert found & {"numba", "llvmlite", "matplotlib", "networkx", "torch_geometric"} == set()


def test_numba_is_imported_when_a_compiled_kernel_first_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNIFILTER_KERNELS", "numba")
    found = modules_after(
        "import torch; from unifilter import Graph, estimators, factorization, factorize, nn, transforms; "
        "graph = Graph.from_edges(torch.tensor([[0, 1], [1, 2]])); "
        "assert 'numba' not in sys.modules; "
        "factorize(graph, torch.ones(3, 1), 2)"
    )
    assert "numba" in found


def test_nothing_optional_is_imported_before_it_is_used() -> None:
    load = "from unifilter import *; from unifilter.cli import COMMANDS, load_command; [*map(load_command, COMMANDS)]"
    found = modules_after(load)
    assert {"torch", "unifilter.cli.train", "unifilter.runs", "unifilter.experiments"} <= found
    assert found & OPTIONAL == set()


@pytest.mark.parametrize("name", unifilter.__all__)
def test_every_public_name_can_be_imported(name: str) -> None:
    namespace: dict[str, object] = {}
    exec(f"from unifilter import {name}", namespace)
    assert namespace[name] is getattr(unifilter, name)
    assert name in dir(unifilter)


def test_functions_classes_and_packages_are_public() -> None:
    assert {"UniFilterClassifier", "factorize", "nn", "datasets", "__version__"} <= set(unifilter.__all__)
    assert len(unifilter.__all__) == len(set(unifilter.__all__)) >= 40


def test_a_name_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(AttributeError, match="UniFilterClassifyer"):
        unifilter.UniFilterClassifyer  # noqa: B018
    with pytest.raises(ImportError, match="cannot import name 'UniFilterClassifyer'"):
        from unifilter import UniFilterClassifyer  # noqa: F401


def test_pickle_finds_what_was_imported_lazily() -> None:
    assert pickle.loads(pickle.dumps(Graph)) is unifilter.Graph
