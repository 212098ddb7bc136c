import random
import shutil
import sys
from collections import Counter
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from opcheck.errors import CaseFileError, UsageError
from opcheck.execution.expected import question
from opcheck.graph import test_data
from opcheck.model import GRAPH, Agreement, Computed, Fill, OpVersion, Port, Tolerance, Values
from opcheck.suite import load_all
from opcheck.suite.models import fed_from, is_node_tests
from tests.expecting import error_of
from tests.models import X, model, optional_of, relu, sequence_of, tensor, typed, write

Y = np.maximum(X, 0)


def told(*paths):
    caught = error_of(CaseFileError, load_all, paths)
    return [f"{Path(p.file).name}: {p.message}" for p in caught.problems]


def one(path):
    (case,) = load_all([path])
    return case


def test_a_folder_of_tests_is_a_case_for_each_data_set(tmp_path):
    write(tmp_path / "+node" / "test_b", relu(), [X], [Y])
    write(tmp_path / "+node" / "test_a", relu(), [X], [Y], "test_data_set_10")
    write(tmp_path / "+node" / "test_a", relu(), [X], [Y], "test_data_set_2")
    write(tmp_path / ".hidden" / "test_c", relu(), [X], [Y])
    cases = load_all([tmp_path])
    assert [case.id for case in cases] == ["+node/test_a#2", "+node/test_a#10", "+node/test_b"]
    assert {str(case.source) for case in cases} == {str(tmp_path)}
    assert {case.op for case in cases} == {OpVersion("", "Relu", 14)}
    assert {case.opset for case in cases} == {17}


def test_a_test_s_own_folder_is_one_too(tmp_path):
    assert one(write(tmp_path / "test_a", relu(), [X], [Y])).id == "test_a"


def test_tolerance_is_that_of_data_json_or_of_onnx_s_runner(tmp_path):
    folder = write(tmp_path / "test_a", relu(), [X], [Y])
    assert one(folder).tolerance == Tolerance(rtol=1e-3, atol=1e-7)
    (folder / "data.json").write_text('{"rtol": 0.5, "url": "x"}')
    assert one(folder).tolerance == Tolerance(rtol=0.5, atol=1e-7)


def test_bfloat16_is_allowed_two_ulp_at_the_least_as_onnx_s_runner_does(tmp_path):
    code = TensorProto.BFLOAT16
    node = helper.make_node("Relu", ["x"], ["y"])
    proto = model([node], [tensor("x", code)], [tensor("y", code)])
    brief = X.astype(ml_dtypes.bfloat16)
    found = one(write(tmp_path / "test_a", proto, [brief], [brief])).tolerance
    assert found == Tolerance(rtol=2.0**-6, atol=1e-7)


def test_files_are_fed_by_place_whatever_name_is_in_them(tmp_path):
    node = helper.make_node("Sub", ["x", "y"], ["z"])
    proto = model([node], [tensor("x"), tensor("y")], [tensor("z")])
    swapped = [numpy_helper.from_array(X, "y"), numpy_helper.from_array(X + 1, "x")]
    asked = question(one(write(tmp_path / "test_a", proto, swapped, [X])))
    feed = asked.task.feed(asked.inputs)
    assert [*feed] == ["x", "y"]
    assert feed["x"].tolist() == X.tolist()


def test_an_input_with_a_value_of_its_own_is_fed_only_where_there_is_a_file_for_it(tmp_path):
    node = helper.make_node("Add", ["w", "x"], ["y"])
    weights = numpy_helper.from_array(X, "w")
    proto = model([node], [tensor("w"), tensor("x")], [tensor("y")], [weights], 7, 3)
    case = one(write(tmp_path / "a" / "test_a", proto, [X], [2 * X]))
    assert [spec.name for spec in case.inputs if not spec.initializer] == ["x"]
    case = one(write(tmp_path / "b" / "test_a", proto, [X, X], [2 * X]))
    assert [spec.name for spec in case.inputs] == ["w", "x"]


