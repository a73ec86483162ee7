"""A store holds what the factorization in memory has, whatever happens to the process that writes it."""

from __future__ import annotations

import errno
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from processes import killed_at

from unifilter import Graph, factorize
from unifilter._internal import array_files
from unifilter._internal.locks import folder_lock
from unifilter.factorization import StoredFactorization
from unifilter.factorization.stored import block as block_module
from unifilter.factorization.stored import build, filtered, memory_plan
from unifilter.factorization.stored.memory_plan import MemoryPlan
from unifilter.factorization.stored.row_cache import RowCache

RNG = np.random.default_rng(0)
NODES, CHANNELS, HOPS = 400, 75, 6
GRAPH = Graph.from_edges(RNG.integers(0, NODES - 3, (2, 1500)), NODES)
X = RNG.standard_normal((NODES, CHANNELS)).astype(np.float32)
X[:, 40] = 0
X[:, 41] = 0
X[5, 41] = 1  # on one node
X[:, 50] = np.arange(NODES) == NODES - 1  # on an isolated one
WHOLE = factorize(GRAPH, X, HOPS)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of 32 columns, and rows read in several parts, although everything would fit at once."""
    monkeypatch.setattr(MemoryPlan, "width", lambda self, limit, channels: min(32, channels))
    monkeypatch.setattr(sys.modules[StoredFactorization.__module__], "_ROWS_AT_ONCE", 37)


def stored(folder: Path, x: Any = X, **options: Any) -> StoredFactorization:
    return factorize(GRAPH, x, HOPS, store=folder, **options)


def same(fact: StoredFactorization, nodes: Any = None) -> bool:
    nodes = torch.arange(NODES) if nodes is None else torch.as_tensor(nodes)
    small = all(
        torch.equal(getattr(fact, name), getattr(WHOLE, name)) for name in ("alpha", "beta", "norm", "dimension")
    )
    return small and torch.equal(fact.vectors_of(nodes), WHOLE.vectors[:, nodes])


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("form", ["array", "tensor", "file", "mapped", "csr", "csc"])
def test_every_form_of_features_gives_the_numbers_of_memory(tmp_path: Path, form: str) -> None:
    np.save(tmp_path / "x.npy", X)
    x = {
        "array": X,
        "tensor": torch.from_numpy(X),
        "file": tmp_path / "x.npy",
        "mapped": np.load(tmp_path / "x.npy", mmap_mode="r"),
        "csr": sp.csr_array(X),
        "csc": sp.csc_array(X),
    }[form]
    fact = stored(tmp_path / "store", x)
    assert same(fact)
    assert same(StoredFactorization.open(tmp_path / "store"))
    assert fact.storage_error == 0
    few = [7, 3, 399, 120, 3]
    assert torch.equal(fact.vectors_of(few), WHOLE.vectors[:, few])


def test_it_answers_as_the_factorization_in_memory_does(tmp_path: Path) -> None:
    fact = stored(tmp_path / "store")
    assert torch.equal(
        fact.frequencies("uni", tau=0.3, homophily=0.4), WHOLE.frequencies("uni", tau=0.3, homophily=0.4)
    )
    assert torch.equal(fact.coefficients("chebyshev"), WHOLE.coefficients("chebyshev"))
    lam = torch.linspace(0, 2, 5)
    assert torch.equal(fact.evaluate("legendre", lam), WHOLE.evaluate("legendre", lam))
    found, known = fact.diagnostics(), WHOLE.diagnostics()
    assert torch.allclose(found.orthogonality_loss, known.orthogonality_loss, atol=1e-6)
    assert torch.allclose(found.angle_error, known.angle_error, atol=1e-6)
    assert found.broken_down.tolist() == known.broken_down.tolist()
    assert (fact.hops, fact.channels, fact.num_nodes) == (HOPS, CHANNELS, NODES)
    shorter = fact.truncate(4)
    assert torch.equal(shorter.vectors_of([1, 2]), WHOLE.truncate(4).vectors[:, [1, 2]])
    assert torch.equal(shorter.beta, WHOLE.truncate(4).beta)


def test_a_mapped_graph_gives_the_same_bytes(tmp_path: Path) -> None:
    GRAPH.save(tmp_path / "graph")
    stored(tmp_path / "one")
    factorize(Graph.open(tmp_path / "graph"), X, HOPS, store=tmp_path / "other")
    assert contents(tmp_path / "one") == contents(tmp_path / "other")


def test_only_the_rows_of_some_nodes_are_kept(tmp_path: Path) -> None:
    mask = RNG.random(NODES) < 0.2
    fact = stored(tmp_path / "store", nodes=mask)
    nodes = np.flatnonzero(mask)
    assert same(fact, nodes[::-1].copy())
    assert torch.equal(fact.truncate(3).vectors_of(nodes), WHOLE.vectors[:4, nodes])
    assert same(StoredFactorization.open(tmp_path / "store"), nodes)
    other = int(np.flatnonzero(~mask)[0])
    with pytest.raises(ValueError, match=f"does not hold the rows of node {other}: factorize again"):
        fact.vectors_of([other])
    with pytest.raises(ValueError, match="there is no node 400"):
        fact.vectors_of([400])
    with pytest.raises(ValueError, match="inner products need all"):
        fact.diagnostics()
    with pytest.raises(ValueError, match="a store of other nodes"):
        stored(tmp_path / "store")


@pytest.mark.parametrize("nodes", [None, np.arange(0, NODES, 3)])
def test_half_precision_says_what_it_lost(tmp_path: Path, nodes: Any) -> None:
    fact = stored(tmp_path / "store", storage="float16", nodes=nodes)
    chosen = torch.arange(NODES) if nodes is None else torch.from_numpy(nodes)
    lost = (fact.vectors_of(chosen) - WHOLE.vectors[:, chosen]).double().norm(dim=1)
    assert fact.storage_error == pytest.approx(float(lost.max()), rel=1e-3)
    # Half precision has eleven binary digits.
    assert 1e-5 < fact.storage_error < 2.0**-11
    full = sum(path.stat().st_size for path in (tmp_path / "store").glob("block*.npy"))
    assert full < 2.2 * len(chosen) * (HOPS + 1) * CHANNELS


def test_entries_of_long_vectors_are_not_lost_in_half_precision(tmp_path: Path) -> None:
    nodes = 200_000  # entries of 1 / sqrt(n) are 0.002, and small ones below what float16 holds exactly
    ring = Graph.from_edges(np.stack([np.arange(nodes), np.roll(np.arange(nodes), 1)]), nodes)
    x = np.random.default_rng(1).standard_normal((nodes, 1)).astype(np.float32)
    fact = factorize(ring, x, 2, store=tmp_path / "store", storage="float16")
    assert fact.storage_error < 2.0**-11


def test_double_precision(tmp_path: Path) -> None:
    fact = factorize(GRAPH, X.astype(np.float64), HOPS, store=tmp_path / "store")
    assert torch.equal(fact.vectors_of(range(NODES)), factorize(GRAPH, X.astype(np.float64), HOPS).vectors)
    with pytest.raises(ValueError, match="not stored as float16"):
        factorize(GRAPH, X.astype(np.float64), HOPS, store=tmp_path / "other", storage="float16")


@pytest.mark.parametrize(
    ("owner", "method", "number"),
    [
        (array_files.ArrayWriter, "write", 4),  # in the middle of a block
        (array_files.ArrayWriter, "finish", 2),
        (block_module, "write_manifest", 1),
        (build, "write_store_manifest", 1),
        (array_files.os, "fstat", 1),
        (array_files.json, "dumps", 3),  # in the middle of a manifest
    ],
)
def test_a_killed_run_is_taken_up_and_ends_with_the_same_bytes(
    tmp_path: Path, owner: Any, method: str, number: int
) -> None:
    stored(tmp_path / "whole")
    cut = tmp_path / "cut"
    if method == "fstat":
        stored(cut)
        (cut / "block-00001.json").unlink()
    assert killed_at(owner, method, number, lambda: stored(cut)) == signal.SIGKILL
    if method != "fstat":
        with pytest.raises((ValueError, FileNotFoundError), match=r"is not complete|is not a store"):
            StoredFactorization.open(cut)
    told: list[tuple[int, int]] = []
    assert same(stored(cut, on_progress=lambda *done: told.append(done)))
    assert told[-1] == (3, 3)
    assert contents(cut) == contents(tmp_path / "whole")


def test_finished_blocks_are_not_computed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stored(tmp_path / "store")
    (tmp_path / "store" / "block-00001.json").unlink()
    computed = []
    before = build.compute_block
    monkeypatch.setattr(build, "compute_block", lambda *a: computed.append(a[3]) or before(*a))
    stored(tmp_path / "store")
    assert computed == [(32, 64)]
    stored(tmp_path / "store")
    assert computed == [(32, 64)]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"graph": Graph.from_edges(np.array([[0], [1]]), NODES)}, "a store of another graph"),
        ({"x": X + 1}, "a store of other features"),
        ({"x": X[:, :60]}, "a store of other features"),
        ({"x": X.astype(np.float64)}, "a store of other features"),
        ({"hops": 3}, r"a store of another number of hops \(hops 6, not 3\)"),
        ({"storage": "float16"}, "a store of another kind of storage"),
        ({"reorthogonalize": False}, "a store of another reorthogonalize"),
        ({"nodes": [1, 2]}, "a store of other nodes"),
    ],
)
def test_a_store_of_something_else_is_refused(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    stored(tmp_path / "store")
    before = contents(tmp_path / "store")
    options: dict[str, Any] = {"graph": GRAPH, "x": X, "hops": HOPS, **change}
    with pytest.raises(ValueError, match=message):
        factorize(**options, store=tmp_path / "store")
    assert contents(tmp_path / "store") == before


def test_a_store_of_another_version_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stored(tmp_path / "store")
    manifest = array_files.read_manifest(tmp_path / "store" / "store.json")
    key = {**manifest["key"], "version": "0.0.1"}
    array_files.write_manifest(tmp_path / "store" / "store.json", {**manifest, "key": key})
    with pytest.raises(ValueError, match=r"another version of this package \(version 0.0.1"):
        stored(tmp_path / "store")
    array_files.write_manifest(tmp_path / "store" / "store.json", {**manifest, "format": 99})
    with pytest.raises(ValueError, match="has the format 99.*factorize again"):
        StoredFactorization.open(tmp_path / "store")


@pytest.mark.parametrize("damage", ["truncate", "flip", "delete", "manifest"])
def test_a_damaged_block_is_found_and_nothing_else_is_lost(tmp_path: Path, damage: str) -> None:
    stored(tmp_path / "store")
    path = tmp_path / "store" / ("block-00001.json" if damage == "manifest" else "block-00001.npy")
    content = bytearray(path.read_bytes())
    if damage == "delete":
        path.unlink()
    else:
        content[-500] ^= 1
        path.write_bytes(content[:-100] if damage == "truncate" else content)
    with pytest.raises(ValueError, match="block-00001"):
        StoredFactorization.open(tmp_path / "store")
    with pytest.raises(ValueError, match="block-00001.*All other blocks can stay: delete .*block-00001.json"):
        stored(tmp_path / "store")
    (tmp_path / "store" / "block-00001.json").unlink()
    assert same(stored(tmp_path / "store"))


def test_a_full_disk_is_told_and_the_next_run_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before, calls = array_files.ArrayWriter.write, []

    def full(self: Any, part: Any) -> None:
        calls.append(1)
        if len(calls) > HOPS + 3:
            raise OSError(errno.ENOSPC, "No space left on device")
        before(self, part)

    with monkeypatch.context() as patch:
        patch.setattr(array_files.ArrayWriter, "write", full)
        with pytest.raises(ValueError, match="is full .*what was finished is kept"):
            stored(tmp_path / "store")
    names = sorted(os.listdir(tmp_path / "store"))
    assert names == ["block-00000.json", "block-00000.npy", "store.json"]
    told: list[tuple[int, int]] = []
    assert same(stored(tmp_path / "store", on_progress=lambda *done: told.append(done)))
    assert told == [(1, 3), (2, 3), (3, 3)]


def test_a_limit_on_the_size_of_files_is_a_full_disk(tmp_path: Path) -> None:
    def work() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
        try:
            stored(tmp_path / "store")
        except ValueError as error:
            (tmp_path / "said").write_text(str(error))

    child = os.fork()
    if child == 0:
        try:
            work()
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert "is full (File too large): make room" in (tmp_path / "said").read_text()
    assert same(stored(tmp_path / "store"))


def test_what_the_disk_has_no_room_for_is_refused_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build.shutil, "disk_usage", lambda _: os.statvfs_result and type("Usage", (), {"free": 1000}))
    with pytest.raises(ValueError, match=r"needs 840.0 kB more on the disk of .*1.0 kB.*storage=\"float16\""):
        stored(tmp_path / "store")


def test_two_processes_do_not_write_one_store(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    with folder_lock(tmp_path / "store"), pytest.raises(ValueError, match="another process is writing"):
        stored(tmp_path / "store")
    assert same(stored(tmp_path / "store"))


def test_a_run_on_a_store_leaves_the_predictions_of_another_process_alone(tmp_path: Path) -> None:
    fact = stored(tmp_path / "store", nodes=[1, 2])
    weights = torch.from_numpy(RNG.standard_normal((HOPS + 1, CHANNELS)).astype(np.float32))
    before, calls = filtered.compute_block, []

    def and_again(*arguments: Any) -> Any:
        calls.append(1)
        stored(tmp_path / "store", nodes=[1, 2])
        return before(*arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(filtered, "compute_block", and_again)
        found = torch.cat(list(filtered.filtered_rows(fact, GRAPH, X, weights)))
    assert len(calls) == 3
    assert torch.allclose(found, torch.einsum("knc,kc->nc", WHOLE.vectors, weights), atol=1e-5)


@pytest.mark.parametrize("what", ["rows", "predictions"])
def test_a_disk_that_is_full_after_the_factorization(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    fact = stored(tmp_path / "store")
    names = sorted(os.listdir(tmp_path / "store"))
    if what == "rows":
        monkeypatch.setattr(StoredFactorization, "row_parts", full)
        work: Any = lambda: RowCache(fact, torch.arange(20), 0)  # noqa: E731
    else:
        monkeypatch.setattr(array_files.ArrayWriter, "write", full)
        work = lambda: list(filtered.filtered_rows(fact, GRAPH, X, torch.ones(HOPS + 1, CHANNELS)))  # noqa: E731
    with pytest.raises(ValueError, match="is full .No space left on device.: make room and do the same again"):
        work()
    assert sorted(os.listdir(tmp_path / "store")) == names


def test_other_folders_and_arguments_are_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").touch()
    with pytest.raises(ValueError, match="holds other files"):
        stored(tmp_path)
    with pytest.raises(FileNotFoundError, match="is not a store"):
        StoredFactorization.open(tmp_path)
    with pytest.raises(ValueError, match="storage must be one of"):
        stored(tmp_path / "store", storage="int8")
    with pytest.raises(ValueError, match="leave out the other setting"):
        factorize(GRAPH, X, HOPS, store=tmp_path / "store", columns_per_block=3)  # type: ignore[call-overload]
    with pytest.raises(ValueError, match="are for a store"):
        factorize(GRAPH, X, HOPS, memory_limit="4GB")  # type: ignore[call-overload]
    with pytest.raises(ValueError, match="or load the file"):
        factorize(GRAPH, "x.npy", HOPS)  # type: ignore[call-overload]
    with pytest.raises(ValueError, match="has no vectors to store"):
        factorize(GRAPH, X, HOPS, channels="shared", store=tmp_path / "store")  # type: ignore[call-overload]
    with pytest.raises(ValueError, match="needs an undirected graph"):
        factorize(Graph.from_edges(np.array([[0], [1]]), direction="out"), np.ones((2, 1)), 2, store=tmp_path / "store")


def test_files_that_hold_no_features_are_refused(tmp_path: Path) -> None:
    path, bad = tmp_path / "x.npy", X.copy()
    bad[17, 3] = np.nan
    for array, message in (
        (bad, "feature column 3 of node 17 is not finite"),
        (X[:10], "one row per node"),
        (X.astype(np.int32), "float32 or float64, not int32"),
        (X[0], "2-d array"),
        (np.asfortranarray(X), "row by row"),
    ):
        np.save(path, array)
        with pytest.raises(ValueError, match=message):
            stored(tmp_path / "store", path)
    path.write_bytes(b"nothing")
    with pytest.raises(ValueError, match="cannot be read as features"):
        stored(tmp_path / "store", path)


def test_a_limit_that_is_too_low_is_refused_with_the_minimum(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    with pytest.raises(ValueError, match=r"a single feature column on 400 nodes with 6 hops needs .*raise it"):
        stored(tmp_path / "store", memory_limit="50MB")
    with pytest.raises(ValueError, match="memory_limit must be a size"):
        stored(tmp_path / "store", memory_limit=-1)


def test_a_lower_limit_than_the_blocks_were_made_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stored(tmp_path / "store")
    (tmp_path / "store" / "block-00001.json").unlink()
    monkeypatch.setattr(MemoryPlan, "width", lambda *_: 16)
    with pytest.raises(ValueError, match="was begun with blocks of 32 columns"):
        stored(tmp_path / "store")


def test_a_block_is_written_while_the_next_one_is_computed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    began = [threading.Event() for _ in range(3)]
    compute, write = build.compute_block, build.write_block
    order = []

    def computes(*args: Any) -> Any:
        began[args[-1][0] // 32].set()
        return compute(*args)

    def writes(folder: Path, index: int, *args: Any) -> Any:
        order.append(index + 1 == len(began) or began[index + 1].wait(timeout=10))
        return write(folder, index, *args)

    monkeypatch.setattr(build, "compute_block", computes)
    monkeypatch.setattr(build, "write_block", writes)
    assert same(stored(tmp_path / "store"))
    assert order == [True, True, True]


def test_blocks_take_turns_where_memory_has_room_for_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[str] = []
    compute, write = build.compute_block, build.write_block
    monkeypatch.setattr(MemoryPlan, "overlaps", lambda *_: False)
    monkeypatch.setattr(build, "compute_block", lambda *args: (steps.append("compute"), compute(*args))[1])
    monkeypatch.setattr(build, "write_block", lambda *args: (time.sleep(0.05), steps.append("write"), write(*args))[2])
    assert same(stored(tmp_path / "store"))
    assert steps == ["compute", "write"] * 3


def test_wider_blocks_for_more_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    monkeypatch.setattr(memory_plan, "resident_bytes", lambda: 300_000_000)
    plan = MemoryPlan(1_000_000, 20_000_000, 10, 4, True, False, 0)
    widths = [plan.width(limit, 1000) for limit in range(900_000_000, 8_000_000_000, 100_000_000)]
    assert widths == sorted(widths)
    assert widths[0] < 16 < widths[-1]
    for limit, width in zip(range(900_000_000, 8_000_000_000, 100_000_000), widths, strict=True):
        written = plan.written_bytes(width) if plan.overlaps(limit, width) else 0
        assert plan.block_bytes(width) + written + 300_000_000 < limit
        assert width < 16 or width % 16 == 0


def test_blocks_of_a_large_graph_have_a_cache_line_for_every_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    monkeypatch.setattr(torch, "get_num_threads", lambda: 2)
    plan = MemoryPlan(20_000_000, 400_000_000, 10, 4, True, False, 0)
    assert plan.block_bytes(16) > 8 << 30
    assert plan.width(100_000_000_000, 1000) == 32  # rather than the 8 columns of a smaller block


def test_blocks_leave_room_for_one_that_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    monkeypatch.setattr(memory_plan, "resident_bytes", lambda: 300_000_000)
    plan = MemoryPlan(1_000_000, 20_000_000, 10, 4, True, False, 0)
    assert plan.overlaps(8_000_000_000, plan.width(8_000_000_000, 1000))
    assert not plan.overlaps(900_000_000, plan.width(900_000_000, 1000))


MEASURED = """
import sys, threading, time
import numpy as np, psutil, torch
from unifilter import Graph, factorize
limit, folder = int(sys.argv[1]), sys.argv[2]
nodes = 150_000
rng = np.random.default_rng(0)
graph = Graph.from_edges(rng.integers(0, nodes, (2, 600_000)), nodes)
x = rng.standard_normal((nodes, 96)).astype(np.float32)
peak, stop = 0, threading.Event()
def watch():
    global peak
    while not stop.is_set():
        peak = max(peak, psutil.Process().memory_info().rss)
        time.sleep(0.002)
thread = threading.Thread(target=watch)
thread.start()
before = psutil.Process().memory_info().rss
factorize(graph, x, 10, store=folder, memory_limit=limit)
stop.set()
thread.join()
print(before, peak, (96 * 11 * nodes * 4))
"""


def test_the_peak_of_memory_stays_below_the_limit(tmp_path: Path) -> None:
    limit = 900_000_000
    command = [sys.executable, "-c", MEASURED, str(limit), str(tmp_path / "store")]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    before, peak, whole = map(int, said.split())
    assert peak < limit
    assert before + whole > limit
    assert len(list((tmp_path / "store").glob("block*.npy"))) > 1
