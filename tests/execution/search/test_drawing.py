import math
from itertools import pairwise
from random import Random

import pytest

from opcheck import opset
from opcheck.dtypes import DTYPES
from opcheck.engine import Node, dtypes_of
from opcheck.engine.evaluate import evaluate
from opcheck.errors import InvalidNode, NotSupported
from opcheck.execution.search.drawing import attribute, drawn
from opcheck.model import Fill, Given, OpVersion
from opcheck.suite import materialize
from tests.asking import elements, judged_versions, shipped_cases_of
from tests.execution.one import one

TRIES = 120
VERSIONS = [(op.domain, op.name, op.since) for op in judged_versions()]


def schema_of(domain, name, since):
    return opset.describe(domain, name, since)


def nodes(domain, name, since, dtype="float32", cases=(), tries=TRIES):
    return list(drawn(schema_of(domain, name, since), DTYPES[dtype], cases, tries))


def is_legal(op, node):
    try:
        evaluate(Node(op, tuple(materialize(spec) for spec in node.inputs), node.attrs))
    except (InvalidNode, NotSupported, MemoryError):  # MemoryError: too long a range
        return False
    except ValueError:  # such a permutation has ties
        return False
    return True


@pytest.mark.parametrize("version", VERSIONS, ids=str)
def test_many_nodes_of_a_version_are_legal_some_are_not_and_all_attributes_are_stated(version):
    op = OpVersion(*version)
    # The large ones lend shapes that take seconds to compute.
    cases = [case for case in shipped_cases_of(op) if elements(case) <= 1000]
    dtype = max(dtypes_of(op), key=lambda name: name == "float32")
    found = nodes(*version, dtype, cases=cases)
    legal = [node for node in found if is_legal(op, node)]
    attributes = {*(schema := schema_of(*version)).attributes} - {"sparse_value"}
    # Few nodes with these are legal.
    few = {"momentum", "spatial"} if op.name == "BatchNormalization" else set()
    few |= {"consumed_inputs"} if op.name == "InstanceNormalization" else set()
    few |= {"spatial_scale"} if op.name == "MaxRoiPool" else set()
    floats = {name for name, one in schema.attributes.items() if one.type == "float"}
    # Any tensor will do for one alone, and start and end for Shape, and ratio for Dropout; any two
    # for CastLike.
    free = {"consumed_inputs", "start", "end", "ratio"}
    never_invalid = len(schema.inputs) == 1 and attributes <= free | floats
    # Axes that are an input are mostly those of legal cases.
    never_invalid |= op.name == "CastLike" or (op.name.startswith("Reduce") and op.since > 12)
    # Few types that BitCast may give are as wide as its input, half of all indices are below 0, and
    # offsets and rois have shapes of their own.
    rare = ("BatchNormalization", "BitCast", "DeformConv", "OneHot")
    share = 15 if op.name in rare else 30 if op.name == "MaxRoiPool" else 8
    assert TRIES / share < len(legal) < TRIES + never_invalid
    assert {name for node in legal for name in node.attrs} - few == attributes - few


def small(found):
    return [node for node in found if isinstance(node.inputs[0].content, Given)]


def said(found):
    return [
        (dict(node.attrs), [(spec.shape, materialize(spec).tobytes()) for spec in node.inputs])
        for node in small(found)
    ]


def test_the_same_nodes_come_each_time_and_others_for_other_types():
    one, again = (nodes("", "Softmax", 13) for _ in range(2))
    assert said(one) == said(again)
    assert said(one) != said(nodes("", "Softmax", 13, "float16"))


def size(node):
    return sum(math.prod(spec.shape) for spec in node.inputs)


def test_small_nodes_come_first_and_large_ones_are_filled_by_rule():
    found = nodes("", "Hardmax", 13, tries=1000)
    stages = [max(map(size, found[start : start + 150])) for start in (0, 450, 600)]
    assert stages[0] <= 27 < stages[1] < stages[2]
    by_rule = [node for node in found if isinstance(node.inputs[0].content, Fill)]
    assert {math.prod(n.inputs[0].shape) for n in by_rule} >= {300, 70_000}
    assert all(size(node) <= 300 for node in found if node not in by_rule)


def test_values_are_of_the_type_and_of_every_kind():
    among = small(nodes("", "Hardmax", 13, "float16", tries=600))
    found = [materialize(node.inputs[0]) for node in among]
    flat = [value for array in found for value in array.reshape(-1).tolist()]
    assert {0.0, 1.0, -1.0, math.inf, -math.inf, 65504.0, 2.0**-24} <= set(flat)
    assert any(math.copysign(1, value) < 0 for value in flat if value == 0)
    assert any(a == b for array in found if array.size > 1 for a, b in pairwise(array.reshape(-1)))


def test_nan_comes_last():
    found = nodes("", "Hardmax", 13, tries=400)
    with_nan = [
        number
        for number, node in enumerate(found)
        if isinstance(node.inputs[0].content, Given)
        and any(map(math.isnan, node.inputs[0].content.values.reshape(-1).tolist()))
    ]
    assert with_nan
    assert min(with_nan) >= 300


def test_cases_lend_their_shapes_and_attributes(tmp_path):
    case = one(tmp_path, "{name: a, inputs: {input: {shape: [1, 2, 1, 7], constant: 0}}}")
    found = nodes("", "Hardmax", 13, cases=[case])
    lent = [node for node in found if node.attrs is case.attrs]
    assert len(lent) > TRIES / 10
    assert {node.inputs[0].shape for node in lent} == {(1, 2, 1, 7)}
    assert len({materialize(node.inputs[0]).tobytes() for node in lent}) > 10


def test_directml_has_no_initializers():
    found = nodes("", "Hardmax", 13)
    assert any(one.initializer for node in found for one in node.inputs)
    dml = next(version for version in VERSIONS if version[0])
    assert not any(one.initializer for node in nodes(*dml) for one in node.inputs)


def test_an_attribute_of_which_nothing_is_known_keeps_its_default():
    found = schema_of("", "Resize", 13).attributes["mode"]
    assert attribute(Random(0), found, (2, 2)) == "nearest"


@pytest.mark.parametrize("dtype", dtypes_of(OpVersion("", "Where", 16)))
def test_inputs_are_of_the_types_that_they_may_have_together(dtype):
    """Some broadcast, some do not; values are those that the type holds."""
    found = nodes("", "Where", 16, dtype)
    assert {
        (c.dtype.name, x.dtype.name, y.dtype.name) for c, x, y in (n.inputs for n in found)
    } == {("bool", dtype, dtype)}
    assert len({tuple(spec.shape for spec in node.inputs) for node in found}) > TRIES / 10
    legal = [is_legal(OpVersion("", "Where", 16), node) for node in found]
    assert TRIES / 4 < sum(legal) < TRIES


def test_a_variadic_input_is_of_one_to_three_tensors():
    assert {len(node.inputs) for node in nodes("", "Concat", 13)} == {1, 2, 3}
