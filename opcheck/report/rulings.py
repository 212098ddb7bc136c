"""Which points of a ruling concern a case.

The ruling on a sentence states all that the sentence leaves open, and most of that is about special
data: NaN and infinities, integers, empty tensors. Its points on data that a case does not have are
left out where the case is reported.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

import numpy as np

from opcheck.model import AttrValue, Case, Comparison, Fill, Given, TensorSpec, Typed

#: Ends a point: what follows the blank begins a sentence.
_END = re.compile(r"(?<=[.!?]) (?=[A-Z“\"+-])")
#: How a sentence begins that is about the one before.
_GOES_ON = re.compile(
    r"(It|Its|They|Their|This|That|These|Those|Such|So|Both|Either|Otherwise|Others|Here)\b"
)


@dataclass(frozen=True)
class _Data:
    """A case, and the outputs that were compared."""

    case: Case
    comparisons: Sequence[Comparison]


_Concerns: TypeAlias = Callable[[_Data], bool]


def concerning(
    rulings: Iterable[str], case: Case, comparisons: Sequence[Comparison]
) -> tuple[str, ...]:
    """Return the rulings without the points that do not concern a case; none that is left empty.

    `comparisons` are of its outputs, of which some elements are known. A case of the rule `open`
    keeps all points: what they leave open decides its verdict.
    """
    if case.rule == "open":
        return tuple(dict.fromkeys(rulings))
    data = _Data(case, comparisons)
    is_about = _is_about(data)
    left = (" ".join(filter(is_about, _points(text))) for text in dict.fromkeys(rulings))
    return tuple(filter(None, left))


def _points(ruling: str) -> Iterator[str]:
    """Yield the points of a ruling: its sentences, each with those that only go on with it."""
    point: list[str] = []
    for sentence in _END.split(ruling):
        if point and not _GOES_ON.match(sentence):
            yield " ".join(point)
            point = []
        point.append(sentence)
    yield " ".join(point)


def _is_about(data: _Data) -> Callable[[str], bool]:
    """Return a function that returns True for points that concern the data.

    Those are points that name no kind of special data, and those that name one that is there.
    """

    def is_about(point: str) -> bool:
        named = [concerns for words, concerns in _TOPICS if words.search(point)]
        return not named or any(concerns(data) for concerns in named)

    return is_about


def _has_no_number(data: _Data) -> bool:
    """Return True if NaN or an infinity may be among inputs, or is among the elements shown."""
    shown = (
        value
        for comparison in data.comparisons
        for mismatch in comparison.worst
        for value in (mismatch.want, mismatch.got)
    )
    return not all(map(_is_finite, shown)) or any(map(_may_hold_no_number, data.case.inputs))


def _may_hold_no_number(spec: TensorSpec) -> bool:
    """Return True if an input has NaN or an infinity, or if its elements are not known."""
    if spec.dtype.kind not in ("float", "minifloat", "complex"):
        return False
    if any(not _is_finite(put.value) for put in spec.put):
        return True
    match spec.content:
        case Given(values):
            return not np.isfinite(values).all()
        case Fill(kind, args):
            return kind == "specials" or not all(map(_is_finite, args))
        case _:
            return True


def _is_finite(value: object) -> bool:
    """Return True for a number that is finite, and for what is no number."""
    return not isinstance(value, float | complex) or bool(np.isfinite(value))


def _has_integers(data: _Data) -> bool:
    """Return True if an input or an output that was compared is of integers."""
    dtypes = [spec.dtype for spec in data.case.inputs]
    dtypes += [comparison.dtype for comparison in data.comparisons if comparison.dtype]
    return any(dtype.kind == "int" for dtype in dtypes)


def _has_texts(data: _Data) -> bool:
    """Return True if an input is of texts."""
    return any(spec.dtype.kind == "string" for spec in data.case.inputs)


def _has_nothing(data: _Data) -> bool:
    """Return True if an input or an attribute has no element."""
    is_empty = any(prod(spec.shape) == 0 for spec in data.case.inputs)
    lists = (value for value in data.case.attrs.values() if isinstance(value, tuple))
    return is_empty or any(not value for value in lists)


def _has_negatives(data: _Data) -> bool:
    """Return True if an attribute has a negative number, or if an input may have one."""
    of_attributes = any(map(_holds_a_negative, data.case.attrs.values()))
    return of_attributes or any(map(_may_be_negative, data.case.inputs))


def _holds_a_negative(value: AttrValue | Typed) -> bool:
    """Return True for a number below 0, a list with one, and what is no number or list."""
    if isinstance(value, Typed | np.ndarray):
        return True
    items = value if isinstance(value, tuple) else (value,)
    return any(isinstance(item, int | float) and item < 0 for item in items)


def _may_be_negative(spec: TensorSpec) -> bool:
    """Return True if an input has a number below 0, or if its elements are not known."""
    if spec.dtype.kind not in ("int", "float"):
        return False
    values = spec.content.values if isinstance(spec.content, Given) else None
    return values is None or bool((values < 0).any()) or bool(spec.put)


#: Words for special data, and what returns True for data that has it.
_TOPICS: Sequence[tuple[re.Pattern[str], _Concerns]] = (
    (re.compile(r"\bNaN\b|\b[Ii]nfinit|\binf\b"), _has_no_number),
    (re.compile(r"\b[Ii]ntegers?\b"), _has_integers),
    (re.compile(r"\b[Tt]exts\b|\bstrings?\b"), _has_texts),
    (
        re.compile(
            r"\bempty\b|\bno (elements?|values?)\b|\bwithout (an? |any )?(element|row)s?\b"
            r"|\b(size|length) (of |is )?(exactly )?0\b"
        ),
        _has_nothing,
    ),
    (re.compile(r"\b[Nn]egative\b|\bbelow 0\b"), _has_negatives),
)
