"""What every mutant owes its readers: a name, a sentence, true arguments, and an answer."""

import re
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

import numpy as np
import onnx
import pytest

from opcheck import dtypes
from opcheck.engine import dtypes_of
from opcheck.engine.mutants import Mutant, causes_of, elements, guards_of, mutants_of, places
from opcheck.engine.mutants.mutant import STATEFUL
from opcheck.engine.mutants.schema import ELEMENTWISE
from opcheck.engine.mutants.tensors import computed_up_to, not_computed
from opcheck.engine.node import Node, operator_of
from opcheck.engine.operators import every, find
from opcheck.errors import InvalidNode, WrongOperator
from opcheck.execution.mutate import CaseKills
from opcheck.execution.support import matrix
from opcheck.model import OpVersion, Rejected, Typed
from tests.asking import WHOLE, shipped_cases
from tests.wording import Wording

pytestmark = pytest.mark.reads_all_suites

OPERATORS = [
    ("", "Hardmax"),
    ("", "Softmax"),
    ("", "LpPool"),
    ("com.microsoft.dml", "DML_ACTIVATION_HARDMAX1"),
]
OPS = [
    OpVersion(domain, name, since)
    for domain, name in OPERATORS
    for since in find(domain, name).formulas  # type: ignore[union-attr]
]
HARDMAX = OpVersion("", "Hardmax", 13)
ABS = OpVersion("", "Abs", 13)
IS_NAN = OpVersion("", "IsNaN", 20)
FLOATS = ("bfloat16", "float16", "float32", "float64")

#: What a clause in the past tense has.
PAST = (
    r"\b(\w+ed|was|were|had|won|came|became|got|gave|held|stood|lay|began|left|ran|kept|went|hung"
    r"|meant|lost|took|broke|put|cut|made)\b"
)
EVERY = {id(mutant): mutant for op in OPS for mutant in (*causes_of(op), *guards_of(op))}.values()
#: Maxima at [0, 1], [1, 2] and so on: no two axes, rows or columns are alike.
MATRIX = [[1, 3, 2], [1, 2, 3]]


EVERY_VERSION = [
    OpVersion(operator.domain, operator.name, since)
    for operator in every()
    for since in operator.formulas
]


def test_no_two_mutants_of_a_version_have_one_name() -> None:
    for op in EVERY_VERSION:
        names = Counter(one.name for one in (*mutants_of(op), *guards_of(op), *STATEFUL))
        assert [name for name, count in names.items() if count > 1] == [], op


TWO_OPERANDS = [
    op
    for op in EVERY_VERSION
    if not op.domain
    and getattr(operator_of(op), "module", "").rpartition(".")[2] in ELEMENTWISE
    and onnx.defs.get_schema(op.name, op.since).min_input == 2
]


@pytest.mark.gate
@pytest.mark.parametrize("shapes", [*product([(), (1,), (1, 1)], repeat=2)], ids=str)
def test_mutants_answer_for_scalars_and_for_single_elements(shapes: tuple[Any, ...]) -> None:
    answered = 0
    for op, dtype in product(TWO_OPERANDS, (np.float32, np.uint8, np.bool_)):
        operands = [
            np.full(shape, value, dtype) for shape, value in zip(shapes, (1, 0), strict=True)
        ]
        attrs = {"direction": "LEFT"} if op.name == "BitShift" else {}
        node = Node(op, tuple(operands), attrs)
        if node.is_legal:
            for mutant in causes_of(op):
                mutant.made_on(node)  # raises MutantRaised for anything but a refusal
                answered += 1
    assert answered > 100


def test_a_mutant_may_give_a_sequence_of_another_length() -> None:
    tensors = np.zeros(0, np.float32), np.ones(3, np.float32)
    node = Node(OpVersion("", "SequenceConstruct", 11), tensors, {})
    [dropped] = [one for one in causes_of(node.op) if one.name == "empty_dropped"]
    length, only = dropped.answer(node)
    assert (length, only.tolist()) == (1, [1, 1, 1])


