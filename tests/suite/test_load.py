import copy
import multiprocessing
import os
import random
import signal
import struct
import sys
import time
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, strategies as st

from opcheck import interrupt, opset
from opcheck.diagnose.suspects import cell_of
from opcheck.dtypes import BASIC, DTYPES
from opcheck.errors import CaseFileError, Problem
from opcheck.model import Case, OpVersion, Rejected
from opcheck.reading import read_file
from opcheck.suite import Selection, case_digest, load, load_all
from opcheck.suite.select import LEVELS
from tests.asking import at, judged_operators, places_in, shipped_cases
from tests.examples import examples
from tests.suite.conftest import Mistake, ProblemsOf
from tests.suite.test_expand import EXAMPLE
from tests.suite.test_expectation import TOPK
from tests.wording import Wording

pytestmark = pytest.mark.reads_all_suites

OF_HARDMAX = "opset: 13, dtype: float32, attrs: {axis: 0}, inputs: {input: [1]}"

ONE = """op: Hardmax
opset: 13
dtype: float32
attrs: {axis: 0}
inputs: {input: [1, 2]}
cases:
- {name: NAME}
"""


def refused(*paths: Path) -> list[str]:
    with pytest.raises(CaseFileError) as caught:
        load(paths)
    assert caught.value.exit_code == 2
    return [str(problem) for problem in caught.value.problems]


