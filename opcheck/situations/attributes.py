"""Flags and words in attributes: each value, each pair of values of two, and sizes of blocks.

A flag is 0 or 1, and a word one of those that the operator's text lists. A kernel is often written
for one pair of them at a time, such as an exclusive sum in reverse, and again for an axis of one
element, where nothing is left to sum.
"""

from collections.abc import Iterator, Mapping
from itertools import combinations, product
from typing import TypeAlias

import numpy as np

from opcheck.model import Case
from opcheck.opset import Schema
from opcheck.situations.axes import stated_axes
from opcheck.situations.family import Argument, Family, newest_schema
from opcheck.situations.stated import attribute_of

_LEFT_OUT = (
    "Three attributes at once. Attributes that are types, numbers or texts of any value. Flags "
    "and words of operators that draw at random. `fmod` of Mod and `direction` of BitShift, which "
    "`integers` asks for."
)

Choice: TypeAlias = int | str

#: Attributes that are 0 or 1, whatever the operator.
_FLAGS = frozenset(
    {
        *("align_corners", "allowzero", "antialias", "ceil_mode", "center_point_box"),
        *("count_include_pad", "detect_negative", "detect_positive", "exclude_outside"),
        *("exclusive", "input_forget", "interleaved", "inverse", "is_case_sensitive", "is_causal"),
        *("keepdims", "largest", "layout", "linear_before_reset", "new_axis"),
        *("noop_with_empty_axes", "onesided", "periodic", "reverse", "saturate"),
        *("select_last_index", "sorted", "storage_order", "training_mode", "transA", "transB"),
        "upper",
    }
)
_DIRECTIONS = ("forward", "reverse", "bidirectional")
_REDUCTIONS = ("none", "add", "mul", "max", "min")
_LOSSES = ("none", "sum", "mean")
_PADDING = ("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID")
#: Words, and numbers of a short list, by operator and attribute.
_LISTED: Mapping[str, Mapping[str, tuple[Choice, ...]]] = {
    "Attention": {"qk_matmul_output_mode": (0, 1, 2, 3)},
    "AveragePool": {"auto_pad": _PADDING},
    "CausalConvWithState": {"activation": ("none", "silu", "swish")},
    "Conv": {"auto_pad": _PADDING},
    "ConvTranspose": {"auto_pad": _PADDING},
    "DepthToSpace": {"mode": ("DCR", "CRD")},
    "GRU": {"direction": _DIRECTIONS},
    "Gelu": {"approximate": ("none", "tanh")},
    "GridSample": {
        "mode": ("linear", "nearest", "cubic"),
        "padding_mode": ("zeros", "border", "reflection"),
    },
    "LSTM": {"direction": _DIRECTIONS},
    "LinearAttention": {"update_rule": ("linear", "gated", "delta", "gated_delta")},
    "LpNormalization": {"p": (1, 2)},
    "LpPool": {"auto_pad": _PADDING, "p": (1, 2)},
    "MaxPool": {"auto_pad": _PADDING},
    "NegativeLogLikelihoodLoss": {"reduction": _LOSSES},
    "Pad": {"mode": ("constant", "reflect", "edge", "wrap")},
    "RNN": {"direction": _DIRECTIONS},
    "Resize": {
        "coordinate_transformation_mode": (
            *("half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners"),
            *("asymmetric", "tf_crop_and_resize"),
        ),
        "keep_aspect_ratio_policy": ("stretch", "not_larger", "not_smaller"),
        "mode": ("nearest", "linear", "cubic"),
        "nearest_mode": ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"),
    },
    "RoiAlign": {
        "coordinate_transformation_mode": ("half_pixel", "output_half_pixel"),
        "mode": ("avg", "max"),
    },
    "ScatterElements": {"reduction": _REDUCTIONS},
    "ScatterND": {"reduction": _REDUCTIONS},
    "SoftmaxCrossEntropyLoss": {"reduction": _LOSSES},
    "SpaceToDepth": {"mode": ("DCR", "CRD")},
    "StringNormalizer": {"case_change_action": ("NONE", "LOWER", "UPPER")},
    "TensorScatter": {"mode": ("linear", "circular")},
    "TfIdfVectorizer": {"mode": ("TF", "IDF", "TFIDF")},
}
#: Operators that run along one axis.
_ALONG_AN_AXIS = frozenset(
    {"ArgMax", "ArgMin", "CumProd", "CumSum", "LpNormalization", "TopK", "Unique"}
)
_LENGTHS = ("an axis of one element", "an axis of several elements")
_BLOCKS = frozenset({"DepthToSpace", "SpaceToDepth"})
_SIZES = ("as many channels as a block is long", "more channels", "fewer channels")


