"""Golden files: cases with their right answers, in the layout of ONNX's test data.

Each test is a question with its right answers: outputs correctly rounded, with the allowed errors.
Folders are written next to their place, and moved there when complete; names and bytes of all files
are the same on every machine. docs/golden-files.md describes them. None is called `node`: for that,
ONNX's loader would load the tests of its own package.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from importlib import metadata
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from opcheck import __version__, dtypes, engine, model, suite
from opcheck.backends.execute import same_answers
from opcheck.compare import Want, compare_outputs, verdict
from opcheck.compare.bounded import ends as ends_of_bound
from opcheck.compare.elements import stepped, wide
from opcheck.compare.outputs import in_its_dtype
from opcheck.engine import evaluate as engine_evaluate, operators
from opcheck.engine.outputs import Outputs
from opcheck.engine.readings import Reader, Reading, following
from opcheck.engine.rounding import correctly_rounded
from opcheck.errors import Exit, InvalidNode, NotExpressible, NotSupported, OpcheckError, UsageError
from opcheck.execution import expected, saving, workers
from opcheck.graph import model_of
from opcheck.graph.folders import DATA_SET, MODEL, folder_name, tensor_bytes
from opcheck.graph.test_data import DATA
from opcheck.grouping import picked, sure
from opcheck.model import EXACT, Array, Case, Question, Task, Tensors, Tolerance
from opcheck.suite import golden_files as gm

AnswerKind: TypeAlias = Literal["must", "should", "open", "rejected"]
#: Why there is none of a node whose elements may be returned in another order.
_ANY_ORDER = "its outputs may come in any order, and a stored tensor has one"
METHOD_TEXTS: dict[gm.ManifestMethod, str] = {
    "exact": "nothing had to be rounded",
    "bounded": "correctly rounded: the proven error bound leaves one number for each value",
    "mpmath": "correctly rounded from as many digits as it takes",
    "stated": "as the case states it: the text leaves it open, or opcheck lacks the operator",
}
#: The outputs of a node, and how they came about.
NodeOutputs: TypeAlias = tuple[tuple[Array, ...], gm.ManifestMethod]


class UnsoundArithmetic(OpcheckError):
    """The arithmetic of this process is not that of IEEE 754."""

    exit_code = Exit.UNUSABLE


def outputs(task: Task, inputs: Tensors) -> NodeOutputs | None:
    """The outputs, correctly rounded; None if the engine lacks the operator.

    Raises InvalidNode, UnsoundArithmetic, and ValueError for uncertain rounding.
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
    """`array` with NaNs that are positive and quiet: their bits depend on the processor."""
    is_float = (known := dtypes.of(array)) and known.kind == "float"
    return np.where(np.isnan(array), np.asarray(np.nan, array.dtype), array) if is_float else array


def require_sound_arithmetic() -> None:
    """Raise UnsoundArithmetic where a library changed rounding, or flushes subnormal numbers."""
    one, half_step, least = np.array([1.0]), np.array([2.0**-53]), np.array([2.0**-1074])
    to_nearest = one + half_step == 1 and -one - half_step == -1 and one + 1.5 * half_step > 1
    if not (to_nearest and least * one > 0):
        said = "floating-point numbers are not rounded to nearest here, or lose their subnormals"
        hint = "something in this process changed the processor's floating-point mode"
        raise UnsoundArithmetic(said, hint)


@dataclass(frozen=True, eq=False)
class Ends:
    """The lowest and the highest right values around those that are `written`."""

    written: Array
    lowest: Array
    highest: Array
    #: The absolute error that is right whatever the case's tolerance.
    floor: float = 0.0


def ends(want: Want, written: Array, tolerance: Tolerance | None) -> Ends:
    """Return the error allowed around `written`: by the tolerance, else by the bound of `want`."""
    if tolerance is None and want.bound is not None:
        with np.errstate(over="ignore", invalid="ignore"):
            return Ends(written, *ends_of_bound(want, written))
    stated = tolerance or EXACT
    ulp, floor = stated.ulp or 0, 0.0 if stated.strict else want.floor
    # Neither exact outputs nor rtol and atol need arrays of ends.
    if not ulp and not floor:
        return Ends(written, written, written)
    finite = np.isfinite(written)
    lowest, highest = (np.where(finite, stepped(written, by), written) for by in (-ulp, ulp))
    if floor:
        off = [np.where(finite, wide(written) + by, written) for by in (-floor, floor)]
        lowest = np.minimum(lowest, off[0].astype(written.dtype))
        highest = np.maximum(highest, off[1].astype(written.dtype))
    return Ends(written, lowest, highest, floor)


