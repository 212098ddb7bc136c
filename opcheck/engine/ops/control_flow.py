"""If, Loop, Scan and SequenceMap, all versions: operators that run the graphs in their attributes.

A graph comes as an `engine.graphs.Subgraph`: a function of its inputs by position, which returns
its outputs, each rounded to its type. A value is a tensor of any kind of numbers, or a sequence: a
list of tensors. The formulas move values between iterations, and compute nothing themselves.

What runs a graph raises BeyondBudget for too many nodes or elements, and WrongOperator if the file
that declares an operator in it is wrong.

The parts of the file: conditions and scan outputs, which several operators have in common; each
operator, by the pseudo-code of its text; their mutants. What a mutant does otherwise than the
formula is a function, or a field of a dataclass, with which the formula is built.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import NamedTuple, TypeAlias

import numpy as np

from opcheck import budget, numbers as xp
from opcheck.engine.axes import from_either_end, from_the_front, scalar
from opcheck.engine.graphs import Subgraph
from opcheck.engine.operators import (
    NamedMutants,
    check_one_of,
    check_shape,
    formulas_of_versions,
    operator,
    raise_unspecified,
)
from opcheck.engine.sizes import elements_of
from opcheck.errors import InvalidNode, NotSupported, decline, reject
from opcheck.numbers import Array

NAMES = """If Loop Scan SequenceMap"""

#: Tensors, and sequences of tensors.
Values: TypeAlias = Sequence[Array]
#: Puts the elements of a scan output, one of each iteration, together along an axis.
Accumulate: TypeAlias = Callable[..., Array]
#: Counts an axis from the front, of a tensor of this rank.
CountedAxis: TypeAlias = Callable[[int, int], int]

IF, LOOP, SCAN, SEQUENCE_MAP = map(operator, ("If", "Loop", "Scan", "SequenceMap"))

#: Versions of If, Loop and Scan since 16, which differ in element types alone.
SINCE_16 = (16, 19, 21, 23, 24, 25)
#: Scan has others before 16, and SequenceMap has one.
VERSIONS_OF_IF_AND_LOOP = (1, 11, 13, *SINCE_16)
#: The most iterations of a mutant's loop, which nothing else may end. That of a formula ends with
#: the budget of the evaluation: see `opcheck.budget`.
MAX_ITERATIONS = 1_000


# ── what several operators have in common ─────────────────────────────────────────────────────


def truth_of(name: str, condition: Array) -> bool:
    """Return a condition of one element, a boolean, as Python's own; `name` is for messages.

    Raises NotSupported where rounding decides it, InvalidNode for no or several elements. One
    element of rank 1 or more is taken, or refused so: ONE_ELEMENT_AS_A_SCALAR.
    """
    if isinstance(condition, np.ndarray) or np.isscalar(condition):
        return bool(scalar(name, np.asarray(condition)))
    raise NotSupported(f"rounding decides {name}")


def check_tensors(elements: Values) -> None:
    """Raise NotSupported if an element of a scan output is a sequence, which is a list here."""
    if any(isinstance(element, list) for element in elements):
        raise_unspecified("scan outputs that are no tensors")


def stacked(elements: Values, axis: int = 0) -> Array:
    """Return a scan output: the elements of all iterations, along a new axis.

    elements: one or more. axis: in [-r-1, r] for elements of rank r.

    Raises InvalidNode for an axis out of range, and for shapes that differ: "It is an error if the
    dimensions … of these scan_outputs change across loop iterations." Raises NotSupported for
    elements that are sequences.
    """
    check_tensors(elements)
    shapes = [element.shape for element in elements]
    reject(len({*shapes}) > 1, f"scan outputs shaped {shapes}")
    rank = len(shapes[0]) + 1
    return xp.stack(elements, axis=from_either_end(axis, rank))


class Iteration(NamedTuple):
    """What one iteration gives: the new states, and an element of each scan output."""

    states: Values
    elements: Values


def iteration_of(body: Subgraph, states: Values, outputs: Values) -> Iteration:
    """Return the outputs of a body as its "(loop state variables..., scan_output_elts...)".

    The first are as many as `states`, the others elements of scan outputs. Raises InvalidNode for
    fewer outputs than states.
    """
    if len(outputs) < len(states):
        raise InvalidNode(f"a body of {len(body.body.outputs)} outputs for {len(states)} states")
    return Iteration(outputs[: len(states)], outputs[len(states) :])


def by_scan_output(rows: Sequence[Values]) -> list[Values]:
    """Return the elements of each scan output, from those of each iteration; [] of no iteration."""
    return [[*elements] for elements in zip(*rows, strict=True)]


# ── If ────────────────────────────────────────────────────────────────────────────────────────

#: Returns the outputs, from cond, then_branch and else_branch.
Choose: TypeAlias = Callable[[Array, Subgraph, Subgraph], Values]


@formulas_of_versions(*VERSIONS_OF_IF_AND_LOOP)
def if_versions(
    choose: Choose, cond: Array, *, then_branch: Subgraph, else_branch: Subgraph
) -> Values:
    """Return the outputs of the branch that `choose` takes.

    "The number of outputs must match": raises InvalidNode for branches that differ in it, and for a
    cond of no or several elements; NotSupported where rounding decides cond. A branch raises what
    its nodes do.
    """
    numbers = [len(branch.body.outputs) for branch in (then_branch, else_branch)]
    reject(numbers[0] != numbers[1], f"branches of {numbers} outputs")
    return choose(cond, then_branch, else_branch)


def chosen(cond: Array, then_branch: Subgraph, else_branch: Subgraph) -> Values:
    """Return the outputs of then_branch if `cond` is true, else of else_branch.

    cond: of any rank; "The tensor must contain a single element." Raises InvalidNode for no or
    several elements, NotSupported where rounding decides cond, and what the branch's nodes raise.
    """
    reject(cond.size != 1, f"cond has {cond.size} elements; allowed: 1")
    if truth_of("cond", xp.reshape(cond, ())):
        return then_branch()
    return else_branch()


IF.formula(build=if_versions)(chosen)


# ── Loop ──────────────────────────────────────────────────────────────────────────────────────

#: Returns True if iteration i runs, from i, trip_count, cond and has_cond.
Continues: TypeAlias = Callable[[int, int | None, bool, bool], bool]


def continues(i: int, trip_count: int | None, cond: bool, has_cond: bool) -> bool:
    """Return True if iteration `i` runs: "i < trip_count && cond".

    A node without the input M, where `trip_count` is None, or without the input cond does not test
    that part. Without the input cond the one that the body returns "is ignored", too.
    """
    is_below = trip_count is None or i < trip_count
    return is_below and (cond or not has_cond)


def iteration_number(i: int) -> int:
    """Return the body's iteration_num: `i`, which counts from 0."""
    return i


