"""Starting and ending the server."""

from __future__ import annotations

import errno
import socket
import threading
import webbrowser
from collections.abc import Callable
from types import FrameType

from unifilter._internal.extras import require

require("explore", what="exploring")

import uvicorn  # noqa: E402

from unifilter.explore.app import make_app  # noqa: E402
from unifilter.explore.guard import HOSTS  # noqa: E402
from unifilter.explore.session import Session  # noqa: E402


def bind(port: int) -> socket.socket:
    """A socket on this machine's own address, which no other machine can reach; port 0 takes a free one."""
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        # So that the port of a server that has just ended can be taken again.
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((HOSTS[0], port))
        # From here on a browser can connect, and waits until the server answers.
        listening.listen()
    except OSError as error:
        listening.close()
        if error.errno == errno.EADDRINUSE:
            raise ValueError(f"port {port} is in use: pass another port, or 0 for a free one") from error
        if error.errno == errno.EACCES:
            raise ValueError(f"port {port} is not yours to use: pass one above 1023, or 0 for a free one") from error
        raise
    return listening


def address_of(listening: socket.socket) -> str:
    """What to type into a browser."""
    return f"http://{HOSTS[0]}:{listening.getsockname()[1]}/"


def serve(session: Session, listening: socket.socket, open_page: bool, say: Callable[[str], None]) -> None:
    """Answers until Ctrl-C.

    Args:
        session: What is on the page.
        listening: See :func:`bind`.
        open_page: Whether to open the page in a browser.
        say: Is told the address, and the end.
    """
    address = address_of(listening)
    say(f"{address}  (this machine only; Ctrl-C ends it)")
    if open_page:
        # Some browsers of the terminal return only when they are closed.
        threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
    config = uvicorn.Config(make_app(session), log_level="warning", access_log=False, lifespan="off")
    try:
        _Server(config, session).run(sockets=[listening])
    except KeyboardInterrupt:
        pass  # which uvicorn raises again when it is done: the way a user ends a server is no failure
    finally:
        session.close()
        session.join()
        listening.close()
    say("ended")


class _Server(uvicorn.Server):
    """Tells the session first: curves that are being watched would keep the server waiting."""

    def __init__(self, config: uvicorn.Config, session: Session) -> None:
        super().__init__(config)
        self.session = session

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self.session.close()
        super().handle_exit(sig, frame)
