from __future__ import annotations

import os
import pickle
import sys
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import torch
from torch_geometric.data import Data, HeteroData

from unifilter.data import NodeDataset, Table
from unifilter.data.summary import describe
from unifilter.datasets import load_dataset
from unifilter.datasets.formats import graphml, saved_data, tables

NODES = """id,color,age,member,label,split
ann,red,31,True,cat,train
bob,blue,45.5,False,dog,train
cy,red,28,True,cat,val
di,blue,50,True,dog,test
ed,red,7,False,,
"""
EDGES = """source,target,weight,since
ann,bob,1.5,2001
bob,cy,2,2002
cy,di,1,2003
"""


def write(folder: Path, nodes: str | None = NODES, edges: str | None = EDGES) -> Path:
    for name, text in (("nodes", nodes), ("edges", edges)):
        if text is not None:
            (folder / f"{name}.csv").write_text(text)
    return folder


def write_parquet(folder: Path, nodes: pd.DataFrame, edges: pd.DataFrame) -> Path:
    nodes.to_parquet(folder / "nodes.parquet")
    edges.to_parquet(folder / "edges.parquet")
    return folder


def check_example(dataset: NodeDataset) -> None:
    table = dataset.table
    assert isinstance(table, Table)
    assert dataset.inputs is table
    assert {name: values.tolist() for name, values in table.columns.items()} == {
        "color": ["red", "blue", "red", "blue", "red"],
        "age": [31, 45.5, 28, 50, 7],
        "member": [True, False, True, True, False],
    }
    assert dataset.node_ids.tolist() == ["ann", "bob", "cy", "di", "ed"]  # type: ignore[union-attr]
    # blue, red, other; age; False, True, other
    expected = torch.tensor(
        [
            [0, 1, 0, 31, 0, 1, 0],
            [1, 0, 0, 45.5, 1, 0, 0],
            [0, 1, 0, 28, 0, 1, 0],
            [1, 0, 0, 50, 0, 1, 0],
            [0, 1, 0, 7, 1, 0, 0],
        ]
    )
    age = expected[:, 3].clone()
    expected[:, 3] = (age - age.mean()) / age.std(correction=0)
    torch.testing.assert_close(dataset.features, expected)
    assert dataset.labels.tolist() == [0, 1, 0, 1, -1]
    assert dataset.class_names == ("cat", "dog")
    ends, weights = dataset.graph.edges()
    assert ends.T.tolist() == [[0, 1], [1, 2], [2, 3]]
    assert weights.tolist() == [1.5, 2, 1]
    assert dataset.graph.isolated.tolist() == [False] * 4 + [True]
    (split,) = dataset.splits["given"]
    assert (split.train.tolist(), split.val.tolist(), split.test.tolist()) == ([0, 1], [2], [3])


def test_a_folder_of_tables(tmp_path: Path) -> None:
    dataset = tables.read(write(tmp_path))
    check_example(dataset)
    assert dataset.name == tmp_path.name
    assert dataset.source == str(tmp_path)
    check_example(load_dataset(tmp_path))
    check_example(load_dataset(str(tmp_path)))


def test_parquet_holds_the_same(tmp_path: Path) -> None:
    write(tmp_path)
    nodes, edges = (pd.read_csv(tmp_path / f"{name}.csv") for name in ("nodes", "edges"))
    nodes["color"] = nodes["color"].astype("category")
    for name in ("nodes", "edges"):
        (tmp_path / f"{name}.csv").unlink()
    check_example(tables.read(write_parquet(tmp_path, nodes, edges)))
    write(tmp_path, nodes=None)
    (tmp_path / "edges.parquet").unlink()
    check_example(tables.read(tmp_path))  # one of each


def test_nullable_columns_of_parquet(tmp_path: Path) -> None:
    nodes = pd.DataFrame(
        {
            "id": [3, 1, 2],
            "size": pd.array([1, 2, 3], dtype="Int64"),
            "kind": pd.array([True, False, True], dtype="boolean"),
            "label": [5.0, 7.0, None],  # whole numbers with a gap arrive as floats
        }
    )
    nodes["zip"] = pd.Categorical(["53111", "53113", "53111"])
    dataset = tables.read(write_parquet(tmp_path, nodes, pd.DataFrame({"source": [3], "target": [2]})))
    assert {name: values.tolist() for name, values in dataset.table.columns.items()} == {  # type: ignore[union-attr]
        "size": [1, 2, 3],
        "kind": [True, False, True],
        "zip": ["53111", "53113", "53111"],  # a categorical column holds categories
    }
    assert dataset.node_ids.tolist() == ["3", "1", "2"]  # type: ignore[union-attr]
    assert dataset.labels.tolist() == [0, 1, -1]
    assert dataset.class_names == ("5", "7")
    assert dataset.graph.edges()[0].tolist() == [[0], [2]]
    assert dataset.splits == {}


