"""What a case states: its attributes, and integers among them and in its inputs."""

from typing import TypeVar

import numpy as np

from opcheck.model import AttrValue, Case, Typed
from opcheck.opset import Schema
from opcheck.suite import materialize

Default = TypeVar("Default")


def attribute_of(case: Case, schema: Schema, name: str) -> AttrValue | Typed | None:
    """Return an attribute of a case, or the schema's default; None without either."""
    return case.attrs.get(name, schema.attributes[name].default)


def integer_attribute(case: Case, name: str, default: Default) -> int | Default:
    """Return an attribute of a case that is an integer, `default` if it is left out."""
    return int(np.asarray(case.attrs[name])) if name in case.attrs else default


def integers_of(value: AttrValue | Typed | None) -> tuple[int, ...]:
    """Return the integers of an attribute or a tensor, one or several; none of a word or None."""
    if value is None or isinstance(value, (Typed, str)):
        return ()
    return tuple(int(number) for number in np.asarray(value).reshape(-1))


def integers_of_input(case: Case, name: str) -> tuple[int, ...] | None:
    """Return the integers of an input, None if it is left out."""
    given = (integers_of(materialize(spec)) for spec in case.inputs if spec.name == name)
    return next(given, None)
