"""Outputs of a node or a model against expected ones: number, type, dtype, shape and values.

Nothing is broadcast or converted. `elements` judges values by a stated tolerance, `bounded` by an
operator's error bound, whose words are explained there. A `Want` is what is expected of an output;
its `others` are the same by other readings of what the text leaves open. A `Comparison` is the
result: it has a `problem`, such as "values" or "precision" (right in a poorer arithmetic), or None.
A *share* is an element's error as a part of the allowed one. A formula raises NotSupported where
to compute its bound would take too much. What asks for an operator raises WrongOperator if the file
that declares it is wrong.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from math import inf, prod
from string import ascii_letters
from typing import Any, TypeAlias

import numpy as np

from opcheck.compare import bounded, elements
from opcheck.compare.elements import (
    UNORDERED,
    ElementTolerance,
    Findings,
    Floats,
    Mask,
    Places,
    Want,
)
from opcheck.dtypes import DType, half_ulp, identical, nearest_integers, of, round_to
from opcheck.engine import Drawn, Expected, Tier, operator_of
from opcheck.errors import NotSupported
from opcheck.model.case import EXACT, Array, OpVersion, Tolerance
from opcheck.model.question import NOTHING, Foreign, Items
from opcheck.model.result import Comparison, ComparisonProblem, Failure, Mismatch, Picture
from opcheck.numbers.arithmetic import expected

Comparisons: TypeAlias = tuple[Comparison, ...]
#: What is expected of each output of a node, and what a backend returned.
Wants: TypeAlias = Sequence[Want]
Outputs: TypeAlias = Sequence[Array | Foreign]
#: Names of 16-bit types in which a backend says that it computes: it gets no warning for them.
Names: TypeAlias = Collection[str]
#: Returns elements' places in the flat array with their shares, in one shape.
Shares: TypeAlias = Callable[[], Iterable[tuple[Places, Floats]]]

ROWS_DISAGREE = "the elements of a row disagree about its sum"
CUT = "cut off instead of rounded; the text states no rounding"
OWN = "opcheck's own answer in plain arithmetic is as far off as that"
UNCOMPUTED = "in an arithmetic that the backend declares, rounding decides what is computed"
UNDECIDED_OF_MODELS = "neither bound nor scatter says anything; opcheck locate judges each node"
_OPEN = "the text leaves open what elements are made of"
UNDECIDED = "a correct implementation may miss most of its elements by half of their value"
#: The most indices of one axis that are listed one by one.
_LISTED = 4
#: The most cells in a row and in a column.
SIDE = 64
#: A range's end may be exceeded by so many ULP, for rounding.
_ULP_BEYOND_RANGE = 4
#: A 16-bit output is cut off, not rounded, if so many elements all lie nearer to 0: rounded ones do
#: so once in 65,536 times.
_ENOUGH_CUT = 16
#: Elements nearer to the exact value than that part of half an ULP are on neither side.
_EXACT_PART = 2.0**-9
#: Half ULP that lie within one place.
_HALVES_OF_ULP = 2
#: Letters of a picture: 0, "a" and so on for shares up to 1, which is "z", then "A" to "Z".
_LETTER_OF_ONE = ascii_letters.index("z")
_LAST_LETTER = ascii_letters.index("Y")
#: Distances of 0 to 64 bits, and the place of unordered elements in the counts.
_UNORDERED_BITS = 65
#: The fewest indices by which a step is seen.
_FEWEST_OF_STEP = 3


def compare(
    want: Want,
    got: Array | Foreign,
    tolerance: Tolerance | None = None,
    like: Array | None = None,
    declared: Names = (),
) -> Comparison:
    """Judge one output by `tolerance`, or if that is None by its own bound, or else exactly.

    `want` is of a tensor; `compare_outputs` takes sequences apart. `got` may have any memory layout
    and byte order. Each element may follow another reading of the text (`want.others`), and some
    may be anything (`want.undefined`). If `like`, an input, has the output's shape, each wrong
    element is shown with the input's. `declared` are the names of 16-bit types in which the backend
    says it computes; they bring no warning. `used` of the result is at most 1 for a pass, infinite
    if type, dtype or shape is wrong. What is not a tensor, a dtype that is none of ONNX's or cannot
    hold the wanted values, and a shape that broadcasts only, are problems of the result, not
    exceptions. An empty output of the right dtype and shape is right, and so is any of a `random`
    one.

    Raises ValueError for a tolerance that is negative, not finite or of both kinds, and for wanted
    values that the wanted dtype cannot hold. A bound that is computed for the first time raises
    what the operator's formula raises, such as NotSupported beyond a budget.
    """
    if tolerance is not None:
        elements.check(tolerance)
        want = _in_whole_numbers(want)
    if isinstance(got, Foreign):
        return failed(want, "type", f"{got.description}, want a tensor")
    got = got.view(np.ndarray)
    dtype = of(got)
    if dtype is None or want.dtype not in (None, dtype):
        return failed(want, "dtype", f"{dtype or got.dtype}, want {want.dtype or 'a tensor type'}")
    try:
        values = _values_in(dtype, want)
    except ValueError as error:
        if want.dtype is not None:
            raise
        return failed(want, "dtype", f"{dtype}, but {error}")
    if got.shape != values.shape:
        return failed(want, "shape", f"{got.shape}, want {values.shape}")
    if want.random:
        return Comparison(want.name, None, dtype=dtype, total=got.size, unjudged=got.size)
    if want.undefined is not None:
        return _apart_from(
            want.undefined, replace(want, undefined=None), got, dtype, tolerance, like, declared
        )
    if want.others and want.whole:
        return _apart_from_open_elements(want, got, dtype, tolerance, like, declared)
    if want.others:
        got = _as_first_reading(want, got, dtype, tolerance, declared)
    return _compare_values(want, values, got, dtype, tolerance, like, declared)


def _in_whole_numbers(want: Want) -> Want:
    """Return an integer output whose values are floats with a bound as the nearest integers.

    Where several integers are right, the value is their middle. No tolerance can be about one that
    lies between two integers, so it becomes the nearest, ties to even; an end of the type for what
    is beyond it, and 0 for NaN. The same is done to its `others`, the other readings. Other outputs
    stay as they are.
    """
    others = tuple((name, _in_whole_numbers(other)) for name, other in want.others)
    if not _stands_for_integers(want):
        return replace(want, others=others) if others else want
    return replace(want, values=in_its_dtype(want), rest=None, others=others)


def _stands_for_integers(want: Want) -> bool:
    """Return True for an integer output with a bound whose values are floats."""
    is_integer = want.dtype is not None and want.dtype.kind == "int"
    return is_integer and want.bound is not None and want.values.dtype.kind == "f"


def _pardoned_integers(want: Want, dtype: DType) -> Floats | None:
    """Return 0 for integers for which any number is right and infinity for others, flat.

    Such are those that their type cannot hold. None if none may be such, for an output without a
    bound and for one that is not of integers. Raises what the operator's formula raises.
    """
    if want.bound is None or dtype.kind != "int":
        return None
    lost = want.bound.room(want.bound.tiers()[0]).lost
    return None if lost is None else np.where(lost.reshape(-1) > 0, 0.0, np.inf)


def _values_in(dtype: DType, want: Want) -> Array:
    """Return the wanted values in `dtype`.

    They are returned as they are if `dtype` is floating, and for an integer output with a bound,
    whose values may lie between two integers. Raises ValueError if `dtype` cannot hold them, or if
    they are of another kind.
    """
    if want.bound is not None and dtype.kind == "int":
        # What may be either of two integers lies between them.
        return want.values
    return _exact_in(dtype, want.values)


def _compare_values(
    want: Want,
    values: Array,
    got: Array,
    dtype: DType,
    tolerance: Tolerance | None,
    like: Array | None,
    declared: Names,
) -> Comparison:
    """Judge an output of the right type and shape, whose wanted `values` are in its dtype.

    It is judged by its distribution if it is drawn, by its bound if it has one and there is no
    tolerance, and else by the tolerance, None for exactly. `like` is an input or None, shown next
    to wrong elements; `declared` are the names of 16-bit types that need no warning. Raises
    ValueError for a value that an integer dtype lacks, and whatever the formula raises for a bound.
    """
    if want.distribution is not None:
        return _as_drawn(want, want.distribution, got, dtype, like)
    is_bounded = want.bound is not None and tolerance is None
    if not is_bounded and identical(elements.once_rounded(values, dtype), got):
        # With nothing wrong there is no picture, and so no shares to draw: `tuple` returns none.
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
    """Judge a model's output without the elements that depend on a reading of the text.

    Each node of a model may follow another reading, so that more values than those known may come.
    The elements, those in which any of the `others` differs, count as unjudged; the remark names
    the nodes that made them so. `tolerance` is None for the bound, `like` an input or None,
    `declared` names 16-bit types that need no warning. `want` is of the shape of `got`, and has
    `others`. Raises ValueError for a bad tolerance and for values that the dtype cannot hold, and
    what the formula raises for a bound.
    """
    first = _rounded_to(want, dtype)
    is_open = np.zeros(got.shape, np.bool_)
    for _, other in want.others:
        is_open |= ~elements.same(first, _rounded_to(other, dtype))
    judged = _apart_from(is_open, replace(want, others=()), got, dtype, tolerance, like, declared)
    if judged.problem is None and is_open.any():
        return replace(judged, remark=f"{_OPEN} ({want.open_at})", has_open_elements=True)
    return judged


def _apart_from(
    left_out: Mask,
    want: Want,
    got: Array,
    dtype: DType,
    tolerance: Tolerance | None,
    like: Array | None,
    declared: Names,
) -> Comparison:
    """Judge an output without the elements that `left_out` masks, which count as unjudged.

    `tolerance` is None for the bound, `like` an input or None, `declared` names 16-bit types that
    need no warning. `want` is of the shape of `got`. Raises ValueError for a bad tolerance and for
    values that the dtype cannot hold, and what the formula raises for a bound.
    """
    rest = np.where(left_out, _rounded_to(want, dtype), got)
    judged = compare(want, rest, tolerance, like, declared)
    count = int(np.count_nonzero(left_out))
    return replace(judged, unjudged=min(got.size, judged.unjudged + count))


def _as_first_reading(
    want: Want, got: Array, dtype: DType, tolerance: Tolerance | None, declared: Names
) -> Array:
    """Return `got` with the first reading's value where an element is right by another reading.

    A reading is a way to understand what the text leaves open: `want` itself, and its `others`.
    Only elements for which the readings differ are replaced. An element is right by `tolerance`, or
    if that is None by the reading's bound, or else exactly. What is still wrong by the first
    reading is then wrong by every reading. The result is a copy, in the dtype and shape of `got`.

    Raises ValueError for a value that an integer or boolean dtype lacks, and what the formula
    raises where a bound is computed for the first time.
    """
    first = _rounded_to(want, dtype)
    spliced = got.copy()
    for _, other in want.others:
        differs = ~elements.same(first, _rounded_to(other, dtype))
        right = differs & ~_wrong_elements(other, got, dtype, tolerance, declared)
        spliced[right] = first[right]
    return spliced


def _rounded_to(want: Want, dtype: DType) -> Array:
    """Return the wanted values in `dtype`, rounded once if it is floating, else cast.

    A cast wraps around and cuts fractions off, as NumPy's does. Of an integer output with a bound,
    the value is the nearest integer, one in the middle of several that are right.
    """
    values = want.values
    if dtype.kind == "float":
        return elements.once_rounded(values, dtype)
    if _stands_for_integers(want):
        return in_its_dtype(want)
    return values.astype(dtype.numpy, copy=False)


def _wrong_elements(
    want: Want, got: Array, dtype: DType, tolerance: Tolerance | None, declared: Names
) -> Mask:
    """Mask elements that are wrong by `want` alone, in the shape of `got`.

    They are judged by the bound of `want` if it has one and there is no tolerance, and else by the
    tolerance, None for exactly. What only a poorer arithmetic makes right, elsewhere a warning, is
    wrong here. Raises ValueError for a wanted value that an integer or boolean dtype lacks, and
    what the operator's formula raises where a bound is computed for the first time, such as
    NotSupported.
    """
    if want.bound is not None and tolerance is None:
        findings = bounded.examine(_wide(want), got, dtype, declared).findings
    else:
        judge = ElementTolerance(dtype, tolerance or EXACT, want.low, want.high)
        findings = _findings(judge, want.values, got, _pardoned_integers(want, dtype))
    if findings.wrong is None:
        return np.zeros(got.shape, np.bool_)
    return findings.wrong.reshape(got.shape)


def failed(want: Want, problem: Failure, detail: str) -> Comparison:
    """Return the comparison of an output whose values cannot be judged; its `used` is infinite."""
    return Comparison(want.name, problem, detail, used=inf)


def range_end(high: float | None, dtype: DType) -> float | None:
    """Return the upper end of an operator's range, extended by 4 ULP of `dtype` for rounding.

    None and the ends for other dtypes than floating ones stay. Lower ends are never extended.
    """
    if high is None or dtype.kind != "float":
        return high
    ulp = 2 * float(half_ulp(np.array(high), dtype))
    return high + _ULP_BEYOND_RANGE * ulp


def _exact_in(dtype: DType, values: Array) -> Array:
    """Return `values` in `dtype` unless that is floating; then they are returned as they are.

    Floating values are rounded to minifloats, complex ones to complex dtypes. Raises ValueError for
    others that it does not hold exactly, such as NaN of another minifloat dtype, and for values of
    another kind: only floating ones (of 16 bits or more) may stand for other real dtypes. Strings
    stay as they are.
    """
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
    """Judge by a tolerance and, unless it is strict, by the floor and the range rules.

    A wrong element of a floating output whose floor is not 0 is excused if its error is at most
    that, or if an intermediate result out of range explains it. If all are, but by a tier that has
    a remark, as of a poorer arithmetic, the problem is "precision", and they stay in the findings;
    else it is "values" if any is left, and None if not. Integers for which any number is right are
    right under any tolerance.

    Raises ValueError for a wanted value that an integer or boolean dtype lacks, and what the
    operator's formula raises where a bound is computed for the first time, such as NotSupported.
    """
    judge = ElementTolerance(dtype, tolerance, want.low, want.high)
    pardoned = _pardoned_integers(want, dtype)
    problem: ComparisonProblem = "values"
    remark = ""
    findings = _findings(judge, want.values, got, pardoned)
    may_pardon = want.floor and dtype.kind == "float" and not tolerance.strict
    if findings.wrong is not None and may_pardon:
        wrong = findings.wrong.reshape(want.values.shape)
        by_tier, shares_of_floor = bounded.pardon(_wide(want), got, declared, wrong)
        excused = shares_of_floor.reshape(-1)
        not_excused = _findings(judge, want.values, got, excused)
        if not not_excused.count and by_tier:
            problem = "precision"
            remark = by_tier
        else:
            findings = not_excused
            pardoned = excused

    def shares() -> Iterator[tuple[Places, Floats]]:
        """Yield the places of all elements, in pieces, with their shares, at most as pardoned."""
        for places, of_piece, _ in _pieces(judge, want.values, got, pardoned):
            yield places, of_piece

    comparison = _compared(want, got, dtype, findings, like, shares)
    if not findings.count:
        return comparison
    return replace(comparison, problem=problem, remark=remark)


def _nothing(got: Array, dtype: DType) -> Findings:
    """Return findings without a wrong element; `steps` is None for dtypes without ULP."""
    return Findings(got.size, steps=0 if dtype.kind == "float" else None)


def _findings(
    judge: ElementTolerance, wanted: Array, got: Array, pardoned: Floats | None
) -> Findings:
    """Judge all elements by a tolerance, and return the findings.

    An element is wrong if its share, its error as a part of the allowed one, is above 1. The share
    that counts is the less of that and the one in `pardoned`, a flat array; None for no pardon.
    `wanted` and `got` have one shape, in any byte order. Raises ValueError for a wanted value that
    an integer or boolean dtype lacks.
    """
    findings = _nothing(got, judge.dtype)
    for places, shares, furthest in _pieces(judge, wanted, got, pardoned):
        findings.step(furthest)

        # The default keeps the places of this piece when the next one comes.
        def allowed(number: int, places: Places = places) -> str:
            """Return the error that the tolerance allows to an element of this piece, in words."""
            place = [places[number]]
            return judge.allowed_in_words(
                elements.native(wanted.flat[place]), elements.native(got.flat[place])
            )

        findings.add(partial(np.asarray, places), shares, allowed)
    return findings


def _pieces(
    judge: ElementTolerance, wanted: Array, got: Array, pardoned: Floats | None
) -> Iterator[tuple[Places, Floats, int | None]]:
    """Yield elements' places and shares, and the largest distance of each piece.

    A share is an error as a part of the allowed one; the distance is in ULP, None for dtypes
    without. Shares are at most those `pardoned`, a flat array, or None for no pardon. Nothing is
    yielded of an empty output. Raises ValueError for a wanted value that an integer or boolean
    dtype lacks.
    """
    for start, pieces in elements.chunks(wanted, got):
        shares, furthest = judge.shares(*pieces)
        places = np.arange(start, start + shares.size)
        if pardoned is not None:
            shares = np.minimum(shares, pardoned[places])
        yield places, shares, furthest


def _decided(
    want: Want, got: Array, dtype: DType, like: Array | None, declared: Names
) -> Comparison:
    """Judge by the bound and the scatter of errors, unless these say nothing about a model.

    A model's output with wrong values or a poorer arithmetic is undecided, if `_why_undecided`
    gives a reason: no element counts as wrong then, and all as unjudged. `want` has a bound and
    float64 values, `like` is an input or None, and `declared` are the names of 16-bit types that
    the backend declares. What is computed for the first time raises what the operator's formula
    raises.
    """
    comparison = _by_bound(want, got, dtype, like, declared)
    if want.whole and comparison.problem in ("values", "precision"):
        why = _why_undecided(want, dtype, declared, comparison)
        if why:
            return replace(comparison, problem="undecided", unjudged=got.size, remark=why, wrong=0)
    return comparison


def _why_undecided(want: Want, dtype: DType, declared: Names, comparison: Comparison) -> str:
    """Return why a `comparison` with a problem decides nothing about a model's output, else "".

    The plain answer by the engine, in the tensors' types, has a problem too; or values are wrong,
    and what comes of an arithmetic that the backend declares is not known. `want` has a bound and
    float64 values. Raises what the operator's formula raises.
    """
    bound = want.expected
    plain = bound.evaluation.plain[bound.place]
    if _by_bound(want, plain, dtype, None, declared).problem:
        return OWN
    is_wrong = comparison.problem == "values"
    return UNCOMPUTED if is_wrong and bounded.lacks_an_allowed_tier(bound, declared) else ""


#: The problem with an output's values, None for none, and a remark about them, or "".
_Opinion: TypeAlias = tuple[ComparisonProblem | None, str]


def _by_bound(
    want: Want, got: Array, dtype: DType, like: Array | None, declared: Names
) -> Comparison:
    """Judge by the bound, then by the scatter of errors: of a model always, else of what fits.

    The problem is, in this order, "values" if no tier (an arithmetic that is allowed) fits;
    "undecided" if more than half of the elements are unjudged; "values" if a model scatters as
    nothing explains; "precision" for a tier or a scatter that needs a remark; and None otherwise.
    `want` has a bound and float64 values; `like` is an input to show, or None; `declared` are the
    names of 16-bit types that the backend declares. What is computed for the first time raises what
    the operator's formula raises, such as NotSupported beyond a budget.
    """
    decision = bounded.examine(want, got, dtype, declared)
    tier = decision.tier
    spread: bounded.Scattering | None = None
    if want.whole:
        spread = _spread(want, got, dtype)
    if spread:
        # What the bound leaves open, the scatter decides, unless it may be as far.
        unjudged = decision.unjudged & bounded.may_scatter_far(want)
        decision.findings.unjudged = int(np.count_nonzero(unjudged))
    problem: ComparisonProblem | None
    if not decision.fits:
        problem = "values"
        remark = _why_it_does_not_fit(want, decision, spread)
    elif 2 * decision.findings.unjudged > got.size:
        problem = "undecided"
        remark = UNDECIDED_OF_MODELS if want.whole else UNDECIDED
    elif spread and spread.message:
        problem = _problem_of_model(want, got, decision, spread)
        remark = spread.message
    elif tier.remark:
        problem = "precision"
        remark = CUT if _is_cut(want.values, got, dtype) else tier.remark
    elif spread and spread.remark:
        problem = "precision"
        remark = spread.remark
    else:
        if not want.whole:
            spread = _spread_within(want, got, dtype, tier, declared)
        problem, remark = _by_scatter(want, tier.name, spread)
    comparison = _compared(want, got, dtype, decision.findings, like, decision.shares)
    return replace(comparison, problem=problem, remark=remark, tier=tier.name)


def _why_it_does_not_fit(
    want: Want, decision: bounded.Decision, spread: bounded.Scattering | None
) -> str:
    """Return a remark on values that fit no tier of the bound; "" if there is nothing to add.

    It joins what applies: elements of a row disagree about its sum; they are too far off even for
    the nearest tier, if that is of another arithmetic than the first; the message of `spread`, how
    errors scatter, None if unknown.
    """
    reasons = []
    if decision.rows_disagree:
        reasons.append(ROWS_DISAGREE)
    if decision.tier.name != want.expected.tiers(())[0].name:
        reasons.append(f"too far off even for {decision.tier.name}")
    if spread and spread.message:
        reasons.append(spread.message)
    return "; ".join(reasons)


def _problem_of_model(
    want: Want, got: Array, decision: bounded.Decision, spread: bounded.Scattering
) -> ComparisonProblem:
    """Return the problem of a model's output that fits its bound, but scatters too far.

    The problem is "precision" if a narrower type explains how far errors lie from the right values
    (`spread.explained`). If not, only unjudged elements can be wrong, as the bound decides the
    others: it is "values" if nothing explains the scatter of the unjudged ones, or if the bound is
    that of a poorer arithmetic; else "precision". Raises what the model's formula raises, but for
    NotSupported, which leaves a formulation out.
    """
    if spread.explained:
        return "precision"
    of_unjudged = bounded.scattering(want, got, decision.unjudged)
    is_wrong = of_unjudged is not None and of_unjudged.message and not of_unjudged.explained
    return "values" if is_wrong or decision.tier.remark else "precision"


def _by_scatter(want: Want, arithmetic: str, spread: bounded.Scattering | None) -> _Opinion:
    """Return the problem of values that fit a tier without a remark, None for none, and a remark.

    `spread` says how errors scatter, and judges nothing if it is None. The problem is "precision"
    if it has a message. A right model's remark has its scatter, next to the name of the tier's
    `arithmetic`; others have "".
    """
    if spread is None:
        return None, ""
    if spread.message:
        return "precision", spread.message
    if want.whole:
        times = f"{spread.ratio:.2g} times; up to {bounded.SCATTER:g} may be"
        return None, f"as far off as {arithmetic} arithmetic explains, {times}"
    return None, ""


def _spread_within(
    want: Want, got: Array, dtype: DType, tier: Tier, declared: Names
) -> bounded.Scattering | None:
    """Return how errors of values that fit a tier scatter, by the arithmetic of that tier.

    The tier has no remark: it is of the expected arithmetic, or of a narrower one that is declared,
    of which data drawn at random are judged alone. Errors within the expected bound that scatter
    further may be those of a `declared` type, by its name: its message is empty if one explains
    them. None for integers and booleans, for data that are not judged, and where no theory of
    errors judges. `want` has a bound and is not of a model. Raises what the operator's formula
    raises, but for NotSupported.
    """
    narrower = [
        one for one in want.expected.tiers(declared) if one.arithmetic.everywhere and not one.remark
    ]
    if tier in narrower:
        if dtype.kind != "float" or not want.of_random_data:
            return None
        return bounded.scattering_as_declared(want, got, tier)
    spread = _spread(want, got, dtype)
    if spread is None or not spread.message:
        return spread
    for one in narrower:
        as_declared = bounded.scattering_as_declared(want, got, one)
        if as_declared is not None and not as_declared.message:
            return as_declared
    return spread


def _spread(want: Want, got: Array, dtype: DType) -> bounded.Scattering | None:
    """Return how errors scatter; None for integers, and where a theory of errors judges nothing.

    It judges data drawn at random (`want.of_random_data`), and of other data the case's own
    (`want.of_own_data`), if these scatter too far and the theory holds for them. `want` has a
    bound. Raises what the operator's formula raises, but for NotSupported, which leaves a
    formulation out, or all of one's own data.
    """
    if dtype.kind != "float":
        return None
    if want.of_random_data:
        return bounded.scattering(want, got)
    return _spread_of_own_data(want, got)


def _spread_of_own_data(want: Want, got: Array) -> bounded.Scattering | None:
    """Return how errors scatter on data that were not drawn at random; None without a judgment.

    Data of the case's own (`want.of_own_data`) are judged only if their errors scatter too far, if
    honest orders of computing scatter as the theory says, and if it is known which elements may
    leave the range, which do not count. `want` has a bound, and is of floats. Raises what the
    operator's formula raises, but for NotSupported.
    """
    ratio = bounded.scatter(want, got) if want.of_own_data else None
    if ratio is None or ratio <= bounded.SCATTER or not bounded.scatters_independently(want):
        return None
    # What an engine flushes to 0, or loses to overflow, is not a rounding.
    ranged = [tier for tier in want.expected.tiers() if tier.ranged]
    is_lost = np.zeros(got.shape, np.bool_)
    try:
        for tier in ranged:
            is_lost |= want.expected.range_loss(tier)
    except NotSupported:  # It takes too long.
        return None
    return bounded.scattering(want, got, part=~is_lost)


def _is_cut(exact: Floats, got: Array, dtype: DType) -> bool:
    """Return True if a 16-bit output is nearer to 0 than the `exact` one, by less than a place.

    All elements must be, at least 16; those that are nearly exact do not count, nor do NaN and
    equal infinities. False for other dtypes.
    """
    if not dtype.is_half:
        return False
    with np.errstate(invalid="ignore"):
        less = (np.abs(exact) - np.abs(elements.wide(got))) / half_ulp(exact, dtype)
    off = less[np.abs(less) > _EXACT_PART]
    if off.size < _ENOUGH_CUT:
        return False
    return bool(off.min() > 0 and off.max() < _HALVES_OF_ULP)


def _as_drawn(want: Want, draw: Drawn, got: Array, dtype: DType, like: Array | None) -> Comparison:
    """Judge random numbers: each must be possible, and all must follow the distribution, `draw`.

    The problem is "values" if one is impossible, "distribution" if all together are too unlikely,
    with what is unlikely as its detail, and else None. `like` is an input to show next to
    impossible elements, or None. Raises what the operator's formula raises.
    """
    draws = elements.judged_draws(draw, got, dtype)
    findings = Findings(got.size, steps=None)

    def allowed(number: int) -> str:
        """Return the range of what may be drawn for an element of the flat output, in words."""
        return f"from {draws.low.flat[number]} to {draws.high.flat[number]}"

    # Any share above 1 is wrong; an impossible number has no error.
    shares = np.where(draws.impossible, 2.0, 0.0)
    findings.add(partial(np.arange, got.size), shares, allowed)
    comparison = _compared(want, got, dtype, findings, like, tuple)
    if findings.count:
        return replace(comparison, problem="values")
    if draws.used > 1:
        comparison = replace(comparison, problem="distribution", detail=draws.text)
    return replace(comparison, used=draws.used)


def _wide(want: Want) -> Want:
    """Return `want` with float64 values, and in `rounded` the dtype to which they were rounded.

    That is the bound's, None without a bound. `want` itself if its values are float64.
    """
    if want.values.dtype == np.float64:
        return want
    rounded = want.bound.dtype if want.bound else None
    return replace(want, values=want.values.astype(np.float64), rounded=rounded)


def _compared(
    want: Want, got: Array, dtype: DType, findings: Findings, like: Array | None, shares: Shares
) -> Comparison:
    """Return the comparison that reports `findings`; its `problem` is None, for the caller to set.

    `findings` are the wrong elements of `got` and the largest share. If any is wrong, the
    comparison has their place, and the worst with the elements of `like`: an input, shown if it has
    the shape of `got`, or None. It draws a picture of all by `shares()` when asked.
    """
    comparison = Comparison(
        want.name,
        None,
        dtype=dtype,
        wrong=findings.count,
        total=got.size,
        unjudged=findings.unjudged,
        max_ulp=None if findings.steps == UNORDERED else findings.steps,
        used=findings.used,
    )
    if findings.wrong is None:
        return comparison
    worst = sorted((place, allowed) for _, place, allowed in findings.worst)
    return replace(
        comparison,
        detail=f"{findings.count} of {got.size} elements wrong",
        where=describe(findings.wrong.reshape(got.shape)),
        worst=tuple(
            _mismatch(want, got, dtype, place=place, allowed=allowed, like=like)
            for place, allowed in worst
        ),
        picture=partial(picture, want.values, got, dtype, shares),
    )


def _mismatch(
    want: Want, got: Array, dtype: DType, *, place: int, allowed: str, like: Array | None
) -> Mismatch:
    """Return the wrong element at this place of the flat array, in C order.

    Its values are in `dtype`, the wanted one rounded once. `ulp` is None if one of them is NaN and
    for dtypes without ULP, and `input` without a `like` of the same shape. `allowed` is the allowed
    error in words.
    """
    index = tuple(int(i) for i in np.unravel_index(place, got.shape))
    wanted = elements.native(want.values.flat[[place]])
    if dtype.kind == "int" and wanted.dtype.kind == "f":
        # The middle of several integers that are right.
        wanted = nearest_integers(wanted, None, dtype)
    wanted = elements.once_rounded(wanted, dtype)
    actual = elements.native(got.flat[[place]])
    ulp: int | None = None
    if dtype.kind == "float":
        steps = int(elements.distance(wanted, actual)[0])
        ulp = None if steps == UNORDERED else steps
    of_input = None
    if like is not None and like.shape == got.shape:
        of_input = like.item(index)
    return Mismatch(index, wanted.item(0), actual.item(0), ulp, allowed, input=of_input)


def stated_want(op: OpVersion, name: str, values: Array, dtype: DType | None) -> Want:
    """Return these values as expected; a rounded answer may be off by a floor besides.

    Errors up to the floor are right under any stated tolerance that is not strict: twice the
    smallest normal number of float64 for that, of float32 for other floating outputs that an
    operator rounds, else 0. `dtype` None admits any dtype that can hold the values. The range is
    that of the engine's operator, if there is one. Raises WrongOperator if the file of the
    operator's formula is wrong.
    """
    operator = operator_of(op)
    if operator is None:
        return Want(name, dtype, values)
    floor = 0.0
    if dtype and dtype.kind == "float" and not operator.exact:
        floor = expected(dtype).floor
    return Want(name, dtype, values, operator.low, operator.high, floor=floor)


def in_its_dtype(want: Want) -> Array:
    """Return the values in their dtype, rounded once if it is floating; others as they are.

    Integers with a bound, whose value may lie between several that are right, become the nearest
    one, an end of the type for what is beyond it, and 0 for NaN. Raises ValueError if no dtype is
    stated and the values are float64, which may be of any.
    """
    dtype = want.dtype or of(want.values)
    if want.dtype is None and want.values.dtype == "float64":
        raise ValueError(f"{want.name}: only the backend's answer tells its dtype: state it")
    if dtype is not None and dtype.kind == "complex":
        return want.values.astype(dtype.numpy)
    if dtype is not None and _stands_for_integers(want):
        return nearest_integers(want.values, want.rest, dtype)
    if dtype is None or dtype.kind not in ("float", "minifloat"):
        return want.values
    return elements.once_rounded(want.values, dtype)


def computed_want(op: OpVersion, name: str, answer: Array | Expected | Drawn) -> Want:
    """Return the result of the engine's exact mode as expected, with its error bound if it has one.

    `name` is the output's. A plain array is exact. Of numbers drawn at random the medians are the
    values. Raises WrongOperator if the file of the operator's formula is wrong.
    """
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
    """Judge all outputs of a node one by one; of a wrong number, only that.

    They are judged by `tolerance`, None for their own bounds, or else exactly. A sequence has a
    comparison for each tensor, or one if its form or length is wrong. A wrong number of outputs is
    one comparison, with the problem "count" and the first missing or extra output. Outputs that may
    come in any order are compared in that of the answer. The last of several outputs drawn at
    random is wrong if they contradict each other. `like` is an input to show next to wrong
    elements, or None; `declared` names the 16-bit types in which the backend says it computes,
    which need no warning.

    Raises ValueError for a tolerance that is negative, not finite or of both kinds, and for wanted
    values that the wanted dtype cannot hold. A bound that is computed for the first time raises
    what the operator's formula raises, such as NotSupported beyond a budget.
    """
    if tolerance is not None:
        elements.check(tolerance)
    if len(got) == len(wants):
        comparisons = []
        for want, output in zip(_in_order_of(got, wants), got, strict=True):
            for part in _parts(want, output):
                if not isinstance(part, Comparison):
                    part = compare(*part, tolerance, like, declared)
                comparisons.append(part)
        return _related(wants, got, tuple(comparisons))
    name = wants[len(got)].name if len(got) < len(wants) else f"output {len(wants)}"
    description = ""
    if len(got) == 1 < len(wants) and isinstance(got[0], Foreign):
        # Anything but a list, such as None, stands in place of all outputs.
        name = wants[0].name
        description = f" ({got[0].description})"
    outputs = "output" if len(got) == 1 else "outputs"
    detail = f"{len(got)} {outputs}{description}, want {len(wants)}"
    return (Comparison(name, "count", detail, used=inf),)


def _related(wants: Wants, got: Sequence[Any], comparisons: Comparisons) -> Comparisons:
    """Return `comparisons`, the last as wrong if outputs drawn at random contradict each other.

    They stay as they are if one has a problem already, if there is one output, and if outputs are
    not drawn together. `got` are then tensors, in the order of `wants`. Where outputs contradict
    each other, `draw.related` returns a mask, in the shape of the output.
    """
    draw = wants[0].distribution if len(wants) > 1 else None
    if draw is None or draw.related is None:
        return comparisons
    if any(comparison.problem for comparison in comparisons):
        return comparisons
    contradicting = draw.related(got)
    if not contradicting.any():
        return comparisons
    *before, last = comparisons
    count = np.count_nonzero(contradicting)
    detail = f"{count} of {contradicting.size} elements contradict {wants[0].name}"
    where = describe(contradicting)
    last = replace(last, problem="values", detail=detail, where=where, used=inf)
    return (*before, last)


def drift(wants: Wants, one: Outputs, other: Outputs) -> str:
    """Describe how much further one answer scatters than another to the same data, or "".

    Scatter is the size of errors next to that which the expected arithmetic explains. The caller
    has found both answers to be right for some arithmetic. An answer that scatters 10 times as far
    as the other, and further than right answers may, comes of no arithmetic at all. The first such
    output is described. Outputs whose scatter is not known of both are left out. Raises what the
    operator's formula raises, but for NotSupported, which leaves a formulation out.
    """
    for want, of_one, of_other in zip(wants, one, other, strict=False):
        scatter = _scatter(want, of_one)
        scatter_of_other = _scatter(want, of_other)
        if scatter is None or scatter_of_other is None:
            continue
        nearer, further = sorted([scatter, scatter_of_other])
        if further > bounded.SCATTER and further > bounded.DRIFT * max(nearer, 1.0):
            times = f"{further:,.3g} and {nearer:,.3g} times as far as expected"
            return f"{want.name}: the errors of two answers to the same data scatter {times}"
    return ""


def _scatter(want: Want, got: Array | Foreign) -> float | None:
    """Return how far the errors of an output scatter, in parts of what is expected of them.

    About 1 is expected; of several sound formulations the nearest counts. None without a bound or a
    theory of the errors, if the data are not random (`want.of_random_data` is False), for fewer
    than 100 elements unless of a whole model, for integers and booleans, another shape, and what is
    not a tensor. A formulation that raises NotSupported is left out; other errors of the operator's
    formula are raised.
    """
    if want.bound is None or not want.of_random_data or isinstance(got, Foreign):
        return None
    if got.shape != want.values.shape or got.dtype.kind in "biu":
        return None
    return bounded.scatter(_wide(want), elements.native(got))


def are_plainly_right(wants: Wants, got: Outputs, tolerance: Tolerance | None = None) -> bool:
    """Return True if `compare_outputs` would find nothing wrong; no bound is computed for it.

    After False they may be right: it is False for empty outputs, sequences, those in any order,
    with several readings or drawn at random, those of unknown dtype and those in another byte
    order. With a `tolerance` other than None, only outputs that equal the right ones bit by bit are
    True. Raises what the operator's formula raises where it is evaluated for the first time.
    """
    return len(got) == len(wants) and all(map(partial(_is_plainly_right, tolerance), wants, got))


def _is_plainly_right(tolerance: Tolerance | None, want: Want, got: Array | Foreign) -> bool:
    """Return True if an output equals the wanted one bit by bit, or fits the least of its bound.

    The bound is left out if there is a `tolerance`, which is not used otherwise. False for empty
    outputs, what is not a tensor, those in any order, with several readings or drawn at random,
    those of unknown dtype and those in another byte order. Raises what the operator's formula
    raises where it is evaluated for the first time.
    """
    if isinstance(got, Foreign) or want.form != "tensor" or want.any_order is not None:
        return False
    # The values of a distribution are its medians: nobody draws all of them.
    if want.others or want.distribution is not None:
        return False
    dtype = want.dtype
    if dtype is None or got.dtype != dtype.numpy or got.shape != want.values.shape:
        return False
    if not got.size:
        return False
    right = want.values
    if dtype.kind == "float":
        right = elements.once_rounded(right, dtype)
    if identical(right, got):
        return True
    return want.bound is not None and tolerance is None and bounded.fits_at_least(want, got, dtype)


def _in_order_of(got: Outputs, wants: Wants) -> Wants:
    """Return `wants` with their elements in the order of `got` where any order is right.

    The last output has the indices that show the order, along the axis `any_order`; or whole rows,
    which are put in order, and with them the elements along axis 0 of all other outputs. The
    `wants` as they are if any order is not right, or if that output is not a tensor of the right
    shape.
    """
    axis = wants[0].any_order if wants else None
    if axis is None:
        return wants
    places = got[-1]
    right = wants[-1].values
    if isinstance(places, Foreign) or places.shape != right.shape:
        return wants
    # Sorting the sorted order gives ranks: the right element of the same rank goes to each place.
    if axis == "rows":
        order = np.lexsort(right.T)[np.argsort(np.lexsort(places.T))]
        return [replace(w, values=w.values[order]) for w in wants]
    rank = np.argsort(np.argsort(places, axis, kind="stable"), axis)
    order = np.take_along_axis(np.argsort(right, axis, kind="stable"), rank, axis)
    return [replace(w, values=np.take_along_axis(w.values, order, axis)) for w in wants]


def too_wide(wants: Iterable[Want], tolerance: Tolerance | None) -> str | None:
    """Describe a constant answer that a tolerance admits, or None; None also without a tolerance.

    Constants are 0, the ends of the operator's range and the middle of the expected values. At some
    element they must be off by more than a quarter of the largest one. The first output, or tensor
    of a sequence, that admits one is described. Outputs that are random, empty, not real numbers,
    or that have infinities or NaN are left out, and those with integers of which any is right.
    Raises ValueError for a wanted value that an integer dtype lacks, and what the operator's
    formula raises.
    """
    if tolerance is None:
        return None
    for want in chain.from_iterable(want.items or (want,) for want in wants):
        constant = _admitted_constant(want, tolerance)
        if constant is not None:
            admits = f"the tolerance, {tolerance}, admits {constant:g} for every element"
            return f"{want.name}: {admits}: an answer that ignores the input passes"
    return None


def _admitted_constant(want: Want, tolerance: Tolerance) -> np.float64 | None:
    """Return a constant far from some element that the tolerance admits for all, or None.

    It is off there by more than a quarter of the largest element. None also of outputs that are
    random, empty, not real numbers, or that have infinities or NaN, or integers of which any is
    right. Raises ValueError for a wanted value that an integer dtype lacks, and what the operator's
    formula raises.
    """
    want = _in_whole_numbers(want)
    dtype = want.dtype or of(want.values)
    if want.random or not want.values.size or dtype is None:
        return None
    if dtype.kind not in ("float", "int", "minifloat"):
        return None
    if _pardoned_integers(want, dtype) is not None:
        return None
    wanted = want.values.reshape(-1)
    values = wanted.astype(np.float64)
    if not np.isfinite(values).all():
        return None
    judge = ElementTolerance(dtype, tolerance, want.low, range_end(want.high, dtype))
    for value in (0.0, want.low, want.high, values.max() / 2 + values.min() / 2):
        if value is None:
            continue
        answer = np.rint(value) if dtype.kind == "int" else np.float64(value)
        error = np.abs(values - answer)
        worst = int(error.argmax())
        if error[worst] <= np.abs(values).max() / 4:
            continue
        # The worst element decides most often.
        worst_alone = wanted[worst : worst + 1]
        if _admits(judge, worst_alone, answer) and _admits(judge, wanted, answer):
            return answer
    return None


def _admits(judge: ElementTolerance, wanted: Array, answer: np.float64) -> bool:
    """Return True if a tolerance admits one answer for all elements of `wanted`, a flat array."""
    got = np.full(wanted.shape, answer).astype(judge.dtype.numpy)
    shares, _ = judge.shares(wanted, got)
    return not (shares > 1).any()


def _parts(want: Want, got: Array | Foreign) -> Sequence[tuple[Want, Array | Foreign] | Comparison]:
    """Return the parts of one output to compare, or a comparison where its form decides.

    A part is an expected tensor with what came. Where a tensor is wanted it is the only one,
    whatever came, and a sequence has as many as `want`. The form decides where a sequence is wanted
    and something else or another length came, where it has no tensors, and where no value is
    wanted. The comparison has no problem if the form is right.
    """
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

    The first of these that holds, but for "whole lines", which stands before one of the last three:

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
    count = int(np.count_nonzero(wrong))
    if count == 0:
        return ""
    if count == wrong.size:
        return "everywhere"
    if count == 1:
        return f"only at {[int(i) for i in np.unravel_index(int(wrong.argmax()), wrong.shape)]}"
    place = _product(wrong, count)
    if place:
        return f"exactly where {place}"
    right_place = _product(~wrong, wrong.size - count)
    if right_place:
        return f"everywhere but where {right_place}"
    place = _pattern("flat index", wrong.reshape(-1), listed=0)
    if place:
        return f"exactly where {place}"
    return ", ".join(filter(None, [_lines(wrong), _around(wrong)]))


def _product(mask: Mask, count: int) -> str:
    """Describe the `count` true elements by a condition on each axis, "" if impossible.

    It is possible if they are the product of sets of indices, one set for each axis. "" too if an
    axis has no simple condition, or more than four indices are to be listed.
    """
    hits = _hits(mask)
    # Python's integers, as objects, do not overflow.
    if count != np.prod([np.count_nonzero(hit) for hit in hits], dtype=object):
        return ""
    terms = [_pattern(f"axis {axis}", hit) for axis, hit in enumerate(hits) if not hit.all()]
    return " and ".join(terms) if all(terms) else ""


def _lines(wrong: Mask) -> str:
    """Name the axes along which every line is all wrong or all right; "" without any.

    Axes of length 1 do not count.
    """
    long = (axis for axis, size in enumerate(wrong.shape) if size > 1)
    axes = [str(axis) for axis in long if np.array_equal(wrong.any(axis), wrong.all(axis))]
    if not axes:
        return ""
    label = "axis" if len(axes) == 1 else "axes"
    return f"whole lines along {label} {', '.join(axes)}"


def _around(wrong: Mask) -> str:
    """Describe the surroundings of wrong elements: conditions on axes, or else the smallest box.

    Axes without a simple condition are left out, and those of which every index has a wrong
    element. At least one is wrong.
    """
    hits = _hits(wrong)
    terms = [_pattern(f"axis {axis}", hit) for axis, hit in enumerate(hits) if not hit.all()]
    if any(terms):
        return f"only where {' and '.join(filter(None, terms))}"
    box = [_slice(hit) for hit in hits]
    return f"scattered in [{', '.join(box)}]" if set(box) != {":"} else "scattered"


def _hits(mask: Mask) -> list[Mask]:
    """Return for each axis a mask of its indices that hold a true element."""
    axes = range(mask.ndim)
    return [np.asarray(mask.any(tuple(other for other in axes if other != axis))) for axis in axes]


def _pattern(name: str, hit: Mask, listed: int = _LISTED) -> str:
    """Describe the true indices of a vector by a condition on `name`, "" without a simple one.

    At least one is true, and not all. A condition is one index, a range, a step (at least three
    indices), or up to `listed` indices, the first of these that holds.
    """
    size = hit.size
    count = int(np.count_nonzero(hit))
    first, last = _ends(hit)
    if count == 1:
        return f"{name} is {first} (the last)" if first == size - 1 else f"{name} is {first}"
    if count == last - first + 1:
        if last == size - 1:
            return f"{name} >= {first}"
        return f"{name} is {first} to {last}" if first else f"{name} < {last + 1}"
    step = int(hit[first + 1 :].argmax()) + 1
    is_regular = count == len(range(first, size, step)) and hit[first::step].all()
    if first < step and count >= _FEWEST_OF_STEP and is_regular:
        return f"{name} % {step} = {first}"
    if count <= listed:
        *most, final = map(str, np.flatnonzero(hit))
        return f"{name} is {', '.join(most)} or {final}"
    return ""


def _slice(hit: Mask) -> str:
    """Write the smallest range around the true indices as Python slices it; ":" if that is all.

    At least one is true.
    """
    first, last = _ends(hit)
    return ":" if hit.size == last + 1 - first else f"{first}:{last + 1}"


def _ends(hit: Mask) -> tuple[int, int]:
    """Return the first and the last true index of a vector, which has at least one."""
    return int(hit.argmax()), hit.size - 1 - int(hit[::-1].argmax())


def picture(want: Array, got: Array, dtype: DType, shares: Shares) -> Picture:
    """Draw the errors of `got`, in `dtype`; a cell shows the largest of its `shares`.

    The last axis goes to the right, and all others downwards, up to 64 cells each way; a cell is a
    letter, by the logarithm of the share. An empty output has none. Of floats, the picture also
    counts elements by the bits of their distance in ULP, and those where NaN is next to a number
    apart. `want`, of the shape of `got`, may be wider than `dtype`.
    """
    columns = got.shape[-1] if got.shape else 1
    rows = prod(got.shape[:-1])
    across = min(columns, SIDE)
    down = min(rows, SIDE)
    most = np.zeros(down * across)
    for places, of_piece in shares():
        row, column = np.divmod(places.reshape(-1), columns)
        cell = row * down // rows * across + column * across // columns
        np.maximum.at(most, cell, of_piece.reshape(-1))
    letters = tuple("".join(map(_letter, line)) for line in most.reshape(down, across).tolist())
    counts, unordered = _ulps(want, got, dtype) if dtype.kind == "float" else ((), 0)
    return Picture(got.shape, counts, unordered, letters)


def _letter(share: float) -> str:
    """Return the letter of a share of the allowed error: "." for 0, and the next for each doubling.

    "z" is for shares above 1/2 up to 1, "a" for any that are 25 doublings smaller or more, "A" to
    "Y" for larger ones and "Z" for an infinite one.
    """
    if share == 0:
        return "."
    if share == np.inf:
        return "Z"
    fraction, exponent = np.frexp(share)
    # The logarithm, rounded up; that of a power of two, whose fraction is 1/2, is whole.
    is_power_of_two = fraction == 1 / 2
    doublings = int(exponent) - is_power_of_two
    return ascii_letters[min(max(_LETTER_OF_ONE + doublings, 0), _LAST_LETTER)]


def _ulps(want: Array, got: Array, dtype: DType) -> tuple[tuple[tuple[int, int], ...], int]:
    """Return how many elements are off by distances of so many bits, and how many are unordered.

    The first are pairs of the bits of a distance in ULP (0 for equal ones, 1 for 1, 2 for 2 and 3)
    and a count, which is not 0. Unordered are elements where NaN is next to another number. `dtype`
    is floating; `want` may be wider, and is rounded to it.
    """
    counts = np.zeros(_UNORDERED_BITS + 1, np.int64)
    powers = 1 << np.arange(64, dtype=np.uint64)
    for _, (wanted, actual) in elements.chunks(want, got):
        steps = elements.distance(elements.once_rounded(wanted, dtype), actual)
        bits = np.searchsorted(powers, steps, side="right")
        bits[steps == UNORDERED] = _UNORDERED_BITS
        counts += np.bincount(bits, minlength=counts.size)
    *ordered, unordered = counts.tolist()
    return tuple((bits, count) for bits, count in enumerate(ordered) if count), unordered
