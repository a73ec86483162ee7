from __future__ import annotations

import errno
import logging
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from dense import propagation_matrix
from strategies import connected_graph

from unifilter import Graph
from unifilter.factorization import eigendecomposition as eigen
from unifilter.factorization import eigenpairs


def laplacian(graph: Graph) -> np.ndarray:
    return np.eye(graph.num_nodes) - propagation_matrix(graph)


def no_work(*_: object) -> tuple[np.ndarray, np.ndarray]:
    raise AssertionError("nothing should be computed")


def only_file(folder: Path) -> Path:
    (path,) = folder.iterdir()
    return path


@pytest.mark.parametrize("self_loops", ["remove", "add"])
def test_all_pairs_make_up_the_laplacian(tmp_path: Path, self_loops: str) -> None:
    edges = np.array([[0, 1, 2, 4], [1, 2, 0, 5]])
    graph = Graph.from_edges(edges, num_nodes=8, edge_weight=np.array([1.0, 2.0, 0.5, 3.0]), self_loops=self_loops)  # type: ignore[arg-type]
    pairs = eigenpairs(graph, cache_dir=tmp_path)
    values, vectors = pairs.values.numpy(), pairs.vectors.numpy()
    assert values.dtype == vectors.dtype == np.float32
    assert (np.diff(values) >= 0).all()
    assert np.allclose(vectors.T @ vectors, np.eye(8), atol=1e-5)
    assert np.allclose(vectors * values @ vectors.T, laplacian(graph), atol=1e-5)


@pytest.mark.parametrize("ends", [(4, 3), (5, 0), (0, 2)])
def test_the_ends_are_those_of_the_whole(tmp_path: Path, ends: tuple[int, int]) -> None:
    graph = connected_graph()
    pairs = eigenpairs(graph, ends, cache_dir=tmp_path)
    whole = np.linalg.eigvalsh(laplacian(graph))
    assert np.allclose(pairs.values.numpy(), np.r_[whole[: ends[0]], whole[60 - ends[1] :]], atol=1e-5)
    vectors = pairs.vectors.double().numpy()
    assert np.allclose(laplacian(graph) @ vectors, vectors * pairs.values.numpy(), atol=1e-5)
    assert repr(pairs) == f"Eigenpairs(num_nodes=60, count={sum(ends)})"


def test_ends_that_meet_are_everything(tmp_path: Path) -> None:
    assert len(eigenpairs(connected_graph(10), (6, 4), cache_dir=tmp_path).values) == 10
    assert only_file(tmp_path).name.endswith("-all.npz")


def test_beyond_the_limit_only_the_ends_are_computed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(eigen, "FULL_LIMIT", 59)
    monkeypatch.setattr(eigen, "ENDS", (2, 3))
    monkeypatch.setattr(eigen, "_all_pairs", no_work)
    assert len(eigenpairs(connected_graph(60), cache_dir=tmp_path).values) == 5


def test_the_same_graph_is_decomposed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = eigenpairs(connected_graph(), cache_dir=tmp_path)
    monkeypatch.setattr(eigen, "_all_pairs", no_work)
    again = eigenpairs(connected_graph(), cache_dir=tmp_path)
    assert torch.equal(first.values, again.values)
    assert torch.equal(first.vectors, again.vectors)
    with pytest.raises(AssertionError, match="nothing should be computed"):
        eigenpairs(connected_graph(seed=1), cache_dir=tmp_path)


def test_a_file_of_another_graph_does_not_answer(tmp_path: Path) -> None:
    graph, other = connected_graph(), connected_graph(seed=1)
    eigenpairs(graph, cache_dir=tmp_path)
    only_file(tmp_path).rename(tmp_path / f"{other.checksum}-all.npz")
    with pytest.raises(ValueError, match=r"-all.npz has changed since it was written: delete it to compute it again"):
        eigenpairs(other, cache_dir=tmp_path)


def test_a_file_with_other_numbers_is_refused(tmp_path: Path) -> None:
    graph = connected_graph()
    eigenpairs(graph, cache_dir=tmp_path)
    path = only_file(tmp_path)
    with np.load(path) as file:
        arrays = dict(file)
    arrays["vectors"][3, 4] += 1e-3
    np.savez(path, **arrays)
    with pytest.raises(ValueError, match="has changed since it was written"):
        eigenpairs(graph, cache_dir=tmp_path)


