"""Where elements are wrong by their place alone, the place is named, and nothing else."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest

from opcheck.diagnose import Allowance
from opcheck.diagnose.explanations import Explanation
from opcheck.diagnose.positions import common_places, explanation_by_place, places
from opcheck.engine import Node
from tests.diagnose.test_explanations import ATAN, Spoil, judged


def of_shape(*shape: int) -> Node:
    """Different numbers, of which none is 0."""
    numbers = np.arange(1, 1 + np.prod(shape), dtype=np.float32)
    return Node(ATAN, (numbers.reshape(shape),), {})


def explained(spoil: Spoil, nodes: Iterable[Node]) -> Explanation | None:
    """What explains the failures of a backend on these nodes, next to its passes."""
    elements = [judged(node, spoil) for node in nodes]
    failing = [one for one in elements if one.wrong.any()]
    passing = [one for one in elements if not one.wrong.any()]
    return explanation_by_place(failing, passing, Allowance().check)


def tail_negated(node: Node, right: Any) -> Any:
    """The elements behind the last whole vector of 4 have the wrong sign."""
    flat = right.reshape(-1)
    whole = flat.size // 4 * 4 or flat.size
    return np.where(np.arange(flat.size) < whole, flat, -flat).reshape(right.shape)


def later_batches_0(node: Node, right: Any) -> Any:
    """Only the first entry along axis 0 is computed."""
    return np.where(np.arange(len(right)).reshape(-1, *[1] * (right.ndim - 1)) > 0, 0, right)


@pytest.mark.parametrize("spoil", [tail_negated, later_batches_0])
def test_a_place_is_named_with_what_is_given_there(spoil: Spoil, wording: Any) -> None:
    found = explained(spoil, [of_shape(5), of_shape(2, 3), of_shape(3, 3), of_shape(1, 8)])
    assert found is not None
    assert found.text == wording


def test_a_pass_with_an_element_at_the_place_speaks_against_it() -> None:
    def of_some(node: Node, right: Any) -> Any:
        return right if right.size == 7 else tail_negated(node, right)

    nodes = [of_shape(5), of_shape(2, 3), of_shape(3, 3)]
    assert explained(of_some, nodes) is not None
    assert explained(of_some, [*nodes, of_shape(7)]) is None


def test_one_shape_is_no_evidence_of_a_place() -> None:
    assert explained(tail_negated, [of_shape(2, 3), of_shape(2, 3), of_shape(2, 3)]) is None


def test_what_is_wrong_everywhere_is_at_no_place() -> None:
    nodes = [of_shape(5), of_shape(2, 3), of_shape(3, 3)]
    assert explained(lambda _, right: -right, nodes) is None
    assert common_places([judged(node, lambda _, right: -right) for node in nodes]) == []


def test_places_that_failures_have_in_common_need_no_other_evidence(wording: Any) -> None:
    assert common_places([judged(of_shape(5), tail_negated)])[0] == wording


@pytest.mark.parametrize(
    ("name", "shape", "expected"),
    [
        ("behind the last whole vector of 2", (5,), [4]),
        ("behind the last whole vector of 8", (5,), []),
        ("behind the last whole vector of 4 in its row", (2, 5), [4, 9]),
        ("the last one", (2, 2), [3]),
        ("the last one", (1,), []),
        ("in the first entry along axis 1", (2, 2), [0, 2]),
        ("in the first entry along axis 1", (2, 1), []),
        ("in the last entry along the last axis", (2, 3), [2, 5]),
        ("before the last entry along axis 0", (3, 1), [0, 1]),
        ("in an odd entry along the last axis", (1, 4), [1, 3]),
        ("behind the first entry along axis 3", (2, 2), []),
    ],
)
def test_the_elements_of_a_place(name: str, shape: tuple[int, ...], expected: list[int]) -> None:
    masks: dict[str, Callable[[tuple[int, ...]], Any]] = {p.text: p.mask for p in places()}
    assert np.flatnonzero(masks[name](shape)).tolist() == expected
