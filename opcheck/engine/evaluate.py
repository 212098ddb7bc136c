"""From a node to its outputs: plain, with bounds, or to as many digits as are wanted."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, TypeAlias

import numpy as np

from opcheck import budget, dtypes, interrupt, numbers, opset
from opcheck.dtypes import DTYPES, DType, is_real, round_to
from opcheck.engine.node import BoundNode, Node, bind
from opcheck.engine.operators import Formula, explained, is_judging, located
from opcheck.engine.outputs import Drawn, Expected, Outputs
from opcheck.engine.readings import Reading, each_reading, following, reader_in_force
from opcheck.engine.sizes import check_sizes
from opcheck.engine.tiers import Tier, tiers_of
from opcheck.engine.undefined import UndefinedByPlace, marking, taken_apart
from opcheck.errors import InvalidNode, NotSupported, WrongOperator, decline
from opcheck.model import GRAPH, Array
from opcheck.numbers.arithmetic import EXACT, Arithmetic, Kind
from opcheck.numbers.bounded.array import MOST_AXES, Bounded, bounded, is_finite, value_dtypes
from opcheck.numbers.bounded.choice import Choices, Truth, with_ieee
from opcheck.numbers.faulty import Faulty, bare
from opcheck.numbers.traced import Step, Traced

#: An output of a formula on bounded numbers; a plain array is exact.
Output: TypeAlias = Bounded | Truth | Choices | Array
#: Brings an array to a kind of numbers.
Lift: TypeAlias = Callable[[Any], Any]

#: The most elements that mpmath computes, which takes some minutes for as many.
_LARGE = 1 << 20
_BYTES_OF_HALF = 2
#: What NumPy says of an array of more axes than it has room for.
_BEYOND_AXES = "maximum supported dimension"


# On plain numbers.


def evaluate(
    node: Node,
    formula: Formula | None = None,
    faults: numbers.Faults | None = None,
    trace: set[str] | None = None,
) -> tuple[Array, ...]:
    """Return the outputs in the tensors' own types.

    16-bit types are computed in float32 and rounded once. The outputs share no memory with the
    inputs. `formula` takes the place of the operator's own, `faults` of functions that it calls, by
    their names; `trace`, a set, collects the names of these.

    Raises InvalidNode for what the schema or the formula forbids; NotSupported for a version
    without a formula, what a text does not define, and sizes beyond the budget (BeyondBudget);
    MemoryError for an output that no memory holds; WrongOperator for a formula that fails
    otherwise.
    """
    return _in_own_types(bind(node, formula), faults, trace)


def _in_own_types(
    bound: BoundNode,
    faults: numbers.Faults | None = None,
    trace: set[str] | None = None,
    undefined: UndefinedByPlace | None = None,
) -> tuple[Array, ...]:
    """Return the outputs of a bound node; see `evaluate`, and `_call_formula` for `undefined`.

    Raises InvalidNode, NotSupported, MemoryError and WrongOperator as `_call_formula` does.
    """
    is_of_own_type = bound.operator.exact or bound.schema.graphs
    convert = _native if is_of_own_type else _widened
    is_watched = faults is not None or trace is not None
    lift = _made_faulty if is_watched else _unlifted
    inputs = [convert(array) for array in bound.node.inputs]
    outputs = _call_formula(bound, lift, inputs, faults=faults, trace=trace, undefined=undefined)
    return tuple(_typed(bound, place, bare(output)) for place, output in enumerate(outputs))


def _native(array: Array | None) -> Array | None:
    """Return an array in the machine's byte order; None of None."""
    if array is None:
        return None
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def _widened(array: Array | None) -> Array | None:
    """Return an array in the machine's byte order, and a 16-bit float in float32; None of None."""
    if is_real(array) and array.dtype.itemsize == _BYTES_OF_HALF:
        return dtypes.widened(array)
    return _native(array)


