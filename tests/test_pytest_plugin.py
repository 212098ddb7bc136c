"""The pytest plugin: case files as tests, and the fixture `opcheck_case`, as a project has them."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from functools import partial
from importlib.metadata import entry_points
from pathlib import Path
from subprocess import Popen
from typing import Any, TypeAlias

import pytest
from junitparser import JUnitXml

from tests.shell import Forked
from tests.wording import Wording, lines_with

pytestmark = [pytest.mark.processes, pytest.mark.starts_early]

ROOT = Path(__file__).parent.parent
PROJECT = ROOT / "examples" / "pytest_project"
#: Each is right or wrong in one way on the cases below.
BACKENDS = """
import numpy as np
from opcheck.errors import NotSupported

def softmax(x, *, axis=-1):
    powers = np.exp(x - x.max(axis, keepdims=True))
    return powers / powers.sum(axis, keepdims=True)

class Ready:
    def __init__(self, compute):
        self.run = lambda inputs: [compute(inputs[0])]

class Wrong:
    def prepare(self, task):
        return Ready(lambda x: softmax(x) + np.float32(0.1))

class Lacking:
    def prepare(self, task):
        raise NotSupported("no kernel")

class Small:
    def prepare(self, task):
        def run(inputs):
            if inputs[0].max() > 9:
                raise NotSupported("only small ones")
            return [softmax(inputs[0])]
        ready = Ready(None)
        ready.run = run
        return ready

class Dying:
    def prepare(self, task):
        import os
        os.abort()
"""
LEDGER = """
backend: py:backends:Wrong
known:
- verdict: fail
  cause: adds a tenth
  where:
  - {op: Softmax, name: one_row}
"""
TESTS = """
import pytest
from backends import softmax

def test_right(opcheck_case):
    opcheck_case("Softmax/one_row", softmax, path="cases/softmax.yaml")

def test_pattern(opcheck_case):
    opcheck_case("Softmax/*", softmax, path="cases/softmax.yaml")

def test_wrong(opcheck_case):
    opcheck_case("Softmax/large", lambda x, axis=-1: x, path="cases/softmax.yaml")

def some(x, *, axis=-1):
    if x.max() > 1:
        raise NotImplementedError("only small ones")
    return x

def test_the_worst_of_several(opcheck_case):
    opcheck_case("Softmax/*", some, path="cases/softmax.yaml")

def test_known(opcheck_case):
    opcheck_case("Softmax/one*", "py:backends:Wrong", path="cases/softmax.yaml", known="known.yaml")

def test_lacking(opcheck_case):
    opcheck_case("Softmax/large", "py:backends:Lacking", path="cases/softmax.yaml")

@pytest.mark.parametrize("case", ["Sofmax/large", "Softmax/lage*"])
def test_no_such_case(opcheck_case, case):
    opcheck_case(case, softmax, path="cases/softmax.yaml")
