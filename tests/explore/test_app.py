from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from explore.small_sessions import (
    ADDRESS,
    LIMIT,
    asking,
    finish,
    graphml,
    npz,
    saved,
    session,
    tables,
    upload,
    wait_for,
    zipped,
)
from starlette.testclient import TestClient

from unifilter.explanation.render import page_data
from unifilter.explore.session import Session


@pytest.fixture
def opened() -> Iterator[Session]:
    made = session()
    yield made
    made.close()
    made.join()


@pytest.fixture
def client(opened: Session) -> TestClient:
    return asking(opened, Origin=ADDRESS)


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
    assert refused.json()["message"].startswith("unifilter is being trained, and only one operation can run at a time")
    training = opened.training
    assert training is not None
    wait_for(lambda: bool(training.curves) and len(training.curves[0].score) > 1)
    assert client.post("/stop").status_code == 200
    assert events(client.get("/events").text)[-1][1]["state"] == "stopped"
    assert client.post("/stop").status_code == 200  # nothing to stop is no mistake


def test_a_data_set_is_opened_and_a_file_is_uploaded(client: TestClient) -> None:
    assert client.post("/open", json={"name": "karate"}).json()["dataset"]["name"] == "karate"
    answer = upload(client, {"my graph.npz": npz()})
    assert answer.json()["dataset"]["name"] == "my graph"
    assert client.get("/explanation").json()["nodes"] == 30


UPLOADS: dict[str, dict[str, bytes]] = {
    "npz": {"mine.npz": npz()},
    "pt": {"mine.pt": saved()},
    "pth": {"mine.pth": saved()},
    "graphml": {"mine.graphml": graphml()},
    "zip": {"mine.zip": zipped(tables())},
    "zip of a folder": {"mine.zip": zipped({f"graph/{name}": data for name, data in tables().items()})},
    "zip of parquet": {"mine.zip": zipped(tables("parquet"))},
    "csv": tables(),
    "parquet": tables("parquet"),
    "capitals": {"mine.NPZ": npz()},
}


@pytest.mark.parametrize("kind", UPLOADS)
def test_every_kind_of_file_that_a_path_may_name_is_uploaded(client: TestClient, opened: Session, kind: str) -> None:
    answer = upload(client, UPLOADS[kind])
    assert answer.status_code == 200, answer.text
    dataset = opened.opened.dataset
    assert dataset.name == ("tables" if kind in ("csv", "parquet") else "mine")
    assert (dataset.num_nodes, dataset.num_classes, dataset.source) == (30, 2, "an upload")
    assert client.get("/explanation").json()["nodes"] == 30
    client.post("/train", json={"methods": ["sgc"], "split": "60", "epochs": 2})
    finish(opened)
    assert opened.training is not None
    assert opened.training.state == "done", opened.training.message


@pytest.mark.parametrize(
    ("name", "data", "status", "message"),
    [
        ("mine.npz", npz()[:300], 400, "mine.npz is not a complete .npz file"),
        ("mine.npz", npz(node_labels=None), 400, "mine.npz has no array 'node_labels'"),
        ("mine.npz", npz(edges=np.array([[0, 99]])), 400, "99"),
        ("mine.pkl", npz(), 400, "'mine.pkl' cannot be read: upload an .npz, .pt, .pth or .graphml file, or the"),
        ("mine.pt", b"words", 400, "mine.pt"),
        ("mine.graphml", b"words", 400, "mine.graphml cannot be read as GraphML"),
        ("mine.zip", b"words", 400, "mine.zip is not a complete .zip file"),
        ("nodes.csv", b"id", 400, "'nodes.csv' cannot be read as one data set: upload"),
        ("\u56fe" * 96 + ".npz", npz(), 400, "is longer than 255 bytes: rename the file"),
        ("mine.npz", npz(node_labels=np.full(30, -5)), 400, "the label of node 0 is -5"),
        ("mine.npz", npz(node_labels=np.full(30, np.nan)), 400, "label"),
        ("mine.npz", npz(node_labels=np.full(30, 1e300)), 400, "label"),
        ("mine.npz", npz(node_labels=np.full(30, "1")), 400, "label"),
        ("mine.npz", npz(node_labels=np.full(30, 2**64 - 1, dtype=np.uint64)), 400, "label"),
        ("mine.npz", bytes(LIMIT + 1), 413, "mine.npz has 1.0 MB, more than the limit of 1.0 MB"),
    ],
)
def test_a_bad_file_is_refused_and_nothing_is_lost(
    client: TestClient, name: str, data: bytes, status: int, message: str
) -> None:
    before = client.get("/state").json()
    answer = upload(client, {name: data})
    assert answer.status_code == status
    assert message in answer.json()["message"]
    assert client.get("/state").json() == before


