from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, strategies as st
from onnx import OptionalProto, SequenceProto, TensorProto, helper, numpy_helper

from opcheck.dtypes import BASIC, DTYPES
from opcheck.graph import folders
from opcheck.graph.folders import read_npy, read_tensor, read_value, tensor_bytes, value_bytes
from tests.examples import examples
from tests.expecting import error_of
from tests.models import FLOAT, X, optional_of, sequence_of
from tests.wording import Wording

WHOLE = numpy_helper.from_array(np.arange(6, dtype=np.float32).reshape(2, 3)).SerializeToString()
TENSOR = helper.make_tensor_type_proto(FLOAT, None)


def written(folder: Path, data: bytes) -> Path:
    path = folder / "output_0.pb"
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("dtype", BASIC)
@pytest.mark.parametrize("shape", [(), (0, 3), (2, 3)])
def test_what_onnx_or_opcheck_wrote_is_read_bit_for_bit(tmp_path, dtype, shape):
    size = int(np.prod(shape))
    array = np.array([1, -0.0, 2, 0, 1, 1])[:size].reshape(shape).astype(DTYPES[dtype].numpy)
    for data in (numpy_helper.from_array(array, "y").SerializeToString(), tensor_bytes(array, "y")):
        found = read_tensor(written(tmp_path, data))
        assert (found.dtype, found.shape, found.tobytes()) == (array.dtype, shape, array.tobytes())
        assert TensorProto.FromString(data).name == "y"


def test_values_in_typed_fields_are_read_too(tmp_path: Path) -> None:
    tensor = helper.make_tensor("y", TensorProto.FLOAT, [2], [1.5, -2.0])
    assert read_tensor(written(tmp_path, tensor.SerializeToString())).tolist() == [1.5, -2.0]


def refusal(path: Path, read: Callable[[Path], Any] = read_tensor) -> str:
    error = error_of(ValueError, read, path)
    assert type(error) is ValueError
    assert str(error).startswith(path.name)
    return str(error)


def test_a_missing_file_and_a_folder_are_no_tensors(tmp_path: Path) -> None:
    refusal(tmp_path / "output_0.pb")
    (tmp_path / "output_0.pb").mkdir()
    refusal(tmp_path / "output_0.pb")


def test_no_piece_of_a_file_is_taken_for_the_whole(tmp_path: Path) -> None:
    for length in range(len(WHOLE)):
        refusal(written(tmp_path, WHOLE[:length]))


def test_a_file_too_large_is_not_even_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path, WHOLE)
    monkeypatch.setattr(folders, "MAX_BYTES", len(WHOLE))
    assert read_tensor(path).shape == (2, 3)
    monkeypatch.setattr(folders, "MAX_BYTES", len(WHOLE) - 1)
    monkeypatch.setattr(Path, "read_bytes", lambda _: pytest.fail("the file was read"))
    assert "larger than" in refusal(path)


