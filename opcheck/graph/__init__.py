"""From a task to the model that backends run: at its own opset, with the lowest IR version.

And a whole model: the names and types of its tensors, and other forms of it.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from itertools import chain, product
from math import prod
from tempfile import TemporaryFile
from typing import Any

import numpy as np
import onnx
import onnx.printer
from onnx import (
    AttributeProto,
    ModelProto,
    NodeProto,
    TensorShapeProto,
    ValueInfoProto,
    helper,
    numpy_helper,
)
from onnx.shape_inference import InferenceError, infer_shapes

from opcheck import opset
from opcheck.dtypes import BY_TEXT, DTYPES, DType, named, of
from opcheck.errors import InvalidNode, NotExpressible, reject
from opcheck.model import Array, OutputSpec, Task, TensorType, Typed
from opcheck.model.case import ATTRIBUTE_TYPES, AttrValue, OpVersion
from opcheck.opset import direct_ml, onnx_defs, weights

#: The types of attributes that nodes are given here, by the words of case files.
ATTRIBUTE_PROTOS: dict[str, Any] = {
    kind: code for code, kind in onnx_defs.TYPES.items() if kind in ATTRIBUTE_TYPES[:-1]
}


def model_of(task: Task, *, whole: bool = True) -> ModelProto:
    """Return `task` as a model at its own opset, with the lowest IR version that allows it.

    A task that is a model is returned with all its weights, or unless `whole` without large ones
    that lie in a file. Outputs have the ranks and types that the task states, or else those that
    onnx infers.

    Raises NotExpressible for what no ONNX model can state, such as an invalid node of DirectML or a
    sequence of a type that no operator takes; NotSupported for constants that DirectML's operator
    leaves open; UsageError if a file of weights has changed; and ValueError or TypeError for an
    attribute that ONNX does not hold, a graph that is not in its syntax, and an opset without an IR
    version.
    """
    if task.model is not None:
        pieces = weights.pieces(task.model) if whole else [task.model]
        return ModelProto.FromString(b"".join(pieces))
    domain = task.op.domain
    at_opset = task.opset
    constants = dict[str, Array]()
    if domain == opset.DML:
        nodes, constants, at_opset = _of_direct_ml(task)
        domain = ""
    else:
        name = opset.plain(task.op.name)
        node = helper.make_node(name, _inputs(task), _output_slots(task), domain=domain)
        node.attribute.extend(_attribute(task.op, *item) for item in task.attrs.items())
        for attribute in node.attribute:
            _state_types(task, attribute.g)
        nodes, constants = _with_sequences(task, node)
    tensors = {**task.initializers, **constants}
    version = ir_version(domain, at_opset)
    # Before IR version 4 an initializer was the default of an input.
    infos = [(tensor.name, tensor.dtype.onnx, tensor.shape) for tensor in task.inputs]
    if version < 4:
        for name, array in tensors.items():
            infos.append((name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape))
    inputs = [helper.make_tensor_value_info(name, code, list(shape)) for name, code, shape in infos]
    outputs = [*map(_output_info, output_names(task), task.outputs)]
    held = [numpy_helper.from_array(array, name) for name, array in tensors.items()]
    graph = helper.make_graph(nodes, task.op.name, inputs, outputs, held)
    imports = [helper.make_opsetid(domain, at_opset)]
    model = helper.make_model(graph, opset_imports=imports, ir_version=version)
    if any(one.rank is None or one.dtype is None for one in task.outputs):
        _state_inferred(model)
    return model


def text_of(task: Task) -> str:
    """Return the model of `task` in ONNX's textual form, without blanks at its ends.

    Raises NotExpressible for what no model can state, NotSupported for constants that DirectML's
    page leaves open, UsageError for weights that have changed, and ValueError or TypeError for
    attributes that ONNX does not hold.
    """
    text: str = onnx.printer.to_text(model_of(task))
    return text.strip()


def with_weights(task: Task) -> Task:
    """Return `task` with the weights in its model, for code that reads `task.model` by itself.

    `task` itself if none lie in a file. Raises UsageError if such a file has changed.
    """
    if task.model is None or not weights.are_outside(task.model):
        return task
    return replace(task, model=b"".join(weights.pieces(task.model)))


@contextmanager
def opened(model: ModelProto, *, as_file: bool = False) -> Iterator[str | bytes]:
    """Open a whole model as bytes; one with large weights, or if asked, as the path of a file.

    A context manager; the file is gone at its end. Raises UsageError if a file of weights has
    changed.
    """
    data = model.SerializeToString()
    if not (as_file or weights.are_outside(data)):
        yield data
        return
    with TemporaryFile() as file:  # without a name, so that it is gone even after an abort
        file.writelines(weights.pieces(data))
        file.seek(0)
        yield f"/dev/fd/{file.fileno()}"


def _inputs(task: Task) -> list[str]:
    """Return the names of the node's inputs, without those that only its subgraphs use.

    "" is for one that is left out before the last.
    """
    schema = opset.versions(task.op.domain, task.op.name).get(task.op.since)
    outer = opset.outer(schema, task.slots) if schema else []
    return [*opset.without_end([name for name in task.slots if name not in outer])]


def _state_types(task: Task, graph: onnx.GraphProto) -> None:
    """Give a subgraph's inputs and outputs types that runtimes ask for, where it states none.

    Changes `graph`, one of a Loop, a Scan or a SequenceMap, in place; others stay as they are.
    """
    types: list[tuple[DType, Sequence[None] | None]] = []
    outputs: Sequence[ValueInfoProto] = ()
    if task.op.name == "Loop":
        types = [(DTYPES["int64"], []), (DTYPES["bool"], [])]
    if task.op.name == "Scan":
        # Of batches, each for itself.
        first, less = (1, 1) if task.op.since == 8 else (0, 0)
        known = {one.name: (one.dtype, len(one.shape)) for one in task.inputs}
        known |= {n: (of(x) or DTYPES["float32"], x.ndim) for n, x in task.initializers.items()}
        given = [known[name] for name in _inputs(task)[first:]]
        count = task.attrs.get("num_scan_inputs")
        states = len(given) - (count if isinstance(count, int) else 0)
        ranks = [(one, rank - less - (n >= states)) for n, (one, rank) in enumerate(given)]
        types = [(dtype, [None] * max(0, rank)) for dtype, rank in ranks]
    if task.op.name == "SequenceMap" and task.dtype:
        types = [(task.dtype, None)]
        outputs = graph.output
    for one, (dtype, shape) in (*zip(graph.input, types, strict=False), *product(outputs, types)):
        if not one.HasField("type"):
            one.CopyFrom(helper.make_tensor_value_info(one.name, dtype.onnx, shape))


def output_names(task: Task) -> list[str]:
    """Return the names of the outputs in a model, where none may be called as an input is.

    Outputs that are left out have none.
    """
    return [*filter(None, _output_slots(task))]


def _output_slots(task: Task) -> list[str]:
    """Return the names of the outputs in the operator's order, "" for one that is left out.

    One that an input has too gets the ending "_out".
    """
    return [f"{name}_out" if name and name in task.slots else name for name in task.output_slots]


def ir_version(domain: str, at_opset: int) -> int:
    """Return the lowest IR version that allows `at_opset`: old runtimes refuse newer ones.

    Raises ValueError for a domain or an opset that onnx's table lacks.
    """
    if domain == "" and at_opset < 5:
        # onnx's table has no opsets 2 to 4; they shipped with IR version 3, as 1 and 5 did.
        return 3
    return int(helper.find_min_ir_version_for([helper.make_opsetid(domain, at_opset)]))


def _attribute(op: OpVersion, name: str, value: AttrValue | Typed) -> AttributeProto:
    """Return an attribute of ONNX, of the type that the schema declares or `Typed` states.

    A text for a graph is parsed. Raises ValueError for one that is not in ONNX's syntax, and for an
    empty list without a declared type; TypeError for a value of another type.
    """
    if isinstance(value, Typed) and value.type != "tensor":
        return helper.make_attribute(name, value.value, attr_type=ATTRIBUTE_PROTOS[value.type])
    if isinstance(value, Typed):
        array = np.array(value.value)
        value = array.astype(np.int64 if array.dtype.kind == "i" else np.float32)
    if isinstance(value, np.ndarray):
        return helper.make_attribute(name, numpy_helper.from_array(value, name))
    declared = opset.attribute(op, name)
    if declared and declared.type == "graph" and isinstance(value, str):
        return helper.make_attribute(name, onnx_defs.graph(value, name))
    # The declared type and not the value's: an empty list has none of its own.
    kind = ATTRIBUTE_PROTOS.get(declared.type) if declared else None
    return helper.make_attribute(name, value, attr_type=kind)


def _output_info(name: str, output: OutputSpec) -> ValueInfoProto:
    """Return the declaration of an output: its name, and its dtype and rank if they are known.

    Sizes are open.
    """
    if output.dtype is None:
        return helper.make_empty_tensor_value_info(name)
    rank = None if output.rank is None else [None] * output.rank
    return helper.make_tensor_value_info(name, output.dtype.onnx, rank)


def _with_sequences(task: Task, node: NodeProto) -> tuple[list[NodeProto], dict[str, Array]]:
    """Return `node` with nodes that make its sequences of tensors, and take apart what it gives.

    Also the constants that these need. `node` is changed in place. See `opset.without_sequences`.

    Raises NotExpressible for types whose sequences no operator takes apart, and for an optional of
    a sequence of no tensors.
    """
    schema = opset.versions(task.op.domain, task.op.name).get(task.op.since)
    if schema is None:
        return [node], {}
    lists = [one for one in (*schema.inputs, *schema.outputs) if one.listed]
    if not lists:
        return [node], {}
    dtype = task.dtype or DTYPES["float32"]
    _check_expressible(task, lists)
    if node.op_type == "Optional" and not task.slots:
        node.attribute.append(_type(dtype))
    nodes = [node]
    for parameter in schema.inputs:
        if parameter.listed:
            nodes[:0] = _making_input(task, node, parameter, dtype)
    constants: dict[str, Array] = {}
    for parameter in schema.outputs:
        if parameter.listed:
            nodes += _taking_output(task, node, schema, parameter, constants)
    return nodes, constants


def _check_expressible(task: Task, lists: Sequence[opset.Parameter]) -> None:
    """Raise NotExpressible for sequences, or optionals of them, that no model can make or read."""
    if not any("seq(" in parameter.listed for parameter in lists):
        return
    known = opset.in_sequences()
    dtypes = [tensor.dtype for tensor in task.inputs]
    for dtype in (*dtypes, *(output.dtype for output in task.outputs)):
        if dtype and dtype.text not in known:
            raise NotExpressible(f"no operator takes {dtype} out of a sequence")
    if opset.plain(task.op.name) == "Optional" and not task.slots:
        raise NotExpressible("here an optional of no tensors is one without an element")


def _making_input(
    task: Task, node: NodeProto, parameter: opset.Parameter, dtype: DType
) -> list[NodeProto]:
    """Return the nodes that make a list of a node's tensors, which then has it as its input.

    Changes `node` in place. None are returned, and nothing is changed, where an optional that may
    be left out has no tensor, or the tensor itself is stated.
    """
    others = [name for name in node.input if opset.place([parameter], name) is None]
    tensors = [name for name in node.input if name not in others]
    is_left_out = any(others) or not (tensors or task.dtype)
    if parameter.listed != "seq(" and is_left_out:
        return []
    node.input[:] = [parameter.name, *opset.without_end(others)]
    return _making(parameter, tensors, dtype)


def _taking_output(
    task: Task,
    node: NodeProto,
    schema: opset.Schema,
    parameter: opset.Parameter,
    constants: dict[str, Array],
) -> list[NodeProto]:
    """Return the nodes that take a node's list apart: its length, then the tensors.

    The list becomes the output of `node`, which is changed. What the nodes need is added to
    `constants`. For an optional, the length is 1 if it has a value, else 0.
    """
    length, *tensors = _output_slots(task)
    name = parameter.name if parameter.option == "variadic" else f"{parameter.name}_sequence"
    node.output[:] = [name]
    is_optional = parameter.listed != "seq("
    if parameter.listed == "optional(" or (is_optional and not tensors):
        return [
            helper.make_node("OptionalHasElement", [name], ["present"]),
            helper.make_node("Cast", ["present"], [length], to=DTYPES["int64"].onnx),
            *(helper.make_node("OptionalGetElement", [name], [tensor]) for tensor in tensors),
        ]
    nodes: list[NodeProto] = []
    if is_optional:
        nodes.append(helper.make_node("OptionalGetElement", [name], ["element"]))
        name = "element"
    nodes.append(helper.make_node("SequenceLength", [name], [length]))
    if parameter.option == "single":
        # An empty sequence shows its type only by a tensor that it takes.
        dtype = opset.output_dtype(schema, parameter, {}, task.attrs) or DTYPES["float32"]
        constants["inserted"] = np.empty(0, dtype.numpy)
        nodes.append(helper.make_node("SequenceInsert", [name, "inserted"], ["longer"]))
        name = "longer"
    for number, tensor in enumerate(tensors):
        constants[f"place_{number}"] = np.array(number)
        nodes.append(helper.make_node("SequenceAt", [name, f"place_{number}"], [tensor]))
    return nodes


def _making(parameter: opset.Parameter, tensors: Sequence[str], dtype: DType) -> list[NodeProto]:
    """Return nodes that make a sequence or an optional of tensors, of a type if there are none.

    The last one gives `parameter.name`.
    """
    is_sequence = parameter.listed == "seq("
    is_of_sequence = "seq(" in parameter.listed
    nodes: list[NodeProto] = []
    held = [*tensors]
    if is_of_sequence and (tensors or is_sequence):
        held = [parameter.name if is_sequence else f"{parameter.name}_element"]
        if tensors:
            nodes.append(helper.make_node("SequenceConstruct", tensors, held))
        else:
            nodes.append(helper.make_node("SequenceEmpty", [], held, dtype=dtype.onnx))
    if not is_sequence:
        optional = helper.make_node("Optional", held, [parameter.name])
        if not held:
            optional.attribute.append(_type(dtype, is_of_sequence))
        nodes.append(optional)
    return nodes


def _type(dtype: DType, of_sequence: bool = False) -> AttributeProto:
    """Return the attribute `type` of an Optional without an element.

    That is of a tensor, or of a sequence of tensors.
    """
    tensor = helper.make_tensor_type_proto(dtype.onnx, None)
    type_ = helper.make_sequence_type_proto(tensor) if of_sequence else tensor
    return helper.make_attribute("type", type_)


def _state_inferred(model: ModelProto) -> None:
    """Give each output a rank and a type, if it has none, where ONNX can infer them.

    Changes `model` in place; not at all if the inference fails.
    """
    copy = ModelProto.FromString(model.SerializeToString())
    for node in copy.graph.node:
        if node.op_type != "Split":
            continue
        # ONNX's inference dies of more outputs than parts, and many parts take all memory.
        for attribute in node.attribute:
            if attribute.name == "num_outputs":
                attribute.i = len(node.output)
    try:
        inferred = infer_shapes(copy).graph.output
    except InferenceError:
        return
    # Sizes stay open: they are part of the answer, and ONNX's own inference may get them wrong.
    for output, found in zip(model.graph.output, inferred, strict=True):
        ours = output.type.tensor_type
        theirs = found.type.tensor_type
        ours.elem_type = ours.elem_type or theirs.elem_type
        if theirs.HasField("shape") and not ours.HasField("shape"):
            ours.shape.dim.extend(TensorShapeProto.Dimension() for _ in theirs.shape.dim)
            ours.shape.SetInParent()


def sized(model: ModelProto, tensors: Iterable[TensorType]) -> ModelProto:
    """Return a copy of a model whose inputs have the sizes of the tensors that are fed.

    A symbol for one of these sizes is that size everywhere: in inputs, outputs, `value_info` and
    subgraphs. Other symbols, and those of several sizes, are left out, because no size is open once
    all inputs are fed. Inputs that are not among `tensors` keep their sizes.
    """
    copy = ModelProto.FromString(model.SerializeToString())
    shapes = {one.name: one.shape for one in tensors}
    sizes: dict[str, set[int]] = defaultdict(set)
    for info in copy.graph.input:
        dims = info.type.tensor_type.shape.dim
        for dim, size in zip(dims, shapes.get(info.name, ()), strict=False):
            if dim.dim_param:
                sizes[dim.dim_param].add(size)
            dim.dim_value = size
    known = {symbol: min(found) for symbol, found in sizes.items() if len(found) == 1}
    for shape in onnx_defs.messages(copy.graph, TensorShapeProto):
        for dim in shape.dim:
            if not dim.HasField("dim_param"):
                continue
            if dim.dim_param in known:
                dim.dim_value = known[dim.dim_param]
            else:
                dim.ClearField("dim_param")
    return copy


def substance(model: ModelProto) -> bytes:
    """Return a model as bytes, without what changes no answer.

    That is its maker, IR version and output types. Models of equal substance have equal bytes,
    whatever the order of attributes.
    """
    copy = ModelProto.FromString(model.SerializeToString())
    for field in ("producer_name", "producer_version", "doc_string", "ir_version"):
        copy.ClearField(field)
    for output in copy.graph.output:
        output.ClearField("type")
    for node in copy.graph.node:
        # Their order means nothing.
        node.attribute.sort(key=lambda attribute: attribute.name)
    # Whether messages with NaN equal themselves depends on protobuf's implementation.
    return copy.SerializeToString(deterministic=True)


def _of_direct_ml(task: Task) -> tuple[list[NodeProto], dict[str, Array], int]:
    """Return DirectML's operator as nodes, constants by name, and the opset.

    Raises NotExpressible for one that the reference page forbids or that ONNX lacks; NotSupported
    for constants that the page leaves open.
    """
    schema = opset.versions(opset.DML, task.op.name)[1]
    try:
        lacking = [*opset.missing(schema.inputs, task.slots)]
        reject(lacking, f"{len(task.inputs)} inputs; allowed: {len(schema.inputs)}")
        stated = ", ".join(f"{name} {value}" for name, value in task.attrs.items())
        wrong = any(isinstance(value, Typed) for value in task.attrs.values())
        reject(wrong or task.attrs.keys() != schema.attributes.keys(), stated or "no members")
        for given, one in zip(task.inputs, schema.inputs, strict=False):
            message = f"{given.dtype} is no data type of {task.op.name}"
            reject(given.dtype.text not in one.types, message)
        if task.op.name in direct_ml.LOWERED:
            return _one_node(task)
        return _rows(task)
    except InvalidNode as error:
        raise NotExpressible(f"not expressible as an ONNX graph: {error}") from None


def _one_node(task: Task) -> tuple[list[NodeProto], dict[str, Array], int]:
    """Return a node of ONNX, between casts where that has other types of booleans or indices.

    Also constants by name, and the opset. Raises InvalidNode for what the page forbids, or ONNX
    lacks; NotSupported for constants that the page leaves open.
    """
    one = direct_ml.LOWERED[task.op.name].chosen(task.attrs)
    attrs, otherwise = one.checked(task.inputs, task.attrs)
    reject(one.fits == "matrices" and len(task.inputs[0].shape) > 2, "ONNX has no stacks of Gemm")
    reject("TOWARD" in str(task.attrs.get("RoundingMode")), "ONNX rounds halves to even")
    constants = one.constants(task.inputs, task.attrs)
    node = helper.make_node(one.name, [*task.slots, *constants], _output_slots(task))
    node.attribute.extend(_attribute(one.onnx.op, *item) for item in attrs.items())
    before = list[NodeProto]()
    nodes = [node]

    def first(operator: str, n: int, *more: str, **attrs: Any) -> None:
        taken, node.input[n] = node.input[n], f"{node.input[n]}_{operator.lower()}"
        before.append(helper.make_node(operator, [taken, *more], [node.input[n]], **attrs))

    for n, (tensor, theirs) in enumerate(zip(task.inputs, one.onnx.inputs, strict=False)):
        if tensor.dtype.text not in theirs.types:
            reject(len(theirs.types) > 2, f"ONNX has no {one.name} of {tensor.dtype}")
            first("Cast", n, to=BY_TEXT[max(theirs.types)].onnx)
    if task.attrs.get("Mode") == "CONVOLUTION":
        axes = np.arange(2, len(task.inputs[0].shape))
        ends = {"last": axes * 0 - 1, "before": axes * 0 + np.iinfo(np.int64).min, "axes": axes}
        constants |= ends | {"steps": ends["last"]}
        first("Slice", 1, *constants)
    for n, sizes in otherwise.items():
        name = f"sizes_{n}"
        constants[name] = np.array(sizes, np.int64)
        if n < 0:
            whole, node.output[0] = node.output[0], f"{node.output[0]}_reshape"
            nodes.append(helper.make_node("Reshape", [node.output[0], name], [whole]))
        else:
            first("Reshape", n, name)
    for n, (output, theirs) in enumerate(zip(task.outputs, one.onnx.outputs, strict=False)):
        if output.dtype and output.dtype.text not in theirs.types:
            name, node.output[n] = node.output[n], f"{node.output[n]}_cast"
            nodes.append(helper.make_node("Cast", [node.output[n]], [name], to=output.dtype.onnx))
    return before + nodes, constants, one.opset


def _rows(task: Task) -> tuple[list[NodeProto], dict[str, Array], int]:
    """Return DirectML's operator of rows as nodes, constants by name, and the opset.

    Transpose (reduced axes last) → Reshape → an operator of version 13 → both back. Without `Axes`,
    the last axis is reduced. Raises InvalidNode for axes or sizes that the page forbids.
    """
    (tensor,) = task.inputs
    (output,) = task.outputs
    shape = task.inputs[0].shape
    axes: Any = task.attrs.get("Axes", (len(shape) - 1,))
    invalid = direct_ml.invalid_axes(axes, len(shape))
    invalid = invalid or (None if task.attrs else direct_ml.invalid_sizes(shape))
    reject(invalid, str(invalid))
    kept = [axis for axis in range(len(shape)) if axis not in axes]
    order = [*kept, *sorted(axes)]
    split = len(kept)
    moved = [shape[axis] for axis in order]
    shapes = {"rows": [prod(moved[:split]), prod(moved[split:])], "moved_shape": moved}
    nodes = [
        helper.make_node("Transpose", [tensor.name], ["moved"], perm=order),
        helper.make_node("Reshape", ["moved", "rows"], ["matrix"], allowzero=1),
        helper.make_node(direct_ml.OF_ROWS[task.op.name], ["matrix"], ["of_rows"], axis=-1),
        helper.make_node("Reshape", ["of_rows", "moved_shape"], ["moved_back"], allowzero=1),
        helper.make_node("Transpose", ["moved_back"], [output.name], perm=[*np.argsort(order)]),
    ]
    # Version 13 is in force, and Reshape has allowzero, else no empty tensor keeps its shape.
    return nodes, {name: np.array(sizes, np.int64) for name, sizes in shapes.items()}, 14


def opset_of(model: ModelProto, domain: str = "") -> int:
    """Return the opset of a domain that a model imports, the highest of several, 0 if none."""
    imported = [one for one in model.opset_import if onnx_defs.domain_of(one.domain) == domain]
    return max((one.version for one in imported), default=0)


class WholeModel:
    """A model with its own functions expanded, on tensors of these types."""

    def __init__(self, data: bytes, fed: Sequence[TensorType]) -> None:
        """Read a model; raises DecodeError if `data` is not one.

        Raises ValueError if its functions stand for too many nodes, or call each other too deeply.
        """
        self._proto = onnx_defs.without_functions(ModelProto.FromString(data))
        self._fed = fed

    @property
    def nodes(self) -> tuple[str, ...]:
        """The names of the nodes, each its own; made of operator and place where it has none."""
        names = [one.name or f"{one.op_type}_{n}" for n, one in enumerate(self._proto.graph.node)]
        counts = Counter(names)
        return tuple(n if counts[n] == 1 else f"{n}_{at}" for at, n in enumerate(names))

    def opset(self, domain: str) -> int:
        """Return the opset of a domain that it imports, 0 if none."""
        return opset_of(self._proto, domain)

    @cached_property
    def _types(self) -> Mapping[str, ValueInfoProto]:
        """The tensors whose types onnx infers, by name; empty if the inference fails."""
        try:
            found = infer_shapes(sized(self._proto, self._fed), data_prop=True).graph
        except (InferenceError, MemoryError):
            return {}
        return {one.name: one for one in (*found.value_info, *found.output)}

    @property
    def contradiction(self) -> str:
        """A name that the specification forbids, or a type that onnx infers otherwise; else ""."""
        twice = Counter(node.name for node in self._proto.graph.node if node.name).most_common(1)
        if twice and twice[0][1] > 1:
            return f"several nodes are named {twice[0][0]!r}"
        try:
            infer_shapes(sized(self._proto, self._fed), strict_mode=True, data_prop=True)
        except InferenceError as error:
            said = str(error).strip().rpartition("(s): ")[2]
            return said.replace("[ShapeInferenceError] ", "") if "existing" in said else ""
        return ""

    def is_tensor(self, name: str) -> bool:
        """Return False for a sequence or an optional, as far as onnx infers types; else True."""
        return name not in self._types or self._types[name].type.HasField("tensor_type")

    def dtype(self, name: str) -> DType | None:
        """Return the dtype of a tensor; None where onnx cannot infer it, and for other values."""
        info = self._types.get(name)
        return named(info.type.tensor_type.elem_type) if info else None

    def nbytes(self, name: str) -> int:
        """Return the size of a tensor in bytes, 0 where onnx cannot infer its dtype or shape.

        A size that is open counts as 0.
        """
        dtype = self.dtype(name)
        if dtype is None:
            return 0
        tensor = self._types[name].type.tensor_type
        if not tensor.HasField("shape"):
            return 0
        return prod(dim.dim_value for dim in tensor.shape.dim) * dtype.numpy.itemsize

    def with_branch(self, place: int, *, then: bool) -> bytes | None:
        """Return the model with the branch that an If takes in place of the node.

        `place` is the node's among the nodes; its name is put before those of the branch. None for
        a branch with a sparse constant, or with graphs that give a tensor of the branch another
        meaning.

        Raises IndexError for a place without a node, and StopIteration for a node without branches.
        """
        copy = ModelProto.FromString(self._proto.SerializeToString())
        for name, node in zip(self.nodes, copy.graph.node, strict=True):
            node.name = name
        node = copy.graph.node.pop(place)
        attribute = "then_branch" if then else "else_branch"
        branch = next(one.g for one in node.attribute if one.name == attribute)
        own = _own_tensors(branch)
        _, *inner = onnx_defs.messages(branch, onnx.GraphProto)
        hidden = {*chain.from_iterable(map(_declared, inner))} - {""}
        if branch.sparse_initializer or not hidden.isdisjoint(own):
            return None
        new_names = _names_in(copy.graph, own, f"{node.name}/")
        identities = _joined_outputs(branch, node, new_names)
        _rename(branch, new_names)
        for tensor in branch.initializer:
            tensor.name = new_names[tensor.name]
        for number, own_node in enumerate(branch.node):
            own_node.name = f"{node.name}/{own_node.name or f'{own_node.op_type}_{number}'}"
        copy.graph.initializer.extend(branch.initializer)
        later = copy.graph.node[place:]
        del copy.graph.node[place:]
        copy.graph.node.extend((*branch.node, *identities, *later))
        return copy.SerializeToString()

    def giving(self, names: Sequence[str], *, alone: bool = False) -> tuple[bytes, list[str]]:
        """Return the model with these outputs after its own, or `alone`, and those that were none.

        A name twice counts once. A tensor of unknown type becomes an output without one.
        """
        copy = ModelProto.FromString(self._proto.SerializeToString())
        if alone:
            del copy.graph.output[:]
        own = {one.name for one in copy.graph.output}
        more = [name for name in dict.fromkeys(names) if name not in own]
        empty = helper.make_empty_tensor_value_info
        copy.graph.output.extend(self._types.get(name) or empty(name) for name in more)
        return copy.SerializeToString(), more


def _own_tensors(graph: onnx.GraphProto) -> list[str]:
    """Return the names of what a graph computes and holds, "" for outputs that are left out."""
    return [
        *chain.from_iterable(node.output for node in graph.node),
        *(tensor.name for tensor in graph.initializer),
    ]


def _names_in(graph: onnx.GraphProto, names: Iterable[str], prefix: str) -> dict[str, str]:
    """Return new names, by `names`, that the graph and those below it have not: with a prefix.

    Underscores make the prefix longer if need be. "" has no new name.
    """
    graphs = onnx_defs.messages(graph, onnx.GraphProto)
    known = {*chain.from_iterable(map(_declared, graphs))}
    names = [*names]
    while any(f"{prefix}{name}" in known for name in names):
        prefix += "_"
    return {name: f"{prefix}{name}" for name in names if name}


def _joined_outputs(
    branch: onnx.GraphProto, node: NodeProto, new_names: dict[str, str]
) -> list[NodeProto]:
    """Let the outputs of a branch have the names of an If's, in `new_names`, in place.

    Return an Identity for each whose tensor is from around the branch, or has another name already.
    """
    identities = []
    # The last outputs of a node may be left out.
    for inner, outer in zip(branch.output, node.output, strict=False):
        if not outer:
            continue
        if inner.name in new_names and new_names[inner.name] not in node.output:
            new_names[inner.name] = outer
        else:
            tensor = new_names.get(inner.name, inner.name)
            identities.append(helper.make_node("Identity", [tensor], [outer]))
    return identities


def _declared(graph: onnx.GraphProto) -> Iterator[str]:
    """Yield the names of the inputs, initializers and nodes' outputs of a graph."""
    yield from (one.name for one in graph.input)
    yield from (one.name for one in graph.initializer)
    yield from chain.from_iterable(node.output for node in graph.node)


def _rename(graph: onnx.GraphProto, new_names: Mapping[str, str]) -> None:
    """Rename tensors in a graph, in place, and in those below; its own outputs keep their names."""
    outer, *inner = onnx_defs.messages(graph, onnx.GraphProto)
    for node in chain.from_iterable(one.node for one in (outer, *inner)):
        node.input[:] = [new_names.get(name, name) for name in node.input]
        node.output[:] = [new_names.get(name, name) for name in node.output]
    for output in chain.from_iterable(one.output for one in inner):
        output.name = new_names.get(output.name, output.name)
