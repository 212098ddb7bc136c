"""Outputs of a node or a model against expected ones: number, type, dtype, shape and values.

Nothing is broadcast or converted. `elements` judges values by a stated tolerance, `bounded` by an
operator's error bound.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import chain
from math import inf, prod
from string import ascii_letters
from typing import Any, TypeAlias

import numpy as np

from opcheck.compare import bounded, elements
from opcheck.compare.elements import UNORDERED, Findings, Floats, Judge, Mask, Places, Want
from opcheck.dtypes import DType, half_ulp, identical, of, round_to
from opcheck.engine import Drawn, Expected, operator_of
from opcheck.model.case import EXACT, Array, OpVersion, Tolerance
from opcheck.model.question import NOTHING, Foreign, Items
from opcheck.model.result import Comparison, ComparisonProblem, Failure, Mismatch, Picture
from opcheck.numbers.arithmetic import expected

Comparisons: TypeAlias = tuple[Comparison, ...]
#: What a node is to give, and what it gives.
Wants: TypeAlias = Sequence[Want]
Outputs: TypeAlias = Sequence[Array | Foreign]
#: The poorer arithmetic that a backend declares.
Names: TypeAlias = Collection[str]
#: Returns elements' places in the flat array with their shares, in one shape.
Shares: TypeAlias = Callable[[], Iterable[tuple[Places, Floats]]]

ROWS_DISAGREE = "the elements of a row disagree about its sum"
CUT = "cut off instead of rounded; the text states no rounding"
OWN = "opcheck's own answer in plain arithmetic is as far off as that"
UNDECIDED_OF_MODELS = "neither bound nor scatter says anything; opcheck locate judges each node"
OPEN = "the text leaves open what most elements are made of"
UNDECIDED = "a correct implementation may miss most of its elements by half of their value"
#: The most indices of one axis that are listed one by one.
_LISTED = 4
#: The most cells in a row and in a column.
SIDE = 64


def compare(
    want: Want,
    got: Array | Foreign,
    tolerance: Tolerance | None = None,
    like: Array | None = None,
    declared: Names = (),
) -> Comparison:
    """Judge one output by `tolerance`, or if that is None by its own bound.

    `got` may have any memory layout and byte order. If `like`, an input, has the output's shape,
    each wrong element is shown with the input's. `declared` arithmetic needs no warning. `used` is
    at most 1 for a pass, infinite if type, dtype or shape is wrong.

    Raises ValueError as `check` does, and for wanted values that the wanted dtype cannot hold.
    """
    if tolerance is not None:
        elements.check(tolerance)
    if isinstance(got, Foreign):
        return failed(want, "type", f"{got.description}, want a tensor")
    got = got.view(np.ndarray)
    if (dtype := of(got)) is None or want.dtype not in (None, dtype):
        return failed(want, "dtype", f"{dtype or got.dtype}, want {want.dtype or 'a tensor type'}")
    try:
        # What may be either of two integers lies between them.
        is_between = want.bound is not None and dtype.kind == "int"
        values = want.values if is_between else _exact_in(dtype, want.values)
    except ValueError as error:
        if want.dtype is not None:
            raise
        return failed(want, "dtype", f"{dtype}, but {error}")
    if got.shape != values.shape:
        return failed(want, "shape", f"{got.shape}, want {values.shape}")
    if want.random:
        return Comparison(want.name, None, dtype=dtype, total=got.size, unjudged=got.size)
    if want.others and want.whole:
        return _apart_from_open_elements(want, got, dtype, tolerance, like, declared)
    if want.others:
        got = _as_first_reading(want, got, dtype, tolerance, declared)
    if want.distribution is not None:
        return _as_drawn(want, want.distribution, got, dtype, like)
    is_bounded = want.bound is not None and tolerance is None
    if not is_bounded and identical(elements.once_rounded(values, dtype), got):
        return _compared(want, got, dtype, _nothing(got, dtype), like, tuple)
    if values is not want.values or want.high is not None:
        want = replace(want, values=values, high=range_end(want.high, dtype))
    if is_bounded:
        return _decided(_wide(want), got, dtype, like, declared)
    return _by_tolerance(want, got, dtype, tolerance or EXACT, like, declared)


def _apart_from_open_elements(
    want: Want,
    got: Array,
    dtype: DType,
    tolerance: Tolerance | None,
    like: Array | None,
    declared: Names,
) -> Comparison:
    """Judge a model's output without the elements that depend on a reading.

    Each node of a model may follow another reading, so that more values than those known may come.
    """
    first = _rounded_to(want, dtype)
    is_open = np.zeros(got.shape, np.bool_)
    for _, other in want.others:
        is_open |= ~elements.same(first, _rounded_to(other, dtype))
    count = int(np.count_nonzero(is_open))
    judged = compare(
        replace(want, others=()), np.where(is_open, first, got), tolerance, like, declared
    )
    judged = replace(judged, unjudged=min(got.size, judged.unjudged + count))
    if judged.problem in (None, "precision") and 2 * judged.unjudged > got.size:
        return replace(judged, problem="undecided", remark=OPEN)
    return judged


def _as_first_reading(
    want: Want, got: Array, dtype: DType, tolerance: Tolerance | None, declared: Names
) -> Array:
    """Return `got` with the first reading's value where an element is right by another reading.

    What is left of a difference is wrong by every reading.
    """
    first = _rounded_to(want, dtype)
    spliced = got.copy()
    for _, other in want.others:
        differs = ~elements.same(first, _rounded_to(other, dtype))
        right = differs & ~_wrong_elements(other, got, dtype, tolerance, declared)
        spliced[right] = first[right]
    return spliced


def _rounded_to(want: Want, dtype: DType) -> Array:
    """The wanted values in `dtype`, rounded once if it is floating."""
    values = want.values
    if dtype.kind == "float":
        return elements.once_rounded(values, dtype)
    return values.astype(dtype.numpy, copy=False)


def _wrong_elements(
    want: Want, got: Array, dtype: DType, tolerance: Tolerance | None, declared: Names
) -> Mask:
    """Mask elements that are wrong by `want` alone, in the shape of `got`."""
    if want.bound is not None and tolerance is None:
        found = bounded.examine(_wide(want), got, dtype, declared).findings
    else:
        judge = Judge(dtype, tolerance or EXACT, want.low, want.high)
        found = _findings(judge, want.values, got, None)
    if found.wrong is None:
        return np.zeros(got.shape, np.bool_)
    return found.wrong.reshape(got.shape)


def failed(want: Want, problem: Failure, detail: str) -> Comparison:
    """The comparison of an output without values to judge."""
    return Comparison(want.name, problem, detail, used=inf)


def range_end(high: float | None, dtype: DType) -> float | None:
    """The upper end of an operator's range, extended by 4 ULP for rounding."""
    if high is None or dtype.kind != "float":
        return high
    return high + 4 * 2 * float(half_ulp(np.array(high), dtype))


