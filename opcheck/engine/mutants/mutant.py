"""Mutants: implementations that are wrong in one way that somebody could ship, and their making.

A mutant serves three times: it names the cause of a failure, it measures what a suite of cases
sees, and it is a wrong backend in tests.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any, TypeAlias

import numpy as np

from opcheck import dtypes
from opcheck.engine.evaluate import evaluate
from opcheck.engine.node import Node
from opcheck.engine.operators import Formula
from opcheck.errors import InvalidNode, NotSupported, reject
from opcheck.numbers import FaultFunction, Faults


class MutantRaised(Exception):
    """A mutant raised on a node what it must not raise: a mistake of opcheck's own.

    The text has the exception, its cause, and the node.
    """


#: The dtypes in which something is wrong; None for all.
Only: TypeAlias = Sequence[str] | None
#: A name, a text, what is done, and the dtypes in which it is wrong if not in all.
MutantRow: TypeAlias = tuple[Any, ...]
#: The outputs of a mutant. It raises InvalidNode for what it refuses; what it leaves alone is
#: right, which `Node.right` has.
AnswerFunction: TypeAlias = Callable[[Node], Sequence[Any]]


@dataclass(frozen=True, eq=False)
class Accepting:
    """Gives the right answer, and to an invalid node what `repair` makes of it."""

    repair: AnswerFunction

    def __call__(self, node: Node) -> Sequence[Any]:
        """Return the right outputs, or those of `repair` for an invalid node.

        Raises InvalidNode if `repair` refuses the node too.
        """
        try:
            return node.right
        except InvalidNode:
            return self.repair(node)


@dataclass(frozen=True, eq=False)
class Mutant:
    """A wrong implementation.

    Attributes:
        name: In snake_case.
        text: A sentence without its full stop that a kernel engineer recognises, and that fits
            after "likely cause:".
        answer: What it makes of a node.
        primitive: The function of the formula that is wrong. A formula that does not call it has
            no such mutant. "" where it is something else.
        unless: Functions that the formula must not call for this to be wrong.
        only: The dtypes in which it is wrong; None for all.
        needs: The attribute without which nobody can be so wrong; "*" for any that is optional, ""
            where none is needed.
        rounded: It loses something in rounding, so that operators whose answers are exact have no
            such mutant.
        of_form: It is about attributes of another type than declared, or that are not declared.
            Other mutants refuse such nodes.
        unbounded: It is about results out of range, which an operator with an upper end has not.
        within: Mutants that are wrong wherever it is: what is argued of one of them holds for it.
        of_numbers: It is about numbers in the output, of which booleans are none.
        any_type: Cases of any one type decide about it in each version.
        of_values: It is about elements of inputs, so that operators of shapes have no such mutant.
        aliases: Its former names, by which ledgers, arguments and command lines may know it.
        narrow: The 16-bit type in which it computes, whose roundings add up in any order; "" for
            none.
        derived: It is one of many that could be made of any call, so that one answer of few values
            is no evidence of it.
        read: The node that it answers, and that right, if that is its mistake; None for others.
    """

    name: str
    text: str
    answer: AnswerFunction
    primitive: str = ""
    only: Only = None
    rounded: bool = False
    needs: str = ""
    unless: tuple[str, ...] = ()
    of_form: bool = False
    unbounded: bool = False
    of_numbers: bool = False
    within: tuple[str, ...] = ()
    any_type: bool = False
    of_values: bool = False
    aliases: tuple[str, ...] = ()
    narrow: str = ""
    derived: bool = False
    read: Callable[[Node], Node] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The name, and former ones."""
        return self.name, *self.aliases

    @property
    def is_refusal(self) -> bool:
        """True for a mistake of refusing, the only one that explains an exception.

        Others happen to refuse a few nodes too: an axis that is read wrongly is out of range there.
        """
        return self.name.startswith("refuses_")

    def made_on(self, node: Node) -> Sequence[Any] | InvalidNode:
        """Return its outputs for a node, or why it refuses it; other nodes are computed right.

        Raises MutantRaised if it raises anything but a refusal.
        """
        try:
            if not self.concerns(node) or (node.malformed and not self.of_form):
                return node.right
            with np.errstate(all="ignore"):
                return self.answer(node)
        except InvalidNode as error:
            return error
        except (NotSupported, MemoryError) as error:
            return InvalidNode(str(error))
        except MutantRaised:
            raise  # of another version of the same mistake, which names it already
        except Exception as error:
            where = f"in the mutant {self.name}, made on {node.op} {node.attrs}"
            raise MutantRaised(f"{type(error).__name__}: {error} ({where})") from error

    def concerns(self, node: Node) -> bool:
        """Return True if the formula calls the wrong function, in a dtype in which it is wrong."""
        if self.only is not None and node.dtype not in self.only:
            return False
        if self.unless and (not node.is_legal or {*self.unless} & node.primitives):
            return False
        return not self.primitive or self.primitive in node.primitives

    @property
    def once_a_version(self) -> bool:
        """True if one type decides, as it does about legality in a version."""
        return self.any_type or isinstance(self.answer, Accepting)


