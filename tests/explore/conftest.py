from __future__ import annotations

import pytest

from unifilter.methods import METHODS


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """UniFilter on the karate club goes on until somebody stops it."""
    monkeypatch.setattr(METHODS["unifilter"], "presets", {"karate": {"patience": 10**9}})
