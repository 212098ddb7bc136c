"""Golden folders checked against their manifest and today's oracle.

A folder may come from a stranger: nothing outside it is read, and nothing in it is unpickled.
"""

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from opcheck import model
from opcheck.dtypes import DTYPES
from opcheck.errors import InvalidNode, UsageError
from opcheck.execution.golden import answers
from opcheck.execution.golden.answers import Ends, rtol_and_atol, stated_ends
from opcheck.execution.workers import Counted, in_parallel
from opcheck.graph import model_of, substance, test_data
from opcheck.graph.folders import DATA_SET, MODEL, initializers, read_named_tensor
from opcheck.graph.test_data import DATA, data_json
from opcheck.model import Array, Task
from opcheck.opset import describe
from opcheck.suite import golden_files as gm


@dataclass(frozen=True)
class CheckedContents:
    """The problems of files by their paths; oracles were asked about `judged` tests."""

    findings: gm.Findings
    cases: int = 0
    tests: int = 0
    judged: int = 0
    files: int = 0


@dataclass
class _Check:
    """A test, its folder, the messages about each of its files; oracles were asked if `judged`."""

    folder: Path
    test: gm.TestFields
    #: The files that are there, and plain files.
    there: Set[str]
    messages: dict[str, list[str]] = field(default_factory=dict)
    judged: bool = False

    def _add(self, name: str, message: str) -> None:
        if message:
            self.messages.setdefault(name, []).append(message)

    def _is_sound(self, names: Iterable[str]) -> bool:
        return self.messages.keys().isdisjoint(names)

    def all(self) -> "_Check":
        """Check all files, of a test without one only the sums of the others; returns itself."""
        test = self.test
        for name in self.there:
            self._add(name, gm.changed(self.folder / name, test.files[name]))
        if self.there != test.files.keys():
            return self
        task = None
        if self._is_sound([MODEL]):
            try:
                task = _question(self.folder / MODEL, test)
            except ValueError as error:
                self._add(MODEL, str(error))
        stored = self._tensors(test.tensors)
        fed = [name for name in test.tensors if Path(name).name.startswith("input")]
        if task and len(stored) == len(test.tensors) and self._is_sound(fed):
            self.judged = True
            self._judge(task, stored)
        # The tolerance is made of those.
        if self._is_sound(test.files) and not test.refused:
            self._add(DATA, _wrong_tolerance((self.folder / DATA).read_bytes(), test, stored))
        return self

    def _tensors(self, specs: Mapping[str, gm.Tensor]) -> dict[str, Array]:
        """The tensors that are as the manifest says, by the stems of their files."""
        tensors = {}
        for name, spec in specs.items():
            try:
                called, array = read_named_tensor(self.folder / name)
            except ValueError as error:
                self._add(name, str(error))
                continue
            holds = gm.Tensor.of(called, array)
            if holds == spec:
                tensors[Path(name).stem] = array
            else:
                self._add(name, f"holds {holds}, the manifest says {spec}")
        return tensors

    def _judge(self, task: Task, tensors: Mapping[str, Array]) -> None:
        """Compare the tensors with what today's oracle answers."""
        inputs = [tensors[f"input_{number}"] for number in range(len(self.test.inputs))]
        outputs = [tensors[f"output_{number}"] for number in range(len(self.test.outputs))]
        refused, bound = bool(self.test.refused), self.test.tolerance == "bound"
        is_open, is_stated = self.test.folder.startswith("open/"), self.test.method == "stated"
        if refused and is_open:
            return
        try:
            today = answers.answered_today(task, inputs, outputs, bound=bound)
        except (InvalidNode, ValueError, MemoryError) as error:
            if not (isinstance(error, InvalidNode) if refused else is_open and is_stated):
                self._add(MODEL, f"today's oracle gives no answer: {error}")
            return
        if today is None:
            if not (refused or is_stated):
                self._add(MODEL, "this opcheck lacks the operator")
            return
        if refused:
            self._add(MODEL, "must be refused, but the oracle accepts it")
            return
        for stem, want in today.items():
            name, got = f"{DATA_SET}/{stem}.pb", tensors[stem]
            if not stem.startswith("output"):
                # Other machines round otherwise.
                self._add(name, answers.difference(got, want, ulp=1))
            elif not is_stated:
                self._add(name, answers.difference(got, want))
            elif not is_open:
                rtol, atol = self.test.rtol, self.test.atol
                self._add(name, answers.difference(got, want, rtol=rtol, atol=atol))