def evaluated(formula: Formula | None, faults: Faults | None, node: Node) -> Sequence[Any]:
    """Return the answers of a wrong plain evaluation, and right ones where nothing differs.

    formula: in place of the operator's own, None for that; faults: functions in place of others.
    The plain one rounds between operations, and may leave the range of its arithmetic there. That
    is no part of the mistake.

    Raises InvalidNode for what the wrong evaluation refuses, NotSupported and MemoryError for what
    it does not compute.
    """
    wrong = evaluate(node, formula, faults)
    # A sequence that became longer or shorter is other outputs, and no element of it is compared.
    if not node.is_legal or len(wrong) != len(node.right):
        return wrong
    if all(map(dtypes.identical, wrong, node.plain)):
        return node.right
    outputs = zip(wrong, node.plain, node.right, strict=True)
    return [_right_where_same(of_mutant, plain, right) for of_mutant, plain, right in outputs]


def _right_where_same(wrong: Any, plain: Any, right: Any) -> Any:
    """Return the right elements where the wrong and the plain ones are the same bits, or NaN."""
    if wrong.shape != right.shape or wrong.dtype != right.dtype or wrong.dtype.hasobject:
        return wrong
    bits = f"V{wrong.dtype.itemsize}"
    has_same_bits = np.ascontiguousarray(wrong).view(bits) == np.ascontiguousarray(plain).view(bits)
    are_nan = (wrong != wrong) & (plain != plain)
    return np.where(has_same_bits.reshape(wrong.shape) | are_nan, right, wrong)


def faulty(
    primitive: str,
    name: str,
    text: str,
    fault: FaultFunction,
    only: Only = None,
    of_validity: bool = False,
    calls: str = "",
    **where: Any,
) -> Mutant:
    """Return a mutant with one function of the formula wrong.

    It is one of `opcheck.numbers`, or a helper of formulas. Attributes of a mutant are keywords. It
    concerns the formulas that call the function, or as `calls` names it, as in "add of tensors".
    With `of_validity` it is wrong about invalid nodes alone.
    """
    answer: AnswerFunction = partial(evaluated, None, {primitive: fault})
    if of_validity:
        answer = Accepting(answer)
    return Mutant(
        name=name, text=text, answer=answer, primitive=calls or primitive, only=only, **where
    )


def faulty_where(when: Callable[[Node], Any], name: str, fault: FaultFunction) -> AnswerFunction:
    """Return an answer with the fault in nodes for which `when` is true, and right elsewhere."""

    def answer(node: Node) -> Sequence[Any]:
        return evaluate(node, faults={name: fault}) if when(node) else node.right

    return answer


def faults(
    primitive: str, fault: Callable[..., Any], *rows: MutantRow | Mutant, **where: Any
) -> tuple[Mutant, ...]:
    """Return mutants of one function.

    rows: a name, a text, what `fault` takes first, and the dtypes if not all; or mutants as they
    are.
    """

    def mutant(name: str, text: str, change: Any, only: Only = None) -> Mutant:
        return faulty(primitive, name, text, partial(fault, change), only, **where)

    return tuple(row if isinstance(row, Mutant) else mutant(*row) for row in rows)


