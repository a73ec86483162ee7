from __future__ import annotations

import pytest
from explore.small_sessions import ACCESS, ADDRESS, asking, session
from starlette.testclient import TestClient

from unifilter.explore.access import Access
from unifilter.explore.app import make_app
from unifilter.explore.guard import HEADERS

PATHS = ("/", "/files/explore.js", "/state", "/explanation", "/events", "/nowhere")
CHANGES = ("/open", "/upload?name=a.npz&size=2", "/train", "/stop")


@pytest.fixture(scope="module")
def client() -> TestClient:
    return asking(session())


@pytest.fixture
def stranger() -> TestClient:
    """Somebody who does not know the token."""
    return TestClient(make_app(session(), ACCESS), base_url=ADDRESS)


@pytest.mark.parametrize("host", ["127.0.0.1:8765", "localhost:8765"])
def test_this_machine_may_ask(client: TestClient, host: str) -> None:
    cookie = f"{ACCESS.cookie}={ACCESS.token}"
    headers = {"Host": host, "Cookie": cookie}
    assert client.get("/state", headers=headers).status_code == 200
    assert client.post("/stop", headers={**headers, "Origin": f"http://{host}"}).status_code == 200
    assert client.post("/stop", headers=headers).status_code == 200  # no browser


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("cookie", ["", "unifilter-explore-8765=secre", "unifilter-explore-8766=secret", "a=b; c"])
def test_without_the_token_nothing_is_read(stranger: TestClient, path: str, cookie: str) -> None:
    answer = stranger.get(path, headers={"Cookie": cookie})
    assert answer.status_code == 403
    assert answer.json()["message"].startswith(
        "this page needs the full address with its token, as printed when the server started"
    )


@pytest.mark.parametrize("path", CHANGES)
def test_without_the_token_nothing_is_changed(stranger: TestClient, path: str) -> None:
    assert stranger.post(path, headers={"Origin": ADDRESS}, content=b"{}").status_code == 403


@pytest.mark.parametrize("token", ["", "secre", "secret2", "SECRET", "secret%00", "%E2%98%83", "%ff", "secret&token=x"])
def test_another_token_opens_nothing(stranger: TestClient, token: str) -> None:
    answer = stranger.get(f"/?token={token}")
    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize(
    ("method", "path"), [("GET", "/state"), ("GET", "/explanation"), ("POST", "/"), ("POST", "/stop")]
)
def test_the_token_opens_the_page_alone(stranger: TestClient, method: str, path: str) -> None:
    assert stranger.request(method, f"{path}?token=secret").status_code == 403


def test_the_token_is_exchanged_for_a_cookie(stranger: TestClient) -> None:
    answer = stranger.get("/?token=secret")
    assert answer.status_code == 200
    assert answer.headers["set-cookie"] == "unifilter-explore-8765=secret; HttpOnly; Path=/; SameSite=strict"
    assert '<meta http-equiv="refresh" content="0; url=/">' in answer.text
    assert "secret" not in answer.text
    assert stranger.get("/").status_code == 200
    assert stranger.get("/state").json()["dataset"]["name"] == "karate"


def test_people_get_a_page_that_says_what_to_do(stranger: TestClient) -> None:
    answer = stranger.get("/", headers={"Accept": "text/html,*/*"})
    assert answer.status_code == 403
    assert answer.headers["content-type"].startswith("text/html")
    assert "This page needs the full address with its token, as printed when the server started" in answer.text
    foreign = stranger.get("/", headers={"Accept": "text/html", "Host": "<script>"})
    assert "&lt;script&gt;" in foreign.text
    assert "<script" not in foreign.text


def test_every_answer_has_the_headers(client: TestClient, stranger: TestClient) -> None:
    answers = [
        client.get("/"),
        client.get("/state"),
        client.get("/nowhere"),
        client.get("/open"),
        client.post("/open", content=b"{"),
        client.post("/upload?name=a.npz&size=9999999"),
        client.get("/", headers={"Host": "evil.example"}),
        client.post("/stop", headers={"Origin": "http://evil.example"}),
        stranger.get("/"),
        stranger.get("/", headers={"Accept": "text/html"}),
        stranger.get("/?token=secret"),
    ]
    assert [answer.status_code for answer in answers] == [200, 200, 404, 405, 400, 413, 403, 403, 403, 403, 200]
    for answer in answers:
        assert {name: answer.headers.get_list(name) for name in HEADERS} == {
            name: [value] for name, value in HEADERS.items()
        }


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8765",
        "127.0.0.1.evil.example",
        "localhost.evil.example:8765",
        "",
        "[::1]:8765",
        "127.0.0.1",
        "localhost",
        "127.0.0.1:8766",
        "localhost:1",
        "127.0.0.1:",
        "127.0.0.1:08765",
        "127.0.0.1:8765:8765",
        "user@127.0.0.1:8765",
        "LOCALHOST:8765",
        "127.1:8765",
    ],
)
@pytest.mark.parametrize("path", ["/", "/state", "/files/explore.js", "/?token=secret"])
def test_another_name_of_this_machine_may_not(client: TestClient, host: str, path: str) -> None:
    answer = client.get(path, headers={"Host": host, "Cookie": f"{ACCESS.cookie}={ACCESS.token}"})
    assert answer.status_code == 403
    assert answer.json()["message"] == f"this server accepts the host 127.0.0.1:8765 or localhost:8765, not {host!r}"


def test_two_names_at_once_may_not_either(client: TestClient) -> None:
    names = [("Host", "127.0.0.1:8765"), ("Host", "evil.example")]
    assert client.get("/state", headers=names).status_code == 403


def test_the_usual_port_is_not_part_of_the_name() -> None:
    assert Access(80).hosts == ("127.0.0.1:80", "localhost:80", "127.0.0.1", "localhost")
    assert Access(8080).hosts == ("127.0.0.1:8080", "localhost:8080")


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "https://127.0.0.1:8765", "http://127.0.0.1:9999", "null", "http://localhost:8765"],
)
@pytest.mark.parametrize("path", CHANGES)
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
