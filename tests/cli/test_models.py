"""Models on the command line: folders of tests, the onnx package's own, and single files."""

import json
import re
import shutil
import subprocess
import sys
import time

import numpy as np
import onnx
import pytest
from onnx import helper

from opcheck.dtypes import identical
from opcheck.suite import load
from opcheck.suite.tensors import materialize
from tests.execution.test_locate import made, saved
from tests.models import X, model, relu, tensor, write
from tests.wording import lines_with

Y = np.maximum(X, 0)
SUM, NEXT = (np.array([[number]], np.float32) for number in (2.0, 9.0))


def summed():
    """A model of an operator that the engine lacks: without support vectors it adds up."""
    attrs = {"coefficients": [1.0, 1.0, 1.0], "rho": [0.0], "kernel_params": [0.0, 0.0, 0.0]}
    node = helper.make_node("SVMRegressor", ["x"], ["y"], domain="ai.onnx.ml", **attrs)
    return model(
        [node],
        [tensor("x", shape=(1, 3))],
        [tensor("y", shape=(1, 1))],
        opset=1,
        domain="ai.onnx.ml",
    )


def test_a_folder_of_test_data_is_judged_and_the_failure_can_be_repeated(run, tmp_path, wording):
    write(tmp_path / "data" / "node" / "test_right", summed(), [X], [SUM])
    write(tmp_path / "data" / "node" / "test_wrong", summed(), [X], [NEXT])
    found = run("run", "data", "-b", "onnxruntime", "-b", "reference", "--report", "json=run.jsonl")
    assert found.exit_code == 1
    assert lines_with(found.stdout, "exit 1: does not") == wording
    asked = "SVMRegressor-1 at opset 1, coefficients=[1.0, 1.0, 1.0] kernel_params=[0.0, 0.0, 0.0]"
    asked += " rho=[0.0], x float32[1, 3] [[1, -2, 3]]"
    assert f"  asked   {asked}\n" in found.stdout
    repeat = "opcheck run data --case node/test_wrong -b reference --no-known"
    assert f"  repeat  {repeat}" in found.stdout
    assert run(*repeat.split()[1:]).exit_code == 1
    results = [json.loads(line) for line in (tmp_path / "run.jsonl").read_text().splitlines()[1:-1]]
    assert [(one["case"], one["verdict"]) for one in results] == [
        ("node/test_right", "pass"),
        ("node/test_right", "pass"),
        ("node/test_wrong", "fail"),
        ("node/test_wrong", "fail"),
    ]
    out = run("report", "run.jsonl").stdout
    assert lines_with(out, "exit 1: does not") == wording
    shutil.copy("run.jsonl", "again.jsonl")
    assert run("diff", "run.jsonl", "again.jsonl").exit_code == 0


def test_they_are_listed_selected_and_saved_like_other_cases(run, tmp_path):
    write(tmp_path / "data" / "test_a", relu(), [X], [Y])
    write(tmp_path / "data" / "test_b", summed(), [X], [SUM])
    found = run("list", "data", "--op", "SVMRegressor", "--save-questions", "questions")
    listed = "  test_b  SVMRegressor-1, must, core, literal"
    assert found.stdout.splitlines()[:2] == ["data", listed]
    assert (tmp_path / "questions" / "test_b" / "model.onnx").exists()
    assert not (tmp_path / "questions" / "test_a").exists()
    assert run("run", "data", "-b", "reference", "--save-outputs", "saved").exit_code == 0
    assert run("run", "data", "-b", "saved:saved").exit_code == 0
    assert run("run", "data", "-k", "test_b", "-b", "numpy").exit_code == 5


@pytest.mark.gate
def test_node_tests_are_run_by_name(run, wording):
    found = run("run", "onnx-node/hardmax_*", "-b", "numpy", "-b", "reference", "-q", code=0)
    assert lines_with(found.stdout, "exit 0: conforms: 14 results,") == wording


