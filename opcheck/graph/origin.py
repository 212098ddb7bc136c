"""Whose outputs a folder of saved outputs holds: a small file at its top."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from opcheck.model import BackendInfo

#: The file's name. A folder that has one was written by opcheck.
MARKER = "opcheck.json"
# History of the format:
#   1  {"format": 1, "backend": null | {address, kind, version, accumulate, engine, devices,
#      threads}}: whose outputs these are, null where only questions were written
FORMAT = 1
_TEXTS = ("address", "kind", "version")
_LISTS = ("accumulate", "devices")


def write_origin(folder: Path, backend: BackendInfo | None) -> None:
    """Mark `folder` as written by opcheck, with what `backend` said."""
    said = (
        None
        if backend is None
        else {
            "address": backend.of or backend.address,
            "kind": backend.kind,
            "version": backend.version,
            "accumulate": backend.accumulate,
            "engine": backend.engine,
            "devices": backend.devices,
            "threads": backend.threads,
        }
    )
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
    return BackendInfo(
        address=said["address"],
        kind=said["kind"],
        version=said["version"],
        accumulate=tuple(said["accumulate"]),
        engine=said["engine"],
        devices=tuple(said["devices"]),
        threads=said["threads"],
    )


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)