def as_rtol_and_atol(found: Sequence[Ends]) -> tuple[float, float]:
    """The tightest rtol and atol that admit, by ONNX's comparison, all finite values in `found`."""
    needs, sizes = [np.empty(0)], [np.empty(0)]
    for one in (one for one in found if one.lowest is not one.written):
        low, at, high = (wide(array) for array in (one.lowest, one.written, one.highest))
        with np.errstate(invalid="ignore"):
            need = np.maximum(np.abs(high - at), np.abs(at - low))
        part = np.isfinite(need) & (need > 0)
        needs.append(need[part])
        sizes.append(np.abs(at[part]))
    need, size = np.concatenate(needs), np.concatenate(sizes)
    if not need.size:
        return 0.0, 0.0
    rtol, atol = _tightest(need, size)
    # The runner computes in the dtype itself, which rounds, and where small numbers vanish.
    for _ in range(40):
        if all(_admits(one, rtol, atol) for one in found):
            return rtol, atol
        rtol, atol = _upwards(rtol * 1.01), _upwards(atol * 1.01)
    return rtol, _upwards(1.1 * float(need.max()))


def _tightest(need: Any, size: Any) -> tuple[float, float]:
    exponents = np.frexp(need)[1]
    least, most = int(exponents.min()) - 1, int(exponents.max())
    tried = [0.0, *np.ldexp(1.0, np.unique(np.linspace(least, most, 48).astype(int)))]
    best = (np.inf, 0.0, 0.0)
    for atol in map(_upwards, tried):
        beyond = np.maximum(need - atol, 0.0)
        if (beyond[size == 0] > 0).any():
            continue
        share = np.divide(beyond, size, out=np.zeros_like(need), where=size > 0)
        rtol = _upwards(float(share.max(initial=0.0)))
        with np.errstate(over="ignore"):
            looseness = float(np.mean(np.log2((atol + rtol * size) / need)))
        best = min(best, (looseness, rtol, atol))
    return best[1:]


def _admits(one: Ends, rtol: float, atol: float) -> bool:
    """Return True if numpy.testing.assert_allclose accepts both ends, as ONNX's runner calls it."""
    if one.lowest is one.written:
        return True
    arrays = [one.lowest, one.written, one.highest]
    if dtypes.of(one.written) is dtypes.DTYPES["bfloat16"]:
        arrays = [array.astype(np.float32) for array in arrays]
        rtol = max(rtol, 2.0**-6)  # as ONNX's runner does, whatever data.json states
    low, at, high = arrays
    with np.errstate(all="ignore"):
        close = np.isclose(low, at, rtol, atol, equal_nan=True)
        close &= np.isclose(high, at, rtol, atol, equal_nan=True)
    return bool(np.all(close | ~np.isfinite(wide(low)) | ~np.isfinite(wide(high))))


def _upwards(number: float) -> float:
    """`number` with three digits, rounded up."""
    if number == 0 or not np.isfinite(number):
        return number
    spelt = float(f"{number:.2e}")
    return spelt if spelt >= number else float(f"{number * 1.005:.2e}")


@dataclass(frozen=True, eq=False)
class Test:
    """A model with its inputs, and right outputs; none if it is to be refused."""

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


class Made(NamedTuple):
    """The tests of a case, and the parts left out."""

    tests: tuple[Test, ...]
    left_out: tuple[gm.LeftOut, ...] = ()


def made_of(case: Case) -> Made:
    """The tests of `case`; one that contradicts itself or the oracle is left out as `wrong`."""

    def left_out(reason: str, *, wrong: bool = False) -> Made:
        return Made((), (gm.LeftOut(case.id, "the case", reason, wrong=wrong),))

    try:
        asked = expected.question(case)
        match case.expect:
            case model.Rejected(reason):
                return _rejected(case, asked, reason)
            case model.Oracle() | model.Agreement():
                reason = "what must come out is what backends answer, which nobody vouches for"
                return left_out(reason)
            case _ if engine.any_order(case.op, case.attrs) is not None:
                return left_out(_ANY_ORDER)
            case _ if asked.random:
                return left_out("its outputs are drawn at random")
            case model.AnyOf():
                return _with_legal_twin(case, asked, _alternatives(case, asked))
            case model.Computed() if len(readings := _readings(asked)) > 1:
                return Made(tuple(_of_readings(case, asked, readings)))
            case expect:
                (answer,) = expected.accepted_answers(case, asked)
                wants, found = answer.wants, outputs(asked.task, asked.inputs)
                if found is not None and not isinstance(expect, model.Computed):
                    expected.check_agreement(compare_outputs(wants, found[0], case.tolerance))
                return Made((_test(case, asked, wants, found),))
    except expected.Unsupported as error:
        return left_out(str(error))
    except (ValueError, MemoryError) as error:
        return left_out(str(error) or "it takes too much memory", wrong=True)
    except InvalidNode as error:
        message = f"the case takes this model for legal, the oracle does not: {error}"
        return left_out(message, wrong=True)


