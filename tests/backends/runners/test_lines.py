from typing import Any

import pytest

from opcheck.backends.adapters.cmd import BrokenProtocol, read_hello, read_reply
from tests.expecting import error_of
from tests.wording import Wording


def refusal(function: Any, *arguments: Any) -> str:
    return str(error_of(BrokenProtocol, function, *arguments))


def test_a_program_begins_with_its_name_and_version() -> None:
    assert read_hello(b' {"opcheck": 1, "name": " tiny ", "version": "0.1"} \r\n') == "tiny 0.1"


@pytest.mark.parametrize(
    "line",
    [
        b"Loading kernels ...\n",
        b"\n",
        b"[1]\n",
        b"\xff\xfe\n",
        b"[" * 100_000,
        b'{"name": "x", "version": "1"}',
        b'{"opcheck": true, "name": "x", "version": "1"}',
        b'{"opcheck": 2, "name": "x", "version": "1"}',
        b'{"opcheck": 1, "nam": "x", "version": "1"}',
        b'{"opcheck": 1, "name": "x"}',
        b'{"opcheck": 1, "name": "", "version": "1"}',
        b'{"opcheck": 1, "name": "x", "version": 1}',
    ],
)
def test_anything_else_is_no_hello(line: bytes, wording: Wording) -> None:
    assert refusal(read_hello, line) == wording


def test_a_line_is_shown_as_far_as_anybody_reads(wording: Wording) -> None:
    told = refusal(read_hello, b"x" * 10_000)
    assert len(told) < 400
    assert told == wording


@pytest.mark.parametrize(
    ("line", "reply"),
    [
        (b'{"id": 3, "outputs": []}', ("outputs", [])),
        (b'{"unsupported": "no kernel", "id": 3}', ("unsupported", "no kernel")),
        (b'{"id": 3, "error": ""}', ("error", "")),
        (b'{"id": 3, "unavailable": "no device"}', ("unavailable", "no device")),
    ],
)
def test_a_reply_is_one_of_four(line: bytes, reply: tuple[str, Any]) -> None:
    assert read_reply(line, 3, "outputs") == reply


@pytest.mark.parametrize(
    "line",
    [
        b"banner",
        b'{"outputs": []}',
        b'{"id": 2, "outputs": []}',
        b'{"id": 2, "ready": true}',
        b'{"id": "3", "outputs": []}',
        b'{"id": 3.0, "outputs": []}',
        b'{"id": 3, "ready": true}',
        b'{"id": 3, "output": []}',
        b'{"id": 3}',
        b'{"id": 3, "outputs": [], "error": "x"}',
        b'{"id": 3, "unsupported": true}',
        b'{"id": 3, "error": null}',
        b'{"id": 3, "outputs": [], "outputs": []}',
        b'{"id": 3, "outputs": [{"shape": [1], "shape": [2]}]}',
    ],
)
def test_any_other_reply_is_told_with_its_line(line: bytes, wording: Wording) -> None:
    found = refusal(read_reply, line, 3, "outputs")
    assert found == wording
    assert repr(line.decode()) in found
