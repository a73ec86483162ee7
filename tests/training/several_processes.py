"""What each of several processes does in a test: it fits, is interrupted, goes on, and is refused.

The first one prints a line of JSON. It is started by ``test_distributed.py`` with the variables of ``torchrun``.
"""

from __future__ import annotations

import gc
import json
import os
import shutil
import signal
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import distributed

from unifilter import NodeClassifier
from unifilter.data import NodeDataset
from unifilter.datasets.synthetic import contextual_sbm
from unifilter.factorization.stored import build, filtered
from unifilter.methods import problem as methods_problem
from unifilter.methods import storage
from unifilter.training import History, TrainingInterrupted

NOISELESS = {"dropout": 0.0, "basis_dropout": 0.0, "batch_norm": False}
NOISY = {"dropout": 0.5, "basis_dropout": 0.2, "batch_norm": True}
SETTINGS = {"hops": 2, "epochs": 12, "lr": 0.05, "weight_decay": 5e-4, "hidden_channels": 8}


def problem() -> tuple[NodeDataset, dict[str, np.ndarray]]:
    data = contextual_sbm(num_nodes=200, num_classes=3, homophily=0.8, average_degree=5, num_features=10, signal=1.5)
    split = data.split("stratified", 0)
    return data, {"train": split.train, "val": split.val}


def fitted(
    sample_weight: Any = None,
    on_epoch: Any = None,
    checkpoint: Any = None,
    memory_limit: Any = None,
    store: Any = None,
    **settings: Any,
) -> NodeClassifier:
    data, nodes = problem()
    clf = NodeClassifier("unifilter", dtype="float64", **{**SETTINGS, **settings})
    kept = {"sample_weight": sample_weight, "on_epoch": on_epoch, "checkpoint": checkpoint}
    kept |= {"memory_limit": memory_limit, "store": store}
    return clf.fit(data.graph, data.features, data.labels, **nodes, **kept)


def state(clf: NodeClassifier) -> dict[str, Any]:
    """What two trainings are compared by."""
    history: History = clf.history_
    weights = torch.cat([one.detach().flatten() for one in clf.model_.network.state_dict().values()])
    return {"loss": history.loss, "val_loss": history.val_loss, "weights": weights.tolist()}


def odd_weights() -> np.ndarray:
    """Some nodes count for nothing, the others differ: shares of the rows are no shares of the loss."""
    return np.arange(200) % 4 / 2.0


def refusal(method: str, train: Any, rolled: int = 0) -> str:
    data, nodes = problem()
    labels = data.labels.roll(rolled)
    try:
        NodeClassifier(method, epochs=2).fit(data.graph, data.features, labels, train=train, val=nodes["val"])
    except ValueError as error:
        return str(error)
    return ""


def interrupted(checkpoint: Path, rank: int) -> NodeClassifier:
    """Ctrl-C reaches one process after five epochs, and all of them stop; then they go on."""

    def watch(history: History) -> None:  # the first process is asked
        if history.epochs == 5:
            os.kill(os.getpid(), signal.SIGINT)

    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        fitted(on_epoch=watch, checkpoint=checkpoint, **NOISY)
    except TrainingInterrupted as stop:
        if not str(stop).startswith("stopped after 5 epochs"):
            raise AssertionError(str(stop)) from None
    else:
        raise AssertionError("it was not interrupted")
    return fitted(checkpoint=checkpoint, **NOISY)


def in_common() -> dict[str, Any]:
    """The factorization is computed by one process, and mapped by both."""
    with counted(methods_problem, "factorize") as calls:
        clf = fitted(**NOISELESS)
    vectors = clf._workspace.workspace.factorization("row", 2).vectors
    maps = Path("/proc/self/maps").read_text()
    return {"calls": len(calls), "mapped": "vectors.npy (deleted)" in maps, "size": vectors.numel()}


