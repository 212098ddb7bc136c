from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as drawn
from onnx import AttributeProto, ValueInfoProto, checker, defs, helper, numpy_helper
from onnx.parser import parse_model

from opcheck import opset
from opcheck.backends import Backend, attempt, connect
from opcheck.dtypes import DTYPES
from opcheck.engine.evaluate import evaluate
from opcheck.errors import NotSupported
from opcheck.execution.expected import node_of
from opcheck.graph import NotExpressible, ir_version, model_of, sized
from opcheck.model import AttrValue, Declined, OutputSpec, Produced, Task, TensorType, Typed
from tests import brute
from tests.asking import asking, dml_problem, dtype_of, output_of, task_of
from tests.examples import examples
from tests.expecting import error_of
from tests.wording import Wording

NEWEST = defs.onnx_opset_version()
IMAGE = np.ones((1, 2, 5, 5), np.float32)
MATRIX = np.array([[3, 3, 1], [3, 0, 3]], np.float32)

#: Operators of every build: attributes of all types, optional, variadic and several inputs,
#: several outputs. Attributes are those of the first opset named and later.
NODES: list[tuple[str, int, Mapping[str, AttrValue], tuple[Any, ...]]] = [
    ("Hardmax", 1, {"axis": 1}, (MATRIX,)),
    ("Hardmax", 1, {}, (MATRIX,)),
    ("LeakyRelu", 6, {"alpha": 0.5}, (MATRIX,)),
    ("LpPool", 2, {"kernel_shape": (2, 2), "auto_pad": "SAME_UPPER"}, (IMAGE,)),
    ("Conv", 1, {"pads": (1, 1, 1, 1)}, (IMAGE, np.ones((3, 2, 3, 3), np.float32))),
    ("MatMul", 1, {}, (MATRIX, MATRIX.T)),
    ("Where", 9, {}, (MATRIX > 1, MATRIX, MATRIX)),
    ("Flatten", 1, {"axis": 1}, (IMAGE,)),
]
BACKENDS = [connect("onnxruntime"), connect("reference")]
VALUES = st.sampled_from([-np.inf, -2.0, -1.0, -0.0, 0.0, 1.0, np.inf])


def whole(op: str, at: int, attrs: Mapping[str, AttrValue], arrays: tuple[Any, ...]) -> Task:
    return task_of(op, at, attrs, *arrays)


def check(model: onnx.ModelProto) -> None:
    checker.check_model(model, full_check=True)


@pytest.mark.parametrize("at", range(1, NEWEST + 1))
def test_the_model_is_valid_at_every_opset(at: int) -> None:
    for op, first, attrs, arrays in NODES:
        if at >= first:
            model = model_of(task_of(op, at, attrs, *arrays))
            check(model)
            assert [(i.domain, i.version) for i in model.opset_import] == [("", at)]


@pytest.mark.parametrize("at", range(1, NEWEST + 1))
def test_the_ir_version_is_the_lowest_of_a_release_with_that_opset(at: int) -> None:
    # Rows are (release, IR version, opset of ai.onnx, …).
    lowest = min(row[1] for row in helper.VERSION_TABLE if row[2] >= at)
    assert ir_version("", at) == lowest
    assert model_of(task_of("Hardmax", at, {}, MATRIX)).ir_version == lowest


def test_opsets_2_to_4_came_with_ir_version_3() -> None:
    assert [ir_version("", at) for at in range(1, 6)] == [3] * 5


def test_other_domains_have_an_ir_version_too() -> None:
    for domain in ("ai.onnx.ml", "ai.onnx.preview", "ai.onnx.preview.training"):
        for at in range(1, opset.newest(domain) + 1):
            assert ir_version(domain, at) >= 3


def test_the_model_survives_a_file() -> None:
    model = model_of(task_of("LpPool", 22, {"kernel_shape": (2, 2)}, IMAGE))
    assert onnx.load_from_string(model.SerializeToString()) == model


