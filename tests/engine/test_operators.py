"""An operator's file is held against the operator's schema, and found by the operator's name."""

import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from opcheck import opset
from opcheck.cli.group import program
from opcheck.engine import dtypes_of, graphs as engine_graphs, node as engine_node, operators
from opcheck.engine.evaluate import Evaluation, evaluate
from opcheck.engine.graphs import body_formula
from opcheck.engine.mutants import mutants_of
from opcheck.engine.node import Node
from opcheck.engine.operators import Operator, every, find, formulas_of_versions, operator
from opcheck.errors import Exit, InvalidNode, NotSupported, WrongOperator
from opcheck.model import OpVersion
from opcheck.numbers.bounded import Bounded
from tests.engine.ops.test_node_tests import UNSTATED
from tests.node_tests import asked_by, node_tests_of
from tests.wording import Wording

FOUR = ("DML_ACTIVATION_HARDMAX1", "Hardmax", "LpPool", "Softmax")


def described(name: str, *ignores: str) -> Operator:
    """An operator as its file declares it, but for the table of all operators."""
    return Operator("", name, "opcheck.engine.ops.made", ignores=ignores)


WRONG: dict[str, tuple[str, int, Callable[..., Any], str]] = {
    "a version that there is not": (
        "Softmax",
        12,
        lambda input, *, axis: input,
        "there is no version 12 (there are: 1, 11, 13)",
    ),
    "too many inputs": (
        "Softmax",
        13,
        lambda input, other, *, axis: input,
        "version 13: its inputs are input, other; the schema has input",
    ),
    "no inputs": (
        "Softmax",
        13,
        lambda *, axis: axis,
        "version 13: its inputs are none; the schema has input",
    ),
    "an input of another name": (
        "Softmax",
        13,
        lambda x, *, axis: x,
        "version 13: input 'x' is 'input' in the schema",
    ),
    "an optional input without a default": (
        "Clip",
        13,
        lambda input, min, max=None: input,
        "version 13: input 'min' is optional in the schema",
    ),
    "a default of an input that is not optional": (
        "Softmax",
        13,
        lambda input=None, *, axis: input,
        "version 13: input 'input' is single in the schema",
    ),
    "a variadic input that takes one": (
        "Concat",
        13,
        lambda inputs, *, axis: inputs,
        "version 13: input 'inputs' is variadic in the schema",
    ),
    "a missing attribute": (
        "Softmax",
        13,
        lambda input: input,
        "version 13: attribute 'axis' of the schema is missing",
    ),
    "an attribute of no version": (
        "Softmax",
        13,
        lambda input, *, axis, axes=(): input,
        "version 13: attribute 'axes' is in no version of the schema (did you mean 'axis'?)",
    ),
    "several things at once": (
        "LayerNormalization",
        17,
        lambda x, Scale, B, *, axis, epsilon, stash_typ: x,
        "version 17: input 'B' is optional in the schema\n"
        "version 17: attribute 'stash_type' of the schema is missing\n"
        "version 17: attribute 'stash_typ' is in no version of the schema "
        "(did you mean 'stash_type'?)",
    ),
    "an attribute of another version": (
        "LpPool",
        11,
        lambda X, *, auto_pad, kernel_shape, p, pads, strides, dilations: X,
        "version 11: attribute 'dilations' needs a default, because this version lacks it",
    ),
    "another default": (
        "Softmax",
        13,
        lambda input, *, axis=1: input,
        "version 13: attribute 'axis' defaults to 1, not -1",
    ),
    "a default of a mandatory attribute": (
        "SpaceToDepth",
        13,
        lambda input, *, blocksize=2: input,
        "version 13: attribute 'blocksize' is mandatory in the schema, and takes no default",
    ),
}


@pytest.mark.parametrize("decorator", ["formula", "alternative", "mutant"])
@pytest.mark.parametrize("what", WRONG)
def test_a_contradiction_is_refused_with_file_operator_and_difference(what, decorator):
    name, since, function, problem = WRONG[what]
    op = described(name)
    texts = () if decorator == "formula" else ("said of it",)
    with pytest.raises(WrongOperator) as error:
        getattr(op, decorator)(*texts, since)(function)
    assert error.value.lines() == [
        "\n".join(f"{name}: <lambda>: {one}" for one in problem.splitlines())
    ]
    assert error.value.exit_code is Exit.USAGE
    assert (op.formulas, op.alternatives, op.mutants) == ({}, [], [])


