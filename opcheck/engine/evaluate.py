"""From a node to its outputs: plain, with proven bounds, or to as many digits as are asked for."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from typing import Any, NamedTuple, TypeAlias, TypeGuard

import numpy as np

from opcheck import budget, dtypes, interrupt, numbers, opset
from opcheck.dtypes import DTYPES, DType, half_ulp, round_to
from opcheck.engine.node import BoundNode, Node, bind
from opcheck.engine.operators import Formula, Operator, explained, located
from opcheck.engine.readings import Reading, each_reading, following, reader_in_force
from opcheck.engine.sizes import check_sizes
from opcheck.errors import InvalidNode, NotSupported, WrongOperator
from opcheck.model import GRAPH, Array
from opcheck.numbers.arithmetic import EXACT, Arithmetic, Kind, expected, narrow, stored
from opcheck.numbers.bounded.array import (
    VALUES,
    Bounded,
    Common,
    bounded,
    is_finite,
    minus,
    reach,
    size_of,
)
from opcheck.numbers.bounded.choice import Indices, Truth, with_ieee
from opcheck.numbers.faulty import Faulty, bare

#: An output of a formula on bounded numbers; a plain array is exact.
Output: TypeAlias = Bounded | Truth | Indices | Array

_OUT_OF_RANGE = "right but where an intermediate result left the range of the arithmetic"
#: The most elements that mpmath computes, which takes some minutes for as many.
_LARGE = 1 << 20
#: Roundoffs of float64 that a reference in float64 may be off by beyond its formula's bound.
_FINE = 2.0**-51


def is_real(array: Array | None) -> TypeGuard[Array]:
    """Return True for a tensor of floating numbers that have room for error."""
    dtype = None if array is None else dtypes.of(array)
    return dtype is not None and dtype.kind == "float"


def evaluate(
    node: Node,
    formula: Formula | None = None,
    faults: numbers.Faults | None = None,
    trace: set[str] | None = None,
) -> tuple[Array, ...]:
    """The outputs in the tensors' own types, 16-bit ones computed in float32 and rounded once.

    They share no memory with the inputs. `formula` takes the place of the operator's own, `faults`
    of functions that it calls; `trace` collects the names of these.

    Raises what `bind` raises, InvalidNode for what the formula forbids, and WrongOperator.
    """
    return _in_own_types(bind(node, formula), faults, trace)


def _in_own_types(
    bound: BoundNode, faults: numbers.Faults | None = None, trace: set[str] | None = None
) -> tuple[Array, ...]:
    convert = _native if bound.operator.exact or bound.schema.graphs else _widened
    lift = (lambda array: array) if faults is None and trace is None else _made_faulty
    outputs = _called(bound, lift, map(convert, bound.node.inputs), faults, trace)
    return tuple(_typed(bound, place, bare(output)) for place, output in enumerate(outputs))


def _native(array: Array | None) -> Array | None:
    return None if array is None else array.astype(array.dtype.newbyteorder("="), copy=False)


def _widened(array: Array | None) -> Array | None:
    """`array` in the machine's byte order, and a 16-bit float in float32."""
    return dtypes.widened(array) if is_real(array) and array.dtype.itemsize == 2 else _native(array)


def _made_faulty(array: Any) -> Any:
    """A faulty array of a floating tensor; a single float64 may be a number of the formula's."""
    if not is_real(array) or (not array.ndim and array.dtype == np.float64):
        return array
    return Faulty(array)


