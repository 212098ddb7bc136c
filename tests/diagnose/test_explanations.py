"""Where single elements are wrong, what is given there is named, and the values that meet there."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from opcheck.diagnose import Allowance, Evidence
from opcheck.diagnose.elements import Elements, elements_of
from opcheck.diagnose.explanations import Explanation, explanation
from opcheck.dtypes import DTYPES
from opcheck.engine import Node
from opcheck.model import OpVersion
from tests.computed import evaluate
from tests.diagnose.wrong import wrong

ADD = OpVersion("", "Add", 14)
ATAN = OpVersion("", "Atan", 22)
XOR = OpVersion("", "Xor", 7)
EQUAL = OpVersion("", "Equal", 19)
POW = OpVersion("", "Pow", 15)
THRESHOLDED = OpVersion("", "ThresholdedRelu", 22)
LP_NORMALIZATION = OpVersion("", "LpNormalization", 22)
#: Spoils right outputs of a node.
Spoil = Callable[[Node, np.ndarray[Any, Any]], Any]


def judged(made_on: Node, spoil: Spoil) -> Elements:
    """The elements of a backend's answer, which passes where nothing is spoilt."""
    right = np.asarray(evaluate(made_on.op, made_on.inputs, made_on.attrs)[0])
    got = np.asarray(spoil(made_on, right), right.dtype)
    evidence = wrong(made_on, [got])
    if np.array_equal(got, right, equal_nan=right.dtype.kind == "f"):
        evidence = Evidence(made_on, None, evidence.admitted)
    elements = elements_of(evidence)
    assert elements is not None
    return elements


def explained(spoil: Spoil, nodes: Sequence[Node]) -> Explanation | None:
    """What explains the failures of a backend on these nodes, next to its passes."""
    elements = [judged(node, spoil) for node in nodes]
    failing = [one for one in elements if one.wrong.any()]
    assert failing
    passing = [one for one in elements if not one.wrong.any()]
    return explanation(failing, passing, Allowance().check)


def floats(*values: Any, dtype: Any = np.float32) -> Node:
    return Node(ATAN, (np.array(values, dtype),), {})


def small_numbers(dtype: Any = np.float32) -> Node:
    return floats(*np.linspace(-8, 8, 60), dtype=dtype)


def test_a_bound_on_the_size_is_found_and_why_it_is_one(snapshot) -> None:
    def overflows(node: Node, right: Any) -> Any:
        with np.errstate(over="ignore"):
            return np.where(np.isinf(node.inputs[0] ** 2), 0, right)

    found = explained(overflows, [floats(1e20, -3e38, 2.0), small_numbers(), floats(1e18, 1e19)])
    assert found is not None
    assert found.explained == {0}
    snapshot("bound", found.text)


def test_a_type_is_named_where_others_are_right(snapshot) -> None:
    def differ(node: Node, right: Any) -> Any:
        is_half = node.inputs[0].dtype == np.float16
        return right & ~(np.isinf(node.inputs[0]) & is_half)

    values = np.array([np.inf, -np.inf, np.inf, *range(40)])
    others = np.array([np.inf, -np.inf, 1, *range(40)])
    types = (np.float16, np.float32, np.float64)
    nodes = [Node(EQUAL, (values.astype(t), others.astype(t)), {}) for t in types]
    found = explained(differ, nodes)
    assert found is not None
    snapshot("bound_to_a_type", found.text)


def test_an_input_that_equals_an_attribute_is_named(snapshot) -> None:
    def passes_it(node: Node, right: Any) -> Any:
        alpha = np.float32(node.attrs["alpha"])
        return np.where(node.inputs[0] == alpha, alpha, right)

    values = np.linspace(-8, 8, 65, dtype=np.float32)
    nodes = [Node(THRESHOLDED, (values,), {"alpha": alpha}) for alpha in (0.5, 2.0, 4.25, 0.1)]
    found = explained(passes_it, nodes)
    assert found is not None
    assert found.explained == {0, 1, 2}
    snapshot("equal_to_an_attribute", found.text)


def test_small_numbers_but_not_0_are_told_apart(snapshot) -> None:
    def lost(node: Node, right: Any) -> Any:
        x = node.inputs[0]
        return np.where((np.abs(x) < 1e-5) & (x != 0), -2 * right, right)

    nodes = [floats(1e-6, 0, 3e-9, -1e-30), small_numbers(), floats(0, 1e-4)]
    found = explained(lost, nodes)
    assert found is not None
    snapshot("small_but_not_0", found.text)


def test_slices_of_zeros_are_told_from_single_zeros(snapshot) -> None:
    def divided(node: Node, right: Any) -> Any:
        axis = node.attrs["axis"]
        is_zero = (node.inputs[0] == 0).all(axis, keepdims=True)
        return np.where(is_zero, np.nan, right)

    rows = np.arange(40, dtype=np.float32).reshape(8, 5) % 7
    rows[3] = 0
    nodes = [Node(LP_NORMALIZATION, (rows,), {"axis": axis, "p": 2}) for axis in (0, 1)]
    found = explained(divided, nodes)
    assert found is not None
    snapshot("zeros_along_an_axis", found.text)


def test_an_input_of_one_element_that_is_not_read(snapshot) -> None:
    def not_read(node: Node, right: Any) -> Any:
        first, second = node.inputs
        return np.broadcast_to(second, right.shape) if first.size == 1 else right

    true, false = np.array([True]), np.array([False])
    many = np.arange(12) % 3 == 0
    pairs = [(true, many), (true, ~many), (true, true), (false, many), (many, ~many)]
    pairs += [(np.arange(size) % 2 == 0, np.arange(size) % 3 == 0) for size in range(4, 60)]
    found = explained(not_read, [Node(XOR, pair, {}) for pair in pairs])
    assert found is not None
    snapshot("input_of_one_element", found.text)
    assert len(found.explained) == 3


