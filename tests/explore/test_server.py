from __future__ import annotations

import errno
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import urllib.request
from typing import Any

import pytest
from explore.small_sessions import session, wait_for

from unifilter.explore import server
from unifilter.explore.server import address_of, bind, serve


def test_a_port_in_use_is_named() -> None:
    with bind(0) as taken:
        port = taken.getsockname()[1]
        assert address_of(taken) == f"http://127.0.0.1:{port}/"
        with pytest.raises(ValueError, match=f"port {port} is in use: pass another port, or 0 for a free one"):
            bind(port)
    bind(port).close()  # free again at once


@pytest.mark.parametrize(
    ("code", "expected", "message"),
    [
        (errno.EACCES, ValueError, "port 80 is not yours to use: pass one above 1023, or 0 for a free one"),
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
    opened: list[str] = []
    said: list[str] = []
    monkeypatch.setattr(server.webbrowser, "open", opened.append)
    monkeypatch.setattr(server._Server, "run", lambda self, sockets: None)
    listening = bind(0)
    address = address_of(listening)
    serve(session(), listening, wanted, said.append)
    assert said == [f"{address}  (this machine only; Ctrl-C ends it)", "ended"]
    if wanted:
        wait_for(lambda: opened == [address], 5)
    assert opened == [address] * wanted


def test_ctrl_c_ends_a_server_that_trains_and_is_watched() -> None:
    command = [sys.executable, "-m", "unifilter", "explore", "karate", "--no-open"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"}
    )
    try:
        assert process.stdout is not None
        address = process.stdout.readline().split()[0]
        assert address.startswith("http://127.0.0.1:")
        words = json.dumps({"methods": ["unifilter"], "split": "60", "epochs": 10**6}).encode()
        headers = {"Origin": address.rstrip("/"), "Content-Type": "application/json"}
        with urllib.request.urlopen(urllib.request.Request(f"{address}train", words, headers), timeout=30) as answer:
            assert answer.status == 200
        watching = urllib.request.urlopen(f"{address}events", timeout=30)
        assert watching.readline() == b"event: epochs\n"
        threading.Thread(target=watching.read, daemon=True).start()
        process.send_signal(signal.SIGINT)
        rest, complaints = process.communicate(timeout=30)
    finally:
        process.kill()
    assert (process.returncode, rest, complaints) == (0, "ended\n", "")
