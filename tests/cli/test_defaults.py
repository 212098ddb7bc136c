"""Defaults of `opcheck run` in the table `[run]` of a settings file."""

import json
from textwrap import dedent

import pytest

from opcheck.backends.profile_fields import RunFields
from opcheck.cli import runs
from opcheck.cli.defaults import _NOT_IN_CI, _PARAMETERS
from opcheck.reading import validation

#: A case that the engine passes, and one that it fails.
CASES = """\
op: Relu
opset: 14
dtype: float32
cases:
- {name: right, level: smoke, inputs: {X: [-1, 2]}, expect: {Y: [0, 2]}}
- {name: wrong, inputs: {X: [-1, 2]}, expect: {Y: [1, 2]}}
"""


@pytest.fixture
def settings(tmp_path, monkeypatch):
    """A function that writes a settings file next to CASES, outside of CI."""
    monkeypatch.delenv("CI", raising=False)
    (tmp_path / "my.yaml").write_text(CASES)

    def write(text: str, name: str = "opcheck.toml") -> None:
        (tmp_path / name).write_text(dedent(text))

    return write


def judged(result) -> set[tuple[str, str]]:
    """Return the cases and backends of the results in JSON lines."""
    records = map(json.loads, result.stdout.splitlines())
    return {(it["case"], it["backend"]) for it in records if it["type"] == "result"}


def test_each_key_is_an_option_of_run() -> None:
    keys = {*validation.aliases(RunFields)}
    assert {_PARAMETERS.get(key, key) for key in keys} <= {str(it.name) for it in runs.run.params}
    assert {*_NOT_IN_CI} < keys


def test_a_run_takes_the_defaults_and_names_them(run, settings, wording) -> None:
    settings("""
        [run]
        backend = ["mine"]
        level = "smoke"
        jobs = 2
        memory_limit = "2GiB"
        [backends.mine]
        address = "numpy"
    """)
    found = run("run", "my.yaml", "--format", "json", code=0)
    assert judged(found) == {("Relu/right", "mine")}
    assert found.stderr.splitlines()[0] == wording


def test_the_command_line_wins(run, settings) -> None:
    settings("""
        [run]
        backend = ["reference", "onnxruntime"]
        level = "smoke"
    """)
    words = ("-b", "numpy", "--level", "core")
    found = run("run", "my.yaml", *words, "--format", "json", code=2)
    assert judged(found) == {("Relu/right", "numpy"), ("Relu/wrong", "numpy")}
    assert "[run]" not in found.stderr


def test_a_named_settings_file_is_the_only_one(run, settings) -> None:
    settings("[run]\nlevel = 'deep'")
    settings("[run]\nlevel = 'smoke'", "other.toml")
    words = ("-b", "numpy", "--format", "json", "--config", "other.toml")
    found = run("run", "my.yaml", *words, code=0)
    assert judged(found) == {("Relu/right", "numpy")}
    assert found.stderr.startswith("opcheck: other.toml: ")


def test_what_decides_red_is_not_taken_in_ci(run, settings, monkeypatch, wording) -> None:
    settings("""
        [run]
        backend = ["numpy"]
        level = "smoke"
        strict = true
        require_supported = true
        require_reproducible = true
        known = ["nowhere.yaml"]
        allow_unexpected_passes = true
    """)
    monkeypatch.setenv("CI", "1")
    found = run("run", "my.yaml", "--format", "json", code=2)
    assert judged(found) == {("Relu/right", "numpy"), ("Relu/wrong", "numpy")}
    assert found.stderr.splitlines()[:2] == wording


def test_a_ledger_is_looked_for_next_to_the_settings(run, settings, tmp_path, monkeypatch) -> None:
    settings("[run]\nknown = ['nowhere.yaml']\nbackend = ['numpy']")
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    found = run("run", "../my.yaml", code=2)
    assert str(tmp_path / "nowhere.yaml") in found.stderr


@pytest.mark.parametrize(
    "text",
    [
        "jbos = 2",
        "jobs = 0",
        "level = 'huge'",
        "memory_limit = 'much'",
        "backend = []",
        "backend = ['cmd:./mine {model}']",
        "backend = ['numpy?accumulate=float8']",
        "known = 'known.yaml'",
        "strict = 1",
    ],
)
def test_a_mistake_has_its_place(run, settings, text, wording) -> None:
    settings(f"[run]\n{text}\n")
    found = run("run", "my.yaml", code=2)
    assert found.stderr == wording
    assert found.stderr.startswith("opcheck.toml:2:")


def test_help_needs_no_settings(run, settings) -> None:
    settings("[run]\njbos = 2")
    run("run", "--help", code=0)


def test_a_wrong_command_line_is_reported_first(run, settings) -> None:
    settings("[run]\njbos = 2")
    assert "--nowhere" in run("run", "--nowhere", code=2).stderr
