"""Golden folders: written next to their place, and moved there when complete; and checked.

Names and bytes of all files are the same on every machine.
"""

import io
import os
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from functools import cache, partial
from hashlib import sha256
from importlib import metadata
from itertools import chain
from math import prod
from pathlib import Path
from typing import TypeAlias

import numpy as np

import opcheck
from opcheck import dtypes, model
from opcheck.compare.outputs import stated_want
from opcheck.dtypes import DTYPES
from opcheck.errors import NotExpressible, UsageError
from opcheck.execution.golden import answers
from opcheck.execution.golden.answers import Test, as_rtol_and_atol, made_of
from opcheck.execution.saving import check_foreign, is_free, staged
from opcheck.execution.workers import Counted, in_parallel
from opcheck.graph import ModelProto, test_data
from opcheck.graph.folders import MODEL, folder_name, initializers, read_named_tensor, tensor_bytes
from opcheck.graph.test_data import DATA, data_json, model_bytes
from opcheck.grouping import group_by
from opcheck.model import EXACT, Array, Case, Task
from opcheck.opset import describe
from opcheck.reading import operators_in
from opcheck.suite import case_digest, load
from opcheck.suite import golden_files as gm
from opcheck.suite.golden_files import Finding
from opcheck.suite.load import shipped_suites

METHOD_TEXTS: dict[gm.ManifestMethod, str] = {
    "exact": "nothing had to be rounded",
    "bounded": "correctly rounded: the proven error bound leaves one number for each value",
    "mpmath": "correctly rounded from as many digits as it takes",
    "stated": "as the case states it: the text leaves it open, or opcheck lacks the operator",
}
#: The written and the omitted tests of a case.
_Done: TypeAlias = tuple[gm.ManifestCase, tuple[gm.LeftOut, ...]]


def npz_bytes(tensors: Mapping[str, Array]) -> bytes:
    """An archive of NumPy's arrays; bfloat16, which NumPy's format lacks, as float32."""
    # numpy.savez writes the name of the system into an archive.
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        for name, array in tensors.items():
            entry = zipfile.ZipInfo(f"{name}.npy")
            entry.create_system = 3
            entry.external_attr = 0o644 << 16
            file.writestr(entry, npy_bytes(array))
    return archive.getvalue()


def npy_bytes(array: Array) -> bytes:
    """An array as NumPy's format has it, little-endian; bfloat16 as float32."""
    if dtypes.of(array) is DTYPES["bfloat16"]:
        array = array.astype(np.float32)
    if array.dtype.hasobject:
        array = array.astype(np.str_)
    file = io.BytesIO()
    little = np.ascontiguousarray(array).reshape(array.shape)
    np.lib.format.write_array(file, little.astype(array.dtype.newbyteorder("<")), (1, 0), False)
    return file.getvalue()


