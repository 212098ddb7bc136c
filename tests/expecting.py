"""What a test expects before it looks closer: a thing of some type, or an error."""

from collections.abc import Callable
from typing import Any, TypeVar

import pytest

T = TypeVar("T")
E = TypeVar("E", bound=BaseException)


def of_type(kind: type[T], thing: object) -> T:
    assert isinstance(thing, kind), thing
    return thing


def error_of(kind: type[E], call: Callable[..., Any], *arguments: Any, **named: Any) -> E:
    """The error of this type that the call ends with."""
    with pytest.raises(kind) as caught:
        call(*arguments, **named)
    return caught.value