"""
#: What a run of pytest said: outcome and message by the test's name, and all that it printed.
Said: TypeAlias = tuple[int, Mapping[str, tuple[str, str]], str]


@pytest.fixture
def project(tmp_path: Path) -> Callable[..., Said]:
    """Runs pytest in a copy of the sample project; returns code, outcomes and output."""
    here = tmp_path / "project"
    shutil.copytree(PROJECT, here)
    (here / "backends.py").write_text(BACKENDS)
    (here / "known.yaml").write_text(LEDGER)
    is_installed = any(one.name == "opcheck" for one in entry_points(group="pytest11"))

    def run(*words: str, cache: bool = False, alone: bool = True, **files: str | bytes) -> Said:
        for name, text in files.items():
            path, _, suffix = name.replace("__", "/").rpartition("_")
            file = here / f"{path}.{suffix}"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(text if isinstance(text, bytes) else text.encode())
        # The others that are installed take as long to import as opcheck itself.
        own = ["-p", "opcheck.pytest_plugin"] + (["-p", "xdist"] if "-n1" in words else [])
        plugin = own if alone or not is_installed else []
        only = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"} if alone else {}
        options = [
            *([] if cache else ["-p", "no:cacheprovider"]),
            "--rootdir",
            ".",
            "-c",
            "none.ini",
        ]
        (here / "none.ini").write_text("[pytest]\njunit_family = xunit1\n")
        words = (*plugin, *options, "--junitxml", "junit.xml", *words)
        # With all that is installed, and with processes of its own, it is one as users start it.
        command = [sys.executable, "-m", "pytest", *words]
        is_alone = alone and "-n1" not in words and sys.platform == "linux"
        start = partial(Forked, words, program="pytest") if is_alone else partial(Popen, command)
        process = start(
            cwd=here,
            env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{here}", **only},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        printed = "".join(process.communicate())
        found = {}
        if (report := here / "junit.xml").exists():
            for suite in JUnitXml.fromfile(str(report)):
                for case in suite:
                    outcome = [(type(one).__name__, str(one.message)) for one in case.result]
                    found[case.name] = outcome[0] if outcome else ("passed", "")
        return process.returncode, found, printed

    return run


def named(backend: str, outcome: tuple[str, str]) -> dict[str, tuple[str, str]]:
    return {f"Softmax/{name}[{backend}]": outcome for name in ("one_row", "large")}


def first_with(text: str, part: str) -> str:
    """Return the first line with this part: those of pytest's summary are cut to the width."""
    return lines_with(text, part).splitlines()[0]


def outcomes(said: Said) -> dict[str, str]:
    return {name: outcome for name, (outcome, _) in said[1].items()}


def test_the_sample_project_finds_its_bug(project: Any) -> None:
    code, found, text = project("--opcheck-backend", "numpy", alone=False)
    assert code == 1
    assert [name for name, (outcome, _) in found.items() if outcome != "passed"] == [
        "test_large_values"
    ]
    assert {name for name in found if "[numpy]" in name} == {*named("numpy", ("", ""))}
    assert "(nothing_subtracted)" in text
    assert "Traceback" not in text


def test_each_verdict_is_an_outcome_of_pytest(project: Any) -> None:
    words = [f"--opcheck-backend=py:backends:{name}" for name in ("Wrong", "Lacking", "Dying")]
    code, found, text = project("cases", "--opcheck-known=known.yaml", *words)
    assert code == 1
    assert outcomes((code, found, text)) == {
        "Softmax/one_row[py:backends:Wrong]": "Skipped",  # as JUnit has an xfail
        "Softmax/large[py:backends:Wrong]": "Failure",
        "Softmax/one_row[py:backends:Lacking]": "Skipped",
        "Softmax/large[py:backends:Lacking]": "Skipped",
        "Softmax/one_row[py:backends:Dying]": "Failure",
        "Softmax/large[py:backends:Dying]": "Failure",
        "--opcheck-known": "passed",
    }
    said = found["Softmax/large[py:backends:Wrong]"][1]
    assert said.startswith(("Failed: fail: output: ", "fail: output: "))
    assert "adds a tenth" in found["Softmax/one_row[py:backends:Wrong]"][1]
    assert "CRASH" in text
    assert "SIGABRT" in text


def test_a_gap_fails_where_support_is_required_or_a_ledger_does_not_list_it(project: Any) -> None:
    words = ["cases", "--opcheck-backend=py:backends:Small"]
    assert project(*words)[0] == 0
    assert project(*words, "--opcheck-require-supported")[0] == 1
    words = ["cases", "--opcheck-backend=py:backends:Lacking"]
    ledger = LEDGER.replace("Wrong", "Lacking")
    assert project(*words, "--opcheck-known=mine.yaml", mine_yaml=ledger)[0] == 1


#: A ledger whose cases the engine passes, and the words that ask for a run with it.
OUTDATED = LEDGER.replace("py:backends:Wrong", "numpy")
WITH_OUTDATED = ("cases", "--opcheck-backend=numpy", "--opcheck-known=mine.yaml")
ALLOWING = "[pytest]\nopcheck_allow_unexpected_passes = true\n"


