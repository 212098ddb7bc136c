"""Mutants that schemas make, shown on the engine's operators and on small ones of the tests."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from opcheck.engine import operators
from opcheck.engine.mutants import mutants_of
from opcheck.engine.node import Node
from opcheck.engine.operators import operator
from opcheck.errors import InvalidNode
from opcheck.model import OpVersion, Typed
from tests.engine.mutants.pooled import BITS, Shown


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Operators of several inputs or of a tensor as attribute, as formulas of plain arrays."""
    monkeypatch.setattr(operators, "_DECLARED", {**operators._DECLARED})
    made = {name: operator(name) for name in ("Where", "Concat", "Clip", "ConstantOfShape")}

    @made["Where"].formula(16)
    def where(condition: Any, X: Any, Y: Any) -> Any:
        return np.where(condition, X, Y)

    @made["Concat"].formula(13)
    def concat(*inputs: Any, axis: int) -> Any:
        return np.concatenate(inputs, axis)

    @made["Clip"].formula(13)
    def clip(input: Any, min: Any = None, max: Any = None) -> Any:
        return np.clip(input, min, max)

    @made["ConstantOfShape"].formula(9)
    def constant_of_shape(input: Any, *, value: Any = None) -> Any:
        return np.full(input.tolist(), 0 if value is None else value[0], np.float32)

    for cached in (mutants_of, operators.find):
        cached.cache_clear()
    yield
    for cached in (mutants_of, operators.find):
        cached.cache_clear()


def answers(op: OpVersion, *inputs: Any, **attrs: Any) -> dict[str, Any]:
    """What the mutants of inputs make of a node, None where they refuse it."""
    node = Node(op, tuple(None if x is None else np.array(x) for x in inputs), attrs)
    wrong = (one for one in mutants_of(op) if "input" in one.name and "_in_" not in one.name)
    made = {one.name: one.made_on(node) for one in wrong}
    return {
        name: None if isinstance(out, InvalidNode) else out[0].tolist()
        for name, out in made.items()
        if name.startswith(("input_", "inputs_", "last_input"))
    }


@pytest.mark.usefixtures("small")
def test_inputs_of_equal_types_are_exchanged() -> None:
    made = answers(OpVersion("", "Where", 16), [True, False], [1, 2], [3, 4])
    assert made["inputs_X_and_Y_exchanged"] == [3, 2]
    # Their types may be the same, but are not here.
    assert made["inputs_condition_and_X_exchanged"] is None


@pytest.mark.usefixtures("small")
def test_optional_inputs_are_ignored() -> None:
    op = OpVersion("", "Clip", 13)
    made = answers(op, [1, 5, 9], 2, 6)
    assert made["input_min_ignored"] == [1, 5, 6]
    assert made["input_max_ignored"] == [2, 5, 9]
    assert made["inputs_min_and_max_exchanged"] == [2, 2, 2]
    assert answers(op, [1, 9], None, 6)["inputs_min_and_max_exchanged"] == [1, 6]


@pytest.mark.usefixtures("small")
def test_of_many_inputs_the_order_counts_and_the_last() -> None:
    made = answers(OpVersion("", "Concat", 13), [1, 2], [3], [4], axis=0)
    assert made["inputs_reversed"] == [4, 3, 1, 2]
    assert made["last_input_ignored"] == [1, 2, 3]


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(
    ("through", "value", "made"),
    [
        ("float32", 2**24 + 1, 2**24),
        ("float64", 2**53 + 1, 2**53),
        ("int32", 2**32 + 5, 5),
        ("int32", -7, -7),
    ],
)
def test_integers_lose_something_on_the_way(through: str, value: int, made: int) -> None:
    op = OpVersion("", "Concat", 13)
    [mutant] = [one for one in mutants_of(op) if one.name == f"integers_through_{through}"]
    node = Node(op, (np.array([value]), np.array([3])), {"axis": 0})
    assert mutant.made_on(node)[0].tolist() == [made, 3]  # type: ignore[index]


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(
    ("name", "stated", "missing"),
    [
        ("value_ignored", [0, 0], [0, 0]),
        ("refuses_value", None, [0, 0]),
        ("refuses_default_value", [5, 5], None),
    ],
)
def test_a_tensor_is_an_attribute_like_any_other(name: str, stated: Any, missing: Any) -> None:
    op = OpVersion("", "ConstantOfShape", 9)
    [mutant] = [one for one in mutants_of(op) if one.name == name]
    for attrs, wanted in (({"value": np.array([5.0])}, stated), ({}, missing)):
        made = mutant.made_on(Node(op, (np.array([2]),), attrs))
        assert (None if isinstance(made, InvalidNode) else made[0].tolist()) == wanted


CUBE = [[[1, 2, 4], [8, 16, 32]]]
P_IN_32_BITS = {"kernel_shape": (1,), "p": 1 - 2**32}

