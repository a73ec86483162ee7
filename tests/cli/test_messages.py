"""The library does not know the command line: its messages are for Python users, and ``cli`` adds the options."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import unifilter
from unifilter.cli.spelling import for_command_line

SOURCES = Path(unifilter.__file__).parent
OPTION = re.compile(r"(?<![\w-])--[a-z]")
COMMAND = re.compile(
    r"unifilter (train|tune|compare|predict|explain|explore|factorize|reproduce|results|methods|"
    r"data (list|info|fetch|convert))\b"
)


def messages(tree: ast.Module) -> Iterator[str]:
    """String literals that are text: no docstrings, no style sheets, no single arguments of another program."""
    skipped = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr):
                skipped.add(first.value)
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "_STYLE" for t in node.targets):
            skipped.add(node.value)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in skipped and " " in node.value:
            yield node.value


def offenders(source: str) -> list[str]:
    return [text for text in messages(ast.parse(source)) if OPTION.search(text) or COMMAND.search(text)]


# Pages that name commands: what to try next, for whoever typed a command, and how a result is measured again.
PAGES_WITH_COMMANDS = {
    "reports/next_steps.py",
    "experiments/show/claims.py",
    "experiments/show/markdown.py",
}


def library_files() -> list[str]:
    names = sorted(path.relative_to(SOURCES).as_posix() for path in SOURCES.rglob("*.py"))
    return [name for name in names if not name.startswith("cli/") and name not in PAGES_WITH_COMMANDS]


@pytest.mark.parametrize("name", library_files())
def test_no_message_of_the_library_names_an_option(name: str) -> None:
    assert offenders((SOURCES / name).read_text(encoding="utf-8")) == []


def test_the_scan_finds_what_it_looks_for() -> None:
    assert offenders('raise ValueError(f"{path} exists: pass --resume or another --out")') != []
    assert offenders('raise ValueError("there is no study: run `unifilter tune cora` first")') != []
    assert (
        offenders('"""Docstring with --resume."""\ncommand = ["pip", "--no-deps"]\n_STYLE = "a { --ink: red }"') == []
    )
    assert len(library_files()) > 150


@pytest.mark.parametrize(
    ("python", "typed"),
    [
        (
            "exists: pass resume=True to continue, or another folder",
            "exists: pass --resume to continue, or another --out",
        ),
        (
            "pass split='stratified', or pass allow_missing_classes=True",
            "pass --split stratified, or pass --allow-missing-classes",
        ),
        ("reuse them with known=[...]", "reuse them with --known"),
        ('pass memory_limit="4GB", or batch_size=100', "pass --memory-limit 4GB, or --set batch_size=100"),
        ("memory_limit is 1.0 GB: raise it", "--memory-limit is 1.0 GB: raise it"),
        ("pass another study file", "pass another --study"),
        ("port 80 is in use: pass another port", "port 80 is in use: pass another --port"),
        ("unifilter.datasets.fetch('penn94') downloads it", "`unifilter data fetch penn94` downloads it"),
        ("nothing to spell otherwise", "nothing to spell otherwise"),
    ],
)
def test_the_command_line_names_its_options(python: str, typed: str) -> None:
    assert for_command_line(python) == typed
