"""Group things that are alike, copy attributes to fields of the same names, and narrow types."""

from collections.abc import Callable, Hashable, Iterable
from typing import Any, TypeVar

Item = TypeVar("Item")
Key = TypeVar("Key", bound=Hashable)
Found = TypeVar("Found")


def group_by(items: Iterable[Item], key: Callable[[Item], Key]) -> dict[Key, list[Item]]:
    """Group the items by `key`, in the order of the first of each."""
    found: dict[Key, list[Item]] = {}
    for item in items:
        found.setdefault(key(item), []).append(item)
    return found


def attributes_of(thing: object, names: str) -> dict[str, Any]:
    """Return the attributes of an object that have these names, with blanks between them."""
    return {name: getattr(thing, name) for name in names.split()}


def not_none(value: Found | None) -> Found:
    """Return a value that its type allows to be None, but that never is."""
    assert value is not None
    return value
