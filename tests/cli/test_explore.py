from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from explore.small_sessions import npz
from typer.testing import CliRunner, Result

from unifilter import cli
from unifilter.explore import server
from unifilter.explore.session import Session


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli.app, ["explore", *arguments])


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Session, bool, int]]:
    """What would be served, without serving it."""
    calls: list[tuple[Session, bool, int]] = []

    def serve(session: Session, listening: Any, open_page: bool, say: Any) -> None:
        calls.append((session, open_page, listening.getsockname()[1]))

    monkeypatch.setattr(server, "serve", serve)
    return calls


def test_a_data_set_is_opened_with_its_settings(served: list[tuple[Session, bool, int]], tmp_path: Path) -> None:
    assert run("Karate", "--no-open", "--max-upload-mb", "3", "--data-dir", str(tmp_path)).exit_code == 0
    session, open_page, port = served[0]
    assert (session.upload_limit, session.data_dir, open_page) == (3_000_000, tmp_path, False)
    assert session.opened.published
    assert port > 0


def test_a_file_of_ones_own_is_opened(served: list[tuple[Session, bool, int]], tmp_path: Path) -> None:
    (tmp_path / "cora.npz").write_bytes(npz())
    assert run(str(tmp_path / "cora.npz")).exit_code == 0
    session, open_page, _ = served[0]
    assert (session.opened.dataset.name, session.opened.published, open_page) == ("cora", False, True)
    assert session.upload_limit == 200_000_000


def test_a_port_in_use_is_code_2_before_anything_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    with server.bind(0) as taken:
        port = taken.getsockname()[1]
        result = run("no-such-data", "--port", str(port))
    assert result.exit_code == 2
    assert f"port {port} is in use: pass another --port, or 0 for a free one" in result.stderr


def test_an_unknown_data_set_is_code_2() -> None:
    result = run("camelion", "--no-open")
    assert result.exit_code == 2
    assert "no data set is named 'camelion'" in result.stderr


@pytest.mark.parametrize("missing", ["starlette", "uvicorn"])
def test_without_the_extra_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    monkeypatch.delitem(sys.modules, "unifilter.explore.server")
    result = run("karate")
    assert result.exit_code == 2
    assert "exploring needs starlette and uvicorn: pip install 'unifilter[explore]'" in result.stderr
