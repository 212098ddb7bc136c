"""Selection of a suite's cases by a command, and digests of them.

A digest is of the question and the stated answer, equal on every machine and different for
different cases. Place, explanation and time limit of a case are no part of it, nor is what the
engine computes, which is a matter of opcheck's version.
"""

import hashlib
import json
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from heapq import heapreplace
from math import prod
from pathlib import Path
from typing import Any, cast

import numpy as np

from opcheck import dtypes, model, reading
from opcheck.errors import UsageError, did_you_mean, few
from opcheck.opset import operators

#: Each level holds the ones before it.
LEVELS: tuple[model.Level, ...] = ("smoke", "core", "deep")
#: Longer expressions, by words and parentheses, would need too deep a recursion.
_MAX_TOKENS = 100


@dataclass(frozen=True)
class Selection:
    """Conditions for a case to be selected; an empty field is none. UsageError: no such level."""

    ids: tuple[str, ...] = ()
    keywords: str = ""
    ops: tuple[str, ...] = ()
    opsets: tuple[int, ...] = ()
    dtypes: tuple[str, ...] = ()
    level: model.Level = "core"

    def __post_init__(self) -> None:
        if self.level not in LEVELS:
            raise UsageError(f"no level {self.level!r}", f"levels: {', '.join(LEVELS)}")

    @property
    def levels(self) -> tuple[model.Level, ...]:
        """The levels of cases that may be selected: those named by id at any."""
        return LEVELS if self.ids else LEVELS[: LEVELS.index(self.level) + 1]

    @property
    def operators(self) -> Sequence[str]:
        """The operators whose suites have all that may be selected; empty where any may."""
        names = [id.partition("/")[0] for id in self.ids]
        return self.ops or ([] if any(map(_is_pattern, names)) else names)

    def __str__(self) -> str:
        parts = {
            "case": " ".join(self.ids),
            "keywords": self.keywords,
            "op": " ".join(self.ops),
            "opset": " ".join(map(str, self.opsets)),
            "dtype": " ".join(self.dtypes),
            "level": "" if self.ids else self.level,
        }
        return ", ".join(f"{key} {value}" for key, value in parts.items() if value)

    def why_empty(self, cases: Collection[model.Case], *, python: bool = False) -> str:
        """Count the cases that there are without each condition: `of op Add; 3 without --dtype`."""
        found = []
        for name, option in _OPTIONS.items():
            wider = replace(self, **{name: getattr(EVERYTHING, name)})
            if count := len(select(cases, wider)):
                label = name if python else option
                how = f"at {label} deep" if name == "level" else f"without {label}"
                found.append(f"{count:,} {how}")
        return "; ".join([str(self), *filter(None, [", ".join(found)])])


EVERYTHING = Selection(level="deep")
#: The options of commands for the fields of a selection.
_OPTIONS = {"ids": "--case", "keywords": "-k", "ops": "--op"}
_OPTIONS |= {"opsets": "--opset", "dtypes": "--dtype", "level": "--level"}


def choose(cases: Sequence[model.Case], selection: Selection) -> tuple[model.Case, ...]:
    """The cases that a user selects; raises UsageError for a name of nothing that there is."""
    for dtype in (dtype for dtype in selection.dtypes if dtype not in dtypes.DTYPES):
        hint = did_you_mean(dtype, dtypes.DTYPES) or f"known: {', '.join(dtypes.DTYPES)}"
        raise UsageError(f"unknown dtype {dtype!r}", hint)
    # A mistyped one would go unnoticed next to one that is not.
    here = {case.id for case in cases}
    names = {case.op.name.lower(): case.op.name for case in cases}
    for wanted in (wanted for wanted in selection.ids if not _meant(wanted, here)):
        op = wanted.partition("/")[0]
        mine = [one for one in here if one.startswith(f"{op}/")]
        near = _completions(f"{op}/", mine) if mine else _completions(op, _there(cases) - {op})
        alike = _completions(wanted, mine or here) or near
        raise UsageError(f"no case{' matches' * _is_pattern(wanted)} {wanted!r}", alike)
    for op in (op for op in selection.ops if op.lower() not in names):
        known = _there(cases)
        hint = _completions(op, known) or f"there are cases of {', '.join(sorted(known))}"
        if op in operators(""):
            hint = "ONNX has it, but none of these cases is of it: name a file that has some"
        raise UsageError(f"no case of operator {op!r}", hint)
    asked = sorted({case.opset for case in cases})
    for opset in (opset for opset in selection.opsets if opset not in asked):
        raise UsageError(f"no case at opset {opset}", f"opsets: {', '.join(map(str, asked))}")
    found = select(cases, selection)
    chosen = {case.op.name.lower() for case in found} if selection.ops else ()
    # Next to one that is judged, it would go unnoticed that another is not.
    for op in selection.ops if found else ():
        rest = replace(selection, ops=(), keywords="")
        if op.lower() not in chosen and not select(cases, replace(rest, ops=(op,))):
            opsets = sorted({case.opset for case in cases if case.op.name.lower() == op.lower()})
            there = f"opsets: {', '.join(map(str, opsets))}" if selection.opsets else ""
            raise UsageError(f"no case of operator {op!r} for {rest}", there or None)
    return found


def _is_pattern(word: str) -> bool:
    return "*" in word or "?" in word


