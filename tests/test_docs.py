"""What docs/ tells is what works: its programs are run, its commands typed, its claims checked."""

import ast
import json
import os
import re
import shlex
import shutil
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any

import click
import numpy as np
import pytest

from opcheck.backends.adapters import cmd
from opcheck.backends.adapters.cmd import NOT_RUN, PLACEHOLDERS, PROTOCOL, from_json, read_reply
from opcheck.backends.address import profiles
from opcheck.backends.connect import connect
from opcheck.backends.profile_fields import ProfileFields, RunFields
from opcheck.cli import group
from opcheck.dtypes import DTYPES
from opcheck.execution.saving import write_questions
from opcheck.graph.folders import KINDS, MAX_NAME, folder_name
from opcheck.model import Verdict
from opcheck.reading.validation import Fields
from opcheck.suite import load
from tests.asking import task_of
from tests.backends.runners.programs import command
from tests.expecting import error_of
from tests.inline import judged
from tests.miniatures import offer
from tests.shell import ROOT, program, shell
from tests.wording import Wording, lines_with

pytestmark = pytest.mark.processes

DOCS = ROOT / "docs"
EXAMPLES = ROOT / "examples"
PAGE = (DOCS / "writing-a-backend.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", PAGE, re.DOTALL)

posix = pytest.mark.skipif(os.name != "posix", reason="POSIX signals and terminals")

#: Three questions: an answer, a refusal with its legal twin, and a type that some programs lack.
MY_CASES = """
    op: Hardmax
    matrix: {opset: [13]}
    cases:
    - name: first_of_ties
      dtype: float32
      attrs: {axis: -1}
      inputs: {input: [[3, 3, 1], [3, 0, 3]]}
      expect: {output: [[1, 0, 0], [1, 0, 0]]}
    - name: axis_out_of_range
      dtype: float32
      attrs: {axis: 7}
      inputs: {input: [[3, 3, 1], [3, 0, 3]]}
      expect: {rejected: "axis is outside [-2, 1]", legal: {attrs.axis: 1}}
    - name: in_float64
      dtype: float64
      attrs: {axis: -1}
      inputs: {input: [[3, 3, 1], [3, 0, 3]]}
      expect: {output: [[1, 0, 0], [1, 0, 0]]}
"""
#: Every `opcheck run` in the page is about more cases than are needed here.
FEW = "my.yaml"