def written(test: Test, *, npz: bool) -> tuple[gm.TestFields, dict[str, bytes]]:
    """Return the manifest's entry for `test`, and its files by path in the test's folder.

    Raises NotExpressible where ONNX cannot state it, ValueError where no file holds a tensor.
    """
    stated, task = test.tolerance, test.task
    found = [one for data in test.data_sets for one in data.outputs]
    rtol, atol = as_rtol_and_atol(found)
    floor = max((one.floor for one in found), default=0.0)
    if stated is not None and stated.ulp is None:
        rtol, atol = stated.rtol, max(stated.atol, floor)
    files = {MODEL: model_bytes(task, test.ranks)}
    if not test.reason:
        files[DATA] = data_json(rtol, atol)
    sets = []
    for number, data in enumerate(test.data_sets):
        folder = f"test_data_set_{number}"
        pairs = zip(task.inputs, data.inputs, strict=True)
        tensors = {f"input_{n}": (spec.name, array) for n, (spec, array) in enumerate(pairs)}
        for n, ends in enumerate(data.outputs):
            name = task.outputs[n].name
            tensors[f"output_{n}"] = name, ends.written
            if test.bound:
                tensors[f"lowest_{n}"] = name, ends.lowest
                tensors[f"highest_{n}"] = name, ends.highest
        for stem, (name, array) in tensors.items():
            files[f"{folder}/{stem}.pb"] = tensor_bytes(array, name)
        if npz:
            files[f"{folder}/{gm.NPZ}"] = npz_bytes({s: array for s, (_, array) in tensors.items()})
        outputs = zip(task.outputs, data.outputs, strict=bool(data.outputs))
        rows = tuple(
            gm.Tensor(name=spec.name, dtype=str(dtypes.of(one.written)), shape=one.written.shape)
            for spec, one in outputs
        )
        made = gm.DataSetFields(folder=folder, seed=data.seed, method=data.method, outputs=rows)
        sets.append(made)
    fields = gm.TestFields(
        folder=f"{test.kind}/test_{folder_name(test.name)}",
        node=gm.ManifestNode(
            domain=task.op.domain,
            op=task.op.name,
            since=task.op.since,
            opset=task.opset,
            attrs={name: gm.spelt(value) for name, value in task.attrs.items()},
            slots=task.slots,
            outputs=task.output_slots,
        ),
        inputs=tuple(
            gm.Tensor(name=one.name, dtype=one.dtype.name, shape=one.shape) for one in task.inputs
        ),
        alternative=test.alternative,
        legal_twin=test.legal_twin,
        refused=test.reason,
        tolerance="bound" if test.bound else as_stated(stated, floor),
        rtol=rtol,
        atol=atol,
        data_sets=tuple(sets),
        files={name: sha256(data).hexdigest() for name, data in sorted(files.items())},
    )
    return fields, files


def task_of(case: str, test: gm.TestFields) -> Task:
    """The task that the manifest states, without its constants; KeyError for no such dtype."""
    node = test.node
    return Task(
        case=case,
        op=model.OpVersion(node.domain, node.op, node.since),
        opset=node.opset,
        attrs={name: gm.value_of(value) for name, value in node.attrs.items()},
        slots=node.slots,
        inputs=tuple(model.TensorType(t.name, DTYPES[t.dtype], t.shape) for t in test.inputs),
        initializers={},
        outputs=tuple(
            model.OutputSpec(name, None, n) for n, name in enumerate(node.outputs) if name
        ),
    )


def as_stated(tolerance: model.Tolerance | None, floor: float) -> gm.StatedTolerance:
    """A tolerance that is the same for all elements; None is exact."""
    stated = asdict(tolerance or EXACT)
    del stated["strict"]  # then there is no floor
    return gm.StatedTolerance(**stated, floor=floor)


@dataclass(frozen=True)
class GoldenSettings:
    """Options of writing: the most data sets per test, and archives next to the tensors."""

    data_sets: int = 1
    npz: bool = False


