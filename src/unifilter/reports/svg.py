"""SVG elements, and a frame with axes. Colors come from CSS classes."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from unifilter.reports.wording import number

# In pixels of a phone screen. Wider screens enlarge the picture.
WIDTH = 320
FONT_SIZE = 11
# Maximum character width of common fonts.
_CHARACTER = 0.64 * FONT_SIZE


def element(name: str, *content: str, **attributes: Any) -> Markup:
    """An SVG element. Text in its content and attributes is escaped.

    >>> element("text", "a < b", x=1.234, text_anchor="end")
    Markup('<text x="1.23" text-anchor="end">a &lt; b</text>')
    """
    written = Markup("").join(
        Markup(' {}="{}"').format(key.rstrip("_").replace("_", "-"), _plain(value))
        for key, value in attributes.items()
        if value is not None
    )
    return Markup("<{0}{1}>{2}</{0}>").format(name, written, Markup("").join(content))


def picture(title: str, height: float, *content: str) -> Markup:
    """A complete SVG picture. The title is read by screen readers."""
    return element(
        "svg",
        element("title", title),
        *content,
        viewBox=f"0 0 {WIDTH} {height:g}",
        role="img",
        class_="chart",
    )


def ticks(low: float, high: float, steps: int) -> dict[float, str]:
    """Round numbers from low to high, at most ``steps`` intervals, and their labels.

    >>> ticks(0, 1, 5)
    {0.0: '0.0', 0.2: '0.2', 0.4: '0.4', 0.6: '0.6', 0.8: '0.8', 1.0: '1.0'}
    >>> ticks(-300, 4200, 4)
    {0.0: '0', 2000.0: '2,000', 4000.0: '4,000'}
    """
    power = math.floor(math.log10((high - low) / steps))
    factor = next(one for one in (1, 2, 2.5, 5, 10) if (high - low) / (one * 10.0**power) <= steps)
    step, digits = factor * 10.0**power, max(0, {2.5: 1, 10: -1}.get(factor, 0) - power)
    at = [round(step * one, digits) for one in range(math.ceil(low / step), math.floor(high / step) + 1)]
    # As many decimals as needed to tell neighbors apart, unless the labels get too long.
    short = digits <= 4 and max(abs(low), abs(high)) < 1e6
    return {one: f"{one:,.{digits}f}" if short else number(one) for one in at}


def widened(values: Iterable[float], margin: float = 0.06) -> tuple[float, float]:
    """The range of the values with a margin. A single value gets a range of nonzero width."""
    known = list(values)
    low, high = min(known, default=0.0), max(known, default=1.0)
    room = margin * (high - low) or max(abs(low), 1.0) * margin
    return low - room, high + room


@dataclass(frozen=True)
class Frame:
    """Maps data coordinates to picture coordinates.

    Attributes:
        x_range, y_range: Ranges of the data.
        left, right, top, bottom: Edges of the plot in the picture.
    """

    x_range: tuple[float, float]
    y_range: tuple[float, float]
    left: float
    right: float
    top: float
    bottom: float

    def x(self, value: float) -> float:
        low, high = self.x_range
        return self.left + (value - low) / (high - low) * (self.right - self.left)

    def y(self, value: float) -> float:
        low, high = self.y_range
        return self.bottom - (value - low) / (high - low) * (self.bottom - self.top)

    def x_axis(self, title: str, steps: int = 5) -> Markup:
        """Vertical grid lines with labels, and a title below."""
        parts = [
            element("line", x1=self.x(at), x2=self.x(at), y1=self.top, y2=self.bottom, class_="grid")
            + element("text", text, x=self._inside(self.x(at), text), y=self.bottom + 18, text_anchor="middle")
            for at, text in ticks(*self.x_range, steps).items()
        ]
        middle = (self.left + self.right) / 2
        parts.append(element("text", title, x=middle, y=self.bottom + 34, text_anchor="middle"))
        return Markup("").join(parts)

    def y_axis(self, title: str, steps: int = 5) -> Markup:
        """Horizontal grid lines with labels, and a title above."""
        parts = [
            element("line", x1=self.left, x2=self.right, y1=self.y(at), y2=self.y(at), class_="grid")
            + element("text", text, x=self.left - 5, y=self.y(at) + 4, text_anchor="end")
            for at, text in ticks(*self.y_range, steps).items()
        ]
        parts.append(element("text", title, x=2, y=self.top - 12))
        return Markup("").join(parts)

    def clipped(self, *content: str) -> Markup:
        """Content clipped at the edges of the plot."""
        width, height = self.right - self.left, self.bottom - self.top
        box = f"{self.left:g} {self.top:g} {width:g} {height:g}"
        return element("svg", *content, x=self.left, y=self.top, width=width, height=height, viewBox=box)

    def path(self, points: Iterable[tuple[float, float]]) -> str:
        """A line through points, for the attribute ``d``."""
        return "M" + "L".join(f"{self.x(x):.2f} {self.y(y):.2f}" for x, y in points)

    @staticmethod
    def _inside(x: float, text: str) -> float:
        """Shift a label at the edge inwards, so that it stays in the picture."""
        half = len(text) * _CHARACTER / 2
        return min(max(x, half), WIDTH - half)


def framed(
    x_range: tuple[float, float],
    y_range: tuple[float, float],
    height: float,
    top: float = 25,
    below: float = 40,
    steps: int = 5,
) -> Frame:
    """A frame with enough room for its labels and titles."""
    left = 8 + max(len(text) for text in ticks(*y_range, steps).values()) * _CHARACTER
    return Frame(x_range, y_range, left, WIDTH - 8, top, height - below)


def _plain(value: Any) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
