"""``unifilter reproduce``: measure the tables and figures of the paper on this machine."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from unifilter.cli.options import AsJson, DataDir, Device
from unifilter.cli.output import print_json
from unifilter.cli.spelling import for_command_line
from unifilter.experiments import EXPERIMENTS, Options, Sources, find_experiments
from unifilter.experiments.engine.reproduce import Reproduced, reproduce

# Experiments that can tune their methods.
_TUNING = ("table-beyond", "table-shared", "table-auto")


def reproduce_command(
    name: Annotated[str, typer.Argument(help=f"One of {', '.join(EXPERIMENTS)}; or all.")],
    splits: Annotated[int, typer.Option(help="Maximum number of splits.", min=1)] = 10,
    datasets: Annotated[
        str | None, typer.Option(help="Comma-separated data sets to run instead of those of the experiment.")
    ] = None,
    methods: Annotated[str | None, typer.Option(help="Comma-separated methods; all others are skipped.")] = None,
    epochs: Annotated[
        int | None,
        typer.Option(help="Maximum number of epochs, for a quick trial run. Scores are then not comparable.", min=1),
    ] = None,
    trials: Annotated[
        int | None,
        typer.Option(help=f"{', '.join(_TUNING)} only: tune every method with this many trials per split.", min=1),
    ] = None,
    workers: Annotated[
        int, typer.Option(help="Number of worker processes. The cores are divided among them.", min=1)
    ] = 1,
    resume: Annotated[
        bool, typer.Option("--resume/--fresh", help="Skip rows that --out already holds, or run everything again.")
    ] = True,
    stored: Annotated[
        bool, typer.Option("--stored", help="Run nothing. Write rows, plots and report from the rows in --out.")
    ] = False,
    known: Annotated[
        list[Path] | None,
        typer.Option("--known", help="Rows to reuse instead of running: a CSV file, or a folder of them. Repeatable."),
    ] = None,
    own: Annotated[
        list[str] | None,
        typer.Option("--data", help="Read the data set NAME from your own file, as NAME=PATH. Repeatable."),
    ] = None,
    out: Annotated[Path, typer.Option(help="Output folder.")] = Path("reproduction"),
    device: Device = "cpu",
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Run one of the paper's experiments on this machine and report your results beside the paper's.

    Writes results.csv, plots and report.html. After an interruption, run the same command again to continue.

    To see the results that ship with the package without running anything, use `unifilter results`.
    """
    if trials is not None and name not in (*_TUNING, "all"):
        raise ValueError(f"--trials applies to {', '.join(_TUNING)}, not to {name}: leave it out")
    if stored and not resume:
        raise ValueError("--fresh ignores stored rows, so --stored has nothing to show: pass only one of them")
    options = Options(_names(datasets), _names(methods), splits, epochs, trials)
    command = ["unifilter", "reproduce", name, "--splits", str(splits)]
    for option, value in (("--datasets", datasets), ("--methods", methods), ("--epochs", epochs), ("--trials", trials)):
        command += [] if value is None else [option, str(value)]
    try:
        result = reproduce(
            find_experiments(name),
            out,
            options,
            Sources(data_dir, _own_files(own), device),
            workers=workers,
            known=known or (),
            resume=resume,
            stored=stored,
            verbose=not as_json,
            command=shlex.join(command),
            notify=lambda message: typer.echo(f"unifilter: {for_command_line(message)}", err=True),
        )
    except KeyboardInterrupt:
        typer.echo(
            f"unifilter: interrupted; finished rows are in {out}. Run the same command to continue, or with --stored "
            "to show them",
            err=True,
        )
        raise typer.Exit(130) from None
    _print(result, as_json)
    if result.failures:
        raise typer.Exit(1)


def _print(result: Reproduced, as_json: bool) -> None:
    if as_json:
        print_json(
            {
                "folder": str(result.folder),
                "ran": result.ran,
                "reused": result.reused,
                "failures": result.failures,
                "left_out": result.left_out,
                "pages": {name: str(path) for name, path in result.pages.items()},
            }
        )
        return
    for what in result.left_out:
        typer.echo(f"skipped: {for_command_line(what)}", err=True)
    for failure in result.failures:
        typer.echo(f"failed: {failure}", err=True)
    typer.echo(f"{result.ran} cells run, {result.reused} done before")
    for path in result.pages.values():
        typer.echo(str(path))


def _names(text: str | None) -> tuple[str, ...] | None:
    if text is None:
        return None
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    if not names:
        raise ValueError(f"{text!r} contains no name: pass comma-separated names")
    return names


def _own_files(pairs: list[str] | None) -> dict[str, Path]:
    files = {}
    for pair in pairs or []:
        name, equals, path = pair.partition("=")
        if not equals or not name or not path:
            raise ValueError(f"--data takes NAME=PATH, not {pair!r}: for example --data cora=cora.npz")
        files[name] = Path(path)
    return files
