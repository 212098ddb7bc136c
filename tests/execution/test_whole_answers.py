"""Answers of models so deep that no bound says anything, and of models in several types."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx.numpy_helper import from_array
from onnx.parser import parse_model

import opcheck
from opcheck.model import Verdict

HEAD = '<ir_version: 8, opset_import: ["" : 17, "own" : 1]>'
DEEP = (
    "".join(f"a{n} = MatMul (h{n}, w) h{n + 1} = Tanh (a{n}) " for n in range(40))
    + "h = Identity (h40) "
)


@dataclass
class Engine:
    """ONNX Runtime, whose answers to the first data and to others `change`.

    It takes no model with types that contradict each other if it is `strict`. The first data may be
    known by what they are.
    """

    change: Callable[[Any], Any] = lambda y: y
    later: Callable[[Any], Any] = lambda y: y
    strict: bool = False
    known: Callable[[Any], bool] | None = None

    def prepare(self, task: Any) -> Any:
        if self.strict:
            onnx.checker.check_model(task.model, full_check=True)
        return Prepared(self, onnxruntime.InferenceSession(task.model), task)


class Prepared:
    def __init__(self, engine: Engine, session: Any, task: Any) -> None:
        self.engine, self.session, self.task, self.first = engine, session, task, None

    def run(self, inputs: Sequence[Any]) -> list[Any]:
        *others, y = self.session.run(None, self.task.feed(inputs))
        self.first = [inputs, y] if self.first is None else self.first
        is_first = all(map(np.array_equal, inputs, self.first[0]))
        if self.engine.known:
            is_first = self.engine.known(inputs[0])
        return [*others, self.engine.change(y) if is_first else self.engine.later(y)]


def judged(
    folder,
    ends,
    change=None,
    *,
    later=None,
    x="float[8, 16]",
    y="float[8, 16]",
    body=DEEP,
    w=np.float32,
    declared="",
    more="",
    strict=False,
    known=None,
):
    """The result of a model `body`, which ends in the nodes `ends`, on inputs h0."""
    proto = parse_model(f"{HEAD} net ({x} h0) => ({y} y) {declared} {{ {body} {ends} }} {more}")
    weights = np.random.default_rng(0).normal(0, 0.35, (16, 16)).astype(w)
    proto.graph.initializer.append(from_array(weights, "w"))
    onnx.save(proto, folder / "net.onnx")
    same = lambda y: y  # noqa: E731
    engine: Any = Engine(change or same, later or change or same, strict, known)
    (result,) = opcheck.run(opcheck.load(folder / "net.onnx"), [engine])
    return result


def put(place, value):
    """A change of what stands at one place, or of all in a slice."""

    def change(y):
        y = y.copy()
        y[place] = value(y[place])
        return y

    return change


def times(factor):
    return lambda y: y * np.float32(factor)


@pytest.mark.parametrize(
    ("ends", "change", "reason"),
    [
        ("y = Relu (h)", lambda y: np.where(y == 0, np.float32(-0.3), y), "scatter"),
        ("y = Relu (h)", lambda y: np.where(y == 0, np.float32(1e6), y), "scatter"),
        ("y = Identity (h)", put((0, 5), lambda one: one + np.float32(0.01)), "in few elements"),
        ("y = Identity (h)", put((0, 5), lambda one: np.nan), "scatter"),
        ("y = Identity (h)", put((0, 5), lambda one: np.inf), "scatter"),
        ("y = Sign (h)", lambda y: -y, ""),
    ],
)
def test_what_the_bound_leaves_open_is_judged_by_scatter(ends, change, reason, tmp_path):
    assert judged(tmp_path, ends).verdict is Verdict.PASS
    result = judged(tmp_path, ends, change)
    assert result.verdict is Verdict.FAIL
    assert reason in result.reason


def test_a_model_has_the_errors_of_the_type_that_it_computes_in(tmp_path):
    double = {"x": "double[8, 16]", "w": np.float64, "y": "double[8, 16]"}
    narrow = lambda y: y.astype(np.float32).astype(np.float64)  # noqa: E731
    product = "a = MatMul (h0, w) "
    assert judged(tmp_path, "y = Tanh (a)", narrow, body=product, **double).failed
    assert not judged(tmp_path, "y = Tanh (a)", body=product, **double).failed
    cast = "c = Cast <to: int = 1> (h0) a = MatMul (c, w) "
    assert not judged(tmp_path, "y = Tanh (a)", body=cast, x="double[8, 16]").failed
    rows = "a = Gather (w, h0) "
    ids = {**double, "x": "int64[8]"}
    assert judged(tmp_path, "y = Tanh (a)", narrow, body=rows, **ids).failed
    assert not judged(tmp_path, "y = Tanh (a)", body=rows, **ids).failed


def test_a_model_may_add_up_rows_without_elements(tmp_path):
    model = parse_model("""<ir_version: 8, opset_import: ["": 18]>
    net (float[3, 0] rows, float[4] x) => (float[4] y) {
        axes = Constant <value = int64[1] {0}> ()
        sums = ReduceSum <keepdims = 0> (rows, axes)
        e = Exp(x)
        y = Concat <axis = 0> (sums, e)
    }""")
    path = tmp_path / "model.onnx"
    onnx.save(model, path)
    (found,) = opcheck.run(opcheck.load(path), ["reference"])
    assert found.verdict is Verdict.PASS


def test_a_narrow_type_excuses_no_other_answer(tmp_path):
    half = {"x": "float16[8, 16]", "w": np.float16, "y": "float16[8, 16]"}
    body = "a = MatMul (h0, w) b = Relu (a) c = MatMul (b, w) "
    assert not judged(tmp_path, "y = Softmax (c)", body=body, **half).failed
    assert judged(tmp_path, "y = Softmax (c)", lambda y: y * 0, body=body, **half).failed


#: The sign of the first number minus the last one of the first data, which a seed makes up.
WRONG_FIRST = 1


@pytest.mark.parametrize("sign", [1, -1])
def test_what_is_wrong_on_other_data_is_wrong_though_it_is_so_whenever_it_is_asked(sign, tmp_path):
    known = lambda x: sign * (x.flat[0] - x.flat[-1]) > 0  # noqa: E731
    three = lambda y: y * 3  # noqa: E731
    result = judged(tmp_path, "y = Identity (h)", three, later=lambda y: y, known=known)
    assert result.verdict is Verdict.FAIL
    assert result.failure == ("values" if sign == WRONG_FIRST else "other_data")


@dataclass
class Wavering:
    """ONNX Runtime, whose answers change by factors, one a run."""

    factors: Sequence[float]
    runs: int = 0

    def prepare(self, task: Any) -> Any:
        session = onnxruntime.InferenceSession(task.model)
        self.names = [one.name for one in task.inputs]
        self.run_session = session.run
        return self

    def run(self, inputs: Sequence[Any]) -> list[Any]:
        factor = self.factors[min(self.runs, len(self.factors) - 1)]
        self.runs += 1
        (y,) = self.run_session(None, dict(zip(self.names, inputs, strict=True)))
        return [y * np.float32(factor)]


def wavering(folder, *factors, repeat=1):
    text = f"net (float[8, 16] h0) => (float[8, 16] y) {{ {DEEP} y = Identity (h) }}"
    proto = parse_model(f"{HEAD} {text}")
    weights = np.random.default_rng(0).normal(0, 0.35, (16, 16)).astype(np.float32)
    proto.graph.initializer.append(from_array(weights, "w"))
    onnx.save(proto, folder / "net.onnx")
    cases = opcheck.load(folder / "net.onnx")
    (result,) = opcheck.run(cases, [Wavering(factors)], repeat=repeat)
    return result


@pytest.mark.parametrize(
    ("factors", "verdict", "failure"),
    [
        ((1, 1, 1), Verdict.PASS, None),
        # The errors of a few roundings more are those of another order of sums.
        ((1, 1, 1 + 2e-6), Verdict.PASS, None),
        ((1.001, 1.001, 1.0011), Verdict.WARN, "precision"),
        # Each is right for some arithmetic, but no arithmetic gives both.
        ((1, 1, 1.001), Verdict.UNSTABLE, "unstable"),
        ((1.001, 1, 1), Verdict.UNSTABLE, "unstable"),
        # On other data the second run, and a first run of a fresh process.
        ((1, 1.001, 1), Verdict.UNSTABLE, "unstable"),
        ((1, 1.001, 1, 1.001), Verdict.WARN, "precision"),
        ((1, 3, 1, 3), Verdict.FAIL, "other_data"),
    ],
)
def test_two_answers_to_the_same_data_come_of_one_arithmetic(tmp_path, factors, verdict, failure):
    result = wavering(tmp_path, *factors)
    assert (result.verdict, result.failure) == (verdict, failure)


def test_so_do_those_of_repeated_questions(tmp_path):
    factors = (1, 1, 1, 1.001, 1.001, 1.001)
    assert wavering(tmp_path, *factors, repeat=2).verdict is Verdict.UNSTABLE
    assert wavering(tmp_path, 1.001, 1.001, 1.001, 1.0011, repeat=2).verdict is Verdict.WARN


@pytest.mark.parametrize("beside", ["Mul (h, k)", "Sub (h, k)"])
def test_numbers_beside_much_larger_ones_are_judged_by_their_own_size(beside, tmp_path):
    body = DEEP + "k = Constant <value = float {1e9}> () "
    given = {"body": body, "y": "float[8, 32]"}
    ends = f"b = {beside} y = Concat <axis: int = 1> (b, h)"
    assert judged(tmp_path, ends, **given).verdict is Verdict.PASS
    zeros = put(np.s_[:, 16:], np.zeros_like)
    assert judged(tmp_path, ends, zeros, **given).verdict is Verdict.FAIL


SHARP = "k = Constant <value = float {40.0}> () " + "".join(
    f"a{n} = MatMul (h{n}, w) s{n} = Mul (a{n}, k) p{n} = Softmax <axis = -1> (s{n})"
    f" h{n + 1} = MatMul (p{n}, w) "
    for n in range(5)
)


@pytest.mark.parametrize(
    ("ends", "y"),
    [
        ("c = Sub (h, h40) y = Greater (h, c)", "bool[8, 16]"),
        ("y = ArgMax <axis: int = 1, keepdims: int = 0> (h)", "int64[8]"),
        ("s = Mul (h, k) t = Mul (s, k) y = Cast <to: int = 7> (t)", "int64[8, 16]"),
        ("t = Mul (h40, k) p = Softmax (t) y = Log (p)", "float[8, 16]"),
        ("t = Mul (h40, k) u = Mul (t, k) y = Sin (u)", "float[8, 16]"),
    ],
)
def test_what_nothing_is_known_of_is_not_judged(ends, y, tmp_path, wording):
    body = DEEP + "k = Constant <value = float {3000.0}> () "
    other = {"b": np.invert, "i": np.zeros_like, "f": lambda y: y + 1}
    for change in (None, lambda y: other[y.dtype.kind](y)):
        result = judged(tmp_path, ends, change, y=y, body=body)
        assert (result.verdict, result.beyond) == (Verdict.UNSUPPORTED, True)
        assert result.reason == wording


def test_what_is_off_on_other_data_alone_is_warned_of(tmp_path, wording):
    known = lambda x: WRONG_FIRST * (x.flat[0] - x.flat[-1]) > 0  # noqa: E731
    result = judged(tmp_path, "y = Identity (h)", later=times(1.001), known=known)
    assert result.verdict is Verdict.WARN
    assert result.reason == wording


def test_an_output_of_another_type_than_declared_makes_no_model(tmp_path, wording):
    result = judged(tmp_path, "y = Relu (h)", y="double[8, 16]")
    assert result.verdict is Verdict.BAD_CASE
    assert result.reason == wording


def test_nobody_need_take_a_model_whose_types_contradict_each_other(tmp_path, wording):
    given = {"body": "a = MatMul (h0, w) ", "declared": "<float[9, 16] a>"}
    strict = judged(tmp_path, "y = Relu (a)", strict=True, **given)
    assert (strict.verdict, strict.failed) == (Verdict.UNSUPPORTED, False)
    assert strict.reason == wording
    assert judged(tmp_path, "y = Relu (a)", **given).verdict is Verdict.PASS
    assert judged(tmp_path, "y = Relu (a)", lambda y: y + 1, strict=False, **given).failed


def test_nobody_need_take_a_model_with_one_name_for_two_nodes(tmp_path, wording):
    text = "net (float[4] x) => (float[4] y) { [one] a = Neg (x) [one] y = Relu (a) }"
    onnx.save(parse_model(f"{HEAD} {text}"), tmp_path / "net.onnx")
    (found,) = opcheck.run(opcheck.load(tmp_path / "net.onnx"), ["onnxruntime"])
    assert (found.verdict, found.failed) == (Verdict.UNSUPPORTED, False)
    assert found.reason == wording


def test_functions_named_as_operators_are_what_a_backend_takes_them_for(tmp_path):
    body = '<opset_import: ["" : 17]> {} (x) => (y) {{ y = Neg (x) }}'
    for domain, name, verdict in (("", "Relu", "UNSUPPORTED"), ("own", "Relu", "PASS")):
        function = body.replace("<", f'<domain: "{domain}", ').format(name)
        call = f"y = {domain}.Relu (a)".replace(" .", " ")
        given = {"body": "a = MatMul (h0, w) ", "more": function}
        result = judged(tmp_path, call, **given)
        assert result.verdict is Verdict[verdict], result.reason


MASKED = (
    "s = Shape (h0) o = ConstantOfShape <value = float[1] {1.0}> (s) t = Trilu <upper = 0> (o)"
    " b = Cast <to = 9> (t) m = Where (b, h0, k) a = MatMul (m, w) "
)
PADDED = "p = Constant <value = int64[4] {0, 0, 0, 0}> () q = Pad (h0, p, k) a = MatMul (q, w) "


MINUS_3 = "k = Constant <value = float {-3.0}> () "
#: The nodes of a model's end, what else it has, the answers to the first data and to others, and
#: the verdict on these.
ANSWERS: dict[str, tuple[str, dict[str, Any], list[tuple[Any, Any, str]]]] = {
    **{
        f"steps of {step} accuse nobody": (
            f"f = {step} (s) y = Neg (f)",
            {"body": f"{DEEP} k = Constant <value = float {{8.0}}> () s = Mul (h, k) "},
            [(None, None, "PASS")],
        )
        for step in ("Floor", "Round", "Ceil")
    },
    "the largest ones accuse nobody": (
        "k = Constant <value = int64[1] {4}> () y, i = TopK (h, k)",
        {"y": "float[8, 4]"},
        [(None, None, "PASS")],
    ),
    "errors of a share cancel where it is nearly all of the sum": (
        "y = Identity (h5)",
        {"body": SHARP},
        [(None, None, "PASS"), (np.negative, None, "FAIL")],
    ),
    "what the bound leaves open fails though it is the lesser part": (
        "y = Concat <axis: int = 1> (h0, h0, h)",
        {"y": "float[8, 48]"},
        [(None, None, "PASS"), (put(np.s_[:, 32:], np.zeros_like), None, "FAIL")],
    ),
    **{
        f"what narrower numbers leave open is judged {number}": (
            "y = Tanh (a)",
            {"body": MINUS_3 + body},
            [(None, None, "PASS"), (times(1.01), None, "FAIL")],
        )
        for number, body in enumerate((MASKED, PADDED))
    },
    "an axis that is computed of floats is not judged": (
        "y = ReduceSum (h0, i)",
        {
            "y": "float[8, 1]",
            "body": "k = Constant <value = float[1] {1.1}> () m = Mul (k, k)"
            " i = Cast <to = 7> (m) ",
        },
        [(None, None, "UNSUPPORTED")],
    ),
    "answers to other data are judged, also where the first is only off": (
        "y = Identity (h)",
        {},
        [
            (None, times(1.5), "UNSTABLE"),
            (None, times(0), "UNSTABLE"),
            (times(1.001), None, "WARN"),
            (times(1.001), times(3), "UNSTABLE"),
        ],
    ),
    "tokens come in another order in the second run": (
        "y = Tanh (a)",
        {"body": "a = Gather (w, h0) ", "x": "int64[8]"},
        [(None, None, "PASS"), (None, times(3), "UNSTABLE")],
    ),
    "an output that nobody knows hides nothing of another": (
        "c = Sub (h, h40) z = ArgMax <axis = 1> (c) y = Identity (h)",
        {"y": "int64[8, 1] z, float[8, 16]"},
        [(None, None, "UNSUPPORTED"), (times(1.001), None, "WARN"), (None, times(3), "UNSTABLE")],
    ),
}


@pytest.mark.parametrize("what", ANSWERS)
def test_answers_are_judged_as_far_as_anything_is_known(what, tmp_path):
    ends, given, judgements = ANSWERS[what]
    for change, later, verdict in judgements:
        assert judged(tmp_path, ends, change, later=later, **given).verdict is Verdict[verdict]


def test_a_crash_is_a_verdict_though_nobody_knows_the_answer(tmp_path, monkeypatch):
    text = """net (float[8, 16] x) => (float[8, 1] y) {
        k = Constant <value = float[1] {1.1}> () m = Mul (k, k) i = Cast <to = 7> (m)
        y = ReduceSum (x, i) }"""
    onnx.save(parse_model(f"{HEAD} {text}"), tmp_path / "net.onnx")
    (tmp_path / "dies.py").write_text("import os\ndef prepare(task):\n    os.abort()\n")
    monkeypatch.chdir(tmp_path)
    (found,) = opcheck.run(opcheck.load(tmp_path / "net.onnx"), ["py:dies"])
    assert (found.verdict, found.failed) == (Verdict.CRASH, True)
