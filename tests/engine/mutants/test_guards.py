"""Guarded mutants are wrong on the path that their text names, and right everywhere else."""

from typing import Any

import numpy as np
import pytest

from opcheck.engine.mutants import guards_of
from opcheck.engine.mutants.mutant import Mutant
from opcheck.engine.node import Node
from opcheck.errors import InvalidNode
from opcheck.execution.mutate import why_harmless
from opcheck.model import OpVersion

CONV, GATHER = OpVersion("", "Conv", 22), OpVersion("", "Gather", 13)


def guard(op: OpVersion, name: str) -> Mutant:
    [found] = [mutant for mutant in guards_of(op) if mutant.name == name]
    return found


def is_wrong(op: OpVersion, name: str, *inputs: Any, outputs: int = 1, **attrs: Any) -> bool:
    """Return True if the mutant gives another output than the right one."""
    node = Node(op, tuple(inputs), attrs, range(outputs))
    made = guard(op, name).made_on(node)
    assert not isinstance(made, InvalidNode)
    return any((out != right).any() for out, right in zip(made, node.right, strict=True))


def floats(*shape: int) -> Any:
    return np.ones(shape, np.float32)


def conv(name: str, channels: int = 2, kernel: int = 2, filters: int = 2, **attrs: Any) -> bool:
    x = floats(1, channels, 4, 5)
    w = floats(filters, channels // attrs.get("group", 1), kernel, kernel)
    return is_wrong(CONV, f"wrong_where_{name}", x, w, **attrs)


@pytest.mark.parametrize(
    ("name", "on_the_path", "beside_it"),
    [
        ("dilations", {"dilations": (1, 2)}, {"dilations": (1, 1)}),
        ("group_and_strides", {"group": 2, "strides": (1, 2)}, {"group": 2}),
        ("same", {"auto_pad": "SAME_LOWER"}, {"auto_pad": "VALID"}),
        ("same_and_group", {"auto_pad": "SAME_UPPER", "group": 2}, {"auto_pad": "SAME_UPPER"}),
        ("kernel_of_threes", {"kernel": 3}, {"kernel": 2}),
        ("kernel_of_ones_and_filters_of_8", {"kernel": 1, "filters": 8}, {"filters": 8}),
        ("channels_of_8", {"channels": 16}, {"channels": 12}),
        ("group_of_4", {"channels": 8, "group": 2}, {"channels": 4, "group": 2}),
        ("group_of_1", {"group": 2}, {"channels": 4, "group": 2}),
    ],
)
def test_a_path_of_a_convolution(name, on_the_path, beside_it):
    assert conv(name, **on_the_path)
    assert not conv(name, **beside_it)


def test_sizes_and_optional_inputs_choose_a_path() -> None:
    x, w = floats(1, 1, 8, 16), floats(1, 1, 1, 1)
    assert is_wrong(CONV, "wrong_where_many_elements", x, w)
    assert not is_wrong(CONV, "wrong_where_many_elements", x[..., 1:], w)
    assert is_wrong(CONV, "wrong_where_image_of_16_and_B", x, w, floats(1))
    assert not is_wrong(CONV, "wrong_where_image_of_16_and_B", x, w)


def test_what_is_asked_for_chooses_a_path() -> None:
    op, x = OpVersion("", "LayerNormalization", 17), np.array([[1, 3]], np.float32)
    for outputs in (1, 2, 3):
        assert is_wrong(op, f"wrong_where_{outputs}_outputs", x, floats(2), outputs=outputs)
        assert not is_wrong(op, "wrong_where_2_outputs", x, floats(2), outputs=outputs) or (
            outputs == 2
        )


def test_the_type_asked_for_chooses_a_path() -> None:
    op = OpVersion("", "Cast", 13)
    for to, wrong in ((16, True), (10, False)):
        assert is_wrong(op, "wrong_where_output_of_bfloat16", floats(2), to=to) is wrong


@pytest.mark.parametrize(
    ("kind", "axis", "wrong"), [(np.int32, 1, True), (np.int64, 1, False), (np.int32, 0, False)]
)
def test_the_axis_and_the_type_of_indices_choose_a_path(kind: Any, axis: int, wrong: bool) -> None:
    name = "wrong_where_axis_not_first_and_int32_indices"
    assert is_wrong(GATHER, name, floats(2, 2), np.array([1], kind), axis=axis) is wrong


@pytest.mark.parametrize(("axis", "accepted"), [(1, True), (0, False)])
def test_an_index_out_of_range_is_accepted_on_one_path(axis: int, accepted: bool) -> None:
    node = Node(GATHER, (floats(3, 3), np.array([3])), {"axis": axis})
    made = guard(GATHER, "index_clamped_where_axis_not_first").made_on(node)
    assert isinstance(made, InvalidNode) is not accepted


@pytest.mark.parametrize("name", ["one_X", "one_X_and_one_Y", "one_condition"])
def test_one_element_for_many_chooses_a_path(name: str) -> None:
    op, many, one = OpVersion("", "Where", 16), floats(128), floats(1)
    inputs = {"condition": many > 0, "X": many, "Y": many}
    assert not is_wrong(op, f"wrong_where_{name}", *inputs.values())
    inputs |= {place: one for place in ("X", "Y") if f"one_{place}" in name}
    inputs |= {"condition": one > 0} if "condition" in name else {}
    assert is_wrong(op, f"wrong_where_{name}", *inputs.values())


def test_only_elements_of_a_magnitude_are_wrong() -> None:
    op = OpVersion("", "Gelu", 20)
    node = Node(op, (np.array([-7, -4, 4, -8, 1, np.nan, -np.inf], np.float32),), {})
    [out] = guard(op, "wrong_where_elements_from_minus_4_to_minus_8").made_on(node)
    same = (out == node.right[0]) | np.isnan(node.right[0])
    assert same.tolist() == [False, False, True, True, True, True, True]


def test_what_is_argued_of_a_condition_holds_for_its_pairs() -> None:
    first = OpVersion("", "Gather", 1)
    pairs = [mutant for mutant in guards_of(first) if "negative_indices" in mutant.name]
    assert len(pairs) > 5
    assert all(why_harmless(mutant, first, None) for mutant in pairs)
    assert why_harmless(guard(first, "wrong_where_int32_indices"), first, None) is None


def test_one_type_decides() -> None:
    assert all(mutant.once_a_version for op in (CONV, GATHER) for mutant in guards_of(op))


def test_an_operator_without_inputs_has_paths_of_its_attributes() -> None:
    assert is_wrong(OpVersion("", "Constant", 13), "wrong_where_value_float", value_float=1.5)
