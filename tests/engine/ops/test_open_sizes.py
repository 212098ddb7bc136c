"""Sizes that two readers of a text read differently are left open; others are decided."""

from typing import Any

import numpy as np
import pytest

from opcheck.engine import Node, rounded
from opcheck.engine.evaluate import each_answer
from opcheck.engine.operators import judging
from opcheck.errors import InvalidNode
from opcheck.model import OpVersion


def answer(op: str, since: int, inputs: list[Any], **attrs: Any) -> Any:
    node = Node(OpVersion("", op, since), tuple(np.asarray(x, np.float32) for x in inputs), attrs)
    with judging():
        return node.right[0].tolist()


def pooled(pads: tuple[int, int], **attrs: Any) -> Any:
    more = {"kernel_shape": (3,), "strides": (2,), "pads": pads, "p": 1, **attrs}
    return answer("LpPool", 22, [[[[1, 2, 3, 4]]]], **more)


def admitted(op: str, since: int, x: Any, **attrs: Any) -> list[Any]:
    """Return each answer that the text admits, "refused" for a refusal."""
    node = Node(OpVersion("", op, since), (np.asarray(x, np.float32),), attrs)
    with judging():
        readings = [*each_answer(node)]
    return [
        "refused" if isinstance(one.answer, InvalidNode) else rounded(one.answer[0]).tolist()
        for one in readings
    ]


def test_a_last_window_of_lp_pool_in_the_padding_may_count_under_ceil_mode() -> None:
    attrs: dict[str, Any] = {"kernel_shape": (3,), "strides": (2,), "pads": (0, 2), "p": 1}
    found = admitted("LpPool", 22, [[[1, 2, 3, 4]]], **attrs, ceil_mode=1)
    assert found == [[[[6, 7, 0]]], [[[6, 7]]]]


def test_a_last_window_of_lp_pool_that_holds_a_value_counts() -> None:
    assert pooled((0, 1), ceil_mode=1) == [[[6, 7]]]
    assert pooled((0, 2)) == [[[6, 7]]]


def test_valid_sizes_of_lp_pool_are_open_under_ceil_mode_where_rounding_counts() -> None:
    valid: dict[str, Any] = {"auto_pad": "VALID", "ceil_mode": 1, "kernel_shape": (3,), "p": 1}
    assert answer("LpPool", 22, [[[[1, 2, 3, 4, 5]]]], **valid, strides=(2,)) == [[[6, 12]]]
    found = admitted("LpPool", 22, [[[1, 2, 3, 4]]], **valid, strides=(2,))
    assert found == [[[[6]]], [[[6, 7]]]]


@pytest.mark.parametrize(
    ("op", "since", "kernel", "stride", "right"),
    [
        # By the formula 0, although less than a stride is missing: version 11 has no formula.
        ("LpPool", 11, 4, 2, [[[[]]], [[[6]]], "refused"]),
        ("LpPool", 22, 4, 2, [[[[]]], "refused"]),
        ("LpPool", 22, 5, 2, [[[[]]], "refused"]),
        ("AveragePool", 22, 4, 2, [[[[]]], "refused"]),
        ("MaxPool", 22, 4, 1, [[[[]]], "refused"]),
        # Below 0: version 18 has a formula.
        ("LpPool", 11, 6, 2, ["refused", [[[]]]]),
    ],
)
def test_an_output_of_size_0_may_be_refused(
    op: str, since: int, kernel: int, stride: int, right: list[Any]
) -> None:
    attrs: dict[str, Any] = {"kernel_shape": (kernel,), "strides": (stride,)}
    if op == "LpPool":
        attrs["p"] = 1
    assert admitted(op, since, [[[1, 2, 3]]], **attrs) == right


def test_a_size_below_0_is_refused_where_the_text_has_a_formula() -> None:
    with pytest.raises(InvalidNode, match="output size -1"):
        answer("LpPool", 18, [[[[1, 2, 3]]]], kernel_shape=(6,), strides=(2,), p=1)


def test_same_matches_the_input_literally_or_by_strides_before_version_11() -> None:
    attrs: dict[str, Any] = {
        "auto_pad": "SAME_LOWER",
        "kernel_shape": (3,),
        "strides": (2,),
        "p": 1,
    }
    x = [[[1, 2, 4, 8, 16, 32]]]
    found = admitted("LpPool", 2, x, **attrs)
    assert found == [[[[3, 14, 56]]], [[[0, 1, 7, 28, 48, 0]]]]
    assert admitted("LpPool", 11, x, **attrs) == [[[[3, 14, 56]]]]