def write(path: Path, name: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(ONE.replace("NAME", name))
    return path


#: Types that newer tables of DirectML's pages have, or that are open: neither computed nor refused.
NEWER = {
    "DML_ELEMENT_WISE_ABS": "int64",
    "DML_ELEMENT_WISE_MEAN": "int32 uint32",
    "DML_ELEMENT_WISE_DEQUANTIZE_LINEAR": "uint32",
    "DML_ELEMENT_WISE_THRESHOLD": "int8 int16 int32 uint8 uint16 uint32",
} | dict.fromkeys(
    (f"DML_ELEMENT_WISE_BIT_{name}" for name in "AND NOT OR XOR".split()),
    "float16 float32 float64 int8 int16 int32 int64 uint64",
)


def test_every_type_that_an_operator_lacks_is_a_case_of_the_shipped_suites() -> None:
    refused_types: dict[OpVersion, set[str]] = {}
    for case in shipped_cases():
        if isinstance(case.expect, Rejected):
            dtype = cell_of(case).dtype
            refused_types.setdefault(case.op, set()).update([DTYPES[dtype].text] if dtype else [])
    assert refused_types.keys() == {
        OpVersion(one.domain, one.name, since)
        for one in judged_operators()
        for since in one.formulas
    }
    for op, types in refused_types.items():
        schema = opset.describe(op.domain, op.name, op.since)
        assert schema is not None
        # Without an input a number names the type, and there are more numbers than types.
        newer = {DTYPES[name].text for name in NEWER.get(op.name, "").split()}
        assert not (schema.inputs or schema.by_value) or types | schema.typed.types | newer >= {
            dtype.text for dtype in BASIC.values()
        }


@pytest.mark.parametrize(
    ("ops", "those"),
    [("Hardmax", "Hardmax"), ("hardmax LOGSOFTMAX", "Hardmax LogSoftmax"), ("Hardmxa", "")],
)
def test_the_shipped_cases_of_some_operators_are_read_alone(ops, those, monkeypatch, tmp_path):
    for op in ("Hardmax", "LogSoftmax", "Softmax"):
        path = write(tmp_path / f"{op}.yaml", "a")
        path.write_text(path.read_text().replace("Hardmax", op))
    files: list[str] = []

    def read(path: Path, problems: Any) -> Any:
        files.append(path.stem)
        return read_file(path, problems)

    module: Any = sys.modules["opcheck.suite.load"]
    monkeypatch.setattr(module, "read_file", read)
    monkeypatch.setattr(module, "shipped_suites", lambda: tmp_path)
    # Another test may have asked for the same.
    monkeypatch.setattr(module, "_shipped", module._shipped.__wrapped__)
    monkeypatch.setattr(module.cache, "read", lambda _: None)
    assert [case.op.name for case in load((), ops.split())] == those.split() == files


def test_a_command_reads_the_levels_it_asks_for_and_all_to_find_an_opset(monkeypatch):
    read: list[Any] = []
    module: Any = sys.modules["opcheck.suite.load"]
    monkeypatch.setattr(module, "load", lambda *asked: read.append(asked) or [])
    for opsets in ((), (13,)):
        load_all(selection=Selection(ops=("Relu",), opsets=opsets))
    assert read == [([], ("Relu",), ("smoke", "core")), ([], ("Relu",), LEVELS)]


def test_a_folder_is_searched_in_the_order_of_names(tmp_path: Path) -> None:
    write(tmp_path / "b.yml", "second")
    write(tmp_path / "a" / "(deep)" / "-x.yaml", "first")
    write(tmp_path / "E.YAML", "zeroth")
    write(tmp_path / "c.yaml", "third")
    write(tmp_path / "d.Yml", "fourth")
    write(tmp_path / "c.txt", "never")
    (tmp_path / "folder.yaml").mkdir()
    assert [c.name for c in load([tmp_path])] == ["zeroth", "first", "second", "third", "fourth"]


def test_linked_folders_are_searched_and_may_lead_back(tmp_path: Path) -> None:
    write(tmp_path / "elsewhere" / "x.yaml", "linked")
    suite = tmp_path / "suite"
    write(suite / "y.yaml", "own")
    (suite / "a").symlink_to(tmp_path / "elsewhere")
    (suite / "b").symlink_to(tmp_path / "elsewhere")
    (suite / "up").symlink_to(suite)
    (tmp_path / "elsewhere" / "back").symlink_to(suite)
    found = load([suite])
    assert [case.name for case in found] == ["linked", "own"]
    assert found[0].source.file == str(suite / "a" / "x.yaml")


def test_what_is_hidden_is_not_searched(tmp_path: Path) -> None:
    write(tmp_path / "a.yaml", "seen")
    write(tmp_path / ".venv" / "b.yaml", "hidden")
    write(tmp_path / ".c.yaml", "hidden")
    (tmp_path / ".gone.yaml").symlink_to("nowhere")
    (tmp_path / "hidden").mkdir()
    assert [case.name for case in load([tmp_path])] == ["seen"]


@pytest.mark.parametrize("name", ["a.clauses.yaml", "a.part.equivalent.yml"])
def test_clauses_and_arguments_in_a_folder_are_not_cases(tmp_path: Path, name: str) -> None:
    write(tmp_path / "a.yaml", "one")
    (tmp_path / name).write_text("op: Hardmax\nsentences:\n- {sentence: The, cases: [one]}\n")
    assert [case.name for case in load([tmp_path])] == ["one"]


@pytest.mark.parametrize("name", ["a.clauses.yaml", "a.part.equivalent.yml"])
@pytest.mark.parametrize("is_named", [False, True])
def test_a_case_file_that_is_named_like_clauses_is_refused(tmp_path, name, is_named) -> None:
    write(tmp_path / "a.yaml", "one")
    path = write(tmp_path / name, "passed_over")
    [problem] = refused(path if is_named else tmp_path)
    assert problem.startswith(f"{path}: ")


@pytest.mark.parametrize("name", ["gone.yaml", "gone", "loop.yaml"])
def test_a_link_in_a_folder_that_leads_nowhere_is_told(tmp_path: Path, name: str) -> None:
    write(tmp_path / "a.yaml", "one")
    (tmp_path / name).symlink_to("loop.yaml" if name == "loop.yaml" else "nowhere")
    message = "this link leads to nothing that can be read"
    assert refused(tmp_path) == [f"{tmp_path / name}: {message}"]


def test_a_pipe_in_a_folder_is_told(tmp_path: Path, wording: Wording) -> None:
    os.mkfifo(tmp_path / "x.yaml")
    assert refused(tmp_path) == [wording]


def test_a_folder_below_that_cannot_be_read_is_told(tmp_path, monkeypatch, wording):
    write(tmp_path / "a.yaml", "one")
    locked = tmp_path / "locked"
    locked.mkdir()
    scan = os.scandir

    def refusing(path: Any) -> Any:
        if Path(path) == locked:
            raise PermissionError(13, "Permission denied", str(path))
        return scan(path)

    # Root may read every folder, so the system is made to refuse this one.
    monkeypatch.setattr(os, "scandir", refusing)
    assert refused(tmp_path) == [wording]


def test_paths_keep_their_order_and_any_ending_will_do_for_a_file(tmp_path: Path) -> None:
    one, two = write(tmp_path / "b.yaml", "one"), write(tmp_path / "a.txt", "two")
    assert [case.name for case in load([one, two])] == ["one", "two"]


def test_a_file_named_twice_is_loaded_once(tmp_path: Path) -> None:
    path = write(tmp_path / "a" / "f.yaml", "one")
    (tmp_path / "link.yaml").symlink_to(path)
    paths = [path, path, tmp_path, tmp_path / "a" / ".." / "a" / "f.yaml", tmp_path / "link.yaml"]
    assert len(load(paths)) == 1


def test_ids_are_unique_across_files_whatever_their_capitals(
    tmp_path: Path, wording: Wording
) -> None:
    write(tmp_path / "a.yaml", "one")
    rows = "rows: [{label: X}, {label: x}]"
    (tmp_path / "b.yaml").write_text(ONE.replace("{name: NAME", f"{{name: one, {rows}"))
    write(tmp_path / "c.yaml", "one")
    assert refused(tmp_path) == [wording, wording]


@pytest.mark.parametrize("wrong", ["rule: maybe", "opset: 99", "matrix: {dtype: [x]}"])
def test_cases_of_one_id_are_told_with_what_is_wrong_in_one(wrong, tmp_path, wording):
    path = write(tmp_path / "a.yaml", "one")
    path.write_text(f"{path.read_text()}- {{name: one, {wrong}}}\n")
    found = refused(path)
    of_both = [line for line in found if f"{path}:7:3" in line]
    # What a wrong matrix would make of the id is unknown.
    if "matrix" in wrong:
        assert (len(found), of_both) == (1, [])
    else:
        assert (len(found), of_both) == (2, found[:1])
        assert found[0].startswith(f"{path}:8:3: ")
        assert found[0] == wording


def test_a_folder_without_case_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").touch()
    message = (
        "neither case files nor test data in this folder"
        " (case files end in .yaml, a test is a folder with a model.onnx)"
    )
    assert refused(tmp_path) == [f"{tmp_path}: {message}"]


def test_paths_that_no_file_can_have_are_refused(tmp_path: Path, wording: Wording) -> None:
    (tmp_path / "loop.yaml").symlink_to("loop.yaml")
    for path in (tmp_path / "loop.yaml", Path("a" * 5000), Path("a\0b")):
        (problem,) = refused(path)
        assert problem == wording


# What else is no YAML is told in tests/reading/test_reader.py.
@pytest.mark.parametrize(
    ("data", "place"),
    [
        (b"", "1:1"),
        (b"[1]", "1:1"),
        (b"just words", "1:1"),
        (b"op: a\0b", "1:6"),
        (b"op: Hardmax\nop: Relu\ncases: []", "2:1"),
        (b"op: {]", "1:6"),
    ],
)
def test_a_file_that_is_no_case_file_is_refused(tmp_path, data, place, wording):
    path = tmp_path / "f.yaml"
    path.write_bytes(data)
    first = refused(path)[0]
    assert first.startswith(f"{path}:{place}: ")
    assert first == wording


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("»cases: [{name: a}]", "'op' is missing"),
        ("»op: Hardmax", "'cases' is missing"),
        ("op: Hardmax\ncases: »[]", "cases: must hold at least 1"),
        ("op: Hardmax\ncases: »null", "cases: must be a list, got null (write - name: …)"),
        ("op: Hardmax\ncases: »{a: 1}", "cases: must be a list, got a mapping (write - name: …)"),
        ("op: Hardmax\ncases: [»7]", "must be a mapping, got 7"),
        ("op: Hardmax\ncases: [»null]", "must be a mapping, got null"),
        ("op: Hardmax\ncases: [»{opset: 1}]", "'name' is missing"),
        ("op: Hardmax\ncases: [{name: »A b}]", "name: must match ^[a-z][a-z0-9_]*$, got 'A b'"),
        ("op: Hardmax\ncases: [{name: »3}]", "name: must be a text, got 3"),
        (
            f"op: »Hardmx\ncases: [{{name: a, {OF_HARDMAX}}}]",
            "unknown operator 'Hardmx' (did you mean 'Hardmax'?)",
        ),
        (
            "op: »DML_ACTIVATION_HARDMAX1\ncases: [{name: a, opset: 1, dtype: float32, "
            "attrs: {Axes: [0]}, inputs: {InputTensor: [1]}}]",
            "unknown operator 'DML_ACTIVATION_HARDMAX1' (it is one of domain 'com.microsoft.dml')",
        ),
        (
            f"op: »Hardmax\ndomain: com.microsoft.dml\ncases: [{{name: a, {OF_HARDMAX}}}]",
            "unknown operator 'Hardmax' (it is one of domain '')",
        ),
        ('op: »"\\e[31m"\ncases: [{name: a}]', r"unknown operator '\x1b[31m'"),
        (f"op: »{'x' * 100_000}\ncases: [{{name: a}}]", f"unknown operator '{'x' * 59}…'"),
        ("op: »3\ncases: [{name: a}]", "op: must be a list, got 3 (NAME, or [NAME, NAME])"),
        ("op:» \ncases: [{name: a}]", "op: must be a list, got null (NAME, or [NAME, NAME])"),
        ("op: Hardmax\ndomain: »3\ncases: [{name: a}]", "domain: must be a text, got 3"),
        (
            "op: Hardmax\n»opsett: 3\ncases: [{name: a, opset: 13, dtype: float32, "
            "attrs: {axis: 0}, inputs: {input: 1}}]",
            "unknown key 'opsett' (did you mean 'opset'?)",
        ),
        (
            "op: Hardmax\n»'<tensor>': 3\ncases: [{name: a, opset: 13, dtype: float32, "
            "attrs: {axis: 0}, inputs: {input: 1}}]",
            "unknown key '<tensor>' (known: opset, dtype, attrs, inputs, expect, tolerance, rule, "
            "level, core, timeout, clause, empty, op, domain, matrix, cases, bench)",
        ),
        ("op: Hardmax\ncases: [{name: a, rows: »[]}]", "rows: must hold at least 1"),
        ("op: Hardmax\ncases: [{name: a, rows: »3}]", "rows: must be a list, got 3"),
        (
            "op: Hardmax\ncases: [{name: a, rows: [»7]}]",
            "an item of rows: must be a mapping, got 7",
        ),
        (
            "op: Hardmax\ncases: [{name: a, opset: 13, dtype: float32, inputs: {input: 1}, "
            "attrs: {axis: 0}, rows: [{»lable: x}]}]",
            "unknown key 'lable' (did you mean 'label'?)",
        ),
        (
            "op: Hardmax\ncases: [{name: a, opset: 13, dtype: float32, inputs: {input: 1}, "
            "attrs: {axis: 0}, rows: [{»matrix: {opset: [1]}}]}]",
            "unknown key 'matrix' (known: opset, dtype, attrs, inputs, expect, tolerance, rule, "
            "level, core, timeout, clause, empty, op, label)",
        ),
    ],
)
def test_one_mistake_is_one_problem_at_its_place(mistake: Mistake, text: str, message: str) -> None:
    mistake(text, message)


