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

import networkx
import numpy as np
import pandas as pd
import torch
from starlette.testclient import TestClient

from unifilter.datasets import load_dataset
from unifilter.explore.access import Access
from unifilter.explore.app import make_app
from unifilter.explore.opened import Opened, open_dataset
from unifilter.explore.session import Session

LIMIT = 1_000_000
ACCESS = Access(8765, "secret")
ADDRESS = "http://127.0.0.1:8765"


@cache
def _karate() -> Opened:
    return open_dataset(load_dataset("karate"), published=True)


def karate() -> Opened:
    """Zachary's karate club, without anything trained on it yet."""
    return replace(_karate(), trained=[])


def unlabeled() -> Opened:
    dataset = _karate().dataset
    return open_dataset(replace(dataset, name="unlabeled", labels=torch.full((34,), -1)), published=False)


def session(opened: Opened | None = None) -> Session:
    return Session(opened or karate(), None, LIMIT)


def asking(session: Session, **headers: str) -> TestClient:
    """A browser that was let in."""
    client = TestClient(make_app(session, ACCESS), base_url=ADDRESS, headers=headers, raise_server_exceptions=False)
    client.cookies.set(ACCESS.cookie, ACCESS.token)
    return client


def upload(client: TestClient, files: dict[str, bytes]) -> Any:
    """Sends files as the page does."""
    described = [pair for name, data in files.items() for pair in (("name", name), ("size", str(len(data))))]
    return client.post("/upload", params=described, content=b"".join(files.values()))


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


def tables(kind: str = "csv") -> dict[str, bytes]:
    """The same graph as tables, ``csv`` or ``parquet``."""
    made = arrays()
    ids = [f"n{node}" for node in range(len(made["node_labels"]))]
    described = {f"x{column}": values for column, values in enumerate(made["node_features"].T)}
    nodes = pd.DataFrame({"id": ids, "label": made["node_labels"].astype(str), **described})
    edges = pd.DataFrame(
        {name: [ids[node] for node in ends] for name, ends in zip(("source", "target"), made["edges"].T, strict=True)}
    )
    written = {}
    for name, table in (("nodes", nodes), ("edges", edges)):
        file = io.BytesIO()
        table.to_csv(file, index=False) if kind == "csv" else table.to_parquet(file)
        written[f"{name}.{kind}"] = file.getvalue()
    return written


def zipped(members: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return file.getvalue()


def saved() -> bytes:
    """The same graph, as ``torch.save`` writes it."""
    made, file = arrays(), io.BytesIO()
    tensors = {"x": made["node_features"], "edge_index": made["edges"].T.copy(), "y": made["node_labels"]}
    torch.save({name: torch.from_numpy(value) for name, value in tensors.items()}, file)
    return file.getvalue()


def graphml() -> bytes:
    """The same graph, as networkx writes it."""
    made, network, file = arrays(), networkx.Graph(), io.BytesIO()
    for node, (label, row) in enumerate(zip(made["node_labels"], made["node_features"], strict=True)):
        network.add_node(f"n{node}", label=str(label), **{f"x{column}": float(x) for column, x in enumerate(row)})
    network.add_edges_from((f"n{source}", f"n{target}") for source, target in made["edges"])
    networkx.write_graphml(network, file)
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
