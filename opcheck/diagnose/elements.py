"""Conditions on single elements: where an output is wrong, by the values that meet there.

An element of an output is *met* by the elements of the inputs that are stretched to its place, and
by the *slice* of the leading input along the attribute `axis` or `axes`. What is given where it is
wrong is an *outcome*, such as 0 or NaN; an element whose right value is just that shows nothing. A
*trait*, such as "input A has a NaN", explains an outcome if all wrong elements have it, and none
that is right and shows something. Elements of cases that fail and of cases that pass count alike.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import comb
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from opcheck import opset
from opcheck.compare.elements import Floats, Mask, Want, wide
from opcheck.compare.outputs import in_its_dtype
from opcheck.diagnose.evidence import Evidence
from opcheck.diagnose.facts import defaults_of
from opcheck.dtypes import DType, are_subnormal, is_real, limits, of
from opcheck.engine import Node
from opcheck.model import Array, Foreign

#: The largest output that is looked at, in elements.
_LARGEST = 1 << 12
#: The largest probability that one of all traits holds for wrong elements alone by chance.
_CHANCE = 0.1
#: So many failures at least have an outcome without a trait, with so many wrong elements.
_FEWEST = 3
_FEWEST_ELEMENTS = 6
#: Right engines miss a floating value that opcheck computes exactly by at most this part of it.
_CLOSE = 2.0**-6
_HALF = 0.5
#: How the column of a slice ends that is 1 where the slice has only zeros, and 0 elsewhere.
_ONLY_0 = ": only 0"
#: What is given that says nothing about the mistake.
ANY_VALUE = "wrong values"
#: What is given that few mistakes give.
NOT_FINITE = frozenset({"NaN", "infinity", "-infinity"})
#: What is given for what is not found: one of the attributes `default_…`.
_DEFAULT = "the default"
#: Outcomes of integers that are one off.
_ONE_OFF = frozenset(
    {"what is one too small", "what is one too large", "what is one too small in size"}
)
#: Outcomes that name the mistake where no trait tells the elements apart.
_TELLING = _ONE_OFF | {"the right values with the opposite sign"}

#: Kinds of NumPy's types that are texts, or are not known.
_TEXTS = ("O", "U", "S", "T")

#: Names the column of numbers of one input, by element, or of one property of its slices.
_Column: TypeAlias = str


@dataclass(frozen=True, eq=False)
class Elements:
    """The elements of one output of one case, in a row.

    Attributes:
        columns: What meets at each element: inputs by their labels, and slices of the first.
        right: The right values, as float64; NaN of what are no numbers.
        wrong: A mask of the elements that are wrong; none of a case that passed.
        outcomes: By outcome, a mask of the elements that are it: given where wrong, else right.
        types: The types of the inputs in words, such as "the input is float32".
        single: Inputs of one element, in words.
        dtype: The type of the leading input; None without one, and for a type unknown here.
        relations: By what an input is to an attribute, such as "the input equals `alpha`", a mask
            of the elements at which it is that.
        shape: The lengths of the output's axes.
    """

    columns: Mapping[_Column, Floats]
    right: Floats
    wrong: Mask
    outcomes: Mapping[str, Mask]
    types: frozenset[str]
    single: frozenset[str]
    dtype: DType | None
    relations: Mapping[str, Mask]
    shape: tuple[int, ...]


class Explanation(NamedTuple):
    """What is given under which condition, "" for none, and the failures that this explains."""

    outcome: str
    condition: str
    explained: frozenset[int]

    @property
    def text(self) -> str:
        """What is given and where, in words."""
        return f"{self.outcome} where {self.condition}" if self.condition else self.outcome


def elements_of(evidence: Evidence) -> Elements | None:
    """Return the elements of the one wrong output of a case, of the first if it passed.

    Without outputs (`evidence.got` None) the case counts as passed. None if several are wrong or
    none is known to be, if not one answer alone is admitted, and for an illegal node. None, too, if
    an output that is looked at is not a tensor, is drawn at random, has another shape than the
    right one or more than 4096 elements. Raises what a bound raises that is computed for the first
    time.
    """
    if len(evidence.admitted) != 1 or not evidence.node.is_legal:
        return None
    judged = _judged(evidence)
    if judged is None:
        return None
    right, got, wrong = judged
    node = evidence.node
    columns = dict(_columns(node, right.shape))
    return Elements(
        columns={name: np.broadcast_to(x, right.shape).ravel() for name, x in columns.items()},
        right=_numbers(right).ravel(),
        wrong=wrong.ravel(),
        outcomes={
            name: np.broadcast_to(mask, right.shape).ravel()
            for name, mask in _outcomes(node, right, got, wrong)
        },
        types=frozenset(f"{label} is {of(x)}" for label, x in _labelled(node)),
        single=frozenset(
            f"the number of elements of {label} is 1" for label, x in _labelled(node) if x.size == 1
        ),
        dtype=None if node.lead is None else of(node.lead),
        relations={
            text: np.broadcast_to(mask, right.shape).ravel()
            for text, mask in _relations(node, right.shape)
        },
        shape=right.shape,
    )


def _judged(evidence: Evidence) -> tuple[Array, Array, Mask] | None:
    """Return the right values of an output, those given, and a mask of the wrong ones.

    Of a pass, given are the right ones of its first output. None as in `elements_of`.
    """
    (wants,) = evidence.admitted
    if evidence.got is None:
        right = _right(wants[0]) if wants else None
        if right is None:
            return None
        return right, right, np.zeros(right.shape, np.bool_)
    found = []
    for place, (want, got) in enumerate(zip(wants, evidence.got, strict=False)):
        right = _right(want)
        if right is None or isinstance(got, Foreign) or got.shape != right.shape:
            return None
        wrong = _wrong(evidence, place, right, got)
        if wrong.any():
            found.append((right, got, wrong))
    return found[0] if len(found) == 1 else None


def _right(want: Want) -> Array | None:
    """Return the right values of an output in their type; None for what is too large or unknown."""
    is_plain = not want.random and want.distribution is None and want.form == "tensor"
    if not is_plain or want.dtype is None or want.values.size > _LARGEST:
        return None
    return in_its_dtype(want)


def _wrong(evidence: Evidence, place: int, right: Array, got: Array) -> Mask:
    """Mask the elements of an output that are wrong: off by more than correct engines may be.

    Right are equal ones, NaN too. So are finite floats within a 64th of the nearest right value, or
    within twice the error that the bound allows. All arrays have one shape. Raises what a bound
    raises that is computed for the first time.
    """
    same = np.asarray((got == right) | ((got != got) & (right != right)))
    nearest = evidence.nearest[place]
    if nearest is None:
        return ~same
    with np.errstate(all="ignore"):
        is_close = np.abs(wide(got) - wide(nearest)) <= _CLOSE * np.abs(wide(nearest))
    both_finite = np.isfinite(wide(got)) & np.isfinite(wide(nearest))
    return np.asarray(
        ~(same | (is_close & both_finite) | evidence.within_errors(place, got, nearest))
    )


def _numbers(array: Array) -> Floats:
    """Return real numbers and booleans as float64, NaN for each element of another kind."""
    if array.dtype.kind in (*_TEXTS, "c"):
        return np.full(array.shape, np.nan)
    return wide(array)


# ── what meets at an element ──────────────────────────────────────────────────────────────────


def _labelled(node: Node) -> Iterator[tuple[str, Array]]:
    """Yield the inputs that are given, each after its name in words.

    That is "the input" for a single one; one of a variadic parameter, or without a schema, goes by
    its place.
    """
    schema = opset.versions(node.op.domain, node.op.name).get(node.op.since)
    parameters = schema.inputs if schema else ()
    given = [(place, x) for place, x in enumerate(node.inputs) if x is not None]
    for place, x in given:
        if len(given) == 1:
            yield "the input", x
        elif place < len(parameters) and parameters[place].option != "variadic":
            yield f"input {parameters[place].name}", x
        else:
            yield f"input {place}", x


def _columns(node: Node, shape: tuple[int, ...]) -> Iterator[tuple[_Column, Floats]]:
    """Yield what meets at the elements of an output of a shape, to which it broadcasts.

    That is the inputs, and the slices of the first one along the node's axes. Texts, complex
    numbers, and inputs that do not broadcast to the shape are left out.
    """
    labelled = [*_labelled(node)]
    for label, x in labelled:
        if x.dtype.kind in (*_TEXTS, "c") or not _broadcasts(x.shape, shape):
            continue
        yield label, wide(x)
    label, x = labelled[0] if labelled else ("", np.zeros(0))
    if is_real(x):
        for axes_in_words, axes in _axes(node, x.ndim):
            yield from _slices(f"{label}, {axes_in_words}", wide(x), axes, shape)


def _relations(node: Node, shape: tuple[int, ...]) -> Iterator[tuple[str, Mask]]:
    """Yield what inputs that are stretched to a shape are to attributes that are one number.

    They equal one, which is rounded to their type, or are above or below it.
    """
    for label, x in _labelled(node):
        is_number = is_real(x) or x.dtype.kind in "iu"
        if not is_number or not _broadcasts(x.shape, shape):
            continue
        for name, value in _single_values(node):
            if isinstance(value, str) or name.startswith("default_"):
                continue
            number = _rounded(value, x)
            yield f"{label} equals `{name}`", np.asarray(wide(x) == number)
            yield f"{label} has a value above `{name}`", np.asarray(wide(x) > number)
            yield f"{label} has a value below `{name}`", np.asarray(wide(x) < number)


def _rounded(value: Any, like: Array) -> Floats:
    """Return a number as float64, rounded to the type of an array of floats; [] in shape."""
    if not is_real(like):
        return np.asarray(value, np.float64)
    with np.errstate(all="ignore"):
        return wide(np.asarray(value).astype(like.dtype))


def _broadcasts(one: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    """Return True if an array of one shape is stretched to another."""
    try:
        return np.broadcast_shapes(one, shape) == shape
    except ValueError:
        return False


def _axes(node: Node, rank: int) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield the axes that `axis` or `axes` names, in words, and those from `axis` on.

    Nothing without such an attribute or default, and for what is out of range.
    """
    if not rank:
        return
    for name in ("axis", "axes"):
        value = node.attrs.get(name, defaults_of(node.op).get(name))
        values = (value,) if isinstance(value, int) else value
        if not isinstance(values, tuple) or not values:
            continue
        axes = [axis for axis in values if isinstance(axis, int)]
        if not all(-rank <= axis < rank for axis in axes):
            continue
        yield f"along `{name}`", tuple(sorted({axis % rank for axis in axes}))
        if name == "axis":
            yield "from `axis` on", tuple(range(axes[0] % rank, rank))


