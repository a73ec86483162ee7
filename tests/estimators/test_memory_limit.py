"""What does not fit into memory is trained on from the disk, and comes to the same."""

from __future__ import annotations

import pickle
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from processes import killed_at

from unifilter import Graph, NodeClassifier, TrainedModel, UniFilterClassifier, explain
from unifilter._internal.scratch import scratch_folder
from unifilter.factorization.stored import stored_factorization
from unifilter.factorization.stored.memory_plan import MemoryPlan
from unifilter.factorization.stored.row_cache import RowCache
from unifilter.methods import Storage, storage, stored_learner
from unifilter.methods.storage import in_memory_bytes

RNG = np.random.default_rng(0)
NODES = 300
GRAPH = Graph.from_edges(RNG.integers(0, NODES, (2, 900)), NODES)
LABELS = RNG.integers(0, 3, NODES)
X = (RNG.standard_normal((NODES, 40)) + LABELS[:, None]).astype(np.float32)
TRAIN, VAL = np.arange(0, 160), np.arange(160, 220)
SETTINGS: dict[str, Any] = {
    "hops": 4, "epochs": 4, "dropout": 0.3, "basis_dropout": 0.2, "lr": 0.05, "weight_decay": 0.0, "batch_norm": False,
}  # fmt: skip
WHERE = {"vectors": 1.0, "rows": 0.0}


@pytest.fixture
def small_memory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("UNIFILTER_STORE", str(tmp_path))
    monkeypatch.setattr(storage, "in_memory_bytes", lambda *_: 10**15)
    monkeypatch.setattr(MemoryPlan, "width", lambda *_: 16)
    monkeypatch.setattr(stored_factorization, "_ROWS_AT_ONCE", 37)
    monkeypatch.setattr(stored_learner, "_MOST_ROWS", 50)


def fitted(memory_limit: str | None = None, store: Path | None = None, **settings: Any) -> UniFilterClassifier:
    clf = UniFilterClassifier(**{**SETTINGS, **settings})
    return clf.fit(GRAPH, X, LABELS, TRAIN, VAL, memory_limit=memory_limit, store=store)


def outputs(clf: UniFilterClassifier) -> torch.Tensor:
    assert clf._logits_ is not None
    return clf._logits_


