"""Stored runs of every format that was ever written are read, and those of formats to come."""

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner

import opcheck
from opcheck.cli.group import program
from opcheck.errors import CaseFileError
from opcheck.model import Verdict
from opcheck.report import store
from tests.expecting import error_of
from tests.report.made import changed
from tests.report.runs import every_verdict, run_of

FOLDER = Path(__file__).parent / "stored_formats"
FILES = sorted(FOLDER.glob("*.jsonl"))
LATER = FOLDER / "4-later.jsonl"
LINES = (FOLDER / "4.jsonl").read_text("utf-8").splitlines()
SCHEMA = jsonschema.Draft202012Validator(store.json_schema())


def read(lines: list[str]) -> Any:
    return store.read(Path("run.jsonl"), io.BytesIO("\n".join(lines).encode()))


def refusal(lines: list[str]) -> str:
    (problem,) = error_of(CaseFileError, read, lines).problems
    return str(problem)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_run_of_every_format_is_read_with_its_verdicts(path):
    run = store.read(path)
    assert run.complete
    # By hand from what each release printed: three of four axes fail as the ledger lists it.
    verdicts = [(record.backend, record.verdict) for record in run.records]
    assert verdicts.count(("onnxruntime", Verdict.PASS)) == 4
    assert verdicts.count(("reference", Verdict.KNOWN)) == 3
    assert verdicts.count(("reference", Verdict.PASS)) == 1
    assert [record.place for record in run.records] == [0, 0, 1, 1, 2, 2, 3, 3]
    assert all(record.found is Verdict.FAIL for record in run.records if record.known)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_what_is_read_of_any_format_is_written_in_the_format_of_today(path):
    run = store.read(path)
    again = read([*store.lines(run)])
    assert again == run
    assert again.left_out == ()


def test_there_is_a_file_of_every_format():
    formats = {json.loads(path.read_text("utf-8").splitlines()[0])["format"] for path in FILES}
    assert formats == {*range(1, store.FORMAT + 1)}


def test_fields_that_decide_nothing_are_ignored_and_named_once():
    run = store.read(LATER)
    assert run == store.read(FOLDER / "4.jsonl")
    assert run.left_out == (
        "footer.cpu_seconds",
        "header.backends.driver",
        "header.host",
        "result.comparisons.worst.lane",
        "result.peak_memory",
    )


def test_the_command_names_ignored_fields_on_one_line(wording):
    found = CliRunner().invoke(program, ["report", str(LATER)])
    assert found.exit_code == 0
    (said,) = [line for line in found.stderr.splitlines() if "result.peak_memory" in line]
    assert said == wording
    assert CliRunner().invoke(program, ["report", str(FOLDER / "4.jsonl")]).stderr == ""


def test_python_is_warned_of_ignored_fields():
    with pytest.warns(UserWarning, match=r"result\.peak_memory"):
        opcheck.read(LATER)


@pytest.mark.parametrize(
    ("number", "path"),
    [
        (1, ("peak_memory",)),
        (1, ("backends", 0, "peak_memory")),
        (2, ("peak_memory",)),
        (3, ("comparisons", 0, "peak_memory")),
        (10, ("peak_memory",)),
    ],
)
def test_a_field_that_no_header_marks_may_decide_and_is_refused(number, path):
    assert f"run.jsonl:{number}:1: " in refusal(changed(LINES, number, path, 1))
    marked = changed(LINES, 1, ("not_deciding",), ["result.other", "header.other"])
    assert f"run.jsonl:{number}:1: " in refusal(changed(marked, number, path, 1))


def test_a_mark_frees_no_other_field_of_the_line():
    lines = LATER.read_text("utf-8").splitlines()
    assert "run.jsonl:3:1: weight: " in refusal(changed(lines, 3, ("weight",), 1))


@pytest.mark.parametrize(
    ("path", "value"),
    [(("verdict",), "excused"), (("failure",), "slow"), (("type",), "note"), (("rule",), "may")],
)
def test_an_unknown_verdict_failure_or_type_of_line_is_refused_whatever_is_marked(path, value):
    marked = changed(LINES, 1, ("not_deciding",), ["result.verdict", "result.failure"])
    assert "run.jsonl:2:1: " in refusal(changed(marked, 2, path, value))