def test_backends_are_compared_on_a_model_that_the_engine_does_not_compute(run, tmp_path, wording):
    proto = summed()
    for end in (proto.graph.input[0], proto.graph.output[0]):
        end.type.tensor_type.shape.dim[0].dim_param = "batch"
    (tmp_path / "m.onnx").write_bytes(proto.SerializeToString())
    both = ("-b", "onnxruntime", "-b", "reference")
    found = run("run", "m.onnx", "--dim", "batch=4", *both, code=0)
    assert "onnxruntime, reference" in found.stdout
    assert run("run", "m.onnx", *both).stderr == wording
    for wrong in ("batch", "batch=", "batch=-1", "=4", "batch=4.0"):
        assert run("run", "m.onnx", "--dim", wrong, *both).exit_code == 2
    assert run("run", "m.onnx", "--dim", "batch=4", "--dim", "batch=5", *both).exit_code == 2
    assert run("run", "m.onnx", "--dim", "batch=4", "-b", "reference").exit_code == 2


def test_a_whole_shape_states_the_sizes_of_an_input(run, tmp_path):
    (tmp_path / "m.onnx").write_bytes(relu([None, 3, None]).SerializeToString())
    run("run", "m.onnx", "--dim", "x=4x3x2", "-b", "reference", code=0)
    for wrong in ("x=4x3", "x=4x3x", "xx4x3", "x=4x3x2x1", "x=4x5x2", "x=4x3xN"):
        assert run("run", "m.onnx", "--dim", wrong, "-b", "reference").exit_code == 2
    twice = ("--dim", "x=4x3x2", "--dim", "x[0]=5")
    assert run("run", "m.onnx", *twice, "-b", "reference").exit_code == 2


def test_a_model_is_judged_by_the_engine(run, network, tmp_path, wording):
    (tmp_path / "m.onnx").write_bytes(relu(["batch", 3]).SerializeToString())
    found = run("run", "m.onnx", "--dim", "batch=4", "-b", "py:tests.models:Negating", code=1)
    assert lines_with(found.stdout, "y: 12 of 12 elements") == wording
    assert "--dim=batch=4 --case m.onnx" in found.stdout
    assert run("run", "m.onnx", "--dim", "batch=4", "-b", "onnxruntime", code=0)
    found = run("run", network, "-b", "onnxruntime", "--format", "json", code=0)
    assert json.loads(found.stdout.splitlines()[1])["reason"].startswith("y: as far ")
    found = run("run", network, "-b", "py:tests.models:Negating", code=1)
    command = f"opcheck locate {network} -b py:tests.models:Negating"
    assert f"  locate  {command}\n" in found.stdout
    # The last screen names it, too.
    assert f"\n  {command}  #" in found.stdout


def test_commands_that_take_case_files_only_say_so(run, tmp_path, wording):
    write(tmp_path / "data" / "test_a", relu(), [X], [Y])
    for path in ("data", "onnx-node", "m.onnx"):
        assert run("bench", path, "-b", "numpy", code=2).stderr == wording


@pytest.fixture
def network(tmp_path):
    return made("convolutions", tmp_path).name


def test_the_wrong_node_is_written_as_a_case_and_as_a_script(run, network, tmp_path, wording):
    """onnx.reference computes BatchNormalization rightly; a case file says that it is wrong."""
    proto = onnx.load(network)
    norm = next(one for one in proto.graph.node if one.name == "norm")
    norm.attribute.append(helper.make_attribute("training_mode", 0))
    onnx.save(proto, network)
    found = run("locate", network, "-b", "reference", code=0)
    assert lines_with(found.stdout, "12 judged on their") == wording
    assert found.stdout.splitlines()[-1] == wording
    (tmp_path / "bad.py").write_text(BAD)
    found = run("locate", network, "-b", "py:bad:Backend", "-o", "out", code=1)
    assert "FAIL py:bad:Backend  node 4 of 12, gate\n" in found.stdout
    assert "hyperbolic tangent" not in found.stdout
    repeat = "opcheck run out/gate/case.yaml -b py:bad:Backend --no-known"
    assert f"  repeat  {repeat}\n" in found.stdout
    assert found.stdout.splitlines()[-1] == wording
    assert run("run", "out/gate/case.yaml", "-b", "reference", code=0)
    issue = (tmp_path / "out" / "gate" / "issue.md").read_text()
    assert issue.splitlines()[0].startswith("# Sigmoid-13: ")
    assert f"\n{repeat}\n" in issue
    assert "<code>py:bad:Backend</code> computes node 4 of 12" in issue
    assert f"onnx {onnx.__version__}" in issue
    script = tmp_path / "out" / "gate" / "show.py"
    text = script.read_text()
    assert len(text.splitlines()) <= 40
    assert "opcheck" not in text
    ended = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert lines_with(ended.stderr, "run `model` with") == wording
    script.write_text(text.replace("answers(kind))", 'answers("reference"))'))
    ended = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert "largest difference at" in ended.stdout


