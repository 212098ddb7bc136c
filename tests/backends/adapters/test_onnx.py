import sys
import unittest
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx.backend.base import Backend, BackendRep, namedtupledict
from onnx.checker import ValidationError
from onnx.reference import ReferenceEvaluator

from opcheck.backends import connect
from opcheck.backends.adapters import onnx as adapter
from opcheck.backends.base import Defect
from opcheck.errors import BackendUnavailable, UsageError
from opcheck.model import Declined, Outcome, OutputSpec, Raised, Task
from tests import asking
from tests.asking import dml_problem, task_of
from tests.expecting import error_of, of_type
from tests.wording import Wording

X = np.array([[3, 3, 1], [3, 0, 3]], np.float32)
HARDMAX = task_of("Hardmax", 13, {"axis": 1}, X)
ANSWER = [[1, 0, 0], [1, 0, 0]]


class Rep(BackendRep):
    """What ONNX's own evaluator answers, in any of the forms that backends answer in."""

    def __init__(self, model: Any, form: Callable[[list[str], list[Any]], Any]) -> None:
        self.evaluator, self.form = ReferenceEvaluator(model), form

    def run(self, inputs: Any, **_: Any) -> Any:
        assert type(inputs) is list
        feed = dict(zip(self.evaluator.input_names, inputs, strict=True))
        return self.form(self.evaluator.output_names, self.evaluator.run(None, feed))


class Complete(Backend):
    """Overrides what backends are told to override."""

    @classmethod
    def prepare(cls, model: Any, device: str = "CPU", **_: Any) -> Any:
        super().prepare(model, device)
        return Rep(model, lambda _, values: values)


@pytest.fixture
def offer(monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """A function that puts things into a module and says at what address it is."""

    def made(**things: Any) -> str:
        module = ModuleType("made_up")
        vars(module).update(things)
        for thing in things.values():
            if isinstance(thing, type) and thing is not Backend:
                monkeypatch.setattr(thing, "__module__", "made_up")
        monkeypatch.setitem(sys.modules, "made_up", module)
        monkeypatch.setattr(sys, "path", [*sys.path])
        return "onnx:made_up"

    return made


def outcome_of(address: str, task: Task = HARDMAX, *inputs: Any) -> Outcome:
    return asking.outcome_of(connect(address), task, *(inputs or (X,)))


def answer_of(address: str, task: Task = HARDMAX, *inputs: Any) -> Any:
    return asking.output_of(connect(address), task, *(inputs or (X,))).tolist()


@pytest.mark.filterwarnings("ignore:onnx.version is deprecated")
@pytest.mark.parametrize(
    "address", ["onnx:onnxruntime.backend", "onnx:onnxruntime.backend.backend:OnnxRuntimeBackend"]
)
def test_onnx_runtime_has_the_interface_as_a_module_and_as_a_class(address, monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path])
    info = connect(address).info
    assert (info.address, info.kind) == (address, "onnx")
    assert (info.version, info.devices) == (onnxruntime.__version__, ("CPU",))
    assert answer_of(address) == ANSWER
    refused = of_type(Raised, outcome_of(address, task_of("Hardmax", 13, {"axis": 7}, X)))
    assert refused.stage == "prepare"
    assert outcome_of(f"{address}?device=TPU") == Declined("supports_device says no to TPU")


def test_inputs_come_in_the_order_of_the_model(offer: Any) -> None:
    slope = np.array([10, 20, 30], np.float32)
    task = task_of("PRelu", 13, {}, -X, slope)
    assert answer_of(offer(Complete=Complete), task, -X, slope) == (-X * slope).tolist()


def test_a_class_is_found_by_itself_and_its_base_is_no_backend(offer: Any) -> None:
    address = offer(Backend=Backend, Complete=Complete, __version__="1.7")
    assert answer_of(address) == ANSWER
    info = connect(address).info
    assert (info.address, info.version) == ("onnx:made_up:Complete", "1.7")


def test_a_module_with_functions_is_a_backend(offer: Any) -> None:
    address = offer(prepare=Complete.prepare, Complete=Complete)
    assert connect(address).info.address == "onnx:made_up"
    assert answer_of(address) == ANSWER


