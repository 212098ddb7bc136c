"""The schema of the protocol of programs, against the code that reads their lines."""

import json
from typing import Any

import jsonschema
import numpy as np
import pytest

from opcheck.backends import cmd_protocol
from opcheck.backends.adapters.cmd import (
    BrokenProtocol,
    from_json,
    read_hello,
    read_reply,
    to_json,
)
from opcheck.dtypes import BASIC, DTYPES

SCHEMA = jsonschema.Draft202012Validator(cmd_protocol.json_schema())
TENSOR = {"dtype": "float32", "shape": [2], "data": "AACAPwAAAMA="}
HELLO = {"opcheck": 1, "name": "my engine", "version": "2.1"}


def is_taken(line: dict[str, Any]) -> bool:
    """Return True if opcheck's own reader takes the line as a reply, or as a program's first."""
    data = json.dumps(line).encode()
    try:
        if "opcheck" in line:
            read_hello(data)
            return True
        kind, value = read_reply(data, 1, "ready" if "ready" in line else "outputs")
        if kind == "outputs":
            for output in value:
                from_json(output, "output")
    except BrokenProtocol:
        return False
    return True


@pytest.mark.parametrize(
    "line",
    [
        HELLO,
        {"id": 1, "ready": True},
        {"id": 1, "outputs": []},
        {"id": 1, "outputs": [TENSOR, {"name": "y", **TENSOR}]},
        {"id": 1, "outputs": [{"dtype": "bool", "shape": [], "data": "AQ=="}]},
        {"id": 1, "unsupported": "no kernel for float64"},
        {"id": 1, "error": ""},
        {"id": 1, "unavailable": "no device"},
    ],
)
def test_a_line_that_opcheck_takes_fits_the_schema(line):
    assert is_taken(line)
    SCHEMA.validate(line)


@pytest.mark.parametrize(
    "line",
    [
        {**HELLO, "opcheck": 2},
        {**HELLO, "name": " "},
        {**HELLO, "version": 2},
        {**HELLO, "vendor": "acme"},
        {"opcheck": 1, "name": "x"},
        {"id": 1},
        {"id": "1", "outputs": []},
        {"id": 1, "output": []},
        {"id": 1, "outputs": [], "error": "x"},
        {"id": 1, "unsupported": True},
        {"id": 1, "error": None},
        {"id": 1, "outputs": [{"shape": [2], "data": ""}]},
        {"id": 1, "outputs": [{**TENSOR, "dtype": "float"}]},
        {"id": 1, "outputs": [{**TENSOR, "shape": [-2]}]},
        {"id": 1, "outputs": [{**TENSOR, "shape": 2}]},
        {"id": 1, "outputs": [{**TENSOR, "data": "!!!"}]},
        {"id": 1, "outputs": [{**TENSOR, "device": "cpu"}]},
    ],
)
def test_a_line_that_opcheck_refuses_does_not_fit_the_schema(line):
    assert not is_taken(line)
    assert not SCHEMA.is_valid(line)


@pytest.mark.parametrize("dtype", BASIC)
def test_what_opcheck_sends_fits_the_schema(dtype):
    x = to_json("x", np.array([1, 0]).astype(DTYPES[dtype].numpy))
    SCHEMA.validate({"id": 1, "do": "run", "inputs": [x]})
    assert not SCHEMA.is_valid({"id": 1, "do": "run", "inputs": [{**x, "dtype": "float4e2m1"}]})