def test_ids_are_text_whatever_they_look_like(tmp_path: Path) -> None:
    # As numbers 1 and 01 would be one node, and NA would be missing.
    dataset = tables.read(write(tmp_path, "id,x\n1,5\n01,6\nNA,7\n", "source,target\n01,NA\n1,01\n"))
    assert dataset.graph.edges()[0].tolist() == [[0, 1], [1, 2]]
    assert dataset.labels.tolist() == [-1, -1, -1]
    mixed = tables.read(write(tmp_path, "id,x\n1,5\na,6\n", "source,target\n"))
    assert mixed.graph.num_edges == 0


@pytest.mark.parametrize(
    ("labels", "indices", "names"),
    [
        (["10", "9", "10"], [1, 0, 1], ("9", "10")),  # as numbers, not as text
        (["2", "-1", "0"], [1, -1, 0], ("0", "2")),
        (["b", "", "a"], [1, -1, 0], ("a", "b")),
        (["1", "nan", "0"], [1, -1, 0], ("0", "1")),
        (["1", "x", "-1"], [1, 2, 0], ("-1", "1", "x")),  # among text, -1 is a name
        (["NA", "None", "NA"], [0, 1, 0], ("NA", "None")),  # names of classes too
        (["", "", ""], [-1, -1, -1], ()),
        # Larger than what a float can tell apart.
        (["9007199254740993", "9007199254740992", "4.0"], [2, 1, 0], ("4", "9007199254740992", "9007199254740993")),
        (["9223372036854775807", "0", "1e3"], [2, 0, 1], ("0", "1000", "9223372036854775807")),
    ],
)
def test_labels(tmp_path: Path, labels: list[str], indices: list[int], names: tuple[str, ...]) -> None:
    rows = "".join(f"n{i},{label},1\n" for i, label in enumerate(labels))
    dataset = tables.read(write(tmp_path, "id,label,x\n" + rows, "source,target\nn0,n1\n"))
    assert dataset.labels.tolist() == indices
    assert dataset.class_names == names


def test_many_categories_are_kept_sparse(tmp_path: Path) -> None:
    rows = "".join(f"{i},c{i % 50:02d}\n" for i in range(200))
    dataset = tables.read(write(tmp_path, "id,kind\n" + rows, "source,target\n0,1\n"))
    assert dataset.features.layout == torch.sparse_csr
    expected = torch.nn.functional.one_hot(torch.arange(200) % 50).float()
    assert torch.equal(dataset.features.to_dense()[:, :50], expected)
    assert dataset.features.shape[1] == 51