def test_an_unknown_domain_is_told_the_known_ones(problems: ProblemsOf, wording: Wording) -> None:
    text = f"op: Hardmax\ndomain: com.microsoft.dm\ncases: [{{name: a, {OF_HARDMAX}}}]"
    problem, other = problems(text.replace("axis", "axes"))
    assert other == wording
    assert problem.startswith("2:9: unknown domain 'com.microsoft.dm' (known: \"\", ")
    assert problem.endswith("(did you mean 'com.microsoft.dml'?)")


OF_A_FILE = """\
op: Hardmax
dtype: float32
opset: 13
levle: smoke
cases:
- {name: unknown_attribute, inputs: {input: [1, 2]}, attrs: {axes: 0}}
- {name: ragged, attrs: {axis: 0}, inputs: {input: [[1, 2], [3]]}}
- name: old_bfloat16
  opset: 11
  attrs: {axis: 0}
  inputs: {input: {shape: [2], constant: 0, dtype: bfloat16}}
- {name: negative_tolerance, attrs: {axis: 0}, inputs: {input: 1}, tolerance: {rtol: -0.5}}
"""


@pytest.mark.parametrize(
    ("text", "found"),
    [
        # Of no operator, or of one that need not be meant, nothing more is known.
        (
            "op: [Zzzz, Qqqq]\nmatrix: {opset: all, dtype: all}\n"
            "cases: [{name: a, inputs: {x: [1]}}]",
            ["1:6: unknown operator 'Zzzz'", "1:12: unknown operator 'Qqqq'"],
        ),
        (
            "op: MatMulNBits\ncases: [{name: a, opset: 13, attrs: {K: 1}, inputs: {A: [1]}}]",
            ["1:5: unknown operator 'MatMulNBits' (did you mean 'MatMul'?)"],
        ),
        # A domain that is unknown hides no operator.
        (
            "domain: ai.onnx.mll\nop: [Normalizr, Hardmax]\ncases: [{name: a}]",
            ["1:9: unknown domain 'ai.onnx.mll'", "2:6: unknown operator 'Normalizr'"],
        ),
    ],
)
def test_nothing_is_said_of_an_operator_that_nobody_named(problems: ProblemsOf, text, found):
    said = [one for one in problems(text) if "is not stated" not in one and "needs" not in one]
    assert len(said) == len(found), said
    assert all(one.startswith(start) for one, start in zip(said, found, strict=True)), said