def _unlifted(array: Any) -> Any:
    """Return an array as it is."""
    return array


def _made_faulty(array: Any) -> Any:
    """Return a faulty array of a floating tensor; anything else as it is.

    So is a float64 of rank 0, which may be a number of the formula's own.
    """
    # A single float64 may be a number of the formula's.
    is_number = is_real(array) and not array.ndim and array.dtype == np.float64
    if not is_real(array) or is_number:
        return array
    return Faulty(array)


def _typed(bound: BoundNode, place: int, output: Any) -> Array:
    """Return an output in its dtype; floats are rounded to it, integers wrap around, true is 1.

    place: its number among the outputs that are asked for. Raises WrongOperator for an output of a
    kind that its dtype does not take, such as floats for integers.
    """
    dtype = bound.output_dtype(place)
    array = _owned(bound, output)
    if dtype is None or array.dtype == dtype.numpy:
        return array
    if dtype.kind == "float" and array.dtype.kind == "f":
        if dtype.numpy.itemsize == _BYTES_OF_HALF and array.dtype == np.float32:
            with np.errstate(invalid="ignore"):
                narrow = dtypes.narrowed(np.ascontiguousarray(array), dtype.numpy)
                return narrow.reshape(array.shape)
        return round_to(array.astype(np.float64), dtype)
    if dtype.kind == "int" and array.dtype.kind in "biu":
        return array.astype(dtype.numpy)
    raise _wrong(bound, f"output {place} is {array.dtype} and not {dtype}")


def _owned(bound: BoundNode, output: Any) -> Array:
    """Return an output as an array that shares no memory with the inputs."""
    # NumPy makes a text of an array of rank 0.
    array = np.asarray(output, object if isinstance(output, str) else None)
    # A reshaped array of the formula's own is good as it is.
    is_own = array.base is None or (np.size(array.base) == array.size and array.flags.carray)
    if not is_own or any(np.may_share_memory(array, operand) for operand in bound.node.given):
        return array.copy()
    return array


# Calling a formula.


def _call_formula(
    bound: BoundNode,
    lift: Lift,
    inputs: Iterable[Array | None],
    *,
    faults: numbers.Faults | None = None,
    trace: set[str] | None = None,
    lost: list[object] | None = None,
    undefined: UndefinedByPlace | None = None,
) -> Sequence[Any]:
    """Return the outputs of the formula on the kind of numbers to which `lift` brings an array.

    For `faults` and `trace` see `numbers.lifting`. `lost` collects what left its range, and
    `undefined` the elements that no text defines; if that is None, a judged node with such elements
    is not supported. The outputs are those that are asked for.

    Raises InvalidNode for what the formula forbids, NotSupported and MemoryError as the formula
    does, BeyondBudget for sizes beyond the budget; WrongOperator for anything else that the formula
    raises, and for a wrong number of outputs.
    """
    operands, attrs = _arguments(bound, [lift(array) for array in inputs])
    with (
        _errors_of_formula(bound),
        numbers.lifting(lift, faults, trace),
        _ignoring_warnings(lost),
        budget.counting(),
        marking(undefined is not None),
    ):
        check_sizes(bound.node.op, operands, attrs)
        returned = bound.formula(*operands, **attrs)
    outputs: Sequence[Any] = returned if isinstance(returned, tuple | list) else (returned,)
    return taken_apart(_asked_outputs(bound, outputs), undefined)


def _arguments(bound: BoundNode, operands: list[Any]) -> tuple[list[Any], Mapping[str, Any]]:
    """Return the operands of a formula and its attributes, whose graphs have the other tensors.

    The tensors that graphs use from around them come last among `operands`. Raises InvalidNode
    where the graphs use more tensors than there are.
    """
    if not bound.graphs:
        return operands, bound.attrs
    own = len(operands) - max(graph.outer for graph in bound.graphs.values())
    if own < sum(parameter.option == "single" for parameter in bound.schema.inputs):
        raise InvalidNode(f"{bound.node.op}: {len(operands)} tensors, of which graphs use more")
    graphs = {name: graph.within(operands[own:]) for name, graph in bound.graphs.items()}
    return operands[:own], {**bound.attrs, **graphs}