BAD = """
import onnx
from onnx.reference import ReferenceEvaluator

class Backend:
    def prepare(self, task):
        model = onnx.ModelProto.FromString(task.model)
        for node in model.graph.node:
            if node.name == "gate":
                node.op_type = "Tanh"
        evaluator, names = ReferenceEvaluator(model), [one.name for one in task.inputs]
        class Prepared:
            def run(self, inputs):
                return evaluator.run(None, dict(zip(names, inputs)))
        return Prepared()
"""
#: It is asked for a node alone, too.
ALONE = BAD.replace("task.model", "model_of(task).SerializeToString()").replace(
    "import onnx", "from opcheck.graph import model_of\nimport onnx", 1
)


def test_a_mistake_that_depends_on_a_name_is_told_so(run, network, tmp_path, wording):
    (tmp_path / "bad.py").write_text(ALONE)
    found = run("locate", network, "-b", "py:bad:Backend", "-o", "out", code=1)
    assert f"  repeat  opcheck locate {network} -b py:bad:Backend\n" in found.stdout
    assert lines_with(found.stdout, "As a model") == wording
    issue = (tmp_path / "out" / "gate" / "issue.md").read_text()
    assert f"\nopcheck locate {network} -b py:bad:Backend\n" in issue
    assert "As a model" in issue


@pytest.mark.parametrize("rows", [0, 2])
def test_a_model_that_shows_nothing_is_not_judged(run, network, tmp_path, rows, wording):
    why = "no element of an output is a number" if rows else "no output has an element"
    net = "<ir_version: 8, opset_import: ['': 17]> net (float[n] x) => (float[n] y) "
    proto = onnx.parser.parse_model(net.replace("'", '"') + "{ a = Exp (x) y = Tanh (a) }")
    onnx.save(proto, tmp_path / "net.onnx")
    np.save(tmp_path / "x.npy", np.full(rows, np.nan, np.float32))
    asked = ("net.onnx", "-b", "reference", "--inputs", ".")
    assert f"nothing is judged: {why}" in run("run", *asked, code=5).stdout
    found = run("locate", *asked, code=0 if rows else 5)
    assert lines_with(found.stdout, "the model  unsupported:") == wording


#: The engine cannot judge the answer, because rounding decides the axis.
UNKNOWN_AXIS = """<ir_version: 8, opset_import: ["" : 17]>
net (float[2, 3] x) => (float[2, 1] y) <int64 m = {2}, bool c = {1}> {
  NODE
  k = Constant <value_floats = [1.1]> ()
  r = Mul (k, k)
  i = Cast <to = 7> (r)
  y = ReduceSum (h, i)
}"""
IN_A_LOOP = """[turns] h = Loop (m, c, x) <body = b (int64 n, bool d, float[2, 3] v) =>
  (bool e, float[2, 3] w) { e = Identity (d) w = Neg (v) }>"""


@pytest.mark.parametrize(("node", "code"), [("h = Neg (x)", 0), (IN_A_LOOP, 5)])
def test_no_node_is_right_that_nobody_judged(run, tmp_path, node, code):
    text = UNKNOWN_AXIS.replace("NODE", node)
    onnx.save(onnx.parser.parse_model(text), tmp_path / "net.onnx")
    found = run("locate", "net.onnx", "-b", "reference", code=code)
    assert "the model  unsupported" in found.stdout
    assert ("turns (Loop)" in found.stdout) == bool(code)