def block(start: str) -> str:
    """The one fenced block that begins with `start`."""
    (found,) = [text for _, text in BLOCKS if text.startswith(start)]
    return str(found)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder to work in, with a case file and a program `runner`."""
    (tmp_path / "my.yaml").write_text(dedent(MY_CASES), encoding="utf-8")
    runner = f'#!/bin/sh\nexec "{sys.executable}" "{EXAMPLES}/one_shot.py" "$@"\n'
    program(tmp_path / "runner", runner)
    return tmp_path


def test_every_block_is_tried() -> None:
    source = ast.parse(Path(__file__).read_bytes())
    tried = tuple(
        node.args[0].value
        for node in ast.walk(source)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "block"
        and isinstance(node.args[0], ast.Constant)
    )
    assert [text for _, text in BLOCKS if not text.startswith(tried)] == []


def test_the_numbers_and_names_are_those_of_the_code() -> None:
    assert f"exit status {cmd.UNSUPPORTED}" in PAGE
    assert f"exit status {NOT_RUN}" in PAGE
    assert all(f"`{{{name}}}`" in PAGE for name in PLACEHOLDERS)
    assert all(f"`{kind}.txt`" in PAGE for kind in KINDS)
    assert f"more than {MAX_NAME} characters" in PAGE
    assert re.findall(r"(\S+) is the version", PAGE) == [str(PROTOCOL)]
    shown, name = re.findall(r"`(Hardmax/ties@\S+)` is `(\S+)`", PAGE)[0]
    assert folder_name(shown) == name


@pytest.mark.parametrize(
    ("file", "text", "command", "shown"),
    [
        (
            "my_backend.py",
            block("# my_backend.py"),
            block("opcheck run --op Hardmax -b py:"),
            r"py:my_backend:MyBackend\n─+\nHardmax +0 of 3$",
        ),
        (
            "my_session.py",
            block("# my_session.py"),
            block("opcheck run --op Hardmax --opset 13 --dtype"),
            r"py:my_session:MySession\n─+\nHardmax +0 of 2$",
        ),
        (
            "my_onnx.py",
            block("# my_onnx.py"),
            block("opcheck run --op Hardmax -b onnx:"),
            r"MyOnnx\n─+\nHardmax +0 of 3$",
        ),
    ],
    ids=["class", "runtime that takes models", "ONNX's interface"],
)
def test_what_is_written_in_python_is_a_backend(folder, file, text, command, shown):
    (folder / file).write_text(text)
    status, printed = shell(folder, command, FEW)
    assert re.search(shown, printed, re.M), printed
    assert status == 0


@pytest.mark.gate
@posix
def test_a_program_in_cpp_is_a_backend(folder: Path) -> None:
    if not shutil.which("g++"):
        pytest.skip("not installed: g++, which compiles examples/one_shot.cpp")
    shutil.copy(EXAMPLES / "one_shot.cpp", folder)
    header = (EXAMPLES / "one_shot.cpp").read_text().replace("//   ", "")
    assert block("g++") in header
    status, printed = shell(folder, block("g++"), "--opset 13 -k worked_example -v")
    assert "exit 0: conforms: " in printed, printed
    assert re.search(r"data type 1\d", printed), printed
    assert status == 0


@posix
@pytest.mark.parametrize("environment", ["here", "another"])
def test_a_program_asked_in_lines_is_a_backend(
    folder: Path, environment: str, wording: Wording
) -> None:
    shutil.copy(EXAMPLES / "persistent.py", folder)
    # Of another environment the page needs its Python alone, which sees nothing of opcheck.
    python = f'#!/bin/sh\nunset PYTHONPATH\nexec "{sys.executable}" "$@"\n'
    (folder / "engine").mkdir()
    program(folder / "engine" / "bin" / "python", python)
    here = block("opcheck run --op Hardmax -b 'cmd:python3")
    another = block("opcheck run --op Hardmax -b 'cmd:engine")
    status, printed = shell(folder, here if environment == "here" else another, FEW)
    assert lines_with(printed, "exit 0: ") == wording
    assert status == 0


def test_the_lines_shown_are_those_that_are_spoken(tmp_path: Path, wording: Wording) -> None:
    cmd.read_hello(block('{"opcheck"').encode())
    prepare, ready, run, outputs = [json.loads(line) for line in block('{"id": 1').splitlines()]
    assert read_reply(json.dumps(ready).encode(), prepare["id"], "ready") == ("ready", True)
    _, (y,) = read_reply(json.dumps(outputs).encode(), run["id"], "outputs")
    (x,) = run["inputs"]
    assert from_json(x, "x").tolist() == [1, -2]
    assert from_json(y, "y").tolist() == [1, 0]
    (reason,) = re.findall(r'`(\{"id": 1, "unsupported".*?\})`', PAGE)
    assert read_reply(reason.encode(), 1, "ready") == ("unsupported", "no kernel for float64")
    log = tmp_path / "log"
    text = f"""
        import json, sys
        print('{{"opcheck": 1, "name": "x", "version": ""}}', flush=True)
        with open({str(log)!r}, "w") as log:
            for line in sys.stdin:
                log.write(line)
                log.flush()
                print(json.dumps({{"id": json.loads(line)["id"], "ready": True}}), flush=True)
    """
    prepared = connect(f"cmd:{command(tmp_path, text)}").prepare(
        task_of("Hardmax", 13, {"axis": 0}, np.zeros(2, np.float32))
    )
    error = error_of(cmd.BrokenProtocol, prepared.run, [np.zeros(2, np.float32)])
    assert error == wording
    said = [json.loads(line) for line in log.read_text().splitlines()]
    assert _form(said) == _form([prepare, run])


def _form(value: Any) -> Any:
    """Keys and types, without what is said."""
    if isinstance(value, dict):
        return {key: _form(item) for key, item in value.items()}
    return [_form(item) for item in value] if isinstance(value, list) else type(value)


def test_the_types_of_tensors_are_named() -> None:
    (names,) = re.findall(r"A tensor has `dtype` \(`(.*?)`\)", PAGE)
    assert set(names.split()) - {"…"} < set(DTYPES)


#: Programs that do here what ssh, scp and adb do elsewhere.
ELSEWHERE = {
    "ssh": '[ ! -e off ] || exit 255\n[ "$1" = -n ] && [ "$2" = board ] || exit 255\nsh -c "$3"',
    "scp": 'o=$1; shift; case $o in -qr) f=-r ;; esac\neval "cp $f $(echo "$@" | sed s/board://g)"',
    "adb": """
        [ ! -e off ] || { echo "error: no devices/emulators found" >&2; exit 1; }
        do=$1; shift
        case $do in
            shell) exec sh -c "$1" ;;
            *) cp -r "$@"; echo "1 file pushed" ;;
        esac
    """,
}


@pytest.fixture(params=["ssh", "adb"])
def device(request: pytest.FixtureRequest, folder: Path) -> Path:
    """The folder, with the page's script and a device to connect to."""
    for name, text in ELSEWHERE.items():
        program(folder / "bin" / name, "#!/bin/sh\n" + dedent(text))
    text = block("#!/bin/sh").replace("/opt/runner", str(folder / "runner"))
    text = text.replace("/tmp/opcheck.$$", f"{folder}/there.$$")
    if request.param == "adb":
        text = re.sub(r"^(\w+\(\)) .*# adb: (.*)$", r"\1 { \2; }", text, flags=re.M)
        assert text.count("adb ") == 3
    program(folder / "on_device", text)
    return folder


