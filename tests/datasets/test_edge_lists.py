"""Edge lists from files, in blocks; converted data sets."""

from __future__ import annotations

import gzip
import os
import sys
from pathlib import Path

import numpy as np
import pandas
import pytest
import scipy.sparse as sp
import torch
from typer.testing import CliRunner

from unifilter import Graph, cli
from unifilter._internal.extras import MissingExtraError
from unifilter.data import NodeDataset
from unifilter.datasets import convert_dataset, load_dataset, read_edge_blocks
from unifilter.graph import EdgeBlock

pytestmark = pytest.mark.usefixtures("small_process")

RNG = np.random.default_rng(0)
EDGES = RNG.integers(0, 40, (2, 500))
WEIGHTS = RNG.integers(1, 5, 500) / 4


def write(path: Path, weights: np.ndarray | None) -> Path:
    columns = {"source": EDGES[0], "target": EDGES[1]} | ({} if weights is None else {"weight": weights})
    table = pandas.DataFrame(columns)
    if path.suffix == ".csv":
        table.to_csv(path, index=False)
    elif path.suffix == ".parquet":
        table.assign(other="x").to_parquet(path)
    elif path.name == "pairs.npy":
        np.save(path, EDGES.T)
    elif path.suffix == ".npy":
        np.save(path, EDGES)
    else:
        lines = "# a comment\n% another\n\n" + table.to_csv(sep="\t", header=False, index=False)
        path.write_bytes(gzip.compress(lines.encode()) if path.suffix == ".gz" else lines.encode())
    return path


@pytest.mark.parametrize("name", ["a.csv", "a.parquet", "a.npy", "pairs.npy", "a.txt", "a.tsv.gz"])
@pytest.mark.parametrize("weighted", [False, True])
def test_every_kind_of_file_gives_the_same_edges(tmp_path: Path, name: str, weighted: bool) -> None:
    if weighted and name.endswith(".npy"):
        weighted = False  # an array of ids has no weights
    blocks = list(read_edge_blocks(write(tmp_path / name, WEIGHTS if weighted else None), lines=64))
    assert len(blocks) >= 8
    assert max(len(block.source) for block in blocks) <= 64
    assert np.array_equal(np.concatenate([block.source for block in blocks]), EDGES[0])
    assert np.array_equal(np.concatenate([block.target for block in blocks]), EDGES[1])
    if weighted:
        assert np.array_equal(np.concatenate([np.asarray(block.weight) for block in blocks]), WEIGHTS)
    else:
        assert all(block.weight is None for block in blocks)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"from,to\n1,2\n", "no column 'source'"),
        ("a.csv", b"source,target\n1,\n2,3\n", "column 'target'.*whole numbers without gaps"),
        ("a.csv", b"source,target\na,b\n", "column 'source'.*number the nodes"),
        ("a.csv", b"", "cannot be read as a table"),
        ("a.parquet", b"nothing", "cannot be read as a table"),
        ("a.npy", b"nothing", "cannot be read as an array"),
        ("a.txt", b"1 2 3 4\n", "its first line has 4 fields"),
        ("a.txt", b"1 2\n3 x\n", "is no edge list.*each line has two ids"),
    ],
)
def test_files_that_are_no_edge_lists(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=message):
        list(read_edge_blocks(tmp_path / name))


def test_a_file_that_is_not_there_and_an_array_that_is_no_list(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="there is no file"):
        read_edge_blocks(tmp_path / "no.csv")
    np.save(tmp_path / "a.npy", np.zeros((3, 3), int))
    with pytest.raises(ValueError, match=r"an edge list is \[2, edges\]"):
        list(read_edge_blocks(tmp_path / "a.npy"))


def test_tables_need_their_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.csv").touch()
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtraError, match="pandas"):
        read_edge_blocks(tmp_path / "a.csv")


@pytest.mark.parametrize("sparse", [False, True])
def test_a_converted_data_set_is_the_one_in_memory(tmp_path: Path, sparse: bool) -> None:
    x = np.where(RNG.random((45, 30)) < 0.1, RNG.random((45, 30)), 0).astype(np.float32)
    labels = RNG.integers(-1, 3, 45)
    np.save(tmp_path / "labels.npy", labels)
    features = tmp_path / ("x.npz" if sparse else "x.npy")
    if sparse:
        sp.save_npz(features, sp.csr_array(x))
    else:
        np.save(features, x)
    blocks = read_edge_blocks(write(tmp_path / "a.txt", WEIGHTS), lines=99)
    made = convert_dataset(blocks, tmp_path / "out", features=features, labels=tmp_path / "labels.npy")
    assert isinstance(made, NodeDataset)
    opened = load_dataset(tmp_path / "out")
    expected = NodeDataset("out", Graph.from_edges(EDGES, 45, WEIGHTS), torch.from_numpy(x), torch.from_numpy(labels))
    assert opened.checksum == made.checksum == expected.checksum
    assert (opened.features.layout == torch.sparse_csr) is sparse
    path = tmp_path / "out" / "labels.npy"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(ValueError, match="labels.npy has"):
        load_dataset(tmp_path / "out")


def test_what_does_not_fit_together_is_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.ones((5, 2)))
    np.save(tmp_path / "y.npy", np.ones(4, int))
    np.save(tmp_path / "text.npy", np.array(["a"]))
    one, x, y = [EdgeBlock(np.array([0]), np.array([1]))], tmp_path / "x.npy", tmp_path / "y.npy"
    with pytest.raises(ValueError, match="one for each of the 5 rows"):
        convert_dataset(one, tmp_path / "out", features=x, labels=y)
    with pytest.raises(ValueError, match="labels come with features"):
        convert_dataset(one, tmp_path / "out", labels=y)
    with pytest.raises(ValueError, match="leave num_nodes out"):
        convert_dataset(one, tmp_path / "out", features=x, num_nodes=4)
    with pytest.raises(ValueError, match="features are numbers"):
        convert_dataset(one, tmp_path / "out", features=tmp_path / "text.npy")
    with pytest.raises(ValueError, match="cannot be read as features"):
        convert_dataset(one, tmp_path / "out", features=write(tmp_path / "a.txt", None))
    with pytest.raises(ValueError, match="cannot be read as labels"):
        convert_dataset(one, tmp_path / "out", features=x, labels=write(tmp_path / "a.txt", None))
    convert_dataset(one, tmp_path / "out")
    with pytest.raises(ValueError, match="holds a graph without features"):
        load_dataset(tmp_path / "out")
    convert_dataset(one, tmp_path / "whole", features=x)
    with pytest.raises(ValueError, match="undirected"):
        load_dataset(tmp_path / "whole", direction="out")


def test_the_command_converts_and_says_what_it_made(tmp_path: Path) -> None:
    edges = str(write(tmp_path / "edges.csv", None))
    result = CliRunner().invoke(cli.app, ["data", "convert", edges, "--out", str(tmp_path / "g"), "--num-nodes", "50"])
    assert result.exit_code == 0, result.output
    assert f"{tmp_path / 'g'}: {Graph.from_edges(EDGES, 50)!r}" in result.stdout
    assert Graph.open(tmp_path / "g").checksum == Graph.from_edges(EDGES, 50).checksum
    again = CliRunner().invoke(cli.app, ["data", "convert", edges, "--out", str(tmp_path / "g")])
    assert again.exit_code == 2
    assert "exists already" in again.stderr
    assert sorted(os.listdir(tmp_path)) == ["edges.csv", "g"]