@examples(300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(data=b"", at=0)
@given(data=st.binary(max_size=12), at=st.integers(0, len(WHOLE) - 1))
def test_damage_is_a_value_error_or_another_tensor(tmp_path: Path, data: bytes, at: int) -> None:
    path = written(tmp_path, WHOLE[:at] + data + WHOLE[at + len(data) :])
    with suppress(ValueError):
        assert isinstance(read_tensor(path), np.ndarray)


def saved(folder: Path, array: Any, **options: Any) -> Path:
    path = folder / "output_0.npy"
    np.save(path, array, **options)
    return path


@pytest.mark.parametrize("shape", [(), (0, 3), (3, 2)])
def test_an_array_is_read_whatever_its_layout(tmp_path: Path, shape: tuple[int, ...]) -> None:
    array = np.arange(int(np.prod(shape)), dtype=">i2").reshape(shape).copy(order="F")
    found = read_npy(saved(tmp_path, array))
    assert (found.dtype, found.shape) == (np.int16, shape)
    assert found.tolist() == array.tolist()
    assert type(found) is np.ndarray
    found[...] = 0  # nobody else's, and not the file's


def test_no_piece_of_an_array_is_taken_for_the_whole(tmp_path: Path) -> None:
    path = saved(tmp_path, np.arange(6.0))
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        refusal(path, read_npy)


def test_nothing_is_unpickled(tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> Any:
            return (pytest.fail, ("it was unpickled",))

    refusal(saved(tmp_path, np.array([Trap()]), allow_pickle=True), read_npy)


def test_an_archive_is_no_array(tmp_path: Path, wording: Wording) -> None:
    np.savez(tmp_path / "a.npz", x=np.zeros(3))
    (tmp_path / "a.npz").rename(tmp_path / "output_0.npy")
    assert refusal(tmp_path / "output_0.npy", read_npy) == wording


def test_an_array_larger_than_its_file_is_refused_before_memory_is_taken(tmp_path: Path) -> None:
    path = saved(tmp_path, np.zeros(10))
    path.write_bytes(path.read_bytes().replace(b"(10,)", b"(10000000000000,)"))
    refusal(path, read_npy)


def test_an_array_file_too_large_is_not_even_read(tmp_path, monkeypatch):
    path = saved(tmp_path, np.zeros(10))
    monkeypatch.setattr(folders, "MAX_BYTES", path.stat().st_size - 1)
    assert "larger than" in refusal(path, read_npy)


def test_the_byte_order_of_an_array_is_not_written(tmp_path: Path) -> None:
    array = np.array([1.5, -2, 3e-5])
    (tmp_path / "a.pb").write_bytes(tensor_bytes(array.astype(">f8"), "y"))
    assert read_tensor(tmp_path / "a.pb").tobytes() == array.tobytes()


def test_what_no_tensor_file_can_hold_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    dates = np.array(["2020-01-01"], "datetime64[D]")
    with pytest.raises(ValueError, match="can hold datetime64"):
        (tmp_path / "a.pb").write_bytes(tensor_bytes(dates, "y"))
    assert not [*tmp_path.iterdir()]


def test_a_file_is_there_whole_or_not_at_all(tmp_path, monkeypatch):
    class Killed(BaseException):
        pass

    def killed(path: Path, data: bytes) -> int:
        with path.open("wb") as file:
            file.write(data[:3])
        raise Killed

    monkeypatch.setattr(Path, "write_bytes", killed)
    with pytest.raises(Killed):
        folders.write_whole(tmp_path / "output_0.pb", WHOLE)
    assert not (tmp_path / "output_0.pb").exists()


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=str)
def test_tensors_of_every_type_come_back_as_onnx_reads_them(tmp_path, dtype):
    words = np.array(["a", "", "ü", "0"], object)
    values = words if dtype.kind == "string" else np.array([1, 0, 1, 1]).astype(dtype.numpy)
    array = values.reshape(2, 2)
    declared = helper.make_tensor_type_proto(dtype.onnx, None)
    data = value_bytes(array, declared, "x")
    theirs = numpy_helper.to_array(TensorProto.FromString(data))
    ours = read_value(written(tmp_path, data), declared)
    assert isinstance(ours, np.ndarray)
    assert ours.dtype == theirs.dtype == dtype.numpy
    assert repr(ours.tolist()) == repr(theirs.tolist()) == repr(array.tolist())


def test_sequences_and_optionals_come_back(tmp_path):
    declared = sequence_of()
    found = read_value(written(tmp_path, value_bytes([X, X + 1], declared, "x")), declared)
    assert isinstance(found, list)
    assert [one.tolist() for one in found] == [X.tolist(), (X + 1).tolist()]
    assert read_value(written(tmp_path, value_bytes([], declared, "x")), declared) == []
    for inner, value in ((TENSOR, X), (sequence_of(), [X])):
        declared = optional_of(inner)
        found = read_value(written(tmp_path, value_bytes(value, declared, "x")), declared)
        assert np.array_equal(np.asarray(found), np.asarray(value))
        assert read_value(written(tmp_path, value_bytes(None, declared, "x")), declared) is None


@pytest.mark.parametrize(
    ("declared", "name"),
    [
        (helper.make_map_type_proto(TensorProto.STRING, TENSOR), "map values"),
        (helper.make_sequence_type_proto(helper.make_map_type_proto(7, TENSOR)), "map values"),
        (helper.make_sparse_tensor_type_proto(FLOAT, None), "sparse tensors"),
        (helper.make_sequence_type_proto(sequence_of()), "sequences of sequences"),
    ],
)
def test_what_is_neither_fed_nor_judged_is_refused_by_name(declared, name):
    with pytest.raises(folders.BeyondOpcheck, match=name):
        folders.tensor_type(declared)


def test_element_types_that_onnx_does_not_have_are_an_error(wording):
    for code in (0, 999):
        with pytest.raises(ValueError, match="no element type") as raised:
            folders.element(code)
        assert raised.value == wording


#: Too few bytes, too many, and more axes than NumPy has.
SIZES = [(1, 0), (1, 3), (0, 24), (100, 4)]
ELSEWHERE = {"key": "location", "value": "../secret.bin"}


def _raw(dims, size=4, **more):
    return TensorProto(data_type=FLOAT, dims=dims, raw_data=bytes(size), **more)


@pytest.mark.parametrize(
    ("proto", "told"),
    [
        (_raw([1 << 40, 1 << 40]), "a tensor of shape"),
        (_raw([-1]), "a tensor of shape"),
        (_raw([-2, -3], 24), "a tensor of shape"),
        (_raw([2]), "holds no readable value"),
        (_raw([1], float_data=[1]), "in several fields: raw_data, float_data"),
        *((_raw([1] * rank, size), "holds no readable value") for rank, size in SIZES),
        (_raw([1], segment={"begin": 0, "end": 3}), "holds no readable value"),
        (
            _raw([1], data_location=TensorProto.EXTERNAL, external_data=[ELSEWHERE]),
            "keeps its data in another file",
        ),
        (TensorProto(data_type=999, dims=[1], raw_data=bytes(4)), "no element type"),
        (TensorProto(), "no element type"),
        (
            TensorProto(data_type=TensorProto.STRING, dims=[1], string_data=[b"\xff"]),
            "holds no readable value",
        ),
        (TensorProto(data_type=TensorProto.INT4, dims=[9], raw_data=b"\0"), "no readable value"),
    ],
)
def test_damaged_tensors_are_errors_that_name_the_file(tmp_path, proto, told):
    with pytest.raises(ValueError, match=rf"output_0\.pb.*{told}"):
        read_value(written(tmp_path, proto.SerializeToString()), TENSOR)


def test_other_values_than_declared_are_errors(tmp_path, wording):
    maps = SequenceProto(elem_type=SequenceProto.MAP).SerializeToString()
    with pytest.raises(ValueError, match="a sequence of MAP,") as raised:
        read_value(written(tmp_path, maps), sequence_of())
    assert raised.value == wording
    maps = OptionalProto(elem_type=OptionalProto.MAP).SerializeToString()
    with pytest.raises(ValueError, match="an optional of") as raised:
        read_value(written(tmp_path, maps), optional_of(TENSOR))
    assert raised.value == wording
    with pytest.raises(ValueError, match="no readable value"):
        read_value(written(tmp_path, b"\xff" * 9), TENSOR)
    with pytest.raises(ValueError, match="no such file"):
        read_value(tmp_path / "input_1.pb", TENSOR)
