"""``unifilter compare``: several methods on the same splits, in one table and one plot."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from unifilter._internal.document_tables import document_table
from unifilter._internal.files import write_csv
from unifilter.cli.marks import mark, print_notes
from unifilter.cli.options import (
    AllowMissingClasses,
    AsJson,
    DataDir,
    Device,
    DirectionOption,
    MemoryLimit,
    MetricOption,
    PresetOption,
    SplitName,
    Store,
    TableFormat,
    build_method,
    check_methods,
)
from unifilter.cli.output import check_format, mean_and_std, print_json, print_table, score_name
from unifilter.datasets import load_dataset
from unifilter.methods import Storage
from unifilter.runs.comparison import EIGENVALUES, Compared, compare, constant_scores, plot_responses
from unifilter.runs.constant import CONSTANT_NAMES
from unifilter.runs.left_out import UNTESTED, left_out_of_any


def compare_command(
    name_or_path: Annotated[str, typer.Argument(help="Name of a data set, or path of a file or a folder of tables.")],
    methods: Annotated[
        str, typer.Option(help="Comma-separated method names; `unifilter methods` lists them.")
    ] = "unifilter,homfilter,hetfilter,ortfilter",
    split: SplitName = None,
    splits: Annotated[int, typer.Option(help="Number of splits.", min=1)] = 1,
    preset: PresetOption = "published",
    epochs: Annotated[int | None, typer.Option(help="Maximum number of epochs.")] = None,
    metric: MetricOption = None,
    out: Annotated[Path | None, typer.Option(help="Output folder. Default: comparisons/DATASET.")] = None,
    allow_missing_classes: AllowMissingClasses = False,
    direction: DirectionOption = None,
    device: Device = "cpu",
    memory_limit: MemoryLimit = None,
    store: Store = None,
    data_dir: DataDir = None,
    table_format: TableFormat = "text",
    as_json: AsJson = False,
) -> None:
    """Train each method, print accuracy, time and memory, and draw the learned filters on one axis."""
    check_methods(methods)
    check_format(table_format, as_json)
    dataset = load_dataset(name_or_path, data_dir, direction=direction)
    folder = out or Path("comparisons") / dataset.name
    if folder.exists():
        raise ValueError(f"the folder {folder} exists: pass another --out")
    metric = metric or dataset.metric
    changes: dict[str, Any] = {"metric": metric, **({} if epochs is None else {"epochs": epochs})}
    names = list(dict.fromkeys(name.strip() for name in methods.split(",") if name.strip()))
    built = [build_method(name, dataset, split, preset, changes) for name in names]
    if not built:
        raise ValueError("--methods lists no method: pass comma-separated method names")
    chosen = [dataset.split(split, index) for index in range(splits)]
    results = compare(
        built,
        dataset,
        chosen,
        device=device,
        allow_missing_classes=allow_missing_classes,
        storage=Storage.of(memory_limit, store),
        verbose=not as_json,
    )
    folder.mkdir(parents=True)
    _write(results, metric, folder)
    title = f"{dataset.name}, {chosen[0].name}, {splits} split{'s' * (splits > 1)}"
    drawn = plot_responses(results, title, folder / "responses.png")
    if as_json:
        print_json({"folder": str(folder), "methods": [_summary(result, metric) for result in results]})
        return
    left_out = left_out_of_any(results[0].records)  # of the splits, which all methods share
    rows = [
        (
            result.name,
            mean_and_std(result.mean_and_std(f"test_{metric}"), mark(left_out, UNTESTED), metric),
            f"{np.mean([record['seconds'] for record in result.records]):.1f}",
            f"{max(record['peak_memory_mib'] or 0 for record in result.records):.0f}",
        )
        for result in results
    ]
    constant = [value for value in constant_scores(dataset, chosen, metric) if value is not None]
    if constant:
        found = (float(np.mean(constant)), float(np.std(constant)))
        rows.append((CONSTANT_NAMES[dataset.task], mean_and_std(found, mark(left_out, UNTESTED), metric), "", ""))
    header = ("method", f"test {score_name(metric)}", "seconds a split", "peak memory so far, MiB")
    if table_format == "text":
        print_table(rows, header)
        print_notes(left_out, UNTESTED)
    else:
        typer.echo(document_table(table_format, header, rows, title, f"tab:{dataset.name}"))
        print_notes(left_out, UNTESTED, err=True)
    typer.echo(f"\n{folder / 'responses.png' if drawn else folder}", err=table_format != "text")


def _write(results: list[Compared], metric: str, folder: Path) -> None:
    names = ["method", "index", f"test_{metric}", f"val_{metric}", "epochs", "seconds", "peak_memory_mib"]
    names += left_out_of_any(results[0].records)
    rows = [[record.get(name, "") for name in names] for result in results for record in result.records]
    write_csv(folder / "results.csv", names, rows)
    curves = [result for result in results if result.response is not None]
    columns = [EIGENVALUES.tolist(), *(result.response.tolist() for result in curves if result.response is not None)]
    header = ["eigenvalue", *(result.name for result in curves)]
    write_csv(folder / "responses.csv", header, [list(line) for line in zip(*columns, strict=True)])


def _summary(result: Compared, metric: str) -> dict[str, Any]:
    mean, std = result.mean_and_std(f"test_{metric}") or (None, None)
    return {
        "method": result.name,
        "mean": mean,
        "std": std,
        **left_out_of_any(result.records),
        "records": result.records,
    }
