"""Golden folders: written next to their place, and moved there when complete.

Names and bytes of all files are the same on every machine.
"""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict
from functools import partial
from hashlib import sha256
from importlib import metadata
from pathlib import Path
from typing import TypeAlias

import opcheck
from opcheck import model
from opcheck.errors import NotExpressible, UsageError
from opcheck.execution.golden.answers import Test, made_of, rtol_and_atol
from opcheck.execution.saving import check_foreign, is_free, staged
from opcheck.execution.workers import Counted, in_parallel
from opcheck.graph.folders import DATA_SET, MODEL, folder_name, tensor_bytes
from opcheck.graph.test_data import DATA, data_json, model_bytes
from opcheck.model import EXACT, Case
from opcheck.suite import case_digest
from opcheck.suite import golden_files as gm

METHOD_TEXTS: dict[gm.ManifestMethod, str] = {
    "exact": "nothing had to be rounded",
    "bounded": "correctly rounded: the proven error bound leaves one number for each value",
    "mpmath": "correctly rounded from as many digits as it takes",
    "stated": "as the case states it: the text leaves it open, or opcheck lacks the operator",
}
#: The written and the omitted tests of a case.
_Done: TypeAlias = tuple[gm.ManifestCase, tuple[gm.LeftOut, ...]]


def written(test: Test) -> tuple[gm.TestFields, dict[str, bytes]]:
    """Return the manifest's entry for `test`, and its files by path in the test's folder.

    Raises NotExpressible where ONNX cannot state it, ValueError where no file holds a tensor.
    """
    stated, task = test.tolerance, test.task
    found = test.data.outputs
    rtol, atol = rtol_and_atol(stated, found)
    floor = max((one.floor for one in found), default=0.0)
    files = {MODEL: model_bytes(task, test.ranks)}
    if not test.reason:
        files[DATA] = data_json(rtol, atol)
    pairs = zip(task.inputs, test.data.inputs, strict=True)
    tensors = {f"input_{n}": (spec.name, array) for n, (spec, array) in enumerate(pairs)}
    for n, ends in enumerate(found):
        name = task.outputs[n].name
        tensors[f"output_{n}"] = name, ends.written
        if test.bound:
            tensors[f"lowest_{n}"] = name, ends.lowest
            tensors[f"highest_{n}"] = name, ends.highest
    for stem, (name, array) in tensors.items():
        files[f"{DATA_SET}/{stem}.pb"] = tensor_bytes(array, name)
    outputs = zip(task.outputs, found, strict=bool(found))
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
        method=test.data.method,
        outputs=tuple(gm.Tensor.of(spec.name, one.written) for spec, one in outputs),
        files={name: sha256(data).hexdigest() for name, data in sorted(files.items())},
    )
    return fields, files


def as_stated(tolerance: model.Tolerance | None, floor: float) -> gm.StatedTolerance:
    """A tolerance that is the same for all elements; None is exact."""
    stated = asdict(tolerance or EXACT)
    del stated["strict"]  # then there is no floor
    return gm.StatedTolerance(**stated, floor=floor)


def write(
    folder: Path,
    cases: Sequence[Case],
    selection: str,
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
        with closing(in_parallel(partial(_write, stage), cases, processes)) as found:
            done = sorted(counted(found), key=lambda one: order[one[0].id])
        written_cases = tuple(case for case, _ in done if case.tests)
        used = {test.method for case in written_cases for test in case.tests}
        manifest = gm.Manifest(
            type="opcheck golden files",
            format=3,
            opcheck=opcheck.__version__,
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
    if is_free(folder):
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
    check_foreign(folder, known.__contains__)


def _write(stage: Path, case: Case) -> _Done:
    made = made_of(case)
    tests: list[gm.TestFields] = []
    left = list(made.left_out)
    for test in made.tests:
        what = "its legal twin" if test.legal_twin else "the case"
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
    manifest_case = gm.ManifestCase(
        id=case.id,
        rule=case.rule,
        level=case.level,
        clause=case.clause,
        digest=case_digest(case),
        tests=tuple(tests),
    )
    return manifest_case, tuple(left)
