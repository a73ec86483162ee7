from __future__ import annotations

import re

import numpy as np
import pytest
import torch
from real_graphs import needs_data

from unifilter import edge_homophily
from unifilter.data import NodeDataset
from unifilter.datasets import load_dataset
from unifilter.datasets.catalog import CATALOG, find
from unifilter.datasets.checksums import CHECKSUMS
from unifilter.graph import Graph

# Nodes, undirected edges without loops and duplicates, features, classes, edge homophily, isolated nodes. Edge counts
# are those of the papers; a loader that keeps loops or both directions, or loses nodes without edges, shows here.
FIGURES = {
    "cora": (2708, 5278, 1433, 7, 0.8100, 0),
    "citeseer": (3327, 4552, 3703, 6, 0.7355, 48),
    "pubmed": (19717, 44324, 500, 3, 0.8024, 0),
    "chameleon": (2277, 31371, 2325, 5, 0.2299, 0),
    "squirrel": (5201, 198353, 2089, 5, 0.2221, 0),
    "chameleon-filtered": (890, 8854, 2325, 5, 0.2361, 0),
    "squirrel-filtered": (2223, 46998, 2089, 5, 0.2072, 0),
    "actor": (7600, 26659, 932, 5, 0.2167, 0),
    "texas": (183, 279, 1703, 5, 0.0609, 0),
    "cornell": (183, 277, 1703, 5, 0.1227, 0),
    "wisconsin": (251, 450, 1703, 5, 0.1778, 0),
    "minesweeper": (10000, 39402, 7, 2, 0.6828, 0),
    "cornell5": (18660, 790777, 4735, 2, 0.5464, 0),
    "reed98": (962, 18812, 745, 2, 0.5216, 0),
}


DIRECTED = {"chameleon-directed", "squirrel-directed"}


def test_every_name_is_there_once() -> None:
    names = [entry.name for entry in CATALOG]
    assert len(set(names)) == len(names)
    expected = {*FIGURES, "roman-empire", "amazon-ratings", "tolokers", "questions", "penn94", "amherst41"}
    assert set(names) == expected | {"johns-hopkins55", "genius", "ogbn-arxiv", "karate", "digits"} | DIRECTED


def test_every_entry_says_whom_to_cite_and_where_its_files_come_from() -> None:
    for entry in CATALOG:
        assert re.search(r"(19|20)\d\d", entry.citation), entry.name
        assert entry.license, entry.name
        for form in entry.forms:
            assert form.format == "bundled" or any(not file.optional for file in form.files), entry.name
            for file in form.files:
                assert file.address or (file.member and (form.archive or form.package)), file.path


def test_areas_under_curves_for_the_unbalanced_ones() -> None:
    scored = {entry.name for entry in CATALOG if entry.metric == "roc_auc"}
    assert scored == {"minesweeper", "tolokers", "questions", "genius"}


def test_benchmarks_have_the_split_of_their_literature() -> None:
    expected = {
        **dict.fromkeys(("cora", "citeseer", "pubmed", "chameleon", "squirrel", "actor"), "60"),
        **dict.fromkeys(("texas", "cornell", "wisconsin"), "60"),
        **dict.fromkeys(("chameleon-filtered", "squirrel-filtered", *DIRECTED), "48"),
        **dict.fromkeys(("roman-empire", "amazon-ratings", "minesweeper"), "heterophilous-50-25-25"),
        **dict.fromkeys(("tolokers", "questions"), "heterophilous-50-25-25"),
        **dict.fromkeys(("penn94", "cornell5", "reed98", "amherst41", "johns-hopkins55", "genius"), "linkx-50-25-25"),
        "ogbn-arxiv": "time",
        **dict.fromkeys(("karate", "digits"), ""),
    }
    assert {entry.name: entry.literature_split for entry in CATALOG} == expected