def _called(
    bound: BoundNode,
    lift: Callable[[Any], Any],
    inputs: Iterable[Array | None],
    *watched: Any,
    lost: list[object] | None = None,
) -> Sequence[Any]:
    """The outputs of the formula on the kind of numbers to which `lift` brings an array.

    `watched` are faults and a trace; see `numbers.lifting`. `lost` collects what left its range.
    """
    operands = list(map(lift, inputs))
    attrs = bound.attrs
    if bound.graphs:
        own = len(operands) - max(one.outer for one in bound.graphs.values())
        if own < sum(one.option == "single" for one in bound.schema.inputs):
            raise InvalidNode(f"{bound.node.op}: {len(operands)} tensors, of which graphs use more")
        attrs = {**attrs, **{n: one.within(operands[own:]) for n, one in bound.graphs.items()}}
        operands = operands[:own]
    try:
        errors: dict[str, Any] = {"all": "ignore"}
        if lost is not None:
            errors |= {"over": "call", "under": "call", "call": lambda *kind: lost.append(kind)}
        with numbers.lifting(lift, *watched), np.errstate(**errors), budget.counting():
            check_sizes(bound.node.op, operands, attrs)
            outputs = bound.formula(*operands, **attrs)
    except InvalidNode as error:
        text = str(error)
        prefix = f"{bound.node.op}: "
        raise InvalidNode(text if text.startswith(prefix) else prefix + text) from None
    except (MemoryError, NotSupported):
        raise
    except Exception as error:
        interrupt.safe_place()  # NumPy makes a SystemError of an interrupt
        fed = [f"{dtypes.of(x) or x.dtype}{[*x.shape]}" for x in bound.node.given]
        fed += [f"{name}={value}" for name, value in bound.attrs.items()]
        text = f"the formula raised {explained(error)}; fed {', '.join(fed)}"
        text += " (InvalidNode is for what the specification forbids)"
        raise _wrong(bound, text, error) from error
    found: Sequence[Any] = outputs if isinstance(outputs, tuple | list) else (outputs,)
    declared = bound.schema.outputs
    if declared[-1].listed:
        found = _of_sequence(bound, found)
    if len(found) > len(declared) and declared[-1].option != "variadic":
        raise _wrong(bound, f"the formula returns {len(found)} outputs; allowed: {len(declared)}")
    asked = bound.node.outputs
    if len(found) < (wanted := bound.node.count):
        raise _wrong(bound, f"the formula returns {len(found)} of {wanted} outputs")
    return found if asked is None else [found[place] for place in asked]


def _of_sequence(bound: BoundNode, tensors: Sequence[Any]) -> Sequence[Any]:
    """The length of a sequence and its tensors, or what it takes; see `without_sequences`."""
    length = np.array(len(tensors))
    if bound.schema.outputs[-1].option == "single":
        dtype = opset.output_dtype(bound.schema, bound.schema.outputs[-1], {}, bound.attrs)
        return length, np.empty(0, dtype.numpy if dtype else None)
    if len(tensors) < bound.node.count - 1:
        few = f"a sequence of {len(tensors)}, too few for what is asked"
        raise InvalidNode(f"{bound.node.op}: {few}")
    return length, *tensors


def _wrong(bound: BoundNode, text: str, error: Exception | None = None) -> WrongOperator:
    return WrongOperator(f"{located(bound.formula, error)}: {bound.node.op}: {text}")


def _typed(bound: BoundNode, place: int, output: Any) -> Array:
    """An output in its dtype; floats are rounded to it, integers wrap around, true is 1."""
    dtype = bound.output_dtype(place)
    # NumPy makes a text of an array of rank 0.
    array = np.asarray(output, object if isinstance(output, str) else None)
    # A reshaped array of the formula's own is good as it is.
    own = array.base is None or (np.size(array.base) == array.size and array.flags.carray)
    if not own or any(np.may_share_memory(array, operand) for operand in bound.node.given):
        array = array.copy()
    if dtype is None or array.dtype == dtype.numpy:
        return array
    if dtype.kind == "float" and array.dtype.kind == "f":
        if dtype.numpy.itemsize == 2 and array.dtype == np.float32:
            with np.errstate(invalid="ignore"):
                found = dtypes.narrowed(np.ascontiguousarray(array), dtype.numpy)
                return found.reshape(array.shape)
        return round_to(array.astype(np.float64), dtype)
    if dtype.kind == "int" and array.dtype.kind in "biu":
        return array.astype(dtype.numpy)
    raise _wrong(bound, f"output {place} is {array.dtype} and not {dtype}")


@dataclass(frozen=True)
class Tier:
    """An arithmetic and a formulation: the expected one, or a coarser one that is tolerated.

    An output that needs a tier with a `remark` is a warning that this remark explains. `ranged`:
    it is about range, so that its remark holds where an error comes of that alone.
    """

    name: str
    arithmetic: Arithmetic
    formula: Formula | None = None
    remark: str = ""
    ranged: bool = False

    def __hash__(self) -> int:
        return hash((self.name, self.formula))  # Many of the arithmetic's fields take long.