def test_names_and_order_are_the_problem_s() -> None:
    kernel = np.ones((3, 2, 3, 3), np.float32)
    model = model_of(task_of("Conv", 13, {}, IMAGE, kernel, np.ones(3, np.float32)))
    assert [i.name for i in model.graph.input] == ["X", "W", "B"]
    assert [o.name for o in model.graph.output] == ["Y"]
    (node,) = model.graph.node
    assert (node.op_type, list(node.input), list(node.output)) == ("Conv", ["X", "W", "B"], ["Y"])


def test_an_optional_input_left_out_keeps_its_slot() -> None:
    least = np.array(0.0, np.float32)
    whole = task_of("Clip", 13, {}, MATRIX, least, least)
    task = replace(whole, slots=("input", "", "max"), inputs=(whole.inputs[0], whole.inputs[2]))
    model = model_of(task)
    check(model)
    assert list(model.graph.node[0].input) == ["input", "", "max"]
    output = output_of(connect("onnxruntime"), task, MATRIX, least)
    assert output.tolist() == np.minimum(MATRIX, 0).tolist()


def test_variadic_inputs_and_several_outputs() -> None:
    schema = opset.describe("", "Concat", 13)
    assert schema is not None
    names = ("inputs_0", "inputs_1", "inputs_2")
    types = tuple(TensorType(name, DTYPES["float32"], (2, 3)) for name in names)
    outputs = (OutputSpec("concat_result", DTYPES["float32"]),)
    check(model_of(Task("Concat", schema.op, 13, {"axis": 0}, names, types, {}, outputs)))

    both = (OutputSpec("Values", DTYPES["float32"]), OutputSpec("Indices", DTYPES["int64"]))
    k = np.array([2], np.int64)
    model = model_of(task_of("TopK", 11, {"axis": 1}, MATRIX, k, outputs=both))
    check(model)
    assert [o.name for o in model.graph.output] == ["Values", "Indices"]


def test_no_attribute_is_written_that_the_problem_leaves_out() -> None:
    assert not model_of(task_of("Hardmax", 13, {}, MATRIX)).graph.node[0].attribute


@pytest.mark.parametrize(
    ("op", "at", "name", "value", "kind"),
    [
        ("Hardmax", 13, "axis", -1, AttributeProto.INT),
        ("LeakyRelu", 16, "alpha", 1.0, AttributeProto.FLOAT),
        ("LpPool", 22, "auto_pad", "VALID", AttributeProto.STRING),
        ("LpPool", 22, "kernel_shape", (2, 3), AttributeProto.INTS),
        ("LpPool", 22, "kernel_shape", (), AttributeProto.INTS),
        ("RNN", 14, "activations", (), AttributeProto.STRINGS),
        ("RNN", 14, "activation_alpha", (), AttributeProto.FLOATS),
        ("LpPool", 1, "p", 2.0, AttributeProto.FLOAT),
        # An attribute of another version, as the models that must be refused have them.
        ("LpPool", 11, "dilations", (), AttributeProto.INTS),
    ],
)
def test_attributes_have_the_declared_type(op, at, name, value, kind):
    check_attribute(task_of(op, at, {name: value}, IMAGE), name, kind, value)


def check_attribute(task, name, kind, value):
    (attribute,) = model_of(task).graph.node[0].attribute
    assert (attribute.name, attribute.type) == (name, kind)
    read = helper.get_attribute_value(attribute)
    if kind == AttributeProto.TENSOR:
        read = numpy_helper.to_array(read).tolist()
    read = read.decode() if isinstance(read, bytes) else read
    assert (tuple(read) if isinstance(value, tuple) else read) == value


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (Typed("float", 1.0), AttributeProto.FLOAT),
        (Typed("string", "1"), AttributeProto.STRING),
        (Typed("ints", ()), AttributeProto.INTS),
        (Typed("floats", (1.0,)), AttributeProto.FLOATS),
        (Typed("tensor", (1.5,)), AttributeProto.TENSOR),
    ],
)
@pytest.mark.parametrize("name", ["axis", "unknown"])
def test_an_attribute_of_another_type_keeps_it(name: str, value: Typed, kind: int) -> None:
    check_attribute(task_of("Hardmax", 13, {name: value}, MATRIX), name, kind, value.value)


