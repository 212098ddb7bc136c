"""JSON lines: one object a line, in ASCII, without anything that is no JSON."""

from __future__ import annotations

import json
from typing import Any


def line(fields: dict[str, Any]) -> str:
    """`fields` as a line; half of a surrogate pair, which no text has, becomes �.

    Raises ValueError for NaN and infinities.
    """
    text = _dumped(fields)
    # Few lines have a character beyond the Basic Multilingual Plane, or half of one.
    return _dumped(_whole(fields)) if "\\ud" in text else text


def _dumped(fields: Any) -> str:
    return json.dumps(fields, ensure_ascii=True, allow_nan=False, separators=(",", ":"))


def _whole(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {_whole(key): _whole(item) for key, item in value.items()}
    return [*map(_whole, value)] if isinstance(value, list | tuple) else value