def _slices(
    label: str, x: Floats, axes: tuple[int, ...], shape: tuple[int, ...]
) -> Iterator[tuple[_Column, Floats]]:
    """Yield properties of the slices of an input along axes, by element of an output of a shape.

    The output has the shape of the input, or that without these axes, or with a 1 there. Properties
    are whether all is 0, the largest and the smallest. Nothing for an empty input.
    """
    if not x.size:
        return
    with np.errstate(all="ignore"):
        found = {
            _ONLY_0: np.all(x == 0, axes, keepdims=True).astype(np.float64),
            ": largest": np.max(x, axes, keepdims=True),
            ": smallest": np.min(x, axes, keepdims=True),
        }
    for name, value in found.items():
        if shape == x.shape:
            yield f"{label}{name}", value
        elif math.prod(shape) == value.size:
            yield f"{label}{name}", value.reshape(shape)


# ── what is given ─────────────────────────────────────────────────────────────────────────────


def _outcomes(node: Node, right: Array, got: Array, wrong: Mask) -> Iterator[tuple[str, Mask]]:
    """Yield outcomes, each with a mask of the elements that are it: given if wrong, else right."""
    seen = np.where(wrong, got, right)
    if right.dtype.kind == "b":
        yield "True", seen == True  # noqa: E712 (elements of an array)
        yield "False", seen == False  # noqa: E712 (elements of an array)
    elif right.dtype.kind not in (*_TEXTS, "c"):
        numbers = wide(seen)
        yield "0", (numbers == 0) | (_may_be_flushed(node, right) & ~wrong)
        yield "NaN", np.isnan(numbers)
        yield "infinity", np.isposinf(numbers)
        yield "-infinity", np.isneginf(numbers)
        yield "1", numbers == 1
        yield from _off_by_one(right, got, wrong)
        yield "the right values with the opposite sign", wrong & _are_opposite(right, got)
    for label, x in _labelled(node):
        if x.dtype == right.dtype and _broadcasts(x.shape, right.shape):
            yield label, np.asarray((seen == x) | ((seen != seen) & (x != x)))
    masks: dict[str, Mask] = {}
    is_text = right.dtype.kind in _TEXTS
    for name, value in _single_values(node):
        if isinstance(value, str) != is_text or right.dtype.kind == "c":
            continue
        outcome = _DEFAULT if name.startswith("default_") else f"`{name}`"
        masks[outcome] = masks.get(outcome, False) | _are(seen, value)
    yield from masks.items()
    yield ANY_VALUE, wrong


