"""The command line, ``unifilter``. Each command is a module, listed in ``COMMANDS`` below.

Exit codes: 0, success; 1, unexpected error; 2, invalid input, explained in the message; 130, interrupted.
"""

from __future__ import annotations

import sys
import traceback
import warnings
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_group

from unifilter import __version__
from unifilter._internal.extras import MissingExtraError
from unifilter.cli.processes import check_shared, joined_processes
from unifilter.cli.spelling import for_command_line

# Import path and help line of each command. The help line repeats the first paragraph of the command's docstring, so
# that `unifilter --help` imports no command: most of them import torch, which takes a second or more.
COMMANDS = {
    "train": (
        "unifilter.cli.train:train_command",
        "Train a method on every split, print a table, and write a folder with report, records, model and plots.",
    ),
    "compare": (
        "unifilter.cli.compare:compare_command",
        "Train each method, print accuracy, time and memory, and draw the learned filters on one axis.",
    ),
    "factorize": (
        "unifilter.cli.factorize:factorize_command",
        "Factorize a data set to a folder, block by block: an interrupted run is continued by the same command.",
    ),
    "predict": (
        "unifilter.cli.predict:predict_command",
        "Predict every node: a CSV with the node's id, the prediction, and the probability of each class.",
    ),
    "tune": (
        "unifilter.cli.tune:tune_command",
        "Tune a method's hyperparameters on the validation nodes and print the command that trains the best ones.",
    ),
    "explain": (
        "unifilter.cli.explain:explain_command",
        "Explain a graph: one page with sliders for tau and homophily that needs no server and no network.",
    ),
    "explore": (
        "unifilter.cli.explore:explore_command",
        "Serve an interactive page on this machine: explore data sets, upload files, watch training, compare filters.",
    ),
    "methods": (
        "unifilter.cli.methods:methods_command",
        "List the methods with their paper, cost and extra requirements.",
    ),
    "reproduce": (
        "unifilter.cli.reproduce:reproduce_command",
        "Run one of the paper's experiments on this machine and report your results beside the paper's.",
    ),
    "results": (
        "unifilter.cli.results:results_command",
        "Show the results that ship with the package beside the paper's. Nothing is trained.",
    ),
    "data": ("unifilter.cli.data:app", "List, describe, download and convert data sets."),
}


class _CommandsWithClearErrors(TyperGroup):
    """Imports a command when it is invoked, and reports an exception as a message on stderr and an exit code."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, command, rest = super().resolve_command(ctx, args)
        check_shared(str(name))
        return name, None if command is None else load_command(str(command.name)), rest

    def invoke(self, ctx: Any) -> Any:
        debug = bool(ctx.params.get("debug"))
        try:
            with warnings.catch_warnings():
                if not debug:
                    warnings.showwarning = _show_warning
                with joined_processes():
                    return super().invoke(ctx)
        except KeyboardInterrupt:
            raise typer.Exit(130) from None
        except (ValueError, FileNotFoundError, MissingExtraError) as error:
            raise _failure(for_command_line(str(error)), 2, debug) from error
        except Exception as error:
            # Usage errors and typer.Exit carry their own exit code. Typer itself handles a closed pipe.
            if isinstance(error, (typer.Abort, BrokenPipeError)) or hasattr(error, "exit_code"):
                raise
            hint = "" if debug else " (run `unifilter --debug ...` to see the traceback)"
            raise _failure(f"{type(error).__name__}: {error}{hint}", 1, debug) from error


app = typer.Typer(
    name="unifilter",
    cls=_CommandsWithClearErrors,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def main() -> None:
    """Console entry point."""
    app()


def load_command(name: str) -> Any:
    """Import a command or a group of commands."""
    module, _, attribute = COMMANDS[name][0].partition(":")
    found = getattr(import_module(module), attribute)
    group = typer.Typer()
    if isinstance(found, typer.Typer):
        group.add_typer(found, name=name)
    else:
        group.command(name)(found)
    return get_group(group).commands[name]


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"unifilter {__version__}")
        raise typer.Exit()


@app.callback()
def _unifilter(
    debug: Annotated[bool, typer.Option("--debug", help="Print the traceback of an error.")] = False,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Polynomial filters on graphs: data sets, training, prediction."""


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    """Print a warning without the source line that raised it."""
    typer.echo(f"unifilter: warning: {message}", err=True)


def _failure(message: str, code: int, debug: bool) -> typer.Exit:
    if debug:
        traceback.print_exc(file=sys.stderr)
    typer.echo(f"unifilter: {message}", err=True)
    return typer.Exit(code)


def _not_loaded() -> None:
    """Placeholder for a command that has not been imported yet."""


for _name, (_, _help) in COMMANDS.items():
    app.command(_name, help=_help)(_not_loaded)
