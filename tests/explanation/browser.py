"""A real browser for the tests of the page: Chromium, driven by Playwright."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

_NAMES = ("chromium", "chromium-browser", "google-chrome")


@contextmanager
def chromium() -> Iterator[Any]:
    """A browser; the test is skipped where there is none, and fails in continuous integration."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        _without("playwright is not installed: pip install playwright")
    program = next(filter(None, map(shutil.which, _NAMES)), None)
    if program is None:
        _without(f"there is no browser, none of {', '.join(_NAMES)}: install Debian's chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        try:
            yield browser
        finally:
            browser.close()


def _without(reason: str) -> Any:
    if os.environ.get("CI") == "true":
        pytest.fail(f"the page must be tested in continuous integration, and {reason}")
    pytest.skip(reason)
