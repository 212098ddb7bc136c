"""Squeeze and Unsqueeze: axes that are named twice. Their suites have all else."""

from typing import Any

import numpy as np
import pytest

from opcheck.errors import InvalidNode
from opcheck.model import OpVersion
from tests.computed import by_reading, evaluate


def shapes(op: str, since: int, shape: tuple[int, ...], axes: list[int]) -> dict[str, Any]:
    """The shapes of the output by the names of the readings; None for a refusal."""
    inputs = [np.zeros(shape, np.float32)]
    attrs: dict[str, Any] = {}
    if since < 13:
        attrs["axes"] = tuple(axes)
    else:
        inputs.append(np.array(axes))
    answers = by_reading(OpVersion("", op, since), inputs, attrs)
    return {name: found and found[0].shape for name, found in answers.items()}


@pytest.mark.parametrize(("since", "axes"), [(1, [0, 0]), (11, [0, -3]), (25, [0, -3])])
def test_an_axis_squeezed_twice_is_refused_or_squeezed_once(since: int, axes: list[int]) -> None:
    assert shapes("Squeeze", since, (1, 1, 2), axes) == {"refused": None, "once": (1, 2)}


def test_an_axis_inserted_twice_is_refused_or_inserted_once_or_twice() -> None:
    assert shapes("Unsqueeze", 1, (4, 2), [1, 1]) == {
        "refused": None,
        "once": (4, 1, 2),
        "one_after_another": (4, 1, 1, 2),
    }
    # Inserted once, the output has three axes, of which 3 is none.
    with pytest.raises(InvalidNode):
        shapes("Unsqueeze", 1, (4, 2), [3, 3])


@pytest.mark.parametrize("since", [11, 13])
def test_later_versions_call_an_axis_inserted_twice_an_error(since: int) -> None:
    axes = [1, 1]
    inputs = [np.zeros((4, 2), np.float32), np.array(axes)]
    attrs = {"axes": tuple(axes)} if since == 11 else {}
    with pytest.raises(InvalidNode, match="name one twice"):
        evaluate(OpVersion("", "Unsqueeze", since), inputs[: 2 - len(attrs)], attrs)
