"""``unifilter tune``: hyperparameters selected on the validation nodes."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unifilter.cli.marks import mark, print_notes
from unifilter.cli.options import (
    AllowMissingClasses,
    AsJson,
    DataDir,
    Device,
    DirectionOption,
    MemoryLimit,
    MetricOption,
    Settings,
    SplitName,
    Store,
    check_methods,
    parse_settings,
)
from unifilter.cli.output import print_json, print_table, score_name, score_text
from unifilter.data import NodeDataset
from unifilter.datasets import load_dataset
from unifilter.methods import Method, Storage, find_method, settings_for
from unifilter.runs.left_out import UNVALIDATED, left_out_of, left_out_of_any

if TYPE_CHECKING:
    from unifilter.runs.tuning import Trial, Tuning


def tune_command(
    name_or_path: Annotated[str, typer.Argument(help="Name of a data set, or path of a file or a folder of tables.")],
    method: Annotated[str, typer.Option(help="Method to tune; see `unifilter methods`.")] = "unifilter",
    trials: Annotated[int, typer.Option(help="Total number of trials, including those in --study.", min=1)] = 50,
    split: SplitName = None,
    splits: Annotated[int, typer.Option(help="Number of splits to average each trial over.", min=1)] = 1,
    epochs: Annotated[int | None, typer.Option(help="Maximum number of epochs per trial.")] = None,
    metric: MetricOption = None,
    settings: Settings = None,
    study: Annotated[
        Path | None, typer.Option(help="SQLite file (.db) that stores the trials, so that the search can be resumed.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Random seed of the search.", min=0)] = 0,
    allow_missing_classes: AllowMissingClasses = False,
    direction: DirectionOption = None,
    device: Device = "cpu",
    memory_limit: MemoryLimit = None,
    store: Store = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Tune a method's hyperparameters on the validation nodes and print the command that trains the best ones.

    The first trials use the published settings, if there are any for this data set, and the defaults. The others
    sample from the published search spaces. Test nodes are never used.
    """
    from unifilter.runs.tuning import tune  # needs optuna, which is optional

    check_methods(method)
    family = find_method(method)
    dataset = load_dataset(name_or_path, data_dir, direction=direction)
    split = split or dataset.default_split
    fixed: dict[str, Any] = {"metric": metric or dataset.metric, **parse_settings(settings)}
    if epochs is not None:
        fixed["epochs"] = epochs
    shown_metric = str(fixed["metric"])
    chosen_splits = [dataset.split(split, index) for index in range(splits)]
    family.with_settings(fixed)  # raises on a wrong setting before the first trial

    def show(number: int, trial: Trial) -> None:
        if not as_json:
            score = score_text(trial.val_score, shown_metric)
            result = "stopped early" if trial.val_score is None else f"validation {score_name(shown_metric)} {score}"
            typer.echo(f"trial {number}/{trials}: {result}", err=True)

    try:
        tuning = tune(
            family,
            dataset,
            chosen_splits,
            trials,
            fixed=fixed,
            first=_starting_points(family, dataset, split),
            study=study,
            seed=seed,
            device=device,
            allow_missing_classes=allow_missing_classes,
            storage=Storage.of(memory_limit, store),
            on_trial=show,
        )
    except KeyboardInterrupt:
        kept = f"the trials are in {study}: run the same command to continue"
        lost = "pass --study FILE.db to be able to resume a search"
        typer.echo(f"unifilter: interrupted; {kept if study else lost}", err=True)
        raise typer.Exit(130) from None
    where = [] if data_dir is None else ["--data-dir", str(data_dir)]
    where += [] if direction is None else ["--direction", direction]
    where += [] if memory_limit is None else ["--memory-limit", memory_limit]
    where += [] if store is None else ["--store", str(store)]
    allowed = ["--allow-missing-classes"] * allow_missing_classes
    chosen = {**tuning.fixed, **tuning.best.settings}
    command = shlex.join(
        ["unifilter", "train", name_or_path, *where, "--method", method, "--split", split, *allowed, "--preset", "none"]
        + [part for name, value in chosen.items() for part in ("--set", f"{name}={_text(value)}")]
    )
    left_out = left_out_of_any([left_out_of(dataset, one) for one in chosen_splits])
    if as_json:
        print_json(
            {
                "dataset": dataset.name,
                "method": method,
                "split": split,
                "splits": splits,
                "trials": len(tuning.trials),
                "given_up": tuning.pruned,
                "metric": shown_metric,
                "val_score": tuning.best.val_score,
                **left_out,
                "settings": chosen,
                "command": command,
                "study": None if study is None else str(study),
            }
        )
    else:
        _print_tuning(tuning, shown_metric, mark(left_out, UNVALIDATED))
        print_notes(left_out, UNVALIDATED)
        typer.echo(f"\n{command}")


def _print_tuning(tuning: Tuning, metric: str, marked: str) -> None:
    best = tuning.best
    print_table(
        [
            *((name, _text(value)) for name, value in best.settings.items()),
            *([] if best.settings else [("all settings", "defaults")]),
            (f"validation {score_name(metric)}", score_text(best.val_score, metric) + marked),
            ("trials", f"{len(tuning.trials)}, of which {tuning.pruned} stopped early"),
        ],
        header=("setting", "best"),
    )


def _text(value: Any) -> str:
    """Format a value as ``--set`` reads it."""
    return value if isinstance(value, str) else json.dumps(value)


def _starting_points(family: type[Method], dataset: NodeDataset, split: str) -> list[dict[str, Any]]:
    """The published settings, if there are any, and the defaults, so that a search cannot end below them."""
    defaults = family.task_defaults(dataset.task)
    named = dataset.name if dataset.is_named else None
    published = {**defaults, **settings_for(family.presets, named, split)}
    return [defaults] if published == defaults else [published, defaults]
