"""Draws charts as SVG text: scatter plots and stacked bars."""

import math
from collections.abc import Iterable, Sequence
from html import escape
from typing import NamedTuple

_WIDTH, _HEIGHT = 640, 360
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 150, 36, 44
_COLOURS = ("#3b6fb6", "#c8553d", "#4d9078", "#b8860b", "#8a63ad", "#6f7d80", "#d45087", "#8f6a4a")
"""Each has a contrast ratio of at least 3:1 to a light and to a dark page."""


class Point(NamedTuple):
    """A labelled point with an interval of its y value."""

    label: str
    x: float
    y: float
    low: float
    high: float


def scatter(title: str, x: str, y: str, points: Sequence[Point]) -> str:
    """Draw points with a logarithmic x axis and a y axis from 0 to 1; empty if none is positive."""
    usable = [p for p in points if p.x > 0]
    if not usable:
        return ""
    lowest = 10 ** math.floor(math.log10(min(p.x for p in usable)))
    highest = 10 ** math.ceil(math.log10(max(p.x for p in usable) * 1.01))

    def across(value: float) -> float:
        share = math.log(value / lowest) / math.log(highest / lowest)
        return _LEFT + share * (_WIDTH - _LEFT - _RIGHT)

    def up(value: float) -> float:
        return _HEIGHT - _BOTTOM - value * (_HEIGHT - _TOP - _BOTTOM)

    parts = [_frame(title)]
    for tenth in range(0, 11, 2):
        at = up(tenth / 10)
        parts.append(_grid_line(_LEFT, at, _WIDTH - _RIGHT, at))
        parts.append(_label(_LEFT - 8, at + 4, f"{tenth * 10} %", "end"))
    power = lowest
    while power <= highest:
        parts.append(_grid_line(across(power), _TOP, across(power), _HEIGHT - _BOTTOM))
        parts.append(_label(across(power), _HEIGHT - _BOTTOM + 16, f"{power:,.0f}", "middle"))
        power *= 10
    middle = _LEFT + (_WIDTH - _LEFT - _RIGHT) / 2
    parts.append(_label(middle, _HEIGHT - 8, x, "middle"))
    parts.append(_label(0, 14, y, "start"))
    labels = _spread([up(p.y) for p in usable], up(0))
    for number, (point, label) in enumerate(zip(usable, labels, strict=True)):
        colour = _COLOURS[number % len(_COLOURS)]
        cx, cy = across(point.x), up(point.y)
        parts.append(
            f'<line x1="{cx:.1f}" y1="{up(point.low):.1f}" x2="{cx:.1f}"'
            f' y2="{up(point.high):.1f}" stroke="{colour}" stroke-width="2" opacity=".4"/>'
            f'<circle cx="{cx:.1f}" cy="{cy:.1f}" r="5" fill="{colour}">'
            f"<title>{escape(point.label)}: {point.y:.0%}, {point.x:,.0f}</title></circle>"
        )
        edge = _WIDTH - _RIGHT + 12
        parts.append(
            f'<line x1="{cx + 6:.1f}" y1="{cy:.1f}" x2="{edge - 4}" y2="{label:.1f}"'
            f' stroke="{colour}" opacity=".25"/>'
        )
        parts.append(_label(edge, label + 4, point.label, "start"))
    return "".join(parts) + "</svg>"


def _spread(heights: list[float], lowest: float, apart: float = 15.0) -> list[float]:
    """Return label positions that are `apart` from each other and not below `lowest`."""
    order = sorted(range(len(heights)), key=lambda n: heights[n])
    placed = list(heights)
    last = -apart
    for number in order:
        placed[number] = last = max(placed[number], last + apart)
    last = lowest + apart
    for number in reversed(order):
        placed[number] = last = min(placed[number], last - apart)
    return placed


class Bar(NamedTuple):
    """A labelled stacked bar with named parts."""

    label: str
    parts: tuple[tuple[str, float], ...]


def bars(title: str, lines: Iterable[Bar]) -> str:
    """Draw stacked bars on a common scale; empty if every bar is empty."""
    drawn = [line for line in lines if any(amount for _, amount in line.parts)]
    if not drawn:
        return ""
    names = list(dict.fromkeys(name for line in drawn for name, _ in line.parts))
    most = max(sum(amount for _, amount in line.parts) for line in drawn)
    height = 20 + 30 * len(drawn) + 20 * math.ceil(len(names) / 3)
    parts = [_frame(title, height)]
    for row, line in enumerate(drawn):
        x, y = 150.0, 16 + 30 * row
        parts.append(_label(142, y + 14, line.label, "end"))
        for name, amount in line.parts:
            width = amount / most * (_WIDTH - 170)
            colour = _COLOURS[names.index(name) % len(_COLOURS)]
            parts.append(
                f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="20" fill="{colour}">'
                f"<title>{escape(name)}: {amount:,.0f}</title></rect>"
            )
            x += width
    for number, name in enumerate(names):
        x, y = 150 + number % 3 * 160, 30 + 30 * len(drawn) + 20 * (number // 3)
        colour = _COLOURS[number % len(_COLOURS)]
        parts.append(f'<rect x="{x}" y="{y - 9}" width="10" height="10" fill="{colour}"/>')
        parts.append(_label(x + 15, y, name, "start"))
    return "".join(parts) + "</svg>"


def _frame(title: str, height: int = _HEIGHT) -> str:
    return (
        f'<svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{escape(title, quote=True)}"'
        ' xmlns="http://www.w3.org/2000/svg">'
    )


def _grid_line(x1: float, y1: float, x2: float, y2: float) -> str:
    return (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
        ' stroke="currentColor" opacity=".15"/>'
    )


def _label(x: float, y: float, text: str, anchor: str) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="12"'
        f' fill="currentColor">{escape(text)}</text>'
    )