def outcomes(device: Path, monkeypatch: pytest.MonkeyPatch) -> list[tuple[Verdict, str]]:
    """What comes of the three cases with the page's command, without processes of opcheck."""
    words = shlex.split(block("opcheck run --op Hardmax -b 'cmd:./on_device"))
    address = words[words.index("-b") + 1]
    monkeypatch.chdir(device)
    monkeypatch.setenv("PATH", f"{device}/bin{os.pathsep}{os.environ['PATH']}")
    found = list(judged(load([device / "my.yaml"]), [connect(address)]))
    assert not [*device.glob("there.*")], "the folder on the device was left there"
    return [(result.verdict, result.reason) for result in found]


@pytest.mark.gate
@posix
def test_a_device_behind_a_script_is_a_backend(device, monkeypatch):
    found = [verdict for verdict, _ in outcomes(device, monkeypatch)]
    assert found == [Verdict.PASS, Verdict.PASS, Verdict.UNSUPPORTED]


@posix
def test_a_crash_on_the_device_is_one(
    device: Path, monkeypatch: pytest.MonkeyPatch, wording: Wording
) -> None:
    program(device / "runner", "#!/bin/sh\nkill -SEGV $$\n")
    found = outcomes(device, monkeypatch)
    assert [verdict for verdict, _ in found] == [Verdict.CRASH] * 3
    # What follows is what the device's shell says.
    [reason] = {reason.partition(": ")[0] for _, reason in found}
    assert reason == wording


