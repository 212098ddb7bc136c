from dataclasses import replace
from functools import partial
from importlib.metadata import version
from types import SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from opcheck.backends.adapters import openvino as adapter
from opcheck.errors import BackendUnavailable, UsageError
from opcheck.graph import model_of
from opcheck.model import Declined, Raised, Task
from tests.asking import outcome_of, output_of, task_of
from tests.expecting import error_of, of_type

openvino = pytest.importorskip("openvino", reason="not installed: openvino")

X = np.array([[3, 3, 1], [3, 0, 3]], np.float32)
HARDMAX = task_of("Hardmax", 13, {"axis": 0}, X)
BFLOAT16 = ml_dtypes.bfloat16

#: An error of its CPU for a graph whose types it cannot infer.
NO_NODE = """Exception from src/inference/src/cpp/core.cpp:117:
Exception from src/inference/src/dev/plugin.cpp:54:
Check 'newNode' failed at src/plugins/intel_cpu/src/node.cpp:1626:
Unsupported operation of type: Convert name: q_t_f
Details:
Exception from src/plugins/intel_cpu/src/nodes/convert.cpp:61:
Not Implemented:
cpu_convert can't convert from: dynamic precision to: f32"""


@pytest.fixture(scope="module")
def vino() -> Any:
    return adapter.connect(None, {})


class Failing:
    """OpenVINO's core, or a model it compiled, but for what it raises."""

    inputs = outputs = ()

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def read_model(self, _: bytes) -> Any:
        raise self.error

    __call__ = compile_model = read_model


def failing(vino: Any, error: BaseException) -> Any:
    return replace(vino, prepare=partial(adapter.prepared, Failing(error), "CPU", {}))


def settings_of(backend: Any) -> Any:
    _, _, settings = backend.prepare.args
    return settings


def test_the_cpu_has_one_address_however_it_is_named(vino: Any) -> None:
    assert vino.info == adapter.connect("CPU", {}).info
    assert vino.info.address == vino.info.kind == "openvino"
    assert vino.info.version == version("openvino")
    assert vino.info.devices[0] == "CPU"
    assert set(vino.info.devices) == set(openvino.Core().available_devices)


@pytest.mark.parametrize("count", [None, 2])
def test_a_model_is_compiled_for_one_thread_unless_told_otherwise(count: int | None) -> None:
    backend = adapter.connect(None, {"threads": str(count)} if count else {})
    assert backend.info.threads == (count or 1)
    compiled = backend.prepare(HARDMAX).compiled
    assert compiled.get_property("INFERENCE_NUM_THREADS") == (count or 1)
    assert compiled.get_property("EXECUTION_DEVICES") == ["CPU"]


def test_the_precision_is_its_own_choice_unless_told_otherwise(vino: Any) -> None:
    def precision(backend: Any) -> str:
        prepared = backend.prepare(HARDMAX)
        name: str = prepared.compiled.get_property("INFERENCE_PRECISION_HINT").to_string()
        return name

    assert settings_of(vino) == {"INFERENCE_NUM_THREADS": 1}
    hint = openvino.Core().get_property("CPU", "INFERENCE_PRECISION_HINT")
    assert precision(vino) == hint.to_string()
    assert precision(adapter.connect(None, {"precision": "f32"})) == "f32"


@pytest.mark.parametrize(
    ("detail", "options", "hint"),
    [
        ("cpu", {}, "did you mean 'CPU'"),
        (None, {"device": "GPU1"}, "did you mean 'GPU'"),
        ("CPU", {"device": "GPU"}, None),
        ("AUTO", {}, "it has CPU, GPU, NPU"),
        ("HETERO:GPU,CPU", {}, "it has CPU, GPU, NPU"),
        (None, {"precision": "i8"}, None),
        (None, {"thread": "1"}, "mean 'threads'?"),
    ],
)
def test_nonsense_is_refused(detail, options, hint, wording):
    caught = error_of(UsageError, adapter.connect, detail, options)
    assert caught.message == wording
    assert (hint or "") in (caught.hint or "")


