"""Outputs of a node that may differ between sound implementations, and what each tier allows."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from opcheck import numbers
from opcheck.dtypes import DType, half_ulp, nearest_integers, round_to
from opcheck.engine.tiers import Tier
from opcheck.errors import NotSupported
from opcheck.model import Array
from opcheck.numbers.arithmetic import expected
from opcheck.numbers.bounded.array import (
    ANYTHING,
    OVERFLOWED,
    Bounded,
    Common,
    Lost,
    difference_of,
    errors_around,
    is_finite,
    magnitude_of,
)
from opcheck.numbers.bounded.choice import Truth

if TYPE_CHECKING:
    from opcheck.engine.evaluate import Evaluation

_LARGEST_FLOAT64 = np.finfo(np.float64).max
#: Roundoffs of float64 that a reference in float64 may be off by beyond its formula's bound.
_FINE = 2.0**-51
#: A reference of wider values rounds so much finer, and more.
_WIDER = 2.0**-8
#: What the products of errors may add to the error that is allowed.
_SECOND_ORDER = 1.005
#: An error beyond so many roundoffs is notable.
_NOTABLE = 16
#: Quantiles of larger outputs are not kept for other backends.
_LARGEST_KEPT = 1 << 15


class Room(NamedTuple):
    """Error that a tier allows around an output's value, before rounding to its dtype.

    Attributes:
        own: Each element's own error, in the output's shape.
        shared: The relative error that all elements of a group have in common, or None.
        lost: The elements for which an intermediate result may have left the range, by the levels
            of `numbers.bounded.array`; 0 for others, None if there are none. The sign that a level
            speaks of is that of the output's `values`.
        admitted: All that a boolean or an index may be, along an axis more, the last; None for
            numbers.
        unknown: A mask of elements whose value is beyond what can be computed, or False.
    """

    own: Any
    shared: Common | None = None
    lost: Any = None
    admitted: Any = None
    unknown: Any = False


@dataclass(frozen=True, eq=False)
class Expected:
    """An output of an evaluation that may differ between sound implementations.

    The value is `values` + `rest`, in float64 and of the output's shape; `rest` is what float64 has
    no room for, None where it is known to float64's precision only.
    """

    evaluation: "Evaluation"
    place: int
    dtype: DType
    _rooms: dict[Tier, Room] = field(default_factory=dict, init=False, repr=False)

    @property
    def output(self) -> Any:
        """The output of the first tier."""
        return self.evaluation.expected[self.place]

    @cached_property
    def values(self) -> Any:
        """The values in float64; those too large are its largest number."""
        v = self.output.v
        if v.dtype == np.float64:
            return v
        with np.errstate(over="ignore", invalid="ignore"):
            near = v.astype(np.float64)
            over = np.isinf(near) & is_finite(v)
            return np.where(over, np.copysign(_LARGEST_FLOAT64, near), near)

    @cached_property
    def rest(self) -> Any:
        """The part of the values beyond float64, or None."""
        if self.output.v.dtype == np.float64:
            return None
        with np.errstate(over="ignore", invalid="ignore"):
            # The difference of mpmath's numbers of rank 0 is a bare number.
            rest = np.asarray(self.output.v - self.values).astype(np.float64)
        rest = np.where(np.isnan(rest), 0.0, rest)
        return np.clip(rest, -_LARGEST_FLOAT64, _LARGEST_FLOAT64)

    def rounded(self) -> Array:
        """Return the values rounded once to the output's dtype, to nearest, ties to even.

        Of several integers that are right, that is one in their middle. What an integer type does
        not hold is an end of it, and NaN is 0: such an element is lost, and any number is right.
        """
        if self.output.v.dtype.kind in "iu":
            return np.asarray(self.output.v).astype(self.dtype.numpy)
        if self.dtype.kind == "int":
            return nearest_integers(self.values, self.rest, self.dtype)
        # Nothing but −0 leaves a −0 what it is.
        rest = -0.0 if self.rest is None else np.where(self.rest == 0, -0.0, self.rest)
        with np.errstate(over="ignore"):
            return np.asarray(round_to(self.values + rest, self.dtype))

    def integer_ends(self, room: Room) -> tuple[Array, Array]:
        """Return the lowest and the highest right value of each integer; of an index its own value.

        An integer that is lost in `room` has the ends of its type.
        """
        if room.admitted is not None:
            return self.rounded(), self.rounded()
        below = np.ceil(self.values - room.own)
        above = np.floor(self.values + room.own)
        if room.lost is not None:
            below = np.where(room.lost > 0, -np.inf, below)
            above = np.where(room.lost > 0, np.inf, above)
        lowest = nearest_integers(below, None, self.dtype)
        return lowest, nearest_integers(above, None, self.dtype)

    def tiers(self, declared: Collection[str] = ()) -> tuple[Tier, ...]:
        """Return the tiers in the order in which they are tried; `declared` ones have no remark."""
        return self.evaluation.tiers(declared, self.dtype)

    def deviations(self, cut: float = 0.0) -> Iterator[tuple[Any, Any]]:
        """Yield for each sound formulation how far it is from the values, and its scatter.

        That is the standard deviation of each element under independent roundings of the expected
        arithmetic, of the rounding to the output's dtype too, and of inputs that were rounded to
        the unit roundoff `cut`. What a graph has in 16 bits may be computed in 16 bits. Nothing is
        yielded where there is no such theory of errors.
        """
        first, *others = self.tiers()
        sound = [first]
        sound += [t for t in others if not t.remark and t.arithmetic == first.arithmetic]
        sound += [t for t in others if t.arithmetic.half is not None]
        yield from self._deviations_of(sound, cut)

    def deviations_of(self, tier: Tier) -> Iterator[tuple[Any, Any]]:
        """Yield the same of one tier, such as that of a declared arithmetic."""
        yield from self._deviations_of([tier])

    def deviations_without_casts(self) -> Iterator[tuple[Any, Any]]:
        """Yield the same of implementations that leave out a graph's casts to 16 bits."""
        without = [tier for tier in self.tiers() if tier.arithmetic.keeps_casts]
        yield from self._deviations_of(without)

    def _deviations_of(self, tiers: Sequence[Tier], cut: float = 0.0) -> Iterator[tuple[Any, Any]]:
        """Yield how far each of these tiers is from the values, and its scatter."""
        for tier in tiers:
            arithmetic = replace(tier.arithmetic, scatters=True, cut=cut)
            try:
                outputs = self.evaluation.outputs(replace(tier, arithmetic=arithmetic))
            except NotSupported:  # Numbers that are rounded further may decide less.
                continue
            output = outputs[self.place]
            variance = output.variance() if isinstance(output, Bounded) else None
            if not isinstance(output, Bounded) or variance is None:
                continue
            if output.grid.dtype != self.dtype:
                variance = variance + half_ulp(self.values, self.dtype) ** 2 / 3
            deviation = np.sqrt(variance).astype(np.float64, copy=False)
            yield difference_of(output.v, self.output.v).astype(np.float64, copy=False), deviation

    def floor(self, tier: Tier) -> float:
        """Return the size below which numbers of a tier, or elements of the output, may become 0.

        The output of doubles may be float32, where more is flushed than in float64.
        """
        return max(tier.arithmetic.floor, expected(self.dtype).floor)

    def certain(self, tier: Tier) -> float:
        """Return a relative error that a tier allows every element, known without its bound.

        It is 0 of outputs other than numbers.
        """
        output = self.evaluation.outputs(tier)[self.place]
        if not isinstance(output, Bounded):
            return 0.0
        roundoffs = self._roundoffs_before_output(output)
        return float(output.min_relative_error + roundoffs * output.grid.u)

    def _roundoffs_before_output(self, output: Bounded) -> float:
        """Return the roundoffs of the last rounding, without that to the output's own type."""
        if output.grid.dtype == self.dtype:
            return max(0.0, output.k - 1)
        return output.k

    def room(self, tier: Tier) -> Room:
        """Return the error a tier allows around its own values, nearly those of the first tier."""
        if tier not in self._rooms:
            with np.errstate(all="ignore"):
                self._rooms[tier] = self._room(tier)
        return self._rooms[tier]

    def _room(self, tier: Tier) -> Room:
        """Return what `room` returns, without a cache.

        A comparison admits both of what is unsure, and an index all that it lists; numbers have
        errors.
        """
        output = self.evaluation.outputs(tier)[self.place]
        if isinstance(output, Truth):
            both = np.stack([output.v, output.v ^ output.unsure], axis=-1)
            return Room(np.zeros(self.output.shape), admitted=both)
        if not isinstance(output, Bounded):
            admitted = getattr(output, "admitted", None)
            return Room(np.zeros(self.output.shape), admitted=admitted)
        common = output.errors.common
        if common is not None:
            down = common.down.astype(np.float64, copy=False)
            up = common.up.astype(np.float64, copy=False)
            common = Common(down, up, common.group)
        return Room(
            own=self._in_float64(output, self._own_error(tier, output)),
            shared=common,
            lost=self._levels(output),
            unknown=self.evaluation.unknown(output),
        )

    def _levels(self, output: Bounded) -> Lost | None:
        """Return the levels of lost elements, whose signs are those of the first tier's values.

        `ANYTHING` where `output`, the tier's own, has another sign than these.
        """
        if output.lost is None:
            return None
        levels = output.lost.astype(np.int8)
        if output.v is self.output.v:
            return levels
        are_above_0 = (output.v > 0) & (self.output.v > 0)
        is_turned = ~(are_above_0 | ((output.v < 0) & (self.output.v < 0)))
        has_a_sign = (levels & OVERFLOWED) > 0
        return np.where(has_a_sign & is_turned, ANYTHING, levels)

    def _own_error(self, tier: Tier, output: Bounded) -> Any:
        """Return the error of each element around the values of the first tier."""
        magnitude = np.asarray(np.abs(output.v))
        own = errors_around(output.v, np.zeros(magnitude.shape) if output.e is None else output.e)
        if output.k > 0 or output.e is not None:
            k = self._roundoffs_before_output(output)
            # What the reference itself may be off by, which rounds 2^11 times finer or more.
            fine = _FINE if output.v.dtype == np.float64 else _FINE * _WIDER
            own = own + magnitude * (k * output.grid.u + fine)
            own *= _SECOND_ORDER
            if output.k and k == output.k and output.grid.step:
                own += output.grid.step
            own += self._error_of_flushing(tier, output, own)
        is_other = tier.formula is not None or tier.arithmetic.keeps_casts
        if is_other and output.v is not self.output.v:
            own = own + np.abs(difference_of(output.v, self.output.v))
        return own

    def _in_float64(self, output: Bounded, own: Any) -> Any:
        """Return errors in float64; infinite where they are NaN, and 0 of infinities and NaN."""
        magnitude = np.asarray(np.abs(output.v))
        if magnitude.dtype != np.float64:
            # Values beyond float64 count as twice its largest number, where this then starts.
            own = np.maximum(own - 2 * np.maximum(magnitude / 2 - _LARGEST_FLOAT64, 0), 0)
        own = np.asarray(own).astype(np.float64, copy=False)
        is_finite_everywhere = own.max(initial=0) < np.inf
        if is_finite_everywhere:
            return own
        own = np.where(np.isnan(own), np.inf, own)  # It is as good as none.
        return np.where(is_finite(output.v), own, 0.0)

    def _error_of_flushing(self, tier: Tier, output: Bounded, own: Any) -> Any:
        """Return what each element may be off by because subnormal numbers are flushed to 0.

        Engines flush outputs of any type but float16. A coarser arithmetic flushes in its own type.
        `own` is the error that elements are allowed anyway.
        """
        if self.dtype.name == "float16":
            return 0.0
        floor = expected(self.dtype).floor
        flushed: Any = floor
        if not output.v.all():
            flushed = np.where((output.v != 0) | (own > 0), floor, 0.0)
        if tier.arithmetic.everywhere:
            magnitude = magnitude_of(output.v)
            is_small = magnitude + own < tier.arithmetic.floor
            flushed = flushed + np.where(is_small, magnitude, 0.0)
        return flushed

    def range_loss(self, tier: Tier) -> Any:
        """Mask where a tier that may leave the range allows notably more than its formula else."""
        usual = next(other for other in self.tiers() if other.formula is tier.formula)
        first = self.room(usual)
        later = self.room(tier)
        with np.errstate(invalid="ignore"):
            increase = later.own - first.own
        magnitude = np.abs(self.values)
        # What is flushed is off by its own size at most.
        roundoffs = _NOTABLE * tier.arithmetic.u * magnitude
        notable = roundoffs + np.minimum(tier.arithmetic.floor, magnitude)
        lost = np.zeros(increase.shape, np.bool_) if later.lost is None else later.lost > 0
        return lost | ~(increase <= notable)


