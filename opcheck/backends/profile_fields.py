"""Fields of a profile file, checked, and TOML as a tree with the lines that `tomllib` lacks."""

import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import AfterValidator, Field

from opcheck.backends.adapters import DECLARED
from opcheck.backends.address import Address, Profile, built_in, memory, names_code, parse
from opcheck.backends.trust import NamedCode, SettingsFile
from opcheck.errors import UsageError
from opcheck.reading import FileNode, Mark, Problems, quoted, validation

TomlPath: TypeAlias = tuple[str, ...]

#: Keys with more parts have no places of their own; opcheck's have seven at most.
_DEEPEST = 16
#: `tomllib` takes minutes for a key of 20,000 parts.
_MOST_DOTS = 2000
_WORD = r"""(?:[A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*"|'[^']*')"""
_KEY = rf"(?P<key>{_WORD}(?:\s*\.\s*{_WORD})*)"
_PLACE = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)")


def _option(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float):
        return _without_nul(str(value))
    raise ValueError("must be a text, a number, true or false")


def _variable(name: str) -> str:
    """Check the name of an environment variable."""
    if not name or "=" in name:
        raise ValueError("must be the name of a variable, without =")
    return _without_nul(name)


def _without_nul(text: str) -> str:
    """Check a text that a process is started with."""
    if "\0" in text:
        raise ValueError("must not hold a NUL character")
    return text


def _bytes(value: Any) -> int:
    if not isinstance(value, str | int):
        raise ValueError('must be a size of memory, such as "2GiB"')
    try:
        return memory(str(value))
    except UsageError as error:
        raise ValueError(error.message) from None


def _size(value: Any) -> str:
    """Check a size of memory, and return it as an option has it."""
    _bytes(value)
    return str(value)


class ProfileFields(validation.Fields):
    """One table."""

    address: Annotated[str, AfterValidator(_without_nul)]
    options: dict[str, Annotated[Any, AfterValidator(_option)]] = Field({})
    accumulate: list[str] = Field([])
    refuses: bool = True
    operators: Annotated[list[str], Field(min_length=1)] | None = None
    environment: dict[
        Annotated[str, AfterValidator(_variable)], Annotated[str, AfterValidator(_without_nul)]
    ] = Field({})
    timeout: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    memory_limit: Annotated[Any, AfterValidator(_bytes)] = None
    resources: dict[str, Annotated[float, Field(gt=0, allow_inf_nan=False)]] = Field({})


class RunFields(validation.Fields):
    """Defaults of options of `opcheck run`, by the options' long names; None where none is stated.

    Files of `known` are relative to the folder of the settings file.
    """

    backend: Annotated[list[str], Field(min_length=1)] | None = None
    jobs: Annotated[int, Field(ge=1)] | None = None
    timeout: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    memory_limit: Annotated[Any, AfterValidator(_size)] = None
    level: Literal["smoke", "core", "deep"] | None = None
    strict: bool | None = None
    require_supported: bool | None = None
    require_reproducible: bool | None = None
    known: Annotated[list[str], Field(min_length=1)] | None = None
    allow_unexpected_passes: bool | None = None
    explain: Literal["short", "full"] | None = None


class ProfileFileFields(validation.Fields):
    """All settings of opcheck in a profile file."""

    backends: dict[str, ProfileFields] = Field({})
    run: RunFields = Field(default_factory=RunFields)


#: The keys of each table that a settings file may have.
_KEYS = {
    "backends": validation.aliases(ProfileFields),
    "run": validation.aliases(RunFields),
}


def run_defaults_of(table: FileNode, file: SettingsFile, problems: Problems) -> RunFields:
    """Return the table `run` of a file, empty without one; add the file's mistakes to `problems`.

    An address in `backend` that names code is a mistake: a profile states code, and whether it is
    trusted is decided there.
    """
    document, _ = validation.check(ProfileFileFields, table, file.shown, problems, _KEYS)
    if document is None:
        return RunFields()
    for index, text in enumerate(document.run.backend or ()):
        if text in document.backends:
            continue
        mark = table.at(("run", "backend", index))
        try:
            is_code = names_code(parse(text, document.backends))
        except UsageError as error:
            problems.add(file.shown, mark, f"run.backend: {error.message}", error.hint)
            continue
        if is_code:
            message = f"run.backend: {quoted(text)} names code"
            problems.add(file.shown, mark, message, "make it a profile, and name that here")
    return document.run


def profiles_of(table: FileNode, file: SettingsFile, problems: Problems) -> Mapping[str, Profile]:
    """Return the profiles of a file by name, and add their mistakes to `problems`."""
    document, _ = validation.check(ProfileFileFields, table, file.shown, problems, _KEYS)
    profiles: dict[str, Profile] = {}
    for name, fields in (document.backends if document else {}).items():
        at = ("backends", name)
        if name in built_in():
            message = f"backends.{name}: a profile cannot be called like a kind of backend"
            problems.add(file.shown, table.at(at, key=True), message)
        if not name.isprintable() or not name:
            message = f"backends.{quoted(name)}: a profile's name must be printable, in one line"
            problems.add(file.shown, table.at(at, key=True), message)
            continue
        try:
            address = _address(fields)
        except UsageError as error:
            mark = table.at((*at, "address"))
            problems.add(file.shown, mark, f"backends.{name}: {error.message}", error.hint)
            continue
        profiles[name] = Profile(
            name,
            address,
            fields.environment,
            timeout=fields.timeout,
            memory_limit=fields.memory_limit,
            resources=fields.resources,
            operators=tuple(fields.operators or ()),
            file=file,
            code=tuple(_code(table, name, address, fields.environment)),
        )
    return profiles


