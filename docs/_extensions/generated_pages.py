"""Pages that are written from the package itself: the reference, the commands, the methods.

They are written into ``docs/generated`` before Sphinx reads its sources. After the build, every public name has to be
in the inventory, and no page may load anything from elsewhere.
"""

from __future__ import annotations

import importlib
import inspect
import re
import typing
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import typer
from typer.cli import get_docs_for_click

import unifilter
from unifilter.cli import COMMANDS, load_command
from unifilter.methods import METHODS

# In the order of the data's way. A package that is missing here is reported by `undocumented_packages`.
PACKAGES = {
    "estimators": "Estimators",
    "graph": "Graph and homophily",
    "bases": "Bases",
    "factorization": "Factorization",
    "nn": "Modules",
    "methods": "Methods",
    "training": "Training",
    "evaluation": "Evaluation",
    "transforms": "Transforms",
    "explanation": "Explanation",
    "data": "Data",
    "datasets": "Data sets",
    "runs": "Runs",
    "reports": "Reports",
    "experiments": "Experiments",
}
# Public modules that no package passes on.
FURTHER = {
    "datasets": ("unifilter.datasets.synthetic",),
    "explanation": ("unifilter.explanation.pyg_explainer", "unifilter.explanation.curves"),
    "runs": ("unifilter.runs.tuning",),
}


def setup(app: Any) -> dict[str, Any]:
    """Sphinx's entry."""
    app.connect("builder-inited", lambda app: write_pages(Path(app.srcdir) / "generated"))
    app.connect("autodoc-skip-member", _keep_methods)
    app.connect("autodoc-process-docstring", _without_torch)
    app.connect("build-finished", _check)
    return {"parallel_read_safe": True, "version": "1"}


def write_pages(folder: Path) -> None:
    """Every generated page; one that has not changed keeps its date, so that Sphinx does not read it again."""
    pages = {"commands.md": command_page(), "methods-table.md": method_page(), "reference.rst": reference_index()}
    pages |= {f"{name}.rst": package_page(name, title) for name, title in PACKAGES.items()}
    folder.mkdir(exist_ok=True)
    for name, text in pages.items():
        if not (folder / name).exists() or (folder / name).read_text(encoding="utf-8") != text:
            (folder / name).write_text(text, encoding="utf-8")


def command_page() -> str:
    """Every command with its options, by typer's own generator."""
    parts = [
        "# Commands",
        "",
        "`unifilter --debug COMMAND` shows where an error comes from, `unifilter --version` the version. Exit codes: "
        "0, done; 2, the input was wrong, and the message says how; 1, anything unexpected; 130, interrupted.",
        "",
    ]
    for name in COMMANDS:
        command = load_command(name)
        parts.append(get_docs_for_click(obj=command, ctx=typer.Context(command), name=f"unifilter {name}", indent=1))
    return "\n".join(parts)


def method_page() -> str:
    """One line per method, as `unifilter methods` prints them."""
    lines = [
        "# Methods",
        "",
        "`NodeClassifier`, `NodeRegressor`, `unifilter train --method`, `compare` and `tune` know these names. K is "
        "the number of hops; a *product* is one multiplication of the graph with a matrix. Each class with its "
        "hyperparameters is in the [reference](methods.rst); [contributing](../contributing.md) shows how to add one.",
        "",
        "| name | paper | cost | needs |",
        "| --- | --- | --- | --- |",
    ]
    lines += [f"| `{one.name}` | {one.paper} | {one.cost} | {one.needs} |" for one in METHODS.values()]
    return "\n".join(lines) + "\n"


def reference_index() -> str:
    """The packages, and where each name of the top level is explained."""
    lines = [
        *_heading("Reference", "="),
        "The pages follow the way of the data. Each starts with a table of its names.",
        "",
    ]
    lines += [".. toctree::", "   :maxdepth: 1", "", *(f"   {name}" for name in PACKAGES), ""]
    lines += [*_heading("Names of the top level", "-"), "These can be imported from ``unifilter`` itself.", ""]
    homes = {name: home_of(name) for name in top_level()}
    lines += [f"- :py:obj:`unifilter.{name} <unifilter.{home}.{name}>`" for name, home in homes.items() if home]
    for name in (name for name, home in homes.items() if home is None):
        lines += ["", *_entry(f"unifilter.{name}", getattr(unifilter, name))]
    return "\n".join(lines) + "\n"


def package_page(name: str, title: str) -> str:
    """What a package offers: a table of the names, then each in full."""
    module = importlib.import_module(f"unifilter.{name}")
    names = sorted(module.__all__, key=str.lower)
    lines = [*_heading(title, "="), f".. automodule:: unifilter.{name}", "   :no-members:", ""]
    lines += [f".. currentmodule:: unifilter.{name}", "", ".. autosummary::", "   :nosignatures:", ""]
    lines += [f"   {one}" for one in names if _documents_itself(getattr(module, one))]
    for one in names:
        lines += ["", *_entry(f"unifilter.{name}.{one}", getattr(module, one))]
    if name == "methods":
        for method in METHODS.values():
            lines += ["", *_entry(f"{method.__module__}.{method.__name__}", method)]
    for further in FURTHER.get(name, ()):
        lines += ["", *_heading(further, "-"), f".. automodule:: {further}", "   :members:"]
    return "\n".join(lines) + "\n"