def _test(
    case: Case, asked: Question, wants: Sequence[Want] = (), found: NodeOutputs | None = None
) -> Test:
    """A test with the outputs `found`, or else those that the case states; none without `wants`."""
    task, (arrays, method) = asked.task, found or (tuple(map(in_its_dtype, wants)), "stated")
    pairs, tolerance = zip(wants, arrays, strict=True), case.tolerance
    around = tuple(ends(want, array, tolerance) for want, array in pairs)
    bound = tolerance is None and any(one.lowest is not one.written for one in around)
    data = asked.inputs, around, method if wants else None
    # Other answers that are right may have other ranks.
    ranked = zip(task.outputs, around, strict=bool(around))
    ranks = tuple(replace(one, rank=end.written.ndim) for one, end in ranked)
    task = replace(task, outputs=ranks or task.outputs)
    return Test(task.case, _kind(case), task, tolerance, bound, *data)


def _kind(case: Case) -> AnswerKind:
    """Return the folder of an answer that is the only right one."""
    return "should" if case.rule == "should" else "must"


def _rejected(case: Case, asked: Question, reason: str) -> Made:
    expected.accepted_answers(case, asked)
    with suppress(InvalidNode):
        if outputs(asked.task, asked.inputs) is not None:
            raise expected.WrongCase("the case takes this model for invalid, the oracle accepts it")
    refused = replace(_test(case, asked), kind="rejected", reason=reason)
    return _with_legal_twin(case, asked, [refused])


def _with_legal_twin(case: Case, asked: Question, tests: Iterable[Test]) -> Made:
    """Return `tests` and the legal twin of a model that a backend must or may refuse."""
    found = tuple(tests)
    refused = case.expect.rejection
    legal = refused.legal if refused else None
    if legal is None:
        return Made(found)
    try:
        twin = replace(_legal_twin(asked, legal), kind=_kind(case))
        return Made((*found, twin))
    except (ValueError, InvalidNode, MemoryError) as error:
        left = gm.LeftOut(case.id, gm.LEGAL_TWIN, str(error), isinstance(error, InvalidNode))
        return Made(found, (left,))


def _legal_twin(asked: Question, legal: Case) -> Test:
    """Return the test of a legal twin; raises ValueError and InvalidNode where there is none."""
    twin = sure(asked.twin)
    found = outputs(twin.task, twin.inputs)
    if found is None:
        raise ValueError("opcheck lacks the operator")
    if engine.any_order(legal.op, legal.attrs) is not None:
        raise ValueError(_ANY_ORDER)
    test = _test(legal, twin, expected.computed(legal, twin, twin.inputs), found)
    return replace(test, legal_twin=True)


def _alternatives(case: Case, asked: Question) -> Iterator[Test]:
    """Each of the answers that an undecided text admits, as its author stated it."""
    assert isinstance(case.expect, model.AnyOf)
    pairs = zip(case.expect.alternatives, expected.accepted_answers(case, asked), strict=True)
    for alternative, admitted in pairs:
        match admitted:
            case verdict.Refusal(reason):
                test = _test(case, asked)
            case verdict.Answer(wants):
                is_computed = isinstance(alternative.expect, model.Computed)
                found = outputs(asked.task, asked.inputs) if is_computed else None
                test, reason = _test(case, asked, wants, found), ""
        name = alternative.name
        yield replace(test, name=f"{case.id}~{name}", kind="open", alternative=name, reason=reason)


def _readings(asked: Question) -> tuple[Reading[Outputs], ...]:
    """The answers that the text admits, by its readings; none where the engine has no answer."""
    try:
        with operators.judging():
            return engine_evaluate.each_answer(expected.node_of(asked.task, asked.inputs))
    except (NotSupported, InvalidNode):
        return ()  # what follows reports it


def _of_readings(
    case: Case, asked: Question, readings: Sequence[Reading[Outputs]]
) -> Iterator[Test]:
    """Yield a test for each different answer that the text admits, by the readings it follows."""
    written: list[tuple[Array, ...]] = []
    for reading in readings:
        name = ", ".join(reading.chosen.values())
        if isinstance(reading.answer, InvalidNode):
            test = _test(case, asked)
            reason = str(reading.answer)
        else:
            with following(Reader(reading.chosen)):
                found = outputs(asked.task, asked.inputs)
            if found is None or any(same_answers(found[0], other) for other in written):
                continue
            written.append(found[0])
            test = _test(case, asked, expected.wants_of_outputs(case, reading.answer), found)
            reason = ""
        yield replace(test, name=f"{case.id}~{name}", kind="open", alternative=name, reason=reason)