def test_sequences_and_optionals_are_tensors_in_a_row(tmp_path):
    node = helper.make_node("SequenceAt", ["s", "i"], ["y"])
    inputs = [typed("s", sequence_of()), tensor("i", TensorProto.INT64, [])]
    proto = model([node], inputs, [tensor("y", shape=None)])
    asked = question(one(write(tmp_path / "a", proto, [[X, Y], np.array(1)], [Y])))
    assert [spec.name for spec in asked.task.inputs] == ["s[0]", "s[1]", "i"]
    fed = asked.task.values(asked.inputs)
    assert [one.tolist() for one in fed["s"]] == [X.tolist(), Y.tolist()]
    assert fed["i"].tolist() == 1

    node = helper.make_node("OptionalHasElement", ["o"], ["y"])
    declared = optional_of(helper.make_tensor_type_proto(TensorProto.FLOAT, None))
    proto = model([node], [typed("o", declared)], [tensor("y", TensorProto.BOOL, [])], opset=18)
    nothing = numpy_helper.from_optional(None, "o")
    case = one(write(tmp_path / "b", proto, [nothing], [np.array(False)]))
    assert case.ports == (Port("o", "nothing", 0),)
    assert question(case).task.values([]) == {"o": None}


def test_maps_are_counted_and_named(tmp_path, wording):
    words = helper.make_tensor_type_proto(TensorProto.STRING, None)
    maps = helper.make_sequence_type_proto(helper.make_map_type_proto(TensorProto.INT64, words))
    labels = {"domain": "ai.onnx.ml", "classlabels_int64s": [1, 2, 3]}
    node = helper.make_node("ZipMap", ["x"], ["z"], **labels)
    proto = model([node], [tensor("x")], [typed("z", maps)], opset=1, domain="ai.onnx.ml")
    assert one(write(tmp_path / "a", proto, [X], [b"whatever"])).beyond == wording


def test_a_node_of_the_engine_is_stated_and_others_are_graphs(tmp_path):
    proto = model([helper.make_node("Softmax", ["x"], ["y"], axis=1)], [tensor("x")], [tensor("y")])
    case = one(write(tmp_path / "a", proto, [X], [X]))
    assert (case.op, case.attrs, case.slots) == (OpVersion("", "Softmax", 13), {"axis": 1}, ("x",))
    twice = [helper.make_node("Relu", ["x"], ["a"]), helper.make_node("Relu", ["a"], ["y"])]
    proto = model(twice, [tensor("x")], [tensor("y")])
    case = one(write(tmp_path / "b", proto, [X], [Y]))
    assert (case.op, case.attrs, case.slots, case.opset) == (GRAPH, {}, (), 17)


def test_random_outputs_are_told_apart(tmp_path):
    node = helper.make_node("Bernoulli", ["x"], ["y"])
    case = one(write(tmp_path / "a", model([node], [tensor("x")], [tensor("y")]), [Y], [Y]))
    assert isinstance(case.expect, Values)
    assert case.expect.random == {"y"}
    assert case.op.name == "Bernoulli"
    assert question(case).random


@pytest.mark.parametrize(
    ("ratio", "trains", "is_random"),
    [(0.5, True, True), (0.0, True, False), (0.5, False, False), (0.5, None, True)],
)
def test_a_dropout_that_drops_nothing_is_not_random(tmp_path, ratio, trains, is_random):
    node = helper.make_node("Dropout", ["x", "r", "t"], ["d"])
    last = helper.make_node("Neg", ["d"], ["y"])
    constants = [numpy_helper.from_array(np.float32(ratio), "r")]
    inputs = [tensor("x")]
    if trains is None:  # It is fed.
        inputs.append(tensor("t", TensorProto.BOOL, []))
    else:
        constants.append(numpy_helper.from_array(np.array(trains), "t"))
    proto = model([node, last], inputs, [tensor("y")], constants)
    assert test_data.random_outputs(proto) == ({"y"} if is_random else set())


def _empty(*sizes):
    return TensorProto(data_type=1, dims=sizes).SerializeToString()


@pytest.fixture
def folder(tmp_path):
    return write(tmp_path / "test_a", relu(), [X], [Y])


@pytest.mark.parametrize(
    ("inputs", "outputs", "said"),
    [
        ([], [Y], "there are 0 input_*.pb, and the model has 1 inputs: x"),
        ([X, X], [Y], "there are 2 input_*.pb, and the model has 1 inputs: x"),
        ([X], [Y, Y], "there are 2 output_*.pb, and the model has 1 outputs: y"),
        ([b"\xff\xff\xff"], [Y], "input_0.pb holds no readable value"),
        ([X], [b"\xff\xff\xff"], "output_0.pb holds no readable value"),
        # 256 MiB, of which nothing is there.
        ([_empty(1 << 26)], [Y], "input_0.pb holds no readable value"),
        ([_empty(0, 1 << 40)], [Y], "input_0.pb holds the shape (0, 1099511627776), and"),
        ([X.astype("f8")], [Y], "input_0.pb holds float64, and the model's input 'x' is float32"),
        ([X], [Y > 0], "output_0.pb holds bool, and the model's output 'y' is float32"),
        ([X[:, :2]], [Y], "input_0.pb holds the shape (1, 2), and the model's input"),
    ],
)
def test_data_that_are_not_the_model_s_are_told(tmp_path, inputs, outputs, said):
    (found,) = told(write(tmp_path / "test_a", relu(), inputs, outputs))
    assert found.startswith(f"test_data_set_0: {said}")


