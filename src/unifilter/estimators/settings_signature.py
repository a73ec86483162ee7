"""Settings of a method as arguments of an estimator. They are defined once, in the dataclass of the method."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Mapping, Sequence
from typing import Any

from unifilter.methods import Method


def settings_signature(
    family: type[Method], options: Sequence[inspect.Parameter], defaults: Mapping[str, Any]
) -> inspect.Signature:
    """The signature of an estimator's ``__init__``: the settings of a method by keyword, then further options.

    Args:
        family: The method.
        options: Parameters that the estimator adds.
        defaults: Settings whose default differs from that of the method.
    """
    own = [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=defaults.get(field.name, default_of(field)),
            annotation=field.type,
        )
        for field in _ordered_fields(family)
    ]
    return inspect.Signature([inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD), *own, *options])


def default_of(field: dataclasses.Field[object]) -> object:
    """The default of a setting. Every setting has one."""
    return field.default if field.default_factory is dataclasses.MISSING else field.default_factory()


def settings_doc(family: type[Method]) -> str:
    """The descriptions of a method's settings, from the ``Attributes`` sections of its class and its bases."""
    described: dict[str, str] = {}
    for one in reversed(family.__mro__):
        if issubclass(one, Method):
            described |= _attributes_section(inspect.cleandoc(one.__dict__.get("__doc__") or ""))
    return "\n".join(described.values())


def _ordered_fields(family: type[Method]) -> list[dataclasses.Field[object]]:
    """The method's own settings first, then those shared by all methods."""
    common = {field.name for field in dataclasses.fields(Method)}
    fields = list(dataclasses.fields(family))
    return [one for one in fields if one.name not in common] + [one for one in fields if one.name in common]


def _attributes_section(doc: str) -> dict[str, str]:
    """The entries of the ``Attributes:`` section, by name."""
    found = re.search(r"^Attributes:\n((?:[ ]{4}.*\n?|\n)*)", doc + "\n", flags=re.MULTILINE)
    if found is None:
        return {}
    entries = re.split(r"\n(?=[ ]{4}\S)", found.group(1).rstrip())
    return {entry.split(":")[0].strip(): entry for entry in entries if entry.strip()}
