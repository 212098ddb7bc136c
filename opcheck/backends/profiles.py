"""Profiles: backends that a configuration file names, with all that goes with them.

They are the tables `[backends.<name>]` of an `opcheck.toml`, or `[tool.opcheck.backends.<name>]` of
a `pyproject.toml`. One file counts: the nearest upwards that says anything about opcheck, and of
two in the same folder `opcheck.toml`.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from opcheck.backends.address import Address, parse
from opcheck.errors import UsageError
from opcheck.reading.nodes import Node, Problems, Unreadable

_UNITS = {"": 1, "b": 1}
for _n, _prefix in enumerate("kmgt", 1):
    _UNITS |= {_prefix: 1024**_n, f"{_prefix}ib": 1024**_n, f"{_prefix}b": 1000**_n}
_SIZE = re.compile(r"(\d{1,18}(?:\.\d{1,18})?)\s*([A-Za-z]*)", re.ASCII)

#: The files that may hold profiles, the first of a folder that says something, and where in them.
_FILES = {"opcheck.toml": (), "pyproject.toml": ("tool", "opcheck")}


@dataclass(frozen=True)
class Profile:
    """A backend and how its process is treated; `name` is what the user calls it.

    None means that nothing is said: `timeout` is in seconds for a case, `memory_limit` in bytes.
    """

    name: str
    address: Address
    environment: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    timeout: float | None = None
    memory_limit: int | None = None


def resolve(text: str, profiles: Mapping[str, Profile]) -> Profile:
    """The profile called `text`, or what the address `text` means with nothing added.

    Raises UsageError as `parse` does.
    """
    if text in profiles:
        return profiles[text]
    name = re.split("[:?]", text, maxsplit=1)[0]
    if name in profiles:
        raise UsageError(
            f"backend {text!r}: {name!r} is a profile, which takes neither detail nor options",
            "its options belong into the file",
        )
    return Profile(text, parse(text, profiles))


def profiles(folder: Path) -> Mapping[str, Profile]:
    """The profiles that count in `folder`, by name.

    Raises CaseFileError with every problem of the file.
    """
    problems = Problems()
    for file, table in _tables(folder.absolute(), problems):
        # Here, because it costs as much as the start of a whole command.
        from opcheck.backends.profile_fields import profiles_of

        found = profiles_of(table, file, problems)
        problems.raise_if_any()
        return found
    problems.raise_if_any()
    return {}


def memory(text: str) -> int:
    """A size such as 2GiB, 512MB or 1000000 in bytes; raises UsageError for anything else."""
    try:
        return size(text)
    except ValueError as error:
        raise UsageError(str(error)) from None


def size(text: str) -> int:
    """As `memory`, but raises ValueError."""
    found = _SIZE.fullmatch(text.strip())
    factor = _UNITS.get(found[2].lower(), 0) if found else 0
    count = int(float(found[1]) * factor) if found else 0
    if not count:
        raise ValueError(f"{text!r} is no size of memory; write for example 2GiB, 512MB or 1000000")
    return count


def _tables(folder: Path, problems: Problems) -> Iterator[tuple[str, Node]]:
    """The tables about opcheck, from `folder` upwards."""
    for place in (folder, *folder.parents):
        for name, keys in _FILES.items():
            path = place / name
            if not path.is_file():
                continue
            file = name if place == folder else str(path)
            node = _read(path, file, problems)
            for key in keys:
                node = node.value.get(key) if node and isinstance(node.value, dict) else None
            if node and node.value:
                yield file, node


def _read(path: Path, file: str, problems: Problems) -> Node | None:
    from opcheck.reading.reader import contents, decoded, parse_toml

    try:
        data = contents(path)
        # Most files of projects have nothing to do with opcheck, be they well-formed or not.
        if b"opcheck" not in data.replace(b"\0", b"") and path.name == "pyproject.toml":
            return None
        text = decoded(data).removeprefix("\ufeff")
    except Unreadable as error:
        problems.add(file, error.mark, error.message, error.hint)
        return None
    return parse_toml(text, file, problems)
