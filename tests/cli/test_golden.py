"""`opcheck golden write`, `opcheck golden check` and `opcheck golden import`, as they are typed."""

import json
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from textwrap import dedent

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from opcheck.cli import golden
from opcheck.model import Values
from opcheck.suite import load, materialize
from tests.cli.conftest import ROOT
from tests.execution.golden.made import FOUR, RANDOM


@pytest.fixture
def mine(tmp_path):
    (tmp_path / "my.yaml").write_text(dedent(FOUR), encoding="utf-8")
    return tmp_path


def test_help_names_every_command_with_its_line(run):
    found = run("golden")
    assert [*golden.command.commands] == ["write", "import", "check"]
    for name, command in golden.command.commands.items():
        line = command.help.partition(".")[0]
        assert f"  {name} " in found.output
        assert line in found.output


def test_a_mistyped_command_is_met_with_the_right_one(run):
    assert "did you mean 'write'?" in run("golden", "wriet", code=2).output


def test_what_is_written_is_told_and_is_right(run, mine):
    found = run("golden", "write", "my.yaml", "-o", "golden", "-j", "1", "--data-sets", "3", code=0)
    lines = [" ".join(line.split()) for line in found.stdout.splitlines()]
    assert "must give these answers 3 5 26" in lines
    assert "open give one of each case's 2 2 8" in lines
    assert "rejected refuse the model 1 1 2" in lines
    assert "one data set only: 1 case: its answer is written out" in lines
    assert lines[-1] == "exit 0: 4 cases are in golden"
    assert run("golden", "check", "golden", "-j", "1", code=0).stdout == (
        "exit 0: consistent, and right by this opcheck: 4 cases, 6 tests, 8 data sets, 36 files\n"
    )


def test_what_is_wrong_is_told_a_line_a_file(run, mine):
    run("golden", "write", "my.yaml", "-o", "golden", "-j", "1")
    path = f"golden/{RANDOM}/test_data_set_0/output_0.pb"
    Path(path).write_bytes(Path(path).read_bytes()[:-3])
    Path("golden/notes.txt").touch()
    found = run("golden", "check", "golden", "-j", "1", code=1)
    first, second, end = found.stdout.splitlines()
    assert first.startswith(f"{path}: was changed: its SHA-256 is ")
    assert second == "golden/notes.txt: is not in the manifest.json"
    assert end.startswith("exit 1: 2 paths wrong; 4 cases, 6 tests")


def test_oracles_that_disagree_are_told_and_exit_with_1(run, mine):
    text = Path("my.yaml").read_text().replace("[[0.5, 0.5], [0.5, 0.5]]", "[[0, 1], [0.5, 0.5]]")
    Path("my.yaml").write_text(text)
    found = run("golden", "write", "my.yaml", "-o", "golden", "-j", "1", code=1)
    assert "WRONG Softmax/written_out" in found.stdout
    assert "contradict each other" in found.stdout
    assert found.stdout.endswith("exit 1: 1 case is wrong; 3 cases are in golden\n")
    assert run("golden", "check", "golden", "-j", "1").exit_code == 0


def test_nothing_to_write_and_nothing_to_check_are_no_success(run, mine):
    run("golden", "write", "my.yaml", "-o", "golden", "-k", "nothing_like_it", code=5)
    assert not Path("golden").exists()
    assert "is no golden folder" in run("golden", "check", ".", code=2).output


def test_a_folder_that_is_there_is_kept_unless_forced(run, mine):
    words = ("golden", "write", "my.yaml", "-o", "golden", "-j", "1")
    assert run(*words).exit_code == 0
    found = run(*words, code=2)
    assert "this folder is not empty" in found.output
    assert "--force replaces" in found.output
    assert run(*words, "--force").exit_code == 0
    Path("golden/mine.txt").touch()
    assert "mine.txt" in run(*words, "--force", code=2).output
    assert Path("golden/mine.txt").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_an_interrupt_leaves_nothing(start, tmp_path):
    words = ["--op", "LpPool", "--op", "Softmax", "-o", str(tmp_path / "golden"), "-j", "2"]
    process = start("golden", "write", *words, cwd=ROOT)
    ended = time.monotonic() + 60
    while not list(tmp_path.glob(".golden.*.part/new/*/test_*")) and time.monotonic() < ended:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "interrupted" in told
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not shutil.which("sha256sum"), reason="not installed: sha256sum")
def test_the_example_reads_what_was_written(run, mine):
    run("golden", "write", "my.yaml", "-o", "golden", "-j", "1")
    command = [sys.executable, ROOT / "examples" / "read_golden.py", "golden"]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    assert found.stdout == "Counter({'right': 3})\n"


