"""The small files in a folder of saved outputs: whose they are, and what stands in place of some.

unsupported.txt   the backend's own "not implemented"
error.txt         the backend refused the model, or failed
not_run.txt       nothing was computed, through no fault of the backend or the model
opcheck.json      at the top: the backend that answered
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from opcheck.model import BackendInfo

Kind: TypeAlias = Literal["unsupported", "error", "not_run"]
KINDS: tuple[Kind, ...] = get_args(Kind)

#: Nobody reads more of a text, in characters.
_LONGEST = 4000
_ACCIDENT = "refused by accident: "
_NAMED = re.compile(r"(?P<kind>[A-Za-z_]\w*)(: (?P<detail>.*))?", re.DOTALL)
#: The file's name. A folder that has one was written by opcheck.
MARKER = "opcheck.json"
# History of the format:
#   1  {"format": 1, "backend": null | {address, kind, version, accumulate, engine, devices,
#      threads}}: whose outputs these are, null where only questions were written
FORMAT = 1
_TEXTS = ("address", "kind", "version")
_LISTS = ("accumulate", "devices")
_FIELDS = (*_TEXTS, "accumulate", "engine", "devices", "threads")


@dataclass(frozen=True)
class Saying:
    """A text and what it is about."""

    kind: Kind
    text: str


def read_saying(folder: Path) -> Saying | None:
    """The text in `folder`, if there is one; raises ValueError where there are several."""
    found = [kind for kind in KINDS if (folder / f"{kind}.txt").exists()]
    if len(found) > 1:
        raise ValueError(" and ".join(f"{kind}.txt" for kind in found) + " are both there")
    if not found:
        return None
    (kind,) = found
    try:
        with (folder / f"{kind}.txt").open(encoding="utf-8", errors="replace") as file:
            text = file.read(_LONGEST).strip()
    except OSError as error:
        raise ValueError(f"{kind}.txt cannot be read: {error.strerror}") from None
    return Saying(kind, text or f"{kind}.txt gives no reason")


def write_saying(folder: Path, saying: Saying) -> None:
    """Write the text into `folder`."""
    # A message may hold what is no text.
    data = f"{saying.text}\n".encode(errors="backslashreplace")
    (folder / f"{saying.kind}.txt").write_bytes(data)


@dataclass(frozen=True)
class Refusal:
    """An exception by its name, "" where only words are known, and whether it was meant."""

    kind: str
    detail: str
    documented: bool = True

    def __str__(self) -> str:
        told = f"{self.kind}: {self.detail}" if self.detail else self.kind
        return told if self.documented else f"{_ACCIDENT}{told}"


def read_refusal(text: str) -> Refusal:
    """What `str` of a Refusal wrote; any other text is words."""
    words = text.removeprefix(_ACCIDENT)
    named = _NAMED.fullmatch(words)
    if not named:
        return Refusal("", text)
    return Refusal(named["kind"], named["detail"] or "", documented=words == text)


def write_origin(folder: Path, backend: BackendInfo | None) -> None:
    """Mark `folder` as written by opcheck, with what `backend` said."""
    said = backend and {name: getattr(backend, name) for name in _FIELDS}
    if said and backend and backend.of:
        said["address"] = backend.of
    text = json.dumps({"format": FORMAT, "backend": said}, indent=2)
    (folder / MARKER).write_text(text + "\n", encoding="utf-8")


def read_origin(folder: Path) -> BackendInfo | None:
    """The backend that gave the outputs in `folder`, None where nothing says so.

    Raises ValueError where the file is not one that this version of opcheck can read.
    """
    try:
        text = (folder / MARKER).read_bytes()
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise ValueError(f"{MARKER} cannot be read: {error}") from None
    try:
        record = json.loads(text)
        version, said = record["format"], record["backend"]
    except (ValueError, TypeError, KeyError, RecursionError):
        raise ValueError(f"{MARKER} is damaged, or not opcheck's") from None
    if version != FORMAT:
        raise ValueError(f"{MARKER} has format {version!r}; this opcheck reads {FORMAT}")
    return None if said is None else _backend(said)


def _backend(said: Any) -> BackendInfo:
    sound = (
        isinstance(said, dict)
        and all(isinstance(said.get(name), str) for name in _TEXTS)
        and all(_are_texts(said.get(name)) for name in _LISTS)
        and isinstance(said.get("engine"), bool)
        and isinstance(said.get("threads"), int | None)
    )
    if not sound:
        raise ValueError(f"{MARKER} does not say whose outputs these are")
    lists = {name: tuple(said[name]) for name in _LISTS}
    return BackendInfo(**{name: said[name] for name in _FIELDS} | lists)


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)
