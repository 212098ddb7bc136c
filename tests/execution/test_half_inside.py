"""Models of float32 that compute in float16 inside, evaluated by honest float16 arithmetic.

Each model casts its input to float16, computes one or two nodes there, and casts back. A backend
that rounds every step to float16 is not wrong, though float32's own bounds are far below that. One
that scales the answer by 1.02, or loses a part of it, is.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx.numpy_helper import from_array
from onnx.parser import parse_model

import opcheck
from opcheck.engine import Expected
from opcheck.model import OpVersion, Task, Verdict
from tests.computed import exactly
from tests.expecting import of_type

Half = NDArray[np.float16]
Formula = Callable[[Half, Half, Half], Half]
ROWS, WIDTH = 8, 32
HALF = np.float16


def erf(x: Half) -> Half:
    return np.array([math.erf(float(one)) for one in x.ravel()], HALF).reshape(x.shape)


def product(x: Half, w: Half) -> Half:
    """The products are exact in float32, and so are most of their sums; they are rounded once."""
    return (x.astype(np.float32) @ w.astype(np.float32)).astype(HALF)


def mean(x: Half) -> Half:
    return np.mean(x, axis=-1, keepdims=True, dtype=np.float32).astype(HALF)


def softmax(x: Half) -> Half:
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def log_softmax(x: Half) -> Half:
    shifted = x - x.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


def normalized(x: Half) -> Half:
    centered = x - mean(x)
    return centered / np.sqrt(mean(centered * centered) + HALF(1e-5))


def sigmoid(x: Half) -> Half:
    return HALF(1) / (HALF(1) + np.exp(-x))


def average_pool(x: Half) -> Half:
    pairs = x.reshape(ROWS, 1, WIDTH // 2, 2)
    return ((pairs[..., 0] + pairs[..., 1]) / HALF(2)).reshape(ROWS, WIDTH // 2)


@dataclass(frozen=True)
class Inside:
    """Nodes from c to r, in the syntax of ONNX's parser, and what they compute in float16."""

    nodes: str
    formula: Formula


#: Constants of the models: w is a matrix, b a vector of their width.
MODELS = {
    "MatMul": Inside("r = MatMul (c, w)", lambda c, w, b: product(c, w)),
    "Gemm": Inside("r = Gemm (c, w, b)", lambda c, w, b: product(c, w) + b),
    "MatMul, Add, Relu": Inside(
        "m = MatMul (c, w) a = Add (m, b) r = Relu (a)",
        lambda c, w, b: np.maximum(product(c, w) + b, HALF(0)),
    ),
    "MatMul, Softmax": Inside(
        "m = MatMul (c, w) r = Softmax (m)", lambda c, w, b: softmax(product(c, w))
    ),
    "Softmax": Inside("r = Softmax (c)", lambda c, w, b: softmax(c)),
    "LogSoftmax": Inside("r = LogSoftmax (c)", lambda c, w, b: log_softmax(c)),
    "LayerNormalization": Inside(
        "r = LayerNormalization (c, b, b)", lambda c, w, b: normalized(c) * b + b
    ),
    "MatMul, LayerNormalization": Inside(
        "m = MatMul (c, w) r = LayerNormalization (m, b, b)",
        lambda c, w, b: normalized(product(c, w)) * b + b,
    ),
    "Exp": Inside("r = Exp (c)", lambda c, w, b: np.exp(c)),
    "Log of Exp": Inside("e = Exp (c) r = Log (e)", lambda c, w, b: np.log(np.exp(c))),
    "Tanh": Inside("r = Tanh (c)", lambda c, w, b: np.tanh(c)),
    "Sigmoid": Inside("r = Sigmoid (c)", lambda c, w, b: sigmoid(c)),
    "Erf": Inside("r = Erf (c)", lambda c, w, b: erf(c)),
    "Gelu": Inside(
        "r = Gelu (c)",
        lambda c, w, b: HALF(0.5) * c * (HALF(1) + erf(c / HALF(math.sqrt(2)))),
    ),
    "Add": Inside("r = Add (c, b)", lambda c, w, b: c + b),
    "Mul": Inside("r = Mul (c, b)", lambda c, w, b: c * b),
    "Div": Inside("r = Div (c, b)", lambda c, w, b: c / b),
    "Sqrt of Abs": Inside("a = Abs (c) r = Sqrt (a)", lambda c, w, b: np.sqrt(np.abs(c))),
    "Pow": Inside("a = Abs (c) r = Pow (a, b)", lambda c, w, b: np.power(np.abs(c), b)),
    "ReduceMean": Inside(
        "m = ReduceMean <axes = [1]> (c) r = Add (m, b)", lambda c, w, b: mean(c) + b
    ),
    "ReduceSum": Inside(
        "a = ReduceSum (c, axes) r = Add (a, b)",
        lambda c, w, b: c.sum(axis=-1, keepdims=True) + b,
    ),
    "ReduceL2": Inside(
        "a = ReduceL2 <axes = [1]> (c) r = Add (a, b)",
        lambda c, w, b: np.sqrt((c * c).sum(axis=-1, keepdims=True)) + b,
    ),
    "AveragePool": Inside(
        "i = Reshape (c, image) p = AveragePool <kernel_shape = [1, 2], strides = [1, 2]> (i)"
        " r = Reshape (p, rows)",
        lambda c, w, b: average_pool(c),
    ),
}