@pytest.mark.parametrize(
    ("device", "runs_on", "is_asked"),
    [
        ("GPU.1", ["GPU.1"], True),
        ("GPU", ["GPU.0"], True),
        ("GPU.0", ["GPU"], True),
        ("GPU.1", ["GPU.0"], False),
        ("NPU", ["CPU"], False),
        ("GPU.1", ["GPU.1", "CPU"], False),
        ("GPU", [], False),
    ],
)
def test_a_model_that_runs_elsewhere_is_not_run(device, runs_on, is_asked) -> None:
    core = SimpleNamespace(
        read_model=lambda model: model,
        compile_model=lambda *_: SimpleNamespace(get_property=lambda _: runs_on),
    )
    if is_asked:
        adapter.prepared(core, device, {}, HARDMAX)
        return
    error = error_of(BackendUnavailable, adapter.prepared, core, device, {}, HARDMAX)
    assert error.message == f"asked for {device}, got {', '.join(runs_on)}"


@pytest.mark.parametrize(("detail", "options"), [("GPU.1", {}), (None, {"device": "GPU.1"})])
def test_a_device_is_a_detail_or_an_option(monkeypatch, detail, options) -> None:
    monkeypatch.setattr(openvino.Core, "available_devices", ["CPU", "GPU.0", "GPU.1"])
    monkeypatch.setattr(openvino.Core, "get_property", lambda *_: {})
    info = adapter.connect(detail, options).info
    assert info.devices == ("GPU.1", "CPU", "GPU.0")
    assert info.address == ("openvino:GPU.1" if detail else "openvino")  # options follow it


def test_a_device_that_is_not_here_is_told_with_those_that_are(monkeypatch, wording):
    monkeypatch.setattr(openvino.Core, "available_devices", ["CPU", "GPU.0"])
    caught = error_of(BackendUnavailable, adapter.connect, "GPU.1", {})
    assert caught.message == wording
    assert caught.hint == "it finds CPU, GPU.0"


def test_another_device_is_addressed_and_has_no_threads_if_it_knows_none(monkeypatch):
    monkeypatch.setattr(openvino.Core, "available_devices", ["CPU", "GPU.0"])
    monkeypatch.setattr(openvino.Core, "get_property", lambda *_: {"DEVICE_ID": "RW"})
    backend = adapter.connect("GPU.0", {})
    assert (backend.info.address, backend.info.threads) == ("openvino:GPU.0", None)
    assert backend.info.devices == ("GPU.0", "CPU")
    assert settings_of(backend) == {}


def test_an_operator_it_lacks_is_declined(vino: Any) -> None:
    square = np.ones((2, 2), np.float32)
    outcome = outcome_of(vino, task_of("Det", 22, {}, square), square)
    assert outcome == Declined("No conversion rule found for operations: Det-22")


@pytest.mark.parametrize("error", [RuntimeError(NO_NODE), RuntimeError("Unsupported operation")])
def test_a_node_that_its_device_does_not_implement_is_declined(vino, error):
    outcome = outcome_of(failing(vino, error), HARDMAX, X)
    if str(error) == NO_NODE:
        assert outcome == Declined("Unsupported operation of type: Convert name: q_t_f")
    else:
        assert outcome == Raised("prepare", "RuntimeError", str(error), True)


def test_its_signal_for_not_implemented_is_heard_while_it_runs(vino: Any) -> None:
    class Late:
        info, documented_errors = vino.info, vino.documented_errors

        def prepare(self, _: Task) -> Any:
            return adapter.Compiled(HARDMAX, Failing(RuntimeError(NO_NODE)))

    assert isinstance(outcome_of(Late(), HARDMAX, X), Declined)


def test_an_invalid_model_is_refused_in_its_own_words(vino: Any) -> None:
    outcome = of_type(Raised, outcome_of(vino, task_of("Hardmax", 13, {"axis": 7}, X), X))
    assert (outcome.stage, outcome.kind, outcome.documented) == ("prepare", "RuntimeError", True)
    assert "tensor range [-2, 1]" in outcome.detail


