"""Reader for GraphML files, based on networkx."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree.ElementTree import ParseError

import networkx

from unifilter._internal.problems import Problems
from unifilter.data import NodeDataset
from unifilter.datasets.formats.columns import read_node_columns
from unifilter.graph import Direction, Graph


def read(path: Path, *, direction: Direction = "undirected") -> NodeDataset:
    """Read a data set from a GraphML file, by the same rule as tables.

    The node attribute ``label`` is the class, ``split`` is train, val or test, and all others describe the node and
    become features, see :class:`~unifilter.data.TableEncoder`. The edge attribute ``weight`` is the weight. Default
    values declared in the file are used; otherwise an edge without a weight has weight 1.

    Raises:
        ValueError: With one line per mistake in nodes and edges.
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
    ids, where = [str(node) for node in network], path.name
    problems = Problems()
    with problems.collect():
        described = read_node_columns(_columns(network), ids, len(ids), where)
        problems.check_too(described.table.check_categories)
    with problems.collect():
        graph = _graph(network, where, direction)
    problems.raise_if_any()
    return NodeDataset(
        name=path.stem,
        graph=graph,
        features=None,
        **described.answers(),
        splits=described.splits,
        source=str(path),
        table=described.table,
    )


def _columns(network: Any) -> dict[str, list[Any]]:
    """The values of each node attribute, in the order of the nodes; ``None`` if missing."""
    defaults = network.graph.get("node_default", {})
    names = dict.fromkeys([*defaults, *(name for _, attributes in network.nodes(data=True) for name in attributes)])
    return {
        str(name): [attributes.get(name, defaults.get(name)) for _, attributes in network.nodes(data=True)]
        for name in names
    }


def _graph(network: Any, where: str, direction: Direction) -> Graph:
    default = network.graph.get("edge_default", {}).get("weight", 1)
    for source, target, attributes in network.edges(data=True):
        weight = attributes.setdefault("weight", default)
        if not isinstance(weight, (int, float)) or isinstance(weight, bool):
            raise ValueError(
                f"{where}: the weight of edge {source} -> {target} is {weight!r}: declare the attribute as a number"
            )
    return Graph.from_networkx(network, direction=direction)
