"""How well the texts of a page can be read."""

from __future__ import annotations

from typing import Any


def weakest_contrasts(page: Any, least: float = 4.5) -> list[str]:
    """Texts whose contrast with what is behind them is below that of WCAG AA."""
    found: list[str] = page.evaluate(
        """(least) => {
            const parsed = (color) => {
                const [r, g, b, a = 1] = color.match(/[\\d.]+/g).map(Number);
                return [r, g, b, a];
            };
            const behind = (element) => {
                const layers = [];
                for (let at = element; at; at = at.parentElement) {
                    layers.push(parsed(getComputedStyle(at).backgroundColor));
                    if (layers.at(-1)[3] === 1) break;
                }
                return layers.reduceRight((below, [r, g, b, a]) =>
                    [r, g, b].map((one, i) => one * a + below[i] * (1 - a)), [255, 255, 255]);
            };
            const light = (rgb) => {
                const [r, g, b] = rgb.map((one) => one / 255)
                    .map((one) => one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4);
                return 0.2126 * r + 0.7152 * g + 0.0722 * b;
            };
            const found = [];
            for (const one of document.querySelectorAll("body *")) {
                const own = [...one.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
                if (!own || one.localName === "title" || !one.getClientRects().length) continue;
                const style = getComputedStyle(one);
                const color = parsed(one.localName === "text" ? style.fill : style.color).slice(0, 3);
                const [p, q] = [light(color), light(behind(one))];
                const ratio = (Math.max(p, q) + 0.05) / (Math.min(p, q) + 0.05);
                if (ratio < least) found.push(`${ratio.toFixed(2)}: ${one.textContent.trim().slice(0, 60)}`);
            }
            return found;
        }""",
        least,
    )
    return found