def test_a_listed_case_may_pass_if_that_is_allowed(project: Any) -> None:
    assert project(*WITH_OUTDATED, mine_yaml=OUTDATED)[0] == 1
    allowing = "--opcheck-allow-unexpected-passes"
    code, found, text = project(*WITH_OUTDATED, allowing, "-rX", mine_yaml=OUTDATED)
    assert code == 0
    assert found["Softmax/one_row[numpy]"][0] == "passed"
    assert "1 xpassed" in text
    assert "adds a tenth" in text
    # Another failure stays red.
    wrong = (*WITH_OUTDATED, "--opcheck-backend=py:backends:Wrong", allowing)
    code, found, _ = project(*wrong, mine_yaml=OUTDATED)
    assert code == 1
    assert found["Softmax/one_row[py:backends:Wrong]"][0] == "Failure"


ONE_ROW = """
op: Softmax
opset: 13
cases:
- {name: one_row, inputs: {input: {dtype: float32, value: [[0, 1]]}}}
"""
#: A case of which the text leaves all of the answer open.
OPEN_CASE = """
op: Div
opset: 14
cases:
- {name: by_zero, inputs: {A: {dtype: int32, value: [1]}, B: {dtype: int32, value: [0]}}}
"""


def test_a_listed_case_that_passes_is_judged(project: Any) -> None:
    words = ("mine", *WITH_OUTDATED[1:], "--opcheck-allow-unexpected-passes")
    files = {"mine__softmax_yaml": ONE_ROW, "mine__div_yaml": OPEN_CASE, "mine_yaml": OUTDATED}
    code, found, _ = project(*words, **files)
    assert outcomes((code, found, ""))["Div/by_zero[numpy]"] == "Skipped"
    assert code == 0


def test_the_fixture_lets_a_listed_case_pass_too(project: Any) -> None:
    tests = TESTS.partition("def test_pattern")[0]
    tests = tests.replace('yaml")', 'yaml", known="mine.yaml")')
    words = ("test_mine.py",)
    files = {
        "test_mine_py": tests,
        "mine_yaml": LEDGER.replace("py:backends:Wrong", "object:softmax"),
    }
    assert project(*words, **files)[0] == 1
    code, _, text = project(*words, "--opcheck-allow-unexpected-passes", **files)
    assert code == 0
    assert "1 xpassed" in text


