"""Charts that pages state in Mermaid's language, drawn as SVG: no script is loaded for them.

Only what the pages use is read: `flowchart TD`, boxes with a text, arrows with or without one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from docs.site import svg

_NODE = re.compile(r'(\w+)\[\(?"(.*?)"\)?\]')
_EDGE = re.compile(r"(\w+)(?:\[.*?\])? --(?: (.*?) --)?> (\w+)")
_WIDTH = 544
_BOX = 230
_PADDING = 12
#: Between the boxes of two layers; and beside them, where arrows pass layers.
_GAP = 44
_MARGIN = 32


#: How far beside an arrow its text begins or ends, if it goes to the left, down, or to the right.
_SIDES: Mapping[int, tuple[float, str]] = {-1: (-26, "end"), 0: (8, "start"), 1: (26, "start")}


@dataclass(frozen=True)
class Edge:
    """An arrow from one box to another, and the text at it."""

    source: str
    target: str
    words: str


@dataclass(frozen=True)
class Box:
    """A box's texts, and where it is drawn."""

    lines: Sequence[str]
    x: float
    y: float

    @property
    def height(self) -> float:
        """As high as its texts."""
        return len(self.lines) * svg.LINE + _PADDING

    @property
    def middle(self) -> float:
        """The middle of its width."""
        return self.x + _BOX / 2


def flowchart(text: str) -> str:
    """Return a chart as a figure of HTML."""
    nodes = {name: words.split("<br>") for name, words in _NODE.findall(text)}
    edges = [Edge(source, target, words) for source, words, target in _EDGE.findall(text)]
    boxes = _placed(nodes, _layers(nodes, edges))
    shapes = [svg.HEAD]
    shapes += [_arrow(edge, boxes) for edge in edges]
    for box in boxes.values():
        shapes.append(svg.box(box.x, box.y, _BOX, box.height, "node"))
        for number, line in enumerate(box.lines):
            y = box.y + svg.LINE * (number + 1)
            shapes.append(svg.text(box.middle, y, line, "strong" if not number else "", "middle"))
    shapes += [_words(edge, boxes) for edge in edges if edge.words]
    height = max(box.y + box.height for box in boxes.values()) + 4
    return svg.drawing("parts", _WIDTH, height, shapes, "The parts, and what goes between them.")


def _layers(nodes: Mapping[str, object], edges: Sequence[Edge]) -> Mapping[str, int]:
    """Return the layer of each box: below all that lead to it."""
    layers = dict.fromkeys(nodes, 0)
    for _ in nodes:
        for edge in edges:
            layers[edge.target] = max(layers[edge.target], layers[edge.source] + 1)
    return layers


def _placed(nodes: Mapping[str, Sequence[str]], layers: Mapping[str, int]) -> Mapping[str, Box]:
    """Return the boxes, those of a layer beside each other."""
    boxes = {}
    y = 4.0
    for layer in range(max(layers.values()) + 1):
        names = [name for name in nodes if layers[name] == layer]
        room = (_WIDTH - 2 * _MARGIN) / len(names)
        for place, name in enumerate(names):
            x = _MARGIN + room * (place + 0.5) - _BOX / 2
            boxes[name] = Box(nodes[name], x, y)
        y = max(boxes[name].y + boxes[name].height for name in names) + _GAP
    return boxes


def _arrow(edge: Edge, boxes: Mapping[str, Box]) -> str:
    """Return an arrow, straight to the next layer, else along the right side."""
    source, target = boxes[edge.source], boxes[edge.target]
    if _is_next(source, target):
        bottom = source.y + source.height
        return svg.arrow(f"M{source.middle:g} {bottom:g}L{target.middle:g} {target.y:g}")
    y1, y2 = source.y + source.height / 2, target.y + target.height / 2
    side = _WIDTH - 6
    return svg.arrow(
        f"M{source.x + _BOX:g} {y1:g}C{side:g} {y1:g} {side:g} {y1:g} {side:g} {(y1 + y2) / 2:g}"
        f"S{side:g} {y2:g} {target.x + _BOX:g} {y2:g}"
    )


def _is_next(source: Box, target: Box) -> bool:
    return target.y - (source.y + source.height) <= _GAP + svg.LINE * 2


def _words(edge: Edge, boxes: Mapping[str, Box]) -> str:
    """Return the text of an arrow, beside its middle."""
    source, target = boxes[edge.source], boxes[edge.target]
    if _is_next(source, target):
        x = (source.middle + target.middle) / 2
        y = (source.y + source.height + target.y) / 2 + 4
        slope = _sign(target.middle - source.middle)
        beside, anchor = _SIDES[slope]
        return svg.text(x + beside, y, edge.words, "soft", anchor)
    y = (source.y + source.height + target.y) / 2
    return svg.text(_WIDTH - 12, y, edge.words, "soft", "end")


def _sign(number: float) -> int:
    return (number > 0) - (number < 0)
