"""Group things that are alike, pick fields that have the same names elsewhere, and be sure."""

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


def picked(one: object, names: str) -> dict[str, Any]:
    """The attributes of an object that have these names."""
    return {name: getattr(one, name) for name in names.split()}


def sure(found: Found | None) -> Found:
    """The value, which is not None here though its type allows it."""
    assert found is not None
    return found
