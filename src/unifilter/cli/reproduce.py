"""``unifilter reproduce``: every table and figure of the paper, measured beside what is reported."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from unifilter.cli.options import AsJson, DataDir
from unifilter.cli.output import print_json
from unifilter.experiments import EXPERIMENTS, Options, Sources, find_experiments
from unifilter.experiments.engine.reproduce import Reproduced, reproduce, write_results_page

_DOCS = "docs"


def reproduce_command(
    name: Annotated[
        str,
        typer.Argument(
            help=f"One of {', '.join(EXPERIMENTS)}; all; or docs, which writes the page of results from --rows."
        ),
    ],
    splits: Annotated[int, typer.Option(help="At most so many splits.", min=1)] = 10,
    datasets: Annotated[str | None, typer.Option(help="These data sets, with commas between them.")] = None,
    methods: Annotated[str | None, typer.Option(help="Only these methods, with commas between them.")] = None,
    epochs: Annotated[int | None, typer.Option(help="At most so many epochs, for a trial run.", min=1)] = None,
    trials: Annotated[
        int | None, typer.Option(help="For table-beyond: tune every method, so many settings on each split.", min=1)
    ] = None,
    workers: Annotated[
        int, typer.Option(help="How many processes; each computes on its share of the cores.", min=1)
    ] = 1,
    resume: Annotated[
        bool, typer.Option("--resume/--fresh", help="Go on with what is done, or run everything again.")
    ] = True,
    stored: Annotated[
        bool, typer.Option("--stored", help="Run nothing: write rows, pictures and report of what is done.")
    ] = False,
    known: Annotated[
        list[Path] | None,
        typer.Option("--known", "--rows", help="CSV files of rows, or folders of them, that count as done."),
    ] = None,
    own: Annotated[
        list[str] | None, typer.Option("--data", help="NAME=PATH reads the data set NAME from a file of your own.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="The folder for all output; for docs, the page. By default reproduction.")
    ] = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Run an experiment of the paper, or all, and write rows, pictures and a report with ours beside theirs.

    What is done is stored at once: the same command goes on where it was interrupted, and with --stored shows how far
    it is.
    """
    if name == _DOCS:
        _write_docs(known, out, as_json)
        return
    if trials is not None and name not in ("table-beyond", "all"):
        raise ValueError(f"--trials is for table-beyond; {name} has the published settings: leave it out")
    options = Options(_names(datasets), _names(methods), splits, epochs, trials)
    command = ["unifilter", "reproduce", name, "--splits", str(splits)]
    for option, value in (("--datasets", datasets), ("--methods", methods), ("--epochs", epochs), ("--trials", trials)):
        command += [] if value is None else [option, str(value)]
    folder = out or Path("reproduction")
    try:
        result = reproduce(
            find_experiments(name),
            folder,
            options,
            Sources(data_dir, _own_files(own)),
            workers=workers,
            known=known or (),
            resume=resume,
            stored=stored,
            verbose=not as_json,
            command=shlex.join(command),
            notify=lambda message: typer.echo(f"unifilter: {message}", err=True),
        )
    except KeyboardInterrupt:
        typer.echo(
            f"unifilter: interrupted; what is done is in {folder}, and the same command goes on from there, or shows "
            "it with --stored",
            err=True,
        )
        raise typer.Exit(130) from None
    _print(result, as_json)
    if result.failures:
        raise typer.Exit(1)


def _write_docs(known: list[Path] | None, out: Path | None, as_json: bool) -> None:
    if not known:
        raise ValueError("reproduce docs writes a page from stored rows: pass a folder of results.csv files as --rows")
    page = out or Path("docs") / "results.md"
    count = write_results_page(list(EXPERIMENTS.values()), known, page, "unifilter reproduce docs")
    if as_json:
        print_json({"page": str(page), "rows": count})
    else:
        typer.echo(f"{count} rows shown in {page}")


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
        typer.echo(f"left out, {what}", err=True)
    for failure in result.failures:
        typer.echo(f"failed, {failure}", err=True)
    typer.echo(f"{result.ran} cells run, {result.reused} done before")
    for path in result.pages.values():
        typer.echo(str(path))


def _names(text: str | None) -> tuple[str, ...] | None:
    if text is None:
        return None
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    if not names:
        raise ValueError(f"{text!r} names nothing: pass names with commas between them")
    return names


def _own_files(pairs: list[str] | None) -> dict[str, Path]:
    files = {}
    for pair in pairs or []:
        name, equals, path = pair.partition("=")
        if not equals or not name or not path:
            raise ValueError(f"--data takes NAME=PATH, not {pair!r}: for instance --data cora=cora.npz")
        files[name] = Path(path)
    return files
