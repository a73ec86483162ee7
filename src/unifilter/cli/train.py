"""``unifilter train``: train one method on the splits of a data set, into a run folder."""

from __future__ import annotations

import shlex
import sys
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Literal

import numpy as np
import typer

from unifilter.cli.marks import mark, print_notes
from unifilter.cli.options import (
    AllowMissingClasses,
    AsJson,
    ClassWeight,
    DataDir,
    Device,
    DirectionOption,
    MemoryLimit,
    MetricOption,
    PresetOption,
    Settings,
    SplitName,
    Store,
    build_method,
    check_methods,
    default_method,
    parse_settings,
)
from unifilter.cli.output import mean_and_std, print_json, print_table, score_name, score_text
from unifilter.data import FeatureScaling, Split
from unifilter.datasets import load_dataset
from unifilter.factorization.factorization import Channels
from unifilter.methods import Storage
from unifilter.methods.auto import AutoMethod
from unifilter.reports import verdict, write_report
from unifilter.runs.constant import CONSTANT_NAMES
from unifilter.runs.left_out import UNTESTED, UNVALIDATED
from unifilter.runs.plots import plot_histories, plot_weights
from unifilter.runs.run import Run
from unifilter.training import MLflowLog, Peers, TensorBoardLog, TrainingLog

# A portfolio takes as long on one split as ten or more methods. The report compares scores from five splits on.
_SPLITS_OF_AUTO = 5


