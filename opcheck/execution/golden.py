"""Golden files: cases with their right answers, in the layout of ONNX's test data.

Each test is a question with its right answers: outputs correctly rounded, with the allowed errors.
Folders are written next to their place, and moved there when complete; names and bytes of all files
are the same on every machine. docs/golden-files.md describes them. None is called `node`: for that,
ONNX's loader would load the tests of its own package.

A `Want` is the expected value of one output, with its error bound if it has one. A part that is
*left out* has no test, for a stated reason. *ONNX's runner* compares with one rtol and one atol for
all outputs, so that these stand for the allowed errors.

What evaluates a formula raises WrongOperator if the file that declares the operator is wrong. What
computes a model or writes it out raises UsageError if a file of its weights has changed.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from importlib import metadata
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from opcheck import __version__, dtypes, engine, model, suite
from opcheck.backends.execute import same_answers
from opcheck.compare import Want, compare_outputs, verdict
from opcheck.compare.bounded import ends as ends_of_bound
from opcheck.compare.elements import stepped, wide
from opcheck.compare.outputs import in_its_dtype
from opcheck.engine.outputs import Outputs
from opcheck.engine.readings import Reader, Reading, following
from opcheck.engine.rounding import correctly_rounded
from opcheck.errors import Exit, InvalidNode, NotSupported, OpcheckError, UsageError
from opcheck.execution import expected, saving, severity, workers
from opcheck.graph import model_of
from opcheck.graph.folders import DATA_SET, MODEL, folder_name, node_test_name, tensor_bytes
from opcheck.graph.test_data import DATA
from opcheck.grouping import not_none
from opcheck.model import EXACT, Array, Case, Question, Task, Tensors, Tolerance
from opcheck.suite import golden_files as gm
from opcheck.suite.select import HUGE

#: Packages that the values of golden files may depend on.
_PACKAGES = ("ml_dtypes", "mpmath", "numpy", "onnx")
#: The folder of a test: its answer must, should or may be given, or its model is to be refused.
AnswerKind: TypeAlias = Literal["must", "should", "open", "rejected"]
#: Why there is no test of a node of which no text defines some elements.
_UNDEFINED = "some of its elements may be anything, and a stored tensor states each"
#: Why there is no test of a node whose elements may be returned in another order.
_ANY_ORDER = "its outputs may come in any order, and a stored tensor has one"
#: How often rtol and atol are widened by 1 % until ONNX's runner, which rounds, accepts the ends.
_MAX_STEPS = 40
#: How many powers of two are tried as atol.
_TRIED_ATOLS = 48
#: ONNX's runner takes at least this rtol for bfloat16, whatever data.json states.
_RTOL_OF_BFLOAT16 = 2.0**-6
#: How outputs came about, in words, by the manifest's name for it.
METHOD_TEXTS: dict[gm.ManifestMethod, str] = {
    "exact": "nothing had to be rounded",
    "bounded": "correctly rounded: the proven error bound leaves one number for each value",
    "mpmath": "correctly rounded from as many digits as it takes",
    "stated": "as the case states it: the text leaves it open, or opcheck lacks the operator",
}
#: The outputs of a node, and how they came about.
NodeOutputs: TypeAlias = tuple[tuple[Array, ...], gm.ManifestMethod]


class UnsoundArithmetic(OpcheckError):
    """The arithmetic of this process is not that of IEEE 754: no right answer can be computed."""

    exit_code = Exit.UNUSABLE


def outputs(task: Task, inputs: Tensors) -> NodeOutputs | None:
    """Return a node's outputs, correctly rounded, and the method; None if the engine has none.

    It has none for an operator that it lacks, for random outputs, and where the text is open. NaNs
    are positive and quiet, as their bits depend on the processor.

    Raises:
        InvalidNode: The node is not legal.
        UnsoundArithmetic: This machine's arithmetic cannot be relied on.
        ValueError: A rounding stays uncertain.
        MemoryError: The outputs do not fit into memory.
    """
    if engine.operator_of(task.op) is None:
        return None
    require_sound_arithmetic()
    try:
        arrays, method = correctly_rounded(expected.node_of(task, inputs))
    except NotSupported:
        return None
    return tuple(map(_with_plain_nans, arrays)), method


def _with_plain_nans(array: Array) -> Array:
    """Return a copy of `array` with NaNs that are positive and quiet, for one set of bits.

    An array that is not floating, or is of a type that opcheck does not know, is returned as it is.
    """
    dtype = dtypes.of(array)
    if dtype is None or dtype.kind != "float":
        return array
    return np.where(np.isnan(array), np.asarray(np.nan, array.dtype), array)


def require_sound_arithmetic() -> None:
    """Raise UnsoundArithmetic where float64 sums are not rounded as IEEE 754 has it.

    A library may have changed rounding, or flush subnormal numbers to 0.
    """
    # Arrays, because Python computes with constants when it compiles them.
    unit = np.array([1.0])
    half_step = np.array([2.0**-53])
    smallest_subnormal = np.array([2.0**-1074])
    ties_go_to_even = unit + half_step == 1 and -unit - half_step == -1
    rounds_up = unit + 1.5 * half_step > 1
    keeps_subnormals = smallest_subnormal * unit > 0
    if not (ties_go_to_even and rounds_up and keeps_subnormals):
        message = "floating-point numbers are not rounded to nearest here, or lose their subnormals"
        hint = "something in this process changed the processor's floating-point mode"
        raise UnsoundArithmetic(message, hint)


@dataclass(frozen=True, eq=False)
class Ends:
    """The lowest and the highest right values around those that are `written`; of the same shape.

    The three are one array if nothing but the written values is right.
    """

    written: Array
    lowest: Array
    highest: Array
    #: The absolute error that is right whatever the case's tolerance.
    floor: float = 0.0


def ends(want: Want, written: Array, tolerance: Tolerance | None) -> Ends:
    """Return the lowest and highest right values around `written`, those in the output's dtype.

    The tolerance decides, or if that is None the bound of `want`. Without both, only the written
    values are right, as they are under a tolerance in ULP if the dtype has none. Of a tolerance,
    the ends have its ULP and, unless it is strict, the floor of `want`, an error that is right
    anyway; an rtol and an atol are not in them. Elements that are infinite or NaN are their own
    ends. Raises what the operator's formula raises where its bound is computed for the first time.
    """
    if tolerance is None and want.bound is not None:
        with np.errstate(over="ignore", invalid="ignore"):
            return Ends(written, *ends_of_bound(want, written))
    stated = tolerance or EXACT
    dtype = dtypes.of(written)
    # Integers and texts next to floats have no ULP, and are exact.
    has_ulp = dtype is not None and dtype.kind == "float"
    ulp = stated.ulp if has_ulp and stated.ulp else 0
    floor = 0.0 if stated.strict else want.floor
    # Neither exact outputs nor rtol and atol need arrays of ends.
    if not ulp and not floor:
        return Ends(written, written, written)
    finite = np.isfinite(written)
    lowest = np.where(finite, stepped(written, -ulp), written)
    highest = np.where(finite, stepped(written, ulp), written)
    if floor:
        below = np.where(finite, wide(written) - floor, written)
        above = np.where(finite, wide(written) + floor, written)
        lowest = np.minimum(lowest, below.astype(written.dtype))
        highest = np.maximum(highest, above.astype(written.dtype))
    return Ends(written, lowest, highest, floor)


def as_rtol_and_atol(outputs: Sequence[Ends]) -> tuple[float, float]:
    """Return the tightest rtol and atol that admit all finite values, by ONNX's comparison.

    Both are 0 if nothing but the written values is right. They are widened by 1 % until ONNX's
    runner, which rounds, accepts the ends of every output; after 40 steps in vain, atol is 1.1
    times the largest error.
    """
    errors = [np.empty(0)]
    sizes = [np.empty(0)]
    for output in outputs:
        if output.lowest is not output.written:
            error, size = _allowed_errors(output)
            errors.append(error)
            sizes.append(size)
    error = np.concatenate(errors)
    if not error.size:
        return 0.0, 0.0
    rtol, atol = _tightest(error, np.concatenate(sizes))
    # The runner computes in the dtype itself, which rounds, and where small numbers vanish.
    for _ in range(_MAX_STEPS):
        if all(_admits(output, rtol, atol) for output in outputs):
            return rtol, atol
        rtol = _upwards(rtol * 1.01)
        atol = _upwards(atol * 1.01)
    return rtol, _upwards(1.1 * float(error.max()))


def _allowed_errors(output: Ends) -> tuple[Array, Array]:
    """Return the larger allowed error of each element that has one, and the element's size.

    Both are float64, of rank 1 and one length. Elements without an error, or with an infinite one,
    are left out.
    """
    lowest = wide(output.lowest)
    written = wide(output.written)
    highest = wide(output.highest)
    with np.errstate(invalid="ignore"):
        error = np.maximum(np.abs(highest - written), np.abs(written - lowest))
    has_error = np.isfinite(error) & (error > 0)
    return error[has_error], np.abs(written[has_error])


def _tightest(error: Array, size: Array) -> tuple[float, float]:
    """Return the rtol and atol that admit each `error` of an element of this `size`.

    Both arguments are of rank 1, with one element for each allowed error, above 0; there is at
    least one. Of several values of atol, 0 and powers of two, each has its smallest rtol. The pair
    is chosen that allows the least more than it must, by the mean logarithm of what it allows.
    """
    exponents = np.frexp(error)[1]
    first = int(exponents.min()) - 1
    last = int(exponents.max())
    tried = np.unique(np.linspace(first, last, _TRIED_ATOLS).astype(int))
    best = (np.inf, 0.0, 0.0)
    for atol in map(_upwards, [0.0, *np.ldexp(1.0, tried)]):
        beyond = np.maximum(error - atol, 0.0)
        if (beyond[size == 0] > 0).any():
            continue
        ratios = np.divide(beyond, size, out=np.zeros_like(error), where=size > 0)
        rtol = _upwards(float(ratios.max(initial=0.0)))
        with np.errstate(over="ignore"):
            looseness = float(np.mean(np.log2((atol + rtol * size) / error)))
        best = min(best, (looseness, rtol, atol))
    return best[1:]


def _admits(output: Ends, rtol: float, atol: float) -> bool:
    """Return True if numpy.testing.assert_allclose accepts both ends, as ONNX's runner calls it.

    An end that is infinite or NaN is accepted. bfloat16 is compared in float32, with an rtol of 2⁻⁶
    at least, as the runner does.
    """
    if output.lowest is output.written:
        return True
    lowest = output.lowest
    written = output.written
    highest = output.highest
    if dtypes.of(written) is dtypes.DTYPES["bfloat16"]:
        lowest = lowest.astype(np.float32)
        written = written.astype(np.float32)
        highest = highest.astype(np.float32)
        rtol = max(rtol, _RTOL_OF_BFLOAT16)
    with np.errstate(all="ignore"):
        is_close = np.isclose(lowest, written, rtol, atol, equal_nan=True)
        is_close &= np.isclose(highest, written, rtol, atol, equal_nan=True)
    is_infinite = ~np.isfinite(wide(lowest)) | ~np.isfinite(wide(highest))
    return bool(np.all(is_close | is_infinite))


def _upwards(number: float) -> float:
    """Return a number that is not negative, rounded up to three digits; infinity and NaN stay."""
    if number == 0 or not np.isfinite(number):
        return number
    nearest = float(f"{number:.2e}")
    return nearest if nearest >= number else float(f"{number * 1.005:.2e}")


@dataclass(frozen=True, eq=False)
class Test:
    """A model with its inputs and right outputs; without outputs if it is to be refused."""

    name: str
    kind: AnswerKind
    task: Task
    tolerance: Tolerance | None
    #: True if the tolerance differs from element to element.
    bound: bool
    inputs: tuple[Array, ...]
    outputs: tuple[Ends, ...]
    method: gm.ManifestMethod | None
    #: Name of one of the answers of an undecided text.
    alternative: str = ""
    legal_twin: bool = False
    #: Why the model is to be refused, "" if it has answers.
    reason: str = ""


class CaseTests(NamedTuple):
    """The tests of a case, and the parts left out."""

    tests: tuple[Test, ...]
    left_out: tuple[gm.LeftOut, ...] = ()


def golden_tests(case: Case) -> CaseTests:
    """Return the tests of `case`, or the reason why it is left out.

    A case is left out if it contradicts itself or the engine, or does not fit into memory, which
    are its own faults; if the engine cannot compute it, if backends or chance decide the answer, if
    outputs may come in any order, and at level huge. Raises UnsoundArithmetic if this machine's
    arithmetic cannot be relied on, UsageError if a file of a model's weights has changed, and what
    the operator's formula raises for a bound, such as NotSupported beyond a budget.
    """
    if case.level == HUGE:
        return _left_out(case, "level huge: its data are never held as a whole")
    try:
        return _golden_tests(case)
    except expected.Unsupported as error:
        return _left_out(case, str(error))
    except (ValueError, MemoryError) as error:
        return _left_out(case, str(error) or "it takes too much memory", wrong=True)
    except InvalidNode as error:
        message = f"the case takes this model for legal, the oracle does not: {error}"
        return _left_out(case, message, wrong=True)


def _left_out(case: Case, reason: str, *, wrong: bool = False) -> CaseTests:
    """Return no tests, and why the case is left out; `wrong` if the case is to blame."""
    return CaseTests((), (gm.LeftOut(case.id, "the case", reason, wrong=wrong),))


def _golden_tests(case: Case) -> CaseTests:
    """Return the tests of `case`, or why it is left out.

    A case with one answer has one test, another one for each answer; an invalid model, and one that
    may be refused, one more of its legal twin, the model made valid. Raises the exceptions that
    `golden_tests` handles: Unsupported if the engine has no answer, WrongCase and ValueError if the
    case is wrong or its data cannot be made, InvalidNode if the engine refuses the node,
    MemoryError. Raises UnsoundArithmetic if this machine's arithmetic cannot be relied on, and what
    the operator's formula raises for a bound, such as NotSupported beyond a budget.
    """
    question = expected.question(case)
    if isinstance(case.expect, model.Rejected):
        return _rejected(case, question, case.expect.reason)
    if isinstance(case.expect, model.Oracle | model.Agreement):
        reason = "what must come out is what backends answer, which nobody vouches for"
        return _left_out(case, reason)
    if engine.any_order(case.op, case.attrs) is not None:
        return _left_out(case, _ANY_ORDER)
    if question.random:
        return _left_out(case, "its outputs are drawn at random")
    if isinstance(case.expect, model.AnyOf):
        return _with_legal_twin(case, question, _alternatives(case, question))
    if isinstance(case.expect, model.Computed):
        readings = _readings(question)
        if len(readings) > 1:
            return CaseTests(tuple(_of_readings(case, question, readings)))
    (answer,) = expected.accepted_answers(case, question)
    computed = outputs(question.task, question.inputs)
    if computed is not None and not isinstance(case.expect, model.Computed):
        arrays, _ = computed
        expected.check_agreement(compare_outputs(answer.wants, arrays, case.tolerance))
    test = _test(case, question, answer.wants, computed)
    return CaseTests((replace(test, kind=_kind(case, question)),))


def _test(
    case: Case,
    question: Question,
    wants: Sequence[Want] = (),
    computed: NodeOutputs | None = None,
) -> Test:
    """Return a `must` test with `computed` outputs, or if these are None those of the case.

    `wants` is what is expected of each output, with the allowed errors; without any the test has no
    outputs, as the model is to be refused. Raises what a formula raises for a bound.
    """
    if computed is None:
        arrays: tuple[Array, ...] = tuple(map(in_its_dtype, wants))
        method: gm.ManifestMethod = "stated"
    else:
        arrays, method = computed
    around = tuple(
        ends(want, array, case.tolerance) for want, array in zip(wants, arrays, strict=True)
    )
    has_bound = case.tolerance is None and any(it.lowest is not it.written for it in around)
    task = question.task
    if around:
        # The ranks of this answer: others that are right may have other ones.
        with_ranks = tuple(
            replace(output, rank=it.written.ndim)
            for output, it in zip(task.outputs, around, strict=True)
        )
        task = replace(task, outputs=with_ranks)
    return Test(
        name=task.case,
        kind="must",
        task=task,
        tolerance=case.tolerance,
        bound=has_bound,
        inputs=question.inputs,
        outputs=around,
        method=method if wants else None,
    )


def _kind(case: Case, question: Question) -> AnswerKind:
    """Return the folder, by the case's rule, of an answer that is the only right one.

    The engine knows the rule of a case that states none.
    """
    if case.rule == "should" or severity.is_only_suggested(case, question):
        return "should"
    return "must"


def _rejected(case: Case, question: Question, reason: str) -> CaseTests:
    """Return the test of an invalid model, and that of its legal twin, the same model made valid.

    Raises WrongCase if the engine accepts the model, or the case contradicts itself; Unsupported if
    it has no answer to the twin; ValueError if it accepts the model and a rounding stays uncertain;
    MemoryError if outputs do not fit into memory; UnsoundArithmetic if this machine's arithmetic
    cannot be relied on.
    """
    expected.accepted_answers(case, question)
    with suppress(InvalidNode):
        if outputs(question.task, question.inputs) is not None:
            raise expected.WrongCase("the case takes this model for invalid, the oracle accepts it")
    refused = replace(_test(case, question), kind="rejected", reason=reason)
    return _with_legal_twin(case, question, [refused])


def _with_legal_twin(case: Case, question: Question, tests: Iterable[Test]) -> CaseTests:
    """Return `tests`, and that of the legal twin if a backend must or may refuse the model.

    A twin without a test is left out, with the reason; it is to blame only if the engine refuses
    it. Raises UnsoundArithmetic if this machine's arithmetic cannot be relied on, what `tests`
    raise, and what a formula raises for a bound.
    """
    without_twin = tuple(tests)
    refused = case.expect.rejection
    legal = refused.legal if refused else None
    if legal is None:
        return CaseTests(without_twin)
    try:
        twin = _test_of_twin(legal, not_none(question.twin))
    except (ValueError, InvalidNode, MemoryError) as error:
        is_wrong = isinstance(error, InvalidNode)
        left_out = gm.LeftOut(case.id, gm.LEGAL_TWIN, str(error), is_wrong)
        return CaseTests(without_twin, (left_out,))
    return CaseTests((*without_twin, replace(twin, kind=_kind(case, question), legal_twin=True)))


def _test_of_twin(legal: Case, twin: Question) -> Test:
    """Return the test of a legal twin.

    Raises ValueError if opcheck lacks the operator, if the outputs may come in any order, or if the
    twin is wrong itself; InvalidNode if it is not legal; MemoryError if its outputs do not fit into
    memory; UnsoundArithmetic if this machine's arithmetic cannot be relied on; and what a formula
    raises for a bound.
    """
    computed = outputs(twin.task, twin.inputs)
    if computed is None:
        raise ValueError("opcheck lacks the operator")
    wants = expected.computed(legal, twin, twin.inputs)
    test = _test(legal, twin, wants, computed)
    if engine.any_order(legal.op, legal.attrs) is not None:
        raise ValueError(_ANY_ORDER)
    return test


def _alternatives(case: Case, question: Question) -> Iterator[Test]:
    """Yield a test for each answer that an undecided text admits, as its author stated it.

    A refusal gives a test without outputs, and a computed answer is correctly rounded; if the
    engine has several, by its readings of the text, each gives a test. Raises WrongCase if the
    engine contradicts an answer, Unsupported if it cannot compute one, ValueError if a rounding
    stays uncertain, MemoryError if an answer does not fit into memory, UnsoundArithmetic if this
    machine's arithmetic cannot be relied on, and NotSupported where the bound of a stated answer
    takes more than opcheck computes.
    """
    assert isinstance(case.expect, model.AnyOf)
    by_name = {answer.name: answer for answer in expected.accepted_answers(case, question)}
    for alternative in case.expect.alternatives:
        is_computed = isinstance(alternative.expect, model.Computed)
        readings = _readings(question) if is_computed else ()
        if len(readings) > 1:
            yield from _of_readings(case, question, readings, alternative.name)
            continue
        answer = by_name[alternative.name]
        if isinstance(answer, verdict.Refusal):
            test = replace(_test(case, question), reason=answer.reason)
        else:
            computed = outputs(question.task, question.inputs) if is_computed else None
            test = _test(case, question, answer.wants, computed)
        yield _as_alternative(test, case, alternative.name)


def _as_alternative(test: Test, case: Case, name: str) -> Test:
    """Return the test as one of several of a case, in the folder `open`, by its answer's name."""
    return replace(test, name=f"{case.id}~{name}", kind="open", alternative=name)


