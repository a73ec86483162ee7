"""Predictions on another graph under a memory limit: the same outputs, some columns at a time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from small_estimator import grown, refit
from typer.testing import CliRunner

from unifilter import NodeClassifier, UniFilterClassifier
from unifilter.cli import app
from unifilter.data import NodeDataset
from unifilter.factorization.stored import filtered
from unifilter.methods import storage


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Blocks of three columns and parts of a few rows, although everything would fit at once."""
    monkeypatch.setenv("UNIFILTER_STORE", str(tmp_path / "scratch"))
    monkeypatch.setattr(filtered, "_WIDEST", 3)
    monkeypatch.setattr(filtered, "CHUNK_BYTES", 1000)
    return tmp_path


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"features": "l2", "self_loops": "add"},
        {"features": "raw", "weights": "channel"},
        {"features": "standard", "batch_norm": True},
        {"tau": "learn", "theta": "learn"},
        {"channels": "shared"},
    ],
    ids=str,
)
def test_the_same_outputs_some_columns_at_a_time(data: NodeDataset, narrow: Path, settings: dict[str, Any]) -> None:
    clf = refit(data, **settings)
    graph, x = grown(data)
    expected = clf.predict_proba(graph=graph, x=x)
    np.testing.assert_allclose(clf.predict_proba(graph=graph, x=x, memory_limit="4GB"), expected, atol=1e-5)
    np.save(narrow / "x.npy", np.asarray(x))
    mapped = np.load(narrow / "x.npy", mmap_mode="r")
    np.testing.assert_allclose(clf.predict_proba(graph=graph, x=mapped, memory_limit="4GB"), expected, atol=1e-5)
    sparse = sp.csr_array(np.where(np.asarray(x) > 1.5, x, 0))
    np.testing.assert_allclose(
        clf.predict_proba(graph=graph, x=sparse, memory_limit="4GB"),
        clf.predict_proba(graph=graph, x=sparse),
        atol=1e-5,
    )
    assert not [path for path in (narrow / "scratch").rglob("*") if path.is_file()]
    clf.save(narrow / "model")
    loaded = UniFilterClassifier.load(narrow / "model")
    assert (loaded.predict(graph=graph, x=x, memory_limit="4GB") == clf.predict(graph=graph, x=x)).all()


def test_the_limit_of_the_fit_holds_for_other_graphs(data: NodeDataset, monkeypatch: pytest.MonkeyPatch) -> None:
    clf = NodeClassifier("unifilter", hops=2, epochs=2, batch_norm=False)
    clf.fit(data.graph, data.features, data.labels, memory_limit="4GB")
    monkeypatch.setattr(type(clf.model_.network), "forward", None)
    graph, x = grown(data)
    assert len(clf.predict(graph=graph, x=x)) == graph.num_nodes
    other = NodeClassifier("sgc", epochs=2).fit(data.graph, data.features, data.labels, memory_limit="4GB")
    assert len(other.predict(graph=graph, x=x)) == graph.num_nodes


def test_what_cannot_be_done_is_refused_before_anything_is_allocated(
    data: NodeDataset, narrow: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clf = refit(data)
    graph, x = grown(data)
    with pytest.raises(ValueError, match="filtering a single feature column on .* memory_limit leaves .* raise it by"):
        clf.predict(graph=graph, x=x, memory_limit="1MB")
    other = NodeClassifier("gcn", epochs=2).fit(data.graph, data.features, data.labels)
    with pytest.raises(ValueError, match=r"memory_limit is for unifilter and its variants, .* not for gcn: leave it"):
        other.predict(graph=graph, x=x, memory_limit="4GB")
    wrong = x.numpy().copy()
    wrong[-1, 2] = np.nan
    with pytest.raises(ValueError, match="the features contain NaN or infinity"):
        clf.predict(graph=graph, x=wrong, memory_limit="4GB")
    with pytest.raises(ValueError, match="feature columns, but the model was trained on"):
        clf.predict(graph=graph, x=wrong[:, :2], memory_limit="4GB")
    with pytest.raises(ValueError, match="memory_limit must be a size"):
        clf.predict(graph=graph, x=x, memory_limit="much")
    monkeypatch.setattr(filtered.shutil, "disk_usage", lambda _: storage.shutil._ntuple_diskusage(1, 1, 0))
    with pytest.raises(ValueError, match="need .* on the disk of .*, which has 0.0 kB: make room, or set UNIFILTER_S"):
        clf.predict(graph=graph, x=x, memory_limit="4GB")


def test_blocks_are_as_wide_as_memory_allows() -> None:
    columns = filtered.feature_columns(np.zeros((1000, 700), np.float32), 1000)
    each = filtered._VECTORS * 4 * 1000
    beside = filtered._BYTES_PER_NODE * 1000
    for room, width in ((1, 1), (15, 15), (17, 16), (50, 48), (10**6, 256)):
        assert filtered._width(columns, beside + room * each) == width


def test_the_command(data: NodeDataset, narrow: Path) -> None:
    clf = refit(data)
    clf.save(narrow / "model.unifilter")
    graph = narrow / "graph.npz"
    np.savez(
        graph,
        node_features=np.asarray(data.features.to_dense()),
        node_labels=data.labels.numpy(),
        edges=data.graph.edges()[0].T,
    )
    found = []
    for name, limit in (("a.csv", ()), ("b.csv", ("--memory-limit", "4GB"))):
        done = CliRunner().invoke(
            app, ["predict", str(narrow / "model.unifilter"), str(graph), "--out", str(narrow / name), *limit]
        )
        assert done.exit_code == 0, done.output
        found.append(np.loadtxt(narrow / name, delimiter=",", skiprows=1))
    np.testing.assert_allclose(*found, atol=1e-4)


MEASURED = """
import sys, threading, time, psutil, numpy as np, torch
from unifilter import Graph, UniFilterClassifier
from unifilter._internal.memory import resident_bytes
limit = int(sys.argv[1])
rng = np.random.default_rng(0)
small = Graph.from_edges(rng.integers(0, 300, (2, 900)), 300)
clf = UniFilterClassifier(hops=4, epochs=1, features="row", batch_norm=False, dropout=0.0, basis_dropout=0.0, lr=0.01,
                          weight_decay=0.0, hidden_channels=8)
clf.fit(small, rng.random((300, 128)).astype(np.float32), rng.integers(0, 2, 300))
nodes = 150_000
graph = Graph.from_edges(rng.integers(0, nodes, (2, 600_000)), nodes)
x = np.load(sys.argv[2], mmap_mode="r")
clf.model_.logits(small, rng.random((300, 128)).astype(np.float32), memory_limit="4GB")
graph.compressed_rows
peak, stop = 0, threading.Event()
def private():
    info = psutil.Process().memory_info()
    return info.rss - info.shared
def watch():
    global peak
    while not stop.is_set():
        peak = max(peak, private())
        time.sleep(0.002)
before = resident_bytes() - private()
thread = threading.Thread(target=watch)
thread.start()
clf.predict(graph=graph, x=x, memory_limit=limit)
stop.set()
thread.join()
print(before + peak)
"""


def test_the_peak_of_memory_stays_below_the_limit(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.random.default_rng(0).random((150_000, 128), dtype=np.float32))
    limit = 800_000_000
    command = [sys.executable, "-c", MEASURED, str(limit), str(tmp_path / "x.npy")]
    peak = int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert limit / 2 < peak < limit
