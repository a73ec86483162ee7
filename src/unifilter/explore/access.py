"""Address of the server, and its access token: a random secret, as in Jupyter."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

HOSTS = ("127.0.0.1", "localhost")
# Browsers omit this port from addresses and from the Host header.
_USUAL_PORT = 80


@dataclass(frozen=True)
class Access:
    """How to reach a server.

    Attributes:
        port: The port it listens on.
        token: The secret that grants access. New for each server.
    """

    port: int
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)

    @property
    def address(self) -> str:
        """The address to open in a browser."""
        return f"http://{HOSTS[0]}:{self.port}/?token={self.token}"

    @property
    def hosts(self) -> tuple[str, ...]:
        """Allowed values of the ``Host`` header."""
        named = tuple(f"{host}:{self.port}" for host in HOSTS)
        return (*named, *HOSTS) if self.port == _USUAL_PORT else named

    @property
    def cookie(self) -> str:
        """Name of the cookie. All ports of a machine share their cookies, so each server has its own name."""
        return f"unifilter-explore-{self.port}"

    def admits(self, token: str) -> bool:
        """Whether a token is correct, compared in constant time."""
        return secrets.compare_digest(token.encode("utf-8", "replace"), self.token.encode())


@contextmanager
def doorway(access: Access) -> Iterator[str]:
    """Address of a file, readable only by its owner, that redirects a browser to the page.

    Program arguments are visible to all users of the machine, so the browser is not started with the token.
    """
    with TemporaryDirectory(prefix="unifilter-explore-") as folder:
        path = Path(folder) / "open.html"
        path.touch(mode=0o600)
        path.write_text(leading_to(access.address), encoding="utf-8")
        yield path.as_uri()


def leading_to(address: str) -> str:
    """A page that redirects to an address."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<meta charset="utf-8">\n'
        f'<meta http-equiv="refresh" content="0; url={address}">\n'
        f'<title>UniFilter</title>\n<p><a href="{address}">Go on to the page</a></p>\n</html>\n'
    )