def _exact_in(dtype: DType, values: Array) -> Array:
    """`values` in `dtype` unless that is floating; ValueError if it cannot hold them."""
    stated = of(values)
    from_float = stated and stated.kind == "float" and dtype.kind not in ("string", "complex")
    if stated is None or not (from_float or dtype.kind == stated.kind):
        raise ValueError(f"{values.dtype} values are wanted")
    if stated == dtype or dtype.kind == "float":
        return values
    if dtype.kind == stated.kind == "complex":
        return values.astype(dtype.numpy)
    if stated.kind == "float":
        return round_to(values.astype(np.float64), dtype)
    cast = values.astype(dtype.numpy)
    lost = (cast.astype(values.dtype) != values) | ((cast < 0) != (values < 0))
    if lost.any():
        raise ValueError(f"{values[lost].flat[0]} is no value of {dtype}")
    return cast


def _by_tolerance(
    want: Want, got: Array, dtype: DType, tolerance: Tolerance, like: Array | None, declared: Names
) -> Comparison:
    """Judge by a tolerance and, unless it is strict, by the floor and the range rules."""
    judge = Judge(dtype, tolerance, want.low, want.high)
    pardoned: Floats | None = None
    problem: ComparisonProblem = "values"
    remark = ""
    found = _findings(judge, want.values, got, None)
    if found.wrong is not None and want.floor and dtype.kind == "float" and not tolerance.strict:
        wrong = found.wrong.reshape(want.values.shape)
        by_tier, those = bounded.pardon(_wide(want), got, declared, wrong)
        excused = those.reshape(-1)
        left = _findings(judge, want.values, got, excused)
        if not left.count and by_tier:
            problem, remark = "precision", by_tier
        else:
            found, pardoned = left, excused
    pieces = partial(_pieces, judge, want.values, got, pardoned)
    comparison = _compared(want, got, dtype, found, like, lambda: (one[:2] for one in pieces()))
    return replace(comparison, problem=problem, remark=remark) if found.count else comparison


