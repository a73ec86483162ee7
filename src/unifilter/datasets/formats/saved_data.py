"""Reader for a PyG ``Data``, or a dict of tensors with the same names, saved with ``torch.save``."""

from __future__ import annotations

import pickle
import re
import struct
import zipfile
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

from unifilter._internal.checks import without_torch_notices
from unifilter.data import NodeDataset
from unifilter.datasets.formats.archives import check_claim, open_archive
from unifilter.graph import Direction

_TENSORS = ("x", "edge_index", "edge_weight", "y", "train_mask", "val_mask", "test_mask")
# The types that numpy has as well.
_DTYPES = (
    torch.bool,
    torch.uint8,
    torch.int8,
    torch.int16,
    torch.int32,
    torch.int64,
    torch.float16,
    torch.float32,
    torch.float64,
)
_SPARSE = (torch.sparse_coo, torch.sparse_csr, torch.sparse_csc)
# Maximum number of characters of the list of entries in a message.
_MOST_LISTED = 200


def read(path: Path, *, direction: Direction = "undirected") -> NodeDataset:
    """Read a data set from ``x``, ``edge_index`` and, optionally, ``edge_weight``, ``y`` and three masks.

    Without ``y`` all labels are unknown. The masks become the splits ``"given"``. Other entries are ignored. The file
    is unpickled with restrictions: only tensors, plain containers and PyG's ``Data`` are allowed.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}: pass the path of a file written by torch.save")
    entries = _load(path)
    for name in ("x", "edge_index"):
        if entries.get(name) is None:
            there = ", ".join(map(str, entries))[:_MOST_LISTED] or "nothing"
            raise ValueError(f"{path.name} has no {name!r}: add it and save the file again (found: {there})")
    fields = {name: _checked_tensor(path, name, entries.get(name)) for name in _TENSORS}
    num_nodes = fields["x"].shape[0] if fields["x"].ndim else 0
    try:
        data = SimpleNamespace(**fields, num_nodes=num_nodes)
        dataset = NodeDataset.from_data(data, name=path.stem, direction=direction)
    except ValueError as error:
        raise ValueError(f"{path.name}: {error}") from None
    return dataset.with_checked(source=str(path))


def _load(path: Path) -> dict[Any, Any]:
    try:
        # torch.save does not compress, so members must be as large in the file as unpacked.
        with open_archive(path, compressed=False) as archive:
            damaged = archive.testzip()  # torch does not verify checksums
        if damaged is not None:
            raise zipfile.BadZipFile(f"its member {damaged!r} is damaged")
    except (zipfile.BadZipFile, NotImplementedError, OSError, EOFError, struct.error) as error:
        raise ValueError(
            f"{path} is not a complete file written by torch.save: {error} (torch before 1.6 used another format: load "
            "and save such a file again with a newer torch)"
        ) from error
    try:
        with _admit_data(), without_torch_notices():
            loaded = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        found = re.search(r"GLOBAL (\S+)", str(error))
        what = f"it contains {found[1]}" if found else "it is damaged, or contains Python objects"
        raise ValueError(
            f"{path} is not read, because reading could run code in it: {what}, but only tensors, plain containers "
            "and PyG's Data are allowed; write it with torch.save(data.to_dict(), path), with tensors alone"
        ) from None
    except Exception as error:  # a damaged file can raise any error
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise ValueError(f"{path} is not a complete file written by torch.save: {reason}") from error
    if isinstance(loaded, dict):
        return loaded
    if _is_data(loaded):
        return dict(loaded.to_dict())
    raise ValueError(
        f"{path} contains a {type(loaded).__name__}, but must contain one Data object or one dict of tensors: "
        "save a single graph with torch.save(data.to_dict(), path)"
    )


def _admit_data() -> AbstractContextManager[Any]:
    """Allow torch.load to build PyG's Data, if PyG is installed and torch (2.5 or newer) supports it."""
    try:
        from torch_geometric.data.data import Data, DataEdgeAttr, DataTensorAttr
        from torch_geometric.data.storage import GlobalStorage
    except ImportError:
        return nullcontext()
    admit = getattr(torch.serialization, "safe_globals", None)
    return nullcontext() if admit is None else admit([Data, DataEdgeAttr, DataTensorAttr, GlobalStorage])


def _is_data(loaded: object) -> bool:
    return type(loaded).__module__ == "torch_geometric.data.data" and type(loaded).__name__ == "Data"


def _checked_tensor(path: Path, name: str, value: Any) -> Any:
    """A tensor whose numbers are all in the file, in a form that can be read here; ``None`` for ``None``."""
    if value is None:
        return None
    if not isinstance(value, Tensor):
        raise ValueError(f"{path.name}: {name!r} is a {type(value).__name__}, but must be a tensor")
    value, what = value.detach(), f"{path.name}: {name!r} is"
    if value.device.type != "cpu":
        raise ValueError(f"{what} on the device {value.device.type!r} and contains no numbers: save it from the CPU")
    if value.is_nested:
        raise ValueError(f"{what} a nested tensor, whose rows differ in length: save a matrix")
    if value.is_quantized:
        raise ValueError(f"{what} quantized ({value.dtype}): save {name}.dequantize()")
    if value.dtype not in _DTYPES:
        raise ValueError(f"{what} of type {value.dtype}: save {name}.float(), or {name}.long() for integers")
    if value.layout == torch.strided:
        _check_stored(value, what, name)
        return value.resolve_neg()
    if name != "x" or value.layout not in _SPARSE or value.ndim != 2 or value.sparse_dim() != 2:
        raise ValueError(f"{what} {value.layout} of shape {list(value.shape)}: save {name}.to_dense()")
    # Memory is allocated per row and column, even if the file contains none of their entries.
    check_claim(path, 8 * sum(value.shape), f"features of shape {list(value.shape)}")
    return _checked_sparse(value, what, name)


def _check_stored(value: Tensor, what: str, name: str) -> None:
    if value.numel() * value.element_size() > value.untyped_storage().nbytes():
        raise ValueError(
            f"{what} of shape {list(value.shape)}, but repeats a few stored numbers: save {name}.clone(), which stores "
            "all of them"
        )


def _checked_sparse(value: Tensor, what: str, name: str) -> Tensor:
    """The same tensor with validated indices, because compiled code trusts them."""
    parts = _parts(value)
    for part in parts:
        _check_stored(part, what, name)
    try:
        with without_torch_notices():
            if value.layout == torch.sparse_coo:
                # Coalesced, even if the file claims that the tensor is.
                indices, values = parts
                return torch.sparse_coo_tensor(indices, values, value.shape, check_invariants=True).coalesce()
            starts, indices, values = parts
            return torch.sparse_compressed_tensor(
                starts, indices, values, value.shape, layout=value.layout, check_invariants=True
            )
    except RuntimeError as error:
        reason = str(error).splitlines()[0]
        raise ValueError(f"{what} sparse, and its indices are invalid ({reason}): save it again") from None


def _parts(value: Tensor) -> tuple[Tensor, ...]:
    """Component tensors of a sparse tensor."""
    if value.layout == torch.sparse_coo:
        return value._indices(), value._values()
    if value.layout == torch.sparse_csr:
        return value.crow_indices(), value.col_indices(), value.values()
    return value.ccol_indices(), value.row_indices(), value.values()