@pytest.mark.parametrize(
    ("old", "new", "other"),
    [
        ("13", "13", []),
        # What is meant is checked, and what is nearest.
        ("Hardmax", "Hardmx", ["1:5"]),
        ("13", "99", ["3:8"]),
        ("13", "x", ["3:8"]),
    ],
)
def test_all_mistakes_are_told_in_one_go(
    problems: ProblemsOf, wording: Wording, old, new, other
) -> None:
    found = problems(OF_A_FILE.replace(old, new))
    places = {problem.partition(": ")[0] for problem in found}
    assert len(places) == len(found)
    assert places == {"4:1", "6:62", "7:61", "11:52", "12:86", *other}
    # The newest opset is of the release of onnx.
    newest = f" {opset.newest('')}"
    assert [problem.removesuffix(newest) for problem in found] == wording


@pytest.mark.parametrize(
    ("entry", "found"),
    [
        (
            "name: First Maximum, attrs: {axes: 0}, inputs: {input: [[1], 2]}",
            ["16: name: must match", "39: 'axes' is not an attribute", "71: input: ragged"],
        ),
        (
            "nam: a, attrs: {axes: 0}, inputs: {inptu: [1]}",
            [
                "10: unknown key 'nam'",
                "26: 'axes' is not an attribute",
                "45: 'inptu' is not an input",
            ],
        ),
        (
            "name: a, dtype: flt, inputs: {input: [[1], 2]}",
            ["26: dtype: unknown", "53: input: ragged"],
        ),
        (
            "name: a, attrs: {axis: 9}, inputs: {input: [1]},"
            " expect: {rejectd: x, legal: {axis: 0}}",
            ["68: 'rejectd' is not an output", "88: unknown key 'axis'"],
        ),
        (
            "name: a, attrs: {axes: 0}, inputs: {input: [1]}, expect: {output: {valu: 1}}",
            ["27: 'axes' is not an attribute", "77: unknown key 'valu'"],
        ),
    ],
)
def test_a_mistake_in_a_case_hides_no_other(problems: ProblemsOf, entry, found) -> None:
    told = problems(f"op: Hardmax\nopset: 13\ndtype: float32\ncases: [{{{entry}}}]")
    assert len(told) == len(found), told
    assert all(map(str.startswith, told, (f"4:{one}" for one in found))), told