def carried(states: Values, initial: Values) -> Values:
    """Return the loop-carried values of the next iteration: those that the body has returned."""
    return states


@dataclass(frozen=True)
class LoopSteps:
    """The parts of Loop's formula that a mutant may do otherwise."""

    continues: Continues = continues
    number: Callable[[int], int] = iteration_number
    carry: Callable[[Values, Values], Values] = carried
    accumulate: Accumulate = stacked


@formulas_of_versions(*VERSIONS_OF_IF_AND_LOOP)
def loop_versions(
    steps: LoopSteps,
    M: Array = None,
    cond: Array = None,
    *v_initial: Array,
    body: Subgraph,
) -> Values:
    """Return the final loop-carried values, then the scan outputs.

    M and cond: scalars; None is no limit, and no condition. An M below 1, or a false cond, runs no
    iteration, so that the final values are v_initial. The body has the inputs (iteration_num,
    condition, loop carried dependencies...) and the outputs (condition, loop carried
    dependencies..., scan_outputs...).

    Raises InvalidNode for an M or a condition of no or several elements, a body of too few outputs
    or of another number of inputs, and scan outputs whose shape changes. Raises NotSupported for a
    node without M and cond, where rounding decides the number of iterations, for scan outputs that
    are sequences, and for scan outputs of no iteration, whose shape nothing decides; of a mutant,
    for more than MAX_ITERATIONS. Raises BeyondBudget for more iterations or elements than the
    budget has. One element of rank 1 or more is a scalar or refused: ONE_ELEMENT_AS_A_SCALAR. The
    body raises what its nodes do.
    """
    trip_count: int | None = None if M is None else scalar("M", M)
    has_cond = cond is not None
    keepgoing = truth_of("cond", cond) if has_cond else True
    if trip_count is None and not has_cond:
        raise_unspecified("a loop that nothing ends")
    initial = [*v_initial]
    states: Values = initial
    rows: list[Values] = []
    is_mutant = steps != LoopSteps()
    # The iterations that run for certain: the budget refuses too many before the first.
    foreseen = 0 if is_mutant or has_cond or trip_count is None else trip_count
    with budget.iterating(foreseen) as held:
        for i in count():
            if not steps.continues(i, trip_count, keepgoing, has_cond):
                break
            is_endless = is_mutant and i >= MAX_ITERATIONS
            decline(is_endless, f"a mutant's loop of more than {MAX_ITERATIONS} iterations")
            outputs = body(np.array(steps.number(i)), np.array(keepgoing), *states)
            reject(not outputs, "a body without a condition")
            iteration = iteration_of(body, states, outputs[1:])
            states = steps.carry([*iteration.states], initial)
            rows.append(iteration.elements)
            held.replace(elements_of(states), elements_of(iteration.elements))
            keepgoing = truth_of("what the body says of cond", outputs[0])
    if not rows and len(body.body.outputs) > 1 + len(states):
        raise_unspecified("scan outputs of no iteration")
    return (*states, *map(steps.accumulate, by_scan_output(rows)))


