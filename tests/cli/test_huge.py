"""Cases of level huge on small tensors: judged block by block, as the same cases at level core."""

import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import opcheck
from opcheck.engine.huge import RULES
from opcheck.errors import CaseFileError
from opcheck.execution import huge
from opcheck.model import Level, Verdict
from opcheck.report import store
from opcheck.suite import load, tensors
from opcheck.suite.select import EVERYTHING, LEVELS, Selection, select

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="shares files as Linux does")

FILE = """
op: [Relu, Gather, Transpose]
opset: 13
dtype: int8
level: LEVEL
cases:
- {op: Relu, name: relu, opset: 14, inputs: {X: {shape: [7, 9], cycle: [-12, 12]}}}
- op: Gather
  name: rows
  inputs: {data: {shape: [7, 9], cycle: [-12, 12]}, indices: {dtype: int64, value: [6, 0, -2]}}
- op: Transpose
  name: turned
  inputs: {data: {shape: [7, 9], cycle: [-12, 12], put: [{at: [6, 8], value: 77}]}}
"""

#: A backend in a module: `habit` is what it does with flat indices from 32 on.
MODULE = """
import os

import numpy as np

from opcheck.errors import NotExpressible, NotSupported


class Small:
    def __init__(self, habit="none"):
        self.habit = habit

    def prepare(self, task):
        if self.habit == "declines":
            raise NotSupported("nothing is here")
        if self.habit == "inexpressible":
            raise NotExpressible("no model states this")
        return Run(task, self.habit)


class Run:
    def __init__(self, task, habit):
        self.task, self.habit = task, habit

    def run(self, inputs):
        x = inputs[0]
        name = self.task.op.name
        if self.habit == "raises":
            raise ValueError("too large")
        if self.habit == "dies":
            os._exit(3)
        if self.habit == "writes":
            x[...] = 0
        if self.habit == "wraps":
            flat = np.arange(x.size)
            x = x.reshape(-1)[np.where(flat < 32, flat, flat - 32)].reshape(x.shape)
        if name == "Relu":
            y = np.maximum(x, 0)
        elif name == "Gather":
            y = x[inputs[1]]
        else:
            y = np.ascontiguousarray(x.T)
        if self.habit == "last":
            y = y.copy()
            y.reshape(-1)[-1] += 1
        if self.habit == "type":
            return [y.astype(np.uint8)]
        if self.habit == "shape":
            return [y.reshape(-1)]
        if self.habit == "two":
            return [y, y]
        if self.habit == "nothing":
            return []
        if self.habit == "text":
            return ["all right"]
        return [y]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the backend and the cases at levels huge and core."""
    (tmp_path / "small.py").write_text(MODULE)
    for level in ("huge", "core"):
        (tmp_path / f"{level}.yaml").write_text(FILE.replace("LEVEL", level))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def results(level: Level, habit: str) -> list[opcheck.Result]:
    """Judge the cases of a level on the backend with this habit, in this process."""
    code: dict[str, Any] = {}
    exec(MODULE, code)
    cases = opcheck.load(f"{level}.yaml", level=level)
    return [*opcheck.run(cases, code["Small"](habit))]


def verdicts(level: Level, habit: str) -> list[Verdict]:
    return [result.verdict for result in results(level, habit)]


@pytest.mark.parametrize(
    ("habit", "failure"),
    [
        ("two", "count"),
        ("nothing", "count"),
        ("type", "dtype"),
        ("shape", "shape"),
        ("last", "values"),
    ],
)
def test_a_failure_is_of_the_kind_that_it_has_at_other_levels(folder, habit, failure) -> None:
    relu, gather, _ = (result.failure for result in results("huge", habit))
    assert (relu, gather) == (failure, failure)
    assert [one.failure for one in results("huge", habit)] == [
        one.failure for one in results("core", habit)
    ]


@pytest.mark.parametrize("block", [1, 5, 1 << 22])
@pytest.mark.parametrize("habit", ["none", "wraps", "last", "type", "shape"])
def test_blocks_are_judged_as_the_whole_is(folder, monkeypatch, block, habit) -> None:
    monkeypatch.setattr(huge, "BLOCK", block)
    in_blocks = verdicts("huge", habit)
    assert in_blocks == verdicts("core", habit)
    assert (in_blocks == [Verdict.PASS] * 3) == (habit == "none")
    assert Verdict.FAIL in in_blocks or habit == "none"


@pytest.mark.parametrize(
    ("habit", "verdict"),
    [
        ("declines", Verdict.UNSUPPORTED),
        ("raises", Verdict.ERROR),
        ("text", Verdict.ERROR),
        ("writes", Verdict.ERROR),  # the inputs cannot be written to
    ],
)
def test_what_is_no_answer_has_its_verdict(folder, habit, verdict) -> None:
    assert {*verdicts("huge", habit)} == {verdict}