@pytest.mark.parametrize(
    ("nodes", "edges", "message"),
    [
        (
            NODES,
            EDGES + "di,zoe,1,2004\n",
            r"row 4 \(di -> zoe\) contains 'zoe', which is not an id in nodes\.csv",
        ),
        (NODES, EDGES + ",di,1,2004\n", r"edges\.csv: row 4 has no source: fill it in or drop the row"),
        (
            NODES,
            EDGES.replace("target", "to"),
            r"edges\.csv has no column 'target'.*found: source, to, weight",
        ),
        (NODES, EDGES.replace("cy", "zoe"), r"row 2 \(bob -> zoe\) contains 'zoe', .*the edge \(2 such rows in all\)"),
        (NODES, EDGES.replace("1.5", "-1.5"), r"edges\.csv: row 1 \(ann -> bob\) has a negative weight: correct it"),
        (
            NODES,
            EDGES.replace("1.5", ""),
            r"edges\.csv: row 1 \(ann -> bob\) has no weight: fill it in, or drop the edge",
        ),
        (
            NODES,
            EDGES.replace("1.5", "heavy"),
            r"edges\.csv: column 'weight' contains numbers and text, first 'heavy' at row 1",
        ),
        (NODES, "source,target,weight\nann,bob,heavy\n", r"edges\.csv: column 'weight' must contain only numbers"),
        (
            NODES,
            EDGES.replace("1.5", "inf"),
            r"edges\.csv: column 'weight' contains inf at row 1, which is not a finite float32",
        ),
        (
            NODES.replace("id,", "name,"),
            EDGES,
            r"nodes\.csv has no column 'id': add it, or rename a column.*: name, color",
        ),
        (NODES + "bob,red,1,True,cat,\n", EDGES, r"nodes\.csv: id 'bob' is in rows 2 and 6: ids must be unique"),
        (NODES.replace("ed,", ","), EDGES, r"nodes\.csv: row 5 has no id"),
        (NODES.replace("45.5", "inf"), EDGES, r"column 'age' contains inf at node 'bob', which is not a finite"),
        (
            NODES.replace("45.5", "1e300"),
            EDGES,
            r"column 'age' contains 1e\+300 at node 'bob', which is not a finite float32",
        ),
        (
            NODES.replace("45.5", "old"),
            EDGES,
            r"column 'age' contains numbers and text, first 'old' at node 'bob'",
        ),
        (
            NODES.replace(",val", ",valid"),
            EDGES,
            r"the split of node 'cy' is 'valid': write train, val, test",
        ),
        (NODES.replace(",val", ","), EDGES, r"nodes\.csv: the val set of split 0 of 'given' is empty"),
        (NODES.replace("False,,", "False,,test"), EDGES, r"nodes\.csv: node 4 in the test set.*has no label"),
        (
            NODES.replace("cat", "1.5").replace("dog", "2"),
            EDGES,
            r"the label of node 'ann' is 1\.5, but a class",
        ),
        ("id,label\na,0\n", "source,target\n", r"nodes\.csv has no feature column: add one that describes"),
        ("id,x\n", "source,target\n", r"nodes\.csv has no rows: add one row per node"),
        (",id,x\n0,a,1\n", "source,target\n", r"a column has no name; if it is the index.*with index=False"),
        (
            "id,x,x\na,1,2\n",
            "source,target\n",
            r"nodes\.csv cannot be read as a table: two columns are named 'x'; rename",
        ),
        ("", EDGES, r"nodes\.csv cannot be read as a table: No columns"),
        ("id,x\na,1\nb,2,3\n", EDGES, r"nodes\.csv cannot be read as a table: .*line 3"),
    ],
)
def test_bad_tables_are_refused(tmp_path: Path, nodes: str, edges: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tables.read(write(tmp_path, nodes, edges))


def test_everything_wrong_in_both_tables_is_told_at_once(tmp_path: Path) -> None:
    nodes = (
        NODES.replace("31", "old").replace("red,28", "7,28").replace("val", "valid").replace("cat", "1.5")
        + "bob,red,1,True,2,\n"
    ).replace("dog", "2")
    edges = EDGES.replace("1.5", "-1") + "zoe,ann,,2004\n,ann,1,2005\n"
    with pytest.raises(ValueError, match="nodes.csv") as caught:
        tables.read(write(tmp_path, nodes, edges))
    starts = (
        "nodes.csv: id 'bob' is in rows 2 and 6",
        "nodes.csv: the label of node 'ann' is 1.5",
        "nodes.csv: the split of node 'cy' is 'valid'",
        "nodes.csv: column 'color' contains text and numbers, first '7' at node 'cy'",
        "nodes.csv: column 'age' contains numbers and text, first 'old' at node 'ann'",
        "edges.csv: row 5 has no source",
        "edges.csv: row 4 has no weight",
        "edges.csv: row 1 has a negative weight",
    )
    lines = str(caught.value).splitlines()
    assert len(lines) == len(starts)
    for line, start in zip(lines, starts, strict=True):
        assert line.startswith(start)
    write(tmp_path, NODES.replace("id,", "name,"), EDGES.replace("1.5", "-1"))
    with pytest.raises(
        ValueError, match=r"nodes\.csv has no column 'id'.*\nedges\.csv: row 1 \(ann -> bob\) has a neg"
    ):
        tables.read(tmp_path)
    with pytest.raises(ValueError, match=r"nodes\.csv cannot be read.*\n.*edges\.csv cannot be read"):
        tables.read(write(tmp_path, "", ""))


def test_text_that_makes_no_categories_is_told_with_what_else_is_wrong(tmp_path: Path) -> None:
    rows = "".join(f"n{row},name {row},{row}\n" for row in range(30))
    names = r"nodes\.csv: column 'name' has no value twice, so its values cannot be categories: drop"
    dataset = tables.read(write(tmp_path, "id,name,x\n" + rows, "source,target\n"))  # as new data it may be right
    with pytest.raises(ValueError, match=names):
        _ = dataset.features
    for nodes, edges in (
        ("id,name,x\n" + rows, "source,target\nn1,n99\n"),
        ("id,name,x\n" + rows + "n30,name 7b,old\n", "source,target\n"),
        ("id,name,label\n" + rows + "n30,name 7b,0.5\n", "source,target\n"),
    ):
        with pytest.raises(ValueError, match=names) as caught:
            tables.read(write(tmp_path, nodes, edges))
        assert len(str(caught.value).splitlines()) == 2


def test_missing_values_are_read(tmp_path: Path) -> None:
    nodes = NODES.replace("45.5", "NA").replace("cy,red", "cy,N/A").replace("ed,red", "ed,")
    table = tables.read(write(tmp_path, nodes)).table
    assert table is not None
    np.testing.assert_array_equal(table.columns["age"], [31, np.nan, 28, 50, 7])
    assert table.columns["color"].tolist() == ["red", "blue", None, "blue", None]


def test_thousands_separators_and_dates_are_read(tmp_path: Path) -> None:
    nodes = 'id,amount,since\na,"1,200.50",2024-03-01\nb,7,2024-03-02 12:00\n'
    table = tables.read(write(tmp_path, nodes, 'source,target,weight\na,b,"2,000"\n')).table
    assert table is not None
    assert table.columns["amount"].tolist() == [1200.5, 7]
    assert table.columns["since"].astype(str).tolist() == [
        "2024-03-01T00:00:00.000000000",
        "2024-03-02T12:00:00.000000000",
    ]


def test_new_nodes_can_be_read_where_nothing_could_be_learned_from_them(tmp_path: Path) -> None:
    one = tables.read(write(tmp_path, "id,x,word\na,1,b\n", "source,target\n"))
    assert repr(one) == f"NodeDataset({tmp_path.name!r}, nodes=1, edges=0, columns=2, classes=0, splits=[])"
    assert len(one.checksum) == 64
    with pytest.raises(ValueError, match=r"nodes\.csv has no usable column \(column 'x' is not used"):
        _ = one.features


def test_columns_that_no_feature_can_be_made_of_are_refused(tmp_path: Path) -> None:
    edges = pd.DataFrame({"source": ["a"], "target": ["b"]})
    spans = pd.DataFrame({"id": ["a", "b"], "span": pd.to_timedelta([1, 2])})
    with pytest.raises(ValueError, match=r"column 'span' contains timedelta64.*convert it to numbers, dates or text"):
        tables.read(write_parquet(tmp_path, spans, edges))
    lists = pd.DataFrame({"id": ["a", "b"], "tags": [[1], [2]]})
    with pytest.raises(
        ValueError, match=r"column 'tags' contains .* at node 'a', which is a ndarray: a column contains numbers"
    ):
        tables.read(write_parquet(tmp_path, lists, edges))
    decimal = pd.DataFrame({"id": [1.5, 2.0], "x": [1, 2]})
    with pytest.raises(ValueError, match=r"nodes\.parquet: id 1\.5 in row 1 is a decimal number: ids must be text"):
        tables.read(write_parquet(tmp_path, decimal, edges))


def test_missing_and_ambiguous_files(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="there is no folder .*nowhere: pass one with nodes.csv and edges.csv"):
        tables.read(tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError, match=r"has neither nodes\.csv nor nodes\.parquet: add one of them"):
        tables.read(write(tmp_path, nodes=None))
    write(tmp_path)
    (tmp_path / "edges.parquet").write_bytes(b"PAR1")
    with pytest.raises(ValueError, match=r"has both edges\.csv and edges\.parquet: delete one of them"):
        tables.read(tmp_path)
    (tmp_path / "edges.csv").unlink()
    with pytest.raises(ValueError, match=r"edges\.parquet cannot be read as a table: "):
        tables.read(tmp_path)


def test_missing_packages_name_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path)
    with monkeypatch.context() as patched:
        patched.setitem(sys.modules, "pandas", None)
        with pytest.raises(ImportError, match=r"reading tables needs pandas: pip install 'unifilter\[tables\]'"):
            tables.read(tmp_path)
    (tmp_path / "nodes.csv").rename(tmp_path / "nodes.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"reading \.parquet needs pandas and pyarrow: pip .*'unifilter\[tables\]'"):
        tables.read(tmp_path)


def example_network() -> nx.Graph:
    network = nx.Graph()
    for row in NODES.splitlines()[1:]:
        name, color, age, member, label, split = row.split(",")
        network.add_node(name, color=color, age=float(age), member=member == "True")
        network.nodes[name].update({key: value for key, value in (("label", label), ("split", split)) if value})
    network.add_weighted_edges_from([("ann", "bob", 1.5), ("bob", "cy", 2.0)])
    network.add_edge("cy", "di")  # without a weight: 1
    return network


def test_graphml(tmp_path: Path) -> None:
    path = tmp_path / "club.graphml"
    nx.write_graphml(example_network(), path)
    check_example(graphml.read(path))
    assert load_dataset(path).name == "club"
    nx.write_graphml(nx.MultiDiGraph(example_network()), path)
    check_example(graphml.read(path))


def test_defaults_that_graphml_declares_count(tmp_path: Path) -> None:
    path = tmp_path / "defaults.graphml"
    path.write_text(
        """<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
        <key id="k" for="node" attr.name="size" attr.type="double"><default>4</default></key>
        <key id="w" for="edge" attr.name="weight" attr.type="double"><default>3</default></key>
        <graph edgedefault="undirected"><node id="a"/><node id="b"><data key="k">2.5</data></node>
        <edge source="a" target="b"/></graph></graphml>"""
    )
    dataset = graphml.read(path)
    assert dataset.table.columns["size"].tolist() == [4, 2.5]  # type: ignore[union-attr]
    assert dataset.graph.edges()[1].tolist() == [3]
    assert dataset.labels.tolist() == [-1, -1]


def test_bad_graphml_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bad.graphml"
    with pytest.raises(FileNotFoundError, match="there is no file .*bad.graphml: pass the path"):
        graphml.read(path)
    nx.write_graphml(nx.Graph(), path)
    with pytest.raises(ValueError, match="bad.graphml has no nodes: the graph needs at least one"):
        graphml.read(path)
    network = example_network()
    for ends in network.edges:
        network.edges[ends]["weight"] = "heavy"
    network.nodes["di"]["color"] = "7"
    nx.write_graphml(network, path)
    with pytest.raises(
        ValueError, match=r"graphml: column 'color' .* '7' at node 'di'(.|\n)*edge ann -> bob is 'heavy'"
    ):
        graphml.read(path)
    whole = path.read_text()
    path.write_text(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match="bad.graphml cannot be read as GraphML: "):
        graphml.read(path)
    path.write_text("<html></html>")
    with pytest.raises(ValueError, match="bad.graphml cannot be read as GraphML: "):
        graphml.read(path)


def example_data() -> Data:
    part = torch.tensor([0, 0, 1, 2, 2])
    return Data(
        x=torch.arange(10.0).reshape(5, 2),
        edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 3]]),
        y=torch.tensor([0, 1, 0, 1, 1]),
        train_mask=part == 0,
        val_mask=part == 1,
        test_mask=part == 2,
        extra="not used",
    )