@dataclass(frozen=True, eq=False)
class Drawn:
    """An output of numbers drawn at random, each apart from all others.

    `answer` draws all outputs, this one at `place`. Where they are computed from the draws,
    `related` finds in all outputs where they contradict each other.
    """

    answer: Callable[[], Sequence[Array]]
    place: int
    related: Callable[[Sequence[Array]], Any] | None = None
    _known: dict[float, Array] = field(default_factory=dict, init=False)

    def quantiles(self, share: float) -> Array:
        """Return for each element the number below which this share of what may be drawn lies.

        Of a formula that falls as its numbers rise, the share above it.
        """
        known = self._known.get(share)
        if known is not None:
            return known
        with numbers.setting(numbers.share, share):
            quantiles = self.answer()[self.place]
        if quantiles.size <= _LARGEST_KEPT:
            self._known[share] = quantiles
        return quantiles

    def rounded(self) -> Array:
        """Return such numbers, others each time unless there is a seed.

        Raises what the formula raises on these inputs.
        """
        return self.answer()[self.place]


#: The outputs of a node: plain arrays where they are exact.
Outputs: TypeAlias = tuple[Array | Expected | Drawn, ...]


def rounded(output: Array | Expected | Drawn) -> Array:
    """Return an output as an array of its dtype; one that is drawn, other numbers each time."""
    return output if isinstance(output, np.ndarray) else output.rounded()