def situations(schema: Schema) -> Iterator[str]:
    """Yield the situations of an operator with attributes that are flags or words."""
    if schema.op.domain or schema.deprecated:
        return
    choices = _choices(schema)
    for name, values in choices.items():
        if not schema.attributes[name].required:
            yield f"{name} left out"
        yield from (_pair(name, value) for value in values)
    for (first, its), (second, others) in combinations(choices.items(), 2):
        yield from (f"{_pair(first, a)}, {_pair(second, b)}" for a, b in product(its, others))
    yield from (
        f"{values}, {place}" for values, place in product(_all(choices), _places(schema.op.name))
    )


def found_in(case: Case) -> Iterator[str]:
    """Yield the situations that the attributes of a case are in."""
    schema = newest_schema(case.op.name)
    if schema is None:
        return
    choices = _choices(schema)
    stated = [name for name in choices if name in case.attrs]
    yield from (f"{name} left out" for name in choices if name not in stated)
    yield from (_pair(name, case.attrs[name]) for name in stated)
    taken = {name: attribute_of(case, schema, name) for name in choices}
    for first, second in combinations(choices, 2):
        yield f"{_pair(first, taken[first])}, {_pair(second, taken[second])}"
    values = ", ".join(_pair(name, value) for name, value in taken.items())
    yield from (f"{values}, {place}" for place in _places_in(case, schema))


def _choices(schema: Schema) -> dict[str, tuple[Choice, ...]]:
    """Return the values of each attribute that is a flag or a word."""
    listed = _LISTED.get(schema.op.name, {})
    return {
        name: listed.get(name, (0, 1))
        for name in schema.attributes
        if name in listed or name in _FLAGS
    }


def _pair(name: str, value: object) -> str:
    return f"{name}={value}"


def _all(choices: Mapping[str, tuple[Choice, ...]]) -> Iterator[str]:
    """Yield each combination of values of all attributes."""
    for values in product(*choices.values()):
        yield ", ".join(_pair(name, value) for name, value in zip(choices, values, strict=True))


def _places(op: str) -> tuple[str, ...]:
    """Return what the data of an operator may be, which every combination of values is asked of."""
    if op in _ALONG_AN_AXIS:
        return _LENGTHS
    return _SIZES if op in _BLOCKS else ()


def _places_in(case: Case, schema: Schema) -> Iterator[str]:
    if case.op.name in _BLOCKS:
        yield _SIZES[_channels_and_block(case)]
    length = _length(case, schema)
    if length:
        yield _LENGTHS[length > 1]


def _channels_and_block(case: Case) -> int:
    """Return the place in _SIZES of a rearrangement of depth and space."""
    block = int(np.asarray(case.attrs["blocksize"]))
    channels = case.inputs[0].shape[1]
    if case.op.name == "DepthToSpace":
        channels //= block**2
    return int(np.sign(channels - block))


def _length(case: Case, schema: Schema) -> int:
    """Return the number of elements along the axis that a case runs along, 0 without an axis."""
    if case.op.name not in _ALONG_AN_AXIS or not case.inputs:
        return 0
    shape = case.inputs[0].shape
    axes = stated_axes(case, schema)
    if len(axes) != 1 or not -len(shape) <= axes[0] < len(shape):
        return 0
    return shape[axes[0]]


_ARGUED = (
    Argument(
        op="LSTM",
        pattern="*input_forget=1*",
        why="The text does not say which gate is 1 less the other one, so every case is open.",
    ),
)

FAMILY = Family(
    name="attributes",
    situations=situations,
    found_in=found_in,
    left_out=_LEFT_OUT,
    argued=_ARGUED,
)