LOOP.formula(build=loop_versions)(LoopSteps())


# ── Scan ──────────────────────────────────────────────────────────────────────────────────────

#: Returns the position of an iteration's element, from sequence_length, t and is_reverse.
Position: TypeAlias = Callable[[int, int, bool], int]


def position_of(sequence_length: int, t: int, is_reverse: bool) -> int:
    """Return the position along the scan axis of iteration `t`'s element; both count from 0."""
    return sequence_length - 1 - t if is_reverse else t


@dataclass(frozen=True)
class ScanSteps:
    """The parts of Scan's formula that a mutant may do otherwise."""

    position: Position = position_of
    accumulate: Accumulate = stacked


class ScanInput(NamedTuple):
    """A scan input, the axis along which it is scanned, and True if that is done in reverse."""

    tensor: Array
    axis: int
    is_reverse: bool

    @property
    def length(self) -> int:
        """The length of the sequence."""
        return int(self.tensor.shape[self.axis])

    def element(self, position: int) -> Array:
        """Return the sub-tensor at a position, which has no sequence axis."""
        return part_of(self.tensor, position, self.axis)


def part_of(x: Array, position: int, axis: int = 0) -> Array:
    """Return the part of a tensor at a position of an axis, without that axis.

    A negative position counts from the back. Raises IndexError for one that the axis lacks.
    """
    return xp.squeeze(xp.take(x, [position], axis=axis), axis=axis)


def states_and_scan_inputs(inputs: Values, num_scan_inputs: int) -> tuple[Values, Values]:
    """Return the "N state variables" and the "M scan_inputs" that follow them.

    Raises InvalidNode unless M, which is `num_scan_inputs`, is from 1 to the number of inputs.
    """
    N = len(inputs) - num_scan_inputs
    reject(num_scan_inputs < 1 or N < 0, f"num_scan_inputs {num_scan_inputs} of {len(inputs)}")
    return inputs[:N], inputs[N:]


def flags_of(name: str, flags: Sequence[int] | None, length: int) -> list[bool]:
    """Return a list of flags as booleans, all False if it is None or empty.

    `name` is for messages. Raises InvalidNode for another length, and for a number other than 0 and
    1.
    """
    listed = flags or [0] * length
    reject(len(listed) != length, f"{name} {list(listed)}; allowed: {length} numbers")
    for flag in listed:
        check_one_of(name, flag, 0, 1)
    return [flag == 1 for flag in listed]


def axes_of(
    name: str, axes: Sequence[int] | None, ranks: Sequence[int], counted: CountedAxis
) -> list[int]:
    """Return a list of axes, one for a tensor of each rank, counted from the front by `counted`.

    "If omitted, 0 will be used"; so it is if the list is empty. Raises InvalidNode for another
    length, and for an axis that does not exist. In version 9 a negative one is refused or counts
    from the back: NEGATIVE_AXIS.
    """
    listed = axes or [0] * len(ranks)
    reject(len(listed) != len(ranks), f"{name} {list(listed)}; allowed: {len(ranks)} axes")
    return [counted(axis, rank) for axis, rank in zip(listed, ranks, strict=True)]


def scan_inputs_of(
    tensors: Values, axes: Sequence[int], directions: Sequence[bool]
) -> list[ScanInput]:
    """Return the scan inputs, from their tensors, axes and directions: True for reverse.

    The lists have one length; axes are counted from the front.
    """
    return [
        ScanInput(tensor, axis, is_reverse)
        for tensor, axis, is_reverse in zip(tensors, axes, directions, strict=True)
    ]


