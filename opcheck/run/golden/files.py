"""A test as files: their names and their bytes, the same on every machine."""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path

import numpy as np

from opcheck import dtypes
from opcheck.dtypes import DTYPES
from opcheck.graph.folders import MODEL, folder_name
from opcheck.graph.golden import model_bytes
from opcheck.graph.onnx_tolerance import DATA
from opcheck.graph.tensors import tensor_bytes
from opcheck.model import EXACT, Array, OpVersion, OutputSpec, Task, TensorType, Tolerance
from opcheck.run.golden.answers import DataSet, Test
from opcheck.run.golden.tolerances import as_rtol_and_atol
from opcheck.suite.golden_manifest import (
    NPZ,
    DataSetFields,
    Node,
    StatedTolerance,
    Tensor,
    TestFields,
    spelt,
    value_of,
)

_EPOCH = (1980, 1, 1, 0, 0, 0)
#: So much beside its tensors an archive may hold, in bytes: its directory, twice a name each.
_DIRECTORY = 1 << 12


def npz_bytes(tensors: Mapping[str, Array]) -> bytes:
    """An archive of NumPy's arrays; bfloat16, which NumPy's format lacks, as float32.

    Not by numpy.savez, whose archives tell on which system they were made.
    """
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        for name, array in tensors.items():
            entry = zipfile.ZipInfo(f"{name}.npy", _EPOCH)
            entry.create_system = 3
            entry.external_attr = 0o644 << 16
            file.writestr(entry, npy_bytes(array))
    return archive.getvalue()


def npy_bytes(array: Array) -> bytes:
    """An array as NumPy's format has it, little-endian; bfloat16 as float32."""
    if dtypes.of(array) is DTYPES["bfloat16"]:
        array = array.astype(np.float32)
    file = io.BytesIO()
    little = np.ascontiguousarray(array).reshape(array.shape)
    np.lib.format.write_array(file, little.astype(array.dtype.newbyteorder("<")), (1, 0), False)
    return file.getvalue()


def wrong_archive(path: Path, files: Mapping[str, bytes]) -> str | None:
    """What is wrong with an archive that should hold just these files, None if nothing.

    It may come from a stranger: no more is unpacked than the files have, and nothing unpickled.
    """
    room = 2 * _DIRECTORY * (len(files) + 1)
    try:
        if path.stat().st_size > sum(map(len, files.values())) + room:
            return "is larger than its tensors"
        with zipfile.ZipFile(io.BytesIO(path.read_bytes())) as archive:
            members = archive.infolist()
            if sorted(one.filename for one in members) != sorted(files):
                return "holds other arrays than the test has"
            for one in members:
                want = files[one.filename]
                if one.file_size != len(want):
                    return f"{one.filename} unpacks to {one.file_size:,} bytes, not {len(want):,}"
                with archive.open(one) as member:
                    if member.read(len(want) + 1) != want:
                        return f"{one.filename} is not the tensor beside it"
    # zipfile lets out what it and its decompressors raise.
    except (OSError, ValueError, RuntimeError, EOFError, zlib.error, zipfile.BadZipFile) as error:
        return f"is no readable archive: {error}"
    return None


def written(test: Test, *, npz: bool) -> tuple[TestFields, dict[str, bytes]]:
    """What the manifest says of `test`, and its files by their paths in the test's folder.

    Raises NotExpressible where ONNX cannot state it, ValueError where no file holds a tensor.
    """
    stated = test.tolerance
    found = [one for data in test.data_sets for one in data.outputs]
    rtol, atol = as_rtol_and_atol(found)
    floor = max((one.floor for one in found), default=0.0)
    if stated is not None and stated.ulp is None:
        rtol, atol = stated.rtol, max(stated.atol, floor)
    files = {MODEL: model_bytes(test.task, test.ranks)}
    if not test.reason:
        files[DATA] = data_json(rtol, atol)
    sets = []
    for number, data in enumerate(test.data_sets):
        folder = f"test_data_set_{number}"
        tensors = named_tensors(test, data)
        for stem, (name, array) in tensors.items():
            files[f"{folder}/{stem}.pb"] = tensor_bytes(array, name)
        if npz:
            files[f"{folder}/{NPZ}"] = npz_bytes({s: array for s, (_, array) in tensors.items()})
        pairs = zip(test.task.outputs, data.outputs, strict=bool(data.outputs))
        told = tuple(_tensor(spec.name, ends.written) for spec, ends in pairs)
        sets.append(DataSetFields(folder=folder, seed=data.seed, method=data.method, outputs=told))
    fields = TestFields(
        folder=f"{test.kind}/test_{folder_name(test.name)}",
        node=_node(test.task),
        inputs=tuple(
            Tensor(name=one.name, dtype=one.dtype.name, shape=one.shape) for one in test.task.inputs
        ),
        alternative=test.alternative,
        legal_twin=test.legal_twin,
        refused=test.reason,
        tolerance="bound" if test.bound else stated_tolerance(stated, floor),
        rtol=rtol,
        atol=atol,
        data_sets=tuple(sets),
        files={name: sha256(data).hexdigest() for name, data in sorted(files.items())},
    )
    return fields, files


def task_of(case: str, test: TestFields) -> Task:
    """The task that the manifest states; its constants are to be had from the model.

    Raises KeyError for a dtype that there is none of.
    """
    node = test.node
    return Task(
        case=case,
        op=OpVersion(node.domain, node.op, node.since),
        opset=node.opset,
        attrs={name: value_of(value) for name, value in node.attrs.items()},
        slots=node.slots,
        inputs=tuple(TensorType(t.name, DTYPES[t.dtype], t.shape) for t in test.inputs),
        initializers={},
        outputs=tuple(OutputSpec(name, None) for name in node.outputs),
    )


def data_json(rtol: float, atol: float) -> bytes:
    """What ONNX's loader reads beside a model."""
    return f"{json.dumps({'atol': atol, 'rtol': rtol})}\n".encode()


def stated_tolerance(tolerance: Tolerance | None, floor: float) -> StatedTolerance:
    """A tolerance that is the same for all elements; None is exact."""
    stated = asdict(tolerance or EXACT)
    del stated["strict"]  # then there is no floor
    return StatedTolerance(**stated, floor=floor)


def named_tensors(test: Test, data: DataSet) -> dict[str, tuple[str, Array]]:
    """The tensors of a data set by the stems of their files, each with its name in the model."""
    found = {
        f"input_{number}": (spec.name, array)
        for number, (spec, array) in enumerate(zip(test.task.inputs, data.inputs, strict=True))
    }
    for number, ends in enumerate(data.outputs):
        name = test.task.outputs[number].name
        found[f"output_{number}"] = name, ends.written
        if test.bound:
            found[f"lowest_{number}"] = name, ends.lowest
            found[f"highest_{number}"] = name, ends.highest
    return found


def _node(task: Task) -> Node:
    return Node(
        domain=task.op.domain,
        op=task.op.name,
        since=task.op.since,
        opset=task.opset,
        attrs={name: spelt(value) for name, value in task.attrs.items()},
        slots=task.slots,
        outputs=tuple(output.name for output in task.outputs),
    )


def _tensor(name: str, array: Array) -> Tensor:
    return Tensor(name=name, dtype=str(dtypes.of(array)), shape=array.shape)
