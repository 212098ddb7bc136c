"""`opcheck new` writes files that run as they are, and changes none that is there."""

import shlex
import shutil
import subprocess
import sys

import onnx
import pytest
import yaml

from opcheck.backends.address import profiles


def test_a_new_backend_conforms_for_its_operators(run) -> None:
    run("new", "backend", "mine", code=0)
    run("run", "--op", "Softmax,Hardmax", "--level", "smoke", "-b", "py:mine", code=0)


def test_a_new_program_that_answers_in_lines_conforms(run) -> None:
    pytest.importorskip("onnxruntime")
    run("new", "backend", "engine", "--kind", "lines", code=0)
    case = "Hardmax/worked_example@opset=13,dtype=float32,attrs.axis=none"
    run("run", "--case", case, "-b", f"cmd:{sys.executable} engine.py", code=0)


def test_a_new_program_in_cpp_conforms(run, tmp_path) -> None:
    if shutil.which("g++") is None:
        pytest.skip("not installed: g++")
    run("new", "backend", "engine", "--kind", "program", code=0)
    subprocess.run(["g++", "-std=c++17", "-o", "engine", "engine.cpp"], cwd=tmp_path, check=True)
    case = "Hardmax/worked_example@opset=13,dtype=float32,attrs.axis=none"
    run("run", "--case", case, "-b", "cmd:./engine {model} {inputs} {outputs}", code=0)


@pytest.fixture
def new_operator(run, tmp_path):
    """A function that writes a new operator, acme.nn.Swish; of an edited text, if one is given."""
    pytest.importorskip("onnxruntime")

    def write(old: str = "", new: str = "") -> None:
        run("new", "operator", "acme.nn.Swish", code=0)
        file = tmp_path / "swish.py"
        text = file.read_text()
        assert old in text
        file.write_text(text.replace(old, new) if old else text)
        subprocess.run([sys.executable, "swish.py"], cwd=tmp_path, check=True)

    return write


def test_a_new_operator_is_right_by_its_answers_and_by_its_function(
    run, tmp_path, new_operator
) -> None:
    new_operator()
    model = onnx.load(tmp_path / "swish" / "model.onnx")
    [node] = model.graph.node
    assert (node.domain, node.op_type) == ("acme.nn", "Swish")
    run("run", "swish", "-b", "onnxruntime", code=0)
    sizes = ("--dim", "rows=3", "--dim", "columns=5")
    run("run", "swish/model.onnx", *sizes, "-b", "onnxruntime", code=0)


def test_a_new_operator_whose_function_contradicts_its_answers_fails(run, new_operator) -> None:
    new_operator("Mul(positive, positive)", "Mul(X, X)")
    run("run", "swish", "-b", "onnxruntime", code=1)


@pytest.mark.parametrize("op", ["Softmax", "conv", "StringSplit", "Add", "Loop"])
def test_a_new_case_file_is_right_by_itself(run, op: str) -> None:
    run("new", "case", op, "first.yaml", code=0)
    run("list", "first.yaml", code=0)
    run("run", "first.yaml", "-b", "numpy", code=0)


@pytest.mark.parametrize(
    ("address", "name"), [("numpy", "mine"), ("""cmd:./run "{model}" 'a' \\b é""", "run")]
)
def test_a_new_gate_has_settings_and_workflows(run, tmp_path, address: str, name: str) -> None:
    run("new", "gate", "--backend", address, code=0)
    assert str(profiles(tmp_path)[name].address) == address
    workflows = tmp_path / ".github" / "workflows"
    calling = yaml.safe_load((workflows / "conformance.yml").read_text())
    assert calling["jobs"]["conformance"]["uses"] == "./.github/workflows/opcheck.yml"
    called = yaml.safe_load((workflows / "opcheck.yml").read_text())
    inputs = called[True]["workflow_call"]["inputs"]  # YAML takes `on` for a truth value.
    given = calling["jobs"]["conformance"]["with"]
    assert given.keys() <= inputs.keys()
    # The ledger is not there yet.
    assert "options" not in given
    assert given["backends"] == name


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["-b", "py:npu"], "npu"),
        (["-b", "py:tools.npu:Npu"], "npu"),
        (["-b", "cmd:./build/my-run {model}"], "my-run"),
        (["-b", "cmd"], "mine"),
        (["-b", "cmd: "], "mine"),
        (["-b", "onnxruntime"], "mine"),
        (["-b", "onnxruntime", "--name", "gpu"], "gpu"),
    ],
)
def test_the_profile_of_a_gate_is_called_like_its_backend(run, tmp_path, words, name: str) -> None:
    printed = run("new", "gate", *words, code=0).stdout
    assert [*profiles(tmp_path)] == [name]
    assert all(f" -b {name} " in line for line in printed.splitlines()[1:])