def _may_be_flushed(node: Node, right: Array) -> Mask:
    """Mask elements that an engine may flush to 0: a subnormal is their right value or meets there.

    That is of floating types.
    """
    flushed = np.zeros(right.shape, np.bool_)
    for x in (right, *(x for _, x in _labelled(node))):
        if _broadcasts(x.shape, right.shape):
            flushed |= are_subnormal(x)
    return flushed


def _off_by_one(right: Array, got: Array, wrong: Mask) -> Iterator[tuple[str, Mask]]:
    """Yield the outcomes of integers one off from the right ones, with masks; none of others."""
    if right.dtype.kind not in "iu":
        return
    # Differences of 64 bits are exact in their own type alone, and there in one direction.
    smaller = wrong & (got < right) & (right - got == 1)
    larger = wrong & (got > right) & (got - right == 1)
    yield "what is one too small", smaller
    yield "what is one too large", larger
    yield "what is one too small in size", (smaller & (right > 0)) | (larger & (right < 0))


def _are_opposite(right: Array, got: Array) -> Mask:
    """Mask the numbers that are the right ones with the opposite sign."""
    if right.dtype.kind == "i":
        return np.asarray(got == -right)
    return np.asarray(wide(got) == -wide(right))


def _are(seen: Array, value: Any) -> Mask:
    """Mask the elements that are a value; a number is rounded to a floating type."""
    if is_real(seen):
        with np.errstate(all="ignore"):
            return np.asarray(wide(seen) == wide(np.asarray(value).astype(seen.dtype)))
    # NumPy's own integers are compared exactly, those of fewer bits only with what they hold.
    is_narrow = seen.dtype.kind == "V"
    return np.asarray((wide(seen) if is_narrow else seen) == value)