def test_what_is_one_too_small_in_size_needs_no_condition(snapshot) -> None:
    def cut(node: Node, right: Any) -> Any:
        return np.where((right % 2 == 1) & (abs(right) > 1), right - np.sign(right), right)

    bases = [np.array([k, -k, 2, 1], np.int32) for k in (3, 5, 7)]
    nodes = [Node(POW, (base, np.array([1, 1, 2, 3], np.int32)), {}) for base in bases]
    found = explained(cut, nodes)
    assert found is not None
    snapshot("one_too_small", found.text)
    assert found.explained == {0, 1, 2}


def test_a_text_among_the_attributes_is_not_compared_with_numbers() -> None:
    scatter_nd = OpVersion("", "ScatterND", 18)
    inputs = (np.zeros(4, np.float32), np.array([[1], [3]]), np.array([5, 6], np.float32))
    elements = judged(Node(scatter_nd, inputs, {"reduction": "add"}), lambda _, right: 2 * right)
    assert elements.wrong.tolist() == [False, True, False, True]
    assert "`reduction`" not in elements.outcomes


def test_values_that_other_elements_have_too_explain_nothing() -> None:
    def every_seventh(node: Node, right: Any) -> Any:
        numbers = np.arange(right.size)
        return np.where(numbers % 7 == 3, right + 1, right)

    assert explained(every_seventh, [small_numbers(), small_numbers(np.float64)]) is None


def test_one_wrong_element_among_few_is_no_evidence() -> None:
    def largest(node: Node, right: Any) -> Any:
        return np.where(node.inputs[0] > 2, 0, right)

    assert explained(largest, [floats(1.0, 3.0, 2.0, -1.0)]) is None


def test_answers_without_a_second_long_axis_are_degenerate() -> None:
    def is_degenerate(got: Any) -> bool:
        return wrong(floats(1.0, 2.0), [np.array(got, np.float32)]).is_degenerate

    assert is_degenerate([[1, 2, 3]])
    assert is_degenerate([[5, 5], [5, 5]])
    assert not is_degenerate([[1, 2], [3, 4]])


def test_numbers_of_64_bits_that_float64_does_not_tell_apart_are_not_one_off() -> None:
    values = np.array([1 << 60, -(1 << 60), 5, 7])
    elements = judged(Node(ADD, (values, np.zeros(4, np.int64)), {}), far_off)
    assert not elements.outcomes["what is one too small"].any()
    assert not elements.outcomes["what is one too large"].any()
    assert not elements.outcomes["the right values with the opposite sign"].any()


def far_off(node: Node, right: Any) -> Any:
    """Off by 3, and the first two also of the opposite sign."""
    return np.where(abs(right) > 7, 3 - right, right + 3)


def test_an_attribute_that_a_type_of_4_bits_does_not_hold_is_given_nowhere() -> None:
    quantize = OpVersion("", "QuantizeLinear", 21)
    inputs = (np.array([[3, 4]], np.float32), np.ones((1, 1), np.float32))
    attrs = {"axis": 1, "block_size": 1000, "output_dtype": DTYPES["uint4"].onnx}
    elements = judged(Node(quantize, inputs, attrs), lambda _, right: right[:, ::-1])
    assert elements.wrong.all()
    assert not elements.outcomes["`block_size`"].any()


def test_a_bound_has_as_many_digits_as_tell_right_from_wrong() -> None:
    def cut(node: Node, right: Any) -> Any:
        return np.where(node.inputs[0] > 1.000015, 0, right)

    near = floats(1.00001, 1.00002, *np.linspace(2, 8, 9), dtype=np.float64)
    found = explained(cut, [near, floats(*np.linspace(-1, 1, 60), dtype=np.float64)])
    assert found is not None
    _, _, bound = found.condition.partition("has a value beyond ")
    assert 1.00001 < float(bound) < 1.00002


def test_bounds_between_the_largest_numbers_do_not_overflow() -> None:
    def cut(node: Node, right: Any) -> Any:
        return np.where(node.inputs[0] > 1e305, 0, right)

    nodes = [floats(1e300, 1e307, 1e308, dtype=np.float64), small_numbers(np.float64)]
    found = explained(cut, nodes)
    assert found is not None
    _, _, bound = found.condition.partition("has a value beyond ")
    assert 1e300 < float(bound) < 1e307


def test_what_is_0_in_place_of_1_names_no_mistake() -> None:
    def every_third_is_0(node: Node, right: Any) -> Any:
        return np.where(np.arange(right.size) % 3 == 1, 0, right)

    bits = [np.resize(np.array(row, np.int32), 12) for row in ([1, 1, 0, 1, 1], [0, 1], [1, 1, 0])]
    nodes = [Node(ADD, (row, np.zeros(12, np.int32)), {}) for row in bits]
    assert explained(every_third_is_0, nodes) is None


def test_few_of_the_failures_with_the_opposite_sign_are_a_coincidence(snapshot) -> None:
    def of_these(turned: int) -> Explanation | None:
        def first_two(node: Node, right: Any) -> Any:
            spoilt = right.copy()
            spoilt[:2] = -right[:2] if node.inputs[0][2] < turned else 2 * right[:2]
            return spoilt

        rows = [np.array([5, -5, n, 5, -5, 5, -5], np.int32) for n in range(8)]
        zero = np.zeros(7, np.int32)
        return explained(first_two, [Node(ADD, (row, zero), {}) for row in rows])

    assert of_these(3) is None
    found = of_these(4)
    assert found is not None
    assert found.explained == {0, 1, 2, 3}
    snapshot("opposite_sign", found.text)
