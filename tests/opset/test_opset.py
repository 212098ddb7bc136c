import subprocess
import sys
from itertools import chain, combinations, permutations

import pytest
from onnx import defs

from opcheck import opset
from opcheck.dtypes import DTYPES
from opcheck.model import OpVersion
from opcheck.opset import DML
from opcheck.opset.direct_ml import LOWERED, MAX_RANK, SCHEMAS, WORDS, invalid_axes, invalid_sizes


def test_the_version_in_force_is_the_newest_not_after_the_opset() -> None:
    found = {}
    for at in range(1, defs.onnx_opset_version() + 1):
        schema = opset.describe("", "Hardmax", at)
        assert schema is not None
        found[at] = schema.op.since
    assert found == {at: 1 if at < 11 else 11 if at < 13 else 13 for at in found}


@pytest.mark.parametrize(
    "name", ["Hardmax", "LpPool", "Softmax", "Clip", "Relu", "Upsample", "Gelu"]
)
def test_the_version_in_force_is_the_one_onnx_names(name: str) -> None:
    for at in range(1, defs.onnx_opset_version() + 1):
        found = opset.describe("", name, at)
        try:
            want = defs.get_schema(name, at).since_version
        except defs.SchemaError:
            want = None
        assert (found.op.since if found else None) == want


def test_before_its_first_version_an_operator_does_not_exist() -> None:
    assert opset.describe("", "Gelu", 19) is None
    assert opset.describe("", "Gelu", 20) is not None
    assert opset.describe("", "Hardmax", 0) is None
    assert opset.describe("", "NoSuchOperator", 13) is None
    assert opset.describe("no.such.domain", "Hardmax", 13) is None


def test_versions_are_in_order() -> None:
    assert list(opset.versions("", "Hardmax")) == [1, 11, 13]
    assert list(opset.versions("", "LpPool")) == [1, 2, 11, 18, 22]
    assert opset.versions("", "hardmax") == {}


def test_an_attribute_is_read_from_the_version_itself() -> None:
    for since, default in ((1, 1), (11, 1), (13, -1)):
        found = opset.attribute(OpVersion("", "Hardmax", since), "axis")
        assert found is not None
        assert (found.type, found.required, found.default) == ("int", False, default)


def test_an_attribute_of_another_version_is_read_from_the_nearest() -> None:
    # Version 1 has p as a float, every later one as an int; ceil_mode came with version 18.
    p = opset.attribute(OpVersion("", "LpPool", 1), "p")
    later = opset.attribute(OpVersion("", "LpPool", 2), "p")
    ceil_mode = opset.attribute(OpVersion("", "LpPool", 11), "ceil_mode")
    assert p
    assert later
    assert ceil_mode
    assert (p.type, p.default, later.type, later.default) == ("float", 2.0, "int", 2)
    assert (ceil_mode.type, ceil_mode.default) == ("int", 0)
    # TopK had k as an attribute in version 1 only.
    assert opset.attribute(OpVersion("", "TopK", 11), "k") is not None
    assert opset.attribute(OpVersion("", "Hardmax", 13), "axes") is None


def test_operators_and_domains_are_listed() -> None:
    assert {"", "ai.onnx.ml", "com.microsoft.dml"} <= set(opset.domains())
    names = opset.operators("")
    assert "Hardmax" in names
    assert list(names) == sorted(names)
    names = ("HARDMAX", "HARDMAX1", "LOG_SOFTMAX", "LOG_SOFTMAX1", "SOFTMAX", "SOFTMAX1")
    of_rows = {f"DML_ACTIVATION_{n}" for n in names}
    assert opset.operators("com.microsoft.dml") == (*sorted(of_rows | LOWERED.keys()),)
    assert opset.operators("no.such.domain") == ()


def test_the_newest_opset_of_each_domain() -> None:
    assert opset.newest("") == defs.onnx_opset_version()
    assert opset.newest("com.microsoft.dml") == 1
    assert opset.newest("no.such.domain") == 0
    for domain in opset.domains():
        since = [v for name in opset.operators(domain) for v in opset.versions(domain, name)]
        assert opset.newest(domain) >= max(since)


def hardmax(opset_: int) -> tuple[int, ...]:
    schema = opset.describe("", "Hardmax", opset_)
    assert schema is not None
    return opset.later(schema.op, opset_)


def test_later_opsets_are_halfway_to_the_next_version_and_just_before_it() -> None:
    assert [hardmax(at) for at in (1, 7, 8, 9, 10)] == [(6, 10), (9, 10), (9, 10), (10,), ()]
    assert [hardmax(at) for at in (11, 12)] == [(12,), ()]


def test_of_the_newest_version_the_last_is_the_newest_opset() -> None:
    newest = opset.newest("")
    assert hardmax(13) == ((13 + newest + 1) // 2, newest)
    assert hardmax(newest - 1) == (newest,)
    assert hardmax(newest) == ()


def test_directml_has_no_later_opsets() -> None:
    assert opset.later(OpVersion("com.microsoft.dml", "DML_ACTIVATION_HARDMAX1", 1), 1) == ()


@pytest.mark.parametrize("name", ["Hardmax", "LpPool", "Softmax", "TopK", "Relu", "Gelu"])
def test_at_every_later_opset_the_same_version_is_in_force(name: str) -> None:
    for since, schema in opset.versions("", name).items():
        for at in range(since, opset.newest("") + 1):
            if opset.describe("", name, at) is not schema:
                break
            for later in opset.later(schema.op, at):
                assert later > at
                assert opset.describe("", name, later) is schema
            if not opset.later(schema.op, at) and at < opset.newest(""):
                assert opset.describe("", name, at + 1) is not schema


def test_onnx_is_imported_by_the_first_question_only() -> None:
    code = "import sys; import opcheck.opset; assert 'onnx' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("name", "attrs", "wanted"),
    [
        ("Cast", {"to": 10}, "float16"),
        ("EyeLike", {"dtype": 7}, "int64"),
        ("EyeLike", {}, None),
        ("RandomNormal", {}, "float32"),
        ("TopK", {}, "float64"),
        ("Shape", {}, "int64"),
        ("Cast", {"to": 99}, None),
    ],
)
def test_an_output_has_the_dtype_that_an_input_or_an_attribute_or_the_schema_names(
    name, attrs, wanted
):
    schema = opset.describe("", name, 28)
    types = {"T": DTYPES["float64"]} if name == "TopK" else {}
    found = opset.output_dtype(schema, schema.outputs[0], types, attrs)
    assert (found and found.name) == wanted


