"""Suites of rows and pools ask for every size in every place, and for every wrong type.

The mistakes of the engine show that what is asked can be seen. What they leave out, for there would
be hundreds, is counted here: in the newest version of each operator, in float32. Other suites ask
for what those mistakes call for.

Mistakes of a single type or axis would be hundreds too: that operators of elements are asked about
each is counted here as well.
"""

import math
from collections import defaultdict
from functools import cache
from itertools import product

import numpy as np
import pytest

from opcheck.diagnose.suspects import cell_of
from opcheck.dtypes import BASIC, BY_TEXT
from opcheck.engine import dtypes_of, operator_of
from opcheck.engine.mutants.elements import FLOATS
from opcheck.execution.expected import accepted_answers, question
from opcheck.grouping import group_by
from opcheck.model import Case, Computed, Fill, OpVersion, Rejected, Typed, Values
from opcheck.opset import versions
from opcheck.suite import Selection, select
from opcheck.suite.tensors import materialize
from tests.asking import IS_GATE, SOME, WHOLE, judged_operators, shipped_cases, whole_suites

CORE = select(shipped_cases(*WHOLE), Selection(level="core"))
NEWEST = {
    op: [case for case in CORE if case.op == op and case.inputs[0].dtype.name == "float32"]
    for op in {
        (case.op.domain, case.op.name): case.op for case in sorted(CORE, key=lambda c: c.op)
    }.values()
}
TYPES = {"int", "float", "string", "ints", "floats", "tensor"}


def lists_of(op) -> list[str]:
    """The attributes that hold sizes; DirectML's `Axes` are numbers of axes."""
    declared = versions(op.domain, op.name)[op.since].attributes.values()
    lists = [attribute.name for attribute in declared if attribute.type == "ints"]
    return [name for name in lists if name != "Axes"]


def sizes(case: Case, place: str | int) -> list[int]:
    """The sizes along an axis of the input, or in an attribute."""
    if isinstance(place, int):
        shape = case.inputs[0].shape
        return [shape[place]] if -len(shape) <= place < len(shape) else []
    value = case.attrs.get(place)
    return [int(entry) for entry in value] if isinstance(value, tuple) else []


@pytest.mark.parametrize("op", NEWEST, ids=str)
def test_past_every_power_of_two_there_is_a_size(op):
    legal = [case for case in NEWEST[op] if not isinstance(case.expect, Rejected)]
    missing = {
        (place, 1 << power)
        for place in (-1, -2, *lists_of(op))
        for power in range(11)
        for asked in [{size for case in legal for size in sizes(case, place)}]
        if not any(1 << power < size <= 2 << power for size in asked)
    }
    assert missing == set()
    longest = {axis: max(n for case in legal for n in sizes(case, axis)) for axis in range(5)}
    assert {axis: size for axis, size in longest.items() if size <= 1024} == {}


@pytest.mark.parametrize("op", [op for op in NEWEST if not op.domain], ids=str)
def test_every_attribute_is_asked_for_in_every_wrong_type(op):
    """At some level: an engine that checks one of them checks the others."""
    of_version = [case for case in whole_suites(op.name) if case.op == op]
    in_float32 = [case for case in of_version if case.inputs[0].dtype.name == "float32"]
    values = [item for case in in_float32 for item in case.attrs.items()]
    asked = {(name, value.type) for name, value in values if isinstance(value, Typed)}
    declared = versions(op.domain, op.name)[op.since].attributes
    assert {(name, kind) for name, it in declared.items() for kind in TYPES - {it.type}} <= asked
    assert asked - {(name, kind) for name in declared for kind in TYPES}


#: Operators whose kernels differ by one type.
OF_ONE_TYPE = """
    Abs Acos Acosh Add And Asin Asinh Atan Atanh BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor
    Ceil Celu Clip Compress Concat Cos Cosh DepthToSpace Div Elu Equal Erf Exp Expand Flatten Floor
    Gather GatherElements GatherND Greater GreaterOrEqual HardSigmoid HardSwish Identity IsInf IsNaN
    LeakyRelu Less LessOrEqual Log Max Mean Min Mish Mod Mul Neg Not OneHot Or PRelu Pad Pow
    Reciprocal ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin
    ReduceProd ReduceSum ReduceSumSquare Relu Reshape Round Selu Shrink Sigmoid Sign Sin Sinh Slice
    Softplus Softsign SpaceToDepth Split Sqrt Squeeze Sub Sum Swish Tan Tanh ThresholdedRelu Tile
    TopK Transpose Trilu Unsqueeze Where Xor
""".split()
#: Operators whose kernels differ by the types of what goes in and of what comes out.
OF_TWO_TYPES = ["Cast", "CastLike", "QuantizeLinear", "DequantizeLinear"]
#: Operators that stretch any axis of these inputs.
STRETCHING = {
    "A B": """
        Add And BitwiseAnd BitwiseOr BitwiseXor Div Equal Greater GreaterOrEqual Less LessOrEqual
        Mod Mul Or Sub Xor
    """,
    "X Y": "BitShift Pow",
    "data_0 data_1": "Max Mean Min Sum",
    "condition X Y": "Where",
    "slope": "PRelu",
    "input": "Expand",
}
OPERANDS = {op: names.split() for names, ops in STRETCHING.items() for op in ops.split()}


def among(*ops: str) -> list[str]:
    """Those that are asked about: outside a gate, some, and one of two types."""
    return [op for op in ops if IS_GATE or op in (*SOME, "CastLike")]


