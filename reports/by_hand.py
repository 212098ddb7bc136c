"""Small models whose answers are worked out by hand, one for each defect that is published.

Nothing here comes from opcheck: attributes and data stand as they go into the model, and `why` is
the arithmetic, or the sentence of the specification that forbids the model.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf, nan
from typing import Any

import numpy as np
import numpy.typing as npt

_LOWEST = -3.4028234663852886e38


@dataclass(frozen=True)
class Check:
    """A model of one node, what must come of it, and the defect that it shows.

    `cause` is how the ledger's sentence on the defect begins. `wants` are the right answers; where
    there is none, the model must be refused. A right answer lies within `rtol`. `constant`: the
    tensor is an initializer of the model, in bfloat16. `declared`: the session has to declare the
    shape that it returns.
    """

    engine: str
    cause: str
    op: str
    opset: int
    attrs: dict[str, Any]
    x: npt.NDArray[Any]
    wants: Sequence[npt.ArrayLike]
    why: str
    rtol: float = 1e-3
    constant: bool = False
    declared: bool = False


def _x(*values: Any, dtype: Any = np.float32) -> npt.NDArray[Any]:
    """Values as a tensor of one image with one channel, in one dimension."""
    return np.array([[values]], dtype)


def _pool(*values: float) -> npt.NDArray[Any]:
    return np.array([[values]])


_POWERS = [2.0**n for n in range(11)]
_SIX = _x(1, 2, 4, 8, 16, 32)


def _rescaled(engine: str) -> Check:
    norms = _pool(14**0.5, 50**0.5, 61**0.5)
    attrs = {"kernel_shape": [3], "strides": [2], "ceil_mode": 1}
    why = "the windows are [1, 2, 3], [3, 4, 5] and [5, 6]; the last has √(25 + 36) = 7.81"
    return Check(
        engine, "The norm is computed as", "LpPool", 18, attrs, _x(*range(1, 7)), [norms], why
    )


def _beyond(engine: str) -> Check:
    """A padding that is computed as below 0, and must be 0."""
    attrs = {"kernel_shape": [2], "strides": [6], "auto_pad": "SAME_LOWER", "p": 1}
    why = (
        "⌈11 / 6⌉ = 2 windows need 6 + 2 = 8 of 11 elements, so no padding: "
        "1 + 2 = 3, 64 + 128 = 192"
    )
    return Check(
        engine,
        "The padding of SAME_UPPER and SAME_LOWER is not clamped",
        "LpPool",
        18,
        attrs,
        _x(*_POWERS),
        [_pool(3, 192)],
        why,
    )


def _dilated(engine: str) -> Check:
    attrs = {"kernel_shape": [2], "dilations": [3], "auto_pad": "SAME_UPPER", "p": 1}
    why = (
        "5 windows span 4 elements each, so 3 are padded, 1 of them before: "
        "x[i - 1] + x[i + 2] are 4, 1 + 8, 2 + 16, 4 and 8"
    )
    return Check(
        engine,
        "SAME_UPPER and SAME_LOWER pad for",
        "LpPool",
        18,
        attrs,
        _x(1, 2, 4, 8, 16),
        [_pool(4, 9, 18, 4, 8)],
        why,
    )


def _coerced(engine: str, cause: str, op: str, x: list[Any], want: list[Any], why: str) -> Check:
    return Check(engine, cause, op, 11, {"axis": 1}, np.array(x, np.float32), [want], why)


def onnxruntime() -> Iterator[Check]:
    """On ONNX Runtime's CPU provider."""
    one = np.array([[1, 3, 2]], np.float16)
    why = "3 is the maximum, and Hardmax-1 takes float16"
    yield Check(
        "onnxruntime", "A float16 model", "Hardmax", 1, {"axis": 1}, one, [[[0, 1, 0]]], why
    )
    row = np.array([[3, nan, 0, 5]], np.float32)
    wants = [[[0, 1, 0, 0]], [[0, 0, 0, 1]], [[0, 0, 0, 0]]]
    why = "the one belongs to NaN, to the maximum of the others or to nobody, but never to 3"
    yield Check(
        "onnxruntime", "The vectorised maximum", "Hardmax", 13, {"axis": 1}, row, wants, why
    )
    ties = np.array([[3, 3, 1], [3, 0, 3]], np.float32)
    why = "“Accepted range is [-r, r-1]”, and an axis has 64 bits"
    axis = {"axis": (1 << 32) + 1}
    yield Check("onnxruntime", "The range of axis", "Hardmax", 13, axis, ties, [], why)
    yield _beyond("onnxruntime")
    yield _dilated("onnxruntime")
    why = "the size is ⌊(3 - 6) / 2⌋ + 1 = -1, which no tensor has"
    attrs: dict[str, Any] = {"kernel_shape": [6], "strides": [2]}
    yield Check("onnxruntime", "An output size below 0", "LpPool", 18, attrs, _x(1, 2, 4), [], why)
    attrs = {"kernel_shape": [2], "strides": [3], "auto_pad": "SAME_UPPER", "ceil_mode": 1, "p": 1}
    why = "what is declared and what is returned are one output; ⌈6 / 3⌉ = 2"
    cause, want = "In version 18 a session declares", [_pool(3, 24)]
    yield Check("onnxruntime", cause, "LpPool", 18, attrs, _SIX, want, why, declared=True)


