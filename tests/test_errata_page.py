"""The page of errata quotes sentences that ONNX has, and shape inference that does what it says."""

import re
from typing import Any

import pytest
from onnx import FunctionProto, TensorProto, defs, helper, shape_inference

from tests.shell import ROOT

PAGE = (ROOT / "docs" / "errata.md").read_text("utf-8")
#: Before the table of types, which quotes no sentences.
QUOTING, _, BODIES = PAGE.partition("## Function bodies that cannot be computed")
ROWS = re.findall(r'^\| (\w+)(?:-(\d+))? \| "(.+?)" \| ', QUOTING, re.MULTILINE)


def plain(text: str) -> str:
    return re.sub(r"\s+", " ", text)


def text_of(schema: Any) -> str:
    parts = [schema.doc or "", *(one.description for one in (*schema.inputs, *schema.outputs))]
    parts += [attribute.description for attribute in schema.attributes.values()]
    return plain(" ".join(parts))


@pytest.mark.parametrize(("name", "version", "sentence"), ROWS)
def test_each_sentence_stands_in_the_text(name: str, version: str, sentence: str) -> None:
    schemas = [one for one in defs.get_all_schemas_with_history() if one.name == name]
    schemas = [one for one in schemas if one.domain == ""]
    if version:
        schemas = [one for one in schemas if one.since_version == int(version)]
    assert any(plain(sentence) in text_of(schema) for schema in schemas)


def test_every_row_is_read() -> None:
    assert len(ROWS) == len(re.findall(r"^\| [A-Z]", QUOTING, re.MULTILINE))


def inferred(op: str, opset: int, shapes: list[list[int]], **attrs: Any) -> list[int]:
    """The shape that ONNX's inference declares of a node's first output."""
    names = [f"x{n}" for n in range(len(shapes))]
    node = helper.make_node(op, names, ["y"], **attrs)
    inputs = [
        helper.make_tensor_value_info(name, 1, shape)
        for name, shape in zip(names, shapes, strict=True)
    ]
    graph = helper.make_graph([node], "g", inputs, [helper.make_empty_tensor_value_info("y")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    output = shape_inference.infer_shapes(model).graph.output[0]
    return [size.dim_value for size in output.type.tensor_type.shape.dim]


def test_shape_inference_is_as_the_page_says() -> None:
    assert inferred("LpPool", 22, [[1, 1, 3]], kernel_shape=[4], strides=[2]) == [1, 1, 1]
    assert inferred("Squeeze", 1, [[1, 3, 1]], axes=[2, 0]) == [1, 3]
    assert inferred("Gemm", 13, [[2, 3], [3, 4]], transA=2**32) == [2, 4]
    attrs: Any = {"kernel_shape": [3], "strides": [2], "pads": [0, 2], "ceil_mode": 1}
    assert inferred("LpPool", 22, [[1, 1, 4]], **attrs) == [1, 1, 2]


def body(op: str, version: int, types: list[int], attrs: dict[str, Any]) -> FunctionProto:
    """The function body of a version of an operator for inputs of these types."""
    schema: Any = defs.get_schema(op, version)
    if schema.has_function:
        made: FunctionProto = schema.function_body
        return made
    node = helper.make_node(op, [f"x{n}" for n in range(len(types))], ["y"], **attrs)
    typed = [helper.make_tensor_type_proto(one, None).SerializeToString() for one in types]
    stored = schema.get_context_dependent_function_with_opset_version(
        version, node.SerializeToString(), typed
    )
    return FunctionProto.FromString(stored)


def infer_body(op: str, version: int, types: list[int], **attrs: Any) -> None:
    """Raises InferenceError where the function body is not valid with these types."""
    shape_inference.infer_function_output_types(
        body(op, version, types, attrs),
        [helper.make_tensor_type_proto(one, None) for one in types],
        [helper.make_attribute(name, value) for name, value in attrs.items()],
    )


FLOAT, HALF, BFLOAT = TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16
INT32, INT64, UINT32 = TensorProto.INT32, TensorProto.INT64, TensorProto.UINT32


@pytest.mark.parametrize(
    ("op", "version", "types", "control", "attrs"),
    [
        ("Attention", 23, [FLOAT, FLOAT, HALF], [FLOAT, FLOAT, FLOAT], {}),
        ("CenterCropPad", 18, [FLOAT, INT32], [FLOAT, INT64], {"axes": [0]}),
        ("Clip", 13, [BFLOAT, BFLOAT], [FLOAT, FLOAT], {}),
        ("MeanVarianceNormalization", 13, [HALF], [FLOAT], {"axes": [0]}),
        ("ReduceLogSum", 18, [UINT32, INT64], [FLOAT, INT64], {}),
        ("RMSNormalization", 23, [HALF, FLOAT], [FLOAT, FLOAT], {}),
        ("SoftmaxCrossEntropyLoss", 13, [BFLOAT, INT64], [FLOAT, INT64], {}),
    ],
)
def test_a_function_body_is_invalid_with_types_that_the_text_allows(
    op: str, version: int, types: list[int], control: list[int], attrs: dict[str, Any]
) -> None:
    assert f"| {op}" in BODIES
    infer_body(op, version, control, **attrs)
    with pytest.raises(shape_inference.InferenceError):
        infer_body(op, version, types, **attrs)