def scanned(
    position: Position, body: Subgraph, states: Values, scan_inputs: Sequence[ScanInput]
) -> tuple[Values, list[Values]]:
    """Return the final states of a scan from `states`, and the elements of each scan output.

    The elements are a list for each output, with one of each iteration, in their order. `position`
    gives the position that an iteration reads. The body has the states, then an element of each of
    `scan_inputs`, of which there is one or more: "scan_i.shape[axis_i] is required to be equal to
    scan_j.shape[axis_j] for all i,j".

    Raises InvalidNode otherwise, and for a body of fewer outputs than states or another number of
    inputs; NotSupported for scan outputs of no iteration, whose shape nothing decides. The body
    raises what its nodes do.
    """
    lengths = {scan_input.length for scan_input in scan_inputs}
    reject(len(lengths) > 1, f"scan inputs of lengths {sorted(lengths)}")
    [sequence_length] = lengths
    rows: list[Values] = []
    with budget.iterating(sequence_length) as held:
        for t in range(sequence_length):
            elements = [
                scan_input.element(position(sequence_length, t, scan_input.is_reverse))
                for scan_input in scan_inputs
            ]
            iteration = iteration_of(body, states, body(*states, *elements))
            states = iteration.states
            rows.append(iteration.elements)
            held.replace(elements_of(states), elements_of(iteration.elements))
    if not rows and len(body.body.outputs) > len(states):
        raise_unspecified("scan outputs of no iteration")
    return states, by_scan_output(rows)


@formulas_of_versions(
    each={9: from_the_front, 11: from_either_end} | dict.fromkeys(SINCE_16, from_either_end)
)
def scan_versions(
    steps: ScanSteps,
    counted: CountedAxis,
    *initial_state_and_scan_inputs: Array,
    body: Subgraph,
    num_scan_inputs: int,
    scan_input_axes: Sequence[int] | None,
    scan_input_directions: Sequence[int] | None,
    scan_output_axes: Sequence[int] | None,
    scan_output_directions: Sequence[int] | None,
) -> Values:
    """Return the final states, then the scan outputs; there are no batches since version 9.

    Inputs are the initial states, then num_scan_inputs tensors. Each list has an entry for each
    scan input or output; None, or an empty list, stands for axis 0 or direction 0. Direction 1
    scans an input from the end, and puts each element of an output before the others. The body has
    the inputs (loop state variables..., scan_input_elts...) and the outputs (loop state
    variables..., scan_output_elts...). Version 9 does not mention negative axes (NEGATIVE_AXIS),
    and later ones count them from the back: `counted`.

    Raises InvalidNode for a num_scan_inputs below 1 or above the number of inputs; lists of axes or
    directions of another length; axes out of range; directions other than 0 and 1; scan inputs of
    different lengths; a body of another number of inputs, or of fewer outputs than states; and scan
    outputs whose shape changes. Raises NotSupported for scan outputs of no iteration, and for those
    that are sequences. The body raises what its nodes do.
    """
    first, tensors = states_and_scan_inputs(initial_state_and_scan_inputs, num_scan_inputs)
    ranks = [x.ndim for x in tensors]
    axes = axes_of("scan_input_axes", scan_input_axes, ranks, counted)
    directions = flags_of("scan_input_directions", scan_input_directions, len(tensors))
    scan_inputs = scan_inputs_of(tensors, axes, directions)
    states, scan_outputs = scanned(steps.position, body, first, scan_inputs)
    K = len(body.body.outputs) - len(states)
    prepends = flags_of("scan_output_directions", scan_output_directions, K)
    for elements in scan_outputs:
        check_tensors(elements)
    ranks = [elements[0].ndim + 1 for elements in scan_outputs]
    axes = axes_of("scan_output_axes", scan_output_axes, ranks, counted)
    ordered = [
        elements[::-1] if prepended else elements
        for elements, prepended in zip(scan_outputs, prepends, strict=True)
    ]
    return (*states, *map(steps.accumulate, ordered, axes))


SCAN.formula(build=scan_versions)(ScanSteps())