def test_every_problem_of_every_test_is_told_at_once(tmp_path):
    write(tmp_path / "test_a", b"no model", [X], [Y])
    folder = write(tmp_path / "test_b", relu(), [b"\xff"], [Y])
    (folder / "data.json").write_text('{"rtol": -1, "atol": NaN}')
    write(tmp_path / "test_c", relu(), [X], [Y])
    found = told(tmp_path)
    files = [one.partition(":")[0] for one in found]
    assert files == ["model.onnx", "data.json", "test_data_set_0"]
    assert "rtol -1, atol nan" in found[1]


def test_any_damage_is_told_or_read_but_never_a_crash(folder):
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    chance, ends = random.Random(0), Counter[str]()
    for _ in range(150):
        path = chance.choice(files)
        whole = path.read_bytes()
        data = bytearray(whole)
        if chance.random() < 0.3:
            data = data[: chance.randrange(len(data))]
        else:
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        path.write_bytes(data)
        try:
            ends["read"] += len(load_all([folder]))
        except CaseFileError as error:
            ends["told"] += len(error.problems)
        path.write_bytes(whole)
    assert min(ends["read"], ends["told"]) > 20


def test_a_gap_and_two_files_for_one_value_are_told(folder, wording):
    data = folder / "test_data_set_0"
    np.save(data / "input_0.npy", X)
    assert told(folder) == [wording]
    (data / "input_0.npy").unlink()
    (data / "input_0.pb").rename(data / "input_1.pb")
    assert told(folder) == [wording]


def test_npy_files_are_read(folder):
    data = folder / "test_data_set_0"
    (data / "input_0.pb").unlink()
    np.save(data / "input_0.npy", X)
    assert question(one(folder)).inputs[0].tolist() == X.tolist()


def test_links_that_lead_out_are_refused(folder, tmp_path, wording):
    target = folder / "test_data_set_0" / "input_0.pb"
    (tmp_path / "elsewhere.pb").write_bytes(target.read_bytes())
    target.unlink()
    target.symlink_to(tmp_path / "elsewhere.pb")
    assert told(folder) == [wording]
    target.unlink()
    target.symlink_to(target)
    assert told(folder) == [wording]


def test_folders_that_are_links_are_not_passed_over_in_silence(tmp_path, wording):
    write(tmp_path / "data" / "test_a", relu(), [X], [Y])
    write(tmp_path / "elsewhere" / "test_b", relu(), [X], [Y])
    (tmp_path / "data" / "test_b").symlink_to(tmp_path / "elsewhere" / "test_b")
    assert told(tmp_path / "data") == [wording]


def test_more_than_memory_may_hold_is_refused(tmp_path, monkeypatch, wording):
    write(tmp_path / "test_a", relu(), [X], [Y])
    write(tmp_path / "test_b", relu(), [X], [Y])
    assert len(load_all([tmp_path])) == 2
    monkeypatch.setattr(sys.modules["opcheck.suite.models"], "MAX_HELD", 150)
    (found,) = told(tmp_path)
    assert found == wording


@pytest.mark.parametrize(
    "names",
    [
        ["test_A", "test_a"],
        ["test_\x1b[2J"],
    ],
)
def test_names_that_differ_by_case_only_or_that_a_terminal_obeys_are_told(tmp_path, names, wording):
    for name in names:
        write(tmp_path / name, relu(), [X], [Y])
    (found,) = told(tmp_path)
    assert found == wording


def test_a_folder_of_both_kinds_and_one_of_neither_are_told(tmp_path, wording):
    (tmp_path / "readme").touch()
    assert told(tmp_path) == [wording]
    write(tmp_path / "test_a", relu(), [X], [Y])
    (tmp_path / "mine.yaml").write_text("op: Relu\ncases: []\n")
    with pytest.raises(UsageError) as raised:
        load_all([tmp_path])
    assert raised.value == wording


