"""Start and stop the server."""

from __future__ import annotations

import errno
import signal
import socket
import threading
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from unifilter._internal.extras import require

require("explore", what="exploring")

import uvicorn  # noqa: E402
from uvicorn.protocols.http.h11_impl import H11Protocol  # noqa: E402

from unifilter.explore.access import HOSTS, Access, doorway  # noqa: E402
from unifilter.explore.app import make_app  # noqa: E402
from unifilter.explore.guard import HEADERS  # noqa: E402
from unifilter.explore.session import Session  # noqa: E402

# A stalled upload must not delay shutdown.
_SECONDS_TO_FINISH = 3


def bind(port: int) -> socket.socket:
    """A socket on the loopback address, which no other machine can reach. Port 0 picks a free port."""
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        # Allows the port of a server that has just stopped to be used again.
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((HOSTS[0], port))
        # From here on a browser can connect, and waits for the server.
        listening.listen()
    except OSError as error:
        listening.close()
        if error.errno == errno.EADDRINUSE:
            raise ValueError(f"port {port} is in use: pass another port, or 0 for a free one") from error
        if error.errno == errno.EACCES:
            raise ValueError(f"port {port} needs special rights: pass one above 1023, or 0 for a free one") from error
        raise
    return listening


def serve(session: Session, listening: socket.socket, open_page: bool, say: Callable[[str], None]) -> None:
    """Serve requests until Ctrl-C or SIGTERM.

    Args:
        session: The session of the page.
        listening: See :func:`bind`.
        open_page: Whether to open the page in a browser.
        say: Called with messages for the terminal.
    """
    access = Access(listening.getsockname()[1])
    with _terminated_as_interrupted(), doorway(access) as door:
        say(f"{access.address}  (reachable from this machine only; keep the address private; press Ctrl-C to stop)")
        if open_page:
            # Terminal browsers return only when they are closed.
            threading.Thread(target=webbrowser.open, args=(door,), daemon=True).start()
        try:
            _Server(configuration(session, access), session).run(sockets=[listening])
        except KeyboardInterrupt:
            pass  # uvicorn raises it again after shutdown, but stopping a server is not an error
        finally:
            session.close()
            session.join()
            listening.close()
    say("stopped")


def configuration(session: Session, access: Access) -> uvicorn.Config:
    """The configuration of the server."""
    return uvicorn.Config(
        make_app(session, access),
        http=_Protocol,
        ws="none",
        lifespan="off",
        proxy_headers=False,
        server_header=False,
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=_SECONDS_TO_FINISH,
    )


@contextmanager
def _terminated_as_interrupted() -> Iterator[None]:
    """Handle SIGTERM like Ctrl-C: stop the current operation, then the program."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread can handle signals
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


class _Protocol(H11Protocol):
    """Adds the headers to uvicorn's own responses to invalid HTTP."""

    def send_400_response(self, msg: str) -> None:
        lines = [f"{name}: {value}" for name, value in HEADERS.items()]
        start = ["HTTP/1.1 400 Bad Request", "content-type: text/plain; charset=utf-8", "connection: close"]
        self.transport.write("\r\n".join([*start, *lines, f"content-length: {len(msg)}", "", msg]).encode("ascii"))
        self.transport.close()


class _Server(uvicorn.Server):
    """Notifies the session before shutdown, because open event streams would delay it."""

    def __init__(self, config: uvicorn.Config, session: Session) -> None:
        super().__init__(config)
        self.session = session

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self.session.close()
        super().handle_exit(sig, frame)
