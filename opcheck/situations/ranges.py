"""Starts, ends and steps, lengths of parts, repeats, cropped and padded ends, and diagonals.

Each number is told apart by where it lies next to the axis that it is about: at its ends, inside,
counted from the back, or beyond. A mistake by one, or a missing clamp, shows at one place alone.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from opcheck.model import Case
from opcheck.opset import Schema
from opcheck.situations.axes import choices
from opcheck.situations.family import Family
from opcheck.situations.stated import integer_attribute, integers_of, integers_of_input
from opcheck.suite import materialize

_LEFT_OUT = (
    "Slices and pads along several axes at once, tensors of more than three axes, and numbers of "
    "more than 32 bits. Of Pad reflections as long as the axis, and repeated elements at one end "
    "where the other is cropped, of which the text says nothing. `allowzero` of Reshape, which "
    "`attributes` asks for, and Expand, which `broadcasting` does."
)
_MOST_AXES = 3

# ── starts, ends and steps ────────────────────────────────────────────────────────────────────

_LEFT_TO_DEFAULT = "the default"
#: An axis has as many elements, so that some lie inside.
_LEAST_LENGTH = 3
_INSIDE = ("inside", "inside from the back")
_PLACES = ("first", *_INSIDE, "the end", "beyond", "before the first")
_STEPS = ("1", "2", "longer than the axis", "-1", "-2", "longer backward")
_EQUAL = "start equals end"
_CROSSED = "start lies behind end"


def _place(number: int, length: int) -> str:
    """Return where a start or an end lies on an axis of that length."""
    if number == 0:
        return "first"
    if number == length:
        return "the end"
    if number > length:
        return "beyond"
    if number < -length:
        return "before the first"
    return "inside" if number > 0 else "inside from the back"


def _crossing(start: int, end: int, length: int) -> str | None:
    """Return how a start and an end that both lie inside of an axis go together."""
    if not {_place(start, length), _place(end, length)} <= {*_INSIDE}:
        return None
    start, end = start % length, end % length
    if start == end:
        return _EQUAL
    return _CROSSED if start > end else None


def _step(step: int, length: int) -> str:
    if abs(step) > length:
        return "longer than the axis" if step > 0 else "longer backward"
    return str(int(np.sign(step)) * min(abs(step), 2))


def _slices() -> Iterator[str]:
    for step in _STEPS:
        pairs = product(_PLACES, _PLACES)
        yield from (f"from {start} to {end}, step {step}" for start, end in pairs)
        yield from (f"{one}, step {step}" for one in (_EQUAL, _CROSSED))


def _slices_in(case: Case) -> Iterator[str]:
    starts, ends, steps = (integers_of_input(case, name) for name in ("starts", "ends", "steps"))
    axes = integers_of_input(case, "axes") or (0,)
    shape = case.inputs[0].shape
    if starts is None or ends is None or len(starts) != 1 or len(shape) > _MOST_AXES:
        return
    length = shape[axes[0]]
    if length < _LEAST_LENGTH or 0 in shape:
        return
    step = _step((steps or (1,))[0], length)
    yield f"from {_place(starts[0], length)} to {_place(ends[0], length)}, step {step}"
    crossing = _crossing(starts[0], ends[0], length)
    if crossing:
        yield f"{crossing}, step {step}"


def _parts_of_shapes() -> Iterator[str]:
    places = (_LEFT_TO_DEFAULT, *_PLACES)
    yield from (f"from {start} to {end}" for start, end in product(places, places))
    yield from (_EQUAL, _CROSSED)


def _parts_of_shapes_in(case: Case) -> Iterator[str]:
    rank = len(case.inputs[0].shape)
    start, end = (integer_attribute(case, name, None) for name in ("start", "end"))
    if rank < _LEAST_LENGTH:
        return
    places = (_LEFT_TO_DEFAULT if one is None else _place(one, rank) for one in (start, end))
    yield "from {} to {}".format(*places)
    crossing = start is not None and end is not None and _crossing(start, end, rank)
    if crossing:
        yield crossing


# ── Range ─────────────────────────────────────────────────────────────────────────────────────

#: By type.
_SIZES = {"float32": ("a fraction", "1", "above 1"), "int64": ("1", "above 1")}
_WHOLE = "the limit is a multiple"
_BROKEN = "the limit is no multiple"
_COUNTS = (_WHOLE, _BROKEN, "one number", "start equals limit", "delta leads away")
_SIGNS = ("below 0", "0", "above 0")


def _ranges() -> Iterator[str]:
    for dtype, sizes in _SIZES.items():
        for sign, size, count in product(("positive", "negative"), sizes, _COUNTS):
            if (dtype, size, count) != ("int64", "1", _BROKEN):
                yield f"{dtype}: {sign} delta, {size}, {count}"
        yield from (f"{dtype}: from {start} to {limit}" for start, limit in product(_SIGNS, _SIGNS))


def _ranges_in(case: Case) -> Iterator[str]:
    dtype = case.inputs[0].dtype.name
    if dtype not in _SIZES or any(spec.shape for spec in case.inputs):
        return
    start, limit, delta = (materialize(spec).item() for spec in case.inputs)
    sign = "positive" if delta > 0 else "negative"
    size = "1" if abs(delta) == 1 else "above 1" if abs(delta) > 1 else "a fraction"
    yield f"{dtype}: {sign} delta, {size}, {_count((limit - start) / delta)}"
    yield f"{dtype}: from {_sign(start)} to {_sign(limit)}"


def _count(quotient: float) -> str:
    """Return how many numbers there are, where the limit lies that many deltas from the start."""
    if quotient <= 0:
        return "delta leads away" if quotient else "start equals limit"
    if quotient <= 1:
        return "one number"
    return _WHOLE if quotient == int(quotient) else _BROKEN


def _sign(number: float) -> str:
    return _SIGNS[int(np.sign(number)) + 1]


# ── parts and repeats ─────────────────────────────────────────────────────────────────────────

_BY_NUMBER = ("even parts", "a shorter last part", "one part", "a part for each element")
_BY_LENGTHS = (
    *("equal lengths", "unequal lengths", "one length"),
    *("a length of 0 first", "a length of 0 between", "a length of 0 last"),
)


def _parts() -> Iterator[str]:
    for axis in range(_MOST_AXES):
        yield from (f"axis {axis}: {kind}" for kind in (*_BY_NUMBER, *_BY_LENGTHS))


def _parts_in(case: Case) -> Iterator[str]:
    shape = case.inputs[0].shape
    if len(shape) != _MOST_AXES or 0 in shape:
        return
    axis = integer_attribute(case, "axis", 0) % _MOST_AXES
    lengths = integers_of_input(case, "split")
    count = integer_attribute(case, "num_outputs", None)
    if lengths:
        kind = _kind_of_lengths(lengths)
    elif count:
        kind = _kind_of_number(count, shape[axis])
    else:
        return
    yield f"axis {axis}: {kind}"


def _kind_of_number(count: int, length: int) -> str:
    if count == 1:
        return "one part"
    if count == length:
        return "a part for each element"
    return "a shorter last part" if length % count else "even parts"


def _kind_of_lengths(lengths: Sequence[int]) -> str:
    if 0 in lengths:
        place = lengths.index(0)
        return f"a length of 0 {_end_of(place, len(lengths))}"
    if len(lengths) == 1:
        return "one length"
    return "equal lengths" if len({*lengths}) == 1 else "unequal lengths"


def _end_of(place: int, count: int) -> str:
    return "first" if not place else "last" if place == count - 1 else "between"


def _repeats() -> Iterator[str]:
    for rank in range(1, _MOST_AXES + 1):
        yield from (_repeated(repeats) for repeats in product((0, 1, 2), repeat=rank))


def _repeats_in(case: Case) -> Iterator[str]:
    if 0 not in case.inputs[0].shape:
        yield _repeated(integers_of_input(case, "repeats") or ())


def _repeated(repeats: Sequence[int]) -> str:
    return "repeats " + ", ".join(map(str, repeats))


_LENGTHS = ("0", "1", "a part", "all")


def _reversals() -> Iterator[str]:
    layouts = product(("time first", "batch first"), (2, 3), _LENGTHS)
    yield from (f"{layout}, {rank} axes, length {length}" for layout, rank, length in layouts)


def _reversals_in(case: Case) -> Iterator[str]:
    time = integer_attribute(case, "time_axis", 0)
    shape = case.inputs[0].shape
    layout = ("time first", "batch first")[time]
    for length in dict.fromkeys(integers_of_input(case, "sequence_lens") or ()):
        whole = "all" if length == shape[time] else "a part"
        word = str(length) if length < _LENGTHS.index("a part") else whole
        yield f"{layout}, {len(shape)} axes, length {word}"


# ── cropped and padded ends ───────────────────────────────────────────────────────────────────

_CROPPED = "cropped"
_AMOUNTS = (_CROPPED, "as it is", "padded", "padded by the length or more")
_REPEATING = ("edge", "wrap", "reflect")


def _pads() -> Iterator[str]:
    for mode in ("constant", *_REPEATING):
        amounts = _AMOUNTS[:-1] if mode == "reflect" else _AMOUNTS
        for begin, end in product(amounts, amounts):
            ends = {begin, end}
            if mode == "constant" or _CROPPED not in ends or ends <= {*_AMOUNTS[:2]}:
                yield f"{mode}: begin {begin}, end {end}"


def _pads_in(case: Case) -> Iterator[str]:
    shape = case.inputs[0].shape
    pads = integers_of_input(case, "pads") or ()
    stated = integers_of_input(case, "axes")
    axes = range(len(shape)) if stated is None else stated
    count = len(axes)
    padded = [place for place in range(count) if pads[place] or pads[count + place]]
    if 0 in shape or len(shape) > _MOST_AXES or len(padded) > 1 or not axes:
        return
    (place,) = padded or [0]
    length = shape[axes[place]]
    begin, end = (_amount(pads[one], length) for one in (place, count + place))
    yield f"{case.attrs.get('mode', 'constant')}: begin {begin}, end {end}"


def _amount(pad: int, length: int) -> str:
    cropped, same, some, longer = _AMOUNTS
    if pad <= 0:
        return cropped if pad else same
    return some if pad < length else longer


def _centers() -> Iterator[str]:
    yield from (_by(*words) for words in product(("cropped", "padded"), ("even", "odd")))
    yield "as it is"


def _centers_in(case: Case) -> Iterator[str]:
    shape = case.inputs[0].shape
    wanted = integers_of_input(case, "shape") or ()
    stated = case.attrs.get("axes")
    axes = range(len(shape)) if stated is None else integers_of(stated)
    for axis, length in zip(axes, wanted, strict=False):
        yield _centered(length - shape[axis])


def _centered(added: int) -> str:
    if not added:
        return "as it is"
    return _by("padded" if added > 0 else "cropped", "odd" if added % 2 else "even")


def _by(what: str, parity: str) -> str:
    return f"{what} by an {parity} number"


# ── axes of one element, and shapes ───────────────────────────────────────────────────────────


def _squeezed(rank: int, ones: Sequence[int], axes: Sequence[int]) -> str:
    shape = ",".join("1" if axis in ones else "n" for axis in range(rank))
    return f"[{shape}] along {', '.join(map(str, axes)) or 'all'}"


def _squeezes() -> Iterator[str]:
    for rank in range(1, _MOST_AXES + 1):
        for ones in choices(range(rank), least=1):
            yield from (_squeezed(rank, ones, axes) for axes in choices(ones, least=0))


def _squeezes_in(case: Case) -> Iterator[str]:
    shape = case.inputs[0].shape
    rank = len(shape)
    ones = [axis for axis, length in enumerate(shape) if length == 1]
    axes = integers_of_input(case, "axes") or ()
    if 0 not in shape:
        yield _squeezed(rank, ones, sorted(axis % rank for axis in axes))


def _unsqueezed(rank: int, axes: Sequence[int]) -> str:
    return f"{rank} axes, and new ones at {', '.join(map(str, axes))}"


def _unsqueezes() -> Iterator[str]:
    for rank in range(_MOST_AXES + 1):
        yield from (_unsqueezed(rank - len(axes), axes) for axes in choices(range(rank), least=1))


def _unsqueezes_in(case: Case) -> Iterator[str]:
    axes = integers_of_input(case, "axes") or ()
    rank = len(case.inputs[0].shape)
    whole = rank + len(axes)
    yield _unsqueezed(rank, sorted(axis % whole for axis in axes))


_ENTRIES = {-1: "-1", 0: "0"}


def _reshapes() -> Iterator[str]:
    for rank in range(1, _MOST_AXES + 1):
        entries = product(("n", "-1", "0"), repeat=rank)
        yield from (f"to [{','.join(one)}]" for one in entries if one.count("-1") <= 1)


def _reshapes_in(case: Case) -> Iterator[str]:
    shape = case.inputs[0].shape
    wanted = integers_of_input(case, "shape") or ()
    if 0 not in shape and not integer_attribute(case, "allowzero", 0):
        yield f"to [{','.join(_ENTRIES.get(entry, 'n') for entry in wanted)}]"


# ── diagonals ─────────────────────────────────────────────────────────────────────────────────

_FORMS = ("square", "wide", "high")
_DIAGONALS = (
    *("below the matrix", "the lowest corner", "below", "main"),
    *("above", "the upper corner", "above the matrix"),
)


def _diagonals() -> Iterator[str]:
    yield from (f"{form}, {diagonal}" for form, diagonal in product(_FORMS, _DIAGONALS))


def _diagonals_in(case: Case) -> Iterator[str]:
    shape = case.inputs[0].shape[-2:]
    given = integers_of_input(case, "k")
    k = given[0] if given else integer_attribute(case, "k", 0)
    if min(shape, default=0) > 1:
        yield f"{_form(*shape)}, {_diagonal(k, *shape)}"


def _form(rows: int, columns: int) -> str:
    return "square" if rows == columns else "wide" if columns > rows else "high"


def _diagonal(k: int, rows: int, columns: int) -> str:
    if k <= -rows:
        return "below the matrix"
    if k >= columns:
        return "above the matrix"
    corners = {0: "main", 1 - rows: "the lowest corner", columns - 1: "the upper corner"}
    return corners.get(k, "above" if k > 0 else "below")


def _triangles() -> Iterator[str]:
    yield from (f"upper={upper}, {one}" for upper in (0, 1) for one in _diagonals())


def _triangles_in(case: Case) -> Iterator[str]:
    upper = integer_attribute(case, "upper", 1)
    yield from (f"upper={upper}, {one}" for one in _diagonals_in(case))


# ── the family ────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Ranges:
    """The situations of an operator: every one of them, and those that a case is in."""

    every: Callable[[], Iterator[str]]
    found_in: Callable[[Case], Iterator[str]]


_OF: Mapping[str, Ranges] = {
    "CenterCropPad": Ranges(_centers, _centers_in),
    "EyeLike": Ranges(_diagonals, _diagonals_in),
    "Pad": Ranges(_pads, _pads_in),
    "Range": Ranges(_ranges, _ranges_in),
    "Reshape": Ranges(_reshapes, _reshapes_in),
    "ReverseSequence": Ranges(_reversals, _reversals_in),
    "Shape": Ranges(_parts_of_shapes, _parts_of_shapes_in),
    "Slice": Ranges(_slices, _slices_in),
    "Split": Ranges(_parts, _parts_in),
    "Squeeze": Ranges(_squeezes, _squeezes_in),
    "Tile": Ranges(_repeats, _repeats_in),
    "Trilu": Ranges(_triangles, _triangles_in),
    "Unsqueeze": Ranges(_unsqueezes, _unsqueezes_in),
}


def situations(schema: Schema) -> Iterator[str]:
    """Yield the situations of an operator that takes ranges, parts or diagonals."""
    if not schema.op.domain and schema.op.name in _OF:
        yield from _OF[schema.op.name].every()


def found_in(case: Case) -> Iterator[str]:
    """Yield the situations that a case's ranges, parts or diagonals are in."""
    if case.op.name in _OF and case.inputs:
        yield from _OF[case.op.name].found_in(case)


FAMILY = Family(
    name="ranges",
    situations=situations,
    found_in=found_in,
    left_out=_LEFT_OUT,
    one_type=False,
)
