"""Nodes that are tried on mutants of one version and dtype, made smaller, and made into cases."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from random import Random
from typing import Any

import numpy as np

from opcheck import dtypes, model, opset
from opcheck.dtypes import DTYPES, DType, limits
from opcheck.engine import Expected, Node, exactly
from opcheck.engine.axes import outputs_of_at_most
from opcheck.engine.mutants import Mutant
from opcheck.engine.operators import only_what_is_said
from opcheck.errors import InvalidNode, NotSupported
from opcheck.execution.expected import too_degenerate
from opcheck.execution.kills import RED, CaseKills, OutputsOrRefusal, right_of, same_outputs
from opcheck.execution.search.drawing import Candidate, attribute, drawn
from opcheck.model import Array, Attrs, AttrValue, Case, Cell, Given, OpVersion, TensorSpec
from opcheck.opset import Schema
from opcheck.opset import place as place_of
from opcheck.suite import materialize, unrounded

#: Of tensors up to this size each element is made plainer by itself.
_FEW = 80
#: The data of larger nodes is made anew for each mutant: all of it would fill the memory.
_KEPT = 1000


def shrunk(found: Candidate, still: Callable[[Candidate], bool]) -> Candidate:
    """The smallest node that is reached from `found` by steps after which it is `still` one."""
    left = iter(range(400))  # as many are tried at most
    while True:
        steps = (step for _, step in zip(left, _steps(found), strict=False))
        if (smaller := next(filter(still, steps), None)) is None:
            return found
        found = smaller


def _steps(found: Candidate) -> Iterator[Candidate]:
    yield from _fewer_elements(found)
    yield from _fewer_axes(found)
    for name, value in found.attrs.items():
        yield replace(found, attrs={k: v for k, v in found.attrs.items() if k != name})
        for plainer in _plainer(value):
            yield replace(found, attrs={**found.attrs, name: plainer})
    yield from _plainer_values(found)
    for number, spec in enumerate(found.inputs):
        if spec.initializer:
            yield found.with_input(number, replace(spec, initializer=False))


def _given(found: Candidate) -> Iterator[tuple[int, TensorSpec, Array]]:
    for number, spec in enumerate(found.inputs):
        if isinstance(spec.content, Given):
            yield number, spec, spec.content.values


def _holding(spec: TensorSpec, values: Array) -> TensorSpec:
    return replace(spec, shape=values.shape, content=Given(values))


def _fewer_elements(found: Candidate) -> Iterator[Candidate]:
    for number, spec, values in _given(found):
        for axis, length in enumerate(values.shape):
            halves = (range(length // 2), range(length // 2, length)) if length > 3 else ()
            singles = ([i for i in range(length) if i != gone] for gone in range(length))
            for kept in (*halves, *(singles if 1 < length <= _FEW else ())):
                smaller = np.take(values, list(kept), axis=axis)
                yield found.with_input(number, _holding(spec, smaller))


def _fewer_axes(found: Candidate) -> Iterator[Candidate]:
    for number, spec, values in _given(found):
        for axis in (axis for axis, length in enumerate(values.shape) if length == 1):
            fewer = found.with_input(number, _holding(spec, values.squeeze(axis)))
            yield fewer
            stated = found.attrs.get("axis")
            for moved in (stated - 1, stated + 1) if isinstance(stated, int) else ():
                yield replace(fewer, attrs={**found.attrs, "axis": moved})


def _plainer(value: object) -> Iterator[Any]:
    match value:
        case tuple() if value and all(isinstance(one, int) for one in value):
            for place, one in enumerate(value):
                if isinstance(one, int) and one > 0:
                    yield (*value[:place], one - 1, *value[place + 1 :])
        case int() if abs(value) > 2:
            yield from (value // abs(value), value // abs(value) * 2)
        case float() if not value.is_integer():
            yield float(math.ceil(value))


def _plainer_values(found: Candidate) -> Iterator[Candidate]:
    for number, spec, values in _given(found):
        if spec.dtype.kind != "float":
            continue
        whole = np.where(np.isfinite(values), np.clip(np.rint(values), -99, 99), values)
        for change in (np.zeros_like(values), np.sign(values), whole):
            if _worth(change) < _worth(values):
                yield found.with_input(number, _holding(spec, change))
        if values.size > _FEW:
            continue
        for place in range(values.size):
            for plain in (0.0, 1.0, whole.flat[place], 2.0, -1.0):
                changed = values.copy()
                changed.flat[place] = plain
                if _worth(changed) < _worth(values):
                    yield found.with_input(number, _holding(spec, changed))


def _worth(values: Array) -> float:
    """Return the effort of reading values, roughly in digits."""
    worth = 0.0
    for value in values.reshape(-1).tolist():
        if value == 0:
            worth += math.copysign(1.0, value) < 0
        elif not math.isfinite(value):
            worth += 4
        else:
            digits = len(f"{value:g}") + (value != float(f"{value:g}")) * 8
            worth += min(digits, 12) + (value < 0) / 2
    return worth


@dataclass(frozen=True, eq=False)
class _Tried:
    """A node, its right outputs, and its case's kills, None without a case."""

    candidate: Candidate
    node: Node
    right: OutputsOrRefusal
    case_kills: Callable[[], CaseKills | None]


