"""``unifilter train``: one method on the splits of a data set, into a run folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import typer

from unifilter.cli.options import AsJson, DataDir, Device, PresetOption, Settings, check_methods, parse_settings
from unifilter.cli.output import print_json, print_table
from unifilter.datasets import load_dataset
from unifilter.methods import find_method
from unifilter.runs.plots import plot_histories, plot_weights
from unifilter.runs.run import Run


def train_command(
    name_or_path: Annotated[str, typer.Argument(help="A named data set, a file or a folder of tables.")],
    method: Annotated[str, typer.Option(help="The method to train; `unifilter methods` lists them.")] = "unifilter",
    split: Annotated[
        str, typer.Option(help="60, 48, stratified, random-48-32-20 and the like, or a split that comes with the data.")
    ] = "60",
    splits: Annotated[
        int | None, typer.Option(help="How many splits; by default 10, or all that come with the data.", min=1)
    ] = None,
    preset: PresetOption = "published",
    tau: Annotated[str | None, typer.Option(help="Share of the homophily basis in [0, 1], or learn.")] = None,
    hops: Annotated[int | None, typer.Option(help="Number of hops.")] = None,
    features: Annotated[
        Literal["raw", "row", "l2"] | None, typer.Option(help="Raw features, or rows divided by their sum or length.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Random seed of initial weights and dropout.")] = None,
    epochs: Annotated[int | None, typer.Option(help="Maximum number of epochs.")] = None,
    settings: Settings = None,
    out: Annotated[Path | None, typer.Option(help="The run folder; by default runs/DATASET-METHOD-SPLIT.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue the run in the folder.")] = False,
    device: Device = "cpu",
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Train a method on every split, print a table, and write a folder with records, weights, model and plots."""
    check_methods(method)
    dataset = load_dataset(name_or_path, data_dir)
    changes = parse_settings(settings)
    given = {"tau": _tau(tau), "hops": hops, "features": features, "seed": seed, "epochs": epochs}
    changes |= {name: value for name, value in given.items() if value is not None}
    built = find_method(method).preset(dataset.name, preset, **{"metric": dataset.metric, **changes})
    folder = out or Path("runs") / f"{dataset.name}-{method}-{split}"
    count = splits or len(dataset.splits.get(split, range(10)))
    run = Run(folder, built, dataset, split, count, resume, device)
    try:
        for _ in run.train(verbose=not as_json):
            pass
    except KeyboardInterrupt as error:
        stopped = str(error) or "interrupted"
        typer.echo(
            f"unifilter: {stopped}\n{len(run.records)} of {count} splits are done: go on with the same command and "
            "--resume",
            err=True,
        )
        raise typer.Exit(130) from None
    draw(run)
    if as_json:
        print_json({**run.summary(), "records": run.records})
    else:
        print_run(run)


def draw(run: Run) -> None:
    """The pictures of a run: learned weights, and losses and scores over the epochs."""
    weights = [record["weights"] for record in run.records if record["weights"]]
    title = f"{run.dataset.name}, {run.method.name}, {run.config['split']}"
    if weights:
        plot_weights(np.array(weights), title, run.folder / "weights.png")
    histories = [
        np.loadtxt(path, delimiter=",", skiprows=1, ndmin=2) for path in sorted((run.folder / "history").glob("*.csv"))
    ]
    if histories:
        plot_histories(histories, run.method.metric, title, run.folder / "history.png")


def print_run(run: Run) -> None:
    """A line per split, then mean and standard deviation."""
    metric = run.method.metric
    rows: list[tuple[str, ...]] = [
        (
            str(record["index"]),
            _percent(record.get(f"test_{metric}")),
            _percent(record.get(f"val_{metric}")),
            f"{record['epochs']}{', diverged' if record['ended'] == 'diverged' else ''}",
            f"{record['seconds']:.1f}",
        )
        for record in run.records
    ]
    scores = run.summary()["scores"]
    means = [
        f"{_percent(found['mean'])} ± {_percent(found['std'])}" if found else "-"
        for found in (scores.get(f"{part}_{metric}") for part in ("test", "val"))
    ]
    rows.append(("mean ± std", *means, "", ""))
    name = metric.replace("_", " ")
    print_table(rows, header=("split", f"test {name} %", f"validation {name} %", "epochs", "seconds"))
    typer.echo(f"\n{run.folder}")


def _percent(value: float | None) -> str:
    """A test set of one class, for instance, has no ROC AUC."""
    return "-" if value is None else f"{100 * value:.2f}"


def _tau(text: str | None) -> float | str | None:
    if text is None or text == "learn":
        return text
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"--tau must be a number in [0, 1] or learn, not {text!r}") from None
