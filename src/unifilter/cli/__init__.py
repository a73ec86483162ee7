"""The command line, ``unifilter``. A command is a module of its own, and one line at the end of this one.

Exit codes: 0, done; 2, the input was wrong, and the message says how; 1, anything unexpected; 130, interrupted.
"""

from __future__ import annotations

import sys
import traceback
import warnings
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from unifilter import __version__
from unifilter._internal.extras import MissingExtraError
from unifilter.cli import data
from unifilter.cli.compare import compare_command
from unifilter.cli.explain import explain_command
from unifilter.cli.explore import explore_command
from unifilter.cli.methods import methods_command
from unifilter.cli.predict import predict_command
from unifilter.cli.reproduce import reproduce_command
from unifilter.cli.results import results_command
from unifilter.cli.spelling import for_command_line
from unifilter.cli.train import train_command
from unifilter.cli.tune import tune_command


class _CommandsWithClearErrors(TyperGroup):
    """Turns what a command raises into a message on stderr and an exit code."""

    def invoke(self, ctx: Any) -> Any:
        debug = bool(ctx.params.get("debug"))
        try:
            with warnings.catch_warnings():
                if not debug:
                    warnings.showwarning = _show_warning
                return super().invoke(ctx)
        except KeyboardInterrupt:
            raise typer.Exit(130) from None
        except (ValueError, FileNotFoundError, MissingExtraError) as error:
            raise _failure(for_command_line(str(error)), 2, debug) from error
        except Exception as error:
            # Typer's own ways to end (usage errors, Exit) carry their exit code, and a closed pipe is handled by it.
            if isinstance(error, (typer.Abort, BrokenPipeError)) or hasattr(error, "exit_code"):
                raise
            hint = "" if debug else " (unifilter --debug ... shows where)"
            raise _failure(f"{type(error).__name__}: {error}{hint}", 1, debug) from error


app = typer.Typer(
    name="unifilter",
    cls=_CommandsWithClearErrors,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def main() -> None:
    """The console entry."""
    app()


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"unifilter {__version__}")
        raise typer.Exit()


@app.callback()
def _unifilter(
    debug: Annotated[bool, typer.Option("--debug", help="Show where an error comes from.")] = False,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Polynomial filters on graphs: data, training, prediction."""


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    """What it says, without the line of code that says it."""
    typer.echo(f"unifilter: warning: {message}", err=True)


def _failure(message: str, code: int, debug: bool) -> typer.Exit:
    if debug:
        traceback.print_exc(file=sys.stderr)
    typer.echo(f"unifilter: {message}", err=True)
    return typer.Exit(code)


app.add_typer(data.app, name="data")
app.command("train")(train_command)
app.command("compare")(compare_command)
app.command("predict")(predict_command)
app.command("tune")(tune_command)
app.command("explain")(explain_command)
app.command("explore")(explore_command)
app.command("methods")(methods_command)
app.command("reproduce")(reproduce_command)
app.command("results")(results_command)