def written(test: Test) -> tuple[gm.TestFields, dict[str, bytes]]:
    """Return the manifest's entry for `test`, and its files by path in the test's folder.

    Raises NotExpressible where ONNX cannot state it, ValueError where no file holds a tensor.
    """
    stated, task = test.tolerance, test.task
    found = test.outputs
    floor = max((one.floor for one in found), default=0.0)
    if stated is None or stated.ulp is not None:
        rtol, atol = as_rtol_and_atol(found)
    else:
        rtol, atol = stated.rtol, max(stated.atol, floor)
    files = {MODEL: model_of(task).SerializeToString(deterministic=True)}
    if not test.reason:
        files[DATA] = f"{json.dumps({'atol': atol, 'rtol': rtol})}\n".encode()
    pairs = zip(task.inputs, test.inputs, strict=True)
    tensors = {f"input_{n}": (spec.name, array) for n, (spec, array) in enumerate(pairs)}
    for n, ends in enumerate(found):
        name = task.outputs[n].name
        tensors[f"output_{n}"] = name, ends.written
        if test.bound:
            tensors[f"lowest_{n}"] = name, ends.lowest
            tensors[f"highest_{n}"] = name, ends.highest
    for stem, (name, array) in tensors.items():
        files[f"{DATA_SET}/{stem}.pb"] = tensor_bytes(array, name)
    alike = gm.StatedTolerance(**picked(stated or EXACT, "ulp rtol atol signed_zeros"), floor=floor)
    fields = gm.TestFields(
        folder=f"{test.kind}/test_{folder_name(test.name)}",
        **picked(test, "alternative legal_twin method"),
        refused=test.reason,
        tolerance="bound" if test.bound else alike,
        rtol=rtol,
        atol=atol,
        files={name: sha256(data).hexdigest() for name, data in sorted(files.items())},
    )
    return fields, files


def write(
    folder: Path,
    cases: Sequence[Case],
    selection: str,
    processes: int = 1,
    *,
    force: bool = False,
    counted: workers.Counted[tuple[gm.ManifestCase, tuple[gm.LeftOut, ...]]] = iter,
) -> gm.Manifest:
    """Write `cases` to `folder`, whole or not at all; raises UsageError and Unwritable."""
    check_place(folder, force=force)
    with saving.staged(folder) as (stage, put):
        order = {case.id: number for number, case in enumerate(cases)}
        # Closed before the stage is removed: other processes may be writing there.
        with closing(workers.in_parallel(partial(_write, stage), cases, processes)) as found:
            done = sorted(counted(found), key=lambda one: order[one[0].id])
        written_cases = tuple(case for case, _ in done if case.tests)
        used = {test.method for case in written_cases for test in case.tests}
        manifest = gm.Manifest(
            type="opcheck golden files",
            format=5,
            opcheck=__version__,
            # Values may depend on these.
            packages={n: metadata.version(n) for n in ("ml_dtypes", "mpmath", "numpy", "onnx")},
            selection=selection,
            methods={method: text for method, text in METHOD_TEXTS.items() if method in used},
            cases=written_cases,
            left_out=tuple(one for _, left_out in done for one in left_out),
        )
        if manifest.cases:
            data = manifest.data()
            (stage / gm.MANIFEST).write_bytes(data)
            (stage / gm.SUMS).write_bytes(gm.sums(manifest, sha256(data).hexdigest()))
            put()
    return manifest


def check_place(folder: Path, *, force: bool) -> None:
    """Raise UsageError where something is at `folder` that must not be replaced."""
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


def _write(stage: Path, case: Case) -> tuple[gm.ManifestCase, tuple[gm.LeftOut, ...]]:
    made = made_of(case)
    tests: list[gm.TestFields] = []
    left = list(made.left_out)
    for test in made.tests:
        what = gm.LEGAL_TWIN if test.legal_twin else "the case"
        try:
            fields, files = written(test)
        except (NotExpressible, ValueError) as error:
            left.append(gm.LeftOut(case.id, what, str(error), isinstance(error, ValueError)))
            continue
        for name, data in files.items():
            path = stage / fields.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        tests.append(fields)
    has_alternatives = any(test.alternative for test in tests)
    stored = gm.ManifestCase(
        id=case.id,
        rule="open" if has_alternatives else case.rule,
        level=case.level,
        clause=case.clause,
        digest=suite.case_digest(case),
        tests=tuple(tests),
    )
    return stored, tuple(left)