FLOAT = np.array([[-0.0, 0.1, 1e-45], [np.inf, -np.inf, np.nan]], np.float32)


def model(op, inputs, outputs, opset=13, domain="", **attrs):
    """One node; inputs and outputs are arrays by name."""

    def info(name, array):
        kind = helper.np_dtype_to_tensor_dtype(array.dtype)
        return helper.make_tensor_value_info(name, kind, array.shape)

    node = helper.make_node(op, [*inputs], [*outputs], domain=domain, **attrs)
    graph = helper.make_graph(
        [node],
        "one",
        [info(*item) for item in inputs.items()],
        [info(*item) for item in outputs.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid(domain, opset)])


def folder_of(folder: Path, inputs, outputs, made=None, op="Identity", number=0, **fields) -> Path:
    """A folder in ONNX's layout; its model is of `op` unless one is given."""
    made = made or model(op, inputs, outputs, **fields)
    data = folder / f"test_data_set_{number}"
    data.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(made.SerializeToString())
    for what, arrays in (("input", inputs), ("output", outputs)):
        for place, (name, array) in enumerate(arrays.items()):
            tensor = numpy_helper.from_array(array, name)
            (data / f"{what}_{place}.pb").write_bytes(tensor.SerializeToString())
    return folder


def identity(tmp_path, array, name="test_identity"):
    return folder_of(tmp_path / name, {"x": array}, {"y": array})


def tensors(file: Path):
    """The tensors of the only case of a file, by name."""
    (case,) = load([file])
    assert isinstance(case.expect, Values)
    return {spec.name: materialize(spec) for spec in (*case.inputs, *case.expect.outputs)}


def same(one, other):
    return (one.dtype, one.shape, one.tobytes()) == (other.dtype, other.shape, other.tobytes())