def _nothing(got: Array, dtype: DType) -> Findings:
    return Findings(got.size, steps=0 if dtype.kind == "float" else None)


def _findings(judge: Judge, wanted: Array, got: Array, pardoned: Floats | None) -> Findings:
    """Judge all elements by a tolerance; shares are at most those `pardoned`."""
    found = _nothing(got, judge.dtype)
    for places, shares, furthest in _pieces(judge, wanted, got, pardoned):
        found.step(furthest)

        def allowed(number: int, places: Places = places) -> str:
            pair = (elements.native(array.flat[[places[number]]]) for array in (wanted, got))
            return judge.allowed(*pair)

        found.add(partial(np.asarray, places), shares, allowed)
    return found


def _pieces(
    judge: Judge, wanted: Array, got: Array, pardoned: Floats | None
) -> Iterator[tuple[Places, Floats, int | None]]:
    """Yield elements' places and shares, and the largest distance of each piece."""
    for start, pieces in elements.chunks(wanted, got):
        shares, furthest = judge.shares(*pieces)
        places = np.arange(start, start + shares.size)
        shares = shares if pardoned is None else np.minimum(shares, pardoned[places])
        yield places, shares, furthest


def _decided(want: Want, got: Array, dtype: DType, like: Array | None, named: Names) -> Comparison:
    """As `_by_bound`; undecided for a model whose plain answer would be no better."""
    found = _by_bound(want, got, dtype, like, named)
    if want.whole and found.problem in ("values", "precision"):
        bound = want.expected
        if _by_bound(want, bound.evaluation.node.plain[bound.place], dtype, None, named).problem:
            return replace(found, problem="undecided", unjudged=got.size, remark=OWN, wrong=0)
    return found


def _by_bound(want: Want, got: Array, dtype: DType, like: Array | None, named: Names) -> Comparison:
    decision = bounded.examine(want, got, dtype, named)
    tier = decision.tier
    problem: ComparisonProblem | None = None
    remark = ""

    @cache
    def spread() -> bounded.Scattering | None:
        return _spread(want, got) if dtype.kind == "float" else None

    if whole := spread() if want.whole else None:
        # What the bound leaves open, the scatter decides, unless it says nothing either.
        decision.findings.unjudged = int(
            np.count_nonzero(decision.unjudged & bounded.may_scatter_far(want))
        )
    if not decision.fits:
        even = "" if tier.name == want.expected.tiers(())[0].name else tier.name
        words = whole.message if whole else ""
        why = (ROWS_DISAGREE * decision.apart, even and f"too far off even for {even}", words)
        problem, remark = "values", "; ".join(filter(None, why))
    elif 2 * decision.findings.unjudged > got.size:
        problem, remark = "undecided", UNDECIDED_OF_MODELS if want.whole else UNDECIDED
    elif whole and whole.message:
        # Within a bound that says something, an answer is never wrong: the others are.
        rest = bounded.scattering(want, got, decision.unjudged) if not whole.explained else None
        wrong = rest is not None and rest.message and not rest.explained
        is_sound = whole.explained or not (wrong or tier.remark)
        problem, remark = "precision" if is_sound else "values", whole.message
    elif tier.remark:
        problem, remark = "precision", CUT if _is_cut(want.values, got, dtype) else tier.remark
    elif (found := spread()) and found.message:
        problem, remark = "precision", found.message
    elif want.whole and found:
        times = f"{found.ratio:.2g} times; up to {bounded.SCATTER:g} may be"
        remark = f"as far off as {tier.name} arithmetic explains, {times}"
    comparison = _compared(want, got, dtype, decision.findings, like, decision.shares)
    return replace(comparison, problem=problem, remark=remark, tier=tier.name)


def _spread(want: Want, got: Array) -> bounded.Scattering | None:
    """Return how errors scatter; None where that says nothing about the data."""
    if want.drawn:
        return bounded.scattering(want, got)
    ratio = bounded.scatter(want, got) if want.given else None
    if ratio is None or ratio <= bounded.SCATTER or not bounded.scatters_independently(want):
        return None
    # What an engine flushes to 0, or loses to overflow, is no rounding.
    ranged = (tier for tier in want.expected.tiers() if tier.ranged)
    kept = ~np.logical_or.reduce([want.expected.range_loss(tier) for tier in ranged])
    return bounded.scattering(want, got, kept)


