"""Shows the published defects without opcheck: NumPy, onnx's model builder, and each engine's API.

    python reports/confirm.py [ENGINE…]

Each model of `by_hand.py` goes to the engine it is about, in a process of its own kind, since some
of them die of it. What comes is held against what was worked out by hand, and `by_hand.json` keeps
both. Exit status 1 where a defect did not show.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
if __package__ in (None, ""):
    sys.path.insert(0, str(HERE.parent))

from reports.by_hand import CHECKS, Check  # noqa: E402  (it may be run as a script)

STORED = HERE / "by_hand.json"
#: How often a model is run that is answered rightly.
_TIMES = 20
_PACKAGES = {"reference": "onnx"}


@dataclass(frozen=True)
class Shown:
    """What an engine made of a model, beside what it had to."""

    engine: str
    version: str
    cause: str
    asked: str
    want: str
    got: str
    why: str
    holds: bool


def shown(engines: Sequence[str]) -> Iterator[Shown]:
    """Every check on its engine, in turn."""
    for engine in engines:
        found = version(_PACKAGES.get(engine, engine))
        for check, (got, holds) in _answers([one for one in CHECKS if one.engine == engine]):
            want = " or ".join(map(_spelt, check.wants)) or "a refusal"
            asked = _asked(check)
            yield Shown(engine, found, check.cause, asked, want, got, check.why, holds)


def _answers(checks: Sequence[Check]) -> Iterator[tuple[Check, tuple[str, bool]]]:
    pool = _pool()
    for check in checks:
        try:
            yield check, pool.submit(answer, check).result(timeout=60)
        except BrokenProcessPool:
            pool = _pool()
            yield check, ("the process dies", True)
    pool.shutdown()


def _pool() -> ProcessPoolExecutor:
    return ProcessPoolExecutor(1, mp_context=get_context("spawn"))


def answer(check: Check) -> tuple[str, bool]:
    """What the engine makes of the model, and whether that is wrong.

    Asked several times if it is right, because some answers are what memory happens to hold.
    """
    model = _model(check)
    if check.declared:
        declared, returned = _shapes(model, check.x)
        return f"declared {declared}, returned {returned}", declared != returned
    for _ in range(_TIMES):
        try:
            got = np.asarray(_RUN[check.engine](model, None if check.constant else check.x))
        except Exception as error:
            # Whatever it raises, it refuses the model: that is what is asked here.
            told = (str(error).strip().splitlines() or [""])[-1][:120]
            return f"{type(error).__name__}: {told}", bool(check.wants)
        if not any(_same(got, np.asarray(want), check.rtol) for want in check.wants):
            return _spelt(got), True
    return _spelt(got), False


def _same(got: np.ndarray[Any, Any], want: np.ndarray[Any, Any], rtol: float) -> bool:
    return got.shape == want.shape and np.allclose(got, want, rtol, 0, equal_nan=True)


def _model(check: Check) -> bytes:
    from onnx import TensorProto, helper

    kind = (
        TensorProto.BFLOAT16 if check.constant else helper.np_dtype_to_tensor_dtype(check.x.dtype)
    )
    node = helper.make_node(check.op, ["x"], ["y"], **check.attrs)
    given = [helper.make_tensor_value_info("x", kind, check.x.shape)]
    made = helper.make_tensor_value_info("y", kind, None)
    constant = helper.make_tensor("x", kind, check.x.shape, check.x.ravel().tolist())
    graph = helper.make_graph(
        [node],
        "one",
        [] if check.constant else given,
        [made],
        [constant] if check.constant else [],
    )
    opset = helper.make_opsetid("", check.opset)
    return helper.make_model(graph, opset_imports=[opset], ir_version=10).SerializeToString()


def _onnxruntime(model: bytes, x: Any) -> Any:
    import onnxruntime

    onnxruntime.set_default_logger_severity(4)
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    (got,) = session.run(None, {"x": x})
    return got


def _shapes(model: bytes, x: Any) -> tuple[list[int], list[int]]:
    """The shape of the output that a session of ONNX Runtime declares, and that it returns."""
    import onnxruntime

    onnxruntime.set_default_logger_severity(4)
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    (got,) = session.run(None, {"x": x})
    return session.get_outputs()[0].shape, [*got.shape]


def _reference(model: bytes, x: Any) -> Any:
    from onnx.reference import ReferenceEvaluator

    (got,) = ReferenceEvaluator(model).run(None, {"x": x})
    return got


def _openvino(model: bytes, x: Any) -> Any:
    import openvino

    core = openvino.Core()
    compiled = core.compile_model(core.read_model(model), "CPU")
    for _ in range(5):  # what its memory holds differs from one run to the next
        got = np.asarray(compiled({} if x is None else {"x": x})[0])
    return got


def _tract(model: bytes, x: Any) -> Any:
    import tract

    with tempfile.NamedTemporaryFile(suffix=".onnx") as file:
        file.write(model)
        file.flush()
        runnable = tract.onnx().load(file.name).into_model().into_runnable()
    return runnable.run([x])[0].to_numpy()


_RUN = {
    "onnxruntime": _onnxruntime,
    "reference": _reference,
    "openvino": _openvino,
    "tract": _tract,
}


def _asked(check: Check) -> str:
    attrs = " ".join(f"{name}={value}" for name, value in check.attrs.items())
    kind = "bfloat16" if check.constant else check.x.dtype
    return f"{check.op}, opset {check.opset}, {attrs or 'no attributes'}, {kind} {_spelt(check.x)}"


def _spelt(values: Any) -> str:
    array = np.asarray(values)
    if array.size > 12 and (array == 1).any():
        ones = ", ".join(map(str, np.flatnonzero(array == 1).tolist()))
        return f"of shape {[*array.shape]}, ones at {ones}"
    if array.size > 12:
        nans = ", NaN" * bool(np.isnan(array).any())
        least, most = np.nanmin(array), np.nanmax(array)
        return f"of shape {[*array.shape]}, {least:.3g} to {most:.3g}{nans}"
    if array.size == 0:
        return f"of shape {[*array.shape]}"
    text = np.array2string(
        array, 10_000, separator=", ", formatter={"float_kind": lambda value: f"{value:.8g}"}
    )
    return " ".join(text.split())


def main(engines: Sequence[str]) -> int:
    """Ask the engines, and keep what they say; those not asked stay as they were."""
    found = list(shown(engines or [*_RUN]))
    asked = {one.engine for one in found}
    kept = json.loads(STORED.read_text("utf-8")) if STORED.exists() else []
    kept = [one for one in kept if one["engine"] not in asked]
    everything = sorted([*kept, *map(asdict, found)], key=lambda one: [*_RUN].index(one["engine"]))
    STORED.write_text(json.dumps(everything, indent=1, ensure_ascii=False) + "\n", "utf-8")
    for one in found:
        mark = "shows" if one.holds else "DOES NOT SHOW"
        print(f"{mark}: {one.engine} {one.version}: {one.cause} …")
        print(f"    {one.asked}\n    want {one.want}: {one.why}\n    got  {one.got}")
    missing = sum(not one.holds for one in found)
    print(f"{len(found) - missing} of {len(found)} shown")
    return int(missing > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