def _code(
    table: FileNode, name: str, address: Address, environment: Mapping[str, str]
) -> Iterator[NamedCode]:
    """Yield the code that a profile names: by its address, or by variables of its processes."""
    if names_code(address):
        mark = table.at(("backends", name, "address"), key=True)
        yield NamedCode(mark, f"backends.{name}.address", str(address))
    # PYTHONPATH, LD_PRELOAD and the like have code loaded into any backend, and no list of them
    # could be complete.
    for variable, value in environment.items():
        mark = table.at(("backends", name, "environment", variable), key=True)
        key = f"backends.{name}.environment.{variable}"
        yield NamedCode(mark, key, value, may_be_secret=True)


def _address(fields: ProfileFields) -> Address:
    """Return the address with its separate options; raise UsageError."""
    for name in DECLARED:
        if name in fields.options:
            hint = "write it beside them"
            if name == "accumulate":
                hint += ", as a list"
            raise UsageError(f"{name} is none of the options", hint)
    stated = parse(fields.address)
    options = sorted({**dict(stated.options), **fields.options}.items())
    declared = sorted({*stated.accumulate, *fields.accumulate})
    own = replace(stated, refuses=stated.refuses and fields.refuses)
    address = replace(own, options=tuple(options), accumulate=tuple(declared))
    if parse(str(address)) != address:
        raise UsageError(f"{str(address)!r} cannot be an address", "an option holds & or ?")
    return address


def parse_toml(text: str, file: str, problems: Problems) -> FileNode | None:
    """The document; None, with the problem reported, if it is none."""
    for number, line in enumerate(text.splitlines(), 1):
        if line.count(".") > _MOST_DOTS:
            problems.add(file, Mark(number, 1), f"more than {_MOST_DOTS:,} dots in one line")
            return None
    try:
        document = tomllib.loads(text)
        marks = _marks(text)
        return _node(document, (), marks, Mark(0, 0))  # the whole file, for keys not found
    except RecursionError:
        problems.add(file, Mark(1, 1), "nested too deep")
        return None
    except tomllib.TOMLDecodeError as error:
        place = _PLACE.search(str(error))
        last = text.splitlines() or [""]
        mark = Mark(len(last), len(last[-1]) + 1)
        if place and place[1]:
            mark = Mark(int(place[1]), int(place[2]))
        hint = "texts stand in quotes" if "Invalid value" in str(error) else None
        problems.add(file, mark, f"no TOML: {_PLACE.sub('', str(error))}", hint)
        return None
    except ValueError:  # of Python's int, for a number of more digits than it converts
        limit = sys.get_int_max_str_digits()
        problems.add(file, _long_number(text, limit), f"a number of more than {limit:,} digits")
        return None


def _long_number(text: str, limit: int) -> Mark:
    """Return the place of the first number of more than `limit` digits."""
    digits = re.compile(r"\d[\d_]*")
    for number, line in enumerate(text.splitlines(), 1):
        for found in digits.finditer(line):
            if len(found[0].replace("_", "")) > limit:
                return Mark(number, found.start() + 1)
    return Mark(1, 1)


def _node(value: Any, path: TomlPath, marks: Mapping[TomlPath, Mark], above: Mark) -> FileNode:
    """A value, at its key or, inside an inline table, at that `above`."""
    mark = marks.get(path, above)
    if isinstance(value, dict):
        entries = {key: _node(item, (*path, key), marks, mark) for key, item in value.items()}
        return FileNode(entries, mark, {key: entry.mark for key, entry in entries.items()})
    if isinstance(value, list):
        return FileNode(tuple(_node(item, path, marks, mark) for item in value), mark)
    return FileNode(value, mark)


def _marks(text: str) -> dict[TomlPath, Mark]:
    """The first place of every key that a line begins with, be it that of a table."""
    marks: dict[TomlPath, Mark] = {}
    table: TomlPath = ()
    for number, line in enumerate(text.splitlines(), 1):
        header = re.match(rf"\s*\[\[?\s*{_KEY}\s*\]", line)
        key = header or re.match(rf"\s*{_KEY}\s*=", line)
        if not key:
            continue
        # A line of a text of several lines may look like a key and be none.
        with suppress(tomllib.TOMLDecodeError):
            nested: Any = tomllib.loads(f"{key['key']} = 0")
            path: TomlPath = ()
            while nested != 0:
                ((word, nested),) = nested.items()
                path = (*path, word)
            if header:
                table = path
            else:
                path = (*table, *path)
            for end in range(1, min(len(path), _DEEPEST) + 1):
                marks.setdefault(path[:end], Mark(number, key.start("key") + 1))
    return marks
