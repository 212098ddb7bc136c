"""Operators that compute each element by itself, in Python's own numbers."""

import math
import struct
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from onnx import helper

from benchmarks.oracles import (
    ORACLES,
    Array,
    Random,
    Sample,
    chance,
    normal,
    one_of,
    oracle,
    shape,
    whole,
)

Scalar = Callable[..., Any]


def each(function: Scalar, *operands: Array, dtype: Any = np.float64) -> Array:
    """The function of each element of the operands, which are broadcast."""
    spread = np.broadcast_arrays(*operands)
    found = [
        function(*(x.item() for x in group))
        for group in zip(*(a.flat for a in spread), strict=True)
    ]
    return np.array(found, dtype).reshape(spread[0].shape)


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))


def softplus(x: float) -> float:
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))


def normal_share(x: float) -> float:
    """The share of a normal distribution below x."""
    return (1 + math.erf(x / math.sqrt(2))) / 2


def selu(x: float) -> float:
    alpha = float(np.float32(1.67326319217681884765625))
    gamma = float(np.float32(1.05070102214813232421875))
    return gamma * x if x > 0 else gamma * alpha * math.expm1(x)


def half_even(x: float) -> float:
    return float(round(x))


#: Functions of one operand, the opset, and the interval that operands are drawn from.
UNARY: dict[str, tuple[Scalar, int, tuple[float, float]]] = {
    "Abs": (abs, 13, (-5, 5)),
    "Acos": (math.acos, 22, (-1, 1)),
    "Acosh": (math.acosh, 22, (1.1, 9)),
    "Asin": (math.asin, 22, (-1, 1)),
    "Asinh": (math.asinh, 22, (-9, 9)),
    "Atan": (math.atan, 22, (-9, 9)),
    "Atanh": (math.atanh, 22, (-0.9, 0.9)),
    "Ceil": (math.ceil, 13, (-5, 5)),
    "Cos": (math.cos, 22, (-9, 9)),
    "Cosh": (math.cosh, 22, (-5, 5)),
    "Erf": (math.erf, 13, (-3, 3)),
    "Exp": (math.exp, 13, (-5, 5)),
    "Floor": (math.floor, 13, (-5, 5)),
    "HardSwish": (lambda x: x * min(1.0, max(0.0, x / 6 + 0.5)), 22, (-5, 5)),
    "Identity": (lambda x: x, 21, (-5, 5)),
    "Log": (math.log, 13, (0.1, 9)),
    "Mish": (lambda x: x * math.tanh(softplus(x)), 22, (-5, 5)),
    "Neg": (lambda x: -x, 13, (-5, 5)),
    "Reciprocal": (lambda x: 1 / x, 13, (0.1, 9)),
    "Relu": (lambda x: max(0.0, x), 14, (-5, 5)),
    "Round": (half_even, 22, (-5, 5)),
    "Selu": (selu, 22, (-5, 5)),
    "Sigmoid": (sigmoid, 13, (-9, 9)),
    "Sign": (lambda x: (x > 0) - (x < 0), 13, (-5, 5)),
    "Sin": (math.sin, 22, (-9, 9)),
    "Sinh": (math.sinh, 22, (-5, 5)),
    "Softplus": (softplus, 22, (-9, 9)),
    "Softsign": (lambda x: x / (1 + abs(x)), 22, (-9, 9)),
    "Sqrt": (math.sqrt, 13, (0, 9)),
    "Tan": (math.tan, 22, (-1.4, 1.4)),
    "Tanh": (math.tanh, 13, (-5, 5)),
}


def _unary(name: str, rng: Random) -> Sample:
    function, opset, (low, high) = UNARY[name]
    x = rng.uniform(low, high, shape(rng, (0, 3))).astype(np.float32)
    x = np.clip(np.asarray(x), np.float32(low), np.float32(high))
    if name in ("Round", "Ceil", "Floor", "Sign", "Abs", "Relu") and chance(rng, 0.4):
        x = (np.round(2 * x) / 2).astype(np.float32)
    return Sample(opset, (x,), (each(function, x),))


ORACLES.update({name: partial(_unary, name) for name in UNARY})


def _gelu_by_tanh(x: float) -> float:
    return x / 2 * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