@contextmanager
def _errors_of_formula(bound: BoundNode) -> Iterator[None]:
    """Name the operator in errors; raise WrongOperator for those that no formula may raise.

    InvalidNode gets the operator before its message; NotSupported and MemoryError pass as they are.
    What NumPy raises for more axes than it has room for is NotSupported.
    """
    try:
        yield
    except InvalidNode as error:
        text = str(error)
        prefix = f"{bound.node.op}: "
        raise InvalidNode(text if text.startswith(prefix) else prefix + text) from None
    except (MemoryError, NotSupported):
        raise
    except Exception as error:
        interrupt.safe_place()  # NumPy makes a SystemError of an interrupt
        rank = max((x.ndim for x in bound.node.given), default=0)
        # Formulas have axes of their own for a while.
        if rank > MOST_AXES or _BEYOND_AXES in str(error):
            reason = "it takes tensors of more axes than NumPy has, which opcheck computes with"
            raise NotSupported(f"{bound.node.op}: {reason}") from error
        fed = [f"{dtypes.of(x) or x.dtype}{[*x.shape]}" for x in bound.node.given]
        fed += [f"{name}={value}" for name, value in bound.attrs.items()]
        text = f"the formula raised {explained(error)}; fed {', '.join(fed)}"
        text += " (InvalidNode is for what the specification forbids)"
        raise _wrong(bound, text, error) from error


def _ignoring_warnings(lost: list[object] | None) -> AbstractContextManager[Any]:
    """Ignore NumPy's warnings in the block; collect overflows and underflows in `lost`.

    None collects nothing.
    """
    if lost is None:
        return np.errstate(all="ignore")

    def collect(*kind: object) -> None:
        lost.append(kind)

    return np.errstate(all="ignore", over="call", under="call", call=collect)


def _asked_outputs(bound: BoundNode, outputs: Sequence[Any]) -> Sequence[Any]:
    """Return the outputs that are asked for, of all that a formula returns.

    A sequence counts with its length before its tensors. Raises WrongOperator where a formula gives
    too many outputs or too few, InvalidNode for a sequence of fewer tensors than are asked for.
    """
    declared = bound.schema.outputs
    if declared[-1].listed:
        outputs = _of_sequence(bound, outputs)
    if len(outputs) > len(declared) and declared[-1].option != "variadic":
        raise _wrong(bound, f"the formula returns {len(outputs)} outputs; allowed: {len(declared)}")
    if len(outputs) < bound.node.count:
        raise _wrong(bound, f"the formula returns {len(outputs)} of {bound.node.count} outputs")
    if bound.node.outputs is None:
        return outputs
    return [outputs[place] for place in bound.node.outputs]


def _of_sequence(bound: BoundNode, tensors: Sequence[Any]) -> Sequence[Any]:
    """Return the length of a sequence and its tensors.

    Where a sequence is one output alone, they are the length and an empty tensor of its type: see
    `without_sequences`. Raises InvalidNode for fewer tensors than are asked for.
    """
    length = np.array(len(tensors))
    if bound.schema.outputs[-1].option == "single":
        dtype = opset.output_dtype(bound.schema, bound.schema.outputs[-1], {}, bound.attrs)
        return length, np.empty(0, dtype.numpy if dtype else None)
    if len(tensors) < bound.node.count - 1:
        few = f"a sequence of {len(tensors)}, too few for what is asked"
        raise InvalidNode(f"{bound.node.op}: {few}")
    return length, *tensors


def _wrong(bound: BoundNode, text: str, error: Exception | None = None) -> WrongOperator:
    """Return the error of a formula, with the place where `error` was raised, or of the formula."""
    return WrongOperator(f"{located(bound.formula, error)}: {bound.node.op}: {text}")


