"""Addresses of backends, `kind[:detail][?option=value&…]`, and profiles; nothing is imported yet.

Profiles are backends with their settings, as docs/writing-a-backend.md has them. Only the nearest
file upwards that mentions opcheck counts, and of two in the same folder `opcheck.toml`.
"""

import os
import pkgutil
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from opcheck.backends import adapters, trust
from opcheck.backends.trust import NamedCode, SettingsFile
from opcheck.errors import CaseFileError, Problem, UsageError, did_you_mean
from opcheck.reading import FileNode, Problems, Unreadable, contents, decoded

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

#: The backends of a run that names none.
DEFAULT = ("numpy", "onnxruntime", "reference")
#: The group of entry points by which other distributions offer backends.
GROUP = "opcheck.backends"
#: The arithmetic that a backend may be declared to compute in: see BackendInfo.
_ACCUMULATE = ("bfloat16", "float16", "stored")
#: Kinds whose details are commands and paths, where a question mark is nothing special.
_FREE = ("cmd", "saved")
#: Kinds whose addresses are code: case files, which may come from anybody, must not have it run.
CODE = ("cmd", "onnx", "py")
#: How options of built-in kinds begin that have libraries loaded: those of execution providers.
_CODE_OPTIONS = ("ep_library", "ep.")
#: What ends such a detail: a question mark and well-formed options without spaces, or nothing.
_OPTION = r"[A-Za-z_][A-Za-z0-9_-]*=[^?&\s]*"
_END = re.compile(rf"\?(?P<options>{_OPTION}(&{_OPTION})*|)\Z")


@dataclass(frozen=True)
class Address:
    """An address in its parts; `str` spells equal ones alike, in a way that `parse` reads back."""

    kind: str
    detail: str | None = None
    #: For the adapter, in alphabetical order.
    options: tuple[tuple[str, str], ...] = ()
    #: Poorer arithmetic that is declared, which matters to the backend's judges only.
    accumulate: tuple[str, ...] = ()
    #: False: it is declared not to refuse invalid models.
    refuses: bool = True

    def __str__(self) -> str:
        return self.at(self.kind if self.detail is None else f"{self.kind}:{self.detail}")

    def at(self, place: str) -> str:
        """Return the address, with kind and detail as the backend itself spells them."""
        options = [f"{name}={value}" for name, value in self.options]
        if self.accumulate:
            options.append(f"accumulate={','.join(self.accumulate)}")
        options += ["refuses=false"] * (not self.refuses)
        # A detail that ends like options needs a question mark to tell that it does not.
        if options or (self.kind in _FREE and _END.search(place)):
            return f"{place}?{'&'.join(options)}"
        return place


def parse(text: str, profiles: Iterable[str] = ()) -> Address:
    """Return the address that `text` spells; raise UsageError, which suggests `profiles` too."""
    place, mark, options = text.partition("?")  # options begin at the first question mark
    kind, _, _ = place.partition(":")
    if kind not in built_in() and kind not in entry_points():
        raise _unknown_backend(place, kind, profiles)
    # Here they begin at the last question mark, and only if nothing but options follows: a command
    # that ends like options needs one more question mark.
    if kind in _FREE and ":" in place:
        mark = ""
        options = ""
        place = text
        end = _END.search(text)
        if end:
            place = text[: end.start()]
            options = end["options"]
    _, colon, detail = place.partition(":")
    if colon and not detail:
        raise UsageError(f"backend {text!r} has nothing after the colon")
    if mark and not options:
        raise UsageError(f"backend {text!r} has nothing after the question mark")
    given = _options(text, options)
    accumulate = given.pop("accumulate", None)
    declared = () if accumulate is None else _accumulate(text, accumulate)
    refuses = given.pop("refuses", "true")
    if refuses not in ("true", "false"):
        raise UsageError(f"backend {text!r}: refuses is true or false, got {refuses!r}")
    return Address(kind, detail or None, tuple(sorted(given.items())), declared, refuses == "true")


