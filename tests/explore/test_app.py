from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from explore.small_sessions import LIMIT, finish, npz, session, wait_for
from starlette.testclient import TestClient

from unifilter.explanation.render import page_data
from unifilter.explore.app import make_app
from unifilter.explore.session import Session

ADDRESS = "http://127.0.0.1:8765"


@pytest.fixture
def opened() -> Iterator[Session]:
    made = session()
    yield made
    made.close()
    made.join()


@pytest.fixture
def client(opened: Session) -> TestClient:
    return TestClient(make_app(opened), base_url=ADDRESS, headers={"Origin": ADDRESS}, raise_server_exceptions=False)


def events(text: str) -> list[tuple[str, dict[str, Any]]]:
    """Server-sent events: blocks of an ``event:`` and a ``data:`` line."""
    lines = [block.split("\n") for block in text.strip().split("\n\n")]
    return [(name.removeprefix("event: "), json.loads(data.removeprefix("data: "))) for name, data in lines]


def test_the_page_and_its_files_are_served(client: TestClient) -> None:
    page = client.get("/")
    assert page.headers["content-type"].startswith("text/html")
    for name, kind in (("explore.js", "text/javascript"), ("explore.css", "text/css")):
        assert f'"/files/{name}"' in page.text
        file = client.get(f"/files/{name}")
        assert file.headers["content-type"].startswith(kind)
        assert len(file.content) > 1000
    missing = client.get("/files/checksums.json")
    assert (missing.status_code, missing.json()["message"]) == (404, "there is no file 'checksums.json'")


def test_the_browser_is_told_to_load_nothing_else(client: TestClient) -> None:
    headers = client.get("/").headers
    policy = headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'")
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"


def test_the_explanation_is_that_of_the_library(client: TestClient, opened: Session) -> None:
    found = client.get("/explanation").json()
    assert found == json.loads(json.dumps(page_data(opened.opened.explanation)))
    client.post("/train", json={"methods": ["hetfilter"], "split": "60", "epochs": 3})
    finish(opened)
    trained = client.get("/explanation?number=1").json()
    assert (trained["name"], trained["tau"], trained["splits"]) == ("karate, hetfilter", 0.0, 1)


def test_every_epoch_is_sent_once_and_again_to_who_comes_later(client: TestClient, opened: Session) -> None:
    answer = client.post("/train", json={"methods": ["unifilter", "mlp"], "split": "60", "epochs": 40})
    assert answer.json()["training"]["methods"] == ["unifilter", "mlp"]
    live, later = events(client.get("/events").text), events(client.get("/events").text)
    training = opened.training
    assert training is not None
    for found in (live, later):
        losses: list[list[float]] = [[] for _ in range(6)]  # five candidates of UniFilter, and a perceptron
        for name, data in found[:-1]:
            assert name == "epochs"
            assert data["from"] == len(losses[data["number"]])
            losses[data["number"]] += data["loss"]
        assert losses == [curve.loss for curve in training.curves]
        assert list(dict.fromkeys(data["method"] for _, data in found[:-1])) == [
            *(f"unifilter ({number} of 5)" for number in (1, 2, 3, 4, 5)),
            "mlp",
        ]
        assert [len(one) for one in losses] == [40] * 6
        assert found[-1] == ("end", training.to_dict())
        assert found[-1][1]["message"] == "trained unifilter, mlp"
    trained = client.get("/state").json()["trained"]
    assert [one["method"] for one in trained] == ["unifilter", "mlp"]
    assert len(trained[0]["response"]) == 61


@pytest.mark.usefixtures("patient")
def test_watching_ends_when_the_server_does(client: TestClient, opened: Session) -> None:
    client.post("/train", json={"methods": ["unifilter"], "split": "60", "epochs": 10**6})
    opened.closing.set()
    assert all(name == "epochs" for name, _ in events(client.get("/events").text))