def test_the_setting_of_a_project_lets_cases_pass_but_not_in_ci(
    project: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = (*WITH_OUTDATED, "-c", "mine.ini")
    files = {"mine_yaml": OUTDATED, "mine_ini": ALLOWING}
    monkeypatch.delenv("CI", raising=False)
    assert project(*words, **files)[0] == 0
    monkeypatch.setenv("CI", "1")
    code, _, text = project(*words, **files)
    assert code == 1
    assert "setting opcheck_allow_unexpected_passes" in text
    # What the command line states is meant.
    assert project(*words, "--opcheck-allow-unexpected-passes", **files)[0] == 0


@pytest.mark.parametrize("words", [[], ["-n1"]])
def test_who_supports_no_case_at_all_is_not_green(
    project: Any, words: list[str], wording: Wording
) -> None:
    asked = "--opcheck-backend=numpy", "--opcheck-backend=py:backends:Lacking"
    code, found, text = project("cases", *words, *asked)
    assert code == 1
    assert {outcome for outcome, _ in found.values()} == {"passed", "Skipped"}
    # Of numpy, which supports both cases, nothing is said.
    assert lines_with(text, "nothing was judged: ") == wording


@pytest.mark.gate
def test_a_warning_passes_unless_a_ledger_lists_something_else(project: Any) -> None:
    case = "op: Softmax\ncases:\n- name: one_row\n  opset: 13\n  rule: should\n"
    case += "  inputs: {input: {dtype: float32, value: [[0, 1]]}}\n"
    words = ["cases/softmax.yaml", "--opcheck-backend=py:backends:Wrong"]
    assert project(*words, cases__softmax_yaml=case)[0] == 0
    ledger = LEDGER.replace("verdict: fail", "verdict: crash")
    assert project(*words, "--opcheck-known=mine.yaml", mine_yaml=ledger)[0] == 1


@pytest.mark.gate
def test_keywords_and_workers_are_those_of_pytest(project: Any) -> None:
    code, found, _ = project("cases", "--opcheck-backend=numpy", "-k", "large", "-n1")
    assert (code, {*found}) == (0, {"Softmax/large[numpy]"})


def test_settings_of_the_project_name_backends(project: Any, wording: Wording) -> None:
    ini = "[pytest]\nopcheck_backend = numpy\nopcheck_level = smoke\n"
    code, found, text = project("cases", "-c", "mine.ini", mine_ini=ini)
    assert code == 1
    assert first_with(text, "of 1 case files") == wording
    assert {*found} == {"--opcheck-backend"}


@pytest.mark.gate
@pytest.mark.parametrize("words", [[], ["-n1"]])
def test_backends_without_a_case_are_no_green_run(
    project: Any, words: list[str], wording: Wording
) -> None:
    asked = ["test_kernels.py", "-k", "test_softmax", *words]
    assert words or project(*asked)[0] == 0
    code, _, text = project(*asked, "--opcheck-backend=numpy")
    assert code == 1
    assert first_with(text, "--opcheck-backend: no case") == wording


def test_a_damaged_file_is_an_error_with_its_place(project: Any, wording: Wording) -> None:
    code, _, text = project(
        "cases", "--opcheck-backend=numpy", cases__bad_yaml="op: Softmax\ncases:\n- nam: x\n"
    )
    assert code == 2
    assert lines_with(text, "bad.yaml:3:3: ") == wording
    assert "Traceback" not in text


@pytest.mark.gate
def test_clauses_next_to_cases_are_left_alone_unless_they_have_cases(project: Any) -> None:
    words = ["cases", "--opcheck-backend=numpy"]
    file = {"cases__softmax.clauses_yaml": "op: Softmax\nsentences:\n- {sentence: The}\n"}
    code, found, _ = project(*words, **file)
    assert (code, {*found}) == (0, {*named("numpy", ("", ""))})
    file = {"cases__softmax.clauses_yaml": "op: Softmax\ncases:\n- {name: passed_over}\n"}
    assert project(*words, **file)[0] == 2


@pytest.mark.gate
def test_other_yaml_is_left_alone_unless_it_is_named(project: Any) -> None:
    words = ["--opcheck-backend=numpy"]
    code, found, _ = project("cases", *words, cases__other_yaml="services: {web: {}}\n")
    assert (code, {*found}) == (0, {*named("numpy", ("", ""))})
    assert project("cases/other.yaml", *words)[0] == 2


def test_the_fixture_judges_functions_and_addresses(project: Any) -> None:
    code, found, text = project("test_mine.py", test_mine_py=TESTS)
    assert code == 1
    assert outcomes((code, found, text)) == {
        "test_right": "passed",
        "test_pattern": "passed",
        "test_wrong": "Failure",
        "test_the_worst_of_several": "Failure",
        "test_known": "Skipped",  # as JUnit has an xfail
        "test_lacking": "Skipped",
        "test_no_such_case[Sofmax/large]": "Failure",
        "test_no_such_case[Softmax/lage*]": "Failure",
    }
    assert text.count("did you mean 'Softmax/large'?") >= 2
    assert "no case matches 'Softmax/lage*'" in text
    assert "1 of 2 cases: fail: " in text


@pytest.mark.gate
def test_what_failed_last_is_asked_alone(project: Any) -> None:
    words = ["cases", "--opcheck-backend=py:backends:Wrong", "-o", "cache_dir=cache"]
    assert project(*words, "-k", "large", cache=True)[0] == 1
    _, found, _ = project(*words, "--lf", cache=True)
    assert {*found} == {"Softmax/large[py:backends:Wrong]"}


def test_a_backend_that_cannot_be_used_is_one_line_a_test(project: Any, wording: Wording) -> None:
    code, found, text = project("cases", "--opcheck-backend=py:nomodule:X")
    assert code == 1
    [(_, said)] = {*found.values()}
    # Whether a near name is proposed depends on what is installed.
    assert said.splitlines()[0] == wording
    assert "Traceback" not in text
    assert len(text.splitlines()) < 60


@pytest.mark.parametrize("words", [["cases"], ["-o", "opcheck_known=none.yaml"]])
def test_a_wrong_setting_is_one_usage_error(
    project: Any, words: list[str], wording: Wording
) -> None:
    backend = "onnxruntim" if words == ["cases"] else "numpy"
    code, found, text = project(*words, f"--opcheck-backend={backend}")
    assert (code, dict(found)) == (4, {})
    assert lines_with(text, "'onnxruntime'" if backend != "numpy" else "none.yaml:1:1: ") == wording


def test_case_files_that_nothing_judges_are_named(project: Any) -> None:
    code, _, text = project("test_kernels.py", "cases")
    assert code == 1  # by the bug of the sample project
    assert "names no backend: 1: cases/softmax.yaml" in text


def test_a_case_file_that_is_named_and_not_judged_is_red(project: Any) -> None:
    words = ["test_kernels.py", "-k", "test_softmax"]
    assert project(*words)[0] == 0
    assert project(*words, "cases/softmax.yaml")[0] == 4


@pytest.mark.parametrize(
    "word",
    [
        "--opcheck-known=known.yaml",
        "--opcheck-level=smoke",
        "--opcheck-timeout=9",
        "--opcheck-config=opcheck.toml",
        "--opcheck-require-supported",
    ],
)
def test_an_option_for_backends_without_a_backend_is_a_usage_error(project: Any, word) -> None:
    assert project("test_kernels.py", word)[0] == 4


CASE = "{name: NAME, opset: 13, inputs: {input: {dtype: float32, value: [[0, 1]]}}}"
#: Case files as `opcheck run` reads them, by where they are in a project.
ODD = {
    "cases__UPPER_YAML": f"op: Softmax\ncases:\n- {CASE}\n",
    "cases__flow_yaml": f"{{op: Softmax, cases: [{CASE}]}}\n",
    "cases__quoted_yml": f"'op': Softmax\n\"cases\":\n- {CASE}\n",
    "cases__escaped_yaml": f'"\\x6fp": Softmax\n"\\x63ases":\n- {CASE}\n',
    "cases__indented_yaml": f"  op: Softmax\n  cases:\n  - {CASE}\n",
    "cases__document_yaml": f"--- {{op: Softmax, cases: [{CASE}]}}\n",
    "cases__build__deep_yaml": f"op: Softmax\ncases:\n- {CASE}\n",
    "cases__venv__deep_yaml": f"op: Softmax\ncases:\n- {CASE}\n",
}


@pytest.mark.parametrize("words", [[], pytest.param(["-n1"], marks=pytest.mark.gate)])
def test_every_file_that_opcheck_run_judges_is_judged(project: Any, words: list[str]) -> None:
    files = {name: text.replace("NAME", name.lower()) for name, text in ODD.items()}
    code, found, _ = project(*words, "cases", "--opcheck-backend=py:backends:Wrong", **files)
    assert code == 1
    assert {f"Softmax/{name.lower()}[py:backends:Wrong]" for name in ODD} <= found.keys()
    assert {outcome for outcome, _ in found.values()} == {"Failure"}


def test_a_file_in_another_encoding_is_an_error_as_for_opcheck_run(project: Any) -> None:
    wide = f"op: Softmax\ncases:\n- {CASE}\n".encode("utf-16")
    code, _, text = project("cases", "--opcheck-backend=numpy", cases__wide_yaml=wide)
    assert (code, "save it as UTF-8" in text) == (2, True)


def test_a_link_that_leads_nowhere_is_an_error_as_for_opcheck_run(project: Any, tmp_path) -> None:
    (tmp_path / "project" / "cases" / "link.yaml").symlink_to("nowhere.yaml")
    assert project("cases", "--opcheck-backend=numpy")[0] == 4


@pytest.mark.parametrize("words", [[], pytest.param(["-n1"], marks=pytest.mark.gate)])
def test_what_is_left_out_is_counted_and_named(
    project: Any, words: list[str], wording: Wording
) -> None:
    text = f"op: Softmax\ncases:\n- {CASE.replace('NAME', 'left')}\n"
    code, found, printed = project(
        "cases",
        "--opcheck-backend=numpy",
        "--ignore=cases/build",
        *words,
        cases__build__ignored_yaml=text,
        **{"cases__.folder__deep_yaml": text},
        cases__venv__pyvenv_cfg="",
        cases__venv__deep_yaml=text,
        cases__other_yaml="services: {op: 1}\n",
        cases__deep_yaml=text.replace("name: left", "name: left, level: deep"),
    )
    assert (code, {*found}) == (0, {*named("numpy", ("", ""))})
    lines = [line for line in printed.splitlines() if line.startswith("opcheck: ")]
    assert [re.findall(r"cases/\S+[.]yaml", line) for line in lines] == [
        ["cases/build/ignored.yaml", "cases/venv/deep.yaml", "cases/.folder/deep.yaml"],
        ["cases/deep.yaml"],
        ["cases/other.yaml"],
    ]
    assert lines == wording


def test_a_project_s_own_setting_leaves_folders_out(project: Any, wording: Wording) -> None:
    ini = "[pytest]\nnorecursedirs = build\n"
    text = f"op: Softmax\ncases:\n- {CASE.replace('NAME', 'deep')}\n"
    words = ["cases", "--opcheck-backend=numpy", "-c", "mine.ini"]
    code, found, printed = project(*words, mine_ini=ini, cases__build__deep_yaml=text)
    assert (code, {*found}) == (0, {*named("numpy", ("", ""))})
    assert lines_with(printed, "cases/build/deep.yaml") == wording


@pytest.mark.gate
def test_a_ledger_may_list_cases_of_files_that_are_not_asked(project: Any) -> None:
    inputs = "{input: {dtype: float32, value: [0]}}"
    more = f"op: Softmax\ncases:\n- {{name: else, opset: 13, inputs: {inputs}}}\n"
    words = ["--opcheck-backend=py:backends:Wrong", "--opcheck-known=known.yaml"]
    code, found, text = project("cases/more.yaml", *words, cases__more_yaml=more)
    assert code == 1
    # No test of the ledger fails for the cases that it lists in vain.
    assert outcomes((code, found, text)) == {"Softmax/else[py:backends:Wrong]": "Failure"}


@pytest.mark.gate
@pytest.mark.parametrize(
    ("old", "new"), [("one_row", "one_ro"), ("py:backends:Wrong", "onnxruntime")]
)
def test_a_ledger_that_lists_in_vain_fails(
    project: Any, old: str, new: str, wording: Wording
) -> None:
    words = ["cases", "--opcheck-backend=py:backends:Wrong", "--opcheck-known=mine.yaml"]
    code, found, _ = project(*words, mine_yaml=LEDGER.replace(old, new))
    assert code == 1
    outcome, message = found["--opcheck-known"]
    assert outcome == "Failure"
    assert message == wording


def test_cases_that_a_conftest_removes_are_no_green_run(project: Any, wording: Wording) -> None:
    hook = "def pytest_collection_modifyitems(items):\n    del items[:]\n"
    code, _, text = project("cases", "--opcheck-backend=numpy", conftest_py=hook)
    assert code in (1, 5)
    assert lines_with(text, "nothing was judged: ") == wording


MARKING = """
import pytest
def pytest_itemcollected(item):
    item.add_marker(pytest.mark.{mark})
"""


@pytest.mark.parametrize("mark", ["xfail", "xfail(run=False)", "xfail(strict=True)", "skip"])
def test_a_mark_of_a_conftest_excuses_no_case(mark: str, project: Any) -> None:
    words = ["cases", "--opcheck-backend=py:backends:Wrong"]
    said = project(*words, conftest_py=MARKING.format(mark=mark))
    assert said[0] == 1
    assert ("Skipped" in outcomes(said).values()) is (mark == "skip")


EXITING = """
import os
def test_kernel(opcheck_case):
    opcheck_case("Softmax/one_row", lambda x, axis=-1: os._exit(0), path="cases/softmax.yaml")
"""


def test_a_kernel_that_leaves_with_status_0_is_a_crash(project: Any, wording: Wording) -> None:
    code, found, text = project("test_exit.py", test_exit_py=EXITING)
    assert (code, outcomes((code, found, text))) == (1, {"test_kernel": "Failure"})
    assert first_with(text, "with status 0") == wording
