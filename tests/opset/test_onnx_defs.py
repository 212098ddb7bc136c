import re
from typing import Any

import pytest
from onnx import AttributeProto, defs, helper

from opcheck import opset
from opcheck.opset import onnx_defs

SCHEMAS = defs.get_all_schemas_with_history()


def test_every_schema_of_every_domain_is_converted() -> None:
    names = {(s.domain, s.name) for s in SCHEMAS}
    converted = [s for name in names for s in onnx_defs.versions(*name)]
    keys = {(s.op.domain, s.op.name, s.op.since) for s in converted}
    assert len(converted) == len(SCHEMAS)
    assert keys == {(s.domain, s.name, s.since_version) for s in SCHEMAS}


@pytest.mark.parametrize("domain", sorted({schema.domain for schema in SCHEMAS}))
def test_attributes_inputs_and_outputs_are_those_of_onnx(domain: str) -> None:
    for theirs in SCHEMAS:
        if theirs.domain != domain:
            continue
        ours = opset.versions(domain, theirs.name)[theirs.since_version]
        assert ours.deprecated == theirs.deprecated
        assert set(ours.attributes) == set(theirs.attributes)
        for name, attribute in theirs.attributes.items():
            assert ours.attributes[name].name == name
            assert ours.attributes[name].required == attribute.required
            _same_default(ours.attributes[name], attribute)
        for mine, parameters in zip(ours.formals, (theirs.inputs, theirs.outputs), strict=True):
            assert [p.name for p in mine] == [p.name for p in parameters]
            assert [set(p.types) for p in mine] == [set(p.types) for p in parameters]
            assert [p.option for p in mine] == [p.option.name.lower() for p in parameters]


def _same_default(ours: opset.Attribute, theirs: Any) -> None:
    words = re.search("Default value is|The default type is", ours.description)
    if words and not theirs.default_value.type:
        return  # only words state it
    if ours.type == "other" or ours.default is None:
        stated = theirs.default_value.type not in (AttributeProto.UNDEFINED,)
        assert ours.type == "other" or not stated
        return
    # Written back by onnx, a default must become the very attribute it was read from.
    value: Any = list(ours.default) if isinstance(ours.default, tuple) else ours.default
    kind = AttributeProto.AttributeType.Value(theirs.default_value.type and ours.type.upper())
    again = helper.make_attribute(ours.name, value, attr_type=kind)
    for field in ("type", "i", "f", "s", "ints", "floats", "strings"):
        assert getattr(again, field) == getattr(theirs.default_value, field)


@pytest.mark.parametrize(
    ("op", "since", "name", "kind", "required", "default"),
    [
        ("Hardmax", 13, "axis", "int", False, -1),
        ("LpPool", 22, "auto_pad", "string", False, "NOTSET"),
        ("LpPool", 22, "kernel_shape", "ints", True, None),
        ("LpPool", 22, "pads", "ints", False, None),
        ("LpPool", 1, "p", "float", False, 2.0),
        ("Upsample", 9, "mode", "string", False, "nearest"),
        ("RNN", 14, "activations", "strings", False, ("Tanh", "Tanh")),
        ("Constant", 13, "value", "tensor", False, None),
    ],
)
def test_defaults_are_plain_values(op, since, name, kind, required, default):
    found = opset.versions("", op)[since].attributes[name]
    assert (found.type, found.required, found.default) == (kind, required, default)
    assert type(found.default) is type(default)