READ = [
    Shown("strides_ignored", BITS[:4], {"kernel_shape": (1,), "strides": (2,)}, [1, 2, 4, 8]),
    Shown("p_one_larger", [3, 4], {"kernel_shape": (2,), "p": 1}, [5]),
    Shown("p_one_smaller", [3, 4], {"kernel_shape": (2,), "p": 2}, [7]),
    Shown(
        "ceil_mode_one_smaller",
        BITS[:4],
        {"kernel_shape": (3,), "strides": (2,), "ceil_mode": 1},
        [7],
    ),
    Shown("kernel_shape_one_larger", BITS[:3], {"kernel_shape": (1,)}, [3, 6]),
    Shown("kernel_shape_entry_2_as_default", CUBE, {"kernel_shape": (1, 1, 2)}, CUBE),
    Shown("kernel_shape_entry_1_as_next", CUBE, {"kernel_shape": (1, 2, 1)}, CUBE),
    Shown("kernel_shape_entry_minus_1_as_next", CUBE, {"kernel_shape": (1, 1, 2)}, CUBE),
    Shown(
        "pads_entry_0_as_default",
        CUBE,
        {"kernel_shape": (1, 1, 1), "pads": (1, 0, 0, 0, 0, 0)},
        CUBE,
    ),
    Shown("default_p_1", [3, 4], {"kernel_shape": (2,), "p": None}, [7]),
    Shown("default_ceil_mode_1", BITS[:4], {"kernel_shape": (3,), "strides": (2,)}, [7, 12]),
    Shown("strides_in_32_bits", BITS[:2], {"kernel_shape": (1,), "strides": (2**32 + 1,)}, [1, 2]),
    Shown("refuses_strides", BITS, {"kernel_shape": (1,), "strides": (2,)}, None),
    Shown("refuses_default_strides", BITS, {"kernel_shape": (1,)}, None),
]

ACCEPTED = [
    Shown("strides_clamped", [1, 2], {"kernel_shape": (1,), "strides": (-3,)}, [1, 2]),
    Shown("pads_repeated", [1, 2], {"kernel_shape": (2,), "pads": (1,)}, [1, 3, 2]),
    Shown("pads_of_any_length", [1, 2], {"kernel_shape": (1,), "pads": (0, 0, 0)}, [1, 2]),
    Shown("pads_in_32_bits", [1, 2], {"kernel_shape": (2,), "pads": (1 - 2**32, 0)}, [1, 3]),
    Shown("p_in_32_bits", [-3], P_IN_32_BITS, [3]),
    Shown("p_0_is_the_default", [3, 4], {"kernel_shape": (2,), "p": 0}, [5]),
    Shown("attributes_converted", [3, 4], {"kernel_shape": (2,), "p": Typed("float", 1.5)}, [7]),
    Shown("attributes_converted", [3, 4], {"kernel_shape": Typed("string", "2")}, [7]),
    Shown(
        "attributes_of_another_type_ignored",
        [3, 4],
        {"kernel_shape": (2,), "p": Typed("float", 1.5)},
        [5],
    ),
    Shown(
        "unknown_attributes_ignored",
        [3, 4],
        {"kernel_shape": (2,), "scale": Typed("float", 1.5)},
        [7],
    ),
]


@pytest.mark.parametrize("stated", [{}, {"epsilon": 1e-5}], ids=["default", "stated"])
def test_a_small_default_may_be_left_out_or_be_no_float32(stated: dict[str, Any]) -> None:
    x = np.array([[[1e-3, -1e-3]]])
    attrs = {"num_groups": 1, "stash_type": 11, **stated}
    node = Node(OpVersion("", "GroupNormalization", 21), (x, np.ones(1), np.zeros(1)), attrs)
    made = {one.name: one.made_on(node) for one in mutants_of(node.op)}
    for called, epsilon in (("left_out", 0.0), ("as_double", 1e-5)):
        (y,) = made[f"epsilon_{called}"]
        assert y[0, 0, 0] == pytest.approx(1e-3 / np.sqrt(1e-6 + epsilon), rel=1e-14)
    assert node.right[0][0, 0, 0] != pytest.approx(1e-3 / np.sqrt(1e-6 + 1e-5), rel=1e-9)


@pytest.mark.parametrize("shown", [*READ, *ACCEPTED], ids=str)
def test_a_mutant_is_what_it_says(shown: Shown) -> None:
    assert shown.holds(), (shown.made(), shown.right())


@pytest.mark.parametrize("shown", ACCEPTED, ids=str)
def test_what_is_accepted_is_invalid(shown: Shown) -> None:
    assert shown.right() is None


def test_lists_of_two_have_no_entries_of_three() -> None:
    shown = Shown("kernel_shape_entry_0_as_next", [[1, 2]], {"kernel_shape": (1, 2)}, None)
    assert shown.made() == shown.right() == [[3]]


def test_a_malformed_node_is_refused_by_all_others() -> None:
    for name in ("p_ignored", "p_one_larger", "unknown_attributes_ignored", "invalid_is_zero"):
        attrs = {"kernel_shape": (2,), "p": Typed("float", 1.5)}
        assert Shown(name, [3, 4], attrs, None).made() is None


def test_versions_that_differ_in_readings_alone_are_no_mutants_of_each_other() -> None:
    """Conv-1 leaves open what SAME means with strides; its first reading is that of Conv-11."""
    for since in (1, 11, 22):
        names = [mutant.name for mutant in mutants_of(OpVersion("", "Conv", since))]
        assert not [name for name in names if name.startswith("version_")]
    of_another = [mutant.name for mutant in mutants_of(OpVersion("", "ConvTranspose", 22))]
    assert "version_1_always" in of_another
