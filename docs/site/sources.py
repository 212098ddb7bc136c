"""The folder that Sphinx makes the site of: pages of the repository, and generated ones.

Links between pages stay as they are. A link to a file that is not a page leads to a copy of the
file. One to a folder, or to a page that is left out, becomes its words.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath

from docs.site import figures, layout

ROOT = Path(__file__).parents[2]
#: Blocks of code, in which nothing is a link.
_FENCE = re.compile(r"^(`{3,})[^\n]*\n.*?^\1`*[ \t]*$", re.DOTALL | re.MULTILINE)
_WORDS = r"(?:\\.|[^\[\]\\])*"
_LINK = re.compile(rf"(!?\[{_WORDS}(?:\[{_WORDS}\]{_WORDS})*\])\(([^)\s]+)\)")
_ABROAD = re.compile(r"[a-z]+:")
#: Where a page has a picture that the site draws.
_PICTURE = re.compile(r"^<!-- picture: (\w+) -->$", re.MULTILINE)
_CHART = re.compile(r"^```mermaid\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_ORPHAN = "---\norphan: true\nnosearch: true\n---\n"


def write(folder: Path, generated: Mapping[str, str], reports: Collection[str]) -> int:
    """Write the sources into a new folder; return the number of pages.

    `generated` are pages that the repository does not have, by path. `reports` are the pages of
    defects that the site has, by path in the repository.
    """
    shutil.rmtree(folder, ignore_errors=True)
    stored = dict(repository_pages(reports))
    names = {*stored, *generated}
    files: set[str] = set()
    pages = {path: converted(text, path, names, files.add) for path, text in stored.items()}
    pages |= generated
    for path, text in pages.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    for file in files:
        target = folder / file
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / file, target)
    return len(pages)


def repository_pages(reports: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield the path and the text of each page that the repository has."""
    yield f"{layout.HOME}.md", home()
    for section in layout.SECTIONS:
        for page in section.pages:
            file = ROOT / f"{page}.md"
            if file.exists():
                yield f"{page}.md", file.read_text(encoding="utf-8")
    for path in reports:
        yield path, _ORPHAN + (ROOT / path).read_text(encoding="utf-8")


def home() -> str:
    """Return the first page, with the navigation of all others."""
    text = (Path(__file__).parent / "home.md").read_text(encoding="utf-8")
    return "\n".join([text, *layout.navigation()]) + "\n"


def converted(
    text: str, path: str, pages: Collection[str], needs_file: Callable[[str], None]
) -> str:
    """Return a page with its links and pictures as the site has them.

    `path` is the page's own, in the repository as in the site. `needs_file` is called with each
    file of the repository that a link leads to.
    """
    text = _PICTURE.sub(lambda found: figures.picture(found[1]), text)
    text = _CHART.sub(lambda found: figures.flowchart(found[1]), text)

    def link(found: re.Match[str]) -> str:
        return _link(found[1], found[2], path, pages, needs_file)

    done = []
    at = 0
    for fence in _FENCE.finditer(text):
        done += [_LINK.sub(link, text[at : fence.start()]), fence[0]]
        at = fence.end()
    return "".join([*done, _LINK.sub(link, text[at:])])


def _link(
    shown: str, target: str, path: str, pages: Collection[str], needs_file: Callable[[str], None]
) -> str:
    """Return a link of the page at `path` as the site has it; `shown` is its text in brackets."""
    name = target.partition("#")[0]
    if not name or _ABROAD.match(target):
        return f"{shown}({target})"
    meant = _normal(PurePosixPath(path).parent / name)
    if meant in layout.MOVED:
        return f"{shown}({_relative(layout.MOVED[meant], path)})"
    if meant in pages:
        return f"{shown}({target})"
    if f"{meant}/README.md" in pages:
        return f"{shown}({name.rstrip('/')}/README.md)"
    words = shown[1:-1]
    if (ROOT / meant).is_dir():
        return words if meant in words else f"{words} (`{meant}`)"
    if (ROOT / meant).is_file() and meant.endswith(".md"):
        return words
    if (ROOT / meant).is_file():
        needs_file(meant)
        return f"{shown}({name})"
    raise FileNotFoundError(f"{path}: the link to {target} leads nowhere")


def _normal(path: PurePosixPath) -> str:
    return os.path.normpath(path)


def _relative(target: str, page: str) -> str:
    """Return the link to a page from another one; both are paths from the top."""
    return os.path.relpath(target, PurePosixPath(page).parent)
