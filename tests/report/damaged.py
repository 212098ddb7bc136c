"""Files of JSON lines with something wrong in them."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from opcheck.errors import CaseFileError, Exit


def changed(
    lines: Sequence[str], number: int, path: Sequence[str | int], value: object
) -> list[str]:
    """The lines, with one thing in one of them changed."""
    fields = here = json.loads(lines[number - 1])
    for step in path[:-1]:
        here = here[step]
    here[path[-1]] = value
    return [*lines[: number - 1], json.dumps(fields), *lines[number:]]


def complaint(read: Callable[[Path], Any], path: Path) -> list[str]:
    """What is said when a file cannot be read, without its name."""
    with pytest.raises(CaseFileError) as caught:
        read(path)
    assert caught.value.exit_code == Exit.USAGE
    return [str(problem).removeprefix(str(path)) for problem in caught.value.problems]