def _readings(question: Question) -> tuple[Reading[Outputs], ...]:
    """Return the engine's answers, one for each way to read what the text leaves open.

    Empty if the engine has no answer or refuses the node. Raises Unsupported if no text defines
    some elements, MemoryError if the answers do not fit into memory.
    """
    try:
        found = expected.readings_of(question)
    except (NotSupported, InvalidNode):
        return ()  # what follows reports it
    if any(reading.undefined for reading in found):
        raise expected.Unsupported(_UNDEFINED)
    return found


def _of_readings(
    case: Case, question: Question, readings: Sequence[Reading[Outputs]], alternative: str = ""
) -> Iterator[Test]:
    """Yield a test for each different answer of the engine, named by the readings that it follows.

    The name of the case's `alternative` goes before, "" without alternatives. A reading is a way to
    understand what the text leaves open. One by which the node is invalid gives a test that expects
    a refusal; one whose outputs are not decided gives none, nor does one with the outputs of an
    earlier one. Raises ValueError if a rounding stays uncertain, UnsoundArithmetic if this
    machine's arithmetic cannot be relied on.
    """
    written: list[tuple[Array, ...]] = []
    for reading in readings:
        if isinstance(reading.answer, InvalidNode):
            test = replace(_test(case, question), reason=str(reading.answer))
        else:
            with following(Reader(reading.chosen)):
                computed = outputs(question.task, question.inputs)
            if computed is None:
                continue
            arrays, _ = computed
            if any(same_answers(arrays, other) for other in written):
                continue
            written.append(arrays)
            wants = expected.wants_of_outputs(case, reading.answer)
            test = _test(case, question, wants, computed)
        names = filter(None, (alternative, *reading.chosen.values()))
        yield _as_alternative(test, case, ", ".join(names))