def _single_values(node: Node) -> Iterator[tuple[str, Any]]:
    """Yield the attributes that are one value, stated or by default, by name."""
    for name, value in {**defaults_of(node.op), **node.attrs}.items():
        if isinstance(value, np.ndarray) and value.size == 1:
            yield name, value.ravel()[0]
        elif isinstance(value, int | float | str):
            yield name, value


# ── traits ────────────────────────────────────────────────────────────────────────────────────


class _Trait(NamedTuple):
    """A trait in words, and what masks the elements of a case that have it."""

    text: str
    holds: Callable[[Elements], Mask]


#: Kinds of numbers, in words that follow "has", and what masks them.
_KINDS: Mapping[str, Callable[[Floats], Mask]] = {
    "a NaN": np.isnan,
    "an infinity": np.isinf,
    "a positive infinity": np.isposinf,
    "a negative infinity": np.isneginf,
    "a 0": lambda x: np.asarray(x == 0),
    "a negative value": lambda x: np.asarray(x < 0),
    "a positive value": lambda x: np.asarray(x > 0),
    "a value that is not whole": lambda x: np.asarray(np.isfinite(x) & (x != np.floor(x))),
    "a value halfway between integers": lambda x: np.asarray(x - np.floor(x) == _HALF),
}

#: Kinds of right values, in words that follow "is", and what masks them.
_RIGHT_KINDS: Mapping[str, Callable[[Floats], Mask]] = {
    "NaN": np.isnan,
    "infinite": np.isinf,
    "0": _KINDS["a 0"],
    "negative": _KINDS["a negative value"],
}


