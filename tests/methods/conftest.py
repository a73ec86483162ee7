"""What tests of methods share: quick on small graphs, and nothing written outside the test's own folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch


@pytest.fixture(autouse=True)
def cache_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNIFILTER_CACHE", str(tmp_path / "cache"))


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """On so few nodes threads only wait for each other, for seconds where the machine is busy."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
