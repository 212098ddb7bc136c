"""Models on backends, through processes of their own where that is what matters."""

import re
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from onnx.parser import parse_model

import opcheck
from opcheck import budget
from opcheck.backends import connect
from opcheck.backends.connect import of_object
from opcheck.backends.isolation.cleanup import guarded_folder
from opcheck.backends.isolation.pool import Pool
from opcheck.backends.isolation.process import BackendSettings
from opcheck.dtypes import DTYPES, of
from opcheck.errors import Exit, UsageError
from opcheck.model import GRAPH, Verdict
from opcheck.suite import load_all
from tests.inline import Inline, diagnosed, judge_all, judged
from tests.miniatures import answering, in_turn, refusing
from tests.models import X, model, relu, sequence_of, tensor, typed, write

Y = np.maximum(X, 0)


def case_of(folder, proto, inputs, outputs):
    (case,) = load_all([write(folder / "test_a", proto, inputs, outputs)])
    return case


def verdict(case, backend):
    (result,) = judged([case], [backend])
    return result.verdict, result.reason


def test_what_a_model_must_give_is_what_is_judged(tmp_path, wording):
    case = case_of(tmp_path, relu(), [X], [Y])
    assert verdict(case, answering(lambda inputs: [np.maximum(inputs[0], 0)]))[0] is Verdict.PASS
    assert verdict(case, answering(lambda inputs: [inputs[0]])) == (
        Verdict.FAIL,
        wording,
    )
    assert verdict(case, in_turn([Y], [Y], [Y + 1]))[0] is Verdict.UNSTABLE


def test_what_no_text_defines_may_be_another_number_than_in_the_test_data(tmp_path):
    x = np.array([[-1.5, 2.5, 300]], np.float32)
    y = np.array([[-1, 2, 44]], np.int8)
    cast = helper.make_node("Cast", ["x"], ["y"], to=onnx.TensorProto.INT8)
    of_int8 = tensor("y", onnx.TensorProto.INT8)
    case = case_of(tmp_path, model([cast], [tensor("x")], [of_int8]), [x], [y])

    def given(within: Any, beyond: Any) -> Any:
        """A backend that casts what int8 holds to `within` it, and all else to one number."""

        def cast_to(inputs: Any) -> Any:
            held = np.abs(inputs[0]) < 128
            return [np.where(held, within(np.where(held, inputs[0], 0)), beyond).astype(np.int8)]

        return answering(cast_to)

    assert verdict(case, given(np.trunc, 127))[0] is Verdict.PASS
    assert verdict(case, given(np.floor, 127))[0] is Verdict.FAIL


@pytest.mark.parametrize(
    ("of_nan", "want"), [(0, Verdict.PASS), (np.nan, Verdict.PASS), (1, Verdict.FAIL)]
)
def test_what_a_text_leaves_open_may_be_as_by_another_reading_than_in_the_test_data(
    tmp_path, of_nan, want
):
    x = np.where(X.max() == X, np.nan, X).astype(np.float32)
    case = case_of(tmp_path, relu(), [x], [np.maximum(x, 0)])

    def of_zero_and_nan(inputs: Any) -> Any:
        return [np.where(np.isnan(inputs[0]), of_nan, np.maximum(inputs[0], 0)).astype(np.float32)]

    assert verdict(case, answering(of_zero_and_nan))[0] is want


def test_of_random_values_no_run_need_repeat_another(tmp_path, wording):
    nodes = helper.make_node("Bernoulli", ["x"], ["a"]), helper.make_node("Neg", ["a"], ["y"])
    case = case_of(tmp_path, model([*nodes], [tensor("x")], [tensor("y")]), [Y], [Y])
    found, told = verdict(case, in_turn([Y], [Y + 1], [Y + 2]))
    assert found is Verdict.PASS
    assert told == wording
    assert verdict(case, in_turn([Y], [Y], [Y.astype(np.float64)]))[0] is Verdict.UNSTABLE
    assert verdict(case, in_turn([Y[:, 1:]], [Y], [Y]))[0] is Verdict.FAIL
    assert verdict(case, in_turn([Y], [Y]))[0] is Verdict.UNSTABLE  # raises the third time