# On bounded numbers.


class Evaluation:
    """A node on bounded numbers, in each of the arithmetics that an implementation may use.

    Raises what `bind` raises at once, and what a formula raises when it is first evaluated.
    """

    def __init__(self, node: Node) -> None:
        self.node = node
        self.bound = bind(node)
        # Later evaluations, of other tiers, follow the same readings.
        self._reader = reader_in_force()
        self._outputs: dict[Tier, tuple[Output, ...]] = {}
        #: How wide the values of a formula have to be, as a place in `value_dtypes()`.
        self._widths: dict[Formula | None, int] = {}
        self._has_lost = False
        #: The elements that no text defines, by output, of the tiers that were evaluated.
        self.undefined: UndefinedByPlace = {}

    def unknown(self, output: Bounded) -> Any:
        """Return a mask of values of a large output that mpmath alone could compute, or False.

        An infinity is not unknown if nothing overflowed on the way, as that of log(0).
        """
        if output.size <= _LARGE or output.v.dtype == np.float64 or not _ran_out(output):
            return False
        e = output.with_rounding().e
        vanished: Any = False
        if e is not None:
            vanished = (output.v == 0) & (e > output.arithmetic.floor)
        return vanished | (~is_finite(output.v) & self._has_lost)

    @cached_property
    def is_exact(self) -> bool:
        """True if no output can be anything but what a plain evaluation gives.

        So it is where nothing computes with floating numbers: neither the operator nor its graphs.
        """
        operator = self.bound.operator
        graphs = self.bound.graphs.values()
        if graphs:
            return all(graph.is_exact for graph in graphs)
        if operator.exact:
            return True
        return not (operator.of_integers or any(map(is_real, self.node.inputs)))

    @cached_property
    def dtype(self) -> DType:
        """The floating dtype that decides which arithmetic is expected; float32 without any.

        Of several inputs it is the widest, or for an operator that is `led` that of the first. Of a
        model, float64 does not decide next to others.
        """
        given = self.node.given
        if self.bound.operator.led and is_real(given[0]):
            given = given[:1]
        of_inputs = map(dtypes.of, given)
        floats = {dtype for dtype in of_inputs if dtype and dtype.kind == "float"}
        if self.node.op == GRAPH:
            floats = self._floats_of_graph(floats)
        return max(floats, key=lambda dtype: dtype.precision, default=DTYPES["float32"])

    @property
    def _graph(self) -> Any:
        """The graph of a whole model."""
        return self.node.attrs["graph"]

    def _floats_of_graph(self, of_inputs: set[DType]) -> set[DType]:
        """Return the dtypes that decide for a graph, from those of its inputs.

        float64 is not among them if an input or a tensor inside has a narrower type.
        """
        in_graph = self._graph.body.floats
        of_inputs = of_inputs or {*in_graph}
        # What is float64 in a part of a model alone has the errors of the other part.
        every = {*of_inputs, *in_graph}
        poorer = {dtype for dtype in every if dtype.name != "float64"}
        return (of_inputs & poorer) or poorer or of_inputs

    @cached_property
    def _halves_inside(self) -> tuple[DType, ...]:
        """The 16-bit types of a part of a graph whose other parts are of wider types."""
        if self.node.op != GRAPH:
            return ()
        of_inputs = map(dtypes.of, self.node.given)
        floats = {one for one in of_inputs if one and one.kind == "float"}
        floats |= self._graph.body.floats
        return _halves(floats - {self.dtype})

    def tiers(
        self, declared: Collection[str] = (), output: DType | None = None
    ) -> tuple[Tier, ...]:
        """Return the tiers as they are tried: those without a remark first; see `tiers_of`.

        declared: the names of types in which the backend declares to compute, which bring no
        remark. A node may compute in the 16-bit type of its inputs, or of the `output` in question.
        """
        types = {self.dtype}
        # The nodes of a graph have types of their own, which `dtype` takes into account.
        if self.node.op != GRAPH and output is not None:
            types.add(output)
        return tiers_of(
            operator=self.bound.operator,
            since=self.node.op.since,
            dtype=self.dtype,
            short=_halves(types),
            declared=frozenset(declared),
            inside=self._halves_inside,
            casts=self.node.op == GRAPH and self._graph.casts,
        )

    def outputs(self, tier: Tier) -> tuple[Output, ...]:
        """Return the outputs of a tier, computed once.

        They follow the readings that were in force when the evaluation was made. Raises InvalidNode
        for what the formula forbids, NotSupported and MemoryError as it does, WrongOperator if it
        fails otherwise.
        """
        if tier not in self._outputs:
            with following(self._reader):
                self._outputs[tier] = self._evaluate(tier.arithmetic, tier.formula)
        return self._outputs[tier]

    @property
    def expected(self) -> tuple[Output, ...]:
        """The outputs of the first tier; of an exact node plain arrays in their own types.

        Raises what the formula raises: InvalidNode, NotSupported, MemoryError, WrongOperator.
        """
        if self.is_exact:
            return _in_own_types(self.bound, undefined=self.undefined)
        return self.outputs(self.tiers()[0])

    @cached_property
    def plain(self) -> tuple[Array, ...]:
        """The outputs on plain arrays, by the readings that the evaluation follows.

        Raises what `evaluate` raises: InvalidNode, NotSupported, MemoryError, WrongOperator.
        """
        if self._reader is None or not self._reader.chosen:
            return self.node.plain
        with following(self._reader):
            return evaluate(self.node)

    def _evaluate(self, arithmetic: Arithmetic, formula: Formula | None) -> tuple[Output, ...]:
        """Return the outputs in an arithmetic, of the operator's formula or another one.

        Raises InvalidNode, NotSupported, MemoryError and WrongOperator as `_call_formula` does.
        """
        bound = self.bound if formula is None else bind(self.node, formula)
        if self.is_exact:
            return _in_own_types(bound, undefined=self.undefined)
        outputs = [_of_two(output) for output in self._evaluate_widely(bound, arithmetic, formula)]
        return tuple(
            output if isinstance(output, Kind) else _typed(bound, place, output)
            for place, output in enumerate(outputs)
        )

    def _evaluate_widely(
        self, bound: BoundNode, arithmetic: Arithmetic, formula: Formula | None
    ) -> Sequence[Any]:
        """Return the outputs on values so wide that they do not leave their own range.

        The widths are tried from the arithmetic's own on; which one was enough is kept for the
        formula. Raises InvalidNode, NotSupported, MemoryError and WrongOperator as `_call_formula`
        does on any of them.
        """
        outputs: Sequence[Any] = ()
        # Values are the same in all arithmetics, so that the first one shows how wide they are.
        known = self._widths.get(formula)
        widest = len(value_dtypes()) - 1
        # mpmath's numbers need those of IEEE below them, however wide the arithmetic asks for.
        for width in range(min(arithmetic.values, widest - 1), widest + 1):
            lift = _lift_to(arithmetic, width)
            lost: list[object] = []
            narrow = outputs
            outputs = _call_formula(
                bound, lift, self.node.inputs, lost=lost, undefined=self.undefined
            )
            if narrow and value_dtypes()[width] == np.object_:
                is_enough = width > arithmetic.values
                outputs = [
                    with_ieee(*each, is_enough) for each in zip(narrow, outputs, strict=True)
                ]
            self._widths[formula] = width
            # A model's bound grows beyond use: what comes of that is not for want of digits.
            if width in (known, widest) or self.node.op == GRAPH:
                break
            if known is not None or width < arithmetic.values:
                continue
            if not self._needs_wider(bound, lift, outputs):
                break
            if value_dtypes()[width + 1] == np.object_ and _has_large(outputs):
                self._has_lost |= bool(lost)
                break
        return outputs

    def _needs_wider(self, bound: BoundNode, lift: Lift, outputs: Sequence[Any]) -> bool:
        """Return True if values left their range on the way, and wider ones would not.

        Infinities and NaN that come of those of the inputs do not count. Raises what
        `_call_formula` raises on inputs with zeros in their place, such as InvalidNode.
        """
        if not any(map(_ran_out, outputs)):
            return False
        # What infinities and NaN of the inputs make of outputs, they make of wider ones too.
        inputs = self.node.inputs
        tame = [_tamed(array) for array in inputs]
        is_tame = all(a is b for a, b in zip(tame, inputs, strict=True))
        return is_tame or any(map(_ran_out, _call_formula(bound, lift, tame, undefined={})))