def test_a_node_with_its_data_becomes_a_readable_case(run, tmp_path):
    inputs = {"a": np.array([[1, 2]], np.float32), "b": np.array([[0.1], [4]], np.float32)}
    outputs = {"y": np.array([[16.2]], np.float32)}
    folder = folder_of(tmp_path / "test_gemm_small", inputs, outputs, op="Gemm", alpha=2.0)
    (folder / "data.json").write_text('{"rtol": 1e-05}')
    found = run("golden", "import", "test_gemm_small", "-o", "gemm.yaml")
    assert (found.exit_code, found.stdout) == (0, "exit 0: 1 case in gemm.yaml\n")
    assert (tmp_path / "gemm.yaml").read_text() == (
        "# Imported from test_gemm_small.\n"
        "op: Gemm\n"
        "cases:\n"
        "- name: gemm_small\n"
        "  opset: 13\n"
        "  dtype: float32\n"
        "  attrs: {alpha: 2}\n"
        "  tolerance: {rtol: 1e-05, atol: 1e-07}\n"
        "  inputs:\n"
        "    A: [[1, 2]]\n"
        "    B: [[0.1],\n"
        "        [4]]\n"
        "  expect:\n"
        "    Y: [[16.2]]\n"
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["gemm.yaml", "test_gemm_small"]


@pytest.mark.parametrize(
    "array",
    [
        FLOAT,
        FLOAT.astype(np.float16),
        FLOAT.astype(ml_dtypes.bfloat16),
        np.array([5e-324, 1.7976931348623157e308, 0.1, -0.0]),
        np.array([-(2**63), 2**63 - 1]),
        np.array([2**64 - 1], np.uint64),
        np.array([[True], [False]]),
        np.array(3.5, np.float32),
        np.zeros((2, 0, 3), np.float32),
        np.arange(300, dtype=np.float32) / 7,
        np.arange(300, dtype=np.float32).astype(ml_dtypes.bfloat16),
        # NaN with another payload, and a negative one.
        np.array([0x7FC00001, 0xFFC00000], np.uint32).view(np.float32),
    ],
)
def test_every_bit_comes_through_and_back_again(run, tmp_path, array):
    identity(tmp_path, array)
    found = run("golden", "import", "test_identity", "-o", "case.yaml", code=0)
    made = tensors(tmp_path / "case.yaml")
    assert same(made["input"], array)
    assert same(made["output"], array)
    assert run("golden", "write", "case.yaml", "-o", "again", "-j", "1").exit_code == 0
    (again,) = [path.parent for path in (tmp_path / "again").rglob("model.onnx")]
    for name in ("input_0.pb", "output_0.pb"):
        proto = TensorProto.FromString((again / "test_data_set_0" / name).read_bytes())
        found = numpy_helper.to_array(proto)
        # The oracle has one NaN, whatever the bits of those that it was given.
        assert same(found, array) or (name == "output_0.pb" and np.isnan([found, array]).all())


def test_what_is_large_lies_beside_the_file(run, tmp_path):
    identity(tmp_path, np.arange(1000))
    found = run("golden", "import", "test_identity", "-o", "case.yaml")
    assert found.stdout == "exit 0: 1 case in case.yaml, and 2 arrays beside it\n"
    text = (tmp_path / "case.yaml").read_text()
    assert 'input: {file: "case.identity.input.npy"}' in text
    assert same(np.load(tmp_path / "case.identity.input.npy"), np.arange(1000))


def test_each_data_set_and_each_folder_becomes_a_case(run, tmp_path):
    one, two = np.array([1]), np.array([2])
    folder = identity(tmp_path, one)
    folder_of(folder, {"x": two}, {"y": two}, number=1)
    identity(tmp_path, one, "3 other")
    run("golden", "import", "test_identity", "3 other", "-o", "all.yaml", code=0)
    names = ["identity_set_0", "identity_set_1", "test_3_other"]
    assert [case.name for case in load([tmp_path / "all.yaml"])] == names


def test_optional_variadic_and_several_tensors_get_the_schema_s_names(run, tmp_path):
    x, low = np.array([1, 5], np.float32), np.array(2, np.float32)
    made = model("Clip", {"x": x, "": low, "h": low}, {"y": x})
    del made.graph.input[1]
    folder_of(tmp_path / "clip", {"x": x, "h": low}, {"y": np.minimum(x, low)}, made)
    assert run("golden", "import", "clip", "-o", "clip.yaml").exit_code == 0
    assert tensors(tmp_path / "clip.yaml").keys() == {"input", "max", "output"}
    both = {"p": x, "q": x, "r": x}
    folder_of(tmp_path / "sum", both, {"s": 3 * x}, op="Sum")
    assert run("golden", "import", "sum", "-o", "sum.yaml").exit_code == 0
    assert [*tensors(tmp_path / "sum.yaml")] == ["data_0", "data_1", "data_2", "sum"]


def test_what_is_there_is_not_replaced_unless_asked_for(run, tmp_path):
    identity(tmp_path, np.arange(1000))
    (tmp_path / "case.identity.input.npy").write_text("mine")
    found = run("golden", "import", "test_identity", "-o", "case.yaml", code=2)
    assert "case.identity.input.npy: already there" in found.stderr
    assert not (tmp_path / "case.yaml").exists()
    assert run("golden", "import", "test_identity", "-o", "case.yaml", "--force").exit_code == 0
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".opcheck")]


def add_node(made):
    made.graph.node.append(helper.make_node("Relu", ["y"], ["z"]))


def add_constant(made):
    made.graph.initializer.append(numpy_helper.from_array(np.zeros(1), "c"))


def add_function(made):
    made.functions.add().name = "f"


def add_domain(made):
    made.opset_import.append(helper.make_opsetid("ai.onnx.ml", 3))


def add_subgraph(made):
    made.graph.node[0].attribute.append(helper.make_attribute("body", made.graph))


def take_twice(made):
    made.graph.node[0].input.append("x")
    made.graph.input.append(made.graph.input[0])


def rename(made):
    made.graph.node[0].op_type = "Identitiy"


def forget_opset(made):
    del made.opset_import[:]


def take_no_text(made):
    attribute = helper.make_attribute("s", "t")
    attribute.s = b"\xff"
    made.graph.node[0].attribute.append(attribute)


