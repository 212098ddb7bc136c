"""What is wrong with files and command lines is one clear message each, soon, and no verdict."""

import re
import time
from typing import Any

import pytest

from opcheck.cli.group import COMMANDS
from opcheck.known import shipped_ledgers

HEAD = "op: Hardmax\nopset: 13\ndtype: float32\nattrs: {axis: 1}\ncases:\n"
GOOD = f"{HEAD}- name: good\n  inputs: {{input: [[1, 2]]}}\n"

BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{new}: &{new} [{', '.join([f'*{old}'] * 9)}]\n"
    for old, new in zip("abcdefghijkl", "bcdefghijklm", strict=True)
)

#: What is wrong → the file, and where and how it is told. More of it is in tests/suite.
FILES: dict[str, tuple[Any, str]] = {
    "unknown key": (GOOD + "  inptus: 3\n", r":8:3: unknown key 'inptus' \(did you mean 'inputs'"),
    "alias bomb": (BOMB, r":\d+:\d+: more than 1,000,000 values"),
    "20,000 brackets": (
        GOOD.replace("[[1, 2]]", "[" * 20_000 + "]" * 20_000),
        r":7:\d+: more than 64 lists",
    ),
    "binary": (bytes(range(256)) * 4, r":1:1: .*binary"),
    "UTF-16": (GOOD.encode("utf-16"), r":1:1: .*UTF-16"),
    "Latin-1": (GOOD.encode() + b"  clause: gr\xfcn\n", r":8:13: .*not UTF-8"),
    "nothing computed": (GOOD + "  expect: {computed: []}\n", r":8:22: "),
    "second of two": (GOOD.replace("{i", "{x: 1, i").replace("2]", "[2]]"), r":7:30: .*ragged"),
    "empty": ("", r":1:1: the file is empty"),
}


@pytest.mark.parametrize("command", [("run", "-b", "right"), ("list",)], ids=["run", "list"])
@pytest.mark.parametrize("wrong", FILES)
def test_a_wrong_file_is_told_with_its_place(run, tmp_path, command, wrong):
    content, told = FILES[wrong]
    file = tmp_path / "wrong.yaml"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    started = time.monotonic()
    found = run(*command, "wrong.yaml")
    assert time.monotonic() - started < 5
    assert found.exit_code == 2
    assert found.stdout == ""
    *problems, last = found.stderr.splitlines()
    assert all(line.startswith("wrong.yaml:") for line in problems)
    assert any(re.match(f"wrong.yaml{told}", line) for line in problems)
    assert re.fullmatch(r"\d problems? in 1 file; nothing was run", last)
    assert len(found.stderr) < 600
    assert [path.name for path in tmp_path.iterdir()] == ["wrong.yaml"]


def test_a_missing_file_and_a_folder_without_cases_are_told_at_once(run, tmp_path):
    (tmp_path / "empty").mkdir()
    assert run("run", "gone.yaml", "empty", code=2).stderr.splitlines() == [
        "empty: neither case files nor test data in this folder (case files end in .yaml, a test"
        " is a folder with a model.onnx)",
        "gone.yaml:1:1: there is no such file",
        "2 problems in 2 files; nothing was run",
    ]


