"""A run as workflow commands, read as GitHub's runner reads them."""

import re
from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from opcheck.model import Diagnosis, Source, Verdict
from opcheck.report import ci
from tests.report.made import record
from tests.report.runs import HOSTILE, every_verdict, hostile, run_of

COMMAND = re.compile(r"::(?P<kind>\w+) (?P<properties>[^\r\n]*?)::(?P<data>[^\r\n]*)")


def commands(run):
    """Kind, properties and message of each line, as actions/runner's ActionCommand parses it."""
    found = []
    for line in ci.github_lines(run):
        match = COMMAND.fullmatch(line)
        assert match, line
        properties = {}
        for one in match["properties"].split(","):
            name, _, value = one.partition("=")
            for code, character in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ",")):
                value = value.replace(code, character)
            properties[name] = value.replace("%25", "%")
        data = match["data"].replace("%0D", "\r").replace("%0A", "\n").replace("%25", "%")
        found.append((match["kind"], properties, data))
    return found


def test_every_verdict(snapshot):
    snapshot("github", "\n".join(ci.github_lines(run_of(*every_verdict()))) + "\n")


def test_a_failure_points_to_where_its_case_is_written(wording):
    looks = Diagnosis("a", "as if a"), Diagnosis("b", "as if b")
    source = Source("cases/a, b:c.yaml", 12, 5)
    failure = record(Verdict.FAIL, reason="100% wrong%0A%25", diagnoses=looks, source=source)
    (kind, properties, data), last = commands(run_of(failure))
    assert kind == "error"
    title = f"FAIL acme: {failure.case}~0"
    assert properties == {"file": "cases/a, b:c.yaml", "line": "12", "col": "5", "title": title}
    assert data.splitlines() == ["100% wrong%0A%25", wording, f"repeat: {failure.repeat}"]
    assert last == ("notice", {"title": "opcheck"}, wording)


def test_a_shipped_case_has_no_file_in_the_repository_of_the_workflow():
    source = Source("cases/onnx/softmax.yaml", 12, 5, shipped=True)
    failure = record(Verdict.FAIL, source=source)
    (_, properties, data), _ = commands(run_of(failure))
    assert properties.keys() == {"title"}
    assert "opcheck show" in data


def test_a_path_is_relative_to_the_folder_of_the_workflow(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    inside = Source(str(tmp_path / "x" / "y.yaml"), 1, 1)
    outside = Source("/elsewhere/y.yaml", 1, 1)
    run = run_of(record(Verdict.FAIL, source=inside), record(Verdict.FAIL, source=outside))
    files = [properties.get("file") for _, properties, _ in commands(run)]
    assert files == ["x/y.yaml", "/elsewhere/y.yaml", None]


def test_of_many_failures_ten_are_shown_and_the_rest_counted(wording):
    *errors, last = commands(run_of(*(record(Verdict.FAIL) for _ in range(37))))
    assert [kind for kind, _, _ in errors] == ["error"] * 10
    assert last[0] == "notice"
    assert last[2] == wording
    assert "more" not in commands(run_of(*(record(Verdict.FAIL) for _ in range(10))))[-1][2]


def test_each_cause_has_an_annotation_before_one_has_two():
    looks = [Diagnosis(name, name) for name in (*["mine"] * 20, "other")]
    failures = [record(Verdict.FAIL, diagnoses=(look,)) for look in looks]
    *errors, _ = commands(run_of(*failures))
    causes = [re.search("likely cause: (\\w+)", text)[1] for _, _, text in errors]
    assert causes == ["mine", "other", *["mine"] * 8]


def test_a_green_run_has_a_notice(wording):
    green = [record(), record(Verdict.KNOWN), record(Verdict.WARN), record(Verdict.UNSUPPORTED)]
    [(kind, _, data)] = commands(run_of(*green))
    assert kind == "notice"
    assert data == wording


def test_warnings_are_errors_under_strict():
    run = run_of(record(Verdict.WARN))
    strict = replace(run, header=replace(run.header, strict=True))
    assert [kind for kind, _, _ in commands(strict)] == ["error", "notice"]


@pytest.mark.parametrize(
    "run",
    [
        run_of(record(), cases=5),
        run_of(record(Verdict.UNSUPPORTED)),
        run_of(record(Verdict.NOT_RUN)),
        run_of(backends=["acme"]),
    ],
)
def test_a_run_that_is_red_without_a_failure_has_an_error(run):
    [(kind, _, _)] = commands(run)
    assert kind == "error"


@pytest.mark.parametrize("text", HOSTILE)
def test_whatever_a_backend_says_is_no_command(text):
    found = commands(hostile(text))
    assert [kind for kind, _, _ in found] == ["error"] * 9 + ["notice"]
    for kind, properties, _ in found:
        assert set(properties) == {"title", *(("file", "line", "col") if kind == "error" else ())}


@given(st.text(min_size=1, max_size=30))
def test_any_text_stays_in_its_place(text):
    assert len(commands(hostile(text))) == 10
