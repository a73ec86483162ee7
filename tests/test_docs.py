"""The pages that the documentation is written from: the reference, the commands, the gallery."""

from __future__ import annotations

import ast
import re
import runpy
from pathlib import Path
from typing import Any

import pytest

import unifilter
from unifilter.cli import COMMANDS
from unifilter.methods import METHODS

REPOSITORY = Path(__file__).parent.parent
GALLERY = sorted((REPOSITORY / "examples").glob("[0-9][0-9]_*.py"))


@pytest.fixture(scope="module")
def pages() -> dict[str, Any]:
    return runpy.run_path(str(REPOSITORY / "docs" / "_extensions" / "generated_pages.py"))


def test_every_public_name_has_an_entry(pages: dict[str, Any]) -> None:
    """An entry of a class brings its methods; the build compares Sphinx's inventory with all of them."""
    assert pages["undocumented_packages"]() == []
    entries = {f"unifilter.{name}" for name in pages["top_level"]() if pages["home_of"](name) is None}
    for name, title in pages["PACKAGES"].items():
        text = pages["package_page"](name, title)
        entries |= set(re.findall(r"^\.\. (?:autoclass|autofunction):: (\S+)", text, flags=re.MULTILINE))
        constants = re.findall(r"^\.\. py:data:: (\S+)\n   :module: (\S+)", text, flags=re.MULTILINE)
        entries |= {f"{module}.{short}" for short, module in constants}
    classes = {name for name in pages["public_names"]() if name in entries}
    missing = [name for name in pages["missing_names"](entries) if name.rsplit(".", 1)[0] not in classes]
    assert missing == []


def test_a_missing_name_is_found(pages: dict[str, Any]) -> None:
    names = pages["public_names"]()
    assert "unifilter.graph.Graph.from_edges" in names
    assert pages["missing_names"](set(names) - {"unifilter.graph.Graph.from_edges"}) == [
        "unifilter.graph.Graph.from_edges"
    ]


def test_every_name_of_the_top_level_is_linked(pages: dict[str, Any]) -> None:
    index = pages["reference_index"]()
    for name in pages["top_level"]():
        linked = f"`unifilter.{name} <unifilter.{pages['home_of'](name)}.{name}>`" in index
        # What no package lists is explained there.
        assert linked or re.search(rf":: (unifilter\.)?{name}$", index, flags=re.MULTILINE), name


def test_every_command_and_method_is_listed(pages: dict[str, Any]) -> None:
    commands = pages["command_page"]()
    for name in COMMANDS:
        assert f"## `unifilter {name}`" in commands
    assert "`unifilter data fetch`" in commands
    listed = re.findall(r"^\| `([^`]+)` \|", pages["method_page"](), flags=re.MULTILINE)
    assert listed == list(METHODS)


@pytest.mark.parametrize(
    ("page", "found"),
    [
        ('<script src="https://cdn.example/x.js"></script>', ["https://cdn.example/x.js"]),
        ("<link rel='stylesheet' href='//fonts.example/a.css'>", ["//fonts.example/a.css"]),
        ('<style>@import url("http://x.example/a.css")</style>', ["http://x.example/a.css"]),
        ('<img src="_images/a.png"><script src="_static/a.js"></script><a href="https://arxiv.org">paper</a>', []),
        ('<link rel="canonical" href="https://docs.example/">', []),
    ],
)
def test_what_a_page_would_load_from_elsewhere_is_found(pages: dict[str, Any], page: str, found: list[str]) -> None:
    assert set(pages["outside_requests"](page)) == set(found)


def test_the_packages_of_the_reference_are_the_public_ones(pages: dict[str, Any]) -> None:
    assert set(pages["PACKAGES"]) <= set(unifilter.__all__)


@pytest.mark.parametrize("script", GALLERY, ids=lambda script: script.stem)
def test_a_script_of_the_gallery_has_a_title_and_explains_itself(script: Path) -> None:
    """The build runs them and stops at an error."""
    text = script.read_text(encoding="utf-8")
    title, line, *_ = (ast.get_docstring(ast.parse(text)) or "").splitlines()
    assert line == "=" * len(title)
    assert text.count("\n# %%\n") >= 2
    assert "_internal" not in text


def test_the_gallery_has_a_script_for_every_topic() -> None:
    assert [script.stem[:2] for script in GALLERY] == [f"{number:02}" for number in range(1, 13)]