@pytest.mark.parametrize("as_dict", [False, True])
def test_saved_data(tmp_path: Path, as_dict: bool) -> None:
    data, path = example_data(), tmp_path / "mine.pt"
    torch.save(data.to_dict() if as_dict else data, path)
    for dataset in (saved_data.read(path), load_dataset(path)):
        assert torch.equal(dataset.features, data.x)
        assert torch.equal(dataset.labels, data.y)
        assert dataset.graph.edges()[0].T.tolist() == [[0, 1], [1, 2], [2, 3]]
        (split,) = dataset.splits["given"]
        assert (split.train.tolist(), split.val.tolist(), split.test.tolist()) == ([0, 1], [2], [3, 4])
        assert (dataset.name, dataset.source) == ("mine", str(path))


def test_saved_data_of_other_shapes(tmp_path: Path) -> None:
    path = tmp_path / "mine.pt"
    data = example_data()
    del data.train_mask, data.val_mask, data.test_mask, data.y
    data.edge_weight = torch.tensor([2.0, 3.0, 1.0, 0.5])
    data.x = torch.eye(5, 40).to_sparse_csr()
    torch.save(data, path)
    dataset = saved_data.read(path)
    assert torch.equal(dataset.features.to_dense(), torch.eye(5, 40))
    assert dataset.labels.tolist() == [-1] * 5
    assert dataset.graph.edges()[1].tolist() == [3, 1, 0.5]
    assert dataset.splits == {}