def nodes_of(cell: Cell, tries: int) -> Iterator[Node]:
    """Draw about this many nodes, some of them legal."""
    schema = opset.versions(cell.op.domain, cell.op.name)[cell.op.since]
    for candidate in drawn(schema, DTYPES[cell.dtype], (), tries):
        node = _node(schema, candidate)
        if node is not None and (not schema.by_value or node.dtype == cell.dtype):
            yield node


def _node(schema: Schema, candidate: Candidate) -> Node | None:
    """None if an attribute is missing, or its data cannot be made."""
    if {one.name for one in schema.attributes.values() if one.required} - candidate.attrs.keys():
        return None
    try:
        arrays = tuple(map(materialize, candidate.inputs))
    except ValueError:
        return None
    for array in arrays:
        array.flags.writeable = False
    asked = sum(output.option == "single" for output in schema.outputs)
    constant = any(spec.initializer for spec in candidate.inputs)
    return Node(schema.op, arrays, candidate.attrs, asked, constant)


class SearchSpace:
    """The nodes tried on every mutant: those of `cases` with their values, then random ones."""

    def __init__(self, cell: Cell, cases: Sequence[Case], tries: int) -> None:
        schema = opset.versions(cell.op.domain, cell.op.name)[cell.op.since]
        self.cell, self.schema, self.dtype = cell, schema, DTYPES[cell.dtype]
        self._cases, self._tries = cases, tries
        self._tried: list[_Tried] = []
        self._large: list[Candidate] = []
        self._source = self._candidates()

    def found(self, mutant: Mutant) -> Candidate | None:
        """A small node that kills `mutant`, None where none is found."""
        with outputs_of_at_most(1 << 20):
            first = next((one for one in self._all() if self._kills(one, mutant)), None)
            if first is None:
                return None
            return shrunk(first.candidate, lambda smaller: self.kills(smaller, mutant))

    def kills(self, candidate: Candidate, mutant: Mutant) -> bool:
        """Return True if a case of this node kills `mutant`."""
        tried = self._try(candidate)
        return tried is not None and self._kills(tried, mutant)

    def case(self, candidate: Candidate, mutant: Mutant) -> Case:
        """The case of a node that kills, with its answer written out if it kills like that too."""
        plain = case_of(self.schema, self.dtype, candidate)
        assert plain
        written = written_out(plain)
        case_kills = CaseKills(written, self.cell.dtype)
        kills = case_kills.problem is None and case_kills.verdict(mutant) in RED
        return written if kills else plain

    def serves(self, candidate: Candidate, mutant: Mutant, case: Case) -> bool:
        """Return True if `case`, made of `candidate` elsewhere, kills `mutant` here unchanged."""
        moved = candidate.on(self.schema, self.dtype)
        return self.kills(moved, mutant) and alike(self.case(moved, mutant), case)

    def _candidates(self) -> Iterator[Candidate]:
        for case in self._cases:
            inputs = (replace(s, content=Given(unrounded(s)), put=()) for s in case.inputs)
            yield Candidate(case.attrs, tuple(inputs)).on(self.schema, self.dtype)
        yield from drawn(self.schema, self.dtype, self._cases, self._tries)

    def _all(self) -> Iterator[_Tried]:
        yield from self._tried
        yield from filter(None, map(self._try, self._large))
        for candidate in self._source:
            if candidate.size > _KEPT:
                self._large.append(candidate)
            if tried := self._try(candidate):
                self._tried += [tried] if candidate.size <= _KEPT else []
                yield tried

    def _try(self, candidate: Candidate) -> _Tried | None:
        node = _node(self.schema, candidate)
        if node is None:
            return None
        with np.errstate(all="ignore"):
            return _Tried(candidate, node, right_of(node), cache(lambda: self._made(candidate)))

    def _made(self, candidate: Candidate) -> CaseKills | None:
        case = case_of(self.schema, self.dtype, candidate)
        made = CaseKills(case, self.cell.dtype) if case else None
        return made if made and made.problem is None else None

    def _kills(self, tried: _Tried, mutant: Mutant) -> bool:
        if same_outputs(mutant.made_on(tried.node), tried.right):
            return False
        case_kills = tried.case_kills()
        return case_kills is not None and case_kills.verdict(mutant) in RED