def test_a_pass_says_how_much_of_a_model_was_judged(run, tmp_path, wording):
    nodes = [helper.make_node("Bernoulli", ["x"], ["a"]), helper.make_node("Neg", ["x"], ["y"])]
    proto = model(nodes, [tensor("x")], [tensor("a"), tensor("y")])
    write(tmp_path / "data" / "test_a", proto, [Y / 4], [Y / 4, -Y / 4])
    found = run("run", "data", "-b", "reference", code=0)
    assert lines_with(found.stdout, "1 pass judged in") == wording
    found = run("run", "data", "-b", "reference", "--format", "json", code=0)
    assert json.loads(found.stdout.splitlines()[1])["reason"] == wording


def test_a_networks_nodes_are_cases(run, network, tmp_path, wording):
    found = run("extract", network, "-o", "net", code=0)
    assert found.stdout == wording
    assert "# 1 node: norm\n" in (tmp_path / "net" / "batch_normalization.yaml").read_text()
    assert "12 results" in run("run", "net", "-b", "onnxruntime", code=0).stdout
    profile = [
        {"cat": "Node", "name": "first_kernel_time", "dur": 30},
        {"cat": "Node", "name": "fourth_kernel_time", "dur": 10},
    ]
    (tmp_path / "profile.json").write_text(json.dumps(profile))
    assert run("extract", network, "-o", "net", code=2).stderr == wording
    run("extract", network, "-o", "shares", "--profile", "profile.json", code=0)
    lines = (tmp_path / "shares" / "conv.yaml").read_text().splitlines()
    notes = [line for line in lines if line.startswith("#")]
    assert notes[0] == wording
    assert notes[1] == wording
    endless = json.dumps([{**profile[0], "dur": np.nan}])
    for text, said in (("[" * 100_000, "recursion"), (endless, "takes nan")):
        (tmp_path / "profile.json").write_text(text)
        found = run("extract", network, "-o", "bad", "--profile", "profile.json", code=2)
        assert said in found.stderr


NEW = '<ir_version: 10, opset_import: ["": 21, "ai.onnx.ml": 4]> '
MASK, ORDER = np.eye(9, dtype=np.float32), np.random.default_rng(0).permutation(99)[:, None]
ENDLESS = np.where(MASK, 0, np.float32(-np.inf))
TEXTS = ORDER[:, 0].astype(str).astype(object)
TABLE = f"int64[1999] {{1{', 1' * 1998}}}"
ENCODER = f"ai.onnx.ml.LabelEncoder <keys_tensor = {TABLE}, values_tensor = {TABLE}> (x)"


@pytest.mark.parametrize(
    ("kind", "nodes", "constant", "exact"),
    [
        ("float[9, 9]", "Add (x, m) y = Softmax (a)", ENDLESS, False),
        ("int64[1]", "Shape (m) y = Add (a, x)", np.array([1j, 2]), True),
        ("float[99]", "Neg (x) y = ScatterND (x, m, a)", ORDER, True),
        ("int64[99]", "StringConcat (m, m) y = Cast <to = 7> (a)", TEXTS, True),
        ("int64[3]", f"{ENCODER} y = {'1, 7'.join(ENCODER.rsplit('1, 1', 1))}", MASK, None),
    ],
)
def test_the_cases_of_a_network_ask_what_it_asks(
    run, tmp_path, kind, nodes, constant, exact, wording
):
    saved(tmp_path, f"net ({kind} x) => ({kind} y) {{ a = {nodes} }}", NEW, m=constant)
    found = run("extract", "net.onnx", "-o", "net", code=0)
    assert found.stdout == wording
    assert "unsupported" not in run("run", "net", "-b", "numpy", code=0).stdout
    specs = [spec for case in load([tmp_path / "net"]) for spec in case.inputs if spec.initializer]
    assert exact in {None, *(identical(materialize(one), constant) for one in specs)}
    assert constant is not ENDLESS or np.isneginf(materialize(specs[0])).any()


