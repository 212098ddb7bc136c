"""Nodes at random, the small ones first."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import cycle, product
from random import Random
from typing import Any, TypeAlias

import numpy as np

from opcheck import dtypes
from opcheck.dtypes import DTYPES, DType
from opcheck.model import Array, Attrs, AttrValue, Case, Fill, Given, Put, TensorSpec
from opcheck.opset import NAMING, Attribute, Parameter, Schema, leads
from opcheck.suite.tensors import materialize, specials

Shape: TypeAlias = tuple[int, ...]
Draw: TypeAlias = Callable[[Random, Shape], Any]
#: How often an attribute is stated that may be left out; without some there is little left.
_STATED = {"kernel_shape": 0.95}
#: The parts of a search: the end as a share of it, ranks, and sizes.
_STAGES = ((0.3, (1, 3), (1, 3)), (0.6, (1, 5), (1, 3)), (0.65, (1, 4), (0, 2)))
#: Then come rows of lengths around those of vectors, other values in the suite's own cases, and
#: tensors where only size matters, which are filled by rule.
_ROWS, _REVALUED = 0.8, 0.98
#: Several inputs whose shapes fit together are seldom found, so that the cases' serve from here on.
_SMALL = 0.3
_LENGTHS = (4, 5, 7, 8, 9, 12, 15, 16, 17, 24, 31, 32, 33, 48, 63, 64, 65)
_LARGE: tuple[Shape, ...] = ((300,), (3, 127), (2, 1, 300), (1, 2, 20, 20), (70_000,), (2, 33_000))
_FILLS: tuple[tuple[str, tuple[float, ...]], ...] = (
    ("permutation", (-60.0, 1.0)),
    ("normal", (0.0, 1.0)),
    ("uniform", (-8.0, 8.0)),
    ("integers", (-4.0, 4.0)),
    ("constant", (0.0,)),
)
#: From here on it all comes once more, with NaN, about which the text is often open.
_WITH_NAN = 0.75
#: How often an attribute is spoilt, and how often the inputs are initializers.
_SPOILT, _CONSTANT = 0.15, 0.03


@dataclass(frozen=True, eq=False)
class Candidate:
    """Attributes and inputs, legal or not."""

    attrs: Attrs
    inputs: tuple[TensorSpec, ...]

    @property
    def size(self) -> int:
        """Return the number of elements of the inputs."""
        return sum(math.prod(spec.shape) for spec in self.inputs)

    def on(self, schema: Schema, dtype: DType) -> "Candidate":
        """Return a copy with another dtype for the leading input and all that share its type."""
        inputs = tuple(_on(schema, spec, dtype) for spec in self.inputs)
        held = self.attrs.get("value")
        if not schema.by_value or not isinstance(held, np.ndarray) or dtypes.of(held) == dtype:
            return replace(self, inputs=inputs)
        values = [float(n + 1) for n in range(held.size)]
        return Candidate({**self.attrs, "value": _tensor(values, held.shape, dtype)}, inputs)

    def with_input(self, number: int, spec: TensorSpec) -> "Candidate":
        """Return a copy with another tensor for one of its inputs."""
        return replace(self, inputs=(*self.inputs[:number], spec, *self.inputs[number + 1 :]))


def given(values: Sequence[float], shape: Shape, dtype: DType) -> Given:
    """These values, rounded to the nearest that `dtype` holds."""
    exact: Any = np.array(values, np.float64)
    match dtype.kind:
        case "float" | "minifloat":
            if dtype.kind == "minifloat":
                most = dtypes.limits(dtype)[1]
                exact = np.array([v if dtypes.holds(dtype, v) else most for v in values])
            exact = dtypes.round_to(exact, dtype).astype(np.float64)
        case "int":
            low, high = dtypes.limits(dtype)
            whole = [0 if value != value else int(min(max(value, low), high)) for value in values]
            exact = np.array(whole, dtype.numpy)
        case "bool":
            exact = exact != 0
        case "complex":
            exact = np.stack([exact, np.roll(exact, 1)], axis=-1).view(np.complex128)
        case "string":
            exact = np.array([f"{value:g}" for value in values], object)
    return Given(exact.reshape(shape))


def _tensor(values: Sequence[float], shape: Shape, dtype: DType) -> Array:
    return materialize(TensorSpec("value", dtype, shape, given(values, shape, dtype)))


def _is_alike(schema: Schema, parameter: Parameter) -> bool:
    return parameter.constraint == schema.typed.constraint


def _on(schema: Schema, spec: TensorSpec, dtype: DType) -> TensorSpec:
    if not leads(schema.op, spec.name) or spec.dtype == dtype:
        return spec
    content = spec.content
    if isinstance(content, Given) and not spec.dtype.kind == dtype.kind == "float":
        values = content.values.reshape(-1).tolist()
        is_real = spec.dtype.kind not in ("complex", "string")
        content = given(values if is_real else range(len(values)), spec.shape, dtype)
    return replace(spec, dtype=dtype, content=content)


def _per_axis(high: int) -> Draw:
    """A number, from 1, for each axis that a window moves along."""
    return lambda rng, shape: tuple(rng.randint(1, high) for _ in shape[2:])


def _some_axes(rng: Random, shape: Shape) -> tuple[int, ...]:
    axes = rng.sample(range(len(shape)), rng.randint(1, len(shape))) if shape else []
    return tuple(axes if rng.random() < 0.2 else sorted(axes))


#: Sensible values by the names of attributes in ONNX and DirectML.
_BY_NAME: Mapping[str, Draw] = {
    "axis": lambda rng, shape: rng.randint(-len(shape), len(shape) - 1) if shape else 0,
    "axes": _some_axes,
    "Axes": _some_axes,
    "kernel_shape": _per_axis(3),
    "strides": _per_axis(3),
    "dilations": _per_axis(2),
    "pads": lambda rng, shape: tuple(rng.randint(0, 2) for _ in range(2 * len(shape[2:]))),
    "paddings": lambda rng, shape: tuple(rng.randint(0, 2) for _ in range(2 * len(shape))),
    "auto_pad": lambda rng, shape: rng.choice(["SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET"]),
    "ceil_mode": lambda rng, shape: rng.randint(0, 1),
    "p": lambda rng, shape: rng.choice([1, 2, 3, 4, 5, 17]),
    # The node has one output.
    "num_outputs": lambda rng, shape: 1,
    "split": lambda rng, shape: (rng.choice(shape or (1,)),),
    "value_floats": lambda rng, shape: tuple(rng.choice([0.5, -1.0, 3.0]) for _ in shape),
    "value_string": lambda rng, shape: rng.choice(["", "a", "Zürich "]),
    "value_strings": lambda rng, shape: tuple(rng.choice(["", "a", "Zürich "]) for _ in shape),
}
_BY_TYPE: Mapping[str, Draw] = {
    "int": lambda rng, shape: rng.randint(-2, 3),
    "float": lambda rng, shape: rng.choice([0.5, 1.0, 2.0, -1.0]),
    "ints": lambda rng, shape: tuple(rng.randint(0, 3) for _ in shape),
}


def attributes(rng: Random, schema: Schema, shape: Shape) -> dict[str, AttrValue]:
    """A choice of attributes; the engine decides if they exclude each other."""
    return {
        name: value
        for name, declared in schema.attributes.items()
        if declared.required or rng.random() < _STATED.get(name, 0.4)
        if (value := attribute(rng, declared, shape)) is not None
    }


def attribute(rng: Random, declared: Attribute, shape: Shape) -> AttrValue | None:
    """A value that may make sense, None where nothing is known to."""
    if declared.name in NAMING:
        dtype = rng.choice([*DTYPES.values()])
        return dtype.onnx if declared.type == "int" else dtype.word
    draw = _BY_NAME.get(declared.name) or _BY_TYPE.get(declared.type)
    value: AttrValue | None = draw(rng, shape) if draw else declared.default
    if declared.type == "float" and isinstance(value, int):
        return value + rng.choice([0.0, 0.5])
    return value


def spoilt(
    rng: Random, schema: Schema, attrs: Mapping[str, AttrValue], rank: int
) -> dict[str, AttrValue]:
    """The attributes with one of them changed to a value that is seldom legal."""
    if not schema.attributes:
        return dict(attrs)
    declared = rng.choice(list(schema.attributes.values()))
    odd = [rank, rank + 1, -rank - 1, -rank, 0, -1]
    match declared.type:
        case "int":
            value: AttrValue = rng.choice([*odd, 2**31, 2**32, 2**32 - 1, -(2**32)])
        case "float":
            value = rng.choice([0.0, -1.0, 1e-46, 3e38])
        case "string":
            value = rng.choice(["", "same_upper", "VALID", "SAME_UPPER"])
        case "ints":
            # Nothing large: it may be the size of something.
            value = _spoilt_list(rng, attrs.get(declared.name), odd)
        case _:
            return dict(attrs)
    return {**attrs, declared.name: value}


def _spoilt_list(rng: Random, value: Any, odd: Sequence[int]) -> tuple[int, ...]:
    numbers = list(value or (1, 1))
    place = rng.randrange(len(numbers))
    match rng.randrange(4):
        case 0:
            numbers[place] = rng.choice(odd)
        case 1:
            numbers.append(numbers[place])
        case 2:
            numbers.pop(place)
        case _:
            numbers[place] = -numbers[place]
    return tuple(numbers)


def drawn(schema: Schema, dtype: DType, cases: Sequence[Case], tries: int) -> Iterator[Candidate]:
    """`tries` nodes, the same ones each time; `cases` lend shapes and attributes."""
    rng = Random(f"{schema.op} {dtype}")
    large = cycle(product(_FILLS, _LARGE))
    alike = [one for one in schema.inputs if one.option == "single" and _is_alike(schema, one)]
    lent = _ROWS if len(alike) == 1 else _SMALL
    for number in range(tries):
        part = number / tries
        nan = part >= _WITH_NAN
        part = (part - _WITH_NAN) / (1 - _WITH_NAN) if nan else part / _WITH_NAN
        if part > _REVALUED:
            (kind, args), shape = next(large)
            shape = _of_rank(_least_rank(schema), shape)
            # Without it all places would be alike.
            last = Put(tuple(length - 1 for length in shape), 2.0)
            puts = (last,) if kind == "constant" else ()
            content = TensorSpec("", dtype, shape, Fill(kind, args, seed=number), puts)
            yield _node(rng, schema, content)
        elif part > lent and cases:
            case, inputs = rng.choice(cases), list[TensorSpec]()
            for spec in case.inputs:
                if leads(schema.op, spec.name):
                    values = _values(rng, math.prod(spec.shape), dtype, nan=nan)
                    other = given(values, spec.shape, dtype)
                    spec = replace(spec, dtype=dtype, put=(), content=other)
                inputs.append(spec)
            yield Candidate(case.attrs, tuple(inputs))
        else:
            shape = _shape(rng, schema, part)
            values = _values(rng, math.prod(shape), dtype, nan=nan)
            yield _node(rng, schema, TensorSpec("", dtype, shape, given(values, shape, dtype)))


def _node(rng: Random, schema: Schema, tensor: TensorSpec) -> Candidate:
    # Where the rank is too small, only that is to be wrong.
    attrs = attributes(rng, schema, _of_rank(_least_rank(schema), tensor.shape))
    if rng.random() < _SPOILT:
        attrs = spoilt(rng, schema, attrs, len(tensor.shape))
    if schema.by_value and rng.random() < 0.9:
        shape = rng.choice([(1,), (1,), (), (2,), (1, 1), tensor.shape])
        values = _values(rng, math.prod(shape), tensor.dtype, nan=False)
        value = "value", _tensor(values, shape, tensor.dtype)
        # Of Constant one attribute alone is legal.
        attrs = dict([rng.choice([value, *attrs.items()])])
    constant = not schema.op.domain and rng.random() < _CONSTANT
    return Candidate(attrs, tuple(_inputs(rng, schema, replace(tensor, initializer=constant))))


def _inputs(rng: Random, schema: Schema, lead: TensorSpec) -> Iterator[TensorSpec]:
    """`lead`, with tensors of its shape, or that broadcast to it, or of any shape."""
    for number, parameter in enumerate(schema.inputs):
        names = [parameter.name] * (parameter.option == "single")
        if parameter.option == "variadic":
            names = [f"{parameter.stem}_{n}" for n in range(rng.randint(1, 3))]
        for n, name in enumerate(names):
            if parameter is schema.typed and n == 0:
                yield replace(lead, name=name)
            elif isinstance(lead.content, Fill) and _is_alike(schema, parameter):
                seed = lead.content.seed + number + n
                yield replace(lead, name=name, content=replace(lead.content, seed=seed))
            else:
                yield replace(_another(rng, schema, parameter, lead), name=name)


def _another(rng: Random, schema: Schema, parameter: Parameter, lead: TensorSpec) -> TensorSpec:
    shape = lead.shape
    is_count = not _is_alike(schema, parameter) and rng.random() < 0.6
    if is_count:
        # OneHot's `values` are two.
        shape = (2,) if parameter.name == "values" else (1,)
    elif (part := rng.random()) > 0.8:
        shape = tuple(rng.randint(1, 3) for _ in range(rng.randint(0, 2)))
    elif part > 0.6:
        shape = tuple(rng.choice([1, n]) for n in shape[rng.randint(0, len(shape)) :])
    if _is_alike(schema, parameter):
        dtype, values = lead.dtype, _values(rng, math.prod(shape), lead.dtype, nan=False)
    else:
        dtype = rng.choice([one for one in DTYPES.values() if one.text in parameter.types])
        ends = (1, 1) if is_count else (rng.choice([0, 0, -2]), rng.choice([0, 1, 2]))
        values = [float(rng.randint(*ends)) for _ in range(math.prod(shape))]
    return TensorSpec("", dtype, shape, given(values, shape, dtype), (), lead.initializer)


def _least_rank(schema: Schema) -> int:
    """The least rank: batches and channels come before the axes of a window."""
    return 3 if "kernel_shape" in schema.attributes else 0


def _of_rank(least: int, shape: Shape) -> Shape:
    return (1,) * (least - len(shape)) + shape


def _shape(rng: Random, schema: Schema, part: float) -> Shape:
    least = _least_rank(schema)
    for end, (low, high), sizes in _STAGES:
        if part <= end:
            # One that is too small is a matter of its own.
            least -= rng.random() < _SPOILT / 3
            rank = rng.randint(max(low, least), max(high, least + 1))
            return tuple(rng.randint(*sizes) for _ in range(rank))
    rank = max(rng.randint(1, 3), least)
    lengths = [rng.randint(1, 2) for _ in range(rank)]
    lengths[rng.randrange(2 if least else 0, rank)] = rng.choice(_LENGTHS)
    return tuple(lengths)


def _values(rng: Random, count: int, dtype: DType, *, nan: bool) -> list[float]:
    if rng.random() < 0.1:
        values = [float(number) for number in range(-(count // 2), count - count // 2)]
        rng.shuffle(values)
    else:
        manner = rng.choice(_manners(rng, dtype))
        values = [manner() for _ in range(count)]
    if nan and count:
        values[rng.randrange(count)] = math.nan
    return values


def _manners(rng: Random, dtype: DType) -> list[Callable[[], float]]:
    dtype = DTYPES["float32"] if dtype.kind in ("complex", "string") else dtype
    largest = dtypes.limits(dtype)[1]
    smallest = math.ldexp(1.0, dtype.min_exponent)
    normal = math.ldexp(1.0, dtype.min_exponent + dtype.precision - 1)
    step = math.ldexp(1.0, 1 - dtype.precision)
    special = [value for value in specials(dtype) if not math.isnan(value)]
    pair = [rng.choice([*special, 2.0, 3.0, -3.0, 0.5]) for _ in range(2)]
    base = rng.choice([1.0, 2.0, -1.0, 7.0])
    return [
        lambda: float(rng.randint(-3, 3)),
        lambda: float(rng.randint(0, 1)),
        lambda: -float(rng.randint(1, 4)),
        lambda: rng.choice(pair),
        lambda: rng.randint(-12, 12) / 4,
        lambda: rng.gauss(0, 1),
        lambda: rng.gauss(0, 8),
        lambda: rng.gauss(0, 100),
        lambda: rng.choice(special),
        lambda: normal * rng.uniform(-2, 2),
        lambda: smallest * rng.randint(-4, 4),
        lambda: largest * rng.uniform(-1, 1),
        lambda: base * (1 + rng.randint(-2, 2) * step),
        lambda: math.ldexp(rng.uniform(-2, 2), rng.randint(-20, 12)),
    ]
