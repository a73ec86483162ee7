"""A page in a browser: what is drawn on it, what it asked for and what it complained about."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from unifilter.explanation import SpectralExplanation

# What the page promises: its numbers are the library's to this.
CLOSE = {"rtol": 1e-5, "atol": 1e-5}


@dataclass
class Opened:
    """A page, and what it did that it must not do."""

    page: Any
    explanation: SpectralExplanation
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))

    def drawn(self) -> dict[str, Any]:
        drawn: dict[str, Any] = self.page.evaluate("window.unifilter.drawn()")
        return drawn

    def slide(self, name: str, value: float) -> None:
        """As a user does: the event, then the frame it is drawn in."""
        self.page.evaluate(
            """([name, value]) => new Promise((done) => {
                const input = document.getElementById(name);
                input.value = value;
                input.dispatchEvent(new Event("input", { bubbles: true }));
                requestAnimationFrame(() => requestAnimationFrame(done));
            })""",
            [name, value],
        )

    def check_numbers(self) -> None:
        """What is drawn against what the library computes."""
        drawn = self.drawn()
        wanted = self.explanation.at(drawn["tau"], drawn["homophily"])
        curves = wanted.curves
        low, high = (np.clip(curves.frequency + sign * curves.frequency_spread, 0, 1) for sign in (-1, 1))
        np.testing.assert_allclose(drawn["spectrum"][1:], [curves.frequency, low, high], **CLOSE)
        np.testing.assert_allclose(drawn["angles"], curves.angles, **CLOSE)
        np.testing.assert_allclose(
            drawn["response"][1:], [curves.response, curves.response_low, curves.response_high], **CLOSE
        )
        np.testing.assert_allclose(drawn["response_axis"], wanted.response_axis, **CLOSE)
        weight = np.full(wanted.hops + 1, 1 / (wanted.hops + 1)) if wanted.weight is None else wanted.weight
        hops = np.array(drawn["weights"][3])
        np.testing.assert_allclose(drawn["weights"][0], curves.frequency[hops], **CLOSE)
        np.testing.assert_allclose(drawn["weights"][1], weight[hops], **CLOSE)
        assert sorted(hops) == list(range(wanted.hops + 1))


def picture(opened: Opened, name: str) -> None:
    """A screenshot, where the environment names a folder for them."""
    folder = os.environ.get("UNIFILTER_SCREENSHOTS")
    if folder:
        opened.page.screenshot(path=Path(folder) / f"{name}.png", full_page=True)


def overlaps(page: Any, words: str) -> list[str]:
    """Pairs of elements, of those that a selector finds, that lie on each other and not in each other."""
    found: list[str] = page.evaluate(
        """(words) => {
            const shown = [...document.querySelectorAll(words)]
                .filter((one) => one.getClientRects().length)
                .map((one) => [one, one.getBoundingClientRect()]);
            const both = (p, q, from, to) => Math.min(p[to], q[to]) - Math.max(p[from], q[from]) > 1;
            const found = [];
            for (const [a, p] of shown) for (const [b, q] of shown) {
                if (a.contains(b) || b.contains(a)) continue;
                if (both(p, q, "left", "right") && both(p, q, "top", "bottom"))
                    found.push(`${a.textContent} / ${b.textContent}`);
            }
            return found;
        }""",
        words,
    )
    return found
