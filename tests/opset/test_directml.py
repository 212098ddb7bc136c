from itertools import chain, combinations, permutations

import pytest

from opcheck import opset
from opcheck.opset.directml import DOMAIN, HARDMAX1, MAX_RANK, SCHEMAS, invalid_axes


def test_its_operators_stand_beside_onnx_s() -> None:
    for schema in SCHEMAS:
        assert opset.describe(DOMAIN, schema.op.name, 1) is schema
        assert opset.describe("", schema.op.name, 1) is None


def test_hardmax1_is_as_its_page_declares_it() -> None:
    assert set(HARDMAX1.attributes) == {"Axes"}
    axes = HARDMAX1.attributes["Axes"]
    assert (axes.type, axes.required, axes.default) == ("ints", True, None)
    for parameters, name in ((HARDMAX1.inputs, "InputTensor"), (HARDMAX1.outputs, "OutputTensor")):
        assert [(p.name, p.option) for p in parameters] == [(name, "single")]
        assert parameters[0].types == {"tensor(float)", "tensor(float16)"}
    assert HARDMAX1.inputs[0].constraint == HARDMAX1.outputs[0].constraint


@pytest.mark.parametrize("rank", range(1, MAX_RANK + 1))
def test_every_set_of_axes_in_range_is_valid(rank: int) -> None:
    dimensions = range(rank)
    for axes in chain.from_iterable(combinations(dimensions, n) for n in range(1, rank + 1)):
        assert invalid_axes(axes, rank) is None
        assert invalid_axes(axes[::-1], rank) is None


def test_the_order_of_axes_does_not_make_them_invalid() -> None:
    assert [invalid_axes(axes, 4) for axes in permutations((0, 2, 3))] == [None] * 6


@pytest.mark.parametrize(
    ("axes", "rank", "said"),
    [
        ([4], 4, "Axes [4] holds 4; allowed: 0 to 3"),
        ([-1], 4, "Axes [-1] holds -1; allowed: 0 to 3"),
        ([0, 2**32], 4, f"Axes [0, {2**32}] holds {2**32}; allowed: 0 to 3"),
        ([0, 0], 4, "Axes [0, 0] repeats an axis; allowed: each axis once"),
        ([3, 1, 3], 4, "Axes [3, 1, 3] repeats an axis; allowed: each axis once"),
        ([], 4, "Axes is empty; allowed: 1 or more axes"),
        ([0], 0, "InputTensor has 0 dimensions; allowed: 1 to 8"),
        ([0], 9, "InputTensor has 9 dimensions; allowed: 1 to 8"),
        ([], 9, "InputTensor has 9 dimensions; allowed: 1 to 8"),
    ],
)
def test_what_is_invalid_is_said_with_what_is_allowed(axes, rank, said):
    assert invalid_axes(axes, rank) == said
