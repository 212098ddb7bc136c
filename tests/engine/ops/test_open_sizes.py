"""Sizes that two readers of a text read differently are left open; others are decided."""

from typing import Any

import numpy as np
import pytest

from opcheck.engine import Node
from opcheck.engine.operators import judging
from opcheck.errors import NotSupported
from opcheck.model import OpVersion


def answer(op: str, since: int, inputs: list[Any], **attrs: Any) -> Any:
    node = Node(OpVersion("", op, since), tuple(np.asarray(x, np.float32) for x in inputs), attrs)
    with judging():
        return node.right[0].tolist()


def pooled(pads: tuple[int, int], **attrs: Any) -> Any:
    more = {"kernel_shape": (3,), "strides": (2,), "pads": pads, "p": 1, **attrs}
    return answer("LpPool", 22, [[[[1, 2, 3, 4]]]], **more)


def test_a_last_window_of_lp_pool_in_the_padding_is_open_under_ceil_mode() -> None:
    with pytest.raises(NotSupported, match="start in the padding"):
        pooled((0, 2), ceil_mode=1)


def test_a_last_window_of_lp_pool_that_holds_a_value_counts() -> None:
    assert pooled((0, 1), ceil_mode=1) == [[[6, 7]]]
    assert pooled((0, 2)) == [[[6, 7]]]


def test_valid_sizes_of_lp_pool_are_open_under_ceil_mode_where_rounding_counts() -> None:
    valid: dict[str, Any] = {"auto_pad": "VALID", "ceil_mode": 1, "kernel_shape": (3,), "p": 1}
    assert answer("LpPool", 22, [[[[1, 2, 3, 4, 5]]]], **valid, strides=(2,)) == [[[6, 12]]]
    with pytest.raises(NotSupported, match="VALID"):
        answer("LpPool", 22, [[[[1, 2, 3, 4]]]], **valid, strides=(2,))
