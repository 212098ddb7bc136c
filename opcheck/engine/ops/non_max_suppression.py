"""NonMaxSuppression (10, 11): the boxes of a class that no better one overlaps too much.

Overlaps are known better than float32 can tell them. Where its roundings may decide whether a box
is selected, and where equal scores do, the answer is open.
"""

from functools import partial
from itertools import combinations

import numpy as np

from opcheck.engine.operators import by_step, is_open, operator, unsaid
from opcheck.errors import InvalidNode, illegal
from opcheck.numbers.faulty import bare

OP = operator("NonMaxSuppression", exact=True, any_order=lambda attrs: "rows")
_U = 2.0**-24


def single(name, x, default):
    """The number of a scalar, which ONNX's node tests give as a list of one."""
    if x is not None and x.shape not in ((), (1,)):
        raise InvalidNode(f"{name} of shape {list(x.shape)}; allowed: a scalar")
    return default if x is None else bare(x).reshape(-1)[0]


def corners(boxes, center):
    """The low and high ends of boxes along two axes, and how far they may be off."""
    if not center:
        ends = boxes.reshape(-1, 2, 2)
        return ends.min(1), ends.max(1), 0.0
    middle, half = boxes[:, :2], boxes[:, 2:] / 2
    is_open("nothing is said of boxes of a negative size", (half < 0).any())
    both = middle - half, middle + half
    rounds = any((x.astype(np.float32) != x).any() for x in both)
    return *both, 2 * _U * np.abs(both).max(initial=0) * rounds


def overlaps(boxes, center, threshold, whole=lambda areas, both: areas + areas[:, None] - both):
    """Which boxes overlap which too much, where float32 cannot tell, and which have an area.

    That is by the share of what both have in the `whole`, the area of their union.
    """
    low, high, off = corners(boxes.astype(np.float64), center)
    sides = high - low
    shared = np.maximum(np.minimum(high, high[:, None]) - np.maximum(low, low[:, None]), 0)
    areas, both = sides.prod(-1), shared.prod(-1)
    total = areas + areas[:, None]
    union = whole(areas, both)
    ratio = both / np.where(union > 0, union, 1)
    steps = sides, areas, both, total, union
    exact = not off and all((x.astype(np.float32) == x).all() for x in steps)
    if exact:
        # What is left is the division.
        room = np.where(ratio.astype(np.float32) == ratio, 0, 2 * _U * ratio)
    else:
        lost = off * shared.sum(-1) + off**2 + 4 * _U * both
        each = off * sides.sum(-1) + off**2 + 4 * _U * areas
        most = lost + each + each[:, None] + 4 * _U * total
        room = 2 * ((lost + ratio * most) / np.where(union > 0, union, 1) + _U * ratio)
    return ratio > threshold, (np.abs(ratio - threshold) <= room) & (room > 0), union > 0


def greedy(boxes, scores, most, threshold, least, center, measure=overlaps):
    """The selected boxes of one class, the best one first."""
    unsaid("what is no number", not (np.isfinite(boxes).all() and np.isfinite(scores).all()))
    over, unsure, has_area = measure(boxes, center, threshold)
    order = np.argsort(-scores, kind="stable")
    order = order[scores[order] >= (-np.inf if least is None else least)]
    chosen: list[int] = []
    for at in order:
        if len(chosen) == most:
            break
        if (over & ~unsure)[at, chosen].any():
            continue
        is_open("float32 cannot tell whether boxes overlap too much", unsure[at, chosen].any())
        is_open("nothing is said of overlaps of empty boxes", not has_area[at, chosen].all())
        if not over[at, chosen].any():
            chosen.append(at)
    _undecided(scores, order, chosen, most, over | unsure)
    return chosen


def _undecided(scores, order, chosen, most, may):
    """Boxes of equal scores that no better box suppresses must be selected together."""
    for score in {scores[at] for at in order}:
        better = [at for at in chosen if scores[at] > score]
        tied = [at for at in order if scores[at] == score and not may[at, better].any()]
        if len(tied) > 1 and len(better) < most and (
            len(better) + len(tied) > most or any(may[pair] for pair in combinations(tied, 2))
        ):  # fmt: skip
            is_open("it is not said which of equal scores comes first")


