"""Small models whose answers are worked out by hand, one for each defect that is published.

Nothing here comes from opcheck: attributes and data stand as they go into the model, and `why` is
the arithmetic, or the sentence of the specification that forbids the model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import inf, nan
from typing import Any, Literal, TypeAlias

import ml_dtypes
import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]

_LOWEST = -3.4028234663852886e38


class Graph(str):
    """A graph that is an attribute, as text in ONNX's syntax."""


@dataclass(frozen=True)
class Model:
    """A model of one node, with its input: fed, or a constant stored in one of three ways.

    Of a model that has `nothing` for an input, `x` is of the output's dtype.
    `more` are further inputs, which are fed, or `constant`; None is left out. Of several outputs it
    has the one at `output` alone, which is of the input's dtype, or of the one that `gives` names;
    the node has as many more as `after` says. With `earlier` it is asked three times, the second
    time with these in place of `more`. As many inputs as `sequence` says are put into one, which
    the node takes first; operators of optionals take an optional of one or none. Of a sequence that
    it gives there is the tensor at `item`, or its length, and of an optional, if it has an element.
    The last of `more`, as many as `around` says, are no inputs of the node: its graphs use them.
    The node is of `domain`, ONNX's own unless stated.
    """

    op: str
    opset: int
    attrs: dict[str, Any]
    x: Array
    stored: Literal["fed", "raw_data", "int32_data", "string_data", "nothing"] = "fed"
    more: tuple[Any, ...] = ()
    output: int = 0
    after: int = 0
    gives: str = ""
    constant: bool = False
    earlier: tuple[Any, ...] = ()
    sequence: int | None = None
    item: int | Literal["", "length"] = ""
    around: int = 0
    domain: str = ""


@dataclass(frozen=True)
class Gives:
    """This wrong answer shows the defect, in the output's dtype or in another one."""

    answer: npt.ArrayLike
    dtype: str = ""


@dataclass(frozen=True)
class Leftovers:
    """Whatever the memory holds shows the defect: any wrong answer of this shape."""

    shape: tuple[int, ...]


@dataclass(frozen=True)
class Holds:
    """What `text` says of an answer shows the defect, where what is right is drawn at random."""

    text: str
    test: Callable[[Array], Any]


@dataclass(frozen=True)
class Raises:
    """An exception with these words shows the defect."""

    words: str


@dataclass(frozen=True)
class Declares(Raises):
    """An answer of another shape than the session declared, in these words, shows the defect."""


@dataclass(frozen=True)
class Dies:
    """The death of the process shows the defect, with these words on standard error."""

    words: str


@dataclass(frozen=True)
class Check:
    """A model, what must come of it, and what comes where the defect is.

    `cause` begins the ledger's sentence on the defect. `wants` are the right answers; where there
    is none, the model must be refused. The engine is first asked a `control`, a model like this
    one that the defect is not about, and has to answer as `control_wants` says. Answers are equal
    within `rtol`. With `sometimes`, the defect is not on every CPU. With `last`, the model does to
    the process what may kill it later, so that no other is asked there.
    """

    engine: str
    cause: str
    model: Model
    wants: Sequence[npt.ArrayLike]
    shows: Gives | Leftovers | Holds | Raises | Dies
    why: str
    control: Model
    control_wants: npt.ArrayLike
    rtol: float = 1e-3
    sometimes: bool = False
    last: bool = False


def _x(*values: Any, dtype: Any = np.float32) -> Array:
    """Values as a tensor of one image with one channel, in one dimension."""
    return np.array([[values]], dtype)


def _row(*values: Any, dtype: Any = np.float32) -> Array:
    return np.array([values], dtype)


def _pool(*values: float) -> Array:
    return np.array([[values]])


def _with(model: Model, **attrs: Any) -> Model:
    """The model with other attributes."""
    return replace(model, attrs={**model.attrs, **attrs})


_R2, _R5 = 2**0.5, 5**0.5
_FIVE, _SIX = _x(1, 2, 4, 8, 16), _x(1, 2, 4, 8, 16, 32)
_VECTOR = np.array([1, 4, 2], np.float32)
_IMAGE = np.ones((1, 1, 2, 3), np.float32)
#: The mean is 4 and the variance 5, so the deviations -3, -1, 1, 3 are divided by 3.
_ODD = Model(
    "LayerNormalization", 17, {"epsilon": 4.0}, _row(1, 3, 5, 7), more=(_row(3, 3, 6, 3)[0],)
)
#: The place of the largest element, which is 4 in the middle.
_LARGEST = Model("TopK", 11, {"axis": 0}, _VECTOR, more=(np.array([1]),), output=1, gives="int64")
_FOUR = _x(1, 2, 4, 8)
_PAIR = np.array([1, 2], np.float32)
_SQUARE = np.array([[1, 2], [3, 4]], np.float32)
_COLUMN = _PAIR.reshape(1, 2, 1)
_OF_THREE_AXES = "without the first axis and the last, of a [1, 2, 1] there remains [2]"
_NO_ABORT = "a model that is wrong ends in an error, not in an abort"
_ONE_TO_FOUR = np.array([1, 2, 3, 4], np.float32)
#: Two parts, of which the second is asked for.
_SPLIT_18 = Model(
    "Split", 18, {"num_outputs": 3}, np.array([1, 2, 3, 4, 5, 6], np.float32), output=1
)
_ROW_OF_ODD = _row(1, 3, 5, 7)
_3 = np.full(4, 3, np.float32)


# ── defects that two engines have ─────────────────────────────────────────────────────────────


def _rescaled(engine: str) -> Check:
    attrs = {"kernel_shape": [3], "strides": [2], "ceil_mode": 1}
    model = Model("LpPool", 18, attrs, _x(*range(1, 7)))
    return Check(
        engine,
        "The norm is computed as",
        model,
        [_pool(14**0.5, 50**0.5, 61**0.5)],
        Gives(_pool(14**0.5, 50**0.5, (3 * 61 / 2) ** 0.5)),
        "the windows are [1, 2, 3], [3, 4, 5] and [5, 6]; the last has √(25 + 36) = 7.81",
        _with(model, ceil_mode=0),
        _pool(14**0.5, 50**0.5),
    )


def _lowest(engine: str, cause: str, model: Model) -> Check:
    why, control = "the maximum of -inf and -inf is -inf", replace(model, x=_x(-inf, 1))
    shows = Gives(_pool(_LOWEST))
    return Check(engine, cause, model, [_pool(-inf)], shows, why, control, _pool(1))


def _ignored(engine: str) -> Check:
    model = Model("Hardmax", 13, {"scale": 2.0}, _row(1, 3, 2))
    return Check(
        engine,
        "An attribute that no",
        model,
        [],
        Gives([[0, 1, 0]]),
        "Hardmax has one attribute, axis",
        replace(model, attrs={}),
        [[0, 1, 0]],
    )


def _beyond(engine: str, shows: Gives | Raises) -> Check:
    """A padding that is computed as below 0, and must be 0."""
    attrs = {"kernel_shape": [2], "strides": [6], "auto_pad": "SAME_LOWER", "p": 1}
    model = Model("LpPool", 18, attrs, _x(*(2.0**n for n in range(11))))
    return Check(
        engine,
        "The padding of SAME_UPPER and SAME_LOWER is not clamped",
        model,
        [_pool(3, 192)],
        shows,
        "⌈11 / 6⌉ = 2 windows need 6 + 2 = 8 of 11 elements, so no padding: "
        "1 + 2 = 3, 64 + 128 = 192",
        _with(model, strides=[2]),
        _pool(1, 6, 24, 96, 384, 1536),
    )


def _dilated(engine: str, *wrong: float) -> Check:
    attrs = {"kernel_shape": [2], "dilations": [3], "auto_pad": "SAME_UPPER", "p": 1}
    model = Model("LpPool", 18, attrs, _FIVE)
    return Check(
        engine,
        "SAME_UPPER and SAME_LOWER pad for",
        model,
        [_pool(4, 9, 18, 4, 8)],
        Gives(_pool(*wrong)),
        "5 windows span 4 elements each, so 3 are padded, 1 of them before: "
        "x[i - 1] + x[i + 2] are 4, 1 + 8, 2 + 16, 4 and 8",
        _with(model, dilations=[1]),
        _pool(3, 6, 12, 24, 16),
    )


def _default_of_concat(engine: str, words: str) -> Check:
    model = Model("Concat", 1, {}, _row(1, 2), more=(_row(3),))
    return Check(
        engine,
        "Concat-1 without an axis",
        model,
        [[[1, 2, 3]]],
        Raises(words),
        "“Default value is 1.”",
        _with(model, axis=1),
        [[1, 2, 3]],
    )


def _stage_two(engine: str, cause: str) -> Check:
    b = np.array([1 / 3, 1 / 3])
    model = Model("LayerNormalization", 17, {}, _row(2, 2, dtype=float), more=(np.ones(2), b))
    return Check(
        engine,
        cause,
        model,
        [[[1 / 3, 1 / 3]]],
        Gives([[float(np.float32(1 / 3))] * 2]),
        "both are the mean, which gives 0, and 0 + 1/3 is 1/3 in the type of X",
        replace(model, more=(np.ones(2), b * 1.5)),
        [[0.5, 0.5]],
        rtol=1e-12,
    )


def _pads_beside_auto_pad(engine: str, cause: str, *wrong: float) -> Check:
    pair = _x(1, 1)
    model = Model("Conv", 11, {"auto_pad": "SAME_UPPER", "pads": [1, 0]}, _FOUR, more=(pair,))
    return Check(
        engine,
        cause,
        model,
        [],
        Gives(_pool(*wrong)),
        "“This attribute cannot be used simultaneously with auto_pad attribute.”",
        replace(model, attrs={"auto_pad": "SAME_UPPER"}),
        _pool(3, 6, 12, 8),
    )


def _axis_beyond(engine: str) -> Check:
    model = Model("LayerNormalization", 17, {"axis": 1}, _PAIR, more=(_PAIR[:1],))
    return Check(
        engine,
        "LayerNormalization accepts an axis",
        model,
        [],
        Gives([0, 0]),
        "a vector has the axes -1 and 0",
        _with(model, axis=0),
        [-1, 1],
    )


def _stash(engine: str, number: int, wrong: list[float]) -> Check:
    model = Model(
        "LayerNormalization", 17, {"stash_type": number, "epsilon": 4.0}, _ROW_OF_ODD, more=(_3,)
    )
    return Check(
        engine,
        "LayerNormalization takes a stash_type",
        model,
        [],
        Gives([wrong]),
        "Mean and InvStdDev are float (1) or bfloat16 (16)",
        _with(model, stash_type=1),
        [[-3, -1, 1, 3]],
    )


def _gelu_of_infinity(engine: str, cause: str) -> Check:
    model = Model("Gelu", 20, {}, np.array([inf, 0], np.float32))
    return Check(
        engine,
        cause,
        model,
        [[inf, 0]],
        Gives([nan, 0]),
        "erf(inf) is 1, and 0.5 · inf · (1 + 1) is inf",
        replace(model, x=np.array([30, 0], np.float32)),
        [30, 0],
        sometimes=True,
    )


def _cast_by_a_word(engine: str, words: str) -> Check:
    model = Model("Cast", 1, {"to": "INT32"}, np.array([1.5], np.float32), gives="int32")
    return Check(
        engine,
        "Cast-1 is refused",
        model,
        [[1]],
        Raises(words),
        "in version 1, to is a string",
        replace(model, opset=6, attrs={"to": 6}),
        [1],
    )


def _float32_constants(engine: str, words: str) -> Check:
    model = Model("MeanVarianceNormalization", 13, {"axes": [1]}, _row(1, 3, dtype=float))
    return Check(
        engine,
        "MeanVarianceNormalization of another type",
        model,
        [[[-1, 1]]],
        Raises(words),
        "“tensor(double)” is among T; the mean is 2, and the root of the variance 1",
        replace(model, x=_row(1, 3)),
        [[-1, 1]],
    )


_RESPONSE = Model("LRN", 13, {"size": 1, "alpha": 1.0, "beta": 1.0}, _PAIR.reshape(1, 2, 1, 1))


def _images_alone(engine: str, words: str) -> Check:
    image = replace(_RESPONSE, x=_RESPONSE.x[:, :1])
    flat, why = replace(image, x=image.x[0]), "“(N x C x D1 x D2 ... Dn)”, and 1 / (1 + 1) is 0.5"
    shows = Raises(words)
    return Check(
        engine, "LRN takes images alone", flat, [[[[0.5]]]], shows, why, image, [[[[0.5]]]]
    )


def _indices(engine: str, cause: str, dtype: Any) -> Check:
    model = Model("Gather", 13, {"axis": 0}, _PAIR, more=(np.array([1], dtype),))
    return Check(
        engine,
        cause,
        model,
        [],
        Gives([2]),
        "“Constrain indices to integer types”, which are int32 and int64",
        replace(model, more=(np.array([1]),)),
        [2],
    )


def _group_norm(engine: str) -> Iterator[Check]:
    """Mean 4 and variance 5: an epsilon of 4 makes the deviations -3, -1, 1, 3 thirds."""
    attrs = {"num_groups": 1, "epsilon": 4.0}
    more = np.array([3, 6], np.float32), np.zeros(2, np.float32)
    right = Model("GroupNormalization", 21, attrs, _ROW_OF_ODD.reshape(1, 2, 2), more=more)
    answer = [[[-3, -1], [2, 6]]]
    yield Check(
        engine,
        "GroupNormalization's scale and bias",
        replace(right, more=(_3[:1], more[1])),
        [],
        Gives([[[-3, -1], [1, 3]]]),
        "“Scale tensor of shape (C)”, and there are two channels",
        right,
        answer,
    )


_EQUAL_BATCHES = (
    "“The first `b` dimensions of the shape of `indices` tensor and `data` tensor must be equal.”"
)
_OUT = "“It is an error if any of the index values are out of bounds.”"


def _gathered(x: Array, *indices: Any, op: str = "GatherElements", **attrs: int) -> Model:
    return Model(op, 13, attrs, x, more=(np.array(indices, np.int64),))


def _fewer(engine: str, cause: str, words: str) -> Check:
    return Check(
        engine,
        cause,
        _gathered(_SQUARE, [1]),
        [[[3]]],
        Raises(words),
        "out[0][0] = input[index[0][0]][0] = input[1][0]",
        _gathered(_SQUARE, [1, 0]),
        [[3, 2]],
    )


def _every_axis(engine: str, answer: Any) -> Check:
    control = _gathered(_SQUARE[:, None], [0], [0], op="GatherND", batch_dims=1)
    return Check(
        engine,
        "GatherND takes as many batch_dims",
        _with(control, batch_dims=2),
        [],
        Gives(answer),
        "“b < min(q, r) is to be honored.”, and the indices have two axes",
        control,
        _SQUARE,
    )


def _no_index(engine: str, shows: Gives | Leftovers) -> Check:
    return Check(
        engine,
        "GatherND takes tuples without",
        _gathered(_PAIR, [], op="GatherND"),
        [],
        shows,
        "“The `indices_shape[-1]` should have a value between 1 (inclusive) and rank `r-b`”",
        _gathered(_PAIR, [1], op="GatherND"),
        [2],
    )


def _expand(
    engine: str, cause: str, shape: Any, wants: Sequence[Any], shows: Leftovers | Gives, why: str
) -> Check:
    model = Model("Expand", 13, {}, _row(1, 2), more=(np.array(shape, np.int64),))
    control = replace(model, more=(np.array([2, 1]),))
    last = isinstance(shows, Leftovers)
    return Check(engine, cause, model, wants, shows, why, control, [[1, 2]] * 2, last=last)


def _gelu(engine: str, unchecked: str, constants: str) -> Iterator[Check]:
    half = Model("Gelu", 20, {"approximate": "erf"}, _PAIR.astype(np.float16))
    yield Check(
        engine,
        unchecked,
        half,
        [],
        Gives([0.8413, 1.9545]),
        "“Gelu approximation algorithm: tanh, none(default)”",
        _with(half, approximate="none"),
        [0.8413, 1.9545],
    )
    yield Check(
        engine,
        constants,
        Model("Gelu", 20, {"approximate": "tanh"}, np.array([-2.0])),
        [[-0.04540230591222494]],
        Gives([-0.04540231015545371]),
        "2 + 0.044715 · 2³ = 2.35772, times √(2/π) is 1.88118839, whose tanh 1 exceeds by that",
        Model("Gelu", 20, {"approximate": "tanh"}, np.array([0.0])),
        [0],
        rtol=1e-12,
    )


def _taken(
    engine: str, cause: str, model: Model, answer: npt.ArrayLike, why: str, control: Model
) -> Check:
    """A model that must be refused, and is answered as its control is."""
    return Check(engine, cause, model, [], Gives(answer), why, control, answer)


def _rounded_to_8_bits(engine: str, cause: str, to: int, kind: str) -> Check:
    above = np.array([1.0625 + 2.0**-40])
    model = Model("Cast", 19, {"to": to}, above, gives=f"float8_e4m3{kind}")
    why = "1.0625 is the middle of 1 and 1.125, and the element is above it: “RNE”"
    control = replace(model, x=np.array([1.125]))
    return Check(engine, cause, model, [[1.125]], Gives([1]), why, control, [1.125])


def _saturate(engine: str) -> Check:
    to = {"to": 6, "saturate": 1}
    model = Model("Cast", 19, to, np.array([1, 2], np.float32), gives="int32")
    of_float = _with(model, saturate=1.0)
    return _taken(engine, "Cast ignores saturate", of_float, [1, 2], "saturate is an INT", model)


def _texts(engine: str) -> Iterator[Check]:
    text = np.array(["16777217.00000000000000000001"], object)
    read = Model("Cast", 13, {"to": 1}, text, gives="float32")
    yield Check(
        engine,
        "Cast reads a text",
        read,
        [[16777218]],
        Gives([16777216]),
        "16777217 is the middle of 16777216 and 16777218, and the text names more",
        replace(read, x=np.array(["16777217.5"], object)),
        [16777218],
        rtol=1e-9,
    )
    written = Model("Cast", 13, {"to": 8}, np.array([1e22]), gives="object")
    yield Check(
        engine,
        "Cast writes large floats",
        written,
        [["1" + 22 * "0" + end] for end in ("", ".", ".0", ".000000")],
        Gives(["1e+22"]),
        "“plain floating-point representation … would be used”, and 1e22 is called scientific",
        replace(written, x=np.array([0.5])),
        ["0.5"],
    )


def _less_along_axis(engine: str) -> Check:
    b = np.array([2, 4], np.float32)
    model = Model("Less", 1, {"broadcast": 1, "axis": 0}, _SQUARE, more=(b,), gives="bool")
    from_the_end = [[True, True], [False, False]]
    return Check(
        engine,
        "Logic and comparisons before version 7 ignore",
        model,
        [[[True, False], [True, False]]],
        Gives(from_the_end),
        "along axis 0, 1 and 2 are compared with 2, and 3 and 4 with 4",
        _with(model, axis=1),
        from_the_end,
    )


def _limited(engine: str) -> Iterator[Check]:
    along_axis = {"broadcast": 1, "axis": 0}
    add = Model("Add", 6, along_axis, _SQUARE, more=(np.array([10, 20], np.float32),))
    cause, wrong, control = "Versions 1 and 6 of Add", [[11, 22], [13, 24]], _with(add, axis=1)
    why = "along axis 0, 10 is added to 1 and 2, and 20 to 3 and 4"
    yield Check(engine, cause, add, [[[11, 12], [23, 24]]], Gives(wrong), why, control, wrong)
    why = "“Attribute `broadcast=1` needs to be passed to enable broadcasting.”"
    yield _taken(engine, cause, replace(add, attrs={}), wrong, why, control)


def _empty(engine: str) -> Check:
    model = Model("ArgMax", 11, {"axis": 1}, np.zeros((0, 3), np.float32), gives="int64")
    why = "“The input tensor must not be empty.”, which version 12 no longer says"
    none = np.zeros((0, 1))
    return _taken(engine, "ArgMax-11", model, none, why, replace(model, opset=12))


def _last_index(engine: str) -> Check:
    model = Model("ArgMax", 11, {"axis": 0, "select_last_index": 1}, _VECTOR[[1, 0, 1]])
    model = replace(model, gives="int64")
    why = "ArgMax-11 has two attributes, axis and keepdims"
    cause = "ArgMax and ArgMin before version 12 take"
    return _taken(engine, cause, model, [2], why, replace(model, opset=12))


def _condition(engine: str) -> Check:
    model = Model("Compress", 11, {"axis": 0}, _PAIR, more=(np.array(True),))
    control = replace(model, more=(np.array([True]),))
    return _taken(engine, "Compress takes a", model, [1], "“Rank 1 tensor of booleans”", control)


def _sequences(engine: str, cause: str) -> Check:
    """The first row and the second change places in the first column, of two elements."""
    model = Model("ReverseSequence", 10, {"batch_axis": -1}, _SQUARE, more=(np.array([2, 1]),))
    why = "batch_axis is “Must be one of 1 (default), or 0.”"
    return _taken(engine, cause, model, [[3, 2], [1, 4]], why, _with(model, batch_axis=1))


def _rank_0(engine: str, cause: str) -> Check:
    model = Model("Compress", 9, {}, np.array(4, np.float32), more=(np.array([True]),))
    why = "input is a “Tensor of rank r >= 1.”"
    return _taken(engine, cause, model, [4], why, replace(model, x=_VECTOR[1:2]))


def _non_zero(engine: str) -> Check:
    model = Model("NonZero", 13, {}, np.array(5, np.float32), gives="int64")
    return Check(
        engine,
        "NonZero takes a scalar",
        model,
        [np.zeros((0, 1))],
        Gives([[0]]),
        "“for scalar input, NonZero produces output shape (0, N) instead of (1, N)”, and N is 1",
        replace(model, x=np.array([0, 5], np.float32)),
        [[1]],
    )


def _column_row_depth(engine: str) -> Check:
    x = np.arange(8, dtype=np.float32).reshape(1, 2, 2, 2)
    model = Model("SpaceToDepth", 28, {"blocksize": 2, "mode": "CRD"}, x)
    by_turns = x.reshape(2, 4).T.reshape(1, 8, 1, 1)
    return Check(
        engine,
        "SpaceToDepth-28 ignores its mode",
        model,
        [x.reshape(1, 8, 1, 1)],
        Gives(by_turns),
        "“column-row-depth (`CRD`)”: 0 to 3 are the first channel's block, and 4 to 7 the second's",
        _with(model, mode="DCR"),
        by_turns,
    )


def _split(engine: str, cause: str, model: Model, shows: Any, why: str = "") -> Check:
    """A Split that must be refused; its like has two halves, and is asked for the second."""
    half = Model("Split", 11, {"split": [2, 2]}, _ONE_TO_FOUR, output=1)
    shown = shows if isinstance(shows, (Raises, Dies)) else Gives(shows)
    return Check(engine, cause, model, [], shown, why, half, [3, 4])


def _split_of(engine: str) -> Iterator[Check]:
    """What several engines do with lengths that do not fit."""
    five = Model("Split", 13, {}, np.array([1, 2, 3, 4, 5], np.float32), output=1)
    equal = "“Otherwise, the tensor is split to equal sized parts.”, which 5 elements do not have"
    yield _split(engine, "Split before version 18", five, [4, 5], equal)
    of_four = Model("Split", 11, {"split": [2, 2, 0]}, _ONE_TO_FOUR, output=1)
    if engine != "tract":
        why = "split has the “length of each output.”, of which there are two"
        yield _split(engine, "Split makes a part", of_four, [3, 4], why)
    else:
        why = "split has the “length of each output.”; a model that is wrong ends in an error"
        dies = Dies("index out of bounds: the len is 2 but the index is 2")
        yield _split(engine, "Split aborts the process where split", of_four, dies, why)
    if engine == "reference":
        why = "“length of each output”: 4 elements have none of 2 and one of 3"
        cause, unequal = "Split does not compare lengths", _with(of_four, split=[2, 3])
        yield _split(engine, cause, unequal, [3, 4], why)
    if engine == "openvino":
        below = _with(of_four, split=[4, -1])
        yield _split(engine, "Split takes a length below 0", below, [], "“Values should be >= 0.”")


def _mod(*divided: float, by: Sequence[float] = (2, 3), opset: int = 13, **attrs: int) -> Model:
    b = np.array(by, np.float32)
    return Model("Mod", opset, attrs, np.array(divided, np.float32), more=(b,))


def _fmod(engine: str) -> Check:
    model, why = _mod(5.5, 7, fmod=2), "fmod “must be `0` (default), or `1`”"
    return _taken(engine, "Mod takes an fmod", model, [1.5, 1], why, _with(model, fmod=1))


_NOT_NEGATIVE = "axes are a “List of non-negative integers”"


def _shaped(op: str, opset: int, x: Array, *axes: int, **attrs: Any) -> Model:
    """A model with its axes or its shape as an attribute, or as an input from version 13 on."""
    if opset < 13:
        return Model(op, opset, {"shape" if op == "Reshape" else "axes": [*axes], **attrs}, x)
    return Model(op, opset, attrs, x, more=(np.array(axes, np.int64),))


def _from_the_back(engine: str) -> Check:
    cause, behind = "Squeeze-1 and Unsqueeze-1 count", _shaped("Unsqueeze", 1, _PAIR, -1)
    control = _shaped("Unsqueeze", 1, _PAIR, 1)
    return _taken(engine, cause, behind, [[1], [2]], _NOT_NEGATIVE, control)


def _squeezed_rank_0(engine: str) -> Check:
    control = _shaped("Squeeze", 11, np.ones(1, np.float32), 0)
    scalar, why = replace(control, x=np.array(1, np.float32)), "a tensor of rank 0 has no axis 0"
    return _taken(engine, "A tensor of rank 0 is accepted", scalar, 1, why, control)


def _no_axes(engine: str, cause: str, opset: int) -> Check:
    none = _shaped("Squeeze", opset, _VECTOR.reshape(1, 3, 1))
    return Check(
        engine,
        cause,
        none,
        [none.x],
        Gives(_VECTOR),
        "“If `axes` is not provided, all the single dimensions will be removed”; a list without an "
        "axis is provided",
        _shaped("Squeeze", opset, none.x, 0, 2),
        _VECTOR,
    )


def _no_list(engine: str, op: str) -> Check:
    model = _shaped(op, 25, _row(1, 2), 0)
    answer = model.x[0] if op == "Squeeze" else model.x[None]
    scalar, cause = replace(model, more=(np.array(0),)), f"{op} takes axes of rank 0"
    return _taken(engine, cause, scalar, answer, "axes are a “1D tensor of integers”", model)


_TURNED = Model("Transpose", 13, {"perm": [1, 0]}, _SQUARE)
_ONCE = "“`perm` must contain each axis index in `[0, n-1]` exactly once”"


def _no_perm(engine: str) -> Check:
    empty = _with(_TURNED, perm=[])
    return _taken(engine, "Transpose takes an empty", empty, [[1, 3], [2, 4]], _ONCE, _TURNED)


def _flatten(engine: str, cause: str, shows: Gives | Raises) -> Check:
    model = Model("Flatten", 13, {"axis": 2}, np.zeros((2, 0, 3), np.float32))
    why = "2 · 0 is 0 rows, of as many elements as axis 2 has, which are 3"
    want, control = np.zeros((0, 3)), _with(model, axis=1)
    return Check(engine, cause, model, [want], shows, why, control, np.zeros((2, 0)))


def _from_the_back_of_flatten(engine: str, cause: str) -> Check:
    model = Model("Flatten", 9, {"axis": -1}, _SQUARE)
    why = "“The value for axis must be in the range [0, R]”"
    return _taken(engine, cause, model, _SQUARE, why, _with(model, axis=1))


# ── each engine ───────────────────────────────────────────────────────────────────────────────


def _constant(opset: int, dtype: Any = np.float32, **attrs: Any) -> Model:
    return Model("Constant", opset, attrs, np.zeros(1, dtype), "nothing")


def _of_shape(value: Any, *sizes: int, opset: int = 9) -> Model:
    """ConstantOfShape of these sizes, of one value in its own type."""
    held = np.array([value])
    return Model("ConstantOfShape", opset, {"value": held}, np.array(sizes), gives=held.dtype.name)


_OF_FLOATS = {"value": _PAIR, "value_floats": [1.0, 2.0]}
_TEXT = np.array(["a"], object)
_EXACTLY_ONE = "“Exactly one of the provided attributes … must be specified.”"
_AT_LEAST_0 = "“All values must be >= 0.”"


def _two_attributes(engine: str, cause: str) -> Check:
    both = _constant(13, **_OF_FLOATS)
    alone = _constant(13, value=_PAIR)
    return Check(engine, cause, both, [], Gives(_PAIR), _EXACTLY_ONE, alone, _PAIR)


def onnxruntime() -> Iterator[Check]:
    """On ONNX Runtime's CPU provider."""
    yield _two_attributes("onnxruntime", "A Constant becomes an initializer")
    yield Check(
        "onnxruntime",
        "ConstantOfShape of a float 8 type",
        _of_shape(ml_dtypes.float8_e4m3fn(3), 2, opset=20),
        [[3, 3]],
        Raises("Unsupported value attribute datatype"),
        "“tensor(float8e4m3fn)” is among T2",
        _of_shape(np.float16(3), 2, opset=20),
        [3, 3],
    )
    half = Model("Hardmax", 1, {"axis": 1}, _row(1, 3, 2, dtype=np.float16))
    yield Check(
        "onnxruntime",
        "A float16 model",
        half,
        [[[0, 1, 0]]],
        Raises("Mismatched attribute type in 'InsertedPrecisionFreeCast_x : to'"),
        "3 is the maximum, and Hardmax-1 takes float16",
        replace(half, opset=7),
        [[0, 1, 0]],
    )
    row = Model("Hardmax", 13, {"axis": 1}, _row(3, nan, 0, 5))
    yield Check(
        "onnxruntime",
        "The vectorised maximum",
        row,
        [[[0, 1, 0, 0]], [[0, 0, 0, 1]], [[0, 0, 0, 0]]],
        Gives([[1, 0, 0, 0]]),
        "the one belongs to NaN, to the maximum of the others or to nobody, but never to 3",
        replace(row, x=_row(3, 4, 0, 5)),
        [[0, 0, 0, 1]],
    )
    ties = Model("Hardmax", 13, {"axis": (1 << 32) + 1}, np.array([[3, 3, 1], [3, 0, 3]], "f4"))
    first = [[1, 0, 0], [1, 0, 0]]
    yield Check(
        "onnxruntime",
        "The range of axis",
        ties,
        [],
        Gives(first),
        "“Accepted range is [-r, r-1]”, and an axis has 64 bits",
        _with(ties, axis=1),
        first,
    )
    yield _beyond("onnxruntime", Gives(_pool(2 + 4, 128 + 256)))
    yield _dilated("onnxruntime", 9, 18, 4)
    short = Model("LpPool", 18, {"kernel_shape": [6], "strides": [2]}, _x(1, 2, 4))
    yield Check(
        "onnxruntime",
        "An output size below 0",
        short,
        [],
        Gives(np.zeros((1, 1, 0))),
        "the size is ⌊(3 - 6) / 2 + 1⌋ = -1, which no tensor has",
        _with(short, kernel_shape=[3]),
        _pool(21**0.5),
    )
    past = {"kernel_shape": [2], "strides": [3], "auto_pad": "SAME_UPPER", "ceil_mode": 1, "p": 1}
    model = Model("LpPool", 18, past, _SIX)
    yield Check(
        "onnxruntime",
        "Of a pool a session declares",
        model,
        [_pool(3, 24)],
        Declares("declared [1, 1, 3], returned [1, 1, 2]"),
        "SAME has ⌈6 / 3⌉ = 2 windows, with or without ceil_mode: 1 + 2 and 8 + 16",
        _with(model, ceil_mode=0),
        _pool(3, 24),
    )
    for cause, wrong, why in (
        ("A stash_type that", {"stash_type": 7}, "Mean is “tensor(float)” or “tensor(bfloat16)”"),
        ("An attribute that no", {"momentum": 0.5}, "LayerNormalization has no momentum"),
    ):
        answer = [[-3, -1, 2, 3]]
        yield Check(
            "onnxruntime", cause, _with(_ODD, **wrong), [], Gives(answer), why, _ODD, answer
        )
    letters = np.array([["a", "b"], ["c", "d"]], object)
    model = Model("Gather", 13, {"axis": 0}, letters, more=(np.array(1),))
    yield Check(
        "onnxruntime",
        "Of each slice of strings",
        model,
        [["c", "d"]],
        Gives(["c", ""]),
        "row 1 is [c, d]",
        replace(model, x=letters[:, 0]),
        "c",
    )
    model = Model("Where", 16, {}, np.array([True]), more=(_VECTOR[:1] * -0.0, _VECTOR[:1]))
    model = replace(model, gives="float32")
    yield Check(
        "onnxruntime",
        "Where takes an element",
        model,
        [[-0.0]],
        Gives([0.0]),
        "“Return elements, either from X or Y”: -0 is the one from X",
        replace(model, more=(_VECTOR[1:2], _VECTOR[:1])),
        [4],
    )
    model = Model("Cast", 13, {"to": 10}, np.array([1 + 2**-11 + 2**-50]), gives="float16")
    yield Check(
        "onnxruntime",
        "What is cast to float16",
        model,
        [[1 + 2**-10]],
        Gives([1]),
        "1 + 2^-11 is the middle of 1 and 1 + 2^-10, and the element is above it",
        replace(model, x=np.array([1 + 2**-10])),
        [1 + 2**-10],
        rtol=1e-6,
    )
    yield _rounded_to_8_bits("onnxruntime", "Nor is a float64 cast to an 8-bit", 18, "fnuz")
    model = Model("Cast", 19, {"to": 10, "saturate": 0}, _VECTOR, gives="float16")
    yield Check(
        "onnxruntime",
        "Cast refuses saturate",
        model,
        [_VECTOR],
        Raises("Attribute saturate is only used for cast to float 8 types"),
        "“It only applies for float 8 conversion”, so it changes nothing here",
        _with(model, saturate=1),
        _VECTOR,
    )
    model = Model("Cast", 13, {"to": 2**32 + 1}, _VECTOR)
    yield Check(
        "onnxruntime",
        "Cast's type is cut",
        model,
        [],
        Gives(_VECTOR),
        "“Strictly must be one of the types from DataType enum in TensorProto”",
        _with(model, to=1),
        _VECTOR,
    )
    text = Model("Cast", 6, {"to": 8}, np.array([7], np.int32), gives="object")
    yield Check(
        "onnxruntime",
        "Cast accepts types",
        text,
        [],
        Gives(["7"]),
        "“Casting to and from strings is not supported yet.”",
        replace(text, attrs={"to": 1}, gives="float32"),
        [7],
    )
    yield from _texts("onnxruntime")
    beyond = Model("Cast", 13, {"to": 11}, np.array(["1e-310"], object), gives="float64")
    yield Check(
        "onnxruntime",
        "Cast refuses a text",
        beyond,
        [[1e-310]],
        Raises("Status Message: stod"),
        "“scientific … representations … to float types is supported”, and float64 has 1e-310",
        replace(beyond, x=np.array(["1e-300"], object)),
        [1e-300],
    )
    model = Model("TopK", 1, {"k": 2**32 + 2, "axis": 0}, _VECTOR, output=1, gives="int64")
    yield Check(
        "onnxruntime",
        "TopK-1's k is",
        model,
        [],
        Gives([1, 2]),
        "the vector has 3 elements",
        _with(model, k=2),
        [1, 2],
    )
    none = replace(_LARGEST, more=(np.array([0]),))
    yield Check(
        "onnxruntime",
        "TopK accepts a K",
        none,
        [],
        Gives(np.zeros(0)),
        "K is “a single positive value”",
        _LARGEST,
        [1],
    )
    yield from _group_norm("onnxruntime")
    yield from _gelu("onnxruntime", "Gelu without a kernel", "Gelu of float64 runs")
    yield _sequences("onnxruntime", "ReverseSequence takes a batch_axis")
    yield _empty("onnxruntime")
    yield _condition("onnxruntime")
    yield _non_zero("onnxruntime")
    yield _rank_0("onnxruntime", "The first versions of ArgMax, ArgMin and Compress")
    yield _split(
        "onnxruntime",
        "Split-18 with more outputs",
        _with(_SPLIT_18, num_outputs=1),
        Dies("Assertion '__n < this->size()' failed"),
        "“Number of outputs to split parts of the tensor into.”, of which the node has two",
    )
    nothing, nd = np.zeros((3, 0), np.float32), "GatherND"
    unseen, control = _gathered(nothing, [3], op=nd), _gathered(nothing, [2], op=nd)
    cause = "GatherND does not look at indices"
    yield _taken("onnxruntime", cause, unseen, np.zeros((1, 0)), _OUT, control)
    yield _no_index("onnxruntime", Gives([[1, 2]]))
    yield _every_axis("onnxruntime", [1, 3])
    several = _gathered(_SQUARE[:1], [0], [1], op=nd, batch_dims=1)
    alone = _gathered(_SQUARE[:1], [1], op=nd, batch_dims=1)
    yield Check(
        "onnxruntime",
        "GatherND takes one batch",
        several,
        [],
        Gives([1, 2]),
        _EQUAL_BATCHES,
        alone,
        [2],
    )
    no_rows = _shaped("Reshape", 14, np.zeros((0, 3), np.float32), 0, -1, allowzero=1)
    why = "“it is invalid for the specified shape to contain both a zero value and -1”"
    control = replace(no_rows, more=(np.array([0, 3]),))
    yield _taken("onnxruntime", "Reshape with allowzero takes", no_rows, no_rows.x, why, control)
    yield _from_the_back("onnxruntime")
    yield _no_axes("onnxruntime", "Squeeze takes an empty list", 13)
    yield Check(
        "onnxruntime",
        "Of Squeeze-1 a session declares",
        _shaped("Squeeze", 1, _COLUMN, 2, 0),
        [_PAIR],
        Declares("declared [1, 2], returned [2]"),
        _OF_THREE_AXES,
        _shaped("Squeeze", 1, _COLUMN, 0, 2),
        _PAIR,
    )
    yield _no_list("onnxruntime", "Unsqueeze")
    eight, bits = ml_dtypes.float8_e5m2, "“bool: +/- 0.0 to False; all else to True.”"
    zero = Model("Cast", 19, {"to": 9}, np.array([-0.0], eight), stored="raw_data", gives="bool")
    control = replace(zero, x=np.array([0], eight))
    cause = "Cast makes a bool of the bits"
    yield Check("onnxruntime", cause, zero, [[False]], Gives([True]), bits, control, [False])
    over = {"to": 19, "saturate": 0}
    edge = Model("Cast", 19, over, np.array([61440], np.float32), gives="float8_e5m2")
    yield Check(
        "onnxruntime",
        "Cast to float8e5m2 without saturation",
        edge,
        [[inf]],
        Gives([nan]),
        "after 57344 comes 65536, and 61440, in the middle, is rounded to that, which is even; "
        "“[x] > FLT_MAX” is Inf",
        replace(edge, x=np.array([57344], np.float32)),
        [57344],
    )
    power = np.ones(1, ml_dtypes.float8_e8m0fnu)
    like = Model("CastLike", 24, {"round_mode": "down"}, _PAIR[:1] * 1.25, more=(power,))
    like = replace(like, gives="float8_e8m0fnu", constant=True)
    yield Check(
        "onnxruntime",
        "CastLike ignores round_mode",
        like,
        [[1]],
        Gives([2]),
        "“`down`: round to nearest value towards zero”, and 1.25 is between 1 and 2",
        _with(like, round_mode="up"),
        [2],
    )
    scalar, no_axes = np.array(4, np.float32), np.zeros(0, np.int64)
    for op, more, words in (
        ("Slice", (np.zeros(1, np.int64), np.ones(1, np.int64)), "Cannot slice scalars"),
        ("Pad", (np.zeros(2, np.int64),), "Input tensor has no dimensions"),
    ):
        of_rank_1 = Model(op, 13, {}, _VECTOR[1:2], more=more)
        of_rank_0 = replace(of_rank_1, x=scalar, more=(no_axes,) * len(more))
        cause, why = "Slice and Pad refuse", "without an axis, 4 remains as it is"
        yield Check(
            "onnxruntime", cause, of_rank_0, [4], Raises(words), why, of_rank_1, _VECTOR[1:2]
        )
    padded = Model("Pad", 13, {"mode": "reflect"}, _row(1.0, 1.2), more=(np.array([0, 2, 0, 0]),))
    yield Check(
        "onnxruntime",
        "Pad by reflection",
        padded,
        [[[1.0, 1.2, 1.0, 1.2]]],
        Raises("Pad reflect: pre-pad (2) exceeds maximum allowed (1) for axis 1"),
        "the text's own example has “[1.0, 1.2, 1.0, 1.2]” for this row and these pads",
        replace(padded, more=(np.array([0, 1, 0, 0]),)),
        [[1.2, 1.0, 1.2]],
    )
    round_about = Model("Pad", 18, {"mode": "wrap"}, _VECTOR, more=(np.array([1, 0]),))
    cause, why = "Pad takes the mode wrap", "“The three supported `modes`”, of which it is none"
    since = replace(round_about, opset=19)
    yield _taken("onnxruntime", cause, round_about, [2, 1, 4, 2], why, since)
    cropped = Model("CenterCropPad", 18, {}, _row(1, 2, 3), more=(np.array([1, 1]),))
    yield Check(
        "onnxruntime",
        "CenterCropPad with a shape of int32",
        replace(cropped, more=(np.array([1, 1], np.int32),)),
        [[[2]]],
        Raises("Type parameter (T) of Optype (Max) bound to different types"),
        "2 is in the middle; “Constrain indices to integer types”",
        cropped,
        [[2]],
    )
    halves = Model("CenterCropPad", 18, {}, power.astype(ml_dtypes.bfloat16), constant=True)
    halves = replace(halves, stored="raw_data", more=(np.array([3]),))
    yield Check(
        "onnxruntime",
        "CenterCropPad of bfloat16",
        halves,
        [[0, 1, 0]],
        Raises("Could not find an implementation for Pad(18)"),
        "the same CenterCropPad-18 is computed at opset 21",
        replace(halves, opset=21),
        [0, 1, 0],
    )
    why = "“1-D tensor representing the cropping window dimensions.”, and there are two"
    above = replace(cropped, x=np.ones((2, 3), np.float32), more=(np.array([2, 2]),))
    fewer = replace(above, more=(np.array([2]),))
    cause = "CenterCropPad takes any shape"
    yield _taken("onnxruntime", cause, fewer, np.ones((2, 2)), why, above)
    counted = Model("Range", 11, {}, np.array(4), more=(np.array(6), np.array(1)))
    vector, why = replace(counted, x=np.array([4])), "start is a “Scalar.”"
    yield _taken("onnxruntime", "Range takes a vector", vector, [4, 5], why, counted)
    update = np.full((1, 1, 1), 5, np.float32)
    cached = Model("TensorScatter", 24, {"mode": "circular"}, _VECTOR.reshape(1, 3, 1))
    cached = replace(cached, more=(update, np.array([-1])))
    yield Check(
        "onnxruntime",
        "A circular TensorScatter",
        cached,
        [[[[1], [4], [5]]]],
        Raises("TensorScatter: write_indices[0] = -1 is negative"),
        "“the write index is modulo max_sequence_length”: -1 modulo 3 is 2",
        replace(cached, more=(update, np.array([2]))),
        [[[1], [4], [5]]],
    )
    hot = Model("OneHot", 11, {}, np.array([1]), more=(np.array(3), np.array([0, 1])))
    yield Check(
        "onnxruntime",
        "OneHot refuses a scalar",
        replace(hot, x=np.array(1)),
        [[0, 1, 0]],
        Raises("Indices tensor must have rank >= 1"),
        "of [0, 1, 2], 1 is the one; “Input tensor containing indices.”, of any rank",
        hot,
        [[0, 1, 0]],
    )
    yield Check(
        "onnxruntime",
        "OneHot refuses a depth of 0",
        replace(hot, more=(np.array(0), hot.more[1])),
        [np.zeros((1, 0))],
        Raises("Depth is negative."),
        "“This is also the size of the one-hot dimension”, which is 0",
        hot,
        [[0, 1, 0]],
    )
    added = Model("ScatterND", 16, {"reduction": "add"}, _PAIR, more=(np.array([[1]]), _PAIR[1:]))
    float16, of_halves = np.float16, "data type is not supported with ScatterND opset 16"
    yield Check(
        "onnxruntime",
        "ScatterElements and ScatterND refuse to add",
        replace(added, x=_PAIR.astype(float16), more=(added.more[0], _PAIR[1:].astype(float16))),
        [[1, 4]],
        Raises(of_halves),
        "2 + 2 = 4; “Constrain input and output types to any tensor type.”",
        added,
        [1, 4],
    )
    other = replace(_with(added, reduction="sub"), more=(added.more[0], _PAIR[:1]))
    cause, why = "ScatterElements and ScatterND take", "“none (default), add, mul”"
    no_reduction = _with(other, reduction="none")
    yield _taken("onnxruntime", cause, other, [1, 1], why, no_reduction)
    unique = Model("Unique", 11, {}, np.array([nan, 1], np.float32))
    yield Check(
        "onnxruntime",
        "Unique takes NaN for equal",
        unique,
        [[nan, 1], [1, nan]],
        Gives([nan]),
        "“contains all unique values”, of which 1 is one",
        replace(unique, x=_PAIR[::-1]),
        [1, 2],
    )
    in_order = Model("Unique", 11, {"sorted": 2}, _VECTOR)
    why = "“Must be one of 0, or 1 (default).”"
    control = _with(in_order, sorted=0)
    yield _taken("onnxruntime", "Unique takes any sorted", in_order, _VECTOR, why, control)
    clipped = Model("Clip", 13, {}, _VECTOR, more=(np.array(2, np.float32),))
    bound, why = (
        replace(clipped, more=(_VECTOR[2:],)),
        "“It must be a scalar(tensor of empty shape).”",
    )
    yield _taken("onnxruntime", "Clip takes a vector", bound, [2, 4, 2], why, clipped)
    halves = replace(clipped, x=_VECTOR.astype(ml_dtypes.bfloat16), stored="raw_data")
    yield Check(
        "onnxruntime",
        "Clip-13 of bfloat16",
        replace(halves, more=(halves.x[2],), constant=True),
        [[2, 4, 2]],
        Raises("Type 'tensor(bfloat16)' of input parameter (x1) of operator (Where)"),
        "1 is raised to 2, and Clip-13 takes bfloat16",
        clipped,
        [2, 4, 2],
    )
    yield from _functions_of_onnxruntime()
    yield from _reduced_by_onnxruntime()
    yield from _multiplied_by_onnxruntime()
    yield from _pooled_by_onnxruntime()
    yield from _normalized_by_onnxruntime()


def _functions_of_onnxruntime() -> Iterator[Check]:
    """Functions of each element, and activations, on ONNX Runtime."""
    cause, sigmoid = "Sigmoid, and Swish with it", Model("Sigmoid", 13, {}, np.full(4, -20, "f4"))
    why, control, half = (
        "1 / (1 + exp({})) = {}",
        replace(sigmoid, x=np.zeros(4, "f4")),
        [0.5] * 4,
    )
    for x, y in ((sigmoid.x, 2.061153618190204e-9), (np.full(4, -40.0), 4.248354255291589e-18)):
        at = replace(sigmoid, x=x)
        one = why.format(int(-x[0]), y)
        yield Check("onnxruntime", cause, at, [[y] * 4], Gives([0] * 4), one, control, half)
        cause, control = "Sigmoid of a float64 x", replace(control, x=np.zeros(4))
    turn = Model("Sin", 22, {}, np.full(4, 3.141592653589793))
    why = "π is 3.141592653589793115997… + {0}, and the sine of π - {0} is {0}"
    yield Check(
        "onnxruntime",
        "Sin and Cos of float64",
        turn,
        [[1.2246467991473532e-16] * 4],
        Gives([0] * 4),
        why.format("1.2246467991473532e-16"),
        replace(turn, x=np.ones(4)),
        [0.8414709848078965] * 4,
        rtol=1e-12,
    )
    hard = Model("HardSwish", 14, {}, np.array([-4.0, 4.0]))
    yield Check(
        "onnxruntime",
        "HardSwish of float64",
        hard,
        [[0, 4]],
        Raises("Could not find an implementation for HardSigmoid(6)"),
        "HardSwish-14 is in force at opsets 14 to 21, and takes float64",
        replace(hard, opset=18),
        [0, 4],
    )
    for x, wrong in (
        (np.array([0.6]), float(np.float32(0.6))),
        (np.array([2**24 + 1], "i4"), 2**24),
    ):
        shrunk = Model("Shrink", 9, {}, x)
        yield Check(
            "onnxruntime",
            "Shrink computes in float32",
            shrunk,
            [x],
            Gives([wrong]),
            "“If x > lambd, y = x - bias”: they are 0.5 and 0, and y is x",
            replace(shrunk, x=x * 0 + 2),
            [2],
            rtol=1e-9,
        )
    celu = Model("Celu", 28, {"alpha": 100000.0}, np.array([-1, 3], np.float16))
    yield Check(
        "onnxruntime",
        "Celu rounds its alpha",
        celu,
        [[-1, 3]],
        Gives([0, 3]),
        "100000 · (exp(-1 / 100000) - 1) = -0.999995",
        _with(celu, alpha=50000.0),
        [-1, 3],
    )


def _reduced_by_onnxruntime() -> Iterator[Check]:
    """Reductions on ONNX Runtime."""
    most = 2**53
    total = Model("ReduceSum", 13, {}, np.array([most + 1, -most]))
    yield Check(
        "onnxruntime",
        "Reductions of int64",
        total,
        [[1]],
        Gives([0]),
        "2^53 + 1 - 2^53 = 1",
        replace(total, x=np.array([most, -most])),
        [0],
    )
    for op, answer in (("ReduceMax", 3), ("ReduceMin", 2)):
        extreme = Model(op, 13, {}, np.array([2, nan, 3], np.float32))
        yield Check(
            "onnxruntime",
            "ReduceMax and ReduceMin lose a NaN",
            extreme,
            [[nan]],
            Gives([answer]),
            "“The above behavior is similar to numpy”, whose largest and smallest are NaN",
            replace(extreme, x=np.array([nan, 2, 3], np.float32)),
            [nan],
        )
        nothing = Model(op, 20, {}, np.zeros(0, bool))
        yield Check(
            "onnxruntime",
            "ReduceMax and ReduceMin refuse booleans",
            nothing,
            [[op == "ReduceMin"]],
            Raises(f"{op} is not defined for empty set with bool type"),
            "“Reduction over an empty set of values yields” the end of the range of the type",
            replace(nothing, x=np.ones(1, bool)),
            [True],
        )
    logarithm = Model("ReduceLogSum", 18, {}, np.array([0, 1], np.uint32))
    yield Check(
        "onnxruntime",
        "ReduceLogSum-18 of uint32",
        logarithm,
        [[0]],
        Raises("Type 'tensor(uint32)' of input parameter (_inlfunc_ReduceLogSum_reduced_sum)"),
        "log(0 + 1) = 0, and ReduceLogSum-18 takes uint32",
        replace(logarithm, x=np.array([0, 1], np.int32)),
        [0],
    )
    vector = Model("ReduceSum", 13, {"keepdims": 0}, _PAIR[1:], more=(np.array([0]),))
    scalar, why = replace(vector, x=np.array(2, np.float32)), "a tensor of rank 0 has no axis 0"
    yield _taken("onnxruntime", "Reductions take any axis", scalar, 2, why, vector)


def _multiplied_by_onnxruntime() -> Iterator[Check]:
    """Products of matrices on ONNX Runtime."""
    a = np.array([[1, 4], [2, 5], [3, 6]], np.float32)
    b = np.array([[1, 0, 1], [10, 1, 0]], np.float32)
    attrs = {"transA": 1, "transB": 1 << 32}
    product = Model("Gemm", 11, attrs, a, more=(b, np.zeros((2, 2), np.float32)))
    yield Check(
        "onnxruntime",
        "ONNX's shape inference cuts Gemm's",
        product,
        [[[4, 12], [10, 45]]],
        Declares("declared [2, 3], returned [2, 2]"),
        "“transposed before doing the computation if attribute transA is non-zero, same for B”",
        _with(product, transB=1),
        [[4, 12], [10, 45]],
    )
    power = Model("Pow", 15, {}, np.array([2**63 - 1]), more=(np.array([1]),))
    yield Check(
        "onnxruntime",
        "Pow of int64",
        power,
        [[2**63 - 1]],
        Gives([-(2**63)]),
        "an int64 to the power of 1 is that int64",
        replace(power, x=np.array([2**53])),
        [2**53],
        rtol=0,
    )
    slope = Model("PRelu", 16, {}, _row(-1, -1), more=(_SQUARE[:1],))
    yield _taken(
        "onnxruntime",
        "PRelu stretches X",
        replace(slope, x=slope.x[0]),
        [[-1, -2]],
        "“tensor slope should be unidirectional broadcastable to input tensor X”",
        slope,
    )
    total = Model("CumSum", 14, {}, np.zeros((0, 2), np.float32), more=(np.array(1),))
    yield _taken(
        "onnxruntime",
        "CumSum and CumProd do not",
        replace(total, more=(np.array(2),)),
        np.zeros((0, 2)),
        "“Must be in the range [-rank(x), rank(x)-1].”",
        total,
    )
    flip = Model("Einsum", 12, {"equation": "ba"}, _SQUARE)
    yield Check(
        "onnxruntime",
        "Einsum without an arrow",
        _with(flip, equation="aB"),
        [_SQUARE.T],
        Raises("The only subscript labels allowed are"),
        "“sorted in increasing order of their ASCII values”: the output is Ba",
        flip,
        _SQUARE.T,
    )
    yield Check(
        "onnxruntime",
        "Einsum never ends",
        _with(flip, equation="..ab"),
        [],
        Dies("exit status -14"),
        "an ellipsis is “three dots”",
        flip,
        _SQUARE.T,
    )


def _pooled_by_onnxruntime() -> Iterator[Check]:
    """Pools on ONNX Runtime."""
    strided = {"kernel_shape": [2], "strides": [6], "auto_pad": "SAME_UPPER"}
    far = Model("MaxPool", 12, strided, _x(*range(11)))
    yield Check(
        "onnxruntime",
        "MaxPool of float32, and AveragePool before",
        far,
        [_pool(1, 7)],
        Raises("padding values must be non-negative"),
        "⌈11 / 6⌉ = 2 windows need 8 of 11 elements, so no padding",
        _with(far, strides=[2]),
        _pool(1, 3, 5, 7, 9, 10),
    )
    deep = Model("GlobalMaxPool", 1, {}, np.ones((1, 1, 2, 1, 1, 1), np.float32))
    yield Check(
        "onnxruntime",
        "Pools over four axes",
        replace(deep, op="MaxPool", opset=12, attrs={"kernel_shape": [2, 1, 1, 1]}),
        [np.ones((1, 1, 1, 1, 1, 1))],
        Raises("Unsupported pooling size."),
        "“dimensions are in the form of (N x C x D1 x D2 ... Dn)”, of any number",
        replace(deep, x=deep.x[..., 0]),
        np.ones((1, 1, 1, 1, 1)),
    )
    inside = Model("AveragePool", 22, {"kernel_shape": [1], "count_include_pad": 1}, _x(2, 4))
    padded, refused = _with(inside, pads=[1, 1]), Raises("pad")
    cause, why = (
        "A pad as large as the kernel",
        "“Pads should contain values greater than or equal”",
    )
    yield Check(
        "onnxruntime", cause, padded, [_pool(0, 2, 4, 0)], refused, why, inside, _pool(2, 4)
    )
    valid = {"kernel_shape": [3], "strides": [2], "auto_pad": "VALID", "ceil_mode": 1}
    whole = Model("MaxPool", 12, valid, _x(1, 2, 3, 4, 5, 6))
    yield Check(
        "onnxruntime",
        "AveragePool and MaxPool count a window",
        whole,
        [_pool(3, 5)],
        Gives(_pool(3, 5, 6)),
        "the size is ⌈(6 - 3 + 1) / 2⌉ = 2",
        _with(whole, ceil_mode=0),
        _pool(3, 5),
    )
    lowest = Model("GlobalMaxPool", 1, {}, _x(-inf, -inf))
    yield _lowest("onnxruntime", "MaxPool and GlobalMaxPool of float32 begin", lowest)


def _normalized_by_onnxruntime() -> Iterator[Check]:
    """Normalizations on ONNX Runtime."""

    def batch(x: Array, *more: float, opset: int = 15) -> Model:
        given = tuple(np.array([value], np.float32) for value in more)
        return Model("BatchNormalization", opset, {"epsilon": 0.0}, x, more=given)

    far = batch(_row(100001), 1, 0, 100000, 3)
    yield Check(
        "onnxruntime",
        "BatchNormalization and InstanceNormalization are folded",
        far,
        [[[3**-0.5]]],
        Gives([[0.57421875]]),
        "(100001 - 100000) / √3 = 0.57735",
        replace(far, x=_row(100000)),
        [[0]],
    )
    line = batch(_PAIR, 1, 0, 0, 1, opset=7)
    yield _taken(
        "onnxruntime",
        "BatchNormalization-7 takes an X of rank 1",
        line,
        _PAIR,
        "“the dimensions are in the form of (N x C x D1 x D2 ... Dn)”",
        replace(line, opset=9),
    )
    trains = batch(_row(4, 4).T, 3, 1, 8, 12, opset=7)
    trains = replace(_with(trains, epsilon=4.0), output=4)
    yield Check(
        "onnxruntime",
        "BatchNormalization-7 trains",
        _with(trains, spatial=0),
        [[0], [0.5]],
        Raises("Training mode only supports spatial BN"),
        "the variance is 0, and the inverse of the root of 0 + epsilon is 1/2",
        trains,
        [0.5],
    )
    pair = np.ones(2, np.float32), np.array([1, 2], np.float32)
    flat = Model("InstanceNormalization", 22, {}, _row(5, 7), more=pair)
    yield Check(
        "onnxruntime",
        "InstanceNormalization refuses a matrix",
        flat,
        [[[1, 2]]],
        Raises("number of dimensions is less than 3: 2"),
        "each element is the mean of its channel, which gives B",
        replace(flat, x=flat.x[..., None]),
        [[[1], [2]]],
    )
    halves = tuple(array.astype(np.float16) for array in pair)
    none = replace(flat, x=np.zeros((1, 2, 0), np.float16), more=halves)
    yield Check(
        "onnxruntime",
        "InstanceNormalization of float16",
        none,
        [none.x],
        Dies("exit status -11"),
        "“The output tensor of the same shape as input.”",
        replace(none, x=none.x.astype(np.float32), more=pair),
        none.x,
    )
    mean_square = {"epsilon": 0.0}
    unequal = Model("RMSNormalization", 23, mean_square, _row(1, 1), more=(pair[1].astype(float),))
    unequal = replace(unequal, gives="float64")
    yield Check(
        "onnxruntime",
        "RMSNormalization with a scale",
        unequal,
        [[[1, 2]]],
        Raises("Type parameter (T) of Optype (Mul) bound to different types"),
        "T of X and V of scale are two types, and 1 / √1 is multiplied by 1 and 2",
        replace(unequal, x=_row(1, 1, dtype=float)),
        [[1, 2]],
    )
    shares = Model("LogSoftmax", 13, {}, np.array([0, nan, 1]))
    yield Check(
        "onnxruntime",
        "LogSoftmax of float64",
        shares,
        [[nan, nan, nan]],
        Gives([45.0517, nan, 46.0517]),
        "the sum has a NaN in it, and so has its logarithm",
        replace(shares, x=np.array([5.0])),
        [0],
    )
    control = np.array([[[[0.5]], [[0.4]]]])
    yield _images_alone("onnxruntime", "X_shape.NumDimensions() == 4 was false")
    for cause, attrs, answer, words, why in (
        (
            "LRN refuses an even",
            {"size": 2},
            [2 / 7, 0.4],
            "size_ % 2 == 1",
            "1 + (1 + 4) / 2 is 3.5",
        ),
        ("LRN refuses an alpha", {"beta": 0.0}, [1, 2], "beta_ > 0.0f", "a power of 0 is 1"),
        (
            "LRN allocates",
            {"size": 2**50 + 1, "alpha": 2.0**50},
            [1 / 6, 2 / 6],
            "Failed to allocate memory",
            "1 + (1 + 4) · 2^50 / (2^50 + 1) is 6",
        ),
    ):
        model, want = _with(_RESPONSE, **attrs), np.array(answer).reshape(1, 2, 1, 1)
        yield Check("onnxruntime", cause, model, [want], Raises(words), why, _RESPONSE, control)
    behind = replace(_RESPONSE, x=np.array([nan, 1], np.float32).reshape(1, 2, 1, 1))
    yield Check(
        "onnxruntime",
        "LRN makes each sum",
        behind,
        [[[[[nan]], [[0.5]]]]],
        Gives([[[[nan]], [[nan]]]]),
        "1 / (1 + 1) is 0.5, and of a size of 1 no other channel is in the sum",
        _RESPONSE,
        control,
    )
    yield _float32_constants("onnxruntime", "Optype (Add) bound to different types")
    along = Model("MeanVarianceNormalization", 13, {"axes": [0]}, _SQUARE)
    yield _taken(
        "onnxruntime",
        "MeanVarianceNormalization leaves",
        _with(along, axes=[0, 2]),
        [[-1, -1], [1, 1]],
        "a matrix has no axis 2",
        along,
    )
    yield from _transposed_by_onnxruntime()
    yield from _losses_and_samples_by_onnxruntime()
    yield from _texts_by_onnxruntime()


def _transposed(x: Array, w: Array, opset: int = 11, **attrs: Any) -> Model:
    return Model("ConvTranspose", opset, attrs, x, more=(w,))


def _folded(x: Any, image: Sequence[int], block: Sequence[int], **attrs: Any) -> Model:
    columns = np.array([x], np.float32)
    return Model("Col2Im", 18, attrs, columns, more=(np.array(image), np.array(block)))


def _transposed_by_onnxruntime() -> Iterator[Check]:
    triple, tens, hundreds = _x(1, 2, 4), _x(1, 10), _x(1, 10, 100)
    yield Check(
        "onnxruntime",
        "Of a stated output_shape",
        _transposed(triple, hundreds, output_shape=[2]),
        [_pool(124, 240)],
        Declares("declared [1, 1], returned [1, 1, 2]"),
        "1 10 100, 2 20 200 and 4 40 400, each a place later, make 1 12 124 240 400; of three "
        "elements too many, two are cut off before",
        _transposed(triple, hundreds, output_shape=[3]),
        _pool(12, 124, 240),
    )
    yield Check(
        "onnxruntime",
        "Of an odd padding",
        _transposed(triple, hundreds, 1, output_shape=[4]),
        [_pool(1, 12, 124, 240)],
        Gives(_pool(12, 124, 240, 400)),
        "“pads[start_i] = total_padding[i]/2”: of 1 12 124 240 400 one is too many, and 1 / 2 is 0",
        _transposed(triple, hundreds, 1, output_shape=[3]),
        _pool(12, 124, 240),
    )
    pair = _x(1, 2)
    same = _transposed(pair, tens, auto_pad="SAME_UPPER", strides=[2], output_padding=[1])
    yield Check(
        "onnxruntime",
        "Under SAME_UPPER and SAME_LOWER a session declares",
        same,
        [_pool(1, 10, 2, 20)],
        Declares("declared [1, 1, 5], returned [1, 1, 4]"),
        "“output_shape[i] = input_shape[i] * strides[i]”: of 1 10 2 20 and a zero four are kept",
        replace(same, attrs={"auto_pad": "SAME_UPPER", "strides": [2]}),
        _pool(1, 10, 2, 20),
    )
    yield _shorter("onnxruntime", "Under SAME_UPPER and SAME_LOWER the output of ConvTranspose")
    rows = _folded([[1], [2], [3], [4]], [1, 2, 3], [1, 2, 2], dilations=[2, 1, 2])
    yield Check(
        "onnxruntime",
        "Of images of three axes",
        rows,
        [[[[[[1, 0, 2], [3, 0, 4]]]]]],
        Gives([[[[[1, 0, 2], [4, 0, 0]]]]]),
        "the block has two rows of two elements, which lie two apart",
        _folded([[1], [2], [3], [4]], [1, 2, 2], [1, 2, 2]),
        [[[[[1, 2], [3, 4]]]]],
    )
    none = replace(rows, attrs={}, x=np.zeros((2, 0, 2), np.float32))
    none = replace(none, more=(np.array([1, 3]), np.array([1, 2])))
    yield Check(
        "onnxruntime",
        "Col2Im refuses an input",
        none,
        [np.zeros((2, 0, 1, 3))],
        Raises("must be a positive multiple of prod(block_shape)"),
        "no channels of 1 · 2 places are 0 rows, and make an image of no channels",
        replace(none, x=np.ones((1, 2, 2), np.float32)),
        [[[[1, 2, 1]]]],
    )
    yield Check(
        "onnxruntime",
        "Col2Im and MaxUnpool take a negative",
        _folded([[1, 2, 3]], [1, 3], [1, 1], pads=[0, -1, 0, 1]),
        [],
        Gives([[[[0, 1, 2]]]]),
        "“it can take any value greater than or equal to 0”",
        _folded([[1, 2, 3]], [1, 3], [1, 1]),
        [[[[1, 2, 3]]]],
    )
    four = replace(_UNPOOLED, x=_x(7)[..., None, None, None], more=(np.zeros((1,) * 6, int),))
    cause, words, why = (
        "MaxUnpool refuses four",
        Raises("Unsupported pooling size"),
        "a 7 at place 0",
    )
    cube = replace(four, x=four.x[0], more=(four.more[0][0],), attrs={"kernel_shape": [1] * 3})
    four, answer = _with(four, kernel_shape=[1] * 4), four.x
    yield Check("onnxruntime", cause, four, [answer], words, why, cube, answer[0])


#: The 5 at the place 0, and the 7 at 2.
_UNPOOLED = Model("MaxUnpool", 11, {"kernel_shape": [2]}, _x(5, 7), more=(np.array([[[0, 2]]]),))


def _transposed_by_reference() -> Iterator[Check]:
    det = Model("Det", 22, {}, _SQUARE)
    yield Check(
        "reference",
        "Det of float16",
        replace(det, x=_SQUARE.astype(np.float16)),
        [-2],
        Raises("Issues with types"),
        "1 · 4 - 2 · 3 is -2",
        det,
        -2,
    )
    yield Check(
        "reference",
        "Det of bfloat16",
        replace(det, x=_SQUARE.astype(ml_dtypes.bfloat16)),
        [-2],
        Gives(-2, "float64"),
        "1 · 4 - 2 · 3 is -2, of the type of X",
        det,
        -2,
    )
    yield Check(
        "reference",
        "Det is the exponential",
        replace(det, x=np.array([[1e300]])),
        [1e300],
        Gives(9.99999999999976e299),
        "the one element is the determinant",
        replace(det, x=np.array([[1.0]])),
        1,
        5e-15,
    )
    ones = _folded([[1, 2, 3]], [1, 3], [1, 1])
    yield Check(
        "reference",
        "Col2Im of texts",
        replace(ones, x=np.array([[["a", "b", "c"]]], object)),
        [np.array([[[["a", "b", "c"]]]], object)],
        Raises("Issues with types"),
        "each block is an element of its own, and no two are added up",
        ones,
        [[[[1, 2, 3]]]],
    )
    yield Check(
        "reference",
        "Col2Im makes no image",
        replace(ones, x=np.zeros((0, 1, 3), np.float32)),
        [np.zeros((0, 1, 1, 3))],
        Raises("unexpected type"),
        "no batches make no images",
        ones,
        [[[[1, 2, 3]]]],
    )
    yield Check(
        "reference",
        "Col2Im does not check",
        _with(ones, pads=[0, -1, 0, 1]),
        [],
        Gives([[[[0, 1, 2]]]]),
        "“it can take any value greater than or equal to 0”",
        ones,
        [[[[1, 2, 3]]]],
    )
    pair, tens = _x(1, 2), _x(1, 10)
    both = np.array([[[1], [2]], [[10], [20]]], np.float32)
    two = np.array([[[1, 2], [3, 5]]], np.float32)
    yield Check(
        "reference",
        "ConvTranspose of groups",
        _transposed(two, both, group=2),
        [[[[1, 2], [2, 4], [30, 50], [60, 100]]]],
        Raises("cannot reshape"),
        "the first channel goes to the filters 1 and 2, the second to 10 and 20",
        _transposed(two[:, :1], both[:1]),
        [[[1, 2], [2, 4]]],
    )
    row = _transposed(_x(1, 2, 4), _x(1, 10, 100))
    yield Check(
        "reference",
        "Beside a stated output_shape",
        _with(row, output_shape=[3]),
        [_pool(12, 124, 240)],
        Raises("sliding blocks"),
        "of 1 12 124 240 400 one element is too much at either end",
        row,
        _pool(1, 12, 124, 240, 400),
    )
    yield Check(
        "reference",
        "ConvTranspose makes no image",
        _transposed(np.zeros((0, 1, 2), np.float32), tens),
        [np.zeros((0, 1, 3))],
        Raises("Issues with types"),
        "no batches make no images",
        _transposed(pair, tens),
        _pool(1, 12, 20),
    )
    yield Check(
        "reference",
        "ConvTranspose does not check its",
        _transposed(pair, tens, dilations=[0]),
        [],
        Gives(_pool(11, 22)),
        "a dilation of 0 lays all weights on one element",
        _transposed(pair, tens),
        _pool(1, 12, 20),
    )
    three, right = np.array([1, 1, 3]), _pool(5, 0, 7)
    stated = replace(_UNPOOLED, more=(*_UNPOOLED.more, three))
    cause, why = "Beside an output_shape MaxUnpool", "5 at 0 and 7 at 2, in a tensor of [1, 1, 3]"
    refused = Raises("out of bounds")
    yield Check(
        "reference", cause, _with(stated, pads=[0, 1]), [right], refused, why, stated, right
    )
    cause, why = "MaxUnpool counts an index below 0", "“[0, N x C x D1 x ... x Dn)”"
    behind = replace(_UNPOOLED, more=(np.array([[[0, -1]]]),))
    yield Check("reference", cause, behind, [], Gives(right), why, _UNPOOLED, right)
    cause, why = "MaxUnpool does not check", "strides have two numbers for one axis"
    surplus = _with(_UNPOOLED, strides=[1, 1])
    yield Check("reference", cause, surplus, [], Gives(right), why, _UNPOOLED, right)


def _loss(op: str, x: Any, *more: Any, **attrs: Any) -> Model:
    """A loss of scores of classes, by its sample unless told otherwise."""
    arrays = tuple(
        np.array(one, np.float32 if place else np.int64) for place, one in enumerate(more)
    )
    return Model(op, 13, {"reduction": "none"} | attrs, np.array(x, np.float32), more=arrays)


def _losses(engine: str, reduced: Any, classes: Sequence[int], weighted: Any) -> Iterator[Check]:
    """What a loss takes: a class below 0, another `reduction` and two weights for three classes."""
    op, x = "NegativeLogLikelihoodLoss", [[1, 2, 4], [8, 16, 32]]
    yield Check(
        engine,
        "Losses of classes take a class below 0",
        _loss(op, x, [-1, 0]),
        [],
        Gives([-4, -8]),
        "“Target element value shall be in range of [0, C)”",
        _loss(op, x, [2, 0]),
        [-4, -8],
    )
    yield Check(
        engine,
        "Losses of classes take a reduction",
        _loss(op, x, [0, 1], reduction="average"),
        [],
        Gives(reduced),
        "“Type of reduction to apply to loss: none, sum, mean”",
        _loss(op, x, [0, 1]),
        [-1, -16],
    )
    yield Check(
        engine,
        "Losses of classes take weights",
        _loss(op, x, classes, [1, 2]),
        [],
        Gives(weighted),
        "“If given, it has to be a tensor of size C”, and there are three classes",
        _loss(op, x, [0, 1], [1, 2, 3]),
        [-1, -32],
    )


def _deformed(x: Any, w: Any = ((((1,),),),), offset: Any = 0, dtype: Any = np.float32) -> Model:
    """A DeformConv of one offset for all, and kernels of one element."""
    image, filters = np.array(x, dtype), np.array(w, dtype)
    offsets = np.full((1, image.ndim - 2, *image.shape[2:]), offset, dtype)
    return Model("DeformConv", 19, {}, image, more=(filters, offsets))


def _losses_and_samples_by_onnxruntime() -> Iterator[Check]:
    yield from _losses("onnxruntime", -17, [0, 1], [-1, -32])
    even = _loss("SoftmaxCrossEntropyLoss", [[0, 0]], [1], reduction="sum")
    none = replace(even, x=np.zeros((0, 2), np.float32), more=(np.zeros(0, np.int64),))
    yield Check(
        "onnxruntime",
        "SoftmaxCrossEntropyLoss of no batches",
        none,
        [0],
        Raises("Invalid Target shape product of 0"),
        "a sum of nothing is 0",
        even,
        0.693147,
    )
    yield Check(
        "onnxruntime",
        "SoftmaxCrossEntropyLoss of bfloat16",
        replace(even, x=even.x.astype(ml_dtypes.bfloat16)),
        [0.69140625],
        Raises("Type 'tensor(bfloat16)' of input parameter"),
        "version 13 has bfloat16; each class has a half, and ln 2 is 0.693",
        even,
        0.693147,
    )
    half = replace(even, attrs={"reduction": "none"}, x=even.x.astype(np.float16))
    yield Check(
        "onnxruntime",
        "SoftmaxCrossEntropyLoss of float16 rounds",
        replace(half, more=(*even.more, np.array([1, 5], np.float16))),
        [3.46484375],
        Gives([3.466796875]),
        "each class has a half, and 5 ln 2 = 3.46574 is nearest to 1774 / 512",
        half,
        [0.693359375],
        1e-4,
    )
    square = _deformed([[[[1, 2], [4, 8]]]])
    for cause, model, want, words, why in (
        (
            "DeformConv is for images",
            _deformed([[[1, 2]]], [[[1]]]),
            [[[1, 2]]],
            "Input X must be 4D",
            "“This operator specification supports the general N-D case”",
        ),
        (
            "DeformConv refuses a W",
            _deformed(square.x, np.zeros((0, 1, 1, 1))),
            np.zeros((1, 0, 2, 2)),
            "must be positive",
            "no filters make no channels",
        ),
    ):
        yield Check("onnxruntime", cause, model, [want], Raises(words), why, square, square.x)


def _losses_and_samples_by_reference() -> Iterator[Check]:
    yield from _losses("reference", [-1, -16], [0, 2], [-1, -64])
    one = _loss("NegativeLogLikelihoodLoss", [[-3, -5]], [1], reduction="sum")
    yield Check(
        "reference",
        "The sum of the losses of no samples",
        replace(one, x=np.zeros((0, 2), np.float32), more=(np.zeros(0, np.int64),)),
        [0],
        Raises("cannot reshape array of size 0"),
        "a sum of nothing is 0",
        one,
        5,
    )
    square = _deformed([[[[0, 1], [0, 1]]]])
    yield Check(
        "reference",
        "DeformConv ends in an error",
        _deformed([[[[0, 1]]]]),
        [[[[0, 1]]]],
        Raises("cannot convert float NaN to integer"),
        "an offset of 0 and a weight of 1 change nothing",
        square,
        square.x,
    )
    yield Check(
        "reference",
        "DeformConv of float64",
        _deformed([[[[0, 1], [0, 1]]]], offset=[[[0, 0]], [[0.1, -0.1]]], dtype=np.float64),
        [[[[[0.1, 0.9]] * 2]]],
        Gives([[[[0.10000000149011612, 0.8999999761581421]] * 2]]),
        "a tenth of the way from 0 to 1 lies 0.1",
        square,
        square.x,
        rtol=1e-12,
    )
    row = [*range(18)]
    beyond = [[[0] * 18], [[0] * 17 + [65504]]]
    yield Check(
        "reference",
        "Places of DeformConv in float16",
        _deformed([[[row, row]]], offset=beyond, dtype=np.float16),
        [[[[[*row[:-1], 0]] * 2]]],
        Raises("cannot convert float infinity to integer"),
        "place 17 + 65504 of the last column lies outside of the image, where there is 0",
        _deformed([[[row, row]]], dtype=np.float16),
        [[[row, row]]],
    )
    w, offset = square.more
    yield Check(
        "reference",
        "DeformConv does not check its inputs",
        replace(square, more=(np.concatenate([w, w]), offset, np.ones(1, np.float32))),
        [],
        Gives([[[[1, 2], [1, 2]], [[1, 2], [1, 2]]]]),
        "“Optional 1D bias of length oC”, and there are two filters",
        replace(square, more=(w, offset, np.ones(1, np.float32))),
        [[[[1, 2], [1, 2]]]],
    )


def _shorter(engine: str, cause: str) -> Check:
    model = _transposed(_x(1, 2), _x(1, 10), auto_pad="SAME_UPPER", strides=[3])
    return Check(
        engine,
        cause,
        model,
        [_pool(1, 10, 0, 2, 20, 0), _pool(0, 1, 10, 0, 2, 20)],
        Gives(_pool(1, 10, 0, 2, 20)),
        "“output_shape[i] = input_shape[i] * strides[i]”: two elements become six",
        _with(model, strides=[2]),
        _pool(1, 10, 2, 20),
    )


def _transposed_by_openvino() -> Iterator[Check]:
    """ConvTranspose and Col2Im on OpenVINO."""
    yield _shorter("openvino", "Under SAME_UPPER and SAME_LOWER the output of ConvTranspose")
    row, middle = _transposed(_x(1, 2, 4), _x(1, 10, 100)), _pool(12, 124, 240)
    stated, four = _with(row, output_shape=[3]), _pool(1, 12, 124, 240)
    cause, why = "ConvTranspose ignores SAME_UPPER", "of 1 12 124 240 400 the last is too many"
    upper, wrong = (
        _with(row, output_shape=[4], auto_pad="SAME_UPPER"),
        Gives(_pool(12, 124, 240, 400)),
    )
    yield Check("openvino", cause, upper, [four], wrong, why, stated, middle)
    cause, why = (
        "ConvTranspose of groups cuts",
        "of 1 12 124 240 400 the first and last are too many",
    )
    both, channels = np.repeat(row.x, 2, axis=1), np.repeat(row.more[0], 2, axis=0)
    grouped, twice = _transposed(both, channels, group=2), np.repeat(middle, 2, axis=1)
    wrong, pads = Gives(np.repeat(_pool(1, 12, 124), 2, axis=1)), _with(grouped, pads=[1, 1])
    grouped = _with(grouped, output_shape=[3])
    yield Check("openvino", cause, grouped, [twice], wrong, why, pads, twice)
    cause, why = (
        "ConvTranspose does not check",
        "“must be less than the corresponding stride/dilation”",
    )
    larger, wrong = _with(row, output_padding=[1]), Gives(_pool(1, 12, 124, 240, 400, 0))
    whole = _pool(1, 12, 124, 240, 400)
    yield Check("openvino", cause, larger, [], wrong, why, row, whole)
    cause, why = "Col2Im makes images of two axes", "one block is the whole image"
    plane = _folded([[1], [2]], [1, 2], [1, 2], dilations=[1, 1])
    cube = _folded([[1], [2]], [1, 1, 2], [1, 1, 2], dilations=[1, 1, 1])
    refused, right = Raises("must have size [2]"), [[[[1, 2]]]]
    yield Check("openvino", cause, cube, [[[[[[1, 2]]]]]], refused, why, plane, right)
    cause, why = "Col2Im checks no shape", "an image of two blocks of the whole is no such image"
    more = replace(plane, x=np.ones((1, 2, 2), np.float32))
    yield Check("openvino", cause, more, [], Leftovers((1, 1, 1, 2)), why, plane, right)
    cause, why = "Col2Im divides by a stride", "with a stride of 0 there is no number of blocks"
    dies = Dies("exit status -8")
    yield Check("openvino", cause, _with(plane, strides=[0, 1]), [], dies, why, plane, right)
    cause, why = "Col2Im takes strides and", "a dilation of -1"
    yield _taken("openvino", cause, _with(plane, dilations=[-1, 1]), right, why, plane)


def reference() -> Iterator[Check]:
    """On onnx.reference."""
    yield _two_attributes("reference", "Constant takes the first attribute")
    yield _ignored("reference")
    why = "“A 1-D tensor indicates the shape you want to expand to, following the broadcast rule”"
    yield _expand("reference", "Expand takes a shape", 2, [], Gives([[1, 2]]), why)
    coerced = Model("Hardmax", 11, {"axis": 1}, np.array([[[1, 2], [4, 3]]], np.float32))
    yield Check(
        "reference",
        "Versions 1 and 11",
        coerced,
        [[[[0, 0], [1, 0]]]],
        Gives([[[0, 0], [1, 1]]]),
        "with axis 1 the input is coerced to one row of 4 elements, whose maximum is 4",
        _with(coerced, axis=2),
        [[[0, 1], [1, 0]]],
    )
    default = Model("Hardmax", 11, {}, _VECTOR)
    yield Check(
        "reference",
        "Version 11's default axis",
        default,
        [],
        Gives([0, 1, 0]),
        "the default is 1; a vector has -1 and 0",
        _with(default, axis=0),
        [0, 1, 0],
    )
    empty = Model("Hardmax", 13, {"axis": 2}, np.zeros((0, 3), np.float32))
    yield Check(
        "reference",
        "The range of axis",
        empty,
        [],
        Gives(empty.x),
        "axes are -2 to 1",
        _with(empty, axis=1),
        empty.x,
    )
    third = Model("LpPool", 1, {"kernel_shape": [2], "p": 3.0}, _x(1, 2, dtype=np.float64))
    yield Check(
        "reference",
        "Version 1's exponent",
        third,
        [_pool(2.0800838230519041)],
        Gives(_pool(9 ** float(np.float32(1 / 3)))),
        "1 + 2³ = 9, whose third root is 2.0800838230519041",
        _with(third, p=2.0),
        _pool(_R5),
        rtol=1e-12,
    )
    yield _beyond("reference", Raises("index can't contain negative values"))
    yield _dilated("reference", 9, 18, 4, 0, 0)
    valid = {"kernel_shape": [2], "dilations": [3], "strides": [2], "p": 1, "auto_pad": "VALID"}
    model = Model("LpPool", 18, valid, _SIX)
    yield Check(
        "reference",
        "VALID's output size",
        model,
        [_pool(9, 36)],
        Gives(_pool(9, 36, 0)),
        "windows span 4 of 6 elements, so there are 2: 1 + 8 and 4 + 32",
        _with(model, dilations=[1]),
        _pool(3, 12, 48),
    )
    yield _rescaled("reference")
    model = Model("LpPool", 18, {"kernel_shape": [4], "strides": [5], "ceil_mode": 1, "p": 1}, _SIX)
    yield Check(
        "reference",
        "Under ceil_mode a last",
        model,
        [_pool(15, 32)],
        Gives(_pool(1 + 2 + 4, (16 + 32) * 4 / 3)),
        "the windows are [1, 2, 4, 8] and [32]",
        _with(model, ceil_mode=0),
        _pool(15),
    )
    two = Model("LpPool", 18, {"kernel_shape": [2]}, _x(1, nan, 3))
    yield Check(
        "reference",
        "NaN is taken for",
        two,
        [_pool(nan, nan)],
        Gives(_pool(_R2, 3 * _R2)),
        "a window with a NaN has no other sum than NaN",
        replace(two, x=_x(1, 2, 4)),
        _pool(_R5, 2 * _R5),
    )
    yield Check(
        "reference",
        "The powers of float16",
        replace(two, x=_x(300, 400, dtype=np.float16)),
        [_pool(500)],
        Gives(_pool(inf)),
        "√(300² + 400²) = 500, which float16 has",
        replace(two, x=_x(3, 4, dtype=np.float16)),
        _pool(5),
    )
    surplus = Model("LpPool", 18, {"kernel_shape": [2, 2, 2]}, _IMAGE)
    yield Check(
        "reference",
        "Lengths are not",
        surplus,
        [],
        Gives([[[[8**0.5, 8**0.5]]]]),
        "an image has two spatial axes",
        _with(surplus, kernel_shape=[2, 2]),
        [[[[2, 2]]]],
    )
    norms = _pool(_R5, 2 * _R5, 4 * _R5, 8 * _R5)
    five = replace(two, x=_FIVE)
    yield Check(
        "reference",
        "A kernel size below 1",
        _with(five, kernel_shape=[-1]),
        [],
        Gives(_pool(*[nan] * 7)),
        "a window has no -1 elements",
        five,
        norms,
    )
    yield Check(
        "reference",
        "A tensor without",
        replace(two, x=_IMAGE[0, 0]),
        [],
        Gives(np.full((2, 3), _R2)),
        "it has to be (N x C x D1 x …)",
        replace(two, x=_IMAGE[0]),
        np.full((1, 2, 2), _R2),
    )
    yield Check(
        "reference",
        "An auto_pad that",
        _with(five, auto_pad="same_upper"),
        [],
        Gives(norms),
        "“auto_pad must be either NOTSET, SAME_UPPER, SAME_LOWER or VALID”",
        _with(five, auto_pad="NOTSET"),
        norms,
    )

    yield Check(
        "reference",
        "Types of attributes",
        _with(five, p=2.5),
        [],
        Gives(_pool(*[(n**2.5 + (2 * n) ** 2.5) ** 0.4 for n in (1, 2, 4, 8)])),
        "p is an INT",
        _with(five, p=2),
        norms,
    )
    yield Check(
        "reference",
        "LayerNormalization does not cast",
        replace(_ODD, x=_row(256, -256, dtype=np.float16), more=(np.ones(2, np.float16),)),
        [[[1, -1]]],
        Gives([[0, 0]]),
        "the variance is 65536, which float32 has and float16 has not; its root is 256",
        _ODD,
        [[-3, -1, 2, 3]],
    )
    vector = replace(_with(_ODD, axis=1), x=_ODD.x[0], more=(_ODD.more[0][:1],))
    yield Check(
        "reference",
        "LayerNormalization does not check",
        vector,
        [],
        Gives([0, 0, 0, 0]),
        "“If rank(X) is r, axis' allowed range is [-r, r)”",
        _with(vector, axis=0),
        [-3, -1, 1, 3],
    )
    moved = replace(_ODD, more=(*_ODD.more, np.ones((2, 1, 4), np.float32)))
    yield Check(
        "reference",
        "Scale and B",
        moved,
        [],
        Gives([[[-2, 0, 3, 4]]] * 2),
        "B is to be “unidirectional broadcastable to tensor X”, and X and Y “have the same shape”",
        replace(_ODD, more=(*_ODD.more, np.ones((1, 4), np.float32))),
        [[-2, 0, 3, 4]],
    )
    conv = Model("Conv", 22, {}, _x(1, 2, 4), more=(_x(1, 10),))
    sums = _pool(21, 42)
    yield Check(
        "reference",
        "Conv does not check",
        _with(conv, strides=[1, 1]),
        [],
        Gives(sums),
        "a vector has one axis: “Stride along each spatial axis”",
        _with(conv, strides=[1]),
        sums,
    )
    weights, one = np.array([[[1]], [[10]]], np.float32), np.ones(1, np.float32)
    biased = replace(conv, more=(weights, one))
    plus_one = [[[2, 3, 5], [11, 21, 41]]]
    yield Check(
        "reference",
        "A bias need only",
        biased,
        [],
        Gives(plus_one),
        "B “has size of M”, and there are two filters",
        replace(biased, more=(weights, np.ones(2, np.float32))),
        plus_one,
    )
    ones = Model(
        "Conv", 22, {"kernel_shape": [3, 2]}, np.ones((1, 1, 3, 4), np.float32), more=(_IMAGE,)
    )
    yield Check(
        "reference",
        "A kernel_shape that",
        ones,
        [],
        Gives(np.full((1, 1, 1, 3), 6)),
        "W is 2 by 3",
        _with(ones, kernel_shape=[2, 3]),
        np.full((1, 1, 2, 2), 6),
    )
    yield Check(
        "reference",
        "Before any size",
        _with(conv, dilations=[2**46]),
        [np.zeros((1, 1, 0))],
        Raises("Unable to allocate"),
        "no window fits into 3 elements, so there is nothing to compute",
        conv,
        sums,
    )
    half = Model("Cast", 1, {"to": "FLOAT"}, np.array([3], np.float16), gives="float32")
    yield Check(
        "reference",
        "Cast-1 wants",
        half,
        [[3]],
        Raises("'FLOAT'"),
        "Cast-1's to is a STRING, and FLOAT a type of TensorProto",
        Model("Cast", 6, {"to": 1}, half.x, gives="float32"),
        [3],
    )
    above = np.array([2**25 + 2**17 + 1], np.int32)
    model = Model("Cast", 13, {"to": 16}, above, gives="bfloat16")
    yield Check(
        "reference",
        "What is cast to bfloat16",
        model,
        [[2**25 + 2**18]],
        Gives([2**25]),
        "2^25 + 2^17 is the middle of 2^25 and 2^25 + 2^18, and the element is above it",
        replace(model, x=above + 2**17 - 1),
        [2**25 + 2**18],
    )
    yield _rounded_to_8_bits("reference", "What is cast from float64 to float8", 17, "fn")
    yield from _texts("reference")
    three = Model("Cast", 13, {"to": 16}, np.array(["3"], object), gives="bfloat16")
    yield Check(
        "reference",
        "Cast refuses pairs of strings",
        three,
        [[3]],
        Raises("Issues with types"),
        "“Casting from string tensor in plain … to float types is supported”",
        _with(replace(three, gives="float32"), to=1),
        [3],
    )
    joined = Model("Concat", 1, {}, _row(1), more=(_row(2),))
    yield Check(
        "reference",
        "Concat-1 without",
        joined,
        [[[1, 2]]],
        Raises("Attribute 'axis' is expected"),
        "“Which axis to concat on. Default value is 1.”",
        _with(joined, axis=1),
        [[1, 2]],
    )
    joined = Model("Concat", 13, {"axis": 0}, _VECTOR[:1], more=(_VECTOR[1:2].astype(np.float16),))
    yield Check(
        "reference",
        "The type constraint",
        joined,
        [],
        Gives([1, 4]),
        "all inputs are of type T, so float32 and float16 are not concatenated",
        replace(joined, more=(_VECTOR[1:2],)),
        [1, 4],
    )
    model = Model("Gather", 13, {}, _VECTOR[1], more=(np.array([0]),))
    yield Check(
        "reference",
        "Gather accepts data",
        model,
        [],
        Gives([4]),
        "data is a “Tensor of rank r >= 1”",
        replace(model, x=_VECTOR[1:]),
        [4],
    )
    for cause, wrong, answer, why in (
        ("TopK adds", _with(_LARGEST, axis=-2), [1], "a vector has the axes -1 and 0"),
        (
            "TopK accepts a K",
            replace(_LARGEST, more=(np.array([-1]),)),
            [],
            "K is “a single positive value”",
        ),
        (
            "TopK takes the first",
            replace(_LARGEST, more=(np.array([2, 1]),)),
            [1, 2],
            "K is “a single positive value”",
        ),
    ):
        yield Check("reference", cause, wrong, [], Gives(answer), why, _LARGEST, [1])
    most = Model("TopK", 1, {"k": 2**46, "axis": 0}, _VECTOR, output=1, gives="int64")
    yield Check(
        "reference",
        "TopK makes a list",
        most,
        [],
        Raises("Unable to allocate"),
        "the vector has 3 elements",
        _with(most, k=2),
        [1, 2],
    )
    yield from _group_norm("reference")
    yield from _gelu("reference", "Gelu takes any", "Gelu of float64 is computed")
    gelu = Model("Gelu", 20, {}, np.array([1.0]))
    yield Check(
        "reference",
        "Gelu is computed with Erf",
        gelu,
        [[0.8413447460685429]],
        Gives([0.8413447439670563]),
        "(1 + erf(1 / √2)) / 2 is 0.8413447460685429, the share of one deviation",
        replace(gelu, x=np.array([0.0])),
        [0],
        rtol=1e-12,
    )
    yield _less_along_axis("reference")
    yield from _limited("reference")
    yield _empty("reference")
    yield _sequences("reference", "ReverseSequence takes any axis")
    yield _rank_0("reference", "ArgMax, ArgMin and Compress")
    x = np.arange(8, dtype=np.float32).reshape(1, 8, 1, 1)
    blocks = Model("DepthToSpace", 13, {"blocksize": 2, "mode": "CRD"}, x)
    x = x.reshape(1, 2, 2, 2)
    why = "“DCR (default) for depth-column-row order re-arrangement. Use CRD for column-row-depth"
    crd = _with(blocks, mode="crd")
    yield _taken("reference", "DepthToSpace takes any mode", crd, x, f"{why} order.”", blocks)
    older, why = replace(blocks, opset=1), "DepthToSpace-1 has one attribute, blocksize"
    yield _taken("reference", "Attributes that came with", older, x, why, blocks)
    right = Model("ReverseSequence", 10, {}, _SQUARE, more=(np.array([2, 1]),))
    single = replace(right, more=(np.array([2]),))
    why, turned = "“It has shape `[batch_size]`.”, and there are two sequences", [[3, 2], [1, 4]]
    yield _taken("reference", "ReverseSequence takes one length", single, turned, why, right)
    right = Model("Tile", 13, {}, _row(1, 2), more=(np.array([1, 2]),))
    fewer = replace(right, more=(np.array([2]),))
    why = "“1D int64 tensor of the same length as input's dimension number”, which is 2"
    yield _taken("reference", "Tile takes repeats", fewer, [[1, 2, 1, 2]], why, right)
    right = Model("Trilu", 14, {}, np.array([[1, 2], [1, 2]], np.float32))
    why, vector = "“Input tensor of rank 2 or higher.”", replace(right, x=_PAIR)
    yield _taken("reference", "Trilu makes a matrix", vector, [[1, 2], [0, 2]], why, right)
    mean = Model("Mean", 13, {}, np.array([[1], [2]], np.float32), more=(_row(3, 5)[0],))
    yield Check(
        "reference",
        "Mean adds each input",
        mean,
        [[[2.0, 3.0], [2.5, 3.5]]],
        Raises("non-broadcastable output operand with shape (2,1)"),
        "the sums are 1 + 3, 1 + 5, 2 + 3 and 2 + 5, and their halves are the means",
        replace(mean, x=np.array([[1, 1], [2, 2]], np.float32)),
        [[2.0, 3.0], [2.5, 3.5]],
    )
    total = Model("Sum", 1, {}, _PAIR, more=(_PAIR,))
    yield Check(
        "reference",
        "Sum and Mean refuse the consumed_inputs",
        _with(total, consumed_inputs=[0, 0]),
        [[2, 4]],
        Raises("and attributes ['consumed_inputs']"),
        "“legacy optimization attribute.”, and 1 + 1 = 2, 2 + 2 = 4",
        total,
        [2, 4],
    )
    whole = Model("Trilu", 14, {}, _SQUARE, more=(np.array(-(2**63)),))
    yield Check(
        "reference",
        "Trilu hands k",
        whole,
        [_SQUARE],
        Raises("int too large to convert"),
        "“A negative k value retains the main diagonal and |k| diagonals below it.”: there is one",
        replace(whole, more=(np.array(-(2**62)),)),
        _SQUARE,
    )
    yield from _split_of("reference")
    split = Model("Split", 1, {"axis": 0}, _PAIR)
    yield Check(
        "reference",
        "Split-1 is not computed",
        split,
        [_PAIR],
        Raises("No implementation for operator 'Split'"),
        "one part has all elements",
        replace(split, opset=2),
        _PAIR,
    )
    why = "“Number of outputs to split parts of the tensor into.”, of which the node has two"
    yield _split("reference", "Split-18 does not compare", _SPLIT_18, [3, 4], why)
    most = _with(_SPLIT_18, num_outputs=2**46)
    yield _split("reference", "Split-18 makes a list", most, Raises("MemoryError"), why)
    narrow = Model("BitCast", 26, {"to": 3}, _PAIR.astype(ml_dtypes.int4), gives="int8")
    why = "“The target data type must have the same bit-width as the input data type.”: 8 is not 4"
    control = replace(narrow, x=_PAIR.astype(np.uint8))
    yield _taken("reference", "BitCast compares the sizes", narrow, [1, 2], why, control)
    yield _fmod("reference")
    count = np.arange(65, dtype=np.float32)
    yield Check(
        "reference",
        "GatherElements makes a list",
        _gathered(count, 1),
        [[1]],
        Raises("at most 64"),
        "after 0 comes 1, of 65 numbers too",
        _gathered(count[:10], 1),
        [1],
    )
    yield _fewer("reference", "GatherElements refuses indices", "should be the same size")
    wrapped, control = _gathered(_PAIR, 3), _gathered(_PAIR, 1)
    yield _taken("reference", "GatherElements takes an index", wrapped, [2], _OUT, control)
    empty = _gathered(np.zeros((0, 4), np.float32), axis=2)
    empty = replace(empty, more=(np.zeros((0, 4), np.int64),))
    cause, why = "GatherElements does not look", "“Accepted range is [-r, r-1]”, and r is 2"
    yield _taken("reference", cause, empty, empty.x, why, _with(empty, axis=1))
    batches = _gathered(np.ones((1, 3), np.float32), [[0], [0]], op="GatherND", batch_dims=1)
    yield Check(
        "reference",
        "GatherND refuses batches",
        replace(batches, x=batches.x[:0], more=(batches.more[0][:0],)),
        [np.zeros((0, 2))],
        Raises("cannot reshape array of size 0"),
        "of no batches come no pairs",
        batches,
        [[1, 1]],
    )
    yield _every_axis("reference", [[1], [3]])
    shaped = _shaped("Reshape", 1, _COLUMN, 2)
    yield Check(
        "reference",
        "Reshape-1 is not computed",
        shaped,
        [_PAIR],
        Raises("No implementation for operator 'Reshape'"),
        "two elements remain two",
        Model("Reshape", 5, {}, _COLUMN, more=(np.array([2]),)),
        _PAIR,
    )
    pairs = _shaped("Reshape", 13, _SQUARE, 1, -1)
    why = "“At most one dimension of the new shape can be -1.”, and no length is -4"
    below = replace(pairs, more=(np.array([1, -4]),))
    yield _taken("reference", "Reshape infers", below, [[1, 2, 3, 4]], why, pairs)
    cause = "Squeeze and Unsqueeze before version 13 take one axis"
    yield Check(
        "reference",
        cause,
        _shaped("Squeeze", 11, _COLUMN, 2, 0),
        [_PAIR],
        Raises("axis 2 is out of bounds for array of dimension 2"),
        _OF_THREE_AXES,
        _shaped("Squeeze", 11, _COLUMN, 0, 2),
        _PAIR,
    )
    yield Check(
        "reference",
        cause,
        _shaped("Unsqueeze", 11, _PAIR, -2, -1),
        [np.reshape([1, 2], (2, 1, 1))],
        Gives([[[1], [2]]]),
        "the last two axes of the output have one element, so that 2 are along the first",
        _shaped("Unsqueeze", 11, _PAIR, 1, 2),
        np.reshape([1, 2], (2, 1, 1)),
    )
    yield _from_the_back("reference")
    yield _squeezed_rank_0("reference")
    yield _no_axes("reference", "Squeeze and Unsqueeze before version 13 take an empty", 11)
    yield _no_list("reference", "Unsqueeze")
    cause, flipped = "Transpose counts entries", [[1, 3], [2, 4]]
    for perm in ([-1, -2], [2**32 + 1, 0]):
        yield _taken("reference", cause, _with(_TURNED, perm=perm), flipped, _ONCE, _TURNED)
    yield _no_perm("reference")
    flat = Model("Flatten", 13, {"axis": 2}, _SQUARE)
    cause, why = "Flatten does not check", "“The value for axis must be in the range [-r, r]”"
    beyond, four = _with(flat, axis=3), [[1], [2], [3], [4]]
    yield _taken("reference", cause, beyond, four, why, flat)
    yield _from_the_back_of_flatten("reference", cause)
    words = Raises("cannot reshape array of size 0 into shape (0,newaxis)")
    yield _flatten("reference", "Flatten has NumPy find", words)
    below = Model("Shape", 15, {"end": -4}, np.ones((2, 3, 4), np.float32), gives="int64")
    yield Check(
        "reference",
        "Shape does not clamp",
        below,
        [np.zeros(0)],
        Gives([2, 3]),
        "“axes will be clamped to the range [0, r]”: -4 + 3 is below 0, so the end is 0",
        _with(below, end=-3),
        np.zeros(0),
    )
    yield from _cut_and_padded_by_reference()
    yield from _functions_of_reference()
    yield from _reduced_by_reference()
    yield from _products_by_reference()
    yield from _batches_by_reference()
    yield from _pooled_by_reference()
    yield from _broadcast_by_reference()
    yield from _normalized_by_reference()
    yield from _transposed_by_reference()
    yield from _losses_and_samples_by_reference()
    yield from _texts_by_reference()


def _functions_of_reference() -> Iterator[Check]:
    """Functions of each element, and activations, on onnx.reference."""
    erf = Model("Erf", 13, {}, np.array([0.5]))
    yield Check(
        "reference",
        "Erf is rounded",
        erf,
        [[0.5204998778130465]],
        Gives([float(np.float32(0.5204998778130465))]),
        "erf(0.5) = 0.5204998778130465",
        replace(erf, x=np.zeros(1)),
        [0],
        rtol=1e-12,
    )
    most = 2**63 - 1
    shrunk = Model("Shrink", 9, {}, np.array([most]))
    yield Check(
        "reference",
        "Shrink adds the bias",
        shrunk,
        [[most]],
        Gives([-most - 1]),
        "“If x > lambd, y = x - bias”: they are 0.5 and 0, and y is x",
        replace(shrunk, x=np.array([2])),
        [2],
    )
    selu = Model("Selu", 1, {}, np.array([1.0]))
    yield Check(
        "reference",
        "Selu-1 is computed",
        selu,
        [[1.0507]],
        Gives([1.05070102]),
        "“Coefficient of SELU default to 1.0507.”, and for 1 it is gamma",
        _with(selu, alpha=1.6732, gamma=1.0507),
        [1.0507],
        rtol=1e-7,
    )
    stated = _with(selu, alpha=1.6732, gamma=1.0507)
    yield Check(
        "reference",
        "Selu refuses the consumed_inputs",
        _with(stated, consumed_inputs=[0]),
        [[1.0507]],
        Raises("and attributes ['alpha', 'consumed_inputs', 'gamma']"),
        "“legacy optimization attribute.”",
        stated,
        [1.0507],
    )
    quotient = Model("Softsign", 22, {}, np.array(1, np.float32))
    yield Check(
        "reference",
        "Softsign refuses a scalar",
        quotient,
        [0.5],
        Raises("(unary operator 'Softsign')"),
        "1 / (1 + 1) = 0.5, “element-wise”",
        replace(quotient, x=_PAIR[:1]),
        [0.5],
    )


def _reduced_by_reference() -> Iterator[Check]:
    """Reductions on onnx.reference."""

    def check(
        cause: str, model: Model, want: Any, shows: Gives | Raises, why: str, x: Array, right: Any
    ) -> Check:
        return Check("reference", cause, model, [want], shows, why, replace(model, x=x), right)

    for op in ("ReduceLogSum", "ReduceLogSumExp"):
        one = Model(op, 13, {}, np.array([int(op == "ReduceLogSum")], np.int32))
        cause, why = "ReduceLogSum and ReduceLogSumExp refuse", f"{op}-13 takes int32: log(1) = 0"
        refused = Raises(f"(operator '{op}_1')")
        yield check(cause, one, [0], refused, why, one.x.astype(np.float32), [0])
    exponential = Model("ReduceLogSumExp", 13, {}, np.array(2, np.float32))
    cause, why = "ReduceLogSumExp refuses a scalar", "log(exp(2)) = 2"
    yield check(cause, exponential, 2, refused, why, _PAIR[1:], [2])
    cause = "ReduceLogSumExp scales by"
    why = "exp(-inf) is 0, exp(inf) inf, and so are their logarithms -inf and inf"
    for first in (-inf, inf):
        ends = replace(exponential, x=np.array([first, -inf], np.float32))
        finite = np.array([2, -inf], np.float32)
        yield check(cause, ends, [first], Gives([nan]), why, finite, [2])
    for of, to in (("int32", "int64"), ("uint32", "uint64")):
        squares = Model("ReduceSumSquare", 13, {}, np.array([1, 2], of))
        why, wide = "the output is of type T, as the input is", squares.x.astype(np.float32)
        cause = "ReduceSumSquare of int32 gives"
        yield check(cause, squares, [5], Gives([5], to), why, wide, [5])
    most = 2**63 - 1
    mean = Model("ReduceMean", 13, {}, np.array([most]))
    cause, why = "ReduceMean divides integers", "a number alone is its mean"
    yield check(cause, mean, [most], Gives([-most - 1]), why, np.array([2]), [2])
    rows = Model("ReduceMax", 18, {}, _SQUARE, more=(np.array([1]),))
    scalar, why = replace(rows, more=(np.array(1),)), "axes are a “list of integers”"
    cause = "Reductions take axes of rank 0"
    yield _taken("reference", cause, scalar, [[2], [4]], why, rows)
    named, why = replace(rows, more=(), attrs={"axes": [1]}), "ReduceMax-18 has no such attribute"
    cause = "Reductions obey the attribute axes"
    yield _taken("reference", cause, named, [[2], [4]], why, rows)


def _products_by_reference() -> Iterator[Check]:
    """MatMul and Gemm on onnx.reference."""
    matmul = Model("MatMul", 13, {}, np.array([3], np.float32), more=(np.array([2], np.float32),))
    scalar, why = replace(matmul, more=(np.array(2, np.float32),)), "numpy.matmul takes no scalar"
    yield Check("reference", "MatMul takes a scalar", scalar, [], Gives([6]), why, matmul, 6)
    row, column = np.array([[1, 2]], np.float32), np.array([[3], [4]], np.float32)
    c = np.array([[10]], np.float32)
    gemm = Model("Gemm", 13, {}, row, more=(column, c))
    first, sixth, why = replace(gemm, opset=1), replace(gemm, opset=6), "1·3 + 2·4 + 10 = 21"
    refused = Raises("No implementation for operator 'Gemm'")
    yield Check("reference", "Gemm-1 is not computed", first, [[[21]]], refused, why, sixth, [[21]])
    cause, why = "Gemm-6 without broadcast adds", "2·10 is added to 1·3 + 2·4 = 11"
    twice, seventh = _with(sixth, beta=2.0), replace(gemm, opset=7, attrs={"beta": 2.0})
    yield Check("reference", cause, twice, [[[31]]], Gives([[21]]), why, seventh, [[31]])
    half = (column.astype(np.float16), c.astype(np.float16))
    half6 = replace(sixth, x=row.astype(np.float16), more=half)
    why, half7 = "Y is of the type of A", replace(half6, opset=7)
    yield Check("reference", cause, half6, [[[21]]], Gives([[21]], "float32"), why, half7, [[21]])
    one, most = np.array([[1]]), 2**63 - 1
    large = Model("Gemm", 13, {}, np.array([[most]]), more=(one, 0 * one))
    cause, why = "Gemm multiplies integers by", "a number times 1, plus 0, is that number"
    small = replace(large, x=2 * one)
    yield Check("reference", cause, large, [[[most]]], Gives([[-most - 1]]), why, small, [[2]])
    stack, why = replace(gemm, x=row[None]), "“The shape of A should be (M, K)”"
    cause = "Gemm takes an A with more axes"
    yield Check("reference", cause, stack, [], Gives([[[21]]]), why, gemm, [[21]])
    ninth, why = replace(gemm, opset=9), "C is optional from version 11 on"
    nothing, cause = replace(ninth, more=(column,)), "Gemm before version 11 does"
    yield Check("reference", cause, nothing, [], Gives([[11]]), why, ninth, [[21]])


def _batches_by_reference() -> Iterator[Check]:
    """BatchNormalization on onnx.reference: with an epsilon of 5, the variance 4 has the root 3."""

    def batch(opset: int, *x: float, dtype: Any = np.float32, **attrs: Any) -> Model:
        given = tuple(np.array([value], dtype) for value in (3, 1, 4, 4))
        attrs = {"epsilon": 5.0, **attrs}
        return Model("BatchNormalization", opset, attrs, np.array([[[x]]], dtype), more=given)

    given, right, why = batch(15, 1, 7), [[[[-2, 4]]]], "the deviations -3 and 3 are divided by 3"
    first = batch(1, 1, 7, consumed_inputs=[0, 0], is_test=1)
    refused = Raises("No implementation for operator 'BatchNormalization'")
    cause = "BatchNormalization-1 is not computed"
    yield Check("reference", cause, first, [right], refused, why, given, right)
    refused, cause = Raises("class 'BatchNormalization_6' is a tuple"), "BatchNormalization-6 in"
    trained, why = [[[[-1, 3]]]], "the deviations are -2 and 2, those of the batch too"
    sixth = batch(6, 2, 6, is_test=1)
    for model in (_with(sixth, is_test=0), batch(7, 2, 6)):
        yield Check("reference", cause, model, [trained], refused, why, sixth, trained)
    pairs = tuple(np.full((2, 2), value, np.float32) for value in (3, 1, 4, 4))
    each = replace(batch(7, spatial=0), x=np.full((2, 2, 2), 7, np.float32), more=pairs)
    whole = tuple(pair[0] for pair in pairs)
    cause, why = "BatchNormalization-7 ignores", "3 is divided by 3, then 3 times that plus 1 is 4"
    words, control = Raises("operands could not be broadcast"), replace(each, opset=15, attrs={})
    control, fours = replace(control, attrs={"epsilon": 5.0}, more=whole), np.full((2, 2, 2), 4)
    yield Check("reference", cause, each, [fours], words, why, control, fours)
    ninth, control = (batch(opset, -2, 10, momentum=0.5) for opset in (9, 15))
    cause, why = (
        "BatchNormalization-9 mixes",
        "6 is divided by 3; 36 is mixed with 4, whose root is 5",
    )
    mixed, seven = Gives([[[[-2.6, 4.6]]]]), [[[[-5, 7]]]]
    yield Check("reference", cause, ninth, [seven], mixed, why, control, seven)
    means, control = replace(ninth, output=1), replace(_with(control, training_mode=1), output=1)
    cause, why = "BatchNormalization-9 has no other", "4 is the mean that is given, and that of X"
    lacks = Raises("Unable to find output name")
    yield Check("reference", cause, means, [[4]], lacks, why, control, [4])
    vector = replace(batch(15, training_mode=1), x=np.array([2, 6], np.float32))
    cause, why = "BatchNormalization takes no vector", "“in which case C is assumed to be 1”"
    words, control = Raises("index 1 is out of bounds"), _with(vector, training_mode=0)
    yield Check("reference", cause, vector, [[-1, 3]], words, why, control, [-1, 3])
    scalar, one = (replace(control, x=np.array(x, np.float32)) for x in (7, [7]))
    cause, why = "BatchNormalization takes any rank", "there is no batch, nor a channel"
    yield _taken("reference", cause, scalar, [4], why, one)
    half, small = (batch(15, x, -x, dtype=np.float16, training_mode=1) for x in (800, 2))
    cause, why = (
        "BatchNormalization in training",
        "800² = 640000 is no float16, but 800 is its root",
    )
    lost = Gives([[[[1, 1]]]])
    yield Check("reference", cause, half, [[[[4, -2]]]], lost, why, small, [[[[3, -1]]]])
    wide = (*small.more[:2], *(value.astype(np.float32) for value in small.more[2:]))
    mean, why = replace(small, more=wide, output=1, gives="float32"), "the type of input_mean, U"
    control = batch(15, 2, -2, training_mode=1)
    control = replace(control, output=1)
    yield Check("reference", cause, mean, [[3.6]], Gives([3.6], "float16"), why, control, [3.6])
    two = replace(given, x=np.full((1, 2, 1), 7, np.float32), more=whole)
    short, why = replace(two, more=(whole[0][:1], *whole[1:])), "“Scale tensor of shape (C).”"
    cause = "BatchNormalization takes a scale"
    yield _taken("reference", cause, short, [[[4], [4]]], why, two)


def _pooled_by_reference() -> Iterator[Check]:
    """AveragePool and MaxPool on onnx.reference."""
    mean = Model("AveragePool", 1, {"kernel_shape": [2], "pads": [1, 0]}, _x(2, 4))
    cause, why = "AveragePool-1 counts padding", "“divided by the number of elements exclude pad”"
    later, right = replace(mean, opset=7), _pool(2, 3)
    yield Check("reference", cause, mean, [right], Gives(_pool(1, 3)), why, later, right)
    image = np.array([[[[1, 2], [7, 4]]]], np.float32)
    most = Model("MaxPool", 12, {"kernel_shape": [2, 2], "pads": [1, 1, 0, 0]}, image)
    cause, why = (
        "MaxPool without strides and dilations reads",
        "the windows are 1, 1 2, 1 7 and all",
    )
    high, four = Gives([[[[2], [7], [7]]]]), [[[[1, 2], [7, 7]]]]
    strided = _with(most, strides=[1, 2])
    yield Check("reference", cause, most, [four], high, why, strided, [[[[1], [7]]]])
    plain, whole = _with(most, kernel_shape=[1, 2], pads=[0, 0, 0, 0]), [[[[2], [7]]]]
    vector = Model("MaxPool", 12, {"kernel_shape": [2], "pads": [1, 1]}, _x(1, 3, 2))
    cause, why = "MaxPool without strides and dilations pads images alone: of", "1, 1 3, 3 2 and 2"
    strided = _with(vector, strides=[2])
    beyond = Raises("is out of bounds")
    yield Check("reference", cause, vector, [_pool(1, 3, 3, 2)], beyond, why, strided, _pool(1, 3))
    small = replace(plain, x=image.astype(np.int8))
    cause, why = "MaxPool without strides and dilations pads with NaN", "2 of 1 and 2, 7 of 7 and 4"
    refused = Raises("cannot convert float NaN to integer")
    yield Check("reference", cause, small, [whole], refused, why, plain, whole)
    places = replace(_with(plain, kernel_shape=[2, 1]), output=1, gives="int64")
    cause, why = "MaxPool without strides and dilations finds", "7 stands at 2, and 4 at 3"
    strides, at = _with(places, strides=[2, 1]), [[[[2, 3]]]]
    yield Check("reference", cause, places, [at], Gives([[[[1, 2]]]]), why, strides, at)
    same = Model("MaxPool", 12, {"kernel_shape": [2], "auto_pad": "SAME_UPPER"}, _x(1, 3, 2))
    cause = "MaxPool without strides and dilations pads images alone under"
    why, words, two = "1 3, 3 2 and 2", Raises("tuple index out of range"), _with(same, strides=[2])
    yield Check("reference", cause, same, [_pool(3, 3, 2)], words, why, two, _pool(3, 2))
    cause, why = "MaxPool with strides or dilations rounds", "⌈3 / 2⌉ = 2: 1 after padding, and 3 2"
    lower = _with(two, auto_pad="SAME_LOWER")
    yield Check("reference", cause, lower, [_pool(1, 3)], Gives(_pool(3)), why, two, _pool(3, 2))


def _broadcast_by_reference() -> Iterator[Check]:
    """Global pools, PRelu, Pow, Einsum and LogSoftmax on onnx.reference."""
    none = Model("GlobalAveragePool", 22, {}, np.zeros((0, 1, 1, 2), np.float32))
    cause, why = "GlobalAveragePool refuses", "N is 0 in X and in Y"
    words, one = Raises("division by zero"), replace(none, x=np.array([[[[1, 3]]]], np.float32))
    empty = np.zeros((0, 1, 1, 1))
    yield Check("reference", cause, none, [empty], words, why, one, [[[[2]]]])
    most = Model("GlobalMaxPool", 22, {}, np.array([[[1, 3], [2, 4]]], np.float32))
    cause, why = "GlobalMaxPool takes", "the channels are 1, 3 and 2, 4"
    image, wrong = replace(most, x=most.x[..., None]), Gives([[4]])
    yield Check("reference", cause, most, [[[[3], [4]]]], wrong, why, image, [[[[3]], [[4]]]])
    slope = Model("PRelu", 6, {}, -_PAIR, more=(np.array([[2]], np.float32),))
    flat, cause = replace(slope, more=(slope.more[0][0],)), "PRelu-1 and -6 stretch"
    why, twice = "Y is of the same shape as X", [-2, -4]
    yield Check("reference", cause, slope, [twice], Gives([twice]), why, flat, twice)
    cause, why = "PRelu broadcasts X", "the slope is “unidirectional broadcastable” to X"
    later = replace(flat, opset=16)
    larger = replace(slope, opset=16)
    yield Check("reference", cause, larger, [], Gives([twice]), why, later, twice)
    zero = replace(later, x=np.zeros(1, np.float32), more=(np.array([-inf], np.float32),))
    cause, why = "PRelu multiplies 0", "“f(x) = x for x >= 0”"
    yield Check("reference", cause, zero, [[0]], Gives([nan]), why, later, twice)
    square = Model("Pow", 1, {"broadcast": 1}, _PAIR, more=(np.array(2, np.float32),))
    cause, why = "Pow-1 refuses its", "“Pass 1 to enable broadcasting”"
    words, plain = Raises("attributes ['broadcast']"), replace(square, opset=7, attrs={})
    yield Check("reference", cause, square, [[1, 4]], words, why, plain, [1, 4])
    inverse = Model("Pow", 13, {}, np.array([1]), more=(np.array([-1]),))
    cause, why = "Pow refuses integers", "1 to the power of -1 is 1"
    words = Raises("Integers to negative integer powers are not allowed")
    control = replace(inverse, more=(np.array([2]),))
    yield Check("reference", cause, inverse, [[1]], words, why, control, [1])
    product = Model("Einsum", 12, {"equation": "...i,...i->..."}, _SQUARE, more=(_PAIR,))
    cause, why = "Einsum broadcasts", "“must represent the same number of dimensions”"
    row = replace(product, more=(_PAIR[None],))
    yield _taken("reference", cause, product, [5, 11], why, row)
    apart = Model("LogSoftmax", 13, {}, np.array([0, 1000], np.float32))
    cause, why = "LogSoftmax is computed", "0 - 1000 - log(1 + exp(-1000)) is -1000"
    even, half = replace(apart, x=np.zeros(2, np.float32)), [-0.6931472, -0.6931472]
    yield Check("reference", cause, apart, [[-1000, 0]], Gives([-inf, 0]), why, even, half)


def _normalized_by_reference() -> Iterator[Check]:
    """Normalizations on onnx.reference."""
    ones = np.ones(2, np.float32), np.array([1, 2], np.float32)
    instance = Model("InstanceNormalization", 22, {}, _row(5, 7)[..., None], more=ones)
    cause, why = "InstanceNormalization takes any", "“in the form of (N x C x D1 x D2 ... Dn)”"
    line = replace(instance, x=_PAIR[:1], more=(ones[0][:1], ones[1][:1]))
    yield Check("reference", cause, line, [], Gives([1]), why, instance, [[[1], [2]]])
    cause = "InstanceNormalization's scale and B"
    wide, why = (
        replace(instance, more=(ones[0][:1], ones[1])),
        "“scale tensor of size C”, which is 2",
    )
    yield _taken("reference", cause, wide, [[[1], [2]]], why, instance)
    shares = Model("LpNormalization", 22, {"p": 1}, _row(3, -4))
    yield Check(
        "reference",
        "LpNormalization with p = 1",
        shares,
        [[[3 / 7, -4 / 7]]],
        Gives([[-3, 4]]),
        "the norm is 3 + |-4| = 7",
        _with(shares, p=2),
        [[0.6, -0.8]],
    )
    cubes, why = (
        _with(replace(shares, x=_row(3, 4)), p=3),
        "“The order of the normalization, only 1 or 2 are supported”",
    )
    two, cause = _with(shares, p=2), "The range of p is not checked"
    yield Check(
        "reference", cause, cubes, [], Gives(_row(3, 4) / 91 ** (1 / 3)), why, two, [[0.6, -0.8]]
    )
    half = np.array([[256, -256]], np.float16)
    root = Model("RMSNormalization", 23, {"epsilon": 0.0}, half, more=(half[0] / half[0],))
    yield Check(
        "reference",
        "RMSNormalization computes",
        root,
        [[[1, -1]]],
        Gives([[0, -0.0]]),
        "“casts all input variables to 32-bit float”, where the root of the mean square is 256",
        replace(root, x=half / 16),
        [[1, -1]],
    )
    single = replace(root, x=half.astype(np.float32), more=ones[:1])
    yield Check(
        "reference",
        "RMSNormalization gives Y",
        replace(single, more=root.more, gives="float16"),
        [[[1, -1]]],
        Gives([[1, -1]], "float32"),
        "V is the type of scale and of Y",
        single,
        [[1, -1]],
    )
    line = replace(single, x=single.x[0], more=(ones[0][:1],), attrs={"axis": 1, "epsilon": 0.0})
    cause, why = "RMSNormalization does not check", "“allowed range is [-r, r)”, and r is 1"
    yield _taken("reference", cause, line, [1, -1], why, _with(line, axis=0))
    tall = replace(single, more=(np.ones((2, 2), np.float32),))
    yield Check(
        "reference",
        "RMSNormalization stretches X",
        tall,
        [],
        Gives([[1, -1]] * 2),
        "“`Scale` should be unidirectional broadcastable to tensor `X`”",
        single,
        [[1, -1]],
    )
    yield Check(
        "reference",
        "LRN sums the squares",
        _RESPONSE,
        [[[[[0.5]], [[0.4]]]]],
        Gives([[[[0.5]], [[2.0]]]]),
        "2 / (1 + 4) is 0.4",
        replace(_RESPONSE, x=_RESPONSE.x[:, :1]),
        [[[[0.5]]]],
    )
    yield _images_alone("reference", "LRN only applies on 4D tensors")
    yield _float32_constants("reference", "Input type mismatch: float64 != float32")


def _cut_and_padded_by_reference() -> Iterator[Check]:
    """Slice, Pad, CenterCropPad, Range, EyeLike and Dropout on onnx.reference."""

    def part(x: Array, *indices: Any, **attrs: list[int]) -> Model:
        return Model("Slice", 13, attrs, x, more=tuple(np.array(list_) for list_ in indices))

    def pad(x: Array, pads: list[int], *more: Array, opset: int = 13, **attrs: str) -> Model:
        return Model("Pad", opset, attrs, x, more=(np.array(pads, np.int64), *more))

    def crop(*shape: int, **attrs: list[int]) -> Model:
        return Model("CenterCropPad", 18, attrs, _SQUARE, more=(np.array(shape),))

    def scalar(value: float, dtype: Any = np.float32) -> Array:
        return np.array(value, dtype)

    def taken(cause: str, model: Model, answer: npt.ArrayLike, why: str, control: Model) -> Check:
        return _taken("reference", cause, model, answer, why, control)

    yield Check(
        "reference",
        "Slice-13 does not clamp a start",
        part(_VECTOR, [-9], [-9], [0], [-1]),
        [[1]],
        Gives(np.zeros(0)),
        "“for negative stepping”, the start is clamped to 0, and the end to -1",
        part(_VECTOR, [0], [-9], [0], [-1]),
        [1],
    )
    whole, right = part(_SQUARE, [0, 0], [2, 2], [0, 1]), part(_SQUARE, [1], [2], [1])
    why = "starts and ends are those “of corresponding axis in `axes`”, of which there are two"
    fewer = part(_SQUARE, [0, 1], [2], [0, 1])
    yield taken("Slice stops at the end", fewer, _SQUARE, why, whole)
    why, columns = "“1-D tensor of starting indices”", [[2], [4]]
    yield taken("Slice takes starts of rank 0", part(_SQUARE, 1, [2], [1]), columns, why, right)
    named, why = part(_SQUARE, [1], [2], axes=[1]), "Slice-13 has no attributes"
    yield taken("Slice obeys the attribute axes", named, columns, why, right)
    yield Check(
        "reference",
        "Pad refuses pads below 0",
        pad(_VECTOR, [-1, 0]),
        [[4, 2]],
        Raises("index can't contain negative values"),
        "“the number of padding elements to add or remove (if negative)”",
        pad(_VECTOR, [1, 0]),
        [0, 1, 4, 2],
    )
    yield Check(
        "reference",
        "Pad refuses a tensor of rank 0",
        pad(scalar(3), []),
        [3],
        Raises("(operator 'Pad_11')"),
        "“a 1D tensor of shape [2 * input_rank]” has no element where the rank is 0",
        pad(_PAIR, [0, 0]),
        _PAIR,
    )
    texts = np.array(["a"], object)
    yield Check(
        "reference",
        "Pad fills texts",
        pad(texts, [1, 0]),
        [["", "a"]],
        Gives(np.array([0, "a"], object)),
        "constant_value “defaults to 0, empty string, or False”",
        pad(texts, [1, 0], np.array("b", object)),
        ["b", "a"],
    )
    edge = pad(_PAIR, [0, 1], mode="edge")
    why = "“Supported modes: `constant`(default), `reflect`, `edge`”"
    yield taken("Pad takes any mode", _with(edge, mode="symmetric"), [1, 2, 2], why, edge)
    seven, beyond = [[1, 2, 7], [3, 4, 7]], "“Accepted range is [-r, r-1]”, and r is 2"
    third, last = (pad(_SQUARE, [0, 1], scalar(7), np.array([n]), opset=18) for n in (-3, -1))
    yield taken("Pad and CenterCropPad add", third, seven, beyond, last)
    column = [[1], [3]]
    yield taken("Pad and CenterCropPad add", crop(1, axes=[-3]), column, beyond, crop(1, axes=[-1]))
    two, one = pad(_PAIR, [0, 1], np.array([9, 7], np.float32)), pad(_PAIR, [0, 1], scalar(7))
    yield taken("Pad takes two values", two, [1, 2, 7], "“A scalar value to be used”", one)
    why = "“1-D tensor representing the cropping window dimensions.”, of which there are two"
    yield taken("CenterCropPad does not compare", crop(1), [[1, 2]], why, crop(1, 2))
    steps = Model("Range", 11, {}, np.array(0), more=(np.array(2**62 + 1), np.array(2**61)))
    yield Check(
        "reference",
        "Range counts in float64",
        steps,
        [[0, 2**61, 2**62]],
        Gives([0, 2**61]),
        "“ceil( (limit - start) / delta )” is the least number that is not below 2 + 2^-61, 3",
        replace(steps, more=(np.array(2**62 + 2**60), np.array(2**61))),
        [0, 2**61, 2**62],
    )
    count = Model("Range", 11, {}, scalar(1), more=(scalar(4), scalar(1)))
    first, why = replace(count, x=np.array([1], np.float32)), "start is a “Scalar.”"
    yield taken("Range takes a tensor of one", first, [1, 2, 3], why, count)
    eye, why = Model("EyeLike", 22, {}, _SQUARE), "“Only 2D tensors are supported”"
    yield taken("EyeLike makes a square", replace(eye, x=_PAIR), np.eye(2), why, eye)
    test = Model("Dropout", 1, {"is_test": 1}, _PAIR)
    yield Check(
        "reference",
        "Dropout-1 and Dropout-6 are not computed",
        test,
        [_PAIR],
        Raises("No implementation for operator 'Dropout'"),
        "“if nonzero, run dropout in test mode where the output is simply Y = X.”",
        replace(test, opset=7, attrs={}),
        _PAIR,
    )
    training = Model("Dropout", 13, {}, _PAIR, more=(scalar(0), np.array(True)))
    yield Check(
        "reference",
        "The range of Dropout's ratio",
        replace(training, more=(scalar(-0.5), np.array(True))),
        [],
        Gives([2 / 3, 4 / 3]),
        "“The ratio of random dropout, with value in [0, 1).”",
        training,
        _PAIR,
    )
    why, modes = "training_mode is a “boolean scalar”", (scalar(0), np.array([True, False]))
    cause = "Dropout does not look at"
    yield taken(cause, replace(training, more=modes), _PAIR, why, training)
    yield from _scattered_by_reference()
    yield from _one_hot_by_reference()
    yield from _unique_by_reference()
    yield from _cast_by_reference()
    clip = Model("Clip", 13, {}, _PAIR, more=(np.array(1.5, np.float32),))
    axes, why = replace(clip, more=(clip.more[0][None],)), "min “must be a scalar(tensor of empty"
    yield _taken("reference", "Clip takes bounds", axes, [1.5, 2], f"{why} shape).”", clip)
    first = Model("Clip", 1, {"max": 1.5}, _PAIR)
    yield Check(
        "reference",
        "Clip-1 is not computed",
        first,
        [[1, 1.5]],
        Raises("No implementation for operator 'Clip'"),
        "2 is above 1.5",
        replace(first, opset=6),
        [1, 1.5],
    )


def _scattered_by_reference() -> Iterator[Check]:
    def with_updates(model: Model, *updates: Any) -> Model:
        return replace(model, more=(model.more[0], np.array(updates, np.float32)))

    one, five = np.array([1]), np.array([5], np.float32)
    elements = Model("ScatterElements", 18, {"axis": 0}, _PAIR, more=(one, five))
    slices = Model("ScatterND", 18, {}, _SQUARE, more=(one[None], _row(5, 5)))
    cache = Model("TensorScatter", 24, {"axis": 1}, _row(1, 2), more=(five[None], one))
    of_cache = replace(cache, more=(five[None], np.array([1, 0])))
    rows, both = [[1, 2], [5, 5]], "ScatterElements and ScatterND take"
    same = "updates have the “same rank and shape as indices”"
    must = "“the shape of `updates` must equal indices.shape[0:q-1] ++ data.shape[k:r]”, [1, 2]"
    vector = "a vector has the axes -1 and 0"
    axis, size = "a tensor of rank 2 has the axes -2 to 1", "“Shape is `(batch_size,)`.”, [1]"
    none = "“Type of reduction to apply: none (default), add, mul, max, min.”"
    for cause, wrong, answer, why, right in (
        ("ScatterElements does not", _with(elements, axis=-2), [1, 5], vector, elements),
        (f"{both} as", with_updates(elements, 5, 6), [1, 5], same, elements),
        ("ScatterND stretches", with_updates(slices, [5]), rows, must, slices),
        (f"{both} any", _with(elements, reduction="sub"), [1, 5], none, elements),
        ("TensorScatter takes its", _with(cache, axis=-3), [[1, 5]], axis, cache),
        ("TensorScatter does not", of_cache, [[1, 5]], size, cache),
    ):
        yield _taken("reference", cause, wrong, answer, why, right)


def _one_hot_by_reference() -> Iterator[Check]:
    second, zero_one = np.array([1], np.float32), np.array([0, 1], np.float32)
    right = Model("OneHot", 11, {"axis": 1}, second, more=(np.array(2), zero_one))
    vector = replace(right, more=(np.array([2]), zero_one))
    fraction, infinite = replace(right, x=second * 1.75), np.array([inf, 1], np.float32)
    of_infinity = replace(right, more=(np.array(2), infinite))
    cast = "“the values will be casted to int64 before use”, and 1.75 becomes 1"
    depth = "“Scalar or Rank 1 tensor containing exactly one element”"
    for cause, wrong, want, shows, why in (
        ("OneHot refuses a depth", vector, [[0, 1]], Raises("(operator 'OneHot')"), depth),
        ("OneHot does not cast", fraction, [[0, 1]], Gives([[0, 0]]), cast),
        (
            "OneHot computes",
            of_infinity,
            [[inf, 1]],
            Gives([[nan, nan]]),
            "class 0 has off_value, which is infinity, and class 1 has on_value",
        ),
    ):
        yield Check("reference", cause, wrong, [want], shows, why, right, [[0, 1]])
    why = "“Accepted range is [-r-1, r] where r = rank(indices).”, which is 1"
    yield _taken("reference", "OneHot does not check", _with(right, axis=2), [[0, 1]], why, right)
    below, why = replace(right, more=(np.array(-1), zero_one)), "no axis has -1 elements"
    cause, nothing = "OneHot takes a depth below", Gives(np.zeros((1, 0)))
    yield Check("reference", cause, below, [], nothing, why, right, [[0, 1]])


def _words(*texts: Any) -> Array:
    return np.array([*texts], object)


#: Of 1, 2, 1 each number is counted.
_COUNTED = Model(
    "TfIdfVectorizer",
    9,
    {"mode": "TF", "max_skip_count": 0, "min_gram_length": 1, "max_gram_length": 1}
    | {"ngram_counts": [0], "pool_int64s": [1, 2], "ngram_indexes": [0, 1]},
    np.array([1, 2, 1]),
    gives="float32",
)
_LISTS = "“This list is parallel to the specified 'pool_*' attribute.”"
_POOLS = "“Only one of pool_strings and pool_int64s can be set.”"
_NORMAL = Model("StringNormalizer", 10, {"is_case_sensitive": 1, "stopwords": ["x"]}, _words("a"))
_SPLIT_TEXT = Model("StringSplit", 20, {}, _words("a\tb"), after=1)


def _texts_by_onnxruntime() -> Iterator[Check]:
    ort, upper = "onnxruntime", _with(_NORMAL, case_change_action="UPPER")
    spaces = replace(_SPLIT_TEXT, x=_words("a b"))
    no_rows = replace(_COUNTED, x=np.zeros((0, 3), np.int64))
    rows, one_row = [np.zeros((0, 2))], replace(_COUNTED, x=_COUNTED.x[None])
    for cause, wrong, want, shows, why, right, answer in (
        (
            "StringNormalizer is refused where",
            upper,
            [["A"]],
            Raises("construct locale"),
            "“Default en_US or platform specific equivalent as decided by the implementation.”",
            _NORMAL,
            ["a"],
        ),
        (
            "StringSplit without a delimiter",
            _SPLIT_TEXT,
            [[["a", "b"]]],
            Gives([["a\tb"]]),
            "“consecutive whitespace characters are regarded as a single separator”",
            spaces,
            [["a", "b"]],
        ),
        (
            "TfIdfVectorizer refuses an input",
            no_rows,
            rows,
            Raises("with B > 0"),
            "“produces a [N, max(ngram_indexes) + 1]-tensor”",
            one_row,
            [[2, 1]],
        ),
        (
            "TfIdfVectorizer with fewer",
            _with(_COUNTED, ngram_indexes=[0]),
            [],
            Dies("terminate"),
            _LISTS,
            _COUNTED,
            [2, 1],
        ),
    ):
        sometimes = why.startswith("“Default en_US")
        yield Check(ort, cause, wrong, want, shows, why, right, answer, sometimes=sometimes)
    both, longer = (
        _with(_COUNTED, pool_strings=["1", "2"]),
        _with(_COUNTED, ngram_indexes=[0, 1, 2]),
    )
    cause = "TfIdfVectorizer takes two pools"
    yield Check(ort, cause, both, [], Gives([0, 0]), _POOLS, _COUNTED, [2, 1])
    empty = Model("StringSplit", 20, {"delimiter": ","}, _words("", "a,b"), output=1, gives="int64")
    cause, one = "StringSplit has no substrings", replace(empty, x=_words("a", "a,b"))
    yield Check(ort, cause, empty, [[1, 2]], Gives([0, 2]), "no delimiter, one text", one, [1, 2])
    often = _with(_COUNTED, mode="TFIDF", weights=[0.1, 1.0])
    often = replace(often, x=np.full(259, 1))
    cause, halves = "TfIdfVectorizer adds up", _with(often, weights=[0.5, 1.0])
    why, shows = "259 times 0.1", Gives([25.900063, 0])
    yield Check(ort, cause, often, [[25.9, 0]], shows, why, halves, [129.5, 0], rtol=1e-6)
    cause = "TfIdfVectorizer takes more"
    yield Check(ort, cause, longer, [], Gives([2, 1, 0]), _LISTS, _COUNTED, [2, 1])


def _texts_by_reference() -> Iterator[Check]:
    weighed = _with(_COUNTED, mode="TFIDF", weights=[10.0, 20.0])
    turned = _with(weighed, ngram_indexes=[1, 0])
    no_rows = replace(_COUNTED, x=np.zeros((0, 3), np.int64))
    one_row = replace(_COUNTED, x=_COUNTED.x[None])
    digit = Model("RegexFullMatch", 20, {"pattern": r"\d"}, _words("1", "\u0663"), gives="bool")
    nul = Model("StringConcat", 20, {}, _words("a"), more=(_words("b\0"),))
    scalar = replace(_SPLIT_TEXT, x=np.array("a b", object))
    spaces = replace(_SPLIT_TEXT, x=_words("a b"))
    both, accent = replace(_NORMAL, x=_words("a x")), replace(_NORMAL, x=_words("ä"))
    empty, cased = replace(_NORMAL, x=_words("a", "")), replace(_NORMAL, x=_words("X", "a"))
    removed = "“removes elements specified in "
    for cause, wrong, want, shows, why, right, answer in (
        (
            "TfIdfVectorizer multiplies",
            turned,
            [20, 20],
            Gives([10, 40]),
            "2 is counted once, times 20; 1 twice, times 10",
            weighed,
            [20, 20],
        ),
        (
            "TfIdfVectorizer without weights",
            _with(_COUNTED, mode="IDF"),
            [1, 1],
            Raises("Issues"),
            "“By default, weights is an all-one tensor.”",
            _COUNTED,
            [2, 1],
        ),
        (
            "TfIdfVectorizer refuses an input",
            no_rows,
            np.zeros((0, 2)),
            Raises("with B > 0"),
            "“produces a [N, max(ngram_indexes) + 1]-tensor”",
            one_row,
            [[2, 1]],
        ),
        (
            "RegexFullMatch has the patterns",
            digit,
            [1, 0],
            Gives([1, 1]),
            r"\d is of ASCII in RE2",
            _with(digit, pattern="1"),
            [1, 0],
        ),
        (
            "StringConcat and StringSplit lose",
            nul,
            ["ab\0"],
            Gives(["ab"]),
            "a and b with NUL behind it",
            replace(nul, more=(_words("b"),)),
            ["ab"],
        ),
        (
            "StringSplit refuses a scalar",
            scalar,
            ["a", "b"],
            Raises("AssertionError"),
            "“one additional rank compared to the input tensor”",
            spaces,
            [["a", "b"]],
        ),
        (
            "StringNormalizer removes stop words",
            both,
            ["a x"],
            Gives(["a"]),
            f"{removed}stopwords”, which is x",
            _NORMAL,
            ["a"],
        ),
        (
            "StringNormalizer strips accents",
            accent,
            ["ä"],
            Gives(["a"]),
            "“output strings needs to be upper/lowercased”, and these are unchanged",
            _NORMAL,
            ["a"],
        ),
        (
            "StringNormalizer removes empty",
            empty,
            ["a", ""],
            Gives(["a"]),
            f"{removed}stopwords”, which is x",
            _NORMAL,
            ["a"],
        ),
        (
            "StringNormalizer looks at the case",
            _with(cased, is_case_sensitive=0),
            ["a"],
            Gives(["X", "a"]),
            "“case-sensitive”, which it is not",
            _NORMAL,
            ["a"],
        ),
    ):
        yield Check("reference", cause, wrong, [want], shows, why, right, answer)
    few, small = (
        _with(weighed, weights=[5.0, 6.0, 7.0]),
        replace(_COUNTED, x=_COUNTED.x.astype("u1")),
    )
    ahead = replace(_with(digit, pattern="(?=1)1"), x=_words("1"))
    why = "“Its length equals to the size of ngram_indexes.”"
    yield Check(
        "reference", "TfIdfVectorizer does not", few, [], Gives([10, 6]), why, weighed, [20, 20]
    )
    for cause, wrong, answer, why, right in (
        ("TfIdfVectorizer takes numbers", small, [2, 1], "“string UTF-8 or int32/int64”", _COUNTED),
        (
            "RegexFullMatch takes patterns",
            ahead,
            [1],
            "“(?=re)” is “NOT SUPPORTED” in RE2",
            _with(ahead, pattern="1"),
        ),
    ):
        yield _taken("reference", cause, wrong, answer, why, right)
    rows = replace(_NORMAL, x=_words(["a"], ["b"]))
    why = "“This operator only accepts [C]- and [1, C]-tensor.”"
    shows = Gives([["a"], ["b"]])
    yield Check("reference", "StringNormalizer takes several", rows, [], shows, why, _NORMAL, ["a"])


def _unique_by_reference() -> Iterator[Check]:
    down, order = np.array([2, 1], np.float32), "“in the order of the first occurrence”"
    alone = Model("Unique", 11, {"sorted": 0}, down)
    places = replace(alone, output=1, gives="int64")
    texts = Model("Unique", 11, {"axis": 0}, np.array([["b"], ["a"]], object))
    beyond, refused = Raises("index 1 is out of bounds"), Raises("attributes ['axis', 'sorted']")
    ascending, column = _with(alone, sorted=1), replace(_with(places, axis=1), x=down[None])
    one, any_type, words = replace(texts, attrs={}), "“any tensor type”", [["a"], ["b"]]
    for cause, wrong, want, shows, why, right, answer in (
        ("Unique in the order", column, [0, 1], beyond, order, places, [0, 1]),
        ("Unique with one output", alone, [2, 1], Gives([1, 2]), order, ascending, [1, 2]),
        ("Unique refuses texts", texts, words, refused, any_type, one, ["a", "b"]),
    ):
        yield Check("reference", cause, wrong, [want], shows, why, right, answer)
    right, why = _with(places, sorted=1), "“Must be one of 0, or 1 (default).”"
    yield _taken("reference", "Unique takes any", _with(places, sorted=2), [1, 0], why, right)


def _cast_by_reference() -> Iterator[Check]:
    fifteen = np.array([15], ml_dtypes.uint4)
    wrapped = Model("Cast", 21, {"to": 22}, fifteen, gives="int4")
    yield Check(
        "reference",
        "Cast and CastLike refuse pairs",
        wrapped,
        [[-1]],
        Raises("(operator 'Cast_19')"),
        "“when OOR, discard higher bits and reinterpret”: four bits that are set are -1",
        Model("Cast", 21, {"to": 3}, fifteen, gives="int8"),
        [15],
    )
    powers = Model("Cast", 24, {"to": 24}, np.array([2, 3], np.float32), gives="float8_e8m0fnu")
    nearest = {"saturate": 0, "round_mode": "nearest"}
    least, most = 2.0**-127, 2.0**127
    of_zero, of_least = np.array([0, 3], np.float32), np.array([least, 3])
    of_infinity = np.array([inf, 3], np.float32)
    table = "the table of “special values to FLOAT8E8M0” has"
    has = "float8e8m0 has 2^-127"
    for cause, x, attrs, want, wrong, why in (
        (
            "Cast and CastLike to float8e8m0",
            of_infinity,
            {},
            most,
            nan,
            f"{table} E8M0_MAX for Inf",
        ),
        ("Cast to float8e8m0 makes", of_zero, nearest, nan, least, f"{table} NaN for 0"),
        ("Cast to float8e8m0 takes", of_least, {}, least, 2 * least, has),
    ):
        model, gives = _with(replace(powers, x=x), **attrs), Gives([wrong, 4])
        yield Check("reference", cause, model, [[want, 4]], gives, why, powers, [2, 4])
    like = np.array([1], ml_dtypes.float8_e8m0fnu)
    control = replace(powers, op="CastLike", attrs={}, more=(like,))
    up, why = (
        _with(control, round_mode="up"),
        "“`up` by default”: 2 stays as it is, and 3 becomes 4",
    )
    refused = Raises("and attributes ['round_mode', 'saturate']")
    yield Check("reference", "CastLike refuses", up, [[2, 4]], refused, why, control, [2, 4])


def _slice_of_openvino() -> Iterator[Check]:
    """Of 1, 4, 2 the part from the second on."""
    first = np.array([1])
    part = Model("Slice", 13, {}, _VECTOR, more=(first, first + 2))
    yield Check(
        "openvino",
        "Slice cuts",
        replace(part, more=(first, np.array([2**63 - 1]))),
        [[4, 2]],
        Gives([4]),
        "“for positive stepping `ends[axes[i]]` is clamped to `[0, dims[axes[i]]]`”, which is to 3",
        part,
        [4, 2],
    )
    no_numbers, held = np.zeros(0, np.int64), Leftovers((0,))
    of_no_axes = replace(part, more=(no_numbers,) * 3)
    said = "“The effective values are initialized as `starts[i] = 0`, `ends[i] = dims[i]`”"
    yield Check(
        "openvino",
        "Slice with lists",
        of_no_axes,
        [_VECTOR],
        held,
        said,
        part,
        [4, 2],
        last=True,
    )
    yield Check(
        "openvino",
        "Slice refuses a scalar",
        replace(of_no_axes, x=np.array(4, np.float32)),
        [4],
        Raises("input_rank.get_length() > 0"),
        said,
        part,
        [4, 2],
    )
    for axis, step, why in (
        (1, 1, "a vector has the axes -1 and 0"),
        (0, 0, "“'steps' cannot be 0.”"),
    ):
        model = replace(part, more=(*part.more, np.array([axis]), np.array([step])))
        cause = "Slice refuses no fed"
        yield Check("openvino", cause, model, [], held, why, part, [4, 2], last=True)


def _pad_of_openvino() -> Iterator[Check]:
    first, two_axes = np.array([1]), "a matrix has the axes -2 to 1"
    behind, seven = np.array([0, 1]), np.array(7, np.float32)
    padded = Model("Pad", 18, {}, _PAIR, more=(behind, seven))
    mirrored = Model("Pad", 18, {"mode": "reflect"}, _PAIR, more=(np.array([1, 0]),), constant=True)
    yield Check(
        "openvino",
        "Pad refuses to reflect",
        replace(mirrored, more=(np.array([2, 0]),)),
        [[1, 2, 1, 2]],
        Raises("pad_mode != op::PadMode::REFLECT"),
        "the example puts two before 1.0 and 1.2, which makes [1.0, 1.2, 1.0, 1.2]",
        mirrored,
        [2, 1, 2],
    )
    yield Check(
        "openvino",
        "Pad of a scalar",
        replace(padded, x=seven, more=(behind[:0],)),
        [7],
        Leftovers(()),
        "a scalar has no axis to be padded, and stays as it is",
        padded,
        [1, 2, 7],
    )
    numbered = replace(padded, x=np.array([1, 2], np.int32), more=(behind, np.array(7, np.int32)))
    for cause, control, value, wrong in (
        ("Pad with a value", padded, -0.0, 0),
        ("Pad puts the value", numbered, 16777217, 16777216),
    ):
        filled = replace(control, more=(behind, np.array(value, control.x.dtype)))
        want, answer, why = [[1, 2, value]], Gives([1, 2, wrong]), f"the value is {value}"
        yield Check("openvino", cause, filled, want, answer, why, control, [1, 2, 7], rtol=0)
    with_7 = Model("Pad", 2, {"pads": [0, 1], "value": 7.0}, _PAIR)
    yield Check(
        "openvino",
        "Pad before version 11 refuses",
        _with(with_7, value=inf),
        [[1, 2, inf]],
        Raises("inf assigned value out of range for f32"),
        "“One float, indicates the value to be filled”, and infinity is one",
        with_7,
        [1, 2, 7],
    )
    cause, whole = "Pad before version 11 takes an integer", _with(with_7, value=7)
    yield _taken("openvino", cause, whole, [1, 2, 7], "value is a FLOAT", with_7)
    cause, of_1 = "Pad before version 11 takes paddings", Model("Pad", 1, {"pads": [0, 1]}, _PAIR)
    control = replace(of_1, attrs={"paddings": [0, 1]})
    yield _taken("openvino", cause, of_1, [1, 2, 0], "paddings are required", control)
    cut = Model("Pad", 18, {}, _SQUARE, more=(np.array([0, 0, 0, -1]),))
    held = Leftovers((0, 0))
    for more, shows, why in (
        ((behind,), held, "“`pads` should be a 1D tensor of shape [2 * num_axes]”, which is 4"),
        ((np.array([0, -2, 0, -2]),), held, "no axis of 2 has room for 4 less"),
        ((behind, seven, first + 1), held, two_axes),
        ((behind, seven, first - 4), Gives(_SQUARE), two_axes),
    ):
        model, cause = replace(cut, more=more), "Pad refuses no fed"
        yield Check("openvino", cause, model, [], shows, why, cut, [[1], [3]], last=True)
    crop = Model("CenterCropPad", 18, {"axes": [1]}, _SQUARE, more=(first,))
    for model, shows, why in (
        (_with(crop, axes=[2]), held, two_axes),
        (_with(crop, axes=[-3]), Gives([[1], [3]]), two_axes),
        (replace(crop, attrs={}, more=(np.ones(3, int),)), held, "two axes, three lengths"),
    ):
        cause = "CenterCropPad refuses no"
        yield Check("openvino", cause, model, [], shows, why, crop, [[1], [3]], last=True)
    one_by_two = replace(crop, attrs={}, more=(np.array([1, 2]),))
    fewer, cause = replace(one_by_two, more=(first,)), "CenterCropPad leaves"
    yield _taken("openvino", cause, fewer, [[1, 2]], "two axes, one length", one_by_two)
    none_of_two, why = replace(one_by_two, more=(np.array([2, 0]),)), "no axis is as long as -1"
    below = replace(none_of_two, more=(np.array([2, -1]),))
    yield _taken("openvino", cause, below, np.zeros((2, 0)), why, none_of_two)


def _range_of_openvino() -> Iterator[Check]:
    up = Model("Range", 11, {}, np.array(9), more=(np.array(15), np.array(2)))
    for cause, model, want, shows, why in (
        (
            "Range of fed numbers",
            replace(up, more=(np.array(4), np.array(2))),
            [],
            Gives([9, 11, 13]),
            "“max( ceil( (limit - start) / delta ) , 0 )” is 0 of ⌈(4 - 9) / 2⌉",
        ),
        (
            "Range divides",
            replace(up, x=np.array(0), more=(np.array(2**33), np.array(2**32))),
            [0, 2**32],
            Dies("exit status -8"),
            "2^33 / 2^32 = 2",
        ),
    ):
        yield Check("openvino", cause, model, [want], shows, why, up, [9, 11, 13])
    zero, step, beyond = (np.array(x, np.int32) for x in (0, 2**30, 2**30 + 1))
    once = replace(up, x=zero, more=(step, step))
    yield Check(
        "openvino",
        "Range of fed integers",
        replace(once, more=(beyond, step)),
        [[0, 2**30]],
        Gives(np.zeros(0)),
        "⌈(2^30 + 1) / 2^30⌉ = 2",
        once,
        [0],
    )
    listed, why = replace(up, x=np.array([9])), "start is a “Scalar.”"
    yield _taken("openvino", "Range takes a vector", listed, [9, 11, 13], why, up)
    byte = [x.astype(np.uint8) for x in (up.x, *up.more)]
    bytes_up, cause = replace(up, x=byte[0], more=(*byte[1:],)), "Integers, and bfloat16 before"
    why = "T is float32, float64, int16, int32 or int64"
    yield _taken("openvino", cause, bytes_up, [9, 11, 13], why, up)


def _functions_of_openvino() -> Iterator[Check]:
    """Functions of each element, and activations."""
    erf = Model("Erf", 13, {}, np.array([1e-10], np.float32))
    exp = Model("Exp", 13, {}, np.array([nan, 1], np.float32))
    sigmoid = Model("HardSigmoid", 6, {"alpha": 0.0, "beta": 0.25}, np.array([1, -1], np.float32))
    softplus = Model("Softplus", 1, {}, np.array([-17], np.float32))
    selu = Model("Selu", 1, {}, np.array([-1], np.float32))
    half = Model("Selu", 6, {"alpha": 1.0, "gamma": 1.0005}, np.array([2000], np.float16))
    brain = Model("Selu", 22, {"alpha": 1.0, "gamma": 1.0036}, np.array([192], ml_dtypes.bfloat16))
    relu = Model("ThresholdedRelu", 10, {}, np.array([-inf, 2], np.float32))
    for cause, model, want, wrong, why, control, right in (
        (
            "Erf of float32",
            erf,
            [1.1283791670955126e-10],
            [0],
            "near 0, erf(x) is 2/√π · x",
            replace(erf, stored="raw_data"),
            [1.1283791670955126e-10],
        ),
        (
            "Exp of float32 and bfloat16",
            replace(exp, x=np.array([88.5, 1], np.float32)),
            [2.7230878e38, 2.7182818],
            [inf, 2.7182818],
            "e^88.5 is 2.7230878e38, and the largest float32 is 3.4028235e38",
            replace(exp, x=exp.x[1:]),
            [2.7182818],
        ),
        (
            "Exp of float32 and narrower",
            exp,
            [nan, 2.7182818],
            [inf, 2.7182818],
            "no number is e to the power of NaN",
            replace(exp, x=exp.x[1:]),
            [2.7182818],
        ),
        (
            "HardSigmoid takes an alpha",
            sigmoid,
            [0.25, 0.25],
            [0.45, 0.05],
            "max(0, min(1, 0 · x + 0.25)) = 0.25",
            _with(sigmoid, alpha=0.5),
            [0.75, 0],
        ),
        (
            "Softplus and Mish add",
            softplus,
            [4.1399376e-8],
            [0],
            "e^-17 is 4.1399377e-8, and near 0, ln(1 + x) is x",
            replace(softplus, x=_PAIR - 2),
            [0.31326169, 0.69314718],
        ),
        (
            "Selu-1 has the defaults",
            selu,
            [-1.11128764],
            [-1.11133074],
            "“default to 1.6732.” and “default to 1.0507.”: 1.0507 · 1.6732 · (e^-1 - 1)",
            _with(selu, alpha=1.6732, gamma=1.0507),
            [-1.11128764],
        ),
        (
            "Selu rounds its alpha",
            half,
            [2001],
            [2002],
            "1.0005 · 2000 = 2001, and gamma is a FLOAT",
            _with(half, gamma=1.0),
            [2000],
        ),
        (
            "Selu of bfloat16 rounds",
            brain,
            [193],
            [192],
            "1.0036 · 192 = 192.69, which is nearest to 193",
            _with(brain, gamma=1.0),
            [192],
        ),
        (
            "Shrink and ThresholdedRelu multiply",
            relu,
            [0, 2],
            [nan, 2],
            "“y = x for x > alpha, y = 0 otherwise”, where alpha is 1",
            replace(relu, x=_PAIR),
            [0, 2],
        ),
    ):
        shows = Gives(wrong)
        yield Check("openvino", cause, model, [want], shows, why, control, right, rtol=1e-6)
    celu = Model("Celu", 28, {}, np.array([1, -1], np.float16))
    yield Check(
        "openvino",
        "Celu refuses every type",
        celu,
        [[1, -0.6321]],
        Raises("Arguments do not have the same element type"),
        "max(0, x) + min(0, e^x - 1), and T has float16 from version 28 on",
        replace(celu, x=celu.x.astype(np.float32)),
        [1, -0.6321],
    )
    third = Model("Reciprocal", 13, {}, np.array([3], ml_dtypes.bfloat16))
    for cause, model in (
        ("On a CPU without AVX-512, functions", third),
        ("Functions of a constant bfloat16", replace(third, stored="raw_data")),
    ):
        yield Check(
            "openvino",
            cause,
            model,
            [[0.333984375]],
            Gives([0.33203125]),
            "1/3 is nearer to 171/512 than to 170/512",
            replace(model, x=third.x - 1),
            [0.5],
            sometimes=model is third,
        )
    yield Check(
        "openvino",
        "Later operators compute float64",
        Model("Cos", 7, {}, np.array([1.0])),
        [[0.5403023058681398]],
        Gives([0.5403022766113281]),
        "the cosine of 1, in float64",
        Model("Cos", 7, {}, np.array([0.0])),
        [1],
        rtol=1e-12,
    )


def _reductions_of_openvino() -> Iterator[Check]:
    """Reductions along axes."""
    rows = Model("ReduceL1", 13, {"axes": [1], "keepdims": 0}, _SQUARE)
    negative = Model("ReduceL2", 18, {"noop_with_empty_axes": 1}, np.array([1.5, -2], np.float32))
    total = Model("ReduceSum", 13, {"keepdims": 0}, _SQUARE, more=(np.array([], np.int64),))
    largest = Model("ReduceMax", 13, {"keepdims": 0}, np.array([-inf, -inf], np.float32))
    exps = Model("ReduceLogSumExp", 13, {"keepdims": 0}, np.array([nan, 3], np.float32))
    odd = Model("ReduceSum", 13, {"keepdims": 0}, np.array([2**24 + 1, 1], np.int32))
    small = Model("ReduceMax", 12, {"keepdims": 0}, np.array([1, 2], np.uint8))
    along = replace(total, x=_IMAGE[0, 0], more=(np.array([2]),))
    third = Model("ReduceLogSum", 13, {"keepdims": 0}, np.array([2.0]))
    for cause, model, want, shows, why, control, right in (
        (
            "ReduceL1, ReduceLogSum and ReduceLogSumExp of version 13",
            rows,
            [3, 7],
            Gives(10),
            "1 + 2 and 3 + 4",
            replace(rows, opset=11),
            [3, 7],
        ),
        (
            "Without axes and with noop_with_empty_axes",
            negative,
            [1.5, 2],
            Gives([1.5, -2]),
            "√((-2)²) = 2",
            replace(negative, op="ReduceSumSquare"),
            [2.25, 4],
        ),
        (
            "Axes of shape [0]",
            total,
            10,
            Raises("Port for tensor name x1 was not found"),
            "“The default is to reduce over all the dimensions”: 1 + 2 + 3 + 4",
            replace(total, constant=True),
            10,
        ),
        (
            "ReduceMax and ReduceMin begin",
            largest,
            -inf,
            Gives(_LOWEST),
            "the larger of two minus infinities",
            replace(largest, x=_PAIR),
            2,
        ),
        (
            "ReduceMax and ReduceMin lose",
            exps,
            nan,
            Gives(inf),
            "e to the power of NaN is no number, nor is a sum with it",
            replace(exps, x=exps.x[1:]),
            3,
        ),
        (
            "All reductions of integers",
            odd,
            2**24 + 2,
            Gives(2**24),
            "16777217 + 1",
            replace(odd, x=odd.x[1:]),
            1,
        ),
        (
            "ReduceMax-12 and ReduceMin-12",
            small,
            2,
            Raises("Unsupported input type u8"),
            "T has uint8 from version 12 on",
            replace(small, opset=13),
            2,
        ),
        (
            "Reductions compute float64",
            third,
            0.6931471805599453,
            Gives(0.6931471824645996),
            "ln 2, in float64",
            replace(third, x=third.x - 1),
            0,
        ),
    ):
        yield Check("openvino", cause, model, [want], shows, why, control, right, rtol=1e-9)
    bfloat = ml_dtypes.bfloat16
    cut = Model(
        "ReduceL1", 18, {"keepdims": 0}, _row(128, 0.75, dtype=bfloat), more=(np.array([1]),)
    )
    kept = Model("ReduceSumSquare", 13, {"keepdims": 0}, _row(2.375, 1.375, dtype=bfloat)[0])
    for cause, model, want, wrong, why, control, right in (
        (
            "Reductions of bfloat16",
            cut,
            [129],
            [128],
            "128.75 is nearer to 129 than to 128",
            replace(cut, x=cut.x[:, :1]),
            [128],
        ),
        (
            "ReduceSumSquare and ReduceLogSumExp of a bfloat16",
            kept,
            7.53125,
            7.5,
            "5.640625 + 1.890625",
            replace(kept, x=kept.x[:1] * 0 + 2),
            4,
        ),
    ):
        yield Check(
            "openvino",
            cause,
            model,
            [want],
            Gives(wrong),
            why,
            control,
            right,
            rtol=1e-6,
            sometimes=True,
        )
    cause, why = "Reductions refuse no fed axis", "a matrix has the axes -2 to 1"
    held = Gives(np.zeros(0))
    yield Check(
        "openvino",
        cause,
        along,
        [],
        held,
        why,
        replace(along, more=(np.array([1]),)),
        [3, 3],
        last=True,
    )


def _products_of_openvino() -> Iterator[Check]:
    """MatMul, Gemm and Einsum."""
    one, odd = np.array([[1]], np.int32), np.array([[2**24 + 1]], np.int32)
    product = Model("MatMul", 13, {}, odd, more=(one,))
    none, why = replace(product, x=one[:, :0], more=(one[:0],)), "the sum of no products is 0"
    control, refused = replace(product, x=one), Raises("object is not initialized")
    cause = "MatMul, Gemm and Einsum of no"
    yield Check("openvino", cause, none, [[[0]]], refused, why, control, [[1]])
    why, wrong = "an integer times 1 is that integer", Gives([[2**24]])
    cause = "Products of integers by"
    yield Check("openvino", cause, product, [odd], wrong, why, control, [[1]], rtol=0)
    six, stack = np.array([[6]], np.float32), np.array([[1, 2]], np.float32)
    gemm = Model("Gemm", 13, {}, stack, more=(stack.T, stack[:, :1]))
    why = "“The shape of A should be (M, K)”"
    yield _taken("openvino", "Gemm takes vectors", replace(gemm, x=stack[0]), [[6]], why, gemm)
    larger, why = replace(gemm, more=(stack.T, stack)), "Y is a [1, 1], and is not broadcast"
    cause, wrong = "Gemm broadcasts the product", Gives([[6, 7]])
    yield Check("openvino", cause, larger, [], wrong, why, gemm, six)
    ninth, why = replace(gemm, opset=9), "C is optional from version 11 on"
    cause, nothing = "Gemm before version 11 does", replace(ninth, more=(stack.T,))
    yield Check("openvino", cause, nothing, [], Gives([[5]]), why, ninth, six)
    trace = Model("Einsum", 12, {"equation": "ii"}, _SQUARE)
    words, control = Raises("Input order must have shape [n]"), _with(trace, equation="ii->")
    why = "no letter occurs once, so that the output has no axes: 1 + 4"
    yield Check("openvino", "Einsum of", trace, [5], words, why, control, 5)
    sums = Model("Einsum", 12, {"equation": "...i,...i->..."}, _SQUARE, more=(_PAIR[None],))
    why = "“every occurrence of ellipsis … must represent the same number of dimensions”"
    cause, fewer = "Einsum broadcasts ellipses", replace(sums, more=(_PAIR,))
    yield _taken("openvino", cause, fewer, [5, 11], why, sums)
    norm = Model("GlobalLpPool", 1, {"p": 3.0}, _x(-3, 4, -5))
    cause, second = "GlobalLpPool-1 refuses", replace(norm, opset=2, attrs={"p": 3})
    refused, why = Raises("Invalid attribute type FLOAT expected: INT"), "3³ + 4³ + 5³ = 6³"
    yield Check("openvino", cause, norm, [_pool(6)], refused, why, second, _pool(6))
    cause, why = "GlobalLpPool takes a p of 0", "there is no norm for a p of 0"
    zero, three = _with(second, p=0), Gives(_pool(3))
    yield Check("openvino", cause, zero, [], three, why, second, _pool(6))
    matrix = Model("GlobalAveragePool", 1, {}, _row(1, 3))
    cause, why = "GlobalAveragePool and GlobalMaxPool take", "“N x C x D1 x D2 ... Dn”"
    line, itself = replace(matrix, x=_x(1, 3)), Gives([[1, 3]])
    yield Check("openvino", cause, matrix, [], itself, why, line, _pool(2))
    attrs = {"kernel_shape": [3], "strides": [2], "auto_pad": "VALID", "ceil_mode": 1}
    valid = Model("MaxPool", 12, attrs, _x(1, 2, 3, 4, 5, 6))
    cause, why = "AveragePool and MaxPool count a window", "the size is ⌈(6 - 3 + 1) / 2⌉ = 2"
    wrong, floor = Gives(_pool(3, 5, 6)), _with(valid, ceil_mode=0)
    yield Check("openvino", cause, valid, [_pool(3, 5)], wrong, why, floor, _pool(3, 5))
    over = {"kernel_shape": [4], "strides": [4], "ceil_mode": 1, "count_include_pad": 1}
    mean = Model("AveragePool", 22, over, _x(2, 4, 6, 8, 10))
    cause, why = (
        "Where pads are given, AveragePool with count_include_pad",
        "the means of 0, 2, 4, 6 and of 8, 0 are 3 and 4; what hangs over the end is no pixel",
    )
    wrong, padded = Gives(_pool(3, 2)), replace(_with(mean, pads=[1, 1]), x=_x(2, 4, 6, 8))
    yield Check("openvino", cause, padded, [_pool(3, 4)], wrong, why, mean, _pool(5, 10))
    past = Model("MaxPool", 12, {"kernel_shape": [1], "strides": [3], "ceil_mode": 1}, _FIVE)
    cause, why = (
        "MaxPool keeps a window",
        "a third window would begin at 6, behind the five elements",
    )
    wrong, floor = Gives(_pool(1, 8, _LOWEST)), _with(past, ceil_mode=0)
    yield Check("openvino", cause, past, [_pool(1, 8)], wrong, why, floor, _pool(1, 8))
    image = np.array([[[[0, 1, 2], [3, 4, 5]]]], np.float32)
    attrs = {"kernel_shape": [1, 2], "storage_order": 1}
    places = Model("MaxPool", 12, attrs, image, output=1, gives="int64")
    cause, why = "With a storage_order of 1", "by columns, 1 is at 2, 2 at 4, 4 at 3, and 5 at 5"
    rows, wrong = _with(places, storage_order=0), Gives([[[[1, 4], [2, 5]]]])
    wanted = [[[[2, 4], [3, 5]]]]
    yield Check("openvino", cause, places, [wanted], wrong, why, rows, [[[[1, 2], [4, 5]]]])
    square = Model("Pow", 15, {}, 100 * one, more=(np.array([[2]], ml_dtypes.bfloat16),))
    cause, short = "Pow of integers with a bfloat16", replace(square, x=16 * one)
    rounded, why = Gives([[9984]]), "100² = 10000, and Z has the type of X"
    yield Check("openvino", cause, square, [[[10000]]], rounded, why, short, [[256]], rtol=0)
    total = Model("CumSum", 14, {}, _ONE_TO_FOUR, more=(np.array(0),))
    cause, beyond = "CumSum checks no axis", replace(total, more=(np.array(1),))
    why, held, right = "a vector has the axes -1 and 0", Leftovers((4,)), [1, 3, 6, 10]
    yield Check("openvino", cause, beyond, [], held, why, total, right, last=True)


def _normalizations_of_openvino() -> Iterator[Check]:
    """PRelu and normalizations."""
    slope = Model("PRelu", 16, {}, -np.ones((1, 2, 2), np.float32), more=(_PAIR + 1,))
    cause, matrix = "PRelu takes a slope", replace(slope, x=slope.x[0])
    wrong, why, rows = (
        Gives([[[-2, -2], [-3, -3]]]),
        "a shape of [2] is that of rows",
        [[-2, -3]] * 2,
    )
    yield Check("openvino", cause, slope, [[rows]], wrong, why, matrix, rows)
    many = Model("PRelu", 16, {}, np.array([16777217], np.uint32), more=(np.array([2], np.uint32),))
    few, what = replace(many, x=many.more[0]), "f(x) = x for x >= 0"
    lost, cause = Gives([16777216]), "PRelu of integers"
    yield Check("openvino", cause, many, [many.x], lost, what, few, [2], rtol=0)
    cause, why = "PRelu does not compare", "only slope is broadcast, to the shape of X"
    line = replace(slope, x=-_PAIR, more=(_PAIR,))
    yield _taken("openvino", cause, replace(line, more=(_SQUARE,)), [-1, -4], why, line)
    ones = np.ones(2, np.float32)
    given = (ones[:1], 0 * ones[:1])
    instance = Model("InstanceNormalization", 6, {"epsilon": 3.0}, _x(1, 3), more=given)
    cause, why = "InstanceNormalization-1 takes", "“4-dimensional tensor of shape NCHW”"
    yield _taken("openvino", cause, replace(instance, opset=1), [[[-0.5, 0.5]]], why, instance)
    flat, none = replace(instance, x=_row(1, 3), more=(ones, 0 * ones)), [[[0], [0]]]
    cause, why = "InstanceNormalization of a matrix", "each of its instances is its mean"
    deep = replace(flat, x=flat.x[..., None])
    yield Check("openvino", cause, flat, [[[0, 0]]], Gives([[1, 3]]), why, deep, none)
    root, right = Model("RMSNormalization", 23, {}, _row(3, 4), more=(ones,)), [[0.84853, 1.13137]]
    cause, why = "RMSNormalization refuses", "√((3² + 4²) / 2) = 3.53553, and V is not T"
    half, refused = replace(root, more=(ones.astype(np.float16),)), Raises("the same element type")
    yield Check("openvino", cause, half, [right], refused, why, root, right)
    cause, why, wrong = "RMSNormalization takes an axis", "a matrix has two axes", Gives([[1, 1]])
    yield Check("openvino", cause, _with(root, axis=2), [], wrong, why, root, right)
    cause, why = "RMSNormalization takes a scale", "scale is broadcast to X, and not X to scale"
    wide, wrong = replace(root, more=(ones[None, None],)), Gives([right])
    yield Check("openvino", cause, wide, [], wrong, why, root, right)
    channels = _ONE_TO_FOUR.reshape(1, 4, 1, 1)
    local = Model("LRN", 13, {"size": 1, "alpha": 1.0, "beta": 1.0, "bias": 2.0}, channels)
    thirds, why = channels / [[[[3]], [[6]], [[11]], [[18]]]], "x / (2.7 + x²)"
    cut, answer = _with(local, bias=2.7), channels / (2.7 + channels**2)
    yield Check("openvino", "LRN cuts its bias", cut, [answer], Gives(thirds), why, local, thirds)
    pairs = channels / [[[[4.5]], [[8.5]], [[14.5]], [[10]]]]
    cause, why = "LRN leaves the last", "“floor((size - 1) / 2)” before and “ceil(…)” behind"
    wrong, even = Gives(channels / (2 + channels**2 / 2)), _with(local, size=2)
    yield Check("openvino", cause, even, [pairs], wrong, why, local, thirds)
    norm = Model("LpNormalization", 1, {"axis": 0}, np.array([3, 4], np.float32))
    cause, why, wrong = "LpNormalization adds", "√(3² + 4²) = 5", Gives([0.008688, 0.011584])
    small, shares = replace(norm, x=norm.x / 1e6), [0.6, 0.8]
    yield Check("openvino", cause, small, [shares], wrong, why, norm, shares)


def _batches_of_openvino() -> Iterator[Check]:
    """BatchNormalization: with an epsilon of 5, the variance 4 has the root 3."""
    ones = np.ones(1, np.float32)
    attrs, statistics = {"epsilon": 5.0}, (3 * ones, ones, 4 * ones, 4 * ones)
    given = Model("BatchNormalization", 9, attrs, _x(1, 7), more=statistics)
    right, why = [[[-2, 4]]], "the deviations -3 and 3 are divided by 3"
    cause, later = "BatchNormalization-1 and -6 take", replace(given, opset=7, x=_x(2, 6))
    shifted = replace(later, more=(*statistics[:2], ones, 4 * ones))
    wrong, trained = (
        Gives([[[2, 6]]]),
        "4 is the mean of X: the deviations -2 and 2 are divided by 3",
    )
    first = replace(shifted, opset=6)
    yield Check("openvino", cause, first, [[[[-1, 3]]]], wrong, trained, later, [[[-1, 3]]])
    cause, words = "BatchNormalization refuses a vector", "must have rank of at least 2"
    vector = replace(given, x=_x(1, 7)[0, 0])
    yield Check("openvino", cause, vector, [right[0][0]], Raises(words), why, given, right)
    pairs = tuple(np.full((2, 2), value[0], np.float32) for value in statistics)
    each = Model(
        "BatchNormalization", 7, {**attrs, "spatial": 0}, np.full((2, 2, 2), 7), more=pairs
    )
    each, fours = replace(each, x=each.x.astype(np.float32)), np.full((2, 2, 2), 4)
    cause, whole = "BatchNormalization-7 ignores", tuple(pair[0] for pair in pairs)
    control, refused = (
        replace(each, attrs=attrs, opset=9, more=whole),
        Raises("does not have rank 1"),
    )
    why = "3 is divided by 3, then 3 times that plus 1 is 4"
    yield Check("openvino", cause, each, [fours], refused, why, control, fours)
    half = replace(given, opset=15, x=given.x.astype(np.float16))
    halves = tuple(value.astype(np.float16) for value in statistics)
    wide, narrow = replace(half, more=(*halves[:2], *statistics[2:])), replace(half, more=halves)
    cause, why = "BatchNormalization refuses a scale", "T is float16, and U float32"
    refused = Raises("Input element types do not match")
    yield Check("openvino", cause, wide, [right], refused, why, narrow, right)
    first = replace(given, opset=1, attrs={**attrs, "is_test": 1}, x=given.x[..., None])
    cause, why = "BatchNormalization-1 does without", "“consumed_inputs (required)”"
    control, answer = _with(first, consumed_inputs=[0, 0]), [[[[-2], [4]]]]
    yield _taken("openvino", cause, first, answer, why, control)


def _regions(x: Any, *region: float, dtype: Any = np.float32, **attrs: Any) -> Model:
    """A MaxRoiPool of one region, if any, in one bin."""
    rois = np.array([region], dtype) if region else np.zeros((0, 5), dtype)
    stated = {"pooled_shape": [1, 1]} | attrs
    return Model("MaxRoiPool", 22, stated, np.array(x, dtype), more=(rois,))


def _upsampled() -> Iterator[Check]:
    """Upsample by scales that repeat."""
    model = Model("Upsample", 9, {}, _row(1, 2), more=(np.array([1, 2], np.float32),))
    right = [[1, 1, 2, 2]]
    fed = replace(model, constant=True)
    three = replace(fed, more=(np.array([1, 2, 1], np.float32),))
    below = replace(fed, more=(np.array([1, 0.5], np.float32),))
    matrix = replace(fed, more=(np.array([[1, 2]], np.float32),))
    scalar = replace(fed, x=np.array(3, np.float32), more=(np.zeros(0, np.float32),))
    listed = replace(model, opset=7, attrs={"scales": [1.0, 2.0]}, more=())
    count = "“the same as the rank of input 'X'”, which is 2"
    for engine, cause, wrong, shows in (
        ("onnxruntime", "Upsample takes scales of two axes", matrix, Gives(right)),
        ("reference", "Upsample does not compare", three, Gives(right)),
        ("openvino", "Upsample takes scales below 1", below, Gives([[1]])),
    ):
        why = "“greater than or equal to 1”" if wrong is below else count
        yield Check(engine, cause, wrong, [], shows, why, fed, right)
    for engine, cause, words in (
        ("onnxruntime", "Upsample of a scalar", "Either scales or sizes MUST be provided"),
        ("openvino", "Upsample takes a constant of no scales", "is not rank 1"),
    ):
        why = "a scalar has no axis and no scale"
        yield Check(engine, cause, scalar, [3], Raises(words), why, fed, right)
    cause, why = "Upsample is that of version 9", "version 7 has the attribute scales"
    yield Check("reference", cause, listed, [right], Raises("Issues with types"), why, fed, right)
    short = replace(fed, x=fed.x.astype(np.uint16))
    cause, why = "Upsample of bool, int16", "“all tensor types”, and each element twice"
    refused = Raises("Input element type must be f32")
    yield Check("openvino", cause, short, [right], refused, why, fed, right)
    ones = np.ones((2, 1, 1, 1), np.float32)
    batches = replace(fed, x=ones, more=(np.array([2, 1, 1, 1], np.float32),))
    spatial, why = Raises("only supports resize on spatial"), "each of two batches twice"
    wanted = np.ones((4, 1, 1, 1))
    yield Check("openvino", "Upsample scales no axis", batches, [wanted], spatial, why, fed, right)
    large = replace(fed, x=np.array([[16777217, 1]], np.int32))
    cause, why = "Upsample puts int32 through float32", "elements are repeated"
    lost, kept = Gives([[16777216, 16777216, 1, 1]]), [[16777217, 16777217, 1, 1]]
    small = replace(fed, x=np.array([[1, 2]], np.int32))
    yield Check("openvino", cause, large, [kept], lost, why, small, right, rtol=0)


def _resized() -> Iterator[Check]:
    """Resize of pairs: rows [scales], or what a function adds to them."""

    def resize(x: Any, *more: Any, opset: int = 18, **attrs: Any) -> Model:
        x = np.array(x) if np.array(x).dtype.kind == "b" else np.array(x, np.float32)
        return Model("Resize", opset, attrs, x, more=more, constant=True)

    def f(*values: float) -> Any:
        return np.array(values, np.float32)

    pair, twice, right = [[1, 2]], (None, f(1, 2)), [[1, 1, 2, 2]]
    plain = resize(pair, *twice)
    linear, half = resize([[0, 12]], *twice, mode="linear"), [[0, 3, 9, 12]]
    crop: Any = {"coordinate_transformation_mode": "tf_crop_and_resize"}
    part = resize([[1, 2, 3]], f(0, 0.5, 1, 1), f(1, 2), **crop)
    whole = resize([[1, 2, 3]], f(0, 0, 1, 1), f(1, 1), **crop)
    size = "floor(3 · 0.5 · 2) = 3 columns, which are those at 1, 1.5 and 2"
    cause, wrong = "Resize does not make an output", Leftovers((1, 6))
    for engine in ("onnxruntime", "tract", "reference"):
        yield Check(engine, cause, part, [[[2, 2, 3]]], wrong, size, whole, [[1, 2, 3]])
    back = resize(pair, None, f(2), axes=[-1])
    for engine, words in (
        ("reference", "axes don't match"),
        ("openvino", "All axes values should"),
    ):
        why, ahead = "-1 is the last axis", _with(back, axes=[1])
        cause = "Resize takes no negative axis"
        yield Check(engine, cause, back, [right], Raises(words), why, ahead, right)
    sizes = np.array([4])
    kept = resize(pair, None, None, sizes, axes=[-1], keep_aspect_ratio_policy="not_larger")
    ignored = resize(
        [[1, 2], [3, 4]], None, None, np.array([2, 4]), keep_aspect_ratio_policy="not_larger"
    )
    beside = _with(plain, keep_aspect_ratio_policy="not_larger")
    both = resize(pair, None, f(1, 2), np.array([1, 4]))
    outside = resize([[1], [2]], f(0.5, 0, 1.5, 1), f(1, 1), extrapolation_value=7.0, **crop)
    inside = resize([[5]], None, f(1, 4), mode="linear", exclude_outside=1)
    late = _with(plain, coordinate_transformation_mode="tf_half_pixel_for_nn")
    eight = resize([[0, 8, 16, 24]], None, f(1, 0.5), mode="linear", antialias=1)
    first = replace(plain, opset=10, more=twice[1:])
    third, infinite = replace(first, more=(f(1, 3),)), resize([[np.inf, 1]], None, f(2, 1))
    flag = resize([[True, False]], *twice)
    fed, nothing = replace(plain, constant=False), resize(3.0, None, f())
    above = resize([[0, 65504]], *twice, mode="cubic")
    above = replace(above, x=above.x.astype(np.float16))
    cubic = replace(above, x=above.x / 1024)
    top = -_LOWEST
    shares = [share * top for share in (-0.10546875, 0.2265625, 0.7734375)]
    seven = resize(range(7), None, None, np.array([17]))
    each = [0, 0, 1, 1, 1, 2, 2, 3, 3, 3, 4, 4, 5, 5, 5, 6, 6]
    doubled = replace(seven, more=(None, None, np.array([14])))
    large = replace(linear, x=np.array([[0, 1e300]]))
    eleven = replace(late, opset=11, more=(f(), f(1, 2)))
    image = replace(resize([[pair]], None, f(1, 1, 1, 2)), constant=False)
    elevens = replace(fed, opset=11, more=(f(), f(1, 2)))
    six = resize(
        np.ones((2, 1, 2, 3, 2, 3)), None, None, np.array([3, 1, 2, 4, 1, 6]), mode="linear"
    )
    swapped = resize([[1, 2], [3, 4]], None, f(2, 1), axes=[1, 0])
    for engine, cause, model, wants, shows, why, control, answer in (
        (
            "onnxruntime",
            "Resize makes averages of images",
            resize([0, 12], None, f(2), mode="linear"),
            half[0],
            Raises("mode only supports"),
            "at -0.25, 0.25, 0.75 and 1.25",
            linear,
            half,
        ),
        (
            "onnxruntime",
            "Resize takes exclude_outside for",
            inside,
            [[5] * 4],
            Raises("exclude_outside can be set"),
            "there is one element",
            _with(inside, exclude_outside=0),
            [[5] * 4],
        ),
        (
            "onnxruntime",
            "Resize takes scales, sizes and parts",
            late,
            None,
            Gives([[1, 2, 2, 2]]),
            "version 13 has it no more",
            plain,
            right,
        ),
        (
            "onnxruntime",
            "Resize refuses a keep_aspect_ratio_policy",
            beside,
            right,
            Raises("incompatible with a `keep"),
            "“not applicable when the `scales` input is used”",
            plain,
            right,
        ),
        (
            "onnxruntime",
            "Resize of a negative axis",
            kept,
            right,
            Leftovers((1, 2)),
            "4 / 2 is the scale",
            _with(kept, axes=[1]),
            right,
        ),
        (
            "onnxruntime",
            "Resize makes NaN of a cubic",
            resize([[0, top]], *twice, mode="cubic"),
            [[*shares, inf]],
            Gives([[*shares, nan]]),
            "1.10546875 times the largest number",
            resize([[0, 64]], *twice, mode="cubic"),
            [[-6.75, 14.5, 49.5, 70.75]],
        ),
        (
            "onnxruntime",
            "Resize copies an axis",
            outside,
            [[2], [7]],
            Gives([[1], [2]]),
            "rows are at 0.5 and 1.5",
            whole,
            [[1, 2, 3]],
        ),
        (
            "reference",
            "Resize has no version 10",
            first,
            right,
            Raises("output_size is None"),
            "each element twice",
            plain,
            right,
        ),
        (
            "reference",
            "Resize-11 has no tf_half",
            eleven,
            [[1, 2, 2, 2]],
            Raises("Invalid coordinate_transformation_mode"),
            "at 0.25, 0.75, 1.25 and 1.75",
            plain,
            right,
        ),
        (
            "openvino",
            "Resize-11 is asked for a roi",
            elevens,
            right,
            Raises("x1 was not found"),
            "each element twice",
            replace(elevens, constant=True),
            right,
        ),
        (
            "openvino",
            "Resize by fed scales answers",
            replace(image, earlier=(None, f(2, 3, 1, 1))),
            [[right]],
            Leftovers((2, 3, 1, 2)),
            "each element twice",
            image,
            [[right]],
        ),
        (
            "openvino",
            "Resize by averages of six axes",
            six,
            np.ones((3, 1, 2, 4, 1, 6)),
            Dies(""),
            "averages of ones",
            linear,
            half,
        ),
        (
            "reference",
            "Resize of booleans",
            flag,
            [[True, True, False, False]],
            Raises("not inexact"),
            "each element twice",
            plain,
            right,
        ),
        (
            "reference",
            "Resize adds up products",
            infinite,
            [[np.inf, 1]] * 2,
            Gives([[np.nan, 1]] * 2),
            "each element twice",
            plain,
            right,
        ),
        (
            "reference",
            "Resize takes more sizes",
            both,
            None,
            Gives(right),
            "“an error if both are specified”",
            plain,
            right,
        ),
        (
            "reference",
            "Resize makes of a number beyond",
            above,
            [[-6908, 14841, 50663, np.inf]],
            Gives([[-6908, 14841, 50663, 65504]]),
            "65504 · 70.75 / 64 is beyond float16",
            cubic,
            [[-6.7465, 14.4927, 49.475, 70.7134]],
        ),
        (
            "reference",
            "Resize takes other elements",
            seven,
            each,
            Gives([*each[:8], 2, *each[9:]]),
            "(8 + 1/2) · 7 / 17 - 1/2 is 3",
            doubled,
            np.repeat(range(7), 2),
        ),
        (
            "tract",
            "Resize refuses axes that",
            swapped,
            [[1, 1, 2, 2], [3, 3, 4, 4]],
            Raises("Trying to substitute"),
            "axis 1 is twice as wide",
            plain,
            right,
        ),
        (
            "tract",
            "Resize computes float64",
            large,
            [[0, 2.5e299, 7.5e299, 1e300]],
            Gives([[0, np.inf, np.inf, np.inf]]),
            "at 0.25 is a quarter",
            linear,
            half,
        ),
        (
            "tract",
            "Resize-10 takes the element",
            third,
            [[1, 1, 1, 2, 2, 2]],
            Gives([[1, 1, 2, 2, 2, 2]]),
            "each element three times",
            first,
            right,
        ),
        (
            "tract",
            "Resize aborts the process",
            nothing,
            3,
            Dies(""),
            "a scalar has no axis",
            plain,
            right,
        ),
        (
            "tract",
            "Resize takes scales of 0",
            both,
            None,
            Gives(right),
            "“an error if both are specified”",
            plain,
            right,
        ),
        (
            "tract",
            "Resize takes no scales or sizes",
            fed,
            right,
            Raises("output_facts"),
            "each element twice",
            plain,
            right,
        ),
        (
            "openvino",
            "Resize ignores keep_aspect_ratio_policy",
            ignored,
            [[1, 2], [3, 4]],
            Gives([[1, 1, 2, 2], [3, 3, 4, 4]]),
            "1 is the least of 2 / 2 and 4 / 2",
            plain,
            right,
        ),
        (
            "openvino",
            "Resize ignores exclude_outside",
            eight,
            [[5, 19]],
            Gives([[4, 20]]),
            "(0 + 3 · 0 + 3 · 8 + 16) / 8",
            _with(eight, antialias=0),
            [[4, 20]],
        ),
        (
            "openvino",
            "Resize takes scales of 0",
            both,
            None,
            Gives(right),
            "“an error if both are specified”",
            plain,
            right,
        ),
    ):
        wanted = [] if wants is None else [wants]
        yield Check(engine, cause, model, wanted, shows, why, control, answer)


def _losses_and_regions_of_openvino() -> Iterator[Check]:
    x, largest = [[[[1, 2], [4, 3]]]], [[[[4]]]]
    region = _regions(x, 0, 0, 0, 1, 1)
    yield Check(
        "openvino",
        "MaxRoiPool of bfloat16",
        _regions(x, 0, 0, 0, 1, 1, dtype=ml_dtypes.bfloat16),
        [largest],
        Raises("only supports float16, float32, and float64 datatypes"),
        "“tensor(bfloat16)” is among T, and the largest of 1, 2, 4 and 3 is 4",
        region,
        largest,
    )
    yield Check(
        "openvino",
        "MaxRoiPool takes a constant of no regions",
        replace(_regions(x), constant=True),
        [np.zeros((0, 1, 1, 1))],
        Raises("Expected a 2D tensor for the ROIs input"),
        "no regions make no answer, of shape (num_rois, channels, 1, 1)",
        replace(region, constant=True),
        largest,
    )
    yield Check(
        "openvino",
        "MaxRoiPool does not look at the batch",
        _regions(x, -1, 0, 0, 1, 1),
        [],
        Leftovers((1, 1, 1, 1)),
        "there is one image, whose batch_id is 0",
        region,
        largest,
        last=True,
    )
    for cause, model, shows, why in (
        (
            "MaxRoiPool takes a pooled_shape",
            _with(region, pooled_shape=[-4294967295, 1]),
            Gives(np.zeros((1, 1, 0, 1))),
            "no height is below 0",
        ),
        (
            "MaxRoiPool takes an integer",
            _with(region, spatial_scale=1),
            Gives(largest),
            "spatial_scale is a float",
        ),
    ):
        yield Check("openvino", cause, model, [], shows, why, region, largest)
    yield Check(
        "openvino",
        "Losses of classes take weights of any shape",
        _loss("NegativeLogLikelihoodLoss", [[1, 2, 4], [8, 16, 32]], [0, 2], [1, 2]),
        [],
        Gives([-1, 0]),
        "“If given, it has to be a tensor of size C”, and there are three classes",
        _loss("NegativeLogLikelihoodLoss", [[1, 2, 4], [8, 16, 32]], [0, 2], [1, 2, 3]),
        [-1, -96],
    )
    yield Check(
        "openvino",
        "SoftmaxCrossEntropyLoss takes a reduction",
        _loss("SoftmaxCrossEntropyLoss", [[0, 0]], [1], reduction="average"),
        [],
        Gives([0.693147]),
        "“Type of reduction to apply to loss: none, sum, mean(default)”",
        _loss("SoftmaxCrossEntropyLoss", [[0, 0]], [1], reduction="sum"),
        0.693147,
    )


def openvino() -> Iterator[Check]:
    """On OpenVINO's CPU device."""
    lowest = Model("MaxPool", 12, {"kernel_shape": [2]}, _x(-inf, -inf))
    yield _lowest("openvino", "MaxPool of -inf alone", lowest)
    largest = _constant(13, value_float=-_LOWEST)
    yield Check(
        "openvino",
        "On a CPU with instructions for bfloat16, float32 constants",
        largest,
        [-_LOWEST],
        Gives(3.3895313892515355e38),
        "“The value for the sole element for the scalar, float32, output tensor.”",
        _with(largest, value_float=1e38),
        1e38,
        rtol=1e-7,
        sometimes=True,
    )
    whole = _constant(12, np.int64, value_int=7)
    yield Check(
        "openvino",
        "Constant-12 is read as version 11",
        whole,
        [7],
        Raises("unknown attribute 'value'"),
        "“The value for the sole element for the scalar, int64, output tensor.”",
        replace(whole, opset=13),
        7,
    )
    yield Check(
        "openvino",
        "Constant refuses value_string",
        _constant(13, np.dtype("O"), value_string="a"),
        ["a"],
        Raises("Invalid attribute type STRING expected: TENSOR"),
        "“The value for the sole element for the scalar, UTF-8 string, output tensor.”",
        replace(whole, opset=13),
        7,
    )
    yield Check(
        "openvino",
        "From version 13 on Constant reads",
        _constant(13, value_floats=1.5),
        [],
        Gives(1.5),
        "“The values for the elements for the 1D, float32, output tensor.”",
        _constant(13, value_floats=[1.5]),
        [1.5],
    )
    yield Check(
        "openvino",
        "An empty Constant comes out",
        _constant(13, value=_PAIR[:0]),
        [_PAIR[:0]],
        Leftovers(()),
        "“Output tensor containing the same value of the provided tensor.”",
        _constant(13, value=_PAIR),
        _PAIR,
    )
    absent = Model("ConstantOfShape", 9, {"value": _VECTOR[:1]}, _VECTOR[:1], "nothing")
    yield Check(
        "openvino",
        "ConstantOfShape without its input",
        absent,
        [],
        Gives(1),
        "the input, which is the shape, is not optional",
        replace(absent, x=np.array([2]), stored="fed", gives="float32"),
        [1, 1],
    )
    sizes = replace(absent, x=np.array([2]), stored="raw_data", gives="float32")
    short = replace(sizes, x=np.array([2], np.int32))
    cause, why = "ConstantOfShape takes sizes of every integer", "its sizes are “tensor(int64)”"
    yield _taken("openvino", cause, short, [1, 1], why, sizes)
    texts = Model("ConstantOfShape", 9, {"value": _TEXT}, np.array([2]), "raw_data", gives="object")
    yield Check(
        "openvino",
        "ConstantOfShape of constant sizes aborts",
        texts,
        [],
        Dies("exit status -6"),
        f"no text is among T2; {_NO_ABORT}",
        replace(texts, attrs={"value": _VECTOR[:1]}, gives="float32"),
        [1, 1],
    )
    yield Check(
        "openvino",
        "ConstantOfShape takes a negative size",
        _of_shape(np.float32(1), 2, -1),
        [],
        Leftovers((0, 0)),
        _AT_LEAST_0,
        _of_shape(np.float32(1), 2, 1),
        [[1], [1]],
        sometimes=True,
        last=True,
    )
    yield _ignored("openvino")
    yield _saturate("openvino")
    held = Leftovers((1, 2))
    why = "“Two corresponding dimensions must have the same value, or one of them is equal to 1.”"
    yield _expand("openvino", "Expand refuses no shape", [3], [], held, why)
    why = "the shape may be shorter, “or the shape.ndim < input.shape.ndim.”, and adds nothing"
    yield _expand("openvino", "Expand to a shape", [], [[[1, 2]]], held, why)
    x = np.zeros((1, 64), np.float32)
    x[0, [15, 32]] = 1
    at_15, at_32 = np.zeros_like(x), np.zeros_like(x)
    at_15[0, 15] = at_32[0, 32] = 1
    ties = Model("Hardmax", 13, {"axis": 1}, x)
    yield Check(
        "openvino",
        "Hardmax does not keep",
        ties,
        [at_15],
        Gives(at_32),
        "15 is the first of two equal maxima",
        replace(ties, x=at_15),
        at_15,
        sometimes=True,
    )
    same_shape = "the output has the shape of the input, which has no elements"
    empty = np.zeros((2, 0), np.float32)
    yield Check(
        "openvino",
        "Hardmax along an axis",
        Model("Hardmax", 13, {"axis": 0}, empty),
        [empty],
        Leftovers((2, 1)),
        same_shape,
        Model("Hardmax", 13, {"axis": 0}, np.zeros((2, 1), np.float32)),
        [[1], [0]],
    )
    coerced = Model("Softmax", 11, {"axis": 1}, np.zeros((1, 2, 2), np.float32))
    yield Check(
        "openvino",
        "Softmax-11 is",
        coerced,
        [[[[0.25, 0.25], [0.25, 0.25]]]],
        Gives([[[0.5, 0.5], [0.5, 0.5]]]),
        "with axis 1 the input is coerced to one row of 4 equal elements",
        _with(coerced, axis=2),
        [[[0.5, 0.5], [0.5, 0.5]]],
    )
    row = Model("Softmax", 13, {"axis": 1}, _row(1, nan, 3))
    yield Check(
        "openvino",
        "A NaN makes its own",
        row,
        [[[nan, nan, nan]]],
        Gives([[0, nan, 0]]),
        "the sum that divides all of them is NaN",
        replace(row, x=_row(3, 3)),
        [[0.5, 0.5]],
    )
    for cause, axis, shape, full, shows in (
        ("Softmax-1 of a", 0, (0, 3), (1, 3), Leftovers((1, 3))),
        ("Softmax-1 refuses", 1, (2, 3, 0), (2, 3, 1), Raises("'0' dimension is out of range")),
    ):
        none = Model("Softmax", 1, {"axis": axis}, np.zeros(shape, np.float32))
        control = replace(none, x=np.zeros(full, np.float32))
        thirds = np.full(full, 1 / 3)
        yield Check("openvino", cause, none, [none.x], shows, same_shape, control, thirds)
    double = Model("Softmax", 13, {"axis": 1}, np.zeros((1, 3)))
    yield Check(
        "openvino",
        "float64 is",
        double,
        [[[1 / 3, 1 / 3, 1 / 3]]],
        Gives([[float(np.float32(1 / 3))] * 3]),
        "three equal elements have a third each, in float64 to 16 digits",
        replace(double, x=np.zeros((1, 2))),
        [[0.5, 0.5]],
        rtol=1e-12,
    )
    yield _rescaled("openvino")
    over = {"kernel_shape": [7], "strides": [2], "ceil_mode": 1, "p": 1}
    model = Model("LpPool", 18, over, _SIX)
    yield Check(
        "openvino",
        "Under ceil_mode, a",
        model,
        [_pool(63)],
        Raises("(dim: 7) larger than the data shape after padding (dim: 6)"),
        "⌈(6 - 7) / 2 + 1⌉ = 1 window, of all 6 elements: 63",
        _with(model, kernel_shape=[6]),
        _pool(63),
    )
    two = Model("LpPool", 18, {"kernel_shape": [2]}, np.zeros((0, 1, 3), np.float32))
    yield Check(
        "openvino",
        "LpPool refuses an",
        two,
        [two.x[..., :2]],
        Raises("Batch size is zero"),
        "no images of 3 elements give no images of 2",
        replace(two, x=_x(0, 0, 0)),
        _pool(0, 0),
    )
    padded = {"kernel_shape": [2, 2], "pads": [1, 1, 1, 1]}
    model = Model("LpPool", 18, padded, np.zeros((1, 3, 0, 4), np.float32))
    yield Check(
        "openvino",
        "Where all that",
        model,
        [np.zeros((1, 3, 1, 5))],
        Leftovers((1, 3, 1, 5)),
        "each channel has 1 × 5 windows, of zeros that are padding",
        replace(model, x=np.ones((1, 1, 1, 3), np.float32)),
        [[[[1, _R2, _R2, 1], [1, _R2, _R2, 1]]]],
        sometimes=True,
    )
    six = replace(two, x=_SIX)
    norms = (1, _R5, 2 * _R5, 4 * _R5, 8 * _R5)
    yield Check(
        "openvino",
        "A negative pad",
        _with(six, pads=[1, -1]),
        [],
        Gives(_pool(*norms)),
        "a pad has to be “greater than or equal to 0”",
        _with(six, pads=[1, 0]),
        _pool(*norms, 16 * _R5),
    )
    yield Check(
        "openvino",
        "Pads are cut down",
        _with(six, pads=[0, -(2**32)]),
        [],
        Gives(_pool(*norms[1:], 16 * _R5)),
        "a pad has to be “greater than or equal to 0”",
        _with(six, pads=[1, 0]),
        _pool(*norms, 16 * _R5),
    )
    yield Check(
        "openvino",
        "A number is taken",
        _with(six, pads=1),
        [],
        Gives(_pool(*norms, 16 * _R5, 32)),
        "pads are INTS, two for each axis",
        _with(six, pads=[1, 1]),
        _pool(*norms, 16 * _R5, 32),
    )
    square = Model("LpPool", 18, {"kernel_shape": [2, 2]}, _IMAGE)
    edges = [[[[1, _R2, _R2, 1], [_R2, 2, 2, _R2], [1, _R2, _R2, 1]]]]
    for cause, wrong, right, answer, why in (
        ("Half as many", {"pads": [1, 1]}, {"pads": [1] * 4}, edges, "two axes have four ends"),
        (
            "Dilations that are",
            {"dilations": [1]},
            {"dilations": [1, 1]},
            [[[[2, 2]]]],
            "two axes, one dilation",
        ),
    ):
        model, control = _with(square, **wrong), _with(square, **right)
        yield Check("openvino", cause, model, [], Gives(answer), why, control, answer)
    x = _x(3, 4, dtype=ml_dtypes.bfloat16)
    constant = Model("LpPool", 22, {"kernel_shape": [2]}, x, "raw_data")
    yield Check(
        "openvino",
        "LpPool of a constant",
        constant,
        [_pool(5)],
        Raises("Supported primitive descriptors list is empty for node: AvgPool"),
        "√(3² + 4²) = 5",
        replace(constant, stored="fed"),
        _pool(5),
        sometimes=True,
    )
    signs = Model("Hardmax", 13, {"axis": 1}, _row(1, -1, dtype=ml_dtypes.bfloat16), "int32_data")
    yield Check(
        "openvino",
        "A bfloat16 constant in",
        signs,
        [[[1, 0]]],
        Gives([[0, 1]]),
        "1 is the maximum",
        replace(signs, stored="raw_data"),
        [[1, 0]],
    )
    double_where = Model("Where", 16, {}, np.array([True]), more=(np.array([inf]), np.array([0.0])))
    yield Check(
        "openvino",
        "float64 goes",
        replace(double_where, gives="float64"),
        [[inf]],
        Gives([-_LOWEST]),
        "the condition chooses infinity",
        replace(double_where, x=np.array([False]), gives="float64"),
        [0],
    )
    long = np.array([2**40])
    join = Model("Concat", 13, {"axis": 0}, long, more=(np.array([1]),))
    yield Check(
        "openvino",
        "Integers of 64 bits",
        join,
        [[2**40, 1]],
        Gives([0, 1]),
        "2^40 and 1 are joined",
        replace(join, x=np.array([2])),
        [2, 1],
    )
    yield _default_of_concat("openvino", "unknown attribute 'axis'")
    yield _stage_two("openvino", "Later operators compute float64")
    one = Model("Conv", 11, {}, _x(257), more=(_x(1),))
    yield Check(
        "openvino",
        "On a CPU with instructions for bfloat16, Conv",
        one,
        [_pool(257)],
        Gives(_pool(256)),
        "257 · 1 = 257, for which bfloat16 has no room",
        replace(one, x=_x(256)),
        _pool(256),
        sometimes=True,
    )
    tiny, small = np.array([[2.0**-130], [2.0**-120]], ml_dtypes.bfloat16)
    choice = Model("Where", 16, {}, np.array([True]), more=(tiny, small * 0), gives="bfloat16")
    yield Check(
        "openvino",
        "On a CPU with instructions for bfloat16, Where",
        choice,
        [tiny],
        Gives([0]),
        "“Return elements, either from X or Y”: 2^-130 is the one from X, and bfloat16 holds it",
        replace(choice, more=(small, small * 0)),
        small,
        sometimes=True,
    )
    x = np.array([256, 260, 262], ml_dtypes.bfloat16).reshape(1, 1, 1, 1, 3)
    ones = np.ones(3, ml_dtypes.bfloat16)
    mean = Model("LayerNormalization", 17, {}, x, more=(ones,))
    yield Check(
        "openvino",
        "On a CPU with instructions for bfloat16, the mean",
        mean,
        [[[[[[-1.336, 0.2673, 1.069]]]]]],
        Gives([[[[[-1.547, 0, 0.7734]]]]]),
        "the mean is 259⅓ and the variance 6.22, so 260 becomes 0.667 / 2.494 = 0.267; of all this "
        "only the end is rounded to bfloat16",
        replace(mean, x=(x - 256).astype(x.dtype) * 0),
        x * 0,
        rtol=1e-2,
        sometimes=True,
    )
    scaled = Model(
        "LayerNormalization", 17, {"epsilon": 4.0}, _ROW_OF_ODD, more=(np.array(3, "f4"),)
    )
    yield Check(
        "openvino",
        "LayerNormalization reshapes Scale",
        scaled,
        [[[-3, -1, 1, 3]]],
        Raises("Requested output shape [4] is incompatible with input shape"),
        "the mean is 4 and the variance 5, so the root is 3, and Scale 3 for every element",
        replace(scaled, more=(_3,)),
        [[-3, -1, 1, 3]],
    )
    yield _axis_beyond("openvino")
    yield _stash("openvino", 7, [-3, 0, 0, 3])
    ones, attrs = np.ones(4, np.float16), {"num_groups": 1, "epsilon": 4.0}
    flat = _ROW_OF_ODD.astype(np.float16)
    channels = Model("GroupNormalization", 21, attrs, flat, more=(ones * 3, ones * 0))
    yield Check(
        "openvino",
        "GroupNormalization of a tensor of rank 2",
        channels,
        [[[-3, -1, 1, 3]]],
        Raises("LoopPort dim_idx"),
        "the mean is 4 and the variance 5, so the root is 3, and scale 3 for every channel",
        replace(channels, x=flat[..., np.newaxis]),
        [[[-3], [-1], [1], [3]]],
        sometimes=True,
    )
    window = np.ones((1, 1, 2, 3), np.float32)
    block = np.ones((1, 1, 3, 4), np.float32)
    sized = Model("Conv", 11, {"kernel_shape": [3, 2]}, block, more=(window,))
    yield Check(
        "openvino",
        "kernel_shape is not",
        sized,
        [],
        Gives(np.full((1, 1, 2, 2), 6)),
        "W has kernels of 2 by 3",
        _with(sized, kernel_shape=[2, 3]),
        np.full((1, 1, 2, 2), 6),
    )
    two_by_two = np.ones((2, 1, 2), np.float32)
    biased = Model("Conv", 11, {}, _x(1, 2), more=(two_by_two, np.array([10], np.float32)))
    yield Check(
        "openvino",
        "Conv adds a bias of one",
        biased,
        [],
        Gives([[[13], [13]]]),
        "“Optional 1D bias to be added to the convolution, has size of M.”, and M is 2",
        replace(biased, more=(two_by_two, np.array([10, 20], np.float32))),
        [[[13], [23]]],
    )
    grouped = Model("Conv", 11, {"group": 0}, _FOUR, more=(_x(1, 1),))
    yield Check(
        "openvino",
        "A group below 1",
        grouped,
        [],
        Gives(_pool(3, 6, 12)),
        "one channel makes no 0 groups",
        _with(grouped, group=1),
        _pool(3, 6, 12),
    )
    yield _pads_beside_auto_pad("openvino", "Pads beside", 3, 6, 12, 8)
    picked = Model("Gather", 13, {"axis": 0}, _PAIR, more=(np.zeros(0, np.int64),))
    yield Check(
        "openvino",
        "Gather divides",
        picked,
        [np.zeros(0)],
        Dies("exit status -8"),
        "no index, no element",
        replace(picked, more=(np.array([1]),)),
        [2],
    )
    yield Check(
        "openvino",
        "Gather makes 0",
        replace(picked, more=(np.array([2]),)),
        [],
        Gives([0]),
        "“It is an error if any of the index values are out of bounds.”",
        replace(picked, more=(np.array([1]),)),
        [2],
    )
    yield _indices("openvino", "Gather accepts indices", np.uint8)
    ties = Model("TopK", 11, {}, np.ones(4, "f4"), more=(np.array([2]),), output=1, gives="int64")
    yield Check(
        "openvino",
        "TopK does not keep",
        ties,
        [[0, 1]],
        Gives([1, 0]),
        "“the element with the lower index will appear first”",
        replace(ties, x=np.array([1, 2, 3, 4], np.float32)),
        [3, 2],
        sometimes=True,
    )
    unsigned = replace(ties, x=np.array([1, 2**31, 2], np.uint32), more=(np.array([1]),))
    yield Check(
        "openvino",
        "TopK compares uint32",
        unsigned,
        [[1]],
        Gives([2]),
        "2^31 is the largest of 1, 2^31 and 2",
        replace(unsigned, x=np.array([1, 2**31 - 1, 2], np.uint32)),
        [1],
    )
    two = replace(ties, x=np.array([3, 1], np.float32))
    for cause, k, made, why in (
        ("TopK does not check", [3], Gives(np.zeros(0)), "the axis has two elements"),
        ("TopK takes a K without", 2, Gives([0, 1]), "K is “A 1-D tensor containing a single”"),
        ("TopK accepts a K of", np.array([2], np.uint8), Gives([0, 1]), "K is a tensor of int64"),
    ):
        asked = replace(two, more=(np.array(k),))
        yield Check("openvino", cause, asked, [], made, why, two, [0, 1])
    halves = Model(
        "Div", 14, {}, np.array([3 * 10**9], np.uint32), more=(np.array([7], np.uint32),)
    )
    yield Check(
        "openvino",
        "Div of uint32 divides as if",
        halves,
        [[428571428]],
        Gives([4109971968]),
        "7 · 428571428 = 2999999996, which leaves 4",
        replace(halves, x=np.array([2 * 10**9], np.uint32)),
        [285714285],
    )
    cast = Model("Cast", 13, {"to": 7}, np.array([2.0**32], np.float32), gives="int64")
    yield Check(
        "openvino",
        "Cast to integers of 64 bits",
        cast,
        [[2**32]],
        Gives([-(2**31)]),
        "2^32 is an integer that int64 has",
        replace(cast, x=np.array([2.0**30], np.float32)),
        [2**30],
    )
    yield _cast_by_a_word("openvino", "Invalid attribute type STRING expected: INT")
    near = Model("Cast", 13, {"to": 16}, np.array([627], np.int32), gives="bfloat16")
    yield Check(
        "openvino",
        "Cast of integers to bfloat16",
        near,
        [[628]],
        Gives([624]),
        "bfloat16 has 8 bits for 512 to 1024, so the neighbours of 627 are 624 and 628",
        replace(near, x=np.array([628], np.int32)),
        [628],
    )
    to_bool = Model("Cast", 13, {"to": 9}, np.array([nan], np.float32), gives="bool")
    yield Check(
        "openvino",
        "Cast of NaN",
        to_bool,
        [[True]],
        Gives([False]),
        "“+/- 0.0 to False; all else to True.”",
        replace(to_bool, x=np.array([0.5], np.float32)),
        [True],
    )
    yield _gelu_of_infinity("openvino", "On a CPU with AVX-512, Gelu makes NaN")
    yield _less_along_axis("openvino")
    yield _empty("openvino")
    yield _condition("openvino")
    yield _non_zero("openvino")
    yield _last_index("openvino")
    yield _column_row_depth("openvino")
    whole = Model("Relu", 14, {}, np.array([16777217, 2147483647, -1], np.int32))
    yield Check(
        "openvino",
        "Relu of integers",
        whole,
        [[16777217, 2147483647, 0]],
        Gives([16777216, -2147483648, 0]),
        "y = max(0, x) is x or 0",
        replace(whole, x=np.array([1, -1], np.int32)),
        [1, 0],
        rtol=0,
    )
    nothing, truth = np.zeros((2, 0), bool), np.ones((2, 1), bool)
    both = Model("And", 1, {"broadcast": 1}, nothing, more=(nothing[0],))
    yield Check(
        "openvino",
        "And-1 with broadcast=1",
        both,
        [nothing],
        Dies("exit status -8"),
        "B has the last length of A, which is 0, and C has the shape of A",
        replace(both, x=truth, more=(truth[0],)),
        truth,
    )
    numbers, others = np.array([[1, nan, 1], [nan, 1, 2]], np.float32)
    greater = Model("Greater", 13, {}, numbers, more=(others,), gives="bool")
    yield Check(
        "openvino",
        "On a CPU with AVX-512, Greater",
        greater,
        [[False, False, False]],
        Gives([True, True, False]),
        "1 is not greater than NaN, nor NaN than 1, nor 1 than 2",
        replace(greater, x=_PAIR, more=(np.array([2, 1], np.float32),)),
        [False, True],
        sometimes=True,
    )
    odd, even = np.array([[3, 16777217], [3, 16777216]], np.int32)
    equal = Model("Equal", 13, {}, odd, more=(even,), gives="bool")
    yield Check(
        "openvino",
        "Comparisons of integers",
        equal,
        [[True, False]],
        Gives([True, True]),
        "3 is 3, and 16777217 is not 16777216",
        replace(equal, more=(even - 1,)),
        [False, False],
    )
    infinite = np.array([inf, -inf], ml_dtypes.bfloat16)
    alike = Model("Equal", 13, {}, infinite, more=(infinite,), gives="bool", constant=True)
    yield Check(
        "openvino",
        "Infinite bfloat16 initializers",
        alike,
        [[True, True]],
        Gives([False, False]),
        "an infinity is equal to itself",
        replace(alike, x=_PAIR.astype(infinite.dtype), more=(_PAIR.astype(infinite.dtype),)),
        [True, True],
        sometimes=True,
    )
    no_number = np.array([0x7FFFFFFF, 0x7F800001], np.uint32).view(np.float32)
    by_bits = Model("Cast", 13, {"to": 16}, no_number, gives="bfloat16")
    yield Check(
        "openvino",
        "Cast and CastLike to bfloat16 round the bits",
        by_bits,
        [[nan, nan]],
        Gives([-0.0, inf]),
        "both are NaN, which bfloat16 has too",
        replace(by_bits, x=_PAIR),
        _PAIR,
        sometimes=True,
    )
    for direction, dtype, number, by, want, got, why in (
        ("LEFT", "uint8", 3, 8, 0, 255, "after 8 places none of 8 bits is left"),
        ("LEFT", "int8", 1, 7, -128, 127, "the last of 8 bits is the sign, which means -2^7"),
        ("LEFT", "int64", 1, 32, 2**32, -(2**31), "1 · 2^32, for which 64 bits have room"),
        ("RIGHT", "int8", -3, 8, -1, 0, "8 “copies of the sign bit” are -1"),
    ):
        places, cause = np.array([by], dtype), "BitShift shifts in int32"
        moved = Model("BitShift", 28, {"direction": direction}, places * 0 + number, more=(places,))
        zero, gives = replace(moved, more=(places * 0,)), Gives([got])
        yield Check("openvino", cause, moved, [[want]], gives, why, zero, [number], rtol=0)
    two_places = np.array(2, np.uint8)
    moved = Model("BitShift", 11, {"direction": "LEFT"}, two_places, more=(two_places,))
    yield Check(
        "openvino",
        "BitShift of two tensors of rank 0",
        moved,
        [8],
        Gives([8]),
        "two numbers make a number, 2 · 2² = 8, and no list",
        replace(moved, x=two_places.reshape(1), more=(two_places.reshape(1),)),
        [8],
    )
    four = np.arange(4, dtype=np.float32)
    blocks = Model("DepthToSpace", 13, {"blocksize": 2}, four.reshape(1, 4, 1, 1))
    turned = Model("ReverseSequence", 10, {}, four.reshape(4, 1), more=(np.array([4]),))
    kept = Model("Trilu", 14, {}, four.reshape(2, 2), more=(np.array(-1),))
    no_texts, no_type = "CPU plugin does not support string", "Unknown type"
    for cause, model, order, fails in (
        ("An initializer of strings kills", blocks, [[[[0, 1], [2, 3]]]], Dies("exit status -")),
        ("An initializer of strings is", turned, [[3], [2], [1], [0]], Raises(no_texts)),
        ("An initializer of texts is", kept, [[0, 1], [2, 3]], Raises(no_type)),
    ):
        control, letters = replace(model, stored="raw_data"), np.array([*"abcd"], object)
        texts = replace(control, x=letters.reshape(model.x.shape), stored="string_data")
        wants, why = [letters[np.array(order)]], "texts are moved as numbers are"
        yield Check("openvino", cause, texts, wants, fails, why, control, order)
    turned = Model("ReverseSequence", 10, {}, odd.reshape(2, 1), more=(np.array([2]),))
    yield Check(
        "openvino",
        "ReverseSequence puts int32",
        turned,
        [[[16777217], [3]]],
        Gives([[16777216], [3]]),
        "the two change places",
        replace(turned, x=even.reshape(2, 1)),
        [[16777216], [3]],
        rtol=0,
    )
    whole = Model("Div", 14, {}, np.array([16777217, 2147483646], np.int32), more=(odd // odd,))
    yield Check(
        "openvino",
        "Integers are divided",
        whole,
        [[16777217, 2147483646]],
        Gives([16777216, -2147483648]),
        "a number divided by 1 is that number",
        replace(whole, x=even),
        even,
        rtol=0,
    )
    seven, low = np.ones((1,) * 7, np.int8), np.array([-128], np.int8)
    short = Model("Div", 14, {}, seven * 71, more=(seven * 40,))
    least = Model("Sub", 14, {}, low, more=(low,))
    yield Check(
        "openvino",
        "Integers of 8 bits are rounded",
        short,
        [seven],
        Gives(seven * 2),
        "71 / 40 is 1.775, and truncated 1",
        replace(short, x=seven * 80),
        seven * 2,
        rtol=0,
    )
    yield Check(
        "openvino",
        "Sub of int8 adds",
        least,
        [[0]],
        Gives([-1]),
        "a number less itself is 0",
        replace(least, more=(low + 1,)),
        [-1],
        rtol=0,
    )
    three = np.array([3], np.float16)
    third = Model("Div", 14, {}, three + 4, more=(three,), constant=True)
    yield Check(
        "openvino",
        "A constant divisor",
        third,
        [[2.333984375]],
        Gives([2.33203125]),
        "7 / 3 is 2.3333, to which of float16's numbers 2.3340 is nearer than 2.3320",
        replace(third, constant=False),
        [2.333984375],
        rtol=1e-5,
        sometimes=True,
    )
    tiny = np.array([2.0**-130], np.float32)
    twice = Model("Div", 14, {}, tiny * 2, more=(tiny,))
    yield Check(
        "openvino",
        "Numbers are multiplied by the reciprocal",
        twice,
        [[2]],
        Gives([inf]),
        "2^-129 / 2^-130 = 2",
        replace(twice, more=(tiny / tiny,)),
        tiny * 2,
    )
    add = Model("Add", 6, {}, _SQUARE, more=(_PAIR,))
    why = "“Attribute `broadcast=1` needs to be passed to enable broadcasting.”"
    stretched = _with(add, broadcast=1)
    yield _taken("openvino", "Versions 1 and 6 of Add", add, [[2, 4], [4, 6]], why, stretched)
    most = Model("ArgMax", 13, {}, np.array([2**32 + 1, 2**33, 1]))
    yield Check(
        "openvino",
        "ArgMax and ArgMin cut",
        most,
        [[1]],
        Gives([0]),
        "2^33 is the largest",
        replace(most, x=np.array([2, 3, 1])),
        [1],
    )
    above = Model("Trilu", 14, {}, _SQUARE, more=(np.array(2**32 + 1),))
    yield Check(
        "openvino",
        "Trilu cuts k",
        above,
        [np.zeros((2, 2))],
        Gives([[0, 2], [0, 0]]),
        "the matrix has one diagonal above the main one, and none that is 2^32 + 1 above it",
        replace(above, more=(np.array(2),)),
        np.zeros((2, 2)),
    )
    chosen = Model("Compress", 11, {}, _PAIR, more=(np.array([False, True]),))
    yield Check(
        "openvino",
        "Compress divides",
        replace(chosen, more=(np.zeros(0, bool),)),
        [np.zeros(0)],
        Dies("exit status -8"),
        "“data slices or elements exceeding the condition length are discarded”: both are",
        chosen,
        [2],
    )
    yield Check(
        "openvino",
        "Without an axis, Compress",
        replace(chosen, x=_PAIR[:1], more=(np.array([True]),)),
        [[1]],
        Raises("Accessing out-of-range dimension"),
        "the one element is chosen",
        chosen,
        [2],
    )
    for values in (np.array([0, 2**32, 1]), np.array([0, 2.2e-308, 1])):
        present = Model("NonZero", 13, {}, values, gives="int64")
        yield Check(
            "openvino",
            "NonZero cuts",
            present,
            [[[1, 2]]],
            Gives([[2]]),
            "only the element at 0 is zero",
            replace(present, x=np.sign(values)),
            [[1, 2]],
        )
    ones = np.ones((2, 2, 2, 2), np.float32)
    tiled = Model("Tile", 13, {}, ones, more=(np.array([1, 2, 2, 2]),))
    yield Check(
        "openvino",
        "Tile writes nothing",
        tiled,
        [np.ones((2, 4, 4, 4))],
        Leftovers((2, 4, 4, 4)),
        "of copies of 1 all elements are 1",
        replace(tiled, more=(np.array([1, 1, 2, 2]),)),
        np.ones((2, 2, 4, 4)),
    )
    yield Check(
        "openvino",
        "Tile of a scalar",
        replace(tiled, x=np.array(1, np.float32), more=(np.zeros(0, np.int64),)),
        [1],
        Dies("exit status -"),
        "a scalar has no axis to be repeated along",
        replace(tiled, x=_PAIR, more=(np.array([1]),)),
        _PAIR,
    )
    rows = Model("Tile", 13, {}, _SQUARE, more=(np.array([1, 2]),))
    fewer, turns = replace(rows, more=(np.array([2]),)), [[1, 2, 1, 2], [3, 4, 3, 4]]
    why = "“1D int64 tensor of the same length as input's dimension number”, which is 2"
    unchecked = _taken("openvino", "Tile does not check", fewer, turns, why, rows)
    yield replace(unchecked, sometimes=True)
    yield from _split_of("openvino")
    minifloats = np.array([1, nan], ml_dtypes.float8_e5m2)
    constant = Model("IsNaN", 20, {}, minifloats, "raw_data", gives="bool")
    yield Check(
        "openvino",
        "IsNaN and IsInf of a constant",
        constant,
        [[False, True]],
        Raises("unsupported src_prc: f8e5m2"),
        "1 is a number, and NaN is none",
        replace(constant, x=minifloats.astype(np.float32)),
        [False, True],
    )
    refused, down = Raises("`fmod` attribute must be set to 1"), _mod(5.5, 7, opset=28)
    cause, why, control = "Mod-28 of floating", "5.5 = 2 · 2 + 1.5", _with(down, fmod=1)
    yield Check("openvino", cause, down, [[1.5, 1]], refused, why, control, [1.5, 1])
    endless, control = _mod(3, 7, by=(inf, 3), fmod=1), _mod(3, 7, fmod=1)
    cause, why = "Mod of floating", "“If `y` is `±∞` and `x` is finite, `x` is returned.”"
    yield Check("openvino", cause, endless, [[3, 1]], Gives([nan, 1]), why, control, [1, 1])
    yield _no_index("openvino", Leftovers((1, 2)))
    cause = "GatherElements refuses indices that are fewer"
    yield _fewer("openvino", cause, "must have equal or intersecting dimensions")
    one = _gathered(_PAIR, [1], op="GatherND")
    far = _gathered(_PAIR, [4294967297], op="GatherND")
    yield _taken("openvino", "GatherND reads beyond", far, [2], _OUT, one)
    yield Check(
        "openvino",
        "GatherElements checks no index",
        _gathered(_PAIR, 5),
        [],
        Leftovers((1,)),
        _OUT,
        _gathered(_PAIR, 1),
        [2],
        last=True,
    )
    rows = _gathered(_SQUARE, [1], [1], op="GatherND", batch_dims=1)
    yield _taken(
        "openvino",
        "GatherND spreads one",
        _gathered(_SQUARE, [1], op="GatherND", batch_dims=1),
        [2, 4],
        _EQUAL_BATCHES,
        rows,
    )
    yield Check(
        "openvino",
        "GatherND never ends",
        _with(rows, batch_dims=4294967297),
        [],
        Dies("exit status -14"),
        "“b < min(q, r) is to be honored.”",
        rows,
        [2, 4],
    )
    two_by_three = np.array([[1, 2, 3], [4, 5, 6]], np.float32)
    count = (
        "“The input tensor's shape and the output tensor's shape are required to have the same "
        "number of elements.”"
    )
    rows = _shaped("Reshape", 1, _SQUARE, 0, 2)
    lost = replace(rows, x=two_by_three)
    yield _taken("openvino", "Reshape does not count", lost, _SQUARE, count, rows)
    ones = np.ones((2, 1, 3), np.float32)
    not_one = "“If an axis is selected with shape entry not equal to one, an error is raised.”"
    kept = _shaped("Squeeze", 11, ones, 2)
    yield Check(
        "openvino",
        "Squeeze before version 13 leaves",
        kept,
        [],
        Gives(ones),
        not_one,
        _with(kept, axes=[1]),
        np.ones((2, 3)),
    )
    yield Check(
        "openvino",
        "Reshape refuses no shape",
        _shaped("Reshape", 13, two_by_three, 3, 3),
        [],
        Leftovers((0, 0)),
        count,
        _shaped("Reshape", 13, two_by_three, 3, 2),
        [[1, 2], [3, 4], [5, 6]],
        last=True,
    )
    yield Check(
        "openvino",
        "Squeeze from version 13 on",
        _shaped("Squeeze", 13, ones, 2),
        [],
        Leftovers((0, 0)),
        not_one,
        _shaped("Squeeze", 13, ones, 1),
        np.ones((2, 3)),
        last=True,
    )
    inside = Model("ScatterElements", 18, {}, _PAIR, more=(np.array([1]), _3[:1]))
    in_range = "“Index values are […] expected in the valid range.”"
    cause = "Scatter, ScatterElements and ScatterND check"
    for op, indices, why in (("ScatterElements", [5], _OUT), ("ScatterND", [[5]], in_range)):
        outside = replace(inside, op=op, more=(np.array(indices), _3[:1]))
        held = Leftovers((2,))
        yield Check("openvino", cause, outside, [], held, why, inside, [1, 3], last=True)
    dies = Dies("exit status -")
    far_below = replace(inside, more=(np.array([-(2**30)]), _3[:1]))
    yield Check("openvino", "ScatterElements adds", far_below, [], dies, _OUT, inside, [1, 3])
    many = np.zeros((2**20, 1), np.int64)
    beside = Model("ScatterElements", 18, {"axis": 1}, _SQUARE, more=(many[:2], _SQUARE[:, :1] * 5))
    yield Check(
        "openvino",
        "ScatterElements does not compare",
        replace(beside, more=(many, many.astype(np.float32))),
        [],
        dies,
        "output[i][indices[i][j]] = updates[i][j], and data has no row 2",
        beside,
        [[5, 2], [15, 4]],
    )
    depth = np.array([3])
    hot = Model("OneHot", 11, {}, depth - 2, more=(depth, np.array([0, 1])))
    below, matrix = (replace(hot, more=(d, hot.more[1])) for d in (-depth, depth[None]))
    why, held = "depth is “the size of the one-hot dimension”", Leftovers((1, 0))
    cause = "OneHot checks no depth"
    yield Check("openvino", cause, below, [], held, why, hot, [[0, 1, 0]], last=True)
    why = "depth is a “Scalar or Rank 1 tensor containing exactly one element”"
    yield _taken("openvino", "OneHot takes a depth", matrix, [[0, 1, 0]], why, hot)
    unique = Model("Unique", 11, {"sorted": 1}, np.array([3, 1, 3, 2], np.float32))
    yield Check(
        "openvino",
        "In the order of the input",
        _with(unique, sorted=0),
        [[3, 1, 2]],
        Gives([3, 0, 0]),
        "3, 1 and 2 occur in this order",
        unique,
        [1, 2, 3],
    )
    why = "sorted “Must be one of 0, or 1 (default).”"
    yield _taken("openvino", "Unique takes every", _with(unique, sorted=2), [1, 2, 3], why, unique)
    columns = Model("Unique", 11, {"axis": 1, "sorted": 0}, _SQUARE[:, [0, 1, 1]])
    in_part = replace(columns, x=np.array([[1, 1, 1], [0, 2, 2]], np.float32))
    yield Check(
        "openvino",
        "Where an axis of more than one element is before",
        in_part,
        [[[1, 1], [0, 2]]],
        Gives(in_part.x),
        "the last two columns are equal",
        columns,
        _SQUARE,
    )
    first = replace(_with(columns, axis=0), x=columns.x.T, output=1, gives="int64")
    yield Check(
        "openvino",
        "Along an axis of a tensor of 8 bits",
        replace(first, x=first.x.astype(np.uint8)),
        [[0, 1]],
        Leftovers((2,)),
        "the first row and the second are the first of their kind",
        first,
        [0, 1],
    )
    yield Check(
        "openvino",
        "Unique refuses an empty",
        replace(columns, x=np.zeros((0, 3), np.float32)),
        [np.zeros((0, 1))],
        Gives(np.zeros((0, 0))),
        "three slices without elements differ in none: the first is like the others",
        columns,
        _SQUARE,
        last=True,
    )
    clip = Model("Clip", 13, {}, np.array([1, 5], np.float32), more=(np.array(2, np.float32),))
    why, two = "min “must be a scalar(tensor of empty shape)”", replace(clip, more=(_PAIR + 1,))
    yield _taken("openvino", "Clip takes bounds", two, [2, 5], why, clip)
    clip = Model("Clip", 6, {"min": 2.0}, clip.x)
    whole, cause = _with(clip, min=2), "Clip before version 11"
    yield _taken("openvino", cause, whole, [2, 5], "min is a FLOAT", clip)
    yield _from_the_back("openvino")
    yield _squeezed_rank_0("openvino")
    yield _no_axes("openvino", "Squeeze and Unsqueeze before version 13 take an empty", 11)
    once = _shaped("Unsqueeze", 11, _PAIR, 1)
    why = "“It is an error if it contains duplicates.”"
    twice = _with(once, axes=[1, 1])
    yield _taken("openvino", "Unsqueeze-11 takes", twice, [[1], [2]], why, once)
    yield _no_list("openvino", "Squeeze")
    yield _no_perm("openvino")
    yield _flatten("openvino", "Flatten takes a length of 0", Gives(np.zeros((2, 0))))
    yield _from_the_back_of_flatten("openvino", "Flatten before version 11")
    yield from _slice_of_openvino()
    yield from _pad_of_openvino()
    yield from _range_of_openvino()
    yield from _functions_of_openvino()
    yield from _reductions_of_openvino()
    yield from _products_of_openvino()
    yield from _normalizations_of_openvino()
    yield from _batches_of_openvino()
    yield from _transposed_by_openvino()
    yield from _losses_and_regions_of_openvino()
    yield from _upsampled()
    yield from _resized()


def tract() -> Iterator[Check]:
    """On tract."""
    nothing = Model("ConstantOfShape", 9, {}, np.array([2]), "raw_data", gives="float32")
    yield Check(
        "tract",
        "ConstantOfShape without a value",
        nothing,
        [[0, 0]],
        Gives([0, 0], "float64"),
        "“the value in the output defaults to 0, and the datatype defaults to float32”",
        _with(nothing, value=_3[:1]),
        [3, 3],
    )
    negative = replace(_of_shape(np.float32(3), 2, -1), stored="raw_data")
    yield Check(
        "tract",
        "ConstantOfShape aborts the process",
        negative,
        [],
        Dies("panic"),
        f"{_AT_LEAST_0}; {_NO_ABORT}",
        replace(negative, x=np.array([2])),
        [3, 3],
    )
    empty = np.zeros(0, np.uint32)
    yield Check(
        "tract",
        "An empty Constant of uint32",
        _constant(13, np.uint32, value=empty),
        [empty],
        Gives(empty, "int32"),
        "“Output tensor containing the same value of the provided tensor.”",
        _constant(13, np.uint32, value=np.array([7], np.uint32)),
        [7],
    )
    yield _two_attributes("tract", "Constant takes the first attribute")
    yield _ignored("tract")
    yield _saturate("tract")
    row = Model("Expand", 13, {}, _row(1, 2), more=(np.array([2, 1]),))
    yield Check(
        "tract",
        "Expand is not computed",
        row,
        [[[1, 2], [1, 2]]],
        Raises("shape input is variable, of variable length"),
        "the shape [2, 1] makes two rows of one",
        replace(row, more=(np.zeros(0, np.int64),)),
        [[1, 2]],
    )
    pair = (_VECTOR[:1], _VECTOR[1:2])
    choice = Model("Where", 16, {"axis": 0}, np.array([True]), more=pair, gives="float32")
    yield Check(
        "tract",
        "Later operators ignore an attribute",
        choice,
        [],
        Gives(_VECTOR[:1]),
        "Where has no attributes",
        replace(choice, attrs={}),
        _VECTOR[:1],
    )
    same_shape = "the output has the shape of the input, which has no elements"
    for cause, op, dtype, words in (
        ("Hardmax aborts the process where there", "Hardmax", "f4", "ndarray: index out of bounds"),
        ("Softmax aborts", "Softmax", "f8", "called `Option::unwrap()` on a `None` value"),
    ):
        none = Model(op, 13, {"axis": 1}, np.zeros((2, 0), dtype))
        control = replace(none, x=np.zeros((2, 1), dtype))
        yield Check("tract", cause, none, [none.x], Dies(words), same_shape, control, [[1], [1]])
    why = "a vector has the axes -1 and 0"
    model = Model("Hardmax", 13, {"axis": 1}, _VECTOR)
    yield Check(
        "tract",
        "Hardmax aborts the process where axis",
        model,
        [],
        Dies("index out of bounds: the len is 1 but the index is 1"),
        f"{why}; {_NO_ABORT}",
        _with(model, axis=0),
        [0, 1, 0],
    )
    older = replace(model, opset=11)
    yield Check(
        "tract",
        "Hardmax before version 13",
        older,
        [],
        Gives([1, 1, 1]),
        why,
        _with(older, axis=0),
        [0, 1, 0],
    )
    equal = Model("Softmax", 13, {"axis": 1}, np.zeros(4, np.float32))
    yield Check(
        "tract",
        "The range of axis",
        equal,
        [],
        Gives([1, 1, 1, 1]),
        why,
        _with(equal, axis=0),
        [0.25] * 4,
    )
    low = Model("Hardmax", 13, {"axis": 1}, _row(-inf, _LOWEST))
    yield Check(
        "tract",
        "The search for a maximum",
        low,
        [[[0, 1]]],
        Gives([[1, 0]]),
        "every number is greater than -inf",
        replace(low, x=_row(-inf, 0)),
        [[0, 1]],
    )
    yield _default_of_concat("tract", "expected attribute 'axis'")
    mixed = Model("Where", 16, {}, np.array([True, False]), more=(_PAIR, np.array([5.0, 7.0])))
    yield Check(
        "tract",
        "Where and Concat accept",
        mixed,
        [],
        Gives([1, 7], "float64"),
        "X and Y have one type, T",
        replace(mixed, more=(np.array([1.0, 2.0]), np.array([5.0, 7.0])), gives="float64"),
        [1, 7],
    )
    yield _stage_two("tract", "LayerNormalization computes its second stage")
    yield _axis_beyond("tract")
    square = Model(
        "Conv",
        11,
        {"strides": [1]},
        np.ones((1, 1, 3, 3), "f4"),
        more=(np.ones((1, 1, 2, 2), "f4"),),
    )
    fours = np.full((1, 1, 2, 2), 4)
    yield Check(
        "tract",
        "Conv aborts the process where strides",
        square,
        [],
        Dies("index out of bounds: the len is 1 but the index is 1"),
        f"an image has two spatial axes; {_NO_ABORT}",
        _with(square, strides=[1, 1]),
        fours,
    )
    yield Check(
        "tract",
        "Conv ignores strides",
        _with(square, strides=[1, 1, 1]),
        [],
        Gives(fours),
        "an image has two spatial axes",
        _with(square, strides=[1, 1]),
        fours,
    )
    apart = Model("Conv", 11, {"dilations": [0]}, _x(1, 3), more=(_x(1, 10),))
    yield Check(
        "tract",
        "Conv accepts a dilation",
        apart,
        [],
        Gives(_pool(11, 33)),
        "elements under a window are at least 1 apart",
        _with(apart, dilations=[1]),
        _pool(31),
    )
    yield _pads_beside_auto_pad("tract", "Conv ignores an auto_pad", 1, 3, 6, 12)
    thrice = np.ones(3, np.int32)
    whole = Model("LayerNormalization", 17, {}, _row(1, 2, 3, dtype=np.int32), more=(thrice,))
    yield Check(
        "tract",
        "LayerNormalization accepts integers",
        whole,
        [],
        Gives([[-1, 0, 1]]),
        "“Constrain input types and output Y type to float tensors.”",
        replace(whole, x=_row(1, 2, 3), more=(thrice.astype(np.float32),)),
        [[-(1.5**0.5), 0, 1.5**0.5]],
    )
    picked = Model("Gather", 13, {"axis": 0}, _PAIR, more=(np.array([2]),))
    yield Check(
        "tract",
        "Gather aborts the process",
        picked,
        [],
        Dies("index out of bounds: the len is 2 but the index is 2"),
        f"“It is an error if any of the index values are out of bounds.”; {_NO_ABORT}",
        replace(picked, more=(np.array([1]),)),
        [2],
    )
    early = Model("Concat", 1, {"axis": 0}, np.array([1]), more=(np.array([2]),))
    yield Check(
        "tract",
        "Concat-1 accepts integers",
        early,
        [],
        Gives([1, 2]),
        "version 1 takes float16, float32 and float64",
        replace(early, opset=4),
        [1, 2],
    )
    yield _indices("tract", "Gather converts indices", np.float32)
    two = Model(
        "TopK", 11, {}, np.array([3, 1], "f4"), more=(np.array([2]),), output=1, gives="int64"
    )
    yield Check(
        "tract",
        "TopK-1 is refused",
        replace(two, opset=1, attrs={"k": 2}, more=()),
        [[0, 1]],
        Raises("Wrong input number. Rules expect 2, node has 1."),
        "version 1 has an attribute k, and one input",
        two,
        [0, 1],
    )
    yield Check(
        "tract",
        "TopK aborts the process",
        _with(two, axis=1),
        [],
        Dies("index out of bounds: the len is 1 but the index is 1"),
        f"a vector has the axes -1 and 0; {_NO_ABORT}",
        two,
        [0, 1],
    )
    for cause, k, wrong, why in (
        ("TopK accepts a K of 0", np.array([3]), [0, 1, 0], "the axis has two elements"),
        ("TopK converts a K", np.array([2], np.float32), [0, 1], "K is a tensor of int64"),
    ):
        asked = replace(two, more=(k,))
        yield Check("tract", cause, asked, [], Gives(wrong), why, two, [0, 1])
    older = replace(two, opset=10, attrs={"largest": 0}, more=(np.array([1]),))
    yield Check(
        "tract",
        "TopK uses largest",
        older,
        [],
        Gives([1]),
        "TopK-10 has one attribute, axis",
        replace(older, attrs={}),
        [0],
    )
    yield _cast_by_a_word("tract", "attribute 'to'")
    above = Model("Cast", 13, {"to": 10}, np.array([1.000488281250001]), gives="float16")
    yield Check(
        "tract",
        "Cast of float64 to float16",
        above,
        [[1.0009765625]],
        Gives([1]),
        "float16 has 1 and 1 + 2^-10, and the middle is 1 + 2^-11 = 1.00048828125",
        replace(above, x=np.array([1.0009765625])),
        [1.0009765625],
        rtol=1e-6,
    )
    large = 2.0**24 + np.array([[[0, 2, 4, 6]]], np.float32)
    one, zero = np.ones(1, np.float32), np.zeros(1, np.float32)
    single = Model(
        "GroupNormalization",
        21,
        {"num_groups": 1, "epsilon": 4.0, "stash_type": 11},
        large,
        more=(3 * one, zero),
    )
    yield Check(
        "tract",
        "GroupNormalization computes its first",
        single,
        [_pool(-3, -1, 1, 3)],
        Gives(_pool(*(3 * n / 10**0.5 for n in (-2, 0, 2, 4)))),
        "the mean is 2^24 + 3, and the variance 5 of -3, -1, 1, 3, so the root is 3, and times 3",
        replace(single, x=large - 2**24),
        _pool(-3, -1, 1, 3),
    )
    channels = Model(
        "GroupNormalization",
        21,
        {"num_groups": 1, "epsilon": 4.0},
        np.array([[[1, 3], [5, 7]]], np.float32),
        more=(3 * one, np.zeros(2, np.float32)),
    )
    right = [[[-3, -1], [1, 3]]]
    full = replace(channels, more=(3 * np.ones(2, np.float32), np.zeros(2, np.float32)))
    yield Check(
        "tract",
        "GroupNormalization uses a scale",
        channels,
        [],
        Gives(right),
        "“Scale tensor of shape `(C)`.”, and C is 2",
        full,
        right,
    )
    yield Check(
        "tract",
        "GroupNormalization aborts",
        _with(full, num_groups=0),
        [],
        Dies("attempt to divide by zero"),
        f"“It should be a divisor of the number of channels `C`.”; {_NO_ABORT}",
        full,
        right,
    )
    small = Model("Gelu", 20, {}, np.array([0.001], np.float32))
    yield Check(
        "tract",
        "Gelu takes erf",
        small,
        [[0.00050039897]],
        Gives([0.00050039843]),
        "erf(0.001 / √2) is 0.00079788443, and 0.0005 · 1.00079788443 = 0.00050039894; in float32, "
        "0.001 is 0.0010000000475, whose half adds 2.4e-11",
        replace(small, x=np.array([1], np.float32)),
        [0.84134475],
        rtol=1e-7,
    )
    wide = Model("Gelu", 20, {"approximate": "tanh"}, np.array([-1e10], np.float32))
    yield Check(
        "tract",
        "Gelu by tanh",
        wide,
        [[0]],
        Gives([-2980.2322]),
        "tanh of -7.1e28 is -1, and -5e9 · (1 - 1) = 0",
        replace(wide, x=np.array([0], np.float32)),
        [0],
    )
    yield Check(
        "tract",
        "Gelu takes an approximate",
        Model("Gelu", 20, {"approximate": "Tanh"}, np.array([2], np.float32)),
        [],
        Gives([1.9544997]),
        '“Gelu approximation algorithm: `"tanh"`, `"none"`(default).”; by tanh, 2 gives 1.9545977',
        Model("Gelu", 20, {"approximate": "tanh"}, np.array([2], np.float32)),
        [1.9545977],
        rtol=1e-6,
    )
    numbers, ones = np.array([1, 0]), np.array([1, 1])
    signless = Model("Neg", 13, {}, np.array([1], np.uint8))
    early = Model("Add", 1, {}, np.array([1], np.int32), more=(np.array([2], np.int32),))
    bits = Model("BitwiseAnd", 18, {}, numbers > 0, more=(ones > 0,))
    for cause, asked, wrong, why, control, answer in (
        (
            "Neg, Abs, Relu",
            signless,
            [0],
            "“Constrain input and output types to signed numeric tensors.”",
            replace(signless, x=np.array([1], np.int8)),
            [-1],
        ),
        (
            "Add, Sub, Mul and Div take integers",
            early,
            [3],
            "“Constrain input and output types to float tensors.”",
            replace(early, opset=7),
            [3],
        ),
        (
            "Comparisons and bitwise operators accept types",
            bits,
            [1, 0],
            "“Constrain input to integer tensors.”",
            replace(bits, x=numbers, more=(ones,)),
            [1, 0],
        ),
    ):
        yield Check("tract", cause, asked, [], Gives(wrong), why, control, answer)
    block = Model("SpaceToDepth", 13, {"blocksize": 2}, np.arange(4.0).reshape(1, 1, 2, 2))
    depth = [[[[0]], [[1]], [[2]], [[3]]]]
    for cause, attrs, shows, why in (
        ("DepthToSpace and SpaceToDepth take 2", {}, Gives(depth), "blocksize is required"),
        (
            "A blocksize of 0",
            {"blocksize": 0},
            Dies("attempt to divide by zero"),
            f"no block has a size of 0; {_NO_ABORT}",
        ),
    ):
        asked = replace(block, attrs=attrs)
        yield Check("tract", cause, asked, [], shows, why, block, depth)
    over = np.array([2e-6, 3], np.float16)
    divided = Model("Div", 14, {}, np.array([1e-6, 7], np.float16), more=(over,))
    yield Check(
        "tract",
        "Numbers are multiplied by the reciprocal",
        divided,
        [[0.5, 2.333984375]],
        Gives([inf, 2.33203125]),
        "in float16, 1e-6 is 17 · 2^-24 and 2e-6 is 34 · 2^-24; 7 / 3 = 2.3333 is nearer to 2.3340 "
        "than to 2.3320",
        replace(divided, x=np.array([1, 7], np.float16), more=(np.array([2, 4], np.float16),)),
        [0.5, 1.75],
        rtol=1e-4,
    )
    most, *few = np.array([[2048], [1], [1], [2]], np.float16)
    yield Check(
        "tract",
        "The sum in a Mean",
        Model("Mean", 13, {}, most, more=(*few,)),
        [[513]],
        Gives([512.5]),
        "2048 + 1 + 1 + 2 = 2052, and 2052 / 4 = 513; above 2048, float16 has even numbers alone",
        Model("Mean", 13, {}, few[0], more=(*few[1:], most)),
        [513],
        rtol=1e-5,
    )
    mean = Model("Mean", 13, {}, _PAIR, more=(_row(3, 5),))
    yield Check(
        "tract",
        "Mean is refused where a later input",
        mean,
        [[[2.0, 3.5]]],
        Raises("Typed ops require rank match"),
        "the means are (1 + 3) / 2 and (2 + 5) / 2",
        replace(mean, x=_row(3, 5), more=(_PAIR,)),
        [[2.0, 3.5]],
    )
    equal = Model("Equal", 13, {}, numbers > 0, more=(ones > 0,), gives="bool")
    yield Check(
        "tract",
        "Equal of booleans",
        equal,
        [[True, False]],
        Raises("Bool is not a number"),
        "Equal takes booleans since version 1; true is true, and false is not",
        replace(equal, x=numbers, more=(ones,)),
        [True, False],
    )
    three, eight, one = np.array([[3], [8], [1]], np.uint8)
    shifted = Model("BitShift", 28, {"direction": "LEFT"}, three, more=(eight,))
    by_one = replace(shifted, more=(one,))
    yield Check(
        "tract",
        "BitShift takes the amount modulo",
        shifted,
        [[0]],
        Gives([3]),
        "8 is “greater than or equal to the number of bits of T”, which are all shifted out",
        by_one,
        [6],
    )
    yield Check(
        "tract",
        "BitShift takes any direction",
        _with(by_one, direction="right"),
        [],
        Gives([6]),
        '“It can be either "RIGHT" (for right shift) or "LEFT" (for left shift).”',
        _with(by_one, direction="RIGHT"),
        [1],
    )
    unsigned = np.array([1, 3], np.uint32)
    largest = Model("ArgMax", 13, {"axis": 0}, unsigned, gives="int64")
    yield Check(
        "tract",
        "ArgMax and ArgMin have no kernel",
        largest,
        [[1]],
        Raises("U32 is not a number"),
        "3 is the largest; “Constrain input and output types to all numeric tensors.”",
        replace(largest, x=unsigned.astype(np.int32)),
        [1],
    )
    infinite = replace(largest, x=np.array([-inf, _LOWEST], np.float32))
    yield Check(
        "tract",
        "ArgMax starts",
        infinite,
        [[1]],
        Gives([0]),
        "every number is greater than -inf",
        replace(infinite, x=np.array([-inf, 0], np.float32)),
        [1],
    )
    yield Check(
        "tract",
        "ArgMax and ArgMin abort",
        _with(replace(largest, x=_PAIR), axis=1),
        [],
        Dies("Illegal combination of values for rank and axis: 1 and 1"),
        f"a vector has the axes -1 and 0; {_NO_ABORT}",
        replace(largest, x=_PAIR),
        [1],
    )
    every = np.ones((2, 2), np.float32)
    lower = Model("Trilu", 14, {"upper": 0}, every, more=(np.array(2**63 - 1),))
    yield Check(
        "tract",
        "Trilu adds the row",
        lower,
        [every],
        Gives([[1, 1], [0, 0]]),
        "“a positive k retains the lower triangular matrix including the main diagonal and k "
        "diagonals above it.”, and but one is above it",
        replace(lower, more=(np.array(1),)),
        every,
    )
    yield Check(
        "tract",
        "Trilu aborts",
        Model("Trilu", 14, {}, _PAIR),
        [],
        Dies("index out of bounds: the len is 1 but the index is 18446744073709551615"),
        "“Input tensor of rank 2 or higher.”; a model that is wrong ends in an error, not in an "
        "abort",
        Model("Trilu", 14, {}, _row(1, 2)),
        [[1, 2]],
    )
    chosen = Model("Compress", 11, {"axis": 0}, _VECTOR, more=(np.array([True, False, True]),))
    yield Check(
        "tract",
        "Compress is read",
        chosen,
        [[1, 2]],
        Raises("Compress can not be typed"),
        "the first and the last are chosen from 1, 4 and 2; Gather is asked for them too",
        replace(chosen, op="Gather", more=(np.array([0, 2]),)),
        [1, 2],
    )
    tiled = Model("Tile", 13, {}, _PAIR, more=(np.array([2]),))
    yield Check(
        "tract",
        "Tile is not computed",
        tiled,
        [[1, 2, 1, 2]],
        Raises("shape input is variable"),
        "1 and 2 are repeated twice, as Concat joins them twice",
        Model("Concat", 13, {"axis": 0}, _PAIR, more=(_PAIR,)),
        [1, 2, 1, 2],
    )
    yield _less_along_axis("tract")
    yield from _limited("tract")
    yield _empty("tract")
    yield _last_index("tract")
    yield _column_row_depth("tract")
    yield from _split_of("tract")
    split = Model("Split", 13, {}, _ONE_TO_FOUR, more=(np.array([1, 3]),), output=1)
    yield Check(
        "tract",
        "Split from version 13 on",
        split,
        [[2, 3, 4]],
        Raises("Need splits to be a constant"),
        "the second part has the last three elements",
        Model("Split", 11, {"split": [1, 3]}, _ONE_TO_FOUR, output=1),
        [2, 3, 4],
    )
    yield _split(
        "tract",
        "Split aborts the process where axis",
        Model("Split", 11, {"axis": 1}, _ONE_TO_FOUR),
        Dies("index out of bounds: the len is 1 but the index is 1"),
        f"a vector has the axes -1 and 0; {_NO_ABORT}",
    )
    yield _split(
        "tract",
        "Split-18 ignores num_outputs",
        _SPLIT_18,
        [4, 5, 6],
        "“Number of outputs to split parts of the tensor into.”, of which the node has two",
    )
    doubles = Model("IsNaN", 20, {}, np.array([1, nan]), gives="bool")
    yield Check(
        "tract",
        "IsNaN and IsInf have no kernel",
        doubles,
        [[False, True]],
        Raises("Element wise eval in-place not defined"),
        "1 is a number, and NaN is none",
        replace(doubles, x=doubles.x.astype(np.float32)),
        [False, True],
    )
    yield _fmod("tract")
    seven, control = _mod(7, by=(5, 4), fmod=1), _mod(7, 7, by=(5, 4), fmod=1)
    cause, why = "Mod divides B by A", "7 = 5 + 2 = 4 + 3"
    yield Check("tract", cause, seven, [[2, 3]], Gives([5, 4]), why, control, [2, 3])
    minus, why = _mod(6, 6, by=(-3, -3), opset=28), "“The result has the same sign as `B`.”"
    cause, control = "Mod-28 with fmod 0", _with(minus, fmod=1)
    yield Check("tract", cause, minus, [[-0.0, -0.0]], Gives([0, 0]), why, control, [0, 0])
    yield _no_index("tract", Gives([[1, 2]]))
    single = _gathered(_PAIR, [1], op="GatherND")
    yield Check(
        "tract",
        "GatherND aborts the process at an index that counts",
        _gathered(_PAIR, [-1], op="GatherND"),
        [[2]],
        Dies("assertion failed: index < dim"),
        "the last of 1 and 2",
        single,
        [2],
    )
    yield Check(
        "tract",
        "GatherND aborts the process where data",
        _gathered(_SQUARE, [1], op="GatherND", batch_dims=1),
        [],
        Dies("assertion `left == right` failed"),
        "two batches of data and one of indices, where their numbers “must be equal”",
        _gathered(_SQUARE, [1], [1], op="GatherND", batch_dims=1),
        [2, 4],
    )
    far = _gathered(_PAIR, [4294967297], op="GatherND")
    yield _taken("tract", "GatherND cuts an index", far, [2], _OUT, single)
    yield Check(
        "tract",
        "GatherND never ends",
        replace(single, more=(np.array(0),)),
        [],
        Dies("exit status -14"),
        "“r >= 1 and q >= 1 are to be honored.”",
        single,
        [2],
    )
    constant = replace(_shaped("Reshape", 13, _COLUMN, 2), constant=True)
    yield Check(
        "tract",
        "Reshape-1 is refused",
        _shaped("Reshape", 1, _COLUMN, 2),
        [_PAIR],
        Raises("Rules expect 2, node has 1"),
        "two elements remain two",
        constant,
        _PAIR,
    )
    yield Check(
        "tract",
        "Reshape is not computed",
        replace(constant, constant=False),
        [_PAIR],
        Raises("shape input is variable"),
        "two elements remain two",
        constant,
        _PAIR,
    )
    fed = _shaped("Unsqueeze", 13, _PAIR, 0)
    yield Check(
        "tract",
        "Squeeze and Unsqueeze from version 13",
        fed,
        [[[1, 2]]],
        Raises("Need axes to be a constant"),
        "a first axis with one element holds the vector",
        replace(fed, constant=True),
        [[1, 2]],
    )
    both = _shaped("Squeeze", 11, _COLUMN, 0, 2)
    cause, why = "Squeeze before version 13", "of a [1, 2, 1], the axis with 2 elements remains"
    refused = Raises("expected attribute 'axes'")
    bare = replace(both, attrs={})
    yield Check("tract", f"{cause} is refused", bare, [_PAIR], refused, why, both, _PAIR)
    down, dies = _with(both, axes=[2, 0]), Dies("assertion failed: index < len")
    yield Check("tract", f"{cause} aborts", down, [_PAIR], dies, why, both, _PAIR)
    yield Check(
        "tract",
        "Squeeze and Unsqueeze abort",
        _with(both, axes=[0, 3]),
        [],
        dies,
        f"“Accepted range is [-r, r-1]”, and r is 3; {_NO_ABORT}",
        both,
        _PAIR,
    )
    yield _from_the_back("tract")
    for cause, perm, words in (
        ("Transpose aborts", [2, 0], "index out of bounds: the len is 2 but the index is 2"),
        ("Transpose never ends", [1, 1], "exit status -14"),
    ):
        misnamed, flipped = _with(_TURNED, perm=perm), [[1, 3], [2, 4]]
        yield Check("tract", cause, misnamed, [], Dies(words), _ONCE, _TURNED, flipped)
    above = Model("Flatten", 13, {"axis": 3}, _SQUARE)
    yield Check(
        "tract",
        "Flatten aborts",
        above,
        [],
        Dies("range end index 3 out of range for slice of length 2"),
        f"a matrix has no axis 3; {_NO_ABORT}",
        _with(above, axis=2),
        [[1], [2], [3], [4]],
    )
    refused = Raises("Reshape volume mismatch: input [Val(2), Val(0), Val(3)] (vol=0)")
    yield _flatten("tract", "Flatten takes a length of 0", refused)
    yield _from_the_back_of_flatten("tract", "Flatten before version 11")
    yield from _slices_of_tract()
    yield from _scattered_by_tract()
    yield from _functions_of_tract()
    yield from _reductions_of_tract()
    yield from _multiplied_by_tract()
    yield from _pooled_by_tract()
    yield from _normalized_by_tract()
    yield from _batches_by_tract()
    yield from _transposed_by_tract()


def _reductions_of_tract() -> Iterator[Check]:
    """Reductions, most of them of a vector to one number."""
    numeric = "“Constrain input and output types to numeric tensors.”"
    fed = Model("ReduceSum", 13, {"keepdims": 0}, _SQUARE, more=(np.array([1]),))
    total = Model("ReduceSum", 13, {"keepdims": 0}, np.array([2**32 + 1, 1]))
    small = replace(total, x=np.array([7, 1]))
    squares = Model("ReduceSumSquare", 13, {"keepdims": 0}, np.array([46340], np.int32))
    largest = Model("ReduceMax", 20, {"keepdims": 0}, _VECTOR)
    unsigned = replace(largest, x=_VECTOR.astype(np.uint32))
    true = replace(largest, x=np.array([False, True]))
    as_numpy = "“The above behavior is similar to numpy”, whose maximum of NaN and numbers is NaN"
    for cause, model, want, shows, why, control, answer in (
        (
            "A reduction whose axes are an input",
            fed,
            [3, 7],
            Raises("expected axes as a constant"),
            "the sums of the rows [1, 2] and [3, 4]",
            replace(fed, constant=True),
            [3, 7],
        ),
        (
            "Nor do reductions have a kernel",
            unsigned,
            4,
            Raises("U32 is not a number"),
            f"4 is the largest; {numeric}",
            replace(largest, x=_VECTOR.astype(np.int32)),
            4,
        ),
        (
            "ReduceMax-20 and ReduceMin-20",
            true,
            True,
            Raises("Bool is not a number"),
            "“the comparison should consider `False < True`”",
            replace(true, x=np.array([0, 1], np.uint8)),
            1,
        ),
        (
            "ReduceSum, ReduceL1 and ReduceMean add up",
            total,
            2**32 + 2,
            Gives(2),
            "2^32 + 1 + 1 = 2^32 + 2",
            small,
            8,
        ),
        (
            "ReduceSumSquare squares int32",
            squares,
            2147395600,
            Gives(2147395584),
            "46340² = 2147395600",
            replace(squares, x=np.array([3], np.int32)),
            9,
        ),
        (
            "ReduceMax starts at",
            replace(largest, x=np.zeros(0, np.float32)),
            -inf,
            Gives(_LOWEST),
            "“Reduction over an empty set of values yields minus infinity (if supported by the "
            "datatype)”",
            largest,
            4,
        ),
        (
            "ReduceMax and ReduceMin keep a number",
            replace(largest, x=np.array([nan, 1, 3])),
            nan,
            Gives(3),
            as_numpy,
            replace(largest, x=np.array([2.0, 1, 3])),
            3,
        ),
        (
            "In float32, ReduceMax and ReduceMin lose",
            replace(largest, x=np.array([2, 1, nan], np.float32)),
            nan,
            Gives(2),
            as_numpy,
            largest,
            4,
        ),
    ):
        yield Check(
            "tract",
            cause,
            model,
            [want],
            shows,
            why,
            control,
            answer,
            rtol=0,
            sometimes=cause.startswith("In float32"),
        )
    older = Model("ReduceSum", 11, {"axes": [0], "keepdims": 0}, _PAIR)
    yield Check(
        "tract",
        "Reductions abort",
        _with(older, axes=[1]),
        [],
        Dies("Illegal combination of values for rank and axis: 1 and 1"),
        f"a vector has the axes -1 and 0; {_NO_ABORT}",
        older,
        3,
    )


def _functions_of_tract() -> Iterator[Check]:
    """Functions of each element, with a control of the same operator."""
    for cause, model, want, wrong, why, fine, answer, rtol in (
        (
            "Erf is the polynomial",
            _function("Erf", 13, 1e-10),
            1.1283792e-10,
            0,
            "erf(x) is 2x / √π near 0",
            1,
            0.8427008,
            1e-6,
        ),
        (
            "Sigmoid cuts x off",
            _function("Sigmoid", 13, -40),
            4.2483543e-18,
            4.6e-7,
            "1 / (1 + e^40), and e^40 = 2.3538527e17",
            0,
            0.5,
            0.1,
        ),
        (
            "Swish cuts x off",
            _function("Swish", 24, -40),
            -1.6993417e-16,
            -6.7e-6,
            "-40 / (1 + e^40), and e^40 = 2.3538527e17",
            1,
            0.73105858,
            0.1,
        ),
        (
            "Tanh of float16",
            _function("Tanh", 13, 0.375, np.float16),
            0.3584,
            0.3579,
            "(e^0.75 - 1) / (e^0.75 + 1) = 1.1170 / 3.1170",
            0,
            0,
            4e-4,
        ),
        (
            "On a CPU with AVX, Tanh of float32",
            _function("Tanh", 13, inf),
            1,
            0.9999994,
            "tanh(x) tends to 1",
            0,
            0,
            1e-7,
        ),
        (
            "On a CPU with AVX, Tanh, Sigmoid",
            _function("Tanh", 13, nan),
            nan,
            -1,
            "what is computed with NaN is NaN",
            1,
            0.76159416,
            1e-5,
        ),
        (
            "Swish ignores its alpha:",
            _function("Swish", 24, 1, alpha=2.0),
            0.88079708,
            0.73105858,
            "1 / (1 + e^-2) = 1 / 1.13533528",
            0,
            0,
            1e-5,
        ),
        (
            "Celu is max(0, x)",
            _function("Celu", 12, -2, alpha=2.0),
            -1.26424112,
            -0.63212056,
            "min(0, 2 · (e^(-2 / 2) - 1)) = 2 · (0.36787944 - 1)",
            3,
            3,
            1e-5,
        ),
        (
            "Selu has 1.67326",
            _function("Selu", 6, 1, dtype=np.float64),
            1.05070102214813232421875,
            1.0506999492645264,
            "“Coefficient of SELU default to 1.05070102214813232421875”, and gamma · 1 is gamma",
            0,
            0,
            1e-8,
        ),
        (
            "Softplus is ln(exp(x) + 1)",
            _function("Softplus", 1, 100),
            100,
            inf,
            "ln(e^100 + 1) exceeds 100 by e^-100",
            0,
            0.69314718,
            1e-6,
        ),
        (
            "Atanh is log1p",
            _function("Atanh", 9, -0.9999),
            -4.9516360,
            -4.9516606,
            "in float32, it is -0.99989998, and ln(0.00010002 / 1.99989998) / 2 = -4.9516",
            0.9999,
            4.9516360,
            1e-6,
        ),
    ):
        yield Check(
            "tract",
            cause,
            model,
            [[want]],
            Gives([wrong]),
            why,
            replace(model, x=np.array([fine], model.x.dtype)),
            [answer],
            rtol=rtol,
            sometimes=cause.startswith(("On a CPU", "Tanh of float16")),
        )
    whole, why = (
        _function("Exp", 13, 0, dtype=np.int32),
        "“Constrain input and output types to float tensors.”",
    )
    yield Check(
        "tract",
        "Functions and activations accept integers",
        whole,
        [],
        Gives([1]),
        why,
        replace(whole, x=np.zeros(1, np.float32)),
        [1],
    )


def _function(op: str, opset: int, x: float, dtype: Any = np.float32, **attrs: Any) -> Model:
    return Model(op, opset, attrs, np.array([x], dtype))


def _slices_of_tract() -> Iterator[Check]:
    """Slice, Pad and OneHot, of which tract wants most inputs as constants."""
    first, second, behind = (np.array([place]) for place in (0, 1, 3))
    part = Model("Slice", 13, {}, _VECTOR, more=(second, behind))
    padded = Model("Pad", 13, {}, _PAIR, more=(np.array([0, 1]),))
    classes = Model("OneHot", 11, {}, np.array([2, 0]), more=(np.array(3), _PAIR), gives="float32")
    one_hot = [[1, 1, 2], [2, 1, 1]]
    in_scope = "Symbol <Sym0> points to an invalid (dead ?) SymbolScope"
    axis_0 = replace(part, more=(*part.more, first))
    to_the_last = replace(part, more=(second, -second))
    needed, between = "only if axis is a const", "from 1 to 3 there are 4 and 2"
    padding, behind_it = "Expect padding to be constant", "one 0 stands behind 1 and 2"
    unsigned, up_to_2 = "Invalid slicing range 1..18446744073709551615", "-1 is the last, 2"
    of_three, places = "Expected dim and value to be determined", "2 is the last of 3 classes"
    for cause, fed, answer, words, why in (
        ("Slice from version 10 on", axis_0, [4, 2], needed, between),
        ("Slice with starts", part, [4, 2], in_scope, between),
        ("Slice takes starts", to_the_last, [4], unsigned, up_to_2),
        ("Pad from version 11 on", padded, [1, 2, 0], padding, behind_it),
        ("OneHot is not computed", classes, one_hot, of_three, places),
    ):
        constant = replace(fed, constant=True)
        yield Check("tract", cause, fed, [answer], Raises(words), why, constant, answer)
    older = Model("Slice", 1, {"starts": [0], "ends": [2], "axes": [0]}, _VECTOR)
    early = _with(older, starts=[-9])
    why = "“Similar to numpy”, where -9 is before the first of three, and the first is taken"
    refused = Raises("Condition failed: `start <= end`")
    yield Check("tract", "Slice-1 refuses", early, [[1, 4]], refused, why, older, [1, 4])
    for cause, attrs, words, why in (
        ("an axis is", {"axes": [1]}, "the len is 1 but the index is 1", "a vector has one axis"),
        ("starts, ends", {"ends": []}, "the len is 0 but the index is 0", "the axis has no end"),
    ):
        cause, why = f"Slice-1 aborts the process where {cause}", f"{why}; {_NO_ABORT}"
        model, dies = _with(older, **attrs), Dies(f"index out of bounds: {words}")
        yield Check("tract", cause, model, [], dies, why, older, [1, 4])
    constant = replace(padded, constant=True)
    less = replace(constant, more=(np.array([-1, 0]),))
    why = "“add or remove (if negative) at the beginning and end of each axis”"
    dies = Dies("ndarray: could not broadcast array from shape")
    yield Check("tract", "Pad aborts", less, [[2]], dies, why, constant, [1, 2, 0])
    constant = replace(classes, constant=True)
    below, why = _with(constant, axis=-3), "“Accepted range is [-r-1, r] where r = rank(indices).”"
    never = Dies("exit status -14")
    yield Check("tract", "OneHot never ends", below, [], never, why, constant, one_hot)


def _scattered_by_tract() -> Iterator[Check]:
    one, last = _VECTOR[:1], np.array([[2]])
    element = Model("ScatterElements", 18, {}, _VECTOR, more=(last[0], one))
    written, added = [1, 4, 1], [1, 4, 3]
    for cause, model, words, why in (
        (
            "the process where an index",
            replace(element, more=(last[0] + 1, one)),
            "ndarray: index out of bounds",
            _OUT,
        ),
        (
            "the process where axis",
            _with(element, axis=1),
            "the len is 1 but the index is 1",
            "a vector has the axes -1 and 0",
        ),
    ):
        cause, why = f"Scatter and ScatterElements abort {cause}", f"{why}; {_NO_ABORT}"
        yield Check("tract", cause, model, [], Dies(words), why, element, written)
    placed = replace(element, op="ScatterND", more=(last, one))
    summed, dies = _with(placed, reduction="add"), Dies("assertion failed: index < dim")
    refused, back = Raises("ScatterND index -1 out of bounds"), (np.array([[-1]]), one)
    why = "“as per the usual convention for counting backwards from the end”, -1 is the last"
    for cause, model, shows, answer in (
        ("ScatterND refuses", placed, refused, written),
        ("ScatterND with a reduction aborts the process at", summed, dies, added),
    ):
        below = replace(model, more=back)
        yield Check("tract", cause, below, [answer], shows, why, model, answer)
    why = "“the shape of `updates` must equal indices.shape[0:q-1] ++ data.shape[k:r]”"
    fewer = replace(placed, more=(np.array([[2], [0]]), one))
    cause = "ScatterND aborts the process where there are fewer"
    yield Check("tract", cause, fewer, [], dies, f"{why}; {_NO_ABORT}", placed, written)
    row = replace(placed, x=_SQUARE, more=(np.array([[1]]), _row(9, 9)))
    short = replace(row, more=(row.more[0], _row(9)))
    cause = "ScatterND accepts updates of another shape"
    yield _taken("tract", cause, short, [[1, 2], [9, 9]], why, row)
    beyond = np.array([1, 4, 1]) + np.array([2**53, 2**53, 0])
    start, limit, step = map(np.asarray, beyond)
    counted = Model("Range", 11, {}, start, more=(limit, step))
    yield Check(
        "tract",
        "Range counts the numbers",
        counted,
        [beyond[0] + np.arange(3)],
        Gives(beyond[0] + np.arange(4)),
        "2^53 + 1, 2^53 + 2 and 2^53 + 3 are below 2^53 + 4",
        replace(counted, x=np.array(1), more=(np.array(4), step)),
        [1, 2, 3],
    )
    ends = (np.array(2048, np.float16), np.array(2052, np.float16), np.array(1, np.float16))
    halves = Model("Range", 27, {}, ends[0], more=ends[1:])
    yield Check(
        "tract",
        "Range of float16 adds up",
        halves,
        [[2048, 2048, 2050, 2052]],
        Gives([2048, 2048, 2048, 2048]),
        "2049 is 2048 in the end, and 2051 is 2052: “cast to 32-bit float before the loop”",
        replace(halves, x=np.array(3, np.float16), more=(np.array(6, np.float16), ends[2])),
        [3, 4, 5],
        rtol=1e-6,
    )
    numbers = np.array(3, np.float32), np.array(6, np.float32), np.array(1, np.float32)
    steps = Model("Range", 27, {}, numbers[0], more=numbers[1:])
    why = "stash_type is an INT"
    half = replace(steps, attrs={"stash_type": 1.5})
    yield _taken("tract", "Range does not read stash_type", half, [3, 4, 5], why, steps)
    start, *rest = (x.astype(np.int8) for x in numbers)
    bytes_ = Model("Range", 11, {}, start, more=tuple(rest))
    why, floats = "no int8 is among T", Model("Range", 11, {}, numbers[0], more=numbers[1:])
    yield _taken("tract", "Range accepts integers that", bytes_, [3, 4, 5], why, floats)
    eye = Model("EyeLike", 9, {}, _SQUARE)
    yield Check(
        "tract",
        "EyeLike does not make booleans",
        replace(eye, x=_SQUARE > 1),
        [[[True, False], [False, True]]],
        Raises("Bool is not a number"),
        "“Constrain output types. Strings and complex are not supported.”",
        eye,
        [[1, 0], [0, 1]],
    )
    scalars = np.array(0.5, np.float32), np.array(False)
    kept = Model("Dropout", 13, {}, _PAIR, more=scalars)
    why = "“an optional input ratio (floating-point scalar)”"
    ratios = replace(kept, more=(_PAIR / 4, scalars[1]))
    yield _taken("tract", "Dropout does not look", ratios, _PAIR, why, kept)
    clipped = Model("Clip", 13, {}, _VECTOR, more=(np.array(2, np.float32),))
    of_each = replace(clipped, more=(_VECTOR[::-1],))
    why = "“It must be a scalar(tensor of empty shape).”"
    cause = "Clip takes a min or a max with an axis"
    yield Check("tract", cause, of_each, [], Gives([2, 4, 2]), why, clipped, [2, 4, 2])


def _multiplied_by_tract() -> Iterator[Check]:
    """MatMul, Gemm, Einsum and what is not far from them on tract."""
    long = np.array([[1, 2]])
    product = Model("MatMul", 13, {}, long, more=(long.T,))
    small = replace(product, x=long.astype(np.int32), more=(long.T.astype(np.int32),))
    whole = "“Constrain input and output types to float/int tensors.”"
    dies, cause = Dies("Can't build a WeightType from I64"), "MatMul and Einsum abort"
    yield Check("tract", cause, product, [[[5]]], dies, f"1·1 + 2·2 = 5; {whole}", small, [[5]])
    pair = Model("MatMul", 13, {}, _PAIR, more=(_PAIR,))
    square, refused = replace(pair, x=_SQUARE), Raises("a_rank > 1 || b_rank > 1")
    why = "“behaves like [numpy.matmul]”, which of two vectors makes 1·1 + 2·2 = 5"
    yield Check("tract", "MatMul of two vectors", pair, [5], refused, why, square, [5, 11])
    scalar, why = replace(square, more=(np.array(2, np.float32),)), "numpy.matmul takes no scalar"
    dies, cause = Dies("index exceeds length"), "MatMul aborts the process where B"
    yield Check("tract", cause, scalar, [], dies, f"{why}; {_NO_ABORT}", square, [5, 11])
    gemm = Model("Gemm", 13, {"alpha": 2.0}, _SQUARE, more=(np.eye(2, dtype=np.float32),))
    doubled, why = [[2, 4], [6, 8]], "2 times the matrix, times the one of ones on its diagonal"
    half = replace(gemm, x=_SQUARE.astype(np.float16), more=(gemm.more[0].astype(np.float16),))
    words, cause = Raises("expected 2,2,F16 got 2,2,F32"), "Gemm's alpha and beta are"
    yield Check("tract", cause, half, [doubled], words, why, gemm, doubled)
    turned, why = _with(gemm, transA=1), "“transposed … if attribute transA is non-zero”"
    second, refused = _with(turned, transA=2), Raises("expected boolean (0 or 1)")
    columns, cause = [[2, 6], [4, 8]], "Gemm refuses a transA"
    yield Check("tract", cause, second, [columns], refused, why, turned, columns)
    ninth, why = replace(gemm, opset=9), "C is optional from version 11 on"
    with_c = replace(ninth, more=(*gemm.more, 0 * _SQUARE))
    yield _taken("tract", "Gemm before version 11 does", ninth, doubled, why, with_c)

    apart = Model("LogSoftmax", 13, {}, np.array([0, 1000], np.float32))
    equal, cause = replace(apart, x=0 * _PAIR), "LogSoftmax is computed as"
    lost, why, log = Gives([-inf, 0]), "0 - ln(1 + e^1000) = -1000", -0.6931472
    yield Check("tract", cause, apart, [[-1000, 0]], lost, why, equal, [log, log])

    def einsum(equation: str, *x: Array) -> Model:
        return Model("Einsum", 12, {"equation": equation}, x[0], more=x[1:])

    ones = np.ones((2, 2, 1), np.float32)
    rows, diagonal = einsum("ij->i", _SQUARE), einsum("ii->i", _SQUARE)
    stacks = einsum("...i,ij->...j", ones, np.ones((1, 1), np.float32))
    stretched = einsum("...i,...i->...", _SQUARE, _SQUARE[:1])
    product = einsum("ii,i->i", _SQUARE, _PAIR)
    for cause, model, want, shows, why, control, answer in (
        (
            "takes an empty right",
            einsum("i->", _PAIR),
            [3],
            Gives([1, 2]),
            "the output has no index, so that all are summed: 1 + 2 = 3",
            rows,
            [3, 7],
        ),
        (
            "does not broadcast",
            stretched,
            [[5, 11]],
            Raises("Impossible to unify Val(2) with Val(1)"),
            "“ellipsis … to enable broadcasting”: 1·1 + 2·2 = 5 and 1·3 + 2·4 = 11",
            replace(stretched, more=(_SQUARE,)),
            [5, 25],
        ),
        (
            "gives the ellipsis",
            stacks,
            [np.ones((2, 2, 1))],
            Gives([[2], [2]]),
            "the ellipsis stands for two axes, also in the output",
            replace(stacks, x=ones[0]),
            [[1], [1]],
        ),
        (
            "of several operands takes",
            product,
            [[1, 8]],
            Gives([1, 2]),
            "1·1 = 1 and 4·2 = 8",
            diagonal,
            [1, 4],
        ),
        (
            "aborts the process",
            einsum("...hi->...h", _PAIR),
            [],
            Dies("overflow in `Step::forward`"),
            f"two letters for one axis; {_NO_ABORT}",
            einsum("...hi->...h", _SQUARE),
            [3, 7],
        ),
        (
            "takes any character",
            einsum("i*->i", _SQUARE),
            [],
            Gives([3, 7]),
            "“lower case letters and/or upper case letters”",
            rows,
            [3, 7],
        ),
        (
            "makes an axis",
            einsum("i->ij", _PAIR),
            [],
            Gives([[1], [2]]),
            "no operand has an axis j, nor a length for it",
            einsum("ij->ij", _PAIR[None]),
            [[1, 2]],
        ),
        (
            "broadcasts ellipses",
            replace(stretched, more=(_PAIR,)),
            [],
            Gives([5, 11]),
            "“every occurrence of ellipsis … must represent the same number of dimensions”",
            replace(stretched, more=(_SQUARE,)),
            [5, 25],
        ),
    ):
        yield Check("tract", f"Einsum {cause}", model, want, shows, why, control, answer)


def _pooled_by_tract() -> Iterator[Check]:
    """Pools, and the sums of CumSum, on tract."""
    pool = Model("GlobalLpPool", 2, {}, _x(3, 4))
    one, why = replace(pool, x=_x(3)), "√(9 + 16) = 5"
    cause, mean = "GlobalLpPool divides", Gives(_pool(12.5**0.5))
    yield Check("tract", cause, pool, [_pool(5)], mean, why, one, _pool(3))
    one, cause = _with(one, p=1), "GlobalLpPool takes elements"
    below, why = replace(one, x=_x(-3)), "the norm of -3 is 3"
    yield Check("tract", cause, below, [_pool(3)], Gives(_pool(-3)), why, one, _pool(3))
    first = replace(one, opset=1, attrs={})
    stated, refused = _with(first, p=2.0), Raises("attribute 'p': expected int")
    cause, why = "GlobalLpPool-1 refuses", "p is a FLOAT in version 1, and 2 its default"
    yield Check("tract", cause, stated, [_pool(3)], refused, why, first, _pool(3))
    one = replace(one, x=_x(1))
    zero, why = _with(one, p=0), "there is no norm for p = 0"
    yield _taken("tract", "GlobalLpPool takes a p of 0", zero, _pool(1), why, one)
    matrix, why = replace(one, x=_x(1)[0]), "“(N x C x D1 x D2 ... Dn)”"
    cause = "Global pools accept a tensor"
    yield Check("tract", cause, matrix, [], Gives([[1]]), why, one, _pool(1))
    half = replace(one, op="GlobalAveragePool", opset=1, attrs={}, x=_x(6e4, 6e4, dtype="f2"))
    small, right = replace(half, x=_x(2, 4, dtype="f2")), [_pool(6e4)]
    cause, why = "GlobalAveragePool adds up", "the mean of 60000 and 60000 is 60000"
    yield Check("tract", cause, half, right, Gives(_pool(inf)), why, small, _pool(3))
    three = Model("MaxPool", 12, {"kernel_shape": [3]}, _x(1, 2, 4))
    four, why = _with(three, kernel_shape=[4]), "⌊(3 - 4) / 1⌋ + 1 = 0 windows fit"
    cause, whole = "AveragePool and MaxPool make one", Gives(_pool(4))
    yield Check("tract", cause, four, [np.zeros((1, 1, 0))], whole, why, three, _pool(4))
    five, why = _with(three, kernel_shape=[5]), "⌊(3 - 5) / 1⌋ + 1 = -1 windows fit"
    yield Check("tract", "So they do where the size", five, [], whole, why, three, _pool(4))
    total, sums = Model("CumSum", 14, {}, _VECTOR, more=(np.array(0),)), [1, 5, 7]
    cause, why = "CumSum is not computed", "1, 1 + 4 and 1 + 4 + 2"
    words, constant = Raises("Axis expected to be a const"), replace(total, constant=True)
    yield Check("tract", cause, total, [sums], words, why, constant, sums)


def _normalized_by_tract() -> Iterator[Check]:
    """Pow, PRelu and normalizations on tract."""
    power = Model("Pow", 15, {}, np.array([3], np.int32), more=(np.array([2], np.int32),))
    why = "“The result … has the same type as the first input”"
    for words, cause, of in (
        ("expected 1,I32 got 1,I64", "Pow makes a result", np.int64),
        ("called `Option::unwrap()` on a `None` value", "Pow aborts", np.uint8),
    ):
        shows = Dies(words) if of is np.uint8 else Raises(words)
        other = replace(power, more=(np.array([2], of),))
        yield Check("tract", cause, other, [[9]], shows, why, power, [9])
    below, cause = replace(power, more=(-power.more[0] // 2,)), "Pow takes a power"
    why, wraps = "1/3 is cut off to 0", Gives([-1431655765])
    yield Check("tract", cause, below, [[0]], wraps, why, power, [9])
    slopes = Model("PRelu", 16, {}, -_IMAGE[0].reshape(1, 2, 3), more=(_COLUMN[0],))
    sixth = replace(slopes, opset=6, more=(_PAIR,))
    right, refused = [[[-1] * 3, [-2] * 3]], Raises("broadcast((3), (2))")
    cause, why = (
        "PRelu before version 7 takes",
        "the slope of channel 0 is 1, that of channel 1 is 2",
    )
    yield Check("tract", cause, sixth, [right], refused, why, slopes, right)
    shared = replace(sixth, x=-_PAIR, more=(np.array([[3]], np.float32),))
    one, refused = replace(shared, more=(shared.more[0][0],)), Raises("require rank match")
    cause, why = "PRelu before version 7 refuses", "“If `Slope` is of size 1, the value is shared”"
    yield Check("tract", cause, shared, [[-3, -6]], refused, why, one, [-3, -6])
    scales = (np.ones(1), np.zeros(1))
    images = Model("InstanceNormalization", 6, {"epsilon": 0.0}, _pool(-1, 1.0), more=scales)
    near, why = 1 + 2**-24, "the mean is 0 and the variance the square of each"
    far, own = replace(images, x=near * images.x), Gives(near * images.x)
    unit, cause = [_pool(-1, 1)], "The mean of squares"
    yield Check("tract", cause, far, unit, own, why, images, _pool(-1, 1), rtol=1e-12)
    first, why = replace(images, opset=1), "“The input 4-dimensional tensor of shape NCHW.”"
    yield _taken("tract", "InstanceNormalization-1 takes", first, _pool(-1, 1), why, images)
    rms = Model("RMSNormalization", 23, {"epsilon": 0.0}, _row(3, 3), more=(_PAIR,))
    wide, refused = replace(rms, more=(_PAIR.astype("f2"),)), Raises("tensor is F32")
    cause, why = "RMSNormalization refuses a scale", "the type of scale is V, and that of X is T"
    yield Check("tract", cause, wide, [[[1, 2]]], refused, why, rms, [[1, 2]])
    two, means = np.array([8191, 8193], np.float32), {"axes": [0]}
    pair = Model("MeanVarianceNormalization", 13, means, two)
    few = replace(pair, x=two - 8192)
    none, cause = replace(pair, x=two[:0]), "LpNormalization and MeanVarianceNormalization abort"
    dies, why = Dies("attempt to divide by zero"), "of nothing there is nothing"
    yield Check("tract", cause, none, [two[:0]], dies, why, few, [-1, 1])
    whole = replace(few, x=np.array([1, 1], np.int32))
    control, cause = replace(few, x=two - 8190), "MeanVarianceNormalization aborts"
    why = f"int32 is no float; {_NO_ABORT}"
    yield Check("tract", cause, whole, [], dies, why, control, [-1, 1])
    twice, cause = _with(few, axes=[-2]), "MeanVarianceNormalization counts"
    yield _taken("tract", cause, twice, [-1, 1], "a vector has the axes -1 and 0", few)


def _batches_by_tract() -> Iterator[Check]:
    """BatchNormalization and LRN on tract."""
    given = tuple(np.array([value], np.float32) for value in (3, 1, 4, 4))
    batch = Model("BatchNormalization", 15, {"epsilon": 5.0}, _x(1, 7), more=given, constant=True)
    fed, right = replace(batch, constant=False), _pool(-2, 4)
    words, why = Raises("Params are not const"), "the deviations -3 and 3 are divided by 3"
    cause = "BatchNormalization is not computed"
    yield Check("tract", cause, fed, [right], words, why, batch, right)
    second, words = replace(_with(batch, training_mode=1), output=1), Raises("node says 2")
    cause, why = "BatchNormalization has no other", "0.9 times 4 and 0.1 times the mean 4 are 4"
    yield Check("tract", cause, second, [[4]], words, why, batch, right)
    vector, dies = replace(batch, x=_x(1, 7)[0, 0]), Dies("exit status -11")
    cause, why = "BatchNormalization of a vector", "“in which case C is assumed to be 1”"
    yield Check("tract", cause, vector, [[-2, 4]], dies, why, batch, right)
    half = replace(batch, x=_x(1, 7, dtype="f2"))
    cause, words = "BatchNormalization refuses a scale", Raises("Impossible to unify F16 with F32")
    why = "the types of scale and mean, T1 and T2, are others than that of X, T"
    yield Check("tract", cause, half, [right], words, why, batch, right)
    near = Model("LRN", 13, {"size": 1, "alpha": 1.0, "beta": 1.0}, _x(1)[None])
    flat, why = replace(near, x=_VECTOR), f"a vector has no channels; {_NO_ABORT}"
    dies = Dies("the len is 1 but the index is 1")
    yield Check("tract", "LRN aborts", flat, [], dies, why, near, [[[[0.5]]]])


def _transposed_by_tract() -> Iterator[Check]:
    """ConvTranspose on tract."""
    row, whole = _transposed(_x(1, 2, 4), _x(1, 10, 100)), _pool(1, 12, 124, 240, 400)
    cause, why = (
        "Beside a stated output_shape",
        "of 1 12 124 240 400 the first and last are too many",
    )
    stated, wrong = _with(row, output_shape=[3]), Gives(_pool(1, 12, 124))
    yield Check("tract", cause, stated, [_pool(12, 124, 240)], wrong, why, row, whole)
    cause, why = "ConvTranspose aborts the process where an output_shape", "the last is too many"
    upper, dies = _with(row, output_shape=[4], auto_pad="SAME_UPPER"), Dies("deconv/mod.rs")
    yield Check("tract", cause, upper, [_pool(1, 12, 124, 240)], dies, why, row, whole)
    cause, why = "ConvTranspose refuses SAME_UPPER", "three elements become nine, which there are"
    same, right = (
        _with(row, strides=[3], auto_pad="SAME_UPPER"),
        _pool(1, 10, 100, 2, 20, 200, 4, 40, 400),
    )
    refused, plain = Raises("> stride - 1"), _with(row, strides=[3])
    yield Check("tract", cause, same, [right], refused, why, plain, right)
    cause, why = "Under SAME_UPPER and SAME_LOWER the output", "three elements become six"
    same = _with(row, strides=[2], auto_pad="SAME_UPPER")
    more, wrong = _with(same, output_padding=[1]), Gives(_pool(10, 102, 20, 204, 40))
    six, right = _pool(1, 10, 102, 20, 204, 40), _pool(10, 102, 20, 204, 40, 400)
    yield Check("tract", cause, more, [right], wrong, why, same, six)
    cause, why = "ConvTranspose aborts the process where more", "five elements less seven are none"
    dies, cut = Dies("assertion failed: self.dims"), _with(row, pads=[4, 3])
    yield Check("tract", cause, cut, [], dies, why, row, whole)
    cause, why = "ConvTranspose does not check", "W has a kernel of three"
    yield _taken("tract", cause, _with(row, kernel_shape=[2]), whole, why, row)


def torch() -> Iterator[Check]:
    """On PyTorch's functions."""
    yield _gelu_of_infinity("torch", "On a CPU with AVX-512, torch.nn.functional.gelu")
    halves = ml_dtypes.bfloat16
    pairs = Model("Conv", 22, {}, _x(1, 2, 3, inf, dtype=halves), more=(_x(1, 1, dtype=halves),))
    yield Check(
        "torch",
        "On a CPU with instructions for bfloat16, torch.conv1d",
        pairs,
        [_pool(3, 5, inf)],
        Gives(_pool(3, nan, nan)),
        "1 + 2 = 3, 2 + 3 = 5 and 3 + inf = inf",
        replace(pairs, x=_x(1, 2, 3, 4, dtype=halves)),
        _pool(3, 5, 7),
        sometimes=True,
    )
    small = Model("Erf", 13, {}, np.array([2.0**-40, 0], halves))
    yield Check(
        "torch",
        "On a CPU with AVX2, torch.erf",
        small,
        [[1.0263e-12, 0]],
        Gives([0, 0]),
        "the error function of a small x is 2 / √π · x, and 1.128379 / 2^40 is 1.0263e-12",
        replace(small, x=np.array([1, 0], halves)),
        [0.8427, 0],
        rtol=1e-2,
        sometimes=True,
    )
    many = Model("Cosh", 9, {}, np.full(32, 89, np.float32))
    yield Check(
        "torch",
        "On a CPU with AVX2, torch.cosh",
        many,
        [[2.2448064e38] * 32],
        Gives([inf] * 32),
        "(e^89 + e^-89) / 2 is 2.2448064e38, and the largest float32 is 3.4028235e38",
        replace(many, x=many.x[:1]),
        [2.2448064e38],
        sometimes=True,
    )


def _f(values: npt.ArrayLike, dtype: Any = np.float32) -> Array:
    return np.asarray(values, dtype)


def _attended(q: Any, k: Any, v: Any, *more: Array | None, opset: int = 23, **attrs: Any) -> Model:
    """One head of one batch; `more` are mask, past_key, past_value and nonpad_kv_seqlen."""
    q, k, v = (_f(x).reshape(1, 1, -1, 1) if np.ndim(x) == 1 else _f(x) for x in (q, k, v))
    return Model("Attention", opset, attrs, q, more=(k, v, *more))


def _attended_by_openvino(plain: Model, mean: Any, whole: Model, two: Any) -> Iterator[Check]:
    """Three queries that get the mean of 2, 4 and 12; and `whole`, in which two keys are shown."""
    pair, why = _attended([0], [1, 2], [256, 256]), "the mean of 257 is 257"
    wide = _attended([0], [1, 2], [257, 257])
    yield Check(
        "openvino",
        "So does Attention",
        wide,
        [[[[[257]]]]],
        Gives([[[[256]]]]),
        why,
        pair,
        [[[[256]]]],
        sometimes=True,
    )
    diagonal = _f([[[20, 0], [0, 20]]])
    one = Model(
        "Attention",
        23,
        {"q_num_heads": 1, "kv_num_heads": 1},
        diagonal,
        more=(diagonal, _f([[[1, 2], [3, 6]]])),
    )
    cause = "On a CPU with instructions for bfloat16, Attention of three axes"
    yield Check(
        "openvino",
        cause,
        _with(one, q_num_heads=2, kv_num_heads=2),
        [[[[1, 4], [2, 6]]]],
        Gives([[[1, 6], [2, 6]]]),
        "the first query's second head scores 0 with both keys: the mean of 2 and 6 is 4",
        one,
        [[[1, 2], [3, 6]]],
        sometimes=True,
    )
    doubles = replace(
        plain, x=plain.x.astype(float), more=tuple(x.astype(float) for x in plain.more)
    )
    none = np.array([[True] * 3, [False] * 3, [True] * 3])
    hidden = replace(doubles, more=(*doubles.more, none))
    yield Check(
        "openvino",
        "Attention computes float64",
        hidden,
        [[[[[6], [0], [6]]]]],
        Gives(mean),
        "“A fully-masked query row … produces a zero output row”",
        doubles,
        mean,
        rtol=1e-2,
    )
    alone = _with(replace(plain, opset=25), left_window_size=0, right_window_size=0)
    yield Check(
        "openvino",
        "Attention-25 ignores",
        alone,
        [[[[[2], [4], [12]]]]],
        Gives(mean),
        "each query attends its own key alone",
        replace(plain, opset=25),
        mean,
        rtol=1e-2,
    )
    past = (None, _f([[[[1]]]]), _f([[[[2]]]]))
    late = replace(_attended([0, 0], [1, 1, 1], [4, 6, 8], *past, is_causal=1), after=2)
    yield Check(
        "openvino",
        "Under is_causal the last query",
        late,
        [[[[[3], [4]]]]],
        Gives([[[[4], [5]]]]),
        "“`j <= i + past_sequence_length`”: 2 and 4; 2, 4 and 6",
        replace(late, x=_f([[[[0]] * 3]])),
        [[[[3], [4], [5]]]],
        rtol=1e-2,
    )
    uneven = _attended([1], [0, 3], [2, 4], scale=0.0)
    yield Check(
        "openvino",
        "Attention takes a scale of 0",
        uneven,
        [[[[[3]]]]],
        Gives([[[[3.905]]]]),
        "both keys score 0",
        replace(uneven, x=_f([[[[0]]]])),
        [[[[3]]]],
        rtol=1e-2,
    )
    shown = replace(plain, more=(*plain.more, np.array([True, True, False])))
    yield Check(
        "openvino",
        "Attention refuses a mask of keys",
        shown,
        [two],
        Raises("OpConversionFailure"),
        "the mean of 2 and 4 is 3",
        whole,
        two,
    )
    nothing = replace(plain, x=plain.x[:0], more=tuple(x[:0] for x in plain.more))
    yield Check(
        "openvino",
        "Attention of no batches",
        nothing,
        [plain.x[:0]],
        Raises("object is not initialized"),
        "no batches get no values",
        plain,
        mean,
        rtol=1e-2,
    )
    integer, why = _with(plain, softmax_precision=7), "7 is int64, and no precision of floats"
    cause = "Attention does not look at a softcap"
    yield Check("openvino", cause, integer, [], Gives(mean), why, plain, mean, rtol=1e-2)


def _attended_by_tract(plain: Model, mean: Any, whole: Model, two: Any) -> Iterator[Check]:
    """Three queries that get the mean of 2, 4 and 12; and `whole`, in which two keys are shown."""

    def check(
        cause: str,
        model: Model,
        want: Any,
        shows: Any,
        why: str,
        control: Model = plain,
        right: Any = mean,
        rtol: float = 1e-3,
    ) -> Check:
        wants = [] if want is None else [want]
        return Check("tract", cause, model, wants, shows, why, control, right, rtol)

    def doubled(model: Model) -> Model:
        return replace(
            model, x=model.x.astype(float), more=tuple(x.astype(float) for x in model.more)
        )

    zeros, values = np.zeros((1, 1, 3, 2), np.float32), plain.more[1]
    wide, six = replace(plain, x=zeros[:, :, :1], more=(zeros, values)), [[[[6]]]]
    why = "the mean of 2, 4 and 12 is 6"
    yield check(
        "Attention of float64 finds",
        doubled(wide),
        six,
        Raises("suitable.len() > 0"),
        why,
        wide,
        six,
    )
    one = _f([[[[1, 0], [0, 1]]]])
    even = Model("Attention", 23, {}, one, more=(one, one))
    right, near = 0.6697615493266569, 0.6697615385055542
    yield check(
        "Attention of float64 is computed",
        doubled(even),
        [[[[right, 1 - right], [1 - right, right]]]],
        Gives([[[[near, 1 - near], [1 - near, near]]]]),
        "1 / (1 + e^-√½) is 0.66976154932",
        doubled(plain),
        mean,
        1e-9,
    )
    floats = replace(whole, more=(*plain.more, np.where(whole.more[2], 0, -inf).astype(np.float32)))
    yield check(
        "Attention refuses a mask of booleans",
        whole,
        two,
        Raises("must be floating"),
        "the mean of 2 and 4 is 3",
        floats,
        two,
    )
    hidden = replace(wide, more=(*wide.more, np.array([[True, True, False]])))
    yield check(
        "A mask of booleans is added",
        hidden,
        [[[[3]]]],
        Gives([[[[4.39826]]]]),
        "the mean of 2 and 4 is 3, and (2e + 4e + 12) / (2e + 1) is 4.398",
        wide,
        six,
    )
    dark = np.array([[0.0] * 3, [-inf] * 3, [0.0] * 3], np.float32)
    yield check(
        "A query of which a mask",
        replace(plain, more=(*plain.more, dark)),
        [[[[6], [0], [6]]]],
        Gives([[[[6.0], [nan], [6.0]]]]),
        "“a fully-masked query row … produces a zero output row”",
    )
    halves = (*(x.astype("f2") for x in plain.more), np.zeros((3, 3), "f2"))
    half = replace(plain, attrs={"is_causal": 1}, x=plain.x.astype("f2"), more=halves)
    yield check(
        "Under is_causal a mask",
        half,
        [[[[2], [3], [6]]]],
        Raises("accessed as F32"),
        "2, the mean of 2 and 4, that of all",
        replace(half, more=half.more[:2]),
        [[[[2], [3], [6]]]],
    )
    past = (None, _f([[[[1]]]]), _f([[[[2]]]]))
    late = replace(_attended([0, 0], [1, 1], [4, 6], *past, is_causal=1), after=2)
    yield check(
        "Under is_causal the past",
        late,
        [[[[3], [4]]]],
        Gives([[[[2], [3]]]]),
        "“`j <= i + past_sequence_length`”: 2 and 4; 2, 4 and 6",
        replace(late, attrs={}),
        [[[[4], [4]]]],
    )
    scores = replace(_attended([1], [2], [7], *past, scale=1.0), output=3)
    yield check(
        "Attention has no qk_matmul_output",
        scores,
        [[[[1, 2]]]],
        Raises("node says 4"),
        "1 · 1 and 1 · 2",
        replace(scores, output=2),
        [[[[2], [7]]]],
    )
    keys = replace(plain, more=(*plain.more, _f([0, 0, -inf])))
    yield check(
        "Attention does not broadcast a mask",
        keys,
        two,
        Raises("IncompatibleShape"),
        "the mean of 2 and 4 is 3",
        floats,
        two,
    )
    alone = _with(replace(plain, opset=25), left_window_size=0, right_window_size=0)
    yield check(
        "Attention-25 ignores",
        alone,
        [[[[2], [4], [12]]]],
        Gives(mean),
        "each query attends its own key alone",
        replace(plain, opset=25),
    )
    fewer = replace(wide, more=(zeros, values[:, :, :2]))
    yield check(
        "Attention takes a past of keys",
        fewer,
        None,
        Gives([[[[2]]]]),
        "three keys have three values; two thirds of 2 and 4 are 2",
        wide,
        six,
    )
    cause, why = "Attention does not look at a softmax_precision", "7 is int64, and no precision"
    yield check(cause, _with(plain, softmax_precision=7), None, Gives(mean), f"{why} of floats")
    row = _f([[[1, 2]]])
    heads = Model("Attention", 23, {"q_num_heads": 1, "kv_num_heads": 1}, row, more=(row, row))
    yield check(
        "Attention aborts",
        _with(heads, q_num_heads=0),
        None,
        Dies("divide by zero"),
        f"no heads make no elements; {_NO_ABORT}",
        heads,
        row,
    )


def attention() -> Iterator[Check]:
    """RotaryEmbedding, CausalConvWithState, LinearAttention and Attention."""
    angles = _f([[[0, 2]]]), _f([[[1, 1]]])
    four = Model("RotaryEmbedding", 23, {}, _f([[[[1, 2, 3, 4]]]]), more=angles)
    turned = [[[[-3, 0, 1, 10]]]]
    five = replace(four, x=_f([[[[1, 2, 3, 4, 5]]]]))
    part = _with(five, rotary_embedding_dim=4)
    why, even = "“`head_size` has to be even.”", "RotaryEmbedding takes heads of an odd size"
    yield Check("onnxruntime", even, five, [], Leftovers((1, 1, 1, 5)), why, four, turned)
    shows, even = Gives([[[[-3, 0, 1, 10, 5]]]]), "RotaryEmbedding takes a head of an odd size"
    for engine in ("reference", "tract", "openvino"):
        yield Check(engine, even, part, [], shows, why, four, turned)
    for engine in ("tract", "openvino"):
        one = replace(four, more=(angles[0], angles[1][:, :, :1]))
        why = "two pairs have two angles each, of which there are two cosines and one sine"
        cause = "broadcasts caches: one" if engine == "tract" else "ignores angles that"
        yield _taken(engine, f"RotaryEmbedding {cause}", one, turned, why, four)
    twice = replace(four, x=np.repeat(four.x, 2, 0), more=(angles[0], np.repeat(angles[1], 2, 0)))
    control = replace(twice, more=tuple(np.repeat(x, 2, 0) for x in angles))
    why = "“3D tensor with shape `(batch_size, sequence_length, head_size / 2)`”"
    yield _taken("reference", "RotaryEmbedding broadcasts", twice, turned * 2, why, control)
    pairs, rows = _f([[[[1, 2], [3, 4], [5, 6]]]]), (_f([[0], [2]]), _f([[1], [1]]))
    placed = replace(four, x=pairs, more=(*rows, np.array([[1, 0, 1]])))
    two = replace(placed, x=pairs[:, :, :2], more=(*rows, np.array([[1, 0]])))
    first = [[[[0, 5], [-4, 3]]]]
    for more, cause, words, want in (
        (placed, "more tokens than", "Updating cos_cache", [[[[0, 5], [-4, 3], [4, 17]]]]),
        (replace(two, more=(*rows, np.array([[-1, 0]]))), "positions counted", "-1 at", first),
    ):
        why = "2·1 - 1·2 and 1·1 + 2·2, 0·3 - 1·4 and 1·3 + 0·4, 2·5 - 1·6 and 1·5 + 2·6"
        yield Check(
            "onnxruntime",
            f"RotaryEmbedding refuses {cause}",
            more,
            [want],
            Raises(words),
            why,
            two,
            first,
        )
    behind, why = replace(two, more=(*rows, np.array([[2, 0]]))), "there are positions 0 and 1"
    yield Check("tract", "RotaryEmbedding aborts", behind, [], Dies("panicked"), why, two, first)
    yield Check(
        "openvino",
        "RotaryEmbedding takes positions",
        behind,
        [],
        Gives([[[[0, 0], [-4, 3]]]]),
        why,
        two,
        first,
    )
    whole = replace(four, more=(_f([[[1, 1]]]), _f([[[0, 0]]])))
    wide, why = replace(whole, x=_f([[[[257, 1, 2, 3]]]])), "1 · 257 - 0 · 2 is 257"
    yield Check(
        "openvino",
        "So does RotaryEmbedding",
        wide,
        [wide.x],
        Gives([[[[256, 1, 2, 3]]]]),
        why,
        whole,
        whole.x,
        rtol=1e-6,
        sometimes=True,
    )
    whole, why = replace(four, x=four.x.astype(np.int32)), "int32 is no float"
    whole = replace(whole, more=tuple(x.astype(np.int32) for x in angles))
    cause = "RotaryEmbedding computes integers"
    yield Check("tract", cause, whole, [], Gives(turned), why, four, turned)

    conv = Model("CausalConvWithState", 27, {}, _x(1, 2), more=(_x(1, 10),), after=1)
    sums, none = _pool(10, 21), np.zeros((1, 0, 2), np.float32)
    cause, why = "CausalConvWithState of no elements", "of nothing there is nothing"
    yield Check(
        "onnxruntime",
        cause,
        replace(conv, x=_x()),
        [_pool()],
        Raises("Invalid input shape"),
        why,
        conv,
        sums,
    )
    hollow = replace(conv, x=none, more=(np.zeros((0, 1, 2), np.float32),))
    cause, dies = "CausalConvWithState, like", Dies("exit status -8")
    yield Check("onnxruntime", cause, hollow, [none], dies, why, conv, sums)
    cause, stops = "CausalConvWithState of no channels", Raises("ZeroDivisionError")
    yield Check("reference", cause, hollow, [none], stops, why, conv, sums)
    pair = replace(conv, x=np.array([[[1], [2]]], np.float32), more=(_COLUMN.reshape(2, 1, 1),))
    biased = replace(pair, more=(*pair.more, _f([3])))
    cause, why = "CausalConvWithState adds a bias", "two channels have a bias of two elements"
    yield Check("reference", cause, biased, [], Gives([[[4], [7]]]), why, pair, [[[1], [4]]])
    long = replace(conv, more=(*conv.more, None, _x(5, 6)))
    cause, why = "CausalConvWithState takes a state", "before two weights there is one element"
    short = replace(long, more=(*conv.more, None, _x(6)))
    yield Check("reference", cause, long, [], Gives(_pool(65, 16, 21)), why, short, _pool(16, 21))

    heads = {"q_num_heads": 1, "kv_num_heads": 1, "update_rule": "linear", "scale": 1.0}
    linear = Model("LinearAttention", 27, heads, _x(1), more=(_x(2), _x(3)), after=1)
    empty = np.zeros((0, 1, 1), np.float32)
    cause, why = "LinearAttention of no batches", "no batches make no output"
    yield Check(
        "onnxruntime",
        cause,
        replace(linear, x=empty, more=(empty, empty)),
        [empty],
        Raises("Reshape"),
        why,
        linear,
        _pool(6),
    )
    longer = replace(linear, more=(_x(2), _f([[[3], [5]]])))
    cause, why = "LinearAttention takes more values", "there is one token"
    yield _taken("reference", cause, longer, _pool(6), why, linear)

    keys, values, mean = [1, 2, 3], [2, 4, 12], [[[[6], [6], [6]]]]
    plain = _attended([0, 0, 0], keys, values)
    shown = np.array([True, True, False])
    first_two, why = [[[[3], [3], [3]]]], "the mean of 2 and 4 is 3"
    whole = _attended([0, 0, 0], keys, values, np.tile(shown, (3, 1)))
    yield Check(
        "onnxruntime",
        "Attention of float16 or float32 in versions",
        _attended([0, 0, 0], keys, values, shown),
        [first_two],
        Raises("attn_mask"),
        why,
        whole,
        first_two,
    )
    zero, why = _f(0), "the mean of 2, 4 and 12 is 6"
    latest = replace(plain, opset=25)
    for engine, cause, model, words in (
        ("onnxruntime", "In all other versions", latest, "axis"),
        ("reference", "Attention looks at the last axis", plain, "IndexError"),
    ):
        scalar = replace(model, more=(*model.more, zero))
        yield Check(engine, cause, scalar, [mean], Raises(words), why, model, mean)
    yield Check(
        "onnxruntime",
        "Attention of no batches",
        replace(plain, x=plain.x[:, :, :0]),
        [np.zeros((1, 1, 0, 1))],
        Raises("greater than 0"),
        "no queries get no values",
        plain,
        mean,
    )
    yield Check(
        "onnxruntime",
        "Attention of float16 or float32 refuses",
        _with(plain, scale=0.0),
        [mean],
        Raises("scale must be greater than 0"),
        why,
        plain,
        mean,
    )
    past = (_f([[[[3]]]]), _f([[[[5]]]]))
    scores = _attended([1], [2], [7], None, *past, scale=1.0, qk_matmul_output_mode=2)
    scores = replace(scores, output=3)
    hidden = replace(scores, more=(*scores.more[:2], np.array([[True, False]]), *past))
    yield Check(
        "onnxruntime",
        "The qk_matmul_output of mode 2",
        hidden,
        [[[[[3, -inf]]]]],
        Gives([[[[3, _LOWEST]]]]),
        "“its disallowed positions contribute `-inf` to the bias”",
        scores,
        [[[[3, 2]]]],
    )
    cause, why = "The qk_matmul_output of mode 0", "“`1`, … the output after the softcap operation”"
    limited = _with(scores, softcap=2.0, qk_matmul_output_mode=0)
    yield Check(
        "reference",
        cause,
        limited,
        [[[[[3, 2]]]]],
        Gives([[[[1.81030, 1.52319]]]]),
        why,
        _with(limited, softcap=0.0),
        [[[[3, 2]]]],
    )
    half = replace(plain, more=(plain.more[0], _f([[[[2], [4], [12]]]], np.float16)))
    yield Check(
        "onnxruntime",
        "A V of another type",
        half,
        [mean],
        Raises("bound to different types"),
        "the mean of 2, 4 and 12 is 6",
        plain,
        mean,
    )
    both = np.zeros((2, 1, 1, 1), np.float32)
    halves = _attended(both, np.repeat(both, 2, 2), _f([[[[2], [4]]]]), opset=25)
    right = replace(halves, more=(halves.more[0], _f([[[[2], [4]]]] * 2)))
    for engine, cause in (
        ("onnxruntime", "ONNX's function body of Attention broadcasts"),
        ("reference", "Attention broadcasts queries"),
        ("openvino", "Attention broadcasts queries"),
    ):
        yield _taken(engine, cause, halves, [[[[3]]]] * 2, "there are two batches of keys", right)
    for engine, cause in (
        ("onnxruntime", "Attention takes a qk_matmul_output"),
        ("reference", "Attention takes a qk_matmul_output"),
    ):
        other = _with(plain, qk_matmul_output_mode=-1)
        yield _taken(engine, cause, other, mean, "there are modes 0 to 3", plain)
    yield from _attended_by_openvino(plain, mean, whole, first_two)
    yield from _attended_by_tract(plain, mean, whole, first_two)
    column = replace(plain, more=(*plain.more, np.ones((3, 1), bool)))
    yield Check(
        "reference",
        "Attention-23 hides",
        column,
        [mean],
        Gives([[[[2], [2], [2]]]]),
        "“Shape must be broadcastable”: each query attends all keys",
        plain,
        mean,
    )


def windows() -> Iterator[Check]:
    """Four points around the middle of a Hann window, and six of a Hamming window."""
    four, right = np.array(4), [0, 0.5, 1, 0.5]
    hann = Model("HannWindow", 17, {"output_datatype": 1}, four, gives="float32")
    half = replace(_with(hann, output_datatype=10), gives="float16")
    why = "0.5 - 0.5 cos(t) of three quarters of a turn is 0.5"
    cause, shows = "HannWindow and HammingWindow of float16", [0, 0.4998, 1, 0.5005]
    yield Check("reference", cause, half, [right], Gives(shows), why, hann, right, 1e-4)
    real = replace(hann, x=four.astype(np.float32))
    why = "sizes are of int32 or int64"
    for engine, cause in (
        ("reference", "Windows are made for sizes of any type and"),
        ("openvino", "Windows are made for sizes of any type of"),
    ):
        yield _taken(engine, cause, real, right, why, hann)
    truth = replace(_with(hann, output_datatype=9), gives="bool")
    why, shows = "no window is of booleans", [False, True, True, True]
    yield Check(
        "onnxruntime", "Windows of texts and of booleans", truth, [], Gives(shows), why, hann, right
    )
    hamming = Model("HammingWindow", 17, {"output_datatype": 16}, np.array(6), gives="bfloat16")
    right = [4 / 46, 29 / 92, 71 / 92, 1, 71 / 92, 29 / 92]
    single = replace(_with(hamming, output_datatype=1), gives="float32")
    why, shows = "25/46 less 21/46 of a half is 0.3152", [*right[:-1], 0.310547]
    yield Check(
        "openvino",
        "On a CPU with instructions for bfloat16, windows",
        hamming,
        [right],
        Gives(shows),
        why,
        single,
        right,
        0.004,
        sometimes=True,
    )
    made = replace(hann, stored="raw_data")
    why = "0.5 - 0.5 cos(t) is 0, 0.5, 1 and 0.5 in quarters of a turn"
    right = [0, 0.5, 1, 0.5]
    yield Check(
        "tract",
        "Windows are not computed unless",
        hann,
        [right],
        Raises("Expect constant input size"),
        why,
        made,
        right,
    )


def bands() -> Iterator[Check]:
    """A band that rises within the first of eight bins, of 0, 0.5 and 1.5."""
    edges = (np.array(hertz, np.float32) for hertz in (0, 4900))
    one = Model(
        "MelWeightMatrix",
        17,
        {},
        np.array(1),
        gives="float32",
        more=(np.array(6), np.array(9800), *edges),
    )
    right = [[1], [0], [0], [0]]
    why = "1 + f/700 is 1, 2 and 4 for 0, 700 and 2100 Hz, and 8/9800 of them 0, 0.57 and 1.7"
    odd = replace(one, more=(np.array(7), *one.more[1:]))
    yield Check(
        "onnxruntime",
        "MelWeightMatrix refuses an upper edge of half",
        odd,
        [right],
        Raises("highest_index"),
        why,
        one,
        right,
    )
    why = "1 + f/700 is 1, 2 and 4 for 0, 700 and 2100 Hz: times 7/9800, 0, 0.5 and 1.5"
    real = replace(one, x=np.array(1, np.int16))
    yield _taken(
        "reference",
        "MelWeightMatrix takes numbers of every integer type",
        real,
        right,
        "numbers of bands are of int32 or int64",
        one,
    )
    made = replace(one, stored="raw_data", constant=True)
    yield Check(
        "tract",
        "MelWeightMatrix is not computed unless",
        one,
        [right],
        Raises("Expect all inputs to be constants"),
        why,
        made,
        right,
    )


def dropped() -> Iterator[Check]:
    """Dropout of ones in training, and with a ratio of 0, with which nothing is dropped."""
    ones = np.ones(200)

    def trained(dtype: Any, ratio: Array, **attrs: Any) -> Model:
        return Model("Dropout", 13, attrs, ones.astype(dtype), more=(ratio, np.array(True)))

    half, tenth = np.array(0.5, np.float32), np.array(0.1)
    none = trained(np.float32, np.array(0, np.float32))
    test = Model("Dropout", 1, {"is_test": 1}, ones.astype(np.float32))
    for engine, cause, model, shows, why, control in (
        (
            "reference",
            "Dropout in training gives outputs",
            trained(np.float16, half),
            Holds("numbers of float32", lambda y: y.dtype == np.float32),
            "data are of float16",
            none,
        ),
        (
            "reference",
            "Dropout in training refuses seeds",
            trained(np.float32, half, seed=-1),
            Raises("Seed must be between"),
            "a seed is an INT",
            none,
        ),
        (
            "reference",
            "Dropout in training refuses a node",
            replace(none, opset=22, more=(None, none.more[1])),
            Raises("Issues with types"),
            "“if not specified it will default to 0.5”",
            none,
        ),
        (
            "onnxruntime",
            "Dropout in training reads a ratio",
            trained(np.float64, tenth),
            Holds(
                "no number within 1e-10 of 1/0.9",
                lambda y: (abs(y - 1 / 0.9) > 1e-10).all() and y.any(),
            ),
            "1. / (1. - ratio) is 1/0.9 where the ratio is a double",
            none,
        ),
        (
            "tract",
            "Dropout-1 and Dropout-6 drop",
            replace(test, attrs={}),
            Holds("200 ones", lambda y: (y == 1).all()),
            "“if nonzero, run dropout in test mode”, and 0 is the default",
            test,
        ),
    ):
        yield Check(engine, cause, model, [()], shows, why, control, ones)


def images() -> Iterator[Check]:
    """An image of a single pixel, of gray, of color and of two colors."""
    gray, color, white = (
        np.frombuffer(text, np.uint8) for text in (b"P5 1 1 255 *", b"P6 1 1 255 *+,", b"P1 1 1 0")
    )
    one = Model("ImageDecoder", 20, {}, color)
    right = [[[42, 43, 44]]]
    why = '“Can be one of "RGB"”: there are three channels'
    blue = _with(one, pixel_format="BGR")
    for cause, model, want, shows, reason in (
        ("gives what a file stores", replace(one, x=gray), [[[42, 42, 42]]], Gives([[42]]), why),
        (
            "gives images of two colors",
            replace(one, x=white),
            [[[255, 255, 255]]],
            Gives([[True]], "bool"),
            "0 is white in P1, and the output is of uint8",
        ),
        (
            "refuses BGR of files",
            replace(blue, x=gray),
            [[[42, 42, 42]]],
            Raises("too many indices"),
            why,
        ),
        (
            "raises where a stream",
            replace(one, x=color[:7]),
            np.zeros((0, 0, 3)),
            Raises("Reached EOF"),
            "“it will return an empty matrix”",
        ),
    ):
        yield Check("reference", f"ImageDecoder {cause}", model, [want], shows, reason, one, right)
    signed = replace(one, x=color.astype(np.int8), gives="uint8")
    yield _taken(
        "reference",
        "ImageDecoder takes streams",
        signed,
        right,
        "“Constrain input types to 8-bit unsigned integer tensor.”",
        one,
    )


def optionals() -> Iterator[Check]:
    """An optional of 1 and 2, and one without an element."""
    half = Model("OptionalGetElement", 28, {}, _PAIR.astype(np.float16), sequence=1)
    element, why = replace(half, opset=15, x=_PAIR), "the element is [1, 2]"
    yield Check(
        "onnxruntime",
        "An optional of float16 is taken for one of float32",
        half,
        [[1, 2]],
        Raises("does not match expected type"),
        why,
        replace(half, opset=15),
        [1, 2],
    )
    tensor = Model("OptionalGetElement", 18, {}, _PAIR)
    yield Check(
        "reference",
        "Optional makes a list of its element",
        element,
        [[1, 2]],
        Gives([[1, 2]]),
        why,
        tensor,
        [1, 2],
    )
    has = Model("OptionalHasElement", 15, {}, _PAIR, sequence=1, gives="bool")
    yield Check(
        "reference",
        "An optional that is made empty",
        replace(has, stored="nothing", sequence=0),
        [False],
        Gives(True),
        "there is no element",
        has,
        True,
    )
    made = Model("Optional", 15, {}, _PAIR, gives="bool", item="length")
    yield _taken(
        "reference",
        "Optionals are of types that came",
        _with(made, type=1),
        True,
        "type is a TypeProto",
        made,
    )


def _grid(theta: Any, *size: int, dtype: Any = np.float32) -> Model:
    return Model("AffineGrid", 20, {}, np.array(theta, dtype), more=(np.array(size),))


def affine_grids() -> Iterator[Check]:
    """AffineGrid's defects, beside the places of two columns, -1/2 and 1/2."""
    same = [[1, 0, 0], [0, 1, 0]]
    one, two = _grid([same], 1, 1, 1, 2), _grid([same, same], 2, 1, 1, 2)
    right = [[[[-0.5, 0], [0.5, 0]]]]
    half = replace(one, x=one.x.astype(np.float16))
    both = _grid([same, same], 2, 1, 1, 6, dtype=np.float16)
    columns = [-0.83349609375, -0.5, -0.16662597656, 0.16662597656, 0.5, 0.83349609375]
    body = [*columns[:2], -0.16699218750, 0.16625976562, 0.49951171875, 0.8330078125]
    yield Check(
        "onnxruntime",
        "AffineGrid of float16 runs",
        half,
        [right],
        Raises("axis 1 is not in valid range"),
        "two columns lie at -1/2 and 1/2",
        one,
        right,
    )
    yield Check(
        "onnxruntime",
        "ONNX's function body of AffineGrid",
        both,
        [[[[[x, 0] for x in columns]]] * 2],
        Gives([[[[x, 0] for x in body]]] * 2),
        "“evenly spaced”: six columns lie at -5/6, -1/2, -1/6 …",
        replace(two, x=two.x.astype(np.float16)),
        right * 2,
        1e-5,
    )
    yield Check(
        "reference",
        "AffineGrid makes a grid of float32",
        half,
        [right],
        Gives(right, "float32"),
        "grid is of the type T1 of theta",
        one,
        right,
    )
    empty = replace(one, more=(np.array([1, 1, 0, 3]),))
    none = np.zeros((1, 0, 3, 2))
    for engine, cause, shown in (
        ("onnxruntime", "AffineGrid makes no grid", Raises("(H=0) must be positive")),
        ("reference", "AffineGrid divides", Raises("arange: cannot compute length")),
        ("openvino", "Of no rows or planes, AffineGrid", Gives(np.zeros((1, 0, 0, 2)))),
    ):
        yield Check(engine, cause, empty, [none], shown, "“(N, H, W, 2)”, of no rows", one, right)
    yield _taken(
        "onnxruntime",
        "AffineGrid does not look",
        _grid([same], 1, -1, 1, 2),
        right,
        "no image has -1 channels",
        one,
    )
    more = _grid([same, same], 1, 1, 1, 2)
    for engine, cause in (
        ("reference", "AffineGrid takes as many"),
        ("openvino", "AffineGrid looks neither"),
    ):
        yield Check(
            engine,
            cause,
            more,
            [],
            Gives(right * 2),
            "“theta” is of N matrices, as size",
            one,
            right,
        )
    yield Check(
        "openvino",
        "AffineGrid is of float32",
        half,
        [right],
        Raises("do not have the same element type"),
        "T1 has float16",
        one,
        right,
    )
    yield Check(
        "openvino",
        "AffineGrid of no matrices",
        _grid(np.zeros((0, 2, 3)), 0, 1, 1, 2),
        [np.zeros((0, 1, 2, 2))],
        Raises("object is not initialized"),
        "no matrix makes no grid",
        one,
        right,
    )
    exact = (2 * np.arange(33001) + 1) / 33001 - 1
    steps = np.full(33001, 2 / 33001, np.float32)
    steps[0] = np.float32(-1) + steps[1] / 2
    yield Check(
        "openvino",
        "AffineGrid adds its places up",
        _grid([same], 1, 1, 1, 33001),
        [[[[[x, 0] for x in exact]]]],
        Gives([[[[x, 0] for x in np.cumsum(steps)]]]),
        "“evenly spaced”: the middle one of 33,001 columns lies at 0",
        one,
        right,
        0.02,
    )
    wide = [[257, 0, 0], [0, 1, 0]]
    yield Check(
        "openvino",
        "On a CPU with instructions for bfloat16, AffineGrid",
        _grid([wide], 1, 1, 1, 2),
        [[[[[-128.5, 0], [128.5, 0]]]]],
        Gives([[[[-128, 0], [128, 0]]]]),
        "257 / 2 = 128.5, for which bfloat16 has no room",
        one,
        right,
        sometimes=True,
    )


def _selected(boxes: Any, scores: Any, most: Any = 9, over: Any = 0.5, *least: Any) -> Model:
    """A NonMaxSuppression with its limits, of which None is left out."""
    limits = [None if x is None else np.array(x, np.float32) for x in (over, *least)]
    more = (_f([[scores]]), None if most is None else np.array(most), *limits)
    return Model("NonMaxSuppression", 11, {}, _f([boxes]), more=more, gives="int64")


def boxes() -> Iterator[Check]:
    """NonMaxSuppression's defects, beside boxes of which the second has the better score."""
    apart = [[0, 0, 1, 1], [2, 0, 3, 1]]
    both, one = [[0, 0, 1], [0, 0, 0]], [[0, 0, 1]]
    plain, listed = _selected(apart, [0.25, 0.75]), _selected(apart, [0.25, 0.75], [9], [0.5])
    for engine in ("onnxruntime", "openvino"):
        yield Check(
            engine,
            "NonMaxSuppression removes",
            _selected(apart, [0.25, 0.75], 9, 0.5, 0.25),
            [both],
            Gives(one),
            "“boxes with score less than score_threshold are removed”: 0.25 is not",
            _selected(apart, [0.25, 0.75], 9, 0.5, 0.125),
            both,
        )
    yield _taken(
        "onnxruntime",
        "NonMaxSuppression takes the first",
        _selected(apart, [0.25, 0.75], [9, 0]),
        both,
        "“It is a scalar”",
        plain,
    )
    yield Check(
        "reference",
        "NonMaxSuppression takes no scalars",
        plain,
        [both],
        Raises("too many indices for array"),
        "“It is a scalar”: 9 boxes, and a half",
        listed,
        both,
    )
    yield Check(
        "reference",
        "NonMaxSuppression needs its optional",
        _selected(apart, [0.25, 0.75], [9], None),
        [both],
        Raises("Issues with types"),
        "iou_threshold is optional, and boxes that share nothing stay",
        listed,
        both,
    )
    yield Check(
        "tract",
        "NonMaxSuppression takes no scalars",
        plain,
        [both],
        Raises("Failed analyse"),
        "“It is a scalar”: 9 boxes, and a half",
        listed,
        both,
    )
    half = [[0, 0, 2, 4], [0, 0, 2, 2]]
    yield Check(
        "openvino",
        "NonMaxSuppression suppresses",
        _selected(half, [0.25, 0.75]),
        [both],
        Gives(one),
        "“boxes with IOU exactly equal to the threshold are kept”: 4 of 8",
        plain,
        both,
    )
    yield Check(
        "openvino",
        "NonMaxSuppression cuts",
        _selected(apart, [0.25, 0.75], 2**32),
        [both],
        Gives(np.zeros((0, 3))),
        "2^32 is the most, and there are two",
        plain,
        both,
    )
    yield _taken(
        "openvino",
        "NonMaxSuppression does not look",
        _selected(apart, [0.25, 0.75], 9, 1.5),
        both,
        "“Value range [0, 1]”",
        plain,
    )


def _aligned(
    x: Any, region: Sequence[float], batch: int = 0, opset: int = 16, **attrs: Any
) -> Model:
    """A RoiAlign of one region."""
    more = (np.array([region], np.float32), np.array([batch]))
    return Model("RoiAlign", opset, attrs, _f(x), more=more)


def aligned_regions() -> Iterator[Check]:
    """RoiAlign's defects, beside rows 10 and columns 1 apart, and columns of 4 x²."""
    ramp = [[[[10 * y + x for x in range(4)] for y in range(4)]]]
    region = partial(_aligned, ramp, [1, 1, 3, 3], sampling_ratio=1)
    right, unshifted = [[[[16.5]]]], [[[[22]]]]
    plain = region()
    for engine in ("onnxruntime", "reference", "openvino"):
        yield _taken(
            engine,
            "RoiAlign takes Avg",
            region(mode="Avg"),
            right,
            "“Two modes are supported: 'avg' and 'max'.”",
            plain,
        )
    why, other = "“Allowed values are 'half_pixel' and 'output_half_pixel'.”", "asymmetric"
    for engine, answer in (("onnxruntime", unshifted), ("openvino", right)):
        yield Check(
            engine,
            "RoiAlign takes any other",
            region(coordinate_transformation_mode=other),
            [],
            Gives(answer),
            why,
            plain,
            right,
        )
    yield Check(
        "reference",
        "RoiAlign-10 shifts",
        region(opset=10),
        [unshifted],
        Gives(right),
        "version 10 does not shift, and the middle of 1 and 3 is 2: 10 * 2 + 2",
        plain,
        right,
    )
    yield _taken(
        "reference",
        "RoiAlign counts a batch",
        region(batch=-1),
        right,
        "there is one image, whose index is 0",
        plain,
    )
    places = partial(_aligned, [[[[0, 4, 16, 36, 64, 100]] * 2]], [1.5, 0.5, 5.5, 1.5])
    four = [[[[42]]]]
    yield Check(
        "openvino",
        "RoiAlign takes a sampling_ratio",
        places(),
        [four],
        Gives([[[[36]]]]),
        "“Default is 0.”, and of 4 columns there are 4 places: (10 + 26 + 50 + 82) / 4",
        places(sampling_ratio=0),
        four,
    )
    yield Check(
        "openvino",
        "RoiAlign does not look",
        region(batch=1),
        [],
        Leftovers((1, 1, 1, 1)),
        "there is one image, whose index is 0",
        plain,
        right,
        last=True,
    )
    for cause, model, why in (
        (
            "RoiAlign takes an output_height",
            region(output_height=-4294967295),
            "no height is below 0",
        ),
        ("RoiAlign takes an integer", region(spatial_scale=1), "spatial_scale is a float"),
    ):
        yield _taken("openvino", cause, model, right, why, plain)


def _layer(
    x: Any,
    W: Any = 1,
    R: Any = 0,
    *more: Any,
    opset: int = 14,
    dtype: Any = np.float32,
    output: int = 0,
    op: str = "RNN",
    **attrs: Any,
) -> Model:
    """A layer of one neuron, a number of each direction or the whole of an input."""
    W, R = (_f(y if np.ndim(y) > 1 else np.reshape(y, (-1, 1, 1)), dtype) for y in (W, R))
    return Model(
        op, opset, {"hidden_size": 1, **attrs}, _f(x, dtype), more=(W, R, *more), output=output
    )


def layers() -> Iterator[Check]:
    """RNN's defects, beside the tangents of 1/2 and of 1 and a half of it that is added."""
    t = np.tanh
    half, both, steps = [[[[t(0.5)]]]], [[[[t(0.5)]], [[t(0.5)]]]], [[[0.5]], [[1]]]
    plain = _layer([[[0.5]]])
    twice: dict[str, Any] = {"direction": "bidirectional"}
    relu = _layer([[[0.5]]], activations=["Relu"])
    after = t(1 + t(0.5))
    for engine, words in (("onnxruntime", "hidden_s"), ("openvino", "OpConversionFailure")):
        yield Check(
            engine,
            "RNN without hidden_size",
            replace(plain, attrs={}),
            [half],
            Raises(words),
            "hidden_size has no default and need not be stated",
            plain,
            half,
        )
        yield Check(
            engine,
            "Relu in RNN makes 0",
            _with(_layer([[[nan]]]), activations=["Relu"]),
            [[[[[nan]]]]],
            Gives([[[[0]]]]),
            "max(0, x) of no number is none",
            relu,
            [[[[0.5]]]],
        )
    limit: dict[str, Any] = {"activations": ["ThresholdedRelu"], "activation_alpha": [0.5]}
    yield Check(
        "onnxruntime",
        "ThresholdedRelu in RNN",
        _layer([[[0.5]]], **limit),
        [[[[[0.5]]]]],
        Gives([[[[0]]]]),
        "“x if x >= alpha”: 1/2 is",
        _layer([[[1]]], **limit),
        [[[[1]]]],
    )
    old = replace(plain, opset=1)
    yield Check(
        "reference",
        "RNN has no version",
        old,
        [half],
        Raises("No implementation for operator 'RNN'"),
        "version 1 has RNN",
        plain,
        half,
    )
    affine: dict[str, Any] = {
        "activations": ["Affine"],
        "activation_alpha": [2.0],
        "activation_beta": [1.0],
    }
    line = _layer([[[0.5]]], **affine)
    yield Check(
        "reference",
        "RNN has the activations",
        relu,
        [[[[[0.5]]]]],
        Raises("Unknown activation function 'Relu'"),
        "max(0, 1/2)",
        line,
        [[[[2]]]],
    )
    yield Check(
        "openvino",
        "RNN has the activations",
        line,
        [[[[[2]]]]],
        Raises("ConvertRNNSequenceToTensorIterator"),
        "2 · 1/2 + 1",
        relu,
        [[[[0.5]]]],
    )
    two = _layer(
        [[[0.5]]], [1, 1], [0, 0], **twice, **{**affine, "activations": ["Tanh", "Affine"]}
    )
    four = _with(
        two, activations=["Affine"] * 2, activation_alpha=[2.0] * 2, activation_beta=[1.0] * 2
    )
    yield Check(
        "reference",
        "RNN wants a scale",
        two,
        [[[[[t(0.5)]], [[2]]]]],
        Raises("activation_alpha must have the same size"),
        "the tangent has no scale; 2 · 1/2 + 1",
        four,
        [[[[2]], [[2]]]],
    )
    ends = [_layer(steps, 1, 1, None, np.array([n], np.int32), output=1) for n in (1, 2)]
    yield Check(
        "reference",
        "RNN ignores sequence_lens",
        ends[0],
        [[[[t(0.5)]]]],
        Gives([[[after]]]),
        "the sequence ends with its first step",
        ends[1],
        [[[after]]],
    )
    for engine in ("reference", "tract"):
        yield Check(
            engine,
            "RNN ignores clip",
            _layer([[[2]]], clip=0.5),
            [half],
            Gives([[[[t(2)]]]]),
            "2 counts as 1/2",
            _layer([[[0.5]]], clip=0.5),
            half,
        )
        yield _taken(
            engine,
            "RNN obeys layout",
            _layer([[[0.5], [1]]], 1, 1, opset=7, layout=1),
            [[[[t(0.5)]], [[after]]]],
            "layout came with version 14",
            _layer([[[0.5], [1]]], 1, 1, layout=1),
        )
    short = _layer([[[0.5]]], dtype=np.float16, output=1, **affine)
    yield Check(
        "reference",
        "The Y_h of RNN",
        short,
        [[[[2]]]],
        Gives([[[2]]], "float32"),
        "Y_h is of the type T of X",
        replace(line, output=1),
        [[[2]]],
    )
    sums = [
        [
            _layer([[[1, 1]]], [[[2048, 1]]], 0, _f([[-2048, 0]], d), dtype=d),
            _layer([[[-2048]]], 1, 0, _f([[2048, 1]], d), None, _f([[[0]]], d), dtype=d),
        ]
        for d in (np.float16, np.float32)
    ]
    for engine, cause, k in (
        ("reference", "RNN adds up numbers", 0),
        ("tract", "RNN adds up biases", 1),
    ):
        yield Check(
            engine,
            cause,
            sums[0][k],
            [[[[[t(1)]]]]],
            Gives([[[[0]]]]),
            "2048 and 1 less 2048 are 1, for which float16 has no room on the way",
            sums[1][k],
            [[[[t(1)]]]],
        )
    yield _taken(
        "reference",
        "RNN takes shapes",
        _layer([[[0.5]]], 1, [0, 0]),
        half,
        "R is 1 × 1 × 1 of one direction",
        plain,
    )
    for engine in ("openvino", "tract"):
        yield _taken(
            engine,
            "RNN ignores what hidden_size",
            _with(plain, hidden_size=2),
            half,
            "R is of one neuron",
            plain,
        )
    flat, batches = (
        [[[[t(0.5)], [t(1)]]]],
        [_layer([[[0.5], [1]]], 1, 1, layout=k) for k in (0, 1, 2)],
    )
    yield Check(
        "openvino",
        "RNN ignores layout",
        batches[1],
        [[[[[t(0.5)]], [[after]]]]],
        Gives(flat),
        "“X.shape = [batch_size, seq_length, input_size]”: of two steps",
        batches[0],
        flat,
    )
    yield _taken("tract", "RNN takes any number", batches[2], flat, "layout is 0 or 1", batches[0])
    none = _layer(np.zeros((1, 1, 0)), np.zeros((1, 1, 0)))
    for engine, cause, words in (
        ("openvino", "RNN of no batches, or", "object is not initialized"),
        ("tract", "RNN of inputs of no", "No scan input"),
    ):
        yield Check(
            engine,
            cause,
            none,
            [[[[[0]]]]],
            Raises(words),
            "tanh of an empty sum is 0",
            plain,
            half,
        )
    yield Check(
        "tract",
        "RNN of no batches is",
        _layer(np.zeros((1, 0, 1))),
        [np.zeros((1, 1, 0, 1))],
        Raises("inconsistent fact"),
        "no batch has no output",
        plain,
        half,
    )
    pair = _layer([[[0.5]]], [1, 1], [0, 0], **twice, activations=["Relu", "Sigmoid"])
    yield Check(
        "openvino",
        "RNN computes both",
        pair,
        [[[[[0.5]], [[1 / (1 + np.exp(-0.5))]]]]],
        Gives([[[[0.5]], [[0.5]]]]),
        "the second is the backward sigmoid of 1/2",
        _with(pair, activations=["Relu"] * 2),
        [[[[0.5]], [[0.5]]]],
    )
    long = _layer([[[0.5]]], 1, 1, None, np.array([2], np.int32), output=1)
    yield Check(
        "openvino",
        "RNN takes lengths",
        long,
        [],
        Gives([[[0]]]),
        "there is one step",
        replace(long, more=(*long.more[:3], np.array([1], np.int32))),
        half[0],
    )
    yield _taken(
        "openvino",
        "RNN takes names",
        _with(plain, direction="Forward"),
        half,
        "“Must be one of forward (default), reverse …”",
        plain,
    )
    same = _layer([[[0.5]]], [1, 1], [0, 0], **twice, activations=["Tanh", "Tanh"])
    yield _taken(
        "openvino",
        "RNN of two directions",
        _with(same, activations=["Tanh"]),
        both,
        "“two if bidirectional”",
        same,
    )
    yield Check(
        "tract",
        "RNN computes the tangent",
        relu,
        [[[[[0.5]]]]],
        Gives(half),
        "max(0, 1/2)",
        plain,
        half,
    )
    state = _layer([[[0.5]]], 1, 0, None, None, _f([[[0]]], np.float16), dtype=np.float16)
    yield Check(
        "tract",
        "RNN without initial_h",
        replace(state, more=state.more[:2]),
        [half],
        Raises("incorrect dtype or shape"),
        "initial_h is “assumed to be 0”",
        state,
        half,
    )
    yield Check(
        "tract",
        "RNN in reverse",
        _layer(steps, 1, 1, direction="reverse"),
        [[[[[t(0.5 + t(1))]]], [[[t(1)]]]]],
        Gives([half[0], [[[after]]]]),
        "the last step comes first",
        _layer(steps, 1, 1),
        [half[0], [[[after]]]],
    )
    yield _taken(
        "tract",
        "RNN takes directions",
        _with(plain, direction="backward"),
        half,
        "“Must be one of forward (default), reverse …”",
        plain,
    )
    yield _taken(
        "tract",
        "RNN takes an integer",
        _with(plain, direction=0),
        half,
        "direction is a STRING",
        plain,
    )
    wide = _layer([[[0.5, 0.5]]], [[[1, 1]]])
    yield _taken(
        "tract",
        "RNN takes inputs of more",
        replace(wide, x=_f([[[0.5, 0.5, 0.5]]])),
        [[[[t(1)]]]],
        "W has two weights, and x three elements",
        wide,
    )
    whole = _layer([[[0]]], dtype=np.int64)
    yield Check(
        "tract", "RNN of int64", whole, [], Dies("non-unwinding panic"), _NO_ABORT, plain, half
    )


def gates() -> Iterator[Check]:
    """GRU's and LSTM's defects; z of the GRU is 1/2, and half of what follows from x comes out."""
    gru = partial(_layer, W=[[[0], [0], [1]]], R=[[[0]] * 3], op="GRU")
    plain, half = gru([[[0.5]]]), [[[[np.tanh(0.5) / 2]]]]
    yield Check(
        "onnxruntime",
        "GRU of float64 is",
        gru([[[0.5]]], dtype=np.float64),
        [half],
        Raises("does not support double"),
        "double is among the types T",
        plain,
        half,
    )
    yield Check(
        "onnxruntime",
        "GRU refuses a linear",
        _with(plain, linear_before_reset=2**32),
        [half],
        Raises("narrowing_error"),
        "“when linear_before_reset != 0”",
        _with(plain, linear_before_reset=1),
        half,
    )
    limit: dict[str, Any] = {"activations": ["Sigmoid", "ThresholdedRelu"]}
    yield Check(
        "onnxruntime",
        "ThresholdedRelu in GRU has 0",
        _with(plain, **limit),
        [[[[[0]]]]],
        Gives([[[[0.25]]]]),
        "alpha is 1 in the operator so named, and 1/2 is less",
        gru([[[2]]], **limit),
        [[[[1]]]],
    )
    line: dict[str, Any] = {
        "activations": ["HardSigmoid", "Affine"],
        "activation_alpha": [1.0] * 2,
        "activation_beta": [0.0] * 2,
    }
    ones = [[[1], [1], [1]]]
    yield Check(
        "onnxruntime",
        "GRU without clip",
        gru([[[-inf]]], W=ones, **line),
        [[[[[-inf]]]]],
        Gives([[[[np.finfo(np.float32).min]]]]),
        "of −∞ z is 0, and ĥ is −∞",
        gru([[[-2]]], W=ones, **line),
        [[[[-2]]]],
    )
    yield _taken(
        "onnxruntime",
        "GRU takes names",
        _with(plain, activations=["sigmoid", "tanh"]),
        half,
        "activations are “one of the activation functions specified above”",
        plain,
    )
    relu = _with(plain, activations=["Relu", "Relu"])
    for engine in ("reference", "tract"):
        yield Check(
            engine,
            "GRU computes its default",
            relu,
            [[[[[0.5]]]]],
            Gives(half),
            "z is 0, and max(0, 1/2) comes out",
            plain,
            half,
        )
    old = replace(plain, opset=1)
    yield Check(
        "reference",
        "GRU has no output",
        _with(old, output_sequence=1),
        [half],
        Raises("output_sequence"),
        "version 1 has it",
        old,
        half,
    )
    yield _taken(
        "reference", "GRU takes any number", _with(plain, layout=2), half, "layout is 0 or 1", plain
    )
    yield _taken(
        "reference",
        "GRU ignores what hidden_size",
        _with(plain, hidden_size=2),
        half,
        "R is of one neuron",
        plain,
    )
    yield _taken(
        "openvino",
        "GRU takes more activations",
        _with(plain, activations=["Sigmoid", "Tanh", "Relu"]),
        half,
        "“A list of 2 (or 4 if bidirectional)”",
        plain,
    )
    wide = [
        _layer(
            [[[0.5]]],
            [[[0], [0], [1]]],
            [[[0]] * 3],
            None,
            None,
            _f([[[0]]], d),
            op="GRU",
            dtype=d,
            linear_before_reset=1,
        )
        for d in (np.float64, np.float32)
    ]
    yield Check(
        "tract",
        "GRU of float64 with",
        wide[0],
        [half],
        Raises("GruEpilogue only supports"),
        "double is among the types T",
        wide[1],
        half,
    )
    yield Check(
        "onnxruntime",
        "GRU of no batches, or",
        gru(np.zeros((1, 0, 1))),
        [np.zeros((1, 1, 0, 1))],
        Dies("terminate called"),
        "no batch has no output",
        plain,
        half,
    )
    still = partial(_layer, W=[[[0]] * 4], R=[[[0]] * 4], op="LSTM")  # all gates are 1/2
    cells = [still([[[0.5]]]) for _ in range(2)]
    cells = [
        replace(c, more=(*c.more, None, None, None, _f([[[n]]], np.float32)))
        for c, n in zip(cells, (2, 1), strict=True)
    ]
    whole, rest = ([[[[np.tanh(n) / 2]]]] for n in (1, 0.5))
    yield Check(
        "onnxruntime",
        "LSTM does not clip",
        _with(cells[0], clip=0.5),
        [rest],
        Gives(whole),
        "h's input is half of 2, and counts as 1/2",
        _with(cells[1], clip=0.5),
        rest,
    )
    holes = replace(cells[0], more=(*cells[0].more, _f([[0, 0, 0]], np.float32)))
    yield Check(
        "openvino",
        "LSTM leaves out",
        holes,
        [whole],
        Raises("Port for tensor name"),
        "peepholes of 0 add nothing",
        cells[0],
        whole,
    )
    yield _taken(
        "openvino",
        "LSTM takes an X of two",
        replace(cells[0], x=_f([[0.5]])),
        whole,
        "X is one “3-D tensor”",
        cells[0],
    )


def transforms() -> Iterator[Check]:
    """DFT and STFT of a signal or spectrum of one value to three, or four that are alike."""
    pair, sums = _f([[[1, 2], [3, -1]]]), [[[4, 1], [-2, 3]]]
    one = _f([[[3]]])
    dft = Model("DFT", 17, {}, pair)
    of_20, of_one = replace(dft, opset=20), replace(dft, x=one)
    alone, out = [[[3, 0]]], "“Accepted range is $[-r, -2] …”"
    stft = Model("STFT", 17, {"onesided": 0}, pair, more=(np.array(1), None, np.array(2)))
    frames = [sums]
    spectrum = Model("DFT", 17, {"onesided": 1, "inverse": 1}, np.array([[[6.0, 0], [0, 0]]]))
    thirds = replace(spectrum, more=(np.array(3),))
    halves = replace(spectrum, x=spectrum.x.astype(np.float32))
    yield Check(
        "onnxruntime",
        "Inverse DFTs of float64",
        thirds,
        [[[[2]] * 3]],
        Gives([[[2 * (1 + 2.0**-25)]] * 3]),
        "each value is 6 / 3",
        spectrum,
        [[[3], [3]]],
        1e-9,
    )
    few = replace(halves, x=_f([[[8, 0], [4, 0]]]), more=(np.array(4),))
    yield Check(
        "onnxruntime",
        "One-sided inverse DFTs of another",
        few,
        [[[[4], [2], [0], [2]]]],
        Gives([[[3], [2], [1], [2]]]),
        "the spectrum is 8, 4, 0, 4",
        halves,
        [[[3], [3]]],
    )
    many, single = _with(of_one, onesided=2), _with(of_one, onesided=1)
    for engine, cause in (
        ("onnxruntime", "DFT and STFT take any"),
        ("tract", "DFT takes any"),
        ("reference", "DFT and STFT take any"),
        ("openvino", "DFT takes any"),
    ):
        yield _taken(engine, cause, many, alone, "“Values can be 0 or 1.”", of_one)
    each = [[[[4, 0], [1, 0]], [[-2, 0], [3, 0]]]]
    for engine, wrong in (("reference", sums), ("openvino", each), ("tract", sums)):
        yield Check(
            engine,
            "One-sided transforms of complex",
            _with(dft, onesided=1),
            [],
            Gives(wrong),
            "“only real input is supported”",
            dft,
            sums,
        )
    yield Check(
        "onnxruntime",
        "STFT computes one half",
        _with(stft, onesided=1),
        [],
        Gives(frames),
        "“then onesided output is not possible”",
        stft,
        frames,
    )
    listed = replace(of_20, more=(None, np.array([1, 1])))
    yield _taken(
        "onnxruntime",
        "DFT takes the first",
        listed,
        sums,
        "“The axis as a scalar”",
        replace(of_20, more=(None, np.array(1))),
    )
    flat_stft = replace(_with(stft, onesided=1), x=one, more=(np.array(1), None, np.array(1)))
    yield _taken(
        "onnxruntime",
        "STFT takes a signal without",
        replace(flat_stft, x=one[0]),
        [alone],
        "“expected to have rank 3”",
        flat_stft,
    )
    whole = replace(flat_stft, more=(np.array(1),))
    for engine, words in (("onnxruntime", "must be >= 0"), ("tract", "Need window or frame len")):
        made = replace(flat_stft, constant=True) if engine == "tract" else flat_stft
        yield Check(
            engine,
            "STFT without window and",
            whole,
            [[alone]],
            Raises(words),
            "“defaults to `signal_length`”",
            made,
            [alone],
        )
    long = replace(flat_stft, more=(np.array(1), None, np.array(2)))
    for engine, words in (
        ("onnxruntime", "dft size is smaller"),
        ("reference", "need at least one"),
    ):
        yield Check(
            engine,
            "STFT refuses a signal",
            long,
            [np.zeros((1, 0, 2, 2))],
            Raises(words),
            "floor((1 - 2) / 1) + 1 frames are none",
            flat_stft,
            [alone],
        )
    beyond = _with(dft, axis=3)
    yield _taken("reference", "DFT takes an axis that", beyond, pair, out, _with(dft, axis=0))
    integer = replace(of_20, x=pair, more=(None, np.array(1, np.int32)))
    yield _taken(
        "reference",
        "DFT and STFT take inputs",
        integer,
        sums,
        "axis is of int64",
        replace(integer, more=(None, np.array(1))),
    )
    yield _taken(
        "reference",
        "DFT and STFT take numbers",
        _with(dft, inverse=0.0),
        sums,
        "inverse is an INT",
        dft,
    )
    windowed = replace(flat_stft, more=(np.array(1), _f([1]), np.array(1)))
    longer = replace(windowed, more=(np.array(1), _f([1, 1]), np.array(1)))
    yield Check(
        "reference",
        "STFT stretches",
        longer,
        [],
        Gives([alone]),
        "“must equal `frame_length`”",
        windowed,
        [alone],
    )
    wide = replace(dft, x=pair.astype(np.float64))
    yield Check(
        "openvino",
        "DFT and STFT of float64",
        wide,
        [sums],
        Raises("input_et"),
        "“tensor(double)” is among T1",
        dft,
        sums,
    )
    fixed = replace(stft, constant=True)
    for engine, words in (("openvino", "must be a scalar or"), ("tract", "expects a constant")):
        yield Check(
            engine,
            "STFT is not computed unless",
            stft,
            [frames],
            Raises(words),
            "inputs may be fed: 1 + 3 and 1 - 3",
            fixed,
            frames,
        )
    yield Check(
        "openvino",
        "One-sided DFTs keep",
        single,
        [alone],
        Gives([[[[3, 0]]]]),
        "“[batch_idx]…[signal_dimN][2]”: one bin",
        of_one,
        alone,
    )
    yield Check(
        "openvino",
        "One-sided inverse DFTs lack",
        halves,
        [[[[3], [3]]]],
        Gives([[3, 3]]),
        "“[batch_idx]…[signal_dimN][1]”: 6 / 2",
        _with(dft, inverse=1),
        [[[2, 0.5], [-1, 1.5]]],
    )
    asked = replace(halves, more=(np.array(2),))
    yield Check(
        "openvino",
        "One-sided DFTs with",
        asked,
        [[[[3], [3]]]],
        Raises("non static shape"),
        "inputs may be fed: 6 / 2",
        dft,
        sums,
    )
    yield Check(
        "tract",
        "One-sided inverse DFTs with",
        asked,
        [[[[3], [3]]]],
        Raises("must be constant"),
        "inputs may be fed: 6 / 2",
        halves,
        [[[3], [3]]],
    )
    across = replace(of_20, x=_f([[[[1, 2], [3, -1]]]]))
    for engine, cause in (("openvino", "DFT-20 is computed"), ("tract", "Without an axis DFT-20")):
        yield Check(
            engine,
            cause,
            across,
            [[[[4, 1], [-2, 3]]]],
            Gives([[[[1, 2], [3, -1]]]]),
            "“Default is `-2`”: 1 + 3 and 1 - 3",
            of_20,
            sums,
        )
    behind = replace(dft, x=pair.reshape(2, 1, 2))
    yield Check(
        "openvino",
        "Negative axes of DFT",
        _with(behind, axis=-2),
        [behind.x],
        Gives([[[4, 1]], [[-2, 3]]]),
        "-2 is axis 1 of three, of one value",
        _with(behind, axis=1),
        behind.x,
    )
    short = replace(dft, more=(np.array(1),))
    yield Check(
        "tract",
        "DFT neither",
        short,
        [[[[1, 2]]]],
        Gives(sums),
        "“only the first dft_length values”",
        dft,
        sums,
    )
    first = replace(_with(single, axis=0), x=_f([[[1]]] * 4))
    yield Check(
        "tract",
        "One-sided DFTs along",
        first,
        [[[[4, 0]], [[0, 0]], [[0, 0]]]],
        Raises("Output mismatch"),
        "four are 1",
        _with(single, axis=1),
        alone,
    )
    named = replace(of_20, more=(None, np.array(1)))
    yield Check(
        "tract",
        "DFT-20 is not computed",
        named,
        [sums],
        Raises("must be a known scalar"),
        "inputs may be fed: 1 + 3 and 1 - 3",
        of_20,
        sums,
    )
    yield Check("tract", "An axis of DFT that", beyond, [], Dies("panicked"), out, dft, sums)
    real = replace(dft, more=(np.array(2, np.float32),))
    yield _taken("tract", "DFT takes a dft_length of", real, sums, "a length is an integer", dft)
    narrow = replace(
        flat_stft, more=(np.array(1, np.int32), None, np.array(1, np.int32)), constant=True
    )
    made = replace(flat_stft, constant=True)
    yield Check(
        "tract",
        "STFT refuses a frame_step",
        narrow,
        [[alone]],
        Raises("Impossible to unify"),
        "“tensor(int32)” is among T2",
        made,
        [alone],
    )
    window = replace(windowed, constant=True)
    yield Check(
        "tract",
        "STFT of float16",
        replace(
            window,
            x=one.astype(np.float16),
            more=(np.array(1), np.ones(1, np.float16), np.array(1)),
        ),
        [[alone]],
        Raises("accessed as F32"),
        "3 times 1 is its own transform",
        window,
        [alone],
    )
    five = replace(_with(dft, inverse=1), x=_f([[[5, 5], [0, 0], [0, 0]]], np.float16))
    right = [[[5 / 3] * 2] * 3]
    yield Check(
        "tract",
        "Inverse DFTs of float16",
        five,
        [right],
        Gives([[[1.666016] * 2] * 3]),
        "5 / 3 is 1.6670 in float16",
        replace(five, x=five.x.astype(np.float32)),
        right,
        2.5e-4,
    )


def dequantized() -> Iterator[Check]:
    """Numbers in few bits, made floats again."""
    half = np.array(0.5, np.float32)
    plain = Model(
        "DequantizeLinear", 23, {}, np.array([2, 3], np.int8), more=(half,), gives="float32"
    )
    bits, why = np.array([2, 3], ml_dtypes.float8_e4m3fn), "(2 - 1) · 0.5, (3 - 1) · 0.5"
    of_floats = replace(
        plain, x=bits, more=(half, np.array(1, bits.dtype)), stored="raw_data", constant=True
    )
    cause, control = "DequantizeLinear of float 8", replace(of_floats, more=(half,))
    for engine, words in (
        ("onnxruntime", "should have no zero point or all"),
        ("reference", "should be zero for float8"),
    ):
        yield Check(engine, cause, of_floats, [[0.5, 1]], Raises(words), why, control, [1, 1.5])
    few = np.array([2, 3], ml_dtypes.float4_e2m1fn)
    of_four = replace(plain, x=few, more=(half, np.array(1, few.dtype)))
    yield Check(
        "reference",
        "DequantizeLinear of float4e2m1",
        of_four,
        [[0.5, 1]],
        Gives([1, 1.5]),
        why,
        replace(of_four, more=(half,)),
        [1, 1.5],
    )
    old, why = replace(plain, opset=13), "2 · 0.5, 3 · 0.5"
    yield Check(
        "reference",
        "There is no DequantizeLinear",
        old,
        [[1, 1.5]],
        Raises("No implementation"),
        why,
        plain,
        [1, 1.5],
    )
    row = replace(plain, x=np.array([[2, 3]], np.int8), more=(np.array([0.5, 1], np.float32),))
    yield _taken(
        "onnxruntime",
        "DequantizeLinear-10 and",
        replace(row, opset=10),
        [[1, 3]],
        "both are scalars",
        replace(row, opset=13),
    )
    long = replace(plain, x=np.array([2, 3]))
    cause, why = "DequantizeLinear takes and gives", "int64 is not in T1"
    yield _taken("reference", cause, long, [1, 1.5], why, plain)
    three = _with(
        replace(plain, x=np.array([[1, 2, 3, 4, 5]], np.int8), more=(_row(1, 10, 100),)),
        block_size=2,
    )
    yield Check(
        "reference",
        "DequantizeLinear takes more blocks",
        _with(three, block_size=3),
        [],
        Gives([[1, 2, 3, 40, 50]]),
        "5 elements make 2 blocks of 3",
        three,
        [[1, 2, 30, 40, 500]],
    )
    why = "2 · 0.5, 3 · 0.5"
    sixteen = replace(
        _with(plain, output_dtype=10), gives="float16", more=(np.array(0.5, np.float16),)
    )
    yield Check(
        "onnxruntime",
        "DequantizeLinear for which",
        replace(sixteen, x=few),
        [[1, 1.5]],
        Raises("Type Error"),
        why,
        sixteen,
        [1, 1.5],
    )
    wide = np.array([40003], np.uint16)
    tenth = np.array(0.1, np.float32)
    far = replace(plain, x=wide, more=(tenth, np.array(40000, np.uint16)), constant=True)
    cause, shows = "DequantizeLinear of constant scales", Gives([0.30005962])
    yield Check(
        "openvino",
        cause,
        far,
        [[0.3]],
        shows,
        "3 · 0.1",
        replace(far, constant=False),
        [0.3],
        rtol=1e-5,
    )
    one = np.array(1, ml_dtypes.bfloat16)
    whole = replace(plain, x=np.array([-49919], np.int32), more=(one,), gives="bfloat16")
    yield Check(
        "openvino",
        "DequantizeLinear cuts off",
        whole,
        [[-49920]],
        Gives([-49664]),
        "bfloat16 has every 256th integer, of which -49920 is next",
        replace(whole, x=np.array([-49920], np.int32)),
        [-49920],
    )
    three = _with(
        replace(plain, x=np.array([1, 2, 3, 4], np.int8), more=(_PAIR,)), axis=0, block_size=2
    )
    yield Check(
        "openvino",
        "DequantizeLinear refuses blocks",
        three,
        [[1, 2, 6, 8]],
        Raises("failed"),
        "1 · 1, 2 · 1, 3 · 2, 4 · 2",
        replace(
            three,
            x=np.array([[1, 2, 3, 4]], np.int8),
            more=(_row(1, 2),),
            attrs={"axis": 1, "block_size": 2},
        ),
        [[1, 2, 6, 8]],
    )
    yield _taken("openvino", "DequantizeLinear takes numbers", long, [1, 1.5], why, plain)
    square = _with(
        replace(plain, x=np.full((2, 2, 4), 3, np.int8), more=(np.full((2, 2, 2), 2, np.float32),)),
        axis=2,
        block_size=2,
    )
    why = "“The scale's shape is identical to the input's shape, except for one dimension”"
    short = replace(square, more=(np.full((1, 2, 2), 2, np.float32),))
    yield _taken(
        "openvino", "DequantizeLinear broadcasts", short, np.full((2, 2, 4), 6), why, square
    )
    later = replace(_with(plain, output_dtype=1), opset=21)
    why = "output_dtype came with version 23"
    yield _taken("openvino", "DequantizeLinear takes attributes", later, [1, 1.5], why, plain)
    fixed = replace(plain, constant=True)
    narrow = replace(fixed, more=(np.array(0.5, np.float16),), gives="float16")
    cause, words, why = "DequantizeLinear has no scales", "F16 with F32", "2 · 0.5, 3 · 0.5"
    yield Check("tract", cause, narrow, [[1, 1.5]], Raises(words), why, fixed, [1, 1.5])
    less = replace(fixed, more=(half, np.array(1, np.int8)))
    sixteen = replace(fixed, x=np.array([2, 3], np.int16), more=(half, np.array(1, np.int16)))
    yield Check(
        "tract",
        "DequantizeLinear reads zero points",
        sixteen,
        [[0.5, 1]],
        Raises("accessed as I32"),
        "(2 - 1) · 0.5, (3 - 1) · 0.5",
        less,
        [0.5, 1],
    )
    yield Check(
        "tract",
        "DequantizeLinear and QuantizeLinear need",
        plain,
        [[1, 1.5]],
        Raises("must be a const"),
        "2 · 0.5, 3 · 0.5",
        fixed,
        [1, 1.5],
    )
    other = replace(_with(fixed, output_dtype=10), gives="float16")
    yield Check(
        "tract",
        "DequantizeLinear ignores output_dtype",
        other,
        [[1, 1.5]],
        Gives([1, 1.5], "float32"),
        "10 is FLOAT16",
        fixed,
        [1, 1.5],
    )
    none = replace(fixed, x=np.zeros((2, 0), np.int8), more=(np.zeros(0, np.float32),))
    yield Check(
        "tract",
        "DequantizeLinear and QuantizeLinear abort",
        none,
        [np.zeros((2, 0))],
        Dies("panicked"),
        "of nothing there is nothing",
        fixed,
        [1, 1.5],
    )
    row = replace(row, constant=True)
    pair = replace(row, more=(row.more[0][None],))
    why = "“The block size is a positive integer”, and by default it is 0"
    yield _taken("tract", "DequantizeLinear and QuantizeLinear take", pair, [[1, 3]], why, row)
    yield _taken(
        "tract",
        "DequantizeLinear-10 and",
        replace(row, opset=10),
        [[1, 3]],
        "both are scalars",
        row,
    )


def quantized() -> Iterator[Check]:
    """Floats made numbers in few bits."""
    two, odd = np.array(2, np.float32), np.array(101, np.uint8)
    plain = Model("QuantizeLinear", 23, {}, _f([2, 4]), more=(two, odd), gives="uint8")
    alone, words = replace(plain, more=(two,)), "the zero point is added to 1 and 2"
    eight = ml_dtypes.float8_e4m3fn
    floats = replace(plain, more=(two, np.array(1, eight)), gives="float8_e4m3fn", constant=True)
    none = replace(floats, more=(two, np.array(0, eight)))
    yield Check(
        "onnxruntime",
        "QuantizeLinear to float 8",
        floats,
        [[2, 3]],
        Gives([1, 2]),
        words,
        none,
        [1, 2],
    )
    yield Check(
        "onnxruntime",
        "QuantizeLinear has no division",
        _with(plain, precision=11),
        [[102, 103]],
        Raises("only supports precision"),
        "11 is DOUBLE, and 2 / 2 = 1",
        _with(plain, precision=1),
        [102, 103],
    )
    beyond = _with(alone, output_dtype=2**32 + 2)
    yield _taken(
        "onnxruntime",
        "QuantizeLinear cuts",
        beyond,
        [1, 2],
        "2^32 + 2 is no type",
        _with(alone, output_dtype=2),
    )
    halves = replace(plain, x=_f([1, 5]))
    yield Check(
        "openvino",
        "QuantizeLinear is computed",
        halves,
        [[101, 103]],
        Gives([102, 104]),
        "0.5 and 2.5 are rounded to 0 and 2",
        plain,
        [102, 103],
    )
    fixed = replace(plain, more=(two, np.array(1, np.int8)), gives="int8", constant=True)
    below = replace(fixed, x=_f([4, 600]), more=(-two, fixed.more[1]))
    yield Check(
        "openvino",
        "QuantizeLinear of a negative",
        below,
        [[-1, -128]],
        Gives([-1, 127]),
        "-2 + 1, and -300 + 1 is less than -128",
        fixed,
        [2, 3],
    )
    large = replace(fixed, x=_f([2.0**126]), more=(_f(2.0**125), fixed.more[1]))
    yield Check(
        "openvino", "QuantizeLinear of a large", large, [[3]], Gives([-128]), "2 + 1", fixed, [2, 3]
    )
    row = replace(plain, x=_row(2, 4, 60), more=(_row(2, 20), np.array([[1, 2]], np.uint8)))
    even = replace(row, x=_row(2, 4, 60, 20))
    yield Check(
        "openvino",
        "QuantizeLinear refuses blocks",
        _with(row, block_size=2),
        [[[2, 3, 5]]],
        Raises("must be divisible"),
        "1 + 1, 2 + 1, 3 + 2",
        _with(even, block_size=2),
        [[2, 3, 5, 3]],
    )
    bare = replace(even, more=(_row(2, 20),))
    yield Check(
        "openvino",
        "QuantizeLinear of blocks without",
        _with(bare, block_size=2),
        [[[1, 2, 3, 1]]],
        Raises("in_out_elements_equal"),
        "2 / 2, 4 / 2, 60 / 20, 20 / 20",
        _with(even, block_size=2),
        [[2, 3, 5, 3]],
    )
    pair = replace(row, x=_row(2, 40), more=(_row(2, 20), np.array([[1, 2]], np.uint8)))
    yield _taken(
        "openvino",
        "QuantizeLinear takes a matrix",
        pair,
        [[2, 4]],
        "“The block size is a positive integer”, and by default it is 0",
        _with(pair, block_size=1),
    )
    long = replace(plain, x=np.array([2, 4]))
    yield _taken(
        "openvino", "QuantizeLinear takes numbers", long, [102, 103], "int64 is not in T1", plain
    )
    yield _taken(
        "openvino",
        "QuantizeLinear takes attributes",
        _with(replace(alone, opset=13), saturate=1),
        [1, 2],
        "saturate came with version 19",
        alone,
    )
    yield Check(
        "reference",
        "QuantizeLinear casts",
        replace(plain, x=_f([np.inf, 4])),
        [[255, 103]],
        Gives([0, 103]),
        "infinity is more than 255",
        plain,
        [102, 103],
    )
    yield Check(
        "reference",
        "QuantizeLinear to float 8",
        floats,
        [[2, 3]],
        Gives([1, 2]),
        words,
        none,
        [1, 2],
    )
    yield Check(
        "tract",
        "QuantizeLinear overflows",
        replace(fixed, x=_f([1e10, 4])),
        [[127, 3]],
        Gives([-128, 3]),
        "5e9 is more than 127",
        fixed,
        [2, 3],
    )
    yield _taken(
        "reference", "QuantizeLinear and Dynamic", long, [102, 103], "int64 is not in T1", plain
    )
    vector = replace(plain, x=_row(2, 40), more=(_f([2, 20]), np.array([1, 2], np.uint8)))
    yield _taken(
        "reference",
        "QuantizeLinear-10 takes",
        replace(vector, opset=10),
        [[2, 4]],
        "“It's a scalar”",
        replace(vector, opset=13),
    )
    three = replace(plain, x=_row(1, 2, 3, 4, 50), more=(_row(1, 10, 100),))
    yield Check(
        "reference",
        "QuantizeLinear takes more blocks",
        _with(three, block_size=3),
        [],
        Gives([[1, 2, 3, 0, 5]]),
        "5 elements make 2 blocks of 3",
        _with(three, block_size=2),
        [[1, 2, 0, 0, 0]],
    )
    yield Check(
        "reference",
        "QuantizeLinear repeats",
        _with(three, block_size=2**32 + 2),
        [],
        Raises("Unable to allocate"),
        "5 elements make 1 block of 2^32 + 2",
        _with(three, block_size=2),
        [[1, 2, 0, 0, 0]],
    )
    lone = replace(fixed, more=(two,), gives="uint8")
    half = replace(lone, more=(np.array(2, np.float16),))
    yield Check(
        "tract",
        "QuantizeLinear has neither",
        half,
        [[1, 2]],
        Raises("F16"),
        "2 / 2, 4 / 2",
        lone,
        [1, 2],
    )
    wide = replace(fixed, more=(two, np.array(1, np.int16)), gives="int16")
    yield Check(
        "tract",
        "QuantizeLinear has no outputs",
        wide,
        [[2, 3]],
        Raises("QuantizeLinear"),
        "1 + 1, 2 + 1",
        fixed,
        [2, 3],
    )
    yield Check(
        "tract",
        "QuantizeLinear ignores output_dtype",
        replace(_with(lone, output_dtype=3), gives="int8"),
        [[1, 2]],
        Gives([1, 2], "uint8"),
        "3 is INT8",
        lone,
        [1, 2],
    )
    yield _taken(
        "tract",
        "QuantizeLinear takes attributes",
        replace(_with(lone, saturate=1), opset=13),
        [1, 2],
        "saturate came with version 19",
        lone,
    )
    dynamic = Model(
        "DynamicQuantizeLinear", 11, {}, _f([1e38, -5e37, 3e37]), gives="uint8", after=2
    )
    yield Check(
        "openvino",
        "DynamicQuantizeLinear of large",
        dynamic,
        [[255, 0, 136]],
        Gives([255, 0, 255]),
        "the scale is 1.5e38 / 255, and 85 + 51 = 136",
        replace(dynamic, x=_f([1e3, -5e2, 3e2])),
        [255, 0, 136],
    )


def products_of_few_bits() -> Iterator[Check]:
    """Products of numbers in few bits, whole or requantized."""
    square = np.array([[1, 2], [3, 4]], np.int8)
    ones, two = np.ones((2, 1), np.int8), np.array(2, np.int8)
    plain = Model("MatMulInteger", 10, {}, square, more=(ones, two), gives="int32")
    rows, why = replace(plain, more=(ones, np.array([0, 2], np.int8))), "1 + 2, (3 - 2) + (4 - 2)"
    for engine, cause, shows in (
        ("onnxruntime", "MatMulInteger has one zero point", Raises("must be a scalar")),
        ("reference", "MatMulInteger subtracts zero points", Gives([[1], [5]])),
    ):
        yield Check(engine, cause, rows, [[[3], [3]]], shows, why, plain, [[-1], [3]])
    none = replace(plain, x=np.zeros((2, 0), np.int8), more=(np.zeros((0, 3), np.int8),))
    yield Check(
        "onnxruntime",
        "MatMulInteger gives sums of no",
        none,
        [np.zeros((2, 3))],
        Leftovers((2, 3)),
        "sums of nothing are 0",
        plain,
        [[-1], [3]],
        sometimes=True,
    )
    filters = np.array([[[7]], [[11]]], np.int8)
    each = np.array([1, 10], np.int8)
    conv = Model(
        "ConvInteger",
        10,
        {},
        np.array([[[3, 5]]], np.int8),
        more=(filters, None, each),
        gives="int32",
    )
    plane = replace(conv, x=conv.x[:, :, None], more=(filters[..., None], None, each))
    yield Check(
        "reference",
        "ConvInteger refuses zero points of filters",
        conv,
        [[[[18, 30], [3, 5]]]],
        Raises("non-broadcastable"),
        "3 · 6, 5 · 6, 3 · 1, 5 · 1",
        plane,
        [[[[18, 30]], [[3, 5]]]],
    )
    alone, column = replace(plain, more=(ones,)), replace(plain, more=(ones[:, 0],))
    vector, why = replace(alone, x=square[0]), "of a vector no axis is left"
    for engine, cause in (
        ("openvino", "MatMulInteger of a vector keeps"),
        ("tract", "MatMulInteger of a vector A"),
    ):
        yield Check(engine, cause, vector, [[3]], Gives([[3]]), why, alone, [[3], [7]])
    scalar = replace(alone, x=np.array(3, np.int8), more=(np.array([2], np.int8),))
    yield Check(
        "openvino",
        "MatMulInteger takes a scalar",
        scalar,
        [],
        Gives([6]),
        "a scalar is no matrix",
        alone,
        [[3], [7]],
    )
    other = replace(plain, more=(ones, np.array(2, np.uint8)))
    yield _taken(
        "openvino",
        "MatMulInteger and ConvInteger take zero points",
        other,
        [[-1], [3]],
        "both are of T1",
        plain,
    )
    yield Check(
        "tract",
        "MatMulInteger refuses a vector",
        column,
        [[3, 7]],
        Raises("Translating node"),
        "1 + 2, 3 + 4",
        alone,
        [[3], [7]],
    )
    yield Check(
        "tract",
        "MatMulInteger refuses zero points of stacks",
        replace(
            plain, x=np.stack([square, square]), more=(ones, np.array([[[0], [2]]] * 2, np.int8))
        ),
        [[[[3], [3]]] * 2],
        Raises("codegen"),
        "1 + 2, (3 - 2) + (4 - 2)",
        plain,
        [[-1], [3]],
    )
    yield Check(
        "tract",
        "MatMulInteger aborts",
        replace(alone, more=(two,)),
        [],
        Dies("panicked"),
        "a scalar is no matrix",
        alone,
        [[3], [7]],
    )
    half, one, zero = np.array(0.5, np.float32), np.array(1, np.float32), np.array(0, np.int8)
    many = Model(
        "QLinearMatMul",
        21,
        {},
        np.array([[1], [3]], np.int8),
        more=(half, zero, np.array([[1]], np.int8), one, zero, one, zero),
        gives="int8",
    )
    odd = replace(many, more=(*many.more[:-1], np.array(1, np.int8)))
    why = "“For (x / y_scale), it is rounding to nearest ties to even.”"
    for engine, cause in (
        ("openvino", "QLinearMatMul and QLinearConv round"),
        ("reference", "QLinearMatMul and QLinearConv round"),
    ):
        yield Check(engine, cause, odd, [[[1], [3]]], Gives([[2], [2]]), why, many, [[0], [2]])
    lines = np.array([0, 1], np.int8)
    several = replace(
        many,
        x=np.array([[2]], np.int8),
        more=(one, zero, np.array([[3, 4]], np.int8), one, lines, one, zero),
    )
    all_of_one = replace(several, more=(*several.more[:4], zero, *several.more[5:]))
    why = "“Scale and zero point must have same shape.”"
    yield Check(
        "reference",
        "QLinearMatMul and QLinearConv take one",
        several,
        [],
        Gives([[6, 6]]),
        why,
        all_of_one,
        [[6, 8]],
    )
    yield Check(
        "onnxruntime",
        "QLinearMatMul and QLinearConv take one",
        several,
        [],
        Gives([[6, 6]]),
        why,
        all_of_one,
        [[6, 8]],
    )
    eight = np.array([[1.5]], ml_dtypes.float8_e4m3fn)
    nothing = np.array(0, eight.dtype)
    yield Check(
        "reference",
        "QLinearMatMul takes numbers of float 8",
        replace(many, x=eight, more=(one, nothing, eight, one, nothing, one, zero)),
        [[[2]]],
        Gives([[1]]),
        "1.5 · 1.5 is 2.25",
        many,
        [[0], [2]],
    )
    rows = replace(many, more=(np.ones(2, np.float32), lines, *many.more[2:]))
    yield Check(
        "openvino",
        "QLinearMatMul refuses scales",
        rows,
        [[[1], [2]]],
        Raises("can't be derived"),
        "1 and 3 - 1",
        many,
        [[0], [2]],
    )
    yield Check(
        "openvino",
        "QLinearMatMul refuses vectors",
        replace(
            many, x=many.x[:, 0], more=(*many.more[:2], np.array([2, 4], np.int8), *many.more[3:])
        ),
        [[7]],
        Raises("out of tensor range"),
        "1 · 2 + 3 · 4 = 14, halved",
        many,
        [[0], [2]],
    )
    vector = replace(
        many, x=many.x[:, 0], more=(*many.more[:2], np.array([[2], [4]], np.int8), *many.more[3:])
    )
    yield Check(
        "tract",
        "QLinearMatMul refuses a vector",
        vector,
        [[7]],
        Raises("Translating node"),
        "1 · 2 + 3 · 4 = 14, halved",
        many,
        [[0], [2]],
    )
    scales = (part.astype(np.float16) if part.dtype == np.float32 else part for part in many.more)
    narrow = replace(many, more=tuple(scales))
    yield Check(
        "tract",
        "QLinearMatMul-21 refuses",
        narrow,
        [[[0], [2]]],
        Raises("Failed analyse"),
        "0.5 and 1.5",
        many,
        [[0], [2]],
    )
    signals = Model(
        "QLinearConv",
        10,
        {},
        conv.x,
        more=(one, zero, filters, np.ones(2, np.float32), each, one, zero),
        gives="int8",
    )
    wide = replace(
        signals, x=conv.x[:, :, None], more=(one, zero, filters[..., None], *signals.more[3:])
    )
    yield Check(
        "reference",
        "QLinearConv takes scales of filters",
        signals,
        [[[[18, 30], [3, 5]]]],
        Gives([[[[18, 30], [3, 5]]] * 2]),
        "3 · 6, 5 · 6, 3 · 1, 5 · 1",
        wide,
        [[[[18, 30]], [[3, 5]]]],
    )
    both = np.array([[[[7]], [[8]]], [[[11]], [[12]]]], np.int8)
    mixed = replace(
        wide,
        x=np.array([[[[3]], [[1]]]], np.int8),
        more=(one, zero, both, np.array([1, 4], np.float32), zero.repeat(2), one, zero),
    )
    yield Check(
        "openvino",
        "QLinearConv takes scales of filters",
        mixed,
        [[[[[29]], [[127]]]]],
        Gives([[[[53]], [[81]]]]),
        "3 · 7 + 8, and (3 · 11 + 12) · 4 = 180, saturated",
        replace(mixed, more=(one, zero, both, one, zero, one, zero)),
        [[[[29]], [[45]]]],
    )
    bias, point = np.array([2], np.int32), np.array(1, np.int8)
    weights = np.array([[[1, 10]]], np.int8)
    biased = _with(
        replace(
            signals,
            x=np.array([[[1, 2, 4]]], np.int8),
            more=(one, point, weights, one, zero, one, zero, bias),
        ),
        pads=[1, 0],
    )
    yield Check(
        "openvino",
        "QLinearConv of constant weights",
        replace(biased, constant=True),
        [[[[2, 12, 33]]]],
        Raises("uitable implementations"),
        "0 + 2, 0 + 10 + 2, 1 + 30 + 2",
        biased,
        [[[2, 12, 33]]],
        sometimes=True,
    )
    points = replace(mixed, more=(one, zero.repeat(2), both, one, zero, one, zero))
    yield _taken(
        "openvino",
        "QLinearConv takes several zero points",
        points,
        [[[[29]], [[45]]]],
        "“Each scale and zero-point pair must have same shape.”",
        replace(mixed, more=(one, zero, both, one, zero, one, zero)),
    )
    long = np.array([2], np.int64)
    yield _taken(
        "tract",
        "QLinearConv takes a bias",
        replace(biased, more=(*biased.more[:-1], long)),
        [[[2, 12, 33]]],
        "T4 is int32",
        biased,
    )
    two = np.array([[[1]], [[2]]], np.int8)
    pair = replace(
        signals, more=(one, zero, two, np.array([1, 1], np.float32), zero.repeat(2), one, zero)
    )
    yield _taken(
        "tract",
        "QLinearConv takes one scale",
        replace(pair, more=(*pair.more[:3], one, *pair.more[4:])),
        [[[3, 5], [6, 10]]],
        "“Each scale and zero-point pair must have same shape.”",
        pair,
    )
    ends = replace(plain, x=np.full((1, 4), 255, np.uint8), more=(np.full((4, 1), 127, np.int8),))
    small = replace(ends, x=np.full((1, 4), 2, np.uint8))
    yield Check(
        "onnxruntime",
        "On a CPU without AVX-512 or VNNI",
        ends,
        [[[129540]]],
        Gives([[65534]]),
        "4 · 255 · 127",
        small,
        [[1016]],
        sometimes=True,
    )


def sequences() -> Iterator[Check]:
    """Operators of sequences: of [1, 2], of [3], [4] and [5], and of [1], [2], [3] in pieces."""
    one, two, three = (np.array(x, np.float32) for x in ([1], [2], [3]))
    pair, half = np.array([1, 2], np.float32), np.array([1, 2], np.float16)
    whole = np.array([[1, 2, 3]], np.float32)

    def at(place: Any) -> Array:
        return np.array(place, np.int64)

    split = Model("SplitToSequence", 11, {}, whole.T, more=(at(1),), item=0)
    yield Check(
        "onnxruntime",
        "SplitToSequence without keepdims drops",
        _with(split, keepdims=0),
        [[[1]]],
        Gives([1]),
        "“If input 'split' is specified, this attribute is ignored.”",
        split,
        [[1]],
    )
    chunk = replace(split, more=(at(2),))
    yield Check(
        "onnxruntime",
        "SplitToSequence without keepdims refuses",
        _with(chunk, keepdims=0),
        [[[1], [2]]],
        Raises("new size (1)"),
        "“this attribute is ignored”",
        chunk,
        [[1], [2]],
    )
    listed = replace(split, more=(at([2, 1]),))
    yield _taken(
        "onnxruntime",
        "SplitToSequence takes a matrix",
        replace(listed, more=(at([[2, 1]]),)),
        [[1], [2]],
        "“a scalar, or a 1-D tensor”",
        listed,
    )
    yield _taken(
        "reference",
        "SplitToSequence checks neither",
        replace(listed, more=(at([2, 2]),)),
        [[1], [2]],
        "2 + 2 is not 3",
        listed,
    )
    taken = Model("SequenceAt", 11, {}, one, more=(two, three, at(1)), sequence=3)
    yield _taken(
        "onnxruntime",
        "Operators of sequences take the first",
        replace(taken, more=(two, three, at([1, 2]))),
        [2],
        "“It must be a scalar”",
        taken,
    )
    yield Check(
        "openvino",
        "SequenceAt takes every negative",
        replace(taken, more=(two, three, at(-3))),
        [[1]],
        Gives([3]),
        "the third from the back is [1]",
        taken,
        [2],
    )
    left = Model("SequenceErase", 11, {}, one, more=(two, three, at(0)), sequence=3, item=0)
    last = replace(left, more=(two, three, at(-1)))
    yield Check(
        "openvino",
        "SequenceErase takes every negative",
        last,
        [[1]],
        Gives([2]),
        "the last of three is gone, not the first",
        left,
        [2],
    )
    yield Check(
        "openvino",
        "Where a position is fed and tensors are of several ranks",
        replace(left, more=(two.reshape(1, 1), three, at(2))),
        [[1]],
        Gives([[2]]),
        "what is left is [1] and [[2]]",
        left,
        [2],
    )
    put = Model("SequenceInsert", 11, {}, one, more=(two, three, at(1)), sequence=2, item=0)
    yield Check(
        "reference",
        "SequenceInsert takes the position at the back",
        replace(put, more=(two, three, at(2))),
        [[1]],
        Gives([3]),
        "[3] comes behind [1] and [2]",
        put,
        [1],
    )
    first = Model("SequenceInsert", 11, {}, pair, sequence=0, item=0)
    yield Check(
        "reference",
        "SequenceInsert divides",
        replace(first, more=(at(0),)),
        [pair],
        Raises("modulo by zero"),
        "it is all there is",
        first,
        pair,
    )
    yield _taken(
        "reference",
        "SequenceInsert takes every position",
        replace(put, more=(two, three, at(3))),
        [1],
        "“Accepted range for 'position' is in `[-n, n]`”",
        put,
    )
    alike = Model("SequenceConstruct", 11, {}, pair, more=(one,), item=0)
    yield _taken(
        "reference",
        "Tensors of unequal types",
        replace(alike, more=(half,)),
        pair,
        "“All tensors in 'inputs' must have the same data type.”",
        alike,
    )
    for engine in ("reference", "openvino"):
        empty = Model("SequenceEmpty", 11, {"dtype": 1}, at(0), "nothing", item="length")
        yield _taken(
            engine, "SequenceEmpty does not read", _with(empty, dtype=99), 0, "99 is no type", empty
        )
    join = Model("ConcatFromSequence", 11, {"axis": 0, "new_axis": 0}, one, more=(two,), sequence=2)
    yield _taken(
        "reference",
        "ConcatFromSequence reads a new_axis",
        _with(join, new_axis=0.0),
        [1, 2],
        "new_axis is an integer",
        join,
    )
    yield _taken(
        "openvino",
        "ConcatFromSequence does without",
        replace(join, attrs={}),
        [1, 2],
        "axis is required",
        join,
    )
    constant = replace(first, stored="raw_data")
    yield Check(
        "openvino",
        "An initializer of shape [0]",
        replace(constant, x=pair[:0]),
        [[]],
        Leftovers(()),
        "it comes out as it went in",
        constant,
        pair,
    )
    text = replace(first, x=np.array(["a"], object), stored="string_data")
    yield Check(
        "openvino",
        "An initializer of no texts",
        replace(text, x=text.x[:0]),
        [[]],
        Raises("Unknown type"),
        "it comes out as it went in",
        text,
        ["a"],
    )


def grids() -> Iterator[Check]:
    """GridSample of rows of pixels, at columns 0 and 1 of two: x + 1/2."""

    def sample(
        x: Any, *places: float, opset: int = 20, dtype: Any = np.float32, **attrs: Any
    ) -> Model:
        grid = np.array([[[[place, 0] for place in places]]], dtype)
        return Model("GridSample", opset, attrs, np.array([[[x]]]), more=(grid,))

    def of(dtype: Any, *pixels: Any) -> Any:
        return np.array(pixels, dtype)

    near: Any = {"mode": "nearest"}
    f32 = of(np.float32, 8, 16)
    plain, right = sample(f32, -0.5, 0.5, **near), [[[[8, 16]]]]
    first, between = replace(plain, opset=16), "8, 12 and 16 lie at 0, 0.5 and 1"
    line = replace(sample(f32, -0.5), x=f32[None, None], more=(of(np.float32, [[-0.5], [0.5]]),))
    places = of(np.float32, -0.5, 0, 0, 0.5, 0, 0).reshape(1, 1, 1, 2, 3)
    volume = replace(line, x=f32.reshape(1, 1, 1, 1, 2), more=(places,))
    four = sample(of(np.float32, 0, 32, 64, 0), 0, mode="cubic")
    cubes = replace(four, x=four.x[:, :, None], more=(np.zeros((1, 1, 1, 1, 3), np.float32),))
    curve, why = [[[[57]]]], "(0 + 19 · 96 - 0) / 32"
    averages = sample(of(np.int32, 8, 16), -0.5, 0, 0.5)
    texts = replace(plain, x=np.array([[[["a", "b"]]]], object))
    later, named = (
        sample(f32, -0.5, *more, 0.5, opset=16, mode=mode)
        for mode, *more in (("linear",), ("bilinear", 0.0))
    )
    flat: Any = {"padding_mode": "reflection", "align_corners": 1}
    one = of(np.float32, 7)
    wide = sample(of(np.float32, *range(4099)) % 2, 0.25, dtype=np.float16, **near)
    for engine, cause, model, wants, shows, reason, control, answer in (
        (
            "onnxruntime",
            "GridSample takes images and volumes alone",
            line,
            [[[8, 16]]],
            Raises("Only 4-D or 5-D tensor is supported"),
            between,
            plain,
            right,
        ),
        (
            "onnxruntime",
            "GridSample has no cubic averages",
            cubes,
            [curve],
            Raises("Only support GridSample Cubic mode"),
            why,
            four,
            curve,
        ),
        (
            "onnxruntime",
            "GridSample makes a whole number of 64 bits",
            sample(f32, -1e20),
            [[[[0]]]],
            Gives([[[[4]]]]),
            "“zeros: use 0 for out-of-bound grid locations”",
            plain,
            right,
        ),
        (
            "onnxruntime",
            "GridSample-16 takes volumes",
            replace(volume, opset=16),
            None,
            Gives([[[right[0][0]]]]),
            "“only spatial (4-D) inputs are supported”",
            volume,
            [[[right[0][0]]]],
        ),
        (
            "reference",
            "GridSample makes integers of the weights",
            averages,
            [[[[8, 12, 16]]]],
            Gives([[[[8, 0, 16]]]]),
            between,
            sample(f32, -0.5, 0, 0.5),
            [[[[8, 12, 16]]]],
        ),
        (
            "reference",
            "GridSample of float64 takes places",
            sample(of(np.float64, 8, 16), 2.0**-30, dtype=np.float64, **near),
            [[[[16]]]],
            Gives([[[[8]]]]),
            "1/2 + 2^-30 is nearer to 1",
            plain,
            right,
        ),
        (
            "reference",
            "GridSample computes places in the type",
            wide,
            [[[[1]]]],
            Gives([[[[0]]]]),
            "(1.25 · 4099 - 1) / 2 is 2561.375",
            replace(wide, more=(wide.more[0].astype(np.float32),)),
            [[[[1]]]],
        ),
        (
            "reference",
            "GridSample makes no answer",
            replace(plain, more=(np.zeros((1, 0, 2, 2), np.float32),)),
            [np.zeros((1, 1, 0, 2))],
            Raises("does not return a tuple"),
            "there are no rows",
            plain,
            right,
        ),
        (
            "reference",
            "GridSample-16 knows bilinear",
            named,
            [[[[8, 12, 16]]]],
            Raises("only supports nearest, linear, and cubic"),
            between,
            first,
            right,
        ),
        (
            "reference",
            "GridSample divides by the distance",
            sample(one, -2.0, **flat),
            [[[[7]]]],
            Raises("cannot convert float infinity"),
            "there is one pixel",
            plain,
            right,
        ),
        (
            "reference",
            "GridSample-16 takes the names",
            later,
            None,
            Gives(right),
            "“bilinear (default), nearest and bicubic”",
            first,
            right,
        ),
        (
            "reference",
            "GridSample takes any padding_mode",
            _with(plain, padding_mode="none"),
            None,
            Gives(right),
            "“`zeros`(default), `border`, `reflection`”",
            plain,
            right,
        ),
        (
            "reference",
            "GridSample does not compare the shape",
            replace(plain, more=(plain.more[0].repeat(2, axis=0),)),
            None,
            Gives(right),
            "there is one image, and there are two grids",
            plain,
            right,
        ),
        (
            "openvino",
            "GridSample reads padding_mode",
            _with(plain, padding_mode="Border"),
            None,
            Gives(right),
            "“`zeros`(default), `border`, `reflection`”",
            plain,
            right,
        ),
        (
            "tract",
            "GridSample of float64 is computed",
            sample(of(np.float64, 1e300, 16), 0.5, -0.5, **near),
            [[[[16, 1e300]]]],
            Gives([[[[16, inf]]]]),
            "pixels are copied",
            plain,
            right,
        ),
        (
            "tract",
            "GridSample puts integers through float32",
            sample(of(np.int32, 16777217, 16), 0.5, -0.5, **near),
            [[[[16, 16777217]]]],
            Gives([[[[16, 16777216]]]]),
            "pixels are copied",
            plain,
            right,
        ),
        (
            "tract",
            "GridSample has cubic averages of images",
            cubes,
            [curve],
            Dies(""),
            why,
            four,
            curve,
        ),
        (
            "tract",
            "GridSample refuses an initializer of texts",
            replace(texts, stored="string_data"),
            [[[["a", "b"]]]],
            Raises("Evaluating"),
            "pixels are copied",
            plain,
            right,
        ),
        (
            "tract",
            "GridSample takes the names of averages",
            later,
            None,
            Gives(right),
            "“bilinear (default), nearest and bicubic”",
            first,
            right,
        ),
    ):
        wanted = [] if wants is None else [wants]
        yield Check(engine, cause, model, wanted, shows, reason, control, answer, rtol=0)


def draws() -> Iterator[Check]:
    """Defects of what is drawn at random, where one number alone can be drawn."""

    def drawn(op: str, attrs: dict[str, Any], *shape: int, of: Any = np.float32) -> Model:
        return Model(op, 1, {"shape": [*shape], **attrs}, np.zeros(shape, of), "nothing")

    def classes(*logarithms: float) -> Model:
        x = np.array([logarithms], np.float32)
        return Model("Multinomial", 7, {"sample_size": 2}, x, gives="int32")

    def bits(*probabilities: float, **attrs: Any) -> Model:
        return Model("Bernoulli", 15, attrs, np.array(probabilities, np.float32))

    same, still = {"low": 2.0, "high": 2.0}, {"mean": 2.0, "scale": 0.0}
    uniform, normal, two = drawn("RandomUniform", same, 2), drawn("RandomNormal", still, 2), [2, 2]
    likely, ones = classes(-80, 0), [[1, 1]]
    far = classes(0, 2000)
    said = "“an output of 1 is produced with probability p”"
    for engine, cause, model, wants, shows, why, control, right in (
        (
            "onnxruntime",
            "RandomNormal with a scale of 0",
            normal,
            [two],
            Dies("_M_stddev"),
            "the standard deviation is 0",
            uniform,
            two,
        ),
        (
            "onnxruntime",
            "The random operators cut dtype",
            _with(uniform, dtype=2**32 + 1),
            [],
            Gives(two),
            "2^32 + 1 names no type",
            uniform,
            two,
        ),
        (
            "onnxruntime",
            "Multinomial refuses an input",
            replace(likely, x=likely.x[:0]),
            [np.zeros((0, 2))],
            Raises("batch_size"),
            "no batch has no samples",
            likely,
            ones,
        ),
        (
            "onnxruntime",
            "Bernoulli gives 0",
            bits(0, 1, 1),
            [[0, 1, 1]],
            Gives([1, 0, 0]),
            said,
            uniform,
            two,
        ),
        (
            "reference",
            "Bernoulli, RandomNormalLike",
            replace(bits(1), x=np.array(1, np.float32)),
            [1],
            Raises("Issues with types"),
            said,
            bits(0, 1),
            [0, 1],
        ),
        (
            "reference",
            "RandomNormal and RandomUniform refuse",
            drawn("RandomUniform", same),
            [2],
            Raises("shape cannot be empty"),
            "that is the shape of a scalar",
            uniform,
            two,
        ),
        (
            "reference",
            "A seed below 0",
            _with(uniform, seed=-7.5),
            [two],
            Raises("Seed must be between"),
            "the seed is a float",
            _with(uniform, seed=1.0),
            two,
        ),
        (
            "onnxruntime",
            "Bernoulli gives texts",
            replace(bits(0, 1, dtype=8), gives="object"),
            [],
            Holds("texts", lambda y: y.dtype == object),
            "T2 has no strings",
            uniform,
            two,
        ),
        (
            "openvino",
            "RandomNormal without a seed",
            drawn("RandomNormal", {}, 200),
            [()],
            Holds("200 numbers, none below -1.21", lambda y: y.min() > -1.21),
            "one in nine lies below, so that this is chance once in 10^10 times",
            normal,
            two,
        ),
        (
            "openvino",
            "RandomNormal of bfloat16",
            replace(drawn("RandomNormal", {"dtype": 16}, 5000, of=ml_dtypes.bfloat16), opset=22),
            [()],
            Holds("one of 5,000 numbers above 9", lambda y: (y > 9).any()),
            "a number above 9 is chance once in 10^18 times",
            normal,
            two,
        ),
        (
            "tract",
            "Multinomial of an initializer",
            replace(classes(0, 0), attrs={"sample_size": 64}, stored="raw_data"),
            [()],
            Raises("Impossible to unify"),
            "the input may be a constant",
            likely,
            ones,
        ),
        (
            "openvino",
            "RandomNormal and RandomNormalLike make",
            drawn("RandomNormal", still),
            [2],
            Gives([2]),
            "“The shape of the output tensor.”, of rank 0",
            normal,
            two,
        ),
        (
            "openvino",
            "RandomUniform of another type",
            drawn("RandomUniform", {"low": 2.0, "high": 3.0, "dtype": 11}, 2, of=np.float64),
            [two],
            Raises("should have the same type"),
            "T has double",
            normal,
            two,
        ),
        (
            "openvino",
            "RandomUniform between",
            uniform,
            [two],
            Raises("Min value must be less"),
            "2 is the only number from 2 to 2",
            normal,
            two,
        ),
        (
            "openvino",
            "Bernoulli without a seed",
            bits(0, 1, 1),
            [[0, 1, 1]],
            Raises("Invalid attribute type"),
            "seed is optional",
            normal,
            two,
        ),
        (
            "openvino",
            "Bernoulli with a seed",
            bits(0, 1, 1, seed=1.0),
            [[0, 1, 1]],
            Gives([1, 0, 0]),
            said,
            normal,
            two,
        ),
        (
            "openvino",
            "Multinomial takes the exponentials",
            far,
            [ones],
            Leftovers((1, 2)),
            "e^2000 is beyond float32, and 1 to that is nothing",
            likely,
            ones,
        ),
        (
            "openvino",
            "The random operators take some",
            _with(normal, alpha=0.5),
            [],
            Gives(two),
            "there is no attribute alpha",
            normal,
            two,
        ),
        (
            "tract",
            "RandomNormalLike and RandomUniformLike",
            Model("RandomNormalLike", 1, still, np.zeros(2, np.float32)),
            [two],
            Raises("expected attribute 'shape'"),
            "the input has the shape",
            normal,
            two,
        ),
        (
            "tract",
            "RandomNormal and RandomUniform of float16",
            drawn("RandomUniform", {"low": 2.0, "high": 3.0, "dtype": 10}, 2, of=np.float16),
            [two],
            Raises("accessed as F32"),
            "T has float16",
            normal,
            two,
        ),
        (
            "tract",
            "RandomUniform between",
            uniform,
            [two],
            Raises("low > high"),
            "2 is the only number from 2 to 2",
            normal,
            two,
        ),
        (
            "tract",
            "Multinomial takes the exponentials",
            classes(2000, 0, 0),
            [[[0, 0]]],
            Gives([[2, 2]]),
            "e^2000 is beyond float32, and 1 to that is nothing",
            likely,
            ones,
        ),
        (
            "tract",
            "Attributes that the random operators",
            _with(normal, alpha=0.5),
            [],
            Gives(two),
            "there is no attribute alpha",
            normal,
            two,
        ),
    ):
        yield Check(engine, cause, model, wants, shows, why, control, right)


def flows() -> Iterator[Check]:
    """If, Loop, Scan and SequenceMap, whose graphs negate, add, or give what they are given."""
    true, false, one, two = np.array(True), np.array(False), _f([1]), _f([2])
    half = ml_dtypes.bfloat16

    def choice(*kinds: str, then: str = "Identity(x1)") -> Model:
        taken, *others = kinds or ("float[1]", "float[1]")
        other = ", ".join(f"{kind} b{n}" for n, kind in enumerate(others))
        same = " ".join(f"b{n} = Identity(x2)" for n, _ in enumerate(others))
        attrs = {
            "then_branch": Graph(f"() => ({taken} a) {{ a = {then} }}"),
            "else_branch": Graph(f"() => ({other}) {{ {same} }}"),
        }
        return Model("If", 13, attrs, true, more=(one, two), around=2, gives="float32")

    def loop(body: str, *more: Any, turns: int = 2, gives: str = "float32", **which: Any) -> Model:
        m = np.array(turns)
        return Model("Loop", 13, {"body": Graph(body)}, m, more=more, gives=gives, **which)

    def scan(body: str, x: Any, *more: Any, opset: int = 11, **which: Any) -> Model:
        attrs = {"num_scan_inputs": 1, "body": Graph(body)}
        return Model("Scan", opset, attrs, x, more=more, **which)

    def doubled(cond: Any, after: Any) -> Model:
        return loop(
            "(int64 i, bool c, float[1] a) => (bool d, float[1] b) "
            "{ d = Identity(x3) b = Add(a, a) }",
            cond,
            one,
            after,
            turns=3,
            around=1,
        )

    # ── If ──
    either = choice()
    said = "“Only bool”"
    several = replace(either, x=np.array([True, True]))
    early = replace(
        choice("bfloat16[1]", "bfloat16[1]"),
        more=(one.astype(half), two.astype(half)),
        gives="bfloat16",
    )
    came, why = "the type came with version 16", "“The number of outputs must match”"
    more = choice("float[1]", "float[1]", "float[1]")
    shapes = replace(choice("float[1]", "float[2]"), more=(one, _PAIR))
    wide = replace(
        choice("float[1,1]", "float[1,1]", then="MatMul(x1, x2)"),
        more=(_f([[257]]), _f([[1]])),
    )
    number = replace(either, x=np.array(1))
    # ── Loop ──
    ignored, heeded = doubled(None, false), doubled(None, true)
    listed = loop(
        "(int64 i, bool c, float[2] a) => (bool d, float[2] b, float[2] s) "
        "{ d = Identity(c) b = Neg(a) s = Identity(a) }",
        true,
        _PAIR,
        output=1,
    )
    rows = loop(listed.attrs["body"].replace("[2]", "[1,2]"), true, _row(1, 2), output=1)
    growing = loop(
        "(int64 i, bool c, float[n] a) => (bool d, float[m] b, float[k] s) "
        "{ d = Identity(c) b = Concat<axis = 0>(a, a) s = Identity(a) }",
        true,
        one,
        output=1,
    )
    until = loop(
        "(int64 i, bool c, float a) => (bool d, float b) { b = Add(a, a) d = Less(b, x3) }",
        true,
        _f(1),
        _f(8),
        around=1,
    )
    counted = loop(
        "(int64 i, bool c, float[1] a) => (bool d, float[1] b) "
        "{ d = Identity(c) u = Cast<to = 1>(c) b = Add(a, u) }",
        true,
        one,
    )
    kept = loop(
        "(int64 i, bool c, string[1] a) => (bool d, string[1] b, string[1] s) "
        "{ d = Identity(c) b = Identity(a) s = Identity(a) }",
        true,
        np.array(["x"], object),
        output=1,
        gives="object",
    )
    # ── Scan ──
    added = "(float s, float p) => (float t) { t = Add(s, p) }"
    plain = scan(added, _f(4), _PAIR)
    none = replace(plain, more=(_PAIR[:0],))
    moved = scan(added.replace("float", "float[2]"), _f([4, 1]), _row(1, 2))
    still = replace(moved, more=(np.zeros((0, 2), np.float32),))
    negated = scan("(float p) => (float q) { q = Neg(p) }", _PAIR)
    texts = scan("(string p) => (string q) { q = Identity(p) }", np.array(["a", "b"], object))
    copied = scan("(float p) => (float q) { q = Identity(p) }", _PAIR)
    # Its body takes every rank, so that tract computes it.
    unstated = "(float[] s, float[] p) => (float[] t) { t = Add(s, p) }"
    at = _f([0, 100])
    batches = scan(unstated, at, None, at, _f([[1, 2], [8, 16]]), opset=8, stored="nothing")
    summed = "(float s, float p) => (float t, float q) { t = Add(s, p) q = Add(s, p) }"
    stated = replace(_with(batches, body=Graph(summed)), output=1)
    columns = scan(
        summed.replace("float", "float[1]"),
        at[:, None],
        None,
        at[:, None],
        _f([[[1], [2]], [[8], [16]]]),
        opset=8,
        stored="nothing",
        output=1,
    )
    lengths = scan(
        added, np.array([0, 2]), at, _f([[1, 2, 4], [8, 16, 32]]), opset=8, gives="float32"
    )
    outer = scan("(float p) => (float q) { q = Add(p, x1) }", _PAIR, _f(3), around=1)
    before = scan(
        "(float s, float p) => (float t, float q) { t = Identity(p) q = Identity(s) }",
        _f(7),
        _PAIR,
        output=1,
    )
    column = scan("(float[] p) => (float[] q) { q = Neg(p) }", _row(1, 2))
    hollow, full = (
        scan(
            f"(float[{n}] s, float p) => (float[{n}] t, float q) {{ t = Neg(s) q = Identity(p) }}",
            _PAIR[:n],
            _PAIR,
            output=1,
        )
        for n in (0, 2)
    )
    # ── SequenceMap ──
    body = Graph("(float[1] p) => (float[1] q) { q = Neg(p) }")
    mapped = Model("SequenceMap", 17, {"body": body}, one, more=(two,), sequence=2, item=0)
    body = Graph("(float[1] p) => (float[1] q) { q = Add(p, x2) }")
    out = replace(_with(mapped, body=body), more=(two, _f([3])), around=1)
    count = replace(mapped, more=(), sequence=1, item="length", gives="int64")

    each = "“the batch-axis is required to be 0”: 0 + 1 + 2 and 100 + 8 + 16"
    turns = "“trip_count” is 3 and “cond = ...; // ignored”: 1 · 2 · 2 · 2"
    for engine, cause, model, wants, shows, reason, control, right in (
        ("onnxruntime", "Loop ends where the body", ignored, [8], Gives([2]), turns, heeded, [8]),
        (
            "onnxruntime",
            "Where two Identity nodes in the body",
            kept,
            [["x"], ["x"]],
            Gives([["x"], [""]]),
            "the text is x in each of two iterations",
            replace(kept, x=np.array(1)),
            [["x"]],
        ),
        ("openvino", "Loop ends where the body", ignored, [8], Gives([2]), turns, heeded, [8]),
        (
            "reference",
            "A Loop without the input cond",
            heeded,
            [8],
            Gives([1]),
            turns,
            doubled(true, true),
            [8],
        ),
        (
            "onnxruntime",
            "Scan refuses inputs of no positions",
            none,
            4,
            Raises("Invalid dim0_offset"),
            "nothing is added to 4",
            plain,
            7,
        ),
        (
            "openvino",
            "Scan refuses inputs of no positions",
            none,
            4,
            Raises("in an iteration component"),
            "nothing is added to 4",
            plain,
            7,
        ),
        (
            "onnxruntime",
            "If takes bfloat16 at opset 13",
            replace(early, constant=True),
            None,
            Gives([1]),
            came,
            either,
            [1],
        ),
        ("reference", "If, Loop and Scan take types", early, None, Gives([1]), came, either, [1]),
        ("openvino", "If, Loop and Scan take bfloat16", early, None, Gives([1]), came, either, [1]),
        (
            "onnxruntime",
            "Scan-8 refuses sequences of length 0",
            lengths,
            [0, 124],
            Raises("Invalid entries in sequence_lens"),
            "0 and 100 + 8 + 16",
            replace(lengths, x=np.array([1, 2])),
            [1, 124],
        ),
        (
            "reference",
            "Scan-8 is computed as Scan-9",
            batches,
            [3, 124],
            Raises("x and y have different dtype"),
            each,
            plain,
            7,
        ),
        (
            "tract",
            "Scan-8 is computed as Scan-9",
            batches,
            [3, 124],
            Gives([9, 118]),
            each,
            plain,
            7,
        ),
        (
            "reference",
            "Loop puts scan outputs",
            rows,
            [[[1, 2]], [[-1, -2]]],
            Gives([[1, 2], [-1, -2]]),
            "two values of shape [1, 2] make one of shape [2, 1, 2]",
            listed,
            [[1, 2], [-1, -2]],
        ),
        (
            "reference",
            "Scan is implemented along axis 0",
            _with(negated, scan_input_directions=[1]),
            [-2, -1],
            Raises("other output input_direction"),
            "“1 indicates reverse direction”",
            negated,
            [-1, -2],
        ),
        (
            "reference",
            "Scan refuses texts",
            texts,
            ["a", "b"],
            Raises("Issues with types"),
            "they are copied",
            copied,
            [1, 2],
        ),
        ("reference", "If and Loop take numbers", number, None, Gives([1]), said, either, [1]),
        (
            "openvino",
            "If takes numbers for conditions",
            number,
            None,
            Gives([1]),
            said,
            either,
            [1],
        ),
        (
            "reference",
            "If takes branches with other numbers",
            more,
            None,
            Gives([1]),
            why,
            either,
            [1],
        ),
        ("tract", "If aborts the process", more, None, Dies("panicked"), why, either, [1]),
        (
            "reference",
            "The body of SequenceMap cannot use",
            out,
            [4],
            Raises("Unable to find input 'x2'"),
            "1 + 3",
            mapped,
            [-1],
        ),
        (
            "reference",
            "SequenceMap refuses an empty",
            replace(count, sequence=0, stored="nothing"),
            0,
            Raises("Issues with types"),
            "there is no tensor, and so none comes",
            count,
            1,
        ),
        (
            "tract",
            "Scan aborts the process where an axis of an output",
            _with(copied, scan_output_axes=[1]),
            None,
            Dies("panicked"),
            "“Accepted range is [-r, r-1]”, and r is 1",
            copied,
            [1, 2],
        ),
        (
            "tract",
            "If is refused where its branches",
            shapes,
            [1],
            Raises("Unifying shapes 2 and 1"),
            "they “may produce tensors with the same element type and different shapes”",
            either,
            [1],
        ),
        (
            "tract",
            "Scan refuses negative axes",
            _with(column, scan_input_axes=[-1]),
            [[-1], [-2]],
            Raises("declare the slice shape"),
            "-1 is the second of two axes, along which are 1 and 2",
            _with(column, scan_input_axes=[1]),
            [[-1], [-2]],
        ),
        (
            "tract",
            "Scan refuses states of no elements",
            hollow,
            [1, 2],
            Raises("input_mapping"),
            "the state is nothing, and 1 and 2 are copied",
            full,
            [1, 2],
        ),
        (
            "tract",
            "Scan gives a scalar in place",
            still,
            [4, 1],
            Leftovers(()),
            "nothing is added to 4 and 1",
            moved,
            [5, 3],
        ),
        (
            "tract",
            "Scan aborts the process where it is given axes",
            _with(copied, scan_input_axes=[0, 0]),
            None,
            Dies("panicked"),
            "“An optional list of M flags”, and M is 1",
            copied,
            [1, 2],
        ),
        (
            "openvino",
            "If refuses a condition of one element",
            replace(either, x=np.array([[True]])),
            [1],
            Raises("Rank of If condition input"),
            "“The tensor must contain a single element.”",
            either,
            [1],
        ),
        (
            "openvino",
            "The body of a Loop that gives",
            counted,
            [3],
            Raises("undeclared parameters"),
            "1 is added to 1 twice",
            replace(
                counted,
                more=(true, one, true),
                attrs={
                    "body": Graph(
                        counted.attrs["body"].replace("d = Identity(c)", "d = Identity(x3)")
                    )
                },
                around=1,
            ),
            [3],
        ),
        (
            "openvino",
            "The body of Scan cannot use",
            outer,
            [4, 5],
            Raises("Number of Scan node inputs"),
            "1 + 3 and 2 + 3",
            negated,
            [-1, -2],
        ),
        (
            "openvino",
            "So do the graphs within If and Loop",
            wide,
            [[257]],
            Gives([[256]]),
            "257 · 1 = 257, for which bfloat16 has no room",
            replace(wide, more=(_f([[256]]), _f([[1]]))),
            [[256]],
        ),
        (
            "openvino",
            "If takes a condition of several",
            several,
            None,
            Gives([1]),
            "“The tensor must contain a single element.”",
            either,
            [1],
        ),
        (
            "openvino",
            "Loop takes scan outputs",
            growing,
            None,
            Gives([[1], [1]]),
            "“It is an error if the dimensions or data type of these scan_outputs change”",
            replace(growing, x=np.array(1)),
            [[1]],
        ),
        (
            "openvino",
            "A negative trip count",
            replace(until, x=np.array(-3)),
            1,
            Gives(8),
            "“for (int i=0; i < trip_count && cond; ++i)”",
            until,
            4,
        ),
        (
            "openvino",
            "Scan-8 refuses scan outputs",
            stated,
            [[1, 3], [108, 124]],
            Raises("out of the tensor rank range"),
            "0 + 1, 1 + 2, 100 + 8 and 108 + 16",
            columns,
            [[[1], [3]], [[108], [124]]],
        ),
        (
            "openvino",
            "Where the next state of Scan",
            before,
            [7, 1],
            Gives([7, 2]),
            "the state is 7 before the first position, and 1 before the second",
            _with(
                before,
                body=Graph(
                    "(float s, float p) => (float t, float q) { t = Add(s, p) q = Identity(s) }"
                ),
            ),
            [7, 8],
        ),
    ):
        wanted = [] if wants is None else [wants]
        yield Check(
            engine, cause, model, wanted, shows, reason, control, right, sometimes=model is wide
        )


def _ml(op: str, x: Any, dtype: Any = np.float32, at: Any = 1, **attrs: Any) -> Model:
    """A node of ai.onnx.ml; its output is of the input's dtype unless `gives` says another."""
    gives, more, after = attrs.pop("gives", ""), attrs.pop("more", ()), attrs.pop("after", 0)
    tensors = {"more": more, "gives": gives, "after": after}
    return Model(op, at, attrs, np.array(x, dtype), **tensors, domain="ai.onnx.ml")


def mappings() -> Iterator[Check]:
    """On operators of ai.onnx.ml."""
    above = _ml("Binarizer", [nan, 3, 1], threshold=2.0)
    beyond = _ml("Binarizer", [2**53 + 1], np.int64, threshold=2.0**53)
    joined = _ml("FeatureVectorizer", [[1, 2]], more=(_row(3),), inputdimensions=[2, 1])
    unsized = replace(joined, attrs={})
    hollow = replace(joined, x=np.zeros((0, 2), np.float32), more=(np.zeros((0, 1), np.float32),))
    deep = _ml("FeatureVectorizer", [[[1, 2]]], inputdimensions=[2])
    vector = _ml("FeatureVectorizer", [1, 2, 3], inputdimensions=[3])
    imputed = {"replaced_value_float": 0.0}
    few = _ml("Imputer", [[0, 1, 2]], imputed_value_floats=[5.0, 6.0], **imputed)
    filled = _ml("Imputer", [[0, 1]], imputed_value_floats=[5.0, 6.0], **imputed)
    numbers = {"dtype": np.float32, "gives": "int64"}
    found = _ml(
        "LabelEncoder", [nan, 1], at=2, keys_floats=[nan, 1.0], values_int64s=[5, 6], **numbers
    )
    zero = _ml(
        "LabelEncoder", [-0.0, 1], at=2, keys_floats=[0.0, 1.0], values_int64s=[5, 6], **numbers
    )
    last = _ml("LabelEncoder", [3, 2], np.int64, 4, keys_int64s=[3, 2, 3], values_int64s=[5, 6, 7])
    places = _ml(
        "LabelEncoder",
        ["b"],
        np.object_,
        classes_strings=["a", "b"],
        default_int64=7,
        gives="int64",
    )
    later = _ml(
        "LabelEncoder",
        ["b"],
        np.object_,
        2,
        keys_strings=["a", "b"],
        values_int64s=[0, 1],
        gives="int64",
    )
    tensors = _ml("LabelEncoder", [3], np.int64, 4, keys_int64s=[3], values_tensor=np.array([5]))
    stated = _with(tensors, default_tensor=np.array([7]))
    squared = _ml("Normalizer", [[210000, 280000]], np.int32, norm="L2", gives="float32")
    halves = _ml("Normalizer", [[2, 4]], norm="MAX")
    picked = _ml("ArrayFeatureExtractor", [[5, 6]], more=(np.array([1]),))
    third = _ml("OneHotEncoder", [1.75], cats_int64s=[1, 2])
    halved = {"offset": [1.0], "scale": [0.5]}
    scaled = _ml("Scaler", [[3]], np.int64, gives="float32", **halved)
    unequal = _ml("Scaler", [[3, 5]], offset=[1.0], scale=[0.5, 0.5])
    regressed = _ml("LinearRegressor", [[1, 2]], coefficients=[3.0, 4.0], intercepts=[0.5])
    several = _with(regressed, intercepts=[0.5, 7.0])
    no_intercepts = _ml("LinearRegressor", [[1, 2]], coefficients=[3.0, 4.0])
    # Scores of 1 + 4 + 0.5 and 3 + 2: the first label.
    classified = _ml(
        "LinearClassifier",
        [[1, 2]],
        gives="int64",
        after=1,
        classlabels_ints=[7, 9],
        coefficients=[1.0, 2.0, 3.0, 1.0],
        intercepts=[0.5, 0.0],
    )
    attrs = {k: v for k, v in classified.attrs.items() if k != "intercepts"}
    bare = replace(classified, attrs=attrs)
    named = replace(
        classified,
        gives="object",
        attrs={
            "classlabels_strings": ["a", "b"],
            "coefficients": [1.0, 2.0, 3.0, 1.0],
            "intercepts": [0.5, 0.0],
        },
    )
    row = replace(classified, x=_f([1, 2]))
    for engine, cause, model, wants, shows, why, control, right in (
        (
            "onnxruntime",
            "LinearClassifier refuses a node",
            bare,
            [7],
            Raises("must not be empty"),
            "intercepts are optional",
            classified,
            [7],
        ),
        (
            "onnxruntime",
            "LinearRegressor and LinearClassifier take another",
            several,
            None,
            Gives([[11]]),
            "“must match the number of targets”",
            regressed,
            [[11.5]],
        ),
        (
            "reference",
            "Without intercepts, LinearRegressor and",
            no_intercepts,
            [[11]],
            Gives([[nan]]),
            "1 · 3 + 2 · 4, and intercepts are optional",
            regressed,
            [[11.5]],
        ),
        (
            "reference",
            "LinearClassifier refuses a vector",
            row,
            [7],
            Raises("out of range"),
            "[C] “will be treated as [1,C]”",
            classified,
            [7],
        ),
        (
            "tract",
            "LinearClassifier refuses labels",
            named,
            ["a"],
            Raises("num_traits::Zero"),
            "5.5 > 5",
            classified,
            [7],
        ),
        (
            "tract",
            "LinearClassifier refuses a vector",
            row,
            [7],
            Raises("Output mismatch"),
            "[C] “will be treated as [1,C]”",
            classified,
            [7],
        ),
        (
            "tract",
            "LinearRegressor and LinearClassifier take",
            _with(regressed, coefficients=[3.0, 4.0, 5.0]),
            None,
            Gives([[11.5]]),
            "a coefficient for each of two features",
            regressed,
            [[11.5]],
        ),
        (
            "onnxruntime",
            "Binarizer refuses NaN",
            above,
            [0, 1, 0],
            Raises("is NaN"),
            "NaN is not greater than 2",
            replace(above, x=_f([4, 3, 1])),
            [1, 1, 0],
        ),
        (
            "onnxruntime",
            "FeatureVectorizer kills",
            hollow,
            np.zeros((0, 3)),
            Dies("terminate called"),
            "no rows beside no rows are none",
            joined,
            [[1, 2, 3]],
        ),
        (
            "onnxruntime",
            "FeatureVectorizer refuses a node",
            unsized,
            [[1, 2, 3]],
            Raises("inputdimensions"),
            "inputdimensions is optional",
            joined,
            [[1, 2, 3]],
        ),
        (
            "onnxruntime",
            "FeatureVectorizer takes inputs",
            deep,
            None,
            Gives([[1, 2]]),
            "“All input shapes are 2-D”",
            joined,
            [[1, 2, 3]],
        ),
        (
            "onnxruntime",
            "Imputer takes another",
            few,
            None,
            Gives([[5, 1, 2]]),
            "“the length of the attribute array may be 1 or F”, and F is 3",
            filled,
            [[5, 1]],
        ),
        (
            "onnxruntime",
            "LabelEncoder-2 never",
            found,
            [5, 6],
            Gives([-1, 6]),
            "“even a float NaN can be mapped to a value”",
            replace(zero, x=_f([2, 1])),
            [-1, 6],
        ),
        (
            "onnxruntime",
            "LabelEncoder-2 takes zeros",
            zero,
            [-1, 6],
            Gives([5, 6]),
            "“bit-wise comparison is used”, and the sign is a bit",
            replace(zero, x=_f([2, 1])),
            [-1, 6],
        ),
        (
            "onnxruntime",
            "LabelEncoder-4 takes the first",
            last,
            [7, 6],
            Gives([5, 6]),
            "“If a key is repeated, the last key takes precedence.”",
            replace(last, x=np.array([2])),
            [6],
        ),
        (
            "onnxruntime",
            "Normalizer squares",
            squared,
            [[0.6, 0.8]],
            Leftovers((1, 2)),
            "21² + 28² = 35²",
            replace(squared, x=np.array([[3, 4]], np.int32)),
            [[0.6, 0.8]],
        ),
        (
            "tract",
            "ArrayFeatureExtractor and Normalizer take",
            replace(picked, x=np.array([[5, 6]], np.int8)),
            None,
            Gives([[6]]),
            "T is float, double, int64, int32 or string",
            picked,
            [[6]],
        ),
        (
            "tract",
            "ArrayFeatureExtractor aborts",
            replace(picked, more=(np.array([2]),)),
            None,
            Dies("panicked"),
            "the indices of two features are 0 and 1",
            picked,
            [[6]],
        ),
        (
            "tract",
            "Normalizer aborts",
            _ml("Normalizer", np.ones((2, 0)), norm="L1"),
            np.ones((2, 0)),
            Dies("panicked"),
            "there is nothing to divide",
            halves,
            [[0.5, 1]],
        ),
        (
            "tract",
            "Normalizer divides by",
            _ml("Normalizer", [[1e-20, 3e-20]], norm="L1"),
            [[0.25, 0.75]],
            Gives([[1e-8, 3e-8]]),
            "10⁻²⁰ of 4 · 10⁻²⁰ is a quarter",
            _ml("Normalizer", [[1, 3]], norm="L1"),
            [[0.25, 0.75]],
        ),
        (
            "tract",
            "Normalizer takes norms",
            _with(halves, norm="max"),
            None,
            Gives([[0.5, 1]]),
            "“One of 'MAX,' 'L1,' 'L2'”",
            halves,
            [[0.5, 1]],
        ),
        (
            "openvino",
            "Normalizer of float64",
            _ml("Normalizer", [[1, inf]], np.float64, norm="L1", gives="float32"),
            [[0, nan]],
            Leftovers((1, 2)),
            "∞ of ∞ is NaN",
            halves,
            [[0.5, 1]],
        ),
        (
            "openvino",
            "Normalizer takes three",
            replace(halves, x=_f([[[2, 4]]])),
            None,
            Gives([[[0.5, 1]]]),
            "“a tensor of shape [N,C] or [C]”",
            halves,
            [[0.5, 1]],
        ),
        (
            "reference",
            "FeatureVectorizer, Normalizer and Scaler",
            scaled,
            [[1]],
            Gives([[1]], "int64"),
            "(3 - 1) · 0.5, and Y is a tensor(float)",
            _ml("Scaler", [[3]], **halved),
            [[1]],
        ),
        (
            "reference",
            "FeatureVectorizer takes a vector",
            vector,
            [[1, 2, 3]],
            Leftovers((3, 3)),
            "“1-D tensors are treated as [1,C].”",
            joined,
            [[1, 2, 3]],
        ),
        (
            "reference",
            "FeatureVectorizer refuses a node",
            unsized,
            [[1, 2, 3]],
            Raises("inputdimensions"),
            "inputdimensions is optional",
            joined,
            [[1, 2, 3]],
        ),
        (
            "reference",
            "Imputer refuses vectors",
            replace(filled, x=_f([0, 1])),
            [5, 1],
            Raises("Issues with types"),
            "the type is “either [N,C] or [C]”",
            filled,
            [[5, 1]],
        ),
        (
            "reference",
            "LabelEncoder-1 is computed",
            places,
            [1],
            Raises("Issues with types"),
            "b is the second of the classes",
            later,
            [1],
        ),
        (
            "reference",
            "LabelEncoder-4 refuses values_tensor",
            tensors,
            [5],
            Raises("Issues with types"),
            "5 is the value of 3, and default_tensor is optional",
            stated,
            [5],
        ),
        (
            "reference",
            "LabelEncoder compares keys",
            found,
            [5, 6],
            Gives([-1, 6]),
            "“even a float NaN can be mapped to a value”",
            replace(zero, x=_f([2, 1])),
            [-1, 6],
        ),
        (
            "reference",
            "Normalizer refuses vectors",
            replace(halves, x=_f([2, 4])),
            [0.5, 1],
            Raises("out of bounds"),
            "“a tensor of shape [N,C] or [C]”",
            halves,
            [[0.5, 1]],
        ),
        (
            "reference",
            "Normalizer refuses tensors",
            replace(halves, x=np.zeros((0, 2), np.float32)),
            np.zeros((0, 2)),
            Raises("cannot reshape"),
            "no rows are none",
            halves,
            [[0.5, 1]],
        ),
        (
            "reference",
            "Normalizer refuses integers",
            squared,
            [[0.6, 0.8]],
            Raises("Issues with types"),
            "21² + 28² = 35²",
            _ml("Normalizer", [[3, 4]], norm="L2"),
            [[0.6, 0.8]],
        ),
        (
            "reference",
            "OneHotEncoder finds no category",
            third,
            [[1, 0]],
            Gives([[0, 0]]),
            "“the data will be cast to integers”, and 1.75 is 1 or 2",
            replace(third, x=_f([1])),
            [[1, 0]],
        ),
        (
            "reference",
            "Binarizer compares",
            beyond,
            [1],
            Gives([0]),
            "2⁵³ + 1 > 2⁵³",
            replace(beyond, x=np.array([2**53 + 2])),
            [1],
        ),
        (
            "reference",
            "Operators of ai.onnx.ml do not",
            unequal,
            None,
            Gives([[1, 2]]),
            "“Must be same length as 'offset'”",
            _with(unequal, scale=[0.5]),
            [[1, 2]],
        ),
    ):
        wanted = [] if wants is None else [wants]
        yield Check(engine, cause, model, wanted, shows, why, control, right)


def trees() -> Iterator[Check]:
    """On ensembles of trees: one asks if a feature is at most 2, unless stated otherwise."""
    nodes: dict[str, Any] = {
        "nodes_treeids": [0] * 3,
        "nodes_nodeids": [0, 1, 2],
        "nodes_featureids": [0] * 3,
        "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"],
        "nodes_values": [2.0, 0.0, 0.0],
        "nodes_truenodeids": [1, 0, 0],
        "nodes_falsenodeids": [2, 0, 0],
    }
    unequal = {
        "nodes_modes": ["BRANCH_NEQ", "LEAF", "LEAF"],
        "nodes_missing_value_tracks_true": [0] * 3,
    }
    votes: dict[str, Any] = {
        "target_treeids": [0, 0],
        "target_nodeids": [1, 2],
        "target_ids": [0, 0],
        "target_weights": [10.0, 20.0],
        "n_targets": 1,
    }
    regressed = _ml("TreeEnsembleRegressor", [[2], [3]], at=3, **nodes, **votes)
    three = {
        "target_treeids": [0] * 3,
        "target_nodeids": [1, 2, 1],
        "target_ids": [0] * 3,
        "target_weights": [10.0, 20.0, -3.0],
    }
    both = _with(regressed, n_targets=2, target_ids=[0, 1])
    wide = {"nodes_treeids": [2**32] * 3, "target_treeids": [2**32] * 2}
    late = {"nodes_nodeids": [0, 2, 1]}
    few = {"nodes_hitrates": [1.0]}
    inner = {"target_nodeids": [1, 0]}
    member = {"nodes_modes": ["BRANCH_MEMBER", "LEAF", "LEAF"]}
    tensor = replace(regressed, x=np.array([[2.0], [3.0]]), gives="float32")
    values = {k: v for k, v in nodes.items() if k != "nodes_values"}
    double = replace(
        tensor, attrs={**values, **votes, "nodes_values_as_tensor": np.array([2.0, 0, 0])}
    )
    classes: dict[str, Any] = {
        "class_treeids": [0] * 3,
        "class_nodeids": [1, 2, 2],
        "class_ids": [0, 1, 2],
        "class_weights": [10.0, 20.0, 5.0],
        "classlabels_int64s": [5, 6, 7],
    }
    classified = _ml(
        "TreeEnsembleClassifier", [[2], [3]], at=3, gives="int64", after=1, **nodes, **classes
    )
    two = _with(
        classified, classlabels_int64s=[5, 6], class_ids=[0, 1, 0], class_weights=[10.0, 20.0, 25.0]
    )
    texts = {k: v for k, v in classified.attrs.items() if k != "classlabels_int64s"}
    named = replace(
        classified, gives="object", attrs={**texts, "classlabels_strings": ["a", "b", "c"]}
    )
    nul = _with(named, classlabels_strings=["a\0", "b", "c"])
    node: dict[str, Any] = {
        "tree_roots": [0],
        "nodes_featureids": [0],
        "nodes_modes": np.array([0], np.uint8),
        "nodes_splits": _f([2]),
        "nodes_truenodeids": [0],
        "nodes_trueleafs": [1],
        "nodes_falsenodeids": [1],
        "nodes_falseleafs": [1],
        "leaf_targetids": [0, 1],
        "leaf_weights": _f([np.log(3), 2]),
        "n_targets": 2,
    }
    ensemble = _ml("TreeEnsemble", [[2]], at=5, **node)
    raw, shares = [[np.log(3), 0]], [[0.75, 0.25]]
    one = _with(ensemble, n_targets=1, leaf_targetids=[0, 0])
    half = _ml(
        "TreeEnsemble",
        [[2]],
        np.float16,
        5,
        **{
            k: v.astype(np.float16) if getattr(v, "dtype", None) == np.float32 else v
            for k, v in node.items()
        },
    )
    missing = replace(_with(ensemble, nodes_modes=np.array([5], np.uint8)), x=_f([[nan]]))
    whole = _with(
        ensemble,
        tree_roots=[1],
        nodes_featureids=[0, 0],
        nodes_modes=np.zeros(2, np.uint8),
        nodes_splits=_f([2, 0]),
        nodes_truenodeids=[0, 0],
        nodes_trueleafs=[1, 1],
        nodes_falsenodeids=[1, 0],
        nodes_falseleafs=[1, 1],
    )
    sets = _with(ensemble, nodes_modes=np.array([6], np.uint8))
    zero = replace(_with(sets, membership_values=_f([0, 2, nan])), x=_f([[2]]))
    lacking: list[list[float]] = [[nan], [2]]
    tracks, below = "“use the … 'false' (if the attribute value is 0) branch”", [[20], [20]]
    right, votes_of = [[10], [20]], "“A leaf may have multiple votes”"
    for engine, cause, model, wants, shows, why, control, answer in (
        (
            "onnxruntime",
            "TreeEnsemble, TreeEnsembleClassifier and TreeEnsembleRegressor follow",
            replace(_with(regressed, **unequal), x=_f(lacking)),
            below,
            Gives(right),
            tracks,
            replace(_with(regressed, **unequal), x=_f([[3], [2]])),
            right,
        ),
        (
            "onnxruntime",
            "TreeEnsemble takes SOFTMAX",
            _with(ensemble, post_transform=1),
            shares,
            Gives([[0.75, 0.5]]),
            "“'SOFTMAX' (1), 'LOGISTIC' (2)”",
            ensemble,
            raw,
        ),
        (
            "onnxruntime",
            "TreeEnsemble and TreeEnsembleRegressor of one",
            _with(one, post_transform=2),
            [[0.75]],
            Gives([[np.log(3)]]),
            "1 / (1 + 1/3)",
            one,
            [[np.log(3)]],
        ),
        (
            "onnxruntime",
            "TreeEnsemble of float16",
            half,
            raw,
            Raises("must have same type"),
            "float16 is in T",
            ensemble,
            raw,
        ),
        (
            "onnxruntime",
            "TreeEnsembleClassifier with votes",
            two,
            [5, 5],
            Gives([1, 1]),
            "10 > 0, 25 > 20, and 1 is no label",
            classified,
            [5, 6],
        ),
        (
            "onnxruntime",
            "TreeEnsembleRegressor leaves out",
            _with(both, base_values=[1.0, 2.0]),
            [[11, 2], [1, 22]],
            Gives([[11, 0], [0, 22]]),
            "base values are “added to final prediction”",
            both,
            [[10, 0], [0, 20]],
        ),
        (
            "onnxruntime",
            "TreeEnsembleRegressor of one target",
            _with(regressed, **three),
            [[7], [20]],
            Gives(right),
            votes_of,
            regressed,
            right,
        ),
        (
            "onnxruntime",
            "TreeEnsembleClassifier and TreeEnsembleRegressor cut",
            _with(regressed, **wide),
            right,
            Raises("Unable to find node"),
            "INTS have 64 bits",
            regressed,
            right,
        ),
        (
            "onnxruntime",
            "TreeEnsembleRegressor takes ids",
            _with(regressed, **late),
            None,
            Gives(right),
            "“Node ids must restart at zero for each tree and increase sequentially.”",
            regressed,
            right,
        ),
        (
            "onnxruntime",
            "TreeEnsembleClassifier and TreeEnsembleRegressor take other",
            _with(regressed, **few),
            None,
            Gives(right),
            "nodes_* are “the same length”",
            regressed,
            right,
        ),
        (
            "onnxruntime",
            "TreeEnsembleClassifier and TreeEnsembleRegressor ignore",
            _with(regressed, **inner),
            None,
            Gives([[10], [0]]),
            "target_* are “votes at the leaves”",
            regressed,
            right,
        ),
        (
            "onnxruntime",
            "TreeEnsemble takes a mode 7",
            _with(regressed, **member),
            None,
            Leftovers((2, 1)),
            "“Mode enum is BRANCH_LEQ, … LEAF”",
            regressed,
            right,
        ),
        (
            "reference",
            "TreeEnsembleRegressor computes",
            replace(_with(regressed, base_values=[0.5]), x=np.array([[2], [3]]), gives="float32"),
            [[10.5], [20.5]],
            Raises("Issues with types"),
            "10 + 0.5",
            _with(regressed, base_values=[0.5]),
            [[10.5], [20.5]],
        ),
        (
            "reference",
            "TreeEnsembleClassifier and TreeEnsembleRegressor refuse",
            replace(regressed, x=_f(lacking)),
            [[20], [10]],
            Raises("Issues with types"),
            "“the default value is false (0) for all nodes”",
            regressed,
            right,
        ),
        (
            "reference",
            "TreeEnsembleClassifier-3 and TreeEnsembleRegressor-3 never",
            double,
            right,
            Raises("Issues with types"),
            "tensors “can be used instead”",
            regressed,
            right,
        ),
        (
            "reference",
            "TreeEnsembleClassifier loses NUL",
            nul,
            ["a\0", "b"],
            Gives(["a", "b"]),
            "the first label is a, NUL",
            named,
            ["a", "b"],
        ),
        (
            "reference",
            "TreeEnsemble ignores",
            _with(ensemble, post_transform=1),
            shares,
            Gives(raw),
            "3 / (3 + 1)",
            ensemble,
            raw,
        ),
        ("reference", "TreeEnsemble follows", missing, [[0, 2]], Gives(raw), tracks, ensemble, raw),
        (
            "reference",
            "TreeEnsemble gives a tree",
            whole,
            raw,
            Gives([[0, 2]]),
            "both branches of the second node are leaf 0",
            ensemble,
            raw,
        ),
        (
            "reference",
            "TreeEnsemble gives sets",
            zero,
            raw,
            Gives([[0, 2]]),
            "2 is in {0, 2}",
            replace(zero, attrs={**zero.attrs, "membership_values": _f([1, 2, nan])}),
            raw,
        ),
        (
            "reference",
            "TreeEnsemble refuses no rows",
            replace(ensemble, x=np.zeros((0, 1), np.float32)),
            np.zeros((0, 2)),
            Raises("any iteration dimensions"),
            "no rows have no scores",
            ensemble,
            raw,
        ),
        (
            "tract",
            "TreeEnsembleClassifier takes every",
            replace(
                _with(classified, nodes_modes=["BRANCH_GTE", "LEAF", "LEAF"]), x=_f([[1], [3]])
            ),
            [6, 5],
            Gives([5, 5]),
            "1 < 2",
            classified,
            [5, 6],
        ),
        (
            "tract",
            "TreeEnsembleClassifier refuses trees",
            _with(classified, nodes_treeids=[7] * 3, class_treeids=[7] * 3),
            [5, 6],
            Raises("expected tree ids"),
            "the tree's id is 7",
            classified,
            [5, 6],
        ),
        (
            "tract",
            "TreeEnsembleClassifier aborts",
            _with(
                classified,
                nodes_nodeids=[3, 4, 5],
                nodes_truenodeids=[4, 0, 0],
                nodes_falsenodeids=[5, 0, 0],
                class_nodeids=[4, 5, 5],
            ),
            [5, 6],
            Dies("panicked"),
            "“Ids may restart at zero for each tree, but it not required to.”",
            classified,
            [5, 6],
        ),
        (
            "tract",
            "TreeEnsembleClassifier refuses labels",
            named,
            ["a", "b"],
            Raises("num_traits::Zero"),
            "10 > 0, and 20 is the largest",
            classified,
            [5, 6],
        ),
        (
            "tract",
            "TreeEnsembleClassifier-3 does not know",
            replace(
                classified,
                x=np.array([[2.0], [3.0]]),
                attrs={
                    **{k: v for k, v in classified.attrs.items() if k != "nodes_values"},
                    "nodes_values_as_tensor": np.array([2.0, 0, 0]),
                },
            ),
            [5, 6],
            Raises("expected attribute"),
            "tensors “can be used instead”",
            classified,
            [5, 6],
        ),
        (
            "tract",
            "TreeEnsembleClassifier gives the first",
            _with(classified, base_values=[-inf, -inf, float(np.finfo(np.float32).min)]),
            [7, 7],
            Gives([5, 5]),
            "any number is above -∞",
            classified,
            [5, 6],
        ),
        (
            "tract",
            "TreeEnsembleClassifier takes votes",
            _with(classified, nodes_hitrates=[1.0]),
            None,
            Gives([5, 6]),
            "nodes_* “must all be of equal length”",
            classified,
            [5, 6],
        ),
    ):
        wanted = [] if wants is None else [wants]
        yield Check(engine, cause, model, wanted, shows, why, control, answer)


def steps() -> Iterator[Check]:
    """On operators of ai.onnx.preview.training: R and T, a tensor, its gradient, and averages."""

    def step(op: str, *given: Any, dtype: Any = np.float32, after: int = 1, **attrs: Any) -> Model:
        r, t, *tensors = given
        more = (np.array(t), *(np.array([one], dtype) for one in tensors))
        domain = "ai.onnx.preview.training"
        return Model(op, 1, attrs, np.array(r, dtype), more=more, after=after, domain=domain)

    halves = {"alpha": 0.5, "beta": 0.75, "epsilon": 0.0}
    factors = {"alpha": 0.5, "beta": 0.25, "norm_coefficient": 0.0}
    standard: dict[str, Any] = {**factors, "mode": "standard"}
    begun = step("Adam", 2, 0, 1, 4, 8, 16, after=2, **halves)
    later = step("Adam", 2, 1, 1, 4, 8, 16, after=2, **halves)
    few = step("Adam", 2, 0, 1, 4, 8, 16, 5, -8, 0, after=2, **halves)
    double = step("Adam", 2, 0, 1, 4, 8, 16, dtype=np.float64, after=2, **halves)
    two = step("Adam", 2, 0, 1, 5, 4, -8, 8, 0, 16, 0, dtype=np.float64, after=5, **halves)
    moved = step("Adagrad", 2, 0, 1, 2, 12, epsilon=0.0)
    sent = step("Momentum", 1, 1, 1, 4, 6, **standard)
    whole = step("Momentum", 1, 1, 1, 4, 6, dtype=np.int64, **standard)
    for cause, model, wants, shows, why, control, right in (
        (
            "Where T is above 0, Adam",
            later,
            [-2],
            Gives([-2], "float64"),
            "1 - 2 · √(1 - 0.75) / (1 - 0.5) · 6 / √16, and the “new value of X” is of X's type",
            begun,
            [-2],
        ),
        (
            "Adam of several tensors",
            two,
            [-2],
            Gives([-2], "float32"),
            "1 - 2 · 6 / √16, and the “new value of X_1” is of X_1's type",
            double,
            [-2],
        ),
        (
            "Adagrad, Adam and Momentum leave out",
            few,
            None,
            Gives([-2]),
            "four tensors are needed for each that is optimized, and seven are given",
            begun,
            [-2],
        ),
        (
            "The type constraint",
            whole,
            None,
            Gives([-3], "float64"),
            "T1 and T3 are float and double",
            sent,
            [-3],
        ),
        (
            "Types of attributes",
            _with(moved, epsilon=0),
            None,
            Gives([0]),
            "epsilon is a FLOAT",
            moved,
            [0],
        ),
    ):
        wanted = [] if wants is None else [wants]
        yield Check("reference", cause, model, wanted, shows, why, control, right)


CHECKS: tuple[Check, ...] = (
    *onnxruntime(),
    *reference(),
    *openvino(),
    *tract(),
    *torch(),
    *attention(),
    *windows(),
    *affine_grids(),
    *boxes(),
    *layers(),
    *gates(),
    *transforms(),
    *dequantized(),
    *quantized(),
    *products_of_few_bits(),
    *aligned_regions(),
    *sequences(),
    *grids(),
    *draws(),
    *bands(),
    *images(),
    *dropped(),
    *optionals(),
    *flows(),
    *mappings(),
    *trees(),
    *steps(),
)
