"""Everything opcheck raises on purpose, and the exit code each one means.

Anything else that escapes is a bug of opcheck and keeps its traceback.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import IntEnum

#: Other names of element types and backends.
_SHORT = {"half": "float16", "single": "float32", "float": "float32", "double": "float64"}
_SHORT |= {"bf16": "bfloat16", "int": "int32", "long": "int64", "ort": "onnxruntime"}
_SHORT |= {f"{f}{bits}": f"float{bits}" for f in ("f", "fp") for bits in (16, 32, 64)}
#: The most problems shown at once: a generated file may repeat one mistake in every line.
_SHOWN = 100


class Exit(IntEnum):
    """Exit status of a command: the first that applies, in this order."""

    INTERRUPTED = 130
    USAGE = 2
    UNUSABLE = 4
    NONCONFORMING = 1
    SLOWER = 3
    NOTHING_JUDGED = 5
    CONFORMS = 0


class OpcheckError(Exception):
    """A message for the user, who sees no traceback, with a hint at what to do next."""

    exit_code: Exit = Exit.USAGE

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        if hint:
            self.add_note(hint)  # which a traceback shows in Python

    def lines(self) -> list[str]:
        """Return the lines of the message as the user sees it."""
        return [self.message, f"  {self.hint}"] if self.hint else [self.message]


class UsageError(OpcheckError):
    """The command line asks for something that does not exist or makes no sense."""


class BackendUnavailable(OpcheckError):
    """A backend that was asked for cannot be used on this machine."""

    exit_code = Exit.UNUSABLE


class ProcessDied(OpcheckError):
    """A process in which opcheck does its own work died, as the system may kill it."""

    exit_code = Exit.UNUSABLE


class Unwritable(OpcheckError):
    """A file that was asked for cannot be written."""

    exit_code = Exit.UNUSABLE

    def __init__(self, file: object, error: OSError) -> None:
        super().__init__(f"{file} cannot be written: {error.strerror or error}")


@contextmanager
def writing(file: object) -> Iterator[None]:
    """Around what writes a file, or into a folder: raises Unwritable."""
    try:
        yield
    except OSError as error:
        raise Unwritable(file, error) from None


@dataclass(frozen=True, order=True)
class Problem:
    """A problem at a place of a file; line and column count from 1, and line 0 is the file."""

    file: str
    line: int
    column: int
    message: str
    hint: str | None = None

    def __str__(self) -> str:
        hint = f" ({self.hint})" if self.hint else ""
        place = f"{self.file}:{self.line}:{self.column}" if self.line else self.file
        return f"{place}: {self.message}{hint}"


class CaseFileError(UsageError):
    """One or more files cannot be used; carries every problem found, in file order."""

    def __init__(self, problems: Sequence[Problem], consequence: str = "nothing was run") -> None:
        self.consequence = consequence
        once = dict.fromkeys(problems)  # unlike a set, this keeps those of one place in order
        self.problems = tuple(sorted(once, key=lambda p: (p.file, p.line, p.column)))
        super().__init__("\n".join(str(problem) for problem in self.problems))

    def lines(self) -> list[str]:
        """Return the first problems, then their number."""
        count = len(self.problems)
        files = len({problem.file for problem in self.problems})
        total = f"{count} problem{'s' * (count > 1)} in {files} file{'s' * (files > 1)}"
        if count > _SHOWN:
            total += f", of which the first {_SHOWN} are shown"
        return [*map(str, self.problems[:_SHOWN]), f"{total}; {self.consequence}"]


class WrongOperator(UsageError):
    """An operator's file contradicts the schema, or its formula fails; lines begin with places."""


class NodeError(Exception):
    """Something about one node: it becomes an outcome or a verdict, and never ends a run."""


class InvalidNode(NodeError):
    """The node breaks its specification; the message names operator, value and allowed range."""


def reject(condition: object, message: str) -> None:
    """Raise InvalidNode with this message if the condition holds."""
    if condition:
        raise InvalidNode(message)


class NotSupported(NodeError):
    """Nothing here implements the node."""


class NodeWithoutAnswer(NotSupported):
    """A node of a graph is not computed; the message names it.

    Attributes:
        number: The number of the node in its graph, from 0.
    """

    def __init__(self, reason: str, number: int) -> None:
        super().__init__(reason, number)
        self.number = number

    def __str__(self) -> str:
        return str(self.args[0])


class BeyondBudget(NotSupported):
    """The graph is larger than opcheck computes; the message names the option."""


def decline(condition: object, reason: str) -> None:
    """Raise NotSupported for this reason if the condition holds."""
    if condition:
        raise NotSupported(reason)


class NotExpressible(NotSupported):
    """No ONNX model can state the node."""


class NotCarried(NotExpressible):
    """opcheck's adapter cannot hand the values of the node to its backend."""


def plural(count: int, one: str, many: str = "") -> str:
    """`1 case`, `2 cases`, `1,031 cases`; `many` is for words that take more than an `s`."""
    return f"{count:,} {one if count == 1 else many or f'{one}s'}"


def few(names: Sequence[str], most: int = 1) -> str:
    """Return the first names, and how many others there are: `a, b and 1,031 more`."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}"


def meant(word: str, known: Iterable[str]) -> str:
    """Return `did_you_mean` in parentheses, to follow a message; "" without a hint."""
    hint = did_you_mean(word, known)
    return f" ({hint})" if hint else ""


def did_you_mean(word: str, known: Iterable[str]) -> str | None:
    """Name the known words `nearest` to `word`; None without any."""
    known = {name.lower(): name for name in known}
    several = [known.get(one.strip().lower()) for one in word.split(",")]
    if len(several) > 1 and all(several):
        return f"name each by itself: {', '.join(map(str, several))}."
    near = nearest(word, known.values())
    return f"did you mean {' or '.join(map(repr, near))}?" if near else None


def nearest(word: str, known: Iterable[str]) -> list[str]:
    """Return one or two known words that `word` becomes by fewest edits, or else is a part of."""
    from difflib import get_close_matches

    word = word.lower()
    candidates = {name.lower(): name for name in known}
    short_for = _SHORT.get(word)
    if short_for in candidates:
        return [candidates[short_for]]
    edits: dict[str, float] = {}
    if len(word) > 3:
        # What begins with the word is one edit away.
        edits = {name: 1.0 for name in candidates if name.startswith(word) and name != word}
    for name in get_close_matches(word, candidates, n=9, cutoff=0.6):
        edits.setdefault(name, _edits(word, name))
    fewest = min(edits.values(), default=0.0)
    # Half an edit more is as near, unless a word is the same but for its case.
    most = fewest + 0.5 if fewest > 0 else fewest
    near = [name for name in edits if edits[name] <= most]
    near.sort(key=lambda name: (edits[name], len(name), name))
    if not near and len(word) > 2:
        near = sorted(
            (name for name in candidates if word in name), key=lambda name: name.index(word)
        )
    return [candidates[name] for name in near[:2]]


def _edits(word: str, name: str) -> float:
    """Return the edits that make `name` of `word`; an inserted letter is half of one.

    Letters are left out more often than mistaken.
    """
    from difflib import SequenceMatcher

    total = 0.0
    for how, m, n, i, j in SequenceMatcher(None, word, name, autojunk=False).get_opcodes():
        if how == "insert":
            total += (j - i) / 2
        elif how != "equal":
            total += max(n - m, j - i)
    return total
