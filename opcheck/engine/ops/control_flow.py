"""If, Loop, Scan and SequenceMap; their graphs come as functions: see `engine.graphs.Subgraph`."""

from itertools import count

import numpy as np

from opcheck import numbers as xp
from opcheck.engine.axes import from_either_end, scalar
from opcheck.engine.operators import (
    check_one_of,
    check_shape,
    formula_builder,
    operator,
    raise_unspecified,
)
from opcheck.errors import InvalidNode, NotSupported, decline, reject

NAMES = """If Loop Scan SequenceMap"""
IF, LOOP, SCAN, MAP = map(operator, NAMES.split())

_TYPES_CAME = (16, 19, 21, 23, 24, 25)
_VERSIONS = (1, 11, 13, *_TYPES_CAME)
#: The most iterations of a loop: mutants of its end may have no other.
_MOST = 1_000


def decided(name, condition):
    """A condition as Python has it; raises NotSupported where rounding decides about it."""
    if isinstance(condition, np.ndarray) or np.isscalar(condition):
        return bool(scalar(name, np.asarray(condition)))
    raise NotSupported(f"rounding decides {name}")


@formula_builder(*_VERSIONS)
def branch(chosen, cond, *, then_branch, else_branch):
    numbers = [len(one.body.outputs) for one in (then_branch, else_branch)]
    reject(len({*numbers}) > 1, f"branches of {numbers} outputs")
    return chosen(cond, then_branch, else_branch)


@IF.formula(build=branch)
def taken(cond, then_branch, else_branch):
    reject(cond.size != 1, f"cond has {cond.size} elements; allowed: 1")
    return then_branch() if decided("cond", xp.reshape(cond, ())) else else_branch()


def stacked(values, axis=0):
    """The results of all iterations, along a new axis."""
    if any(isinstance(x, list) for x in values):
        raise_unspecified("scan outputs that are no tensors")
    reject(len({x.shape for x in values}) > 1, f"scan outputs shaped {[x.shape for x in values]}")
    return xp.stack(values, axis=from_either_end(axis, len(values[0].shape) + 1))


def split(body, states, found):
    """New states of an iteration, and what it adds to the scan outputs."""
    if len(found) < len(states):
        raise InvalidNode(f"a body of {len(body.body.outputs)} outputs for {len(states)} states")
    return found[: len(states)], found[len(states) :]


def goes_on(n, most, keep, has_cond):
    return (most is None or n < most) and (keep or not has_cond)


@formula_builder(*_VERSIONS, options=["numbered", "carried", "gathered"])
def loop(
    runs,
    M=None,
    cond=None,
    *v_initial,
    body,
    numbered=lambda n: n,
    carried=lambda new, first: new,
    gathered=stacked,
):
    # "Should be a scalar", the text says of both.
    most = None if M is None else scalar("M", M)
    keep = cond is None or decided("cond", cond)
    if most is None and cond is None:
        raise_unspecified("a loop that nothing ends")
    states, rows = [*v_initial], []
    for n in count():
        if not runs(n, most, keep, cond is not None):
            break
        decline(n >= _MOST, f"more than {_MOST} iterations")
        found = body(np.array(numbered(n)), np.array(keep), *states)
        reject(not found, "a body without a condition")
        new, row = split(body, states, found[1:])
        states = carried([*new], [*v_initial])
        rows.append(row)
        keep = decided("what the body says of cond", found[0])
    if not rows and len(body.body.outputs) > 1 + len(states):
        raise_unspecified("scan outputs of no iteration")
    return (*states, *(gathered([*column]) for column in zip(*rows, strict=True)))


LOOP.formula(build=loop)(goes_on)


def flags(name, given, many):
    """A list of 0 and 1, all 0 if it is not stated."""
    listed = given or (0,) * many
    reject(len(listed) != many, f"{name} {list(listed)}; allowed: {many} numbers")
    for one in listed:
        check_one_of(name, one, 0, 1)
    return listed


def part(x, position, axis=0):
    """The part of a tensor at a position of an axis, without that axis."""
    return xp.squeeze(xp.take(x, [position], axis=axis), axis=axis)


def scanned(sequence, body, states, inputs, axes, backward):
    """The states after a scan, and what iterations add; `sequence` orders the positions."""
    lengths = {x.shape[axis] for x, axis in zip(inputs, axes, strict=True)}
    reject(len(lengths) > 1, f"scan inputs of lengths {sorted(lengths)}")
    [length] = lengths
    rows = []
    for n in range(length):
        triples = zip(inputs, axes, backward, strict=True)
        elements = [part(x, sequence(length, n, back), axis) for x, axis, back in triples]
        states, row = split(body, states, body(*states, *elements))
        rows.append(row)
    if not rows and len(body.body.outputs) > len(states):
        raise_unspecified("scan outputs of no iteration")
    return states, rows


