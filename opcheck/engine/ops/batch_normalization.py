"""BatchNormalization (1, 6, 7, 9, 14, 15): by estimated statistics, or those of the batch."""

from functools import partial
from math import prod

from opcheck import numbers as xp
from opcheck.engine import normalizing
from opcheck.engine.normalizing import FOLDED, RANKS, fits, folded, of_root, scaled, variance
from opcheck.engine.operators import is_open, operator
from opcheck.errors import InvalidNode, NotSupported

OP = operator("BatchNormalization", ignores=("consumed_inputs",))


def updated(old, new, momentum, count):
    """The running statistics, from those before and of the batch, of `count` elements each."""
    return [a * momentum + b * (1 - xp.real(momentum)) for a, b in zip(old, new, strict=True)]


def moved(old, new, momentum, count):
    """The same, from how far each moves."""
    return [a - (1 - xp.real(momentum)) * (a - b) for a, b in zip(old, new, strict=True)]


def of_batches(inverse, spread=variance, updated=updated, made=scaled, used=lambda old, new: new):
    """All versions from `inverse(variance, axes, epsilon)`: 1 over the standard deviation."""

    def formula(ranks, X, scale, B, old, training, momentum, epsilon, saved=0, apart=False):
        shape = X.shape[1:] if apart else X.shape[1:2] or (1,)
        fits(X, ranks, shape, scale, B, *old)
        types = {str(x.dtype) for x in (X, scale, *old)}
        if (len(types) > 1 and "float64" in types) or (training and not X.size):
            raise NotSupported("nothing is said of mixing float64, or of statistics of no elements")
        scale, B, *old = (
            xp.reshape(x, shape if apart else (-1, *[1] * (X.ndim - 2))) for x in (scale, B, *old)
        )
        now, outputs = old, []
        if training:
            axes = (0,) if apart else tuple(axis for axis in range(X.ndim) if axis != 1)
            new = [xp.mean(X, axis=axes, keepdims=True), spread(X, axes)]
            now = used(old, new)
            outputs = [*updated(old, new, momentum, X.size // prod(shape)), *new[:saved]]
        y = made(X, now[0], inverse(now[1], (), epsilon), scale, B)
        further = (xp.astype(xp.reshape(x, shape), old[0].dtype) for x in outputs)
        return xp.astype(y, X.dtype), *further

    def earlier(since, X, scale, B, mean, var, *, epsilon, momentum, outputs, is_test=0, spatial=1):
        training = outputs > 1 or (since < 7 and not is_test)
        if outputs not in (1, 5) or spatial not in (0, 1) or not (spatial or since > 6 or is_test):
            raise NotSupported("nothing is said of these outputs, or of this spatial")
        if outputs > 1:
            is_open("nothing is said of which variance is kept")
        ranks = (4,) if since == 1 else RANKS if since < 9 else range(1, 64)
        apart, old = since > 6 and not spatial, (mean, var)
        return formula(ranks, X, scale, B, old, training, momentum, epsilon, 2, apart)

    def later(X, scale, B, input_mean, input_var, *, epsilon, momentum, outputs, training_mode):
        if training_mode not in (0, 1):
            is_open("nothing is said of a training_mode other than 0 and 1")
        if outputs > 1 and not training_mode:
            raise InvalidNode(f"{outputs} outputs without training_mode; allowed: 1")
        old = (input_mean, input_var)
        return formula(range(1, 64), X, scale, B, old, training_mode, momentum, epsilon)

    return {14: later, 15: later, **{since: partial(earlier, since) for since in (1, 6, 7, 9)}}


@OP.formula(by=of_batches)
@OP.also_honest("", by=partial(of_batches, updated=moved))
@OP.also_honest(FOLDED, by=partial(of_batches, spread=normalizing.cancelling, made=folded))
def inverse(spread, axes, epsilon):
    return 1 / xp.sqrt(spread + epsilon)


of_root(OP, of_batches, lambda spread, axes: spread, "mean_square", "unbiased")
for _name, _text, _steps, *_versions in (
    ("unbiased", normalizing.UNBIASED, {"spread": normalizing.unbiased}, 1, 6, 14, 15),
    ("running_statistics_used", "the running statistics normalized in training",
     {"used": lambda old, new: old}, 1, 6, 14, 15),
    ("momentum_exchanged", "the momentum was that of the batch",
     {"updated": lambda old, new, *of: updated(new, old, *of)}, 14, 15),
    ("unbiased_running_variance", "the running variance was that of a sample, not the population",
     {"updated": lambda old, new, momentum, count: updated(
         old, (new[0], new[1] * (count / max(1, count - 1))), momentum, count)}, 14, 15),
):  # fmt: skip
    _by = partial(of_batches, **_steps)
    OP.mutant(_text, *_versions, name=_name, by=_by)(inverse)