def reading(name: str, text: str, read: Callable[[Node], Node], **where: Any) -> Mutant:
    """Return a mutant that answers another node than the one that is asked, and that right."""

    def answer(node: Node) -> Sequence[Any]:
        return read(node).right

    return Mutant(name, text, answer, read=read, **where)


def refusing(name: str, text: str, when: Callable[[Node], bool], **where: Any) -> Mutant:
    """Return a mutant that refuses legal nodes for which `when` is true.

    Its answer raises InvalidNode for them, and is right for all others.
    """

    def read(node: Node) -> Node:
        reject(node.is_legal and when(node), text)
        return node

    return reading(name, text, read, **where)


@dataclass(frozen=True, eq=False)
class StatefulMutant:
    """One way to break the promise that runs do not touch each other.

    Attributes:
        name: As a mutant's.
        text: As a mutant's.
        habit: Spoils a right run: returns its outputs, from the right outputs of all runs so far
            and the inputs of this one.
        of_values: It shows on other data alone.
        of_inputs: It is about inputs.
    """

    name: str
    text: str
    habit: Callable[[list[list[Any]], Sequence[Any]], Sequence[Any]]
    of_values: bool = False
    of_inputs: bool = False


def _copies(outputs: Sequence[Any]) -> list[Any]:
    """Return copies of the outputs."""
    return [out.copy() for out in outputs]


def _overwrites_its_input(runs: list[list[Any]], inputs: Sequence[Any]) -> Sequence[Any]:
    """Spoil the first input, and return right outputs."""
    inputs[0][...] = 0
    inputs[0].reshape(-1)[:1] = 1
    return runs[-1]


def _returns_its_only_buffer(runs: list[list[Any]], inputs: Sequence[Any]) -> Sequence[Any]:
    """Write the outputs over those of the first run, and return these."""
    for buffer, out in zip(runs[0], runs[-1], strict=True):
        buffer.reshape(-1)[...] = out.reshape(-1)
    return runs[0]


def _returns_the_first_outputs(runs: list[list[Any]], inputs: Sequence[Any]) -> Sequence[Any]:
    """Return the first run's outputs."""
    return _copies(runs[0])


def _adds_up(runs: list[list[Any]], inputs: Sequence[Any]) -> Sequence[Any]:
    """Return the sums of all runs; of booleans, which hold one bit, without the carry."""
    added = [np.bitwise_xor if out.dtype == np.bool_ else np.add for out in runs[0]]
    with np.errstate(all="ignore"):
        return [*map(reduce, added, zip(*map(_copies, runs), strict=True))]


def _negates_later_runs(runs: list[list[Any]], inputs: Sequence[Any]) -> Sequence[Any]:
    """Return other values in all runs but the first."""
    return [*map(another, runs[-1])] if len(runs) > 1 else runs[0]


#: By what shows them: the second run alone, the first answer afterwards, or the input.
STATEFUL: tuple[StatefulMutant, ...] = (
    StatefulMutant(
        "input_overwritten", "the input was overwritten", _overwrites_its_input, of_inputs=True
    ),
    StatefulMutant(
        "shared_buffer", "all runs answered in one buffer", _returns_its_only_buffer, of_values=True
    ),
    StatefulMutant(
        "stale_answer",
        "later runs gave the first run's answer",
        _returns_the_first_outputs,
        of_values=True,
    ),
    StatefulMutant("adds_up", "every run added to the last answer", _adds_up),
    StatefulMutant(
        "second_run_negated",
        "runs after the first were wrong",
        _negates_later_runs,
    ),
)


def another(out: Any) -> Any:
    """Return another value in place of each but NaN, an infinity and -0.5."""
    if out.dtype.hasobject:
        return out + "."
    return ~out if out.dtype.kind in "biu" else -out - 1