def train_command(
    name_or_path: Annotated[str, typer.Argument(help="Name of a data set, or path of a file or a folder of tables.")],
    method: Annotated[
        str | None,
        typer.Option(
            help="The method to train; `unifilter methods` lists them. Default: auto, a portfolio of several, for data "
            "of your own; unifilter for a named data set, and where one of its settings is given."
        ),
    ] = None,
    split: SplitName = None,
    splits: Annotated[
        int | None,
        typer.Option(
            help="Number of splits. Default: 10, or all that come with the data; 5 for auto, which trains many models "
            "on each.",
            min=1,
        ),
    ] = None,
    preset: PresetOption = "published",
    tau: Annotated[
        str | None, typer.Option(help="Share of the homophily basis: a number in [0, 1], or learn to train it.")
    ] = None,
    hops: Annotated[int | None, typer.Option(help="Number of hops.")] = None,
    channels: Annotated[
        Channels | None,
        typer.Option(help="A recurrence for each feature column, or one shared by all, which takes less memory."),
    ] = None,
    features: Annotated[
        FeatureScaling | None,
        typer.Option(help="Feature scaling: raw, rows divided by their sum or norm, or standardized columns."),
    ] = None,
    metric: MetricOption = None,
    class_weight: ClassWeight = None,
    seed: Annotated[int | None, typer.Option(help="Random seed for initial weights and dropout.")] = None,
    epochs: Annotated[int | None, typer.Option(help="Maximum number of epochs.")] = None,
    settings: Settings = None,
    out: Annotated[Path | None, typer.Option(help="Run folder. Default: runs/DATASET-METHOD-SPLIT.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue the run in the run folder.")] = False,
    baseline: Annotated[
        bool, typer.Option(help="Also train an MLP without the graph, to see whether the graph helps.")
    ] = True,
    log: Annotated[
        Literal["tensorboard", "mlflow"] | None,
        typer.Option(
            help="Write losses and scores of every epoch: tensorboard, into the run folder; mlflow, to where MLflow is "
            "set to write (MLFLOW_TRACKING_URI)."
        ),
    ] = None,
    allow_missing_classes: AllowMissingClasses = False,
    direction: DirectionOption = None,
    device: Device = "cpu",
    memory_limit: MemoryLimit = None,
    store: Store = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Train a method on every split, print a table, and write a folder with report, records, model and plots.

    With `torchrun --nproc-per-node N -m unifilter train ...` each of N processes takes its share of the training nodes.
    """
    check_methods(method or "")
    if log is not None:
        (TensorBoardLog if log == "tensorboard" else MLflowLog).check_installed()
    dataset = load_dataset(name_or_path, data_dir, direction=direction)
    changes = parse_settings(settings)
    given = {
        "tau": _tau(tau),
        "hops": hops,
        "channels": channels,
        "features": features,
        "metric": metric,
        "seed": seed,
        "epochs": epochs,
    }
    changes |= {name: value for name, value in given.items() if value is not None}
    split = split or dataset.default_split
    peers = Peers.current()
    method = method or default_method(dataset, changes, rows_only=peers.several or memory_limit is not None)
    built = build_method(method, dataset, split, preset, changes)
    if splits is None and isinstance(built, AutoMethod):
        splits = min(_SPLITS_OF_AUTO, dataset.num_splits(split))
    folder = out or Path("runs") / f"{dataset.name}-{method}-{split}"
    with nullcontext(folder) if peers.first else TemporaryDirectory() as own:  # the first process writes
        run = Run(
            Path(own),
            built,
            dataset,
            split,
            splits,
            resume,
            device,
            allow_missing_classes,
            class_weight,
            Storage.of(memory_limit, store),
        )
        run.records = peers.from_first(run.records)
        try:
            for _ in run.train(not as_json, partial(_log, log, run) if log is not None and peers.first else None):
                pass
            if baseline:
                run.train_without_graph(verbose=not as_json)
        except KeyboardInterrupt as error:
            if peers.first:
                stopped = str(error) or "interrupted"
                typer.echo(
                    f"unifilter: {stopped}\n{len(run.records)} of {len(run.splits)} splits are done: "
                    "run the same command with --resume to continue",
                    err=True,
                )
            raise typer.Exit(130) from None
    if not peers.first:
        return
    draw(run)
    report = write_report(run, shlex.join(["unifilter", *sys.argv[1:]]) if sys.argv[1:2] == ["train"] else None)
    if as_json:
        print_json({**run.summary(), "records": run.records})
    else:
        print_run(run, report)


def draw(run: Run) -> None:
    """Plot the learned weights, and losses and scores over the epochs."""
    weights = [record["weights"] for record in run.records if record["weights"]]
    title = f"{run.dataset.name}, {run.method.name}, {run.config['split']}"
    if weights:
        plot_weights(np.array(weights), title, run.folder / "weights.png")
    records = sorted(run.records, key=lambda record: int(record["index"]))
    files = [run.folder / "history" / f"split-{record['index']}.csv" for record in records]
    histories = [np.loadtxt(path, delimiter=",", skiprows=1, ndmin=2) for path in files]
    best_epochs = [record["best_epoch"] for record in records]
    plot_histories(histories, run.method.metric, title, run.folder / "history.png", best_epochs)


def print_run(run: Run, report: dict[str, Any]) -> None:
    """Print one line per split, then mean and standard deviation, the verdict and the warnings."""
    metric = run.method.metric

    def epochs_of(record: dict[str, Any]) -> str:
        if isinstance(run.method, AutoMethod):  # each member has its own, which the report lists
            return ""
        return f"{record['epochs']}{', diverged' if record['ended'] == 'diverged' else ''}"

    rows: list[tuple[str, ...]] = [
        (
            str(record["index"]),
            score_text(record.get(f"test_{metric}"), metric) + mark(record, UNTESTED),
            score_text(record.get(f"val_{metric}"), metric) + mark(record, UNVALIDATED),
            epochs_of(record),
            f"{record['seconds']:.1f}",
        )
        for record in run.records
    ]
    summary = run.summary()
    means = []
    for part, left_out in (("test", UNTESTED), ("val", UNVALIDATED)):
        found = summary["scores"].get(f"{part}_{metric}")
        means.append(mean_and_std(found and (found["mean"], found["std"]), mark(summary, left_out), metric))
    rows.append(("mean ± std", *means, "", ""))
    marked = mark(summary, UNTESTED)
    for title, name in (("MLP without the graph", "without_graph"), (CONSTANT_NAMES[run.dataset.task], "constant")):
        found = summary["scores"].get(name)
        if found:
            rows.append((title, mean_and_std((found["mean"], found["std"]), marked, metric), "", "", ""))
    name = score_name(metric)
    print_table(rows, header=("split", f"test {name}", f"validation {name}", "epochs", "seconds"))
    print_notes(summary)
    typer.echo()
    for sentence in [*verdict(report), *report["warnings"]]:
        typer.echo(sentence)
    typer.echo(f"\n{run.folder / 'report.html'}\n{run.folder}")


def _log(kind: str, run: Run, split: Split) -> TrainingLog:
    """Where the curves of a split go."""
    if kind == "tensorboard":
        return TensorBoardLog(run.folder / "tensorboard" / f"split-{split.index}")
    name = f"{run.method.name} {split.name} {split.index}"
    return MLflowLog(run.dataset.name, name, {"split": split.name, "index": split.index, **run.method.plain_settings()})


def _tau(text: str | None) -> float | str | None:
    if text is None or text == "learn":
        return text
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"--tau must be a number in [0, 1] or learn, not {text!r}") from None