#: How tests are named: by percent-encoded ids of cases, or as ONNX names its node tests.
Names: TypeAlias = Literal["opcheck", "onnx"]
#: The name of a test's folder behind `test_`, by the case's id, `~` and the name of an answer.
_NAMED: dict[Names, Callable[[str], str]] = {"opcheck": folder_name, "onnx": node_test_name}


def files_of(test: Test, names: Names = "opcheck") -> tuple[gm.TestFields, dict[str, bytes]]:
    """Return the manifest's entry for `test`, and its files by path in the test's folder.

    The files are the model, its tensors, and, unless it is to be refused, a `data.json` with rtol
    and atol. Raises NotSupported if ONNX cannot state the model, or DirectML's page leaves open
    how; ValueError if no file can hold a tensor.
    """
    floor = max((output.floor for output in test.outputs), default=0.0)
    rtol, atol = _rtol_and_atol(test, floor)
    files = {MODEL: model_of(test.task).SerializeToString(deterministic=True)}
    if not test.reason:
        files[DATA] = f"{json.dumps({'atol': atol, 'rtol': rtol})}\n".encode()
    for stem, name, array in _tensors(test):
        files[f"{DATA_SET}/{stem}.pb"] = tensor_bytes(array, name)
    stated = test.tolerance or EXACT
    tolerance = gm.StatedTolerance(
        ulp=stated.ulp,
        rtol=stated.rtol,
        atol=stated.atol,
        signed_zeros=stated.signed_zeros,
        floor=floor,
    )
    fields = gm.TestFields(
        folder=f"{test.kind}/test_{_NAMED[names](test.name)}",
        alternative=test.alternative,
        legal_twin=test.legal_twin,
        method=test.method,
        refused=test.reason,
        tolerance="bound" if test.bound else tolerance,
        rtol=rtol,
        atol=atol,
        files={name: sha256(data).hexdigest() for name, data in sorted(files.items())},
    )
    return fields, files


