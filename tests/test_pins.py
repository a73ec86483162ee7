"""What constraints.txt holds, and how `make pins` writes it."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parent.parent
LINES = (REPOSITORY / "constraints.txt").read_text(encoding="utf-8").splitlines()
pinned = runpy.run_path(str(REPOSITORY / ".ci" / "pins.py"))["pinned"]


def plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_every_package_that_is_named_is_pinned_once() -> None:
    tomllib = pytest.importorskip("tomllib")
    settings = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    project = settings["project"]
    wanted = settings["build-system"]["requires"] + project["dependencies"]
    wanted += [line for extra in project["optional-dependencies"].values() for line in extra]
    named = {plain(re.split(r"[<>=\[; ]", line)[0]) for line in wanted} - {"unifilter"}
    pins = [plain(line.split("==")[0]) for line in LINES[1:]]
    assert named - set(pins) == set()
    assert len(pins) == len(set(pins))


def test_pins_are_versions_without_hashes_and_labels_of_a_build() -> None:
    assert [line for line in LINES[1:] if not re.fullmatch(r"[\w.-]+==[\w.]+", line)] == []


@pytest.mark.parametrize("name", ["unifilter", "pip", "setuptools", "nvidia-cublas-cu12", "cuda-bindings", "triton"])
def test_what_differs_from_index_to_index_is_not_pinned(name: str) -> None:
    assert not pinned(name)
    assert pinned("torch")
    assert pinned("pipdeptree")