def test_what_agrees_with_the_schema_is_taken() -> None:
    clip, concat = described("Clip"), described("Concat")
    clip.formula(11, 12, 13)(lambda input, min=None, max=None: input)
    concat.formula(13)(lambda *inputs, axis: inputs)
    described("Softmax", "axis").formula(13)(lambda input: input)
    described("Softmax").formula(13)(lambda input, *, axis=-1: input)
    # Version 13 takes the axes as an input.
    described("Unsqueeze").formula(11)(lambda data, *, axes=None: data)
    described("LpPool").formula(11)(
        lambda X, *, auto_pad, kernel_shape, p, pads, strides, dilations=None: X
    )
    assert sorted(clip.formulas) == [11, 12, 13]


def test_two_stars_take_all_attributes_that_are_not_named() -> None:
    op, name = OpVersion("", "LayerNormalization", 17), "LayerNormalization"
    normalized = described(name).formula(17)(lambda X, Scale, B=None, *, axis, **others: X)
    node = Node(op, (), {"epsilon": 0.5})
    found = engine_node.attributes_for(normalized, opset.versions("", name)[17], node)
    assert found == {"axis": -1, "epsilon": 0.5, "stash_type": 1}


def test_a_step_comes_before_the_inputs_and_options_are_no_attributes() -> None:
    @formulas_of_versions(11, 13, options=["times"])
    def of_step(step: Any, input: Any, *, axis: int, times: int = 1) -> Any:
        return step(input, axis) * times

    softmax = described("Softmax")
    softmax.formula(build=partial(of_step, times=3))(lambda input, axis: input + axis)
    assert softmax.formulas[11] is softmax.formulas[13]
    assert softmax.formulas[13](1, axis=2) == 9
    assert of_step(lambda input, axis: input)[11](1, axis=2) == 1


def test_versions_are_those_stated_or_those_made_or_all_that_have_a_formula() -> None:
    op = described("Softmax")

    def each(function: Any) -> dict[int, Any]:
        return {1: lambda input, *, axis: function(input, axis)} | dict.fromkeys(
            (11, 13), lambda input, *, axis: function(input, axis)
        )

    op.formula(build=each)(lambda x, axis: x)
    op.alternative("in another way", 13, build=each)(lambda x, axis: x)

    @op.mutant("x was answered")
    def same(input: Any, *, axis: int) -> Any:
        return input

    assert sorted(op.formulas) == [1, 11, 13]
    assert [(sound.since, sound.remark) for sound in op.alternatives] == [(13, "in another way")]
    assert [(m.since, m.name, m.text) for m in op.mutants] == [
        (since, "same", "x was answered") for since in (1, 11, 13)
    ]


def test_an_operator_that_there_is_not_is_refused(
    monkeypatch: pytest.MonkeyPatch, wording: Wording
) -> None:
    monkeypatch.setattr(operators, "_DECLARED", {})
    with pytest.raises(WrongOperator) as raised:
        operator("Sofmax")
    assert raised.value == wording
    assert operator("Softmax", low=0.0).module == __name__


def test_a_mutant_that_the_schema_makes_is_not_replaced(
    monkeypatch: pytest.MonkeyPatch, wording: Wording
) -> None:
    softmax = find("", "Softmax")
    assert softmax
    own = [one._replace(name="axis_ignored") for one in softmax.mutants if one.since == 13]
    monkeypatch.setattr(softmax, "mutants", own)
    mutants_of.cache_clear()
    with pytest.raises(WrongOperator) as raised:
        mutants_of(OpVersion("", "Softmax", 13))
    assert raised.value == wording


TRILU = """
from opcheck import numbers as xp
from opcheck.engine.operators import operator

OP = operator("Trilu", exact=True)


@OP.formula(14)
def formula(input, k=None, *, upper):
    return xp.tril(input)
"""

MUTANT = "@OP.mutant('x', 14)\n"