def _rtol_and_atol(test: Test, floor: float) -> tuple[float, float]:
    """Return the rtol and atol of a test, for ONNX's runner.

    Those that the case states, with an atol of `floor` at least, the error that is always right.
    Else, for a bound or a tolerance in ULP, the tightest that admit it; both are 0 if only the
    written values are right.
    """
    stated = test.tolerance
    if stated is None or stated.ulp is not None:
        return as_rtol_and_atol(test.outputs)
    return stated.rtol, max(stated.atol, floor)


def _tensors(test: Test) -> Iterator[tuple[str, str, Array]]:
    """Yield the stem of each tensor's file, the tensor's name, and its values.

    Inputs come first, then outputs, each with its lowest and highest values if the test has a
    bound.
    """
    for number, (spec, array) in enumerate(zip(test.task.inputs, test.inputs, strict=True)):
        yield f"input_{number}", spec.name, array
    for number, output in enumerate(test.outputs):
        name = test.task.outputs[number].name
        yield f"output_{number}", name, output.written
        if test.bound:
            yield f"lowest_{number}", name, output.lowest
            yield f"highest_{number}", name, output.highest


def write(
    folder: Path,
    cases: Sequence[Case],
    selection: str,
    processes: int = 1,
    *,
    force: bool = False,
    names: Names = "opcheck",
    counted: workers.Counted[tuple[gm.ManifestCase, tuple[gm.LeftOut, ...]]] = iter,
) -> gm.Manifest:
    """Write `cases` to `folder`, whole or not at all; return the manifest of what was written.

    Nothing is written if no case has a test.

    Args:
        folder: A new or empty folder, or one of golden files that `force` lets it replace.
        cases: The cases, none twice.
        selection: How they were selected, in words.
        processes: The number of processes that compute them.
        force: Replace earlier golden files there.
        names: How the tests are named.
        counted: Passes the results on and shows the progress.

    Raises:
        UsageError: `folder` holds anything that must not be replaced, two tests have one name, or a
            file of a model's weights has changed.
        Unwritable: A file cannot be written.
        UnsoundArithmetic: This machine's arithmetic cannot be relied on.
        NotSupported: The bound of a stated answer takes more than opcheck computes.
        ProcessDied: One of the processes was killed.
        KeyboardInterrupt: The user interrupts it while other processes work.
    """
    check_place(folder, force=force)
    with saving.staged(folder) as (stage, put):
        # Closed before the stage is removed: other processes may be writing there.
        with closing(
            workers.in_parallel(partial(_write, stage, names), cases, processes)
        ) as results:
            written = {case.id: (case, left_out) for case, left_out in counted(results)}
        in_order = [written[case.id] for case in cases]
        written_cases = tuple(case for case, _ in in_order if case.tests)
        _check_names(written_cases)
        used = {test.method for case in written_cases for test in case.tests}
        manifest = gm.Manifest(
            type="opcheck golden files",
            format=5,
            opcheck=__version__,
            packages={name: metadata.version(name) for name in _PACKAGES},
            selection=selection,
            methods={method: text for method, text in METHOD_TEXTS.items() if method in used},
            cases=written_cases,
            left_out=tuple(part for _, left_out in in_order for part in left_out),
        )
        if manifest.cases:
            data = manifest.data()
            (stage / gm.MANIFEST).write_bytes(data)
            (stage / gm.SUMS).write_bytes(gm.sums(manifest, sha256(data).hexdigest()))
            put()
    return manifest


