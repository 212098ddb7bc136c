"""`opcheck doctor` names what is here, and what changes verdicts or cannot be used."""

import os
import re

import pytest

from opcheck import interrupt, machine, own_memory
from opcheck.execution import checkup
from opcheck.report import checkup as report
from tests.report.made import Page
from tests.wording import lines_with


@pytest.fixture(autouse=True)
def sound_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine on which nothing looks wrong, with few backends to start."""
    monkeypatch.setattr(checkup, "has_locale", lambda: True)
    monkeypatch.setattr(checkup, "remarks", lambda *_: ())
    monkeypatch.setattr(interrupt, "load", lambda: 0.0)
    monkeypatch.setattr(own_memory, "available", lambda: 1 << 36)
    monkeypatch.setattr("opcheck.backends.offers.built_in", lambda: ("numpy", "py"))


def facts_of(output: str) -> dict[str, str]:
    """Return the facts at the head of the output by their names."""
    return dict(re.findall(r"^(\w+) {2,}(\S.*)$", output.partition("\n\n")[0], re.MULTILINE))


def test_a_sound_machine_ends_with_0_and_names_what_decides_verdicts(run) -> None:
    found = run("doctor", code=0)
    facts = facts_of(found.output)
    assert facts.keys() >= {"opcheck", "python", "packages", "instructions", "locale", "threads"}
    assert "numpy" in found.output


@pytest.mark.parametrize(
    ("what", "value"),
    [("has_locale", lambda: False), ("remarks", lambda *_: ("bfloat16 is on",))],
)
def test_what_changes_verdicts_ends_with_1(run, monkeypatch, what: str, value) -> None:
    monkeypatch.setattr(checkup, what, value)
    assert run("doctor", code=1).output.count("To look at") == 1


def test_little_memory_is_looked_at(run, monkeypatch) -> None:
    monkeypatch.setattr(own_memory, "available", lambda: 1 << 30)
    found = run("doctor", code=1).output
    assert ("1 thing to" in found, "GiB of memory:" in found) == (True, True)


def test_busy_processors_are_looked_at(run, monkeypatch) -> None:
    monkeypatch.setattr(interrupt, "load", lambda: 1e6)
    found = run("doctor", code=1).output
    assert ("1 thing to" in found, "processors busy" in found) == (True, True)


def test_a_system_that_does_not_tell_its_load_has_none(monkeypatch) -> None:
    monkeypatch.delattr(os, "getloadavg")
    assert interrupt.load() == 0


def test_settings_that_cannot_be_read_are_looked_at(run, tmp_path) -> None:
    (tmp_path / "opcheck.toml").write_text("[backends.mine]\nadress = 'numpy'\n")
    found = run("doctor", code=1)
    assert "opcheck.toml:2:1" in found.output


def test_a_backend_that_cannot_start_is_looked_at(run, tmp_path, monkeypatch, wording) -> None:
    (tmp_path / "opcheck.toml").write_text("[backends.mine]\naddress = 'py:no_such_module'\n")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    assert lines_with(run("doctor", code=1).output, "backend mine") == wording
    run("trust", code=0)
    assert lines_with(run("doctor", code=1).output, "backend mine") == wording


def test_long_lines_are_folded_below_their_beginning_on_a_terminal() -> None:
    page = Page(40, force_terminal=True)
    page.file.isatty = lambda: True
    report.show_wrong(page.console, ("a sentence " * 9,))
    lines = page.text.rstrip().splitlines()[1:]
    assert max(map(len, lines)) <= 40
    assert all(line.startswith("  ") for line in lines)
    piped = Page(40)
    report.show_wrong(piped.console, ("a sentence " * 9,))
    assert len(piped.text.rstrip().splitlines()) == 2


def test_the_locale_is_the_one_that_engines_use() -> None:
    assert machine.look()["locale"].startswith(machine.LOCALE)
