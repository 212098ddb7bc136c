"""NonMaxSuppression, all versions: the boxes of a class that no better one overlaps too much.

"Boxes are suppressed if their IOU with a previously selected box is strictly greater than
iou_threshold", where IOU is the share of the intersection in the union of two boxes. "Bounding
boxes with score less than score_threshold are removed."

Overlaps are known better here than float32 can tell them. Where its roundings may decide whether a
box is selected, the answer is open. Boxes of equal scores may be taken in any order, which gives
several answers.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, combinations, groupby, permutations
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from opcheck.engine.operators import (
    formulas_of_versions,
    is_judging,
    leave_open,
    operator,
    raise_unspecified,
)
from opcheck.engine.readings import MAX_ANSWERS, Ruling
from opcheck.engine.rulings import flag
from opcheck.errors import InvalidNode, reject
from opcheck.numbers import Array
from opcheck.numbers.faulty import bare

OP = operator("NonMaxSuppression", exact=True)
ORDER_OF_EQUAL_SCORES = Ruling(
    "order-of-equal-scores",
    "The text does not state which of equal scores comes first: each order selects its own boxes.",
    ("first_boxes", *(f"other_boxes_{n}" for n in range(2, MAX_ANSWERS + 1))),
)
#: The most boxes of one score whose orders are tried: 120 orders.
MOST_OF_ONE_SCORE = 5
#: Half a ULP of 1 in float32.
UNIT_ROUNDOFF = 2.0**-24

Floats: TypeAlias = NDArray[Any]
Mask: TypeAlias = NDArray[np.bool_]


def rows_in_any_order(attributes: Mapping[str, Any]) -> Literal["rows"]:
    """Return "rows", whatever the attributes: the output is "a set of integers indexing" boxes."""
    return "rows"


OP.any_order = rows_in_any_order


# ── boxes ─────────────────────────────────────────────────────────────────────────────────────


class Corners(NamedTuple):
    """The ends of boxes along both axes, each [count, 2], and how far they may be off."""

    low: Floats
    high: Floats
    error: float


class Overlaps(NamedTuple):
    """What is known of the overlaps of boxes, each a mask of [count, count].

    Attributes:
        exceeds: The overlap is greater than the threshold.
        is_unsure: float32 cannot tell whether it is.
        has_area: The union of both has an area.
    """

    exceeds: Mask
    is_unsure: Mask
    has_area: Mask

    def surely_exceeds(self, box: int, others: Sequence[int]) -> bool:
        """Return True if a box overlaps any of these too much, by float32 too."""
        return bool((self.exceeds[box, others] & ~self.is_unsure[box, others]).any())

    def may_exceed(self, box: int, others: Sequence[int]) -> bool:
        """Return True if float32 may find that a box overlaps any of these too much."""
        return bool((self.exceeds[box, others] | self.is_unsure[box, others]).any())


class Limits(NamedTuple):
    """What a node asks for.

    Attributes:
        boxes: The most boxes of a class.
        overlap: iou_threshold.
        score: score_threshold; None for none.
        has_centers: Boxes are [x_center, y_center, width, height], and not [y1, x1, y2, x2].
    """

    boxes: int
    overlap: float
    score: Any
    has_centers: bool


#: The area that an intersection is compared with, from the areas of boxes and the intersections.
Whole: TypeAlias = Callable[[Floats, Floats], Floats]
#: What is known of the overlaps of boxes, from these, has_centers and the threshold.
Measure: TypeAlias = Callable[[Floats, bool, float], Overlaps]


def union_of(areas: Floats, shared: Floats) -> Floats:
    """Return the area of the union of each box with each, [count, count].

    areas: [count]; shared: the areas of the intersections, [count, count].
    """
    return areas + areas[:, None] - shared


def corners_of(boxes: Floats, has_centers: bool) -> Corners:
    """Return the corners of boxes in float64, put in order: "any diagonal pair of box corners".

    boxes: [count, 4] of finite float64; with `has_centers` each [x_center, y_center, width,
    height], else [y1, x1, y2, x2]. The error, one for all boxes, is 0, or with centers 2^-23 of the
    largest coordinate if float32 does not hold all corners. Raises NotSupported, while judging, for
    a negative width or height; a backend goes on with corners out of order.
    """
    if not has_centers:
        ends = boxes.reshape(-1, 2, 2)
        return Corners(ends.min(1), ends.max(1), 0.0)
    middle = boxes[:, :2]
    half = boxes[:, 2:] / 2
    if (half < 0).any():
        leave_open("nothing is said of boxes of a negative size")
    low = middle - half
    high = middle + half
    is_exact = all((x.astype(np.float32) == x).all() for x in (low, high))
    if is_exact:
        return Corners(low, high, 0.0)
    return Corners(low, high, 2 * UNIT_ROUNDOFF * np.abs([low, high]).max(initial=0))


def overlaps(
    boxes: Floats, has_centers: bool, threshold: float, whole: Whole = union_of
) -> Overlaps:
    """Return what is known of the overlaps of any two boxes: masks of [count, count].

    boxes: [count, 4] of finite numbers, by centers and sizes with `has_centers`, else any two
    opposite corners. An overlap is the share of the intersection in the `whole`, 0 of boxes without
    an area. It exceeds if it is greater than the threshold. What float32 may make of it follows
    from the roundings of each step: of the corners, sides, areas, the intersection, the whole, and
    the division. Raises NotSupported, while judging, for centers with a negative width or height.
    """
    low, high, error = corners_of(boxes.astype(np.float64), has_centers)
    sides = high - low
    shared_sides = np.maximum(np.minimum(high, high[:, None]) - np.maximum(low, low[:, None]), 0)
    areas = sides.prod(-1)
    shared = shared_sides.prod(-1)
    total = areas + areas[:, None]
    union = whole(areas, shared)
    divisor = np.where(union > 0, union, 1)
    ratio = shared / divisor
    steps = (sides, areas, shared, total, union)
    if not error and all((x.astype(np.float32) == x).all() for x in steps):
        # Only the division is left.
        room = np.where(ratio.astype(np.float32) == ratio, 0, 2 * UNIT_ROUNDOFF * ratio)
    else:
        of_shared = error * shared_sides.sum(-1) + error**2 + 4 * UNIT_ROUNDOFF * shared
        of_areas = error * sides.sum(-1) + error**2 + 4 * UNIT_ROUNDOFF * areas
        of_union = of_shared + of_areas + of_areas[:, None] + 4 * UNIT_ROUNDOFF * total
        room = 2 * ((of_shared + ratio * of_union) / divisor + UNIT_ROUNDOFF * ratio)
    is_unsure = (np.abs(ratio - threshold) <= room) & (room > 0)
    return Overlaps(ratio > threshold, is_unsure, union > 0)


# ── one class ─────────────────────────────────────────────────────────────────────────────────


def greedy(
    boxes: Floats, scores: Floats, limits: Limits, measure: Measure = overlaps
) -> list[list[int]]:
    """Return the selections that a class may have, each a list of boxes by number, the best first.

    boxes: [count, 4]; scores: [count]. A box is selected if no box selected before overlaps it too
    much, until there are `limits.boxes`; those below `limits.score` are left out. The first
    selection takes equal scores in the order of boxes. While judging, those of other orders follow,
    if they differ.

    Raises NotSupported for NaN and infinities; while judging, also where float32 may select other
    boxes, where the text does not decide on overlaps of boxes without an area and boxes of a
    negative size, and for too many equal scores.
    """
    # From here on no comparison meets NaN.
    if not (np.isfinite(boxes).all() and np.isfinite(scores).all()):
        raise_unspecified("what is no number")
    known = measure(boxes, limits.has_centers, limits.overlap)
    selections: list[list[int]] = [[]]
    for tied in by_score(scores, limits.score):
        # Of one set of boxes the first order stands for all.
        different: dict[frozenset[int], list[int]] = {}
        for chosen in selections:
            for order in orders_of(tied, chosen, known, limits.boxes):
                selection = with_boxes(chosen, order, known, limits.boxes)
                different.setdefault(frozenset(selection), selection)
        selections = [*different.values()]
        if len(selections) > MAX_ANSWERS:
            leave_open("equal scores may be taken in too many orders")
    return selections


def by_score(scores: Floats, least: Any) -> list[list[int]]:
    """Return the boxes by number in groups of equal scores, the best group first.

    The boxes of a group ascend. Those below the `least` are left out; None leaves out none. No
    score is NaN.
    """
    order = np.argsort(-scores, kind="stable")
    order = order[scores[order] >= (-np.inf if least is None else least)]
    return [[*group] for _, group in groupby(order.tolist(), key=lambda box: scores[box])]


def orders_of(
    tied: Sequence[int], chosen: Sequence[int], known: Overlaps, most: int
) -> Iterable[Sequence[int]]:
    """Return the orders in which boxes of one score may be taken, that of their numbers first.

    chosen: the better boxes that are selected; most: how many may be. The order matters only while
    judging, if there is no room for all boxes that no better one suppresses, or if one of these may
    suppress another. Raises NotSupported, while judging, for too many of them.
    """
    if not is_judging() or len(tied) < 2 or len(chosen) >= most:
        return [tied]
    left = [box for box in tied if not known.may_exceed(box, chosen)]
    if len(left) < 2:
        return [tied]
    has_room = len(chosen) + len(left) <= most
    if has_room and not any(known.may_exceed(a, [b]) for a, b in combinations(left, 2)):
        return [tied]
    if len(left) > MOST_OF_ONE_SCORE:
        leave_open("equal scores may be taken in too many orders")
    return permutations(left)


def with_boxes(
    chosen: Sequence[int], order: Sequence[int], known: Overlaps, most: int
) -> list[int]:
    """Return the `chosen` boxes with those of `order` that none of them overlaps too much.

    most: how many boxes may be selected. Raises NotSupported, while judging, where float32 cannot
    tell, and for overlaps of boxes without an area.
    """
    selection = [*chosen]
    for box in order:
        if len(selection) == most:
            break
        if known.surely_exceeds(box, selection):
            continue
        if known.is_unsure[box, selection].any():
            leave_open("float32 cannot tell whether boxes overlap too much")
        if not known.has_area[box, selection].all():
            leave_open("nothing is said of overlaps of empty boxes")
        if not known.exceeds[box, selection].any():
            selection.append(box)
    return selection


# ── all classes ───────────────────────────────────────────────────────────────────────────────


def rows_as_they_are(rows: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """Return the rows, [count, 3], whatever the most boxes of a class."""
    return rows


@dataclass(frozen=True)
class Suppression:
    """How the operator is computed; mutants do otherwise.

    Attributes:
        select: Returns the selections that one class may have, from boxes, scores and limits.
        change: Returns the output, from its rows and the most boxes of a class.
    """

    select: Callable[[Floats, Floats, Limits], Sequence[Sequence[int]]] = greedy
    change: Callable[[NDArray[np.int64], int], NDArray[np.int64]] = rows_as_they_are


def one_of(selections: Sequence[Sequence[int]], place: str) -> Sequence[int]:
    """Return one of the selections of a class, by ORDER_OF_EQUAL_SCORES.

    place: tells the class from others, whose orders may differ.
    """
    if len(selections) == 1:
        return selections[0]
    ruling = ORDER_OF_EQUAL_SCORES
    readings = ruling.readings[: len(selections)]
    of_class = replace(ruling, id=f"{ruling.id}-of-class-{place}", readings=readings)
    return selections[readings.index(of_class.reading())]


def number_of(name: str, x: Array | None, default: Any) -> Any:
    """Return the number of a scalar, or the default without one (None).

    Shape [1] is allowed too: ONNX's node tests have it. Raises InvalidNode for other shapes.
    """
    if x is None:
        return default
    if x.shape not in ((), (1,)):
        raise InvalidNode(f"{name} of shape {list(x.shape)}; allowed: a scalar")
    return bare(x).reshape(-1)[0]


@formulas_of_versions(10, 11)
def of_classes(
    suppression: Suppression,
    boxes: Array,
    scores: Array,
    max_output_boxes_per_class: Array | None = None,
    iou_threshold: Array | None = None,
    score_threshold: Array | None = None,
    *,
    center_point_box: int,
) -> NDArray[np.int64]:
    """Return [batch, class, box] of each selected box, [count, 3], the best of a class first.

    boxes: [num_batches, spatial_dimension, 4]; scores: [num_batches, num_classes,
    spatial_dimension]. max_output_boxes_per_class: "Default to 0, which means no output."
    iou_threshold: "Value range [0, 1]. Default to 0." score_threshold: none if it is left out. A
    center_point_box other than 0 and 1 is taken for 0 or 1, or refused: FLAG_OF_ANOTHER_NUMBER.
    suppression: the steps, which mutants change.

    Raises InvalidNode for boxes and scores that do not fit each other, for numbers of other shapes
    than [] and [1], and for an iou_threshold beyond [0, 1] or NaN. Raises NotSupported for a
    negative number of boxes, and for NaN and infinities in boxes and scores; while judging, also
    where float32 may decide which boxes are selected, for overlaps of boxes without an area, for a
    negative width or height, and for too many equal scores. Of few, each order is a reading of
    ORDER_OF_EQUAL_SCORES.
    """
    boxes = bare(boxes)
    scores = bare(scores)
    if boxes.ndim != 3 or scores.ndim != 3 or boxes.shape != (*scores.shape[::2], 4):
        raise InvalidNode(f"boxes {list(boxes.shape)}, scores {list(scores.shape)}")
    limits = Limits(
        boxes=int(number_of("max_output_boxes_per_class", max_output_boxes_per_class, 0)),
        overlap=float(number_of("iou_threshold", iou_threshold, 0.0)),
        score=number_of("score_threshold", score_threshold, None),
        has_centers=flag("center_point_box", center_point_box),
    )
    reject(not 0 <= limits.overlap <= 1, f"iou_threshold {limits.overlap}; allowed: [0, 1]")
    if limits.boxes < 0:
        raise_unspecified(f"{limits.boxes} boxes")
    rows = [
        (batch, kind, box)
        for batch, of_batch in enumerate(scores)
        for kind, of_class in enumerate(of_batch)
        for box in one_of(suppression.select(boxes[batch], of_class, limits), f"{batch}-{kind}")
    ]
    return suppression.change(np.array(rows, np.int64).reshape(-1, 3), limits.boxes)


OP.formula(build=of_classes)(Suppression())


# ── mutants: overlaps ─────────────────────────────────────────────────────────────────────────


def measured_by(measure: Measure) -> Suppression:
    """Return a mutant that measures overlaps in another way."""
    return Suppression(select=partial(greedy, measure=measure))


def or_equal(boxes: Floats, has_centers: bool, threshold: float) -> Overlaps:
    """Mutant: an overlap of the threshold itself is too much.

    Raises NotSupported, while judging, for centers with a negative width or height.
    """
    return overlaps(boxes, has_centers, np.nextafter(threshold, -1))


def with_far_corners(boxes: Floats, has_centers: bool, threshold: float) -> Overlaps:
    """Mutant: boxes are longer by one on both axes.

    Raises NotSupported, while judging, for centers with a negative width or height.
    """
    low, high, _ = corners_of(boxes.astype(np.float64), has_centers)
    return overlaps(np.hstack([low, high + 1]), False, threshold)


def smaller_area(areas: Floats, shared: Floats) -> Floats:
    """Mutant: the intersection is compared with the smaller box."""
    return np.minimum(areas, areas[:, None])


def without_order(boxes: Floats, has_centers: bool, threshold: float) -> Overlaps:
    """Mutant: boxes whose corners come the other way round have no area.

    Raises NotSupported, while judging, for centers with a negative width or height.
    """
    if not has_centers:
        boxes = np.hstack([boxes[:, :2], np.maximum(boxes[:, :2], boxes[:, 2:])])
    return overlaps(boxes, has_centers, threshold)


OP.mutant_table(
    {
        "or_equal": ("an overlap of just the threshold was too much", measured_by(or_equal)),
        "one_more": (
            "boxes held their far corners, as pixels do",
            measured_by(with_far_corners),
        ),
        "of_the_smaller": (
            "overlaps were measured by the smaller box",
            measured_by(partial(overlaps, whole=smaller_area)),
        ),
        "one_corner_first": ("corners were not put in order", measured_by(without_order)),
    },
    build=of_classes,
)


# ── mutants: selections ───────────────────────────────────────────────────────────────────────


def without_least(boxes: Floats, scores: Floats, limits: Limits) -> list[list[int]]:
    """Mutant: boxes of the score threshold itself are removed, unless it is 0.

    Raises NotSupported for NaN and infinities; while judging, also where float32 may decide which
    boxes are selected, on overlaps of boxes without an area, for boxes of a negative size, and for
    too many equal scores.
    """
    if limits.score:
        limits = limits._replace(score=np.nextafter(limits.score, np.inf))
    return greedy(boxes, scores, limits)


def by_all_better(boxes: Floats, scores: Floats, limits: Limits) -> list[list[int]]:
    """Mutant: boxes that are suppressed themselves suppress others too.

    Raises NotSupported, while judging, for centers with a negative width or height.
    """
    order = [*chain.from_iterable(by_score(scores, None))]
    exceeds = overlaps(boxes, limits.has_centers, limits.overlap).exceeds
    least = -np.inf if limits.score is None else limits.score
    selected = [
        box
        for n, box in enumerate(order)
        if scores[box] >= least and not exceeds[box, order[:n]].any()
    ]
    return [selected[: limits.boxes]]


OP.mutant_table(
    {
        "without_least": (
            "boxes with just the least score were removed",
            Suppression(select=without_least),
        ),
        "by_all_better": (
            "boxes that were suppressed suppressed others",
            Suppression(select=by_all_better),
        ),
    },
    build=of_classes,
)


# ── mutants: rows ─────────────────────────────────────────────────────────────────────────────


def class_before_batch(rows: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """Mutant: rows are [class, batch, box]."""
    return rows[:, [1, 0, 2]]


def box_before_class(rows: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """Mutant: rows are [batch, box, class]."""
    return rows[:, [0, 2, 1]]


def most_of_all(rows: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """Mutant: the most boxes are for all classes together."""
    return rows[:most]


def most_of_a_batch(rows: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """Mutant: the most boxes are for all classes of a batch together."""
    batches = [rows[rows[:, 0] == batch][:most] for batch in np.unique(rows[:, 0])]
    return np.concatenate([rows[:0], *batches])


OP.mutant_table(
    {
        "class_before_batch": (
            "rows had the class before the batch",
            Suppression(change=class_before_batch),
        ),
        "box_before_class": (
            "rows had the box before the class",
            Suppression(change=box_before_class),
        ),
        "most_of_all": (
            "the most of boxes was for all classes together",
            Suppression(change=most_of_all),
        ),
        "most_of_a_batch": (
            "the most of boxes was for all classes of a batch together",
            Suppression(change=most_of_a_batch),
        ),
    },
    build=of_classes,
)
