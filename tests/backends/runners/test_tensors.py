import base64
from typing import Any

import numpy as np
import pytest

from opcheck.backends.adapters.cmd import BrokenProtocol, from_json, to_json
from opcheck.dtypes import BASIC, DTYPES
from tests.expecting import error_of
from tests.wording import Wording

# 1.0 and -2.0 in float32, little-endian, by hand.
ONE_MINUS_TWO = base64.b64encode(bytes.fromhex("0000803f 000000c0")).decode()
TENSOR = {"dtype": "float32", "shape": [2], "data": ONE_MINUS_TWO}


def test_a_tensor_is_its_type_its_sizes_and_its_little_endian_bytes() -> None:
    assert to_json("x", np.array([1, -2], ">f4")) == {"name": "x", **TENSOR}
    found = from_json(TENSOR, "output 0")
    assert (found.dtype.name, found.tolist()) == ("float32", [1, -2])
    found[0] = 3  # nobody else's memory


def test_elements_are_in_row_major_order() -> None:
    array = np.arange(6, dtype=np.uint8).reshape(2, 3)
    for layout in ("C", "F"):
        said = to_json("x", array.copy(order=layout))
        assert base64.b64decode(said["data"]) == bytes(range(6))
    assert from_json(said, "x").tolist() == [[0, 1, 2], [3, 4, 5]]


@pytest.mark.parametrize("dtype", BASIC)
@pytest.mark.parametrize("shape", [(), (0, 3), (2, 3)])
def test_every_type_goes_both_ways_bit_for_bit(dtype: str, shape: tuple[int, ...]) -> None:
    size = int(np.prod(shape))
    array = np.array([1, -0.0, 2, 0, 1, 1])[:size].reshape(shape).astype(DTYPES[dtype].numpy)
    said = to_json("x", array)
    assert said["dtype"] == dtype
    found = from_json(said, "x")
    assert (found.dtype, found.shape, found.tobytes()) == (array.dtype, shape, array.tobytes())


@pytest.mark.parametrize(
    "change",
    [
        {"dtype": "float"},
        {"dtype": "xyz"},
        {"dtype": 1},
        {"shape": [3]},
        {"shape": [-2]},
        {"shape": [True, 2]},
        {"shape": 2},
        {"shape": [10**30]},
        {"data": "!!!"},
        {"data": "é"},
        {"data": 3},
        {"dtype": "bool", "shape": [8]},
        {"dtypes": "float32"},
    ],
)
def test_a_tensor_that_contradicts_itself_is_refused(
    change: dict[str, Any], wording: Wording
) -> None:
    error = error_of(BrokenProtocol, from_json, {**TENSOR, **change}, "output 0")
    ours, word, _of_python = str(error).partition(" base64: ")
    assert ours + word == wording


@pytest.mark.parametrize("said", [None, [1.0], {}, {"dtype": "float32", "shape": [2]}])
def test_what_is_no_tensor_is_refused(said: Any, wording: Wording) -> None:
    with pytest.raises(BrokenProtocol) as raised:
        from_json(said, "output 0")
    assert raised.value == wording