@pytest.mark.parametrize("damage", ["cut", "emptied", "flipped", "pickled", "without a part"])
def test_a_damaged_file_is_refused(tmp_path: Path, damage: str) -> None:
    graph = connected_graph()
    eigenpairs(graph, cache_dir=tmp_path)
    path = only_file(tmp_path)
    whole = bytearray(path.read_bytes())
    if damage == "cut":
        path.write_bytes(whole[: len(whole) // 2])
    elif damage == "emptied":
        path.write_bytes(b"")
    elif damage == "flipped":
        whole[len(whole) // 2] ^= 255
        path.write_bytes(whole)
    elif damage == "pickled":
        np.savez(path, values=np.array([{}], dtype=object), vectors=np.zeros(1), digest=np.array(""))
    else:
        np.savez(path, values=np.zeros(3))
    with pytest.raises(ValueError, match=r"\.npz is not a complete cache file \(.*\): delete it to compute it again"):
        eigenpairs(graph, cache_dir=tmp_path)


def test_a_write_that_fails_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def half(file: object, **arrays: object) -> None:
        file.write(b"half")  # type: ignore[attr-defined]
        raise OSError("disk full")

    monkeypatch.setattr(np, "savez", half)
    with pytest.raises(OSError, match="disk full"):
        eigenpairs(connected_graph(), cache_dir=tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("ends", "share"), [(None, "all"), ((10, 5), "ends")])
def test_what_does_not_fit_into_memory_is_refused_before_it_is_computed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ends: tuple[int, int] | None, share: str
) -> None:
    monkeypatch.setattr(eigen, "_all_pairs" if share == "all" else "_pairs_at_ends", no_work)
    needed = 8 * 4 * 60**2 if ends is None else 8 * 60 * (2 * 15 + 6 * (10 + 32))
    message = "the eigenpairs of 60 nodes need .* GiB of memory, and .* GiB may be used: ask for fewer"
    with pytest.raises(ValueError, match=message):
        eigenpairs(connected_graph(), ends, cache_dir=tmp_path, memory_limit=needed - 1)
    with pytest.raises(AssertionError, match="nothing should be computed"):
        eigenpairs(connected_graph(), ends, cache_dir=tmp_path, memory_limit=needed)


def test_a_graph_of_a_million_nodes_does_not_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("psutil.virtual_memory", lambda: SimpleNamespace(total=16 * 2**30))
    graph = Graph.from_edges(np.array([[0], [1]]), num_nodes=10**6)
    with pytest.raises(
        ValueError, match=r"the eigenpairs of 1,000,000 nodes need 250.3 GiB of memory, and 8.0 GiB may"
    ):
        eigenpairs(graph, cache_dir=tmp_path)


def test_a_folder_that_cannot_be_written_to_is_found_out_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(eigen, "_all_pairs", no_work)
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("UNIFILTER_CACHE", str(tmp_path / "file"))
    message = r"eigenpairs of 60 nodes \(all\) cannot be stored in .*/file/eigenpairs .*: set UNIFILTER_CACHE to"
    with pytest.raises(ValueError, match=message):
        eigenpairs(connected_graph())


def test_a_folder_on_a_disk_that_is_read_only_is_found_out_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(dir: Path) -> None:
        raise OSError(errno.EROFS, "Read-only file system", str(dir))

    monkeypatch.setattr(eigen, "_all_pairs", no_work)
    monkeypatch.setattr("tempfile.TemporaryFile", refuse)
    message = r"eigenpairs of 60 nodes \(all\) cannot be stored in .* \(Read-only file system\): set UNIFILTER_CACHE"
    with pytest.raises(ValueError, match=message):
        eigenpairs(connected_graph(), cache_dir=tmp_path)


def test_the_folder_comes_from_the_environment_or_is_the_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNIFILTER_CACHE", str(tmp_path / "mine"))
    eigenpairs(connected_graph(10))
    assert only_file(tmp_path / "mine" / "eigenpairs").name == f"{connected_graph(10).checksum}-all.npz"
    monkeypatch.delenv("UNIFILTER_CACHE")
    monkeypatch.setattr("platformdirs.user_cache_dir", lambda name: str(tmp_path / name))
    eigenpairs(connected_graph(10))
    assert only_file(tmp_path / "unifilter" / "eigenpairs").name == f"{connected_graph(10).checksum}-all.npz"


def test_the_log_says_what_was_done_and_what_it_cost(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="unifilter"):
        eigenpairs(connected_graph(), (2, 3), cache_dir=tmp_path)
        eigenpairs(connected_graph(), (2, 3), cache_dir=tmp_path)
    *_, computed, read = (record.getMessage() for record in caplog.records)
    assert computed.startswith("eigenpairs of 60 nodes (2-3): computed in ")
    assert f" s, kept in {only_file(tmp_path)} (" in computed
    assert read == f"eigenpairs of 60 nodes (2-3): read from {only_file(tmp_path)}"


@pytest.mark.parametrize("ends", [(0, 0), (-1, 3), (1, 2, 3)])
def test_ends_that_mean_nothing_are_refused(tmp_path: Path, ends: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="ends must be two counts, at least one of them positive"):
        eigenpairs(connected_graph(), ends, cache_dir=tmp_path)