def _lift_to(arithmetic: Arithmetic, width: int) -> Lift:
    """Return what makes bounded numbers with values of this width, a place in `value_dtypes()`."""
    if width != arithmetic.values:
        arithmetic = replace(arithmetic, values=width)
    return partial(_bounded_if_real, arithmetic)


def _bounded_if_real(arithmetic: Arithmetic, array: Array | None) -> Any:
    """Return a floating tensor as bounded numbers; others as they are."""
    if not is_real(array):
        return array
    half = arithmetic.half
    if half is not None and array.dtype.itemsize == _BYTES_OF_HALF:
        arithmetic = replace(arithmetic.turned_into(half), cut=arithmetic.cut, half=half)
    return bounded(array, arithmetic)


def _halves(types: Iterable[DType]) -> tuple[DType, ...]:
    """Return the types of 16 bits, those of more digits first."""
    short = [dtype for dtype in types if dtype.numpy.itemsize == _BYTES_OF_HALF]
    return tuple(sorted(short, key=lambda dtype: -dtype.precision))


def _has_large(outputs: Sequence[Any]) -> bool:
    """Return True if mpmath would take too long for an output."""
    return any(isinstance(x, Bounded) and x.size > _LARGE for x in outputs)


def _of_two(output: Output) -> Output:
    """Return integers that are sure as a plain array, or as `Choices` if each is one of two.

    Anything else is returned as it is: other types, integers that may be further off or were lost.
    """
    if not isinstance(output, Bounded) or output.dtype.kind not in "iu" or output.lost is not None:
        return output
    low, high = (end.astype(output.dtype) for end in output.ends())
    if (low == high).all():
        return low
    if (high - low <= 1).all():
        return Choices(high, np.stack([low, high], -1))
    return output