def _check_names(cases: Iterable[gm.ManifestCase]) -> None:
    """Raise UsageError if the tests of two cases have one name, as ONNX's form may have it.

    Names that differ in letters' case only are one: some file systems take them for that.
    """
    owners: dict[str, str] = {}
    for case in cases:
        for test in case.tests:
            owner = owners.setdefault(test.folder.casefold(), case.id)
            if owner != case.id:
                message = f"two cases have the name {test.folder}: {owner} and {case.id}"
                raise UsageError(message, "select one of them, or leave out --names onnx")


def check_place(folder: Path, *, force: bool) -> None:
    """Raise UsageError if something is at `folder` that must not be replaced.

    Without `force` that is anything but an empty folder; with it, anything but golden files that
    opcheck wrote, which the manifest there names.
    """
    if saving.is_free(folder):
        return
    if not force:
        hint = "--force replaces golden files that opcheck wrote, and nothing else"
        raise UsageError(f"-o {folder}: this folder is not empty", hint)
    try:
        manifest, _ = gm.read_manifest(folder)
    except gm.NotReadable as error:
        message = f"{folder}/{gm.MANIFEST} {error}: nobody can tell what opcheck wrote there"
        hint = "nothing is removed: choose a new folder, or remove this one"
        raise UsageError(message, hint) from None
    known = {gm.MANIFEST, gm.SUMS, *(path for path, _ in manifest.files)}
    saving.check_foreign(folder, known.__contains__)


