"""Files that are made to crash a reader, to fill the memory, or to be read as something else than they are.

Run as a script, it reads the files named on the command line with the command line's own code, one JSON line each, in
a process that cannot take more memory than a small machine has.
"""

from __future__ import annotations

import io
import json
import resource
import signal
import struct
import sys
import warnings
import zipfile
import zlib
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import torch
from small_files import npz_arrays

# Address space, of which an interpreter with torch takes two already.
MOST_MEMORY = 6 * 2**30

# Each file is refused in a fraction of this.
MOST_SECONDS = 15

MAKERS: dict[str, Callable[[Path], object]] = {}
# What the message must say.
MESSAGES: dict[str, str] = {}


def write_all(folder: Path) -> list[Path]:
    """Makes every file; what torch and zipfile have to say to that does not matter."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, make in MAKERS.items():
            make(folder / name)
    return [folder / name for name in MAKERS]


def hostile(name: str, message: str) -> Callable[[Callable[[Path], object]], Callable[[Path], object]]:
    def register(maker: Callable[[Path], object]) -> Callable[[Path], object]:
        MAKERS[name], MESSAGES[name] = maker, message
        return maker

    return register


def npy(shape: tuple[int, ...], dtype: Any = "<f4", data: bytes = b"") -> bytes:
    """An array file that says what it likes."""
    header = {"descr": dtype, "fortran_order": False, "shape": shape}
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, header)
    return file.getvalue() + data


def write_members(path: Path, members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> None:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def npz_members(**changes: bytes) -> dict[str, bytes]:
    members = {}
    for name, array in npz_arrays().items():
        file = io.BytesIO()
        np.save(file, array)
        members[f"{name}.npy"] = file.getvalue()
    return members | {f"{name}.npy": content for name, content in changes.items()}


def tensors(**changes: Any) -> dict[str, Any]:
    part = torch.tensor([0, 0, 1, 2, 2, 0])
    return {
        "x": torch.arange(12.0).reshape(6, 2),
        "edge_index": torch.tensor([[0, 1, 1, 2, 3, 4], [1, 0, 2, 3, 4, 5]]),
        "y": torch.tensor([0, 1, 0, 1, 1, 0]),
        "train_mask": part == 0,
        "val_mask": part == 1,
        "test_mask": part == 2,
        **changes,
    }


def saved(**changes: Any) -> Callable[[Path], object]:
    return lambda path: torch.save(tensors(**changes), path)


def arrays(**changes: Any) -> Callable[[Path], object]:
    return lambda path: np.savez_compressed(path, **npz_arrays(**changes))


# Sparse tensors with indices that point outside. Compiled code follows them.


def _csr(starts: list[int], columns: list[int], size: tuple[int, int] = (6, 40)) -> torch.Tensor:
    values = torch.ones(len(columns))
    return torch.sparse_csr_tensor(torch.tensor(starts), torch.tensor(columns), values, size, check_invariants=False)


def _coo(indices: list[list[int]], size: tuple[int, ...] = (6, 40), coalesced: bool = False) -> torch.Tensor:
    values = torch.ones(len(indices[0]))
    made = torch.sparse_coo_tensor(torch.tensor(indices), values, size, check_invariants=False)
    return made._coalesced_(coalesced)


def _with_zero_stride() -> torch.Tensor:
    many = 10**10
    starts = torch.tensor([0, many, many, many, many, many, many])
    columns, values = torch.zeros(1, dtype=torch.int64).expand(many), torch.zeros(1).expand(many)
    return torch.sparse_csr_tensor(starts, columns, values, (6, 40), check_invariants=False)


for _name, _x in {
    "csr-columns": lambda: _csr([0, 1, 2, 3, 4, 5, 6], [0, 1, 2, 3, 4, 10**12]),
    "csr-negative": lambda: _csr([0, 1, 2, 3, 4, 5, 6], [0, 1, 2, 3, 4, -(10**12)]),
    "csr-starts": lambda: _csr([0, 1, 2, 10**12, 4, 5, 6], [0, 1, 2, 3, 4, 5]),
    "coo-rows": lambda: _coo([[0, 10**12], [0, 1]]),
    "coo-negative": lambda: _coo([[0, -(10**12)], [0, 1]]),
    "coo-said-to-be-in-order": lambda: _coo([[0, 10**9], [0, 0]], coalesced=True),
}.items():
    hostile(f"{_name}.pt", "'x' is sparse, and its indices are invalid")(
        lambda path, make=_x: torch.save(tensors(x=make()), path)
    )
hostile("csr-zero-stride.pt", "repeats a few stored numbers")(
    lambda path: torch.save(tensors(x=_with_zero_stride()), path)
)
hostile("coo-many-rows.pt", "features of shape [4000000000000, 40] would take")(
    lambda path: torch.save(tensors(x=_coo([[0, 1], [0, 1]], (4 * 10**12, 40))), path)
)
hostile("coo-hybrid.pt", "'x' is torch.sparse_coo of shape [6, 1]: save x.to_dense()")(
    lambda path: torch.save(tensors(x=torch.sparse_coo_tensor(torch.tensor([[0, 1]]), torch.ones(2, 1), (6, 1))), path)
)
hostile("bsr.pt", "'x' is torch.sparse_bsr of shape [6, 2]: save x.to_dense()")(
    lambda path: torch.save(tensors(x=torch.ones(6, 2).to_sparse_bsr((2, 2))), path)
)
hostile("sparse-labels.pt", "'y' is torch.sparse_coo of shape [6]: save y.to_dense()")(
    lambda path: torch.save(tensors(y=torch.tensor([0, 1, 0, 1, 1, 0]).to_sparse()), path)
)

# Tensors of other kinds.

hostile("bfloat16.pt", "'x' is of type torch.bfloat16: save x.float()")(saved(x=torch.ones(6, 2, dtype=torch.bfloat16)))
hostile("complex.pt", "'x' is of type torch.complex64")(saved(x=torch.ones(6, 2, dtype=torch.complex64)))
hostile("quantized.pt", "'x' is quantized (torch.qint8): save x.dequantize()")(
    lambda path: torch.save(tensors(x=torch.quantize_per_tensor(torch.ones(6, 2), 0.1, 0, torch.qint8)), path)
)
hostile("meta.pt", "'x' is on the device 'meta' and contains no numbers")(
    saved(x=torch.empty(10**7, 10**6, device="meta"))
)
hostile("zero-stride.pt", "'x' is of shape [10000000, 1000000], but repeats a few stored numbers: save x.clone()")(
    saved(x=torch.zeros(1, 1).expand(10**7, 10**6))
)
hostile("zero-stride-edges.pt", "'edge_index' is of shape [2, 1000000000000], but repeats")(
    saved(edge_index=torch.zeros(2, 1, dtype=torch.int64).expand(2, 10**12))
)
hostile("no-columns.pt", "features have no columns")(saved(x=torch.empty(4 * 10**9, 0), y=None, train_mask=None))
hostile("no-splits.pt", "contain no split")(
    saved(**{f"{part}_mask": torch.empty(6, 0, dtype=torch.bool) for part in ("train", "val", "test")})
)
hostile("nested.pt", "'x' is a nested tensor")(
    lambda path: torch.save(tensors(x=torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])), path)
)


# Archives that are not what they say.


@hostile("claims.npz", "node_features should have shape [1000000000000] of float32, but 0 bytes are stored for it")
def _claims(path: Path) -> None:
    write_members(path, npz_members(node_features=npy((10**12,))))


@hostile("claims-2d.npz", "should have shape [1000000, 1000000] of float64, but 800 bytes")
def _claims_2d(path: Path) -> None:
    write_members(path, npz_members(node_features=npy((10**6, 10**6), "<f8", bytes(800))))


@hostile("negative-shape.npz", "should have shape [-6, -4]")
def _negative_shape(path: Path) -> None:
    write_members(path, npz_members(node_features=npy((-6, -4), "<f4", bytes(96))))


@hostile("subarray.npz", "node_features has no readable header")
def _subarray(path: Path) -> None:
    write_members(path, npz_members(node_features=npy((0,), ("<f4", (10**9,)))))


@hostile("no-bytes.npz", "node_features has type")
def _no_bytes(path: Path) -> None:
    write_members(path, npz_members(node_features=npy((10**12, 4), "|V0")))


@hostile("no-header.npz", "no-header.npz is not a complete .npz file")
def _no_header(path: Path) -> None:
    write_members(path, npz_members(node_features=b"\x93NUMPY\x01\x00\xff\xff{'descr'"))


@hostile("no-columns.npz", "features have no columns")
def _no_columns(path: Path) -> None:
    write_members(path, npz_members(node_features=npy((4 * 10**9, 0))))


@hostile("no-splits.npz", "contain no split")
def _no_splits(path: Path) -> None:
    empty = npy((0, 6), "|b1")
    write_members(path, npz_members(train_masks=empty, val_masks=empty, test_masks=empty))


@hostile("bomb.npz", "but its content would take 2,000,0")
def _bomb(path: Path) -> None:
    """Two gigabytes of zeros in two megabytes, in a stream that repeats one part of itself."""
    write_members(path, {name: content for name, content in npz_members().items() if "features" not in name})
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    start = packer.compress(npy((500_000, 1000))) + packer.flush(zlib.Z_FULL_FLUSH)
    zeros = packer.compress(bytes(10**7)) + packer.flush(zlib.Z_FULL_FLUSH)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("node_features.npy", start + 200 * zeros + packer.flush())
        member = archive.infolist()[-1]
        member.compress_type, member.file_size = zipfile.ZIP_DEFLATED, len(npy((500_000, 1000))) + 2 * 10**9


@hostile("overlap.npz", "overlap.npz is not a complete .npz file")
def _overlap(path: Path) -> None:
    """Many members that are one and the same part of the file."""
    write_members(path, {"node_features.npy": npy((1000, 1000), "<f4", bytes(4 * 10**6)), **npz_members(edges=b"")})
    content = path.read_bytes()
    end = content.rindex(b"PK\x05\x06")
    start = struct.unpack("<I", content[end + 16 : end + 20])[0]
    directory = content[start:end]
    first = directory[: directory.index(b"PK\x01\x02", 4)]
    many = b"".join(first.replace(b"node_features", b"x%012d" % i) for i in range(400))
    ending = bytearray(content[end:])
    ending[8:12] = struct.pack("<HH", *(2 * [400 + directory.count(b"PK\x01\x02")]))
    ending[12:16] = struct.pack("<I", len(directory + many))
    path.write_bytes(content[:start] + directory + many + bytes(ending))


@hostile("large-member.npz", "is not a complete .npz file")
def _large_member(path: Path) -> None:
    """A member whose size in the list is a lie."""
    write_members(path, npz_members(), zipfile.ZIP_STORED)
    content = bytearray(path.read_bytes())
    place = content.index(b"PK\x01\x02")
    content[place + 24 : place + 28] = struct.pack("<I", 2**32 - 2)
    path.write_bytes(content)


def _encrypted(path: Path) -> None:
    """The flag of encryption, in the list and before the member."""
    content = bytearray(path.read_bytes())
    for mark, flag in ((b"PK\x01\x02", 8), (b"PK\x03\x04", 6)):
        content[content.index(mark) + flag] |= 1
    path.write_bytes(content)


@hostile("encrypted.npz", "is encrypted: write it without a password")
def _encrypted_npz(path: Path) -> None:
    write_members(path, npz_members())
    _encrypted(path)


@hostile("encrypted.pt", "is encrypted: write it without a password")
def _encrypted_pt(path: Path) -> None:
    torch.save(tensors(), path)
    _encrypted(path)


@hostile("twice.npz", "contains 'node_labels.npy' more than once")
def _twice(path: Path) -> None:
    write_members(path, npz_members())
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("node_labels.npy", npz_members()["node_labels.npy"])


@hostile("twice.pt", "more than once")
def _twice_pt(path: Path) -> None:
    torch.save(tensors(), path)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("twice/data.pkl", archive.read("twice/data.pkl"))


@hostile("compressed.pt", "has an unsupported compression")
def _compressed(path: Path) -> None:
    torch.save(tensors(x=torch.zeros(10**5, 100)), path)
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    write_members(path, members)


@hostile("short-record.pt", "short-record.pt is not a complete file")
def _short_record(path: Path) -> None:
    """Fewer bytes than the tensor needs."""
    torch.save(tensors(), path)
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    members["short-record/data/0"] = members["short-record/data/0"][:4]
    write_members(path, members, zipfile.ZIP_STORED)


@hostile("changed-number.pt", "its member 'changed-number/data/0' is damaged")
def _changed_number(path: Path) -> None:
    torch.save(tensors(), path)
    content = path.read_bytes()
    numbers = torch.arange(12.0).numpy().tobytes()
    path.write_bytes(content.replace(numbers, numbers[:-1] + b"B"))


@hostile("patched.npz", "has an unsupported compression")
def _patched(path: Path) -> None:
    write_members(path, npz_members())
    content = bytearray(path.read_bytes())
    content[content.index(b"PK\x01\x02") + 8] |= 0x20
    path.write_bytes(content)


@hostile("before-the-file.npz", "before-the-file.npz is not a complete .npz file")
def _before_the_file(path: Path) -> None:
    """A list of members that is said to start later than it does, so that its members start too early."""
    write_members(path, npz_members())
    content = bytearray(path.read_bytes())
    place = content.rindex(b"PK\x05\x06") + 16
    start = struct.unpack("<I", content[place : place + 4])[0]
    content[place : place + 4] = struct.pack("<I", start + 100)
    path.write_bytes(content)


@hostile("old-form.pt", "torch before 1.6 used another format")
def _old_form(path: Path) -> None:
    torch.save(tensors(), path, _use_new_zipfile_serialization=False)


@hostile("many-rows", "200,000,000 rows would take")
def _many_rows(path: Path) -> None:
    """One value, said to be there two hundred million times."""
    import pyarrow
    import pyarrow.parquet

    path.mkdir()
    (path / "edges.csv").write_text("source,target\n0,1\n")
    half = pyarrow.DictionaryArray.from_arrays(pyarrow.array(np.zeros(10**7, dtype=np.int8)), pyarrow.array(["a"]))
    table = pyarrow.table({"id": half})
    with pyarrow.parquet.ParquetWriter(path / "nodes.parquet", table.schema, compression="zstd") as writer:
        for _ in range(20):
            writer.write_table(table)


@hostile("laughs.graphml", "cannot be read as GraphML")
def _laughs(path: Path) -> None:
    """One entity that becomes ten of another, forty times over."""
    entities = "".join(f'<!ENTITY a{i} "{f"&a{i - 1};" * 10}">' for i in range(1, 40))
    path.write_text(
        f'<?xml version="1.0"?><!DOCTYPE g [<!ENTITY a0 "ha">{entities}]>'
        '<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><key id="d" for="node" attr.name="f" '
        'attr.type="string"/><graph edgedefault="undirected"><node id="0"><data key="d">&a39;</data></node></graph>'
        "</graphml>"
    )


def read_all(paths: list[Path]) -> None:
    from typer.testing import CliRunner

    from unifilter import cli

    for module in ("pandas", "pyarrow.parquet", "torch_geometric.data"):
        import_module(module)  # what is imported once does not count
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    for path in paths:
        print(json.dumps({"start": path.name}), flush=True)
        signal.alarm(MOST_SECONDS)  # ends the process, as a crash does
        result = CliRunner().invoke(cli.app, ["data", "info", str(path)])
        print(json.dumps({"name": path.name, "code": result.exit_code, "stderr": result.stderr}), flush=True)


if __name__ == "__main__":
    read_all([Path(argument) for argument in sys.argv[1:]])
