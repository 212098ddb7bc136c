"""Values, attributes, tensors and commands as all reports show them."""

import dataclasses
import math
import shlex
import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from typing import Any

import numpy as np

from opcheck import clauses, grouping, model, suite
from opcheck.dtypes import PARTS, DType, of, round_to
from opcheck.errors import UsageError
from opcheck.report import plain_text
from opcheck.report.rulings import concerning
from opcheck.suite.select import HUGE

#: The most elements of a literal shown in a line.
_SHOWN = 16
#: The most elements shown that are put after a fill.
_PUT = 2
#: Fields that a record has from its result.
_ALIKE = {field.name for field in dataclasses.fields(model.LiveResult)} - {"case", "comparisons"}
_OF_COMPARISONS = [field.name for field in dataclasses.fields(model.ComparedOutput)]


def number(value: model.Element | None, dtype: DType | None) -> str:
    """A value as short as its dtype allows: float32 0.1 is 0.1, not 0.10000000149011612."""
    if value is None:
        return ""
    if isinstance(value, str):
        return repr(value)
    if isinstance(value, complex):
        real, imag = (number(part, PARTS.get(str(dtype))) for part in (value.real, value.imag))
        return f"{real}{'' if imag[0] in '+-' else '+'}{imag}j"
    if not isinstance(value, float) or not math.isfinite(value) or dtype is None:
        return str(value)
    # Whole numbers are spelt out: the largest float16 is 65504, not 6.55e+04.
    if not dtype.precision or (value.is_integer() and abs(value) < 1e16):
        return str(value)
    # 17 digits identify a float64. An input may have more digits than the output's dtype.
    spellings = (float(f"{value:.{digits}g}") for digits in range(1, 18))
    exact = (s for s in spellings if float(round_to(np.array([s]), dtype)[0]) == value)
    return str(next(exact, value))


def bits(value: model.Element, dtype: DType) -> str:
    """The exact representation of a value in its dtype, in hexadecimal; "" of a string."""
    if dtype.kind == "string":
        return ""
    raw = np.array(value).astype(dtype.numpy).tobytes()
    return f"0x{int.from_bytes(raw, sys.byteorder):0{2 * dtype.numpy.itemsize}x}"


def attributes(attrs: model.Attrs) -> str:
    """`axis=1 pads=[0, 1]`, or "no attributes"."""
    parts = (f"{name}={_attribute(value)}" for name, value in attrs.items())
    return " ".join(parts) or "no attributes"


def _attribute(value: model.AttrValue | model.Typed) -> str:
    if isinstance(value, np.ndarray):
        spec = model.TensorSpec("", grouping.not_none(of(value)), value.shape, model.Given(value))
        return tensor(spec).strip()
    if isinstance(value, tuple) and len(value) > 4 * _SHOWN:
        return f"{[*value[:_SHOWN]]}"[:-1] + f", … {len(value):,} in all]"
    return str([*value] if isinstance(value, tuple) else value)


def tensor(spec: model.TensorSpec) -> str:
    """`input float32[2, 3] uniform 0, 1 seed 7`; small literals, and a few elements put after."""
    shape = f"{spec.name} {spec.dtype}[{', '.join(map(str, spec.shape))}]"
    puts = " and ".join(f"{_said(put.value)} at {[*put.at]}" for put in spec.put)
    if len(spec.put) > _PUT:
        puts = f"{len(spec.put)} others"
    but = f" but {puts}" if puts else ""
    match spec.content:
        case model.Fill(kind, args, seed):
            random = kind not in ("constant", "arange", "cycle", "specials")
            values = f" {kind} {', '.join(map(_said, args))}".rstrip()
            return f"{shape}{values}{f' seed {seed}' if random else ''}{but}"
        case model.FromFile(path):
            return f"{shape} from {path.name}{but}"
        case model.Given(values) if 0 < values.size <= _SHOWN:
            return f"{shape} {_literal(values)}"
        case _:
            return shape


def _said(value: model.Scalar) -> str:
    return repr(value) if isinstance(value, str | int) else f"{value:g}"


def _literal(values: model.Array | str) -> str:
    if isinstance(values, str):
        return repr(values)
    if values.ndim:
        return f"[{', '.join(map(_literal, values))}]"
    if values.dtype.hasobject:
        return repr(values.item())
    if values.dtype.kind not in "fc":
        return str(values)
    short = f"{values:g}"
    exact = values.item()
    # One that is only near another is told from it.
    return short if values.dtype.type(short) == exact else number(exact, of(values))


def question(case: model.Case) -> str:
    """Describe the case's question in a line."""
    tensors = ", ".join(map(tensor, case.inputs))
    # A model's attributes may be graphs or tensors, which are not known here.
    parts = [attributes(case.attrs)] if case.attrs or not case.model else []
    return ", ".join([f"{case.op} at opset {case.opset}", *parts, *([tensors] if tensors else [])])