def test_an_output_states_its_rank_but_not_its_sizes() -> None:
    for op, at, attrs, arrays, rank in (
        ("Hardmax", 13, {"axis": 0}, (IMAGE,), 4),
        ("Flatten", 13, {}, (IMAGE,), 2),
        ("ReduceMax", 13, {"keepdims": 0}, (MATRIX,), 0),
    ):
        (output,) = model_of(task_of(op, at, attrs, *arrays)).graph.output
        assert output.type.tensor_type.HasField("shape")
        dims = output.type.tensor_type.shape.dim
        assert len(dims) == rank
        assert not any(dim.HasField("dim_value") or dim.HasField("dim_param") for dim in dims)
        assert output.type.tensor_type.elem_type == DTYPES["float32"].onnx


def test_an_output_of_unknown_dtype_gets_the_one_that_onnx_infers() -> None:
    unknown = (OutputSpec("output", None),)
    for dtype in ("float16", "int64", "bool"):
        model = model_of(task_of("Cast", 13, {"to": DTYPES[dtype].onnx}, MATRIX, outputs=unknown))
        check(model)
        assert model.graph.output[0].type.tensor_type.elem_type == DTYPES[dtype].onnx


def test_an_invalid_node_makes_a_model_all_the_same() -> None:
    for task in (
        task_of("Hardmax", 13, {"axis": 7}, MATRIX),
        task_of("Hardmax", 13, {}, np.array(2.0, np.float32)),
        task_of("Hardmax", 13, {"axis": 1}, MATRIX.astype(np.int32)),
        task_of("Hardmax", 11, {"axis": 1}, MATRIX.astype(ml_dtypes.bfloat16)),
        task_of("LpPool", 11, {"ceil_mode": 1}, IMAGE),
        task_of("Hardmax", 13, {}, outputs=(OutputSpec("output", None),)),
    ):
        assert model_of(task).graph.node[0].op_type == task.op.name


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "bfloat16"])
@pytest.mark.parametrize("at", [1, 4, 8, 9, 13, NEWEST])
def test_a_model_with_an_initializer_is_valid_and_holds_its_bits(at: int, dtype: str) -> None:
    if at < 13 and dtype == "bfloat16":
        return
    x = np.array([[-0.0, 1e-7, np.inf]]).astype(DTYPES[dtype].numpy)
    model = model_of(task_of("Hardmax", at, {"axis": 1}, x, initializer=True))
    check(model)
    (stored,) = model.graph.initializer
    assert stored.name == "input"
    assert numpy_helper.to_array(stored).tobytes() == x.tobytes()
    # IR version 3 knows initializers as defaults of inputs only, later ones as constants.
    assert [i.name for i in model.graph.input] == (["input"] if model.ir_version < 4 else [])


@pytest.mark.parametrize("address", ["onnxruntime", "reference"])
@pytest.mark.parametrize("at", [1, 8, 9, 13])
def test_backends_run_a_model_with_an_initializer_and_no_inputs(at: int, address: str) -> None:
    task = task_of("Hardmax", at, {"axis": 1}, MATRIX, initializer=True)
    assert output_of(connect(address), task).tolist() == [[1, 0, 0], [1, 0, 0]]


def test_an_initializer_beside_inputs() -> None:
    shape = np.array([6], np.int64)
    whole = task_of("Reshape", 13, {}, MATRIX, shape)
    task = replace(whole, inputs=whole.inputs[:1], initializers={"shape": shape})
    model = model_of(task)
    check(model)
    assert len(model.graph.output[0].type.tensor_type.shape.dim) == 1
    assert isinstance(attempt(connect("reference"), asking(task, MATRIX)), Produced)


