"""BatchNormalization, all versions: each channel by its mean and variance.

In inference, these statistics are inputs:

    Y = (X - input_mean) / sqrt(input_var + epsilon) * scale + B

In training they are those of the batch, and the running ones are updated:

    running_mean = input_mean * momentum + current_mean * (1 - momentum)
    running_var = input_var * momentum + current_var * (1 - momentum)
    Y = (X - current_mean) / sqrt(current_var + epsilon) * scale + B

Before version 14 there are five outputs in training, the last two being the current statistics,
and with `spatial` 0 each element of (C, D1, …, Dn) has statistics of its own.

The parts of the file: the steps; the formula; the operator; its mutants.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import nan, prod
from typing import NamedTuple, TypeAlias

from opcheck import numbers as xp
from opcheck.engine.operators import (
    Formula,
    check_shape,
    formulas_of_versions,
    operator,
    raise_unspecified,
)
from opcheck.engine.ops.normalizations import (
    EPSILON_AFTER_THE_ROOT,
    EPSILON_AS_FLOOR,
    FOLDED,
    RANKS,
    UNBIASED,
    Axes,
    InverseRoot,
    Scaling,
    VarianceOf,
    cancelling_variance,
    check_rank,
    epsilon_after_the_root,
    epsilon_as_floor,
    folded,
    inverse_root,
    sample_variance,
    scaled,
    variance,
)
from opcheck.engine.readings import Ruling
from opcheck.engine.rulings import flag
from opcheck.engine.undefined import undefined_where
from opcheck.errors import InvalidNode, reject
from opcheck.numbers import Tensor


class Statistics(NamedTuple):
    """A mean and a variance, each in a shape that broadcasts to X."""

    mean: Tensor
    var: Tensor


#: The running variance is that of the population or of a sample, as a reading begins. The saved one
#: is that of the population ("population", "sample"), of a sample ("samples"), or the inverse root
#: of the population's, 1 / sqrt(variance + epsilon).
KEPT_VARIANCES = Ruling(
    "kept-variances",
    "The texts before version 14 do not state which variance is kept in training: the running one "
    "may be that of a sample, as in the paper, and the saved one its inverse root.",
    ("population", "sample", "samples", "population_and_inverse", "sample_and_inverse"),
)

FURTHER_OUTPUTS_OF_TESTS = Ruling(
    "further-outputs-of-tests",
    'The further outputs "should not be used for testing", and the text does not state whether a '
    "node in test mode may have them.",
    ("anything", "refused"),
)

#: Makes the running statistics of those before, those of the batch, momentum, and the number of
#: elements that each is of.
Update: TypeAlias = Callable[[Statistics, Statistics, float, int], Statistics]
#: Chooses the statistics that normalize in training, from those before and those of the batch.
Choice: TypeAlias = Callable[[Statistics, Statistics], Statistics]
#: Makes the statistics that normalize in inference, from the inputs and what makes a variance.
Inference: TypeAlias = "Callable[[Batch, VarianceOf], Statistics]"

#: With 9, spatial went, and with it what needs an axis of channels.
_RANKS_SINCE_9 = range(1, 64)
#: The numbers of axes that X may have, by version.
RANKS_OF_VERSIONS = {1: range(4, 5), 6: RANKS, 7: RANKS, 9: _RANKS_SINCE_9}
#: Up to version 6 `is_test` decides if the node is in training, later the number of outputs does.
_LAST_WITH_IS_TEST = 6
#: The number of outputs before version 14: in inference, and in training.
_OUTPUTS_BEFORE_14 = (1, 5)


# ── the steps ─────────────────────────────────────────────────────────────────────────────────


def updated(old: Statistics, new: Statistics, momentum: float, count: int) -> Statistics:
    """Return the running statistics: old * momentum + new * (1 - momentum), as the text writes it.

    `count`, the number of elements that each new statistic is of, changes nothing.
    """
    rest = 1 - xp.real(momentum)
    return Statistics(
        old.mean * momentum + new.mean * rest,
        old.var * momentum + new.var * rest,
    )


def moved(old: Statistics, new: Statistics, momentum: float, count: int) -> Statistics:
    """Return the running statistics by how far each moves: old - (1 - momentum) * (old - new).

    `count` changes nothing.
    """
    rest = 1 - xp.real(momentum)
    return Statistics(
        old.mean - rest * (old.mean - new.mean),
        old.var - rest * (old.var - new.var),
    )


def of_the_batch(old: Statistics, new: Statistics) -> Statistics:
    """Return the statistics that normalize in training: those of the batch."""
    return new


def of_the_inputs(batch: "Batch", variance: VarianceOf) -> Statistics:
    """Return the statistics that normalize in inference: the inputs mean and var."""
    return batch.statistics()


@dataclass(frozen=True)
class Steps:
    """The steps of the formula; alternatives and mutants have another one.

    Attributes:
        inverse_root: Makes 1 / sqrt(var + epsilon).
        variance: Makes the variance of the batch.
        update: Makes the running statistics.
        scaling: Makes Y.
        choice: Chooses the statistics that normalize in training.
        inference: Makes those that normalize in inference.
    """

    inverse_root: InverseRoot = inverse_root
    variance: VarianceOf = variance
    update: Update = updated
    scaling: Scaling = scaled
    choice: Choice = of_the_batch
    inference: Inference = of_the_inputs


@dataclass(frozen=True)
class Batch:
    """The inputs of a node.

    Attributes:
        X: (N, C, D1, …, Dn), or (N).
        scale, B, mean, var: (C), or (1) for X of one axis; `per_activation` (C, D1, …, Dn).
        per_activation: Each element of (C, D1, …, Dn) has its own statistics.
    """

    X: Tensor
    scale: Tensor
    B: Tensor
    mean: Tensor
    var: Tensor
    per_activation: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of scale, B, mean and var, and of outputs with statistics."""
        if self.per_activation:
            return self.X.shape[1:]
        return self.X.shape[1:2] or (1,)

    @property
    def axes(self) -> Axes:
        """The axes of X that statistics are taken along."""
        if self.per_activation:
            return (0,)
        return tuple(axis for axis in range(self.X.ndim) if axis != 1)

    @property
    def count(self) -> int:
        """The number of elements that a statistic is of."""
        return self.X.size // prod(self.shape)

    def broadcast(self, x: Tensor) -> Tensor:
        """Return scale, B, mean or var, of `shape`, in a shape that broadcasts to X."""
        shape = self.shape if self.per_activation else (-1, *[1] * (self.X.ndim - 2))
        return xp.reshape(x, shape)

    def statistics(self) -> Statistics:
        """Return mean and var, which broadcast to X."""
        return Statistics(self.broadcast(self.mean), self.broadcast(self.var))

    def current(self, variance: VarianceOf) -> Statistics:
        """Return the mean and variance of X itself, which broadcast to it."""
        return Statistics(
            xp.mean(self.X, axis=self.axes, keepdims=True), variance(self.X, self.axes)
        )

    def check(self, *, training: bool) -> None:
        """Raise InvalidNode unless scale, B, mean and var have `shape`.

        Raises NotSupported for several types of which one is float64 (B's type does not count), and
        in `training` for an X without elements.
        """
        check_shape("scale", self.scale, self.shape)
        check_shape("B", self.B, self.shape)
        check_shape("mean", self.mean, self.shape)
        check_shape("var", self.var, self.shape)
        types = {str(x.dtype) for x in (self.X, self.scale, self.mean, self.var)}
        if len(types) > 1 and "float64" in types:
            raise_unspecified("mixing float64 with other types")
        if training and not self.X.size:
            raise_unspecified("statistics of no elements")