def test_one_bad_file_among_good_ones_stops_the_run(run, tmp_path):
    (tmp_path / "good.yaml").write_text(GOOD)
    (tmp_path / "wrong.yaml").write_text(FILES["unknown key"][0])
    found = run("run", ".", "-b", "right")
    assert (found.exit_code, found.stdout) == (2, "")
    assert "good.yaml" not in found.stderr


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["-b", "nope"], 2, "unknown backend 'nope'\n  known backends: claims, cmd, "),
        (["-b", "ort"], 2, "did you mean 'onnxruntime'? known"),
        (["-b", "./my_rt.py"], 2, "write py:my_rt for my_rt.py. known"),
        (["-b", "py:my_rt.py"], 2, "write my_rt, as Python's import does"),
        (["--report", "run.json"], 2, "such as json=run.json)"),
        (["--dtype", "fp32"], 2, "did you mean 'float32'?"),
        (["--dtype", "double"], 2, "did you mean 'float64'?"),
        (["my_rt.py"], 2, "not a case file (a backend in it is -b py:my_rt)"),
        (["-b", "onnxruntime:CPU"], 2, "no execution provider 'CPU'"),
        (["-b", "onnxruntime:DmlExecutionProvider"], 4, "built without DmlExecutionProvider\n"),
        (["-b", "numpy", "-b", "numpy"], 2, "opcheck: backend 'numpy' is named twice\n"),
        (["-b", "nope", "-b", "onnxruntime:DmlExecutionProvider"], 2, "unknown backend 'nope'"),
        (["--op", "Hardmx"], 2, "no case of operator 'Hardmx'\n  did you mean 'Hardmax'?"),
        (["--case", "Hardmax/goood"], 2, "no case 'Hardmax/goood'\n  did you mean 'Hardmax/good'?"),
        (["--opset", "13", "--opset", "99"], 2, "no case at opset 99\n  opsets: 13\n"),
        (["-b", "onnxruntime:CPUExecutionProvider", "-b", "onnxruntime"], 2, "name the same back"),
        (["-k", "good nan"], 2, "keywords 'good nan': 'nan' is one too many"),
        (["--opset", "x"], 2, "'x' is not a valid integer"),
        (["--max-fail", "0"], 2, "0 is not in the range"),
        (["-j", "0"], 2, "0 is not in the range x>=1"),
        (["--timeout", "1 min"], 2, "'1 min' is not a number of seconds"),
        (["--memory-limit", "much"], 2, "'much' is no size of memory; write for example 2GiB"),
        (["--memory-limit", "0"], 2, "'0' is no size of memory"),
        (["-b", "py:gone:Backend"], 2, "backend 'py:gone:Backend'"),
        (["--level", "hard"], 2, "'hard' is not one of 'smoke', 'core', 'deep'"),
        (["--fromat", "json"], 2, "No such option '--fromat'"),
    ],
)
def test_a_wrong_command_line_is_told(run, tmp_path, words, code, told):
    (tmp_path / "good.yaml").write_text(GOOD)
    (tmp_path / "my_rt.py").touch()
    found = run("run", "good.yaml", *words, code=code)
    assert found.stdout == ""
    assert told in found.stderr
    assert len(found.stderr.splitlines()) <= 4


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["rum"], "no command 'rum' (did you mean 'run'?)"),
        (["prove"], f"no command 'prove' (commands: {', '.join(COMMANDS)})"),
        (["--nope"], "No such option '--nope'"),
    ],
)
def test_an_unknown_command_is_told(run, words, told):
    found = run(*words, code=2)
    assert told in found.stderr.replace("No such option: --nope", "No such option '--nope'")


@pytest.mark.fresh_workers
@pytest.mark.parametrize(
    ("backend", "package", "hint"),
    [
        ("onnxruntime", "onnxruntime", "pip install onnxruntime"),
        ("reference", "onnx.reference", "pip install onnx"),
    ],
)
def test_a_backend_that_is_not_installed_says_what_to_install(
    run, tmp_path, monkeypatch, backend, package, hint
):
    (tmp_path / "good.yaml").write_text(GOOD)
    # The first that a process imports; importing what is None raises ImportError.
    site = tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(f"import sys; sys.modules[{package!r}] = None")
    monkeypatch.setenv("PYTHONPATH", str(site))
    found = run("run", "good.yaml", "-b", "right", "-b", backend, code=4)
    assert found.stdout == ""
    said = found.stderr.splitlines()
    assert said[0].startswith(f"opcheck: backend {backend!r} is not installed")
    assert said[1] == f"  install it: {hint}"
    assert run("run", "good.yaml", "-b", "right").exit_code == 0


def test_a_wrong_file_comes_before_a_backend_that_is_missing(run, tmp_path):
    (tmp_path / "wrong.yaml").write_text("")
    assert run("run", "wrong.yaml", "-b", "onnxruntime:DmlExecutionProvider").exit_code == 2


def test_a_broken_ledger_is_told_with_its_place(run, tmp_path, monkeypatch):
    ledgers = tmp_path / "ledgers"
    ledgers.mkdir()
    (ledgers / "acme.yaml").write_text("backend: acme\nknow: []\n")
    monkeypatch.setattr("opcheck.known.SHIPPED_LEDGERS", ledgers)
    shipped_ledgers.cache_clear()
    shipped = ["run", "--op", "Hardmax", "-k", "worked_example", "--opset", "13", "-b", "right"]
    found = run(*shipped, code=2)
    assert "acme.yaml:2:1: unknown key 'know' (did you mean 'known'?)" in found.stderr
    assert run(*shipped, "--no-known").exit_code == 0


def test_a_case_that_contradicts_the_specification_is_told(run, tmp_path):
    (tmp_path / "bad.yaml").write_text(GOOD.replace("axis: 1", "axis: 5"))
    found = run("run", "bad.yaml", "-b", "right", code=2)
    assert "BAD CASE right  Hardmax/good" in found.stdout
    assert "axis" in found.stdout
    assert found.stdout.splitlines()[-1].startswith("exit 2: ")
