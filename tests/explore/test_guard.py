from __future__ import annotations

import pytest
from explore.small_sessions import session
from starlette.testclient import TestClient

from unifilter.explore.app import make_app


@pytest.fixture(scope="module")
def client() -> TestClient:
    return TestClient(make_app(session()), base_url="http://127.0.0.1:8765")


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.1:8765", "localhost:1", "localhost"])
def test_this_machine_may_ask(client: TestClient, host: str) -> None:
    assert client.get("/state", headers={"Host": host}).status_code == 200
    assert client.post("/stop", headers={"Host": host, "Origin": f"http://{host}"}).status_code == 200
    assert client.post("/stop", headers={"Host": host}).status_code == 200  # no browser


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8765", "127.0.0.1.evil.example", "localhost.evil.example:80", "", "[::1]:80"]
)
@pytest.mark.parametrize("path", ["/", "/state", "/files/explore.js"])
def test_another_name_of_this_machine_may_not(client: TestClient, host: str, path: str) -> None:
    answer = client.get(path, headers={"Host": host})
    assert answer.status_code == 403
    assert answer.json()["message"] == f"this server answers to 127.0.0.1 and localhost only, not to {host!r}"


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "https://127.0.0.1:8765", "http://127.0.0.1:9999", "null", "http://localhost:8765"],
)
@pytest.mark.parametrize("path", ["/open", "/upload?name=a.npz", "/train", "/stop"])
def test_a_page_of_another_site_may_not_change_anything(client: TestClient, origin: str, path: str) -> None:
    answer = client.post(path, headers={"Origin": origin}, content=b"{}")
    assert answer.status_code == 403
    assert answer.json()["message"] == f"a page of {origin!r} may not change anything here"


@pytest.mark.parametrize(("site", "status"), [("cross-site", 403), ("same-site", 403), ("same-origin", 200)])
def test_a_browser_that_hides_the_origin_still_says_whose_page_it_is(
    client: TestClient, site: str, status: int
) -> None:
    answer = client.post("/stop", headers={"Sec-Fetch-Site": site})
    assert answer.status_code == status
    if status == 403:
        assert answer.json()["message"] == "a page of another site may not change anything here"


def test_changes_are_never_asked_for_with_get(client: TestClient) -> None:
    for path in ("/open", "/upload", "/train", "/stop"):
        assert client.get(path).status_code == 405
