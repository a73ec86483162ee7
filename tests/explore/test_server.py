from __future__ import annotations

import errno
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from explore.small_sessions import session, wait_for

from unifilter.explore import server
from unifilter.explore.access import doorway
from unifilter.explore.guard import HEADERS
from unifilter.explore.server import bind, serve


def test_a_port_in_use_is_named() -> None:
    with bind(0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ValueError, match=f"port {port} is in use: pass another port, or 0 for a free one"):
            bind(port)
    bind(port).close()  # free again at once


@pytest.mark.parametrize(
    ("code", "expected", "message"),
    [
        (errno.EACCES, ValueError, "port 80 needs special rights: pass one above 1023, or 0 for a free one"),
        (errno.ENOBUFS, OSError, "odd"),
    ],
)
def test_a_port_that_cannot_be_had_says_why(
    monkeypatch: pytest.MonkeyPatch, code: int, expected: type[Exception], message: str
) -> None:
    class Refused(socket.socket):
        def bind(self, address: Any) -> None:
            raise OSError(code, "odd")

    monkeypatch.setattr(server.socket, "socket", Refused)
    with pytest.raises(expected, match=message):
        bind(80)


def test_no_other_machine_can_connect() -> None:
    with bind(0) as listening:
        assert listening.getsockname()[0] == "127.0.0.1"


@pytest.mark.parametrize("wanted", [True, False])
def test_the_page_is_opened_where_that_is_wanted(monkeypatch: pytest.MonkeyPatch, wanted: bool) -> None:
    doors: list[str] = []
    opened: list[str] = []
    said: list[str] = []

    @contextmanager
    def noted(access: Any) -> Iterator[str]:
        with doorway(access) as door:
            doors.append(door)
            yield door

    monkeypatch.setattr(server, "doorway", noted)
    monkeypatch.setattr(server.webbrowser, "open", opened.append)
    monkeypatch.setattr(server._Server, "run", lambda self, sockets: None)
    listening = bind(0)
    port = listening.getsockname()[1]
    serve(session(), listening, wanted, said.append)
    address, _, words = said[0].partition("  ")
    assert address.startswith(f"http://127.0.0.1:{port}/?token=")
    assert words == "(reachable from this machine only; keep the address private; press Ctrl-C to stop)"
    assert said[1:] == ["stopped"]
    if wanted:
        wait_for(lambda: opened == doors, 5)
    assert opened == doors * wanted
    # The arguments of a browser are for everybody to see.
    token = address.partition("=")[2]
    assert len(token) > 40
    assert token not in doors[0]


def test_the_handler_of_sigterm_is_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    before = signal.getsignal(signal.SIGTERM)
    during = []
    monkeypatch.setattr(server._Server, "run", lambda self, sockets: during.append(signal.getsignal(signal.SIGTERM)))
    serve(session(), bind(0), False, print)
    assert during == [signal.default_int_handler]
    assert signal.getsignal(signal.SIGTERM) == before
    # Elsewhere than in the main thread nobody can listen to signals; the server runs there too.
    other = threading.Thread(target=serve, args=(session(), bind(0), False, print))
    other.start()
    other.join()
    assert during == [signal.default_int_handler, before]


@dataclass
class Running:
    """``unifilter explore``, started as users start it."""

    process: subprocess.Popen[str]
    port: int
    token: str
    connections: list[http.client.HTTPConnection] = field(default_factory=list)

    def ask(
        self, path: str, method: str = "GET", body: bytes | None = None, cookie: bool = True, **headers: str
    ) -> http.client.HTTPResponse:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        if cookie:
            headers["Cookie"] = f"unifilter-explore-{self.port}={self.token}"
        self.connections.append(connection)
        connection.request(method, path, body, headers)
        return connection.getresponse()

    def end(self, number: int) -> tuple[int, str, str]:
        self.process.send_signal(number)
        rest, complaints = self.process.communicate(timeout=30)
        return self.process.returncode, rest, complaints


@pytest.fixture
def running() -> Iterator[Running]:
    process = subprocess.Popen(
        # Where the tests run in the background of a script, SIGINT is ignored, and programs inherit that.
        [sys.executable, "-c", _PROGRAM, "explore", "karate", "--no-open"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    try:
        assert process.stdout is not None
        address = urlsplit(process.stdout.readline().split()[0])
        assert (address.scheme, address.hostname, address.path) == ("http", "127.0.0.1", "/")
        assert address.port is not None
        started = Running(process, address.port, parse_qs(address.query).get("token", [""])[0])
        yield started
        for connection in started.connections:
            connection.close()
    finally:
        process.kill()
        process.communicate()


_PROGRAM = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from unifilter.cli import main
main()
"""


def test_another_user_of_the_machine_gets_nothing(running: Running) -> None:
    for path in ("/", "/state", "/explanation", "/files/explore.js"):
        refused = running.ask(path, cookie=False)
        assert refused.status == 403, path
        assert b"karate" not in refused.read()
        assert running.ask(path).status == 200, path
    assert running.ask("/open", "POST", b'{"name": "digits"}', cookie=False).status == 403
    assert json.load(running.ask("/state"))["dataset"]["name"] == "karate"
    entered = running.ask(f"/?token={running.token}", cookie=False)
    name, _, attributes = str(entered.headers["set-cookie"]).partition("=")
    assert name == f"unifilter-explore-{running.port}"
    assert attributes.partition("; ")[2] == "HttpOnly; Path=/; SameSite=strict"
    # Another name for the same machine, and what is not HTTP at all.
    assert running.ask("/state", Host="evil.example").status == 403
    assert running.ask("/state", Host="127.0.0.1").status == 403
    with socket.create_connection(("127.0.0.1", running.port), timeout=30) as raw:
        raw.sendall(b"words\r\n\r\n")
        with http.client.HTTPResponse(raw) as answer:
            answer.begin()
            assert (answer.status, answer.read()) == (400, b"Invalid HTTP request received.")
            assert {name: answer.headers[name] for name in HEADERS} == HEADERS


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_server_that_trains_and_is_watched_is_ended(running: Running, number: int) -> None:
    words = json.dumps({"methods": ["unifilter"], "split": "60", "epochs": 10**6}).encode()
    origin = f"http://127.0.0.1:{running.port}"
    assert running.ask("/train", "POST", words, Origin=origin).status == 200
    watching = running.ask("/events")
    assert watching.readline() == b"event: epochs\n"
    assert running.end(number) == (0, "stopped\n", "")
    watching.close()


def test_an_upload_that_has_stalled_does_not_keep_the_server(running: Running) -> None:
    with socket.create_connection(("127.0.0.1", running.port), timeout=30) as raw:
        lines = (
            "POST /upload?name=a.npz&size=1000 HTTP/1.1",
            f"Host: 127.0.0.1:{running.port}",
            f"Cookie: unifilter-explore-{running.port}={running.token}",
            "Content-Length: 1000",
            "",
            "the first bytes",
        )
        raw.sendall("\r\n".join(lines).encode())
        assert running.ask("/state").status == 200
        code, rest, _ = running.end(signal.SIGTERM)
    assert (code, rest) == (0, "stopped\n")
