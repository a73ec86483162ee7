"""The table of commands, which are imported only when they are invoked."""

from __future__ import annotations

import inspect
from importlib import import_module

import pytest
import typer
from typer.testing import CliRunner

from unifilter.cli import COMMANDS, app, load_command

runner = CliRunner()


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_line_is_the_first_paragraph_of_the_docstring(name: str) -> None:
    place, line = COMMANDS[name]
    module, _, attribute = place.partition(":")
    command = getattr(import_module(module), attribute)
    documentation = command.info.help if isinstance(command, typer.Typer) else inspect.getdoc(command)
    assert line == " ".join(documentation.split("\n\n")[0].split())


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_is_loaded_under_its_name_with_its_own_help(name: str) -> None:
    command = load_command(name)
    assert command.name == name
    result = runner.invoke(app, [name, "--help"], terminal_width=200)
    assert result.exit_code == 0
    assert COMMANDS[name][1] in " ".join(result.output.split())
    assert command.params or command.commands  # what stands for it in the list of commands has neither


def test_help_lists_the_commands_in_the_order_of_the_table() -> None:
    result = runner.invoke(app, ["--help"], terminal_width=200)
    assert result.exit_code == 0
    lines = [line.strip("│ ").split() for line in result.output.splitlines()]
    assert [words[0] for words in lines if words and words[0] in COMMANDS] == list(COMMANDS)


def test_a_misspelled_command_gets_a_suggestion() -> None:
    result = runner.invoke(app, ["trian"])
    assert result.exit_code == 2
    assert "No such command 'trian'. Did you mean 'train'?" in " ".join(result.output.split())


def test_an_error_while_a_command_is_imported_is_reported_like_any_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(COMMANDS, "train", ("unifilter.cli.no_such_module:train_command", ""))
    result = runner.invoke(app, ["train", "karate"])
    assert result.exit_code == 1
    assert "unifilter: ModuleNotFoundError: No module named 'unifilter.cli.no_such_module'" in result.output
    assert "run `unifilter --debug ...` to see the traceback" in result.output
