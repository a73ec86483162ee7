"""The LINKX collection: Facebook100 and Genius."""

from __future__ import annotations

import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io
import torch
from small_files import EDGES, FEATURES, LABELS, write_facebook, write_genius

from unifilter.datasets.formats import facebook, genius

PARTS = {"train": np.array([5, 1]), "valid": np.array([2]), "test": np.array([4, 3])}


def save_splits(path: Path, splits: Any) -> Path:
    objects = np.empty(len(splits), dtype=object)
    objects[:] = splits
    np.save(path, objects, allow_pickle=True)
    return path


def test_gender_is_the_label_and_the_rest_one_hot(tmp_path: Path) -> None:
    data = facebook.read(write_facebook(tmp_path / "Reed98.mat"))
    assert data.name == "Reed98"
    assert data.labels.tolist() == [-1, 0, 1, 0, 1, 1]
    assert data.graph.num_edges == len(EDGES)
    # Status has the values 1, 2 and 5, the school 0, 10 and 53827; each of the four others is always missing.
    features = data.features.to_dense()
    assert features.shape == (6, 3 + 4 + 3)
    assert torch.equal(features.sum(dim=1), torch.full((6,), 6.0))
    assert features[:, :3].argmax(dim=1).tolist() == [0, 0, 1, 0, 1, 2]
    assert features[:, 7:].argmax(dim=1).tolist() == [0, 2, 0, 1, 2, 1]
    assert not data.splits


def test_linkx_splits(tmp_path: Path) -> None:
    splits = save_splits(tmp_path / "splits.npy", [PARTS, {**PARTS, "train": np.array([1])}])
    data = facebook.read(write_facebook(tmp_path / "Penn94.mat"), splits)
    assert [len(split.train) for split in data.splits["linkx-50-25-25"]] == [2, 1]
    assert data.split("linkx-50-25-25").train.tolist() == [1, 5]
    assert data.split("linkx-50-25-25").test.tolist() == [3, 4]


class Malicious:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return Path.touch, (self.path,)


def test_splits_that_run_code_are_refused(tmp_path: Path) -> None:
    splits = save_splits(tmp_path / "splits.npy", [{"train": Malicious(tmp_path / "harm")}])
    with pytest.raises(
        ValueError, match="splits.npy wants to load .*, which is not an array or container: it was not read"
    ):
        facebook.read(write_facebook(tmp_path / "Penn94.mat"), splits)
    assert not (tmp_path / "harm").exists()


def test_damaged_splits_are_named(tmp_path: Path) -> None:
    path = write_facebook(tmp_path / "Penn94.mat")
    splits = save_splits(tmp_path / "splits.npy", [{"train": PARTS["train"]}])
    with pytest.raises(ValueError, match="split 0 in .*splits.npy must have the parts train, valid and test"):
        facebook.read(path, splits)
    splits.write_bytes(save_splits(splits, [PARTS]).read_bytes()[:-9])
    with pytest.raises(ValueError, match="splits.npy is damaged .*: download it again"):
        facebook.read(path, splits)
    splits.write_bytes(pickle.dumps([PARTS]))
    with pytest.raises(ValueError, match="splits.npy is not a complete .npy file .*: download it again"):
        facebook.read(path, splits)
    np.save(splits, np.arange(3))
    with pytest.raises(ValueError, match="splits.npy contains plain int64 numbers instead of a list of splits"):
        facebook.read(path, splits)


def test_genius(tmp_path: Path) -> None:
    data = genius.read(write_genius(tmp_path / "genius.mat"))
    assert (data.name, data.metric, data.graph.num_edges) == ("genius", "roc_auc", len(EDGES))
    assert torch.equal(data.features, torch.from_numpy(FEATURES))
    assert data.labels.tolist() == LABELS.tolist()


@pytest.mark.parametrize("keep", [0, 60, 300])
def test_a_truncated_file_is_named(keep: int, tmp_path: Path) -> None:
    path = write_facebook(tmp_path / "Reed98.mat")
    path.write_bytes(path.read_bytes()[:keep])
    for reader in (facebook.read, genius.read):
        with pytest.raises(ValueError, match="Reed98.mat (is not a complete .mat file|has no array).*download it"):
            reader(path)


def test_arrays_that_do_not_fit_are_named(tmp_path: Path) -> None:
    path = write_genius(tmp_path / "genius.mat")
    with pytest.raises(ValueError, match="genius.mat has no array 'A': it is not the expected file"):
        facebook.read(path)
    for arrays in ({"A": np.eye(6), "local_info": np.ones((6, 7))}, {"A": np.eye(6), "local_info": np.ones((6, 2))}):
        scipy.io.savemat(path, arrays)
        columns = arrays["local_info"].shape[1]
        message = f"a sparse A and a local_info with 7 columns and one row per node, not [6, {columns}]"
        with pytest.raises(ValueError, match=re.escape(message)):
            facebook.read(path)
    scipy.io.savemat(path, {"edge_index": EDGES.T + 1, "node_feat": FEATURES, "label": LABELS})
    with pytest.raises(ValueError, match="points to a node that does not exist: nodes are 0 to 5"):
        genius.read(path)