class Evaluation:
    """A node on bounded numbers, in each of the arithmetics that an implementation may use.

    Raises what `bind` raises at once, and what a formula raises when it is first evaluated.
    """

    def __init__(self, node: Node) -> None:
        self.node = node
        self.bound = bind(node)
        # Later evaluations, of other tiers, follow the same readings.
        self._reader = reader_in_force()
        self._outputs: dict[Tier, tuple[Output, ...]] = {}
        self._widths: dict[Formula | None, int] = {}
        self._has_lost = False

    def unknown(self, output: Bounded) -> Any:
        """Mask values of a large output that mpmath alone could tell: no log(0); False for none."""
        if output.size <= _LARGE or output.v.dtype == np.float64 or not _ran_out(output):
            return False
        e = output.settled().e
        vanished = False if e is None else (output.v == 0) & (e > output.arithmetic.floor)
        return vanished | (~is_finite(output.v) & self._has_lost)

    @cached_property
    def is_exact(self) -> bool:
        """True if no output can be anything but what a plain evaluation gives."""
        operator = self.bound.operator
        if graphs := self.bound.graphs.values():
            return all(one.is_exact for one in graphs)
        return operator.exact or not (operator.of_integers or any(map(is_real, self.node.inputs)))

    @cached_property
    def dtype(self) -> DType:
        """The floating dtype that decides which arithmetic is expected, mostly the widest."""
        given = self.node.given
        if self.bound.operator.led and is_real(given[0]):
            given = given[:1]
        known = map(dtypes.of, given)
        real = {dtype for dtype in known if dtype and dtype.kind == "float"}
        if self.node.op == GRAPH:
            graph: Any = self.node.attrs["graph"]
            real = real or {*graph.body.floats}
            # What is float64 in a part of a model alone has the errors of the other part.
            poorer = {one for one in (*real, *graph.body.floats) if one.name != "float64"}
            real = (real & poorer) or poorer or real
        return max(real, key=lambda dtype: dtype.precision, default=DTYPES["float32"])

    def tiers(
        self, declared: Collection[str] = (), output: DType | None = None
    ) -> tuple[Tier, ...]:
        """The tiers as they are tried: those without a remark first; `declared` ones have none.

        A node may compute in the 16-bit type of its inputs, or of the `output` in question.
        """
        # The nodes of a graph have types of their own, which `dtype` takes into account.
        types = {self.dtype, output or self.dtype} if self.node.op != GRAPH else {self.dtype}
        short = sorted(
            (dtype for dtype in types if dtype.numpy.itemsize == 2),
            key=lambda dtype: -dtype.precision,
        )
        return _tiers(
            self.bound.operator,
            self.node.op.since,
            self.dtype,
            tuple(short),
            frozenset(declared),
        )

    def outputs(self, tier: Tier) -> tuple[Output, ...]:
        """The outputs of a tier."""
        if tier not in self._outputs:
            with following(self._reader):
                self._outputs[tier] = self._evaluated(tier.arithmetic, tier.formula)
        return self._outputs[tier]

    @property
    def expected(self) -> tuple[Output, ...]:
        """The outputs of the first tier."""
        return _in_own_types(self.bound) if self.is_exact else self.outputs(self.tiers()[0])

    def _evaluated(self, arithmetic: Arithmetic, formula: Formula | None) -> tuple[Output, ...]:
        bound = self.bound if formula is None else bind(self.node, formula)
        if self.is_exact:
            return _in_own_types(bound)
        outputs: Sequence[Any] = ()
        inputs = self.node.inputs
        # Values are the same in all arithmetics, so that the first one tells how wide they are.
        known = self._widths.get(formula)
        # mpmath's numbers need those of IEEE below them, however wide the arithmetic asks for.
        for values in range(min(arithmetic.values, len(VALUES()) - 2), len(VALUES())):
            same = values == arithmetic.values
            lift = partial(_lifted, arithmetic if same else replace(arithmetic, values=values))
            lost: list[object] = []
            narrow, outputs = outputs, _called(bound, lift, inputs, lost=lost)
            if narrow and VALUES()[values] == np.object_:
                enough = values > arithmetic.values
                outputs = [with_ieee(*each, enough) for each in zip(narrow, outputs, strict=True)]
            self._widths[formula] = values
            # A model's bound grows beyond use: what comes of that is no want of digits.
            if values in (known, len(VALUES()) - 1) or self.node.op == GRAPH:
                break
            if known is not None or values < arithmetic.values:
                continue
            if not any(map(_ran_out, outputs)):
                break
            # What infinities and NaN of the inputs make of outputs, they make of wider ones too.
            tame = list(map(_tamed, inputs))
            was_wild = any(a is not b for a, b in zip(tame, inputs, strict=True))
            if was_wild and not any(map(_ran_out, _called(bound, lift, tame))):
                break
            large = any(isinstance(x, Bounded) and x.size > _LARGE for x in outputs)
            if large and VALUES()[values + 1] == np.object_:
                self._has_lost |= bool(lost)
                break
        pairs = enumerate(map(_of_two, outputs))
        return tuple(x if isinstance(x, Kind) else _typed(bound, n, x) for n, x in pairs)


