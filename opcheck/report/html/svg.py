"""Matplotlib's SVG, made small: a page has hundreds. Its colours are those of the page's theme."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from xml.etree import ElementTree as xml

_SVG = "{http://www.w3.org/2000/svg}"
_LINK = "{http://www.w3.org/1999/xlink}href"
#: What a plot is drawn in, and the page's variable for it. No plot has these colours by itself.
COLOURS = {
    "--ink": "#010203",
    "--soft": "#010204",
    "--line": "#010205",
    "--accent": "#010206",
    "--wrong": "#010207",
    "--series-0": "#010210",
    "--series-1": "#010211",
    "--series-2": "#010212",
    "--series-3": "#010213",
    "--series-4": "#010214",
    "--series-5": "#010215",
}
_VARIABLES = {colour: f"var({name})" for name, colour in COLOURS.items()}
_COLOUR = re.compile("|".join(_VARIABLES))
_NUMBER = re.compile(r"-?\d+\.\d+")
#: Said of everything in a page's style, or what is so anyway.
_SAID_ELSEWHERE = {
    *("font-family", "font-size", "font"),
    *("stroke-linejoin", "stroke-linecap", "image-rendering"),
}
_NO_ROTATION = re.compile(r"rotate\(-?0(\.0+)? .*\)")


@dataclass(frozen=True)
class Drawing:
    """What stands inside an `<svg>` of this size, in points."""

    width: float
    height: float
    inside: str


def compact(drawn: str) -> Drawing:
    """The drawing without names, groups, fonts and needless digits.

    Without names, because all drawings of a page are in one document; nothing may be clipped.
    """
    root = xml.fromstring(drawn)
    _, _, width, height = map(float, root.attrib["viewBox"].split())
    markers = {f"#{one.get('id')}": one for one in root.iter(f"{_SVG}path") if one.get("id")}
    inside = "".join(xml.tostring(one, encoding="unicode") for one in _flat(root, markers))
    return Drawing(width, height, inside.replace(" />", "/>"))


def _flat(parent: xml.Element, markers: Mapping[str, xml.Element]) -> list[xml.Element]:
    found: list[xml.Element] = []
    for one in parent:
        match one.tag.removeprefix(_SVG):
            case "g":
                found += _flat(one, markers)
            case "use":
                found.append(_marker(one, markers[one.attrib[_LINK]]))
            case "path" | "text" | "image" as kind:
                found.append(_small(kind, one))
    return found


def _marker(use: xml.Element, of: xml.Element) -> xml.Element:
    """A marker as a path of its own, where it is used."""
    small = _small("path", of)
    _restyle(small, use.attrib.get("style", ""))
    place = _short(f"{use.attrib['x']} {use.attrib['y']}")
    small.set("transform", f"translate({place})")
    return small


def _small(kind: str, one: xml.Element) -> xml.Element:
    small = xml.Element(kind)
    small.text = one.text.strip() if one.text else None
    for name, value in one.attrib.items():
        match name:
            case "id" | "clip-path":
                pass
            case "style":
                _restyle(small, value)
            case "transform" if _NO_ROTATION.fullmatch(value):
                pass
            case "transform" if kind == "image":
                small.set(name, value)
            case _ if name == _LINK:
                small.set("href", "".join(value.split()))
            case _:
                small.set(name, _short(value))
    return small


def _restyle(small: xml.Element, style: str) -> None:
    """As attributes where they may be, because styles need more characters."""
    kept = []
    for rule in filter(None, (part.strip() for part in style.split(";"))):
        name, value = (part.strip() for part in rule.split(":", 1))
        if name in _SAID_ELSEWHERE:
            continue
        if _COLOUR.search(value):
            kept.append(f"{name}:{_COLOUR.sub(lambda found: _VARIABLES[found[0]], value)}")
        else:
            small.set(name, _short(value))
    if kept:
        small.set("style", ";".join(kept))


def _short(value: str) -> str:
    """A tenth of a point is as much as anybody sees."""
    rounded = _NUMBER.sub(lambda found: f"{float(found[0]):.1f}".removesuffix(".0"), value)
    return re.sub(r"\s*([MLz])\s*", r"\1", " ".join(rounded.split()))
