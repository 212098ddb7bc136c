"""LpPool with one mistake of a known size each, which a good bound has to see.

Like `implementations`, each takes windows of shape (n, K) and p and answers in their dtype. All
else is computed in float64, so that whatever is seen is the mistake.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from tests.bounds.arithmetic import BFLOAT16, Array, keep_bits, sequential, truncated
from tests.bounds.lp_pool.implementations import Implementation, power, root


def _changed(before=lambda x: x, powers=lambda a: a, total=lambda s: s, after=lambda y: y):
    def run(x: Array, p: float) -> Array:
        raised = power(np.abs(before(x.astype(np.float64))), p)
        s = (raised if p == 1 else powers(raised)).sum(-1)
        y = root(total(s), p)
        return after(y).astype(x.dtype)

    return run


def relative(error: float) -> Implementation:
    return _changed(after=lambda y: y * (1 + error))


def cut_off(x: Array, p: float) -> Array:
    """Rounded towards zero to the 16 bits of the output."""
    return truncated(relative(0)(x.astype(np.float64), p), x.dtype)


def sum_in(dtype: object, x: Array, p: float) -> Array:
    with np.errstate(over="ignore"):
        total = sequential(power(np.abs(x.astype(np.float64)), p).astype(dtype))
        return root(total[..., 0].astype(np.float64), p).astype(x.dtype)


def root_of(bits: int) -> Implementation:
    """The root of a sum, which p = 1 does not need, with its last bits cut off."""
    return lambda x, p: (
        relative(0)(x, p) if p == 1 else _changed(after=lambda y: _cut(y, bits))(x, p)
    )


def inverse(kept: Callable[[float], float]) -> Implementation:
    """1/p is not exact."""
    return lambda x, p: _changed(after=lambda y: y ** (p * kept(1 / p)))(x, p)


def _cut(x: Array, bits: int) -> Array:
    """As hardware does that drops the low bits."""
    mantissa, exponent = np.frexp(x)
    return np.ldexp(np.trunc(np.ldexp(mantissa, bits)), exponent - bits)


MUTANTS: dict[str, Implementation] = {
    **{
        f"relative {by}": relative(float(by))
        for by in ("1e-3", "1e-4", "1.25e-5", "1e-5", "3e-6", "1.5e-6")
    },
    "sum + 1e-5": _changed(total=lambda s: s + 1e-5),
    "sum + 1e-6": _changed(total=lambda s: s + 1e-6),
    "sum + 1e-12": _changed(total=lambda s: s + 1e-12),
    "sum in float16": partial(sum_in, np.float16),
    "sum in bfloat16": partial(sum_in, BFLOAT16),
    "inputs in bfloat16": _changed(before=lambda x: x.astype("f").astype(BFLOAT16).astype("d")),
    "inputs in tf32": _changed(before=lambda x: keep_bits(x, 11)),
    "inputs cut to tf32": _changed(before=lambda x: _cut(x, 11)),
    "1/p in float16": inverse(lambda part: float(_cut(np.array(part), 11))),
    "1/p to 6 decimals": inverse(lambda part: np.floor(part * 1e6) / 1e6),
    "root good to 12 bits": root_of(12),
    "root good to 16 bits": root_of(16),
    "powers good to 12 bits": _changed(powers=lambda a: _cut(a, 12)),
    "powers good to 16 bits": _changed(powers=lambda a: _cut(a, 16)),
    "p truncated": lambda x, p: relative(0)(x, float(int(p))),
}