def reference() -> Iterator[Check]:
    """On onnx.reference."""
    why = "with axis 1 the input is coerced to one row of 4 elements, whose maximum is 4"
    yield _coerced(
        "reference",
        "Versions 1 and 11",
        "Hardmax",
        [[[1, 2], [4, 3]]],
        [[[0, 0], [1, 0]]],
        why,
    )
    vector = np.array([1, 4, 2], np.float32)
    for cause, opset, axis, x, why in (
        ("The range of axis", 13, {"axis": 2}, np.zeros((0, 3), np.float32), "axes are -2 to 1"),
        ("Version 11's default axis", 11, {}, vector, "the default is 1; a vector has -1 and 0"),
    ):
        yield Check("reference", cause, "Hardmax", opset, axis, x, [], why)
    third = {"kernel_shape": [2], "p": 3.0}
    x = _x(1, 2, dtype=np.float64)
    why = "1 + 2³ = 9, whose third root is 2.0800838230519041"
    yield Check(
        "reference",
        "Version 1's exponent",
        "LpPool",
        1,
        third,
        x,
        [_pool(2.0800838230519041)],
        why,
        1e-12,
    )
    yield _beyond("reference")
    yield _dilated("reference")
    attrs: dict[str, Any] = {"kernel_shape": [2], "dilations": [3], "strides": [2], "p": 1}
    why = "windows span 4 of 6 elements, so there are 2: 1 + 8 and 4 + 32"
    valid = {**attrs, "auto_pad": "VALID"}
    yield Check("reference", "VALID's output size", "LpPool", 18, valid, _SIX, [_pool(9, 36)], why)
    yield _rescaled("reference")
    attrs = {"kernel_shape": [4], "strides": [5], "ceil_mode": 1, "p": 1}
    why = "the windows are [1, 2, 4, 8] and [32]"
    yield Check(
        "reference", "Under ceil_mode a last", "LpPool", 18, attrs, _SIX, [_pool(15, 32)], why
    )
    five = _x(1, 2, 4, 8, 16)
    why = "a window with a NaN has no other sum than NaN"
    two = {"kernel_shape": [2]}
    x = _x(1, nan, 3)
    yield Check("reference", "NaN is taken for", "LpPool", 18, two, x, [_pool(nan, nan)], why)
    why = "√(300² + 400²) = 500, which float16 has"
    x = _x(300, 400, dtype=np.float16)
    yield Check("reference", "The powers of float16", "LpPool", 18, two, x, [_pool(500)], why)
    image = np.ones((1, 1, 2, 3), np.float32)
    for cause, attrs, x, why in (
        ("Lengths are not", {"kernel_shape": [2, 2, 2]}, image, "an image has two spatial axes"),
        ("A kernel size below 1", {"kernel_shape": [-1]}, five, "a window has no -1 elements"),
        ("A tensor without", two, image[0, 0], "it has to be (N x C x D1 x …)"),
        (
            "An auto_pad that",
            {**two, "auto_pad": "same_upper"},
            five,
            "“auto_pad must be either NOTSET, SAME_UPPER, SAME_LOWER or VALID”",
        ),
    ):
        yield Check("reference", cause, "LpPool", 18, attrs, x, [], why)


