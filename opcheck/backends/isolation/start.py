"""The first words of a worker: what backend it has, or why it has none."""

from __future__ import annotations

import json
from time import monotonic
from typing import Any

from opcheck.backends.isolation.channel import Damaged
from opcheck.backends.isolation.process import Process
from opcheck.errors import BackendUnavailable, UsageError
from opcheck.model import BackendInfo


def started(process: Process, address: str, until: float) -> BackendInfo | None:
    """What a worker says first, None if it has said nothing yet.

    Raises UsageError and BackendUnavailable as the worker says, and BackendUnavailable where it
    ends, or is still silent at `until` (by the monotonic clock), with what it printed last.
    """
    try:
        # In this order: who ends may have said why a moment before.
        ended = process.has_ended()
        if process.connection.poll():
            return _read(json.loads(process.channel.receive().read()[0]))
        if not ended:
            if monotonic() < until:
                return None
            raise BackendUnavailable(_with_output(f"backend {address!r} hangs at start", process))
    except (EOFError, ConnectionError):
        pass
    except (Damaged, ValueError, TypeError, LookupError, RecursionError) as error:
        said = f"backend {address!r} says something unintelligible at start: {error}"
        raise BackendUnavailable(_with_output(said, process)) from error
    how = process.how_it_ended()
    raise BackendUnavailable(_with_output(f"backend {address!r} died at start: {how}", process))


def _with_output(said: str, process: Process) -> str:
    printed = process.kill().strip()
    return f"{said}; the last it printed:\n{printed}" if printed else said


def _read(hello: dict[str, Any]) -> BackendInfo:
    if "info" not in hello:
        kind = UsageError if hello["usage"] else BackendUnavailable
        raise kind(hello["message"], hello["hint"])
    fields = dict(hello["info"])
    fields["accumulate"] = tuple(fields["accumulate"])
    fields["devices"] = tuple(fields["devices"])
    return BackendInfo(**fields)