@cache
def _tiers(
    operator: Operator,
    since: int,
    dtype: DType,
    short: tuple[DType, ...],
    declared: Set[str],
) -> tuple[Tier, ...]:
    """The tiers of an operator's version computed as expected of `dtype`, or in `short` types.

    A `short` type that is not declared excuses what its roundings leave, and nothing that results
    from an overflow in it: the 0 that a quotient by an infinite sum becomes is wrong.
    """
    name = "float64" if dtype.name == "float64" else "float32"
    plain = expected(dtype)
    flushing = replace(plain, flushes=True)
    sound = [one for one in operator.alternatives if one.since == since]
    silent = [None, *(one.function for one in sound if not one.remark)]
    found = [
        *(Tier(name, plain, formula) for formula in silent),
        *(Tier("range", flushing, formula, _OUT_OF_RANGE, ranged=True) for formula in silent),
        *(Tier(name, flushing, s.function, f"right only {s.remark}") for s in sound if s.remark),
    ]
    for narrower in short:
        kept = "stored", f"kept in {narrower} between operations", stored(narrower)
        computed = "arithmetic", f"computed in {narrower}", narrow(narrower)
        for word, message, arithmetic in (kept, computed):
            everywhere, remark = replace(arithmetic, everywhere=True), ""
            if narrower.name not in declared:
                everywhere = replace(everywhere, largest=plain.largest)
                remark = f"{message}; declare accumulate={narrower}"
            found += [Tier(f"{narrower} {word}", everywhere, formula, remark) for formula in silent]
    return tuple(sorted(found, key=lambda tier: tier.remark != ""))


def _of_two(output: Output) -> Output:
    """An output of integers that are sure, or each either of two neighbors."""
    if not isinstance(output, Bounded) or output.dtype.kind not in "iu" or output.lost is not None:
        return output
    low, high = (end.astype(output.dtype) for end in output.ends())
    if (low == high).all():
        return low
    return Indices(high, np.stack([low, high], -1)) if (high - low <= 1).all() else output


def _tamed(array: Array | None) -> Array | None:
    """`array` with zeros for values that are not finite; itself if there are none."""
    if not is_real(array):
        return array
    with np.errstate(invalid="ignore"):
        finite = np.isfinite(array.astype(np.float64))
    return array if finite.all() else np.where(finite, array, np.zeros((), array.dtype))


def _lifted(arithmetic: Arithmetic, array: Array | None) -> Any:
    return bounded(array, arithmetic) if is_real(array) else array


def _ran_out(output: Any) -> bool:
    """True if the values may have left their own range on the way, as x^10 does for x = 1e38."""
    if not isinstance(output, Bounded):
        return False
    v = output.v
    if v.dtype == np.float64 and v.min(initial=np.inf) > 0 and v.max(initial=0.0) < np.inf:
        return False
    if not is_finite(v).all():
        return True
    zero = v == 0
    if output.exact or not zero.any():
        return False
    with np.errstate(all="ignore"):
        e = output.settled().e
    return e is not None and bool((zero & (e > output.arithmetic.floor)).any())


def precisely(node: Node, bits: int) -> Sequence[Any]:
    """The outputs with this many binary digits, as numbers without errors or plain arrays."""
    from opcheck.numbers.precise import digits

    with digits(bits):
        return _called(bind(node), partial(_lifted, EXACT), node.inputs)