def _is_cut(exact: Floats, got: Array, dtype: DType) -> bool:
    """Return True if a 16-bit output is nearer to 0 than the exact one, by a place at most."""
    if dtype.kind != "float" or got.itemsize != 2:
        return False
    with np.errstate(invalid="ignore"):
        less = (np.abs(exact) - np.abs(elements.wide(got))) / half_ulp(exact, dtype)
    off = less[np.abs(less) > 2.0**-9]
    # So many that are rounded lie all on one side once in 65,536 times.
    return off.size >= 16 and bool(off.min() > 0 and off.max() < 2)


def _as_drawn(want: Want, draw: Drawn, got: Array, dtype: DType, like: Array | None) -> Comparison:
    seen = elements.judged_draws(draw, got, dtype)
    found = Findings(got.size, steps=None)

    def allowed(number: int) -> str:
        return f"from {seen.low.flat[number]} to {seen.high.flat[number]}"

    found.add(partial(np.arange, got.size), np.where(seen.impossible, 2.0, 0.0), allowed)
    comparison = _compared(want, got, dtype, found, like, tuple)
    if found.count:
        return replace(comparison, problem="values")
    if seen.used > 1:
        comparison = replace(comparison, problem="distribution", detail=seen.text)
    return replace(comparison, used=seen.used)


def _wide(want: Want) -> Want:
    """Return `want` with float64 values, and the dtype to which they were rounded."""
    if want.values.dtype == np.float64:
        return want
    rounded = want.bound.dtype if want.bound else None
    return replace(want, values=want.values.astype(np.float64), rounded=rounded)


def _compared(
    want: Want, got: Array, dtype: DType, found: Findings, like: Array | None, shares: Shares
) -> Comparison:
    """The comparison that reports `found`, without a problem."""
    comparison = Comparison(
        want.name,
        None,
        dtype=dtype,
        wrong=found.count,
        total=got.size,
        unjudged=found.unjudged,
        max_ulp=None if found.steps == UNORDERED else found.steps,
        used=found.used,
    )
    if found.wrong is None:
        return comparison
    places = sorted((place, allowed) for _, place, allowed in found.worst)
    return replace(
        comparison,
        detail=f"{found.count} of {got.size} elements wrong",
        where=describe(found.wrong.reshape(got.shape)),
        worst=tuple(_mismatch(want, got, dtype, *place, like) for place in places),
        picture=partial(picture, want.values, got, dtype, shares),
    )


def _mismatch(
    want: Want, got: Array, dtype: DType, place: int, allowed: str, like: Array | None
) -> Mismatch:
    index = tuple(int(i) for i in np.unravel_index(place, got.shape))
    wanted, actual = elements.native(want.values.flat[[place]]), elements.native(got.flat[[place]])
    wanted = elements.once_rounded(wanted, dtype)
    steps = int(elements.distance(wanted, actual)[0]) if dtype.kind == "float" else UNORDERED
    ulp = None if steps == UNORDERED else steps
    beside = like.item(index) if like is not None and like.shape == got.shape else None
    return Mismatch(index, wanted.item(0), actual.item(0), ulp, allowed, input=beside)


def stated_want(op: OpVersion, name: str, values: Array, dtype: DType | None) -> Want:
    """Expect these values; a rounded answer may be off by the floor under any stated tolerance."""
    if (operator := operator_of(op)) is None:
        return Want(name, dtype, values)
    floor = expected(dtype).floor if dtype and dtype.kind == "float" and not operator.exact else 0.0
    return Want(name, dtype, values, operator.low, operator.high, floor=floor)


def in_its_dtype(want: Want) -> Array:
    """The stated values, rounded; raises ValueError if the dtype is unknown."""
    dtype = want.dtype or of(want.values)
    if want.dtype is None and want.values.dtype == "float64":
        raise ValueError(f"{want.name}: only the backend's answer tells its dtype: state it")
    if dtype is not None and dtype.kind == "complex":
        return want.values.astype(dtype.numpy)
    if dtype is None or dtype.kind not in ("float", "minifloat"):
        return want.values
    return elements.once_rounded(want.values, dtype)