def test_a_former_name_is_no_mutant_s_but_where_one_name_became_two() -> None:
    assert {
        (alias, mutant.name)
        for op in EVERY_VERSION
        for mutant in (*mutants_of(op), *guards_of(op))
        for alias in mutant.aliases
        if "where" not in alias
    } == {(mutant.name, f"{mutant.name}_in_argmax") for mutant in places.LEFT_OUT[:4]}


@pytest.mark.parametrize("op", OPS, ids=str)
def test_names_and_texts_tell_the_mutants_of_an_operator_apart(op: OpVersion) -> None:
    wrong = (*causes_of(op), *guards_of(op), *STATEFUL)
    names = Counter(one.name for one in wrong)
    texts = Counter(f"{one.text} {getattr(one, 'primitive', '')}" for one in wrong)
    for told in (names, texts):
        assert [text for text, count in told.items() if count > 1] == []


def test_a_version_with_two_mutants_of_one_name_is_wrong(monkeypatch, wording: Wording) -> None:
    twice = (*places.LEFT_OUT, *places.LEFT_OUT)
    monkeypatch.setattr("opcheck.engine.mutants._GENERAL", twice)
    mutants_of.cache_clear()
    try:
        with pytest.raises(WrongOperator) as raised:
            mutants_of(HARDMAX)
        assert raised.value == wording
    finally:
        mutants_of.cache_clear()


def test_names_can_be_typed() -> None:
    names = [one.name for one in (*EVERY, *STATEFUL)]
    assert [name for name in names if not re.fullmatch(r"[A-Za-z][a-zA-Z0-9_.-]*", name)] == []


def test_texts_fit_after_as_if() -> None:
    """A clause in the past tense, neither a sentence of its own nor more than a line or two."""
    texts = [one.text for one in (*EVERY, *STATEFUL)]
    assert [t for t in texts if not re.search(PAST, t)] == []
    assert [t for t in texts if t[0].isspace() or t[-1] in ".;:, " or not 10 < len(t) < 130] == []
    # Names of things are spelt as they are; no other word begins with a capital.
    names = r"NaN|SAME|VALID|LogSoftmax|Softmax|Axes"
    assert [t for t in texts if t[0].isupper() and not re.match(names, t)] == []


@pytest.mark.seconds(30)
@pytest.mark.gate
def test_every_fault_of_a_function_that_operators_call_concerns_a_case() -> None:
    """No shared table holds what nothing exercises."""
    seen: set[tuple[str, str]] = set()
    called: set[str] = set()
    # The newest version of most operators calls what the older ones call, or more.
    asked = [
        c
        for c in shipped_cases()
        if c.op.name in WHOLE or c.op.since == max(operator_of(c.op).formulas)
    ]
    cases_of_cells = [(cell.dtype, case) for cell, cases in matrix(asked).items() for case in cases]
    # Cells of Cast are by the type of its input; faults of casts are by that of its output, too.
    casts = {
        (case.dtype.name, case.attrs["to"]): case
        for case in asked
        if case.op.name == "Cast" and case.dtype and not isinstance(case.expect, Rejected)
    }
    cases_of_casts = [(dtype, case) for (dtype, _), case in casts.items()]
    for dtype, case in (*cases_of_cells, *cases_of_casts):
        node = CaseKills(case, dtype).evaluation.node
        called |= node.primitives
        found = (m for m in causes_of(case.op) if m.primitive and m.concerns(node))
        seen |= {(m.primitive, m.name) for m in found}
    assert {"argmax", "exp", "max", "pow", "sum", "sums", "windows_of", "matrix_of"} <= called
    guards = {m.name for op in OPS for m in guards_of(op)}
    made = {(m.primitive, m.name) for m in EVERY if m.primitive in called and m.name not in guards}
    # An operator's own may take the place of a general one.
    own = {("", m.name) for op in OPS for m in operator_of(op).mutants}  # type: ignore[union-attr]
    assert {(p, name) for p, name in made - seen if ("", name) not in own} == set()


