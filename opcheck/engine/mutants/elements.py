"""Faults of functions that work element by element."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np

from opcheck.engine.mutants.mutant import Faulty
from opcheck.numbers import Fault

_WIDE = ("float64",)
#: Below this e^x is 0 in every dtype; it keeps the arguments of the sine small.
_VANISHED = -1000.0


def cut_to_bits(x: Any, bits: int, whole: Callable[[Any], Any] = np.rint) -> Any:
    """`x` with so many bits of significand, as approximations leave them."""
    mantissa, exponent = np.frexp(x)
    return np.ldexp(whole(np.ldexp(mantissa, bits)), exponent - bits).astype(x.dtype)


def _of_value(change: Callable[[Any], Any]) -> Fault:
    """The right value, changed."""
    return lambda original, *operands, **options: change(original(*operands, **options))


def _of_argument(change: Callable[[Any], Any]) -> Fault:
    """The right function of a changed first argument."""
    return lambda original, x, *rest, **options: original(change(x), *rest, **options)


def _instead(function: Callable[..., Any]) -> Fault:
    """Another function of the same arguments."""
    return lambda original, *operands, **options: function(*operands, **options)


def _ripple(bits: int) -> Callable[[Any], Any]:
    """A relative error that waves up and down, up to 2^-bits."""
    return lambda y: (
        y * (1 + 2.0**-bits * np.sin(37 * np.arange(y.size))).reshape(y.shape).astype(y.dtype)
    )


# ── exponentials ──────────────────────────────────────────────────────────────────────────────


def _good_to(bits: int) -> Fault:
    """e^0 is 1, and elsewhere the relative error waves up and down, up to 2^-bits."""

    def exp(original: Any, x: Any) -> Any:
        wave = np.sin(37 * np.maximum(x, _VANISHED))
        return original(x) * (1 + 2.0**-bits * wave).astype(x.dtype)

    return exp


def _schraudolph(x: Any) -> Any:
    """e^x from the bits of a float: a straight line between the powers of two."""
    t = np.clip(x / np.log(2), _VANISHED, -_VANISHED)
    whole = np.floor(t)
    made = np.ldexp(1 + t - whole, np.nan_to_num(whole).astype(int))
    return np.where(np.isneginf(x), 0, made).astype(x.dtype)


def exponentials() -> Iterator[Faulty]:
    """Faults of `exp`."""

    def fault(name: str, text: str, function: Fault, **where: Any) -> Faulty:
        return Faulty("exp", name, text, function, **where)

    yield fault("base_2", "2^x was taken, not e^x", _instead(np.exp2))
    yield fault(
        "exp_of_schraudolph",
        "e^x was read from the bits of a float, a straight line between the powers of two",
        _instead(_schraudolph),
    )
    yield fault(
        "exp_by_its_power_of_4096",
        "(1 + x/4096)^4096 was taken for e^x",
        _instead(lambda x: np.maximum(1 + x / 4096, 0) ** 4096),
    )
    for dtype in (np.float16, ml_dtypes.bfloat16):
        name = np.dtype(dtype).name
        yield fault(
            f"exp_in_{name}",
            f"exponentials were rounded to {name}",
            _of_value(partial(lambda dtype, y: y.astype(dtype).astype(y.dtype), dtype)),
        )
    for bits in (11, 14, 16, 18):
        yield fault(
            f"exp_good_to_{bits}_bits",
            f"a fast exponential was good to 2^-{bits} only",
            _good_to(bits),
        )
    yield fault(
        "exp_good_to_20_bits", "a fast exponential was good to 2^-20 only", _good_to(20), only=_WIDE
    )
    yield fault(
        "exp_in_float32",
        "exponentials were computed in float32",
        _instead(lambda x: np.exp(x.astype(np.float32)).astype(x.dtype)),
        only=_WIDE,
    )
    yield fault(
        "exponent_of_8_bits",
        "exponents were rounded to bfloat16",
        _of_argument(lambda x: cut_to_bits(x, 8)),
    )
    yield fault(
        "exponent_of_11_bits",
        "exponents were rounded to 11 bits, as in TF32",
        _of_argument(lambda x: cut_to_bits(x, 11)),
    )
    yield fault(
        "far_exponents_vanish",
        "e^x was taken for 0 below -8",
        lambda original, x: np.where(x < -8, 0, original(x)).astype(x.dtype),
    )
    clamped = (
        (-10, "", None),
        (-20, "", None),
        (-50, "", ("bfloat16", "float32", "float64")),
        (-87, ", where float32 has its smallest normal number", ("bfloat16", "float32", "float64")),
        (-708, ", where float64 has its smallest normal number", _WIDE),
    )
    for low, why, only in clamped:
        yield fault(
            f"exponent_above_minus_{-low}",
            f"exponents were clamped to {low}{why}",
            _of_argument(partial(lambda low, x: np.maximum(x, x.dtype.type(low)), low)),
            only=only,
        )


# ── arithmetic ────────────────────────────────────────────────────────────────────────────────


def _is_array(x: Any) -> bool:
    return isinstance(x, np.ndarray) and x.ndim > 0


def _forgets(place: int) -> Fault:
    """The other operand alone, where both are tensors."""

    def fault(original: Any, a: Any, b: Any) -> Any:
        if not (_is_array(a) and _is_array(b)):
            return original(a, b)
        kept = (b, a)[place]
        return np.broadcast_to(kept, np.broadcast_shapes(a.shape, b.shape)).copy()

    return fault


def _on_tensors(function: Callable[[Any, Any], Any]) -> Fault:
    def fault(original: Any, a: Any, b: Any) -> Any:
        return function(a, b) if _is_array(a) and _is_array(b) else original(a, b)

    return fault


def arithmetic() -> Iterator[Faulty]:
    """Faults of +, −, × and ÷ between tensors."""
    yield Faulty("subtract", "nothing_subtracted", "nothing was subtracted", _forgets(1))
    yield Faulty("subtract", "subtracted_the_wrong_way", "a − b was computed as b − a",
                 _on_tensors(lambda a, b: b - a))  # fmt: skip
    yield Faulty("add", "nothing_added", "nothing was added", _forgets(1))
    yield Faulty("multiply", "nothing_multiplied", "no product was taken", _forgets(1))
    yield Faulty("divide", "not_divided", "nothing was divided by", _forgets(1))
    yield Faulty("divide", "multiplied_not_divided", "a product was taken, not a quotient",
                 _on_tensors(lambda a, b: a * b))  # fmt: skip
    yield Faulty(
        "divide",
        "reciprocal_of_12_bits",
        "a reciprocal was estimated to 12 bits, and not refined",
        _on_tensors(lambda a, b: a * cut_to_bits(1 / b, 12)),
    )
    epsilons = ((1e-5, None), (1e-6, ("float32", "float64")), (2.0**-23, ("float32", "float64")),
                (1e-8, _WIDE), (1e-12, _WIDE))  # fmt: skip
    for epsilon, only in epsilons:
        yield Faulty(
            "divide",
            f"divisor_plus_{epsilon:.0e}",
            f"{epsilon:.2g} was added to the divisor",
            _on_tensors(partial(lambda epsilon, a, b: a / (b + b.dtype.type(epsilon)), epsilon)),
            only=only,
        )


# ── other functions ───────────────────────────────────────────────────────────────────────────


def _power_to_bits(bits: int, original: Any, x: Any, p: Any) -> Any:
    """The first power is `x` itself."""
    y = original(x, p)
    return y if np.ndim(p) == 0 and p == 1 else cut_to_bits(y, bits, np.trunc)


def _powers_alone(original: Any, x: Any, p: Any) -> Any:
    return x if np.ndim(p) == 0 and p < 1 else original(x, p)


def others() -> Iterator[Faulty]:
    """Faults of other functions of one element."""
    yield Faulty("abs", "absolute_value_forgotten", "the absolute value was forgotten",
                 _instead(lambda x: x))  # fmt: skip
    yield Faulty("abs", "negative_values_are_zero", "negative values counted as 0",
                 _instead(lambda x: np.maximum(x, x.dtype.type(0))))  # fmt: skip
    yield Faulty("sqrt", "root_forgotten", "the root was forgotten", _instead(lambda x: x))
    yield Faulty("pow", "root_forgotten", "the root was forgotten", _powers_alone)
    for bits in (12, 16):
        yield Faulty(
            "pow",
            f"pow_of_{bits}_bits",
            f"powers and roots were good to {bits} bits",
            partial(_power_to_bits, bits),
            only=("float32", "float64"),
        )
    for name in ("sqrt", "log", "tanh", "erf", "sin", "cos"):
        for bits in (12, 16):
            yield Faulty(
                name,
                f"{name}_of_{bits}_bits",
                f"{name} was good to {bits} bits",
                _of_value(partial(lambda bits, y: cut_to_bits(y, bits, np.trunc), bits)),
                only=("float32", "float64"),
            )


FAULTS: tuple[Faulty, ...] = (*exponentials(), *arithmetic(), *others())
