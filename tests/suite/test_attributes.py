from __future__ import annotations

import math
from typing import Any

import pytest

from opcheck.opset import Attribute
from opcheck.suite.attributes import attribute_value


def converted(kind: Any, value: Any) -> Any:
    return attribute_value(Attribute("a", kind, False, None), value)


@pytest.mark.parametrize(
    ("kind", "value", "want"),
    [
        ("int", -1, -1),
        ("int", 2**63 - 1, 2**63 - 1),
        ("float", 2, 2.0),
        ("float", 0.1, 0.1),
        ("float", math.inf, math.inf),
        ("string", "SAME_UPPER", "SAME_UPPER"),
        ("string", "", ""),
        ("ints", [1, -2], (1, -2)),
        ("ints", [], ()),
        ("floats", [1, 0.5], (1.0, 0.5)),
        ("strings", ["a", "b"], ("a", "b")),
    ],
)
def test_a_value_gets_the_declared_type(kind: str, value: Any, want: Any) -> None:
    got = converted(kind, value)
    assert got == want
    assert type(got) is type(want)
    assert isinstance(got, tuple) is isinstance(value, list)
    if isinstance(got, tuple):
        assert list(map(type, got)) == list(map(type, want))


@pytest.mark.parametrize(
    ("kind", "value", "message"),
    [
        ("int", 1.0, "must be a whole number, got 1.0"),
        ("int", True, "must be a whole number, got true"),
        ("int", "1", "must be a whole number, got '1'"),
        ("int", [1], "must be a whole number, got a list"),
        ("int", 2**63, "must fit in 64 bits, got 9223372036854775808"),
        ("int", 10**400, f"must fit in 64 bits, got 1{'0' * 29}… (401 characters)"),
        ("float", "x", "must be a number, got 'x'"),
        ("float", False, "must be a number, got false"),
        ("float", 1e39, r"must fit in float32, got 1e\+39"),
        ("float", 10**400, "must fit in float32, got 1000"),
        ("string", 3, "must be a text, got 3"),
        ("ints", 3, "must be a list, each item a whole number; got 3"),
        ("ints", [1, 2.0], "must be a whole number, got 2.0"),
        ("ints", [[1]], "must be a whole number, got a list"),
        ("floats", {}, "must be a list, each item a number; got a mapping"),
        ("strings", "ab", "must be a list, each item a text; got 'ab'"),
        ("other", 1, "holds a tensor, graph or type"),
    ],
)
def test_another_type_is_refused(kind: str, value: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message.replace("(401", r"\(401").replace("rs)", r"rs\)")):
        converted(kind, value)


def test_a_message_upsets_no_terminal() -> None:
    with pytest.raises(ValueError, match=r"'\\x1b\[31m'"):
        converted("int", "\x1b[31m")