def _tamed(array: Array | None) -> Array | None:
    """Return an array with zeros for values that are not finite; itself if there are none."""
    if not is_real(array):
        return array
    with np.errstate(invalid="ignore"):
        finite = np.isfinite(array.astype(np.float64))
    if finite.all():
        return array
    return np.where(finite, array, np.zeros((), array.dtype))


def _ran_out(output: Any) -> bool:
    """Return True if values may have left their own range, as x^10 does for x = 1e38.

    That is if one is infinite or NaN, or if a computed 0 has an error above the arithmetic's floor.
    Plain arrays never have.
    """
    if not isinstance(output, Bounded):
        return False
    v = output.v
    if v.dtype == np.float64 and v.min(initial=np.inf) > 0 and v.max(initial=0.0) < np.inf:
        return False
    if not is_finite(v).all():
        return True
    zero = v == 0
    if output.exact or not zero.any():
        return False
    with np.errstate(all="ignore"):
        e = output.with_rounding().e
    return e is not None and bool((zero & (e > output.arithmetic.floor)).any())


def precisely(node: Node, bits: int) -> Sequence[Any]:
    """Return the outputs with so many binary digits, as numbers without errors or plain arrays.

    Raises InvalidNode for a node that is forbidden, NotSupported and MemoryError for one that is
    not computed, and WrongOperator for a formula that fails.
    """
    from opcheck.numbers.precise import digits

    with digits(bits):
        return _call_formula(bind(node), partial(_bounded_if_real, EXACT), node.inputs)