def model_of(nodes: str) -> onnx.ModelProto:
    """The model of float32 around nodes that compute in float16."""
    opset = 20 if "Gelu" in nodes else 17
    proto = parse_model(
        f'<ir_version: 8, opset_import: ["": {opset}]>'
        f"net (float[{ROWS}, {WIDTH}] x) => (float[N, M] y)"
        f"{{ c = Cast <to = 10> (x) {nodes} y = Cast <to = 1> (r) }}"
    )
    w, b = constants()
    arrays = {"w": w, "b": b, "axes": np.array([1]), "image": np.array([ROWS, 1, 1, WIDTH])}
    arrays["rows"] = np.array([ROWS, WIDTH // 2])
    proto.graph.initializer.extend(
        from_array(array, name) for name, array in arrays.items() if name in nodes
    )
    return proto


def constants() -> tuple[Half, Half]:
    drawn = np.random.default_rng(0)
    w = drawn.normal(0, 0.3, (WIDTH, WIDTH))
    b = drawn.uniform(0.5, 1.5, WIDTH)
    return w.astype(HALF), b.astype(HALF)


@dataclass
class HalfInside:
    """A backend that rounds every step to float16, and then makes a mistake, if any."""

    formula: Formula
    mistake: Callable[[Any], Any] = lambda y: y

    def prepare(self, task: Task) -> "HalfInside":
        return self

    def run(self, inputs: Sequence[Any]) -> list[Any]:
        y = self.formula(inputs[0].astype(HALF), *constants())
        assert y.dtype == HALF
        return [self.mistake(y.astype(np.float32)).astype(np.float32)]


def result_of(what: str, folder: Path, backend: Any) -> opcheck.Result:
    file = folder / "net.onnx"
    onnx.save(model_of(MODELS[what].nodes), file)
    (result,) = opcheck.run(opcheck.load(file), [backend])
    return result


@cache
def kept_in_float16() -> str:
    """Return the remark of an answer that is right if every result is kept in float16."""
    (exact,) = exactly(OpVersion("", "Softmax", 13), [np.zeros((1, 2), HALF)], {})
    (remark,) = {tier.remark for tier in of_type(Expected, exact).tiers() if "stored" in tier.name}
    return remark


@pytest.mark.parametrize("what", MODELS)
def test_honest_arithmetic_is_right(what: str, tmp_path: Path) -> None:
    """As of one node of float16, it may be that every result is kept in float16."""
    result = result_of(what, tmp_path, HalfInside(MODELS[what].formula))
    assert not result.failed, result
    assert result.verdict is Verdict.PASS or kept_in_float16() in result.reason


@pytest.mark.parametrize("what", MODELS)
def test_a_scaled_answer_is_wrong(what: str, tmp_path: Path) -> None:
    scaled = HalfInside(MODELS[what].formula, lambda y: y * 1.02)
    assert result_of(what, tmp_path, scaled).failed


@pytest.mark.parametrize("what", MODELS)
def test_an_answer_without_one_row_is_wrong(what: str, tmp_path: Path) -> None:
    def without_the_last(y: Any) -> Any:
        return np.vstack([y[:-1], np.zeros_like(y[-1:])])

    backend = HalfInside(MODELS[what].formula, without_the_last)
    assert result_of(what, tmp_path, backend).failed


def test_what_a_model_computes_in_float32_is_judged_by_that(tmp_path: Path) -> None:
    class RoundsAll:
        """A backend that keeps the float32 part of the model in float16 too."""

        def prepare(self, task: Task) -> "RoundsAll":
            return self

        def run(self, inputs: Sequence[Any]) -> list[Any]:
            wave = np.tanh(inputs[0].astype(HALF)).astype(np.float32)
            return [np.exp(inputs[0].astype(HALF)).astype(np.float32), wave]

    proto = model_of("r = Exp (c) z = Tanh (x)")
    proto.graph.output.append(onnx.helper.make_tensor_value_info("z", 1, [ROWS, WIDTH]))
    onnx.save(proto, tmp_path / "net.onnx")
    (result,) = opcheck.run(opcheck.load(tmp_path / "net.onnx"), [RoundsAll()])
    y, z = result.comparisons
    assert y.problem is None
    assert z.problem == "values"
