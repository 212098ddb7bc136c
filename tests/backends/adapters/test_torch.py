import warnings
from collections import Counter
from dataclasses import replace
from importlib.metadata import version
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from opcheck import opset
from opcheck.analysis import reds
from opcheck.backends.adapters import torch as adapter
from opcheck.errors import BackendUnavailable, UsageError
from opcheck.known import shipped_ledgers
from opcheck.model import Declined, NotRun, Raised, Task, Verdict
from opcheck.suite import load
from tests.asking import dml_problem, elements, outcome_of, output_of, shipped_cases, task_of
from tests.expecting import of_type
from tests.inline import judged
from tests.wording import Wording

torch = pytest.importorskip("torch", reason="not installed: torch")

X = np.array([[1, 2, 2], [4, 3, 4]], np.float32)
#: Of these the core cases of small inputs are asked, of the others the smoke tests.
WHOLE = ("Hardmax", "Softmax", "LpPool")


@pytest.fixture(scope="module")
def backend() -> Any:
    return adapter.connect(None, {})


def test_it_has_one_thread_unless_told_otherwise() -> None:
    try:
        info = adapter.connect(None, {"threads": "2"}).info
        assert (info.threads, torch.get_num_threads()) == (2, 2)
    finally:
        info = adapter.connect(None, {}).info
    assert (info.threads, torch.get_num_threads()) == (1, 1)
    assert (info.address, info.kind, info.devices) == ("torch", "torch", ("cpu",))
    assert info.version == version("torch").partition("+")[0]


def test_it_takes_no_detail_and_no_other_option(wording: Wording) -> None:
    with pytest.raises(UsageError) as raised:
        adapter.connect("cuda", {})
    assert raised.value == wording
    with pytest.raises(UsageError) as raised:
        adapter.connect(None, {"devise": "cuda"})
    assert raised.value == wording


@pytest.mark.parametrize("device", ["cdua", "meta", "cuda:one", "cuda:", "cpu:1"])
def test_what_is_no_device_is_a_usage_error(device: str, wording: Wording) -> None:
    with pytest.raises(UsageError) as raised:
        adapter.connect(None, {"device": device})
    assert raised.value == wording


@pytest.mark.skipif(torch.cuda.is_available(), reason="has what this test lacks")
@pytest.mark.parametrize("device", ["cuda", "cuda:1"])
def test_a_device_that_is_not_here_cannot_be_used(device: str) -> None:
    with pytest.raises(BackendUnavailable) as raised:
        adapter.connect(None, {"device": device})
    assert raised.value.hint == "it has cpu"


def test_a_device_that_may_fall_back_in_silence_cannot_be_used(monkeypatch) -> None:
    monkeypatch.setenv("PYTORCH_ENABLE_MPS_FALLBACK", "1")
    with pytest.raises(BackendUnavailable) as raised:
        adapter.connect(None, {"device": "mps"})
    assert "PYTORCH_ENABLE_MPS_FALLBACK" in raised.value.message


def test_an_answer_that_lies_on_the_cpu_is_not_run_on_another_device(backend: Any) -> None:
    """`meta` stands for a device: it is always there."""
    prepared = replace(
        backend.prepare(task_of("Abs", 13, {}, X)),
        device=torch.device("meta"),
        function=lambda *_: torch.ones(X.shape),
    )
    backend = replace(backend, prepare=lambda _: prepared)
    outcome = outcome_of(backend, task_of("Abs", 13, {}, X), X)
    assert outcome == NotRun("asked for meta, got cpu")


def test_its_inputs_lie_on_the_device(backend: Any) -> None:
    seen: list[Any] = []

    def function(_: Any, __: Any, x: Any) -> Any:
        seen.append(x.device.type)
        raise RuntimeError

    prepared = replace(
        backend.prepare(task_of("Abs", 13, {}, X)),
        device=torch.device("meta"),
        function=function,
    )
    with pytest.raises(RuntimeError):
        prepared.run([X])
    assert seen == ["meta"]


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