# All that a backend may give.


def exactly(node: Node) -> Outputs:
    """Return the outputs of a node, one for each that is asked for, or all.

    Each is a plain array where it is exact, `Drawn` where it is drawn, else `Expected`. Raises
    InvalidNode for a node that is forbidden, NotSupported and MemoryError for one that is not
    computed, while judging also for one with elements that no text defines; and WrongOperator for a
    formula that fails.
    """
    outputs, undefined = with_undefined_elements(node)
    decline(is_judging() and bool(undefined), "nothing is said of some elements")
    return outputs


def with_undefined_elements(node: Node) -> tuple[Outputs, UndefinedByPlace]:
    """Return the outputs of a node as `exactly` does, and their elements that no text defines.

    Raises InvalidNode, NotSupported, MemoryError and WrongOperator as `exactly` does; for such
    elements only while judging, and if there are no others.
    """
    evaluation = Evaluation(node)
    if node.draws:
        check = evaluation.bound.operator.related
        related = partial(check, node.inputs) if check else None
        count = len(node.plain)
        return tuple(Drawn(partial(evaluate, node), n, related) for n in range(count)), {}
    outputs: list[Array | Expected | Drawn] = []
    for place, output in enumerate(evaluation.expected):
        if not isinstance(output, Kind):
            outputs.append(np.asarray(output))
            continue
        own = np.empty(0, getattr(output, "dtype", output.v.dtype))
        dtype = evaluation.bound.output_dtype(place) or dtypes.of(own)
        assert dtype
        outputs.append(Expected(evaluation, place, dtype))
    return tuple(outputs), evaluation.undefined


def traced(node: Node) -> Sequence[Any]:
    """Return the outputs in float64, each with the calls that made it; a plain one has none.

    Inputs of floats are traced, by the names that the schema gives them. Raises what `exactly`
    raises.
    """
    bound = bind(node)
    names = [parameter.name for parameter in bound.schema.inputs]
    # Views, as one array may be two inputs.
    native = map(_native, node.inputs)
    inputs = [None if array is None else array.view() for array in native]
    named = {id(array): names[min(place, len(names) - 1)] for place, array in enumerate(inputs)}

    def lift(array: Any) -> Any:
        """Return a floating tensor as a traced one, anything else as it is."""
        if not is_real(array) or (id(array) not in named and not np.ndim(array)):
            return array
        return Traced(array.astype(np.float64), Step(named.get(id(array), "constant")))

    return _call_formula(bound, lift, inputs)


def each_answer(node: Node) -> tuple[Reading[Outputs], ...]:
    """Return the answers that the text admits, one for each combination of readings.

    A combination may refuse the node, and its answer is an InvalidNode then. Raises InvalidNode,
    that of the first combination, if all refuse it; NotSupported for more than MAX_ANSWERS answers;
    and otherwise what `exactly` raises: NotSupported, MemoryError, WrongOperator. Elements that no
    text defines are marked, and raise nothing.
    """
    readings = tuple(map(_with_marks, each_reading(partial(with_undefined_elements, node))))
    for reading in readings:
        if not isinstance(reading.answer, InvalidNode):
            return readings
    refusal = readings[0].answer
    assert isinstance(refusal, InvalidNode)
    raise refusal


def _with_marks(reading: Reading[tuple[Outputs, UndefinedByPlace]]) -> Reading[Outputs]:
    """Return a reading whose undefined elements stand next to its outputs."""
    if isinstance(reading.answer, InvalidNode):
        return Reading(reading.chosen, reading.rulings, reading.answer)
    outputs, undefined = reading.answer
    return Reading(reading.chosen, reading.rulings, outputs, undefined, reading.uses)
