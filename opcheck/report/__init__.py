"""Renderings of results, which know nothing of how these came about; files, and their formats."""

import importlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from opcheck.errors import Unwritable, writing

if TYPE_CHECKING:
    from opcheck.model import Run

#: The formats of a run, with a line for `--help`, which imports no format.
FORMATS: Mapping[str, str] = {
    "json": "the run itself, for opcheck's report, diff and merge",
    "junit": "JUnit's XML, for CI systems",
    "markdown": "a page for job summaries and pull requests",
    "html": "one page for a browser, with filters and pictures",
    "github": "annotations of GitHub's workflows",
}

#: The formats of a benchmark, with a line for `--help`.
BENCH_FORMATS: Mapping[str, str] = {
    "csv": "a line for each backend and case, for spreadsheets",
    "markdown": "a table for job summaries and pull requests",
}


def why_no_report(path: Path) -> str | None:
    """Return why no report of a run has this name, None if one may."""
    # A report in the place of a file that runs read would be the end of it.
    is_input = path.suffix.lower() in (".yaml", ".yml", ".onnx", ".pb", ".npy", ".py")
    return f"no report has a name in {path.suffix}, as files that are read" if is_input else None


def write_text(path: Path, text: str) -> None:
    """Write all of the text, or nothing, to a file, or write to a device. Raises Unwritable."""
    try:
        with writing(path):
            whole = path.resolve()
            if whole.exists() and not whole.is_file():
                whole.write_text(text, encoding="utf-8", newline="\n")
                return
            part = whole.with_name(f"{whole.name}.part")
            try:
                part.write_text(text, encoding="utf-8", newline="\n")
                part.replace(whole)
            except OSError:  # as of a full disk
                part.unlink(missing_ok=True)
                raise
    except RuntimeError as error:  # of links that lead in a circle
        raise Unwritable(path, OSError(str(error))) from None


def lines(name: str, run: "Run") -> Iterator[str]:
    """The run in the format of this name: the lines of a file, without their ends."""
    places = {"json": "store", "html": "html.run_page", "junit": "ci", "github": "ci"}
    module = importlib.import_module(f"opcheck.report.{places.get(name, name)}")
    rendered: Iterator[str] = (getattr(module, "lines", None) or getattr(module, f"{name}_lines"))(
        run
    )
    return rendered