def test_a_node_whose_case_would_be_refused_is_left_out(run, tmp_path, monkeypatch):
    net = "net (float[9] x) => (float[1, 1, 1, 1, 1, 1, 9] y) { a = Neg (x) y = Unsqueeze (a, m) }"
    # The axes are drawn like those of the model, and some of them twice.
    monkeypatch.setattr("opcheck.suite.tensors._FEW", 0)
    monkeypatch.setattr("opcheck.suite.tensors._MANY", 0)
    why = "left out: Unsqueeze_1: its case"
    for head, code, said in (
        (NEW, 0, why),
        (NEW.replace("21", "99"), 2, "net.onnx: opset 99: the"),
    ):
        saved(tmp_path, net, head, m=np.arange(6))
        assert said in run("extract", "net.onnx", "-o", f"net{code}", code=code).stderr
    run("run", "net0", "-b", "numpy", code=0)


@pytest.mark.parametrize("to", [8, 16, 17, 22])  # string, bfloat16, float8e4m3fn, int4
def test_a_wrong_node_of_any_type_can_be_shown_again(run, tmp_path, to):
    nodes = f"a = Cast <to = {to}> (x) b = Transpose <perm = [1, 0]> (a) y = Cast <to = 7> (b)"
    saved(tmp_path, f"net (int64[3, 3] x) => (int64[3, 3] y) {{ {nodes} }}", NEW)
    bad = ALONE.replace('name == "gate"', 'op_type == "Transpose"')
    (tmp_path / "bad.py").write_text(bad.replace('op_type = "Tanh"', "attribute[0].ints.reverse()"))
    found = run("locate", "net.onnx", "-b", "py:bad:Backend", "-o", "out", code=1)
    repeat = re.search("repeat  opcheck (run .*)", found.stdout)[1]
    assert "elements wrong" in run(*repeat.split(), code=1).stdout
    (script,) = (tmp_path / "out").glob("*/show.py")
    script.write_text(script.read_text().replace("answers(kind))", 'answers("reference"))'))
    ended = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert "largest difference at" in ended.stdout


WITH_MACHINE = onnx.parser.parse_model(
    """<ir_version: 8, opset_import: ["": 17, "ai.onnx.ml": 1]>
    net (float[1, 3] x) => (float[1, 3] y, float[1, 3] z) {
        a = ai.onnx.ml.SVMRegressor <coefficients = [1.0], rho = [0.0]> (x)
        z = Tanh (a) y = Neg (x) }"""
)


def test_the_time_of_nodes_that_are_left_out_is_theirs(run, tmp_path, wording):
    onnx.save(WITH_MACHINE, tmp_path / "net.onnx")
    names = ("SVMRegressor_0", "Tanh_1", "Neg_2")
    profile = [{"cat": "Node", "name": f"{n}_kernel_time", "dur": 10} for n in (*names, "fused")]
    (tmp_path / "profile.json").write_text(json.dumps(profile))
    found = run("extract", "net.onnx", "-o", "net", "--profile", "profile.json", code=0)
    assert found.stderr == wording
    left = "SVMRegressor_0, 25.0% of the time: opcheck does not know SVMRegressor-1"
    assert f"left out: {left}" in found.stderr


def test_one_model_on_one_data_set_is_located(run, tmp_path, wording):
    for name in ("test_a", "test_b"):
        write(tmp_path / "data" / name, WITH_MACHINE, [X], [-X, np.tanh(X)])
    found = run("locate", "data", "-b", "reference", code=2)
    assert found.stderr == wording


def test_the_script_takes_names_for_data_and_prints_any_answer(run, tmp_path, wording):
    head = '<ir_version: 8, opset_import: ["": 17]> net (float[1, 3] x) => (float[1, 3] y) '
    proto = onnx.parser.parse_model(head + "{ p = Exp (x) n = Neg (p) y = Sqrt (n) }")
    proto.graph.node[2].name = '"""\nprint("INJECTED")\n"""@kind@'
    onnx.save(proto, tmp_path / "net.onnx")
    (tmp_path / "bad.py").write_text(BAD.replace('node.name == "gate"', 'node.op_type == "Sqrt"'))
    run("locate", "net.onnx", "-b", "py:bad:Backend", "-o", "out", code=1)
    (script,) = (tmp_path / "out").glob("*/show.py")
    issue = script.with_name("issue.md").read_text()
    assert not any(line.startswith(('print("', '"""')) for line in issue.splitlines())
    script.write_text(script.read_text().replace("answers(kind))", 'answers("reference"))'))
    ended = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert "INJECTED" not in ended.stdout.splitlines()
    assert lines_with(ended.stdout, "got nan want") == wording