@pytest.mark.parametrize(
    ("op", "at_opset", "attrs", "shape"),
    [
        ("Softmax", 13, {"axis": 2}, (2, 3)),
        ("Softmax", 13, {}, ()),
        ("Softmax", 1, {"axis": -1}, (2, 3)),
        ("Hardmax", 13, {"axis": -3}, (2, 3)),
        ("Hardmax", 13, {"axis": 2}, (0, 3)),
        ("Hardmax", 11, {"axis": 2}, (2, 3)),
        ("Hardmax", 13, {"alpha": 1.0}, (2, 3)),
        ("LpPool", 11, {"kernel_shape": (2,), "dilations": (1,)}, (1, 1, 3)),
        ("LpPool", 18, {}, (1, 1, 3)),
        ("LpPool", 18, {"kernel_shape": (2, 2)}, (1, 1, 3)),
        ("LpPool", 18, {"kernel_shape": (2,), "p": 0}, (1, 1, 3)),
        ("LpPool", 18, {"kernel_shape": (2,), "pads": (1, -1)}, (1, 1, 3)),
        ("LpPool", 18, {"kernel_shape": (5,)}, (1, 1, 3)),
        ("LpPool", 18, {"kernel_shape": (2,)}, (1, 3)),
    ],
)
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


def test_inputs_of_one_type_have_one(backend: Any, wording: Wording) -> None:
    inputs = X > 2, X, X.astype(np.int64)
    outcome = of_type(Raised, outcome_of(backend, task_of("Where", 16, {}, *inputs), *inputs))
    assert outcome.detail == wording


def test_an_operator_that_is_not_mapped_is_declined(backend: Any) -> None:
    outcome = outcome_of(backend, task_of("Det", 13, {}, X), X)
    assert outcome == Declined("the mapping on torch has no Det-11")
    assert isinstance(outcome_of(backend, dml_problem((0,), X), X), Declined)


def test_strings_are_declined_also_as_a_constant(backend: Any) -> None:
    task = task_of("Cast", 13, {"to": 1}, np.array(["a", "b"], object), initializer=True)
    assert outcome_of(backend, task) == Declined("torch has no strings")


def taking(types: str) -> Any:
    """The parameters of an operator of one input of this type."""
    return [replace(opset.describe("", "Softmax", 13).inputs[0], types=frozenset({types}))]


def test_torch_s_own_words_for_not_implemented_are_heard() -> None:
    x = X.astype(np.int32)
    task = task_of("Softmax", 13, {}, x)
    mapped = adapter.Mapped(
        torch,
        torch.device("cpu"),
        task,
        lambda *given: given[-1].softmax(-1),
        taking("tensor(int32)"),
    )

    class Backend:
        info = adapter.connect(None, {}).info
        documented_errors = (RuntimeError,)

        def prepare(self, task: Task) -> Any:
            return mapped

    assert "implemented for 'Int'" in of_type(Declined, outcome_of(Backend(), task, x)).reason


def test_no_other_error_of_torch_means_that(backend: Any) -> None:
    task = task_of("Softmax", 13, {}, X)
    mapped = adapter.Mapped(
        torch,
        torch.device("cpu"),
        task,
        lambda *given: given[-1].reshape(7),
        taking("tensor(float)"),
    )
    with pytest.raises(RuntimeError, match="input of size"):
        mapped.run([X])


def test_it_is_right_in_the_shipped_cases_of_all_that_it_maps(backend: Any) -> None:
    names = {name for _, name in adapter._FUNCTIONS}
    cases = [case for case in load((), names, ("smoke",)) if case.op.name in names]
    core = (case for case in shipped_cases(*WHOLE) if case.level == "core")
    small = (case for case in core if elements(case) < 500)
    cases += {(case.op, case.name, case.row): case for case in small}.values()
    found = [*judged(cases, [backend], shipped_ledgers())]
    assert [(one.case.id, one.reason) for one in found if one.verdict in reds()] == []
    passed = Counter(one.case.op.name for one in found if one.verdict is Verdict.PASS)
    assert passed.keys() == names
    assert min(passed[name] for name in WHOLE) > 50
