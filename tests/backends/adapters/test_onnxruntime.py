from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper
from onnxruntime.capi import onnxruntime_pybind11_state as state

from opcheck.backends import connect
from opcheck.backends.adapters import onnxruntime as adapter
from opcheck.errors import BackendUnavailable
from opcheck.model import Declared, Declined, NotRun, Outcome, Port, Produced, Raised, Task
from tests import asking
from tests.asking import output_of, task_of
from tests.expecting import of_type
from tests.wording import Wording

X = np.array([[3, 3, 1], [3, 0, 3]], np.float32)
HARDMAX = task_of("Hardmax", 13, {"axis": 0}, X)
ORT = connect("onnxruntime")
_MAKE = onnxruntime.InferenceSession


def outcome_of(task: Task, *inputs: Any, address: str = "onnxruntime") -> Outcome:
    return asking.outcome_of(connect(address), task, *inputs)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The sessions made from now on, with the arguments they were made with."""
    found: list[Any] = []

    def make(model: bytes, options: Any, providers: list[str], **rest: Any) -> Any:
        session = _MAKE(model, options, providers, **rest)
        found.append((session, {"providers": providers, **rest}))
        return session

    monkeypatch.setattr(onnxruntime, "InferenceSession", make)
    return found


class Session:
    """A session of the CPU that claims whatever it is told to."""

    def __init__(self, providers: list[str], run: Callable[..., Any] | None = None) -> None:
        self.providers = providers
        self.run = run or (lambda _, feed: [np.zeros_like(next(iter(feed.values())))])

    def get_providers(self) -> list[str]:
        return self.providers

    def get_inputs(self) -> list[Any]:
        return []

    get_outputs = get_inputs

    def get_provider_graph_assignment_info(self) -> list[Any]:
        node = SimpleNamespace(op_type="Hardmax")
        return [SimpleNamespace(ep_name=self.providers[0], get_nodes=lambda: [node])]


def pretend(monkeypatch: pytest.MonkeyPatch, session: Any) -> None:
    here = ["CUDAExecutionProvider", "CPUExecutionProvider"]
    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: here)
    # That of the first, which is asked for in connecting, is in order.
    sessions = iter([Session(["CUDAExecutionProvider"])])
    monkeypatch.setattr(onnxruntime, "InferenceSession", lambda *_, **__: next(sessions, session))


def failing(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    """Let each session raise this when it is run."""

    def run(*_: Any) -> Any:
        raise error

    session = Session(["CPUExecutionProvider"], run)
    monkeypatch.setattr(onnxruntime, "InferenceSession", lambda *_, **__: session)


def test_the_cpu_s_provider_has_one_address_however_it_is_named() -> None:
    assert connect("onnxruntime:CPUExecutionProvider").info == ORT.info
    assert ORT.info.address == "onnxruntime"


def test_a_session_has_one_thread_and_the_provider_asked_for(made: list[Any]) -> None:
    for address in ("onnxruntime", "onnxruntime:CPUExecutionProvider"):
        made.clear()
        assert isinstance(outcome_of(HARDMAX, X, address=address), Produced)
        ((session, arguments),) = made
        assert arguments == {"providers": ["CPUExecutionProvider"], "enable_fallback": 0}
        assert session.get_providers() == ["CPUExecutionProvider"]
        options = session.get_session_options()
        assert (options.intra_op_num_threads, options.inter_op_num_threads) == (1, 1)


def test_a_session_has_as_many_threads_as_asked_for(made: list[Any]) -> None:
    backend = adapter.connect(None, {"threads": "3"})
    assert (backend.info.threads, ORT.info.threads) == (3, 1)
    backend.prepare(HARDMAX)
    ((session, _),) = made
    options = session.get_session_options()
    assert (options.intra_op_num_threads, options.inter_op_num_threads) == (3, 1)


def test_it_lists_the_providers_the_one_in_use_first(monkeypatch: pytest.MonkeyPatch) -> None:
    here = ["CUDAExecutionProvider", "CPUExecutionProvider"]
    pretend(monkeypatch, None)
    assert adapter.connect("CUDAExecutionProvider", {}).info.devices == tuple(here)
    assert adapter.connect(None, {}).info.devices == tuple(reversed(here))


@pytest.mark.skipif(
    "AzureExecutionProvider" not in onnxruntime.get_available_providers(),
    reason="this onnxruntime has no second provider to try",
)
def test_a_provider_without_a_kernel_declines_and_the_cpu_does_not_step_in() -> None:
    outcome = outcome_of(HARDMAX, X, address="onnxruntime:AzureExecutionProvider")
    assert isinstance(outcome, Declined)
    assert "default CPU EP" in outcome.reason


@pytest.mark.parametrize(
    ("session", "told"),
    [
        (lambda *_, **__: Session(["CPUExecutionProvider"]), "got CPUExecutionProvider"),
        (lambda *_, **__: [][0], "list index out"),
    ],
)
def test_a_provider_without_its_device_cannot_be_used(
    session, told, monkeypatch, wording: Wording
) -> None:
    pretend(monkeypatch, None)
    monkeypatch.setattr(onnxruntime, "InferenceSession", session)
    with pytest.raises(BackendUnavailable) as raised:
        adapter.connect("CUDAExecutionProvider", {})
    assert told in raised.value.message
    assert raised.value == wording


@pytest.mark.parametrize(
    "providers", [["CPUExecutionProvider"], ["CPUExecutionProvider", "CUDAExecutionProvider"]]
)
def test_a_session_on_another_provider_is_not_run(providers, monkeypatch):
    pretend(monkeypatch, Session(providers))
    outcome = outcome_of(HARDMAX, X, address="onnxruntime:CUDAExecutionProvider")
    assert outcome == NotRun(f"asked for CUDAExecutionProvider, got {', '.join(providers)}")


def test_a_session_may_list_the_cpu_behind_the_provider(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, Session(["CUDAExecutionProvider", "CPUExecutionProvider"]))
    assert isinstance(outcome_of(HARDMAX, X, address="onnxruntime:CUDAExecutionProvider"), Produced)


def test_a_provider_that_fails_while_it_runs_is_not_replaced(made, monkeypatch, capsys):
    prepared = ORT.prepare(HARDMAX)
    ((session, _),) = made
    working = session._sess

    class Failing:
        """What ONNX Runtime's Python layer calls; the provider fails, the CPU would not."""

        def run(self, *_: Any) -> Any:
            raise state.EPFail("the device is gone")

        def __getattr__(self, name: str) -> Any:
            return getattr(working, name)

    session._sess = Failing()
    monkeypatch.setattr(session, "set_providers", lambda *_: setattr(session, "_sess", working))
    with pytest.raises(state.EPFail):
        prepared.run([X])
    assert capsys.readouterr().out == ""


