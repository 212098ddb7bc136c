import pytest

from opcheck.graph.test_data import ATOL, RTOL, read_tolerance


def test_what_is_not_said_is_as_onnx_runner_has_it():
    assert read_tolerance(b"{}") == (RTOL, ATOL)
    assert read_tolerance(b'{"atol": 0, "more": 1}') == (RTOL, 0.0)


@pytest.mark.parametrize("number", ["NaN", "1e999", "-1", "true", '"1"', "null", "1" + "0" * 400])
def test_no_other_number_is_a_tolerance(number):
    with pytest.raises(ValueError, match="no finite numbers of at least 0"):
        read_tolerance(b'{"rtol": %s}' % number.encode())


@pytest.mark.parametrize("data", [b"", b"[]", b"{", b"\xff", b"[" * 100_000, b"9" * 10_000])
def test_what_is_no_object_is_told(data):
    with pytest.raises(ValueError, match="this is no JSON object with rtol and atol"):
        read_tolerance(data)