def _write(stage: Path, names: Names, case: Case) -> tuple[gm.ManifestCase, tuple[gm.LeftOut, ...]]:
    """Write the tests of a case below `stage`; return what was written, and what is left out.

    A test that no file can hold, or that no ONNX model states, is left out. Raises OSError if a
    file cannot be written, UnsoundArithmetic if this machine's arithmetic cannot be relied on, and
    what the operator's formula raises for a bound, such as NotSupported beyond a budget.
    """
    case_tests = golden_tests(case)
    written: list[gm.TestFields] = []
    left_out = list(case_tests.left_out)
    for test in case_tests.tests:
        try:
            fields, files = files_of(test, names)
        except (NotSupported, ValueError) as error:
            part = gm.LEGAL_TWIN if test.legal_twin else "the case"
            is_wrong = isinstance(error, ValueError)
            left_out.append(gm.LeftOut(case.id, part, str(error), is_wrong))
            continue
        for name, data in files.items():
            path = stage / fields.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        written.append(fields)
    rule = case.rule
    if any(test.alternative for test in written):
        rule = "open"
    elif any(test.kind == "should" for test in case_tests.tests):
        rule = "should"
    stored = gm.ManifestCase(
        id=case.id,
        rule=rule,
        level=case.level,
        clause=case.clause,
        digest=suite.case_digest(case),
        tests=tuple(written),
    )
    return stored, tuple(left_out)
