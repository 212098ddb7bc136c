"""Cases with one property changed, which show if that property is why a case fails.

A changed case may be illegal, or its answer undecided: the caller has to check that.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from typing import Any, NamedTuple, TypeAlias, TypeGuard

import numpy as np

from opcheck import opset
from opcheck.dtypes import DType, holds
from opcheck.grouping import not_none
from opcheck.model import GRAPH, Array, Case, Computed
from opcheck.model.case import AttrValue, Fill, FromFile, Given, Put, TensorSpec

#: So many values of an attribute, seen in other cases, are tried.
_SEEN = 3
#: So many axes of an input are made longer and shorter.
_AXES = 4
#: An axis is cut in halves from this length on.
_LONG = 4
#: Inputs of more bytes are not asked again.
_LARGEST = 1 << 20
#: Attributes with a number for each spatial axis, or for each end of it, and what changes nothing.
_NEUTRAL = {"strides": 1, "dilations": 1, "pads": 0, "output_padding": 0}
#: Operators whose second input has the size of the kernel.
WEIGHTED = ("Conv", "ConvTranspose", "ConvInteger", "QLinearConv")
#: Sizes of kernels that are tried.
_KERNELS = (1, 2, 3)
#: Axes before the spatial ones: batch and channel.
_NOT_SPATIAL = 2


class Flip(NamedTuple):
    """A case with one property changed, and how, in words that follow "asked again"."""

    text: str
    case: Case


#: A change in words, and the fields of a case that it replaces.
_Change: TypeAlias = tuple[str, Mapping[str, Any]]


def flips(case: Case, others: Sequence[Case]) -> Iterator[Flip]:
    """Yield a case with one property changed, for each that can be; the likeliest causes first.

    `others` are cases of the same operator, whose attributes and inputs are tried. A changed case
    is computed by the engine, without a tolerance; its id is that of the case, "~" and a number.
    Nothing is yielded for an invalid model, a whole one or one from a file, for inputs beyond
    1 MiB, and where a backend states the answer. Raises KeyError for an operator or version without
    a schema.
    """
    if not may_be_changed(case):
        return
    alike = [other for other in others if other.op == case.op]
    changes = chain(
        _of_attributes(case, alike),
        _of_optional_inputs(case, alike),
        _of_kernels(case),
        _of_constants(case),
        _of_single_numbers(case, alike),
        _of_values(case),
        _of_lengths(case),
        _of_types(case, alike),
        _of_ranks(case),
    )
    for number, (text, fields) in enumerate(changes):
        fields = {**fields_of_engine_answer(case), **fields}
        yield Flip(text, replace(case, id=f"{case.id}~{number}", **fields))


def may_be_changed(case: Case) -> bool:
    """Return True for a case whose properties may be changed one by one.

    False for an invalid model, a whole one or one from a file, for inputs beyond 1 MiB, and where a
    backend states the answer.
    """
    is_node = case.model is None and case.op != GRAPH
    is_small = sum(spec.nbytes for spec in case.inputs) <= _LARGEST
    return is_node and is_small and case.expect.is_stated and not case.expect.rejection


def fields_of_engine_answer(case: Case) -> Mapping[str, Any]:
    """Return the fields by which a case that is made of this one has the engine's answer.

    They are `expect`, no tolerance, and `empty`: the answer may be mostly 0, infinity or NaN if
    that of the case itself is.
    """
    empty = case.empty or ("so is the answer it is made of" if _is_degenerate(case) else "")
    return {"expect": Computed(), "tolerance": None, "empty": empty}


def _is_degenerate(case: Case) -> bool:
    """Return True if more than half of an output that a case writes out is 0, infinity or NaN.

    Only floats and integers count.
    """
    for spec in case.expect.written:
        if isinstance(spec.content, Given) and spec.dtype.kind in ("float", "int"):
            values = spec.content.values.astype(np.float64)
            telling = np.isfinite(values) & (values != 0)
            if values.size and 2 * np.count_nonzero(telling) < values.size:
                return True
    return False


def _of_attributes(case: Case, alike: Sequence[Case]) -> Iterator[_Change]:
    """Yield changes of one attribute: left out, stated, or with another value.

    `alike` are cases of the same version, whose values are tried. Attributes that are tensors or
    graphs stay as they are. A required attribute is not left out. Raises KeyError for an operator
    or version without a schema.
    """
    schema = opset.versions(case.op.domain, case.op.name)[case.op.since]
    for name, attribute in schema.attributes.items():
        value = case.attrs.get(name)
        if attribute.type in ("graph", "other", "tensor", "tensors"):
            continue
        if name in case.attrs and not attribute.required:
            rest = {other: it for other, it in case.attrs.items() if other != name}
            yield f"without `{name}`", {"attrs": rest}
        if name not in case.attrs:
            values = _stated_values(case, name, attribute.default)
        elif is_plain(value):
            values = _other_values(case, name, value)
        else:
            continue
        seen = _seen_values(case, name, alike)
        for other in dict.fromkeys([*values, *seen]):
            if other != value:
                yield f"with `{name}` {in_words(other)}", {"attrs": {**case.attrs, name: other}}


def is_plain(value: object) -> TypeGuard[int | float | str | tuple[Any, ...]]:
    """Return True for a number, a text or a list of them."""
    return isinstance(value, int | float | str | tuple)


def in_words(value: AttrValue) -> str:
    """Return a value as text, a list, which is a tuple here, in square brackets."""
    return str([*value]) if isinstance(value, tuple) else str(value)


def _other_values(case: Case, name: str, value: AttrValue) -> Iterator[AttrValue]:
    """Yield other values for an attribute, which differ in one respect from its `value`.

    Axes are counted from the other end, by the rank of the first input. Lists of integers have
    equal numbers, `pads` equal ends, and lists for spatial axes the number that changes nothing.
    Nothing is yielded for other numbers and texts; a value may equal `value`.
    """
    rank = len(case.inputs[0].shape) if case.inputs else 0
    if name == "axis" and isinstance(value, int):
        yield value + rank if value < 0 else value - rank
    if not isinstance(value, tuple) or not all(isinstance(item, int) for item in value):
        return
    integers = tuple(map(int, value))
    if name == "axes":
        yield tuple(axis + rank if axis < 0 else axis for axis in integers)
        yield tuple(axis if axis < 0 else axis - rank for axis in integers)
        return
    half = len(integers) // 2
    if name == "pads":
        yield integers[:half] * 2
    if name in _NEUTRAL:
        yield (_NEUTRAL[name],) * len(integers)
    yield integers[:1] * len(integers)


def _stated_values(case: Case, name: str, default: object) -> Iterator[AttrValue]:
    """Yield values that state what a case leaves out: the `default`, or what changes nothing.

    A list for the spatial axes, without a default, has 1 or 0 for each; `kernel_shape` is that of
    the second input.
    """
    if is_plain(default):
        yield default
    length = _list_length(case, name)
    if name in _NEUTRAL and default is None and length:
        yield (_NEUTRAL[name],) * length
    if name == "kernel_shape" and len(case.inputs) > 1:
        yield case.inputs[1].shape[_NOT_SPATIAL:]


def _list_length(case: Case, name: str) -> int | None:
    """Return how many numbers an attribute has that goes with the spatial axes.

    Those are the first input's. None for other attributes, and without inputs.
    """
    if name not in (*_NEUTRAL, "kernel_shape") or not case.inputs:
        return None
    axes = max(0, len(case.inputs[0].shape) - _NOT_SPATIAL)
    return 2 * axes if name == "pads" else axes


def _seen_values(case: Case, name: str, alike: Sequence[Case]) -> list[AttrValue]:
    """Return the three most frequent other values of an attribute in cases of the same version.

    A list is as long as that of the case, or as its spatial axes need it. Tensors and graphs do not
    count, nor does leaving it out.
    """
    value = case.attrs.get(name)
    length = len(value) if isinstance(value, tuple) else _list_length(case, name)

    def fits(other: object) -> bool:
        """Return False for a list of another length than the case needs, if it needs one."""
        return not isinstance(other, tuple) or length in (None, len(other))

    seen = (other.attrs.get(name) for other in alike)
    counts = Counter(other for other in seen if is_plain(other) and other != value and fits(other))
    return [other for other, _ in counts.most_common(_SEEN)]


def _of_optional_inputs(case: Case, alike: Sequence[Case]) -> Iterator[_Change]:
    """Yield changes of one optional input: left out, or given as a case of `alike` has it.

    Given are up to three, of different shapes, from cases of the same type. Raises KeyError for an
    operator or version without a schema.
    """
    schema = opset.versions(case.op.domain, case.op.name)[case.op.since]
    given = {spec.name: spec for spec in case.inputs}
    for place, parameter in enumerate(schema.inputs):
        if parameter.option != "optional":
            continue
        slots = [*case.slots, *[""] * (place + 1 - len(case.slots))]
        if slots[place]:
            rest = tuple(spec for spec in case.inputs if spec.name != slots[place])
            left = opset.without_end([*slots[:place], "", *slots[place + 1 :]])
            yield f"without input {slots[place]}", {"inputs": rest, "slots": left}
            continue
        for spec in _specs_seen(parameter.name, case, alike):
            inputs = {**given, spec.name: spec}
            slots[place] = spec.name
            ordered = tuple(inputs[slot] for slot in slots if slot)
            fields = {"inputs": ordered, "slots": opset.without_end(slots)}
            yield f"with input {spec.name} of shape {[*spec.shape]}", fields


def _specs_seen(name: str, case: Case, alike: Sequence[Case]) -> list[TensorSpec]:
    """Return the first three inputs of this name, of different shapes, in cases of `alike`.

    Only cases of the type of `case` count.
    """
    seen: dict[tuple[int, ...], TensorSpec] = {}
    for other in alike:
        if other.dtype == case.dtype:
            for spec in other.inputs:
                if spec.name == name:
                    seen.setdefault(spec.shape, spec)
    return [*islice(seen.values(), _SEEN)]


def _of_kernels(case: Case) -> Iterator[_Change]:
    """Yield other sizes of a kernel of weights, in the input and where an attribute repeats it.

    They are 1, 2 and 3 along each spatial axis. Nothing is yielded for operators without weights,
    and a size is left out that the input has, or cannot get as its values are of a file, it would
    be too large, or they are empty or broadcast.
    """
    if case.op.name not in WEIGHTED or len(case.inputs) <= 1:
        return
    weights = case.inputs[1]
    axes = range(_NOT_SPATIAL, len(weights.shape))
    for size in _KERNELS:
        other: TensorSpec | None = weights
        for axis in axes:
            other = other and with_length(other, axis, size)
        if other is None or other.shape == weights.shape:
            continue
        fields = _with_input(case, 1, other)
        if "kernel_shape" in case.attrs:
            fields = {**fields, "attrs": {**case.attrs, "kernel_shape": (size,) * len(axes)}}
        yield f"with a kernel of {size} along each axis", fields


def _with_input(case: Case, place: int, spec: TensorSpec) -> Mapping[str, Any]:
    """Return the inputs of a case, as a field, with another one at `place`."""
    return {"inputs": (*case.inputs[:place], spec, *case.inputs[place + 1 :])}


def _of_constants(case: Case) -> Iterator[_Change]:
    """Yield changes of one input from a constant of the model to one that is fed, and back.

    One input stays fed.
    """
    fed = sum(not spec.initializer for spec in case.inputs)
    for place, spec in enumerate(case.inputs):
        if spec.initializer or fed > 1:
            other = replace(spec, initializer=not spec.initializer)
            how = "fed" if spec.initializer else "a constant"
            yield f"with input {spec.name} {how}", _with_input(case, place, other)


def _of_single_numbers(case: Case, alike: Sequence[Case]) -> Iterator[_Change]:
    """Yield changes of an input that is one number to others that cases of `alike` have there.

    They are the three most frequent numbers, in cases of any type, that the input's own type holds.
    """
    for place, spec in enumerate(case.inputs):
        value = single_number(spec)
        if value is None:
            continue
        inputs = chain.from_iterable(other.inputs for other in alike)
        seen = (single_number(it) for it in inputs if it.name == spec.name)
        others = (number for number in seen if number is not None and number != value)
        counts = Counter(number for number in others if holds(spec.dtype, number))
        for number, _ in counts.most_common(_SEEN):
            content = Given(np.full(spec.shape, number, spec.dtype.numpy))
            yield (
                f"with input {spec.name} {number}",
                _with_input(case, place, replace(spec, content=content)),
            )


def single_number(spec: TensorSpec) -> int | float | None:
    """Return the value of an input that is one finite number, written out; None for others."""
    is_number = spec.dtype.kind in ("float", "int") and math.prod(spec.shape) == 1
    if not is_number or not isinstance(spec.content, Given) or spec.put:
        return None
    number: int | float = spec.content.values.reshape(-1)[:1].tolist()[0]
    return number if math.isfinite(number) else None


def _of_values(case: Case) -> Iterator[_Change]:
    """Yield changes of the values of one input that a case writes out, or draws from a range.

    Integers are all equal, or those below 0, or 0, are replaced; floats have no NaN, no infinity,
    nothing below 0, or no 0. Of what is drawn, none is below 0. What the case puts at single places
    is left out then.
    """
    for place, spec in enumerate(case.inputs):
        if isinstance(spec.content, Fill):
            for content in _of_no_negatives(spec.content):
                changed = replace(spec, content=content, put=())
                yield f"without negative values in {spec.name}", _with_input(case, place, changed)
        if not isinstance(spec.content, Given):
            continue
        values = spec.content.values
        for text, other in _other_content(spec, values):
            changed = replace(spec, content=Given(other), put=())
            yield f"{text} in {spec.name}", _with_input(case, place, changed)


def _of_no_negatives(fill: Fill) -> Iterator[Fill]:
    """Yield the rule of numbers drawn from a range that begins at 0, and not below."""
    if fill.kind in ("integers", "uniform"):
        low, high = fill.args
        if isinstance(low, int | float) and isinstance(high, int | float) and low < 0 < high:
            yield replace(fill, args=(0, high))


def _other_content(spec: TensorSpec, values: Array) -> Iterator[tuple[str, Array]]:
    """Yield other values for an input, each after the change in words, such as "without NaN".

    Integers keep their dtype, and floats are float64, in the shape of `values`. A change that
    changes nothing is left out, and so are other types.
    """
    if spec.dtype.kind == "int" and values.size:
        if (values < 0).any():
            # The index -1, the first from the end, becomes 0, the first from the front.
            from_front = np.where(values < 0, ~values, values)
            yield "without negative values", from_front.astype(values.dtype)
        if (values != values.flat[0]).any():
            yield "with equal values", np.full_like(values, values.flat[0])
        if (values == 0).any():
            yield "without zeros", np.where(values == 0, 1, values).astype(values.dtype)
    if spec.dtype.kind == "float":
        floats = values.astype(np.float64)
        if np.isnan(floats).any():
            yield "without NaN", np.where(np.isnan(floats), 1.0, floats)
        if np.isinf(floats).any():
            yield "without infinities", np.where(np.isinf(floats), np.sign(floats), floats)
        if (floats < 0).any():
            yield "without negative values", np.abs(floats)
        if (floats == 0).any():
            yield "without zeros", np.where(floats == 0, 1.0, floats)


def _of_lengths(case: Case) -> Iterator[_Change]:
    """Yield changes of the length of one axis in one input; of the first, also in all alike.

    Each of the first four axes of an input becomes longer, about twice and 8 times, and, from 4 on,
    half as long. A length is left out that an input cannot get, as its values are of a file, it
    would be too large, or they are empty or broadcast.
    """
    for place, spec in enumerate(case.inputs):
        for axis, length in enumerate(spec.shape[:_AXES]):
            lengths = [2 * length + 1, 8 * length + 9]
            if length >= _LONG:
                lengths.append(length // 2)
            for other in lengths:
                changed = with_length(spec, axis, other)
                if changed is None:
                    continue
                text = f"with axis {axis} of {spec.name} of length {other}"
                yield text, _with_input(case, place, changed)
                several = _all_with_length(case.inputs, axis, length, other)
                if place == 0 and several:
                    yield f"with axis {axis} of length {other} in all inputs", {"inputs": several}


def _all_with_length(
    inputs: Sequence[TensorSpec], axis: int, length: int, other: int
) -> tuple[TensorSpec, ...] | None:
    """Return the inputs with another length of an axis, in each whose axis has this `length`.

    None if that is one input only, or if one cannot get the `other` length, as its values are of a
    file, it would be too large, or they are empty or broadcast.
    """

    def has_it(spec: TensorSpec) -> bool:
        """Return True for an input whose axis has the length."""
        return axis < len(spec.shape) and spec.shape[axis] == length

    if sum(map(has_it, inputs)) <= 1:
        return None
    changed = [with_length(spec, axis, other) if has_it(spec) else spec for spec in inputs]
    return None if None in changed else tuple(map(not_none, changed))


def _is_whole(spec: TensorSpec) -> bool:
    """Return True for an input whose values are drawn, or written out without being broadcast."""
    if isinstance(spec.content, Given):
        return spec.content.values.shape == spec.shape
    return not isinstance(spec.content, FromFile)


def with_length(spec: TensorSpec, axis: int, length: int) -> TensorSpec | None:
    """Return an input with another length of an axis; None if its values are read from a file.

    Values that are written out are repeated, or cut off; those put at single places stay if the
    place is still there. None, too, if the input would be larger than 1 MiB, or if written values
    are empty or broadcast to its shape.
    """
    shape = (*spec.shape[:axis], length, *spec.shape[axis + 1 :])
    content = spec.content
    if not _is_whole(spec) or math.prod(shape) * spec.dtype.numpy.itemsize > _LARGEST:
        return None
    if isinstance(content, Given):
        if not content.values.size:
            return None
        content = Given(content.values.take(np.arange(length) % spec.shape[axis], axis))
    puts: tuple[Put, ...] = tuple(put for put in spec.put if put.at[axis] < length)
    return replace(spec, shape=shape, content=content, put=puts)


def _of_types(case: Case, alike: Sequence[Case]) -> Iterator[_Change]:
    """Yield changes of the type of a case to others of its kind, in all inputs and outputs of it.

    They are those that cases of `alike` have, of the most bits first. A type of integers is left
    out that does not hold those of an input. Nothing is yielded for types other than floats and
    integers, for values that are read from a file, and if inputs state their own types. Raises
    KeyError for an operator or version without a schema.
    """
    own = case.dtype
    if own is None or own.kind not in ("float", "int"):
        return
    seen = {other.dtype for other in alike if other.dtype and other.dtype.kind == own.kind}
    for dtype in sorted(seen - {own}, key=lambda one: (-one.bits, one.name)):
        fields = with_type(case, dtype)
        if fields is not None:
            yield f"with {dtype} in place of {own}", fields


def with_type(case: Case, dtype: DType) -> Mapping[str, Any] | None:
    """Return the fields of a case that replace its type by another one of its kind.

    Inputs and outputs stay that have another type, or that cannot have this one. None for integers
    that the type does not hold, while floats may be rounded; for values that are read from a file;
    and for a case whose inputs state their own types. Raises KeyError for an operator or version
    without a schema.
    """
    own = case.dtype
    schema = opset.versions(case.op.domain, case.op.name)[case.op.since]
    if own is None:
        return None
    inputs: list[TensorSpec | None] = []
    for spec in case.inputs:
        # What a subgraph takes from outside has no slot.
        is_of_it = spec.dtype == own and spec.name in case.slots
        if is_of_it and _may_be(dtype, schema.inputs, case.slots.index(spec.name)):
            inputs.append(_in_type(spec, dtype))
        else:
            inputs.append(spec)
    outputs = [
        replace(output, dtype=dtype)
        if output.dtype == own and _may_be(dtype, schema.outputs, place)
        else output
        for place, output in enumerate(case.outputs)
    ]
    if None in inputs:
        return None
    return {
        "dtype": dtype,
        "inputs": tuple(map(not_none, inputs)),
        "outputs": tuple(outputs),
    }


def _may_be(dtype: DType, parameters: Sequence[opset.Parameter], place: int) -> bool:
    """Return True if an input or an output at a place may be of a type; the last may be several."""
    return dtype.text in parameters[min(place, len(parameters) - 1)].types


def _in_type(spec: TensorSpec, dtype: DType) -> TensorSpec | None:
    """Return an input in another type of its kind; None for integers that this does not hold.

    Floats may be rounded. None, too, for values that are read from a file.
    """
    content = spec.content
    if isinstance(content, FromFile):
        return None
    stated = [put.value for put in spec.put]
    if isinstance(content, Given):
        values = values_in(dtype, content.values)
        if values is None:
            return None
        content = Given(values)
    else:
        stated += content.args
    # Floats may be rounded.
    are_held = dtype.kind == "float" or all(
        holds(dtype, value) for value in stated if isinstance(value, int | float)
    )
    return replace(spec, dtype=dtype, content=content) if are_held else None


def values_in(dtype: DType, values: Array) -> Array | None:
    """Return numbers that a case writes out in another type of their kind, unrounded.

    None for integers that the type does not hold.
    """
    if dtype.kind == "int":
        return _integers_in(dtype, values)
    return values.astype(np.complex128 if dtype.kind == "complex" else np.float64)


def _integers_in(dtype: DType, values: Array) -> Array | None:
    """Return integers, in whatever type they are written, in another one; None if it lacks one."""
    if values.dtype.kind not in "iu":
        # Types of 4 bits and fewer are not NumPy's own.
        values = values.astype(np.float64)
    numbers = [int(value) for value in values.ravel().tolist()]
    if not all(holds(dtype, number) for number in numbers):
        return None
    widest = np.uint64 if dtype.name.startswith("u") else np.int64
    return np.array(numbers, widest).astype(dtype.numpy).reshape(values.shape)


def _of_ranks(case: Case) -> Iterator[_Change]:
    """Yield changes of the rank of the first input, and of all inputs of its rank.

    They get one axis more behind the others, of one entry or two equal ones, or lose the last one.
    A change is left out if values are read from a file, broadcast, or would be too large.
    """
    rank = len(case.inputs[0].shape) if case.inputs else 0
    changes = (
        (partial(with_one_more, length=1), "with one axis more, of length 1"),
        (partial(with_one_more, length=2), "with one axis more, of length 2"),
        (without_last, "with one axis less"),
    )
    for change, text in changes:
        inputs = [change(spec) if len(spec.shape) == rank else spec for spec in case.inputs]
        if inputs and None not in inputs:
            yield text, {"inputs": tuple(map(not_none, inputs))}


def with_one_more(spec: TensorSpec, length: int) -> TensorSpec | None:
    """Return an input with one axis more behind the others, of so many equal entries.

    None if its values are read from a file or broadcast, or if it would be larger than 1 MiB.
    """
    content = spec.content
    if not _is_whole(spec) or length * spec.nbytes > _LARGEST:
        return None
    if isinstance(content, Given):
        content = Given(np.repeat(content.values[..., np.newaxis], length, axis=-1))
    puts = tuple(replace(put, at=(*put.at, entry)) for put in spec.put for entry in range(length))
    return replace(spec, shape=(*spec.shape, length), content=content, put=puts)


def without_last(spec: TensorSpec) -> TensorSpec | None:
    """Return an input without its last axis, at whose first entry its values are.

    None if there is no axis or no entry, or if the values are read from a file or broadcast.
    """
    content = spec.content
    if not _is_whole(spec) or not spec.shape or not spec.shape[-1]:
        return None
    if isinstance(content, Given):
        content = Given(content.values[..., 0])
    puts = tuple(replace(put, at=put.at[:-1]) for put in spec.put if put.at[-1] == 0)
    return replace(spec, shape=spec.shape[:-1], content=content, put=puts)
