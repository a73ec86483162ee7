"""``unifilter compare``: several methods on the same splits, in one table and one picture."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from unifilter._internal.files import write_csv
from unifilter.cli.options import AsJson, DataDir, Device, PresetOption, check_methods
from unifilter.cli.output import print_json, print_table
from unifilter.datasets import load_dataset
from unifilter.methods import find_method
from unifilter.runs.comparison import EIGENVALUES, Compared, compare, plot_responses


def compare_command(
    name_or_path: Annotated[str, typer.Argument(help="A named data set, a file or a folder of tables.")],
    methods: Annotated[
        str, typer.Option(help="Comma-separated method names; `unifilter methods` lists them.")
    ] = "unifilter,homfilter,hetfilter,ortfilter",
    split: Annotated[
        str, typer.Option(help="60, 48, stratified, random-48-32-20 and the like, or a split that comes with the data.")
    ] = "60",
    splits: Annotated[int, typer.Option(help="How many splits.", min=1)] = 1,
    preset: PresetOption = "published",
    epochs: Annotated[int | None, typer.Option(help="Maximum number of epochs.")] = None,
    out: Annotated[Path | None, typer.Option(help="The folder; by default comparisons/DATASET.")] = None,
    device: Device = "cpu",
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Train each method, print accuracy, time and memory, and draw the learned filters on one axis."""
    check_methods(methods)
    dataset = load_dataset(name_or_path, data_dir)
    folder = out or Path("comparisons") / dataset.name
    if folder.exists():
        raise ValueError(f"the folder {folder} exists: pass another --out")
    changes: dict[str, Any] = {"metric": dataset.metric, **({} if epochs is None else {"epochs": epochs})}
    names = list(dict.fromkeys(name.strip() for name in methods.split(",") if name.strip()))
    built = [find_method(name).preset(dataset.name, preset, **changes) for name in names]
    if not built:
        raise ValueError("--methods names nothing: pass comma-separated names")
    chosen = [dataset.split(split, index) for index in range(splits)]
    results = compare(built, dataset, chosen, device=device, verbose=not as_json)
    folder.mkdir(parents=True)
    _write(results, dataset.metric, folder)
    title = f"{dataset.name}, {chosen[0].name}, {splits} split{'s' * (splits > 1)}"
    drawn = plot_responses(results, title, folder / "responses.png")
    if as_json:
        print_json({"folder": str(folder), "methods": [_summary(result, dataset.metric) for result in results]})
        return
    metric = f"test_{dataset.metric}"
    rows = [
        (
            result.name,
            "{:.2f} ± {:.2f}".format(*(100 * value for value in result.mean_and_std(metric))),
            f"{result.mean_and_std('seconds')[0]:.1f}",
            f"{max(record['peak_memory_mib'] or 0 for record in result.records):.0f}",
        )
        for result in results
    ]
    print_table(rows, header=("method", metric.replace("_", " "), "seconds a split", "peak memory so far, MiB"))
    typer.echo(f"\n{folder / 'responses.png' if drawn else folder}")


def _write(results: list[Compared], metric: str, folder: Path) -> None:
    names = ["method", "index", f"test_{metric}", f"val_{metric}", "epochs", "seconds", "peak_memory_mib"]
    rows = [[record.get(name, "") for name in names] for result in results for record in result.records]
    write_csv(folder / "results.csv", names, rows)
    curves = [result for result in results if result.response is not None]
    columns = [EIGENVALUES.tolist(), *(result.response.tolist() for result in curves if result.response is not None)]
    header = ["eigenvalue", *(result.name for result in curves)]
    write_csv(folder / "responses.csv", header, [list(line) for line in zip(*columns, strict=True)])


def _summary(result: Compared, metric: str) -> dict[str, Any]:
    mean, std = result.mean_and_std(f"test_{metric}")
    return {"method": result.name, "mean": mean, "std": std, "records": result.records}
