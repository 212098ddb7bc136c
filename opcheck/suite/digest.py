"""Digests of cases: equal on every machine, and different for different cases.

A digest is of the question and the stated answer. Place, explanation and time limit of a case are
no part of it, nor is what the engine computes, which is a matter of opcheck's version.
"""

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from opcheck import model

#: 64 bits, in hexadecimal: of the two cases of one id, nobody chose either to resemble the other.
_LENGTH = 16


def case_digest(case: model.Case) -> str:
    """Return the digest of `case`; files that it names are read."""
    parts = [case.id, _node(case), case.rule]
    if case.model is not None:
        parts += [_sha256(case.model), _ports(case.ports), case.beyond]
    return _sha256(json.dumps(parts).encode())[:_LENGTH]


def suite_digest(cases: Iterable[tuple[str, str]]) -> str:
    """Return the digest of a list of cases, by their ids and digests, in order."""
    return _sha256("".join(f"{id} {digest}\n" for id, digest in cases).encode())


def _node(case: model.Case) -> list[Any]:
    return [
        [case.op.domain, case.op.name, case.op.since, case.opset],
        case.dtype and case.dtype.name,
        sorted((name, _plain(value)) for name, value in case.attrs.items()),
        [_tensor(spec) for spec in case.inputs],
        case.slots,
        [[output.name, output.dtype and output.dtype.name] for output in case.outputs],
        _expectation(case.expect),
        _tolerance(case.tolerance),
    ]


def _tolerance(tolerance: model.Tolerance | None) -> list[Any] | None:
    if tolerance is None:
        return None
    parts = tolerance.ulp, tolerance.rtol, tolerance.atol, tolerance.signed_zeros
    return [*map(_plain, parts), *["strict"] * tolerance.strict]


def _expectation(expect: model.Expectation) -> list[Any]:
    match expect:
        case model.Values(outputs, ports, random):
            written = ["values", *map(_tensor, outputs)]
            return [*written, _ports(ports), sorted(random)] if ports else written
        case model.Computed():
            return ["computed"]
        case model.Golden(folder):
            files = sorted(folder.glob("output_*.pb"))
            return ["golden", *([file.name, _file(file)] for file in files)]
        case model.Oracle(backend):
            return ["oracle", backend]
        case model.Agreement():
            return ["agreement"]
        case model.Rejected(_, legal):
            return ["rejected", _node(legal)]
        case model.AnyOf(alternatives):
            return ["any", *([one.name, _expectation(one.expect)] for one in alternatives)]


def _ports(ports: Iterable[model.Port]) -> list[Any]:
    return [[port.name, port.form, port.count] for port in ports]


def _tensor(spec: model.TensorSpec) -> list[Any]:
    match spec.content:
        case model.Given(values):
            content: list[Any] = ["given", _array(values)]
        case model.Fill(kind, args, seed):
            content = [kind, [_plain(arg) for arg in args], seed]
        case model.FromFile(path):
            content = ["file", _file(path)]
    put = [[one.at, _plain(one.value)] for one in spec.put]
    return [spec.name, spec.dtype.name, spec.shape, content, put, spec.initializer]


def _plain(value: Any) -> Any:
    """A value that differs from all others: 1 from 1.0 and from "1", 0.0 from -0.0."""
    if isinstance(value, model.Typed):
        return {value.type: _plain(value.value)}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, complex):
        return ["complex", value.real.hex(), value.imag.hex()]
    return ["float", value.hex()] if isinstance(value, float) else value


def _array(values: model.Array) -> list[str]:
    if values.dtype.hasobject:
        return ["string", _sha256(json.dumps(values.reshape(-1).tolist()).encode())]
    if values.dtype.kind == "f":
        # There are many NaNs, and files know one.
        values = np.where(np.isnan(values), np.nan, values)
    dtype = values.dtype.newbyteorder("<")
    return [dtype.str, _sha256(values.astype(dtype).tobytes())]


def _file(path: Path) -> str:
    try:
        # A pipe would never end.
        if path.is_file():
            with path.open("rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        pass
    return "cannot be read"


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