def computed_want(op: OpVersion, name: str, answer: Array | Expected | Drawn) -> Want:
    """Expect the result of the engine's exact mode, with its error bound if it has one."""
    if isinstance(answer, Drawn):
        middle = answer.quantiles(0.5)
        return replace(stated_want(op, name, middle, of(middle)), distribution=answer)
    if not isinstance(answer, Expected):
        return stated_want(op, name, answer, of(answer))
    want = stated_want(op, name, answer.values, answer.dtype)
    return replace(want, bound=answer, rest=answer.rest)


def compare_outputs(
    wants: Wants,
    got: Outputs,
    tolerance: Tolerance | None = None,
    like: Array | None = None,
    declared: Names = (),
) -> Comparisons:
    """Judge all outputs of a node as `compare` does, or the first missing or extra one."""
    if tolerance is not None:
        elements.check(tolerance)
    if len(got) == len(wants):
        parts = [_parts(*pair) for pair in zip(_in_order_of(got, wants), got, strict=True)]
        found = tuple(
            part if isinstance(part, Comparison) else compare(*part, tolerance, like, declared)
            for part in chain.from_iterable(parts)
        )
        return _related(wants, got, found)
    name = wants[len(got)].name if len(got) < len(wants) else f"output {len(wants)}"
    # What is no list, such as None, stands in place of all outputs.
    what = ""
    if len(got) == 1 < len(wants) and isinstance(got[0], Foreign):
        name, what = wants[0].name, f" ({got[0].description})"
    detail = f"{len(got)} output{'s' * (len(got) != 1)}{what}, want {len(wants)}"
    return (Comparison(name, "count", detail, used=inf),)


def _related(wants: Wants, got: Sequence[Any], found: Comparisons) -> Comparisons:
    """`found`, but for the last of several outputs that contradict each other."""
    draw = wants[0].distribution if len(wants) > 1 else None
    if draw is None or draw.related is None or any(one.problem for one in found):
        return found
    apart = draw.related(got)
    if not apart.any():
        return found
    detail = f"{np.count_nonzero(apart)} of {apart.size} elements contradict {wants[0].name}"
    last = replace(found[-1], problem="values", detail=detail, where=describe(apart), used=inf)
    return (*found[:-1], last)


def drift(wants: Wants, one: Outputs, other: Outputs) -> str:
    """Describe how much further one answer scatters than another to the same data, or "".

    Both are right for some arithmetic. An answer that scatters `bounded.DRIFT` times as far as the
    other, and further than the expected arithmetic explains, comes of no arithmetic at all.
    """
    for want, *answers in zip(wants, one, other, strict=False):
        ratios = [ratio for answer in answers if (ratio := _scatter(want, answer)) is not None]
        if len(ratios) < len(answers):
            continue
        nearer, further = sorted(ratios)
        if further > bounded.SCATTER and further > bounded.DRIFT * max(nearer, 1.0):
            times = f"{further:,.3g} and {nearer:,.3g} times as far as expected"
            return f"{want.name}: the errors of two answers to the same data scatter {times}"
    return ""


def _scatter(want: Want, got: Array | Foreign) -> float | None:
    """How far the errors of an output scatter; None without a theory of them."""
    if want.bound is None or not want.drawn or isinstance(got, Foreign):
        return None
    if got.shape != want.values.shape or got.dtype.kind in "biu":
        return None
    return bounded.scatter(_wide(want), elements.native(got))


def are_plainly_right(wants: Wants, got: Outputs, tolerance: Tolerance | None = None) -> bool:
    """Return True if `compare_outputs` would find nothing wrong; no bound is computed for it."""
    return len(got) == len(wants) and all(map(partial(_is_plainly_right, tolerance), wants, got))


def _is_plainly_right(tolerance: Tolerance | None, want: Want, got: Array | Foreign) -> bool:
    if isinstance(got, Foreign) or want.form != "tensor" or want.any_order is not None:
        return False
    if want.others:
        return False
    dtype, y = want.dtype, want.values
    if dtype is None or got.dtype != dtype.numpy or got.shape != y.shape or not got.size:
        return False
    if identical(elements.once_rounded(y, dtype) if dtype.kind == "float" else y, got):
        return True
    return want.bound is not None and tolerance is None and bounded.fits_at_least(want, got, dtype)


