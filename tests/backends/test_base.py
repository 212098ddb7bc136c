import pytest

from opcheck.backends.base import Defect, own_part
from opcheck.errors import InvalidNode, NotSupported


@pytest.mark.parametrize(
    "error", [AssertionError(), ImportError("x"), ValueError("bad"), KeyError(1)]
)
def test_whatever_fails_in_our_own_part_is_a_defect(error: Exception) -> None:
    with pytest.raises(Defect, match=f"^{type(error).__name__}: ") as caught, own_part():
        raise error
    assert caught.value.__cause__ is error


@pytest.mark.parametrize("error", [InvalidNode("axis 7"), NotSupported("no kernel")])
def test_what_is_said_about_the_node_is_none(error: Exception) -> None:
    with pytest.raises(type(error)) as caught, own_part():
        raise error
    assert caught.value is error


def test_an_interrupt_passes_through() -> None:
    with pytest.raises(KeyboardInterrupt), own_part():
        raise KeyboardInterrupt
