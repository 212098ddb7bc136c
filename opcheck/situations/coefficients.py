"""Numbers in attributes that scale or limit: below, at, and on both sides of 0 and 1.

A kernel is often written for a coefficient between 0 and 1, and wrong for a negative one, such as a
Selu that takes the minimum of two branches. Where a number limits the data, such as the threshold
of ThresholdedRelu, data of each side are asked with numbers of each sort.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import TypeAlias

import numpy as np

from opcheck.model import Array, Case
from opcheck.opset import Schema
from opcheck.situations.family import Argument, Family, newest_schema
from opcheck.situations.stated import attribute_of, integer_attribute
from opcheck.suite import materialize

_LEFT_OUT = (
    "Operators that draw at random. Numbers in inputs, such as `min` of Clip. `activation_alpha` "
    "and `activation_beta` of GRU and LSTM. Negative numbers and 0 where the text gives them no "
    "meaning: `epsilon` below 0, `softcap` below 0, `alpha` 0 of Celu, `clip` of 0 and below, "
    "`spatial_scale` of 0 and below. Data on each side of `softcap`, of `clip`, and of `epsilon` "
    "where BatchNormalization trains."
)

_SORTS = ("negative", "0", "a fraction", "1", "above 1")
_NOT_NEGATIVE = _SORTS[1:]
_POSITIVE = _SORTS[2:]

#: The numbers in the attributes of a case, by attribute.
Numbers: TypeAlias = Mapping[str, tuple[float, ...]]
#: Values of attributes, by attribute.
Values: TypeAlias = Mapping[str, tuple[int | str, ...]]


@dataclass(frozen=True)
class Coefficients:
    """The coefficients of an operator.

    `sorts` are those that each attribute may be of. With `paired`, each sort of one attribute is
    asked with each of the other. `sides` are what the data may be beside the coefficients, and
    `find_sides` returns the places in `sides` that are among the data of a case. Coefficients count
    in a case only if its attributes have one of the values of each attribute in `only`.
    """

    sorts: Mapping[str, tuple[str, ...]]
    paired: bool = False
    sides: tuple[str, ...] = ()
    find_sides: Callable[[Case, Numbers], Array] | None = None
    only: Values | None = None


def _beside_0(case: Case, numbers: Numbers) -> Array:
    del numbers
    data = _finite(case)
    return np.where(data[data != 0] > 0, 1, 0)


def _beside_a_threshold(case: Case, numbers: Numbers) -> Array:
    (threshold,) = numbers["alpha"]
    return np.where(_finite(case) > threshold, 1, 0)


def _beside_lambd(case: Case, numbers: Numbers) -> Array:
    (lambd,) = numbers["lambd"]
    data = _finite(case)
    return np.select([data < -lambd, data > lambd], [0, 2], 1)


def _beside_the_line(case: Case, numbers: Numbers) -> Array:
    ((alpha,), (beta,)) = (numbers["alpha"], numbers["beta"])
    on_the_line = alpha * _finite(case) + beta
    return np.select([on_the_line <= 0, on_the_line >= 1], [0, 2], 1)


def _beside_epsilon(case: Case, numbers: Numbers) -> Array:
    (epsilon,) = numbers["epsilon"]
    spread = _spread(case)
    return np.where(spread[np.isfinite(spread)] > epsilon, 1, 0)


def _finite(case: Case) -> Array:
    """Return the finite numbers of the first input, as float64."""
    data = materialize(case.inputs[0]).reshape(-1).astype(np.float64)
    return data[np.isfinite(data)]


def _spread(case: Case) -> Array:
    """Return what epsilon is added to: variances, or mean squares of RMSNormalization."""
    if case.op.name == "BatchNormalization":
        return materialize(case.inputs[4]).astype(np.float64)
    data = materialize(case.inputs[0]).astype(np.float64)
    if not data.size:
        return np.zeros(0)
    rows = data.reshape(_rows(case, data.shape), -1)
    with np.errstate(invalid="ignore", over="ignore"):
        if case.op.name == "RMSNormalization":
            return np.asarray((rows**2).mean(1))
        return np.asarray(rows.var(1))


def _rows(case: Case, shape: tuple[int, ...]) -> int:
    """Return how many parts of the data are normalized, each by itself."""
    if case.op.name == "InstanceNormalization":
        return prod(shape[:2])
    if case.op.name == "GroupNormalization":
        return shape[0] * int(np.asarray(case.attrs["num_groups"]))
    axis = integer_attribute(case, "axis", -1)
    return prod(shape[: axis % len(shape)])


_AROUND_0 = ("data below 0", "data above 0")


def _of_a_unit(*names: str) -> Coefficients:
    return Coefficients(
        sorts=dict.fromkeys(names, _SORTS),
        paired=len(names) > 1,
        sides=_AROUND_0,
        find_sides=_beside_0,
    )


def _of_a_normalization(measure: str, only: Values | None = None) -> Coefficients:
    return Coefficients(
        sorts={"epsilon": _NOT_NEGATIVE},
        sides=(f"{measure} up to epsilon", f"{measure} above epsilon"),
        find_sides=_beside_epsilon,
        only=only,
    )


#: By operator; an operator has several where not all of its attributes count in the same cases.
_OF: Mapping[str, tuple[Coefficients, ...]] = {
    "Attention": (Coefficients({"scale": _SORTS, "softcap": _NOT_NEGATIVE}),),
    "BatchNormalization": (
        _of_a_normalization("variance", only={"training_mode": (0,)}),
        Coefficients({"momentum": _SORTS}, only={"training_mode": (1,)}),
    ),
    "Celu": (
        Coefficients(
            sorts={"alpha": ("negative", *_POSITIVE)}, sides=_AROUND_0, find_sides=_beside_0
        ),
    ),
    "Elu": (_of_a_unit("alpha"),),
    "GRU": (Coefficients({"clip": _POSITIVE}),),
    "Gemm": (Coefficients({"alpha": _SORTS, "beta": _SORTS}, paired=True),),
    "GroupNormalization": (_of_a_normalization("variance"),),
    "HardSigmoid": (
        Coefficients(
            sorts={"alpha": _SORTS, "beta": _SORTS},
            paired=True,
            sides=("data cut off at 0", "data on the line", "data cut off at 1"),
            find_sides=_beside_the_line,
        ),
    ),
    "InstanceNormalization": (_of_a_normalization("variance"),),
    "LRN": (Coefficients({"alpha": _SORTS, "beta": _SORTS, "bias": _SORTS}),),
    "LSTM": (Coefficients({"clip": _POSITIVE}),),
    "LayerNormalization": (_of_a_normalization("variance"),),
    "LeakyRelu": (_of_a_unit("alpha"),),
    "LinearAttention": (Coefficients({"scale": _SORTS}),),
    "MaxRoiPool": (Coefficients({"spatial_scale": _POSITIVE}),),
    "RMSNormalization": (_of_a_normalization("mean square"),),
    "RNN": (
        Coefficients({"clip": _POSITIVE}),
        *(
            Coefficients(sorts=dict.fromkeys(names, _SORTS), only={"activations": (activation,)})
            for activation, names in {
                "Affine": ("activation_alpha", "activation_beta"),
                "Elu": ("activation_alpha",),
                "HardSigmoid": ("activation_alpha", "activation_beta"),
                "LeakyRelu": ("activation_alpha",),
                "ScaledTanh": ("activation_alpha", "activation_beta"),
                "ThresholdedRelu": ("activation_alpha",),
            }.items()
        ),
    ),
    "Resize": (
        Coefficients({"cubic_coeff_a": _SORTS}, only={"mode": ("cubic",)}),
        Coefficients(
            {"extrapolation_value": _SORTS},
            only={"coordinate_transformation_mode": ("tf_crop_and_resize",)},
        ),
    ),
    "RoiAlign": (Coefficients({"spatial_scale": _POSITIVE}),),
    "Selu": (_of_a_unit("alpha", "gamma"),),
    "Shrink": (
        Coefficients(
            sorts={"lambd": _SORTS, "bias": _SORTS},
            paired=True,
            sides=("data below -lambd", "data between", "data above lambd"),
            find_sides=_beside_lambd,
        ),
    ),
    "SwiGLU": (_of_a_unit("alpha"),),
    "Swish": (_of_a_unit("alpha"),),
    "TfIdfVectorizer": (Coefficients({"weights": _SORTS}, only={"mode": ("IDF", "TFIDF")}),),
    "ThresholdedRelu": (
        Coefficients(
            sorts={"alpha": _SORTS},
            sides=("data up to the threshold", "data above the threshold"),
            find_sides=_beside_a_threshold,
        ),
    ),
}


def situations(schema: Schema) -> Iterator[str]:
    """Yield the situations of an operator with numbers that scale or limit."""
    if schema.op.domain or schema.deprecated:
        return
    for coefficients in _OF.get(schema.op.name, ()):
        label = _label(coefficients)
        places = coefficients.sides or ("",)
        for name, sorts in coefficients.sorts.items():
            yield from (
                _situation(label, _is(name, sort), side) for sort, side in product(sorts, places)
            )
        if coefficients.paired:
            (first, its), (second, others) = coefficients.sorts.items()
            pairs = product(its, others)
            yield from (f"{_is(first, one)}, {_is(second, other)}" for one, other in pairs)


def found_in(case: Case) -> Iterator[str]:
    """Yield the situations that the coefficients of a case are in."""
    schema = newest_schema(case.op.name)
    if schema is None or not case.inputs:
        return
    for coefficients in _OF.get(case.op.name, ()):
        if _counts(coefficients, case, schema):
            yield from _found(coefficients, case, schema)


def _found(coefficients: Coefficients, case: Case, schema: Schema) -> Iterator[str]:
    label = _label(coefficients)
    numbers = {name: _numbers(case, schema, name) for name in coefficients.sorts}
    places: tuple[str, ...] = ("",)
    if coefficients.find_sides:
        found = np.unique(coefficients.find_sides(case, numbers)).tolist()
        places = tuple(coefficients.sides[place] for place in found)
    for name, values in numbers.items():
        sorts = dict.fromkeys(map(_sort, values))
        yield from (
            _situation(label, _is(name, sort), side) for sort, side in product(sorts, places)
        )
    if coefficients.paired:
        yield ", ".join(_is(name, _sort(value)) for name, (value,) in numbers.items())


def _counts(coefficients: Coefficients, case: Case, schema: Schema) -> bool:
    """Return True if the attributes of a case have values for which the coefficients count."""
    only = coefficients.only or {}
    return all(_value(case, schema, name) in values for name, values in only.items())


def _value(case: Case, schema: Schema, name: str) -> object:
    """Return an attribute of a case, or its default; of a list of equal values that value."""
    value = attribute_of(case, schema, name)
    if isinstance(value, tuple) and len({*value}) == 1:
        return value[0]
    return value


def _numbers(case: Case, schema: Schema, name: str) -> tuple[float, ...]:
    value = attribute_of(case, schema, name)
    return () if value is None else tuple(np.asarray(value, np.float64).reshape(-1).tolist())


def _sort(number: float) -> str:
    if number < 0:
        return "negative"
    if number in (0, 1):
        return str(int(number))
    return "a fraction" if number < 1 else "above 1"


def _is(name: str, sort: str) -> str:
    return f"{name} {sort}"


def _label(coefficients: Coefficients) -> str:
    """Return the activation that the coefficients are those of, if they are."""
    (activation,) = (coefficients.only or {}).get("activations", ("",))
    return str(activation)


def _situation(*words: str) -> str:
    return ", ".join(filter(None, words))


_ARGUED = (
    *(
        Argument(op, f"epsilon 0, {measure} up to epsilon", "The text does not say what 0/0 gives.")
        for op, measure in {
            "BatchNormalization": "variance",
            "GroupNormalization": "variance",
            "InstanceNormalization": "variance",
            "LayerNormalization": "variance",
            "RMSNormalization": "mean square",
        }.items()
    ),
    Argument("Shrink", "lambd negative, data between", "Nothing is between -lambd and lambd."),
)

FAMILY = Family(
    name="coefficients",
    situations=situations,
    found_in=found_in,
    left_out=_LEFT_OUT,
    argued=_ARGUED,
)
