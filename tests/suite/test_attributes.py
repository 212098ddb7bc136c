import math
import re
from typing import Any

import pytest

from opcheck.model import Typed
from opcheck.opset import Attribute
from opcheck.suite.expectation import attribute_value, typed_value


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


@pytest.mark.parametrize(
    ("stated", "want"),
    [
        ({"float": 1}, Typed("float", 1.0)),
        ({"string": "1"}, Typed("string", "1")),
        ({"ints": [1]}, Typed("ints", (1,))),
        ({"tensor": [1, 2]}, Typed("tensor", (1, 2))),
        ({"tensor": 1.5}, Typed("tensor", 1.5)),
        ({"int": 1}, 1),
    ],
)
def test_a_value_may_state_its_type(stated: Any, want: Any) -> None:
    got = typed_value(Attribute("a", "int", False, None), stated)
    assert got == want
    assert repr(got) == repr(want)


@pytest.mark.parametrize(
    ("stated", "message"),
    [
        ({"flaot": 1}, "one of int, float, string, ints, floats, strings, tensor"),
        ({"int": 1, "float": 1}, "{type: value}"),
        ({}, "{type: value}"),
        ({"float": "x"}, "must be a number, got 'x'"),
        ({"tensor": "x"}, "must be a number, got 'x'"),
        ({"tensor": [[1]]}, "must be a number, got a list"),
    ],
)
def test_a_value_of_a_stated_type_is_checked(stated: Any, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        typed_value(Attribute("a", "int", False, None), stated)


def test_a_message_upsets_no_terminal() -> None:
    with pytest.raises(ValueError, match=r"'\\x1b\[31m'"):
        converted("int", "\x1b[31m")
