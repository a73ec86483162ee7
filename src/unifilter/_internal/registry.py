"""Tables of named classes that other packages can extend."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import TypeVar

Item = TypeVar("Item")


class Registry(Mapping[str, Item]):
    """Classes by name: built in, registered by the user, or offered by installed packages as entry points.

    Args:
        kind: What the registry holds, such as ``"basis"``; used in messages.
        group: Entry-point group for other packages, such as ``"unifilter.bases"``.
        base: Base class of every entry.
        entries: Built-in entries.
    """

    def __init__(self, kind: str, group: str, base: type, entries: Mapping[str, Item]) -> None:
        self._kind, self._group, self._base = kind, group, base
        self._entries = dict(entries)
        self._offered: dict[str, EntryPoint] | None = None

    def register(self, name: str, item: Item) -> None:
        """Add an entry. Registering the same entry again is allowed; reusing a name for another one is an error."""
        if not isinstance(name, str) or not name:
            raise ValueError(f"the name of a {self._kind} must be a non-empty string, not {name!r}")
        if not isinstance(item, type) or not issubclass(item, self._base):
            raise ValueError(
                f"{item!r} cannot be registered as the {self._kind} {name!r}: pass a subclass of {self._base.__name__}"
            )
        known = self._entries.get(name)
        # A class that is defined again, for example by rerunning a notebook cell, replaces the old one.
        if known is not None and _origin(known) != _origin(item):
            raise ValueError(f"there is already a {self._kind} {name!r}, {known!r}: choose another name")
        self._entries[name] = item

    def __getitem__(self, name: str) -> Item:
        if name not in self._entries and name in self._from_packages():
            self.register(name, self._from_packages()[name].load())
        return self._entries[name]

    def __iter__(self) -> Iterator[str]:
        return iter({**self._entries, **self._from_packages()})

    def __len__(self) -> int:
        return len({**self._entries, **self._from_packages()})

    def __contains__(self, name: object) -> bool:
        return name in self._entries or name in self._from_packages()

    def find(self, name: str) -> Item:
        """Look up an entry. An unknown name raises an error that lists all names."""
        if name not in self:
            raise ValueError(f"there is no {self._kind} {name!r}: choose one of {', '.join(self)}")
        return self[name]

    def name_of(self, item: object) -> str | None:
        """The name of an entry, or ``None`` if it is not registered."""
        return next((name for name in self if self[name] is item), None)

    def _from_packages(self) -> dict[str, EntryPoint]:
        # Cached, because it looks at every installed package.
        if self._offered is None:
            self._offered = {point.name: point for point in entry_points(group=self._group)}
        return self._offered


def _origin(item: object) -> tuple[str, str]:
    return getattr(item, "__module__", ""), getattr(item, "__qualname__", repr(item))
