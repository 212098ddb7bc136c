"""Fields of a profile file, checked."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from opcheck.backends.address import Address, Profile, built_in, memory, parse
from opcheck.errors import UsageError
from opcheck.reading import FileNode, Problems, validation


def _option(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float):
        return str(value)
    raise ValueError("must be a text, a number, true or false")


def _seconds(value: Any) -> float:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not (number and 0 < value < math.inf):
        raise ValueError("must be a number of seconds above 0")
    return float(value)


def _bytes(value: Any) -> int:
    if not isinstance(value, str | int):
        raise ValueError('must be a size of memory, such as "2GiB"')
    try:
        return memory(str(value))
    except UsageError as error:
        raise ValueError(error.message) from None


class ProfileFields(validation.Fields):
    """One table."""

    address: str
    options: dict[str, Annotated[Any, AfterValidator(_option)]] = Field({})
    accumulate: list[str] = Field([])
    environment: dict[str, str] = Field({})
    timeout: Annotated[Any, AfterValidator(_seconds)] = None
    memory_limit: Annotated[Any, AfterValidator(_bytes)] = None


class ProfileFileFields(validation.Fields):
    """All settings of opcheck in a profile file."""

    backends: dict[str, ProfileFields] = Field({})


def profiles_of(table: FileNode, file: str, problems: Problems) -> Mapping[str, Profile]:
    """Return the profiles of a file by name, and add their mistakes to `problems`."""
    keys = {"backends": validation.aliases(ProfileFields)}
    fields, _ = validation.check(ProfileFileFields, table, file, problems, keys)
    found: dict[str, Profile] = {}
    for name, said in (fields.backends if fields else {}).items():
        at = ("backends", name)
        if name in built_in():
            message = f"backends.{name}: a profile cannot be called like a kind of backend"
            problems.add(file, table.at(at, key=True), message)
        try:
            address = _address(said)
        except UsageError as error:
            mark = table.at((*at, "address"))
            problems.add(file, mark, f"backends.{name}: {error.message}", error.hint)
            continue
        found[name] = Profile(name, address, said.environment, said.timeout, said.memory_limit)
    return found


def _address(said: ProfileFields) -> Address:
    """Return the address with its separate options; raise UsageError."""
    if "accumulate" in said.options:
        raise UsageError("accumulate is none of the options", "write it beside them, as a list")
    stated = parse(said.address)
    options = sorted({**dict(stated.options), **said.options}.items())
    declared = sorted({*stated.accumulate, *said.accumulate})
    address = replace(stated, options=tuple(options), accumulate=tuple(declared))
    if parse(str(address)) != address:
        raise UsageError(f"{str(address)!r} cannot be an address", "an option holds & or ?")
    return address