def test_a_sequence_that_differs_the_third_time_is_unstable(tmp_path):
    proto = model(
        [helper.make_node("SplitToSequence", ["x"], ["s"], axis=1)],
        [tensor("x")],
        [typed("s", sequence_of())],
    )
    parts = np.split(X, 3, axis=1)
    case = case_of(tmp_path, proto, [X], [parts])
    assert verdict(case, in_turn([parts], [parts], [parts]))[0] is Verdict.PASS
    wrong = [parts[0], parts[1], parts[2] + 1]
    assert verdict(case, in_turn([parts], [parts], [wrong]))[0] is Verdict.UNSTABLE
    assert verdict(case, in_turn([wrong], [wrong], [wrong])) == (
        Verdict.FAIL,
        "s[2]: 1 of 1 elements wrong",
    )


def test_what_is_beyond_opcheck_is_asked_of_nobody(tmp_path, wording):
    case = replace(case_of(tmp_path, relu(), [X], [Y]), beyond="map values (input 'x')")
    (result,) = judged([case], [answering(lambda inputs: pytest.fail("it was asked"))])
    assert (result.verdict, result.inexpressible) == (Verdict.UNSUPPORTED, True)
    assert result.beyond
    assert result.reason == wording


def test_the_engine_computes_models_and_says_which_it_does_not(tmp_path, wording):
    engine = connect("numpy")
    single = model([helper.make_node("Hardmax", ["x"], ["y"])], [tensor("x")], [tensor("y")])
    case = case_of(tmp_path / "single", single, [X], [np.array([[0, 0, 1]], np.float32)])
    assert verdict(case, engine)[0] is Verdict.PASS
    # A test that is wrong accuses nobody.
    case = case_of(tmp_path / "wrong", single, [X], [np.array([[1, 0, 0]], np.float32)])
    found, told = verdict(case, answering(lambda inputs: [X]))
    assert found is Verdict.BAD_CASE
    assert told == wording
    nodes = [helper.make_node("Relu", ["x"], ["a"]), helper.make_node("Hardmax", ["a"], ["y"])]
    graph = model(nodes, [tensor("x")], [tensor("y")])
    case = case_of(tmp_path / "graph", graph, [X], [np.array([[0, 0, 1]], np.float32)])
    assert verdict(case, engine)[0] is Verdict.PASS
    graph.graph.node[1].CopyFrom(
        helper.make_node("SVMRegressor", ["a"], ["y"], domain="ai.onnx.ml")
    )
    graph.opset_import.add(domain="ai.onnx.ml", version=1)
    case = case_of(tmp_path / "unknown", graph, [X], [np.array([[0, 0, 1]], np.float32)])
    found, told = verdict(case, engine)
    assert (found, told) == (Verdict.UNSUPPORTED, wording)


@dataclass
class Declaring:
    """A backend that reshapes to (1, 3, 1), and declares this of its output."""

    shape: tuple[int | None, ...]
    __name__: str = "declaring"

    def prepare(self, task: Any) -> Any:
        return self

    def declared(self) -> list[Any]:
        return [("float32", self.shape)]

    def run(self, inputs: Any) -> Any:
        return [np.maximum(inputs[0], 0).reshape(1, 3, 1)]


def contradicting(folder: Path, declared: str) -> Any:
    """A model whose nodes give float32[1, 3, 1], and which declares something else."""
    text = """<ir_version: 8, opset_import: ["" : 17]>
    net (float[1, 3] x) => (float[DECLARED] y) <int64[3] s = {1, 3, 1}, int64 z = {0}> {
      h = Relu (x)
      c = Greater (s, z)
      t = Compress (s, c)
      y = Reshape (h, t)
    }"""
    path = folder / "net.onnx"
    onnx.save(parse_model(text.replace("DECLARED", declared)), path)
    (case,) = load_all([path])
    return case


@pytest.mark.parametrize(
    ("text", "declared"),
    [
        ("1, n", (1, None)),  # its rank is wrong, and the backend repeats it
        ("1, n", None),
        ("1, 4, 1", (1, 4, 1)),
        ("1, 3, n", (1, 3, 1)),
    ],
)
def test_a_wrong_text_of_the_model_that_a_backend_repeats_is_not_its_mistake(
    tmp_path, text, declared
):
    case = contradicting(tmp_path, text)
    (result,) = judge_all([case], [Inline(of_object(Declaring(declared)))])
    assert result.verdict is Verdict.PASS


