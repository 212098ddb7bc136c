"""Models that round to few bits what they have computed, evaluated by honest float32 arithmetic.

Each model computes multiples of 0.5 from 12 to 20 by way of a quotient, so that they have an error,
and rounds them to a type in which odd ones are ties. A backend whose arithmetic is off by an ULP
rounds a tie the other way, and is not wrong. One that is a step off anywhere else is.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx.parser import parse_model

import opcheck
from opcheck.model import Task, Verdict

#: What rounds `b` to few bits and gives y in float32, and what it computes; a step is 2 from 16 on.
ROUNDINGS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "int8": (
        "q = QuantizeLinear (b, two, zero) y = DequantizeLinear (q, two, zero)",
        lambda b: np.rint(b / 2) * 2,
    ),
    "float8e4m3fn": (
        "q = Cast <to = 17> (b) y = Cast <to = 1> (q)",
        lambda b: b.astype(ml_dtypes.float8_e4m3fn).astype(np.float32),
    ),
    "float8e4m3fn, scaled": (
        "q = Cast <to = 17> (b) y = DequantizeLinear (q, one)",
        lambda b: b.astype(ml_dtypes.float8_e4m3fn).astype(np.float32),
    ),
}


@dataclass
class Rounds:
    """A backend that computes in float32, changes what it rounds, and changes the answer."""

    rounding: Callable[[Any], Any]
    nudge: Callable[[Any], Any] = lambda b: b
    mistake: Callable[[Any], Any] = lambda y: y

    def prepare(self, task: Task) -> "Rounds":
        return self

    def run(self, inputs: Sequence[Any]) -> list[Any]:
        halves = np.clip(np.rint(2 * inputs[0]), -8, 8) / np.float32(2) + np.float32(16)
        b = self.nudge(halves / np.float32(3) * np.float32(3))
        return [self.mistake(self.rounding(b)).astype(np.float32)]


def result_of(what: str, folder: Path, backend: Any) -> opcheck.Result:
    nodes, _ = ROUNDINGS[what]
    proto = parse_model(
        '<ir_version: 10, opset_import: ["": 21]>'
        "net (float[8, 32] x) => (float[8, 32] y)"
        "<float low = {-8}, float high = {8}, float sixteen = {16}, float three = {3},"
        " float one = {1}, float two = {2}, int8 zero = {0}>"
        "{ t = Mul (x, two) r = Round (t) c = Clip (r, low, high) h = Div (c, two)"
        f" w = Add (h, sixteen) a = Div (w, three) b = Mul (a, three) {nodes} }}"
    )
    onnx.save(proto, folder / "net.onnx")
    (result,) = opcheck.run(opcheck.load(folder / "net.onnx"), [backend])
    return result


@pytest.mark.parametrize("what", ROUNDINGS)
@pytest.mark.parametrize("towards", [-np.inf, np.inf])
def test_a_tie_may_be_rounded_either_way(what: str, towards: float, tmp_path: Path) -> None:
    _, rounding = ROUNDINGS[what]
    backend = Rounds(rounding, nudge=lambda b: np.nextafter(b, np.float32(towards)))
    assert result_of(what, tmp_path, backend).verdict is Verdict.PASS


@pytest.mark.parametrize("what", ROUNDINGS)
def test_a_step_more_elsewhere_is_wrong(what: str, tmp_path: Path) -> None:
    def a_step_more(y: Any) -> Any:
        return np.where(y == 14, 16, y)

    _, rounding = ROUNDINGS[what]
    assert result_of(what, tmp_path, Rounds(rounding, mistake=a_step_more)).failed


@pytest.mark.parametrize("what", ROUNDINGS)
def test_leaving_the_rounding_out_is_wrong(what: str, tmp_path: Path) -> None:
    assert result_of(what, tmp_path, Rounds(lambda b: b)).failed
