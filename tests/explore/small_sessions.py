"""Sessions on small graphs, and files to upload to them."""

from __future__ import annotations

import io
import time
import zipfile
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch

from unifilter.datasets import load_dataset
from unifilter.explore.opened import Opened, open_dataset
from unifilter.explore.session import Session

LIMIT = 1_000_000


@cache
def _karate() -> Opened:
    return open_dataset(load_dataset("karate"), published=True)


def karate() -> Opened:
    """Zachary's karate club, without anything trained on it yet."""
    return replace(_karate(), trained=[])


def unlabelled() -> Opened:
    dataset = _karate().dataset
    return open_dataset(replace(dataset, name="unlabelled", labels=torch.full((34,), -1)), published=False)


def session(opened: Opened | None = None) -> Session:
    return Session(opened or karate(), None, LIMIT)


def arrays(nodes: int = 30) -> dict[str, np.ndarray]:
    """Two classes on a ring with chords."""
    rng = np.random.default_rng(0)
    ring = np.arange(nodes)
    edges = np.concatenate([np.stack([ring, (ring + 1) % nodes], axis=1), rng.integers(0, nodes, (nodes, 2))])
    labels = ring % 2
    features = rng.standard_normal((nodes, 5)) + labels[:, None]
    return {"node_features": features.astype(np.float32), "node_labels": labels, "edges": edges}


def npz(**changes: Any) -> bytes:
    """An ``.npz`` file; ``None`` leaves an array out."""
    file = io.BytesIO()
    np.savez_compressed(file, **{name: value for name, value in (arrays() | changes).items() if value is not None})
    return file.getvalue()


def pickled(marker: Path) -> bytes:
    """A file whose features, where they are unpickled, write a file."""

    class Writes:
        def __reduce__(self) -> tuple[Any, ...]:
            return (Path.write_text, (marker, "unpickled"))

    features = np.empty((30, 1), dtype=object)
    features[:] = [[Writes()] for _ in range(30)]
    return npz(node_features=features)


def bomb() -> bytes:
    """A small file that unpacks to twenty times the limit."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("node_features.npy", bytes(20 * LIMIT))
    return file.getvalue()


def wait_for(condition: Callable[[], bool], seconds: float = 30.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.01)


def finish(opened: Session) -> None:
    """Waits for the end of the training."""
    wait_for(lambda: opened.training is not None and opened.training.state != "running")