def answered(op: str) -> list[Case]:
    core = select(shipped_cases(op), Selection(level="core"))
    return [case for case in core if isinstance(case.expect, Computed | Values)]


def leaves_a_rest(case: Case) -> bool:
    """Return True if vectors of 8, 16 or 32 elements leave a rest of an input."""
    sizes = [math.prod(spec.shape) for spec in case.inputs]
    return any(size > 32 and size % 8 for size in sizes)


def pairs(op: OpVersion) -> set[tuple[str, str]]:
    """The types of what goes in and of what comes out that kernels convert."""
    schema = versions(op.domain, op.name)[op.since]
    ends = [[BY_TEXT[t].name for t in one.types] for one in (schema.inputs[0], schema.outputs[0])]
    # Texts are converted one by one; float8e8m0 has no zero, and but one number of int2.
    odd = {("bool", "float8e8m0"), ("float8e8m0", "bool")}
    odd |= {("int2", "float8e8m0"), ("float8e8m0", "int2")} if op.name == "CastLike" else set()
    found = {pair for pair in product(*ends) if "string" not in pair} - odd
    # Its version 15, with the types of that, and its newest are asked about all pairs.
    if op.name == "CastLike" and op.since < 25:
        found &= {*product(BASIC, BASIC)}
    return found


def shows_a_rest(case: Case) -> bool:
    """Return True if what vectors of 8 elements leave of the answer is not all zeros."""
    first, *_ = accepted_answers(case, question(case))
    values = first.wants[0].values.reshape(-1)
    return any(one != 0 for one in values[len(values) // 8 * 8 :].tolist())


@pytest.mark.parametrize("name", among(*OF_ONE_TYPE))
def test_each_type_is_asked_about_rows_that_leave_a_rest(name, of_part):
    cases = answered(name)
    rests = group_by(filter(leaves_a_rest, cases), lambda case: (case.op, cell_of(case).dtype))
    asked = {*rests}
    assert [cell for cell in of_part([*rests]) if not any(map(shows_a_rest, rests[cell]))] == []
    cells = {(op, dtype) for op in {case.op for case in cases} for dtype in dtypes_of(op)}
    # What is whole, or lacks infinity, has 0 or False alone there; texts are compared one by one.
    whole = [dtype for dtype in BASIC if "int" in dtype]
    finite = ["float8e4m3fn", "float8e4m3fnuz", "float8e5m2fnuz"]
    none = {"Erf": whole, "ReduceLogSum": whole, "ReduceLogSumExp": whole, "IsInf": finite}
    left_out = none.get(name, ["string"] if name in ("Equal", "Where") else [])
    assert {cell for cell in cells - asked if cell[1] not in left_out} == set()
    assert {op.since for op, _ in asked} == {*operator_of(next(iter(cells))[0]).formulas}


@pytest.mark.parametrize("name", among(*OF_TWO_TYPES))
def test_each_pair_of_types_is_asked_about_rows_that_leave_a_rest(name):
    """In the newest version; in others, each type on either side."""
    cases = [case for case in answered(name) if leaves_a_rest(case)]
    asked = {(case.op, case.inputs[0].dtype.name, case.outputs[0].dtype.name) for case in cases}
    ops = {case.op for case in cases}
    wanted = {(max(ops), *pair) for pair in pairs(max(ops))}
    assert len(wanted) > 30
    assert wanted - asked == set()
    for side in (0, 1):
        sides = {(op, pair[side]) for op in ops for pair in pairs(op)}
        assert sides - {(op, pair[side]) for op, *pair in asked} == set()


@cache
def no_numbers(spec) -> set[str]:
    """What is NaN or infinite in an input."""
    if spec.dtype.kind != "float":
        return set()
    tests = {"nan": np.isnan, "infinite": np.isinf}
    if isinstance(spec.content, Fill) and spec.content.kind == "choice":
        values = np.array(spec.content.args, np.float64)
    elif math.prod(spec.shape) > 512:
        return set()
    else:
        values = materialize(spec)
    # NumPy warns of some NaN.
    with np.errstate(invalid="ignore"):
        return {name for name, test in tests.items() if test(values).any()}


def test_each_float_type_is_asked_about_no_numbers(of_part):
    asked = defaultdict(set)
    for name in of_part([one.name for one in judged_operators()]):
        for case in answered(name):
            for spec in case.inputs:
                asked[case.op, spec.dtype.name] |= no_numbers(spec)
    missing = {
        (op, dtype, one)
        for op in {op for op, _ in asked}
        for dtype in FLOATS
        if dtype in dtypes_of(op)
        for one in asked[op, "float32"] - asked[op, dtype]
    }
    # Where values do not matter, one type is enough.
    assert {op.name for op, *_ in missing} <= {"EyeLike", "Shape", "Size"}, missing


@pytest.mark.parametrize("name", among(*OPERANDS))
def test_each_axis_is_stretched_by_itself(name):
    asked = {
        (spec.name, spec.shape)
        for case in answered(name)
        if any(spec.shape == (2, 3, 4, 5) for spec in case.inputs) or name == "Expand"
        for spec in case.inputs
    }
    single = [(1, 3, 4, 5), (2, 1, 4, 5), (2, 3, 1, 5), (2, 3, 4, 1)]
    kept = [(2, 1, 1, 1), (3, 1, 1), (4, 1), (5,)]
    assert {*product(OPERANDS[name], single + kept)} - asked == set()