@pytest.mark.parametrize("declared", [(1, 3), (1, 3, 2), ()])
def test_what_a_backend_declares_itself_must_hold(tmp_path, declared):
    case = contradicting(tmp_path, "1, 3, n")
    (result,) = judge_all([case], [Inline(of_object(Declaring(declared)))])
    assert (result.verdict, result.failure) == (Verdict.FAIL, "declared")


def test_a_model_whose_rank_contradicts_its_nodes_may_be_refused(tmp_path, wording):
    case = contradicting(tmp_path, "1, n")
    found, told = verdict(case, refusing())
    assert found is Verdict.UNSUPPORTED
    assert told == wording
    assert verdict(contradicting(tmp_path, "1, 3, n"), refusing())[0] is Verdict.ERROR


@dataclass
class Joining(Declaring):
    """A backend that takes a flag of 2 for 1, and joins nine elements."""

    def run(self, inputs: Any) -> Any:
        (x,) = inputs
        return [np.concat([0 * x, x, x], axis=1).reshape(1, 9, 1)]


def test_a_model_that_a_reading_refuses_may_contradict_its_nodes_too(tmp_path: Path) -> None:
    # A flag of 2 may be refused, or taken for 0 or 1.
    text = """<ir_version: 8, opset_import: ["" : 17]>
    net (float[1, 3] x) => (float[1, n] y) <int64[3] s = {1, 9, 1}, int64 z = {0}> {
      h = CumSum <exclusive = 2> (x, z)
      j = Concat <axis = 1> (h, x, x)
      c = Greater (s, z)
      t = Compress (s, c)
      y = Reshape (j, t)
    }"""
    onnx.save(parse_model(text), tmp_path / "net.onnx")
    (case,) = load_all([tmp_path / "net.onnx"])
    (result,) = judge_all([case], [Inline(of_object(Joining((1, 9, 2))))])
    assert (result.verdict, result.beyond) == (Verdict.UNSUPPORTED, True)


@pytest.mark.parametrize("backend", ["onnxruntime", "openvino", "tract"])
def test_engines_are_judged_by_their_values_where_a_model_states_a_wrong_rank(tmp_path, backend):
    pytest.importorskip(backend, reason=f"not installed: {backend}")
    assert verdict(contradicting(tmp_path, "1, n"), connect(backend))[0] is not Verdict.FAIL


ODD = {
    "(optional(float[1, 3]) x) => (bool y) { p = Identity (x) y = OptionalHasElement (p) }": (
        [numpy_helper.from_optional(None, "x")],
        [np.array(False)],
        "",
    ),
    "(seq(float[1, 3]) x) => (int64 y) { p = Optional (x) q = Optional (p) y = Size (q) }": (
        [[X]],
        [np.array(1)],
        "raised .* gives 'q': an optional in place of a sequence",
    ),
    "(float[1, 3] x) => (int64 y) {"
    " s = SequenceMap (x) <body = b (float[3] p) => (float[3] q) { q = Neg (p) }>"
    " y = SequenceLength (s) }": (
        [X],
        [np.array(1)],
        "raised .* gives 's': its first input is no sequence",
    ),
    "(seq(float[1, 3]) x) => (seq(float[1, 3]) y) {"
    " y = SequenceMap (x) <body = b (float[1, 3] p) => (float[1, 3] q, float[1, 3] r) {"
    " q = Neg (p) r = Neg (p) }> }": (
        [[X]],
        [[-X]],
        "SequenceMap-17 of a body of more outputs",
    ),
    "(int64 n, bool c) => (int64 y) {"
    " s = Loop (n, c) <body = b (int64 i, bool d) => (bool e, seq(int64) t) {"
    " e = Identity (d) t = SequenceConstruct (i) }> y = SequenceLength (s) }": (
        [np.array(2), np.array(True)],
        [np.array(2)],
        "nothing is said of scan outputs that are no tensors",
    ),
    "(float[1, 3] x) => (float[1, 3] y) { y = Add (x, w) }": (
        [X],
        [X],
        "the constant 'w' is sparse",
    ),
}


