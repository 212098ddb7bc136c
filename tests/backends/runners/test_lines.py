from typing import Any

import pytest

from opcheck.backends.adapters.cmd import BrokenProtocol, read_hello, read_reply
from tests.expecting import error_of


def refusal(function: Any, *arguments: Any) -> str:
    return str(error_of(BrokenProtocol, function, *arguments))


def test_a_program_begins_with_its_name_and_version() -> None:
    assert read_hello(b' {"opcheck": 1, "name": " tiny ", "version": "0.1"} \r\n') == "tiny 0.1"


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (b"Loading kernels ...\n", "no JSON object: 'Loading kernels ...'"),
        (b"\n", "no JSON object: ''"),
        (b"[1]\n", "no JSON object: '[1]'"),
        (b"\xff\xfe\n", "no JSON object: "),
        (b"[" * 100_000, "no JSON object: "),
        (b'{"name": "x", "version": "1"}', 'must begin with {"opcheck": 1, '),
        (b'{"opcheck": true, "name": "x", "version": "1"}', 'must begin with {"opcheck": 1, '),
        (b'{"opcheck": 2, "name": "x", "version": "1"}', "speaks version 2 of the protocol, we"),
        (
            b'{"opcheck": 1, "nam": "x", "version": "1"}',
            "no such key: 'nam' (did you mean 'name'?)",
        ),
        (b'{"opcheck": 1, "name": "x"}', "'name' and 'version' must be texts"),
        (b'{"opcheck": 1, "name": "", "version": "1"}', "'name' and 'version' must be texts"),
        (b'{"opcheck": 1, "name": "x", "version": 1}', "'name' and 'version' must be texts"),
    ],
)
def test_anything_else_is_no_hello(line: bytes, told: str) -> None:
    assert told in refusal(read_hello, line)


def test_a_line_is_shown_as_far_as_anybody_reads() -> None:
    told = refusal(read_hello, b"x" * 10_000)
    assert len(told) < 400
    assert "standard output is for the protocol alone" in told


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
    ("line", "told"),
    [
        (b"banner", "no JSON object: 'banner'"),
        (b'{"outputs": []}', "the reply's id must be 3, it has none"),
        (b'{"id": 2, "outputs": []}', "the reply's id must be 3, got 2"),
        (b'{"id": 2, "ready": true}', "the reply's id must be 3, got 2"),
        (b'{"id": "3", "outputs": []}', "the reply's id must be 3, got '3'"),
        (b'{"id": 3.0, "outputs": []}', "the reply's id must be 3, got 3.0"),
        (b'{"id": 3, "ready": true}', "no such key: 'ready' (known here: "),
        (b'{"id": 3, "output": []}', "no such key: 'output' (did you mean 'outputs'?)"),
        (b'{"id": 3}', "a reply has one of outputs, unsupported, error, unavailable"),
        (b'{"id": 3, "outputs": [], "error": "x"}', "a reply has one of outputs, "),
        (b'{"id": 3, "unsupported": true}', "'unsupported' must be a text"),
        (b'{"id": 3, "error": null}', "'error' must be a text"),
    ],
)
def test_any_other_reply_is_told_with_its_line(line: bytes, told: str) -> None:
    found = refusal(read_reply, line, 3, "outputs")
    assert told in found
    assert repr(line.decode()) in found
