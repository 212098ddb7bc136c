"""Pages as a reader that is not ours sees them."""

import json
import re
from html.parser import HTMLParser
from typing import Any

#: Elements that are no text of the page.
_SILENT = {"script", "style", "title"}


class Seen(HTMLParser):
    """The elements of a page with their attributes, and its text without that of scripts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self._silent = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag in _SILENT:
            self._silent = tag

    def handle_endtag(self, tag: str) -> None:
        if tag == self._silent:
            self._silent = ""

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self.text += data

    def all(self, tag: str, of_class: str = "") -> list[dict[str, str | None]]:
        """The attributes of all elements of a tag, and of a class if one is named."""
        return [
            attrs
            for name, attrs in self.elements
            if name == tag and of_class in ["", *(attrs.get("class") or "").split()]
        ]


def data_of(page: str) -> list[dict[str, Any]]:
    """The rows of the list of all results, texts in place of their numbers."""
    (found,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page)
    data = json.loads(found)
    return [
        {
            name.removeprefix("$"): data["texts"][value] if name.startswith("$") else value
            for name, value in zip(data["columns"], row, strict=True)
        }
        for row in data["results"]
    ]
