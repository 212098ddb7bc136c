"""Shapes of SVG, as texts. Colors are classes of `static/site.css`, which know light and dark."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

#: Texts are shown as wide as this for each character, at the usual size.
LETTER = 6.6
LINE = 17


def drawing(name: str, width: int, height: float, shapes: Iterable[str], about: str) -> str:
    """Return a figure of HTML; `about` is its caption, and what a screen reader reads."""
    return "\n".join(
        [
            f'<figure class="picture" id="picture-{name}">',
            f'<svg viewBox="0 0 {width} {height:g}" role="img" aria-label="{escape(about)}">',
            *shapes,
            "</svg>",
            f"<figcaption>{escape(about)}</figcaption>",
            "</figure>",
        ]
    )


def text(x: float, y: float, words: str, kind: str = "", anchor: str = "start") -> str:
    """Return a text; its base line is at `y`, and `anchor` is start, middle or end."""
    return f'<text x="{x:g}" y="{y:g}" class="{kind}" text-anchor="{anchor}">{escape(words)}</text>'


def box(x: float, y: float, width: float, height: float, kind: str) -> str:
    """Return a rectangle with round corners; `x` and `y` are its upper left one."""
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="4" class="{kind}"/>'
    )


def line(x1: float, y1: float, x2: float, y2: float, kind: str = "line") -> str:
    """Return a straight line."""
    return f'<line x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}" class="{kind}"/>'


def dot(x: float, y: float, kind: str, radius: float = 5) -> str:
    """Return a filled circle."""
    return f'<circle cx="{x:g}" cy="{y:g}" r="{radius:g}" class="{kind}"/>'


def arrow(points: str, kind: str = "arrow") -> str:
    """Return a path with a head at its end; `points` is its `d`."""
    return f'<path d="{points}" class="{kind}" marker-end="url(#head)"/>'


#: What `arrow` ends with.
HEAD = (
    '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7"'
    ' orient="auto-start-reverse"><path d="M0 0L8 4L0 8z" class="head"/></marker></defs>'
)