def _meant(wanted: str, ids: Collection[str]) -> list[str]:
    """The id that `wanted` is; if it is none, those that match it, where * and ? are special."""
    if wanted in ids:
        return [wanted]
    pattern = wanted.replace("[", "[[]")
    return [one for one in ids if _is_pattern(wanted) and fnmatchcase(one, pattern)]


def _there(cases: Iterable[model.Case]) -> set[str]:
    """The operators of these cases; all that shipped files have, unless others were read."""
    if not all(case.source.shipped for case in cases):
        return {case.op.name for case in cases}
    files = reading.shipped_files(reading.Kind.CASES)
    return {name for file in files for name in reading.operators_in(file)}


def _completions(word: str, known: Iterable[str]) -> str | None:
    """Suggest names that begin with `word`, or one that is like it."""
    names = sorted(known)
    if not (longer := [name for name in names if name.startswith(word)]):
        return did_you_mean(word, names)
    return f"did you mean {few([*map(repr, longer)], 3)}?"


def select(cases: Collection[model.Case], selection: Selection) -> tuple[model.Case, ...]:
    """The cases that meet all of `selection`, those named by id at any level; raises UsageError."""
    matches = keyword_matcher(selection.keywords) if selection.keywords else lambda _: True
    ops = {op.lower() for op in selection.ops}
    here, levels = {case.id for case in cases if selection.ids}, selection.levels
    ids = {id for wanted in selection.ids for id in _meant(wanted, here)}
    return tuple(
        case
        for case in cases
        if case.level in levels
        and (not selection.ids or case.id in ids)
        and matches(case.id.lower())
        and (not ops or case.op.name.lower() in ops)
        and (not selection.opsets or case.opset in selection.opsets)
        and (not selection.dtypes or _dtypes(case) & set(selection.dtypes))
    )


def _dtypes(case: model.Case) -> set[str]:
    return {case.dtype.name} if case.dtype else {spec.dtype.name for spec in case.inputs}


def keyword_matcher(expression: str) -> Callable[[str], bool]:
    """A test of ids, as pytest's -k: words, `and`, `or`, `not`, ( and ); raises UsageError."""
    tokens = re.findall(r"[()]|[^\s()]+", expression.lower())
    if message := _wrong_expression(tokens):
        hint = "words, and, or, not, ( and ): 'ties and not float16'"
        raise UsageError(f"keywords {reading.quoted(expression)}: {message}", hint)
    # What is an expression here is one of Python, once its words are tests.
    python = (t if t in ("and", "or", "not", "(", ")") else f"({t!r} in name)" for t in tokens)
    return cast(Callable[[str], bool], eval(f"lambda name: {' '.join(python)}"))


def _wrong_expression(tokens: Sequence[str]) -> str | None:
    """Return why the words and parentheses are no expression, None if they are one."""
    if len(tokens) > _MAX_TOKENS:
        return f"more than {_MAX_TOKENS} words"
    depth, wants_word = 0, True
    for token in (*tokens, ""):
        if wants_word and token in ("", ")", "and", "or"):
            return f"a word is missing {f'before {token!r}' if token else 'at the end'}"
        if wants_word:
            wants_word = token in ("(", "not")
            depth += token == "("
        elif token in ("and", "or"):
            wants_word = True
        elif token == ")" and depth:
            depth -= 1
        elif token or depth:
            return "a ) is missing" if depth else f"{token!r} is one too many"
    return None


def shard(cases: Sequence[model.Case], number: int, total: int) -> tuple[model.Case, ...]:
    """The cases of the shard `number`, from 1, of `total`, in their order; each case is in one."""
    # Every machine finds the same shares. They take about equally long by the size of inputs, to
    # which a case adds the time of 8192 elements.
    costs = [8192 + sum(prod(spec.shape) for spec in case.inputs) for case in cases]
    # The most expensive first, each to the shard with the least load. In order, loads are a heap.
    loads = [(0, index) for index in range(total)]
    mine = []
    for place in sorted(range(len(cases)), key=lambda place: (-costs[place], place)):
        load, index = loads[0]
        heapreplace(loads, (load + costs[place], index))
        if index == number - 1:
            mine.append(place)
    return tuple(cases[place] for place in sorted(mine))


def case_digest(case: model.Case) -> str:
    """Return the digest of `case`; files that it names are read."""
    parts = [case.id, _node(case), case.rule]
    if case.model is not None:
        from opcheck.opset import weights

        parts += [weights.digest(case.model), _ports(case.ports), case.beyond]
    # 64 bits will do: of the two cases of one id, nobody chose either to resemble the other.
    return _sha256(json.dumps(parts).encode())[:16]


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
        [
            [it.name, it.dtype and it.dtype.name, *([] if it.place in (None, n) else [it.place])]
            for n, it in enumerate(case.outputs)
        ],
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
    if isinstance(value, np.ndarray):
        return ["tensor", str(dtypes.of(value)), value.shape, _array(value)]
    if isinstance(value, tuple):
        # Of long lists, nearly all are floats.
        return [["float", it.hex()] if type(it) is float else _plain(it) for it in value]
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
    # A pipe would never end.
    with suppress(OSError):
        if path.is_file():
            with path.open("rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest()
    return "cannot be read"


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
