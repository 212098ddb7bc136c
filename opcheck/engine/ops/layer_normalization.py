"""LayerNormalization (17): the axes from `axis` on are brought to mean 0 and variance 1."""

from functools import partial

from opcheck import numbers as xp
from opcheck.engine.axes import from_either_end, stretches
from opcheck.engine.operators import operator
from opcheck.engine.ops.normalizations import by_deviation, folded, stashed, two_pass

OP = operator("LayerNormalization")


def by_inverse(inverse_of, computes=False, folds=False, alone=False):
    """Version 17, from `inverse_of(x, axes, epsilon)`: 1 over the standard deviation."""

    def formula(X, Scale, B=None, *, axis, epsilon, stash_type):
        axes = tuple(range(from_either_end(axis, X.ndim), X.ndim))
        axes = axes[:1] if alone else axes
        for name, operand in (("Scale", Scale), ("B", B)):
            if operand is not None:
                stretches(name, operand, X)
        # Stage one, in float32 or bfloat16.
        x = stashed(X, stash_type, 1, 16)
        mean = xp.mean(x, axis=axes, keepdims=True)
        inverse = inverse_of(x, axes, epsilon)
        if folds:
            wide = (0 if part is None else xp.astype(part, x.dtype) for part in (Scale, B))
            y = xp.astype(folded(x, mean, inverse, *wide), X.dtype, computes=computes)
        else:
            y = xp.astype((x - mean) * inverse, X.dtype, computes=computes) * Scale
            y = y if B is None else y + B
        return y, *(xp.astype(part, x.dtype) for part in (mean, inverse))

    return {17: formula}


by_deviation(OP, by_inverse, "where the variance is E[x²] − E[x]², which cancels")
OP.alternative(
    "where it is folded into x·a + b, which cancels", build=partial(by_inverse, folds=True)
)(two_pass)


OP.mutant(
    "`axis` alone was normalized, and not the axes after it",
    name="one_axis",
    build=partial(by_inverse, alone=True),
)(two_pass)


@OP.mutant("the variance was taken along the last axis alone", build=by_inverse)
def last_axis_alone(x, axes, epsilon):
    return xp.broadcast_to(two_pass(x, axes[-1:], epsilon), x.shape)


def outputs(change):
    """Version 17 with its three outputs changed."""
    return {
        17: lambda X, Scale, B=None, **attrs: change(
            *OP.formulas[17](X, Scale, B, **attrs), from_either_end(attrs["axis"], X.ndim)
        )
    }


OP.mutant_table(
    {
        "deviation_in_place_of_inverse": (
            "InvStdDev held the standard deviation",
            lambda y, mean, inverse, axis: (y, mean, 1 / inverse),
        ),
        "variance_in_place_of_inverse": (
            "InvStdDev held the variance",
            lambda y, mean, inverse, axis: (y, mean, 1 / (inverse * inverse)),
        ),
        "axes_dropped": (
            "Mean and InvStdDev lost the axes that were normalized",
            lambda y, *parts: (y, *(xp.reshape(x, x.shape[: parts[-1]]) for x in parts[:-1])),
        ),
    },
    build=outputs,
)