@formulas_of_versions(8)
def scan_8(
    steps: ScanSteps,
    sequence_lens: Array = None,
    *initial_state_and_scan_inputs: Array,
    body: Subgraph,
    num_scan_inputs: int,
    directions: Sequence[int] | None,
) -> Values:
    """Return the final states, then the scan outputs, along an axis of batches: version 8.

    Inputs are the initial states, then num_scan_inputs tensors. directions: one for each of these,
    of which 1 scans from the end; None for 0. sequence_lens: [batch_size], None for full lengths;
    states: [batch_size, …]; scan inputs: [batch_size, max_sequence_length, …].

    Raises InvalidNode for other shapes; lengths below 0 or above max_sequence_length; a
    num_scan_inputs below 1 or above the inputs; directions other than 0 and 1, or not one for each;
    a body of another number of inputs, or of fewer outputs than states; scan outputs whose shape
    changes between iterations or batches, and final states whose shape does between batches. Raises
    NotSupported for no batches, for scan outputs of no iteration or that are sequences, and for
    scan outputs where a sequence is shorter than max_sequence_length: "The remaining values have an
    undefined value." The body raises what its nodes do.
    """
    first, tensors = states_and_scan_inputs(initial_state_and_scan_inputs, num_scan_inputs)
    is_reverse = flags_of("directions", directions, len(tensors))
    batch_size = batch_size_of(first, tensors)
    max_sequence_length = max_sequence_length_of(tensors)
    check_shape("sequence_lens", sequence_lens, (batch_size,))
    lengths = lengths_of(sequence_lens, batch_size, max_sequence_length)
    if not batch_size:
        raise_unspecified("no batches")
    of_batches: list[Values] = []
    for batch, length in enumerate(lengths):
        sequences = [xp.take(part_of(x, batch), np.arange(length), axis=0) for x in tensors]
        scan_inputs = scan_inputs_of(sequences, [0] * len(sequences), is_reverse)
        initial = [part_of(x, batch) for x in first]
        states, scan_outputs = scanned(steps.position, body, initial, scan_inputs)
        has_scan_outputs = len(body.body.outputs) > len(states)
        if length < max_sequence_length and has_scan_outputs:
            raise_unspecified("what is beyond a sequence")
        of_batches.append((*states, *map(steps.accumulate, scan_outputs)))
    return tuple(stacked(values) for values in by_scan_output(of_batches))


def batch_size_of(states: Values, scan_inputs: Values) -> int:
    """Return the length of axis 0, "required to be" the same of all.

    Raises InvalidNode if it is not, for a state of rank 0, and for a scan input of rank below 2.
    """
    given = [*states, *scan_inputs]
    if min(x.ndim for x in given) < 1 or min(x.ndim for x in scan_inputs) < 2:
        raise InvalidNode("a tensor without the axis of batches, or that of its sequences")
    sizes = {x.shape[0] for x in given}
    reject(len(sizes) > 1, f"batches of {sorted(sizes)}")
    return int(sizes.pop())


def max_sequence_length_of(scan_inputs: Values) -> int:
    """Return the length of axis 1, "required to be" the same of all.

    Raises InvalidNode if it is not.
    """
    lengths = {x.shape[1] for x in scan_inputs}
    reject(len(lengths) > 1, f"scan inputs of lengths {sorted(lengths)}")
    return int(lengths.pop())


def lengths_of(sequence_lens: Array, batch_size: int, max_sequence_length: int) -> Sequence[int]:
    """Return the length of each sequence, by default max_sequence_length.

    sequence_lens: [batch_size], or None. Raises InvalidNode unless they are "sequences of length <=
    the maximum-sequence-length", and 0 or more.
    """
    if sequence_lens is None:
        return [max_sequence_length] * batch_size
    lengths: list[int] = sequence_lens.tolist()
    if lengths and not 0 <= min(lengths) <= max(lengths) <= max_sequence_length:
        raise InvalidNode(f"sequence_lens {lengths}; allowed: 0 to {max_sequence_length}")
    return lengths


SCAN.formula(build=scan_8)(ScanSteps())


# ── SequenceMap ───────────────────────────────────────────────────────────────────────────────

#: Returns the result for sample n, from the body, all samples, n and the other inputs.
Apply: TypeAlias = Callable[[Subgraph, Values, int, Values], Array]


def applied(body: Subgraph, samples: Values, n: int, others: Values) -> Array:
    """Return what the body gives for sample `n` and the inputs that are no sequences.

    `samples` are the sequence, `others` the other inputs. The body has one output. Raises what its
    nodes raise.
    """
    [result] = body(samples[n], *others)
    return result


def collected(results: Values) -> Values:
    """Return the sequence of the results, "in the same order as in the input"."""
    return results


@dataclass(frozen=True)
class MapSteps:
    """The parts of SequenceMap's formula that a mutant may do otherwise."""

    apply: Apply = applied
    collect: Callable[[Values], Values] = collected