def test_an_object_is_made_of_a_class_whose_methods_need_one(offer: Any) -> None:
    class WithObjects:
        def __init__(self) -> None:
            self.prepared = Complete.prepare

        def prepare(self, model: Any, device: str) -> Any:
            return self.prepared(model, device)

    assert answer_of(offer(WithObjects=WithObjects)) == ANSWER


def test_run_model_does_where_nothing_is_prepared(offer: Any) -> None:
    asked = []

    class OneShot(Backend):
        @classmethod
        def run_model(cls, model: Any, inputs: Any, device: str = "CPU", **_: Any) -> Any:
            asked.append(device)
            return Complete.prepare(model).run(inputs)

    assert answer_of(offer(OneShot=OneShot) + "?device=NPU") == ANSWER
    assert asked == ["NPU"] * 3


def test_run_node_does_where_there_is_nothing_else(offer: Any) -> None:
    asked = []

    class NodeByNode(Backend):
        @classmethod
        def run_node(cls, node: Any, inputs: Any, device: str = "CPU", **more: Any) -> Any:
            asked.append((node.op_type, device, more))
            return Rep(node, lambda _, values: values).run(inputs)

    address = offer(NodeByNode=NodeByNode)
    assert answer_of(address) == ANSWER
    assert asked == [("Hardmax", "CPU", {"opset_version": 13})] * 3
    constant = task_of("Hardmax", 13, {"axis": 1}, X, initializer=True)
    assert connect(address).prepare(constant).run([])[0].tolist() == ANSWER
    assert isinstance(outcome_of(address, dml_problem((0,), X)), Declined)


def test_run_node_may_do_without_the_opset(offer: Any) -> None:
    def run_node(node: Any, inputs: Any, device: str) -> Any:
        return Rep(node, lambda _, values: values).run(inputs)

    assert answer_of(offer(run_node=run_node)) == ANSWER


@pytest.mark.parametrize("name", ["Backend", "Nothing"])
def test_the_interface_alone_is_no_backend(name: str, offer: Any, wording: Wording) -> None:
    class Nothing(Backend):
        pass

    offer(Nothing=Nothing, Backend=Backend)
    assert error_of(UsageError, connect, f"onnx:made_up:{name}").message == (wording)


def test_prepare_has_to_return_something_that_runs(offer: Any, wording: Wording) -> None:
    outcome = of_type(Raised, outcome_of(offer(prepare=lambda model, device: None)))
    assert (outcome.stage, outcome.kind) == ("prepare", "UnusableAnswer")
    assert outcome.detail == wording


@pytest.mark.parametrize(
    "form",
    [
        lambda _, values: values,
        lambda _, values: tuple(values),
        lambda names, values: namedtupledict("Outputs", names)(*values),
        lambda names, values: dict(zip(names, values, strict=True)),
        lambda names, values: {"more": X, **dict(zip(names, values, strict=True))},
        lambda _, values: values[0],
    ],
    ids=["list", "tuple", "namedtuple", "dict", "larger dict", "array"],
)
def test_outputs_come_in_any_form(form: Any, offer: Any) -> None:
    assert answer_of(offer(prepare=lambda model, device: Rep(model, form))) == ANSWER


def test_outputs_by_name_are_put_in_order(offer: Any) -> None:
    task = task_of(
        "MaxPool",
        12,
        {"kernel_shape": (2,)},
        np.array([[[1, 5, 3]]], np.float32),
        outputs=(OutputSpec("Y", None), OutputSpec("Indices", None)),
    )

    class Named:
        def run(self, inputs: Any) -> Any:
            return {"Indices": np.array(2), "Y": np.array(1)}

    backend = connect(offer(prepare=lambda model, device: Named()))
    assert [int(value) for value in backend.prepare(task).run([X])] == [1, 2]


def test_outputs_by_other_names_are_none(offer: Any, wording: Wording) -> None:
    address = offer(prepare=lambda model, device: Rep(model, lambda _, values: {"y": values[0]}))
    outcome = of_type(Raised, outcome_of(address))
    assert outcome.detail == wording


