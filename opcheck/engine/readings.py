"""Readings: the finite set of answers where a text admits several.

A text that leaves something open often leaves few answers: the maximum of NaN and 0 is NaN or 0; a
negative axis that no sentence mentions counts from the end, or is refused. Each such point is a
`Ruling` with an id and the names of its readings. A formula follows the reading in force:

    if is_negative and NEGATIVE_AXIS.reading() == "refused":
        raise InvalidNode(…)

On its own a formula follows the first reading of each ruling, as the backend `numpy` does.
`each_reading` evaluates it once for every combination of the readings that it comes across: these
are the answers that a backend may give. Nothing else has to be stated anywhere.

Where no finite set of answers exists, a formula marks the elements that may be anything, by
`undefined.undefined_where`, or calls `leave_open` if it is not about single elements.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from opcheck.errors import InvalidNode, NotSupported
from opcheck.numbers import setting

T = TypeVar("T")

#: The most answers that a judge compares a backend's with: more are hardly a test.
MAX_ANSWERS = 8


@dataclass(frozen=True)
class Ruling:
    """Something that a text leaves open, and its readings.

    Attributes:
        id: A short name, the same wherever this point comes up: `nan-in-maximum`.
        text: What is open, as a sentence.
        readings: The names of the readings; the engine itself follows the first.
        by_element: Each element of an output may follow another reading, as each element of a
            kernel's output is computed apart. Otherwise one reading binds all outputs.
    """

    id: str
    text: str
    readings: tuple[str, ...]
    by_element: bool = False

    def reading(self) -> str:
        """Return the name of the reading in force, and note that the outputs depend on it."""
        reader = _reader.get()
        if reader is None or self.id in _decided.get():
            return self.readings[0]
        return reader.reading(self)


@dataclass
class Reader:
    """The readings that one evaluation follows: those `chosen`, and the first of all others.

    Attributes:
        chosen: The name of the reading by the id of its ruling.
        met: The rulings that the formula came across, by id, in that order.
    """

    chosen: Mapping[str, str] = field(default_factory=dict)
    met: dict[str, Ruling] = field(default_factory=dict)
    #: The nodes of a graph that met each ruling, by its id.
    uses: dict[str, list["Use"]] = field(default_factory=dict)
    #: The ids of the rulings that were met since the last note, in order.
    _unnoted: dict[str, None] = field(default_factory=dict)

    def reading(self, ruling: Ruling) -> str:
        """Return the name of the reading of `ruling`, and remember the ruling."""
        self.met.setdefault(ruling.id, ruling)
        self._unnoted[ruling.id] = None
        return self.chosen.get(ruling.id, ruling.readings[0])

    def note_node(self, node: str, outputs: Sequence[Any]) -> None:
        """Note that a node of a graph, with these outputs, met what was met since the last note.

        node: how a message names it.
        """
        for id_ in self._unnoted:
            uses = self.uses.setdefault(id_, [])
            # Of several nodes each may follow another reading: their values do not matter.
            uses.append(Use(node, () if uses else tuple(getattr(x, "v", x) for x in outputs)))
        self._unnoted.clear()


class Use(NamedTuple):
    """A node of a graph that met a ruling, and the values of its outputs."""

    node: str
    outputs: tuple[Any, ...]


#: None outside of `each_reading`: formulas follow the first reading of every ruling.
_reader: ContextVar[Reader | None] = ContextVar("_reader", default=None)


#: Ids of the rulings that another specification decides.
_decided: ContextVar[Collection[str]] = ContextVar("_decided", default=())


def deciding(*rulings: Ruling) -> AbstractContextManager[None]:
    """Let the first readings of these rulings be the only ones: another text decides them so."""
    return setting(_decided, frozenset(ruling.id for ruling in rulings))


def reader_in_force() -> Reader | None:
    """Return what decides on readings now, for evaluations that go on later."""
    return _reader.get()


def following(reader: Reader | None) -> AbstractContextManager[None]:
    """Let `reader` decide on readings meanwhile; None for the first of every ruling."""
    return setting(_reader, reader)


@dataclass(frozen=True)
class Reading(Generic[T]):
    """What an evaluation gives by one combination of readings.

    Attributes:
        chosen: The reading followed of each ruling that was met, by the ruling's id.
        rulings: These rulings, by id.
        answer: The outputs, or the refusal that this combination calls for.
        undefined: Masks of the elements that may be anything, by the place of their output.
        uses: The nodes of a graph that met each ruling, by its id; empty without a graph.
    """

    chosen: Mapping[str, str]
    rulings: Mapping[str, Ruling]
    answer: T | InvalidNode
    undefined: Mapping[int, NDArray[np.bool_]] = field(default_factory=dict)
    uses: Mapping[str, Sequence[Use]] = field(default_factory=dict)

    @property
    def name(self) -> str | None:
        """The readings that bind whole outputs, as a name; None if there are none."""
        bound = [name for id_, name in self.chosen.items() if not self.rulings[id_].by_element]
        return ", ".join(bound) or None


def each_reading(evaluate: Callable[[], T]) -> Iterator[Reading[T]]:
    """Yield what `evaluate` gives by every combination of the readings that it comes across.

    The combination of all first readings comes first. `evaluate` must compute all that it returns
    before it returns. InvalidNode that it raises is an answer, too; all else that it raises passes
    through. Raises NotSupported before the evaluation after MAX_ANSWERS.
    """
    waiting: list[Mapping[str, str]] = [{}]
    evaluations = 0
    while waiting:
        evaluations += 1
        if evaluations > MAX_ANSWERS:
            raise NotSupported(f"the text admits more than {MAX_ANSWERS} answers")
        forced = waiting.pop(0)
        reader = Reader(forced)
        answer: T | InvalidNode
        with following(reader):
            try:
                answer = evaluate()
            except InvalidNode as error:
                answer = error
        chosen = {id_: reader.reading(ruling) for id_, ruling in reader.met.items()}
        yield Reading(chosen, reader.met, answer, uses=reader.uses)
        before: dict[str, str] = {}
        for id_, ruling in reader.met.items():
            if id_ not in forced:
                waiting += [{**before, id_: other} for other in ruling.readings[1:]]
            before[id_] = chosen[id_]


def are_complete(readings: Sequence[Reading[Any]]) -> bool:
    """Return True if a graph can have no other answers than these.

    So it is if one node alone meets each ruling, and if no more than one of its elements differs by
    a reading that each element follows by itself. Otherwise nodes or elements may follow several.
    """
    answers = [each for each in readings if not isinstance(each.answer, InvalidNode)]
    for reading in answers:
        if any(len(reading.uses.get(id_, ())) != 1 for id_ in reading.chosen):
            return False
    by_element = {id_ for each in answers for id_, one in each.rulings.items() if one.by_element}
    return all(
        _differing(a.uses[id_][0], b.uses[id_][0]) <= 1
        for id_ in by_element
        for a, b in combinations(answers, 2)
        if id_ in a.uses and id_ in b.uses and a.chosen[id_] != b.chosen[id_]
    )


def _differing(a: Use, b: Use) -> float:
    """Return how many elements of the outputs of a node differ; infinity for other shapes."""
    count = 0.0
    for x, y in zip(a.outputs, b.outputs, strict=True):
        if not isinstance(x, np.ndarray) or np.shape(x) != np.shape(y):
            return float("inf")
        count += np.count_nonzero((x != y) & ~((x != x) & (y != y)))
    return count