def _in_order_of(got: Outputs, wants: Wants) -> Wants:
    """`wants` in the order of the last of `got` where any order is right."""
    axis = wants[0].any_order if wants else None
    if axis is None:
        return wants
    places, right = got[-1], wants[-1].values
    if isinstance(places, Foreign) or places.shape != right.shape:
        return wants
    if axis == "rows":
        order = np.lexsort(right.T)[np.argsort(np.lexsort(places.T))]
        return [replace(w, values=w.values[order]) for w in wants]
    rank = np.argsort(np.argsort(places, axis, kind="stable"), axis)
    order = np.take_along_axis(np.argsort(right, axis, kind="stable"), rank, axis)
    return [replace(w, values=np.take_along_axis(w.values, order, axis)) for w in wants]


def too_wide(wants: Iterable[Want], tolerance: Tolerance | None) -> str | None:
    """Describe a constant answer that a tolerance admits, or None.

    Constants are 0, the ends of the operator's range and the middle of the expected values. At some
    element they must be off by a quarter of the largest one.
    """
    for want in chain.from_iterable(want.items or (want,) for want in wants):
        dtype = want.dtype or of(want.values)
        if tolerance is None or want.random or not want.values.size or dtype is None:
            continue
        if dtype.kind not in ("float", "int", "minifloat"):
            continue
        values = want.values.reshape(-1).astype(np.float64)
        if not np.isfinite(values).all():
            continue
        judge = Judge(dtype, tolerance, want.low, range_end(want.high, dtype))
        for value in (0.0, want.low, want.high, values.max() / 2 + values.min() / 2):
            if value is None:
                continue
            answer = np.rint(value) if dtype.kind == "int" else np.float64(value)
            error = np.abs(values - answer)
            worst = int(error.argmax())
            if error[worst] <= np.abs(values).max() / 4:
                continue
            # The worst element decides most often.
            for place in (slice(worst, worst + 1), slice(None)):
                wanted = want.values.reshape(-1)[place]
                got = np.full(wanted.shape, answer).astype(dtype.numpy)
                if (judge.shares(wanted, got)[0] > 1).any():
                    break
            else:
                admits = f"the tolerance, {tolerance}, admits {answer:g} for every element"
                return f"{want.name}: {admits}: an answer that ignores the input passes"
    return None


def _parts(want: Want, got: Array | Foreign) -> Sequence[tuple[Want, Array | Foreign] | Comparison]:
    """Return the parts of one output to compare, or a comparison if its form decides."""
    message = got.description if isinstance(got, Foreign) else "a tensor"
    if want.form == "tensor":
        return [(want, got)]
    if want.form == "nothing":
        right = isinstance(got, Foreign) and got == NOTHING
        wrong = failed(want, "type", f"{message}, want no value")
        return [Comparison(want.name, None) if right else wrong]
    wrong = failed(want, "type", f"{message}, want a sequence of {len(want.items)}")
    if not isinstance(got, Items):
        return [wrong]
    if len(got.values) != len(want.items):
        return [replace(wrong, problem="count")]
    return [*zip(want.items, got.values, strict=True)] or [Comparison(want.name, None)]


def describe(wrong: Mask) -> str:
    """Describe where `wrong`, a mask of any shape, is True; "" if nowhere.

    everywhere                              all elements
    only at [1, 2]                          this one element
    exactly where …                         all of these elements, and no others
    everywhere but where …                  all but these elements
    whole lines along axis 1                lines are all wrong or right, as reductions make them
    only where …                            no element elsewhere is wrong
    scattered in [0:2, 3, 4:8]              the smallest box around them, as Python slices it
    scattered                               all over the tensor

    `flat index` counts in C order.
    """
    if (count := int(np.count_nonzero(wrong))) == 0:
        return ""
    if count == wrong.size:
        return "everywhere"
    if count == 1:
        return f"only at {[int(i) for i in np.unravel_index(int(wrong.argmax()), wrong.shape)]}"
    if place := _product(wrong, count):
        return f"exactly where {place}"
    if place := _product(~wrong, wrong.size - count):
        return f"everywhere but where {place}"
    if place := _pattern("flat index", wrong.reshape(-1), listed=0):
        return f"exactly where {place}"
    return ", ".join(filter(None, [_lines(wrong), _around(wrong)]))


def _product(mask: Mask, count: int) -> str:
    """Describe the `count` true elements by a condition on each axis, "" if impossible."""
    hits = _hits(mask)
    if count != np.prod([np.count_nonzero(hit) for hit in hits], dtype=object):
        return ""
    terms = [_pattern(f"axis {axis}", hit) for axis, hit in enumerate(hits) if not hit.all()]
    return " and ".join(terms) if all(terms) else ""