def case_of(schema: Schema, dtype: DType, node: Candidate) -> Case | None:
    """The case of `node`; None where no text decides, or no single change makes it legal."""
    arrays = [materialize(spec) for spec in node.inputs]
    if (reason := _refusal(schema.op, arrays, node.attrs)) is None:
        # Most of the answer may be 0 or NaN.
        empty = (
            too_degenerate(answer.values, answer.dtype, rounded=True)
            if isinstance(answer, Expected)
            else too_degenerate(answer, dtypes.of(answer), rounded=False)
            for answer in exactly(schema.op, arrays, node.attrs)
        )
        case = _made(schema, dtype, node, model.Computed())
        return replace(case, empty=next(filter(None, empty), ""))
    if not reason or (legal := _legal(schema, node, arrays)) is None:
        return None
    twin = _made(schema, dtype, legal, model.Computed())
    return _made(schema, dtype, node, model.Rejected(reason, replace(twin, id=f"{twin.id}~legal")))


def written_out(case: Case) -> Case:
    """`case` with the outputs that the engine computes, if they are not too many to be read."""
    if not isinstance(case.expect, model.Computed):
        return case
    inputs = [*map(materialize, case.inputs)]
    answers = exactly(case.op, inputs, case.attrs, len(case.outputs))
    stated = []
    for output, answer in zip(case.outputs, answers, strict=True):
        dtype = output.dtype
        assert dtype
        if isinstance(answer, Expected):
            # Infinite beyond the range of the dtype.
            beyond = np.abs(answer.values) > limits(dtype)[1]
            values = np.where(beyond, answer.rounded().astype(np.float64), answer.values)
        else:
            values = answer
        if not 0 < values.size <= 256:
            return case
        content = Given(values.astype(np.float64) if dtype.kind == "float" else values)
        stated.append(TensorSpec(output.name, dtype, values.shape, content))
    return replace(case, expect=model.Values(tuple(stated)), empty="")


def alike(one: Case, other: Case) -> bool:
    """Return True if two cases with equal inputs expect the same, up to opset and dtype."""
    return repr(one.attrs) == repr(other.attrs) and _said(one.expect) == _said(other.expect)


def _said(expect: model.Expectation) -> object:
    match expect:
        case model.Values(specs):
            contents = [spec.content for spec in specs]
            return [dtypes.content(one.values) for one in contents if isinstance(one, Given)]
        case model.Rejected(reason, legal):
            return reason, dict(legal.attrs), [spec.shape for spec in legal.inputs]
        case _:
            return type(expect)


def _legal(schema: Schema, node: Candidate, arrays: Sequence[Array]) -> Candidate | None:
    """`node` with one attribute changed or left out, or one axis more or less, if that is legal."""
    rng = Random(0)
    for name in {**schema.attributes, **node.attrs}:
        declared = schema.attributes.get(name)
        required = declared is not None and declared.required
        values: list[AttrValue | None] = [None] if name in node.attrs and not required else []
        if declared:
            shape = node.inputs[0].shape if node.inputs else ()
            values += [attribute(rng, declared, shape) for _ in range(8)]
        for value in values:
            attrs = {key: other for key, other in node.attrs.items() if key != name}
            attrs |= {} if value is None else {name: value}
            if _refusal(schema.op, arrays, attrs) is None:
                return replace(node, attrs=attrs)
    if len(node.inputs) != 1 or not isinstance(node.inputs[0].content, Given):
        return None
    own = node.inputs[0].content.values
    for other in (own[None], *(own[:1] if own.ndim else ())):
        spec = _holding(node.inputs[0], other)
        if _refusal(schema.op, [materialize(spec)], node.attrs) is None:
            return node.with_input(0, spec)
    return None


def _refusal(op: OpVersion, arrays: Sequence[Array], attrs: Attrs) -> str | None:
    """Why a node is refused: "" where nothing can be said of it, None where it is legal."""
    try:
        with only_what_is_said():
            exactly(op, arrays, attrs)
    except InvalidNode as error:
        return str(error).removeprefix(f"{op}: ")
    except (NotSupported, MemoryError):
        return ""
    return None


def _made(schema: Schema, dtype: DType, node: Candidate, expect: model.Expectation) -> Case:
    bound = {
        schema.inputs[found[0]].constraint: spec.dtype
        for spec in node.inputs
        if (found := place_of(schema.inputs, spec.name))
    }
    return Case(
        id=f"{schema.op.name}/proposal",
        name="proposal",
        op=schema.op,
        opset=schema.op.since,
        dtype=dtype,
        attrs=node.attrs,
        inputs=node.inputs,
        slots=tuple(spec.name for spec in node.inputs),
        outputs=tuple(
            model.OutputSpec(one.name, opset.output_dtype(schema, one, bound, node.attrs))
            for one in schema.outputs
            if one.option == "single"
        ),
        expect=expect,
        source=model.Source("", 0, 0),
    )