@formulas_of_versions(17)
def sequence_map_versions(steps: MapSteps, *additional_inputs: Array, body: Subgraph) -> Values:
    """Return the sequence of what the body gives for each sample of the input sequence.

    additional_inputs: the inputs besides the sequence, and after them the tensors of the sequence,
    of which there may be none. "The number of inputs and outputs, should match the one of the
    subgraph": raises InvalidNode otherwise, also for a body of several outputs. The body raises
    what its nodes do.
    """
    number = len(body.body.inputs) - 1
    others = additional_inputs[:number]
    samples = additional_inputs[number:]
    if number < 0 or len(others) < number or len(body.body.outputs) != 1:
        raise InvalidNode("the body has another number of inputs or outputs than the node")
    results = []
    with budget.iterating(len(samples)) as held:
        for n in range(len(samples)):
            results.append(steps.apply(body, samples, n, others))
            held.replace(0, elements_of(results[-1]))
    return steps.collect(results)


SEQUENCE_MAP.formula(build=sequence_map_versions)(MapSteps())


# ── mutants of If ─────────────────────────────────────────────────────────────────────────────


def branches_exchanged(cond: Array, then_branch: Subgraph, else_branch: Subgraph) -> Values:
    """Mutant: then_branch runs if `cond` is false.

    Raises InvalidNode for a cond of no or several elements, NotSupported where rounding decides it,
    and what the branch's nodes raise.
    """
    return chosen(cond, else_branch, then_branch)


def then_always(cond: Array, then_branch: Subgraph, else_branch: Subgraph) -> Values:
    """Mutant: then_branch runs whatever `cond` is.

    Raises what the branch's nodes raise.
    """
    return then_branch()


def else_always(cond: Array, then_branch: Subgraph, else_branch: Subgraph) -> Values:
    """Mutant: else_branch runs whatever `cond` is.

    Raises what the branch's nodes raise.
    """
    return else_branch()


def outputs_reversed(cond: Array, then_branch: Subgraph, else_branch: Subgraph) -> Values:
    """Mutant: the outputs come from the last to the first.

    Raises InvalidNode for a cond of no or several elements, NotSupported where rounding decides it,
    and what the branch's nodes raise.
    """
    return chosen(cond, then_branch, else_branch)[::-1]


def first_condition(cond: Array, then_branch: Subgraph, else_branch: Subgraph) -> Values:
    """Mutant: of several elements of `cond` the first decides; no element counts as false.

    Raises what the branch's nodes raise.
    """
    if cond.size and bool(xp.reshape(cond, -1)[0]):
        return then_branch()
    return else_branch()


IF.mutant_table(
    {
        "branches_exchanged": ("the branches were exchanged", branches_exchanged),
        "then_always": ("the condition was true", then_always),
        "else_always": ("the condition was false", else_always),
        "outputs_reversed": ("the last output of a branch came first", outputs_reversed),
    },
    build=if_versions,
)
IF.mutant(
    "a condition of several elements was taken for its first",
    of_validity=True,
    build=if_versions,
)(first_condition)


# ── mutants of Loop ───────────────────────────────────────────────────────────────────────────


def one_iteration_more(i: int, trip_count: int | None, cond: bool, has_cond: bool) -> bool:
    """Mutant: "i <= trip_count", unless the trip count is 0."""
    if trip_count:
        trip_count += 1
    return continues(i, trip_count, cond, has_cond)


def one_iteration_less(i: int, trip_count: int | None, cond: bool, has_cond: bool) -> bool:
    """Mutant: "i < trip_count - 1"."""
    if trip_count:
        trip_count -= 1
    return continues(i, trip_count, cond, has_cond)


def trip_count_ignored(i: int, trip_count: int | None, cond: bool, has_cond: bool) -> bool:
    """Mutant: where there is a condition it alone ends the loop.

    It still ends 64 iterations after the trip count, which is enough to differ from it.
    """
    if has_cond:
        return cond and i < (trip_count or 0) + 64
    return continues(i, trip_count, cond, has_cond)


def condition_ignored(i: int, trip_count: int | None, cond: bool, has_cond: bool) -> bool:
    """Mutant: where there is a trip count it alone ends the loop."""
    return continues(i, trip_count, cond or trip_count is not None, has_cond)


