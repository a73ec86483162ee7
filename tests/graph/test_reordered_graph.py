"""The order in which rows are stored is seen by nobody: ids stay, and results are the same up to rounding."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from unifilter import Graph, NodeClassifier, UniFilterClassifier, edge_homophily, factorize
from unifilter._internal import array_files
from unifilter.cli import app
from unifilter.datasets import load_dataset
from unifilter.factorization.stored.memory_plan import MemoryPlan
from unifilter.graph import EdgeBlock, convert_edges
from unifilter.graph.node_order import by_degree
from unifilter.graph.reordered_graph import ReorderedGraph
from unifilter.methods import storage
from unifilter.nn.polynomial_filter import filter_signal

pytestmark = pytest.mark.usefixtures("small_process")

FRESH = iter(range(10**9))
ORDERS = ["degree", "rcm"]
RNG = np.random.default_rng(0)
NODES = 300
EDGES = RNG.integers(0, NODES - 5, (2, 900))
LABELS = RNG.integers(0, 3, NODES)
X = (RNG.standard_normal((NODES, 12)) + LABELS[:, None]).astype(np.float32)
TRAIN, VAL = np.arange(0, 160), np.arange(160, 220)


def converted(folder: Path, edges: np.ndarray, order: Any, nodes: int, weights: Any = None, **rules: Any) -> Graph:
    blocks = [EdgeBlock(*edges, weights)]
    return convert_edges(blocks, folder / f"g{next(FRESH)}", num_nodes=nodes, order=order, **rules)


@pytest.fixture
def pair(tmp_path: Path, request: pytest.FixtureRequest) -> tuple[Graph, Graph]:
    """The same graph in the order of its nodes and in another one."""
    return tuple(converted(tmp_path, EDGES, order, NODES) for order in (None, request.param))  # type: ignore[return-value]


@st.composite
def lists(draw: st.DrawFn) -> tuple[int, np.ndarray, np.ndarray | None]:
    nodes = draw(st.integers(9, 14))
    edges = draw(st.lists(st.tuples(*[st.integers(0, nodes - 1)] * 2), max_size=50))
    weight = st.lists(st.sampled_from([0.0, 0.25, 1.0, 3.0]), min_size=len(edges), max_size=len(edges))
    weights = draw(st.none() | weight)
    ends = np.array(edges, dtype=np.int64).reshape(-1, 2).T
    return nodes, ends, None if weights is None else np.array(weights, np.float32)


@given(
    lists(),
    st.sampled_from(["remove", "add", "keep"]),
    st.sampled_from(["sum", "max"]),
    st.sampled_from(ORDERS),
    st.booleans(),
)
@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_all_that_a_graph_says_is_in_the_ids_of_the_user(
    tmp_path: Path, listed: Any, self_loops: Any, duplicates: Any, order: str, several_parts: bool
) -> None:
    nodes, edges, weights = listed
    rules = {"self_loops": self_loops, "duplicates": duplicates}
    plain = Graph.from_edges(edges, nodes, weights, **rules)
    with pytest.MonkeyPatch.context() as patch:
        if several_parts:
            module = sys.modules[convert_edges.__module__]
            patch.setattr(module, "_NODES_PER_BIN", 2)
            patch.setattr(module, "_divide", lambda listed, limit: np.array([0, 3, 5, 8, listed.num_nodes]))
            patch.setattr(module, "_EDGES_AT_ONCE", 4)
        found = converted(tmp_path, edges, order, nodes, weights, **rules)
    assert isinstance(found, ReorderedGraph)
    assert (found.num_nodes, found.num_edges, found.num_entries) == (nodes, plain.num_edges, plain.num_entries)
    assert torch.equal(found.degree, plain.degree)
    assert torch.equal(found.isolated, plain.isolated)
    assert found.edge_facts == plain.edge_facts
    assert {*map(tuple, found.edges()[0].T.tolist())} == {*map(tuple, plain.edges()[0].T.tolist())}
    x = torch.randn(nodes, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(nodes))
    assert torch.allclose(found.propagate(x), plain.propagate(x), atol=1e-12)
    assert torch.allclose(found.propagate(x[:, 0]), plain.propagate(x[:, 0]), atol=1e-12)
    chebyshev = [factorize(graph, x, 3).basis("chebyshev") for graph in (found, plain)]
    assert torch.allclose(*chebyshev, atol=1e-6)
    assert "neighbors" not in vars(found), "nothing so far needs the adjacency in the order of the nodes"
    for name in ("row_start", "neighbors"):
        assert torch.equal(getattr(found, name), getattr(plain, name))
    assert (found.weights is None) == (plain.weights is None)
    assert found.weights is None or torch.equal(found.weights, plain.weights)
    assert torch.equal(found.adjacency().to_dense(), plain.adjacency().to_dense())


@pytest.mark.parametrize("pair", ORDERS, indirect=True)
def test_factorizations_in_memory_and_in_a_store(
    pair: tuple[Graph, Graph], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(MemoryPlan, "width", lambda *_: 5)
    plain, other = pair
    expected = factorize(plain, X, 4).vectors
    sparse = sp.csr_array(np.where(X > 1, X, 0))
    assert torch.allclose(factorize(other, X, 4).vectors, expected, atol=1e-5)
    found = [factorize(graph, sparse, 4).vectors for graph in pair]
    assert torch.allclose(*found, atol=1e-5)
    whole = factorize(other, X, 4, store=tmp_path / "whole", memory_limit="4GB")
    assert torch.allclose(whole.vectors_of(np.arange(NODES)), expected, atol=1e-5)
    some = np.array([3, 7, 250, 299])
    rows = factorize(other, sparse, 4, store=tmp_path / "rows", memory_limit="4GB", nodes=some)
    assert torch.allclose(rows.vectors_of([250, 3]), found[0][:, [250, 3]], atol=1e-5)
    shared = [factorize(graph, X, 4, channels="shared") for graph in pair]
    assert torch.allclose(shared[0].vectors, shared[1].vectors, atol=1e-5)
    assert "neighbors" not in vars(other)


@pytest.mark.parametrize("pair", ORDERS, indirect=True)
def test_a_store_of_another_order_is_of_another_graph(pair: tuple[Graph, Graph], tmp_path: Path) -> None:
    factorize(pair[0], X, 2, store=tmp_path / "s", memory_limit="4GB")
    assert pair[0].checksum != pair[1].checksum
    with pytest.raises(ValueError, match="is a store of another graph"):
        factorize(pair[1], X, 2, store=tmp_path / "s", memory_limit="4GB")


@pytest.mark.parametrize("pair", ORDERS, indirect=True)
@pytest.mark.parametrize("where", ["memory", "vectors", "rows"])
def test_training_and_predictions(
    pair: tuple[Graph, Graph], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    monkeypatch.setenv("UNIFILTER_STORE", str(tmp_path))
    kept: dict[str, Any] = {
        "hops": 3, "epochs": 5, "dropout": 0.0, "basis_dropout": 0.0, "lr": 0.05, "weight_decay": 0.0,
        "batch_norm": False,
    }  # fmt: skip
    limit = None if where == "memory" else "4GB"
    if limit is not None:
        monkeypatch.setattr(storage, "in_memory_bytes", lambda *_: 10**15)
        monkeypatch.setattr(storage, "_SHARE_OF_DISK", 1.0 if where == "vectors" else 0.0)
    plain, other = (
        UniFilterClassifier(**kept).fit(graph, X, LABELS, TRAIN, VAL, memory_limit=limit)
        if limit
        else UniFilterClassifier(**kept).fit(graph, X, LABELS, TRAIN, VAL)
        for graph in pair
    )
    assert other.history_.loss == pytest.approx(plain.history_.loss, rel=1e-4)
    assert np.allclose(other.predict_proba(), plain.predict_proba(), atol=1e-4)
    assert np.allclose(other.predict_proba(graph=pair[1], x=X), other.predict_proba(), atol=1e-4)
    assert "neighbors" not in vars(pair[1])
    other.save(tmp_path / "model")
    loaded = UniFilterClassifier.load(tmp_path / "model")
    assert np.allclose(loaded.predict_proba(graph=pair[0], x=X), other.predict_proba(), atol=1e-4)


@pytest.mark.parametrize("pair", ["degree"], indirect=True)
@pytest.mark.parametrize("method", ["gcn", "bernnet", "h2gcn"])
def test_methods_that_want_the_adjacency(pair: tuple[Graph, Graph], method: str) -> None:
    plain, other = (NodeClassifier(method, epochs=3, dropout=0.0).fit(graph, X, LABELS, TRAIN, VAL) for graph in pair)
    assert np.allclose(other.predict_proba(), plain.predict_proba(), atol=1e-4)


@pytest.mark.parametrize("pair", ORDERS, indirect=True)
def test_gradients_pass_through_the_order(pair: tuple[Graph, Graph]) -> None:
    found = []
    for graph in pair:
        x = torch.from_numpy(X).double().requires_grad_()
        (graph.propagate(x) ** 3).sum().backward()
        first = x.grad
        x.grad = None
        (filter_signal(graph, x, torch.tensor([0.5, 1.0, 0.3])) ** 3).sum().backward()
        found.append((first, x.grad))
    for one, other in zip(*found, strict=True):
        assert torch.allclose(one, other)


@pytest.mark.parametrize("pair", ORDERS, indirect=True)
def test_saved_and_opened_again(pair: tuple[Graph, Graph], tmp_path: Path) -> None:
    plain, other = pair
    other.save(tmp_path / "copy")
    again, passed = Graph.open(tmp_path / "copy"), pickle.loads(pickle.dumps(other))
    for graph in (again, passed):
        assert isinstance(graph, ReorderedGraph)
        assert graph.checksum == other.checksum
        assert torch.equal(graph.node_of_row, other.node_of_row)
        assert edge_homophily(graph, LABELS) == edge_homophily(plain, LABELS)
        assert torch.equal(graph.neighbors, plain.neighbors)
    with_loops = other.with_self_loops("add")
    assert with_loops.checksum == plain.with_self_loops("add").checksum
    assert array_files.read_manifest(tmp_path / "copy" / "graph.json")["format"] == 2


def test_nodes_with_many_edges_come_first(tmp_path: Path) -> None:
    star = np.array([[5, 5, 5, 5, 1], [0, 1, 2, 3, 2]])
    graph = converted(tmp_path, star, "degree", 7)
    assert isinstance(graph, ReorderedGraph)
    assert graph.node_of_row.tolist() == [5, 1, 2, 0, 3, 4, 6]
    assert by_degree(np.array([1, 3, 3])).tolist() == [1, 2, 0]


def test_neighbors_come_close_together(tmp_path: Path) -> None:
    names = np.random.default_rng(0).permutation(200)
    path = names[np.stack([np.arange(199), np.arange(1, 200)])]
    graph = converted(tmp_path, path, "rcm", 200)
    assert isinstance(graph, ReorderedGraph)
    rows = graph.stored
    assert int((rows.row_of_entry - rows.neighbors).abs().max()) == 1


@pytest.mark.parametrize(
    "order", [np.zeros(NODES, np.int64), np.arange(NODES, dtype=np.int32), np.arange(NODES) + 1, np.arange(NODES - 1)]
)
def test_an_order_that_is_none_is_refused(tmp_path: Path, order: np.ndarray) -> None:
    graph = converted(tmp_path, EDGES, "degree", NODES)
    assert graph.folder is not None
    manifest = array_files.read_manifest(graph.folder / "graph.json")
    manifest["files"]["node_of_row.npy"] = array_files.write_array(graph.folder / "node_of_row.npy", order)
    array_files.write_manifest(graph.folder / "graph.json", manifest)
    with pytest.raises(ValueError, match="the order of its rows is not one of the nodes"):
        Graph.open(graph.folder)


@pytest.mark.parametrize(
    ("order", "limit", "message"),
    [
        ("size", "2GB", "order must be one of.*degree.*rcm"),
        ("degree", "1MB", "the order of 300 nodes needs .* raise it, or leave order out"),
        ("rcm", "1MB", "the order of 300 nodes needs"),
    ],
)
def test_orders_that_cannot_be_made(tmp_path: Path, order: Any, limit: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        converted(tmp_path, EDGES, order, NODES, memory_limit=limit)
    assert not list(tmp_path.iterdir())


def test_edges_that_do_not_fit_have_no_cuthill_mckee_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = sys.modules["unifilter.graph.node_order"]
    monkeypatch.setattr(module, "_BYTES_PER_EDGE", 10**10)
    with pytest.raises(ValueError, match=r'order="rcm" of 300 nodes .* edges needs .* raise it, or pass order='):
        converted(tmp_path, EDGES, "rcm", NODES)
    monkeypatch.setattr(module, "_BYTES_PER_EDGE", 1)
    monkeypatch.setattr(module, "_MOST_ENTRIES", 100)
    with pytest.raises(ValueError, match=r'is for fewer than 2\^30 edges: pass order="degree"'):
        converted(tmp_path, EDGES, "rcm", NODES)


def test_messages_name_the_nodes_of_the_user(tmp_path: Path) -> None:
    edges = np.array([[0, 0, 5, 6, 7], [1, 1, 6, 7, 5]])
    weights = np.array([3e38, 3e38, 1, 1, 1], np.float32)
    with pytest.raises(ValueError, match="edge 0 -> 1, which is listed more than once"):
        converted(tmp_path, edges, "rcm", 8, weights)


def test_the_command(tmp_path: Path) -> None:
    np.save(tmp_path / "e.npy", EDGES)
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "y.npy", LABELS)
    files = [str(tmp_path / "e.npy"), "--features", str(tmp_path / "x.npy"), "--labels", str(tmp_path / "y.npy")]
    done = CliRunner().invoke(app, ["data", "convert", *files, "--out", str(tmp_path / "d"), "--order", "degree"])
    assert done.exit_code == 0, done.output
    dataset = load_dataset(tmp_path / "d")
    assert isinstance(dataset.graph, ReorderedGraph)
    assert np.array_equal(dataset.features.numpy(), X)
    assert edge_homophily(dataset.graph, LABELS) == edge_homophily(Graph.from_edges(EDGES, NODES), LABELS)


def test_a_mistake_is_told_in_the_words_of_the_command(tmp_path: Path) -> None:
    np.save(tmp_path / "e.npy", EDGES)
    arguments = ["data", "convert", str(tmp_path / "e.npy"), "--out", str(tmp_path / "d"), "--order", "rcm"]
    done = CliRunner().invoke(app, [*arguments, "--memory-limit", "1MB"])
    assert done.exit_code == 2
    assert "raise it, or leave --order out" in " ".join(done.stderr.split())