def check(folder: Path, processes: int = 1, counted: Counted[_Check] = iter) -> CheckedContents:
    """Check a golden folder, reading nothing outside it; raises UsageError if it is none."""
    try:
        names = {entry.name for entry in folder.iterdir()}
    except OSError as error:
        raise UsageError(f"{folder} cannot be read: {error.strerror}") from None
    if not names & {gm.MANIFEST, gm.SUMS}:
        message = f"{folder} is no golden folder: it holds no {gm.MANIFEST}"
        raise UsageError(message, "opcheck golden write makes one")
    try:
        manifest, data = gm.read_manifest(folder)
    except gm.NotReadable as error:
        if gm.SUMS not in names:
            raise UsageError(f"{folder}/{gm.MANIFEST} {error}") from None
        message = f"{error}; nothing else was checked, but sha256sum -c {gm.SUMS} can do so"
        return CheckedContents({gm.MANIFEST: message})
    findings = gm.strange(folder, manifest, data)
    jobs = []
    for test in manifest.tests:
        there = {name for name in test.files if f"{test.folder}/{name}" not in findings}
        jobs.append(_Check(folder / test.folder, test, there))
    checked = [*counted(in_parallel(_Check.all, jobs, processes))]
    for one in checked:
        for name, messages in one.messages.items():
            findings[f"{one.test.folder}/{name}"] = "; ".join(messages)
    return CheckedContents(
        dict(sorted(findings.items())),
        len(manifest.cases),
        len(jobs),
        sum(one.judged for one in checked),
        len(manifest.files),
    )


def _question(path: Path, test: gm.TestFields) -> Task:
    """The question of a test; raises ValueError unless its model states it and can be run."""
    proto = test_data.read_model(path, valid=False, alone=True)
    node = test.node
    try:
        task = Task(
            case=test.folder,
            op=model.OpVersion(node.domain, node.op, node.since),
            opset=node.opset,
            attrs={name: gm.value_of(value) for name, value in node.attrs.items()},
            slots=node.slots,
            inputs=tuple(model.TensorType(t.name, DTYPES[t.dtype], t.shape) for t in test.inputs),
            initializers=initializers(proto, node.slots),
            outputs=tuple(
                model.OutputSpec(name, None, n) for n, name in enumerate(node.outputs) if name
            ),
            dtype=test_data.empty_sequence(proto),
        )
        is_same = substance(proto) == substance(model_of(task))
    except Exception as error:
        # A stranger's manifest has onnx and protobuf raise whatever they stumble over.
        message = " ".join(str(error).split())
        raise ValueError(f"the manifest states what no model can: {message}") from None
    if not is_same:
        raise ValueError("states something else than the manifest")
    known = describe(node.domain, node.op, node.opset)
    if known is None or known.op != task.op:
        raise ValueError(f"opset {node.opset} has no {task.op}")
    given = {"", *task.initializers, *(one.name for one in task.inputs)}
    if lacking := sorted({*task.slots} - given):
        raise ValueError(f"nothing gives its input {lacking[0]!r}")
    if not test.refused and (refusal := test_data.invalid(proto)):
        raise ValueError(f"onnx's checker refuses it: {refusal}")
    return task


def _wrong_tolerance(data: bytes, test: gm.TestFields, stored: Mapping[str, Array]) -> str:
    """Return why a data.json does not state the test's tolerance, or ""."""
    stated = None if test.tolerance == "bound" else test.tolerance
    found = []
    for stem, output in stored.items():
        kind, _, number = stem.partition("_")
        if kind == "output" and stated:
            found.append(stated_ends(output, stated.ulp or 0, stated.floor))
        elif kind == "output":
            low, high = (stored[f"{end}_{number}"] for end in ("lowest", "highest"))
            found.append(Ends(output, low, high))
    rtol, atol = rtol_and_atol(stated, found)
    is_near = np.allclose([rtol, atol], [test.rtol, test.atol], rtol=0.02, atol=0)
    if is_near and data == data_json(test.rtol, test.atol):
        return ""
    return f"is not what the tolerance needs: rtol {rtol:g} and atol {atol:g}"
