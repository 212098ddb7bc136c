from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx.backend.test.case.node import collect_testcases
from onnx.backend.test.loader import load_model_tests
from onnx.backend.test.runner import Runner

from opcheck.errors import Unwritable, UsageError
from opcheck.execution.saving import write_node_tests
from opcheck.suite import load_all

#: Among them sequences, optionals, strings, minifloats, 4-bit integers and numbers without an axis.
PATTERNS = [
    "identity*", "optional_has*", "string_concat*", "cast_*FLOAT8E5M2_to*", "clip", "*INT4*",
]  # fmt: skip


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    root = tmp_path_factory.mktemp("tests")
    for number, pattern in enumerate(PATTERNS):
        assert write_node_tests(root / f"{number}", Path(f"onnx-node/{pattern}")) > 0
    return root


def same(one, other):
    if isinstance(one, list):
        return isinstance(other, list) and len(one) == len(other) and all(map(same, one, other))
    if one is None or other is None:
        return one is other
    one, other = np.asarray(one), np.asarray(other)
    return (one.dtype, one.shape) == (other.dtype, other.shape) and (
        one.tolist() == other.tolist() or one.tobytes() == other.tobytes()
    )


@pytest.mark.gate
def test_onnx_s_own_loader_reads_what_the_package_made(written):
    made = {case.name: case for case in collect_testcases(None)}
    count = 0
    for root in written.iterdir():
        # By another name, since for "node" it makes the tests anew.
        (root / "node").rename(root / "files")
        for found in load_model_tests(str(root), "files"):
            case = made[found.name]
            model = onnx.load(f"{found.model_dir}/model.onnx")
            assert model == case.model
            assert (found.rtol, found.atol) == (case.rtol, case.atol)
            for number, (inputs, outputs) in enumerate(case.data_sets):
                folder = Path(found.model_dir) / f"test_data_set_{number}"
                for what, infos, values in (
                    ("input", model.graph.input, inputs),
                    ("output", model.graph.output, outputs),
                ):
                    read = _read(folder, what, infos)
                    assert len(read) == len(values)
                    for got, value in zip(read, values, strict=True):
                        if isinstance(value, onnx.TensorProto):
                            value = onnx.numpy_helper.to_array(value)
                        assert same(got, value), (found.name, what)
                        count += 1
    assert count > 100


def _read(folder, what, infos):
    found = []
    for number in range(len([*folder.glob(f"{what}_*.pb")])):
        Runner._load_proto(None, folder / f"{what}_{number}.pb", found, infos[number].type)
    return found


def test_read_again_they_are_the_same_cases(tmp_path):
    write_node_tests(tmp_path / "new", Path("onnx-node/softmax*"))
    ours = {case.name: case for case in load_all([tmp_path / "new" / "node"])}
    theirs = {case.name: case for case in load_all([Path("onnx-node/softmax*")])}
    assert ours.keys() == theirs.keys()
    for name, case in ours.items():
        assert case.model == theirs[name].model
        assert (case.op, case.attrs, case.tolerance) == (
            theirs[name].op,
            theirs[name].attrs,
            theirs[name].tolerance,
        )


def test_a_folder_in_use_is_replaced_only_if_told_and_only_if_nothing_else_is_in_it(tmp_path):
    folder, source = tmp_path / "new", Path("onnx-node/softmax_example")
    folder.mkdir()
    assert write_node_tests(folder, source) == 1  # an empty one is as good as none
    with pytest.raises(UsageError, match="is not empty"):
        write_node_tests(folder, source)
    assert write_node_tests(folder, Path("onnx-node/relu"), force=True) == 1
    assert [path.name for path in (folder / "node").iterdir()] == ["test_relu"]
    (folder / "node" / "mine.txt").touch()
    with pytest.raises(UsageError, match=r"what opcheck did not write: node/mine\.txt"):
        write_node_tests(folder, source, force=True)
    assert (folder / "node" / "test_relu" / "model.onnx").exists()
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="this is no folder"):
        write_node_tests(tmp_path / "file", source)


def test_cut_short_it_leaves_what_was_there(tmp_path):
    folder = tmp_path / "new"
    write_node_tests(folder, Path("onnx-node/relu"))

    def cut_short(tests):
        yield tests[0]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_node_tests(folder, Path("onnx-node/softmax*"), force=True, counted=cut_short)
    assert [path.name for path in (folder / "node").iterdir()] == ["test_relu"]
    assert [path.name for path in tmp_path.iterdir()] == ["new"]


def test_where_nothing_can_be_written_that_is_said(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(Unwritable, match="cannot be written"):
        write_node_tests(tmp_path / "file" / "new", Path("onnx-node/relu"))