@posix
def test_a_device_that_is_gone_was_not_run(device: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (device / "off").touch()
    assert {verdict for verdict, _ in outcomes(device, monkeypatch)} == {Verdict.NOT_RUN}


@posix
@pytest.mark.parametrize("device", ["ssh"], indirect=True)
def test_the_command_for_a_device_is_one(device: Path, wording: Wording) -> None:
    (device / "off").touch()
    _, printed = shell(device, block("opcheck run --op Hardmax -b 'cmd:./on_device"), FEW)
    assert lines_with(printed, "exit 4: ") == wording


@posix
def test_outputs_computed_elsewhere_are_judged(folder: Path, wording: Wording) -> None:
    judge = block("opcheck run my.yaml -b saved:questions")
    status, printed = shell(
        folder, block("opcheck list my.yaml --save-questions") + block("for case in") + judge
    )
    assert lines_with(printed, "exit 0: ") == wording
    assert status == 0


@posix
@pytest.mark.parametrize(
    "runner", ["exit 99", "echo oh >&2; kill -SEGV $$", "exit 0"], ids=["gone", "crash", "empty"]
)
def test_what_was_not_computed_elsewhere_is_not_run(folder, runner, monkeypatch):
    program(folder / "runner", f"#!/bin/sh\n{runner}\n")
    monkeypatch.chdir(folder)
    cases = load([folder / "my.yaml"])
    write_questions(folder / "questions", cases)
    shell(folder, block("for case in"))
    found = judged(cases, [connect("saved:questions")])
    assert {result.verdict for result in found} == {Verdict.NOT_RUN}


def test_what_opcheck_ran_itself_is_judged_later(folder: Path) -> None:
    status, printed = shell(folder, block("opcheck run my.yaml -b onnxruntime"))
    assert printed.count("exit 0: conforms: 2 results, nothing unexpected; 1 unsupported") == 2
    assert status == 0


def test_a_package_brings_its_backend(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = tomllib.loads(block('[project.entry-points."opcheck.backends"]'))
    ((name, value),) = project["project"]["entry-points"]["opcheck.backends"].items()
    module = value.partition(":")[0].split(".")
    package = folder / "site" / module[0]
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / f"{module[1]}.py").write_text(block("# my_backend.py"))
    offer(folder / "site", "mylib", f"{name} = {value}")
    monkeypatch.setenv("PYTHONPATH", str(folder / "site"))
    status, printed = shell(folder, f"opcheck run -b {name}", FEW)
    assert re.search(r"mylib 1\.5\n─+\nHardmax +0 of 3$", printed, re.M), printed
    assert status == 0
    _, printed = shell(folder, f"opcheck backends {name}")
    assert "mylib" in printed


def test_profiles_are_read_as_they_are_shown(folder: Path) -> None:
    (folder / "opcheck.toml").write_text(block("[backends.npu]"))
    found = profiles(folder)
    npu, threads = found["npu"], found["two_threads"]
    assert str(npu.address) == "cmd:./on_device {model} {inputs} {outputs}?accumulate=float16"
    assert (npu.timeout, npu.memory_limit) == (120, 2 << 30)
    assert dict(npu.environment) == {"ANDROID_SERIAL": "emulator-5554"}
    assert str(threads.address) == "onnxruntime?threads=2"
    status, printed = shell(folder, "opcheck run -b two_threads", FEW)
    assert "exit 0: conforms" in printed
    assert status == 0


def test_a_breakpoint_in_a_backend_has_the_terminal(folder: Path) -> None:
    backend = (EXAMPLES / "my_backend.py").read_text(encoding="utf-8")
    head = "    def prepare(self, task):\n"
    assert head in backend
    (folder / "my_backend.py").write_text(backend.replace(head, f"{head}        breakpoint()\n"))
    (folder / "debug.py").write_text(block("# debug.py"))
    command = block("python debug.py").strip().replace("python", "python3")
    status, printed = shell(folder, f"printf 'p task.case\nc\n' | {command}")
    assert "(Pdb) 'Softmax/worked_example@opset=13,dtype=float32'" in printed
    assert "(Pdb) PASS object:MyBackend" in printed
    assert status == 0


def test_a_program_is_debugged_on_files_of_the_case(folder: Path) -> None:
    # Whatever debugger there is, it starts this program on these files.
    commands = block("opcheck list --case").replace("gdb --args ", "")
    status, printed = shell(folder, f"set -e\n{commands}ls test_data_set_0")
    assert printed.splitlines()[-2:] == ["input_0.pb", "output_0.pb"]
    assert status == 0


def keys_of_table(title: str) -> set[str]:
    """The words in code in the first column of the table of a section."""
    section = PAGE[PAGE.index(f"## {title}\n") :].partition("\n## ")[0]
    cells = re.findall(r"^\| (`[^|]+`) \|", section, re.M)
    return {key for cell in cells for key in re.findall(r"`(\w+)`", cell)}


@pytest.mark.parametrize(
    ("title", "fields"), [("Profiles", ProfileFields), ("Defaults of a run", RunFields)]
)
def test_every_key_of_the_settings_is_in_a_table(title: str, fields: type[Fields]) -> None:
    assert keys_of_table(title) == set(fields.model_fields)


def test_defaults_of_a_run_are_printed_as_the_page_shows(folder: Path) -> None:
    (folder / "opcheck.toml").write_text(block("[run]\n") + block("[backends.npu]"))
    # The ledger, which is not there, is the last of the defaults, and named in its own folder.
    _, printed = shell(folder, "CI= opcheck run my.yaml --known none.yaml")
    defaults = block("opcheck: opcheck.toml: [run]").partition(", known")[0]
    assert defaults in printed


HELP = {"help_option_names": ["-h", "--help"]}
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "cases" / "README.md"]
PAGES += sorted((ROOT / "docs").glob("*.md"))
_FENCED = re.compile(r"^```[a-z]*\n(.*?)^```", re.DOTALL | re.MULTILINE)
_INLINE = re.compile(r"`(opcheck [^`\n]+)`")
_COMMAND = re.compile(r"^(?:\$ )?(?:\S*/)?opcheck (?P<words>.*)", re.MULTILINE)
#: What a shell makes of a line is no matter of opcheck's.
_SHELL = {"&&", "||", "|", ">", ";", "&"}