def _of_column(column: _Column, kind: Callable[[Floats], Mask], elements: Elements) -> Mask:
    """Mask the elements at which an input is of a kind; none where it does not meet them."""
    if column not in elements.columns:
        return np.zeros(elements.wrong.shape, np.bool_)
    with np.errstate(invalid="ignore"):
        return kind(elements.columns[column])


def _of_right(kind: Callable[[Floats], Mask], elements: Elements) -> Mask:
    """Mask the elements whose right value is of a kind."""
    with np.errstate(invalid="ignore"):
        return kind(elements.right)


def _of_relation(text: str, elements: Elements) -> Mask:
    """Mask the elements at which an input is that to an attribute; none without either."""
    return elements.relations.get(text, np.zeros(elements.wrong.shape, np.bool_))


def _of_single(text: str, elements: Elements) -> Mask:
    """Mask all elements of a case with this input of one element, else none."""
    return np.full(elements.wrong.shape, text in elements.single)


def _are_equal(one: _Column, other: _Column, elements: Elements) -> Mask:
    """Mask the elements at which two inputs are equal."""
    columns = elements.columns
    if one not in columns or other not in columns:
        return np.zeros(elements.wrong.shape, np.bool_)
    return np.asarray(columns[one] == columns[other])


def _is_one(x: Floats) -> Mask:
    return np.asarray(x == 1)


def _of_zeros(column: _Column) -> str:
    """Return in words that a slice has only zeros: `the input has only 0 along axis`."""
    label, _, along = column.removesuffix(_ONLY_0).partition(", ")
    return f"{label} has only 0 {along}"


def _kinds(columns: Sequence[_Column]) -> list[_Trait]:
    """Return the traits without a bound, the likeliest first.

    They are slices of zeros, kinds of numbers in inputs and of right values, and equal inputs.
    """
    inputs = [column for column in columns if ":" not in column]
    traits = [
        _Trait(_of_zeros(column), partial(_of_column, column, _is_one))
        for column in columns
        if column.endswith(_ONLY_0)
    ]
    traits += [
        _Trait(f"{column} has {text}", partial(_of_column, column, kind))
        for text, kind in _KINDS.items()
        for column in inputs
    ]
    traits += [
        _Trait(f"the right value is {text}", partial(_of_right, kind))
        for text, kind in _RIGHT_KINDS.items()
    ]
    traits += [
        _Trait(f"{one} equals {other}", partial(_are_equal, one, other))
        for number, one in enumerate(inputs)
        for other in inputs[number + 1 :]
    ]
    return traits