def test_a_known_field_is_read_even_if_it_is_marked():
    marked = changed(LINES, 1, ("not_deciding",), ["result.verdict", "result.printed"])
    assert read(marked) == read(LINES)
    assert read(marked).left_out == ()


@pytest.mark.parametrize("format", [0, -1, store.FORMAT + 1])
def test_another_format_is_refused(format, wording):
    assert refusal(changed(LINES, 1, ("format",), format)) == wording


@pytest.mark.parametrize("kind", ["header", "result", "footer"])
def test_a_file_of_today_has_every_field_of_today(kind):
    """Only files of earlier formats lack fields: elsewhere one is lost."""
    number = {"header": 1, "result": 2, "footer": 10}[kind]
    for names in store.ADDED[kind].values():
        for name in names.split():
            fields = json.loads(LINES[number - 1])
            del fields[name]
            lines = [*LINES[: number - 1], json.dumps(fields), *LINES[number:]]
            assert f"run.jsonl:{number}:1: {name}: " in refusal(lines)


#: Fields of every kind of object, taken for ones that a minor format has just added: the path, the
#: line that has it in `4.jsonl`, and the default of its class.
JUST_ADDED = [
    ("header.seed", 1, None),
    ("header.environment.packages", 1, {}),
    ("result.printed", 3, ""),
    ("result.comparisons.remark", 3, ""),
    ("result.comparisons.picture.unordered", 3, 0),
    ("footer.partings", 10, ()),
]


@pytest.fixture
def just_added(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Makes the reader one whose opcheck has just added these fields."""
    added = (path for path, _, _ in JUST_ADDED)
    monkeypatch.setattr(store, "NOT_DECIDING", [*store.NOT_DECIDING, *added])
    store._RunReading.types.cache_clear()
    yield
    store._RunReading.types.cache_clear()


def without(number: int, path: str) -> list[str]:
    """Return the lines without one field, as an opcheck wrote them that did not have it."""
    fields = inner = json.loads(LINES[number - 1])
    _, *parents, name = path.split(".")
    for parent in parents:
        inner = inner[parent]
        inner = inner[0] if isinstance(inner, list) else inner
    del inner[name]
    return [*LINES[: number - 1], json.dumps(fields), *LINES[number:]]


def value_at(value: Any, path: str) -> Any:
    """Return a field of a line's object; of a tuple on the way, that of its first item."""
    for name in path.split(".")[1:]:
        value = getattr(value[0] if isinstance(value, tuple) else value, name)
    return value


@pytest.mark.usefixtures("just_added")
@pytest.mark.parametrize(("path", "number", "default"), JUST_ADDED)
def test_a_file_from_before_a_field_that_decides_nothing_has_its_default(path, number, default):
    run = read(without(number, path))
    line = {1: run.header, 3: run.records[1], 10: run.ending}[number]
    assert value_at(line, path) == default


@pytest.mark.usefixtures("just_added")
def test_only_fields_that_decide_nothing_may_be_missing():
    assert "run.jsonl:3:1: reason: " in refusal(without(3, "result.reason"))


def test_the_schema_is_that_of_every_line_that_is_written():
    for line in [*LINES, *store.lines(run_of(*every_verdict()))]:
        SCHEMA.validate(json.loads(line))


@pytest.mark.parametrize(
    ("number", "path", "value"),
    [
        (1, ("suite", "cases"), "4"),
        (1, ("more",), 1),
        (2, ("verdict",), "excused"),
        (2, ("type",), "note"),
        (2, ("used",), "infinite"),
        (3, ("comparisons", 0, "more"), 1),
        (10, ("complete",), 1),
    ],
)
def test_the_schema_refuses_what_the_reader_refuses(number, path, value):
    lines = changed(LINES, number, path, value)
    assert refusal(lines)
    assert not SCHEMA.is_valid(json.loads(lines[number - 1]))
