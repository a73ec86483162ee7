"""A GraphML file, read through networkx."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree.ElementTree import ParseError

import networkx
import numpy as np
import torch

from unifilter.data import NodeDataset
from unifilter.datasets.formats.columns import encode_features, encode_labels, encode_split
from unifilter.graph import Graph


def read(path: Path) -> NodeDataset:
    """A data set from a GraphML file, by the rule for tables.

    The node attribute ``label`` is the class, ``split`` is train, val or test, every other one is a feature: numbers as
    they are, text and true/false one-hot. The edge attribute ``weight`` is the weight. Defaults that the file declares
    count; an edge without a weight has weight 1, a node without a feature is an error.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}: pass the path of a GraphML file")
    try:
        network = networkx.read_graphml(path)
    except (ParseError, networkx.NetworkXError, ValueError, KeyError) as error:
        raise ValueError(f"{path} cannot be read as GraphML: {error or type(error).__name__}") from error
    if network.number_of_nodes() == 0:
        raise ValueError(f"{path} has no nodes: the graph needs at least one")
    columns, ids, where = _columns(network), [str(node) for node in network], path.name
    labels, class_names = encode_labels(columns.pop("label", [None] * len(ids)), ids, where)
    splits = {"given": encode_split(columns.pop("split"), labels, ids, where)} if "split" in columns else {}
    features = {name: _array(values) for name, values in columns.items()}
    return NodeDataset(
        name=path.stem,
        graph=_graph(network, where),
        features=encode_features(features, ids, where),
        labels=torch.from_numpy(labels),
        class_names=class_names,
        splits=splits,
        source=str(path),
    )


def _columns(network: Any) -> dict[str, list[Any]]:
    """The values of each node attribute, in the order of the nodes; ``None`` where a node has none."""
    defaults = network.graph.get("node_default", {})
    names = dict.fromkeys([*defaults, *(name for _, attributes in network.nodes(data=True) for name in attributes)])
    return {
        str(name): [attributes.get(name, defaults.get(name)) for _, attributes in network.nodes(data=True)]
        for name in names
    }


def _graph(network: Any, where: str) -> Graph:
    default = network.graph.get("edge_default", {}).get("weight", 1)
    for source, target, attributes in network.edges(data=True):
        weight = attributes.setdefault("weight", default)
        if not isinstance(weight, (int, float)) or isinstance(weight, bool):
            raise ValueError(
                f"{where}: the weight of edge {source} -> {target} is {weight!r}: declare the attribute as a number"
            )
    return Graph.from_networkx(network)


def _array(values: list[Any]) -> np.ndarray:
    entries = np.empty(len(values), dtype=object)
    entries[:] = values
    return entries
