"""What a family of situations consists of."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase

from opcheck import opset
from opcheck.model import Array, Case
from opcheck.opset import Schema


def newest_schema(op: str) -> Schema | None:
    """Return the schema of the newest version of an operator of ONNX's own domain, if it is one."""
    return opset.describe("", op, opset.newest(""))


@dataclass(frozen=True)
class Argument:
    """Why no case of level core is in the situations of `op` that match `pattern`.

    In a pattern, as in those of file names, `*` stands for any text.
    """

    op: str
    pattern: str
    why: str

    def is_about(self, op: str, situation: str) -> bool:
        """Return True if this argument is about the situation of that operator."""
        return op == self.op and fnmatchcase(situation, self.pattern)


@dataclass(frozen=True)
class Family:
    """A lattice of situations.

    `situations` yields those of an operator, and none if the family is not about it; `found_in`
    those that a case is in. `left_out` says what the lattice does not have. Without `one_type`,
    cases of every type count.
    """

    name: str
    situations: Callable[[Schema], Iterator[str]]
    found_in: Callable[[Case], Iterator[str]]
    left_out: str
    argued: tuple[Argument, ...] = ()
    one_type: bool = True
    elements: Callable[[Case, str], Array] | None = None