def test_a_model_without_data_is_told(tmp_path, wording):
    folder = tmp_path / "test_a"
    folder.mkdir()
    (folder / "model.onnx").write_bytes(relu().SerializeToString())
    assert told(folder) == [wording]
    (folder / "model.onnx").unlink()
    (folder / "test_data_set_0").mkdir()
    assert told(folder)[0] == wording


def test_a_data_set_without_outputs_is_damaged(folder, wording):
    shutil.copytree(folder / "test_data_set_0", folder / "test_data_set_1")
    for number in (1, 0):
        (folder / f"test_data_set_{number}" / "output_0.pb").unlink()
        assert told(folder) == wording


@pytest.mark.gate
def test_node_tests_are_those_of_the_package_every_one_of_them():
    from onnx.backend.test.case.node import collect_testcases

    cases = {case.id: case for case in load_all([Path("onnx-node")])}
    theirs = {test.name: test for test in collect_testcases(None)}
    assert cases.keys() == theirs.keys()
    assert not [case.id for case in cases.values() if case.beyond]
    for name, test in theirs.items():
        assert cases[name].model == test.model.SerializeToString(deterministic=True)
        ports = cases[name].ports
        assert [port.name for port in ports] == [info.name for info in test.model.graph.input]
        ((inputs, _),) = test.data_sets
        fed = [len(value) if isinstance(value, list) else value is not None for value in inputs]
        assert [port.count for port in ports] == fed


def test_a_pattern_selects_some_and_one_that_selects_none_is_an_error(monkeypatch, wording):
    data = (test_data.DataSet(0, (X,), (Y,)),)
    names = ("test_a", "test_softmax_b", "test_softmax_c")
    tests = tuple(test_data.ModelTest(name, relu(), relu().graph.input, data) for name in names)
    monkeypatch.setattr(test_data, "all_node_tests", lambda: tests)
    (case,) = load_all([Path("onnx-node/softmax_b")])
    assert (case.id, str(case.source)) == ("test_softmax_b", "onnx-node")
    assert [case.id for case in load_all([Path("onnx-node/test_soft*")])] == [*names[1:]]
    assert [case.id for case in load_all([Path("onnx-node")])] == [*names]
    for pattern, hint in (
        ("test_b", "'test_a'"),
        ("nothing_alike", "such as 'onnx-node/test_soft"),
    ):
        caught = error_of(UsageError, load_all, [Path("onnx-node") / pattern])
        assert caught.message == wording
        assert hint in caught.hint
    assert not is_node_tests(Path("onnx-node/a/b"))


def test_a_folder_of_that_name_is_not_guessed_at(tmp_path, monkeypatch, wording):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "onnx-node").mkdir()
    with pytest.raises(UsageError) as raised:
        load_all([Path("onnx-node")])
    assert raised.value == wording


def at(path, proto):
    path.write_bytes(proto if isinstance(proto, bytes) else proto.SerializeToString())
    return path


def problem(path, **dims):
    (one,) = error_of(CaseFileError, load_all, [path], dims).problems
    assert one.file == str(path)
    return one.message


def test_inputs_are_made_up(tmp_path):
    path = at(tmp_path / "m.onnx", relu(["batch", 3]))
    (case,) = load_all([path], {"batch": 4})
    assert isinstance(case.expect, Computed)
    assert case.id == str(case.source) == str(path)
    assert case.inputs[0].content == Fill("normal", (0.0, 1.0), 0)
    assert case.said == ("--dim=batch=4",)
    (x,) = question(case).inputs
    assert (x.dtype, x.shape) == (np.float32, (4, 3))
    assert np.unique(x).size == 12
    (again,) = load_all([path], {"batch": 4})
    assert question(again).inputs[0].tolist() == x.tolist()


def open_size(axis: int, option: str) -> str:
    return f"input 'x': the size of axis {axis} is not fixed by the model: add {option}"


def test_sizes_go_by_name_or_by_place(tmp_path, wording):
    path = at(tmp_path / "m.onnx", relu([None, "n"]))
    assert problem(path, n=2) == wording
    assert problem(path, **{"x[0]": 2}) == wording
    shapes = {"x": [None, 1 << 40], "w": [1 << 27], "z": [None]}
    inputs = [tensor(name, shape=shape) for name, shape in shapes.items()]
    node = helper.make_node("Sum", [*shapes], ["y"])
    three = at(tmp_path / "three.onnx", model([node], inputs, [tensor("y", shape=None)]))
    caught = error_of(CaseFileError, load_all, [three])
    assert [one.message[:9] for one in caught.problems] == [f"input '{name}'" for name in "xwz"]
    odd = at(tmp_path / "odd.onnx", relu(["?", "?"]))
    assert problem(odd, **{"x[0]": 2}).endswith("--dim 'x[1]'=SIZE")
    (case,) = load_all([path], {"x[0]": 2, "x[1]": 5})
    assert case.inputs[0].shape == (2, 5)
    with pytest.raises(UsageError) as raised:
        load_all([path], {"x[0]": 2, "x[1]": 5, "n": 7})
    assert raised.value == wording