@by_step(10, 11, options=["change"])
def of_classes(select, boxes, scores, max_output_boxes_per_class=None, iou_threshold=None,
               score_threshold=None, *, center_point_box,
               change=lambda rows, most: rows):  # fmt: skip
    """Both versions, from the boxes selected of a class, and a change of all rows."""
    boxes, scores = bare(boxes), bare(scores)
    if boxes.ndim != 3 or scores.ndim != 3 or boxes.shape != (*scores.shape[::2], 4):
        raise InvalidNode(f"boxes {list(boxes.shape)}, scores {list(scores.shape)}")
    most = int(single("max_output_boxes_per_class", max_output_boxes_per_class, 0))
    threshold = float(single("iou_threshold", iou_threshold, 0.0))
    least = single("score_threshold", score_threshold, None)
    illegal(f"iou_threshold {threshold}; allowed: [0, 1]", not 0 <= threshold <= 1)
    unsaid(f"{most} boxes, format {center_point_box}", most < 0 or center_point_box not in (0, 1))
    each = ((n, kind, row) for n, some in enumerate(scores) for kind, row in enumerate(some))
    how = most, threshold, least, center_point_box
    found = [(n, kind, box) for n, kind, row in each for box in select(boxes[n], row, *how)]
    return change(np.array(found, np.int64).reshape(-1, 3), most)


OP.formula(by=of_classes)(greedy)


def by_all_better(boxes, scores, most, threshold, least, center):
    """Also by those that are suppressed themselves."""
    order = np.argsort(-scores, kind="stable")
    over = overlaps(boxes, center, threshold)[0]
    kept = scores >= (-np.inf if least is None else least)
    return [at for n, at in enumerate(order) if kept[at] and not over[at, order[:n]].any()][:most]


OP.mutant_table({
    "or_equal": ("an overlap of just the threshold was too much",
        lambda boxes, center, threshold: overlaps(boxes, center, np.nextafter(threshold, -1))),
    "one_more": ("boxes held their far corners, as pixels do",
        lambda boxes, center, threshold: overlaps(np.add(np.hstack(
            corners(boxes.astype(np.float64), center)[:2]), [0, 0, 1, 1]), 0, threshold)),
    "of_the_smaller": ("overlaps were measured by the smaller box", partial(
        overlaps, whole=lambda areas, both: np.minimum(areas, areas[:, None]))),
    # Boxes whose corners come the other way round have no area.
    "one_corner_first": ("corners were not put in order", lambda boxes, center, threshold: overlaps(
        boxes if center else np.hstack([boxes[:, :2], np.maximum(boxes[:, :2], boxes[:, 2:])]),
        center, threshold)),
}, by=lambda measure: of_classes(partial(greedy, measure=measure)))  # fmt: skip
OP.mutant_table({
    "without_least": ("boxes with just the least score were removed",
        lambda boxes, scores, most, threshold, least, center: greedy(
            boxes, scores, most, threshold, least and np.nextafter(least, np.inf), center)),
    "by_all_better": ("boxes that were suppressed suppressed others", by_all_better),
}, by=of_classes)  # fmt: skip
OP.mutant_table({
    "class_before_batch": ("rows had the class before the batch",
                           lambda rows, most: rows[:, [1, 0, 2]]),
    "box_before_class": ("rows had the box before the class", lambda rows, _: rows[:, [0, 2, 1]]),
    "most_of_all": ("the most of boxes was for all classes together",
                    lambda rows, most: rows[:most]),
    "most_of_a_batch": ("the most of boxes was for all classes of a batch together",
        lambda rows, most: np.concatenate(
            [rows[:0], *(rows[rows[:, 0] == n][:most] for n in np.unique(rows[:, 0]))])),
}, by=lambda change: of_classes(greedy, change=change))  # fmt: skip
