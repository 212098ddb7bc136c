"""Models on the command line: folders of tests, the onnx package's own, and single files."""

import json
import shutil

import numpy as np
import pytest
from onnx import helper

from tests.models import X, model, relu, tensor, write

Y = np.maximum(X, 0)
NEXT = np.array([[9.0, 9.0, 9.0]], np.float32)


def unchanged():
    """A model of an operator that the engine lacks."""
    node = helper.make_node("Scaler", ["x"], ["y"], domain="ai.onnx.ml", offset=[0.0], scale=[1.0])
    shape = (1, 3)
    return model([node], [tensor("x", shape=shape)], [tensor("y", shape=shape)], opset=1,
                 domain="ai.onnx.ml")  # fmt: skip


def test_a_folder_of_test_data_is_judged_and_the_failure_can_be_repeated(run, tmp_path):
    write(tmp_path / "data" / "node" / "test_right", unchanged(), [X], [X])
    write(tmp_path / "data" / "node" / "test_wrong", unchanged(), [X], [NEXT])
    found = run("run", "data", "-b", "onnxruntime", "-b", "reference", "--report", "json=run.jsonl")
    assert found.exit_code == 1
    assert "exit 1: does not conform: 2 fail" in found.stdout
    asked = "Scaler-1 at opset 1, offset=[0.0] scale=[1.0], x float32[1, 3] [[1, -2, 3]]"
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
    shown = run("report", "run.jsonl")
    assert "exit 1: does not conform: 2 fail" in shown.stdout
    shutil.copy("run.jsonl", "again.jsonl")
    assert run("diff", "run.jsonl", "again.jsonl").exit_code == 0


def test_they_are_listed_selected_and_saved_like_other_cases(run, tmp_path):
    write(tmp_path / "data" / "test_a", relu(), [X], [Y])
    write(tmp_path / "data" / "test_b", unchanged(), [X], [X])
    found = run("list", "data", "--op", "Scaler", "--save-questions", "questions")
    listed = "  test_b  Scaler-1, must, core, literal"
    assert found.stdout.splitlines()[:2] == ["data", listed]
    assert (tmp_path / "questions" / "test_b" / "model.onnx").exists()
    assert not (tmp_path / "questions" / "test_a").exists()
    assert run("run", "data", "-b", "reference", "--save-outputs", "saved").exit_code == 0
    assert run("run", "data", "-b", "saved:saved").exit_code == 0
    assert run("run", "data", "-k", "test_b", "-b", "numpy").exit_code == 5


@pytest.mark.gate
def test_node_tests_are_run_by_name(run):
    found = run("run", "onnx-node/hardmax_*", "-b", "numpy", "-b", "reference", "-q", code=0)
    assert "exit 0: conforms: 14 results, nothing unexpected" in found.stdout


def test_backends_are_compared_on_a_model(run, tmp_path):
    (tmp_path / "m.onnx").write_bytes(relu(["batch", 3]).SerializeToString())
    both = ("-b", "onnxruntime", "-b", "reference")
    found = run("run", "m.onnx", "--dim", "batch=4", *both, code=0)
    assert "onnxruntime, reference" in found.stdout
    assert run("run", "m.onnx", *both).stderr.startswith(
        "m.onnx: input 'x': nobody says how large axis 0 is: --dim batch=N"
    )
    for wrong in ("batch", "batch=", "batch=-1", "=4", "batch=4.0"):
        assert run("run", "m.onnx", "--dim", wrong, *both).exit_code == 2
    assert run("run", "m.onnx", "--dim", "batch=4", "--dim", "batch=5", *both).exit_code == 2
    assert run("run", "m.onnx", "--dim", "batch=4", "-b", "reference").exit_code == 2


def test_a_backend_that_differs_is_told_with_the_command_that_repeats_it(run, tmp_path):
    (tmp_path / "m.onnx").write_bytes(relu(["batch", 3]).SerializeToString())
    words = ("run", "m.onnx", "--dim", "batch=4", "-b", "py:tests.models:Negating")
    found = run(*words, "-b", "onnxruntime", "-b", "reference", code=1)
    assert "--dim=batch=4 --case m.onnx" in found.stdout


def test_files_from_strangers_end_with_a_message_each(run, tmp_path):
    write(tmp_path / "data" / "test_a", b"\xff\xfe", [X], [Y])
    write(tmp_path / "data" / "test_b", relu(), [b"\x08"], [Y])
    found = run("run", "data", "-b", "reference")
    assert (found.exit_code, found.stdout) == (2, "")
    *problems, last = found.stderr.splitlines()
    assert [line.partition(": ")[0] for line in problems] == [
        "data/test_a/model.onnx",
        "data/test_b/test_data_set_0",
    ]
    assert last == "2 problems in 2 files; nothing was run"


def test_commands_that_take_case_files_only_say_so(run, tmp_path):
    write(tmp_path / "data" / "test_a", relu(), [X], [Y])
    for path in ("data", "onnx-node", "m.onnx"):
        assert run("bench", path, "-b", "numpy", code=2).stderr == (
            f"opcheck: {path}: opcheck bench takes case files only, no models\n"
        )
