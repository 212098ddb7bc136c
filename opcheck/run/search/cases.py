"""Cases of nodes that were found: what must come out, or that they must be refused."""

from collections.abc import Sequence
from dataclasses import replace
from random import Random

import numpy as np

from opcheck import dtypes, opset
from opcheck.dtypes import DType, limits
from opcheck.engine import Expected, exactly
from opcheck.errors import InvalidNode
from opcheck.model import (
    Array,
    Attrs,
    AttrValue,
    Case,
    Computed,
    Expectation,
    Given,
    OpVersion,
    OutputSpec,
    Rejected,
    Source,
    TensorSpec,
    Values,
)
from opcheck.opset import Schema
from opcheck.run.oracle import little
from opcheck.run.search.drawing import Candidate, attribute
from opcheck.suite import materialize
from opcheck.suite.signature import place

#: Outputs up to this size are written out.
_WRITTEN = 256
_NOWHERE = Source("", 0, 0)
#: How many values are tried for an attribute that may make a node legal.
_VALUES = 8


def case_of(schema: Schema, dtype: DType, node: Candidate) -> Case | None:
    """The case of `node`; None where it is refused, and no single change makes it legal."""
    arrays = [materialize(spec) for spec in node.inputs]
    if (reason := _refusal(schema.op, arrays, node.attrs)) is None:
        case = _made(schema, dtype, node, Computed())
        return replace(case, empty=_says_little(schema.op, arrays, node.attrs))
    if (legal := _legal(schema, node, arrays)) is None:
        return None
    twin = _made(schema, dtype, legal, Computed())
    return _made(schema, dtype, node, Rejected(reason, replace(twin, id=f"{twin.id}~legal")))


def written_out(case: Case) -> Case:
    """`case` with the outputs that the engine computes, if they are not too many to be read."""
    if not isinstance(case.expect, Computed):
        return case
    answers = exactly(
        case.op, [materialize(spec) for spec in case.inputs], case.attrs, len(case.outputs)
    )
    stated = []
    for output, answer in zip(case.outputs, answers, strict=True):
        dtype = output.dtype
        assert dtype
        values = _stated(answer, dtype) if isinstance(answer, Expected) else answer
        if not 0 < values.size <= _WRITTEN:
            return case
        content = Given(values.astype(np.float64) if dtype.kind == "float" else values)
        stated.append(TensorSpec(output.name, dtype, values.shape, content))
    return replace(case, expect=Values(tuple(stated)), empty="")


def alike(one: Case, other: Case) -> bool:
    """Whether two cases of the same inputs also expect the same, but for opset and dtype."""
    return one.attrs == other.attrs and _said(one.expect) == _said(other.expect)


def _stated(exact: Expected, dtype: DType) -> Array:
    """An output's values, infinite where they are beyond what its dtype holds."""
    beyond = np.abs(exact.values) > limits(dtype)[1]
    return np.where(beyond, exact.rounded().astype(np.float64), exact.values)


def _said(expect: Expectation) -> object:
    match expect:
        case Values(specs):
            contents = [spec.content for spec in specs]
            return [dtypes.content(one.values) for one in contents if isinstance(one, Given)]
        case Rejected(reason, legal):
            return reason, dict(legal.attrs), [spec.shape for spec in legal.inputs]
        case _:
            return type(expect)


def _legal(schema: Schema, node: Candidate, arrays: Sequence[Array]) -> Candidate | None:
    """`node` with one attribute changed or left out, or one axis more or less, if that is legal."""
    found = _by_an_attribute(schema, node, arrays)
    if found or len(node.inputs) != 1 or not isinstance(node.inputs[0].content, Given):
        return found
    own = node.inputs[0].content.values
    for values in (own[None], *(own[:1] if own.ndim else ())):
        spec = replace(node.inputs[0], shape=values.shape, content=Given(values))
        if _refusal(schema.op, [materialize(spec)], node.attrs) is None:
            return node.with_input(0, spec)
    return None


def _by_an_attribute(schema: Schema, node: Candidate, arrays: Sequence[Array]) -> Candidate | None:
    rng = Random(0)
    for name in {**schema.attributes, **node.attrs}:
        declared = schema.attributes.get(name)
        required = declared is not None and declared.required
        values: list[AttrValue | None] = [None] if name in node.attrs and not required else []
        if declared:
            values += [attribute(rng, declared, node.inputs[0].shape) for _ in range(_VALUES)]
        for value in values:
            attrs = {key: other for key, other in node.attrs.items() if key != name}
            attrs |= {} if value is None else {name: value}
            if _refusal(schema.op, arrays, attrs) is None:
                return replace(node, attrs=attrs)
    return None


def _refusal(op: OpVersion, arrays: Sequence[Array], attrs: Attrs) -> str | None:
    try:
        exactly(op, arrays, attrs)
    except InvalidNode as error:
        return str(error).removeprefix(f"{op}: ")
    return None


def _says_little(op: OpVersion, arrays: Sequence[Array], attrs: Attrs) -> str:
    """What a case has to say of itself if most of its answer is 0 or NaN; "" if it is not."""
    for answer in exactly(op, arrays, attrs):
        if isinstance(answer, Expected):
            said = little(answer.values, answer.dtype, rounded=True)
        else:
            said = little(answer, dtypes.of(answer), rounded=False)
        if said:
            return said
    return ""


def _made(schema: Schema, dtype: DType, node: Candidate, expect: Expectation) -> Case:
    outputs = [one for one in schema.outputs if one.option == "single"]
    bound = {
        schema.inputs[found[0]].constraint: spec.dtype
        for spec in node.inputs
        if (found := place(schema.inputs, spec.name))
    }
    return Case(
        id=f"{schema.op.name}/proposal",
        name="proposal",
        row=None,
        op=schema.op,
        opset=schema.op.since,
        dtype=dtype,
        attrs=node.attrs,
        inputs=node.inputs,
        slots=tuple(spec.name for spec in node.inputs),
        outputs=tuple(
            OutputSpec(one.name, opset.output_dtype(schema, one, bound, node.attrs))
            for one in outputs
        ),
        expect=expect,
        tolerance=None,
        rule="must",
        level="core",
        clause="",
        source=_NOWHERE,
    )
