"""The page, also in a real browser. Pictures go to the folder that UNIFILTER_SCREENSHOTS names."""

from __future__ import annotations

import html
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from explanation.browser import chromium
from explanation.opened_page import overlaps
from hypothesis import given
from hypothesis import strategies as st
from reports.contrast import weakest_contrasts
from reports.samples import SAMPLES, class_rows, good, regression

from unifilter.reports import next_steps, render_report, verdict

NASTY = "</style></title><script>alert(1)</script>\"'><img src=x onerror=alert(1)> {{ 7 * 7 }} & &amp; \u202e\x00`"


def hostile() -> dict[str, Any]:
    """Names that want to break the page: markup, very long words, and a hundred classes of them."""
    names = [NASTY, "w" * 3000, "", " \n", *(f"{NASTY}{index}" for index in range(96))]
    counts = np.random.default_rng(0).integers(0, 9000, (100, 100))
    report = good()
    features = [{"name": name, "value": 0.5 - index / 100} for index, name in enumerate(names)]
    return {
        **report,
        "title": NASTY + "t" * 500,
        "command": f"unifilter train '{'d' * 400}' {NASTY}",
        "method": "m" * 300,
        "dataset": {**report["dataset"], "name": NASTY, "columns": [{"name": name, "kind": "text"} for name in names]},
        "warnings": [f"no test node of class {name!r}" for name in names[:3]],
        "scores": [{**one, "name": one["name"] + NASTY} for one in report["scores"]],
        "classes": class_rows(names, counts.tolist()),
        "confusion": {"names": names, "counts": counts.tolist()},
        "importance": {
            "hops": [0.1, -0.2],
            "features": features,
            "classes": [{"name": names[1], "features": features}],
        },
        "settings": {NASTY: "v" * 1000, "tau": None},
    }


ALL = {**SAMPLES, "hostile": hostile}


def plain_text(page: str) -> str:
    without_style = re.sub(r"<style>.*?</style>", "", page, flags=re.S)
    return html.unescape(re.sub(r"<[^>]+>", " ", without_style))


@pytest.mark.parametrize("name", SAMPLES)
def test_the_page_says_what_the_words_say(name: str) -> None:
    report = SAMPLES[name]()
    text = plain_text(render_report(report))
    for sentence in [*verdict(report), *report["warnings"]]:
        assert sentence in text
    for step in next_steps(report):
        assert all(part in text for part in step.split("`"))


@pytest.mark.parametrize("name", SAMPLES)
def test_no_undefined_number_is_printed(name: str) -> None:
    text = plain_text(render_report(SAMPLES[name]()))
    assert re.findall(r"\b(nan|None|inf|undefined)\b", text, flags=re.I) == []


@pytest.mark.parametrize("name", ALL)
def test_the_numbers_of_a_file_give_the_same_page(name: str) -> None:
    report = ALL[name]()
    assert render_report(json.loads(json.dumps(report, allow_nan=False))) == render_report(report)


def test_names_of_the_user_are_text() -> None:
    page = render_report(hostile())
    assert "<script" not in page
    assert "<img" not in page
    assert "49" not in re.findall(r"onerror=alert\(1\)&gt; (\S+)", page)


@given(st.text())
def test_any_name_can_be_written(name: str) -> None:
    report = {**good(), "title": name, "method": name}
    report["classes"][0]["name"] = name
    render_report(report).encode("utf-8")


def test_half_a_character_can_be_written() -> None:
    assert "a?b" in render_report({**good(), "title": "a\ud800b"})


@pytest.mark.parametrize(
    ("key", "section"),
    [
        ("confusion", "confusion"),
        ("calibration", "calibration"),
        ("sets", "sets"),
        ("spectrum", "response"),
        ("importance", "importance"),
    ],
)
def test_what_a_run_has_not_is_left_out(key: str, section: str) -> None:
    assert f'<section id="{section}"' in render_report(good())
    assert f'<section id="{section}"' not in render_report({**good(), key: None})


def test_empty_parts() -> None:
    report = regression()
    report["residuals"]["points"] = []
    report["history"] = {"best_epochs": [], "epochs": [], "seconds": []}
    report["importance"] = {"hops": None, "features": [], "classes": []}
    assert "Quantiles of the residuals" in render_report(report)
    report = {**good(), "calibration": {"error": None, "error_before": None, "temperature": None, "bins": []}}
    assert "Expected calibration error –." in render_report(report)