def repeat(result: model.LiveResult, backends: Sequence[str] = ()) -> str:
    """The command, or for an object the call, that repeats this case on this backend."""
    # Commands that show a stored run need not import backends.
    from opcheck.backends import trust

    kind, _, name = result.backend.partition(":")
    if kind == "object":
        file = "" if result.case.source.shipped else f"{result.case.source.file!r}, "
        return f"print(*opcheck.run(opcheck.load({file}ids=[{result.case.id!r}]), {name}))"
    words = ["opcheck", "run"]
    if not result.case.source.shipped:
        file = result.case.source.file
        words.append(f"./{file}" if file.startswith("-") else file)  # or it would be an option
    words += [*result.case.said, "--case", result.case.id]
    words += ["--level", HUGE] * (result.case.level == HUGE)
    # Without a backend that it was compared with, all others are needed.
    alone = result.case.expect.compares_backends and not result.against
    # An oracle that is the user's code must be named on the command line.
    oracle = result.case.expect.oracle or ""
    oracles = [oracle] * _is_code(oracle)
    others = backends if alone else result.against
    for backend in dict.fromkeys((result.backend, *others, *oracles)):
        words += ["-b", backend]
    if (config := trust.config()) is not None:
        words += ["--config", str(config)]
    words.append("--no-known")
    if result.known and result.known.line is not None:
        words += ["--known", result.known.ledger]
    words += ["--strict"] * (result.verdict is model.Verdict.WARN)
    words += ["--require-supported"] * (result.verdict is model.Verdict.UNSUPPORTED)
    words += ["--require-reproducible"] * result.irreproducible
    if result.verdicts:
        words += ["--repeat", str(sum(result.verdicts.values()))]
    return shlex.join(words)


@cache
def _is_code(oracle: str) -> bool:
    """Return True if an oracle is an address that chooses code to run; False for "", for none.

    It is asked once for each oracle, as looking up the installed backends takes milliseconds.
    """
    from opcheck.backends.address import names_code, parse

    with suppress(UsageError):  # a profile, or nothing
        return names_code(parse(oracle))
    return False


#: Of these nobody asks how a sentence is read.
_SILENT = (model.Verdict.PASS, model.Verdict.UNSUPPORTED, model.Verdict.NOT_RUN)


class Recorder:
    """Makes the records of a run on `backends`, by address; `suite` identifies the cases."""

    def __init__(self, cases: Sequence[model.Case], backends: Sequence[str] = ()) -> None:
        self._backends = backends
        digests = [(case.id, suite.case_digest(case)) for case in cases]
        self.suite = model.Suite(suite.suite_digest(digests), len(cases))
        #: Place and digest of each case, by its id.
        self.digests = {id: (place, digest) for place, (id, digest) in enumerate(digests)}

    def record(self, result: model.LiveResult) -> model.Record:
        """The record of a result on one of the cases."""
        case = result.case
        place, digest = self.digests[case.id]
        return model.Record(
            case=case.id,
            place=place,
            digest=digest,
            dtype=case.dtype.name if case.dtype else None,
            clause=case.clause and (clauses.quotation(case.clause, case.op) or case.clause),
            question=question(case),
            repeat=repeat(result, self._backends),
            rulings=self._rulings(result),
            comparisons=tuple(map(_comparison, result.comparisons)),
            **plain_text.attributes_of(case, "op opset name row rule level source"),
            **{name: getattr(result, name) for name in _ALIKE},
        )

    def _rulings(self, result: model.LiveResult) -> tuple[str, ...]:
        """The rulings on the sentence that the case quotes, as far as they concern the case."""
        if result.verdict in _SILENT:
            return ()
        case = result.case
        return concerning(clauses.rulings(case.clause, case.op), case, result.comparisons)


def _comparison(comparison: model.Comparison) -> model.ComparisonRecord:
    fields: dict[str, Any] = {name: getattr(comparison, name) for name in _OF_COMPARISONS}
    dtype = comparison.dtype
    fields["dtype"] = dtype.name if dtype else None
    fields["picture"] = comparison.picture and comparison.picture()
    fields["worst"] = tuple(
        model.ElementRecord(
            **plain_text.attributes_of(mismatch, "index ulp allowed"),
            input=number(mismatch.input, dtype),
            want=number(mismatch.want, dtype),
            want_bits=bits(mismatch.want, dtype) if dtype else "",
            got=number(mismatch.got, dtype),
            got_bits=bits(mismatch.got, dtype) if dtype else "",
        )
        for mismatch in comparison.worst
    )
    return model.ComparisonRecord(**fields)