def _unknown_backend(place: str, kind: str, profiles: Iterable[str]) -> UsageError:
    """Return the error of an unknown kind, with what may be meant: a file, or a similar name."""
    names = sorted({*built_in(), *entry_points(), *profiles})
    known = f"known backends: {', '.join(names)}"
    hint = did_you_mean(kind, names)
    file = Path(place if place.endswith(".py") else f"{place}.py")
    if place.endswith(".py") or file.is_file():
        hint = f"write py:{'.'.join(file.with_suffix('').parts)} for {file}."
    return UsageError(f"unknown backend {place!r}", f"{hint} {known}" if hint else known)


def _options(text: str, options: str) -> dict[str, str]:
    """Return the options of the address `text`, as written in it, by name."""
    given: dict[str, str] = {}
    if not options:
        return given
    for option in options.split("&"):
        name, _, value = option.partition("=")
        if name in given:
            raise UsageError(f"backend {text!r} has option {name!r} twice")
        given[name] = value
    return given


def built_in() -> tuple[str, ...]:
    """Return all built-in kinds."""
    return tuple(sorted(module.name for module in pkgutil.iter_modules(adapters.__path__)))


def entry_points() -> "Mapping[str, EntryPoint]":
    """Return the kinds that other distributions offer, by name; raise UsageError for clashes."""
    # Takes ten times as long as the rest of this module, and most runs name built-in kinds only.
    from importlib import metadata

    points: dict[str, EntryPoint] = {}
    for point in metadata.entry_points(group=GROUP):
        other = points.setdefault(point.name, point)
        if point.name in built_in():
            message = f"{_origin(point)} offers a backend {point.name!r}, which is built in"
            hint = f"uninstall it, or have it renamed (entry point group {GROUP!r})"
            raise UsageError(message, hint)
        if other is not point:
            both = f"{_origin(other)} and {_origin(point)} both"
            raise UsageError(f"{both} offer a backend {point.name!r}", "uninstall one of them")
    return points


def _origin(point: "EntryPoint") -> str:
    return f"distribution {point.dist.name!r}" if point.dist else repr(point.value)


def _accumulate(address: str, text: str) -> tuple[str, ...]:
    """Return the declared types, each once and in alphabetical order."""
    known = f"accumulate takes one or several of {', '.join(_ACCUMULATE)}, joined by commas"
    known += "; float32 is what is expected without it"
    words = text.split(",")
    for word in (word for word in words if word not in _ACCUMULATE):
        hint = " ".join(filter(None, (did_you_mean(word, _ACCUMULATE), known)))
        raise UsageError(f"backend {address!r}: no such arithmetic: {word!r}", hint)
    return tuple(sorted(set(words)))


_UNITS = {"": 1, "b": 1}
for _n, _prefix in enumerate("kmgt", 1):
    _UNITS |= {_prefix: 1024**_n, f"{_prefix}ib": 1024**_n, f"{_prefix}b": 1000**_n}


@dataclass(frozen=True)
class Profile:
    """A backend and how its process is treated; `name` is what the user calls it."""

    name: str
    address: Address
    environment: Mapping[str, str] = field(default_factory=dict)
    #: In seconds for a case, and in bytes; None means that nothing is said.
    timeout: float | None = None
    memory_limit: int | None = None
    #: What a worker of a cluster needs for it.
    resources: Mapping[str, float] = field(default_factory=dict)
    #: The operators that it is for, as `opcheck.suite.scope` reads them; none stated means all.
    operators: tuple[str, ...] = ()
    #: The file that states it, and the code that it names there.
    file: SettingsFile | None = field(default=None, compare=False)
    code: tuple[NamedCode, ...] = field(default=(), compare=False)

    def require_trust(self, hint: str = "") -> None:
        """Raise UntrustedCode if its file names code for it, and is not trusted."""
        if self.file:
            trust.require_trust(self.file, self.code, hint)


def names_code(address: Address) -> bool:
    """Return True for an address that chooses code to run, and not just an installed backend."""
    if address.kind in CODE:
        return True
    if any(name.startswith(_CODE_OPTIONS) for name, _ in address.options):
        return True
    # What another package makes of a detail or an option is unknown: it may load a library.
    return address.kind not in built_in() and bool(address.detail or address.options)


