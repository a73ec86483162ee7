"""Settings shared by the tests."""

from __future__ import annotations

import importlib
import signal
from collections.abc import Iterator

import pytest
from hypothesis import settings

# A busy machine is no failure: properties are about results, not about milliseconds.
settings.register_profile("unifilter", deadline=None)
settings.load_profile("unifilter")


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """Ctrl-C as in a terminal; a shell starts its background jobs deaf to it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="module")
def small_process() -> Iterator[None]:
    """Conversions take this process for a small one: it has grown with all tests before, up to their memory limit."""
    with pytest.MonkeyPatch.context() as patch:
        for module in ("convert_edges", "node_order"):
            patch.setattr(importlib.import_module(f"unifilter.graph.{module}"), "resident_bytes", lambda: 300_000_000)
        yield