class BackendIsNotSupposedToImplementIt(unittest.SkipTest):
    """As in onnx.backend.test.runner."""


def test_this_is_how_onnx_says_not_here() -> None:
    from onnx.backend.test import runner

    theirs = runner.BackendIsNotSupposedToImplementIt
    assert theirs.__name__ == BackendIsNotSupposedToImplementIt.__name__
    assert theirs.__mro__[1:] == BackendIsNotSupposedToImplementIt.__mro__[1:]
    assert {theirs.__name__, "SkipTest"} == adapter._NOT_HERE


@pytest.mark.parametrize(
    "error", [BackendIsNotSupposedToImplementIt, unittest.SkipTest, NotImplementedError]
)
def test_it_is_heard_in_both_stages(error: type[Exception], offer: Any) -> None:
    def fail(*_: Any) -> Any:
        raise error("not here")

    assert outcome_of(offer(prepare=fail)) == Declined("not here")
    assert outcome_of(offer(prepare=lambda model, device: Rep(model, fail))) == Declined("not here")
    assert outcome_of(offer(run_model=fail)) == Declined("not here")


@pytest.mark.parametrize(
    "error", [RuntimeError, onnxruntime.capi.onnxruntime_pybind11_state.NotImplemented]
)
def test_other_exceptions_are_no_such_thing(error: type[Exception], offer: Any) -> None:
    def fail(*_: Any) -> Any:
        raise error("not implemented")

    outcome = outcome_of(offer(prepare=fail))
    assert outcome == Raised("prepare", error.__name__, "not implemented", False)


def test_a_backend_may_say_no_to_a_device_or_a_model(offer: Any) -> None:
    class Choosy(Complete):
        @classmethod
        def supports_device(cls, device: str) -> bool:
            return device in ("CPU", "NPU")

        @classmethod
        def is_compatible(cls, model: Any, device: str = "CPU", **_: Any) -> bool:
            return device == "CPU" and bool(model.graph.node[0].op_type == "Hardmax")

    address = offer(Choosy=Choosy)
    assert answer_of(address) == ANSWER
    softmax = task_of("Softmax", 13, {}, X)
    assert outcome_of(address, softmax) == Declined("is_compatible says no to CPU")
    assert outcome_of(f"{address}?device=NPU") == Declined("is_compatible says no to NPU")
    assert outcome_of(f"{address}?device=GPU") == Declined("supports_device says no to GPU")


def test_is_compatible_may_take_the_model_alone(offer: Any) -> None:
    address = offer(prepare=Complete.prepare, is_compatible=lambda model: False)
    assert isinstance(outcome_of(address), Declined)


def test_what_onnx_s_checker_says_is_documented(offer: Any) -> None:
    wrong = task_of("Hardmax", 13, {"alpha": 1.0}, X)
    outcome = of_type(Raised, outcome_of(offer(Complete=Complete), wrong))
    assert (outcome.stage, outcome.kind) == ("prepare", ValidationError.__name__)
    assert outcome.documented


def test_a_bug_in_building_the_model_is_no_refusal(offer, monkeypatch):
    def broken(_: Task) -> Any:
        raise ValueError("x")

    monkeypatch.setattr(adapter, "model_of", broken)
    with pytest.raises(Defect, match="ValueError"):
        outcome_of(offer(Complete=Complete))


@pytest.mark.parametrize(
    "address",
    [
        "onnx",
        "onnx:made_up:Absent",
        "onnx:made_up:Complete?threads=1",
        "onnx:made_up:X",
    ],
)
def test_what_it_cannot_mean_is_refused(address: str, offer: Any, wording: Wording) -> None:
    offer(Complete=Complete, X=3)
    assert error_of(UsageError, connect, address).message == wording


def test_a_class_whose_objects_cannot_be_made_is_unavailable(offer: Any, wording: Wording) -> None:
    class Unmade:
        def __init__(self) -> None:
            raise OSError("no device")

        def prepare(self, model: Any, device: str) -> Any:
            return None

    with pytest.raises(BackendUnavailable) as raised:
        connect(offer(Unmade=Unmade))
    assert raised.value == wording