@pytest.mark.parametrize("text", ODD)
def test_the_engine_refuses_a_model_or_says_why_it_has_no_answer(tmp_path, text, wording):
    inputs, outputs, said = ODD[text]
    proto = parse_model(f'<ir_version: 8, opset_import: ["": 18]> net {text}')
    values, places = (helper.make_tensor("w", kind, [1], [0]) for kind in (1, 7))
    proto.graph.sparse_initializer.append(helper.make_sparse_tensor(values, places, [1, 3]))
    if "sparse" not in said:
        del proto.graph.sparse_initializer[:]
    case = case_of(tmp_path, proto, inputs, outputs)
    found, told = verdict(case, connect("numpy"))
    assert (found is Verdict.PASS) is not bool(said), told
    assert re.search(said, told)
    exactly = verdict(case, connect("numpy?mode=exact"))
    assert exactly == (Verdict.UNSUPPORTED, wording)


def identity(tmp_path: Path, name: str):
    """A model that gives back a tensor of an element type."""
    dtype = DTYPES[name]
    words = np.array(["a", "", "ü\n"], object)
    value = words if dtype.kind == "string" else np.array([1, 0, 1]).astype(dtype.numpy)
    node = helper.make_node("Identity", ["x"], ["y"])
    shape = [3]
    proto = model(
        [node], [tensor("x", dtype.onnx, shape)], [tensor("y", dtype.onnx, shape)], (), 25, 12
    )
    return case_of(tmp_path / name, proto, [value], [value])


def sequences(tmp_path: Path):
    node = helper.make_node("Identity", ["s"], ["t"])
    declared = sequence_of()
    proto = model([node], [typed("s", declared)], [typed("t", declared)], opset=16)
    yield case_of(tmp_path / "some", proto, [[X, Y]], [[X, Y]])
    yield case_of(tmp_path / "none", proto, [[]], [[]])


@pytest.fixture(scope="module")
def pools():
    with guarded_folder() as folder:
        made = {
            name: Pool(BackendSettings(name, folder, {}, 30.0, None), 1)
            for name in ("onnxruntime", "reference")
        }
        for pool in made.values():
            pool.connected()
        yield made
        for pool in made.values():
            pool.close()


@pytest.mark.parametrize("backend", ["onnxruntime", "reference"])
def test_every_element_type_goes_to_backends_and_back(tmp_path, pools, backend):
    cases = [identity(tmp_path, name) for name in DTYPES if "float6e" not in name]
    cases = [replace(case, id=f"{place}") for place, case in enumerate(cases)]
    found = [*judge_all(cases, [pools[backend]])]
    assert len(found) == len(cases)
    failing = {
        result.case.dtype.name: result.reason  # type: ignore[union-attr]
        for result in found
        if result.verdict not in (Verdict.PASS, Verdict.UNSUPPORTED)
        # Who names the type that it refuses has understood the model.
        and f"'tensor({result.case.dtype.name})'" not in result.reason  # type: ignore[union-attr]
    }
    assert failing == {}
    passing = {r.case.dtype.name for r in found if r.verdict is Verdict.PASS and r.case.dtype}
    assert passing >= {"string", "bfloat16", "float8e4m3fn", "float8e5m2", "bool", "uint64"}


@pytest.mark.parametrize("backend", ["onnxruntime", "reference"])
def test_elements_of_half_a_byte_are_packed_and_unpacked(tmp_path, pools, backend):
    values = np.array([1, -2, 7, -8, 3], np.float32)
    narrow = values.astype(DTYPES["int4"].numpy)
    cases = []
    for one, other in ((narrow, values), (values, narrow)):
        codes = [of(array).onnx for array in (one, other)]  # type: ignore[union-attr]
        node = helper.make_node("Cast", ["x"], ["y"], to=codes[1])
        ends = [tensor("x", codes[0], [5])], [tensor("y", codes[1], [5])]
        folder = tmp_path / f"{codes[0]}"
        cases.append(case_of(folder, model([node], *ends, opset=21, ir_version=10), [one], [other]))
    cases = [replace(case, id=f"{place}") for place, case in enumerate(cases)]
    assert [result.verdict for result in judge_all(cases, [pools[backend]])] == [Verdict.PASS] * 2


