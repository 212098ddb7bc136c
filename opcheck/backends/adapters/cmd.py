"""`cmd:COMMAND`: any program, so that a device or a C++ runner needs no Python.

With `{model}`, `{inputs}` and `{outputs}` in it, the command is run once for each case; without
them it is started once and asked in lines of JSON. docs/writing-a-backend.md has both protocols.
"""

import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from opcheck.backends.adapters import About, take
from opcheck.backends.base import Backend
from opcheck.backends.connect import digest
from opcheck.backends.programs import PLACEHOLDERS, CommandFailed, Persistent, one_shot
from opcheck.errors import BackendUnavailable, UsageError, did_you_mean
from opcheck.model import BackendInfo

ABOUT = About(
    "any program, cmd:COMMAND, through files or lines of JSON",
    included="the way to the program and back",
)


def connect(detail: str | None, options: Mapping[str, str]) -> Backend:
    """Return the program, already started if it is asked in lines."""
    take("cmd", options, {})
    words = words_of(detail or "")
    once = is_one_shot(words)
    if not shutil.which(words[0]):
        if Path(words[0]).is_file():
            raise BackendUnavailable(f"{words[0]} is not executable", f"chmod +x {words[0]}")
        message = f"there is no program {words[0]!r}"
        raise BackendUnavailable(message, f"looked for from {Path.cwd()} and on PATH")
    address = f"cmd:{detail}"
    made = {name: digest([path]) for name, path in _files_in(words).items()}
    if once:
        return one_shot(BackendInfo(address, "cmd", "", repeatable=False, made_of=made), words)
    program = Persistent(words)
    info = BackendInfo(address, "cmd", program.version, made_of=made)
    return Backend(info, (CommandFailed,), program.prepare)


def _files_in(words: Sequence[str]) -> dict[str, Path]:
    """Return the program, and the files that its words name, by themselves or behind `=`."""
    found = {words[0]: Path(shutil.which(words[0]) or words[0])}
    for end in (end for word in words[1:] for end in (word, word.partition("=")[2]) if end):
        with suppress(OSError, ValueError):
            if Path(end).is_file():
                found[end] = Path(end)
    return found


def words_of(command: str) -> tuple[str, ...]:
    """Split a command as a shell would; nothing else of a shell is done."""
    try:
        words = tuple(shlex.split(command))
    except ValueError as error:
        raise UsageError(f"backend 'cmd': {command}: {error}") from None
    if not words:
        hint = "such as cmd:./runner {model} {inputs} {outputs}"
        raise UsageError("backend 'cmd' needs a command", hint)
    return words


def is_one_shot(words: Sequence[str]) -> bool:
    """Return True if the command has the placeholders: all of them, or none."""
    found = [name for word in words for name in re.findall(r"\{([A-Za-z_]+)\}", word)]
    for name in found:
        hint = did_you_mean(name, PLACEHOLDERS)
        if name not in PLACEHOLDERS and hint:
            raise UsageError(f"backend 'cmd' has no placeholder {{{name}}}", hint)
    missing = [name for name in PLACEHOLDERS if name not in found]
    if missing and len(missing) < len(PLACEHOLDERS):
        message = " and ".join(f"{{{name}}}" for name in missing)
        raise UsageError(
            f"backend 'cmd': the command lacks {message}",
            "{model}, {inputs} and {outputs} must all be there; without any of them, the command"
            " is started once and asked in lines of JSON",
        )
    return not missing
