"""Whose code runs: the files that may name code, and the user's list of the folders they accepted.

A file that opcheck finds by itself, such as the `opcheck.toml` of the working directory, may come
from a stranger. Code that it names runs only if the invocation accepts it: docs/trust.md has the
rule, and `require_trust` carries it out. All code that a file names must pass there.
"""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from opcheck.errors import UsageError, writing
from opcheck.reading import Mark, Unreadable, contents, decoded

#: The settings file that this invocation names by --config.
_config: ContextVar[Path | None] = ContextVar("config", default=None)
#: The longest part of a value that an error shows.
_SHOWN = 80


@dataclass(frozen=True)
class SettingsFile:
    """A file with settings, as it was read: `shown` is its name in messages."""

    path: Path
    shown: str
    #: The SHA-256 of its content, in hexadecimal.
    digest: str
    #: The user named it by --config.
    is_named: bool = False

    @classmethod
    def of(cls, path: Path, shown: str, data: bytes, *, is_named: bool = False) -> "SettingsFile":
        """Return the file at `path`, whose content is `data`.

        A link in the place of the file is a file of its folder, where others may have put it.
        """
        place = path.parent.resolve() / path.name
        return cls(place, shown, sha256(data).hexdigest(), is_named)


@dataclass(frozen=True)
class NamedCode:
    """Code that a settings file names: its place, the key, such as `backends.npu.address`."""

    mark: Mark
    key: str
    value: str
    #: Its value stays out of messages, which end in logs.
    may_be_secret: bool = False

    def __str__(self) -> str:
        value = "" if self.may_be_secret else f" ({shortened(self.value)})"
        return f"{self.key} names code{value}"


class UntrustedCode(UsageError):
    """A file that nobody accepted names code that would run."""


def require_trust(file: SettingsFile, code: Sequence[NamedCode], hint: str = "") -> None:
    """Raise UntrustedCode if `file` names code, and the user did not accept the file.

    `hint` is another way to accept the code than those for any file.
    """
    if not code or is_trusted(file):
        return
    lines = [
        f"{file.shown}:{one.mark.line}:{one.mark.column}: {one}, and this file is not trusted"
        for one in code
    ]
    ways = [f"--config {file.shown}", "`opcheck trust`, which accepts the file as it is now"]
    hints = f"if you trust it: {', '.join([*ways, hint] if hint else ways)}"
    raise UntrustedCode("\n".join(lines), hints)


def is_trusted(file: SettingsFile) -> bool:
    """Return True if the invocation names the file, or the user accepted it with this content.

    An accepted file counts in its own folder only: below, `cmd:./run` and `py:module` are other
    files, which somebody else may have put there.
    """
    if file.is_named:
        return True
    return file.path.parent == Path.cwd().resolve() and is_accepted(file)


def is_accepted(file: SettingsFile) -> bool:
    """Return True if the user accepted the file with this content."""
    return accepted().get(str(file.path)) == file.digest


def shortened(text: str) -> str:
    """Return a file's text for a message: in one line, harmless, and not too long."""
    plain = text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
    return repr(plain)[1:-1]


@contextmanager
def configured(path: Path) -> Iterator[None]:
    """Use the settings file at `path`, and no other, until the end."""
    token = _config.set(path)
    try:
        yield
    finally:
        _config.reset(token)


def config() -> Path | None:
    """Return the settings file that this invocation names, if it does."""
    return _config.get()


def accepted() -> Mapping[str, str]:
    """Return the digests of accepted files, by their paths; raise UsageError if unreadable."""
    place = _list()
    if place is None or not place.exists():
        return {}
    try:
        found = json.loads(decoded(contents(place)))
        if not isinstance(found, dict):
            raise TypeError("not an object")
        if not all(isinstance(value, str) for value in found.values()):
            raise TypeError("a digest is not a text")
        return found
    except (Unreadable, ValueError, TypeError, RecursionError) as error:
        hint = "remove it, and run `opcheck trust` again in each folder"
        raise UsageError(f"{place}: the list of trusted files is damaged: {error}", hint) from None


def accept(file: SettingsFile) -> None:
    """Add a file with its present content to the list; raise UsageError, Unwritable."""
    _write({**accepted(), str(file.path): file.digest})


def forget(path: Path) -> bool:
    """Remove a file from the list; return False if it was not there."""
    known = {**accepted()}
    if known.pop(str(path), None) is None:
        return False
    _write(known)
    return True


def _write(files: Mapping[str, str]) -> None:
    place = _list()
    if place is None:
        raise UsageError("there is no folder for the list of trusted files", "set HOME")
    part = place.with_name(f"{place.name}.{os.getpid()}.part")
    with writing(place):
        place.parent.mkdir(parents=True, exist_ok=True)
        try:
            part.write_text(f"{json.dumps(files, indent=1, sort_keys=True)}\n", encoding="utf-8")
            part.replace(place)
        finally:
            part.unlink(missing_ok=True)


def _list() -> Path | None:
    """Return the place of the list, None without a home."""
    home = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")  # noqa: PTH111
    base = Path(home)
    return base / "opcheck" / "trusted.json" if base.is_absolute() else None