class Room(NamedTuple):
    """Error that a tier allows around an output's value, before rounding to its dtype.

    `own` is each element's own error, in the output's shape, and `shared` the relative one that all
    elements of a group have in common, or None. An element that was `lost` may be anything that is
    left of a result out of range; None where none was. The value of one that is `unknown` is beyond
    what can be computed. `admitted` has an axis more, the last, with
    all that a boolean or an index may be; None for numbers.
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

    evaluation: Evaluation
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
            return np.where(over, np.copysign(np.finfo(np.float64).max, near), near)

    @cached_property
    def rest(self) -> Any:
        """The part of the values beyond float64, or None."""
        if self.output.v.dtype == np.float64:
            return None
        with np.errstate(over="ignore", invalid="ignore"):
            # The difference of mpmath's numbers of rank 0 is a bare number.
            rest = np.asarray(self.output.v - self.values).astype(np.float64)
        most = np.finfo(np.float64).max
        return np.clip(np.where(np.isnan(rest), 0.0, rest), -most, most)

    def rounded(self) -> Array:
        """The values rounded to the output's dtype, to nearest, ties to even."""
        # Nothing but −0 leaves a −0 what it is.
        rest = -0.0 if self.rest is None else np.where(self.rest == 0, -0.0, self.rest)
        with np.errstate(over="ignore"):
            return np.asarray(round_to(self.values + rest, self.dtype))

    def tiers(self, declared: Collection[str] = ()) -> tuple[Tier, ...]:
        """The tiers in the order in which they are tried; those `declared` bring no remark."""
        return self.evaluation.tiers(declared, self.dtype)

    def deviations(self, cut: float = 0.0) -> Iterator[tuple[Any, Any]]:
        """Yield for each sound formulation how far it is from the values, and its scatter.

        That is the standard deviation of each element under independent roundings of the expected
        arithmetic, of the rounding to the output's dtype too, and of inputs that were rounded to
        the unit roundoff `cut`. Nothing is yielded where no error theory says so.
        """
        first, *others = self.tiers()
        sound = [first, *(t for t in others if not t.remark and t.arithmetic == first.arithmetic)]
        for tier in sound:
            try:
                arithmetic = replace(tier.arithmetic, scatters=True, cut=cut)
                outputs = self.evaluation.outputs(replace(tier, arithmetic=arithmetic))
            except NotSupported:  # Numbers that are rounded further may decide less.
                continue
            output = outputs[self.place]
            if not isinstance(output, Bounded) or (variance := output.variance()) is None:
                continue
            if output.grid.dtype != self.dtype:
                variance = variance + half_ulp(self.values, self.dtype) ** 2 / 3
            deviation = np.sqrt(variance).astype(np.float64, copy=False)
            yield minus(output.v, self.output.v).astype(np.float64, copy=False), deviation

    def floor(self, tier: Tier) -> float:
        """Return the size below which numbers of a tier, or elements of the output, may become 0.

        The output of doubles may be float32, where more is flushed than in float64.
        """
        return max(tier.arithmetic.floor, expected(self.dtype).floor)

    def certain(self, tier: Tier) -> float:
        """A relative error that a tier allows every element, known without its bound."""
        out = self.evaluation.outputs(tier)[self.place]
        if not isinstance(out, Bounded):
            return 0.0
        roundings = max(0.0, out.k - 1) if out.grid.dtype == self.dtype else out.k
        return float(out.least + roundings * out.grid.u)

    def room(self, tier: Tier) -> Room:
        """Return the error a tier allows around its own values, nearly those of the first tier."""
        if tier not in self._rooms:
            with np.errstate(all="ignore"):
                self._rooms[tier] = self._room(tier)
        return self._rooms[tier]

    def _room(self, tier: Tier) -> Room:
        output = self.evaluation.outputs(tier)[self.place]
        first = self.output
        if isinstance(output, Truth):
            both = np.stack([output.v, output.v ^ output.unsure], axis=-1)
            return Room(np.zeros(first.shape), admitted=both)
        if not isinstance(output, Bounded):
            return Room(np.zeros(first.shape), admitted=getattr(output, "admitted", None))
        size = np.asarray(np.abs(output.v))
        own = reach(output.v, np.zeros(size.shape) if output.e is None else output.e)
        if output.k > 0 or output.e is not None:
            # The rounding to the output's own type is one; any other comes before it.
            k = max(0.0, output.k - 1) if output.grid.dtype == self.dtype else output.k
            # What the reference itself may be off by, which rounds 2^11 times finer or more.
            fine = _FINE if output.v.dtype == np.float64 else _FINE * 2.0**-8
            own = own + size * (k * output.grid.u + fine)
            own *= 1.005  # for products of errors
            if output.k and k == output.k and output.grid.step:
                own += output.grid.step
            own += self._flushed(tier, output, own)
        if tier.formula is not None and output.v is not first.v:
            own = own + np.abs(minus(output.v, first.v))
        if size.dtype != np.float64:
            # Values beyond float64 count as twice its largest number, where this then starts.
            own = np.maximum(own - 2 * np.maximum(size / 2 - np.finfo(np.float64).max, 0), 0)
        own = np.asarray(own).astype(np.float64, copy=False)
        if not own.max(initial=0) < np.inf:
            own = np.where(np.isnan(own), np.inf, own)  # It is as good as none.
            own = np.where(is_finite(output.v), own, 0.0)
        common = output.errors.common
        if common is not None:
            down, up = (end.astype(np.float64, copy=False) for end in (common.down, common.up))
            common = Common(down, up, common.group)
        lost = None if output.lost is None else output.lost > 0
        return Room(own, common, lost, unknown=self.evaluation.unknown(output))

    def _flushed(self, tier: Tier, output: Bounded, own: Any) -> Any:
        """What each element may be off by because its subnormal numbers are flushed to 0.

        Engines flush outputs of any type but float16. A coarser arithmetic flushes in its own type.
        `own` is the error that elements are allowed anyway.
        """
        if self.dtype.name == "float16":
            return 0.0
        floor = expected(self.dtype).floor
        flushed = floor if output.v.all() else np.where((output.v != 0) | (own > 0), floor, 0.0)
        if tier.arithmetic.everywhere:
            size = size_of(output.v)
            flushed = flushed + np.where(size + own < tier.arithmetic.floor, size, 0.0)
        return flushed

    def range_loss(self, tier: Tier) -> Any:
        """Mask where a tier that may leave the range allows notably more than its formula else."""
        plain = next(one for one in self.tiers() if one.formula is tier.formula)
        first, later = self.room(plain), self.room(tier)
        with np.errstate(invalid="ignore"):
            more = later.own - first.own
        size = np.abs(self.values)
        # What is flushed is off by its own size at most.
        notable = 16 * tier.arithmetic.u * size + np.minimum(tier.arithmetic.floor, size)
        lost = np.zeros(more.shape, np.bool_) if later.lost is None else later.lost
        return lost | ~(more <= notable)


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
        """For each element the number below which this share of what may be drawn lies.

        Of a formula that falls as its numbers rise, the share above it.
        """
        if (known := self._known.get(share)) is not None:
            return known
        with numbers.setting(numbers.share, share):
            found = self.answer()[self.place]
        if found.size <= 1 << 15:  # Quantiles of larger outputs are not kept for other backends.
            self._known[share] = found
        return found

    def rounded(self) -> Array:
        """Such numbers, others each time unless there is a seed."""
        return self.answer()[self.place]


