"""A scope holds operators by name or pattern, from a version on, and of a type."""

import pytest

from opcheck.errors import UsageError
from opcheck.model import OpVersion
from opcheck.suite.scope import Scope

SOFTMAX_11 = OpVersion("", "Softmax", 11)
SOFTMAX_13 = OpVersion("", "Softmax", 13)


@pytest.mark.parametrize(
    ("part", "has_11", "has_13"),
    [
        ("Softmax", True, True),
        ("softmax", True, True),
        ("Soft*", True, True),
        ("*", True, True),
        ("Softmax@12", True, False),
        ("Softmax@12+", True, True),
        ("Softmax@13", False, True),
        ("Softmax@13+", False, True),
        ("Softmax:float32", True, True),
        ("Softmax:float64", False, False),
        ("Softmax@13+:float32", False, True),
        ("Hardmax", False, False),
    ],
)
def test_a_part_names_versions_and_types(part: str, has_11: bool, has_13: bool) -> None:
    scope = Scope([part])
    assert scope.has(SOFTMAX_11, "float32") is has_11
    assert scope.has(SOFTMAX_13, "float32") is has_13


def test_a_cell_of_any_part_is_in_the_scope() -> None:
    scope = Scope(["Hardmax", "Softmax@13"])
    assert scope.has(SOFTMAX_13, None)
    assert not scope.has(SOFTMAX_11, None)
    assert scope.operators == ("Hardmax", "Softmax")


def test_a_case_without_a_type_is_only_in_parts_of_all_types() -> None:
    assert not Scope(["Softmax:float32"]).has(SOFTMAX_13, None)


def test_all_wrong_parts_are_named_at_once() -> None:
    with pytest.raises(UsageError) as raised:
        Scope(["Softmx", "Softmax", "Softmax@", "Softmax:float3"])
    for part in ("'Softmx'", "'Softmax@'", "'Softmax:float3'"):
        assert part in str(raised.value.hint)