@needs_data
@pytest.mark.parametrize("name", ["cora", "texas", "chameleon-filtered", "minesweeper", "reed98", "karate", "digits"])
def test_the_default_split_can_be_drawn(name: str) -> None:
    dataset = load_dataset(name)
    assert dataset.default_split == (find(name).literature_split or "stratified")
    for index in (0, dataset.num_splits() - 1):
        split = dataset.split(index=index)
        assert dataset.is_literature_split(split) == (name not in ("karate", "digits"))


def test_every_checksum_belongs_to_a_file() -> None:
    paths = {file.path for entry in CATALOG for form in entry.forms for file in form.files}
    assert set(CHECKSUMS) <= paths
    assert all(re.fullmatch("[0-9a-f]{64}", digest) for digest in CHECKSUMS.values())


@pytest.mark.parametrize("name", ["chameleon-filtered", "Chameleon_Filtered", " chameleon filtered "])
def test_spelling_does_not_matter(name: str) -> None:
    assert find(name).name == "chameleon-filtered"


def test_an_unknown_name_gets_the_closest_ones() -> None:
    with pytest.raises(
        ValueError, match="no data set is named 'chamelion': did you mean 'chameleon' or 'chameleon-fil"
    ):
        find("chamelion")
    with pytest.raises(ValueError, match="'zzz': the names are cora, citeseer, .*, digits. To read a file or a folder"):
        find("zzz")


@needs_data
@pytest.mark.parametrize("name", FIGURES)
def test_figures_of_the_real_graphs(name: str) -> None:
    data = load_dataset(name)
    nodes, edges, features, classes, homophily, isolated = FIGURES[name]
    assert (data.name, data.num_nodes, data.graph.num_edges) == (name, nodes, edges)
    assert (data.num_features, data.num_classes) == (features, classes)
    assert round(edge_homophily(data.graph, data.labels), 4) == homophily
    assert int(data.graph.isolated.sum()) == isolated
    assert data.citation
    assert data.license


@needs_data
def test_one_word_of_cora_is_in_no_paper() -> None:
    columns = load_dataset("cora").features.to_dense().sum(dim=0)
    assert int((columns == 0).sum()) == 1


@needs_data
def test_fifteen_nodes_of_citeseer_have_no_row_and_class_0() -> None:
    data = load_dataset("citeseer")
    empty = data.features.to_dense().sum(dim=1) == 0
    assert int(empty.sum()) == 15
    assert set(data.labels[empty].tolist()) == {0}
    known = data.labels.clone()
    known[empty] = -1
    assert round(edge_homophily(data.graph, known), 4) == 0.7377


@needs_data
@pytest.mark.parametrize("name", ["chameleon", "cornell5"])
def test_a_data_set_survives_pyg(name: str) -> None:
    data = load_dataset(name)
    again = NodeDataset.from_data(data.to_data())
    assert again.checksum == data.checksum
    assert isinstance(again.graph, Graph)


@needs_data
@pytest.mark.parametrize(("name", "edges", "loops"), [("chameleon", 36_101, 50), ("squirrel", 217_073, 140)])
def test_directed_data_sets_are_the_same_nodes_with_the_published_edges(name: str, edges: int, loops: int) -> None:
    directed, undirected = load_dataset(f"{name}-directed"), load_dataset(name)
    graph = directed.graph
    assert (graph.direction, graph.self_loops) == ("out", "keep")
    assert graph.num_edges == edges - loops
    assert graph.neighbors.numel() == edges
    assert torch.equal(directed.labels, undirected.labels)
    assert torch.equal(directed.features.to_dense(), undirected.features.to_dense())
    # Without direction and loops they are the same graph.
    assert Graph.from_edges(graph.edges()[0], graph.num_nodes).checksum == undirected.graph.checksum
    for index in range(10):
        assert np.array_equal(directed.split("48", index).test, undirected.split("48", index).test)


def test_a_named_data_set_has_a_direction_of_its_own() -> None:
    assert load_dataset("karate", direction="undirected").graph.is_undirected
    with pytest.raises(
        ValueError, match=r"the data set 'karate' has direction='undirected', not 'in': leave direction out, or choose"
    ):
        load_dataset("karate", direction="in")