def in_turn(length, n, back):
    return length - 1 - n if back else n


def parts_of(given, num_scan_inputs):
    states = len(given) - num_scan_inputs
    reject(num_scan_inputs < 1 or states < 0, f"num_scan_inputs {num_scan_inputs} of {len(given)}")
    return given[:states], given[states:]


def _axes(name, given, ranks, negative):
    axes = given or (0,) * len(ranks)
    reject(len(axes) != len(ranks), f"{name} {list(axes)}; allowed: {len(ranks)} axes")
    if not negative and min(axes, default=0) < 0:
        raise_unspecified(f"a negative axis in {name}")
    return [from_either_end(axis, rank) for axis, rank in zip(axes, ranks, strict=True)]


@formula_builder(each={9: False, **dict.fromkeys([11, *_TYPES_CAME], True)}, options=["gathered"])
def scan(
    sequence,
    negative,
    *initial_state_and_scan_inputs,
    body,
    num_scan_inputs,
    scan_input_axes,
    scan_input_directions,
    scan_output_axes,
    scan_output_directions,
    gathered=stacked,
):
    first, inputs = parts_of(initial_state_and_scan_inputs, num_scan_inputs)
    axes = _axes("scan_input_axes", scan_input_axes, [x.ndim for x in inputs], negative)
    backward = flags("scan_input_directions", scan_input_directions, len(inputs))
    states, rows = scanned(sequence, body, first, inputs, axes, backward)
    many = len(body.body.outputs) - len(states)
    prepends = flags("scan_output_directions", scan_output_directions, many)
    columns = [[*column] for column in zip(*rows, strict=True)]
    ranks = [column[0].ndim + 1 for column in columns]
    along = _axes("scan_output_axes", scan_output_axes, ranks, negative)
    turned = [c[::-1] if back else c for c, back in zip(columns, prepends, strict=True)]
    return (*states, *map(gathered, turned, along))


SCAN.formula(build=scan)(in_turn)


@formula_builder(8)
def scan_of_batches(
    sequence, sequence_lens=None, *initial_state_and_scan_inputs, body, num_scan_inputs, directions
):
    first, inputs = parts_of(initial_state_and_scan_inputs, num_scan_inputs)
    backward = flags("directions", directions, len(inputs))
    given = [*first, *inputs]
    if min(x.ndim for x in given) < 1 or min(x.ndim for x in inputs) < 2:
        raise InvalidNode("a tensor without the axis of batches, or that of its sequences")
    if len(batches := {x.shape[0] for x in given}) > 1:
        raise InvalidNode(f"batches of {sorted(batches)}")
    [batch], [longest, *others] = batches, {x.shape[1] for x in inputs}
    reject(others, f"scan inputs of lengths {sorted([longest, *others])}")
    check_shape("sequence_lens", sequence_lens, (batch,))
    lengths = [longest] * batch if sequence_lens is None else sequence_lens.tolist()
    if lengths and not 0 <= min(lengths) <= max(lengths) <= longest:
        raise InvalidNode(f"sequence_lens {lengths}; allowed: 0 to {longest}")
    if not batch:
        raise_unspecified("no batches")
    found = []
    for n, length in enumerate(lengths):
        cut = [xp.take(part(x, n), np.arange(length), axis=0) for x in inputs]
        begin = [part(x, n) for x in first]
        states, rows = scanned(sequence, body, begin, cut, [0] * len(cut), backward)
        has_rows = len(body.body.outputs) > len(states)
        if length < longest and has_rows:
            raise_unspecified("what is beyond a sequence")
        found.append((*states, *(stacked([*column]) for column in zip(*rows, strict=True))))
    return tuple(stacked([*column]) for column in zip(*found, strict=True))


SCAN.formula(build=scan_of_batches)(in_turn)


@formula_builder(17, options=["made"])
def mapped(each, *additional_inputs, body, made=list):
    held = len(body.body.inputs) - 1
    # The tensors of the sequence come after the others.
    others, tensors = additional_inputs[:held], additional_inputs[held:]
    if held < 0 or len(others) < held or len(body.body.outputs) != 1:
        raise InvalidNode("the body has another number of inputs or outputs than the node")
    return made([each(body, tensors, n, others) for n in range(len(tensors))])


@MAP.formula(build=mapped)
def element(body, tensors, n, others):
    [made] = body(tensors[n], *others)
    return made


IF.mutant_table(
    {
        "branches_exchanged": ("the branches were exchanged", lambda cond, a, b: taken(cond, b, a)),
        "then_always": ("the condition was true", lambda cond, a, b: a()),
        "else_always": ("the condition was false", lambda cond, a, b: b()),
        "outputs_reversed": (
            "the last output of a branch came first",
            lambda *of: taken(*of)[::-1],
        ),
    },
    build=branch,
)
IF.mutant(
    "a condition of several elements was taken for its first",
    name="first_condition",
    of_validity=True,
    build=branch,
)(lambda cond, a, b: a() if cond.size and bool(xp.reshape(cond, -1)[0]) else b())

