"""Tables of named classes: what is in them, who may add to them, and what is refused."""

from __future__ import annotations

from importlib.metadata import EntryPoint

import pytest

from unifilter._internal import registry
from unifilter._internal.registry import Registry


class Animal:
    pass


class Ape(Animal):
    pass


class Bee(Animal):
    pass


def animals() -> Registry[type[Animal]]:
    return Registry("animal", "unifilter.tests.animals", Animal, {"ape": Ape})


@pytest.fixture
def package(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """An installed package that offers a bee; the groups that were asked for."""
    asked: list[str] = []

    def offered(group: str) -> list[EntryPoint]:
        asked.append(group)
        return [EntryPoint("bee", f"{__name__}:Bee", group)]

    monkeypatch.setattr(registry, "entry_points", offered)
    return asked


def test_it_is_a_mapping_that_can_grow() -> None:
    table = animals()
    table.register("bee", Bee)
    assert dict(table) == {"ape": Ape, "bee": Bee}
    assert (len(table), "bee" in table, "cat" in table) == (2, True, False)
    assert table.find("bee") is Bee
    assert (table.name_of(Bee), table.name_of(Animal)) == ("bee", None)
    with pytest.raises(KeyError):
        table["cat"]


def test_what_packages_offer_is_looked_for_once_and_loaded_when_needed(package: list[str]) -> None:
    table = animals()
    assert package == []
    assert table.find("ape") is Ape
    assert package == []  # what is there already needs no look at other packages
    assert list(table) == ["ape", "bee"]
    assert (len(table), "bee" in table) == (2, True)
    assert table._entries == {"ape": Ape}
    assert table.find("bee") is table["bee"] is Bee
    assert (table.name_of(Bee), len(table)) == ("bee", 2)
    assert package == ["unifilter.tests.animals"]


def test_a_class_that_is_defined_again_replaces_the_one_before() -> None:
    def define() -> type[Animal]:
        class Cat(Animal):
            pass

        return Cat

    table, first, second = animals(), define(), define()
    table.register("cat", first)
    table.register("cat", first)
    table.register("cat", second)
    assert table["cat"] is second


@pytest.mark.parametrize("name", ["", None, 3])
def test_a_name_is_a_string(name: object) -> None:
    with pytest.raises(ValueError, match=f"the name of a animal must be a non-empty string, not {name!r}"):
        animals().register(name, Bee)  # type: ignore[arg-type]


@pytest.mark.parametrize("item", [int, Bee(), "bee"])
def test_only_classes_of_the_kind_can_be_registered(item: object) -> None:
    with pytest.raises(ValueError, match="cannot be registered as the animal 'bee': pass a subclass of Animal"):
        animals().register("bee", item)  # type: ignore[arg-type]


def test_a_name_that_is_taken_is_refused() -> None:
    table = animals()
    with pytest.raises(ValueError, match="there is already a animal 'ape', .*Ape.*: choose another name"):
        table.register("ape", Bee)
    assert table["ape"] is Ape


def test_a_name_that_a_package_offers_is_taken(package: list[str]) -> None:
    table = animals()
    table.register("bee", Bee)
    with pytest.raises(ValueError, match="there is already a animal 'bee'"):
        table.register("bee", Ape)


def test_an_unknown_name_is_answered_with_those_there_are() -> None:
    with pytest.raises(ValueError, match="there is no animal 'cat': choose one of ape$"):
        animals().find("cat")
