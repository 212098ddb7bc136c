"""Models of float32 with a Cast to 16 bits inside, whose rounding the answer shows.

Each is computed in NumPy as its text says, and once more without the Cast. The text of Cast rounds
to nearest even, gives an infinity for what is out of range, and a subnormal number or 0 for what is
small. So the first answer is right; the second one is not, and never passes.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx.numpy_helper import from_array
from onnx.parser import parse_model

import opcheck
from opcheck.model import Task, Verdict

Single = NDArray[np.float32]
#: Rounds to a type of 16 bits and back, or does nothing.
Rounding = Callable[[Single], Single]
ROWS, WIDTH = 8, 32
THOUSAND = np.float32(1_000)
MANY = np.float32(100_000)
FEW = np.float32(1e-6)
CONSTANTS = {"thousand": THOUSAND, "many": MANY, "few": FEW, "half": np.float16(1)}


def through_float16(x: Single) -> Single:
    return x.astype(np.float16).astype(np.float32)


def through_bfloat16(x: Single) -> Single:
    return x.astype(ml_dtypes.bfloat16).astype(np.float32)


def as_it_is(x: Single) -> Single:
    return x


@dataclass(frozen=True)
class Model:
    """Nodes in the syntax of ONNX's parser, and what they compute around a rounding."""

    nodes: str
    formula: Callable[[Single, Rounding], Single]
    rounding: Rounding = through_float16
    #: The verdict without the Cast: an infinity that is missing is wrong, a rounding is warned of.
    without: Verdict = Verdict.WARN


OVERFLOW = "m = Mul (x, many) h = Cast <to = 10> (m) g = Cast <to = 1> (h) "
MODELS = {
    "overflow": Model(
        OVERFLOW + "y = Div (g, many)",
        lambda x, rounded: rounded(x * MANY) / MANY,
        without=Verdict.FAIL,
    ),
    "overflow, then its inverse": Model(
        OVERFLOW + "y = Reciprocal (g)",
        lambda x, rounded: 1 / rounded(x * MANY),
        without=Verdict.FAIL,
    ),
    "overflow, then tanh": Model(
        OVERFLOW + "d = Div (g, many) y = Tanh (d)",
        lambda x, rounded: np.tanh(rounded(x * MANY) / MANY),
        without=Verdict.FAIL,
    ),
    "overflow by CastLike": Model(
        "m = Mul (x, many) h = CastLike (m, half) g = Cast <to = 1> (h) y = Div (g, many)",
        lambda x, rounded: rounded(x * MANY) / MANY,
        without=Verdict.FAIL,
    ),
    "underflow": Model(
        "m = Mul (x, few) h = Cast <to = 10> (m) g = Cast <to = 1> (h) y = Div (g, few)",
        lambda x, rounded: rounded(x * FEW) / FEW,
    ),
    "underflow to 0": Model(
        "m = Mul (x, few) n = Mul (m, few) h = Cast <to = 10> (n) g = Cast <to = 1> (h)"
        " d = Div (g, few) e = Div (d, few) y = Add (e, x)",
        lambda x, rounded: rounded(x * FEW * FEW) / FEW / FEW + x,
    ),
    "digits lost by float16": Model(
        "a = Add (x, thousand) h = Cast <to = 10> (a) g = Cast <to = 1> (h)"
        " s = Sub (g, thousand) y = Mul (s, thousand)",
        lambda x, rounded: (rounded(x + THOUSAND) - THOUSAND) * THOUSAND,
    ),
    "digits lost by bfloat16": Model(
        "a = Add (x, thousand) h = Cast <to = 16> (a) g = Cast <to = 1> (h)"
        " s = Sub (g, thousand) y = Mul (s, thousand)",
        lambda x, rounded: (rounded(x + THOUSAND) - THOUSAND) * THOUSAND,
        through_bfloat16,
    ),
    "a rounding to float16": Model(
        "e = Exp (x) h = Cast <to = 10> (e) y = Cast <to = 1> (h)",
        lambda x, rounded: rounded(np.exp(x)),
    ),
    "a rounding to bfloat16": Model(
        "e = Exp (x) h = Cast <to = 16> (e) y = Cast <to = 1> (h)",
        lambda x, rounded: rounded(np.exp(x)),
        through_bfloat16,
    ),
    "within a branch": Model(
        "c = Constant <value = bool {1}> () y = If (c) <"
        "then_branch = t () => (float[8, 32] u)"
        " { m = Mul (x, many) h = Cast <to = 10> (m) u = Cast <to = 1> (h) },"
        "else_branch = f () => (float[8, 32] v) { v = Identity (x) }>",
        lambda x, rounded: rounded(x * MANY),
        without=Verdict.FAIL,
    ),
    "of an input": Model(
        "h = Cast <to = 10> (x) y = Cast <to = 1> (h)",
        lambda x, rounded: rounded(x),
        without=Verdict.FAIL,
    ),
    "to an integer": Model(
        "m = Mul (x, thousand) h = Cast <to = 6> (m) y = Cast <to = 1> (h)",
        lambda x, rounded: rounded(x * THOUSAND),
        lambda x: x.astype(np.int32).astype(np.float32),
        without=Verdict.FAIL,
    ),
}


def model_of(nodes: str) -> onnx.ModelProto:
    proto = parse_model(
        '<ir_version: 9, opset_import: ["": 19]>'
        f"net (float[{ROWS}, {WIDTH}] x) => (float[{ROWS}, {WIDTH}] y) {{ {nodes} }}"
    )
    proto.graph.initializer.extend(
        from_array(np.asarray(value), name) for name, value in CONSTANTS.items() if name in nodes
    )
    return proto


@dataclass
class Computes:
    """A backend that computes a model's formula with this rounding, and makes a mistake, if any."""

    model: Model
    rounding: Rounding
    mistake: Callable[[Single], Single] = as_it_is

    def prepare(self, task: Task) -> "Computes":
        return self

    def run(self, inputs: Sequence[Any]) -> list[Single]:
        with np.errstate(all="ignore"):
            y = self.mistake(self.model.formula(inputs[0], self.rounding))
        assert y.dtype == np.float32
        return [y]


def result_of(name: str, folder: Path, backend: Computes) -> opcheck.Result:
    onnx.save(model_of(MODELS[name].nodes), folder / "net.onnx")
    (result,) = opcheck.run(opcheck.load(folder / "net.onnx"), [backend])
    return result


@pytest.mark.parametrize("name", MODELS)
def test_an_honest_cast_is_right(name: str, tmp_path: Path) -> None:
    model = MODELS[name]
    result = result_of(name, tmp_path, Computes(model, model.rounding))
    assert result.verdict is Verdict.PASS, result
    assert result.comparisons[0].unjudged == 0


@pytest.mark.parametrize("name", MODELS)
def test_a_model_without_its_cast_does_not_pass(name: str, tmp_path: Path) -> None:
    result = result_of(name, tmp_path, Computes(MODELS[name], as_it_is))
    assert result.verdict is MODELS[name].without, result
    if result.verdict is Verdict.WARN:
        assert result.comparisons[0].tier == "float32 without casts"


@pytest.mark.parametrize("name", MODELS)
def test_a_scaled_answer_does_not_pass(name: str, tmp_path: Path) -> None:
    """Where a Cast loses most digits, it hides that, and the warning is of a Cast left out."""
    model = MODELS[name]
    scaled = Computes(model, model.rounding, lambda y: y * np.float32(1.02))
    assert result_of(name, tmp_path, scaled).verdict is not Verdict.PASS
