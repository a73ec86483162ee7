from __future__ import annotations

import os
import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from small_files import write_planetoid

from unifilter.datasets.formats import planetoid


def read(folder: Path, **changes: Any) -> Any:
    return planetoid.read(write_planetoid(folder, **changes), "cora")


def test_test_rows_go_where_their_index_says(tmp_path: Path) -> None:
    data = read(tmp_path)
    dense = data.features.to_dense()
    assert dense.shape == (509, 40)
    # The first test row belongs to node 506, the second to 508, the third to 505.
    assert [int(dense[node].argmax()) for node in (3, 506, 508, 505)] == [3, 10, 11, 12]
    assert data.labels[[0, 1, 2, 506, 508, 505]].tolist() == [0, 1, 2, 1, 2, 0]
    assert data.split("public").train.tolist() == [0, 1]
    assert data.split("public").val.tolist() == list(range(2, 502))
    assert data.split("public").test.tolist() == [505, 506, 508]


def test_a_node_without_a_row_has_no_features_and_class_0(tmp_path: Path) -> None:
    data = read(tmp_path)
    assert not data.features.to_dense()[507].any()
    assert data.labels[507] == 0
    assert data.graph.isolated[507]


def test_duplicates_and_loops_in_the_lists_are_dropped(tmp_path: Path) -> None:
    assert read(tmp_path).graph.edges()[0].T.tolist() == [[0, 1], [0, 2], [2, 3], [505, 506], [506, 508]]


def test_geom_gcn_masks(tmp_path: Path) -> None:
    folder = write_planetoid(tmp_path)
    files = []
    for index in range(2):
        parts = (np.arange(509) + index) % 4  # every fourth node is in no part
        masks = {f"{part}_mask": (parts == i).astype(np.uint8) for i, part in enumerate(("train", "val", "test"))}
        files.append(tmp_path / f"cora_split_0.6_0.2_{index}.npz")
        np.savez(files[-1], **masks)
    data = planetoid.read(folder, "cora", files)
    assert data.split("48", 0).train[:3].tolist() == [0, 4, 8]
    assert data.split("48", 1).train[:3].tolist() == [3, 7, 11]
    np.savez(files[1], train_mask=np.ones(509))
    with pytest.raises(ValueError, match="cora_split_0.6_0.2_1.npz has no array 'val_mask': download it again"):
        planetoid.read(folder, "cora", files)


class Malicious:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.path),)


@pytest.mark.parametrize("suffix", ["y", "allx", "graph"])
@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_a_pickle_that_wants_more_than_arrays_is_refused(suffix: str, protocol: int, tmp_path: Path) -> None:
    folder = write_planetoid(tmp_path / "data")
    path = folder / f"ind.cora.{suffix}"
    path.write_bytes(pickle.dumps({0: [Malicious(tmp_path / "harm")]}, protocol=protocol))
    with pytest.raises(ValueError, match=r"wants to load (posix|nt).mkdir, which is not an array or container: it was"):
        planetoid.read(folder, "cora")
    assert not (tmp_path / "harm").exists()


@pytest.mark.parametrize("name", ["builtins.eval", "__builtin__.getattr", "numpy.load", "scipy.sparse.load_npz"])
def test_harmless_modules_have_harmful_functions(name: str, tmp_path: Path) -> None:
    folder = write_planetoid(tmp_path)
    module, function = name.rsplit(".", 1)
    (folder / "ind.cora.y").write_bytes(f"c{module}\n{function}\n.".encode())
    with pytest.raises(ValueError, match=f"wants to load {name}"):
        planetoid.read(folder, "cora")


def test_pickles_of_python_2_are_read(tmp_path: Path) -> None:
    # What Python 2 wrote for numpy.array([[0, 1], [1, 0]], dtype=int8): the data is a plain string of bytes.
    old = (
        b"\x80\x02cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b\x87R(K\x01K\x02K\x02\x86"
        b"cnumpy\ndtype\nU\x02i1K\x00K\x01\x87R(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89"
        b"U\x04\x00\x01\x01\x00tb."
    )
    folder = write_planetoid(tmp_path)
    (folder / "ind.cora.y").write_bytes(old)
    assert planetoid.read(folder, "cora").split("public").train.tolist() == [0, 1]


def bad_indices() -> Any:
    matrix = sp.csr_matrix(np.eye(505, 40))
    matrix.indices[3] = 4_000_000
    return matrix


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tx": sp.csr_matrix(np.eye(2, 40))}, "ind.cora.tx has 2 rows, but the files beside it need 3"),
        ({"ty": np.eye(4)}, "ind.cora.ty has 4 rows, but the files beside it need 3"),
        ({"ally": np.eye(3)}, "ind.cora.ally has 3 rows, but the files beside it need 505"),
        ({"allx": np.eye(505)}, "ind.cora.allx contains ndarray instead of a sparse matrix"),
        ({"allx": bad_indices()}, "ind.cora.allx is damaged"),
        ({"y": [1, 2]}, "ind.cora.y contains list instead of a matrix"),
        ({"graph": [[0, 1]]}, "ind.cora.graph contains list instead of lists of neighbors"),
        ({"graph": {0: [999]}}, "edge 0 (0 -> 999) points to a node that does not exist"),
    ],
)
def test_files_that_do_not_fit_are_named(changes: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        read(tmp_path, **changes)


@pytest.mark.parametrize("suffix", ["y", "tx", "graph"])
@pytest.mark.parametrize("keep", [0, 30, -5])
def test_truncated_pickles_are_named(suffix: str, keep: int, tmp_path: Path) -> None:
    path = write_planetoid(tmp_path) / f"ind.cora.{suffix}"
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(ValueError, match=f"ind.cora.{suffix} is damaged .*: download it again"):
        planetoid.read(tmp_path, "cora")


@pytest.mark.parametrize(("text", "message"), [("", "is empty"), ("5\nsix\n", "must contain one node index per line")])
def test_the_index_file_is_looked_at(text: str, message: str, tmp_path: Path) -> None:
    (write_planetoid(tmp_path) / "ind.cora.test.index").write_text(text)
    with pytest.raises(ValueError, match=f"ind.cora.test.index {message}.*download it again"):
        planetoid.read(tmp_path, "cora")


def test_features_are_kept_sparse(tmp_path: Path) -> None:
    assert read(tmp_path).features.layout == torch.sparse_csr