def first_condition_ignored(i: int, trip_count: int | None, cond: bool, has_cond: bool) -> bool:
    """Mutant: the first iteration runs whatever the condition is, as of "do … while"."""
    return continues(i, trip_count, cond or i == 0, has_cond)


def first_condition_alone(i: int, trip_count: int | None, cond: bool, has_cond: bool) -> bool:
    """Mutant: where there is a trip count, only the first iteration depends on the condition."""
    is_later = i > 0 and trip_count is not None
    return continues(i, trip_count, cond or is_later, has_cond)


def condition_counts_unasked(i: int, trip_count: int | None, cond: bool, has_cond: bool) -> bool:
    """Mutant: the body's condition ends a loop that has no input cond, too."""
    return continues(i, trip_count, cond, True)


def ends_at_once_without_cond(i: int, trip_count: int | None, cond: bool, has_cond: bool) -> bool:
    """Mutant: without the input cond no iteration runs."""
    return has_cond and continues(i, trip_count, cond, has_cond)


def numbered_from_1(i: int) -> int:
    """Mutant: iteration_num counts from 1."""
    return i + 1


def always_number_0(i: int) -> int:
    """Mutant: iteration_num is 0 in all iterations."""
    return 0


def begins_anew(states: Values, initial: Values) -> Values:
    """Mutant: every iteration has the initial values."""
    return initial


def states_exchanged(states: Values, initial: Values) -> Values:
    """Mutant: the body's last value is the first one's next."""
    return states[::-1]


def shapes_kept(states: Values, initial: Values) -> Values:
    """Mutant: each value is reshaped to the shape of its initial one.

    One with another number of elements is replaced by the initial value.
    """
    kept = []
    for state, first in zip(states, initial, strict=True):
        fits = state.size == first.size
        kept.append(xp.reshape(state, first.shape) if fits else first)
    return kept


def outputs_from_the_back(elements: Values, axis: int = 0) -> Array:
    """Mutant: the last iteration comes first.

    Raises InvalidNode for an axis out of range and for shapes that differ, NotSupported for
    elements that are sequences.
    """
    return stacked(elements[::-1], axis)


def outputs_of_the_last(elements: Values, axis: int = 0) -> Array:
    """Mutant: the last iteration's element stands for all.

    Raises InvalidNode for an axis out of range, NotSupported for elements that are sequences.
    """
    return stacked([elements[-1]] * len(elements), axis)


def outputs_concatenated(elements: Values, axis: int = 0) -> Array:
    """Mutant: elements that have an axis are put together along their first one, not a new one.

    Of elements of rank 0, raises InvalidNode for an axis out of range and for shapes that differ;
    of others ValueError for shapes that differ behind the first axis.
    """
    if elements[0].ndim:
        return xp.concat(elements, axis=0)
    return stacked(elements, axis)


#: The mutants of scan outputs, which Scan has too.
ACCUMULATIONS: NamedMutants[Accumulate] = {
    "outputs_from_the_back": ("the last iteration's values came first", outputs_from_the_back),
    "outputs_of_the_last": (
        "every row of a scan output was of the last iteration",
        outputs_of_the_last,
    ),
    "outputs_concatenated": ("scan outputs had no axis for the iterations", outputs_concatenated),
}
LOOP.mutant_table(
    {
        "one_iteration_more": (
            "the trip count was one more",
            LoopSteps(continues=one_iteration_more),
        ),
        "one_iteration_less": (
            "the trip count was one less",
            LoopSteps(continues=one_iteration_less),
        ),
        "trip_count_ignored": (
            "the condition alone ended the loop",
            LoopSteps(continues=trip_count_ignored),
        ),
        "condition_ignored": (
            "the trip count alone ended the loop",
            LoopSteps(continues=condition_ignored),
        ),
        "first_condition_ignored": (
            "the condition was asked for after the first iteration",
            LoopSteps(continues=first_condition_ignored),
        ),
        "first_condition_alone": (
            "the condition was asked for before the first iteration alone",
            LoopSteps(continues=first_condition_alone),
        ),
        "condition_counts_unasked": (
            "the body's condition ended a loop that has no input cond",
            LoopSteps(continues=condition_counts_unasked),
        ),
        "ends_at_once_without_cond": (
            "a loop without the input cond had no iteration",
            LoopSteps(continues=ends_at_once_without_cond),
        ),
        "numbered_from_1": (
            "the first iteration was number 1",
            LoopSteps(number=numbered_from_1),
        ),
        "always_number_0": (
            "every iteration was number 0",
            LoopSteps(number=always_number_0),
        ),
        "begins_anew": (
            "each iteration began with the initial values",
            LoopSteps(carry=begins_anew),
        ),
        "states_exchanged": (
            "the values were handed on from the last to the first",
            LoopSteps(carry=states_exchanged),
        ),
        "shapes_kept": (
            "a value kept the shape that it had at first",
            LoopSteps(carry=shapes_kept),
        ),
    },
    build=loop_versions,
)
LOOP.mutant_table(
    {
        name: (text, LoopSteps(accumulate=accumulate))
        for name, (text, accumulate) in ACCUMULATIONS.items()
    },
    build=loop_versions,
)


