"""Figures as they were saved."""

from __future__ import annotations

from typing import Any

import pytest
from matplotlib.figure import Figure


def drawn_figures(monkeypatch: pytest.MonkeyPatch) -> list[Figure]:
    """A list that every figure is put into when it is saved, laid out and drawn."""
    figures: list[Figure] = []
    save = Figure.savefig

    def saved(self: Figure, *given: Any, **options: Any) -> None:
        save(self, *given, **options)
        figures.append(self)

    monkeypatch.setattr(Figure, "savefig", saved)
    return figures