@oracle("Gelu")
def gelu(rng: Random) -> Sample:
    x, by_tanh = normal(rng, shape(rng), 2), chance(rng, 0.5)
    function = _gelu_by_tanh if by_tanh else lambda x: x * normal_share(x)
    attrs = {"approximate": "tanh"} if by_tanh else {}
    return Sample(20, (x,), (each(function, x),), attrs)


#: Functions of one operand and of attributes, which have these defaults, and the opset.
WITH_ATTRIBUTES: dict[str, tuple[Scalar, int, dict[str, float]]] = {
    "Celu": (lambda x, a: max(0, x) + min(0, a * math.expm1(x / a)), 12, {"alpha": 1.0}),
    "Elu": (lambda x, a: x if x >= 0 else a * math.expm1(x), 22, {"alpha": 1.0}),
    "HardSigmoid": (
        lambda x, a, b: max(0, min(1, a * x + b)),
        22,
        {"alpha": 0.2, "beta": 0.5},
    ),
    "LeakyRelu": (lambda x, a: x if x >= 0 else a * x, 16, {"alpha": 0.01}),
    "Shrink": (
        lambda x, bias, lambd: x + bias if x < -lambd else x - bias if x > lambd else 0,
        9,
        {"bias": 0.0, "lambd": 0.5},
    ),
    "Swish": (lambda x, a: x * sigmoid(a * x), 24, {"alpha": 1.0}),
    "ThresholdedRelu": (lambda x, a: x if x > a else 0, 22, {"alpha": 1.0}),
}


def _with_attributes(name: str, rng: Random) -> Sample:
    function, opset, defaults = WITH_ATTRIBUTES[name]
    given = {key: float(rng.uniform(0.1, 2)) for key in defaults if chance(rng, 0.7)}
    values = [float(np.float32(value)) for value in (defaults | given).values()]
    x = normal(rng, shape(rng, (0, 3)), 2)
    return Sample(opset, (x,), (each(lambda v: function(v, *values), x),), given)


ORACLES.update({name: partial(_with_attributes, name) for name in WITH_ATTRIBUTES})


def operands(rng: Random, count: int = 2) -> list[Array]:
    """Shapes that broadcast to one, as empty arrays."""
    full = shape(rng, (1, 3))
    found = []
    for _ in range(count):
        kept = full[int(rng.integers(0, len(full) + 1)) :]
        found.append(np.zeros([1 if chance(rng, 0.3) else size for size in kept]))
    return found


def _div(a: float, b: float) -> float:
    if isinstance(a, int):
        return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    return a / b


#: Functions of two numbers, the opset, the types of the operands, and that of the output; None for
#: the operands' own.
FLOATS, NUMBERS = (np.float32, np.float64), (np.float32, np.float64, np.int32, np.int64)
BINARY: dict[str, tuple[Scalar, int, tuple[Any, ...], Any]] = {
    "Add": (lambda a, b: a + b, 14, NUMBERS, None),
    "Sub": (lambda a, b: a - b, 14, NUMBERS, None),
    "Mul": (lambda a, b: a * b, 14, NUMBERS, None),
    "Div": (_div, 14, NUMBERS, None),
    "And": (lambda a, b: a and b, 7, (np.bool_,), np.bool_),
    "Or": (lambda a, b: a or b, 7, (np.bool_,), np.bool_),
    "Xor": (lambda a, b: a != b, 7, (np.bool_,), np.bool_),
    "BitwiseAnd": (lambda a, b: a & b, 18, (np.int32, np.uint8, np.int64), None),
    "BitwiseOr": (lambda a, b: a | b, 18, (np.int32, np.uint8, np.int64), None),
    "BitwiseXor": (lambda a, b: a ^ b, 18, (np.int32, np.uint8, np.int64), None),
    "Equal": (lambda a, b: a == b, 19, NUMBERS, np.bool_),
    "Greater": (lambda a, b: a > b, 13, NUMBERS, np.bool_),
    "GreaterOrEqual": (lambda a, b: a >= b, 16, NUMBERS, np.bool_),
    "Less": (lambda a, b: a < b, 13, NUMBERS, np.bool_),
    "LessOrEqual": (lambda a, b: a <= b, 16, NUMBERS, np.bool_),
}


