"""`opcheck completion`: what a shell is offered at the tab key."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.shell_completion import CompletionItem, ShellComplete

from opcheck.backends import address, offers
from opcheck.cli import completion, values
from opcheck.cli.group import COMMANDS, COMPLETE_VARIABLE, program
from opcheck.report import FORMATS
from opcheck.suite import load

CASES = """\
op: Relu
opset: 14
matrix: {dtype: [float32, float16]}
clause: the rectified linear function, y = max(0, x), is applied to the tensor elementwise.
cases:
- {name: small, inputs: {X: [-1, 2]}, expect: {Y: [0, 2]}}
bench:
- {name: large, inputs: {X: {shape: [4000], uniform: [0, 1], seed: 1}}}
"""


def offered(*words: str) -> list[CompletionItem[str]]:
    """What completes the last word of a command line."""
    *before, incomplete = words
    shell = ShellComplete(program, {}, "opcheck", COMPLETE_VARIABLE)
    return shell.get_completions(before, incomplete)


def texts(*words: str) -> list[str]:
    return [item.value for item in offered(*words)]


def test_commands_come_with_their_lines() -> None:
    assert {item.value: item.help for item in offered("")} == {
        name: line for name, (_, line) in COMMANDS.items()
    }
    assert texts("ben") == ["bench"]


def test_options_of_a_command_are_offered() -> None:
    assert texts("run", "--max") == ["--max-fail"]
    assert "--help" in texts("--")


@pytest.mark.parametrize("command", ["run", "bench", "list", "mutate", "support"])
def test_operators_are_offered_wherever_they_are_selected(command: str) -> None:
    assert texts(command, "--op", "Softpl") == ["Softplus"]


def test_operators_of_all_domains_are_offered_in_order() -> None:
    operators = texts("run", "--op", "")
    assert {"Softmax", "TreeEnsemble", "Adam", "DML_CONVOLUTION"} <= {*operators}
    assert operators == sorted({*operators})


def test_an_operator_is_completed_after_a_comma_and_offered_once() -> None:
    assert texts("run", "--op", "Gelu,ReduceL") == [
        "Gelu,ReduceL1",
        "Gelu,ReduceL2",
        "Gelu,ReduceLogSum",
        "Gelu,ReduceLogSumExp",
    ]
    assert texts("run", "--op", "ReduceL1,ReduceL1") == []


def test_an_operator_is_completed_in_lower_case() -> None:
    assert texts("run", "--op", "softpl") == ["Softplus"]


def test_backends_are_all_kinds_with_a_colon_where_a_detail_must_follow(monkeypatch) -> None:
    monkeypatch.setattr(values, "_profiles", lambda _: [])
    choices, _ = offers.offers({})
    assert {item.value: bool(item.goes_on) for item in offered("run", "-b", "")} == {
        choice.name + ":" * choice.is_template: choice.is_template for choice in choices
    }
    assert values._ENTRY_POINTS == address.GROUP


@pytest.mark.parametrize(
    "words", [("run", "-b"), ("run", "-b", "numpy", "-b"), ("bench", "--base"), ("backends",)]
)
def test_a_profile_is_a_backend(words, monkeypatch, tmp_path: Path) -> None:
    (tmp_path / "opcheck.toml").write_text('[backends.npu]\naddress = "numpy"\n')
    below = tmp_path / "below"
    below.mkdir()
    monkeypatch.chdir(below)
    assert texts(*words, "np") == ["npu"]
    assert [*address.profiles(below)] == ["npu"]


def test_profiles_are_read_from_the_settings_file_that_is_named(monkeypatch, tmp_path) -> None:
    (tmp_path / "opcheck.toml").write_text('[backends.near]\naddress = "numpy"\n')
    table = '[tool.opcheck.backends.next_release]\naddress = "numpy"\n'
    (tmp_path / "pyproject.toml").write_text(table)
    monkeypatch.chdir(tmp_path)
    assert texts("run", "--config", "pyproject.toml", "-b", "ne") == ["next_release"]


def test_a_broken_settings_file_has_no_profiles(monkeypatch, tmp_path: Path) -> None:
    (tmp_path / "opcheck.toml").write_text("[backends.npu\n")
    monkeypatch.chdir(tmp_path)
    assert texts("run", "-b", "nu") == ["numpy"]


@pytest.mark.parametrize("words", [("run", "--case"), ("show",)])
def test_an_id_is_completed_in_two_steps(words) -> None:
    [first] = offered(*words, "Hardma")
    assert (first.value, first.goes_on) == ("Hardmax/", True)
    ids = [case.id for case in load(ops=["Hardmax"]) if case.id.startswith("Hardmax/worked")]
    assert texts(*words, "Hardmax/worked") == ids


def test_ids_are_those_of_files_on_the_command_line(tmp_path: Path) -> None:
    file = tmp_path / "cases.yaml"
    file.write_text(CASES)
    ids = ["Relu/small@dtype=float32", "Relu/small@dtype=float16"]
    assert texts("run", str(file), "--case", "") == ids
    assert texts("run", "-b", "numpy", str(file), "--case", "relu/s") == ids
    assert texts("bench", str(file), "--case", "") == [
        "Relu/large@dtype=float32",
        "Relu/large@dtype=float16",
    ]


def test_a_file_with_mistakes_has_no_ids(tmp_path: Path) -> None:
    file = tmp_path / "cases.yaml"
    file.write_text("op: Nothing\n")
    assert texts("run", str(file), "--case", "") == []
    assert texts("run", str(tmp_path / "absent.yaml"), "--case", "") == []


def test_element_types_and_report_formats_are_offered() -> None:
    assert texts("run", "--dtype", "bf") == ["bfloat16"]
    assert texts("run", "--report", "") == [f"{name}=" for name in FORMATS]
    [path] = offered("run", "--report", "json=ru")
    assert (path.type, path.value) == ("file", "json=ru")


IDS = [f"Hardmax/scalar@dtype={name}" for name in ("float16", "float64")]


@pytest.mark.parametrize(
    ("line", "last", "replies"),
    [
        ("opcheck run --op Softpl", "Softpl", ["plain,Softplus"]),
        ("opcheck run -b p", "p", ["goes-on,py:"]),
        ("opcheck ", "", [f"plain,{name}" for name in COMMANDS]),
        # Bash takes what follows `=` and `:` for a word of its own, but not in quotes.
        ("opcheck show Hardmax/scalar@dtype=float6", "float6", ["plain,float64"]),
        ("opcheck show Hardmax/scalar@dtype=", "=", ["plain,float16", "plain,float64"]),
        ("opcheck run --case=Hardmax/scalar@dtype=float6", "float6", ["plain,float64"]),
        ("opcheck show 'Hardmax/s", "'Hardmax/s", [f"plain,{id}" for id in IDS]),
        # The line ends at the cursor, which is inside of a word.
        ("opcheck run --op Softpl", "Softplus", ["plain,Softplus"]),
        ("opcheck show Hardmax/scalar@dtype=float6", "float64", ["plain,float64"]),
    ],
)
def test_bash_is_offered_what_follows_its_own_last_word(
    line: str, last: str, replies: list[str], monkeypatch
) -> None:
    monkeypatch.setattr(values, "_ids", lambda *_, **__: IDS)
    monkeypatch.setenv("COMP_LINE", line)
    monkeypatch.setenv("COMP_LAST", last)
    shell = completion.SHELLS["bash"](program, {}, "opcheck", COMPLETE_VARIABLE)
    assert shell.complete().splitlines() == replies


@pytest.mark.parametrize("shell", completion.SHELLS)
def test_a_script_is_one_that_its_shell_reads(run, shell: str, tmp_path: Path) -> None:
    script = run("completion", shell, code=0).stdout
    assert f"{COMPLETE_VARIABLE}={shell}_complete" in script
    if shutil.which(shell) is None:
        pytest.skip(f"not installed: {shell}")
    (tmp_path / "script").write_text(script)
    subprocess.run([shell, "-n", "script"], cwd=tmp_path, check=True)


@pytest.mark.processes
@pytest.mark.skipif(shutil.which("bash") is None, reason="not installed: bash")
def test_bash_asks_opcheck_and_shows_what_it_answers(run, tmp_path: Path) -> None:
    (tmp_path / "script").write_text(run("completion", "bash", code=0).stdout)
    ask = """
        source ./script
        COMP_LINE="opcheck run -b onnx" COMP_POINT=19 COMP_WORDS=(opcheck run -b onnx) COMP_CWORD=3
        _opcheck_completion opcheck 2>/dev/null
        printf '%s\\n' "${COMPREPLY[@]}"
    """
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    asked = subprocess.run(
        ["bash", "--norc", "-c", ask],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert asked.stdout.split() == ["onnx:", "onnxruntime"]


def test_an_unknown_shell_is_named(run) -> None:
    assert "'fish'" in run("completion", "tcsh", code=2).stderr
