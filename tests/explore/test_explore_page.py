"""`unifilter explore` in a real browser, with a real server."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import uvicorn
from explanation.browser import chromium
from explanation.opened_page import CLOSE, Opened, overlaps, picture
from explore.small_sessions import (
    LIMIT,
    finish,
    graphml,
    karate,
    npz,
    pickled,
    saved,
    tables,
    unlabeled,
    wait_for,
    zipped,
)

from unifilter.explanation.curves import GRID
from unifilter.explore.access import Access, doorway
from unifilter.explore.opened import Opened as OpenedData
from unifilter.explore.server import bind, configuration
from unifilter.explore.session import Session
from unifilter.methods import METHODS

PHONE = {"viewport": {"width": 390, "height": 844}, "device_scale_factor": 2, "has_touch": True}


@dataclass
class Served:
    """A running server."""

    session: Session
    access: Access
    end: Callable[[], None]

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.access.port}"


@contextmanager
def serving(opened: OpenedData, data_dir: Path) -> Iterator[Served]:
    session = Session(opened, data_dir, LIMIT)
    with bind(0) as listening:
        access = Access(listening.getsockname()[1])
        server = uvicorn.Server(configuration(session, access))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()

        def end() -> None:
            session.close()
            server.should_exit = True
            thread.join()

        try:
            yield Served(session, access, end)
        finally:
            end()
            session.join()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as opened:
        yield opened


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with serving(karate(), tmp_path / "data") as running:
        yield running


def visit(browser: Any, served: Served, **options: Any) -> Opened:
    page = browser.new_context(**({"viewport": {"width": 1280, "height": 900}} | options)).new_page()
    page.set_default_timeout(20_000)
    opened = Opened(page, served.session.explanation())
    page.goto(served.access.address)
    page.wait_for_function("() => window.unifilterExplore?.state")
    return opened


@pytest.fixture
def opened(browser: Any, served: Served) -> Opened:
    return visit(browser, served)


def train(opened: Opened, epochs: int, *methods: str) -> None:
    """Ticks these methods and no others, and starts."""
    page = opened.page
    for box in page.locator("#methods input").all():
        box.set_checked(box.get_attribute("value") in methods)
    page.fill("#epochs", str(epochs))
    page.click("#begin")


def trained(opened: Opened, count: int) -> None:
    """Waits until so many methods are in the table, and nothing is being trained."""
    opened.page.wait_for_function(
        "(count) => document.querySelectorAll('#trained tbody tr').length === count && "
        "!document.getElementById('begin').disabled",
        arg=count,
    )


def curve_length(opened: Opened) -> int:
    length: int = opened.page.evaluate("() => window.unifilterExplore.train.drawn?.data[0].length ?? 0")
    return length


def upload(opened: Opened, name: str, data: bytes) -> None:
    upload_all(opened, {name: data})


def upload_all(opened: Opened, files: dict[str, bytes]) -> None:
    """As a user chooses files together."""
    opened.page.set_input_files(
        "#file",
        [{"name": name, "mimeType": "application/octet-stream", "buffer": data} for name, data in files.items()],
    )


def test_it_starts_with_the_library_s_numbers_and_asks_nobody_else(opened: Opened, served: Served) -> None:
    opened.check_numbers()
    assert opened.page.title() == "karate – unifilter explore"
    assert opened.page.locator("#dataset option").all_inner_texts() == ["karate", "digits"]
    train(opened, 5, "unifilter")
    trained(opened, 1)
    assert all(url.startswith((f"{served.origin}/", "data:")) for url in opened.requests)
    assert opened.complaints == []
    # Nor could it.
    assert opened.page.evaluate("fetch('https://nowhere.invalid').then(() => 'sent', () => 'refused')") == "refused"
    assert "Content Security Policy" in opened.complaints[0]


def test_another_data_set_is_picked(opened: Opened, served: Served) -> None:
    train(opened, 2, "mlp")
    trained(opened, 1)
    opened.page.select_option("#dataset", "digits")
    opened.page.click("#open")
    opened.page.wait_for_function("() => document.querySelector('h1').textContent === 'digits'")
    opened.page.wait_for_function("() => document.getElementById('data-status').textContent === 'Opened digits.'")
    opened.explanation = served.session.explanation()
    assert opened.explanation.name == "digits"
    opened.check_numbers()
    # What was trained belonged to the other one.
    assert opened.page.locator("#trained tbody tr").count() == 0
    assert opened.page.locator("h1").count() == 1
    assert opened.complaints == []


def test_a_file_is_uploaded(opened: Opened, served: Served) -> None:
    upload(opened, "my graph.npz", npz())
    opened.page.wait_for_function("() => document.querySelector('h1').textContent === 'my graph'")
    opened.explanation = served.session.explanation()
    opened.check_numbers()
    assert "30 nodes" in opened.page.inner_text(".facts")
    assert opened.complaints == []


CHOSEN: dict[str, dict[str, bytes]] = {
    "torch.save": {"mine.pt": saved()},
    "GraphML": {"mine.graphml": graphml()},
    "a folder in a .zip": {"mine.zip": zipped({f"mine/{name}": data for name, data in tables().items()})},
    "two tables": tables(),
}


@pytest.mark.parametrize("kind", CHOSEN)
def test_every_kind_of_file_is_uploaded(opened: Opened, served: Served, kind: str) -> None:
    upload_all(opened, CHOSEN[kind])
    name = "tables" if kind == "two tables" else "mine"
    opened.page.wait_for_function("(name) => document.querySelector('h1').textContent === name", arg=name)
    opened.explanation = served.session.explanation()
    opened.check_numbers()
    said = f"Opened {' and '.join(CHOSEN[kind])}."
    opened.page.wait_for_function("(said) => document.getElementById('data-status').textContent === said", arg=said)
    assert opened.complaints == []


def test_every_mistake_in_a_table_has_its_line(opened: Opened) -> None:
    broken = {"nodes.csv": b"id,label\n1,0\n1,1\n", "edges.csv": b"source,weight\n1,x\n"}
    upload_all(opened, broken)
    opened.page.wait_for_function("() => document.getElementById('data-alert').textContent.includes('edges.csv')")
    lines = opened.page.inner_text("#data-alert").splitlines()
    assert len(lines) == len(opened.page.text_content("#data-alert").splitlines()) > 1


@pytest.mark.parametrize("way", ["typed", "opened", "linked"])
def test_the_whole_address_is_the_way_in(browser: Any, served: Served, tmp_path: Path, way: str) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.set_default_timeout(20_000)
    with doorway(served.access) as door:
        if way == "linked":  # from another site, such as a terminal in a browser
            link = tmp_path / "link.html"
            link.write_text(f'<a href="{served.access.address}">explore</a>')
            page.goto(link.as_uri())
            page.click("a")
        else:
            page.goto(served.access.address if way == "typed" else door)
        page.wait_for_function("() => window.unifilterExplore?.state")
    # The token is not left where others may look over one's shoulder, nor where a script could read it.
    assert page.url == f"{served.origin}/"
    assert page.evaluate("document.cookie") == ""
    (cookie,) = context.cookies()
    assert cookie["name"] == f"unifilter-explore-{served.access.port}"
    assert (cookie["httpOnly"], cookie["sameSite"], cookie["path"]) == (True, "Strict", "/")
    # The browser keeps it.
    page.reload()
    page.wait_for_function("() => window.unifilterExplore?.state")
    second = context.new_page()
    second.goto(served.origin)
    second.wait_for_function("() => window.unifilterExplore?.state")


def test_without_the_token_there_is_a_plain_page(browser: Any, served: Served) -> None:
    page = browser.new_context(**PHONE).new_page()
    answer = page.goto(served.origin)
    assert answer.status == 403
    assert page.inner_text("h1") == "Not opened"
    assert "copy it from the terminal into the address bar" in page.inner_text("p")
    assert "karate" not in page.content()
    picture(Opened(page, served.session.explanation()), "explore-closed")


def test_a_page_from_another_port_cannot_use_the_cookie(
    browser: Any, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = browser.new_context()
    context.new_page().goto(served.access.address)
    stopped: list[bool] = []
    monkeypatch.setattr(served.session, "stop", lambda: stopped.append(True))
    # The same host, so the browser sends the cookie along; another port, so it is another page.
    with elsewhere() as address:
        page = context.new_page()
        page.goto(address)
        read = f"fetch('{served.origin}/state', {{credentials: 'include'}})"
        assert page.evaluate(f"{read}.then(() => 'read', () => 'refused')") == "refused"
        change = f"fetch('{served.origin}/stop', {{method: 'POST', mode: 'no-cors', credentials: 'include'}})"
        page.evaluate(f"{change}.then(() => 'sent', () => 'refused')")
        page.evaluate(
            f"() => {{ const frame = document.createElement('iframe'); frame.src = '{served.origin}/'; "
            "document.body.append(frame); return new Promise((done) => { frame.onload = done; }); }"
        )
        assert page.frames[1].evaluate("document.documentElement.innerText").find("karate") == -1
    assert stopped == []


@contextmanager
def elsewhere() -> Iterator[str]:
    """An empty page at another port of this machine."""

    class Empty(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<!DOCTYPE html><title>elsewhere</title>")

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Empty) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()


BROKEN: dict[str, tuple[Callable[[Path], bytes], str]] = {
    "truncated": (lambda _: npz()[:500], "mine.npz is not a complete .npz file"),
    "pickled": (lambda folder: pickled(folder / "marker"), "mine.npz contains Python objects, which could run code"),
    "too large": (lambda _: bytes(LIMIT + 100_000), "mine.npz has 1.1 MB, more than the limit of 1.0 MB"),
    "wrong keys": (lambda _: npz(edges=None, adjacency=np.eye(3)), "mine.npz has no array 'edges', it has adjacency"),
    "no signal": (lambda _: npz(node_features=np.zeros((30, 2))), "mine.npz cannot be explained: all feature columns"),
}


def test_a_broken_file_gives_a_message_and_loses_nothing(opened: Opened, served: Served, tmp_path: Path) -> None:
    page = opened.page
    train(opened, 3, "unifilter")
    trained(opened, 1)
    opened.slide("tau", 0.25)
    before = opened.drawn()
    refused = 0
    for make, message in BROKEN.values():
        upload(opened, "mine.npz", make(tmp_path))
        page.wait_for_function(
            "(text) => document.getElementById('data-alert').textContent.includes(text)", arg=message
        )
        assert page.is_visible("#data-alert")
        assert "/tmp" not in page.inner_text("#data-alert")
        refused += message != BROKEN["too large"][1]
        assert opened.drawn() == before
        assert page.locator("#trained tbody tr").count() == 1
    assert not (tmp_path / "marker").exists()
    picture(opened, "explore-refused")
    # The browser itself notes every refusal; the page adds nothing. What is too large was never sent.
    assert len(opened.complaints) == refused
    assert all("status of 400" in complaint for complaint in opened.complaints)
    opened.slide("tau", 0.75)
    opened.check_numbers()
    upload(opened, "mine.npz", npz())
    page.wait_for_function("() => document.querySelector('h1').textContent === 'mine'")
    assert not page.is_visible("#data-alert")


@pytest.mark.usefixtures("patient")
def test_a_curve_grows_while_the_page_stays_alive_until_it_is_stopped(
    browser: Any, opened: Opened, served: Served
) -> None:
    page = opened.page
    train(opened, 100_000, "unifilter", "mlp")
    wait_for(lambda: curve_length(opened) > 5)
    assert page.is_disabled("#begin")
    early = curve_length(opened)
    opened.slide("tau", 0.125)
    opened.check_numbers()
    wait_for(lambda: curve_length(opened) > early)
    # A second page sees the same training, and may not start another.
    other = visit(browser, served)
    wait_for(lambda: curve_length(other) > early)
    refusal = (
        "unifilter, mlp is being trained, and only one operation can run at a time: wait until it ends, or stop it"
    )
    other.page.evaluate("() => window.unifilterExplore.train.start()")
    other.page.wait_for_function("(text) => document.getElementById('train-alert').textContent === text", arg=refusal)
    other.page.click("#open")
    other.page.wait_for_function("(text) => document.getElementById('data-alert').textContent === text", arg=refusal)
    assert "unifilter (1 of 5): epoch" in page.inner_text("#train-status")
    picture(opened, "explore-training")
    page.click("#stop")
    trained(opened, 1)
    training = served.session.training
    assert training is not None
    curve = training.curves[0]
    message = f"Stopped unifilter after epoch {len(curve.score)}; its best weights are kept."
    assert page.inner_text("#train-status") == message
    drawn = page.evaluate("() => window.unifilterExplore.train.drawn.data")
    np.testing.assert_allclose(drawn[1], np.array(curve.loss, dtype=float), **CLOSE)
    np.testing.assert_allclose(drawn[2], np.array(curve.score, dtype=float), **CLOSE)
    assert page.is_disabled("#stop")
    assert opened.complaints == []


def test_filters_are_compared_on_one_axis(opened: Opened, served: Served) -> None:
    page = opened.page
    train(opened, 30, "unifilter", "hetfilter", "bernnet", "mlp")
    trained(opened, 4)
    found = served.session.opened.trained
    drawn = page.evaluate("() => window.unifilterExplore.compare.drawn")
    assert [one["method"] for one in drawn] == ["unifilter", "hetfilter", "bernnet"]
    first, last = served.session.explanation().feature_energy.span
    inside = (first <= GRID) & (last >= GRID)
    for one, result in zip(drawn, found, strict=False):
        assert result.response is not None
        expected = result.response / np.abs(result.response[inside]).max()
        np.testing.assert_allclose(one["response"], expected, **CLOSE)
    rows = page.locator("#trained tbody tr").all_inner_texts()
    assert f"{100 * found[3].record['test_accuracy']:.1f} %" in rows[3]
    assert rows[3].startswith("none")
    # Curves differ in color and in their dashes.
    styles = page.evaluate(
        "() => window.unifilterExplore.compare.chart.series.slice(1).map((s) => [s.stroke(), String(s.dash)])"
    )
    assert len({color for color, _ in styles}) == len({dash for _, dash in styles}) == 3
    page.uncheck("[aria-label='Show the filter of 2. hetfilter']")
    drawn = page.evaluate("() => window.unifilterExplore.compare.drawn")
    assert [one["method"] for one in drawn] == ["unifilter", "bernnet"]
    page.click("[aria-label='Explain 2. hetfilter']")
    page.wait_for_function("() => document.querySelector('h1').textContent === 'karate, hetfilter'")
    opened.explanation = served.session.explanation(2)
    assert opened.explanation.weight is not None
    opened.check_numbers()
    page.click("#explain-data")
    page.wait_for_function("() => document.querySelector('h1').textContent === 'karate'")
    assert opened.complaints == []


@pytest.mark.usefixtures("patient")
def test_whoever_comes_back_finds_everything_again(opened: Opened, served: Served) -> None:
    train(opened, 4, "sgc")
    trained(opened, 1)
    train(opened, 100_000, "unifilter")
    wait_for(lambda: curve_length(opened) > 3)
    opened.page.reload()
    opened.page.wait_for_function("() => window.unifilterExplore?.state")
    wait_for(lambda: curve_length(opened) > 3)
    opened.page.click("#stop")
    trained(opened, 2)
    drawn = opened.page.evaluate("() => window.unifilterExplore.train.drawn.data[1]")
    assert served.session.training is not None
    assert len(drawn) == len(served.session.training.curves[0].loss)


def test_what_cannot_be_trained_says_why(browser: Any, opened: Opened, tmp_path: Path) -> None:
    page = opened.page
    for epochs, methods, message in (
        ("10", (), "no method was chosen: select at least one"),
        ("0", ("mlp",), "epochs must be a whole number of at least 1, not 0"),
        ("1.5", ("mlp",), "the number of epochs must be a whole number, not 1.5"),
    ):
        for box in page.locator("#methods input").all():
            box.set_checked(box.get_attribute("value") in methods)
        page.fill("#epochs", epochs)
        page.click("#begin")
        page.wait_for_function("(t) => document.getElementById('train-alert').textContent.includes(t)", arg=message)
    with serving(unlabeled(), tmp_path / "data") as running:
        blind = visit(browser, running)
        assert blind.page.is_disabled("#begin")
        assert blind.page.inner_text("#train-status") == "Without labels there is nothing to learn."
        assert "0.5, because there are no labels" in blind.page.inner_text(".facts")
        assert blind.complaints == []


def test_a_training_that_fails_says_why(opened: Opened, served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise ValueError("too many nodes: take fewer")

    monkeypatch.setattr("unifilter.explore.training.fit", fail)
    train(opened, 5, "mlp")
    opened.page.wait_for_function(
        "() => document.getElementById('train-alert').textContent === 'mlp: too many nodes: take fewer'"
    )
    assert opened.page.is_enabled("#begin")
    assert opened.complaints == []


@pytest.mark.usefixtures("patient")
def test_a_server_that_has_ended_is_said_to_be(opened: Opened, served: Served) -> None:
    page = opened.page
    train(opened, 100_000, "unifilter")
    wait_for(lambda: curve_length(opened) > 1)
    served.end()
    page.click("#open")
    gone = "the server does not answer: see whether `unifilter explore` is still running"
    page.wait_for_function("(text) => document.getElementById('data-alert').textContent === text", arg=gone)
    opened.slide("tau", 0.9)  # what needs no server goes on
    opened.check_numbers()


def test_the_keyboard_is_enough(opened: Opened, served: Served) -> None:
    keyboard, page = opened.page.keyboard, opened.page
    reached = []
    for _ in range(12 + len(METHODS)):
        keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.id"))
    first = ["dataset", "open", "file", "method-unifilter"]
    assert reached[:4] == first
    assert [name for name in reached if name in ("split", "epochs", "begin", "tau")] == [
        "split",
        "epochs",
        "begin",
        "tau",
    ]
    page.focus("#method-sgc")
    keyboard.press("Space")
    page.fill("#epochs", "3")
    page.focus("#begin")
    keyboard.press("Enter")
    trained(opened, 2)
    assert [one.record["method"] for one in served.session.opened.trained] == ["unifilter", "sgc"]


@pytest.mark.parametrize(("theme", "device"), [("light", "desk"), ("dark", "desk"), ("light", "phone")])
def test_it_is_readable_in_both_themes_and_on_a_phone(browser: Any, served: Served, theme: str, device: str) -> None:
    opened = visit(browser, served, color_scheme=theme, **(PHONE if device == "phone" else {}))
    page = opened.page
    train(opened, 25, "unifilter", "hetfilter", "bernnet", "gprgnn", "jacobiconv", "optbasis", "mlp")
    trained(opened, 7)
    assert page.evaluate("document.documentElement.scrollWidth") == (390 if device == "phone" else 1280)
    words = (
        "h1, h2, button, label, legend, select, input, output, .facts, .caption, .status, .tile, li, .u-legend, canvas"
    )
    assert overlaps(page, words) == []
    picture(opened, f"explore-{theme}-{device}")
    colors = page.evaluate("() => window.unifilterExplore.compare.chart.series.slice(1).map((s) => s.stroke())")
    page.click("#theme")
    changed = page.evaluate("() => window.unifilterExplore.compare.chart.series.slice(1).map((s) => s.stroke())")
    assert all(before != after for before, after in zip(colors, changed, strict=True))
    finish(served.session)
    assert opened.complaints == []


def test_a_split_that_leaves_a_class_out_is_refused_and_the_literatures_marked(opened: Opened, served: Served) -> None:
    rng = np.random.default_rng(0)
    features, edges = rng.standard_normal((100, 5)).astype(np.float32), rng.integers(0, 100, (300, 2))
    upload(opened, "mine.npz", npz(node_features=features, node_labels=np.arange(100) // 90, edges=edges))
    page = opened.page
    page.wait_for_function("() => window.unifilterExplore.state.dataset.name === 'mine'")
    assert page.locator("#split option").all_inner_texts() == ["stratified 60/20/20", "random 60/20/20"]
    page.select_option("#split", "60")
    train(opened, 2, "mlp")
    page.get_by_text("class 1 has 10 labeled nodes, but no validation or test node").wait_for()
    served.session.opened.dataset = served.session.opened.dataset.with_checked(literature_split="60")
    train(opened, 2, "mlp")
    trained(opened, 1)
    cells = page.locator("#trained tbody td").all_inner_texts()
    assert (cells[1][-1], cells[2][-1]) == ("*", "†")
    assert page.locator("#left-out p").all_inner_texts() == [
        "* no test node of class '1': the score says nothing about it",
        "† no validation node of class '1': the score says nothing about it",
    ]