def drawn_as(rng: Random, like: Array, dtype: Any) -> Array:
    """Numbers of a type in the shape of `like`."""
    if dtype == np.bool_:
        return np.asarray(rng.random(like.shape) < 0.5)
    low = 0 if np.dtype(dtype).kind == "u" else -9
    return whole(rng, like.shape, low, 9, dtype)


def _binary(name: str, rng: Random) -> Sample:
    function, opset, dtypes, result = BINARY[name]
    dtype = one_of(rng, *dtypes)
    a, b = (drawn_as(rng, like, dtype) for like in operands(rng))
    if name == "Div":
        b = np.where(b == 0, np.asarray(3, dtype), b)
    exact = np.float64 if np.dtype(dtype).kind == "f" else dtype
    return Sample(opset, (a, b), (each(function, a, b, dtype=result or exact),))


ORACLES.update({name: partial(_binary, name) for name in BINARY})


@oracle("Pow")
def power(rng: Random) -> Sample:
    a, b = operands(rng)
    x = np.asarray(rng.uniform(0.2, 4, a.shape), np.float32)
    y = normal(rng, b.shape, 2) if chance(rng, 0.5) else whole(rng, b.shape, -3, 3, np.int64)
    return Sample(15, (x, y), (each(math.pow, x, y),))


@oracle("Mod")
def modulus(rng: Random) -> Sample:
    a, b = operands(rng)
    if chance(rng, 0.4):
        x = normal(rng, a.shape, 9)
        y = (np.abs(normal(rng, b.shape, 2)) + 0.5).astype(np.float32)
        return Sample(13, (x, y), (each(math.fmod, x, y),), {"fmod": 1})
    dtype = one_of(rng, np.int8, np.uint8, np.int32, np.int64, np.uint32)
    info = np.iinfo(dtype)
    x = np.asarray(rng.integers(max(info.min, -99), min(info.max, 99), a.shape)).astype(dtype)
    y = whole(rng, b.shape, 1, 7, dtype)
    if info.min < 0:
        y = (y * np.where(rng.random(y.shape) < 0.5, -1, 1)).astype(dtype)
    return Sample(13, (x, y), (each(lambda p, q: p % q, x, y, dtype=dtype),))


@oracle("BitShift")
def shifted(rng: Random) -> Sample:
    dtype, left = one_of(rng, np.uint8, np.uint16, np.uint32, np.uint64), chance(rng, 0.5)
    bits = np.iinfo(dtype).bits
    a, b = operands(rng)
    x = np.asarray(rng.integers(0, 2**bits - 1, a.shape, np.uint64)).astype(dtype)
    by = whole(rng, b.shape, 0, bits - 1, dtype)

    def moved(v: int, n: int) -> int:
        return (v << n) % 2**bits if left else v >> n

    attrs = {"direction": "LEFT" if left else "RIGHT"}
    return Sample(11, (x, by), (each(moved, x, by, dtype=dtype),), attrs)


@oracle("BitwiseNot")
def bits_changed(rng: Random) -> Sample:
    dtype = one_of(rng, np.uint8, np.int8, np.int32, np.uint64)
    x, most = whole(rng, shape(rng), 0, 99, dtype), np.iinfo(dtype).max
    signed = np.iinfo(dtype).min < 0
    return Sample(18, (x,), (each(lambda v: -1 - v if signed else most - v, x, dtype=dtype),))


@oracle("Not")
def negated(rng: Random) -> Sample:
    x = np.asarray(rng.random(shape(rng)) < 0.5)
    return Sample(1, (x,), (each(lambda v: not v, x, dtype=np.bool_),))


def _with_specials(rng: Random) -> Array:
    x = normal(rng, shape(rng))
    special = rng.choice([np.nan, np.inf, -np.inf, 0.0], x.shape)
    return np.where(rng.random(x.shape) < 0.5, special, x).astype(np.float32)


@oracle("IsNaN")
def is_nan(rng: Random) -> Sample:
    x = _with_specials(rng)
    return Sample(20, (x,), (each(math.isnan, x, dtype=np.bool_),))