@pytest.mark.parametrize("label", [10**9, 10**12, 2**62, 2**63 - 1])
def test_a_label_of_any_size_does_no_harm(client: TestClient, label: int) -> None:
    labels = np.where(np.arange(30) == 3, label, np.arange(30) % 2)
    answer = upload(client, {"mine.npz": npz(node_labels=labels)})
    assert answer.status_code in (200, 400), answer.text
    assert client.get("/explanation").status_code == 200


def test_a_file_is_as_long_as_announced(client: TestClient) -> None:
    for body, message in (
        (iter([bytes(LIMIT), b"x"]), "mine.npz has more bytes than announced: send it again"),
        (b"short", "mine.npz is 95 bytes shorter than announced: send it again"),
    ):
        answer = client.post("/upload?name=mine.npz&size=100", content=body)
        assert (answer.status_code, answer.json()["message"]) == (400, message)


@pytest.mark.parametrize("query", ["", "name=a.npz", "name=a.npz&size=-1", "name=a.npz&size=x", "name=a.npz&size=1e3"])
def test_an_upload_must_be_described(client: TestClient, query: str) -> None:
    answer = client.post(f"/upload?{query}", content=b"")
    assert answer.status_code == 400
    assert answer.json()["message"] == "an upload must give the name and the size of each file: use the page"


@pytest.mark.parametrize(
    ("path", "body", "message"),
    [
        ("/open", b"words", "the request is not JSON: use the page"),
        ("/open", b"[" * 90_000, "the request is not JSON: use the page"),
        ("/open", b'{"name":' * 10_000, "the request is not JSON: use the page"),
        ("/train", b'{"methods": ' + b"[" * 50_000 + b"]" * 49_000, "the request is not JSON: use the page"),
        ("/open", b"\xff\xfe\xfd", "the request is not JSON: use the page"),
        ("/open", b'{"name": ' + b"9" * 50_000 + b"}", "the request is not JSON: use the page"),
        ("/open", '{"name": "\N{SNOWMAN}"}'.encode() * 2, "the request is not JSON: use the page"),
        ("/open", b'{"name": "\\ud800"}', "is not on this machine"),
        ("/open", b'{"name": "../karate\\u0000"}', "is not on this machine"),
        ("/open", b"[]", "the request needs 'name' (str): use the page"),
        ("/open", b'{"name": 3}', "the request needs 'name' (str)"),
        ("/open", b'{"name": "cora2"}', "the data set 'cora2' is not on this machine"),
        ("/train", b'{"methods": [], "split": "60", "epochs": 5}', "no method was chosen"),
        ("/train", b'{"methods": ["mlp"], "split": "60", "epochs": true}', "the request needs 'epochs' (int)"),
        ("/train", b'{"methods": ["mlp"], "split": "60", "epochs": -1}', "epochs must be a whole number of at least 1"),
        ("/train", b'{"methods": ["mlp"], "split": "60", "epochs": NaN}', "the request needs 'epochs' (int)"),
        ("/train", b'{"methods": ["mlp"], "split": "\\ud800", "epochs": 5}', "split"),
        ("/train", b'{"methods": ["\\ud800"], "split": "60", "epochs": 5}', "method"),
        ("/train", b'{"methods": ["mlp"], "split": "60"}', "the request needs 'epochs' (int)"),
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
        ("/explanation?number=-1", "the number of an explanation must be an integer, not '-1'"),
        ("/explanation?number=" + "9" * 5000, "the number of an explanation must be an integer"),
        ("/explanation?number=4", "there is no training result 4 on karate"),
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
    assert answer.json()["message"].startswith("unexpected error (RuntimeError: odd): see the traceback")
    assert answer.headers["x-content-type-options"] == "nosniff"