def test_a_mode_and_a_rank_that_it_lacks_are_declined(vino: Any) -> None:
    pads = np.array([1, 1], np.int64)
    wrapped = task_of("Pad", 25, {"mode": "wrap"}, X[0], pads, initializer=True)
    assert outcome_of(vino, wrapped) == Declined("Unsupported padding mode: [wrap]")
    x = np.ones((1, 1, 3, 3, 3, 2), np.float32)
    outcome = outcome_of(vino, task_of("LpPool", 18, {"kernel_shape": (2, 2, 2, 2)}, x), x)
    assert isinstance(outcome, Declined)
    assert outcome.reason.startswith("Expected a 3D, 4D or")


def test_a_sentence_that_calls_a_legal_model_wrong_is_a_refusal(vino: Any) -> None:
    x = np.ones((0, 1, 3), np.float32)
    outcome = of_type(Raised, outcome_of(vino, task_of("LpPool", 18, {"kernel_shape": (2,)}, x), x))
    assert "Batch size is" in outcome.detail


@pytest.mark.parametrize("error", [AssertionError("x"), KeyError("x"), TypeError(NO_NODE)])
def test_other_exceptions_are_accidents(vino: Any, error: Exception) -> None:
    assert not of_type(Raised, outcome_of(failing(vino, error), HARDMAX, X)).documented


def test_bfloat16_stands_beside_other_types(vino: Any) -> None:
    x = np.array([1.5, -2, 0], BFLOAT16)
    there = output_of(vino, task_of("Cast", 13, {"to": 1}, x), x)
    assert (there.dtype, there.tolist()) == (np.float32, [1.5, -2, 0])
    wide = np.array([1.5, -2, 0.25], np.float32)
    back = output_of(vino, task_of("Cast", 13, {"to": 16}, wide), wide)
    assert (back.dtype, back.astype(float).tolist()) == (BFLOAT16, wide.tolist())
    half = output_of(vino, task_of("Cast", 13, {"to": 10}, wide), wide)
    assert (half.dtype, half.tolist()) == (np.float16, wide.tolist())


def test_an_input_that_it_dropped_is_refused_as_whoever_feeds_it_sees(vino: Any) -> None:
    axes = np.zeros(0, np.int64)
    outcome = of_type(Raised, outcome_of(vino, task_of("ReduceSum", 13, {}, X, axes), X, axes))
    assert "for tensor name" in outcome.detail


def test_of_a_model_it_is_not_fed_what_it_dropped(vino: Any) -> None:
    axes = np.zeros(0, np.int64)
    task = task_of("ReduceSum", 13, {}, X, axes)
    whole = replace(task, model=model_of(task).SerializeToString())
    assert output_of(vino, whole, X, axes).shape == (1,) * X.ndim


@pytest.mark.parametrize(
    ("dtype", "number"), [(ml_dtypes.float8_e4m3fn, 17), (ml_dtypes.float8_e5m2, 19)]
)
def test_floats_of_8_bits_go_in_and_come_out(vino: Any, dtype: Any, number: int) -> None:
    x = np.array([1.5, -2, 0], dtype)
    there = output_of(vino, task_of("Cast", 19, {"to": 1}, x), x)
    assert (there.dtype, there.tolist()) == (np.float32, [1.5, -2, 0])
    wide = np.array([1.5, -2, 0.25], np.float32)
    back = output_of(vino, task_of("Cast", 19, {"to": number}, wide), wide)
    assert (back.dtype, back.astype(float).tolist()) == (np.dtype(dtype), wide.tolist())


def test_other_floats_of_8_bits_are_not_fed(vino: Any) -> None:
    x = np.array([1.5], ml_dtypes.float8_e4m3fnuz)
    outcome = of_type(Declined, outcome_of(vino, task_of("Cast", 19, {"to": 1}, x), x))
    assert outcome.inexpressible