def from_the_disk(keep_all: bool, store: Path | None) -> dict[str, Any]:
    """As ``fitted``, from a store that the first process writes."""
    before = storage.in_memory_bytes, storage._SHARE_OF_DISK
    storage.in_memory_bytes = lambda *_: 10**15
    storage._SHARE_OF_DISK = 1.0 if keep_all else 0.0
    try:
        with counted(build, "compute_block") as calls, counted(filtered, "compute_block") as again:
            clf = fitted(**NOISELESS, memory_limit="4GB", store=store)
    finally:
        storage.in_memory_bytes, storage._SHARE_OF_DISK = before
    logits = clf._logits_.tolist()
    # The first process ends, and its temporary store with it, before the other one reads again.
    first = distributed.get_rank() == 0
    fact = next(iter(clf._workspace.workspace._shared["row"].factorizations.values()))
    if first:
        del clf, fact
        gc.collect()
    distributed.barrier()
    rows = None if first else fact.vectors_of([0, 1]).tolist()
    distributed.barrier()
    return {**({} if rows is None else {"rows": rows}), "calls": len(calls), "again": len(again), "logits": logits}


def refused_by_the_first(rank: int) -> str:
    """One process alone finds a mistake, and all of them are told."""
    before = storage.factorize_to_store
    storage.in_memory_bytes, saved = lambda *_: 10**15, storage.in_memory_bytes

    def full(*_: Any, **__: Any) -> Any:
        raise ValueError(f"the disk of process {rank} is full")

    storage.factorize_to_store = full
    try:
        fitted(**NOISELESS, memory_limit="4GB")
    except ValueError as error:
        return str(error)
    finally:
        storage.factorize_to_store, storage.in_memory_bytes = before, saved
    return ""


@contextmanager
def counted(module: Any, name: str) -> Iterator[list[int]]:
    """The calls of a function."""
    calls: list[int] = []
    original = getattr(module, name)
    setattr(module, name, lambda *given, **options: (calls.append(1), original(*given, **options))[1])
    try:
        yield calls
    finally:
        setattr(module, name, original)


def main(folder: Path) -> None:
    warnings.simplefilter("ignore")
    distributed.init_process_group("gloo")
    rank = distributed.get_rank()
    os.environ["UNIFILTER_STORE"] = str(folder)
    data, nodes = problem()
    found = {
        "whole": state(fitted(**NOISELESS)),
        "weighted": state(fitted(odd_weights(), **NOISELESS)),
        "batches": state(fitted(batch_size=30, **NOISELESS)),
        "score": fitted(**NOISY, epochs=40).score(data.labels),
        "noisy": state(fitted(**NOISY)),
        # Each process has a path of its own, as on several machines; only the first writes.
        "resumed": state(interrupted(folder / f"of-{rank}.pt", rank)),
        "gcn": refusal("gcn", nodes["train"]),
        "other_nodes": refusal("sgc", nodes["train"][rank:]),
        "other_labels": refusal("sgc", nodes["train"], rolled=rank),
        "full": refused_by_the_first(rank),
    }
    of_each = {
        "memory": in_common(),
        "vectors": from_the_disk(True, None),
        "rows": from_the_disk(False, None),
        "kept": from_the_disk(True, folder / "kept"),
        "found": from_the_disk(True, folder / "kept"),
    }
    all_of_them: list[Any] = [None] * distributed.get_world_size()
    distributed.all_gather_object(all_of_them, of_each)
    everywhere: list[Any] = [None] * distributed.get_world_size()
    distributed.all_gather_object(everywhere, found)
    assert all(one == everywhere[0] for one in everywhere), "processes ended with other models"
    if rank == 0:
        found["each"] = all_of_them
        found["left"] = sorted(str(path.relative_to(folder)) for path in folder.glob("**/*.npy"))
        shutil.rmtree(folder / "kept")
        shutil.rmtree(folder / "stores")
        print(json.dumps(found))
    distributed.barrier()
    distributed.destroy_process_group()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
