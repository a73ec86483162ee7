"""Tables of named classes that other packages can add to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import TypeVar

Item = TypeVar("Item")


class Registry(Mapping[str, Item]):
    """Classes by name: ours, those a user registers, and those that installed packages offer as entry points.

    Args:
        kind: What is in it, for messages, such as ``"basis"``.
        group: The entry-point group that other packages use, such as ``"unifilter.bases"``.
        base: The class that every entry derives from.
        entries: The entries that come with this package.
    """

    def __init__(self, kind: str, group: str, base: type, entries: Mapping[str, Item]) -> None:
        self._kind, self._group, self._base = kind, group, base
        self._entries = dict(entries)
        self._offered: dict[str, EntryPoint] | None = None

    def register(self, name: str, item: Item) -> None:
        """Add an entry. A name that means something else already is refused; the same entry again is not."""
        if not isinstance(name, str) or not name:
            raise ValueError(f"the name of a {self._kind} is a non-empty string, not {name!r}")
        if not isinstance(item, type) or not issubclass(item, self._base):
            raise ValueError(
                f"{item!r} cannot be registered as the {self._kind} {name!r}: pass a subclass of {self._base.__name__}"
            )
        known = self._entries.get(name)
        # A class that is defined again, as by running a notebook cell twice, replaces the one before.
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
        """An entry by its name; an unknown name is an error that lists the names there are."""
        if name not in self:
            raise ValueError(f"there is no {self._kind} {name!r}: choose one of {', '.join(self)}")
        return self[name]

    def name_of(self, item: object) -> str | None:
        """The name an entry has; ``None`` where it is not registered."""
        return next((name for name in self if self[name] is item), None)

    def _from_packages(self) -> dict[str, EntryPoint]:
        # Read once, when first needed: it looks at every installed package.
        if self._offered is None:
            self._offered = {point.name: point for point in entry_points(group=self._group)}
        return self._offered


def _origin(item: object) -> tuple[str, str]:
    return getattr(item, "__module__", ""), getattr(item, "__qualname__", repr(item))
