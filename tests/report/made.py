"""Cases and results made by hand, and a console to print them on."""

import io
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from rich.console import Console

from opcheck import model
from opcheck.dtypes import DTYPES
from opcheck.errors import CaseFileError, Exit
from opcheck.model import BackendInfo, Case, Comparison, Given, Header, LiveResult, Record, Verdict
from opcheck.report.formatting import Recorder

CASE = Case(
    id="Hardmax/first_of_ties@dtype=float32#axis_0",
    name="first_of_ties",
    row="axis_0",
    op=model.OpVersion("", "Hardmax", 13),
    opset=13,
    dtype=DTYPES["float32"],
    attrs={"axis": 0},
    inputs=(
        model.TensorSpec("input", DTYPES["float32"], (2, 2), Given(np.array([[3.0, 3], [3, 0.5]]))),
    ),
    slots=("input",),
    outputs=(model.OutputSpec("output", DTYPES["float32"]),),
    expect=model.Values(()),
    tolerance=None,
    rule="must",
    level="core",
    clause="1 if the element is the first maximum value, 0 otherwise",
    source=model.Source("my/ties.yaml", 7, 3),
)


def result(verdict: Verdict = Verdict.PASS, backend: str = "acme", **fields: Any) -> LiveResult:
    """A result; `name`, `op`, `rule`, `source` … are fields of its case."""
    of_case = {key: fields.pop(key) for key in list(fields) if key in Case.__dataclass_fields__}
    return LiveResult(replace(CASE, **of_case), backend, verdict, **fields)


def recorded(answer: LiveResult, place: int = 0) -> Record:
    """The record of a result, whose case stands at this place."""
    return replace(Recorder([answer.case]).record(answer), place=place)


def record(verdict: Verdict = Verdict.PASS, backend: str = "acme", **fields: Any) -> Record:
    """The record of a result, as `result` makes it."""
    place = fields.pop("place", 0)
    return recorded(result(verdict, backend, **fields), place)


def header(*backends: str, cases: int = 1) -> Header:
    """A run of `cases` on backends of version 1.5."""
    environment = model.Environment("0.0", "3.11", "somewhere", {"numpy": "2.0"})
    infos = tuple(BackendInfo(address, address, "1.5") for address in backends)
    started = "2031-02-03T04:05:06+00:00"
    return Header(environment, infos, "level core", cases, model.Suite("5eed", cases), started)


def wrong_values(dtype, *worst: model.Mismatch, wrong: int, total: int, where: str) -> Comparison:
    """A comparison with wrong elements."""
    fields: Any = {"wrong": wrong, "total": total, "used": np.inf, "where": where, "worst": worst}
    return Comparison("output", "values", dtype=DTYPES[dtype], **fields)


class Page:
    """A console without colours whose text can be read."""

    def __init__(self, width: int, **settings: Any) -> None:
        self.file = io.StringIO()
        settings = {"color_system": None, "highlight": False, "markup": False} | settings
        self.console = Console(file=self.file, width=width, **settings)

    @property
    def text(self) -> str:
        """Everything printed so far."""
        return self.file.getvalue()

    @property
    def lines(self) -> list[str]:
        """The same, line by line."""
        return self.text.splitlines()


def page_of(show: Callable[..., None], *what: Any, width: int = 80, **named: Any) -> Page:
    """What `show` writes on a page of this width."""
    page = Page(width)
    show(page.console, *what, **named)
    return page


def with_label(lines: Iterable[str], label: str) -> str:
    """The text behind `label` in the report of a failure."""
    return next(line[10:] for line in lines if line.startswith(f"  {label} "))


def changed(lines: Sequence[str], number: int, path: Sequence[str | int], value) -> list[str]:
    """The lines, with one thing in one of them changed."""
    fields = here = json.loads(lines[number - 1])
    for step in path[:-1]:
        here = here[step]
    here[path[-1]] = value
    return [*lines[: number - 1], json.dumps(fields), *lines[number:]]


def complaint(read: Callable[[Path], Any], path: Path) -> list[str]:
    """What is said when a file cannot be read, without its name."""
    with pytest.raises(CaseFileError) as caught:
        read(path)
    assert caught.value.exit_code == Exit.USAGE
    return [str(problem).removeprefix(str(path)) for problem in caught.value.problems]


def unless_refused(read: Callable[[Path], Any], folder: Any, data: bytes) -> Any:
    """What is read of a file with these bytes; None if it is refused."""
    path = folder.getbasetemp() / "garbage"
    path.write_bytes(data)
    try:
        return read(path)
    except CaseFileError:
        return None


def strict(line: str) -> Any:
    """The line read by a reader that knows JSON and nothing more."""

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is no JSON")

    assert "\n" not in line
    assert line.isascii()
    return json.loads(line, parse_constant=refuse)


def damaged(whole: bytes) -> st.SearchStrategy[bytes]:
    """The bytes, some of which are gone, or others."""
    return st.builds(
        lambda place, length, new: whole[:place] + new + whole[place + length :],
        st.integers(0, len(whole) - 1),
        st.integers(0, 12),
        st.binary(max_size=8) | st.sampled_from([b"1e400", b"null", b"-0", b'"', b"[", b"\xff"]),
    )