@pytest.fixture
def trilu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The file of an operator that the engine has no other of here."""
    path = tmp_path / "made_up" / "trilu.py"
    path.parent.mkdir()
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(operators, "_OPS", "made_up")
    monkeypatch.setattr(operators, "_files", lambda: {"trilu": path})
    monkeypatch.setattr(operators, "_modules", operators._modules.__wrapped__)
    others = {key: op for key, op in operators._DECLARED.items() if key[1] != "Trilu"}
    monkeypatch.setattr(operators, "_DECLARED", others)
    find.cache_clear()
    yield path
    find.cache_clear()
    for name in ("made_up", "made_up.trilu"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize(
    ("right", "wrong", "line"),
    [
        ("exact=", "exakt=", 5),
        ("Trilu", "Trilo", 5),
        ("OP.formula", "OP.formla", 8),
        ("= operator", "= operater", 5),
        ("(14)", "(15)", 8),
        ("upper)", "uper)", 8),
        ("upper):", "upper)", 9),
        ("OP.formula(14)", "OP.formula", 8),
        ("@OP.f", "@OP.mutant\n@OP.f", 8),
        ("@OP.f", "@OP.alternative\n@OP.f", 8),
        ("(14)", "('14')", 8),
        ("@OP.f", "@OP.mutant('x', '14')\n@OP.f", 8),
        ("(14)", "()", 8),
        ("@OP.f", "@OP.formula(14)\n@OP.f", 8),
        ("@OP.f", f"{MUTANT}{MUTANT}@OP.f", 8),
        ("@OP.f", "# ", 1),
        (TRILU, "", 1),
        ("OP =", "operator('Det')\nOP =", 1),
        ("import num", "import nnum", 2),
        (TRILU, f"{TRILU}\nraise SystemExit(0)", 12),
        ("exact=True", "low='a'", 5),
        ("@OP.f", "@OP.mutant('x', 14, only=('float31',))\n@OP.f", 8),
        ("    return", "    input[...] = 0\n    return", 10),
        ("xp", "xp", 10),
        ("xp.tril(input)", "input, k", 8),
        ("xp.tril(input)", "input[0][0]", 10),
    ],
)
def test_a_mistake_in_a_file_is_told_with_its_line_and_no_traceback(
    trilu: Path, right: str, wrong: str, line: int, wording: Wording
) -> None:
    trilu.write_text(TRILU.replace(right, wrong), encoding="utf-8")
    Path("a.yaml").write_text(
        "op: Trilu\ndtype: int32\nopset: 14\n"
        "cases: [{name: a, inputs: {input: [1, 2]}, expect: {output: [1, 2]}}]\n"
    )
    result = CliRunner().invoke(program, ["golden", "write", "a.yaml", "-o", "out"])
    first, *more = result.stderr.splitlines()
    assert (result.exit_code, result.stdout) == (2, "")
    assert first.startswith(f"made_up/trilu.py:{line}: ")
    assert "\n".join([first, *more]) == wording
    assert "Traceback" not in result.stderr
    if "the formula raised" in first:
        assert "fed int32[2], upper=1" in first
    # What was half declared is not found the next time.
    if wrong not in ("xp", "input, k", "input[0][0]") and "= 0" not in wrong:
        with pytest.raises(WrongOperator):
            find("", "Trilu")


def test_there_are_at_least_four_operators_each_in_every_version() -> None:
    found = {op.name: op for op in every()}
    assert set(FOUR) <= set(found)
    for name in FOUR:
        assert set(found[name].formulas) == set(opset.versions(found[name].domain, name))
    assert {name: (found[name].low, found[name].high, found[name].exact) for name in FOUR} == {
        "DML_ACTIVATION_HARDMAX1": (0, 1, True),
        "Hardmax": (0, 1, True),
        "LpPool": (0, None, False),
        "Softmax": (0, 1, False),
    }


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", FOUR)
def test_an_operator_loads_no_other_ones_file(name: str) -> None:
    domain = "com.microsoft.dml" if name.startswith("DML") else ""
    script = f"""