def test_support_is_asked_of_what_a_network_uses(run, network, wording):
    run("extract", network, "-o", "net", code=0)
    found = run(
        "support",
        "net",
        "-b",
        "onnxruntime",
        "--require",
        "*:float32",
        "--lenient",
        "--format",
        "json",
    )
    assert found.exit_code == 0
    cells = [json.loads(line) for line in found.stdout.splitlines()]
    names = {one["op"]: one["verdict"] for one in cells if one.get("op")}
    assert {"Conv", "Relu", "Sigmoid", "BatchNormalization"} <= {*names}
    assert len(names) < 15
    found = run("support", network, "-b", "onnxruntime", code=2)
    assert found.stderr == wording


def test_inputs_are_read_from_files(run, network, tmp_path, wording):
    (tmp_path / "in").mkdir()
    np.save(tmp_path / "in" / "x.npy", np.full((1, 3, 16, 16), 7, np.float32))
    fed = ("-b", "reference", "--inputs", "in")
    assert "12 judged" in run("locate", network, *fed, code=0).stdout
    run("run", network, *fed, "--report", "json=run.jsonl", code=0)
    assert "--inputs=in" in (tmp_path / "run.jsonl").read_text()
    assert run("run", *fed, code=2).stderr == wording
    np.save(tmp_path / "in" / "x.npy", np.full((1, 3, 16, 16), 7.0))
    for command in ("locate", "run"):
        assert run(command, network, *fed, code=2).stderr == wording
    (tmp_path / "in" / "x.npy").unlink()
    assert "input_0.pb" in run("locate", network, *fed, code=2).stderr


@pytest.mark.parametrize(
    "words",
    [
        ["locate", "one.onnx", "-b", "reference"],
        ["extract", "one.onnx", "-o", "net"],
        ["locate", "none.onnx", "-b", "reference"],
        ["locate", "NET", "-b", "reference", "--dim", "n=3"],
        ["extract", "NET", "-o", "net", "--profile", "one.onnx"],
        ["locate", "NET"],
    ],
    ids=" ".join,
)
def test_what_is_no_network_is_told(run, network, tmp_path, words, wording):
    (tmp_path / "one.onnx").write_bytes(relu().SerializeToString())
    found = run(*(network if word == "NET" else word for word in words), code=2)
    assert found.stderr == wording
    assert "Traceback" not in found.stderr


NESTED = """<ir_version: 10, opset_import: ["" : 21]>
net (float[4] x) => (float[4] y) <int64 m = {900}, bool c = {1}> {
  y = Loop (m, c, x) <body = b (int64 i, bool d, float[4] v) => (bool d, float[4] w) {
    w = Loop (m, c, v) <body = f (int64 j, bool e, float[4] u) => (bool e, float[4] u) {}>
  }>
}"""
LONG_SCAN = """<ir_version: 10, opset_import: ["" : 21]>
net (float[4] x) => (float[4] y) <int64[2] s = {200000, 4}> {
  rows = Expand (x, s)
  y = Scan <num_scan_inputs = 1, body = b (float[4] v, float[4] u) => (float[4] w) {
    w = Add (v, u)
  }> (x, rows)
}"""


@pytest.mark.parametrize("text", [NESTED, LONG_SCAN], ids=["nested", "scan"])
def test_loops_of_too_many_iterations_are_unsupported_before_a_backend_hangs(
    run, tmp_path, wording, text
):
    onnx.save(onnx.parser.parse_model(text), tmp_path / "net.onnx")
    before = time.process_time()
    found = run("run", "net.onnx", "-b", "onnxruntime", "--report", "json=run.jsonl")
    assert time.process_time() - before < 60
    assert found.exit_code == 5
    [result] = map(json.loads, (tmp_path / "run.jsonl").read_text().splitlines()[1:-1])
    assert (result["verdict"], result["beyond"]) == ("unsupported", True)
    assert result["reason"] == wording
