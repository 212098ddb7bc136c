"""Causes from other versions of an operator: a mistake is the same one in each of them.

A mistake that this version's text refuses, such as an attribute that is ignored where the default
is illegal, is answered as in a version where it is legal.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from opcheck.engine.mutants.mutant import Accepting, AnswerFunction, Mutant
from opcheck.engine.node import Node
from opcheck.engine.operators import Operator, OwnMutant
from opcheck.errors import InvalidNode, NotSupported
from opcheck.model import OpVersion

#: Makes a mutant of one that an operator's file declares.
OfOwn: TypeAlias = Callable[[OwnMutant], Mutant]


def in_other_versions(
    op: OpVersion, known: Operator, mutants: Sequence[Mutant], of_own: OfOwn
) -> Iterator[Mutant]:
    """Yield mutants that the operator's file declares for other versions alone, the newest first.

    known: the operator; mutants: those of this version; of_own: makes a mutant of a declaration.
    """
    names = {mutant.name for mutant in mutants}
    for own in sorted(known.mutants, key=lambda own: -own.since):
        if own.since != op.since and own.name not in names and not own.of_validity:
            names.add(own.name)
            mutant = of_own(own)
            yield replace(mutant, answer=_At(own.since, mutant))


@dataclass(frozen=True, eq=False)
class _At:
    """Gives a mutant's answer to the node in another version, where that is legal."""

    since: int
    mutant: Mutant

    def __call__(self, node: Node) -> Sequence[Any]:
        """Return the mutant's outputs; right ones where it changes nothing of the other version.

        Raises InvalidNode for a node that is illegal here or there.
        """
        other = node.at(self.since)
        if not node.is_legal or not other.is_legal:
            raise InvalidNode(f"it is not legal in version {self.since}")
        made = self.mutant.made_on(other)
        if isinstance(made, InvalidNode):
            raise made
        return node.right if made is other.right else made


@dataclass(frozen=True, eq=False)
class Lenient:
    """Gives a mutant's answer, or if that refuses a legal node, the answer in another version."""

    answer: AnswerFunction
    others: tuple[int, ...]

    def __call__(self, node: Node) -> Sequence[Any]:
        """Return the outputs in the first version that has any.

        Raises InvalidNode, or what the mutant raises, if it refuses the node in each of them.
        """
        try:
            return self.answer(node)
        except InvalidNode:
            if not node.is_legal:
                raise
            for since in self.others:
                with suppress(InvalidNode, NotSupported, MemoryError):
                    return self.answer(node.at(since))
            raise


def lenient(mutant: Mutant, others: tuple[int, ...]) -> Mutant:
    """Return a mutant that answers as in another version what it would refuse in its own.

    others: the other versions, the likeliest first. Mistakes of refusing or accepting stay as they
    are.
    """
    if mutant.is_refusal or not others or isinstance(mutant.answer, Accepting):
        return mutant
    return replace(mutant, answer=Lenient(mutant.answer, others))