def test_a_missing_kernel_is_declined() -> None:
    x = X.astype(np.float64)
    outcome = of_type(Declined, outcome_of(task_of("Hardmax", 13, {"axis": 1}, x), x))
    assert "NOT_IMPLEMENTED" in outcome.reason


def relu(opset: int, ir: int, domain: str = "", name: str = "", to: int = 0) -> Task:
    """A task that is a model, as in a file: a Relu, or a Cast `to` a type."""
    float_in = helper.make_tensor_value_info("x", TensorProto.FLOAT, X.shape)
    out = helper.make_tensor_value_info("y", to or TensorProto.FLOAT, X.shape)
    attrs = {"to": to} if to else {}
    op = "Cast" if to else "Nope" if domain else "Relu"
    node = helper.make_node(op, ["x"], ["y"], name, domain=domain, **attrs)
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid(domain or "more", 1)]
    graph = helper.make_graph([node], "graph", [float_in], [out])
    model = helper.make_model(graph, opset_imports=opsets, ir_version=ir)
    task = task_of("Hardmax", 13, {}, X)
    return replace(task, model=model.SerializeToString(), ports=(Port("x"),))


@pytest.mark.parametrize(
    ("task", "reason"),
    [
        (relu(17, 99), "IR version: 99,"),
        (relu(99, 8), "Opset 99 is"),
        (relu(17, 8, "elsewhere"), "elsewhere:Nope(-1) is not"),
    ],
    ids=["IR version", "opset", "operator"],
)
def test_what_is_later_than_it_is_declined_in_its_own_sentence(task: Task, reason: str) -> None:
    assert reason in of_type(Declined, outcome_of(task, X)).reason


def test_a_type_that_onnx_does_not_have_is_refused_not_declined() -> None:
    assert isinstance(outcome_of(relu(17, 8, to=99), X), Raised)


@pytest.mark.parametrize(
    "words",
    [
        "x is not a registered function/op",
        "Opset is under development and support for this is limited",
        "Unsupported model IR version",
        "this is not currently registered or supported",
        "Invalid tensor data type 99",
        "Invalid tensor data type 0",
        "default CPU EP",
        "Unsupported kernel dimension : 4",
        "this type is not supported.",
    ],
)
def test_words_of_such_a_sentence_in_another_message_decline_nothing(words, monkeypatch):
    """A node may have any name, and a refusal that counts as unsupported accuses nobody."""
    failing(monkeypatch, state.Fail(f"Node ({words}) failed: no"))
    assert isinstance(outcome_of(HARDMAX, X), Raised)