LOOP.mutant_table(
    {
        "one_iteration_more": (
            "the trip count was one more",
            lambda n, most, *rest: goes_on(n, most and most + 1, *rest),
        ),
        "one_iteration_less": (
            "the trip count was one less",
            lambda n, most, *rest: goes_on(n, most and most - 1, *rest),
        ),
        "trip_count_ignored": (
            "the condition alone ended the loop",
            lambda n, most, keep, has_cond: (
                keep and n < (most or 0) + 64 if has_cond else goes_on(n, most, keep, has_cond)
            ),
        ),
        "condition_ignored": (
            "the trip count alone ended the loop",
            lambda n, most, keep, has_cond: goes_on(n, most, keep or most is not None, has_cond),
        ),
        "first_condition_ignored": (
            "the condition was asked for after the first iteration",
            lambda n, most, keep, has_cond: goes_on(n, most, keep or n == 0, has_cond),
        ),
        "first_condition_alone": (
            "the condition was asked for before the first iteration alone",
            lambda n, most, keep, *rest: goes_on(
                n, most, keep or (n > 0 and most is not None), *rest
            ),
        ),
        "condition_counts_unasked": (
            "the body's condition ended a loop that has no input cond",
            lambda n, most, keep, has_cond: goes_on(n, most, keep, True),
        ),
        "ends_at_once_without_cond": (
            "a loop without the input cond had no iteration",
            lambda n, most, keep, has_cond: has_cond and goes_on(n, most, keep, has_cond),
        ),
    },
    build=loop,
)
LOOP.mutant_table(
    {
        "numbered_from_1": ("the first iteration was number 1", lambda n: n + 1),
        "always_number_0": ("every iteration was number 0", lambda n: 0),
    },
    build=lambda numbered: loop(goes_on, numbered=numbered),
)
LOOP.mutant_table(
    {
        "begins_anew": ("each iteration began with the initial values", lambda new, first: first),
        "states_exchanged": (
            "the values were handed on from the last to the first",
            lambda new, first: new[::-1],
        ),
        "shapes_kept": (
            "a value kept the shape that it had at first",
            lambda new, first: [
                xp.reshape(x, y.shape) if x.size == y.size else y
                for x, y in zip(new, first, strict=True)
            ],
        ),
    },
    build=lambda carried: loop(goes_on, carried=carried),
)
_GATHERED = {
    "outputs_from_the_back": (
        "the last iteration's values came first",
        lambda values, *axis: stacked(values[::-1], *axis),
    ),
    "outputs_of_the_last": (
        "every row of a scan output was of the last iteration",
        lambda values, *axis: stacked([values[-1] for _ in values], *axis),
    ),
    "outputs_concatenated": (
        "scan outputs had no axis for the iterations",
        lambda values, axis=0: (
            xp.concat(values, axis=0) if values[0].ndim else stacked(values, axis)
        ),
    ),
}
LOOP.mutant_table(_GATHERED, build=lambda gathered: loop(goes_on, gathered=gathered))
SCAN.mutant_table(
    {
        **_GATHERED,
        "output_axis_first": (
            "every scan output had the iterations on its first axis",
            lambda values, axis: stacked(values),
        ),
    },
    build=lambda gathered: scan(in_turn, gathered=gathered),
)

for _by in (scan, scan_of_batches):
    SCAN.mutant_table(
        {
            "one_position_later": (
                "a scan began at the second position and ended at the first",
                lambda length, n, back: in_turn(length, (n + 1) % length, back),
            ),
            "always_backward": (
                "every input was scanned backward",
                lambda length, n, back: in_turn(length, n, True),
            ),
            "always_forward": ("every input was scanned forward", lambda length, n, back: n),
            "first_position_alone": (
                "every iteration saw the first position",
                lambda length, n, back: in_turn(length, 0, back),
            ),
        },
        build=_by,
    )

MAP.mutant_table(
    {
        "first_for_all": (
            "every result was that of the first tensor",
            lambda body, tensors, n, others: element(body, tensors, 0, others),
        ),
        "from_the_back": (
            "the results came from the last to the first",
            lambda body, tensors, n, others: element(body, tensors, -1 - n, others),
        ),
        "others_exchanged": (
            "the inputs beside the sequence came from the last to the first",
            lambda body, tensors, n, others: element(body, tensors, n, others[::-1]),
        ),
    },
    build=mapped,
)
MAP.mutant_table(
    {
        "empty_dropped": ("empty tensors were dropped", lambda made: [x for x in made if x.size]),
        "last_dropped": ("the last tensor was dropped", lambda made: made[:-1]),
    },
    build=lambda made: mapped(element, made=made),
)