@pytest.mark.parametrize("where", ["vectors", "rows"])
@pytest.mark.parametrize("settings", [{}, {"batch_size": 32}, {"tau": "learn"}, {"basis": "chebyshev"}], ids=str)
def test_training_from_the_disk_comes_to_the_same(
    small_memory: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, where: str, settings: dict[str, Any]
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(storage, "in_memory_bytes", in_memory_bytes)
        expected = fitted(**settings)
    monkeypatch.setattr(storage, "_SHARE_OF_DISK", WHERE[where])
    found = fitted("4GB", **settings)
    assert found.history_.loss == pytest.approx(expected.history_.loss, rel=1e-5)
    assert torch.allclose(outputs(found), outputs(expected), atol=1e-4)
    assert (found.predict() == expected.predict()).mean() > 0.99
    stores = list((tmp_path / "stores").glob("fit-*/*/store.json"))
    assert len(stores) == 1
    assert (stores[0].parent / "nodes.npy").exists() is (where == "rows")


def test_rows_that_do_not_fit_either_are_read_ahead_from_the_disk(
    small_memory: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = fitted("4GB", batch_size=32)
    before = RowCache.__init__
    monkeypatch.setattr(RowCache, "__init__", lambda self, fact, nodes, memory: before(self, fact, nodes, 0))
    reads: list[int] = []
    read = RowCache._read
    monkeypatch.setattr(RowCache, "_read", lambda self, nodes: reads.append(len(nodes)) or read(self, nodes))
    found = fitted("4GB", batch_size=32)
    assert found.history_.loss == kept.history_.loss
    assert torch.equal(outputs(found), outputs(kept))
    # Each batch is read once, and the validation nodes in parts.
    assert reads.count(32) == 4 * 5
    assert max(reads) <= 50


def test_a_batch_that_was_announced_is_there_when_it_is_asked_for(small_memory: None, tmp_path: Path) -> None:
    from unifilter import factorize

    fact = factorize(GRAPH, X, 3, store=tmp_path / "store")
    cache = RowCache(fact, torch.arange(0, 200), 0)
    assert not cache.in_memory
    batches = list(torch.split(torch.randperm(200), 30))
    cache.announce(batches)
    for batch in batches:
        assert cache._ahead is not None
        assert cache._ahead[0] is batch
        assert torch.equal(cache.read(batch).transpose(0, 1), fact.vectors_of(batch))
    assert cache._ahead is None
    other = torch.tensor([3, 199])
    assert cache.has(other)
    assert not cache.has(torch.tensor([3, 200]))
    assert torch.equal(cache.read(other).transpose(0, 1), fact.vectors_of(other))
    assert [path.name for path in (tmp_path / "store").iterdir() if path.name.startswith(".")] == []


def test_a_store_that_is_named_is_kept_and_found_again(
    small_memory: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = fitted("4GB", tmp_path / "mine")
    (made,) = (tmp_path / "mine").iterdir()
    before = {path.name: path.stat().st_mtime_ns for path in made.iterdir()}
    again = fitted("4GB", tmp_path / "mine")
    assert torch.equal(outputs(first), outputs(again))
    assert {path.name: path.stat().st_mtime_ns for path in made.iterdir()} == before
    assert not list((tmp_path / "stores").glob("*"))


def test_a_temporary_store_is_deleted_with_the_estimator(small_memory: None, tmp_path: Path) -> None:
    import gc

    clf = fitted("4GB")
    assert len(list((tmp_path / "stores").iterdir())) == 1
    copy = pickle.loads(pickle.dumps(clf))
    assert torch.equal(outputs(copy), outputs(clf))
    del clf
    gc.collect()
    assert list((tmp_path / "stores").iterdir()) == []


def test_the_temporary_store_of_a_killed_process_is_deleted_by_the_next_one(small_memory: None, tmp_path: Path) -> None:
    assert killed_at(storage, "factorize_to_store", 1, lambda: fitted("4GB")) == signal.SIGKILL
    (left,) = (tmp_path / "stores").glob("fit-*")
    clf = fitted("4GB")
    assert not left.exists()
    assert len(list((tmp_path / "stores").glob("fit-*"))) == 1
    assert len(clf.predict()) == NODES


def test_all_that_follows_works_as_ever(small_memory: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(storage, "in_memory_bytes", in_memory_bytes)
        expected = explain(fitted()).to_dict()
    clf = fitted("4GB")
    found = explain(clf).to_dict()
    assert found["labels"] == expected["labels"]
    assert found.keys() == expected.keys()
    clf.save(tmp_path / "model.safetensors")
    loaded = TrainedModel.load(tmp_path / "model.safetensors")
    assert torch.allclose(loaded.logits(GRAPH, X), outputs(clf), atol=1e-3)
    rows = clf.sweep(tau=[0.2, 0.8])
    assert len(rows) == 2


def test_what_fits_is_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNIFILTER_STORE", str(tmp_path))
    assert torch.equal(outputs(fitted("20GB")), outputs(fitted()))
    assert not (tmp_path / "stores").exists()


def test_what_does_not_fit_is_refused_with_the_line_to_add(small_memory: None) -> None:
    with pytest.raises(ValueError, match=r'needs .* of memory, and there is room for .*: pass memory_limit="\d+GB"'):
        fitted()
    with pytest.raises(ValueError, match="lower hops, or use unifilter"):
        NodeClassifier("sgc").fit(GRAPH, X, LABELS, TRAIN, VAL)
    with pytest.raises(ValueError, match="lower hops, or use unifilter"):
        NodeClassifier("sgc").fit(GRAPH, X, LABELS, TRAIN, VAL, memory_limit="4GB")


def test_batches_that_do_not_fit_are_refused_with_the_line_to_add(
    small_memory: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Storage, "memory_left", property(lambda _: 400_000))
    with pytest.raises(ValueError, match=r"training on 160 rows at once needs .*: pass batch_size=\d+"):
        fitted("4GB")
    fitted("4GB", batch_size=20)
    monkeypatch.setattr(Storage, "memory_left", property(lambda _: 100))
    with pytest.raises(ValueError, match="raise memory_limit"):
        fitted("4GB", batch_size=1)


def test_arguments_that_mean_nothing_are_refused() -> None:
    with pytest.raises(ValueError, match="a store needs a memory_limit"):
        fitted(None, Path("folder"))
    with pytest.raises(ValueError, match="memory_limit must be a size"):
        fitted("much")


def test_the_scratch_file_is_gone_with_the_process(tmp_path: Path) -> None:
    with scratch_folder(tmp_path) as folder:
        assert Path(folder).parent == tmp_path
    assert list(tmp_path.iterdir()) == []