# ── mutants of Scan ───────────────────────────────────────────────────────────────────────────


def output_axis_first(elements: Values, axis: int = 0) -> Array:
    """Mutant: scan_output_axes is ignored.

    Raises InvalidNode for shapes that differ, NotSupported for elements that are sequences.
    """
    return stacked(elements)


def one_position_later(sequence_length: int, t: int, is_reverse: bool) -> int:
    """Mutant: the first iteration has the second element, and the last one the first."""
    return position_of(sequence_length, (t + 1) % sequence_length, is_reverse)


def always_backward(sequence_length: int, t: int, is_reverse: bool) -> int:
    """Mutant: every direction is reverse."""
    return position_of(sequence_length, t, True)


def always_forward(sequence_length: int, t: int, is_reverse: bool) -> int:
    """Mutant: every direction is forward."""
    return position_of(sequence_length, t, False)


def first_position_alone(sequence_length: int, t: int, is_reverse: bool) -> int:
    """Mutant: every iteration has the first one's element."""
    return position_of(sequence_length, 0, is_reverse)


SCAN_ACCUMULATIONS: NamedMutants[Accumulate] = {
    **ACCUMULATIONS,
    "output_axis_first": (
        "every scan output had the iterations on its first axis",
        output_axis_first,
    ),
}
POSITIONS: NamedMutants[ScanSteps] = {
    "one_position_later": (
        "a scan began at the second position and ended at the first",
        ScanSteps(position=one_position_later),
    ),
    "always_backward": (
        "every input was scanned backward",
        ScanSteps(position=always_backward),
    ),
    "always_forward": (
        "every input was scanned forward",
        ScanSteps(position=always_forward),
    ),
    "first_position_alone": (
        "every iteration saw the first position",
        ScanSteps(position=first_position_alone),
    ),
}
SCAN.mutant_table(
    {
        name: (text, ScanSteps(accumulate=accumulate))
        for name, (text, accumulate) in SCAN_ACCUMULATIONS.items()
    },
    build=scan_versions,
)
SCAN.mutant_table(POSITIONS, build=scan_versions)
SCAN.mutant_table(POSITIONS, build=scan_8)


# ── mutants of SequenceMap ────────────────────────────────────────────────────────────────────


def first_for_all(body: Subgraph, samples: Values, n: int, others: Values) -> Array:
    """Mutant: the body has the first sample each time.

    Raises what the body's nodes raise.
    """
    return applied(body, samples, 0, others)


def from_the_back(body: Subgraph, samples: Values, n: int, others: Values) -> Array:
    """Mutant: the last sample comes first.

    Raises what the body's nodes raise.
    """
    return applied(body, samples, -1 - n, others)


def others_exchanged(body: Subgraph, samples: Values, n: int, others: Values) -> Array:
    """Mutant: the body's inputs after the sample come from the last to the first.

    Raises what the body's nodes raise.
    """
    return applied(body, samples, n, others[::-1])


def empty_dropped(results: Values) -> Values:
    """Mutant: results without an element are left out."""
    return [result for result in results if result.size]


def last_dropped(results: Values) -> Values:
    """Mutant: the last result is left out."""
    return results[:-1]


SEQUENCE_MAP.mutant_table(
    {
        "first_for_all": (
            "every result was that of the first tensor",
            MapSteps(apply=first_for_all),
        ),
        "from_the_back": (
            "the results came from the last to the first",
            MapSteps(apply=from_the_back),
        ),
        "others_exchanged": (
            "the inputs beside the sequence came from the last to the first",
            MapSteps(apply=others_exchanged),
        ),
        "empty_dropped": (
            "empty tensors were dropped",
            MapSteps(collect=empty_dropped),
        ),
        "last_dropped": (
            "the last tensor was dropped",
            MapSteps(collect=last_dropped),
        ),
    },
    build=sequence_map_versions,
)