@pytest.mark.parametrize(
    ("how", "told"),
    [
        (add_node, "this has 2 nodes (1 × Identity, 1 × Relu)"),
        (add_constant, "this has initializer 'c'"),
        (add_function, "this has function 'f'"),
        (add_domain, "this has operators of ONNX's own domain and domain 'ai.onnx.ml'"),
        (add_subgraph, "this has attribute 'body', a graph"),
        (take_no_text, "attribute 's', which is no text in UTF-8"),
        (take_twice, "its node takes an input twice: x, x"),
        (rename, "opcheck knows no operator 'Identitiy' of ONNX's own domain at opset 13"),
        (forget_opset, "it imports no opset of ONNX's own domain"),
        (lambda made: made.graph.node.pop(), "this has no node"),
        (lambda made: made.graph.input.pop(), "its inputs are none, and those of its node x"),
    ],
)
def test_models_that_no_case_states_are_refused_by_name(run, tmp_path, how, told):
    x = np.array([1], np.float32)
    made = model("Identity", {"x": x}, {"y": x})
    how(made)
    folder_of(tmp_path / "test", {"x": x}, {"y": x}, made)
    refused(run, tmp_path, told)


def refused(run, tmp_path, told, folder="test"):
    found = run("golden", "import", folder, "-o", "case.yaml", code=2)
    assert found.stderr.startswith(f"opcheck: {folder}") or "no valid case file" in found.stderr
    assert told in found.stderr
    assert not (tmp_path / "case.yaml").exists()


def put(tmp_path, name, data):
    x = np.array([1], np.float32)
    folder_of(tmp_path / "test", {"x": x}, {"y": x})
    path = tmp_path / "test" / name
    path.unlink(missing_ok=True)
    if data is not None:
        path.write_bytes(data)


def proto(**fields):
    return TensorProto(**fields).SerializeToString()


INPUT = "test_data_set_0/input_0.pb"


# That each kind of damage is told is for the tests of the reader: tests/suite/test_models.py.
@pytest.mark.parametrize(
    ("name", "data", "told"),
    [
        ("model.onnx", b"\xff\xff\xff", "model.onnx: this is no readable model"),
        ("model.onnx", None, "there is no model.onnx in it"),
        (INPUT, b"\xff" * 9, f"{INPUT}: input_0.pb holds no readable value"),
        # 256 MiB, of which nothing is there.
        (INPUT, proto(data_type=1, dims=[1 << 26]), f"{INPUT}: input_0.pb holds no readable value"),
        (INPUT, None, "there are 0 input_*.pb, and the model has 1 inputs: x"),
        (INPUT, proto(data_type=1, dims=[1 << 40]), "a tensor of shape [1099511627776]"),
        (INPUT, proto(data_type=1, dims=[0, 1 << 40]), "holds the shape (0, 1099511627776)"),
        (INPUT, proto(data_type=99, dims=[1]), "no element type has the number 99"),
        ("data.json", b'{"rtol": NaN}', "data.json: rtol nan"),
        ("data.json", b'{"rtol": 2}', "tolerance: rtol 2 admits any value"),
    ],
)
def test_damaged_files_are_told_by_name(run, tmp_path, name, data, told):
    put(tmp_path, name, data)
    refused(run, tmp_path, told)


def test_a_type_that_the_version_does_not_have_is_told(run, tmp_path):
    x = np.array([1], ml_dtypes.int4)
    identity(tmp_path, x, "test")
    refused(run, tmp_path, "input: Identity-13 does not allow int4")


@pytest.mark.parametrize("name", ["model.onnx", INPUT, "test_data_set_0", "data.json"])
def test_no_link_leads_out_of_the_folder(run, tmp_path, name):
    put(tmp_path, "data.json", b"{}")
    outside = tmp_path / "outside"
    (tmp_path / "test" / name).rename(outside)
    (tmp_path / "test" / name).symlink_to(outside)
    refused(run, tmp_path, "this link leads out of the test's folder")
    (tmp_path / "test" / name).unlink()
    (tmp_path / "test" / name).symlink_to(tmp_path / "test" / name)
    found = run("golden", "import", "test", "-o", "case.yaml")
    assert found.exit_code in (0, 2)