def _bounds(
    columns: Sequence[_Column], cases: Sequence[Elements], scope: Sequence[_Shown]
) -> Iterator[_Trait]:
    """Yield traits by a bound on numbers, or on their size, that no right element keeps.

    The wrong elements of the `cases` must keep it; right ones of the `scope` that show something
    must not.
    """
    dtypes = {one.dtype for one in cases}
    dtype = dtypes.pop() if len(dtypes) == 1 else None
    for column in columns:
        if column.endswith(_ONLY_0):
            continue
        wrong = _values(column, [(one, one.wrong) for one in cases])
        right = _values(column, [(one, shows & ~one.wrong) for one, shows in scope])
        wrong, right = wrong[~np.isnan(wrong)], right[~np.isnan(right)]
        if not wrong.size or not right.size:
            continue
        label, _, what = column.partition(": ")
        place, _, along = label.partition(", ")
        has = f"{place} has {f'a {what} value {along}' if what else 'a value'}"
        bounds = _bounds_of_size(wrong, right, dtype) if not what else ()
        for words, test in (*bounds, *_bounds_of_value(wrong, right, dtype)):
            yield _Trait(f"{has} {words}", partial(_of_column, column, test))


def _bounds_of_size(
    wrong: Floats, right: Floats, dtype: DType | None
) -> Iterator[tuple[str, Callable[[Floats], Mask]]]:
    """Yield bounds on the size of numbers that all wrong and no right ones keep, in words.

    With each comes its test. Neither array is empty or has a NaN. `dtype` is the type whose range
    may explain a bound, None for none.
    """
    wrong, right = np.abs(wrong), np.abs(right)
    if wrong.min() > right.max():
        bound, words = _bound_between(right.max(), wrong.min(), dtype)
        yield f"beyond {words}", partial(_is_beyond, bound)
    if wrong.max() < right.min():
        bound, words = _bound_between(wrong.max(), right.min())
        yield f"closer to 0 than {words}", partial(_is_near_0, bound)
        return
    # Engines may flush subnormal numbers, and 0 is right of many mistakes.
    least = float(np.finfo(np.float32).tiny)
    normal = right[right >= least]
    if normal.size and least <= wrong.min() and wrong.max() < normal.min():
        bound, words = _bound_between(wrong.max(), normal.min())
        yield f"closer to 0 than {words}, and not 0", partial(_is_near_0_and_normal, bound)


def _bounds_of_value(
    wrong: Floats, right: Floats, dtype: DType | None
) -> Iterator[tuple[str, Callable[[Floats], Mask]]]:
    """Yield bounds on numbers that all wrong and no right ones keep, in words.

    With each comes its test. Neither array is empty or has a NaN. `dtype` is the type whose range
    may explain a bound, None for none.
    """
    if wrong.min() > right.max():
        bound, words = _bound_between(right.max(), wrong.min(), dtype)
        yield f"above {words}", partial(_is_above, bound)
    if wrong.max() < right.min():
        bound, words = _bound_between(wrong.max(), right.min())
        yield f"below {words}", partial(_is_below, bound)


def _is_beyond(bound: float, x: Floats) -> Mask:
    return np.asarray(np.abs(x) > bound)


def _is_near_0(bound: float, x: Floats) -> Mask:
    return np.asarray(np.abs(x) < bound)


def _is_near_0_and_normal(bound: float, x: Floats) -> Mask:
    return np.asarray((np.abs(x) < bound) & (np.abs(x) >= float(np.finfo(np.float32).tiny)))


def _is_above(bound: float, x: Floats) -> Mask:
    return np.asarray(x > bound)


def _is_below(bound: float, x: Floats) -> Mask:
    return np.asarray(x < bound)


def _values(column: _Column, masked: Iterable[tuple[Elements, Mask]]) -> Floats:
    """Return the numbers of a column at the masked elements of cases."""
    parts = [one.columns[column][mask] for one, mask in masked if column in one.columns]
    return np.concat([np.zeros(0), *parts])