def commands(page: Path) -> Iterator[list[str]]:
    """The words behind `opcheck` in fenced blocks and in code within lines."""
    text = page.read_text(encoding="utf-8")
    for block in _FENCED.findall(text):
        joined = block.replace("\\\n", " ").replace("&& ", "\n").replace("; ", "\n")
        yield from (_words(found["words"]) for found in _COMMAND.finditer(joined))
    # Within a line `…` stands for anything.
    inline = (found.removeprefix("opcheck ") for found in _INLINE.findall(_FENCED.sub("", text)))
    # A word alone is the name of a command.
    yield from (_words(words) for words in inline if "…" not in words and " " in words)


def _words(line: str) -> list[str]:
    words = shlex.split(line, comments=True)
    end = next((n for n, word in enumerate(words) if word in _SHELL), len(words))
    return words[:end]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_shows_commands_and_options_that_there_are(page: Path) -> None:
    wrong = []
    for words in commands(page):
        context = click.Context(group.program)
        command = group.program.get_command(context, words[0]) if words else None
        if command is None:
            wrong.append(f"{words[:1]} is no command")
            continue
        if isinstance(command, click.Group) and len(words) > 1:
            inner = command.get_command(click.Context(command), words[1])
            if inner is None:
                wrong.append(f"{words[:2]} is no command")
            if inner is None or not words[2:]:
                continue
            command, words = inner, words[1:]
        try:
            # As the program makes it: a command remembers the first help option it had.
            command.make_context(words[0], words[1:], parent=click.Context(group.program, **HELP))
        except click.exceptions.Exit:  # --help
            continue
        except click.UsageError as error:
            wrong.append(f"{shlex.join(words)}: {error.message}")
    assert wrong == []


def test_pages_have_commands_at_all() -> None:
    assert sum(1 for page in PAGES for _ in commands(page)) > 20