def write(
    folder: Path,
    cases: Sequence[Case],
    selection: str,
    settings: GoldenSettings,
    processes: int = 1,
    *,
    force: bool = False,
    counted: Counted[_Done] = iter,
) -> gm.Manifest:
    """Write `cases` to `folder`, whole or not at all; raises UsageError and Unwritable."""
    check_place(folder, force=force)
    with staged(folder) as (stage, put):
        order = {case.id: number for number, case in enumerate(cases)}
        # Closed before the stage is removed: other processes may be writing there.
        with closing(in_parallel(partial(_write, stage, settings), cases, processes)) as found:
            done = sorted(counted(found), key=lambda one: order[one[0].id])
        written_cases = tuple(case for case, _ in done if case.tests)
        tests = [test for case in written_cases for test in case.tests]
        used = {data.method for test in tests for data in test.data_sets}
        manifest = gm.Manifest(
            type="opcheck golden files",
            format=2,
            opcheck=opcheck.__version__,
            # Values may depend on these.
            packages={n: metadata.version(n) for n in ("ml_dtypes", "mpmath", "numpy", "onnx")},
            selection=selection,
            data_sets=settings.data_sets,
            npz=settings.npz,
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
    if is_free(folder):
        return
    if not force:
        ours = (folder / gm.MANIFEST).is_file()
        hint = "--force replaces golden files that opcheck wrote" if ours else "choose a new folder"
        raise UsageError(f"-o {folder}: this folder is not empty", hint)
    try:
        manifest, _ = gm.read_manifest(folder)
    except gm.NotReadable as error:
        message = f"{folder}/{gm.MANIFEST} {error}: nobody can tell what opcheck wrote there"
        hint = "nothing is removed: choose a new folder, or remove this one"
        raise UsageError(message, hint) from None
    known = {gm.MANIFEST, gm.SUMS, *(path for path, _ in manifest.files)}
    check_foreign(folder, known.__contains__)


def _write(stage: Path, settings: GoldenSettings, case: Case) -> _Done:
    made = made_of(case, settings.data_sets)
    tests: list[gm.TestFields] = []
    left = list(made.left_out)
    for test in made.tests:
        what = "its legal twin" if test.legal_twin else "the case"
        try:
            fields, files = written(test, npz=settings.npz)
        except (NotExpressible, ValueError) as error:
            left.append(gm.LeftOut(case.id, what, str(error), isinstance(error, ValueError)))
            continue
        for name, data in files.items():
            path = stage / fields.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        tests.append(fields)
    manifest_case = gm.ManifestCase(
        id=case.id,
        rule=case.rule,
        level=case.level,
        clause=case.clause,
        digest=case_digest(case),
        fixed=made.fixed if settings.data_sets > 1 else "",
        tests=tuple(tests),
    )
    return manifest_case, tuple(left)


@dataclass
class _Look:
    """A test to look at; `there` are its plain files, `judged` counts the data sets computed."""

    root: Path
    case: str
    test: gm.TestFields
    npz: bool
    there: frozenset[str]
    findings: list[Finding] = field(default_factory=list)
    judged: int = 0

    @property
    def folder(self) -> Path:
        return self.root / self.test.folder

    def all(self) -> "_Look":
        """Check all files; returns itself."""
        self.findings += gm.changed(self.root, self.test, self.there, npz=self.npz)
        task = self._model()
        for data in self.test.data_sets:
            self._data_set(data, task)
        if self._is_sound(DATA):
            self._data_json()
        return self

    def _say(self, name: str, message: str) -> None:
        self.findings.append(Finding(f"{self.test.folder}/{name}", message))

    def _is_sound(self, name: str) -> bool:
        path = f"{self.test.folder}/{name}"
        return name in self.there and all(one.path != path for one in self.findings)

    def _model(self) -> Task | None:
        """Return the question of the test if the model states exactly that."""
        if not self._is_sound(MODEL):
            return None
        try:
            model = test_data.read_model(self.folder / MODEL, valid=False, alone=True)
        except ValueError as error:
            self._say(MODEL, str(error))
            return None
        try:
            task = task_of(self.case, self.test)
            task = replace(task, initializers=initializers(model, self.test.node.slots),
                           dtype=test_data.empty_sequence(model))  # fmt: skip
            message = test_data.other_model(model, task)
        except Exception as error:
            # A stranger's manifest has onnx and protobuf raise whatever they stumble over.
            message = f"the manifest states what no model can: {' '.join(str(error).split())}"
        else:
            message = message or self._unusable(task, model)
        if not message:
            return task
        self._say(MODEL, message)
        return None

    def _unusable(self, task: Task, model: ModelProto) -> str | None:
        """Return why a model cannot or should not run, else None."""
        op = task.op
        known = describe(op.domain, op.name, task.opset)
        if known is None or known.op != op:
            return f"opset {task.opset} has no {op}"
        given = {"", *task.initializers, *(one.name for one in task.inputs)}
        if lacking := sorted({*task.slots} - given):
            return f"nothing gives its input {lacking[0]!r}"
        if not self.test.refused and (refusal := test_data.invalid(model)):
            return f"onnx's checker refuses it: {refusal}"
        outputs = (one for data in self.test.data_sets for one in data.outputs)
        declared = max((prod(one.shape) for one in outputs), default=0)
        inputs = max((prod(one.shape) for one in self.test.inputs), default=0)
        elements = test_data.inferred_elements(model)
        # What ONNX infers to be absurdly larger than what is stored is not computed.
        if elements <= 64 * (declared + inputs) + (1 << 16):
            return None
        return f"asks for outputs of {elements:,} elements, {declared:,} are there: not computed"

    def _data_set(self, data: gm.DataSetFields, task: Task | None) -> None:
        specs = self.test.tensors(data)
        read = [self._tensors(those) for those in specs]
        archive = f"{data.folder}/{gm.NPZ}"
        if all(map(self._is_sound, [archive, *chain(*specs)])):
            fed, *by_kind = (those.items() for those in read)
            # In the order in which they were written; a stranger's archive is not unpacked.
            tensors = chain(fed, *zip(*by_kind, strict=True))
            wanted = npz_bytes({Path(name).stem: array for name, array in tensors})
            if (self.folder / archive).read_bytes() != wanted:
                self._say(archive, "is not the archive of the tensors beside it")
        if task is None or not all(map(self._is_sound, specs[0])):
            return
        self.judged += 1
        inputs, stored, *around = ([*those.values()] for those in read)
        is_open = self.test.folder.startswith("open/")
        if self.test.refused:
            if not is_open and (message := answers.accepted(task, inputs)):
                self._say(MODEL, message)
            return
        if len(stored) < len(data.outputs):
            return
        if not (is_open and data.method == "stated"):
            allowed = self.test.rtol, self.test.atol
            self._say_of(data, answers.wrong_answers(task, inputs, stored, data.method, allowed))
        whole = around and all(len(ends) == len(stored) > 0 for ends in around)
        if whole and all(map(self._is_sound, specs[1])):
            self._say_of(data, answers.wrong_ends(task, inputs, stored, *around))

    def _say_of(self, data: gm.DataSetFields, found: Iterable[tuple[str | None, str]]) -> None:
        """Note problems of tensors of a data set by their stems; None is the model."""
        for stem, message in found:
            self._say(f"{data.folder}/{stem}.pb" if stem else MODEL, message)

    def _tensors(self, specs: Mapping[str, gm.Tensor]) -> dict[str, Array]:
        """The tensors that match the manifest."""
        found = {}
        for name, spec in specs.items():
            if name not in self.there:
                continue
            try:
                called, array = read_named_tensor(self.folder / name)
            except ValueError as error:
                self._say(name, str(error).removeprefix(f"{Path(name).name} "))
                continue
            holds = f"{dtypes.of(array) or array.dtype}{list(array.shape)}"
            wanted = f"{spec.dtype}{list(spec.shape)}"
            if holds != wanted:
                self._say(name, f"holds {holds}, the manifest says {wanted}")
                continue
            if called != spec.name:
                self._say(name, f"is a tensor {called!r}, the manifest says {spec.name!r}")
            found[name] = array
        return found

    def _data_json(self) -> None:
        """Check the two numbers of data.json against the manifest and the tolerance."""
        data = (self.folder / DATA).read_bytes()
        if data != data_json(self.test.rtol, self.test.atol):
            self._say(DATA, f"is not rtol {self.test.rtol:g} and atol {self.test.atol:g}")
            return
        stated = self.test.tolerance
        if isinstance(stated, gm.StatedTolerance) and stated.ulp is None:
            rtol, atol = stated.rtol, max(stated.atol, stated.floor)
        elif (found := self._ends(stated)) is None:
            return
        else:
            rtol, atol = answers.as_rtol_and_atol(found)
        if not np.allclose([rtol, atol], [self.test.rtol, self.test.atol], rtol=0.02, atol=0):
            message = f"the tolerance needs rtol {rtol:g} and atol {atol:g}"
            self._say(DATA, f"says rtol {self.test.rtol:g} and atol {self.test.atol:g}; {message}")

    def _ends(self, stated: object) -> list[answers.Ends] | None:
        """Return the ends that data.json describes, None if a file is not sound."""
        found = []
        for data in self.test.data_sets:
            for names in zip(*self.test.tensors(data)[1:], strict=True):
                if not all(map(self._is_sound, names)):
                    return None
                output, *around = [read_named_tensor(self.folder / name)[1] for name in names]
                if isinstance(stated, gm.StatedTolerance):
                    found.append(answers.stated_ends(output, stated.ulp or 0, stated.floor))
                else:
                    found.append(answers.Ends(output, around[0], around[1]))
        return found


@dataclass(frozen=True)
class CheckedContents:
    """The checked files and every problem; oracles were asked about `judged` data sets."""

    findings: tuple[Finding, ...]
    cases: int = 0
    tests: int = 0
    judged: int = 0
    files: int = 0


def check(folder: Path, processes: int = 1, counted: Counted[_Look] = iter) -> CheckedContents:
    """Check a golden folder, reading nothing outside it; raises UsageError if it is none."""
    try:
        there = {entry.name for entry in os.scandir(folder)} & {gm.MANIFEST, gm.SUMS}
    except OSError as error:
        raise UsageError(f"{folder} cannot be read: {error.strerror}") from None
    if not there:
        message = f"{folder} is no golden folder: it holds no {gm.MANIFEST}"
        raise UsageError(message, "opcheck golden write makes one")
    listing = gm.list_files(folder)
    try:
        manifest, data = gm.read_manifest(folder)
    except gm.NotReadable as error:
        if gm.SUMS not in listing.files:
            raise UsageError(f"{folder}/{gm.MANIFEST} {error}") from None
        message = f"{error}; nothing else was checked, but sha256sum -c {gm.SUMS} can do so"
        return CheckedContents((*gm.unusual(listing), Finding(gm.MANIFEST, message)))
    jobs = [
        _Look(folder, case.id, test, manifest.npz, gm.files_there(test, listing))
        for case in manifest.cases
        for test in case.tests
    ]
    looked = [*counted(in_parallel(_Look.all, jobs, processes))]
    findings = gm.strange(folder, listing, manifest, data)
    findings += _together([found for one in looked for found in one.findings], manifest)
    findings += [found for case in manifest.cases for found in _unlike(case)]
    return CheckedContents(
        tuple(sorted(findings)),
        len(manifest.cases),
        len(jobs),
        sum(one.judged for one in looked),
        len({path for path, _ in manifest.files}),
    )


#: The operators that shipped files are about.
_ops = cache(lambda: {op for file in shipped_suites().rglob("*.yaml") for op in operators_in(file)})


@cache
def _shipped(op: str) -> dict[str, Case]:
    """The shipped cases of an operator by their digests."""
    return {case_digest(case): case for case in load((), [op])} if op in _ops() else {}


def _unlike(case: gm.ManifestCase) -> Iterator[Finding]:
    """Yield where the manifest differs from the shipped case that it names."""
    for test in case.tests:
        if (mine := _shipped(test.node.op).get(case.digest)) is None:
            continue
        it = mine
        if isinstance(mine.expect, model.Rejected) and test.legal_twin:
            it = mine.expect.legal
        types = {DTYPES.get(one.dtype) for data in test.data_sets for one in data.outputs}
        floor = max((stated_want(it.op, "", np.empty(0), t).floor for t in types), default=0.0)
        floor *= not (it.tolerance and it.tolerance.strict)
        tolerance = as_stated(it.tolerance, floor) if it.tolerance or not floor else "bound"
        both = (case.rule, mine.rule), (case.level, mine.level), (test.tolerance, tolerance)
        for name, (ours, shipped) in zip(("rule", "level", "tolerance"), both, strict=True):
            if ours != shipped:
                message = f"its {name} is {ours}, that of the shipped case {shipped}"
                yield Finding(test.folder, message)


def _together(findings: Sequence[Finding], manifest: gm.Manifest) -> Iterator[Finding]:
    """One finding for each file of a test, naming the file that it should be."""
    places = {sha: path for path, sha in reversed(manifest.files)}
    for path, those in group_by(findings, lambda one: one.path).items():
        here = [places[one.sha] for one in those if one.sha in places]
        moved = [f"it is what was written as {name}" for name in here]
        yield Finding(path, "; ".join([*(one.message for one in those), *moved]))
