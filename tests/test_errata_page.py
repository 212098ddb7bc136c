"""The page of errata quotes sentences that ONNX has, and shape inference that does what it says."""

import re
from typing import Any

import pytest
from onnx import defs, helper, shape_inference

from tests.shell import ROOT

PAGE = (ROOT / "docs" / "errata.md").read_text("utf-8")
ROWS = re.findall(r'^\| (\w+)(?:-(\d+))? \| "(.+?)" \| ', PAGE, re.MULTILINE)


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
    assert len(ROWS) == len(re.findall(r"^\| [A-Z]", PAGE, re.MULTILINE))


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
