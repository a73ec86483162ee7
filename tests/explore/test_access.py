from __future__ import annotations

import stat
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from unifilter.explore.access import Access, doorway


def test_every_server_has_a_token_of_its_own() -> None:
    tokens = {Access(1).token for _ in range(100)}
    assert len(tokens) == 100
    # 32 random bytes, in characters that an address may hold.
    assert all(len(token) == 43 and token.replace("-", "a").replace("_", "a").isalnum() for token in tokens)


def test_the_token_is_in_the_address_and_not_where_it_is_shown_by_mistake() -> None:
    access = Access(8765)
    assert access.address == f"http://127.0.0.1:8765/?token={access.token}"
    assert access.token not in repr(access)


@pytest.mark.parametrize(
    ("given", "admitted"), [("secret", True), ("secre", False), ("", False), ("\ud800\u2603", False)]
)
def test_only_the_token_is_admitted(given: str, admitted: bool) -> None:
    assert Access(1, "secret").admits(given) is admitted


def test_two_servers_do_not_share_a_cookie() -> None:
    assert Access(8765).cookie != Access(8766).cookie


def test_the_file_that_opens_the_page_is_the_owners_alone_and_goes() -> None:
    access = Access(8765)
    with doorway(access) as address:
        assert access.token not in address
        path = Path(unquote(urlsplit(address).path))
        assert f'url={access.address}"' in path.read_text()
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert not path.parent.exists()
