import warnings
from dataclasses import replace
from importlib.metadata import version
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from opcheck import dtypes, opset
from opcheck.backends.adapters import torch as adapter
from opcheck.errors import UsageError
from opcheck.model import Declined, Outcome, Produced, Raised, Task, TensorType
from tests.asking import dml_problem, outcome_of, output_of, task_of
from tests.expecting import of_type

torch = pytest.importorskip("torch", reason="not installed: torch")

X = np.array([[1, 2, 2], [4, 3, 4]], np.float32)
FLOATS = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64]


@pytest.fixture(scope="module")
def backend() -> Any:
    return adapter.connect(None, {})


def lp_pool(backend: Any, x: Any, at_opset: int = 18, **attrs: Any) -> Any:
    x = np.array(x, np.float32)[None, None]
    return output_of(backend, task_of("LpPool", at_opset, attrs, x), x)[0, 0].tolist()


def test_it_has_one_thread_unless_told_otherwise() -> None:
    try:
        info = adapter.connect(None, {"threads": "2"}).info
        assert (info.threads, torch.get_num_threads()) == (2, 2)
    finally:
        info = adapter.connect(None, {}).info
    assert (info.threads, torch.get_num_threads()) == (1, 1)
    assert (info.address, info.kind, info.devices) == ("torch", "torch", ("cpu",))
    assert info.version == version("torch").partition("+")[0]


def test_it_takes_no_detail_and_no_other_option() -> None:
    with pytest.raises(UsageError, match="backend 'torch' takes no detail, got 'cuda'"):
        adapter.connect("cuda", {})
    with pytest.raises(UsageError, match="backend 'torch' has no option 'device'"):
        adapter.connect(None, {"device": "cuda"})


@pytest.mark.parametrize("dtype", FLOATS)
def test_softmax_and_hardmax_keep_the_type(dtype: Any, backend: Any) -> None:
    x = X.astype(dtype)
    found = output_of(backend, task_of("Hardmax", 13, {}, x), x)
    assert (found.dtype, found.astype(float).tolist()) == (dtype, [[0, 1, 0], [1, 0, 0]])
    found = output_of(backend, task_of("Softmax", 13, {"axis": 0}, 0 * x), 0 * x)
    assert (found.dtype, found.astype(float).tolist()) == (dtype, [[0.5] * 3] * 2)


@pytest.mark.parametrize(("at_opset", "attrs", "hot"), [
    (1, {}, [[0, 0, 0, 1], [1, 0, 0, 0]]),
    (11, {"axis": -2}, [[0, 0, 0, 1], [1, 0, 0, 0]]),
    (11, {"axis": 0}, [[0, 0, 0, 0], [1, 0, 0, 0]]),
    (13, {}, [[0, 1, 0, 1], [1, 0, 1, 0]]),
    (13, {"axis": -3}, [[0, 0, 0, 1], [1, 1, 1, 0]]),
])  # fmt: skip
def test_the_versions_mean_different_rows(at_opset, attrs, hot, backend):
    x = np.array([[1, 2, 3, 4], [6, 5, 5, 4]], np.float32).reshape(2, 2, 2)
    task = task_of("Hardmax", at_opset, attrs, x)
    assert output_of(backend, task, x).reshape(2, 4).tolist() == hot


@pytest.mark.parametrize("shape", [(0, 3), (2, 0), (1, 0, 0)])
@pytest.mark.parametrize("op", ["Hardmax", "Softmax"])
def test_an_empty_tensor_stays_empty(op: str, shape: tuple[int, ...], backend: Any) -> None:
    x = np.zeros(shape, np.float32)
    for at_opset in (1, 11, 13):
        assert output_of(backend, task_of(op, at_opset, {}, x), x).shape == shape


@pytest.mark.parametrize(("attrs", "want"), [
    ({"kernel_shape": (2,)}, [5, 4]), ({"kernel_shape": (2,), "p": 1}, [7, 4]),
    ({"kernel_shape": (2,), "pads": (1, 0)}, [3, 5, 4]),
    ({"kernel_shape": (2,), "pads": (0, 2), "strides": (3,)}, [5, 0]),
    ({"kernel_shape": (2,), "dilations": (2,)}, [3]),
    ({"kernel_shape": (2,), "strides": (2,), "ceil_mode": 1}, [5, 0]),
    ({"kernel_shape": (2,), "auto_pad": "SAME_LOWER"}, [3, 5, 4]),
    ({"kernel_shape": (2,), "auto_pad": "SAME_UPPER"}, [5, 4, 0]),
])  # fmt: skip
def test_lp_pool_is_the_norm_of_each_window(attrs, want, backend):
    assert lp_pool(backend, [3, -4, 0], **attrs) == want


def test_lp_pool_has_as_many_axes_as_the_input(backend: Any) -> None:
    x = np.arange(36).reshape(3, 3, 2, 2)
    found = lp_pool(backend, x, kernel_shape=(2, 1, 1, 2), pads=(0, 1, 0, 0, 0, 0, 0, 0), p=1)
    summed = x[:-1].sum(axis=3, keepdims=True) + x[1:].sum(axis=3, keepdims=True)
    assert found == np.pad(summed, [(0, 0), (1, 0), (0, 0), (0, 0)]).tolist()


def test_p_of_version_1_is_what_a_model_holds(backend: Any) -> None:
    x = np.array([[[1e30, 1e30]]], np.float64)
    found = output_of(backend, task_of("LpPool", 1, {"p": 0.1, "kernel_shape": (2,)}, x), x)
    assert found.item() == pytest.approx(1e30 * 2 ** (1 / float(np.float32(0.1))), rel=1e-12)


