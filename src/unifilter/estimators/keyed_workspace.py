"""The workspace of an estimator's last fit, reused by a fit on the same graph and features."""

from __future__ import annotations

from typing import Any, NamedTuple

from unifilter.data import NodeDataset
from unifilter.methods import Storage, Workspace


class KeyedWorkspace(NamedTuple):
    """A workspace and what its factorizations depend on."""

    key: tuple[Any, ...]
    workspace: Workspace

    @classmethod
    def of(
        cls, dataset: NodeDataset, device: str, storage: Storage | None, last: KeyedWorkspace | None
    ) -> KeyedWorkspace:
        """The last workspace with its factorizations, if graph, features and storage are the same; else a new one."""
        kept = None if storage is None else (storage.memory_limit, storage.folder)
        key = (dataset.graph.checksum, dataset.inputs_digest, str(dataset.features.dtype), device, kept)
        if last is not None and last.key == key:
            return cls(key, last.workspace.with_labels(dataset))
        return cls(key, Workspace(dataset, device, storage))