def test_other_values_than_tensors_are_refused(run, tmp_path):
    x = np.array([1], np.float32)
    made = model("SequenceAt", {"s": x, "at": np.array(0)}, {"y": x}, opset=11)
    kind = helper.make_sequence_type_proto(helper.make_tensor_type_proto(1, [1]))
    made.graph.input[0].type.CopyFrom(kind)
    folder_of(tmp_path / "test", {"s": x, "at": np.array(0)}, {"y": x}, made)
    refused(run, tmp_path, "model.onnx: input 's' is no tensor: sequence_type")


def test_all_that_is_wrong_with_several_folders_is_told_at_once(run, tmp_path):
    x = np.array([1], np.float32)
    identity(tmp_path, x, "a")
    folder_of(tmp_path / "b", {"x": x}, {"y": x}, op="Relu")
    (tmp_path / "c").mkdir()
    (tmp_path / "d").write_text("")
    found = run("golden", "import", "a", "b", "c", "d", "e", "-o", "case.yaml", code=2)
    for told in (
        "b: Relu, and a case file is about one: Identity",
        "c: there is no model.onnx in it",
        "d: this is no folder",
        "e: there is no such folder",
    ):
        assert told in found.stderr


def test_a_folder_of_folders_names_one_that_is_meant(run, tmp_path):
    identity(tmp_path / "node", np.array([1]))
    refused(run, tmp_path, "node/test_identity has one", folder="node")


@pytest.mark.parametrize(
    ("file", "told"),
    [("case.txt", "a case file ends in .yaml or .yml"), ("no/case.yaml", "there is no folder no")],
)
def test_a_file_that_cannot_be_meant_is_told_first(run, tmp_path, file, told):
    identity(tmp_path, np.array([1]))
    assert told in run("golden", "import", "test_identity", "-o", file, code=2).stderr


def test_a_file_that_cannot_be_written_leaves_nothing(run, tmp_path, monkeypatch):
    def full(*words, **settings):
        raise OSError(28, "No space left on device")

    identity(tmp_path, np.arange(1000))
    monkeypatch.setattr(np, "save", full)
    found = run("golden", "import", "test_identity", "-o", "case.yaml")
    assert (found.exit_code, found.stderr) == (
        4,
        "opcheck: case.yaml cannot be written: No space left on device\n",
    )
    assert [path.name for path in tmp_path.iterdir()] == ["test_identity"]


def test_whatever_is_damaged_there_is_no_traceback(run, tmp_path):
    x = np.array([[1, 2], [3, 4]], np.float32)
    folder = folder_of(tmp_path / "test", {"a": x, "b": x}, {"y": x @ x}, op="Gemm")
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    chance = random.Random(0)
    codes = set()
    for _ in range(150):
        path = chance.choice(files)
        whole = path.read_bytes()
        data = bytearray(whole)
        if chance.random() < 0.3:
            data = data[: chance.randrange(len(data))]
        else:
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        path.write_bytes(data)
        found = run("golden", "import", "test", "-o", "case.yaml", "--force")
        codes.add(found.exit_code)
        path.write_bytes(whole)
    assert codes == {0, 2}


def test_onnx_s_own_node_tests_come_through(run, tmp_path):
    from onnx.backend.test.case.node import _NodeTestCases, topk

    assert topk
    (case,) = [case for case in _NodeTestCases if case.name == "test_top_k"]
    assert isinstance(case.model, onnx.ModelProto)
    (inputs, outputs) = case.data_sets[0]
    names = [
        [info.name for info in infos] for infos in (case.model.graph.input, case.model.graph.output)
    ]
    arrays = [dict(zip(*pair, strict=True)) for pair in zip(names, (inputs, outputs), strict=True)]
    folder = folder_of(tmp_path / case.name, *arrays, case.model)
    (folder / "data.json").write_text(json.dumps({"rtol": case.rtol, "atol": case.atol}))
    assert run("golden", "import", case.name, "-o", "case.yaml").exit_code == 0
    made = tensors(tmp_path / "case.yaml")
    assert [*made] == ["X", "K", "Values", "Indices"]
    assert all(map(same, made.values(), (*inputs, *outputs)))
    assert run("run", "case.yaml", "-b", "reference").exit_code == 0