def test_its_operators_stand_beside_onnx_s() -> None:
    for schema in SCHEMAS:
        assert opset.describe(DML, schema.op.name, 1) is schema
        assert opset.describe("", schema.op.name, 1) is None


@pytest.mark.parametrize("schema", SCHEMAS[:6], ids=lambda schema: schema.op.name)
def test_its_operators_of_rows_are_as_their_pages_declare_them(schema) -> None:
    declared = [(a.name, a.type, a.required, a.default) for a in schema.attributes.values()]
    assert declared == [("Axes", "ints", True, None)] * schema.op.name.endswith("1")
    for parameters, name in ((schema.inputs, "InputTensor"), (schema.outputs, "OutputTensor")):
        assert [(p.name, p.option) for p in parameters] == [(name, "single")]
        assert parameters[0].types == {"tensor(float)", "tensor(float16)"}
    assert schema.inputs[0].constraint == schema.outputs[0].constraint


@pytest.mark.parametrize("name", LOWERED)
def test_what_is_one_of_onnx_s_has_its_attributes_inputs_and_outputs(name: str) -> None:
    one = LOWERED[name]
    assert opset.describe("", one.name, one.opset) is one.onnx
    assert one.members.keys() <= one.onnx.attributes.keys()
    parts = [part.members.values() for part in (one, *one.picks.values())]
    said = {*chain(*chain(*parts))}
    said |= {one.picker} if one.picks else set()
    inputs = [slot.name for slot in one.onnx.inputs]
    held = {"Min", "Max", "Exponent"} & one.schema.attributes.keys()
    # The last says which sizes of the indices count.
    assert said | held == one.schema.attributes.keys() - WORDS.keys() - {"IndexDimensions"}
    assert all(member.required for member in one.schema.attributes.values())
    many = one.onnx.inputs[0].option == "variadic"
    held |= one.fixed.keys() & {*inputs}
    assert len(one.schema.inputs) + len(held) == (2 if many else len(inputs))
    assert len(one.schema.outputs) <= len(one.onnx.outputs)


@pytest.mark.parametrize("shape", [(3,), (2, 3), (0, 3), (1, 1, 2, 3), (1, 1, 1), (*[1] * 7, 5)])
def test_sizes_of_1_on_the_left_do_not_count(shape: tuple[int, ...]) -> None:
    assert invalid_sizes(shape) is None


@pytest.mark.parametrize("shape", [(2, 1, 3), (0, 1, 3), (1, 2, 1, 3), (2, *[1] * 7), [1] * 9, ()])
def test_an_effective_rank_above_2_and_a_rank_out_of_range_are_invalid(shape) -> None:
    assert invalid_sizes(shape)


@pytest.mark.parametrize("rank", range(1, MAX_RANK + 1))
def test_every_set_of_axes_in_range_is_valid(rank: int) -> None:
    dimensions = range(rank)
    for axes in chain.from_iterable(combinations(dimensions, n) for n in range(1, rank + 1)):
        assert invalid_axes(axes, rank) is None
        assert invalid_axes(axes[::-1], rank) is None


def test_the_order_of_axes_does_not_make_them_invalid() -> None:
    assert [invalid_axes(axes, 4) for axes in permutations((0, 2, 3))] == [None] * 6


@pytest.mark.parametrize(
    ("axes", "rank"),
    [
        ([4], 4),
        ([-1], 4),
        ([0, 2**32], 4),
        ([0, 0], 4),
        ([3, 1, 3], 4),
        ([], 4),
        ([0], 0),
        ([0], 9),
        ([], 9),
    ],
)
def test_what_is_invalid_is_said_with_what_is_allowed(axes, rank, wording):
    assert invalid_axes(axes, rank) == wording


@pytest.mark.parametrize(
    ("name", "old", "new", "alike"),
    [
        ("Relu", 6, 14, True),
        ("Transpose", 13, 21, True),  # the descriptions differ
        ("Softmax", 11, 13, False),  # another default of axis
        ("Reshape", 13, 14, False),  # a new attribute
        ("ReduceMax", 13, 18, False),  # axes are an input
    ],
)
def test_versions_may_differ_in_types_alone(name: str, old: int, new: int, alike: bool) -> None:
    schemas = opset.versions("", name)
    assert opset.differ_in_types_alone(schemas[old], schemas[new], ()) is alike


def test_versions_that_differ_in_an_ignored_attribute_may_differ_in_types_alone() -> None:
    schemas = opset.versions("", "Relu")
    assert not opset.differ_in_types_alone(schemas[1], schemas[6], ())
    assert opset.differ_in_types_alone(schemas[1], schemas[6], ("consumed_inputs",))