class Trap:
    """Leaves a folder behind where it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.path),)


@pytest.mark.parametrize("inside", [False, True])
def test_nothing_in_a_saved_file_is_run(tmp_path: Path, inside: bool) -> None:
    path, mark = tmp_path / "trap.pt", tmp_path / "sprung"
    data = example_data()
    data.extra = Trap(mark)
    torch.save(data if inside else Trap(mark), path)
    with pytest.raises(ValueError, match=r"is not read, because reading could run code.*it contains \S*mkdir, but"):
        saved_data.read(path)
    path.write_bytes(pickle.dumps(Trap(mark), protocol=2))
    with pytest.raises(ValueError, match="trap.pt is n"):
        saved_data.read(path)
    assert not mark.exists()


def test_bad_saved_data_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bad.pt"

    def refused(content: Any, message: str) -> None:
        torch.save(content, path)
        with pytest.raises(ValueError, match=message):
            saved_data.read(path)

    tensors = example_data().to_dict()
    with pytest.raises(FileNotFoundError, match="there is no file .*bad.pt: pass the path of a file written by torch"):
        saved_data.read(path)
    refused([1, 2], "contains a list, but must contain one Data object or one dict of tensors")
    refused(HeteroData(), "it contains torch_geometric")
    refused({"features": torch.eye(2)}, r"bad\.pt has no 'x': add it and save the file again \(found: features\)")
    refused({"x": torch.eye(2)}, r"bad\.pt has no 'edge_index'.*\(found: x\)")
    refused({**tensors, "y": [0, 1]}, r"bad\.pt: 'y' is a list, but must be a tensor")
    refused({**tensors, "x": torch.ones(5)}, r"bad\.pt: features must have shape")
    refused({**tensors, "x": torch.tensor(1.0)}, r"bad\.pt: ")
    refused({**tensors, "x": torch.full((5, 2), torch.nan)}, r"bad\.pt: feature column 0 of node 0 is not finite")
    refused({**tensors, "y": torch.rand(5)}, r"bad\.pt: labels must be whole numbers")
    refused({**tensors, "x": torch.ones(3, 1)}, r"bad\.pt: edge 3 \(2 -> 3\) points to a node that does not exist")
    refused({**tensors, "val_mask": None}, r"bad\.pt: this Data object has train_mask but no val_mask")
    refused({**tensors, "val_mask": tensors["train_mask"]}, r"node 0 is listed more than once.*in train and val")
    torch.save(tensors, path)
    whole = path.read_bytes()
    for damaged in (whole[: len(whole) // 2], b"", b"no such format"):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"bad\.pt is (not a complete file written by torch\.save|not read)"):
            saved_data.read(path)


@pytest.mark.parametrize("kind", ["npz", "pt", "graphml", "tables"])
def test_labels_of_any_size_are_classes_in_every_format(tmp_path: Path, kind: str) -> None:
    """Counting makes room for every number up to the largest, so classes are numbered before."""
    largest, edges, path = 2**63 - 1, [(0, 1), (1, 2), (2, 3)], tmp_path / f"mine.{kind}"
    labels = [largest, 7, largest, -1]
    if kind == "npz":
        np.savez(path, node_features=np.eye(4), node_labels=np.array(labels), edges=np.array(edges))
    elif kind == "pt":
        torch.save({"x": torch.eye(4), "edge_index": torch.tensor(edges).T, "y": torch.tensor(labels)}, path)
    elif kind == "graphml":
        network = nx.Graph(edges)
        nx.set_node_attributes(network, dict(enumerate(map(str, labels))), "label")
        nx.set_node_attributes(network, dict.fromkeys(range(4), 1.0), "x")
        nx.write_graphml(network, path)
    else:
        rows = "".join(f"{node},{label},{node}\n" for node, label in enumerate(labels))
        write(tmp_path, "id,label,x\n" + rows, "source,target\n" + "".join(f"{a},{b}\n" for a, b in edges))
        path = tmp_path
    dataset = load_dataset(path)
    assert dataset.labels.tolist() == [1, 0, 1, -1]
    assert dataset.class_names == ("7", str(largest))
    summary = describe(dataset)
    assert [(size.name, size.nodes) for size in summary.class_sizes] == [(str(largest), 2), ("7", 1)]
    assert summary.edge_homophily == 0