def resolve(text: str, profiles: Mapping[str, Profile]) -> Profile:
    """Return the profile or the address that the user calls `text`; raise UsageError.

    A user who names a profile accepts its code, unless an installed package offers a backend of
    that name: then the user may mean the latter.
    """
    if text in profiles:
        profile = profiles[text]
        if profile.code and text in entry_points():
            profile.require_trust()
        return profile
    name = re.split("[:?]", text, maxsplit=1)[0]
    if name in profiles:
        message = f"{name!r} is a profile, which takes neither detail nor options"
        raise UsageError(f"backend {text!r}: {message}", "its options belong into the file")
    return Profile(text, parse(text, profiles))


def profiles(folder: Path) -> Mapping[str, Profile]:
    """Return the profiles for `folder`, by name; raise CaseFileError with every problem.

    Those are of the file that --config names, or else of the nearest file upwards.
    """
    problems = Problems()
    profiles: Mapping[str, Profile] = {}
    settings = settings_for(folder, problems)
    if settings:
        # Imported here, because it takes as long as the start of a whole command.
        from opcheck.backends.profile_fields import profiles_of

        profiles = profiles_of(*settings, problems)
    problems.raise_if_any()
    return profiles


def settings_for(folder: Path, problems: Problems) -> tuple[FileNode, SettingsFile] | None:
    """Return the table of settings for `folder`, and its file; None if there is none.

    It is in the file that --config names, or else in the nearest one upwards. What is wrong with it
    is added to `problems`; raises CaseFileError for a named file without settings.
    """
    named = trust.config()
    return _named_table(named, problems) if named else nearest_settings(folder, problems)


def memory(text: str) -> int:
    """Return a size such as 2GiB, 512MB or 1000000 in bytes; raise UsageError."""
    size = re.fullmatch(r"(\d{1,18}(?:\.\d{1,18})?)\s*([A-Za-z]*)", text.strip(), re.ASCII)
    count = 0
    if size:
        count = int(float(size[1]) * _UNITS.get(size[2].lower(), 0))
    if not count:
        raise UsageError(f"{text!r} is no size of memory; write for example 2GiB, 512MB or 1000000")
    return count


#: The names of settings files, and the keys of opcheck's table in each: in a folder, the first that
#: has such a table counts.
_FILES: Mapping[str, tuple[str, ...]] = {"opcheck.toml": (), "pyproject.toml": ("tool", "opcheck")}


def nearest_settings(folder: Path, problems: Problems) -> tuple[FileNode, SettingsFile] | None:
    """Return the nearest table of settings from `folder` upwards, and its file."""
    folder = folder.absolute()
    for place in (folder, *folder.parents):
        for name, keys in _FILES.items():
            path = place / name
            # A link to nothing or a pipe is a mistake, and no reason to take a file farther up.
            is_there = os.path.lexists(path) if name == "opcheck.toml" else path.is_file()
            if not is_there:
                continue
            shown = name if place == folder else str(path)
            table = _table(path, shown, keys, problems)
            if table:
                return table
    return None


def _named_table(path: Path, problems: Problems) -> tuple[FileNode, SettingsFile] | None:
    """Return the table of settings in a file that the user names."""
    keys = _FILES.get(path.name, ())
    settings = _table(path, str(path), keys, problems, is_named=True)
    if not settings and not problems:
        table = f"[{'.'.join((*keys, 'backends'))}.NAME]"
        message = f"this file has no settings of opcheck, such as {table}"
        raise CaseFileError([Problem(str(path), 0, 0, message)])
    return settings


def _table(
    path: Path, shown: str, keys: tuple[str, ...], problems: Problems, *, is_named: bool = False
) -> tuple[FileNode, SettingsFile] | None:
    """Return the table at `keys` in a file; None without one, or with what is wrong reported."""
    from opcheck.backends.profile_fields import parse_toml

    try:
        data = contents(path)
        # Most files of projects have nothing to do with opcheck, be they well-formed or not.
        if b"opcheck" not in data.replace(b"\0", b"") and path.name == "pyproject.toml":
            return None
        text = decoded(data).removeprefix("\ufeff")
    except Unreadable as error:
        problems.add(shown, error.mark, error.message, error.hint)
        return None
    document = parse_toml(text, shown, problems)
    table = document.get(*keys) if document else None
    if not table or not table.value:
        return None
    return table, SettingsFile.of(path, shown, data, is_named=is_named)