def test_a_directml_operator_becomes_a_valid_onnx_model() -> None:
    model = model_of(dml_problem((0, 2), np.ones((2, 3, 4), np.float16)))
    check(model)
    assert [(i.domain, i.version) for i in model.opset_import] == [("", 14)]
    assert [i.name for i in model.graph.input] == ["InputTensor"]
    assert [o.name for o in model.graph.output] == ["OutputTensor"]
    assert len(model.graph.output[0].type.tensor_type.shape.dim) == 3


def test_a_problem_that_no_model_can_state_says_so() -> None:
    with pytest.raises(NotExpressible, match="0 inputs; allowed: 1"):
        model_of(task_of("DML_ACTIVATION_HARDMAX1", 1, {"Axes": (0,)}, domain="com.microsoft.dml"))


def test_a_dtype_has_the_code_that_onnx_gives_it() -> None:
    for dtype in (one for one in DTYPES.values() if one.kind != "string"):
        x = np.ones((2, 2), dtype.numpy)
        (info,) = model_of(task_of("Identity", 13, {}, x)).graph.input
        assert helper.tensor_dtype_to_np_dtype(info.type.tensor_type.elem_type) == x.dtype
        assert dtype_of(x) == dtype


def lowered(backend: Backend, x: Any, axes: tuple[int, ...]) -> Any:
    return output_of(backend, dml_problem(axes, x), x)


@pytest.mark.parametrize("backend", BACKENDS, ids=lambda backend: backend.info.kind)
@examples(60)
@given(data=st.data())
def test_the_graph_means_what_the_page_says(backend: Backend, data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from([np.float16, np.float32]))
    shape = data.draw(drawn.array_shapes(min_dims=1, max_dims=8, min_side=0, max_side=3))
    x = data.draw(drawn.arrays(dtype, shape, elements=VALUES.map(dtype)))
    axes = tuple(data.draw(st.sets(st.integers(0, x.ndim - 1), min_size=1)))
    written = tuple(data.draw(st.permutations(axes)))
    want = brute.hardmax(x, brute.along(x.shape, axes))
    got = lowered(backend, x, written)
    assert (got.dtype, got.shape) == (want.dtype, want.shape)
    assert got.tolist() == want.tolist()


@pytest.mark.parametrize("backend", BACKENDS, ids=lambda backend: backend.info.kind)
@pytest.mark.parametrize("shape", [(0, 3), (2, 0), (0, 0), (2, 0, 3)])
@pytest.mark.parametrize("axes", [(0,), (1,), (0, 1)])
def test_empty_tensors_keep_their_shape(backend, shape, axes):
    assert lowered(backend, np.zeros(shape, np.float32), axes).shape == shape


@pytest.mark.parametrize("backend", BACKENDS, ids=lambda backend: backend.info.kind)
def test_unsorted_axes_count_as_sorted(backend: Backend) -> None:
    # Each group has its maximum twice, and the order of the axes decides which is the first.
    x = np.array([[[1, 5], [0, 7]], [[5, 2], [7, 3]]], np.float32)
    want = [[[0, 1], [0, 1]], [[0, 0], [0, 0]]]
    assert lowered(backend, x, (0, 2)).tolist() == want
    assert lowered(backend, x, (2, 0)).tolist() == want


ROWS = {"HARDMAX": "Hardmax", "LOG_SOFTMAX": "LogSoftmax", "SOFTMAX": "Softmax"}


@pytest.mark.parametrize(("name", "onnx_s"), ROWS.items())
@pytest.mark.parametrize("axes", [None, (2, 0)])
def test_the_graph_is_transpose_reshape_rows_and_back(name, onnx_s, axes) -> None:
    op, shape = f"DML_ACTIVATION_{name}{'1' if axes else ''}", (2 if axes else 1, 3, 4)
    model = model_of(dml_problem(axes, np.ones(shape, np.float32), op=op))
    operators = [node.op_type for node in model.graph.node]
    assert operators == ["Transpose", "Reshape", onnx_s, "Reshape", "Transpose"]


