"""Rules about nodes that may be refused: ranks and attributes that a text does not mention."""

import numpy as np

from opcheck.engine.suggestions import Masks, Subject


def of_other_ranks_than_2(subject: Subject) -> Masks | None:
    """Cover tensors that are no matrices."""
    return subject.all_if(subject.first.ndim != 2)


def of_rank_2(subject: Subject) -> Masks | None:
    """Cover tensors that have no axis after the channels."""
    return subject.all_if(subject.first.ndim == 2)


def of_rank_0(subject: Subject) -> Masks | None:
    """Cover scalars."""
    return subject.all_if(subject.first.ndim == 0)


def of_no_elements(subject: Subject) -> Masks | None:
    """Cover nodes whose first input has no element."""
    return subject.all_if(subject.first.size == 0)


def of_no_elements_of_a_batch(subject: Subject) -> Masks | None:
    """Cover tensors without channels, or of which each channel has no element."""
    return subject.all_if(0 in subject.first.shape[1:])


def of_no_indices(subject: Subject) -> Masks | None:
    """Cover an empty list of indices."""
    indices = subject.input(1)
    return subject.all_if(indices is not None and indices.size == 0)


def of_no_spread(subject: Subject) -> Masks | None:
    """Cover random numbers that can only be one number."""
    is_normal = "Normal" in subject.name
    low, high = subject.attribute("low", 0.0), subject.attribute("high", 1.0)
    is_one = subject.attribute("scale", 1.0) == 0 if is_normal else low == high
    return subject.all_if(is_one)


def of_a_value_of_another_rank(subject: Subject) -> Masks | None:
    """Cover a value whose tensor is not a vector of one element."""
    value = subject.attribute("value")
    return subject.all_if(isinstance(value, np.ndarray) and value.ndim != 1)


def of_pads_as_large_as_windows(subject: Subject) -> Masks | None:
    """Cover windows that may lie in padding alone: a pad is not smaller than the window."""
    window = subject.attribute("kernel_shape") or subject.attribute("WindowSize") or ()
    pads = subject.attribute("pads")
    if pads is None:
        pads = [
            *(subject.attribute("StartPadding") or [0] * len(window)),
            *(subject.attribute("EndPadding") or [0] * len(window)),
        ]
    sizes = [*window, *window]
    return subject.all_if(any(pad >= size for pad, size in zip(pads, sizes, strict=False)))


def of_negative_axes(subject: Subject) -> Masks | None:
    """Cover axes that count from the back."""
    axes = subject.attribute("axes", ())
    return subject.all_if(any(axis < 0 for axis in axes))


def of_lists_of_one(subject: Subject) -> Masks | None:
    """Cover limits and thresholds that are lists of one element."""
    given = [subject.input(place) for place in (2, 3, 4)]
    return subject.all_if(any(x is not None and x.ndim == 1 for x in given))


def of_other_ranks_than_1(subject: Subject) -> Masks | None:
    """Cover tensors that are no vectors, of version 1."""
    return subject.all_if(subject.since == 1 and subject.first.ndim != 1)


def of_sizes_beyond_32_bits(subject: Subject) -> Masks | None:
    """Cover a size that 32 bits do not hold."""
    return subject.all_if(subject.attribute("size", 0) >= 1 << 31)