@pytest.mark.parametrize("backend", ["onnxruntime", "reference"])
def test_sequences_go_to_backends_and_back(tmp_path, pools, backend):
    cases = [replace(case, id=f"{n}") for n, case in enumerate(sequences(tmp_path))]
    found = [*judge_all(cases, [pools[backend]])]
    assert [(result.verdict, result.reason) for result in found] == [(Verdict.PASS, "")] * 2


def test_tract_takes_a_model_whose_other_tensors_have_the_symbols_of_inputs(tmp_path):
    pytest.importorskip("tract", reason="not installed: tract")
    text = """<ir_version: 8, opset_import: ["" : 17]>
    net (float[batch, 3] x) => (float[batch, 3] y) <float[batch, 3] h> {
      h = Neg (x)
      y = Relu (h)
    }"""
    onnx.save(parse_model(text), tmp_path / "net.onnx")
    (case,) = load_all([tmp_path / "net.onnx"], {"batch": 2})
    assert verdict(case, connect("tract"))[0] is Verdict.PASS


def doubling(folder: Path) -> Any:
    """A model of 60 turns, each of which doubles a tensor."""
    text = """<ir_version: 8, opset_import: ["" : 17]>
    net (float[4] x) => (float[n] y) <int64 m = {60}, bool c = {1}> {
      y = Loop (m, c, x) <body = b (int64 i, bool d, float[k] v) => (bool e, float[l] w) {
        e = Identity (d)
        w = Concat <axis = 0> (v, v)
      }>
    }"""
    onnx.save(parse_model(text), folder / "net.onnx")
    (case,) = load_all([folder / "net.onnx"])
    return case


def unasked(inputs: Any) -> Any:
    pytest.fail("it was asked")


def test_no_backend_computes_a_model_that_takes_more_than_opcheck_computes(tmp_path, wording):
    case = doubling(tmp_path)
    with budget.limited(elements=1000):
        (result,) = judged([case], [answering(unasked)])
    assert (result.verdict, result.beyond) == (Verdict.UNSUPPORTED, True)
    assert result.reason == (wording)


def test_limits_of_graphs_are_those_of_the_session(tmp_path, wording):
    case = doubling(tmp_path)
    results = opcheck.run([case], [unasked], graph_elements=1000)
    (result,) = results
    assert "--graph-elements" in result.reason
    (result,) = opcheck.run([case], [unasked], graph_nodes=20)
    assert "--graph-nodes" in result.reason
    assert budget.limits() == budget.GraphLimits()
    with pytest.raises(UsageError) as raised:
        opcheck.run([case], "numpy", cluster="local:1", graph_nodes=20)
    assert raised.value == wording


def test_a_wrong_answer_of_a_model_is_diagnosed_like_that_of_a_node(tmp_path):
    nodes = [helper.make_node("Abs", ["x"], ["a"]), helper.make_node("Exp", ["a"], ["y"])]
    onnx.save(model(nodes, [tensor("x")], [tensor("y")]), tmp_path / "net.onnx")
    (case,) = load_all([tmp_path / "net.onnx"])

    def in_double(inputs: Any) -> Any:
        return [np.exp(np.abs(inputs[0])).astype(np.float64)]

    (result,) = diagnosed([case], answering(in_double))
    assert case.op == GRAPH
    assert [diagnosis.mistake for diagnosis in result.diagnoses] == ["output_in_float64"]


@pytest.mark.gate
def test_a_command_that_runs_out_of_memory_ends_without_a_traceback(tmp_path):
    doubling(tmp_path)
    asked = [sys.executable, "-m", "opcheck", "run", "net.onnx", "-b", "numpy"]
    asked += ["--graph-elements", str(1 << 40), "--judge-memory", "900MiB"]
    ended = subprocess.run(asked, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == Exit.UNUSABLE
    assert "itself may take 900 MiB" in " ".join(ended.stdout.split())
    assert "Traceback" not in ended.stdout + ended.stderr
