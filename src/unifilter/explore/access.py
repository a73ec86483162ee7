"""Where the server answers, and the secret that opens it: a random token, as Jupyter has."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

HOSTS = ("127.0.0.1", "localhost")
# What a browser leaves out of an address, and of the header Host.
_USUAL_PORT = 80


@dataclass(frozen=True)
class Access:
    """How to reach one server.

    Attributes:
        port: Where it listens.
        token: Whoever knows it may use the server. New for each server.
    """

    port: int
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)

    @property
    def address(self) -> str:
        """What to type into a browser."""
        return f"http://{HOSTS[0]}:{self.port}/?token={self.token}"

    @property
    def hosts(self) -> tuple[str, ...]:
        """What the header ``Host`` may be."""
        named = tuple(f"{host}:{self.port}" for host in HOSTS)
        return (*named, *HOSTS) if self.port == _USUAL_PORT else named

    @property
    def cookie(self) -> str:
        """The name of the cookie. All ports of a machine share their cookies, so each server has a name of its own."""
        return f"unifilter-explore-{self.port}"

    def admits(self, token: str) -> bool:
        """Whether this is the token. A near miss takes as long as any other, so that nobody can find it by timing."""
        return secrets.compare_digest(token.encode("utf-8", "replace"), self.token.encode())


@contextmanager
def doorway(access: Access) -> Iterator[str]:
    """The address of a file, readable by its owner alone, that leads a browser to the page.

    The arguments of a program can be read by every user of the machine, so a browser is not started with the token.
    """
    with TemporaryDirectory(prefix="unifilter-explore-") as folder:
        path = Path(folder) / "open.html"
        path.touch(mode=0o600)
        path.write_text(leading_to(access.address), encoding="utf-8")
        yield path.as_uri()


def leading_to(address: str) -> str:
    """A page that goes on to another."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<meta charset="utf-8">\n'
        f'<meta http-equiv="refresh" content="0; url={address}">\n'
        f'<title>UniFilter</title>\n<p><a href="{address}">Go on to the page</a></p>\n</html>\n'
    )