def strange(op: OpVersion) -> Iterator[Node]:
    """Nodes that are invalid, empty, or of other types and ranks than usual."""
    lists: dict[str, Any] = {"kernel_shape": (2, 2), "strides": (1, 2), "pads": (1, 0, 0, 1)}
    attrs: list[dict[str, Any]] = [{}, {"axis": 1}, {"axis": 7}, {"axis": -2}, {"Axes": (1, 0)}]
    attrs += [{"Axes": ()}, {"Axes": (0, 0, 9)}, {"axis": Typed("float", 1.5)}, lists]
    attrs += [{**lists, "p": 0}, {**lists, "pads": (-1, 0)}, {**lists, "auto_pad": "FULL"}]
    attrs += [{"kernel_shape": ()}, {"kernel_shape": (9, 9)}, {**lists, "dilations": (0, 1)}]
    attrs += [{**lists, name: (1,)} for name in ("kernel_shape", "strides", "dilations", "pads")]
    for shape, dtype in product(
        ((), (0,), (3,), (2, 3), (1, 2, 3, 4), (2, 0, 3), (1, 1, 2, 2, 2)),
        ("float32", "int8", "bool"),
    ):
        for stated in attrs:
            yield Node(op, (np.ones(shape, dtype),), stated)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("domain", "name"), OPERATORS)
def test_every_mutant_answers_every_node_or_refuses_it(domain: str, name: str) -> None:
    op = max(op for op in OPS if op.name == name)
    nodes = [*strange(op)]
    assert {node.is_legal for node in nodes} == {True, False}
    for node in nodes:
        for mutant in (*causes_of(op), *guards_of(op)):
            if mutant.concerns(node):
                mutant.made_on(node)


#: Legal nodes without elements, of operators with mutants that look for one.
NODES_WITHOUT_ELEMENTS: Mapping[str, Node] = {
    "blocks of nothing": Node(
        OpVersion("", "DequantizeLinear", 21),
        (np.zeros((0, 2), np.int8), np.ones((0, 2), np.float32)),
        {"axis": 0, "block_size": 2},
    ),
    "no lengths of parts": Node(
        OpVersion("", "SplitToSequence", 11),
        (np.zeros((0, 2), np.float32), np.zeros(0, np.int64)),
        {"axis": 0},
    ),
    "no terms": Node(
        OpVersion("", "ReduceLogSumExp", 18),
        (np.zeros((0, 2), np.float32), np.array([0])),
        {},
    ),
    "no classes of no batches": Node(
        OpVersion("", "Multinomial", 7), (np.zeros((0, 0), np.float32),), {"sample_size": 2}
    ),
    "no rows": Node(
        OpVersion("", "Resize", 18),
        (np.zeros((0, 2), np.float32), None, np.float32([1, 2])),
        {"mode": "linear"},
    ),
}


@pytest.mark.parametrize("node", NODES_WITHOUT_ELEMENTS.values(), ids=NODES_WITHOUT_ELEMENTS)
def test_every_mutant_answers_a_node_without_elements(node: Node) -> None:
    assert node.is_legal
    answers = [mutant.made_on(node) for mutant in (*mutants_of(node.op), *causes_of(node.op))]
    assert len(answers) > 10


@pytest.mark.sampled(40, evenly=True)
@pytest.mark.parametrize(
    "mutant", [m for m in mutants_of(HARDMAX) if not m.primitive], ids=lambda mutant: mutant.name
)
def test_no_warning_comes_of_values_at_the_ends_of_the_range(mutant: Mutant) -> None:
    for op, dtype in product((OpVersion("", "Softmax", 13), OpVersion("", "LpPool", 22)), FLOATS):
        largest = float(dtypes.limits(dtypes.DTYPES[dtype])[1])
        values = [largest, -largest, np.inf, -np.inf, np.nan, 1e-45, 0, 1]
        data = np.array([[values]]).astype(dtypes.DTYPES[dtype].numpy)
        attrs = {"kernel_shape": (1,)} if op.name == "LpPool" else {}
        for own in (m for m in mutants_of(op) if m.name == mutant.name):
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                own.made_on(Node(op, (data,), attrs))