def _bound_between(low: float, high: float, dtype: DType | None = None) -> tuple[float, str]:
    """Return a number from `low` to `high` that a mistake may have as its bound, and it in words.

    It is where a square or an exponential leaves the range of the type, which the words say. Else
    it is a number in the middle, rounded to the fewest digits that leave it between the two.
    """
    if dtype is not None and dtype.kind == "float":
        largest = float(limits(dtype)[1])
        for name, bound in {"square": math.sqrt(largest), "exponential": math.log(largest)}.items():
            if low <= bound < high:
                return bound, f"{bound:.4g}, whose {name} leaves the range of {dtype}"
    middle = _middle(low, high)
    for digits in range(1, 17):
        words = f"{middle:.{digits}g}"
        if low < float(words) < high:
            return float(words), words
    return middle, f"{middle:.17g}"


def _middle(low: float, high: float) -> float:
    """Return a number between two others: their geometric mean if both have one sign.

    Else it is half of their sum. Infinities count as the largest finite numbers.
    """
    if not math.isfinite(high):
        high = math.nextafter(math.inf, 0.0)
    if not math.isfinite(low):
        low = -math.nextafter(math.inf, 0.0)
    if low > 0 or high < 0:
        return math.copysign(math.sqrt(abs(low)) * math.sqrt(abs(high)), low)
    return low / 2 + high / 2


# ── the search ────────────────────────────────────────────────────────────────────────────────


class _Shown(NamedTuple):
    """The elements of a case, and a mask of those that would show an outcome."""

    elements: Elements
    shows: Mask


def explanation(
    failing: Sequence[Elements],
    passing: Sequence[Elements],
    check: Callable[[], None],
) -> Explanation | None:
    """Return what is given where, for the most failing cases; None for nothing sure.

    All wrong elements of what is explained have the trait, and no right one of any case that shows
    something; one of its type, if the condition names that. It must not hold by chance. Calls
    `check` before each trait that is tried, and raises what that raises.
    """
    found: list[Explanation] = []
    for outcome, numbers in outcomes_of(failing).items():
        shown = [_Shown(one, showing(one, outcome)) for one in (*failing, *passing)]
        for dtype in ("", *types_of(numbers, failing)):
            scope = [one for one in shown if not dtype or dtype in one.elements.types]
            explained = _by_trait([failing[number] for number in numbers], scope, check)
            if explained:
                trait, cases = explained
                its = frozenset(n for n in numbers if any(failing[n] is one for one in cases))
                found.append(Explanation(outcome, _with_type(trait, dtype), its))
                break
    found += _without_trait(failing)
    # Of equal ones, the first has the likelier outcome.
    return max(found, key=lambda one: len(one.explained), default=None)


def outcomes_of(failing: Sequence[Elements]) -> dict[str, list[int]]:
    """Return the numbers of the cases whose wrong elements all have an outcome, by that.

    The outcome that says nothing comes last.
    """
    numbers: dict[str, list[int]] = {}
    for number, one in enumerate(failing):
        for outcome, mask in one.outcomes.items():
            if mask[one.wrong].all():
                numbers.setdefault(outcome, []).append(number)
    return dict(sorted(numbers.items(), key=lambda item: item[0] == ANY_VALUE))


def showing(elements: Elements, outcome: str) -> Mask:
    """Mask the elements that are wrong, or would be if they had the outcome."""
    if outcome == ANY_VALUE or outcome not in elements.outcomes:
        return np.ones(elements.wrong.shape, np.bool_)
    return elements.wrong | ~elements.outcomes[outcome]


def types_of(numbers: Iterable[int], failing: Sequence[Elements]) -> list[str]:
    """Return the types, in words, that all cases of these numbers have."""
    return sorted(frozenset.intersection(*(failing[number].types for number in numbers)))


def _with_type(trait: str, dtype: str) -> str:
    """Return a trait with a type in words, "" for none: `input A of float16 has an infinity`."""
    label, _, name = dtype.partition(" is ")
    if label and trait.startswith(f"{label} has "):
        return f"{label} of {name}{trait.removeprefix(label)}"
    return f"{trait} and {dtype}" if dtype else trait


