"""What stands in a case's folder in place of outputs: a text in a file whose name says its kind.

unsupported.txt   the backend's own "not implemented"
error.txt         the backend refused the model, or failed
not_run.txt       nothing was computed, through no fault of the backend or the model
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias, get_args

Kind: TypeAlias = Literal["unsupported", "error", "not_run"]
KINDS: tuple[Kind, ...] = get_args(Kind)

#: Nobody reads more of a text, in characters.
_LONGEST = 4000
_ACCIDENT = "refused by accident: "
_NAMED = re.compile(r"(?P<kind>[A-Za-z_]\w*)(: (?P<detail>.*))?", re.DOTALL)


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