def top_level() -> list[str]:
    """The names of ``unifilter`` that are no packages."""
    return [name for name in unifilter.__all__ if not inspect.ismodule(getattr(unifilter, name)) and name[0] != "_"]


def home_of(name: str) -> str | None:
    """The package whose page explains a name of the top level."""
    for package in PACKAGES:
        if name in importlib.import_module(f"unifilter.{package}").__all__:
            return package
    return None


def undocumented_packages() -> list[str]:
    """Public packages without a page."""
    public = [name for name in unifilter.__all__ if inspect.ismodule(getattr(unifilter, name))]
    return [name for name in public if name not in PACKAGES]


def public_names() -> list[str]:
    """Everything that has to be in the reference: names of packages, methods and properties of their classes."""
    names = [f"unifilter.{name}" for name in top_level() if home_of(name) is None]
    for package in PACKAGES:
        module = importlib.import_module(f"unifilter.{package}")
        for name in module.__all__:
            names.append(f"unifilter.{package}.{name}")
            found = getattr(module, name)
            if inspect.isclass(found):
                names += [f"unifilter.{package}.{name}.{member}" for member in _own_methods(found)]
    return names + [f"{method.__module__}.{method.__name__}" for method in METHODS.values()]


def missing_names(documented: Iterable[str]) -> list[str]:
    """Public names that are not documented."""
    known = set(documented)
    return [name for name in public_names() if name not in known]


def outside_requests(page: str) -> list[str]:
    """Addresses on other machines from which a page would load something."""
    loaded = re.findall(r"<(?:script|img|iframe|source)\b[^>]*?\bsrc=[\"']((?:https?:)?//[^\"']+)", page)
    for link in re.findall(r"<link\b[^>]*>", page):
        if not re.search(r"rel=[\"'](?:canonical|alternate|author|license|search)", link):
            loaded += re.findall(r"\bhref=[\"']((?:https?:)?//[^\"']+)", link)
    return loaded + re.findall(r"(?:@import|url\()\s*[\"']?((?:https?:)?//[^\"')]+)", page)


def _own_methods(found: type) -> list[str]:
    kinds = (property, classmethod, staticmethod)
    return [
        name
        for name, member in vars(found).items()
        if not name.startswith("_") and (inspect.isfunction(member) or isinstance(member, kinds))
    ]


def _documents_itself(found: Any) -> bool:
    return inspect.isclass(found) or inspect.isfunction(found)


def _entry(name: str, found: Any) -> list[str]:
    if inspect.isclass(found):
        return [f".. autoclass:: {name}", "   :members:", "   :show-inheritance:"]
    if inspect.isfunction(found):
        return [f".. autofunction:: {name}"]
    module, _, short = name.rpartition(".")
    return [f".. py:data:: {short}", f"   :module: {module}", "", f"   {_words_for(found)}"]


def _words_for(found: Any) -> str:
    """What a constant or an alias of types is."""
    choices = typing.get_args(found)
    if typing.get_origin(found) is typing.Literal:
        return f"One of {', '.join(f'``{choice!r}``' for choice in choices)}."
    if choices:
        names = [getattr(one, "__forward_arg__", getattr(one, "__name__", str(one))) for one in choices]
        return f"``{' | '.join(dict.fromkeys(names))}``"
    if isinstance(found, Mapping):
        return f"A table of {len(found)} entries: {', '.join(f'``{key!r}``' for key in found)}."
    return f"``{found!r}``"


def _heading(text: str, line: str) -> list[str]:
    return [text, line * len(text), ""]


def _keep_methods(app: Any, what: str, name: str, member: Any, skip: bool, options: Any) -> bool | None:
    """Methods appear although their name says everything; fields are explained by their class. Those that scikit-learn
    adds for its metadata routing do not.
    """
    if re.fullmatch(r"set_\w+_request", name):
        return True
    if skip and not name.startswith("_") and (inspect.isfunction(member) or isinstance(member, property)):
        return False
    return None


def _without_torch(app: Any, what: str, name: str, found: Any, options: Any, lines: list[str]) -> None:
    """`forward` without a docstring would get the one of torch, which says nothing about the model."""
    if lines and lines[0].startswith("Define the computation performed at every call"):
        lines.clear()


def _check(app: Any, error: Exception | None) -> None:
    from sphinx.util import logging

    if error is not None or app.builder.name != "html":
        return
    log = logging.getLogger(__name__)
    for name in undocumented_packages():
        log.warning("the public package unifilter.%s has no page in the reference", name)
    for name in missing_names(app.env.get_domain("py").objects):
        log.warning("the public name %s is not in the reference", name)
    for path in sorted(Path(app.outdir).rglob("*.html")):
        for address in outside_requests(path.read_text(encoding="utf-8")):
            log.warning("%s would load %s from elsewhere", path.relative_to(app.outdir), address)