def test_the_mistakes_of_all_files_are_told_in_one_go(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("op: Hardmx\ncases: [{name: A}]")
    (tmp_path / "b.yaml").write_text("{")
    write(tmp_path / "c.yaml", "fine")
    (tmp_path / "d.yaml").write_text(ONE.replace("axis", "axes"))
    files = [problem.partition(":")[0] for problem in refused(tmp_path, tmp_path / "e.yaml")]
    assert files == [str(tmp_path / f"{name}.yaml") for name in "aabdde"]


FAMILY = """\
op: [Neg, Abs, Floor]
matrix: {opset: [13]}
dtype: float32
cases:
- name: by_hand
  op: [Neg, Abs]
  inputs: {X: [1, -2]}
  rows: [{op: Neg, expect: {Y: [-1, 2]}}, {op: Abs, expect: {Y: [1, 2]}}]
- {name: zeros, inputs: {X: [0]}}
"""


@pytest.fixture
def readers(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module that loads, on two processors, with the command line's handlers of signals."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    monkeypatch.setattr(interrupt, "_asked", False)
    numbers = signal.SIGINT, signal.SIGTERM
    before = [signal.signal(number, interrupt._handle) for number in numbers]
    yield sys.modules["opcheck.suite.load"]
    for number, handler in zip(numbers, before, strict=True):
        signal.signal(number, handler)
    assert not multiprocessing.active_children()


@pytest.mark.parametrize("dies", [False, True])
@pytest.mark.parametrize("wrong", ["", "bcd"])
def test_other_processes_read_what_one_reads(dies, wrong, tmp_path, readers, monkeypatch):
    """Where one dies, as for want of memory, the rest is read without them."""
    tensor = "{name: d, op: Constant, attrs: {value: {value: [1], dtype: bfloat16}}}"
    for name in "abcd":
        path = write(tmp_path / f"{name}.yaml", f"{name}, rule: maybe" if name in wrong else name)
    path.write_text(path.read_text().replace("{name: d}", tensor).replace("Hardmax", "Constant"))

    def found() -> object:
        try:
            cases = load([tmp_path])
        except CaseFileError as error:
            return error.problems
        (value,) = cases[-1].attrs.values()
        assert not value.flags.writeable
        return [(case_digest(case), case.source, case.clause, case.rule) for case in cases]

    alone, here, log = found(), os.getpid(), tmp_path / "log"

    def read(path: Path, problems: Any) -> Any:
        with log.open("a") as file:
            file.write(f"{os.getpid()}\n")
        if dies and path.stem == "c" and os.getpid() != here:
            os.kill(os.getpid(), signal.SIGKILL)
        return read_file(path, problems)

    monkeypatch.setattr(readers, "read_file", read)
    monkeypatch.setattr(readers, "_LONG", 0)
    assert found() == alone
    assert (str(here) in log.read_text().split()) is dies


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("stage", ["reading", "answering"])
def test_a_signal_ends_readers_at_once(stage, number, tmp_path, readers, monkeypatch):
    """What none has begun and half an answer are neither waited for nor an error of the pool."""
    for name in "abcdefghijklm":
        write(tmp_path / f"{name}.yaml", name)
    here, answering, send = os.getpid(), list[bool](), Connection._send_bytes

    def stall() -> None:
        with suppress(FileExistsError):
            (tmp_path / "first").touch(exist_ok=False)
            time.sleep(0.2)  # till the other process waits for this one
            os.kill(here, number)
        time.sleep(600)

    def read(path: Path, problems: Any) -> Any:
        if path.stem >= "d":
            answering.append(True) if stage == "answering" else stall()
        return read_file(path, problems)

    def answer(connection: Connection, data: bytes) -> None:
        if answering:
            os.write(connection.fileno(), struct.pack("!i", len(data)))
            stall()
        send(connection, data)

    def kill(process: BaseProcess) -> None:
        process.terminate()
        time.sleep(0.1)  # the pool sees it before it is closed

    monkeypatch.setattr(readers, "read_file", read)
    monkeypatch.setattr(readers, "_LONG", 0)
    monkeypatch.setattr(Connection, "_send_bytes", answer)
    monkeypatch.setattr(BaseProcess, "kill", kill)
    with pytest.raises(KeyboardInterrupt):
        load([tmp_path])


def test_a_signal_outweighs_an_error_that_it_may_have_caused(readers):
    with pytest.raises(KeyboardInterrupt), interrupt.shielded():  # noqa: PT012
        os.kill(os.getpid(), signal.SIGTERM)
        raise OSError


def test_ctrl_c_ends_reading_with_the_next_file(tmp_path, monkeypatch):
    write(tmp_path / "a.yaml", "name")
    monkeypatch.setattr(interrupt, "_asked", True)
    with pytest.raises(KeyboardInterrupt):
        load([tmp_path])


def test_cases_and_rows_of_a_file_are_of_all_its_operators_or_of_some(
    tmp_path: Path, wording: Wording
) -> None:
    file = tmp_path / "family.yaml"
    file.write_text(FAMILY, encoding="utf-8")
    assert [case.id.replace("@opset=13", "") for case in load([file])] == [
        "Neg/by_hand#1",
        "Neg/zeros",
        "Abs/by_hand#2",
        "Abs/zeros",
        "Floor/zeros",
    ]
    file.write_text(FAMILY.replace("op: Neg,", "op: Ngg,").replace("X: [0]", "X: [0], Y: 1"))
    unknown, other = refused(file)
    assert unknown == wording
    assert other == wording
    file.write_text(FAMILY.replace("zeros,", "zeros, op: Abs,"), encoding="utf-8")
    assert refused(file) == [wording]


def test_a_mistake_of_the_file_is_not_told_for_each_of_its_cases(problems: ProblemsOf) -> None:
    text = "op: Hardmax\ndtype: flot32\nopset: x\nattrs: {axis: 0}\ncases:\n"
    text += "".join(f"- {{name: a{k}, inputs: {{input: [1, 2]}}}}\n" for k in range(20))
    assert [problem.partition(" ")[0] for problem in problems(text)] == ["2:8:", "3:8:"]


UNDECIDED = """
op: Hardmax
cases:
- name: undecided
  opset: 1
  rule: open
  attrs: {axis: 0}
  inputs: {input: {shape: [2, 3], integers: [0, 5], put: [{at: [0, 1], value: 1.0}]}}
  tolerance: {float16: {ulp: 1}, float32: {rtol: 0.5, atol: 0.0}}
  expect:
    any_of:
    - {as: a}
    - {as: b, rejected: x, legal: {inputs.input.shape: [3, 3]}}
    - {as: c, output: [[1, 0, 0], [0, 0, 0]]}
  dtype: float32
"""
TWO_OUTPUTS = f"{TOPK}cases:\n- {{name: a, expect: {{Values: [3, 2], Indices: [2, 1]}}}}\n"
EXAMPLES: list[Any] = [yaml.safe_load(text) for text in (EXAMPLE, UNDECIDED, TWO_OUTPUTS)]
STRANGE: list[Any] = [
    *(None, True, False, 0, 1, -1, 13, 10**20, 10**400, -(10**400), 0.0, 1.5, 1e300),
    *(float("inf"), float("nan"), "", "x", "all", "13+", "float32", "bool", "a\x1b[31m"),
    *("<tensor>", "[key]", "a" * 300, [], {}, [[]], [1, [2]], [None], [{}], {"a": 1}),
    *({"<tensor>": {}}, {"value": None}, {"shape": [2], "constant": 0}, {"file": "x"}),
    *({"shape": [10**9, 10**9], "constant": 0}, {"golden": "."}, {"any_of": []}),
    *({"rejected": "w", "legal": {"attrs.axis": 1}}, {"ulp": 1, "rtol": 0.5}),
    *({"opset": [1, 11]}, {"dtype": ["float32"], "attrs.axis": [0, 1]}),
]
KEYS = [
    *("op", "domain", "cases", "name", "opset", "dtype", "attrs", "inputs", "expect", "rows"),
    *("tolerance", "rule", "level", "timeout", "clause", "matrix", "label", "value", "shape"),
    *("constant", "arange", "normal", "choice", "specials", "seed", "put", "file", "at"),
    *("any_of", "as", "rejected", "legal", "golden", "ulp", "axis", "input", "output"),
    *("attrs.axis", "inputs.input.shape", "float32", "<tensor>", "<rejected>", "[key]", "x\x1b"),
]


def changed(file: Any, chance: random.Random) -> Any:
    """`file` with one thing replaced, removed, added, renamed, copied or wrapped."""
    path = chance.choice(places_in(file) or [()])
    if not path:
        return chance.choice(STRANGE)
    owner, last = at(file, path[:-1]), path[-1]
    match chance.randrange(6), owner:
        case 0, _:
            owner[last] = copy.deepcopy(chance.choice(STRANGE))
        case 1, _:
            del owner[last]
        case 2, dict():
            owner[chance.choice(KEYS)] = copy.deepcopy(chance.choice(STRANGE))
        case 3, dict():
            owner[chance.choice(KEYS)] = owner.pop(last)
        case 4, _:
            owner[last] = copy.deepcopy(at(file, chance.choice(places_in(file))))
        case _:
            owner[last] = [owner[last]]
    return file


@examples(400, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 2**64), st.sampled_from([1, 1, 2, 4]), st.sampled_from(EXAMPLES))
def test_a_changed_file_loads_or_is_refused_in_words(tmp_path, seed, changes, example):
    chance = random.Random(seed)
    file = copy.deepcopy(example)
    for _ in range(changes):
        file = changed(file, chance)
    path = tmp_path / "f.yaml"
    path.write_text(yaml.safe_dump(file, sort_keys=False))
    found: tuple[Case, ...] = ()
    told: tuple[Problem, ...] = ()
    try:
        found = load([path])
    except CaseFileError as error:
        told = error.problems
    assert found or told
    assert len({case.id.lower() for case in found}) == len(found)
    assert all(spec.nbytes <= 1 << 30 for case in found for spec in case.inputs)
    for problem in told:
        assert problem.line >= 1
        assert problem.column >= 1
        assert problem.message.isprintable()
        assert len(problem.message) < 300


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_examples_load_before_they_are_changed(tmp_path: Path, example: Any) -> None:
    path = tmp_path / "f.yaml"
    path.write_text(yaml.safe_dump(example, sort_keys=False))
    assert load([path])


def test_ten_thousand_mistakes_are_told_in_seconds(problems: ProblemsOf) -> None:
    rows = ", ".join(f"{{k{number}: 1}}" for number in range(10_000))
    start = time.perf_counter()
    assert len(problems(f"op: Hardmax\ncases: [{{name: a, rows: [{rows}]}}]")) == 10_000
    # About one second; a machine under load gets its time.
    assert time.perf_counter() - start < 15


def test_what_is_lost_of_a_tensor_is_not_missed_in_it(problems: ProblemsOf) -> None:
    matrix = "matrix: {inputs.input.seed: [0, 1]}"
    text = ONE.replace("[1, 2]", "{shape: [2], unifrom: [0, 1]}")
    (problem,) = problems(text.replace("NAME", f"a, {matrix}"))
    assert "unknown key 'unifrom'" in problem


def test_a_refusal_that_is_written_wrong_excuses_what_it_would_excuse(problems: ProblemsOf) -> None:
    text = ONE.replace("axis: 0", "axis: 0").replace("float32", "int8")
    for expect, message in (
        ("expect: {rejected: x}", "expect: 'legal' is missing"),
        ("expcet: {rejected: x, legal: {dtype: float32}}", "unknown key 'expcet'"),
    ):
        (problem,) = problems(text.replace("NAME", f"a, {expect}"))
        assert message in problem
