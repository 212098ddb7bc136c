"""Bugs that others reported, planted in opcheck's own engine, and how each may be named.

A bug is a function that answers a node. It is right but for what the report says, and refuses what
the engine refuses. Beside it stands, as data written before any run, by which names a diagnosis is
right: names of mistakes, or terms of a condition.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from opcheck.engine import Node, operator_of
from opcheck.engine.evaluate import evaluate
from opcheck.errors import NotSupported
from opcheck.grouping import not_none
from opcheck.model import Array

Outputs: TypeAlias = Sequence[Any]
#: Answers a node; raises InvalidNode for one that the engine refuses.
Answer: TypeAlias = Callable[[Node], Outputs]


@dataclass(frozen=True, kw_only=True)
class Names:
    """By what a mistake may be named; `*` in a pattern stands for any text.

    Attributes:
        mistakes: Patterns of names of mutants.
        terms: Patterns of single terms of a condition. All terms that a condition has must fit one.
        raises: The type of the exception that the bug raises, "" if it raises none.
    """

    mistakes: tuple[str, ...] = ()
    terms: tuple[str, ...] = ()
    raises: str = ""


#: What no diagnosis fits.
NOTHING = Names()
#: The condition of a mistake that shows everywhere.
ALWAYS = "in every case"


@dataclass(frozen=True, kw_only=True)
class Bug:
    """A planted bug.

    Attributes:
        reports: Where it was reported, as `owner/repository#number`; none if it was seen in use.
        operators: Names of the operators whose cases are run.
        right: Names of the mistake, or of the exact condition.
        partly: Names of a part of it, or of what it has as a consequence.
        answer: The operator with the bug.
        admitted: The text admits the answer, or only advises against it: no result may be red.
    """

    reports: tuple[str, ...]
    operators: tuple[str, ...]
    right: Names
    partly: Names
    answer: Answer
    admitted: bool = False

    @property
    def name(self) -> str:
        """The name of the function."""
        return getattr(self.answer, "__name__", type(self.answer).__name__)

    @property
    def sentence(self) -> str:
        """What the report says."""
        return " ".join((self.answer.__doc__ or "").split())


class Collection:
    """The bugs of one module, by name, in its order.

    Args:
        reports: Where bugs were reported, by their names, if they are registered by `drawn`.
    """

    def __init__(self, reports: Mapping[str, str] | None = None) -> None:
        self.bugs: dict[str, Bug] = {}
        self._reports = reports or {}

    def drawn(
        self, *, ops: str, right: Names, partly: Names = NOTHING, admitted: bool = False
    ) -> Callable[[Answer], Answer]:
        """Return a decorator as `reported` does, which looks the report up by the name.

        Raises KeyError for a function without a report of its name.
        """

        def register(answer: Answer) -> Answer:
            report = self._reports[getattr(answer, "__name__", "")]
            register_as_reported = self.reported(
                report, ops=ops, right=right, partly=partly, admitted=admitted
            )
            return register_as_reported(answer)

        return register

    def reported(
        self,
        *reports: str,
        ops: str,
        right: Names,
        partly: Names = NOTHING,
        admitted: bool = False,
    ) -> Callable[[Answer], Answer]:
        """Return a decorator that registers a function as a bug; `ops` are separated by blanks.

        Raises ValueError for a second bug of the same name.
        """

        def register(answer: Answer) -> Answer:
            bug = Bug(
                reports=reports,
                operators=tuple(ops.split()),
                right=right,
                partly=partly,
                answer=answer,
                admitted=admitted,
            )
            if bug.name in self.bugs:
                raise ValueError(f"two bugs are called {bug.name}")
            self.bugs[bug.name] = bug
            return answer

        return register


# Parts of planted bugs.


def right(node: Node) -> list[Array]:
    """Return the engine's outputs, as its backend `numpy` gives them."""
    operator = not_none(operator_of(node.op))
    return [*evaluate(node, operator.native.get(node.op.since))]


def right_without(node: Node, *attributes: str) -> list[Array]:
    """Return the engine's outputs of a node without some attributes; it must be legal with them."""
    right(node)  # raises InvalidNode
    return right(node.with_attrs(**dict.fromkeys(attributes)))


def right_if_any(changed: Node, outputs: list[Array]) -> list[Array]:
    """Return the engine's outputs of a changed node, or `outputs` if it does not compute that.

    A planted bug does not show in such a node.
    """
    try:
        return right(changed)
    except NotSupported:
        return outputs


def given(node: Node, place: int) -> Array:
    """Return the input at a place; it must not be left out."""
    return not_none(node.inputs[place])


def is_given(node: Node, place: int) -> bool:
    """Return True if the node has an input at a place."""
    return place < len(node.inputs) and node.inputs[place] is not None


def places_of(node: Node, outputs: Outputs) -> Sequence[int]:
    """Return the place of each of these outputs among those of the operator."""
    return node.outputs or range(len(outputs))


def integer(node: Node, name: str, default: int = 0) -> int:
    """Return an attribute that is a whole number."""
    value: Any = node.attrs.get(name, default)
    return int(value)


def integers(node: Node, name: str) -> tuple[int, ...]:
    """Return an attribute that is a list of whole numbers, () if it is left out."""
    value: Any = node.attrs.get(name, ())
    return tuple(value)


def number(node: Node, name: str, default: float = 0) -> float:
    """Return an attribute that is a floating number."""
    value: Any = node.attrs.get(name, default)
    return float(value)


def same_pads(node: Node, extents: Sequence[int]) -> tuple[int, ...]:
    """Return the `pads` that SAME_UPPER or SAME_LOWER means for windows of these extents."""
    sizes = given(node, 0).shape[2:]
    strides = integers(node, "strides") or (1,) * len(sizes)
    totals = [
        max(0, (-(-size // stride) - 1) * stride + extent - size)
        for size, extent, stride in zip(sizes, extents, strides, strict=True)
    ]
    halves = [total // 2 for total in totals]
    rests = [total - half for total, half in zip(totals, halves, strict=True)]
    is_upper = node.attrs.get("auto_pad") == "SAME_UPPER"
    return (*halves, *rests) if is_upper else (*rests, *halves)


def has_uneven_pads(node: Node) -> bool:
    """Return True if `pads` differ at the two ends of an axis."""
    pads = integers(node, "pads")
    return pads[: len(pads) // 2] != pads[len(pads) // 2 :]