def test_training_in_words() -> None:
    assert "21 seconds of training in all; best epoch 61 to 80." in render_report(good())
    report = {**good(), "history": {"best_epochs": [7], "epochs": [9], "seconds": [1.5]}}
    assert "1.5 seconds of training in all; best epoch 7." in render_report(report)
    report["history"]["best_epochs"] = []
    assert "1.5 seconds of training in all.</p>" in render_report(report)


def test_long_lists_are_cut_and_counted() -> None:
    text = " ".join(plain_text(render_report(hostile())).split())
    assert "and 80 more" in text  # features
    assert "and 50 more" in text  # columns
    assert "The 88 least frequent classes are summed up" in text


def test_prediction_intervals_of_a_regression() -> None:
    text = plain_text(render_report({**regression(), "sets": {"alpha": 0.1, "coverage": None, "mean_size": 12.5}}))
    assert "Prediction intervals" in text
    assert "mean width" in text


def test_labels_and_partly_labeled_data() -> None:
    report = {**good(), "task": "multilabel", "dataset": {**good()["dataset"], "labeled": 500}}
    text = plain_text(render_report(report))
    assert "Label by label" in text
    assert "500 of the nodes labeled" in text


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as opened:
        yield opened


@pytest.mark.parametrize("width", [1280, 360])
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", ALL)
def test_in_a_browser(browser: Any, tmp_path: Path, name: str, theme: str, width: int) -> None:
    path = tmp_path / "report.html"
    path.write_text(render_report(ALL[name]()), encoding="utf-8")
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=theme)
    page = context.new_page()
    complaints, requests = [], []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("dialog", lambda dialog: complaints.append(dialog.message))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(path.as_uri())
    folder = os.environ.get("UNIFILTER_SCREENSHOTS")
    if folder:
        page.screenshot(path=Path(folder) / f"report-{name}-{theme}-{width}.png", full_page=True)
    background = {"light": "rgb(244, 245, 247)", "dark": "rgb(17, 20, 24)"}[theme]
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == background
    for opened in (False, True):
        page.evaluate("(open) => document.querySelectorAll('details').forEach((one) => { one.open = open; })", opened)
        assert page.evaluate("document.documentElement.scrollWidth") == width
        assert outside(page, width) == []
        assert weakest_contrasts(page) == []
    # Last, when all is opened: what is hidden has a place too.
    assert overlaps(page, "svg text, h1, h2, p, li, summary, caption, dt, dd, svg.chart") == []
    assert complaints == []
    assert [url for url in requests if not url.startswith("data:")] == [path.as_uri()]
    context.close()


def outside(page: Any, width: int) -> list[str]:
    """Elements that stick out of the window, but for what can be scrolled; text of a picture that sticks out of it."""
    found: list[str] = page.evaluate(
        """(width) => [...document.querySelectorAll("#page *")].filter((one) => {
            if (!one.getClientRects().length || one.parentElement.closest(".scrolled")) return false;
            const box = one.getBoundingClientRect();
            const picture = one.localName === "text" && one.closest("svg.chart").getBoundingClientRect();
            const { left, right } = picture || { left: 0, right: width };
            return box.left < left - 0.5 || box.right > right + 0.5;
        }).map((one) => `${one.localName} ${one.textContent.trim().slice(0, 60)}`)""",
        width,
    )
    return found


def test_print(browser: Any, tmp_path: Path) -> None:
    """On paper all of it is there, dark on white, with nothing left to scroll or to open."""
    path = tmp_path / "report.html"
    path.write_text(render_report(good()), encoding="utf-8")
    context = browser.new_context(viewport={"width": 800, "height": 1000}, color_scheme="dark")
    page = context.new_page()
    page.goto(path.as_uri())
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert weakest_contrasts(page) == []
    assert page.evaluate(
        "document.querySelector('.scrolled').scrollHeight <= document.querySelector('.scrolled').clientHeight"
    )
    assert page.locator("#settings td").first.is_visible()
    context.close()


def test_headings_and_names_for_screen_readers(browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text(render_report(good()), encoding="utf-8")
    page = browser.new_page()
    page.goto(path.as_uri())
    assert page.locator("h1").count() == 1
    assert page.evaluate("[...document.querySelectorAll('table')].every((one) => one.caption)")
    assert page.evaluate(
        "[...document.querySelectorAll('svg[role=img]')].every((one) => one.firstChild.localName === 'title')"
    )
    assert page.evaluate(
        "[...document.querySelectorAll('[aria-labelledby]')]"
        ".every((one) => document.getElementById(one.getAttribute('aria-labelledby')))"
    )
    page.close()