#: The outputs of a node: plain arrays where they are exact.
Outputs: TypeAlias = tuple[Array | Expected | Drawn, ...]


def exactly(node: Node) -> Outputs:
    """The outputs of a node, plain arrays where they are exact; raises what `evaluate` raises."""
    evaluation = Evaluation(node)
    if node.draws:
        check = evaluation.bound.operator.related
        related = partial(check, node.inputs) if check else None
        count = len(node.plain)
        return tuple(Drawn(partial(evaluate, node), place, related) for place in range(count))
    found: list[Array | Expected | Drawn] = []
    for place, output in enumerate(evaluation.expected):
        if isinstance(output, Kind):
            own = np.empty(0, getattr(output, "dtype", output.v.dtype))
            dtype = evaluation.bound.output_dtype(place) or dtypes.of(own)
            assert dtype
            found.append(Expected(evaluation, place, dtype))
        else:
            found.append(np.asarray(output))
    return tuple(found)


def each_answer(node: Node) -> tuple[Reading[Outputs], ...]:
    """The answers that the text admits, one for each combination of readings: see `exactly`.

    Raises what `exactly` raises if no reading gives outputs, and NotSupported for too many answers.
    """
    found = tuple(each_reading(partial(exactly, node)))
    for reading in found:
        if not isinstance(reading.answer, InvalidNode):
            return found
    refusal = found[0].answer
    assert isinstance(refusal, InvalidNode)
    raise refusal


def rounded(output: Array | Expected | Drawn) -> Array:
    """An output as an array of its dtype."""
    return output if isinstance(output, np.ndarray) else output.rounded()