def general(name: str, values: object, dtype: str = "float32", **attrs: int) -> list[object] | None:
    """What comes of a mutant of Hardmax; None if it refuses."""
    [mutant] = [one for one in mutants_of(HARDMAX) if one.name == name]
    made = mutant.made_on(Node(HARDMAX, (np.array(values, dtypes.DTYPES[dtype].numpy),), attrs))
    return None if isinstance(made, InvalidNode) else [out.tolist() for out in made]


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("column_major", [[0, 0, 1], [0, 0, 1]]),
        ("read_column_major", [[0, 1, 0], [1, 0, 0]]),
        ("transposed", [[0, 0], [1, 0], [0, 1]]),
        ("batches_and_channels_exchanged", [[0, 0, 1], [0, 0, 1]]),
        ("last_two_axes_exchanged", [[0, 0, 1], [0, 0, 1]]),
        ("channels_last", [[0, 1, 0], [0, 0, 1]]),
        ("axes_of_rank_5_exchanged", [[0, 1, 0], [0, 0, 1]]),
        ("shifted", [[1, 0, 1], [0, 0, 0]]),
        ("last_element_missing", [[0, 1, 0], [0, 0, 0]]),
        ("first_batch_only", [[0, 1, 0], [0, 0, 0]]),
        ("first_batch_for_all", [[0, 1, 0], [0, 1, 0]]),
        ("tail_of_4_repeats", [[0, 1, 0], [0, 0, 1]]),
        ("flattened", [0, 1, 0, 0, 0, 1]),
        ("inverted", [[1, 0, 1], [1, 1, 0]]),
        ("output_as_bool", [[False, True, False], [False, False, True]]),
    ],
)
def test_answers_are_misplaced_as_it_says(name: str, answer: object) -> None:
    assert general(name, MATRIX) == [answer]


def test_rows_are_left_over_where_there_is_enough_to_share() -> None:
    for count, computed in ((23, 20), (20, 20), (3, 0)):
        made: Any = general("rows_left_over_by_four_threads", np.zeros((count, 800)))
        assert [sum(row) for row in made[0]] == [1] * computed + [0] * (count - computed)
    made = general("rows_left_over_by_four_threads", np.zeros((23, 80)))
    assert [sum(row) for row in made[0]] == [1] * 23


@pytest.mark.parametrize(
    ("passes", "answers"),
    [(False, [[1, 2, 0], [1, 2, 3, 0]]), (True, [[1, 2, -3], [1, 2, 3, -4]])],
)
def test_the_rest_of_a_loop_is_zero_or_the_input(passes: bool, answers: list[list[int]]) -> None:
    for answer in answers:
        node = Node(ABS, (-np.arange(1.0, len(answer) + 1),), {})
        made = computed_up_to(lambda size: size - 1, passes, node)
        assert [out.tolist() for out in made] == [answer]


def test_an_input_of_another_type_is_not_left_where_nothing_is_computed() -> None:
    node = Node(IS_NAN, (np.array([1, np.nan]),), {})
    assert not_computed(node.right[0], node, passes=True) is None
    assert computed_up_to(lambda size: 0, True, node)[0].tolist() == [False, True]
    assert computed_up_to(lambda size: 0, False, node)[0].tolist() == [False, False]


def test_what_lies_beyond_1024_entries_is_read_again() -> None:
    x = np.zeros((1, 1030))
    x[0, 3], x[0, 1026] = 1, 2
    made: Any = general("axis_1_read_up_to_1024", x)
    assert np.flatnonzero(made[0]).tolist() == [3]
    made = general("axis_0_read_up_to_1024", x)
    assert np.flatnonzero(made[0]).tolist() == [1026]


