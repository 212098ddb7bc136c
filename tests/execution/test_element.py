"""The steps that lead to one element: what each function reads, and that the last step is right."""

import numpy as np
import pytest

from opcheck.engine import Node
from opcheck.errors import UsageError
from opcheck.execution.element import explained_element, middle, steps_of
from opcheck.execution.show import shown
from opcheck.model import OpVersion
from tests.asking import shipped_cases

X = np.float32([[1, 2, 4], [8, 16, 32]])


def texts(op: str, since: int, inputs: list[np.ndarray], index: tuple[int, ...], **attrs) -> list:
    """The steps of an element, as `name = text`, and the value of the last one."""
    steps = steps_of(Node(OpVersion("", op, since), tuple(inputs), attrs), 0, index)
    return [*(f"{step.name} = {step.text}" for step in steps), steps[-1].value]


def test_an_elementwise_operator_reads_the_same_place_of_operands_that_are_stretched() -> None:
    row = np.float32([10, 20, 30])
    assert texts("Add", 14, [X, row], (1, 2)) == [" = A[1, 2] (32) + B[2] (30)", 62.0]


def test_a_reduction_reads_its_axes() -> None:
    assert texts("ReduceSum", 13, [X, np.int64([0])], (0, 1)) == [
        " = sum of 2: data[0, 1] (2), data[1, 1] (16)",
        18.0,
    ]


def test_each_intermediate_has_a_name_and_a_value() -> None:
    *steps, value = texts("Softmax", 13, [np.float32([[0, 0]])], (0, 1), axis=1)
    assert steps == [
        "t1 = max of 2: input[0, 0] (0), input[0, 1] (0)",
        "t2 = input[0, 1] (0) − t1 (0)",
        "t3 = exp(t2 (0))",
        "t4 = input[0, 0] (0) − t1 (0)",
        "t5 = exp(t4 (0))",
        "t6 = sum of 2: t5 (1), t3 (1)",
        " = t3 (1) ÷ t6 (2)",
    ]
    assert value == 0.5


def test_a_matrix_product_reads_a_row_and_a_column() -> None:
    b = np.float32([[1, 2], [3, 4], [5, 6]])
    assert texts("MatMul", 13, [X, b], (1, 0)) == [
        " = sum of 3: A[1, 0] (8) × B[0, 0] (1), A[1, 1] (16) × B[1, 0] (3),"
        " A[1, 2] (32) × B[2, 0] (5)",
        216.0,
    ]


def test_a_transposition_is_looked_through() -> None:
    a = np.float32([[1, 3], [2, 5]])
    assert texts("Gemm", 13, [a, a], (0, 1), transA=1)[0] == (
        " = sum of 2: A[0, 0] (1) × B[0, 1] (3), A[1, 0] (2) × B[1, 1] (5)"
    )


@pytest.mark.parametrize(
    ("index", "field"),
    [
        # Padding adds nothing: at the edge two of three weights have a factor.
        ((0, 1, 0), "W[1, 0, 1] (5) × X[0, 0, 0] (1), W[1, 0, 2] (6) × X[0, 0, 1] (10)"),
        (
            (0, 1, 1),
            "W[1, 0, 0] (4) × X[0, 0, 0] (1), W[1, 0, 1] (5) × X[0, 0, 1] (10),"
            " W[1, 0, 2] (6) × X[0, 0, 2] (100)",
        ),
    ],
)
def test_a_convolution_reads_the_receptive_field_and_the_bias(index, field: str) -> None:
    x = np.float32([[[1, 10, 100]]])
    w = np.float32([[[1, 2, 3]], [[4, 5, 6]]])
    text, value = texts("Conv", 22, [x, w, np.float32([7, 9])], index, pads=(1, 1))
    count = field.count("×") + 1
    assert text == f" = sum of {count}: {field}, B[1] (9)"
    assert value == {0: 74.0, 1: 663.0}[index[2]]


def test_a_window_of_an_average_is_read() -> None:
    assert texts("AveragePool", 22, [X[None]], (0, 1, 1), kernel_shape=(2,)) == [
        "t1 = sum of 2: X[0, 1, 1] (16), X[0, 1, 2] (32)",
        " = t1 (48) ÷ 2",
        24.0,
    ]


def test_an_element_that_is_only_moved_is_one_of_an_input() -> None:
    assert texts("Transpose", 13, [X], (2, 1), perm=(1, 0)) == [" = data[1, 2]", 32.0]


def test_of_a_long_recurrence_the_first_steps_alone_are_named() -> None:
    x = np.ones((300, 1, 1), np.float32)
    weights = np.full((1, 1, 1), 0.5, np.float32)
    node = Node(OpVersion("", "RNN", 14), (x, weights, weights), {"hidden_size": 1})
    steps = steps_of(node, 0, (299, 0, 0, 0))
    assert 10 < len(steps) <= 150
    assert any("… (" in step.text for step in steps)


def test_what_is_computed_twice_is_one_step() -> None:
    *steps, _ = texts("LayerNormalization", 17, [X, X[0]], (0, 0))
    assert sum("mean of 3: X[" in step for step in steps) == 1


def test_numbers_that_fill_up_are_no_elements() -> None:
    # 1 and NaN stand beside the data, and are not taken for places in it.
    pads = np.int64([0, 1, 0, 0])
    for filler in (1.0, np.nan):
        given = Node(OpVersion("", "Pad", 13), (X, pads, np.float32(filler)), {})
        steps = steps_of(given, 0, (1, 0))
        assert not any("data[" in step.text for step in steps)


def test_of_many_terms_the_first_nine_are_shown() -> None:
    text, value = texts("ReduceMean", 18, [np.ones((1, 100), np.float32), np.int64([1])], (0, 0))
    assert text.count("data[") == 9
    assert text.endswith(", … 91 more")
    assert value == 1.0


@pytest.mark.parametrize(
    ("op", "since", "inputs"),
    [("Add", 14, [np.int32([1]), np.int32([2])]), ("Relu", 14, [np.int32([1])])],
)
def test_of_integers_nothing_is_shown(op: str, since: int, inputs: list[np.ndarray]) -> None:
    assert steps_of(Node(OpVersion("", op, since), tuple(inputs), {}), 0, (0,)) == ()


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "op", ["Softmax", "MatMul", "Sigmoid", "Conv", "Gemm", "ReduceL2", "LayerNormalization", "Erf"]
)
def test_the_last_step_is_the_right_value_of_shipped_cases(op: str) -> None:
    cases = [
        case
        for case in shipped_cases(op)
        if case.level == "smoke" and case.dtype and case.dtype.name == "float32"
    ]
    explained = [explained_element(shown(case), None) for case in cases]
    elements = [one for one in explained if one and one.steps]
    assert elements
    for one in elements:
        assert one.steps[-1].value == pytest.approx(
            float(one.output.values[one.index]), rel=1e-5, abs=1e-6, nan_ok=True
        )


def test_an_element_that_is_not_there_is_an_error() -> None:
    case = next(case for case in shipped_cases("Softmax") if case.name == "worked_example")
    answered = shown(case)
    with pytest.raises(UsageError):
        explained_element(answered, (0, 3))
    with pytest.raises(UsageError):
        explained_element(answered, (0,))
    with pytest.raises(UsageError):
        explained_element(answered, (0, -1))


def test_the_middle_of_nothing_is_nothing() -> None:
    assert middle((2, 0)) is None
    assert middle((3, 4)) == (1, 2)
    assert middle(()) == ()
