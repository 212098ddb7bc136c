from pathlib import Path

import pytest

from opcheck.backends.adapters import cmd
from opcheck.backends.adapters.cmd import connect
from opcheck.errors import BackendUnavailable, OpcheckError, UsageError
from opcheck.model import BackendInfo
from tests.backends.runners.programs import one_shot, persistent
from tests.expecting import error_of
from tests.wording import Wording


# What the two kinds of programs do is in tests/backends/runners.
def refusal(command: str | None, kind: type[OpcheckError] = UsageError) -> OpcheckError:
    error = error_of(kind, connect, command, {})
    assert type(error) is kind
    return error


def test_with_all_placeholders_it_is_run_for_each_case_and_not_before(tmp_path: Path) -> None:
    command = one_shot(tmp_path, "(Path(__file__).parent / 'ran').touch()")
    assert connect(command, {}).info == BackendInfo(f"cmd:{command}", "cmd", "", repeatable=False)
    assert not (tmp_path / "ran").exists()


def test_with_none_it_is_started_and_asked_in_lines(tmp_path: Path) -> None:
    command = persistent(tmp_path, "hello(name='my engine', version='2.1')")
    assert connect(command, {}).info == BackendInfo(f"cmd:{command}", "cmd", "my engine 2.1")


SOME = "{model}, {inputs} and {outputs} must all be there"


@pytest.mark.parametrize(
    ("command", "hint"),
    [
        ("ls {model} {inputs}", SOME),
        ("ls {model} out={outputs}", SOME),
        ("ls {inputs}{outputs}", SOME),
        ("ls {outputs}", SOME),
        ("ls {model} {input} {outputs}", "'inputs'"),
        ("ls {models} {inputs} {outputs}", "'model'"),
        ("ls --out={OUTPUTS}", "'outputs'"),
        ("ls {inputs} {outputs} {output}", "'outputs'"),
        (None, ""),
        ("", ""),
        ("  ", ""),
    ],
)
def test_a_command_that_says_too_little_or_is_misspelt_is_refused(command, hint, wording):
    error = refusal(command)
    assert error.message == wording
    assert (f"did you mean {hint}" if hint.startswith("'") else hint) in str(error.hint)


def test_other_braces_are_the_program_s_own() -> None:
    assert not connect("ls '{print}' {model}{ {inputs} {outputs} {}", {}).info.repeatable


def test_a_quotation_that_does_not_end_is_told() -> None:
    assert "No closing quotation" in refusal("ls 'x {model} {inputs} {outputs}").message


def test_there_are_no_options(wording: Wording) -> None:
    with pytest.raises(UsageError) as raised:
        connect("ls {model} {inputs} {outputs}", {"threads": "2"})
    assert raised.value == wording


@pytest.mark.parametrize("tail", ["", " {model} {inputs} {outputs}"])
def test_a_program_that_is_not_there_cannot_be_used(tail: str, wording: Wording) -> None:
    error = refusal(f"./no-such-program{tail}", BackendUnavailable)
    assert error.message == wording


def test_a_program_that_may_not_be_run_is_told(tmp_path: Path) -> None:
    (tmp_path / "program").write_text("#!/bin/sh\n")
    error = refusal(f"{tmp_path}/program {{model}} {{inputs}} {{outputs}}", BackendUnavailable)
    assert error.message == f"{tmp_path}/program is not executable"
    assert error.hint == f"chmod +x {tmp_path}/program"


def test_a_program_is_found_from_the_working_directory(tmp_path, monkeypatch):
    (tmp_path / "program").write_text("#!/bin/sh\n")
    (tmp_path / "program").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    assert connect("./program {model} {inputs} {outputs}", {}).info.kind == "cmd"


def test_nothing_has_to_be_installed() -> None:
    assert (cmd.ABOUT.distribution, cmd.ABOUT.install) == (None, "")