def test_operators_of_a_gate_are_the_scope_of_its_profile(run, tmp_path) -> None:
    with_operators = run("new", "gate", "-b", "py:npu", "--op", "Softmax,Reduce*", code=0).stdout
    assert profiles(tmp_path)["npu"].operators == ("Softmax", "Reduce*")
    assert "opcheck support" not in with_operators
    # Without them, the first thing to do is to find them.
    without = run("new", "gate", "elsewhere", "-b", "py:npu", code=0).stdout
    assert profiles(tmp_path / "elsewhere")["npu"].operators == ()
    assert without.splitlines()[1].startswith("  opcheck support -b npu ")


@pytest.mark.parametrize("words", [["--name", "numpy"], ["--name", "a b"], ["--op", "Softmx"]])
def test_a_gate_with_a_name_or_an_operator_that_cannot_be_is_not_written(
    run, tmp_path, words
) -> None:
    run("new", "gate", "-b", "onnxruntime", *words, code=2)
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize(
    ("words", "file"),
    [
        (("backend", "mine"), "mine.py"),
        (("case", "Softmax"), "softmax.yaml"),
        (("operator", "acme.Swish"), "swish.py"),
        (("gate",), ".github/workflows/conformance.yml"),
    ],
)
def test_a_file_that_is_there_stays_as_it_is(run, tmp_path, words, file: str) -> None:
    path = tmp_path / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("mine")
    before = {*tmp_path.rglob("*")}
    run("new", *words, code=2)
    assert path.read_text() == "mine"
    assert {*tmp_path.rglob("*")} == before


def test_a_link_that_leads_nowhere_stays_as_it_is(run, tmp_path) -> None:
    (tmp_path / "opcheck.toml").symlink_to("elsewhere")
    run("new", "gate", code=2)
    assert [path.name for path in tmp_path.iterdir()] == ["opcheck.toml"]


def test_printed_commands_are_quoted_for_a_shell(run) -> None:
    next_command = run("new", "backend", "my engine", "--kind", "lines", code=0).output
    [line] = [line for line in next_command.splitlines() if "opcheck run" in line]
    assert shlex.split(shlex.split(line)[-1].removeprefix("cmd:")) == ["python3", "my engine.py"]


@pytest.mark.parametrize(
    "words",
    [
        ("backend", "my-backend"),
        ("backend", "mine.v2"),
        ("backend", "sub/mine"),
        ("backend", "sub/mine", "--kind", "program"),
        ("case", "Softmx"),
        ("case", "RandomNormal"),
        ("operator", "Swish"),
        ("operator", "acme.swish"),
        ("operator", "acme/Swish"),
        ("operator", "ai.onnx.Relu"),
        ("operator", "ai.onnx.ml.Scaler"),
    ],
)
def test_what_cannot_be_written_is_an_error(run, tmp_path, words) -> None:
    run("new", *words, code=2)
    assert not [*tmp_path.iterdir()]


def test_a_gate_of_no_backend_is_not_written(run, tmp_path) -> None:
    run("new", "gate", "--backend", "mine", code=2)
    assert not [*tmp_path.iterdir()]
