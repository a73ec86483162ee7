from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from unifilter._internal.extras import EXTRAS, MissingExtraError, require
from unifilter.methods import METHODS


@pytest.mark.parametrize("extra", EXTRAS)
def test_a_missing_package_is_named_with_its_remedy(extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    require(extra, what="this")
    for package in EXTRAS[extra]:
        with monkeypatch.context() as patched:
            patched.setitem(sys.modules, package, None)
            with pytest.raises(
                MissingExtraError, match=rf"^this needs .*{package}.*: pip install 'unifilter\[{extra}\]'$"
            ):
                require(extra, what="this")


def test_only_the_packages_that_are_needed_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    require("tables", what="reading tables", packages=["pandas"])


def test_the_extras_are_those_of_the_project() -> None:
    tomllib = pytest.importorskip("tomllib")
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = project["optional-dependencies"]
    for extra, packages in EXTRAS.items():
        # mlflow-skinny is mlflow without its server, and imported under the same name.
        names = (re.split(r"[<>=!~; ]", line)[0].removesuffix("-skinny") for line in declared[extra])
        assert tuple(names) == packages


@pytest.mark.parametrize("name", METHODS)
def test_a_method_that_needs_more_says_so(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    method = METHODS[name]
    method.check_installed()
    assert ("unifilter[" in method.needs) == bool(method.extra)
    for package in EXTRAS.get(method.extra, ()):
        monkeypatch.setitem(sys.modules, package, None)
        with pytest.raises(MissingExtraError, match=f"the method {name} needs {package}"):
            method.check_installed()
