from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from opcheck.dtypes import DTYPES
from opcheck.graph import tensors
from opcheck.graph.tensors import read_tensor

WHOLE = numpy_helper.from_array(np.arange(6, dtype=np.float32).reshape(2, 3)).SerializeToString()


def written(folder: Path, data: bytes) -> Path:
    path = folder / "output_0.pb"
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (0, 3), (2, 3)])
def test_what_onnx_wrote_is_read_bit_for_bit(
    tmp_path: Path, dtype: str, shape: tuple[int, ...]
) -> None:
    size = int(np.prod(shape))
    array = np.array([1, -0.0, 2, 0, 1, 1])[:size].reshape(shape).astype(DTYPES[dtype].numpy)
    found = read_tensor(written(tmp_path, numpy_helper.from_array(array).SerializeToString()))
    assert (found.dtype, found.shape, found.tobytes()) == (array.dtype, shape, array.tobytes())


def test_values_in_typed_fields_are_read_too(tmp_path: Path) -> None:
    tensor = helper.make_tensor("y", TensorProto.FLOAT, [2], [1.5, -2.0])
    assert read_tensor(written(tmp_path, tensor.SerializeToString())).tolist() == [1.5, -2.0]


def refusal(path: Path) -> str:
    with pytest.raises(ValueError, match=r"output_0\.pb") as error:
        read_tensor(path)
    assert type(error.value) is ValueError
    return str(error.value)


def test_a_missing_file_and_a_folder_are_no_tensors(tmp_path: Path) -> None:
    refusal(tmp_path / "output_0.pb")
    (tmp_path / "output_0.pb").mkdir()
    refusal(tmp_path / "output_0.pb")


def test_no_piece_of_a_file_is_taken_for_the_whole(tmp_path: Path) -> None:
    for length in range(len(WHOLE)):
        refusal(written(tmp_path, WHOLE[:length]))


@pytest.mark.parametrize(
    "change",
    [
        {"data_type": 0},
        {"data_type": 99},
        {"dims": [2, 4]},
        {"dims": [-2, -3]},
        {"dims": [2**40, 2**40]},
        {"dims": [1] * 100},
        {"raw_data": b""},
        {"raw_data": b"123"},
        {"dims": []},
    ],
    ids=str,
)
def test_a_tensor_that_contradicts_itself_is_refused(tmp_path: Path, change: Any) -> None:
    tensor = TensorProto.FromString(WHOLE)
    for field, value in change.items():
        tensor.ClearField(field)
        if isinstance(value, list):
            getattr(tensor, field).extend(value)
        else:
            setattr(tensor, field, value)
    refusal(written(tmp_path, tensor.SerializeToString()))


def test_a_segment_is_refused(tmp_path: Path) -> None:
    tensor = TensorProto.FromString(WHOLE)
    tensor.segment.begin, tensor.segment.end = 0, 3
    refusal(written(tmp_path, tensor.SerializeToString()))


def test_data_in_another_file_is_not_fetched(tmp_path: Path) -> None:
    tensor = TensorProto.FromString(WHOLE)
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    entry = tensor.external_data.add()
    entry.key, entry.value = "location", "../secret.bin"
    assert "another file" in refusal(written(tmp_path, tensor.SerializeToString()))


def test_a_file_too_large_is_not_even_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path, WHOLE)
    monkeypatch.setattr(tensors, "MAX_BYTES", len(WHOLE))
    assert read_tensor(path).shape == (2, 3)
    monkeypatch.setattr(tensors, "MAX_BYTES", len(WHOLE) - 1)
    monkeypatch.setattr(Path, "read_bytes", lambda _: pytest.fail("the file was read"))
    assert "larger than" in refusal(path)


@settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@example(data=b"", at=0)
@given(data=st.binary(max_size=12), at=st.integers(0, len(WHOLE) - 1))
def test_damage_is_a_value_error_or_another_tensor(tmp_path: Path, data: bytes, at: int) -> None:
    path = written(tmp_path, WHOLE[:at] + data + WHOLE[at + len(data) :])
    with suppress(ValueError):
        assert isinstance(read_tensor(path), np.ndarray)
