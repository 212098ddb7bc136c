"""`opcheck run` on backends in processes of their own: what a user sees when they misbehave."""

import json
import shlex
import time

import pytest

from tests.cli.conftest import notes
from tests.cli.fakes import RUNNING
from tests.wording import lines_with

SLOW, UNSTEADY, DIES, GREEDY = (
    f"py:tests.cli.fakes:{name}" for name in ("SLOW", "UNSTEADY", "DIES", "GREEDY")
)

CASES = """\
op: Hardmax
opset: 13
dtype: float32
inputs: {input: [[1, 2], [3, 4]]}
cases:
- {name: first, attrs: {axis: 0}}
- {name: second, attrs: {axis: 1}}
- {name: third, attrs: {axis: 0}}
"""


BUILD = """\
import numpy as np

class Acme:
    version = "1"

    def prepare(self, task):
        self.axis = task.attrs["axis"]
        return self

    def run(self, inputs):
        (x,) = inputs
        out = np.zeros_like(x)
        np.put_along_axis(out, np.expand_dims(x.argmax(AXIS), AXIS), 1, AXIS)
        return [out]
"""
pytestmark = [pytest.mark.usefixtures("cases"), pytest.mark.processes]


def reports(text):
    """The reports of failures, line by line, by the name of the case."""
    found = [part.splitlines() for part in text.split("\n\n") if "\n  repeat  " in part]
    return {lines[0].split("Hardmax/")[1]: lines for lines in found}


def test_a_crash_is_a_verdict_with_the_last_words_and_the_run_goes_on(run, wording):
    found = run("run", "cases.yaml", "-b", DIES, code=1)
    [(name, lines)] = reports(found.stdout).items()
    assert (name, lines[0].split()[0]) == ("second", "CRASH")
    assert any(line.startswith("  found   killed by SIGABRT") for line in lines)
    assert lines_with(lines, "printed the last") == wording
    assert found.stdout.splitlines()[-1] == wording
    assert notes(found) == ""
    again = run(*shlex.split(lines[-1].removeprefix("  repeat  "))[1:], code=1)
    assert reports(again.stdout)["second"][0] == lines[0]


def test_a_backend_that_hangs_is_stopped_by_the_time_the_user_allows(run, wording):
    started = time.monotonic()
    found = run("run", "cases.yaml", "-b", SLOW, "--timeout", "0.7", code=1)
    assert time.monotonic() - started < 25
    [(name, lines)] = reports(found.stdout).items()
    assert (name, lines[0].split()[0]) == ("second", "TIMEOUT")
    assert lines_with(lines, "found   no answer") == wording
    assert "  printed running" in lines


def test_or_by_that_of_the_case_if_it_needs_more(run, tmp_path, wording):
    text = CASES.replace("second,", "second, timeout: 0.9,").replace("third,", "third, timeout: 9,")
    (tmp_path / "cases.yaml").write_text(text)
    found = run("run", "cases.yaml", "-b", SLOW, "--timeout", "0.7", code=1)
    assert lines_with(found.stdout, "no answer within 0.9") == wording
    assert found.stdout.splitlines()[-1] == wording


def test_a_profile_says_how_its_backend_is_treated_unless_the_command_line_does(
    run, tmp_path, wording
):
    mark = tmp_path / "mark"
    (tmp_path / "opcheck.toml").write_text(
        f'[backends.mine]\naddress = "{SLOW}"\ntimeout = 0.5\n'
        f'environment = {{ {RUNNING} = "{mark}" }}\n'
    )
    found = run("run", "cases.yaml", "-b", "mine", "-k", "second", code=1)
    assert lines_with(found.stdout, "no answer within 0.5") == wording
    assert mark.exists()
    found = run("run", "cases.yaml", "-b", "mine", "-k", "second", "--timeout", "0.6")
    assert lines_with(found.stdout, "no answer within 0.6") == wording


def test_a_profile_s_pythonpath_takes_the_place_of_the_shell_s(run, tmp_path, monkeypatch):
    for build, axis in (("good", "self.axis"), ("new", "0")):
        (tmp_path / build).mkdir()
        (tmp_path / build / "acme.py").write_text(BUILD.replace("AXIS", axis))
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "good"))
    monkeypatch.syspath_prepend(tmp_path / "good")
    assert run("run", "cases.yaml", "-b", "py:acme:Acme").exit_code == 0
    for build, code in (("good", 0), ("new", 1), ("empty", 2)):
        (tmp_path / "opcheck.toml").write_text(
            '[backends.mine]\naddress = "py:acme:Acme"\n'
            f'environment = {{PYTHONPATH = "{tmp_path / build}"}}\n'
        )
        assert run("run", "cases.yaml", "-b", "mine").exit_code == code


def test_a_backend_that_takes_too_much_memory_is_stopped(run, wording):
    found = run("run", "cases.yaml", "-b", GREEDY, "--memory-limit", "400MiB", code=1)
    [(name, lines)] = reports(found.stdout).items()
    assert (name, lines[0].split()[0]) == ("second", "OOM")
    assert lines_with(lines, "found   took more") == wording
    assert run("run", "cases.yaml", "-b", GREEDY, "--memory-limit", "4GiB").exit_code == 0


def test_the_first_failure_is_that_of_the_first_case_though_others_come_sooner(run, tmp_path):
    changed = CASES.replace("axis: 0}}\n- {name: s", "axis: 1}}\n- {name: s")
    (tmp_path / "cases.yaml").write_text(changed)
    found = run("run", "cases.yaml", "-b", UNSTEADY, "-j", "3", "-x", code=1)
    assert list(reports(found.stdout)) == ["first"]
    assert "INCOMPLETE: 1 of 3 results" in found.stdout


def test_what_a_backend_prints_is_shown_with_its_failures_and_stored(run):
    found = run("run", "cases.yaml", "-b", UNSTEADY, "-vv")
    told = "beg your pardon"
    for lines in reports(found.stdout).values():
        assert sum(line.startswith("  printed I beg") for line in lines) == 1
    found = run("run", "cases.yaml", "-b", UNSTEADY, "--format", "json")
    _, *records, _ = map(json.loads, found.stdout.splitlines())
    assert {record["printed"].count(told) for record in records} == {3}


def test_a_backend_that_dies_at_start_is_told_once(run, tmp_path, wording):
    (tmp_path / "doomed.py").write_text("import os; print('no device', flush=True); os._exit(3)")
    found = run("run", "cases.yaml", "-b", "py:doomed:Backend", "-b", SLOW, code=4)
    assert found.stdout == ""
    assert found.stderr.count("no device") == 1
    assert notes(found) == wording
    assert "exited with status 3" in found.stderr


def test_several_that_cannot_be_used_are_told_at_once(run, tmp_path):
    (tmp_path / "doomed.py").write_text("import os; os._exit(3)")
    (tmp_path / "broken.py").write_text("import no_such_driver")
    found = run("run", "cases.yaml", "-b", "py:doomed:Backend", "-b", "py:broken:Backend", code=4)
    assert "py:doomed:Backend" in found.stderr
    assert "no_such_driver" in found.stderr