def test_several_unnamed_sizes_are_asked_for_as_one_shape(tmp_path, wording):
    path = at(tmp_path / "m.onnx", relu([None, 3, None, None]))
    assert problem(path) == wording
    assert problem(path, **{"x[2]": 5}) == wording
    (case,) = load_all([path], {"x[0]": 2, "x[1]": 3, "x[2]": 4, "x[3]": 5})
    assert case.inputs[0].shape == (2, 3, 4, 5)


def test_a_size_that_the_model_fixes_is_as_it_states(tmp_path, wording):
    path = at(tmp_path / "m.onnx", relu([None, 3]))
    with pytest.raises(UsageError) as caught:
        load_all([path], {"x[0]": 2, "x[1]": 4})
    assert caught.value == wording


def test_sizes_that_no_model_has_are_an_error(tmp_path, wording):
    path = at(tmp_path / "m.onnx", relu(["batch", 3]))
    with pytest.raises(UsageError) as caught:
        load_all([path], {"bach": 4})
    assert caught.value == wording


def test_a_size_that_only_follows_from_inputs_cannot_be_given(tmp_path, wording):
    node = helper.make_node("NonZero", ["x"], ["y"])
    proto = model([node], [tensor("x")], [tensor("y", TensorProto.INT64, (2, "found"))])
    with pytest.raises(UsageError) as raised:
        load_all([at(tmp_path / "m.onnx", proto)], {"found": 4})
    assert raised.value == wording


def test_a_right_size_hides_no_other_reason(tmp_path, wording):
    noise = [helper.make_node("RandomNormalLike", ["x"], ["y"])]
    open_size = [tensor("x", shape=["b", 3])], [tensor("y", shape=["b", 3])]
    path = at(tmp_path / "noise.onnx", model(noise, *open_size))
    (case,) = load_all([path], {"b": 2})
    assert case.beyond == wording
    with pytest.raises(UsageError) as caught:
        load_all([path], {"c": 2})
    assert caught.value == wording
    assert caught.value.hint == "there are b, x[0]"
    unknown = [helper.make_node("NotOfOnnx", ["x"], ["y"])]
    path = at(tmp_path / "unknown.onnx", model(unknown, *open_size))
    assert problem(path, b=2) == wording


def test_a_model_that_cannot_be_read_is_named_and_not_the_folder_of_its_inputs(tmp_path, wording):
    path = tmp_path / "m.onnx"
    path.write_bytes(b"no model")
    caught = error_of(UsageError, load_all, [path], {}, inputs=tmp_path)
    assert caught.message == wording


def test_integers_are_small_and_booleans_either(tmp_path):
    node = helper.make_node("Where", ["c", "i", "i"], ["y"])
    inputs = [tensor("c", TensorProto.BOOL, [99]), tensor("i", TensorProto.INT64, [99])]
    path = at(tmp_path / "m.onnx", model([node], inputs, [tensor("y", TensorProto.INT64, [99])]))
    (case,) = load_all([path])
    c, i = question(case).inputs
    assert {*c.tolist()} == {True, False}
    assert {*i.tolist()} == {0, 1, 2, 3}


@pytest.mark.parametrize("shape", [[1 << 40, 1 << 20], [1 << 27], [-2], [-5, -5]])
def test_absurd_shapes_are_told_before_anything_is_made(tmp_path, shape, wording):
    found = problem(at(tmp_path / "m.onnx", relu(shape)))
    assert "is declared as float32[" in found
    assert found == wording


def test_a_size_of_minus_one_is_open(tmp_path, wording):
    path = at(tmp_path / "m.onnx", relu([-1, 3]))
    assert problem(path) == wording
    (case,) = load_all([path], {"x[0]": 2})
    assert case.inputs[0].shape == (2, 3)