@oracle("IsInf")
def is_infinite(rng: Random) -> Sample:
    x, up, down = _with_specials(rng), int(rng.integers(2)), int(rng.integers(2))

    def counts(v: float) -> bool:
        return bool((up and v == math.inf) or (down and v == -math.inf))

    attrs = {"detect_positive": up, "detect_negative": down}
    return Sample(20, (x,), (each(counts, x, dtype=np.bool_),), attrs)


#: Functions of any number of operands, and the opset.
VARIADIC: dict[str, tuple[Scalar, int]] = {
    "Max": (max, 13),
    "Min": (min, 13),
    "Sum": (lambda *xs: math.fsum(xs), 13),
    "Mean": (lambda *xs: math.fsum(xs) / len(xs), 13),
}


def _variadic(name: str, rng: Random) -> Sample:
    function, opset = VARIADIC[name]
    given = [normal(rng, like.shape) for like in operands(rng, int(rng.integers(1, 5)))]

    def of_all(*xs: float) -> Any:
        return xs[0] if len(xs) == 1 else function(*xs)

    return Sample(opset, tuple(given), (each(of_all, *given),))


ORACLES.update({name: partial(_variadic, name) for name in VARIADIC})


@oracle("PRelu")
def p_relu(rng: Random) -> Sample:
    full = shape(rng)
    x, kept = normal(rng, full), full[int(rng.integers(len(full) + 1)) :]
    slope = normal(rng, [1 if chance(rng, 0.3) else size for size in kept])
    return Sample(16, (x, slope), (each(lambda v, s: v if v >= 0 else s * v, x, slope),))


@oracle("Where")
def where(rng: Random) -> Sample:
    a, b, c = operands(rng, 3)
    condition, x, y = rng.random(a.shape) < 0.5, normal(rng, b.shape), normal(rng, c.shape)
    found = each(lambda k, p, q: p if k else q, np.asarray(condition), x, y)
    return Sample(16, (np.asarray(condition), x, y), (found,))


@oracle("Clip")
def clipped(rng: Random) -> Sample:
    dtype = one_of(rng, np.float32, np.int32, np.int8)
    x = whole(rng, shape(rng), -9, 9, dtype)
    low = np.asarray(int(rng.integers(-6, 0)), dtype) if chance(rng, 0.7) else None
    high = np.asarray(int(rng.integers(-8, 7)), dtype) if chance(rng, 0.7) else None

    def kept(v: float) -> float:
        v = v if low is None else max(v, low.item())
        return v if high is None else min(v, high.item())

    inputs = (x, low, high) if high is not None else (x, low) if low is not None else (x,)
    return Sample(13, inputs, (each(kept, x, dtype=dtype),))


@oracle("SwiGLU")
def gated_swish(rng: Random) -> Sample:
    dims, alpha = shape(rng), one_of(rng, 0.5, 1.0, 2.0)
    a, b = normal(rng, dims, 3), normal(rng, dims)
    y = each(lambda gate, value: gate * sigmoid(alpha * gate) * value, a, b)
    return Sample(28, (a, b), (y,), {} if alpha == 1 else {"alpha": alpha})


#: The letters that Python's `struct` has for types of so many bytes.
LETTERS: dict[int, dict[Any, str]] = {
    1: {np.int8: "b", np.uint8: "B"},
    2: {np.int16: "h", np.uint16: "H", np.float16: "e"},
    4: {np.int32: "i", np.uint32: "I", np.float32: "f"},
    8: {np.int64: "q", np.uint64: "Q", np.float64: "d"},
}


@oracle("BitCast")
def same_bits(rng: Random) -> Sample:
    dims, width = shape(rng), int(one_of(rng, *LETTERS))
    letters = LETTERS[width]
    source, target = one_of(rng, *letters), one_of(rng, *letters)
    count = math.prod(dims)
    stored = rng.bytes(count * width)
    x = np.frombuffer(stored, np.dtype(source).newbyteorder("<")).astype(source)
    y = np.array(struct.unpack(f"<{count}{letters[target]}", stored), target)
    to = int(helper.np_dtype_to_tensor_dtype(np.dtype(target)))
    return Sample(26, (x.reshape(dims),), (y.reshape(dims),), {"to": to}, rtol=0, atol=0)