@pytest.mark.parametrize("backend", [*BACKENDS, connect("numpy")], ids=lambda one: one.info.kind)
@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("shape", [(7,), (3, 5), (1, 1, 3, 5), (1, 1, 1, 1, 1, 1, 4, 3), (2, 0)])
def test_the_last_axis_may_be_named(backend: Backend, name: str, shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(1).normal(0, 3, shape).astype(np.float32)
    op, last = f"DML_ACTIVATION_{name}", (x.ndim - 1,)
    plain, named = dml_problem(None, x, op=op), dml_problem(last, x, op=f"{op}1")
    given = output_of(backend, plain, x)
    assert given.tolist() == output_of(backend, named, x).tolist()
    with np.errstate(divide="ignore"):
        assert np.allclose(given, ROWS_BY_HAND[name](x), atol=1e-6)


def shares(x: Any) -> Any:
    e = np.exp(x.astype(np.float64))
    return e / e.sum(axis=-1, keepdims=True)


ROWS_BY_HAND = {
    "HARDMAX": lambda x: brute.hardmax(x, brute.along(x.shape, (x.ndim - 1,))),
    "LOG_SOFTMAX": lambda x: np.log(shares(x)),
    "SOFTMAX": shares,
}


@pytest.mark.parametrize("name", ROWS)
def test_what_has_no_axes_takes_neither_them_nor_another_effective_rank(name: str) -> None:
    op, x = f"DML_ACTIVATION_{name}", np.ones((2, 1, 3), np.float32)
    assert "sizes [2, 1, 3]" in str(error_of(NotExpressible, model_of, dml_problem(None, x, op=op)))
    assert "Axes (1,)" in str(error_of(NotExpressible, model_of, dml_problem((1,), x[0], op=op)))


@pytest.mark.parametrize(
    ("x", "axes"),
    [
        (np.ones((2, 3), np.float32), (2,)),
        (np.ones((2, 3), np.float32), (-1,)),
        (np.ones((2, 3), np.float32), ()),
        (np.ones((2, 3), np.float32), (0, 0)),
        (np.ones((1,) * 9, np.float32), (0,)),
        (np.array(1, np.float32), (0,)),
        (np.ones((2, 3)), (0,)),
        (np.ones((2, 3), np.int32), (0,)),
    ],
)
def test_an_invalid_descriptor_is_not_expressible(
    x: Any, axes: tuple[int, ...], wording: Wording
) -> None:
    error = error_of(NotExpressible, model_of, dml_problem(axes, x))
    assert str(error) == wording
    for backend in BACKENDS:
        assert isinstance(attempt(backend, asking(dml_problem(axes, x), x)), Declined)


def test_missing_axes_are_not_expressible_either() -> None:
    problem = dml_problem((0,), np.ones((2, 3), np.float32))
    with pytest.raises(NotExpressible, match="no members"):
        model_of(type(problem)(**{**vars(problem), "attrs": {}}))


IMAGE = np.arange(1, 17, dtype=np.float32).reshape(1, 1, 4, 4)
WINDOWS = {
    "Strides": (1, 2),
    "WindowSize": (2, 3),
    "StartPadding": (0, 1),
    "EndPadding": (1, 2),
    "Dilations": (2, 1),
}


def of_direct_ml(name: str, attrs: Any, *arrays: Any) -> Any:
    return task_of(f"DML_{name}", 1, attrs, *arrays, domain="com.microsoft.dml")


def test_members_of_a_descriptor_become_the_attributes_of_one_node() -> None:
    model = model_of(of_direct_ml("LP_POOLING1", WINDOWS | {"P": 3}, IMAGE))
    check(model)
    (node,) = model.graph.node
    attrs = {one.name: helper.get_attribute_value(one) for one in node.attribute}
    assert (node.op_type, model.opset_import[0].version) == ("LpPool", 18)
    assert attrs == {
        "strides": [1, 2],
        "kernel_shape": [2, 3],
        "pads": [0, 1, 1, 2],
        "dilations": [2, 1],
        "p": 3,
    }


def test_booleans_of_onnx_s_are_cast_to_and_from_integers() -> None:
    x, y = np.array([0, 1, 2], np.uint8), np.array([2, 1, 0], np.uint8)
    task = of_direct_ml("ELEMENT_WISE_LOGICAL_AND", {}, x, y)
    check(model := model_of(task))
    assert [node.op_type for node in model.graph.node] == ["Cast", "Cast", "And", "Cast"]
    found = output_of(connect("reference"), task, x, y)
    assert (found.dtype, found.tolist()) == (np.uint8, [0, 1, 0])


CONVOLUTION = {
    "Mode": "CONVOLUTION",
    "Direction": "BACKWARD",
    "Strides": (2, 2),
    "Dilations": (1, 1),
    "StartPadding": (0, 1),
    "EndPadding": (0, 0),
    "OutputPadding": (1, 0),
    "GroupCount": 1,
}
FILTER = np.array([[[[1, 10], [100, 1000]]]], np.float32)


def test_a_filter_is_turned_around_and_a_bias_becomes_a_vector() -> None:
    arrays = (np.array([[[[1, 2]]]], np.float32), FILTER, np.array([[[[5]]]], np.float32))
    task = of_direct_ml("CONVOLUTION", CONVOLUTION, *arrays)
    check(model := model_of(task))
    assert [node.op_type for node in model.graph.node] == ["Slice", "Reshape", "ConvTranspose"]
    found = output_of(connect("reference"), task, *arrays)
    # Without the first column: 1000 100 2000 200 / 10 1 20 2 and a row of zeros.
    assert found.tolist() == [[[[105, 2005, 205], [6, 25, 7], [5, 5, 5]]]]


def test_ones_are_left_out_of_indices_and_of_what_is_gathered() -> None:
    data, indices = np.array([[[1, 2], [3, 4]]], np.float32), np.array([[[1, 0, 1]]], np.uint32)
    task = of_direct_ml("GATHER", {"Axis": 1, "IndexDimensions": 1}, data, indices)
    check(model := model_of(task))
    assert [node.op_type for node in model.graph.node] == ["Cast", "Reshape", "Gather", "Reshape"]
    found = output_of(connect("reference"), task, data, indices)
    assert found.tolist() == [[[3, 4], [1, 2], [3, 4]]]


@pytest.mark.parametrize("index", [-3, 2, 2**40])
def test_what_an_index_out_of_range_reads_is_not_said(index: int, wording: Wording) -> None:
    arrays = np.ones((2, 3), np.float32), np.array([[0, index]])
    task = of_direct_ml("GATHER", {"Axis": 0, "IndexDimensions": 1}, *arrays)
    with pytest.raises(NotSupported) as raised:
        evaluate(node_of(task, arrays))
    assert raised.value == wording


def test_what_a_scale_of_0_gives_is_not_said() -> None:
    arrays = np.ones(2, np.int8), np.array([0, 1], np.float32)
    task = of_direct_ml("ELEMENT_WISE_DEQUANTIZE_LINEAR", {}, *arrays)
    assert "a scale of 0" in str(error_of(NotSupported, evaluate, node_of(task, arrays)))


@pytest.mark.parametrize(
    ("name", "attrs", "shapes"),
    [
        ("GATHER", {"Axis": 1, "IndexDimensions": 2}, [(3, 2), (1, 2)]),
        ("GATHER", {"Axis": 0, "IndexDimensions": 2}, [(1, 3, 2), (1, 1, 2)]),
        ("CONVOLUTION", CONVOLUTION | {"Direction": "FORWARD"}, [(1, 1, 4, 4), (1, 1, 2, 2)]),
        ("CONVOLUTION", CONVOLUTION | {"EndPadding": (1, 0)}, [(1, 1, 4, 4), (1, 1, 2, 2)]),
        ("CONVOLUTION", CONVOLUTION | {"OutputPadding": (2, 0)}, [(1, 1, 4, 4), (1, 1, 2, 2)]),
        ("ELEMENT_WISE_CLIP", {"Min": 2, "Max": 1}, [(2, 3)]),
    ],
)
def test_what_a_page_of_directml_leaves_open_is_no_model(name, attrs, shapes) -> None:
    types = (np.float32, np.uint32 if name == "GATHER" else np.float32)
    arrays = [np.zeros(shape, dtype) for shape, dtype in zip(shapes, types, strict=False)]
    task = of_direct_ml(name, attrs, *arrays)
    found = error_of(NotSupported, model_of, task)
    assert not isinstance(found, NotExpressible)
    # The formula says so too.
    assert str(error_of(NotSupported, evaluate, node_of(task, arrays))) == str(found)


@pytest.mark.parametrize(
    ("name", "attrs", "x"),
    [
        ("LP_POOLING1", WINDOWS | {"P": 1}, IMAGE[0]),
        ("LP_POOLING1", WINDOWS | {"P": 1, "Strides": (1,)}, IMAGE),
        ("MAX_POOLING2", WINDOWS | {"WindowSize": (4, 3)}, IMAGE),
        ("MAX_POOLING2", WINDOWS, IMAGE.astype(np.int32)),
        ("MAX_POOLING2", WINDOWS, IMAGE.astype(bool)),
        ("MAX_POOLING2", {"Strides": (1, 1)}, IMAGE),
        ("ELEMENT_WISE_ABS", {}, IMAGE[:0]),
        ("ELEMENT_WISE_ROUND", {"RoundingMode": "TOWARD_ZERO"}, IMAGE),
    ],
)
def test_what_is_no_descriptor_is_no_node(name: str, attrs: Any, x: Any, wording: Wording) -> None:
    assert str(error_of(NotExpressible, model_of, of_direct_ml(name, attrs, x))) == wording


def test_a_size_that_is_fed_takes_the_place_of_its_symbol_everywhere() -> None:
    text = """<ir_version: 8, opset_import: ["" : 17]>
    net (float[batch, 3] x, bool c, float[?, n] u) => (float[batch, 3] y, float[other, 3] z)
    <float[batch, 3] h> {
      h = Neg (x)
      y = If (c) <
        then_branch = a () => (float[batch, 3] p) { p = Exp (h) },
        else_branch = b () => (float[batch, 3] q) { q = Abs (h) }>
      z = Identity (u)
    }"""
    fed = [
        TensorType("x", DTYPES["float32"], (2, 3)),
        TensorType("c", DTYPES["bool"], ()),
        TensorType("u", DTYPES["float32"], (5, 3)),
    ]
    graph = sized(parse_model(text), fed).graph
    branches = [attribute.g for attribute in graph.node[1].attribute]
    infos = [graph.input[0], graph.value_info[0], graph.output[0]]
    infos += [branch.output[0] for branch in branches]
    assert [sizes_of(info) for info in infos] == [[2, 3]] * 5
    assert sizes_of(graph.input[2]) == [5, 3]
    # What the other symbol stands for is not known, so that it contradicts nothing.
    assert not graph.output[1].type.tensor_type.shape.dim[0].WhichOneof("value")


def test_a_symbol_that_is_fed_two_sizes_stands_for_none() -> None:
    text = """<ir_version: 8, opset_import: ["" : 17]>
    net (float[n] x, float[n] u) => (float[n] y) { y = Add (x, u) }"""
    fed = [TensorType(name, DTYPES["float32"], (n,)) for name, n in (("x", 1), ("u", 4))]
    graph = sized(parse_model(text), fed).graph
    assert [sizes_of(info) for info in graph.input] == [[1], [4]]
    assert not graph.output[0].type.tensor_type.shape.dim[0].WhichOneof("value")


def sizes_of(info: ValueInfoProto) -> list[int]:
    return [dim.dim_value for dim in info.type.tensor_type.shape.dim]
