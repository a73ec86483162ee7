"""A PyG ``Data``, or a dict of tensors with the same names, saved with ``torch.save``."""

from __future__ import annotations

import pickle
import re
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

from unifilter.data import NodeDataset

_TENSORS = ("x", "edge_index", "edge_weight", "y", "train_mask", "val_mask", "test_mask")


def read(path: Path) -> NodeDataset:
    """A data set from ``x`` and ``edge_index`` and, where they are there, ``edge_weight``, ``y`` (without it all labels
    are unknown) and the three masks, which become the splits ``"given"``. Other entries are not used.

    The file is never unpickled freely: only tensors, plain containers and PyG's ``Data`` are admitted.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}: pass the path of a file written by torch.save")
    entries = _load(path)
    for name in ("x", "edge_index"):
        if entries.get(name) is None:
            there = ", ".join(map(str, entries)) or "nothing"
            raise ValueError(f"{path.name} has no {name!r}: add it and save the file again (there is: {there})")
    for name in _TENSORS:
        if not isinstance(entries.get(name), (Tensor, type(None))):
            raise ValueError(f"{path.name}: {name!r} is a {type(entries[name]).__name__}, but must be a tensor")
    num_nodes = entries["x"].shape[0] if entries["x"].ndim else 0
    fields = {name: entries.get(name) for name in _TENSORS}
    try:
        dataset = NodeDataset.from_data(SimpleNamespace(**fields, num_nodes=num_nodes), name=path.stem)
    except ValueError as error:
        raise ValueError(f"{path.name}: {error}") from None
    return dataset.with_checked(source=str(path))


def _load(path: Path) -> dict[Any, Any]:
    try:
        with _admit_data():
            loaded = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        found = re.search(r"GLOBAL (\S+)", str(error))
        what = f"it holds {found[1]}" if found else "it is damaged, or holds Python objects"
        raise ValueError(
            f"{path} is not read, because reading could run code in it: {what}, where only tensors, plain containers "
            "and PyG's Data are admitted; write it with torch.save(data.to_dict(), path), with tensors alone"
        ) from None
    except (RuntimeError, EOFError, OSError, ValueError, KeyError, AttributeError, TypeError, IndexError) as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise ValueError(f"{path} is no whole file written by torch.save: {reason}") from error
    if isinstance(loaded, dict):
        return loaded
    if _is_data(loaded):
        return dict(loaded.to_dict())
    raise ValueError(
        f"{path} holds a {type(loaded).__name__}, but must hold one Data object or one dict of tensors: "
        "save a single graph with torch.save(data.to_dict(), path)"
    )


def _admit_data() -> AbstractContextManager[Any]:
    """Lets torch.load build PyG's Data, where PyG is installed and torch (2.5 or newer) can be told so."""
    try:
        from torch_geometric.data.data import Data, DataEdgeAttr, DataTensorAttr
        from torch_geometric.data.storage import GlobalStorage
    except ImportError:
        return nullcontext()
    admit = getattr(torch.serialization, "safe_globals", None)
    return nullcontext() if admit is None else admit([Data, DataEdgeAttr, DataTensorAttr, GlobalStorage])


def _is_data(loaded: object) -> bool:
    return type(loaded).__module__ == "torch_geometric.data.data" and type(loaded).__name__ == "Data"
