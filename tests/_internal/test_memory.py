"""Work that memory has no room for is refused."""

from __future__ import annotations

import pytest

from unifilter._internal import memory


def test_what_does_not_fit_is_refused_with_an_estimate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available_bytes", lambda: 2e9)
    memory.check_memory("the two-hop graph", 2e9, "use gcn")
    with pytest.raises(
        ValueError, match=r"^the two-hop graph would need about 31\.5 GB, and 2\.0 GB of memory are free: use gcn$"
    ):
        memory.check_memory("the two-hop graph", 3.15e10, "use gcn")


def test_some_memory_is_free() -> None:
    assert 1e6 < memory.available_bytes() < 1e15


@pytest.mark.parametrize(
    ("num_bytes", "said"), [(0, "0.0 kB"), (1500, "1.5 kB"), (2.5e6, "2.5 MB"), (999e6, "999.0 MB"), (4e9, "4.0 GB")]
)
def test_bytes_as_people_say_them(num_bytes: float, said: str) -> None:
    assert memory.said_bytes(num_bytes) == said
