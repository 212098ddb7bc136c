from pathlib import Path
from textwrap import dedent
from typing import Any

import numpy as np
import pytest

from opcheck.backends import connect
from opcheck.backends.connect import address_of, meant
from opcheck.backends.offers import about_kind
from opcheck.errors import UsageError
from opcheck.model import Task
from tests.asking import dml_problem, task_of
from tests.wording import Wording

MODULE = """
    from onnx.backend.base import Backend

    class Npu:
        def __init__(self, also="nothing"):
            self.also = also

        def prepare(self, task):
            raise AssertionError("it is only asked what it declares")

        def declares(self, task):
            if task.op.name == "LpPool":
                return "surely"
            name = task.inputs[0].dtype.name
            return True if name in ("float32", self.also) else None if name == "float64" else False

    class Silent:
        def prepare(self, task):
            return self

    class Picky(Backend):
        @classmethod
        def is_compatible(cls, model, device="CPU", **kwargs):
            return device == "NPU" and model.graph.node[0].op_type == "Hardmax"

        @classmethod
        def prepare(cls, model, device="CPU", **kwargs):
            raise AssertionError("it is only asked what it declares")

    class Terse(Picky):
        @classmethod
        def is_compatible(cls, model):
            return True

    class Agreeable(Backend):
        @classmethod
        def prepare(cls, model, device="CPU", **kwargs):
            raise AssertionError("it is only asked what it declares")
"""


@pytest.fixture(autouse=True)
def own_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "some_declaring.py").write_text(dedent(MODULE))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)


def asked(op: str, since: int, dtype: Any) -> Task:
    attrs: dict[str, Any] = {"kernel_shape": (2,)} if op == "LpPool" else {}
    return task_of(op, since, attrs, np.zeros((1, 1, 4), dtype))


def declared(address: str, task: Task) -> bool | None:
    """What comes through the backend that stands for the one at `address`."""
    backend = connect(address_of(address))
    assert not backend.info.repeatable
    (answer,) = backend.prepare(task).run([])
    return meant(answer)


_OURS = "py:some_declaring:"


@pytest.mark.parametrize(
    ("address", "op", "since", "dtype", "answer"),
    [
        # The engine, the dtypes of each version.
        ("numpy", "Hardmax", 13, "f8", True),
        ("numpy", "Hardmax", 13, "i4", False),
        # ONNX Runtime, what its registry has a kernel for.
        ("onnxruntime", "Softmax", 13, "f4", True),
        ("onnxruntime", "Softmax", 13, "f8", True),
        ("onnxruntime", "Softmax", 13, "f2", False),
        ("onnxruntime", "Hardmax", 11, "f4", True),
        ("onnxruntime", "Hardmax", 11, "f8", False),
        ("onnxruntime", "LpPool", 2, "f4", True),
        ("onnxruntime", "LpPool", 1, "f4", False),
        # Anybody's own method, whatever its options are, and what is declared of arithmetic.
        (f"{_OURS}Npu", "Hardmax", 13, "f4", True),
        (f"{_OURS}Npu", "Hardmax", 13, "f2", False),
        (f"{_OURS}Npu", "Hardmax", 13, "f8", None),
        (f"{_OURS}Npu?accumulate=float16&also=float16", "Hardmax", 13, "f2", True),
        # Without that method, nothing.
        (f"{_OURS}Silent", "Hardmax", 13, "f4", None),
        ("reference", "Hardmax", 13, "f4", None),
        # ONNX's interface by is_compatible: the inherited method accepts every model.
        ("onnx:some_declaring:Picky?device=NPU", "Hardmax", 13, "f4", True),
        ("onnx:some_declaring:Picky?device=NPU", "Softmax", 13, "f4", False),
        ("onnx:some_declaring:Terse", "Softmax", 13, "f4", True),
        ("onnx:some_declaring:Agreeable", "Hardmax", 13, "f4", None),
    ],
)
def test_who_declares_what(address, op, since, dtype, answer):
    assert declared(address, asked(op, since, dtype)) is answer


def test_the_engine_declares_nothing_of_an_operator_that_it_lacks() -> None:
    missing = task_of("ZipMap", 1, {}, np.zeros(3, np.float32), domain="ai.onnx.ml")
    assert declared("numpy", missing) is False


def test_an_operator_that_is_several_needs_a_kernel_for_each() -> None:
    single, half = (dml_problem((0,), np.zeros((2, 2), dtype)) for dtype in ("f4", "f2"))
    assert declared("onnxruntime", single) is True
    assert declared("onnxruntime", half) is False


def test_a_release_without_a_registry_to_look_at_declares_nothing(monkeypatch):
    from onnxruntime.capi import onnxruntime_pybind11_state as state

    monkeypatch.delattr(state, "get_all_opkernel_def")
    assert declared("onnxruntime", asked("Softmax", 13, np.float32)) is None


def test_openvino_declares_what_its_device_takes() -> None:
    pytest.importorskip("openvino", reason="not installed: openvino")
    assert declared("openvino", asked("Hardmax", 13, np.float32)) is True


def test_an_answer_that_is_none_is_no_answer(wording: Wording) -> None:
    with pytest.raises(TypeError) as raised:
        declared("py:some_declaring:Npu", asked("LpPool", 18, np.float32))
    assert raised.value == wording


@pytest.mark.parametrize("address", ["numpy:fast", "nope"])
def test_a_backend_that_cannot_be_used_is_told_as_ever(address: str, wording: Wording) -> None:
    with pytest.raises(UsageError) as raised:
        connect(address_of(address))
    assert raised.value == wording


@pytest.mark.parametrize(
    "kind",
    [
        "onnxruntime",
        "py",
        "an entry point",
    ],
)
def test_where_something_is_declared(kind: str, wording: Wording) -> None:
    assert about_kind(kind).declares == wording