def test_what_a_kernel_says_that_it_lacks_is_declined() -> None:
    x = np.ones((1, 1, 3, 3, 3, 2), np.float32)
    outcome = outcome_of(task_of("LpPool", 18, {"kernel_shape": (2, 2, 2, 2)}, x), x)
    assert isinstance(outcome, Declined)
    assert outcome.reason.endswith("Unsupported kernel dimension : 4")
    x = np.ones((2, 1, 1), np.float32)
    recurrent = {"hidden_size": 1, "layout": 1}
    weights = [np.ones((1, 1, 1), np.float32)] * 2
    outcome = of_type(Declined, outcome_of(task_of("RNN", 14, recurrent, x, *weights), x, *weights))
    assert "recurrent operations (layout == 1)" in outcome.reason


def test_a_sentence_that_calls_a_legal_model_wrong_is_a_refusal() -> None:
    x = np.ones((1, 1, 3), np.float32)
    outcome = outcome_of(task_of("LpPool", 18, {"kernel_shape": (2,), "pads": (2, 0)}, x), x)
    assert isinstance(outcome, Raised)
    assert outcome.detail.endswith("smaller than kernel.")


def test_a_session_declares_what_it_knows_of_its_outputs() -> None:
    assert ORT.prepare(HARDMAX).declared() == [("float32", list(X.shape))]
    x = np.ones((1, 1, 6), np.float32)
    attrs = {"kernel_shape": (2,), "strides": (3,), "auto_pad": "SAME_UPPER", "ceil_mode": 1}
    outcome = of_type(Produced, outcome_of(task_of("LpPool", 18, attrs, x), x))
    # By ONNX's shape inference, which has another formula than the kernel.
    assert outcome.declared == (Declared("float32", (1, 1, 3)),)
    assert outcome.outputs[0].shape == (1, 1, 2)  # type: ignore[union-attr]


def test_an_invalid_model_is_refused_in_its_own_words() -> None:
    outcome = of_type(Raised, outcome_of(task_of("Hardmax", 13, {"axis": 7}, X), X))
    assert (outcome.stage, outcome.documented) == ("prepare", True)
    assert outcome.kind in {"Fail", "InvalidGraph", "InvalidArgument", "RuntimeException"}


@pytest.mark.parametrize("name", ["Fail", "InvalidArgument", "InvalidGraph", "RuntimeException"])
def test_its_own_exceptions_are_documented(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    failing(monkeypatch, getattr(state, name)("no"))
    assert outcome_of(HARDMAX, X) == Raised("run", name, "no", True)


@pytest.mark.parametrize(
    ("feed", "error"), [({"x": X}, ValueError), ({"input": object()}, RuntimeError)]
)
def test_those_of_its_python_layer_are_documented(feed, error):
    with pytest.raises(error):
        adapter.connect(None, {}).prepare(HARDMAX).session.run(None, feed)
    assert issubclass(error, ORT.documented_errors)


@pytest.mark.parametrize("error", [AssertionError("x"), ImportError("x"), KeyError("x")])
def test_other_exceptions_are_accidents(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    failing(monkeypatch, error)
    assert not of_type(Raised, outcome_of(HARDMAX, X)).documented


def test_its_signal_for_not_implemented_is_heard_in_both_stages(monkeypatch):
    def fail(*_: Any, **__: Any) -> Any:
        raise state.NotImplemented("not here")

    failing(monkeypatch, state.NotImplemented("not here"))
    assert outcome_of(HARDMAX, X) == Declined("not here")
    monkeypatch.setattr(onnxruntime, "InferenceSession", fail)
    assert outcome_of(HARDMAX, X) == Declined("not here")


def test_bfloat16_stands_beside_other_types() -> None:
    x = np.array([1.5, -2, 0], ml_dtypes.bfloat16)
    there = output_of(ORT, task_of("Cast", 13, {"to": 1}, x), x)
    assert (there.dtype, there.tolist()) == (np.float32, [1.5, -2, 0])
    wide = np.array([1.5, -2, 1 / 3], np.float32)
    back = output_of(ORT, task_of("Cast", 13, {"to": 16}, wide), wide)
    assert back.dtype == ml_dtypes.bfloat16
    assert back.astype(float).tolist() == wide.astype(ml_dtypes.bfloat16).astype(float).tolist()
    shape = np.array([3, 1], np.int64)
    found = output_of(ORT, task_of("Reshape", 13, {}, x, shape), x, shape)
    assert found.astype(float).tolist() == [[1.5], [-2], [0]]