def _by_trait(
    cases: Sequence[Elements], scope: Sequence[_Shown], check: Callable[[], None]
) -> tuple[str, list[Elements]] | None:
    """Return the trait that explains the most cases, and these; None if none does surely.

    All wrong elements of the cases have one outcome; they and what contradicts a trait are in the
    `scope`. Calls `check` before each trait, and raises what that raises.
    """
    columns = [*dict.fromkeys(name for one in cases for name in one.columns)]
    singles = sorted({text for one in cases for text in one.single})
    traits = [*(_Trait(text, partial(_of_single, text)) for text in singles), *_kinds(columns)]
    relations = dict.fromkeys(text for one in cases for text in one.relations)
    traits += (_Trait(text, partial(_of_relation, text)) for text in relations)
    traits += _bounds(columns, cases, scope)
    best: tuple[str, list[Elements]] | None = None
    for tried, trait in enumerate(traits, 1):
        check()
        explained = [one for one in cases if _has(trait, one)]
        if len(explained) > len(best[1] if best else ()):
            count_cases = trait.text in singles
            if _is_sure(trait, explained, scope, tried, count_cases=count_cases):
                best = trait.text, explained
    return best


def _has(trait: _Trait, elements: Elements) -> bool:
    """Return True if all wrong elements of a case have a trait."""
    return bool(trait.holds(elements)[elements.wrong].all())


def _is_sure(
    trait: _Trait,
    explained: Sequence[Elements],
    scope: Sequence[_Shown],
    tried: int,
    *,
    count_cases: bool,
) -> bool:
    """Return True if a trait has no right element that shows something, and that is no chance.

    `tried` is the number of traits up to this one, the likeliest first. Equal elements count once;
    with `count_cases`, all of a case count once, and three must be explained.
    """
    right = [(elements, mask & ~elements.wrong) for elements, mask in scope]
    if any((trait.holds(elements) & shows).any() for elements, shows in right):
        return False
    of_wrong: set[object]
    of_right: set[object]
    if count_cases:
        of_wrong = {id(one) for one in explained}
        of_right = {id(elements) for elements, shows in right if shows.any()}
        if len(of_wrong) < _FEWEST:
            return False
    else:
        of_wrong = set().union(*(_different(one, one.wrong) for one in explained))
        of_right = set().union(*(_different(elements, shows) for elements, shows in right))
    beside = len(of_right - of_wrong)
    return tried <= _CHANCE * comb(len(of_wrong) + beside, len(of_wrong))


def _different(elements: Elements, mask: Mask) -> set[object]:
    """Return the different elements that are masked, by what meets there; NaN equals NaN."""
    columns = [elements.right, *elements.columns.values()]
    rows = np.stack([np.nan_to_num(column, nan=math.pi)[mask] for column in columns], axis=-1)
    return {row.tobytes() for row in rows}


def _without_trait(failing: Sequence[Elements]) -> Iterator[Explanation]:
    """Yield outcomes that name the mistake by themselves, with the types that all have.

    At least half of the cases have each, at least three, and six wrong elements: of less, the
    outcome is a coincidence. So is what is one off if it would mostly be 0 or 1, as small indices
    are: other wrong values are one off too.
    """
    for outcome, numbers in outcomes_of(failing).items():
        right = np.concat([failing[number].right[failing[number].wrong] for number in numbers])
        are_enough = len(numbers) >= max(_FEWEST, len(failing) / 2)
        if outcome in _ONE_OFF and 2 * np.count_nonzero(np.abs(right) > 1) < right.size:
            continue
        if outcome in _TELLING and are_enough and right.size >= _FEWEST_ELEMENTS:
            types = " and ".join(types_of(numbers, failing))
            yield Explanation(outcome, types, frozenset(numbers))