from opcheck.engine.operators import find
import sys
assert find({domain!r}, {name!r}).name == {name!r}
print(*(n.rpartition(".")[2] for n in sys.modules if n.startswith("opcheck.engine.ops.")))
"""
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == [operators._modules()[name]]


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("LpPool", "lp_pool"),
        ("GatherND", "gather_nd"),
        ("TopK", "top_k"),
        ("LRN", "lrn"),
        ("LayerNormalization", "layer_normalization"),
        ("DML_ACTIVATION_HARDMAX1",) * 2,
    ],
)
def test_a_file_is_named_as_its_operator(name: str, file: str) -> None:
    assert operators.snake(name) == file.lower()


def test_a_family_lists_its_operators_and_is_loaded_for_them(monkeypatch, tmp_path):
    family = tmp_path / "family.py"
    family.write_text('NAMES = """\nSin Cos\nTan\n"""\n', "utf-8")
    monkeypatch.setattr(operators, "_files", lambda: {"family": family})
    # Not cached, so that no other test finds what lies here.
    monkeypatch.setattr(operators, "_modules", operators._modules.__wrapped__)
    monkeypatch.setattr(operators, "LOWERED", ())
    assert operators._modules() == {"Sin": "family", "Cos": "family", "Tan": "family"}
    assert find("", "NoSuchOperator") is None
    assert find("ai.onnx.ml", "Hardmax") is None
    own = {"family": family, "tan": tmp_path / "tan.py"}
    monkeypatch.setattr(operators, "_files", lambda: own)
    with pytest.raises(WrongOperator, match=r"tan\.py:1: Tan: NAMES of family\.py declares"):
        find("", "NeitherThis")


def test_the_dtypes_of_a_version_are_the_schema_s() -> None:
    assert dtypes_of(OpVersion("", "Hardmax", 11)) == ("float16", "float32", "float64")
    assert set(dtypes_of(OpVersion("", "Hardmax", 13))) == {
        "bfloat16",
        "float16",
        "float32",
        "float64",
    }
    assert dtypes_of(OpVersion("", "Hardmax", 12)) == ()


def test_formulas_are_plain_functions_of_arrays() -> None:
    op = find("", "Softmax")
    assert op
    assert op.formulas[13](np.array([[0.0, 0.0]]), axis=-1).tolist() == [[0.5, 0.5]]


#: Versions that have both; of operators by their body alone the body is the formula. Range's is a
#: Loop, AffineGrid's an If, and LinearAttention's a Scan. DynamicQuantizeLinear's goes on with one
#: zero point of several that are admitted.
BOTH = [
    OpVersion("", operator.name, since)
    for operator in every()
    for since, schema in opset.versions(operator.domain, operator.name).items()
    if schema.bodies
    and not operator.random
    # SequenceMap's is of sequences, which no formula takes as such.
    and operator.name
    not in ("AffineGrid", "DynamicQuantizeLinear", "LinearAttention", "Range", "SequenceMap")
    and since in operator.formulas
    and not getattr(operator.formulas[since], "__name__", "").endswith("_body")
]
#: Attention's function body knows no present beside nonpad_kv_seqlen.
OF_ATTENTION = "Attention-25 has no function body"
#: One version of each of these operators.
LAST = {op.name: op for op in BOTH}.values()


def nodes(op: OpVersion) -> list[Node]:
    """The node tests of the operator, asked of this version, on their first data."""
    first = (asked_by(test)[0] for test in node_tests_of(op.name).values())
    return [Node(op, tuple(inputs), attrs, range(len(wanted))) for inputs, attrs, wanted in first]


def apart(one: Any, other: Any) -> Any:
    """How far two bounded outputs lie apart, in units of what they may be off by."""
    with np.errstate(all="ignore"):
        a, b = one.with_rounding(), other.with_rounding()
        room = sum(0.0 if x.e is None else x.e for x in (a, b)) + 1e-15 * np.abs(a.v) + 1e-300
        distance = np.abs(a.v - b.v)
    return np.where((a.v == b.v) | ((a.v != a.v) & (b.v != b.v)), 0.0, distance / room)


@pytest.mark.parametrize("op", BOTH, ids=str)
def test_a_formula_and_its_function_body_give_the_same(op: OpVersion) -> None:
    body, compared = body_formula(op), 0
    for node in nodes(op):
        try:
            mine = Evaluation(node)
            theirs: Sequence[Any] = mine.outputs(replace(mine.tiers()[0], formula=body))
        except InvalidNode:
            continue  # of a type that came later
        except NotSupported as error:
            if not re.search(rf"{UNSTATED}|{OF_ATTENTION}", str(error)):
                raise
            continue
        for one, other in zip(mine.expected, theirs, strict=True):
            if isinstance(one, Bounded):
                assert np.max(apart(one, other), initial=0) < 1.0
            else:
                assert one.dtype == other.dtype
                wide = [
                    part.astype(float) if part.dtype.kind in "fV" else part for part in (one, other)
                ]
                np.testing.assert_array_equal(*wide)
        compared += 1
    assert compared


def test_fifteen_operators_are_compared() -> None:
    assert len(LAST) >= 15


def test_a_body_that_needs_what_the_engine_lacks_names_it(
    monkeypatch: pytest.MonkeyPatch, wording: Wording
) -> None:
    real = engine_graphs.operator_of
    monkeypatch.setattr(
        engine_graphs, "operator_of", lambda op: (op.name != "Exp" and real(op)) or None
    )
    with pytest.raises(NotSupported) as raised:
        body_formula(OpVersion("", "Softmax", 13))(np.zeros((1, 2)), axis=-1)
    assert raised.value == wording


def test_an_empty_body_is_none_and_a_formula_without_an_output_is_a_defect(
    wording: Wording,
) -> None:
    # onnx makes a body without nodes where stage one is in float16.
    op, inputs = OpVersion("", "LayerNormalization", 17), (np.ones((1, 3)), np.ones(3))
    with pytest.raises(NotSupported) as raised:
        evaluate(Node(op, inputs, {"stash_type": 10}, range(1)), body_formula(op))
    assert raised.value == wording

    def none(X: Any, Scale: Any, B: Any = None, *, axis: Any, epsilon: Any, stash_type: Any) -> Any:
        return ()

    with pytest.raises(WrongOperator, match="0 of 1 outputs"):
        evaluate(Node(op, inputs, {}, range(1)), none)