def test_shapes_that_are_not_declared_are_told(tmp_path, wording):
    node = helper.make_node("Add", ["x", "z"], ["y"])
    proto = model([node], [tensor("x"), tensor("z")], [tensor("y")])
    for one in proto.graph.input:
        one.type.tensor_type.ClearField("shape")
    caught = error_of(CaseFileError, load_all, [at(tmp_path / "m.onnx", proto)])
    assert [one.message for one in caught.problems] == wording


@pytest.mark.parametrize("data", [b"", b"\xff" * 99, b"op: Relu"])
def test_what_is_no_model_is_told(tmp_path, data, wording):
    assert problem(at(tmp_path / "m.onnx", data)) == wording


def test_a_missing_model_is_told(tmp_path, wording):
    assert problem(at(tmp_path / "ü.onnx", relu())) == wording
    assert problem(tmp_path / "m.onnx") == wording


def test_what_cannot_be_made_up_or_compared_is_counted_and_named(tmp_path, wording):
    node = helper.make_node("SequenceLength", ["s"], ["y"])
    proto = model([node], [typed("s", sequence_of())], [tensor("y", TensorProto.INT64, [])])
    (case,) = load_all([at(tmp_path / "s.onnx", proto)])
    assert case.beyond == wording
    node = helper.make_node("Bernoulli", ["x"], ["y"])
    proto = model([node], [tensor("x")], [tensor("y")])
    (case,) = load_all([at(tmp_path / "b.onnx", proto)])
    assert case.beyond == wording
    assert case.tolerance == Tolerance(rtol=1e-3, atol=1e-4)
    node = helper.make_node("Identity", ["x"], ["y"])
    words = TensorProto.STRING
    proto = model([node], [tensor("x", words)], [tensor("y", words)])
    (case,) = load_all([at(tmp_path / "w.onnx", proto)])
    assert case.beyond == wording
    # The engine computes it, and yet nobody can be asked.
    assert isinstance(case.expect, Agreement)
    one = numpy_helper.from_array(np.ones(1, np.float32), "v")
    sparse = helper.make_sparse_tensor(
        one, numpy_helper.from_array(np.zeros(1, np.int64), "i"), [3]
    )
    nodes = [
        helper.make_node("Constant", [], ["c"], sparse_value=sparse),
        helper.make_node("Add", ["x", "c"], ["y"]),
    ]
    (case,) = load_all([at(tmp_path / "c.onnx", model(nodes, [tensor("x")], [tensor("y")]))])
    assert isinstance(case.expect, Agreement)
    assert not case.beyond


def test_a_model_may_be_fed_from_files(tmp_path, wording):
    node = helper.make_node("Gather", ["x", "w"], ["y"])
    inputs = [tensor("x", shape=["n", 3]), tensor("w", TensorProto.INT64, [None])]
    path = at(tmp_path / "m.onnx", model([node], inputs, [tensor("y", shape=None)]))
    folder = tmp_path / "in"
    folder.mkdir()
    places = numpy_helper.from_array(np.array([0, 2]))
    at(folder / "input_1.pb", places)
    np.save(folder / "x.npy", np.ones((4, 3), np.float32))
    found, sizes = fed_from(path, folder)
    assert {name: one.shape for name, one in found.items()} == {"x": (4, 3), "w": (2,)}
    assert sizes == {"x[0]": 4, "w[0]": 2}
    (case,) = load_all([path], inputs=folder)
    assert case.said == (f"--inputs={folder}",)
    assert [spec.content.values.tolist() for spec in case.inputs] == [[[1] * 3] * 4, [0, 2]]

    def told():
        return error_of(UsageError, fed_from, path, folder).message.removeprefix(f"{folder}")

    for array, held in (
        (np.ones((4, 3)), "float64[4, 3]"),
        (np.ones(3, "f4"), "float32[3]"),
        (np.ones((4, 2), "f4"), "float32[4, 2]"),
        (np.zeros(1, "M8[s]"), "datetime64[s][1]"),
    ):
        np.save(folder / "x.npy", array)
        message = told()
        assert held in message
        assert message == wording
    np.save(folder / "x.npy", np.ones((4, 3), np.float32))
    at(folder / "input_1.pb", numpy_helper.from_array(np.array(0)))
    assert told() == wording
    at(folder / "input_0.pb", places)
    assert told() == " has both x.npy and input_0.pb"
    (folder / "x.npy").rename(folder / "z.npy")
    assert told() == wording
    (folder / "z.npy").unlink()
    (folder / "input_0.pb").unlink()
    assert told() == " has neither x.npy nor input_0.pb"
    at(folder / "x.npy", b"no array")
    assert told().startswith(": x.npy")
