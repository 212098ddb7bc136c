"""What is wrong with files and command lines is one clear message each, soon, and no verdict."""

import time
from typing import Any

import pytest

from opcheck.known import shipped_ledgers
from tests.cli.conftest import notes

HEAD = "op: Hardmax\nopset: 13\ndtype: float32\nattrs: {axis: 1}\ncases:\n"
GOOD = f"{HEAD}- name: good\n  inputs: {{input: [[1, 2]]}}\n"

BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{new}: &{new} [{', '.join([f'*{old}'] * 9)}]\n"
    for old, new in zip("abcdefghijkl", "bcdefghijklm", strict=True)
)

#: What is wrong → the file, and where the first problem is. More of it is in tests/suite.
FILES: dict[str, tuple[Any, str]] = {
    "unknown key": (GOOD + "  inptus: 3\n", "8:3"),
    "alias bomb": (BOMB, "7:8"),
    "20,000 brackets": (GOOD.replace("[[1, 2]]", "[" * 20_000 + "]" * 20_000), "7:79"),
    "binary": (bytes(range(256)) * 4, "1:1"),
    "UTF-16": (GOOD.encode("utf-16"), "1:1"),
    "Latin-1": (GOOD.encode() + b"  clause: gr\xfcn\n", "8:13"),
    "nothing computed": (GOOD + "  expect: {computed: []}\n", "8:22"),
    "second of two": (GOOD.replace("{i", "{x: 1, i").replace("2]", "[2]]"), "7:30"),
    "empty": ("", "1:1"),
}


@pytest.mark.parametrize("command", [("run", "-b", "right"), ("list",)], ids=["run", "list"])
@pytest.mark.parametrize("wrong", FILES)
def test_a_wrong_file_is_told_with_its_place(run, tmp_path, command, wrong, wording):
    content, place = FILES[wrong]
    file = tmp_path / "wrong.yaml"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    started = time.monotonic()
    found = run(*command, "wrong.yaml")
    assert time.monotonic() - started < 5
    assert found.exit_code == 2
    assert found.stdout == ""
    assert f"wrong.yaml:{place}: " in found.stderr
    assert found.stderr == wording
    assert [path.name for path in tmp_path.iterdir()] == ["wrong.yaml"]


def test_a_missing_file_and_a_folder_without_cases_are_told_at_once(run, tmp_path, wording):
    (tmp_path / "empty").mkdir()
    assert run("run", "gone.yaml", "empty", code=2).stderr == wording


def test_one_bad_file_among_good_ones_stops_the_run(run, tmp_path):
    (tmp_path / "good.yaml").write_text(GOOD)
    (tmp_path / "wrong.yaml").write_text(FILES["unknown key"][0])
    found = run("run", ".", "-b", "right")
    assert (found.exit_code, found.stdout) == (2, "")
    assert "good.yaml" not in found.stderr


@pytest.mark.parametrize("command", ["run", "list"])
def test_a_type_that_does_not_exist_is_told_before_any_file_is_read(run, tmp_path, command):
    (tmp_path / "wrong.yaml").write_text(FILES["unknown key"][0])
    found = run(command, "wrong.yaml", "--dtype", "fp16", code=2)
    assert "wrong.yaml" not in found.stderr
    assert "fp16" in found.stderr


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["-b", "nope"], 2),
        (["-b", "ort"], 2),
        (["-b", "./my_rt.py"], 2),
        (["-b", "py:my_rt.py"], 2),
        (["--report", "run.json"], 2),
        (["--dtype", "fp32"], 2),
        (["--dtype", "double"], 2),
        (["my_rt.py"], 2),
        (["-b", "onnxruntime:CPU"], 2),
        (["-b", "onnxruntime:DmlExecutionProvider"], 4),
        (["-b", "numpy", "-b", "numpy"], 2),
        (["-b", "nope", "-b", "onnxruntime:DmlExecutionProvider"], 2),
        (["--op", "Hardmx"], 2),
        (["--case", "Hardmax/goood"], 2),
        (["--opset", "13", "--opset", "99"], 2),
        (["-b", "onnxruntime:CPUExecutionProvider", "-b", "onnxruntime"], 2),
        (["-k", "good nan"], 2),
        (["--opset", "x"], 2),
        (["--max-fail", "0"], 2),
        (["-j", "0"], 2),
        (["--timeout", "1 min"], 2),
        (["--memory-limit", "much"], 2),
        (["--memory-limit", "0"], 2),
        (["-b", "py:gone:Backend"], 2),
        (["--level", "hard"], 2),
        (["--fromat", "json"], 2),
        (["-k", "good", "-k", "nan or inf"], 2),
    ],
)
def test_a_wrong_command_line_is_told(run, tmp_path, words, code, wording):
    (tmp_path / "good.yaml").write_text(GOOD)
    (tmp_path / "my_rt.py").touch()
    found = run("run", "good.yaml", *words, code=code)
    assert found.stdout == ""
    assert found.stderr == wording
    assert len(found.stderr.splitlines()) <= 4


@pytest.mark.parametrize("words", [["rum"], ["prove"], ["--nope"]], ids=" ".join)
def test_an_unknown_command_is_told(run, words, wording):
    assert run(*words, code=2).stderr == wording


@pytest.mark.fresh_workers
@pytest.mark.parametrize(
    ("backend", "package"), [("onnxruntime", "onnxruntime"), ("reference", "onnx.reference")]
)
def test_a_backend_that_is_not_installed_says_what_to_install(
    run, tmp_path, monkeypatch, backend, package, wording
):
    (tmp_path / "good.yaml").write_text(GOOD)
    # The first that a process imports; importing what is None raises ImportError.
    site = tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(f"import sys; sys.modules[{package!r}] = None")
    monkeypatch.setenv("PYTHONPATH", str(site))
    found = run("run", "good.yaml", "-b", "right", "-b", backend, code=4)
    assert found.stdout == ""
    assert found.stderr == wording
    assert run("run", "good.yaml", "-b", "right").exit_code == 0


def test_a_wrong_file_comes_before_a_backend_that_is_missing(run, tmp_path):
    (tmp_path / "wrong.yaml").write_text("")
    assert run("run", "wrong.yaml", "-b", "onnxruntime:DmlExecutionProvider").exit_code == 2


def test_a_broken_ledger_is_told_with_its_place(run, tmp_path, monkeypatch, wording):
    ledgers = tmp_path / "ledgers"
    ledgers.mkdir()
    (ledgers / "acme.yaml").write_text("backend: acme\nknow: []\n")
    monkeypatch.setattr("opcheck.known.SHIPPED_LEDGERS", ledgers)
    shipped_ledgers.cache_clear()
    shipped = ["run", "--op", "Hardmax", "-k", "worked_example", "--opset", "13", "-b", "right"]
    found = run(*shipped, code=2)
    assert notes(found) == wording
    assert run(*shipped, "--no-known").exit_code == 0


def test_a_case_that_contradicts_the_specification_is_told(run, tmp_path):
    (tmp_path / "bad.yaml").write_text(GOOD.replace("axis: 1", "axis: 5"))
    found = run("run", "bad.yaml", "-b", "right", code=2)
    assert "BAD CASE right  Hardmax/good" in found.stdout
    assert "axis" in found.stdout
    assert found.stdout.splitlines()[-1].startswith("exit 2: ")
