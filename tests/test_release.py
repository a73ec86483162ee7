"""What a release says about itself: who to cite, under which terms, which version."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from unifilter import __version__
from unifilter.experiments.show.reported import reported_figures

REPOSITORY = Path(__file__).parent.parent


def citation() -> dict[str, Any]:
    known: dict[str, Any] = yaml.safe_load((REPOSITORY / "CITATION.cff").read_text(encoding="utf-8"))
    return known


def test_the_paper_is_what_to_cite() -> None:
    paper = citation()["preferred-citation"]
    names = [author["family-names"] for author in paper["authors"]]
    # As the page of results names its source: "Huang, Wang, Li and Liò: TITLE, ICML 2024".
    assert (
        f"{', '.join(names[:-1])} and {names[-1]}: {paper['title']}, ICML {paper['year']}"
        == (reported_figures()["source"])
    )
    assert paper["url"] in (REPOSITORY / "README.md").read_text(encoding="utf-8")


def test_the_citation_has_what_its_format_requires() -> None:
    found = citation()
    assert {"cff-version", "message", "title", "authors"} <= found.keys()
    assert {"type", "title", "authors"} <= found["preferred-citation"].keys()
    assert found["cff-version"] == "1.2.0"


def test_license_and_version_are_written_once() -> None:
    tomllib = pytest.importorskip("tomllib")
    settings = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    project = settings["project"]
    assert project["license"] == citation()["license"] == "MIT"
    assert not [line for line in project["classifiers"] if line.startswith("License")]
    assert project["dynamic"] == ["version"]
    assert "version" not in citation()
    source = (REPOSITORY / settings["tool"]["hatch"]["version"]["path"]).read_text(encoding="utf-8")
    assert re.findall(r'"(\d+\.\d+\.\S+)"', source) == [__version__]
