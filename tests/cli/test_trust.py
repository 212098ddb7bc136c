"""A stranger's folder on the command line: code that its files name does not run."""

import os
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

import click
import pytest

from opcheck.backends import trust
from opcheck.backends.address import profiles
from opcheck.backends.offers import offers, tried
from opcheck.backends.trust import UntrustedCode
from opcheck.cli import group
from tests.cli.test_oracles import oracle, write

TOML = """\
[backends.wise]
address = "py:stranger:Wise"
"""
#: Leaves a trace where it is imported, as a program would where it is run.
STRANGER = """\
from pathlib import Path
Path("TRACE").touch()
from tests.cli.fakes import RIGHT as Wise
"""


@pytest.fixture
def stranger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder whose case file and settings name its own code."""
    monkeypatch.delitem(sys.modules, "stranger", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    folder = tmp_path / "stranger"
    folder.mkdir()
    write(folder, TOML, "opcheck.toml")
    write(folder, STRANGER, "stranger.py")
    oracle(folder, "wise")
    monkeypatch.chdir(folder)
    return folder


COMMANDS = {
    "run": "run .",
    "run, two backends": "run . -b numpy -b reference",
    "bench": "bench --quick cases.yaml -b numpy",
    "verify": "verify ../package.zip cases.yaml",
}
HARMLESS = {
    "list": "list . --save-questions questions",
    "golden": "golden write . -o golden",
    "support": "support . -b numpy",
    "mutate": "mutate . -j 1",
    "locate": "locate cases.yaml -b numpy",
}


#: The commands that take --config, with what they need on the command line.
WITH_CONFIG = {
    "run": "",
    "bench": "",
    "locate": "model.onnx -b numpy",
    "verify": "package.zip",
    "support": "",
    "backends": "",
    "doctor": "",
}


class Configured(Exception):
    """A command uses a settings file."""


def test_every_command_with_config_is_listed_here() -> None:
    context = click.Context(group.program)
    commands = {name: group.program.get_command(context, name) for name in group.COMMANDS}
    takes_config = {
        name
        for name, command in commands.items()
        if command and any(parameter.name == "config" for parameter in command.params)
    }
    assert takes_config == WITH_CONFIG.keys()


@pytest.mark.parametrize("name", WITH_CONFIG)
def test_a_command_uses_the_named_settings_before_all_else(name, run, monkeypatch) -> None:
    def configured(path: Path) -> NoReturn:
        raise Configured(path)

    monkeypatch.setattr(trust, "configured", configured)
    with pytest.raises(Configured, match=r"mine\.toml"):
        run(name, *WITH_CONFIG[name].split(), "--config", "mine.toml")


@pytest.fixture
def package(stranger: Path, run) -> None:
    """A package of a run that the stranger made with the profile as a backend."""
    words = ("--report", "json=../run.jsonl", "--save-outputs", "../outputs")
    run("run", ".", "-b", "right", "--config", "opcheck.toml", *words, code=0)
    run("pack", "../run.jsonl", "../outputs", "-o", "../package.zip", code=0)
    (stranger / "TRACE").unlink()


@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
def test_a_command_that_needs_the_oracle_ends_with_file_and_key(run, stranger, package, words):
    told = run(*words.split(), code=2).stderr
    assert "cases.yaml:8:3: expect.oracle: opcheck.toml:2:1: backends.wise.address" in told
    assert not (stranger / "TRACE").exists()


@pytest.mark.parametrize("words", HARMLESS.values(), ids=HARMLESS)
def test_a_command_that_needs_no_oracle_runs_no_code(run, stranger, words):
    run(*words.split())
    assert not (stranger / "TRACE").exists()


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--config", "opcheck.toml", "-b", "right"), 0),
        (("-b", "wise", "-b", "right"), 5),  # the former is compared with itself only
    ],
    ids=["--config", "-b"],
)
def test_a_file_or_a_profile_that_the_user_names_is_accepted(run, stranger, words, code):
    run("run", ".", *words, code=code)
    assert (stranger / "TRACE").exists()


def test_the_command_that_repeats_a_failure_names_the_settings_file(run, stranger):
    found = run("run", ".", "--config", "opcheck.toml", "-b", "last_of_ties", code=1)
    assert "-b last_of_ties --config opcheck.toml" in found.stdout


def test_trust_shows_what_it_accepts_and_lists_and_forgets_it(run, stranger):
    run("run", ".", "-b", "right", code=2)
    assert (
        "opcheck.toml:2:1: backends.wise.address: py:stranger:Wise" in run("trust", code=0).stdout
    )
    run("run", ".", "-b", "right", code=0)
    assert str(stranger / "opcheck.toml") in run("trust", "--list", code=0).stdout
    run("trust", "--forget", code=0)
    run("run", ".", "-b", "right", code=2)


def test_trust_of_a_folder_without_settings_is_an_error(run, stranger):
    (stranger / "opcheck.toml").unlink()
    run("trust", code=2)
    run("trust", "missing", code=2)
    run("trust", "--list", "--forget", code=2)


def test_backends_does_not_try_what_is_not_trusted(stranger):
    found, _ = offers(profiles(stranger))
    (wise,) = [one for one in found if one.name == "wise"]
    assert isinstance(wise.error, UntrustedCode)
    (tried_wise,) = tried([wise], stranger, 1.0)
    assert tried_wise == wise
    assert not (stranger / "TRACE").exists()


@pytest.mark.gate
def test_python_s_helper_processes_import_nothing_from_the_working_directory(tmp_path):
    """`multiprocessing` starts them by `python -c`, which looks into the working directory."""
    oracle(tmp_path, "unused")
    text = (tmp_path / "cases.yaml").read_text().replace("{oracle: 'unused'}", "computed")
    (tmp_path / "cases.yaml").write_text(text)
    for name in ("multiprocessing", "random", "threading"):
        (tmp_path / f"{name}.py").write_text("open('TRACE', 'w'); raise SystemExit\n")
    words = ["golden", "write", "cases.yaml", "-o", "golden", "-j", "2"]
    for command in (words, ["run", "cases.yaml", "-b", "numpy", "-j", "2"]):
        script = f"import sys; sys.argv[1:] = {command!r}\nfrom opcheck.cli import main\n"
        (tmp_path / "start.py").write_text(f"{script}if __name__ == '__main__': main()\n")
        subprocess.run(
            [sys.executable, "-P", "start.py"],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
            check=False,
            capture_output=True,
        )
    assert not (tmp_path / "TRACE").exists()
