from __future__ import annotations

import re
from pathlib import Path

import pytest
from small_files import write_ogb

from unifilter.datasets.formats import ogb


def test_the_raw_tables(tmp_path: Path) -> None:
    data = ogb.read(write_ogb(tmp_path / "ogbn_arxiv"))
    assert (data.name, data.num_nodes, data.num_classes) == ("ogbn-arxiv", 5, 4)
    assert data.graph.edges()[0].T.tolist() == [[0, 1], [1, 2], [2, 3]]
    assert data.features[0].tolist() == [0.5, -1.5]
    assert (data.labels.tolist(), data.class_names) == ([3, 0, 1, 1, 2], ("0", "1", "2", "4"))
    split = data.split("time")
    assert [part.tolist() for part in (split.train, split.val, split.test)] == [[0, 3], [1], [2, 4]]


def test_one_edge_and_one_feature_are_still_tables(tmp_path: Path) -> None:
    tables = {"raw/edge": "3,4\n", "raw/node-feat": "1\n2\n3\n4\n5\n"}
    data = ogb.read(write_ogb(tmp_path / "ogbn_arxiv", **tables))
    assert data.graph.edges()[0].tolist() == [[3], [4]]
    assert data.features.shape == (5, 1)


@pytest.mark.parametrize(
    ("table", "text", "message"),
    [
        ("raw/node-feat", "1,2\n3,4\n", "raw/node-feat.csv.gz in {} has 2 rows, but num-node-list says 5"),
        ("raw/node-label", "1\n", "raw/node-label.csv.gz in {} has 1 rows, but num-node-list says 5"),
        ("raw/edge", "0,1\n1,9\n", "edge 1 (1 -> 9) points to a node that does not exist"),
        ("raw/edge", "0,1\n1,b\n", "{}/raw/edge.csv.gz is not a complete table of numbers"),
        ("split/time/test", "0\n", "in split 0 of 'time', in train and test"),
    ],
)
def test_mistakes_are_named(table: str, text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=re.escape(message.format(tmp_path))):
        ogb.read(write_ogb(tmp_path, **{table: text}))


@pytest.mark.parametrize("keep", [5, -10])
def test_truncated_tables_are_named(keep: int, tmp_path: Path) -> None:
    path = write_ogb(tmp_path) / "raw/node-feat.csv.gz"
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(ValueError, match="node-feat.csv.gz is not a complete table of numbers .*: download it again"):
        ogb.read(tmp_path)