@pytest.mark.parametrize(
    ("habit", "verdict", "code"),
    [("none", Verdict.PASS, 0), ("wraps", Verdict.FAIL, 1), ("dies", Verdict.CRASH, 1)],
)
def test_a_backend_is_asked_in_a_process_of_its_own(run, folder, habit, verdict, code) -> None:
    words = ("--level", "huge", "--op", "Relu", "-b", f"py:small?habit={habit}")
    run("run", "huge.yaml", *words, "--report", "json=run.jsonl", code=code)
    (record,) = store.read(Path("run.jsonl")).records
    assert record.verdict is verdict
    assert "--level huge" in record.repeat


def test_a_claim_that_no_model_states_the_case_is_not_believed(run, folder) -> None:
    words = ("run", "huge.yaml", "--level", "huge", "-b", "py:small?habit=inexpressible")
    run(*words, "--require-supported", code=1)


def test_programs_are_not_asked(run, folder) -> None:
    command = "cmd:false {model} {inputs} {outputs}"
    words = ("--level", "huge", "-b", command, "--report", "json=run.jsonl")
    run("run", "huge.yaml", *words, code=5)
    found = store.read(Path("run.jsonl")).records
    assert {record.verdict for record in found} == {Verdict.UNSUPPORTED}


def test_a_failure_says_where_and_how_many(folder, monkeypatch) -> None:
    monkeypatch.setattr(huge, "BLOCK", 5)
    record = results("huge", "wraps")[0]
    right = np.maximum(np.arange(63) % 25 - 12, 0)
    wrong = np.flatnonzero(right[32:] != right[:31]) + 32
    place = [int(wrong[0]) // 9, int(wrong[0]) % 9]
    assert f"{wrong.size} of 63" in record.reason
    assert f"{place}, position {wrong[0]}:" in record.reason
    assert record.reason.endswith(f"{wrong[-1]}")


@pytest.mark.parametrize("what", ["_free_memory", "_free_space"])
def test_too_little_room_is_not_run_and_no_backend_is_asked(run, folder, monkeypatch, what) -> None:
    monkeypatch.setattr(huge, what, lambda *_: 100)
    words = ("--level", "huge", "-b", "py:small?habit=dies")
    run("run", "huge.yaml", *words, "--report", "json=run.jsonl", code=4)
    found = store.read(Path("run.jsonl")).records
    assert {record.verdict for record in found} == {Verdict.NOT_RUN}
    assert all("GiB" in record.reason for record in found)


def test_a_file_that_cannot_be_written_is_not_run(folder, monkeypatch) -> None:
    def full(*_: object) -> int:
        raise OSError(122, "Disk quota exceeded")

    monkeypatch.setattr(huge, "_write", full)
    assert {*verdicts("huge", "right")} == {Verdict.NOT_RUN}


def test_a_case_needs_its_inputs_and_thrice_its_output() -> None:
    (case,) = load(ops=("Relu",), levels=("huge",))
    needs = huge.needs_of(case, huge.huge_node(case))
    assert (needs.memory, needs.disk) == (4 * 46349**2, 2 * 46349**2)


@pytest.mark.parametrize(
    "more",
    [("-b", "numpy"), ("-j", "2"), ("--cluster", "local:1"), ("--save-outputs", "out")],
)
def test_one_backend_in_one_process_is_run(run, folder, more) -> None:
    run("run", "huge.yaml", "--level", "huge", "-b", "py:small", *more, code=2)


def test_the_default_backends_are_too_many(run, folder) -> None:
    run("run", "huge.yaml", "--level", "huge", code=2)


def test_other_levels_leave_huge_cases_out(folder) -> None:
    cases = load([folder / "huge.yaml"])
    assert {case.level for case in cases} == {"huge"}
    for level in LEVELS:
        assert select(cases, Selection(level=level)) == ()
    assert select(cases, EVERYTHING) == ()
    assert select(cases, Selection(ids=("Relu/relu",))) == ()
    assert len(select(cases, Selection(level="huge"))) == 3


def test_shipped_huge_cases_are_read_for_that_level_alone() -> None:
    shipped = load(levels=("huge",))
    assert {case.level for case in shipped} == {"huge"}
    others = load(ops=("Relu",))
    assert "huge" not in {case.level for case in others}
    assert {case.id for case in shipped}.isdisjoint(case.id for case in others)


def test_each_shipped_case_has_an_index_beyond_32_bits_and_one_byte_an_element() -> None:
    for case in load(levels=("huge",)):
        sizes = [np.prod(spec.shape, dtype=np.int64) for spec in case.inputs]
        sizes.append(np.prod(huge.huge_node(case).shape, dtype=np.int64))
        assert max(sizes) > 2**31, case.id
        for spec in case.inputs:
            is_huge = spec.nbytes > 1 << 20
            assert spec.dtype.numpy.itemsize == 1 or not is_huge, case.id
            if is_huge and spec.content.kind == "cycle":
                low, high = spec.content.args
                period = int(high - low + 1)
                assert period & (period - 1), f"{case.id}: {period} hides a wrapped index"


def test_values_by_position_are_those_of_the_tensor(monkeypatch, folder) -> None:
    specs = [spec for case in load([folder / "core.yaml"]) for spec in case.inputs]
    whole = [tensors.materialize(spec) for spec in specs]
    monkeypatch.setattr(tensors, "MAX_ELEMENTS", 10)
    for spec, values in zip(specs, whole, strict=True):
        at = tensors.values_at(spec)
        assert at(np.arange(values.size)).tolist() == values.reshape(-1).tolist()
        assert at(np.arange(values.size)).dtype == values.dtype
    with pytest.raises(ValueError, match="huge"):
        tensors.materialize(specs[0])


INDICES = "indices: {dtype: int64, value: [0]}"


@pytest.mark.parametrize("command", ["show", "explain"])
def test_a_shipped_case_is_shown_without_its_data(run, command) -> None:
    found = run(command, "Gather/rows_beyond_32_bits", code=0)
    assert "int8[46349, 46349] cycle -125, 125" in " ".join(found.output.split())


PAGE = (Path(__file__).parents[2] / "docs" / "huge.md").read_text(encoding="utf-8")


def test_the_page_states_what_each_shipped_case_takes() -> None:
    rows = re.findall(r"^\| ([A-Z][\w, ]+) \| ([\d.]+) GiB \| ([\d.]+) GiB \|$", PAGE, re.MULTILINE)
    stated = {name: needs for names, *needs in rows for name in names.split(", ")}
    for case in load(levels=("huge",)):
        needs = huge.needs_of(case, huge.huge_node(case))
        memory, disk = (f"{size / 2**30:.1f}" for size in (needs.memory, needs.disk))
        assert stated[case.op.name] == [memory, disk], case.id


def test_the_page_lists_the_operators_and_has_a_case(tmp_path) -> None:
    (listed,) = re.findall(r"The operators are (.*) and (\w+)\.", PAGE)
    assert {*listed[0].split(", "), listed[1]} == RULES.keys()
    (text,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "far.yaml").write_text(text)
    (case,) = load([tmp_path / "far.yaml"])
    assert (case.level, huge.huge_node(case).shape) == ("huge", (2,))


@pytest.mark.parametrize(
    "wrong",
    [
        "expect: {output: [1]}",
        f"inputs: {{data: {{shape: [3000000000], integers: [0, 9]}}, {INDICES}}}",
        f"inputs: {{data: {{shape: [9000000000], cycle: [0, 9]}}, {INDICES}}}",
        f"inputs: {{data: {{shape: [9], constant: 1, dtype: float32}}, {INDICES}}}",
        "attrs: {axis: 7}",
        "inputs: {data: {shape: [9], cycle: [0, 9]}, indices: {dtype: int32, value: [9]}}",
        "level: deep",
    ],
)
def test_what_cannot_be_judged_in_blocks_is_a_mistake(tmp_path, wrong) -> None:
    (text,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    key = wrong.partition(":")[0]
    lines = text.splitlines()
    if key == "inputs":
        lines = lines[: lines.index("  inputs:")]
    kept = [line for line in lines if not line.strip().startswith(f"{key}:")]
    (tmp_path / "far.yaml").write_text("\n".join([*kept, f"  {wrong}"]))
    with pytest.raises(CaseFileError):
        load([tmp_path / "far.yaml"])


REDUCED = """
op: OP
opset: 18
dtype: int8
level: huge
cases: [{name: all, inputs: {data: {shape: SHAPE, cycle: [0, 9]}}}]
"""


@pytest.mark.parametrize("op", ["ArgMax", "ReduceMax", "ReduceMin"])
def test_without_axes_only_a_list_is_reduced(tmp_path, op) -> None:
    file = tmp_path / "far.yaml"
    text = REDUCED.replace("OP", op)
    file.write_text(text.replace("SHAPE", "[9]"))
    (case,) = load([file])
    assert huge.huge_node(case).shape == (1,)
    file.write_text(text.replace("SHAPE", "[9, 9]"))
    with pytest.raises(CaseFileError):
        load([file])
