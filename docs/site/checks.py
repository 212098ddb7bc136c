"""What must hold of the built site: links lead somewhere, and nothing is loaded from elsewhere."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

#: What a browser loads with a page, by element and attribute.
_LOADED = {("script", "src"), ("img", "src"), ("source", "src"), ("iframe", "src")}
#: Uses of `link` that load nothing.
_ONLY_NAMED = {"canonical", "next", "prev", "index", "search", "author"}
_URL_OF_STYLE = re.compile(r"(?:url\(|@import)\s*['\"]?(https?:)?//")


@dataclass
class Page(HTMLParser):
    """The anchors of a page, the links from it, and what a browser loads with it."""

    anchors: set[str] = field(default_factory=set)
    links: set[str] = field(default_factory=set)
    loaded: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what an element has."""
        values = {name: value for name, value in attrs if value}
        self.anchors.update(values[name] for name in ("id", "name") if name in values)
        if tag == "a" and "href" in values:
            self.links.add(values["href"])
        if tag == "link" and values.get("rel") not in _ONLY_NAMED:
            self.loaded.add(values.get("href", ""))
        self.loaded.update(value for name, value in values.items() if (tag, name) in _LOADED)


def read(file: Path) -> Page:
    """Return what a file of HTML has."""
    page = Page()
    page.feed(file.read_text(encoding="utf-8"))
    return page


def problems(folder: Path) -> Iterator[str]:
    """Yield each link of the site that leads nowhere, and each file loaded from elsewhere."""
    pages = {file: read(file) for file in sorted(folder.rglob("*.html"))}
    for file, page in pages.items():
        name = file.relative_to(folder)
        for link in sorted(page.links):
            if not _leads_somewhere(link, file, pages):
                yield f"{name}: the link {link} leads nowhere"
        for address in _foreign(page.loaded):
            yield f"{name}: {address} is loaded from elsewhere"
    for style in sorted(folder.rglob("*.css")):
        if _URL_OF_STYLE.search(style.read_text(encoding="utf-8")):
            yield f"{style.relative_to(folder)}: it loads something from elsewhere"


def _leads_somewhere(link: str, file: Path, pages: dict[Path, Page]) -> bool:
    """Return True if a link of a file leads to another site, a file, or an anchor that exists."""
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return True
    target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
    if not parts.fragment or target not in pages:
        return target.exists()
    return unquote(parts.fragment) in pages[target].anchors


def _foreign(addresses: Iterable[str]) -> list[str]:
    """Return the addresses that are of another site."""
    return sorted(one for one in addresses if urlsplit(one).netloc)