def normalized(steps: Steps, batch: Batch, statistics: Statistics, epsilon: float) -> Tensor:
    """Return Y, in the shape and type of X.

    The statistics broadcast to X; `steps` make the root and scale. A variance below -epsilon gives
    NaN, and one of -epsilon an infinity, or NaN where X is the mean.
    """
    y = steps.scaling(
        batch.X,
        statistics.mean,
        steps.inverse_root(statistics.var, epsilon),
        batch.broadcast(batch.scale),
        batch.broadcast(batch.B),
    )
    return xp.astype(y, batch.X.dtype)


def in_inference(steps: Steps, batch: Batch, epsilon: float) -> tuple[Tensor]:
    """Return Y alone, normalized by mean and var.

    Raises InvalidNode unless scale, B, mean and var have the batch's shape, NotSupported for
    float64 mixed with other types. An empty X gives an empty Y.
    """
    batch.check(training=False)
    return (normalized(steps, batch, steps.inference(batch, steps.variance), epsilon),)


def in_training(
    steps: Steps, batch: Batch, momentum: float, epsilon: float, *, kept: str = "population"
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Return Y, the running mean and variance, and the saved mean and variance of the batch.

    Statistics have the shape and type of `batch.mean`. The variance that normalizes is that of the
    population; those that come out are as a reading of KEPT_VARIANCES, `kept`, has them.

    Raises InvalidNode unless scale, B, mean and var have the batch's shape, NotSupported for
    float64 mixed with other types and for an X without elements.
    """
    batch.check(training=True)
    old = batch.statistics()
    current = batch.current(steps.variance)
    y = normalized(steps, batch, steps.choice(old, current), epsilon)
    averaged, saved = kept_statistics(current, batch.count, epsilon, kept)
    running = steps.update(old, averaged, momentum, batch.count)
    running_mean, running_var, saved_mean, saved_var = (
        xp.astype(xp.reshape(x, batch.shape), batch.mean.dtype) for x in (*running, *saved)
    )
    return y, running_mean, running_var, saved_mean, saved_var


def kept_statistics(
    current: Statistics, count: int, epsilon: float, kept: str
) -> tuple[Statistics, Statistics]:
    """Return the statistics that the running ones are averaged with, and the saved ones.

    kept: the reading of KEPT_VARIANCES, which says if either variance is that of the population, of
    a sample, or in the saved ones 1 / sqrt(variance + epsilon). current: the statistics of the
    batch as a population; count: the number of elements that each is of.
    """
    if kept == "population":
        return current, current
    inverse = Statistics(current.mean, inverse_root(current.var, epsilon))
    if kept == "population_and_inverse":
        return current, inverse
    sample = Statistics(current.mean, current.var * of_one_less(count))
    saved = {"sample": current, "samples": sample, "sample_and_inverse": inverse}
    return sample, saved[kept]


def further_outputs_of_test(batch: Batch) -> tuple[Tensor, ...]:
    """Return the mean and variance, and the saved ones, of a node in test mode that has them.

    They may be anything, and are those of the inputs here. Raises InvalidNode if
    FURTHER_OUTPUTS_OF_TESTS refuses them; NotSupported in a judged graph.
    """
    reject(FURTHER_OUTPUTS_OF_TESTS.reading() == "refused", "further outputs in test mode")
    further = (batch.mean, batch.var, batch.mean, batch.var)
    return tuple(undefined_where(x, True, "further outputs in test mode") for x in further)


def of_one_less(count: int) -> float:
    """Return what makes the variance of a sample of that of a population: count / (count - 1).

    NaN of one element, of which a sample has no variance.
    """
    return count / (count - 1) if count > 1 else nan


# ── the formula ───────────────────────────────────────────────────────────────────────────────


@formulas_of_versions(each={since: since for since in RANKS_OF_VERSIONS})
def before_14(
    steps: Steps,
    since: int,
    X: Tensor,
    scale: Tensor,
    B: Tensor,
    mean: Tensor,
    var: Tensor,
    *,
    epsilon: float,
    momentum: float,
    outputs: int,
    is_test: int = 0,
    spatial: int = 1,
) -> tuple[Tensor, ...]:
    """Return "Y (test mode)", or "Y, mean, var, saved_mean, saved_var (training mode)".

    X: (N, C, D1, …, Dn), since version 9 also (N); scale, B, mean and var, and outputs with
    statistics: (C), or (1) for (N). With `spatial` 0 since version 7 they are (C, D1, …, Dn): each
    element has its own statistics. Up to version 6 the node is in training if `is_test` is 0; since
    version 7, if it has more than one of its `outputs`. Another number than 0 and 1 of `spatial`
    counts as either, or raises InvalidNode: FLAG_OF_ANOTHER_NUMBER. The further outputs follow
    KEPT_VARIANCES; in test mode they may be anything, or are refused: FURTHER_OUTPUTS_OF_TESTS.
    since: the version.

    Raises InvalidNode for other shapes, and for a rank of X that the version does not have: 4 in
    version 1, 2 or more in 6 and 7, 1 or more in 9.

    Raises NotSupported for other numbers of outputs than 1 and 5, `spatial` 0 in training before
    version 7, float64 mixed with other types, and an empty X in training.
    """
    is_training = not is_test if since <= _LAST_WITH_IS_TEST else outputs > 1
    if outputs not in _OUTPUTS_BEFORE_14:
        raise_unspecified(f"{outputs} outputs")
    is_spatial = flag("spatial", spatial)
    if since <= _LAST_WITH_IS_TEST and not is_spatial and is_training:
        raise_unspecified("spatial 0 in training")
    check_rank("X", X, RANKS_OF_VERSIONS[since])
    # In version 6 and before, `spatial` is about how statistics are computed, not their shape.
    per_activation = since > _LAST_WITH_IS_TEST and not is_spatial
    batch = Batch(X, scale, B, mean, var, per_activation)
    if is_training:
        kept = KEPT_VARIANCES.reading() if outputs > 1 else "population"
        return in_training(steps, batch, momentum, epsilon, kept=kept)
    normalized_alone = in_inference(steps, batch, epsilon)
    if outputs == 1:
        return normalized_alone
    return (*normalized_alone, *further_outputs_of_test(batch))


@formulas_of_versions(14, 15)
def since_14(
    steps: Steps,
    X: Tensor,
    scale: Tensor,
    B: Tensor,
    input_mean: Tensor,
    input_var: Tensor,
    *,
    epsilon: float,
    momentum: float,
    outputs: int,
    training_mode: int,
) -> tuple[Tensor, ...]:
    """Return "Y, running_mean, running_var (training_mode=True)", or "Y (training_mode=False)".

    X: (N, C, D1, …, Dn), or (N); the other inputs, and outputs with statistics: (C), or (1) for
    (N). steps: what mutants change; outputs: the number of the node's outputs.

    Raises InvalidNode for other shapes, for an X of rank 0, and: "When training_mode=False, extra
    outputs are invalid." A training_mode other than 0 and 1 counts as either, or raises it:
    FLAG_OF_ANOTHER_NUMBER.

    Raises NotSupported for float64 mixed with other types, and for an X without elements in
    training.
    """
    is_training = flag("training_mode", training_mode)
    if outputs > 1 and not is_training:
        raise InvalidNode(f"{outputs} outputs without training_mode; allowed: 1")
    check_rank("X", X, _RANKS_SINCE_9)
    batch = Batch(X, scale, B, input_mean, input_var)
    if not is_training:
        return in_inference(steps, batch, epsilon)
    y, running_mean, running_var, *_ = in_training(steps, batch, momentum, epsilon)
    return y, running_mean, running_var


def batch_normalization(steps: Steps) -> Mapping[int, Formula]:
    """Return the formula of each version, by the first opset of it."""
    return {**since_14(steps), **before_14(steps)}


OP = operator("BatchNormalization")
OP.formula(build=batch_normalization)(Steps())
OP.alternative(FOLDED, build=batch_normalization)(
    Steps(variance=cancelling_variance, scaling=folded)
)
OP.alternative("", build=batch_normalization)(Steps(update=moved))


# ── mutants ───────────────────────────────────────────────────────────────────────────────────


def of_earlier_batches(old: Statistics, new: Statistics) -> Statistics:
    """Mutant: the running statistics normalize in training."""
    return old


def of_x_itself(batch: Batch, variance: VarianceOf) -> Statistics:
    """Mutant: the batch's own statistics normalize in inference too, if there are any."""
    return batch.current(variance) if batch.X.size else batch.statistics()


def momentum_exchanged(old: Statistics, new: Statistics, momentum: float, count: int) -> Statistics:
    """Mutant: old * (1 - momentum) + new * momentum."""
    return updated(new, old, momentum, count)


def unbiased_running_variance(
    old: Statistics, new: Statistics, momentum: float, count: int
) -> Statistics:
    """Mutant: the running variance takes that of a sample, divided by one less."""
    of_sample = new.var * (count / max(1, count - 1))
    return updated(old, Statistics(new.mean, of_sample), momentum, count)


OP.mutant_table(
    {
        "epsilon_after_the_root": (
            EPSILON_AFTER_THE_ROOT,
            Steps(inverse_root=epsilon_after_the_root),
        ),
        "epsilon_as_floor": (EPSILON_AS_FLOOR, Steps(inverse_root=epsilon_as_floor)),
    },
    build=batch_normalization,
)
# Of versions 7 and 9 it is open which variance is kept in training.
OP.mutant_table(
    {
        "unbiased": (UNBIASED, Steps(variance=sample_variance)),
        "running_statistics_used": (
            "the running statistics normalized in training",
            Steps(choice=of_earlier_batches),
        ),
    },
    1,
    6,
    14,
    15,
    build=batch_normalization,
)
OP.mutant_table(
    {
        "momentum_exchanged": (
            "the momentum was that of the batch",
            Steps(update=momentum_exchanged),
        ),
        "unbiased_running_variance": (
            "the running variance was that of a sample, not the population",
            Steps(update=unbiased_running_variance),
        ),
    },
    14,
    15,
    build=batch_normalization,
)
OP.mutant(
    "the batch's own statistics normalized in inference too",
    name="batch_statistics_always",
    build=batch_normalization,
    is_asked=False,
)(Steps(inference=of_x_itself))