def test_a_constant_of_the_model_is_an_input_like_any_other(backend: Any) -> None:
    x = X.copy()
    x.flags.writeable = False
    prepared = backend.prepare(task_of("Hardmax", 13, {}, x, initializer=True))
    with warnings.catch_warnings(action="error"):
        assert prepared.run([])[0].tolist() == [[0, 1, 0], [1, 0, 0]]


@pytest.mark.parametrize(("op", "at_opset", "attrs", "shape"), [
    ("Softmax", 13, {"axis": 2}, (2, 3)), ("Softmax", 13, {}, ()),
    ("Softmax", 1, {"axis": -1}, (2, 3)), ("Hardmax", 13, {"axis": -3}, (2, 3)),
    ("Hardmax", 13, {"axis": 2}, (0, 3)), ("Hardmax", 11, {"axis": 2}, (2, 3)),
    ("Hardmax", 13, {"alpha": 1.0}, (2, 3)),
    ("LpPool", 11, {"kernel_shape": (2,), "dilations": (1,)}, (1, 1, 3)),
    ("LpPool", 18, {}, (1, 1, 3)), ("LpPool", 18, {"kernel_shape": (2, 2)}, (1, 1, 3)),
    ("LpPool", 18, {"kernel_shape": (2,), "p": 0}, (1, 1, 3)),
    ("LpPool", 18, {"kernel_shape": (2,), "pads": (1, -1)}, (1, 1, 3)),
    ("LpPool", 18, {"kernel_shape": (5,)}, (1, 1, 3)),
    ("LpPool", 18, {"kernel_shape": (2,)}, (1, 3)),
])  # fmt: skip
def test_what_is_no_node_of_the_specification_is_refused(op, at_opset, attrs, shape, backend):
    x = np.zeros(shape, np.float32)
    assert of_type(Raised, outcome_of(backend, task_of(op, at_opset, attrs, x), x)).documented


@pytest.mark.parametrize(
    ("op", "at_opset", "dtype"),
    [("Hardmax", 13, np.int32), ("Softmax", 13, np.bool_), ("Softmax", 11, ml_dtypes.bfloat16)],
)
def test_a_type_that_the_version_lacks_is_refused(op, at_opset, dtype, backend):
    x = X.astype(dtype)
    outcome = of_type(Raised, outcome_of(backend, task_of(op, at_opset, {}, x), x))
    assert (outcome.kind, outcome.documented) == ("InvalidNode", True)


def test_an_operator_that_is_not_mapped_is_declined(backend: Any) -> None:
    outcome = outcome_of(backend, task_of("Det", 13, {}, X), X)
    assert outcome == Declined("the mapping on torch has no Det-11")
    assert isinstance(outcome_of(backend, dml_problem((0,), X), X), Declined)


def test_strings_are_declined_also_as_a_constant(backend: Any) -> None:
    words = np.array(["a", "b"], object)
    task = task_of("Cast", 13, {"to": 1}, words, initializer=True)
    assert outcome_of(backend, task) == Declined("torch has no strings")


def taking(types: str) -> Any:
    """The parameters of an operator of one input of this type."""
    return [replace(opset.describe("", "Softmax", 13).inputs[0], types=frozenset({types}))]


def test_torch_s_own_words_for_not_implemented_are_heard() -> None:
    x = X.astype(np.int32)
    task = task_of("Softmax", 13, {}, x)
    mapped = adapter.Mapped(
        torch, task, lambda *given: given[-1].softmax(-1), taking("tensor(int32)")
    )

    class Backend:
        info = adapter.connect(None, {}).info
        documented_errors = (RuntimeError,)

        def prepare(self, task: Task) -> Any:
            return mapped

    assert "not implemented for 'Int'" in of_type(Declined, outcome_of(Backend(), task, x)).reason


def test_no_other_error_of_torch_means_that(backend: Any) -> None:
    task = task_of("Softmax", 13, {}, X)
    mapped = adapter.Mapped(
        torch, task, lambda *given: given[-1].reshape(7), taking("tensor(float)")
    )
    with pytest.raises(RuntimeError, match="invalid for input of size"):
        mapped.run([X])


def test_elements_are_moved_as_onnx_says(backend: Any) -> None:
    x, chosen, indices = X.astype(np.int64), X > 2, np.array([-1, 0])

    def asked(op: str, since: int, slots: tuple[str, ...], *inputs: Any, **attrs: Any) -> Outcome:
        types = [dtypes.of(array) for array in inputs]
        tensors = zip(slots, types, (array.shape for array in inputs), strict=True)
        task = replace(
            task_of(op, since, attrs, inputs[0]),
            slots=slots,
            inputs=tuple(TensorType(*tensor) for tensor in tensors),
        )
        return outcome_of(backend, task, *inputs)

    gathered = asked("Gather", 13, ("data", "indices"), x, indices, axis=1)
    joined = asked("Concat", 1, ("inputs_0", "inputs_1"), X, X)
    where = asked("Where", 16, ("condition", "X", "Y"), chosen, X, -X)
    for outcome, wanted in (
        (gathered, [[2, 1], [4, 4]]),
        (joined, [[*row, *row] for row in X.tolist()]),
        (where, [[-1, -2, -2], [4, 3, 4]]),
    ):
        assert of_type(Produced, outcome).outputs[0].tolist() == wanted  # type: ignore[union-attr]
    refused = of_type(Raised, asked("Where", 16, ("condition", "X", "Y"), chosen, X, x))
    assert "takes one type for T" in refused.detail