def test_three_axes_can_be_taken_for_each_other() -> None:
    cube = [[[2, 1], [1, 2], [1, 2]]]
    right = general("axes_of_rank_5_exchanged", cube)
    assert right == [[[[1, 0], [0, 1], [0, 1]]]]
    assert general("channels_last", cube) == [[[[1, 0, 0], [0, 1, 1]]]]
    assert general("written_channels_last", cube) == [[[[1, 0], [0, 0], [1, 1]]]]
    assert general("last_two_axes_exchanged", cube) == general("written_channels_last", cube)
    assert general("batches_and_channels_exchanged", cube) == right
    # Read as [2, 1], [1, 2], [1, 2] with three channels: [2, 2], [1, 1], [1, 2].
    assert general("read_channels_last", cube) == [[[[1, 0], [1, 0], [0, 1]]]]


def test_the_layout_of_a_vector_cannot_be_mistaken() -> None:
    layout = ("batches_and_channels_exchanged", "last_two_axes_exchanged", "channels_last")
    for name in ("column_major", "read_column_major", "transposed", *layout):
        assert general(name, [1, 3, 2]) == [[0, 1, 0]], name
    assert general("vector_becomes_a_row", [1, 3, 2]) == [[[0, 1, 0]]]


def test_an_attribute_to_blame_is_left_out() -> None:
    assert general("invalid_attribute_ignored", MATRIX, axis=2) == [[[0, 1, 0], [0, 0, 1]]]
    assert general("invalid_attribute_ignored", MATRIX, "int32") is None


@pytest.mark.parametrize(
    ("name", "value", "dtype", "seen"),
    [
        ("float32", 1 + 2**-30, "float64", 1),
        ("float16", 1 + 2**-12, "float32", 1),
        ("bfloat16", 1 + 2**-10, "float16", 1),
        ("float16", 2.0**17, "bfloat16", np.inf),
        ("tf32", 1 + 2**-11, "float32", 1),
        ("tf32", 1 + 2**-10, "float32", 1 + 2**-10),
    ],
)
def test_values_on_the_way_through_a_narrower_type_lose_something(name, value, dtype, seen):
    """p = 1 and windows of one element give magnitudes as they are."""
    op = OpVersion("", "LpPool", 22)
    [mutant] = [one for one in mutants_of(op) if one.name == f"input_in_{name}"]
    x = np.array([[[value]]], dtypes.DTYPES[dtype].numpy)
    [out] = mutant.made_on(Node(op, (x,), {"kernel_shape": (1,), "p": 1}))
    assert float(out[0, 0, 0]) == seen


@pytest.mark.parametrize("part", ["0.01", "0.001", "0.0001", "1e-05"])
@pytest.mark.parametrize("dtype", FLOATS)
def test_what_is_argued_to_round_back_does_so(part: str, dtype: str) -> None:
    """Any number of a type of 16 bits, and some of the others."""
    op = OpVersion("", "Softmax", 13)
    [mutant] = [one for one in mutants_of(op) if one.name == f"too_large_by_{part}"]
    kind = dtypes.DTYPES[dtype].numpy
    if dtype in ("bfloat16", "float16"):
        values = np.arange(1 << 16).astype(np.uint16).view(kind)
    else:
        values = np.geomspace(1e-30, 1e30, 10_001).astype(kind)
    with np.errstate(invalid="ignore"):
        values = values[np.isfinite(values)]
    node = Node(op, (values,), {})
    node.__dict__["_right"] = (values,)
    [changed] = mutant.made_on(node)
    assert (changed.tobytes() == values.tobytes()) == (not mutant.concerns(node))


def test_a_function_is_good_to_some_bits() -> None:
    x = np.linspace(1, 2, 1001)
    for bits in (8, 12, 16):
        error = np.abs(elements.cut_to_bits(x, bits) / x - 1).max()
        assert 0.9 * 2.0**-bits < error <= 2.0**-bits


def test_types_that_no_version_has_are_accepted() -> None:
    assert dtypes_of(HARDMAX) == ("float16", "bfloat16", "float32", "float64")
    assert general("integers_accepted", [1, 3, 2], "int8") == [[0, 1, 0]]
    assert general("attributes_converted", [1, 3, 2], "int8") is None