def _lines(wrong: Mask) -> str:
    """Name the axes along which every line is all wrong or all right."""
    long = (axis for axis, size in enumerate(wrong.shape) if size > 1)
    axes = [str(axis) for axis in long if np.array_equal(wrong.any(axis), wrong.all(axis))]
    return f"whole lines along {'axes' if len(axes) > 1 else 'axis'} {', '.join(axes)}" * bool(axes)


def _around(wrong: Mask) -> str:
    """Describe the surroundings of wrong elements: patterns along axes, or else a box."""
    hits = _hits(wrong)
    terms = [_pattern(f"axis {axis}", hit) for axis, hit in enumerate(hits) if not hit.all()]
    if any(terms):
        return f"only where {' and '.join(filter(None, terms))}"
    box = [_slice(hit) for hit in hits]
    return f"scattered in [{', '.join(box)}]" if set(box) != {":"} else "scattered"


def _hits(mask: Mask) -> list[Mask]:
    """For each axis, which of its indices hold a true element."""
    axes = range(mask.ndim)
    return [np.asarray(mask.any(tuple(other for other in axes if other != axis))) for axis in axes]


def _pattern(name: str, hit: Mask, listed: int = _LISTED) -> str:
    """Describe the true indices of a vector by a condition on `name`, "" without a simple one."""
    size, count = hit.size, int(np.count_nonzero(hit))
    first, last = _ends(hit)
    if count == 1:
        return f"{name} is {first}" + " (the last)" * (first == size - 1)
    if count == last - first + 1:
        if last == size - 1:
            return f"{name} >= {first}"
        return f"{name} is {first} to {last}" if first else f"{name} < {last + 1}"
    step = int(hit[first + 1 :].argmax()) + 1
    if first < step and 2 < count == len(range(first, size, step)) and hit[first::step].all():
        return f"{name} % {step} = {first}"
    if count <= listed:
        *most, final = map(str, np.flatnonzero(hit))
        return f"{name} is {', '.join(most)} or {final}"
    return ""


def _slice(hit: Mask) -> str:
    first, last = _ends(hit)
    return ":" if hit.size == last + 1 - first else f"{first}:{last + 1}"


def _ends(hit: Mask) -> tuple[int, int]:
    return int(hit.argmax()), hit.size - 1 - int(hit[::-1].argmax())


def picture(want: Array, got: Array, dtype: DType, shares: Shares) -> Picture:
    """Draw the errors of `got`, in `dtype`; a cell shows the largest of its `shares`."""
    # The last axis to the right, all others downwards.
    columns, rows = got.shape[-1] if got.shape else 1, prod(got.shape[:-1])
    across, down = min(columns, SIDE), min(rows, SIDE)
    most = np.zeros(down * across)
    for places, some in shares():
        row, column = np.divmod(places.reshape(-1), columns)
        cell = row * down // rows * across + column * across // columns
        np.maximum.at(most, cell, some.reshape(-1))
    letters = tuple("".join(map(_letter, line)) for line in most.reshape(down, across).tolist())
    counts, unordered = _ulps(want, got, dtype) if dtype.kind == "float" else ((), 0)
    return Picture(got.shape, counts, unordered, letters)


def _letter(share: float) -> str:
    if share == 0:
        return "."
    if share == np.inf:
        return "Z"
    fraction, exponent = np.frexp(share)
    # The logarithm, rounded up.
    doublings = int(exponent) - (fraction == 0.5)
    return ascii_letters[min(max(25 + doublings, 0), 50)]


def _ulps(want: Array, got: Array, dtype: DType) -> tuple[tuple[tuple[int, int], ...], int]:
    """Count elements by distance in ULP, by powers of two, and unordered ones."""
    counts, powers = np.zeros(66, np.int64), 1 << np.arange(64, dtype=np.uint64)
    for _, (wanted, actual) in elements.chunks(want, got):
        if wanted.dtype != dtype.numpy:
            wanted = round_to(wanted.astype(np.float64), dtype)
        steps = elements.distance(wanted, actual)
        # The bits that it takes.
        bits = np.searchsorted(powers, steps, side="right")
        bits[steps == UNORDERED] = 65
        counts += np.bincount(bits, minlength=66)
    *ordered, unordered = counts.tolist()
    return tuple((bits, count) for bits, count in enumerate(ordered) if count), unordered