@pytest.mark.usefixtures("patient")
def test_a_second_training_gets_a_clear_answer_and_the_first_can_be_stopped(
    client: TestClient, opened: Session
) -> None:
    words = {"methods": ["unifilter"], "split": "60", "epochs": 10**6}
    assert client.post("/train", json=words).status_code == 200
    refused = client.post("/train", json=words)
    assert refused.status_code == 409
    assert refused.json()["message"].startswith("unifilter is being trained, and one thing is done at a time")
    training = opened.training
    assert training is not None
    wait_for(lambda: bool(training.curves) and len(training.curves[0].score) > 1)
    assert client.post("/stop").status_code == 200
    assert events(client.get("/events").text)[-1][1]["state"] == "stopped"
    assert client.post("/stop").status_code == 200  # nothing to stop is no mistake


def test_a_data_set_is_opened_and_a_file_is_uploaded(client: TestClient) -> None:
    assert client.post("/open", json={"name": "karate"}).json()["dataset"]["name"] == "karate"
    answer = client.post("/upload?name=my%20graph.npz", content=npz())
    assert answer.json()["dataset"]["name"] == "my graph"
    assert client.get("/explanation").json()["nodes"] == 30


@pytest.mark.parametrize(
    ("name", "data", "status", "message"),
    [
        ("mine.npz", npz()[:300], 400, "mine.npz is not a whole .npz file"),
        ("mine.npz", npz(node_labels=None), 400, "mine.npz has no array 'node_labels'"),
        ("mine.npz", npz(edges=np.array([[0, 99]])), 400, "99"),
        ("mine.pkl", npz(), 400, "'mine.pkl' is not an .npz file"),
        ("mine.npz", bytes(LIMIT + 1), 413, "mine.npz has 1.0 MB, more than the 1.0 MB that are allowed"),
    ],
)
def test_a_bad_file_is_refused_and_nothing_is_lost(
    client: TestClient, name: str, data: bytes, status: int, message: str
) -> None:
    before = client.get("/state").json()
    answer = client.post(f"/upload?name={name}", content=data)
    assert answer.status_code == status
    assert message in answer.json()["message"]
    assert client.get("/state").json() == before


def test_a_file_of_unknown_length_is_cut_off_too(client: TestClient) -> None:
    answer = client.post("/upload?name=mine.npz", content=iter([bytes(LIMIT), b"x"]))
    assert answer.status_code == 413
    assert "mine.npz is more than the 1.0 MB that are allowed" in answer.json()["message"]


@pytest.mark.parametrize(
    ("path", "body", "message"),
    [
        ("/open", b"words", "the request is not JSON: use the page"),
        ("/open", b"[]", "the request has no 'name' that is a str: use the page"),
        ("/open", b'{"name": 3}', "the request has no 'name' that is a str"),
        ("/open", b'{"name": "cora2"}', "the data set 'cora2' is not on this machine"),
        ("/train", b'{"methods": [], "split": "60", "epochs": 5}', "no method was chosen"),
        ("/train", b'{"methods": ["mlp"], "split": "60", "epochs": true}', "no 'epochs' that is a int"),
        ("/train", b'{"methods": ["mlp"], "split": "60"}', "no 'epochs' that is a int"),
        ("/train", b'{"methods": [["mlp"]], "split": "60", "epochs": 5}', "the name of a method must be text"),
    ],
)
def test_a_request_that_makes_no_sense_is_refused(client: TestClient, path: str, body: bytes, message: str) -> None:
    answer = client.post(path, content=body)
    assert answer.status_code == 400
    assert message in answer.json()["message"]


def test_long_words_are_cut_off(client: TestClient) -> None:
    answer = client.post("/open", content=bytes(200_000))
    assert (answer.status_code, answer.json()["message"][:24]) == (413, "the request is more than")


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/explanation?number=-1", "the number of an explanation must be a whole number, not '-1'"),
        ("/explanation?number=4", "nothing was trained as number 4 on karate"),
        ("/events", "nothing is being trained: start a training first"),
    ],
)
def test_what_is_not_there_is_said(client: TestClient, path: str, message: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 400
    assert message in answer.json()["message"]


def test_the_unexpected_is_a_message_too(client: TestClient, opened: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(name: str) -> None:
        raise RuntimeError("odd")

    monkeypatch.setattr(opened, "open_named", fail)
    answer = client.post("/open", json={"name": "karate"})
    assert answer.status_code == 500
    assert answer.json()["message"].startswith("that should not happen (RuntimeError: odd): the terminal says where")
