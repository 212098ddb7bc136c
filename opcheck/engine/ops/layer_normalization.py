"""LayerNormalization (17): the axes from `axis` on are brought to mean 0 and variance 1."""

import ml_dtypes
import numpy as np

from opcheck import numbers as xp
from opcheck.engine.axes import from_either_end, stretches
from opcheck.engine.operators import operator
from opcheck.errors import InvalidNode

OP = operator("LayerNormalization")

#: What stage one may be computed in, by its number in ONNX's TensorProto.
STASHES = {1: np.dtype(np.float32), 16: np.dtype(ml_dtypes.bfloat16)}


def by_inverse(function):
    """Version 17, from `function(x, axes, epsilon)`: 1 over the root of variance and epsilon."""

    def formula(X, Scale, B=None, *, axis, epsilon, stash_type):
        axes = tuple(range(from_either_end(axis, X.ndim), X.ndim))
        stash = STASHES.get(stash_type)
        if stash is None:
            raise InvalidNode(f"stash_type {stash_type}; allowed: 1 (float), 16 (bfloat16)")
        for name, operand in (("Scale", Scale), ("B", B)):
            if operand is not None:
                stretches(name, operand, X)
        # Stage one, in a type of its own.
        x = xp.astype(X, stash, computes=True)
        mean = xp.mean(x, axis=axes, keepdims=True)
        inverse = function(x, axes, epsilon)
        y = xp.astype((x - mean) * inverse, X.dtype) * Scale
        y = y if B is None else y + B
        return y, xp.astype(mean, stash), xp.astype(inverse, stash)

    return {17: formula}


@OP.formula(by=by_inverse)
def two_pass(x, axes, epsilon):
    """The deviations from the mean over the root of their mean square, as the text says."""
    return 1 / xp.sqrt(variance(x, axes) + epsilon)


def variance(x, axes):
    """The mean square of the deviations from the mean."""
    d = x - xp.mean(x, axis=axes, keepdims=True)
    return xp.mean(d * d, axis=axes, keepdims=True)


@OP.also_honest("where the variance is E[x²] − E[x]², which cancels", by=by_inverse)
def one_pass(x, axes, epsilon):
    mean = xp.mean(x, axis=axes, keepdims=True)
    spread = xp.mean(x * x, axis=axes, keepdims=True) - mean * mean
    return 1 / xp.sqrt(xp.maximum(spread, 0.0) + epsilon)


# ── mutants ───────────────────────────────────────────────────────────────────────────────────


@OP.mutant("epsilon was added after the root", by=by_inverse)
def epsilon_after_the_root(x, axes, epsilon):
    return 1 / (xp.sqrt(variance(x, axes)) + epsilon)


@OP.mutant("epsilon was the least that the variance could be", by=by_inverse)
def epsilon_as_floor(x, axes, epsilon):
    return 1 / xp.sqrt(xp.maximum(variance(x, axes), epsilon))


@OP.mutant("the variance was divided by one less than the number of elements", by=by_inverse)
def unbiased(x, axes, epsilon):
    count = np.prod([x.shape[axis] for axis in axes])
    return 1 / xp.sqrt(variance(x, axes) * (count / max(1, count - 1)) + epsilon)


@OP.mutant("the mean square stood for the variance, as in RMSNormalization", by=by_inverse)
def mean_square(x, axes, epsilon):
    return 1 / xp.sqrt(xp.mean(x * x, axis=axes, keepdims=True) + epsilon)


@OP.mutant("the variance was taken along the last axis alone", by=by_inverse)
def last_axis_alone(x, axes, epsilon):
    return xp.broadcast_to(two_pass(x, axes[-1:], epsilon), x.shape)


def outputs(change):
    """Version 17 with its three outputs changed."""

    def formula(X, Scale, B=None, *, axis, epsilon, stash_type):
        given = {"axis": axis, "epsilon": epsilon, "stash_type": stash_type}
        return change(*OP.formulas[17](X, Scale, B, **given), from_either_end(axis, X.ndim))

    return {17: formula}


@OP.mutant("InvStdDev held the standard deviation", by=outputs)
def deviation_in_place_of_inverse(y, mean, inverse, axis):
    return y, mean, 1 / inverse


@OP.mutant("InvStdDev held the variance", by=outputs)
def variance_in_place_of_inverse(y, mean, inverse, axis):
    return y, mean, 1 / (inverse * inverse)


@OP.mutant("Mean and InvStdDev lost the axes that were normalized", by=outputs)
def axes_dropped(y, mean, inverse, axis):
    return y, *(xp.reshape(part, mean.shape[:axis]) for part in (mean, inverse))


# ── what no legal input shows ─────────────────────────────────────────────────────────────────

OP.equivalent("invalid_epsilon_is_0_or_1", "no epsilon is invalid")
OP.equivalent("divisor_plus_1e-12", "stage one is computed in float32", "float64")
OP.equivalent("minus_infinity_taken_for_nan", "either makes NaN of its row")
OP.equivalent(
    "subnormal_inputs_flushed",
    "what subnormal numbers add may be flushed, and the bound leaves it out too",
    *("bfloat16", "float32", "float64"),
)