def openvino() -> Iterator[Check]:
    """On OpenVINO's CPU device."""
    x: npt.NDArray[Any] = np.zeros((1, 64), np.float32)
    x[0, [15, 32]] = 1
    want = np.zeros_like(x)
    want[0, 15] = 1
    why = "15 is the first of two equal maxima"
    last = {"axis": 1}
    yield Check("openvino", "Hardmax does not keep", "Hardmax", 13, last, x, [want], why)
    empty = np.zeros((2, 0), np.float32)
    why = "the output has the shape of the input, which has no elements"
    first = {"axis": 0}
    yield Check("openvino", "Hardmax along an axis", "Hardmax", 13, first, empty, [empty], why)
    quarter = [[[0.25, 0.25], [0.25, 0.25]]]
    zeros = [[[0, 0], [0, 0]]]
    told = "with axis 1 the input is coerced to one row of 4 equal elements"
    yield _coerced("openvino", "Softmax-11 is", "Softmax", zeros, quarter, told)
    x = np.array([[1, nan, 3]], np.float32)
    nans = [[nan, nan, nan]]
    told = "the sum that divides all of them is NaN"
    yield Check("openvino", "A NaN makes its own", "Softmax", 13, last, x, [nans], told)
    for cause, axis, shape in (("Softmax-1 of a", 0, (0, 3)), ("Softmax-1 refuses", 1, (2, 3, 0))):
        x = np.zeros(shape, np.float32)
        yield Check("openvino", cause, "Softmax", 1, {"axis": axis}, x, [x], why)
    x = np.zeros((1, 3))
    thirds = [[1 / 3, 1 / 3, 1 / 3]]
    told = "three equal elements have a third each, in float64 to 16 digits"
    yield Check("openvino", "float64 is", "Softmax", 13, last, x, [thirds], told, 1e-12)
    yield _rescaled("openvino")
    attrs: dict[str, Any] = {"kernel_shape": [7], "strides": [2], "ceil_mode": 1, "p": 1}
    told = "⌈(6 - 7) / 2⌉ + 1 = 1 window, of all 6 elements: 63"
    yield Check("openvino", "Under ceil_mode, a", "LpPool", 18, attrs, _SIX, [_pool(63)], told)
    two = {"kernel_shape": [2]}
    x = np.zeros((0, 1, 3), np.float32)
    told = "no images of 3 elements give no images of 2"
    yield Check("openvino", "LpPool refuses an", "LpPool", 18, two, x, [x[..., :2]], told)
    x = np.zeros((1, 3, 0, 4), np.float32)
    told = "each channel has 1 × 5 windows, of zeros that are padding"
    padded = {"kernel_shape": [2, 2], "pads": [1, 1, 1, 1]}
    want = np.zeros((1, 3, 1, 5))
    yield Check("openvino", "Where all that", "LpPool", 18, padded, x, [want], told)
    image = np.ones((1, 1, 2, 3), np.float32)
    square = {"kernel_shape": [2, 2]}
    for cause, attrs, x, told in (
        (
            "A negative pad",
            {**two, "pads": [1, -1]},
            _SIX,
            "a pad has to be “greater than or equal to 0”",
        ),
        ("Half as many", {**square, "pads": [1, 1]}, image, "two axes have four ends"),
        ("Dilations that are", {**square, "dilations": [1]}, image, "two axes, one dilation"),
    ):
        yield Check("openvino", cause, "LpPool", 18, attrs, x, [], told)
    told = "√(3² + 4²) = 5"
    yield Check(
        "openvino",
        "LpPool of a constant",
        "LpPool",
        22,
        two,
        _x(3, 4),
        [_pool(5)],
        told,
        constant=True,
    )


def tract() -> Iterator[Check]:
    """On tract."""
    why = "the output has the shape of the input, which has no elements"
    last = {"axis": 1}
    empty = np.zeros((2, 0), np.float32)
    yield Check(
        "tract", "Hardmax aborts the process where there", "Hardmax", 13, last, empty, [empty], why
    )
    wide = empty.astype(np.float64)
    yield Check("tract", "Softmax aborts", "Softmax", 13, last, wide, [wide], why)
    vector = np.array([1, 4, 2], np.float32)
    why = "a vector has the axes -1 and 0; a model that is wrong ends in an error, not in an abort"
    yield Check(
        "tract", "Hardmax aborts the process where axis", "Hardmax", 13, last, vector, [], why
    )
    for cause, op, opset in (
        ("Hardmax before version 13", "Hardmax", 11),
        ("The range of axis", "Softmax", 13),
    ):
        yield Check("tract", cause, op, opset, last, vector, [], "a vector has the axes -1 and 0")
    x = np.array([[-inf, _LOWEST]], np.float32)
    why = "every number is greater than -inf"
    yield Check("tract", "The search for a maximum", "Hardmax", 13, last, x, [[[0, 1]]], why)


CHECKS: tuple[Check, ...] = (*onnxruntime(), *reference(), *openvino(), *tract())
